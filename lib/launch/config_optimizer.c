/* config_optimizer: in which types a configuration keeps the optimizer's state, as flags of
 * ours. Megatron's keys have the names of its flags (config_formats.c); here is how
 * Megatron-Bridge writes their values, and what NeMo 1's optimizers mean by name. */
#include "launch/config.h"

#include <string.h>

/* exp_avg_dtype: {_target_: torch.bfloat16, _call_: false} */
static void
add_targets(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    static const struct sc__flag keys[] = {
        {"main-params-dtype", "main_params_dtype._target_"},
        {"main-grads-dtype", "main_grads_dtype._target_"},
        {"exp-avg-dtype", "exp_avg_dtype._target_"},
        {"exp-avg-sq-dtype", "exp_avg_sq_dtype._target_"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *type = sc__config_value(c, keys[i].value);
        if (type)
            sc__config_add(l, out, keys[i].name, type);
    }
}

/* Apex's distributed Adam keeps the 16 bits that bf16 weights lack of fp32; with state in
 * bf16 (optim.dtype) it keeps no main copy (setup_optimization of NeMo's
 * megatron_base_model.py). Megatron's own (mcore_distributed_optim) has no such key. */
static void
add_apex(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    static const char *const types[] = {"main-params-dtype",
                                        "exp-avg-dtype",
                                        "exp-avg-sq-dtype",
                                        NULL};
    const char *name = sc__config_value(c, "optim.name");
    const char *dtype = sc__config_value(c, "optim.dtype");
    if (!name || strcmp(name, "distributed_fused_adam") != 0)
        return;
    sc__config_add(l, out, "use-precision-aware-optimizer", NULL);
    for (const char *const *type = types; dtype && *type; type++)
        sc__config_add(l, out, *type, dtype);
}

void sc__config_optimizer(struct sc__launch *l,
                          const struct sc__config *c,
                          enum sc__config_kind kind,
                          struct sc__flag_list *out) {
    if (kind != SC__CONFIG_NESTED)
        return;
    add_targets(l, c, out);
    add_apex(l, c, out);
}

const char *sc__config_bucket(const struct sc__launch *l,
                              const struct sc__config_item *item,
                              const char *value) {
    uint64_t parameters = 0;
    if (!sc__parse_u64(sc__str(value), &parameters) || parameters <= UINT32_MAX)
        return value;
    sc__note(l->ctx,
             "config-bucket",
             "%s: %s %.40s is counted as %u parameters, the most that a bucket may have",
             l->file,
             item->key,
             value,
             UINT32_MAX);
    return sc__format(&l->ctx->arena, "%u", UINT32_MAX);
}
