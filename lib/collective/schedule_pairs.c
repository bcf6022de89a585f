/* schedule_pairs: every member with every other, or the root with every other, or every
 * member with the next.
 * Phase k-1 has the pairs that are k apart; they do not wait for each other.
 *
 *     all-to-all       m sends m+k the part of the pair (m, m+k)
 *     reduce-scatter   … its contribution to part m+k
 *     all-gather       … its own part
 *     all-reduce       reduce-scatter, then all-gather
 *     gather, scatter  the part of root+k, to or from the root
 *     shift            m sends m+1 all it has, and that is all */
#include "collective/schedule_family.h"

#include "workload/workload.h"

static void pairs_init(struct sc__coll_schedule *s) {
    uint64_t n = s->group.ranks;
    s->channels = 1;
    s->parts = s->coll == SC__ALLTOALL ? n * n : n;
    s->rounds = s->coll == SC__ALLREDUCE ? 2 : 1;
    s->phases = s->rounds * (s->group.ranks - 1);
}

static uint32_t pairs_slots(const struct sc__coll_schedule *s, uint32_t phase) {
    (void)phase;
    return s->group.ranks;
}

/* How far apart the pairs of a phase are. */
static uint32_t far_of(const struct sc__coll_schedule *s, uint32_t phase) {
    return sc__coll_mod(phase, s->group.ranks - 1) + 1;
}

static bool scatters(const struct sc__coll_schedule *s, uint32_t phase) {
    bool first_pass = phase < s->group.ranks - 1;
    return s->coll == SC__REDUCESCATTER || (s->coll == SC__ALLREDUCE && first_pass);
}

static bool pairs_transfer(const struct sc__coll_schedule *s,
                           struct sc__coll_transfer_id id,
                           struct sc__coll_transfer *out) {
    uint32_t n = s->group.ranks;
    uint32_t to = sc__coll_plus(id.index, far_of(s, id.phase), n);
    bool reduces = scatters(s, id.phase);
    uint64_t part = reduces ? to : id.index;
    if (s->coll == SC__ALLTOALL)
        part = (uint64_t)id.index * n + to;
    *out = sc__coll_one_to_one(id.index, to, part, 1);
    out->reduces = reduces;
    if (s->relay != SC__RELAY_NONE &&
        sc__coll_node_of(&s->group, id.index) != sc__coll_node_of(&s->group, to))
        out->relay = s->relay;
    return true;
}

static uint32_t pairs_received_by(const struct sc__coll_schedule *s,
                                  uint32_t phase,
                                  uint32_t channel,
                                  uint32_t member) {
    (void)channel;
    return sc__coll_minus(member, far_of(s, phase), s->group.ranks);
}

/* The second pass of an all-reduce sends what all others have added to. */
static struct sc__coll_needs pairs_needs(const struct sc__coll_schedule *s,
                                         struct sc__coll_transfer_id id) {
    uint32_t pass = s->group.ranks - 1;
    return (struct sc__coll_needs){0, id.phase < pass ? 0 : pass};
}

const struct sc__coll_family_ops sc__coll_pairs_ops = {.init = pairs_init,
                                                       .slots = pairs_slots,
                                                       .transfer = pairs_transfer,
                                                       .sent_by = sc__coll_sent_by_itself,
                                                       .received_by = pairs_received_by,
                                                       .needs = pairs_needs};

/* --- gather, scatter ------------------------------------------------------- */

static void root_init(struct sc__coll_schedule *s) {
    s->channels = 1;
    s->parts = s->group.ranks;
    s->phases = s->group.ranks - 1;
}

static uint32_t root_slots(const struct sc__coll_schedule *s, uint32_t phase) {
    (void)s;
    (void)phase;
    return 1;
}

static uint32_t other_of(const struct sc__coll_schedule *s, uint32_t phase) {
    return sc__coll_plus(s->root, phase + 1, s->group.ranks);
}

static bool root_transfer(const struct sc__coll_schedule *s,
                          struct sc__coll_transfer_id id,
                          struct sc__coll_transfer *out) {
    uint32_t other = other_of(s, id.phase);
    bool gather = s->coll == SC__GATHER;
    *out =
        sc__coll_one_to_one(gather ? other : s->root, gather ? s->root : other, other, 1);
    return true;
}

static uint32_t root_slot(const struct sc__coll_schedule *s,
                          uint32_t phase,
                          uint32_t member,
                          bool as_root) {
    return member == (as_root ? s->root : other_of(s, phase)) ? 0 : SC__NO_MEMBER;
}

static uint32_t root_sent_by(const struct sc__coll_schedule *s,
                             uint32_t phase,
                             uint32_t channel,
                             uint32_t member) {
    (void)channel;
    return root_slot(s, phase, member, s->coll == SC__SCATTER);
}

static uint32_t root_received_by(const struct sc__coll_schedule *s,
                                 uint32_t phase,
                                 uint32_t channel,
                                 uint32_t member) {
    (void)channel;
    return root_slot(s, phase, member, s->coll == SC__GATHER);
}

static struct sc__coll_needs nothing_before(const struct sc__coll_schedule *s,
                                            struct sc__coll_transfer_id id) {
    (void)s;
    (void)id;
    return (struct sc__coll_needs){0, 0};
}

const struct sc__coll_family_ops sc__coll_root_ops = {.init = root_init,
                                                      .slots = root_slots,
                                                      .transfer = root_transfer,
                                                      .sent_by = root_sent_by,
                                                      .received_by = root_received_by,
                                                      .needs = nothing_before};

/* --- shift ----------------------------------------------------------------- */

static void shift_init(struct sc__coll_schedule *s) {
    s->channels = 1;
    s->parts = s->group.ranks;
    s->phases = 1;
}

static bool shift_transfer(const struct sc__coll_schedule *s,
                           struct sc__coll_transfer_id id,
                           struct sc__coll_transfer *out) {
    uint32_t to = sc__coll_plus(id.index, 1, s->group.ranks);
    *out = sc__coll_one_to_one(id.index, to, id.index, 1);
    return true;
}

static uint32_t shift_received_by(const struct sc__coll_schedule *s,
                                  uint32_t phase,
                                  uint32_t channel,
                                  uint32_t member) {
    (void)phase;
    (void)channel;
    return sc__coll_minus(member, 1, s->group.ranks);
}

const struct sc__coll_family_ops sc__coll_shift_ops = {.init = shift_init,
                                                       .slots = pairs_slots,
                                                       .transfer = shift_transfer,
                                                       .sent_by = sc__coll_sent_by_itself,
                                                       .received_by = shift_received_by,
                                                       .needs = nothing_before};
