/* flows: flows in, finish times out. A line is
 *
 *     src dst bytes start_s [finish_s]
 *
 * and the fifth column is what --check compares with. The packets of --net packet
 * are in flows_packet.c. */
#include "command/flows.h"
#include "evaluate/evaluate.h"

#include "hardware/cluster.h"
#include "network/flow/flow_batch.h"
#include "network/flow/flow_cluster.h"
#include "network/packet/packet.h"

#include <string.h>

#define MOST_FLOWS 10000000u
/* Each has links, whether a flow uses them or not: a small file may ask for 100 MB. */
#define MOST_HOSTS (1u << 20)

static const struct sc__option options[] = {
    {"fabric",
     0,
     "FABRIC",
     NULL,
     "Network",
     "ls:HOSTS:SPINES, ft3:HOSTS:LEAVES:AGGREGATION:CORES (HOSTS of a leaf, LEAVES of a "
     "pod, as many as the flows need, or :ALL hosts at the end; links of 50 GB/s), or a "
     "cluster",
     0},
    {"check",
     0,
     "TOLERANCE",
     NULL,
     "Comparison",
     "compare with the fifth column; a larger difference answers 1",
     0},
    {"json",
     0,
     "FILE",
     NULL,
     "Output",
     "the result as JSON; - for standard output and nothing else there",
     0},
    {0}};

static const struct sc__option *const tables[] = {options,
                                                  sc__memory_options,
                                                  sc__flow_options,
                                                  sc__packet_options,
                                                  sc__flows_packet_options,
                                                  NULL};

struct flows_cmd_list {
    struct sc__flow *flows;
    double *expected; /* NAN where the line has none */
    uint32_t count;
    uint32_t capacity;
    uint32_t expected_capacity;
    uint32_t most_host;
    bool all_expected;
};

static sc_status
bad(struct sc__input *in, struct sc__str line, struct sc__str at, const char *what) {
    struct sc__place place = sc__input_place(in, line, at.p);
    return sc__fail(in->ctx,
                    SC_INPUT,
                    &place,
                    "a line is: src dst bytes start_s [finish_s]",
                    "%s: '%.*s'",
                    what,
                    SC__SHOW(at));
}

static sc_status
read_host(struct sc__input *in, struct sc__str line, struct sc__str *rest, uint32_t *host) {
    struct sc__str w;
    sc__next_word(rest, &w);
    if (!sc__parse_u32(w, host) || *host >= MOST_HOSTS)
        return bad(in, line, w, "a host is a number below 1048576");
    return SC_OK;
}

static sc_status
read_number(struct sc__input *in, struct sc__str line, struct sc__str *rest, double *out) {
    struct sc__str w;
    sc__next_word(rest, &w);
    if (!sc__parse_double(w, out) || *out < 0)
        return bad(in, line, w, "a number from 0 on is expected");
    return SC_OK;
}

static sc_status
read_flow(struct sc__input *in, struct sc__str line, struct flows_cmd_list *l) {
    struct sc__flow f = {.weight = 1};
    struct sc__str rest = line;
    struct sc__str w;
    double expected = NAN;
    SC__TRY(read_host(in, line, &rest, &f.from));
    SC__TRY(read_host(in, line, &rest, &f.to));
    SC__TRY(read_number(in, line, &rest, &f.bytes));
    SC__TRY(read_number(in, line, &rest, &f.start));
    if (sc__trim(rest).n)
        SC__TRY(read_number(in, line, &rest, &expected));
    if (sc__next_word(&rest, &w))
        return bad(in, line, w, "unexpected at the end of the line");
    if (l->count == MOST_FLOWS)
        return bad(in, line, line, "more flows than can be simulated at once (10000000)");
    uint32_t at = l->count;
    *SC__PUSH(&in->ctx->arena, l->flows, l->count, l->capacity) = f;
    *SC__PUSH(&in->ctx->arena, l->expected, at, l->expected_capacity) = expected;
    if (isnan(expected))
        l->all_expected = false;
    if (f.from > l->most_host)
        l->most_host = f.from;
    if (f.to > l->most_host)
        l->most_host = f.to;
    return SC_OK;
}

static sc_status read_lines(struct sc__input *in, struct flows_cmd_list *l) {
    for (;;) {
        struct sc__str line;
        bool more;
        SC__TRY(sc__input_line(in, &line, &more));
        if (!more)
            return SC_OK;
        if (sc__trim(line).n && *sc__trim(line).p != '#')
            SC__TRY(read_flow(in, line, l));
    }
}

static sc_status read_list(struct sc_request *req, struct flows_cmd_list *l) {
    struct sc__input in;
    if (req->input_count != 1)
        return sc__usage(req,
                         "stepcast flows FILE --fabric ls:8:8",
                         "flows takes one file");
    SC__TRY(sc__input_open(req->ctx, req->inputs[0], &in));
    l->all_expected = true;
    sc_status status = read_lines(&in, l);
    sc__input_close(&in);
    if (status == SC_OK && !l->count) {
        struct sc__place place = {.file = req->inputs[0]};
        return sc__fail(req->ctx,
                        SC_INPUT,
                        &place,
                        "a line is: src dst bytes start_s [finish_s]",
                        "there is no flow");
    }
    return status;
}

/* The largest relative difference from the expected times. */
static double worst_difference(const struct flows_cmd_list *l, uint32_t *where) {
    double worst = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        double off =
            fabs(l->flows[i].finish - l->expected[i]) / fmax(l->expected[i], 1e-300);
        if (off <= worst)
            continue;
        worst = off;
        *where = i;
    }
    return worst;
}

static sc_status flows_cmd_check(struct sc_request *req,
                                 const struct flows_cmd_list *l,
                                 double *worst,
                                 bool *checked) {
    struct sc__settings settings = sc__settings(req);
    double tolerance = 0;
    uint32_t where = 0;
    *checked = sc__flag(req, "check");
    if (!*checked)
        return SC_OK;
    SC__TRY(sc__setting_tolerance(&settings, "check", &tolerance));
    if (!l->all_expected)
        return sc__usage(req, NULL, "--check needs a fifth column in every line");
    *worst = worst_difference(l, &where);
    if (*worst <= tolerance)
        return SC_OK;
    const struct sc__flow *f = &l->flows[where];
    sc__fail(req->ctx,
             SC_NO,
             NULL,
             NULL,
             "flow %u (%u to %u) ends at %.12g s, expected %.12g s: a difference of %.3g",
             where + 1,
             f->from,
             f->to,
             f->finish,
             l->expected[where],
             *worst);
    return SC_NO;
}

static double last_end(const struct flows_cmd_list *l) {
    double last = 0;
    for (uint32_t i = 0; i < l->count; i++)
        last = fmax(last, l->flows[i].finish);
    return last;
}

static void flows_cmd_put_text(struct sc_request *req,
                               const struct flows_cmd_list *l,
                               bool checked,
                               double worst) {
    struct sc__buffer *out = &req->out;
    out->for_people = true;
    if (!checked)
        for (uint32_t i = 0; i < l->count; i++) {
            const struct sc__flow *f = &l->flows[i];
            sc__printf(out,
                       "%u %u %.17g %.12g %.12g\n",
                       f->from,
                       f->to,
                       f->bytes,
                       f->start,
                       f->finish);
        }
    else
        sc__printf(out,
                   "%u flows, the last ends at %.12g s; largest difference %.3g\n",
                   l->count,
                   last_end(l),
                   worst);
}

static void flows_cmd_put_json(const struct flows_cmd_list *l,
                               const struct sc__flow_effort *effort,
                               bool checked,
                               double worst,
                               struct sc__buffer *out) {
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/flows/1");
    sc__json_u64(&j, "count", l->count);
    sc__json_double(&j, "makespan_s", last_end(l));
    sc__json_u64(&j, "solves", effort->solves);
    if (checked)
        sc__json_double(&j, "largest_difference", worst);
    sc__json_array(&j, "flows");
    for (uint32_t i = 0; i < l->count; i++) {
        const struct sc__flow *f = &l->flows[i];
        sc__json_row(&j, NULL);
        sc__json_u64(&j, "src", f->from);
        sc__json_u64(&j, "dst", f->to);
        sc__json_double(&j, "bytes", f->bytes);
        sc__json_double(&j, "start_s", f->start);
        sc__json_double(&j, "finish_s", f->finish);
        sc__json_end_object(&j);
    }
    sc__json_end_array(&j);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}

static sc_status answer(struct sc_request *req,
                        const struct flows_cmd_list *l,
                        const struct sc__flow_effort *effort) {
    double worst = 0;
    bool checked;
    struct sc__buffer b;
    const char *json = sc__option(req, "json");
    sc_status status = flows_cmd_check(req, l, &worst, &checked);
    if (status != SC_OK && status != SC_NO)
        return status;
    if (!json || strcmp(json, "-"))
        flows_cmd_put_text(req, l, checked, worst);
    if (!json)
        return status;
    sc__buffer_init(&b, &req->ctx->arena);
    flows_cmd_put_json(l, effort, checked, worst, &b);
    if (!strcmp(json, "-"))
        sc__put(&req->out, b.text, b.size);
    else
        SC__TRY(sc__write_file(req->ctx, json, b.text, b.size));
    return status;
}

static sc_status flows_cmd_execute(struct sc_request *req) {
    struct flows_cmd_list l = {0};
    struct sc__flow_effort effort = {0};
    struct sc__settings settings = sc__settings(req);
    const struct sc__cluster *cluster;
    struct sc__graph g;
    struct sc__route_policy route;
    const char *fabric = sc__option(req, "fabric");
    struct sc__flows_engines engines;
    SC__TRY(sc__flows_choose(req, &engines));
    if (engines.packet && !engines.flow && !fabric)
        return sc__flows_packet_execute(req);
    if (!fabric)
        return sc__usage(req, "for instance --fabric ls:8:8", "flows needs a --fabric");
    SC__TRY(read_list(req, &l));
    if (engines.packet)
        return sc__flows_packet_on_fabric(req,
                                          fabric,
                                          l.flows,
                                          l.count,
                                          l.most_host + 1,
                                          engines.flow);
    static const char *const collectives[] = {"send-latency", "packet", NULL};
    for (const char *const *name = collectives; *name; name++)
        if (sc__flag(req, *name))
            return sc__usage(req,
                             NULL,
                             "--%s is an option of collectives; a list of flows has none",
                             *name);
    SC__TRY(
        sc__flow_graph(req->ctx, fabric, l.most_host + 1, &settings, &cluster, &g, &route));
    SC__TRY(sc__flow_batch(req->ctx, &g, &route, l.flows, l.count, &effort));
    return answer(req, &l, &effort);
}

const struct sc__command sc__command_flows = {
    .name = "flows",
    .args = "FILE",
    .summary = "flows in, finish times out: exact max-min sharing, or every packet",
    .text =
        "A line of FILE is `src dst bytes start_s`, with an expected finish time as a "
        "fifth "
        "column for --check. With --net packet and --topology, FILE, --conf and --topology "
        "are HPCC's files.",
    .options = tables,
    .execute = flows_cmd_execute};
