/* explain: what the software's profile set, and the step without each of it. The
 * same model, plan and cluster are evaluated once more for every entry of the
 * profile that decided something, with that entry left out: what the profile is
 * like, or what is usual, holds then; and once with what is usual alone. */
#include "evaluate/evaluate.h"

#include <string.h>

/* The last constant of its name that holds, and not the value that all profiles
 * fall back on. */
static bool constant_counts(const struct sc__evaluation *ev, uint32_t i) {
    const struct sc__software *s = ev->plan.software;
    const struct sc__software_entry *e = &s->entries[i];
    bool has_fallback = false;
    for (uint32_t k = 0; k < i; k++)
        has_fallback |= s->entries[k].is_constant && !strcmp(s->entries[k].name, e->name);
    return e->is_constant && has_fallback && ev->plan.software_used[i];
}

struct trial {
    struct sc_context *ctx;
    const struct sc__evaluation *ev;
    const struct sc__model *model;
    const sc_plan *plan;
    uint32_t without;
    int64_t step;
};

static sc_status explain_once(void *self) {
    struct trial *t = self;
    struct sc__evaluation *again = SC__NEW(&t->ctx->arena, struct sc__evaluation);
    struct sc__evaluation_input in = t->ev->in;
    in.options = t->ev->given_options;
    in.plan_options = NULL;
    in.engine.ctx = t->ctx;
    in.without = t->without == SC__SOFTWARE_ALL ? 0 : t->without + 1;
    SC__TRY(sc__evaluation_model(t->ctx, &in, t->model, t->plan, again));
    SC__TRY(sc__evaluation_run(t->ctx, again, false));
    t->step = again->result.step;
    sc__result_free(&again->result);
    return SC_OK;
}

static int64_t step_without(struct sc_context *ctx, struct trial *t) {
    struct sc_context own;
    sc__context_init(&own, ctx);
    t->ctx = &own;
    t->step = -1;
    sc__guarded(&own, explain_once, t);
    sc__context_end(&own);
    return t->step;
}

/* The step with the profile that all others fall back on. */
static int64_t
usual_step(struct sc_context *ctx, const struct trial *asked, const char *usual) {
    sc_plan plan = *asked->plan;
    struct trial t = *asked;
    plan.software = usual;
    t.plan = &plan;
    t.without = SC__SOFTWARE_ALL;
    return step_without(ctx, &t);
}

sc_status sc__evaluation_explain(struct sc_context *ctx,
                                 struct sc__evaluation *ev,
                                 const struct sc__model *model,
                                 const sc_plan *plan) {
    struct sc__arena *arena = &ev->result.arena;
    const struct sc__software *s = ev->plan.software;
    struct sc__software_costs *table = SC__NEW(arena, struct sc__software_costs);
    struct trial all = {.ev = ev, .model = model, .plan = plan};
    *table = (struct sc__software_costs){.name = sc__strdup(arena, s->name),
                                         .title = sc__strdup(arena, s->title),
                                         .source = sc__strdup(arena, s->source),
                                         .usual = sc__software_root()};
    table->usual_step = usual_step(ctx, &all, table->usual);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__software_entry *e = &s->entries[i];
        struct trial t = {.ev = ev, .model = model, .plan = plan, .without = i};
        if (e->is_constant ? !constant_counts(ev, i) : !ev->plan.software_used[i])
            continue;
        SC__TRY(sc__progress(ctx, "explaining", (double)i / s->count));
        *SC__PUSH(arena, table->rows, table->count, table->capacity) =
            (struct sc__software_cost){.name = sc__strdup(arena, e->name),
                                       .value = e->is_constant
                                                    ? sc__format(arena, "%g", e->number)
                                                    : sc__strdup(arena, e->text),
                                       .profile = sc__strdup(arena, e->profile),
                                       .why = sc__strdup(arena, e->why),
                                       .without = step_without(ctx, &t),
                                       .is_constant = e->is_constant};
    }
    ev->result.software = table;
    return SC_OK;
}
