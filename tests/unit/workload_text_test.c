/* The layer workload reader: both seeds, kind where it may be, strict where it
 * must be. */
#include "test.h"

#include <jansson.h>
#include <math.h>

#include "stepcast/stepcast.h"

struct answer {
    sc_status status;
    char error[2048];
    json_t *json;
};

/* Runs a file with options "name", "value", …, NULL. */
static struct answer run_file(const char *path, const char *const *options) {
    struct answer a = {0};
    sc_context *ctx = sc_open();
    sc_request *req = sc_request_new(ctx, "run");
    assert_non_null(req);
    sc_request_input(req, path);
    a.status = sc_request_set(req, "json", "-");
    for (; a.status == SC_OK && *options; options += 2)
        a.status = sc_request_set(req, options[0], options[1]);
    if (a.status == SC_OK)
        a.status = sc_execute(req);
    snprintf(a.error, sizeof a.error, "%s", sc_error_text(ctx));
    if (a.status == SC_OK) {
        json_error_t e;
        a.json = json_loads(sc_request_output(req), 0, &e);
        assert_non_null(a.json);
    }
    sc_close(ctx);
    return a;
}

static struct answer run_text(const void *text, size_t n) {
    static const char *const options[] = {"cluster", "ideal", NULL};
    const char *path = temporary_file(text, n);
    struct answer a = run_file(path, options);
    unlink(path);
    return a;
}

static double number(const json_t *j, const char *key) {
    const json_t *v = json_object_get(j, key);
    if (!v)
        fail_msg("no key %s", key);
    return json_number_value(v);
}

static const json_t *volume(const json_t *j, const char *phase, const char *collective) {
    size_t i;
    json_t *v;
    json_array_foreach(json_object_get(j, "volumes"), i, v) {
        if (!strcmp(json_string_value(json_object_get(v, "phase")), phase) &&
            !strcmp(json_string_value(json_object_get(v, "collective")), collective))
            return v;
    }
    fail_msg("no volume %s %s", phase, collective);
    return NULL;
}

static bool has_note(const json_t *j, const char *code) {
    size_t i;
    json_t *n;
    json_array_foreach(json_object_get(json_object_get(j, "input"), "notes"), i, n) {
        if (!strcmp(json_string_value(json_object_get(n, "code")), code))
            return true;
    }
    return false;
}

#define NEAR(a, b) assert_true(((a) > (b) ? (a) - (b) : (b) - (a)) < 1e-6)

static void seed_003_on_an_ideal_cluster(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "ideal", NULL};
    struct answer a = run_file("tests/data/seed_003.txt", options);
    assert_int_equal(a.status, SC_OK);
    json_t *b = json_object_get(a.json, "breakdown_us");
    assert_int_equal(number(json_object_get(a.json, "plan"), "micro_batches"), 16);
    NEAR(number(b, "compute"), 7213232.005);
    NEAR(number(b, "bubble"), 6759808.875);
    NEAR(number(a.json, "step_time_us"), 13973040.88);
    json_decref(a.json);
}

static void seed_003_interleaved_has_about_an_eighth_of_the_bubble(void **state) {
    (void)state;
    static const char *const options[] =
        {"cluster", "ideal", "schedule", "interleaved", "vpp", "8", NULL};
    struct answer a = run_file("tests/data/seed_003.txt", options);
    assert_int_equal(a.status, SC_OK);
    double bubble = number(json_object_get(a.json, "breakdown_us"), "bubble");
    /* 15 stages wait for chunks of (tf + tb)/8; the first and last chunk, with embedding
     * and head, are longer */
    assert_true(bubble >= 6759808.875 / 8 && bubble < 6759808.875 / 8 * 1.25);
    json_decref(a.json);
}

static void check_sums(const json_t *j) {
    size_t i;
    json_t *rank;
    double step = number(j, "step_time_us");
    json_array_foreach(json_object_get(j, "ranks"), i, rank) {
        const json_t *b = json_object_get(rank, "breakdown_us");
        double sum = number(b, "compute") + number(b, "recompute") + number(b, "bubble") +
                     number(b, "skew") + number(b, "other");
        const char *key;
        json_t *v;
        json_object_foreach(json_object_get(b, "exposed_comm"), key, v) sum +=
            json_number_value(v);
        assert_true(sum - step < 1e-3 && step - sum < 1e-3);
    }
}

static void seed_003_on_a_cluster_keeps_the_files_volumes(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "dgx-h100:1024", NULL};
    struct answer a = run_file("tests/data/seed_003.txt", options);
    assert_int_equal(a.status, SC_OK);
    const json_t *v = volume(a.json, "forward", "ALLGATHER");
    assert_int_equal(number(v, "ops"), 272);
    assert_true(number(v, "bytes") == 36507222016.0);
    v = volume(a.json, "forward", "REDUCESCATTER");
    assert_int_equal(number(v, "ops"), 256);
    assert_true(number(v, "bytes") == 34359738368.0);
    assert_true(number(volume(a.json, "wgrad", "ALLGATHER"), "bytes") == 6401032192.0);
    assert_true(number(volume(a.json, "wgrad", "REDUCESCATTER"), "bytes") == 12802064384.0);
    assert_true(has_note(a.json, "pp-comm-derived") && has_note(a.json, "vpp-absent"));
    check_sums(a.json);
    json_decref(a.json);
}

static void seed_004_on_a_cluster(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "dgx-h100:512", NULL};
    struct answer a = run_file("tests/data/seed_004.txt", options);
    assert_int_equal(a.status, SC_OK);
    const json_t *v = volume(a.json, "forward", "ALLREDUCE");
    assert_int_equal(number(v, "ops"), 29);
    assert_true(number(v, "bytes") == 1395154944.0);
    assert_true(has_note(a.json, "vpp-uneven"));
    check_sums(a.json);
    json_decref(a.json);
}

/* ../shared/truth/simai_reference.md, "SimAI-Analytical" */
static void compat_equals_simai(void **state) {
    (void)state;
    static const struct {
        const char *file;
        const char *gpus;
        const char *vpp;
        double dp;
        double tp;
        double bubble;
        double compute;
        double total;
    } rows[] = {
        {"tests/data/seed_003.txt", "1024", NULL, 322654, 290054, -1, 7213232, -1},
        {"tests/data/seed_003.txt",
         "1024",
         "1",
         322654,
         290054,
         6946315,
         7213232,
         14772256},
        {"tests/data/seed_003.txt", "1024", "8", 322654, 290054, 868289, 7213232, 8694230},
        {"tests/data/seed_003.txt", "512", "1", 276561, 290054, 6946315, 7213232, 14726162},
        {"tests/data/seed_004.txt", "512", NULL, 112271, 27626, 114994, 280084, 534975},
        {"tests/data/seed_004.txt", "1024", NULL, 116014, 27626, 114994, 280084, 538718}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *options[] = {"compat",
                                 "simai",
                                 "gpus",
                                 rows[i].gpus,
                                 rows[i].vpp ? "vpp" : NULL,
                                 rows[i].vpp,
                                 NULL};
        struct answer a = run_file(rows[i].file, options);
        assert_int_equal(a.status, SC_OK);
        json_t *c = json_object_get(a.json, "compat");
        assert_true(fabs(number(c, "dp_us") - rows[i].dp) <= 0.5);
        assert_true(fabs(number(c, "tp_us") - rows[i].tp) <= 0.5);
        assert_true(fabs(number(c, "compute_us") - rows[i].compute) <= 0.5);
        assert_true(number(c, "ep_us") == 0 && number(c, "dp_ep_us") == 0);
        if (rows[i].total < 0)
            assert_true(json_is_null(json_object_get(c, "total_us")) &&
                        json_object_get(c, "why"));
        else {
            assert_true(fabs(number(c, "bubble_us") - rows[i].bubble) <= 0.5);
            assert_true(fabs(number(c, "total_us") - rows[i].total) <= 0.5);
        }
        json_decref(a.json);
    }
}

#define HEADER                                                                             \
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: "  \
    "1 "                                                                                   \
    "all_gpus: 4 pp_comm: 0\n"
#define ROW "layer -1 1000 ALLREDUCE 4096 1000 NONE 0 1000 ALLREDUCE 4096 100\n"

static void accepted_variants(void **state) {
    (void)state;
    static const char *const texts[] = {
        HEADER "1\n" ROW,
        HEADER "1\r\nlayer -1 1000 ALLREDUCE 4096 1000 NONE 0 1000 ALLREDUCE 4096 100\r\n",
        "\xef\xbb\xbf" HEADER "1\n" ROW,
        "HYBRID_TRANSFORMER\tmodel_parallel_NPU_group: 2 all_gpus: 4\n1\t\t\n\t" ROW,
        "HYBRID_TRANSFORMER all_gpus: 4 ga: 1 pp_comm 1024.5 model_parallel_NPU_group: "
        "2\n1\n" ROW,
        "DATA all_gpus: 4\n1\n" ROW,
        "MODEL all_gpus: 4\n1\n" ROW,
        "MICRO all_gpus: 4\n2\n" ROW ROW,
        "DISTRIBUTED_INFERENCE all_gpus: 4\n1\n" ROW,
        "HYBRID_TRANSFORMER all_gpus: 4 mode: 0 model_parallel_NPU_group: 2\n1\n" ROW,
        "HYBRID_DLRM all_gpus: 4 DLRM_LAST_BOTTOM_LAYER: 1\n1\na -1 1 ALLTOALL 4096 1 "
        "ALLTOALL "
        "4096 1 ALLREDUCE 4096 "
        "1\n",
        "HYBRID_CUSTOMIZED all_gpus: 4\n1\na -1 1 ALLTOALL 4096 1 ALLTOALL 4096 1 "
        "ALLREDUCE 4096 1 "
        "DATA\n",
        HEADER
        "1\nnorm -1 1 BROADCAST 16384 1 ALLGATHER_EP 4 1 REDUCESCATTER_DP_EP 4 100\n\n\n",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 4 "
        "checkpoints: 1 0 "
        "checkpoint_initiates: 1 2\n3\n" ROW ROW ROW};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct answer a = run_text(texts[i], strlen(texts[i]));
        if (a.status != SC_OK)
            fail_msg("text %zu: %s", i, a.error);
        json_decref(a.json);
    }
}

static void recompute_is_counted(void **state) {
    (void)state;
    static const char text[] =
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 1 "
        "checkpoints: 2 0 "
        "2 "
        "checkpoint_initiates: 2 3 1\n4\n"
        "a -1 1000 NONE 0 10 NONE 0 10 NONE 0 0\nb -1 2000 NONE 0 10 NONE 0 10 NONE 0 0\n"
        "c -1 4000 NONE 0 10 NONE 0 10 NONE 0 0\nd -1 8000 NONE 0 10 NONE 0 10 NONE 0 0\n";
    struct answer a = run_text(text, sizeof text - 1);
    assert_int_equal(a.status, SC_OK);
    NEAR(number(json_object_get(a.json, "breakdown_us"), "recompute"), 15);
    NEAR(number(json_object_get(a.json, "breakdown_us"), "compute"), 15.08);
    json_decref(a.json);
}

/* Two rows of 1000 + 20 and 2000 + 20 units. */
static void times_have_a_unit(void **state) {
    (void)state;
    static const char text[] =
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 1\n2\n"
        "a -1 1000 NONE 0 10 NONE 0 10 NONE 0 0\nb -1 2000 NONE 0 10 NONE 0 10 NONE 0 0\n";
    static const struct {
        const char *unit;
        double us;
    } cases[] = {{"ns", 3.04}, {"us", 3040}};
    const char *path = temporary_file(text, sizeof text - 1);
    for (unsigned i = 0; i < 2; i++) {
        const char *const options[] = {"cluster",
                                       "ideal",
                                       "time-unit",
                                       cases[i].unit,
                                       NULL};
        struct answer a = run_file(path, options);
        assert_int_equal(a.status, SC_OK);
        NEAR(number(a.json, "step_time_us"), cases[i].us);
        json_decref(a.json);
    }
    unlink(path);
}

static void bad_inputs_are_errors_with_a_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *where;
        const char *what;
    } cases[] = {
        {"", "", "empty"},
        {HEADER, ":2:", "number of rows is missing"},
        {HEADER "1\n", ":3", "ends after 0 of 1"},
        {HEADER "2\n" ROW, ":4", "ends after 1 of 2"},
        {HEADER "1\n" ROW ROW, ":4:1", "more rows"},
        {HEADER "0\n", ":2:1", "0 rows"},
        {HEADER "x\n" ROW, ":2:1", "not a number of rows"},
        {HEADER "999999999\n" ROW, ":4", "ends after 1 of 999999999"},
        {HEADER "9223372036854775808\n" ROW, ":4", "ends after 1"},
        {HEADER "99999999999999999999\n" ROW, ":2:1", "not a number of rows"},
        {HEADER "1\nlayer -1 1000 ALLREDUCE 4096 1000 NONE 0 1000 ALLREDUCE\n",
         ":3:",
         "has 12 words, this line has 10"},
        {HEADER "1\nmy layer -1 1000 ALLREDUCE 4096 1000 NONE 0 1000 ALLREDUCE 4096 100\n",
         ":3:",
         "13"},
        {HEADER "1\nlayer -1 1000.5 ALLREDUCE 4096 1000 NONE 0 1000 ALLREDUCE 4096 100\n",
         ":3:10",
         "not a whole number"},
        {HEADER "1\nlayer -1 -5 ALLREDUCE 4096 1000 NONE 0 1000 ALLREDUCE 4096 100\n",
         ":3:10",
         "negative"},
        {HEADER "1\nlayer -1 1000 ALLREDUCE -4096 1000 NONE 0 1000 ALLREDUCE 4096 100\n",
         ":3:25",
         "negative"},
        {HEADER "1\nlayer -1 1000 ALLREDUCE 4096.0 1000 NONE 0 1000 ALLREDUCE 4096 100\n",
         ":3:25",
         "not a whole number"},
        {HEADER "1\nlayer -1 1000 allreduce 4096 1000 NONE 0 1000 ALLREDUCE 4096 100\n",
         ":3:15",
         "unknown collective"},
        {HEADER "1\nlayer -1 1000 ALLREDUC 4096 1000 NONE 0 1000 ALLREDUCE 4096 100\n",
         ":3:15",
         "did you mean ALLREDUCE"},
        {HEADER
         "1\nlayer -1 1000 ALLREDUCE 18446744073709551615 1000 NONE 0 1000 NONE 0 100\n",
         ":3:25",
         "2^60"},
        {HEADER "1\nlayer -1 9223372036854775807 NONE 0 1000 NONE 0 1000 NONE 0 100\n",
         ":3:10",
         "11 days"},
        {HEADER "1\nlayer x 1000 ALLREDUCE 4096 1000 NONE 0 1000 ALLREDUCE 4096 100\n",
         ":3:7",
         "not a number"},
        {"HYBRID_TRANSFORMER ep: 1 all_gpus: 4\n1\n" ROW, ":1:", "tensor-parallel size"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 0 all_gpus: 4\n1\n" ROW,
         ":1:46",
         "model_parallel_NPU_group"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: x all_gpus: 4\n1\n" ROW,
         ":1:52",
         "ep is 'x'"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 al_gpus: 4\n1\n" ROW,
         ":1:48",
         "did you mean all_gpus"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus:\n1\n" ROW,
         ":1:48",
         "no value"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 pp: 1 pp: 1 all_gpus: 2\n1\n" ROW,
         ":1:54",
         "twice"},
        {"HYBRID_TRANSFORMR model_parallel_NPU_group: 2\n1\n" ROW,
         ":1:1",
         "HYBRID_TRANSFORMER"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n1\n" ROW,
         ":1",
         "number of GPUs is not known"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 5\n1\n" ROW,
         ":1",
         "5 GPUs are not a multiple"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 pp: 4 all_gpus: 4\n1\n" ROW,
         ":1",
         "at least 8 GPUs"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 4 pp_comm: -1\n1\n" ROW,
         ":1",
         "pp_comm"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 4 checkpoints: 5 "
         "1\n1\n" ROW,
         ":1",
         "bad list"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 4 checkpoints: 1 0 "
         "checkpoint_initiates: 1 "
         "9\n1\n" ROW,
         ":1",
         "does not exist"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 4294967295 pp: 4294967295 all_gpus: "
         "4\n1\n" ROW,
         ":1",
         "too many ranks"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 3 all_gpus: 4\n1\n" ROW,
         "",
         "does not divide"},
        {"\x89PNG\r\n\x1a\n garbage", "", "is a picture (PNG)"},
        {"just some text\n", "", "unknown format"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer a = run_text(cases[i].text, strlen(cases[i].text));
        if (a.status != SC_INPUT || !strstr(a.error, cases[i].what) ||
            !strstr(a.error, cases[i].where))
            fail_msg("case %zu: status %d, error '%s', wanted '%s' at '%s'",
                     i,
                     (int)a.status,
                     a.error,
                     cases[i].what,
                     cases[i].where);
        if (a.json)
            json_decref(a.json);
    }
}

static void nul_bytes_are_refused(void **state) {
    (void)state;
    static const char text[] =
        HEADER "1\nlay\0er -1 1000 ALLREDUCE 4096 1000 NONE 0 1000 ALLREDUCE 4096 100\n";
    struct answer a = run_text(text, sizeof text - 1);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, ":3:4: error: NUL byte"));
}

static void a_long_line_is_refused_early(void **state) {
    (void)state;
    size_t n = (size_t)40 << 20;
    char *text = malloc(n);
    memset(text, 'A', n);
    memcpy(text, HEADER, sizeof HEADER - 1);
    struct answer a = run_text(text, n);
    free(text);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, "longer than 16 MiB"));
}

static void uneven_micro_batches_are_refused(void **state) {
    (void)state;
    static const char text[] =
        "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 all_gpus: 1\n5\n"
        "embedding_layer -1 1 NONE 0 1 NONE 0 1 NONE 0 1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 "
        "1\n"
        "embedding_layer -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"
        "embedding_layer -1 1 NONE 0 1 NONE 0 1 NONE 0 1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 "
        "1\n";
    struct answer a = run_text(text, sizeof text - 1);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, "micro-batch 2 does not begin here"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed_003_on_an_ideal_cluster),
        cmocka_unit_test(seed_003_interleaved_has_about_an_eighth_of_the_bubble),
        cmocka_unit_test(seed_003_on_a_cluster_keeps_the_files_volumes),
        cmocka_unit_test(seed_004_on_a_cluster),
        cmocka_unit_test(compat_equals_simai),
        cmocka_unit_test(accepted_variants),
        cmocka_unit_test(recompute_is_counted),
        cmocka_unit_test(times_have_a_unit),
        cmocka_unit_test(bad_inputs_are_errors_with_a_place),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(a_long_line_is_refused_early),
        cmocka_unit_test(uneven_micro_batches_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
