#include "workload/scale.h"

#include <math.h>
#include <string.h>

static int64_t times(int64_t cost, double factor) {
    double t = (double)cost * factor;
    return t >= 0x1p62 ? INT64_MAX / 2 : (int64_t)llround(t);
}

/* Compute, and the local work after a transfer; not measured transfers, and
 * not waiting for the host. */
static bool runs_on_gpu(const struct sc__op *op) {
    if (op->kind == SC__OP_COMPUTE)
        return op->work != SC__WORK_HOST;
    return !(op->flags & SC__OP_MEASURED);
}

static sc_status speed_up(struct sc_context *ctx, double speedup, struct sc__workload *w) {
    if (!(speedup > 0))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "2 is twice as fast",
                        "--gpu-speedup takes a number above 0");
    if (speedup == 1)
        return SC_OK;
    for (uint32_t i = 0; i < w->op_count; i++)
        if (runs_on_gpu(&w->ops[i]))
            w->ops[i].cost = times(w->ops[i].cost, 1 / speedup);
    w->peak_flops *= speedup; /* MFU is a share of what the faster GPU could do */
    sc__note(ctx, "gpu-speedup", "compute is %g times as fast as in the input", speedup);
    return SC_OK;
}

static const char *
scale_suggest(struct sc_context *ctx, const struct sc__workload *w, const char *name) {
    const char **names =
        SC__NEW_ARRAY(&ctx->arena, const char *, w->names.count + SC__WORKS + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->op_count; i++) {
        const char *text = w->names.text[w->ops[i].name];
        bool known = n && names[n - 1] == text;
        if (w->ops[i].kind == SC__OP_COMPUTE && !known && n < w->names.count)
            names[n++] = text;
    }
    for (unsigned k = 0; k < SC__WORKS; k++)
        names[n++] = sc__work_name((enum sc__work)k);
    names[n] = NULL;
    const char *near = sc__nearest(name, names);
    if (near)
        return sc__format(&ctx->arena, "did you mean '%s'?", near);
    return "a name of an operation, a pattern with * or a kind of work (gemm, attention, "
           "optimizer …)";
}

/* "NAME=X": the last = parts them, since names may hold one. */
static sc_status
scale_one(struct sc_context *ctx, struct sc__workload *w, const char *text) {
    const char *equals = strrchr(text, '=');
    double factor;
    if (!equals || equals == text || !sc__parse_double(sc__str(equals + 1), &factor) ||
        factor < 0)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "write it like --scale MOEGate=0.5",
                        "--scale: cannot read '%s'",
                        text);
    const char *name = sc__strndup(&ctx->arena, text, (size_t)(equals - text));
    uint32_t matched = 0;
    for (uint32_t i = 0; i < w->op_count; i++) {
        struct sc__op *op = &w->ops[i];
        bool same = sc__name_matches(name, w->names.text[op->name]) ||
                    !strcmp(name, sc__work_name((enum sc__work)op->work));
        if (op->kind != SC__OP_COMPUTE || !same)
            continue;
        op->cost = times(op->cost, factor);
        matched++;
    }
    if (!matched)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        scale_suggest(ctx, w, name),
                        "--scale: no compute operation is called '%s'",
                        name);
    sc__note(ctx,
             "scaled",
             "%s takes %g times as long as in the input (%u operations)",
             name,
             factor,
             matched);
    return SC_OK;
}

/* Two factors for one name: which is meant, or whether both, is not said. */
static sc_status check_scales(struct sc_context *ctx, const char *const *scales) {
    for (; scales && *scales; scales++) {
        const char *equals = strrchr(*scales, '=');
        size_t name = equals ? (size_t)(equals - *scales) + 1 : 0;
        for (const char *const *other = scales + 1; name && *other; other++)
            if (!strncmp(*scales, *other, name) &&
                strrchr(*other, '=') == *other + name - 1)
                return sc__fail(ctx,
                                SC_USAGE,
                                NULL,
                                "give one factor for each name",
                                "--scale: %.*s is given twice",
                                (int)name - 1,
                                *scales);
    }
    return SC_OK;
}

sc_status sc__whatif_apply(struct sc_context *ctx,
                           const sc_options *options,
                           struct sc__workload *w) {
    SC__TRY(check_scales(ctx, options->scale));
    SC__TRY(speed_up(ctx, options->gpu_speedup != 0 ? options->gpu_speedup : 1, w));
    for (const char *const *text = options->scale; text && *text; text++)
        SC__TRY(scale_one(ctx, w, *text));
    return SC_OK;
}

const struct sc__option sc__whatif_options[] = {
    {"gpu-speedup",
     0,
     "X",
     "1",
     "What if",
     "compute X times as fast",
     0,
     .type = SC__TYPE_NUMBER,
     SC__OPTIONS_FIELD(gpu_speedup)},
    {"scale",
     0,
     "NAME=X",
     NULL,
     "What if",
     "operations of this name or kind of work take X times as long",
     SC__OPT_REPEAT,
     .type = SC__TYPE_LIST,
     SC__OPTIONS_FIELD(scale)},
    {0}};
