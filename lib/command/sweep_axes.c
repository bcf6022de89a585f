/* sweep_axes: --axis NAME=VALUES, an option of the points and the values it takes. */
#include "command/sweep.h"

#include "hardware/cluster_fields.h"

#include <stdarg.h>
#include <string.h>

enum { MOST_POINTS = 10000000 };

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
    struct sc__sweep_axis *axis;
};

/* What the option itself takes; the rest is looked at with its point. */
static sc_status check_value(const struct axis_reader *r, struct sc__str text) {
    const char *value = sc__strndup(&r->ctx->arena, text.p, text.n);
    return sc__option_check(r->ctx, r->axis->option, value, r->at);
}

static sc_status add_value(const struct axis_reader *r, struct sc__str text) {
    struct sc__arena *arena = &r->ctx->arena;
    struct sc__sweep_axis *a = r->axis;
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

/* Of a range; a path may have dots as well. */
static const char *find_dots(struct sc__str text) {
    if (!text.n || *text.p < '0' || *text.p > '9')
        return NULL;
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
    struct sc__sweep_axis axis = {.option = option};
    const struct axis_reader reader = {ctx, at, &axis};
    return add_values(&reader, text);
}

bool sc__sweep_is_own(const char *name) {
    static const char *const names[] = {"axis", "db", "csv", "html", "jobs", "max-memory"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* An option of run --model: not of the sweep, and not of a file that is read. */
static bool is_of_points(const struct sc__command *sweep, const struct sc__option *o) {
    if (sc__sweep_is_own(o->name) || !strcmp(o->name, "format"))
        return false;
    for (const struct sc__option *const *table = sweep->options; *table; table++)
        if (sc__option_find(*table, o->name) == o)
            return true;
    return false;
}

static sc_status refuse_said_twice(const struct sc_request *req,
                                   const struct sc__sweep_axes *axes,
                                   const struct sc__option *o,
                                   const struct sc__place *at) {
    struct sc_context *ctx = req->ctx;
    for (uint32_t i = 0; i < axes->count; i++) {
        const struct sc__option *other = axes->items[i].option;
        if (other == o)
            return axis_fail(ctx,
                             at,
                             "one axis with all values",
                             "two axes are --%s",
                             o->name);
        if (sc__options_say_the_same(other, o))
            return axis_fail(ctx,
                             at,
                             "one axis with all values",
                             "two axes are one thing: --%s and --%s",
                             other->name,
                             o->name);
    }
    for (uint32_t i = 0; i < req->value_count; i++) {
        const struct sc__option *other = req->values[i].option;
        if (other == o)
            return axis_fail(ctx,
                             at,
                             "give one of them",
                             "--%s is given, and an axis too",
                             o->name);
        if (sc__options_say_the_same(other, o))
            return axis_fail(ctx,
                             at,
                             "give one of them",
                             "--%s is given, and --%s, which is the same, is an axis",
                             other->name,
                             o->name);
    }
    return SC_OK;
}

/* A word of a cluster is swept with the cluster it belongs to. */
static const char *axis_hint(const struct sc_request *req, const char *name) {
    struct sc_context *ctx = req->ctx;
    const char *near = sc__command_nearest(ctx, req->command, name);
    if (sc__field_by_word(sc__str(name)))
        return sc__format(&ctx->arena,
                          "--axis \"cluster=dgx-h100:64 %s=…,dgx-h100:64 %s=…\"",
                          name,
                          name);
    return near ? sc__format(&ctx->arena, "did you mean %s?", near)
                : "an option of run --model, such as tp or cluster";
}

static sc_status read_axis(const struct sc_request *req,
                           const struct sc__value *given,
                           struct sc__sweep_axes *axes) {
    struct sc_context *ctx = req->ctx;
    const struct sc__place *at = given->at.file ? &given->at : NULL;
    struct sc__sweep_axis *a = &axes->items[axes->count];
    const char *equals = strchr(given->text, '=');
    if (!equals || equals == given->text || !equals[1])
        return axis_fail(ctx,
                         at,
                         "--axis tp=1,2,4 or --axis micro-batch=1..8*2",
                         "--axis: '%s' is no option with values",
                         given->text);
    if (axes->count == SC__SWEEP_MOST_AXES)
        return axis_fail(ctx, at, NULL, "more than %d axes", SC__SWEEP_MOST_AXES);
    const char *name =
        sc__strndup(&ctx->arena, given->text, (size_t)(equals - given->text));
    a->option = sc__command_option(req->command, name);
    if (!a->option || !is_of_points(req->command, a->option))
        return axis_fail(ctx,
                         at,
                         axis_hint(req, name),
                         "--axis: there is no option '%s' to sweep",
                         name);
    SC__TRY(refuse_said_twice(req, axes, a->option, at));
    axes->count++;
    const struct axis_reader reader = {ctx, at, a};
    return add_values(&reader, equals + 1);
}

sc_status sc__sweep_axes_read(struct sc_request *req, struct sc__sweep_axes *axes) {
    uint64_t points = 1;
    for (uint32_t i = 0; i < req->value_count; i++) {
        struct sc__value *v = &req->values[i];
        if (strcmp(v->option->name, "axis") != 0)
            continue;
        v->used = true;
        SC__TRY(read_axis(req, v, axes));
        points *= axes->items[axes->count - 1].count;
        if (points > MOST_POINTS)
            return axis_fail(req->ctx,
                             v->at.file ? &v->at : NULL,
                             "shorter axes",
                             "the sweep has more than %d points",
                             MOST_POINTS);
    }
    if (!axes->count)
        return sc__usage(req, "--axis tp=1,2,4", "there is nothing to sweep");
    axes->points = (uint32_t)points;
    return SC_OK;
}
