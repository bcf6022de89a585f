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
    /* a copy, which is then worked on in place */
    if (o->kernels > 1)
        sc__pricing_and(p, sc__pricing_copy(p, sc__pricing_input(p, 0)));
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

static uint64_t power_below(uint64_t n) {
    uint64_t power = 1;
    while (power <= n / 2)
        power *= 2;
    return power;
}

static uint64_t parts_of(uint64_t n, uint64_t size) {
    return (n + size - 1) / size;
}

/* Sums down columns as PyTorch shares them out (ATen's Reduce.cuh): threads stand over
 * vectors of columns, those above each other share the rows, and where a thread would
 * still have many, blocks do. What is counted is how often one waits for memory: for
 * four rows at a time, then for what the blocks left. */
struct column_sums {
    double rounds;
    bool split; /* over blocks */
};

enum { SUM_THREADS = 512, SUM_UNROLLED = 4, LEAST_ROWS = 16, MOST_ROWS = 256 };

static struct column_sums
share_columns(uint64_t processors, uint64_t rows, uint64_t columns) {
    uint64_t vector = columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1;
    uint64_t threads = SUM_THREADS / vector;
    uint64_t across = columns / vector;
    uint64_t width = power_below(across) < 32 ? power_below(across) : 32;
    uint64_t height = threads / width;
    if (power_below(rows) < height)
        height = power_below(rows);
    if (rows < height * LEAST_ROWS && rows < MOST_ROWS)
        return (struct column_sums){(double)rows / SUM_UNROLLED, false};
    uint64_t each = parts_of(rows, height);
    uint64_t wanted = processors * (2048 / (width * height));
    uint64_t blocks = parts_of(across, width);
    if (each < MOST_ROWS || blocks > wanted)
        return (struct column_sums){(double)each / SUM_UNROLLED, false};
    uint64_t shares = parts_of(wanted, blocks);
    if (parts_of(each, LEAST_ROWS) < shares)
        shares = parts_of(each, LEAST_ROWS);
    if (parts_of(each, MOST_ROWS) > shares)
        shares = parts_of(each, MOST_ROWS);
    double left = shares > 1 ? (double)shares / (double)height : 0;
    return (struct column_sums){(double)parts_of(each, shares) / SUM_UNROLLED + left,
                                shares > 1};
}

static struct sc__kernel
sum_columns(const struct sc__pricing *p, double bytes, double elements, double columns) {
    const struct sc__operators *o = p->operators;
    double processors = sc__kernel_model_gpu(p->model)->sms;
    struct sc__kernel kernel =
        sc__elementwise(p->model, p->call->op, o->columns_traffic * bytes);
    if (columns < 1 || elements < columns)
        return kernel;
    struct column_sums share = share_columns((uint64_t)fmax(1, processors),
                                             (uint64_t)(elements / columns),
                                             (uint64_t)columns);
    kernel.us += o->columns_us[0] + o->columns_us[1] * share.rounds;
    if (share.split)
        kernel.us += o->columns_us[2];
    return kernel;
}

/* Sums along rows: a warp for each, or for two where they are short. */
static struct sc__kernel
sum_rows(const struct sc__pricing *p, double bytes, double elements, double rows) {
    const struct sc__operators *o = p->operators;
    double length = rows > 0 ? elements / rows : 0;
    double share = length < 32 ? (double)power_below((uint64_t)fmax(1, length)) / 32 : 1;
    double ps = hypot(o->rows_ps * elements, o->row_ps * share * rows);
    return sc__pricing_elements(p, bytes, 1, ps);
}

static struct sc__kernel reduction_kernel(const struct sc__pricing *p,
                                          enum reduction kind,
                                          double bytes,
                                          double elements,
                                          double kept) {
    const struct sc__operators *o = p->operators;
    if (kind == REDUCE_COLUMNS)
        return sum_columns(p, bytes, elements, kept);
    if (kind == REDUCE_ROWS)
        return sum_rows(p, o->rows_traffic * bytes, elements, kept);
    return sc__pricing_elements(p, o->rows_traffic * bytes, elements, o->between_ps);
}

void sc__pricing_reduce(struct sc__pricing *p, const struct sc__operator *o) {
    const struct sc__capture_tensor *in = sc__pricing_input(p, 0);
    const struct sc__capture_tensor *out = sc__pricing_output(p, 0);
    enum reduction kind = reduction_of(in, out);
    double bytes = o->traffic * (in->bytes + sc__pricing_bytes(p, p->call->out));
    struct sc__kernel kernel =
        reduction_kernel(p, kind, bytes, in->elements, out->elements);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
}

struct sc__kernel sc__pricing_sum_channels(const struct sc__pricing *p,
                                           const struct sc__capture_tensor *t) {
    return reduction_kernel(p,
                            t->channels_last ? REDUCE_COLUMNS : REDUCE_BETWEEN,
                            t->bytes,
                            t->elements,
                            (double)sc__pricing_size(t, 1));
}

/* ---- padding ---- */

/* Bytes of `from` that so many elements lie in: whole rows, or each in a sector of its own
 * (where an index has an entry for each, or names places of the fastest dimension). */
static double picked_bytes(const struct sc__pricing *p,
                           const struct sc__capture_tensor *from,
                           const struct sc__capture_tensor *picked) {
    double each = from->elements > 0 ? from->bytes / from->elements : 0;
    bool alone = sc__pricing_input(p, 1)->elements >= picked->elements || !from->dims ||
                 !picked->dims ||
                 from->size[from->dims - 1] != picked->size[picked->dims - 1];
    if (alone)
        each += p->operators->sector_bytes;
    return fmin(from->bytes, picked->elements * each);
}

double sc__operator_reads(const struct sc__capture *c,
                          const struct sc__operators *operators,
                          const struct sc__capture_call *call) {
    struct sc__pricing p = {.c = c, .operators = operators, .call = call};
    const struct sc__operator *o = sc__operator_named(operators, call->op);
    const struct sc__capture_tensor *from = sc__pricing_input(&p, 0);
    if (!o || o->way != SC__WAY_PICK)
        return from->bytes;
    return picked_bytes(&p, from, sc__pricing_output(&p, 0));
}

/* Whole rows by one index, at multiples of 16 bytes, as index, index_select and gather of
 * an index that is the same along a row take them: a block of threads for each row. What is
 * read again comes from the cache in part. */
static bool picks_rows(const struct sc__pricing *p) {
    const struct sc__capture_tensor *from = sc__pricing_input(p, 0);
    const struct sc__capture_tensor *index = sc__pricing_input(p, 1);
    const struct sc__capture_tensor *out = sc__pricing_output(p, 0);
    bool gathers = !strcmp(p->call->op, "aten.gather");
    if (p->call->in.count != 2 || from->dims != 2 || out->dims != 2 || !from->dense)
        return false;
    bool rows = gathers ? index->dims == 2 && !index->dense && index->stride[1] == 0
                        : index->dims == 1;
    double row = (double)from->size[1] * from->bytes / fmax(1, from->elements);
    return rows && out->size[1] == from->size[1] && index->size[0] == out->size[0] &&
           row > 0 && fmod(row, 16) == 0;
}

static void pick_rows(struct sc__pricing *p, const struct sc__operator *o) {
    const struct sc__capture_tensor *from = sc__pricing_input(p, 0);
    const struct sc__capture_tensor *out = sc__pricing_output(p, 0);
    double rows = (double)out->size[0];
    double read =
        fmax(fmin(from->bytes, out->bytes), p->operators->picked_again * out->bytes);
    struct sc__kernel kernel =
        sc__elementwise(p->model, p->call->op, read + out->bytes + 8 * rows);
    struct sc__kernel blocks =
        sc__pricing_elements(p, 8 * rows, rows, p->operators->picked_row_ps);
    kernel.us = fmax(kernel.us, blocks.us);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
}

/* Rows added where an index says: one of their own, or one that is the same along a row. */
static bool adds_rows(const struct sc__pricing *p, bool *scatters) {
    const struct sc__capture_tensor *index = sc__pricing_input(p, 1);
    *scatters = !strcmp(p->call->op, "aten.scatter_add_");
    if (p->call->in.count != 3)
        return false;
    if (*scatters)
        return index->dims == 2 && !index->dense && index->stride[1] == 0;
    return !strncmp(p->call->op, "aten.index_add", 14) && index->dims == 1;
}

static void add_rows(struct sc__pricing *p, const struct sc__operator *o, bool scatters) {
    const struct sc__capture_tensor *table = sc__pricing_input(p, 0);
    const struct sc__capture_tensor *added = sc__pricing_input(p, 2);
    struct sc__kernel kernel = sc__pricing_elements(p,
                                                    added->bytes,
                                                    added->elements,
                                                    p->operators->added_rows[scatters]);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    if (!strcmp(p->call->op, "aten.index_add")) /* into a copy */
        sc__pricing_and(p, sc__elementwise(p->model, p->call->op, 2 * table->bytes));
}

void sc__pricing_pick(struct sc__pricing *p, const struct sc__operator *o) {
    bool put = o->way == SC__WAY_PUT;
    bool scatters;
    if (put && adds_rows(p, &scatters)) {
        add_rows(p, o, scatters);
        return;
    }
    if (!put && picks_rows(p)) {
        pick_rows(p, o);
        return;
    }
    const struct sc__capture_tensor *from = sc__pricing_input(p, 0);
    /* a number may be put in place of a tensor */
    const struct sc__capture_tensor *picked =
        put ? sc__pricing_input(p, p->call->in.count > 2 ? 2 : 1)
            : sc__pricing_output(p, 0);
    double touched = picked_bytes(p, from, picked);
    double bytes = sc__pricing_bytes(p, p->call->in) - from->bytes + touched;
    bytes += put ? touched : sc__pricing_bytes(p, p->call->out);
    sc__pricing_move(p, o->work, o->traffic * bytes, o->kernels);
    if (!from->dense && from->dims > 1 && from->bytes > 0)
        p->price.kernel.us += sc__pricing_copy(p, from).us * touched / from->bytes;
}

/* The output is filled, then what was there is copied into it; where nothing grows, what
 * is left is copied alone. */
void sc__pricing_pad(struct sc__pricing *p, const struct sc__operator *o) {
    const struct sc__capture_tensor *in = sc__pricing_input(p, 0);
    const struct sc__capture_tensor *out = sc__pricing_output(p, 0);
    struct sc__capture_tensor from = *in;
    struct sc__capture_tensor to = *out;
    bool grows = false;
    struct sc__kernel kernel;
    if (in->dims != out->dims) {
        /* one of several, which the output has side by side */
        kernel = sc__pricing_copy(p, in);
        kernel.work = o->work;
        sc__pricing_kernel(p, kernel);
        sc__pricing_and(p, sc__elementwise(p->model, p->call->op, out->bytes));
        return;
    }
    for (unsigned d = 0; d < in->dims; d++) {
        grows = grows || out->size[d] > in->size[d];
        from.size[d] = to.size[d] = in->size[d] < out->size[d] ? in->size[d] : out->size[d];
    }
    from.elements = to.elements = all_elements(&to);
    from.bytes = to.bytes = to.elements * element_bytes(out);
    struct walk w = {.operand = {&to, &from}, .operands = 2};
    lay_out(&w);
    kernel = walk_kernel(p, &w, from.bytes + to.bytes);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    if (grows)
        sc__pricing_and(p, sc__elementwise(p->model, p->call->op, out->bytes));
}
