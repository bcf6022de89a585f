/* validate: the command. Every row gets a context of its own, so that rows can
 * be spread over threads and their memory goes with them. */
#include "command/validate.h"

#include "base/parallel.h"
#include "base/platform.h"
#include "hardware/cluster_options.h"
#include "lower/model.h"
#include "model/read.h"
#include "simulate/simulate.h"

#include <string.h>

struct validate_job {
    struct sc__truth *truth;
    struct sc_context *ctx;
    const char *constants;
    struct sc__mutex *lock; /* of ctx */
};

struct row_forecast {
    struct sc_context *ctx;
    const struct validate_job *job;
    struct sc__truth_row *row;
    struct sc__truth_plan plan;
    const char *options; /* the command that repeats it */
};

static sc_status forecast(void *self) {
    struct row_forecast *f = self;
    struct sc_context *ctx = f->ctx;
    struct sc__truth_plan *plan = &f->plan;
    struct sc__truth_row *row = f->row;
    struct sc__model model;
    struct sc__cluster cluster;
    struct sc__workload *w;
    struct sc__net net;
    struct sc__sim sim;
    bool given;
    uint32_t gpus = 0;
    SC__TRY(sc__truth_plan(ctx, row, plan));
    if (plan->skip)
        return SC_OK;
    if (f->job->constants)
        *SC__PUSH(&ctx->arena, plan->items, plan->count, plan->capacity) =
            (struct sc__option_value){"step-constants", f->job->constants};
    struct sc__settings settings = sc__truth_settings(ctx, plan);
    SC__TRY(sc__setting_u32(&settings, "gpus", 1, &gpus));
    SC__TRY(sc__model_settings(ctx, &settings, &model, &given));
    SC__TRY(sc__cluster_parse(ctx, plan->cluster, gpus, &cluster));
    SC__TRY(sc__cluster_apply(&settings, gpus, &cluster));
    sc__cluster_remember(&cluster, &ctx->arena);
    SC__TRY(sc__lower_model(ctx, &settings, &model, &cluster, &w));
    SC__TRY(sc__net_analytic(ctx, &cluster, w, &net));
    SC__TRY(sc__simulate(ctx, w, &net, &(struct sc__sim_options){0}, &sim));
    row->predicted = (double)sim.step * 1e-12;
    row->shares = sc__sim_shares(w, &sim);
    f->options = sc__truth_command(ctx, plan);
    return SC_OK;
}

/* Texts that outlive the context of their row. */
struct row_texts {
    struct sc__arena *arena;
    struct sc__truth_row *row;
    const char *skipped;
    const char *options;
};

static void copy_texts(void *self) {
    const struct row_texts *t = self;
    t->row->skipped = t->skipped ? sc__strdup(t->arena, t->skipped) : NULL;
    t->row->options = t->options ? sc__strdup(t->arena, t->options) : NULL;
}

static void keep(struct validate_job *job,
                 struct sc__truth_row *row,
                 const char *skip,
                 const char *options) {
    struct row_texts texts = {&job->ctx->arena, row, skip, options};
    sc__mutex_lock(job->lock);
    if (!sc__memory_guard(copy_texts, &texts))
        row->skipped = "out of memory";
    sc__mutex_unlock(job->lock);
}

static void one_row(struct validate_job *job, struct sc__truth_row *row) {
    sc_context *ctx = sc_open();
    struct row_forecast f = {.ctx = ctx, .job = job, .row = row};
    if (!ctx) {
        keep(job, row, "out of memory", NULL);
        return;
    }
    if (sc__guarded(ctx, forecast, &f) == SC_OK)
        keep(job, row, f.plan.skip, f.options);
    else
        keep(job, row, sc_error_message(ctx), NULL);
    sc_close(ctx);
}

static void forecast_row(void *self, uint32_t i) {
    struct validate_job *job = self;
    one_row(job, &job->truth->rows[i]);
}

/* Only rows whose source or id holds the text. */
static void filter(struct sc__truth *t, const char *text) {
    uint32_t n = 0;
    for (uint32_t i = 0; text && i < t->count; i++)
        if (strstr(t->rows[i].cell[SC__TRUTH_SOURCE], text) ||
            strstr(t->rows[i].cell[SC__TRUTH_ID], text))
            t->rows[n++] = t->rows[i];
    if (text)
        t->count = n;
}

static sc_status write_document(struct sc_request *req,
                                const struct sc__truth *t,
                                const char *option,
                                void (*make)(struct sc_context *,
                                             const struct sc__truth *,
                                             struct sc__buffer *)) {
    const char *path = sc__option(req, option);
    struct sc__buffer b;
    if (!path)
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    make(req->ctx, t, !strcmp(path, "-") ? &req->out : &b);
    return strcmp(path, "-") ? sc__write_file(req->ctx, path, b.text, b.size) : SC_OK;
}

static sc_status validate_execute(struct sc_request *req) {
    struct sc__truth truth;
    if (req->input_count != 1)
        return sc__usage(req,
                         "stepcast validate TRUTH.csv",
                         "one table of measured steps is needed");
    SC__TRY(sc__validate_read(req->ctx, req->inputs[0], &truth));
    filter(&truth, sc__option(req, "only"));
    if (!truth.count && sc__flag(req, "only"))
        return sc__usage(req,
                         "it is looked for in sources and ids",
                         "no row has '%s' in it",
                         sc__option(req, "only"));
    struct validate_job job = {.truth = &truth,
                               .ctx = req->ctx,
                               .constants = sc__option(req, "step-constants"),
                               .lock = sc__mutex_new()};
    if (!job.lock)
        sc__memory_exhausted();
    sc__parallel(req->ctx->jobs, truth.count, forecast_row, &job);
    sc__mutex_free(job.lock);
    if (!sc__stdout_taken(req))
        sc__truth_text(req->ctx, &truth, &req->out);
    SC__TRY(write_document(req, &truth, "json", sc__truth_json));
    SC__TRY(write_document(req, &truth, "markdown", sc__truth_markdown));
    return write_document(req, &truth, "plot", sc__truth_plot);
}

static const struct sc__option options[] = {
    {"json",
     0,
     "FILE",
     NULL,
     "Output",
     "all rows and summaries as JSON; - for standard output",
     0},
    {"markdown", 0, "FILE", NULL, "Output", "the tables as Markdown", 0},
    {"plot", 0, "FILE", NULL, "Output", "measured against predicted, as SVG", 0},
    {"only", 0, "TEXT", NULL, "Input", "only rows whose source or id holds this", 0},
    {"step-constants",
     0,
     "FILE",
     NULL,
     "Input",
     "constants of the step model instead of the built-in ones",
     0},
    {"jobs", 'j', "N", "1", "Input", "threads", 0},
    {NULL, 0, NULL, NULL, NULL, NULL, 0},
};

static const struct sc__option *const tables[] = {options, NULL};

const struct sc__command sc__command_validate = {
    .name = "validate",
    .args = "TRUTH.csv",
    .summary = "forecast measured training steps and show the errors",
    .text = "Reads a table of published training steps (docs/validation.md describes its "
            "columns), "
            "builds each step from\n"
            "its dimensions and its software, forecasts it, and prints the error of every "
            "row and "
            "summaries by source,\n"
            "GPU and size. A row that cannot be built is listed with the reason.",
    .options = tables,
    .execute = validate_execute,
};
