/* pipeline: stages of blocks under a schedule → a workload.
 *
 * A stage holds `vpp` chunks; for each chunk there is one block for the
 * forward of a micro-batch and one for its backward (and, for schedules that
 * part them, one for the weight gradients alone). Readers of layers and the
 * model lowering make the blocks; this file orders them and puts the messages
 * between. */
#ifndef SC_LOWER_PIPELINE_H
#define SC_LOWER_PIPELINE_H

#include "workload/workload.h"

enum sc__schedule {
    SC__SCHEDULE_AUTO,
    SC__SCHEDULE_1F1B,
    SC__SCHEDULE_GPIPE,
    SC__SCHEDULE_INTERLEAVED,
    SC__SCHEDULE_ZBH1,
    SC__SCHEDULE_ZB2P, /* orders found for the times of the blocks, up to 2·pp micro-batches
                          in flight */
    SC__SCHEDULE_ZBV,  /* the same for two chunks a stage in the shape of a V; see
                        * sc__schedule_part
                        */
    /* a V as well, in an order of its own; from 2·pp micro-batches on */
    SC__SCHEDULE_DUALPIPEV,
    /* two copies of the model: chunk 0 is the stage's part of one, whose data goes down the
     * stages, chunk 1 that of the other, whose data goes up; half of the micro-batches
     * each */
    SC__SCHEDULE_DUALPIPE
};

/* Weight gradients are split from input gradients. */
bool sc__schedule_splits(enum sc__schedule s);
/* Chunk 0 goes down the stages, chunk 1 up again. */
bool sc__schedule_is_v(enum sc__schedule s);
/* The data of chunk 1 goes up the stages: a V, or another copy of the model. */
bool sc__schedule_two_ways(enum sc__schedule s);
/* Micro-batches meet in pairs, two for each stage at least. */
bool sc__schedule_is_dualpipe(enum sc__schedule s);
/* Parts that the model is cut into, and micro-batches that pass a chunk. */
uint32_t sc__schedule_parts(enum sc__schedule s, uint32_t pp, uint32_t vpp);
uint32_t sc__schedule_passes(enum sc__schedule s, uint32_t micro_batches);
/* Its order depends on times (lower/schedule_zb.h), and its steps overlap:
 * stages are not synchronised at the end. */
bool sc__schedule_overlaps_steps(enum sc__schedule s);
/* Which part of the model, in the order of the data, chunk `chunk` of `stage` is. */
uint32_t
sc__schedule_part(enum sc__schedule s, uint32_t pp, uint32_t stage, uint32_t chunk);
/* Stage that holds the last part. */
uint32_t sc__schedule_last_stage(enum sc__schedule s, uint32_t pp);

/* No chunk counts as longer than this, ps, where times are added before the step is run:
 * those of all slots of a stage and of the way through the pipeline can then be added. A
 * step of such chunks is refused when it runs. */
int64_t sc__pipeline_longest(uint32_t pp, uint32_t vpp, uint32_t micro_batches);

/* How micro-batches take turns with chunks, interleaved. */
struct sc__turns {
    /* micro-batches that pass a chunk one after another, the last of them the rest; 0: as
     * many as stages, the first of them and the rest */
    uint32_t group;
    uint32_t ahead; /* forwards more than usual before the first backward */
};

/* Forwards of chunks before the first backward of a stage, interleaved; where stages go on
 * with a forward, one more has then been done. */
uint32_t sc__schedule_warm_up(uint32_t pp,
                              uint32_t vpp,
                              struct sc__turns turns,
                              uint32_t stage,
                              uint32_t micro_batches);

/* The most that an interleaved stage holds at once, where a micro-batch in chunk c holds
 * of_chunk[c] from its forward to its backward. */
double sc__schedule_most_held(uint32_t pp,
                              uint32_t vpp,
                              struct sc__turns turns,
                              uint32_t stage,
                              uint32_t micro_batches,
                              const double *of_chunk);

/* What a stage does next. */
struct sc__slot {
    uint8_t kind; /* 'F', 'B' (or input gradient), 'W' */
    uint32_t micro_batch;
    uint32_t chunk;
};

/* The order of work on a stage: count slots. pp ≥ 1, micro_batches ≥ 1.
 * Not for schedules whose order depends on times. */
struct sc__slot *sc__schedule_order(struct sc__arena *a,
                                    enum sc__schedule s,
                                    uint32_t pp,
                                    uint32_t vpp,
                                    struct sc__turns turns,
                                    uint32_t stage,
                                    uint32_t micro_batches,
                                    uint32_t *count);
/* The same of a step of one or more runs of `run` micro-batches, each of which empties the
 * pipeline; run divides micro_batches, 0: all in one. */
struct sc__slot *sc__schedule_runs(struct sc__arena *a,
                                   enum sc__schedule s,
                                   uint32_t pp,
                                   uint32_t vpp,
                                   struct sc__turns turns,
                                   uint32_t stage,
                                   uint32_t micro_batches,
                                   uint32_t run,
                                   uint32_t *count);

enum sc__tail { SC__TAIL_EARLY, SC__TAIL_JOIN, SC__TAIL_LATE };

struct sc__pipeline {
    enum sc__schedule schedule;
    uint32_t pp;
    uint32_t vpp;
    uint32_t micro_batches;
    uint32_t run; /* micro-batches until it is empty again; 0: all */
    struct sc__turns turns;
    uint64_t message; /* bytes of one activation message between stages */
    bool overlap;     /* receives are posted ahead, so a transfer hides behind compute (as
                         Megatron     interleaves) */
    /* Blocks of (stage, chunk, micro-batch); SC__NONE: nothing to do. */
    uint32_t (*forward)(void *self, uint32_t stage, uint32_t chunk, uint32_t micro_batch);
    uint32_t (*backward)(void *self, uint32_t stage, uint32_t chunk, uint32_t micro_batch);
    uint32_t (*wgrad)(void *self,
                      uint32_t stage,
                      uint32_t chunk,
                      uint32_t micro_batch); /* NULL: not split */
    uint32_t (*before)(void *self,
                       uint32_t stage); /* once, before the first forward; may be NULL */
    uint32_t (*after)(void *self,
                      uint32_t stage); /* once, after the last backward; may be NULL */
    /* Of schedules whose steps overlap. What a collective takes that holds the
     * compute stream, and a message from stage to the next, ps (NULL: nothing);
     * the share of an activation that is held from input to weight gradient. */
    int64_t (*collective_cost)(void *self, const struct sc__op *op);
    int64_t (*message_time)(void *self, uint32_t stage);
    double kept;
    /* Stages that share a weight: the weight gradients that a stage ends with
     * run in two parts, EARLY of all micro-batches, JOIN, then LATE. NULL, or
     * SC__NONE for JOIN: they are not split. */
    uint32_t (*tail)(void *self,
                     uint32_t stage,
                     const struct sc__slot *slot,
                     enum sc__tail part);
    void *self;
};

/* Stream numbers every lowering uses. */
enum {
    SC__STREAM_COMPUTE,
    SC__STREAM_P2P, /* sends to the next stage */
    SC__STREAM_DP,
    SC__STREAM_COMM,
    SC__STREAM_EP,
    SC__STREAM_CP,
    SC__STREAM_P2P_BACK, /* sends to the previous stage */
    SC__STREAM_RECV,     /* receives posted ahead, where they overlap */
    SC__STREAM_RECV_BACK,
    SC__STREAM_REDUCE,   /* gradients of sharded weights */
    SC__STREAM_V,        /* sends of chunk 1 of the V: forward to the previous stage … */
    SC__STREAM_V_BACK,   /* … backward to the next */
    SC__STREAM_TIED,     /* gradients of tied embeddings */
    SC__STREAM_HOST_OUT, /* copies to the host, and what the host computes */
    SC__STREAM_HOST_IN   /* copies from it */
};

const char *sc__schedule_name(enum sc__schedule s);
/* "1f1b", "gpipe", "interleaved", "zb-h1", "zb-2p", "zb-v"; NULL-terminated, in order of
 * the enum after AUTO. */
extern const char *const sc__schedule_words[];

/* The order of work by stage where it depends on times: 3 · vpp · micro_batches slots
 * each. The blocks of p are in w. */
struct sc__slot **sc__pipeline_order(struct sc__workload *w, const struct sc__pipeline *p);

/* Adds programs and one class per stage to w (whose mesh is set). */
sc_status sc__pipeline_lower(struct sc_context *ctx,
                             struct sc__workload *w,
                             const struct sc__pipeline *p);

#endif
