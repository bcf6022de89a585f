/* plan: how a model is trained: parallel sizes, batch, recompute, what is
 * sharded and what is overlapped.
 *
 *   options (plan/options.c), a launch script, a program
 *       → sc_plan (include/stepcast), where much may be left open
 *       → struct sc__plan, where nothing is: completed with defaults, each a
 *         note, and checked against the model */
#ifndef SC_LOWER_PLAN_H
#define SC_LOWER_PLAN_H

#include "hardware/cluster.h"
#include "hardware/kernel_layer.h"
#include "lower/pipeline.h"
#include "model/model.h"
#include "plan/software.h"

enum sc__recompute {
    SC__RECOMPUTE_NONE,
    SC__RECOMPUTE_SELECTIVE, /* the core of attention, or the modules named */
    SC__RECOMPUTE_FULL,      /* whole layers */
    SC__RECOMPUTE_OPS        /* all but attention and every second GEMM (PyTorch's selective
                                checkpointing) */
};

enum { /* --recompute-modules */
       SC__MODULE_CORE = 1,
       SC__MODULE_LAYERNORM = 2, /* of Megatron: sc__plan_repeats_norm */
       SC__MODULE_ACTIVATION = 4,
       SC__MODULE_MLP = 8,  /* of layers without experts */
       SC__MODULE_MOE = 16, /* of layers with them, dispatch included */
       SC__MODULE_EXPERT_ACTIVATION = 32,
       SC__MODULE_SHARED = 64,
       SC__MODULE_LATENT = 128, /* the way up of latent attention */
       SC__MODULE_NORM = 256
};

enum { /* --cuda-graph: what is launched as one graph */
       SC__GRAPH_ATTENTION = 1,
       SC__GRAPH_ROUTER = 2, /* routing and what prepares the exchange */
       SC__GRAPH_MLP = 4,
       SC__GRAPH_FULL = 8 /* the whole iteration: no host at all */
};

/* How the collectives of tensor parallelism hide. */
enum sc__tp_overlap {
    SC__TP_BLOCKING, /* not at all: code of 2021 */
    SC__TP_WGRAD,    /* those of backward, behind the weight gradient */
    SC__TP_CHUNKS    /* in chunks behind the GEMMs they belong to (user buffers, async TP)
                      */
};

enum sc__cp_kind { SC__CP_RING, SC__CP_GATHER, SC__CP_ALLTOALL };

enum sc__optimizer {
    SC__OPTIMIZER_ADAM,
    SC__OPTIMIZER_ADAM_LISTS,
    SC__OPTIMIZER_ADAM_8BIT,
    SC__OPTIMIZER_MUON,
    SC__OPTIMIZER_SGD
};

enum sc__loss { /* how the cross entropy is computed */
                SC__LOSS_FUSED,
                SC__LOSS_FP32,
                SC__LOSS_HALF,
                SC__LOSS_CHUNKED,
                SC__LOSS_FLASH,
                SC__LOSS_TE,
                SC__LOSS_UNFUSED
};

enum { /* --lora-targets */
       SC__LORA_Q = 1,
       SC__LORA_K = 2,
       SC__LORA_V = 4,
       SC__LORA_OUT = 8,
       SC__LORA_GATE = 16,
       SC__LORA_UP = 32,
       SC__LORA_DOWN = 64,
       SC__LORA_SCAN_IN = 128,
       SC__LORA_SCAN_OUT = 256
};

/* Memory that no tensor of the model takes (data/memory.json). Bytes, but for shares
 * and counts. */
struct sc__memory_figures {
    double context;
    double workspace;     /* of cuBLAS, forward and backward */
    double fragmentation; /* share of what comes and goes */
    double channels;      /* of a communicator of NCCL */
    double channel_bytes;
};

sc_status sc__memory_figures(struct sc_context *ctx, struct sc__memory_figures *out);

/* Of what mixed precision keeps beside the weights (enum sc__dtype). */
struct sc__optimizer_types {
    unsigned main; /* copy of the weights */
    unsigned moments[2];
    bool precise; /* lower halves of bf16 weights, gradients as they are reduced */
};

/* Ranks of an expert-parallel group by how many tokens their experts get: levels of
 * equal ranks, the fullest first and alone. */
#define SC__ROUTING_LEVELS 8
struct sc__routing {
    uint32_t levels;                 /* 0: all alike */
    double load[SC__ROUTING_LEVELS]; /* tokens over the mean */
    uint32_t ranks[SC__ROUTING_LEVELS];
};

struct sc__plan {
    struct sc__mesh mesh;
    uint32_t gpus;
    uint32_t vpp;
    uint32_t micro_batch;
    uint32_t global_batch;
    uint32_t micro_batches;
    uint32_t pipeline_batch; /* micro-batches between two times that the pipeline is empty;
                                0: all */
    uint32_t microbatch_group; /* that pass a chunk one after another; 0: as the stages */
    uint32_t seq;
    uint32_t vocab;          /* padded so that tp divides it */
    uint32_t vocab_multiple; /* what it was padded to, over tp */
    enum sc__schedule schedule;
    /* of the first and last stage; 0 = even */
    uint32_t first_layers;
    uint32_t last_layers;
    bool uneven; /* stages need not have equal layers */
    /* as a layer, when layers are spread over stages */
    bool count_embedding;
    bool count_loss;
    unsigned recompute; /* enum sc__recompute */
    unsigned recompute_modules;
    bool recompute_block; /* only the first recompute_layers of a stage */
    uint32_t recompute_layers;
    bool sequence_parallel;
    bool scatter_gather;
    unsigned zero; /* 0 … 3 */
    /* enum sc__dtype */
    unsigned dtype;
    unsigned gemm;
    unsigned fusion;     /* enum sc__fusion */
    unsigned attention;  /* enum sc__attention_software */
    unsigned scores;     /* enum sc__scores; where attention is unfused */
    bool masked_windows; /* windows of attention are masks over all scores */
    bool dropout;
    unsigned tp_overlap;
    unsigned cp_kind;
    bool overlap_grad;
    bool overlap_param;
    bool shard_blocking; /* ZeRO 2, 3: a unit's weights are gathered when it begins */
    bool overlap_p2p;
    bool overlap_moe;
    uint32_t grad_bytes;        /* of one gradient on the wire */
    uint32_t summed_bytes;      /* of one that adds up, beside a main copy of its weight */
    uint64_t bucket;            /* bytes of a gradient bucket */
    sc_moe_kernels moe_kernels; /* never "as usual" */
    bool experts_in_turn;       /* those of a token lie together, on neighbouring ranks */
    double imbalance;           /* of the fullest rank: routing.load[0] */
    struct sc__routing routing;
    double capacity;
    bool dedup; /* a token goes to a rank once, whatever experts it wants there */
    bool ignore_memory;
    bool optimizer; /* the step ends with one */
    /* nobody said plain_update, which ends where ranks shard: gradients are so wide then */
    bool plain_for_copies;
    uint32_t sharded_grad_bytes;
    uint32_t sharded_summed_bytes;
    bool plain_update;       /* weights, gradients and state of one type, no clipping: plain
                                PyTorch on one GPU, or whole on each */
    bool amp;                /* weights, gradients and state in fp32, products in less */
    unsigned optimizer_kind; /* enum sc__optimizer */
    struct sc__optimizer_types types;
    unsigned loss; /* enum sc__loss */
    bool reshard;  /* gathered weights are given back after each use */
    bool fp8_params;
    uint32_t lora; /* rank of adapters; 0: every weight is trained */
    unsigned lora_targets;
    bool lora_fp32;
    bool lora_autocast; /* products of fp32 adapters in the type of the others */
    bool qlora;
    double offload_optimizer; /* share of the state that the host keeps and updates */
    bool offload_params;
    uint32_t offload_activations; /* layers of a stage, the first ones */
    bool overlap_offload;
    uint32_t host_threads;
    double gpu_spread; /* standard deviation of the ranks' pace */
    double slowest;    /* the slowest rank's compute over the mean */
    /* first and last layers whose products are of the plain type */
    uint32_t bf16_first;
    uint32_t bf16_last;
    uint32_t images; /* of a sequence */
    uint32_t image_size;
    double audio_seconds;
    bool freeze_towers;
    struct sc__memory_figures figures;
    bool fp8_attention; /* scores and sums of attention in fp8 */
    bool dynamic_casts; /* fp8 scaled by the maximum of the moment, as torchao does */
    bool liger;         /* transformers' modules with Liger's kernels in them */
    bool torch_copies;  /* PyTorch copies what its collectives gather and scatter: FSDP2,
                           DTensor */
    unsigned graphs;    /* SC__GRAPH_… */
    double host_launch; /* us of host time per kernel; < 0: of the software */
    const char *gpu;
    const char *kernel_times;
    const char *constants;
    unsigned fp8_recipe; /* sc_fp8_recipe, never "as usual" */
    const struct sc__software *software;
    bool *software_used; /* by entry of the profile: it decided something */
    struct sc__software_constants software_constants;
};

/* Where a plan is resolved: what the software's profile goes by, and what it may
 * fill beside the plan. */
struct sc__plan_surroundings {
    uint32_t gpus;       /* of the cluster, where the plan does not say; 0: unknown */
    const char *gpu;     /* the cluster's, or NULL */
    sc_options *options; /* filled where they leave something open; or NULL */
    /* an entry of the profile that is left out: its number + 1; 0: none */
    uint32_t without;
};

/* What the options say. Text stays where the settings have it. */
sc_status sc__plan_read(const struct sc__settings *settings, sc_plan *out);
/* Decides what is left open. around may be NULL. */
/* Sequences of a step where a search is asked for without them, as many as the replicas
 * on so many GPUs can share; a note says so. */
#define SC__USUAL_TOKENS (4u << 20)
uint32_t sc__plan_usual_batch(struct sc_context *ctx,
                              const sc_plan *g,
                              const struct sc__model *m,
                              uint64_t gpus);
/* The ranks that a job of these sizes has a multiple of. */
uint64_t sc__plan_least_gpus(const sc_plan *g);
sc_status sc__plan_resolve(struct sc_context *ctx,
                           const sc_plan *given,
                           const struct sc__model *m,
                           const struct sc__plan_surroundings *around,
                           struct sc__plan *out);
/* The resolved plan as the public structure, every field decided. */
void sc__plan_settings(const struct sc__plan *p, sc_plan *out);
/* A note for each option given that says nothing about this plan. options: those
 * that `given` was read from, or NULL where a program filled it. */
void sc__plan_note_idle(struct sc_context *ctx,
                        const struct sc__settings *options,
                        const sc_plan *given,
                        const struct sc__model *m,
                        const struct sc__plan *p);
/* A plan that cannot be run is refused with the numbers and the nearest ones
 * that can. */
sc_status
sc__plan_check(struct sc_context *ctx, const struct sc__model *m, const struct sc__plan *p);

/* How its micro-batches take turns with chunks. */
struct sc__turns sc__plan_turns(const struct sc__plan *p);

/* Whether selective recomputation makes the output of a norm again, that before the mixer
 * or that before the feed-forward of a layer with experts or without. */
bool sc__plan_repeats_norm(const struct sc__plan *p,
                           const struct sc__model *m,
                           bool feed_forward,
                           bool experts);

/* So many chunks do not divide the layers, but with embedding, loss and prediction layers
 * counted as layers all come out equal. */
bool sc__plan_ends_make_even(const struct sc__plan *p,
                             const struct sc__model *m,
                             uint32_t chunks);

/* Layers of multi-token prediction that are trained: those of the model, or none where the
 * software has none and nobody asked for them. */
uint32_t sc__plan_predictions(const struct sc__plan *p, const struct sc__model *m);

/* Layers of chunk `chunk` on `stage`: *first and how many. */
uint32_t sc__plan_layers(const struct sc__plan *p,
                         const struct sc__model *m,
                         uint32_t stage,
                         uint32_t chunk,
                         uint32_t *first);
/* Tokens of a micro-batch on one rank: whole, and where sequence parallel cuts them. */
double sc__plan_tokens(const struct sc__plan *p);
double sc__plan_tokens_sp(const struct sc__plan *p);

/* The name of the GPU that runs it. */
const char *sc__plan_gpu(const struct sc__plan *p, const struct sc__cluster *cluster);

/* Dropout of the model. With adapters it is theirs: the frozen model has none. */
bool sc__plan_drops_hidden(const struct sc__plan *p);

/* Bytes of a weight or an activation: tf32 is how fp32 is multiplied. */
double sc__plan_width(const struct sc__plan *p);
/* Bytes of a weight as it is updated: of the main one with amp. */
double sc__plan_weight_bytes(const struct sc__plan *p);
/* fp32 copies beside narrower weights, and gradients that are clipped. */
bool sc__plan_mixed_update(const struct sc__plan *p);
/* What the optimizer keeps of a weight beside it; of Adam's moments the first (0) or the
 * second (1). */
double sc__plan_main_bytes(const struct sc__plan *p);
double sc__plan_moment_bytes(const struct sc__plan *p, unsigned moment);
/* Bytes of a weight's update that are not moved, against Adam with all of its state in
 * fp32 (mixed precision) or in the weights' type. */
double sc__plan_update_saves(const struct sc__plan *p);
/* No other rank has the same weights: ZeRO has nobody to share them with. */
bool sc__plan_shares_nothing(const struct sc__plan *p);
/* Sharded weights are gathered anew for each use; otherwise they stay. */
bool sc__plan_reshards(const struct sc__plan *p);
/* PyTorch's, in no pipeline. */
bool sc__plan_is_fsdp(const struct sc__plan *p);
/* ZeRO 2 reduces buckets that gradients are copied into (DeepSpeed), not layer by layer. */
bool sc__plan_fills_buckets(const struct sc__plan *p);
/* … which take memory, with ZeRO 1 too (contiguous_gradients). */
bool sc__plan_holds_buckets(const struct sc__plan *p);
/* Bytes of a weight that is gathered; narrow: of a product in the plan's narrow type. */
double sc__plan_gathered_bytes(const struct sc__plan *p, bool narrow);
/* Bytes of a weight of a layer that is not trained, which usually takes so many. */
double sc__plan_frozen_bytes(const struct sc__plan *p, double usual);
/* Bytes of a message between stages, of one rank. */
double sc__plan_message(const struct sc__plan *p, const struct sc__model *m);

/* Bytes of keys and values of a whole sequence, of one rank of tensor parallelism: what
 * context parallelism brings together. */
double sc__plan_kv_bytes(const struct sc__plan *p,
                         const struct sc__model *m,
                         const struct sc__attention_heads *heads);

/* Experts of transformers 5 on one rank: between its modules' operators one product for all
 * of them (grouped_mm_experts_forward). */
static inline bool sc__routes_by_modules(const struct sc__plan *p) {
    return p->fusion == SC__FUSION_HF && p->moe_kernels == SC_MOE_KERNELS_GROUPED &&
           p->mesh.ep <= 1 && p->mesh.etp <= 1;
}

/* RMS norms, rotary positions and gated activations are operators of transformers' modules,
 * no kernel of Liger's. */
static inline bool sc__is_by_modules_alone(const struct sc__plan *p) {
    return p->fusion == SC__FUSION_HF && !p->liger;
}

/* Ranks of experts a token is sent to. */
double sc__plan_copies(const struct sc__plan *p, const struct sc__model *m);

/* Products are cast to fp8 or fp4, but those of this layer are not. */
bool sc__plan_layer_stays_wide(const struct sc__plan *p,
                               const struct sc__model *m,
                               uint32_t layer);
/* Bytes moved to cast a weight once a step, both layouts; 0: none is. */
double sc__plan_weight_cast_bytes(const struct sc__plan *p);

/* Something of it is on the host. */
bool sc__plan_offloads(const struct sc__plan *p);
/* What no launch file that is written has words for, or NULL. */
const char *sc__plan_unwritten(const struct sc__plan *p);
/* Bytes of a shard's weight as it comes from the host to be gathered. */
double sc__plan_shard_bytes(const struct sc__plan *p, bool narrow);

/* Parameters of one rank, by who shares them. */
struct sc__shard {
    /* elements of one rank before ZeRO */
    double dense;
    double experts;
};
struct sc__shard
sc__plan_layer_shard(const struct sc__plan *p, const struct sc__model *m, uint32_t layer);
/* Of what joins the two inputs of a prediction layer, and the norm behind it. */
double sc__plan_prediction_inputs(const struct sc__plan *p, const struct sc__model *m);
/* With what only the first and the last stage hold. */
struct sc__shard
sc__plan_stage_shard(const struct sc__plan *p, const struct sc__model *m, uint32_t stage);
/* The same of those that are trained: all, or the adapters. */
struct sc__shard
sc__plan_layer_trained(const struct sc__plan *p, const struct sc__model *m, uint32_t layer);
struct sc__shard
sc__plan_stage_trained(const struct sc__plan *p, const struct sc__model *m, uint32_t stage);
/* Trained weights of a stage that every tensor-parallel rank has whole: norms, biases of
 * row-parallel layers, routers, projections down to latents; without embedding and towers,
 * which see all tokens. */
double
sc__plan_stage_whole(const struct sc__plan *p, const struct sc__model *m, uint32_t stage);
/* Those of the stage's layers that have narrow products (fp8, fp4), or are packed (QLoRA):
 * not of embedding, head and towers, nor of layers that stay wide. */
struct sc__shard
sc__plan_stage_narrow(const struct sc__plan *p, const struct sc__model *m, uint32_t stage);
/* Parts of the model in the order of the data, and micro-batches of each chunk. */
uint32_t sc__plan_parts(const struct sc__plan *p);
uint32_t sc__plan_passes(const struct sc__plan *p);
/* Micro-batches of a run through the pipeline, from empty to empty. */
uint32_t sc__plan_run_batches(const struct sc__plan *p);
/* said: what was asked for; usual: that, or what the software does, which gives way where
 * it cannot be. */
void sc__plan_resolve_runs(struct sc_context *ctx,
                           uint32_t said,
                           uint32_t usual,
                           struct sc__plan *p);
/* The stage holds the embedding, or the head: one does, or where the model is there twice
 * both ends hold both. */
bool sc__plan_has_embedding(const struct sc__plan *p, uint32_t stage);
bool sc__plan_has_head(const struct sc__plan *p, uint32_t stage);
/* The stage with the head. */
uint32_t sc__plan_last_stage(const struct sc__plan *p);
double sc__plan_embedding_shard(const struct sc__plan *p, const struct sc__model *m);
double
sc__plan_head_shard(const struct sc__plan *p, const struct sc__model *m, uint32_t stage);

extern const struct sc__option sc__model_options[];

#endif
