/* The experts of a GPU in one call: loads that add up, the formula written out for a
 * case small enough, and the public table where it is. */
#include "test.h"

#include "hardware/kernel_moe.h"

#include <math.h>

#include "kernel_checks.h"

static double sum_of(const double *loads, unsigned count) {
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += loads[i];
    return sum;
}

/* Whole tokens, no more than there are, and all of them. */
static void loads_add_up(void **state) {
    (void)state;
    static double loads[SC__MOE_EXPERTS];
    struct sc__moe moe = {.tokens = 4096, .topk = 8, .experts = 256, .ep = 1};
    assert_int_equal(sc__moe_loads(&moe, 0, loads), 256);
    for (unsigned i = 0; i < 256; i++)
        near(loads[i], 4096 * 8 / 256.0);
    moe.exponent = 1.2;
    for (uint64_t draw = 0; draw < SC__MOE_DRAWS; draw++) {
        double most = 0;
        assert_int_equal(sc__moe_loads(&moe, draw, loads), 256);
        for (unsigned i = 0; i < 256; i++) {
            most = fmax(most, loads[i]);
            assert_true(loads[i] >= 0 && loads[i] <= 4096 && loads[i] == floor(loads[i]));
        }
        assert_true(most > 3 * 128);
        near(sum_of(loads, 256), 4096 * 8);
    }
    /* the most loaded of 8 GPUs has at least an eighth */
    moe.ep = 8;
    assert_int_equal(sc__moe_loads(&moe, 0, loads), 32);
    assert_true(sum_of(loads, 32) >= 4096);
}

/* Fewer choices than experts: none gets two, and the GPUs get them in turn. Nearly all
 * tokens to one expert: the others share what it cannot take. */
static void few_and_many(void **state) {
    (void)state;
    static double loads[SC__MOE_EXPERTS];
    struct sc__moe few = {.tokens = 2, .topk = 8, .experts = 256, .ep = 16};
    assert_int_equal(sc__moe_loads(&few, 0, loads), 16);
    near(sum_of(loads, 16), 1);
    few.exponent = 1.01; /* shares of 0.33 at most: all are rounded to nothing */
    for (uint64_t draw = 0; draw < SC__MOE_DRAWS; draw++) {
        assert_int_equal(sc__moe_loads(&few, draw, loads), 16);
        near(sum_of(loads, 16), 1);
    }
    struct sc__moe many = {.tokens = 1000000,
                           .topk = 3,
                           .experts = 4,
                           .ep = 1,
                           .exponent = 1.01};
    for (uint64_t draw = 0; draw < SC__MOE_DRAWS; draw++) {
        assert_int_equal(sc__moe_loads(&many, draw, loads), 4);
        near(sum_of(loads, 4), 3e6);
        for (unsigned i = 0; i < 4; i++)
            assert_true(loads[i] <= 1e6);
    }
}

/* One expert, one tile of 8 x 64 or two, no smoothing to speak of. */
static void closed_form(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    g.moe = (struct sc__moe_constants){.fixed = 7,
                                       .expert = 0.25,
                                       .permute = 1e3,
                                       .sort = 2e3,
                                       .b = 1,
                                       .r = 128.0 * 8 * 64,
                                       .te = 0.5,
                                       .bw = 1e12,
                                       .rp = 1e15,
                                       .q = 50};
    struct sc__moe moe =
        {.tokens = 4, .hidden = 128, .inter = 64, .topk = 1, .experts = 1, .ep = 1};
    double step = 8 + 64 + 1; /* loads, and one us of products */
    double area = 0.5 * 8 * 64;
    double first = 2 * step + area; /* k = 128: two steps; n = 2 x 64: two tiles, two SMs */
    double second = step + area;
    double moved = 128 * 4 * (1e3 + 2e3) * 1e-6;
    near(sc__moe_us(&g, &moe), 7 + 0.25 + moved + first + second);
    /* a cost of each step, and tiles of 8 rows take three times as long */
    g.moe.step = 10;
    near(sc__moe_us(&g, &moe), 7 + 0.25 + moved + first + second + 30);
    g.moe.step = 0;
    g.moe.rows[0] = 3;
    g.moe.rows[1] = g.moe.rows[2] = g.moe.rows[3] = g.moe.rows[4] = 100;
    near(sc__moe_us(&g, &moe), 7 + 0.25 + moved + 3 * (first + second));
    g.moe.rows[0] = 0;
    moe.plain = true;
    near(sc__moe_us(&g, &moe), 7 + 0.25 + moved + first + second);
    /* a width of 64 stored as 128 has twice the steps of the second product */
    g.moe.pad = 128;
    near(sc__moe_us(&g, &moe), 7 + 0.25 + moved + first + 2 * step + area);
    /* the chip's rate is a floor: 2 x 4 x 128 x 128 FLOPs in each product */
    g.moe.rp = 1;
    near(sc__moe_us(&g, &moe), 7 + 0.25 + moved + 2 * 2.0 * 4 * 128 * 128);
    g.moe.bw = 0;
    near(sc__moe_us(&g, &moe), 0);
}

/* Ten tiles on four SMs are three waves, or two and a half where SMs go on as they come
 * free; the two of the second product are one either way. */
static void waves_of_tiles(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    g.sms = 4;
    g.moe = (struct sc__moe_constants){.b = 1,
                                       .bw = 1e12,
                                       .rp = 1e15,
                                       .q = 50,
                                       .rows = {1, 100, 100, 100, 100},
                                       .columns = {1, 100, 100}};
    struct sc__moe moe =
        {.tokens = 4, .hidden = 128, .inter = 320, .topk = 1, .experts = 1, .ep = 1};
    double first = 2 * (8 + 64);  /* k = 128 */
    double second = 5 * (8 + 64); /* k = 320 */
    near(sc__moe_us(&g, &moe), 3 * first + second);
    g.moe.wave = 0.5;
    near(sc__moe_us(&g, &moe), 2.75 * first + second);
    g.moe.wave = 1;
    near(sc__moe_us(&g, &moe), 2.5 * first + second);
}

/* What the cache holds of the whole call is read at no cost, and nothing once the call
 * is much larger. */
static void cache_saves(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    g.moe = (struct sc__moe_constants){.bw = 1, .rp = 1e15, .q = 50, .saved = 0.5};
    struct sc__moe moe = {.tokens = 1,
                          .hidden = 128,
                          .inter = 128,
                          .topk = 1,
                          .experts = 1,
                          .ep = 1,
                          .plain = true};
    double bytes = 2 * 128 * 128 + 2 * (128 + 128);
    near(sc__moe_us(&g, &moe), 2 * bytes);
    double call = 2 * bytes; /* two matrices and the rows between them */
    g.moe.cache = call;      /* half is found, and half of that saved */
    near(sc__moe_us(&g, &moe), 2 * bytes * 0.75);
    g.moe.cache = 100 * call;
    near(sc__moe_us(&g, &moe), 2 * bytes * 0.5);
    g.moe.cache = 0.01 * call;
    near(sc__moe_us(&g, &moe), 2 * bytes);
}

/* Unequal loads never take less; more tokens never take less by more than a wave. */
static void unequal_is_slower(void **state) {
    (void)state;
    static const char *const names[] = {"a100-80", "h100-sxm", "h200", "b200", "gb300"};
    for (unsigned i = 0; i < 5; i++)
        for (uint64_t tokens = 512; tokens <= 65536; tokens *= 2) {
            struct sc__moe moe = {.tokens = tokens,
                                  .hidden = 7168,
                                  .inter = 2048,
                                  .topk = 8,
                                  .experts = 256,
                                  .ep = 32};
            double equal = sc__moe_us(gpu(names[i]), &moe);
            moe.exponent = 1.2;
            assert_true(equal > 0 && sc__moe_us(gpu(names[i]), &moe) > equal);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loads_add_up, open_context, close_context),
        cmocka_unit_test_setup_teardown(few_and_many, open_context, close_context),
        cmocka_unit_test_setup_teardown(closed_form, open_context, close_context),
        cmocka_unit_test_setup_teardown(waves_of_tiles, open_context, close_context),
        cmocka_unit_test_setup_teardown(cache_saves, open_context, close_context),
        cmocka_unit_test_setup_teardown(unequal_is_slower, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
