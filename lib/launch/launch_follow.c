/* launch_follow: what follows from several flags of a launch together: what is
 * sharded, what kernels run, the number of GPUs. */
#include "launch/config.h"

#include "base/number.h"

#include <inttypes.h>
#include <string.h>

const char *sc__launch_lora_targets(const struct sc__launch *l, const char *names) {
    static const char *const modules[][2] = {{"all-linear", "all"}, /* peft's word */
                                             {"linear_qkv", "q_proj,k_proj,v_proj"},
                                             {"attention_qkv", "q_proj,k_proj,v_proj"},
                                             {"query_key_value", "q_proj,k_proj,v_proj"},
                                             {"qkv_proj", "q_proj,k_proj,v_proj"},
                                             {"c_attn", "q_proj,k_proj,v_proj"},
                                             {"linear_proj", "o_proj"},
                                             {"attention_dense", "o_proj"},
                                             {"dense", "o_proj"},
                                             {"linear_fc1", "gate_proj,up_proj"},
                                             {"mlp_fc1", "gate_proj,up_proj"},
                                             {"gate_up_proj", "gate_proj,up_proj"},
                                             {"dense_h_to_4h", "gate_proj,up_proj"},
                                             {"fc1", "up_proj"},
                                             {"linear_fc2", "down_proj"},
                                             {"mlp_fc2", "down_proj"},
                                             {"dense_4h_to_h", "down_proj"},
                                             {"fc2", "down_proj"}};
    struct sc__str rest = sc__str(names);
    struct sc__str part;
    struct sc__buffer b;
    sc__buffer_init(&b, &l->ctx->arena);
    while (sc__split(&rest, strchr(names, ' ') ? ' ' : ',', &part)) {
        const char *name = sc__strndup(&l->ctx->arena, part.p, part.n);
        for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
            if (sc__str_is(part, modules[i][0]))
                name = modules[i][1];
        if (part.n)
            sc__printf(&b, "%s%s", b.size ? "," : "", name);
    }
    return b.text ? b.text : "";
}

/* --data-parallel-sharding-strategy of Megatron-FSDP, as --zero. */
sc_status sc__launch_sharding(struct sc__launch *l) {
    static const char *const strategies[] = {"no_shard",
                                             "optim",
                                             "optim_grads",
                                             "optim_grads_params",
                                             NULL};
    const char *given = sc__launch_nth(l, "data-parallel-sharding-strategy", 0);
    if (!given || !sc__launch_nth(l, "use-megatron-fsdp", 0) ||
        sc__launch_overridden(l, "zero"))
        return SC_OK;
    for (unsigned i = 0; strategies[i]; i++)
        if (!strcmp(given, strategies[i])) {
            sc__launch_add(l, "zero", sc__format(&l->ctx->arena, "%u", i));
            return SC_OK;
        }
    return sc__launch_fail(l,
                           l->line,
                           "no_shard, optim, optim_grads or optim_grads_params",
                           "--data-parallel-sharding-strategy: unknown '%s'",
                           given);
}

/* The number behind "stage" of zero_optimization in a file that the script writes: a
 * literal one; UINT32_MAX: there is none, or several. */
static uint32_t stage_in_text(struct sc__str text) {
    static const char word[] = "\"stage\"";
    uint32_t stage = UINT32_MAX;
    uint32_t found = 0;
    for (size_t i = 0; i + sizeof word < text.n; i++) {
        if (memcmp(text.p + i, word, sizeof word - 1) != 0)
            continue;
        const char *p = text.p + i + sizeof word - 1;
        const char *end = text.p + text.n;
        while (p < end && *p && strchr(" \t\r\n:", *p))
            p++;
        found++;
        stage = p < end && *p >= '0' && *p <= '3' ? (uint32_t)(*p - '0') : UINT32_MAX;
    }
    return found == 1 ? stage : UINT32_MAX;
}

static void drop_flag(struct sc__launch *l, const char *name) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->flags.count; i++)
        if (strcmp(l->flags.items[i].name, name) != 0)
            l->flags.items[kept++] = l->flags.items[i];
    l->flags.count = kept;
}

static bool has_word(const struct sc__launch *l, const char *word) {
    for (uint32_t i = 0; i < l->count; i++)
        if (!strcmp(l->words[i], word))
            return true;
    return false;
}

/* Experts of Megatron-DeepSpeed: 1 is none, in every second layer, one a token, unless
 * --expert-interval and --topk say otherwise. */
static void take_deepspeed_experts(struct sc__launch *l) {
    const char *experts = sc__launch_nth(l, "num-experts", 0);
    const char *interval = sc__launch_word_behind(l, "expert-interval");
    const char *each = sc__launch_word_behind(l, "topk");
    if (!experts || !sc__launch_switched(l, "deepspeed") ||
        sc__launch_overridden(l, "num-experts"))
        return;
    if (!strcmp(experts, "1")) {
        drop_flag(l, "num-experts");
        drop_flag(l, "expert-model-parallel-size");
        return;
    }
    if (!sc__launch_nth(l, "moe-layer-freq", 0))
        sc__launch_add(l, "moe-layer-freq", interval ? interval : "2");
    if (!sc__launch_nth(l, "moe-router-topk", 0))
        sc__launch_add(l, "moe-router-topk", each ? each : "1");
    sc__note(
        l->ctx,
        "deepspeed-experts",
        "%s: experts in each layer of %s, %s a token, as Megatron-DeepSpeed takes them "
        "(--moe-layer-freq, --moe-router-topk)",
        l->file,
        sc__launch_nth(l, "moe-layer-freq", 0),
        sc__launch_nth(l, "moe-router-topk", 0));
}

/* DeepSeek-V2 of Pai-Megatron-Patch: attention is latent without a switch, and
 * --moe-layer-freq is how many layers, the first, have no experts (deepseek_v2/
 * transformer_layer.py: layer_number > moe_layer_freq). */
sc_status sc__launch_pai(struct sc__launch *l) {
    const char *dense = sc__launch_nth(l, "moe-layer-freq", 0);
    uint32_t layers = 0;
    if (!sc__launch_switched(l, "enable-shared-expert") ||
        !sc__launch_nth(l, "kv-lora-rank", 0) ||
        sc__launch_nth(l, "multi-latent-attention", 0))
        return SC_OK;
    sc__launch_add(l, "multi-latent-attention", "");
    if (dense && !sc__parse_u32(sc__str(dense), &layers))
        return sc__launch_fail(l,
                               l->line,
                               "it is a number of layers there",
                               "--moe-layer-freq %.60s beside --enable-shared-expert",
                               dense);
    drop_flag(l, "moe-layer-freq");
    if (!layers)
        return SC_OK;
    sc__launch_add(l, "first-k-dense-replace", dense);
    sc__note(l->ctx,
             "megatron-pai",
             "%s: --moe-layer-freq %u of Pai-Megatron-Patch's DeepSeek-V2 is the number of "
             "layers without experts, the first (--first-k-dense-replace)",
             l->file,
             layers);
    return SC_OK;
}

uint32_t sc__launch_number(const struct sc__launch *l, const char *name, const char *own) {
    struct sc__settings s = {.nth = sc__launch_nth, .self = l, .ctx = l->ctx};
    uint32_t n = 1;
    const char *text = sc__setting(&s, own);
    if (!text)
        text = sc__setting(&s, name);
    if (text)
        sc__parse_u32(sc__str(text), &n);
    return n ? n : 1;
}

/* MindSpeed's and FlagScale's name of a schedule that we have. */
void sc__launch_schedule(struct sc__launch *l) {
    const char *method = sc__launch_word_behind(l, "schedules-method");
    bool stages = sc__launch_number(l, "pipeline-model-parallel-size", "pp") > 1;
    if (!method || !stages || sc__launch_overridden(l, "schedule") ||
        sc__launch_nth(l, "schedule", 0))
        return;
    if (!strcmp(method, "dualpipev"))
        sc__launch_add(l, "schedule", method);
    else
        sc__note(l->ctx,
                 "megatron-flags-not-modelled",
                 "%s: --schedules-method %.60s changes the step and is not modelled",
                 l->file,
                 method);
}

/* --moe-tp-extend-ep: the ranks of tensor parallel hold experts of their own, and no part
 * of each (the groups of EP and TP together, moe/layers.py of MindSpeed). */
static void take_extended_experts(struct sc__launch *l) {
    uint32_t tp = sc__launch_number(l, "tensor-model-parallel-size", "tp");
    uint64_t ep = sc__launch_number(l, "expert-model-parallel-size", "ep");
    if (!sc__launch_switched(l, "moe-tp-extend-ep") || tp < 2 ||
        sc__launch_overridden(l, "expert-tensor-parallel-size"))
        return;
    if (!sc__launch_overridden(l, "expert-model-parallel-size"))
        sc__launch_add(l,
                       "expert-model-parallel-size",
                       sc__format(&l->ctx->arena, "%" PRIu64, ep * tp));
    sc__launch_add(l, "expert-tensor-parallel-size", "1");
}

/* MindSpeed's words for context parallelism that we have, and a frequency of -1, of which
 * each layer is a multiple (get_moe_layer_pattern). */
void sc__launch_mindspeed(struct sc__launch *l) {
    static const struct sc__flag kinds[] = {{"ulysses_cp_algo", "a2a"},
                                            {"megatron_cp_algo", "p2p"},
                                            {"kvallgather_cp_algo", "all_gather"}};
    const char *frequency = sc__launch_nth(l, "moe-layer-freq", 0);
    const char *kind = sc__launch_word_behind(l, "context-parallel-algo");
    bool parallel = sc__launch_number(l, "context-parallel-size", "cp") > 1;
    if (frequency && !strcmp(frequency, "-1"))
        sc__launch_add(l, "moe-layer-freq", "1");
    take_extended_experts(l);
    if (!kind || !parallel || sc__launch_overridden(l, "cp-comm-type"))
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kind, kinds[i].name)) {
            sc__launch_add(l, "cp-comm-type", kinds[i].value);
            return;
        }
    sc__note(l->ctx,
             "megatron-flags-not-modelled",
             "%s: --context-parallel-algo %.60s changes the step and is not modelled",
             l->file,
             kind);
}

/* FlagScale's size of the feed-forward: 8/3 of the hidden size, times a factor, up to the
 * next multiple. */
sc_status sc__launch_feed_forward(struct sc__launch *l) {
    const char *multiple = sc__launch_word_behind(l, "multiple-of");
    const char *factor = sc__launch_word_behind(l, "hidden-dim-multiplier");
    const char *hidden = sc__launch_nth(l, "hidden-size", 0);
    uint32_t of = 0;
    uint32_t size = 0;
    double times = 1;
    if (!multiple || !hidden || sc__launch_nth(l, "ffn-hidden-size", 0))
        return SC_OK;
    if (!sc__parse_u32(sc__str(multiple), &of) || !of || of > 1u << 24 ||
        !sc__parse_u32(sc__str(hidden), &size) || size > 1u << 24 ||
        (factor &&
         (!sc__parse_double(sc__str(factor), &times) || times <= 0 || times > 64)))
        return sc__launch_fail(l,
                               0,
                               "give --ffn-hidden-size",
                               "--multiple-of %.40s and --hidden-dim-multiplier %.40s are "
                               "no sizes",
                               multiple,
                               factor ? factor : "1");
    uint64_t wide = (uint64_t)((double)((uint64_t)size * 8 / 3) * times);
    sc__launch_add(l,
                   "ffn-hidden-size",
                   sc__format(&l->ctx->arena,
                              "%llu",
                              (unsigned long long)((wide + of - 1) / of * of)));
    return SC_OK;
}

static const char *variable(const struct sc__launch *l, const char *name) {
    for (uint32_t i = 0; i < l->shell.variable_count; i++) {
        const struct sc__shell_variable *v = &l->shell.variables[i];
        if (v->set && v->count && !strcmp(v->name, name))
            return v->items[0];
    }
    return NULL;
}

/* Megatron-DeepSpeed's own switch; its runs of 2022 wait for each kernel where
 * CUDA_LAUNCH_BLOCKING is set. */
static void take_megatron_deepspeed(struct sc__launch *l) {
    const char *blocking = variable(l, "CUDA_LAUNCH_BLOCKING");
    const char *software = blocking && !strcmp(blocking, "1")
                               ? "megatron-deepspeed-2022-blocking"
                               : "megatron-deepspeed-2022";
    if (l->other_program || !sc__launch_switched(l, "deepspeed") ||
        sc__launch_overridden(l, "software"))
        return;
    sc__launch_add(l, "software", software);
    sc__note(l->ctx,
             "megatron-deepspeed",
             "%s: --deepspeed is Megatron-DeepSpeed's: --software %s is taken",
             l->file,
             software);
}

static void add_unless_given(struct sc__launch *l, const char *name, const char *value) {
    if (!sc__launch_overridden(l, name))
        sc__launch_add(l, name, value);
}

/* DeepSpeed's optimizer of bf16 keeps each rank's share of main weights and moments, and
 * gathers weights, at stage 0 as well, which it is where a file is silent (BF16_Optimizer
 * of runtime/bf16_optimizer.py). There, and not from stage 1 on, gradients add up in fp32
 * unless their type is said (get_data_types of runtime/engine.py); they are reduced in the
 * type of the model all the same (allreduce_bucket, communication_data_type). */
void sc__launch_bf16_stage(struct sc__launch *l, bool deepspeed) {
    const char *stage = sc__launch_nth(l, "zero", 0);
    const char *type = sc__launch_nth(l, "dtype", 0);
    const char *software = sc__launch_nth(l, "software", 0);
    bool runs =
        deepspeed || sc__launch_switched(l, "deepspeed") ||
        (software && (!strcmp(software, "deepspeed") || !strcmp(software, "gpt-neox")));
    bool narrow = sc__launch_nth(l, "bf16", 0) || (type && !strcmp(type, "bf16"));
    bool trainer = l->other_program && software && !strcmp(software, "deepspeed");
    bool first = stage ? !strcmp(stage, "0") : deepspeed || trainer;
    if (!runs || !narrow || !first || l->whole_stage_0 || sc__launch_overridden(l, "zero"))
        return;
    drop_flag(l, "zero");
    sc__launch_add(l, "zero", "1");
    if (!sc__launch_nth(l, "grad-accum-dtype", 0))
        add_unless_given(l, "grad-accum-dtype", "fp32");
    sc__note(
        l->ctx,
        "deepspeed-bf16",
        "%s: ZeRO 0 in bf16 is counted as ZeRO 1: DeepSpeed's optimizer of bf16 shards "
        "its state (--zero 0 says otherwise)",
        l->file);
}

/* --deepspeed_config FILE: what it says of sharding is not among the flags. The script
 * writes it (by a here-document, or in a way that is not followed), or it lies beside the
 * script. */
sc_status sc__launch_deepspeed(struct sc__launch *l) {
    const char *file = sc__launch_word_behind(l, "deepspeed_config");
    take_megatron_deepspeed(l);
    take_deepspeed_experts(l);
    if (!file)
        return SC_OK;
    struct sc__str beside = {NULL, 0};
    const char *written = sc__launch_written(l, file);
    struct sc__str own = written ? sc__str(written) : l->text;
    if (stage_in_text(own) == UINT32_MAX)
        SC__TRY(sc__launch_read_beside(l, file, &beside));
    l->deepspeed = beside.p ? beside : own;
    uint32_t stage = stage_in_text(l->deepspeed);
    if (sc__launch_nth(l, "zero", 0))
        return SC_OK;
    if (stage != UINT32_MAX)
        sc__launch_add(l, "zero", sc__format(&l->ctx->arena, "%u", stage));
    if (stage != UINT32_MAX)
        sc__note(l->ctx,
                 "deepspeed-config",
                 "%s: ZeRO %u, as it stands in the file of DeepSpeed that %s",
                 l->file,
                 stage,
                 beside.p ? "lies beside it" : "the script writes");
    else
        sc__note(l->ctx,
                 "deepspeed-config",
                 "%s: the file of --deepspeed_config is not read: without --zero N weights "
                 "and optimizer are not sharded",
                 l->file);
    return SC_OK;
}

/* A section of DeepSpeed's file that the script writes puts something on the CPU. */
static bool section_on_cpu(struct sc__str text, const char *section) {
    const char *at = text.n ? sc__find_word(text.p, text.n, section) : NULL;
    const char *end = at ? memchr(at, '}', text.n - (size_t)(at - text.p)) : NULL;
    return end && sc__find_word(at, (size_t)(end - at), "\"cpu\"");
}

/* torchrun gives each of several ranks one thread unless the script says otherwise. */
static void take_host_threads(struct sc__launch *l) {
    const char *threads = variable(l, "OMP_NUM_THREADS");
    uint32_t count = 0;
    if (threads && sc__parse_u32(sc__str(threads), &count) && count)
        add_unless_given(l, "host-threads", threads);
    else if (has_word(l, "torchrun"))
        add_unless_given(l, "host-threads", "1");
}

void sc__launch_offload(struct sc__launch *l) {
    const char *share = sc__launch_word_behind(l, "optimizer-offload-fraction");
    const char *layers = sc__launch_word_behind(l, "cpu-offloading-num-layers");
    bool by_deepspeed = sc__launch_switched(l, "cpu-optimizer") ||
                        section_on_cpu(l->deepspeed, "\"offload_optimizer\"");
    bool by_megatron = sc__launch_switched(l, "optimizer-cpu-offload");
    uint32_t count = 0;
    if (by_deepspeed || by_megatron)
        add_unless_given(l, "offload-optimizer", by_megatron && share ? share : "1");
    if (by_deepspeed || sc__launch_switched(l, "overlap-cpu-optimizer-d2h-h2d"))
        add_unless_given(l, "overlap-offload", "yes");
    if (section_on_cpu(l->deepspeed, "\"offload_param\""))
        add_unless_given(l, "offload-params", "");
    if (layers && (!sc__parse_u32(sc__str(layers), &count) || count))
        add_unless_given(l, "offload-activations", layers);
    if (by_deepspeed || by_megatron)
        take_host_threads(l);
}

/* --moe-layer-recompute, an older name of the module moe of selective recomputation
 * (transformer_config.py), which it turns on. */
void sc__launch_moe_recompute(struct sc__launch *l) {
    const char *how = sc__launch_nth(l, "recompute-granularity", 0);
    bool selective =
        (how && !strcmp(how, "selective")) || sc__launch_nth(l, "recompute-activations", 0);
    bool other = (how && !selective) || sc__launch_nth(l, "recompute", 0) ||
                 sc__launch_overridden(l, "recompute-modules");
    const char *modules = sc__launch_nth(l, "recompute-modules", 0);
    if (other || !sc__launch_switched(l, "moe-layer-recompute"))
        return;
    if (!selective)
        sc__launch_add(l, "recompute-granularity", "selective");
    if (!modules && selective)
        modules = "core_attn";
    drop_flag(l, "recompute-modules");
    sc__launch_add(l,
                   "recompute-modules",
                   modules ? sc__format(&l->ctx->arena, "%s moe", modules) : "moe");
}

static bool is_zero(const char *value) {
    return value && !strcmp(value, "0");
}

/* Attention operator by operator: Megatron's own (DotProductAttention of its local layers,
 * which flash attention replaces in older models alone), or that of Transformer Engine
 * where its other kinds are switched off. */
sc_status sc__launch_attention(struct sc__launch *l) {
    const char *backend = sc__launch_word_behind(l, "attention-backend");
    const char *layers = sc__launch_word_behind(l, "transformer-impl");
    bool said = backend && strcmp(backend, "auto") != 0;
    bool unfused = said && (!strcmp(backend, "unfused") || !strcmp(backend, "local"));
    bool local = !said && layers && !strcmp(layers, "local");
    bool off = !said && is_zero(variable(l, "NVTE_FLASH_ATTN")) &&
               is_zero(variable(l, "NVTE_FUSED_ATTN"));
    uint32_t cp = sc__launch_number(l, "context-parallel-size", "cp");
    if (!(unfused || local || off) || l->other_program ||
        sc__launch_overridden(l, "attention") || sc__launch_nth(l, "attention", 0))
        return SC_OK;
    if (cp > 1)
        return sc__launch_fail(l,
                               l->line,
                               "leave one of both out, or give --attention",
                               "attention operator by operator and "
                               "--context-parallel-size %" PRIu32 ": Megatron refuses both",
                               cp);
    sc__launch_add(l, "attention", "unfused");
    sc__note(l->ctx,
             "megatron-attention",
             "%s: %s: attention runs operator by operator (--attention says otherwise)",
             l->file,
             unfused ? sc__format(&l->ctx->arena, "--attention-backend %s", backend)
             : local ? "--transformer-impl local"
                     : "NVTE_FLASH_ATTN and NVTE_FUSED_ATTN are 0");
    return SC_OK;
}

/* The program's own defaults hold: another stack's profile has its own, and --fusion names
 * the kernels itself. */
static bool runs_megatron(const struct sc__launch *l) {
    const char *software = l->first.nth(l->first.self, "software", 0);
    bool own = !software || !strcmp(software, "auto") ||
               sc__str_starts(sc__str(software), "megatron");
    return own && !l->other_program && !l->own_defaults &&
           !sc__launch_overridden(l, "fusion");
}

/* The loss runs operator by operator unless --cross-entropy-loss-fusion is given
 * (cross_entropy_loss_fusion of megatron/core/transformer/transformer_config.py is false);
 * then it is compiled, or with --cross-entropy-fusion-impl te Transformer Engine's kernel.
 */
void sc__launch_loss(struct sc__launch *l) {
    const char *kernel = sc__launch_word_behind(l, "cross-entropy-fusion-impl");
    if (sc__launch_overridden(l, "cross-entropy"))
        return;
    if (sc__launch_switched(l, "cross-entropy-loss-fusion")) {
        if (!kernel || strcmp(kernel, "te") != 0)
            return;
        drop_flag(l, "cross-entropy");
        sc__launch_add(l, "cross-entropy", "te");
    } else if (runs_megatron(l) && !sc__launch_nth(l, "cross-entropy", 0)) {
        sc__launch_add(l, "cross-entropy", "unfused");
        sc__note(
            l->ctx,
            "loss-unfused",
            "%s has no --cross-entropy-loss-fusion: the loss runs operator by operator, "
            "as Megatron's does then (--cross-entropy says otherwise)",
            l->file);
    }
}

static bool drops(const char *share) {
    double x = 0;
    return share && sc__parse_double(sc__str(share), &x) && x > 0;
}

/* Megatron drops a tenth unless it is told otherwise (arguments.py: attention_dropout,
 * hidden_dropout). */
void sc__launch_dropout(struct sc__launch *l, bool script) {
    const char *attention = sc__launch_word_behind(l, "attention-dropout");
    const char *hidden = sc__launch_word_behind(l, "hidden-dropout");
    bool given = sc__launch_nth(l, "dropout", 0) || sc__launch_nth(l, "no-dropout", 0);
    if (given || l->other_program)
        return;
    if (drops(attention) || drops(hidden))
        sc__launch_add(l, "dropout", "");
    else if (attention && hidden)
        sc__launch_add(l, "no-dropout", "");
    else if (script && !attention && !hidden)
        sc__note(l->ctx,
                 "dropout-unsaid",
                 "%s leaves dropout at Megatron's 0.1 (no --hidden-dropout, no "
                 "--attention-dropout), which is not counted: --dropout counts it",
                 l->file);
}

/* Megatron trains in fp32 where it is told no other type. */
void sc__launch_precision(struct sc__launch *l, bool script) {
    static const char *const types[] = {"bf16", "fp16", "dtype", "precision", NULL};
    bool said = !script || l->other_program;
    for (const char *const *type = types; *type && !said; type++)
        said = sc__launch_nth(l, *type, 0) || l->first.nth(l->first.self, *type, 0);
    if (!said)
        sc__note(
            l->ctx,
            "precision-unsaid",
            "%s has neither --bf16 nor --fp16, with which Megatron trains in fp32: bf16 "
            "is assumed; --dtype says otherwise",
            l->file);
}

/* ---- layers made by other code ---- */

/* A module whose layers we know by name. */
static sc_status take_spec(struct sc__launch *l, const char *module, bool *known) {
    *known = true;
    if (strstr(module, "gemma4") || strstr(module, "gemma3n"))
        return sc__launch_fail(l,
                               0,
                               "a Hugging Face configuration says it (--model FILE)",
                               "--spec %.80s: layers with head sizes of their own, and a "
                               "feed-forward beside the experts, are not said by flags",
                               module);
    if (strstr(module, "mamba") && !sc__launch_nth(l, "hybrid-override-pattern", 0) &&
        !sc__launch_nth(l, "hybrid-attention-ratio", 0))
        return sc__launch_fail(l,
                               0,
                               "give the letters of the layers with "
                               "--hybrid-override-pattern",
                               "--spec %.80s: which layers are Mamba's is not said",
                               module);
    bool delta = strstr(module, "qwen3_next") || strstr(module, "qwen3_5");
    if (delta) /* of all its attention, however often there is some */
        sc__launch_add(l, "attention-output-gate", "");
    if (delta && !sc__launch_nth(l, "linear-attention-freq", 0)) {
        sc__launch_add(l, "linear-attention-freq", "4");
        sc__note(l->ctx,
                 "megatron-spec",
                 "%s: --spec %s makes gated delta nets: in all but each fourth layer, with "
                 "the sizes of Qwen3-Next (--linear-attention-freq says otherwise)",
                 l->file,
                 module);
    }
    *known = delta || strstr(module, "megatron") || !strcmp(module, "local");
    return SC_OK;
}

sc_status sc__launch_spec(struct sc__launch *l) {
    static const char *const flags[] = {"spec", "custom-model-provider-path", NULL};
    const char *variant = sc__launch_word_behind(l, "experimental-attention-variant");
    if (variant && !strcmp(variant, "dsa"))
        return sc__launch_fail(l,
                               0,
                               "--model deepseek-v3.2 has it",
                               "--experimental-attention-variant dsa: flags of sparse "
                               "attention are not read");
    for (const char *const *flag = flags; *flag; flag++) {
        const char *module = sc__launch_word_behind(l, *flag);
        bool known = false;
        if (!module || sc__shell_mark(module))
            continue;
        SC__TRY(take_spec(l, module, &known));
        if (!known)
            sc__note(
                l->ctx,
                "megatron-spec",
                "%s: the layers are made by --%s %s, which is not read: they are taken "
                "to be what the other flags say",
                l->file,
                *flag,
                module);
    }
    return SC_OK;
}

/* ---- the world ---- */

/* Scripts of several nodes are published with one node in them. */
static uint32_t least_world(const struct sc__launch *l) {
    uint64_t tp = sc__launch_number(l, "tensor-model-parallel-size", "tp");
    uint64_t pp = sc__launch_number(l, "pipeline-model-parallel-size", "pp");
    uint64_t cp = sc__launch_number(l, "context-parallel-size", "cp");
    uint64_t ep = sc__launch_number(l, "expert-model-parallel-size", "ep");
    struct sc__settings s = {.nth = sc__launch_nth, .self = l, .ctx = l->ctx};
    bool has_etp = sc__setting(&s, "etp") || sc__setting(&s, "expert-tensor-parallel-size");
    uint64_t etp =
        has_etp ? sc__launch_number(l, "expert-tensor-parallel-size", "etp") : tp;
    const char *instances = "num-distributed-optimizer-instances";
    uint64_t copies = sc__launch_number(l, instances, instances);
    /* What is no number of ranks is refused later, with the plan. */
    if (tp * cp > UINT32_MAX || ep * etp > UINT32_MAX || copies > UINT32_MAX)
        return 0;
    uint64_t dense = tp * sc__common_multiple(cp, copies) * pp;
    uint64_t experts = ep * etp * pp;
    if (dense > UINT32_MAX || experts > UINT32_MAX)
        return 0;
    if (l->least_data)
        dense *= l->least_data;
    uint64_t least = dense <= UINT32_MAX ? sc__common_multiple(dense, experts) : 0;
    return least <= UINT32_MAX ? (uint32_t)least : 0;
}

/* All GPUs of a host, or the fewest that the plan needs where the cluster does not say
 * more (job.c). */
static void take_open_world(struct sc__launch *l, uint32_t hosts, uint32_t least) {
    struct sc__arena *arena = &l->ctx->arena;
    const char *file = hosts ? sc__launch_counted_in(l) : NULL;
    sc__launch_add(l, "fewest-gpus", sc__format(arena, "%u", least));
    if (hosts) {
        sc__launch_add(l, "hosts", sc__format(arena, "%u", hosts));
        sc__note(
            l->ctx,
            "megatron-world",
            "%s launches %s of %u host%s: those of the cluster, or as many as its hosts "
            "have, are taken (--gpus says otherwise)",
            l->file,
            file ? sc__format(arena, "what %.60s says, which is not known: all GPUs", file)
                 : "on all GPUs",
            hosts,
            hosts == 1 ? "" : "s");
        return;
    }
    sc__note(l->ctx,
             "megatron-world",
             "%s does not say how many GPUs it launches: those of the cluster, or %u, "
             "the fewest that its plan needs, are taken (--gpus says otherwise)",
             l->file,
             least);
}

static uint32_t slurm_number(const struct sc__setting_list *slurm, const char *name) {
    uint32_t n = 0;
    for (size_t i = 0; i < slurm->count; i++)
        if (!strcmp(slurm->items[i].name, name))
            sc__parse_u32(sc__str(slurm->items[i].value), &n);
    return n;
}

/* GPUs that the lines of a job ask for: of each node, of all, or one for each of its tasks,
 * which train themselves where no launcher starts ranks of its own. nodes: 0, not said. */
static uint32_t slurm_world(const struct sc__launch *l,
                            const struct sc__setting_list *slurm,
                            uint32_t nodes) {
    uint64_t local = slurm_number(slurm, "SLURM_GPUS_PER_NODE");
    uint64_t tasks = slurm_number(slurm, "SLURM_NTASKS");
    uint64_t each = slurm_number(slurm, "SLURM_NTASKS_PER_NODE");
    uint64_t world = nodes * local;
    if (!tasks)
        tasks = each * (nodes ? nodes : 1);
    if (!world)
        world = slurm_number(slurm, "SLURM_GPUS");
    if (!world)
        world = slurm_number(slurm, "PBS_GPUS");
    if (!world && l->command && !sc__launch_starts_ranks(l->command))
        world = tasks > (nodes ? nodes : 1) ? tasks : 0;
    return world <= UINT32_MAX ? (uint32_t)world : 0;
}

void sc__launch_gpus(struct sc__launch *l, const struct sc__setting_list *slurm) {
    uint32_t world = sc__launch_asks(l);
    uint32_t least = least_world(l);
    uint32_t hosts = world ? 0 : sc__launch_hosts(l);
    uint32_t nodes = slurm_number(slurm, "SLURM_NNODES");
    for (uint32_t i = 0; !world && !hosts && i < l->shell.command_count; i++)
        world = sc__launch_world(l->shell.commands[i].words, l->shell.commands[i].count);
    if (!nodes && slurm_number(slurm, "SLURM_GPUS_PER_NODE")) /* sbatch's */
        nodes = hosts ? hosts : 1;
    if (!world)
        world = slurm_world(l, slurm, nodes);
    if (sc__launch_overridden(l, "gpus") || sc__launch_overridden(l, "nodes") || !least ||
        sc__launch_nth(l, "gpus", 0) || (!world && sc__launch_nth(l, "dp", 0)))
        return;
    if (!world) {
        take_open_world(l, hosts && nodes > hosts ? nodes : hosts, least);
        return;
    }
    uint32_t gpus = world % least ? (world / least + 1) * least : world;
    if (gpus != world)
        sc__note(l->ctx,
                 "megatron-world",
                 "%s launches %u GPUs, but its plan needs a multiple of %u: %u are taken "
                 "(--gpus says otherwise)",
                 l->file,
                 world,
                 least,
                 gpus);
    sc__launch_add(l, "gpus", sc__format(&l->ctx->arena, "%u", gpus));
}
