/* jobs: several jobs on one cluster. Each is simulated alone where it is
 * placed, then all together; what they share slows them down. */
#include "command/jobs.h"

#include "network/flow/flow.h"
#include "network/packet/packet_engine.h"
#include "report/write.h"

#include <stdio.h>
#include <string.h>

const struct sc__option sc__jobs_options[] = {
    {"place",
     0,
     "NODE[:STRIDE],…",
     NULL,
     "Several jobs",
     "every input is a job: its first node, and how far apart its nodes are",
     0},
    {0}};

struct placed {
    struct sc__job job;
    struct sc__place_at at;
    struct sc__sim alone;
};

static sc_status
read_place(struct sc_request *req, struct sc__str text, struct sc__place_at *at) {
    struct sc__str node = text;
    struct sc__str stride = {NULL, 0};
    const char *colon = memchr(text.p, ':', text.n);
    if (colon) {
        node.n = (size_t)(colon - text.p);
        stride = (struct sc__str){colon + 1, text.n - node.n - 1};
    }
    at->stride = 1;
    if (!sc__parse_u32(node, &at->node) ||
        (colon && (!sc__parse_u32(stride, &at->stride) || !at->stride)) ||
        at->node > 1u << 24 || at->stride > 1u << 24)
        return sc__usage(req,
                         "write it like 0,4 or 0:2,1:2",
                         "--place: '%.*s' is no node",
                         SC__SHOW(text));
    return SC_OK;
}

static sc_status read_places(struct sc_request *req, struct placed *jobs) {
    struct sc__str rest = sc__str(sc__option(req, "place"));
    struct sc__str part;
    uint32_t n = 0;
    while (sc__split(&rest, ',', &part)) {
        if (n < req->input_count)
            SC__TRY(read_place(req, part, &jobs[n].at));
        n++;
    }
    if (n != req->input_count)
        return sc__usage(req,
                         "one place for each input, for instance --place 0,4",
                         "--place does not name %u place%s",
                         req->input_count,
                         req->input_count == 1 ? "" : "s");
    return SC_OK;
}

static sc_status jobs_load(struct sc_request *req, uint32_t i, struct placed *p) {
    struct sc_request one = *req;
    one.inputs = &req->inputs[i];
    one.input_count = 1;
    SC__TRY(sc__job_load(&one, &p->job));
    p->job.settings = sc__settings(req);
    if (sc__workload_is_graph(p->job.workload))
        return sc__usage(
            req,
            NULL,
            "%s is a graph of operations; only programs can run beside other jobs",
            req->inputs[i]);
    return SC_OK;
}

/* Jobs first … first + count - 1 on an engine of their own. */
static sc_status simulate(struct sc_request *req,
                          struct placed *jobs,
                          uint32_t first,
                          uint32_t count,
                          struct sc__net *net,
                          struct sc__sim *out) {
    const struct sc__cluster *c = &jobs[0].job.ev->cluster;
    struct sc__settings settings = sc__settings(req);
    const struct sc__workload **w =
        SC__NEW_ARRAY(&req->ctx->arena, const struct sc__workload *, count);
    const char *engine = sc__option(req, "net");
    bool packets = engine && !strcmp(engine, "packet");
    SC__TRY(packets ? sc__net_packet(req->ctx, c, NULL, &settings, net)
                    : sc__net_flow(req->ctx, c, NULL, &settings, net));
    for (uint32_t i = 0; i < count; i++) {
        w[i] = jobs[first + i].job.workload;
        SC__TRY(packets ? sc__net_packet_job(net, w[i], jobs[first + i].at)
                        : sc__net_flow_job(net, w[i], jobs[first + i].at));
    }
    return sc__simulate_jobs(req->ctx, w, count, net, &jobs[0].job.ev->sim_options, out);
}

static sc_status make_results(struct sc_request *req,
                              struct placed *jobs,
                              uint32_t count,
                              const struct sc__net *net,
                              struct sc__sim *sims) {
    for (uint32_t i = 0; i < count; i++) {
        struct sc__job *j = &jobs[i].job;
        j->ev->sim = sims[i];
        SC__TRY(sc__result_make(req->ctx,
                                j->workload,
                                &jobs[0].job.ev->cluster,
                                net,
                                &j->ev->sim,
                                &j->ev->result));
        sc__result_set_files(&j->ev->result, j->doc.files, j->doc.file_count);
        sc__result_set_command(&j->ev->result, req->argv, req->argc);
    }
    /* What was said of one job holds for the run. */
    for (uint32_t i = 0; i < count; i++)
        sc__result_take_notes(req->ctx, &jobs[i].job.ev->result);
    return SC_OK;
}

static double slowdown(const struct placed *p) {
    return p->alone.step > 0 ? (double)p->job.ev->sim.step / (double)p->alone.step : 1;
}

static void
jobs_put_text(struct sc_request *req, const struct placed *jobs, uint32_t count) {
    struct sc__buffer *out = &req->out;
    out->for_people = true;
    for (uint32_t i = 0; i < count; i++) {
        sc__write_text(&jobs[i].job.ev->result, req->terminal, req->width, out);
        sc__putc(out, '\n');
    }
    sc__puts(out, "  job  ranks  nodes              alone     together   slowdown\n");
    for (uint32_t i = 0; i < count; i++) {
        const struct placed *p = &jobs[i];
        char where[40];
        snprintf(where, sizeof where, "%u on, every %u", p->at.node, p->at.stride);
        sc__printf(out,
                   "  %3u %6u  %-14s ",
                   i + 1,
                   sc__mesh_ranks(&p->job.workload->mesh),
                   where);
        sc__printf(out,
                   "%9.3f ms %9.3f ms   %.3f×\n",
                   (double)p->alone.step / 1e9,
                   (double)p->job.ev->sim.step / 1e9,
                   slowdown(p));
    }
}

static void
jobs_put_json(const struct placed *jobs, uint32_t count, struct sc__buffer *out) {
    sc__puts(out, "{\n  \"schema\": \"stepcast/jobs/1\",\n  \"jobs\": [");
    for (uint32_t i = 0; i < count; i++) {
        const struct placed *p = &jobs[i];
        sc__printf(out,
                   "%s\n    {\"node\": %u, \"stride\": %u, \"alone_us\": ",
                   i ? "," : "",
                   p->at.node,
                   p->at.stride);
        sc__put_us(out, p->alone.step);
        sc__puts(out, ", \"step_time_us\": ");
        sc__put_us(out, p->job.ev->sim.step);
        sc__printf(out, ", \"slowdown\": %.9g, \"result\":\n", slowdown(p));
        sc__write_json(&p->job.ev->result, 0, out);
        sc__puts(out, "    }");
    }
    sc__puts(out, "\n  ]\n}\n");
}

static sc_status write(struct sc_request *req, const struct placed *jobs, uint32_t count) {
    const char *json = sc__option(req, "json");
    struct sc__buffer b;
    if (!json || strcmp(json, "-"))
        jobs_put_text(req, jobs, count);
    if (!json)
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    jobs_put_json(jobs, count, &b);
    return sc__job_output(req, "json", &b);
}

static sc_status refuse_what_is_of_one_job(struct sc_request *req) {
    static const char *const names[] = {"csv",
                                        "csv-simai",
                                        "html",
                                        "trace",
                                        "hta",
                                        "gantt",
                                        "what-if",
                                        "timeline",
                                        "amdahl",
                                        "compat",
                                        "train-tokens",
                                        "price"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (sc__flag(req, names[i]))
            return sc__usage(req,
                             "run one of them alone for it",
                             "--%s works with one job alone, and --place runs several",
                             names[i]);
    return SC_OK;
}

sc_status sc__jobs_run(struct sc_request *req) {
    uint32_t count = req->input_count;
    struct placed *jobs = SC__NEW_ARRAY(&req->ctx->arena, struct placed, count + 1);
    struct sc__sim *sims = SC__NEW_ARRAY(&req->ctx->arena, struct sc__sim, count + 1);
    struct sc__net net;
    const char *engine = sc__option(req, "net");
    if (engine && strcmp(engine, "flow") && strcmp(engine, "packet"))
        return sc__usage(
            req,
            "--net flow or --net packet",
            "several jobs share links: they need the flow or the packet engine");
    if (!engine)
        sc__note(req->ctx, "jobs-flow", "several jobs: simulated by the flow engine");
    if (!count)
        return sc__usage(req, NULL, "no input given");
    SC__TRY(refuse_what_is_of_one_job(req));
    SC__TRY(read_places(req, jobs));
    for (uint32_t i = 0; i < count; i++)
        SC__TRY(jobs_load(req, i, &jobs[i]));
    for (uint32_t i = 0; i < count; i++)
        SC__TRY(simulate(req, jobs, i, 1, &net, &jobs[i].alone));
    SC__TRY(simulate(req, jobs, 0, count, &net, sims));
    sc__job_note_unused(req);
    SC__TRY(make_results(req, jobs, count, &net, sims));
    sc_status status = write(req, jobs, count);
    for (uint32_t i = 0; i < count; i++)
        sc__result_free(&jobs[i].job.ev->result);
    return status;
}
