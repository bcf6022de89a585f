/* Formulas of a line or two against figures worked out by hand. */
#include "test.h"

#include "base/json_write.h"
#include "base/text.h"
#include "context.h"
#include "lower/pipeline.h"
#include "train/goodput.h"

#include <jansson.h>
#include <math.h>

/* ---- writing JSON ---- */

static void numbers_read_back(void **state) {
    (void)state;
    static const double values[] = {0, 0.1, 1.0 / 3, 0.1 + 0.2, 1e300, -123456.789, 5e-324};
    struct sc__buffer text;
    struct sc__json j;
    sc__buffer_init(&text, &ctx->arena);
    sc__json_init(&j, &text);
    sc__json_array(&j, NULL);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        sc__json_double(&j, NULL, values[i]);
    sc__json_double(&j, NULL, INFINITY);
    sc__json_double(&j, NULL, NAN);
    sc__json_i64(&j, NULL, INT64_MIN);
    sc__json_i64(&j, NULL, -7);
    sc__json_end_array(&j);
    json_t *read = json_loadb(text.text, text.size, JSON_DECODE_INT_AS_REAL, NULL);
    assert_non_null(read);
    size_t n = sizeof values / sizeof *values;
    for (size_t i = 0; i < n; i++)
        assert_number(json_real_value(json_array_get(read, i)), ==, values[i]);
    assert_true(json_is_null(json_array_get(read, n)));
    assert_true(json_is_null(json_array_get(read, n + 1)));
    assert_number(json_real_value(json_array_get(read, n + 2)), ==, -0x1p63);
    assert_number(json_real_value(json_array_get(read, n + 3)), ==, -7);
    json_decref(read);
}

static void strings_read_back(void **state) {
    (void)state;
    static const char odd[] = "\\ \" / \n \t \r \x01 \x1f \x7f é €";
    struct sc__buffer text;
    struct sc__json j;
    sc__buffer_init(&text, &ctx->arena);
    sc__json_init(&j, &text);
    sc__json_object(&j, NULL);
    sc__json_string(&j, odd, odd);
    sc__json_end_object(&j);
    json_t *read = json_loadb(text.text, text.size, 0, NULL);
    assert_non_null(read);
    assert_string_equal(json_string_value(json_object_get(read, odd)), odd);
    json_decref(read);
}

/* ---- reading text ---- */

static void decimals_are_rounded(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"1.2344", 1234},
                 {"1.2345", 1235},
                 {"1.2346", 1235},
                 {"-0.0005", -1},
                 {"7", 7000},
                 {"0.1", 100},
                 {"0.00049", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t v;
        assert_true(sc__parse_decimal(sc__str(cases[i].text), 3, &v));
        assert_int_equal(v, cases[i].value);
    }
}

static void counts_have_32_bits(void **state) {
    (void)state;
    uint32_t v;
    assert_true(sc__parse_u32(sc__str("4294967295"), &v));
    assert_int_equal(v, UINT32_MAX);
    assert_false(sc__parse_u32(sc__str("4294967296"), &v));
    assert_false(sc__parse_u32(sc__str("4294967297"), &v));
}

/* RFC 3629: C0 and C1 begin nothing, and no character has more than four bytes. */
static void bytes_of_characters(void **state) {
    (void)state;
    assert_int_equal(sc__utf8_length("a", 1), 1);
    assert_int_equal(sc__utf8_length("\xc3\xa9", 2), 2);
    assert_int_equal(sc__utf8_length("\xe2\x82\xac", 3), 3);
    assert_int_equal(sc__utf8_length("\xf0\x9f\x98\x80", 4), 4);
    assert_int_equal(sc__utf8_length("\xc0\xaf", 2), 0);
    assert_int_equal(sc__utf8_length("\xc1\xbf", 2), 0);
    assert_int_equal(sc__utf8_length("\xf5\x80\x80\x80", 4), 0);
    assert_int_equal(sc__utf8_length("\x80", 1), 0);
    assert_int_equal(sc__utf8_length("\xe2\x82", 2), 0);
}

/* ---- schedules ---- */

/* A V: down the stages and up again, so that the first holds both ends. */
static void parts_of_a_v(void **state) {
    (void)state;
    static const uint32_t down[] = {0, 1, 2, 3};
    static const uint32_t up[] = {7, 6, 5, 4};
    for (uint32_t s = 0; s < 4; s++) {
        assert_int_equal(sc__schedule_part(SC__SCHEDULE_ZBV, 4, s, 0), down[s]);
        assert_int_equal(sc__schedule_part(SC__SCHEDULE_ZBV, 4, s, 1), up[s]);
        assert_int_equal(sc__schedule_part(SC__SCHEDULE_INTERLEAVED, 4, s, 1), 4 + s);
    }
    assert_int_equal(sc__schedule_last_stage(SC__SCHEDULE_ZBV, 4), 0);
    assert_int_equal(sc__schedule_last_stage(SC__SCHEDULE_1F1B, 4), 3);
    assert_int_equal(sc__schedule_last_stage(SC__SCHEDULE_INTERLEAVED, 4), 3);
}

/* DualPipe: four stages hold four parts, each twice; half of the micro-batches pass each
 * way. */
static void parts_of_two_copies(void **state) {
    (void)state;
    for (uint32_t s = 0; s < 4; s++) {
        assert_int_equal(sc__schedule_part(SC__SCHEDULE_DUALPIPE, 4, s, 0), s);
        assert_int_equal(sc__schedule_part(SC__SCHEDULE_DUALPIPE, 4, s, 1), 3 - s);
    }
    assert_int_equal(sc__schedule_parts(SC__SCHEDULE_DUALPIPE, 4, 2), 4);
    assert_int_equal(sc__schedule_parts(SC__SCHEDULE_DUALPIPEV, 4, 2), 8);
    assert_int_equal(sc__schedule_passes(SC__SCHEDULE_DUALPIPE, 10), 5);
    assert_int_equal(sc__schedule_passes(SC__SCHEDULE_DUALPIPEV, 10), 10);
    assert_int_equal(sc__schedule_last_stage(SC__SCHEDULE_DUALPIPE, 4), 3);
}

/* Groups of three, five micro-batches, two stages of two chunks: the table in the comments
 * of Megatron-Core's forward_backward_pipelining_with_interleaving. Before the first
 * backward 2 (pp − stage − 1) + (vpp − 1)·group forwards and, where exchanges of experts
 * hide behind the other direction, one more (get_pp_rank_microbatches), and that of the
 * first pair. */
static void interleaved_groups(void **state) {
    static const uint32_t micro_batch[] = {0, 1, 2, 0, 1, 2, 3, 4, 3, 4};
    static const uint32_t chunk[] = {0, 0, 0, 1, 1, 1, 0, 0, 1, 1};
    (void)state;
    for (uint32_t k = 0; k < 4; k++) {
        const struct sc__turns turns = {.group = 3, .ahead = k / 2};
        uint32_t stage = k % 2;
        uint32_t done[2] = {0};
        uint32_t before = 0;
        uint32_t count;
        const struct sc__slot *o = sc__schedule_order(&ctx->arena,
                                                      SC__SCHEDULE_INTERLEAVED,
                                                      2,
                                                      2,
                                                      turns,
                                                      stage,
                                                      5,
                                                      &count);
        assert_int_equal(count, 20);
        while (o[before].kind == 'F')
            before++;
        assert_int_equal(before, 2 * (1 - stage) + 3 + k / 2 + 1);
        for (uint32_t i = 0; i < count; i++) {
            bool back = o[i].kind == 'B';
            uint32_t at = done[back]++;
            assert_int_equal(o[i].micro_batch, micro_batch[at]);
            assert_int_equal(o[i].chunk, back ? 1 - chunk[at] : chunk[at]);
        }
    }
}

/* Megatron: 2 (pp − stage − 1) + (vpp − 1) pp forwards to warm up, then one of each. */
static void interleaved_warm_up(void **state) {
    (void)state;
    for (uint32_t stage = 0; stage < 4; stage++) {
        uint32_t count;
        uint32_t before = 0;
        struct sc__slot *slots = sc__schedule_order(&ctx->arena,
                                                    SC__SCHEDULE_INTERLEAVED,
                                                    4,
                                                    3,
                                                    (struct sc__turns){0},
                                                    stage,
                                                    16,
                                                    &count);
        assert_int_equal(count, 2 * 3 * 16);
        while (slots[before].kind == 'F')
            before++;
        assert_int_equal(before, 2 * (4 - stage - 1) + 2 * 4 + 1);
    }
}

/* ---- goodput ---- */

static double one_gpu[] = {1};
static double restart_s[] = {30};

/* 1000 nodes of 8 GPUs in racks of 4: 1000 node crashes a day and 100 of racks, repaired in
 * a day; slow GPUs, which lose nothing; crashes of the software. */
static struct sc__failure_class classes[] = {
    {.name = "node",
     .scope = SC__SCOPE_NODE,
     .per_day = 1,
     .repair_s = SC__DAY_S,
     .detect_s = 10,
     .locate_s = 200,
     .slowdown = 1},
    {.name = "rack",
     .scope = SC__SCOPE_RACK,
     .per_day = 0.4,
     .repair_s = SC__DAY_S,
     .slowdown = 1},
    {.name = "slow",
     .scope = SC__SCOPE_GPU,
     .symptom = SC__SYMPTOM_SLOW,
     .per_day = 5,
     .slowdown = 2},
    {.name = "software", .scope = SC__SCOPE_JOB, .per_day = 24, .slowdown = 1}};
static const struct sc__failure_set set = {.unit_gpus = {1, 8, 32},
                                           .requeue = {one_gpu, restart_s, 1},
                                           .hot = {one_gpu, restart_s, 1},
                                           .classes = classes,
                                           .class_count = 4};
static const struct sc__goodput_input run = {.set = &set, .gpus = 8000, .restore_s = 5};

static void slow_gpus_lose_nothing(void **state) {
    (void)state;
    assert_within(sc__goodput_losing_rate(&run), (1000 + 100 + 24) / SC__DAY_S, 1e-12);
    assert_within(sc__goodput_rate(&run), (1000 + 100 + 24 + 40000) / SC__DAY_S, 1e-12);
}

static void recovery_has_four_parts(void **state) {
    (void)state;
    assert_within(sc__goodput_recovery(&run, &classes[0]), 10 + 200 + 30 + 5, 1e-12);
}

/* Under repair: 1000 failures of one machine and 100 of four on average, Poisson. Their
 * sum has the mean 1400 and the variance 1000 + 100 · 16; 99 % are below 2.326 deviations
 * above the mean. */
static void spares_of_many_failures(void **state) {
    (void)state;
    assert_int_equal(sc__spares_p99(&run), ceil(1400 + 2.32634787 * sqrt(2600)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(strings_read_back),
        cmocka_unit_test(decimals_are_rounded),
        cmocka_unit_test(counts_have_32_bits),
        cmocka_unit_test(bytes_of_characters),
        cmocka_unit_test(parts_of_a_v),
        cmocka_unit_test(parts_of_two_copies),
        cmocka_unit_test(interleaved_groups),
        cmocka_unit_test(interleaved_warm_up),
        cmocka_unit_test(slow_gpus_lose_nothing),
        cmocka_unit_test(recovery_has_four_parts),
        cmocka_unit_test(spares_of_many_failures),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
