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

void sc__parallel(unsigned threads,
                  uint32_t count,
                  void (*one)(void *self, uint32_t i),
                  void *self) {
    struct parallel_work w = {.one = one, .self = self, .count = count};
    struct sc__thread *started[MOST_THREADS];
    unsigned n = 0;
    for (unsigned i = 1; i < threads && i < MOST_THREADS; i++)
        if ((started[n] = sc__thread_start(worker, &w)))
            n++;
    worker(&w);
    for (unsigned i = 0; i < n; i++)
        sc__thread_join(started[i]);
}
