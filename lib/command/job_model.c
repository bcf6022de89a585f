/* job_model: --model and Megatron's flags instead of an input file. */
#include "command/job.h"
#include "lower/model.h"
#include "model/read.h"

static sc_status read_settings(struct sc_request *req, struct sc__job *job) {
    const char *script = sc__option(req, "megatron-args");
    if (!script)
        return SC_OK;
    struct sc__settings given = job->settings;
    return sc__megatron_read(req->ctx, script, sc__model_options, &given, &job->settings);
}

void sc__job_copies(const struct sc__settings *s,
                    const struct sc__model *m,
                    const struct sc__plan *p,
                    struct sc__cluster *c) {
    if (m->experts && !sc__setting(s, "copies"))
        c->tuning.copies = sc__plan_copies(p, m);
}

sc_status sc__job_model(struct sc_request *req, struct sc__job *job, bool *given) {
    struct sc__model *model = SC__NEW(&req->ctx->arena, struct sc__model);
    struct sc__plan plan;
    uint32_t gpus;
    SC__TRY(read_settings(req, job));
    SC__TRY(sc__model_settings(req->ctx, &job->settings, model, given));
    if (!*given)
        return SC_OK;
    SC__TRY(sc__job_named_size(req, &gpus));
    SC__TRY(sc__plan_read(req->ctx, &job->settings, model, gpus, &plan));
    SC__TRY(sc__plan_check(req->ctx, model, &plan));
    sc__plan_note_idle(&job->settings, model, &plan);
    SC__TRY(sc__job_cluster(req, job, plan.gpus));
    sc__job_copies(&job->settings, model, &plan, &job->cluster);
    return sc__lower_plan(req->ctx, model, &plan, &job->cluster, &job->workload);
}
