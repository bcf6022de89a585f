/* plan_auto: run --plan auto, the plan that `plans` would put first; and what to ask
 * where a plan does not fit. */
#include "base/platform.h"
#include "command/job.h"
#include "plan/memory.h"
#include "search/search.h"

#include <string.h>

static void keep_settings(struct sc_request *req, struct sc__setting_list *out) {
    sc_setting *list = SC__NEW_ARRAY(&req->ctx->arena, sc_setting, req->value_count + 1);
    for (uint32_t i = 0; i < req->value_count; i++) {
        const char *text = req->values[i].text;
        list[i] = (sc_setting){req->values[i].option->name, text ? text : ""};
    }
    *out = (struct sc__setting_list){list, req->value_count};
}

static void put_setting(void *self, const char *name, const char *text) {
    sc__printf(self, " --%s%s%s", name, *text ? " " : "", text);
}

static sc_status
take_best(struct sc_request *req, struct sc__job *job, struct sc__search *s) {
    const struct sc__search_plan *best = &s->plans[s->best[0]];
    const char *order;
    struct sc__buffer said;
    SC__TRY(sc__space_plan(req->ctx, s, best, &job->plan, &order));
    sc__buffer_init(&said, &req->ctx->arena);
    sc__space_settings(req->ctx, s, best, put_setting, &said);
    sc__note(req->ctx,
             "plan-auto",
             "--plan auto: of %u plans the fastest that fits with %g %% of the memory free "
             "has%s",
             s->tried,
             100 * s->memory_margin,
             said.text ? said.text : " nothing to say");
    return SC_OK;
}

sc_status sc__job_auto_plan(struct sc_request *req, struct sc__job *job) {
    const char *word = sc__option(req, "plan");
    struct sc__search s = {.ctx = req->ctx,
                           .model = job->model,
                           .given = job->plan,
                           .options = job->options,
                           .memory_margin = SC__MEMORY_MARGIN,
                           .top = 1};
    if (!word)
        return SC_OK;
    if (strcmp(word, "auto"))
        return sc__usage(req, "--plan auto", "--plan: unknown '%s'", word);
    keep_settings(req, &s.engine_settings);
    s.machines = SC__NEW(&req->ctx->arena, struct sc__search_machine);
    s.machine_count = 1;
    /* what is noted of the machine and of plans the evaluation notes again */
    uint32_t notes = req->ctx->note_count;
    SC__TRY(sc__search_machine(req->ctx,
                               &s.options,
                               &s.engine_settings,
                               sc__option(req, "cluster"),
                               job->plan.gpu,
                               job->plan.gpus,
                               s.machines));
    req->ctx->note_count = notes;
    if (!job->plan.global_batch)
        job->plan.global_batch =
            sc__plan_usual_batch(req->ctx, &job->plan, job->model, s.machines->gpus);
    s.given.global_batch = job->plan.global_batch;
    if (!sc__option(req, "jobs"))
        req->ctx->jobs = sc__cores();
    notes = req->ctx->note_count;
    SC__TRY(sc__search_run(&s));
    req->ctx->note_count = notes;
    if (s.best_count)
        return take_best(req, job, &s);
    return sc__fail(req->ctx,
                    s.too_large ? SC_NO_FIT : SC_USAGE,
                    NULL,
                    "stepcast plans with the same options and --try all looks further",
                    "--plan auto: none of %u plans %s%s%s",
                    s.tried,
                    s.too_large ? "fits into memory" : "can be run",
                    s.why ? ": " : "",
                    s.why ? s.why : "");
}

/* What a search decides, what it would not need, and what is written. */
static bool is_of_one_plan(const char *name) {
    static const char *const names[] = {"tp",
                                        "pp",
                                        "dp",
                                        "cp",
                                        "ep",
                                        "etp",
                                        "vpp",
                                        "zero",
                                        "fsdp",
                                        "schedule",
                                        "recompute",
                                        "recompute-modules",
                                        "recompute-method",
                                        "recompute-layers",
                                        "activation-checkpointing",
                                        "sequence-parallel",
                                        "no-sequence-parallel",
                                        "micro-batch",
                                        "mbs",
                                        "micro-batches",
                                        "tensor-model-parallel-size",
                                        "pipeline-model-parallel-size",
                                        "context-parallel-size",
                                        "expert-model-parallel-size",
                                        "expert-tensor-parallel-size",
                                        "micro-batch-size",
                                        "recompute-granularity",
                                        "recompute-activations",
                                        "recompute-num-layers",
                                        "use-distributed-optimizer",
                                        "json",
                                        "csv",
                                        "html",
                                        "jobs",
                                        NULL};
    for (const char *const *n = names; *n; n++)
        if (!strcmp(*n, name))
            return true;
    return false;
}

/* As a shell takes it. */
static void put_word(struct sc__buffer *out, const char *text) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:,=%+@-";
    const char *quote = text[strspn(text, plain)] ? "'" : "";
    sc__printf(out, " %s%s%s", quote, text, quote);
}

/* The same job with the plan left open: what else was said goes with it. */
sc_status sc__job_suggest_plans(struct sc_request *req, sc_status status) {
    struct sc_context *ctx = req->ctx;
    const struct sc__command *plans = sc__command_find(ctx, "plans");
    struct sc__buffer command;
    if (status != SC_NO_FIT || sc__option(req, "plan"))
        return status;
    sc__buffer_init(&command, &ctx->arena);
    sc__printf(&command, "%s; what fits: stepcast plans", sc_error_hint(ctx));
    bool batch = false;
    for (uint32_t i = 0; i < req->value_count; i++) {
        const struct sc__value *v = &req->values[i];
        const char *name = v->option->name;
        if (is_of_one_plan(name) || !sc__command_option(plans, name))
            continue;
        sc__printf(&command, " --%s", name);
        if (v->text)
            put_word(&command, v->text);
        batch |= !strcmp(name, "gbs") || sc__str_starts(sc__str(name), "global-batch");
    }
    if (!batch)
        sc__puts(&command, " --global-batch N");
    const char *message = sc__strdup(&ctx->arena, sc_error_message(ctx));
    return sc__fail(ctx, status, NULL, command.text, "%s", message);
}
