/* step_blocks: what the makers of blocks share. */
#ifndef SC_LOWER_STEP_BLOCKS_H
#define SC_LOWER_STEP_BLOCKS_H

#include "lower/pipeline.h"
#include "lower/step.h"

enum { SC__UNIT_EMBEDDING, SC__UNIT_LAYER, SC__UNIT_HEAD, SC__UNIT_PREDICTION };

/* The embedding, a layer, the head, or what is before a prediction layer. */
struct sc__step_unit {
    uint8_t kind;
    uint8_t layer_kind;
    bool repeat;   /* recomputed before its backward */
    bool offload;  /* its activations wait on the host */
    bool frozen;   /* and nothing before it is trained: there is no backward */
    bool held;     /* its weights stay gathered from forward to backward */
    uint8_t tower; /* of which tower, from 1; 0: of the language model */
    uint32_t layer;
    struct sc__shard params;
    struct sc__shard trained; /* of them */
};

/* A block while it is filled. */
struct sc__step_emitter {
    struct sc__lowering *l;
    struct sc__workload *w;
    uint32_t first_op; /* of the block */
    uint16_t pending;  /* streams the next operation waits for */
    /* operations of the block the next compute waits for */
    uint32_t dep[2];
    uint32_t deps;
};

/* Blocks of a chunk of a stage. */
enum {
    SC__BLOCK_FORWARD,
    SC__BLOCK_FORWARD_FIRST,
    SC__BLOCK_BACKWARD,
    SC__BLOCK_BACKWARD_LAST,
    SC__BLOCK_WGRAD, /* where the schedule parts weight gradients */
    SC__BLOCK_WGRAD_LAST,
    SC__BLOCK_HEAD, /* of tied embeddings: the head's weight gradient, the layers' */
    SC__BLOCK_LAYERS,
    SC__BLOCK_LAYERS_LAST,
    SC__BLOCK_KINDS
};

/* Room for the blocks of all chunks; then those of a chunk, and which they are. */
void sc__step_blocks_begin(struct sc__lowering *l);
void sc__step_make_blocks(struct sc__lowering *l, uint32_t stage, uint32_t chunk);
uint32_t
sc__step_block(const struct sc__lowering *l, uint32_t stage, uint32_t chunk, int kind);
/* Forward and backward of one unit alone, of a micro-batch in the middle. layer: of a
 * layer. again: among the first of its stage, which may be computed again alone. */
void sc__step_make_unit(struct sc__lowering *l,
                        int kind,
                        uint32_t layer,
                        bool again,
                        uint32_t *forward,
                        uint32_t *backward);
/* A chunk of the same key as another, whose blocks are made, has those. */
void sc__step_share_blocks(struct sc__lowering *l,
                           uint32_t stage,
                           uint32_t chunk,
                           const uint32_t blocks[SC__BLOCK_KINDS]);
/* The pipeline over the blocks. */
struct sc__pipeline sc__step_pipeline(struct sc__lowering *l);
/* What a stage does at the end of the step. */
uint32_t sc__step_after_block(struct sc__lowering *l, uint32_t stage);
/* Chunks of one key have blocks that take the same time. */
uint64_t sc__step_chunk_key(struct sc__lowering *l, uint32_t stage, uint32_t chunk);

/* A block is open from begin to end, which gives its number. */
void sc__step_block_begin(struct sc__step_emitter *e, struct sc__lowering *l);
uint32_t sc__step_block_end(struct sc__step_emitter *e);
/* The compute stream waits for what is pending now, not with its next operation. */
void sc__step_wait_pending(struct sc__step_emitter *e);
void sc__step_emit_compute(struct sc__step_emitter *e,
                           const struct sc__step_item *x,
                           uint32_t layer);
/* A collective that holds the compute stream. */
void sc__step_block_on(struct sc__step_emitter *e,
                       enum sc__phase phase,
                       enum sc__coll coll,
                       enum sc__group_kind group,
                       double bytes,
                       const char *name,
                       uint32_t layer);
/* Tied embeddings: the stage holds a copy; bytes of its gradient. */
bool sc__step_shares_embedding(const struct sc__lowering *l, uint32_t stage);
double sc__step_tied_bytes(const struct sc__lowering *l);

/* Issues it after what is pending; returns its index in the block. */
uint32_t sc__step_emit_collective(struct sc__step_emitter *e,
                                  enum sc__phase phase,
                                  enum sc__coll coll,
                                  enum sc__group_kind group,
                                  uint8_t stream,
                                  double bytes,
                                  const char *name,
                                  uint32_t layer);

/* gradient_buckets.c */
/* ZeRO 2 keeps weights whole and gathers what the update made, once a step (DeepSpeed,
 * Megatron's optim_grads); PyTorch's gives them back after every backward
 * (SHARD_GRAD_OP, reshard_after_forward=False). */
bool sc__step_keeps_weights(const struct sc__lowering *l);
/* Of a rank's shard of a unit, as it comes from the host. */
double sc__step_shard_bytes(const struct sc__lowering *l, const struct sc__step_unit *u);
/* The weights of a unit; the next compute waits for them. wait_compute: the
 * gather itself waits for the compute issued before it. */
void sc__step_gather_weights(struct sc__step_emitter *e,
                             const struct sc__step_unit *u,
                             bool wait_compute);
/* Weights that ZeRO 2 keeps are gathered at the end of the step, not beside the next. */
bool sc__step_gathers_late(const struct sc__lowering *l);
/* ZeRO 1 by whole tensors: see struct sc__software_constants. */
bool sc__step_owns_tensors(const struct sc__lowering *l);
/* The collectives that reduce gradients of these parameters, in order; those of groups of
 * one and of nothing are none. */
enum { SC__GRADIENT_PARTS = 6 };
struct sc__gradient_part {
    enum sc__coll coll;
    enum sc__group_kind group;
    double bytes;
};
void sc__step_gradient_parts(const struct sc__lowering *l,
                             const struct sc__shard *s,
                             struct sc__gradient_part out[SC__GRADIENT_PARTS]);
void sc__step_reduce_gradients(struct sc__step_emitter *e,
                               const struct sc__shard *s,
                               uint8_t stream,
                               uint32_t layer);
void sc__step_flush_bucket(struct sc__step_emitter *e, struct sc__shard *sum, double least);

/* step_update.c */
/* Parameters this rank updates. */
double sc__step_updated(const struct sc__plan *p, const struct sc__shard *s);

/* host_offload.c */
/* Gradients go to the host as they are reduced, not when all are. */
bool sc__offload_beside(const struct sc__plan *p);
/* Those of which the host updates its share, once `stream` has reduced them. */
void sc__offload_gradients(struct sc__step_emitter *e,
                           const struct sc__shard *s,
                           uint8_t stream,
                           uint32_t layer);
/* The shards of a unit come from the host; the number of the copy in its block. */
uint32_t sc__offload_fetch_weights(struct sc__step_emitter *e,
                                   const struct sc__step_unit *u,
                                   bool wait_compute);
/* Layers of a block; activations of the first of them, the away, leave for the host. moved:
 * those that have left (forward), or were sent for (backward). */
struct sc__offload_windows {
    const struct sc__step_unit *first;
    uint32_t layers;
    uint32_t away;
    uint32_t moved;
};
struct sc__offload_windows sc__offload_windows(const struct sc__step_unit *units,
                                               uint32_t count);
/* Behind the forward of a unit, and before its backward. */
void sc__offload_store(struct sc__step_emitter *e,
                       struct sc__offload_windows *w,
                       const struct sc__step_unit *u);
void sc__offload_fetch(struct sc__step_emitter *e,
                       struct sc__offload_windows *w,
                       const struct sc__step_unit *u);
/* The host's share of the update of so many parameters, beside the GPU's; the compute
 * stream waits for it with its next operation. */
void sc__offload_update(struct sc__step_emitter *e, double params);

#endif
