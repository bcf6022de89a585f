/* capture norm: layer, RMS, group and batch norms. The first two go to the kernel model,
 * but where PyTorch has another kernel than for the wide rows of language models; the
 * others by their elements: some give a channel, or a group, to one block of threads. */
#include "frontend/capture/capture_pricing.h"

#include <math.h>
#include <string.h>

static struct sc__kernel named_norm(const struct sc__pricing *p, struct sc__kernel kernel) {
    kernel.name = p->call->op;
    kernel.work = SC__WORK_NORM;
    return kernel;
}

/* Inputs that do not lie in order are copied first. */
static void copy_into_order(struct sc__pricing *p, uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count; i++)
        if (!sc__pricing_input(p, i)->dense && sc__pricing_input(p, i)->dims > 1)
            sc__pricing_and(p, sc__pricing_copy(p, sc__pricing_input(p, i)));
}

struct rows {
    uint64_t count;
    uint64_t columns;
};

static struct rows rows_of(const struct sc__pricing *p, uint32_t x, uint32_t weight) {
    const struct sc__capture_tensor *t = sc__pricing_input(p, x);
    const struct sc__capture_tensor *w = sc__pricing_input(p, weight);
    uint64_t columns = sc__pricing_size(t, t->dims ? t->dims - 1u : 0);
    if (w->dims == 1)
        columns = sc__pricing_size(w, 0);
    return (struct rows){columns ? (uint64_t)(t->elements / (double)columns) : 0, columns};
}

static void norm_forward(struct sc__pricing *p, enum sc__memory_op op) {
    struct rows r = rows_of(p, 0, 1);
    enum sc__dtype t = sc__pricing_type(sc__pricing_input(p, 0));
    sc__pricing_kernel(p, sc__memory_op(p->model, op, t, r.count, r.columns));
    copy_into_order(p, 0, 1);
}

/* The gradient of the input alone: a row takes its time however short it is. */
static struct sc__kernel input_gradient(const struct sc__pricing *p, struct rows r) {
    double bytes = sc__pricing_input(p, 0)->bytes + sc__pricing_input(p, 1)->bytes +
                   sc__pricing_output(p, 0)->bytes;
    bool wide = sc__pricing_type(sc__pricing_input(p, 1)) == SC__FP32;
    return named_norm(p,
                      sc__pricing_elements(p,
                                           p->operators->norm_traffic[wide] * bytes,
                                           (double)r.count,
                                           p->operators->norm_row_ps));
}

/* Many short rows: PyTorch sums the gradients of the weights by parts, rows / 64 Ki and
 * columns / 32 against the multiprocessors decide. */
static bool sums_by_parts(const struct sc__pricing *p, struct rows r) {
    double processors = sc__kernel_model_gpu(p->model)->sms;
    return r.count > 65536 && (double)r.columns / 32 < processors / 2;
}

static void norm_backward(struct sc__pricing *p, enum sc__memory_op op, uint32_t weight) {
    struct rows r = rows_of(p, 1, weight);
    enum sc__dtype t = sc__pricing_type(sc__pricing_input(p, 1));
    bool weights = sc__pricing_input(p, weight)->dims == 1;
    struct sc__kernel kernel = weights && !sums_by_parts(p, r)
                                   ? sc__memory_op(p->model, op, t, r.count, r.columns)
                                   : input_gradient(p, r);
    /* fp32 moves twice the bytes, but it is the rows that are waited for */
    if (weights && !sums_by_parts(p, r) && t == SC__FP32)
        kernel.us *= p->operators->norm_wide;
    sc__pricing_kernel(p, kernel);
    if (weights && sums_by_parts(p, r)) {
        sc__pricing_and(p,
                        sc__pricing_elements(p,
                                             0,
                                             sc__pricing_input(p, 1)->elements,
                                             p->operators->norm_parts_ps));
        p->price.kernel.us += p->operators->norm_parts_us;
    }
    copy_into_order(p, 0, 2);
}

/* ---- channels and groups ---- */

/* ps an element of all, and of those that one block of threads goes through alone. */
static void
by_blocks(struct sc__pricing *p, const double ps[2], double blocks, double kernels) {
    const struct sc__capture_tensor *x = sc__pricing_input(p, 0);
    double alone = blocks > 0 ? x->elements / blocks : 0;
    double us = fmax(ps[0] * x->elements, ps[1] * alone) * 1e-6;
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    struct sc__kernel kernel = sc__elementwise(p->model, p->call->op, 0);
    kernel.bytes = sc__pricing_bytes(p, p->call->in) + sc__pricing_bytes(p, p->call->out);
    kernel.us += us * p->operators->reference_bandwidth / gpu->elementwise_bw;
    kernel.us += (kernels - 1) * gpu->elementwise_t0;
    sc__pricing_kernel(p, named_norm(p, kernel));
    p->price.kernels = kernels;
}

/* PyTorch's own kernels give a channel to one block of threads, which goes through its
 * pictures one by one: the smaller they are, the more it waits. As many blocks as there is
 * room for share the memory. Behind them a kernel over all elements. */
static void own_batch_norm(struct sc__pricing *p, bool backward) {
    const struct sc__capture_tensor *x = sc__pricing_input(p, 0);
    const struct sc__operators *o = p->operators;
    const struct sc__gpu *gpu = sc__kernel_model_gpu(p->model);
    const double *alone = o->own_norm_channel[backward];
    const double *all = o->own_norm[backward];
    double channels = fmax(1, (double)sc__pricing_size(x, 1));
    double pictures = fmax(1, (double)sc__pricing_size(x, 0));
    double places = fmax(1, x->elements / channels / pictures);
    double one = (alone[0] + alone[1] / sqrt(places)) * 1e-6 * x->elements / channels;
    double shared = (all[0] + fmin(all[2], all[1] / places)) * 1e-6 * x->elements;
    double passes = backward ? 3 : 2;
    struct sc__kernel kernel = sc__elementwise(p->model, p->call->op, passes * x->bytes);
    kernel.us += cbrt(one * one * one + shared * shared * shared) * o->reference_bandwidth /
                 gpu->elementwise_bw;
    kernel.us += (passes - 1) * gpu->elementwise_t0;
    sc__pricing_kernel(p, named_norm(p, kernel));
    p->price.kernels = backward ? 1 : 3;
}

/* bf16 runs PyTorch's own kernels, other types cuDNN's. */
static void batch_norm(struct sc__pricing *p, bool backward) {
    const struct sc__capture_tensor *x = sc__pricing_input(p, 0);
    const struct sc__operators *o = p->operators;
    bool own = sc__pricing_type(x) == SC__BF16 || x->dims < 3;
    double channels = (double)sc__pricing_size(x, 1);
    if (x->channels_last || x->dims < 3) {
        double ps[2] = {o->batch_norm_last[own][backward], 0};
        by_blocks(p, ps, channels, 3);
        return;
    }
    if (own) {
        own_batch_norm(p, backward);
        return;
    }
    double ps[2] = {o->batch_norm[backward], o->batch_norm_channel[backward]};
    by_blocks(p, ps, channels, 1);
}

static void group_norm(struct sc__pricing *p, bool backward) {
    const struct sc__operators *o = p->operators;
    /* one mean for each group of each picture */
    double groups = sc__pricing_output(p, 1)->elements;
    if (backward)
        groups = sc__pricing_input(p, 2)->elements;
    double ps[2] = {o->group_norm[backward], backward ? 0 : o->group_norm_alone};
    by_blocks(p, ps, groups, backward ? 5 : 3);
    copy_into_order(p, 0, backward ? 2 : 1);
}

/* ---- by name ---- */

static bool is_one_of(const char *op, const char *const *names) {
    for (; *names; names++)
        if (!strcmp(op, *names))
            return true;
    return false;
}

static bool is_batch_norm(const char *op, bool backward) {
    static const char *const forward_names[] = {"aten.native_batch_norm",
                                                "aten._native_batch_norm_legit",
                                                "aten._native_batch_norm_legit_functional",
                                                "aten._batch_norm_with_update",
                                                "aten.cudnn_batch_norm",
                                                NULL};
    static const char *const backward_names[] = {"aten.native_batch_norm_backward",
                                                 "aten.batch_norm_backward",
                                                 "aten.cudnn_batch_norm_backward",
                                                 NULL};
    return is_one_of(op, backward ? backward_names : forward_names);
}

bool sc__pricing_norm(struct sc__pricing *p) {
    const char *op = p->call->op;
    if (!strcmp(op, "aten.native_layer_norm"))
        norm_forward(p, SC__MEM_LAYERNORM_F);
    else if (!strcmp(op, "aten.native_layer_norm_backward"))
        norm_backward(p, SC__MEM_LAYERNORM_B, 4);
    else if (!strcmp(op, "aten._fused_rms_norm"))
        norm_forward(p, SC__MEM_RMSNORM_F);
    else if (!strcmp(op, "aten._fused_rms_norm_backward"))
        norm_backward(p, SC__MEM_RMSNORM_B, 3);
    else if (is_batch_norm(op, false) || is_batch_norm(op, true))
        batch_norm(p, is_batch_norm(op, true));
    else if (!strcmp(op, "aten.native_group_norm"))
        group_norm(p, false);
    else if (!strcmp(op, "aten.native_group_norm_backward"))
        group_norm(p, true);
    else
        return false;
    p->price.host = is_batch_norm(op, false) || is_batch_norm(op, true)
                        ? SC__HOST_BATCH_NORM
                    : !strncmp(op, "aten.native_group_norm", 22) ? SC__HOST_GROUP_NORM
                                                                 : SC__HOST_LAYER_NORM;
    return true;
}
