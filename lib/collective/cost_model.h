/* collective_model: the parts of the collective model that several files use.
 * All times inside the model are us as double, rates GB/s. */
#ifndef SC_MACHINE_COLLECTIVE_MODEL_H
#define SC_MACHINE_COLLECTIVE_MODEL_H

#include "hardware/cluster.h"

#include <math.h>

/* The part of the fabric (a leaf, a pod) whose uplinks the group fills most. */
struct sc__part {
    double rate;  /* of its uplinks, as much as the group has of them */
    double ranks; /* of the group on it */
    double edges; /* of trees between it and the others */
};

/* A collective on a group, in the model's units. */
struct sc__coll_model {
    const struct sc__cluster *cluster;
    const struct sc__constants *k;
    int coll;
    double bytes;
    double ranks;
    double nodes;
    double per_node;
    double least;
    double nvlink; /* a ring's share of the GPU's port */
    double port;   /* the GPU's port as specified, what others leave of it */
    double nics;   /* of a node, that the group uses */
    double nic;    /* of one GPU: what the wire gives it */
    double card;   /* of one GPU when the others leave the NICs to it */
    double wire;   /* of a node: all NICs of the group */
    double hop;    /* us added per network hop */
    struct sc__part part[SC__LEVELS];
};

/* us to ps, never less than it is: bounds hold to the last digit. */
static inline int64_t sc__model_ps(double us) {
    return us > 4e12 ? INT64_MAX / 2 : (int64_t)ceil(us * 1e6);
}

#define SC__NEVER 1e30 /* the time of what cannot be done */

struct sc__coll_model sc__model_make(const struct sc__cluster *c,
                                     int coll,
                                     const struct sc__shape *s,
                                     uint64_t bytes);
/* us in which nothing moves whatever the bandwidth, and in which bytes move:
 * only these grow on a link that is shared or thin. */
struct sc__coll_span {
    double still;
    double move;
};

/* One algorithm with one protocol (0…2); SC__NEVER where it cannot run. */
struct sc__coll_span
sc__model_span(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto);
/* Both parts, us. */
double sc__model_time(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto);
/* collective_cross.c: sets part; … */
void sc__model_parts(struct sc__coll_model *m, const struct sc__shape *s);
/* … us that the fullest uplinks need for what the algorithm sends through
 * them; 0 where the group lies on one leaf. */
double
sc__model_crossing(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto);
/* … and the share of the uplinks it uses on average in so many us. */
void sc__model_uplink_shares(const struct sc__coll_model *m,
                             enum sc__algo algo,
                             double us,
                             float share[SC__LEVELS]);
/* The class "plain" and torus fabrics: latency and bandwidth only. */
struct sc__price sc__plain_price(const struct sc__cluster *c,
                                 int coll,
                                 const struct sc__shape *s,
                                 uint64_t bytes);
/* us that NCCL's own cost table gives. */
double sc__tuner_time(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto);

#endif
