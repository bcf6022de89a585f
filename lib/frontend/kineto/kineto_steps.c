/* kineto_steps: where the steps of a trace begin and end, and which is replayed. */
#include "frontend/kineto/kineto.h"

#include <string.h>

/* A step begins with the first kernel launched in it and ends with the first
 * of the next one. */
static int64_t first_kernel(const struct sc__kineto_trace *t, int64_t from) {
    uint32_t i = sc__kineto_first(t, t->launched, from);
    return i < t->kernel_count ? t->kernels[i].start : INT64_MAX;
}

void sc__kineto_step_window(const struct sc__kineto_trace *t,
                            uint32_t step,
                            int64_t *start,
                            int64_t *end) {
    int64_t last = t->ended[t->kernel_count - 1];
    *start = t->kernels[0].start;
    *end = last;
    if (!t->step_count)
        return;
    *start = first_kernel(t, t->steps[step].start);
    if (*start == INT64_MAX)
        *start = last;
    if (step + 1 < t->step_count)
        *end = first_kernel(t, t->steps[step + 1].start);
    if (*end > last)
        *end = last;
}

static sc_status
check_step(struct sc_context *ctx, const struct sc__kineto_trace *t, uint32_t step) {
    struct sc__place at = {.file = t->file};
    if (!t->step_count && step)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "leave --step out",
                        "the trace has no steps of its own (ProfilerStep, NVTX ranges), so "
                        "there is no step %u",
                        step + 1);
    if (t->step_count && step >= t->step_count)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "the trace has %u steps; there is no step %u",
                        t->step_count,
                        step + 1);
    return SC_OK;
}

/* The first that has kernels: where the profiler's step comes before the work of a step,
 * nothing is in the first. */
static uint32_t first_step(struct sc_context *ctx, const struct sc__kineto_trace *t) {
    for (uint32_t i = 0; i < t->step_count; i++) {
        int64_t start;
        int64_t end;
        sc__kineto_step_window(t, i, &start, &end);
        if (start == end)
            continue;
        if (i)
            sc__note(ctx,
                     "kineto-empty-step",
                     "%s: %s has no kernels: %s is replayed",
                     t->file,
                     t->steps[0].name,
                     t->steps[i].name);
        return i;
    }
    return 0;
}

sc_status sc__kineto_choose_step(struct sc_context *ctx,
                                 const struct sc__kineto_trace *first,
                                 const struct sc__kineto_trace *t,
                                 uint32_t said,
                                 uint32_t *step) {
    struct sc__place at = {.file = t->file};
    *step = said == SC__NONE ? first_step(ctx, first) : said;
    SC__TRY(check_step(ctx, first, *step));
    if (!first->step_count && !t->step_count)
        return SC_OK;
    const char *name = first->step_count ? first->steps[*step].name : "the whole";
    if (*step < t->step_count && !strcmp(t->steps[*step].name, name))
        return SC_OK;
    for (uint32_t i = 0; i < t->step_count; i++)
        if (!strcmp(t->steps[i].name, name)) {
            *step = i;
            return SC_OK;
        }
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    "all traces are to have it; --step N takes another one of the first",
                    "step %u is %s in %s, which is not in this trace",
                    *step + 1,
                    name,
                    first->file);
}
