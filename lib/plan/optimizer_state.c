/* optimizer_state: what the optimizer keeps of a weight, in bytes, and what the update
 * moves of it.
 *
 * Mixed precision has a main copy of every weight and Adam's two moments, in fp32 unless
 * said otherwise (Megatron's --main-params-dtype, --exp-avg-dtype, --exp-avg-sq-dtype).
 * The precision-aware optimizer keeps no fp32 copy beside bf16 weights: bf16 is the upper
 * half of fp32, so the 16 bits below it are enough (store_param_remainders of Transformer
 * Engine 2.1 and of Apex's distributed Adam). Plain PyTorch and amp have no main copy, and
 * moments of the weights' type. */
#include "plan/plan.h"

bool sc__plan_mixed_update(const struct sc__plan *p) {
    return !p->plain_update && !p->amp;
}

/* Weights kept in fp8 are not the upper half of anything, and the host's part of an
 * optimizer has fp32 copies (HybridDeviceOptimizer). */
static bool keeps_lower_halves(const struct sc__plan *p) {
    return p->types.precise && p->types.main == SC__FP32 && p->dtype == SC__BF16 &&
           !p->fp8_params && !(p->offload_optimizer > 0);
}

static bool weights_are_the_main_copy(const struct sc__plan *p) {
    return p->types.main == p->dtype && !p->fp8_params;
}

double sc__plan_main_bytes(const struct sc__plan *p) {
    if (!sc__plan_mixed_update(p) || sc__plan_width(p) > 2 || weights_are_the_main_copy(p))
        return 0;
    return keeps_lower_halves(p) ? 2 : sc__dtype_bytes(p->types.main);
}

double sc__plan_moment_bytes(const struct sc__plan *p, unsigned moment) {
    if (!sc__plan_mixed_update(p))
        return sc__plan_weight_bytes(p);
    return sc__dtype_bytes(p->types.moments[moment]);
}

/* fp32 main copies are read and written, and bf16 weights written. Where the weights are
 * (part of) the main copy they are read too. */
static double main_traffic_saved(const struct sc__plan *p) {
    if (!sc__plan_mixed_update(p) || sc__plan_width(p) > 2)
        return 0;
    bool read = keeps_lower_halves(p) || weights_are_the_main_copy(p);
    return 2 * (4 - sc__plan_main_bytes(p)) - (read ? sc__plan_width(p) : 0);
}

/* Every moment is read and written. Muon has no second one, but for the embeddings. */
static double moment_traffic_saved(const struct sc__plan *p) {
    double full = sc__plan_mixed_update(p) ? 4 : sc__plan_weight_bytes(p);
    double first = sc__plan_moment_bytes(p, 0);
    double second = sc__plan_moment_bytes(p, 1);
    if (p->optimizer_kind == SC__OPTIMIZER_SGD)
        first = second = 0;
    if (p->optimizer_kind == SC__OPTIMIZER_ADAM_8BIT)
        first = second = 1;
    if (p->optimizer_kind == SC__OPTIMIZER_MUON)
        second = 0;
    return 2 * (2 * full - first - second);
}

double sc__plan_update_saves(const struct sc__plan *p) {
    return main_traffic_saved(p) + moment_traffic_saved(p);
}
