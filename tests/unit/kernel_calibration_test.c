/* The kernel model against measurements: bounds on the errors over the
 * calibration tables of one H200, which are not part of the repository. */
#include "test.h"

#include "hardware/gpu_fit.h"
#include "hardware/power_throttling.h"

#include <math.h>

static struct sc_context *ctx;
static struct sc__kernel_model *kernel_model;

static int begin(void **state) {
    const struct sc__gpu *gpu;
    (void)state;
    ctx = sc_open();
    if (sc__gpu_find(ctx, "h200", &gpu) != SC_OK)
        return -1;
    kernel_model = sc__kernel_model_new(&ctx->arena, gpu);
    return 0;
}

static int end(void **state) {
    (void)state;
    sc_close(ctx);
    return 0;
}

/* ---- tables ---- */

struct table {
    FILE *file;
    char line[16384];
    char header[1024];
};

static struct table open_table(const char *name) {
    struct table t = {.file = fopen(shared_path(name), "r")};
    assert_non_null(t.file);
    assert_non_null(fgets(t.header, sizeof t.header, t.file));
    return t;
}

static bool next_row(struct table *t) {
    if (fgets(t->line, sizeof t->line, t->file))
        return true;
    fclose(t->file);
    return false;
}

/* The cell below a column; columns with quoted text come last. */
static const char *cell(const struct table *t, const char *column) {
    static char text[4][64];
    static int next;
    const char *h = t->header;
    const char *l = t->line;
    size_t n = strlen(column);
    while (strncmp(h, column, n) || (h[n] != ',' && h[n] != '\n' && h[n] != '\r')) {
        h = strchr(h, ',');
        l = strchr(l, ',');
        assert_true(h && l);
        h++;
        l++;
    }
    char *out = text[next++ & 3];
    snprintf(out, sizeof text[0], "%.*s", (int)strcspn(l, ",\r\n"), l);
    return out;
}

static double number(const struct table *t, const char *column) {
    return atof(cell(t, column));
}
static uint64_t size(const struct table *t, const char *column) {
    return strtoull(cell(t, column), NULL, 10);
}

/* ---- errors ---- */

struct errors {
    double sum;
    int count;
};

static void add(struct errors *e, double predicted, double measured) {
    e->sum += fabs(predicted / measured - 1);
    e->count++;
}

static void bound(const char *what, const struct errors *e, double percent, int rows) {
    double mean = 100 * e->sum / e->count;
    printf("%-28s %5d rows, mean error %5.2f %%, bound %.2f %%\n",
           what,
           e->count,
           mean,
           percent);
    assert_true(e->count >= rows);
    assert_true(mean <= percent);
}

static void gemm_cold(void **state) {
    (void)state;
    struct table t = open_table("calibration/h200/gemm_cold.csv");
    struct errors all = {0};
    struct errors large = {0};
    while (next_row(&t)) {
        double us = number(&t, "us");
        double p = sc__gemm(kernel_model,
                            NULL,
                            SC__BF16,
                            size(&t, "m"),
                            size(&t, "n"),
                            size(&t, "k"))
                       .us;
        add(&all, p, us);
        if (us > 100)
            add(&large, p, us);
    }
    bound("gemm", &all, 3.5, 1260);
    bound("gemm over 100 us", &large, 2.0, 300);
}

static void gemm_fp8(void **state) {
    (void)state;
    struct table t = open_table("calibration/h200/gemm_fp8_cold.csv");
    struct errors tensor = {0};
    struct errors row = {0};
    while (next_row(&t)) {
        bool by_row = !strcmp(cell(&t, "scaling"), "row");
        enum sc__dtype type = by_row ? SC__FP8_ROW : SC__FP8;
        double p =
            sc__gemm(kernel_model, NULL, type, size(&t, "m"), size(&t, "n"), size(&t, "k"))
                .us;
        add(by_row ? &row : &tensor, p, number(&t, "us"));
    }
    bound("fp8, one scale", &tensor, 4, 90);
    bound("fp8, a scale per row", &row, 4, 90);
}

static void gemm_grouped(void **state) {
    (void)state;
    struct table t = open_table("calibration/h200/gemm_grouped_cold.csv");
    struct errors all = {0};
    while (next_row(&t)) {
        uint64_t e = size(&t, "experts");
        uint64_t m = size(&t, "tok_per_expert");
        uint64_t n = size(&t, "n");
        uint64_t k = size(&t, "k");
        const char *kind = cell(&t, "kind");
        struct sc__kernel p =
            !strcmp(kind, "grouped_fwd")
                ? sc__gemm_grouped(kernel_model, NULL, SC__BF16, e, m, n, k)
            : !strcmp(kind, "grouped_dgrad")
                ? sc__gemm_grouped(kernel_model, NULL, SC__BF16, e, m, k, n)
                : sc__gemm_grouped(kernel_model, NULL, SC__BF16, e, n, k, m);
        add(&all, p.us, number(&t, "us"));
    }
    bound("grouped", &all, 8, 135);
}

static void attention(void **state) {
    (void)state;
    struct table t = open_table("calibration/h200/attention_extra.csv");
    struct errors forward = {0};
    struct errors backward = {0};
    while (next_row(&t)) {
        struct sc__attention a = {.batch = size(&t, "batch"),
                                  .heads = size(&t, "heads"),
                                  .kv_heads = size(&t, "kv_heads")};
        a.sq = size(&t, "seq");
        a.head_dim = size(&t, "head_dim");
        a.causal = size(&t, "causal");
        if (number(&t, "fwd_us") > 0)
            add(&forward, sc__attention_forward(kernel_model, &a).us, number(&t, "fwd_us"));
        if (number(&t, "bwd_us") > 0)
            add(&backward,
                sc__attention_backward(kernel_model, &a).us,
                number(&t, "bwd_us"));
    }
    bound("attention forward", &forward, 4, 60);
    bound("attention backward", &backward, 4, 60);
}

static const struct memory_case {
    const char *op;
    /* -1: not a kernel of ours */
    int forward;
    int backward;
} memory_cases[] = {{"layernorm", SC__MEM_LAYERNORM_F, SC__MEM_LAYERNORM_B},
                    {"rmsnorm", SC__MEM_RMSNORM_F, SC__MEM_RMSNORM_B},
                    {"gelu", SC__MEM_GELU_F, SC__MEM_GELU_B},
                    {"swiglu", SC__MEM_SWIGLU_F, SC__MEM_SWIGLU_B},
                    {"swiglu_chunk", SC__MEM_SWIGLU_CHUNK_F, SC__MEM_SWIGLU_CHUNK_B},
                    {"dropout", SC__MEM_DROPOUT_F, SC__MEM_DROPOUT_B},
                    {"cross_entropy", SC__MEM_CROSS_ENTROPY_F, SC__MEM_CROSS_ENTROPY_B},
                    {"add", SC__MEM_ADD, -1},
                    {"copy", SC__MEM_COPY, -1},
                    {"transpose_copy", SC__MEM_TRANSPOSE, -1},
                    {"to_fp32", SC__MEM_CAST_FP32, -1},
                    {"bias_grad", SC__MEM_BIAS_GRAD, -1}};

static void memory_bound(void **state) {
    (void)state;
    struct table t = open_table("calibration/h200/membound_extra.csv");
    struct errors all = {0};
    struct errors bias = {0};
    while (next_row(&t)) {
        const char *op = cell(&t, "op");
        for (size_t i = 0; i < sizeof memory_cases / sizeof *memory_cases; i++) {
            const struct memory_case *c = &memory_cases[i];
            if (strcmp(op, c->op))
                continue;
            uint64_t rows = size(&t, "rows");
            uint64_t cols = size(&t, "cols");
            double f = number(&t, "fwd_us");
            double b = number(&t, "bwd_us");
            if (f > 10)
                add(&all,
                    sc__memory_op(kernel_model,
                                  (enum sc__memory_op)c->forward,
                                  SC__BF16,
                                  rows,
                                  cols)
                        .us,
                    f);
            if (f > 10 && c->forward == SC__MEM_BIAS_GRAD)
                add(&bias,
                    sc__memory_op(kernel_model, SC__MEM_BIAS_GRAD, SC__BF16, rows, cols).us,
                    f);
            if (b > 10 && c->backward >= 0)
                add(&all,
                    sc__memory_op(kernel_model,
                                  (enum sc__memory_op)c->backward,
                                  SC__BF16,
                                  rows,
                                  cols)
                        .us,
                    b);
        }
    }
    bound("memory-bound over 10 us", &all, 6, 400);
    bound("bias gradient", &bias, 8, 25);
}

/* ---- power ---- */

/* Slowdown of the first kernel in a loop of a of it, b of another, idle us. */
static double slowdown(const struct sc__kernel *first,
                       double a,
                       const struct sc__kernel *other,
                       double b,
                       double idle) {
    struct sc__load load = {0};
    sc__load_add(&load, first, a);
    if (other)
        sc__load_add(&load, other, b);
    return sc__throttle(sc__kernel_model_gpu(kernel_model), &load, idle)
        .factor[first->kind];
}

/* Cold and sustained time of a case of power.csv: the medians are flat, so
 * the last before 30 ms and the last of all do. */
static bool power_case(const char *what, double *cold, double *hot) {
    struct table t = open_table("calibration/h200/power.csv");
    *cold = *hot = 0;
    while (next_row(&t)) {
        if (strcmp(cell(&t, "what"), what))
            continue;
        double ms = number(&t, "t_ms");
        if (ms >= 2 && ms <= 10)
            *cold = number(&t, "us");
        if (ms >= 600)
            *hot = number(&t, "us");
    }
    return *cold > 0 && *hot > 0;
}

static void power_loops(void **state) {
    (void)state;
    static const uint64_t shapes[][3] = {{8192, 8192, 8192},
                                         {4096, 4096, 4096},
                                         {16384, 12288, 4096},
                                         {8192, 1024, 8192},
                                         {2048, 8192, 2048},
                                         {16384, 4096, 512}};
    double cold;
    double hot;
    for (size_t i = 0; i < 6; i++) {
        char what[64];
        const uint64_t *s = shapes[i];
        snprintf(what, sizeof what, "gemm_%dx%dx%d", (int)s[0], (int)s[1], (int)s[2]);
        assert_true(power_case(what, &cold, &hot));
        struct sc__kernel k = sc__gemm(kernel_model, NULL, SC__BF16, s[0], s[1], s[2]);
        double points = 100 * (slowdown(&k, 1, NULL, 0, 0) - hot / cold);
        printf("%-28s %+.1f points\n", what, points);
        assert_true(fabs(points) <= 4);
    }
    struct sc__attention a = {.batch = 2,
                              .heads = 32,
                              .kv_heads = 32,
                              .sq = 8192,
                              .head_dim = 128,
                              .causal = true};
    struct sc__kernel k = sc__attention_forward(kernel_model, &a);
    assert_true(power_case("sdpa_fwd_2x32x8192x128", &cold, &hot));
    printf("%-28s %+.1f points\n",
           "attention",
           100 * (slowdown(&k, 1, NULL, 0, 0) - hot / cold));
    assert_true(fabs(slowdown(&k, 1, NULL, 0, 0) - hot / cold) <= 0.04);
}

/* duty.csv: loops of G GEMMs 4096^3 and M adds of 134e6 elements, or pauses. */
static void duty_cycles(void **state) {
    (void)state;
    struct table t = open_table("calibration/h200/duty.csv");
    struct sc__kernel gemm = sc__gemm(kernel_model, NULL, SC__BF16, 4096, 4096, 4096);
    struct sc__kernel sum = sc__memory_op(kernel_model, SC__MEM_ADD, SC__BF16, 16384, 8192);
    int cases = 0;
    while (next_row(&t)) {
        int g;
        int m;
        double points;
        const double cold = 175.4; /* power.csv: 4096^3 below the limit */
        const char *what = cell(&t, "what");
        if (sscanf(what, "G%d:idle%d", &g, &m) == 2)
            points = slowdown(&gemm, g, NULL, 0, m) - number(&t, "gemm_us") / cold;
        else if (sscanf(what, "G%d:M%d", &g, &m) == 2 && g > 0)
            points = slowdown(&gemm, g, &sum, m, 0) - number(&t, "gemm_us") / cold;
        else
            continue;
        printf("%-28s %+.1f points\n", what, 100 * points);
        assert_true(fabs(points) <= 0.04);
        cases++;
    }
    assert_int_equal(cases, 11);
}

/* ---- leave half of the shapes out ---- */

static void push_gemm(struct sc__kernel_table *out,
                      enum sc__kernel_op what,
                      enum sc__dtype type,
                      uint64_t batch,
                      const uint64_t size[3],
                      double us) {
    *SC__PUSH(&ctx->arena, out->rows, out->count, out->capacity) = (struct sc__kernel_row){
        .key = {.what = what, .dtype = type, .size = {size[0], size[1], size[2], batch}},
        .op = "gemm",
        .us = us};
}

/* Constants far from the fitted ones must come back, and the shapes of the
 * half that was left out must not be worse by more than 1.5 points. */
static void half_of_the_shapes(void **state) {
    (void)state;
    struct sc__gpu off = *sc__kernel_model_gpu(kernel_model);
    struct sc__kernel_table table = {0};
    struct sc__gpu_fit fit;
    struct table t = open_table("calibration/h200/gemm_cold.csv");
    while (next_row(&t))
        push_gemm(&table,
                  SC__KERNEL_OP_GEMM,
                  SC__BF16,
                  1,
                  (uint64_t[]){size(&t, "m"), size(&t, "n"), size(&t, "k")},
                  number(&t, "us"));
    t = open_table("calibration/h200/gemm_fp8_cold.csv");
    while (next_row(&t))
        push_gemm(&table,
                  SC__KERNEL_OP_GEMM,
                  strcmp(cell(&t, "scaling"), "row") ? SC__FP8 : SC__FP8_ROW,
                  1,
                  (uint64_t[]){size(&t, "m"), size(&t, "n"), size(&t, "k")},
                  number(&t, "us"));
    t = open_table("calibration/h200/gemm_grouped_cold.csv");
    while (next_row(&t)) {
        uint64_t m = size(&t, "tok_per_expert");
        uint64_t n = size(&t, "n");
        uint64_t k = size(&t, "k");
        const char *kind = cell(&t, "kind");
        bool forward = !strcmp(kind, "grouped_fwd"), wgrad = !strcmp(kind, "grouped_wgrad");
        push_gemm(&table,
                  SC__KERNEL_OP_GROUPED,
                  SC__BF16,
                  size(&t, "experts"),
                  (uint64_t[]){wgrad ? n : m,
                               forward ? n : k,
                               forward ? k
                               : wgrad ? m
                                       : n},
                  number(&t, "us"));
    }
    off.gemm.r *= 0.8;
    off.gemm.rp *= 1.2;
    off.gemm.b *= 1.3;
    off.gemm.te *= 0.7;
    off.gemm.t0 *= 1.4;
    off.gemm.bw *= 0.9;
    off.dtype[SC__FP8].r *= 1.2;
    off.dtype[SC__FP8].rp *= 0.85;
    off.dtype[SC__FP8].b *= 0.8;
    off.dtype[SC__FP8_ROW].r *= 0.8;
    off.dtype[SC__FP8_ROW].rp *= 1.2;
    off.grouped.step *= 1.3;
    off.grouped.tile *= 2;
    off.grouped.t0 *= 0.6;
    sc__gpu_fit(ctx, &off, &table, false, &fit);
    assert_int_equal(fit.count, 4);
    static const double most[] = {3.5, 8, 4, 4}; /* bf16, grouped, fp8, fp8 by row */
    for (uint32_t i = 0; i < fit.count; i++) {
        const struct sc__fit_group *g = &fit.groups[i];
        printf("%-28s %5u rows, before %5.1f, after %5.2f, held out %5.2f %%\n",
               g->name,
               g->rows,
               g->before,
               g->after,
               g->held_out);
        assert_true(g->after <= most[i] && g->held_out <= g->after + 1.5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gemm_cold),
                                       cmocka_unit_test(gemm_fp8),
                                       cmocka_unit_test(gemm_grouped),
                                       cmocka_unit_test(attention),
                                       cmocka_unit_test(memory_bound),
                                       cmocka_unit_test(power_loops),
                                       cmocka_unit_test(duty_cycles),
                                       cmocka_unit_test(half_of_the_shapes)};
    return cmocka_run_group_tests(tests, begin, end);
}
