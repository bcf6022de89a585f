/* The replay of traces: small sets with answers worked out by hand, and the
 * measured sets against their measured steps. */
#include "trace_files.h"

#include <math.h>

#include "base/base.h"
#include "frontend/megatron_trace/replay.h"
#include "frontend/reader.h"

static const char *const no_options[] = {NULL};

/* A record; ends are in ms, all else as the text of the trace. */
static void add(char *to,
                int rank,
                const char *op,
                int stage,
                int batch,
                double ms,
                double end,
                const char *group,
                const char *shape,
                const char *subs) {
    sprintf(
        to + strlen(to),
        "rank:%d:%s(stage_id=%d,batch_id=%d,mg_state=steady,duration=%.2f,description=None,"
        "group_kind=%s,input__"
        "shape=%s,"
        "input__dtype=%s,timestamp=%.2f,sub_operations=[%s])\n",
        rank,
        op,
        stage,
        batch,
        ms,
        group,
        shape,
        shape[0] == '[' ? "torch.float32" : "None",
        end,
        subs);
}

static const char *sub(double ms, double end) {
    static char text[4][256];
    static int next;
    char *p = text[next++ & 3];
    sprintf(
        p,
        "'trace_src_func=a2a,duration=%.2f,timestamp=%.2f,input__shape=[1024],input__dtype="
        "torch.float32,group=exp,"
        "comm_func="
        "all_to_all'",
        ms,
        end);
    return p;
}

static void near(double a, double b) {
    if (fabs(a - b) > 1e-6 * fabs(b))
        fail_msg("%.9f is not %.9f", a, b);
}

/* Seed 002 with free communication: first the assumed stage 0 fetches and goes
 * forward, then stage 1 does, computes its loss (without the all-reduce inside)
 * and goes backward, then stage 0; gradients are scaled, the optimizer ends it. */
static void seed_002_with_free_communication(void **state) {
    (void)state;
    static const char *const options[] = {"cluster",
                                          "ideal",
                                          "tp",
                                          "1",
                                          "pp",
                                          "2",
                                          "dp",
                                          "2",
                                          "host-gap",
                                          "0",
                                          "hbm",
                                          "1TB/s",
                                          NULL};
    struct answer a = run_path("tests/data/seed_002.txt", options);
    double scaling = 2 * 6835712 * 4 / 1e12 * 1e3;
    near(step_ms(&a),
         (1.8 + 18.65) + (1.8 + 18.65 + 0.92 - 0.33) + 43.37 + 43.37 + scaling + 1.26);
}

/* Two ranks of one expert group. Rank 0 is fast and waits 6 ms in the
 * all-to-all that really takes 0.5 ms; rank 1 computes 8 ms before it. */
static const char *imbalanced_pair_of(unsigned world) {
    const char *directory = new_directory();
    char text[2][4096] = {"", ""};
    add(text[0],
        0,
        "forward_step",
        0,
        0,
        11.5,
        1011.5,
        "None",
        "None",
        sub(6.5, 1008.5)); /* 2 + 6.5 + 3 */
    add(text[1],
        1,
        "forward_step",
        0,
        0,
        9.5,
        5009.5,
        "None",
        "None",
        sub(0.5, 5008.5)); /* 8 + 0.5
                              + 1 */
    add(text[0], 0, "backward_step", 0, 0, 10, 1021.75, "None", "None", "");
    add(text[1], 1, "backward_step", 0, 0, 15, 5024.75, "None", "None", "");
    add(text[0], 0, "dp_allreduce", 0, 0, 7, 1029, "dp", "[250000000]", "");
    add(text[1], 1, "dp_allreduce", 0, 0, 4, 5029, "dp", "[250000000]", "");
    for (int i = 0; i < 2; i++)
        add(text[i],
            i,
            "optimizer_step",
            0,
            0,
            2 + i,
            (i ? 5031 : 1031) + i + 0.25,
            "None",
            "None",
            "");
    for (int i = 0; i < 2; i++) {
        char name[128];
        snprintf(name,
                 sizeof name,
                 "wd%u_tp1_pp1_exp2_expNum2_l1_bs1_rank%d_2025010100000%d.txt",
                 world,
                 i,
                 i);
        write_file(directory, name, text[i]);
    }
    return directory;
}

static const char *imbalanced_pair(void) {
    return imbalanced_pair_of(2);
}

/* Two files for 4096 ranks: two kinds of ranks, and the step of the two. */
static void few_files_stand_for_many_ranks(void **state) {
    (void)state;
    static const char *const ideal[] =
        {"cluster", "ideal", "host-gap", "0", "hbm", "1TB/s", NULL};
    const char *directory = imbalanced_pair_of(4096);
    struct answer a = run_path(directory, ideal);
    assert_int_equal(json_array_size(json_object_get(a.json, "ranks")), 2);
    assert_int_equal(notes(&a, "trace-assumed", "and 2035 more: assumed equal to rank 1"),
                     1);
    near(step_ms(&a), 8 + 1 + 0.25 + 15 + 0.25 + 2 + 0.25 + 3);
    remove_directory(directory);
}

static void a_nested_collective_is_a_barrier(void **state) {
    (void)state;
    static const char *const measured[] = {"comm", "measured", NULL};
    static const char *const ideal[] =
        {"cluster", "ideal", "host-gap", "0", "hbm", "1TB/s", NULL};
    const char *directory = imbalanced_pair();
    /* Arrivals 2 and 8, cost 0.5: both go on at 8.5. Then 3 + 0.25 + 10 and
     * 1 + 0.25 + 15, gaps 0.25; the all-reduce, at its least 4, ends at 29 or so. */
    double forward = 8 + 0.5;
    double rank0 = forward + 3 + 0.25 + 10;
    double rank1 = forward + 1 + 0.25 + 15;
    double reduced = fmax(rank0 + 0.25, rank1 + 0.25) + 4;
    struct answer a = run_path(directory, measured);
    near(step_ms(&a), reduced + 0.25 + 3);
    /* Free communication: scaling 1 GB takes 2 ms at 1 TB/s. */
    a = run_path(directory, ideal);
    near(step_ms(&a), 8 + 1 + 0.25 + 15 + 0.25 + 2 + 0.25 + 3);
    remove_directory(directory);
}

static void host_gaps_are_added_before_calls(void **state) {
    (void)state;
    static const char *const ideal[] =
        {"cluster", "ideal", "host-gap", "1ms", "hbm", "1TB/s", NULL};
    const char *directory = imbalanced_pair();
    struct answer a =
        run_path(directory,
                 ideal); /* half a gap before the nested call, one before the reduction */
    near(step_ms(&a), 8 + 0.5 + 1 + 0.25 + 15 + 0.25 + 2 + 1 + 0.25 + 3);
    remove_directory(directory);
}

static void one_slow_rank_holds_the_others(void **state) {
    (void)state;
    static const char *const slow[] =
        {"cluster", "ideal", "host-gap", "0", "hbm", "1TB/s", "slow", "rank:0=2", NULL};
    static const char *const bad[] = {"slow", "rank:2=2", NULL};
    static const char *const worse[] = {"slow", "2=2", NULL};
    const char *directory = imbalanced_pair();
    struct answer a =
        run_path(directory, slow); /* all of rank 0 doubles, gaps and scaling too: 4, 6 +
                                      0.5 + 20 + 0.5 + 4, 0.5 + 4 */
    near(step_ms(&a), 8 + 2 * (3 + 0.25 + 10 + 0.25 + 2 + 0.25 + 2));
    a = run_path(directory, bad);
    assert_int_equal(a.status, SC_USAGE);
    a = run_path(directory, worse);
    assert_int_equal(a.status, SC_USAGE);
    remove_directory(directory);
}

/* Replicas do what the traced ones did, so with free communication nothing
 * changes but the scale. */
static void more_replicas(void **state) {
    (void)state;
    static const char *const options[] =
        {"cluster", "ideal", "host-gap", "0", "hbm", "1TB/s", "dp", "64", NULL};
    static const char *const odd[] = {"cluster", "ideal", "dp", "3", NULL};
    static const char *const measured[] = {"comm", "measured", "dp", "64", NULL};
    const char *directory = imbalanced_pair();
    struct answer a = run_path(directory, options);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(a.json, "plan"), "gpus")),
        64);
    const json_t *ranks = json_object_get(a.json, "ranks");
    assert_int_equal(json_array_size(ranks), 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            json_integer_value(json_object_get(json_array_get(ranks, i), "ranks")),
            32);
    assert_int_equal(notes(&a, "trace-replicas", "dp 2"), 1);
    near(step_ms(&a), 8 + 1 + 0.25 + 15 + 0.25 + 2 + 0.25 + 3);
    a = run_path(directory, odd); /* expert groups of 2 do not fill 3 */
    assert_int_equal(a.status, SC_INPUT);
    a = run_path(directory, measured);
    assert_int_equal(a.status, SC_USAGE);
    remove_directory(directory);
}

/* Two stages, two micro-batches, everything 10 ms forward and 20 backward;
 * stage 0 fuses its second send with the first receive. */
static void write_pipeline(const char *directory, double t0, double t1) {
    char text[2][8192] = {"", ""};
    double a = t0;
    double b = t1;
    add(text[0], 0, "forward_step", 0, 0, 10, a += 10, "None", "None", "");
    add(text[0], 0, "send_forward", 0, 0, 1, a += 1, "pp", "[1000]", "");
    add(text[0], 0, "forward_step", 0, 1, 10, a += 10, "None", "None", "");
    add(text[0], 0, "send_forward", 0, 1, 21, a += 21, "pp", "[1000]", "");
    add(text[0], 0, "recv_backward", 0, 0, 21, a, "pp", "[1000]", "");
    add(text[0], 0, "backward_step", 0, 0, 20, a += 20, "None", "None", "");
    add(text[0], 0, "recv_backward", 0, 1, 11, a += 11, "pp", "[1000]", "");
    add(text[0], 0, "backward_step", 0, 1, 20, a += 20, "None", "None", "");
    add(text[0], 0, "optimizer_step", 0, 0, 5, a += 5, "None", "None", "");
    add(text[1], 1, "recv_forward", 1, 0, 11, b += 11, "pp", "[1000]", "");
    add(text[1], 1, "forward_step", 1, 0, 10, b += 10, "None", "None", "");
    add(text[1], 1, "backward_step", 1, 0, 20, b += 20, "None", "None", "");
    add(text[1], 1, "send_backward", 1, 0, 1, b += 1, "pp", "[1000]", "");
    add(text[1], 1, "recv_forward", 1, 1, 1, b, "pp", "[1000]", "");
    add(text[1], 1, "forward_step", 1, 1, 10, b += 10, "None", "None", "");
    add(text[1], 1, "backward_step", 1, 1, 20, b += 20, "None", "None", "");
    add(text[1], 1, "send_backward", 1, 1, 1, b += 1, "pp", "[1000]", "");
    add(text[1], 1, "optimizer_step", 1, 0, 5, b += 5, "None", "None", "");
    write_file(directory, "wd2_tp1_pp2_l2_bs1_rank0_20250101000000.txt", text[0]);
    write_file(directory, "wd2_tp1_pp2_l2_bs1_rank1_20250101000000.txt", text[1]);
}

static void fused_exchanges_count_once(void **state) {
    (void)state;
    static const char *const measured[] = {"comm", "measured", NULL};
    static const char *const ideal[] = {"cluster", "ideal", "host-gap", "0", NULL};
    static const char *const four[] =
        {"cluster", "ideal", "host-gap", "0", "micro-batches", "4", NULL};
    const char *directory = new_directory();
    write_pipeline(directory, 1000, 777000);
    struct answer a =
        run_path(directory, measured); /* the clocks of the two nodes do not matter */
    near(step_ms(&a), 10 + 1 + 30 + 1 + 30 + 1 + 20 + 5);
    a = run_path(directory, ideal);
    near(step_ms(&a), 10 + 30 + 30 + 20 + 5);
    a = run_path(directory,
                 four); /* 1F1B of two equal stages: (M + 1) · (forward + backward) */
    assert_int_equal(json_integer_value(
                         json_object_get(json_object_get(a.json, "plan"), "micro_batches")),
                     4);
    near(step_ms(&a), 5 * 30 + 5);
    remove_directory(directory);
}

static void a_missing_stage_is_refused(void **state) {
    (void)state;
    const char *directory = new_directory();
    char text[4096] = "";
    add(text, 0, "forward_step", 0, 0, 10, 1010, "None", "None", "");
    add(text, 0, "backward_step", 0, 0, 10, 1020, "None", "None", "");
    add(text, 0, "optimizer_step", 0, 0, 10, 1030, "None", "None", "");
    write_file(directory, "wd4_tp1_pp2_l2_bs1_rank0_20250101000000.txt", text);
    memcpy(strstr(text, "rank:0"), "rank:1", 6);
    for (char *p = text; (p = strstr(p, "\nrank:0"));)
        p[6] = '1';
    write_file(directory, "wd4_tp1_pp2_l2_bs1_rank1_20250101000000.txt", text);
    struct answer a = run_path(directory, no_options);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, "no trace of stage 1 of 2 (ranks 2 to 3)"));
    remove_directory(directory);
}

static void ranks_that_do_not_fit_are_refused(void **state) {
    (void)state;
    const char *directory = new_directory();
    char path[256];
    char *text;
    char *cut;
    write_pipeline(directory, 1000, 777000);
    snprintf(path,
             sizeof path,
             "%s/wd2_tp1_pp2_l2_bs1_rank1_20250101000000.txt",
             directory);
    text = read_whole(path);
    cut = strstr(text,
                 "rank:1:send_backward(stage_id=1,batch_id=1"); /* one whole line is gone */
    memmove(cut, strchr(cut, '\n') + 1, strlen(strchr(cut, '\n')));
    write_file(directory, strrchr(path, '/') + 1, text);
    struct answer a = run_path(directory, no_options);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, "send_backward"));
    assert_non_null(strstr(a.error, "rank1"));
    free(text);
    static const char *const other_cut[] = {"tp", "2", "pp", "1", NULL};
    a = run_path(directory, other_cut);
    assert_int_equal(a.status, SC_INPUT);
    assert_non_null(strstr(a.error, "rank 1 is on stage 1"));
    remove_directory(directory);
}

static void iterations_are_told_apart(void **state) {
    (void)state;
    static const char *const last[] = {"cluster", "ideal", NULL};
    static const char *const first[] = {"cluster", "ideal", "iteration", "1", NULL};
    static const char *const third[] = {"iteration", "3", NULL};
    const char *directory = new_directory();
    char text[8192] = "";
    for (int i = 0; i < 2; i++) {
        add(text, 0, "forward_step", 0, 0, 10 + i, 1010 + 100 * i, "None", "None", "");
        add(text, 0, "backward_step", 0, 0, 10, 1020 + 100 * i, "None", "None", "");
        add(text, 0, "optimizer_step", 0, 0, 10, 1030 + 100 * i, "None", "None", "");
    }
    write_file(directory, "wd1_tp1_pp1_l2_bs1_rank0_20250101000000.txt", text);
    struct answer a = run_path(directory, last);
    near(step_ms(&a), 31);
    a = run_path(directory, first);
    near(step_ms(&a), 30);
    a = run_path(directory, third);
    assert_int_equal(a.status, SC_USAGE);
    remove_directory(directory);
}

/* A reduction of a group of one is local work: what was measured counts, not
 * the 2 ms that scaling a gigabyte would take. */
static void a_group_of_one_costs_what_it_cost(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "ideal", "hbm", "1TB/s", NULL};
    const char *directory = new_directory();
    char text[4096] = "";
    add(text, 0, "forward_step", 0, 0, 10, 1010, "None", "None", "");
    add(text, 0, "backward_step", 0, 0, 10, 1020, "None", "None", "");
    add(text, 0, "dp_allreduce", 0, 0, 7, 1027, "dp", "[250000000]", "");
    add(text, 0, "optimizer_step", 0, 0, 10, 1037, "None", "None", "");
    write_file(directory, "wd1_tp1_pp1_l2_bs1_rank0_20250101000000.txt", text);
    struct answer a = run_path(directory, options);
    near(step_ms(&a), 37);
    remove_directory(directory);
}

/* Records that were never timed: their compute is cut into equal parts around
 * what is nested, and the host takes its gap between them. */
static void records_without_timestamps(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "ideal", "host-gap", "1ms", NULL};
    const char *directory = new_directory();
    for (int i = 0; i < 2; i++) {
        char text[4096] = "";
        char name[128];
        char nested[512];
        snprintf(nested, sizeof nested, "%s", sub(2, 0));
        add(text, i, "forward_step", 0, 0, 10 + 4 * i, 0, "None", "None", nested); /* 4 + 4,
                                                                                    * 6 + 6
                                                                                    */
        add(text, i, "backward_step", 0, 0, 20 - 4 * i, 0, "None", "None", "");
        add(text, i, "optimizer_step", 0, 0, 5, 0, "None", "None", "");
        snprintf(name, sizeof name, "wd2_tp1_pp1_exp2_l2_bs1_rank%d_20250101000000.txt", i);
        write_file(directory, name, text);
    }
    struct answer a = run_path(directory, options);
    assert_int_equal(notes(&a, "trace-measured", ""), 0);
    near(step_ms(&a), (6 + 0.5) + fmax(4 + 1 + 20, 6 + 1 + 16) + 1 + 5);
    remove_directory(directory);
}

/* Four profiles of the same work, one sample bad: the median does not see it. */
static void profiles_take_the_median(void **state) {
    (void)state;
    static const char *const options[] =
        {"cluster", "ideal", "host-gap", "0", "micro-batches", "3", NULL};
    const char *directory = new_directory();
    static const double forward[] = {10, 11, 12, 90};
    for (int i = 0; i < 4; i++) {
        char text[4096] = "";
        char name[128];
        char *d;
        add(text,
            i,
            "forward_step",
            0,
            0,
            forward[i],
            1000 + forward[i],
            "None",
            "None",
            "");
        add(text, i, "backward_step", 0, 0, 20, 1200, "None", "None", "");
        add(text, i, "optimizer_step", 0, 0, 5, 1300, "None", "None", "");
        while ((d = strstr(text, "description=None")))
            memcpy(d, "description=simu", 16);
        for (d = text; (d = strstr(d, "description=simu"));) {
            memmove(d + 22, d + 16, strlen(d + 16) + 1);
            memcpy(d, "description=simulation", 22);
            d += 22;
        }
        snprintf(name,
                 sizeof name,
                 "wd4_tp1_pp1_l2_bs1_rank%d_2025010100%02d00.txt",
                 i,
                 i); /* minutes apart: still one run */
        write_file(directory, name, text);
    }
    struct answer a = run_path(directory, options);
    assert_int_equal(notes(&a, "trace-median", "4 traces"), 1);
    near(step_ms(&a), 3 * (11.5 + 20) + 5);
    remove_directory(directory);
}

struct measured_set {
    const char *path;
    const char *micro_batches;
    /* largest errors; 0: not asked for */
    double truth_ms;
    double simulated;
    double measured;
};

static const struct measured_set sets[] = {
    {"traces/real/pp2_tp1_exp2_expn8_dp8_nl8_hs4096_sl1024", NULL, 754.05, 0.02, 0.015},
    {"traces/real/pp2_tp1_exp4_expn8_dp8_nl8_hs4096_sl1024", NULL, 642.14, 0.02, 0.015},
    {"traces/real/pp4_tp1_exp4_expn8_dp4_nl8_hs4096_sl1024", NULL, 670.98, 0.02, 0.015},
    {"traces/real/dense_tp2_pp2_nl40_hs5120", NULL, 906.3, 0.03, 0.03},
    {"traces/profile/pp2_tp1_ep2_expn8_dp8_nl8_hs4096_sl1024", "8", 754.05, 0.05, 0},
    {"traces/profile/pp2_tp1_ep4_expn8_dp8_nl8_hs4096_sl1024", "8", 642.14, 0.05, 0},
    {"traces/profile/pp4_tp1_ep4_expn8_dp4_nl8_hs4096_sl1024", "16", 670.98, 0.05, 0},
};

static void check_set(const struct measured_set *s, const char *comm, double most) {
    const char *options[] = {"cluster",
                             "hgx-h800:16",
                             "comm",
                             comm,
                             s->micro_batches ? "micro-batches" : NULL,
                             s->micro_batches,
                             NULL};
    struct answer a = run_path(shared_path(s->path), options);
    double step = step_ms(&a);
    double error = step / s->truth_ms - 1;
    print_message("%-60s %-9s %8.2f of %8.2f ms, %+.2f %%\n",
                  s->path,
                  comm,
                  step,
                  s->truth_ms,
                  100 * error);
    if (fabs(error) > most)
        fail_msg("more than %g %%", 100 * most);
}

static void measured_sets_are_met(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        check_set(&sets[i], "simulated", sets[i].simulated);
        if (sets[i].measured > 0)
            check_set(&sets[i], "measured", sets[i].measured);
    }
}

/* One rank of each stage and place among the experts is enough. */
static void half_the_ranks_tell_the_same(void **state) {
    (void)state;
    static const char *const options[] = {"cluster", "hgx-h800:16", NULL};
    const char *inputs[17] = {NULL};
    char paths[16][512];
    const char *directory = shared_path(sets[0].path);
    unsigned n = 0;
    for (unsigned r = 0; r < 16; r++) {
        if (r % 8 >= 4)
            continue;
        snprintf(paths[n],
                 sizeof paths[n],
                 "%s/wd16_tp1_pp2_exp2_expNum8_l8_bs1_rank%u_20250818085316.txt",
                 directory,
                 r);
        inputs[n] = paths[n];
        n++;
    }
    struct answer a = ask("run", inputs, options);
    assert_int_equal(notes(&a, "trace-assumed", "no trace of rank"), 4);
    assert_int_equal(
        notes(&a, "trace-assumed", "no trace of ranks 5, 7: assumed equal to rank 1"),
        1);
    double step = step_ms(&a);
    assert_true(fabs(step / sets[0].truth_ms - 1) < 0.02);
}

static const char *no_setting(const void *self, const char *name, unsigned i) {
    (void)self;
    (void)name;
    (void)i;
    return NULL;
}

/* The timeline of a measured set ends when the set's slowest rank did, and the
 * spans of a rank never overlap. */
static void the_measured_timeline_is_the_measurement(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct sc_context *ctx = sc_open();
        struct sc__settings settings = {no_setting, NULL, ctx};
        struct sc__document doc;
        struct sc__timeline *t;
        const char *path = shared_path(sets[i].path);
        assert_int_equal(sc__import(ctx, &settings, NULL, &path, 1, &doc), SC_OK);
        assert_int_equal(sc__replay_measured(ctx, &settings, doc.traces, &t), SC_OK);
        assert_true(fabs((double)t->end / 1e9 - sets[i].truth_ms) < 0.006);
        int64_t end[16] = {0};
        for (uint32_t k = 0; k < t->count; k++) {
            const struct sc__span *s = &t->spans[k];
            assert_true(s->class < 16 && s->start <= s->ready && s->ready <= s->end &&
                        s->end <= t->end);
            if (t->workload->ops[s->op].stream == 0)
                assert_true(s->start >= end[s->class]);
            if (t->workload->ops[s->op].stream == 0)
                end[s->class] = s->end;
        }
        sc_close(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed_002_with_free_communication),
        cmocka_unit_test(a_nested_collective_is_a_barrier),
        cmocka_unit_test(host_gaps_are_added_before_calls),
        cmocka_unit_test(one_slow_rank_holds_the_others),
        cmocka_unit_test(more_replicas),
        cmocka_unit_test(few_files_stand_for_many_ranks),
        cmocka_unit_test(fused_exchanges_count_once),
        cmocka_unit_test(a_missing_stage_is_refused),
        cmocka_unit_test(ranks_that_do_not_fit_are_refused),
        cmocka_unit_test(iterations_are_told_apart),
        cmocka_unit_test(a_group_of_one_costs_what_it_cost),
        cmocka_unit_test(records_without_timestamps),
        cmocka_unit_test(profiles_take_the_median),
        cmocka_unit_test(measured_sets_are_met),
        cmocka_unit_test(half_the_ranks_tell_the_same),
        cmocka_unit_test(the_measured_timeline_is_the_measurement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
