#include "result/stragglers.h"

#include <stdlib.h>

#define LEAST_EXCESS 0.01 /* of the median */

/* The ranks of one class in their stage. */
struct weighed {
    uint32_t stage;
    uint32_t ranks;
    int64_t compute;
};

struct stage_sums {
    int64_t median; /* compute that half of the ranks do not exceed */
    double skew;    /* of all ranks */
    double ranks;
};

static int64_t compute_of(const struct sc__class_breakdown *c) {
    return c->breakdown.compute + c->breakdown.recompute;
}

static int by_stage_and_compute(const void *x, const void *y) {
    const struct weighed *a = x;
    const struct weighed *b = y;
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    return a->compute < b->compute ? -1 : a->compute > b->compute;
}

static uint32_t stages_of(const struct sc__result *r) {
    uint32_t stages = 0;
    for (uint32_t i = 0; i < r->class_count; i++)
        if (r->classes[i].class->stage >= stages)
            stages = r->classes[i].class->stage + 1;
    return stages;
}

static struct stage_sums *sum_stages(struct sc__arena *a, const struct sc__result *r) {
    struct stage_sums *sums = SC__NEW_ARRAY(a, struct stage_sums, stages_of(r));
    struct weighed *all = SC__NEW_ARRAY(a, struct weighed, r->class_count);
    for (uint32_t i = 0; i < r->class_count; i++) {
        const struct sc__class *class = r->classes[i].class;
        struct stage_sums *s = &sums[class->stage];
        s->ranks += class->ranks;
        s->skew += (double)r->classes[i].breakdown.skew * class->ranks;
        all[i] = (struct weighed){class->stage, class->ranks, compute_of(&r->classes[i])};
    }
    qsort(all, r->class_count, sizeof *all, by_stage_and_compute);
    double below = 0;
    for (uint32_t i = 0; i < r->class_count; i++) {
        struct stage_sums *s = &sums[all[i].stage];
        below = i && all[i - 1].stage == all[i].stage ? below : 0;
        if (2 * below < s->ranks)
            s->median = all[i].compute;
        below += all[i].ranks;
    }
    return sums;
}

static int longest_over_first(const void *x, const void *y) {
    const struct sc__straggler *a = x;
    const struct sc__straggler *b = y;
    int64_t over_a = a->compute - a->median;
    int64_t over_b = b->compute - b->median;
    if (over_a != over_b)
        return over_a > over_b ? -1 : 1;
    return a->class < b->class ? -1 : 1;
}

struct sc__stragglers sc__stragglers_find(struct sc__arena *a, const struct sc__result *r) {
    struct sc__stragglers found = {0};
    if (r->class_count < 2)
        return found;
    const struct stage_sums *sums = sum_stages(a, r);
    for (uint32_t i = 0; i < r->class_count; i++) {
        const struct sc__class *class = r->classes[i].class;
        const struct stage_sums *s = &sums[class->stage];
        double others = s->ranks - class->ranks;
        double waited =
            s->skew - (double)r->classes[i].breakdown.skew * (double)class->ranks;
        struct sc__straggler one = {.class = i,
                                    .compute = compute_of(&r->classes[i]),
                                    .median = s->median,
                                    .waited = others > 0 ? (int64_t)(waited / others) : 0};
        bool slow = (double)(one.compute - s->median) > LEAST_EXCESS * (double)s->median;
        if (slow && one.waited > 0)
            *SC__PUSH(a, found.items, found.count, found.capacity) = one;
    }
    if (found.count)
        qsort(found.items, found.count, sizeof *found.items, longest_over_first);
    return found;
}
