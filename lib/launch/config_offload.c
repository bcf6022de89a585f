/* config_offload: what a configuration keeps on the host, as flags of ours. DeepSpeed says
 * it by sections, torchtitan, torchtune and trainers of Hugging Face by a switch of FSDP or
 * by the name of DeepSpeed's file, Megatron by several keys together. */
#include "launch/config.h"

#include <string.h>

static bool on_cpu(const struct sc__config *c, const char *key) {
    const char *device = sc__config_value(c, key);
    return device && sc__str_is_any_case(sc__str(device), "cpu");
}

/* What stands under a key; all of it where nothing does. What is no share is refused as
 * the option's would be. */
static const char *share_of(const struct sc__config *c, const char *key) {
    const char *given = sc__config_value(c, key);
    bool nothing = !given || !*given || sc__str_is_any_case(sc__str(given), "null") ||
                   sc__str_is_any_case(sc__str(given), "none");
    return nothing ? "1" : given;
}

static void offload_by_deepspeed(struct sc__launch *l,
                                 const struct sc__config *c,
                                 struct sc__flag_list *out) {
    const char *file = sc__config_value(c, "deepspeed");
    if (!file)
        file = sc__config_value(c, "deepspeed_config_file"); /* of accelerate */
    if (!file)
        file = sc__config_accelerate_file(c);
    /* stage3_no_offloading.conf says that nothing is */
    bool named = file && strstr(file, "offload") && !strstr(file, "no_offload");
    bool third =
        file && (strstr(file, "z3") || strstr(file, "zero3") || strstr(file, "stage3"));
    bool params_alone = named && strstr(file, "offload_params");
    /* DeepSpeed-Chat's is of both, of which stage 3 has weights to move
     * (get_train_ds_config of dschat/utils/ds_utils.py) */
    bool chat = sc__config_on(c, "=offload") && !sc__config_openrlhf(c);
    bool optimizer = on_cpu(c, "offload_optimizer.device") ||
                     on_cpu(c, "offload_optimizer_device") || /* accelerate's */
                     sc__config_on(c, "=adam_offload") ||     /* OpenRLHF's */
                     chat || sc__config_on(c, "zero_optimization.cpu_offload");
    bool params = on_cpu(c, "offload_param.device") || on_cpu(c, "offload_param_device") ||
                  (chat && sc__config_number(c, "zero_stage", 0) == 3) ||
                  sc__config_on(c, "zero_optimization.cpu_offload_params");
    if (optimizer || (named && !params_alone)) {
        sc__config_add(l, out, "offload-optimizer", share_of(c, "offload_optimizer.ratio"));
        sc__config_add(l, out, "overlap-offload", "yes");
    }
    if (params || (named && third))
        sc__config_add(l, out, "offload-params", NULL);
}

/* FSDP keeps weights, gradients and optimizer there together. */
static void offload_by_fsdp(struct sc__launch *l,
                            const struct sc__config *c,
                            struct sc__flag_list *out) {
    static const char *const keys[] = {"fsdp_offload_params",
                                       "fsdp_config.offload_params",
                                       "fsdp_config.cpu_offload",
                                       "fsdp.cpu_offload", /* Oumi */
                                       "enable_cpu_offload",
                                       "fsdp_cpu_offload",
                                       NULL};
    const char *words = sc__config_value(c, "fsdp"); /* "full_shard auto_wrap offload" */
    bool yes = sc__config_any_on(c, keys) ||
               (words && sc__find_word(words, strlen(words), "offload"));
    for (uint32_t i = 0; i < c->count; i++) /* the same as a list */
        yes = yes || (sc__str_starts(sc__str(c->items[i].key), "fsdp.") &&
                      !strcmp(c->items[i].value, "offload"));
    if (!yes)
        return;
    sc__config_add(l, out, "offload-optimizer", "1");
    sc__config_add(l, out, "overlap-offload", "yes");
    sc__config_add(l, out, "offload-params", NULL);
}

static void offload_by_megatron(struct sc__launch *l,
                                const struct sc__config *c,
                                struct sc__flag_list *out) {
    const char *layers = sc__config_value(c, "cpu_offloading_num_layers");
    uint32_t count = 0;
    if (sc__config_on(c, "optimizer_cpu_offload"))
        sc__config_add(l,
                       out,
                       "offload-optimizer",
                       share_of(c, "optimizer_offload_fraction"));
    if (sc__config_on(c, "overlap_cpu_optimizer_d2h_h2d"))
        sc__config_add(l, out, "overlap-offload", "yes");
    if (layers && sc__parse_u32(sc__str(layers), &count) && count)
        sc__config_add(l, out, "offload-activations", layers);
}

/* Disks are not modelled. */
static void note_other_devices(struct sc__launch *l, const struct sc__config *c) {
    static const char *const keys[] = {"offload_optimizer.device",
                                       "offload_param.device",
                                       NULL};
    for (const char *const *key = keys; *key; key++) {
        const char *device = sc__config_value(c, *key);
        bool none = !device || sc__str_is_any_case(sc__str(device), "none") ||
                    sc__str_is_any_case(sc__str(device), "null") || !*device;
        if (!none && !on_cpu(c, *key))
            sc__note(l->ctx,
                     "config-not-modelled",
                     "%s: %s %.40s changes the step and is not modelled",
                     l->file,
                     *key,
                     device);
    }
}

void sc__config_offload(struct sc__launch *l,
                        const struct sc__config *c,
                        enum sc__config_kind kind,
                        struct sc__flag_list *out) {
    if (kind == SC__CONFIG_DEEPSPEED || kind == SC__CONFIG_NEOX ||
        kind == SC__CONFIG_TRAINER) {
        offload_by_deepspeed(l, c, out);
        note_other_devices(l, c);
    }
    if (kind == SC__CONFIG_TRAINER || kind == SC__CONFIG_TORCHTITAN ||
        kind == SC__CONFIG_TORCHTUNE)
        offload_by_fsdp(l, c, out);
    if (kind == SC__CONFIG_NESTED)
        offload_by_megatron(l, c, out);
}
