/* Each row is the whole job once more, from the model and its plan, or from the
 * workload, with one thing changed the way the command line would change it: so a
 * row says what a run with that option would say. */
#include "command/changes.h"

#include "workload/scale.h"

#include <string.h>

enum what_changes { SOUND_LINKS, NICS, NVLINK, GPU, MICRO_BATCHES, NO_RECOMPUTE };

static const struct change_kind {
    enum what_changes what;
    const char *key;
    const char *title;
    double work; /* tokens of the step, against the one as it is */
} change_kinds[] = {
    {SOUND_LINKS, "no-fail", "no link failed or slow", 1},
    {NICS, "nic*2", "NICs twice as fast", 1},
    {NVLINK, "nvlink*2", "NVLink twice as fast", 1},
    {GPU, "gpu*2", "GPUs compute twice as fast", 1},
    {MICRO_BATCHES, "micro-batches*2", "twice the micro-batches", 2},
    {NO_RECOMPUTE, "no-recompute", "no recomputation", 1},
};

struct change_trial {
    struct sc_context *own;
    const struct sc__job *job;
    const struct change_kind *kind;
    const char *cluster; /* as described */
    struct sc__change_row row;
};

/* Is there anything to change? */
static bool change_applies(const struct sc__job *job, enum what_changes what) {
    const struct sc__cluster *c = &job->ev->cluster;
    bool network = !c->ideal && !sc__setting(&job->settings, "astra-network") &&
                   !sc__setting(&job->settings, "loggops");
    switch (what) {
    case SOUND_LINKS: /* every packet once more would take too long */
        return (sc__setting(&job->settings, "fail") ||
                sc__setting(&job->settings, "degrade")) &&
               !strcmp(job->ev->result.net, "flow");
    case NICS:
        return network && c->nic > 0 && sc__mesh_ranks(&job->workload->mesh) > c->node_gpus;
    case NVLINK:
        return network && c->nvlink > 0 && sc__mesh_ranks(&job->workload->mesh) > 1;
    case GPU:
        return true;
    case MICRO_BATCHES:
        return job->model && job->ev->settings.global_batch <= UINT32_MAX / 2;
    case NO_RECOMPUTE:
        return job->model && job->ev->settings.recompute > SC_RECOMPUTE_NONE;
    }
    return false;
}

/* The cluster as its description with another rate. */
static sc_status change_cluster(struct change_trial *t,
                                struct sc__cluster_description *out) {
    const struct sc__cluster *c = &t->job->ev->cluster;
    bool nics = t->kind->what == NICS;
    const char *text = sc__format(&t->own->arena,
                                  "%s %s=%.17gB/s",
                                  t->cluster,
                                  nics ? "nic" : "nvlink",
                                  2 * (nics ? c->nic : c->nvlink));
    return sc__cluster_describe(t->own, text, out);
}

static void change_plan(const struct change_trial *t, sc_plan *plan) {
    if (t->kind->what == MICRO_BATCHES) {
        plan->global_batch = 2 * t->job->ev->settings.global_batch;
        plan->micro_batches = 0;
    }
    if (t->kind->what == NO_RECOMPUTE) {
        plan->recompute = SC_RECOMPUTE_NONE;
        plan->recompute_modules = 0;
        plan->recompute_layers = 0;
        plan->recompute_method = 0;
    }
    plan->ignore_memory = SC_ON; /* the row says whether it fits */
}

/* ---- the network without --fail and --degrade ---- */

static const char *nth_but_failures(const void *self, const char *name, unsigned i) {
    const struct sc__settings *given = self;
    if (!strcmp(name, "fail") || !strcmp(name, "degrade"))
        return NULL;
    return given->nth(given->self, name, i);
}

/* On the engine that those options chose. */
static void mend_links(const struct change_trial *t,
                       struct sc__evaluation_input *in,
                       sc_options *options) {
    in->engine = (struct sc__settings){.nth = nth_but_failures,
                                       .self = &t->job->ev->in.engine,
                                       .ctx = t->own};
    if (!options->net)
        options->net = "flow";
    in->options = options;
}

/* ---- the job once more ---- */

/* The workload is finished: all that can still change is how fast it runs. */
static sc_status change_workload(struct change_trial *t,
                                 const struct sc__cluster_description *cluster,
                                 struct sc__evaluation *again) {
    const struct sc__workload *w = t->job->ev->workload;
    struct sc__workload *copy = SC__NEW(&t->own->arena, struct sc__workload);
    *again = *t->job->ev;
    *copy = *w;
    again->workload = copy;
    if (cluster) {
        struct sc__evaluation_input in = t->job->ev->in;
        in.cluster = cluster;
        return sc__evaluation_cluster(t->own,
                                      &in,
                                      sc__mesh_ranks(&w->mesh),
                                      &again->cluster);
    }
    if (t->kind->what == SOUND_LINKS) {
        sc_options *options = SC__NEW(&t->own->arena, sc_options);
        *options = *t->job->ev->in.options;
        mend_links(t, &again->in, options);
        return SC_OK;
    }
    copy->ops = SC__NEW_ARRAY(&t->own->arena, struct sc__op, (size_t)w->op_count + 1);
    memcpy(copy->ops, w->ops, w->op_count * sizeof *w->ops);
    return sc__whatif_apply(t->own, &(sc_options){.gpu_speedup = 2}, copy);
}

static sc_status change_model(struct change_trial *t,
                              const struct sc__cluster_description *cluster,
                              struct sc__evaluation *again) {
    struct sc__evaluation_input in = t->job->ev->in;
    sc_options options = *t->job->ev->given_options;
    sc_plan plan = t->job->plan;
    change_plan(t, &plan);
    if (t->kind->what == GPU)
        options.gpu_speedup = 2 * (options.gpu_speedup > 0 ? options.gpu_speedup : 1);
    in.options = &options;
    in.plan_options = NULL;
    in.engine.ctx = t->own;
    if (t->kind->what == SOUND_LINKS)
        mend_links(t, &in, &options);
    if (cluster)
        in.cluster = cluster;
    SC__TRY(sc__evaluation_model(t->own, &in, t->job->model, &plan, again));
    again->given_options = NULL; /* they go with this function */
    return SC_OK;
}

static bool change_fits(const struct sc__workload *w) {
    for (uint32_t c = 0; w->memory && w->memory_capacity && c < w->class_count; c++)
        if (sc__memory_total(&w->memory[c]) > w->memory_capacity)
            return false;
    return true;
}

static sc_status change_evaluate(void *self) {
    struct change_trial *t = self;
    struct sc__evaluation *again = SC__NEW(&t->own->arena, struct sc__evaluation);
    struct sc__cluster_description changed;
    bool other_cluster = t->kind->what == NICS || t->kind->what == NVLINK;
    if (other_cluster)
        SC__TRY(change_cluster(t, &changed));
    const struct sc__cluster_description *cluster = other_cluster ? &changed : NULL;
    SC__TRY(t->job->model ? change_model(t, cluster, again)
                          : change_workload(t, cluster, again));
    SC__TRY(sc__evaluation_run(t->own, again, false));
    t->row.step = again->result.step;
    t->row.fits = change_fits(again->workload);
    sc__result_free(&again->result);
    return SC_OK;
}

/* In a context of its own: what goes wrong there, and its notes, go with it. */
static bool change_try(struct sc_context *ctx, struct change_trial *t) {
    struct sc_context own;
    sc__context_init(&own, ctx);
    t->own = &own;
    bool went_well = sc__guarded(&own, change_evaluate, t) == SC_OK;
    sc__context_end(&own);
    return went_well;
}

static struct change_trial begin_trial(struct sc_request *req,
                                       const struct sc__job *job,
                                       const struct change_kind *kind) {
    const char *cluster = sc__option(req, "cluster");
    return (struct change_trial){
        .job = job,
        .kind = kind,
        .cluster = cluster ? cluster : sc__cluster_usual(req->ctx, job->ev->in.gpu),
        .row = {.key = kind->key, .title = kind->title, .work = kind->work}};
}

void sc__changes_note_links(struct sc_request *req, struct sc__job *job) {
    struct change_trial t = begin_trial(req, job, &change_kinds[SOUND_LINKS]);
    struct sc__buffer time;
    if (!change_applies(job, SOUND_LINKS) || !change_try(req->ctx, &t) || !t.row.step)
        return;
    job->mended = SC__NEW(&req->ctx->arena, struct sc__change_row);
    *job->mended = t.row;
    sc__buffer_init(&time, &req->ctx->arena);
    sc__put_time(&time, t.row.step);
    sc__note(
        req->ctx,
        "without-failures",
        "with all links in order the step takes %s: what fails or is slow costs %.2f %%",
        time.text,
        100 * ((double)job->ev->result.step / (double)t.row.step - 1));
}

sc_status sc__changes_add(struct sc_request *req, struct sc__job *job) {
    struct sc__result *r = &job->ev->result;
    unsigned count = sizeof change_kinds / sizeof *change_kinds;
    for (unsigned i = 0; i < count; i++) {
        const struct change_kind *kind = &change_kinds[i];
        struct change_trial t = begin_trial(req, job, kind);
        if (!change_applies(job, kind->what))
            continue;
        SC__TRY(sc__progress(req->ctx, "what if", (double)i / count));
        bool known = kind->what == SOUND_LINKS && job->mended;
        if (known)
            t.row = *job->mended;
        if (known || change_try(req->ctx, &t))
            *SC__PUSH(&r->arena, r->changes.rows, r->changes.count, r->changes.capacity) =
                t.row;
    }
    return SC_OK;
}
