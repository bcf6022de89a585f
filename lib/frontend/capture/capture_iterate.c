/* capture iterate: kernels of PyTorch that go through all elements of their tensors:
 * elementwise operators, copies, reductions. Where all tensors lie alike, the bytes
 * decide. Else an index is computed for each element, and where neighbours of the output
 * are far apart in an input, whole sectors are read for one element each. */
#include "frontend/capture/capture_pricing.h"

#include <math.h>
#include <string.h>

enum { MOST_OPERANDS = 5 };

/* Dimensions that are walked through, the fastest first. */
struct walk {
    const struct sc__capture_tensor *operand[MOST_OPERANDS]; /* the output first */
    unsigned operands;
    unsigned dims;
    uint64_t size[SC__CAPTURE_MOST_DIMS];
    uint64_t stride[SC__CAPTURE_MOST_DIMS][MOST_OPERANDS];
};

/* Stride of an operand along a dimension of the output: 0 where it is repeated. */
static uint64_t
stride_along(const struct sc__capture_tensor *t, unsigned out_dims, unsigned dim) {
    unsigned missing = out_dims > t->dims ? out_dims - t->dims : 0;
    if (dim < missing || t->size[dim - missing] == 1)
        return 0;
    return t->stride[dim - missing];
}

static int faster(const struct walk *w, const uint64_t *a, const uint64_t *b) {
    for (unsigned i = 0; i < w->operands; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return 0;
}

static void insert_dim(struct walk *w, uint64_t size, const uint64_t *stride) {
    unsigned at = w->dims;
    while (at > 0 && faster(w, stride, w->stride[at - 1])) {
        w->size[at] = w->size[at - 1];
        memcpy(w->stride[at], w->stride[at - 1], sizeof w->stride[at]);
        at--;
    }
    w->size[at] = size;
    memcpy(w->stride[at], stride, sizeof w->stride[at]);
    w->dims++;
}

/* Neighbouring dimensions that every operand walks through in one go are one. */
static void join_dims(struct walk *w) {
    unsigned kept = 0;
    for (unsigned d = 1; d < w->dims; d++) {
        bool one = true;
        for (unsigned i = 0; i < w->operands; i++)
            one = one && w->stride[d][i] == w->stride[kept][i] * w->size[kept];
        if (one) {
            w->size[kept] *= w->size[d];
            continue;
        }
        kept++;
        w->size[kept] = w->size[d];
        memcpy(w->stride[kept], w->stride[d], sizeof w->stride[d]);
    }
    w->dims = w->dims ? kept + 1 : 0;
}

static void lay_out(struct walk *w) {
    const struct sc__capture_tensor *out = w->operand[0];
    for (unsigned d = 0; d < out->dims; d++) {
        uint64_t stride[MOST_OPERANDS] = {0};
        for (unsigned i = 0; i < w->operands; i++)
            stride[i] = stride_along(w->operand[i], out->dims, d);
        if (out->size[d] > 1)
            insert_dim(w, out->size[d], stride);
    }
    join_dims(w);
}

static double element_bytes(const struct sc__capture_tensor *t) {
    return t->elements > 0 ? t->bytes / t->elements : 0;
}

static double all_elements(const struct sc__capture_tensor *t) {
    double elements = 1;
    for (unsigned d = 0; d < t->dims; d++)
        elements *= (double)t->size[d];
    return elements;
}

static bool is_float(const struct sc__capture_tensor *t) {
    return t->type <= SC__CAPTURE_FP8;
}

/* Types that a kernel has to turn into each other, element by element. Narrowing copies
 * have kernels of their own. */
static bool converts(const struct walk *w) {
    const struct sc__capture_tensor *out = w->operand[0];
    for (unsigned i = 1; i < w->operands; i++) {
        const struct sc__capture_tensor *in = w->operand[i];
        bool narrows = w->operands == 2 && element_bytes(in) > element_bytes(out);
        if (is_float(in) && is_float(out) && in->type != out->type && !narrows)
            return true;
    }
    return false;
}

static bool lies_alike(const struct walk *w) {
    bool alike = w->dims <= 1;
    for (unsigned i = 0; w->dims && i < w->operands; i++)
        alike = alike && w->stride[0][i] == 1;
    return alike;
}

/* Bytes more than its own that an input brings along: neighbours of the output lie in
 * sectors apart. Small blocks stay in the cache until all of a sector is used. */
static double
sector_bytes(const struct sc__operators *o, const struct walk *w, unsigned i) {
    uint64_t along = w->stride[0][i];
    double block = (double)w->size[0] * element_bytes(w->operand[i]);
    if (along <= 1)
        return 0;
    for (unsigned d = 1; d < w->dims; d++)
        if (w->stride[d][i] == 1)
            block *= (double)w->size[d];
    return o->sector_bytes * fmin(1, block / o->cached_block);
}

static struct sc__kernel
walk_kernel(const struct sc__pricing *p, const struct walk *w, double bytes) {
    const struct sc__operators *o = p->operators;
    double elements = all_elements(w->operand[0]);
    double ps = o->index_ps[0] + o->index_ps[1] * w->dims +
                o->index_ps[2] * (w->operands > 2 ? w->operands - 2 : 0);
    bool turned = converts(w);
    if (lies_alike(w) && !turned)
        return sc__pricing_elements(p, bytes, 0, 0);
    /* what is repeated stays in the cache */
    for (unsigned i = 1; i < w->operands; i++)
        bytes += w->operand[i]->elements * sector_bytes(o, w, i);
    return sc__pricing_elements(p, bytes, elements, turned ? ps + o->convert_ps : ps);
}

static struct walk walk_of(const struct sc__pricing *p) {
    /* what is copied into comes first */
    bool into = !strcmp(p->call->op, "aten.copy_");
    struct walk w = {.operand = {into ? sc__pricing_input(p, 0) : sc__pricing_output(p, 0)},
                     .operands = 1};
    for (uint32_t i = into; i < p->call->in.count && w.operands < MOST_OPERANDS; i++)
        w.operand[w.operands++] = sc__pricing_input(p, i);
    for (unsigned i = 1; i < w.operands; i++)
        if (w.operand[i]->dims > w.operand[0]->dims)
            w.operand[i] = w.operand[0];
    lay_out(&w);
    return w;
}

void sc__pricing_iterate(struct sc__pricing *p, const struct sc__operator *o) {
    struct walk w = walk_of(p);
    double in = sc__pricing_bytes(p, p->call->in);
    bool into = !strcmp(p->call->op, "aten.copy_");
    double bytes = into ? in : in + sc__pricing_bytes(p, p->call->out);
    struct sc__kernel kernel = walk_kernel(p, &w, o->traffic * bytes);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    p->price.kernels = o->kernels;
}

/* A copy of a tensor whose elements do not lie in order, in order. */
struct sc__kernel sc__pricing_copy(const struct sc__pricing *p,
                                   const struct sc__capture_tensor *t) {
    struct sc__capture_tensor out = *t;
    uint64_t stride = 1;
    for (unsigned d = t->dims; d-- > 0;) {
        out.stride[d] = stride;
        stride *= t->size[d] ? t->size[d] : 1;
    }
    struct walk w = {.operand = {&out, t}, .operands = 2};
    lay_out(&w);
    return walk_kernel(p, &w, t->bytes + all_elements(t) * element_bytes(t));
}

/* One number a channel, added to each of its places. */
struct sc__kernel sc__pricing_add_bias(const struct sc__pricing *p,
                                       const struct sc__capture_tensor *t) {
    const struct sc__operators *o = p->operators;
    double dims = t->channels_last ? 2 : 3;
    return sc__pricing_elements(p,
                                2 * t->bytes,
                                t->elements,
                                o->index_ps[0] + o->index_ps[1] * dims + o->index_ps[2]);
}

/* ---- reductions ---- */

enum reduction { REDUCE_ROWS, REDUCE_COLUMNS, REDUCE_BETWEEN };

/* Which dimensions go: the last ones, the first ones, or some on both sides. A size of
 * the output that stands at its place in the input was kept. */
static enum reduction reduction_of(const struct sc__capture_tensor *in,
                                   const struct sc__capture_tensor *out) {
    unsigned same = 0;
    unsigned kept = out->dims;
    while (kept > 0 && out->size[kept - 1] == 1)
        kept--;
    while (same < kept && same < in->dims && out->size[same] == in->size[same])
        same++;
    if (!in->dense)
        return in->channels_last && kept && out->size[kept - 1] == in->size[1]
                   ? REDUCE_COLUMNS
                   : REDUCE_BETWEEN;
    if (same == kept)
        return REDUCE_ROWS;
    bool last = out->size[kept - 1] == in->size[in->dims - 1] &&
                (out->dims < in->dims || kept == in->dims);
    return last ? REDUCE_COLUMNS : REDUCE_BETWEEN;
}

/* Sums down columns: the fewer of them, the fewer threads stand side by side; a long row
 * of them is read in vectors. */
static double columns_ps(const struct sc__operators *o, double row, double columns) {
    if (row >= o->columns_wide)
        return o->columns_ps[2];
    return fmax(o->columns_ps[1], o->columns_ps[0] * pow(fmax(1, columns), -0.32));
}

static struct sc__kernel reduction_kernel(const struct sc__pricing *p,
                                          enum reduction kind,
                                          double bytes,
                                          double elements,
                                          double row,
                                          double columns) {
    const struct sc__operators *o = p->operators;
    double ps = kind == REDUCE_ROWS      ? o->rows_ps
                : kind == REDUCE_COLUMNS ? columns_ps(o, row, columns)
                                         : o->between_ps;
    return sc__pricing_elements(p, bytes, elements, ps);
}

void sc__pricing_reduce(struct sc__pricing *p, const struct sc__operator *o) {
    const struct sc__capture_tensor *in = sc__pricing_input(p, 0);
    const struct sc__capture_tensor *out = sc__pricing_output(p, 0);
    enum reduction kind = reduction_of(in, out);
    double bytes = o->traffic * (in->bytes + sc__pricing_bytes(p, p->call->out));
    struct sc__kernel kernel =
        reduction_kernel(p,
                         kind,
                         bytes,
                         in->elements,
                         (double)sc__pricing_size(in, in->dims ? in->dims - 1u : 0),
                         out->elements);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    /* columns are summed in two goes */
    p->price.kernels = kind == REDUCE_ROWS ? 1 : 2;
}

struct sc__kernel sc__pricing_sum_channels(const struct sc__pricing *p,
                                           const struct sc__capture_tensor *t) {
    return reduction_kernel(p,
                            t->channels_last ? REDUCE_COLUMNS : REDUCE_BETWEEN,
                            t->bytes,
                            t->elements,
                            (double)sc__pricing_size(t, 1),
                            (double)sc__pricing_size(t, 1));
}
