/* Small causes, small effects: on random plans of real models one compute
 * operation is made longer by a ten-thousandth, and the step must not move by
 * more than that operation's part of it, many times over. Something left
 * behind by an earlier event, or a choice that depends on which of two equal
 * times is looked at first, shows as a jump. And naming a rank without slowing
 * it, which only splits classes, must leave the step as it is. */
#include "test.h"

#include "command/job.h"

enum { MOST = 20 /* times the change */, OPTIONS = 24 };

struct plan {
    const char *name[OPTIONS];
    const char *value[OPTIONS];
    uint32_t count;
};

static uint32_t below(uint64_t *seed, uint32_t n) {
    return (uint32_t)(sc__random(seed) % n);
}

static void set(struct plan *p, const char *name, const char *value) {
    p->name[p->count] = name;
    p->value[p->count++] = value;
}

static void
set_number(struct sc_context *ctx, struct plan *p, const char *name, uint32_t value) {
    set(p, name, sc__format(&ctx->arena, "%u", value));
}

static void
random_network(struct sc_context *ctx, struct plan *p, uint64_t *seed, uint32_t gpus) {
    static const char *const few =
        "gpu=h100 gpus=%u node=4 nvlink=200GB/s nics=%u nic=25GB/s "
        "class=ib leaf=4 oversubscription=2";
    uint32_t what = below(seed, 4);
    set(p,
        "cluster",
        what == 0   ? "dgx-h100"
        : what == 1 ? "dgx-a100"
                    : sc__format(&ctx->arena, few, gpus < 4 ? 4 : gpus, what == 2 ? 1 : 4));
    if (below(seed, 3) == 0)
        set(p, "net", "flow");
}

static struct plan random_plan(struct sc_context *ctx, uint64_t *seed) {
    static const char *const dense[] = {"gpt2", "llama3.2-1b", "gpt3-1.3b"};
    struct plan p = {.count = 0};
    bool moe = below(seed, 3) == 0;
    uint32_t tp = 1u << below(seed, 3);
    uint32_t pp = 1u << below(seed, 3);
    uint32_t dp = 1u << below(seed, 4);
    uint32_t cp = below(seed, 5) ? 1 : 2;
    uint32_t vpp = pp > 1 && below(seed, 2) ? 2 : 1;
    uint32_t m = 1 + below(seed, 2 * pp + 3);
    uint32_t gpus = tp * cp * dp * pp;
    set(&p, "model", moe ? "mixtral-8x7b" : dense[below(seed, 3)]);
    set_number(ctx, &p, "gpus", gpus);
    set_number(ctx, &p, "tp", tp);
    set_number(ctx, &p, "pp", pp);
    set_number(ctx, &p, "cp", cp);
    if (moe && dp > 1)
        set_number(ctx, &p, "ep", 1u << below(seed, dp > 4 ? 3 : 2));
    if (vpp > 1)
        set_number(ctx, &p, "vpp", vpp);
    set_number(ctx, &p, "num-layers", pp * vpp * (1 + below(seed, 2)));
    set_number(ctx, &p, "seq", 512u << below(seed, 2));
    set_number(ctx, &p, "global-batch", m * dp);
    set_number(ctx, &p, "zero", below(seed, 4));
    if (pp > 1 && vpp == 1)
        set(&p, "schedule", (const char *[]){"1f1b", "gpipe", "zb-h1"}[below(seed, 3)]);
    if (below(seed, 2))
        set(&p, "overlap-param", "yes");
    if (below(seed, 3) == 0)
        set(&p, "recompute", "full");
    if (below(seed, 3) == 0)
        set(&p, "comm-sm-tax", "0.1");
    set(&p, "ignore-memory", NULL);
    random_network(ctx, &p, seed, gpus);
    return p;
}

static const char *describe(struct sc_context *ctx, const struct plan *p) {
    const char *text = "";
    for (uint32_t i = 0; i < p->count; i++)
        text = sc__format(&ctx->arena,
                          "%s --%s '%s'",
                          text,
                          p->name[i],
                          p->value[i] ? p->value[i] : "");
    return text;
}

static bool load(struct sc_context *ctx, const struct plan *p, struct sc__job *job) {
    sc_request *req = sc_request_new(ctx, "run");
    for (uint32_t i = 0; i < p->count; i++)
        if (sc_request_set(req, p->name[i], p->value[i]) != SC_OK)
            fail_msg("%s", sc_error_text(ctx));
    return sc__job_load(req, job) == SC_OK;
}

static int64_t step(struct sc_context *ctx, struct sc__job *job, const struct plan *p) {
    struct sc__net net;
    struct sc__sim sim;
    if (sc__evaluation_network(ctx, job->ev, job->workload, &net) ||
        sc__simulate(ctx, job->workload, &net, &job->ev->sim_options, &sim))
        fail_msg("%s: %s", describe(ctx, p), sc_error_text(ctx));
    return sim.step;
}

/* How often the operation runs, in all classes. */
static uint32_t times_run(const struct sc__workload *w, uint32_t op) {
    uint32_t times = 0;
    for (uint32_t c = 0; c < w->class_count; c++) {
        const struct sc__program *p = &w->programs[w->classes[c].program];
        for (uint32_t k = 0; k < p->calls; k++) {
            const struct sc__block *b = &w->blocks[w->calls[p->first_call + k].block];
            times += op >= b->first_op && op < b->first_op + b->ops;
        }
    }
    return times;
}

static uint32_t random_compute(const struct sc__workload *w, uint64_t *seed) {
    for (;;) {
        uint32_t op = below(seed, w->op_count);
        if (w->ops[op].kind == SC__OP_COMPUTE && w->ops[op].cost > 0 && times_run(w, op))
            return op;
    }
}

static void small_changes(struct sc_context *ctx,
                          struct sc__job *job,
                          const struct plan *p,
                          uint64_t *seed,
                          int64_t before) {
    for (int k = 0; k < 4; k++) {
        uint32_t op = random_compute(job->workload, seed);
        int64_t *cost = &job->workload->ops[op].cost;
        int64_t old = *cost;
        int64_t more = old / 10000 + 1;
        *cost += more;
        int64_t moved = step(ctx, job, p) - before;
        int64_t most = MOST * more * times_run(job->workload, op) + 1000;
        *cost = old;
        if (llabs((long long)moved) > most)
            fail_msg("%s: operation %u longer by %lld ps: the step moves by %lld of %lld",
                     describe(ctx, p),
                     op,
                     (long long)more,
                     (long long)moved,
                     (long long)before);
    }
}

/* The step may move somewhat where more classes see more: those of one NIC or
 * leaf meet on that of each class's first rank, and under the flow engine a
 * class waits for its slowest group. */
static void named_ranks(struct sc_context *ctx,
                        struct sc__job *job,
                        const struct plan *p,
                        uint64_t *seed,
                        int64_t before) {
    uint32_t rank = below(seed, sc__mesh_ranks(&job->workload->mesh));
    bool flow = sc__setting(&job->settings, "net") != NULL;
    if (sc__workload_slow_rank(ctx, job->workload, rank, 1) != SC_OK)
        fail_msg("%s: %s", describe(ctx, p), sc_error_text(ctx));
    double moved = (double)(step(ctx, job, p) - before) / (double)before;
    if (fabs(moved) > (flow ? 0.1 : 0.005))
        fail_msg("%s: rank %u by itself moves the step by %.4f %%",
                 describe(ctx, p),
                 rank,
                 100 * moved);
    sc__workload_merge(job->workload);
    moved = (double)(step(ctx, job, p) - before) / (double)before;
    if (fabs(moved) > (flow ? 0.1 : 0.005))
        fail_msg("%s: rank %u back among its like moves the step by %.4f %%",
                 describe(ctx, p),
                 rank,
                 100 * moved);
}

static void random_plans(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int k = 0; k < 300; k++) {
        struct sc_context *ctx = sc_open();
        struct sc__job *job = SC__NEW(&ctx->arena, struct sc__job);
        struct plan p = random_plan(ctx, &seed);
        if (!load(ctx, &p, job))
            fail_msg("%s: %s", describe(ctx, &p), sc_error_text(ctx));
        int64_t before = step(ctx, job, &p);
        small_changes(ctx, job, &p, &seed, before);
        named_ranks(ctx, job, &p, &seed, before);
        sc_close(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
