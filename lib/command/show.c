/* show: what is in an input; nothing is simulated. */
#include "command/show.h"

#include "command/job.h"
#include "frontend/identify.h"
#include "hardware/cluster_fields.h"
#include "launch/read.h"

#include <stdlib.h>
#include <string.h>

static const struct sc__option options[] = {
    {"json", 0, "FILE", NULL, "Output", "the same as JSON; - for standard output", 0}, {0}};

static const struct sc__option *const tables[] = {SC__JOB_TABLES, options, NULL};

struct show_sums {
    uint64_t ops;
    uint64_t bytes;
    int64_t compute; /* on the device, but for copies */
    int64_t copies;
    int64_t host; /* of the stream that waits for it longest: streams wait side by side */
};

/* What one rank of the class does in a step. */
static struct show_sums sum_class(const struct sc__workload *w,
                                  uint32_t class,
                                  uint64_t by_kind[SC__COLLS + 1][2]) {
    const struct sc__program *p = &w->programs[w->classes[class].program];
    struct show_sums s = {0};
    int64_t host[SC__MAX_STREAMS] = {0};
    for (uint32_t c = 0; c < p->calls; c++) {
        const struct sc__block *b = &w->blocks[w->calls[p->first_call + c].block];
        s.ops += b->ops;
        for (uint32_t i = 0; i < b->ops; i++) {
            const struct sc__op *op = &w->ops[b->first_op + i];
            unsigned kind = op->kind == SC__OP_COLLECTIVE ? op->coll : SC__COLLS;
            if (op->kind == SC__OP_COMPUTE && op->work == SC__WORK_HOST)
                host[op->stream] += op->cost;
            else if (op->kind == SC__OP_COMPUTE && op->work == SC__WORK_COPY)
                s.copies += op->cost;
            else if (op->kind == SC__OP_COMPUTE)
                s.compute += op->cost;
            if (op->kind != SC__OP_COLLECTIVE && op->kind != SC__OP_SEND)
                continue;
            by_kind[kind][0]++;
            by_kind[kind][1] += op->bytes;
            s.bytes += op->bytes;
        }
    }
    for (unsigned i = 0; i < SC__MAX_STREAMS; i++)
        s.host = host[i] > s.host ? host[i] : s.host;
    return s;
}

static void show_put_plan(struct sc__buffer *out, const struct sc__workload *w) {
    const struct sc__mesh *m = &w->mesh;
    sc__printf(out,
               "  plan      %u rank%s: tp %u, cp %u, ep %u, dp %u, pp %u",
               sc__mesh_ranks(m),
               sc__mesh_ranks(m) == 1 ? "" : "s",
               m->tp,
               m->cp,
               m->ep,
               m->dp,
               m->pp);
    if (w->vpp > 1)
        sc__printf(out, ", vpp %u", w->vpp);
    sc__printf(out,
               "; %u micro-batch%s%s%s\n",
               w->micro_batches,
               w->micro_batches > 1 ? "es" : "",
               w->schedule ? ", schedule " : "",
               w->schedule ? w->schedule : "");
}

static void show_put_rows(struct sc__buffer *out, const struct sc__layers *l) {
    if (!l || !l->policy)
        return;
    struct sc__row_blocks b = sc__find_micro_batches(l);
    sc__printf(out, "  policy    %s\n", l->policy);
    sc__printf(
        out,
        "  rows      %u: %u of the step before, %u micro-batches of %u rows, %u after\n",
        l->count,
        b.head,
        b.count,
        b.length,
        l->count - b.head - b.count * b.length);
}

static void put_volumes(struct sc__buffer *out, uint64_t by_kind[SC__COLLS + 1][2]) {
    bool first = true;
    for (unsigned k = 0; k <= SC__COLLS; k++) {
        if (!by_kind[k][0])
            continue;
        sc__printf(out,
                   "  %-9s %s × %llu, ",
                   first ? "sends" : "",
                   sc__coll_name(k),
                   (unsigned long long)by_kind[k][0]);
        sc__put_bytes(out, by_kind[k][1]);
        sc__putc(out, '\n');
        first = false;
    }
}

static void put_sum(struct sc__buffer *out, const char *name, int64_t time) {
    sc__printf(out, "  %-9s ", name);
    sc__put_time(out, time);
    sc__puts(out, " per step and rank\n");
}

static void
show_write_text(struct sc_context *ctx, const struct sc__job *job, struct sc__buffer *out) {
    const struct sc__workload *w = job->workload;
    uint64_t by_kind[SC__COLLS + 1][2] = {{0}};
    struct show_sums s = sum_class(w, 0, by_kind);
    const struct sc__reader *reader = job->doc.reader;
    if (reader)
        sc__printf(out,
                   "%s\n  format    %s: %s\n",
                   job->doc.files[0],
                   reader->name,
                   reader->title);
    else
        sc__show_model(job, out);
    show_put_rows(out, job->doc.layers);
    show_put_plan(out, w);
    sc__printf(out,
               "  classes   %u kind%s of ranks; rank %u runs %llu operations\n",
               w->class_count,
               w->class_count == 1 ? "" : "s",
               w->classes[0].rank,
               (unsigned long long)s.ops);
    put_sum(out, "compute", s.compute);
    if (s.copies)
        put_sum(out, "copies", s.copies);
    if (s.host)
        put_sum(out, "host", s.host);
    put_volumes(out, by_kind);
    if (reader && reader->show)
        reader->show(ctx, &job->doc, out, NULL);
    for (uint32_t i = 0; i < ctx->note_count; i++)
        sc__printf(out, "  note      %s\n", ctx->notes[i].text);
}

static void
write_json(struct sc_context *ctx, const struct sc__job *job, struct sc__buffer *out) {
    const struct sc__workload *w = job->workload;
    uint64_t by_kind[SC__COLLS + 1][2] = {{0}};
    struct show_sums s = sum_class(w, 0, by_kind);
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/show/1");
    sc__json_string(&j, "format", w->format);
    sc__json_u64(&j, "ranks", sc__mesh_ranks(&w->mesh));
    sc__json_u64(&j, "classes", w->class_count);
    sc__json_u64(&j, "rows", job->doc.layers ? job->doc.layers->count : 0);
    sc__json_u64(&j, "operations", s.ops);
    sc__json_us(&j, "compute_us", s.compute);
    sc__json_us(&j, "copies_us", s.copies);
    sc__json_us(&j, "host_us", s.host);
    sc__json_object(&j, "sends");
    for (unsigned k = 0; k <= SC__COLLS; k++) {
        if (!by_kind[k][0])
            continue;
        sc__json_row(&j, sc__coll_name(k));
        sc__json_u64(&j, "ops", by_kind[k][0]);
        sc__json_u64(&j, "bytes", by_kind[k][1]);
        sc__json_end_object(&j);
    }
    sc__json_end_object(&j);
    if (job->doc.reader && job->doc.reader->show) {
        struct sc__buffer scratch;
        sc__buffer_init(&scratch, &ctx->arena);
        sc__json_object(&j, "details");
        job->doc.reader->show(ctx, &job->doc, &scratch, &j);
        sc__json_end_object(&j);
    }
    sc__json_notes(&j, ctx);
    sc__json_end_object(&j);
}

/* Without an input: the cluster itself. */
static sc_status show_cluster(struct sc_request *req, const char *cluster) {
    struct sc__cluster c;
    SC__TRY(
        sc__job_name_cluster(req, cluster, sc__cluster_parse(req->ctx, cluster, 0, &c)));
    if (sc__flag(req, "json")) {
        struct sc__buffer b;
        sc__buffer_init(&b, &req->ctx->arena);
        sc__cluster_write(&c, NULL, &b);
        SC__TRY(sc__job_output(req, "json", &b));
        if (!strcmp(sc__option(req, "json"), "-"))
            return SC_OK;
    }
    req->out.for_people = true;
    sc__job_note_in_vain(req, "no model is given");
    sc__cluster_show(&c, &req->out);
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(&req->out, "note: %s\n", req->ctx->notes[i].text);
    return SC_OK;
}

/* ---- files that no reader takes, and folders of all kinds ---- */

#define SHOWN_FILES 200

static void put_identity(struct sc__buffer *out,
                         const char *path,
                         const struct sc__identity *identity) {
    sc__printf(out,
               "%s\n  is        %s\n  do        %s\n",
               path,
               identity->what,
               identity->advice);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *what_it_is(struct sc_context *ctx, const char *path) {
    const char *title = NULL;
    if (sc__path_is_folder(path))
        return sc__folder_is_input(path) ? "a folder that is one input" : "a folder";
    const struct sc__identity *identity = sc__identify_file(ctx, path, &title);
    return title                    ? title
           : identity               ? identity->what
           : sc__launch_named(path) ? "a script or a configuration"
                                    : "not known";
}

static void put_folder_head(
    struct sc__buffer *out, const char *path, uint32_t files, uint32_t folders, bool more) {
    sc__printf(out, "%s: %u file%s", path, files, files == 1 ? "" : "s");
    if (folders)
        sc__printf(out, ", %u folder%s", folders, folders == 1 ? "" : "s");
    sc__printf(out, "%s\n", more ? " and more" : "");
}

/* Each file of a folder with what it is. */
static void put_folder(struct sc_request *req, const char *path, struct sc__buffer *out) {
    int reason = 0;
    struct sc__folder *f = sc__folder_open(path, &reason);
    const char **names = NULL;
    uint32_t count = 0;
    uint32_t capacity = 0;
    for (const char *name; f && count < SHOWN_FILES && (name = sc__folder_next(f));)
        if (name[0] != '.')
            *SC__PUSH(&req->ctx->arena, names, count, capacity) =
                sc__strdup(&req->ctx->arena, name);
    if (f)
        sc__folder_close(f);
    if (count)
        qsort(names, count, sizeof *names, by_text);
    uint32_t folders = 0;
    for (uint32_t i = 0; i < count; i++)
        folders +=
            sc__path_is_folder(sc__format(&req->ctx->arena, "%s/%s", path, names[i]));
    put_folder_head(out, path, count - folders, folders, count == SHOWN_FILES);
    for (uint32_t i = 0; i < count; i++) {
        const char *file = sc__format(&req->ctx->arena, "%s/%s", path, names[i]);
        sc__printf(out, "  %-40s %s\n", names[i], what_it_is(req->ctx, file));
    }
}

/* Says what the input is where it is nothing to run; *done: it was said. */
static sc_status show_identity(struct sc_request *req, bool *done) {
    const char *path = req->inputs[0];
    const char *title;
    *done = false;
    if (sc__path_is_stream(path))
        return SC_OK;
    if (sc__path_is_folder(path)) {
        *done = !sc__folder_is_input(path);
        if (*done)
            put_folder(req, path, &req->out);
        return SC_OK;
    }
    const struct sc__identity *identity = sc__identify_file(req->ctx, path, &title);
    if (!identity || !strcmp(identity->advice, "stepcast run FILE") ||
        sc__str_starts(sc__str(identity->advice), "stepcast run FILE,"))
        return SC_OK;
    put_identity(&req->out, path, identity);
    *done = true;
    return identity->read_as == SC__READ_AS_CLUSTER ? show_cluster(req, path) : SC_OK;
}

/* By name, by Megatron's flags, by a launch. */
static bool names_model(const struct sc_request *req) {
    static const char *const names[] = {"model",
                                        "num-layers",
                                        "hidden-size",
                                        "megatron-args",
                                        NULL};
    for (const char *const *name = names; *name; name++)
        if (sc__option(req, *name))
            return true;
    return false;
}

static sc_status show_execute(struct sc_request *req) {
    struct sc__job job;
    struct sc__buffer b;
    bool done = false;
    if (req->input_count == 1 && !sc__flag(req, "json") && !sc__option(req, "format"))
        SC__TRY(show_identity(req, &done));
    if (done)
        return SC_OK;
    bool bare = !req->input_count && !names_model(req);
    if (bare && sc__option(req, "cluster"))
        return show_cluster(req, sc__option(req, "cluster"));
    if (bare && sc__option(req, "gpu"))
        return sc__show_gpu(req);
    if (bare && sc__option(req, "software"))
        return sc__show_software(req);
    SC__TRY(sc__job_load(req, &job));
    sc__job_not_simulated(req);
    sc__job_note_unused(req);
    if (!sc__flag(req, "json")) {
        req->out.for_people = true;
        show_write_text(req->ctx, &job, &req->out);
        return SC_OK;
    }
    sc__buffer_init(&b, &req->ctx->arena);
    write_json(req->ctx, &job, &b);
    SC__TRY(sc__job_output(req, "json", &b));
    if (!strcmp(sc__option(req, "json"), "-"))
        return SC_OK;
    req->out.for_people = true;
    show_write_text(req->ctx, &job, &req->out);
    return SC_OK;
}

const struct sc__command sc__command_show = {
    .name = "show",
    .args = "INPUT…",
    .summary = "what is in an input or a model: format, plan, memory, volumes, compute",
    .text = NULL,
    .options = tables,
    .inputs = true,
    .ignores_memory = true,
    .execute = show_execute};
