/* prepare: blocks → items.
 *
 * A collective that stays inside one class and whose resources no other
 * stream of any class ever claims has one price, whatever happens around it.
 * Such operations and compute between them are summed into runs, and a run
 * costs the engine one event. Where that does not hold the operation is an
 * item of its own and goes through the network engine when its time comes. */
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

static bool is_transfer(const struct sc__op *op) {
    return op->kind == SC__OP_COLLECTIVE || op->kind == SC__OP_SEND ||
           op->kind == SC__OP_RECV;
}

/* Who claims each resource: (class, stream) + 1, or MANY. */
#define MANY UINT64_MAX

struct claims {
    struct sc__map users;
    struct sc__executor *x;
    struct sc__exec_item *items; /* room for those of the block that is being built */
    uint32_t item_capacity;
};

static sc_status claim(struct claims *k, uint32_t class, const struct sc__op *op) {
    struct sc__claims made;
    int64_t unused;
    struct sc__transfer t = sc__transfer_of(k->x, class, op);
    if (op->flags & SC__OP_MEASURED)
        return SC_OK;
    SC__TRY(k->x->net->ops->alone(k->x->net->self, &t, &unused, &made));
    for (uint32_t i = 0; i < made.count; i++) {
        bool fresh;
        uint64_t *user = sc__map_at(&k->users, made.list[i].resource, &fresh);
        uint64_t me = ((uint64_t) class << 8 | op->stream) + 1;
        if (fresh)
            *user = me;
        else if (*user != me)
            *user = MANY;
    }
    return SC_OK;
}

/* Every class claims what the operations of its blocks use; each block once. */
static sc_status claim_class(struct claims *k, uint32_t class, uint8_t *seen) {
    struct sc__executor *x = k->x;
    const struct sc__workload *w = x->w;
    const struct sc__runner *r = &x->runners[class];
    const struct sc__program *p = &w->programs[r->class->program];
    for (uint32_t c = 0; c < p->calls; c++) {
        uint32_t id = w->calls[p->first_call + c].block;
        if (seen[id])
            continue;
        seen[id] = 1;
        const struct sc__block *b = &w->blocks[id];
        for (uint32_t i = 0; i < b->ops; i++) {
            const struct sc__op *op = &w->ops[b->first_op + i];
            if (is_transfer(op))
                SC__TRY(claim(k, class, op));
        }
    }
    for (uint32_t c = 0; c < p->calls; c++)
        seen[w->calls[p->first_call + c].block] = 0;
    return SC_OK;
}

/* The price of an operation that can meet no other traffic; -1 when it can. */
static int64_t fixed_price(struct claims *k, uint32_t class, const struct sc__op *op) {
    struct sc__executor *x = k->x;
    struct sc__claims made;
    int64_t price;
    if (op->kind == SC__OP_WAIT)
        return 0;
    if (op->kind == SC__OP_COMPUTE)
        return sc__compute_cost(x, x->runners[class].class, op);
    if (op->kind != SC__OP_COLLECTIVE || !sc__meet_inside(&x->runners[class], op))
        return -1;
    if (op->flags & SC__OP_MEASURED)
        return op->cost;
    struct sc__transfer t = sc__transfer_of(x, class, op);
    sc_status status = x->net->ops->alone(x->net->self, &t, &price, &made);
    if (status != SC_OK)
        x->status = status;
    if (status != SC_OK || made.contended)
        return -1;
    for (uint32_t i = 0; i < made.count; i++)
        if (*sc__map_find(&k->users, made.list[i].resource) !=
            ((uint64_t) class << 8 | op->stream) + 1)
            return -1;
    return price + (x->net->free ? 0 : op->cost);
}

static void
sum_op(struct sc__executor *x, struct sc__sums *s, const struct sc__op *op, int64_t price) {
    if (op->kind == SC__OP_WAIT)
        return;
    if (op->kind == SC__OP_COMPUTE) {
        s->work[op->work] += price;
        if (op->work == SC__WORK_HOST)
            s->other += price;
        else if (op->phase == SC__RECOMPUTE)
            s->recompute += price;
        else
            s->compute += price;
        return;
    }
    if (!s->traffic) {
        s->traffic = SC__NEW_ARRAY(&x->arena, struct sc__traffic, x->lanes);
        s->exposed = SC__NEW_ARRAY(&x->arena, int64_t, x->lanes);
    }
    uint32_t lane = sc__lane(x, op);
    s->traffic[lane].ops++;
    s->traffic[lane].bytes += op->bytes;
    s->traffic[lane].busy += price;
    s->exposed[lane] += price;
}

struct building {
    struct sc__executor *x;
    struct claims *claims;
    uint32_t class;
    const struct sc__block *block;
    struct sc__prepared *out;
    uint32_t order_count;
    uint32_t item_count;
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
                        int64_t price) {
    const struct sc__op *op = &b->x->w->ops[b->block->first_op + index];
    if (!b->may_merge || !last || !last->sums || price < 0 || op->after || op->deps)
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

static void build_stream(struct building *b, uint32_t stream) {
    struct sc__executor *x = b->x;
    struct sc__exec_item *last = NULL;
    b->out->first[stream] = b->item_count;
    for (uint32_t i = 0; i < b->block->ops; i++) {
        const struct sc__op *op = &x->w->ops[b->block->first_op + i];
        if (op->stream != stream)
            continue;
        int64_t price = fixed_price(b->claims, b->class, op);
        b->out->order[b->order_count++] = b->block->first_op + i;
        if (!extends_run(b, last, i, price)) {
            last = &b->out->items[b->item_count++];
            memset(last, 0, sizeof *last);
            last->first = b->order_count - 1;
            if (price >= 0)
                last->sums = SC__NEW(&x->arena, struct sc__sums);
        }
        last->ops++;
        if (price < 0)
            continue;
        if (price > SC__LONGEST || last->duration > SC__LONGEST) {
            x->status = sc__too_long(x->ctx);
            return;
        }
        last->duration += price;
        sum_op(x, last->sums, op, price);
    }
    b->out->count[stream] = b->item_count - b->out->first[stream];
}

/* Runs are summed only on the stream whose idling is accounted, and only
 * where no other stream of the class ever computes beside it: a stream may
 * still be in one call while another is in a later one. */
static bool one_compute_stream(const struct sc__executor *x, const struct sc__runner *r) {
    const struct sc__block *last = NULL;
    for (uint32_t c = 0; c < r->calls; c++) {
        const struct sc__block *b = sc__call_block(x, r, c);
        for (uint32_t i = 0; b != last && i < b->ops; i++) {
            const struct sc__op *op = &x->w->ops[b->first_op + i];
            if (op->kind == SC__OP_COMPUTE && op->stream != x->w->compute_stream)
                return false;
        }
        last = b;
    }
    return true;
}

static struct sc__prepared *
prepare_block(struct claims *k, uint32_t class, const struct sc__block *block, bool sums) {
    struct sc__executor *x = k->x;
    struct building b = {.x = x, .claims = k, .class = class, .block = block};
    b.out = SC__NEW(&x->arena, struct sc__prepared);
    b.out->order = SC__NEW_ARRAY(&x->arena, uint32_t, block->ops);
    if (k->item_capacity < block->ops)
        k->items =
            sc__grow(&x->arena, k->items, &k->item_capacity, block->ops, sizeof *k->items);
    b.out->items = k->items;
    for (uint32_t i = 0; i < block->ops; i++)
        b.out->deps |= x->w->ops[block->first_op + i].deps > 0;
    for (uint32_t s = 0; s < x->streams; s++) {
        b.may_merge = sums && !b.out->deps && s == x->w->compute_stream;
        build_stream(&b, s);
    }
    b.out->items = SC__NEW_ARRAY(&x->arena, struct sc__exec_item, b.item_count);
    if (b.item_count)
        memcpy(b.out->items, k->items, b.item_count * sizeof *k->items);
    for (uint32_t i = 0; i < b.item_count; i++) {
        struct sc__exec_item *item = &b.out->items[i];
        uint32_t op = b.out->order[item->first];
        if (x->w->ops[op].after)
            fill_needs(&b, item, op - block->first_op);
    }
    return b.out;
}

static void prepare_runner(struct claims *k, uint32_t class) {
    struct sc__executor *x = k->x;
    struct sc__runner *r = &x->runners[class];
    const struct sc__program *p = &x->w->programs[r->class->program];
    struct sc__map known;
    sc__map_init(&known, &x->arena);
    r->calls = p->calls;
    bool sums = x->options.comm_tax <= 0 && one_compute_stream(x, r);
    r->blocks = SC__NEW_ARRAY(&x->arena, struct sc__prepared *, p->calls);
    r->done = SC__NEW_ARRAY(&x->arena, uint8_t *, p->calls);
    for (uint32_t c = 0; c < p->calls; c++) {
        bool fresh;
        const struct sc__block *block = sc__call_block(x, r, c);
        uint64_t *slot = sc__map_at(&known, x->w->calls[p->first_call + c].block, &fresh);
        if (fresh)
            *slot = (uintptr_t)prepare_block(k, class, block, sums);
        r->blocks[c] = (struct sc__prepared *)(uintptr_t)*slot;
        if (r->blocks[c]->deps)
            r->done[c] = SC__NEW_ARRAY(&x->arena, uint8_t, block->ops);
    }
    sc__meet_number(x, class);
}

static uint32_t count_streams(const struct sc__workload *w) {
    uint32_t most = w->compute_stream; /* asked for even where nothing is on it */
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].stream > most)
            most = w->ops[i].stream;
    return most + 1;
}

sc_status sc__prepare(struct sc__executor *x) {
    const struct sc__workload *w = x->w;
    struct claims k = {.x = x};
    x->streams = count_streams(w);
    if (x->streams > SC__MAX_STREAMS)
        return sc__fail(x->ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "an operation is on stream %u; there are %d",
                        x->streams - 1,
                        SC__MAX_STREAMS);
    x->lanes = w->group_count + 1;
    x->across_stages = SC__NEW_ARRAY(&x->arena, bool, x->lanes);
    for (uint32_t g = 0; g < w->group_count; g++)
        x->across_stages[g] = sc__group_across_stages(w, (uint16_t)g);
    x->runners = SC__NEW_ARRAY(&x->arena, struct sc__runner, w->class_count);
    for (uint32_t c = 0; c < w->class_count; c++) {
        x->runners[c].class = &w->classes[c];
        x->runners[c].streams = SC__NEW_ARRAY(&x->arena, struct sc__stream, x->streams);
    }
    SC__TRY(sc__meet_prepare(x));
    sc__map_init(&k.users, &x->arena);
    uint8_t *seen = SC__NEW_ARRAY(&x->arena, uint8_t, w->block_count);
    for (uint32_t c = 0; c < w->class_count; c++)
        SC__TRY(claim_class(&k, c, seen));
    for (uint32_t c = 0; c < w->class_count && x->status == SC_OK; c++)
        prepare_runner(&k, c);
    return x->status;
}
