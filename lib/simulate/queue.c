#include "simulate/queue.h"

#include <string.h>

#define NO_RUN UINT32_MAX

void sc__queue_init(struct sc__queue *q, struct sc__arena *arena) {
    memset(q, 0, sizeof *q);
    q->arena = arena;
    q->last = NO_RUN;
    sc__heap_init(&q->heap, arena);
}

static uint32_t take_item(struct sc__queue *q) {
    uint32_t i = q->free;
    if (i) {
        q->free = q->pool[i - 1].next;
        return i;
    }
    (void)SC__PUSH(q->arena, q->pool, q->pool_count, q->pool_capacity);
    return q->pool_count;
}

static void begin_run(struct sc__queue *q, int64_t time) {
    if (q->unused_count)
        q->last = q->unused_runs[--q->unused_count];
    else {
        (void)SC__PUSH(q->arena, q->runs, q->run_count, q->run_capacity);
        q->last = q->run_count - 1;
    }
    q->runs[q->last] = (struct sc__queue_run){.time = time};
    sc__heap_push(&q->heap, time, q->last, 0);
}

void sc__queue_push(struct sc__queue *q, int64_t time, uint32_t a, uint32_t b) {
    uint32_t i = take_item(q);
    q->pool[i - 1] = (struct sc__queued){a, b, 0};
    if (q->last == NO_RUN || q->runs[q->last].time != time)
        begin_run(q, time);
    struct sc__queue_run *r = &q->runs[q->last];
    if (r->tail)
        q->pool[r->tail - 1].next = i;
    else
        r->head = i;
    r->tail = i;
}

struct sc__queued sc__queue_first(const struct sc__queue *q) {
    return q->pool[q->runs[q->heap.items[0].a].head - 1];
}

struct sc__queued sc__queue_pop(struct sc__queue *q) {
    uint32_t run = q->heap.items[0].a;
    uint32_t i = q->runs[run].head;
    struct sc__queued e = q->pool[i - 1];
    q->runs[run].head = e.next;
    q->pool[i - 1].next = q->free;
    q->free = i;
    if (e.next)
        return e;
    sc__heap_pop(&q->heap);
    if (q->last == run)
        q->last = NO_RUN;
    *SC__PUSH(q->arena, q->unused_runs, q->unused_count, q->unused_capacity) = run;
    return e;
}
