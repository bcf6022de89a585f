/* config_neox: what GPT-NeoX takes where a configuration is silent (neox_arguments), what
 * its list of attentions says, and how wide its feed-forward is (model/transformer.py). */
#include "launch/config.h"

#include <inttypes.h>
#include <string.h>

static bool above(const struct sc__config *c, const char *key, double least) {
    const char *value = sc__config_value(c, key);
    double x = 0;
    return value && sc__parse_double(sc__str(value), &x) && x > least;
}

/* ---- attention ---- */

/* A word of attention_config: [[["flash"], 24]] */
static const char *attention_word(const struct sc__config_item *item) {
    bool named =
        strstr(item->key, "attention_config") || strstr(item->key, "attention-config");
    uint32_t repeats;
    return named && !sc__parse_u32(sc__str(item->value), &repeats) ? item->value : NULL;
}

/* Layers that are no attention are other models; sparse ones are counted as whole. */
static sc_status take_attention(struct sc__launch *l,
                                const struct sc__config *c,
                                struct sc__flag_list *out) {
    bool flash = false;
    for (uint32_t i = 0; i < c->count; i++) {
        const char *word = attention_word(&c->items[i]);
        if (!word)
            continue;
        bool other = !strcmp(word, "mamba") || !strcmp(word, "rwkv") ||
                     !strcmp(word, "gmlp") || !strcmp(word, "amlp");
        if (other)
            return sc__launch_fail(l,
                                   c->items[i].line,
                                   "layers of attention can be forecast",
                                   "attention_config: layers of %s are not modelled",
                                   word);
        if (strstr(word, "flash"))
            flash = true;
        else if (strcmp(word, "global") != 0)
            sc__note(l->ctx,
                     "config-not-modelled",
                     "%s:%u: attention of the kind %.40s is counted as attention to all",
                     l->file,
                     c->items[i].line,
                     word);
    }
    if (flash || sc__config_on(c, "te_mha") || sc__config_on(c, "te_fp8_mha"))
        sc__config_add(l, out, "attention", "fused");
    return SC_OK;
}

/* ---- the feed-forward ---- */

static uint64_t up_to_multiple(uint64_t size, uint64_t of) {
    return of > 1 ? (size + of - 1) / of * of : size;
}

static bool is_gated(const char *activation) {
    static const char *const gated[] =
        {"swiglu", "geglu", "reglu", "bilinear", "glu", NULL};
    for (const char *const *g = gated; *g; g++)
        if (activation && !strcmp(activation, *g))
            return true;
    return false;
}

/* LLaMAParallelMLP of mlp_type llama: the size itself, or 8/3 of the hidden size up to the
 * next 256. ParallelMLP with a gate: intermediate_size, or four times the hidden size, is
 * that of a feed-forward with two products, of which the three of a gated one have a third
 * each (41472 is Llama-2 13B's 13824). mlp_type gated is that of StableLM's own NeoX, whose
 * activation is silu: two thirds of four times the hidden size (13824 of 5120). */
static sc_status take_feed_forward(struct sc__launch *l,
                                   const struct sc__config *c,
                                   struct sc__flag_list *out) {
    const char *type = sc__config_value(c, "mlp_type");
    const char *factor = sc__config_value(c, "expansion_factor");
    bool llama = type && !strcmp(type, "llama");
    bool named = type && !strcmp(type, "gated");
    bool gated = named || is_gated(sc__config_value(c, "activation"));
    uint64_t hidden = sc__config_number(c, "hidden_size", 0);
    uint64_t said = sc__config_number(c, "intermediate_size", 0);
    uint64_t of = sc__config_number(c, "mlp_multiple_of", 1);
    double times = 4;
    if (type && !llama && !named && strcmp(type, "regular") != 0)
        return sc__launch_fail(l,
                               0,
                               "regular, llama and gated can be forecast",
                               "mlp_type: unknown '%.40s'",
                               type);
    if (named && said)
        return sc__launch_fail(l,
                               0,
                               "give --ffn-hidden-size in its place",
                               "intermediate_size beside mlp_type gated is not known");
    if (factor && !sc__parse_double(sc__str(factor), &times))
        times = 4;
    bool sizes = times > 0 && times < 1024;
    uint64_t whole = said || !sizes ? said : (uint64_t)((double)hidden * times);
    uint64_t size = up_to_multiple(whole, of);
    if (llama)
        size = said ? said : up_to_multiple(hidden * 8 / 3, 256);
    else if (gated)
        size = up_to_multiple(named ? whole * 2 / 3 : whole * 2 / 3 / 2, of);
    if (llama || gated)
        sc__config_add(l, out, "swiglu", "");
    if (!size)
        return SC_OK;
    sc__config_add(l, out, "ffn-hidden-size", sc__format(&l->ctx->arena, "%" PRIu64, size));
    if (gated && !llama && said)
        sc__note(l->ctx,
                 "config-feed-forward",
                 "%s: of an intermediate_size of %" PRIu64 " GPT-NeoX gives each product "
                 "of a gated feed-forward a third, %" PRIu64,
                 l->file,
                 said,
                 size);
    return SC_OK;
}

/* ---- experts ---- */

/* One a token and in every second layer, unless it is said (moe_top_k, expert_interval). */
static void
take_experts(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    if (!above(c, "moe_num_experts", 1) && !above(c, "num_experts", 1))
        return;
    if (!sc__config_value(c, "moe_top_k"))
        sc__config_add(l, out, "moe-router-topk", "1");
    if (sc__config_value(c, "moe_expert_interval") ||
        sc__config_value(c, "expert_interval"))
        return;
    sc__config_add(l, out, "moe-layer-freq", "2");
    sc__note(l->ctx,
             "config-default",
             "%s does not say moe_expert_interval: experts are in every second layer there "
             "(--moe-layer-freq says otherwise)",
             l->file);
}

sc_status sc__config_neox(struct sc__launch *l,
                          const struct sc__config *c,
                          struct sc__flag_list *out) {
    if (!sc__config_value(c, "train_batch_size") &&
        !sc__config_value(c, "gradient_accumulation_steps"))
        sc__config_add(l, out, "micro-batches", "1");
    SC__TRY(take_attention(l, c, out));
    SC__TRY(take_feed_forward(l, c, out));
    take_experts(l, c, out);
    bool drops = above(c, "hidden_dropout", 0) || above(c, "attention_dropout", 0);
    sc__config_add(l, out, drops ? "dropout" : "no-dropout", "");
    /* the recipe (te_fp8_format) stands there with and without it */
    if (sc__config_on(c, "te_fp8_mha"))
        sc__config_add(l, out, "fp8", NULL);
    return SC_OK;
}
