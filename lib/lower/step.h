/* step: inner parts of the model lowering.
 *
 *   kernels of a layer (hardware/kernel_layer.h)
 *     → script   compute and collectives in order, for a layer, the embedding, the head
 *     → block    a script per layer of a chunk, with the sharded-weight and
 *                gradient traffic of its micro-batch
 *     → pipeline the blocks under a schedule (lower/pipeline.h) */
#ifndef SC_LOWER_STEP_H
#define SC_LOWER_STEP_H

#include "hardware/host_link.h"
#include "hardware/power_throttling.h"
#include "lower/model.h"

/* What single kernels do not show: constants of whole steps, per GPU
 * architecture (data/step.json, docs/model/step.md), and those of the software
 * (data/software/). */
struct sc__step_constants {
    /* factors on kernel times inside a step; fp8, fp4 on top of gemm */
    double gemm;
    double fp8;
    double fp4;
    double batched;
    double memory;
    double scan;         /* for Mamba-2's scan */
    double attention[2]; /* the same for attention kernels: forward, backward */
    /* for attention in fp8: its GEMMs halve, its exponentials do not */
    double attention_fp8;
    double jitter; /* compute is slower by this share per doubling of the nodes */
    struct sc__software_constants software;
};

sc_status sc__step_constants(struct sc_context *ctx,
                             const char *path,
                             const struct sc__gpu *gpu,
                             const struct sc__software_constants *software,
                             struct sc__step_constants *out);

enum { SC__ITEM_COMPUTE, SC__ITEM_COLL, SC__ITEM_JOIN };

struct sc__step_item {
    uint8_t kind;
    uint8_t phase;
    uint8_t work;
    uint8_t coll;
    uint8_t stream;
    bool async;    /* collective: what follows waits only at the next join of its stream */
    uint8_t group; /* enum sc__group_kind */
    double us;
    double bytes;
    const char *name;
};

struct sc__script {
    struct sc__step_item *items;
    uint32_t count;
    uint32_t capacity;
    double us; /* compute */
};

/* Kinds of layers: with experts or not, the same under a window of attention, by what
 * mixes the tokens, without a feed-forward, and with heads of attention of their own. */
enum {
    SC__LAYER_DENSE,
    SC__LAYER_MOE,
    SC__LAYER_WINDOW,
    SC__LAYER_MIXER = 4, /* times enum sc__mixer */
    SC__LAYER_MIXER_ONLY = 16,
    SC__LAYER_OWN_HEADS = 32,
    SC__LAYER_WIDE = 64, /* products of the plain type beside narrow ones */
    SC__LAYER_KINDS = 128
};

static inline enum sc__mixer sc__kind_mixer(int kind) {
    return (enum sc__mixer)(kind / SC__LAYER_MIXER % 4);
}

struct sc__lowering {
    struct sc_context *ctx;
    struct sc__arena *arena;
    const struct sc__model *model;
    const struct sc__cluster *cluster;
    struct sc__plan plan;
    struct sc__step_constants constants;
    const struct sc__gpu *gpu;
    struct sc__kernel_model *kernel_model;
    struct sc__throttling throttling;
    struct sc__host_link host; /* where the plan keeps something there */
    bool has_kind[SC__LAYER_KINDS];
    struct sc__layer_kernels kernels[SC__LAYER_KINDS][2]; /* forward, backward */
    struct sc__kernels embedding[2];
    struct sc__kernels head[2];
    struct sc__kernels prediction[2]; /* of what is before the layer */
    struct sc__kernels update;
    struct sc__script forward[SC__LAYER_KINDS];
    struct sc__script recompute[SC__LAYER_KINDS];
    struct sc__script backward[SC__LAYER_KINDS];
    struct sc__script wgrad[SC__LAYER_KINDS];
    struct sc__script embedding_forward;
    struct sc__script embedding_backward;
    struct sc__script head_forward;
    struct sc__script head_backward;
    struct sc__script head_wgrad;
    struct sc__script prediction_forward;
    struct sc__script prediction_backward;
    struct sc__script prediction_wgrad;
    struct sc__workload *workload;
    /* Towers that take part, each as a small model of its own: its layers, with what is
     * before them as its embedding and its connector as its head (lower/towers.c). */
    struct sc__lowering *towers;
    uint32_t tower_count;
    uint32_t *blocks; /* by (stage, chunk, kind of block) */
    uint32_t *after;  /* by stage: the end of the step */
    /* by stage: sum of tied embeddings beside the last weight gradients, or SC__NONE */
    uint32_t *tied;
};

int sc__layer_kind(const struct sc__lowering *l, uint32_t layer);
/* Full recomputation of such a layer ends before its last product. */
bool sc__step_stops_early(const struct sc__lowering *l, int kind);
static inline struct sc__attention_heads sc__kind_heads(const struct sc__lowering *l,
                                                        int kind) {
    return sc__model_heads_of_kind(l->model, kind & SC__LAYER_OWN_HEADS);
}
static inline bool sc__kind_has_experts(int kind) {
    return kind & SC__LAYER_MOE;
}

/* Kernel lists of every part, and the power they draw together. */
void sc__step_kernels(struct sc__lowering *l);
/* Those of every kind of layer alone. */
void sc__step_layer_kernels(struct sc__lowering *l);
void sc__step_add_kernel(struct sc__lowering *l,
                         struct sc__kernels *list,
                         struct sc__kernel k,
                         enum sc__phase phase,
                         enum sc__work work);
void sc__step_add_norm(struct sc__lowering *l,
                       struct sc__kernels *list,
                       uint64_t rows,
                       enum sc__phase phase);
/* towers.c: the kernels of the towers, and what they add to the load of a step of an
 * average rank; their scripts; the tower of a lowering. */
void sc__towers_kernels(struct sc__lowering *l);
void sc__towers_load(const struct sc__lowering *l, struct sc__load *load);
void sc__towers_scripts(struct sc__lowering *l);
/* prediction.c */
void sc__prediction_kernels(struct sc__lowering *l);
void sc__prediction_scripts(struct sc__lowering *l);
/* What kernels of layers take at least, of all micro-batches, on the mean stage. */
double sc__step_layers_us(const struct sc__lowering *l);
/* The throttling of the plan with another schedule or recomputation is no less. */
void sc__step_throttle_least(struct sc__lowering *l);
double sc__step_kernel_us(const struct sc__lowering *l, const struct sc__kernel *k);
/* Scripts from the kernels. */
void sc__step_scripts(struct sc__lowering *l);
void sc__step_layer_scripts(struct sc__lowering *l);
/* Blocks from the scripts, and the pipeline over them. */
sc_status sc__step_blocks(struct sc__lowering *l);
/* unequal_ranks.c: where experts get unequal numbers of tokens, a class for each level of
 * load and stage, after sc__step_blocks, which makes those of the fullest. */
void sc__step_unequal_ranks(struct sc__lowering *l);
/* Of a rank of the stage. */
struct sc__memory sc__step_memory(const struct sc__lowering *l, uint32_t stage);

/* A time, ps, that the step is not shorter than; after sc__step_prepare, and the
 * workload is of no other use then. placed: how ranks are numbered on the cluster,
 * where transfers take at least the time alone, as on the analytic engine; NULL: they
 * are not counted. Above `limit` any such time will do. replay: how the schedule was
 * replayed for it, if it was. */
int64_t sc__step_bound(struct sc__lowering *l,
                       const struct sc__mesh *placed,
                       int64_t limit,
                       struct sc__step_replay *replay);

/* What the parts take on any stage; placed as above. */
void sc__step_units(struct sc__lowering *l,
                    const struct sc__mesh *placed,
                    struct sc__step_units *out);

/* Everything up to the scripts. */
sc_status sc__step_prepare(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *plan,
                           const struct sc__cluster *cluster,
                           struct sc__lowering *l);
/* Part of a forward kernel that runs again before backward, by the plan's recomputation. */
double sc__step_repeat_share(const struct sc__lowering *l,
                             const struct sc__layer_kernel *x,
                             int kind);
/* Part of the GEMM FLOPs that --recompute ops repeats. */
double sc__repeated_gemms(const struct sc__model *m);
/* Compute of the update at the end of the step, us. */
double sc__step_update_us(const struct sc__lowering *l, uint32_t stage);

/* A collective of the first stage's group of this kind, us. */
double sc__step_collective_us(const struct sc__lowering *l,
                              int coll,
                              enum sc__group_kind group,
                              double bytes);
/* The collective of tensor parallelism alone, us: for the host's race with the GPU. */
double sc__step_tp_us(const struct sc__lowering *l, enum sc__coll coll, double bytes);

#endif
