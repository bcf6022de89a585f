/* config_nemo: what keys of NeMo 1 mean together. Its transformer has fp8 where fp8 is
 * true, in the format that one of two more keys names, and stops without either
 * (build_transformer_config of megatron_gpt_model.py). */
#include "model/config.h"

#include <string.h>

static bool is_on(const struct sc__config *c, const char *key) {
    const char *value = sc__config_value(c, key);
    return value && sc__config_true(value);
}

void sc__config_nemo(struct sc__launch *l,
                     const struct sc__config *c,
                     struct sc__flag_list *out) {
    const char *precision = sc__config_value(c, "precision");
    if (precision && !strcmp(precision, "fp8"))
        sc__config_add(l, out, "fp8", NULL);
    if (is_on(c, "fp8"))
        sc__config_add(l, out, "fp8-format", is_on(c, "fp8_e4m3") ? "e4m3" : "hybrid");
}
