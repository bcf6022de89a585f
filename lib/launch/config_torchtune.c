/* config_torchtune: what keys of torchtune's recipes mean together. Simple ones are in
 * config_table.c; functions and classes stand under _component_
 * (recipes/full_finetune_distributed.py, lora_finetune_distributed.py). */
#include "launch/config.h"

#include <inttypes.h>
#include <string.h>

static const char *component(const struct sc__config *c, const char *section) {
    char key[64];
    snprintf(key, sizeof key, "%s._component_", section);
    const char *value = sc__config_exact(c, key);
    return value ? value : "";
}

bool sc__config_is_torchtune(const struct sc__config *c) {
    for (uint32_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].last, "_component_") &&
            sc__str_starts(sc__str(c->items[i].value), "torchtune."))
            return true;
    return false;
}

/* ---- the model ---- */

/* The name of the function that builds it, without what it adds: lora_llama3_1_8b. */
static struct sc__str builder_name(const struct sc__config *c) {
    static const char *const endings[] = {"_instruct", "_base", NULL};
    const char *path = component(c, "model");
    const char *dot = strrchr(path, '.');
    struct sc__str name = sc__str(dot ? dot + 1 : path);
    const char *lora = strstr(name.p, "lora_");
    if (lora && (lora == name.p || (lora == name.p + 1 && *name.p == 'q')))
        name = sc__str(lora + strlen("lora_"));
    for (const char *const *e = endings; *e; e++)
        if (sc__str_ends(name, *e))
            name.n -= strlen(*e);
    return name;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Underscores between digits are dots or dashes: "llama3_1_8b" is llama3.1-8b, and
 * "qwen3_0_6b" qwen3-0.6b. NULL: no way to write it is a preset. */
static const char *torchtune_preset(struct sc__arena *arena, struct sc__str name) {
    enum { MOST = 4 };
    size_t at[MOST];
    unsigned count = 0;
    char *spelled = sc__strndup(arena, name.p, name.n);
    if (!strcmp(spelled, "phi4_14b")) /* the one size there is */
        return "phi4";
    for (size_t i = 1; i + 1 < name.n && count < MOST; i++)
        if (spelled[i] == '_' && is_digit(spelled[i - 1]) && is_digit(spelled[i + 1]))
            at[count++] = i;
    for (unsigned dots = 0; dots < 1u << count; dots++) {
        for (unsigned i = 0; i < count; i++)
            spelled[at[i]] = dots >> i & 1 ? '.' : '-';
        if (sc__model_preset(arena, spelled))
            return spelled;
    }
    return NULL;
}

static sc_status take_torchtune_model(struct sc__launch *l,
                                      const struct sc__config *c,
                                      struct sc__flag_list *out) {
    const char *path = component(c, "model");
    if (sc__launch_overridden(l, "model"))
        return SC_OK;
    const char *preset = torchtune_preset(&l->ctx->arena, builder_name(c));
    if (!preset)
        return sc__launch_fail(l,
                               0,
                               "give the config.json of its repository, or a preset of "
                               "the same shape, with --model (stepcast list models)",
                               *path ? "model: %.80s is no model that is known"
                                     : "model: no _component_ names the model%s",
                               path);
    sc__config_add(l, out, "model", preset);
    return SC_OK;
}

/* ---- what is trained ---- */

/* lora_attn_modules is a list, in which o_proj is called output_proj. */
static const char *lora_targets(struct sc__launch *l, const struct sc__config *c) {
    struct sc__buffer list;
    sc__buffer_init(&list, &l->ctx->arena);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct sc__config_item *item = &c->items[i];
        if (sc__str_starts(sc__str(item->key), "model.lora_attn_modules."))
            sc__config_put_name(&list,
                                strcmp(item->value, "output_proj") ? item->value
                                                                   : "o_proj");
    }
    if (sc__config_on(c, "model.apply_lora_to_mlp"))
        sc__config_put_name(&list, "gate_proj,up_proj,down_proj");
    return list.size ? list.text : NULL;
}

static void take_torchtune_adapters(struct sc__launch *l,
                                    const struct sc__config *c,
                                    struct sc__flag_list *out) {
    const char *rank = sc__config_value(c, "model.lora_rank");
    const char *targets = lora_targets(l, c);
    bool four_bits =
        sc__config_on(c, "model.quantize_base") || strstr(component(c, "model"), ".qlora_");
    if (!strstr(component(c, "model"), "lora_"))
        return;
    struct sc__config_lora lora = {rank ? rank : "8", targets, "model.lora_dropout"};
    sc__config_add_adapters(l, c, out, &lora); /* 8: of its builders */
    if (four_bits)
        sc__config_add(l, out, "qlora", NULL);
}

/* ---- how ---- */

/* The dtype is that of weights, gradients and optimizer; there is no mixed precision. */
static void take_torchtune_types(struct sc__launch *l,
                                 const struct sc__config *c,
                                 struct sc__flag_list *out) {
    const char *type = sc__config_exact(c, "dtype");
    const char *recipe = sc__config_exact(c, "fp8_recipe_name");
    bool usual = !recipe || sc__config_nothing(recipe);
    if (type && !strcmp(type, "fp32"))
        sc__config_add(l, out, "dtype", "fp32");
    else {
        sc__config_add(l, out, "bf16", NULL);
        sc__config_add(l, out, "update", "plain");
        sc__config_add(l, out, "grad-dtype", "bf16");
    }
    if (!sc__config_on(c, "enable_fp8_training"))
        return;
    sc__config_add(l, out, "fp8", NULL);
    sc__config_add(l, out, "fp8-scaling", "dynamic");
    if (usual) /* convert_to_float8_training of training/quantization.py */
        sc__config_add(l, out, "fp8-param-gather", NULL);
    else if (strstr(recipe, "rowwise"))
        sc__config_add(l, out, "fp8-recipe", "rowwise");
}

/* Of PyTorch by lists of tensors, unless a key says that one kernel does all. */
static void take_torchtune_optimizer(struct sc__launch *l,
                                     const struct sc__config *c,
                                     struct sc__flag_list *out) {
    const char *path = component(c, "optimizer");
    const char *dot = strrchr(path, '.');
    const char *name = dot ? dot + 1 : path;
    if (strstr(name, "8bit"))
        sc__config_add(l, out, "optimizer", "adam-8bit");
    else if (!strcmp(name, "SGD"))
        sc__config_add(l, out, "optimizer", "sgd");
    else if (!strcmp(path, "torch.optim.AdamW") || !strcmp(path, "torch.optim.Adam"))
        sc__config_add(l,
                       out,
                       "optimizer",
                       sc__config_on(c, "optimizer.fused") ? "adam" : "adam-foreach");
    else if (strcmp(name, "PagedAdamW") != 0 && strcmp(name, "AdamW") != 0)
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: the optimizer %.60s is not modelled: Adam is counted",
                 l->file,
                 path);
}

/* fully_shard over data_parallel_shard_dim, copies over data_parallel_replicate_dim. */
static void take_torchtune_sharding(struct sc__launch *l,
                                    const struct sc__config *c,
                                    struct sc__flag_list *out) {
    uint32_t copies = sc__config_number(c, "data_parallel_replicate_dim", 1);
    uint32_t shards = sc__config_number(c, "data_parallel_shard_dim", 0);
    const char *reshards = sc__config_exact(c, "fsdp_reshard_after_forward");
    sc__config_add(l, out, "use-torch-fsdp2", NULL);
    if (reshards && sc__config_false(reshards))
        sc__config_add(l, out, "reshard-after-forward", "no");
    if (copies > 1 && shards)
        sc__config_add(l,
                       out,
                       "shard-group",
                       sc__format(&l->ctx->arena, "%" PRIu32, shards));
    else
        sc__config_copies(l, copies, out);
}

/* ac_mode counts where enable_activation_checkpointing is off. */
static void take_torchtune_recomputation(struct sc__launch *l,
                                         const struct sc__config *c,
                                         struct sc__flag_list *out) {
    const char *mode = sc__config_exact(c, "ac_mode");
    const char *option = sc__config_exact(c, "ac_option");
    bool selective = mode && !strcmp(mode, "selective");
    uint32_t each;
    if (!mode || sc__config_nothing(mode)) {
        bool on = sc__config_on(c, "enable_activation_checkpointing");
        sc__config_add(l, out, "recompute", on ? "full" : "none");
        return;
    }
    sc__config_add(l, out, "recompute", selective ? "ops" : "full");
    if (selective && option && sc__parse_u32(sc__str(option), &each))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: ac_option %u repeats each %u-th layer; operators are counted as with "
                 "\"op\": --recompute full --recompute-method block --recompute-layers N "
                 "counts layers",
                 l->file,
                 each,
                 each);
}

/* A switch, or switches of parts, of which the model is on unless it says otherwise. */
static void take_torchtune_compiling(struct sc__launch *l,
                                     const struct sc__config *c,
                                     struct sc__flag_list *out) {
    const char *model = sc__config_exact(c, "compile.model");
    bool parts = false;
    for (uint32_t i = 0; i < c->count; i++)
        parts = parts || sc__str_starts(sc__str(c->items[i].key), "compile.");
    bool on = parts ? !model || sc__config_true(model) : sc__config_on(c, "compile");
    sc__config_add(l, out, "fusion", on ? "megatron" : "hf");
}

/* Losses that never see the logits of all tokens in fp32. */
static void take_torchtune_loss(struct sc__launch *l,
                                const struct sc__config *c,
                                struct sc__flag_list *out) {
    const char *loss = component(c, "loss");
    bool chunked =
        strstr(loss, "ChunkedOutputLoss") || strstr(loss, "LinearCrossEntropyLoss");
    bool plain = !*loss || strstr(loss, "CrossEntropyLoss");
    sc__config_add(l, out, "cross-entropy", chunked ? "chunked" : "fp32");
    if ((chunked || plain) && !*component(c, "teacher_model"))
        return;
    sc__note(
        l->ctx,
        "config-not-modelled",
        "%s: a step with the loss %.60s is more than plain training: passes of another "
        "model and steps between them are not counted",
        l->file,
        loss);
}

/* Sequences that are not packed are as long as the longest of a batch. */
static void note_torchtune_length(struct sc__launch *l, const struct sc__config *c) {
    const char *length = sc__config_value(c, "tokenizer.max_seq_len");
    bool said = length && !sc__config_nothing(length);
    if (said && !sc__config_on(c, "dataset.packed"))
        sc__note(l->ctx,
                 "config-length",
                 "%s: sequences are not packed (dataset.packed): they are counted as long "
                 "as tokenizer.max_seq_len allows",
                 l->file);
}

sc_status sc__config_torchtune(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out) {
    if (!*component(c, "optimizer"))
        return sc__launch_fail(l,
                               0,
                               "recipes of fine-tuning can be forecast",
                               "no optimizer: this recipe of torchtune does not train");
    SC__TRY(take_torchtune_model(l, c, out));
    take_torchtune_adapters(l, c, out);
    take_torchtune_types(l, c, out);
    take_torchtune_optimizer(l, c, out);
    take_torchtune_sharding(l, c, out);
    take_torchtune_recomputation(l, c, out);
    take_torchtune_compiling(l, c, out);
    take_torchtune_loss(l, c, out);
    note_torchtune_length(l, c);
    return SC_OK;
}
