/* config_formats: whose configuration it is, and what its keys mean as flags.
 *
 * A key that stands in a table becomes its flag; one of a program that takes
 * Megatron's names with underscores (FlagScale, Primus, NeMo, Megatron-Bridge) the
 * flag of that name. Keys that say nothing about a step are passed over. */
#include "model/config.h"

#include <string.h>

#define OF(kind) (1u << SC__CONFIG_##kind)

/* words: NULL: the value itself; "": a switch, given where the value is true; else
 * "from=to" with blanks between, and "*" where other values pass as they are. */
static const struct config_key {
    unsigned kinds;
    const char *key;
    const char *flag;
    const char *words;
} config_keys[] = {
    {OF(NEOX), "pipe_parallel_size", "pipeline-model-parallel-size", "0=1 *"},
    {OF(NEOX), "model_parallel_size", "tensor-model-parallel-size", "0=1 *"},
    {OF(NEOX), "num_layers", "num-layers", NULL},
    {OF(NEOX), "hidden_size", "hidden-size", NULL},
    {OF(NEOX), "num_attention_heads", "num-attention-heads", NULL},
    {OF(NEOX), "num_kv_heads", "num-query-groups", NULL},
    {OF(NEOX), "intermediate_size", "ffn-hidden-size", NULL},
    {OF(NEOX), "seq_length", "seq-length", NULL},
    {OF(NEOX), "max_position_embeddings", "max-position-embeddings", NULL},
    {OF(NEOX), "make_vocab_size_divisible_by", "make-vocab-size-divisible-by", NULL},
    {OF(NEOX),
     "norm",
     "normalization",
     "layernorm=LayerNorm rmsnorm=RMSNorm te_rmsnorm=RMSNorm te_layernorm=LayerNorm"},
    {OF(NEOX),
     "pos_emb",
     "position-embedding-type",
     "rotary=rope learned=learned_absolute alibi=alibi none=none"},
    {OF(NEOX), "no_weight_tying", "untie-embeddings-and-output-weights", ""},
    {OF(NEOX), "activation", "swiglu", "swiglu= geglu= gelu=- relu=- silu=- *=-"},
    {OF(NEOX), "checkpoint_activations", "recompute", "true=full false=none"},
    {OF(NEOX) | OF(DEEPSPEED) | OF(TRAINER), "zero_optimization.stage", "zero", NULL},
    {OF(NEOX) | OF(DEEPSPEED) | OF(TRAINER), "fp16.enabled", "fp16", ""},
    {OF(NEOX) | OF(DEEPSPEED) | OF(TRAINER), "bf16.enabled", "bf16", ""},
    {OF(NEOX) | OF(DEEPSPEED), "train_micro_batch_size_per_gpu", "micro-batch", NULL},
    {OF(NEOX) | OF(DEEPSPEED) | OF(TRAINER),
     "gradient_accumulation_steps",
     "micro-batches",
     NULL},
    {OF(NEOX) | OF(DEEPSPEED), "train_batch_size", "global-batch", NULL},
    {OF(NEOX), "precision", "precision", "bfloat16=bf16 fp16=fp16 fp32=fp32"},
    {OF(DEEPSPEED), "tensor_parallel.autotp_size", "tp", "0=1 *"},
    {OF(DEEPSPEED), "pipeline.stages", "pp", "auto=- *"},

    {OF(TORCHTITAN), "training.seq_len", "seq", NULL},
    {OF(TORCHTITAN), "training.global_batch_size", "global-batch", "-1=- *"},
    {OF(TORCHTITAN), "parallelism.tensor_parallel_degree", "tp", NULL},
    {OF(TORCHTITAN), "parallelism.context_parallel_degree", "cp", NULL},
    {OF(TORCHTITAN), "parallelism.pipeline_parallel_degree", "pp", NULL},
    {OF(TORCHTITAN), "parallelism.expert_parallel_degree", "ep", NULL},
    {OF(TORCHTITAN), "parallelism.expert_tensor_parallel_degree", "etp", NULL},
    {OF(TORCHTITAN),
     "parallelism.pipeline_parallel_schedule",
     "schedule",
     "1F1B=1f1b GPipe=gpipe Interleaved1F1B=interleaved ZBVZeroBubble=zb-v"},
    {OF(TORCHTITAN),
     "activation_checkpoint.mode",
     "recompute",
     "none=none full=full selective=ops"},

    {OF(TRAINER), "base_model", "model", NULL},
    {OF(TRAINER), "model_name_or_path", "model", NULL},
    {OF(TRAINER), "micro_batch_size", "micro-batch", NULL},
    {OF(TRAINER), "per_device_train_batch_size", "micro-batch", NULL},
    {OF(TRAINER), "sequence_len", "seq", NULL},
    {OF(TRAINER), "cutoff_len", "seq", NULL},
    {OF(TRAINER), "max_seq_length", "seq", NULL},
    {OF(TRAINER), "model_max_length", "seq", NULL},
    {OF(TRAINER), "lora_target", "lora-targets", "all=- *"},
    {OF(TRAINER), "max_length", "seq", NULL},
    {OF(TRAINER), "gradient_checkpointing", "recompute", "true=full false=none *=full"},
    {OF(TRAINER), "bf16", "bf16", ""},
    {OF(TRAINER), "fp16", "fp16", ""},
    {OF(TRAINER), "lora_r", "lora", NULL},
    {OF(TRAINER), "lora_rank", "lora", NULL},
    {OF(TRAINER), "tensor_parallel_size", "tp", NULL},
    {OF(TRAINER), "context_parallel_size", "cp", NULL},
    {OF(TRAINER), "sequence_parallel_degree", "cp", NULL},

    {OF(MAXTEXT), "base_emb_dim", "hidden-size", NULL},
    {OF(MAXTEXT), "base_num_decoder_layers", "num-layers", NULL},
    {OF(MAXTEXT), "base_num_query_heads", "num-attention-heads", NULL},
    {OF(MAXTEXT), "base_num_kv_heads", "num-query-groups", NULL},
    {OF(MAXTEXT), "base_mlp_dim", "ffn-hidden-size", NULL},
    {OF(MAXTEXT), "head_dim", "kv-channels", NULL},
    {OF(MAXTEXT), "vocab_size", "vocab-size", NULL},
    {OF(MAXTEXT), "num_experts", "num-experts", "1=- *"},
    {OF(MAXTEXT), "num_experts_per_tok", "moe-router-topk", "1=- *"},
    {OF(MAXTEXT), "max_target_length", "seq-length", NULL},
    {OF(MAXTEXT), "ici_tensor_parallelism", "tp", NULL},
    {OF(MAXTEXT), "ici_pipeline_parallelism", "pp", NULL},
    {OF(MAXTEXT), "moe_mlp_dim", "moe-ffn-hidden-size", NULL},
    {OF(MAXTEXT), "base_moe_mlp_dim", "moe-ffn-hidden-size", NULL},
    {OF(MAXTEXT),
     "logits_via_embedding",
     "untie-embeddings-and-output-weights",
     "false= False= true=- True=-"},
    {OF(MAXTEXT), "remat_policy", "recompute", "full=full minimal=selective *=selective"},

    {OF(NANOTRON), "model_config.num_hidden_layers", "num-layers", NULL},
    {OF(NANOTRON), "model_config.hidden_size", "hidden-size", NULL},
    {OF(NANOTRON), "model_config.num_attention_heads", "num-attention-heads", NULL},
    {OF(NANOTRON), "model_config.num_key_value_heads", "num-query-groups", NULL},
    {OF(NANOTRON), "model_config.intermediate_size", "ffn-hidden-size", NULL},
    {OF(NANOTRON), "model_config.vocab_size", "vocab-size", NULL},
    {OF(NANOTRON),
     "model_config.tie_word_embeddings",
     "untie-embeddings-and-output-weights",
     "false= true=-"},
    {OF(NANOTRON), "tokens.sequence_length", "seq-length", NULL},
    {OF(NANOTRON), "tokens.micro_batch_size", "micro-batch", NULL},
    {OF(NANOTRON), "tokens.batch_accumulation_per_replica", "micro-batches", NULL},
    {OF(NANOTRON), "parallelism.dp", "dp", NULL},
    {OF(NANOTRON), "parallelism.tp", "tp", NULL},
    {OF(NANOTRON), "parallelism.pp", "pp", NULL},
    {OF(NANOTRON), "parallelism.context_parallel_size", "cp", NULL},
    {OF(NANOTRON), "parallelism.expert_parallel_size", "ep", "1=- *"},
    {OF(NANOTRON), "parallelism.pp_engine", "schedule", "1f1b=1f1b afab=gpipe"},
    {OF(NANOTRON),
     "parallelism.tp_mode",
     "sequence-parallel",
     "REDUCE_SCATTER= ALL_REDUCE=-"},
    {OF(NANOTRON), "parallelism.recompute_layer", "recompute", "true=full false=none"},
    {OF(NANOTRON), "optimizer.zero_stage", "zero", NULL},
    {OF(NANOTRON), "model.dtype", "precision", "bfloat16=bf16 float16=fp16 float32=fp32"},

    {OF(OLMO), "model.n_layers", "num-layers", NULL},
    {OF(OLMO), "model.d_model", "hidden-size", NULL},
    {OF(OLMO), "model.n_heads", "num-attention-heads", NULL},
    {OF(OLMO), "model.n_kv_heads", "num-query-groups", NULL},
    {OF(OLMO), "model.embedding_size", "padded-vocab-size", NULL},
    {OF(OLMO), "model.vocab_size", "vocab-size", NULL},
    {OF(OLMO), "model.mlp_hidden_size", "ffn-hidden-size", "*=-"}, /* take_olmo */
    {OF(OLMO), "model.max_sequence_length", "seq-length", NULL},
    {OF(OLMO),
     "model.weight_tying",
     "untie-embeddings-and-output-weights",
     "false= true=-"},
    {OF(OLMO), "global_train_batch_size", "global-batch", NULL},
    {OF(OLMO), "device_train_microbatch_size", "micro-batch", NULL},
    {OF(OLMO), "precision", "precision", "amp_bf16=bf16 amp_fp16=fp16 fp32=fp32"},
    {OF(OLMO),
     "activation_checkpointing",
     "recompute",
     "whole_layer=full one_in_two=selective fine_grained=selective"},

    {OF(NESTED), "activation", "swiglu", "swiglu= fast-swiglu= *=-"},
    {OF(NESTED), "bias", "disable-bias-linear", "false= true=-"},
    {OF(NESTED),
     "share_embeddings_and_output_weights",
     "untie-embeddings-and-output-weights",
     "false= true=-"},
    {OF(NESTED), "normalization", "normalization", "layernorm1p=LayerNorm *"},
    {OF(NESTED),
     "optim.name",
     "use-distributed-optimizer",
     "distributed_fused_adam= mcore_distributed_optim= *=-"},
    {OF(NESTED), "encoder_seq_length", "seq-length", NULL},
    {OF(NESTED), "virtual_pipeline_model_parallel_size", "vpp", NULL},
    {OF(NESTED), "gated_linear_unit", "swiglu", ""},
    {OF(NESTED), "add_bias_linear", "disable-bias-linear", "false= true=-"},
    {OF(NESTED), "num_moe_experts", "num-experts", NULL},
    {OF(NESTED),
     "num_layers_in_first_pipeline_stage",
     "decoder-first-pipeline-num-layers",
     NULL},
    {OF(NESTED),
     "num_layers_in_last_pipeline_stage",
     "decoder-last-pipeline-num-layers",
     NULL},
    {OF(NESTED), "fp8", "fp8-format", "hybrid=hybrid e4m3=e4m3 *=-"},
    {OF(NESTED), "activations_checkpoint_granularity", "recompute-granularity", NULL},
    {OF(NESTED), "activations_checkpoint_method", "recompute-method", NULL},
    {OF(NESTED), "activations_checkpoint_num_layers", "recompute-num-layers", NULL},
    {OF(NESTED),
     "precision",
     "precision",
     "bf16=bf16 bf16-mixed=bf16 16=fp16 16-mixed=fp16 32=fp32 fp8=fp8 *=-"},
};

static bool means_nothing(const char *v) {
    static const char *const words[] =
        {"", "auto", "null", "None", "none", "~", "default", NULL};
    for (const char *const *w = words; *w; w++)
        if (!strcmp(v, *w))
            return true;
    return false;
}

static bool is_true(const char *v) {
    return sc__str_is_any_case(sc__str(v), "true") || !strcmp(v, "1") ||
           sc__str_is_any_case(sc__str(v), "yes");
}

static void add_word(struct sc__launch *l, uint32_t *capacity, const char *word) {
    *SC__PUSH(&l->ctx->arena, l->words, l->count, *capacity) = word;
}

struct config_taking {
    struct sc__launch *l;
    const struct sc__config *c;
    enum sc__config_kind kind;
    uint32_t capacity;
};

static void add_flag(struct config_taking *t, const char *flag, const char *value) {
    add_word(t->l, &t->capacity, sc__format(&t->l->ctx->arena, "--%s", flag));
    if (value && *value)
        add_word(t->l, &t->capacity, value);
}

/* What "from=to" words make of a value: NULL: none of them; "-": nothing. */
static const char *mapped(struct sc__arena *arena, const char *words, const char *value) {
    struct sc__str rest = sc__str(words);
    struct sc__str word;
    while (sc__split(&rest, ' ', &word)) {
        struct sc__str to = word;
        struct sc__str from;
        if (sc__str_is(word, "*"))
            return value;
        sc__split(&to, '=', &from);
        if (sc__str_is(from, "*") || sc__str_is_any_case(from, value))
            return to.p ? sc__strndup(arena, to.p, to.n) : "";
    }
    return NULL;
}

static sc_status take_key(struct config_taking *t,
                          const struct config_key *k,
                          const struct sc__config_item *item) {
    struct sc__arena *arena = &t->l->ctx->arena;
    const char *value = item->value;
    if (!k->words) {
        double number;
        /* 1.0 for 1, as YAML of Python has it */
        size_t n = strlen(value);
        if (n > 2 && !strcmp(value + n - 2, ".0") &&
            sc__parse_double(sc__str(value), &number))
            value = sc__strndup(arena, value, n - 2);
        if (!means_nothing(value))
            add_flag(t, k->flag, value);
        return SC_OK;
    }
    if (!*k->words) {
        if (is_true(value))
            add_flag(t, k->flag, NULL);
        return SC_OK;
    }
    const char *to = means_nothing(value) && !strstr(k->words, "none=")
                         ? "-"
                         : mapped(arena, k->words, value);
    if (!to)
        return sc__launch_fail(t->l,
                               item->line,
                               sc__format(arena, "of these we know: %s", k->words),
                               "%s: unknown '%.60s'",
                               item->key,
                               value);
    if (strcmp(to, "-"))
        add_flag(t, k->flag, to);
    return SC_OK;
}

static bool key_is(const struct sc__config_item *item, const char *key) {
    struct sc__str whole = sc__str(item->key);
    size_t n = strlen(key);
    char plain[128];
    size_t i = 0;
    /* GPT-NeoX takes dashes as well */
    for (; item->key[i] && i + 1 < sizeof plain; i++)
        plain[i] = item->key[i] == '-' ? '_' : item->key[i];
    plain[i] = 0;
    whole.p = plain;
    whole.n = i;
    return sc__str_is(whole, key) ||
           (sc__str_ends(whole, key) && whole.n > n && whole.p[whole.n - n - 1] == '.');
}

static const char *dashed(struct sc__arena *arena, const char *key) {
    char *name = sc__strdup(arena, key);
    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = '-';
    return name;
}

/* A key that is a flag of Megatron's with underscores for dashes. */
static void take_megatron_name(struct config_taking *t,
                               const struct sc__config_item *item) {
    const char *name = dashed(&t->l->ctx->arena, item->last);
    const struct sc__option *o = sc__option_find(t->l->known, name);
    if (!o || !strcmp(name, "model") || !strcmp(name, "optimizer") ||
        !strcmp(name, "precision") || !strcmp(name, "gpu"))
        return;
    bool off = !strcmp(item->value, "false") || !strcmp(item->value, "False");
    if (!o->arg && is_true(item->value))
        add_flag(t, name, NULL);
    else if (o->arg && !off && !means_nothing(item->value))
        add_flag(t, name, item->value);
}

/* "${NAME}" is a variable that --set gives. */
static const char *put_variables(struct config_taking *t, const char *value) {
    struct sc__launch *l = t->l;
    struct sc__buffer b;
    sc__buffer_init(&b, &l->ctx->arena);
    while (*value) {
        const char *end = value[0] == '$' && value[1] == '{' ? strchr(value, '}') : NULL;
        if (!end) {
            sc__putc(&b, *value++);
            continue;
        }
        struct sc__str name = {value + 2, (size_t)(end - value) - 2};
        const char *given = NULL;
        for (size_t i = 0; i < l->pinned.count; i++)
            if (sc__str_is(name, l->pinned.items[i].name))
                given = l->pinned.items[i].value;
        sc__puts(&b, given ? given : "");
        value = end + 1;
    }
    return b.text ? b.text : "";
}

/* --num-layers: 61, as Megatron's own tests write them */
static void take_flag_key(struct config_taking *t, const struct sc__config_item *item) {
    const char *value = put_variables(t, item->value);
    if (!strcmp(value, "false"))
        return;
    add_word(t->l, &t->capacity, item->last);
    if (strcmp(value, "true"))
        add_word(t->l, &t->capacity, value);
}

/* A size of the model that would be passed over: that of another one would be told. */
static sc_status refuse_shape(const struct config_taking *t,
                              const struct sc__config_item *item) {
    const char *name = dashed(&t->l->ctx->arena, item->last);
    struct sc__flag as;
    const char *why;
    uint32_t number = 0;
    if (!sc__parse_u32(sc__str(item->value), &number) || !number ||
        sc__flag_kind(t->l->known, name, &as, &why) != SC__FLAG_REFUSED)
        return SC_OK;
    return sc__launch_fail(t->l,
                           item->line,
                           "take the key out to forecast the model without it",
                           "%.60s: %s",
                           item->key,
                           why);
}

static sc_status take_item(struct config_taking *t, const struct sc__config_item *item) {
    if (t->kind == SC__CONFIG_MEGATRON) {
        if (!strncmp(item->last, "--", 2))
            take_flag_key(t, item);
        return SC_OK;
    }
    for (size_t i = 0; i < sizeof config_keys / sizeof *config_keys; i++)
        if (config_keys[i].kinds & (1u << t->kind) && key_is(item, config_keys[i].key))
            return take_key(t, &config_keys[i], item);
    if (t->kind == SC__CONFIG_NESTED)
        take_megatron_name(t, item);
    bool describes_model = t->kind == SC__CONFIG_NESTED || t->kind == SC__CONFIG_NEOX ||
                           t->kind == SC__CONFIG_MAXTEXT || t->kind == SC__CONFIG_OLMO ||
                           t->kind == SC__CONFIG_NANOTRON;
    return describes_model ? refuse_shape(t, item) : SC_OK;
}

/* ---- what several keys say together ---- */

static uint32_t config_number(const struct sc__config *c, const char *key, uint32_t usual) {
    const char *value = sc__config_value(c, key);
    uint32_t n = usual;
    if (value)
        sc__parse_u32(sc__str(value), &n);
    return n;
}

static sc_status take_torchtitan(struct config_taking *t) {
    const struct sc__config *c = t->c;
    struct sc__arena *arena = &t->l->ctx->arena;
    const char *name = sc__config_value(c, "model.name");
    const char *flavor = sc__config_value(c, "model.flavor");
    uint32_t batch = config_number(c, "training.local_batch_size", 0);
    uint32_t stages = config_number(c, "parallelism.pipeline_parallel_degree", 1);
    uint32_t piece = config_number(c, "parallelism.pipeline_parallel_microbatch_size", 1);
    if (!batch)
        batch = config_number(c, "training.batch_size", 1);
    if (stages > 1 && piece && batch % piece == 0)
        add_flag(t, "micro-batches", sc__format(arena, "%u", batch / piece));
    add_flag(t, "micro-batch", sc__format(arena, "%u", stages > 1 ? piece : batch));
    const char *shard = sc__config_value(c, "parallelism.data_parallel_shard_degree");
    if (!shard || strcmp(shard, "1"))
        add_flag(t, "use-torch-fsdp2", NULL);
    /* its plan of tensor parallel has the norms on parts of the sequence, always
     * (parallelize_llama, apply_tp) */
    if (config_number(c, "parallelism.tensor_parallel_degree", 1) > 1)
        add_flag(t, "sequence-parallel", NULL);
    const char *converters = sc__config_value(c, "model.converters");
    if (converters && strstr(converters, "float8"))
        add_flag(t, "fp8", NULL);
    const char *replicas =
        sc__config_value(c, "parallelism.data_parallel_replicate_degree");
    uint32_t shards = config_number(c, "parallelism.data_parallel_shard_degree", 0);
    if (shards) {
        uint64_t dp =
            (uint64_t)shards *
            (replicas ? config_number(c, "parallelism.data_parallel_replicate_degree", 1)
                      : 1);
        add_flag(t, "dp", sc__format(arena, "%llu", (unsigned long long)dp));
    }
    if (replicas && strcmp(replicas, "1"))
        sc__note(t->l->ctx,
                 "config-not-modelled",
                 "%s: weights are sharded over all replicas, not within "
                 "data_parallel_replicate_degree %s",
                 t->l->file,
                 replicas);
    if (!name || sc__launch_overridden(t->l, "model"))
        return SC_OK;
    const char *preset = sc__format(arena, "%s-%s", name, flavor ? flavor : "");
    if (!flavor || !sc__model_preset(arena, preset))
        preset = name;
    if (!sc__model_preset(arena, preset))
        return sc__launch_fail(t->l,
                               0,
                               "name the model with --model (stepcast list models)",
                               "the model %s %s is not known",
                               name,
                               flavor ? flavor : "");
    add_flag(t, "model", preset);
    return SC_OK;
}

/* ZeRO by the name of DeepSpeed's file, or FSDP; kernels as transformers runs them. */
static sc_status take_trainer(struct config_taking *t) {
    const struct sc__config *c = t->c;
    const char *deepspeed = sc__config_value(c, "deepspeed");
    const char *tuning = sc__config_value(c, "finetuning_type");
    const char *adapter = sc__config_value(c, "adapter");
    static const char *const stages[] =
        {"zero1", "zero2", "zero3", "z0", "z2", "z3", "stage2", "stage3", "stage1", NULL};
    for (const char *const *s = stages; deepspeed && *s; s++)
        if (strstr(deepspeed, *s))
            add_flag(t, "zero", *s + strlen(*s) - 1);
    if (sc__config_value(c, "fsdp") || sc__config_value(c, "fsdp.0") ||
        sc__config_value(c, "fsdp_config"))
        add_flag(t, "use-torch-fsdp2", NULL);
    if (adapter && !strcmp(adapter, "qlora"))
        add_flag(t, "qlora", NULL);
    if (tuning && !strcmp(tuning, "freeze"))
        return sc__launch_fail(t->l,
                               0,
                               "finetuning_type full and lora can be forecast",
                               "training with frozen layers is not modelled");
    bool no_rank = !sc__config_value(c, "lora_r") && !sc__config_value(c, "lora_rank");
    bool lora = (tuning && !strcmp(tuning, "lora")) || (adapter && strstr(adapter, "lora"));
    if (lora && no_rank)
        add_flag(t, "lora", "8"); /* what peft takes */
    return SC_OK;
}

/* The preset that a name in a configuration means, without the ending of a file. */
static sc_status take_preset(struct config_taking *t, const char *name) {
    struct sc__str plain = sc__str(name);
    if (sc__str_ends(plain, ".yaml"))
        plain.n -= strlen(".yaml");
    const char *model = sc__strndup(&t->l->ctx->arena, plain.p, plain.n);
    if (sc__launch_overridden(t->l, "model"))
        return SC_OK;
    if (!sc__model_preset(&t->l->ctx->arena, model))
        return sc__launch_fail(t->l,
                               0,
                               "name the model with --model (stepcast list models)",
                               "the model %.60s is not known",
                               name);
    add_flag(t, "model", model);
    return SC_OK;
}

static void take_maxtext_model(struct config_taking *t) {
    add_flag(t, "disable-bias-linear", NULL);
    add_flag(t, "normalization", "RMSNorm");
    add_flag(t, "position-embedding-type", "rope");
    if (sc__config_value(t->c, "mlp_activations.1"))
        add_flag(t, "swiglu", NULL);
}

static sc_status take_maxtext(struct config_taking *t) {
    const char *batch = sc__config_value(t->c, "per_device_batch_size");
    const char *name = sc__config_value(t->c, "model_name");
    uint32_t whole;
    double number;
    if (name && !means_nothing(name))
        SC__TRY(take_preset(t, name));
    else
        take_maxtext_model(t);
    if (batch && sc__parse_double(sc__str(batch), &number) && number >= 1) {
        whole = (uint32_t)number;
        add_flag(t, "micro-batch", sc__format(&t->l->ctx->arena, "%u", whole));
    }
    add_flag(t, "zero", "3");
    return SC_OK;
}

/* Nanotron's models are Llamas; OLMo's as well, with sizes that count both halves of a
 * gated feed-forward, and sharded by FSDP where a section says so. */
static void take_llama(struct config_taking *t) {
    add_flag(t, "disable-bias-linear", NULL);
    add_flag(t, "normalization", "RMSNorm");
    add_flag(t, "position-embedding-type", "rope");
    add_flag(t, "swiglu", NULL);
}

static sc_status take_olmo(struct config_taking *t) {
    const char *activation = sc__config_value(t->c, "model.activation_type");
    uint32_t hidden = config_number(t->c, "model.d_model", 0);
    uint32_t ratio = config_number(t->c, "model.mlp_ratio", 4);
    uint32_t both = config_number(t->c, "model.mlp_hidden_size", 0);
    if (activation && strcmp(activation, "swiglu") != 0)
        return sc__launch_fail(t->l,
                               0,
                               NULL,
                               "model.activation_type: '%.60s' is not modelled",
                               activation);
    if (!both && hidden && ratio <= 1u << 10)
        both = hidden * ratio;
    take_llama(t);
    add_flag(t, "ffn-hidden-size", sc__format(&t->l->ctx->arena, "%u", both / 2));
    if (sc__config_value(t->c, "fsdp.wrapping_strategy") ||
        sc__config_value(t->c, "fsdp.precision"))
        add_flag(t, "use-torch-fsdp2", NULL);
    return SC_OK;
}

/* Primus names a file of its own for the model. */
static sc_status take_primus(struct config_taking *t) {
    const char *model = sc__config_value(t->c, "pre_trainer.model");
    return model ? take_preset(t, model) : SC_OK;
}

static void take_nodes(struct config_taking *t) {
    uint32_t nodes = config_number(t->c, "num_nodes", 0);
    uint32_t local = config_number(t->c, "devices", 0);
    if (!local)
        local = config_number(t->c, "num_gpus_per_node", 0);
    if (!local)
        local = config_number(t->c, "nproc_per_node", 0);
    if (!nodes)
        nodes = config_number(t->c, "nnodes", 0);
    if (nodes && local && (uint64_t)nodes * local <= UINT32_MAX)
        add_flag(t, "gpus", sc__format(&t->l->ctx->arena, "%u", nodes * local));
}

/* A list in YAML, as words behind one flag. */
static void take_modules(struct config_taking *t) {
    bool any = false;
    for (uint32_t i = 0; i < t->c->count; i++) {
        const char *list = strstr(t->c->items[i].key, "recompute_modules.");
        if (!list)
            continue;
        if (!any)
            add_flag(t, "recompute-modules", NULL);
        any = true;
        add_word(t->l, &t->capacity, t->c->items[i].value);
    }
}

/* ---- whose it is ---- */

static bool has_key(const struct sc__config *c, const char *key) {
    for (uint32_t i = 0; i < c->count; i++)
        if (key_is(&c->items[i], key))
            return true;
    return false;
}

static enum sc__config_kind kind_of(const struct sc__config *c) {
    for (uint32_t i = 0; i < c->count; i++)
        if (!strncmp(c->items[i].last, "--", 2))
            return SC__CONFIG_MEGATRON;
    if (has_key(c, "model.flavor") || has_key(c, "training.seq_len"))
        return SC__CONFIG_TORCHTITAN;
    if (has_key(c, "base_emb_dim") || has_key(c, "base_num_decoder_layers") ||
        (has_key(c, "model_name") &&
         (has_key(c, "per_device_batch_size") || has_key(c, "max_target_length"))))
        return SC__CONFIG_MAXTEXT;
    bool neox = has_key(c, "pipe_parallel_size") ||
                (has_key(c, "num_layers") && has_key(c, "train_micro_batch_size_per_gpu"));
    if (neox)
        return SC__CONFIG_NEOX;
    if (has_key(c, "base_model") || has_key(c, "model_name_or_path") ||
        has_key(c, "per_device_train_batch_size"))
        return SC__CONFIG_TRAINER;
    if (has_key(c, "model_config.is_llama_config") ||
        (has_key(c, "tokens.sequence_length") && has_key(c, "parallelism.tp")))
        return SC__CONFIG_NANOTRON;
    if (has_key(c, "model.d_model") && has_key(c, "global_train_batch_size"))
        return SC__CONFIG_OLMO;
    if (has_key(c, "tensor_model_parallel_size") ||
        (has_key(c, "num_layers") && has_key(c, "hidden_size")))
        return SC__CONFIG_NESTED;
    if (has_key(c, "zero_optimization.stage") || has_key(c, "train_batch_size") ||
        has_key(c, "train_micro_batch_size_per_gpu"))
        return SC__CONFIG_DEEPSPEED;
    return SC__CONFIG_NONE;
}

static bool looks_like_toml(const struct sc__launch *l) {
    return sc__str_ends(sc__str(l->file), ".toml");
}

static bool looks_like_yaml(const struct sc__launch *l) {
    struct sc__str name = sc__str(l->file);
    struct sc__str text = l->text;
    struct sc__str line;
    if (sc__str_ends(name, ".yaml") || sc__str_ends(name, ".yml") ||
        sc__str_ends(name, ".json"))
        return true;
    while (sc__split(&text, '\n', &line)) {
        line = sc__trim(line);
        if (line.n && line.p[0] != '#')
            return line.p[0] == '{' && line.n == 1;
    }
    return false;
}

/* By kind: its name, and the profile of data/software that it runs with. */
static const struct {
    const char *name;
    const char *software;
} programs[] = {{"", NULL},
                {"flags of Megatron in YAML", NULL},
                {"GPT-NeoX", "megatron-deepspeed-2022"},
                {"DeepSpeed", "deepspeed"},
                {"torchtitan", "torchtitan-2026"},
                {"a trainer of Hugging Face", "hf-transformers"},
                {"MaxText", "maxtext"},
                {"Megatron's arguments, nested", NULL},
                {"Nanotron", NULL},
                {"OLMo", NULL}};

sc_status sc__config_words(struct sc__launch *l, enum sc__config_kind *kind) {
    struct sc__config *c = SC__NEW(&l->ctx->arena, struct sc__config);
    *kind = SC__CONFIG_NONE;
    if (looks_like_toml(l))
        SC__TRY(sc__config_read_toml(l->ctx, l->file, l->text, c));
    else if (looks_like_yaml(l))
        SC__TRY(sc__config_read_yaml(l->ctx, l->file, l->text, c));
    else
        return SC_OK;
    sc__config_interpolate(l->ctx, c);
    struct config_taking t = {.l = l, .c = c, .kind = kind_of(c)};
    if (!t.kind)
        return sc__launch_fail(
            l,
            0,
            "Megatron, GPT-NeoX, DeepSpeed, torchtitan, Axolotl, "
            "LLaMA-Factory, FlagScale, Primus, NeMo, MaxText, "
            "Nanotron and OLMo are known; a config.json of Hugging Face goes to --model",
            "no configuration that we know");
    *kind = t.kind;
    sc__note(l->ctx,
             "config-kind",
             "%s is read as a configuration of %s",
             l->file,
             programs[t.kind].name);
    if (programs[t.kind].software)
        add_flag(&t, "software", programs[t.kind].software);
    for (uint32_t i = 0; i < c->count; i++)
        SC__TRY(take_item(&t, &c->items[i]));
    if (t.kind == SC__CONFIG_TORCHTITAN)
        SC__TRY(take_torchtitan(&t));
    if (t.kind == SC__CONFIG_TRAINER)
        SC__TRY(take_trainer(&t));
    if (t.kind == SC__CONFIG_MAXTEXT)
        SC__TRY(take_maxtext(&t));
    if (t.kind == SC__CONFIG_NANOTRON)
        take_llama(&t);
    if (t.kind == SC__CONFIG_OLMO)
        SC__TRY(take_olmo(&t));
    if (t.kind == SC__CONFIG_NESTED) {
        SC__TRY(take_primus(&t));
        take_nodes(&t);
        take_modules(&t);
    }
    l->other_program = t.kind != SC__CONFIG_MEGATRON && t.kind != SC__CONFIG_NESTED;
    return SC_OK;
}

/* The arguments of a command as keys; one without a value is true. */
static void words_as_keys(const struct sc__launch *l, struct sc__config *c) {
    struct sc__arena *arena = &l->ctx->arena;
    for (uint32_t i = 0; i < l->count; i++) {
        const char *word = l->words[i];
        const char *equals = strchr(word, '=');
        if (!sc__is_flag(word))
            continue;
        const char *name =
            sc__strndup(arena,
                        word + 2,
                        equals ? (size_t)(equals - word) - 2 : strlen(word) - 2);
        bool behind = !equals && i + 1 < l->count && !sc__is_flag(l->words[i + 1]);
        const char *value = equals ? equals + 1 : behind ? l->words[i + 1] : "true";
        *SC__PUSH(arena, c->items, c->count, c->capacity) =
            (struct sc__config_item){.key = name,
                                     .last = name,
                                     .value = value,
                                     .line = l->line};
    }
}

sc_status sc__config_trainer_script(struct sc__launch *l) {
    struct sc__config c = {0};
    words_as_keys(l, &c);
    if (!has_key(&c, "model_name_or_path") && !has_key(&c, "per_device_train_batch_size"))
        return SC_OK;
    struct config_taking t = {.l = l, .c = &c, .kind = SC__CONFIG_TRAINER};
    uint32_t world = sc__launch_world(l->words, l->count);
    l->words = NULL;
    l->count = 0;
    l->other_program = true;
    add_flag(&t, "software", programs[t.kind].software);
    if (world)
        add_flag(&t, "gpus", sc__format(&l->ctx->arena, "%u", world));
    for (uint32_t i = 0; i < c.count; i++)
        SC__TRY(take_item(&t, &c.items[i]));
    return take_trainer(&t);
}
