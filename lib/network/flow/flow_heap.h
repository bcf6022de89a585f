/* flow_heap: links in the order in which they fill. The share of a link never
 * falls while filling, so that keys may be stale: one that comes to the top is
 * corrected there. */
#ifndef SC_FLOW_HEAP_H
#define SC_FLOW_HEAP_H

#include <stdint.h>
#include <string.h>

struct sc__flow_top { /* in the heap of links */
    uint64_t key;     /* the bits of its share, which compare as it does */
    uint32_t link;
};

static inline uint64_t sc__flow_key(double share) {
    uint64_t key;
    share = share > 0 ? share : 0;
    memcpy(&key, &share, sizeof key);
    return key;
}

static inline double sc__flow_share_of_key(uint64_t key) {
    double share;
    memcpy(&share, &key, sizeof share);
    return share;
}

/* Of four children, or of those there are. */
static inline uint32_t
sc__flow_least_child(const struct sc__flow_top *heap, uint32_t first, uint32_t count) {
    uint32_t least = first;
    if (first + 4 <= count) {
        uint32_t a = heap[first + 1].key < heap[first].key;
        uint32_t b = 2 + (heap[first + 3].key < heap[first + 2].key);
        return first + (heap[first + b].key < heap[first + a].key ? b : a);
    }
    for (uint32_t i = first + 1; i < count; i++)
        least = heap[i].key < heap[least].key ? i : least;
    return least;
}

/* Four children a node: half the levels of two. */
static inline void
sc__flow_sift_down(struct sc__flow_top *heap, uint32_t count, uint32_t i) {
    struct sc__flow_top moving = heap[i];
    while (4 * i + 1 < count) {
        uint32_t child = sc__flow_least_child(heap, 4 * i + 1, count);
        if (moving.key <= heap[child].key)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

#endif
