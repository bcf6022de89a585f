/* The experts of a GPU in one call: loads that add up, the formula written out for a
 * case small enough, and the public table where it is. */
#include "test.h"

#include "hardware/kernel_moe.h"

#include <math.h>

#include "kernel_checks.h"

static void loads_add_up(void **state) {
    (void)state;
    static double loads[SC__MOE_EXPERTS];
    struct sc__moe moe = {.tokens = 4096, .topk = 8, .experts = 256, .ep = 1};
    double sum = 0;
    assert_int_equal(sc__moe_loads(&moe, loads), 256);
    for (unsigned i = 0; i < 256; i++)
        near(loads[i], 4096 * 8 / 256.0);
    moe.exponent = 1.2;
    assert_int_equal(sc__moe_loads(&moe, loads), 256);
    double most = 0;
    for (unsigned i = 0; i < 256; i++) {
        sum += loads[i];
        most = fmax(most, loads[i]);
        assert_true(loads[i] > 0 && loads[i] <= 4096);
    }
    assert_true(most > 3 * 128);
    assert_true(sum <= 4096 * 8 * (1 + 1e-9) && sum > 0.5 * 4096 * 8);
    /* the most loaded of 8 GPUs has at least an eighth */
    moe.ep = 8;
    double here = 0;
    unsigned local = sc__moe_loads(&moe, loads);
    assert_int_equal(local, 32);
    for (unsigned i = 0; i < local; i++)
        here += loads[i];
    assert_true(here >= sum / 8);
}

/* One expert, one tile of 16 x 64 or two, no smoothing to speak of. */
static void closed_form(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    g.moe = (struct sc__moe_constants){.fixed = 7,
                                       .expert = 0.25,
                                       .permute = 1e3,
                                       .sort = 2e3,
                                       .b = 1,
                                       .r = 128.0 * 16 * 64,
                                       .te = 0.5,
                                       .bw = 1e12,
                                       .rp = 1e15,
                                       .q = 50};
    struct sc__moe moe =
        {.tokens = 4, .hidden = 128, .inter = 64, .topk = 1, .experts = 1, .ep = 1};
    double step = 16 + 64 + 1; /* loads, and one us of products */
    double area = 0.5 * 16 * 64;
    double first = 2 * step + area; /* k = 128: two steps; n = 2 x 64: two tiles, two SMs */
    double second = step + area;
    double moved = 128 * 4 * (1e3 + 2e3) * 1e-6;
    near(sc__moe_us(&g, &moe), 7 + 0.25 + moved + first + second);
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

/* Weights that the cache holds are read at no cost, as many as it holds. */
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
    g.moe.cache = bytes; /* half is found, and half of that saved */
    near(sc__moe_us(&g, &moe), 2 * bytes * 0.75);
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
        cmocka_unit_test_setup_teardown(closed_form, open_context, close_context),
        cmocka_unit_test_setup_teardown(cache_saves, open_context, close_context),
        cmocka_unit_test_setup_teardown(unequal_is_slower, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
