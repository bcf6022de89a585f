/* Pipelines of equal blocks against their closed forms. */
#include "test.h"

#include "lower/pipeline_replay.h"

enum { F = 1000000, B = 2000000, MESSAGE = 70000, MOST = 64 };

static int64_t replay_blocks(enum sc__schedule schedule,
                             uint32_t pp,
                             uint32_t vpp,
                             uint32_t m,
                             int64_t message,
                             double tax,
                             struct sc__block_cost forward,
                             struct sc__block_cost backward) {
    sc_context *ctx = sc_open();
    struct sc__chunk_costs chunks[MOST];
    int64_t messages[MOST];
    int64_t after[MOST] = {0};
    for (uint32_t i = 0; i < MOST; i++) {
        chunks[i] = (struct sc__chunk_costs){.forward = forward,
                                             .forward_first = forward,
                                             .backward = backward,
                                             .backward_last = backward};
        messages[i] = message;
    }
    const struct sc__pipeline_costs costs = {.schedule = schedule,
                                             .pp = pp,
                                             .vpp = vpp,
                                             .micro_batches = m,
                                             .overlap = true,
                                             .tax = tax,
                                             .exchange_taxes = tax > 0,
                                             .chunks = chunks,
                                             .message = messages,
                                             .after = after};
    int64_t least = sc__pipeline_replay(&ctx->arena, &costs, NULL);
    sc_close(ctx);
    return least;
}

static int64_t replay(enum sc__schedule schedule,
                      uint32_t pp,
                      uint32_t vpp,
                      uint32_t m,
                      int64_t message,
                      double tax) {
    const struct sc__block_cost forward = {F, INT64_MAX};
    const struct sc__block_cost backward = {B, INT64_MAX};
    return replay_blocks(schedule, pp, vpp, m, message, tax, forward, backward);
}

static void test_equal_stages(void **state) {
    (void)state;
    for (uint32_t pp = 2; pp <= 8; pp *= 2)
        for (uint32_t m = pp; m <= 4 * pp; m += pp) {
            int64_t both = F + B;
            assert_int_equal(replay(SC__SCHEDULE_1F1B, pp, 1, m, 0, 0),
                             (m + pp - 1) * both);
            assert_int_equal(replay(SC__SCHEDULE_GPIPE, pp, 1, m, 0, 0),
                             (m + pp - 1) * both);
            for (uint32_t vpp = 2; vpp <= 4; vpp++)
                assert_int_equal(replay(SC__SCHEDULE_INTERLEAVED, pp, vpp, m, 0, 0),
                                 (m * vpp + pp - 1) * both);
        }
}

/* Each run of n micro-batches empties the pipeline. */
static void test_runs(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    const struct sc__block_cost forward = {F, INT64_MAX};
    const struct sc__block_cost backward = {B, INT64_MAX};
    struct sc__chunk_costs chunks[MOST];
    int64_t nothing[MOST] = {0};
    for (uint32_t i = 0; i < MOST; i++)
        chunks[i] = (struct sc__chunk_costs){.forward = forward,
                                             .forward_first = forward,
                                             .backward = backward,
                                             .backward_last = backward};
    struct sc__pipeline_costs costs = {.vpp = 1,
                                       .chunks = chunks,
                                       .message = nothing,
                                       .after = nothing};
    for (uint32_t runs = 1; runs <= 4; runs++)
        for (uint32_t n = 1; n <= 9; n++)
            for (costs.pp = 2; costs.pp <= 8; costs.pp *= 2) {
                int64_t each = (n + costs.pp - 1) * (F + B);
                costs.run = n;
                costs.micro_batches = runs * n;
                costs.schedule = SC__SCHEDULE_1F1B;
                assert_int_equal(sc__pipeline_replay(&ctx->arena, &costs, NULL),
                                 runs * each);
                costs.schedule = SC__SCHEDULE_GPIPE;
                assert_int_equal(sc__pipeline_replay(&ctx->arena, &costs, NULL),
                                 runs * each);
            }
    sc_close(ctx);
}

/* One micro-batch goes through all chunks and back; every message is on its way. */
static void test_one_stage(void **state) {
    (void)state;
    for (uint32_t m = 1; m <= 8; m++)
        assert_int_equal(replay(SC__SCHEDULE_1F1B, 1, 1, m, MESSAGE, 0.25), m * (F + B));
}

static void test_messages(void **state) {
    (void)state;
    assert_int_equal(replay(SC__SCHEDULE_1F1B, 4, 1, 1, MESSAGE, 0),
                     4 * (F + B) + 2 * 3 * MESSAGE);
    assert_int_equal(replay(SC__SCHEDULE_INTERLEAVED, 2, 3, 1, MESSAGE, 0),
                     6 * (F + B) + 2 * 5 * MESSAGE);
}

/* Two stages, all forwards first: stage 0 computes its second and later forwards beside
 * the message of the one before, and loses x/(1 + x) of it each time. */
static void test_tax(void **state) {
    (void)state;
    int64_t plain = replay(SC__SCHEDULE_GPIPE, 2, 1, 2, MESSAGE, 0);
    int64_t taxed = replay(SC__SCHEDULE_GPIPE, 2, 1, 2, MESSAGE, 0.25);
    /* second forward of stage 0; second backward of stage 1, then of stage 0: the latter
     * begins when the former's message has come, and sends nothing beside it */
    int64_t lost = MESSAGE / 5 - 4;
    assert_int_equal(taxed - plain, 2 * lost);
}

/* A collective holds the stream after 20 of the 70 ns of the message, which last 25 beside
 * it: only those are lost. */
static void test_pause(void **state) {
    const struct sc__block_cost forward = {.least = F,
                                           .alone = INT64_MAX,
                                           .pauses = 1,
                                           .pause = {{20000, 50000}}};
    const struct sc__block_cost backward = {B, INT64_MAX};
    (void)state;
    int64_t plain =
        replay_blocks(SC__SCHEDULE_GPIPE, 2, 1, 2, MESSAGE, 0, forward, backward);
    int64_t taxed =
        replay_blocks(SC__SCHEDULE_GPIPE, 2, 1, 2, MESSAGE, 0.25, forward, backward);
    assert_int_equal(taxed - plain, 20000 / 4 - 5 + MESSAGE / 5 - 4);
}

/* The block waits 3 ns for another stream after 20: of the 5 lost before 2 are left, and
 * of the message 70 − 25 − 3, beside which a fifth is lost. A long wait hides all. */
static void test_wait(void **state) {
    const struct sc__block_cost backward = {B, INT64_MAX};
    const int64_t waits[] = {3000, 60000};
    const int64_t lost[] = {2000 + 42000 / 5 - 5, 0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct sc__block_cost forward = {.least = F,
                                               .alone = INT64_MAX,
                                               .pauses = 1,
                                               .pause = {{20000, waits[i], true}}};
        int64_t plain =
            replay_blocks(SC__SCHEDULE_GPIPE, 2, 1, 2, MESSAGE, 0, forward, backward);
        int64_t taxed =
            replay_blocks(SC__SCHEDULE_GPIPE, 2, 1, 2, MESSAGE, 0.25, forward, backward);
        assert_int_equal(taxed - plain, lost[i] + MESSAGE / 5 - 4);
    }
}

/* One micro-batch down two stages and up again: at the turn there is no message. */
static void test_v(void **state) {
    sc_context *ctx = sc_open();
    struct sc__slot order[] = {{.kind = 'F', .chunk = 0},
                               {.kind = 'F', .chunk = 1},
                               {.kind = 'B', .chunk = 1},
                               {.kind = 'W', .chunk = 1},
                               {.kind = 'B', .chunk = 0},
                               {.kind = 'W', .chunk = 0}};
    struct sc__slot *slots[] = {order, order};
    struct sc__chunk_costs chunks[4];
    const int64_t messages[] = {MESSAGE, 1000 * MESSAGE}; /* no V goes round */
    const int64_t after[] = {5, 50 * B};
    const struct sc__block_cost forward = {F, INT64_MAX};
    const struct sc__block_cost backward = {B, INT64_MAX};
    (void)state;
    for (int i = 0; i < 4; i++)
        chunks[i] =
            (struct sc__chunk_costs){.forward_first = forward, .backward_last = backward};
    const struct sc__pipeline_costs costs = {.schedule = SC__SCHEDULE_ZBV,
                                             .pp = 2,
                                             .vpp = 2,
                                             .micro_batches = 1,
                                             .overlap = true,
                                             .chunks = chunks,
                                             .message = messages,
                                             .after = after,
                                             .slots = slots};
    /* steps overlap: the first stage's counts, whatever the second ends with */
    assert_int_equal(sc__pipeline_replay(&ctx->arena, &costs, NULL),
                     4 * (F + B) + 4 * MESSAGE + 5);
    sc_close(ctx);
}

/* Every stage has all the work; the least bubble is none, the most that of 1F1B. */
static void test_dualpipev(void **state) {
    int64_t busy = (int64_t)2 * 16 * (F + B);
    int64_t took = replay(SC__SCHEDULE_DUALPIPEV, 4, 2, 16, 0, 0);
    (void)state;
    assert_true(took > busy);
    assert_true(took <= busy + 3 * 2 * (int64_t)(F + B));
}

/* Each block waits at its begin for the exchange of the one before, which runs for E after
 * that has ended: back to back it takes E longer. GPipe on two stages: all 2 m blocks of
 * the last stage but the first do, the first stage's end when those have come. */
static void test_exchange(void **state) {
    enum { E = 300000 };
    const struct sc__block_cost block = {.least = F,
                                         .alone = INT64_MAX,
                                         .exchanges = true,
                                         .exchange_end = F + E,
                                         .exchange_to_end = F,
                                         .exchange_through = F + E};
    (void)state;
    for (uint32_t m = 1; m <= 8; m++) {
        int64_t want = 2 * (m + 1) * (int64_t)F + (2 * m - 1) * (int64_t)E;
        assert_int_equal(replay_blocks(SC__SCHEDULE_GPIPE, 2, 1, m, 0, 0, block, block),
                         want);
    }
}

/* Nobody waits for it, but compute beside it is slower: an exchange of E takes
 * E · x/(1 + x) of it, or x · F where it is longer than the block. With one micro-batch
 * only the last stage has a block behind another. */
static void test_exchange_tax(void **state) {
    const double x = 0.25;
    (void)state;
    for (int64_t e = F / 4; e <= 2 * F; e += F / 4) {
        const struct sc__block_cost block = {.least = F,
                                             .alone = INT64_MAX,
                                             .exchanges = true,
                                             .exchange_end = F + e,
                                             .exchange_to_end = SC__BLOCK_NEVER,
                                             .exchange_through = e};
        double lost = fmin((double)e * x / (1 + x), x * F);
        for (uint32_t pp = 3; pp <= 8; pp++) {
            int64_t want = 2 * pp * (int64_t)F + (int64_t)lost;
            int64_t found = replay_blocks(SC__SCHEDULE_1F1B, pp, 1, 1, 0, x, block, block);
            assert_in_range(found, want - 5, want); /* rounded down by 4 ps */
        }
    }
}

/* The first forward gathers weights, the last backward and the last weight gradients have
 * reductions behind them: of m passes one is another block. */
static void test_first_and_last(void **state) {
    enum { FIRST = 7 * F, LAST = 11 * B, W = 1500000, LAST_W = 5 * W };
    const enum sc__schedule schedules[] = {SC__SCHEDULE_1F1B,
                                           SC__SCHEDULE_GPIPE,
                                           SC__SCHEDULE_ZBH1};
    const struct sc__chunk_costs chunk = {.forward = {F, INT64_MAX},
                                          .forward_first = {FIRST, INT64_MAX},
                                          .backward = {B, INT64_MAX},
                                          .backward_last = {LAST, INT64_MAX},
                                          .wgrad = {W, INT64_MAX},
                                          .wgrad_last = {LAST_W, INT64_MAX}};
    const int64_t none[] = {0};
    sc_context *ctx = sc_open();
    (void)state;
    for (uint32_t m = 1; m <= 8; m++)
        for (unsigned i = 0; i < sizeof schedules / sizeof *schedules; i++) {
            const struct sc__pipeline_costs costs = {.schedule = schedules[i],
                                                     .pp = 1,
                                                     .vpp = 1,
                                                     .micro_batches = m,
                                                     .chunks = &chunk,
                                                     .message = none,
                                                     .after = none};
            int64_t want = FIRST + LAST + (m - 1) * (int64_t)(F + B);
            if (sc__schedule_splits(schedules[i]))
                want += LAST_W + (m - 1) * (int64_t)W;
            assert_int_equal(sc__pipeline_replay(&ctx->arena, &costs, NULL), want);
        }
    sc_close(ctx);
}

static void test_unknown(void **state) {
    (void)state;
    assert_int_equal(replay(SC__SCHEDULE_ZB2P, 4, 1, 8, 0, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal_stages),
                                       cmocka_unit_test(test_runs),
                                       cmocka_unit_test(test_one_stage),
                                       cmocka_unit_test(test_messages),
                                       cmocka_unit_test(test_tax),
                                       cmocka_unit_test(test_pause),
                                       cmocka_unit_test(test_wait),
                                       cmocka_unit_test(test_v),
                                       cmocka_unit_test(test_dualpipev),
                                       cmocka_unit_test(test_exchange),
                                       cmocka_unit_test(test_exchange_tax),
                                       cmocka_unit_test(test_first_and_last),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
