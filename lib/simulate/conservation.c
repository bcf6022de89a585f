/* conservation: the first rule of the simulator. Every picosecond of every
 * rank belongs to one part of its account, so the parts add up to the step and
 * none is below zero. */
#include "simulate/simulate.h"

static int64_t account_sum(const struct sc__account *a, uint32_t lanes) {
    int64_t sum = a->compute + a->recompute + a->bubble + a->skew + a->other;
    for (uint32_t lane = 0; lane < lanes; lane++)
        sum += a->exposed[lane];
    return sum;
}

static bool account_has_negative_part(const struct sc__account *a, uint32_t lanes) {
    for (uint32_t lane = 0; lane < lanes; lane++)
        if (a->exposed[lane] < 0)
            return true;
    return a->compute < 0 || a->recompute < 0 || a->bubble < 0 || a->skew < 0 ||
           a->other < 0;
}

sc_status sc__sim_check(struct sc_context *ctx,
                        const struct sc__workload *w,
                        const struct sc__sim *sim) {
    static const char hint[] =
        "this is a defect of stepcast; please report it with the input";
    /* Groups, and point-to-point messages after them. */
    uint32_t lanes = w->group_count + 1;
    for (uint32_t c = 0; c < w->class_count; c++) {
        const struct sc__account *a = &sim->classes[c].account;
        int64_t sum = account_sum(a, lanes);
        if (sum != sim->step)
            return sc__fail(ctx,
                            SC_SYSTEM,
                            NULL,
                            hint,
                            "the parts of rank %u's time add up to %lld ps, the step takes "
                            "%lld ps",
                            w->classes[c].rank,
                            (long long)sum,
                            (long long)sim->step);
        if (account_has_negative_part(a, lanes))
            return sc__fail(ctx,
                            SC_SYSTEM,
                            NULL,
                            hint,
                            "a part of rank %u's time is negative",
                            w->classes[c].rank);
    }
    return SC_OK;
}
