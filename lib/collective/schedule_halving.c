/* schedule_halving: ⌈log2 n⌉ phases in which member m sends to m + d, for any n.
 *
 * All-gather, the nearest first (recursive doubling, Bruck): by distance d
 * everyone holds the parts of d members, and sends them on but for those the
 * receiver will not lack. The farthest first (PAT): by distance d everyone holds
 * every 2d-th part.
 *
 *     n = 8          d      parts sent
 *     nearest first  1 2 4  1 2 4
 *     farthest first 4 2 1  1 2 4
 *
 * Reduce-scatter is the all-gather backwards in time and mirrored (m - d for
 * m + d), so that both go over the same connections: what would come in last
 * from the mirror image goes out first. */
#include "collective/schedule_family.h"

#include "workload/workload.h"

static void halving_init(struct sc__coll_schedule *s) {
    s->channels = 1;
    s->parts = s->group.ranks;
    s->levels = sc__coll_levels(s->group.ranks);
    s->rounds = s->coll == SC__ALLREDUCE ? 2 : 1;
    s->phases = s->rounds * s->levels;
}

static uint32_t halving_slots(const struct sc__coll_schedule *s, uint32_t phase) {
    (void)phase;
    return s->group.ranks;
}

static bool halves(const struct sc__coll_schedule *s, uint32_t phase) {
    return s->coll == SC__REDUCESCATTER || (s->coll == SC__ALLREDUCE && phase < s->levels);
}

/* Of an all-gather, or of its mirror image. */
static uint32_t distance_of(const struct sc__coll_schedule *s, uint32_t phase) {
    uint32_t step = phase % s->levels;
    bool near_first = s->family == SC__FAMILY_HALVING;
    if (halves(s, phase))
        step = s->levels - 1 - step;
    return UINT32_C(1) << (near_first ? step : s->levels - 1 - step);
}

struct halving_parts {
    uint32_t count;
    uint32_t stride;
};

static struct halving_parts parts_sent(const struct sc__coll_schedule *s, uint32_t d) {
    uint32_t n = s->group.ranks;
    if (s->family == SC__FAMILY_HALVING)
        return (struct halving_parts){d < n - d ? d : n - d, 1};
    return (struct halving_parts){(n - 1 - d) / (2 * d) + 1, 2 * d};
}

static bool halving_transfer(const struct sc__coll_schedule *s,
                             struct sc__coll_transfer_id id,
                             struct sc__coll_transfer *out) {
    uint32_t n = s->group.ranks;
    uint32_t d = distance_of(s, id.phase);
    struct halving_parts sent = parts_sent(s, d);
    uint32_t to = sc__coll_plus(id.index, d, n);
    uint32_t reach = (sent.count - 1) * sent.stride;
    bool reduces = halves(s, id.phase);
    uint32_t first = reduces ? to : sc__coll_minus(id.index, reach, n);
    *out = sc__coll_one_to_one(id.index, to, first, sent.count);
    out->stride = sent.stride;
    out->reduces = reduces;
    return true;
}

static uint32_t halving_received_by(const struct sc__coll_schedule *s,
                                    uint32_t phase,
                                    uint32_t channel,
                                    uint32_t member) {
    (void)channel;
    return sc__coll_minus(member, distance_of(s, phase), s->group.ranks);
}

static struct sc__coll_needs halving_needs(const struct sc__coll_schedule *s,
                                           struct sc__coll_transfer_id id) {
    (void)s;
    return (struct sc__coll_needs){0, id.phase};
}

const struct sc__coll_family_ops sc__coll_halving_ops = {.init = halving_init,
                                                         .slots = halving_slots,
                                                         .transfer = halving_transfer,
                                                         .sent_by = sc__coll_sent_by_itself,
                                                         .received_by = halving_received_by,
                                                         .needs = halving_needs};
