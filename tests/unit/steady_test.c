/* Skipping of steady states: on random pipelines of every schedule the result
 * with it must be the result without it, to the picosecond and the last span.
 * That the result without it is right is what executor_oracle_test tries. */
#include "test.h"

#include "lower/pipeline.h"
#include "simulate/simulate.h"

static struct sc_context *ctx;

enum { STAGES = 6, CHUNKS = 3, MOST_MICRO_BATCHES = 70 };

enum { FORWARD, FORWARD_FIRST, BACKWARD, BACKWARD_LAST, WGRAD, KINDS };

struct plan {
    uint64_t seed;
    struct sc__workload *w;
    struct sc__pipeline pipeline;
    uint32_t block[KINDS][STAGES][CHUNKS];
    uint32_t update[STAGES];
    uint16_t tp;
    uint16_t dp;
    uint16_t world;
    bool overlap_tp; /* collectives beside compute, on a stream of their own */
    bool sharded;    /* every micro-batch gathers weights, with explicit dependencies */
    bool bursts;     /* compute on a second stream too: nothing is merged */
    bool equal;      /* stages alike */
    uint32_t most_message; /* bytes */
    const char *cluster;
};

static uint32_t pick(uint64_t *seed, uint32_t n) {
    return (uint32_t)(sc__random(seed) % n);
}
static bool chance(uint64_t *seed, uint32_t percent) {
    return pick(seed, 100) < percent;
}

/* ---- blocks ---- */

static struct sc__op *
add_compute(struct plan *p, uint64_t *seed, enum sc__phase phase, uint8_t stream) {
    struct sc__op *op = sc__block_add(p->w, SC__OP_COMPUTE, phase, stream, "compute");
    op->cost = chance(seed, 10) ? 0 : 1 + pick(seed, 50000000);
    op->work = (uint8_t)pick(seed, SC__WORKS);
    return op;
}

static struct sc__op *
add_collective(struct plan *p, uint64_t *seed, uint16_t group, uint8_t stream) {
    struct sc__op *op =
        sc__block_add(p->w, SC__OP_COLLECTIVE, SC__FORWARD, stream, "collective");
    op->coll = chance(seed, 50) ? SC__ALLGATHER : SC__REDUCESCATTER;
    op->group = group;
    op->bytes = 1 + pick(seed, 8000000);
    if (chance(seed, 10))
        op->cost = pick(seed, 3000000);
    if (stream != SC__STREAM_COMPUTE)
        op->after = chance(seed, 80) ? 1u << SC__STREAM_COMPUTE : 0;
    return op;
}

static void
add_layer(struct plan *p, uint64_t *seed, enum sc__phase phase, uint32_t first) {
    if (p->sharded && chance(seed, 60)) {
        add_collective(p, seed, p->dp, SC__STREAM_DP);
        uint32_t gather = p->w->op_count - 1 - first;
        add_compute(p, seed, phase, SC__STREAM_COMPUTE);
        sc__block_depend(p->w, gather);
    }
    uint32_t parts = 1 + pick(seed, 4);
    for (uint32_t i = 0; i < parts; i++) {
        add_compute(p,
                    seed,
                    chance(seed, 20) ? SC__RECOMPUTE : phase,
                    p->bursts && chance(seed, 20) ? SC__STREAM_EP : SC__STREAM_COMPUTE);
        if (chance(seed, 50))
            add_collective(p,
                           seed,
                           p->tp,
                           p->overlap_tp && chance(seed, 50) ? SC__STREAM_COMM
                                                             : SC__STREAM_COMPUTE);
        if (p->overlap_tp && chance(seed, 40))
            sc__block_add(p->w, SC__OP_WAIT, phase, SC__STREAM_COMPUTE, "wait")->after =
                1u << SC__STREAM_COMM;
    }
}

static uint32_t
make_block(struct plan *p, uint64_t seed, enum sc__phase phase, bool gradients) {
    uint32_t layers = 1 + pick(&seed, 3);
    uint32_t first = p->w->op_count;
    sc__block_begin(p->w);
    for (uint32_t i = 0; i < layers; i++) {
        add_layer(p, &seed, phase, first);
        if (gradients)
            add_collective(p, &seed, p->dp, SC__STREAM_DP);
    }
    return sc__block_end(p->w);
}

static void make_blocks(struct plan *p, uint32_t pp, uint32_t vpp) {
    static const enum sc__phase phase[KINDS] = {SC__FORWARD,
                                                SC__FORWARD,
                                                SC__BACKWARD,
                                                SC__BACKWARD,
                                                SC__WGRAD};
    uint64_t alike = sc__random(&p->seed);
    for (uint32_t s = 0; s < pp; s++) {
        for (uint32_t c = 0; c < vpp; c++)
            for (uint32_t k = 0; k < KINDS; k++) {
                uint64_t seed = p->equal ? alike + k : sc__random(&p->seed);
                p->block[k][s][c] = make_block(p, seed, phase[k], k == BACKWARD_LAST);
            }
        sc__block_begin(p->w);
        uint64_t seed = sc__random(&p->seed);
        sc__block_add(p->w, SC__OP_WAIT, SC__UPDATE, SC__STREAM_COMPUTE, "wait")->after =
            1u << SC__STREAM_DP;
        add_compute(p, &seed, SC__UPDATE, SC__STREAM_COMPUTE);
        struct sc__op *op = add_collective(p, &seed, p->world, SC__STREAM_COMPUTE);
        op->coll = SC__ALLREDUCE;
        op->bytes = 4;
        p->update[s] = sc__block_end(p->w);
    }
}

static uint32_t forward(void *self, uint32_t stage, uint32_t chunk, uint32_t m) {
    const struct plan *p = self;
    return p->block[m == 0 ? FORWARD_FIRST : FORWARD][stage][chunk];
}
static uint32_t backward(void *self, uint32_t stage, uint32_t chunk, uint32_t m) {
    const struct plan *p = self;
    bool last = m == p->pipeline.micro_batches - 1;
    return p->block[last ? BACKWARD_LAST : BACKWARD][stage][chunk];
}
static uint32_t wgrad(void *self, uint32_t stage, uint32_t chunk, uint32_t m) {
    const struct plan *p = self;
    (void)m;
    return p->block[WGRAD][stage][chunk];
}
static uint32_t update(void *self, uint32_t stage) {
    return ((const struct plan *)self)->update[stage];
}

/* ---- plans ---- */

static void
lower(struct plan *p, enum sc__schedule schedule, uint32_t pp, uint32_t micro_batches) {
    uint32_t vpp = schedule == SC__SCHEDULE_INTERLEAVED ? 1 + pick(&p->seed, CHUNKS)
                   : schedule == SC__SCHEDULE_ZBV       ? 2
                                                        : 1;
    p->pipeline = (struct sc__pipeline){.schedule = schedule,
                                        .pp = pp,
                                        .vpp = vpp,
                                        .micro_batches = micro_batches,
                                        .message = pick(&p->seed, p->most_message),
                                        .overlap = chance(&p->seed, 40),
                                        .forward = forward,
                                        .backward = backward,
                                        .after = update,
                                        .kept = 0.5,
                                        .self = p};
    if (sc__schedule_splits(schedule))
        p->pipeline.wgrad = wgrad;
    make_blocks(p, pp, vpp);
    assert_int_equal(sc__pipeline_lower(ctx, p->w, &p->pipeline), SC_OK);
}

static void make_pipeline(struct plan *p, uint32_t pp) {
    enum sc__schedule schedule =
        pp == 1 ? SC__SCHEDULE_1F1B : (enum sc__schedule)(1 + pick(&p->seed, 6));
    lower(p, schedule, pp, 1 + pick(&p->seed, MOST_MICRO_BATCHES));
}

static void make_plan(struct plan *p, uint64_t seed) {
    static const char *const clusters[] = {
        "dgx-h100",
        ("gpu=h100 gpus=64 node=4 nvlink=200GB/s nics=1 nic=25GB/s class=ib leaf=4 "
         "oversubscription=2"),
        "gpu=h100 gpus=64 node=8 nvlink=100GB/s nics=4 nic=12GB/s class=roce"};
    *p = (struct plan){.seed = seed, .most_message = 20000000};
    uint32_t tp = 1u << pick(&p->seed, 3);
    uint32_t dp = 1u << pick(&p->seed, 2);
    uint32_t pp = 1 + pick(&p->seed, STAGES);
    p->w = sc__workload_new(&ctx->arena, "random");
    p->w->mesh = sc__mesh(tp, 1, 1, dp, pp, 0);
    p->tp = sc__workload_group(p->w, SC__GROUP_TP);
    p->dp = sc__workload_group(p->w, SC__GROUP_DP_CP);
    p->world = sc__workload_group(p->w, SC__GROUP_WORLD);
    p->overlap_tp = chance(&p->seed, 50);
    p->sharded = chance(&p->seed, 25);
    p->bursts = chance(&p->seed, 10);
    p->equal = chance(&p->seed, 40);
    p->cluster = clusters[pick(&p->seed, 3)];
    if (chance(&p->seed, 40))
        p->w->comm_tax = 0.01 * (1 + pick(&p->seed, 60));
    make_pipeline(p, pp);
    if (chance(&p->seed, 25))
        assert_int_equal(sc__workload_slow_rank(ctx,
                                                p->w,
                                                pick(&p->seed, tp * dp * pp),
                                                1 + 0.01 * pick(&p->seed, 50)),
                         SC_OK);
}

/* ---- the comparison ---- */

static void same(uint64_t seed, const char *what, uint32_t at, int64_t got, int64_t want) {
    if (got != want)
        fail_msg("case %llu: %s %u is %lld with skipping, %lld without",
                 (unsigned long long)seed,
                 what,
                 at,
                 (long long)got,
                 (long long)want);
}

static void same_class(uint64_t seed,
                       uint32_t c,
                       uint32_t lanes,
                       const struct sc__class_result *got,
                       const struct sc__class_result *want) {
    same(seed, "end of class", c, got->end, want->end);
    same(seed, "lead of class", c, got->lead, want->lead);
    same(seed, "compute of class", c, got->account.compute, want->account.compute);
    same(seed, "recompute of class", c, got->account.recompute, want->account.recompute);
    same(seed, "bubble of class", c, got->account.bubble, want->account.bubble);
    same(seed, "skew of class", c, got->account.skew, want->account.skew);
    same(seed, "other of class", c, got->account.other, want->account.other);
    for (uint32_t g = 0; g < lanes; g++) {
        const struct sc__traffic *a = &got->traffic[g];
        const struct sc__traffic *b = &want->traffic[g];
        same(seed,
             "exposed of class",
             c,
             got->account.exposed[g],
             want->account.exposed[g]);
        same(seed, "transfers of class", c, (int64_t)a->ops, (int64_t)b->ops);
        same(seed, "bytes of class", c, (int64_t)a->bytes, (int64_t)b->bytes);
        same(seed, "busy time of class", c, a->busy, b->busy);
    }
    for (unsigned k = 0; k < SC__WORKS; k++)
        same(seed, "work of class", c, got->work[k], want->work[k]);
}

static void same_timeline(uint64_t seed,
                          const struct sc__timeline *got,
                          const struct sc__timeline *want) {
    same(seed, "spans", 0, got->count, want->count);
    same(seed, "idle times", 0, got->idle_count, want->idle_count);
    same(seed, "end of the timeline", 0, got->end, want->end);
    for (uint32_t i = 0; i < got->count; i++) {
        const struct sc__span *a = &got->spans[i];
        const struct sc__span *b = &want->spans[i];
        same(seed, "class of span", i, a->class, b->class);
        same(seed, "operation of span", i, a->op, b->op);
        same(seed, "micro-batch of span", i, a->micro_batch, b->micro_batch);
        same(seed, "chunk of span", i, a->chunk, b->chunk);
        same(seed, "start of span", i, a->start, b->start);
        same(seed, "rendezvous of span", i, a->ready, b->ready);
        same(seed, "end of span", i, a->end, b->end);
        same(seed, "peer of span", i, a->peer_span, b->peer_span);
    }
    for (uint32_t i = 0; i < got->idle_count; i++) {
        same(seed, "class of idle time", i, got->idles[i].class, want->idles[i].class);
        same(seed, "reason of idle time", i, got->idles[i].why, want->idles[i].why);
        same(seed, "start of idle time", i, got->idles[i].start, want->idles[i].start);
        same(seed, "end of idle time", i, got->idles[i].end, want->idles[i].end);
    }
}

static sc_status
simulate(const struct plan *p, bool no_skip, bool timeline, struct sc__sim *sim) {
    struct sc__cluster cluster;
    struct sc__net net;
    struct sc__sim_options options = {.keep_timeline = timeline, .no_skip = no_skip};
    uint32_t ranks = sc__mesh_ranks(&p->w->mesh);
    assert_int_equal(sc__cluster_parse(ctx, p->cluster, ranks, &cluster), SC_OK);
    assert_int_equal(sc__net_analytic(ctx, &cluster, p->w, &net), SC_OK);
    return sc__simulate(ctx, p->w, &net, &options, sim);
}

/* How many events it did without. */
static uint64_t compare(const struct plan *p, uint64_t seed, bool timeline) {
    struct sc__sim with;
    struct sc__sim without;
    sc_status status = simulate(p, true, timeline, &without);
    same(seed, "status", 0, simulate(p, false, timeline, &with), status);
    if (status != SC_OK)
        return 0;
    same(seed, "step", 0, with.step, without.step);
    same(seed, "overlap of steps", 0, with.overlap, without.overlap);
    same(seed,
         "number of events",
         0,
         (int64_t)(with.events + with.skipped),
         (int64_t)without.events);
    for (uint32_t c = 0; c < p->w->class_count; c++)
        same_class(seed, c, p->w->group_count + 1, &with.classes[c], &without.classes[c]);
    if (timeline)
        same_timeline(seed, with.timeline, without.timeline);
    return with.skipped;
}

static void random_pipelines(void **state) {
    (void)state;
    const uint32_t cases = 2000;
    uint32_t skipping = 0;
    struct plan *p = malloc(sizeof *p);
    for (uint64_t k = 0; k < cases; k++) {
        ctx = sc_open();
        make_plan(p, k);
        skipping += compare(p, k, false) > 0;
        if (k % 4 == 0)
            compare(p, k, true);
        sc_close(ctx);
    }
    print_message("%u of %u skipped\n", skipping, cases);
    assert_true(skipping > cases / 3);
    free(p);
}

/* ---- the cost does not grow with the number of micro-batches ---- */

static uint64_t
events_with(uint64_t seed, enum sc__schedule schedule, uint32_t micro_batches) {
    struct sc__sim sim;
    struct plan *p = malloc(sizeof *p);
    ctx = sc_open();
    *p = (struct plan){.seed = seed,
                       .cluster = "dgx-h100",
                       .equal = true,
                       .most_message = 200000};
    p->w = sc__workload_new(&ctx->arena, "random");
    p->w->mesh = sc__mesh(4, 1, 1, 2, 4, 0);
    p->tp = sc__workload_group(p->w, SC__GROUP_TP);
    p->dp = sc__workload_group(p->w, SC__GROUP_DP_CP);
    p->world = sc__workload_group(p->w, SC__GROUP_WORLD);
    lower(p, schedule, 4, micro_batches);
    assert_int_equal(simulate(p, false, false, &sim), SC_OK);
    sc_close(ctx);
    free(p);
    return sim.events;
}

/* Some of these pipelines take very long to settle; most do at once. (Under
 * GPipe a stage runs ahead of its sends, and no state comes back.) */
static void more_micro_batches(void **state) {
    (void)state;
    static const enum sc__schedule schedules[] = {SC__SCHEDULE_1F1B,
                                                  SC__SCHEDULE_INTERLEAVED,
                                                  SC__SCHEDULE_ZBH1};
    uint32_t growing = 0;
    for (uint64_t seed = 0; seed < 5; seed++)
        for (unsigned i = 0; i < 3; i++)
            growing += events_with(seed, schedules[i], 4000) >
                       events_with(seed, schedules[i], 400);
    assert_true(growing <= 3);
}

/* ---- the state of the analytic engine ---- */

static uint64_t itself(const struct sc__net_state *s, uint64_t user) {
    (void)s;
    return user;
}

/* Two messages of one class, on one NIC: the second from `apart` on; written at `now`. */
static struct sc__net
two_messages(int64_t from, int64_t apart, int64_t now, struct sc__net_state *out) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "messages");
    struct sc__cluster *cluster = SC__NEW(&ctx->arena, struct sc__cluster);
    struct sc__net net;
    w->mesh = sc__mesh(8, 1, 1, 1, 2, 0);
    for (uint32_t stage = 0; stage < 2; stage++)
        sc__class_add(w, sc__program_begin(w), stage * 8, 8, stage);
    assert_int_equal(sc__cluster_parse(ctx, "dgx-h100", 16, cluster), SC_OK);
    assert_int_equal(sc__net_analytic(ctx, cluster, w, &net), SC_OK);
    struct sc_transfer t = {.coll = SC__COLLS,
                            .peer = 8,
                            .peer_class = 1,
                            .bytes = 1 << 24};
    t.user = 7;
    assert_int_equal(net.ops->start(net.self, &t, from), SC_OK);
    t.user = 8;
    assert_int_equal(net.ops->start(net.self, &t, from + apart), SC_OK);
    *out = (struct sc__net_state){.arena = &ctx->arena, .user_number = itself};
    assert_int_equal(net.periods->state(net.self, now, out), SC_OK);
    return net;
}

static bool same_state(const struct sc__net_state *a, const struct sc__net_state *b) {
    return a->count == b->count && !memcmp(a->words, b->words, a->count * sizeof *a->words);
}

static void engine_state(void **state) {
    (void)state;
    struct sc__net_state a, b, c, d;
    int64_t before, after;
    ctx = sc_open();
    const int64_t later = 123456789123;
    struct sc__net net = two_messages(1000, 5000, 9000, &a);
    two_messages(1000 + later, 5000, 9000 + later, &b);
    two_messages(1000, 5001, 9000, &c);
    two_messages(1000, 5000, 9001, &d);
    assert_true(a.count > 0);
    assert_true(same_state(&a, &b));  /* the same, at another time */
    assert_false(same_state(&a, &c)); /* another past */
    assert_false(same_state(&a, &d)); /* another now */
    net.ops->next(net.self, &before);
    net.periods->shift(net.self, later, NULL);
    net.ops->next(net.self, &after);
    assert_int_equal(after, before + later);
    a.count = 0;
    net.periods->state(net.self, 9000 + later, &a);
    assert_true(same_state(&a, &b));
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_pipelines),
                                       cmocka_unit_test(more_micro_batches),
                                       cmocka_unit_test(engine_state)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
