/* replay_infer: how a job was cut, by the records of its ranks, where neither names nor
 * options say it.
 *
 * - A rank with a loss, or one that receives activations and sends none, is of the last
 *   stage; one with w warm-up micro-batches of more has w stages behind it (1F1B).
 * - Ranks are numbered tp, dp, pp: rank r of stage s means s·n ≤ r < (s + 1)·n for the n
 *   ranks of a stage.
 * - Collectives of the tensor-parallel group that took time inside forward are those of
 *   more than one rank. */
#include "frontend/megatron_trace/replay_parts.h"

#define TENSOR_SHARE 0.005 /* of the forward time: below it a group of one was called */

struct rank_census {
    uint32_t kinds[SC__TRACE_KINDS];
    uint32_t warmups; /* forward steps before the first backward one */
    int64_t forward;
    int64_t tensor; /* of it, in collectives of the tensor-parallel group */
};

static struct rank_census take_census(const struct sc__trace_rank *rank) {
    struct rank_census c = {0};
    for (uint32_t i = 0; i < rank->record_count; i++) {
        const struct sc__trace_record *rec = &rank->records[i];
        c.kinds[rec->kind]++;
        if (rec->kind != SC__TRACE_FORWARD)
            continue;
        c.warmups += rec->state == SC__STATE_WARMUP;
        c.forward += rec->duration > 0 ? rec->duration : 0;
        for (uint32_t k = 0; k < rec->subs; k++) {
            const struct sc__trace_sub *sub = &rank->subs[rec->first_sub + k];
            if (sub->group == SC__GROUP_TP && sub->duration > 0)
                c.tensor += sub->duration;
        }
    }
    return c;
}

static void infer_stages(const struct sc__trace_rank *rank,
                         const struct rank_census *c,
                         struct sc__inferred_cut *cut) {
    uint32_t forwards = c->kinds[SC__TRACE_FORWARD];
    uint32_t iterations = rank->iterations ? rank->iterations : 1;
    uint32_t warmups = c->warmups / iterations;
    bool last = c->kinds[SC__TRACE_LOSS] ||
                (c->kinds[SC__TRACE_RECV_FORWARD] && !c->kinds[SC__TRACE_SEND_FORWARD]);
    uint32_t pp = rank->stage + 1;
    bool known = last;
    if (!last && warmups && warmups < forwards / iterations) {
        pp += warmups;
        known = true;
    } else if (!last)
        pp++;
    if (known || (!cut->stages_known && pp > cut->pp))
        cut->pp = pp;
    cut->stages_known |= known;
}

/* The size among low … high that a cluster would have. */
static uint32_t likely_size(uint32_t low, uint32_t high) {
    uint32_t power = 1;
    while (power < low && power < 1u << 30)
        power *= 2;
    return power <= high ? power : low;
}

bool sc__replay_infer(const struct sc__trace_set *set, struct sc__inferred_cut *cut) {
    uint32_t low = 1;
    uint32_t high = UINT32_MAX;
    *cut = (struct sc__inferred_cut){0};
    for (uint32_t i = 0; i < set->rank_count; i++) {
        const struct sc__trace_rank *rank = &set->ranks[i];
        struct rank_census c = take_census(rank);
        infer_stages(rank, &c, cut);
        uint32_t least = rank->rank / (rank->stage + 1) + 1;
        uint32_t most = rank->stage ? rank->rank / rank->stage : UINT32_MAX;
        low = least > low ? least : low;
        high = most < high ? most : high;
        cut->tensor |= (double)c.tensor > TENSOR_SHARE * (double)c.forward;
    }
    if (low > high)
        return false;
    cut->stage_ranks = likely_size(low, high);
    cut->ranks_known = low == high;
    return true;
}
