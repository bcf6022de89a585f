/* kernel_model: its inside, shared by the files with the formulas (kernel_gemm.c,
 * kernel_attention.c, kernel_memory.c) and by the reader of measured times. */
#ifndef SC_HARDWARE_KERNEL_MODEL_H
#define SC_HARDWARE_KERNEL_MODEL_H

#include "hardware/kernel.h"

#include <math.h>

/* (a^q + b^q)^(1/q), for any sizes of a and b. */
static inline double sc__smooth_max(double a, double b, double q) {
    double most = fmax(a, b);
    return most > 0 ? most * pow(1 + pow(fmin(a, b) / most, q), 1 / q) : 0;
}

/* What a time depends on; the unused are 0. */
struct sc__kernel_key {
    uint32_t what;  /* enum sc__kernel_op, or SC__KERNEL_OP_MEMORY + enum sc__memory_op */
    uint32_t dtype; /* enum sc__dtype */
    uint64_t size[8];
};

enum sc__kernel_op {
    /* m, n, k, batch, with bias, enum sc__gemm_layout, accumulated, input cast before */
    SC__KERNEL_OP_GEMM,
    SC__KERNEL_OP_GROUPED,
    SC__KERNEL_OP_BATCHED,
    /* batch, heads, kv heads, sq, skv, head size, v size, causal or share in 1e-6 */
    SC__KERNEL_OP_ATTENTION_F,
    SC__KERNEL_OP_ATTENTION_B,
    SC__KERNEL_OP_EMBEDDING_F, /* rows, vocabulary, hidden */
    SC__KERNEL_OP_EMBEDDING_B,
    SC__KERNEL_OP_ADAMW, /* parameters, bytes of each */
    SC__KERNEL_OP_ELEMENTWISE,
    /* tokens, hidden, topk, experts, SMs, enum sc__exchange */
    SC__KERNEL_OP_EXCHANGE,
    /* tokens, hidden, width, topk, experts, GPUs, 1e3 exponent, without a gate */
    SC__KERNEL_OP_MOE,
    /* batch, tokens of a sequence, channels or heads, enum sc__sequence_op, enum
       sc__serving_software */
    SC__KERNEL_OP_SEQUENCE,
    /* batch, tokens of a sequence, heads, head size, groups, state, chunk, backward */
    SC__KERNEL_OP_SCAN,
    /* batch, heads, heads of keys, tokens of a sequence (generation: its keys), head size,
       window, enum sc__serving_phase and _type, enum sc__serving_software */
    SC__KERNEL_OP_SERVING,
    SC__KERNEL_OP_MEMORY /* + enum sc__memory_op: rows, cols */
};

/* Which operands lie transposed; told apart only where a size is no multiple of 8,
 * and in tf32. */
enum sc__gemm_layout { SC__LAYOUT_FORWARD, SC__LAYOUT_DGRAD, SC__LAYOUT_WGRAD };

struct sc__kernel_model {
    struct sc__arena *arena;
    const struct sc__gpu *gpu;
    struct sc__operator_constants operators;
    struct sc__map known;    /* hash of a key → us, by formula */
    struct sc__map measured; /* hash of a key → us, from a table */
    bool measured_used;      /* some kernel was there */
    struct sc__names pieces; /* AIOB's names */
    double *piece_us;
    uint32_t piece_count;
    uint32_t piece_capacity;
};

uint64_t sc__kernel_hash(const struct sc__kernel_key *key);
/* The time of key: measured, remembered, or by formula. */
double
sc__kernel_us(struct sc__kernel_model *p, const struct sc__kernel_key *key, bool *measured);
/* The model's time of key, cold. */
double sc__kernel_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key);
double sc__gemm_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key);
/* One of so many layers in turn, with weights of their own and the same input. */
double sc__gemm_layers_cost(const struct sc__gpu *gpu,
                            const struct sc__kernel_key *key,
                            double layers);
double sc__attention_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key);
double sc__memory_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key);
double sc__moe_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key);
double sc__sequence_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key);
double sc__scan_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key);
double sc__serving_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key);
double sc__exchange_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key);
struct sc__kernel_key sc__sequence_key(enum sc__sequence_op op,
                                       enum sc__serving_software software,
                                       uint64_t batch,
                                       uint64_t tokens,
                                       uint64_t heads);
/* The constants that time a key of the last two, as the GPU's file has them. */
const double *sc__sequence_constants(const struct sc__gpu *gpu,
                                     const struct sc__kernel_key *key);
const double *sc__serving_constants(const struct sc__gpu *gpu,
                                    const struct sc__kernel_key *key);
/* The layout that a key of these sizes has in size[5]. */
uint64_t sc__gemm_layout(const struct sc__kernel_key *key, enum sc__gemm_layout layout);
/* Of a batched product whose sizes or-ed are these; NULL: the library's main kernels run
 * it, or the GPU's file has none. */
const double *sc__fallback_batched_constants(const struct sc__gpu *gpu,
                                             enum sc__dtype type,
                                             uint64_t sizes);
/* Of a single product of four bytes; NULL: the GPU's file has none. */
const double *
sc__product_constants(const struct sc__gpu *gpu, enum sc__dtype type, uint64_t layout);
double sc__product_us(
    const struct sc__gpu *gpu, const double *c, uint64_t m, uint64_t n, uint64_t k);
/* Of the peak of fp32 or tf32, what the largest products reach. */
double sc__sustained_share(const struct sc__gpu *g, enum sc__dtype t, double usual);
/* us of the waves of so many products of m, n, k, each k in so many parts. */
double sc__fallback_waves(const struct sc__gpu *gpu,
                          const double *c,
                          double batch,
                          const double size[3],
                          double parts);
/* Whether a leading dimension keeps it from the library's main kernels. */
bool sc__gemm_unaligned(const struct sc__kernel_key *key);
struct sc__kernel_key sc__attention_key(enum sc__kernel_op what,
                                        const struct sc__attention *a);

/* The kernel that casts the input of a linear layer to a narrow type. */
enum sc__memory_op sc__quantize_op(enum sc__dtype t);

/* The closed forms, cold. */
double sc__gemm_us(
    const struct sc__gpu *gpu, enum sc__dtype t, uint64_t m, uint64_t n, uint64_t k);
double sc__gemm_batched_us(const struct sc__gpu *gpu,
                           enum sc__dtype t,
                           uint64_t batch,
                           uint64_t m,
                           uint64_t n,
                           uint64_t k);
double sc__memory_op_us(const struct sc__gpu *gpu,
                        enum sc__memory_op op,
                        enum sc__dtype t,
                        uint64_t rows,
                        uint64_t cols);
/* Energy of a FLOP of a type over that of one of bf16. */
double sc__flop_energy(const struct sc__gpu *gpu, enum sc__dtype t);
/* The type that kernels other than products go by: fp32 or, for two bytes, bf16. */
enum sc__dtype sc__element_type(enum sc__dtype t);
/* The class of heads whose constants time an attention key. */
const struct sc__attention_constants *sc__attention_class(const struct sc__gpu *gpu,
                                                          const struct sc__kernel_key *key);

#endif
