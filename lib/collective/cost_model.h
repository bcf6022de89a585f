/* cost_model: the parts of the collective cost model that several files use.
 * All times inside the model are us as double, rates GB/s. Equations and
 * constants: docs/model/collectives.md. */
#ifndef SC_COLLECTIVE_COST_MODEL_H
#define SC_COLLECTIVE_COST_MODEL_H

#include "collective/library.h"
#include "collective/schedule.h"
#include "hardware/cluster.h"

#include <math.h>

/* The part of the fabric (a leaf, a pod) whose uplinks the group fills most. */
struct sc__coll_fabric_part {
    double rate;     /* of its uplinks, as much as the group has of them … */
    double pairs;    /* … and has where every rank sends to every other */
    double ranks;    /* of the group on it */
    double edges;    /* of trees between it and the others */
    double messages; /* of a shift, of a gather, that pass them */
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
    double nic;    /* of the GPU that sends most to other nodes: what the wire gives it */
    double nic_alone; /* of one GPU when the others leave the NICs to it */
    double wire;      /* of a node: all NICs of the group */
    double shift_nic; /* messages of a shift that meet on a NIC */
    double hop;       /* us added per network hop */
    struct sc__coll_fabric_part part[SC__LEVELS];
    /* as the shape has them, which outlives the model */
    double rail_pairs;
    double rail_relayed;
    const double *rail_share; /* NULL: the group keeps to its rails */
};

/* us to ps, never less than it is: bounds hold to the last digit. */
static inline int64_t sc__coll_model_ps(double us) {
    return us > 4e12 ? INT64_MAX / 2 : (int64_t)ceil(us * 1e6);
}

#define SC__COLL_NEVER 1e30 /* the time of what cannot be done */

/* GB/s of all that a card sends where its PCIe slot is its only link, to its node and to
 * its NIC; SC__COLL_NEVER where NVLink leaves the slot to the NIC. */
double sc__coll_slot(const struct sc__cluster *c);
struct sc__coll_model sc__coll_model_make(const struct sc__cluster *c,
                                          int coll,
                                          const struct sc__shape *s,
                                          uint64_t bytes);

static inline struct sc__coll_counts sc__coll_model_counts(const struct sc__coll_model *m,
                                                           enum sc__coll_family family) {
    return sc__coll_counts(family, m->coll, m->ranks, m->nodes, m->per_node, m->least);
}

/* The latency term and the bandwidth term, us: only the second
 * grow on a link that is shared or thin. */
struct sc__coll_terms {
    double latency;
    double bandwidth;
};

/* Whether the group and the cluster are as the rule asks. */
/* The channels of a GPU that it has for each of the `ranks` it may send to inside a node.
 */
double sc__coll_channels_each(const struct sc__constants *k, double ranks);
bool sc__coll_rule_holds(const struct sc__coll_model *m, const struct sc__coll_rule *rule);
/* One algorithm with one protocol (0…2); latency SC__COLL_NEVER where it cannot run. */
struct sc__coll_terms
sc__coll_model_terms(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto);
/* Both terms, us. */
double
sc__coll_model_time(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto);
/* oversubscription.c: sets part; … */
void sc__coll_model_parts(struct sc__coll_model *m, const struct sc__shape *s);
/* … us that the fullest uplinks need for what the algorithm sends through
 * them; 0 where the group lies on one leaf. */
double
sc__coll_model_crossing(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto);
/* … and the share of the uplinks it uses on average in so many us. */
void sc__coll_model_uplink_shares(const struct sc__coll_model *m,
                                  enum sc__algo algo,
                                  double us,
                                  float share[SC__LEVELS]);
/* The class "plain" and torus fabrics: latency and bandwidth only. */
struct sc__coll_cost sc__plain_cost(const struct sc__cluster *c,
                                    int coll,
                                    const struct sc__shape *s,
                                    uint64_t bytes);
/* us that NCCL's own cost table gives. */
double
sc__nccl_tuner_time(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto);

#endif
