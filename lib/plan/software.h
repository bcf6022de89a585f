/* software: what a training stack of a period does, as a profile: the options it
 * stands for and the constants of its host and its kernels, each with its public
 * reason (data/software/, docs/formats/software.md).
 *
 *   name, file, container tag, "nemo 2024-09"   → profile      software_find.c
 *   profile + what was said                     → what is run  software_apply.c
 *
 * What a user says goes before what a profile says, and a profile before what is
 * usual. */
#ifndef SC_PLAN_SOFTWARE_H
#define SC_PLAN_SOFTWARE_H

#include "base/base.h"
#include "base/json_view.h"
#include "base/options.h"

/* What the software costs beside the kernels of a layer. */
struct sc__software_constants {
    double host_us; /* of host time per kernel */
    /* 1: CUDA_LAUNCH_BLOCKING; the host prepares a kernel when the last one has ended */
    double blocking;
    double host_message_us; /* per message between stages that the host waits for */
    /* the GPU stands still so long when the host has waited for the counts of tokens */
    double host_wait_us;
    /* host time of a layer with experts beside its kernels: operators of router,
     * permutation and exchange, forward and backward */
    double host_route_us;
    double host_route_back_us;
    double host_product_us; /* and of a product of one expert, where they are apart */
    /* 1: tokens are exchanged by HybridEP: copies carry probabilities of all experts of the
     * NVLink domain, and ranks on several nodes gather the map of routes first */
    double hybrid_ep;
    double wide_gate; /* 1: gradients of the gate are products of fp32 */
    /* 1: the router and the loss that balances it run operator by operator */
    double router_operators;
    /* 1: tokens go to experts and back by operators of a module that nobody compiles
     * (TorchTitan's MoE), */
    double titan_routes;
    double padded_routes; /* and room is left behind the rows of each expert */
    double tp_exposed;    /* share of a chunked collective that stays exposed */
    /* compute is slower by this share while data-parallel traffic runs beside it */
    double comm_tax;
    double shard_messages; /* collectives per unit of sharded weights (ZeRO 2, 3) */
    /* tensors of a layer, where ZeRO 1 gives ranks whole tensors: gradients are
     * all-reduced, and each owner broadcasts its weights; 0: flat shards */
    double owned_tensors;
    double accumulate_bytes; /* memory traffic per parameter of adding up gradients */
    double adam_bytes;       /* memory traffic per parameter of the optimizer */
    double host_update;      /* millions of parameters/s that a core updates on the host */
    double attention_64;     /* factor on attention with heads up to 64 wide */
    double unaligned_heads;  /* on batched products with heads of no multiple of 8 */
    /* 1: full recomputation ends before a layer's last product, whose result nobody needs
     */
    double early_stop;
    /* 1: with sequence parallelism the input of a column-parallel product is gathered again
     * for its weight gradient; 0: what was gathered in forward (or in recomputation) is
     * kept */
    double gather_again;
    /* 1: ZeRO 2 gives gathered weights back after every backward; 0: they stay whole, and
     * are gathered once a step */
    double weights_given_back;
    /* 1: FSDP has embedding and head as units of their own; 0: its root has both */
    double own_ends;
    /* 1: one communicator gathers weights and scatters gradients, which therefore never
     * run at once, whichever streams they are started on */
    double one_communicator;
    /* 1: ZeRO 1 and 2 sum gradients on every rank, and ZeRO 2 gathers the weights when they
     * have been updated, before the next step begins */
    double whole_reductions;
    double gradient_copies; /* times ZeRO 2 and 3 read or write a gradient to send it */
    /* 1: words are looked up by a product of their one-hot rows with the table */
    double one_hot_embedding;
    /* 1: rotary positions by complex numbers of fp32, which compilers leave alone */
    double complex_rope;
    double repeat_keys;  /* 1: keys and values are copied for every head that shares them */
    double row_products; /* factor on products in fp8 with scales of rows */
    double predictions;  /* 1: layers of multi-token prediction are trained */
    /* 1: layers are one loop of the program: what backward needs of each is copied into
     * arrays of all layers, and out of them */
    double stacked_layers;
};

/* An option or a constant that a profile sets. Conditions are prefixes with commas
 * between them, in any case; NULL: always. */
struct sc__software_entry {
    const char *name;
    const char *text; /* of an option */
    const struct sc__option *option;
    double number;  /* of a constant */
    uint32_t field; /* which of struct sc__software_constants it is */
    bool is_constant;
    const char *why;
    const char *model;
    const char *gpu;
    const char *precision;
    const char *profile; /* that has it: this one, or one it is like */
};

struct sc__software {
    const char *name;
    const char *title;
    const char *stack; /* "nemo" */
    const char *source;
    /* "2024-05": the months it covers */
    const char *from;
    const char *to;
    const char *names; /* texts that mean it, with commas: container tags, releases */
    const char *near;  /* the profiles to fall back on, nearest first, with commas */
    struct sc__software_entry *entries;
    uint32_t count;
    uint32_t capacity;
};

/* What conditions are about. */
struct sc__software_facts {
    const char *model;
    const char *gpu;
    const char *types[3]; /* names of the precision, NULL after the last */
};

#define SC__SOFTWARE_ALL UINT32_MAX

/* The option of a plan or of an evaluation that a profile may set, or NULL. */
const struct sc__option *sc__software_option(const char *name);

/* The profile that has every constant: what is usual. */
const char *sc__software_root(void);
/* A profile of data/software/ or a file. */
sc_status sc__software_read(struct sc_context *ctx,
                            const char *name,
                            const struct sc__software **out);
/* Without its entries and those of the profiles it is like. */
sc_status sc__software_head(struct sc_context *ctx,
                            const char *name,
                            const struct sc__software **out);
/* What --software says: a profile, a file of one, or any text that names the
 * software; a text that names none is SC_USAGE. "auto": `evidence` is looked
 * through (a launch script, a configuration), and where it says nothing *out is
 * NULL. */
sc_status sc__software_find(struct sc_context *ctx,
                            const char *said,
                            struct sc__str evidence,
                            const struct sc__software **out);
/* Megatron as it was in the month that the text names (2021-04, or the number of a paper
 * on arXiv), up to 2022; NULL where it names none, or one that no profile covers. */
sc_status sc__software_of_month(struct sc_context *ctx,
                                struct sc__str text,
                                const struct sc__software **out);
/* Does the text name a month, a release or a year that dates what it speaks of? */
bool sc__software_is_dated(struct sc_context *ctx, struct sc__str text);
/* The one that is taken where nobody says. gpu: its name, or NULL. */
const char *
sc__software_assumed(struct sc_context *ctx, const sc_plan *plan, const char *gpu);

/* Fills what plan and options leave open. without: an entry that is left out, or
 * SC__SOFTWARE_ALL for none. used (of software->count): the entries that decided
 * something; or NULL. */
sc_status sc__software_apply(struct sc_context *ctx,
                             const struct sc__software *software,
                             const struct sc__software_facts *facts,
                             uint32_t without,
                             sc_plan *plan,
                             sc_options *options,
                             bool *used);
/* Where what a profile says does not fit the rest of the plan it gives way. given: the plan
 * before it, two_level: that option before it. */
void sc__software_give_way(const sc_plan *given,
                           sc_toggle two_level,
                           sc_plan *g,
                           sc_options *options);
/* The constants; every one is set by the profile that all others fall back on.
 * used: as above. */
sc_status sc__software_constants(struct sc_context *ctx,
                                 const struct sc__software *software,
                                 const struct sc__software_facts *facts,
                                 uint32_t without,
                                 struct sc__software_constants *out,
                                 bool *used);
/* The field of a constant, or NULL. */
double *sc__software_constant(struct sc__software_constants *c, const char *name);
const char *const *sc__software_constant_names(void);

#endif
