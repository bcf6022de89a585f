/* step_scripts: what the makers of scripts share. */
#ifndef SC_LOWER_STEP_SCRIPTS_H
#define SC_LOWER_STEP_SCRIPTS_H

#include "lower/step.h"

struct sc__script_maker {
    struct sc__lowering *l;
    struct sc__script *script;
    uint32_t open;    /* first item of the segment kernels are merged in */
    double launches;  /* kernels and collectives, for the host */
    double comm;      /* tensor-parallel time that the stream waits for, us */
    double operators; /* host time beside launches, us */
    double settled;   /* of GPU and transfers: what the host was compared with before, us */
    double beside_end; /* when the last of those beside kernels ends, us of the script */
    unsigned skip;     /* bit per phase of kernels to leave out */
    uint8_t phase;     /* that the operations get */
    bool moe;          /* a layer with experts */
    int kind;          /* of the layer */
    double piece;      /* of the kernels that are added: their part; 0: all of them */
};

/* Kernels of one part of a layer, of these phases; those of a segment are merged by kind.
 */
void sc__script_part(struct sc__script_maker *k,
                     const struct sc__layer_kernels *list,
                     enum sc__layer_part which,
                     unsigned phases);
void sc__script_compute(struct sc__script_maker *k,
                        uint8_t work,
                        double us,
                        const char *name);
/* Kernels of these phases, outside of layers. */
void sc__script_kernels(struct sc__script_maker *k,
                        const struct sc__kernels *list,
                        unsigned phases,
                        const char *name);
/* Adding the weight gradients of a micro-batch to those of the step. */
void sc__script_accumulate(struct sc__script_maker *k, const struct sc__shard *params);
/* What follows waits for the stream. */
void sc__script_join(struct sc__script_maker *k, uint8_t stream);

/* Of one activation of a micro-batch: what tensor parallelism sends. */
double sc__script_activation_bytes(const struct sc__lowering *l);
/* Nothing for groups of one rank. async: what follows waits only at the next
 * join of the stream. */
void sc__script_collective(struct sc__script_maker *k,
                           enum sc__coll coll,
                           enum sc__group_kind group,
                           uint8_t stream,
                           double bytes,
                           bool async,
                           const char *name);

/* context_parallel.c: the core of attention, with what brings keys and values. */
void sc__context_core(struct sc__script_maker *k,
                      const struct sc__layer_kernels *list,
                      int layer_kind,
                      bool backward);
/* The same forward once more, of heads that are already there (Megatron checkpoints the
 * core behind what shares heads among tensor-parallel ranks). */
void sc__context_core_again(struct sc__script_maker *k,
                            const struct sc__layer_kernels *list,
                            int layer_kind);

/* expert_parallel.c */
void sc__expert_gather_map(struct sc__script_maker *k);
void sc__expert_all_to_all(struct sc__script_maker *k, bool probabilities);
/* coll: the gather before an expert that is cut over ranks, or the scatter after it. */
void sc__expert_tensor_parallel(struct sc__script_maker *k, enum sc__coll coll);
/* More host time of a layer with experts, us. */
bool sc__expert_host_waits(const struct sc__script_maker *k);
double sc__expert_host_us(const struct sc__script_maker *k, bool routing, bool experts);

#endif
