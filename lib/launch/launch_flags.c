/* launch_flags: what the flags of a launch mean here. Megatron-LM's, those of its
 * relatives (Megatron-DeepSpeed, MindSpeed-LLM) and of launchers. */
#include "launch/launch.h"

#include <string.h>

/* Other names of what we have. value NULL: the flag's own. */
static const struct {
    const char *name;
    struct sc__flag as;
} other_names[] = {
    {"model-parallel-size", {"tensor-model-parallel-size", NULL}},
    {"pipe-parallel-size", {"pipeline-model-parallel-size", NULL}},
    {"batch-size", {"micro-batch-size", NULL}},
    {"encoder-seq-length", {"seq-length", NULL}}, /* of a model without a decoder length */
    {"gas", {"micro-batches", NULL}},
    {"zero-stage", {"zero", NULL}},
    {"num-key-value-heads", {"num-query-groups", NULL}},
    {"checkpoint-activations", {"recompute", "full"}},
    {"deepspeed-activation-checkpointing", {"recompute", "full"}},
    {"use-rotary-position-embeddings", {"position-embedding-type", "rope"}},
    {"use-alibi-position-embeddings", {"position-embedding-type", "alibi"}},
    {"quick-geglu", {"swiglu", ""}},
    {"lora-r", {"lora", NULL}},
    {"lora-rank", {"lora", NULL}},
    {"lora-target-modules", {"lora-targets", NULL}},
    {"megatron-fsdp-grad-comm-dtype", {"grad-dtype", NULL}},
    {"main-grads-dtype", {"grad-dtype", NULL}},
    {"use-flash-attn", {"attention", "fused"}},
    {"use-flash-attn-v1", {"attention", "flash1"}},
    {"use-flash-attn-v2", {"attention", "flash2"}},
    {"use-flash-attn-triton", {"attention", "fused"}},
    {"cross-entropy-loss-fusion", {"cross-entropy", "fused"}},
    {"pad-vocab-size-to", {"padded-vocab-size", NULL}},
    {"moe-expert-parallel-size", {"expert-model-parallel-size", NULL}},
    {"hybrid-layer-pattern", {"hybrid-override-pattern", NULL}},
    {"use-gated-attention", {"attention-output-gate", ""}},
    {"moe-use-shared-expert-gate", {"moe-shared-expert-gate", ""}},
    {"shared-expert-gate", {"moe-shared-expert-gate", ""}},
    {"full-attention-interval", {"linear-attention-freq", NULL}},
    /* MindSpeed-LLM, which took DeepSeek's own names */
    {"multi-head-latent-attention", {"multi-latent-attention", ""}},
    {"qk-nope-head-dim", {"qk-head-dim", NULL}},
    {"qk-rope-head-dim", {"qk-pos-emb-head-dim", NULL}},
    {"num-shared-experts", {"n-shared-experts", NULL}}, /* Pai-Megatron-Patch */
    {"moe-intermediate-size", {"moe-ffn-hidden-size", NULL}},
    {"num-nextn-predict-layers", {"mtp-num-layers", NULL}},
    /* Megatron-LLM */
    {"use-rms-norm", {"normalization", "RMSNorm"}},
    {"glu-activation", {"swiglu", ""}},
    {"no-tie-embed-logits", {"untie-embeddings-and-output-weights", ""}},
    {"num-attention-heads-kv", {"num-query-groups", NULL}},
};

/* Flags with which it is another model than we would build. */
static const struct {
    const char *name;
    const char *why;
} refused_flags[] = {
    {"encoder-num-layers", "models with an encoder are not modelled"},
    {"decoder-seq-length", "models with an encoder are not modelled"},
    {"img-h", "models of images are not modelled"},
    {"retro-workdir", "retrieval is not modelled"},
    {"ds-sequence-parallel-size",
     "DeepSpeed-Ulysses is not modelled; --cp N --cp-comm-type a2a comes near"},
    {"freeze-LM", "training with frozen weights is not modelled"},
    {"enable-hetero",
     "stages with parallel sizes and devices of their own (FlagScale) are not modelled"},
    {"enable-dsa-indexer",
     "flags of sparse attention are not read; --model deepseek-v3.2 has it"},
};

/* They change the time of a step, and not what we say. */
static const char *const not_modelled[] = {"swap-*",
                                           "recompute-*", /* those of MindSpeed */
                                           "enable-recompute-*",
                                           "offload-*",
                                           "moe-zero-memory*",
                                           "use-ascend-coc",
                                           "mlp-type",
                                           "remote-device",
                                           "checkpoint-in-cpu",
                                           "partition-activations",
                                           "moe-fb-overlap",
                                           "moe-alltoall-overlap-comm",
                                           "moe-permutation-async-comm",
                                           "moe-expert-overlap",
                                           "delay-wgrad-compute",
                                           "mtp-mem-efficient-logits",
                                           "reuse-fp32-param",
                                           "softmax-type",
                                           "enable-gpt-oss",
                                           "add-bias-linear",
                                           "add-dense-bias",
                                           "moe-shared-expert-overlap",
                                           "moe-pad-expert-input-to-capacity",
                                           "overlap-p2p-communication-warmup-flush",
                                           "defer-embedding-wgrad-compute",
                                           "kv-lora-rank-split",
                                           "hierarchical-context-parallel-sizes",
                                           "rampup-batch-size",
                                           "step-batch-size-schedule",
                                           "pipeline-model-parallel-layout",
                                           "standalone-embedding-stage",
                                           "combined-1f1b",
                                           "outer-dp-sharding-strategy",
                                           "fp8-quantized-wire",
                                           "reset-position-ids",
                                           "reset-attention-mask",
                                           "moe-router-padding-for-fp8",
                                           "tp-comm-bulk-dgrad",
                                           "disable-tp-comm-bulk-dgrad",
                                           "disable-tp-comm-bulk-wgrad",
                                           "tp-comm-split-ag",
                                           "disable-tp-comm-split-ag",
                                           "disable-tp-comm-split-rs",
                                           "overlap-param-gather-with-optimizer-step",
                                           "no-overlap-p2p-communication",
                                           "overlap-p2p-communication",
                                           "no-persist-layer-norm",
                                           "no-bias-gelu-fusion",
                                           "no-bias-swiglu-fusion",
                                           "no-bias-dropout-fusion",
                                           "no-masked-softmax-fusion",
                                           "no-rope-fusion",
                                           "no-gradient-accumulation-fusion",
                                           "squared-relu",
                                           "openai-gelu",
                                           "glu-linear-offset",
                                           "activation-func-clamp-value",
                                           "distribute-checkpointed-activations",
                                           "distribute-saved-activations",
                                           "fsdp-double-buffer",
                                           "use-tp-pp-dp-mapping",
                                           "log-params-norm",
                                           "log-num-zeros-in-grad",
                                           "deterministic-mode",
                                           "pp-partition-method",
                                           "embed-layernorm",
                                           "parallel-attn", /* Megatron-LLM, Falcon */
                                           "parallel-layernorm",
                                           NULL};

/* Nothing in the time of a step hangs on these: names, or how they begin (with '*'). */
static const char *const no_effect[] = {"actor-num-nodes", /* launch_world.c */
                                        "actor-num-gpus-per-node",
                                        "moe-tp-extend-ep", /* take_extended_experts */
                                        "save*",
                                        "load*",
                                        "no-load*",
                                        "no-save*",
                                        "ckpt*",
                                        "dist-ckpt*",
                                        "use-dist-ckpt*",
                                        "auto-detect-ckpt-format",
                                        "async-save",
                                        "use-persistent-ckpt-worker",
                                        "use-checkpoint*",
                                        "override-opt*",
                                        "exit-*",
                                        "finetune",
                                        "pretrained-checkpoint",
                                        "data-path",
                                        "data-cache-path",
                                        "data-impl",
                                        "data-args-path",
                                        "train-data*",
                                        "valid-data*",
                                        "test-data*",
                                        "per-split*",
                                        "split",
                                        "mock-data",
                                        "num-workers",
                                        "no-mmap*",
                                        "mmap*",
                                        "no-create-attention-mask-in-dataloader",
                                        "create-attention-mask-in-dataloader",
                                        "no-shared-storage",
                                        "handler-name",
                                        "tokenizer*",
                                        "tiktoken*",
                                        "vocab-file",
                                        "vocab-extra-ids",
                                        "merge-file",
                                        "log-*",
                                        "no-log*",
                                        "logging-level",
                                        "tensorboard*",
                                        "wandb*",
                                        "one-logger*",
                                        "no-one-logger",
                                        "enable-one-logger",
                                        "timing-log*",
                                        "moe-per-layer-logging",
                                        "barrier-with-L1-time",
                                        "no-barrier*",
                                        "profile*",
                                        "use-pytorch-profiler",
                                        "record-memory-history",
                                        "memory-snapshot-path",
                                        "straggler*",
                                        "lr",
                                        "lr-*",
                                        "min-lr",
                                        "decoupled-*",
                                        "warmup",
                                        "override-lr*",
                                        "weight-decay*",
                                        "start-weight-decay",
                                        "end-weight-decay",
                                        "adam-*",
                                        "optimizer",
                                        "sgd-momentum",
                                        "clip-grad",
                                        "init-method*",
                                        "embedding-init-method-std",
                                        "perform-initialization",
                                        "no-initialization",
                                        "use-cpu-initialization",
                                        "init-model-with-meta-device",
                                        "seed",
                                        "lora-alpha",
                                        "lora-dropout",
                                        "lora-load",
                                        "data-parallel-random-init",
                                        "train-iters",
                                        "train-samples",
                                        "train-tokens",
                                        "skip-train",
                                        "eval-*",
                                        "test-mode",
                                        "iterations-to-skip",
                                        "attention-dropout",
                                        "hidden-dropout",
                                        "norm-epsilon",
                                        "layernorm-epsilon",
                                        "rotary-*",
                                        "rope-*",
                                        "use-rope-scaling",
                                        "mscale*",
                                        "beta-fast",
                                        "beta-slow",
                                        "original-max-position-embeddings",
                                        "no-position-embedding",
                                        "loss-scale*",
                                        "initial-loss-scale",
                                        "min-loss-scale",
                                        "hysteresis",
                                        "calculate-per-token-loss",
                                        "mtp-loss-scaling-factor",
                                        "moe-aux-loss-coeff",
                                        "moe-z-loss-coeff",
                                        "moe-router-load-balancing-type",
                                        "moe-router-score-function",
                                        "moe-router-enable-expert-bias",
                                        "moe-router-bias-update-rate",
                                        "moe-router-topk-scaling-factor",
                                        "moe-router-pre-softmax",
                                        "moe-router-group-topk",
                                        "moe-router-num-groups",
                                        "moe-router-topk-limited-devices",
                                        "moe-router-dtype",
                                        "moe-input-jitter-eps",
                                        "moe-enable-deepep",
                                        "moe-flex-dispatcher-backend",
                                        "seq-aux",
                                        "fp8-margin",
                                        "fp8-interval",
                                        "fp8-amax*",
                                        "attention-backend",
                                        "transformer-impl",
                                        "use-mcore-models",
                                        "use-legacy-models",
                                        "distributed-*",
                                        "nccl-communicator-config-path",
                                        "local-rank",
                                        "local_rank",
                                        "lazy-mpu-init",
                                        "accumulate-allreduce-grads-in-fp32",
                                        "ddp-average-in-collective",
                                        "ddp-num-buckets",
                                        "ddp-pad-buckets-for-high-nccl-busbw",
                                        "no-check-for-nan-in-loss-and-grad",
                                        "check-weight-hash*",
                                        "manual-gc-interval",
                                        "rerun-mode",
                                        "error-injection*",
                                        "enable-ft-package",
                                        "inprocess*",
                                        "bert-*",
                                        "disable-bf16-reduced-precision-matmul",
                                        "te-rng-tracker",
                                        "inference*",
                                        "model-type",
                                        "model-type-hf",
                                        "enable-hf2mg-convert",
                                        "seq-length-sampler",
                                        "repeated-dataloader",
                                        "shape-order",
                                        "use-fused-*",
                                        "export-*",
                                        "rope-type",
                                        "custom-*",
                                        "config-path",
                                        "config-name",
                                        /* as we take it anyway */
                                        "moe-grouped-gemm",
                                        "no-pipeline-parallel",
                                        "moe-permute-fusion",
                                        "moe-router-fusion",
                                        "cross-entropy-fusion-impl",
                                        "attention-softmax-in-fp32",
                                        "no-query-key-layer-scaling",
                                        "apply-query-key-layer-scaling",
                                        "gemm-gradient-accumulation-fusion",
                                        "manual-gc",
                                        "check-for-nan-in-loss-and-grad",
                                        "deepspeed",
                                        "deepspeed_config",
                                        "zero-reduce-bucket-size",
                                        "zero-allgather-bucket-size",
                                        "zero-contigious-gradients",
                                        "zero-reduce-scatter",
                                        "synchronize-each-layer",
                                        "contigious-checkpointing",
                                        "checkpoint-num-layers",
                                        "enable-experimental",
                                        "moe-router-force-load-balancing",
                                        "moe-token-drop-policy",
                                        "dataloader-type",
                                        "apply-layernorm-1p",
                                        "empty-unused-memory-level",
                                        "use-nccl-ub",
                                        "spec",
                                        "schedules-method", /* of sc__launch_schedule */
                                        "context-parallel-algo", /* _mindspeed */
                                        "multiple-of", /* sc__launch_feed_forward */
                                        "hidden-dim-multiplier",
                                        "topk",                  /* sc__launch_deepspeed */
                                        "optimizer-cpu-offload", /* sc__launch_offload */
                                        "optimizer-offload-fraction",
                                        "overlap-cpu-optimizer-d2h-h2d",
                                        "cpu-optimizer",
                                        "cpu-offloading-num-layers",
                                        "expert-interval",
                                        "custom-model-provider-path",
                                        "experimental-attention-variant",
                                        "is-hybrid-model",
                                        "abort-on-unmet-fused-kernel-constraints",
                                        "sync-tp-duplicated-parameters",
                                        "kill-switch-path",
                                        "max-padding-length",
                                        "patch-tokenizer-type",
                                        "moe-layer-recompute",
                                        "enable-shared-expert", /* --num-shared-experts */
                                        "extra-vocab-size", /* of sc__launch_vocabulary */
                                        NULL};

/* How the names of sizes of a model end. */
static const char *const shape_endings[] = {"hidden-size",
                                            "intermediate-size",
                                            "vocab-size",
                                            "embedding-size",
                                            "-layers",
                                            "-heads",
                                            "-head-dim",
                                            "-experts",
                                            "-lora-rank",
                                            "-channels",
                                            NULL};

bool sc__flag_shapes_model(const char *name) {
    size_t length = strlen(name);
    for (const char *const *ending = shape_endings; *ending; ending++) {
        size_t n = strlen(*ending);
        if (length >= n && !strcmp(name + length - n, *ending))
            return true;
    }
    return false;
}

static bool flag_matches(const char *const *list, const char *name) {
    for (; *list; list++) {
        size_t n = strlen(*list);
        bool begins = (*list)[n - 1] == '*';
        if (begins ? !strncmp(*list, name, n - 1) : !strcmp(*list, name))
            return true;
    }
    return false;
}

static bool is_option(const struct sc__option *known, const char *name) {
    for (; known && known->name; known++)
        if (!strcmp(known->name, name))
            return true;
    return false;
}

enum sc__flag_kind sc__flag_kind(const struct sc__option *known,
                                 const char *name,
                                 struct sc__flag *as,
                                 const char **why) {
    *as = (struct sc__flag){name, NULL};
    for (size_t i = 0; i < sizeof refused_flags / sizeof *refused_flags; i++)
        if (!strcmp(refused_flags[i].name, name)) {
            *why = refused_flags[i].why;
            return SC__FLAG_REFUSED;
        }
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (!strcmp(other_names[i].name, name))
            *as = other_names[i].as;
    if (is_option(known, as->name) && strcmp(as->name, "hosts")) /* those are names */
        return SC__FLAG_ACTS;
    if (flag_matches(not_modelled, as->name))
        return SC__FLAG_NOT_MODELLED;
    if (flag_matches(no_effect, as->name))
        return SC__FLAG_NO_EFFECT;
    *why = "by its name it shapes the model, and it is not known";
    return sc__flag_shapes_model(name) ? SC__FLAG_REFUSED : SC__FLAG_UNKNOWN;
}
