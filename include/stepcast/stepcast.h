/* stepcast: forecast one training step of a large model on a GPU cluster.
 *
 *     sc_context *ctx = sc_open();
 *     sc_model *model;
 *     sc_cluster *cluster;
 *     sc_result *result;
 *     sc_plan plan = SC_PLAN_INIT;
 *     plan.tp = 8;
 *     plan.pp = 4;
 *     plan.global_batch = 1024;
 *     if (sc_model_load(ctx, "llama3-70b", &model) == SC_OK &&
 *         sc_cluster_load(ctx, "dgx-h100:1024", &cluster) == SC_OK &&
 *         sc_evaluate(ctx, model, &plan, cluster, NULL, &result) == SC_OK)
 *         printf("%g s\n", sc_result_step_us(result) * 1e-6);
 *     else
 *         fputs(sc_error_text(ctx), stderr);
 *
 * Rules that hold for every call:
 *   - Nothing here prints or exits. What fails answers a status other than
 *     SC_OK and leaves its reason in the context (sc_error_text); the object it
 *     should have made is then NULL.
 *   - Objects (model, cluster, workload, result, request) own their memory and
 *     are freed by their own call; freeing NULL does nothing. They do not need
 *     the context they were made with, nor the objects they were made from: all
 *     may be freed in any order. A context grows with nothing.
 *   - A context and a request serve one thread at a time. Models, clusters,
 *     workloads and results never change after they were made: any number of
 *     threads, each with a context of its own, may use one at once.
 *   - Text and arrays that an object hands out live as long as the object.
 *   - A call that can fail answers SC_USAGE where an object, a name or a path that
 *     it needs is NULL (say because the call that should have made it failed). A
 *     context, a place for the answer and the object of a call that cannot fail
 *     must be there.
 *   - Times are microseconds, sizes bytes, shares 0 to 1.
 *   - Structures that the caller fills (sc_plan, sc_options) begin with their
 *     size, so that programs built against an older header go on working. Begin
 *     with SC_PLAN_INIT, SC_OPTIONS_INIT: then every field says "as usual". */
#ifndef STEPCAST_H
#define STEPCAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SC_VERSION_MAJOR 0
#define SC_VERSION_MINOR 1
#define SC_VERSION_PATCH 0
#define SC_VERSION "0.1.0"
/* For #if: SC_VERSION_NUMBER >= 100 is 0.1.0 or newer. */
#define SC_VERSION_NUMBER                                                                  \
    (SC_VERSION_MAJOR * 10000 + SC_VERSION_MINOR * 100 + SC_VERSION_PATCH)

#if defined(__GNUC__)
#define SC_API __attribute__((visibility("default")))
#else
#define SC_API
#endif

/* What a call answers. */
typedef enum sc_status {
    SC_OK = 0,        /* done */
    SC_NO = 1,        /* done, and the answer is "no": over tolerance */
    SC_USAGE = 2,     /* the request itself is wrong: an option, a plan that cannot be */
    SC_INPUT = 3,     /* an input is wrong: sc_error_text says where and why */
    SC_SYSTEM = 4,    /* out of memory, disk full, unreadable file */
    SC_CANCELLED = 5, /* the progress callback said so */
    SC_NO_FIT = 6     /* done, and the answer is "no": it does not fit into memory */
} sc_status;

typedef struct sc_context sc_context;
typedef struct sc_model sc_model;
typedef struct sc_cluster sc_cluster;
typedef struct sc_workload sc_workload;
typedef struct sc_result sc_result;
typedef struct sc_request sc_request;

/* The version of the library: "MAJOR.MINOR.PATCH", and SC_VERSION_NUMBER. */
SC_API const char *sc_version(void);
SC_API int sc_version_number(void);

/* What the program exits with: the status, but for SC_NO_FIT, which is a "no". */
SC_API int sc_exit_code(sc_status status);

/* ---- context ---- */

/* NULL when memory is short. Closing frees the requests made with it. */
SC_API sc_context *sc_open(void);
SC_API void sc_close(sc_context *ctx);

/* Called now and then while long calls run, from the thread that made the call,
 * with what is being done and how much of it, 0 to 1. Anything but 0 cancels
 * the call, which then answers SC_CANCELLED. It must not call the library with
 * this context. NULL: no calls. */
typedef int sc_progress(void *user, const char *what, double share);
SC_API void sc_set_progress(sc_context *ctx, sc_progress *show, void *user);

/* The last error as "file:line:column: error: what" with a hint line below it
 * where there is one; empty when the last call succeeded. Valid until the next
 * call with this context. The parts are there as well, for callers that raise
 * exceptions: file is NULL, and line and column are 0, where unknown. */
SC_API const char *sc_error_text(const sc_context *ctx);
SC_API const char *sc_error_message(const sc_context *ctx);
SC_API const char *sc_error_hint(const sc_context *ctx);
SC_API const char *sc_error_file(const sc_context *ctx);
SC_API unsigned long sc_error_line(const sc_context *ctx);
SC_API unsigned long sc_error_column(const sc_context *ctx);

/* An option by its long name without dashes ("seq-length"), and its value as
 * text; NULL or "" for a flag. */
typedef struct sc_setting {
    const char *name;
    const char *value;
} sc_setting;

/* ---- model: what is trained ---- */

/* A preset ("llama3-70b"), a config.json of Hugging Face, or a folder with one. */
SC_API sc_status sc_model_load(sc_context *ctx, const char *name, sc_model **out);
/* The bytes of a config.json; name is what errors call it. */
SC_API sc_status sc_model_parse(
    sc_context *ctx, const char *name, const void *bytes, size_t size, sc_model **out);
/* Shapes by Megatron's names ("num-layers", "hidden-size" …), on top of the
 * model that "model" names where it is among them. */
SC_API sc_status sc_model_build(sc_context *ctx,
                                const sc_setting *settings,
                                size_t count,
                                sc_model **out);
SC_API void sc_model_free(sc_model *model);
SC_API const char *sc_model_name(const sc_model *model);
SC_API uint32_t sc_model_layers(const sc_model *model);
/* All parameters, and those one token passes through. */
SC_API double sc_model_parameters(const sc_model *model);
SC_API double sc_model_active_parameters(const sc_model *model);

/* ---- cluster: where it is trained ---- */

/* A preset with or without a number of GPUs ("dgx-h100:1024", "dgx-h100"), a
 * one-line description ("dgx-h100:64 nic=200Gbps") or a file. Without a number
 * it is as large as the job. */
SC_API sc_status sc_cluster_load(sc_context *ctx, const char *text, sc_cluster **out);
/* The bytes of a file of any format that sc_cluster_load reads. */
SC_API sc_status sc_cluster_parse(
    sc_context *ctx, const char *name, const void *bytes, size_t size, sc_cluster **out);
SC_API void sc_cluster_free(sc_cluster *cluster);
SC_API const char *sc_cluster_name(const sc_cluster *cluster);
/* 0: as many as the job has. */
SC_API uint32_t sc_cluster_gpus(const sc_cluster *cluster);

/* ---- plan: how it is cut and run ---- */

/* In every enumeration 0 is "as usual". */
typedef enum sc_toggle { SC_AUTO, SC_ON, SC_OFF } sc_toggle;

typedef enum sc_schedule {
    SC_SCHEDULE_AUTO, /* interleaved with vpp > 1, else 1F1B */
    SC_SCHEDULE_1F1B,
    SC_SCHEDULE_GPIPE,
    SC_SCHEDULE_INTERLEAVED,
    SC_SCHEDULE_ZB_H1,
    SC_SCHEDULE_ZB_2P,
    SC_SCHEDULE_ZB_V,
    SC_SCHEDULE_DUALPIPEV,
    SC_SCHEDULE_DUALPIPE
} sc_schedule;

typedef enum sc_recompute {
    SC_RECOMPUTE_AUTO, /* none */
    SC_RECOMPUTE_NONE,
    SC_RECOMPUTE_SELECTIVE, /* the core of attention, or recompute_modules */
    SC_RECOMPUTE_FULL,      /* whole layers */
    SC_RECOMPUTE_OPS        /* PyTorch's selective checkpointing of operators */
} sc_recompute;

enum { /* sc_plan.recompute_modules: a sum; 0 is the core of attention */
       SC_MODULE_CORE_ATTENTION = 1,
       SC_MODULE_LAYERNORM = 2, /* norms that Megatron has apart from products */
       SC_MODULE_ACTIVATION = 4,
       SC_MODULE_MLP = 8,
       SC_MODULE_MOE = 16,
       SC_MODULE_MOE_ACTIVATION = 32,
       SC_MODULE_SHARED_EXPERTS = 64,
       SC_MODULE_MLA_UP_PROJECTION = 128,
       SC_MODULE_NORM = 256 /* all norms of a layer */
};

typedef enum sc_recompute_method {
    SC_RECOMPUTE_METHOD_AUTO, /* uniform */
    SC_RECOMPUTE_UNIFORM,     /* all layers */
    SC_RECOMPUTE_BLOCK        /* the first recompute_layers of a stage */
} sc_recompute_method;

typedef enum sc_dtype {
    SC_DTYPE_AUTO,
    SC_DTYPE_FP32,
    SC_DTYPE_TF32,
    SC_DTYPE_FP16,
    SC_DTYPE_BF16,
    SC_DTYPE_FP8,
    SC_DTYPE_FP4
} sc_dtype;

typedef enum sc_fp8_scaling {
    SC_FP8_SCALING_AUTO, /* fused */
    SC_FP8_FUSED,        /* Transformer Engine */
    SC_FP8_DYNAMIC       /* PyTorch's float8 */
} sc_fp8_scaling;

typedef enum sc_fp8_recipe {
    SC_FP8_RECIPE_AUTO,       /* delayed; nvfp4 with GEMMs in fp4 */
    SC_FP8_RECIPE_DELAYED,    /* scaled by maxima of steps before */
    SC_FP8_RECIPE_TENSORWISE, /* scaled by the maximum of the tensor at hand */
    SC_FP8_RECIPE_BLOCKWISE,  /* by blocks of 128 */
    SC_FP8_RECIPE_MXFP8,      /* by blocks of 32 */
    SC_FP8_RECIPE_NVFP4,      /* fp4 by blocks of 16, with a Hadamard transform */
    SC_FP8_RECIPE_ROWWISE     /* by the maximum of each row at hand, as torchao does */
} sc_fp8_recipe;

typedef enum sc_fusion {
    SC_FUSION_AUTO, /* Megatron's */
    SC_FUSION_MEGATRON,
    SC_FUSION_EAGER, /* plain PyTorch */
    SC_FUSION_2021,  /* Megatron of 2021 */
    SC_FUSION_HF     /* Hugging Face's transformers */
} sc_fusion;

typedef enum sc_attention {
    SC_ATTENTION_AUTO, /* current; unfused with the operators of 2021 */
    SC_ATTENTION_CURRENT,
    SC_ATTENTION_FLASH2,
    SC_ATTENTION_FLASH1,
    SC_ATTENTION_UNFUSED, /* scores are written, and kept for backward */
    SC_ATTENTION_FUSED    /* as the software has it, FLASH2 where that is unfused */
} sc_attention;

typedef enum sc_tp_overlap {
    SC_TP_OVERLAP_AUTO,  /* behind the weight gradient; not at all in code of 2021 */
    SC_TP_OVERLAP_NO,    /* collectives of tensor parallelism hide behind nothing */
    SC_TP_OVERLAP_WGRAD, /* those of backward, behind the weight gradient */
    SC_TP_OVERLAP_CHUNKS /* in chunks behind the GEMMs they belong to */
} sc_tp_overlap;

typedef enum sc_cp_comm {
    SC_CP_COMM_AUTO, /* ring */
    SC_CP_COMM_P2P,  /* ring */
    SC_CP_COMM_ALL_GATHER,
    SC_CP_COMM_ALL_TO_ALL
} sc_cp_comm;

typedef enum sc_moe_dispatcher {
    SC_MOE_DISPATCHER_AUTO, /* all-to-all */
    SC_MOE_DISPATCHER_ALL_TO_ALL,
    SC_MOE_DISPATCHER_ALL_GATHER, /* not simulated: refused */
    SC_MOE_DISPATCHER_FLEX        /* each token once per rank */
} sc_moe_dispatcher;

typedef enum sc_moe_kernels {
    SC_MOE_KERNELS_AUTO,    /* grouped */
    SC_MOE_KERNELS_FUSED,   /* grouped, with activation and casts in the products */
    SC_MOE_KERNELS_UNFUSED, /* expert by expert */
    SC_MOE_KERNELS_GROUPED  /* one product for all experts, other kernels apart */
} sc_moe_kernels;

typedef enum sc_moe_routing {
    SC_MOE_ROUTING_AUTO, /* random */
    SC_MOE_ROUTING_RANDOM,
    SC_MOE_ROUTING_IN_TURN /* a token takes the experts behind those of the one before it */
} sc_moe_routing;

typedef enum sc_update {
    SC_UPDATE_AUTO,  /* mixed; plain for plain PyTorch on one GPU */
    SC_UPDATE_MIXED, /* fp32 weights and state, gradients clipped */
    SC_UPDATE_PLAIN, /* state of the weights' type, no clipping */
    SC_UPDATE_AMP    /* fp32 weights that are cast for every product (autocast) */
} sc_update;

typedef enum sc_optimizer {
    SC_OPTIMIZER_AUTO, /* Adam */
    SC_OPTIMIZER_ADAM,
    SC_OPTIMIZER_ADAM_LISTS, /* PyTorch's foreach: roots of second moments on the way */
    SC_OPTIMIZER_ADAM_8BIT,  /* state of a byte each */
    SC_OPTIMIZER_MUON,       /* Adam for the embeddings */
    SC_OPTIMIZER_SGD         /* without momentum */
} sc_optimizer;

typedef enum sc_cross_entropy {
    SC_CROSS_ENTROPY_AUTO,    /* fused; plain PyTorch: fp32 */
    SC_CROSS_ENTROPY_FUSED,   /* Megatron's, compiled: one fp32 copy of the logits */
    SC_CROSS_ENTROPY_FP32,    /* PyTorch's, of logits widened to fp32 */
    SC_CROSS_ENTROPY_HALF,    /* PyTorch's, of the logits as they are */
    SC_CROSS_ENTROPY_CHUNKED, /* logits are never there as a whole */
    SC_CROSS_ENTROPY_FLASH,   /* one kernel (flash-attention's): logits and gradient */
    SC_CROSS_ENTROPY_TE,     /* Transformer Engine's: the gradient in place of the logits */
    SC_CROSS_ENTROPY_UNFUSED /* Megatron's, operator by operator on the fp32 copy */
} sc_cross_entropy;

enum { /* sc_plan.lora_targets: linear layers with adapters, a sum */
       SC_LORA_QUERY = 1,
       SC_LORA_KEY = 2,
       SC_LORA_VALUE = 4,
       SC_LORA_OUT = 8,
       SC_LORA_GATE = 16,
       SC_LORA_UP = 32,
       SC_LORA_DOWN = 64,
       SC_LORA_SCAN_IN = 128, /* of Mamba-2 and gated delta nets */
       SC_LORA_SCAN_OUT = 256 /* the same; of models without them SC_LORA_OUT */
};

enum { /* sc_plan.cuda_graphs: what is launched as one graph, a sum */
       SC_GRAPH_ATTENTION = 1,
       SC_GRAPH_MOE_ROUTER = 2,
       SC_GRAPH_MLP = 4,
       SC_GRAPH_FULL_ITERATION = 8,
       SC_GRAPH_NONE = 16 /* nothing is, whatever the software's profile says */
};

/* Numbers: 0 is "as usual", or "as the others say" (gpus, dp, global_batch …). */
typedef struct sc_plan {
    size_t size;   /* sizeof(sc_plan) */
    uint32_t gpus; /* of the job; 0: the product of the sizes, or the cluster's */
    uint32_t tp;   /* tensor parallel */
    uint32_t cp;   /* context parallel */
    uint32_t pp;   /* pipeline stages */
    uint32_t dp;   /* data parallel; 0: what is left of the GPUs */
    uint32_t ep;   /* expert parallel */
    uint32_t etp;  /* tensor parallel of experts; 0: as tp */
    uint32_t vpp;  /* virtual stages per pipeline stage */
    uint32_t layers_per_virtual_stage; /* says vpp in another way */
    sc_schedule schedule;
    sc_toggle uneven_stages;     /* layers that pp·vpp does not divide are spread */
    uint32_t first_stage_layers; /* 0: even */
    uint32_t last_stage_layers;
    sc_toggle count_embedding; /* as a layer, when layers are spread over stages */
    sc_toggle count_loss;
    sc_toggle scatter_gather; /* messages between stages are cut by tp; usually on */

    uint32_t micro_batch;   /* sequences per micro-batch and rank */
    uint32_t micro_batches; /* per step and rank; gives what is not given of the others */
    uint32_t global_batch;  /* sequences per step */
    uint32_t seq;           /* tokens per sequence */

    sc_recompute recompute;
    unsigned recompute_modules; /* SC_MODULE_… */
    sc_recompute_method recompute_method;
    uint32_t recompute_layers;
    sc_toggle sequence_parallel;
    int zero; /* what data parallel ranks shard, 0 … 3; -1: as usual, nothing */
    sc_toggle torch_fsdp2; /* with the copies PyTorch makes around its collectives */

    sc_dtype dtype;          /* bf16 */
    sc_dtype gemm_dtype;     /* of linear layers: as dtype, or fp8, fp4 */
    sc_dtype grad_dtype;     /* on the wire: fp32, bf16 or fp16 */
    sc_toggle fp8_attention; /* attention in fp8 */
    sc_fp8_scaling fp8_scaling;
    sc_fusion fusion;
    sc_attention attention;
    sc_toggle dropout;

    sc_toggle overlap_grad;  /* gradient reduction behind backward; usually on */
    sc_toggle overlap_param; /* gathering of updated weights behind forward; usually off */
    sc_toggle overlap_p2p;   /* messages between stages behind compute */
    sc_toggle overlap_moe;   /* expert dispatch behind other micro-batches; usually off */
    sc_tp_overlap overlap_tp;
    sc_cp_comm cp_comm;
    uint64_t bucket_bytes;      /* of a gradient bucket */
    uint32_t bucket_parameters; /* the same counted in parameters */

    double moe_imbalance;       /* tokens of the fullest expert rank over the mean; 1 */
    double moe_capacity_factor; /* 0: no tokens are dropped */
    sc_moe_dispatcher moe_dispatcher;
    sc_moe_kernels moe_kernels;
    sc_moe_routing moe_routing; /* which ranks a token goes to */

    double host_launch_us; /* host time per kernel; < 0: of the software */
    unsigned cuda_graphs;  /* SC_GRAPH_… */
    sc_update update;
    sc_toggle optimizer;        /* the step ends with one; usually on */
    sc_toggle ignore_memory;    /* go on when it does not fit */
    uint32_t vocab_multiple;    /* the vocabulary is padded to a multiple of this · tp */
    const char *gpu;            /* NULL: the cluster's */
    const char *kernel_times;   /* file of measured kernel times, or NULL */
    const char *step_constants; /* file of constants of the step model, or NULL */
    const char *software;       /* profile of what runs it, or NULL: one is assumed */
    sc_fp8_recipe fp8_recipe;   /* how tensors are scaled to fp8 or fp4 */

    sc_optimizer optimizer_kind;
    sc_cross_entropy cross_entropy;
    sc_toggle reshard;     /* weights of ZeRO 3 are given back after forward; usually on
                              without a pipeline, off with one */
    sc_toggle fp8_params;  /* weights kept and gathered in fp8 */
    uint32_t lora;         /* rank of adapters beside frozen weights; 0: all are trained */
    unsigned lora_targets; /* SC_LORA_…; 0: queries and values */
    sc_toggle lora_fp32;   /* adapters in fp32; usually off */
    sc_toggle qlora;       /* the frozen weights in 4 bits */
    uint32_t shard_group;  /* ranks that ZeRO shards over (hybrid sharding); 0: all */
    double moe_skew; /* exponent of the power law by which experts are wanted; 0: alike */
    double offload_optimizer;     /* share of the optimizer's state that is on the host and
                                     updated there; 0: none */
    sc_toggle offload_params;     /* weights of ZeRO 3 wait on the host; usually off */
    uint32_t offload_activations; /* layers of a stage whose activations wait there */
    sc_toggle overlap_offload;    /* copies for the update run beside backward and beside
                                     each other; usually off */
    double gpu_spread; /* standard deviation of the GPUs' pace, as a share: a step waits for
                          the slowest; 0: all alike */
    uint32_t bf16_first; /* layers whose products stay in bf16 beside fp8 or fp4 */
    uint32_t bf16_last;
    uint32_t host_threads; /* of a rank, for what runs on the host; 0: the cores it has */
    uint32_t images;       /* pictures of a sequence, which a tower of the model reads */
    uint32_t image_size;  /* pixels of their side; 0: as the tower's configuration has it */
    double audio_seconds; /* of sound in a sequence */
    sc_toggle freeze_towers; /* they are not trained, what connects them is; usually off */
    uint32_t optimizer_instances; /* shard_group in Megatron's words: so many groups of
                                     equal size that shard; 0: shard_group says */
    uint32_t pipeline_batch;      /* micro-batches that go through the pipeline before it is
                                     emptied; 0: all of the step */
    sc_toggle precision_aware; /* bf16 weights and 16 bits more are the main copy, gradients
                                  are not widened for the update; usually off */
    sc_dtype main_params_dtype; /* of the main copy of the weights; fp32 */
    sc_dtype exp_avg_dtype;     /* of Adam's first moment; fp32 */
    sc_dtype exp_avg_sq_dtype;  /* of its second */
    sc_toggle lora_autocast;    /* adapters in fp32, their products in the type of the
                                   others; usually off */
    uint32_t microbatch_group;  /* micro-batches that pass a chunk one after another,
                                   interleaved; 0: as many as stages */
    uint32_t hosts; /* where neither gpus, dp nor the cluster's size says it: all GPUs of so
                       many hosts of the cluster, and as many more as the sizes need */
    sc_dtype grad_accum_dtype; /* gradients beside a main copy of the weights, over
                                  micro-batches; as on the wire, but fp32 for fp16 */
    sc_toggle liger_kernel;    /* Liger's kernels in transformers' modules; usually off */
} sc_plan;

#define SC_PLAN_INIT                                                                       \
    { .size = sizeof(sc_plan), .zero = -1, .host_launch_us = -1 }

/* Sets a field by the name of its option, Megatron's names included ("tp",
 * "tensor-model-parallel-size", "recompute"), as the program would. SC_USAGE
 * names the option. A text value ("gpu") is kept as the pointer given. */
SC_API sc_status sc_plan_set(sc_context *ctx,
                             sc_plan *plan,
                             const char *name,
                             const char *value);
/* The model and the plan of a Megatron launch script, which is read and not run.
 * plan may be NULL. */
SC_API sc_status sc_model_load_script(sc_context *ctx,
                                      const char *path,
                                      sc_model **out,
                                      sc_plan *plan);

/* ---- options: how it is simulated ---- */

typedef struct sc_options {
    size_t size;     /* sizeof(sc_options) */
    const char *net; /* engine: NULL or "analytic", "flow", "packet", "loggops" */
    /* Of the engine: "fail", "degrade", "route" (which are flow's), "loggops";
     * "astra-network" with a file of ASTRA-sim is a network by itself. */
    const sc_setting *net_settings;
    size_t net_setting_count;
    const char *algo;          /* of collectives: NULL or "auto", "ring", "tree" … */
    const char *proto;         /* NULL, "auto", "simple", "ll,simple", "^ll128" … */
    sc_toggle by_tuner;        /* choose as NCCL's cost table would */
    sc_toggle no_pxn;          /* all-to-all may not change rails inside the node */
    sc_toggle two_level;       /* all-to-all as DeepEP: once to each node */
    double copies;             /* ranks a token goes to then; 0: as the plan has it */
    uint32_t gpus_per_process; /* 0: 1 */
    const char *rank_file;     /* the GPU of each rank, a line each; or NULL */
    const char *rank_order;    /* NULL or like "tp-cp-ep-dp-pp", fastest first */
    const char *const *slow;   /* "rank:5=1.2" …, NULL-terminated; or NULL */
    double gpu_speedup;        /* compute this much faster; 0: 1 */
    const char *const *scale;  /* "NAME=X" …, NULL-terminated; or NULL */
    double comm_sm_tax;        /* compute is slower by this share beside transfers; 0: as
                                * the software has it; SC_NO_TAX: not at all */
    sc_toggle timeline; /* keep every operation, for the critical path, csv, html, trace */
    sc_toggle what_if;  /* simulate again with each part faster, see sc_result_what_if */
    uint32_t net_channels; /* to a peer on another node; 0: as the library has them */
} sc_options;

#define SC_NO_TAX (-1.0)

#define SC_OPTIONS_INIT                                                                    \
    { .size = sizeof(sc_options) }

/* ---- workload: what is simulated ---- */

/* Files of any known format, or a folder; settings are the options of the
 * format ("format", "micro-batches", "pp-comm" …). The cluster says how many
 * ranks there are and what GPU they have, where the files do not; may be NULL. */
SC_API sc_status sc_workload_load(sc_context *ctx,
                                  const char *const *paths,
                                  size_t path_count,
                                  const sc_setting *settings,
                                  size_t setting_count,
                                  const sc_cluster *cluster,
                                  sc_workload **out);
/* The bytes of one such file. */
SC_API sc_status sc_workload_parse(sc_context *ctx,
                                   const char *name,
                                   const void *bytes,
                                   size_t size,
                                   const sc_setting *settings,
                                   size_t setting_count,
                                   const sc_cluster *cluster,
                                   sc_workload **out);
/* A model cut by a plan. */
SC_API sc_status sc_workload_lower(sc_context *ctx,
                                   const sc_model *model,
                                   const sc_plan *plan,
                                   const sc_cluster *cluster,
                                   const sc_options *options,
                                   sc_workload **out);
SC_API void sc_workload_free(sc_workload *workload);
SC_API uint32_t sc_workload_ranks(const sc_workload *workload);
SC_API const char *sc_workload_format(const sc_workload *workload);

/* ---- evaluation ---- */

/* One step of the model under the plan on the cluster; cluster NULL: the machine that
 * plan->gpu comes in, or dgx-h100, of the job's size. options may be NULL.
 * SC_USAGE: the plan cannot be, and the error says which would; SC_NO_FIT: it
 * does not fit into memory. What was assumed is in the result's notes. */
SC_API sc_status sc_evaluate(sc_context *ctx,
                             const sc_model *model,
                             const sc_plan *plan,
                             const sc_cluster *cluster,
                             const sc_options *options,
                             sc_result **out);
/* One step of a workload. cluster NULL: dgx-h100 of the job's size. */
SC_API sc_status sc_simulate(sc_context *ctx,
                             const sc_workload *workload,
                             const sc_cluster *cluster,
                             const sc_options *options,
                             sc_result **out);
SC_API void sc_result_free(sc_result *result);

/* ---- result ---- */

SC_API double sc_result_step_us(const sc_result *r);
/* 0 where unknown: workloads do not always say how many FLOPs or tokens, and prices are
 * those of a GPU's own file (usd_per_hour). */
SC_API double sc_result_mfu(const sc_result *r);
SC_API double sc_result_hfu(const sc_result *r);
SC_API double sc_result_tokens_per_s(const sc_result *r);
SC_API double sc_result_tflops_per_gpu(const sc_result *r);
SC_API double sc_result_energy_j(const sc_result *r);
SC_API double sc_result_cost_usd(const sc_result *r);
SC_API uint64_t sc_result_events(const sc_result *r);
SC_API uint32_t sc_result_ranks(const sc_result *r);

/* Ranks that do the same are one stage ("stage 3", 128 ranks): a pipeline
 * stage, or a part of one where a rank is slower than the rest. */
SC_API uint32_t sc_result_stages(const sc_result *r);
/* The stage that ends last. */
SC_API uint32_t sc_result_slowest_stage(const sc_result *r);

/* Where the time of a stage went; the parts add up to the step. */
typedef struct sc_breakdown {
    const char *stage; /* its name */
    uint32_t ranks;
    double end_us; /* of its last operation */
    double compute_us;
    double recompute_us;
    double bubble_us;  /* nothing to do: the pipeline fills and drains */
    double exposed_us; /* communication that nothing hides */
    double skew_us;    /* waiting for slower ranks of a collective */
    double other_us;
} sc_breakdown;
/* SC_USAGE when there is no such stage. */
SC_API sc_status sc_result_breakdown(const sc_result *r, uint32_t stage, sc_breakdown *out);

/* Communication of one rank of a stage, by group ("tp", "dp", "pp" …). */
typedef struct sc_communication {
    const char *group;
    uint64_t operations;
    uint64_t bytes;
    double busy_us;    /* hidden or not */
    double exposed_us; /* not hidden */
} sc_communication;
SC_API uint32_t sc_result_groups(const sc_result *r);
SC_API sc_status sc_result_communication(const sc_result *r,
                                         uint32_t stage,
                                         uint32_t group,
                                         sc_communication *out);

/* Memory of one GPU of a stage, bytes; all 0 where the input does not say. */
typedef struct sc_memory {
    uint64_t weights;
    uint64_t gradients;
    uint64_t optimizer;
    uint64_t activations;
    uint64_t logits;    /* and their gradients */
    uint64_t workspace; /* one layer computed again, gradients on their way, libraries */
    uint64_t communication; /* buffers of NCCL */
    uint64_t context;       /* CUDA's, with the code of the kernels */
    uint64_t fragmentation; /* what the allocator holds and cannot give */
    uint64_t total;
    uint64_t capacity; /* of the card, as programs see it */
} sc_memory;
SC_API sc_status sc_result_memory(const sc_result *r, uint32_t stage, sc_memory *out);
/* What a rank of the stage keeps in the memory of its host, bytes (sc_plan.offload_…). */
SC_API uint64_t sc_result_host_bytes(const sc_result *r, uint32_t stage);

/* What the step would take if one part of it took half its time, or none. Most to
 * gain first; none without options.what_if. SC_USAGE past the last. */
typedef struct sc_what_if {
    const char *key;   /* "gemm", "recompute", "comm:tp" … */
    const char *title; /* for people */
    double half_us;
    double zero_us;
} sc_what_if;
SC_API sc_status sc_result_what_if(const sc_result *r, uint32_t i, sc_what_if *out);

/* The chain of operations, each waiting for the one before it, that ends with the
 * step: pieces follow each other without gaps. None without options.timeline.
 * SC_USAGE past the last. */
typedef struct sc_critical {
    uint32_t stage;
    const char *operation; /* NULL: the stage did nothing */
    double start_us;
    double end_us;
} sc_critical;
SC_API sc_status sc_result_critical_path(const sc_result *r, uint32_t i, sc_critical *out);

/* The plan as it was run: every field resolved. NULL for workloads from files. */
SC_API const sc_plan *sc_result_plan(const sc_result *r);

/* What was assumed: a short stable code for programs, a sentence for people.
 * NULL past the last. */
SC_API uint32_t sc_result_notes(const sc_result *r);
SC_API const char *sc_result_note_code(const sc_result *r, uint32_t i);
SC_API const char *sc_result_note_text(const sc_result *r, uint32_t i);

/* Takes bytes as they are made; anything but 0 ends the writing, which then
 * answers SC_SYSTEM. */
typedef int sc_sink(void *user, const void *bytes, size_t size);
/* "json", "text", "csv", "html", or "trace" for Perfetto. The last three need
 * options.timeline; SC_USAGE otherwise, and for a format that there is not. ctx
 * takes the error. */
SC_API sc_status sc_result_write(
    sc_context *ctx, const sc_result *r, const char *format, sc_sink *sink, void *user);

/* ---- requests: the command line as strings ----
 *
 *     sc_request *req = sc_request_new(ctx, "run");
 *     sc_request_input(req, "workload.txt");
 *     sc_request_set(req, "cluster", "dgx-h100:1024");
 *     sc_request_set(req, "json", "-");
 *     if (sc_execute(req) == SC_OK) puts(sc_request_output(req));
 *     sc_request_free(req); */

/* A request for one command ("run", "show", "coll", …). NULL when there is no
 * such command; sc_error_text then suggests one. */
SC_API sc_request *sc_request_new(sc_context *ctx, const char *command);
SC_API void sc_request_free(sc_request *req);

/* Sets an option by its long name without dashes, or by its letter. A flag
 * takes the value NULL. Options that may be repeated are added to. */
SC_API sc_status sc_request_set(sc_request *req, const char *name, const char *value);
/* 1 where the command has this option and it takes a value, else 0. */
SC_API int sc_request_takes_value(const sc_request *req, const char *name);

/* What an option of the terminal (color, quiet) was set to last, "" for a flag; NULL when
 * it was not. They change no answer: the program that asks looks at them. */
SC_API const char *sc_request_terminal_option(const sc_request *req, const char *name);

/* Adds an input path (or "-" for standard input). */
SC_API sc_status sc_request_input(sc_request *req, const char *path);

/* The command as it was typed, for reports; must live as long as the request. */
SC_API void sc_request_set_command_line(sc_request *req, int argc, const char *const *argv);
/* The output is for a terminal: with colours, and this many columns (0: unknown). */
SC_API void sc_request_set_terminal(sc_request *req, int colours, unsigned columns);
/* Output goes to the sink as it is made instead of being kept. */
SC_API void sc_request_set_sink(sc_request *req, sc_sink *sink, void *user);

/* Runs the request; again, and it is run anew. SC_OK, SC_NO and SC_NO_FIT leave
 * the output in place. */
SC_API sc_status sc_execute(sc_request *req);

/* What the command line would print on standard output: the table, or with
 * the option json set to "-" the JSON document alone. Valid until the request
 * is run again or freed; empty with a sink. */
SC_API const char *sc_request_output(const sc_request *req);
SC_API size_t sc_request_output_size(const sc_request *req);

/* What was assumed in the last run; a "no" rests on it. NULL past the last. */
SC_API const char *sc_request_note(const sc_request *req, uint32_t i);
/* 1 where what the last run printed has these notes; 0 where a format without room for
 * them took standard output (CSV, a workload, a launch script). */
SC_API int sc_request_says_notes(const sc_request *req);
/* The i-th file that the last run wrote, as it was named; NULL past the last. */
SC_API const char *sc_request_file(const sc_request *req, uint32_t i);

/* The i-th command and its one-line summary; NULL past the last. */
SC_API const char *sc_command_name(uint32_t i);
SC_API const char *sc_command_summary(uint32_t i);
/* What `stepcast help COMMAND` prints; "run all": with rarely needed groups of options. */
SC_API sc_status sc_command_help(sc_context *ctx,
                                 const char *command,
                                 sc_sink *sink,
                                 void *user);

#ifdef __cplusplus
}
#endif
#endif
