/* prepare: blocks → items.
 *
 * A collective that stays inside one class and never shares a resource with
 * another transfer (prepare_claims.c) has one cost, whatever happens around
 * it. Such operations and compute between them are runs, and a run takes one
 * event. Where that does not hold the operation is an item of its own and goes
 * through the network engine when its time comes. */
#include "simulate/executor.h"

#include <string.h>

int64_t sc__compute_cost(const struct sc__executor *x,
                         const struct sc__class *c,
                         const struct sc__op *op) {
    double scale = c->slow * (x->options.compute_scale > 0 ? x->options.compute_scale : 1);
    double cost = (double)op->cost * scale;
    return scale == 1 ? op->cost : cost < 0x1p62 ? (int64_t)llround(cost) : INT64_MAX / 2;
}

const struct sc__block *
sc__call_block(const struct sc__executor *x, const struct sc__runner *r, uint32_t call) {
    const struct sc__workload *w = x->w;
    return &w->blocks[w->calls[w->programs[r->class->program].first_call + call].block];
}

bool sc__op_is_transfer(const struct sc__op *op) {
    return op->kind == SC__OP_COLLECTIVE || op->kind == SC__OP_SEND ||
           op->kind == SC__OP_RECV;
}

/* The cost of an operation that can share a link with no other traffic; -1 when it can. */
static int64_t
fixed_cost(const struct sc__claim_table *claims, uint32_t class, const struct sc__op *op) {
    struct sc__executor *x = claims->x;
    struct sc_claims made;
    int64_t cost;
    if (op->kind == SC__OP_WAIT)
        return 0;
    if (op->kind == SC__OP_COMPUTE)
        return sc__compute_cost(x, x->runners[class].class, op);
    if (op->kind != SC__OP_COLLECTIVE || !sc__inside_class(&x->runners[class], op))
        return -1;
    if (op->flags & SC__OP_MEASURED)
        return op->cost;
    struct sc_transfer t = sc__transfer_of(x, class, op);
    sc_status status = x->net->ops->alone(x->net->self, &t, &cost, &made);
    if (status != SC_OK)
        x->status = status;
    if (status != SC_OK || made.contended || !sc__claims_alone(claims, class, &made))
        return -1;
    return cost + (x->net->free ? 0 : op->cost);
}

static void
sum_op(struct sc__executor *x, struct sc__sums *s, const struct sc__op *op, int64_t cost) {
    if (op->kind == SC__OP_WAIT)
        return;
    if (op->kind == SC__OP_COMPUTE) {
        s->work[op->work] += cost;
        if (op->work == SC__WORK_HOST)
            s->other += cost;
        else if (op->phase == SC__RECOMPUTE)
            s->recompute += cost;
        else
            s->compute += cost;
        return;
    }
    if (!s->traffic) {
        s->traffic = SC__NEW_ARRAY(&x->arena, struct sc__traffic, x->lanes);
        s->exposed = SC__NEW_ARRAY(&x->arena, int64_t, x->lanes);
    }
    uint32_t lane = sc__lane(x, op);
    s->traffic[lane].ops++;
    s->traffic[lane].bytes += op->bytes;
    s->traffic[lane].busy += cost;
    s->exposed[lane] += cost;
}

struct building {
    struct sc__executor *x;
    const struct sc__claim_table *claims;
    uint32_t class;
    const struct sc__block *block;
    struct sc__prepared *out;
    uint32_t order_count;
    uint32_t item_count;
    int64_t *ends; /* of runs, by place in `order` */
    int64_t *slow_ends;
    bool may_merge;
};

/* Does an operation of another stream between two issue positions wait for
 * this one? Then a run must not reach across it. */
static bool
watched_between(const struct building *b, uint32_t from, uint32_t to, uint32_t stream) {
    const struct sc__op *ops = &b->x->w->ops[b->block->first_op];
    for (uint32_t i = from + 1; i < to; i++)
        if (ops[i].stream != stream && ops[i].after >> stream & 1)
            return true;
    return false;
}

static bool extends_run(const struct building *b,
                        const struct sc__exec_item *last,
                        uint32_t index,
                        int64_t cost) {
    const struct sc__op *op = &b->x->w->ops[b->block->first_op + index];
    if (!b->may_merge || !last || !last->sums || cost < 0 || op->after || op->deps)
        return false;
    uint32_t previous = b->out->order[last->first + last->ops - 1] - b->block->first_op;
    return !watched_between(b, previous, index, op->stream);
}

/* Items of a stream whose first operation was issued before index. */
static uint32_t items_before(const struct building *b, uint32_t stream, uint32_t index) {
    uint32_t low = 0;
    uint32_t high = b->out->count[stream];
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        uint32_t op = b->out->order[b->out->items[b->out->first[stream] + middle].first] -
                      b->block->first_op;
        if (op < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void
fill_needs(const struct building *b, struct sc__exec_item *item, uint32_t index) {
    const struct sc__op *ops = &b->x->w->ops[b->block->first_op];
    item->after = ops[index].after & (uint16_t)((1u << b->x->streams) -
                                                1); /* a stream nobody uses is never late */
    item->need = SC__NEW_ARRAY(&b->x->arena, uint32_t, b->x->streams);
    for (uint32_t s = 0; s < b->x->streams; s++) {
        if (!(item->after >> s & 1) || s == ops[index].stream)
            continue;
        item->need[s] = items_before(b, s, index);
    }
}

/* One more operation at the end of a run. */
static void extend_run(struct building *b,
                       struct sc__exec_item *run,
                       const struct sc__op *op,
                       int64_t cost) {
    struct sc__executor *x = b->x;
    uint32_t at = run->ops - 1;
    int64_t end = at ? run->ends[at - 1] : 0;
    int64_t slow_end = at ? run->slow_ends[at - 1] : 0;
    if (cost > SC__LONGEST || end > SC__LONGEST) {
        x->status = sc__too_long(x->ctx);
        return;
    }
    bool slows = x->options.comm_tax > 0 && op->kind == SC__OP_COMPUTE;
    int64_t slow_cost = slows ? sc__run_slow_cost(x, cost) : cost;
    /* Twice the longest time is longer than any run may be, and can be added to the clock.
     */
    int64_t room = 2 * SC__LONGEST - slow_end;
    run->ends[at] = end + cost;
    run->slow_ends[at] = slow_end + (slow_cost < room ? slow_cost : room);
    sum_op(x, run->sums, op, cost);
}

static struct sc__exec_item *new_item(struct building *b, bool run) {
    struct sc__exec_item *item = &b->out->items[b->item_count++];
    memset(item, 0, sizeof *item);
    item->first = b->order_count - 1;
    if (!run)
        return item;
    item->sums = SC__NEW(&b->x->arena, struct sc__sums);
    item->ends = b->ends + item->first;
    item->slow_ends = b->slow_ends + item->first;
    return item;
}

static void build_stream(struct building *b, uint32_t stream) {
    struct sc__executor *x = b->x;
    struct sc__exec_item *last = NULL;
    b->out->first[stream] = b->item_count;
    for (uint32_t i = 0; i < b->block->ops && x->status == SC_OK; i++) {
        const struct sc__op *op = &x->w->ops[b->block->first_op + i];
        if (op->stream != stream)
            continue;
        int64_t cost = fixed_cost(b->claims, b->class, op);
        b->out->order[b->order_count++] = b->block->first_op + i;
        if (!extends_run(b, last, i, cost))
            last = new_item(b, cost >= 0);
        last->ops++;
        if (cost >= 0)
            extend_run(b, last, op, cost);
    }
    b->out->count[stream] = b->item_count - b->out->first[stream];
}

/* Runs are made only on the stream whose idling is accounted, and only
 * where no other stream of the class ever computes beside it: a stream may
 * still be in one call while another is in a later one. */
static bool one_compute_stream(const struct sc__executor *x, const struct sc__runner *r) {
    const struct sc__block_list *called = &x->called[r->class->program];
    for (uint32_t k = 0; k < called->count; k++) {
        const struct sc__block *b = &x->w->blocks[called->ids[k]];
        for (uint32_t i = 0; i < b->ops; i++) {
            const struct sc__op *op = &x->w->ops[b->first_op + i];
            if (op->kind == SC__OP_COMPUTE && op->stream != x->w->compute_stream)
                return false;
        }
    }
    return true;
}

struct preparing {
    const struct sc__claim_table *claims;
    struct sc__prepared **by_block; /* of the class at hand */
    struct sc__exec_item *items;    /* room for those of the block at hand */
    uint32_t item_capacity;
};

static void order_operations(struct building *b, bool merge) {
    const struct sc__executor *x = b->x;
    for (uint32_t i = 0; i < b->block->ops; i++) {
        const struct sc__op *op = &x->w->ops[b->block->first_op + i];
        b->out->deps |= op->deps > 0;
        b->out->messages |= op->kind == SC__OP_SEND || op->kind == SC__OP_RECV;
    }
    for (uint32_t s = 0; s < x->streams; s++) {
        b->may_merge = merge && !b->out->deps && s == x->w->compute_stream;
        build_stream(b, s);
    }
}

static struct sc__prepared *prepare_block(struct preparing *p,
                                          uint32_t class,
                                          const struct sc__block *block,
                                          bool merge) {
    struct sc__executor *x = p->claims->x;
    struct building b = {.x = x, .claims = p->claims, .class = class, .block = block};
    b.out = SC__NEW(&x->arena, struct sc__prepared);
    b.out->order = SC__NEW_ARRAY(&x->arena, uint32_t, block->ops);
    b.ends = SC__NEW_ARRAY(&x->arena, int64_t, block->ops);
    b.slow_ends =
        x->options.comm_tax > 0 ? SC__NEW_ARRAY(&x->arena, int64_t, block->ops) : b.ends;
    if (p->item_capacity < block->ops)
        p->items =
            sc__grow(&x->arena, p->items, &p->item_capacity, block->ops, sizeof *p->items);
    b.out->items = p->items;
    order_operations(&b, merge);
    b.out->items = SC__NEW_ARRAY(&x->arena, struct sc__exec_item, b.item_count);
    if (b.item_count)
        memcpy(b.out->items, p->items, b.item_count * sizeof *p->items);
    for (uint32_t i = 0; i < b.item_count; i++) {
        struct sc__exec_item *item = &b.out->items[i];
        uint32_t op = b.out->order[item->first];
        if (x->w->ops[op].after)
            fill_needs(&b, item, op - block->first_op);
    }
    return b.out;
}

static void prepare_runner(struct preparing *prep, uint32_t class) {
    struct sc__executor *x = prep->claims->x;
    struct sc__runner *r = &x->runners[class];
    const struct sc__program *p = &x->w->programs[r->class->program];
    const struct sc__call *calls = p->calls ? &x->w->calls[p->first_call] : NULL;
    const struct sc__block_list *called = &x->called[r->class->program];
    bool merge = one_compute_stream(x, r);
    bool deps = false;
    for (uint32_t k = 0; k < called->count; k++) {
        uint32_t id = called->ids[k];
        prep->by_block[id] = prepare_block(prep, class, &x->w->blocks[id], merge);
        deps |= prep->by_block[id]->deps;
    }
    r->calls = p->calls;
    r->blocks = SC__NEW_ARRAY(&x->arena, struct sc__prepared *, p->calls);
    for (uint32_t c = 0; c < p->calls; c++)
        r->blocks[c] = prep->by_block[calls[c].block];
    if (deps)
        r->done = SC__NEW_ARRAY(&x->arena, uint8_t *, p->calls);
    for (uint32_t c = 0; deps && c < p->calls; c++)
        if (r->blocks[c]->deps)
            r->done[c] =
                SC__NEW_ARRAY(&x->arena, uint8_t, x->w->blocks[calls[c].block].ops);
    sc__rendezvous_number(x, class);
}

/* The blocks a program calls, each once. */
static void list_called_blocks(struct sc__executor *x) {
    const struct sc__workload *w = x->w;
    uint32_t *seen = SC__NEW_ARRAY(&x->arena, uint32_t, w->block_count);
    x->called = SC__NEW_ARRAY(&x->arena, struct sc__block_list, w->program_count);
    for (uint32_t p = 0; p < w->program_count; p++) {
        struct sc__block_list *list = &x->called[p];
        for (uint32_t c = 0; c < w->programs[p].calls; c++) {
            uint32_t id = w->calls[w->programs[p].first_call + c].block;
            if (seen[id] == p + 1)
                continue;
            seen[id] = p + 1;
            *SC__PUSH(&x->arena, list->ids, list->count, list->capacity) = id;
        }
    }
}

sc_status sc__prepare(struct sc__executor *x) {
    struct sc__claim_table claims = {.x = x};
    struct preparing prep = {.claims = &claims};
    x->slow_speed = 1 / (1 + x->options.comm_tax);
    list_called_blocks(x);
    SC__TRY(sc__rendezvous_prepare(x));
    SC__TRY(sc__claims_collect(&claims));
    prep.by_block = SC__NEW_ARRAY(&x->arena, struct sc__prepared *, x->w->block_count);
    for (uint32_t c = 0; c < x->w->class_count && x->status == SC_OK; c++)
        prepare_runner(&prep, c);
    return x->status;
}
