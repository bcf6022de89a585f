#include "graph_helpers.h"

#include "command/job.h"
#include "frontend/kineto/kineto.h"
#include "simulate/simulate.h"

#include <jansson.h>
#include <sys/stat.h>
#include <zlib.h>

extern const struct sc__reader sc__reader_kineto;

#include "context.h"

static sc_status read_text(const char *text, struct sc__kineto_trace *t) {
    const char *path = sc__strdup(&ctx->arena, temporary_file(text, strlen(text)));
    sc_status s = sc__kineto_read_trace(ctx, path, t);
    unlink(path);
    return s;
}

#define KERNEL(name, ts, dur, stream, corr)                                                \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name                               \
    "\", \"pid\": 0, \"tid\": 7, \"ts\": " ts ", \"dur\": " dur                            \
    ", \"args\": {\"stream\": " stream ", \"correlation\": " corr ", \"External id\": 5}}"
#define LAUNCH(ts, dur, corr)                                                              \
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"tid\": " \
    "1, "                                                                                  \
    "\"ts\": " ts ", \"dur\": " dur ", \"args\": {\"correlation\": " corr "}}"

static void times_are_exact_to_the_nanosecond(void **state) {
    (void)state;
    struct sc__kineto_trace t;
    OK(ctx,
       read_text(
           "{\"traceEvents\": [" KERNEL("a", "3870181614815.524", "0.001", "7", "1") "]}",
           &t));
    assert_int_equal(t.kernels[0].start, 3870181614815524);
    assert_int_equal(t.kernels[0].dur, 1);
    OK(ctx,
       read_text("{\"traceEvents\": [" KERNEL(
                     "b",
                     "1790857026000000.777",
                     "12.5",
                     "7",
                     "2") ", " KERNEL("c", "1790857026000014", "3", "9", "3") "]}",
                 &t));
    assert_int_equal(t.kernel_count, 2);
    assert_int_equal(t.kernels[0].start, 1790857026000000777);
    assert_int_equal(t.kernels[0].dur, 12500);
    assert_int_equal(t.kernels[1].start, 1790857026000014000);
    assert_int_equal(t.stream_count, 2);
}

#define KERNEL_SAYING(args)                                                                \
    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, " \
    "\"dur\": 2, \"args\": {\"correlation\": 3, " args "\"stream\": 7}}, "                 \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a(1): \x01<module>\n\", "            \
    "\"ts\": 1, \"dur\": 1}]}"

/* Not JSON, but what PyTorch has written: numbers that are none, texts without quotes where
 * they are empty, controls in names. */
static void what_pytorch_writes_beside_json_is_read(void **state) {
    (void)state;
    static const char *const texts[] = {
        KERNEL_SAYING("\"memory bandwidth (GB/s)\": inf, "),
        KERNEL_SAYING("\"est. achieved occupancy %\": -nan, \"a\": -inf, \"b\": nan, "),
        KERNEL_SAYING("\"a\": NaN, \"b\": -Infinity, \"c\": null, \"d\": -1, "),
        KERNEL_SAYING("\"Process Group Description\": , \"Process Group Name\" : , "),
    };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sc__kineto_trace t;
        OK(ctx, read_text(texts[i], &t));
        assert_int_equal(t.kernel_count, 1);
        assert_int_equal(t.kernels[0].dur, 2000);
        assert_int_equal(t.streams[t.kernels[0].stream], 7);
    }
}

static void any_order_any_case_or_a_bare_list(void **state) {
    (void)state;
    struct sc__kineto_trace t;
    OK(ctx,
       read_text("[{\"args\": {\"x\": [1, {\"y\": null}, \"]}\"], \"stream\": \"7\", "
                 "\"correlation\": 3}, "
                 "\"dur\": 2, \"ts\": 1, "
                 "\"name\": \"k \\\"q\\\\\", \"cat\": \"Kernel\", \"ph\": \"X\"}]\n ",
                 &t));
    assert_int_equal(t.kernel_count, 1);
    assert_int_equal(t.kernels[0].correlation, 3);
    OK(ctx,
       read_text("{\"distributedInfo\": {\"rank\": 3, \"world_size\": 8}, \"a\": 1e5, "
                 "\"traceEvents\": [" KERNEL("a", "1", "1", "7", "1") "], \"b\": true}",
                 &t));
    assert_int_equal(t.rank, 3);
    assert_int_equal(t.world, 8);
}

/* Compute 0…10 and 12…20 us, communication 8…16: 10 + 8, 2 + 4 overlapped. */
static void the_breakdown_is_that_of_intervals(void **state) {
    (void)state;
    struct sc__kineto_trace t;
    OK(ctx,
       read_text("{\"traceEvents\": [" LAUNCH("0", "1", "9") ", " LAUNCH("28.5", "1", "4") ", " KERNEL(
                     "a",
                     "100",
                     "10",
                     "7",
                     "1") ", " KERNEL("b",
                                      "112",
                                      "8",
                                      "7",
                                      "2") ", " KERNEL("ncclDevKernel_AllReduce",
                                                       "108",
                                                       "8",
                                                       "9",
                                                       "3") ", " KERNEL("c",
                                                                        "130",
                                                                        "2",
                                                                        "7",
                                                                        "4") ", " KERNEL("d",
                                                                                         "1"
                                                                                         "4"
                                                                                         "0",
                                                                                         "2",
                                                                                         "7",
                                                                                         "9") "]}",
                 &t));
    t.launches[0].start = 121000;
    t.launches[0].dur = 1000; /* of kernel 4: launched after the device went idle */
    struct sc__kineto_breakdown b = sc__kineto_break_down(&t, 100000, 142000);
    assert_int_equal(b.span, 42000);
    assert_int_equal(b.compute, 22000);
    assert_int_equal(b.comm, 8000);
    assert_int_equal(b.overlap, 6000);
    assert_int_equal(b.exposed_comm, 2000);
    assert_int_equal(b.busy, 24000);
    assert_int_equal(b.host_idle, 10000);
    assert_int_equal(b.other_idle, 8000);
    assert_int_equal(b.compute + b.exposed_comm + b.exposed_memory + b.host_idle +
                         b.kernel_idle + b.other_idle,
                     b.span);
}

/* An independent reading of the file: jansson, and a scan of every
 * nanosecond-free quantity. */
struct totals {
    int64_t kernels;
    int64_t dur;
    int64_t memory;
    int64_t launches;
    int64_t events;
};

static struct totals by_jansson(const char *path) {
    struct totals s = {0};
    gzFile f = gzopen(path, "rb");
    size_t n = 0;
    size_t capacity = 64 << 20;
    char *text = malloc(capacity);
    assert_non_null(text);
    for (int got; (got = gzread(f, text + n, (unsigned)(capacity - n))) > 0;)
        n += (size_t)got;
    gzclose_r(f);
    json_t *root = json_loadb(text, n, 0, NULL);
    json_t *e;
    assert_non_null(root);
    size_t i;
    json_array_foreach(json_is_array(root) ? root : json_object_get(root, "traceEvents"),
                       i,
                       e) {
        const char *cat = json_string_value(json_object_get(e, "cat"));
        int64_t dur = llround(json_number_value(json_object_get(e, "dur")) * 1000);
        s.events++;
        if (!cat)
            continue;
        bool memory = !strcmp(cat, "gpu_memcpy") || !strcmp(cat, "gpu_memset");
        if (memory || !strcmp(cat, "kernel")) {
            s.kernels++;
            s.dur += dur;
            s.memory += memory ? dur : 0;
        }
        if ((!strcmp(cat, "cuda_runtime") || !strcmp(cat, "cuda_driver")) &&
            json_integer_value(json_object_get(json_object_get(e, "args"), "correlation")) >
                0)
            s.launches++;
    }
    json_decref(root);
    free(text);
    return s;
}

static void compare_with_jansson(const char *path) {
    struct totals want = by_jansson(path);
    struct totals got = {0};
    struct sc__kineto_trace t;
    OK(ctx, sc__kineto_read_trace(ctx, path, &t));
    for (uint32_t i = 0; i < t.kernel_count; i++) {
        got.dur += t.kernels[i].dur;
        if (t.kernels[i].kind == SC__KINETO_MEMORY)
            got.memory += t.kernels[i].dur;
    }
    assert_int_equal(t.events, want.events);
    assert_int_equal(t.kernel_count, want.kernels);
    assert_int_equal(t.launch_count, want.launches);
    assert_int_equal(got.dur, want.dur);
    assert_int_equal(got.memory, want.memory);
}

/* Several windows long, with events of all lengths across their edges. */
static void long_files_read_the_same(void **state) {
    (void)state;
    struct sc__buffer b;
    uint64_t seed = 5;
    sc__buffer_init(&b, &ctx->arena);
    sc__puts(&b, "{\"schemaVersion\": 1, \"traceEvents\": [\n");
    for (uint32_t i = 1; b.size < (5u << 20); i++) {
        static const char *const cats[] = {"kernel",
                                           "cpu_op",
                                           "cuda_runtime",
                                           "gpu_memset",
                                           "python_function"};
        sc__printf(
            &b,
            "%s  {\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"f%u%*s\", \"ts\": %u.%03u, "
            "\"dur\": %u.%u, "
            "\"args\": {\"stream\": 7, \"correlation\": %u}}",
            i > 1 ? ",\n" : "",
            cats[pick(&seed, 5)],
            i,
            (int)pick(&seed, 900),
            "",
            i * 20,
            i % 1000,
            pick(&seed, 30),
            pick(&seed, 9),
            i);
    }
    sc__puts(&b, "]}");
    const char *path = sc__strdup(&ctx->arena, temporary_file(b.text, b.size));
    compare_with_jansson(path);
    char *packed = sc__format(&ctx->arena, "%s.gz", path);
    OK(ctx, sc__write_file(ctx, packed, b.text, b.size));
    compare_with_jansson(packed);
    struct sc__kineto_trace t;
    assert_int_equal(truncate(packed, 100000), 0);
    assert_int_equal(sc__kineto_read_trace(ctx, packed, &t), SC_INPUT);
    unlink(path);
    unlink(packed);
}

static void the_sample_reads_the_same(void **state) {
    (void)state;
    compare_with_jansson(shared_path("traces/torch/moe_kineto.json.gz"));
}

/* Against the table torch.profiler printed of the same step. */
static void operators_take_what_pytorch_says(void **state) {
    (void)state;
    struct sc__kineto_trace t;
    struct sc__kineto_totals totals;
    int64_t addmm = 0;
    int64_t softmax = 0;
    OK(ctx, sc__kineto_read_trace(ctx, shared_path("traces/torch/moe_kineto.json.gz"), &t));
    sc__kineto_total(&t, INT64_MIN, INT64_MAX, &totals);
    for (uint32_t i = 0; i < totals.top_count; i++) {
        const char *name =
            totals.top[i].name == SC__NO_NAME ? "" : t.names.text[totals.top[i].name];
        if (!strcmp(name, "aten::addmm"))
            addmm = totals.top[i].time;
        if (!strcmp(name, "aten::_log_softmax"))
            softmax = totals.top[i].time;
    }
    assert_int_equal(addmm, 809338);
    assert_int_equal(softmax, 794146);
}

static int64_t run_files(const char *const *paths,
                         unsigned count,
                         const char *const *options,
                         struct sc__job *job) {
    sc_request *req = sc_request_new(ctx, "run");
    for (unsigned i = 0; i < count; i++)
        sc_request_input(req, paths[i]);
    for (; *options; options += 2)
        OK(ctx, sc_request_set(req, options[0], options[1]));
    OK(ctx, sc__job_run(req, job, false));
    sc__result_free(&job->ev->result);
    return job->ev->sim.step;
}

/* Without communication the replay takes what was measured. */
static void a_replay_takes_what_was_measured(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "ideal", NULL};
    const char *path = shared_path("traces/torch/moe_kineto.json.gz");
    struct sc__job job;
    assert_int_equal(run_files(&path, 1, options, &job), (int64_t)99657476 * 1000);
}

static void a_single_gpu_step_gets_gradients(void **state) {
    (void)state;
    static const char *const free_net[] = {"cluster", "ideal", "dp", "16", NULL};
    const char *path = shared_path("traces/torch/moe_kineto.json.gz");
    struct sc__job job;
    run_files(&path, 1, free_net, &job);
    assert_int_equal(sc__mesh_ranks(&job.workload->mesh), 16);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < job.workload->op_count; i++)
        if (job.workload->ops[i].kind == SC__OP_COLLECTIVE)
            bytes += job.workload->ops[i].bytes;
    assert_int_equal(bytes,
                     (uint64_t)220581888 *
                         2); /* elements of the recorded all-reduces, bfloat16 */
}

/* Parameters of 4 × 5 and 6 elements; without them the size is asked for. */
static void gradients_are_those_the_optimizer_touches(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "ideal", "dp", "4", NULL};
    const char *text = "[" KERNEL(
        "a",
        "1",
        "1",
        "7",
        "1") ", {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::_fused_adamw_\", "
             "\"ts\": 1, \"dur\": 1, \"args\": {\"Input Dims\": [[[4, 5], [6]], [[9]], "
             "[]]}}]";
    const char *silent = "[" KERNEL("a", "1", "1", "7", "1") "]";
    const char *paths[2] = {
        sc__strdup(&ctx->arena, temporary_file(text, strlen(text))),
        sc__strdup(&ctx->arena, temporary_file(silent, strlen(silent)))};
    struct sc__job job;
    run_files(paths, 1, options, &job);
    assert_int_equal(job.workload->ops[job.workload->op_count - 1].bytes, 26 * 4);
    sc_request *req = sc_request_new(ctx, "run");
    sc_request_input(req, paths[1]);
    OK(ctx, sc_request_set(req, "format", "kineto"));
    OK(ctx, sc_request_set(req, "dp", "4"));
    assert_int_equal(sc_execute(req), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "--grad-bytes"));
    unlink(paths[0]);
    unlink(paths[1]);
}

#define NCCL(ts, dur, corr)                                                                \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "                                      \
    "\"ncclDevKernel_AllReduce_Sum_bf16_RING_LL\", \"ts\": " ts ", \"dur\": " dur          \
    ", \"args\": {\"stream\": 20, \"correlation\": " corr                                  \
    ", \"Collective name\": \"allreduce\", \"dtype\": \"BFloat16\", \"In msg nelems\": "   \
    "1048576, "                                                                            \
    "\"Out msg nelems\": "                                                                 \
    "1048576, "                                                                            \
    "\"Group size\": 2, \"Process Group Name\": \"1\", \"Process Group Description\": "    \
    "\"DATA_PARALLEL_GROUP\", "                                                            \
    "\"Process Group Ranks\": \"[0, 1]\", \"Seq\": 4}}"
#define TRACE(rank, a, b)                                                                  \
    "{\"distributedInfo\": {\"rank\": " rank                                               \
    ", \"world_size\": 2}, \"traceEvents\": [" KERNEL(                                     \
        "gemm",                                                                            \
        "100",                                                                             \
        a,                                                                                 \
        "7",                                                                               \
        "1") ", " b ", " KERNEL("adam", "200", "50", "7", "3") "]}"

/* Rank 1 computes 20 us longer: rank 0 waits in the collective, and the
 * kernel after it waits on both. */
static void ranks_meet_in_their_collectives(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "ideal", NULL};
    const char *r0 = TRACE("0", "60", NCCL("160", "40", "2"));
    const char *r1 = TRACE("1", "80", NCCL("180", "20", "2"));
    const char *paths[2] = {sc__strdup(&ctx->arena, temporary_file(r1, strlen(r1))),
                            sc__strdup(&ctx->arena, temporary_file(r0, strlen(r0)))};
    struct sc__job job;
    assert_int_equal(run_files(paths, 2, options, &job), 130 * SC__PS_PER_US);
    assert_int_equal(job.workload->class_count, 2);
    assert_string_equal(job.workload->groups[0].label, "dp");
    assert_int_equal(job.ev->sim.classes[0].account.skew, 20 * SC__PS_PER_US);
    assert_int_equal(job.ev->sim.classes[1].account.skew, 0);
    static const char *const measured[] = {"cluster", "ideal", "comm", "measured", NULL};
    assert_int_equal(run_files(paths, 2, measured, &job),
                     150 * SC__PS_PER_US); /* the transfer was 20 us */
    assert_int_equal(run_files(&paths[1], 1, options, &job),
                     110 * SC__PS_PER_US); /* one stands for both */
    assert_int_equal(job.workload->classes[0].ranks, 2);
    unlink(paths[0]);
    unlink(paths[1]);
}

#define REDUCE(ts, dur)                                                                    \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", "         \
    "\"ts\": " ts ", \"dur\": " dur                                                        \
    ", \"args\": {\"stream\": 20, \"Collective name\": \"allreduce\", \"dtype\": "         \
    "\"Float\", \"In msg nelems\": 4096, \"Group size\": 2, "                              \
    "\"Process Group Ranks\": \"[0, 1]\"}}"

/* Up to PyTorch 2.5 no "Seq": rank 0 waits 20 us in the first collective, rank 1 as long in
 * the second; each transfer was 30 us. */
static void collectives_without_a_number_are_matched_in_order(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "ideal", "comm", "measured", NULL};
    const char *r0 = TRACE("0", "20", REDUCE("120", "50") ", " REDUCE("170", "30"));
    const char *r1 = TRACE("1", "40", REDUCE("140", "30") ", " REDUCE("170", "30"));
    const char *late = TRACE("1", "40", REDUCE("140", "30") ", " REDUCE("150", "50"));
    const char *paths[2] = {sc__strdup(&ctx->arena, temporary_file(r0, strlen(r0))),
                            sc__strdup(&ctx->arena, temporary_file(r1, strlen(r1)))};
    struct sc__job job;
    assert_int_equal(run_files(paths, 2, options, &job), 150 * SC__PS_PER_US);
    assert_int_equal(job.ev->sim.classes[0].account.skew, 20 * SC__PS_PER_US);
    assert_int_equal(job.ev->sim.classes[1].account.skew, 0);
    const struct sc__op *ops = job.workload->ops;
    for (uint32_t i = 0; i < job.workload->op_count; i++)
        if (ops[i].kind == SC__OP_COLLECTIVE)
            assert_int_equal(ops[i].cost, 30 * SC__PS_PER_US);
    const struct sc__timeline *measured = job.doc.measured;
    for (uint32_t i = 0; i < measured->count; i++)
        if (ops[measured->spans[i].op].kind == SC__OP_COLLECTIVE)
            assert_int_equal(measured->spans[i].end - measured->spans[i].ready,
                             30 * SC__PS_PER_US);
    unlink(paths[1]);
    paths[1] = sc__strdup(&ctx->arena, temporary_file(late, strlen(late)));
    assert_int_equal(run_files(paths, 2, options, &job), 150 * SC__PS_PER_US);
    unlink(paths[0]);
    unlink(paths[1]);
}

/* … and each of them has a transfer of its own: 30 and 25 us. */
static void collectives_in_order_are_several(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "ideal", "comm", "measured", NULL};
    const char *r0 = TRACE("0", "20", REDUCE("120", "50") ", " REDUCE("175", "25"));
    const char *r1 = TRACE("1", "40", REDUCE("140", "30") ", " REDUCE("175", "25"));
    const char *paths[2] = {sc__strdup(&ctx->arena, temporary_file(r0, strlen(r0))),
                            sc__strdup(&ctx->arena, temporary_file(r1, strlen(r1)))};
    struct sc__job job;
    uint32_t count[2] = {0};
    assert_int_equal(run_files(paths, 2, options, &job), 150 * SC__PS_PER_US);
    for (uint32_t i = 0; i < job.workload->op_count; i++) {
        const struct sc__op *op = &job.workload->ops[i];
        if (op->kind != SC__OP_COLLECTIVE)
            continue;
        count[0] += op->cost == 30 * SC__PS_PER_US;
        count[1] += op->cost == 25 * SC__PS_PER_US;
    }
    assert_int_equal(count[0], 2);
    assert_int_equal(count[1], 2);
    unlink(paths[0]);
    unlink(paths[1]);
}

#define REDUCE_OF(group, ts, dur)                                                          \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", "         \
    "\"ts\": " ts ", \"dur\": " dur                                                        \
    ", \"args\": {\"stream\": 20, \"Collective name\": \"allreduce\", \"dtype\": "         \
    "\"Float\", \"In msg nelems\": 4096, \"Group size\": 2, \"Process Group Name\": "      \
    "\"" group "\", \"Process Group Description\": \"DATA_PARALLEL_GROUP\", "              \
    "\"Process Group Ranks\": \"[0, 1]\", \"Seq\": 1}}"

/* Two groups of the same ranks each count their own collectives: the first of one took
 * 50 us, the first of the other 30. */
static void groups_of_the_same_ranks_are_told_apart(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "ideal", "comm", "measured", NULL};
    const char *r0 =
        TRACE("0", "20", REDUCE_OF("3", "120", "50") ", " REDUCE_OF("4", "170", "30"));
    const char *r1 =
        TRACE("1", "20", REDUCE_OF("3", "120", "50") ", " REDUCE_OF("4", "170", "30"));
    const char *paths[2] = {sc__strdup(&ctx->arena, temporary_file(r0, strlen(r0))),
                            sc__strdup(&ctx->arena, temporary_file(r1, strlen(r1)))};
    struct sc__job job;
    assert_int_equal(run_files(paths, 2, options, &job), 150 * SC__PS_PER_US);
    assert_int_equal(job.workload->group_count, 1);
    unlink(paths[0]);
    unlink(paths[1]);
}

#define COLLECTIVE(ts, corr, size, ranks, what)                                            \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", "         \
    "\"ts\": " ts ", \"dur\": 10, \"args\": {\"stream\": " corr ", \"correlation\": " corr \
    ", \"Collective name\": \"allreduce\", \"dtype\": \"Float\", \"In msg nelems\": "      \
    "4096, "                                                                               \
    "\"Group size\": " size ", \"Process Group Ranks\": \"" ranks                          \
    "\", \"Process Group Description\": \"" what "\", \"Seq\": 1}}"

/* tp 2 by 1 and dp 4 by 2 in a world of 8: the mesh follows, and with it the
 * groups of every rank of a larger job. */
static void one_trace_stands_for_a_larger_mesh(void **state) {
    (void)state;
    static const char *const as_it_is[] = {"cluster", "ideal", NULL};
    static const char *const larger[] = {"cluster", "ideal", "dp", "16", NULL};
    const char *text =
        "{\"distributedInfo\": {\"rank\": 3, \"world_size\": 8}, \"traceEvents\": "
        "[" KERNEL("gemm", "100", "50", "7", "1") ", " COLLECTIVE(
            "150",
            "2",
            "2",
            "[2, 3]",
            "TENSOR_MODEL_PARALLEL_GROUP") ", " COLLECTIVE("160",
                                                           "3",
                                                           "4",
                                                           "[1, 3, 5, 7]",
                                                           "DATA_PARALLEL_"
                                                           "GROUP") "]}";
    const char *path = sc__strdup(&ctx->arena, temporary_file(text, strlen(text)));
    const struct sc__workload *expanded;
    struct sc__job job;
    run_files(&path, 1, as_it_is, &job);
    assert_int_equal(job.workload->mesh.tp, 2);
    assert_int_equal(job.workload->mesh.dp, 4);
    run_files(&path, 1, larger, &job);
    assert_int_equal(sc__mesh_ranks(&job.workload->mesh), 32);
    OK(ctx, sc__workload_expand(ctx, job.workload, &expanded));
    assert_int_equal(expanded->group_count, 16 + 2);
    assert_int_equal(
        sc__group_size(expanded,
                       expanded->ops[sc__rank_block(expanded, 9)->first_op + 2].group),
        16);
    unlink(path);
}

/* tp 2, cp 2, dp 2 and pp 2 of a world of 16, as rank 5 sees them: what its process groups
 * are for, by Megatron's descriptions or, where they tell nothing, by their ranks. */
static void groups_of_several_sizes_are_those_of_the_mesh(void **state) {
    (void)state;
    static const char *const as_it_is[] = {"cluster", "ideal", NULL};
    static const struct {
        const char *collective;
        const char *label;
        enum sc__group_kind kind;
    } table[] = {
#define ONE(size, ranks, what) COLLECTIVE("180", "5", size, ranks, what)
        {ONE("4", "[4, 5, 12, 13]", "MODEL_PARALLEL_GROUP"), "model", SC__GROUP_MODEL},
        {ONE("4", "[4, 5, 12, 13]", "undefined"), "model", SC__GROUP_MODEL},
        {ONE("8", "[0, 1, 2, 3, 4, 5, 6, 7]", "TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP"),
         "stage",
         SC__GROUP_STAGE},
        {ONE("2", "[5, 13]", "EMBEDDING_GROUP"), "embedding", SC__GROUP_EMBEDDING},
        {ONE("2", "[4, 5]", "EXPERT_TENSOR_PARALLEL_GROUP"), "tp", SC__GROUP_ETP},
        {ONE("2", "[5, 13]", "PIPELINE_MODEL_PARALLEL_GROUP"), "pp", SC__GROUP_PP},
        {ONE("2", "[4, 5]", "tp"), "tp", SC__GROUP_TP},
        {ONE("2", "[1, 5]", "DATA_PARALLEL_GROUP"), "dp", SC__GROUP_DP}};
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
        char text[4096];
        struct sc__job job;
        snprintf(text,
                 sizeof text,
                 "{\"distributedInfo\": {\"rank\": 5, \"world_size\": 16}, "
                 "\"traceEvents\": [%s, %s, %s, %s, %s]}",
                 KERNEL("gemm", "100", "50", "7", "1"),
                 COLLECTIVE("150", "2", "2", "[4, 5]", "TENSOR_MODEL_PARALLEL_GROUP"),
                 COLLECTIVE("160", "3", "2", "[5, 7]", "CONTEXT_PARALLEL_GROUP"),
                 COLLECTIVE("170", "4", "4", "[1, 3, 5, 7]", "DATA_PARALLEL_GROUP_WITH_CP"),
                 table[i].collective);
        const char *path = sc__strdup(&ctx->arena, temporary_file(text, strlen(text)));
        run_files(&path, 1, as_it_is, &job);
        const struct sc__workload *w = job.workload;
        const struct sc__group *last = &w->groups[w->ops[w->op_count - 1].group];
        assert_int_equal(w->mesh.tp, 2);
        assert_int_equal(w->mesh.cp, 2);
        assert_int_equal(w->mesh.dp, 2);
        assert_int_equal(w->mesh.pp, 2);
        assert_int_equal(last->kind, table[i].kind);
        assert_string_equal(last->label, table[i].label);
        unlink(path);
    }
}

/* As rank 5 of 8 sees it, tp 2: shards over 2 neighbours and two replicas of them (HSDP),
 * with a group of all of these too; or four replicas. */
static void replicas_of_shards_are_one_mesh(void **state) {
    (void)state;
    static const char *const as_it_is[] = {"cluster", "ideal", NULL};
    static const struct {
        const char *first;
        const char *last;
        uint32_t shard;
        enum sc__group_kind kind;
    } table[] = {
#define MESH(ts, size, ranks, what) COLLECTIVE(ts, "3", size, ranks, what)
        {MESH("165", "2", "[5, 7]", "mesh_dp_shard"),
         MESH("180", "2", "[1, 5]", "mesh_dp_replicate"),
         2,
         SC__GROUP_REPLICA},
        {MESH("195", "2", "[1, 5]", "mesh_dp_replicate") ", " MESH("210",
                                                                   "4",
                                                                   "[1, 3, 5, 7]",
                                                                   "mesh_dp"),
         MESH("225", "2", "[5, 7]", "mesh_fsdp"),
         2,
         SC__GROUP_SHARD},
        {MESH("240", "2", "[4, 5]", "mesh_tp"),
         MESH("255", "4", "[1, 3, 5, 7]", "mesh_dp_replicate"),
         0,
         SC__GROUP_DP}};
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
        char text[4096];
        struct sc__job job;
        snprintf(text,
                 sizeof text,
                 "{\"distributedInfo\": {\"rank\": 5, \"world_size\": 8}, "
                 "\"traceEvents\": [%s, %s, %s, %s]}",
                 KERNEL("gemm", "100", "50", "7", "1"),
                 COLLECTIVE("150", "2", "2", "[4, 5]", "mesh_tp"),
                 table[i].first,
                 table[i].last);
        const char *path = sc__strdup(&ctx->arena, temporary_file(text, strlen(text)));
        run_files(&path, 1, as_it_is, &job);
        const struct sc__workload *w = job.workload;
        const struct sc__group *last = &w->groups[w->ops[w->op_count - 1].group];
        assert_int_equal(w->mesh.tp, 2);
        assert_int_equal(w->mesh.dp, 4);
        assert_int_equal(w->mesh.shard, table[i].shard);
        assert_int_equal(last->kind, table[i].kind);
        assert_string_equal(last->label, "dp");
        unlink(path);
    }
}

static void bad_traces_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *expect;
    } table[] = {
        {"{\"traceEvents\": [", "ends too early"},
        {"{\"traceEvents\": [{\"ph\": \"X\"", "ends too early"},
        {"{\"traceEvents\": [" KERNEL("a", "1", "1", "7", "1") "]", "ends too early"},
        {"{\"traceEvents\": [" KERNEL("a", "1", "1", "7", "1") "]} x", ":1:"},
        {"{\"traceEvents\": [" KERNEL("a", "1", "1", "7", "1") " {}]}",
         "a comma is missing"},
        {"{\n \"traceEvents\": [\n" KERNEL("a", "1", "1", "7", "1") ",\n{\"ph\" \"X\"}]}",
         ":4:7: "},
        {"{\"traceEvents\": [" KERNEL("a", "\"x\"", "1", "7", "1") "]}", "is not a time"},
        {"{\"traceEvents\": [" KERNEL("a", "1", "-1", "7", "1") "]}", "is not a time"},
        {"{\"traceEvents\": [" KERNEL("a", "1e400", "1", "7", "1") "]}", "is not a time"},
        {"{\"traceEvents\": [" KERNEL("a", "05.1", "1", "7", "1") "]}", "begins with 0"},
        {"{\"traceEvents\": [" KERNEL("a", "1", "1700000000000000", "7", "1") "]}",
         "not a time of this trace"},
        {"{\"traceEvents\": [" KERNEL("a", "1", "1", "7", "1") ", " KERNEL(
             "a",
             "1700000000000000",
             "1",
             "7",
             "1") "]}",
         "not a time of this trace"},
        {"{\"traceEvents\": 5}", "list is expected"},
        {"{\"traceEvents\": []}", "no events in this trace"},
        {"{\"a\": 1}", "is no trace"},
        {"{\"traceEvents\": [{\"a\": [1 2]}]}", "a comma is missing"},
        {"{\"traceEvents\": [{\"a\": tru}]}", "not a JSON value"},
        {"{\"traceEvents\": [{\"a\": \"\n\"}]}", "no kernels"},
        {"{\"traceEvents\": [{\"a\": \"\n\", \"b\": 1},]}",
         "a comma with nothing behind it"},
        {"{\"traceEvents\": [{\"a\": }]}", "not a number"},
        {"{\"traceEvents\": [{\"a\": -in}]}", "not a JSON value"},
    };
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
        struct sc__kineto_trace t;
        sc_status s = read_text(table[i].text, &t);
        if (s != SC_INPUT || !strstr(sc_error_text(ctx), table[i].expect))
            fail_msg("case %u: status %d, \"%s\" lacks \"%s\"",
                     i,
                     s,
                     sc_error_text(ctx),
                     table[i].expect);
    }
}

static void cut_files_are_refused(void **state) {
    (void)state;
    const char *text = TRACE("0", "60", NCCL("160", "40", "2"));
    for (size_t n = 1; n < strlen(text); n++) {
        struct sc__kineto_trace t;
        assert_int_equal(read_text(sc__strndup(&ctx->arena, text, n), &t), SC_INPUT);
    }
}

static void missing_ranks_are_refused(void **state) {
    (void)state;
    const char *r0 = TRACE("0", "60", NCCL("160", "40", "2"));
    const char *paths[2] = {sc__strdup(&ctx->arena, temporary_file(r0, strlen(r0))),
                            sc__strdup(&ctx->arena, temporary_file(r0, strlen(r0)))};
    struct sc__document doc = {0};
    assert_int_equal(sc__reader_kineto.read(ctx, NULL, paths, 2, &doc), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "unexpected rank 0, already given by"));
    unlink(paths[0]);
    unlink(paths[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_context, close_context)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(times_are_exact_to_the_nanosecond),
        TEST(any_order_any_case_or_a_bare_list),
        TEST(what_pytorch_writes_beside_json_is_read),
        TEST(the_breakdown_is_that_of_intervals),
        TEST(long_files_read_the_same),
        TEST(the_sample_reads_the_same),
        TEST(operators_take_what_pytorch_says),
        TEST(a_replay_takes_what_was_measured),
        TEST(a_single_gpu_step_gets_gradients),
        TEST(gradients_are_those_the_optimizer_touches),
        TEST(ranks_meet_in_their_collectives),
        TEST(collectives_without_a_number_are_matched_in_order),
        TEST(collectives_in_order_are_several),
        TEST(groups_of_the_same_ranks_are_told_apart),
        TEST(one_trace_stands_for_a_larger_mesh),
        TEST(groups_of_several_sizes_are_those_of_the_mesh),
        TEST(replicas_of_shards_are_one_mesh),
        TEST(bad_traces_are_refused),
        TEST(cut_files_are_refused),
        TEST(missing_ranks_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
