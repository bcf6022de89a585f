/* program: streams that run the operations of their calls in the order they
 * are issued. A stream is where it is in the program; it starts its next item
 * when that may start, and ends it at an event or when its transfer is over. */
#include "simulate/executor.h"

const struct sc__exec_item *sc__stream_item(const struct sc__runner *r, uint32_t stream) {
    return r->streams[stream].doing;
}

const struct sc__op *
sc__stream_op(const struct sc__executor *x, const struct sc__runner *r, uint32_t stream) {
    (void)x;
    return r->streams[stream].op;
}

static void want_work(struct sc__executor *x, uint32_t class, uint32_t stream) {
    *SC__PUSH(&x->arena, x->work, x->work_count, x->work_capacity) =
        (uint64_t) class << 8 | stream;
}

/* Moves on to the next call that has something for this stream. A stream that
 * has ended an item does so at once: where it is says what it has ended. */
static void find_item(const struct sc__executor *x, struct sc__runner *r, uint32_t stream) {
    struct sc__stream *s = &r->streams[stream];
    while (s->call < r->calls && s->item >= r->blocks[s->call]->count[stream]) {
        s->call++;
        s->item = 0;
    }
    if (s->call == r->calls)
        return;
    const struct sc__prepared *b = r->blocks[s->call];
    s->doing = &b->items[b->first[stream] + s->item];
    s->op = &x->w->ops[b->order[s->doing->first]];
}

/* All that was issued on stream `other` before the item of s has ended. */
static bool
has_ended(const struct sc__stream *s, const struct sc__stream *other, uint32_t need) {
    return other->call > s->call || (other->call == s->call && other->item >= need);
}

/* Else blocked_by is the first stream that it waits for. */
static bool
may_start(const struct sc__executor *x, const struct sc__runner *r, uint32_t stream) {
    struct sc__stream *s = &r->streams[stream];
    const struct sc__exec_item *item = s->doing;
    for (uint32_t left = item->after & ~(1u << stream); left; left &= left - 1) {
        uint32_t t = (uint32_t)__builtin_ctz(left);
        if (!has_ended(s, &r->streams[t], item->need[t])) {
            s->blocked_by = (uint8_t)t;
            return false;
        }
    }
    if (!r->blocks[s->call]->deps)
        return true;
    s->blocked_by = SC__MAX_STREAMS;
    for (uint32_t d = 0; d < s->op->deps; d++)
        if (!r->done[s->call][x->w->deps[s->op->first_dep + d]])
            return false;
    return true;
}

/* Streams that wait for what `stream` has just ended may look again. */
static void
wake_blocked(struct sc__executor *x, const struct sc__runner *r, uint32_t stream) {
    uint32_t class = (uint32_t)(r - x->runners);
    for (uint32_t left = r->blocked; left; left &= left - 1) {
        uint32_t t = (uint32_t)__builtin_ctz(left);
        const struct sc__stream *s = &r->streams[t];
        if (s->blocked_by == SC__MAX_STREAMS ||
            (s->blocked_by == stream &&
             has_ended(s, &r->streams[stream], s->doing->need[stream])))
            want_work(x, class, t);
    }
}

static void set_end_event(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    s->version++;
    sc__queue_push(&x->queue,
                   sc__run_end_time(x, r, stream),
                   class * SC__MAX_STREAMS + stream,
                   s->version);
}

/* A transfer of the class begins or ends: its compute changes pace, unless copy engines
 * carry it. */
static void change_moving(struct sc__executor *x, uint32_t class, uint16_t moving) {
    struct sc__runner *r = &x->runners[class];
    moving &= (uint16_t)~x->w->untaxed;
    bool changes = x->options.comm_tax > 0 && !r->moving != !moving;
    r->moving = moving;
    for (uint32_t left = changes ? r->computing : 0; left; left &= left - 1) {
        uint32_t t = (uint32_t)__builtin_ctz(left);
        sc__run_pace(x, class, t, moving != 0);
        set_end_event(x, class, t);
    }
}

/* A copy between a rank and its host has an engine of its own: compute keeps its pace. */
static bool takes_sms(const struct sc__executor *x, const struct sc__op *op) {
    return op->kind != SC__OP_COLLECTIVE || x->w->groups[op->group].kind != SC__GROUP_HOST;
}

static void start_run(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    const struct sc__exec_item *item = s->doing;
    s->state = SC__STREAM_RUNNING;
    sc__run_begin(x, class, stream);
    if (item->ops > 1 || s->op->kind == SC__OP_COMPUTE)
        r->computing |= (uint16_t)(1u << stream);
    else if (s->op->kind == SC__OP_COLLECTIVE && takes_sms(x, s->op))
        change_moving(x, class, r->moving | (uint16_t)(1u << stream));
    if (item->ends[item->ops - 1] == 0)
        sc__stream_end(x, class, stream);
    else
        set_end_event(x, class, stream);
}

static void start_next(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    if (s->state != SC__STREAM_NEXT && s->state != SC__STREAM_BLOCKED)
        return;
    r->blocked &= (uint16_t) ~(1u << stream);
    if (s->call == r->calls) {
        s->state = SC__STREAM_DONE;
        return;
    }
    if (!may_start(x, r, stream)) {
        s->state = SC__STREAM_BLOCKED;
        r->blocked |= (uint16_t)(1u << stream);
        return;
    }
    s->start = s->ready = x->now;
    if (x->steady)
        sc__steady_watch(x, class, stream);
    if (s->doing->sums) {
        start_run(x, class, stream);
        return;
    }
    const struct sc__op *op = sc__stream_op(x, r, stream);
    x->status = op->kind == SC__OP_COLLECTIVE ? sc__program_collective(x, class, stream, op)
                                              : sc__program_message(x, class, stream, op);
}

static void
stream_waits(struct sc__executor *x, uint32_t class, uint32_t stream, uint32_t rendezvous) {
    struct sc__stream *s = &x->runners[class].streams[stream];
    s->state = SC__STREAM_WAITING;
    s->wait = rendezvous;
}

static void stream_ready(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    sc__touch(x, class);
    if (s->op->kind != SC__OP_COLLECTIVE && !r->met) {
        x->out->classes[class].lead = x->out->classes[class].account.bubble;
        r->met = true;
    }
    s->state = SC__STREAM_TRANSFER;
    s->ready = x->now;
    change_moving(x, class, r->moving | (uint16_t)(1u << stream));
}

void sc__stream_end(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    sc__touch(x, class);
    sc__account_item(x, class, stream);
    r->computing &= (uint16_t) ~(1u << stream);
    if (r->moving >> stream & 1)
        change_moving(x, class, r->moving & (uint16_t) ~(1u << stream));
    if (r->blocks[s->call]->deps) {
        uint32_t op = (uint32_t)(sc__stream_op(x, r, stream) - x->w->ops);
        uint32_t block =
            x->w->calls[x->w->programs[r->class->program].first_call + s->call].block;
        r->done[s->call][op - x->w->blocks[block].first_op] = 1;
        if (s->call > r->done_high)
            r->done_high = s->call;
    }
    s->item++;
    find_item(x, r, stream);
    x->items_ended++;
    s->state = SC__STREAM_NEXT;
    s->version++;
    x->out->classes[class].end = x->now;
    want_work(x, class, stream);
    wake_blocked(x, r, stream);
}

/* Starts whatever can start now, until nothing more can. */
static sc_status program_start(struct sc__executor *x) {
    for (uint32_t i = 0; i < x->work_count && x->status == SC_OK; i++) {
        uint32_t class = (uint32_t)(x->work[i] >> 8);
        uint32_t stream = (uint32_t)(x->work[i] & 0xff);
        sc__touch(x, class);
        start_next(x, class, stream);
    }
    x->work_count = 0;
    return x->status;
}

static bool program_stale(const struct sc__executor *x, struct sc__queued e) {
    if (e.a & SC__EVENT_RENDEZVOUS)
        return false;
    return x->runners[e.a / SC__MAX_STREAMS].streams[e.a % SC__MAX_STREAMS].version != e.b;
}

static sc_status program_event(struct sc__executor *x, struct sc__queued e) {
    sc__stream_end(x, e.a / SC__MAX_STREAMS, e.a % SC__MAX_STREAMS);
    return SC_OK;
}

static uint64_t count_items(const struct sc__executor *x) {
    uint64_t n = 0;
    for (uint32_t c = 0; c < x->w->class_count; c++)
        for (uint32_t k = 0; k < x->runners[c].calls; k++)
            for (uint32_t s = 0; s < x->streams; s++)
                n += x->runners[c].blocks[k]->count[s];
    return n;
}

static sc_status program_prepare(struct sc__executor *x) {
    SC__TRY(sc__prepare(x));
    x->items = x->ctx->progress ? count_items(x) : 0;
    for (uint32_t c = 0; c < x->w->class_count; c++)
        for (uint32_t s = 0; s < x->streams; s++) {
            find_item(x, &x->runners[c], s);
            want_work(x, c, s);
        }
    return SC_OK;
}

static sc_status program_check_end(struct sc__executor *x) {
    for (uint32_t c = 0; c < x->w->class_count; c++)
        for (uint32_t s = 0; s < x->streams; s++)
            if (x->runners[c].streams[s].state != SC__STREAM_DONE)
                return sc__deadlock(x);
    return x->net->ops->passed ? sc__run_tell_passed(x) : SC_OK;
}

const struct sc__policy sc__policy_program = {.prepare = program_prepare,
                                              .start = program_start,
                                              .event = program_event,
                                              .stale = program_stale,
                                              .waits = stream_waits,
                                              .ready = stream_ready,
                                              .leaves = sc__program_leaves,
                                              .closes = sc__program_closes,
                                              .check_end = program_check_end,
                                              .idle_category = sc__account_program_idle};
