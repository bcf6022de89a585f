/* plans: which parallel plan is the fastest?
 *
 *   options of run --model  → what is fixed
 *   all that is not          → candidates: every split of the GPUs, micro-batch, virtual
 * stages each candidate           → plan, memory, simulated step, in a context of its own
 *   those that fit           → a table, fastest first, and the command of the best
 *
 * A candidate is a list of option values on top of the given ones, so that it
 * is read, checked and simulated exactly as `run` would. Recomputation is the
 * least that fits: more of it is never faster. */
#include "base/parallel.h"
#include "command/job.h"
#include "lower/model.h"
#include "model/read.h"
#include "simulate/simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FREE_TP, FREE_PP, FREE_CP, FREE_EP, FREE_VPP, FREE_MICRO_BATCH, FREE };
static const char *const free_names[FREE] = {"tp", "pp", "cp", "ep", "vpp", "micro-batch"};
static const char *const free_keys[FREE] = {
    "tp", "pp", "cp", "ep", "vpp", "micro_batch"}; /* in JSON */
static const char *const recomputes[] = {"none", "selective", "full", NULL};
enum { MOST_VALUES = 32, MOST_CANDIDATES = 100000 };

/* What came of a candidate. */
enum { PLAN_REFUSED, PLAN_TOO_LARGE, PLAN_FITS };

struct candidate {
    uint32_t value[FREE];
    unsigned recompute; /* in recomputes */
    int outcome;
    char why[200]; /* it was refused */
    int64_t step;
    /* memory in bytes */
    double mfu;
    double memory;
    struct sc__step_shares shares;
};

struct given {
    const char *name;
    const char *text;
};

struct search {
    struct sc_request *req;
    struct given *given;
    uint32_t given_count;
    uint32_t given_capacity;
    const char *cluster;
    uint32_t gpus;
    uint32_t layers;
    struct candidate *items;
    uint32_t count;
    uint32_t capacity;
    bool fixed_recompute;
};

/* Settings of one candidate: its own values, then the given ones. */
struct plans_view {
    const struct search *s;
    const struct candidate *c;
    char text[FREE][12];
};

static const char *own_value(const struct plans_view *v, const char *name) {
    for (int i = 0; i < FREE; i++)
        if (!strcmp(name, free_names[i]))
            return v->text[i];
    if (!strcmp(name, "recompute") && !v->s->fixed_recompute)
        return recomputes[v->c->recompute];
    return NULL;
}

static const char *given_value(const struct search *s, const char *name) {
    for (uint32_t i = s->given_count; i-- > 0;)
        if (!strcmp(s->given[i].name, name))
            return s->given[i].text;
    return NULL;
}

static const char *nth_given(const struct search *s, const char *name, unsigned i) {
    for (uint32_t k = 0; k < s->given_count; k++)
        if (!strcmp(s->given[k].name, name) && i-- == 0)
            return s->given[k].text;
    return NULL;
}

static bool uneven(const struct search *s, const struct candidate *c) {
    return s->layers % (c->value[FREE_PP] * c->value[FREE_VPP]) != 0;
}

static const char *plans_nth(const void *self, const char *name, unsigned i) {
    const struct plans_view *v = self;
    const char *own = own_value(v, name);
    const char *text = own ? own : nth_given(v->s, name, i);
    if (own && i)
        return NULL;
    if (text || i)
        return text;
    if (!strcmp(name, "zero"))
        return "1"; /* what a search takes for granted, see execute */
    if (!strcmp(name, "sequence-parallel") && v->c->value[FREE_TP] > 1)
        return "";
    if (!strcmp(name, "uneven-stages") && uneven(v->s, v->c))
        return "";
    return NULL;
}

/* ---- one candidate ---- */

static double memory_of(const struct sc__model *m, const struct sc__plan *p) {
    double most = 0;
    for (uint32_t s = 0; s < p->mesh.pp; s++) {
        struct sc__stage_memory x = sc__plan_memory(m, p, s);
        most = fmax(most, sc__memory_sum(&x));
    }
    return most;
}

struct plans_trial {
    struct sc_context *ctx;
    const struct plans_view *view;
    struct candidate *candidate;
};

static sc_status simulate_candidate(void *self) {
    const struct plans_trial *trial = self;
    struct sc_context *ctx = trial->ctx;
    const struct plans_view *v = trial->view;
    struct candidate *c = trial->candidate;
    struct sc__settings settings = {.nth = plans_nth, .self = v, .ctx = ctx};
    struct sc__model model;
    struct sc__plan plan;
    struct sc__job job = {.settings = settings};
    struct sc__sim_options options = {0};
    struct sc__workload *w;
    struct sc__net net;
    struct sc__sim sim;
    bool model_given;
    SC__TRY(sc__model_settings(ctx, &settings, &model, &model_given));
    SC__TRY(sc__plan_read(ctx, &settings, &model, v->s->gpus, &plan));
    SC__TRY(sc__plan_check(ctx, &model, &plan));
    SC__TRY(sc__cluster_parse(ctx, v->s->cluster, plan.gpus, &job.cluster));
    SC__TRY(sc__cluster_apply(&settings, plan.gpus, &job.cluster));
    sc__job_copies(&settings, &model, &plan, &job.cluster);
    SC__TRY(sc__lower_plan(ctx, &model, &plan, &job.cluster, &w));
    SC__TRY(sc__job_change(ctx, &settings, w));
    SC__TRY(sc__job_network(ctx, &job, w, &net));
    SC__TRY(sc__setting_share(&settings, "comm-sm-tax", &options.comm_tax));
    SC__TRY(sc__simulate(ctx, w, &net, &options, &sim));
    c->step = sim.step;
    c->memory = memory_of(&model, &plan);
    c->shares = sc__sim_shares(w, &sim);
    c->mfu = w->model_flops / ((double)sim.step * 1e-12) / sc__mesh_ranks(&w->mesh) /
             w->peak_flops;
    return SC_OK;
}

static sc_status try_once(const struct search *s, struct candidate *c) {
    struct plans_view v = {.s = s, .c = c};
    sc_context *ctx = sc_open();
    if (!ctx)
        return SC_SYSTEM;
    for (int i = 0; i < FREE; i++)
        snprintf(v.text[i], sizeof v.text[i], "%u", c->value[i]);
    sc_status status =
        sc__guarded(ctx, simulate_candidate, &(struct plans_trial){ctx, &v, c});
    snprintf(c->why, sizeof c->why, "%s", sc_error_message(ctx));
    sc_close(ctx);
    return status;
}

static void try_candidate(void *self, uint32_t i) {
    struct search *s = self;
    struct candidate *c = &s->items[i];
    for (c->recompute = 0; recomputes[c->recompute]; c->recompute++) {
        sc_status status = try_once(s, c);
        c->outcome = status == SC_OK   ? PLAN_FITS
                     : status == SC_NO ? PLAN_TOO_LARGE
                                       : PLAN_REFUSED;
        if (c->outcome != PLAN_TOO_LARGE || s->fixed_recompute)
            return;
    }
}

/* ---- candidates ---- */

struct range {
    uint32_t value[MOST_VALUES];
    uint32_t count;
};

static void add_value(struct range *r, uint32_t x) {
    if (r->count < MOST_VALUES)
        r->value[r->count++] = x;
}

static void powers(struct range *r, uint32_t from, uint64_t to) {
    for (uint64_t x = from; x <= to && x <= UINT32_MAX; x *= 2)
        add_value(r, (uint32_t)x);
}

/* Divisors of n, and the powers of two below it: uneven ones. */
static void parts(struct range *r, uint32_t n, uint32_t most) {
    for (uint32_t d = 1; d <= n && d <= most; d++)
        if (n % d == 0 || (d & (d - 1)) == 0)
            add_value(r, d);
}

/* Where the user left the choice: tensor parallel inside a node, pipelines that
 * divide the layers or are a power of two, context parallel while a rank keeps
 * 4096 tokens. */
static void choices(const struct search *s,
                    const struct sc__model *m,
                    const struct sc__plan *base,
                    const struct sc__cluster *cluster,
                    int which,
                    uint32_t pp,
                    struct range *r) {
    uint32_t fixed;
    struct sc__settings settings = sc__settings(s->req);
    if (given_value(s, free_names[which]) &&
        sc__setting_u32(&settings, free_names[which], 1, &fixed) == SC_OK)
        add_value(r, fixed);
    else if (which == FREE_TP)
        powers(r, 1, cluster->node_gpus);
    else if (which == FREE_PP)
        parts(r, m->layers, 64);
    else if (which == FREE_CP)
        add_value(r, 1), powers(r, 2, base->seq / 4096);
    else if (which == FREE_EP)
        powers(r, 1, m->experts ? m->experts : 1);
    else if (which == FREE_VPP)
        parts(r, pp > 1 ? m->layers / pp : 1, 12);
    else
        powers(r, 1, 8);
}

static bool can_be(const struct search *s,
                   const struct sc__model *m,
                   const struct sc__plan *base,
                   const uint32_t value[FREE]) {
    uint64_t cut = (uint64_t)value[FREE_TP] * value[FREE_PP] * value[FREE_CP];
    if (s->gpus % cut || m->heads % value[FREE_TP])
        return false;
    uint64_t dp = s->gpus / cut;
    uint64_t rest = dp * value[FREE_MICRO_BATCH];
    return base->global_batch % rest == 0 &&
           (m->experts ? m->experts : 1) % value[FREE_EP] == 0;
}

static sc_status enumerate(struct search *s,
                           const struct sc__model *m,
                           const struct sc__plan *base,
                           const struct sc__cluster *cluster,
                           int which,
                           uint32_t value[FREE]) {
    struct range r = {.count = 0};
    if (which == FREE) {
        if (!can_be(s, m, base, value))
            return SC_OK;
        if (s->count == MOST_CANDIDATES)
            return sc__usage(s->req,
                             "fix --tp, --pp, --vpp or --micro-batch",
                             "there are over %d plans to try",
                             MOST_CANDIDATES);
        struct candidate *c =
            SC__PUSH(&s->req->ctx->arena, s->items, s->count, s->capacity);
        *c = (struct candidate){.outcome = PLAN_REFUSED};
        memcpy(c->value, value, sizeof c->value);
        return SC_OK;
    }
    choices(s, m, base, cluster, which, value[FREE_PP], &r);
    for (uint32_t i = 0; i < r.count; i++) {
        value[which] = r.value[i];
        SC__TRY(enumerate(s, m, base, cluster, which + 1, value));
    }
    return SC_OK;
}

/* ---- what is given ---- */

static void keep_given(struct search *s) {
    const struct sc_request *req = s->req;
    for (uint32_t i = 0; i < req->value_count; i++) {
        const char *text = req->values[i].text;
        *SC__PUSH(&req->ctx->arena, s->given, s->given_count, s->given_capacity) =
            (struct given){req->values[i].option->name, text ? text : ""};
    }
    s->fixed_recompute = given_value(s, "recompute") != NULL;
}

static sc_status prepare(struct search *s) {
    struct sc_request *req = s->req;
    struct sc__settings settings = sc__settings(req);
    struct sc__model *m = SC__NEW(&req->ctx->arena, struct sc__model);
    struct sc__job *job = SC__NEW(&req->ctx->arena, struct sc__job);
    struct sc__plan base;
    uint32_t value[FREE];
    bool given;
    job->settings = settings;
    SC__TRY(sc__model_settings(req->ctx, &settings, m, &given));
    if (!given)
        return sc__usage(req,
                         "--model NAME, or Megatron's flags",
                         "plans are searched for a model");
    if (!sc__option(req, "global-batch") && !sc__option(req, "global-batch-size"))
        return sc__usage(req,
                         "--global-batch N: the sequences of a step",
                         "the batch decides which plan is best");
    s->layers = m->layers;
    SC__TRY(sc__job_named_size(req, &s->gpus));
    SC__TRY(sc__setting_u32(&settings, "gpus", 1, &s->gpus));
    if (!s->gpus)
        return sc__usage(req, "--gpus N", "the number of GPUs is not known");
    SC__TRY(sc__plan_read(req->ctx, &settings, m, s->gpus, &base));
    SC__TRY(sc__job_cluster(req, job, s->gpus));
    s->cluster = sc__option(req, "cluster") ? sc__option(req, "cluster") : "dgx-h100";
    return enumerate(s, m, &base, &job->cluster, 0, value);
}

/* ---- what comes out ---- */

static int faster(const void *a, const void *b) {
    const struct candidate *x = a;
    const struct candidate *y = b;
    if ((x->outcome == PLAN_FITS) != (y->outcome == PLAN_FITS))
        return x->outcome == PLAN_FITS ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return memcmp(x->value,
                  y->value,
                  sizeof x->value); /* one order, whatever the threads did */
}

static uint32_t count_of(const struct search *s, int outcome) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->count; i++)
        n += s->items[i].outcome == outcome;
    return n;
}

static uint32_t dp_of(const struct search *s, const struct candidate *c) {
    return s->gpus / (c->value[FREE_TP] * c->value[FREE_PP] * c->value[FREE_CP]);
}

static const char *recompute_of(const struct search *s, const struct candidate *c) {
    return s->fixed_recompute ? given_value(s, "recompute") : recomputes[c->recompute];
}

static void
put_command(const struct search *s, const struct candidate *c, struct sc__buffer *out) {
    sc__puts(out, "stepcast run");
    for (uint32_t i = 0; i < s->given_count; i++) {
        const struct given *g = &s->given[i];
        if (!strcmp(g->name, "top") || !strcmp(g->name, "json") || !strcmp(g->name, "jobs"))
            continue;
        bool quote = strchr(g->text, ' ') != NULL;
        sc__printf(out,
                   " --%s%s%s%s%s",
                   g->name,
                   *g->text ? " " : "",
                   quote ? "'" : "",
                   g->text,
                   quote ? "'" : "");
    }
    for (int i = 0; i < FREE; i++)
        if (!given_value(s, free_names[i]) && c->value[i] > 1)
            sc__printf(out, " --%s %u", free_names[i], c->value[i]);
    if (!s->fixed_recompute && c->recompute)
        sc__printf(out, " --recompute %s", recomputes[c->recompute]);
    if (!given_value(s, "zero"))
        sc__puts(out, " --zero 1");
    if (!given_value(s, "uneven-stages") && uneven(s, c))
        sc__puts(out, " --uneven-stages");
    if (!given_value(s, "sequence-parallel") && c->value[FREE_TP] > 1)
        sc__puts(out, " --sequence-parallel");
}

static void put_table(const struct search *s, uint32_t top, struct sc__buffer *out) {
    sc__printf(out,
               "%u plans for %u GPUs: %u fit, %u do not fit into memory, %u cannot be\n\n",
               s->count,
               s->gpus,
               count_of(s, PLAN_FITS),
               count_of(s, PLAN_TOO_LARGE),
               count_of(s, PLAN_REFUSED));
    for (int i = 0; i < FREE; i++)
        sc__printf(out, "%*s ", i == FREE_MICRO_BATCH ? 11 : 4, free_names[i]);
    sc__puts(out, "   dp  recompute      step      MFU   bubble  exposed     memory\n");
    for (uint32_t i = 0; i < top && s->items[i].outcome == PLAN_FITS; i++) {
        const struct candidate *c = &s->items[i];
        for (int k = 0; k < FREE; k++)
            sc__printf(out, "%*u ", k == FREE_MICRO_BATCH ? 11 : 4, c->value[k]);
        sc__printf(out,
                   "%5u  %-9s %9.4f s %6.1f %% %6.1f %% %6.1f %% %7.1f GB\n",
                   dp_of(s, c),
                   recompute_of(s, c),
                   (double)c->step * 1e-12,
                   100 * c->mfu,
                   100 * c->shares.bubble,
                   100 * c->shares.exposed,
                   c->memory / 1e9);
    }
    sc__puts(out, "\nthe best:\n  ");
    put_command(s, &s->items[0], out);
    sc__putc(out, '\n');
    const struct sc_context *ctx = s->req->ctx;
    for (uint32_t i = 0; i < ctx->note_count; i++)
        sc__printf(out, "%s  - %s\n", i ? "" : "\nnotes\n", ctx->notes[i].text);
}

static void
plans_put_plan(const struct search *s, const struct candidate *c, struct sc__json *j) {
    struct sc__buffer command;
    sc__buffer_init(&command, &s->req->ctx->arena);
    put_command(s, c, &command);
    sc__json_row(j, NULL);
    for (int k = 0; k < FREE; k++)
        sc__json_u64(j, free_keys[k], c->value[k]);
    sc__json_u64(j, "dp", dp_of(s, c));
    sc__json_string(j, "recompute", recompute_of(s, c));
    sc__json_us(j, "step_time_us", c->step);
    sc__json_double(j, "mfu", c->mfu);
    sc__json_double(j, "bubble_share", c->shares.bubble);
    sc__json_double(j, "exposed_share", c->shares.exposed);
    sc__json_double(j, "memory_bytes", c->memory);
    sc__json_string(j, "command", command.text);
    sc__json_end_object(j);
}

static void plans_put_json(const struct search *s, uint32_t top, struct sc__buffer *out) {
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/plans/1");
    sc__json_u64(&j, "tried", s->count);
    sc__json_u64(&j, "fit", count_of(s, PLAN_FITS));
    sc__json_u64(&j, "too_large", count_of(s, PLAN_TOO_LARGE));
    sc__json_notes(&j, s->req->ctx);
    sc__json_array(&j, "plans");
    for (uint32_t i = 0; i < top && s->items[i].outcome == PLAN_FITS; i++)
        plans_put_plan(s, &s->items[i], &j);
    sc__json_end_array(&j);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}

static sc_status nothing_fits(const struct search *s) {
    uint32_t large = count_of(s, PLAN_TOO_LARGE);
    if (large)
        return sc__fail(s->req->ctx,
                        SC_NO,
                        NULL,
                        "more GPUs, or a smaller batch; --zero 3 shards the weights",
                        "none of %u plans fits into memory",
                        large);
    return sc__usage(s->req,
                     "a global batch that more splits divide, or fewer options fixed",
                     "no plan can be made for %u GPUs%s%s",
                     s->gpus,
                     s->count ? ": " : "",
                     s->count ? s->items[0].why : "");
}

static sc_status plans_execute(struct sc_request *req) {
    struct search s = {.req = req};
    const char *json = sc__option(req, "json");
    struct sc__settings settings = sc__settings(req);
    struct sc__buffer b;
    uint32_t top = 10;
    if (req->input_count)
        return sc__usage(req, "--model NAME", "plans takes a model, not a file");
    SC__TRY(sc__setting_u32(&settings, "top", 1, &top));
    keep_given(&s);
    SC__TRY(prepare(&s));
    sc__note(req->ctx,
             "plans-assume",
             "every plan shards the optimizer (--zero 1) and, with tensor parallel, the "
             "sequence, "
             "unless told otherwise");
    sc__parallel(req->ctx->jobs, s.count, try_candidate, &s);
    if (s.count)
        qsort(s.items, s.count, sizeof *s.items, faster);
    if (!count_of(&s, PLAN_FITS))
        return nothing_fits(&s);
    sc__job_note_unused(req);
    if (top > s.count)
        top = s.count;
    if (!json || strcmp(json, "-"))
        put_table(&s, top, &req->out);
    if (!json)
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    plans_put_json(&s, top, &b);
    return sc__job_output(req, "json", &b);
}

static const struct sc__option options[] = {
    {"top", 0, "N", "10", "Output", "how many plans to show", 0},
    {"json", 0, "FILE", NULL, "Output", "the plans as JSON; - for standard output", 0},
    {0}};

static const struct sc__option *const tables[] = {
    sc__job_options, sc__cluster_options, sc__model_options, options, NULL};

const struct sc__command sc__command_plans = {
    .name = "plans",
    .args = "--model M --gpus N --global-batch N …",
    .summary = "try every parallel plan of a model and show the fastest",
    .text = "Takes the options of 'run --model'. What they leave open is tried: tensor "
            "parallel "
            "within a node, pipeline\n"
            "stages and virtual stages, context and expert parallel, micro-batch sizes, "
            "and the "
            "least recomputation that\n"
            "fits into memory. Every plan is simulated as 'run' does.",
    .options = tables,
    .execute = plans_execute,
};
