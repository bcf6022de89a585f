/* gen: a model and a plan as a workload file.
 *
 * Workload text has one kind of stage and waits for the collectives of a
 * micro-batch. With a pipeline, the embedding and the head, which only the first
 * and the last stage have, are given to all stages in the measure that makes the
 * step as long as the plan's: found by bisection on the simulated step. Where
 * that is not enough, or there is one stage, the compute at the edges of the
 * step is fitted in the same way. */
#include "command/job.h"
#include "frontend/convert.h"
#include "lower/model_rows.h"

#include <stdlib.h>
#include <string.h>

struct generation {
    struct sc_request *req;
    struct sc__job job;
};

static sc_status
step_of(struct generation *g, const struct sc__workload *w, int64_t *step) {
    struct sc__net net;
    struct sc__sim sim;
    SC__TRY(sc__evaluation_network(g->req->ctx, g->job.ev, w, &net));
    SC__TRY(sc__simulate(g->req->ctx, w, &net, &g->job.ev->sim_options, &sim));
    *step = sim.step;
    return SC_OK;
}

static sc_status rows_with(struct generation *g,
                           const struct sc__row_fit *fit,
                           struct sc__layers **rows,
                           int64_t *step) {
    struct sc__workload *w;
    SC__TRY(sc__model_rows(g->req->ctx,
                           g->job.model,
                           &g->job.ev->plan,
                           &g->job.ev->cluster,
                           fit,
                           rows));
    SC__TRY(
        sc__lower_layers(g->req->ctx, &g->job.settings, *rows, g->job.ev->plan.gpus, &w));
    return step_of(g, w, step);
}

/* Halves the range from 0 to 2 of a number of the fit until the rows' step is
 * the one wanted; more of it never makes the step shorter. */
static sc_status bisect(struct generation *g,
                        struct sc__row_fit *fit,
                        double *x,
                        int64_t want,
                        struct sc__layers **rows,
                        int64_t *got) {
    double low = 0;
    double high = 2;
    for (int i = 0; i < 24; i++) {
        SC__TRY(rows_with(g, fit, rows, got));
        if (llabs(*got - want) < want / 20000)
            break;
        if (*got > want)
            high = *x;
        else
            low = *x;
        *x = (low + high) / 2;
    }
    return SC_OK;
}

static void say_fit(struct generation *g, const struct sc__row_fit *fit) {
    struct sc_context *ctx = g->req->ctx;
    if (g->job.ev->plan.mesh.pp > 1)
        sc__note(ctx,
                 "ends-spread",
                 "the format has one kind of stage: each gets %.3f of the embedding and "
                 "the head",
                 fit->ends);
    if (fit->edges != 1)
        sc__note(
            ctx,
            "edges-scaled",
            "the format cannot hide a collective behind compute while gradients%s travel "
            "beside it: the compute "
            "of the last backward%s is scaled by %.4f instead",
            g->job.ev->plan.overlap_param ? " or weights" : "",
            g->job.ev->plan.overlap_param ? " and the first forward" : "",
            fit->edges);
}

/* Where all the compute at the edges cannot make up for what is hidden. */
static sc_status check_step(struct generation *g, int64_t got, int64_t want) {
    double off = 100 * ((double)got / (double)want - 1);
    if (fabs(off) <= 0.1)
        return SC_OK;
    return sc__fail(g->req->ctx,
                    SC_USAGE,
                    NULL,
                    "--to ir-json holds everything",
                    "as workload text the step would be %+.2f %% off: the format waits for "
                    "collectives that the plan "
                    "hides behind others",
                    off);
}

static sc_status fit_rows(struct generation *g, struct sc__layers **rows) {
    struct sc__row_fit fit = {.ends = 1, .edges = 1};
    int64_t want;
    int64_t got;
    SC__TRY(step_of(g, g->job.workload, &want));
    if (g->job.ev->plan.mesh.pp > 1)
        SC__TRY(bisect(g, &fit, &fit.ends, want, rows, &got));
    else
        SC__TRY(rows_with(g, &fit, rows, &got));
    if (llabs(got - want) >= want / 20000)
        SC__TRY(bisect(g, &fit, &fit.edges, want, rows, &got));
    say_fit(g, &fit);
    return check_step(g, got, want);
}

/* The header has no size for them: there, experts are cut as the rest is. */
static sc_status check_expert_groups(struct generation *g) {
    const struct sc__mesh *d = &g->job.ev->plan.mesh;
    uint64_t ranks = (uint64_t)d->tp * d->cp * d->dp;
    if (d->etp == d->tp || ranks % ((uint64_t)d->ep * d->tp) == 0)
        return SC_OK;
    return sc__usage(
        g->req,
        "--to ir-json holds it",
        "workload text cuts experts as the rest: etp %u beside tp %u cannot be "
        "said, and ep %u with etp %u does not divide the %llu ranks of a stage",
        d->etp,
        d->tp,
        d->ep,
        d->tp,
        (unsigned long long)ranks);
}

static sc_status gen_write_text(struct generation *g, struct sc__buffer *out) {
    struct sc__layers *rows;
    struct sc__buffer
        nowhere; /* standard output cannot be taken back: see first whether it goes well */
    SC__TRY(check_expert_groups(g));
    SC__TRY(fit_rows(g, &rows));
    sc__buffer_nowhere(&nowhere, &g->req->ctx->arena);
    SC__TRY(sc__write_workload_text(g->req->ctx, rows, false, &nowhere));
    return sc__write_workload_text(g->req->ctx, rows, false, out);
}

static sc_status gen_load(struct generation *g) {
    if (g->req->input_count)
        return sc__usage(g->req,
                         "'stepcast convert' turns files into other files",
                         "gen takes a model, not a file");
    return sc__job_load(g->req, &g->job);
}

static sc_status gen_execute(struct sc_request *req) {
    static const char *const formats[] = {"workload-text", "ir-json", NULL};
    struct generation *g = SC__NEW(&req->ctx->arena, struct generation);
    struct sc__sink sink;
    const char *path = sc__option(req, "output");
    unsigned format = 0;
    g->req = req;
    SC__TRY(gen_load(g));
    SC__TRY(sc__setting_word(&g->job.settings, "to", formats, &format));
    SC__TRY(sc__sink_open(req, path ? path : "-", &sink));
    SC__TRY(sc__sink_end(
        &sink,
        format == 0 ? gen_write_text(g, sink.to)
                    : sc__write_ir_json(req->ctx, NULL, g->job.workload, NULL, sink.to)));
    sc__job_note_unused(req);
    if (!sink.file)
        return SC_OK;
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(&req->out, "- %s\n", req->ctx->notes[i].text);
    return SC_OK;
}

static const struct sc__choice text_formats[] = {{"workload-text", 0}, {"ir-json", 0}, {0}};

static const struct sc__option options[] = {
    {"to",
     0,
     "FORMAT",
     "workload-text",
     "Output",
     "workload-text (SimAI, AICB) or ir-json",
     0,
     .choices = text_formats},
    {"output", 'o', "FILE", "-", "Output", "where to write; - for standard output", 0},
    {0}};

static const struct sc__option *const tables[] = {SC__JOB_TABLES, options, NULL};

const struct sc__command sc__command_gen = {
    .name = "gen",
    .args = "--model M …",
    .summary = "write a model and a plan as a workload file",
    .text = "Takes the options of 'run --model' and writes what would be simulated: as "
            "workload "
            "text that SimAI runs, "
            "with\n"
            "AICB's row names, or as ir-json.",
    .options = tables,
    .execute = gen_execute,
};
