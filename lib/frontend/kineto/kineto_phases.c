/* kineto_phases: kernels in the order they ran, the launch of each, and what
 * that says of its phase: the thread that launched it, and the annotation it was
 * launched in. */
#include "frontend/kineto/kineto.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b) {
    const struct sc__kineto_kernel *x = a;
    const struct sc__kineto_kernel *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

static int by_correlation(const void *a, const void *b) {
    const struct sc__kineto_launch *x = a;
    const struct sc__kineto_launch *y = b;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int by_step(const void *a, const void *b) {
    const struct sc__kineto_step *x = a;
    const struct sc__kineto_step *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

const struct sc__kineto_launch *sc__kineto_launch_of(const struct sc__kineto_trace *t,
                                                     uint32_t correlation) {
    struct sc__kineto_launch key = {.correlation = correlation, .start = INT64_MIN};
    uint32_t low = 0;
    uint32_t high = t->launch_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (by_correlation(&t->launches[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->launch_count && t->launches[low].correlation == correlation
               ? &t->launches[low]
               : NULL;
}

static int by_range(const void *a, const void *b) {
    const struct sc__kineto_range *x = a;
    const struct sc__kineto_range *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* From here on a range ends when it and all that began before it have ended. */
static void sort_optimizers(struct sc__kineto_trace *t) {
    if (t->optimizer_count)
        qsort(t->optimizer, t->optimizer_count, sizeof *t->optimizer, by_range);
    for (uint32_t i = 1; i < t->optimizer_count; i++)
        if (t->optimizer[i].end < t->optimizer[i - 1].end)
            t->optimizer[i].end = t->optimizer[i - 1].end;
}

static bool in_optimizer(const struct sc__kineto_trace *t, int64_t at) {
    uint32_t low = 0;
    uint32_t high = t->optimizer_count; /* the first that begins after it */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->optimizer[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low && at < t->optimizer[low - 1].end;
}

/* Launched inside Optimizer.step: update; by a thread of autograd: backward. */
static void set_phases(struct sc__kineto_trace *t) {
    sort_optimizers(t);
    for (uint32_t i = 0; i < t->kernel_count; i++) {
        struct sc__kineto_kernel *k = &t->kernels[i];
        const struct sc__kineto_launch *l = sc__kineto_launch_of(t, k->correlation);
        if (l && sc__map_find(&t->backward, l->thread))
            k->phase = SC__BACKWARD;
        if (l && in_optimizer(t, l->start))
            k->phase = SC__UPDATE;
    }
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Kernels overlap, so neither ends nor launches rise with the start; their
 * running maxima do, and can be searched. */
static void set_rising(struct sc__kineto_trace *t) {
    int64_t end = INT64_MIN;
    int64_t launch = INT64_MIN;
    t->ended = SC__NEW_ARRAY(t->arena, int64_t, t->kernel_count);
    t->launched = SC__NEW_ARRAY(t->arena, int64_t, t->kernel_count);
    for (uint32_t i = 0; i < t->kernel_count; i++) {
        const struct sc__kineto_kernel *k = &t->kernels[i];
        const struct sc__kineto_launch *l = sc__kineto_launch_of(t, k->correlation);
        end = later(end, k->start + k->dur);
        launch = later(launch, l ? l->start : k->start);
        t->ended[i] = end;
        t->launched[i] = launch;
    }
}

uint32_t
sc__kineto_first(const struct sc__kineto_trace *t, const int64_t *rising, int64_t value) {
    uint32_t low = 0;
    uint32_t high = t->kernel_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rising[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void sc__kineto_set_phases(struct sc__kineto_trace *t) {
    qsort(t->kernels, t->kernel_count, sizeof *t->kernels, by_start);
    if (t->launch_count)
        qsort(t->launches, t->launch_count, sizeof *t->launches, by_correlation);
    if (t->step_count)
        qsort(t->steps, t->step_count, sizeof *t->steps, by_step);
    set_phases(t);
    set_rising(t);
}
