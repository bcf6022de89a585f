/* profiler_annotations: what of a profiler's table is an annotation and what a kernel,
 * device totals that count both or were cut off, and what stands before its lines. */
#include "table_helpers.h"

#include "frontend/torch_profiler/profile.h"

extern const struct sc__reader sc__reader_profiler_table;

#define US SC__PS_PER_US

#define DEVICE_SEP                                                                         \
    "--------  --------  --------  --------  --------  --------  --------  --------  "     \
    "--------  --------  --------\n"

/* The device time of a table with these rows; total NULL: its last line was cut off. */
static int64_t device_sum(const char *rows, const char *total) {
    struct sc__document doc;
    struct sc__profile_sum sum;
    const char *last =
        total ? sc__format(&ctx->arena, "Self CUDA time total: %s\n", total) : "";
    char *text = sc__format(&ctx->arena,
                            "%s%s%s%s%sSelf CPU time total: 900.000us\n%s",
                            DEVICE_SEP,
                            "Name  Self CPU %  Self CPU  CPU total %  CPU total  CPU time "
                            "avg  Self CUDA  Self CUDA %  CUDA total  CUDA time avg  # of "
                            "Calls\n",
                            DEVICE_SEP,
                            rows,
                            DEVICE_SEP,
                            last);
    ctx->note_count = 0;
    must(read_text(&sc__reader_profiler_table, SETTINGS(), text, strlen(text), &doc));
    sc__profile_add_up(&ctx->arena, doc.details, &sum);
    return sum.total;
}

#define HOST_ROW(name, self_dev, dev)                                                      \
    name "  1.00%  9.000us  2.00%  18.000us  18.000us  " self_dev "  0.00%  " dev "  " dev \
         "  1\n"
#define DEV_ROW(name, dev)                                                                 \
    name "  0.00%  0.000us  0.00%  0.000us  0.000us  " dev "  9.00%  " dev "  " dev "  "   \
         "1\n"

/* Up to PyTorch 2.4 the total adds annotations to their kernels: 18 us of an all-reduce
 * and the 20 us around it. Later it has the 18 alone. */
static void annotations_in_the_total(void **state) {
    (void)state;
    static const char rows[] = HOST_ROW("c10d::allreduce_", "0.000us", "18.000us")
        DEV_ROW("nccl:all_reduce", "20.000us")
            DEV_ROW("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "18.000us");
    assert_int_equal(device_sum(rows, "38.000us"), 18 * US);
    assert_true(noted("marks-in-total"));
    assert_int_equal(device_sum(rows, "18.000us"), 18 * US);
    assert_false(noted("marks-in-total"));
    /* 7 us of kernels that the table has no row of */
    assert_int_equal(device_sum(rows, "45.000us"), 25 * US);
    assert_int_equal(device_sum(rows, "25.000us"), 25 * US);
    assert_false(noted("marks-in-total"));
}

/* A short annotation beside long kernels, in a table that was cut: both may be. */
static void annotations_that_may_be_in_the_total(void **state) {
    (void)state;
    static const char rows[] = HOST_ROW("aten::mm", "90.000us", "90.000us")
        DEV_ROW("nccl:all_reduce", "20.000us") DEV_ROW("nvjet_tst", "90.000us");
    assert_int_equal(device_sum(rows, "130.000us"), 130 * US);
    assert_true(noted("marks-perhaps"));
    assert_int_equal(device_sum(rows, "110.000us"), 90 * US);
    assert_true(noted("marks-in-total"));
}

/* Where the table was cut, the host's rows of annotations went first: they have no device
 * time of their own. An operator of Triton has its kernel's name and time. */
static void annotations_without_a_row_of_the_host(void **state) {
    (void)state;
    static const char cut[] = HOST_ROW("aten::mm", "30.000us", "30.000us")
        DEV_ROW("FullyShardedDataParallel.forward", "40.000us")
            DEV_ROW("my own range", "5.000us") DEV_ROW("gemm<8, 4>", "30.000us")
                DEV_ROW("Memcpy H2D", "2.000us");
    assert_int_equal(device_sum(cut, "32.000us"), 32 * US);
    assert_int_equal(device_sum(cut, "77.000us"), 32 * US);
    static const char no_host[] = DEV_ROW("ProfilerStep*", "40.000us")
        DEV_ROW("gemm<8, 4>", "30.000us") DEV_ROW("my own range", "5.000us");
    assert_int_equal(device_sum(no_host, "30.000us"), 30 * US);
    assert_int_equal(device_sum(no_host, "75.000us"), 30 * US);
    static const char triton[] = HOST_ROW("region", "0.000us", "33.000us")
        DEV_ROW("region", "34.000us") HOST_ROW("triton_poi_0", "33.000us", "33.000us")
            DEV_ROW("triton_poi_0", "33.000us");
    assert_int_equal(device_sum(triton, "33.000us"), 33 * US);
    assert_int_equal(device_sum(triton, "67.000us"), 33 * US);
}

/* 18 us are 9 % of 200, whether or not the host's total is there. */
static void a_device_total_that_was_cut_off(void **state) {
    (void)state;
    assert_int_equal(device_sum(DEV_ROW("gemm<8, 4>", "18.000us"), NULL), 200 * US);
    assert_true(noted("totals-by-shares"));
}

static void prefixes_of_lines(void **state) {
    (void)state;
    static const char *const prefixes[] = {"[rank0]: ", "3: ", "> ", "- "};
    for (unsigned i = 0; i < 4; i++) {
        struct sc__document doc;
        const char *at = prefixes[i];
        char *text =
            sc__format(&ctx->arena,
                       "%sloss 3\n%s%s%sName  Self CPU %%  Self CPU  CPU total %%  "
                       "CPU total  CPU time avg  # of Calls\n%s%s%saten::add  "
                       "1.00%%  9.000us  2.00%%  18.000us  6.000us  3\n%s%s%sSelf "
                       "CPU time total: 900.000us\n",
                       at,
                       at,
                       DEVICE_SEP,
                       at,
                       at,
                       DEVICE_SEP,
                       at,
                       at,
                       DEVICE_SEP,
                       at);
        must(read_text(&sc__reader_profiler_table, SETTINGS(), text, strlen(text), &doc));
        const struct sc__profile *p = doc.details;
        assert_int_equal(p->count, 1);
        assert_string_equal(p->rows[0].name, "aten::add");
        assert_int_equal(p->cpu_total, 900 * US);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_context, close_context)

/* Sorted by the host's times and cut, a table may have nothing that ran on the device but
 * its total. */
static void device_total_alone(void **state) {
    (void)state;
    static const char rows[] = HOST_ROW("train_batch", "0.000us", "60.000us")
        HOST_ROW("cudaLaunchKernel", "0.000us", "0.000us");
    assert_int_equal(device_sum(rows, "60.000us"), 60 * US);
    static const char marks[] = DEV_ROW("ProfilerStep*", "62.000us");
    assert_int_equal(device_sum(marks, "60.000us"), 60 * US);
    assert_int_equal(device_sum(rows, "0.000us"), 900 * US); /* the host alone */
}

/* Regions that the program names itself, in a table of PyTorch up to 2.4 that was cut: only
 * that no operator launched them tells them from kernels with a word for a name. */
static void regions_in_tables_that_were_cut(void **state) {
    (void)state;
#define CUT_ROWS                                                                           \
    HOST_ROW("aten::mm", "30.000us", "30.000us")                                           \
    DEV_ROW("gemm<8, 4>", "30.000us") DEV_ROW("copy<4>(x)", "10.000us")
    static const char region[] = CUT_ROWS DEV_ROW("train_batch", "50.000us");
    assert_int_equal(device_sum(region, "95.000us"), 45 * US);
    assert_true(noted("region"));
    /* from 2.5 on it is not in the total */
    assert_int_equal(device_sum(region, "45.000us"), 45 * US);
    /* kernels: an operator launched it, it says that it is one, or it is short */
    static const char launched[] =
        CUT_ROWS HOST_ROW("mine::rope", "50.000us", "50.000us") DEV_ROW("rope", "50.000us");
    assert_int_equal(device_sum(launched, "95.000us"), 95 * US);
    assert_false(noted("region"));
    static const char kernel[] = CUT_ROWS DEV_ROW("rope_kernel", "50.000us");
    assert_int_equal(device_sum(kernel, "95.000us"), 95 * US);
    static const char often[] = CUT_ROWS "rope  0.00%  0.000us  0.00%  0.000us  0.000us  "
                                         "50.000us  9.00%  50.000us  5.000us  10\n";
    assert_int_equal(device_sum(often, "95.000us"), 95 * US);
    static const char brief[] = CUT_ROWS DEV_ROW("rope", "5.000us");
    assert_int_equal(device_sum(brief, "50.000us"), 50 * US);
    assert_false(noted("region"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(annotations_in_the_total),
        TEST(annotations_that_may_be_in_the_total),
        TEST(annotations_without_a_row_of_the_host),
        TEST(device_total_alone),
        TEST(regions_in_tables_that_were_cut),
        TEST(a_device_total_that_was_cut_off),
        TEST(prefixes_of_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
