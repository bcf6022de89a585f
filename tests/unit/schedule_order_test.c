/* The orders of work of all schedules, for every small pipeline: each piece
 * once, nothing before what it needs, no deadlock, no more activations than
 * the schedule promises. And the step that comes of them, with a time of its
 * own for every piece, against a plain recursion over the same orders. */
#include "test.h"

#include "base/random.h"
#include "lower/pipeline.h"
#include "simulate/simulate.h"

enum { STAGES = 8, CHUNKS = 4, MICRO = 24 };

static struct sc_context *ctx;

struct pipe {
    enum sc__schedule schedule;
    uint32_t p;
    uint32_t v;
    uint32_t m;
    uint32_t run; /* micro-batches until the pipeline is empty; 0: all */
    struct sc__slot *slot[STAGES];
    uint32_t count[STAGES];
    int64_t end[3][STAGES][CHUNKS][MICRO]; /* of F, B, W; -1: not yet */
    int64_t cost[3][STAGES][CHUNKS][MICRO];
    struct sc__workload *w;
};

static struct pipe job;

static int kind_of(const struct sc__slot *s) {
    return s->kind == 'F' ? 0 : s->kind == 'B' ? 1 : 2;
}

static void
make_runs(enum sc__schedule schedule, uint32_t p, uint32_t v, uint32_t m, uint32_t run) {
    memset(&job, 0, sizeof job);
    job.run = run;
    job.schedule = schedule;
    job.p = p;
    job.v = v;
    job.m = m;
    memset(job.end, 0xff, sizeof job.end);
    for (uint32_t s = 0; s < p; s++)
        job.slot[s] = sc__schedule_runs(&ctx->arena,
                                        schedule,
                                        p,
                                        v,
                                        (struct sc__turns){0},
                                        s,
                                        m,
                                        run,
                                        &job.count[s]);
}

static void make_orders(enum sc__schedule schedule, uint32_t p, uint32_t v, uint32_t m) {
    make_runs(schedule, p, v, m, 0);
}

static void wrong(const char *what, uint32_t stage) {
    fail_msg("%s, %u stages of %u chunks, %u micro-batches: %s on stage %u",
             sc__schedule_name(job.schedule),
             job.p,
             job.v,
             job.m,
             what,
             stage);
}

/* In a V chunk 0 goes down the stages and chunk 1 up again, where it turns on the stage
 * itself. */
static int64_t input_in_v(uint32_t s, const struct sc__slot *x) {
    uint32_t c = x->chunk;
    uint32_t i = x->micro_batch;
    uint32_t last = job.p - 1;
    if (x->kind == 'F' && c == 0)
        return s ? job.end[0][s - 1][0][i] : 0;
    if (x->kind == 'F')
        return s < last ? job.end[0][s + 1][1][i] : job.end[0][s][0][i];
    if (job.end[0][s][c][i] < 0)
        return -1;
    if (c == 1)
        return s ? job.end[1][s - 1][1][i] : job.end[0][s][1][i];
    return s < last ? job.end[1][s + 1][0][i] : job.end[1][s][1][i];
}

/* Two copies: the data of chunk 0 goes down the stages, that of chunk 1 up, and neither
 * meets the other. */
static int64_t input_from_both_ends(uint32_t s, const struct sc__slot *x) {
    uint32_t c = x->chunk;
    uint32_t i = x->micro_batch;
    uint32_t last = job.p - 1;
    bool begins = s == (c ? last : 0);
    bool ends = s == (c ? 0 : last);
    if (x->kind == 'F')
        return begins ? 0 : job.end[0][c ? s + 1 : s - 1][c][i];
    if (job.end[0][s][c][i] < 0)
        return -1;
    return ends ? job.end[0][s][c][i] : job.end[1][c ? s - 1 : s + 1][c][i];
}

/* When the input of a piece is there; -1: not yet. */
static int64_t input_of(uint32_t s, const struct sc__slot *x) {
    uint32_t c = x->chunk;
    uint32_t i = x->micro_batch;
    uint32_t last = job.p - 1;
    if (x->kind == 'W')
        return job.end[1][s][c][i];
    if (job.schedule == SC__SCHEDULE_DUALPIPEV)
        return input_in_v(s, x);
    if (job.schedule == SC__SCHEDULE_DUALPIPE)
        return input_from_both_ends(s, x);
    if (x->kind == 'F')
        return s ? job.end[0][s - 1][c][i] : c ? job.end[0][last][c - 1][i] : 0;
    if (job.end[0][s][c][i] < 0)
        return -1;
    if (s < last)
        return job.end[1][s + 1][c][i];
    return c + 1 < job.v ? job.end[1][0][c + 1][i] : job.end[0][s][c][i];
}

/* Every stage goes on as far as inputs allow, until none can. */
static int64_t recursion(void) {
    uint32_t done[STAGES] = {0};
    int64_t clock[STAGES] = {0};
    int64_t last = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t s = 0; s < job.p; s++)
            for (int64_t input; done[s] < job.count[s]; done[s]++, moved = true) {
                const struct sc__slot *x = &job.slot[s][done[s]];
                if ((input = input_of(s, x)) < 0)
                    break;
                clock[s] = (clock[s] > input ? clock[s] : input) +
                           job.cost[kind_of(x)][s][x->chunk][x->micro_batch];
                job.end[kind_of(x)][s][x->chunk][x->micro_batch] = clock[s];
            }
    }
    for (uint32_t s = 0; s < job.p; s++) {
        if (done[s] < job.count[s])
            wrong("a deadlock", s);
        if (clock[s] > last)
            last = clock[s];
    }
    return last;
}

static void check_pieces(uint32_t s) {
    bool twice = job.schedule == SC__SCHEDULE_DUALPIPE;
    bool v = job.schedule == SC__SCHEDULE_DUALPIPEV || twice;
    uint32_t passes = twice ? job.m / 2 : job.m; /* of a chunk */
    uint32_t kinds = job.schedule == SC__SCHEDULE_ZBH1 || v ? 3 : 2;
    uint32_t flying = 0;
    uint32_t most = 0;
    uint8_t seen[3][CHUNKS][MICRO] = {{{0}}};
    if (job.count[s] != kinds * job.v * passes)
        wrong("a wrong number of pieces", s);
    for (uint32_t k = 0; k < job.count[s]; k++) {
        const struct sc__slot *x = &job.slot[s][k];
        int kind = kind_of(x);
        if (x->chunk >= job.v || x->micro_batch >= passes)
            wrong("a piece that is none", s);
        if (seen[kind][x->chunk][x->micro_batch]++)
            wrong("a piece twice", s);
        if (kind && !seen[kind - 1][x->chunk][x->micro_batch])
            wrong("a piece before its forward", s);
        if (kind == 0 && ++flying > most)
            most = flying;
        if (kind == (v ? 1 : (int)kinds - 1))
            flying--;
    }
    uint32_t bound = job.schedule == SC__SCHEDULE_1F1B   ? job.p - s
                     : job.schedule == SC__SCHEDULE_ZBH1 ? job.p
                     : twice                             ? job.p + 1
                     : v                                 ? 2 * job.p + 1
                                                         : MICRO * CHUNKS;
    if (most > bound)
        wrong("too many activations", s);
}

/* ---- the same through the simulator ---- */

static uint32_t block_of(int kind, uint32_t s, uint32_t c, uint32_t m) {
    sc__block_begin(job.w);
    sc__block_add(job.w, SC__OP_COMPUTE, SC__FORWARD, SC__STREAM_COMPUTE, "piece")->cost =
        job.cost[kind][s][c][m];
    return sc__block_end(job.w);
}

static uint32_t forward(void *self, uint32_t s, uint32_t c, uint32_t m) {
    (void)self;
    return block_of(0, s, c, m);
}
static uint32_t backward(void *self, uint32_t s, uint32_t c, uint32_t m) {
    (void)self;
    return block_of(1, s, c, m);
}
static uint32_t wgrad(void *self, uint32_t s, uint32_t c, uint32_t m) {
    (void)self;
    return block_of(2, s, c, m);
}

static int64_t simulate(bool overlap) {
    struct sc__pipeline p = {.schedule = job.schedule,
                             .pp = job.p,
                             .vpp = job.v,
                             .micro_batches = job.m,
                             .run = job.run,
                             .message = 1 << 20,
                             .overlap = overlap,
                             .forward = forward,
                             .backward = backward,
                             .wgrad = wgrad};
    struct sc__cluster c;
    struct sc__net net;
    struct sc__sim sim;
    job.w = sc__workload_new(&ctx->arena, "test");
    job.w->mesh = sc__mesh(1, 1, 1, 1, job.p, 0);
    if (sc__pipeline_lower(ctx, job.w, &p) || sc__cluster_parse(ctx, "ideal", job.p, &c) ||
        sc__net_analytic(ctx, &c, job.w, &net) ||
        sc__simulate(ctx, job.w, &net, NULL, &sim))
        wrong(sc_error_text(ctx), 0);
    return sim.step;
}

static void random_costs(uint64_t seed) {
    int64_t *cost = &job.cost[0][0][0][0];
    for (size_t i = 0; i < sizeof job.cost / sizeof *cost; i++)
        cost[i] = 1 + (int64_t)(sc__random(&seed) % 1000000);
}

static void check_schedule(enum sc__schedule schedule, uint32_t most_chunks) {
    bool twice = schedule == SC__SCHEDULE_DUALPIPE;
    bool dual = schedule == SC__SCHEDULE_DUALPIPEV || twice;
    uint32_t step = twice ? 2 : 1;
    for (uint32_t p = dual ? 2 : 1; p <= STAGES; p += step)
        for (uint32_t v = most_chunks > 1 ? 2 : 1; v <= most_chunks; v++)
            for (uint32_t m = dual ? 2 * p : 1; m <= MICRO; m += step) {
                ctx = sc_open();
                make_orders(schedule, p, v, m);
                for (uint32_t s = 0; s < p; s++)
                    check_pieces(s);
                random_costs(p * 1000 + v * 100 + m);
                int64_t want = recursion();
                for (int overlap = 0; overlap < 2; overlap++) {
                    int64_t got = simulate(overlap);
                    if (got != want)
                        wrong(sc__format(&ctx->arena,
                                         "%lld ps instead of %lld (overlap %d)",
                                         (long long)got,
                                         (long long)want,
                                         overlap),
                              0);
                }
                sc_close(ctx);
            }
}

static void one_forward_one_backward(void **state) {
    (void)state;
    check_schedule(SC__SCHEDULE_1F1B, 1);
}

static void gpipe(void **state) {
    (void)state;
    check_schedule(SC__SCHEDULE_GPIPE, 1);
}

static void zero_bubble(void **state) {
    (void)state;
    check_schedule(SC__SCHEDULE_ZBH1, 1);
}

static void interleaved(void **state) {
    (void)state;
    check_schedule(SC__SCHEDULE_INTERLEAVED, CHUNKS);
}

/* What a stage of unequal chunks holds at most, slot after slot of its order. */
static double most_held(const struct sc__slot *slot, uint32_t count, const double *of) {
    double held = 0;
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        held += slot[i].kind == 'F' ? of[slot[i].chunk] : -of[slot[i].chunk];
        most = held > most ? held : most;
    }
    return most;
}

/* Chunks of 1, 16, 256 … : every mixture of micro-batches has a sum of its own. Two stages
 * of two chunks and eight micro-batches, by hand: the first has F0 F0 F1 F1 before it goes
 * on with F0, then B1: three of chunk 0 and two of chunk 1, later four and one. */
static void interleaved_holds(void **state) {
    (void)state;
    static const double by_hand[] = {10, 1};
    struct sc__turns usual = {0};
    assert_number(sc__schedule_most_held(2, 2, usual, 0, 8, by_hand), ==, 41);
    assert_number(sc__schedule_most_held(2, 2, usual, 1, 8, by_hand), ==, 30);
    uint64_t seed = 5;
    ctx = sc_open();
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t p = 2 + (uint32_t)(sc__random(&seed) % 6);
        uint32_t v = 2 + (uint32_t)(sc__random(&seed) % 3);
        uint32_t m = i & 1 ? p * (1 + (uint32_t)(sc__random(&seed) % 9))
                           : 1 + (uint32_t)(sc__random(&seed) % 40);
        struct sc__turns turns = {.ahead = (uint32_t)(sc__random(&seed) % 2)};
        double of[CHUNKS];
        for (uint32_t c = 0; c < v; c++)
            of[c] = (double)(1 << 4 * (sc__random(&seed) % 4));
        uint32_t count;
        uint32_t s = (uint32_t)(sc__random(&seed) % p);
        const struct sc__slot *slot = sc__schedule_order(&ctx->arena,
                                                         SC__SCHEDULE_INTERLEAVED,
                                                         p,
                                                         v,
                                                         turns,
                                                         s,
                                                         m,
                                                         &count);
        double got = sc__schedule_most_held(p, v, turns, s, m, of);
        double wanted = most_held(slot, count, of);
        if (got != wanted)
            fail_msg("%u stages of %u chunks, %u micro-batches, stage %u: %g, not %g",
                     p,
                     v,
                     m,
                     s,
                     got,
                     wanted);
    }
    sc_close(ctx);
}

static void dualpipev(void **state) {
    (void)state;
    check_schedule(SC__SCHEDULE_DUALPIPEV, 2);
}

/* Equal stages wait (p − 1)(tF + tB − tW), tB being the input gradient's: below
 * DeepSeek's (p − 1)(F&B + B − 3W), where a pair ends at once: F&B = tF + tB + tW and
 * B = tB + tW make that (p − 1)(tF + 2tB − tW). */
static void dualpipev_waits_as_published(void **state) {
    (void)state;
    static const int64_t times[][3] = {{1, 1, 1}, {4, 4, 3}, {3, 3, 1}};
    for (uint32_t p = 2; p <= STAGES; p++)
        for (unsigned t = 0; t < 3; t++) {
            const int64_t *one = times[t];
            ctx = sc_open();
            make_orders(SC__SCHEDULE_DUALPIPEV, p, 2, 3 * p);
            for (unsigned kind = 0; kind < 3; kind++)
                for (size_t i = 0; i < STAGES * CHUNKS * MICRO; i++)
                    (&job.cost[kind][0][0][0])[i] = one[kind];
            int64_t work = 2 * 3 * (int64_t)p * (one[0] + one[1] + one[2]);
            assert_int_equal(recursion() - work, (p - 1) * (one[0] + one[1] - one[2]));
            assert_true(recursion() - work <= (p - 1) * (one[0] + 2 * one[1] - one[2]));
            sc_close(ctx);
        }
}

static void dualpipe(void **state) {
    (void)state;
    check_schedule(SC__SCHEDULE_DUALPIPE, 2);
}

/* As its V of half the stages: (p/2 − 1)(tF + tB − tW), below DeepSeek's
 * (p/2 − 1)(F&B + B − 3W), where a pair ends at once (arXiv 2412.19437, table 2). */
static void dualpipe_waits_as_published(void **state) {
    (void)state;
    static const int64_t times[][3] = {{1, 1, 1}, {4, 4, 3}, {3, 3, 1}};
    for (uint32_t p = 2; p <= STAGES; p += 2)
        for (unsigned t = 0; t < 3; t++) {
            const int64_t *one = times[t];
            ctx = sc_open();
            make_orders(SC__SCHEDULE_DUALPIPE, p, 2, 3 * p);
            for (unsigned kind = 0; kind < 3; kind++)
                for (size_t i = 0; i < STAGES * CHUNKS * MICRO; i++)
                    (&job.cost[kind][0][0][0])[i] = one[kind];
            int64_t work = 3 * (int64_t)p * (one[0] + one[1] + one[2]);
            int64_t waits = recursion() - work;
            assert_int_equal(waits, (p / 2 - 1) * (one[0] + one[1] - one[2]));
            int64_t pair = one[0] + one[1] + one[2];
            int64_t whole = one[1] + one[2];
            assert_true(waits <= (p / 2 - 1) * (pair + whole - 3 * one[2]));
            sc_close(ctx);
        }
}

/* ---- several runs through the pipeline in a step ---- */

enum { RUNS = 3 };

/* What each run takes alone, with the costs of its own micro-batches. */
static int64_t sum_of_runs(const struct pipe *whole) {
    int64_t sum = 0;
    for (uint32_t r = 0; r < RUNS; r++) {
        make_orders(whole->schedule, whole->p, whole->v, whole->run);
        for (int kind = 0; kind < 3; kind++)
            for (uint32_t s = 0; s < STAGES; s++)
                for (uint32_t c = 0; c < CHUNKS; c++)
                    memcpy(job.cost[kind][s][c],
                           &whole->cost[kind][s][c][r * whole->run],
                           whole->run * sizeof(int64_t));
        sum += recursion();
    }
    return sum;
}

static void check_runs(enum sc__schedule schedule, uint32_t v) {
    static struct pipe whole;
    for (uint32_t p = 1; p <= STAGES; p++)
        for (uint32_t run = 1; run <= MICRO / RUNS; run++) {
            ctx = sc_open();
            make_runs(schedule, p, v, RUNS * run, run);
            for (uint32_t s = 0; s < p; s++)
                check_pieces(s);
            random_costs(p * 100 + run);
            whole = job;
            int64_t got = simulate(false);
            int64_t ahead = simulate(true);
            int64_t want = sum_of_runs(&whole);
            assert_int_equal(got, want);
            assert_int_equal(ahead, want);
            sc_close(ctx);
        }
}

/* The first stage ends last and begins the next run: nothing of two runs overlaps. */
static void runs_empty_the_pipeline(void **state) {
    (void)state;
    check_runs(SC__SCHEDULE_1F1B, 1);
    check_runs(SC__SCHEDULE_GPIPE, 1);
    check_runs(SC__SCHEDULE_INTERLEAVED, 2);
    check_runs(SC__SCHEDULE_INTERLEAVED, CHUNKS);
}

/* Equal stages: a run of n takes (n + p − 1)(tF + tB). */
static void runs_of_equal_stages(void **state) {
    (void)state;
    static const enum sc__schedule schedules[] = {SC__SCHEDULE_1F1B, SC__SCHEDULE_GPIPE};
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t p = 1; p <= STAGES; p++)
            for (uint32_t run = 1; run <= MICRO / RUNS; run++) {
                ctx = sc_open();
                make_runs(schedules[k], p, 1, RUNS * run, run);
                for (size_t i = 0; i < STAGES * CHUNKS * MICRO; i++) {
                    (&job.cost[0][0][0][0])[i] = 2;
                    (&job.cost[1][0][0][0])[i] = 5;
                }
                assert_int_equal(simulate(false), RUNS * (run + p - 1) * (2 + 5));
                sc_close(ctx);
            }
}

/* Where weight gradients are put off a run may begin beside those of the one before; the
 * order is one that can be run, and each piece is there once. */
static void runs_of_parted_gradients(void **state) {
    (void)state;
    static const struct {
        enum sc__schedule schedule;
        uint32_t p;
        uint32_t v;
        uint32_t run;
    } cases[] = {{SC__SCHEDULE_ZBH1, 4, 1, 6},
                 {SC__SCHEDULE_ZBH1, 6, 1, 2},
                 {SC__SCHEDULE_DUALPIPEV, 3, 2, 7},
                 {SC__SCHEDULE_DUALPIPE, 4, 2, 8}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        ctx = sc_open();
        make_runs(cases[i].schedule,
                  cases[i].p,
                  cases[i].v,
                  RUNS * cases[i].run,
                  cases[i].run);
        for (uint32_t s = 0; s < job.p; s++)
            check_pieces(s);
        random_costs(i + 1);
        int64_t want = recursion();
        assert_int_equal(simulate(false), want);
        assert_int_equal(simulate(true), want);
        sc_close(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_forward_one_backward),
                                       cmocka_unit_test(gpipe),
                                       cmocka_unit_test(zero_bubble),
                                       cmocka_unit_test(interleaved),
                                       cmocka_unit_test(interleaved_holds),
                                       cmocka_unit_test(dualpipev),
                                       cmocka_unit_test(dualpipe),
                                       cmocka_unit_test(dualpipe_waits_as_published),
                                       cmocka_unit_test(runs_empty_the_pipeline),
                                       cmocka_unit_test(runs_of_equal_stages),
                                       cmocka_unit_test(runs_of_parted_gradients),
                                       cmocka_unit_test(dualpipev_waits_as_published)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
