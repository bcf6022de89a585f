/* schedule_ring: rings, and chains, which are rings cut open at the root.
 *
 * Position 0 … n-1 of a channel's ring are the members of node 0, of node 1 …,
 * those of a node in an order of the channel's own. With SC__ORDER_RAILS
 *
 *     node 0        node 1        node 2
 *     c … c-1  ─→  c-1 … c   ─→  c … c-1 ─→ (by way of c) back to node 0
 *
 * a channel enters an even node at member c and leaves it at c-1, enters an odd
 * one at c-1 and leaves at c, so that it stays on its rail. Where the number of
 * nodes is odd the last one has to leave on the rail it was entered by: its last
 * member hands over to the GPU of that rail (SC__RELAY_AT_SOURCE).
 *
 * The reduce-scatter pass ends with every member holding its own part, summed;
 * the first transfer of member m is part m-1. In an all-reduce nobody asks who
 * holds what in between, and m begins with part m. */
#include "collective/schedule_family.h"

#include "workload/workload.h"

/* Where a channel enters a node and leaves it, as places among its members. */
struct ring_ends {
    uint32_t size;
    uint32_t in;
    uint32_t out;
    bool same_rail; /* it leaves by the rail it came in by */
};

/* Channels go round nodes as they lie, each from a place of its own; the first visits all
 * members in their order. */
static bool goes_round(const struct sc__coll_schedule *s) {
    return s->order == SC__ORDER_ROTATED || s->group.nodes == 1;
}

static struct ring_ends
ends_of(const struct sc__coll_schedule *s, uint32_t node, uint32_t c) {
    uint32_t size = sc__coll_node_size(&s->group, node);
    uint32_t begin = sc__coll_mod(c, size);
    if (goes_round(s))
        return (struct ring_ends){size, begin, sc__coll_minus(begin, 1, size), false};
    begin = sc__coll_door(&s->group, node, c);
    bool last_of_odd = node + 1 == s->group.nodes && s->group.nodes % 2;
    uint32_t before = sc__coll_door(&s->group, node, sc__coll_minus(c, 1, s->channels));
    uint32_t in = node % 2 ? before : begin;
    uint32_t out = node % 2 || last_of_odd ? begin : before;
    if (in == out)
        return (struct ring_ends){size, in, sc__coll_minus(in, 1, size), size > 1};
    return (struct ring_ends){size, in, out, false};
}

/* Members between the ends follow in their order, turned round so that it begins at `in`.
 */
static uint32_t
member_at(const struct sc__coll_schedule *s, uint32_t c, uint32_t position) {
    if (!c && goes_round(s))
        return position;
    uint32_t node = sc__coll_node_of(&s->group, position);
    uint32_t first = sc__coll_node_first(&s->group, node);
    struct ring_ends e = ends_of(s, node, c);
    uint32_t at = position - first;
    uint32_t last = sc__coll_minus(e.out, e.in, e.size);
    if (at + 1 == e.size)
        at = last;
    else
        at += at >= last;
    return first + sc__coll_plus(e.in, at, e.size);
}

static uint32_t
position_of(const struct sc__coll_schedule *s, uint32_t c, uint32_t member) {
    if (!c && goes_round(s))
        return member;
    uint32_t node = sc__coll_node_of(&s->group, member);
    uint32_t first = sc__coll_node_first(&s->group, node);
    struct ring_ends e = ends_of(s, node, c);
    uint32_t at = sc__coll_minus(member - first, e.in, e.size);
    uint32_t last = sc__coll_minus(e.out, e.in, e.size);
    if (at == last)
        return first + e.size - 1;
    return first + at - (at > last);
}

/* The connection from a position to the next one. */
static struct sc__coll_transfer
connection(const struct sc__coll_schedule *s, uint32_t c, uint32_t position) {
    uint32_t next = sc__coll_plus(position, 1, s->group.ranks);
    uint32_t from = member_at(s, c, position);
    uint32_t to = member_at(s, c, next);
    struct sc__coll_transfer t = sc__coll_one_to_one(from, to, 0, 1);
    if (goes_round(s))
        return t;
    uint32_t node = sc__coll_node_of(&s->group, from);
    if (node != sc__coll_node_of(&s->group, to) && ends_of(s, node, c).same_rail)
        t.relay = SC__RELAY_AT_SOURCE;
    return t;
}

static void choose_channels(struct sc__coll_schedule *s) {
    if (!s->channels)
        s->channels = s->group.nodes > 1 ? sc__coll_group_channels(&s->group) : 1;
}

/* --- rings ---------------------------------------------------------------- */

static void ring_init(struct sc__coll_schedule *s) {
    choose_channels(s);
    s->parts = s->group.ranks;
    s->rounds = s->coll == SC__ALLREDUCE ? 2 : 1;
    s->phases = s->rounds * (s->group.ranks - 1);
}

static uint32_t ring_slots(const struct sc__coll_schedule *s, uint32_t phase) {
    (void)phase;
    return s->group.ranks;
}

static bool ring_transfer(const struct sc__coll_schedule *s,
                          struct sc__coll_transfer_id id,
                          struct sc__coll_transfer *out) {
    uint32_t n = s->group.ranks;
    bool reduces =
        s->coll == SC__REDUCESCATTER || (s->coll == SC__ALLREDUCE && id.phase < n - 1);
    uint32_t behind = id.phase + (s->coll == SC__REDUCESCATTER);
    *out = connection(s, id.channel, id.index);
    out->first = member_at(s, id.channel, sc__coll_minus(id.index, behind, n));
    out->reduces = reduces;
    return true;
}

static uint32_t ring_sent_by(const struct sc__coll_schedule *s,
                             uint32_t phase,
                             uint32_t channel,
                             uint32_t member) {
    (void)phase;
    return position_of(s, channel, member);
}

static uint32_t ring_received_by(const struct sc__coll_schedule *s,
                                 uint32_t phase,
                                 uint32_t channel,
                                 uint32_t member) {
    (void)phase;
    return sc__coll_minus(position_of(s, channel, member), 1, s->group.ranks);
}

static uint32_t
ring_repeats(const struct sc__coll_schedule *s, uint32_t channel, uint32_t phase) {
    uint32_t pass = s->group.ranks - 1;
    (void)channel;
    return pass - phase % pass;
}

/* What is sent came in the phase before. */
static struct sc__coll_needs ring_needs(const struct sc__coll_schedule *s,
                                        struct sc__coll_transfer_id id) {
    (void)s;
    return (struct sc__coll_needs){id.phase ? id.phase - 1 : 0, id.phase};
}

const struct sc__coll_family_ops sc__coll_ring_ops = {.init = ring_init,
                                                      .slots = ring_slots,
                                                      .transfer = ring_transfer,
                                                      .sent_by = ring_sent_by,
                                                      .received_by = ring_received_by,
                                                      .repeats = ring_repeats,
                                                      .needs = ring_needs};

/* --- chains --------------------------------------------------------------- */

static void chain_init(struct sc__coll_schedule *s) {
    choose_channels(s);
    s->phases = s->group.ranks - 1;
}

static uint32_t chain_slots(const struct sc__coll_schedule *s, uint32_t phase) {
    (void)s;
    (void)phase;
    return 1;
}

/* The position that sends in a phase: a broadcast begins at the root, a reduction one
 * after it. */
static uint32_t
chain_position(const struct sc__coll_schedule *s, uint32_t channel, uint32_t phase) {
    uint32_t begin = position_of(s, channel, s->root);
    return sc__coll_plus(begin, phase + (s->coll == SC__REDUCE), s->group.ranks);
}

static bool chain_transfer(const struct sc__coll_schedule *s,
                           struct sc__coll_transfer_id id,
                           struct sc__coll_transfer *out) {
    *out = connection(s, id.channel, chain_position(s, id.channel, id.phase));
    out->reduces = s->coll == SC__REDUCE;
    return true;
}

static uint32_t chain_sent_by(const struct sc__coll_schedule *s,
                              uint32_t phase,
                              uint32_t channel,
                              uint32_t member) {
    bool it = chain_position(s, channel, phase) == position_of(s, channel, member);
    return it ? 0 : SC__NO_MEMBER;
}

static uint32_t chain_received_by(const struct sc__coll_schedule *s,
                                  uint32_t phase,
                                  uint32_t channel,
                                  uint32_t member) {
    uint32_t to = sc__coll_plus(chain_position(s, channel, phase), 1, s->group.ranks);
    return to == position_of(s, channel, member) ? 0 : SC__NO_MEMBER;
}

const struct sc__coll_family_ops sc__coll_chain_ops = {.init = chain_init,
                                                       .slots = chain_slots,
                                                       .transfer = chain_transfer,
                                                       .sent_by = chain_sent_by,
                                                       .received_by = chain_received_by,
                                                       .needs = ring_needs};
