/* validate_memory: published and measured memory against the forecast.
 *
 * A table of memory has a row for each figure: the options of `run`, and what is
 * known of the job:
 *
 *     peak          GiB that PyTorch's allocator had given at most
 *     used          GiB of the card, as nvidia-smi shows it
 *     activations   GiB of the first stage's activations
 *     state         GiB of weights, gradients and optimizer of a stage between the ends
 *     fits, fails   whether it ran
 *
 * A table of training steps is one of jobs that ran: every row has to fit. Where its
 * source does not say what is recomputed, sharded or freed early, a job that only fits with
 * that is undecided. */
#include "command/validate.h"

#include "evaluate/evaluate.h"
#include "model/read.h"

#include <math.h>
#include <string.h>

enum memory_kind {
    KIND_PEAK,
    KIND_USED,
    KIND_ACTIVATIONS,
    KIND_STATE,
    KIND_FITS,
    KIND_FAILS,
    MEMORY_KINDS
};

static const char *const kind_names[MEMORY_KINDS] = {
    "peak", "used", "activations", "state", "fits", "fails"};

struct sc__memory_truth_row {
    const char *id;
    const char *source;
    const char *options;
    unsigned kind;
    bool held_out;
    double measured; /* GiB */
    /* GiB */
    double forecast;
    double capacity;
    const char *skipped; /* why, or NULL */
    bool wrong;          /* called to fit and does not, or the other way round */
    bool undecided;
};

/* ---- reading ---- */

enum { CELL_ID, CELL_SOURCE, CELL_KIND, CELL_GIB, CELL_OPTIONS, CELL_HELD_OUT, CELLS };

static sc_status memory_cells(struct sc__csv *c,
                              const char **cells,
                              const uint32_t *column,
                              struct sc__memory_truth_row *row) {
    const char *kind = cells[column[CELL_KIND]];
    const char *gib = cells[column[CELL_GIB]];
    *row = (struct sc__memory_truth_row){.id = cells[column[CELL_ID]],
                                         .source = cells[column[CELL_SOURCE]],
                                         .options = cells[column[CELL_OPTIONS]],
                                         .kind = MEMORY_KINDS,
                                         .held_out =
                                             !strcmp(cells[column[CELL_HELD_OUT]], "yes")};
    for (unsigned k = 0; k < MEMORY_KINDS; k++)
        if (!strcmp(kind, kind_names[k]))
            row->kind = k;
    if (row->kind == MEMORY_KINDS)
        return sc__csv_error(
            c,
            sc__format(&c->ctx->arena,
                       "kind \"%.60s\": peak, used, activations, state, fits or fails",
                       kind));
    if (row->kind >= KIND_FITS)
        return SC_OK;
    if (!sc__parse_double(sc__str(gib), &row->measured) || !(row->measured > 0))
        return sc__csv_error(
            c,
            sc__format(&c->ctx->arena, "gib: '%.60s' is not a positive number", gib));
    return SC_OK;
}

sc_status sc__memory_truth_parse(struct sc_context *ctx,
                                 const char *file,
                                 struct sc__str text,
                                 struct sc__memory_truth *out) {
    struct sc__csv c = {.ctx = ctx, .file = file, .text = text, .line = 1};
    static const char *const names[CELLS] =
        {"id", "source", "kind", "gib", "options", "held_out"};
    const char *cells[SC__CSV_COLUMNS];
    uint32_t column[CELLS];
    uint64_t line;
    bool more;
    SC__TRY(sc__csv_columns(&c, names, CELLS, column));
    SC__TRY(sc__csv_row(&c, cells, &line, &more));
    while (more) {
        SC__TRY(memory_cells(&c,
                             cells,
                             column,
                             SC__PUSH(&ctx->arena, out->rows, out->count, out->capacity)));
        SC__TRY(sc__csv_row(&c, cells, &line, &more));
    }
    return SC_OK;
}

/* ---- forecasting ---- */

struct memory_forecast {
    struct sc_context *ctx;
    struct sc__memory_truth_row *row;
    const struct sc__truth_row *step; /* of a table of steps, or NULL */
    bool least; /* what the row leaves open takes the least memory: everything is
                   recomputed, weights are sharded */
    const char *skipped;
};

static double in_gib(uint64_t bytes) {
    return (double)bytes / (1u << 30);
}

const struct sc__memory *sc__validate_fullest(const struct sc__workload *w) {
    uint32_t most = 0;
    for (uint32_t i = 1; i < w->class_count; i++)
        if (sc__memory_total(&w->memory[i]) > sc__memory_total(&w->memory[most]))
            most = i;
    return &w->memory[most];
}

/* What the row's kind is about, of the stage that needs most. */
static double memory_figure(const struct sc__workload *w, unsigned kind) {
    const struct sc__memory *m = sc__validate_fullest(w);
    const struct sc__memory *middle = &w->memory[w->class_count > 1 ? 1 : 0];
    uint64_t outside = m->communication + m->context + m->fragmentation;
    switch (kind) {
    case KIND_PEAK:
        return in_gib(sc__memory_total(m) - outside);
    case KIND_ACTIVATIONS:
        return in_gib(w->memory[0].activations);
    case KIND_STATE:
        return in_gib(middle->weights + middle->gradients + middle->optimizer);
    default:
        return in_gib(sc__memory_total(m));
    }
}

static bool says_recompute(const struct sc__truth_row *step) {
    static const char *const words[] = {"none", "full", "selective", "no", NULL};
    const char *cell = step->cell[SC__TRUTH_RECOMPUTE];
    for (const char *const *w = words; *w; w++)
        if (!strncmp(cell, *w, strlen(*w)))
            return !strstr(cell, "assumed") && !strstr(cell, "some");
    return false;
}

static bool says_sharding(const struct sc__truth_row *step) {
    return *step->cell[SC__TRUTH_ZERO] != 0;
}

static sc_status memory_plan(struct memory_forecast *f, struct sc__truth_plan *plan) {
    struct sc_context *ctx = f->ctx;
    *plan = (struct sc__truth_plan){0};
    if (f->step)
        SC__TRY(sc__truth_plan(ctx, f->step, SC__TRUTH_OWN, plan));
    else
        sc__truth_words(ctx, plan, f->row->options);
    if (plan->skip)
        return SC_OK;
    if (f->least && !says_recompute(f->step)) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < plan->count; i++)
            if (strncmp(plan->items[i].name, "recompute", 9) != 0)
                plan->items[n++] = plan->items[i];
        plan->count = n;
        sc__truth_words(ctx, plan, "--recompute full");
    }
    if (f->least && !says_sharding(f->step))
        sc__truth_words(ctx, plan, "--zero 3");
    if (!f->step)
        sc__truth_words(ctx, plan, "--ignore-memory");
    return SC_OK;
}

static sc_status forecast_memory(void *self) {
    struct memory_forecast *f = self;
    struct sc_context *ctx = f->ctx;
    struct sc__truth_plan plan;
    struct sc__model model;
    struct sc__cluster_description cluster;
    struct sc__evaluation *ev = SC__NEW(&ctx->arena, struct sc__evaluation);
    sc_options options;
    sc_plan training;
    bool given;
    SC__TRY(memory_plan(f, &plan));
    f->skipped = plan.skip;
    if (plan.skip)
        return SC_OK;
    struct sc__settings settings = sc__truth_settings(ctx, &plan);
    SC__TRY(sc__model_settings(ctx, &settings, &model, &given));
    if (!given)
        return sc__fail(ctx, SC_USAGE, NULL, NULL, "the options name no model");
    SC__TRY(sc__plan_read(&settings, &training));
    SC__TRY(sc__options_read(&settings, &options));
    SC__TRY(sc__cluster_describe(ctx, plan.cluster ? plan.cluster : "ideal", &cluster));
    struct sc__evaluation_input in = {.cluster = &cluster,
                                      .options = &options,
                                      .engine = settings,
                                      .plan_options = &settings};
    SC__TRY(sc__evaluation_model(ctx, &in, &model, &training, ev));
    f->row->forecast = memory_figure(ev->workload, f->row->kind);
    f->row->capacity = in_gib(ev->workload->memory_capacity);
    return SC_OK;
}

static void run_forecast(struct sc_context *ctx, struct memory_forecast *f) {
    f->ctx = sc_open();
    if (!f->ctx) {
        f->row->skipped = "out of memory";
        return;
    }
    f->skipped = NULL;
    if (sc__guarded(f->ctx, forecast_memory, f) != SC_OK)
        f->skipped = sc_error_message(f->ctx);
    f->row->skipped = f->skipped ? sc__strdup(&ctx->arena, f->skipped) : NULL;
    sc_close(f->ctx);
}

static void judge(struct sc_context *ctx,
                  struct sc__memory_truth_row *row,
                  const struct sc__truth_row *step) {
    struct memory_forecast f = {.row = row, .step = step};
    run_forecast(ctx, &f);
    if (row->skipped || row->kind < KIND_FITS)
        return;
    bool fits = row->forecast <= row->capacity;
    row->wrong = fits != (row->kind == KIND_FITS);
    if (!row->wrong || !step || (says_recompute(step) && says_sharding(step)))
        return;
    struct sc__memory_truth_row again = *row;
    struct memory_forecast full = {.row = &again, .step = step, .least = true};
    run_forecast(ctx, &full);
    row->undecided = !again.skipped && again.forecast <= again.capacity;
    row->wrong = !row->undecided;
}

static sc_status steps_that_ran(struct sc_context *ctx,
                                const char *path,
                                const char *only,
                                struct sc__memory_truth *out) {
    struct sc__truth truth;
    SC__TRY(sc__validate_read(ctx, path, &truth));
    sc__truth_filter(&truth, only);
    for (uint32_t i = 0; i < truth.count; i++) {
        const struct sc__truth_row *step = &truth.rows[i];
        struct sc__memory_truth_row *row =
            SC__PUSH(&ctx->arena, out->rows, out->count, out->capacity);
        *row = (struct sc__memory_truth_row){.id = step->cell[SC__TRUTH_ID],
                                             .source = step->cell[SC__TRUTH_SOURCE],
                                             .options = "",
                                             .kind = KIND_FITS};
        judge(ctx, row, step);
    }
    return SC_OK;
}

/* ---- reporting ---- */

struct memory_summary {
    uint32_t rows;
    uint32_t forecast;
    uint32_t wrong;
    uint32_t undecided;
    /* of figures, % */
    double mean;
    double worst;
};

static double error_of(const struct sc__memory_truth_row *row) {
    return 100 * (row->forecast / row->measured - 1);
}

static struct memory_summary
summarise(const struct sc__memory_truth *t, unsigned kind, int held_out) {
    struct memory_summary s = {0};
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__memory_truth_row *row = &t->rows[i];
        if (row->kind != kind || (held_out >= 0 && row->held_out != (held_out > 0)))
            continue;
        s.rows++;
        if (row->skipped)
            continue;
        s.forecast++;
        s.wrong += row->wrong;
        s.undecided += row->undecided;
        if (kind >= KIND_FITS)
            continue;
        s.mean += fabs(error_of(row));
        s.worst = fmax(s.worst, fabs(error_of(row)));
    }
    if (s.forecast)
        s.mean /= s.forecast;
    return s;
}

static void put_memory_row(struct sc__buffer *b, const struct sc__memory_truth_row *row) {
    sc__printf(b, "  %-38.38s %-11s", row->id, kind_names[row->kind]);
    if (row->skipped)
        sc__printf(b, " left out: %s\n", row->skipped);
    else if (row->kind < KIND_FITS)
        sc__printf(b,
                   " %8.2f GiB   forecast %8.2f   %+6.1f %%%s\n",
                   row->measured,
                   row->forecast,
                   error_of(row),
                   row->held_out ? "   held out" : "");
    else
        sc__printf(b,
                   " forecast %8.2f of %.1f GiB%s\n",
                   row->forecast,
                   row->capacity,
                   row->wrong ? "   WRONG"
                   : row->undecided
                       ? "   undecided: what it recomputes, shards or frees is not said"
                       : "");
}

static void
put_figures(struct sc__buffer *b, const struct sc__memory_truth *t, unsigned kind) {
    static const char *const names[] = {"all", "held out"};
    for (int h = 0; h < 2; h++) {
        struct memory_summary s = summarise(t, kind, h ? 1 : -1);
        if (s.forecast)
            sc__printf(b,
                       "  %-12s %-9s %4u rows   mean error %.2f %%   worst %.2f %%\n",
                       kind_names[kind],
                       names[h],
                       s.forecast,
                       s.mean,
                       s.worst);
    }
}

/* Jobs that are judged right are many: only the others are listed. */
static void put_memory_text(const struct sc__memory_truth *t, struct sc__buffer *b) {
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__memory_truth_row *row = &t->rows[i];
        if (row->kind < KIND_FITS || row->wrong || row->undecided || row->skipped)
            put_memory_row(b, row);
    }
    sc__putc(b, '\n');
    for (unsigned kind = 0; kind < KIND_FITS; kind++)
        put_figures(b, t, kind);
    for (unsigned kind = KIND_FITS; kind < MEMORY_KINDS; kind++) {
        struct memory_summary s = summarise(t, kind, -1);
        if (s.rows)
            sc__printf(b,
                       "  %-12s %u jobs, %u forecast: %u called otherwise, %u undecided\n",
                       kind_names[kind],
                       s.rows,
                       s.forecast,
                       s.wrong,
                       s.undecided);
    }
}

static void put_memory_json(const struct sc__memory_truth *t, struct sc__buffer *b) {
    struct sc__json j;
    sc__json_init(&j, b);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/validation-memory/1");
    sc__json_array(&j, "rows");
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__memory_truth_row *row = &t->rows[i];
        sc__json_row(&j, NULL);
        sc__json_string(&j, "id", row->id);
        sc__json_string(&j, "source", row->source);
        sc__json_string(&j, "kind", kind_names[row->kind]);
        sc__json_bool(&j, "held_out", row->held_out);
        sc__json_string(&j, "skipped", row->skipped);
        if (row->kind < KIND_FITS)
            sc__json_double(&j, "measured_gib", row->measured);
        if (!row->skipped) {
            sc__json_double(&j, "forecast_gib", row->forecast);
            sc__json_double(&j, "capacity_gib", row->capacity);
        }
        if (row->kind >= KIND_FITS) {
            sc__json_bool(&j, "wrong", row->wrong);
            sc__json_bool(&j, "undecided", row->undecided);
        }
        sc__json_end_object(&j);
    }
    sc__json_end_array(&j);
    sc__json_end_object(&j);
    sc__putc(b, '\n');
}

static bool is_memory_table(struct sc__str text) {
    const char *end = memchr(text.p, '\n', text.n);
    struct sc__str line = {text.p, end ? (size_t)(end - text.p) : text.n};
    struct sc__str cell;
    while (sc__split(&line, ',', &cell))
        if (sc__str_is(cell, "options"))
            return true;
    return false;
}

static void keep_memory_rows(struct sc__memory_truth *t, const char *text) {
    uint32_t kept = 0;
    for (uint32_t i = 0; text && i < t->count; i++)
        if (strstr(t->rows[i].source, text) || strstr(t->rows[i].id, text))
            t->rows[kept++] = t->rows[i];
    if (text)
        t->count = kept;
}

sc_status sc__validate_memory(struct sc_request *req, const char *path) {
    struct sc_context *ctx = req->ctx;
    struct sc__memory_truth table = {0};
    struct sc__str text;
    SC__TRY(sc__read_all(ctx, path, (size_t)64 << 20, &text));
    if (is_memory_table(text)) {
        SC__TRY(sc__memory_truth_parse(ctx, path, text, &table));
        keep_memory_rows(&table, sc__option(req, "only"));
        for (uint32_t i = 0; i < table.count; i++)
            judge(ctx, &table.rows[i], NULL);
    } else
        SC__TRY(steps_that_ran(ctx, path, sc__option(req, "only"), &table));
    SC__TRY(sc__validate_any_row(req, table.count));
    const char *file = sc__option(req, "json");
    struct sc__buffer json;
    sc__buffer_init(&json, &ctx->arena);
    if (file)
        put_memory_json(&table, strcmp(file, "-") ? &json : &req->out);
    if (!sc__stdout_taken(req))
        put_memory_text(&table, &req->out);
    return file && strcmp(file, "-") ? sc__write_file(ctx, file, json.text, json.size)
                                     : SC_OK;
}
