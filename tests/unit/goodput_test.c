/* Goodput: the closed form against the simulation, both against brute force and
 * against what was measured. docs/goodput.md has the inputs of each. */
#include "test.h"

#include "context.h"
#include "train/goodput.h"

#include <math.h>
#include <time.h>

static void close_to(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g, not %.17g", value, expected);
}

static const struct sc__failure_set *load(const char *name) {
    const struct sc__failure_set *set;
    if (sc__failures_load(ctx, name, &set) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    return set;
}

static double ladder_gpus[] = {1};

/* A set of one job of two classes: half of the failures are quick to notice. */
struct small_set {
    struct sc__failure_class classes[2];
    double restart;
    struct sc__failure_set set;
};

static void
make_small(struct small_set *s, double mtbf_s, double restart_s, double detect_s) {
    *s = (struct small_set){.restart = restart_s};
    for (int i = 0; i < 2; i++)
        s->classes[i] = (struct sc__failure_class){.name = "x",
                                                   .scope = SC__SCOPE_JOB,
                                                   .symptom = i ? SC__SYMPTOM_SILENT
                                                                : SC__SYMPTOM_CRASH,
                                                   .per_day = SC__DAY_S / mtbf_s / 2,
                                                   .detect_s = i * detect_s,
                                                   .slowdown = 1};
    s->set = (struct sc__failure_set){.unit_gpus = {1, 8},
                                      .requeue = {ladder_gpus, &s->restart, 1},
                                      .hot = {ladder_gpus, &s->restart, 1},
                                      .classes = s->classes,
                                      .class_count = 2};
}

static double mean_ettr(const struct sc__goodput_input *in, uint32_t seeds) {
    struct sc__goodput out[64];
    double work = 0;
    double wall = 0;
    assert_true(seeds <= 64);
    assert_int_equal(sc__goodput_seeds(ctx, in, seeds, out), SC_OK);
    for (uint32_t i = 0; i < seeds; i++) {
        assert_false(out[i].unfinished);
        work += out[i].time_s[SC__TIME_PRODUCTIVE];
        wall += out[i].wall_s;
    }
    return work / wall;
}

/* 5 intervals × 5 recoveries × 4 ways to write a checkpoint, MTBF 3 h. */
static void closed_form_agrees_with_the_simulation(void **state) {
    (void)state;
    static const double intervals[] = {120, 600, 1800, 3600, 7200};
    static const double restarts[] = {0, 60, 300, 900, 3600};
    static const double writes[][2] = {{0, 0}, {10, 0}, {60, 0}, {1, 100}};
    double worst = 0;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            for (int k = 0; k < 4; k++) {
                struct small_set s;
                make_small(&s, 10800, restarts[j], 600);
                struct sc__goodput_input in = {.set = &s.set,
                                               .gpus = 8,
                                               .work_s = 10800.0 * 5e5,
                                               .interval_s = intervals[i],
                                               .blocking_s = writes[k][0],
                                               .write_s = writes[k][1],
                                               .restore_s = 30};
                assert_true(sc__goodput_is_closed(&in));
                double closed = sc__goodput_closed(&in);
                double off = fabs(mean_ettr(&in, 1) / closed - 1);
                worst = off > worst ? off : worst;
                if (off > 0.002)
                    fail_msg("%g %g %g: closed form %g, off by %g",
                             intervals[i],
                             restarts[j],
                             writes[k][0],
                             closed,
                             off);
            }
    print_message("worst difference of 100 cases: %.3f %%\n", 100 * worst);
}

/* For rare failures the form of the RSC paper, to first order. */
static void closed_form_agrees_with_the_approximation(void **state) {
    (void)state;
    struct small_set s;
    make_small(&s, 1e6, 600, 0);
    struct sc__goodput_input in = {.set = &s.set,
                                   .gpus = 8,
                                   .interval_s = 1800,
                                   .blocking_s = 10};
    double expected = (1 - 1e-6 * (600 + 1800 / 2)) / (1 + 10.0 / 1800);
    close_to(sc__goodput_closed(&in), expected, 2e-5);
}

static void best_interval_is_that_of_brute_force(void **state) {
    (void)state;
    static const double mtbf[] = {600, 3600, 10800, 1e6};
    static const double blocking[] = {0.5, 10, 120, 600};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            struct small_set s;
            double best = 0;
            double best_ettr = 0;
            make_small(&s, mtbf[i], 300, 0);
            struct sc__goodput_input in = {.set = &s.set,
                                           .gpus = 8,
                                           .blocking_s = blocking[j]};
            for (double x = 1; x < 1e6; x *= 1.0005) {
                in.interval_s = x;
                double ettr = sc__goodput_closed(&in);
                if (ettr > best_ettr) {
                    best_ettr = ettr;
                    best = x;
                }
            }
            close_to(sc__best_interval(1 / mtbf[i], blocking[j], 0), best, 0.01 * best);
        }
    /* Daly's first order where checkpoints are cheap: √(2wM) − w */
    close_to(sc__best_interval(1e-6, 1, 0), sqrt(2e6) - 1, 0.01 * sqrt(2e6));
    close_to(sc__best_interval(1e-6, 0, 500), 500, 1e-9);
}

static void time_is_conserved(void **state) {
    (void)state;
    const struct sc__failure_set *set = load("llama3");
    for (unsigned recovery = 0; recovery <= SC__RECOVERY_SHRINK; recovery++) {
        struct sc__goodput_input in = {.set = set,
                                       .gpus = 100000,
                                       .work_s = 60 * SC__DAY_S,
                                       .interval_s = 900,
                                       .blocking_s = 2,
                                       .write_s = 60,
                                       .restore_s = 100,
                                       .recovery = recovery,
                                       .spares = 20,
                                       .lost_replicas = {0.98, 0.96, 0.94, 0.92}};
        struct sc__goodput out;
        double sum = 0;
        sc__goodput_simulate(&in, 7, &ctx->arena, &out);
        for (int i = 0; i < SC__TIME_CAUSES; i++) {
            assert_true(out.time_s[i] >= 0);
            sum += out.time_s[i];
        }
        assert_false(out.unfinished);
        close_to(sum / out.wall_s, 1, 1e-9);
        close_to(out.time_s[SC__TIME_PRODUCTIVE], in.work_s, 1e-3);
    }
}

/* One slow GPU for an hour costs (1 − pace) of it, and a restart. */
static void slow_gpus_cost_their_pace(void **state) {
    (void)state;
    struct small_set s;
    make_small(&s, 1e5, 0, 0);
    for (int i = 0; i < 2; i++) {
        s.classes[i].symptom = SC__SYMPTOM_SLOW;
        s.classes[i].detect_s = 3600;
    }
    struct sc__goodput_input in = {.set = &s.set,
                                   .gpus = 8,
                                   .work_s = 1e10,
                                   .interval_s = 1800,
                                   .slow_share = (double[]){0.5, 0.5}};
    assert_false(sc__goodput_is_closed(&in));
    /* Busy periods of an M/D/1 queue where those that come meanwhile are found
     * together: a share of d / (M + d) of the time is slow. */
    double slow = 3600 / (1e5 + 3600);
    close_to(mean_ettr(&in, 1), 1 - 0.5 * slow, 0.001);
}

/* A replica short and a slow GPU at once: the slower of both paces. Replicas are short
 * while the queue of machines is not empty (M/G/∞, 0.5 on average), GPUs are slow for a
 * third of the time, each whatever the other is. */
static void the_slower_pace_holds(void **state) {
    (void)state;
    struct small_set s;
    double hot = 0;
    make_small(&s, 5e4, 5e4, 0);
    s.set.hot.seconds = &hot;
    s.classes[0].scope = SC__SCOPE_NODE;
    s.classes[1].symptom = SC__SYMPTOM_SLOW;
    s.classes[1].detect_s = 5e4;
    struct sc__goodput_input in = {.set = &s.set,
                                   .gpus = 8,
                                   .work_s = 1e10,
                                   .interval_s = 1,
                                   .recovery = SC__RECOVERY_DROP,
                                   .slow_share = (double[]){1, 0.8}};
    for (unsigned i = 0; i < SC__MOST_LOST; i++)
        in.lost_replicas[i] = 0.5;
    double one_short = 1 - exp(-0.5);
    double slow = 1 / 3.;
    close_to(mean_ettr(&in, 1), 1 - 0.5 * one_short - 0.2 * (1 - one_short) * slow, 0.005);
}

/* Software that is slow: all replicas restart together, from a checkpoint that is taken
 * first. So nothing is lost, however rare checkpoints are, and each costs its pace until it
 * is noticed, the checkpoint, the restart and the restore. */
static void slow_software_loses_no_work(void **state) {
    (void)state;
    struct small_set s;
    make_small(&s, 1e6, 70, 0);
    for (int i = 0; i < 2; i++) {
        s.classes[i].symptom = SC__SYMPTOM_SLOW;
        s.classes[i].detect_s = 1000;
        s.classes[i].locate_s = 30;
    }
    struct sc__goodput_input in = {.set = &s.set,
                                   .gpus = 8,
                                   .work_s = 1e10,
                                   .interval_s = 1e10,
                                   .blocking_s = 20,
                                   .restore_s = 80,
                                   .recovery = SC__RECOVERY_DROP,
                                   .slow_share = (double[]){0.5, 0.5}};
    struct sc__goodput out;
    sc__goodput_simulate(&in, 5, &ctx->arena, &out);
    close_to(out.time_s[SC__TIME_REWORK], 0, 0);
    /* a thousandth of them come while another is not noticed yet */
    double each = (out.wall_s - in.work_s) / (double)out.failures;
    close_to(each / (0.5 * 1000 + 20 + 30 + 70 + 80), 1, 0.005);
}

/* No spare: every failure waits for its repair. Many spares: none does. */
static void spares_are_waited_for(void **state) {
    (void)state;
    struct small_set s;
    make_small(&s, 1e5, 0, 0);
    for (int i = 0; i < 2; i++) {
        s.classes[i].scope = SC__SCOPE_NODE;
        s.classes[i].repair_s = 5000;
    }
    struct sc__goodput_input in = {.set = &s.set,
                                   .gpus = 8,
                                   .work_s = 1e10,
                                   .interval_s = 1,
                                   .recovery = SC__RECOVERY_SPARES};
    /* Repairs end one after the other as they began: the job runs while none is
     * under way, which is the empty state of an M/G/∞ queue. */
    close_to(mean_ettr(&in, 1), exp(-0.05), 0.001);
    in.spares = 1; /* … or one: P(0) + P(1) */
    close_to(mean_ettr(&in, 1), exp(-0.05) * 1.05, 0.001);
    in.spares = 2; /* … or two */
    s.classes[0].repair_s = s.classes[1].repair_s = 1e5;
    close_to(mean_ettr(&in, 1), exp(-1) * 2.5, 0.005);
    in.spares = 100;
    close_to(mean_ettr(&in, 1), 1, 0.001);
}

/* Without a failure: the work, and a checkpoint behind each interval but the last, which
 * nobody waits for; nine of ten whole ones, ten of ten and a half. */
static void checkpoints_of_a_sound_run(void **state) {
    (void)state;
    struct small_set s;
    struct sc__goodput out;
    make_small(&s, 1e15, 0, 0);
    struct sc__goodput_input in = {.set = &s.set,
                                   .gpus = 8,
                                   .work_s = 10000,
                                   .interval_s = 1000,
                                   .blocking_s = 5};
    sc__goodput_simulate(&in, 1, &ctx->arena, &out);
    assert_int_equal(out.failures, 0);
    close_to(out.wall_s, 10000 + 9 * 5, 1e-6);
    close_to(out.time_s[SC__TIME_CHECKPOINT], 9 * 5, 1e-6);
    in.work_s = 10500;
    sc__goodput_simulate(&in, 1, &ctx->arena, &out);
    close_to(out.wall_s, 10500 + 10 * 5, 1e-6);
    s.classes[0].per_day = s.classes[1].per_day = 0; /* never */
    sc__goodput_simulate(&in, 1, &ctx->arena, &out);
    close_to(out.wall_s, 10500 + 10 * 5, 1e-6);
    close_to(sc__goodput_closed(&in), 10500. / 10550, 1e-12);
    in.interval_s = in.work_s; /* no checkpoint at all */
    close_to(sc__goodput_closed(&in), 1, 0);
}

/* Rare failures, to first order: a restart and the work since the last checkpoint, then
 * half the pace until the queue has run, then a checkpoint and a restart. */
static void shrinking_costs_two_restarts(void **state) {
    (void)state;
    struct small_set s;
    double hot = 100;
    make_small(&s, 1e7, 4000, 0);
    s.set.hot.seconds = &hot;
    for (int i = 0; i < 2; i++)
        s.classes[i].scope = SC__SCOPE_NODE;
    struct sc__goodput_input in = {.set = &s.set,
                                   .gpus = 8,
                                   .work_s = 1e12,
                                   .interval_s = 2000,
                                   .blocking_s = 1,
                                   .restore_s = 50,
                                   .recovery = SC__RECOVERY_SHRINK,
                                   .lost_replicas = {0.5}};
    struct sc__goodput out;
    sc__goodput_simulate(&in, 3, &ctx->arena, &out);
    double each = (out.wall_s - in.work_s * (1 + 1. / 2000)) / (double)out.failures;
    /* The 4,000 s of the queue run while the job restarts; checkpoints cost 1 in 2,001 */
    double expected = 150 + 1000 + (4000 - 150) * 0.5 + 151;
    close_to(each / expected, 1, 0.01);
    /* … and begin when the machine is known: 500 s more stand still, as many run alone */
    for (int i = 0; i < 2; i++) {
        s.classes[i].detect_s = 300;
        s.classes[i].locate_s = 200;
    }
    sc__goodput_simulate(&in, 3, &ctx->arena, &out);
    each = (out.wall_s - in.work_s * (1 + 1. / 2000)) / (double)out.failures;
    close_to(each / (expected + 500), 1, 0.01);
}

static void same_for_a_seed_and_any_number_of_threads(void **state) {
    (void)state;
    struct sc__goodput_input in = {.set = load("llama3"),
                                   .gpus = 16384,
                                   .work_s = 50 * SC__DAY_S,
                                   .interval_s = 900,
                                   .blocking_s = 2,
                                   .recovery = SC__RECOVERY_SPARES,
                                   .spares = 8};
    struct sc__goodput a[16];
    struct sc__goodput b[16];
    unsigned jobs = ctx->jobs;
    ctx->jobs = 1;
    assert_int_equal(sc__goodput_seeds(ctx, &in, 16, a), SC_OK);
    ctx->jobs = 5;
    assert_int_equal(sc__goodput_seeds(ctx, &in, 16, b), SC_OK);
    ctx->jobs = jobs;
    assert_memory_equal(a, b, sizeof a);
    assert_true(a[0].wall_s != a[1].wall_s);
}

static double cpu_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

/* CPU time: a year on 100,000 GPUs in a second, a million failures a second. */
static void fast_enough(void **state) {
    (void)state;
    struct sc__goodput_input in = {.set = load("rsc-1"),
                                   .gpus = 100000,
                                   .work_s = 365 * SC__DAY_S,
                                   .interval_s = 300,
                                   .blocking_s = 2};
    struct sc__goodput out;
    double begin = cpu_seconds();
    sc__goodput_simulate(&in, 1, &ctx->arena, &out);
    assert_true(cpu_seconds() - begin < 1);
    in.work_s *= 30;
    begin = cpu_seconds();
    sc__goodput_simulate(&in, 1, &ctx->arena, &out);
    double per_s = (double)out.failures / (cpu_seconds() - begin);
    print_message("%.1f million failures a second\n", per_s / 1e6);
    assert_true(out.failures > 1000000 && per_s > 1e6);
}

/* ---- measured ---- */

static void llama3_ettr(void **state) {
    (void)state;
    struct sc__goodput_input in = {.set = load("llama3"),
                                   .gpus = 16384,
                                   .blocking_s = 0.5,
                                   .write_s = 405e9 * 14 / 2e12,
                                   .restore_s = 405e9 * 14 / 2e12};
    in.interval_s = sc__best_interval(sc__goodput_rate(&in), in.blocking_s, in.write_s);
    double ettr = sc__goodput_closed(&in);
    print_message("Llama 3: ETTR %.4f at an interval of %.0f s\n", ettr, in.interval_s);
    assert_true(ettr >= 0.90 && ettr <= 0.95);
    /* 54 days of wall time have 419 interruptions, give or take √419 */
    struct sc__goodput out[64];
    double mean = 0;
    in.work_s = 54 * SC__DAY_S * ettr;
    assert_int_equal(sc__goodput_seeds(ctx, &in, 64, out), SC_OK);
    for (int i = 0; i < 64; i++)
        mean += (double)out[i].failures / 64;
    close_to(mean, 419, 3 * sqrt(419.0 / 64));
}

/* Hourly checkpoints at 2,048 and 4,096 GPUs; 12,000 GPUs with w = 10 s. */
static void rsc_ettr(void **state) {
    (void)state;
    struct sc__goodput_input in = {.set = load("rsc-1"), .interval_s = 3600};
    for (in.gpus = 2048; in.gpus <= 4096; in.gpus *= 2) {
        double ettr = sc__goodput_closed(&in);
        print_message("RSC-1, %.0f GPUs, hourly: ETTR %.4f\n", in.gpus, ettr);
        assert_true(ettr > 0.9);
    }
    double restarts[] = {300, 750};
    for (int i = 0; i < 2; i++) {
        struct sc__failure_set set = *in.set;
        set.requeue = (struct sc__restart_ladder){ladder_gpus, &restarts[i], 1};
        struct sc__goodput_input large = {.set = &set, .gpus = 12000, .blocking_s = 10};
        large.interval_s = sc__best_interval(sc__goodput_rate(&large), 10, 0);
        double ettr = sc__goodput_closed(&large);
        print_message("RSC-1, 12,000 GPUs, restart %.0f s: ETTR %.4f\n", restarts[i], ettr);
        close_to(ettr, 0.9, 0.03);
    }
}

static void byterobust_ettr(void **state) {
    (void)state;
    static const char *const names[] = {"byterobust-dense", "byterobust-moe"};
    static const double measured[] = {0.97, 0.91};
    for (int i = 0; i < 2; i++) {
        struct sc__goodput_input in = {.set = load(names[i]),
                                       .gpus = 9600,
                                       .work_s = 1000 * SC__DAY_S,
                                       .interval_s = 60,
                                       .blocking_s = 0.02,
                                       .recovery = SC__RECOVERY_SPARES,
                                       .spares = 16};
        double ettr = mean_ettr(&in, 4);
        print_message("%s: ETTR %.4f, measured %.2f\n", names[i], ettr, measured[i]);
        close_to(ettr, measured[i], 0.02);
    }
}

static void ft_hsdp_ettr(void **state) {
    (void)state;
    static const double stalls[] = {600, 180};
    static const double measured[] = {0.44, 0.80};
    for (int i = 0; i < 2; i++) {
        struct sc__failure_set set = *load("ft-hsdp");
        double stall = stalls[i];
        set.hot = (struct sc__restart_ladder){ladder_gpus, &stall, 1};
        struct sc__goodput_input in = {
            .set = &set,
            .gpus = 100000,
            .work_s = 1000 * SC__DAY_S,
            .interval_s = 3600,
            .recovery = SC__RECOVERY_DROP,
            .lost_replicas = {31 / 32., 30 / 32., 29 / 32., 28 / 32.}};
        double ettr = mean_ettr(&in, 4);
        print_message("FT-HSDP: ETTR %.4f, measured %.2f\n", ettr, measured[i]);
        close_to(ettr, measured[i], 0.03);
    }
}

/* A job that fails faster than it recovers is given up, and says so. */
static void no_progress_is_said(void **state) {
    (void)state;
    struct small_set s;
    make_small(&s, 60, 600, 0);
    struct sc__goodput_input in = {.set = &s.set,
                                   .gpus = 8,
                                   .work_s = 1e9,
                                   .interval_s = 60};
    struct sc__goodput out;
    sc__goodput_simulate(&in, 1, &ctx->arena, &out);
    assert_true(out.unfinished);
}

/* P99 spares of ByteRobust at four sizes: one fitted number, 1.2 machines out of
 * 1,024 under repair on average. */
static void byterobust_spares(void **state) {
    (void)state;
    static const double gpus[] = {2048, 4096, 8192, 16384};
    static const uint32_t spares[] = {2, 2, 3, 4};
    struct sc__failure_class c = {.name = "x",
                                  .scope = SC__SCOPE_NODE,
                                  .per_day = 1.2 / 1024,
                                  .repair_s = SC__DAY_S};
    struct sc__failure_set set = {.unit_gpus = {1, 16}, .classes = &c, .class_count = 1};
    for (int i = 0; i < 4; i++) {
        struct sc__goodput_input in = {.set = &set, .gpus = gpus[i]};
        assert_int_equal(sc__spares_p99(&in), spares[i]);
    }
    /* racks of 9 machines: 1 failure on average, P99 of a Poisson variable of 1 is 4 */
    c.scope = SC__SCOPE_RACK;
    c.per_day = 1;
    set.unit_gpus[SC__SCOPE_RACK] = 144;
    struct sc__goodput_input racks = {.set = &set, .gpus = 144};
    assert_int_equal(sc__spares_p99(&racks), 4 * 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form_agrees_with_the_simulation),
        cmocka_unit_test(closed_form_agrees_with_the_approximation),
        cmocka_unit_test(best_interval_is_that_of_brute_force),
        cmocka_unit_test(time_is_conserved),
        cmocka_unit_test(slow_gpus_cost_their_pace),
        cmocka_unit_test(slow_software_loses_no_work),
        cmocka_unit_test(spares_are_waited_for),
        cmocka_unit_test(checkpoints_of_a_sound_run),
        cmocka_unit_test(the_slower_pace_holds),
        cmocka_unit_test(shrinking_costs_two_restarts),
        cmocka_unit_test(same_for_a_seed_and_any_number_of_threads),
        cmocka_unit_test(fast_enough),
        cmocka_unit_test(llama3_ettr),
        cmocka_unit_test(rsc_ettr),
        cmocka_unit_test(byterobust_ettr),
        cmocka_unit_test(ft_hsdp_ettr),
        cmocka_unit_test(no_progress_is_said),
        cmocka_unit_test(byterobust_spares),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
