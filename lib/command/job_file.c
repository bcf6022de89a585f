#include "command/job_file.h"
#include "command/sweep.h"

#include "launch/config.h"
#include "plan/plan.h"

#include <string.h>

#define JOB_KEY "stepcast:"
#define JOB_VERSION "job/1"
#define JOB_BYTES ((size_t)1 << 20)

/* The value of a line "stepcast: job/1", without quotes or what stands behind it. */
static const char *version_in(struct sc_context *ctx, struct sc__str line) {
    if (!sc__str_starts(line, JOB_KEY))
        return NULL;
    const char *text = sc__strndup(&ctx->arena, line.p, line.n);
    text += strlen(JOB_KEY);
    text += strspn(text, " '\"");
    return sc__strndup(&ctx->arena, text, strcspn(text, " '\"#\r"));
}

static bool is_before_first_key(struct sc__str line) {
    return !line.n || *line.p == '#' || *line.p == '\r' || sc__str_starts(line, "---");
}

/* What the file says it is a job of, or NULL: it is none. */
static const char *job_version(struct sc_context *ctx, const char *path) {
    struct sc__input in;
    const char *version = NULL;
    if (sc__path_is_stream(path) || sc__path_is_folder(path))
        return NULL;
    if (sc__input_open(ctx, path, &in) != SC_OK) {
        sc__clear_error(ctx); /* whoever reads it says so */
        return NULL;
    }
    if (sc__input_fill_text(&in, 4096) == SC_OK) {
        struct sc__str text = {(const char *)in.bytes + in.begin, in.end - in.begin};
        struct sc__str line = {"", 0};
        while (sc__split(&text, '\n', &line) && is_before_first_key(line))
            continue;
        version = version_in(ctx, line);
    }
    sc__clear_error(ctx);
    sc__input_close(&in);
    return version;
}

static bool is_job_file(struct sc_context *ctx, const char *path) {
    return job_version(ctx, path) != NULL;
}

static sc_status check_version(struct sc_context *ctx, const char *path) {
    const char *version = job_version(ctx, path);
    if (!strcmp(version, JOB_VERSION))
        return SC_OK;
    return sc__fail(ctx,
                    SC_INPUT,
                    &(struct sc__place){.file = path},
                    "a job begins with '" JOB_KEY " " JOB_VERSION "'",
                    "is a file of stepcast that is not known: '%.40s'",
                    version);
}

/* "set.0" of a list is the option "set". */
static const char *option_name(struct sc_context *ctx, const struct sc__config_item *item) {
    const char *last = item->last;
    uint32_t index;
    if (!sc__parse_u32(sc__str(last), &index) || last == item->key)
        return last;
    const char *end = last - 1;
    const char *begin = end;
    while (begin > item->key && begin[-1] != '.')
        begin--;
    return sc__strndup(&ctx->arena, begin, (size_t)(end - begin));
}

/* Of an option that layers of a file and a model have both, that of the model: it has a
 * field, by which its other names are known. */
static const struct sc__option *with_field(const struct sc__option *o) {
    const struct sc__option *plan = sc__option_find(sc__model_options, o->name);
    return plan ? plan : o;
}

/* On the command line, under this name or another. */
static bool
was_given(const struct sc_request *req, uint32_t count, const struct sc__option *o) {
    for (uint32_t i = 0; i < count; i++)
        if (sc__options_say_the_same(with_field(req->values[i].option), with_field(o)))
            return true;
    return false;
}

/* What says one thing says it once: of two values, or of a value and a false, neither
 * is sure to be meant. */
static sc_status refuse_twice(struct sc_request *req,
                              const char *file,
                              const struct sc__config *c,
                              uint32_t at,
                              const char *name) {
    bool axis = !strncmp(c->items[at].key, "axes.", 5);
    struct sc__place place = {.file = file, .line = c->items[at].line};
    for (uint32_t i = 0; i < at; i++) {
        const struct sc__config_item *x = &c->items[i];
        if (axis != !strncmp(x->key, "axes.", 5) ||
            strcmp(option_name(req->ctx, x), name) != 0)
            continue;
        return sc__fail(req->ctx,
                        SC_INPUT,
                        &place,
                        "leave one; a list of values is for an axis of a sweep",
                        "%s stands there more than once: line %u has another",
                        name,
                        x->line);
    }
    return SC_OK;
}

/* What run shows of its result, in a file or beside it; the step is the same without. */
static bool
is_of_result(struct sc_context *ctx, const struct sc__command *taker, const char *name) {
    const struct sc__command *run = sc__command_find(ctx, "run");
    const struct sc__option *o = sc__command_option(run, name);
    if (sc__option_is_output(name))
        return true;
    return o && !sc__command_option(taker, name) &&
           (!strcmp(o->group, "Output") || !strcmp(o->group, "Pictures and traces"));
}

static sc_status take_option(struct sc_request *req,
                             const char *file,
                             const struct sc__config *c,
                             uint32_t index,
                             uint32_t given) {
    const struct sc__config_item *item = &c->items[index];
    struct sc__place at = {.file = file, .line = item->line};
    const char *name = option_name(req->ctx, item);
    const struct sc__option *o = sc__command_option(req->command, name);
    if (req->command->takes_runs && is_of_result(req->ctx, req->command, name)) {
        sc__note(req->ctx,
                 "job-output",
                 "%s: --%s %s is for what run writes, and left alone",
                 file,
                 name,
                 item->value);
        return SC_OK;
    }
    if (!o)
        return sc__fail(
            req->ctx,
            SC_INPUT,
            &at,
            sc__format(&req->ctx->arena, "see 'stepcast help %s'", req->command->name),
            "%s has no option --%s",
            req->command->name,
            name);
    if (!(o->flags & SC__OPT_REPEAT))
        SC__TRY(refuse_twice(req, file, c, index, name));
    if (was_given(req, given, o))
        return SC_OK;
    if (o->arg) {
        SC__TRY(sc__option_check(req->ctx, with_field(o), item->value, &at));
        return sc__request_add(req->ctx, req, o->name, item->value);
    }
    if (!strcmp(item->value, "true"))
        return sc__request_add(req->ctx, req, o->name, NULL);
    const struct sc__option *denial = sc__command_denial(req->ctx, req->command, o->name);
    if (!strcmp(item->value, "false") && denial && !was_given(req, given, denial))
        return sc__request_add(req->ctx, req, denial->name, NULL);
    if (!strcmp(item->value, "false"))
        return SC_OK;
    return sc__fail(req->ctx,
                    SC_INPUT,
                    &at,
                    NULL,
                    "%s is true or false, not '%.40s'",
                    name,
                    item->value);
}

/* Of two items of one axis: the second does not go on with the list of the first. */
static bool begins_again(const struct sc__config_item *first,
                         const struct sc__config_item *x) {
    bool lists = strchr(first->key + 5, '.') && strchr(x->key + 5, '.');
    return !lists || !strcmp(first->key, x->key);
}

static sc_status axis_twice(struct sc_request *req,
                            const char *file,
                            const struct sc__config_item *first,
                            const struct sc__config_item *again) {
    struct sc__place place = {.file = file, .line = again->line};
    return sc__fail(req->ctx,
                    SC_INPUT,
                    &place,
                    "write all its values in one list",
                    "%s stands there more than once: line %u has another",
                    option_name(req->ctx, again),
                    first->line);
}

static sc_status
refuse_empty_axis(struct sc_request *req, const char *file, const struct sc__config *c) {
    struct sc__place place = {.file = file, .line = c->empty_line};
    if (!c->empty || strncmp(c->empty, "axes.", 5) != 0)
        return SC_OK;
    return sc__fail(req->ctx,
                    SC_INPUT,
                    &place,
                    "give it values, or leave it out",
                    "%s has no values",
                    c->empty);
}

/* The values of an axis of a sweep, "axes.tp.0", "axes.tp.1" …: one --axis. Returns
 * how many items they are. */
static sc_status take_axis(struct sc_request *req,
                           const char *file,
                           const struct sc__config *c,
                           uint32_t at,
                           uint32_t *taken) {
    const struct sc__config_item *first = &c->items[at];
    struct sc__place place = {.file = sc__strdup(req->memory, file),
                              .line = first->line,
                              .column = first->column};
    struct sc__buffer b;
    const char *name = option_name(req->ctx, first);
    const struct sc__option *o = sc__command_option(req->command, name);
    if (!sc__command_option(req->command, "axis") || !o)
        return sc__fail(req->ctx,
                        SC_INPUT,
                        &place,
                        "axes are for stepcast sweep, each an option of run --model",
                        "there is no option '%s' to sweep",
                        name);
    SC__TRY(refuse_twice(req, file, c, at, name));
    sc__buffer_init(&b, &req->ctx->arena);
    sc__printf(&b, "%s=", name);
    *taken = 0;
    for (uint32_t i = at; i < c->count; i++) {
        const char *value = c->items[i].value;
        if (strncmp(c->items[i].key, "axes.", 5) != 0 ||
            strcmp(option_name(req->ctx, &c->items[i]), name) != 0)
            break;
        if (i > at && begins_again(first, &c->items[i]))
            return axis_twice(req, file, first, &c->items[i]);
        if (!o->arg && !strcmp(value, "true"))
            value = "yes";
        if (!o->arg && !strcmp(value, "false"))
            value = "no";
        struct sc__place here = {.file = file,
                                 .line = c->items[i].line,
                                 .column = c->items[i].column};
        SC__TRY(sc__sweep_check_values(req->ctx, o, value, &here));
        sc__printf(&b, "%s%s", i > at ? "," : "", value);
        ++*taken;
    }
    SC__TRY(sc__request_add(req->ctx, req, "axis", b.text));
    req->values[req->value_count - 1].at = place;
    return SC_OK;
}

/* Options of one job would count for the other inputs too. */
static sc_status refuse_among_others(struct sc_request *req) {
    for (uint32_t i = 0; i < req->input_count && !req->command->takes_jobs; i++) {
        struct sc__place place = {.file = req->inputs[i]};
        if (is_job_file(req->ctx, req->inputs[i]))
            return sc__fail(req->ctx,
                            SC_INPUT,
                            &place,
                            "run it by itself; stepcast compare takes two of them",
                            "is a job file, which stands for a whole run, and there are "
                            "%u inputs",
                            req->input_count);
    }
    return SC_OK;
}

sc_status sc__job_file_take(struct sc_request *req) {
    struct sc__config c;
    struct sc__str text;
    uint32_t given = req->value_count;
    if (req->command->inputs && req->input_count > 1)
        return refuse_among_others(req);
    if (!req->command->inputs || req->input_count != 1 ||
        !is_job_file(req->ctx, req->inputs[0]))
        return SC_OK;
    const char *file = req->inputs[0];
    SC__TRY(check_version(req->ctx, file));
    SC__TRY(sc__read_all(req->ctx, file, JOB_BYTES, &text));
    SC__TRY(sc__config_read_yaml(req->ctx, file, text, &c));
    req->input_count = 0;
    SC__TRY(refuse_empty_axis(req, file, &c));
    for (uint32_t i = 0; i < c.count; i++) {
        const struct sc__config_item *item = &c.items[i];
        uint32_t taken = 1;
        if (!strcmp(item->key, "stepcast"))
            continue;
        if (!strncmp(item->key, "axes.", 5)) {
            SC__TRY(take_axis(req, file, &c, i, &taken));
            i += taken - 1;
        } else if (!strncmp(item->key, "inputs.", 7))
            *SC__PUSH(req->memory, req->inputs, req->input_count, req->input_capacity) =
                sc__strdup(req->memory, item->value);
        else
            SC__TRY(take_option(req, file, &c, i, given));
    }
    return sc__request_spare(req, file);
}

static void put_scalar(struct sc__buffer *out, const char *text) {
    sc__putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            sc__putc(out, '\'');
        sc__putc(out, *text);
    }
    sc__putc(out, '\'');
}

/* All values of an option that may be repeated. */
static void
put_list(const struct sc_request *req, const struct sc__option *o, struct sc__buffer *out) {
    sc__printf(out, "  %s:\n", o->name);
    for (uint32_t i = 0; i < req->value_count; i++)
        if (req->values[i].option == o) {
            sc__puts(out, "    - ");
            put_scalar(out, req->values[i].text);
            sc__putc(out, '\n');
        }
}

static bool is_first_value(const struct sc_request *req, uint32_t at) {
    for (uint32_t i = 0; i < at; i++)
        if (req->values[i].option == req->values[at].option)
            return false;
    return true;
}

void sc__job_file_write(const struct sc_request *req, struct sc__buffer *out) {
    bool any = false;
    sc__puts(out, JOB_KEY " " JOB_VERSION "\n");
    if (req->input_count)
        sc__puts(out, "inputs:\n");
    for (uint32_t i = 0; i < req->input_count; i++) {
        sc__puts(out, "  - ");
        put_scalar(out, req->inputs[i]);
        sc__putc(out, '\n');
    }
    for (uint32_t i = 0; i < req->value_count; i++) {
        const struct sc__option *o = req->values[i].option;
        if (!strcmp(o->name, "job") || !is_first_value(req, i))
            continue;
        if (!any)
            sc__puts(out, "options:\n");
        any = true;
        if (o->flags & SC__OPT_REPEAT && o->arg) {
            put_list(req, o, out);
            continue;
        }
        const char *last = sc__option(req, o->name);
        sc__printf(out, "  %s: ", o->name);
        if (o->arg)
            put_scalar(out, last);
        else
            sc__puts(out, "true");
        sc__putc(out, '\n');
    }
}
