/* config_llamas: Nanotron's models are Llamas, and OLMo's as well, with sizes that count
 * both halves of a gated feed-forward, and sharded by FSDP where a section says so. */
#include "launch/config.h"

#include <inttypes.h>
#include <string.h>

static void take_llama(struct sc__launch *l, struct sc__flag_list *out) {
    sc__config_add(l, out, "disable-bias-linear", NULL);
    sc__config_add(l, out, "normalization", "RMSNorm");
    sc__config_add(l, out, "position-embedding-type", "rope");
    sc__config_add(l, out, "swiglu", NULL);
}

/* MoEConfig of config/models_config.py: -1, its default, is all layers. */
static sc_status take_nanotron_experts(struct sc__launch *l,
                                       const struct sc__config *c,
                                       struct sc__flag_list *out) {
    const char *first = sc__config_value(c, "moe_config.layers.0");
    const char *shared = sc__config_value(c, "moe_config.shared_expert_intermediate_size");
    if (first && strcmp(first, "-1") != 0)
        return sc__launch_fail(l,
                               0,
                               "take the key out to forecast experts in every layer",
                               "moe_config.layers: experts in some layers by number are "
                               "not modelled");
    if (!sc__config_on(c, "moe_config.enable_shared_expert"))
        return SC_OK;
    if (shared)
        sc__config_add(l, out, "moe-shared-expert-intermediate-size", shared);
    sc__config_add(l, out, "moe-shared-expert-gate", NULL); /* nn/moe.py has one */
    return SC_OK;
}

sc_status sc__config_nanotron(struct sc__launch *l,
                              const struct sc__config *c,
                              struct sc__flag_list *out) {
    take_llama(l, out);
    if (!sc__config_value(c, "model_config.tie_word_embeddings"))
        sc__config_add(l, out, "untie-embeddings-and-output-weights", NULL);
    /* of Qwen2Config, which hands it to the attention of every layer (models/qwen.py) */
    uint32_t keys = sc__config_number(c, "model_config.sliding_window_size", 0);
    if (keys)
        sc__config_add(l,
                       out,
                       "window-size",
                       sc__format(&l->ctx->arena, "%" PRIu32 ",0", keys - 1));
    return take_nanotron_experts(l, c, out);
}

/* One block of so many is computed again, or all but one (should_checkpoint_block of
 * olmo/model.py). There is no pipeline: which blocks they are changes nothing. */
static void take_olmo_checkpoints(struct sc__launch *l,
                                  const struct sc__config *c,
                                  struct sc__flag_list *out) {
    static const struct {
        const char *word;
        uint32_t period;
        bool others;
    } shares[] = {{"one_in_two", 2, false},
                  {"one_in_three", 3, false},
                  {"one_in_four", 4, false},
                  {"one_in_eight", 8, false},
                  {"two_in_three", 3, true},
                  {"three_in_four", 4, true}};
    const char *strategy = sc__config_value(c, "activation_checkpointing");
    uint32_t layers = sc__config_number(c, "model.n_layers", 0);
    for (unsigned i = 0; strategy && i < sizeof shares / sizeof *shares; i++) {
        if (strcmp(strategy, shares[i].word) != 0)
            continue;
        uint32_t firsts = layers / shares[i].period + (layers % shares[i].period != 0);
        uint32_t again = shares[i].others ? layers - firsts : firsts;
        sc__config_add(l, out, "recompute", "full");
        sc__config_add(l, out, "recompute-method", "block");
        sc__config_add(l,
                       out,
                       "recompute-layers",
                       sc__format(&l->ctx->arena, "%" PRIu32, again));
    }
}

/* OLMoE's: the blocks of a configuration without block_type moe have none, whatever it says
 * of them. */
static void take_olmo_experts(struct sc__launch *l,
                              const struct sc__config *c,
                              const char *wide,
                              struct sc__flag_list *out) {
    const char *block = sc__config_value(c, "model.block_type");
    const char *experts = sc__config_value(c, "model.moe_num_experts");
    const char *each = sc__config_value(c, "model.moe_top_k");
    if (!block || strcmp(block, "moe") != 0)
        return;
    sc__config_add(l, out, "num-experts", experts ? experts : "8"); /* olmo/config.py */
    sc__config_add(l, out, "moe-router-topk", each ? each : "2");
    sc__config_add(l, out, "moe-ffn-hidden-size", wide);
}

/* FSDP over all GPUs unless a key says otherwise (FSDPConfig of olmo/config.py); DDP has
 * weights in fp32 under autocast (scripts/train.py, Trainer.train_micro_batch). */
static void take_olmo_sharding(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out) {
    const char *distributed = sc__config_exact(c, "distributed_strategy");
    const char *strategy = sc__config_exact(c, "fsdp.sharding_strategy");
    uint32_t copies = sc__config_number(c, "fsdp.hybrid_sharding_num_model_replicas", 0);
    strategy = strategy ? strategy : "FULL_SHARD";
    if ((distributed && !strcmp(distributed, "ddp")) || !strcmp(strategy, "NO_SHARD")) {
        sc__config_copy_weights(l, c, out);
        return;
    }
    sc__config_add(l, out, "use-torch-fsdp2", NULL);
    if (!strcmp(strategy, "SHARD_GRAD_OP") || strstr(strategy, "ZERO2"))
        sc__config_add(l, out, "reshard-after-forward", "no");
    if (strstr(strategy, "HYBRID_SHARD") && copies)
        sc__config_copies(l, copies, out);
    else if (strstr(strategy, "HYBRID_SHARD"))
        sc__config_note_hybrid(l);
}

sc_status sc__config_olmo(struct sc__launch *l,
                          const struct sc__config *c,
                          struct sc__flag_list *out) {
    const char *activation = sc__config_value(c, "model.activation_type");
    uint32_t hidden = sc__config_number(c, "model.d_model", 0);
    uint32_t ratio = sc__config_number(c, "model.mlp_ratio", 4);
    uint32_t both = sc__config_number(c, "model.mlp_hidden_size", 0);
    if (activation && strcmp(activation, "swiglu") != 0)
        return sc__launch_fail(l,
                               0,
                               NULL,
                               "model.activation_type: '%.60s' is not modelled",
                               activation);
    if (!both && hidden && ratio <= 1u << 10)
        both = hidden * ratio;
    take_llama(l, out);
    const char *norm = sc__config_value(c, "model.layer_norm_type");
    if (norm && strcmp(norm, "rms") != 0) /* of OLMo 1 */
        sc__config_add(l, out, "normalization", "LayerNorm");
    const char *wide = sc__format(&l->ctx->arena, "%u", both / 2);
    sc__config_add(l, out, "ffn-hidden-size", wide);
    take_olmo_checkpoints(l, c, out);
    take_olmo_experts(l, c, wide, out);
    /* PyTorch's FSDP, which OLMo's trainer compiles where a section says how */
    bool compiled = sc__config_value(c, "compile.mode") ||
                    sc__config_value(c, "compile.fullgraph") ||
                    sc__config_value(c, "compile.backend");
    sc__config_add(l, out, "software", compiled ? "fsdp1" : "fsdp-eager");
    take_olmo_sharding(l, c, out);
    return SC_OK;
}
