/* launch_mlperf: config_*.sh of MLPerf submissions. They run nothing: variables say the
 * plan, which run_and_time.sh hands to NeMo by its configuration (conf/custom.yaml and
 * megatron_gpt_peft_tuning_config.yaml there say which is what). The model, and mostly the
 * length and the precision, stand in files beside it, which are not read. */
#include "launch/config.h"

#include <string.h>

/* The last that the script gives a variable, which may have another name, mostly AMD's;
 * NULL: neither, or one that says nothing. */
static const char *
variable(const struct sc__launch *l, const char *nvidia, const char *amd) {
    for (uint32_t i = 0; i < l->shell.variable_count; i++) {
        const struct sc__shell_variable *v = &l->shell.variables[i];
        bool named = !strcmp(v->name, nvidia) || (amd && !strcmp(v->name, amd));
        if (!named || !v->set || !v->count || sc__shell_mark(v->items[0]))
            continue;
        bool nothing = !*v->items[0] || !strcmp(v->items[0], "null");
        return nothing ? NULL : v->items[0];
    }
    return NULL;
}

static uint32_t
number(const struct sc__launch *l, const char *nvidia, const char *amd, uint32_t usual) {
    const char *text = variable(l, nvidia, amd);
    uint32_t n = 0;
    return text && sc__parse_u32(sc__str(text), &n) && n ? n : usual;
}

static void put_word(struct sc__launch *l, uint32_t *capacity, const char *word) {
    *SC__PUSH(&l->ctx->arena, l->words, l->count, *capacity) = word;
}

static void
put(struct sc__launch *l, uint32_t *capacity, const char *flag, uint32_t value) {
    put_word(l, capacity, sc__format(&l->ctx->arena, "--%s=%u", flag, value));
}

static bool is_true(const struct sc__launch *l, const char *nvidia, const char *amd) {
    const char *value = variable(l, nvidia, amd);
    return value && !sc__config_false(value);
}

/* Those beside the plan that a file may say itself. */
static void put_others(struct sc__launch *l, uint32_t *capacity, uint32_t tp) {
    static const struct {
        const char *nvidia;
        const char *amd;
        const char *flag;
        bool has_value;
    } others[] = {
        {"SEQ_PARALLEL", "SP", "--sequence-parallel", false},
        {"TP_COMM_OVERLAP", NULL, "--tp-comm-overlap", false},
        {"ASYM_PP_EMBED", NULL, "--account-for-embedding-in-pipeline-split", false},
        {"ASYM_PP_LOSS", NULL, "--account-for-loss-in-pipeline-split", false},
        {"FP8", NULL, "--fp8", false},
        {"FP8_PARAMS", "FP8_PARAM", "--fp8-param-gather", false},
        {"ACT_CKPT_GRANULARITY", "ACG", "--recompute-granularity", true},
        {"ACT_CKPT_METHOD", "ACM", "--recompute-method", true},
        {"ACT_CKPT_NUM_LAYERS", "ACL", "--recompute-num-layers", true},
        {"MAX_SEQLEN", NULL, "--seq-length", true}};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        const char *value = variable(l, others[i].nvidia, others[i].amd);
        if (!value || sc__config_false(value))
            continue;
        put_word(l,
                 capacity,
                 others[i].has_value
                     ? sc__format(&l->ctx->arena, "%s=%s", others[i].flag, value)
                     : others[i].flag);
    }
    /* Transformer Engine overlaps products of sequence parallelism alone (tp_comm_overlap
     * of Megatron's arguments.py) */
    if (tp > 1 && is_true(l, "TP_COMM_OVERLAP", NULL) && !is_true(l, "SEQ_PARALLEL", "SP"))
        put_word(l, capacity, "--sequence-parallel");
}

/* Variables that nobody else sets. */
static bool is_submission(const struct sc__launch *l) {
    static const char *const names[] = {"DGXSYSTEM",
                                        "MLPERF_SUBMITTER",
                                        "MLPERF_SYSTEM_NAME",
                                        NULL};
    for (uint32_t i = 0; i < l->shell.variable_count; i++)
        for (const char *const *n = names; *n; n++)
            if (!strcmp(l->shell.variables[i].name, *n))
                return true;
    return false;
}

bool sc__launch_mlperf(struct sc__launch *l) {
    uint32_t capacity = 0;
    uint32_t tp = number(l, "TENSOR_MODEL_PARALLEL", "TP", 0);
    uint32_t nodes = number(l, "DGXNNODES", "NNODES", 0);
    if (!is_submission(l) || !tp || !nodes)
        return false;
    uint32_t pp = number(l, "PIPELINE_MODEL_PARALLEL", "PP", 1);
    uint32_t cp = number(l, "CONTEXT_PARALLEL", "CP", 1);
    uint32_t chunks = number(l, "INTERLEAVED_PIPELINE", "VP", 1);
    uint64_t gpus = (uint64_t)nodes * number(l, "DGXNGPU", "GPUS_PER_NODE", 8);
    uint64_t cut = (uint64_t)tp * pp;
    uint64_t batch = number(l, "GBS", NULL, 0);
    /* MINIBS is the batch of a replica */
    if (!batch && cut < 1u << 20 && cp < 1u << 10 && gpus >= cut * cp)
        batch = number(l, "MINIBS", NULL, 0) * (gpus / (cut * cp));
    if (gpus > UINT32_MAX || batch > UINT32_MAX)
        return false;
    put(l, &capacity, "tensor-model-parallel-size", tp);
    put(l, &capacity, "pipeline-model-parallel-size", pp);
    put(l, &capacity, "context-parallel-size", cp);
    put(l, &capacity, "gpus", (uint32_t)gpus);
    if (pp > 1 && chunks > 1)
        put(l, &capacity, "vpp", chunks);
    if (batch)
        put(l, &capacity, "global-batch", (uint32_t)batch);
    if (variable(l, "MICRO_BATCH_SIZE", "MBS"))
        put(l, &capacity, "micro-batch", number(l, "MICRO_BATCH_SIZE", "MBS", 1));
    put_others(l, &capacity, tp);
    l->other_program = true;
    sc__note(
        l->ctx,
        "config-kind",
        "%s is read as a configuration of an MLPerf submission: its plan and batch, and "
        "of precision and recomputation what it says; the model and what files beside it "
        "set are not in it (--model, --seq, --fp8, --sequence-parallel say them)",
        l->file);
    return true;
}
