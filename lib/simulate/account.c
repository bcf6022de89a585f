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
    if (x->out->timeline && passed > 0)
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

/* Of an operation that computes, or that communicates with all its peers there. */
int32_t sc__account_category(const struct sc__executor *x, const struct sc__op *op) {
    if (op->kind != SC__OP_COMPUTE)
        return (int32_t)(SC__CAT_LANE + sc__lane(x, op));
    if (op->work == SC__WORK_HOST)
        return SC__CAT_OTHER;
    return op->phase == SC__RECOMPUTE ? SC__CAT_RECOMPUTE : SC__CAT_COMPUTE;
}

/* Peers of one stage are late by themselves; others by the pipeline. */
static bool waits_in_skew(const struct sc__executor *x, const struct sc__op *op) {
    return op->kind == SC__OP_COLLECTIVE && !x->across_stages[op->group];
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
        return waits_in_skew(x, op) ? SC__CAT_SKEW : SC__CAT_BUBBLE;
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

/* After its last operation a class waits for the others to finish the step. */
static int32_t end_category(const struct sc__executor *x) {
    return x->w->mesh.pp > 1 ? SC__CAT_BUBBLE : SC__CAT_SKEW;
}

/* The compute stream is done: an asynchronous transfer may still run. */
static int32_t done_category(struct sc__executor *x, uint32_t class) {
    uint16_t seen = 0;
    for (uint32_t t = 0; t < x->streams; t++) {
        int32_t found = stream_category(x, class, t, &seen);
        if (found >= 0)
            return found;
    }
    return end_category(x);
}

int32_t sc__account_program_idle(struct sc__executor *x, uint32_t class) {
    uint32_t main = x->w->compute_stream;
    uint16_t seen = 0;
    if (x->runners[class].streams[main].state == SC__STREAM_DONE)
        return done_category(x, class);
    int32_t found = stream_category(x, class, main, &seen);
    return found >= 0 ? found : SC__CAT_OTHER;
}

/* Of several transfers the one counts whose group began last. */
int32_t sc__account_graph_idle(struct sc__executor *x, uint32_t class) {
    const struct sc__under_way *u = &x->runners[class].under_way;
    if (u->lane_count)
        return SC__CAT_LANE + (int32_t)u->lanes[u->lane_count - 1].lane;
    if (u->skew)
        return SC__CAT_SKEW;
    if (u->bubble)
        return SC__CAT_BUBBLE;
    return u->left ? SC__CAT_OTHER : end_category(x);
}

/* A stream that computes counts before one whose host is late. */
static const struct sc__op *computing_op(const struct sc__runner *r) {
    const struct sc__op *host = NULL;
    for (uint32_t left = r->computing; left; left &= left - 1) {
        const struct sc__op *op = r->streams[__builtin_ctz(left)].op;
        if (op->work != SC__WORK_HOST)
            return op;
        host = op;
    }
    return host;
}

static int32_t class_category(struct sc__executor *x, uint32_t class) {
    const struct sc__runner *r = &x->runners[class];
    const struct sc__stream *main = &r->streams[x->w->compute_stream];
    if (main->state == SC__STREAM_RUNNING && main->doing->ops > 1)
        return SC__CAT_RUN;
    if (r->computing)
        return sc__account_category(x, computing_op(r));
    return x->policy->idle_category(x, class);
}

void sc__account_settle(struct sc__executor *x, uint32_t class) {
    struct sc__runner *r = &x->runners[class];
    int32_t category = class_category(x, class);
    if (category == SC__CAT_RUN)
        return; /* a run knows itself what it did (run.c) */
    sc__account_time(x, class, category, r->mark, x->now);
    r->mark = x->now;
}

void sc__account_move(struct sc__executor *x, uint32_t class, uint32_t lane) {
    struct sc__under_way *u = &x->runners[class].under_way;
    sc__touch(x, class);
    for (uint32_t i = 0; i < u->lane_count; i++)
        if (u->lanes[i].lane == lane) {
            u->lanes[i].count++;
            return;
        }
    *SC__PUSH(&x->arena, u->lanes, u->lane_count, u->lane_capacity) =
        (struct sc__lane_use){lane, 1, x->now};
}

void sc__account_arrive(struct sc__executor *x, uint32_t class, uint32_t lane) {
    struct sc__under_way *u = &x->runners[class].under_way;
    sc__touch(x, class);
    uint32_t i = 0;
    while (u->lanes[i].lane != lane)
        i++;
    if (--u->lanes[i].count)
        return;
    result(x, class)->traffic[lane].busy += x->now - u->lanes[i].since;
    for (u->lane_count--; i < u->lane_count; i++)
        u->lanes[i] = u->lanes[i + 1];
}

void sc__account_wait(struct sc__executor *x,
                      uint32_t class,
                      const struct sc__op *op,
                      int by) {
    struct sc__under_way *u = &x->runners[class].under_way;
    sc__touch(x, class);
    *(waits_in_skew(x, op) ? &u->skew : &u->bubble) += (uint32_t)by;
}

void sc__account_traffic(struct sc__executor *x,
                         uint32_t class,
                         uint32_t lane,
                         uint64_t bytes) {
    struct sc__traffic *t = &result(x, class)->traffic[lane];
    t->ops++;
    t->bytes += bytes;
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
    if (op->kind != SC__OP_RECV) /* a message counts where it is sent */
        sc__account_traffic(x, class, sc__lane(x, op), op->bytes);
    result(x, class)->traffic[sc__lane(x, op)].busy += x->now - s->ready;
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
