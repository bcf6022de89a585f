/* Schedules against closed forms and an independent recursion. */
#include "test.h"

#include "lower/pipeline.h"
#include "simulate/simulate.h"

struct stage_times {
    /* blocks by stage */
    uint32_t forward[64];
    uint32_t backward[64];
    uint32_t weight[64];
    int64_t f[64];
    int64_t b[64];
    int64_t w[64];
};

static uint32_t give_f(void *self, uint32_t s, uint32_t c, uint32_t m) {
    (void)c;
    (void)m;
    return ((struct stage_times *)self)->forward[s];
}
static uint32_t give_b(void *self, uint32_t s, uint32_t c, uint32_t m) {
    (void)c;
    (void)m;
    return ((struct stage_times *)self)->backward[s];
}
static uint32_t give_w(void *self, uint32_t s, uint32_t c, uint32_t m) {
    (void)c;
    (void)m;
    return ((struct stage_times *)self)->weight[s];
}

static uint32_t one_op(struct sc__workload *w, int64_t cost, const char *name) {
    sc__block_begin(w);
    sc__block_add(w, SC__OP_COMPUTE, SC__FORWARD, 0, name)->cost = cost;
    return sc__block_end(w);
}

/* Simulates a pipeline of these stage times; message cost comes with the cluster. */
static int64_t simulate(enum sc__schedule schedule,
                        uint32_t pp,
                        uint32_t vpp,
                        uint32_t m,
                        struct stage_times *t,
                        const char *cluster,
                        int64_t *bubble0) {
    sc_context *ctx = sc_open();
    struct sc__workload *w = sc__workload_new(&ctx->arena, "test");
    struct sc__cluster c;
    struct sc__net net;
    struct sc__sim sim;
    w->mesh = sc__mesh(1, 1, 1, 1, pp, 0);
    for (uint32_t s = 0; s < pp; s++) {
        t->forward[s] = one_op(w, t->f[s], "f");
        t->backward[s] = one_op(w, t->b[s], "b");
        t->weight[s] = one_op(w, t->w[s], "w");
    }
    struct sc__pipeline p = {.schedule = schedule,
                             .pp = pp,
                             .vpp = vpp,
                             .micro_batches = m,
                             .message = 1 << 20,
                             .overlap = schedule == SC__SCHEDULE_INTERLEAVED,
                             .forward = give_f,
                             .backward = give_b,
                             .wgrad = give_w,
                             .self = t};
    assert_int_equal(sc__pipeline_lower(ctx, w, &p), SC_OK);
    assert_int_equal(sc__cluster_parse(ctx, cluster, pp, &c), SC_OK);
    assert_int_equal(sc__net_analytic(ctx, &c, w, &net), SC_OK);
    sc_status status = sc__simulate(ctx, w, &net, NULL, &sim);
    if (status != SC_OK)
        fail_msg("pp %u vpp %u m %u: %s", pp, vpp, m, sc_error_text(ctx));
    for (uint32_t k = 0; k < pp; k++) {
        const struct sc__account *a = &sim.classes[k].account;
        int64_t sum =
            a->compute + a->bubble + a->skew + a->other + a->exposed[w->group_count];
        assert_true(sum == sim.step);
    }
    if (bubble0)
        *bubble0 = sim.classes[0].account.bubble;
    int64_t step = sim.step;
    sc_close(ctx);
    return step;
}

/* The recursion: an operation of a stage starts when the one before it on the
 * stage has ended and its input is there. Orders are written out anew. */
static int64_t recursion(bool gpipe, uint32_t p, uint32_t m, const struct stage_times *t) {
    static int64_t f_end[64][64];
    static int64_t b_end[64][64];
    static char kind[64][128];
    static uint32_t micro[64][128];
    uint32_t done[64] = {0};
    int64_t clock[64] = {0};
    int64_t last = 0;
    for (uint32_t s = 0; s < p; s++) {
        uint32_t n = 0;
        uint32_t f = 0;
        uint32_t b = 0;
        uint32_t ahead = gpipe ? m : p - s < m ? p - s : m;
        while (b < m) {
            bool forward = f < m && f - b < ahead;
            kind[s][n] = forward ? 'F' : 'B';
            micro[s][n++] = forward ? f++ : b++;
        }
    }
    memset(f_end, 0xff, sizeof f_end);
    memset(b_end, 0xff, sizeof b_end);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t s = 0; s < p; s++)
            for (; done[s] < 2 * m; done[s]++, moved = true) {
                uint32_t i = micro[s][done[s]];
                bool forward = kind[s][done[s]] == 'F';
                int64_t input = forward     ? (s ? f_end[s - 1][i] : 0)
                                : s + 1 < p ? b_end[s + 1][i]
                                            : f_end[s][i];
                if (input < 0)
                    break;
                int64_t start = clock[s] > input ? clock[s] : input;
                clock[s] = start + (forward ? t->f[s] : t->b[s]);
                (forward ? f_end : b_end)[s][i] = clock[s];
            }
    }
    for (uint32_t s = 0; s < p; s++) {
        assert_int_equal(done[s], 2 * m);
        if (clock[s] > last)
            last = clock[s];
    }
    return last;
}

static void random_stages_equal_the_recursion(void **state) {
    (void)state;
    uint64_t seed = 7;
    struct stage_times t;
    for (uint32_t p = 1; p <= 32; p++)
        for (uint32_t m = 1; m <= 64; m += m < 8 ? 1 : 7) {
            for (uint32_t s = 0; s < p; s++) {
                t.f[s] = 1 + (int64_t)(sc__random(&seed) % 1000000);
                t.b[s] = 1 + (int64_t)(sc__random(&seed) % 2000000);
                t.w[s] = 0;
            }
            assert_true(simulate(SC__SCHEDULE_1F1B, p, 1, m, &t, "ideal", NULL) ==
                        recursion(false, p, m, &t));
            assert_true(simulate(SC__SCHEDULE_GPIPE, p, 1, m, &t, "ideal", NULL) ==
                        recursion(true, p, m, &t));
        }
}

static void set_equal(struct stage_times *t, uint32_t p, int64_t f, int64_t b, int64_t w) {
    for (uint32_t s = 0; s < p; s++) {
        t->f[s] = f;
        t->b[s] = b;
        t->w[s] = w;
    }
}

static void equal_stages_have_the_known_bubble(void **state) {
    (void)state;
    struct stage_times t;
    for (uint32_t p = 1; p <= 32; p++)
        for (uint32_t m = 1; m <= 64; m += 3) {
            int64_t bubble;
            set_equal(&t, p, 3000, 5000, 0);
            assert_true(simulate(SC__SCHEDULE_1F1B, p, 1, m, &t, "ideal", &bubble) ==
                        (int64_t)(m + p - 1) * 8000);
            assert_true(bubble == (int64_t)(p - 1) * 8000);
            assert_true(simulate(SC__SCHEDULE_GPIPE, p, 1, m, &t, "ideal", &bubble) ==
                        (int64_t)(m + p - 1) * 8000);
        }
}

/* (p − 1)(tf + tb)/v where micro-batches come in whole groups of p; block
 * times here are those of a chunk. */
static void interleaving_divides_the_bubble(void **state) {
    (void)state;
    struct stage_times t;
    for (uint32_t p = 2; p <= 16; p++)
        for (uint32_t v = 2; v <= 8; v++)
            for (uint32_t groups = 1; groups <= 3; groups++) {
                int64_t bubble;
                set_equal(&t, p, 3000, 5000, 0);
                int64_t step = simulate(SC__SCHEDULE_INTERLEAVED,
                                        p,
                                        v,
                                        groups * p,
                                        &t,
                                        "ideal",
                                        &bubble);
                assert_true(bubble == (int64_t)(p - 1) * 8000);
                assert_true(step == (int64_t)groups * p * v * 8000 + bubble);
            }
}

/* Any number of micro-batches runs, and is bounded by work below and by
 * work without overlap above. */
static void interleaving_takes_any_number_of_micro_batches(void **state) {
    (void)state;
    struct stage_times t;
    for (uint32_t p = 2; p <= 9; p++)
        for (uint32_t v = 2; v <= 5; v++)
            for (uint32_t m = 1; m <= 2 * p + 3; m++) {
                set_equal(&t, p, 3000, 5000, 0);
                int64_t work = (int64_t)m * v * 8000;
                int64_t step =
                    simulate(SC__SCHEDULE_INTERLEAVED, p, v, m, &t, "ideal", NULL);
                assert_true(step >= work + (int64_t)(p - 1) * 8000 && step <= work * p);
                simulate(SC__SCHEDULE_INTERLEAVED, p, v, m, &t, "dgx-h100", NULL);
            }
}

/* Qi et al., table 1: ZB-H1 leaves (p − 1)(tF + tB − tW). */
static void zero_bubble_h1_has_its_published_bubble(void **state) {
    (void)state;
    struct stage_times t;
    for (uint32_t p = 2; p <= 16; p++) {
        int64_t bubble;
        set_equal(&t, p, 4000, 4000, 4000);
        int64_t step = simulate(SC__SCHEDULE_ZBH1, p, 1, 3 * p, &t, "ideal", &bubble);
        assert_true(bubble == (int64_t)(p - 1) * 4000);
        assert_true(step == (int64_t)3 * p * 12000 + bubble);
    }
}

/* With a cost per message a pipeline cannot be faster than its critical path:
 * one micro-batch down and up, and the rest on the slowest stage. */
static void messages_cost_what_they_cost(void **state) {
    (void)state;
    struct stage_times t;
    sc_context *ctx = sc_open();
    struct sc__cluster c;
    assert_int_equal(sc__cluster_parse(ctx, "dgx-h100:8", 8, &c), SC_OK);
    int64_t message = sc__message_time(&c, true, 1 << 20);
    assert_true(message > 0);
    set_equal(&t, 4, 3000000000, 5000000000, 0);
    /* one micro-batch: 3 messages down, 3 up, nothing overlaps */
    assert_true(simulate(SC__SCHEDULE_1F1B, 4, 1, 1, &t, "dgx-h100", NULL) ==
                4 * (int64_t)8000000000 + 6 * message);
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_stages_equal_the_recursion),
        cmocka_unit_test(equal_stages_have_the_known_bubble),
        cmocka_unit_test(interleaving_divides_the_bubble),
        cmocka_unit_test(interleaving_takes_any_number_of_micro_batches),
        cmocka_unit_test(zero_bubble_h1_has_its_published_bubble),
        cmocka_unit_test(messages_cost_what_they_cost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
