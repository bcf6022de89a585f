/* nccl-tests logs: what is read, what is refused, and a calibration that must
 * find constants that were hidden in a log. */
#include "collective/operations.h"

#include "test.h"
#include <math.h>

#include "context.h"

static sc_status read_log(const char *text, struct sc__coll_log *log) {
    char path[] = "/tmp/stepcast-log-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    sc_status status = sc__coll_log_read(ctx, path, log);
    unlink(path);
    return status;
}

static const char header[] =
    "# nThread 1 nGpus 2 minBytes 8 maxBytes 128 step: 2(factor) warmup iters: 5 iters: "
    "20\n"
    "#\n# Using devices\n"
    "#  Rank  0 Group  0 Pid  1 on   node-a device  0 [0x07] NVIDIA H100\n"
    "#  Rank  1 Group  0 Pid  1 on   node-a device  1 [0x0f] NVIDIA H100\n"
    "#  Rank  2 Group  0 Pid  1 on   node-b device  0 [0x07] NVIDIA H100\n"
    "#  Rank  3 Group  0 Pid  1 on   node-b device  1 [0x0f] NVIDIA H100\n"
    "# Collective test starting: all_gather_perf\n";

static void new_and_old_columns(void **state) {
    struct sc__coll_log log;
    (void)state;
    char *text = sc__format(
        &ctx->arena,
        "%s%s",
        header,
        "node-a:1:1 [0] NCCL INFO something 8 2 float\n"
        "[1,0]<stdout>:           8             2     float    none      -1    13.67    "
        "0.00    "
        "0.00      0    13.00    0.00    0.00    N/A\n"
        "  1048576  262144  float  sum  27.5  38.13  66.7  0e+00  27.0  38.1  66.7  0e+00\n"
        "# Out of bounds values : 0 OK\n");
    assert_int_equal(read_log(text, &log), SC_OK);
    assert_int_equal(log.count, 1);
    const struct sc__coll_log_table *t = &log.tables[0];
    assert_int_equal(t->count, 2);
    assert_true(t->rows[0].bytes == 8 && t->rows[0].us == 13.67);
    assert_true(t->rows[1].bytes == 1048576 && t->rows[1].us == 27.5);
    assert_int_equal(t->ranks, 4);
    assert_int_equal(t->nodes, 2);
    assert_int_equal(t->gpus_per_process, 2);
    assert_string_equal(t->op->name, "all_gather");
}

static bool noted(const char *code, const char *words) {
    for (uint32_t i = 0; i < ctx->note_count; i++)
        if (!strcmp(ctx->notes[i].code, code))
            return strstr(ctx->notes[i].text, words) != NULL;
    return false;
}

/* 1 MiB in 25.4 us are 41.28 GB/s; the second row has its time's first digits swapped. */
static void rows_that_contradict_themselves(void **state) {
    struct sc__coll_log log;
    (void)state;
    char *text = sc__format(&ctx->arena,
                            "%s%s",
                            header,
                            "1048576 262144 float none -1 25.40 41.28 30.96 0\n"
                            "2097152 524288 float none -1 83.18 54.93 41.20 0\n"
                            "4194304 1048576 float none -1 70.00 59.92 44.94 0\n");
    assert_int_equal(read_log(text, &log), SC_INPUT);
    assert_int_equal(sc_error_line(ctx), 10);
    assert_true(strstr(sc_error_message(ctx),
                       "2097152 bytes in 83.18 us are 25.21 GB/s, and algbw says 54.93"));
    sc__clear_error(ctx);
    /* a table that counts otherwise: all of it by the bytes of a rank */
    text = sc__format(&ctx->arena,
                      "%s%s",
                      header,
                      "1048576 262144 float none -1 25.40 165.12 123.84 0\n"
                      "2097152 524288 float none -1 38.18 219.72 164.80 0\n");
    assert_int_equal(read_log(text, &log), SC_OK);
    assert_true(noted("log-times", "in 2 of 2 rows (25.4 us here, by algbw 6.35)"));
}

/* #wrong is a count; before 2022 it was the largest deviation, which is no fault. */
static void wrong_results_are_noted(void **state) {
    struct sc__coll_log log;
    (void)state;
    char *text = sc__format(&ctx->arena,
                            "%s%s",
                            header,
                            "1048576 262144 float none -1 25.40 41.28 30.96 5e-07\n"
                            "2097152 524288 float none -1 38.18 54.93 41.20 N/A\n");
    ctx->note_count = 0;
    assert_int_equal(read_log(text, &log), SC_OK);
    assert_false(noted("log-wrong", ""));
    text = sc__format(&ctx->arena,
                      "%s%s",
                      header,
                      "1048576 262144 float none -1 25.40 41.28 30.96 0\n"
                      "2097152 524288 float none -1 38.18 54.93 41.20 17 38.2 54.9 41.2 0\n"
                      "4194304 1048576 float none -1 70.00 59.92 44.94 3\n");
    assert_int_equal(read_log(text, &log), SC_OK);
    assert_int_equal(log.tables[0].count, 3);
    assert_true(noted("log-wrong", ":10: this row and 1 more have wrong results"));
    /* many are printed as %g does */
    ctx->note_count = 0;
    text = sc__format(&ctx->arena,
                      "%s%s",
                      header,
                      "1048576 262144 float none -1 25.40 41.28 30.96 2.62144e+07\n");
    assert_int_equal(read_log(text, &log), SC_OK);
    assert_true(noted("log-wrong", ":9: this row has wrong results"));
}

/* nccl-tests 2.18 has columns of single iterations, rccl-tests what the library chose;
 * the times of -C 1 are the host's. */
static void other_columns(void **state) {
    struct sc__coll_log log;
    (void)state;
    char *text = sc__format(
        &ctx->arena,
        "%s%s",
        header,
        "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 "
        "i_cv% time algbw busbw #wrong i_min i_max i_p99 i_cv%\n"
        "1048576 262144 float none -1 25.40 41.28 30.96 0 24.0 29.0 29.0 3.00 "
        "26.40 39.72 29.79 0 24.0 29.0 29.0 3.00\n"
        "# size count type redop root time algbw busbw #wrong time algbw busbw "
        "#wrong algo proto channels\n"
        "2097152 524288 float none -1 38.18 54.93 41.20 0 39.0 53.77 40.33 0 RING "
        "SIMPLE 112\n"
        "4194304 1048576 float none -1 70.00 59.92 44.94 0 71.0 59.07 44.31 N/A "
        "N/A N/A N/A\n");
    assert_int_equal(read_log(text, &log), SC_OK);
    assert_int_equal(log.count, 1);
    const struct sc__coll_log_table *t = &log.tables[0];
    assert_int_equal(t->count, 3);
    assert_true(t->rows[0].us == 25.4 && t->rows[1].us == 38.18 && t->rows[2].us == 70);
    text = sc__format(&ctx->arena,
                      "%s%s",
                      header,
                      "# size count type redop root cputime algbw busbw #wrong\n"
                      "1048576 262144 float none -1 4.00 262.14 196.61 0\n");
    assert_int_equal(read_log(text, &log), SC_INPUT);
    assert_int_equal(sc_error_line(ctx), 9);
    sc__clear_error(ctx);
}

/* NCCL_TESTS_SPLIT: the times are those of rank 0's group, on its hosts. */
static void groups_of_ranks(void **state) {
    struct sc__coll_log log;
    (void)state;
    static const char *const ranks[] = {
        "#  Rank 0 Group 0 Pid 1 on a device 0\n#  Rank 1 Group 0 Pid 1 on a device 1\n"
        "#  Rank 2 Group 1 Pid 1 on b device 0\n#  Rank 3 Group 1 Pid 1 on b device 1\n",
        "#  Rank 0 Group 0 Pid 1 on a device 0\n#  Rank 1 Group 1 Pid 1 on a device 1\n"
        "#  Rank 2 Group 0 Pid 1 on b device 0\n#  Rank 3 Group 1 Pid 1 on b device 1\n"};
    for (unsigned i = 0; i < 2; i++) {
        char *text = sc__format(&ctx->arena,
                                "# Collective test starting: sendrecv_perf\n%s%s",
                                ranks[i],
                                "1048576 262144 float sum -1 40.00 26.21 26.21 0\n");
        ctx->note_count = 0;
        assert_int_equal(read_log(text, &log), SC_OK);
        assert_int_equal(log.tables[0].ranks, 2);
        assert_int_equal(log.tables[0].nodes, i + 1);
        assert_true(noted("log-groups", "group 0, 2 ranks"));
    }
}

/* Without MPI every node runs a test of its own: two of two GPUs, not one of two on two
 * nodes. Colours of a terminal are no part of a number, and the name of the test may be the
 * last of many words. */
static void tests_side_by_side(void **state) {
    struct sc__coll_log log;
    struct sc__buffer b;
    (void)state;
    sc__buffer_init(&b, &ctx->arena);
    sc__puts(&b, "$ mpirun");
    for (unsigned i = 0; i < 40; i++)
        sc__puts(&b, " -x NCCL_DEBUG=WARN");
    sc__puts(
        &b,
        " ./build/sendrecv_perf -g 2\n"
        "#  Rank 0 Group 0 Pid 1 on a device 0\n#  Rank 0 Group 0 Pid 1 on b device 0\n"
        "#  Rank 1 Group 0 Pid 1 on a device 1\n#  Rank 1 Group 0 Pid 1 on b device 1\n"
        "\033[32m1048576 262144 float sum -1 40.00 26.21 \033[1;31m26.21\033[0m 0\n"
        "1048576 262144 float sum -1 41.00 25.58 25.58 0\n");
    ctx->note_count = 0;
    assert_int_equal(read_log(b.text, &log), SC_OK);
    assert_int_equal(log.count, 1);
    assert_string_equal(log.tables[0].op->name, "sendrecv");
    assert_int_equal(log.tables[0].ranks, 2);
    assert_int_equal(log.tables[0].nodes, 1);
    assert_int_equal(log.tables[0].count, 2);
    assert_true(log.tables[0].rows[0].busbw == 26.21);
    assert_true(noted("log-tests", "rank 0 is on 2 hosts"));
}

/* The ranks of a test that failed before its first row are not those of the next. */
static void after_a_failure(void **state) {
    struct sc__coll_log log;
    (void)state;
    static const char text[] =
        "# nThread 1 nGpus 1 minBytes 8\n# Collective test starting: sendrecv_perf\n"
        "#  Rank 0 Group 0 Pid 1 on a device 0\n#  Rank 1 Group 0 Pid 1 on b device 0\n"
        "#  Rank 2 Group 0 Pid 1 on c device 0\n"
        "a: Test NCCL failure common.cu:959 'unhandled system error'\n"
        "# nThread 1 nGpus 1 minBytes 8\n# Collective test starting: sendrecv_perf\n"
        "#  Rank 0 Group 0 Pid 1 on d device 0\n#  Rank 1 Group 0 Pid 1 on e device 0\n"
        "1048576 262144 float sum -1 40.00 26.21 26.21 0\n";
    ctx->note_count = 0;
    assert_int_equal(read_log(text, &log), SC_OK);
    assert_int_equal(log.tables[0].ranks, 2);
    assert_int_equal(log.tables[0].nodes, 2);
    assert_false(noted("log-tests", ""));
}

/* Rows below a test that is none of ours are not those of the test before it. */
static void tests_of_other_operations(void **state) {
    struct sc__coll_log log;
    (void)state;
    static const char *const ways[] = {
        "# Collective test starting: alltoallv_perf\n%s",
        "$ mpirun -np 4 ./build/hypercube_perf -b 8\n%s",
        "# size count type redop root time algbw busbw #wrong\n# Using devices\n"
        "# nThread 1 nGpus 1\n%s# Collective test concluded: alltoallv_perf\n"};
    for (unsigned i = 0; i < 3; i++) {
        char *text = sc__format(&ctx->arena,
                                "%s1048576 262144 float none -1 25.40 41.28 30.96 0\n",
                                header);
        const char *row = "2097152 524288 float none -1 38.18 54.93 41.20 0\n";
        struct sc__buffer b;
        sc__buffer_init(&b, &ctx->arena);
        sc__puts(&b, text);
        sc__printf(&b, ways[i], row);
        assert_int_equal(read_log(b.text, &log), SC_OK);
        assert_int_equal(log.count, 2);
        assert_string_equal(log.tables[0].op->name, "all_gather");
        assert_null(log.tables[0].unknown);
        assert_null(log.tables[1].op);
        assert_non_null(strstr(log.tables[1].unknown, "_perf"));
    }
}

/* Two tests in one Markdown file, told apart by their command lines; srun -l in front;
 * rank lines without "#", some of them missing; a table of one GPU; a third run of the
 * second test without a header. */
static void several_tables(void **state) {
    struct sc__coll_log log;
    (void)state;
    const char *text =
        "# Tests: all_reduce_perf, all_gather_perf\n```\n"
        "$ srun -l ./build/all_reduce_perf -b 1M -e 2M -f 2\n"
        "0: # nThread 1 nGpus 1 minBytes 1048576\n"
        "0:   Rank  0 Group  0 Pid 1 on a device  0 [0x07] NVIDIA H100\n"
        "3:   Rank  7 Group  0 Pid 1 on a device  7 [0x07] NVIDIA H100\n"
        "0:  1048576  262144  float  sum  -1  25.40  41.28  72.24  0  25.0  41.9  73.4  0\n"
        "0:  2097152  524288  float  sum  -1  38.18  54.93  96.13  0  38.0  55.2  96.6  0\n"
        "```\n"
        "| $ /opt/rccl-tests/build/all_gather_perf -g 4 |\n"
        "# nThread 1 nGpus 4 minBytes 8\n"
        "#  Rank  0 Pid 1 on b device  0 [0x07] AMD Instinct MI300X\n"
        "#  Rank  1 Pid 1 on b device  1 [0x0f] AMD Instinct MI300X\n"
        "| 67108864 | 4194304 | float | none | -1 | 240.0 | 279.62 | 209.71 | 0 |\n"
        "  33554432  2097152  float  none  -1  140.0  239.67  179.75  0\n"
        "# ./build/reduce_perf\n# nThread 1 nGpus 1 minBytes 8\n"
        "#  Rank  0 Pid 1 on b device  0 [0x07] NVIDIA H100\n"
        "  8  2  float  sum  0  4.21  0.00  0.00  0\n";
    static const struct {
        const char *op;
        uint32_t ranks;
        uint32_t rows;
    } wanted[] = {{"all_reduce", 8, 2},
                  {"all_gather", 4, 1},
                  {"all_gather", 4, 1},
                  {"reduce", 1, 1}};
    assert_int_equal(read_log(text, &log), SC_OK);
    assert_int_equal(log.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(log.tables[i].op->name, wanted[i].op);
        assert_int_equal(log.tables[i].ranks, wanted[i].ranks);
        assert_int_equal(log.tables[i].count, wanted[i].rows);
    }
    /* two ranks are listed, but 209.71 / 279.62 is 3/4 */
    assert_string_equal(ctx->notes[ctx->note_count - 1].code, "log-ranks");
}

/* nccl-tests prints a row's figures when they are measured: NCCL may speak before them, and
 * between those of its two parts. */
static void figures_later(void **state) {
    struct sc__coll_log log;
    (void)state;
    char *text = sc__format(&ctx->arena,
                            "%s%s",
                            header,
                            "  8  2  float  sum  -1node-a:1:1 [0] NCCL INFO 4 Bytes\n"
                            "node-a:1:1 [0] NCCL INFO 1.5 2.5 3.5 4 float\n"
                            "  13.67  0.00  0.00  0node-a:1:1 [0] NCCL INFO more\n"
                            "  13.00  0.00  0.00  0\n"
                            "  16  4  float  sum  -1\n"
                            "  14.00  0.00  0.00  0  13.50  0.00  0.00  0\n");
    assert_int_equal(read_log(text, &log), SC_OK);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.tables[0].count, 2);
    assert_true(log.tables[0].rows[0].us == 13.67 && log.tables[0].rows[1].us == 14.00);
}

static void bad_logs(void **state) {
    static const char *const bad[][2] = {
        {"", "no row"},
        {"# only comments\n", "no row"},
        {"8 2 float sum -1 13.67 0.00\n", ":1:1"},
        {"8 2 float sum -1 x 0.00 0.00 0 13.00 0.00 0.00 0\n", "whole"},
        {"8 2 float sum -1 13 0.00 0.00 0 13.00 0.00\n", "whole"},
        {"8 2 float sum -1 -5 0.00 0.00 0 13.00 0.00 0.00 0\n", "whole"},
        {"8 2 float\n", "whole"},
        {"8 2 float sum -1\n", ":1:1"},
        {"8 2 float sum -1\n16 4 float sum -1 13 0.00 0.00 0\n", ":1:1"},
        {"8 2 float sum -1\n13.67 0.00\n", ":1:1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__coll_log log;
        assert_int_equal(read_log(bad[i][0], &log), SC_INPUT);
        if (!strstr(sc_error_text(ctx), bad[i][1]))
            fail_msg("'%s': %s", bad[i][0], sc_error_text(ctx));
    }
}

/* A machine whose NVLink efficiency and latencies differ from the
 * preset's is measured from 8 B to 8 GiB; the fit must predict it to 1 %. */
static void finds_hidden_constants(void **state) {
    struct sc__cluster model;
    struct sc__cluster machine;
    struct sc__samples samples = {0};
    struct sc__coll_fit fit = {.prior = 1e-3};
    static const char *const names[] =
        {"base", "ring_step", "nvlink", "share", "ring_drift", NULL};
    (void)state;
    assert_int_equal(sc__cluster_parse(ctx, "dgx-a100:8", 0, &model), SC_OK);
    machine = model;
    machine.constants.nvlink *= 0.9;
    machine.constants.ring_step[0] *= 1.3;
    machine.constants.base[0] *= 1.2;
    machine.constants.ring_drift *= 0.6;
    struct sc__shape shape = sc__cluster_shape(&model, NULL, 8);
    for (uint64_t bytes = 8; bytes <= (uint64_t)8 << 30; bytes *= 2)
        *SC__PUSH(&ctx->arena, samples.items, samples.count, samples.capacity) =
            (struct sc__sample){
                .op = sc__coll_op_find("all_reduce"),
                .cluster = &model,
                .shape = shape,
                .bytes = bytes,
                .us = sc__us(sc__collective_time(&machine, SC__ALLREDUCE, &shape, bytes))};
    for (unsigned i = 0; names[i]; i++) {
        const struct sc__constant *k = sc__constant_find(names[i]);
        for (unsigned j = 0; j < k->count; j++)
            sc__fit_add(&ctx->arena, &fit, "", k, j, &model.constants);
    }
    sc__samples_predict(&samples);
    assert_true(sc__samples_residual(&samples) > 0.08);
    sc__fit_run(&fit, &samples, UINT32_MAX);
    assert_true(sc__samples_residual(&samples) < 0.01);
    assert_true(fabs(model.constants.nvlink / machine.constants.nvlink - 1) < 0.01);
}

static void operations_by_name(void **state) {
    (void)state;
    assert_string_equal(sc__coll_op_find("allreduce")->name, "all_reduce");
    assert_string_equal(sc__coll_op_find("all_reduce_perf")->name, "all_reduce");
    assert_string_equal(sc__coll_op_find("reduce")->name, "reduce");
    assert_string_equal(sc__coll_op_find("reduce_scatter")->name, "reduce_scatter");
    assert_null(sc__coll_op_find("all_reducee"));
    assert_null(sc__coll_op_find("moe dispatch fp8"));
    assert_true(sc__coll_bus_factor(sc__coll_op_find("all_reduce"), 8) == 1.75);
    assert_true(sc__coll_bus_factor(sc__coll_op_find("alltoall"), 8) == 0.875);
    assert_true(sc__coll_bus_factor(sc__coll_op_find("sendrecv"), 8) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_and_old_columns),
        cmocka_unit_test(rows_that_contradict_themselves),
        cmocka_unit_test(wrong_results_are_noted),
        cmocka_unit_test(other_columns),
        cmocka_unit_test(groups_of_ranks),
        cmocka_unit_test(tests_side_by_side),
        cmocka_unit_test(after_a_failure),
        cmocka_unit_test(tests_of_other_operations),
        cmocka_unit_test(several_tables),
        cmocka_unit_test(figures_later),
        cmocka_unit_test(bad_logs),
        cmocka_unit_test(finds_hidden_constants),
        cmocka_unit_test(operations_by_name),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
