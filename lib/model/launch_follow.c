/* launch_follow: what follows from several flags of a launch together: layers that
 * do nothing, what is sharded, the vocabulary, the number of GPUs. */
#include "model/launch.h"

#include <string.h>

const char *sc__launch_lora_targets(const struct sc__launch *l, const char *names) {
    static const char *const modules[][2] = {{"linear_qkv", "q_proj,k_proj,v_proj"},
                                             {"query_key_value", "q_proj,k_proj,v_proj"},
                                             {"linear_proj", "o_proj"},
                                             {"dense", "o_proj"},
                                             {"linear_fc1", "gate_proj,up_proj"},
                                             {"dense_h_to_4h", "gate_proj,up_proj"},
                                             {"linear_fc2", "down_proj"},
                                             {"dense_4h_to_h", "down_proj"}};
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

/* --noop-layers 61,62,63 (MindSpeed): so many layers less, on the last stage. */
sc_status sc__launch_noop_layers(struct sc__launch *l) {
    const char *list = sc__launch_nth(l, "noop-layers", 0);
    uint32_t layers = 0;
    uint32_t pp = 1;
    uint32_t idle = 0;
    struct sc__str rest = sc__str(list ? list : "");
    struct sc__str part;
    struct sc__settings s = {.nth = sc__launch_nth, .self = l, .ctx = l->ctx};
    if (!list)
        return SC_OK;
    SC__TRY(sc__setting_u32(&s, "num-layers", 1, &layers));
    SC__TRY(sc__setting_u32(&s, "pipeline-model-parallel-size", 1, &pp));
    while (sc__split(&rest, ',', &part)) {
        uint32_t layer;
        if (!sc__parse_u32(part, &layer) || layer + 16 < layers || layer >= layers)
            return sc__launch_fail(l,
                                   l->line,
                                   NULL,
                                   "--noop-layers %s: not the last ones",
                                   list);
        idle++;
    }
    if (layers % pp || idle >= layers / pp)
        return sc__launch_fail(l,
                               l->line,
                               NULL,
                               "--noop-layers %s: not on one stage",
                               list);
    sc__launch_add(l, "num-layers", sc__format(&l->ctx->arena, "%u", layers - idle));
    if (pp > 1)
        sc__launch_add(l,
                       "decoder-last-pipeline-num-layers",
                       sc__format(&l->ctx->arena, "%u", layers / pp - idle));
    return SC_OK;
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

static const char *word_behind(const struct sc__launch *l, const char *flag) {
    size_t n = strlen(flag);
    for (uint32_t i = 0; i < l->count; i++) {
        const char *word = l->words[i];
        if (!sc__is_flag(word) || strncmp(word + 2, flag, n) != 0)
            continue;
        if (word[2 + n] == '=')
            return word + 3 + n;
        if (!word[2 + n] && i + 1 < l->count)
            return l->words[i + 1];
    }
    return NULL;
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
        while (p < end && (*p == ' ' || *p == ':'))
            p++;
        found++;
        stage = p < end && *p >= '0' && *p <= '3' ? (uint32_t)(*p - '0') : UINT32_MAX;
    }
    return found == 1 ? stage : UINT32_MAX;
}

/* --deepspeed_config FILE: what it says of sharding is not among the flags. */
void sc__launch_deepspeed(struct sc__launch *l) {
    const char *file = word_behind(l, "deepspeed_config");
    uint32_t stage = stage_in_text(l->text);
    if (!file || sc__launch_nth(l, "zero", 0))
        return;
    if (stage != UINT32_MAX)
        sc__launch_add(l, "zero", sc__format(&l->ctx->arena, "%u", stage));
    if (stage != UINT32_MAX)
        sc__note(
            l->ctx,
            "deepspeed-config",
            "%s: ZeRO %u, as it stands in the file of DeepSpeed that the script writes",
            l->file,
            stage);
    else
        sc__note(l->ctx,
                 "deepspeed-config",
                 "%s: the file of --deepspeed_config is not read: without --zero N weights "
                 "and optimizer are not sharded",
                 l->file);
}

/* ---- the vocabulary ---- */

/* Tokens of a tokenizer that a type alone names; 0: not known. Pai-Megatron-Patch's
 * (--patch-tokenizer-type) are those of its tokenizer files, to which
 * --extra-vocab-size adds. */
static uint32_t tokens_of_type(const struct sc__launch *l, const char **type) {
    static const struct {
        const char *flag;
        const char *type;
        uint32_t tokens;
    } types[] = {{"tokenizer-type", "Llama2Tokenizer", 32000},
                 {"patch-tokenizer-type", "LLamaTokenizer", 32000},
                 {"patch-tokenizer-type", "LLama3Tokenizer", 128256},
                 {"patch-tokenizer-type", "Qwen2Tokenizer", 151643},
                 {"patch-tokenizer-type", "Qwen3Tokenizer", 151643}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        *type = word_behind(l, types[i].flag);
        if (*type && !strcmp(*type, types[i].type))
            return types[i].tokens;
    }
    return 0;
}

/* Megatron asks the tokenizer; we know those of our presets, by id. */
sc_status sc__launch_vocabulary(struct sc__launch *l) {
    const char *type;
    const char *more = word_behind(l, "extra-vocab-size");
    uint32_t extra = 0;
    const char *name = word_behind(l, "tokenizer-model");
    struct sc__model m;
    uint32_t vocab = 0;
    if (sc__launch_nth(l, "vocab-size", 0) || sc__launch_nth(l, "padded-vocab-size", 0) ||
        sc__launch_nth(l, "model", 0))
        return SC_OK;
    if (!name)
        name = word_behind(l, "tokenizer-name-or-path");
    if (name && !sc__shell_mark(name) && strchr(name, '/') &&
        sc__model_preset(&l->ctx->arena, name)) {
        SC__TRY(sc__model_find(l->ctx, name, &m));
        vocab = m.vocab;
    } else {
        vocab = tokens_of_type(l, &type);
        name = type;
    }
    if (more && (!vocab || !sc__parse_u32(sc__str(more), &extra) || extra > 1u << 24))
        return sc__launch_fail(l,
                               l->line,
                               "give --vocab-size",
                               "--extra-vocab-size %.60s adds to a vocabulary that is not "
                               "known",
                               more);
    if (!vocab)
        return SC_OK;
    vocab += extra;
    sc__note(l->ctx,
             "vocab-of-tokenizer",
             "no --vocab-size is given: %u, that of the tokenizer %s",
             vocab,
             name);
    sc__launch_add(l, "vocab-size", sc__format(&l->ctx->arena, "%u", vocab));
    return SC_OK;
}

/* ---- layers made by other code ---- */

/* A module whose layers we know by name. */
static sc_status take_spec(struct sc__launch *l, const char *module, bool *known) {
    *known = true;
    if (strstr(module, "gemma4") || strstr(module, "gemma3n"))
        return sc__launch_fail(l,
                               0,
                               "no flag says what its layers are",
                               "--spec %.80s: layers with head sizes of their own, and a "
                               "feed-forward beside the experts, are not modelled",
                               module);
    if (strstr(module, "mamba") && !sc__launch_nth(l, "hybrid-override-pattern", 0))
        return sc__launch_fail(l,
                               0,
                               "give the letters of the layers with "
                               "--hybrid-override-pattern",
                               "--spec %.80s: which layers are Mamba's is not said",
                               module);
    bool delta = strstr(module, "qwen3_next") || strstr(module, "qwen3_5");
    if (delta && !sc__launch_nth(l, "linear-attention-freq", 0)) {
        sc__launch_add(l, "linear-attention-freq", "4");
        sc__launch_add(l, "attention-output-gate", "");
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
    const char *variant = word_behind(l, "experimental-attention-variant");
    if (variant && !strcmp(variant, "dsa"))
        return sc__launch_fail(l,
                               0,
                               "--model deepseek-v3.2 has it",
                               "--experimental-attention-variant dsa: flags of sparse "
                               "attention are not read");
    for (const char *const *flag = flags; *flag; flag++) {
        const char *module = word_behind(l, *flag);
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

static uint32_t flag_number(const struct sc__launch *l, const char *name, const char *own) {
    struct sc__settings s = {.nth = sc__launch_nth, .self = l, .ctx = l->ctx};
    uint32_t n = 1;
    const char *text = sc__setting(&s, own);
    if (!text)
        text = sc__setting(&s, name);
    if (text)
        sc__parse_u32(sc__str(text), &n);
    return n ? n : 1;
}

/* Scripts of several nodes are published with one node in them. */
static uint32_t least_world(const struct sc__launch *l) {
    uint64_t tp = flag_number(l, "tensor-model-parallel-size", "tp");
    uint64_t pp = flag_number(l, "pipeline-model-parallel-size", "pp");
    uint64_t cp = flag_number(l, "context-parallel-size", "cp");
    uint64_t ep = flag_number(l, "expert-model-parallel-size", "ep");
    struct sc__settings s = {.nth = sc__launch_nth, .self = l, .ctx = l->ctx};
    bool has_etp = sc__setting(&s, "etp") || sc__setting(&s, "expert-tensor-parallel-size");
    uint64_t etp = has_etp ? flag_number(l, "expert-tensor-parallel-size", "etp") : tp;
    uint64_t dense = tp * cp * pp;
    uint64_t experts = ep * etp * pp;
    uint64_t a = dense;
    uint64_t b = experts;
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    uint64_t least = dense / a * experts;
    return least <= UINT32_MAX ? (uint32_t)least : 0;
}

void sc__launch_gpus(struct sc__launch *l, const struct sc__setting_list *slurm) {
    uint32_t world = sc__launch_world(l->words, l->count);
    uint32_t least = least_world(l);
    uint32_t nodes = 0;
    uint32_t local = 0;
    for (uint32_t i = 0; !world && i < l->shell.command_count; i++)
        world = sc__launch_world(l->shell.commands[i].words, l->shell.commands[i].count);
    for (size_t i = 0; !world && i < slurm->count; i++) {
        if (!strcmp(slurm->items[i].name, "SLURM_NNODES"))
            sc__parse_u32(sc__str(slurm->items[i].value), &nodes);
        if (!strcmp(slurm->items[i].name, "SLURM_GPUS_PER_NODE"))
            sc__parse_u32(sc__str(slurm->items[i].value), &local);
    }
    if (!world && nodes && local && (uint64_t)nodes * local <= UINT32_MAX)
        world = nodes * local;
    if (sc__launch_overridden(l, "gpus") || sc__launch_overridden(l, "nodes") || !least ||
        sc__launch_nth(l, "gpus", 0))
        return;
    if (!world) {
        /* the cluster may say it; where it does not, sc__job_model takes the fewest */
        sc__launch_add(l, "fewest-gpus", sc__format(&l->ctx->arena, "%u", least));
        sc__note(l->ctx,
                 "megatron-world",
                 "%s does not say how many GPUs it launches: those of the cluster, or %u, "
                 "the fewest that its plan needs, are taken (--gpus says otherwise)",
                 l->file,
                 least);
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
