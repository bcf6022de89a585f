#include "result/operations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct operations_sums {
    struct sc__arena *arena;
    const struct sc__timeline *t;
    const struct sc__by_class *index;
    struct sc__map seen;
    uint64_t *group_keys; /* groups of one label are one group here */
    struct sc__operations *out;
};

static uint64_t operations_key_of(const struct operations_sums *s,
                                  const struct sc__op *op) {
    bool collective = op->kind == SC__OP_COLLECTIVE;
    bool compute = op->kind == SC__OP_COMPUTE;
    uint64_t key[3] = {op->name,
                       collective ? s->group_keys[op->group] : 0,
                       (uint64_t)op->kind << 16 | (uint64_t)op->phase << 8 |
                           (collective ? op->coll
                            : compute  ? op->work
                                       : 0)};
    return sc__hash(key, sizeof key, 2);
}

static struct sc__operation *operation(struct operations_sums *s, const struct sc__op *op) {
    bool fresh;
    uint64_t *place = sc__map_at(&s->seen, operations_key_of(s, op), &fresh);
    if (fresh) {
        *place = s->out->count;
        *SC__PUSH(s->arena, s->out->items, s->out->count, s->out->capacity) =
            (struct sc__operation){.name = s->t->workload->names.text[op->name], .op = op};
    }
    return &s->out->items[*place];
}

/* weight: the share of all ranks that this class is. */
static void operations_add_class(struct operations_sums *s, uint32_t class, double weight) {
    for (uint32_t i = s->index->first[class]; i < s->index->first[class + 1]; i++) {
        const struct sc__span *span = &s->t->spans[s->index->spans[i]];
        const struct sc__op *op = &s->t->workload->ops[span->op];
        if (op->kind == SC__OP_WAIT)
            continue;
        struct sc__operation *o = operation(s, op);
        int64_t waited = op->kind != SC__OP_COMPUTE && span->ready > span->start
                             ? span->ready - span->start
                             : 0;
        o->count += weight;
        o->bytes += weight * (double)op->bytes;
        o->total += weight * (double)(span->end - span->start - waited);
        o->waited += weight * (double)waited;
    }
}

double sc__operation_us(double ps) {
    return round(ps) / 1e6;
}

static int operations_longest_first(const void *x, const void *y) {
    const struct sc__operation *a = x;
    const struct sc__operation *b = y;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    int names = strcmp(a->name, b->name);
    return names ? names : (int)a->op->phase - (int)b->op->phase;
}

void sc__operations(struct sc__arena *a,
                    const struct sc__timeline *t,
                    const struct sc__by_class *index,
                    struct sc__operations *out) {
    const struct sc__workload *w = t->workload;
    struct operations_sums s = {.arena = a, .t = t, .index = index, .out = out};
    double ranks = 0;
    memset(out, 0, sizeof *out);
    sc__map_init(&s.seen, a);
    s.group_keys = SC__NEW_ARRAY(a, uint64_t, w->group_count + 1);
    for (uint32_t g = 0; g < w->group_count; g++)
        s.group_keys[g] = sc__hash(w->groups[g].label, strlen(w->groups[g].label), 0);
    for (uint32_t c = 0; c < w->class_count; c++)
        ranks += w->classes[c].ranks;
    for (uint32_t c = 0; c < w->class_count; c++)
        operations_add_class(&s, c, w->classes[c].ranks / ranks);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, operations_longest_first);
}
