/* run: operations of known cost, one after the other on a stream, for one
 * event. Compute goes on at 1/(1 + comm_tax) of its pace while transfers of
 * its rank run, so a run must know where it is whenever the pace changes. It
 * then walks its operations from where it was last: each is rounded to whole
 * picoseconds as if it had an event of its own, and the sums come out the same. */
#include "simulate/executor.h"

int64_t sc__run_slow_cost(const struct sc__executor *x, int64_t cost) {
    return (int64_t)llround(fmin((double)cost / x->slow_speed, 0x1p62));
}

static const struct sc__op *run_op(const struct sc__executor *x,
                                   const struct sc__runner *r,
                                   const struct sc__stream *s) {
    return &x->w->ops[r->blocks[s->call]->order[s->doing->first + s->at]];
}

static int64_t run_op_cost(const struct sc__exec_item *item, uint32_t at) {
    return item->ends[at] - (at ? item->ends[at - 1] : 0);
}

/* Of the operation it is in, at its pace. */
static int64_t op_time_left(const struct sc__executor *x,
                            const struct sc__runner *r,
                            const struct sc__stream *s) {
    if (s->slow && run_op(x, r, s)->kind == SC__OP_COMPUTE)
        return sc__run_slow_cost(x, s->left);
    return s->left;
}

void sc__run_begin(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    s->at = 0;
    s->left = run_op_cost(s->doing, 0);
    s->since = x->now;
    s->op_start = x->now;
    s->slow = x->options.comm_tax > 0 && r->moving;
}

int64_t sc__run_end_time(const struct sc__executor *x,
                         const struct sc__runner *r,
                         uint32_t stream) {
    const struct sc__stream *s = &r->streams[stream];
    const struct sc__exec_item *item = s->doing;
    if (s->at == item->ops)
        return s->since;
    const int64_t *ends = s->slow ? item->slow_ends : item->ends;
    return s->since + op_time_left(x, r, s) + (ends[item->ops - 1] - ends[s->at]);
}

/* The class was in the operation from s->since to `to`. The time of an item of
 * one operation is added when the class's state changes (account.c). */
static void
account_part(struct sc__executor *x, uint32_t class, struct sc__stream *s, int64_t to) {
    const struct sc__op *op = run_op(x, &x->runners[class], s);
    if (op->kind == SC__OP_COMPUTE)
        x->out->classes[class].work[op->work] += to - s->since;
    if (s->doing->ops > 1 && op->kind != SC__OP_WAIT)
        sc__account_time(x, class, sc__account_category(x, op), s->since, to);
    s->since = to;
}

static void end_op(struct sc__executor *x, uint32_t class, struct sc__stream *s) {
    const struct sc__runner *r = &x->runners[class];
    const struct sc__op *op = run_op(x, r, s);
    if (x->out->timeline && op->kind != SC__OP_WAIT)
        sc__account_span(x,
                         class,
                         (uint32_t)(op - x->w->ops),
                         s->call,
                         s->op_start,
                         s->op_start,
                         s->since);
    s->op_start = s->since;
    s->at++;
    s->left = s->at < s->doing->ops ? run_op_cost(s->doing, s->at) : 0;
}

/* Goes on to now at the pace it has. */
static void advance(struct sc__executor *x, uint32_t class, struct sc__stream *s) {
    const struct sc__runner *r = &x->runners[class];
    while (s->at < s->doing->ops) {
        int64_t end = s->since + op_time_left(x, r, s);
        if (end > x->now)
            break;
        account_part(x, class, s, end);
        end_op(x, class, s);
    }
    if (s->at == s->doing->ops)
        return;
    int64_t passed = x->now - s->since;
    bool slow = s->slow && run_op(x, r, s)->kind == SC__OP_COMPUTE;
    int64_t done = slow ? (int64_t)llround((double)passed * x->slow_speed) : passed;
    account_part(x, class, s, x->now);
    s->left = s->left > done ? s->left - done : 0;
}

void sc__run_pace(struct sc__executor *x, uint32_t class, uint32_t stream, bool slow) {
    struct sc__stream *s = &x->runners[class].streams[stream];
    advance(x, class, s);
    s->slow = slow;
}

static void
add_sums(struct sc__executor *x, uint32_t class, const struct sc__sums *s, bool times) {
    struct sc__class_result *to = &x->out->classes[class];
    for (uint32_t g = 0; s->traffic && g < x->lanes; g++) {
        to->traffic[g].ops += s->traffic[g].ops;
        to->traffic[g].bytes += s->traffic[g].bytes;
        to->traffic[g].busy += s->traffic[g].busy;
        if (times)
            to->account.exposed[g] += s->exposed[g];
    }
    if (!times)
        return;
    for (unsigned k = 0; k < SC__WORKS; k++)
        to->work[k] += s->work[k];
    to->account.compute += s->compute;
    to->account.recompute += s->recompute;
    to->account.other += s->other;
}

void sc__run_close(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    bool several = s->doing->ops > 1;
    /* Nothing of it has been accounted for, and its times are the sums'. */
    bool whole =
        several && s->at == 0 && s->since == s->start && !s->slow && !x->out->timeline;
    add_sums(x, class, s->doing->sums, whole);
    if (!whole)
        advance(x, class, s);
    if (several)
        r->mark = x->now;
}

/* Those of one block that a class called so many times. */
static sc_status tell_block(struct sc__executor *x,
                            uint32_t class,
                            const struct sc__prepared *b,
                            uint64_t times) {
    for (uint32_t s = 0; s < x->streams; s++)
        for (uint32_t i = b->first[s]; i < b->first[s] + b->count[s]; i++) {
            const struct sc__exec_item *item = &b->items[i];
            for (uint32_t k = 0; item->sums && k < item->ops; k++) {
                const struct sc__op *op = &x->w->ops[b->order[item->first + k]];
                if (op->kind != SC__OP_COLLECTIVE || op->flags & SC__OP_MEASURED)
                    continue;
                struct sc_transfer t = sc__transfer_of(x, class, op);
                SC__TRY(x->net->ops->passed(x->net->self, &t, times));
            }
        }
    return SC_OK;
}

sc_status sc__run_tell_passed(struct sc__executor *x) {
    struct sc__map calls; /* by block: how often it is called */
    for (uint32_t c = 0; c < x->w->class_count; c++) {
        const struct sc__runner *r = &x->runners[c];
        sc__map_init(&calls, &x->arena);
        for (uint32_t k = 0; k < r->calls; k++)
            ++*sc__map_at(&calls, (uintptr_t)r->blocks[k], NULL);
        for (uint32_t k = 0; k < r->calls; k++) {
            uint64_t *times = sc__map_at(&calls, (uintptr_t)r->blocks[k], NULL);
            if (*times)
                SC__TRY(tell_block(x, c, r->blocks[k], *times));
            *times = 0; /* told */
        }
    }
    return SC_OK;
}
