/* replay_measured: what was measured, as a timeline. Its operations are those
 * of a replay with measured communication; each has the times of its record.
 *
 * Clocks of different nodes cannot be compared. A step begins on all ranks at
 * once (as it does in a replay): every rank's time 0 is the start of its first
 * operation, and the step ends with the rank that took longest. */
#include "frontend/megatron_trace/replay_parts.h"

static int64_t within(int64_t low, int64_t v, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

void sc__replay_span(struct sc__replay *r) {
    struct sc__timeline *t = r->timeline;
    const struct sc__when *when = &r->when;
    if (!t || !when->to_ns || !when->from_ns)
        return;
    int64_t origin = sc__replay_origin(r, when->rank);
    int64_t from = within(0, when->from_ns - origin, INT64_MAX);
    int64_t to = within(from, when->to_ns - origin, INT64_MAX);
    int64_t ready = within(from, when->ready_ns, to);
    const struct sc__op *op = &r->w->ops[r->w->op_count - 1];
    if (op->kind == SC__OP_COMPUTE)
        ready = from;
    *SC__PUSH(&r->ctx->arena, t->spans, t->count, t->capacity) =
        (struct sc__span){.class = r->w->class_count,
                          .op = r->w->op_count - 1,
                          .micro_batch = op->phase == SC__UPDATE ? SC__NONE : when->batch,
                          .start = from * SC__PS_PER_NS,
                          .ready = ready * SC__PS_PER_NS,
                          .end = to * SC__PS_PER_NS,
                          .peer_span = SC__NONE};
    if (to * SC__PS_PER_NS > t->end)
        t->end = to * SC__PS_PER_NS;
}

sc_status sc__replay_measured(struct sc_context *ctx,
                              const struct sc__settings *settings,
                              const struct sc__trace_set *set,
                              struct sc__timeline **out) {
    struct sc__replay r;
    *out = NULL;
    if (set->profile || set->plan)
        return SC_OK;
    SC__TRY(sc__replay_open(&r, ctx, settings, set));
    *out = r.timeline = SC__NEW(&ctx->arena, struct sc__timeline);
    r.timeline->workload = r.w;
    r.w->mesh = r.traced;
    r.measured_comm = true;
    sc__replay_collect_rendezvous(&r);
    sc__replay_given(&r);
    return SC_OK;
}
