/* kineto_finish: what is done with a trace once its events are there, whoever wrote
 * them: order, phases, and the lists that steps and launches are found by. */
#include "frontend/kineto/kineto.h"

#include <stdlib.h>
#include <string.h>

void sc__kineto_begin_trace(struct sc_context *ctx,
                            const char *file,
                            struct sc__kineto_trace *t) {
    memset(t, 0, sizeof *t);
    t->file = file;
    t->arena = &ctx->arena;
    sc__names_init(&t->names, &ctx->arena);
    sc__map_init(&t->backward, &ctx->arena);
    sc__map_init(&t->stream_ids, &ctx->arena);
}

bool sc__kineto_extend(struct sc__kineto_period *p, int64_t start, int64_t end) {
    const int64_t latest = INT64_MAX / 4;
    if (start < -latest || end < start || end > latest)
        return false;
    p->first = p->any && p->first < start ? p->first : start;
    p->last = p->any && p->last > end ? p->last : end;
    p->any = true;
    return p->last - p->first <= latest / SC__PS_PER_NS;
}

uint32_t sc__kineto_stream(struct sc__kineto_trace *t, uint32_t device, uint32_t number) {
    bool fresh;
    uint64_t key = (uint64_t)device << 32 | number;
    if (t->last_stream < t->stream_count && t->last_key == key)
        return t->last_stream;
    uint64_t *id = sc__map_at(&t->stream_ids, key, &fresh);
    t->last_key = key;
    if (fresh) {
        *id = t->stream_count;
        *SC__PUSH(t->arena, t->streams, t->stream_count, t->stream_capacity) = number;
    }
    return t->last_stream = (uint32_t)*id;
}

static int kineto_finish_by_start(const void *a, const void *b) {
    const struct sc__kineto_kernel *x = a;
    const struct sc__kineto_kernel *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

/* A trace that was joined with itself counts all its time twice. */
static sc_status check_twice(struct sc_context *ctx, const struct sc__kineto_trace *t) {
    struct sc__place at = {.file = t->file};
    for (uint32_t i = 1; i < t->kernel_count; i++) {
        const struct sc__kineto_kernel *a = &t->kernels[i - 1];
        const struct sc__kineto_kernel *b = &t->kernels[i];
        if (b->dur > 0 && a->start == b->start && a->dur == b->dur &&
            a->stream == b->stream && a->name == b->name &&
            a->correlation == b->correlation)
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            "the events of a trace are to be in it once",
                            "the kernel at %.3f us on stream %u stands twice in the trace: "
                            "%s",
                            (double)b->start * 1e-3,
                            t->streams[b->stream],
                            t->names.text[b->name]);
    }
    return SC_OK;
}

/* A stream runs one kernel after another, but for the last moments of one that
 * lets the next begin early. */
static void note_overlaps(struct sc_context *ctx, const struct sc__kineto_trace *t) {
    int64_t *end = SC__NEW_ARRAY(t->arena, int64_t, t->stream_count);
    int64_t beside = 0;
    int64_t busy = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->stream_count; i++)
        end[i] = INT64_MIN;
    for (uint32_t i = 0; i < t->kernel_count; i++) {
        const struct sc__kineto_kernel *k = &t->kernels[i];
        int64_t stop = k->start + k->dur;
        if (k->start < end[k->stream]) {
            beside += (stop < end[k->stream] ? stop : end[k->stream]) - k->start;
            count++;
        }
        busy += k->dur;
        if (stop > end[k->stream])
            end[k->stream] = stop;
    }
    if (beside > busy / 100)
        sc__note(ctx,
                 "kineto-overlap",
                 "%s: %u kernels begin before the one before them on their stream has "
                 "ended, by %.3f ms in all: kernels of a stream are replayed one after "
                 "another, and take their time each",
                 t->file,
                 count,
                 (double)beside * 1e-6);
}

static void note_devices(struct sc_context *ctx, const struct sc__kineto_trace *t) {
    if (t->devices)
        sc__note(
            ctx,
            "kineto-devices",
            "%s: one process drives several GPUs; the streams of all of them are those "
            "of one rank",
            t->file);
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
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* From here on a range ends when it and all that began before it on its thread have ended.
 */
static void sort_ranges(struct sc__kineto_range *ranges, uint32_t count) {
    if (count)
        qsort(ranges, count, sizeof *ranges, by_range);
    for (uint32_t i = 1; i < count; i++)
        if (ranges[i].thread == ranges[i - 1].thread && ranges[i].end < ranges[i - 1].end)
            ranges[i].end = ranges[i - 1].end;
}

static bool in_ranges(const struct sc__kineto_range *ranges,
                      uint32_t count,
                      uint32_t thread,
                      int64_t at) {
    const struct sc__kineto_range key = {.start = at, .thread = thread};
    uint32_t low = 0;
    uint32_t high = count; /* the first that begins after it, or is of a thread behind */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (by_range(&ranges[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && ranges[low - 1].thread == thread && at < ranges[low - 1].end;
}

/* Where a range is, whatever thread it is on. */
static void on_one_thread(struct sc__kineto_range *ranges, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        ranges[i].thread = 0;
    sort_ranges(ranges, count);
}

/* The engine has threads of its own, of which all is backward. What it runs on the thread
 * that called it (nodes of tensors on the CPU, or without threads) stands among the
 * launches of forward and of the optimizer. */
static void find_callers(const struct sc__kineto_trace *t, struct sc__map *callers) {
    struct sc__map inside;
    struct sc__map all;
    sc__map_init(&inside, t->arena);
    sc__map_init(&all, t->arena);
    for (uint32_t i = 0; i < t->launch_count; i++) {
        const struct sc__kineto_launch *l = &t->launches[i];
        if (!sc__map_find(&t->backward, l->thread))
            continue;
        ++*sc__map_at(&all, l->thread, NULL);
        *sc__map_at(&inside, l->thread, NULL) +=
            in_ranges(t->autograd, t->autograd_count, l->thread, l->start);
    }
    for (uint32_t i = 0; i < t->launch_count; i++) {
        uint32_t thread = t->launches[i].thread;
        const uint64_t *launches = sc__map_find(&all, thread);
        if (launches && 2 * *sc__map_find(&inside, thread) < *launches)
            sc__map_at(callers, thread, NULL);
    }
}

/* Launched inside Optimizer.step: update; by the engine of autograd, or inside a range
 * called backward: backward. */
static void set_phases(struct sc__kineto_trace *t) {
    struct sc__map callers;
    sc__map_init(&callers, t->arena);
    on_one_thread(t->optimizer, t->optimizer_count);
    on_one_thread(t->backward_ranges, t->backward_count);
    sort_ranges(t->autograd, t->autograd_count);
    if (t->autograd_count)
        find_callers(t, &callers);
    for (uint32_t i = 0; i < t->kernel_count; i++) {
        struct sc__kineto_kernel *k = &t->kernels[i];
        const struct sc__kineto_launch *l = sc__kineto_launch_of(t, k->correlation);
        if (!l)
            continue;
        bool engine = sc__map_find(&t->backward, l->thread) &&
                      (!sc__map_find(&callers, l->thread) ||
                       in_ranges(t->autograd, t->autograd_count, l->thread, l->start));
        if (engine || in_ranges(t->backward_ranges, t->backward_count, 0, l->start))
            k->phase = SC__BACKWARD;
        if (in_ranges(t->optimizer, t->optimizer_count, 0, l->start))
            k->phase = SC__UPDATE;
    }
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void set_rising(struct sc__kineto_trace *t) {
    int64_t end = INT64_MIN;
    int64_t launch = INT64_MIN;
    t->ended = SC__NEW_ARRAY(t->arena, int64_t, t->kernel_count);
    t->launched = SC__NEW_ARRAY(t->arena, int64_t, t->kernel_count);
    for (uint32_t i = 0; i < t->kernel_count; i++) {
        const struct sc__kineto_kernel *k = &t->kernels[i];
        const struct sc__kineto_launch *l = sc__kineto_launch_of(t, k->correlation);
        t->ended[i] = end = later(end, k->start + k->dur);
        /* one that was launched before the profile began belongs to no step */
        int64_t at = l ? l->start : t->launch_count ? INT64_MIN : k->start;
        t->launched[i] = launch = later(launch, at);
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

sc_status sc__kineto_finish_trace(struct sc_context *ctx, struct sc__kineto_trace *t) {
    qsort(t->kernels, t->kernel_count, sizeof *t->kernels, kineto_finish_by_start);
    if (t->launch_count)
        qsort(t->launches, t->launch_count, sizeof *t->launches, by_correlation);
    if (t->step_count)
        qsort(t->steps, t->step_count, sizeof *t->steps, by_step);
    SC__TRY(check_twice(ctx, t));
    note_overlaps(ctx, t);
    note_devices(ctx, t);
    set_phases(t);
    sc__kineto_sort_calls(t);
    set_rising(t);
    return SC_OK;
}
