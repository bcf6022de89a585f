/* plans: which parallel plan is the fastest?
 *
 *   options of run --model  → what is fixed
 *   all that is not         → candidates: every split of the GPUs, micro-batch,
 *                             virtual stages
 *   each candidate          → evaluated as `run` would, in a context of its own;
 *                             all share the model and the cluster
 *   those that fit          → a table, fastest first, and the command of the best
 *
 * Recomputation is the least that fits: more of it is never faster. */
#include "base/parallel.h"
#include "command/job.h"
#include "lower/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FREE_TP, FREE_PP, FREE_CP, FREE_EP, FREE_VPP, FREE_MICRO_BATCH, FREE };

/* What is searched: option, key in JSON, field. */
static const struct {
    const char *name;
    const char *key;
    size_t offset;
} free_fields[FREE] = {
    {"tp", "tp", offsetof(sc_plan, tp)},
    {"pp", "pp", offsetof(sc_plan, pp)},
    {"cp", "cp", offsetof(sc_plan, cp)},
    {"ep", "ep", offsetof(sc_plan, ep)},
    {"vpp", "vpp", offsetof(sc_plan, vpp)},
    {"micro-batch", "micro_batch", offsetof(sc_plan, micro_batch)},
};
static const sc_recompute recomputes[] = {
    SC_RECOMPUTE_NONE, SC_RECOMPUTE_SELECTIVE, SC_RECOMPUTE_FULL};
enum { RECOMPUTES = 3, MOST_VALUES = 32, MOST_CANDIDATES = 100000 };

/* What came of a candidate. */
enum { PLAN_REFUSED, PLAN_TOO_LARGE, PLAN_FITS };

struct candidate {
    sc_plan plan;
    int outcome;
    char why[200]; /* it was refused */
    int64_t step;
    double mfu;
    double memory; /* bytes of the fullest stage */
    struct sc__step_shares shares;
};

struct search {
    struct sc_request *req;
    struct sc__setting_list given;          /* the request's options, for all threads */
    struct sc__job job;                     /* model, plan and options as given */
    struct sc__cluster_description cluster; /* of the size searched for */
    uint32_t node_gpus;
    uint32_t gpus;
    struct candidate *items;
    uint32_t count;
    uint32_t capacity;
};

static uint32_t *free_value(sc_plan *p, int which) {
    return (uint32_t *)((char *)p + free_fields[which].offset);
}

static uint32_t value_of(const struct candidate *c, int which) {
    return *free_value((sc_plan *)&c->plan, which);
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

struct candidate_trial {
    struct sc_context *ctx;
    const struct search *search;
    struct candidate *candidate;
};

static sc_status evaluate_candidate(void *self) {
    const struct candidate_trial *trial = self;
    struct sc_context *ctx = trial->ctx;
    const struct search *s = trial->search;
    struct candidate *c = trial->candidate;
    struct sc__evaluation *ev = SC__NEW(&ctx->arena, struct sc__evaluation);
    const struct sc__evaluation_input in = {
        .cluster = &s->cluster,
        .options = &s->job.options,
        .engine = sc__settings_of(ctx, &s->given),
    };
    SC__TRY(sc__evaluation_model(ctx, &in, s->job.model, &c->plan, ev));
    SC__TRY(sc__evaluation_run(ctx, ev, false));
    c->step = ev->result.step;
    c->mfu = ev->result.mfu;
    c->memory = memory_of(s->job.model, &ev->plan);
    c->shares = sc__result_step_shares(&ev->result);
    sc__result_free(&ev->result);
    return SC_OK;
}

static sc_status try_once(const struct search *s, struct candidate *c) {
    sc_context *ctx = sc_open();
    if (!ctx)
        return SC_SYSTEM;
    ctx->engines = s->req->owner->engines;
    sc_status status =
        sc__guarded(ctx, evaluate_candidate, &(struct candidate_trial){ctx, s, c});
    snprintf(c->why, sizeof c->why, "%s", sc_error_message(ctx));
    sc_close(ctx);
    return status;
}

static void try_candidate(void *self, uint32_t i) {
    struct search *s = self;
    struct candidate *c = &s->items[i];
    bool fixed = s->job.plan.recompute != SC_RECOMPUTE_AUTO;
    for (unsigned k = 0; k < RECOMPUTES; k++) {
        if (!fixed)
            c->plan.recompute = recomputes[k];
        sc_status status = try_once(s, c);
        c->outcome = status == SC_OK       ? PLAN_FITS
                     : status == SC_NO_FIT ? PLAN_TOO_LARGE
                                           : PLAN_REFUSED;
        if (c->outcome != PLAN_TOO_LARGE || fixed)
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
                    const struct sc__plan *base,
                    int which,
                    uint32_t pp,
                    struct range *r) {
    const struct sc__model *m = s->job.model;
    sc_plan given = s->job.plan;
    if (*free_value(&given, which))
        add_value(r, *free_value(&given, which));
    else if (which == FREE_TP)
        powers(r, 1, s->node_gpus);
    else if (which == FREE_PP)
        parts(r, m->layers, 64);
    else if (which == FREE_CP)
        powers(r, 1, base->seq / 4096 ? base->seq / 4096 : 1);
    else if (which == FREE_EP)
        powers(r, 1, m->experts ? m->experts : 1);
    else if (which == FREE_VPP)
        parts(r, pp > 1 ? m->layers / pp : 1, 12);
    else
        powers(r, 1, 8);
}

static bool can_be(const struct search *s, const struct sc__plan *base, const sc_plan *p) {
    const struct sc__model *m = s->job.model;
    uint64_t cut = (uint64_t)p->tp * p->pp * p->cp;
    if (s->gpus % cut || m->heads % p->tp)
        return false;
    uint64_t dp = s->gpus / cut;
    return base->global_batch % (dp * p->micro_batch) == 0 &&
           (m->experts ? m->experts : 1) % p->ep == 0;
}

static bool uneven(const struct search *s, const sc_plan *p) {
    return s->job.model->layers % (p->pp * p->vpp) != 0;
}

/* What a search takes for granted where nobody says otherwise. */
static void add_candidate(struct search *s, const sc_plan *p) {
    struct candidate *c = SC__PUSH(&s->req->ctx->arena, s->items, s->count, s->capacity);
    *c = (struct candidate){.plan = *p, .outcome = PLAN_REFUSED};
    c->plan.gpus = s->gpus;
    if (p->zero < 0)
        c->plan.zero = 1;
    if (p->sequence_parallel == SC_AUTO && p->tp > 1)
        c->plan.sequence_parallel = SC_ON;
    if (p->uneven_stages == SC_AUTO && uneven(s, p))
        c->plan.uneven_stages = SC_ON;
}

static sc_status
enumerate(struct search *s, const struct sc__plan *base, int which, sc_plan *p) {
    struct range r = {.count = 0};
    if (which == FREE) {
        if (!can_be(s, base, p))
            return SC_OK;
        if (s->count == MOST_CANDIDATES)
            return sc__usage(s->req,
                             "fix --tp, --pp, --vpp or --micro-batch",
                             "there are over %d plans to try",
                             MOST_CANDIDATES);
        add_candidate(s, p);
        return SC_OK;
    }
    choices(s, base, which, p->pp, &r);
    for (uint32_t i = 0; i < r.count; i++) {
        *free_value(p, which) = r.value[i];
        SC__TRY(enumerate(s, base, which + 1, p));
    }
    *free_value(p, which) = *free_value(&s->job.plan, which);
    return SC_OK;
}

/* ---- what is given ---- */

static void keep_given(struct search *s) {
    const struct sc_request *req = s->req;
    sc_setting *list = SC__NEW_ARRAY(&req->ctx->arena, sc_setting, req->value_count + 1);
    for (uint32_t i = 0; i < req->value_count; i++) {
        const char *text = req->values[i].text;
        list[i] = (sc_setting){req->values[i].option->name, text ? text : ""};
    }
    s->given = (struct sc__setting_list){list, req->value_count};
}

/* The cluster, once for all candidates. */
static sc_status prepare_cluster(struct search *s) {
    struct sc_context *ctx = s->req->ctx;
    const char *text = sc__option(s->req, "cluster");
    struct sc__cluster tuned;
    struct sc__evaluation_input in = {.cluster = text ? &s->cluster : NULL,
                                      .options = &s->job.options,
                                      .engine = sc__settings_of(ctx, &s->given)};
    SC__TRY(sc__evaluation_cluster(ctx, &in, s->gpus, &tuned));
    s->node_gpus = tuned.node_gpus;
    if (!text)
        SC__TRY(sc__cluster_describe(ctx, "dgx-h100", &s->cluster));
    struct sc__cluster sized;
    SC__TRY(sc__cluster_sized(ctx, &s->cluster, s->gpus, &sized));
    s->cluster.cluster = sized;
    s->cluster.sized = true;
    return SC_OK;
}

static sc_status prepare(struct search *s) {
    struct sc_request *req = s->req;
    const char *cluster = sc__option(req, "cluster");
    struct sc__plan base;
    bool given;
    s->job.settings = sc__settings(req);
    if (cluster)
        SC__TRY(sc__cluster_describe(req->ctx, cluster, &s->cluster));
    s->job.cluster_given = s->cluster;
    SC__TRY(sc__job_model(req, &s->job, &given));
    if (!given)
        return sc__usage(req,
                         "--model NAME, or Megatron's flags",
                         "plans are searched for a model");
    if (!s->job.plan.global_batch)
        return sc__usage(req,
                         "--global-batch N: the sequences of a step",
                         "the batch decides which plan is best");
    SC__TRY(sc__options_read(&s->job.settings, &s->job.options));
    s->gpus = s->cluster.sized ? s->cluster.cluster.gpus : 0;
    if (s->job.plan.gpus)
        s->gpus = s->job.plan.gpus;
    if (!s->gpus)
        return sc__usage(req, "--gpus N", "the number of GPUs is not known");
    const struct sc__plan_surroundings around = {
        .gpus = s->gpus,
        .gpu = cluster ? s->cluster.cluster.gpu : NULL,
    };
    SC__TRY(sc__plan_resolve(req->ctx, &s->job.plan, s->job.model, &around, &base));
    SC__TRY(prepare_cluster(s));
    sc_plan start = s->job.plan;
    return enumerate(s, &base, 0, &start);
}

/* ---- what comes out ---- */

static int faster(const void *a, const void *b) {
    const struct candidate *x = a;
    const struct candidate *y = b;
    if ((x->outcome == PLAN_FITS) != (y->outcome == PLAN_FITS))
        return x->outcome == PLAN_FITS ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    for (int i = 0; i < FREE; i++) { /* one order, whatever the threads did */
        uint32_t p = value_of(x, i);
        uint32_t q = value_of(y, i);
        if (p != q)
            return memcmp(&p, &q, sizeof p);
    }
    return 0;
}

static uint32_t count_of(const struct search *s, int outcome) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->count; i++)
        n += s->items[i].outcome == outcome;
    return n;
}

static uint32_t dp_of(const struct search *s, const struct candidate *c) {
    return s->gpus / (c->plan.tp * c->plan.pp * c->plan.cp);
}

static const char *recompute_of(const struct candidate *c) {
    const struct sc__choice *x = sc__option_find(sc__model_options, "recompute")->choices;
    while (x->value != (int)c->plan.recompute)
        x++;
    return x->name;
}

/* Options of the search itself, not of the plan. */
static bool is_search_option(const char *name) {
    return !strcmp(name, "top") || !strcmp(name, "json") || !strcmp(name, "jobs");
}

static void
put_command(const struct search *s, const struct candidate *c, struct sc__buffer *out) {
    sc_plan given = s->job.plan;
    sc__puts(out, "stepcast run");
    for (size_t i = 0; i < s->given.count; i++) {
        const sc_setting *g = &s->given.items[i];
        if (is_search_option(g->name))
            continue;
        bool quote = strchr(g->value, ' ') != NULL;
        sc__printf(out,
                   " --%s%s%s%s%s",
                   g->name,
                   *g->value ? " " : "",
                   quote ? "'" : "",
                   g->value,
                   quote ? "'" : "");
    }
    for (int i = 0; i < FREE; i++)
        if (!*free_value(&given, i) && value_of(c, i) > 1)
            sc__printf(out, " --%s %u", free_fields[i].name, value_of(c, i));
    if (!given.recompute && c->plan.recompute != SC_RECOMPUTE_NONE)
        sc__printf(out, " --recompute %s", recompute_of(c));
    if (given.zero < 0)
        sc__puts(out, " --zero 1");
    if (given.uneven_stages != c->plan.uneven_stages)
        sc__puts(out, " --uneven-stages");
    if (given.sequence_parallel != c->plan.sequence_parallel)
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
        sc__printf(out, "%*s ", i == FREE_MICRO_BATCH ? 11 : 4, free_fields[i].name);
    sc__puts(out, "   dp  recompute      step      MFU   bubble  exposed     memory\n");
    for (uint32_t i = 0; i < top && s->items[i].outcome == PLAN_FITS; i++) {
        const struct candidate *c = &s->items[i];
        for (int k = 0; k < FREE; k++)
            sc__printf(out, "%*u ", k == FREE_MICRO_BATCH ? 11 : 4, value_of(c, k));
        sc__printf(out,
                   "%5u  %-9s %9.4f s %6.1f %% %6.1f %% %6.1f %% %7.1f GB\n",
                   dp_of(s, c),
                   recompute_of(c),
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
        sc__json_u64(j, free_fields[k].key, value_of(c, k));
    sc__json_u64(j, "dp", dp_of(s, c));
    sc__json_string(j, "recompute", recompute_of(c));
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
                        SC_NO_FIT,
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
    SC__TRY(sc__parallel(req->ctx, "trying plans", s.count, try_candidate, &s));
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
