/* oversubscription: what a collective sends through the thin parts of the
 * fabric. The uplinks of a leaf (a segment of rails, a group of a dragonfly)
 * and of a pod carry what an algorithm moves between parts (sc__coll_parts_leaving);
 * nothing is faster than the fullest of them. */
#include "collective/cost_model.h"

#include "workload/workload.h"

/* NICs of a node that send the group's bytes on: those of its ranks; of a gather or a
 * scatter the root's, of a shift that of the rank whose next one is on another node. */
static double sending_nics(const struct sc__coll_model *m) {
    bool by_one = sc__coll_to_root((unsigned)m->coll) || m->coll == SC__SHIFT;
    const struct sc__cluster *c = m->cluster;
    return by_one ? fmax(1, (double)c->node_nics / c->node_gpus) : m->nics;
}

/* Uplinks of a part, as much as the group has of them: every group of its kind
 * uses them at once, and a group on rails has those of the rails it sends on. */
static double
uplinks(const struct sc__coll_model *m, const struct sc__shape *s, enum sc__level level) {
    const struct sc__cluster *c = m->cluster;
    double rate = sc__fabric_uplinks(c, level) * c->nic / 1e9 * m->k->wire;
    double on_nic = fmax(1, s->sharing_nic);
    double all = rate / fmax(on_nic, s->sharing_up[level]);
    double rails = rate * fmin(1, sending_nics(m) / c->node_nics) / on_nic;
    return sc__fabric_has_rails(c) ? fmin(all, rails) : all;
}

static struct sc__coll_fabric_part fabric_part(double rate, double ranks, double edges) {
    return (struct sc__coll_fabric_part){.rate = rate, .ranks = ranks, .edges = edges};
}

/* Rails that ranks of the group on one node are on; those that share a NIC are on one. */
static double rails_of(const struct sc__coll_model *m) {
    return sc__fabric_has_rails(m->cluster) ? fmin(m->nics, m->per_node) : 1;
}

/* On rails a message to another rail crosses the spines inside a segment too. */
void sc__coll_model_parts(struct sc__coll_model *m, const struct sc__shape *s) {
    struct sc__coll_fabric_part *p = m->part;
    p[SC__LEAF] = p[SC__POD] = fabric_part(SC__COLL_NEVER, m->ranks, 0);
    if (m->nodes < 2)
        return;
    bool shift = m->coll == SC__SHIFT;
    if (s->leaves > 1)
        p[SC__LEAF] = fabric_part(uplinks(m, s, SC__LEAF),
                                  s->on_leaf,
                                  shift ? s->shift_up[SC__LEAF] : s->leaf_edges);
    if (s->pods > 1)
        p[SC__POD] = fabric_part(uplinks(m, s, SC__POD),
                                 s->on_pod,
                                 shift ? s->shift_up[SC__POD] : s->pod_edges);
    if (s->leaves < 2 && rails_of(m) > 1)
        p[SC__LEAF].rate = uplinks(m, s, SC__LEAF);
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

/* Every pair sends a part; of a gather or scatter those of one member do. */
static double pairs_leaving(const struct sc__coll_model *m,
                            const struct sc__coll_fabric_part *p,
                            enum sc__coll_family family,
                            enum sc__coll_relay relay) {
    struct sc__coll_counts c = sc__coll_model_counts(m, family);
    double away = p->ranks * (m->ranks - p->ranks) + changing_rails(m, p, relay);
    double bytes = c.passes * m->bytes / c.parts * away;
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
    for (int i = 0; i < SC__LEVELS; i++)
        share[i] =
            (float)fmin(1, leaving(m, &m->part[i], algo) / (1e3 * m->part[i].rate * us));
}

double sc__coll_model_crossing(const struct sc__coll_model *m,
                               enum sc__algo algo,
                               unsigned proto) {
    double longest = 0;
    for (int i = 0; i < SC__LEVELS; i++) {
        if (m->part[i].rate >= SC__COLL_NEVER) /* nothing leaves it */
            continue;
        longest = fmax(longest, leaving(m, &m->part[i], algo) / (1e3 * m->part[i].rate));
    }
    return longest / sc__proto_payload((enum sc__proto)(proto + 1));
}
