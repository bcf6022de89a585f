#include "stats/operations.h"

#include <stdlib.h>
#include <string.h>

static uint64_t key_of(const struct sc__op *op) {
    uint64_t what = op->kind == SC__OP_COLLECTIVE ? (uint64_t)op->group << 8 | op->coll : 0;
    return (uint64_t)op->name << 32 | what << 8 | (uint64_t)op->phase << 3 | op->kind;
}

static int longest_first(const void *x, const void *y) {
    const struct sc__operation *a = x, *b = y;
    if (a->total != b->total) return a->total > b->total ? -1 : 1;
    int names = strcmp(a->name, b->name);
    return names ? names : (int)a->op->phase - (int)b->op->phase;
}

void sc__operations(struct sc__arena *a, const struct sc__timeline *t, const struct sc__by_class *index, uint32_t class,
                    struct sc__operations *out) {
    struct sc__map seen;
    memset(out, 0, sizeof *out);
    sc__map_init(&seen, a);
    for (uint32_t i = index->first[class]; i < index->first[class + 1]; i++) {
        const struct sc__span *s = &t->spans[index->spans[i]];
        const struct sc__op *op = &t->workload->ops[s->op];
        bool fresh;
        if (op->kind == SC__OP_WAIT) continue;
        uint64_t *place = sc__map_at(&seen, key_of(op), &fresh);
        if (fresh) {
            *place = out->count;
            *SC__PUSH(a, out->items, out->count, out->capacity) =
                (struct sc__operation){.name = t->workload->names.text[op->name], .op = op};
        }
        struct sc__operation *o = &out->items[*place];
        o->count++;
        o->bytes += op->bytes;
        int64_t waited = op->kind != SC__OP_COMPUTE && s->ready > s->start ? s->ready - s->start : 0;
        o->total += s->end - s->start - waited;
        o->waited += waited;
    }
    if (out->count) qsort(out->items, out->count, sizeof *out->items, longest_first);
}
