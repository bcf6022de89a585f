/* kernel_layer_linear: the products of a linear layer, of one or of every expert, with the
 * casts, scales and adapters around them. */
#include "hardware/kernel_layer_maker.h"
#include "hardware/kernel_model.h"

/* The same kernel so often, one behind the other. */
static struct sc__kernel repeated(struct sc__kernel one, double times) {
    one.us *= times;
    one.flop *= times;
    one.effort *= times;
    one.bytes *= times;
    one.launches *= times;
    one.in_loop = times > 1;
    return one;
}

/* Experts have weights of their own, which no product before has left in the cache, and
 * gradients of weights few rows to hide the writing of their results behind. */
static void in_a_layer(const struct sc__layer_maker *m,
                       enum sc__gemm_layout layout,
                       double results,
                       struct sc__kernel *k) {
    const struct sc__gpu *gpu = m->kernel_model->gpu;
    const struct sc__grouped_constants *c = &gpu->grouped;
    bool wgrad = layout == SC__LAYOUT_WGRAD;
    double apart = wgrad ? c->one_by_one_wgrad : c->one_by_one;
    double together = wgrad ? c->together_wgrad : c->together;
    if (k->measured)
        return;
    k->us *= m->s->looped ? apart : together;
    if (wgrad)
        k->us += sc__dtype_bytes(m->s->dtype) * results / gpu->elementwise_bw;
}

/* A product of every expert: in one kernel, or one after another, laid out as those of any
 * other linear layer (the rows of tokens are never a leading dimension). */
static struct sc__kernel grouped(struct sc__layer_maker *m,
                                 const struct sc__linear *l,
                                 enum sc__gemm_layout layout,
                                 const char *name,
                                 uint64_t a,
                                 uint64_t b,
                                 uint64_t k) {
    struct sc__kernel_model *model = m->kernel_model;
    enum sc__dtype type = m->s->gemm;
    struct sc__kernel one;
    if (!m->s->looped) {
        one = sc__gemm_grouped(model, name, type, l->experts, a, b, k);
        in_a_layer(m, layout, (double)(a * b * l->experts), &one);
        return one;
    }
    if (layout == SC__LAYOUT_WGRAD)
        one = sc__gemm_wgrad(model, name, type, a, b, k, false);
    else if (layout == SC__LAYOUT_DGRAD)
        one = sc__gemm_dgrad(model, name, type, a, b, k);
    else
        one = sc__gemm(model, name, type, a, b, k);
    in_a_layer(m, layout, (double)(a * b), &one);
    return repeated(one, (double)l->experts);
}

/* Tensor parallelism of torchao (float8_tensor_parallel.py) casts the shard of a sequence
 * and gathers what it cast, once for forward and the weight gradient; scales of rows are
 * made of what was gathered. */
static bool gathers_narrow(const struct sc__layer_maker *m) {
    return m->s->tp > 1 && m->s->sequence_parallel && !m->s->row_scales;
}

/* Inputs of the first products of a half layer are gathered, gradients of the others. */
static bool in_front(unsigned part) {
    return part == SC__PART_ATTENTION_IN || part == SC__PART_MLP_IN;
}

/* PyTorch scales by the maximum of the moment: a pass over the operand finds
 * it (2 bytes an element of bf16), another casts (3), and a transpose (2) is made
 * for backward's GEMMs; weights are cast every time, unless they were gathered as they
 * are cast and only transposed, inputs again in backward. Scales of rows are along what a
 * product sums over: backward casts its gradient twice, input and weight anew. */
static void dynamic_cast(struct sc__layer_maker *m,
                         const struct sc__linear *l,
                         uint64_t rows) {
    double in = (double)rows * (double)l->in;
    double out = (double)rows * (double)l->out;
    double w = (double)l->in * (double)l->out;
    double transpose = 2;
    double each = 2 * sc__dtype_bytes(m->s->dtype) + 1;
    double shard = gathers_narrow(m) ? 1.0 / m->s->tp : 1;
    bool gathered_in = in_front(m->part);
    double bytes = each * in * (gathered_in ? shard : 1);
    if (m->backward && m->s->row_scales) {
        bytes = each * (in + 2 * out);
    } else if (m->backward) {
        bool kept = gathered_in && shard < 1;
        bytes = transpose * (in + out + w) + (kept ? 0 : each * in) +
                each * out * (gathered_in ? 1 : shard);
    }
    if (!m->s->narrow_weights)
        bytes += each * w;
    sc__layer_push(m, sc__elementwise(m->kernel_model, "cast_dynamic", bytes));
}

void sc__layer_elementwise(struct sc__layer_maker *m,
                           const char *name,
                           double bytes,
                           double times) {
    sc__layer_push(m, repeated(sc__elementwise(m->kernel_model, name, bytes), times));
}

/* NVFP4 (Transformer Engine's recipe): a pass finds the largest value of the whole tensor
 * and of its transform, one casts by rows, and one casts by columns what a Hadamard
 * transform of 16 values made, for the weight gradient. Half a byte an element is written
 * and a scale for each 16; random numbers of stochastic rounding are not moved. */
static void cast_fp4(struct sc__layer_maker *m, double elements, double times) {
    double wide = sc__dtype_bytes(m->s->dtype);
    double narrow = 0.5 + 1.0 / 16;
    double each = wide + narrow;
    sc__layer_elementwise(m, "amax", wide * elements, times);
    sc__layer_elementwise(m, "cast_fp4", each * elements, times);
    sc__layer_elementwise(m, "hadamard_fp4", each * elements, times);
}

/* Tensor cores want the scales of blocks in an order of their own: a small kernel for each
 * operand of a product, and of each expert where these run one after another. */
static void reorder_scales(struct sc__layer_maker *m,
                           const struct sc__linear *l,
                           uint64_t rows,
                           unsigned products) {
    double group = m->s->gemm == SC__FP4 ? 16 : 32;
    double times = m->s->looped ? (double)l->experts : 1;
    double all = (double)(rows * l->experts) / times;
    if (!l->experts || !m->s->scales_reordered || m->s->in_products)
        return;
    for (unsigned i = 0; i < products; i++) {
        sc__layer_elementwise(m, "scales", 2 * all * (double)l->in / group, times);
        sc__layer_elementwise(m, "scales", 2 * all * (double)l->out / group, times);
    }
}

/* Transformer Engine casts each operand that is not a weight, with its
 * transpose; weights are cast once a step. With the scale of the moment a pass over
 * the operand finds its largest value first; a delayed one is found by the cast. */
static void
cast(struct sc__layer_maker *m, const struct sc__linear *l, uint64_t rows, uint64_t cols) {
    if (m->s->gemm != SC__FP8 && m->s->gemm != SC__FP4)
        return;
    if (l->operand_is_cast)
        return;
    bool one_by_one = l->experts && m->s->looped;
    uint64_t each = rows * (l->experts && !one_by_one ? l->experts : 1);
    double times = one_by_one ? (double)l->experts : 1;
    double elements = (double)each * (double)cols;
    if (m->s->dynamic_casts && !l->experts) {
        dynamic_cast(m, l, rows);
        return;
    }
    if (m->s->gemm == SC__FP4) {
        cast_fp4(m, elements, times);
        return;
    }
    if (m->s->scale_of_now) {
        sc__layer_elementwise(m, "amax", sc__dtype_bytes(m->s->dtype) * elements, times);
        if (l->experts) /* the scale of it, a kernel for each tensor */
            sc__layer_elementwise(m, "scale", 8, times);
    }
    struct sc__kernel one =
        sc__memory_op(m->kernel_model, SC__MEM_CAST_FP8, m->s->dtype, each, cols);
    sc__layer_push(m, repeated(one, times));
}

/* Of a layer that stands for several (packed queries, keys and values), the adapters
 * of those that have one are computed together. */
static uint64_t adapter_rank(const struct sc__layer_maker *m, const struct sc__linear *l) {
    uint64_t rank = 0;
    for (unsigned bits = m->s->lora_targets & l->targets; bits; bits &= bits - 1)
        rank += m->s->lora;
    return rank;
}

static void
unpack_weights(struct sc__layer_maker *m, const struct sc__linear *l, uint64_t rows) {
    double copies = l->experts ? (double)l->experts : 1;
    double bytes = sc__dtype_bytes(m->s->dtype);
    sc__layer_elementwise(m,
                          "unpack",
                          (0.5 + bytes) * (double)(l->in * l->out) * copies,
                          1);
    /* what the packed layer returns is cloned (peft/tuners/lora/bnb.py) */
    if (sc__fusion_eager(m->s->fusion) && !m->backward && adapter_rank(m, l))
        sc__layer_elementwise(m,
                              "lora_clone",
                              2 * bytes * (double)(rows * l->out) * copies,
                              1);
}

struct adapter_sizes {
    uint64_t rows;
    uint64_t in;
    uint64_t out;
    uint64_t rank;
    enum sc__dtype type; /* of its products */
};

/* x·A·B; backward has an input and a weight gradient of each. */
static void adapter_products(struct sc__layer_maker *m, const struct adapter_sizes *z) {
    uint64_t from = m->backward ? z->out : z->in;
    uint64_t to = m->backward ? z->in : z->out;
    sc__layer_push(m, sc__gemm(m->kernel_model, "lora_a", z->type, z->rows, z->rank, from));
    sc__layer_push(m, sc__gemm(m->kernel_model, "lora_b", z->type, z->rows, to, z->rank));
    if (!m->backward)
        return;
    struct sc__kernel a = sc__gemm_wgrad(m->kernel_model,
                                         "lora_a_wgrad",
                                         z->type,
                                         z->rank,
                                         z->in,
                                         z->rows,
                                         false);
    struct sc__kernel b = sc__gemm_wgrad(m->kernel_model,
                                         "lora_b_wgrad",
                                         z->type,
                                         z->out,
                                         z->rank,
                                         z->rows,
                                         false);
    a.phase = SC__WGRAD;
    b.phase = SC__WGRAD;
    sc__layer_push(m, a);
    sc__layer_push(m, b);
}

/* Operators of peft/tuners/lora/layer.py around an adapter in fp32. Under autocast its
 * input is widened to the type of the adapter and narrowed for the product, and its
 * gradient the same way back; one beside packed weights is left as it is (bnb.py).
 * Otherwise all of the branch is in fp32: its input is widened, the sum of both branches
 * narrowed; backward the gradient is widened for the branch and narrowed for the layer. */
static void adapter_casts(struct sc__layer_maker *m, const struct adapter_sizes *z) {
    double cast = sc__dtype_bytes(m->s->dtype) + sc__dtype_bytes(SC__FP32);
    double in = (double)(z->rows * z->in);
    double out = (double)(z->rows * z->out);
    if (!m->s->lora_fp32)
        return;
    if (m->s->lora_autocast && m->s->four_bits)
        return;
    if (m->s->lora_autocast) {
        sc__layer_elementwise(m, "lora_cast", cast * in, 2);
        return;
    }
    sc__layer_elementwise(m, "lora_cast", cast * in, 1);
    sc__layer_elementwise(m, "lora_cast", cast * out, m->backward ? 2 : 1);
}

/* Both branches; in fp32 the sum is as wide as the wider of them. */
static void adapter_sum(struct sc__layer_maker *m, const struct adapter_sizes *z) {
    if (m->backward || z->type == m->s->dtype)
        sc__layer_memory(m, SC__MEM_ADD, z->rows, m->backward ? z->in : z->out);
    else
        sc__layer_elementwise(
            m,
            "lora_add",
            (sc__dtype_bytes(m->s->dtype) + 2 * sc__dtype_bytes(z->type)) *
                (double)(z->rows * z->out),
            1);
}

/* Beside a frozen layer. Without a compiler scaling and casts are operators of their own,
 * both ways. */
static void adapter(struct sc__layer_maker *m, const struct sc__linear *l, uint64_t rows) {
    const struct sc__layer_shape *s = m->s;
    bool wide = s->lora_fp32 && !s->lora_autocast;
    struct adapter_sizes z = {.rows = rows * (l->experts ? l->experts : 1),
                              .in = l->in,
                              .out = l->out,
                              .rank = adapter_rank(m, l),
                              .type = wide ? SC__FP32 : s->dtype};
    if (s->four_bits)
        unpack_weights(m, l, rows);
    if (!z.rank)
        return;
    adapter_products(m, &z);
    adapter_sum(m, &z);
    if (s->lora_dropout)
        sc__layer_push(m,
                       sc__memory_op(m->kernel_model,
                                     m->backward ? SC__MEM_DROPOUT_B : SC__MEM_DROPOUT_F,
                                     s->lora_fp32 ? SC__FP32 : s->dtype,
                                     z.rows,
                                     z.in));
    if (!sc__fusion_eager(s->fusion))
        return;
    sc__layer_elementwise(m,
                          "lora_scale",
                          2 * sc__dtype_bytes(z.type) * (double)(z.rows * z.out),
                          1);
    adapter_casts(m, &z);
}

/* A product of a layer without experts: with scales of rows its kernel may be another. */
static void product(struct sc__layer_maker *m, struct sc__kernel k) {
    if (m->s->row_scales)
        k.us *= m->s->row_products;
    sc__layer_push(m, k);
}

static void
linear_forward(struct sc__layer_maker *m, const struct sc__linear *l, uint64_t rows) {
    cast(m, l, rows, l->in);
    reorder_scales(m, l, rows, 1);
    if (l->bias_in_gemm)
        sc__layer_push(
            m,
            sc__gemm_bias(m->kernel_model, l->name, m->s->gemm, rows, l->out, l->in));
    else if (l->experts)
        sc__layer_push(m, grouped(m, l, SC__LAYOUT_FORWARD, l->name, rows, l->out, l->in));
    else
        product(m, sc__gemm(m->kernel_model, l->name, m->s->gemm, rows, l->out, l->in));
}

static void
linear_backward(struct sc__layer_maker *m, const struct sc__linear *l, uint64_t rows) {
    cast(m, l, rows, l->out);
    reorder_scales(m, l, rows, m->s->lora ? 1 : 2);
    if (l->experts)
        sc__layer_push(m, grouped(m, l, SC__LAYOUT_DGRAD, l->dgrad, rows, l->in, l->out));
    else
        product(m,
                sc__gemm_dgrad(m->kernel_model, l->dgrad, m->s->gemm, rows, l->in, l->out));
    if (m->s->lora)
        return; /* frozen: no gradients of weight and bias */
    struct sc__kernel w =
        l->experts ? grouped(m, l, SC__LAYOUT_WGRAD, l->wgrad, l->out, l->in, rows)
                   : sc__gemm_wgrad(m->kernel_model,
                                    l->wgrad,
                                    m->s->gemm,
                                    l->out,
                                    l->in,
                                    rows,
                                    m->s->accumulate);
    w.phase = SC__WGRAD;
    if (l->experts)
        sc__layer_push(m, w);
    else
        product(m, w);
    if (l->bias_in_gemm)
        sc__layer_memory(m, SC__MEM_BIAS_GRAD, rows, l->out);
}

void sc__layer_linear(struct sc__layer_maker *m,
                      const struct sc__linear *l,
                      uint64_t rows) {
    if (m->backward)
        linear_backward(m, l, rows);
    else
        linear_forward(m, l, rows);
    if (m->s->lora)
        adapter(m, l, rows);
}
