#include "base/parallel.h"

#include "base/platform.h"

#include <stdatomic.h>
#include <stddef.h>

enum { MOST_THREADS = 64 };

struct parallel_work {
    void (*one)(void *self, uint32_t i);
    void *self;
    uint32_t count;
    double from; /* share of the whole when it begins, and when it ends */
    double to;
    size_t budget; /* of memory, for each thread; 0: no limit */
    atomic_uint next;
};

static void worker(void *self) {
    struct parallel_work *w = self;
    unsigned i;
    sc__arena_budget(w->budget);
    while ((i = atomic_fetch_add(&w->next, 1)) < w->count)
        w->one(w->self, i);
}

/* Works as the others do, and tells the listener between two pieces. */
static sc_status
work_reporting(struct sc_context *ctx, const char *what, struct parallel_work *w) {
    unsigned i;
    while ((i = atomic_fetch_add(&w->next, 1)) < w->count) {
        double share = w->from + (w->to - w->from) * i / w->count;
        sc_status status = sc__progress(ctx, what, share);
        if (status != SC_OK) {
            atomic_store(&w->next, w->count); /* nothing is left to begin */
            return status;
        }
        w->one(w->self, i);
    }
    return SC_OK;
}

sc_status sc__parallel(struct sc_context *ctx,
                       const char *what,
                       uint32_t count,
                       void (*one)(void *self, uint32_t i),
                       void *self) {
    return sc__parallel_part(ctx, what, 0, 1, count, one, self);
}

sc_status sc__parallel_part(struct sc_context *ctx,
                            const char *what,
                            double from,
                            double to,
                            uint32_t count,
                            void (*one)(void *self, uint32_t i),
                            void *self) {
    struct parallel_work w = {.one = one,
                              .self = self,
                              .count = count,
                              .from = from,
                              .to = to,
                              .budget =
                                  sc__arena_budget_set() / (ctx->jobs ? ctx->jobs : 1)};
    struct sc__thread *started[MOST_THREADS];
    unsigned n = 0;
    for (unsigned i = 1; i < ctx->jobs && i < MOST_THREADS; i++)
        if ((started[n] = sc__thread_start(worker, &w)))
            n++;
    sc_status status = work_reporting(ctx, what, &w);
    for (unsigned i = 0; i < n; i++)
        sc__thread_join(started[i]);
    return status;
}
