/* read: options → sc_plan. The table (plan/options.c) says most of it; here is
 * what one option alone cannot say. */
#include "plan/plan.h"

#include <string.h>

static sc_status
refuse(const struct sc__settings *s, const char *hint, const char *message) {
    return sc__fail(s->ctx, SC_USAGE, NULL, hint, "%s", message);
}

/* Values that would say "as usual" in the structure, and are none. */
static sc_status check_given(const struct sc__settings *s, const sc_plan *p) {
    if (sc__setting(s, "moe-imbalance") && p->moe_imbalance < 1)
        return refuse(s, NULL, "--moe-imbalance is at least 1");
    if (sc__setting(s, "moe-skew") && p->moe_skew < 0)
        return refuse(s, "0: all experts alike", "--moe-skew is an exponent from 0 on");
    if (sc__setting(s, "moe-expert-capacity-factor") && p->moe_capacity_factor <= 0)
        return refuse(s, NULL, "--moe-expert-capacity-factor is positive");
    if (sc__setting(s, "host-launch") && p->host_launch_us < 0)
        return refuse(s, "0 for CUDA graphs", "--host-launch is a time from 0 on");
    if (sc__setting(s, "bucket") && !p->bucket_bytes)
        return refuse(s,
                      "leave it out for Megatron's own rule",
                      "a bucket of 0 bytes is none");
    return SC_OK;
}

/* --cuda-graph, or Megatron's --cuda-graph-scope unless --cuda-graph-impl is
 * none; that alone stands for what it launches without a scope. */
static sc_status read_graphs(const struct sc__settings *s, sc_plan *p) {
    const char *impl = sc__setting(s, "cuda-graph-impl");
    const char *scope = sc__setting(s, "cuda-graph-scope");
    if (sc__setting(s, "cuda-graph") || (impl && !strcmp(impl, "none")))
        return SC_OK;
    if (!scope && impl)
        scope = strcmp(impl, "full_iteration") ? "full_layer" : impl;
    if (!scope)
        return SC_OK;
    return sc__option_take(s->ctx,
                           sc__option_find(sc__model_options, "cuda-graph"),
                           scope,
                           p);
}

/* --precision fp8 is two fields: GEMMs in fp8, everything else in bf16. */
static sc_status read_precision(const struct sc__settings *s, sc_plan *p) {
    const struct sc__option *o = sc__option_find(sc__model_options, "precision");
    const char *text = sc__setting(s, "precision");
    int given = 0;
    if (!text)
        return SC_OK;
    SC__TRY(sc__option_take(s->ctx, o, text, &given));
    bool in_fp8 = given == SC_DTYPE_FP8;
    sc_dtype dtype = in_fp8 ? SC_DTYPE_BF16 : (sc_dtype)given;
    sc_dtype gemm_dtype = in_fp8 ? SC_DTYPE_FP8 : 0;
    bool other_dtype = p->dtype && p->dtype != dtype;
    bool other_gemms = p->gemm_dtype && p->gemm_dtype != gemm_dtype;
    if (other_dtype || other_gemms)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--precision %s contradicts %s",
                        text,
                        other_dtype ? "the type that is given beside it (--dtype)"
                                    : "the GEMMs that are given beside it (--fp8, --fp4)");
    p->dtype = dtype;
    p->gemm_dtype = gemm_dtype;
    return SC_OK;
}

/* Megatron counts such layers with --first-last-layers-bf16 alone, usually one each. */
static void read_wide_layers(const struct sc__settings *s, sc_plan *p) {
    bool said = sc__setting_flag(s, "first-last-layers-bf16");
    if (said && !sc__setting(s, "num-layers-at-start-in-bf16"))
        p->bf16_first = 1;
    if (said && !sc__setting(s, "num-layers-at-end-in-bf16"))
        p->bf16_last = 1;
    if (!said && sc__setting(s, "megatron-args"))
        p->bf16_first = p->bf16_last = 0;
}

sc_status sc__plan_read(const struct sc__settings *s, sc_plan *p) {
    static const struct sc__option *const tables[] = {sc__model_options, NULL};
    *p = (sc_plan)SC_PLAN_INIT;
    SC__TRY(sc__options_take(s, tables, SC__IN_PLAN, p));
    SC__TRY(check_given(s, p));
    SC__TRY(read_precision(s, p));
    read_wide_layers(s, p);
    /* whatever --use-distributed-optimizer says beside it */
    if (p->torch_fsdp2 == SC_ON && !sc__setting(s, "zero"))
        p->zero = 3;
    if (sc__setting(s, "padded-vocab-size") && !p->vocab_multiple)
        p->vocab_multiple = 1;
    /* a launch script says what overlaps, and is silent about what does not */
    if (sc__setting(s, "megatron-args") && p->overlap_grad == SC_AUTO)
        p->overlap_grad = SC_OFF;
    return read_graphs(s, p);
}
