/* capture price: what an operation of PyTorch costs on a GPU. Products, attention,
 * norms and the like go to the kernel model; the rest by the bytes it moves, times how
 * often it moves them (data/operators.json). docs/model/operators.md has the equations. */
#include "base/data.h"
#include "frontend/capture/capture.h"

#include <jansson.h>
#include <string.h>

/* ---- the table of operators ---- */

static sc_status read_numbers(struct sc_context *ctx,
                              const json_t *root,
                              const char *key,
                              double *out,
                              size_t count) {
    const json_t *list = json_object_get(root, key);
    if (json_is_number(list) && count == 1) {
        *out = json_number_value(list);
        return SC_OK;
    }
    if (json_array_size(list) != count)
        return sc__fail(ctx, SC_INPUT, NULL, NULL, "data/operators.json: %s", key);
    for (size_t i = 0; i < count; i++)
        out[i] = json_number_value(json_array_get(list, i));
    return SC_OK;
}

static enum sc__work work_named(const char *name) {
    for (unsigned k = 0; name && k < SC__WORKS; k++)
        if (!strcmp(name, sc__work_name((enum sc__work)k)))
            return (enum sc__work)k;
    return SC__WORK_OTHER;
}

/* {"work": …, "traffic": …, "kernels": …, "names": […]}: equal ones stand together. */
static void
add_operators(struct sc_context *ctx, const json_t *row, struct sc__operators *out) {
    const json_t *names = json_object_get(row, "names");
    struct sc__operator each = {
        .work = (uint8_t)work_named(json_string_value(json_object_get(row, "work"))),
        .traffic = json_number_value(json_object_get(row, "traffic")),
        .kernels = json_number_value(json_object_get(row, "kernels"))};
    for (size_t i = 0; i < json_array_size(names); i++) {
        each.name =
            sc__format(&ctx->arena, "%s", json_string_value(json_array_get(names, i)));
        *SC__PUSH(&ctx->arena, out->items, out->count, out->capacity) = each;
    }
}

static sc_status
read_operators(struct sc_context *ctx, const json_t *root, struct sc__operators *out) {
    const json_t *rows = json_object_get(root, "operators");
    for (size_t i = 0; i < json_array_size(rows); i++)
        add_operators(ctx, json_array_get(rows, i), out);
    SC__TRY(read_numbers(ctx, root, "strided", &out->strided, 1));
    SC__TRY(read_numbers(ctx, root, "convolution_fp32", &out->convolution_fp32, 1));
    SC__TRY(
        read_numbers(ctx, root, "convolution_unaligned", &out->convolution_unaligned, 1));
    SC__TRY(read_numbers(ctx, root, "convolution_copy", &out->convolution_copy, 1));
    SC__TRY(read_numbers(ctx, root, "few_channels", out->few_channels, 3));
    SC__TRY(read_numbers(ctx, root, "depthwise", out->depthwise[0], 3));
    SC__TRY(read_numbers(ctx, root, "depthwise_channels_last", out->depthwise[1], 3));
    SC__TRY(read_numbers(ctx, root, "attention_dropout", out->attention_dropout, 2));
    SC__TRY(read_numbers(ctx, root, "recurrent", out->recurrent, 2));
    SC__TRY(read_numbers(ctx, root, "recurrent_step_us", &out->recurrent_step, 1));
    SC__TRY(read_numbers(ctx, root, "host_operation_us", &out->host_operation, 1));
    SC__TRY(read_numbers(ctx, root, "host_kernel_us", &out->host_kernel, 1));
    SC__TRY(read_numbers(ctx, root, "host_tensor_us", &out->host_tensor, 1));
    return read_numbers(ctx, root, "workspace_bytes", &out->workspace, 1);
}

sc_status sc__operators_load(struct sc_context *ctx, struct sc__operators *out) {
    const struct sc__data_file *file = sc__data_find("operators.json");
    json_error_t error;
    *out = (struct sc__operators){0};
    json_t *root =
        file ? json_loadb((const char *)file->bytes, file->size, 0, &error) : NULL;
    if (!root)
        return sc__fail(ctx, SC_INPUT, NULL, NULL, "data/operators.json cannot be read");
    sc_status status = read_operators(ctx, root, out);
    json_decref(root);
    return status;
}

static const struct sc__operator *operator_named(const struct sc__operators *operators,
                                                 const char *name) {
    for (uint32_t i = 0; i < operators->count; i++)
        if (!strcmp(operators->items[i].name, name))
            return &operators->items[i];
    return NULL;
}

/* ---- what all prices need ---- */

struct priced {
    const struct sc__capture *c;
    const struct sc__operators *operators;
    struct sc__kernel_model *model;
    const struct sc__capture_call *call;
    struct sc__capture_price price;
};

static const struct sc__capture_tensor *input(const struct priced *p, uint32_t i) {
    static const struct sc__capture_tensor none = {.count = 1, .dense = true};
    return i < p->call->in.count ? sc__capture_tensor(p->c, p->call->in, i) : &none;
}

static const struct sc__capture_tensor *output(const struct priced *p, uint32_t i) {
    static const struct sc__capture_tensor none = {.count = 1, .dense = true};
    return i < p->call->out.count ? sc__capture_tensor(p->c, p->call->out, i) : &none;
}

static uint64_t size_at(const struct sc__capture_tensor *t, unsigned dim) {
    return dim < t->dims ? t->size[dim] : 1;
}

static enum sc__dtype type_of(const struct sc__capture_tensor *t) {
    switch (t->type) {
    case SC__CAPTURE_BF16:
        return SC__BF16;
    case SC__CAPTURE_FP16:
        return SC__FP16;
    case SC__CAPTURE_FP8:
        return SC__FP8;
    default:
        return SC__FP32;
    }
}

static void by_kernel(struct priced *p, struct sc__kernel kernel) {
    p->price.kernel = kernel;
    p->price.kernels = 1;
    p->price.known = true;
}

/* Kernels one after another as one. */
static void and_kernel(struct priced *p, struct sc__kernel kernel) {
    p->price.kernel.us += kernel.us;
    p->price.kernel.bytes += kernel.bytes;
    p->price.kernel.flop += kernel.flop;
    p->price.kernel.effort += kernel.effort;
    p->price.kernels++;
}

static void by_bytes(struct priced *p, enum sc__work work, double bytes, double kernels) {
    struct sc__kernel kernel = sc__elementwise(p->model, p->call->op, bytes);
    kernel.work = (uint8_t)work;
    by_kernel(p, kernel);
    p->price.kernels = kernels;
    /* each kernel starts anew */
    if (kernels > 1)
        p->price.kernel.us +=
            (kernels - 1) * sc__kernel_model_gpu(p->model)->elementwise_t0;
}

/* ---- products ---- */

static void price_mm(struct priced *p, uint32_t first) {
    const struct sc__capture_tensor *a = input(p, first);
    const struct sc__capture_tensor *b = input(p, first + 1);
    uint64_t m = size_at(a, 0);
    uint64_t k = size_at(a, 1);
    uint64_t n = size_at(b, 1);
    bool bias = first && input(p, 0)->dims == 1;
    by_kernel(p,
              bias ? sc__gemm_bias(p->model, NULL, type_of(a), m, n, k)
                   : sc__gemm(p->model, NULL, type_of(a), m, n, k));
}

static void price_bmm(struct priced *p, uint32_t first) {
    const struct sc__capture_tensor *a = input(p, first);
    const struct sc__capture_tensor *b = input(p, first + 1);
    by_kernel(p,
              sc__gemm_batched(p->model,
                               NULL,
                               type_of(a),
                               size_at(a, 0),
                               size_at(a, 1),
                               size_at(b, 2),
                               size_at(a, 2)));
}

/* ---- convolutions ---- */

struct convolution {
    const struct sc__capture_tensor *image; /* what the window slides over */
    const struct sc__capture_tensor *map;   /* one place for each window */
    const struct sc__capture_tensor *weight;
    uint64_t windows; /* places of map, over the batch */
    uint64_t pixels;  /* places of image, over the batch */
    uint64_t taps;    /* of the window */
    uint64_t from;    /* channels of one group, seen and made */
    uint64_t to;
};

static uint64_t places(const struct sc__capture_tensor *t) {
    uint64_t count = size_at(t, 0);
    for (unsigned i = 2; i < t->dims; i++)
        count *= t->size[i];
    return count;
}

/* Products of the same sizes do the work: see docs/model/operators.md. */
static struct convolution convolution_of(const struct priced *p, bool backward) {
    const struct sc__capture_with *with = &p->call->with;
    struct convolution v = {.weight = input(p, backward ? 2 : 1)};
    const struct sc__capture_tensor *seen = input(p, backward ? 1 : 0);
    const struct sc__capture_tensor *made = backward ? input(p, 0) : output(p, 0);
    /* a transposed one is the input gradient of a plain one */
    v.image = with->transposed ? made : seen;
    v.map = with->transposed ? seen : made;
    v.windows = places(v.map);
    v.pixels = places(v.image);
    v.taps = 1;
    for (unsigned i = 2; i < v.weight->dims; i++)
        v.taps *= v.weight->size[i];
    v.from = size_at(v.image, 1) / with->groups;
    v.to = size_at(v.map, 1) / with->groups;
    return v;
}

enum convolution_part { PART_FORWARD, PART_INPUT, PART_WEIGHT };

/* Channels that the library's main kernels need side by side. */
enum { FEW_CHANNELS = 8 };

static double convolution_flop(const struct priced *p, const struct convolution *v) {
    return 2.0 * (double)v->windows * (double)v->taps * (double)v->from * (double)v->to *
           p->call->with.groups;
}

/* Kernels that reach only a share of a peak, and read and write their tensors. */
static struct sc__kernel slow_convolution(const struct priced *p,
                                          const struct convolution *v,
                                          double share,
                                          enum sc__dtype peak) {
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    struct sc__kernel kernel =
        sc__elementwise(p->model, p->call->op, v->image->bytes + v->map->bytes);
    kernel.flop = convolution_flop(p, v);
    if (gpu->peak[peak] > 0)
        kernel.us += kernel.flop / (share * gpu->peak[peak] * 1e6);
    return kernel;
}

/* fp32 has no tensor cores to fill; rows of pixels that are no multiple of 8 elements
 * keep a window of one tap from the main kernels. */
static double convolution_factor(const struct priced *p, const struct convolution *v) {
    uint64_t images = size_at(v->map, 0);
    uint64_t row = images ? v->windows / images : 0;
    bool by_rows = v->taps == 1 && !v->image->channels_last;
    if (type_of(v->weight) == SC__FP32)
        return p->operators->convolution_fp32;
    return by_rows && row % 8 ? p->operators->convolution_unaligned : 1;
}

/* The product of the same size. Input gradient: a window over the map, of which a
 * stride leaves one in so many taps. */
static struct sc__kernel product_convolution(const struct priced *p,
                                             const struct convolution *v,
                                             enum convolution_part part) {
    uint32_t groups = p->call->with.groups;
    uint64_t m = part == PART_WEIGHT ? v->to : part == PART_INPUT ? v->pixels : v->windows;
    uint64_t n = part == PART_FORWARD ? v->to : v->from;
    uint64_t k = v->from * v->taps;
    if (part == PART_INPUT) {
        double taps = (double)v->taps * (double)v->windows / (double)v->pixels;
        k = v->to * (uint64_t)(taps < 1 ? 1 : taps + 0.5);
    }
    if (part == PART_WEIGHT) {
        n = v->from * v->taps;
        k = v->windows;
    }
    struct sc__kernel kernel =
        groups == 1 ? sc__gemm(p->model, NULL, type_of(v->weight), m, n, k)
                    : sc__gemm_batched(p->model, NULL, type_of(v->weight), groups, m, n, k);
    kernel.us *= convolution_factor(p, v);
    return kernel;
}

static struct sc__kernel convolution_kernel(const struct priced *p,
                                            const struct convolution *v,
                                            enum convolution_part part) {
    struct sc__kernel kernel;
    enum sc__dtype t = type_of(v->weight);
    if (v->from == 1 && v->to == 1 && p->call->with.groups > 1)
        kernel = slow_convolution(p,
                                  v,
                                  p->operators->depthwise[v->image->channels_last][part],
                                  SC__FP32);
    else if (v->from < FEW_CHANNELS && t != SC__FP32)
        kernel = slow_convolution(p, v, p->operators->few_channels[part], SC__BF16);
    else
        kernel = product_convolution(p, v, part);
    kernel.work = SC__WORK_GEMM;
    return kernel;
}

/* Tensor cores want channels side by side; else in- and output are turned. */
static void turn_layout(struct priced *p, const struct convolution *v) {
    bool turned = v->taps > 1 && type_of(v->weight) != SC__FP32 && !v->image->channels_last;
    double bytes = v->image->bytes + v->map->bytes;
    if (!turned || v->from < FEW_CHANNELS)
        return;
    and_kernel(
        p,
        sc__elementwise(p->model, p->call->op, p->operators->convolution_copy * bytes));
    /* input, weight and output each by a kernel */
    p->price.kernels += 2;
    p->price.scratch = bytes;
}

static void price_convolution(struct priced *p) {
    struct convolution v = convolution_of(p, false);
    bool transposed = p->call->with.transposed;
    by_kernel(p, convolution_kernel(p, &v, transposed ? PART_INPUT : PART_FORWARD));
    turn_layout(p, &v);
    /* a bias is added by a kernel of its own */
    if (p->call->in.count > 2)
        and_kernel(p, sc__elementwise(p->model, p->call->op, 2 * output(p, 0)->bytes));
}

static void price_convolution_backward(struct priced *p) {
    struct convolution v = convolution_of(p, true);
    const struct sc__capture_with *with = &p->call->with;
    enum convolution_part input_part = with->transposed ? PART_FORWARD : PART_INPUT;
    p->price.known = true;
    p->price.kernel = (struct sc__kernel){.name = p->call->op,
                                          .kind = SC__KERNEL_GEMM,
                                          .work = SC__WORK_GEMM};
    if (with->input_gradient)
        and_kernel(p, convolution_kernel(p, &v, input_part));
    if (with->weight_gradient)
        and_kernel(p, convolution_kernel(p, &v, PART_WEIGHT));
    turn_layout(p, &v);
    if (with->bias_gradient)
        and_kernel(p, sc__elementwise(p->model, p->call->op, 2 * input(p, 0)->bytes));
}

/* ---- attention and recurrence ---- */

static void price_attention(struct priced *p, bool backward) {
    const struct sc__capture_tensor *q = input(p, backward ? 1 : 0);
    const struct sc__capture_tensor *k = input(p, backward ? 2 : 1);
    const struct sc__capture_tensor *v = input(p, backward ? 3 : 2);
    uint32_t mask_at = backward ? 6 : 3;
    struct sc__attention a = {.batch = size_at(q, 0),
                              .heads = size_at(q, 1),
                              .kv_heads = size_at(k, 1),
                              .sq = size_at(q, 2),
                              .skv = size_at(k, 2),
                              .head_dim = size_at(q, 3),
                              .v_dim = size_at(v, 3),
                              .causal = p->call->with.causal,
                              .wide = type_of(q) == SC__FP32};
    by_kernel(p,
              backward ? sc__attention_backward(p->model, &a)
                       : sc__attention_forward(p->model, &a));
    if (p->call->with.dropout > 0)
        p->price.kernel.us *= p->operators->attention_dropout[backward];
    if (mask_at < p->call->in.count)
        and_kernel(p, sc__elementwise(p->model, p->call->op, input(p, mask_at)->bytes));
}

/* Each layer: its inputs of all steps in one product, then a product a step. */
static void price_recurrent(struct priced *p, bool backward) {
    const struct sc__capture_with *with = &p->call->with;
    const struct sc__capture_tensor *x = input(p, backward ? 1 : 0);
    uint64_t steps = size_at(x, 1);
    uint64_t batch = size_at(x, 0);
    uint64_t wide = (uint64_t)with->gates * with->hidden;
    double layers = with->layers * (with->bidirectional ? 2.0 : 1.0);
    enum sc__dtype t = type_of(x);
    struct sc__kernel all = sc__gemm(p->model, NULL, t, batch * steps, wide, with->hidden);
    struct sc__kernel one = sc__gemm(p->model, NULL, t, batch, wide, with->hidden);
    double us = layers * (all.us + (double)steps * (one.us + p->operators->recurrent_step));
    struct sc__kernel kernel = all;
    kernel.us = us * p->operators->recurrent[backward];
    kernel.flop = (backward ? 2 : 1) * layers * (all.flop + (double)steps * one.flop);
    kernel.effort = (backward ? 2 : 1) * layers * (all.effort + (double)steps * one.effort);
    by_kernel(p, kernel);
}

/* ---- by name ---- */

static double bytes_of(const struct priced *p, struct sc__capture_list list) {
    double bytes = 0;
    for (uint32_t i = 0; i < list.count; i++)
        bytes += sc__capture_tensor(p->c, list, i)->bytes;
    return bytes;
}

static void
price_norm(struct priced *p, enum sc__memory_op op, uint32_t x, uint32_t weight) {
    const struct sc__capture_tensor *rows = input(p, x);
    uint64_t cols = size_at(rows, rows->dims ? rows->dims - 1u : 0);
    if (input(p, weight)->dims == 1)
        cols = size_at(input(p, weight), 0);
    uint64_t count = cols ? (uint64_t)(rows->elements / (double)cols) : 0;
    by_kernel(p, sc__memory_op(p->model, op, type_of(rows), count, cols));
}

/* Lists of tensors: as many kernels as their chunks of 65,536 elements fill, 320 each,
 * or as there are tensors, about 48 to a kernel (ATen's multi_tensor_apply). */
static double list_kernels(const struct priced *p) {
    const struct sc__capture_tensor *t = input(p, 0);
    double by_elements = t->elements / 65536 / 320;
    double by_tensors = t->count / 48.0;
    double kernels = by_elements > by_tensors ? by_elements : by_tensors;
    return kernels < 1 ? 1 : (double)(uint64_t)(kernels + 0.999);
}

static void price_list(struct priced *p, double traffic) {
    const struct sc__capture_tensor *first = input(p, 0);
    bool in_place = !p->call->out.count;
    double bytes = bytes_of(p, p->call->in) + bytes_of(p, p->call->out);
    p->price.lists = first->count;
    by_bytes(p,
             SC__WORK_OPTIMIZER,
             traffic * (bytes + (in_place ? first->bytes : 0)),
             list_kernels(p));
}

static void price_fused_adamw(struct priced *p) {
    const struct sc__capture_tensor *weights = input(p, 0);
    double moved =
        bytes_of(p, p->call->in) + weights->bytes + input(p, 2)->bytes + input(p, 3)->bytes;
    double each = weights->elements > 0 ? moved / weights->elements : 0;
    by_kernel(p, sc__adamw(p->model, type_of(weights), weights->elements, each));
    p->price.kernels = list_kernels(p);
    p->price.lists = weights->count;
}

/* Rows that an index picks: what is read is what is written, not the table. */
static void
price_embedding_bag(struct priced *p, const struct sc__operator *o, bool backward) {
    const struct sc__capture_tensor *table = backward ? output(p, 0) : input(p, 0);
    const struct sc__capture_tensor *index = input(p, 1);
    double row = (double)size_at(table, 1) * table->bytes /
                 (table->elements > 0 ? table->elements : 1);
    double bytes = index->elements * row + index->bytes + bytes_of(p, p->call->out);
    by_bytes(p, SC__WORK_EMBEDDING, o->traffic * bytes, o->kernels);
}

static bool price_by_shape(struct priced *p) {
    const char *op = p->call->op;
    if (!strcmp(op, "aten.mm"))
        price_mm(p, 0);
    else if (!strcmp(op, "aten.addmm"))
        price_mm(p, 1);
    else if (!strcmp(op, "aten._scaled_mm"))
        price_mm(p, 0);
    else if (!strcmp(op, "aten.bmm"))
        price_bmm(p, 0);
    else if (!strcmp(op, "aten.baddbmm"))
        price_bmm(p, 1);
    else if (!strcmp(op, "aten.convolution"))
        price_convolution(p);
    else if (!strcmp(op, "aten.convolution_backward"))
        price_convolution_backward(p);
    else if (!strcmp(op, "stepcast.attention"))
        price_attention(p, false);
    else if (!strcmp(op, "stepcast.attention_backward"))
        price_attention(p, true);
    else if (!strcmp(op, "stepcast.recurrent"))
        price_recurrent(p, false);
    else if (!strcmp(op, "stepcast.recurrent_backward"))
        price_recurrent(p, true);
    else
        return false;
    return true;
}

static bool price_by_model(struct priced *p) {
    const char *op = p->call->op;
    if (!strcmp(op, "aten.native_layer_norm"))
        price_norm(p, SC__MEM_LAYERNORM_F, 0, 1);
    else if (!strcmp(op, "aten.native_layer_norm_backward"))
        price_norm(p, SC__MEM_LAYERNORM_B, 1, 4);
    else if (!strcmp(op, "aten._fused_rms_norm"))
        price_norm(p, SC__MEM_RMSNORM_F, 0, 1);
    else if (!strcmp(op, "aten._fused_rms_norm_backward"))
        price_norm(p, SC__MEM_RMSNORM_B, 1, 3);
    else if (!strcmp(op, "aten.embedding"))
        by_kernel(p,
                  sc__embedding_forward(p->model,
                                        type_of(input(p, 0)),
                                        (uint64_t)input(p, 1)->elements,
                                        size_at(input(p, 0), 1)));
    else if (!strcmp(op, "aten.embedding_dense_backward"))
        by_kernel(p,
                  sc__embedding_backward(p->model,
                                         type_of(output(p, 0)),
                                         (uint64_t)input(p, 1)->elements,
                                         size_at(output(p, 0), 0),
                                         size_at(output(p, 0), 1)));
    else if (!strcmp(op, "aten._fused_adamw_") || !strcmp(op, "aten._fused_adam_"))
        price_fused_adamw(p);
    else
        return false;
    return true;
}

/* Copies whose elements do not lie in order on one side. */
static bool is_strided(const struct priced *p) {
    for (uint32_t i = 0; i < p->call->in.count; i++)
        if (!input(p, i)->dense && input(p, i)->dims > 1)
            return true;
    return false;
}

static void price_strided(struct priced *p, const struct sc__operator *o) {
    double bytes = bytes_of(p, p->call->in) + bytes_of(p, p->call->out);
    if (!strcmp(p->call->op, "aten.copy_"))
        bytes = bytes_of(p, p->call->in);
    by_bytes(p, o->work, o->traffic * p->operators->strided * bytes, o->kernels);
}

/* Elements of the in- and outputs, each once: an output in place of an input counts as
 * its reading and its writing. */
static void price_by_operator(struct priced *p, const struct sc__operator *o) {
    const char *op = p->call->op;
    double in = bytes_of(p, p->call->in);
    double out = bytes_of(p, p->call->out);
    if (!strncmp(op, "aten._foreach_", 14))
        price_list(p, o->traffic);
    else if (!strcmp(op, "aten._embedding_bag"))
        price_embedding_bag(p, o, false);
    else if (!strcmp(op, "aten._embedding_bag_backward"))
        price_embedding_bag(p, o, true);
    else if (o->work == SC__WORK_COPY && is_strided(p))
        price_strided(p, o);
    else if (!strcmp(op, "aten.copy_"))
        by_bytes(p, o->work, o->traffic * in, o->kernels);
    else
        by_bytes(p, o->work, o->traffic * (in + out), o->kernels);
}

static bool writes_only(const char *op) {
    static const char *const names[] = {"aten.zeros",
                                        "aten.ones",
                                        "aten.full",
                                        "aten.arange",
                                        "aten.zeros_like",
                                        "aten.ones_like",
                                        "aten.full_like",
                                        "aten.new_zeros",
                                        "aten.new_ones",
                                        "aten.new_full",
                                        "aten.zero_",
                                        "aten.fill_",
                                        "aten.bernoulli_",
                                        "aten.uniform_",
                                        "aten.normal_",
                                        NULL};
    for (const char *const *name = names; *name; name++)
        if (!strcmp(op, *name))
            return true;
    return false;
}

struct sc__capture_price sc__capture_price(const struct sc__capture *c,
                                           const struct sc__operators *operators,
                                           struct sc__kernel_model *model,
                                           const struct sc__capture_call *call) {
    struct priced p = {.c = c, .operators = operators, .model = model, .call = call};
    const struct sc__operator *o = operator_named(operators, call->op);
    if (price_by_shape(&p) || price_by_model(&p))
        return p.price;
    if (writes_only(call->op))
        by_bytes(&p, SC__WORK_ELEMENTWISE, bytes_of(&p, call->out), 1);
    else if (o)
        price_by_operator(&p, o);
    else if (!strncmp(call->op, "aten._foreach_", 14))
        price_list(&p, 1);
    else {
        by_bytes(&p, SC__WORK_OTHER, bytes_of(&p, call->in) + bytes_of(&p, call->out), 1);
        p.price.known = false;
    }
    return p.price;
}
