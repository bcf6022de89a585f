/* flows --net packet: completion times, slowdowns and links as text, JSON and CSV. */
#include "command/flows_packet.h"

#include "base/sort.h"

#include <math.h>
#include <string.h>

double sc__packet_slowdown(const struct sc__packet_flow *f) {
    return f->ideal > 0 ? (double)f->completion / (double)f->ideal : 1;
}

/* The least value that a share of all is not over. */
static double value_at_share(const double *sorted, uint32_t count, double share) {
    uint32_t rank = (uint32_t)ceil(share * count);
    return sorted[rank ? rank - 1 : 0];
}

void sc__packet_run_sum_up(struct sc__packet_run *r, struct sc__arena *arena) {
    double *all = SC__NEW_ARRAY(arena, double, r->flows.count);
    uint32_t count = 0;
    double sum = 0;
    r->last_end = 0;
    for (uint32_t i = 0; i < r->flows.count; i++) {
        const struct sc__packet_flow *f = &r->flows.items[i];
        if (f->completion < 0)
            continue;
        if (f->start + f->completion > r->last_end)
            r->last_end = f->start + f->completion;
        all[count] = sc__packet_slowdown(f);
        sum += all[count++];
    }
    if (!count)
        return;
    sc__sort_doubles(all, count);
    r->mean_slowdown = sum / count;
    r->median_slowdown = value_at_share(all, count, 0.5);
    r->p99_slowdown = value_at_share(all, count, 0.99);
    r->worst_slowdown = all[count - 1];
}

/* ---- one run ---- */

static void put_time(struct sc__json *j, const char *key, int64_t time) {
    if (time < 0)
        sc__json_null(j, key);
    else
        sc__json_i64(j, key, time);
}

static void put_counters(struct sc__json *j, const struct sc__packet_counters *c) {
    sc__json_object(j, "counters");
    sc__json_u64(j, "marks", c->marks);
    sc__json_u64(j, "pauses", c->pauses);
    sc__json_u64(j, "resumes", c->resumes);
    sc__json_u64(j, "buffer_losses", c->buffer_losses);
    sc__json_u64(j, "link_losses", c->link_losses);
    sc__json_u64(j, "trims", c->trims);
    sc__json_u64(j, "timeouts", c->timeouts);
    sc__json_u64(j, "data_packets", c->data_packets);
    sc__json_u64(j, "acks", c->acks);
    sc__json_u64(j, "nacks", c->nacks);
    sc__json_u64(j, "events", c->events);
    sc__json_i64(j, "base_rtt_ns", c->base_rtt);
    sc__json_u64(j, "window_bytes", c->window);
    sc__json_end_object(j);
}

static void put_slowdowns(struct sc__json *j, const struct sc__packet_run *r) {
    bool any = r->worst_slowdown > 0;
    sc__json_row(j, "slowdown");
    sc__json_double(j, "mean", any ? r->mean_slowdown : NAN);
    sc__json_double(j, "p50", any ? r->median_slowdown : NAN);
    sc__json_double(j, "p99", any ? r->p99_slowdown : NAN);
    sc__json_double(j, "max", any ? r->worst_slowdown : NAN);
    sc__json_end_object(j);
}

void sc__packet_run_put_flow(struct sc__json *j, const struct sc__packet_flow *f) {
    sc__json_row(j, NULL);
    sc__json_u64(j, "src", f->from);
    sc__json_u64(j, "dst", f->to);
    sc__json_u64(j, "port", f->source_port);
    sc__json_u64(j, "bytes", f->bytes);
    put_time(j, "start_ns", f->start);
    put_time(j, "fct_ns", f->completion);
    put_time(j, "received_ns", f->received);
    sc__json_i64(j, "ideal_ns", f->ideal);
    sc__json_i64(j, "alone_ns", f->alone);
    if (f->completion < 0)
        sc__json_null(j, "slowdown");
    else
        sc__json_double(j, "slowdown", sc__packet_slowdown(f));
    sc__json_end_object(j);
}

void sc__packet_run_put_link_fields(struct sc__json *j,
                                    const struct sc__packet_watch *w,
                                    const struct sc__packet_watched *p) {
    if (p->name)
        sc__json_string(j, "name", p->name);
    sc__json_u64(j, "from", p->from);
    sc__json_u64(j, "to", p->to);
    sc__json_u64(j, "rate_bps", p->rate);
    sc__json_u64(j, "bytes", p->bytes);
    sc__json_double(j, "use", w->end ? (double)p->total.busy / (double)w->end : 0);
    sc__json_u64(j, "peak_queue_bytes", p->total.peak_queue);
    sc__json_u64(j, "pauses", p->total.pauses);
    sc__json_i64(j, "paused_ns", p->total.paused);
    sc__json_u64(j, "marks", p->total.marks);
    sc__json_u64(j, "trims", p->total.trims);
    sc__json_u64(j, "losses", p->total.losses);
}

static void put_link(struct sc__json *j,
                     const struct sc__packet_watch *w,
                     const struct sc__packet_watched *p) {
    sc__json_row(j, NULL);
    sc__packet_run_put_link_fields(j, w, p);
    sc__json_end_object(j);
}

/* Values of a link by span of time. */
enum span_value { SPAN_USE, SPAN_QUEUE, SPAN_PAUSED, SPAN_MARKS, SPAN_TRIMS, SPAN_LOSSES };

static double span_value(const struct sc__packet_watch *w,
                         const struct sc__packet_span *s,
                         enum span_value which) {
    switch (which) {
    case SPAN_USE:
        return (double)s->busy / (double)w->span;
    case SPAN_QUEUE:
        return (double)s->peak_queue;
    case SPAN_PAUSED:
        return (double)s->paused / (double)w->span;
    case SPAN_MARKS:
        return s->marks;
    case SPAN_TRIMS:
        return s->trims;
    case SPAN_LOSSES:
        break;
    }
    return s->losses;
}

static void put_series(struct sc__json *j,
                       const struct sc__packet_watch *w,
                       const struct sc__packet_watched *p,
                       const char *key,
                       enum span_value which) {
    sc__json_list(j, key);
    for (uint32_t k = 0; k < w->count; k++)
        sc__json_double(j, NULL, span_value(w, &p->spans[k], which));
    sc__json_end_array(j);
}

static void put_link_series(struct sc__json *j,
                            const struct sc__packet_watch *w,
                            const struct sc__packet_watched *p) {
    sc__json_object(j, NULL);
    sc__json_u64(j, "from", p->from);
    sc__json_u64(j, "to", p->to);
    if (p->name)
        sc__json_string(j, "name", p->name);
    put_series(j, w, p, "use", SPAN_USE);
    put_series(j, w, p, "queue_bytes", SPAN_QUEUE);
    put_series(j, w, p, "paused", SPAN_PAUSED);
    put_series(j, w, p, "marks", SPAN_MARKS);
    put_series(j, w, p, "trims", SPAN_TRIMS);
    put_series(j, w, p, "losses", SPAN_LOSSES);
    sc__json_end_object(j);
}

/* Links that nothing went over are left out. */
static void put_watch(struct sc__json *j, const struct sc__packet_watch *w) {
    sc__json_array(j, "links");
    for (uint32_t i = 0; i < w->port_count; i++)
        if (w->ports[i].bytes)
            put_link(j, w, &w->ports[i]);
    sc__json_end_array(j);
    if (!w->capacity)
        return;
    sc__json_object(j, "series");
    sc__json_i64(j, "interval_ns", w->span);
    sc__json_u64(j, "count", w->count);
    sc__json_array(j, "links");
    for (uint32_t i = 0; i < w->port_count; i++)
        if (w->ports[i].bytes)
            put_link_series(j, w, &w->ports[i]);
    sc__json_end_array(j);
    sc__json_end_object(j);
}

void sc__packet_run_put_summary(struct sc__json *j, const struct sc__packet_run *r) {
    sc__json_u64(j, "count", r->flows.count);
    sc__json_u64(j, "stuck", r->counters.stuck);
    sc__json_u64(j, "cut_off", r->counters.cut_off);
    sc__json_i64(j, "makespan_ns", r->last_end);
    put_slowdowns(j, r);
    put_counters(j, &r->counters);
}

void sc__packet_run_put_json(const struct sc_request *req,
                             const struct sc__packet_run *r,
                             struct sc__buffer *out) {
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/packet-flows/1");
    sc__json_u64(&j, "count", r->flows.count);
    sc__json_u64(&j, "stuck", r->counters.stuck);
    sc__json_u64(&j, "cut_off", r->counters.cut_off);
    sc__json_i64(&j, "makespan_ns", r->last_end);
    sc__json_bool(&j, "exact", true);
    put_slowdowns(&j, r);
    put_counters(&j, &r->counters);
    sc__json_array(&j, "flows");
    for (uint32_t i = 0; i < r->flows.count; i++)
        sc__packet_run_put_flow(&j, &r->flows.items[i]);
    sc__json_end_array(&j);
    if (r->watch)
        put_watch(&j, r->watch);
    sc__json_notes(&j, req->ctx);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}

void sc__packet_run_put_text(struct sc_request *req, const struct sc__packet_run *r) {
    struct sc__buffer *out = &req->out;
    sc__puts(out, "# src dst port bytes start_ns fct_ns (- = never)\n");
    for (uint32_t i = 0; i < r->flows.count; i++) {
        const struct sc__packet_flow *f = &r->flows.items[i];
        sc__printf(out,
                   "%u %u %u %llu ",
                   f->from,
                   f->to,
                   f->source_port,
                   (unsigned long long)f->bytes);
        if (f->start < 0)
            sc__puts(out, "- -\n");
        else if (f->completion < 0)
            sc__printf(out, "%lld -\n", (long long)f->start);
        else
            sc__printf(out, "%lld %lld\n", (long long)f->start, (long long)f->completion);
    }
    sc__printf(out,
               "# %llu marks, %llu pauses, %llu losses in buffers, %llu on links\n",
               (unsigned long long)r->counters.marks,
               (unsigned long long)r->counters.pauses,
               (unsigned long long)r->counters.buffer_losses,
               (unsigned long long)r->counters.link_losses);
    if (r->counters.trims)
        sc__printf(out,
                   "# %llu packets trimmed, %llu timeouts\n",
                   (unsigned long long)r->counters.trims,
                   (unsigned long long)r->counters.timeouts);
    if (r->worst_slowdown > 0)
        sc__printf(
            out,
            "# the last ends at %lld ns; slowdown: mean %.4g, p99 %.4g, worst %.4g\n",
            (long long)r->last_end,
            r->mean_slowdown,
            r->p99_slowdown,
            r->worst_slowdown);
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(out, "# note: %s\n", req->ctx->notes[i].text);
}

static bool span_is_empty(const struct sc__packet_span *s) {
    struct sc__packet_span none = {0};
    return !memcmp(s, &none, sizeof none);
}

void sc__packet_run_put_links(const struct sc__packet_run *r, struct sc__buffer *out) {
    const struct sc__packet_watch *w = r->watch;
    sc__puts(
        out,
        "time_ns,interval_ns,from,to,use,queue_bytes,paused,pauses,marks,trims,losses\n");
    for (uint32_t k = 0; k < w->count; k++)
        for (uint32_t i = 0; i < w->port_count; i++) {
            const struct sc__packet_watched *p = &w->ports[i];
            if (!p->spans || span_is_empty(&p->spans[k]))
                continue;
            const struct sc__packet_span *s = &p->spans[k];
            sc__printf(out,
                       "%lld,%lld,%u,%u,%.6g,%llu,%.6g,%u,%u,%u,%u\n",
                       (long long)k * (long long)w->span,
                       (long long)w->span,
                       p->from,
                       p->to,
                       span_value(w, s, SPAN_USE),
                       (unsigned long long)s->peak_queue,
                       span_value(w, s, SPAN_PAUSED),
                       s->pauses,
                       s->marks,
                       s->trims,
                       s->losses);
        }
}

/* ---- several runs ---- */

static uint64_t all_losses(const struct sc__packet_run *r) {
    return r->counters.buffer_losses + r->counters.link_losses;
}

void sc__packet_runs_put_text(struct sc_request *req,
                              const struct sc__packet_run *runs,
                              uint32_t count) {
    struct sc__buffer *out = &req->out;
    sc__printf(out,
               "%-7s %-9s %14s %9s %9s %9s %9s %9s %9s %9s %8s\n",
               "engine",
               "control",
               "last end us",
               "slow mean",
               "slow p99",
               "worst",
               "pauses",
               "marks",
               "trims",
               "losses",
               "not over");
    for (uint32_t i = 0; i < count; i++) {
        const struct sc__packet_run *r = &runs[i];
        sc__printf(out,
                   "%-7s %-9s %14.3f %9.3f %9.3f %9.3f %9llu %9llu %9llu %9llu %8u\n",
                   r->net,
                   r->control ? r->control : "-",
                   (double)r->last_end / 1e3,
                   r->mean_slowdown,
                   r->p99_slowdown,
                   r->worst_slowdown,
                   (unsigned long long)r->counters.pauses,
                   (unsigned long long)r->counters.marks,
                   (unsigned long long)r->counters.trims,
                   (unsigned long long)all_losses(r),
                   r->counters.stuck + r->counters.cut_off);
    }
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(out, "# note: %s\n", req->ctx->notes[i].text);
}

static void put_completions(struct sc__json *j, const struct sc__packet_run *r) {
    sc__json_list(j, "fct_ns");
    for (uint32_t i = 0; i < r->flows.count; i++)
        put_time(j, NULL, r->flows.items[i].completion);
    sc__json_end_array(j);
}

void sc__packet_runs_put_json(const struct sc_request *req,
                              const struct sc__packet_run *runs,
                              uint32_t count,
                              struct sc__buffer *out) {
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/packet-controls/1");
    sc__json_u64(&j, "count", runs[0].flows.count);
    sc__json_array(&j, "controls");
    for (uint32_t i = 0; i < count; i++) {
        const struct sc__packet_run *r = &runs[i];
        sc__json_object(&j, NULL);
        sc__json_string(&j, "net", r->net);
        sc__json_string(&j, "cc", r->control);
        sc__json_u64(&j, "stuck", r->counters.stuck);
        sc__json_u64(&j, "cut_off", r->counters.cut_off);
        sc__json_i64(&j, "makespan_ns", r->last_end);
        put_slowdowns(&j, r);
        put_counters(&j, &r->counters);
        put_completions(&j, r);
        sc__json_end_object(&j);
    }
    sc__json_end_array(&j);
    sc__json_notes(&j, req->ctx);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}
