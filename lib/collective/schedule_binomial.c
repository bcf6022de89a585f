/* schedule_binomial: a buffer to or from the root in ⌈log2 n⌉ phases, and the
 * dissemination barrier.
 *
 * Places count from the root. Broadcast: in phase j the places below 2^j tell
 * those 2^j further on. Reduce: the same backwards. Barrier: in phase j
 * everyone tells the member 2^j further on what it has heard. */
#include "collective/schedule_family.h"

#include "workload/workload.h"

static void binomial_init(struct sc__coll_schedule *s) {
    s->channels = 1;
    s->levels = sc__coll_levels(s->group.ranks);
    s->phases = s->levels;
}

static uint32_t bit_of(const struct sc__coll_schedule *s, uint32_t phase) {
    uint32_t step = s->coll == SC__REDUCE ? s->levels - 1 - phase : phase;
    return UINT32_C(1) << step;
}

static uint32_t binomial_slots(const struct sc__coll_schedule *s, uint32_t phase) {
    uint32_t bit = bit_of(s, phase);
    uint32_t above = s->group.ranks - bit;
    return bit < above ? bit : above;
}

static bool binomial_transfer(const struct sc__coll_schedule *s,
                              struct sc__coll_transfer_id id,
                              struct sc__coll_transfer *out) {
    uint32_t n = s->group.ranks;
    uint32_t near = sc__coll_plus(s->root, id.index, n);
    uint32_t far = sc__coll_plus(near, bit_of(s, id.phase), n);
    bool reduces = s->coll == SC__REDUCE;
    *out = sc__coll_one_to_one(reduces ? far : near, reduces ? near : far, 0, 1);
    out->reduces = reduces;
    return true;
}

/* The slot in which a member is the one nearer to the root, or the farther. */
static uint32_t binomial_slot(const struct sc__coll_schedule *s,
                              uint32_t phase,
                              uint32_t member,
                              bool near) {
    uint32_t place = sc__coll_minus(member, s->root, s->group.ranks);
    uint32_t bit = bit_of(s, phase);
    if (!near && place < bit)
        return SC__NO_MEMBER;
    uint32_t slot = near ? place : place - bit;
    return slot < binomial_slots(s, phase) ? slot : SC__NO_MEMBER;
}

static uint32_t binomial_sent_by(const struct sc__coll_schedule *s,
                                 uint32_t phase,
                                 uint32_t channel,
                                 uint32_t member) {
    (void)channel;
    return binomial_slot(s, phase, member, s->coll != SC__REDUCE);
}

static uint32_t binomial_received_by(const struct sc__coll_schedule *s,
                                     uint32_t phase,
                                     uint32_t channel,
                                     uint32_t member) {
    (void)channel;
    return binomial_slot(s, phase, member, s->coll == SC__REDUCE);
}

static struct sc__coll_needs all_before(const struct sc__coll_schedule *s,
                                        struct sc__coll_transfer_id id) {
    (void)s;
    return (struct sc__coll_needs){0, id.phase};
}

const struct sc__coll_family_ops sc__coll_binomial_ops = {.init = binomial_init,
                                                          .slots = binomial_slots,
                                                          .transfer = binomial_transfer,
                                                          .sent_by = binomial_sent_by,
                                                          .received_by =
                                                              binomial_received_by,
                                                          .needs = all_before};

/* --- barrier --------------------------------------------------------------- */

static uint32_t dissemination_slots(const struct sc__coll_schedule *s, uint32_t phase) {
    (void)phase;
    return s->group.ranks;
}

static bool dissemination_transfer(const struct sc__coll_schedule *s,
                                   struct sc__coll_transfer_id id,
                                   struct sc__coll_transfer *out) {
    uint32_t to = sc__coll_plus(id.index, bit_of(s, id.phase), s->group.ranks);
    *out = sc__coll_one_to_one(id.index, to, 0, 1);
    out->reduces = true;
    return true;
}

static uint32_t dissemination_received_by(const struct sc__coll_schedule *s,
                                          uint32_t phase,
                                          uint32_t channel,
                                          uint32_t member) {
    (void)channel;
    return sc__coll_minus(member, bit_of(s, phase), s->group.ranks);
}

const struct sc__coll_family_ops sc__coll_dissemination_ops = {
    .init = binomial_init,
    .slots = dissemination_slots,
    .transfer = dissemination_transfer,
    .sent_by = sc__coll_sent_by_itself,
    .received_by = dissemination_received_by,
    .needs = all_before};
