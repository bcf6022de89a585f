/* The reader of Megatron traces: the seed, names, runs, and everything that
 * must be refused with a place and a reason. */
#include "trace_files.h"

#include "frontend/megatron_trace/megatron_trace.h"

#define RECORD(rank, op, stage, batch, state, ms, group, shape, type, end, subs)           \
    "rank:" #rank ":" op "(stage_id=" #stage ",batch_id=" #batch ",mg_state=" state        \
    ",duration=" #ms ",description=None,group_kind=" group ",input__shape=" shape          \
    ",input__dtype=" type ",timestamp=" #end ",sub_operations=[" subs "])\n"
#define STEP(rank, op, ms, end)                                                            \
    RECORD(rank, op, 0, 0, "steady", ms, "None", "None", "None", end, "")
#define ONE_STEP(rank)                                                                     \
    STEP(rank, "forward_step", 10.0, 110.0)                                                \
    STEP(rank, "backward_step", 20.0, 130.0) STEP(rank, "optimizer_step", 5.0, 135.0)

static const char *const no_options[] = {NULL};
static const char *const one_rank[] = {
    "cluster", "ideal", "tp", "1", "pp", "1", "dp", "1", NULL};

static void seed_002_has_nine_operations(void **state) {
    (void)state;
    static const char *const inputs[] = {"tests/data/seed_002.txt", NULL};
    static const char *const options[] = {"tp", "1", "pp", "2", "dp", "2", NULL};
    static const struct {
        const char *name;
        const char *holds;
        double us;
        int nested;
    } expected[] = {{"get_batch", "compute", 1800, 3},
                    {"forward_step", "compute", 18650, 3},
                    {"loss_func", "compute", 920, 1},
                    {"backward_step", "compute", 43370, 1},
                    {"recv_forward", "wait + transfer", 29010, 0},
                    {"send_backward", "wait + transfer", 370, 0},
                    {"dp_allreduce", "wait + reduction", 720, 0},
                    {"ep_allreduce", "wait + reduction", 68220, 0},
                    {"optimizer_step", "compute", 1260, 0}};
    struct answer a = ask("show", inputs, options);
    if (a.status != SC_OK)
        fail_msg("%s", a.error);
    json_t *traces = json_object_get(json_object_get(a.json, "details"), "traces");
    json_t *ops = json_object_get(traces, "operations");
    assert_int_equal(json_array_size(ops), 9);
    for (size_t i = 0; i < 9; i++) {
        json_t *op = json_array_get(ops, i);
        assert_string_equal(json_string_value(json_object_get(op, "name")),
                            expected[i].name);
        assert_string_equal(json_string_value(json_object_get(op, "holds")),
                            expected[i].holds);
        assert_true(json_number_value(json_object_get(op, "time_us")) == expected[i].us);
        assert_int_equal(json_integer_value(json_object_get(op, "nested")),
                         expected[i].nested);
    }
    json_decref(a.json);
}

static void seed_002_under_its_own_name_needs_no_plan(void **state) {
    (void)state;
    const char *directory = new_directory();
    char path[256];
    char *text = read_whole("tests/data/seed_002.txt");
    snprintf(path,
             sizeof path,
             "%s/wd4_tp1_pp2_numl4_bs1_GPT2BPETokenizer_rank2_20250318120000.txt",
             directory);
    write_file(directory, strrchr(path, '/') + 1, text);
    free(text);
    struct answer a = run_path(path, no_options);
    if (a.status != SC_OK)
        fail_msg("%s", a.error);
    json_t *plan = json_object_get(a.json, "plan");
    assert_int_equal(json_integer_value(json_object_get(plan, "tp")), 1);
    assert_int_equal(json_integer_value(json_object_get(plan, "dp")), 2);
    assert_int_equal(json_integer_value(json_object_get(plan, "pp")), 2);
    assert_int_equal(
        notes(&a,
              "trace-assumed",
              "no trace of ranks 0-1: assumed equal to rank 2, which is of another stage"),
        1);
    assert_int_equal(
        notes(&a, "trace-assumed", "no trace of rank 3: assumed equal to rank 2"),
        1);
    assert_int_equal(notes(&a, "trace-waits", "not replayed as work"), 1);
    json_decref(a.json);
    remove_directory(directory);
}

/* Rank 2 of stage 1 with a loss: the last of two stages, of two ranks each. */
static void the_records_of_seed_002_tell_the_plan(void **state) {
    (void)state;
    struct answer a = run_path("tests/data/seed_002.txt", no_options);
    if (a.status != SC_OK)
        fail_msg("%s", a.error);
    json_t *plan = json_object_get(a.json, "plan");
    assert_int_equal(json_integer_value(json_object_get(plan, "tp")), 1);
    assert_int_equal(json_integer_value(json_object_get(plan, "dp")), 2);
    assert_int_equal(json_integer_value(json_object_get(plan, "pp")), 2);
    assert_int_equal(notes(&a, "trace-cut", "2 stages (by the records)"), 1);
    json_decref(a.json);
}

static void names_tell_facts(void **state) {
    (void)state;
    struct sc__trace_facts f;
    sc__trace_name_facts("a/pp2_tp1_exp4_expn8_dp8_nl8_hs4096_sl1024/"
                         "wd16_tp1_pp2_exp4_expNum8_l8_bs1_rank10_20250818085710.txt",
                         &f);
    assert_int_equal(f.world, 16);
    assert_int_equal(f.tp, 1);
    assert_int_equal(f.pp, 2);
    assert_int_equal(f.dp, 8);
    assert_int_equal(f.ep, 4);
    assert_int_equal(f.experts, 8);
    assert_int_equal(f.layers, 8);
    assert_int_equal(f.hidden, 4096);
    assert_int_equal(f.sequence, 1024);
    assert_int_equal(f.micro_batch, 1);
    assert_true(f.has_rank && f.rank == 10 && f.stamp == 20250818085710);
    sc__trace_name_facts(
        "wd4_tp2_pp2_numl40_bs1_GPT2BPETokenizer_rank3_20250321150450.txt.gz",
        &f);
    assert_true(f.dp == 1 && f.layers == 40 && f.rank == 3 && f.ep == 0);
    sc__trace_name_facts("exp5/tp2/run_exp7_rank3_20250101000000.txt",
                         &f); /* experiments, not experts */
    assert_true(f.rank == 3 && f.stamp == 20250101000000 && !f.ep && !f.tp);
    sc__trace_name_facts("seed.txt", &f);
    assert_true(!f.has_rank && !f.tp && !f.world);
    sc__trace_name_facts("wd4294967295_tp65536_pp65536_rank1.txt", &f);
    assert_int_equal(f.dp, 0);
}

/* Each is one file; the answer is exit 3 with this place and these words. */
static void hostile_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *place;
        const char *words;
    } table[] = {
        {"rank:0:forward_step(stage_id=0,batch_id=0,mg_state=steady,duration=10.0,descr",
         ":1:",
         "'description=' does not follow"},
        {STEP(0,
              "forward_step",
              10.0,
              110.0) "rank:0:backward_step(stage_id=0,batch_id=0,mg_state=steady,duration="
                     "20.0,"
                     "description=None,group_kind=None,input__shape=None,input__dtype=None,"
                     "timestamp=130.0,sub_operations=['trace_src_func=a,duration=1.0,time",
         ":2:",
         "nested operations does not end"},
        {STEP(0,
              "forward_step",
              10.0,
              110.0) "rank:0:backward_step(stage_id=0,batch_id=0,mg_state=steady,duration="
                     "20.0,"
                     "description=None,group_kind=None,input__shape=None,input__dtype=None,"
                     "timestamp=130.0,sub_operations=['trace_src_func=a,duration=1.0,"
                     "timestamp=120."
                     "0'])\n",
         ":2:",
         "'input__shape=' does not follow"},
        {RECORD(0,
                "forward_step",
                0,
                0,
                "steady",
                10.0,
                "None",
                "[4, 1",
                "torch.float32",
                110.0,
                ""),
         ":1:",
         "does not follow"},
        {RECORD(0,
                "forward_step",
                0,
                0,
                "steady",
                10.0,
                "None",
                "4, 1]",
                "torch.float32",
                110.0,
                ""),
         ":1:",
         "not a shape"},
        {RECORD(0,
                "forward_step",
                0,
                0,
                "steady",
                10.0,
                "None",
                "None",
                "None",
                110.0,
                "]"),
         ":1:",
         "does not end"},
        {RECORD(0,
                "forward_step",
                0,
                0,
                "steady",
                10.0,
                "None",
                "None",
                "None",
                110.0,
                "") "x",
         ":2:",
         "not a trace record"},
        {STEP(0, "forward_stop", 10.0, 110.0), ":1:8:", "did you mean forward_step"},
        {STEP(0, "forward_step", -1, 110.0), ":1:", "not a duration"},
        {STEP(0, "forward_step", nan, 110.0), ":1:", "not a duration"},
        {STEP(0, "forward_step", 1e3, 110.0), ":1:", "not a duration"},
        {STEP(0, "forward_step", 99999999999, 110.0), ":1:", "not a duration"},
        {STEP(0, "forward_step", None, 110.0), ":1:", "without a duration"},
        {STEP(0, "forward_step", 10.0, -5), ":1:", "not a timestamp"},
        {STEP(0, "forward_step", 10.0, 99999999999999999999), ":1:", "not a timestamp"},
        {STEP(0, "forward_step", 10.0, 110.0) STEP(0, "backward_step", 20.0, 100.0),
         ":2:",
         "out of order"},
        {STEP(0, "forward_step", 10.0, 110.0) STEP(0, "backward_step", 20.0, 9999999999.0),
         ":2:",
         "more than a day"},
        {STEP(0, "forward_step", 10.0, 110.0) STEP(1, "backward_step", 20.0, 130.0),
         ":2:",
         "another rank"},
        {STEP(0, "forward_step", 10.0, 110.0) RECORD(0,
                                                     "backward_step",
                                                     1,
                                                     0,
                                                     "steady",
                                                     20.0,
                                                     "None",
                                                     "None",
                                                     "None",
                                                     130.0,
                                                     ""),
         ":2:",
         "stage 1, but stage 0"},
        {STEP(4294967296, "forward_step", 10.0, 110.0), ":1:", "not a number"},
        {RECORD(0,
                "forward_step",
                0,
                0,
                "stready",
                10.0,
                "None",
                "None",
                "None",
                110.0,
                ""),
         ":1:",
         "unknown mg_state"},
        {RECORD(0,
                "forward_step",
                0,
                0,
                "steady",
                10.0,
                "nobody",
                "None",
                "None",
                110.0,
                ""),
         ":1:",
         "unknown group"},
        {RECORD(0,
                "forward_step",
                0,
                0,
                "steady",
                10.0,
                "None",
                "[99999999999, 99999999999]",
                "torch.float32",
                110.0,
                ""),
         ":1:",
         "more elements"},
        {RECORD(0,
                "forward_step",
                0,
                0,
                "steady",
                10.0,
                "None",
                "[4]",
                "torch.complex",
                110.0,
                ""),
         ":1:",
         "unknown type"},
        {RECORD(
             0,
             "forward_step",
             0,
             0,
             "steady",
             10.0,
             "None",
             "None",
             "None",
             110.0,
             "'trace_src_func=a,duration=1.0,timestamp=105.0,input__shape=[8],input__dtype="
             "torch.int64,group=exp,"
             "comm_func=all2all'"),
         ":1:",
         "unknown collective"},
        {RECORD(
             0,
             "forward_step",
             0,
             0,
             "steady",
             10.0,
             "None",
             "None",
             "None",
             110.0,
             "'trace_src_func=a,duration=1.0,timestamp=205.0,input__shape=[8],input__dtype="
             "torch.int64,group=exp,"
             "comm_func=allgather'"),
         ":1:",
         "ends outside"},
        {RECORD(
             0,
             "forward_step",
             0,
             0,
             "steady",
             10.0,
             "None",
             "None",
             "None",
             110.0,
             "'trace_src_func=a,duration=1.0,timestamp=105.0,input__shape=[8],input__dtype="
             "torch.int64,group=exp,"
             "comm_func=allgather', "
             "'trace_src_func=a,duration=1.0,timestamp=103.0,input__shape=[8],input__dtype="
             "torch.int64,group=exp,"
             "comm_func=allgather'"),
         ":1:",
         "out of order"},
        {STEP(0, "forward_step", 10.0, 110.0) STEP(0, "backward_step", 20.0, 130.0),
         "",
         "before optimizer_step"},
        {"rank:0:forward_step(stage_id=0, batch_id=0, mg_state=steady\n",
         ":1:",
         "'duration=' does not follow"},
        {"stage:0:forward_step(stage_id=0, batch_id=0, mg_state=steady, duration=None, "
         "description=None, "
         "group_kind=None, "
         "input__shape=None, input__dtype=None, timestamp=0, sub_operations=[])\n",
         "",
         "a plan holds no times"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *path = temporary_file(table[i].text, strlen(table[i].text));
        struct answer a = run_path(path, one_rank);
        if (a.status != SC_INPUT || !strstr(a.error, table[i].place) ||
            !strstr(a.error, table[i].words) || !strstr(a.error, path))
            fail_msg("hostile input %zu: status %d, %s", i, a.status, a.error);
        unlink(path);
    }
}

static void a_description_of_10_mb_is_refused(void **state) {
    (void)state;
    size_t n = 10 << 20;
    char *text = malloc(n + 1024);
    int head = sprintf(text,
                       "rank:0:forward_step(stage_id=0,batch_id=0,mg_state=steady,duration="
                       "10.0,description=");
    memset(text + head, 'a', n);
    strcpy(text + head + n,
           ",group_kind=None,input__shape=None,input__dtype=None,timestamp=110.0,sub_"
           "operations=[])"
           "\n");
    const char *path = temporary_file(text, strlen(text));
    struct answer a = run_path(path, one_rank);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, ":1:85: "));
    assert_non_null(strstr(a.error, "64 KiB"));
    unlink(path);
    free(text);
}

static void descriptions_are_free_text(void **state) {
    (void)state;
    static const char text[] =
        "rank:0:forward_step(stage_id=0,batch_id=0,mg_state=steady,duration=10.0,"
        "description=f(a,"
        "group_kind=dp), 50 %: "
        "x/y[0],group"
        "_kind=None,input__shape=None,input__dtype=None,timestamp=110.0,sub_operations=[])"
        "\n" STEP(0, "backward_step", 20.0, 130.0) STEP(0, "optimizer_step", 5.0, 135.0);
    const char *path = temporary_file(text, sizeof text - 1);
    struct answer a = run_path(path, one_rank);
    assert_true(step_ms(&a) == 35);
    unlink(path);
}

/* From 2026 on operations have numbers; buckets of gradients beside backward are not read,
 * and neither is what stands for them. */
static void operations_may_have_numbers(void **state) {
    (void)state;
#define NUMBERED(semantics)                                                                \
    STEP(0, "forward_step", 10.0, 110.0)                                                   \
    STEP(0, "backward_step", 20.0, 130.0)                                                  \
    RECORD(0,                                                                              \
           "dp_allreduce",                                                                 \
           0,                                                                              \
           0,                                                                              \
           "finalize",                                                                     \
           1.0,                                                                            \
           "dp,cmd_uid=cmd-3,op_semantics=" semantics ",finalize_base_duration_ms=None",   \
           "[1000]",                                                                       \
           "torch.float32",                                                                \
           131.0,                                                                          \
           "")                                                                             \
    STEP(0, "optimizer_step", 5.0, 136.0)
    static const char text[] = NUMBERED("None");
    static const char waits[] = NUMBERED("wait_flush_only");
    static const char bucket[] =
        STEP(0,
             "backward_step",
             20.0,
             130.0) "rank:0:ddp_grad_comm(comm_uid=ddp-0,iter=2,stage_id=0,mg_state="
                    "cooldown,group_kind="
                    "dp,bucket_numel=4,duration=0.0,timestamp=40.0,sub_operations=[])\n";
    const char *path = temporary_file(text, sizeof text - 1);
    struct answer a = run_path(path, one_rank);
    assert_true(step_ms(&a) == 36);
    unlink(path);
    path = temporary_file(waits, sizeof waits - 1);
    a = run_path(path, one_rank);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, ":3:132: error: an operation that others stand for"));
    unlink(path);
    path = temporary_file(bucket, sizeof bucket - 1);
    a = run_path(path, one_rank);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, ":2:22: error: a bucket of gradients"));
    unlink(path);
}

static void the_name_must_fit_the_records(void **state) {
    (void)state;
    const char *directory = new_directory();
    write_file(directory, "wd1_tp1_pp1_l1_bs1_rank0_20250101000000.txt", ONE_STEP(3));
    struct answer a = run_path(directory, no_options);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, "rank 3, the name says rank 0"));
    remove_directory(directory);
}

/* Two measured runs: each whole, then each a half. */
static void runs_are_told_apart_by_their_stamps(void **state) {
    (void)state;
    static const char *const ideal[] = {"cluster", "ideal", NULL};
    static const char *const second[] = {"cluster", "ideal", "run", "2", NULL};
    const char *directory = new_directory();
    write_file(directory, "wd2_tp1_pp1_l1_bs1_rank0_20250101000059.txt", ONE_STEP(0));
    write_file(directory, "wd2_tp1_pp1_l1_bs1_rank1_20250101000101.txt", ONE_STEP(1));
    struct answer a = run_path(directory, ideal); /* two seconds apart: one run */
    assert_int_equal(notes(&a, "trace-runs", ""), 0);
    assert_true(step_ms(&a) == 35);
    write_file(directory,
               "wd2_tp1_pp1_l1_bs1_rank0_20250101001000.txt",
               STEP(0, "forward_step", 30.0, 130.0) STEP(0, "backward_step", 20.0, 150.0)
                   STEP(0, "optimizer_step", 5.0, 155.0));
    a = run_path(directory,
                 ideal); /* a third file of another run: the whole run is taken */
    assert_int_equal(notes(&a, "trace-runs", "2 runs; using number 1"), 1);
    assert_true(step_ms(&a) == 35);
    a = run_path(directory, second); /* asked for: rank 1 is then assumed */
    assert_int_equal(notes(&a, "trace-assumed", "rank 1"), 1);
    assert_true(step_ms(&a) == 55);
    char path[256];
    snprintf(path,
             sizeof path,
             "%s/wd2_tp1_pp1_l1_bs1_rank0_20250101000059.txt",
             directory);
    unlink(path);
    a = run_path(directory, ideal);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, "2 runs are mixed"));
    assert_non_null(strstr(a.error, "--run N"));
    remove_directory(directory);
}

static void the_same_rank_twice_is_refused(void **state) {
    (void)state;
    const char *directory = new_directory();
    write_file(directory, "a_rank0_20250101000000.txt", ONE_STEP(0));
    write_file(directory, "b_rank0_20250101000000.txt", ONE_STEP(0));
    static const char *const options[] =
        {"format", "megatron-trace", "tp", "1", "pp", "1", "dp", "1", NULL};
    struct answer a = run_path(directory, options);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, "a second trace of rank 0"));
    remove_directory(directory);
}

static void two_jobs_are_refused(void **state) {
    (void)state;
    const char *directory = new_directory();
    write_file(directory, "wd2_tp1_pp1_l1_bs1_rank0_20250101000000.txt", ONE_STEP(0));
    write_file(directory, "wd4_tp1_pp1_l1_bs1_rank1_20250101000000.txt", ONE_STEP(1));
    struct answer a = run_path(directory, no_options);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, "world"));
    remove_directory(directory);
}

static void a_directory_without_traces_is_refused(void **state) {
    (void)state;
    const char *directory = new_directory();
    static const char *const options[] = {"format", "megatron-trace", NULL};
    struct answer a = run_path(directory, options);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, "no trace in this directory"));
    remove_directory(directory);
}

/* The seed, cut after every byte of its first kilobytes: never anything but a
 * reason with a place. */
static void a_cut_file_is_never_read_as_a_whole_one(void **state) {
    (void)state;
    static const char *const options[] =
        {"cluster", "ideal", "tp", "1", "pp", "2", "dp", "2", NULL};
    char *text = read_whole("tests/data/seed_002.txt");
    size_t whole = strlen(text);
    while (whole && text[whole - 1] == '\n')
        whole--;
    for (size_t n = 1; n < whole; n += n < 3000 ? 7 : 31) {
        const char *path = temporary_file(text, n);
        struct answer a = run_path(path, options);
        if (a.status != SC_INPUT)
            fail_msg("cut after %zu bytes: status %d", n, a.status);
        unlink(path);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed_002_has_nine_operations),
        cmocka_unit_test(seed_002_under_its_own_name_needs_no_plan),
        cmocka_unit_test(the_records_of_seed_002_tell_the_plan),
        cmocka_unit_test(names_tell_facts),
        cmocka_unit_test(hostile_files_are_refused),
        cmocka_unit_test(a_description_of_10_mb_is_refused),
        cmocka_unit_test(descriptions_are_free_text),
        cmocka_unit_test(operations_may_have_numbers),
        cmocka_unit_test(the_name_must_fit_the_records),
        cmocka_unit_test(runs_are_told_apart_by_their_stamps),
        cmocka_unit_test(the_same_rank_twice_is_refused),
        cmocka_unit_test(two_jobs_are_refused),
        cmocka_unit_test(a_directory_without_traces_is_refused),
        cmocka_unit_test(a_cut_file_is_never_read_as_a_whole_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
