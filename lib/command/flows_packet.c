/* flows --net packet: HPCC's three files in, completion times out. */
#include "command/flows.h"

#include "network/flow/flow_cluster.h"
#include "network/packet/packet.h"

#include <string.h>

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
    {0}};

struct packet_answer {
    struct sc__packet_config config;
    struct sc__packet_topology topology;
    struct sc__packet_flows flows;
    struct sc__packet_random random;
    struct sc__packet_counters counters;
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

sc_status sc__flows_packet_chosen(struct sc_request *req, bool *chosen) {
    const char *net = sc__option(req, "net");
    *chosen = net && !strcmp(net, "packet");
    if (net && !*chosen && strcmp(net, "flow"))
        return sc__usage(req, "one of: flow, packet", "--net: there is no '%.80s'", net);
    for (const struct sc__option *o = sc__packet_options; o->name && !*chosen; o++)
        if (sc__flag(req, o->name))
            return sc__usage(req, "add --net packet", "--%s is of --net packet", o->name);
    if (!*chosen && sc__flag(req, "topology"))
        return sc__usage(req, "add --net packet", "--topology is of --net packet");
    return SC_OK;
}

static sc_status read_packet_files(struct sc_request *req, struct packet_answer *a) {
    const char *hint = "stepcast flows FLOWS --net packet --conf FILE --topology FILE";
    struct sc__settings settings = sc__settings(req);
    const char *topology = sc__option(req, "topology");
    SC__TRY(refuse_others(req));
    if (req->input_count != 1)
        return sc__usage(req, hint, "flows takes one file");
    if (!sc__option(req, "conf") || !topology)
        return sc__usage(req, hint, "--net packet needs --conf and --topology");
    SC__TRY(sc__packet_options_read(&settings, NULL, NULL, &a->config, &a->random));
    SC__TRY(sc__packet_topology_read(req->ctx, topology, &a->topology));
    return sc__packet_flows_read(req->ctx, req->inputs[0], &a->topology, &a->flows);
}

static void note_unfinished(struct sc_request *req, const struct packet_answer *a) {
    if (a->counters.stuck)
        sc__note(
            req->ctx,
            "flows-stuck",
            "%u flows never end: packets were lost and nothing is left that would send "
            "them again (there is no retransmission timer)",
            a->counters.stuck);
    if (a->counters.cut_off)
        sc__note(req->ctx,
                 "flows-cut-off",
                 "%u flows had not ended at SIMULATOR_STOP_TIME, %.9g s",
                 a->counters.cut_off,
                 a->config.stop_s);
}

static int64_t last_end(const struct sc__packet_flows *flows) {
    int64_t last = 0;
    for (uint32_t i = 0; i < flows->count; i++) {
        const struct sc__packet_flow *f = &flows->items[i];
        if (f->completion >= 0 && f->start + f->completion > last)
            last = f->start + f->completion;
    }
    return last;
}

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
    sc__json_u64(j, "data_packets", c->data_packets);
    sc__json_u64(j, "acks", c->acks);
    sc__json_u64(j, "nacks", c->nacks);
    sc__json_u64(j, "events", c->events);
    sc__json_i64(j, "base_rtt_ns", c->base_rtt);
    sc__json_u64(j, "window_bytes", c->window);
    sc__json_end_object(j);
}

static void put_flow(struct sc__json *j, const struct sc__packet_flow *f) {
    sc__json_row(j, NULL);
    sc__json_u64(j, "src", f->from);
    sc__json_u64(j, "dst", f->to);
    sc__json_u64(j, "port", f->source_port);
    sc__json_u64(j, "bytes", f->bytes);
    put_time(j, "start_ns", f->start);
    put_time(j, "fct_ns", f->completion);
    put_time(j, "received_ns", f->received);
    sc__json_end_object(j);
}

static void put_packet_json(const struct sc_request *req,
                            const struct packet_answer *a,
                            struct sc__buffer *out) {
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/packet-flows/1");
    sc__json_u64(&j, "count", a->flows.count);
    sc__json_u64(&j, "stuck", a->counters.stuck);
    sc__json_u64(&j, "cut_off", a->counters.cut_off);
    sc__json_i64(&j, "makespan_ns", last_end(&a->flows));
    sc__json_bool(&j, "exact", true);
    put_counters(&j, &a->counters);
    sc__json_array(&j, "flows");
    for (uint32_t i = 0; i < a->flows.count; i++)
        put_flow(&j, &a->flows.items[i]);
    sc__json_end_array(&j);
    sc__json_notes(&j, req->ctx);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}

static void put_packet_text(struct sc_request *req, const struct packet_answer *a) {
    struct sc__buffer *out = &req->out;
    sc__puts(out, "# src dst port bytes start_ns fct_ns (- = never)\n");
    for (uint32_t i = 0; i < a->flows.count; i++) {
        const struct sc__packet_flow *f = &a->flows.items[i];
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
               (unsigned long long)a->counters.marks,
               (unsigned long long)a->counters.pauses,
               (unsigned long long)a->counters.buffer_losses,
               (unsigned long long)a->counters.link_losses);
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(out, "# note: %s\n", req->ctx->notes[i].text);
}

sc_status sc__flows_packet_execute(struct sc_request *req) {
    struct packet_answer *a = SC__NEW(&req->ctx->arena, struct packet_answer);
    const char *json = sc__option(req, "json");
    struct sc__buffer b;
    SC__TRY(read_packet_files(req, a));
    SC__TRY(sc__packet_simulate(req->ctx,
                                &a->config,
                                &a->topology,
                                &a->flows,
                                &a->random,
                                &a->counters));
    note_unfinished(req, a);
    if (!json || strcmp(json, "-"))
        put_packet_text(req, a);
    if (!json)
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    put_packet_json(req, a, &b);
    if (strcmp(json, "-"))
        return sc__write_file(req->ctx, json, b.text, b.size);
    sc__put(&req->out, b.text, b.size);
    return SC_OK;
}
