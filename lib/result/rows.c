/* rows: the timeline of a class summed by row of the input. A transfer is
 * exposed while the compute stream does not compute. */
#include "result/result.h"

#include <stdlib.h>
#include <string.h>

struct rows_busy { /* when the class rows_computes, in order, and the sum before each */
    int64_t *start;
    int64_t *end;
    int64_t *sum;
    uint32_t count;
};

static bool
rows_computes(const struct sc__result *r, const struct sc__span *s, uint32_t class) {
    return s->class == class && r->workload->ops[s->op].kind == SC__OP_COMPUTE;
}

static int rows_by_start(const void *a, const void *b) {
    const struct sc__span *x = *(const struct sc__span *const *)a;
    const struct sc__span *y = *(const struct sc__span *const *)b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static struct rows_busy
rows_find_busy(struct sc__arena *a, const struct sc__result *r, uint32_t class) {
    const struct sc__timeline *t = r->timeline;
    const struct sc__span **list = SC__NEW_ARRAY(a, const struct sc__span *, t->count);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (rows_computes(r, &t->spans[i], class))
            list[n++] = &t->spans[i];
    if (n)
        qsort(list, n, sizeof *list, rows_by_start);
    struct rows_busy b = {SC__NEW_ARRAY(a, int64_t, n + 1),
                          SC__NEW_ARRAY(a, int64_t, n + 1),
                          SC__NEW_ARRAY(a, int64_t, n + 1),
                          0};
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (b.count && list[i]->start <= b.end[b.count - 1]) {
            if (list[i]->end > b.end[b.count - 1]) {
                sum += list[i]->end - b.end[b.count - 1];
                b.end[b.count - 1] = list[i]->end;
            }
            continue;
        }
        b.sum[b.count] = sum;
        b.start[b.count] = list[i]->start;
        b.end[b.count++] = list[i]->end;
        sum += list[i]->end - list[i]->start;
    }
    b.sum[b.count] = sum;
    return b;
}

/* Time computed before t. */
static int64_t rows_computed_until(const struct rows_busy *b, int64_t t) {
    uint32_t low = 0;
    uint32_t high = b->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (b->start[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    int64_t end = b->end[low - 1] < t ? b->end[low - 1] : t;
    return b->sum[low - 1] + end - b->start[low - 1];
}

static void rows_add_span(struct sc__row_sums *to,
                          const struct sc__op *op,
                          const struct sc__span *s,
                          const struct rows_busy *b) {
    to->calls++;
    if (op->kind == SC__OP_COMPUTE) {
        to->compute[op->phase] += s->end - s->start;
        return;
    }
    to->bytes += op->bytes;
    to->comm[op->phase] += s->end - s->ready;
    to->exposed[op->phase] +=
        s->end - s->ready -
        (rows_computed_until(b, s->end) - rows_computed_until(b, s->ready));
}

uint32_t sc__rows_sum(struct sc__arena *a,
                      const struct sc__result *r,
                      uint32_t class,
                      struct sc__row_sums **out) {
    const struct sc__workload *w = r->workload;
    struct rows_busy busy = rows_find_busy(a, r, class);
    struct sc__map known;
    uint32_t count = 0;
    uint32_t capacity = 0;
    sc__map_init(&known, a);
    *out = NULL;
    for (uint32_t i = 0; i < r->timeline->count; i++) {
        const struct sc__span *s = &r->timeline->spans[i];
        const struct sc__op *op = &w->ops[s->op];
        if (s->class != class || op->kind == SC__OP_WAIT)
            continue;
        bool fresh;
        uint64_t *slot =
            sc__map_at(&known,
                       op->row == SC__NONE ? (uint64_t)1 << 40 | op->name : op->row,
                       &fresh);
        if (fresh) {
            *slot = count;
            struct sc__row_sums *row = SC__PUSH(a, *out, count, capacity);
            row->name = w->names.text[op->name];
            row->row = op->row;
        }
        rows_add_span(&(*out)[*slot], op, s, &busy);
    }
    return count;
}
