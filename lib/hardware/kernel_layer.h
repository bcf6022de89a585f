/* kernel_layer: the kernels of one transformer layer, forward and backward,
 * on one GPU of a tensor- and context-parallel group.
 *
 * The lists are in the order of execution. Each kernel carries its phase
 * (forward, backward = input gradient and what belongs to it, wgrad = weight
 * and bias gradients) and its place in the layer, so that a lowering can put
 * collectives between the parts, repeat the core of attention (selective
 * recompute) or the whole forward (full recompute), and part weight gradients
 * from input gradients (zero bubble). */
#ifndef SC_HARDWARE_KERNEL_LAYER_H
#define SC_HARDWARE_KERNEL_LAYER_H

#include "hardware/kernel.h"

/* Which operators are fused. */
enum sc__fusion {
    /* fused norm, bias+activation, bias+dropout+add, flash attention */
    SC__FUSION_MEGATRON,
    /* plain PyTorch: every elementwise operator its own kernel; SDPA attention */
    SC__FUSION_EAGER,
    SC__FUSION_2021, /* Megatron of 2021: unfused attention, masked softmax, dropout */
    /* eager with the modules of Hugging Face's transformers: RMSNorm and "gelu_new"
     * operator by operator, a GEMM for each of q, k, v, gate and up */
    SC__FUSION_HF,
    SC__FUSIONS
};

static inline bool sc__fusion_eager(unsigned fusion) {
    return fusion == SC__FUSION_EAGER || fusion == SC__FUSION_HF;
}

/* What is done to the scores of attention that is not fused. */
enum sc__scores {
    SC__SCORES_FUSED,      /* one kernel, as Megatron's */
    SC__SCORES_PLAIN,      /* a few lines of PyTorch, in the model's type */
    SC__SCORES_OPERATORS,  /* transformers: eager_attention_forward */
    SC__SCORES_ALIBI,      /* transformers' BLOOM: the product adds to the biases */
    SC__SCORES_ALIBI_FP32, /* transformers' MPT: biases in fp32 */
    SC__SCORES_SINKS,      /* transformers' gpt-oss: a column more, for sinks */
    SC__SCORES_MATH,       /* PyTorch's _scaled_dot_product_attention_math: all in fp32 */
    SC__SCORES_WIDE, /* transformers' GPT-J, CodeGen, GPT-Neo: in fp32 up to softmax */
    SC__SCORES_WAYS
};

enum sc__layer_part {
    SC__PART_ATTENTION_NORM, /* before it: gather of sequence parallel comes after */
    SC__PART_ATTENTION_IN,   /* qkv GEMM (column parallel), rope */
    SC__PART_ATTENTION_CORE, /* what selective recompute runs again */
    SC__PART_ATTENTION_OUT,  /* output GEMM (row parallel); its reduction comes after */
    SC__PART_ATTENTION_ADD,  /* bias, dropout, residual */
    SC__PART_MLP_NORM,
    SC__PART_ROUTER,  /* MoE: gate, top-k, permutation; dispatch comes after */
    SC__PART_MLP_IN,  /* fc1 (column parallel), activation; experts */
    SC__PART_MLP_OUT, /* fc2 (row parallel); reduction or combine comes after */
    SC__PART_SHARED,  /* MoE: experts that see every token */
    SC__PART_UNROUTE, /* MoE: back into token order, weighted */
    SC__PART_MLP_ADD,
    SC__LAYER_PARTS
};

struct sc__layer_shape {
    enum sc__fusion fusion;
    enum sc__dtype dtype; /* of activations: bf16, fp16, fp32 */
    enum sc__dtype gemm;  /* of the GEMMs of linear layers: fp8 or as dtype */
    /* one micro-batch, whole sequence */
    uint64_t batch;
    uint64_t seq;
    /* of the whole model */
    uint64_t hidden;
    uint64_t heads;
    uint64_t kv_heads;
    uint64_t head_dim;
    uint64_t ffn;
    uint64_t window; /* keys a query sees; 0: all */
    uint64_t pieces; /* attention sees one of so many parts of a sequence alone; 0: all */
    uint32_t tp;
    uint32_t cp;
    bool sequence_parallel; /* norm and adds on 1/tp of the tokens */
    bool gated;             /* SwiGLU: fc1 is twice as wide */
    bool rmsnorm;
    bool bias;
    bool rope;
    bool complex_rope; /* cast to fp32, multiplied as complex numbers, and cast back */
    bool masked;       /* a window is a mask that is added to all scores */
    bool repeat_keys;  /* keys and values are copied for every head that shares them */
    double
        stacked_bytes; /* kept for backward in arrays of all layers; 0: where it is made */
    bool liger;        /* transformers' modules with kernels of Liger's in them */
    bool causal;
    bool dropout;
    /* new_gelu: the tanh approximation written out */
    bool qkv_bias;
    bool no_qkv_bias; /* all have one but these */
    bool mlp_bias;    /* of a dense feed-forward */
    bool qk_norm;
    bool v_norm;     /* values as well, without weights */
    bool key_values; /* values are made of the keys: no projection of their own */
    bool new_gelu;
    bool learned_activation; /* xIELU */
    bool function_gelu; /* the same in a function of autograd that keeps its input alone */
    bool post_norms;    /* norms after attention and feed-forward as well */
    bool sub_norms;     /* norms before the output layer of attention and the second one of
                           a dense feed-forward */
    /* fp8 as PyTorch casts it: a pass for the maximum, weights as well, all again in
     * backward */
    bool dynamic_casts;
    bool row_scales; /* with it: each side of a product scales along what it sums over */
    double row_products; /* factor on the time of those products */
    bool narrow_weights; /* with it: weights come as they were cast, from the shards */
    bool scale_of_now;   /* Transformer Engine's current scaling */
    bool accumulate; /* weight gradients are added to an fp32 buffer in their epilogue */
    enum sc__attention_software attention;
    enum sc__scores scores; /* where attention is unfused */
    /* Multi-head latent attention; kv_rank 0: ordinary. head_dim is then the
     * part without position, rope_dim the part with it. q_rank 0: no q latent. */
    uint64_t q_rank;
    uint64_t kv_rank;
    bool latents_of_all; /* are made of all tokens, not of the rank's part of them */
    uint64_t rope_dim;
    uint64_t v_dim;
    /* Mixture of experts; experts 0: dense. */
    uint32_t experts;
    uint32_t topk;
    uint32_t ep;
    uint32_t expert_tp;
    uint64_t expert_ffn;
    uint64_t shared_ffn;
    uint64_t moe_latent;    /* routed tokens are so wide; 0: hidden */
    bool looped;            /* one GEMM per expert after another, not a grouped GEMM */
    bool in_products;       /* activation and casts are part of the grouped GEMMs */
    bool sorted_on_arrival; /* the exchange sends tokens as they are: they are copied and
                             * sorted where their experts are, once */
    bool
        scales_reordered; /* scales of blocks are laid out for tensor cores before a GEMM */
    bool expert_bias;   /* biases are added expert by expert, in fp32, outside the GEMMs */
    bool clamped_apart; /* with biases: the activation's input is clamped before it */
    bool wide_gate;     /* gradients of the gate are products of fp32 */
    bool router_apart;  /* router and balancing loss operator by operator */
    bool by_modules;    /* tokens go to experts and back as in transformers' modules, */
    bool wide_routes;   /* where they are weighted in fp32, */
    bool wide_router;   /* and the gate is a product of fp32 */
    bool titan_routes;  /* tokens go there and back as in TorchTitan's MoE, */
    bool padded_routes; /* where room is left behind the rows of each expert */
    bool branch_norms;  /* the shared part and the routed one have norms of their own */
    double imbalance;   /* tokens of this GPU over the mean; 0 = 1 */
    /* A layer without one of its halves. */
    bool no_mixer;
    bool no_feed_forward;
    uint64_t index_heads; /* an indexer picks `window` keys for each query */
    uint64_t index_dim;
    bool attention_gate; /* the output of attention is multiplied by a gate */
    /* Mamba-2, or with delta_rule a gated delta net, in place of attention; 0: none */
    uint64_t scan_heads;
    uint64_t scan_head_dim;
    uint64_t scan_groups;
    uint64_t state_dim;
    uint64_t scan_chunk;
    double scan_factor;  /* on the time of Mamba-2's scan; 0: 1 */
    uint64_t scan_input; /* width of the projection before it */
    bool delta_rule;
    /* Rank of adapters beside frozen weights; 0: all are trained. */
    uint64_t lora;
    unsigned lora_targets; /* which have one: q, k, v, out, gate, up, down and
                              those of a scan from bit 0 */
    bool lora_fp32;        /* adapters are in fp32, */
    bool lora_autocast;    /* and their products in the type of the others */
    bool lora_dropout;
    bool four_bits; /* frozen weights are unpacked for each use */
};

struct sc__layer_kernel {
    struct sc__kernel kernel;
    uint8_t part; /* enum sc__layer_part */
    bool up;      /* of latent attention: from the ranks up to the heads */
};

struct sc__layer_kernels {
    struct sc__layer_kernel *items;
    uint32_t count;
    uint32_t capacity;
};

/* The norm of a layer's or a model's end, its gradient with backward. Appends. */
void sc__norm_kernels(struct sc__arena *arena,
                      struct sc__kernel_model *p,
                      const struct sc__layer_shape *s,
                      bool backward,
                      uint64_t rows,
                      struct sc__layer_kernels *out);
/* The core of a scan, kernel_scan.c. Appends. */
void sc__scan_kernels(struct sc__arena *arena,
                      struct sc__kernel_model *p,
                      const struct sc__layer_shape *s,
                      uint64_t tokens,
                      bool backward,
                      struct sc__kernels *out);
/* The indexer of sparse attention, kernel_scan.c. Appends. */
void sc__index_kernels(struct sc__arena *arena,
                       struct sc__kernel_model *p,
                       const struct sc__layer_shape *s,
                       bool backward,
                       struct sc__kernels *out);
/* Measured times of pieces of a layer, kernel_pieces.c. */
void sc__layer_apply_pieces(const struct sc__kernel_model *p,
                            struct sc__layer_kernels *list);
/* Appends to forward and backward. */
void sc__layer_kernels(struct sc__arena *arena,
                       struct sc__kernel_model *p,
                       const struct sc__layer_shape *s,
                       struct sc__layer_kernels *forward,
                       struct sc__layer_kernels *backward);

#endif
