/* search: seeds in the order of their floors, plans in the order of their bounds.
 *
 * A round evaluates the plans of the lowest bounds, two of a family at most, once no
 * seed or plan that may have a lower one is left unseen or without a bound. What is left
 * out is decided between two rounds: so the same plans are evaluated, and the same bytes
 * come out, whatever the number of threads. */
#include "search/search.h"

#include <stdlib.h>

/* Plans that are evaluated, bounded and expanded at a time. */
enum { ROUND = 8, BOUNDS = 64, BATCH = 256 };

/* ---- machines ---- */

sc_status sc__search_machine(struct sc_context *ctx,
                             const sc_options *options,
                             const struct sc__setting_list *engine,
                             const char *cluster,
                             const char *gpu,
                             uint32_t gpus,
                             struct sc__search_machine *out) {
    struct sc__cluster tuned;
    struct sc__evaluation_input in = {.options = options,
                                      .engine = sc__settings_of(ctx, engine),
                                      .gpu = gpu};
    *out = (struct sc__search_machine){.cluster = cluster, .gpus = gpus};
    out->name = cluster ? cluster : sc__cluster_usual(ctx, gpu);
    if (cluster) {
        SC__TRY(sc__cluster_describe(ctx, cluster, &out->description));
        in.cluster = &out->description;
        if (!gpus && out->description.sized)
            out->gpus = out->description.cluster.gpus;
    }
    if (!out->gpus)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "--gpus N, or a number behind the cluster: dgx-h100:512",
                        "the number of GPUs is not known");
    SC__TRY(sc__evaluation_cluster(ctx, &in, out->gpus, &tuned));
    out->node_gpus = tuned.node_gpus;
    if (!cluster)
        SC__TRY(sc__cluster_describe(ctx, out->name, &out->description));
    struct sc__cluster sized;
    SC__TRY(sc__cluster_sized(ctx, &out->description, out->gpus, &sized));
    out->description.cluster = sized;
    out->description.sized = true;
    return SC_OK;
}

/* ---- order ---- */

struct seed_order {
    double floor;
    uint32_t seed;
};

static int lower_floor_first(const void *a, const void *b) {
    const struct seed_order *x = a;
    const struct seed_order *y = b;
    if (x->floor != y->floor)
        return x->floor < y->floor ? -1 : 1;
    return x->seed < y->seed ? -1 : 1;
}

/* Plans that wait to be evaluated: a heap, the lowest bound first. */
struct waiting {
    double bound;
    uint64_t serial;
    uint32_t plan;
};

struct progress {
    struct sc__search *s;
    struct sc__trials *trials;
    struct seed_order *order; /* of seeds */
    uint32_t at;              /* those before it were seen or cut */
    struct waiting *heap;
    uint32_t heap_count;
    uint32_t heap_room;
    uint32_t waiting_from; /* plans before it are in the heap, or were */
};

static bool waits_before(const struct waiting *a, const struct waiting *b) {
    return a->bound != b->bound ? a->bound < b->bound : a->serial < b->serial;
}

static void push_waiting(struct progress *x, struct waiting w) {
    *SC__PUSH(&x->s->ctx->arena, x->heap, x->heap_count, x->heap_room) = w;
    uint32_t i = x->heap_count - 1;
    for (; i > 0 && waits_before(&w, &x->heap[(i - 1) / 2]); i = (i - 1) / 2)
        x->heap[i] = x->heap[(i - 1) / 2];
    x->heap[i] = w;
}

static struct waiting pop_waiting(struct progress *x) {
    struct waiting first = x->heap[0];
    struct waiting last = x->heap[--x->heap_count];
    uint32_t i = 0;
    for (uint32_t child = 1; child < x->heap_count; child = 2 * i + 1) {
        if (child + 1 < x->heap_count && waits_before(&x->heap[child + 1], &x->heap[child]))
            child++;
        if (!waits_before(&x->heap[child], &last))
            break;
        x->heap[i] = x->heap[child];
        i = child;
    }
    if (x->heap_count)
        x->heap[i] = last;
    return first;
}

static void wait_for(struct progress *x, uint32_t plan) {
    struct sc__search *s = x->s;
    push_waiting(
        x,
        (struct waiting){sc__families_bound(s, plan), s->plans[plan].serial, plan});
}

static void order_seeds(struct progress *x) {
    struct sc__search *s = x->s;
    x->order = SC__NEW_ARRAY(&s->ctx->arena, struct seed_order, s->seed_count + 1);
    for (uint32_t i = 0; i < s->seed_count; i++)
        x->order[i] = (struct seed_order){sc__families_floor(s, i), i};
    qsort(x->order, s->seed_count, sizeof *x->order, lower_floor_first);
}

/* ---- rounds ---- */

/* The next seeds that may have a plan below `limit`; more only where none waits. */
static sc_status expand_below(struct progress *x, double limit, uint32_t *expanded) {
    struct sc__search *s = x->s;
    uint32_t batch[BATCH];
    uint32_t n = 0;
    for (; x->at < s->seed_count && n < BATCH; x->at++) {
        const struct seed_order *o = &x->order[x->at];
        if (o->floor > limit)
            break;
        if (sc__families_full(s, o->floor)) {
            s->unseen += s->seed_count - x->at;
            x->at = s->seed_count;
            break;
        }
        if (sc__families_cut_seed(s, o->seed))
            s->unseen++;
        else
            batch[n++] = o->seed;
    }
    *expanded = n;
    if (!n)
        return SC_OK;
    SC__TRY(sc__trials_expand(x->trials, batch, n, (double)x->at / (s->seed_count + 1.0)));
    for (; x->waiting_from < s->count; x->waiting_from++)
        wait_for(x, x->waiting_from);
    return SC_OK;
}

/* A family whose best so far says how long a simulation may take has two plans in a round,
 * so that several cores are used where few families are left; any other one. */
static bool family_is_full(const struct sc__search *s,
                           const struct waiting *chosen,
                           uint32_t n,
                           uint32_t plan) {
    uint32_t family = s->plans[plan].family;
    uint32_t most = s->families[family].best == SC__NONE ? 1 : 2;
    uint32_t there = 0;
    for (uint32_t i = 0; i < n; i++)
        there += s->plans[chosen[i].plan].family == family;
    return there >= most;
}

/* The lowest bounds, few of a family; those that can be left out are gone. Those that
 * have only a floor yet come out apart. */
struct choice {
    struct waiting plans[ROUND];
    uint32_t count;
    uint32_t unbounded[BOUNDS];
    uint32_t unbounded_count;
};

static void choose_plans(struct progress *x, struct choice *out) {
    struct sc__search *s = x->s;
    struct waiting aside[4 * ROUND];
    uint32_t asides = 0;
    out->count = 0;
    out->unbounded_count = 0;
    while (x->heap_count && out->count < ROUND && out->unbounded_count < BOUNDS &&
           asides < 4 * ROUND) {
        struct waiting w = pop_waiting(x);
        if (sc__families_cut_plan(s, w.plan))
            continue;
        if (!s->plans[w.plan].bounded)
            out->unbounded[out->unbounded_count++] = w.plan;
        else if (!s->exhaustive && family_is_full(s, out->plans, out->count, w.plan))
            aside[asides++] = w;
        else
            out->plans[out->count++] = w;
    }
    for (uint32_t i = 0; i < asides; i++)
        push_waiting(x, aside[i]);
}

/* Those that fit wait again. */
static sc_status bound_plans(struct progress *x, const uint32_t *plans, uint32_t count) {
    struct sc__search *s = x->s;
    SC__TRY(
        sc__trials_bound(x->trials, plans, count, (double)x->at / (s->seed_count + 1.0)));
    for (uint32_t i = 0; i < count; i++)
        if (s->plans[plans[i]].outcome == SC__PLAN_FITS)
            wait_for(x, plans[i]);
    return SC_OK;
}

static sc_status
evaluate_plans(struct progress *x, const struct waiting *chosen, uint32_t n) {
    struct sc__search *s = x->s;
    uint32_t plans[ROUND];
    int64_t limits[ROUND];
    for (uint32_t i = 0; i < n; i++) {
        plans[i] = chosen[i].plan;
        limits[i] = sc__families_limit(s, plans[i]);
    }
    double done = (double)x->at / (s->seed_count + 1.0);
    SC__TRY(sc__trials_evaluate(x->trials, plans, limits, n, done));
    for (uint32_t i = 0; i < n; i++)
        sc__families_take(s, plans[i]);
    return SC_OK;
}

static sc_status search_in_order(struct progress *x) {
    for (;;) {
        struct choice c;
        uint32_t expanded = 0;
        choose_plans(x, &c);
        double last = c.count ? c.plans[c.count - 1].bound : INFINITY;
        if (!c.unbounded_count)
            SC__TRY(expand_below(x, last, &expanded));
        if (!expanded && !c.count && !c.unbounded_count)
            break;
        if (!expanded && !c.unbounded_count) {
            SC__TRY(evaluate_plans(x, c.plans, c.count));
            continue;
        }
        for (uint32_t i = 0; i < c.count; i++)
            push_waiting(x, c.plans[i]);
        if (c.unbounded_count)
            SC__TRY(bound_plans(x, c.unbounded, c.unbounded_count));
    }
    sc__families_close(x->s);
    return SC_OK;
}

static sc_status search_all(struct sc__search *s, struct sc__trials *trials) {
    struct progress x = {.s = s, .trials = trials};
    SC__TRY(sc__trials_floors(trials));
    order_seeds(&x);
    SC__TRY(search_in_order(&x));
    s->tried = s->fit + s->too_large + s->refused + s->unseen;
    if (!s->best_count && s->seed_count)
        sc__trials_say_why(trials);
    return SC_OK;
}

const char *sc__search_gpu(const sc_plan *given, const struct sc__search_machine *m) {
    const char *gpu = m->description.cluster.gpu;
    return given->gpu ? given->gpu : gpu ? gpu : "h100";
}

static sc_status find_capacity(struct sc__search *s, struct sc__search_machine *m) {
    const struct sc__gpu *gpu;
    SC__TRY(sc__gpu_find(s->ctx, sc__search_gpu(&s->given, m), &gpu));
    m->capacity = gpu->memory;
    return SC_OK;
}

sc_status sc__search_run(struct sc__search *s) {
    SC__TRY(sc__space_make(s));
    for (uint32_t i = 0; i < s->machine_count; i++) {
        if (s->only && s->only != i + 1)
            continue;
        SC__TRY(find_capacity(s, &s->machines[i]));
        SC__TRY(sc__space_enumerate(s, i));
    }
    struct sc__trials *trials = sc__trials_begin(s);
    sc_status status = search_all(s, trials);
    sc_status ended = sc__trials_end(trials);
    return status == SC_OK ? ended : status;
}
