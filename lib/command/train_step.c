/* train_step: the step that a run is made of, and those that differ from it. */
#include "base/json_view.h"
#include "command/train.h"
#include "plan/memory.h"

#include <math.h>

#define MOST_BYTES ((size_t)256 << 20)

/* ---- a saved result ---- */

static sc_status
saved_step_positive(const struct sc__node *root, const char *key, double *out) {
    struct sc__node at;
    SC__TRY(sc__node_need(root, key, &at));
    SC__TRY(sc__node_double(root, key, out));
    return *out > 0 ? SC_OK : sc__node_fail(&at, NULL, "\"%s\" is not above 0", key);
}

static sc_status saved_step_fields(const struct sc__node *root,
                                   struct sc__train_step *out) {
    struct sc__node plan;
    struct sc__node cluster = sc__node_at(root, "cluster");
    double us = 0;
    double joules = 0;
    double usd = 0;
    uint32_t gpus = 0;
    uint32_t node = 0;
    uint32_t tp = 1;
    uint32_t cp = 1;
    SC__TRY(saved_step_positive(root, "step_time_us", &us));
    SC__TRY(sc__node_need(root, "plan", &plan));
    SC__TRY(sc__node_u32(&plan, "gpus", 1, UINT32_MAX, &gpus));
    SC__TRY(sc__node_u32(&plan, "dp", 1, UINT32_MAX, &out->dp));
    SC__TRY(sc__node_u32(&plan, "tp", 1, UINT16_MAX, &tp));
    SC__TRY(sc__node_u32(&plan, "cp", 1, UINT16_MAX, &cp));
    if (!gpus)
        return sc__node_fail(&plan, NULL, "the plan does not say \"gpus\"");
    if (cluster.value) {
        SC__TRY(sc__node_u32(&cluster, "node_gpus", 0, UINT32_MAX, &node));
        SC__TRY(sc__node_string(&cluster, "gpu", &out->gpu));
    }
    struct sc__node settings = sc__node_at(root, "settings");
    if (settings.value) /* --gpu: another one in the cluster's place */
        SC__TRY(sc__node_string(&settings, "gpu", &out->gpu));
    if (out->gpu && sc__gpu_is_file(out->gpu))
        out->gpu = NULL; /* its price is the step's */
    SC__TRY(sc__node_double(root, "tokens_per_s", &out->tokens_per_s));
    SC__TRY(sc__node_double(root, "energy_j", &joules));
    SC__TRY(sc__node_double(root, "cost_usd", &usd));
    out->step_s = us * 1e-6;
    out->gpus = gpus;
    out->node_gpus = node;
    out->replica_stride = tp * cp;
    out->shard_replicas = 1;
    out->watts = joules / out->step_s;
    out->usd_per_hour = usd / out->step_s * 3600 / gpus;
    return SC_OK;
}

static sc_status
saved_step(struct sc_request *req, const char *path, struct sc__train_step *out) {
    struct sc__json_file file;
    sc_status status = sc__json_open(req->ctx, path, MOST_BYTES, &file);
    if (status == SC_OK) {
        struct sc__node root = sc__json_root(&file);
        status = saved_step_fields(&root, out);
    }
    sc__json_close(&file);
    return status;
}

/* ---- a simulated step ---- */

static uint32_t replica_stride(const struct sc__mesh *m) {
    const uint32_t sizes[SC__DIMS] = {[SC__DIM_TP] = m->tp,
                                      [SC__DIM_CP] = m->cp,
                                      [SC__DIM_DP] = m->dp,
                                      [SC__DIM_PP] = m->pp};
    uint32_t stride = 1;
    for (unsigned i = 0; m->order[i] != SC__DIM_DP; i++)
        stride *= sizes[m->order[i]];
    return stride;
}

static void simulated_replicas(const struct sc__plan *p, struct sc__train_step *out) {
    const struct sc__mesh *m = &p->mesh;
    out->zero = p->zero;
    if (p->zero)
        out->shard_replicas = m->shard > m->cp ? m->shard / m->cp : m->shard != 0;
}

static sc_status simulated_step(struct sc_request *req, struct sc__train_step *out) {
    SC__TRY(sc__job_suggest_plans(req, sc__job_run(req, &out->job, false)));
    const struct sc__result *r = &out->job.ev->result;
    const struct sc__mesh *m = &out->job.workload->mesh;
    out->step_s = (double)r->step / (double)SC__PS_PER_S;
    out->tokens_per_s = r->tokens_per_s;
    out->gpus = sc__mesh_ranks(m);
    out->node_gpus = r->cluster.node_gpus;
    out->dp = m->dp;
    out->replica_stride = replica_stride(m);
    out->shard_replicas = 1;
    if (out->step_s > 0) {
        out->watts = r->energy_j / out->step_s;
        out->usd_per_hour = r->cost_usd / out->step_s * 3600 / out->gpus;
    }
    sc__result_free(&out->job.ev->result);
    if (out->job.model) {
        out->checkpoint_bytes =
            sc__plan_checkpoint_bytes(out->job.model, &out->job.ev->plan);
        simulated_replicas(&out->job.ev->plan, out);
    }
    if (!(out->step_s > 0))
        return sc__fail(req->ctx, SC_INPUT, NULL, NULL, "the step takes no time");
    return SC_OK;
}

/* The request with its own list of inputs: a stream's copy goes with this run, and
 * the request may be run again. */
static struct sc_request *request_of_run(struct sc_request *req) {
    struct sc__arena *arena = &req->ctx->arena;
    struct sc_request *own = SC__NEW(arena, struct sc_request);
    *own = *req;
    own->inputs = SC__NEW_ARRAY(arena, const char *, req->input_count);
    for (uint32_t i = 0; i < req->input_count; i++)
        own->inputs[i] = req->inputs[i];
    return own;
}

sc_status sc__train_step_read(struct sc_request *req, struct sc__train_step *out) {
    struct sc_request *own = request_of_run(req);
    bool saved = false;
    if (own->input_count == 1 && !sc__path_is_folder(own->inputs[0]))
        SC__TRY(sc__job_is_result(own, &own->inputs[0], &saved));
    if (!saved)
        return simulated_step(own, out);
    SC__TRY(saved_step(req, own->inputs[0], out));
    sc__job_note_unused(req);
    return SC_OK;
}

/* ---- steps that differ ---- */

struct train_variant {
    struct sc_context *ctx;
    const struct sc_request *req;
    const struct sc__job *job;
    sc_plan plan;
    sc_options options;
    const char *const *degrade; /* links, on the flow engine; NULL: the job's network */
    double step_s;              /* out */
};

/* The job's settings, with links degraded. */
static const char *variant_setting(const void *self, const char *name, unsigned i) {
    const struct train_variant *v = self;
    const struct sc__settings *job = &v->job->settings;
    unsigned own = 0;
    if (strcmp(name, "degrade"))
        return job->nth(job->self, name, i);
    while (v->degrade[own] && own < i)
        own++;
    return v->degrade[own] ? v->degrade[own] : job->nth(job->self, name, i - own);
}

static sc_status evaluate_variant(void *self) {
    struct train_variant *v = self;
    struct sc__evaluation *ev = SC__NEW(&v->ctx->arena, struct sc__evaluation);
    struct sc__settings engine = v->job->settings;
    if (v->degrade) {
        engine.nth = variant_setting;
        engine.self = v;
    }
    engine.ctx = v->ctx;
    const struct sc__evaluation_input in = {
        .cluster = sc__option(v->req, "cluster") ? &v->job->cluster_given : NULL,
        .options = &v->options,
        .engine = engine,
    };
    SC__TRY(sc__evaluation_model(v->ctx, &in, v->job->model, &v->plan, ev));
    SC__TRY(sc__evaluation_run(v->ctx, ev, false));
    v->step_s = (double)ev->result.step / (double)SC__PS_PER_S;
    sc__result_free(&ev->result);
    return SC_OK;
}

/* The step in a context of its own, so that its notes are not those of the run.
 * Where it cannot be: 0, and *why in the request's memory. */
static double
variant_seconds(struct sc_request *req, struct train_variant *v, const char **why) {
    v->ctx = sc_open();
    if (!v->ctx)
        return 0;
    sc_status status = sc__guarded(v->ctx, evaluate_variant, v);
    *why = sc__strdup(&req->ctx->arena, sc_error_message(v->ctx));
    sc_close(v->ctx);
    return status == SC_OK ? v->step_s : 0;
}

static struct train_variant variant_of(struct sc_request *req, const struct sc__job *job) {
    return (struct train_variant){.req = req,
                                  .job = job,
                                  .plan = job->ev->settings,
                                  .options = job->options};
}

/* Throughput with `lost` replicas less, each of the others with the batch it had. */
static double replica_pace(struct sc_request *req, struct sc__train *t, uint32_t lost) {
    const struct sc__train_step *step = &t->step;
    double share = (double)(step->dp - lost) / step->dp;
    const char *why = "only a model can be cut anew";
    if (step->job.model) {
        struct train_variant v = variant_of(req, &step->job);
        v.plan.dp = step->dp - lost;
        v.plan.gpus = v.plan.gpus / step->dp * v.plan.dp;
        v.plan.global_batch = v.plan.global_batch / step->dp * v.plan.dp;
        double seconds = variant_seconds(req, &v, &why);
        if (seconds > 0)
            return share * step->step_s / seconds;
    }
    sc__note(
        req->ctx,
        "replica-by-proportion",
        "the step with %u of %u replicas was not simulated (%s): throughput by proportion",
        step->dp - lost,
        step->dp,
        why);
    return share;
}

/* Those that are slow anyway, and rank 0. */
static const char *const *
slow_ranks(struct sc_request *req, const char *const *given, double slowdown) {
    struct sc__arena *arena = &req->ctx->arena;
    uint32_t count = 0;
    while (given && given[count])
        count++;
    const char **list = SC__NEW_ARRAY(arena, const char *, count + 2);
    for (uint32_t i = 0; i < count; i++)
        list[i] = given[i];
    list[count] = sc__format(arena, "rank:0=%g", slowdown);
    return list;
}

static void note_slow_by_proportion(struct sc_request *req,
                                    const struct sc__failure_class *c,
                                    const char *what,
                                    const char *why,
                                    double times) {
    sc__note(
        req->ctx,
        "slow-by-proportion",
        "the step with %s (%s) was not simulated (%s): all of it takes %g times as long",
        what,
        c->name,
        why,
        times);
}

static double slow_gpu_pace(struct sc_request *req,
                            const struct sc__train_step *step,
                            const struct sc__failure_class *c) {
    const char *why = "only models are simulated again";
    if (step->job.model) {
        struct train_variant v = variant_of(req, &step->job);
        v.options.slow = slow_ranks(req, v.options.slow, c->slowdown);
        double seconds = variant_seconds(req, &v, &why);
        if (seconds > 0)
            return step->step_s / seconds;
    }
    note_slow_by_proportion(req, c, "a slow GPU", why, c->slowdown);
    return 1 / c->slowdown;
}

static double least_factor(const char *const *links) {
    double least = 1;
    for (; *links; links++) {
        double factor = 1;
        (void)sc__parse_double(sc__str(strrchr(*links, '=') + 1), &factor);
        least = factor < least ? factor : least;
    }
    return least;
}

static bool knows_links(const char *net) {
    return net && (!strcmp(net, "flow") || !strcmp(net, "packet"));
}

/* Both steps on an engine that knows links, so that their ratio is what the links do
 * and not what the engines differ by. */
static sc_status degraded_pace(struct sc_request *req,
                               const struct sc__train_step *step,
                               const struct sc__failure_class *c,
                               double *pace) {
    static const char *const none[] = {NULL};
    const char *why = NULL;
    if (!step->job.model) {
        *pace = least_factor(c->degrade);
        note_slow_by_proportion(req,
                                c,
                                "degraded links",
                                "only models are simulated again",
                                1 / *pace);
        return SC_OK;
    }
    struct train_variant v = variant_of(req, &step->job);
    if (!knows_links(v.options.net))
        v.options.net = "flow";
    v.degrade = none;
    double whole = variant_seconds(req, &v, &why);
    v.degrade = c->degrade;
    double degraded = whole > 0 ? variant_seconds(req, &v, &why) : 0;
    if (!(degraded > 0))
        return sc__fail(req->ctx,
                        SC_INPUT,
                        NULL,
                        "docs/model/flow.md says how links are called",
                        "failures of the class '%s' cannot be simulated: %s",
                        c->name,
                        why);
    *pace = whole / degraded;
    return SC_OK;
}

static sc_status slow_pace(struct sc_request *req,
                           const struct sc__train_step *step,
                           const struct sc__failure_class *c,
                           double *pace) {
    if (c->degrade)
        return degraded_pace(req, step, c, pace);
    *pace = slow_gpu_pace(req, step, c);
    return SC_OK;
}

/* Replicas that a failed machine takes with it: those that have GPUs on it, and those
 * that are no copy of the state without these. */
static uint32_t replicas_together(const struct sc__train *t) {
    const struct sc__train_step *step = &t->step;
    double machine = t->in.set->unit_gpus[SC__SCOPE_NODE];
    uint32_t here = (uint32_t)ceil(machine / step->replica_stride);
    uint32_t copy = step->shard_replicas ? step->shard_replicas : 1;
    return (here + copy - 1) / copy * copy;
}

static void
note_replicas(struct sc_request *req, const struct sc__train *t, uint32_t part) {
    sc__note(req->ctx,
             "replica-back",
             "a failed machine takes %u of %u replicas; what is lost is back when another "
             "machine has come through the queue; with more than %u such losses the job "
             "waits",
             part,
             t->step.dp,
             SC__MOST_LOST);
    if (t->in.recovery == SC__RECOVERY_DROP && !t->step.shard_replicas)
        sc__note(
            req->ctx,
            "replica-sharded",
            "ZeRO %u shards over all replicas: what a lost one held is taken to be kept "
            "elsewhere; with --shard-group N every N ranks hold a copy",
            t->step.zero);
}

/* The paces with 1 … parts of the job lost. */
static sc_status paces_without_replicas(struct sc_request *req, struct sc__train *t) {
    uint32_t dp = t->step.dp;
    uint32_t part = replicas_together(t);
    if (part >= dp)
        return sc__usage(req,
                         "more GPUs, or another --recovery",
                         dp < 2 ? "--recovery %s: there is only one replica"
                                : "--recovery %s: a failed machine takes all %u replicas",
                         t->recovery,
                         dp);
    t->in.part_gpus = (double)part * t->step.replica_stride;
    for (uint32_t lost = 1; lost <= SC__MOST_LOST && lost * part < dp; lost++)
        t->in.lost_replicas[lost - 1] = replica_pace(req, t, lost * part);
    note_replicas(req, t, part);
    return SC_OK;
}

sc_status sc__train_paces(struct sc_request *req, struct sc__train *t) {
    const struct sc__failure_set *set = t->in.set;
    double *slow = SC__NEW_ARRAY(&req->ctx->arena, double, set->class_count);
    for (uint32_t i = 0; i < set->class_count; i++)
        if (set->classes[i].symptom == SC__SYMPTOM_SLOW)
            SC__TRY(slow_pace(req, &t->step, &set->classes[i], &slow[i]));
    t->in.slow_share = slow;
    return sc__recovery_drops(&t->in) ? paces_without_replicas(req, t) : SC_OK;
}
