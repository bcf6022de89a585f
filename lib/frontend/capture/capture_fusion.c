/* capture fusion: what torch.compile makes of the operations of a unit. Elementwise
 * operators, copies and reductions of rows that go through equally many elements and hand
 * each other tensors, or read the same ones, become one kernel: what only they see is
 * neither written nor read. Products, convolutions and attention stay kernels of their
 * libraries, with nothing fused into them; sums over columns or channels are kernels of
 * their own. Forward and backward are compiled apart. docs/model/operators.md */
#include "frontend/capture/capture_pricing.h"

#include <string.h>

/* A kernel that is being made of several operations. */
struct fused {
    enum sc__fuses kind; /* SC__FUSES_POINTWISE, _ROWS, or _COLUMNS */
    double space;        /* elements it goes through */
    uint32_t unit;
    uint8_t phase;
    uint32_t
        level; /* libraries' kernels and other fused ones before it, one behind another */
    uint32_t first; /* operations, in a list */
    uint32_t last;
};

struct storage_state {
    uint32_t maker;  /* fused kernel that wrote it last, SC__NONE: another */
    uint32_t reader; /* fused kernel that read it last */
    uint32_t level;  /* from which on it can be read */
    bool escapes;    /* somebody outside the kernel reads it */
    bool freed;
    uint32_t counted; /* fused kernel that has counted it, + 1 */
};

struct fusing {
    const struct sc__capture *c;
    const struct sc__operators *operators;
    struct sc__kernel_model *model;
    const struct sc__capture_program *p;
    struct fused *fused;
    uint32_t fused_count;
    uint32_t fused_capacity;
    struct storage_state *storages;
    uint32_t *fused_of; /* operation → fused kernel */
    uint32_t *next;     /* operation → next of the same kernel */
    uint32_t *maker_of; /* used storage (by place from first_place on) → its maker then */
    uint32_t first_place;
};

static const struct sc__capture_call *call_of(const struct fusing *f, uint32_t op) {
    return &f->c->calls[f->p->ops[op].call];
}

static double all_elements(const struct sc__capture_tensor *t) {
    double product = 1;
    for (unsigned d = 0; d < t->dims; d++)
        product *= (double)t->size[d];
    return product;
}

/* Whether a reduction goes along the elements that lie side by side. */
static bool reduces_rows(const struct sc__capture *c, const struct sc__capture_call *call) {
    const struct sc__capture_tensor *in = sc__capture_tensor(c, call->in, 0);
    const struct sc__capture_tensor *out = sc__capture_tensor(c, call->out, 0);
    if (!in->dims || all_elements(out) <= 1)
        return true;
    uint64_t columns = in->size[in->dims - 1];
    uint64_t kept = out->dims ? out->size[out->dims - 1] : 1;
    return out->dims == in->dims ? kept != columns || columns == 1 : kept != columns;
}

static enum sc__fuses kind_of(const struct fusing *f, uint32_t op) {
    const struct sc__capture_call *call = call_of(f, op);
    const struct sc__capture_op *o = &f->p->ops[op];
    enum sc__fuses kind = sc__operator_fuses(f->operators, call->op);
    bool whole = o->used.count == call->in.count + call->out.count;
    if (!o->unit || o->phase == SC__UPDATE || !whole || !call->out.count || !call->in.count)
        return SC__FUSES_NOT;
    for (uint32_t i = 0; i < o->used.count; i++)
        if (f->c->places[o->used.first + i] == SC__NONE)
            return SC__FUSES_NOT;
    if (kind == SC__FUSES_REDUCTION)
        return reduces_rows(f->c, call) ? SC__FUSES_ROWS : SC__FUSES_COLUMNS;
    return kind;
}

static double space_of(const struct fusing *f, uint32_t op) {
    const struct sc__capture_call *call = call_of(f, op);
    double in = all_elements(sc__capture_tensor(f->c, call->in, 0));
    double out = all_elements(sc__capture_tensor(f->c, call->out, 0));
    return in > out ? in : out;
}

/* ---- which operations go together ---- */

static uint32_t used_at(const struct fusing *f, uint32_t op, uint32_t i) {
    return f->c->places[f->p->ops[op].used.first + i];
}

static uint32_t inputs_of(const struct fusing *f, uint32_t op) {
    const struct sc__capture_call *call = call_of(f, op);
    uint32_t used = f->p->ops[op].used.count;
    return used == call->in.count + call->out.count ? call->in.count : used;
}

/* The level an operation needs when it is part of the kernel `into`, or of a new one. */
static uint32_t level_needed(const struct fusing *f, uint32_t op, uint32_t into) {
    uint32_t level = 0;
    for (uint32_t i = 0; i < inputs_of(f, op); i++) {
        uint32_t storage = used_at(f, op, i);
        if (storage == SC__NONE)
            continue;
        const struct storage_state *s = &f->storages[storage];
        bool inside = into != SC__NONE && s->maker == into;
        uint32_t needed = inside ? f->fused[into].level : s->level;
        if (needed > level)
            level = needed;
    }
    return level;
}

static bool
can_join(const struct fusing *f, uint32_t op, enum sc__fuses kind, uint32_t into) {
    const struct fused *k = &f->fused[into];
    const struct sc__capture_op *o = &f->p->ops[op];
    bool same_kind = (kind == SC__FUSES_COLUMNS) == (k->kind == SC__FUSES_COLUMNS);
    return same_kind && k->unit == o->unit && k->phase == o->phase &&
           k->space == space_of(f, op) && level_needed(f, op, into) <= k->level;
}

/* The kernel of a producer, or one that reads the same. */
static uint32_t kernel_to_join(const struct fusing *f, uint32_t op, enum sc__fuses kind) {
    for (uint32_t i = 0; i < inputs_of(f, op); i++) {
        uint32_t maker = f->storages[used_at(f, op, i)].maker;
        if (maker != SC__NONE && can_join(f, op, kind, maker))
            return maker;
    }
    for (uint32_t i = 0; i < inputs_of(f, op); i++) {
        uint32_t reader = f->storages[used_at(f, op, i)].reader;
        if (reader != SC__NONE && can_join(f, op, kind, reader))
            return reader;
    }
    return SC__NONE;
}

static uint32_t
new_kernel(struct sc_context *ctx, struct fusing *f, uint32_t op, enum sc__fuses kind) {
    const struct sc__capture_op *o = &f->p->ops[op];
    *SC__PUSH(&ctx->arena, f->fused, f->fused_count, f->fused_capacity) =
        (struct fused){.kind = kind,
                       .space = space_of(f, op),
                       .unit = o->unit,
                       .phase = o->phase,
                       .level = level_needed(f, op, SC__NONE),
                       .first = op,
                       .last = op};
    return f->fused_count - 1;
}

/* What the operation reads and writes, as seen from those that follow. */
static void pass_on(struct fusing *f, uint32_t op, uint32_t kernel) {
    const struct sc__capture_op *o = &f->p->ops[op];
    uint32_t inputs = inputs_of(f, op);
    uint32_t level =
        kernel == SC__NONE ? level_needed(f, op, SC__NONE) : f->fused[kernel].level;
    bool transfers = inputs == o->used.count;
    for (uint32_t i = 0; i < o->used.count; i++) {
        uint32_t storage = used_at(f, op, i);
        if (storage == SC__NONE)
            continue;
        struct storage_state *s = &f->storages[storage];
        f->maker_of[o->used.first + i - f->first_place] = s->maker;
        if (i < inputs) {
            s->escapes = s->escapes || s->maker != kernel;
            s->reader = kernel;
        }
        if (i >= inputs || transfers) {
            s->maker = kernel;
            s->level = level + 1;
        }
    }
}

static void group_operations(struct sc_context *ctx, struct fusing *f) {
    for (uint32_t op = 0; op < f->p->op_count; op++) {
        enum sc__fuses kind = kind_of(f, op);
        uint32_t kernel = SC__NONE;
        f->next[op] = SC__NONE;
        if (kind != SC__FUSES_NOT) {
            kernel = kernel_to_join(f, op, kind);
            if (kernel == SC__NONE)
                kernel = new_kernel(ctx, f, op, kind);
            else
                f->next[f->fused[kernel].last] = op;
            f->fused[kernel].last = op;
        }
        f->fused_of[op] = kernel;
        pass_on(f, op, kernel);
    }
}

/* ---- what they cost ---- */

/* Bytes of an operation that the kernel it is part of has not counted. */
static double own_bytes(struct fusing *f, uint32_t op, uint32_t kernel) {
    const struct sc__capture_call *call = call_of(f, op);
    const struct sc__capture_op *o = &f->p->ops[op];
    double bytes = 0;
    for (uint32_t i = 0; i < o->used.count; i++) {
        struct storage_state *s = &f->storages[used_at(f, op, i)];
        bool input = i < call->in.count;
        bool inside = input && f->maker_of[o->used.first + i - f->first_place] == kernel;
        bool unseen = !input && !s->escapes && s->freed;
        if (inside || unseen || s->counted == kernel + 1)
            continue;
        const struct sc__capture_tensor *t =
            input ? sc__capture_tensor(f->c, call->in, i)
                  : sc__capture_tensor(f->c, call->out, i - call->in.count);
        double moved =
            input && !i ? sc__operator_reads(f->c, f->operators, call) : t->bytes;
        if (moved >= t->bytes) /* nothing is left for others to read */
            s->counted = kernel + 1;
        bytes += moved;
    }
    return bytes;
}

/* Gradients of weights and the sums of batch norms are kernels beside the fused one. */
static double beside_bytes(const struct fusing *f, uint32_t op) {
    const struct sc__capture_call *call = call_of(f, op);
    enum sc__fuses kind = sc__operator_fuses(f->operators, call->op);
    double bytes = 0;
    if (kind != SC__FUSES_ROWS_AND_COLUMNS && kind != SC__FUSES_CHANNELS)
        return 0;
    double whole = sc__capture_tensor(f->c, call->in, 0)->elements;
    for (uint32_t i = 0; i < call->in.count; i++) {
        const struct sc__capture_tensor *t = sc__capture_tensor(f->c, call->in, i);
        bytes += t->elements >= whole ? t->bytes : 0;
    }
    return bytes;
}

static struct sc__capture_price price_kernel(struct fusing *f, uint32_t kernel) {
    const struct fused *k = &f->fused[kernel];
    const struct sc__operators *o = f->operators;
    double bytes = 0;
    double beside = 0;
    double kernels = 1;
    uint8_t work = SC__WORK_ELEMENTWISE;
    for (uint32_t op = k->first; op != SC__NONE; op = f->next[op]) {
        double more = beside_bytes(f, op);
        bytes += own_bytes(f, op, kernel);
        beside += more;
        kernels += more > 0 ? 1 : 0;
    }
    double factor = k->kind == SC__FUSES_COLUMNS ? o->fused_columns : o->fused_traffic;
    struct sc__kernel fused = sc__elementwise(f->model, "fused", factor * bytes);
    if (beside > 0)
        fused.us += (kernels - 1) * sc__kernel_model_gpu(f->model)->elementwise_t0 +
                    sc__elementwise(f->model, "fused", o->fused_columns * beside).us -
                    sc__kernel_model_gpu(f->model)->elementwise_t0;
    fused.bytes += beside;
    fused.work = work;
    return (struct sc__capture_price){.kernel = fused,
                                      .kernels = kernels,
                                      .known = true,
                                      .compiled = true,
                                      .calls = kernels};
}

/* ---- layouts ---- */

/* What is known of a unit's convolutions. */
struct convolutions {
    uint32_t count;
    uint32_t nodes; /* operations of its forward, views too */
    bool hinders;   /* one that channels side by side would slow down */
    bool all_small;
};

enum { NODES_A_CONVOLUTION = 300, FEW_CHANNELS = 64 };

static bool is_convolution(const struct fusing *f, uint32_t op) {
    return !strncmp(call_of(f, op)->op, "aten.convolution", 16);
}

static void look_at(const struct fusing *f, uint32_t op, struct convolutions *seen) {
    const struct sc__capture_call *call = call_of(f, op);
    const struct sc__capture_op *o = &f->p->ops[op];
    if (o->phase != SC__FORWARD)
        return;
    seen->nodes += 1 + o->quiet;
    if (!is_convolution(f, op) || call->in.count < 2)
        return;
    const struct sc__capture_tensor *weight = sc__capture_tensor(f->c, call->in, 1);
    uint64_t out = sc__pricing_size(weight, 0);
    uint64_t in = sc__pricing_size(weight, 1);
    bool grouped = call->with.groups > 1 && in > 1;
    bool narrows = 2 * out <= in && sc__pricing_size(weight, 2) > 1;
    seen->hinders = seen->hinders || grouped || narrows;
    seen->all_small =
        (!seen->count || seen->all_small) && in <= FEW_CHANNELS && out <= FEW_CHANNELS;
    seen->count++;
}

/* Whether the compiler lays the pictures of a unit out with channels side by side: its own
 * rules. */
static bool lays_channels_last(const struct fusing *f, uint32_t unit) {
    struct convolutions seen = {0};
    for (uint32_t op = 0; op < f->p->op_count; op++)
        if (f->p->ops[op].unit == unit)
            look_at(f, op, &seen);
    return seen.count && !seen.hinders && !seen.all_small &&
           seen.nodes < NODES_A_CONVOLUTION * seen.count;
}

static struct sc__capture with_channels_last(struct sc_context *ctx,
                                             const struct sc__capture *c) {
    struct sc__capture other = *c;
    other.tensors =
        SC__NEW_ARRAY(&ctx->arena, struct sc__capture_tensor, c->tensor_count + 1);
    for (uint32_t i = 0; i < c->tensor_count; i++) {
        struct sc__capture_tensor *t = &other.tensors[i];
        *t = c->tensors[i];
        if (t->dims != 4 || !t->dense || t->size[1] < 2)
            continue;
        t->channels_last = true;
        t->stride[1] = 1;
        t->stride[3] = t->size[1];
        t->stride[2] = t->stride[3] * t->size[3];
    }
    return other;
}

static void price_convolutions(struct sc_context *ctx,
                               struct fusing *f,
                               struct sc__capture_program *p) {
    uint32_t decided = 0;
    bool last = false;
    struct sc__capture other = {0};
    for (uint32_t op = 0; op < p->op_count; op++) {
        if (!p->ops[op].unit || !is_convolution(f, op))
            continue;
        if (p->ops[op].unit != decided) {
            decided = p->ops[op].unit;
            last = lays_channels_last(f, decided);
        }
        if (!last)
            continue;
        if (!other.tensors)
            other = with_channels_last(ctx, f->c);
        p->prices[op] = sc__capture_price(&other,
                                          f->operators,
                                          f->model,
                                          &other.calls[p->ops[op].call]);
    }
}

/* ---- attention ---- */

/* The compiler has no kernel for attention that drops weights: it becomes products in fp32,
 * two and four, with the scores written and read between them: forward read, kept with and
 * without what is dropped; backward read twice and written; and a mask of bytes. */
static void take_attention_apart(struct fusing *f, struct sc__capture_program *p) {
    for (uint32_t op = 0; op < p->op_count; op++) {
        const struct sc__capture_call *call = call_of(f, op);
        bool backward = !strcmp(call->op, "stepcast.attention_backward");
        if (!p->ops[op].unit || call->with.dropout <= 0 ||
            (!backward && strcmp(call->op, "stepcast.attention")))
            continue;
        struct sc__pricing pricing = {.c = f->c,
                                      .operators = f->operators,
                                      .model = f->model,
                                      .call = call};
        const struct sc__capture_tensor *q = sc__pricing_input(&pricing, backward);
        const struct sc__capture_tensor *k = sc__pricing_input(&pricing, backward + 1u);
        uint64_t count = sc__pricing_size(q, 0) * sc__pricing_size(q, 1);
        uint64_t queries = sc__pricing_size(q, 2);
        uint64_t keys = sc__pricing_size(k, 2);
        uint64_t size = sc__pricing_size(q, 3);
        double scores = (double)count * (double)queries * (double)keys;
        double into = sc__pricing_product_fp32(&pricing, count, queries, keys, size);
        double outof = sc__pricing_product_fp32(&pricing, count, queries, size, keys);
        struct sc__capture_price *price = &p->prices[op];
        price->kernel.us = (backward ? 2 : 1) * (into + outof) +
                           sc__elementwise(f->model, call->op, (3 * 4 + 1) * scores).us;
        price->kernels = backward ? 5 : 3;
        price->calls = price->kernels;
    }
}

static void prepare(struct sc_context *ctx, struct fusing *f) {
    const struct sc__capture_program *p = f->p;
    uint32_t places = f->c->place_count;
    f->storages = SC__NEW_ARRAY(&ctx->arena, struct storage_state, p->storage_count + 1);
    f->fused_of = SC__NEW_ARRAY(&ctx->arena, uint32_t, p->op_count + 1);
    f->next = SC__NEW_ARRAY(&ctx->arena, uint32_t, p->op_count + 1);
    f->first_place = p->op_count ? p->ops[0].born.first : 0;
    f->maker_of = SC__NEW_ARRAY(&ctx->arena, uint32_t, places - f->first_place + 1);
    for (uint32_t i = 0; i < p->storage_count; i++) {
        f->storages[i].maker = SC__NONE;
        f->storages[i].reader = SC__NONE;
    }
    for (uint32_t i = 0; i < p->op_count; i++)
        for (uint32_t k = 0; k < p->ops[i].freed.count; k++)
            f->storages[f->c->places[p->ops[i].freed.first + k]].freed = true;
}

/* Operations outside a unit may come between those of its backward. */
static void mark_ends(struct sc__capture_program *p) {
    const struct sc__capture_op *behind = NULL;
    for (uint32_t op = p->op_count; op-- > 0;) {
        const struct sc__capture_op *o = &p->ops[op];
        if (!o->unit)
            continue;
        p->prices[op].ends =
            !behind || behind->unit != o->unit || behind->phase != o->phase;
        behind = o;
    }
}

void sc__capture_fuse(struct sc_context *ctx,
                      const struct sc__capture *c,
                      const struct sc__operators *operators,
                      struct sc__kernel_model *model,
                      struct sc__capture_program *p) {
    struct fusing f = {.c = c, .operators = operators, .model = model, .p = p};
    prepare(ctx, &f);
    group_operations(ctx, &f);
    price_convolutions(ctx, &f, p);
    for (uint32_t op = 0; op < p->op_count; op++) {
        struct sc__capture_price *price = &p->prices[op];
        if (!p->ops[op].unit)
            continue;
        if (f.fused_of[op] != SC__NONE)
            *price = (struct sc__capture_price){.known = true};
        price->compiled = true;
        price->calls = price->kernels > 0 ? 1 : 0;
    }
    take_attention_apart(&f, p);
    for (uint32_t kernel = 0; kernel < f.fused_count; kernel++)
        p->prices[f.fused[kernel].last] = price_kernel(&f, kernel);
    mark_ends(p);
}
