/* flows --net packet: HPCC's three files in, completion times out; under several
 * congestion controls, one beside the other. */
#include "command/flows_packet.h"
#include "command/flows.h"

#include "network/flow/flow_cluster.h"

#include <string.h>

#define USUAL_SAMPLES 256u
#define MOST_SAMPLES 100000u

const struct sc__option sc__flows_packet_options[] = {
    {"net",
     0,
     "ENGINE",
     "flow",
     "Network",
     "flow (shares links) or packet (every packet: queues, PFC, ECN, congestion control)",
     0},
    {"topology",
     0,
     "FILE",
     NULL,
     "Packets",
     "the links of --net packet, as HPCC has them",
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
     "use, queue, pauses, marks and losses of each link over time as CSV (--net packet)",
     0},
    {0}};

struct packet_question {
    struct sc__packet_topology topology;
    struct sc__packet_flows flows;
    struct sc__packet_random random;
    struct sc__packet_run *runs; /* one for each control */
    uint32_t run_count;
    uint32_t run_capacity;
    uint32_t samples;
};

/* Options of the other engine have no effect here. */
static sc_status refuse_others(struct sc_request *req) {
    static const char *const others[] = {"fabric", "check", NULL};
    for (size_t i = 0; others[i]; i++)
        if (sc__flag(req, others[i]))
            return sc__usage(req, NULL, "--%s has no effect with --net packet", others[i]);
    for (const struct sc__option *o = sc__flow_options; o->name; o++)
        if (sc__flag(req, o->name))
            return sc__usage(req, NULL, "--%s has no effect with --net packet", o->name);
    return SC_OK;
}

static sc_status refuse_packets(struct sc_request *req, const struct sc__option *options) {
    for (const struct sc__option *o = options; o->name; o++)
        if (strcmp(o->name, "net") && sc__flag(req, o->name))
            return sc__usage(req, "add --net packet", "--%s is of --net packet", o->name);
    return SC_OK;
}

sc_status sc__flows_packet_chosen(struct sc_request *req, bool *chosen) {
    const char *net = sc__option(req, "net");
    *chosen = net && !strcmp(net, "packet");
    if (net && !*chosen && strcmp(net, "flow"))
        return sc__usage(req, "one of: flow, packet", "--net: there is no '%.80s'", net);
    if (*chosen)
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
    do {
        (void)sc__split(&list, ',', &part);
        struct sc__packet_run *r = SC__PUSH(arena, q->runs, q->run_count, q->run_capacity);
        if (text)
            r->control = sc__format(arena, "%.*s", SC__SHOW(part));
        SC__TRY(sc__packet_options_read(&settings,
                                        NULL,
                                        NULL,
                                        r->control,
                                        &r->config,
                                        &q->random));
    } while (list.n);
    if (q->run_count > 1 && sc__flag(req, "links"))
        return sc__usage(req, "one --cc", "--links is of one congestion control");
    if (q->run_count > 1 && sc__flag(req, "samples"))
        return sc__usage(req, "one --cc", "--samples is of one congestion control");
    return SC_OK;
}

static sc_status read_samples(struct sc_request *req, struct packet_question *q) {
    struct sc__settings settings = sc__settings(req);
    q->samples = sc__flag(req, "links") ? USUAL_SAMPLES : 0;
    SC__TRY(sc__setting_u32(&settings, "samples", 2, &q->samples));
    q->samples -= q->samples % 2;
    if (q->samples <= MOST_SAMPLES)
        return SC_OK;
    return sc__usage(req, NULL, "--samples: at most %u", MOST_SAMPLES);
}

static sc_status read_packet_files(struct sc_request *req, struct packet_question *q) {
    const char *hint = "stepcast flows FLOWS --net packet --conf FILE --topology FILE";
    const char *topology = sc__option(req, "topology");
    SC__TRY(refuse_others(req));
    if (req->input_count != 1)
        return sc__usage(req, hint, "flows takes one file");
    if (!sc__option(req, "conf") || !topology)
        return sc__usage(req, hint, "--net packet needs --conf and --topology");
    SC__TRY(read_controls(req, q));
    SC__TRY(read_samples(req, q));
    SC__TRY(sc__packet_topology_read(req->ctx, topology, &q->topology));
    return sc__packet_flows_read(req->ctx, req->inputs[0], &q->topology, &q->flows);
}

static void
note_unfinished(struct sc_request *req, const struct sc__packet_run *r, bool named) {
    const char *control = named ? r->control : "";
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
run_control(struct sc_request *req, struct packet_question *q, struct sc__packet_run *r) {
    struct sc__arena *arena = &req->ctx->arena;
    bool alone = q->run_count == 1;
    copy_flows(req, &q->flows, &r->flows);
    if (alone && (q->samples || sc__flag(req, "json"))) {
        r->watch = SC__NEW(arena, struct sc__packet_watch);
        sc__packet_watch_init(r->watch, arena, &q->topology, q->samples);
    }
    SC__TRY(sc__packet_simulate(req->ctx,
                                &r->config,
                                &q->topology,
                                &r->flows,
                                &q->random,
                                r->watch,
                                &r->counters));
    note_unfinished(req, r, !alone);
    sc__packet_run_sum_up(r, arena);
    return SC_OK;
}

static sc_status write_links(struct sc_request *req, const struct packet_question *q) {
    const char *links = sc__option(req, "links");
    struct sc__buffer b;
    if (!links)
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    sc__packet_run_put_links(&q->runs[0], &b);
    return sc__write_file(req->ctx, links, b.text, b.size);
}

static sc_status answer_packets(struct sc_request *req, const struct packet_question *q) {
    const char *json = sc__option(req, "json");
    bool several = q->run_count > 1;
    struct sc__buffer b;
    SC__TRY(write_links(req, q));
    if (!json || strcmp(json, "-")) {
        if (several)
            sc__packet_runs_put_text(req, q->runs, q->run_count);
        else
            sc__packet_run_put_text(req, q->runs);
    }
    if (!json)
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    if (several)
        sc__packet_runs_put_json(req, q->runs, q->run_count, &b);
    else
        sc__packet_run_put_json(req, q->runs, &b);
    if (strcmp(json, "-"))
        return sc__write_file(req->ctx, json, b.text, b.size);
    sc__put(&req->out, b.text, b.size);
    return SC_OK;
}

sc_status sc__flows_packet_execute(struct sc_request *req) {
    struct packet_question *q = SC__NEW(&req->ctx->arena, struct packet_question);
    SC__TRY(read_packet_files(req, q));
    for (uint32_t i = 0; i < q->run_count; i++)
        SC__TRY(run_control(req, q, &q->runs[i]));
    return answer_packets(req, q);
}
