/* config_maxtext: what keys of MaxText mean together. */
#include "launch/config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST_GPUS ((uint64_t)1 << 30) /* so that two of them multiply */

/* Gemma's layers see a window but for each second (2) or sixth (3). */
static void take_maxtext_window(struct sc__launch *l,
                                const struct sc__config *c,
                                struct sc__flag_list *out) {
    const char *block = sc__config_value(c, "decoder_block");
    uint32_t window = sc__config_number(c, "sliding_window_size", 0);
    bool third = block && !strcmp(block, "gemma3");
    if (!block || !window || (!third && strcmp(block, "gemma2") != 0))
        return;
    sc__config_add(l, out, "window-size", sc__format(&l->ctx->arena, "%u,0", window - 1));
    sc__config_add(l, out, "window-attn-skip-freq", third ? "6" : "2");
    if (third)
        sc__config_add(l, out, "qk-layernorm", NULL);
}

/* Its defaults are a Llama's; GPT-3's layers are as Megatron has them. */
static void take_maxtext_model(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out) {
    const char *block = sc__config_value(c, "decoder_block");
    const char *tied = sc__config_value(c, "logits_via_embedding");
    const char *positions = sc__config_value(c, "trainable_position_size");
    if (!tied || !sc__config_true(tied))
        sc__config_add(l, out, "untie-embeddings-and-output-weights", NULL);
    if (block && !strcmp(block, "gpt3")) {
        sc__config_add(l, out, "max-position-embeddings", positions);
        return;
    }
    sc__config_add(l, out, "disable-bias-linear", NULL);
    sc__config_add(l, out, "normalization", "RMSNorm");
    sc__config_add(l, out, "position-embedding-type", "rope");
    if (sc__config_value(c, "mlp_activations.1"))
        sc__config_add(l, out, "swiglu", NULL);
    take_maxtext_window(l, c, out);
}

/* ---- its mesh ---- */

/* An axis is its size within a node (ici) times that across nodes (dcn); 0: one of them is
 * -1, the GPUs that are left, as configs/base.yml has the part named "left". */
static uint64_t axis_size(struct sc__launch *l,
                          const struct sc__config *c,
                          const char *name,
                          const char *left) {
    static const char *const parts[] = {"ici", "dcn"};
    uint64_t size = 1;
    for (size_t i = 0; i < 2; i++) {
        const char *key = sc__format(&l->ctx->arena, "%s_%s_parallelism", parts[i], name);
        const char *value = sc__config_value(c, key);
        bool open = value ? !strcmp(value, "-1") : left && !strcmp(parts[i], left);
        size *= open ? 0 : sc__config_number(c, key, 1);
    }
    return size < MOST_GPUS ? size : MOST_GPUS;
}

static sc_status
take_axes(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    static const char *const axes[][2] = {{"tensor", "tp"},
                                          {"pipeline", "pp"},
                                          {"expert", "ep"},
                                          {"context", "cp"}};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        uint64_t size = axis_size(l, c, axes[i][0], NULL);
        if (!size && !sc__launch_overridden(l, axes[i][1]))
            return sc__launch_fail(l,
                                   0,
                                   sc__format(&l->ctx->arena, "give --%s", axes[i][1]),
                                   "%s_parallelism is -1, the GPUs that are left: how many "
                                   "is not in the file",
                                   axes[i][0]);
        if (size > 1)
            sc__config_add(l,
                           out,
                           axes[i][1],
                           sc__format(&l->ctx->arena, "%" PRIu64, size));
    }
    return SC_OK;
}

/* per_device_batch_size counts all devices (calculate_global_batch_sizes of pyconfig.py):
 * those that work on the same sequences, by tensor, context and pipeline, have as many
 * together. A pipeline takes them in num_pipeline_microbatches pieces, as many as it has
 * stages unless it is said. */
static void
take_batch(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    struct sc__arena *arena = &l->ctx->arena;
    const char *batch = sc__config_value(c, "per_device_batch_size");
    uint64_t stages = axis_size(l, c, "pipeline", NULL);
    uint64_t times = sc__config_number(c, "gradient_accumulation_steps", 1);
    double each;
    if (!batch || !sc__parse_double(sc__str(batch), &each))
        return;
    double devices = (double)stages * (double)axis_size(l, c, "tensor", NULL) *
                     (double)axis_size(l, c, "context", NULL);
    uint64_t pieces = 1;
    if (stages > 1)
        pieces = sc__config_number(c, "num_pipeline_microbatches", (uint32_t)stages);
    double sequences = pieces ? each * devices / (double)pieces : 0;
    if (sequences < 1 || floor(sequences) < sequences) {
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: per_device_batch_size %s: several devices share a sequence; how is "
                 "not taken from the file (--global-batch, --tp, --cp)",
                 l->file,
                 batch);
        return;
    }
    sc__config_add(l, out, "micro-batch", sc__format(arena, "%.0f", sequences));
    sc__config_add(l, out, "micro-batches", sc__format(arena, "%" PRIu64, pieces * times));
    if (stages > 1 && times > 1)
        sc__config_add(l, out, "pipeline-batch", sc__format(arena, "%" PRIu64, pieces));
}

/* A mesh of which every axis is given says how many GPUs there are (others than these are
 * refused above 1); where one of data is left open, what the others need. */
static void
take_gpus(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    static const char *const axes[] = {"tensor", "pipeline", "expert", "context", NULL};
    uint64_t shards = axis_size(l, c, "fsdp", "ici");
    uint64_t copies = axis_size(l, c, "data", "dcn");
    uint64_t all = shards * copies;
    if (!all && shards + copies < MOST_GPUS)
        l->least_data = (uint32_t)(shards + copies); /* one of them is 0 */
    for (const char *const *axis = axes; *axis && all < MOST_GPUS; axis++)
        all *= axis_size(l, c, *axis, NULL);
    if (all > 1 && all < MOST_GPUS)
        sc__config_add(l, out, "gpus", sc__format(&l->ctx->arena, "%" PRIu64, all));
}

/* Weights are sharded over fsdp and copied over data: by configs/base.yml fsdp takes what
 * is left within a node, and data across them. */
static void
take_sharding(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    uint64_t shards = axis_size(l, c, "fsdp", "ici");
    uint64_t copies = axis_size(l, c, "data", "dcn");
    bool says = sc__config_value(c, "dcn_data_parallelism") ||
                sc__config_value(c, "ici_data_parallelism");
    bool experts = axis_size(l, c, "expert", NULL) != 1;
    uint64_t group = shards * axis_size(l, c, "context", NULL);
    sc__config_add(l, out, "zero", shards == 1 ? "0" : "3");
    if (copies == 1 || shards == 1 || !says)
        return;
    if (group > 1 && !experts)
        sc__config_add(l,
                       out,
                       "shard-group",
                       sc__format(&l->ctx->arena, "%" PRIu64, group));
    else
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: weights are counted as sharded over all GPUs, not copied over its "
                 "data_parallelism: --shard-group says how many ranks share them",
                 l->file);
}

/* Types of products, by the names of layers/quantizations.py: fp8 has scales of steps
 * before (flax's Fp8DotGeneral), te_ names recipes of Transformer Engine. */
static sc_status take_quantization(struct sc__launch *l,
                                   const struct sc__config *c,
                                   struct sc__flag_list *out) {
    const char *type = sc__config_value(c, "quantization");
    if (!type || sc__config_nothing(type) || strstr(type, "bf16") ||
        strstr(type, "noquant"))
        return SC_OK;
    if (strstr(type, "fp4"))
        sc__config_add(l, out, "fp4", NULL);
    else if (strstr(type, "fp8"))
        sc__config_add(l, out, "fp8", NULL);
    else
        return sc__launch_fail(l,
                               0,
                               "fp8 and fp4 can be forecast; take the key out for bf16",
                               "quantization %.40s is not modelled",
                               type);
    if (strstr(type, "mxfp8"))
        sc__config_add(l, out, "fp8-recipe", "mxfp8");
    else if (strstr(type, "currentscaling"))
        sc__config_add(l, out, "fp8-recipe", "tensorwise");
    return SC_OK;
}

/* Policies between full and minimal save some products more or less; they are counted as
 * minimal ones are (config_table.c). */
static void note_policy(struct sc__launch *l, const struct sc__config *c) {
    const char *policy = sc__config_value(c, "remat_policy");
    if (policy && !sc__config_nothing(policy) && strcmp(policy, "full") != 0 &&
        !sc__str_starts(sc__str(policy), "minimal"))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: remat_policy %.60s is counted as --recompute selective",
                 l->file,
                 policy);
}

sc_status sc__config_maxtext(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out) {
    const char *name = sc__config_value(c, "model_name");
    if (!name)
        name = sc__config_primus_model(c);
    if (name && !sc__config_nothing(name))
        SC__TRY(sc__config_preset(l, name, out));
    else
        take_maxtext_model(l, c, out);
    note_policy(l, c);
    SC__TRY(take_axes(l, c, out));
    take_batch(l, c, out);
    take_gpus(l, c, out);
    take_sharding(l, c, out);
    return take_quantization(l, c, out);
}
