/* rail_traffic: what passes the uplinks of one leaf of rails. On GPUs that have the same
 * places in all their nodes a ring, a tree or PXN keeps to its rails, and closed forms hold
 * (collective/oversubscription.c). Picked at odds, members of one rail have those of
 * another for neighbours: their connections meet on uplinks as nothing but a count can
 * tell. */
#include "hardware/rail_traffic.h"

#include "collective/library.h"
#include "workload/workload.h"

#include <math.h>

static uint32_t part_of(const struct sc__cluster *c, enum sc__level level, uint32_t gpu) {
    return (uint32_t)(gpu / c->node_gpus / sc__fabric_part_nodes(c, level));
}

bool sc__passes_uplinks(const struct sc__cluster *c,
                        enum sc__level level,
                        uint32_t out,
                        uint32_t from,
                        uint32_t to) {
    uint32_t a = from / c->node_gpus;
    uint32_t b = to / c->node_gpus;
    if (a == b)
        return false;
    double width = sc__fabric_part_nodes(c, level);
    bool rails = sc__fabric_has_rails(c) && level == SC__LEAF;
    return floor(a / width) != floor(b / width) || (rails && out != sc__cluster_nic(c, to));
}

void sc__root_count(const struct sc__cluster *c,
                    const uint32_t *gpu,
                    uint32_t root,
                    struct sc__shape *s) {
    for (int level = 0; level < SC__LEVELS; level++) {
        if (s->nodes < 2 || !sc__fabric_is_thin(c, (enum sc__level)level))
            continue;
        for (uint32_t i = 0; i < s->ranks; i++) {
            uint32_t from = gpu ? gpu[i] : i;
            uint32_t out = sc__cluster_nic(c, from);
            s->root_up[level] +=
                sc__passes_uplinks(c, (enum sc__level)level, out, from, root);
        }
    }
}

/* --- all pairs ------------------------------------------------------------ */

/* Of one leaf and rail. */
struct rail_leaf {
    double ranks;
    double sent; /* messages that change rails in the fabric */
};

/* Leaf by leaf its rails, and by leaf and by rail all ranks. */
struct rail_counts {
    struct rail_leaf *leaf;
    double *on_leaf;
    double *on_rail;
    uint32_t rails;
    uint32_t leaves;
};

/* Members first … end-1, all on one node. What one sends to others of its leaf and rail
 * stays below the leaf, and what it sends inside its node too. */
static void count_rails_of_node(const struct sc__cluster *c,
                                const uint32_t *gpu,
                                uint32_t first,
                                uint32_t end,
                                const struct sc__shape *s,
                                struct rail_counts *r) {
    uint32_t leaf = part_of(c, SC__LEAF, gpu ? gpu[first] : first);
    double away = s->ranks - (end - first);
    for (uint32_t i = first, j; i < end; i = j) {
        uint32_t rail = sc__cluster_nic(c, gpu ? gpu[i] : i);
        for (j = i; j < end && sc__cluster_nic(c, gpu ? gpu[j] : j) == rail;)
            j++;
        double ranks = j - i;
        struct rail_leaf *at = &r->leaf[leaf * r->rails + rail];
        at->ranks += ranks;
        at->sent += ranks * (away + ranks);
        r->on_rail[rail] += ranks;
    }
    r->on_leaf[leaf] += end - first;
}

static void count_ranks(const struct sc__cluster *c,
                        const uint32_t *gpu,
                        const struct sc__shape *s,
                        struct rail_counts *r) {
    for (uint32_t i = 0, j; i < s->ranks; i = j) {
        uint32_t node = (gpu ? gpu[i] : i) / c->node_gpus;
        for (j = i; j < s->ranks && (gpu ? gpu[j] : j) / c->node_gpus == node;)
            j++;
        count_rails_of_node(c, gpu, i, j, s, r);
    }
}

/* Relayed inside a node, a message crosses on the rail of its destination, or of its
 * source: what a leaf sends on a rail by the one it gets by the other. */
static void count_pairs(const struct rail_counts *r, struct sc__shape *s) {
    for (uint32_t i = 0; i < r->leaves * r->rails; i++) {
        double here = r->leaf[i].ranks;
        double on_leaf = r->on_leaf[i / r->rails];
        double out = on_leaf * (r->on_rail[i % r->rails] - here);
        double in = here * (s->ranks - on_leaf);
        s->rail_pairs = fmax(s->rail_pairs, r->leaf[i].sent - here * here);
        s->rail_relayed = fmax(s->rail_relayed, fmax(out, in));
    }
}

/* --- rings and trees -------------------------------------------------------- */

static const struct {
    enum sc__coll_family family;
    int coll;
} rail_schedules[SC__RAIL_SCHEDULES] = {
    [SC__RAIL_RING] = {SC__FAMILY_RING, SC__ALLGATHER},
    [SC__RAIL_BROADCAST] = {SC__FAMILY_CHAIN, SC__BROADCAST},
    [SC__RAIL_REDUCE] = {SC__FAMILY_CHAIN, SC__REDUCE},
    [SC__RAIL_TREE] = {SC__FAMILY_TREE, SC__ALLREDUCE},
    [SC__RAIL_NVLS] = {SC__FAMILY_NVLS, SC__ALLREDUCE},
    [SC__RAIL_PAT] = {SC__FAMILY_PAT, SC__ALLGATHER},
};

/* Channels that come and go by the same rails of every node cross as the closed forms have
 * it. */
static bool keeps_to_rails(const struct sc__cluster *c,
                           const uint32_t *gpu,
                           const struct sc__coll_group *g) {
    uint32_t channels = sc__coll_group_channels(g);
    for (uint32_t node = 1; node < g->nodes; node++)
        for (uint32_t ch = 0; ch < channels; ch++) {
            uint32_t here = sc__coll_node_first(g, node) + sc__coll_door(g, node, ch);
            uint32_t first = sc__coll_door(g, 0, ch);
            if (sc__cluster_nic(c, gpu[here]) != sc__cluster_nic(c, gpu[first]))
                return false;
        }
    return true;
}

/* Shares of the buffer on the uplinks of a leaf and rail, out and in. */
struct rail_loads {
    const struct sc__cluster *cluster;
    const uint32_t *gpu;
    double *load[2];
};

static void
add_connection(struct rail_loads *l, const struct sc__coll_transfer *t, double share) {
    const struct sc__cluster *c = l->cluster;
    uint32_t from = l->gpu[t->source];
    uint32_t to = l->gpu[t->destination];
    uint32_t out = sc__cluster_nic(c, t->relay == SC__RELAY_AT_SOURCE ? to : from);
    if (!sc__passes_uplinks(c, SC__LEAF, out, from, to))
        return;
    l->load[0][part_of(c, SC__LEAF, from) * c->node_nics + out] += share;
    l->load[1][part_of(c, SC__LEAF, to) * c->node_nics + sc__cluster_nic(c, to)] += share;
}

static void lay_schedule(struct rail_loads *l, const struct sc__coll_schedule *s) {
    for (uint32_t channel = 0; channel < s->channels; channel++)
        for (uint32_t phase = 0, repeats; phase < s->phases; phase += repeats) {
            repeats = sc__coll_schedule_repeats(s, channel, phase);
            for (uint32_t i = 0; i < sc__coll_schedule_slots(s, phase); i++) {
                struct sc__coll_transfer t;
                struct sc__coll_transfer_id id = {phase, channel, i};
                if (sc__coll_schedule_transfer(s, id, &t) && t.sources == 1 &&
                    t.destinations == 1)
                    add_connection(l, &t, repeats * sc__coll_schedule_share(s, &t));
            }
        }
}

static double fullest(const struct rail_loads *l, uint32_t count) {
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        most = fmax(most, fmax(l->load[0][i], l->load[1][i]));
        l->load[0][i] = l->load[1][i] = 0;
    }
    return most;
}

static void count_schedules(const struct sc__cluster *c,
                            const uint32_t *gpu,
                            uint32_t root,
                            uint32_t leaves,
                            struct sc__arena *arena,
                            struct sc__shape *s) {
    struct sc__coll_group group = sc__coll_group_on(c, gpu, s->ranks, arena);
    uint32_t count = leaves * c->node_nics;
    struct rail_loads l = {.cluster = c, .gpu = gpu};
    if (keeps_to_rails(c, gpu, &group))
        return;
    l.load[0] = SC__NEW_ARRAY(arena, double, count);
    l.load[1] = SC__NEW_ARRAY(arena, double, count);
    s->off_rails = 1;
    for (int i = 0; i < SC__RAIL_SCHEDULES; i++) {
        struct sc__coll_schedule schedule = {.family = rail_schedules[i].family,
                                             .coll = rail_schedules[i].coll,
                                             .group = group};
        schedule.root = sc__coll_member_of(gpu, s->ranks, root);
        sc__coll_schedule_init(&schedule);
        lay_schedule(&l, &schedule);
        s->rail_share[i] = fullest(&l, count);
    }
}

void sc__rails_count(const struct sc__cluster *c,
                     const uint32_t *gpu,
                     uint32_t root,
                     struct sc__shape *s) {
    struct sc__arena arena;
    if (!sc__fabric_has_rails(c) || s->nodes < 2 || !sc__fabric_is_thin(c, SC__LEAF))
        return;
    uint32_t last = gpu ? gpu[s->ranks - 1] : s->ranks - 1;
    struct rail_counts r = {.rails = c->node_nics,
                            .leaves = part_of(c, SC__LEAF, last) + 1};
    sc__arena_init(&arena);
    r.leaf = SC__NEW_ARRAY(&arena, struct rail_leaf, (uint64_t)r.leaves * r.rails);
    r.on_leaf = SC__NEW_ARRAY(&arena, double, r.leaves);
    r.on_rail = SC__NEW_ARRAY(&arena, double, r.rails);
    count_ranks(c, gpu, s, &r);
    count_pairs(&r, s);
    if (gpu)
        count_schedules(c, gpu, root, r.leaves, &arena, s);
    sc__arena_free(&arena);
}
