/* sweep: every combination of the values of some options, in a database.
 *
 *   --axis NAME=VALUES …  → axes; the last one changes fastest
 *   every point           → evaluated as `run --model` with these options, in a context
 *                           of its own, on all cores
 *   rounds of points      → rows (sweep_store.c); what is there already is not done
 *                           again, so that a sweep that was stopped goes on */
#include "command/sweep.h"

#include "report/write.h"

#include "base/data.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/platform.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OF_A_FILE ((size_t)256 << 20)
enum { ROUND = SC__SWEEP_ROUND, SHOWN = 10 };

struct sweep {
    struct sc_request *req;
    struct sc__sweep_axes axes;
    sc_setting *given; /* what is not of the sweep itself */
    uint32_t given_count;
    bool *used; /* by given, then by axis: a point has asked for it */
    struct sc__store *store;
    uint32_t ids[ROUND];
    struct sc__sweep_row rows[ROUND];
    struct sc_context *contexts[ROUND]; /* which hold the rows' texts */
    uint32_t done_before;
    bool ran_all; /* in this process */
};

/* ---- points ---- */

/* Of an option that is not a list the last value counts. */
static bool counts(const struct sc_request *req, uint32_t at) {
    const struct sc__option *o = req->values[at].option;
    for (uint32_t i = at + 1; i < req->value_count && !(o->flags & SC__OPT_REPEAT); i++)
        if (req->values[i].option == o)
            return false;
    return !sc__sweep_is_own(o->name);
}

static void keep_given(struct sweep *s) {
    const struct sc_request *req = s->req;
    s->given = SC__NEW_ARRAY(&req->ctx->arena, sc_setting, req->value_count + 1);
    for (uint32_t i = 0; i < req->value_count; i++) {
        const char *text = req->values[i].text;
        const char *name = req->values[i].option->name;
        if (counts(req, i))
            s->given[s->given_count++] = (sc_setting){name, text ? text : ""};
    }
    s->used = SC__NEW_ARRAY(&req->ctx->arena, bool, s->given_count + s->axes.count);
}

static const char *value_at(const struct sweep *s, uint32_t axis, uint32_t point) {
    for (uint32_t i = s->axes.count; i-- > axis + 1;)
        point /= s->axes.items[i].count;
    return s->axes.items[axis].values[point % s->axes.items[axis].count];
}

/* All options of a point. A flag is an axis of yes and no; a profile may have it, so that
 * no is said where there is a word for it. */
static struct sc__setting_list
settings_of(struct sc_context *ctx, const struct sweep *s, uint32_t point) {
    sc_setting *list =
        SC__NEW_ARRAY(&ctx->arena, sc_setting, s->given_count + s->axes.count + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->given_count; i++)
        list[n++] = s->given[i];
    for (uint32_t i = 0; i < s->axes.count; i++) {
        const struct sc__option *o = s->axes.items[i].option;
        const char *value = value_at(s, i, point);
        if (!o->arg && !strcmp(value, "no"))
            o = sc__command_denial(ctx, s->req->command, o->name);
        if (o)
            list[n++] = (sc_setting){o->name, o->arg ? value : ""};
    }
    return (struct sc__setting_list){list, n};
}

static uint32_t count_of(const struct sc__setting_list *list, const char *name) {
    uint32_t n = 0;
    for (size_t i = 0; i < list->count; i++)
        n += !strcmp(list->items[i].name, name);
    return n;
}

/* An option that is given several times is one list. */
static const char *settings_text(struct sc_context *ctx,
                                 const struct sc__setting_list *list) {
    struct sc__buffer b;
    struct sc__json j;
    sc__buffer_init(&b, &ctx->arena);
    sc__json_init(&j, &b);
    sc__json_row(&j, NULL);
    for (size_t i = 0; i < list->count; i++) {
        const sc_setting *item = &list->items[i];
        const struct sc__setting_list before = {list->items, i};
        if (count_of(list, item->name) == 1)
            sc__json_string(&j, item->name, item->value);
        else if (!count_of(&before, item->name)) {
            sc__json_list(&j, item->name);
            for (size_t k = i; k < list->count; k++)
                if (!strcmp(list->items[k].name, item->name))
                    sc__json_string(&j, NULL, list->items[k].value);
            sc__json_end_array(&j);
        }
    }
    sc__json_end_object(&j);
    while (b.size && b.text[b.size - 1] == '\n')
        b.size--; /* rows of a document end their line */
    return sc__strndup(&ctx->arena, b.text, b.size);
}

sc_status sc__sweep_read(struct sc_request *req, uint32_t *points, const char **last) {
    struct sweep *s = SC__NEW(&req->ctx->arena, struct sweep);
    s->req = req;
    SC__TRY(sc__sweep_axes_read(req, &s->axes));
    keep_given(s);
    struct sc__setting_list list = settings_of(req->ctx, s, s->axes.points - 1);
    *points = s->axes.points;
    *last = settings_text(req->ctx, &list);
    return SC_OK;
}

struct point_trial {
    const struct sweep *sweep;
    struct sc_context *ctx;
    uint32_t point;
    struct sc__sweep_row *row;
};

/* The run that the point is. */
static struct sc_request request_of(struct sc_context *ctx,
                                    const struct sweep *s,
                                    const struct sc__setting_list *list) {
    struct sc_request run = {.ctx = ctx, .owner = ctx, .command = s->req->command};
    run.values = SC__NEW_ARRAY(&ctx->arena, struct sc__value, list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        const struct sc__option *o = sc__command_option(run.command, list->items[i].name);
        run.values[run.value_count++] =
            (struct sc__value){.option = o, .text = o->arg ? list->items[i].value : NULL};
    }
    return run;
}

/* Its values are those given, then those of the axes; a flag that is no has none. */
static void keep_used(const struct sweep *s, const struct sc_request *run) {
    for (uint32_t i = 0; i < run->value_count; i++) {
        uint32_t at = i;
        const struct sc__option *o = run->values[i].option;
        for (uint32_t k = 0; i >= s->given_count && k < s->axes.count; k++)
            if (s->axes.items[k].option == o)
                at = s->given_count + k;
        if (run->values[i].used && at < s->given_count + s->axes.count)
            __atomic_store_n(&s->used[at], true, __ATOMIC_RELAXED);
    }
}

static sc_status evaluate_point(void *self) {
    const struct point_trial *t = self;
    struct sc_context *ctx = t->ctx;
    struct sc__setting_list list = settings_of(ctx, t->sweep, t->point);
    struct sc_request run = request_of(ctx, t->sweep, &list);
    struct sc__job job;
    t->row->settings = settings_text(ctx, &list);
    SC__TRY(sc__job_load(&run, &job));
    struct sc__evaluation *ev = job.ev;
    SC__TRY(sc__evaluation_run(ctx, ev, false));
    keep_used(t->sweep, &run);
    struct sc__step_shares shares = sc__result_step_shares(&ev->result);
    double memory = 0;
    for (uint32_t i = 0; i < ev->plan.mesh.pp; i++) {
        struct sc__stage_memory x = sc__plan_memory(job.model, &ev->plan, i);
        memory = fmax(memory, sc__memory_sum(&x));
    }
    t->row->figures[SC__SWEEP_STEP_US] = (double)ev->result.step / 1e6;
    t->row->figures[SC__SWEEP_MFU] = ev->result.mfu;
    t->row->figures[SC__SWEEP_BUBBLE_SHARE] = shares.bubble;
    t->row->figures[SC__SWEEP_EXPOSED_SHARE] = shares.exposed;
    t->row->figures[SC__SWEEP_TOKENS_PER_S] =
        (double)ev->plan.global_batch * ev->plan.seq / ((double)ev->result.step * 1e-12);
    t->row->figures[SC__SWEEP_MEMORY_BYTES] = memory;
    sc__result_free(&ev->result);
    return SC_OK;
}

static void evaluate_one(void *self, uint32_t i) {
    struct sweep *s = self;
    struct sc__sweep_row *row = &s->rows[i];
    *row = (struct sc__sweep_row){.outcome = "refused", .settings = "{}", .message = ""};
    s->contexts[i] = sc_open();
    if (!s->contexts[i])
        return;
    s->contexts[i]->engines = s->req->ctx->engines;
    struct point_trial t = {s, s->contexts[i], s->ids[i], row};
    sc_status status = sc__guarded(s->contexts[i], evaluate_point, &t);
    row->outcome = status == SC_OK ? "ok" : status == SC_NO_FIT ? "no-fit" : "refused";
    row->message = sc_error_message(s->contexts[i]);
}

/* ---- all of them ---- */

static void forget_rows(struct sweep *s) {
    for (uint32_t i = 0; i < ROUND; i++) {
        sc_close(s->contexts[i]);
        s->contexts[i] = NULL;
    }
}

static sc_status run_round(struct sweep *s, uint32_t count, double from, double to) {
    sc_status status =
        sc__parallel_part(s->req->ctx, "sweeping", from, to, count, evaluate_one, s);
    if (status == SC_OK)
        status = sc__store_add(s->store, s->ids, s->rows, count);
    forget_rows(s);
    return status;
}

static sc_status find_done(struct sweep *s, bool **done) {
    *done = SC__NEW_ARRAY(&s->req->ctx->arena, bool, s->axes.points);
    SC__TRY(sc__store_done(s->store, *done, s->axes.points));
    for (uint32_t i = 0; i < s->axes.points; i++)
        s->done_before += (*done)[i];
    return SC_OK;
}

static sc_status run_points(struct sweep *s, const bool *done) {
    uint32_t at = 0;
    while (at < s->axes.points) {
        uint32_t count = 0;
        double from = (double)at / s->axes.points;
        for (; at < s->axes.points && count < ROUND; at++)
            if (!done[at])
                s->ids[count++] = at;
        if (count)
            SC__TRY(run_round(s, count, from, (double)at / s->axes.points));
    }
    return SC_OK;
}

/* A rank's part of the points, as rank 0 gives them. */
static sc_status evaluate_share(void *self,
                                const uint32_t *ids,
                                uint32_t count,
                                const struct sc__sweep_row **rows) {
    struct sweep *s = self;
    forget_rows(s);
    memcpy(s->ids, ids, count * sizeof *ids);
    *rows = s->rows;
    return sc__parallel_part(s->req->ctx, "sweeping", 0, 0, count, evaluate_one, s);
}

/* ---- what comes out ---- */

struct summary {
    struct sweep *s;
    struct sc__buffer *csv; /* or NULL */
    uint32_t ok;
    uint32_t no_fit;
    uint32_t refused;
    const char *why;
    struct best_point {
        uint32_t id;
        double us;
        double tokens_per_s; /* 0: unknown */
    } best[SHOWN];           /* fastest first */
    uint32_t best_count;
    double least_tokens; /* of a step that ran; 0: not known */
    double most_tokens;
    struct sc__json *page; /* or NULL */
};

/* A step of twice the batch may take longer and yet be faster: tokens decide, where they
 * are known. */
static bool is_faster(const struct best_point *a, const struct best_point *b) {
    return a->tokens_per_s > 0 && b->tokens_per_s > 0 ? a->tokens_per_s > b->tokens_per_s
                                                      : a->us < b->us;
}

static void keep_best(struct summary *x, uint32_t id, const struct sc__sweep_row *row) {
    const struct best_point point = {.id = id,
                                     .us = row->figures[SC__SWEEP_STEP_US],
                                     .tokens_per_s = row->figures[SC__SWEEP_TOKENS_PER_S]};
    uint32_t k = x->best_count < SHOWN ? x->best_count++ : SHOWN;
    if (k == SHOWN && !is_faster(&point, &x->best[SHOWN - 1]))
        return;
    if (k == SHOWN)
        k--;
    for (; k > 0 && is_faster(&point, &x->best[k - 1]); k--)
        x->best[k] = x->best[k - 1];
    x->best[k] = point;
}

static void put_csv_row(struct summary *x, uint32_t id, const struct sc__sweep_row *row) {
    for (uint32_t i = 0; i < x->s->axes.count; i++)
        sc__printf(x->csv, "%s,", value_at(x->s, i, id));
    sc__printf(x->csv, "%s", row->outcome);
    for (int i = 0; i < SC__SWEEP_FIGURES; i++) {
        const struct sc__sweep_figure *f = &sc__sweep_figures[i];
        sc__puts(x->csv, ",");
        if (!strcmp(row->outcome, "ok"))
            sc__printf(x->csv, f->fixed ? "%.*f" : "%.*g", f->digits, row->figures[i]);
    }
    sc__puts(x->csv, "\n");
}

static void put_page_row(struct summary *x, uint32_t id, const struct sc__sweep_row *row) {
    bool ran = !strcmp(row->outcome, "ok");
    sc__json_list(x->page, NULL);
    for (uint32_t i = 0; i < x->s->axes.count; i++)
        sc__json_string(x->page, NULL, value_at(x->s, i, id));
    sc__json_string(x->page, NULL, row->outcome);
    sc__json_double(x->page, NULL, ran ? row->figures[SC__SWEEP_STEP_US] : NAN);
    sc__json_double(x->page, NULL, ran ? row->figures[SC__SWEEP_TOKENS_PER_S] : NAN);
    sc__json_double(x->page, NULL, ran ? row->figures[SC__SWEEP_MFU] : NAN);
    sc__json_double(x->page, NULL, ran ? row->figures[SC__SWEEP_MEMORY_BYTES] : NAN);
    sc__json_end_array(x->page);
}

static void keep_tokens(struct summary *x, const struct sc__sweep_row *row) {
    double seconds = row->figures[SC__SWEEP_STEP_US] * 1e-6;
    double tokens = round(row->figures[SC__SWEEP_TOKENS_PER_S] * seconds);
    x->least_tokens = x->ok ? fmin(x->least_tokens, tokens) : tokens;
    x->most_tokens = fmax(x->most_tokens, tokens);
}

static void take_row(void *self, uint32_t id, const struct sc__sweep_row *row) {
    struct summary *x = self;
    if (!strcmp(row->outcome, "ok")) {
        keep_tokens(x, row);
        x->ok++;
        keep_best(x, id, row);
    } else {
        x->no_fit += !strcmp(row->outcome, "no-fit");
        x->refused += !strcmp(row->outcome, "refused");
        if (!x->why)
            x->why = sc__strdup(&x->s->req->ctx->arena, row->message);
    }
    if (x->csv)
        put_csv_row(x, id, row);
    if (x->page)
        put_page_row(x, id, row);
}

static sc_status load_point(void *self) {
    const struct point_trial *t = self;
    struct sc__setting_list list = settings_of(t->ctx, t->sweep, t->point);
    struct sc_request run = request_of(t->ctx, t->sweep, &list);
    struct sc__job job;
    return sc__job_load(&run, &job);
}

/* What the fastest point assumes, found once more, for its row may be of an earlier run or
 * of another process. It ran, so an error here is one of memory: then there are no notes.
 */
static void note_assumptions(const struct summary *x) {
    struct sc_context *ctx = x->s->req->ctx;
    struct sc_context *own = x->best_count ? sc_open() : NULL;
    struct point_trial t = {x->s, own, x->best[0].id, NULL};
    if (own)
        own->engines = ctx->engines;
    if (own && sc__guarded(own, load_point, &t) == SC_OK)
        sc__notes_copy(ctx, own);
    sc_close(own);
    if (x->least_tokens < x->most_tokens)
        sc__note(ctx,
                 "steps-differ",
                 "steps of these points have %.0f to %.0f tokens: tokens/s compare them",
                 x->least_tokens,
                 x->most_tokens);
}

/* What was given in vain. Points that other processes ran, or an earlier run, may have
 * asked for it. */
static void put_unused(const struct summary *x, struct sc__buffer *out) {
    static const char text[] = "--%s has no effect on any point";
    const struct sweep *s = x->s;
    if (s->done_before || !s->ran_all)
        return;
    for (uint32_t i = 0; i < s->given_count + s->axes.count; i++) {
        const char *name = i < s->given_count
                               ? s->given[i].name
                               : s->axes.items[i - s->given_count].option->name;
        if (s->used[i])
            continue;
        if (!out) /* a table took standard output */
            sc__note(s->req->ctx, "option-unused", text, name);
        else
            sc__printf(out, "\nnote: %s\n", sc__format(&s->req->ctx->arena, text, name));
    }
}

static void put_summary(const struct summary *x, struct sc__buffer *out) {
    const struct sweep *s = x->s;
    sc__printf(out,
               "%u points: %u ran, %u do not fit, %u cannot be; %u were there before\n\n",
               s->axes.points,
               x->ok,
               x->no_fit,
               x->refused,
               s->done_before);
    for (uint32_t i = 0; i < x->best_count; i++) {
        sc__printf(out, "%12.4f s ", x->best[i].us * 1e-6);
        if (x->best[i].tokens_per_s > 0)
            sc__printf(out, "%12.0f tokens/s ", x->best[i].tokens_per_s);
        for (uint32_t k = 0; k < s->axes.count; k++)
            sc__printf(out,
                       " %s=%s",
                       s->axes.items[k].option->name,
                       value_at(s, k, x->best[i].id));
        sc__putc(out, '\n');
    }
}

static void put_notes(const struct summary *x, struct sc__buffer *out) {
    const struct sc_context *ctx = x->s->req->ctx;
    for (uint32_t i = 0; i < ctx->note_count; i++)
        sc__printf(out,
                   "%s  - %s\n",
                   i ? "" : "\nnotes of the fastest point\n",
                   ctx->notes[i].text);
}

static void begin_page(const struct sweep *s, struct sc__json *j, struct sc__buffer *out) {
    sc__page_begin(j, out, "stepcast/sweep-page/1", s->req->argv, s->req->argc);
    sc__json_list(j, "axes");
    for (uint32_t i = 0; i < s->axes.count; i++)
        sc__json_string(j, NULL, s->axes.items[i].option->name);
    sc__json_end_array(j);
    sc__json_array(j, "points");
}

static sc_status
end_page(struct sweep *s, struct sc__json *j, const struct sc__buffer *data) {
    struct sc__buffer page;
    sc__json_end_array(j);
    sc__json_notes(j, s->req->ctx);
    sc__json_end_object(j);
    struct sc__page_side side = {.name = "sweep",
                                 .saved = (struct sc__str){data->text, data->size}};
    sc__buffer_init(&page, &s->req->ctx->arena);
    sc__write_html(&side, 1, &page);
    return sc__job_output(s->req, "html", &page);
}

static sc_status write_sweep(struct sweep *s) {
    struct sc_request *req = s->req;
    struct sc__buffer csv;
    struct sc__buffer data;
    struct sc__json page;
    struct summary x = {.s = s};
    sc__buffer_init(&csv, &req->ctx->arena);
    sc__buffer_init(&data, &req->ctx->arena);
    if (sc__option(req, "html")) {
        SC__TRY(sc__page_check(req->ctx));
        x.page = &page;
        begin_page(s, &page, &data);
    }
    if (sc__option(req, "csv")) {
        x.csv = &csv;
        for (uint32_t i = 0; i < s->axes.count; i++)
            sc__printf(&csv, "%s,", s->axes.items[i].option->name);
        sc__puts(&csv, "outcome");
        for (int i = 0; i < SC__SWEEP_FIGURES; i++)
            sc__printf(&csv, ",%s", sc__sweep_figures[i].name);
        sc__puts(&csv, "\n");
    }
    SC__TRY(sc__store_read(s->store, take_row, &x));
    note_assumptions(&x);
    if (x.csv)
        SC__TRY(sc__job_output(req, "csv", &csv));
    if (x.page)
        SC__TRY(end_page(s, &page, &data));
    if (!x.ok)
        return sc__fail(req->ctx,
                        SC_NO,
                        NULL,
                        NULL,
                        "none of %u points could be run; the first: %s",
                        s->axes.points,
                        x.why ? x.why : "");
    bool taken = sc__stdout_taken(req);
    if (!taken) {
        put_summary(&x, &req->out);
        put_notes(&x, &req->out);
    }
    put_unused(&x, taken ? NULL : &req->out);
    return SC_OK;
}

/* The file that an option's value names, or NULL: also with a number of GPUs behind it, and
 * the configuration in a model's folder. */
static const char *file_named(struct sc_context *ctx, const char *value) {
    enum sc__path_kind kind = sc__path_look(value).kind;
    const char *colon = strrchr(value, ':');
    if (kind == SC__PATH_NONE && colon)
        return file_named(ctx, sc__strndup(&ctx->arena, value, (size_t)(colon - value)));
    if (kind == SC__PATH_FOLDER)
        return sc__format(&ctx->arena, "%s/config.json", value);
    return kind == SC__PATH_FILE ? value : NULL;
}

/* What the file holds decides the rows, not its name. */
static void define_value(struct sc_context *ctx, struct sc__buffer *b, const char *value) {
    const char *path = file_named(ctx, value);
    struct sc__str content = {0};
    sc__puts(b, value);
    if (!path)
        return;
    if (sc__read_all(ctx, path, MOST_OF_A_FILE, &content) != SC_OK)
        sc__clear_error(ctx); /* a point that needs it says so */
    sc__printf(b, " (%016llx)", (unsigned long long)sc__hash(content.p, content.n, 0));
}

/* Constants of the build, which may change while the version stays. */
static uint64_t digest_of_data(void) {
    uint64_t digest = 0;
    for (unsigned i = 0; i < sc__data_file_count; i++)
        digest = sc__hash(sc__data_files[i].bytes, sc__data_files[i].size, digest);
    return digest;
}

/* What decides the rows: version, code, data, options, axes. */
static const char *definition_of(const struct sweep *s) {
    struct sc_context *ctx = s->req->ctx;
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    sc__printf(&b,
               "stepcast/sweep/1 %s (%s, %016llx)",
               sc_version(),
               sc__sources_checksum,
               (unsigned long long)digest_of_data());
    for (uint32_t i = 0; i < s->given_count; i++) {
        sc__printf(&b, " --%s ", s->given[i].name);
        define_value(ctx, &b, s->given[i].value);
    }
    for (uint32_t i = 0; i < s->axes.count; i++) {
        sc__printf(&b, " --axis %s=", s->axes.items[i].option->name);
        for (uint32_t k = 0; k < s->axes.items[i].count; k++) {
            sc__puts(&b, k ? "," : "");
            define_value(ctx, &b, s->axes.items[i].values[k]);
        }
    }
    return b.text;
}

/* Rank 0, or one process alone: has the database and says what came out. */
static sc_status lead_sweep(struct sweep *s, const struct sc__sweep_share *share) {
    struct sc_request *req = s->req;
    bool *done = NULL;
    sc_status status =
        sc__store_open(req->ctx, sc__option(req, "db"), definition_of(s), &s->store);
    if (status == SC_OK)
        status = find_done(s, &done);
    if (share->ranks->count > 1)
        status = sc__sweep_lead(share, s->store, done, s->axes.points, status);
    else if (status == SC_OK) {
        status = run_points(s, done);
        s->ran_all = status == SC_OK;
    }
    if (status == SC_OK)
        status = write_sweep(s);
    sc__store_close(s->store);
    return status;
}

/* A file of a sweep has become options by now (job_file.c): this is another one. */
static sc_status refuse_input(struct sc_request *req) {
    struct sc__place at = {.file = req->inputs[0]};
    if (sc__path_look(req->inputs[0]).kind == SC__PATH_NONE)
        return sc__fail(
            req->ctx,
            SC_INPUT,
            &at,
            "a file of a sweep begins with 'stepcast: job/1' (docs/sweep.md); or "
            "give --model and --axis",
            "cannot open: there is no such file");
    return sc__fail(
        req->ctx,
        SC_INPUT,
        &at,
        "it would begin with 'stepcast: job/1' (docs/sweep.md); a model is given "
        "with --model",
        "is no file of a sweep");
}

static sc_status sweep_execute(struct sc_request *req) {
    struct sweep *s = SC__NEW(&req->ctx->arena, struct sweep);
    struct sc__ranks ranks;
    s->req = req;
    if (req->input_count)
        return refuse_input(req);
    const char *database = sc__option(req, "db");
    if (!database)
        return sc__usage(req, "give --db FILE", "a sweep needs a database for its points");
    if (!strcmp(database, "-"))
        return sc__usage(req,
                         "give --db FILE; --csv - writes the points to standard output",
                         "a database is a file");
    SC__TRY(sc__sweep_axes_read(req, &s->axes));
    keep_given(s);
    SC__TRY(sc__ranks_open(req->ctx, &ranks));
    if (!sc__option(req, "jobs"))
        req->ctx->jobs = ranks.count > 1 ? 1 : sc__cores();
    const struct sc__sweep_share share = {.ctx = req->ctx,
                                          .ranks = &ranks,
                                          .at_once = req->ctx->jobs,
                                          .evaluate = evaluate_share,
                                          .self = s};
    sc_status status = ranks.here ? sc__sweep_follow(&share) : lead_sweep(s, &share);
    forget_rows(s);
    sc__ranks_close(&ranks);
    return status;
}

static const struct sc__option options[] = {
    {"axis",
     0,
     "NAME=LIST",
     NULL,
     "Sweep",
     "an option and its values: tp=1,2,4, gpus=64..512*2, seq=4096..16384+4096",
     SC__OPT_REPEAT},
    {"db", 0, "FILE", NULL, "Sweep", "SQLite database of the points; resumed if there", 0},
    {"csv", 0, "FILE", NULL, "Output", "the points as CSV; - for standard output", 0},
    {"html", 0, "FILE", NULL, "Output", "a page: a map of two axes, and all points", 0},
    {0}};

static const struct sc__option *const tables[] = {sc__job_options,
                                                  sc__memory_options,
                                                  sc__cluster_options,
                                                  sc__model_options,
                                                  sc__flow_options,
                                                  sc__packet_options,
                                                  sc__whatif_options,
                                                  options,
                                                  NULL};

const struct sc__command sc__command_sweep = {
    .name = "sweep",
    .args = "[FILE.yaml] --db FILE --axis NAME=LIST … --model M …",
    .summary = "simulate every combination of the values of some options",
    .text = "Takes the options of 'run --model'; each --axis gives one of them several "
            "values (yes and no for a flag).\n"
            "Every point is simulated as 'run' does and becomes a row of the database. "
            "Stopped and started again with the\n"
            "same options, it goes on where it was. The options may be in a file "
            "(stepcast: job/1), the axes under 'axes'. Under\n"
            "mpirun or srun all ranks share the points (-j threads each, 1 unless given) "
            "and the first writes them.",
    .inputs = true,
    .options = tables,
    .execute = sweep_execute,
};
