#include "frontend/kineto/kineto_transfers.h"

#include <string.h>

void sc__kineto_transfers_init(struct sc__kineto_transfers *x, struct sc__arena *arena) {
    *x = (struct sc__kineto_transfers){.arena = arena};
    sc__map_init(&x->least, arena);
    sc__map_init(&x->met, arena);
    sc__map_init(&x->lowest, arena);
    sc__map_init(&x->begins, arena);
}

/* A rank's step begins with the same collective of a group as that of the others. */
static void end_rank(struct sc__kineto_transfers *x) {
    for (uint32_t i = 0; i < x->lowest.slot_count; i++) {
        const struct sc__map_slot *slot = &x->lowest.slots[i];
        bool fresh;
        if (!slot->used)
            continue;
        uint64_t *begin = sc__map_at(&x->begins, slot->key, &fresh);
        if (fresh)
            *begin = slot->value;
        else
            x->shifted += *begin != slot->value;
    }
}

void sc__kineto_transfers_next_rank(struct sc__kineto_transfers *x) {
    end_rank(x);
    sc__map_init(&x->met, x->arena);
    sc__map_init(&x->lowest, x->arena);
}

/* The k-th collective of a group on one rank is the k-th on the others. */
static int64_t place_in_step(struct sc__kineto_transfers *x, uint64_t group) {
    return (int64_t)(*sc__map_at(&x->met, group, NULL))++;
}

static void keep_lowest(struct sc__kineto_transfers *x, uint64_t group, uint64_t seq) {
    bool fresh;
    uint64_t *lowest = sc__map_at(&x->lowest, group, &fresh);
    if (fresh || seq < *lowest)
        *lowest = seq;
}

/* Of the same ranks there may be several groups, each of which counts its own collectives
 * (Megatron's data parallel ones with and without context parallelism). */
static uint64_t group_of(const struct sc__op *op, uint32_t first_rank, const char *name) {
    uint64_t parts[] = {op->group, first_rank};
    return sc__hash(parts, sizeof parts, name ? sc__hash(name, strlen(name), 1) : 0);
}

static uint64_t collective_of(uint64_t group, bool numbered, int64_t seq) {
    uint64_t parts[] = {group, numbered, (uint64_t)seq};
    return sc__hash(parts, sizeof parts, 0);
}

void sc__kineto_transfer_add(struct sc__kineto_transfers *x,
                             const struct sc__workload *w,
                             uint32_t first_rank,
                             const char *name,
                             int64_t seq,
                             int64_t duration,
                             uint32_t span) {
    bool fresh;
    bool numbered = seq >= 0;
    uint32_t op = w->op_count - 1;
    uint64_t group = group_of(&w->ops[op], first_rank, name);
    if (!numbered)
        seq = place_in_step(x, group);
    else
        keep_lowest(x, group, (uint64_t)seq);
    uint64_t collective = collective_of(group, numbered, seq);
    uint64_t *least = sc__map_at(&x->least, collective, &fresh);
    if (fresh || (uint64_t)duration < *least)
        *least = (uint64_t)duration;
    *SC__PUSH(x->arena, x->items, x->count, x->capacity) =
        (struct sc__kineto_transfer){collective, op, span};
}

void sc__kineto_transfers_settle(struct sc__kineto_transfers *x,
                                 struct sc__workload *w,
                                 struct sc__timeline *measured) {
    end_rank(x);
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
