/* config_neox: what GPT-NeoX takes where a configuration is silent (neox_arguments), and
 * what its list of attentions says. */
#include "model/config.h"

#include <string.h>

static bool above(const struct sc__config *c, const char *key, double least) {
    const char *value = sc__config_value(c, key);
    double x = 0;
    return value && sc__parse_double(sc__str(value), &x) && x > least;
}

/* attention_config: [[["flash"], 24]] */
static bool names_flash(const struct sc__config *c) {
    for (uint32_t i = 0; i < c->count; i++)
        if (strstr(c->items[i].key, "attention_config") ||
            strstr(c->items[i].key, "attention-config"))
            if (strstr(c->items[i].value, "flash"))
                return true;
    return false;
}

void sc__config_neox(struct sc__launch *l,
                     const struct sc__config *c,
                     struct sc__flag_list *out) {
    if (!sc__config_value(c, "train_batch_size") &&
        !sc__config_value(c, "gradient_accumulation_steps"))
        sc__config_add(l, out, "micro-batches", "1");
    if (above(c, "moe_num_experts", 1) && !sc__config_value(c, "moe_top_k"))
        sc__config_add(l, out, "moe-router-topk", "1");
    if (names_flash(c))
        sc__config_add(l, out, "attention", "fused");
    bool drops = above(c, "hidden_dropout", 0) || above(c, "attention_dropout", 0);
    sc__config_add(l, out, drops ? "dropout" : "no-dropout", "");
}
