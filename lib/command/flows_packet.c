/* flows --net packet: HPCC's three files in, or flows on a fabric, completion times out;
 * under several congestion controls, one beside the other. */
#include "command/flows_packet.h"
#include "command/flows.h"
#include "command/job.h"

#include "network/flow/flow_batch.h"
#include "network/flow/flow_cluster.h"
#include "network/packet/packet_fabric.h"
#include "network/packet/packet_list.h"

#include <math.h>
#include <string.h>

/* Where nothing is said: SimAI's settings, as in the other commands. */
#define USUAL_NETWORK "simai-400g"
#define USUAL_CONTROL "dcqcn"
#define USUAL_SAMPLES 256u
#define MOST_SAMPLES 100000u

const struct sc__option sc__flows_packet_options[] = {
    {"net",
     0,
     "ENGINE",
     "flow",
     "Network",
     "flow (shares links), packet (every packet: queues, PFC, ECN, congestion control), or "
     "flow,packet to compare",
     0},
    {"topology",
     0,
     "FILE",
     NULL,
     "Packets",
     "the links of --net packet as HPCC has them, instead of --fabric",
     0},
    {"samples",
     0,
     "N",
     NULL,
     "Packets",
     "spans of time, at most, of which the JSON has use, queue, pauses, marks and losses "
     "of "
     "each link",
     0},
    {"links",
     0,
     "FILE",
     NULL,
     "Output",
     "use, queue, pauses, marks and losses of each link over time as CSV (--net packet); "
     "- for standard output",
     0},
    {"html",
     0,
     "FILE",
     NULL,
     "Output",
     "a page: links over time, pauses, distributions of completion times (--net packet)",
     0},
    {0}};

struct packet_question {
    struct sc__packet_topology topology;
    struct sc__packet_place place; /* graph NULL: the topology */
    struct sc__packet_flows flows;
    struct sc__packet_random random;
    struct sc__packet_run *runs; /* one for each control */
    uint32_t run_count;
    uint32_t run_capacity;
    uint32_t samples;
    bool both; /* the flow engine beside them */
};

static sc_status
refuse_options(struct sc_request *req, const char *const *names, const char *where) {
    for (size_t i = 0; names[i]; i++)
        if (sc__flag(req, names[i]))
            return sc__usage(req, NULL, "--%s has no effect with %s", names[i], where);
    return SC_OK;
}

static sc_status refuse_packets(struct sc_request *req, const struct sc__option *options) {
    for (const struct sc__option *o = options; o->name; o++)
        if (strcmp(o->name, "net") && sc__flag(req, o->name))
            return sc__usage(req,
                             "add --net packet",
                             "--%s works with --net packet alone",
                             o->name);
    return SC_OK;
}

sc_status sc__flows_choose(struct sc_request *req, struct sc__flows_engines *chosen) {
    const char *net = sc__option(req, "net");
    struct sc__str list = sc__str(net ? net : "flow");
    struct sc__str part;
    *chosen = (struct sc__flows_engines){0};
    while (sc__split(&list, ',', &part)) {
        bool *engine = sc__str_is(part, "packet") ? &chosen->packet : &chosen->flow;
        if ((!sc__str_is(part, "packet") && !sc__str_is(part, "flow")) || *engine)
            return sc__usage(req,
                             "one of: flow, packet; flow,packet",
                             "--net: there is no '%.80s'",
                             net);
        *engine = true;
    }
    if (sc__flag(req, "fabric") && sc__flag(req, "topology"))
        return sc__usage(req, "one of them", "--fabric and --topology");
    if (chosen->packet)
        return SC_OK;
    SC__TRY(refuse_packets(req, sc__packet_options));
    return refuse_packets(req, sc__flows_packet_options);
}

/* --cc dcqcn,hpcc: a run for each. */
static sc_status read_controls(struct sc_request *req, struct packet_question *q) {
    struct sc__arena *arena = &req->ctx->arena;
    const char *text = sc__option(req, "cc");
    struct sc__settings settings = sc__settings(req);
    struct sc__str list = sc__str(text ? text : "");
    struct sc__str part = {0};
    bool placed = q->place.graph != NULL;
    do {
        (void)sc__split(&list, ',', &part);
        struct sc__packet_run *r = SC__PUSH(arena, q->runs, q->run_count, q->run_capacity);
        if (text)
            r->control = sc__format(arena, "%.*s", SC__SHOW(part));
        r->net = "packet";
        SC__TRY(sc__packet_options_read(&settings,
                                        placed ? USUAL_NETWORK : NULL,
                                        placed ? USUAL_CONTROL : NULL,
                                        r->control,
                                        &r->config,
                                        &q->random));
    } while (list.n);
    return SC_OK;
}

static sc_status refuse_series(struct sc_request *req) {
    if (sc__flag(req, "links"))
        return sc__usage(req,
                         "give one --cc",
                         "--links shows one run, and several are asked for");
    if (sc__flag(req, "samples") && !sc__flag(req, "html"))
        return sc__usage(req,
                         "give one --cc",
                         "--samples shows one run, and several are asked for");
    return SC_OK;
}

static sc_status read_samples(struct sc_request *req, struct packet_question *q) {
    struct sc__settings settings = sc__settings(req);
    q->samples = sc__flag(req, "links") ? USUAL_SAMPLES : 0;
    if (sc__flag(req, "html"))
        q->samples = SC__PACKET_PAGE_SPANS;
    SC__TRY(sc__setting_u32(&settings, "samples", 2, &q->samples));
    q->samples -= q->samples % 2;
    if (q->samples <= MOST_SAMPLES)
        return SC_OK;
    return sc__usage(req, NULL, "--samples: at most %u", MOST_SAMPLES);
}

static sc_status read_packet_files(struct sc_request *req, struct packet_question *q) {
    const char *hint = "stepcast flows FLOWS --net packet --conf FILE --topology FILE, or "
                       "--fabric ls:8:8";
    const char *topology = sc__option(req, "topology");
    static const char *const others[] =
        {"check", "route", "send-latency", "packet", "degrade", "fail", NULL};
    SC__TRY(refuse_options(req, others, "--topology"));
    if (req->input_count != 1)
        return sc__usage(req, hint, "flows takes one file");
    if (!sc__option(req, "conf") || !topology)
        return sc__usage(req, hint, "--net packet needs --conf and --topology");
    SC__TRY(read_controls(req, q));
    if (q->run_count > 1)
        SC__TRY(refuse_series(req));
    SC__TRY(read_samples(req, q));
    SC__TRY(sc__packet_topology_read(req->ctx, topology, &q->topology));
    return sc__packet_flows_read(req->ctx, req->inputs[0], &q->topology, &q->flows);
}

static void
note_unfinished(struct sc_request *req, const struct sc__packet_run *r, bool named) {
    const char *control = !named ? "" : r->control ? r->control : r->net;
    const char *colon = named ? ": " : "";
    if (r->counters.stuck)
        sc__note(
            req->ctx,
            "flows-stuck",
            "%s%s%u flows never end: packets were lost and nothing is left that would send "
            "them again (there is no retransmission timer)",
            control,
            colon,
            r->counters.stuck);
    if (r->counters.cut_off)
        sc__note(req->ctx,
                 "flows-cut-off",
                 "%s%s%u flows had not ended at SIMULATOR_STOP_TIME, %.9g s",
                 control,
                 colon,
                 r->counters.cut_off,
                 r->config.stop_s);
}

static void copy_flows(struct sc_request *req,
                       const struct sc__packet_flows *flows,
                       struct sc__packet_flows *out) {
    *out = *flows;
    out->items = SC__NEW_ARRAY(&req->ctx->arena, struct sc__packet_flow, flows->count);
    memcpy(out->items, flows->items, flows->count * sizeof *flows->items);
}

static sc_status
simulate_run(struct sc_request *req, struct packet_question *q, struct sc__packet_run *r) {
    if (q->place.graph)
        return sc__packet_simulate_list(req->ctx,
                                        &r->config,
                                        &q->place,
                                        &r->flows,
                                        &q->random,
                                        r->watch,
                                        &r->counters);
    return sc__packet_simulate(req->ctx,
                               &r->config,
                               &q->topology,
                               &r->flows,
                               &q->random,
                               r->watch,
                               &r->counters);
}

static sc_status
run_control(struct sc_request *req, struct packet_question *q, struct sc__packet_run *r) {
    struct sc__arena *arena = &req->ctx->arena;
    bool alone = q->run_count == 1 && !q->both;
    copy_flows(req, &q->flows, &r->flows);
    if (sc__flag(req, "html") || (alone && (q->samples || sc__flag(req, "json")))) {
        r->watch = SC__NEW(arena, struct sc__packet_watch);
        if (q->place.graph)
            sc__packet_watch_graph(r->watch, arena, q->place.graph, q->samples);
        else
            sc__packet_watch_topology(r->watch, arena, &q->topology, q->samples);
    }
    SC__TRY(simulate_run(req, q, r));
    note_unfinished(req, r, !alone);
    sc__packet_run_sum_up(r, arena);
    return SC_OK;
}

static sc_status write_links(struct sc_request *req, const struct packet_question *q) {
    struct sc__buffer b;
    if (!sc__option(req, "links"))
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    sc__packet_run_put_links(&q->runs[0], &b);
    return sc__job_output(req, "links", &b);
}

static sc_status answer_packets(struct sc_request *req, const struct packet_question *q) {
    bool several = q->run_count > 1;
    struct sc__buffer b;
    SC__TRY(write_links(req, q));
    if (sc__flag(req, "html"))
        SC__TRY(sc__packet_runs_write_page(req, q->runs, q->run_count, NULL));
    if (!sc__stdout_taken(req)) {
        if (several)
            sc__packet_runs_put_text(req, q->runs, q->run_count);
        else
            sc__packet_run_put_text(req, q->runs);
    }
    if (!sc__option(req, "json"))
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    if (several)
        sc__packet_runs_put_json(req, q->runs, q->run_count, &b);
    else
        sc__packet_run_put_json(req, q->runs, &b);
    return sc__job_output(req, "json", &b);
}

sc_status sc__flows_packet_execute(struct sc_request *req) {
    struct packet_question *q = SC__NEW(&req->ctx->arena, struct packet_question);
    SC__TRY(read_packet_files(req, q));
    for (uint32_t i = 0; i < q->run_count; i++)
        SC__TRY(run_control(req, q, &q->runs[i]));
    return answer_packets(req, q);
}

/* ---- on a fabric ---- */

#define DATA_PRIORITY 3u
#define MOST_BYTES 1e15
#define MOST_START 1e6 /* s */

static sc_status take_flows(struct sc_request *req,
                            const struct sc__flow *flows,
                            uint32_t count,
                            struct sc__packet_flows *out) {
    struct sc__place place = {.file = req->inputs[0]};
    out->file = req->inputs[0];
    out->count = count;
    out->items = SC__NEW_ARRAY(&req->ctx->arena, struct sc__packet_flow, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct sc__flow *f = &flows[i];
        if (f->bytes > MOST_BYTES || f->start > MOST_START)
            return sc__fail(req->ctx,
                            SC_INPUT,
                            &place,
                            "at most 1e15 bytes and a start of 1e6 s",
                            "flow %u is too much for --net packet",
                            i + 1);
        out->items[i] = (struct sc__packet_flow){.from = f->from,
                                                 .to = f->to,
                                                 .priority = DATA_PRIORITY,
                                                 .bytes = (uint64_t)llround(f->bytes),
                                                 .start = (int64_t)llround(f->start * 1e9),
                                                 .completion = -1,
                                                 .received = -1};
    }
    return SC_OK;
}

/* A row of the flow engine: flows without headers, delays and ACKs. */
static sc_status run_shares(struct sc_request *req,
                            struct packet_question *q,
                            struct sc__flow *flows,
                            uint32_t count) {
    struct sc__arena *arena = &req->ctx->arena;
    struct sc__flow_effort effort = {0};
    SC__TRY(
        sc__flow_batch(req->ctx, q->place.graph, q->place.route, flows, count, &effort));
    struct sc__packet_run *r = SC__PUSH(arena, q->runs, q->run_count, q->run_capacity);
    *r = (struct sc__packet_run){.net = "flow"};
    copy_flows(req, &q->runs[0].flows, &r->flows);
    for (uint32_t i = 0; i < count; i++) {
        struct sc__packet_flow *f = &r->flows.items[i];
        f->completion = (int64_t)llround((flows[i].finish - flows[i].start) * 1e9);
        f->received = f->completion;
        f->ideal = f->fluid;
    }
    sc__packet_run_sum_up(r, arena);
    return SC_OK;
}

static sc_status check_losses(struct sc_request *req, const struct packet_question *q) {
    for (uint32_t i = 0; i < q->run_count; i++) {
        const struct sc__packet_config *c = &q->runs[i].config;
        if (c->error_rate > 0 && sc__packet_many_ways(q->place.route) &&
            c->control < SC__PACKET_NSCC)
            return sc__usage(
                req,
                NULL,
                "links that lose packets need them in order: --route ecmp or dmodk");
    }
    return SC_OK;
}

sc_status sc__flows_packet_on_fabric(struct sc_request *req,
                                     const char *fabric,
                                     struct sc__flow *flows,
                                     uint32_t count,
                                     uint32_t ports,
                                     bool both) {
    static const char *const others[] = {"check", "send-latency", "packet", NULL};
    struct packet_question *q = SC__NEW(&req->ctx->arena, struct packet_question);
    struct sc__route_policy *route = SC__NEW(&req->ctx->arena, struct sc__route_policy);
    struct sc__settings settings = sc__settings(req);
    SC__TRY(refuse_options(req, others, "--net packet on a --fabric"));
    q->both = both;
    q->place.graph = SC__NEW(&req->ctx->arena, struct sc__graph);
    q->place.route = route;
    SC__TRY(sc__flow_graph(req->ctx,
                           fabric,
                           ports,
                           &settings,
                           &q->place.cluster,
                           q->place.graph,
                           route));
    SC__TRY(read_controls(req, q));
    if (q->run_count > 1 || both)
        SC__TRY(refuse_series(req));
    SC__TRY(read_samples(req, q));
    SC__TRY(check_losses(req, q));
    SC__TRY(take_flows(req, flows, count, &q->flows));
    for (uint32_t i = 0; i < q->run_count; i++)
        SC__TRY(run_control(req, q, &q->runs[i]));
    if (both)
        SC__TRY(run_shares(req, q, flows, count));
    return answer_packets(req, q);
}
