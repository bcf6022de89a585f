/* validate: the command. Every row is evaluated as the command it prints would
 * be, in a context of its own, so that rows can be spread over threads and their
 * memory goes with them. */
#include "command/validate.h"

#include "base/parallel.h"
#include "evaluate/evaluate.h"
#include "model/read.h"

#include <stdlib.h>
#include <string.h>

struct validate_job {
    struct sc__truth *truth;
    const char *constants;
    const char *software; /* instead of the rows' own, or NULL */
    enum sc__truth_software which;
};

struct row_forecast {
    struct sc_context *ctx;
    const struct validate_job *job;
    struct sc__truth_row *row;
    struct sc__truth_plan plan;
    const char *command; /* that repeats it */
};

/* The part of a step's FLOPs that is left where attention counts half. */
static double causal_part(const struct sc__model *m, const struct sc__plan *p) {
    return sc__model_flops(m, p->global_batch, p->seq, true) /
           sc__model_flops(m, p->global_batch, p->seq, false);
}

/* Where no time is published: from the rate that is. */
static void derive_time(struct row_forecast *f,
                        const struct sc__model *m,
                        const struct sc__evaluation *ev) {
    const struct sc__workload *w = ev->workload;
    struct sc__truth_row *row = f->row;
    double part = f->plan.causal_flops ? causal_part(m, &ev->plan) : 1;
    const struct sc__truth_rates rates = {.model_flops = part * w->model_flops,
                                          .peak_flops = w->peak_flops,
                                          .tokens = w->tokens,
                                          .sequences = ev->plan.global_batch,
                                          .gpus = ev->plan.gpus};
    if (row->measured > 0)
        return;
    row->measured = sc__truth_derived(row, &rates);
    row->measured_is_derived = true;
}

static sc_status
evaluate(struct row_forecast *f, struct sc__model *model, struct sc__evaluation *ev) {
    struct sc_context *ctx = f->ctx;
    struct sc__cluster_description cluster;
    struct sc__settings settings = sc__truth_settings(ctx, &f->plan);
    sc_options options;
    sc_plan training;
    bool given;
    SC__TRY(sc__model_settings(ctx, &settings, model, &given));
    SC__TRY(sc__plan_read(&settings, &training));
    SC__TRY(sc__options_read(&settings, &options));
    SC__TRY(sc__cluster_describe(ctx, f->plan.cluster, &cluster));
    struct sc__evaluation_input in = {.cluster = &cluster,
                                      .options = &options,
                                      .engine = settings,
                                      .plan_options = &settings};
    return sc__evaluation_model(ctx, &in, model, &training, ev);
}

/* How full the fullest GPU is. */
static double fullness(const struct sc__evaluation *ev) {
    const struct sc__workload *w = ev->workload;
    return (double)sc__memory_total(sc__validate_fullest(w)) / (double)w->memory_capacity;
}

/* What is forecast to fill a GPU this much did not run. Not 1: compilers keep less than
 * the modules that the memory of activations was measured with. */
#define TOO_FULL 1.1

/* One more reading of the plan: with these words, which stay where it fits with them. */
static sc_status try_to_fit(struct row_forecast *f,
                            struct sc__model *model,
                            const char *words,
                            struct sc__evaluation **ev,
                            bool *done) {
    uint32_t before = f->plan.count;
    struct sc__evaluation *again = SC__NEW(&f->ctx->arena, struct sc__evaluation);
    sc__truth_words(f->ctx, &f->plan, words);
    SC__TRY(evaluate(f, model, again));
    *done = fullness(again) <= TOO_FULL;
    if (*done)
        *ev = again;
    else
        f->plan.count = before;
    return SC_OK;
}

/* The least recomputation that fits, with what the plan shards. Megatron repeats modules,
 * or some of the layers of a stage; what runs operator by operator has checkpoints of
 * layers or none. */
static sc_status recompute_to_fit(struct row_forecast *f,
                                  struct sc__model *model,
                                  struct sc__evaluation **ev,
                                  bool *done) {
    const struct sc__plan *p = &(*ev)->plan;
    bool by_parts = p->fusion == SC__FUSION_MEGATRON;
    unsigned layers = model->layers / p->mesh.pp;
    if (by_parts)
        SC__TRY(try_to_fit(f,
                           model,
                           "--recompute selective --recompute-modules "
                           "core_attn,norm,act,moe_act",
                           ev,
                           done));
    for (unsigned quarters = 1; quarters < 4 && !*done && by_parts; quarters++)
        SC__TRY(try_to_fit(f,
                           model,
                           sc__format(&f->ctx->arena,
                                      "--recompute full --recompute-method block "
                                      "--recompute-layers %u",
                                      (layers * quarters + 3) / 4),
                           ev,
                           done));
    if (!*done)
        SC__TRY(try_to_fit(f, model, "--recompute full", ev, done));
    return SC_OK;
}

/* With the optimizer sharded, and with the weights, where nobody says what is. */
static sc_status shard_to_fit(struct row_forecast *f,
                              struct sc__model *model,
                              bool recomputes,
                              struct sc__evaluation **ev,
                              bool *done) {
    static const char *const levels[] = {"1", "3"};
    for (unsigned i = 0; i < sizeof levels / sizeof *levels && !*done; i++) {
        uint32_t before = f->plan.count;
        sc__truth_set(f->ctx, &f->plan, "zero", levels[i]);
        SC__TRY(try_to_fit(f, model, "", ev, done));
        if (!*done && recomputes)
            SC__TRY(recompute_to_fit(f, model, ev, done));
        if (!*done)
            f->plan.count = before;
    }
    return SC_OK;
}

/* It ran, so it fitted: where neither the row nor its software says what is recomputed, or
 * sharded, and it does not fit without, it is the least that does. */
static sc_status
make_it_fit(struct row_forecast *f, struct sc__model *model, struct sc__evaluation **ev) {
    struct sc__settings settings = sc__truth_settings(f->ctx, &f->plan);
    const struct sc__plan *p = &(*ev)->plan;
    bool recomputes = !sc__setting(&settings, "recompute") && !p->recompute;
    bool shards = !sc__setting(&settings, "zero") && !p->zero && p->mesh.dp > 1;
    bool done = fullness(*ev) <= TOO_FULL;
    if (!done && recomputes)
        SC__TRY(recompute_to_fit(f, model, ev, &done));
    if (!done && shards)
        SC__TRY(shard_to_fit(f, model, recomputes, ev, &done));
    return SC_OK;
}

static sc_status forecast(void *self) {
    struct row_forecast *f = self;
    struct sc_context *ctx = f->ctx;
    const struct validate_job *job = f->job;
    struct sc__truth_row *row = f->row;
    struct sc__truth_plan *plan = &f->plan;
    struct sc__model model;
    struct sc__evaluation *ev = SC__NEW(&ctx->arena, struct sc__evaluation);
    SC__TRY(sc__truth_plan(ctx, row, job->which, plan));
    if (plan->skip)
        return SC_OK;
    if (job->software)
        sc__truth_set(ctx, plan, "software", job->software);
    if (job->constants)
        sc__truth_set(ctx, plan, "step-constants", job->constants);
    SC__TRY(evaluate(f, &model, ev));
    SC__TRY(make_it_fit(f, &model, &ev));
    SC__TRY(sc__evaluation_run(ctx, ev, false));
    row->predicted = (double)ev->result.step * 1e-12;
    derive_time(f, &model, ev);
    row->shares = sc__result_step_shares(&ev->result);
    sc__result_free(&ev->result);
    f->command = sc__truth_command(ctx, plan);
    return SC_OK;
}

static char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* The texts of a row outlive the context of its thread; the memory of the request
 * is not for many threads. */
static void keep(struct sc__truth_row *row, const char *skip, const char *options) {
    const char *text = skip ? skip : options;
    row->text = text ? copy_text(text) : NULL;
    row->skipped = !row->text ? "out of memory" : skip ? row->text : NULL;
    row->options = row->text && !skip ? row->text : NULL;
}

static void forecast_row(void *self, uint32_t i) {
    const struct validate_job *job = self;
    struct sc__truth_row *row = &job->truth->rows[i];
    sc_context *ctx = sc_open();
    struct row_forecast f = {.ctx = ctx, .job = job, .row = row};
    if (!ctx) {
        keep(row, NULL, NULL);
        return;
    }
    if (sc__guarded(ctx, forecast, &f) == SC_OK)
        keep(row, f.plan.skip, f.command);
    else
        keep(row, sc_error_message(ctx), NULL);
    sc_close(ctx);
}

/* Into the memory of the request, now that there is one thread again. */
static void take_texts(struct sc_context *ctx, struct sc__truth *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        struct sc__truth_row *row = &t->rows[i];
        if (!row->text)
            continue;
        const char *text = sc__strdup(&ctx->arena, row->text);
        if (row->skipped)
            row->skipped = text;
        else
            row->options = text;
        free(row->text);
        row->text = NULL;
    }
}

void sc__truth_filter(struct sc__truth *t, const char *text) {
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

/* --software for all rows; auto is the table. */
static sc_status check_software(struct sc_request *req, struct validate_job *job) {
    static const char *const others[] = {[SC__TRUTH_NEAREST] = "nearest-software",
                                         [SC__TRUTH_ASSUMED] = "assumed-software"};
    const char *said = sc__option(req, "software");
    const struct sc__software *found;
    static const struct sc__str nothing = {"", 0};
    bool nearest = sc__flag(req, others[SC__TRUTH_NEAREST]);
    bool assumed = sc__flag(req, others[SC__TRUTH_ASSUMED]);
    job->which = nearest ? SC__TRUTH_NEAREST : assumed ? SC__TRUTH_ASSUMED : SC__TRUTH_OWN;
    if (nearest && assumed)
        return sc__usage(req,
                         "give one of them",
                         "--nearest-software contradicts --assumed-software");
    if (!said || !strcmp(said, "auto"))
        return SC_OK;
    if (job->which != SC__TRUTH_OWN)
        return sc__usage(req,
                         "give one of them",
                         "--software contradicts --%s",
                         others[job->which]);
    job->software = said;
    return sc__software_find(req->ctx, said, nothing, &found);
}

/* No rows have no errors: whoever looks at the figures alone must not take that for good.
 */
sc_status sc__validate_any_row(struct sc_request *req, uint32_t rows) {
    struct sc__place at = {.file = req->inputs[0]};
    if (rows)
        return SC_OK;
    if (sc__flag(req, "only"))
        return sc__usage(req,
                         "it is looked for in sources and ids",
                         "no row has '%s' in it",
                         sc__option(req, "only"));
    return sc__fail(req->ctx, SC_INPUT, &at, NULL, "the table has no row");
}

/* Options of times that say nothing about memory. */
static sc_status check_memory_options(struct sc_request *req) {
    static const char *const of_times[] = {"markdown",
                                           "plot",
                                           "software",
                                           "nearest-software",
                                           "assumed-software",
                                           "step-constants"};
    for (unsigned i = 0; i < sizeof of_times / sizeof *of_times; i++)
        if (sc__flag(req, of_times[i]))
            return sc__usage(req, NULL, "--%s is of times, not of --memory", of_times[i]);
    return SC_OK;
}

static sc_status validate_execute(struct sc_request *req) {
    struct sc__truth truth;
    if (req->input_count != 1)
        return sc__usage(req,
                         "stepcast validate TRUTH.csv",
                         "one table of measured steps is needed");
    if (sc__flag(req, "memory")) {
        SC__TRY(check_memory_options(req));
        return sc__validate_memory(req, req->inputs[0]);
    }
    SC__TRY(sc__validate_read(req->ctx, req->inputs[0], &truth));
    sc__truth_filter(&truth, sc__option(req, "only"));
    SC__TRY(sc__validate_any_row(req, truth.count));
    struct validate_job job = {.truth = &truth,
                               .constants = sc__option(req, "step-constants")};
    SC__TRY(check_software(req, &job));
    SC__TRY(sc__parallel(req->ctx, "forecasting", truth.count, forecast_row, &job));
    take_texts(req->ctx, &truth);
    req->out.for_people = !sc__stdout_taken(req);
    if (req->out.for_people)
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
    {"memory",
     0,
     NULL,
     NULL,
     "Input",
     "memory instead of time: a table of figures and of jobs that fit or fail, or of "
     "steps, all of which ran",
     0},
    {"only", 0, "TEXT", NULL, "Input", "only rows whose source or id holds this", 0},
    {"software",
     0,
     "NAME",
     "auto",
     "Input",
     "the profile that all rows run; auto: each row that of its source",
     0,
     .type = SC__TYPE_TEXT,
     .folder = "software/"},
    {"nearest-software",
     0,
     NULL,
     NULL,
     "Input",
     "each row runs the profile nearest to its source's own, as if that were not known",
     0},
    {"assumed-software",
     0,
     NULL,
     NULL,
     "Input",
     "each row runs what `run` assumes where nobody names the software",
     0},
    {"step-constants",
     0,
     "FILE",
     NULL,
     "Input",
     "constants of the step model instead of the built-in ones",
     0},
    {"jobs", 'j', "N", "1", "Input", "threads", 0},
    {0},
};

static const struct sc__option *const tables[] = {options, sc__memory_options, NULL};

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
