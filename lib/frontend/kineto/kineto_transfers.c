#include "frontend/kineto/kineto_transfers.h"

void sc__kineto_transfers_init(struct sc__kineto_transfers *x, struct sc__arena *arena) {
    *x = (struct sc__kineto_transfers){.arena = arena};
    sc__map_init(&x->least, arena);
    sc__map_init(&x->met, arena);
}

void sc__kineto_transfers_next_rank(struct sc__kineto_transfers *x) {
    sc__map_init(&x->met, x->arena);
}

/* The k-th collective of a group on one rank is the k-th on the others. */
static int64_t place_in_step(struct sc__kineto_transfers *x, uint16_t group) {
    return (int64_t)(*sc__map_at(&x->met, group, NULL))++;
}

static uint64_t
collective_of(uint16_t group, uint32_t first_rank, bool named, int64_t seq) {
    uint64_t parts[] = {group, first_rank, named, (uint64_t)seq};
    return sc__hash(parts, sizeof parts, 0);
}

void sc__kineto_transfer_add(struct sc__kineto_transfers *x,
                             const struct sc__workload *w,
                             uint32_t first_rank,
                             int64_t seq,
                             int64_t duration,
                             uint32_t span) {
    bool fresh;
    bool named = seq >= 0;
    uint32_t op = w->op_count - 1;
    uint16_t group = w->ops[op].group;
    if (!named)
        seq = place_in_step(x, group);
    uint64_t collective = collective_of(group, first_rank, named, seq);
    uint64_t *least = sc__map_at(&x->least, collective, &fresh);
    if (fresh || (uint64_t)duration < *least)
        *least = (uint64_t)duration;
    *SC__PUSH(x->arena, x->items, x->count, x->capacity) =
        (struct sc__kineto_transfer){collective, op, span};
}

void sc__kineto_transfers_settle(const struct sc__kineto_transfers *x,
                                 struct sc__workload *w,
                                 struct sc__timeline *measured) {
    for (uint32_t i = 0; i < x->count; i++) {
        const struct sc__kineto_transfer *t = &x->items[i];
        int64_t cost = (int64_t)*sc__map_find(&x->least, t->collective) * SC__PS_PER_NS;
        struct sc__op *op = &w->ops[t->op];
        struct sc__span *span = &measured->spans[t->span];
        if (op->flags & SC__OP_MEASURED)
            op->cost = cost;
        span->ready = span->end - cost;
    }
}
