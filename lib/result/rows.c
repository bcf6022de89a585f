/* rows: the timeline of a class summed by row of the input. A transfer is exposed for
 * as long as the breakdown says that the class waited for it: of several at once one. */
#include "result/result.h"

#include <string.h>

struct rows_table {
    struct sc__arena *arena;
    const struct sc__result *r;
    struct sc__map known; /* row, or name where there is none → index in items */
    struct sc__row_sums *items;
    uint32_t count;
    uint32_t capacity;
};

static struct sc__row_sums *row_of(struct rows_table *t, const struct sc__op *op) {
    uint64_t key = op->row == SC__NONE ? (uint64_t)1 << 40 | op->name : op->row;
    bool fresh;
    uint64_t *slot = sc__map_at(&t->known, key, &fresh);
    if (fresh) {
        *slot = t->count;
        struct sc__row_sums *row = SC__PUSH(t->arena, t->items, t->count, t->capacity);
        row->name = t->r->workload->names.text[op->name];
        row->row = op->row;
    }
    return &t->items[*slot];
}

static void
rows_add_span(struct rows_table *t, const struct sc__op *op, const struct sc__span *s) {
    struct sc__row_sums *to = row_of(t, op);
    to->calls++;
    if (op->kind == SC__OP_COMPUTE) {
        to->compute[op->phase] += s->end - s->start;
        return;
    }
    to->bytes += op->bytes;
    to->comm[op->phase] += s->end - s->ready;
}

static void rows_add_exposed(struct rows_table *t, uint32_t class) {
    const struct sc__timeline *line = t->r->timeline;
    struct sc__segments segments;
    sc__segments(t->arena, line, &t->r->by_class, class, &segments);
    for (uint32_t i = 0; i < segments.count; i++) {
        const struct sc__segment *g = &segments.items[i];
        if (g->kind != SC__SEGMENT_COMM || g->span == SC__NONE)
            continue;
        const struct sc__op *op = &t->r->workload->ops[line->spans[g->span].op];
        row_of(t, op)->exposed[op->phase] += g->end - g->start;
    }
}

uint32_t sc__rows_sum(struct sc__arena *a,
                      const struct sc__result *r,
                      uint32_t class,
                      struct sc__row_sums **out) {
    struct rows_table t = {.arena = a, .r = r};
    sc__map_init(&t.known, a);
    for (uint32_t i = 0; i < r->timeline->count; i++) {
        const struct sc__span *s = &r->timeline->spans[i];
        const struct sc__op *op = &r->workload->ops[s->op];
        if (s->class == class && op->kind != SC__OP_WAIT)
            rows_add_span(&t, op, s);
    }
    rows_add_exposed(&t, class);
    *out = t.items;
    return t.count;
}
