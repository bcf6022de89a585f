/* capture convolution: products of the same size, with what the library does beside them:
 * turning layouts, few channels, channels by themselves, biases. */
#include "frontend/capture/capture_pricing.h"

#include <math.h>
#include <string.h>

struct convolution {
    const struct sc__capture_tensor *image; /* what the window slides over */
    const struct sc__capture_tensor *map;   /* one place for each window */
    const struct sc__capture_tensor *weight;
    uint64_t windows; /* places of map, over the batch */
    uint64_t pixels;  /* places of image, over the batch */
    uint64_t taps;    /* of the window */
    uint64_t from;    /* channels of one group, seen and made */
    uint64_t to;
    bool last; /* channels side by side, as the library's kernels want them */
};

static uint64_t places(const struct sc__capture_tensor *t) {
    uint64_t count = sc__pricing_size(t, 0);
    for (unsigned i = 2; i < t->dims; i++)
        count *= t->size[i];
    return count;
}

/* Products of the same sizes do the work: see docs/model/operators.md. */
static struct convolution convolution_of(const struct sc__pricing *p, bool backward) {
    const struct sc__capture_with *with = &p->call->with;
    struct convolution v = {.weight = sc__pricing_input(p, backward ? 2 : 1)};
    const struct sc__capture_tensor *seen = sc__pricing_input(p, backward ? 1 : 0);
    const struct sc__capture_tensor *made =
        backward ? sc__pricing_input(p, 0) : sc__pricing_output(p, 0);
    /* a transposed one is the input gradient of a plain one */
    v.image = with->transposed ? made : seen;
    v.map = with->transposed ? seen : made;
    v.windows = places(v.map);
    v.pixels = places(v.image);
    v.taps = 1;
    for (unsigned i = 2; i < v.weight->dims; i++)
        v.taps *= v.weight->size[i];
    v.from = sc__pricing_size(v.image, 1) / with->groups;
    v.to = sc__pricing_size(v.map, 1) / with->groups;
    /* over one dimension they are put in order first */
    v.last = v.image->channels_last && v.image->dims > 3;
    return v;
}

enum convolution_part { PART_FORWARD, PART_INPUT, PART_WEIGHT };

/* Channels that the library's main kernels need side by side. */
enum { FEW_CHANNELS = 8 };

/* From here on odd groups get a kernel that goes weight by weight. */
enum { MANY_TAPS = 128 };

static double convolution_flop(const struct sc__pricing *p, const struct convolution *v) {
    return 2.0 * (double)v->windows * (double)v->taps * (double)v->from * (double)v->to *
           p->call->with.groups;
}

/* Each channel by itself: a share of the fp32 peak, beside reading and writing. */
static struct sc__kernel depthwise_convolution(const struct sc__pricing *p,
                                               const struct convolution *v,
                                               enum convolution_part part) {
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    double share = p->operators->depthwise[v->last][part];
    /* strides spare nothing on the way back */
    double spared = part == PART_INPUT ? (double)v->pixels / (double)v->windows : 1;
    struct sc__kernel kernel =
        sc__elementwise(p->model, p->call->op, v->image->bytes + v->map->bytes);
    kernel.flop = convolution_flop(p, v);
    if (gpu->peak[SC__FP32] > 0)
        kernel.us += spared * kernel.flop / (share * gpu->peak[SC__FP32] * 1e6);
    return kernel;
}

/* Too few channels for the main kernels: by places written and read, and FLOPs. */
static struct sc__kernel few_channels_convolution(const struct sc__pricing *p,
                                                  const struct convolution *v,
                                                  enum convolution_part part) {
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    const double *each = p->operators->few_channels[part == PART_WEIGHT];
    struct sc__kernel kernel = sc__elementwise(p->model, p->call->op, 0);
    kernel.flop = convolution_flop(p, v);
    double us = (each[0] * v->map->elements + each[2] * v->image->elements) * 1e-6 +
                each[1] * kernel.flop * 1e-9;
    kernel.us += us * p->operators->reference_bandwidth / gpu->elementwise_bw;
    kernel.bytes = v->image->bytes + v->map->bytes;
    return kernel;
}

static bool is_power_of_two(uint64_t n) {
    return n && !(n & (n - 1));
}

/* ps a place. Odd sizes have slower kernels, and with channels side by side yet slower
 * ones; strides double what narrow ones take. */
static double grouped_ps(const struct sc__pricing *p,
                         const struct convolution *v,
                         enum convolution_part part) {
    const double *ps = p->operators->grouped_ps;
    bool back = part != PART_FORWARD;
    bool narrow = v->from < 48;
    bool odd = !is_power_of_two(v->from) || !is_power_of_two(v->to);
    if (!odd && !(back && v->from < FEW_CHANNELS))
        return ps[back];
    if (v->last)
        return ps[4];
    return ps[2 + back] * (!back && narrow && p->call->with.stride > 1 ? 2 : 1);
}

/* Groups of channels over pictures: the library computes them as dense blocks of 64
 * channels, so that it is the places that count, not how many groups there are. A stride
 * spares nothing on the way back. */
static struct sc__kernel grouped_convolution(const struct sc__pricing *p,
                                             const struct convolution *v,
                                             enum convolution_part part) {
    const struct sc__operators *o = p->operators;
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    uint64_t dense = is_power_of_two(v->from) ? 64 : 128;
    uint64_t widest = v->from > v->to ? v->from : v->to;
    double blocks = fmax(1, (double)widest / (double)dense) * fmax(1, (double)v->taps / 9);
    const struct sc__capture_tensor *over = part == PART_INPUT ? v->image : v->map;
    struct sc__kernel kernel = sc__elementwise(p->model, p->call->op, 0);
    kernel.bytes = v->image->bytes + v->map->bytes;
    kernel.flop = convolution_flop(p, v);
    double us = over->elements * grouped_ps(p, v, part) * blocks * 1e-6;
    if (sc__pricing_type(v->weight) == SC__FP32)
        us *= o->convolution_tf32;
    kernel.us += o->grouped_us + us * o->reference_bandwidth / gpu->elementwise_bw;
    return kernel;
}

/* Windows side by side without an overlap; groups; rows of pixels that are no multiple
 * of 8 elements keep a window of one tap from the main kernels. */
static double convolution_factor(const struct sc__pricing *p,
                                 const struct convolution *v,
                                 enum convolution_part part) {
    const struct sc__operators *o = p->operators;
    uint64_t images = sc__pricing_size(v->map, 0);
    uint64_t row = images ? v->windows / images : 0;
    bool last = v->last;
    bool patches =
        v->taps > 1 && p->call->with.stride > 1 && v->windows * v->taps == v->pixels;
    double factor = 1;
    if (patches)
        factor *= o->convolution_patches[part];
    if (p->call->with.groups > 1 && !is_power_of_two(v->from))
        factor *= o->convolution_groups[part];
    if (v->taps == 1 && p->call->with.stride == 1 && !last && row % 8)
        factor *= o->convolution_unaligned;
    return factor;
}

/* A product reads its windows tap by tap; a convolution reads the image once, and its
 * tiles of 128 rows or columns are full or not. */
static void read_image_once(const struct sc__pricing *p,
                            const struct convolution *v,
                            struct sc__kernel *kernel,
                            uint64_t least) {
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    double own = v->image->bytes + v->map->bytes + v->weight->bytes;
    double more =
        (double)v->taps * v->image->bytes * (double)v->windows / (double)v->pixels;
    double filled = least < 128 ? (double)least / 128 : 1;
    double peak = gpu->peak[SC__BF16] > 0 ? gpu->peak[SC__BF16] : gpu->peak[SC__FP16];
    if (v->taps == 1 || peak <= 0 || more <= v->image->bytes)
        return;
    double saved = (more - v->image->bytes) / gpu->elementwise_bw;
    double limit =
        convolution_flop(p, v) / (p->operators->convolution_share * filled * peak * 1e6);
    limit = fmax(limit, own / gpu->elementwise_bw);
    kernel->us = fmin(kernel->us, fmax(kernel->us - saved, limit));
}

/* The product of the same size; fp32 runs as tf32. Input gradient: a window over the
 * map, of which a stride leaves one in so many taps. */
static struct sc__kernel product_convolution(const struct sc__pricing *p,
                                             const struct convolution *v,
                                             enum convolution_part part) {
    uint32_t groups = p->call->with.groups;
    enum sc__dtype t = sc__pricing_type(v->weight);
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
    /* its kernels fill up odd sizes */
    m = (m + 7) & ~(uint64_t)7;
    n = (n + 7) & ~(uint64_t)7;
    k = (k + 7) & ~(uint64_t)7;
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    bool tf32 = t == SC__FP32 && gpu->peak[SC__BF16] > 0;
    if (tf32)
        t = SC__BF16;
    struct sc__kernel kernel = groups == 1
                                   ? sc__gemm(p->model, NULL, t, m, n, k)
                                   : sc__gemm_batched(p->model, NULL, t, groups, m, n, k);
    if (groups == 1)
        read_image_once(p, v, &kernel, m < n ? m : n);
    kernel.flop = convolution_flop(p, v); /* without what fills sizes up */
    kernel.us *= convolution_factor(p, v, part);
    if (tf32)
        kernel.us *= p->operators->convolution_tf32;
    if (part == PART_FORWARD && groups > 1 && v->taps >= MANY_TAPS &&
        !is_power_of_two(v->from))
        kernel.us += p->operators->convolution_long_ns * v->weight->elements * 1e-3;
    return kernel;
}

static struct sc__kernel convolution_kernel(const struct sc__pricing *p,
                                            const struct convolution *v,
                                            enum convolution_part part) {
    struct sc__kernel kernel;
    if (v->from == 1 && v->to == 1 && p->call->with.groups > 1)
        kernel = depthwise_convolution(p, v, part);
    else if (v->from < FEW_CHANNELS && p->call->with.groups == 1)
        kernel = few_channels_convolution(p, v, part);
    else if (p->call->with.groups > 1 && v->image->dims > 3)
        kernel = grouped_convolution(p, v, part);
    else
        kernel = product_convolution(p, v, part);
    kernel.work = SC__WORK_GEMM;
    return kernel;
}

/* Sequences that do not lie in order are copied first. */
static void order_sequences(struct sc__pricing *p, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const struct sc__capture_tensor *t = sc__pricing_input(p, i);
        if (t->dims == 3 && !t->dense)
            sc__pricing_and(p, sc__pricing_copy(p, t));
    }
}

/* Tensor cores want channels side by side; else in- and output are turned. */
static void turn_layout(struct sc__pricing *p, const struct convolution *v, bool backward) {
    bool grouped = p->call->with.groups > 1 && v->from > 1 && v->image->dims > 3;
    bool windows = v->taps > 1 || p->call->with.stride > 1;
    bool turned = windows && !v->last && (v->from >= FEW_CHANNELS || grouped);
    double bytes = v->image->bytes + v->map->bytes;
    if (!turned)
        return;
    sc__pricing_and(p,
                    sc__elementwise(p->model,
                                    p->call->op,
                                    p->operators->convolution_copy[backward] * bytes));
    /* input, weight and output each by a kernel */
    p->price.kernels += 2;
    p->price.scratch = bytes;
}

static void forward_convolution(struct sc__pricing *p, const struct convolution *v) {
    bool transposed = p->call->with.transposed;
    sc__pricing_kernel(p, convolution_kernel(p, v, transposed ? PART_INPUT : PART_FORWARD));
    turn_layout(p, v, false);
    order_sequences(p, 1);
    /* a bias is added by a kernel of its own */
    if (p->call->in.count > 2)
        sc__pricing_and(p, sc__pricing_add_bias(p, sc__pricing_output(p, 0)));
}

static void backward_convolution(struct sc__pricing *p, const struct convolution *v) {
    const struct sc__capture_with *with = &p->call->with;
    enum convolution_part input_part = with->transposed ? PART_FORWARD : PART_INPUT;
    p->price.known = true;
    p->price.kernel = (struct sc__kernel){.name = p->call->op,
                                          .kind = SC__KERNEL_GEMM,
                                          .work = SC__WORK_GEMM};
    if (with->input_gradient)
        sc__pricing_and(p, convolution_kernel(p, v, input_part));
    if (with->weight_gradient)
        sc__pricing_and(p, convolution_kernel(p, v, PART_WEIGHT));
    turn_layout(p, v, true);
    order_sequences(p, 2);
    if (with->bias_gradient)
        sc__pricing_and(p, sc__pricing_sum_channels(p, sc__pricing_input(p, 0)));
}

bool sc__pricing_convolution(struct sc__pricing *p) {
    bool forward = !strcmp(p->call->op, "aten.convolution");
    if (!forward && strcmp(p->call->op, "aten.convolution_backward"))
        return false;
    struct convolution v = convolution_of(p, !forward);
    p->price.host = SC__HOST_CONVOLUTION;
    if (!v.windows || !v.pixels || !v.from || !v.to)
        sc__pricing_move(p, SC__WORK_GEMM, 0, 1); /* an empty batch */
    else if (forward)
        forward_convolution(p, &v);
    else
        backward_convolution(p, &v);
    return true;
}
