#include "frontend/kineto/kineto_transfers.h"

#include <string.h>

void sc__kineto_transfers_init(struct sc__kineto_transfers *x, struct sc__arena *arena) {
    *x = (struct sc__kineto_transfers){.arena = arena};
    sc__map_init(&x->met, arena);
}

void sc__kineto_transfers_next_rank(struct sc__kineto_transfers *x) {
    sc__map_init(&x->met, x->arena);
    x->rank++;
}

/* The k-th collective of a group on one rank is the k-th on the others. */
static int64_t place_in_step(struct sc__kineto_transfers *x, uint16_t group) {
    return (int64_t)(*sc__map_at(&x->met, group, NULL))++;
}

static uint64_t hash_of(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t parts[] = {a, b, c};
    return sc__hash(parts, sizeof parts, 0);
}

void sc__kineto_transfer_add(struct sc__kineto_transfers *x,
                             const struct sc__workload *w,
                             uint32_t first_rank,
                             const char *process_group,
                             int64_t seq,
                             int64_t duration,
                             uint32_t span) {
    bool named = seq >= 0;
    uint32_t op = w->op_count - 1;
    uint16_t group = w->ops[op].group;
    uint64_t members = hash_of(group, first_rank, 0);
    int64_t number = named ? seq : place_in_step(x, group);
    *SC__PUSH(x->arena, x->items, x->count, x->capacity) = (struct sc__kineto_transfer){
        .members = members,
        .collective = hash_of(members, named, (uint64_t)number),
        .process_group =
            named && process_group ? sc__hash(process_group, strlen(process_group), 0) : 0,
        .seq = named ? seq : -1,
        .duration = duration,
        .rank = x->rank,
        .op = op,
        .span = span};
}

/* Two process groups may have the same ranks (Megatron's data parallelism with and without
 * cp), and each counts its collectives by itself. Their names tell them apart where all
 * ranks use the same ones; what matched nothing would count its waiting as transfer. */
static void tell_process_groups(struct sc__kineto_transfers *x) {
    struct sc__map seen;
    struct sc__map names;   /* members and rank → sum of the names it uses */
    struct sc__map of_all;  /* members → that sum */
    struct sc__map unequal; /* members whose ranks have other sums */
    sc__map_init(&seen, x->arena);
    sc__map_init(&names, x->arena);
    sc__map_init(&of_all, x->arena);
    sc__map_init(&unequal, x->arena);
    for (uint32_t i = 0; i < x->count; i++) {
        const struct sc__kineto_transfer *t = &x->items[i];
        bool fresh;
        sc__map_at(&seen, hash_of(t->members, t->rank, t->process_group), &fresh);
        if (fresh)
            *sc__map_at(&names, hash_of(t->members, t->rank, 0), NULL) += t->process_group;
    }
    for (uint32_t i = 0; i < x->count; i++) {
        const struct sc__kineto_transfer *t = &x->items[i];
        uint64_t sum = *sc__map_find(&names, hash_of(t->members, t->rank, 0));
        bool fresh;
        uint64_t *all = sc__map_at(&of_all, t->members, &fresh);
        if (fresh)
            *all = sum;
        else if (*all != sum)
            sc__map_at(&unequal, t->members, NULL);
    }
    for (uint32_t i = 0; i < x->count; i++) {
        struct sc__kineto_transfer *t = &x->items[i];
        if (!sc__map_find(&unequal, t->members))
            t->collective = hash_of(t->collective, t->process_group, 0);
    }
}

/* A rank's step begins with the same collective of a group as that of the others. */
static uint32_t shifted_groups(struct sc__kineto_transfers *x) {
    struct sc__map lowest; /* group and rank → the lowest number there */
    struct sc__map begins; /* group → that of the first rank */
    struct sc__map seen;
    uint32_t shifted = 0;
    bool fresh;
    sc__map_init(&lowest, x->arena);
    sc__map_init(&begins, x->arena);
    sc__map_init(&seen, x->arena);
    for (uint32_t i = 0; i < x->count; i++) {
        const struct sc__kineto_transfer *t = &x->items[i];
        if (t->seq < 0)
            continue;
        uint64_t *least =
            sc__map_at(&lowest, hash_of(t->members, t->process_group, t->rank), &fresh);
        if (fresh || (uint64_t)t->seq < *least)
            *least = (uint64_t)t->seq;
    }
    for (uint32_t i = 0; i < x->count; i++) {
        const struct sc__kineto_transfer *t = &x->items[i];
        uint64_t of_rank = hash_of(t->members, t->process_group, t->rank);
        sc__map_at(&seen, of_rank, &fresh);
        if (t->seq < 0 || !fresh)
            continue;
        uint64_t least = *sc__map_find(&lowest, of_rank);
        uint64_t *begin =
            sc__map_at(&begins, hash_of(t->members, t->process_group, 0), &fresh);
        if (fresh)
            *begin = least;
        shifted += *begin != least;
    }
    return shifted;
}

void sc__kineto_transfers_settle(struct sc__kineto_transfers *x,
                                 struct sc__workload *w,
                                 struct sc__timeline *measured) {
    struct sc__map least; /* collective → its least duration, ns */
    sc__map_init(&least, x->arena);
    tell_process_groups(x);
    x->shifted = shifted_groups(x);
    for (uint32_t i = 0; i < x->count; i++) {
        const struct sc__kineto_transfer *t = &x->items[i];
        bool fresh;
        uint64_t *ns = sc__map_at(&least, t->collective, &fresh);
        if (fresh || (uint64_t)t->duration < *ns)
            *ns = (uint64_t)t->duration;
    }
    for (uint32_t i = 0; i < x->count; i++) {
        const struct sc__kineto_transfer *t = &x->items[i];
        int64_t cost = (int64_t)*sc__map_find(&least, t->collective) * SC__PS_PER_NS;
        struct sc__op *op = &w->ops[t->op];
        struct sc__span *span = &measured->spans[t->span];
        if (op->flags & SC__OP_MEASURED)
            op->cost = cost;
        span->ready = span->end - cost;
    }
}
