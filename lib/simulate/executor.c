/* executor: the clock. Streams start their next item when it may start, and
 * end it at an event; the network engine says when transfers complete. */
#include "simulate/executor.h"

#include <string.h>

const struct sc__exec_item *sc__stream_item(const struct sc__runner *r, uint32_t stream) {
    return r->streams[stream].doing;
}

const struct sc__op *
sc__stream_op(const struct sc__executor *x, const struct sc__runner *r, uint32_t stream) {
    (void)x;
    return r->streams[stream].op;
}

void sc__touch(struct sc__executor *x, uint32_t class) {
    struct sc__runner *r = &x->runners[class];
    if (r->touched)
        return;
    r->touched = true;
    sc__account_settle(x, class);
    *SC__PUSH(&x->arena, x->touched, x->touched_count, x->touched_capacity) = class;
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

static bool
may_start(const struct sc__executor *x, const struct sc__runner *r, uint32_t stream) {
    const struct sc__stream *s = &r->streams[stream];
    const struct sc__exec_item *item = s->doing;
    for (uint32_t t = 0; item->after >> t; t++)
        if (item->after >> t & 1 && t != stream &&
            !has_ended(s, &r->streams[t], item->need[t]))
            return false;
    if (!r->blocks[s->call]->deps)
        return true;
    for (uint32_t d = 0; d < s->op->deps; d++)
        if (!r->done[s->call][x->w->deps[s->op->first_dep + d]])
            return false;
    return true;
}

static void set_end_event(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    s->version++;
    sc__heap_push(&x->heap,
                  sc__run_end_time(x, r, stream),
                  class * SC__MAX_STREAMS + stream,
                  s->version);
}

/* A transfer of the class begins or ends: its compute changes pace. */
static void change_moving(struct sc__executor *x, uint32_t class, uint16_t moving) {
    struct sc__runner *r = &x->runners[class];
    bool changes = x->options.comm_tax > 0 && !r->moving != !moving;
    r->moving = moving;
    for (uint32_t t = 0; changes && t < x->streams; t++) {
        if (!(r->computing >> t & 1))
            continue;
        sc__run_pace(x, class, t, moving != 0);
        set_end_event(x, class, t);
    }
}

static void start_run(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__runner *r = &x->runners[class];
    struct sc__stream *s = &r->streams[stream];
    const struct sc__exec_item *item = s->doing;
    s->state = SC__STREAM_RUNNING;
    sc__run_begin(x, class, stream);
    if (item->ops > 1 || s->op->kind == SC__OP_COMPUTE)
        r->computing |= (uint16_t)(1u << stream);
    else if (s->op->kind == SC__OP_COLLECTIVE)
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
    x->status = op->kind == SC__OP_COLLECTIVE
                    ? sc__rendezvous_collective(x, class, stream, op)
                    : sc__rendezvous_message(x, class, stream, op);
}

void sc__stream_ready(struct sc__executor *x, uint32_t class, uint32_t stream) {
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
    for (uint32_t t = 0; r->blocked >> t; t++)
        if (r->blocked >> t & 1)
            want_work(x, class, t);
}

/* Starts whatever can start now, until nothing more can. */
static void do_work(struct sc__executor *x) {
    for (uint32_t i = 0; i < x->work_count && x->status == SC_OK; i++) {
        uint32_t class = (uint32_t)(x->work[i] >> 8);
        uint32_t stream = (uint32_t)(x->work[i] & 0xff);
        sc__touch(x, class);
        start_next(x, class, stream);
    }
    x->work_count = 0;
    for (uint32_t i = 0; i < x->touched_count; i++) {
        sc__account_classify(x, x->touched[i]);
        x->runners[x->touched[i]].touched = false;
    }
    x->touched_count = 0;
}

bool sc__event_is_stale(const struct sc__executor *x, const struct sc__event *e) {
    if (e->a & SC__EVENT_RENDEZVOUS)
        return false;
    return x->runners[e->a / SC__MAX_STREAMS].streams[e->a % SC__MAX_STREAMS].version !=
           e->b;
}

/* The time of the next event that still counts: an end that was moved leaves
 * its old event behind, which must not move the clock. */
static int64_t next_event(struct sc__executor *x) {
    while (x->heap.count && sc__event_is_stale(x, &x->heap.items[0]))
        sc__heap_pop(&x->heap);
    return sc__heap_time(&x->heap);
}

static void take_event(struct sc__executor *x) {
    struct sc__event e = sc__heap_pop(&x->heap);
    x->out->events++;
    if (e.a & SC__EVENT_RENDEZVOUS)
        sc__rendezvous_over(x, e.a & ~SC__EVENT_RENDEZVOUS, true);
    else
        sc__stream_end(x, e.a / SC__MAX_STREAMS, e.a % SC__MAX_STREAMS);
}

/* Several jobs: the transfer says whose it is. */
static sc_status take_transfers(struct sc__executor *jobs, int64_t now) {
    struct sc__transfer done;
    bool found;
    for (;;) {
        SC__TRY(jobs->net->ops->finish(jobs->net->self, now, &done, &found));
        if (!found)
            return SC_OK;
        struct sc__executor *x = &jobs[done.job];
        x->now = now;
        x->out->events++;
        sc__rendezvous_over(x, (uint32_t)done.user, false);
    }
}

#define REPORT_EVENTS 65536

static void report(struct sc__executor *x) {
    if (x->out->events < x->next_report)
        return;
    x->next_report = x->out->events + REPORT_EVENTS;
    if (x->items && x->status == SC_OK)
        x->status =
            sc__progress(x->ctx, "simulating", (double)x->items_ended / (double)x->items);
}

static uint64_t count_items(const struct sc__executor *x) {
    uint64_t n = 0;
    for (uint32_t c = 0; c < x->w->class_count; c++)
        for (uint32_t k = 0; k < x->runners[c].calls; k++)
            for (uint32_t s = 0; s < x->streams; s++)
                n += x->runners[c].blocks[k]->count[s];
    return n;
}

static void take_events(struct sc__executor *jobs, uint32_t count, int64_t now) {
    for (uint32_t i = 0; i < count; i++)
        while (next_event(&jobs[i]) == now) {
            jobs[i].now = now;
            take_event(&jobs[i]);
        }
}

static sc_status start_work(struct sc__executor *jobs, uint32_t count, int64_t *event) {
    *event = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        do_work(&jobs[i]);
        SC__TRY(jobs[i].status);
        report(&jobs[i]);
        int64_t next = next_event(&jobs[i]);
        if (next < *event)
            *event = next;
    }
    return SC_OK;
}

/* Steps that overlap follow each other at the distance of the class that takes
 * longest, from its first to its last operation: all operations of a step
 * moved by that distance are the next step, and no class runs two at once.
 * What a class does before its first message nobody notices: it may begin
 * later by the time it then waits, while the step before still ends. */
static int64_t step_distance(const struct sc__executor *x) {
    int64_t longest = 0;
    if (!x->w->steps_overlap || x->w->mesh.pp == 1)
        return x->now;
    for (uint32_t c = 0; c < x->w->class_count; c++) {
        const struct sc__class_result *r = &x->out->classes[c];
        if (r->end - r->lead > longest)
            longest = r->end - r->lead;
    }
    return longest;
}

static sc_status end_job(struct sc__executor *x) {
    for (uint32_t c = 0; c < x->w->class_count; c++)
        for (uint32_t s = 0; s < x->streams; s++)
            if (x->runners[c].streams[s].state != SC__STREAM_DONE)
                return sc__rendezvous_deadlock(x);
    sc__account_finish(x);
    x->out->step = step_distance(x);
    x->out->overlap = x->now - x->out->step;
    for (uint32_t c = 0; c < x->w->class_count; c++)
        x->out->classes[c].account.bubble -= x->out->overlap;
    if (x->out->timeline)
        x->out->timeline->end = x->now;
    return SC_OK;
}

sc_status sc__too_long(struct sc_context *ctx) {
    return sc__fail(ctx,
                    SC_INPUT,
                    NULL,
                    "look for a time or a size with too many digits",
                    "the step takes more than 26 days");
}

/* After all that can start has started: here a state is complete. */
static sc_status skip_periods(struct sc__executor *x, int64_t *event) {
    SC__TRY(sc__steady_look(x));
    *event = next_event(x);
    return SC_OK;
}

static sc_status executor_run(struct sc__executor *jobs, uint32_t count) {
    const struct sc__net *net = jobs->net;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t c = 0; c < jobs[i].w->class_count; c++)
            for (uint32_t s = 0; s < jobs[i].streams; s++) {
                find_item(&jobs[i], &jobs[i].runners[c], s);
                want_work(&jobs[i], c, s);
            }
    }
    for (;;) {
        int64_t event;
        SC__TRY(start_work(jobs, count, &event));
        if (jobs->steady)
            SC__TRY(skip_periods(jobs, &event));
        int64_t transfer;
        SC__TRY(net->ops->next(net->self, &transfer));
        int64_t now = transfer <= event ? transfer : event;
        if (now == INT64_MAX)
            break;
        if (transfer <= event)
            SC__TRY(take_transfers(jobs, now));
        else
            take_events(jobs, count, now);
        if (now > SC__LONGEST)
            return sc__too_long(jobs->ctx);
    }
    for (uint32_t i = 0; i < count; i++)
        SC__TRY(end_job(&jobs[i]));
    return SC_OK;
}

static void prepare_results(struct sc__executor *x) {
    struct sc__arena *a = &x->ctx->arena;
    x->out->classes = SC__NEW_ARRAY(a, struct sc__class_result, x->w->class_count);
    for (uint32_t c = 0; c < x->w->class_count; c++) {
        x->out->classes[c].account.exposed = SC__NEW_ARRAY(a, int64_t, x->lanes);
        x->out->classes[c].traffic = SC__NEW_ARRAY(a, struct sc__traffic, x->lanes);
    }
    if (!x->options.keep_timeline)
        return;
    x->out->timeline = SC__NEW(a, struct sc__timeline);
    x->out->timeline->workload = x->w;
}

static sc_status begin_job(struct sc__executor *x,
                           struct sc_context *ctx,
                           const struct sc__workload *w,
                           const struct sc__net *net,
                           const struct sc__sim_options *options,
                           bool alone,
                           struct sc__sim *out) {
    *x = (struct sc__executor){.ctx = ctx, .w = w, .net = net, .out = out, .job = x->job};
    memset(out, 0, sizeof *out);
    if (options)
        x->options = *options;
    if (x->options.comm_tax <= 0)
        x->options.comm_tax = w->comm_tax;
    sc__arena_init(&x->arena, &ctx->recover);
    sc__heap_init(&x->heap, &x->arena);
    SC__TRY(sc__prepare(x));
    x->items = ctx->progress ? count_items(x) : 0;
    prepare_results(x);
    if (alone)
        sc__steady_prepare(x);
    return SC_OK;
}

sc_status sc__simulate_jobs(struct sc_context *ctx,
                            const struct sc__workload *const *w,
                            uint32_t count,
                            const struct sc__net *net,
                            const struct sc__sim_options *options,
                            struct sc__sim *out) {
    struct sc__executor *jobs = SC__NEW_ARRAY(&ctx->arena, struct sc__executor, count);
    sc_status status = SC_OK;
    for (uint32_t i = 0; i < count && status == SC_OK; i++) {
        jobs[i].job = i;
        status = begin_job(&jobs[i], ctx, w[i], net, options, count == 1, &out[i]);
    }
    if (status == SC_OK)
        status = executor_run(jobs, count);
    for (uint32_t i = 0; i < count; i++)
        sc__arena_free(&jobs[i].arena);
    for (uint32_t i = 0; i < count && status == SC_OK; i++)
        status = sc__sim_check(ctx, w[i], &out[i]);
    return status;
}

sc_status sc__simulate(struct sc_context *ctx,
                       const struct sc__workload *w,
                       const struct sc__net *net,
                       const struct sc__sim_options *options,
                       struct sc__sim *out) {
    if (sc__workload_is_graph(w))
        return sc__simulate_graph(ctx, w, net, options, out);
    return sc__simulate_jobs(ctx, &w, 1, net, options, out);
}
