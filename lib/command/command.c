#include "command/command.h"

#include "base/argument.h"
#include "command/job_file.h"
#include "frontend/reader.h"

#include <stdlib.h>
#include <string.h>

const struct sc__command *sc__command_find(struct sc_context *ctx, const char *name) {
    const char *names[64];
    unsigned n = 0;
    for (const struct sc__command *const *c = sc__commands; *c; c++) {
        if (!strcmp((*c)->name, name))
            return *c;
        names[n++] = (*c)->name;
    }
    names[n] = NULL;
    const char *near = sc__nearest(name, names);
    const char *hint =
        near ? sc__format(&ctx->arena, "did you mean '%s'?", near) : "see 'stepcast help'";
    sc__fail(ctx, SC_USAGE, NULL, hint, "there is no command '%s'", name);
    return NULL;
}

struct command_search {
    struct sc_context *ctx;
    const char *name;
    const struct sc__command *found;
};

static sc_status find_command(void *self) {
    struct command_search *s = self;
    SC__TRY(sc__argument(s->ctx, s->name, "command"));
    s->found = sc__command_find(s->ctx, s->name);
    return SC_OK;
}

sc_request *sc_request_new(sc_context *ctx, const char *name) {
    struct command_search s = {.ctx = ctx, .name = name};
    sc__clear_error(ctx);
    sc__guarded(ctx, find_command, &s);
    const struct sc__command *c = s.found;
    struct sc_request *req = c ? calloc(1, sizeof *req) : NULL;
    if (c && !req)
        sc__out_of_memory(ctx);
    if (!req)
        return NULL;
    sc__context_init(&req->asked, NULL);
    req->memory = &req->asked.arena;
    req->owner = ctx;
    req->ctx = &req->asked;
    req->command = c;
    req->older = ctx->requests;
    if (req->older)
        req->older->newer = req;
    ctx->requests = req;
    return req;
}

static void end_run(struct sc_request *req) {
    if (req->has_run)
        sc__context_end(&req->run);
    req->has_run = false;
    req->ctx = &req->asked;
    memset(&req->out, 0, sizeof req->out);
}

void sc_request_free(sc_request *req) {
    if (!req)
        return;
    if (req->newer)
        req->newer->older = req->older;
    else
        req->owner->requests = req->older;
    if (req->older)
        req->older->newer = req->newer;
    end_run(req);
    sc__context_end(&req->asked);
    free(req);
}

/* Of the program that asks, not of the request: they change no answer. */
static const struct sc__option terminal_options[SC__TERMINAL_OPTIONS + 1] = {
    {"color",
     0,
     "WHEN",
     "auto",
     "Other",
     "colours: auto (on a terminal, unless NO_COLOR is set), always, never",
     0,
     .choices = (const struct sc__choice[]){{"auto"}, {"always"}, {"never"}, {0}}},
    {"quiet",
     0,
     NULL,
     NULL,
     "Other",
     "on a terminal: no progress, and no word about the files that were written",
     0},
    {0}};

/* The i-th table of options: the command's own, those of readers, those of the
 * terminal; NULL past the last. Tables may name an option twice; the first counts. */
static const struct sc__option *nth_table(const struct sc__command *c, unsigned i) {
    unsigned k = 0;
    for (; c->options[k]; k++)
        if (k == i)
            return c->options[k];
    for (const struct sc__reader *const *r = sc__readers; c->inputs && *r; r++)
        if ((*r)->options && k++ == i)
            return (*r)->options;
    return k == i ? terminal_options : NULL;
}

const struct sc__option *sc__command_option(const struct sc__command *c, const char *name) {
    const struct sc__option *table;
    for (unsigned i = 0; (table = nth_table(c, i)); i++)
        for (const struct sc__option *o = table; o->name; o++)
            if (!strcmp(o->name, name) || (o->letter && name[0] == o->letter && !name[1]))
                return o;
    return NULL;
}

const struct sc__option *
sc__command_denial(struct sc_context *ctx, const struct sc__command *c, const char *flag) {
    return sc__command_option(c, sc__format(&ctx->arena, "no-%s", flag));
}

static uint32_t unique_options(struct sc__arena *a,
                               const struct sc__command *c,
                               const struct sc__option ***out) {
    const struct sc__option *table;
    struct sc__names seen;
    uint32_t n = 0;
    uint32_t capacity = 0;
    sc__names_init(&seen, a);
    *out = NULL;
    for (unsigned i = 0; (table = nth_table(c, i)); i++)
        for (const struct sc__option *o = table; o->name; o++)
            if (sc__names_add(&seen, o->name, strlen(o->name)) == n)
                *SC__PUSH(a, *out, n, capacity) = o;
    return n;
}

const struct sc__option **sc__command_options(struct sc__arena *a,
                                              const struct sc__command *c) {
    const struct sc__option **all;
    uint32_t n = unique_options(a, c, &all);
    uint32_t k = 0;
    const struct sc__option **out = SC__NEW_ARRAY(a, const struct sc__option *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (!all[i])
            continue;
        const char *group = all[i]->group;
        for (uint32_t j = i; j < n; j++)
            if (all[j] && !strcmp(all[j]->group, group))
                out[k++] = all[j], all[j] = NULL;
    }
    return out;
}

static const char *const *option_names(struct sc__arena *arena,
                                       const struct sc__command *c) {
    const struct sc__option **options = sc__command_options(arena, c);
    uint32_t n = 0;
    while (options[n])
        n++;
    const char **names = SC__NEW_ARRAY(arena, const char *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        names[i] = options[i]->name;
    return names;
}

const char *
sc__command_nearest(struct sc_context *ctx, const struct sc__command *c, const char *name) {
    return sc__nearest(name, option_names(&ctx->arena, c));
}

/* "offload-optimizer, --offload-params or --offload-activations" of "offload"; NULL: there
 * is none, or so many that they say nothing. */
static const char *
command_completions(struct sc_context *ctx, const struct sc__command *c, const char *name) {
    enum { MOST = 4 };
    const char *found[MOST + 1];
    struct sc__buffer b;
    unsigned n = sc__begin_with(name, option_names(&ctx->arena, c), found, MOST + 1);
    if (!n || n > MOST)
        return NULL;
    sc__buffer_init(&b, &ctx->arena);
    for (unsigned i = 0; i < n; i++)
        sc__printf(&b, "%s%s", i == 0 ? "" : i + 1 < n ? ", --" : " or --", found[i]);
    return b.text;
}

/* Options as other programs call them. */
static const char *name_elsewhere(const struct sc__command *c, const char *name) {
    static const char *const names[][2] = {
        {"batch-size", "global-batch (sequences of a step) or --micro-batch (of a GPU)"},
        {"train-batch-size", "global-batch"},
        {"per-device-train-batch-size", "micro-batch"},
        {"gradient-accumulation-steps", "micro-batches"},
        {"grad-accum", "micro-batches"},
        {"tensor-parallel", "tp"},
        {"tensor-parallel-size", "tp"},
        {"pipeline-parallel", "pp"},
        {"pipeline-parallel-size", "pp"},
        {"context-parallel", "cp"},
        {"expert-parallel", "ep"},
        {"expert-parallel-size", "ep"},
        {"data-parallel", "dp"},
        {"data-parallel-size", "dp"},
        {"ctx", "seq"},
        {"context-length", "seq"},
        {"max-seq-length", "seq"},
        {"max-seq-len", "seq"},
        {"max-length", "seq"},
        {"cutoff-len", "seq"},
        {"gpu-type", "gpu"},
        {"gpu-model", "gpu"},
        {"accelerator", "gpu"},
        {"gpu-memory", "gpu (whose memory it is: stepcast list gpus)"},
        {"vram", "gpu (whose memory it is: stepcast list gpus)"},
        {"quant", "qlora"},
        {"quantize", "qlora"},
        {"quantization", "qlora"},
        {"load-in-4bit", "qlora"},
        {"deepspeed", "software deepspeed (and --zero)"},
        {"zero1", "zero 1"},
        {"zero2", "zero 2"},
        {"zero3", "zero 3"},
        {"sharding", "zero"},
        {"sharding-strategy", "zero"},
        {"adam", "optimizer adam"},
        {"epochs", "train-tokens"},
        {"days", "train-tokens"},
        {"hours", "train-tokens"},
        {"cost", "price"},
        {"network", "net"},
        {"bandwidth", "cluster 'dgx-h100:64 nic=200Gbps'"},
        {"topology", "cluster"},
        {"sequence-length", "seq"},
        {"num-gpus", "gpus"},
        {"world-size", "gpus"},
        {"nnodes", "nodes"},
        {"num-nodes", "nodes"},
        {"gradient-checkpointing", "recompute full"},
        {"zero-stage", "zero"},
        {"tokens", "train-tokens"},
        {"output", "json"},
        {"html", "output"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char option[32];
        snprintf(option,
                 sizeof option,
                 "%.*s",
                 (int)strcspn(names[i][1], " "),
                 names[i][1]);
        if (!strcmp(names[i][0], name) && sc__command_option(c, option))
            return names[i][1];
    }
    return NULL;
}

static const char *
command_suggest(struct sc_context *ctx, const struct sc__command *c, const char *name) {
    const char *near = name_elsewhere(c, name);
    if (!near)
        near = command_completions(ctx, c, name);
    if (!near)
        near = sc__command_nearest(ctx, c, name);
    return near ? sc__format(&ctx->arena, "did you mean --%s?", near)
                : sc__format(&ctx->arena, "see 'stepcast help %s'", c->name);
}

/* Options that name a file to write. */
static const char *const outputs[] = {"json",
                                      "csv",
                                      "csv-simai",
                                      "html",
                                      "trace",
                                      "links",
                                      "output",
                                      "markdown",
                                      "plot",
                                      "write-launch",
                                      "job"};
#define OUTPUTS (sizeof outputs / sizeof *outputs)

bool sc__option_is_output(const char *name) {
    for (unsigned i = 0; i < OUTPUTS; i++)
        if (!strcmp(outputs[i], name))
            return true;
    return false;
}

static bool is_terminal_option(const struct sc__option *o) {
    return o >= terminal_options && o < terminal_options + SC__TERMINAL_OPTIONS;
}

static sc_status set_terminal_option(struct sc_context *ctx,
                                     struct sc_request *req,
                                     const struct sc__option *o,
                                     const char *value) {
    bool known = !o->choices;
    for (const struct sc__choice *c = o->choices; c && c->name; c++)
        known |= !strcmp(c->name, value);
    if (!known)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "one of: auto, always, never",
                        "--%s: unknown '%.80s'",
                        o->name,
                        value);
    req->terminal_values[o - terminal_options] =
        value ? sc__strdup(req->memory, value) : "";
    return SC_OK;
}

const char *sc_request_terminal_option(const sc_request *req, const char *name) {
    for (unsigned i = 0; i < SC__TERMINAL_OPTIONS; i++)
        if (!strcmp(terminal_options[i].name, name))
            return req->terminal_values[i];
    return NULL;
}

sc_status sc__request_add(struct sc_context *ctx,
                          struct sc_request *req,
                          const char *name,
                          const char *value) {
    struct sc__arena *arena = req->memory;
    const struct sc__option *o = sc__command_option(req->command, name);
    if (!o)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        command_suggest(&req->asked, req->command, name),
                        "%s has no option %s%s",
                        req->command->name,
                        name[0] && !name[1] ? "-" : "--",
                        name);
    if (o->arg && !value)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--%s needs a value (%s)",
                        o->name,
                        o->arg);
    if (!o->arg && value)
        return sc__fail(ctx, SC_USAGE, NULL, NULL, "--%s takes no value", o->name);
    if (is_terminal_option(o))
        return set_terminal_option(ctx, req, o, value);
    bool same = value && sc__option_is_output(o->name) &&
                !strcmp(value, "/dev/stdout"); /* it is one stream, not two */
    *SC__PUSH(arena, req->values, req->value_count, req->value_capacity) =
        (struct sc__value){.option = o,
                           .text = value ? sc__strdup(arena, same ? "-" : value) : NULL};
    return SC_OK;
}

struct request_word {
    struct sc_request *req;
    const char *name;
    const char *value;
};

static sc_status set_word(void *self) {
    const struct request_word *word = self;
    SC__TRY(sc__argument(word->req->owner, word->name, "name"));
    return sc__request_add(word->req->owner, word->req, word->name, word->value);
}

sc_status sc_request_set(sc_request *req, const char *name, const char *value) {
    if (!req)
        return SC_USAGE; /* the context that sc_request_new had says why */
    sc__clear_error(req->owner);
    return sc__guarded(req->owner, set_word, &(struct request_word){req, name, value});
}

int sc_request_takes_value(const sc_request *req, const char *name) {
    const struct sc__option *o = sc__command_option(req->command, name);
    return o && o->arg;
}

static sc_status add_input(void *self) {
    const struct request_word *word = self;
    struct sc_request *req = word->req;
    struct sc__arena *arena = req->memory;
    SC__TRY(sc__argument(req->owner, word->value, "path"));
    *SC__PUSH(arena, req->inputs, req->input_count, req->input_capacity) =
        sc__strdup(arena, word->value);
    return SC_OK;
}

sc_status sc_request_input(sc_request *req, const char *path) {
    if (!req)
        return SC_USAGE;
    sc__clear_error(req->owner);
    return sc__guarded(req->owner, add_input, &(struct request_word){req, NULL, path});
}

void sc_request_set_command_line(sc_request *req, int argc, const char *const *argv) {
    req->argc = argc;
    req->argv = argv;
}

void sc_request_set_terminal(sc_request *req, int colours, unsigned columns) {
    req->terminal = colours != 0;
    req->width = columns;
}

void sc_request_set_sink(sc_request *req, sc_sink *sink, void *user) {
    req->sink = sink;
    req->sink_user = user;
}

const char *sc_request_note(const sc_request *req, uint32_t i) {
    return req->has_run && i < req->run.note_count ? req->run.notes[i].text : NULL;
}

/* Where an output goes: what was given, or what is usual. */
static bool goes_to_stdout(const struct sc_request *req, const char *name) {
    const struct sc__option *o = sc__command_option(req->command, name);
    const char *path = sc__option(req, name);
    if (!path && o)
        path = o->dflt;
    return path && !strcmp(path, "-");
}

int sc_request_says_notes(const sc_request *req) {
    for (unsigned i = 0; i < OUTPUTS; i++)
        if (strcmp(outputs[i], "json") != 0 && strcmp(outputs[i], "html") != 0 &&
            goes_to_stdout(req, outputs[i]))
            return 0;
    return 1;
}

const char *sc_request_file(const sc_request *req, uint32_t i) {
    return req->has_run && i < req->run.written_count ? req->run.written[i] : NULL;
}

bool sc__stdout_taken(const struct sc_request *req) {
    for (unsigned i = 0; i < OUTPUTS; i++) {
        const char *path = sc__option(req, outputs[i]);
        if (path && !strcmp(path, "-"))
            return true;
    }
    return false;
}

sc_status sc__request_spare(const struct sc_request *req, const char *path) {
    for (unsigned i = 0; i < OUTPUTS; i++) {
        const char *output = sc__option(req, outputs[i]);
        bool stream = output && !strcmp(output, "-"); /* also where a file is called so */
        if (output && !stream && sc__path_same_file(output, path))
            return sc__usage(req,
                             "write to another file",
                             "--%s would write over the input %s",
                             outputs[i],
                             output);
    }
    return SC_OK;
}

/* What is read must not be written over: inputs, and files that options name. */
static sc_status check_inputs(const struct sc_request *req) {
    for (uint32_t k = 0; k < req->input_count; k++)
        SC__TRY(sc__request_spare(req, req->inputs[k]));
    for (uint32_t k = 0; k < req->value_count; k++) {
        const struct sc__value *v = &req->values[k];
        if (v->text && !sc__option_is_output(v->option->name))
            SC__TRY(sc__request_spare(req, v->text));
    }
    return SC_OK;
}

/* Two outputs in one file would destroy each other. */
static sc_status check_outputs(const struct sc_request *req) {
    for (unsigned i = 0; i < OUTPUTS; i++)
        for (unsigned k = 0; k < i; k++) {
            const char *a = sc__option(req, outputs[k]);
            const char *b = sc__option(req, outputs[i]);
            if (a && b && !strcmp(a, b) && strcmp(a, "/dev/null"))
                return sc__usage(req,
                                 "give each a file of its own",
                                 "--%s and --%s both write to %s",
                                 outputs[k],
                                 outputs[i],
                                 strcmp(a, "-") ? a : "standard output");
        }
    return SC_OK;
}

/* The last value of an option counts; that there were others is said. */
static void note_repeated(const struct sc_request *req) {
    for (uint32_t i = 0; i < req->value_count; i++) {
        const struct sc__value *v = &req->values[i];
        const char *last = sc__option(req, v->option->name);
        if (v->text && !(v->option->flags & SC__OPT_REPEAT) && strcmp(v->text, last))
            sc__note(req->ctx,
                     "option-repeated",
                     "--%s is given more than once: %s counts",
                     v->option->name,
                     last);
    }
    for (uint32_t i = 0; i < req->value_count; i++)
        req->values[i].used = false;
}

static sc_status execute_request(void *self) {
    struct sc_request *req = self;
    uint32_t jobs = 1;
    struct sc__settings settings = sc__settings(req);
    SC__TRY(sc__job_file_take(req));
    note_repeated(req);
    SC__TRY(sc__setting_u32(&settings, "jobs", 1, &jobs));
    req->ctx->jobs = jobs;
    uint64_t memory = 0;
    SC__TRY(sc__setting_bytes(&settings, "max-memory", &memory));
    if (sc__setting(&settings, "max-memory") && !memory)
        return sc__usage(req, "like 4GB", "--max-memory takes a size above 0");
    sc__arena_budget(memory < SIZE_MAX ? (size_t)memory : SIZE_MAX);
    SC__TRY(check_outputs(req));
    SC__TRY(check_inputs(req));
    return req->command->execute(req);
}

static void hand_on(void *self, const char *bytes, size_t n) {
    struct sc_request *req = self;
    if (!req->sink_failed && req->sink(req->sink_user, bytes, n))
        req->sink_failed = true;
}

static void begin_run(struct sc_request *req) {
    end_run(req);
    sc__context_init(&req->run, req->owner);
    req->has_run = true;
    req->ctx = &req->run;
    req->sink_failed = false;
    sc__buffer_init(&req->out, &req->run.arena);
    if (req->sink)
        sc__buffer_stream(&req->out, hand_on, req);
}

sc_status sc_execute(sc_request *req) {
    if (!req)
        return SC_USAGE;
    begin_run(req);
    sc_status status = sc__guarded(&req->run, execute_request, req);
    sc__arena_budget(0);
    sc__outputs_abandon(&req->run); /* open only where memory ran short */
    sc__buffer_flush(&req->out);
    if (req->sink_failed)
        status = sc__fail(&req->run, SC_SYSTEM, NULL, NULL, "cannot write the output");
    if (status == SC_OK)
        sc__clear_error(req->owner); /* what was tried and given up on the way */
    else
        sc__error_move(req->owner, &req->run);
    return status;
}

const char *sc_request_output(const sc_request *req) {
    return req->out.text ? req->out.text : "";
}
size_t sc_request_output_size(const sc_request *req) {
    return req->out.size;
}

static const char *nth_value(const void *self, const char *name, unsigned i) {
    const struct sc_request *req = self;
    for (uint32_t k = 0; k < req->value_count; k++)
        if (!strcmp(req->values[k].option->name, name)) {
            req->values[k].used = true;
            if (i-- == 0)
                return req->values[k].text ? req->values[k].text : "";
        }
    return NULL;
}

struct sc__settings sc__settings(const struct sc_request *req) {
    return (struct sc__settings){.nth = nth_value, .self = req, .ctx = req->ctx};
}

const char *sc__option(const struct sc_request *req, const char *name) {
    struct sc__settings s = sc__settings(req);
    return sc__setting(&s, name);
}

bool sc__flag(const struct sc_request *req, const char *name) {
    return sc__option(req, name) != NULL;
}

sc_status sc__usage(const struct sc_request *req, const char *hint, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sc_status status = sc__vfail(req->ctx, SC_USAGE, NULL, hint, fmt, ap);
    va_end(ap);
    return status;
}
