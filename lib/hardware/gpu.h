/* gpu: one type of GPU, as a file of data/gpus describes it: the datasheet,
 * and the constants of the kernel model (docs/model/kernels.md).
 *
 * A file either gives every constant or names a `base`; then the constants of
 * the base are carried over by the ratios of the two datasheets and the file
 * replaces those it knows better. Immutable once read. */
#ifndef SC_HARDWARE_GPU_H
#define SC_HARDWARE_GPU_H

#include "base/base.h"

/* SC__FP8: one scale per tensor; SC__FP8_ROW: one per row; SC__FP8_BLOCK: one per
 * 128 elements of the input and per 128 x 128 of the weights. */
enum sc__dtype {
    SC__FP32,
    SC__TF32,
    SC__FP16,
    SC__BF16,
    SC__FP8,
    SC__FP4,
    SC__FP8_ROW,
    SC__FP8_BLOCK,
    SC__DTYPES
};

/* What a kernel is limited by; throttling acts on each differently. */
enum sc__kernel_kind {
    SC__KERNEL_GEMM,
    SC__KERNEL_ATTENTION,
    SC__KERNEL_MEMORY,
    SC__KERNEL_KINDS
};

/* Memory-bound kernels with constants of their own. _F forward, _B backward.
 * rows × cols is the shape of the output unless the line says otherwise;
 * elements are bf16 (fp16) where no type is given. */
enum sc__memory_op {
    SC__MEM_LAYERNORM_F,
    SC__MEM_LAYERNORM_B,
    SC__MEM_RMSNORM_F,
    SC__MEM_RMSNORM_B,
    SC__MEM_GELU_F,
    SC__MEM_GELU_B,
    SC__MEM_SWIGLU_F, /* two contiguous inputs; cols = ffn width */
    SC__MEM_SWIGLU_B,
    SC__MEM_SWIGLU_CHUNK_F, /* eager code on chunk() views; cols = ffn width */
    SC__MEM_SWIGLU_CHUNK_B,
    SC__MEM_ADD, /* residual, gradient accumulation */
    SC__MEM_ADD_BROADCAST,
    SC__MEM_COPY,
    SC__MEM_COPY_STRIDED,
    SC__MEM_TRANSPOSE,
    SC__MEM_CAT,
    SC__MEM_CAT_STRIDED,
    SC__MEM_CAST_FP32,
    SC__MEM_DROPOUT_F,
    SC__MEM_DROPOUT_B,
    SC__MEM_BIAS_GRAD,       /* column sum of rows × cols */
    SC__MEM_CROSS_ENTROPY_F, /* eager, with .float(); cols = vocabulary */
    SC__MEM_CROSS_ENTROPY_B,
    SC__MEM_CROSS_ENTROPY_BF16_F,
    SC__MEM_CROSS_ENTROPY_BF16_B,
    /* Megatron's vocabulary-parallel one; cols = vocabulary / tp */
    SC__MEM_CROSS_ENTROPY_FUSED_F,
    SC__MEM_CROSS_ENTROPY_FUSED_B,
    SC__MEM_SOFTMAX_F, /* scaled, masked, fused; rows = batch·heads·sq, cols = skv */
    SC__MEM_SOFTMAX_B,
    SC__MEM_MASK_F, /* unfused mask and scale of attention scores */
    SC__MEM_MASK_B,
    SC__MEM_BIAS_GELU_F, /* one fused kernel, as Megatron's */
    SC__MEM_BIAS_GELU_B,
    SC__MEM_FUSED_SWIGLU_F, /* cols = ffn width */
    SC__MEM_FUSED_SWIGLU_B,
    SC__MEM_BIAS_DROPOUT_ADD_F,
    SC__MEM_BIAS_DROPOUT_ADD_B,
    SC__MEM_ROPE_F, /* fused; rows = tokens, cols = (heads + kv heads)·head size */
    SC__MEM_ROPE_B,
    SC__MEM_ROPE_EAGER_F,
    SC__MEM_ROPE_EAGER_B,
    SC__MEM_RMSNORM_OPS_F, /* operator by operator, as transformers' modules run them */
    SC__MEM_RMSNORM_OPS_B,
    SC__MEM_ROPE_OPS_F,
    SC__MEM_ROPE_OPS_B,
    SC__MEM_NEW_GELU_F,
    SC__MEM_NEW_GELU_B,
    SC__MEM_PERMUTE_F, /* MoE: rows = token copies, cols = hidden */
    SC__MEM_PERMUTE_B,
    SC__MEM_UNPERMUTE_F, /* with the weighted sum over top-k */
    SC__MEM_UNPERMUTE_B,
    SC__MEM_ROUTER_F, /* softmax and top-k; rows = tokens, cols = experts */
    SC__MEM_ROUTER_B,
    SC__MEM_CAST_FP8,     /* cast with transpose, as Transformer Engine's */
    SC__MEM_QUANTIZE_FP8, /* input of a linear layer: largest value, scale, cast */
    SC__MEM_QUANTIZE_FP8_BLOCK,
    SC__MEM_QUANTIZE_FP4,
    SC__MEM_ACCUMULATE_FP32, /* bf16 gradient into an fp32 buffer */
    SC__MEM_FILL,
    SC__MEM_SUM_SQUARES_FP32, /* gradient norm */
    SC__MEM_SCALE_FP32,       /* gradient clipping */
    SC__MEM_OPS
};

/* One of the shapes of output tile that the library has kernels for, and what
 * its kernel costs over the formula: factors on a step along k and on the
 * epilogue. */
struct sc__gemm_tile {
    double m;
    double n;
    double step;
    double epilogue;
};

enum { SC__GEMM_TILES = 32 };

/* Section 1: tiles and waves. */
struct sc__gemm_constants {
    double r;  /* FLOP/us of one SM's tensor cores at the base type (bf16) */
    double b;  /* us per (bm + bn) per 64-deep step: operand traffic */
    double te; /* us per output element and SM: epilogue */
    /* us: fixed, and more for a split over k */
    double t0;
    double ts;
    double rp;    /* FLOP/us of the whole chip on random data */
    double most;  /* FLOP/us that no product is faster than; 0: rp alone */
    double peak;  /* TFLOP/s of the main type they were found beside; 0: the datasheet's */
    double bw;    /* B/us */
    double write; /* B/us at which outputs reach memory: a floor; 0: none */
    /* sharpness of the maximum; weight of the output in traffic */
    double q;
    double w;
    /* Part of the waves that counts tiles and not whole waves: a last wave that is
     * not full runs faster. */
    double wave;
    /* Elements of output that an SM works on at a time, in tiles; 0: one tile. */
    double resident;
    /* A split over k: factor on the traffic of its partial sums (0: 1), least k
     * of a part (0: 256), us more where m is odd. */
    double split;
    double split_k;
    double split_odd;
    double odd; /* part by which waves take longer where m is odd */
    /* What the cache still holds of A and B: bytes of all operands at which half
     * of it is found there (0: none), and B/us. */
    double cache;
    double cache_b;
    double cache_bw;
    double edge; /* how sharp the end of the cache is for layers in turn; 0: 12 */
    /* Outputs the cache takes: bytes of which half still reach memory while the kernel
     * runs (0: all are taken at `write`); what does costs so much of the bandwidth. */
    double cache_out;
    double write_long;
    double ramp; /* bytes that pass the memory at two thirds of its rate */
    /* The clock under load: products that last take up to this part longer, half of it
     * where they last `hot_us` (0: all take as long as short ones); under the power limit
     * up to `limit` more, half of it where they last `limit_us`. */
    double hot;
    double hot_us;
    double limit;
    double limit_us;
    /* Of a CUDA graph that is replayed, in us: what a replay takes beyond its kernels, the
     * grid its end falls on (0: none), and what the events around it add. */
    double replay;
    double tick;
    double tick_start;
    struct sc__gemm_tile tiles[SC__GEMM_TILES];
    unsigned tile_count; /* 0: the usual shapes, all as the formula says */
};

/* Section 1 for another type: factors on the above; 0: 1, or for the rates as
 * the ratio of the peaks says. */
struct sc__gemm_dtype {
    double r;
    double b;
    double rp;
    double te;
    double t0; /* us instead of the above; 0: as above */
    double bw; /* factor on the bandwidth; 0: 1 */
    /* of input and weight gradients, whose operands lie transposed, over a forward
     * product of the same sizes (tf32); 0: 1 */
    double dgrad;
    double wgrad;
    double tile;   /* only square tiles of this size, k never split; 0: all */
    double rows;   /* only tiles of 64 or 128 rows, k never split; 0: all */
    double energy; /* of one FLOP, over one of bf16; 0: as the ratio of the peaks */
    /* share of the peak that the largest products (of tf32 and fp32) reach; 0: as on
     * Hopper */
    double sustained;
    /* times as long as at the rated clock once the load is felt, and at the power limit,
     * where that is other than of the main type (1 + hot, 1 + hot + limit); 0: as that */
    double felt;
    double limited;
};

/* Leading dimensions that are no multiple of 8 elements (of 4 in tf32): FLOP/us of the
 * kernels for them on the whole chip. */
struct sc__unaligned_constants {
    double even;      /* all multiples of 2 */
    double odd;       /* forward with one odd, but for */
    double odd_n;     /* n alone, k a multiple of 8 */
    double odd_dgrad; /* input gradient with one odd */
    double odd_wgrad; /* weight gradient with one odd */
    double te;        /* us per output element and SM: epilogue of even ones */
    double tf32;      /* tf32, but for */
    double tf32_wgrad;
};

/* A weight gradient added to an fp32 buffer in its epilogue, as Megatron does:
 * us more per 1e6 elements of the output, fixed and over k. */
struct sc__accumulate_constants {
    double element;
    double over_k;
};

/* Batched GEMMs of unfused attention: short or narrow, so the epilogue hides. */
struct sc__batched_constants {
    /* factors on a step and on the traffic; us */
    double step;
    double memory;
    double t0;
};

/* Batched GEMMs for which the library falls back to kernels of before Hopper, by what they
 * are computed in. */
enum sc__fallback_batched {
    SC__BATCHED_FP32,
    SC__BATCHED_TF32,
    SC__BATCHED_TF32_UNALIGNED, /* a size is no multiple of 4 */
    SC__BATCHED_UNALIGNED,      /* two bytes: a size is no multiple of 8, */
    SC__BATCHED_ODD,            /* or odd */
    /* single products of four bytes */
    SC__PRODUCT_FP32,
    SC__PRODUCT_TF32,
    SC__PRODUCT_TF32_DGRAD,
    SC__PRODUCT_TF32_WGRAD,
    SC__BATCHED_FALLBACKS
};

/* In the order in which the GPU's file lists them. */
enum sc__fallback_batched_constant {
    SC__FALLBACK_R,    /* FLOP/us of an SM; 0: loading hides it */
    SC__FALLBACK_B,    /* us per (rows + columns) of a tile and 64 elements of k */
    SC__FALLBACK_TE,   /* us per element of a tile */
    SC__FALLBACK_BW,   /* B/us */
    SC__FALLBACK_T0,   /* us; 0: not known */
    SC__FALLBACK_Q,    /* sharpness of the maximum */
    SC__FALLBACK_WAVE, /* as of GEMMs */
    SC__FALLBACK_TS,   /* us more where k is split; batched products never are */
    SC__FALLBACK_CONSTANTS
};

/* Section 1, mixtures of experts. */
struct sc__grouped_constants {
    /* factors on a step and on the traffic */
    double step;
    double memory;
    /* us per tile; us */
    double tile;
    double t0;
    /* products of experts in a layer over the same alone: one after another, all in one
     * kernel; and weight gradients, which have their results to write besides */
    double one_by_one;
    double together;
    double one_by_one_wgrad;
    double together_wgrad;
};

enum { SC__MOE_ROWS = 5, SC__MOE_COLUMNS = 3 };

/* The experts of a GPU in one call; hardware/kernel_moe.c has the formula. */
struct sc__moe_constants {
    /* us; us for each expert; us per 1e6 elements of the tokens, and of the rows that
     * this GPU's experts get */
    double fixed;
    double expert;
    double permute;
    double sort;
    /* of a tile: us per (rows + columns) and step of 64; FLOP/us of an SM; us per
     * element */
    double b;
    double r;
    double te;
    double step; /* us of a step, whatever the tile */
    /* What a tile takes more than that, by its rows (8 to 128) and columns (64 to 256);
     * 0: nothing. */
    double rows[SC__MOE_ROWS];
    double columns[SC__MOE_COLUMNS];
    double wave; /* as of GEMMs */
    /* B/us and FLOP/us of the whole chip; 0: not known */
    double bw;
    double rp;
    double q;
    /* bytes of a whole call that the cache holds, and the part of the traffic it saves */
    double cache;
    double saved;
    double pad; /* an expert's width is rounded up to a multiple; 0: as it is */
};

/* Section 2: one head-size class. */
struct sc__attention_constants {
    /* up to this; v_dim 0: any */
    double head_dim;
    double v_dim;
    double bq;    /* queries of a tile, forward */
    double bk;    /* keys of a tile, backward; 0: as bq, and steps are means over the SMs */
    double whole; /* factor on a backward step without a mask; 0: 1 */
    double forward[4];  /* fixed, per step, per tile, causal imbalance */
    double backward[6]; /* the same, per element, and more with shared kv heads */
};

enum { SC__HEAD_CLASSES = 6 };

/* Exchange of tokens among the GPUs of a node that hold the experts (DeepEP);
 * hardware/expert_exchange.h has the formula. */
enum sc__exchange {
    SC__EXCHANGE_DISPATCH,
    SC__EXCHANGE_COMBINE,
    SC__EXCHANGE_DISPATCH_LL, /* low latency */
    SC__EXCHANGE_COMBINE_LL,
    SC__EXCHANGES
};

struct sc__exchange_constants {
    double fixed;    /* us */
    double expert;   /* us for each expert */
    double row;      /* us for each row sent, on one SM */
    double sm_bw;    /* B/us of one SM; 0: not a limit */
    double sm_power; /* of the number of SMs that work goes down with */
    double link_bw;  /* B/us of the GPU's links */
    double sharpness;
};

/* Whose kernels: serving stacks have their own for the same work. */
enum sc__serving_software {
    SC__SERVING_TRTLLM,
    SC__SERVING_VLLM,
    SC__SERVING_SGLANG,
    SC__SERVING_SOFTWARES
};

/* Kernels that walk along a sequence: the short convolution and the gated delta rule
 * of hybrid models, and their updates by one token. */
enum sc__sequence_op {
    SC__SEQUENCE_CONV,
    SC__SEQUENCE_CONV_UPDATE,
    SC__SEQUENCE_DELTA,
    SC__SEQUENCE_DELTA_UPDATE,
    SC__SEQUENCE_OPS
};

/* hardware/kernel_sequence.c has the formula. */
enum sc__sequence_constant {
    SC__SEQUENCE_CHUNK,    /* tokens; 0: not known */
    SC__SEQUENCE_WIDTH,    /* channels or heads of a block */
    SC__SEQUENCE_FIXED,    /* us */
    SC__SEQUENCE_ROW,      /* us of a whole chunk, row after row */
    SC__SEQUENCE_WALK,     /* us of a step from chunk to chunk */
    SC__SEQUENCE_WORK,     /* us of a chunk of a block, on one SM */
    SC__SEQUENCE_STATE,    /* us of a block's state, on one SM */
    SC__SEQUENCE_Q,        /* sharpness of the maximum */
    SC__SEQUENCE_PART,     /* of a chunk that is not full, the part that counts as full */
    SC__SEQUENCE_CACHE,    /* chunks of blocks of which the cache holds half */
    SC__SEQUENCE_SAVED,    /* part of the work that the cache saves */
    SC__SEQUENCE_RESIDENT, /* blocks that an SM walks with at a time */
    SC__SEQUENCE_ODD,      /* part more where tokens are no multiple of 8 */
    SC__SEQUENCE_HOST,     /* us of a replay by the host that timed it; may be left out */
    SC__SEQUENCE_CONSTANTS
};

/* Mamba-2's scan; hardware/kernel_sequence.c has the formula. */
enum sc__scan_constant {
    SC__SCAN_FIXED, /* us */
    SC__SCAN_STATE, /* us per 1e6 elements of the states of all chunks and heads */
    SC__SCAN_VALUE, /* us per 1e6 elements of the values */
    SC__SCAN_SCORE, /* us per 1e6 pairs of tokens of a chunk, of all heads */
    SC__SCAN_KEY,   /* us per 1e6 elements of keys, queries and scores, of all groups */
    SC__SCAN_WALK,  /* us of a step from chunk to chunk */
    SC__SCAN_CONSTANTS
};

/* Attention of serving stacks; hardware/kernel_serving.c has the formulas. */
enum sc__serving_phase {
    SC__SERVING_CONTEXT,
    SC__SERVING_GENERATION,
    SC__SERVING_MLA_CONTEXT,
    SC__SERVING_MLA_GENERATION,
    SC__SERVING_PHASES
};
/* Elements: all bf16; the cache fp8; products fp8, too. */
enum sc__serving_type {
    SC__SERVING_BF16,
    SC__SERVING_FP8_CACHE,
    SC__SERVING_FP8,
    SC__SERVING_TYPES
};

enum { SC__SERVING_SIZES = 5, SC__SERVING_CONSTANTS = 32 };

/* Of prompts (context). */
enum sc__context_constant {
    SC__CONTEXT_FIXED,    /* us; 0: not known */
    SC__CONTEXT_PACK,     /* 1: queries that share keys share tiles */
    SC__CONTEXT_TILE,     /* us of a tile's end, on one SM */
    SC__CONTEXT_BW,       /* B/us */
    SC__CONTEXT_Q,        /* sharpness of the maximum */
    SC__CONTEXT_WALK,     /* steps of the longest tile, over its own */
    SC__CONTEXT_CACHE,    /* bytes of which the cache holds half */
    SC__CONTEXT_SAVED,    /* part of the traffic that the cache saves */
    SC__CONTEXT_SEQUENCE, /* us of each sequence and head of keys, on one SM */
    SC__CONTEXT_MASK,     /* what a step costs more where a mask or a window cuts it */
    SC__CONTEXT_KEYS,     /* traffic of a head of keys and values over that of a query's */
    SC__CONTEXT_WIDTH,    /* power of the width in a tile's end */
    SC__CONTEXT_STEP,     /* us of a step, heads of 64, 128, 192, 256, 512, on one SM */
    SC__CONTEXT_CONSTANTS = SC__CONTEXT_STEP + SC__SERVING_SIZES
};

/* Of one token a sequence (generation): those of the call, then those of the kernel whose
 * blocks take all queries of a head of keys, then those of the one whose blocks take a
 * single query, and when it is that one. */
enum sc__generation_constant {
    SC__GENERATION_FIXED,        /* us; 0: not known */
    SC__GENERATION_BW,           /* B/us */
    SC__GENERATION_CACHE,        /* bytes of which the cache holds half */
    SC__GENERATION_SAVED,        /* part of the traffic that the cache saves */
    SC__GENERATION_Q,            /* sharpness of the maximum */
    SC__GENERATION_WAVE,         /* part of a last wave that is not waited for */
    SC__GENERATION_IDLE,         /* a part beyond the window, over one inside */
    SC__GENERATION_COMBINE,      /* us to put parts together */
    SC__GENERATION_COMBINE_HEAD, /* us of a part of a query, on one SM */
    SC__GENERATION_HEAD,         /* us of a query, on one SM */
    SC__GENERATION_SEQUENCE,     /* us of a sequence whose work is planned on the GPU */
    SC__GENERATION_COPY,         /* us of a copy that brings shared queries together */
    SC__GENERATION_COPY_HEAD,    /* us of each query of that, on one SM */
    SC__GENERATION_START_WIDTH,  /* power of the width in a block's start */
    SC__GENERATION_QUERIES,      /* of a head of keys that a shared block takes at most */
    SC__GENERATION_SHARED,
    SC__GENERATION_ALONE = SC__GENERATION_SHARED + 6,
    SC__GENERATION_REREAD = SC__GENERATION_ALONE + 6, /* part of the keys that each
                                                         query beyond the first fetches */
    SC__GENERATION_LIMIT,    /* more queries of a head of keys than this are alone */
    SC__GENERATION_SINGLE,   /* 1: so is the only one */
    SC__GENERATION_WINDOWED, /* 1: so are those under a window */
    SC__GENERATION_LEAST,    /* so are all where this times the blocks is below the SMs */
    SC__GENERATION_CONSTANTS
};

/* Of a kernel, from SC__GENERATION_SHARED and SC__GENERATION_ALONE on. */
enum sc__generation_block {
    SC__BLOCK_RESIDENT, /* blocks of an SM at a time; 0: there is no such kernel */
    SC__BLOCK_START,    /* us of a block without its keys */
    SC__BLOCK_STEP,     /* us of 64 keys, by width */
    SC__BLOCK_WALK,     /* the same of a block by itself, over that */
    SC__BLOCK_TARGET,   /* blocks of an SM that keys are parted for */
    SC__BLOCK_TOKENS,   /* least keys of a part */
    SC__BLOCK_CONSTANTS
};

/* Older attention kernels: factors on forward and backward. */
enum sc__attention_software {
    SC__ATTENTION_CURRENT,
    SC__ATTENTION_FLASH2,
    SC__ATTENTION_FLASH1,
    SC__ATTENTION_SOFTWARES,
    SC__ATTENTION_UNFUSED =
        SC__ATTENTION_SOFTWARES /* no kernel of one: products, softmax */
};

/* Section 3: a + row·rows/1e3 + col·cols/1e3 + element·rows·cols/1e6. */
struct sc__memory_constants {
    /* cols or rows up to which part[0] holds; 0 = always */
    double limit;
    double rows_limit;
    struct {
        double a;
        double row;
        double col;
        double element;
    } part[2];
    double bytes; /* per element, for the power model */
};

/* Section 4. */
struct sc__power_constants {
    /* W */
    double idle;
    double per_tflops;
    double per_tbs;
    double limit; /* W from which the clock falls */
    double slope; /* clock ratio per W above */
    double beta[SC__KERNEL_KINDS];
    double onset_us; /* of load before the limit acts */
};

/* Section 5: host us. */
struct sc__host_constants {
    /* per layer; by autograd.grad, by loss.backward() */
    double forward;
    double backward_grad;
    double backward_loss;
    /* embedding, head, loss */
    double outside_forward;
    double outside_backward;
    double optimizer_layer;
    double optimizer_fixed;
};
enum sc__host_style { SC__HOST_GPT, SC__HOST_LLAMA, SC__HOST_STYLES };

struct sc__gpu {
    const char *name;
    const char *title;
    const char *source;       /* of the datasheet values */
    const char *fitted;       /* what the constants were fitted to, and how well */
    const char *grade;        /* "measured", "scaled" from a relative, or "guessed" */
    const char *architecture; /* "volta", "ampere", "ada", "hopper", "blackwell" */
    const char *base;         /* the GPU its constants were carried over from, or NULL */

    double peak[SC__DTYPES]; /* dense TFLOP/s; 0 = the type is not there */
    double memory;           /* bytes */
    double dram;             /* TB/s */
    double l2;               /* bytes */
    double sms;
    double boost_mhz;
    double nvlink;       /* GB/s in one direction, all links; 0 = none */
    double nvlink_gpus;  /* that a bridge between cards joins; 0 = all of a node */
    double tdp;          /* W */
    double usd_per_hour; /* 0 = not given */

    struct sc__gemm_constants gemm;
    struct sc__gemm_dtype dtype[SC__DTYPES];
    struct sc__grouped_constants grouped;
    double bias; /* factor of a bias epilogue */
    struct sc__attention_constants attention[SC__HEAD_CLASSES];
    struct sc__attention_constants attention_fp32[SC__HEAD_CLASSES]; /* or none */
    double software[SC__ATTENTION_SOFTWARES][2];                     /* forward, backward */
    struct sc__batched_constants batched;
    struct sc__unaligned_constants unaligned;
    struct sc__accumulate_constants accumulate;
    struct sc__memory_constants memory_op[SC__MEM_OPS];
    /* B/us and us of a kernel known by its bytes only */
    double elementwise_bw;
    double elementwise_t0;
    double embedding[6]; /* forward: fixed, rows·h; backward: fixed, V·h, rows·h, rows */
    double adamw[3];     /* fixed, per 1e6 parameters all bf16, all fp32 */
    struct sc__exchange_constants exchange[SC__EXCHANGES];
    struct sc__moe_constants moe;
    double sequence[SC__SERVING_SOFTWARES][SC__SEQUENCE_OPS][SC__SEQUENCE_CONSTANTS];
    /* Mamba-2's scan, forward and backward. */
    double scan[2][SC__SCAN_CONSTANTS];
    double batched_fallback[SC__BATCHED_FALLBACKS][SC__FALLBACK_CONSTANTS];
    double serving[SC__SERVING_SOFTWARES][SC__SERVING_PHASES][SC__SERVING_TYPES]
                  [SC__SERVING_CONSTANTS];
    double exchange_ranks; /* GPUs of the node they were measured on */
    struct sc__power_constants power;
    double gap;                        /* us between kernels */
    double launches[SC__KERNEL_KINDS]; /* kernels per operator, eager PyTorch */
    struct sc__host_constants host[SC__HOST_STYLES];
};

/* TFLOP/s of bf16, or where a GPU has none of fp16: of the datasheet, and those that the
 * rates of other types are measured by. Constants that name the peak they were found beside
 * keep it: were it the datasheet's, raising bf16 there would slow every other type. */
double sc__gpu_sheet_peak(const struct sc__gpu *gpu);
double sc__gpu_main_peak(const struct sc__gpu *gpu);
/* name: a file of data/gpus without ".json", one of its aliases (as published
 * tables spell them: "A100-SXM-80GB", "H100 SXM"), or the path of a file.
 * The answer lives as long as the context. */
sc_status
sc__gpu_find(struct sc_context *ctx, const char *name, const struct sc__gpu **out);
/* Whether such a name is the path of a file, where it is no built-in one. */
bool sc__gpu_is_file(const char *name);
/* NULL where there is none of that name, which may be NULL. */
const struct sc__gpu *sc__gpu_known(struct sc_context *ctx, const char *name);
bool sc__gpu_is_of(const struct sc__gpu *g, const char *architecture);
/* No kernel of it was measured, nor of a relative of its maker. */
bool sc__gpu_is_guessed(const struct sc__gpu *g);
/* Reads a description; place names it in errors. */
sc_status sc__gpu_parse(struct sc_context *ctx,
                        const char *file,
                        struct sc__str text,
                        const struct sc__gpu **out);

const char *sc__dtype_name(enum sc__dtype t);
bool sc__dtype_parse(struct sc__str s, enum sc__dtype *out);
double sc__dtype_bytes(enum sc__dtype t);
const char *sc__memory_op_name(enum sc__memory_op op);

#endif
