#include "collective/schedule_family.h"

#include "workload/workload.h"

static const struct sc__coll_family_ops *const family_ops[SC__FAMILIES] = {
    [SC__FAMILY_RING] = &sc__coll_ring_ops,
    [SC__FAMILY_CHAIN] = &sc__coll_chain_ops,
    [SC__FAMILY_TREE] = &sc__coll_tree_ops,
    [SC__FAMILY_NVLS] = &sc__coll_tree_ops,
    [SC__FAMILY_COLLNET] = &sc__coll_tree_ops,
    [SC__FAMILY_HALVING] = &sc__coll_halving_ops,
    [SC__FAMILY_PAT] = &sc__coll_halving_ops,
    [SC__FAMILY_PAIRS] = &sc__coll_pairs_ops,
    [SC__FAMILY_ROOT] = &sc__coll_root_ops,
    [SC__FAMILY_SHIFT] = &sc__coll_shift_ops,
    [SC__FAMILY_BINOMIAL] = &sc__coll_binomial_ops,
    [SC__FAMILY_DISSEMINATION] = &sc__coll_dissemination_ops,
    [SC__FAMILY_TORUS] = &sc__coll_torus_ops,
};

enum sc__coll_family sc__coll_message_family(int coll) {
    static const enum sc__coll_family families[SC__COLLS] = {
        [SC__ALLREDUCE] = SC__FAMILY_RING,
        [SC__ALLGATHER] = SC__FAMILY_RING,
        [SC__REDUCESCATTER] = SC__FAMILY_RING,
        [SC__ALLTOALL] = SC__FAMILY_PAIRS,
        [SC__BROADCAST] = SC__FAMILY_BINOMIAL,
        [SC__REDUCE] = SC__FAMILY_BINOMIAL,
        [SC__BARRIER] = SC__FAMILY_DISSEMINATION,
        [SC__GATHER] = SC__FAMILY_ROOT,
        [SC__SCATTER] = SC__FAMILY_ROOT,
        [SC__SHIFT] = SC__FAMILY_SHIFT,
    };
    return families[coll];
}

void sc__coll_schedule_init(struct sc__coll_schedule *s) {
    s->rounds = 1;
    s->parts = 1;
    s->siblings = 1;
    s->levels = 0;
    s->phases = 0;
    family_ops[s->family]->init(s);
    if (!s->channels)
        s->channels = 1;
    if (s->group.ranks < 2)
        s->phases = 0;
}

uint32_t sc__coll_schedule_slots(const struct sc__coll_schedule *s, uint32_t phase) {
    return family_ops[s->family]->slots(s, phase);
}

bool sc__coll_schedule_transfer(const struct sc__coll_schedule *s,
                                struct sc__coll_transfer_id id,
                                struct sc__coll_transfer *out) {
    return family_ops[s->family]->transfer(s, id, out);
}

uint32_t sc__coll_schedule_sent_by(const struct sc__coll_schedule *s,
                                   uint32_t phase,
                                   uint32_t channel,
                                   uint32_t member) {
    return family_ops[s->family]->sent_by(s, phase, channel, member);
}

uint32_t sc__coll_schedule_received_by(const struct sc__coll_schedule *s,
                                       uint32_t phase,
                                       uint32_t channel,
                                       uint32_t member) {
    return family_ops[s->family]->received_by(s, phase, channel, member);
}

uint32_t sc__coll_schedule_repeats(const struct sc__coll_schedule *s,
                                   uint32_t channel,
                                   uint32_t phase) {
    const struct sc__coll_family_ops *ops = family_ops[s->family];
    return ops->repeats ? ops->repeats(s, channel, phase) : 1;
}

struct sc__coll_needs sc__coll_schedule_needs(const struct sc__coll_schedule *s,
                                              struct sc__coll_transfer_id id) {
    return family_ops[s->family]->needs(s, id);
}

/* Parts count round: the last is followed by the first. */
static bool carries(const struct sc__coll_transfer *t, uint64_t part, uint64_t parts) {
    uint64_t from_first = part >= t->first ? part - t->first : part + parts - t->first;
    if (t->stride == 1)
        return from_first < t->count;
    return from_first % t->stride == 0 && from_first / t->stride < t->count;
}

bool sc__coll_transfer_brings(const struct sc__coll_schedule *s,
                              const struct sc__coll_transfer *arrival,
                              const struct sc__coll_transfer *sent) {
    const struct sc__coll_transfer *few = arrival->count < sent->count ? arrival : sent;
    const struct sc__coll_transfer *many = few == sent ? arrival : sent;
    uint64_t part = few->first;
    for (uint64_t i = 0; i < few->count; i++) {
        if (carries(many, part, s->parts))
            return true;
        part += few->stride;
        part -= part >= s->parts ? s->parts : 0;
    }
    return false;
}

/* A member has one arrival a phase and channel. */
bool sc__coll_schedule_needs_arrival(const struct sc__coll_schedule *s,
                                     struct sc__coll_transfer_id id,
                                     uint32_t phase,
                                     struct sc__coll_transfer_id *on) {
    struct sc__coll_transfer t;
    struct sc__coll_transfer arrival;
    if (!sc__coll_schedule_transfer(s, id, &t))
        return false;
    uint32_t index = sc__coll_schedule_received_by(s, phase, id.channel, t.source);
    *on = (struct sc__coll_transfer_id){phase, id.channel, index};
    return index != SC__NO_MEMBER && sc__coll_schedule_transfer(s, *on, &arrival) &&
           sc__coll_transfer_brings(s, &arrival, &t);
}

/* The parts of an all-to-all are pairs of members, those of a shift whole buffers; the
 * buffer is one member's. */
static uint64_t parts_of_buffer(const struct sc__coll_schedule *s) {
    if (s->coll == SC__SHIFT)
        return 1;
    return s->coll == SC__ALLTOALL ? s->group.ranks : s->parts;
}

double sc__coll_schedule_share(const struct sc__coll_schedule *s,
                               const struct sc__coll_transfer *t) {
    return (double)t->count / (double)parts_of_buffer(s) / s->channels;
}

uint64_t sc__coll_schedule_bytes(const struct sc__coll_schedule *s,
                                 const struct sc__coll_transfer *t,
                                 uint64_t bytes) {
    uint64_t parts = parts_of_buffer(s);
    uint64_t each = bytes / parts;
    uint64_t more = bytes % parts;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < t->count; i++)
        sum += each + ((t->first + i * t->stride) % s->parts % parts < more);
    return sum;
}

/* --- groups on nodes ------------------------------------------------------ */

struct sc__coll_group
sc__coll_group_of(const uint32_t *gpu, uint32_t n, uint32_t node_gpus, uint32_t *first) {
    struct sc__coll_group g = {.ranks = n, .least = n, .node_first = first};
    for (uint32_t i = 0; i < n; i++)
        if (!i || gpu[i] / node_gpus != gpu[i - 1] / node_gpus)
            first[g.nodes++] = i;
    first[g.nodes] = n;
    for (uint32_t k = 0; k < g.nodes; k++) {
        uint32_t size = first[k + 1] - first[k];
        g.per_node = size > g.per_node ? size : g.per_node;
        g.least = size < g.least ? size : g.least;
    }
    return g;
}

/* The first member from `first` on, up to `end`, on a NIC that none before it is on. */
static uint32_t
next_door(const uint32_t *nic, uint32_t first, uint32_t from, uint32_t end) {
    for (uint32_t i = from; i < end; i++) {
        uint32_t before = first;
        while (before < i && nic[before] != nic[i])
            before++;
        if (before == i)
            return i;
    }
    return end;
}

/* Members of a node that share the NIC of member i. */
static uint32_t
sharing_nic(const uint32_t *nic, uint32_t first, uint32_t end, uint32_t member) {
    uint32_t count = 0;
    for (uint32_t i = first; i < end; i++)
        count += nic[i] == nic[member];
    return count;
}

/* NICs that the members of a node use; *alike: as many members on each. */
static uint32_t nics_of_node(const struct sc__coll_group *g,
                             const uint32_t *nic,
                             uint32_t node,
                             bool *alike) {
    uint32_t first = sc__coll_node_first(g, node);
    uint32_t end = sc__coll_node_first(g, node + 1);
    uint32_t each = sharing_nic(nic, first, end, first);
    uint32_t count = 0;
    for (uint32_t i = first; i < end; i = next_door(nic, first, i + 1, end)) {
        *alike &= sharing_nic(nic, first, end, i) == each;
        count++;
    }
    return count;
}

void sc__coll_group_doors(struct sc__coll_group *g, const uint32_t *nic, uint32_t *door) {
    bool alike = true;
    uint32_t doors = g->ranks;
    for (uint32_t node = 0; node < g->nodes; node++) {
        uint32_t count = nics_of_node(g, nic, node, &alike);
        doors = count < doors ? count : doors;
    }
    if (alike || g->nodes < 2)
        return;
    for (uint32_t node = 0; node < g->nodes; node++) {
        uint32_t first = sc__coll_node_first(g, node);
        uint32_t end = sc__coll_node_first(g, node + 1);
        uint32_t at = first;
        for (uint32_t i = 0; i < doors; i++) {
            door[node * doors + i] = at - first;
            at = next_door(nic, first, at + 1, end);
        }
    }
    g->door = door;
    g->doors = doors;
}

uint32_t sc__coll_group_channels(const struct sc__coll_group *g) {
    return g->door ? g->doors : g->least;
}

uint32_t sc__coll_door(const struct sc__coll_group *g, uint32_t node, uint32_t c) {
    return g->door ? g->door[node * g->doors + c % g->doors]
                   : c % sc__coll_node_size(g, node);
}

uint32_t sc__coll_member_of(const uint32_t *gpu, uint32_t n, uint32_t wanted) {
    uint32_t i = 0;
    while (i + 1 < n && gpu[i] != wanted)
        i++;
    return i;
}

uint32_t sc__coll_node_of(const struct sc__coll_group *g, uint32_t member) {
    if (g->nodes == 1)
        return 0;
    if (!g->node_first)
        return member / g->per_node;
    uint32_t low = 0;
    uint32_t high = g->nodes;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (g->node_first[middle] <= member)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t sc__coll_node_first(const struct sc__coll_group *g, uint32_t node) {
    if (g->node_first)
        return g->node_first[node];
    uint64_t first = (uint64_t)node * g->per_node;
    return first < g->ranks ? (uint32_t)first : g->ranks;
}

uint32_t sc__coll_node_size(const struct sc__coll_group *g, uint32_t node) {
    if (g->nodes == 1)
        return g->ranks;
    return sc__coll_node_first(g, node + 1) - sc__coll_node_first(g, node);
}

uint32_t sc__coll_levels(uint32_t n) {
    uint32_t levels = 0;
    while (levels < 32 && (uint64_t)1 << levels < n)
        levels++;
    return levels;
}
