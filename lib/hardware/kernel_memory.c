/* kernel_memory: kernels that wait for memory: norms, activations, losses,
 * copies, the embedding, the optimizer. Each has measured constants; one known
 * by its bytes alone goes by the bandwidth of such kernels. */
#include "hardware/kernel.h"
#include "hardware/kernel_model.h"

#include <math.h>

static const struct memory_name {
    const char *name;
    uint8_t work;
    uint8_t phase;
    uint8_t kernels; /* 0: one */
    /* bytes an element more where the model's type has four bytes and not two;
     * masks and fp32 buffers stay, casts to fp32 and back fall away */
    int8_t wider;
} ops[SC__MEM_OPS] = {
    [SC__MEM_LAYERNORM_F] = {"layernorm_f", SC__WORK_NORM, SC__FORWARD, 0, 4},
    [SC__MEM_LAYERNORM_B] = {"layernorm_b", SC__WORK_NORM, SC__BACKWARD, 0, 10},
    [SC__MEM_RMSNORM_F] = {"rmsnorm_f", SC__WORK_NORM, SC__FORWARD, 0, 4},
    [SC__MEM_RMSNORM_B] = {"rmsnorm_b", SC__WORK_NORM, SC__BACKWARD, 0, 10},
    [SC__MEM_GELU_F] = {"gelu_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 4},
    [SC__MEM_GELU_B] = {"gelu_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 0, 6},
    [SC__MEM_SWIGLU_F] = {"swiglu_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 10},
    [SC__MEM_SWIGLU_B] = {"swiglu_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 0, 18},
    [SC__MEM_SWIGLU_CHUNK_F] = {"swiglu_chunk_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 10},
    [SC__MEM_SWIGLU_CHUNK_B] =
        {"swiglu_chunk_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 0, 26},
    [SC__MEM_ADD] = {"add", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 6},
    [SC__MEM_ADD_BROADCAST] = {"add_broadcast", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 6},
    [SC__MEM_COPY] = {"copy", SC__WORK_COPY, SC__FORWARD, 0, 4},
    [SC__MEM_COPY_STRIDED] = {"copy_strided", SC__WORK_COPY, SC__BACKWARD, 0, 4},
    [SC__MEM_TRANSPOSE] = {"transpose", SC__WORK_COPY, SC__FORWARD, 0, 4},
    [SC__MEM_CAT] = {"cat", SC__WORK_COPY, SC__BACKWARD, 0, 4},
    [SC__MEM_CAT_STRIDED] = {"cat_strided", SC__WORK_COPY, SC__BACKWARD, 0, 4},
    [SC__MEM_CAST_FP32] = {"cast_fp32", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 2},
    [SC__MEM_DROPOUT_F] = {"dropout_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 4},
    [SC__MEM_DROPOUT_B] = {"dropout_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 0, 4},
    [SC__MEM_BIAS_GRAD] = {"bias_grad", SC__WORK_ELEMENTWISE, SC__WGRAD, 0, 2},
    [SC__MEM_CROSS_ENTROPY_F] = {"cross_entropy_f", SC__WORK_LOSS, SC__FORWARD, 0, -6},
    [SC__MEM_CROSS_ENTROPY_B] = {"cross_entropy_b", SC__WORK_LOSS, SC__BACKWARD, 0, -6},
    [SC__MEM_CROSS_ENTROPY_BF16_F] =
        {"cross_entropy_bf16_f", SC__WORK_LOSS, SC__FORWARD, 0, 4},
    [SC__MEM_CROSS_ENTROPY_BF16_B] =
        {"cross_entropy_bf16_b", SC__WORK_LOSS, SC__BACKWARD, 0, 6},
    [SC__MEM_CROSS_ENTROPY_FUSED_F] =
        {"cross_entropy_fused_f", SC__WORK_LOSS, SC__FORWARD, 0, 4},
    [SC__MEM_CROSS_ENTROPY_FUSED_B] =
        {"cross_entropy_fused_b", SC__WORK_LOSS, SC__BACKWARD, 0, 4},
    [SC__MEM_SOFTMAX_F] = {"softmax_f", SC__WORK_ATTENTION, SC__FORWARD, 0, 4},
    [SC__MEM_SOFTMAX_B] = {"softmax_b", SC__WORK_ATTENTION, SC__BACKWARD, 0, 6},
    [SC__MEM_MASK_F] = {"mask_f", SC__WORK_ATTENTION, SC__FORWARD, 0, 8},
    [SC__MEM_MASK_B] = {"mask_b", SC__WORK_ATTENTION, SC__BACKWARD, 0, 8},
    [SC__MEM_BIAS_GELU_F] = {"bias_gelu_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 4},
    [SC__MEM_BIAS_GELU_B] = {"bias_gelu_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 0, 8},
    [SC__MEM_FUSED_SWIGLU_F] = {"fused_swiglu_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 6},
    [SC__MEM_FUSED_SWIGLU_B] =
        {"fused_swiglu_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 0, 10},
    [SC__MEM_BIAS_DROPOUT_ADD_F] =
        {"bias_dropout_add_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 6},
    [SC__MEM_BIAS_DROPOUT_ADD_B] =
        {"bias_dropout_add_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 0, 6},
    [SC__MEM_ROPE_F] = {"rope_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 4},
    [SC__MEM_ROPE_B] = {"rope_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 0, 4},
    [SC__MEM_ROPE_EAGER_F] = {"rope_eager_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 24},
    [SC__MEM_ROPE_EAGER_B] = {"rope_eager_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 0, 24},
    [SC__MEM_RMSNORM_OPS_F] = {"rmsnorm_ops_f", SC__WORK_NORM, SC__FORWARD, 8, -8},
    [SC__MEM_RMSNORM_OPS_B] = {"rmsnorm_ops_b", SC__WORK_NORM, SC__BACKWARD, 15, 0},
    [SC__MEM_ROPE_OPS_F] = {"rope_ops_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 10, 20},
    [SC__MEM_ROPE_OPS_B] = {"rope_ops_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 18, 34},
    [SC__MEM_NEW_GELU_F] = {"new_gelu_f", SC__WORK_ELEMENTWISE, SC__FORWARD, 8, 36},
    [SC__MEM_NEW_GELU_B] = {"new_gelu_b", SC__WORK_ELEMENTWISE, SC__BACKWARD, 11, 56},
    [SC__MEM_PERMUTE_F] = {"permute_f", SC__WORK_ROUTER, SC__FORWARD, 0, 4},
    [SC__MEM_PERMUTE_B] = {"permute_b", SC__WORK_ROUTER, SC__BACKWARD, 0, 4},
    [SC__MEM_UNPERMUTE_F] = {"unpermute_f", SC__WORK_ROUTER, SC__FORWARD, 0, 4},
    [SC__MEM_UNPERMUTE_B] = {"unpermute_b", SC__WORK_ROUTER, SC__BACKWARD, 0, 6},
    [SC__MEM_ROUTER_F] = {"router_f", SC__WORK_ROUTER, SC__FORWARD, 0, 0},
    [SC__MEM_ROUTER_B] = {"router_b", SC__WORK_ROUTER, SC__BACKWARD, 0, 0},
    [SC__MEM_CAST_FP8] = {"cast_fp8", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 2},
    [SC__MEM_QUANTIZE_FP8] = {"quantize_fp8", SC__WORK_ELEMENTWISE, SC__FORWARD, 2, 2},
    [SC__MEM_QUANTIZE_FP8_BLOCK] =
        {"quantize_fp8_block", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 2},
    [SC__MEM_QUANTIZE_FP4] = {"quantize_fp4", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 2},
    [SC__MEM_ACCUMULATE_FP32] = {"accumulate_fp32", SC__WORK_ELEMENTWISE, SC__WGRAD, 0, 2},
    [SC__MEM_FILL] = {"fill", SC__WORK_ELEMENTWISE, SC__FORWARD, 0, 2},
    [SC__MEM_SUM_SQUARES_FP32] = {"sum_squares_fp32", SC__WORK_OPTIMIZER, SC__UPDATE, 0, 0},
    [SC__MEM_SCALE_FP32] = {"scale_fp32", SC__WORK_OPTIMIZER, SC__UPDATE, 0, 0},
};

const char *sc__memory_op_name(enum sc__memory_op op) {
    return ops[op].name;
}

enum sc__dtype sc__element_type(enum sc__dtype t) {
    return sc__dtype_bytes(t) > 2 ? SC__FP32 : SC__BF16;
}

/* What more bytes take, at the bandwidth of kernels known by their bytes alone:
 * the other limits of a kernel count elements and do not change. */
static double more_us(const struct sc__gpu *gpu, double bytes) {
    return bytes / gpu->elementwise_bw;
}

/* No kernel moves its bytes faster than the memory does, but for those the cache still
 * holds. Its own constants say so where they were measured; carried over, or fitted to
 * calls whose operands fit, they may not. */
static double least_us(const struct sc__gpu *gpu, double bytes) {
    double full = gpu->l2 > 0 ? bytes / gpu->l2 : INFINITY;
    double found = 1 / (1 + full * full * full);
    return gpu->dram > 0 ? bytes * (1 - found) / (gpu->dram * 1e6) : 0;
}

double sc__memory_op_us(const struct sc__gpu *gpu,
                        enum sc__memory_op op,
                        enum sc__dtype t,
                        uint64_t rows,
                        uint64_t cols) {
    const struct sc__memory_constants *m = &gpu->memory_op[op];
    double r = (double)rows;
    double c = (double)cols;
    /* Two fits: below and above a number of columns (norms) or rows (bias
     * gradient). */
    unsigned i = (m->limit > 0 && c > m->limit) || (m->rows_limit > 0 && r > m->rows_limit);
    double us = m->part[i].a + m->part[i].row * r * 1e-3 + m->part[i].col * c * 1e-3 +
                m->part[i].element * r * c * 1e-6;
    us = fmax(us, least_us(gpu, m->bytes * r * c));
    return t == SC__FP32 ? us + more_us(gpu, ops[op].wider * r * c) : us;
}

static struct sc__kernel memory_kernel(struct sc__kernel_model *p,
                                       const char *name,
                                       enum sc__work work,
                                       double bytes) {
    return (struct sc__kernel){.name = name,
                               .kind = SC__KERNEL_MEMORY,
                               .work = (uint8_t)work,
                               .bytes = bytes,
                               .launches = p->gpu->launches[SC__KERNEL_MEMORY]};
}

struct sc__kernel sc__memory_op(struct sc__kernel_model *p,
                                enum sc__memory_op op,
                                enum sc__dtype t,
                                uint64_t rows,
                                uint64_t cols) {
    struct sc__kernel_key key = {.what = SC__KERNEL_OP_MEMORY + (uint32_t)op,
                                 .dtype = sc__element_type(t),
                                 .size = {rows, cols}};
    double each = p->gpu->memory_op[op].bytes + (key.dtype == SC__FP32 ? ops[op].wider : 0);
    struct sc__kernel k =
        memory_kernel(p, ops[op].name, ops[op].work, each * (double)rows * (double)cols);
    k.phase = ops[op].phase;
    if (ops[op].kernels)
        k.launches *= ops[op].kernels;
    if (rows && cols)
        k.us = sc__kernel_us(p, &key, &k.measured);
    return k;
}

struct sc__kernel
sc__elementwise(struct sc__kernel_model *p, const char *name, double bytes) {
    struct sc__kernel k =
        memory_kernel(p, name ? name : "elementwise", SC__WORK_ELEMENTWISE, bytes);
    struct sc__kernel_key key = {.what = SC__KERNEL_OP_ELEMENTWISE,
                                 .size = {(uint64_t)(bytes + 0.5)}};
    if (bytes > 0)
        k.us = sc__kernel_us(p, &key, &k.measured);
    return k;
}

struct sc__kernel
sc__strided(struct sc__kernel_model *p, const char *name, double bytes, double cycles) {
    struct sc__kernel k = sc__elementwise(p, name, bytes);
    if (p->gpu->sms > 0 && p->gpu->boost_mhz > 0)
        k.us += cycles / (p->gpu->sms * p->gpu->boost_mhz);
    return k;
}

struct sc__kernel sc__by_element(struct sc__kernel_model *p,
                                 const char *name,
                                 double bytes,
                                 double elements,
                                 double ps) {
    double t0 = p->gpu->elementwise_t0;
    double slower = sc__operators_slower(&p->operators, p->gpu);
    struct sc__kernel k = sc__elementwise(p, name, bytes);
    k.us = t0 + hypot(k.us - t0, elements * ps * slower * 1e-6);
    return k;
}

/* The index is sorted, a warp adds up the rows that come to one place, one after the
 * other (docs/model/operators.md). */
struct sc__kernel sc__rows_added(struct sc__kernel_model *p,
                                 const char *name,
                                 double rows,
                                 double to,
                                 double width,
                                 double bytes) {
    const double *c = p->operators.rows_added;
    double moved = bytes * width * (rows + 2 * fmin(rows, to));
    struct sc__kernel k = sc__by_element(p, name, moved, rows * width, c[2]);
    k.us += c[0] + c[1] * rows + c[3] * rows / fmax(1, to);
    return k;
}

static double embedding_cost_forward(const struct sc__gpu *gpu,
                                     const struct sc__kernel_key *key) {
    double elements = (double)key->size[0] * (double)key->size[2];
    double us = gpu->embedding[0] + gpu->embedding[1] * elements * 1e-6;
    return key->dtype == SC__FP32 ? us + more_us(gpu, 4 * elements) : us;
}

struct sc__kernel sc__embedding_forward(struct sc__kernel_model *p,
                                        enum sc__dtype t,
                                        uint64_t rows,
                                        uint64_t hidden) {
    struct sc__kernel_key key = {.what = SC__KERNEL_OP_EMBEDDING_F,
                                 .dtype = sc__element_type(t),
                                 .size = {rows, 0, hidden}};
    double bytes = 2 * sc__dtype_bytes(key.dtype) * (double)rows * (double)hidden;
    struct sc__kernel k = memory_kernel(p, "embedding_f", SC__WORK_EMBEDDING, bytes);
    k.us = sc__kernel_us(p, &key, &k.measured);
    if (sc__kernel_model_piece(p, "Emb", &k.us))
        k.measured = true;
    return k;
}

/* Sums that the gradient's rows are added up in, as PyTorch cuts them (Embedding.cu): of
 * ten rows of a place at most, so that where places are few there are fewer than rows. With
 * rows at random a place has N of them, Poisson around x: its sums are 1 - e^-x in the mean
 * up to x of 5 or so, then the tenth of x and nearly a half for the last. Threads for as
 * many sums as rows or places start anyhow: to half a row a place rows count. */
static double embedding_sums(double rows, double places) {
    if (!(places > 0))
        return 0;
    double x = rows / places;
    return places * fmax(1 - exp(-x), fmin(x, 0.45 + x / 10));
}

static double embedding_cost_backward(const struct sc__gpu *gpu,
                                      const struct sc__kernel_key *key) {
    const double *e = gpu->embedding;
    double rows = (double)key->size[0];
    double vocab = (double)key->size[1];
    double hidden = (double)key->size[2];
    double sums = embedding_sums(rows, vocab);
    double us = e[2] + e[3] * vocab * hidden * 1e-6 + e[4] * sums * hidden * 1e-6 +
                e[5] * rows * 1e-3 + more_us(gpu, 2 * (rows - sums) * hidden);
    if (key->dtype == SC__FP32)
        us += more_us(gpu, 2 * (vocab + rows + sums) * hidden);
    return us;
}

struct sc__kernel sc__embedding_backward(struct sc__kernel_model *p,
                                         enum sc__dtype t,
                                         uint64_t rows,
                                         uint64_t vocab,
                                         uint64_t hidden) {
    struct sc__kernel_key key = {.what = SC__KERNEL_OP_EMBEDDING_B,
                                 .dtype = sc__element_type(t),
                                 .size = {rows, vocab, hidden}};
    /* The gradient of the whole table is zeroed, then rows are read and added. */
    double e = sc__dtype_bytes(key.dtype);
    double bytes =
        e * (double)vocab * (double)hidden + 2 * e * (double)rows * (double)hidden;
    struct sc__kernel k = memory_kernel(p, "embedding_b", SC__WORK_EMBEDDING, bytes);
    k.phase = SC__WGRAD;
    k.us = sc__kernel_us(p, &key, &k.measured);
    return k;
}

/* Fused AdamW reads gradient, weight and two moments and writes all but the
 * gradient: seven values. */
static double adamw_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const double *a = gpu->adamw;
    double params = (double)key->size[0] * 1e-6;
    double bytes = (double)key->size[1];
    /* a[2] is the time of 7 values of 4 bytes: scaled to the traffic asked for */
    if (bytes > 0)
        return a[0] + a[2] * params * bytes / (7 * 4);
    return a[0] + (key->dtype == SC__FP32 ? a[2] : a[1]) * params;
}

struct sc__kernel
sc__adamw(struct sc__kernel_model *p, enum sc__dtype t, double params, double bytes) {
    struct sc__kernel_key key = {
        .what = SC__KERNEL_OP_ADAMW,
        .dtype = t,
        .size = {(uint64_t)(params + 0.5), (uint64_t)(bytes + 0.5)}};
    double traffic = bytes > 0 ? bytes : 7 * sc__dtype_bytes(t);
    struct sc__kernel k = memory_kernel(p, "adamw", SC__WORK_OPTIMIZER, traffic * params);
    k.phase = SC__UPDATE;
    k.us = sc__kernel_us(p, &key, &k.measured);
    return k;
}

double sc__memory_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    switch (key->what) {
    case SC__KERNEL_OP_EMBEDDING_F:
        return embedding_cost_forward(gpu, key);
    case SC__KERNEL_OP_EMBEDDING_B:
        return embedding_cost_backward(gpu, key);
    case SC__KERNEL_OP_ADAMW:
        return adamw_cost(gpu, key);
    case SC__KERNEL_OP_ELEMENTWISE:
        return gpu->elementwise_t0 + (double)key->size[0] / gpu->elementwise_bw;
    default:
        return sc__memory_op_us(gpu,
                                key->what - SC__KERNEL_OP_MEMORY,
                                key->dtype,
                                key->size[0],
                                key->size[1]);
    }
}
