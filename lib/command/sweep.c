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
#include "model/read.h"
#include "network/flow/flow_cluster.h"
#include "network/packet/packet.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OF_A_FILE ((size_t)256 << 20)
enum { MOST_AXES = 16, MOST_POINTS = 10000000, ROUND = SC__SWEEP_ROUND, SHOWN = 10 };

struct sweep_axis {
    const struct sc__option *option;
    const char **values;
    uint32_t count;
    uint32_t capacity;
};

struct sweep {
    struct sc_request *req;
    struct sweep_axis axes[MOST_AXES];
    uint32_t axis_count;
    sc_setting *given; /* what is not of the sweep itself */
    uint32_t given_count;
    uint32_t points;
    struct sc__store *store;
    uint32_t ids[ROUND];
    struct sc__sweep_row rows[ROUND];
    struct sc_context *contexts[ROUND]; /* which hold the rows' texts */
    uint32_t done_before;
};

/* ---- axes ---- */

/* at: where it stands in a file; NULL: on the command line. */
static __attribute__((format(printf, 4, 5))) sc_status axis_fail(struct sc_context *ctx,
                                                                 const struct sc__place *at,
                                                                 const char *hint,
                                                                 const char *fmt,
                                                                 ...) {
    va_list ap;
    va_start(ap, fmt);
    sc_status status = sc__vfail(ctx, at ? SC_INPUT : SC_USAGE, at, hint, fmt, ap);
    va_end(ap);
    return status;
}

/* An axis while it is read. */
struct axis_reader {
    struct sc_context *ctx;
    const struct sc__place *at;
    struct sweep_axis *axis;
};

/* What the option itself takes; files and names of models are looked at with their point.
 */
static sc_status check_value(const struct axis_reader *r, struct sc__str text) {
    const struct sc__option *o = r->axis->option;
    const char *value = sc__strndup(&r->ctx->arena, text.p, text.n);
    union {
        sc_plan plan;
        sc_options options;
    } room = {0};
    if (!o->arg || (o->in != SC__IN_PLAN && o->in != SC__IN_OPTIONS) ||
        sc__option_take(r->ctx, o, value, &room) == SC_OK)
        return SC_OK;
    const char *why = sc__strdup(&r->ctx->arena, sc_error_message(r->ctx));
    const char *hint = sc_error_hint(r->ctx);
    if (hint)
        hint = sc__strdup(&r->ctx->arena, hint);
    sc__clear_error(r->ctx);
    return axis_fail(r->ctx, r->at, hint, "%s", why);
}

static sc_status add_value(const struct axis_reader *r, struct sc__str text) {
    struct sc__arena *arena = &r->ctx->arena;
    struct sweep_axis *a = r->axis;
    if (a->count >= MOST_POINTS)
        return axis_fail(r->ctx, r->at, "a shorter range", "--axis: too many values");
    *SC__PUSH(arena, a->values, a->count, a->capacity) = sc__strndup(arena, text.p, text.n);
    return SC_OK;
}

static sc_status bad_range(const struct axis_reader *r, struct sc__str text) {
    return axis_fail(r->ctx,
                     r->at,
                     "write it like 1..8 (every one), 16..64+16 or 1..64*2",
                     "--axis: '%.*s' is no range",
                     SC__SHOW(text));
}

/* "1..8", "16..64+16", "1..64*2". */
static sc_status
add_range(const struct axis_reader *r, struct sc__str text, const char *dots) {
    struct sc__str low = {text.p, (size_t)(dots - text.p)};
    struct sc__str high = {dots + 2, text.n - low.n - 2};
    uint32_t from;
    uint32_t to;
    uint32_t step = 1;
    bool factor = memchr(high.p, '*', high.n) != NULL;
    const char *at = memchr(high.p, factor ? '*' : '+', high.n);
    if (at) {
        struct sc__str by = {at + 1, high.n - (size_t)(at - high.p) - 1};
        high.n = (size_t)(at - high.p);
        if (!sc__parse_u32(by, &step))
            return bad_range(r, text);
    }
    if (!sc__parse_u32(low, &from) || !sc__parse_u32(high, &to) || from > to ||
        step < (factor ? 2u : 1u) || (factor && !from))
        return bad_range(r, text);
    SC__TRY(check_value(r, low));
    SC__TRY(check_value(r, high)); /* what lies between is a number too */
    for (uint64_t x = from; x <= to; x = factor ? x * step : x + step) {
        const char *value = sc__format(&r->ctx->arena, "%llu", (unsigned long long)x);
        SC__TRY(add_value(r, sc__str(value)));
    }
    return SC_OK;
}

static const char *find_dots(struct sc__str text) {
    for (size_t i = 0; i + 1 < text.n; i++)
        if (text.p[i] == '.' && text.p[i + 1] == '.')
            return text.p + i;
    return NULL;
}

static sc_status add_values(const struct axis_reader *r, const char *text) {
    struct sc__str rest = sc__str(text);
    struct sc__str part;
    const char *name = r->axis->option->name;
    bool flag = !r->axis->option->arg;
    struct sc__names listed;
    sc__names_init(&listed, &r->ctx->arena);
    while (sc__split(&rest, ',', &part)) {
        const char *dots = find_dots(part);
        if (!part.n)
            return axis_fail(r->ctx, r->at, NULL, "--axis %s: an empty value", name);
        if (flag && !sc__str_is(part, "yes") && !sc__str_is(part, "no"))
            return axis_fail(r->ctx,
                             r->at,
                             "yes and no are what a flag has",
                             "--axis %s: '%.*s' is no value of it",
                             name,
                             SC__SHOW(part));
        if (!dots)
            SC__TRY(check_value(r, part));
        uint32_t before = listed.count;
        if (sc__names_add(&listed, part.p, part.n) < before)
            return axis_fail(r->ctx,
                             r->at,
                             NULL,
                             "--axis %s: %.*s is there twice",
                             name,
                             SC__SHOW(part));
        SC__TRY(dots ? add_range(r, part, dots) : add_value(r, part));
    }
    return SC_OK;
}

sc_status sc__sweep_check_values(struct sc_context *ctx,
                                 const struct sc__option *option,
                                 const char *text,
                                 const struct sc__place *at) {
    struct sweep_axis axis = {.option = option};
    const struct axis_reader reader = {ctx, at, &axis};
    return add_values(&reader, text);
}

/* What the engines of --net take: --cc, --route … */
static bool is_of_engine(const char *name) {
    return sc__option_find(sc__flow_options, name) ||
           sc__option_find(sc__packet_options, name);
}

static sc_status read_axis(struct sweep *s, const struct sc__value *given) {
    struct sc_context *ctx = s->req->ctx;
    const struct sc__place *at = given->at.file ? &given->at : NULL;
    struct sweep_axis *a = &s->axes[s->axis_count];
    const char *equals = strchr(given->text, '=');
    if (!equals || equals == given->text || !equals[1])
        return axis_fail(ctx,
                         at,
                         "--axis tp=1,2,4 or --axis micro-batch=1..8*2",
                         "--axis: '%s' is no option with values",
                         given->text);
    if (s->axis_count == MOST_AXES)
        return axis_fail(ctx, at, NULL, "more than %d axes", MOST_AXES);
    const char *name =
        sc__strndup(&ctx->arena, given->text, (size_t)(equals - given->text));
    a->option = sc__command_option(s->req->command, name);
    if (!a->option || a->option->in == SC__IN_NOTHING) {
        bool known = a->option && (!strcmp(name, "model") || !strcmp(name, "cluster") ||
                                   is_of_engine(name));
        if (!known)
            return axis_fail(ctx,
                             at,
                             "an option of run --model, such as tp or cluster",
                             "--axis: there is no option '%s' to sweep",
                             name);
    }
    for (uint32_t i = 0; i < s->axis_count; i++)
        if (s->axes[i].option == a->option)
            return axis_fail(ctx,
                             at,
                             "one axis with all values",
                             "two axes are --%s",
                             name);
    if (sc__option(s->req, name))
        return axis_fail(ctx, at, "give one of them", "--%s is given and an axis", name);
    s->axis_count++;
    const struct axis_reader reader = {ctx, at, a};
    return add_values(&reader, equals + 1);
}

static sc_status read_axes(struct sweep *s) {
    uint64_t points = 1;
    for (uint32_t i = 0; i < s->req->value_count; i++) {
        struct sc__value *v = &s->req->values[i];
        if (strcmp(v->option->name, "axis") != 0)
            continue;
        v->used = true;
        SC__TRY(read_axis(s, v));
        points *= s->axes[s->axis_count - 1].count;
        if (points > MOST_POINTS)
            return axis_fail(s->req->ctx,
                             v->at.file ? &v->at : NULL,
                             "shorter axes",
                             "the sweep has more than %d points",
                             MOST_POINTS);
    }
    if (!s->axis_count)
        return sc__usage(s->req, "--axis tp=1,2,4", "there is nothing to sweep");
    s->points = (uint32_t)points;
    return SC_OK;
}

/* ---- points ---- */

static bool is_of_sweep(const char *name) {
    static const char *const names[] = {"axis", "db", "csv", "html", "jobs", "max-memory"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static void keep_given(struct sweep *s) {
    const struct sc_request *req = s->req;
    s->given = SC__NEW_ARRAY(&req->ctx->arena, sc_setting, req->value_count + 1);
    for (uint32_t i = 0; i < req->value_count; i++) {
        const char *text = req->values[i].text;
        const char *name = req->values[i].option->name;
        if (!is_of_sweep(name))
            s->given[s->given_count++] = (sc_setting){name, text ? text : ""};
    }
}

static const char *value_at(const struct sweep *s, uint32_t axis, uint32_t point) {
    for (uint32_t i = s->axis_count; i-- > axis + 1;)
        point /= s->axes[i].count;
    return s->axes[axis].values[point % s->axes[axis].count];
}

/* All options of a point. A flag is an axis of yes and no; a profile may have it, so that
 * no is said where there is a word for it. */
static struct sc__setting_list
settings_of(struct sc_context *ctx, const struct sweep *s, uint32_t point) {
    sc_setting *list =
        SC__NEW_ARRAY(&ctx->arena, sc_setting, s->given_count + s->axis_count + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->given_count; i++)
        list[n++] = s->given[i];
    for (uint32_t i = 0; i < s->axis_count; i++) {
        const struct sc__option *o = s->axes[i].option;
        const char *value = value_at(s, i, point);
        if (!o->arg && !strcmp(value, "no"))
            o = sc__command_denial(ctx, s->req->command, o->name);
        if (o)
            list[n++] = (sc_setting){o->name, o->arg ? value : ""};
    }
    return (struct sc__setting_list){list, n};
}

static const char *settings_text(struct sc_context *ctx,
                                 const struct sc__setting_list *list) {
    struct sc__buffer b;
    struct sc__json j;
    sc__buffer_init(&b, &ctx->arena);
    sc__json_init(&j, &b);
    sc__json_row(&j, NULL);
    for (size_t i = 0; i < list->count; i++)
        sc__json_string(&j, list->items[i].name, list->items[i].value);
    sc__json_end_object(&j);
    while (b.size && b.text[b.size - 1] == '\n')
        b.size--; /* rows of a document end their line */
    return sc__strndup(&ctx->arena, b.text, b.size);
}

sc_status sc__sweep_read(struct sc_request *req, uint32_t *points, const char **last) {
    struct sweep *s = SC__NEW(&req->ctx->arena, struct sweep);
    s->req = req;
    SC__TRY(read_axes(s));
    keep_given(s);
    struct sc__setting_list list = settings_of(req->ctx, s, s->points - 1);
    *points = s->points;
    *last = settings_text(req->ctx, &list);
    return SC_OK;
}

struct point_trial {
    const struct sweep *sweep;
    struct sc_context *ctx;
    uint32_t point;
    struct sc__sweep_row *row;
};

static sc_status evaluate_point(void *self) {
    const struct point_trial *t = self;
    struct sc_context *ctx = t->ctx;
    struct sc__setting_list list = settings_of(ctx, t->sweep, t->point);
    struct sc__settings settings = sc__settings_of(ctx, &list);
    struct sc__evaluation *ev = SC__NEW(&ctx->arena, struct sc__evaluation);
    struct sc__model *model = SC__NEW(&ctx->arena, struct sc__model);
    struct sc__cluster_description cluster;
    const char *text = sc__setting(&settings, "cluster");
    sc_plan plan;
    sc_options options;
    bool given;
    t->row->settings = settings_text(ctx, &list);
    SC__TRY(sc__model_settings(ctx, &settings, model, &given));
    if (!given)
        return sc__fail(ctx, SC_USAGE, NULL, "--model NAME", "no model is given");
    SC__TRY(sc__plan_read(&settings, &plan));
    SC__TRY(sc__options_read(&settings, &options));
    if (text)
        SC__TRY(sc__cluster_describe(ctx, text, &cluster));
    const struct sc__evaluation_input in = {.cluster = text ? &cluster : NULL,
                                            .options = &options,
                                            .engine = settings};
    SC__TRY(sc__evaluation_model(ctx, &in, model, &plan, ev));
    SC__TRY(sc__evaluation_run(ctx, ev, false));
    struct sc__step_shares shares = sc__result_step_shares(&ev->result);
    double memory = 0;
    for (uint32_t i = 0; i < ev->plan.mesh.pp; i++) {
        struct sc__stage_memory x = sc__plan_memory(model, &ev->plan, i);
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
    *done = SC__NEW_ARRAY(&s->req->ctx->arena, bool, s->points);
    SC__TRY(sc__store_done(s->store, *done, s->points));
    for (uint32_t i = 0; i < s->points; i++)
        s->done_before += (*done)[i];
    return SC_OK;
}

static sc_status run_points(struct sweep *s, const bool *done) {
    uint32_t at = 0;
    while (at < s->points) {
        uint32_t count = 0;
        double from = (double)at / s->points;
        for (; at < s->points && count < ROUND; at++)
            if (!done[at])
                s->ids[count++] = at;
        if (count)
            SC__TRY(run_round(s, count, from, (double)at / s->points));
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
    uint32_t best[SHOWN]; /* fastest first */
    double best_us[SHOWN];
    uint32_t best_count;
    struct sc__json *page; /* or NULL */
};

static void keep_best(struct summary *x, uint32_t id, double us) {
    uint32_t k = x->best_count < SHOWN ? x->best_count++ : SHOWN;
    if (k == SHOWN && us >= x->best_us[SHOWN - 1])
        return;
    if (k == SHOWN)
        k--;
    for (; k > 0 && x->best_us[k - 1] > us; k--) {
        x->best_us[k] = x->best_us[k - 1];
        x->best[k] = x->best[k - 1];
    }
    x->best_us[k] = us;
    x->best[k] = id;
}

static void put_csv_row(struct summary *x, uint32_t id, const struct sc__sweep_row *row) {
    for (uint32_t i = 0; i < x->s->axis_count; i++)
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
    for (uint32_t i = 0; i < x->s->axis_count; i++)
        sc__json_string(x->page, NULL, value_at(x->s, i, id));
    sc__json_string(x->page, NULL, row->outcome);
    sc__json_double(x->page, NULL, ran ? row->figures[SC__SWEEP_STEP_US] : NAN);
    sc__json_double(x->page, NULL, ran ? row->figures[SC__SWEEP_TOKENS_PER_S] : NAN);
    sc__json_double(x->page, NULL, ran ? row->figures[SC__SWEEP_MFU] : NAN);
    sc__json_double(x->page, NULL, ran ? row->figures[SC__SWEEP_MEMORY_BYTES] : NAN);
    sc__json_end_array(x->page);
}

static void take_row(void *self, uint32_t id, const struct sc__sweep_row *row) {
    struct summary *x = self;
    if (!strcmp(row->outcome, "ok")) {
        x->ok++;
        keep_best(x, id, row->figures[SC__SWEEP_STEP_US]);
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

static void put_summary(const struct summary *x, struct sc__buffer *out) {
    const struct sweep *s = x->s;
    sc__printf(out,
               "%u points: %u ran, %u do not fit, %u cannot be; %u were there before\n\n",
               s->points,
               x->ok,
               x->no_fit,
               x->refused,
               s->done_before);
    for (uint32_t i = 0; i < x->best_count; i++) {
        sc__printf(out, "%12.4f s ", x->best_us[i] * 1e-6);
        for (uint32_t k = 0; k < s->axis_count; k++)
            sc__printf(out, " %s=%s", s->axes[k].option->name, value_at(s, k, x->best[i]));
        sc__putc(out, '\n');
    }
}

static void begin_page(const struct sweep *s, struct sc__json *j, struct sc__buffer *out) {
    sc__page_begin(j, out, "stepcast/sweep-page/1", s->req->argv, s->req->argc);
    sc__json_list(j, "axes");
    for (uint32_t i = 0; i < s->axis_count; i++)
        sc__json_string(j, NULL, s->axes[i].option->name);
    sc__json_end_array(j);
    sc__json_array(j, "points");
}

static sc_status
end_page(struct sweep *s, struct sc__json *j, const struct sc__buffer *data) {
    struct sc__buffer page;
    sc__json_end_array(j);
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
        for (uint32_t i = 0; i < s->axis_count; i++)
            sc__printf(&csv, "%s,", s->axes[i].option->name);
        sc__puts(&csv, "outcome");
        for (int i = 0; i < SC__SWEEP_FIGURES; i++)
            sc__printf(&csv, ",%s", sc__sweep_figures[i].name);
        sc__puts(&csv, "\n");
    }
    SC__TRY(sc__store_read(s->store, take_row, &x));
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
                        s->points,
                        x.why ? x.why : "");
    if (!sc__stdout_taken(req))
        put_summary(&x, &req->out);
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
    for (uint32_t i = 0; i < s->axis_count; i++) {
        sc__printf(&b, " --axis %s=", s->axes[i].option->name);
        for (uint32_t k = 0; k < s->axes[i].count; k++) {
            sc__puts(&b, k ? "," : "");
            define_value(ctx, &b, s->axes[i].values[k]);
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
        status = sc__sweep_lead(share, s->store, done, s->points, status);
    else if (status == SC_OK)
        status = run_points(s, done);
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
    if (!sc__option(req, "db"))
        return sc__usage(req, "give --db FILE", "a sweep needs a database for its points");
    SC__TRY(read_axes(s));
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
