/* prediction: what joins a token's hidden state and the next token's embedding before the
 * layer of multi-token prediction: a norm of each, and a projection of both, side by side,
 * to one (DeepSeek-V3, section 2.2; Megatron-LM's MultiTokenPredictionLayer). */
#include "lower/step_scripts.h"

/* The projection's outputs are cut by tensor parallelism. */
void sc__prediction_kernels(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    struct sc__kernel_model *q = l->kernel_model;
    uint64_t rows = (uint64_t)sc__plan_tokens(p);
    uint64_t cut = (uint64_t)sc__plan_tokens_sp(p);
    uint64_t both = 2 * (uint64_t)l->model->hidden;
    uint64_t out = l->model->hidden / p->mesh.tp;
    double copied = 2 * sc__plan_width(p) * (double)cut * (double)both;
    enum sc__dtype t = (enum sc__dtype)p->dtype;
    struct sc__kernels *f = &l->prediction[0];
    struct sc__kernels *b = &l->prediction[1];
    if (!sc__plan_predictions(p, l->model))
        return;
    for (int input = 0; input < 2; input++)
        sc__step_add_norm(l, f, cut, SC__FORWARD);
    sc__step_add_kernel(l,
                        f,
                        sc__elementwise(q, "prediction_inputs", copied),
                        SC__FORWARD,
                        SC__WORK_ELEMENTWISE);
    sc__step_add_kernel(l,
                        f,
                        sc__gemm(q, "prediction", t, rows, out, both),
                        SC__FORWARD,
                        SC__WORK_GEMM);
    sc__step_add_kernel(l,
                        b,
                        sc__gemm_dgrad(q, "prediction dgrad", t, rows, both, out),
                        SC__BACKWARD,
                        SC__WORK_GEMM);
    sc__step_add_kernel(l,
                        b,
                        sc__gemm_wgrad(q, "prediction wgrad", t, out, both, rows, false),
                        SC__WGRAD,
                        SC__WORK_GEMM);
    for (int input = 0; input < 2; input++)
        sc__step_add_norm(l, b, cut, SC__BACKWARD);
}

/* Of both inputs, or of the one output. */
static void over_tp(struct sc__script_maker *k, enum sc__coll coll, unsigned tensors) {
    sc__script_collective(k,
                          coll,
                          SC__GROUP_TP,
                          SC__STREAM_COMM,
                          tensors * sc__script_activation_bytes(k->l),
                          false,
                          "tp prediction");
}

void sc__prediction_scripts(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    struct sc__script_maker f = {.l = l,
                                 .script = &l->prediction_forward,
                                 .phase = SC__FORWARD};
    struct sc__script_maker b = {.l = l,
                                 .script = &l->prediction_backward,
                                 .phase = SC__BACKWARD};
    struct sc__script_maker w = {.l = l,
                                 .script = &l->prediction_wgrad,
                                 .phase = SC__WGRAD};
    struct sc__script_maker *weights = sc__schedule_splits(p->schedule) ? &w : &b;
    struct sc__shard params = {.dense = sc__plan_prediction_inputs(p, l->model)};
    if (!sc__plan_predictions(p, l->model))
        return;
    if (p->sequence_parallel)
        over_tp(&f, SC__ALLGATHER, 2);
    sc__script_kernels(&f, &l->prediction[0], 1u << SC__FORWARD, "prediction");
    over_tp(&f, SC__ALLGATHER, 1);
    sc__script_kernels(&b, &l->prediction[1], 1u << SC__BACKWARD, "prediction");
    over_tp(&b, p->sequence_parallel ? SC__REDUCESCATTER : SC__ALLREDUCE, 2);
    if (p->lora)
        return;
    sc__script_kernels(weights, &l->prediction[1], 1u << SC__WGRAD, "prediction");
    sc__script_accumulate(weights, &params);
}
