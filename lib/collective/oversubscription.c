/* oversubscription: what a collective sends through the thin parts of the
 * fabric. The uplinks of a leaf (a segment of rails, a group of a dragonfly)
 * and of a pod carry what an algorithm moves between parts (sc__coll_parts_leaving);
 * nothing is faster than the fullest of them. */
#include "collective/cost_model.h"

#include "workload/workload.h"

/* NICs of the fullest node that its ranks use. */
static double most_nics(const struct sc__coll_model *m) {
    return fmax(m->nics, sc__cluster_nics(m->cluster, (uint32_t)m->per_node));
}

/* NICs of a node that send the group's bytes on: those of its ranks, on the node with the
 * fewest, which all channels pass; of a gather or a scatter the root's, of a shift that of
 * the rank whose next one is on another node. */
static double sending_nics(const struct sc__coll_model *m) {
    bool by_one = sc__coll_to_root((unsigned)m->coll) || m->coll == SC__SHIFT;
    const struct sc__cluster *c = m->cluster;
    return by_one ? fmax(1, (double)c->node_nics / c->node_gpus) : m->nics;
}

/* Uplinks of a part, as much as the group has of them: every group of its kind
 * uses them at once, and a group on rails has those of the rails it sends on. */
static double uplinks(const struct sc__coll_model *m,
                      const struct sc__shape *s,
                      enum sc__level level,
                      double nics) {
    const struct sc__cluster *c = m->cluster;
    double rate = sc__fabric_uplinks(c, level) * c->nic / 1e9 * m->k->wire;
    double on_nic = fmax(1, s->sharing_nic);
    double all = rate / fmax(on_nic, s->sharing_up[level]);
    double rails = rate * fmin(1, nics / c->node_nics) / on_nic;
    return sc__fabric_has_rails(c) ? fmin(all, rails) : all;
}

static void
set_uplinks(struct sc__coll_model *m, const struct sc__shape *s, enum sc__level level) {
    struct sc__coll_fabric_part *p = &m->part[level];
    p->rate = uplinks(m, s, level, sending_nics(m));
    p->pairs = uplinks(m, s, level, most_nics(m));
}

static double rate_of(const struct sc__coll_fabric_part *p, enum sc__coll_family family) {
    return family == SC__FAMILY_PAIRS ? p->pairs : p->rate;
}

/* Rails that ranks of the group on its fullest node are on; those that share a NIC are on
 * one. */
static double rails_of(const struct sc__coll_model *m) {
    return sc__fabric_has_rails(m->cluster) ? fmin(most_nics(m), m->per_node) : 1;
}

/* On rails a message to another rail crosses the spines inside a segment too. */
void sc__coll_model_parts(struct sc__coll_model *m, const struct sc__shape *s) {
    struct sc__coll_fabric_part *p = m->part;
    bool shift = m->coll == SC__SHIFT;
    p[SC__LEAF] = p[SC__POD] = (struct sc__coll_fabric_part){.rate = SC__COLL_NEVER,
                                                             .pairs = SC__COLL_NEVER,
                                                             .ranks = m->ranks};
    if (m->nodes < 2)
        return;
    if (s->leaves > 1 || rails_of(m) > 1)
        set_uplinks(m, s, SC__LEAF);
    if (s->leaves > 1) {
        p[SC__LEAF].ranks = s->on_leaf;
        p[SC__LEAF].edges = shift ? s->shift_up[SC__LEAF] : s->leaf_edges;
    }
    if (s->pods > 1) {
        set_uplinks(m, s, SC__POD);
        p[SC__POD].ranks = s->on_pod;
        p[SC__POD].edges = shift ? s->shift_up[SC__POD] : s->pod_edges;
    }
}

/* Parts that stay in a segment of rails, but cross its uplinks: messages that
 * change rails in the fabric, not inside their node. */
static double changing_rails(const struct sc__coll_model *m,
                             const struct sc__coll_fabric_part *p,
                             enum sc__coll_relay relay) {
    double near = p->ranks * fmax(0, p->ranks - m->per_node);
    double rails = rails_of(m);
    bool segment = p == &m->part[SC__LEAF] && relay == SC__RELAY_NONE;
    return segment ? near * (rails - 1) / rails : 0;
}

/* Ranks of a group as nodes that are full and one that has the rest, and how many of each
 * are on the first rail, which has most. */
struct rail_ranks {
    double full_nodes;
    double on_rail; /* of a full node */
    double rest;
    double rest_on_rail;
};

static struct rail_ranks ranks_on_rail(const struct sc__coll_model *m, double ranks) {
    struct rail_ranks r = {.full_nodes = floor(ranks / m->per_node)};
    r.on_rail = m->per_node / rails_of(m);
    r.rest = ranks - r.full_nodes * m->per_node;
    r.rest_on_rail = fmin(r.on_rail, r.rest);
    return r;
}

/* Parts that leave the leaf of `ranks` ranks by PXN, as if every rail had as many as the
 * fullest: a message leaves on the rail of its destination. */
static double leaving_by_pxn(const struct sc__coll_model *m, double ranks) {
    struct rail_ranks to = ranks_on_rail(m, m->ranks - ranks);
    return rails_of(m) * ranks * (to.full_nodes * to.on_rail + to.rest_on_rail);
}

/* The same of messages that change rails in the fabric: a rank's cross the uplinks of its
 * rail but for those to its own node and, below the leaf, to its own rail. */
static double leaving_directly(const struct sc__coll_model *m, double ranks) {
    struct rail_ranks here = ranks_on_rail(m, ranks);
    double on_rail = here.full_nodes * here.on_rail + here.rest_on_rail;
    double of_full = m->ranks - m->per_node - (on_rail - here.on_rail);
    double of_rest = m->ranks - here.rest - (on_rail - here.rest_on_rail);
    return rails_of(m) *
           (here.full_nodes * here.on_rail * of_full + here.rest_on_rail * of_rest);
}

/* Parts of pairs that leave the part. */
static double pairs_away(const struct sc__coll_model *m,
                         const struct sc__coll_fabric_part *p,
                         enum sc__coll_family family,
                         enum sc__coll_relay relay) {
    bool rails = sc__fabric_has_rails(m->cluster) && p == &m->part[SC__LEAF];
    if (rails && family == SC__FAMILY_PAIRS && relay == SC__RELAY_AT_SOURCE)
        return leaving_by_pxn(m, p->ranks);
    if (rails && family == SC__FAMILY_PAIRS && relay == SC__RELAY_NONE)
        return leaving_directly(m, p->ranks);
    return p->ranks * (m->ranks - p->ranks) + changing_rails(m, p, relay);
}

/* Every pair sends a part; of a gather or scatter those of one member do. */
static double pairs_leaving(const struct sc__coll_model *m,
                            const struct sc__coll_fabric_part *p,
                            enum sc__coll_family family,
                            enum sc__coll_relay relay) {
    struct sc__coll_counts c = sc__coll_model_counts(m, family);
    double bytes = c.passes * m->bytes / c.parts * pairs_away(m, p, family, relay);
    if (family == SC__FAMILY_ROOT)
        return bytes / p->ranks;
    if (relay != SC__RELAY_AT_DESTINATION)
        return bytes;
    return bytes * sc__two_level_share(m->cluster, (uint32_t)m->ranks, (uint32_t)m->nodes);
}

/* Bytes that leave the part. */
static double leaving(const struct sc__coll_model *m,
                      const struct sc__coll_fabric_part *p,
                      enum sc__algo algo) {
    enum sc__coll_family family = sc__coll_family(algo, m->coll);
    if (family == SC__FAMILY_PAIRS || family == SC__FAMILY_ROOT)
        return pairs_leaving(m, p, family, sc__coll_relay(algo, m->coll));
    if (family == SC__FAMILY_SHIFT)
        return m->bytes * fmax(1, p->edges);
    double parts = sc__coll_parts(family, m->ranks);
    return sc__coll_parts_leaving(family, m->coll, m->ranks, p->ranks, p->edges) *
           (m->bytes / parts);
}

void sc__coll_model_uplink_shares(const struct sc__coll_model *m,
                                  enum sc__algo algo,
                                  double us,
                                  float share[SC__LEVELS]) {
    enum sc__coll_family family = sc__coll_family(algo, m->coll);
    for (int i = 0; i < SC__LEVELS; i++) {
        double rate = rate_of(&m->part[i], family);
        share[i] = (float)fmin(1, leaving(m, &m->part[i], algo) / (1e3 * rate * us));
    }
}

double sc__coll_model_crossing(const struct sc__coll_model *m,
                               enum sc__algo algo,
                               unsigned proto) {
    double longest = 0;
    for (int i = 0; i < SC__LEVELS; i++) {
        double rate = rate_of(&m->part[i], sc__coll_family(algo, m->coll));
        if (rate >= SC__COLL_NEVER) /* nothing leaves it */
            continue;
        longest = fmax(longest, leaving(m, &m->part[i], algo) / (1e3 * rate));
    }
    return longest / sc__proto_payload((enum sc__proto)(proto + 1));
}
