/* account: every picosecond of a class belongs to one category.
 *
 * At any moment the class is in one state: something computes; or its compute
 * stream is held by a transfer (communication, or waiting for the peers of
 * it); or that stream waits for another stream, and what that one does counts.
 * The state changes only at events, so the time between two events is added to
 * the category that held: the parts add up to the step by construction. */
#include "simulate/executor.h"

static struct sc__class_result *result(struct sc__executor *x, uint32_t class) {
    return &x->out->classes[class];
}

static void keep_idle(
    struct sc__executor *x, uint32_t class, int32_t category, int64_t from, int64_t to) {
    static const uint32_t why[] = {[SC__CAT_OTHER] = SC__IDLE_OTHER,
                                   [SC__CAT_BUBBLE] = SC__IDLE_BUBBLE,
                                   [SC__CAT_SKEW] = SC__IDLE_SKEW};
    struct sc__timeline *t = x->out->timeline;
    if (category == SC__CAT_COMPUTE || category == SC__CAT_RECOMPUTE)
        return;
    *SC__PUSH(&x->ctx->arena, t->idles, t->idle_count, t->idle_capacity) =
        (struct sc__idle){.class = class,
                          .why = category < SC__CAT_LANE
                                     ? why[category]
                                     : SC__IDLE_COMM + (uint32_t)(category - SC__CAT_LANE),
                          .start = from,
                          .end = to};
}

void sc__account_time(
    struct sc__executor *x, uint32_t class, int32_t category, int64_t from, int64_t to) {
    struct sc__account *a = &result(x, class)->account;
    int64_t passed = to - from;
    if (!passed)
        return;
    if (x->out->timeline)
        keep_idle(x, class, category, from, to);
    switch (category) {
    case SC__CAT_COMPUTE:
        a->compute += passed;
        break;
    case SC__CAT_RECOMPUTE:
        a->recompute += passed;
        break;
    case SC__CAT_OTHER:
        a->other += passed;
        break;
    case SC__CAT_BUBBLE:
        a->bubble += passed;
        break;
    case SC__CAT_SKEW:
        a->skew += passed;
        break;
    default:
        a->exposed[category - SC__CAT_LANE] += passed;
        break;
    }
}

void sc__account_settle(struct sc__executor *x, uint32_t class) {
    struct sc__runner *r = &x->runners[class];
    if (r->category == SC__CAT_RUN)
        return; /* a run knows itself what it did (run.c) */
    sc__account_time(x, class, r->category, r->mark, x->now);
    r->mark = x->now;
}

/* Of an operation that computes, or that communicates with all its peers there. */
int32_t sc__account_category(const struct sc__executor *x, const struct sc__op *op) {
    if (op->kind != SC__OP_COMPUTE)
        return (int32_t)(SC__CAT_LANE + sc__lane(x, op));
    if (op->work == SC__WORK_HOST)
        return SC__CAT_OTHER;
    return op->phase == SC__RECOMPUTE ? SC__CAT_RECOMPUTE : SC__CAT_COMPUTE;
}

/* What the stream is busy with, as far as its class is held up by it; -1:
 * nothing. A stream that waits for others is busy with what they do: with a
 * transfer if one runs, else with what the first of them waits for. seen keeps
 * streams that wait for each other from being asked twice. */
static int32_t
stream_category(struct sc__executor *x, uint32_t class, uint32_t stream, uint16_t *seen) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    *seen |= (uint16_t)(1u << stream);
    if (s->state == SC__STREAM_DONE || s->state == SC__STREAM_NEXT)
        return -1;
    const struct sc__op *op = sc__stream_op(x, r, stream);
    if (s->state == SC__STREAM_RUNNING && op->kind == SC__OP_COMPUTE)
        return sc__account_category(x, op);
    if (s->state == SC__STREAM_WAITING)
        return op->kind == SC__OP_COLLECTIVE && !x->across_stages[op->group]
                   ? SC__CAT_SKEW
                   : SC__CAT_BUBBLE;
    if (s->state != SC__STREAM_BLOCKED)
        return sc__account_category(x, op);
    uint16_t others = op->deps ? UINT16_MAX : sc__stream_item(r, stream)->after;
    int32_t waiting = -1;
    for (uint32_t t = 0; t < x->streams; t++) {
        if (*seen >> t & 1 || !(others >> t & 1))
            continue;
        int32_t found = stream_category(x, class, t, seen);
        if (found >= SC__CAT_LANE)
            return found;
        if (waiting < 0)
            waiting = found;
    }
    return waiting;
}

/* The compute stream is done: an asynchronous transfer may still run;
 * otherwise the class waits for the others to finish the step. */
static int32_t idle_category(struct sc__executor *x, uint32_t class) {
    uint16_t seen = 0;
    for (uint32_t t = 0; t < x->streams; t++) {
        int32_t found = stream_category(x, class, t, &seen);
        if (found >= 0)
            return found;
    }
    return x->w->mesh.pp > 1 ? SC__CAT_BUBBLE : SC__CAT_SKEW;
}

void sc__account_classify(struct sc__executor *x, uint32_t class) {
    struct sc__runner *r = &x->runners[class];
    uint32_t main = x->w->compute_stream;
    struct sc__stream *s = &r->streams[main];
    r->category = SC__CAT_OTHER;
    uint16_t seen = 0;
    if (s->state == SC__STREAM_RUNNING && sc__stream_item(r, main)->ops > 1) {
        r->category = SC__CAT_RUN;
        return;
    }
    for (uint32_t t = 0; t < x->streams; t++)
        if (r->computing >> t & 1) {
            r->category = sc__account_category(x, sc__stream_op(x, r, t));
            return;
        }
    int32_t found = s->state == SC__STREAM_DONE ? idle_category(x, class)
                                                : stream_category(x, class, main, &seen);
    if (found >= 0)
        r->category = found;
}

void sc__account_span(struct sc__executor *x,
                      uint32_t class,
                      uint32_t op,
                      uint32_t call,
                      int64_t start,
                      int64_t ready,
                      int64_t end) {
    struct sc__timeline *t = x->out->timeline;
    const struct sc__call *c =
        &x->w->calls[x->w->programs[x->w->classes[class].program].first_call + call];
    *SC__PUSH(&x->ctx->arena, t->spans, t->count, t->capacity) =
        (struct sc__span){.class = class,
                          .op = op,
                          .micro_batch = c->micro_batch,
                          .chunk = c->chunk,
                          .start = start,
                          .ready = ready,
                          .end = end,
                          .peer_span = SC__NONE};
}

/* An item of the stream has just ended. */
void sc__account_item(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    if (s->doing->sums) {
        sc__run_close(x, class, stream);
        return;
    }
    const struct sc__op *op = s->op;
    struct sc__traffic *t = &result(x, class)->traffic[sc__lane(x, op)];
    if (op->kind != SC__OP_RECV) { /* a message counts where it is sent */
        t->ops++;
        t->bytes += op->bytes;
    }
    t->busy += x->now - s->ready;
    if (!x->out->timeline)
        return;
    sc__account_span(x,
                     class,
                     (uint32_t)(op - x->w->ops),
                     s->call,
                     s->start,
                     s->ready,
                     x->now);
    s->span = x->out->timeline->count - 1;
}

void sc__account_finish(struct sc__executor *x) {
    for (uint32_t c = 0; c < x->w->class_count; c++)
        sc__account_settle(x, c);
}
