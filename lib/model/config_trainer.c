/* config_trainer: what keys of trainers of Hugging Face (Axolotl, LLaMA-Factory, TRL) mean
 * together. */
#include "model/config.h"

#include <string.h>

static bool has_section(const struct sc__config *c, const char *beginning) {
    for (uint32_t i = 0; i < c->count; i++)
        if (sc__str_starts(sc__str(c->items[i].key), beginning))
            return true;
    return false;
}

/* ZeRO by the name of DeepSpeed's file, or FSDP; kernels as transformers runs them. */
sc_status sc__config_trainer(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out) {
    const char *deepspeed = sc__config_value(c, "deepspeed");
    static const char *const stages[] =
        {"zero1", "zero2", "zero3", "z0", "z2", "z3", "stage2", "stage3", "stage1", NULL};
    for (const char *const *s = stages; deepspeed && *s; s++)
        if (strstr(deepspeed, *s))
            sc__config_add(l, out, "zero", *s + strlen(*s) - 1);
    if (sc__config_value(c, "fsdp") || has_section(c, "fsdp.") ||
        has_section(c, "fsdp_config."))
        sc__config_add(l, out, "use-torch-fsdp2", NULL);
    return sc__config_adapters(l, c, out);
}
