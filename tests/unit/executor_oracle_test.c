/* The executor against a slow simulator (executor_oracle.h) on random
 * workloads: what its shortcuts sum into one event, time once or remember
 * must be what comes out when every operation is looked at by itself. */
#include "test.h"

#include "executor_oracle.h"

static struct sc_context *ctx;

enum { EVENTS = 40, SEGMENTS = 4, STREAMS = 5 };

enum event_kind { ONE_COMPUTES, ONE_COLLECTS, SOME_COLLECT, TWO_TALK, ONE_WAITS };

/* What happens in a segment of the step, in an order that all agree on. */
struct happening {
    enum event_kind kind;
    /* classes */
    uint32_t a;
    uint32_t b;
    uint16_t group;
    uint8_t coll;
    uint8_t flags;
    uint64_t bytes;
    uint64_t seed;
    int64_t cost;
    uint32_t tag;
};

struct plan {
    uint64_t seed;
    struct sc__workload *w;
    uint32_t classes;
    uint32_t segments;
    uint32_t calls;
    struct happening happening[SEGMENTS][EVENTS];
    uint32_t happenings[SEGMENTS];
    uint32_t measured; /* set of groups, and of pairs, whose cost is given */
    bool per_rank;
    bool two_compute;
    bool one_tag;
    bool disorder;
    bool coarse;
};

static uint32_t pick(uint64_t *seed, uint32_t n) {
    return (uint32_t)(sc__random(seed) % n);
}
static bool chance(uint64_t *seed, uint32_t percent) {
    return pick(seed, 100) < percent;
}

/* ---- the job: classes that are stages, ranks, or halves of stages ---- */

static void
own_classes(struct plan *p, uint32_t classes, uint32_t (*class_of)(uint32_t rank)) {
    uint32_t ranks = sc__mesh_ranks(&p->w->mesh);
    p->classes = classes;
    p->per_rank = true;
    p->w->rank_class = SC__NEW_ARRAY(&ctx->arena, uint32_t, ranks);
    for (uint32_t r = 0; r < ranks; r++)
        p->w->rank_class[r] = class_of(r);
}

static uint32_t itself(uint32_t rank) {
    return rank;
}
static uint32_t half_of_stage(uint32_t rank) {
    return rank / 4 * 2 + rank % 2;
}

static void make_job(struct plan *p) {
    static const enum sc__group_kind kinds[] = {SC__GROUP_TP,
                                                SC__GROUP_DP,
                                                SC__GROUP_DP_CP,
                                                SC__GROUP_EP,
                                                SC__GROUP_PP,
                                                SC__GROUP_EMBEDDING,
                                                SC__GROUP_WORLD,
                                                SC__GROUP_CP};
    p->w = sc__workload_new(&ctx->arena, "random");
    switch (pick(&p->seed, 3)) {
    case 0:
        p->classes = 1 + pick(&p->seed, 4);
        p->w->mesh = sc__mesh(2, 1, 1, 2, p->classes, 0);
        break;
    case 1:
        p->w->mesh = sc__mesh(2, 1, 1, 2, 2, 0);
        own_classes(p, 8, itself);
        break;
    default:
        p->w->mesh = sc__mesh(1, 1, 2, 4, 2, 0);
        own_classes(p, 4, half_of_stage);
    }
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        sc__workload_group(p->w, kinds[i]);
    uint32_t listed[] = {0, 1};
    if (p->per_rank && p->classes == 8)
        sc__workload_group_list(p->w, "pair", listed, 2);
}

static uint32_t rank_of(const struct plan *p, uint32_t class) {
    uint32_t rank = 0;
    while (sc__workload_class_of(p->w, rank) != class)
        rank++;
    return rank;
}

static uint64_t members(const struct plan *p, uint32_t class, uint16_t group) {
    uint64_t set = 0;
    for (uint32_t i = 0; i < sc__group_size(p->w, group); i++)
        set |= (uint64_t)1 << sc__workload_class_of(
                   p->w,
                   sc__group_member(p->w, group, rank_of(p, class), i));
    return set;
}

/* ---- what happens ---- */

static int64_t duration(struct plan *p) {
    if (p->coarse)
        return 1000 * (int64_t)pick(&p->seed, 4); /* many things at the same time */
    return chance(&p->seed, 5) ? 0 : 1 + pick(&p->seed, 100000);
}

static struct happening random_collective(struct plan *p, struct happening h) {
    h.group = (uint16_t)pick(&p->seed, p->w->group_count);
    h.coll = (uint8_t)(h.group % SC__COLLS);
    if (chance(&p->seed, 25))
        h.cost = duration(p);
    h.flags = p->measured >> h.group & 1 ? SC__OP_MEASURED : 0;
    uint64_t set = members(p, h.a, h.group);
    h.kind = set & (set - 1) ? SOME_COLLECT : ONE_COLLECTS;
    if (!(set >> h.a & 1))
        h.kind = ONE_WAITS; /* a list it is not in */
    return h;
}

static struct happening random_happening(struct plan *p, uint32_t tag) {
    struct happening h = {.a = pick(&p->seed, p->classes),
                          .bytes = (uint64_t)duration(p),
                          .seed = sc__random(&p->seed)};
    uint32_t what = pick(&p->seed, 100);
    if (what < 45 || p->classes == 1) {
        h.kind = chance(&p->seed, 15) ? ONE_WAITS : ONE_COMPUTES;
        h.cost = duration(p);
        if (what < 20)
            h = random_collective(p, h);
        return h;
    }
    if (what < 75)
        return random_collective(p, h);
    h.kind = TWO_TALK;
    h.b = (h.a + (p->per_rank ? 1 + pick(&p->seed, p->classes - 1) : 1)) % p->classes;
    h.flags = (chance(&p->seed, 40) ? SC__OP_EAGER : 0) |
              (p->measured >> (h.a * 3 + h.b) % 16 & 1 ? SC__OP_MEASURED : 0);
    if (chance(&p->seed, 20) || h.flags & SC__OP_MEASURED)
        h.cost = duration(p);
    h.tag = p->one_tag ? 0 : tag;
    return h;
}

/* ---- what one class does of it ---- */

static uint8_t any_stream(const struct plan *p, uint64_t *seed, bool compute) {
    uint8_t main = p->w->compute_stream;
    return chance(seed, 60) || (compute && !p->two_compute) ? main
                                                            : (uint8_t)pick(seed, STREAMS);
}

static void add_op(struct plan *p, const struct happening *h, uint32_t class) {
    uint64_t seed = h->seed ^ class;
    enum sc__op_kind kind = h->kind == ONE_COMPUTES ? SC__OP_COMPUTE
                            : h->kind == ONE_WAITS  ? SC__OP_WAIT
                            : h->kind != TWO_TALK   ? SC__OP_COLLECTIVE
                            : class == h->a         ? SC__OP_SEND
                                                    : SC__OP_RECV;
    uint8_t stream = any_stream(p, &seed, kind == SC__OP_COMPUTE);
    if (h->kind == TWO_TALK && p->one_tag)
        stream = (uint8_t)((h->a * 3 + h->b) % STREAMS); /* one order */
    struct sc__op *op = sc__block_add(p->w,
                                      kind,
                                      pick(&seed, 4) ? SC__FORWARD : SC__RECOMPUTE,
                                      stream,
                                      "op");
    op->work = (uint8_t)(kind == SC__OP_COMPUTE ? pick(&seed, SC__WORKS) : 0);
    op->coll = h->coll;
    op->group = kind == SC__OP_COLLECTIVE ? h->group : 0;
    op->bytes = kind == SC__OP_COMPUTE ? 0 : h->bytes;
    op->cost = h->cost;
    op->flags = h->flags;
    op->tag = h->tag;
    if (h->kind == TWO_TALK && p->per_rank)
        op->peer = rank_of(p, class == h->a ? h->b : h->a);
    if (h->kind == TWO_TALK && !p->per_rank)
        op->flags |= class == h->a ? SC__OP_PEER_NEXT : SC__OP_PEER_PREV;
    if (chance(&seed, kind == SC__OP_WAIT ? 90 : 35))
        op->after = (uint16_t)pick(&seed, 1u << (STREAMS + 1));
}

static bool takes_part(const struct plan *p, const struct happening *h, uint32_t class) {
    if (h->kind == TWO_TALK)
        return class == h->a || class == h->b;
    if (h->kind == SOME_COLLECT)
        return members(p, h->a, h->group) >> class & 1;
    return class == h->a;
}

static uint32_t make_block(struct plan *p, uint32_t segment, uint32_t class, bool deps) {
    uint32_t first = p->w->op_count;
    uint32_t order[EVENTS];
    uint32_t n = p->happenings[segment];
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (p->disorder && n > 1 && chance(&p->seed, 20)) { /* may lock them up */
        uint32_t i = pick(&p->seed, n - 1);
        order[i] = i + 1;
        order[i + 1] = i;
    }
    sc__block_begin(p->w);
    for (uint32_t i = 0; i < n; i++) {
        if (!takes_part(p, &p->happening[segment][order[i]], class))
            continue;
        add_op(p, &p->happening[segment][order[i]], class);
        uint32_t here = p->w->op_count - 1 - first;
        for (int k = 0; deps && here && k < 2; k++)
            if (chance(&p->seed, 20))
                sc__block_depend(p->w, pick(&p->seed, here));
    }
    return sc__block_end(p->w);
}

/* Half of the plans have a steady phase: the same segments again and again. */
static void order_calls(struct plan *p, uint32_t *order) {
    bool steady = chance(&p->seed, 50);
    uint32_t period = 1 + pick(&p->seed, 4);
    uint32_t begin = pick(&p->seed, 3);
    if (steady)
        p->calls = 3 * p->calls + 8;
    for (uint32_t k = 0; k < p->calls; k++)
        order[k] = steady && k >= begin + period && k + 2 < p->calls
                       ? order[k - period]
                       : pick(&p->seed, p->segments);
}

static void make_plan(struct plan *p, uint64_t seed, uint32_t most_calls) {
    uint32_t block[SEGMENTS][8];
    uint32_t order[4096];
    *p = (struct plan){.seed = seed};
    make_job(p);
    p->measured =
        (uint32_t)(sc__random(&p->seed) & sc__random(&p->seed) & sc__random(&p->seed));
    p->two_compute = chance(&p->seed, 25);
    p->one_tag = chance(&p->seed, 30);
    p->disorder = chance(&p->seed, 15);
    p->coarse = chance(&p->seed, 30);
    p->w->compute_stream = (uint8_t)(chance(&p->seed, 80) ? 0 : 1);
    p->segments = 1 + pick(&p->seed, SEGMENTS);
    p->calls = 1 + pick(&p->seed, most_calls);
    for (uint32_t s = 0; s < p->segments; s++) {
        p->happenings[s] = 1 + pick(&p->seed, EVENTS);
        for (uint32_t i = 0; i < p->happenings[s]; i++)
            p->happening[s][i] = random_happening(p, i);
        bool deps = chance(&p->seed, 20);
        for (uint32_t c = 0; c < p->classes; c++)
            block[s][c] = make_block(p, s, c, deps);
    }
    order_calls(p, order);
    for (uint32_t c = 0; c < p->classes; c++) {
        uint32_t program = sc__program_begin(p->w);
        for (uint32_t k = 0; k < p->calls; k++)
            sc__program_call(p->w, block[order[k]][c], k, 0, p->one_tag ? 0 : k * EVENTS);
        sc__class_add(p->w,
                      program,
                      rank_of(p, c),
                      sc__mesh_ranks(&p->w->mesh) / p->classes,
                      sc__mesh_coordinate(&p->w->mesh, rank_of(p, c), SC__DIM_PP));
        if (chance(&p->seed, 10))
            p->w->classes[c].slow = 1.25;
    }
}

/* ---- the comparison ---- */

struct verdict {
    uint64_t number;
    const char *how;
};

static void
same(const struct verdict *v, const char *what, uint32_t class, int64_t got, int64_t want) {
    if (got != want)
        fail_msg("case %llu (%s): %s of class %u is %lld, expected %lld",
                 (unsigned long long)v->number,
                 v->how,
                 what,
                 class,
                 (long long)got,
                 (long long)want);
}

static void same_class(const struct verdict *v,
                       const struct ref *r,
                       const struct sc__sim *sim,
                       uint32_t c) {
    const struct sc__class_result *got = &sim->classes[c];
    const struct sc__class_result *want = &r->classes[c];
    same(v, "end", c, got->end, want->end);
    same(v, "compute", c, got->account.compute, want->account.compute);
    same(v, "recompute", c, got->account.recompute, want->account.recompute);
    same(v, "other", c, got->account.other, want->account.other);
    same(v, "bubble", c, got->account.bubble, want->account.bubble);
    same(v, "skew", c, got->account.skew, want->account.skew);
    for (uint32_t g = 0; g <= r->w->group_count; g++) {
        same(v,
             "exposed communication",
             c,
             got->account.exposed[g],
             want->account.exposed[g]);
        same(v, "busy time", c, got->traffic[g].busy, want->traffic[g].busy);
        same(v,
             "traffic",
             c,
             (int64_t)got->traffic[g].bytes,
             (int64_t)want->traffic[g].bytes);
        same(v,
             "number of transfers",
             c,
             (int64_t)got->traffic[g].ops,
             (int64_t)want->traffic[g].ops);
    }
    for (unsigned k = 0; k < SC__WORKS; k++)
        same(v, "work", c, got->work[k], want->work[k]);
}

/* Every operation has its span; calls carry their number as micro-batch. */
static void
same_spans(const struct verdict *v, const struct ref *r, const struct sc__timeline *t) {
    const struct sc__span **found =
        SC__NEW_ARRAY(&ctx->arena, const struct sc__span *, r->count + 1);
    uint32_t waits = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__span *s = &t->spans[i];
        uint32_t k = r->first[s->class];
        while (r->ops[k].call != s->micro_batch ||
               (uint32_t)(r->ops[k].op - r->w->ops) != s->op)
            k++;
        found[k] = s;
    }
    for (uint32_t k = 0; k < r->count; k++) {
        const struct ref_op *o = &r->ops[k];
        waits += o->op->kind == SC__OP_WAIT;
        if (o->op->kind == SC__OP_WAIT)
            continue;
        assert_non_null(found[k]);
        same(v, "start of a span", o->class, found[k]->start, o->start);
        same(v, "meeting of a span", o->class, found[k]->ready, o->ready);
        same(v, "end of a span", o->class, found[k]->end, o->end);
    }
    assert_int_equal(t->count, r->count - waits);
}

/* The idle times of the timeline are those of the account. */
static void
same_idles(const struct verdict *v, const struct ref *r, const struct sc__timeline *t) {
    for (uint32_t c = 0; c < r->w->class_count; c++) {
        int64_t bubble = 0;
        int64_t skew = 0;
        for (uint32_t i = 0; i < t->idle_count; i++) {
            const struct sc__idle *idle = &t->idles[i];
            if (idle->class != c)
                continue;
            bubble += idle->why == SC__IDLE_BUBBLE ? idle->end - idle->start : 0;
            skew += idle->why == SC__IDLE_SKEW ? idle->end - idle->start : 0;
        }
        same(v, "bubble on the timeline", c, bubble, r->classes[c].account.bubble);
        same(v, "skew on the timeline", c, skew, r->classes[c].account.skew);
    }
}

struct setting {
    const char *how;
    bool shared;
    bool free;
    double scale;
    double tax;
};

/* With what is skipped, and without. */
static uint64_t skipped;

static void
compare(const struct plan *p, const struct setting *s, uint64_t number, bool *locked) {
    struct ref *r = SC__NEW(&ctx->arena, struct ref);
    struct oracle_net *net = SC__NEW(&ctx->arena, struct oracle_net);
    *r = (struct ref){.w = p->w, .net = net, .scale = s->scale, .tax = s->tax};
    *net = (struct oracle_net){.shared = s->shared,
                               .free = s->free,
                               .inside = ref_inside,
                               .self = r};
    static const char *const ways[] = {"none", "timeline", "shortcuts", "no skipping"};
    ref_expand(r, &ctx->arena);
    ref_run(r);
    *locked = r->deadlock;
    for (int way = 0; way < 4; way++) {
        struct sc__sim_options options = {.keep_timeline = way == 1,
                                          .no_skip = way == 3,
                                          .compute_scale = s->scale,
                                          .comm_tax = s->tax};
        struct verdict v = {number, sc__format(&ctx->arena, "%s, %s", s->how, ways[way])};
        struct sc__net engine = {.ops = &oracle_ops,
                                 .periods = &oracle_periods,
                                 .self = net,
                                 .free = s->free};
        struct sc__sim sim;
        *net = (struct oracle_net){.shared = s->shared,
                                   .free = s->free,
                                   .shortcuts = way > 0,
                                   .inside = ref_inside,
                                   .self = r};
        sc_status status = sc__simulate(ctx, p->w, &engine, &options, &sim);
        same(&v, "deadlock", 0, status != SC_OK, r->deadlock);
        if (status != SC_OK)
            continue;
        same(&v, "step", 0, sim.step, r->now);
        for (uint32_t c = 0; c < p->classes; c++)
            same_class(&v, r, &sim, c);
        skipped += sim.skipped > 0;
        if (way == 1) {
            same_spans(&v, r, sim.timeline);
            same_idles(&v, r, sim.timeline);
        }
    }
}

static const struct setting settings[] = {
    {"fixed costs", false, false, 1, 0},
    {"shared ports", true, false, 1, 0},
    {"shared ports, scaled compute", true, false, 0.7, 0},
    {"free", false, true, 1, 0},
    {"taxed compute", false, false, 1, 0.25}};

static void try_plans(uint64_t from, uint64_t to, uint32_t calls, uint32_t ways) {
    struct plan *p = malloc(sizeof *p);
    uint32_t locks = 0;
    for (uint64_t k = from; k < to; k++) {
        bool locked = false;
        ctx = sc_open();
        make_plan(p, k, calls);
        for (uint32_t i = 0; i < ways; i++)
            compare(p, &settings[i], k, &locked);
        locks += locked;
        sc_close(ctx);
    }
    assert_true(locks < (to - from) / 4); /* most of them run */
    free(p);
}

static void small_workloads(void **state) {
    (void)state;
    try_plans(0, 350, 8, 5);
    assert_true(skipped > 200);
    try_plans(2400, 2450, 8, 1); /* among them one without anything on the compute stream */
}

static void long_workloads(void **state) {
    (void)state;
    try_plans(100000, 100012, 150, 2);
}

/* Jobs that share nothing run as if each were alone. */
static void jobs_beside_each_other(void **state) {
    (void)state;
    struct plan *p = malloc(3 * sizeof *p);
    for (uint64_t k = 0; k < 100; k++) {
        const struct sc__workload *w[3];
        struct sc__sim alone[3];
        struct sc__sim together[3];
        bool runs = true;
        ctx = sc_open();
        struct oracle_net *net = SC__NEW(&ctx->arena, struct oracle_net);
        struct sc__net engine = {.ops = &oracle_ops,
                                 .periods = &oracle_periods,
                                 .self = net};
        for (uint64_t i = 0; i < 3; i++) {
            make_plan(&p[i], 200000 + 3 * k + i, 6);
            w[i] = p[i].w;
            *net = (struct oracle_net){.shortcuts = true};
            runs &= sc__simulate(ctx, w[i], &engine, NULL, &alone[i]) == SC_OK;
        }
        *net = (struct oracle_net){.shortcuts = true};
        struct verdict v = {k, "jobs"};
        same(&v,
             "running",
             0,
             sc__simulate_jobs(ctx, w, 3, &engine, NULL, together) == SC_OK,
             runs);
        for (uint32_t i = 0; runs && i < 3; i++) {
            struct ref r = {.w = w[i], .classes = alone[i].classes};
            same(&v, "step", i, together[i].step, alone[i].step);
            for (uint32_t c = 0; c < w[i]->class_count; c++)
                same_class(&v, &r, &together[i], c);
        }
        sc_close(ctx);
    }
    free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_workloads),
                                       cmocka_unit_test(long_workloads),
                                       cmocka_unit_test(jobs_beside_each_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
