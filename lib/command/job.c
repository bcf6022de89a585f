#include "command/job.h"

#include "frontend/megatron_trace/replay.h"
#include "frontend/neusight/operator_lower.h"
#include "frontend/torch_profiler/profiler_lower.h"
#include "lower/layers.h"
#include "network/flow/flow.h"
#include "workload/scale.h"

#include <string.h>

sc_status sc__job_read(struct sc_request *req, struct sc__job *job) {
    memset(job, 0, sizeof *job);
    job->settings = sc__settings(req);
    if (!req->input_count)
        return sc__usage(
            req,
            sc__format(&req->ctx->arena, "see 'stepcast help %s'", req->command->name),
            "no input given");
    return sc__import(req->ctx,
                      &job->settings,
                      sc__option(req, "format"),
                      req->inputs,
                      req->input_count,
                      &job->doc);
}

/* The size of the cluster where the description names one. */
sc_status sc__job_named_size(struct sc_request *req, uint32_t *gpus) {
    struct sc__cluster c;
    const char *text = sc__option(req, "cluster");
    *gpus = 0;
    if (!text)
        return SC_OK;
    SC__TRY(sc__cluster_parse(req->ctx, text, 0, &c));
    *gpus = c.sized ? c.gpus : 0;
    return SC_OK;
}

/* Rows become a workload by the rules of their format. */
static sc_status lower_rows(struct sc_request *req, struct sc__job *job, uint32_t gpus) {
    const struct sc__layers *rows = job->doc.layers;
    if (!rows)
        return sc__lower_profile(req->ctx,
                                 &job->settings,
                                 job->doc.details,
                                 gpus,
                                 &job->workload);
    if (!strcmp(rows->format, "operator-table"))
        return sc__lower_operators(req->ctx, &job->settings, rows, gpus, &job->workload);
    return sc__lower_layers(req->ctx, &job->settings, rows, gpus, &job->workload);
}

sc_status sc__job_change(struct sc_context *ctx,
                         const struct sc__settings *s,
                         struct sc__workload *w) {
    const char *order = sc__setting(s, "order");
    if (order)
        SC__TRY(sc__workload_order(ctx, w, order));
    SC__TRY(sc__whatif_apply(ctx, s, w));
    return sc__workload_slow(ctx, s, w);
}

sc_status sc__job_lower(struct sc_request *req, struct sc__job *job) {
    uint32_t gpus;
    SC__TRY(sc__job_named_size(req, &gpus));
    job->workload = job->doc.workload;
    if (job->doc.traces)
        SC__TRY(
            sc__lower_replay(req->ctx, &job->settings, job->doc.traces, &job->workload));
    else if (!job->workload)
        SC__TRY(lower_rows(req, job, gpus));
    return sc__job_change(req->ctx, &job->settings, job->workload);
}

sc_status sc__job_cluster(struct sc_request *req, struct sc__job *job, uint32_t ranks) {
    const char *text = sc__option(req, "cluster");
    if (!text)
        text = sc__option(req, "astra-network");
    if (!text) {
        text = "dgx-h100";
        if (!sc__option(req, "loggops")) /* which is the whole network by itself */
            sc__note(req->ctx,
                     "cluster-default",
                     "no cluster given: dgx-h100 of the job's size, %u GPU%s",
                     ranks,
                     ranks == 1 ? "" : "s");
    }
    SC__TRY(sc__cluster_parse(req->ctx, text, ranks, &job->cluster));
    if (sc__option(req, "algo"))
        sc__note(req->ctx,
                 "algo-forced",
                 "--algo %s: collectives that cannot run so run as NCCL would choose",
                 sc__option(req, "algo"));
    if (job->cluster.gpus >= ranks)
        return sc__cluster_apply(&job->settings, ranks, &job->cluster);
    return sc__fail(req->ctx,
                    SC_INPUT,
                    NULL,
                    "name a larger cluster, or a smaller job with --gpus",
                    "the job has %u ranks, the cluster %u GPUs",
                    ranks,
                    job->cluster.gpus);
}

/* A model is timed on its cluster, so it comes with one; other inputs do not
 * need one to become a workload. */
sc_status sc__job_load(struct sc_request *req, struct sc__job *job) {
    bool model = false;
    memset(job, 0, sizeof *job);
    job->settings = sc__settings(req);
    const char *name = sc__option(req, "model");
    if (name && req->input_count)
        return sc__usage(req,
                         "give one of them",
                         "both an input (%s) and --model %s say what is trained",
                         req->inputs[0],
                         name);
    if (!req->input_count)
        SC__TRY(sc__job_model(req, job, &model));
    if (model)
        return sc__job_change(req->ctx, &job->settings, job->workload);
    SC__TRY(sc__job_read(req, job));
    SC__TRY(sc__job_lower(req, job));
    return sc__job_cluster(req, job, sc__mesh_ranks(&job->workload->mesh));
}

sc_status sc__job_measured(struct sc_request *req, struct sc__job *job) {
    if (job->doc.measured || !job->doc.traces)
        return SC_OK;
    return sc__replay_measured(req->ctx,
                               &job->settings,
                               job->doc.traces,
                               &job->doc.measured);
}

/* One network: what names another beside it would be ignored. */
static sc_status check_network(const struct sc__settings *s, bool astra, bool loggops) {
    const char *net = sc__setting(s, "net");
    const char *other = astra ? "astra-network" : "loggops";
    bool clash =
        net && ((astra && strcmp(net, "analytic")) || (loggops && strcmp(net, "loggops")));
    if (clash || (astra && loggops))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--%s and --%s%s%s are two networks",
                        other,
                        clash ? "net" : "loggops",
                        clash ? " " : "",
                        clash ? net : "");
    if (astra && sc__setting(s, "cluster"))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--astra-network and --cluster are two networks");
    return SC_OK;
}

sc_status sc__job_network(struct sc_context *ctx,
                          const struct sc__job *job,
                          const struct sc__workload *w,
                          struct sc__net *out) {
    static const char *const engines[] = {"analytic", "loggops", "flow", NULL};
    const struct sc__settings *s = &job->settings;
    unsigned engine = 0;
    SC__TRY(sc__setting_word(s, "net", engines, &engine));
    const char *loggops = sc__setting(s, "loggops");
    const char *astra = sc__setting(s, "astra-network");
    const char *compat = sc__setting(s, "compat");
    bool count_as_astra = compat && !strcmp(compat, "astra");
    SC__TRY(check_network(s, astra, loggops));
    if (!astra && count_as_astra)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "--astra-network FILE",
                        "--compat astra needs ASTRA-sim's network description");
    if (loggops || engine == 1)
        return sc__net_loggops(ctx, loggops, w, out);
    if (engine == 2)
        return sc__net_flow(ctx, &job->cluster, w, s, out);
    if (astra)
        return sc__net_astra(ctx,
                             astra,
                             sc__setting(s, "astra-system"),
                             count_as_astra,
                             w,
                             out);
    return sc__net_analytic(ctx, &job->cluster, w, out);
}

static bool in_table(const struct sc__option *table, const struct sc__option *o) {
    for (; table && table->name; table++)
        if (table == o)
            return true;
    return false;
}

/* Options of jobs, not those that a command has beside them. */
static bool is_job_option(const struct sc__option *o) {
    static const struct sc__option *const tables[] = {SC__JOB_TABLES, NULL};
    for (const struct sc__option *const *t = tables; *t; t++)
        if (in_table(*t, o))
            return true;
    for (const struct sc__reader *const *r = sc__readers; *r; r++)
        if (in_table((*r)->options, o))
            return true;
    return false;
}

/* Options about all-to-alls, where there are none. */
static void note_exchanges(struct sc_request *req, const struct sc__workload *w) {
    static const char *const names[] = {"two-level", "no-pxn"};
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].kind == SC__OP_COLLECTIVE && w->ops[i].coll == SC__ALLTOALL)
            return;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (sc__flag(req, names[i]))
            sc__note(req->ctx,
                     "option-unused",
                     "--%s has no effect: there is no all-to-all",
                     names[i]);
}

/* An option that nobody has asked for by now says nothing about this input. */
void sc__job_note_unused(struct sc_request *req) {
    for (uint32_t k = 0; k < req->value_count; k++) {
        const struct sc__option *o = req->values[k].option;
        if (!req->values[k].used && is_job_option(o))
            sc__note(req->ctx,
                     "option-unused",
                     in_table(sc__flow_options, o) ? "--%s has no effect without --net flow"
                                                   : "--%s has no effect on this input",
                     o->name);
    }
}

sc_status sc__job_run(struct sc_request *req, struct sc__job *job, bool keep_timeline) {
    SC__TRY(sc__job_load(req, job));
    SC__TRY(sc__job_network(req->ctx, job, job->workload, &job->net));
    job->options = (struct sc__sim_options){.keep_timeline = keep_timeline};
    SC__TRY(sc__setting_share(&job->settings, "comm-sm-tax", &job->options.comm_tax));
    SC__TRY(sc__simulate(req->ctx, job->workload, &job->net, &job->options, &job->sim));
    sc__job_note_unused(req);
    note_exchanges(req, job->workload);
    SC__TRY(sc__result_make(req->ctx,
                            job->workload,
                            &job->cluster,
                            &job->net,
                            &job->sim,
                            &job->result));
    sc__result_set_files(&job->result, job->doc.files, job->doc.file_count);
    sc__result_set_command(&job->result, req->argv, req->argc);
    return SC_OK;
}

sc_status sc__sink_open(struct sc_request *req, const char *path, struct sc__sink *sink) {
    *sink = (struct sc__sink){.to = &req->out};
    if (!strcmp(path, "-"))
        return SC_OK;
    SC__TRY(sc__output_open(req->ctx, path, &sink->file));
    sink->to = &sink->file->buffer;
    return SC_OK;
}

sc_status sc__sink_end(struct sc__sink *sink, sc_status status) {
    return sink->file ? sc__output_end(sink->file, status) : status;
}

sc_status
sc__job_output(struct sc_request *req, const char *option, const struct sc__buffer *b) {
    const char *path = sc__option(req, option);
    if (strcmp(path, "-"))
        return sc__write_file(req->ctx, path, b->text ? b->text : "", b->size);
    sc__put(&req->out, b->text ? b->text : "", b->size);
    return SC_OK;
}

const struct sc__option sc__job_options[] = {
    {"cluster",
     'c',
     "C",
     "dgx-h100 of the job's size",
     "Machine",
     "a preset with a GPU count, a one-line description or a file",
     0},
    {"net",
     0,
     "ENGINE",
     "analytic",
     "Machine",
     "network engine: analytic, flow (shares links) or loggops",
     0},
    {"loggops",
     0,
     "L,o,g,G,O,S",
     NULL,
     "Machine",
     "the network as LogGOPS parameters, ns (G, O: per byte; S: bytes)",
     0},
    {"order",
     0,
     "ORDER",
     "tp-cp-ep-dp-pp",
     "Machine",
     "how ranks are numbered, fastest first",
     0},
    {"slow",
     0,
     "rank:N=F",
     NULL,
     "Machine",
     "rank N computes F times as long",
     SC__OPT_REPEAT},
    {"comm-sm-tax",
     0,
     "SHARE",
     "0",
     "Machine",
     "compute is slower by this share while transfers of its GPU run",
     0},
    {"format", 0, "NAME", "by content", "Input", "read the input as this format", 0},
    {"jobs", 'j', "N", "1", "Other", "threads that may be used", 0},
    {0}};
