/* Zero-bubble orders against the paper's closed forms, and against a recursion
 * that knows only what depends on what. */
#include "test.h"

#include <math.h>

#include "context.h"
#include "lower/schedule_zb.h"
#include "simulate/simulate.h"

enum { STAGES = 16, BATCHES = 64 };

struct run {
    struct sc__zb z;
    struct sc__zb_times times[2 * STAGES];
    int64_t message[STAGES];
    int64_t ends[3][STAGES][2][BATCHES]; /* of F, B, W; -1: not yet */
    int64_t begin[STAGES];
    int64_t end[STAGES];
    double most; /* activations held by any stage at any time */
};

static struct run run; /* of the test that runs */

static void set_up(struct run *r,
                   uint32_t p,
                   uint32_t chunks,
                   uint32_t m,
                   int64_t f,
                   int64_t b,
                   int64_t w) {
    memset(r, 0, sizeof *r);
    r->z = (struct sc__zb){.pp = p,
                           .chunks = chunks,
                           .micro_batches = m,
                           .limit = 2 * p,
                           .kept = 1,
                           .message = r->message,
                           .times = r->times};
    for (uint32_t i = 0; i < p * chunks; i++)
        r->times[i] = (struct sc__zb_times){f, b, w};
}

static void randomise(struct run *r, uint64_t *seed) {
    static const double kept[] = {0.3, 0.7, 1};
    r->z.kept = kept[sc__random(seed) % 3];
    for (uint32_t i = 0; i < r->z.pp; i++)
        r->message[i] = (int64_t)(sc__random(seed) % 50);
    for (uint32_t i = 0; i < r->z.pp * r->z.chunks; i++)
        r->times[i] = (struct sc__zb_times){1 + (int64_t)(sc__random(seed) % 1000),
                                            1 + (int64_t)(sc__random(seed) % 1000),
                                            1 + (int64_t)(sc__random(seed) % 1000)};
}

/* When the input of an operation is there; -1: not yet. The parts of the model
 * are numbered in the order of the data. */
static int64_t input_of(const struct run *r, uint32_t stage, const struct sc__slot *x) {
    uint32_t p = r->z.pp;
    uint32_t parts = p * r->z.chunks;
    uint32_t part = x->chunk ? 2 * p - 1 - stage : stage;
    uint32_t other;
    int kind = x->kind == 'F' ? 0 : 1;
    if (x->kind == 'W')
        return r->ends[1][stage][x->chunk][x->micro_batch];
    if (kind == 0 && part == 0)
        return 0;
    if (kind == 1 && part == parts - 1)
        return r->ends[0][stage][x->chunk][x->micro_batch];
    other = kind == 0 ? part - 1 : part + 1;
    uint32_t from = other < p ? other : 2 * p - 1 - other;
    int64_t end = r->ends[kind][from][other >= p][x->micro_batch];
    return end < 0 ? -1
                   : end + (from == stage ? 0 : r->message[from < stage ? from : stage]);
}

static bool step_on(struct run *r, uint32_t stage, const struct sc__slot *x, uint32_t at) {
    const struct sc__zb_times *t = &r->times[stage * r->z.chunks + x->chunk];
    int64_t input = input_of(r, stage, x);
    int64_t start = input > r->end[stage] ? input : r->end[stage];
    int kind = x->kind == 'F' ? 0 : x->kind == 'B' ? 1 : 2;
    if (input < 0)
        return false;
    assert_true(r->ends[kind][stage][x->chunk][x->micro_batch] < 0); /* once */
    if (!at)
        r->begin[stage] = start;
    r->end[stage] = start + (kind == 0 ? t->f : kind == 1 ? t->b : t->w);
    r->ends[kind][stage][x->chunk][x->micro_batch] = r->end[stage];
    return true;
}

static void count_memory(struct run *r, const struct sc__slot *slots, uint32_t count) {
    double held = 0;
    for (uint32_t i = 0; i < count; i++) {
        held += slots[i].kind == 'F'   ? 1
                : slots[i].kind == 'B' ? r->z.kept - 1
                                       : -r->z.kept;
        if (held > r->most)
            r->most = held;
    }
    assert_true(fabs(held) < 1e-6);
}

/* Runs the orders as early as they can, and gives the longest stage. Every
 * operation runs once and after what it needs, or this fails. */
static int64_t replay(struct run *r, struct sc__slot *const *slots) {
    uint32_t done[STAGES] = {0};
    uint32_t count = 3 * r->z.chunks * r->z.micro_batches;
    int64_t period = 0;
    memset(r->ends, 0xff, sizeof r->ends);
    memset(r->end, 0, sizeof r->end);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t s = 0; s < r->z.pp; s++)
            while (done[s] < count && step_on(r, s, &slots[s][done[s]], done[s])) {
                done[s]++;
                moved = true;
            }
    }
    for (uint32_t s = 0; s < r->z.pp; s++) {
        assert_int_equal(done[s], count);
        count_memory(r, slots[s], count);
        if (r->end[s] - r->begin[s] > period)
            period = r->end[s] - r->begin[s];
    }
    return period;
}

/* 1F1B with the same times, chunks of a stage one after another. */
static int64_t one_f_one_b(const struct run *r) {
    int64_t f_end[STAGES][BATCHES];
    int64_t b_end[STAGES][BATCHES];
    int64_t clock[STAGES] = {0};
    int64_t begin[STAGES];
    int64_t period = 0;
    uint32_t p = r->z.pp;
    uint32_t m = r->z.micro_batches;
    uint32_t f[STAGES] = {0};
    uint32_t b[STAGES] = {0};
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t s = 0; s < p; s++)
            for (;;) {
                struct sc__zb_times t = r->times[s * r->z.chunks];
                if (r->z.chunks == 2) {
                    t.f += r->times[2 * s + 1].f;
                    t.b += r->times[2 * s + 1].b;
                    t.w += r->times[2 * s + 1].w;
                }
                bool forward = f[s] < m && f[s] - b[s] < p - s;
                uint32_t i = forward ? f[s] : b[s];
                if (!forward && i == m)
                    break;
                if (forward ? s && f[s - 1] <= i : s + 1 < p && b[s + 1] <= i)
                    break;
                int64_t input = forward     ? (s ? f_end[s - 1][i] + r->message[s - 1] : 0)
                                : s + 1 < p ? b_end[s + 1][i] + r->message[s]
                                            : f_end[s][i];
                int64_t start = input > clock[s] ? input : clock[s];
                if (!f[s])
                    begin[s] = start;
                clock[s] = start + (forward ? t.f : t.b + t.w);
                if (forward) {
                    f_end[s][i] = clock[s];
                    f[s]++;
                } else {
                    b_end[s][i] = clock[s];
                    b[s]++;
                }
                moved = true;
            }
    }
    for (uint32_t s = 0; s < p; s++)
        if (clock[s] - begin[s] > period)
            period = clock[s] - begin[s];
    return period;
}
static int64_t find(struct run *r, struct sc__zb_order *o) {
    sc__schedule_zb(&ctx->arena, &r->z, o);
    return replay(r, o->slots);
}

/* Qi et al., table 1 and section 3: with tF = tB = tW nothing is left of the
 * bubble, from 2p − 1 micro-batches on; ZB-2p holds 2p activations for it,
 * ZB-V as much as 1F1B: p of a stage, 2p of a chunk. */
static void equal_times_leave_no_bubble(void **state) {
    (void)state;
    for (uint32_t p = 2; p <= STAGES; p++)
        for (uint32_t chunks = 1; chunks <= 2; chunks++)
            for (uint32_t m = 2 * p - 1; m <= 2 * p + 8; m++) {
                struct sc__zb_order o;
                set_up(&run, p, chunks, m, 100, 100, 100);
                assert_true(find(&run, &o) == (int64_t)m * 300 * chunks);
                assert_true(run.most <= 2 * p);
            }
}

/* The same table: ZB-H2 leaves (p − 1)(tF + tB − 2tW), ZB-H1 with half the
 * memory (p − 1)(tF + tB − tW). Orders for the times at hand are no worse. */
static void other_times_leave_no_more_than_the_closed_form(void **state) {
    (void)state;
    for (uint32_t p = 2; p <= STAGES; p++)
        for (int64_t w = 50; w <= 100; w += 10)
            for (int64_t b = 80; b <= 160; b += 20) {
                struct sc__zb_order o;
                uint32_t m = 3 * p;
                int64_t left = (int64_t)(p - 1) * (100 + b - 2 * w);
                set_up(&run, p, 1, m, 100, b, w);
                assert_true(find(&run, &o) <=
                            (int64_t)m * (100 + b + w) + (left > 0 ? left : 0));
            }
}

/* Whatever the times, any number of stages and micro-batches runs through, in
 * the time the scheduler says, within the memory, and sooner than 1F1B. */
static void random_times(uint32_t chunks, double tolerance) {
    uint64_t seed = 11;
    for (uint32_t p = 2; p <= 8; p++)
        for (uint32_t m = 1; m <= 24; m++)
            for (int k = 0; k < 4; k++) {
                struct sc__zb_order o;
                set_up(&run, p, chunks, m, 0, 0, 0);
                randomise(&run, &seed);
                int64_t period = find(&run, &o);
                assert_true(period == o.period);
                assert_true(run.most <= 2 * p + 1e-9);
                assert_true((double)period <= (1 + tolerance) * (double)one_f_one_b(&run));
            }
}

static void random_lines_are_valid(void **state) {
    (void)state;
    random_times(1, 0);
}

/* ZB-H1 as it stands, played with the same times. */
static void lines_are_never_slower_than_h1(void **state) {
    (void)state;
    uint64_t seed = 31;
    for (uint32_t p = 2; p <= 8; p++)
        for (uint32_t m = 1; m <= 24; m++) {
            struct sc__zb_order o;
            struct sc__slot *h1[STAGES];
            uint32_t count;
            set_up(&run, p, 1, m, 0, 0, 0);
            randomise(&run, &seed);
            int64_t period = find(&run, &o);
            for (uint32_t s = 0; s < p; s++)
                h1[s] = sc__schedule_order(&ctx->arena,
                                           SC__SCHEDULE_ZBH1,
                                           p,
                                           1,
                                           (struct sc__turns){0},
                                           s,
                                           m,
                                           &count);
            assert_true(period <= replay(&run, h1));
        }
}

/* The V is made for chunks of like times. With times a thousandfold apart a
 * slow chunk is passed at another moment than in 1F1B: rarely that is later
 * (6 of 10,000 tries, by 6 % at most). */
static void random_vs_are_valid(void **state) {
    (void)state;
    random_times(2, 0.1);
}

static void like_chunks_are_never_slower(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (uint32_t p = 2; p <= 8; p++)
        for (uint32_t m = 1; m <= 24; m++) {
            struct sc__zb_order o;
            set_up(&run, p, 2, m, 0, 0, 0);
            for (uint32_t i = 0; i < 2 * p; i++)
                run.times[i] =
                    (struct sc__zb_times){700 + (int64_t)(sc__random(&seed) % 300),
                                          700 + (int64_t)(sc__random(&seed) % 300),
                                          700 + (int64_t)(sc__random(&seed) % 300)};
            assert_true(find(&run, &o) <= one_f_one_b(&run));
        }
}

/* When a stage is through with its reductions: one after another on a stream of their
 * own, each from the last weight gradient of its chunk on, but for what went before. */
static int64_t reduced(const struct run *r, uint32_t stage) {
    const int64_t last[2] = {r->ends[2][stage][0][r->z.micro_batches - 1],
                             r->ends[2][stage][1][r->z.micro_batches - 1]};
    uint32_t first = r->z.chunks == 2 && last[1] < last[0];
    int64_t end = 0;
    for (uint32_t i = 0; i < r->z.chunks; i++) {
        uint32_t c = i ? 1 - first : first;
        const struct sc__zb_times *t = &r->times[stage * r->z.chunks + c];
        int64_t at_best = last[c] + t->reduce_late;
        end = end + t->reduce > at_best ? end + t->reduce : at_best;
    }
    return end;
}

static int64_t with_reductions(struct run *r, struct sc__slot **slots) {
    int64_t period = replay(r, slots);
    for (uint32_t s = 0; s < r->z.pp; s++)
        if (reduced(r, s) - r->begin[s] > period)
            period = reduced(r, s) - r->begin[s];
    return period;
}

/* The order is chosen with them in view: never slower than one that is not. */
static void reductions_are_in_the_period(void **state) {
    (void)state;
    uint64_t seed = 41;
    int better = 0;
    for (uint32_t p = 2; p <= 6; p++)
        for (uint32_t m = p; m <= 8 * p; m += 5)
            for (uint32_t chunks = 1; chunks <= 2; chunks++) {
                struct sc__zb_order with;
                struct sc__zb_order without;
                struct sc__zb_times times[2 * STAGES];
                set_up(&run, p, chunks, m, 0, 0, 0);
                randomise(&run, &seed);
                for (uint32_t i = 0; i < p * chunks; i++) {
                    run.times[i].reduce = (int64_t)(sc__random(&seed) % 4000);
                    run.times[i].reduce_late = run.times[i].reduce / 2;
                }
                find(&run, &with);
                int64_t period = with_reductions(&run, with.slots);
                assert_int_equal(period, with.period);
                memcpy(times, run.times, sizeof times);
                for (uint32_t i = 0; i < p * chunks; i++)
                    run.times[i].reduce = run.times[i].reduce_late = 0;
                find(&run, &without);
                memcpy(run.times, times, sizeof times);
                int64_t other = with_reductions(&run, without.slots);
                assert_true(period <= other);
                better += period < other;
            }
    assert_true(better > 0);
}

/* Recomputation: weight gradients need more than the forward left. They are
 * then done at once. */
static void large_fragments_do_not_pile_up(void **state) {
    (void)state;
    for (uint32_t p = 2; p <= 8; p++)
        for (uint32_t m = 1; m <= 24; m += 3) {
            struct sc__zb_order o;
            set_up(&run, p, 1, m, 100, 200, 100);
            run.z.kept = 16;
            find(&run, &o);
            assert_true(run.most <= 2 * p + 16);
        }
}

/* ---- in the simulator ---- */

struct blocks {
    uint32_t id[3][STAGES][2];
};

static uint32_t give_f(void *self, uint32_t s, uint32_t c, uint32_t m) {
    (void)m;
    return ((struct blocks *)self)->id[0][s][c];
}
static uint32_t give_b(void *self, uint32_t s, uint32_t c, uint32_t m) {
    (void)m;
    return ((struct blocks *)self)->id[1][s][c];
}
static uint32_t give_w(void *self, uint32_t s, uint32_t c, uint32_t m) {
    (void)m;
    return ((struct blocks *)self)->id[2][s][c];
}

static uint32_t one_op(struct sc__workload *w, int64_t cost) {
    sc__block_begin(w);
    sc__block_add(w, SC__OP_COMPUTE, SC__FORWARD, 0, "x")->cost = cost;
    return sc__block_end(w);
}

static void make_blocks(struct sc__workload *w, const struct run *r, struct blocks *b) {
    for (uint32_t i = 0; i < r->z.pp * r->z.chunks; i++) {
        uint32_t s = i / r->z.chunks;
        uint32_t c = i % r->z.chunks;
        b->id[0][s][c] = one_op(w, r->times[i].f);
        b->id[1][s][c] = one_op(w, r->times[i].b);
        b->id[2][s][c] = one_op(w, r->times[i].w);
    }
}

static void check_accounts(const struct sc__workload *w, const struct sc__sim *sim) {
    for (uint32_t k = 0; k < w->class_count; k++) {
        const struct sc__account *a = &sim->classes[k].account;
        assert_true(a->bubble >= 0);
        assert_true(a->compute + a->bubble + a->skew + a->other +
                        a->exposed[w->group_count] ==
                    sim->step);
    }
}

static int64_t simulate(const struct run *r, const char *cluster, bool overlap) {
    sc_context *inner = sc_open();
    struct sc__workload *w = sc__workload_new(&inner->arena, "test");
    struct blocks blocks;
    struct sc__cluster c;
    struct sc__net net;
    struct sc__sim sim;
    w->mesh = sc__mesh(1, 1, 1, 1, r->z.pp, 0);
    make_blocks(w, r, &blocks);
    struct sc__pipeline p = {.schedule =
                                 r->z.chunks == 2 ? SC__SCHEDULE_ZBV : SC__SCHEDULE_ZB2P,
                             .pp = r->z.pp,
                             .vpp = r->z.chunks,
                             .micro_batches = r->z.micro_batches,
                             .message = 1 << 10,
                             .overlap = overlap,
                             .forward = give_f,
                             .backward = give_b,
                             .wgrad = give_w,
                             .kept = r->z.kept,
                             .self = &blocks};
    assert_int_equal(sc__pipeline_lower(inner, w, &p), SC_OK);
    assert_int_equal(sc__cluster_parse(inner, cluster, r->z.pp, &c), SC_OK);
    assert_int_equal(sc__net_analytic(inner, &c, w, &net), SC_OK);
    sc_status status = sc__simulate(inner, w, &net, NULL, &sim);
    if (status != SC_OK)
        fail_msg("pp %u chunks %u m %u: %s",
                 r->z.pp,
                 r->z.chunks,
                 r->z.micro_batches,
                 sc_error_text(inner));
    check_accounts(w, &sim);
    sc_close(inner);
    return sim.step;
}

/* The step of the simulator is the distance of two steps: on a free network
 * the very time of the recursion. On a real one nothing locks. */
static void simulated_steps_follow_each_other(void **state) {
    (void)state;
    uint64_t seed = 23;
    for (uint32_t p = 2; p <= 8; p++)
        for (uint32_t m = 1; m <= 24; m += m < 6 ? 1 : 3)
            for (uint32_t chunks = 1; chunks <= 2; chunks++) {
                struct sc__zb_order o;
                set_up(&run, p, chunks, m, 0, 0, 0);
                randomise(&run, &seed);
                memset(run.message, 0, sizeof run.message);
                int64_t period = find(&run, &o);
                assert_true(simulate(&run, "ideal", true) == period);
                assert_true(simulate(&run, "ideal", false) == period);
                assert_true(simulate(&run, "dgx-h100", m & 1) >= period);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_times_leave_no_bubble),
        cmocka_unit_test(other_times_leave_no_more_than_the_closed_form),
        cmocka_unit_test(random_lines_are_valid),
        cmocka_unit_test(lines_are_never_slower_than_h1),
        cmocka_unit_test(random_vs_are_valid),
        cmocka_unit_test(like_chunks_are_never_slower),
        cmocka_unit_test(reductions_are_in_the_period),
        cmocka_unit_test(large_fragments_do_not_pile_up),
        cmocka_unit_test(simulated_steps_follow_each_other)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
