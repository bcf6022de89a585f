/* memory: what one GPU holds at the moment it holds most, every term by name
 * (docs/model/memory.md). The one memory function: run, plans, train, validate
 * and the library all ask it. */
#ifndef SC_PLAN_MEMORY_H
#define SC_PLAN_MEMORY_H

#include "plan/plan.h"

/* What a search leaves free of a GPU's memory (docs/plans.md says why), as a share. */
#define SC__MEMORY_MARGIN 0.08

/* Bytes of one rank of a stage at its peak. */
struct sc__stage_memory {
    double weights; /* with what ZeRO gathered */
    double gradients;
    double optimizer;
    double activations;   /* kept for backward, of all micro-batches in flight */
    double logits;        /* and their gradients, on the stage with the loss */
    double workspace;     /* what one layer computes again, gradients of activations on
                             their way, buffers of libraries */
    double communication; /* buffers of NCCL */
    double context;       /* CUDA's, with the code of the kernels */
    double fragmentation; /* what the allocator holds and cannot give */
    double host;          /* in the host's memory: no part of the sum */
};

struct sc__stage_memory
sc__plan_memory(const struct sc__model *m, const struct sc__plan *p, uint32_t stage);
double sc__memory_sum(const struct sc__stage_memory *m);
/* The stage that needs most, and what. */
struct sc__stage_memory
sc__plan_most_memory(const struct sc__model *m, const struct sc__plan *p, uint32_t *stage);
/* SC_NO_FIT when a stage needs more than capacity. */
sc_status sc__memory_check(struct sc_context *ctx,
                           const struct sc__model *m,
                           const struct sc__plan *p,
                           double capacity);

/* What a user may change so that it fits, in words: options of `run`. */
const char *sc__memory_hint(struct sc_context *ctx,
                            const struct sc__model *m,
                            const struct sc__plan *p,
                            double capacity);

/* Bytes of activations one layer keeps for one micro-batch. */
double
sc__layer_activations(const struct sc__model *m, const struct sc__plan *p, uint32_t layer);
/* What backward of a layer needs beside them: gradients on their way. */
double
sc__layer_workspace(const struct sc__model *m, const struct sc__plan *p, uint32_t layer);
/* What its weight gradients need, held from input to weight gradient where a
 * schedule splits them. */
double
sc__layer_fragment(const struct sc__model *m, const struct sc__plan *p, uint32_t layer);
/* The share of its activations that is held from input to weight gradient
 * where a schedule parts them; more than 1 where they are computed again. */
double sc__plan_kept(const struct sc__model *m, const struct sc__plan *p);

/* What a checkpoint holds of the whole model: the weights that are trained, their main
 * copy and the optimizer's state. */
double sc__plan_checkpoint_bytes(const struct sc__model *m, const struct sc__plan *p);

/* What PyTorch's FSDP has beside its shards, moment by moment. */
struct sc__fsdp_passing {
    double begin;    /* weights that are gathered, and what they come out of, at first */
    double of_loss;  /* and when the loss is made */
    double of_layer; /* and in the backward of a layer */
    double of_first; /* and of the first one, behind which no other is gathered */
    double made;     /* gradients of the layer, and of the head where they wait */
    double reduced;  /* what those of the layer before are reduced from */
    double head;     /* when the head's gradient has been made, beside of_loss */
    double ends;     /* at the end: gradients of the ends, what they are reduced from */
};

/* Weights, gradients and state of the optimizer of a stage. */
struct sc__training_state {
    double weights;
    double gradients; /* that stay from step to step, or micro-batch to micro-batch */
    double unreduced; /* in backward, whole ones on their way */
    double growing;   /* gradients that appear as backward goes */
    double last;      /* of them: those of the first layer and the embedding */
    double optimizer;
    double accumulated; /* the largest gradient that is added to one already there */
    double update;      /* what the update needs beside them */
    double casts;       /* copies of the weights in the type of the products (amp) */
    struct sc__fsdp_passing fsdp;
    double host; /* what of all this the host has */
};
struct sc__training_state
sc__plan_state(const struct sc__model *m, const struct sc__plan *p, uint32_t stage);

#endif
