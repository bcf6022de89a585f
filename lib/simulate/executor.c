/* executor: the clock. Operations end at events, and when the network engine
 * says that their transfer is over; then a policy starts what can start now:
 * streams in the order of their programs (program.c), or whatever is ready
 * (graph.c). */
#include "simulate/executor.h"

#include <math.h>
#include <string.h>

/* The time of the next event that still counts: an end that was moved leaves
 * its old event behind, which must not move the clock. */
static int64_t next_event(struct sc__executor *x) {
    if (x->policy->stale)
        while (!sc__queue_empty(&x->queue) &&
               x->policy->stale(x, sc__queue_first(&x->queue)))
            sc__queue_pop(&x->queue);
    return sc__queue_time(&x->queue);
}

/* Several jobs: the transfer says whose it is. */
static sc_status take_transfers(struct sc__executor *jobs, int64_t now) {
    struct sc_transfer done;
    bool found;
    for (;;) {
        SC__TRY(jobs->net->ops->finish(jobs->net->self, now, &done, &found));
        if (!found)
            return SC_OK;
        struct sc__executor *x = &jobs[done.job];
        x->now = now;
        x->out->events++;
        SC__TRY(done.user >> 32 ? x->policy->message_over(x, &done)
                                : sc__rendezvous_over(x, (uint32_t)done.user, false));
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

static sc_status take_events(struct sc__executor *jobs, uint32_t count, int64_t now) {
    for (uint32_t i = 0; i < count; i++) {
        struct sc__executor *x = &jobs[i];
        while (next_event(x) == now) {
            x->now = now;
            x->out->events++;
            struct sc__queued e = sc__queue_pop(&x->queue);
            if (e.a & SC__EVENT_RENDEZVOUS)
                SC__TRY(sc__rendezvous_over(x, e.a & ~SC__EVENT_RENDEZVOUS, true));
            else
                SC__TRY(x->policy->event(x, e));
        }
    }
    return SC_OK;
}

static sc_status start_work(struct sc__executor *jobs, uint32_t count, int64_t *event) {
    *event = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        SC__TRY(jobs[i].policy->start(&jobs[i]));
        report(&jobs[i]);
        SC__TRY(jobs[i].status);
        int64_t next = jobs[i].more_now ? jobs[i].now : next_event(&jobs[i]);
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
    SC__TRY(x->policy->check_end(x));
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

/* Asked once in so many turns of the clock, and where periods were skipped. */
#define LIMIT_TURNS 64

/* The run is so late that it cannot end within its limit. */
static bool is_past_limit(const struct sc__executor *x) {
    const struct sc__pace *p = x->options.pace;
    int64_t reached = 0;
    for (uint32_t c = 0; c < x->w->class_count; c++) {
        const struct sc__runner *r = &x->runners[c];
        int64_t at = p->reached[c][r->streams[x->w->compute_stream].call];
        if (at > reached)
            reached = at;
    }
    return x->now + p->total - reached > x->options.limit;
}

static bool ends_early(const struct sc__executor *x, uint64_t turn, uint64_t skipped) {
    bool asked = turn % LIMIT_TURNS == 0 || x->out->skipped != skipped;
    return x->options.pace && asked && is_past_limit(x);
}

static sc_status executor_run(struct sc__executor *jobs, uint32_t count) {
    const struct sc__net *net = jobs->net;
    for (uint64_t turn = 1;; turn++) {
        int64_t event;
        uint64_t skipped = jobs->out->skipped;
        SC__TRY(start_work(jobs, count, &event));
        if (sc__steady_due(jobs))
            SC__TRY(skip_periods(jobs, &event));
        if (ends_early(jobs, turn, skipped)) {
            jobs->out->cut = true;
            return SC_OK;
        }
        int64_t transfer = event; /* nothing starts before */
        SC__TRY(net->ops->next(net->self, &transfer));
        int64_t now = transfer <= event ? transfer : event;
        if (now == INT64_MAX)
            break;
        if (transfer <= event)
            SC__TRY(take_transfers(jobs, now));
        if (event < transfer || jobs->policy->all_ends_first)
            SC__TRY(take_events(jobs, count, now));
        if (now > SC__LONGEST)
            return sc__too_long(jobs->ctx);
    }
    for (uint32_t i = 0; i < count; i++)
        SC__TRY(end_job(&jobs[i]));
    return SC_OK;
}

static void prepare_results(struct sc__executor *x) {
    struct sc__arena *a = &x->ctx->arena;
    size_t cells = (size_t)x->w->class_count * x->lanes;
    int64_t *exposed = SC__NEW_ARRAY(a, int64_t, cells);
    struct sc__traffic *traffic = SC__NEW_ARRAY(a, struct sc__traffic, cells);
    x->out->classes = SC__NEW_ARRAY(a, struct sc__class_result, x->w->class_count);
    for (uint32_t c = 0; c < x->w->class_count; c++) {
        x->out->classes[c].account.exposed = exposed + (size_t)c * x->lanes;
        x->out->classes[c].traffic = traffic + (size_t)c * x->lanes;
    }
    if (!x->options.keep_timeline)
        return;
    x->out->timeline = SC__NEW(a, struct sc__timeline);
    x->out->timeline->workload = x->w;
}

static uint32_t count_streams(const struct sc__workload *w) {
    uint32_t most = w->compute_stream; /* asked for even where nothing is on it */
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].stream > most)
            most = w->ops[i].stream;
    return most + 1;
}

static sc_status prepare_classes(struct sc__executor *x) {
    const struct sc__workload *w = x->w;
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
    prepare_results(x);
    return SC_OK;
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
    if (x->options.comm_tax == 0)
        x->options.comm_tax = w->comm_tax;
    x->options.comm_tax = fmax(0, x->options.comm_tax);
    sc__arena_init(&x->arena);
    sc__queue_init(&x->queue, &x->arena);
    x->free_rendezvous = SC__NONE;
    x->policy = sc__workload_is_graph(w) ? &sc__policy_graph : &sc__policy_program;
    SC__TRY(prepare_classes(x));
    SC__TRY(x->policy->prepare(x));
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
    for (uint32_t i = 0; i < count && status == SC_OK && !out[i].cut; i++)
        status = sc__sim_check(ctx, w[i], &out[i]);
    return status;
}

sc_status sc__simulate(struct sc_context *ctx,
                       const struct sc__workload *w,
                       const struct sc__net *net,
                       const struct sc__sim_options *options,
                       struct sc__sim *out) {
    return sc__simulate_jobs(ctx, &w, 1, net, options, out);
}
