/* schedule_torus: dimension by dimension on a box of members.
 *
 * The buffer is cut into as many slices as there are dimensions; slice k goes
 * through dimensions k, k+1 … (round), each on what the one before left. So all
 * dimensions are busy at once. Where a ring can be gone round in both directions a
 * slice has a channel for each.
 *
 *     reduce-scatter   through the dimensions of the slice in their order
 *     all-gather       through them backwards
 *     all-reduce       both
 *
 * A channel numbers its parts by the coordinates of the member that will hold
 * them, the dimension it goes through first being the most significant digit:
 * so what is sent is always a run of parts. Within a dimension it goes round a
 * ring, or directly to all others where the dimension joins all of them. */
#include "collective/schedule_family.h"

#include "workload/workload.h"

double sc__coll_torus_sent(const struct sc__coll_box *b,
                           uint32_t slice,
                           uint32_t order,
                           double bytes) {
    double left = bytes / b->dims;
    for (uint32_t i = 0; i < order; i++)
        left /= b->size[(slice + i) % b->dims];
    double size = b->size[(slice + order) % b->dims];
    return left * (size - 1) / size;
}

static bool any_ring_closes(const struct sc__coll_box *b) {
    for (uint32_t d = 0; d < b->dims; d++)
        if (b->both_directions[d])
            return true;
    return false;
}

static void torus_init(struct sc__coll_schedule *s) {
    const struct sc__coll_box *b = &s->box;
    uint32_t steps = 0;
    for (uint32_t d = 0; d < b->dims; d++)
        steps += b->size[d] - 1;
    s->siblings = any_ring_closes(b) ? 2 : 1;
    s->channels = b->dims * s->siblings;
    s->parts = s->group.ranks;
    s->rounds = s->coll == SC__ALLREDUCE ? 2 : 1;
    s->phases = s->rounds * steps;
}

static uint32_t torus_slots(const struct sc__coll_schedule *s, uint32_t phase) {
    (void)phase;
    return s->group.ranks;
}

/* Where a phase is on a channel. */
struct torus_place {
    bool reduces;
    uint32_t dim;
    uint32_t order;    /* how many dimensions of the slice come before it */
    uint32_t step;     /* within the dimension */
    uint32_t step_end; /* phase after the last one of the dimension */
};

static uint32_t
dim_of(const struct sc__coll_schedule *s, uint32_t channel, uint32_t order) {
    return (channel / s->siblings + order) % s->box.dims;
}

static struct torus_place
torus_place(const struct sc__coll_schedule *s, uint32_t channel, uint32_t phase) {
    uint32_t dims = s->box.dims;
    uint32_t pass = s->phases / s->rounds;
    bool reduces =
        s->coll == SC__REDUCESCATTER || (s->coll == SC__ALLREDUCE && phase < pass);
    uint32_t at = phase < pass ? 0 : pass;
    struct torus_place p = {.reduces = reduces};
    for (uint32_t i = 0; i < dims; i++) {
        p.order = reduces ? i : dims - 1 - i;
        p.dim = dim_of(s, channel, p.order);
        p.step = phase - at;
        p.step_end = at + s->box.size[p.dim] - 1;
        if (phase < p.step_end)
            break;
        at = p.step_end;
    }
    return p;
}

static uint32_t stride_of(const struct sc__coll_box *b, uint32_t dim) {
    uint32_t stride = 1;
    for (uint32_t d = 0; d < dim; d++)
        stride *= b->size[d];
    return stride;
}

static uint32_t coordinate(const struct sc__coll_box *b, uint32_t member, uint32_t dim) {
    return member / stride_of(b, dim) % b->size[dim];
}

static uint32_t
moved(const struct sc__coll_box *b, uint32_t member, uint32_t dim, uint32_t to) {
    uint32_t stride = stride_of(b, dim);
    return member + to * stride - coordinate(b, member, dim) * stride;
}

/* How far on in its dimension a member sends in a step, in the channel's direction. */
static uint32_t
torus_hop(const struct sc__coll_schedule *s, uint32_t channel, struct torus_place p) {
    if (s->box.all_to_all[p.dim])
        return p.step + 1;
    bool back = channel % s->siblings && s->box.both_directions[p.dim];
    return back ? s->box.size[p.dim] - 1 : 1;
}

/* The digit of the parts that a member with coordinate x sends. */
static uint32_t digit_sent(const struct sc__coll_schedule *s,
                           struct torus_place p,
                           uint32_t x,
                           uint32_t hop) {
    uint32_t size = s->box.size[p.dim];
    if (s->box.all_to_all[p.dim])
        return p.reduces ? sc__coll_plus(x, hop, size) : x;
    /* round the ring: what came last, or, when reducing, what is to end one before */
    uint32_t behind = p.step + p.reduces;
    return hop == 1 ? sc__coll_minus(x, behind, size) : sc__coll_plus(x, behind, size);
}

static bool torus_transfer(const struct sc__coll_schedule *s,
                           struct sc__coll_transfer_id id,
                           struct sc__coll_transfer *out) {
    const struct sc__coll_box *b = &s->box;
    struct torus_place p = torus_place(s, id.channel, id.phase);
    uint32_t x = coordinate(b, id.index, p.dim);
    uint32_t hop = torus_hop(s, id.channel, p);
    uint32_t to = moved(b, id.index, p.dim, sc__coll_plus(x, hop, b->size[p.dim]));
    uint64_t run = s->parts;
    uint64_t first = 0;
    for (uint32_t i = 0; i <= p.order; i++) {
        uint32_t dim = dim_of(s, id.channel, i);
        bool sent = i == p.order;
        run /= b->size[dim];
        first += run * (sent ? digit_sent(s, p, x, hop) : coordinate(b, id.index, dim));
    }
    *out = sc__coll_one_to_one(id.index, to, first, run);
    out->reduces = p.reduces;
    return true;
}

static uint32_t torus_received_by(const struct sc__coll_schedule *s,
                                  uint32_t phase,
                                  uint32_t channel,
                                  uint32_t member) {
    struct torus_place p = torus_place(s, channel, phase);
    uint32_t x = coordinate(&s->box, member, p.dim);
    uint32_t hop = torus_hop(s, channel, p);
    return moved(&s->box, member, p.dim, sc__coll_minus(x, hop, s->box.size[p.dim]));
}

static uint32_t
torus_repeats(const struct sc__coll_schedule *s, uint32_t channel, uint32_t phase) {
    struct torus_place p = torus_place(s, channel, phase);
    return s->box.all_to_all[p.dim] ? 1 : p.step_end - phase;
}

static struct sc__coll_needs torus_needs(const struct sc__coll_schedule *s,
                                         struct sc__coll_transfer_id id) {
    (void)s;
    return (struct sc__coll_needs){0, id.phase};
}

const struct sc__coll_family_ops sc__coll_torus_ops = {.init = torus_init,
                                                       .slots = torus_slots,
                                                       .transfer = torus_transfer,
                                                       .sent_by = sc__coll_sent_by_itself,
                                                       .received_by = torus_received_by,
                                                       .repeats = torus_repeats,
                                                       .needs = torus_needs};
