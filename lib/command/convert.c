/* convert: an input in another format. */
#include "frontend/convert.h"
#include "command/job.h"
#include "frontend/formats.h"

#include <string.h>

static const struct sc__choice formats[] = {{"workload-text", 0},
                                            {"operator-table", 0},
                                            {"ir-json", 0},
                                            {"chakra", 0},
                                            {"goal", 0},
                                            {0}};

static const struct sc__option options[] = {
    {"to",
     0,
     "FORMAT",
     NULL,
     "Output",
     "workload-text, operator-table, ir-json, chakra or goal",
     0,
     .choices = formats},
    {"output",
     'o',
     "FILE",
     "-",
     "Output",
     "where to write; - for standard output (chakra: a directory)",
     0},
    {"lossy",
     0,
     NULL,
     NULL,
     "Output",
     "leave out what the format cannot express, and say what",
     0},
    {"lowered",
     0,
     NULL,
     NULL,
     "Output",
     "ir-json: the operations of the step instead of the rows they come from",
     0},
    {0}};

static const struct sc__option *const tables[] = {SC__JOB_TABLES, options, NULL};

/* A format an input can be written in: text, or files of its own. */
struct target {
    const char *name;
    sc_status (*write)(struct sc_request *req, struct sc__job *job, struct sc__buffer *out);
    sc_status (*save)(struct sc_context *ctx,
                      const struct sc__workload *w,
                      const char *path);
    bool tells_late; /* finds what it cannot express while it writes */
};

/* The rows of the input; a profile's step can be written as rows. */
static sc_status
need_rows(struct sc_request *req, struct sc__job *job, const char *format) {
    uint32_t gpus;
    if (job->doc.layers)
        return SC_OK;
    SC__TRY(sc__job_named_size(req, &gpus));
    if (job->doc.reader && !strcmp(job->doc.reader->name, "profiler-table"))
        return sc__profile_rows(req->ctx,
                                &job->settings,
                                job->doc.details,
                                gpus,
                                &job->doc.layers);
    return sc__fail(
        req->ctx,
        SC_INPUT,
        NULL,
        "--to ir-json holds operations, and takes the options that run needs for this "
        "input",
        "%s holds rows of layers; it cannot express operations on streams, by rank",
        format);
}

/* Sizes the input does not have may be given for the header. */
static sc_status
fill_header(struct sc_request *req, const struct sc__job *job, struct sc__layers *l) {
    const struct {
        const char *option;
        uint32_t *value;
    } sizes[] = {{"tp", &l->tp},
                 {"ep", &l->ep},
                 {"pp", &l->pp},
                 {"gpus", &l->gpus},
                 {"vpp", &l->vpp},
                 {"micro-batches", &l->ga}};
    *l = *job->doc.layers;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t given = *sizes[i].value;
        SC__TRY(sc__setting_u32(&job->settings, sizes[i].option, 1, &given));
        if (*sizes[i].value && given != *sizes[i].value)
            return sc__usage(req,
                             NULL,
                             "--%s %u: the input says %u",
                             sizes[i].option,
                             given,
                             *sizes[i].value);
        *sizes[i].value = given;
    }
    l->has_vpp = l->vpp != 0;
    return SC_OK;
}

static sc_status
write_workload_text(struct sc_request *req, struct sc__job *job, struct sc__buffer *out) {
    struct sc__layers l;
    SC__TRY(need_rows(req, job, "workload-text"));
    SC__TRY(fill_header(req, job, &l));
    return sc__write_workload_text(req->ctx, &l, sc__flag(req, "lossy"), out);
}

static sc_status
write_operator_table(struct sc_request *req, struct sc__job *job, struct sc__buffer *out) {
    uint32_t element = 4;
    SC__TRY(need_rows(req, job, "operator-table"));
    SC__TRY(sc__setting_u32(&job->settings, "bytes-per-element", 1, &element));
    return sc__write_operator_table(req->ctx,
                                    job->doc.layers,
                                    element,
                                    sc__flag(req, "lossy"),
                                    out);
}

/* The input as it is: rows, operations, a measurement; or with --lowered (and
 * where it is neither rows nor operations) the operations it becomes. */
static sc_status
write_ir_json(struct sc_request *req, struct sc__job *job, struct sc__buffer *out) {
    const struct sc__document *d = &job->doc;
    if (!job->workload && !d->layers && !d->workload)
        SC__TRY(sc__job_lower(req, job));
    SC__TRY(sc__job_measured(req, job));
    if (job->workload)
        return sc__write_ir_json(req->ctx, NULL, job->workload, d->measured, out);
    return sc__write_ir_json(req->ctx, d->layers, d->workload, d->measured, out);
}

static const struct target targets[] = {
    {"workload-text", write_workload_text, NULL, true},
    {"operator-table", write_operator_table, NULL, true},
    {"ir-json", write_ir_json, NULL, false},
    {"chakra", NULL, sc__write_chakra, false},
    {"goal", NULL, sc__write_goal, false},
    {NULL, NULL, NULL, false}};

static sc_status choose(struct sc_request *req, const struct target **out) {
    const char *to = sc__option(req, "to");
    struct sc__buffer names;
    sc__buffer_init(&names, &req->ctx->arena);
    for (const struct target *t = targets; t->name; t++) {
        if (to && !strcmp(to, t->name)) {
            *out = t;
            return SC_OK;
        }
        sc__printf(&names, "%s%s", names.size ? ", " : "one of: ", t->name);
    }
    return sc__usage(req,
                     names.text,
                     to ? "--to: unknown '%s'" : "convert needs --to FORMAT",
                     to);
}

/* --layers, --block and --backward change the rows of an operator table. */
static sc_status change_rows(struct sc_request *req, struct sc__job *job) {
    struct sc__layers *l = job->doc.layers;
    struct sc__operators expanded;
    bool wanted =
        sc__flag(req, "layers") || sc__flag(req, "block") || sc__flag(req, "backward");
    if (!wanted || job->workload)
        return SC_OK;
    if (!l || strcmp(l->format, "operator-table"))
        return sc__usage(req,
                         NULL,
                         "--layers, --block and --backward are for operator tables");
    SC__TRY(sc__expand_operators(req->ctx, &job->settings, l, &expanded));
    struct sc__row *rows = SC__NEW_ARRAY(&req->ctx->arena, struct sc__row, expanded.count);
    for (uint32_t i = 0; i < expanded.count; i++) {
        rows[i] = expanded.items[i].row;
        rows[i].work = l->rows[expanded.items[i].source].work;
    }
    l->rows = rows;
    l->count = l->capacity = expanded.count;
    return SC_OK;
}

/* Options that change operations have no effect on an input written as it is;
 * better said. */
static sc_status check_options(struct sc_request *req, const struct sc__job *job) {
    static const char *const of_operations[] =
        {"gpu-speedup", "scale", "slow", "bucket", "schedule", NULL};
    if (job->workload || (!job->doc.layers && !job->doc.workload))
        return SC_OK;
    for (const char *const *o = of_operations; *o; o++)
        if (sc__flag(req, *o))
            return sc__usage(req,
                             "add --lowered (with --to ir-json)",
                             "--%s changes the operations of a step",
                             *o);
    return SC_OK;
}

/* A file that fails is dropped; standard output cannot be taken back, so what
 * may fail is tried before. */
static sc_status write(struct sc_request *req,
                       struct sc__job *job,
                       const struct target *target,
                       const char *path) {
    struct sc__buffer nowhere;
    struct sc__sink sink;
    sc__buffer_nowhere(&nowhere, &req->ctx->arena);
    if (!strcmp(path, "-") && target->tells_late)
        SC__TRY(target->write(req, job, &nowhere));
    SC__TRY(sc__sink_open(req, path, &sink));
    return sc__sink_end(&sink, target->write(req, job, sink.to));
}

/* Formats of other programs have no word for it. */
static void note_full_pace(struct sc_request *req,
                           const struct sc__workload *w,
                           const struct target *target) {
    if (w->comm_tax > 0)
        sc__note(
            req->ctx,
            "full-pace",
            "%s cannot say that compute is slower by %.4g of its time beside transfers: "
            "a step simulated from it is faster by what that takes",
            target->name,
            w->comm_tax);
}

static sc_status convert_execute(struct sc_request *req) {
    struct sc__job job;
    const struct target *target = NULL;
    const char *path = sc__option(req, "output");
    bool to_stdout = !path || !strcmp(path, "-");
    SC__TRY(choose(req, &target));
    if (sc__flag(req, "lowered") && strcmp(target->name, "ir-json"))
        return sc__usage(req, NULL, "--lowered goes with --to ir-json");
    if (to_stdout && sc__flag(req, "lossy"))
        return sc__usage(
            req,
            "add -o FILE",
            "--lossy says what is lost on standard output, so the file must go elsewhere");
    if (to_stdout && target->save)
        return sc__usage(req,
                         "add -o PATH",
                         "--to %s needs a place to write to",
                         target->name);
    /* a model, named or launched, has no rows of its own */
    bool model = !req->input_count || sc__job_launches(req);
    bool lowered = sc__flag(req, "lowered") || target->save || model;
    SC__TRY(lowered ? sc__job_load(req, &job) : sc__job_read(req, &job));
    if (target->save) {
        SC__TRY(target->save(req->ctx, job.workload, path));
        note_full_pace(req, job.workload, target);
    } else {
        SC__TRY(check_options(req, &job));
        SC__TRY(change_rows(req, &job));
        SC__TRY(write(req, &job, target, to_stdout ? "-" : path));
    }
    sc__job_not_simulated(req);
    sc__job_note_unused(req);
    if (to_stdout)
        return SC_OK;
    req->out.for_people = true;
    sc__printf(&req->out,
               "%s: %s, from %s\n",
               path,
               target->name,
               req->input_count ? req->inputs[0] : "the model");
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(&req->out, "  note      %s\n", req->ctx->notes[i].text);
    return SC_OK;
}

const struct sc__command sc__command_convert = {
    .name = "convert",
    .args = "INPUT… --to FORMAT -o FILE",
    .summary = "write an input in another format",
    .text = "What the format cannot express is an error that names it; with --lossy it is "
            "left out "
            "and noted.",
    .options = tables,
    .inputs = true,
    .execute = convert_execute};
