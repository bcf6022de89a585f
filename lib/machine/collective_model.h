/* collective_model: the parts of the collective model that several files use.
 * All times inside the model are us as double, rates GB/s. */
#ifndef SC_MACHINE_COLLECTIVE_MODEL_H
#define SC_MACHINE_COLLECTIVE_MODEL_H

#include "machine/cluster.h"

#include <math.h>

/* A collective on a group, in the model's units. */
struct sc__model {
    const struct sc__cluster *cluster;
    const struct sc__constants *k;
    int coll;
    double bytes;
    double ranks, nodes, per_node, least;
    double nvlink;        /* a ring's share of the GPU's port */
    double port;          /* the GPU's port as specified, what others leave of it */
    double nic;           /* of one GPU: what the wire gives it */
    double card;          /* of one GPU when the others leave the NICs to it */
    double wire;          /* of a node: all NICs of the group */
    double crossing;      /* of one GPU: what all-to-all traffic gets through the spines */
    double rail_crossing; /* the same when it stays on its rail */
    double hop;           /* us added per network hop */
};

/* us to ps, never less than it is: bounds hold to the last digit. */
static inline int64_t sc__model_ps(double us) { return us > 4e12 ? INT64_MAX / 2 : (int64_t)ceil(us * 1e6); }

#define SC__NEVER 1e30 /* the time of what cannot be done */

struct sc__model sc__model_make(const struct sc__cluster *c, int coll, const struct sc__shape *s, uint64_t bytes);
/* us of one algorithm with one protocol (0…2); SC__NEVER where it cannot run. */
double sc__model_time(const struct sc__model *m, enum sc__algo algo, unsigned proto);
/* The class "plain" and torus fabrics: latency and bandwidth only. */
struct sc__price sc__plain_price(const struct sc__cluster *c, int coll, const struct sc__shape *s, uint64_t bytes);
/* us that NCCL's own cost table gives. */
double sc__tuner_time(const struct sc__model *m, enum sc__algo algo, unsigned proto);

#endif
