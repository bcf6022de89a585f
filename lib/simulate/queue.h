/* queue: events in order of (time, order of pushing), for simulations in which
 * many events fall on one time: ranks that do the same in step. Events pushed
 * one after the other for the same time are a run, and only runs are in a
 * heap. */
#ifndef SC_SIMULATE_QUEUE_H
#define SC_SIMULATE_QUEUE_H

#include "base/base.h"

struct sc__queued {
    /* the owner's */
    uint32_t a;
    uint32_t b;
    uint32_t next; /* in the pool + 1 */
};

struct sc__queue_run {
    /* in the pool + 1 */
    uint32_t head;
    uint32_t tail;
    int64_t time;
};

struct sc__queue {
    struct sc__arena *arena;
    struct sc__heap heap; /* event.a: run */
    struct sc__queue_run *runs;
    uint32_t run_count;
    uint32_t run_capacity;
    uint32_t *unused_runs;
    uint32_t unused_count;
    uint32_t unused_capacity;
    uint32_t last; /* run pushed to last, or SC__NONE */
    struct sc__queued *pool;
    uint32_t pool_count;
    uint32_t pool_capacity;
    uint32_t free; /* list in the pool, + 1 */
};

void sc__queue_init(struct sc__queue *q, struct sc__arena *arena);
void sc__queue_push(struct sc__queue *q, int64_t time, uint32_t a, uint32_t b);
/* The earliest event; the queue must not be empty. */
struct sc__queued sc__queue_pop(struct sc__queue *q);
/* The same, left where it is. */
struct sc__queued sc__queue_first(const struct sc__queue *q);
static inline bool sc__queue_empty(const struct sc__queue *q) {
    return sc__heap_empty(&q->heap);
}
static inline int64_t sc__queue_time(const struct sc__queue *q) {
    return sc__heap_time(&q->heap);
}

#endif
