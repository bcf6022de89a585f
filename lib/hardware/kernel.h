/* kernel: the cost of one GPU kernel, in us, cold (below the power limit).
 *
 * A kernel model answers for one GPU; it remembers what it computed and knows
 * the measured times that replace its formulas. Every function gives a struct
 * sc__kernel by value; callers put them in lists, sum them, and let
 * hardware/power_throttling.h stretch them. */
#ifndef SC_HARDWARE_KERNEL_H
#define SC_HARDWARE_KERNEL_H

#include "hardware/gpu.h"
#include "hardware/operator_constants.h"
#include "workload/workload.h"

struct sc__kernel {
    const char *name;
    uint8_t kind;  /* enum sc__kernel_kind */
    uint8_t work;  /* enum sc__work */
    uint8_t phase; /* enum sc__phase; forward unless the caller or a list maker sets it */
    bool measured; /* from a table, not the model */
    uint32_t head_dim; /* of attention: of queries and keys */
    double us;
    double flop;
    double bytes;
    double effort;   /* FLOP weighted by the energy of their type, for the power model */
    double launches; /* kernels it is made of, for gaps and host time (eager counts) */
    bool in_loop; /* one for each expert: the host's time goes by products, not by them */
};

struct sc__kernels { /* a list; SC__PUSH(arena, list.items, list.count, list.capacity) */
    struct sc__kernel *items;
    uint32_t count;
    uint32_t capacity;
};

struct sc__kernel_model;

/* gpu must outlive the model; so must the arena. One thread at a time. */
struct sc__kernel_model *sc__kernel_model_new(struct sc__arena *arena,
                                              const struct sc__gpu *gpu);
/* What operators of PyTorch take (operator_constants.h). */
const struct sc__operator_constants *
sc__kernel_model_operators(const struct sc__kernel_model *p);
const struct sc__gpu *sc__kernel_model_gpu(const struct sc__kernel_model *p);
/* Reads --kernel-times FILE: our table (docs/model/kernels.md) or AIOB text.
 * Kernels found in it are taken from it, with measured set. */
sc_status sc__kernel_model_read_times(struct sc_context *ctx,
                                      struct sc__kernel_model *p,
                                      const char *path);
/* The table has times, and none of them was of a kernel that was asked for. */
bool sc__kernel_model_times_unused(const struct sc__kernel_model *p);
/* Times of whole pieces by name, as AIOB's text has them ("atten_qkv",
 * "mlp_linear_1", "logit_time" …). False when the table has none. */
bool sc__kernel_model_piece(const struct sc__kernel_model *p, const char *name, double *us);

/* name is kept as given (static or arena text); NULL: a name of the operation.
 * out[m,n] = A[m,k] B[k,n]. Forward of a linear layer with N tokens:
 * (N, out, in); input gradient (N, in, out); weight gradient (out, in, N). */
struct sc__kernel sc__gemm(struct sc__kernel_model *p,
                           const char *name,
                           enum sc__dtype t,
                           uint64_t m,
                           uint64_t n,
                           uint64_t k);
/* The same with a bias in its epilogue. */
struct sc__kernel sc__gemm_bias(struct sc__kernel_model *p,
                                const char *name,
                                enum sc__dtype t,
                                uint64_t m,
                                uint64_t n,
                                uint64_t k);
/* Gradients: the same but for sizes that are no multiple of 8. accumulate: a
 * weight gradient added to an fp32 buffer, as Megatron does. */
struct sc__kernel sc__gemm_dgrad(struct sc__kernel_model *p,
                                 const char *name,
                                 enum sc__dtype t,
                                 uint64_t m,
                                 uint64_t n,
                                 uint64_t k);
struct sc__kernel sc__gemm_wgrad(struct sc__kernel_model *p,
                                 const char *name,
                                 enum sc__dtype t,
                                 uint64_t m,
                                 uint64_t n,
                                 uint64_t k,
                                 bool accumulate);
/* Grouped GEMM: [m,k] by [k,n] for each expert in one kernel (m tokens per expert). */
struct sc__kernel sc__gemm_grouped(struct sc__kernel_model *p,
                                   const char *name,
                                   enum sc__dtype t,
                                   uint64_t experts,
                                   uint64_t m,
                                   uint64_t n,
                                   uint64_t k);
/* batch GEMMs in one kernel, as unfused attention has them (batch·heads). */
struct sc__kernel sc__gemm_batched(struct sc__kernel_model *p,
                                   const char *name,
                                   enum sc__dtype t,
                                   uint64_t batch,
                                   uint64_t m,
                                   uint64_t n,
                                   uint64_t k);

struct sc__attention {
    /* on this GPU */
    uint64_t batch;
    uint64_t heads;
    uint64_t kv_heads;
    /* queries; keys. skv 0: as sq */
    uint64_t sq;
    uint64_t skv;
    /* v_dim 0: as head_dim (MLA: 192 and 128) */
    uint64_t head_dim;
    uint64_t v_dim;
    bool causal; /* queries are the last sq of skv */
    /* > 0: this part of the sq × skv blocks is computed, whatever causal says
     * (context parallel in balanced chunks: sq = s/cp, skv = s, share = 0.5). */
    double share;
    enum sc__attention_software software;
    bool wide;   /* elements of four bytes (fp32, tf32), which flash kernels do not take */
    bool masked; /* a mask is read and added to every score, of the whole square */
};
struct sc__kernel sc__attention_forward(struct sc__kernel_model *p,
                                        const struct sc__attention *a);
struct sc__kernel sc__attention_backward(struct sc__kernel_model *p,
                                         const struct sc__attention *a);

/* t: of the elements that are in the type of the model. */
struct sc__kernel sc__memory_op(struct sc__kernel_model *p,
                                enum sc__memory_op op,
                                enum sc__dtype t,
                                uint64_t rows,
                                uint64_t cols);
/* Anything else that moves so many bytes. */
struct sc__kernel
sc__elementwise(struct sc__kernel_model *p, const char *name, double bytes);
/* Operators of PyTorch that find the place of every element anew, since an operand is
 * broadcast or is part of longer rows: cycles of an SM beside the bytes of what is copied
 * whole. */
struct sc__kernel
sc__strided(struct sc__kernel_model *p, const char *name, double bytes, double cycles);
/* An operator that takes its time for each element beside the bytes it moves: ps on an
 * H200, others by their peak of fp32. */
struct sc__kernel sc__by_element(
    struct sc__kernel_model *p, const char *name, double bytes, double elements, double ps);
/* Rows of a width that are added to others where an index says, bytes an element. */
struct sc__kernel sc__rows_added(struct sc__kernel_model *p,
                                 const char *name,
                                 double rows,
                                 double to,
                                 double width,
                                 double bytes);
struct sc__kernel sc__embedding_forward(struct sc__kernel_model *p,
                                        enum sc__dtype t,
                                        uint64_t rows,
                                        uint64_t hidden);
struct sc__kernel sc__embedding_backward(struct sc__kernel_model *p,
                                         enum sc__dtype t,
                                         uint64_t rows,
                                         uint64_t vocab,
                                         uint64_t hidden);
/* Fused AdamW over params parameters; bytes: of memory traffic per parameter
 * (30: bf16 weight, fp32 gradient, master, both moments; 0: all of type t, as
 * torch.optim.AdamW(fused) has it). */
struct sc__kernel
sc__adamw(struct sc__kernel_model *p, enum sc__dtype t, double params, double bytes);

#endif
