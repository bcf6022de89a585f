/* collective_cross: what a collective sends through the thin parts of the
 * fabric. The uplinks of a leaf (a segment of rails, a group of a dragonfly)
 * and of a pod carry what an algorithm moves between parts; nothing is faster
 * than the fullest of them.
 *
 *     ring, chain      its volume, once out of every part
 *     tree, NVLSTree   half the buffer for every edge of the two trees that leaves
 *     CollNet          the buffer, once: switches reduce below
 *     PAT              distances of 1, 2, 4 … nodes, the farthest with the fewest parts
 *     all pairs        ranks of the part · ranks outside, S/n each (gather, scatter: once,
 * to the root) two-level        the same, but once to each node */
#include "collective/cost_model.h"

#include "workload/workload.h"

/* Uplinks of a part, as much as the group has of them: every group of its kind
 * uses them at once, and a group on rails has those of its rails. */
static double
uplinks(const struct sc__coll_model *m, const struct sc__shape *s, enum sc__level level) {
    const struct sc__cluster *c = m->cluster;
    double rate = sc__fabric_uplinks(c, level) * c->nic / 1e9 * m->k->wire;
    double on_nic = fmax(1, s->sharing_nic);
    double all = rate / fmax(on_nic, s->sharing_up[level]);
    double rails = rate * fmin(1, m->nics / c->node_nics) / on_nic;
    return sc__fabric_has_rails(c) ? fmin(all, rails) : all;
}

static struct sc__part coll_oversubscription_part(double rate, double ranks, double edges) {
    return (struct sc__part){.rate = rate, .ranks = ranks, .edges = edges};
}

/* On rails a message to another rail crosses the spines inside a segment too. */
void sc__model_parts(struct sc__coll_model *m, const struct sc__shape *s) {
    struct sc__part *p = m->part;
    bool changes_rails = sc__fabric_has_rails(m->cluster) && m->per_node > 1;
    p[SC__LEAF] = p[SC__POD] = coll_oversubscription_part(SC__NEVER, m->ranks, 0);
    if (m->nodes < 2)
        return;
    if (s->leaves > 1)
        p[SC__LEAF] =
            coll_oversubscription_part(uplinks(m, s, SC__LEAF), s->on_leaf, s->leaf_edges);
    if (s->pods > 1)
        p[SC__POD] =
            coll_oversubscription_part(uplinks(m, s, SC__POD), s->on_pod, s->pod_edges);
    if (s->leaves < 2 && changes_rails)
        p[SC__LEAF].rate = uplinks(m, s, SC__LEAF);
}

/* Pairs of ranks whose messages leave the part. Those that stay in it cross its
 * uplinks where it is a segment of rails and they do not change rails first. */
static double
pairs(const struct sc__coll_model *m, const struct sc__part *p, bool change_rails) {
    double away = p->ranks * (m->ranks - p->ranks);
    double near = p->ranks * fmax(0, p->ranks - m->per_node);
    if (p != &m->part[SC__LEAF] || change_rails || !sc__fabric_has_rails(m->cluster))
        return away;
    return away + near * (m->per_node - 1) / m->per_node;
}

/* Bruck's steps, the farthest first: parts of S/n go 1, 2, 4 … nodes far; of k
 * nodes side by side min(k, far) send them out. */
static double pat(const struct sc__coll_model *m, const struct sc__part *p) {
    double sent = 0;
    if (p->ranks >= m->ranks)
        return 0;
    for (double far = 1; far < m->ranks; far *= 2)
        sent += fmin(p->ranks, far) * (floor((m->ranks - 1 - far) / (2 * far)) + 1);
    return sent * m->bytes / m->ranks;
}

/* Bytes that leave the part. */
static double
leaving(const struct sc__coll_model *m, const struct sc__part *p, enum sc__algo algo) {
    bool whole = p->ranks >= m->ranks;
    double passes = m->coll == SC__ALLREDUCE ? 2 : 1;
    double each = m->bytes / m->ranks;
    switch (algo) {
    case SC__ALGO_RING:
        return whole ? 0 : passes * (m->ranks - 1) * each;
    case SC__ALGO_TREE:
    case SC__ALGO_NVLS_TREE:
        return p->edges / 2 * m->bytes;
    case SC__ALGO_PAT:
        return pat(m, p);
    case SC__ALGO_DIRECT:
        return passes * each * pairs(m, p, false) /
               (sc__coll_to_root((unsigned)m->coll) ? p->ranks : 1);
    case SC__ALGO_PXN:
        return each * pairs(m, p, true);
    case SC__ALGO_HIERARCHICAL:
        return each * pairs(m, p, true) *
               sc__two_level_share(m->cluster, (uint32_t)m->ranks, (uint32_t)m->nodes);
    default:
        return whole ? 0 : m->bytes;
    }
}

void sc__model_uplink_shares(const struct sc__coll_model *m,
                             enum sc__algo algo,
                             double us,
                             float share[SC__LEVELS]) {
    for (int i = 0; i < SC__LEVELS; i++)
        share[i] =
            (float)fmin(1, leaving(m, &m->part[i], algo) / (1e3 * m->part[i].rate * us));
}

double
sc__model_crossing(const struct sc__coll_model *m, enum sc__algo algo, unsigned proto) {
    double longest = 0;
    for (int i = 0; i < SC__LEVELS; i++)
        longest = fmax(longest, leaving(m, &m->part[i], algo) / (1e3 * m->part[i].rate));
    return longest / sc__proto_payload((enum sc__proto)(proto + 1));
}
