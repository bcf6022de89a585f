/* What torch.compile fuses: kernels that are left, and the bytes they move, counted by
 * hand for chains, branches and tensors that others need. */
#include "table_helpers.h"

#include "frontend/capture/capture.h"

extern const struct sc__reader sc__reader_capture;

/* One tensor is enough: 4096 × 4096 in bf16; 1: a row, 2: a column, 3: its half. */
#define WHOLE (2.0 * 4096 * 4096)
static const char *const tensors = "[[\"bf16\", [4096, 4096]], [\"bf16\", [4096]], "
                                   "[\"bf16\", [4096, 1]], [\"bf16\", [2048, 4096]]]";
enum { ADD, MUL, MM, ROW_SUM, COLUMN_SUM, HALF_ADD, NORM };
static const char *const calls =
    "[{\"op\": \"aten.add\", \"in\": [0, 0], \"out\": [0]}, "
    "{\"op\": \"aten.mul\", \"in\": [0, 0], \"out\": [0]}, "
    "{\"op\": \"aten.mm\", \"in\": [0, 0], \"out\": [0]}, "
    "{\"op\": \"aten.sum\", \"in\": [0], \"out\": [2]}, "
    "{\"op\": \"aten.sum\", \"in\": [0], \"out\": [1]}, "
    "{\"op\": \"aten.add\", \"in\": [3, 3], \"out\": [3]}, "
    "{\"op\": \"aten.native_layer_norm\", \"in\": [0, 1, 1], \"out\": [0, 2, 2]}]";

/* The operations of a program of sixteen storages, of which those of `freed` die. */
static const struct sc__workload *
compiled(const char *ops, const char *freed, const char *how) {
    struct sc__document doc;
    char storages[512] = "[8, \"other\"]";
    for (unsigned i = 1; i < 16; i++)
        strcat(storages, ", [8, \"other\"]");
    const char *text = sc__format(
        &ctx->arena,
        "{\"schema\": \"stepcast/capture/1\", \"made_by\": \"a test\", \"world\": 1, "
        "\"mesh\": [], \"groups\": [], \"modules\": [\"\"], \"tensors\": %s, "
        "\"calls\": %s, \"classes\": [{\"rank\": 0, \"ranks\": 1, \"program\": 0}], "
        "\"programs\": [{\"storages\": [%s], \"alive\": %s, \"ops\": [%s, "
        "[0, 0, \"u\", 0, 0, 0, [], %s, [], [14, 14, 15], 0]]}], \"notes\": []}",
        tensors,
        calls,
        storages,
        freed,
        ops,
        freed);
    const char *setting = sc__format(&ctx->arena, "compiled=%s", how);
    must(read_text(&sc__reader_capture,
                   SETTINGS("gpu=h200", "host-scale=0", setting),
                   text,
                   strlen(text),
                   &doc));
    return doc.workload;
}

/* Kernels without the last, which is outside, and products; their time and bytes. */
struct seen {
    unsigned count;
    double us;
    double bytes;
};

static struct seen kernels(const struct sc__workload *w) {
    struct seen seen = {0};
    for (uint32_t i = 1; i + 2 < w->op_count; i += 2) {
        if (!w->ops[i].cost || w->ops[i].work == SC__WORK_GEMM)
            continue;
        seen.count++;
        seen.us += (double)w->ops[i].cost * 1e-6;
        seen.bytes += (double)w->ops[i].bytes;
    }
    return seen;
}

static const char *op(unsigned call, const char *used, unsigned unit) {
    return sc__format(&ctx->arena,
                      "[%u, 0, \"f\", 0, 0, 0, [], [], [], %s, %u]",
                      call,
                      used,
                      unit);
}

static const char *two(const char *a, const char *b) {
    return sc__format(&ctx->arena, "%s, %s", a, b);
}

/* Kernels that move so many whole tensors each. */
static double moves(double wholes) {
    const struct sc__gpu *gpu;
    struct sc__operators operators;
    must(sc__gpu_find(ctx, "h200", &gpu));
    must(sc__operators_load(ctx, &operators));
    return sc__elementwise(sc__kernel_model_new(&ctx->arena, gpu),
                           NULL,
                           operators.fused_traffic * wholes * WHOLE)
               .us +
           gpu->gap;
}

static void assert_kernels(struct seen seen, unsigned count, double us) {
    assert_int_equal(seen.count, count);
    assert_within(seen.us, us, 1e-3);
}

/* By bytes, where a product beside them slows the clock. */
static void assert_wholes(struct seen seen, unsigned count, double wholes) {
    struct sc__operators operators;
    must(sc__operators_load(ctx, &operators));
    assert_int_equal(seen.count, count);
    assert_within(seen.bytes / (operators.fused_traffic * WHOLE), wholes, 1e-6);
}

static void test_chain(void **state) {
    const char *chain =
        two(op(ADD, "[0, 1, 2]", 1), op(MUL, "[2, 3, 4]", 1)); /* 2 is theirs alone */
    (void)state;
    assert_kernels(kernels(compiled(chain, "[2]", "yes")), 1, moves(4));
    /* somebody keeps it: it is written, not read */
    assert_kernels(kernels(compiled(chain, "[]", "yes")), 1, moves(5));
    /* what is read twice is read once */
    const char *same = two(op(ADD, "[0, 0, 2]", 1), op(MUL, "[2, 0, 4]", 1));
    assert_kernels(kernels(compiled(same, "[2]", "yes")), 1, moves(2));
    /* the same file without, and as it asks */
    assert_int_equal(kernels(compiled(chain, "[2]", "no")).count, 2);
    assert_int_equal(kernels(compiled(chain, "[2]", "auto")).count, 2);
}

static void test_apart(void **state) {
    (void)state;
    /* two units; outside of any */
    const char *units = two(op(ADD, "[0, 1, 2]", 1), op(MUL, "[2, 3, 4]", 2));
    assert_kernels(kernels(compiled(units, "[2]", "yes")), 2, 2 * moves(3));
    const char *outside = two(op(ADD, "[0, 1, 2]", 0), op(MUL, "[2, 3, 4]", 0));
    assert_int_equal(kernels(compiled(outside, "[2]", "yes")).count, 2);
    /* other elements */
    const char *half = two(op(ADD, "[0, 1, 2]", 1), op(HALF_ADD, "[2, 3, 4]", 1));
    assert_kernels(kernels(compiled(half, "[2]", "yes")), 2, moves(3) + moves(1.5));
}

/* A product between them needs the first and is needed by the second. */
static void test_around_a_product(void **state) {
    (void)state;
    const char *ops =
        two(two(op(ADD, "[0, 1, 2]", 1), op(MM, "[2, 5, 6]", 1)), op(MUL, "[2, 6, 4]", 1));
    assert_wholes(kernels(compiled(ops, "[2, 6]", "yes")), 2, 6);
    /* a product beside them is in nobody's way, but reads what the first writes */
    const char *beside =
        two(two(op(ADD, "[0, 1, 2]", 1), op(MM, "[2, 5, 6]", 1)), op(MUL, "[2, 3, 4]", 1));
    assert_wholes(kernels(compiled(beside, "[2, 6]", "yes")), 1, 5);
}

static void test_reductions(void **state) {
    double rows = 2.0 * 4096 / WHOLE; /* of a row or a column, in wholes */
    (void)state;
    const char *row = two(op(ADD, "[0, 1, 2]", 1), op(ROW_SUM, "[2, 3]", 1));
    assert_kernels(kernels(compiled(row, "[2]", "yes")), 1, moves(2 + rows));
    const char *norm = two(op(ADD, "[0, 1, 2]", 1), op(NORM, "[2, 5, 6, 7, 8, 9]", 1));
    assert_kernels(kernels(compiled(norm, "[2]", "yes")), 1, moves(3 + 4 * rows));
    /* a sum of columns is a kernel of its own, which reads what was written */
    const char *column = two(op(ADD, "[0, 1, 2]", 1), op(COLUMN_SUM, "[2, 3]", 1));
    assert_int_equal(kernels(compiled(column, "[2]", "yes")).count, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_chain, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_apart, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_around_a_product, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_reductions, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
