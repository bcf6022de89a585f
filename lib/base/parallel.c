#include "base/parallel.h"

#include "base/platform.h"

#include <stdatomic.h>
#include <stddef.h>

enum { MOST_THREADS = 64 };

struct parallel_work {
    void (*one)(void *self, uint32_t i);
    void *self;
    uint32_t count;
    atomic_uint next;
};

static void worker(void *self) {
    struct parallel_work *w = self;
    unsigned i;
    while ((i = atomic_fetch_add(&w->next, 1)) < w->count)
        w->one(w->self, i);
}

static unsigned
start_workers(struct parallel_work *w, unsigned threads, struct sc__thread **started) {
    unsigned n = 0;
    for (unsigned i = 1; i < threads && i < MOST_THREADS; i++)
        if ((started[n] = sc__thread_start(worker, w)))
            n++;
    return n;
}

static void join_workers(struct sc__thread **started, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        sc__thread_join(started[i]);
}

void sc__parallel(unsigned threads,
                  uint32_t count,
                  void (*one)(void *self, uint32_t i),
                  void *self) {
    struct parallel_work w = {.one = one, .self = self, .count = count};
    struct sc__thread *started[MOST_THREADS];
    unsigned n = start_workers(&w, threads, started);
    worker(&w);
    join_workers(started, n);
}

sc_status sc__parallel_reporting(struct sc_context *ctx,
                                 const char *what,
                                 unsigned threads,
                                 uint32_t count,
                                 void (*one)(void *self, uint32_t i),
                                 void *self) {
    struct parallel_work w = {.one = one, .self = self, .count = count};
    struct sc__thread *started[MOST_THREADS];
    unsigned n = start_workers(&w, threads, started);
    sc_status status = SC_OK;
    unsigned i;
    while ((i = atomic_fetch_add(&w.next, 1)) < count) {
        status = sc__progress(ctx, what, (double)i / count);
        if (status != SC_OK) {
            atomic_store(&w.next, count); /* nothing is left to begin */
            break;
        }
        one(self, i);
    }
    join_workers(started, n);
    return status;
}
