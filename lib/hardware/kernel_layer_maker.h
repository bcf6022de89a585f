/* kernel_layer_maker: what makes the operator lists of a layer, for the files that share
 * it: kernel_layer.c, kernel_layer_linear.c, kernel_layer_experts.c (what only experts
 * have), kernel_layer_scores.c (attention that is not fused). */
#ifndef SC_HARDWARE_KERNEL_LAYER_MAKER_H
#define SC_HARDWARE_KERNEL_LAYER_MAKER_H

#include "hardware/kernel_layer.h"

struct sc__layer_maker {
    struct sc__arena *arena;
    struct sc__kernel_model *kernel_model;
    const struct sc__layer_shape *s;
    struct sc__layer_kernels *out;
    enum sc__layer_part part;
    bool backward;
    bool up;         /* kernels of latent attention's up-projection */
    uint64_t tokens; /* of this GPU inside tensor parallel regions */
    uint64_t rows;   /* of this GPU outside: fewer with sequence parallel */
};

struct sc__linear {
    const char *name;
    const char *dgrad;
    const char *wgrad;
    uint64_t in;
    uint64_t out;
    uint64_t experts;     /* 0: one plain GEMM */
    bool bias_in_gemm;    /* and its gradient a column sum */
    unsigned targets;     /* bits of lora_targets it stands for */
    bool operand_is_cast; /* by the kernel that makes it */
};

struct sc__mlp {
    uint64_t rows; /* of each expert */
    uint64_t hidden;
    uint64_t ffn;
    uint64_t experts; /* of this GPU; 0: not of experts */
    enum sc__layer_part in;
    enum sc__layer_part out;
};

/* Attention of this GPU whose scores are written. */
struct sc__written_scores {
    uint64_t sequences;
    uint64_t heads;
    uint64_t queries; /* of a sequence */
    uint64_t keys;
    uint64_t qk_dim;
    uint64_t v_dim;
};

/* Fewer key-value heads than tp: each rank keeps a copy of one. */
static inline uint64_t sc__at_least_one(uint64_t a, uint64_t b) {
    return a / b ? a / b : 1;
}

void sc__layer_push(struct sc__layer_maker *m, struct sc__kernel k);
/* A kernel known by its bytes, so often. */
void sc__layer_elementwise(struct sc__layer_maker *m,
                           const char *name,
                           double bytes,
                           double times);
void sc__layer_memory(struct sc__layer_maker *m,
                      enum sc__memory_op op,
                      uint64_t rows,
                      uint64_t cols);
/* Either side of an operation whose constants come in pairs. */
void sc__layer_either(struct sc__layer_maker *m,
                      enum sc__memory_op forward,
                      uint64_t rows,
                      uint64_t cols);
void sc__layer_linear(struct sc__layer_maker *m, const struct sc__linear *l, uint64_t rows);
void sc__layer_mlp(struct sc__layer_maker *m, const struct sc__mlp *f);
void sc__layer_scores(struct sc__layer_maker *m, const struct sc__written_scores *w);
/* Around the products of experts where transformers runs them, kernel_layer_routes.c. */
void sc__layer_routes_to_experts(struct sc__layer_maker *m);
void sc__layer_routes_back(struct sc__layer_maker *m);
/* The same in TorchTitan's MoE, and what arranges rows for the products of a rank. */
void sc__layer_titan_to_experts(struct sc__layer_maker *m);
void sc__layer_titan_back(struct sc__layer_maker *m);
void sc__layer_titan_arrange(struct sc__layer_maker *m,
                             const struct sc__mlp *f,
                             bool behind);
void sc__layer_route_biases(struct sc__layer_maker *m, const struct sc__mlp *f);
/* Router, permutation, routed and shared experts, and back. */
void sc__layer_experts(struct sc__layer_maker *m);

#endif
