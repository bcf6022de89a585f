/* Comparison of result documents written by hand. */
#include "test.h"

#include "result/compare.h"

#include <math.h>

#define HEAD "{\"schema\": \"stepcast/result/1\", "

/* 3 ranks of one class, 1 of another: the mean weighs them 3 to 1. */
static const char first[] =
    HEAD "\"step_time_us\": 100, \"breakdown_us\": {\"compute\": 60, "
         "\"exposed_comm\": {\"tp\": 40}, \"bubble\": 0},"
         "\"ranks\": [{\"ranks\": 3, \"breakdown_us\": {\"compute\": 60, "
         "\"exposed_comm\": {\"tp\": 40}, \"bubble\": 0}},"
         "            {\"ranks\": 1, \"breakdown_us\": {\"compute\": 20, "
         "\"exposed_comm\": {\"tp\": 40}, \"bubble\": 40}}],"
         "\"operations\": [{\"name\": \"mlp\", \"total_us\": 50}, "
         "{\"name\": \"gather\", \"group\": \"tp\", \"total_us\": "
         "40}]}";
static const char second[] =
    HEAD "\"measured\": true, \"step_time_us\": 110, \"breakdown_us\": "
         "{\"compute\": 70, \"exposed_comm\": {\"dp\": 40}},"
         "\"ranks\": [{\"ranks\": 4, \"breakdown_us\": {\"compute\": 70, "
         "\"exposed_comm\": {\"dp\": 40}}}],"
         "\"operations\": [{\"name\": \"mlp\", \"total_us\": 35}, "
         "{\"name\": \"mlp\", \"total_us\": 35}]}";

static sc_status
compare(sc_context *ctx, const char *a, const char *b, struct sc__comparison *out) {
    static const char *const names[2] = {"a.json", "b.json"};
    const char *const documents[2] = {a, b};
    struct sc__compared side[2];
    for (int i = 0; i < 2; i++)
        SC__TRY(sc__compared_saved(ctx, names[i], sc__str(documents[i]), &side[i]));
    sc__compare(&ctx->arena, side, out);
    return SC_OK;
}

static const struct sc__pair *find(const struct sc__pairs *p, const char *key) {
    for (uint32_t i = 0; i < p->count; i++)
        if (!strcmp(p->items[i].key, key))
            return &p->items[i];
    fail_msg("no '%s'", key);
    return NULL;
}

static void check(const struct sc__pair *p, double a, double b) {
    assert_float_equal(p->a, a, 1e-9);
    assert_float_equal(p->b, b, 1e-9);
}

static void parts_are_means_over_ranks(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    struct sc__comparison c;
    assert_int_equal(compare(ctx, first, second, &c), SC_OK);
    check(&c.step, 100, 110);
    check(find(&c.parts, "compute"), 50, 70);
    check(find(&c.parts, "exposed tp"), 40, 0);
    check(find(&c.parts, "exposed dp"), 0, 40);
    check(find(&c.parts, "bubble"), 10, 0);
    check(find(&c.operations, "mlp"), 50, 70);
    check(find(&c.groups, "tp"), 40, 0);
    assert_false(c.measured[0]);
    assert_true(c.measured[1]);
    assert_float_equal(c.worst, 0.4, 1e-9);
    sc_close(ctx);
}

static void relative_differences(void **state) {
    (void)state;
    assert_float_equal(sc__relative(&(struct sc__pair){"", 4, 5}), 0.25, 1e-12);
    assert_float_equal(sc__relative(&(struct sc__pair){"", 0, 0}), 0, 1e-12);
    assert_true(isinf(sc__relative(&(struct sc__pair){"", 0, 1})));
}

static void hostile_documents_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "null",
        "\"stepcast/result/1\"",
        HEAD "\"step_time_us\": 1}",
        HEAD "\"step_time_us\": \"1\", \"breakdown_us\": {}, \"ranks\": [1]}",
        HEAD "\"step_time_us\": 1, \"breakdown_us\": [], \"ranks\": [1]}",
        HEAD "\"step_time_us\": 1, \"breakdown_us\": {}, \"ranks\": []}",
        HEAD "\"step_time_us\": 1, \"breakdown_us\": {}, \"ranks\": [1]} trailing",
        HEAD
        "\"step_time_us\": 1, \"step_time_us\": 2, \"breakdown_us\": {}, \"ranks\": [1]}",
        "{\"schema\": \"stepcast/result/2\", \"step_time_us\": 1, \"breakdown_us\": {}, "
        "\"ranks\": "
        "[1]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sc_context *ctx = sc_open();
        struct sc__comparison c;
        assert_int_equal(compare(ctx, first, bad[i], &c), SC_INPUT);
        assert_non_null(strstr(sc_error_text(ctx), "b.json"));
        sc_close(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_means_over_ranks),
        cmocka_unit_test(relative_differences),
        cmocka_unit_test(hostile_documents_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
