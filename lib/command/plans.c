/* plans: which parallel plan is the best?
 *
 *   options of run --model  → what is fixed; the rest is the space of the search
 *   lib/search              → the best of each family
 *   plans_report.c          → a table, the command of the best, JSON */
#include "command/plans.h"

#include "base/platform.h"
#include "base/units.h"
#include "lower/model.h"
#include "network/registry.h"
#include "plan/memory.h"
#include "train/failures.h"

#include <string.h>

static void keep_given(struct sc__plans *x) {
    const struct sc_request *req = x->req;
    sc_setting *list = SC__NEW_ARRAY(&req->ctx->arena, sc_setting, req->value_count + 1);
    for (uint32_t i = 0; i < req->value_count; i++) {
        const char *text = req->values[i].text;
        list[i] = (sc_setting){req->values[i].option->name, text ? text : ""};
    }
    x->given = (struct sc__setting_list){list, req->value_count};
}

static sc_status read_job(struct sc__plans *x) {
    struct sc_request *req = x->req;
    const char *text = sc__option(req, "cluster");
    struct sc__str rest = sc__str(text ? text : "");
    const char *cluster = text ? sc__plans_next_cluster(&req->ctx->arena, &rest) : NULL;
    bool given;
    x->job.settings = sc__settings(req);
    if (cluster)
        SC__TRY(sc__cluster_describe(req->ctx, cluster, &x->job.cluster_given));
    SC__TRY(sc__job_model(req, &x->job, &given));
    if (!given)
        return sc__usage(req,
                         "--model NAME, or Megatron's flags",
                         "plans are searched for a model");
    SC__TRY(sc__options_read(&x->job.settings, &x->job.options));
    /* two networks are refused here, and an option that chooses one counts as used */
    struct sc__engine_choice engine;
    return sc__engine_choose(&x->job.settings, x->job.options.net, &engine);
}

static sc_status read_tries(struct sc__plans *x) {
    const char *text = sc__option(x->req, "try");
    struct sc__str rest = sc__str(text ? text : "");
    struct sc__str part;
    while (text && sc__split(&rest, ',', &part)) {
        const struct sc__choice *c = sc__search_tries;
        while (c->name && !sc__str_is(part, c->name))
            c++;
        if (!c->name)
            return sc__usage(x->req,
                             sc__choices_hint(&x->req->ctx->arena, sc__search_tries),
                             "--try: unknown '%.*s'",
                             SC__SHOW(part));
        x->search.tries |= (unsigned)c->value;
    }
    return SC_OK;
}

/* The run that is planned: its tokens and how many days it may take. */
static sc_status read_run(struct sc__plans *x) {
    static const char *const objectives[] = {"fastest",
                                             "cheapest",
                                             "energy",
                                             "goodput",
                                             NULL};
    struct sc__settings settings = sc__settings(x->req);
    const char *tokens = sc__option(x->req, "train-tokens");
    unsigned objective = SC__SEARCH_FASTEST;
    SC__TRY(sc__setting_word(&settings, "objective", objectives, &objective));
    x->search.objective = (enum sc__search_objective)objective;
    if (tokens && !sc__parse_count(sc__str(tokens), &x->tokens))
        return sc__usage(x->req,
                         "a number above 0, like 15T or 300B",
                         "--train-tokens: '%s' is no value for it",
                         tokens);
    SC__TRY(sc__setting_double(&settings, "days", &x->days));
    if (sc__option(x->req, "days") && !(x->days > 0))
        return sc__usage(x->req, NULL, "--days takes a number above 0");
    if (x->days > 0 && !tokens)
        return sc__usage(x->req,
                         "--train-tokens 15T",
                         "--days: how many tokens the run has is not said");
    return SC_OK;
}

static sc_status read_search(struct sc__plans *x) {
    struct sc_request *req = x->req;
    struct sc__search *s = &x->search;
    struct sc__settings settings = sc__settings(req);
    s->top = 10;
    s->memory_margin = SC__MEMORY_MARGIN;
    SC__TRY(sc__setting_u32(&settings, "top", 1, &s->top));
    SC__TRY(sc__setting_share(&settings, "memory-margin", &s->memory_margin));
    if (!(s->memory_margin >= 0 && s->memory_margin < 1))
        return sc__usage(req,
                         "a share of the memory that stays free, such as 8%",
                         "--memory-margin must be at least 0 and below 1");
    SC__TRY(read_run(x));
    s->exhaustive = sc__flag(req, "exhaustive");
    s->pareto = sc__flag(req, "pareto");
    return read_tries(x);
}

static sc_status prepare(struct sc__plans *x) {
    struct sc_request *req = x->req;
    struct sc__search *s = &x->search;
    SC__TRY(read_job(x));
    SC__TRY(read_search(x));
    s->ctx = req->ctx;
    s->model = x->job.model;
    s->given = x->job.plan;
    s->options = x->job.options;
    s->engine_settings = x->given;
    return sc__plans_machines(x);
}

double sc__plans_days(const struct sc__plans *x, const struct sc__search_plan *p) {
    const struct sc__search *s = &x->search;
    double steps = x->tokens / ((double)s->given.global_batch * s->seq);
    double ettr = p->ettr > 0 ? p->ettr : 1;
    return steps * (double)p->step * 1e-12 / ettr / SC__DAY_S;
}

/* Of those the best plan is the fastest; what draws the least may be slower. */
static bool fastest_is_best(const struct sc__search *s) {
    return s->objective != SC__SEARCH_ENERGY;
}

/* The plans of one machine, where its fastest one keeps the deadline. */
static sc_status
search_in_time(struct sc__plans *x, const struct sc__search *start, bool *in_time) {
    struct sc__search *s = &x->search;
    if (!fastest_is_best(start))
        s->objective = SC__SEARCH_FASTEST;
    SC__TRY(sc__search_run(s));
    const struct sc__search_plan *best = s->best_count ? &s->plans[s->best[0]] : NULL;
    *in_time = best && sc__plans_days(x, best) <= x->days;
    if (best && !*in_time)
        sc__note(x->req->ctx,
                 "too-few",
                 "%u GPUs of %s take %.1f days",
                 s->machines[0].gpus,
                 s->machines[0].name,
                 sc__plans_days(x, best));
    if (!*in_time || fastest_is_best(start))
        return SC_OK;
    struct sc__search again = *start;
    again.machines = s->machines;
    again.machine_count = 1;
    again.longest = (double)best->step * x->days / sc__plans_days(x, best);
    *s = again;
    return sc__search_run(s);
}

/* The machines from the smallest on, until one reaches the deadline. */
static sc_status search_smallest(struct sc__plans *x) {
    struct sc__search *s = &x->search;
    struct sc__search_machine *all = s->machines;
    uint32_t count = s->machine_count;
    const struct sc__search start = *s;
    bool in_time = false;
    for (uint32_t i = 1; i < count; i++) {
        struct sc__search_machine m = all[i];
        uint32_t k = i;
        for (; k > 0 && all[k - 1].gpus > m.gpus; k--)
            all[k] = all[k - 1];
        all[k] = m;
    }
    for (uint32_t i = 0; i < count && !in_time; i++) {
        *s = start;
        s->machines = &all[i];
        s->machine_count = 1;
        SC__TRY(search_in_time(x, &start, &in_time));
    }
    if (in_time)
        return SC_OK;
    struct sc__buffer who;
    sc__buffer_init(&who, &x->req->ctx->arena);
    if (count > 1)
        sc__printf(&who, "none of %u machines trains ", count);
    else
        sc__printf(&who, "%s does not train ", all[0].name);
    sc__put_count(&who, x->tokens);
    return sc__fail(x->req->ctx,
                    SC_NO,
                    NULL,
                    "more GPUs (--sizes), a larger --global-batch, or more --days",
                    "%s tokens in %g days",
                    who.text,
                    x->days);
}

static bool has_best_on(const struct sc__search *s, uint32_t machine) {
    for (uint32_t i = 0; i < s->best_count; i++)
        if (s->plans[s->best[i]].machine == machine)
            return true;
    return false;
}

/* Why a machine that was named has no plan. */
static void note_without_plans(struct sc_context *ctx,
                               const struct sc__search *s,
                               const struct sc__search_machine *machine) {
    const char *name = machine->name;
    if (s->too_large)
        sc__note(ctx,
                 "machine-too-small",
                 "no plan fits into the memory of %u GPU%s of %s",
                 machine->gpus,
                 machine->gpus == 1 ? "" : "s",
                 name);
    else
        sc__note(ctx,
                 "machine-without-plans",
                 "no plan can be made for %u GPU%s of %s%s%s: a global batch that more "
                 "splits divide may allow some",
                 machine->gpus,
                 machine->gpus == 1 ? "" : "s",
                 name,
                 s->why ? ": " : "",
                 s->why ? s->why : "");
}

/* Who names several machines compares them: each has its best plan, also where none of
 * its families is among the best. */
static sc_status search_machines(struct sc__plans *x) {
    struct sc__search *s = &x->search;
    const struct sc__search start = *s;
    x->others = SC__NEW_ARRAY(&x->req->ctx->arena, struct sc__search, s->machine_count);
    SC__TRY(sc__search_run(s));
    for (uint32_t i = 0; i < s->machine_count && s->best_count; i++) {
        struct sc__search *other = &x->others[x->other_count];
        if (has_best_on(s, i))
            continue;
        *other = start;
        other->only = i + 1;
        other->top = 1;
        other->pareto = false;
        SC__TRY(sc__search_run(other));
        if (other->best_count)
            x->other_count++;
        else
            note_without_plans(x->req->ctx, other, &s->machines[i]);
    }
    return SC_OK;
}

static void note_assumptions(const struct sc__plans *x) {
    const struct sc__search *s = &x->search;
    bool bf16 = !s->given.dtype || s->given.dtype == SC_DTYPE_BF16;
    for (uint32_t i = 0; bf16 && i < s->machine_count; i++) {
        const char *name = sc__search_gpu(&s->given, &s->machines[i]);
        const struct sc__gpu *gpu = sc__gpu_known(x->req->ctx, name);
        if (gpu)
            sc__note_missing_type(x->req->ctx, gpu, SC__BF16);
    }
    if (!(s->tries & SC__TRY_ZERO))
        sc__note(
            x->req->ctx,
            "plans-assume",
            "every plan shards the optimizer (--zero 1) and, with tensor parallel, the "
            "sequence, unless told otherwise; --try all searches those too");
}

/* What was fixed and would be searched, and what is not searched yet. */
static const char *ways_to_fit(const struct sc__plans *x) {
    const sc_plan *g = &x->search.given;
    const struct {
        const char *option;
        bool given;
    } searched[] = {{"tp", g->tp > 0},
                    {"pp", g->pp > 0},
                    {"cp", g->cp > 0},
                    {"ep", g->ep > 0},
                    {"micro-batch", g->micro_batch > 0},
                    {"recompute", g->recompute > 0}};
    struct sc__buffer hint;
    bool fixed = false;
    sc__buffer_init(&hint, &x->req->ctx->arena);
    sc__puts(&hint, "more GPUs or a smaller batch");
    for (unsigned i = 0; i < sizeof searched / sizeof *searched; i++)
        if (searched[i].given) {
            sc__printf(&hint, "%s--%s", fixed ? ", " : "; without ", searched[i].option);
            fixed = true;
        }
    if (x->search.tries != SC__TRY_ALL)
        sc__puts(&hint, "; with --try all for ways that need less");
    return hint.text;
}

static sc_status nothing_fits(const struct sc__plans *x) {
    const struct sc__search *s = &x->search;
    if (s->too_large == 1)
        return sc__fail(
            x->req->ctx,
            SC_NO_FIT,
            NULL,
            ways_to_fit(x),
            "the one plan there is does not fit into memory with %g %% to spare",
            100 * s->memory_margin);
    if (s->too_large)
        return sc__fail(x->req->ctx,
                        SC_NO_FIT,
                        NULL,
                        ways_to_fit(x),
                        "none of %u plans fits into memory with %g %% to spare",
                        s->too_large,
                        100 * s->memory_margin);
    return sc__usage(x->req,
                     s->way_out
                         ? s->way_out
                         : "a global batch that more splits divide, or fewer options "
                           "fixed",
                     "no plan can be made for %u GPUs%s%s",
                     s->machines[s->machine_count - 1].gpus,
                     s->why ? ": " : "",
                     s->why ? s->why : "");
}

static sc_status write_plans(const struct sc__plans *x) {
    struct sc_request *req = x->req;
    const char *json = sc__option(req, "json");
    struct sc__buffer b;
    SC__TRY(sc__plans_write_launch(x));
    req->out.for_people = !sc__stdout_taken(req);
    if (req->out.for_people)
        sc__plans_put_text(x, &req->out);
    if (sc__flag(req, "html"))
        SC__TRY(sc__plans_write_page(x));
    if (!json)
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    sc__plans_put_json(x, &b);
    return sc__job_output(req, "json", &b);
}

/* What says nothing about one plan, as `run` notes of it. */
static sc_status note_idle(struct sc__plans *x,
                           const struct sc__search_plan *shown,
                           struct sc_context *own) {
    struct sc__search *s = &x->search;
    struct sc__settings given = sc__settings(x->req);
    struct sc__plan resolved;
    const char *order;
    sc_plan plan;
    given.ctx = own;
    SC__TRY(sc__space_plan(own, s, shown, &plan, &order));
    const struct sc__plan_surroundings around = {
        .gpus = plan.gpus,
        .gpu = s->machines[shown->machine].description.cluster.gpu,
        .options = &s->options};
    SC__TRY(sc__plan_resolve(own, &plan, s->model, &around, &resolved));
    own->note_count = 0; /* those of a plan, not of what was given */
    sc__plan_note_idle(own, &given, &plan, s->model, &resolved);
    return SC_OK;
}

static bool has_note(const struct sc_context *ctx, const struct sc__note *n) {
    for (uint32_t i = 0; i < ctx->note_count; i++)
        if (!strcmp(ctx->notes[i].code, n->code) && !strcmp(ctx->notes[i].text, n->text))
            return true;
    return false;
}

/* What was given in vain: of what the best plan has no use for what no other that is
 * shown has either. */
static void note_given_in_vain(struct sc__plans *x) {
    const struct sc__search *s = &x->search;
    struct sc_context *best = sc_open();
    sc_status status = best ? note_idle(x, &s->plans[s->best[0]], best) : SC_SYSTEM;
    for (uint32_t i = 1; status == SC_OK && i < s->best_count; i++) {
        struct sc_context *other = sc_open();
        status = other ? note_idle(x, &s->plans[s->best[i]], other) : SC_SYSTEM;
        uint32_t kept = 0;
        for (uint32_t k = 0; status == SC_OK && k < best->note_count; k++)
            if (has_note(other, &best->notes[k]))
                best->notes[kept++] = best->notes[k];
        best->note_count = kept;
        sc_close(other);
    }
    if (status == SC_OK)
        sc__notes_copy(x->req->ctx, best);
    sc_close(best);
}

static sc_status plans_execute(struct sc_request *req) {
    struct sc__plans *x = SC__NEW(&req->ctx->arena, struct sc__plans);
    x->req = req;
    if (req->input_count)
        return sc__usage(req, "--model NAME", "plans takes a model, not a file");
    if (!sc__option(req, "jobs"))
        req->ctx->jobs = sc__cores();
    keep_given(x);
    SC__TRY(prepare(x));
    note_assumptions(x);
    SC__TRY(x->days > 0 ? search_smallest(x) : search_machines(x));
    if (!x->search.best_count)
        return nothing_fits(x);
    sc__job_note_unused(req);
    note_given_in_vain(x);
    return write_plans(x);
}

static const struct sc__choice objectives[] = {
    {"fastest", 0}, {"cheapest", 1}, {"energy", 2}, {"goodput", 3}, {0}};

static const struct sc__option options[] = {
    {"objective",
     0,
     "WORD",
     "fastest",
     "Search",
     "what is best: fastest step, cheapest token, least energy, goodput (most of a run "
     "with failures)",
     0,
     .choices = objectives},
    {"sizes",
     0,
     "LIST",
     NULL,
     "Search",
     "numbers of GPUs to compare, like 256,512; --cluster may name several: a:512,b:256",
     0},
    {"price", 0, "USD", "data/prices.json", "Search", "of a GPU-hour", 0},
    {"train-tokens", 0, "N", NULL, "Search", "tokens of the run: 15T, 300B", 0},
    {"days",
     0,
     "N",
     NULL,
     "Search",
     "the smallest machine that trains them in so many days",
     0},
    {"failures",
     0,
     "SET",
     "llama3",
     "Search",
     "with goodput: what breaks and how often, a set or a file",
     0,
     .folder = "failures/"},
    {"recovery",
     0,
     "POLICY",
     "requeue",
     "Search",
     "with goodput: requeue, hot, in-memory, spares=N, spares=2%, drop-replica, shrink",
     0},
    {"try",
     0,
     "LIST",
     NULL,
     "Search",
     "also search: schedule, recompute, zero, sequence-parallel, overlap, cp-comm-type, "
     "dispatcher, etp, types, order; all",
     0},
    {"memory-margin",
     0,
     "SHARE",
     "8%",
     "Search",
     "share of the memory of a GPU that stays free",
     0},
    {"pareto",
     0,
     NULL,
     NULL,
     "Search",
     "also the plans that no other beats in time, memory, cost and energy",
     0},
    {"exhaustive",
     0,
     NULL,
     NULL,
     "Search",
     "simulate every plan: the same answer, slower",
     0},
    {"top", 0, "N", "10", "Output", "how many families of plans to show", 0},
    {"write-launch",
     0,
     "FILE",
     NULL,
     "Output",
     "the best plan for Megatron-LM (a script), Megatron-Bridge (.yaml), torchtitan "
     "(.toml), "
     "DeepSpeed (.json); - for standard output",
     0},
    {"html", 0, "FILE", NULL, "Output", "a page: the plans by time and memory", 0},
    {"json", 0, "FILE", NULL, "Output", "the plans as JSON; - for standard output", 0},
    {0}};

static const struct sc__option *const tables[] = {sc__job_options,
                                                  sc__memory_options,
                                                  sc__cluster_options,
                                                  sc__model_options,
                                                  options,
                                                  NULL};

const struct sc__command sc__command_plans = {
    .name = "plans",
    .args = "--model M --gpus N --global-batch N …",
    .summary = "search the parallel plans of a model and show the best",
    .text =
        "Takes the options of 'run --model'. What they leave open is searched: tensor "
        "parallel within a node, pipeline\n"
        "stages and virtual stages, context and expert parallel, micro-batch sizes, and "
        "the least recomputation that\n"
        "fits into memory; with --try more. Plans that cannot be among the best, by a "
        "bound that no step is shorter\n"
        "than, are left out; the others are simulated as 'run' does. Shown is the best "
        "plan of each family (tp, pp, cp, ep).\n"
        "-j is the number of cores unless given.",
    .options = tables,
    .execute = plans_execute,
};
