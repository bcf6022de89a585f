#include "base/heap.h"

#include <stdlib.h>

#include <string.h>

void sc__heap_init(struct sc__heap *h, struct sc__arena *arena) {
    memset(h, 0, sizeof *h);
    h->arena = arena;
}

static inline bool before(const struct sc__event *x, const struct sc__event *y) {
    return x->time != y->time ? x->time < y->time : x->sequence < y->sequence;
}

/* Four children a node: half the levels of a binary heap, and the children
 * share a cache line or two. */
void sc__heap_push(struct sc__heap *h, int64_t time, uint32_t a, uint32_t b) {
    struct sc__event e = {time, h->next_sequence++, a, b};
    uint32_t i;
    (void)SC__PUSH(h->arena, h->items, h->count, h->capacity);
    for (i = h->count - 1; i > 0; i = (i - 1) / 4) {
        uint32_t up = (i - 1) / 4;
        if (!before(&e, &h->items[up]))
            break;
        h->items[i] = h->items[up];
    }
    h->items[i] = e;
}

static uint32_t least_child(const struct sc__heap *h, uint32_t first) {
    uint32_t last = first + 4 < h->count ? first + 4 : h->count;
    uint32_t least = first;
    for (uint32_t c = first + 1; c < last; c++)
        if (before(&h->items[c], &h->items[least]))
            least = c;
    return least;
}

struct sc__event sc__heap_pop(struct sc__heap *h) {
    struct sc__event top = h->items[0];
    struct sc__event e = h->items[--h->count];
    uint32_t i = 0;
    for (;;) {
        uint64_t first = 4 * (uint64_t)i + 1;
        if (first >= h->count)
            break;
        uint32_t c = least_child(h, (uint32_t)first);
        if (!before(&h->items[c], &e))
            break;
        h->items[i] = h->items[c];
        i = c;
    }
    if (h->count)
        h->items[i] = e;
    return top;
}

static int compare_events(const void *x, const void *y) {
    const struct sc__event *a = x;
    const struct sc__event *b = y;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

void sc__heap_sort(struct sc__heap *h) {
    if (h->count > 1)
        qsort(h->items, h->count, sizeof *h->items, compare_events);
}
