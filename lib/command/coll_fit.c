/* coll --against and --fit: a forecast beside an nccl-tests log, and the
 * constants that would have made them meet. */
#include "command/coll.h"
#include "evaluate/evaluate.h"
#include "hardware/cluster_fields.h"

#include <math.h>

/* The cluster to compare on, and the log's group on it. */
static sc_status take_log(struct sc_request *req,
                          const char *path,
                          struct sc__cluster *c,
                          struct sc__coll_log *log,
                          struct sc__shape *shape) {
    struct sc__settings s = sc__settings(req);
    sc_options tuning;
    const char *text = sc__option(req, "cluster");
    uint32_t ranks = 0;
    SC__TRY(sc__coll_log_read(req->ctx, path, log));
    if (req->input_count)
        log->op = sc__coll_op_find(req->inputs[0]);
    if (!log->op)
        return sc__usage(req,
                         "name it: stepcast coll all_reduce …",
                         "%s does not say which operation it measured",
                         path);
    SC__TRY(sc__setting_u32(&s, "gpus", 1, &ranks));
    if (!ranks)
        ranks = log->ranks;
    if (!text)
        return sc__usage(req,
                         "give --cluster, e.g. dgx-h100:16",
                         "what machine was %s measured on?",
                         path);
    SC__TRY(sc__cluster_parse(req->ctx, text, ranks, c));
    SC__TRY(sc__options_read(&s, &tuning));
    SC__TRY(sc__cluster_apply(req->ctx, &tuning, ranks ? ranks : c->gpus, c));
    c->tuning.eager_timer = sc__option(req, "eager") != NULL;
    if (!c->tuning.gpus_per_process)
        c->tuning.gpus_per_process = log->gpus_per_process;
    *shape = sc__cluster_shape(c, c->gpu_of, ranks ? ranks : c->gpus);
    if (log->nodes && log->nodes != shape->nodes)
        sc__note(req->ctx,
                 "log-nodes",
                 "%s ran on %u hosts; %u ranks lie on %u nodes of %s",
                 path,
                 log->nodes,
                 shape->ranks,
                 shape->nodes,
                 c->name);
    return SC_OK;
}

static void coll_fit_put_row(struct sc__buffer *out, const struct sc__sample *s) {
    struct sc__coll_cost p = sc__coll_op_cost(s->cluster, s->op, &s->shape, s->bytes);
    sc__printf(out,
               "%14llu %12.2f %12.2f %8.3f %+8.1f%%  %-8s %s\n",
               (unsigned long long)s->bytes,
               s->us,
               s->model_us,
               s->model_us / s->us,
               100 * (s->model_us / s->us - 1),
               sc__algo_name(p.algo),
               sc__proto_name(p.proto));
}

static void coll_fit_put_rows(struct sc__buffer *out, const struct sc__samples *samples) {
    sc__puts(
        out,
        "#     size (B)     measured    predicted    ratio     error  algo     proto\n");
    for (uint32_t i = 0; i < samples->count; i++)
        coll_fit_put_row(out, &samples->items[i]);
}

static void coll_fit_put_notes(struct sc_request *req) {
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(&req->out, "# note: %s\n", req->ctx->notes[i].text);
}

static void add_samples(struct sc_context *ctx,
                        const struct sc__coll_log *log,
                        struct sc__cluster *c,
                        const struct sc__shape *shape,
                        uint32_t source,
                        struct sc__samples *out) {
    for (uint32_t i = 0; i < log->count; i++)
        *SC__PUSH(&ctx->arena, out->items, out->count, out->capacity) =
            (struct sc__sample){.op = log->op,
                                .cluster = c,
                                .shape = *shape,
                                .bytes = log->rows[i].bytes,
                                .us = log->rows[i].us,
                                .source = source};
}

sc_status sc__coll_against(struct sc_request *req, const char *path) {
    struct sc__cluster c;
    struct sc__coll_log log;
    struct sc__shape shape;
    struct sc__samples samples = {0};
    SC__TRY(take_log(req, path, &c, &log, &shape));
    add_samples(req->ctx, &log, &c, &shape, 0, &samples);
    sc__samples_predict(&samples);
    sc__printf(&req->out,
               "# %s, %u GPUs on %u nodes of %s against %s\n",
               log.op->name,
               shape.ranks,
               shape.nodes,
               c.name,
               path);
    coll_fit_put_rows(&req->out, &samples);
    sc__printf(&req->out,
               "# root mean square of ln(predicted/measured): %.4f\n",
               sc__samples_residual(&samples));
    coll_fit_put_notes(req);
    return SC_OK;
}

/* --- fit ------------------------------------------------------------------- */

static const char *const inside[] = {"base",
                                     "ring_step",
                                     "tree_hop",
                                     "nvlink",
                                     "share",
                                     "slice",
                                     "nvls_rate",
                                     "nvls_chunk_cost",
                                     "nvls_base",
                                     "nvls_line",
                                     NULL};
static const char *const between[] = {"net_ring", "net_tree", "proxy", "wire", "hop", NULL};

static void free_constants(struct sc_context *ctx,
                           struct sc__coll_fit *fit,
                           const char *const *names,
                           struct sc__constants *constants) {
    for (; *names; names++) {
        const struct sc__constant *k = sc__constant_find(*names);
        for (unsigned i = 0; i < k->count; i++)
            sc__fit_add(&ctx->arena, fit, "", k, i, constants);
    }
}

/* Every constant that moved becomes part of the written cluster. */
static void keep_changes(struct sc_context *ctx,
                         const struct sc__coll_fit *fit,
                         struct sc__cluster *c) {
    for (uint32_t i = 0; i < fit->count; i++) {
        const struct sc__fit_param *p = &fit->params[i];
        const struct sc__constant *k = sc__constant_find(p->name);
        if (p->index || !k)
            continue;
        struct sc__override o = {.constant = k};
        for (unsigned j = 0; j < k->count; j++)
            o.value[j] = sc__constant_at(&c->constants, k)[j];
        *SC__PUSH(&ctx->arena, c->overrides, c->override_count, c->override_capacity) = o;
    }
}

static void put_moves(struct sc__buffer *out, const struct sc__coll_fit *fit) {
    sc__puts(out, "# constants that moved\n");
    for (uint32_t i = 0; i < fit->count; i++) {
        const struct sc__fit_param *p = &fit->params[i];
        if (fabs(p->ended - p->began) > 1e-9 * fabs(p->began))
            sc__printf(out,
                       "#   %s[%u] %.4g -> %.4g\n",
                       p->name,
                       p->index,
                       p->began,
                       p->ended);
    }
}

static sc_status write_cluster(struct sc_request *req,
                               const struct sc__cluster *c,
                               double before,
                               double after) {
    const char *path = sc__option(req, "output");
    struct sc__buffer text;
    if (!path)
        return SC_OK;
    sc__buffer_init(&text, &req->ctx->arena);
    sc__cluster_write(
        c,
        sc__format(&req->ctx->arena,
                   "calibrated on nccl-tests logs: rms ln error %.4f, before %.4f",
                   after,
                   before),
        &text);
    return sc__write_file(req->ctx, path, text.text, text.size);
}

sc_status sc__coll_fit(struct sc_request *req) {
    struct sc__settings settings = sc__settings(req);
    struct sc__cluster first = {0};
    struct sc__samples samples = {0};
    struct sc__coll_fit fit = {.prior = 0.01};
    bool several = false;
    const char *path;
    for (uint32_t i = 0; (path = sc__setting_nth(&settings, "fit", i)); i++) {
        struct sc__cluster c;
        struct sc__coll_log log;
        struct sc__shape shape;
        SC__TRY(take_log(req, path, &c, &log, &shape));
        if (!i)
            first = c;
        several |= shape.nodes > 1;
        add_samples(req->ctx, &log, &first, &shape, i, &samples);
    }
    free_constants(req->ctx, &fit, inside, &first.constants);
    if (several)
        free_constants(req->ctx, &fit, between, &first.constants);
    sc__samples_predict(&samples);
    double before = sc__samples_residual(&samples);
    sc__fit_run(&fit, &samples, UINT32_MAX);
    double after = sc__samples_residual(&samples);
    coll_fit_put_rows(&req->out, &samples);
    put_moves(&req->out, &fit);
    sc__printf(
        &req->out,
        "# root mean square of ln(predicted/measured): %.4f before, %.4f after, %u rows\n",
        before,
        after,
        samples.count);
    coll_fit_put_notes(req);
    keep_changes(req->ctx, &fit, &first);
    return write_cluster(req, &first, before, after);
}
