/* heap: events in order of (time, sequence), so that equal times have one
 * order and a run gives the same bytes every time. */
#ifndef SC_BASE_HEAP_H
#define SC_BASE_HEAP_H

#include "base/arena.h"

#include <stdbool.h>

struct sc__event {
    int64_t time;
    uint64_t sequence; /* given by the heap, in order of pushing */
    /* the owner's */
    uint32_t a;
    uint32_t b;
};

struct sc__heap {
    struct sc__arena *arena;
    struct sc__event *items;
    uint32_t count;
    uint32_t capacity;
    uint64_t next_sequence;
};

void sc__heap_init(struct sc__heap *h, struct sc__arena *arena);
void sc__heap_push(struct sc__heap *h, int64_t time, uint32_t a, uint32_t b);
/* The earliest event; the heap must not be empty. */
struct sc__event sc__heap_pop(struct sc__heap *h);
/* Puts the items in their order; they are a heap still. */
void sc__heap_sort(struct sc__heap *h);
static inline bool sc__heap_empty(const struct sc__heap *h) {
    return h->count == 0;
}
static inline int64_t sc__heap_time(const struct sc__heap *h) {
    return h->count ? h->items[0].time : INT64_MAX;
}

#endif
