/* capture price: what an operation of PyTorch costs on a GPU. Products, attention,
 * norms and the like go to the kernel model; the rest by the bytes it moves, times how
 * often it moves them (data/operators.json). docs/model/operators.md has the equations. */
#include "base/data.h"
#include "frontend/capture/capture_pricing.h"

#include <jansson.h>
#include <math.h>
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

static const char *const way_names[] = {
    "bytes", "iterate", "reduce", "written", "elements", "pad", "pick", "put", NULL};

static enum sc__operator_way way_named(const char *name) {
    for (unsigned k = 0; name && way_names[k]; k++)
        if (!strcmp(name, way_names[k]))
            return (enum sc__operator_way)k;
    return SC__WAY_BYTES;
}

/* {"pointwise": [names], …} */
static void
read_fusable(struct sc_context *ctx, const json_t *root, struct sc__operators *out) {
    static const char *const kinds[] =
        {"not", "pointwise", "reduction", "rows", "rows_and_columns", "channels"};
    const json_t *table = json_object_get(root, "fusable");
    for (size_t k = 1; k < sizeof kinds / sizeof *kinds; k++) {
        const json_t *names = json_object_get(table, kinds[k]);
        for (size_t i = 0; i < json_array_size(names); i++) {
            const char *name = json_string_value(json_array_get(names, i));
            *SC__PUSH(&ctx->arena,
                      out->fusable,
                      out->fusable_count,
                      out->fusable_capacity) =
                (struct sc__fusable){sc__format(&ctx->arena, "%s", name),
                                     (enum sc__fuses)k};
        }
    }
}

/* {"work": …, "way": …, "traffic": …, "kernels": …, "names": […]}: equal ones stand
 * together. */
static void
add_operators(struct sc_context *ctx, const json_t *row, struct sc__operators *out) {
    const json_t *names = json_object_get(row, "names");
    struct sc__operator each = {
        .work = (uint8_t)work_named(json_string_value(json_object_get(row, "work"))),
        .way = (uint8_t)way_named(json_string_value(json_object_get(row, "way"))),
        .traffic = json_number_value(json_object_get(row, "traffic")),
        .kernels = json_number_value(json_object_get(row, "kernels"))};
    for (size_t i = 0; i < json_array_size(names); i++) {
        each.name =
            sc__format(&ctx->arena, "%s", json_string_value(json_array_get(names, i)));
        *SC__PUSH(&ctx->arena, out->items, out->count, out->capacity) = each;
    }
}

/* Constants by their names in the file. */
struct constant {
    const char *name;
    double *at;
    size_t count;
};

static sc_status
read_constants(struct sc_context *ctx, const json_t *root, struct sc__operators *out) {
    const struct constant constants[] = {
        {"index_ps", out->index_ps, 3},
        {"convert_ps", &out->convert_ps, 1},
        {"sector_bytes", &out->sector_bytes, 1},
        {"cached_block_bytes", &out->cached_block, 1},
        {"rows_ps", &out->rows_ps, 1},
        {"row_ps", &out->row_ps, 1},
        {"rows_traffic", &out->rows_traffic, 1},
        {"columns_us", out->columns_us, 3},
        {"columns_traffic", &out->columns_traffic, 1},
        {"between_ps", &out->between_ps, 1},
        {"norm_row_ps", &out->norm_row_ps, 1},
        {"norm_traffic", out->norm_traffic, 2},
        {"norm_wide", &out->norm_wide, 1},
        {"norm_parts_ps", &out->norm_parts_ps, 1},
        {"norm_parts_us", &out->norm_parts_us, 1},
        {"batch_norm_cudnn", out->batch_norm, 2},
        {"batch_norm_channel_cudnn", out->batch_norm_channel, 2},
        {"batch_norm_own_forward", out->own_norm[0], 3},
        {"batch_norm_own_backward", out->own_norm[1], 3},
        {"batch_norm_channel_own_forward", out->own_norm_channel[0], 2},
        {"batch_norm_channel_own_backward", out->own_norm_channel[1], 2},
        {"batch_norm_channels_last_cudnn", out->batch_norm_last[0], 2},
        {"batch_norm_channels_last_bf16", out->batch_norm_last[1], 2},
        {"group_norm", out->group_norm, 2},
        {"group_norm_alone", &out->group_norm_alone, 1},
        {"join_ps", out->join_ps, 2},
        {"put_ps", &out->put_ps, 1},
        {"bilinear_plane_us", &out->bilinear_plane_us, 1},
        {"bilinear_ps", out->bilinear_ps, 3},
        {"bilinear_add_ps", &out->bilinear_add_ps, 1},
        {"product_small", out->product_small, 4},
        {"product_odd", out->product_odd, 4},
        {"product_fp32", out->product_fp32, 4},
        {"convolution_tf32", &out->convolution_tf32, 1},
        {"convolution_share", &out->convolution_share, 1},
        {"convolution_unaligned", &out->convolution_unaligned, 1},
        {"convolution_copy", out->convolution_copy, 2},
        {"convolution_patches", out->convolution_patches, 3},
        {"convolution_groups", out->convolution_groups, 3},
        {"grouped_us", &out->grouped_us, 1},
        {"grouped_ps", out->grouped_ps, 5},
        {"convolution_long_ns", &out->convolution_long_ns, 1},
        {"few_channels_forward", out->few_channels[0], 3},
        {"few_channels_weight", out->few_channels[1], 3},
        {"depthwise", out->depthwise[0], 3},
        {"depthwise_channels_last", out->depthwise[1], 3},
        {"adamw_narrow", &out->adamw_narrow, 1},
        {"attention_dropout", out->attention_dropout, 2},
        {"picked_row_ps", &out->picked_row_ps, 1},
        {"picked_again", &out->picked_again, 1},
        {"added_rows_ps", out->added_rows, 2},
        {"topk", out->topk, 5},
        {"bicubic_plane_us", out->bicubic_plane_us, 3},
        {"learned_attention_ns", out->learned_attention[0], 2},
        {"learned_attention_fp32_ns", out->learned_attention[1], 2},
        {"learned_attention_deep", out->learned_attention_deep, 2},
        {"recurrent", out->recurrent, 2},
        {"recurrent_step_us", &out->recurrent_step, 1},
        {"ctc_step_us", out->ctc_step, 2},
        {"host_plain_us", out->host_kind[SC__HOST_PLAIN], 2},
        {"host_product_us", out->host_kind[SC__HOST_PRODUCT], 2},
        {"host_convolution_us", out->host_kind[SC__HOST_CONVOLUTION], 2},
        {"host_attention_us", out->host_kind[SC__HOST_ATTENTION], 2},
        {"host_layer_norm_us", out->host_kind[SC__HOST_LAYER_NORM], 2},
        {"host_batch_norm_us", out->host_kind[SC__HOST_BATCH_NORM], 2},
        {"host_group_norm_us", out->host_kind[SC__HOST_GROUP_NORM], 2},
        {"host_recurrent_us", out->host_recurrent, 2},
        {"host_kernel_us", &out->host_kernel, 1},
        {"host_operation_us", &out->host_operation, 1},
        {"host_view_us", &out->host_view, 1},
        {"host_tensor_us", &out->host_tensor, 1},
        {"host_step_us", &out->host_step, 1},
        {"fused_traffic", &out->fused_traffic, 1},
        {"fused_columns", &out->fused_columns, 1},
        {"host_compiled_kernel_us", &out->host_compiled_kernel, 1},
        {"host_compiled_unit_us", &out->host_compiled_unit, 1},
        {"host_graph_us", &out->host_graph, 1},
        {"reference_bandwidth", &out->reference_bandwidth, 1},
        {"workspace_bytes", &out->workspace, 1}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        SC__TRY(read_numbers(ctx,
                             root,
                             constants[i].name,
                             constants[i].at,
                             constants[i].count));
    return SC_OK;
}

static sc_status
read_operators(struct sc_context *ctx, const json_t *root, struct sc__operators *out) {
    const json_t *rows = json_object_get(root, "operators");
    for (size_t i = 0; i < json_array_size(rows); i++)
        add_operators(ctx, json_array_get(rows, i), out);
    read_fusable(ctx, root, out);
    return read_constants(ctx, root, out);
}

sc_status sc__operators_load(struct sc_context *ctx, struct sc__operators *out) {
    const json_t *root = sc__data_json("operators.json");
    *out = (struct sc__operators){0};
    if (!root)
        return sc__fail(ctx, SC_INPUT, NULL, NULL, "data/operators.json cannot be read");
    return read_operators(ctx, root, out);
}

const struct sc__operator *sc__operator_named(const struct sc__operators *operators,
                                              const char *name) {
    for (uint32_t i = 0; i < operators->count; i++)
        if (!strcmp(operators->items[i].name, name))
            return &operators->items[i];
    return NULL;
}

enum sc__fuses sc__operator_fuses(const struct sc__operators *operators, const char *name) {
    const struct sc__operator *o = sc__operator_named(operators, name);
    for (uint32_t i = 0; i < operators->fusable_count; i++)
        if (!strcmp(operators->fusable[i].name, name))
            return operators->fusable[i].kind;
    if (o && o->way == SC__WAY_ITERATE)
        return SC__FUSES_POINTWISE;
    return o && o->way == SC__WAY_REDUCE ? SC__FUSES_REDUCTION : SC__FUSES_NOT;
}

/* ---- what all prices need ---- */

const struct sc__capture_tensor *sc__pricing_input(const struct sc__pricing *p,
                                                   uint32_t i) {
    static const struct sc__capture_tensor none = {.count = 1, .dense = true};
    return i < p->call->in.count ? sc__capture_tensor(p->c, p->call->in, i) : &none;
}

const struct sc__capture_tensor *sc__pricing_output(const struct sc__pricing *p,
                                                    uint32_t i) {
    static const struct sc__capture_tensor none = {.count = 1, .dense = true};
    return i < p->call->out.count ? sc__capture_tensor(p->c, p->call->out, i) : &none;
}

uint64_t sc__pricing_size(const struct sc__capture_tensor *t, unsigned dim) {
    return dim < t->dims ? t->size[dim] : 1;
}

enum sc__dtype sc__pricing_type(const struct sc__capture_tensor *t) {
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

void sc__pricing_kernel(struct sc__pricing *p, struct sc__kernel kernel) {
    p->price.kernel = kernel;
    p->price.kernels = 1;
    p->price.known = true;
}

/* Kernels one after another as one. */
void sc__pricing_and(struct sc__pricing *p, struct sc__kernel kernel) {
    p->price.kernel.us += kernel.us;
    p->price.kernel.bytes += kernel.bytes;
    p->price.kernel.flop += kernel.flop;
    p->price.kernel.effort += kernel.effort;
    p->price.kernels++;
}

void sc__pricing_move(struct sc__pricing *p,
                      enum sc__work work,
                      double bytes,
                      double kernels) {
    struct sc__kernel kernel = sc__elementwise(p->model, p->call->op, bytes);
    kernel.work = (uint8_t)work;
    sc__pricing_kernel(p, kernel);
    p->price.kernels = kernels;
    /* each kernel starts anew */
    if (kernels > 1)
        p->price.kernel.us +=
            (kernels - 1) * sc__kernel_model_gpu(p->model)->elementwise_t0;
}

/* Index arithmetic goes with the rate of plain instructions, bytes with the memory. */
struct sc__kernel sc__pricing_elements(const struct sc__pricing *p,
                                       double bytes,
                                       double elements,
                                       double ps) {
    return sc__by_element(p->model, p->call->op, bytes, elements, ps);
}

/* ---- products ---- */

static void price_mm(struct sc__pricing *p, uint32_t first) {
    const struct sc__capture_tensor *a = sc__pricing_input(p, first);
    const struct sc__capture_tensor *b = sc__pricing_input(p, first + 1);
    uint64_t m = sc__pricing_size(a, 0);
    uint64_t k = sc__pricing_size(a, 1);
    uint64_t n = sc__pricing_size(b, 1);
    bool bias = first && sc__pricing_input(p, 0)->dims == 1;
    p->price.host = SC__HOST_PRODUCT;
    sc__pricing_kernel(p,
                       bias ? sc__gemm_bias(p->model, NULL, sc__pricing_type(a), m, n, k)
                            : sc__gemm(p->model, NULL, sc__pricing_type(a), m, n, k));
}

/* Rows that do not begin at multiples of 16 bytes keep products from the main kernels. */
static bool is_unaligned(const struct sc__capture_tensor *t) {
    double bytes = t->elements > 0 ? t->bytes / t->elements : 0;
    uint64_t rows = sc__pricing_size(t, t->dims - 2u);
    uint64_t columns = sc__pricing_size(t, t->dims - 1u);
    bool turned = !t->dense && t->dims >= 2 && t->stride[t->dims - 2] == 1;
    return t->dims >= 2 && (uint64_t)(bytes * (double)(turned ? rows : columns)) % 16;
}

/* Sizes of which all are at most this have kernels that wait more than they compute. */
enum { SMALL_PRODUCT = 128 };

struct batched {
    enum sc__dtype type;
    uint64_t count;
    uint64_t m;
    uint64_t n;
    uint64_t k;
    double bytes;
};

static double rounded_up(uint64_t n, uint64_t to) {
    return (double)((n + to - 1) / to) * (double)to;
}

/* Tiles are computed in full, whatever is in them: us, MB, GFLOP and thousands of tiles. */
static double by_tiles(const struct batched *b,
                       const double us[4],
                       const uint64_t tile[3],
                       bool overlap) {
    double m = rounded_up(b->m, tile[0]);
    double n = rounded_up(b->n, tile[1]);
    double k = rounded_up(b->k, tile[2]);
    double count = (double)b->count;
    double moving = us[1] * b->bytes * 1e-6;
    double computing = us[2] * 2 * count * m * n * k * 1e-9;
    double tiles = count * (m / (double)tile[0]) * (n / (double)tile[1]);
    return us[0] + (overlap ? hypot(moving, computing) : moving + computing) +
           us[3] * tiles * 1e-3;
}

/* Products in batches for which the library has no kernels of the main kind: in fp32, of
 * rows that begin at odd places, and small ones. */
static double
special_product_us(const struct sc__pricing *p, const struct batched *b, bool odd) {
    static const uint64_t tile_fp32[3] = {32, 32, 8};
    static const uint64_t tile_odd[3] = {32, 32, 32};
    static const uint64_t tile_small[3] = {128, 64, 8};
    const struct sc__operators *o = p->operators;
    bool small = b->m <= SMALL_PRODUCT && b->n <= SMALL_PRODUCT && b->k <= SMALL_PRODUCT;
    if (b->type == SC__FP32)
        return by_tiles(b, o->product_fp32, tile_fp32, true);
    if (odd)
        return by_tiles(b, o->product_odd, tile_odd, false);
    return small ? by_tiles(b, o->product_small, tile_small, true) : 0;
}

double sc__pricing_product_fp32(
    const struct sc__pricing *p, uint64_t count, uint64_t m, uint64_t n, uint64_t k) {
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    double elements = (double)count * ((double)m * (double)k + (double)k * (double)n +
                                       (double)m * (double)n);
    struct batched b = {SC__FP32, count, m, n, k, 4 * elements};
    return special_product_us(p, &b, false) * p->operators->reference_bandwidth /
           gpu->elementwise_bw;
}

static void price_bmm(struct sc__pricing *p, uint32_t first) {
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    const struct sc__capture_tensor *a = sc__pricing_input(p, first);
    const struct sc__capture_tensor *b = sc__pricing_input(p, first + 1);
    const struct sc__capture_tensor *out = sc__pricing_output(p, 0);
    struct batched batched = {.type = sc__pricing_type(a),
                              .count = sc__pricing_size(a, 0),
                              .m = sc__pricing_size(a, 1),
                              .n = sc__pricing_size(b, 2),
                              .k = sc__pricing_size(a, 2),
                              .bytes = a->bytes + b->bytes + out->bytes};
    bool odd = is_unaligned(a) || is_unaligned(b) || is_unaligned(out);
    p->price.host = SC__HOST_PRODUCT;
    struct sc__kernel kernel = sc__gemm_batched(p->model,
                                                NULL,
                                                batched.type,
                                                batched.count,
                                                batched.m,
                                                batched.n,
                                                batched.k);
    double special = batched.count > 1 ? special_product_us(p, &batched, odd) : 0;
    if (special > 0)
        kernel.us = special * p->operators->reference_bandwidth / gpu->elementwise_bw;
    sc__pricing_kernel(p, kernel);
}

/* Products of experts: tokens [rows × k] by weights of each [experts × k × columns] and
 * what comes of it, or the gradient of the weights, [k × rows] by [rows × columns]. Rows
 * are taken as spread evenly over experts. */
static bool price_grouped(struct sc__pricing *p) {
    const struct sc__capture_tensor *a = sc__pricing_input(p, 0);
    const struct sc__capture_tensor *b = sc__pricing_input(p, 1);
    const struct sc__capture_tensor *out = sc__pricing_output(p, 0);
    bool weights = b->dims == 3 && out->dims == 2;
    bool gradient = b->dims == 2 && out->dims == 3;
    uint64_t experts = sc__pricing_size(weights ? b : out, 0);
    if (a->dims != 2 || !(weights || gradient) || !experts)
        return false;
    uint64_t each = sc__pricing_size(a, weights ? 0 : 1) / experts;
    uint64_t share = each ? each : 1;
    p->price.host = SC__HOST_PRODUCT;
    sc__pricing_kernel(p,
                       sc__gemm_grouped(p->model,
                                        NULL,
                                        sc__pricing_type(a),
                                        experts,
                                        weights ? share : sc__pricing_size(a, 0),
                                        sc__pricing_size(out, weights ? 1 : 2),
                                        weights ? sc__pricing_size(a, 1) : share));
    return true;
}

/* ---- recurrence ---- */

/* As often as that. */
static void add_products(struct sc__kernel *sum, const struct sc__kernel *one, double n) {
    sum->us += n * one->us;
    sum->flop += n * one->flop;
    sum->effort += n * one->effort;
}

/* Each layer, each way: its inputs of all steps in one product, then a product a step. The
 * first has the width of what comes in, the others that of both ways together. */
static void price_recurrent(struct sc__pricing *p, bool backward) {
    const struct sc__capture_with *with = &p->call->with;
    const struct sc__capture_tensor *x = sc__pricing_input(p, backward ? 1 : 0);
    uint64_t steps = sc__pricing_size(x, 1);
    uint64_t batch = sc__pricing_size(x, 0);
    uint64_t wide = (uint64_t)with->gates * with->hidden;
    uint64_t ways = with->bidirectional ? 2 : 1;
    uint64_t between = ways * with->hidden;
    double layers = with->layers * (double)ways;
    enum sc__dtype t = sc__pricing_type(x);
    struct sc__kernel first =
        sc__gemm(p->model, NULL, t, batch * steps, wide, sc__pricing_size(x, 2));
    struct sc__kernel later = sc__gemm(p->model, NULL, t, batch * steps, wide, between);
    struct sc__kernel one = sc__gemm(p->model, NULL, t, batch, wide, with->hidden);
    struct sc__kernel kernel = first;
    add_products(&kernel, &first, (double)ways - 1);
    add_products(&kernel, &later, layers - (double)ways);
    add_products(&kernel, &one, layers * (double)steps);
    kernel.us += layers * (double)steps * p->operators->recurrent_step;
    kernel.us *= p->operators->recurrent[backward];
    kernel.flop *= backward ? 2 : 1;
    kernel.effort *= backward ? 2 : 1;
    sc__pricing_kernel(p, kernel);
    p->price.launching = layers * (double)steps * p->operators->host_recurrent[backward];
}

/* What has been said so far goes from step to step: each waits for the one before. */
static void price_ctc(struct sc__pricing *p, bool backward) {
    const struct sc__capture_tensor *x = sc__pricing_input(p, backward ? 1 : 0);
    double bytes = sc__pricing_bytes(p, p->call->in) + sc__pricing_bytes(p, p->call->out);
    struct sc__kernel kernel = sc__elementwise(p->model, p->call->op, bytes);
    kernel.us += (double)sc__pricing_size(x, 0) * p->operators->ctc_step[backward];
    kernel.work = SC__WORK_LOSS;
    sc__pricing_kernel(p, kernel);
}

/* ---- by name ---- */

double sc__pricing_bytes(const struct sc__pricing *p, struct sc__capture_list list) {
    double bytes = 0;
    for (uint32_t i = 0; i < list.count; i++)
        bytes += sc__capture_tensor(p->c, list, i)->bytes;
    return bytes;
}

/* Lists of tensors: as many kernels as their chunks of 65,536 elements fill, 320 each,
 * or as there are tensors, about 48 to a kernel (ATen's multi_tensor_apply). */
static double list_kernels(const struct sc__pricing *p) {
    const struct sc__capture_tensor *t = sc__pricing_input(p, 0);
    double by_elements = t->elements / 65536 / 320;
    double by_tensors = t->count / 48.0;
    double kernels = by_elements > by_tensors ? by_elements : by_tensors;
    return kernels < 1 ? 1 : (double)(uint64_t)(kernels + 0.999);
}

static void price_list(struct sc__pricing *p, double traffic) {
    const struct sc__capture_tensor *first = sc__pricing_input(p, 0);
    bool in_place = !p->call->out.count;
    double bytes = sc__pricing_bytes(p, p->call->in) + sc__pricing_bytes(p, p->call->out);
    p->price.lists = first->count;
    sc__pricing_move(p,
                     SC__WORK_OPTIMIZER,
                     traffic * (bytes + (in_place ? first->bytes : 0)),
                     list_kernels(p));
}

static void price_fused_adamw(struct sc__pricing *p) {
    const struct sc__capture_tensor *weights = sc__pricing_input(p, 0);
    double moved = sc__pricing_bytes(p, p->call->in) + weights->bytes +
                   sc__pricing_input(p, 2)->bytes + sc__pricing_input(p, 3)->bytes;
    double each = weights->elements > 0 ? moved / weights->elements : 0;
    sc__pricing_kernel(
        p,
        sc__adamw(p->model, sc__pricing_type(weights), weights->elements, each));
    if (sc__pricing_type(sc__pricing_input(p, 2)) != SC__FP32)
        p->price.kernel.us *= p->operators->adamw_narrow;
    p->price.kernels = list_kernels(p);
    p->price.lists = weights->count;
}

/* Rows that an index picks: what is read is what is written, not the table. */
static void
price_embedding_bag(struct sc__pricing *p, const struct sc__operator *o, bool backward) {
    const struct sc__capture_tensor *table =
        backward ? sc__pricing_output(p, 0) : sc__pricing_input(p, 0);
    const struct sc__capture_tensor *index = sc__pricing_input(p, 1);
    double row = (double)sc__pricing_size(table, 1) * table->bytes /
                 (table->elements > 0 ? table->elements : 1);
    double bytes =
        index->elements * row + index->bytes + sc__pricing_bytes(p, p->call->out);
    sc__pricing_move(p, SC__WORK_EMBEDDING, o->traffic * bytes, o->kernels);
}

static bool price_by_shape(struct sc__pricing *p) {
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
    else if (!strcmp(op, "aten._grouped_mm"))
        return price_grouped(p);
    else if (!strcmp(op, "stepcast.attention"))
        sc__pricing_attention(p, false);
    else if (!strcmp(op, "stepcast.attention_backward"))
        sc__pricing_attention(p, true);
    else if (!strcmp(op, "stepcast.recurrent"))
        price_recurrent(p, false);
    else if (!strcmp(op, "stepcast.recurrent_backward"))
        price_recurrent(p, true);
    else if (!strcmp(op, "aten._ctc_loss"))
        price_ctc(p, false);
    else if (!strcmp(op, "aten._ctc_loss_backward"))
        price_ctc(p, true);
    else
        return false;
    return true;
}

static bool price_by_model(struct sc__pricing *p) {
    const char *op = p->call->op;
    if (!strcmp(op, "aten.embedding"))
        sc__pricing_kernel(
            p,
            sc__embedding_forward(p->model,
                                  sc__pricing_type(sc__pricing_input(p, 0)),
                                  (uint64_t)sc__pricing_input(p, 1)->elements,
                                  sc__pricing_size(sc__pricing_input(p, 0), 1)));
    else if (!strcmp(op, "aten.embedding_dense_backward"))
        sc__pricing_kernel(
            p,
            sc__embedding_backward(p->model,
                                   sc__pricing_type(sc__pricing_output(p, 0)),
                                   (uint64_t)sc__pricing_input(p, 1)->elements,
                                   sc__pricing_size(sc__pricing_output(p, 0), 0),
                                   sc__pricing_size(sc__pricing_output(p, 0), 1)));
    else if (!strcmp(op, "aten._fused_adamw_") || !strcmp(op, "aten._fused_adam_"))
        price_fused_adamw(p);
    else
        return false;
    return true;
}

/* Tensors joined in one kernel where all lie in order; else one after another, and by
 * their elements where one of them is empty. */
static bool price_joined(struct sc__pricing *p, const struct sc__operator *o) {
    bool joins = !strcmp(p->call->op, "aten.cat") || !strcmp(p->call->op, "aten.stack");
    bool ordered = true;
    bool empty = false;
    for (uint32_t i = 0; i < p->call->in.count; i++) {
        ordered = ordered && sc__pricing_input(p, i)->dense;
        empty = empty || sc__pricing_input(p, i)->elements < 1;
    }
    if (!joins || (ordered && !empty))
        return false;
    double bytes = sc__pricing_bytes(p, p->call->in) + sc__pricing_bytes(p, p->call->out);
    struct sc__kernel kernel = sc__pricing_elements(p,
                                                    bytes,
                                                    sc__pricing_output(p, 0)->elements,
                                                    p->operators->join_ps[empty]);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    return true;
}

/* Bicubic scaling goes by planes, of which each is small; backward adds to places, in 16
 * bits by trying until nothing came between. */
static bool price_bicubic(struct sc__pricing *p, const struct sc__operator *o) {
    const struct sc__capture_tensor *out = sc__pricing_output(p, 0);
    bool backward = !strcmp(p->call->op, "aten.upsample_bicubic2d_backward");
    if (!backward && strcmp(p->call->op, "aten.upsample_bicubic2d"))
        return false;
    bool narrow = sc__pricing_type(out) != SC__FP32;
    double us = p->operators->bicubic_plane_us[backward ? (narrow ? 1 : 2) : 0];
    double planes = (double)sc__pricing_size(out, 0) * (double)sc__pricing_size(out, 1);
    double bytes = sc__pricing_input(p, 0)->bytes + out->bytes;
    struct sc__kernel kernel = sc__pricing_elements(p, bytes, planes, us * 1e6);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    return true;
}

/* Threads stand over the places of one picture and go through all channels of all; on the
 * way back they add to places, the more often the larger the scale. With channels side by
 * side each element of the larger picture is one of four neighbours' mean. */
static bool price_bilinear(struct sc__pricing *p, const struct sc__operator *o) {
    const struct sc__capture_tensor *in = sc__pricing_input(p, 0);
    const struct sc__capture_tensor *out = sc__pricing_output(p, 0);
    const double *ps = p->operators->bilinear_ps;
    bool backward = !strcmp(p->call->op, "aten.upsample_bilinear2d_backward");
    if (!backward && strcmp(p->call->op, "aten.upsample_bilinear2d"))
        return false;
    double larger = fmax(in->elements, out->elements);
    double scale = sqrt(larger / fmax(1, fmin(in->elements, out->elements)));
    double planes = (double)sc__pricing_size(out, 0) * (double)sc__pricing_size(out, 1);
    bool last = in->channels_last || out->channels_last;
    double each = last       ? ps[backward ? 2 : 1]
                  : backward ? p->operators->bilinear_add_ps * scale
                             : ps[0];
    double us = each * larger * 1e-6;
    if (!last && !backward)
        us = fmax(us, planes * p->operators->bilinear_plane_us);
    if (scale <= 1) /* equal sizes are copied */
        us = 0;
    struct sc__kernel kernel = sc__pricing_elements(p, in->bytes + out->bytes, 1, us * 1e6);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    if (backward && !in->dense && !in->channels_last)
        sc__pricing_and(p, sc__pricing_copy(p, in));
    return true;
}

/* Picoseconds an element of the largest tensor, in place of traffic. */
static void price_by_elements(struct sc__pricing *p, const struct sc__operator *o) {
    double most = sc__pricing_output(p, 0)->elements;
    for (uint32_t i = 0; i < p->call->in.count; i++)
        most = fmax(most, sc__pricing_input(p, i)->elements);
    double bytes = sc__pricing_bytes(p, p->call->in) + sc__pricing_bytes(p, p->call->out);
    double times = p->call->with.shifts > 1 ? p->call->with.shifts : 1;
    struct sc__kernel kernel = sc__pricing_elements(p, bytes, most, times * o->traffic);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    p->price.kernels = times * o->kernels;
}

/* Inputs whose elements do not lie in order take as long as a copy of them. */
static void price_with_copies(struct sc__pricing *p, const struct sc__operator *o) {
    double bytes = sc__pricing_bytes(p, p->call->in) + sc__pricing_bytes(p, p->call->out);
    sc__pricing_move(p, o->work, o->traffic * bytes, o->kernels);
    for (uint32_t i = 0; i < p->call->in.count; i++) {
        const struct sc__capture_tensor *t = sc__pricing_input(p, i);
        if (o->work == SC__WORK_COPY && !t->dense && t->dims > 1)
            p->price.kernel.us += sc__pricing_copy(p, t).us;
    }
}

static void price_by_operator(struct sc__pricing *p, const struct sc__operator *o) {
    const char *op = p->call->op;
    if (!strncmp(op, "aten._foreach_", 14))
        price_list(p, o->traffic);
    else if (!strcmp(op, "aten._embedding_bag"))
        price_embedding_bag(p, o, false);
    else if (!strcmp(op, "aten._embedding_bag_backward"))
        price_embedding_bag(p, o, true);
    else if (price_joined(p, o) || sc__pricing_index_put(p, o) || price_bilinear(p, o) ||
             price_bicubic(p, o) || sc__pricing_topk(p, o))
        return;
    else if (o->way == SC__WAY_PICK || o->way == SC__WAY_PUT)
        sc__pricing_pick(p, o);
    else if (o->way == SC__WAY_PAD)
        sc__pricing_pad(p, o);
    else if (o->way == SC__WAY_ITERATE)
        sc__pricing_iterate(p, o);
    else if (o->way == SC__WAY_ELEMENTS)
        price_by_elements(p, o);
    else if (o->way == SC__WAY_REDUCE)
        sc__pricing_reduce(p, o);
    else if (o->way == SC__WAY_WRITTEN)
        sc__pricing_move(p,
                         o->work,
                         o->traffic * sc__pricing_bytes(p, p->call->out),
                         o->kernels);
    else
        price_with_copies(p, o);
}

struct sc__capture_price sc__capture_price(const struct sc__capture *c,
                                           const struct sc__operators *operators,
                                           struct sc__kernel_model *model,
                                           const struct sc__capture_call *call) {
    struct sc__pricing p = {.c = c, .operators = operators, .model = model, .call = call};
    const struct sc__operator *o = sc__operator_named(operators, call->op);
    if (price_by_shape(&p) || price_by_model(&p))
        return p.price;
    if (sc__pricing_norm(&p) || sc__pricing_convolution(&p))
        return p.price;
    if (o)
        price_by_operator(&p, o);
    else if (!strncmp(call->op, "aten._foreach_", 14))
        price_list(&p, 1);
    else {
        sc__pricing_move(&p,
                         SC__WORK_OTHER,
                         sc__pricing_bytes(&p, call->in) + sc__pricing_bytes(&p, call->out),
                         1);
        p.price.known = false;
    }
    return p.price;
}
