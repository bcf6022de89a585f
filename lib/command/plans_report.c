/* plans_report: what a search found, for people and for programs. */
#include "command/plans.h"

#include <string.h>

#define GIB ((double)(1u << 30)) /* as run has memory */

/* Options of the search itself, not of the plan. */
static bool is_search_option(const char *name) {
    static const char *const names[] = {"top",
                                        "json",
                                        "jobs",
                                        "max-memory",
                                        "try",
                                        "memory-margin",
                                        "pareto",
                                        "exhaustive",
                                        "objective",
                                        "sizes",
                                        "price",
                                        "train-tokens",
                                        "days",
                                        "failures",
                                        "recovery",
                                        "write-launch",
                                        "html"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

void sc__plans_put_option(void *self, const char *name, const char *text) {
    struct sc__buffer *out = self;
    const char *quote = strpbrk(text, " ;'\"$&|<>()*?") ? "'" : "";
    sc__printf(out, " --%s%s%s%s%s", name, *text ? " " : "", quote, text, quote);
}

/* Several machines were looked at: a plan says which is its own. */
static bool has_machines(const struct sc__plans *x) {
    return x->search.machine_count > 1 || x->days > 0 || sc__option(x->req, "sizes");
}

static bool is_machine_option(const char *name) {
    return !strcmp(name, "cluster") || !strcmp(name, "gpus") || !strcmp(name, "nodes");
}

/* The command that runs a plan. */
static void plans_put_command(const struct sc__plans *x,
                              const struct sc__search_plan *p,
                              struct sc__buffer *out) {
    sc__puts(out, "stepcast run");
    const struct sc__search_machine *m = &x->search.machines[p->machine];
    for (size_t i = 0; i < x->given.count; i++) {
        const char *name = x->given.items[i].name;
        if (!is_search_option(name) && !(has_machines(x) && is_machine_option(name)))
            sc__plans_put_option(out, name, x->given.items[i].value);
    }
    if (has_machines(x) && m->cluster)
        sc__plans_put_option(out, "cluster", m->cluster);
    if (has_machines(x))
        sc__printf(out, " --gpus %u", m->gpus);
    if (x->batch_assumed) /* run assumes another one, that of its replicas */
        sc__printf(out, " --global-batch %u", x->search.given.global_batch);
    sc__space_settings(x->req->ctx, &x->search, p, sc__plans_put_option, out);
}

static const char *
label_of(const struct sc__search *s, const struct sc__search_plan *p, int axis) {
    return s->axes[axis].values[p->choice[axis]].label;
}

/* The recomputation in a word: as given where the user says it. */
static const char *recompute_of(const struct sc__search *s,
                                const struct sc__search_plan *p) {
    const char *label = label_of(s, p, SC__CHOICE_RECOMPUTE);
    if (*label)
        return label;
    const struct sc__choice *c = sc__option_find(sc__model_options, "recompute")->choices;
    while (c->name && c->value != (int)s->given.recompute)
        c++;
    return c->name ? c->name : "none";
}

/* The choices that are searched and not the usual ones, in words. */
static void put_choices(const struct sc__search *s,
                        const struct sc__search_plan *p,
                        struct sc__buffer *out) {
    bool any = false;
    for (int axis = 0; axis < SC__CHOICE_RECOMPUTE; axis++) {
        if (!p->choice[axis])
            continue;
        sc__printf(out, "%s%s", any ? ", " : "", label_of(s, p, axis));
        any = true;
    }
}

static const struct sc__search_machine *machine_of(const struct sc__search *s,
                                                   const struct sc__search_plan *p) {
    return &s->machines[p->machine];
}

/* ---- text ---- */

static void put_counts(const struct sc__search *s, struct sc__buffer *out) {
    sc__printf(out, "%u plans for ", s->tried);
    if (s->machine_count > 1)
        sc__printf(out, "%u machines", s->machine_count);
    else
        sc__printf(out, "%u GPUs", s->machines[0].gpus);
    sc__puts(out, ": ");
    if (s->unseen)
        sc__printf(out, "%u cannot be the best, ", s->unseen);
    sc__printf(out,
               "%u fit with %g %% of the memory free, %u do not, %u cannot be; %u "
               "simulated",
               s->fit,
               100 * s->memory_margin,
               s->too_large,
               s->refused,
               s->evaluated);
    if (s->in_part)
        sc__printf(out, " (%u in part)", s->in_part);
    sc__puts(out, "\n\n");
}

/* US dollars for a billion tokens. */
static double usd_per_billion(const struct sc__search *s, const struct sc__search_plan *p) {
    double tokens = (double)s->given.global_batch * s->seq;
    return sc__search_usd(s, p) / tokens * 1e9;
}

static double kwh_per_billion(const struct sc__search *s, const struct sc__search_plan *p) {
    double tokens = (double)s->given.global_batch * s->seq;
    return sc__search_joule(s, p) / tokens * 1e9 / 3.6e6;
}

bool sc__plans_has_costs(const struct sc__plans *x) {
    return has_machines(x) || x->search.objective != SC__SEARCH_FASTEST ||
           x->search.pareto || sc__option(x->req, "price") || x->tokens > 0;
}

/* Names of modules are longer than those of the usual recomputations. */
static int recompute_width(const struct sc__search *s) {
    return s->tries & SC__TRY_RECOMPUTE ? 24 : 9;
}

static void put_head(const struct sc__plans *x, struct sc__buffer *out) {
    const struct sc__search *s = &x->search;
    if (has_machines(x))
        sc__printf(out, "%-20s %6s ", "cluster", "GPUs");
    for (int i = 0; i < SC__NUMBERS; i++)
        if (i != SC__NUMBER_ETP)
            sc__printf(out,
                       "%*s ",
                       i == SC__NUMBER_MICRO_BATCH ? 11 : 4,
                       sc__space_number_name(i));
    sc__printf(out,
               "   dp  %-*s      step      MFU   bubble  exposed     memory  capacity",
               recompute_width(s),
               "recompute");
    if (s->objective == SC__SEARCH_GOODPUT)
        sc__puts(out, "    ETTR");
    if (sc__plans_has_costs(x))
        sc__puts(out, "    $/Gtok  kWh/Gtok");
    if (x->tokens > 0)
        sc__puts(out, "     days         $");
    sc__puts(out, s->tries ? "  with\n" : "\n");
}

static void put_money(const struct sc__plans *x, double usd, struct sc__buffer *out) {
    struct sc__buffer text;
    sc__buffer_init(&text, &x->req->ctx->arena);
    if (usd > 0)
        sc__put_count(&text, usd);
    sc__printf(out, " %9s", usd > 0 ? text.text : "unknown");
}

/* What was chosen on the axes of --try. */
static void put_searched(const struct sc__plans *x,
                         const struct sc__search_plan *p,
                         struct sc__buffer *out) {
    uint32_t etp = p->number[SC__NUMBER_ETP];
    struct sc__buffer text;
    sc__buffer_init(&text, &x->req->ctx->arena);
    put_choices(&x->search, p, &text);
    sc__puts(out, "  ");
    if (etp)
        sc__printf(out, "etp %u%s", etp, text.size ? ", " : "");
    sc__puts(out, text.size ? text.text : "");
}

static void put_row(const struct sc__plans *x,
                    const struct sc__search_plan *p,
                    struct sc__buffer *out) {
    const struct sc__search *s = &x->search;
    if (has_machines(x))
        sc__printf(out, "%-20.20s %6u ", machine_of(s, p)->name, machine_of(s, p)->gpus);
    for (int i = 0; i < SC__NUMBERS; i++)
        if (i != SC__NUMBER_ETP)
            sc__printf(out, "%*u ", i == SC__NUMBER_MICRO_BATCH ? 11 : 4, p->number[i]);
    sc__printf(out,
               "%5u  %-*s %9.4f s %6.1f %% %6.1f %% %6.1f %% %6.1f GiB %7.1f %%",
               sc__search_dp(s, p),
               recompute_width(s),
               recompute_of(s, p),
               (double)p->step * 1e-12,
               100 * p->mfu,
               100 * p->shares.bubble,
               100 * p->shares.exposed,
               p->memory / GIB,
               100 * p->memory / machine_of(s, p)->capacity);
    if (p->ettr > 0)
        sc__printf(out, " %5.1f %%", 100 * p->ettr);
    if (sc__plans_has_costs(x)) {
        double usd = usd_per_billion(s, p);
        if (usd > 0)
            sc__printf(out, " %9.2f", usd);
        else
            sc__puts(out, "   unknown"); /* no --price, and none in the data */
        sc__printf(out, " %9.1f", kwh_per_billion(s, p));
    }
    if (x->tokens > 0) {
        sc__printf(out, " %8.2f", sc__plans_days(x, p));
        put_money(x, usd_per_billion(s, p) * x->tokens / 1e9, out);
    }
    if (s->tries)
        put_searched(x, p, out);
    sc__putc(out, '\n');
}

/* etp is tp where it is not said. */
static uint32_t number_of(const struct sc__search_plan *p, int which) {
    bool as_tp = which == SC__NUMBER_ETP && !p->number[which];
    return p->number[as_tp ? SC__NUMBER_TP : which];
}

/* Whether a number is another one; etp that neither says goes with tp. */
static bool number_differs(const struct sc__search_plan *a,
                           const struct sc__search_plan *b,
                           int which) {
    bool said = which != SC__NUMBER_ETP || a->number[which] || b->number[which];
    return said && number_of(a, which) != number_of(b, which);
}

/* "pp 8 instead of 4, recompute full instead of none". */
static void put_changes(const struct sc__search *s,
                        const struct sc__search_plan *from,
                        const struct sc__search_plan *to,
                        struct sc__buffer *out) {
    bool any = from->machine != to->machine;
    if (any)
        sc__printf(out, "%u GPUs of %s", machine_of(s, to)->gpus, machine_of(s, to)->name);
    for (int i = 0; i < SC__NUMBERS; i++) {
        if (!number_differs(from, to, i))
            continue;
        sc__printf(out,
                   "%s%s %u instead of %u",
                   any ? ", " : "",
                   sc__space_number_name(i),
                   number_of(to, i),
                   number_of(from, i));
        any = true;
    }
    for (int axis = 0; axis < SC__CHOICES; axis++) {
        const char *before = label_of(s, from, axis);
        const char *now = label_of(s, to, axis);
        if (from->choice[axis] == to->choice[axis])
            continue;
        sc__printf(out,
                   "%s%s%s instead of %s",
                   any ? ", " : "",
                   axis == SC__CHOICE_RECOMPUTE ? "recompute " : "",
                   *now ? now : "the usual",
                   *before ? before : "the usual");
        any = true;
    }
}

static void put_next(const struct sc__search *s, struct sc__buffer *out) {
    if (s->best_count < 2)
        return;
    const struct sc__search_plan *a = &s->plans[s->best[0]];
    const struct sc__search_plan *b = &s->plans[s->best[1]];
    sc__puts(out, "\nthe next best family: ");
    put_changes(s, a, b, out);
    sc__printf(out,
               "; the step changes by %+.2f %%, memory by %+.1f GiB\n",
               100 * ((double)b->step / (double)a->step - 1),
               (b->memory - a->memory) / GIB);
}

static void put_front(const struct sc__plans *x, struct sc__buffer *out) {
    const struct sc__search *s = &x->search;
    if (!s->front_count)
        return;
    sc__puts(out, "\nnot beaten in time, memory, cost and energy by any other:\n");
    put_head(x, out);
    for (uint32_t i = 0; i < s->front_count; i++)
        put_row(x, &s->plans[s->front[i]], out);
}

/* The best plan of a machine that the best families leave out. */
static struct sc__plans other_machine(const struct sc__plans *x, uint32_t i) {
    struct sc__plans other = *x;
    other.search = x->others[i];
    return other;
}

static void put_others(const struct sc__plans *x, struct sc__buffer *out) {
    for (uint32_t i = 0; i < x->other_count; i++) {
        const struct sc__plans other = other_machine(x, i);
        const struct sc__search_plan *p = &other.search.plans[other.search.best[0]];
        const struct sc__search_plan *best = &x->search.plans[x->search.best[0]];
        if (i == 0)
            sc__puts(out, "\nthe best of the other machines:\n");
        put_row(&other, p, out);
        sc__printf(out,
                   "  its step takes %.2f times as long as the best\n",
                   (double)p->step / (double)best->step);
    }
}

void sc__plans_put_text(const struct sc__plans *x, struct sc__buffer *out) {
    const struct sc__search *s = &x->search;
    const struct sc_context *ctx = x->req->ctx;
    put_counts(s, out);
    put_head(x, out);
    for (uint32_t i = 0; i < s->best_count; i++)
        put_row(x, &s->plans[s->best[i]], out);
    put_others(x, out);
    put_front(x, out);
    sc__puts(out, "\nthe best:\n  ");
    plans_put_command(x, &s->plans[s->best[0]], out);
    sc__putc(out, '\n');
    put_next(s, out);
    for (uint32_t i = 0; i < ctx->note_count; i++)
        sc__printf(out, "%s  - %s\n", i ? "" : "\nnotes\n", ctx->notes[i].text);
}

/* ---- JSON ---- */

static void plans_put_plan(const struct sc__plans *x,
                           const struct sc__search_plan *p,
                           struct sc__json *j) {
    const struct sc__search *s = &x->search;
    struct sc__buffer text;
    sc__buffer_init(&text, &x->req->ctx->arena);
    sc__json_row(j, NULL);
    for (int k = 0; k < SC__NUMBERS; k++)
        if (k != SC__NUMBER_ETP || p->number[k])
            sc__json_u64(j, sc__space_number_key(k), p->number[k]);
    sc__json_u64(j, "dp", sc__search_dp(s, p));
    sc__json_string(j, "recompute", recompute_of(s, p));
    put_choices(s, p, &text);
    sc__json_string(j, "with", text.text ? text.text : "");
    sc__json_us(j, "step_time_us", p->step);
    sc__json_us(j, "bound_us", p->bound);
    sc__json_string(j, "cluster", machine_of(s, p)->name);
    sc__json_u64(j, "gpus", machine_of(s, p)->gpus);
    if (p->usd_per_hour > 0)
        sc__json_double(j, "usd_per_billion_tokens", usd_per_billion(s, p));
    if (p->watts > 0)
        sc__json_double(j, "kwh_per_billion_tokens", kwh_per_billion(s, p));
    if (x->tokens > 0)
        sc__json_double(j, "days", sc__plans_days(x, p));
    if (x->tokens > 0 && usd_per_billion(s, p) > 0)
        sc__json_double(j, "cost_usd", usd_per_billion(s, p) * x->tokens / 1e9);
    if (p->ettr > 0)
        sc__json_double(j, "ettr", p->ettr);
    sc__json_double(j, "mfu", p->mfu);
    sc__json_double(j, "bubble_share", p->shares.bubble);
    sc__json_double(j, "exposed_share", p->shares.exposed);
    sc__json_double(j, "memory_bytes", p->memory);
    sc__json_double(j, "capacity_bytes", machine_of(s, p)->capacity);
    sc__buffer_init(&text, &x->req->ctx->arena);
    plans_put_command(x, p, &text);
    sc__json_string(j, "command", text.text);
    sc__json_end_object(j);
}

static void put_list(const struct sc__plans *x,
                     const char *key,
                     const uint32_t *list,
                     uint32_t count,
                     struct sc__json *j) {
    sc__json_array(j, key);
    for (uint32_t i = 0; i < count; i++)
        plans_put_plan(x, &x->search.plans[list[i]], j);
    sc__json_end_array(j);
}

void sc__plans_put_json(const struct sc__plans *x, struct sc__buffer *out) {
    const struct sc__search *s = &x->search;
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/plans/1");
    sc__json_u64(&j, "tried", s->tried);
    sc__json_u64(&j, "fit", s->fit);
    sc__json_u64(&j, "too_large", s->too_large);
    sc__json_u64(&j, "refused", s->refused);
    sc__json_u64(&j, "simulated", s->evaluated);
    sc__json_u64(&j, "simulated_in_part", s->in_part);
    sc__json_double(&j, "memory_margin", s->memory_margin);
    sc__json_notes(&j, x->req->ctx);
    put_list(x, "plans", s->best, s->best_count, &j);
    if (x->other_count) {
        sc__json_array(&j, "other_machines");
        for (uint32_t i = 0; i < x->other_count; i++) {
            const struct sc__plans other = other_machine(x, i);
            plans_put_plan(&other, &other.search.plans[other.search.best[0]], &j);
        }
        sc__json_end_array(&j);
    }
    if (s->pareto)
        put_list(x, "front", s->front, s->front_count, &j);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}
