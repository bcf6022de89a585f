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

/* A GPU with several NICs spreads what it sends. */
static double nics_of_a_rail(const struct sc__cluster *c) {
    return fmax(1, (double)c->node_nics / c->node_gpus);
}

/* NICs of a node that send the group's bytes on: those of its ranks, on the node with the
 * fewest, which all channels pass; of a gather or a scatter the root's, of a shift that of
 * the rank whose next one is on another node. */
static double sending_nics(const struct sc__coll_model *m) {
    bool by_one = sc__coll_to_root((unsigned)m->coll) || m->coll == SC__SHIFT;
    return by_one ? nics_of_a_rail(m->cluster) : m->nics;
}

/* Uplinks of a part, as much as the group has of them: every group of its kind
 * uses them at once, and a group on rails has those of the rails it sends on. The switches
 * of a pod join all rails. */
static double uplinks(const struct sc__coll_model *m,
                      const struct sc__shape *s,
                      enum sc__level level,
                      double nics) {
    const struct sc__cluster *c = m->cluster;
    double rate = sc__fabric_uplinks(c, level) * c->nic / 1e9 * m->k->wire;
    double on_nic = fmax(1, s->sharing_nic);
    double all = rate / fmax(on_nic, s->sharing_up[level]);
    double rails = rate * fmin(1, nics / c->node_nics) / on_nic;
    return sc__fabric_has_rails(c) && level == SC__LEAF ? fmin(all, rails) : all;
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
    p[SC__LEAF] = p[SC__POD] = (struct sc__coll_fabric_part){.rate = SC__COLL_NEVER,
                                                             .pairs = SC__COLL_NEVER,
                                                             .ranks = m->ranks};
    if (m->nodes < 2)
        return;
    if (s->leaves > 1 || rails_of(m) > 1 || s->off_rails)
        set_uplinks(m, s, SC__LEAF);
    if (s->leaves > 1) {
        p[SC__LEAF].ranks = s->on_leaf;
        p[SC__LEAF].edges = s->leaf_edges;
    }
    if (s->pods > 1) {
        set_uplinks(m, s, SC__POD);
        p[SC__POD].ranks = s->on_pod;
        p[SC__POD].edges = s->pod_edges;
    }
    for (int i = 0; i < SC__LEVELS; i++)
        p[i].messages = m->coll == SC__SHIFT ? s->shift_up[i] : s->root_up[i];
    m->rail_pairs = s->rail_pairs;
    m->rail_relayed = s->rail_relayed;
    m->rail_share = s->off_rails ? s->rail_share : NULL;
}

/* Parts of pairs that leave the part; on rails as many as if every rail had what the
 * fullest has. */
static double pairs_away(const struct sc__coll_model *m,
                         const struct sc__coll_fabric_part *p,
                         enum sc__coll_relay relay) {
    if (!sc__fabric_has_rails(m->cluster) || p != &m->part[SC__LEAF])
        return p->ranks * (m->ranks - p->ranks);
    return rails_of(m) * (relay == SC__RELAY_NONE ? m->rail_pairs : m->rail_relayed);
}

/* Every pair sends a part. */
static double pairs_leaving(const struct sc__coll_model *m,
                            const struct sc__coll_fabric_part *p,
                            enum sc__coll_relay relay) {
    struct sc__coll_counts c = sc__coll_model_counts(m, SC__FAMILY_PAIRS);
    double bytes = c.passes * m->bytes / c.parts * pairs_away(m, p, relay);
    if (relay != SC__RELAY_AT_DESTINATION)
        return bytes;
    return bytes * sc__two_level_share(m->cluster, (uint32_t)m->ranks, (uint32_t)m->nodes);
}

/* Share of the buffer on the fullest uplinks of a rail, where a group that is off its rails
 * has been counted; below 0: closed forms tell. */
static double counted_share(const struct sc__coll_model *m,
                            const struct sc__coll_fabric_part *p,
                            enum sc__coll_family family) {
    static const int counted[SC__FAMILIES] = {[SC__FAMILY_RING] = SC__RAIL_RING + 1,
                                              [SC__FAMILY_CHAIN] = SC__RAIL_BROADCAST + 1,
                                              [SC__FAMILY_TREE] = SC__RAIL_TREE + 1,
                                              [SC__FAMILY_NVLS] = SC__RAIL_NVLS + 1,
                                              [SC__FAMILY_PAT] = SC__RAIL_PAT + 1};
    if (!m->rail_share || p != &m->part[SC__LEAF] || !counted[family])
        return -1;
    if (m->coll == SC__REDUCE)
        return m->rail_share[SC__RAIL_REDUCE];
    double passes = family == SC__FAMILY_RING && m->coll == SC__ALLREDUCE ? 2 : 1;
    return passes * m->rail_share[counted[family] - 1];
}

/* Bytes that leave the part. */
static double leaving(const struct sc__coll_model *m,
                      const struct sc__coll_fabric_part *p,
                      enum sc__algo algo) {
    enum sc__coll_family family = sc__coll_family(algo, m->coll);
    double parts = sc__coll_parts(family, m->ranks);
    if (family == SC__FAMILY_PAIRS)
        return pairs_leaving(m, p, sc__coll_relay(algo, m->coll));
    if (family == SC__FAMILY_ROOT || family == SC__FAMILY_SHIFT)
        return m->bytes / parts * p->messages;
    double share = counted_share(m, p, family);
    if (share >= 0)
        return m->bytes * share * sending_nics(m) / nics_of_a_rail(m->cluster);
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
