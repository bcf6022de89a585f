/* The kernel model against the kernels measured on an H200 that are part of the
 * repository: short and unaligned GEMMs, attention of all head sizes, and
 * attention and memory-bound kernels in fp32. */
#include "test.h"

#include "hardware/gpu_fit.h"

#include <math.h>

#include "context.h"

static const char newer[] = "data/truth/h200_kernels.csv";
static const char older[] = "data/truth/kernels-h200.csv";
static const char fp32[] = "data/truth/h200_fp32.csv";
static const char scan[] = "data/truth/h200_scan.csv";
static const char products[] = "data/truth/h200_products.csv";
static const char wide_products[] = "data/truth/h200_wide_products.csv";

static const struct sc__gpu *h200(void) {
    const struct sc__gpu *g;
    if (sc__gpu_find(ctx, "h200", &g) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    return g;
}

static void read_rows(const char *path, struct sc__kernel_table *out) {
    assert_int_equal(sc__kernel_table_read(ctx, path, out), SC_OK);
}

/* ---- errors of the constants as they are ---- */

enum class { SHORT, UNALIGNED, WIDE_FORWARD, WIDE_BACKWARD, FORWARD, BACKWARD, CLASSES };

static enum class class_of(const struct sc__kernel_key *k) {
    if (k->what == SC__KERNEL_OP_GEMM) return ((k->size[0] | k->size[1] | k->size[2]) & 7)
        ? UNALIGNED
        : SHORT;
    bool wide = k->size[5] > 128, forward = k->what == SC__KERNEL_OP_ATTENTION_F;
    return wide      ? (forward ? WIDE_FORWARD : WIDE_BACKWARD)
           : forward ? FORWARD
                     : BACKWARD;
}

/* The bounds are what constants fitted to one half of the shapes reach on the
 * other (half_of_the_shapes below; short GEMMs: the worst of ten draws),
 * rounded up. */
static void errors_by_class(void **state) {
    static const struct {
        const char *name;
        int rows;
        double mean;
        double worst;
    } bounds[CLASSES] = {[SHORT] = {"GEMMs, short", 294, 4.8, 40},
                         [UNALIGNED] = {"GEMMs, unaligned", 168, 6.5, 40},
                         [WIDE_FORWARD] = {"attention, wide, forward", 97, 2.5, 10},
                         [WIDE_BACKWARD] = {"attention, wide, backward", 97, 3, 15},
                         [FORWARD] = {"attention, forward", 99, 2.5, 12},
                         [BACKWARD] = {"attention, backward", 99, 2.5, 15}};
    struct sc__kernel_table table = {0};
    double sum[CLASSES] = {0};
    double worst[CLASSES] = {0};
    int count[CLASSES] = {0};
    (void)state;
    read_rows(newer, &table);
    for (uint32_t i = 0; i < table.count; i++) {
        const struct sc__kernel_row *r = &table.rows[i];
        enum class c = class_of(&r->key);
        double error = 100 * fabs(sc__kernel_cost(h200(), &r->key) / r->us - 1);
        sum[c] += error;
        worst[c] = fmax(worst[c], error);
        count[c]++;
    }
    for (int c = 0; c < CLASSES; c++) {
        double mean = sum[c] / count[c];
        printf("%-26s %3d rows, mean error %.2f %%, worst %.1f %%\n",
               bounds[c].name,
               count[c],
               mean,
               worst[c]);
        assert_int_equal(count[c], bounds[c].rows);
        assert_true(mean <= bounds[c].mean && worst[c] <= bounds[c].worst);
    }
}

/* ---- elements of four bytes ---- */

enum fp32_class { FP32_FITTED, FP32_HELD, FP32_MEMORY, FP32_CLASSES };

/* Attention before this row is what its constants were fitted to; no constant
 * was fitted to the memory-bound kernels. */
enum { FIRST_HELD = 44 };

static void errors_in_fp32(void **state) {
    static const struct {
        const char *name;
        int rows;
        double mean;
        double worst;
    } bounds[FP32_CLASSES] = {[FP32_FITTED] = {"attention, fitted", 44, 2, 5},
                              [FP32_HELD] = {"attention, held out", 44, 3, 13},
                              [FP32_MEMORY] = {"memory-bound", 68, 9, 23}};
    struct sc__kernel_table table = {0};
    double sum[FP32_CLASSES] = {0};
    double worst[FP32_CLASSES] = {0};
    int count[FP32_CLASSES] = {0};
    (void)state;
    read_rows(fp32, &table);
    for (uint32_t i = 0; i < table.count; i++) {
        const struct sc__kernel_row *r = &table.rows[i];
        bool attention = r->key.what <= SC__KERNEL_OP_ATTENTION_B;
        enum fp32_class c = !attention        ? FP32_MEMORY
                            : i >= FIRST_HELD ? FP32_HELD
                                              : FP32_FITTED;
        double error = 100 * fabs(sc__kernel_cost(h200(), &r->key) / r->us - 1);
        assert_int_equal(r->key.dtype, SC__FP32);
        sum[c] += error;
        worst[c] = fmax(worst[c], error);
        count[c]++;
    }
    for (int c = 0; c < FP32_CLASSES; c++) {
        double mean = sum[c] / count[c];
        printf("fp32 %-21s %3d rows, mean error %.2f %%, worst %.1f %%\n",
               bounds[c].name,
               count[c],
               mean,
               worst[c]);
        assert_int_equal(count[c], bounds[c].rows);
        assert_true(mean <= bounds[c].mean && worst[c] <= bounds[c].worst);
    }
}

/* Attention in four bytes is never faster than the fp32 units, on any GPU. */
static void no_faster_than_the_peak(void **state) {
    (void)state;
    for (unsigned i = 0; i < sc__data_file_count; i++) {
        struct sc__str path = sc__str(sc__data_files[i].path);
        const struct sc__gpu *g;
        if (!sc__str_starts(path, "gpus/"))
            continue;
        const char *name = sc__strndup(&ctx->arena, path.p + 5, path.n - 10);
        assert_int_equal(sc__gpu_find(ctx, name, &g), SC_OK);
        struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, g);
        for (uint64_t d = 64; d <= 256; d += 64) {
            struct sc__attention a = {.batch = 1,
                                      .heads = 32,
                                      .kv_heads = 32,
                                      .sq = 8192,
                                      .head_dim = d,
                                      .wide = true};
            struct sc__kernel f = sc__attention_forward(p, &a);
            struct sc__kernel b = sc__attention_backward(p, &a);
            double most = g->peak[SC__FP32] * 1e6; /* FLOP/us */
            assert_true(f.flop / f.us < most && f.flop / f.us > most / 10);
            assert_true(b.flop / b.us < most && b.flop / b.us > most / 10);
            assert_true(f.bytes == 4.0 * 32 * (8192 + 8192) * 2 * (double)d);
        }
    }
}

/* Twice the bytes where all of them are of the type; a mask is not. */
static void elements_of_four_bytes(void **state) {
    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, h200());
    (void)state;
    static const enum sc__memory_op whole[] = {SC__MEM_RMSNORM_F,
                                               SC__MEM_ADD,
                                               SC__MEM_COPY};
    for (unsigned i = 0; i < sizeof whole / sizeof *whole; i++) {
        struct sc__kernel two = sc__memory_op(p, whole[i], SC__BF16, 4096, 4096);
        struct sc__kernel four = sc__memory_op(p, whole[i], SC__TF32, 4096, 4096);
        assert_true(four.bytes == 2 * two.bytes);
        assert_true(four.us > two.us && four.us < 2.2 * two.us);
        assert_true(sc__memory_op(p, whole[i], SC__FP16, 4096, 4096).us == two.us);
    }
    assert_true(sc__memory_op(p, SC__MEM_DROPOUT_F, SC__FP32, 10, 10).bytes == 900);
    assert_true(sc__embedding_forward(p, SC__FP32, 10, 10).bytes == 800);
}

/* Rows that come to the same place are added up in tens before they go through memory
 * again: 100000 rows over 30000 places of 768 (forward and backward, data/truth/
 * h200_operators.csv without its ones_like of 82 us). Where there are two places for a row
 * the time is that of the rows. */
static void gradient_of_few_places(void **state) {
    const double *e = h200()->embedding;
    struct sc__kernel_model *p = sc__kernel_model_new(&ctx->arena, h200());
    (void)state;
    double both = sc__embedding_forward(p, SC__FP32, 100000, 768).us +
                  sc__embedding_backward(p, SC__FP32, 100000, 30000, 768).us;
    assert_within(both, 871.55 - 82, 0.08);
    double alone = e[2] + e[3] * 50304 * 1024e-6 + e[4] * 16384 * 1024e-6 + e[5] * 16.384;
    assert_within(sc__embedding_backward(p, SC__BF16, 16384, 50304, 1024).us, alone, 1e-9);
    assert_true(isfinite(sc__embedding_backward(p, SC__FP32, 100000, 0, 768).us));
    double ten = sc__embedding_backward(p, SC__BF16, 300000, 30000, 768).us;
    double more = e[4] * 768e-6 * (1.45 - (1 - exp(-5))) * 30000 + 150 * e[5] +
                  2 * 768 * (150000 - (1.45 - (1 - exp(-5))) * 30000) / 3.9e6;
    assert_within(ten - sc__embedding_backward(p, SC__BF16, 150000, 30000, 768).us,
                  more,
                  1e-6);
}

/* ---- constants far off, fitted to one half ---- */

static void detune(struct sc__gpu *g) {
    for (unsigned i = 0; i < SC__HEAD_CLASSES; i++) {
        struct sc__attention_constants *a = &g->attention[i];
        for (unsigned k = 0; k < 4; k++) {
            a->forward[k] *= 1.4;
            a->backward[k] *= 0.7;
        }
        a->whole *= 1.1;
    }
    g->unaligned.even *= 1.3;
    g->unaligned.odd *= 0.7;
    g->unaligned.odd_n *= 1.2;
    g->unaligned.te *= 1.5;
    g->unaligned.odd_dgrad *= 0.8;
    g->unaligned.odd_wgrad *= 1.3;
}

/* The half that was left out may be worse by 1.5 points. */
static void half_of_the_shapes(void **state) {
    struct sc__kernel_table both = {0};
    struct sc__kernel_table table = {0};
    struct sc__gpu off = *h200();
    struct sc__gpu_fit fit;
    (void)state;
    read_rows(newer, &both);
    read_rows(older, &both);
    for (uint32_t i = 0; i < both.count; i++) {
        const struct sc__kernel_key *k = &both.rows[i].key;
        if (k->what == SC__KERNEL_OP_ATTENTION_F || k->what == SC__KERNEL_OP_ATTENTION_B ||
            sc__gemm_unaligned(k))
            *SC__PUSH(&ctx->arena, table.rows, table.count, table.capacity) = both.rows[i];
    }
    detune(&off);
    sc__gpu_fit(ctx, &off, &table, false, &fit);
    assert_int_equal(fit.count, 11);
    for (uint32_t i = 0; i < fit.count; i++) {
        const struct sc__fit_group *g = &fit.groups[i];
        printf("%-26s %3u rows, before %4.1f, after %.2f, left out %.2f %%\n",
               g->name,
               g->rows,
               g->before,
               g->after,
               g->held_out);
        assert_true(g->before > 10 && g->held_out > 0 && g->held_out <= g->after + 1.5);
    }
}

/* Mamba-2's scan: the bounds are the mean errors on 62 shapes of classes that the first
 * fit had not seen, rounded up. */
static void scans(void **state) {
    static const double bounds[] = {4.5, 6};
    struct sc__kernel_table table = {0};
    double sum[2] = {0};
    int count[2] = {0};
    (void)state;
    read_rows(scan, &table);
    for (uint32_t i = 0; i < table.count; i++) {
        const struct sc__kernel_row *r = &table.rows[i];
        sum[r->key.size[7]] += 100 * fabs(sc__kernel_cost(h200(), &r->key) / r->us - 1);
        count[r->key.size[7]]++;
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(count[i], 145);
        assert_true(sum[i] / count[i] <= bounds[i]);
    }
}

/* Products that kernels of before Hopper run: batched ones in fp32 and tf32, tf32 of no
 * multiple of 4, batched ones in bf16 of no multiple of 8. Rows after the first
 * FIRST_RANDOM are random sizes that nothing was fitted to. */
enum { FIRST_RANDOM = 546, PRODUCT_CLASSES = 6 };

static unsigned product_class(const struct sc__kernel_key *k) {
    uint64_t sizes = k->size[0] | k->size[1] | k->size[2];
    if (k->what == SC__KERNEL_OP_GEMM)
        return 0;
    if (k->dtype == SC__BF16)
        return sizes & 1 ? 5 : 4;
    return k->dtype == SC__FP32 ? 1 : sizes & 3 ? 3 : 2;
}

static void products_by_older_kernels(void **state) {
    static const struct {
        const char *name;
        int rows;
        double mean;
    } bounds[PRODUCT_CLASSES] = {{"tf32, unaligned", 84, 9},
                                 {"fp32, batched", 237, 10.5},
                                 {"tf32, batched", 123, 11.5},
                                 {"tf32, batched, unaligned", 114, 17.5},
                                 {"bf16, batched, unaligned", 30, 11},
                                 {"bf16, batched, odd", 96, 26}};
    struct sc__kernel_table table = {0};
    double sum[PRODUCT_CLASSES] = {0};
    int count[PRODUCT_CLASSES] = {0};
    (void)state;
    read_rows(products, &table);
    for (uint32_t i = FIRST_RANDOM; i < table.count; i++) {
        const struct sc__kernel_row *r = &table.rows[i];
        unsigned c = product_class(&r->key);
        sum[c] += 100 * fabs(sc__kernel_cost(h200(), &r->key) / r->us - 1);
        count[c]++;
    }
    for (int c = 0; c < PRODUCT_CLASSES; c++) {
        double mean = sum[c] / count[c];
        printf("%-26s %3d random rows, mean error %.1f %%\n",
               bounds[c].name,
               count[c],
               mean);
        assert_int_equal(count[c], bounds[c].rows);
        assert_true(mean <= bounds[c].mean);
    }
}

/* Single products of four bytes: forward in fp32, and forward, input and weight gradients
 * in tf32. With the factors on bf16's constants that came before the means were 13, 14, 13
 * and 18 %. */
static void products_of_four_bytes(void **state) {
    static const char *const ops[] = {"gemm", "gemm", "gemm_dgrad", "gemm_wgrad"};
    static const int rows[] = {600, 707, 341, 341};
    static const double bounds[] = {9.5, 8.5, 9.8, 8.8};
    struct sc__kernel_table table = {0};
    double sum[4] = {0};
    int count[4] = {0};
    (void)state;
    read_rows(wide_products, &table);
    for (uint32_t i = 0; i < table.count; i++) {
        const struct sc__kernel_row *r = &table.rows[i];
        unsigned c = r->key.dtype == SC__FP32 ? 0 : 1;
        while (strcmp(ops[c], r->op))
            c++;
        sum[c] += 100 * fabs(sc__kernel_cost(h200(), &r->key) / r->us - 1);
        count[c]++;
    }
    for (int c = 0; c < 4; c++) {
        printf("%-10s %3d rows, mean error %.1f %%\n", ops[c], count[c], sum[c] / count[c]);
        assert_int_equal(count[c], rows[c]);
        assert_true(sum[c] / count[c] <= bounds[c]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(errors_by_class, open_context, close_context),
        cmocka_unit_test_setup_teardown(errors_in_fp32, open_context, close_context),
        cmocka_unit_test_setup_teardown(no_faster_than_the_peak,
                                        open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(gradient_of_few_places,
                                        open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(elements_of_four_bytes,
                                        open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(half_of_the_shapes, open_context, close_context),
        cmocka_unit_test_setup_teardown(scans, open_context, close_context),
        cmocka_unit_test_setup_teardown(products_by_older_kernels,
                                        open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(products_of_four_bytes,
                                        open_context,
                                        close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
