/* launch_mlperf: config_*.sh of MLPerf submissions. They run nothing: variables say the
 * plan, which run_and_time.sh hands to NeMo by its configuration. The model, the length and
 * the precision stand in files beside it, which are not read. */
#include "model/launch.h"

#include <string.h>

/* The last that the script gives a variable, in NVIDIA's name or AMD's; NULL: neither, or
 * one that says nothing. */
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

static void
put(struct sc__launch *l, uint32_t *capacity, const char *flag, uint32_t value) {
    *SC__PUSH(&l->ctx->arena, l->words, l->count, *capacity) =
        sc__format(&l->ctx->arena, "--%s=%u", flag, value);
}

static bool is_true(const struct sc__launch *l, const char *name) {
    const char *value = variable(l, name, NULL);
    return value && (sc__str_is_any_case(sc__str(value), "true") || !strcmp(value, "1"));
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

static void put_switch(struct sc__launch *l, uint32_t *capacity, const char *flag) {
    *SC__PUSH(&l->ctx->arena, l->words, l->count, *capacity) = flag;
}

/* Transformer Engine overlaps products of sequence parallelism alone (tp_comm_overlap of
 * Megatron's arguments.py). */
static void put_switches(struct sc__launch *l, uint32_t *capacity, uint32_t tp) {
    bool overlap = is_true(l, "TP_COMM_OVERLAP");
    if (overlap)
        put_switch(l, capacity, "--tp-comm-overlap");
    if (tp > 1 && (overlap || is_true(l, "SEQ_PARALLEL") || is_true(l, "SP")))
        put_switch(l, capacity, "--sequence-parallel");
    if (is_true(l, "FP8"))
        put_switch(l, capacity, "--fp8");
}

bool sc__launch_mlperf(struct sc__launch *l) {
    uint32_t capacity = 0;
    uint32_t tp = number(l, "TENSOR_MODEL_PARALLEL", "TP", 0);
    uint32_t nodes = number(l, "DGXNNODES", "NNODES", 0);
    if (!is_submission(l) || !tp || !nodes)
        return false;
    uint32_t pp = number(l, "PIPELINE_MODEL_PARALLEL", "PP", 1);
    uint32_t cp = number(l, "CONTEXT_PARALLEL", "CP", 1);
    uint32_t chunks = number(l, "INTERLEAVED_PIPELINE", NULL, 1);
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
    put_switches(l, &capacity, tp);
    l->other_program = true;
    sc__note(
        l->ctx,
        "config-kind",
        "%s is read as a configuration of an MLPerf submission: its plan and batch; "
        "model, length, precision and what files beside it set are not in it (--model, "
        "--seq, --fp8, --sequence-parallel say them)",
        l->file);
    return true;
}
