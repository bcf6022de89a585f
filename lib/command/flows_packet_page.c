/* flows --net packet --html: the page of one run, or of several beside each other; in run
 * --html what stands in the report of a step (pictures.c). Of
 * many links those that had most to do are shown over time; of many flows their
 * distribution, and the slowest one by one. */
#include "command/flows_packet.h"

#include "base/sort.h"
#include "command/job.h"

#include "report/write.h"

#include <math.h>

#define MOST_LINES 256u /* rows of the heat maps of all runs */
#define MOST_CELLS 100000u
#define MOST_STEPS 1000u /* of a distribution */
#define MOST_SLOWEST 200u
#define PER_MILLE 1000.0

/* Values at equal shares, from the least to the largest; all where they are few. */
static void
page_put_distribution(struct sc__json *j, const char *key, double *values, uint32_t count) {
    uint32_t steps = count < MOST_STEPS ? count : MOST_STEPS;
    if (count)
        sc__sort_doubles(values, count);
    sc__json_list(j, key);
    for (uint32_t i = 0; i < steps; i++) {
        uint64_t at = ((uint64_t)(i + 1) * count + steps - 1) / steps;
        sc__json_double(j, NULL, values[at - 1]);
    }
    sc__json_end_array(j);
}

static int page_slowest_first(const void *a, const void *b, void *self) {
    const struct sc__packet_flow *flows = self;
    const struct sc__packet_flow *x = &flows[*(const uint32_t *)a];
    const struct sc__packet_flow *y = &flows[*(const uint32_t *)b];
    double slow_x = x->completion < 0 ? INFINITY : sc__packet_slowdown(x);
    double slow_y = y->completion < 0 ? INFINITY : sc__packet_slowdown(y);
    if (slow_x != slow_y)
        return slow_x > slow_y ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void page_put_slowest(struct sc__json *j,
                             struct sc__arena *arena,
                             const struct sc__packet_flows *flows) {
    uint32_t *order = SC__NEW_ARRAY(arena, uint32_t, flows->count);
    for (uint32_t i = 0; i < flows->count; i++)
        order[i] = i;
    if (flows->count)
        sc__sort(order, flows->count, sizeof *order, page_slowest_first, flows->items);
    sc__json_array(j, "slowest");
    for (uint32_t i = 0; i < flows->count && i < MOST_SLOWEST; i++)
        sc__packet_run_put_flow(j, &flows->items[order[i]]);
    sc__json_end_array(j);
}

static void page_put_flows(struct sc__json *j,
                           struct sc__arena *arena,
                           const struct sc__packet_run *r) {
    double *times = SC__NEW_ARRAY(arena, double, r->flows.count);
    double *slow = SC__NEW_ARRAY(arena, double, r->flows.count);
    uint32_t ended = 0;
    for (uint32_t i = 0; i < r->flows.count; i++) {
        const struct sc__packet_flow *f = &r->flows.items[i];
        if (f->completion < 0)
            continue;
        times[ended] = (double)f->completion;
        slow[ended++] = sc__packet_slowdown(f);
    }
    sc__json_u64(j, "ended", ended);
    page_put_distribution(j, "fct_ns", times, ended);
    page_put_distribution(j, "slowdowns", slow, ended);
    page_put_slowest(j, arena, &r->flows);
}

/* ---- links ---- */

/* What stopped or waited says more than what was merely used. */
static int page_busiest_first(const void *a, const void *b, void *self) {
    const struct sc__packet_watched *ports = self;
    const struct sc__packet_watched *x = &ports[*(const uint32_t *)a];
    const struct sc__packet_watched *y = &ports[*(const uint32_t *)b];
    if (x->total.paused != y->total.paused)
        return x->total.paused > y->total.paused ? -1 : 1;
    if (x->total.peak_queue != y->total.peak_queue)
        return x->total.peak_queue > y->total.peak_queue ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void page_put_spans(struct sc__json *j,
                           const struct sc__packet_watch *w,
                           const struct sc__packet_watched *p) {
    sc__json_list(j, "use_over_time");
    for (uint32_t k = 0; k < w->count; k++)
        sc__json_i64(j,
                     NULL,
                     llround(PER_MILLE * (double)p->spans[k].busy / (double)w->span));
    sc__json_end_array(j);
    sc__json_list(j, "queue_over_time");
    for (uint32_t k = 0; k < w->count; k++)
        sc__json_u64(j, NULL, p->spans[k].peak_queue);
    sc__json_end_array(j);
    sc__json_list(j, "paused_over_time");
    for (uint32_t k = 0; p->total.pauses && k < w->count; k++)
        sc__json_i64(j,
                     NULL,
                     llround(PER_MILLE * (double)p->spans[k].paused / (double)w->span));
    sc__json_end_array(j);
}

/* Pauses of all links by interval, as if they were one. */
static void page_put_all_paused(struct sc__json *j, const struct sc__packet_watch *w) {
    sc__json_list(j, "paused_links");
    for (uint32_t k = 0; k < w->count; k++) {
        double sum = 0;
        for (uint32_t i = 0; i < w->port_count; i++)
            if (w->ports[i].spans)
                sum += (double)w->ports[i].spans[k].paused;
        sc__json_double(j, NULL, sum / (double)w->span);
    }
    sc__json_end_array(j);
}

static void page_put_links(struct sc__json *j,
                           struct sc__arena *arena,
                           const struct sc__packet_watch *w,
                           uint32_t most) {
    uint32_t room = w->count ? MOST_CELLS / w->count : most;
    uint32_t *order = SC__NEW_ARRAY(arena, uint32_t, w->port_count);
    uint32_t used = 0;
    for (uint32_t i = 0; i < w->port_count; i++)
        if (w->ports[i].bytes && w->ports[i].spans)
            order[used++] = i;
    if (used)
        sc__sort(order, used, sizeof *order, page_busiest_first, w->ports);
    sc__json_i64(j, "interval_ns", w->span);
    sc__json_u64(j, "intervals", w->count);
    sc__json_u64(j, "links_used", used);
    page_put_all_paused(j, w);
    sc__json_array(j, "links");
    for (uint32_t i = 0; i < used && i < most && i <= room; i++) {
        sc__json_row(j, NULL);
        sc__packet_run_put_link_fields(j, w, &w->ports[order[i]]);
        page_put_spans(j, w, &w->ports[order[i]]);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void page_put_run(struct sc__json *j,
                         struct sc__arena *arena,
                         const struct sc__packet_run *r,
                         uint32_t most) {
    sc__json_object(j, NULL);
    sc__json_string(j, "net", r->net);
    sc__json_string(j, "cc", r->control);
    sc__packet_run_put_summary(j, r);
    page_put_flows(j, arena, r);
    if (r->watch)
        page_put_links(j, arena, r->watch, most);
    sc__json_end_object(j);
}

void sc__packet_runs_put_page(struct sc_request *req,
                              const struct sc__packet_run *runs,
                              uint32_t count,
                              const char *what,
                              const char *of,
                              struct sc__page_side *side) {
    struct sc__arena *arena = &req->ctx->arena;
    struct sc__buffer data;
    struct sc__json j;
    sc__buffer_init(&data, arena);
    sc__page_begin(&j, &data, "stepcast/packet-page/1", req->argv, req->argc);
    sc__json_string(&j, "what", what);
    if (of)
        sc__json_string(&j, "of", of);
    sc__json_array(&j, "runs");
    for (uint32_t i = 0; i < count; i++)
        page_put_run(&j, arena, &runs[i], MOST_LINES / count);
    sc__json_end_array(&j);
    sc__json_notes(&j, req->ctx);
    sc__json_end_object(&j);
    *side = (struct sc__page_side){.name = "packets",
                                   .saved = (struct sc__str){data.text, data.size}};
}

sc_status sc__packet_runs_write_page(struct sc_request *req,
                                     const struct sc__packet_run *runs,
                                     uint32_t count,
                                     const char *what) {
    struct sc__page_side side;
    struct sc__buffer page;
    SC__TRY(sc__page_check(req->ctx));
    sc__buffer_init(&page, &req->ctx->arena);
    sc__packet_runs_put_page(req, runs, count, what, NULL, &side);
    sc__write_html(&side, 1, &page);
    return sc__job_output(req, "html", &page);
}
