/* config_nemo: what keys of NeMo 1 mean together. Its transformer has fp8 where fp8 is
 * true, in the format that one of two more keys names, and stops without either
 * (build_transformer_config of megatron_gpt_model.py). */
#include "model/config.h"

#include <string.h>

/* A recipe of precision by its name (training/mixed_precision.py of Megatron-Bridge,
 * recipes/precision of NeMo): current scaling keeps the first and the last layer in bf16,
 * and all but blocks of subchannels gather parameters in fp8. */
static void take_recipe(struct sc__launch *l, const char *name, struct sc__flag_list *out) {
    static const char *const scales[][2] = {{"mxfp8", "mxfp8"},
                                            {"current_scaling", "tensorwise"},
                                            {"subchannel", "blockwise"}};
    if (strstr(name, "fp4")) {
        sc__config_add(l, out, "fp4", NULL);
        return;
    }
    if (!strstr(name, "fp8"))
        return;
    sc__config_add(l, out, "fp8", NULL);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (strstr(name, scales[i][0]))
            sc__config_add(l, out, "fp8-recipe", scales[i][1]);
    if (strstr(name, "current_scaling")) {
        sc__config_add(l, out, "first-last-layers-bf16", NULL);
        sc__config_add(l, out, "num-layers-at-start-in-bf16", "1");
        sc__config_add(l, out, "num-layers-at-end-in-bf16", "1");
    }
    if (!strstr(name, "subchannel"))
        sc__config_add(l, out, "fp8-param-gather", NULL);
}

static void
take_recipes(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *first = NULL;
    for (uint32_t i = 0; i < c->count; i++) {
        const char *name = c->items[i].value;
        if (strcmp(c->items[i].last, "mixed_precision") != 0 ||
            !sc__str_ends(sc__str(name), "_mixed"))
            continue;
        if (first && strcmp(first, name) != 0 && !sc__launch_overridden(l, "fp8"))
            sc__note(l->ctx,
                     "config-precisions",
                     "%s:%u: it names %.60s and %.60s: the first is taken (--precision, "
                     "--fp8 say otherwise)",
                     l->file,
                     c->items[i].line,
                     first,
                     name);
        if (!first)
            take_recipe(l, name, out);
        first = first ? first : name;
    }
}

void sc__config_nemo(struct sc__launch *l,
                     const struct sc__config *c,
                     struct sc__flag_list *out) {
    const char *precision = sc__config_value(c, "precision");
    if (precision && !strcmp(precision, "fp8"))
        sc__config_add(l, out, "fp8", NULL);
    if (sc__config_on(c, "fp8"))
        sc__config_add(l,
                       out,
                       "fp8-format",
                       sc__config_on(c, "fp8_e4m3") ? "e4m3" : "hybrid");
    take_recipes(l, c, out);
}
