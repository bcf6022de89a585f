/* ranks: which ranks a trace shows (--ranks), and what its operations are called. */
#include "base/sort.h"
#include "report/trace.h"

#include <stdlib.h>

const char *sc__trace_name(const struct sc__workload *w, const struct sc__op *op) {
    const char *name = w->names.text[op->name];
    return *name                           ? name
           : op->kind == SC__OP_COLLECTIVE ? sc__coll_name(op->coll)
                                           : "operation";
}

static void
report_ranks_add(struct sc_context *ctx, struct sc__trace_ranks *out, uint32_t rank) {
    *SC__PUSH(&ctx->arena, out->ranks, out->count, out->capacity) = rank;
}

static void sort_once(struct sc__trace_ranks *out) {
    uint32_t n = 0;
    qsort(out->ranks, out->count, sizeof *out->ranks, sc__compare_u32);
    for (uint32_t i = 0; i < out->count; i++)
        if (!n || out->ranks[n - 1] != out->ranks[i])
            out->ranks[n++] = out->ranks[i];
    out->count = n;
}

static sc_status add_range(struct sc_context *ctx,
                           struct sc__str part,
                           uint32_t world,
                           struct sc__trace_ranks *out) {
    struct sc__str rest = part;
    struct sc__str from;
    uint32_t low;
    uint32_t high;
    bool ok = sc__split(&rest, '-', &from) && sc__parse_u32(sc__trim(from), &low);
    if (ok && from.n == part.n)
        high = low;
    else
        ok = ok && sc__parse_u32(sc__trim(rest), &high);
    if (!ok || high < low)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "write it like 0,8,16-31, or all",
                        "--trace-ranks: cannot read '%.*s'",
                        SC__SHOW(part));
    if (high >= world)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--trace-ranks: the job has ranks 0 to %u, not %u",
                        world - 1,
                        high);
    for (uint32_t r = low; r <= high; r++)
        report_ranks_add(ctx, out, r);
    return SC_OK;
}

sc_status sc__trace_ranks(struct sc_context *ctx,
                          const struct sc__workload *w,
                          const char *text,
                          struct sc__trace_ranks *out) {
    uint32_t world = sc__mesh_ranks(&w->mesh);
    struct sc__str rest;
    struct sc__str part;
    *out = (struct sc__trace_ranks){.representatives = text == NULL};
    if (!text)
        for (uint32_t c = 0; c < w->class_count; c++)
            report_ranks_add(ctx, out, w->classes[c].rank);
    else if (sc__str_is(sc__str(text), "all"))
        for (uint32_t r = 0; r < world; r++)
            report_ranks_add(ctx, out, r);
    else
        for (rest = sc__str(text); sc__split(&rest, ',', &part);)
            SC__TRY(add_range(ctx, sc__trim(part), world, out));
    sort_once(out);
    return SC_OK;
}
