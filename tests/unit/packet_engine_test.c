/* The packet engine under the executor: alone on fabrics without contention it agrees
 * with the collective model, step by step with ns-3's recorded times; what is skipped
 * changes nothing; what shares links is slower. */
#include "network/packet/packet_engine.h"

#include "flow_fixture.h"

#include <math.h>
#include <string.h>

static struct sc__settings settings_of(struct sc_context *ctx,
                                       const struct option_value *options) {
    return (struct sc__settings){.nth = nth, .self = options, .ctx = ctx};
}

static double step_us(const char *cluster,
                      bool packets,
                      const struct option_value *options,
                      uint32_t gpus,
                      uint32_t tp,
                      int coll,
                      uint64_t bytes,
                      unsigned times) {
    struct sc_context *ctx = sc_open();
    struct sc__cluster *c = SC__NEW(&ctx->arena, struct sc__cluster);
    struct sc__workload *w = collectives(&ctx->arena, gpus, tp, coll, bytes, times);
    struct sc__settings settings = settings_of(ctx, options);
    struct sc__net net;
    struct sc__sim sim;
    sc_status status = sc__cluster_parse(ctx, cluster, gpus, c);
    if (status == SC_OK)
        status = packets ? sc__net_packet(ctx, c, w, &settings, &net)
                         : sc__net_analytic(ctx, c, w, &net);
    if (status || sc__simulate(ctx, w, &net, NULL, &sim))
        fail_msg("%s: %s", cluster, sc_error_text(ctx));
    if (packets)
        net.ops->destroy(net.self);
    sc_close(ctx);
    return (double)sim.step / 1e6;
}

/* Large collectives of 16 GPUs, within 3 %. */
static void agrees_with_the_model(void **unused) {
    (void)unused;
    static const char *const clusters[] = {
        "dgx-h100",
        "dgx-a100",
        "gb200-nvl72",
        "tpu-torus",
        "gpu=h100 node=8 nvlink=450GB/s nics=8 nic=400Gbps fabric=fat-tree leaf=2 class=ib",
        "gpu=h100 node=8 nvlink=450GB/s nics=8 nic=400Gbps fabric=hpn class=roce"};
    static const struct option_value spray[] = {{"route", "spray"}, {0}};
    for (unsigned i = 0; i < sizeof clusters / sizeof *clusters; i++)
        for (int coll = SC__ALLREDUCE; coll <= SC__REDUCESCATTER; coll++) {
            uint64_t bytes = (uint64_t)256 << 20;
            double packets = step_us(clusters[i], true, spray, 16, 1, coll, bytes, 1);
            double model = step_us(clusters[i], false, NULL, 16, 1, coll, bytes, 1);
            if (fabs(packets / model - 1) > 0.03)
                fail_msg("%s, %s: %.1f us, the model says %.1f us",
                         clusters[i],
                         sc__coll_name((enum sc__coll)coll),
                         packets,
                         model);
        }
}

struct packet_case {
    const char *cluster;
    uint32_t gpus;
    int coll;
    uint32_t kibibytes;
};

static void
hold_against_model(const struct packet_case *cases, uint32_t count, double tolerance) {
    static const struct option_value spray[] = {{"route", "spray"}, {0}};
    for (uint32_t i = 0; i < count; i++) {
        const struct packet_case *c = &cases[i];
        uint64_t bytes = (uint64_t)c->kibibytes << 10;
        double packets = step_us(c->cluster, true, spray, c->gpus, 1, c->coll, bytes, 1);
        double model = step_us(c->cluster, false, NULL, c->gpus, 1, c->coll, bytes, 1);
        if (packets < model * (1 - 1e-6) || packets > model * (1 + tolerance))
            fail_msg("%s, %s of %u KiB on %u: %.1f us, the model says %.1f us",
                     c->cluster,
                     sc__coll_name((enum sc__coll)c->coll),
                     c->kibibytes,
                     c->gpus,
                     packets,
                     model);
    }
}

/* Chains and trees pass all of the buffer on, slice by slice: filling them costs little, as
 * in the model, and not as often the whole as they are deep. 64 GPUs: trees of LL128. */
static void chains_and_trees_are_pipelined(void **unused) {
    (void)unused;
    static const struct packet_case cases[] = {
        {"dgx-h100", 8, SC__BROADCAST, 1 << 20},
        {"dgx-h100", 16, SC__BROADCAST, 1 << 20},
        {"dgx-h100", 16, SC__BROADCAST, 256 << 10},
        {"dgx-h100", 16, SC__BROADCAST, 512},
        {"dgx-a100", 16, SC__REDUCE, 256 << 10},
        {"gb200-nvl72", 72, SC__BROADCAST, 256 << 10},
        {"dgx-h100", 12, SC__ALLREDUCE, 48 << 10},
        {"dgx-h100", 32, SC__ALLREDUCE, 64},
        {"dgx-h100", 64, SC__ALLREDUCE, 16 << 10}};
    hold_against_model(cases, sizeof cases / sizeof *cases, 0.05);
}

/* What a connection sends first comes first: on eight GPUs and one more, all but the own
 * part goes through one NIC each way, and the second way does not wait for the first. Nor
 * do messages overtake each other on one of several planes: below one leaf a chain of eight
 * has nothing else in its way. */
static void connections_keep_their_order(void **unused) {
    (void)unused;
    static const char planes[] = "gpu=h100 node=2 nvlink=300GB/s nics=2 nic=100Gbps "
                                 "class=slingshot fabric=dcn leaf=3 "
                                 "planes=2";
    static const struct packet_case cases[] = {
        {"gpu=mi300x node=8 nvlink=450GB/s nics=2 nic=200Gbps class=slingshot fabric=dcn "
         "planes=2 leaf=2 spines=1 link=400Gbps",
         64,
         SC__ALLREDUCE,
         256},
        {"gpu=h100 node=1 nics=1 nic=100Gbps class=slingshot fabric=dcn leaf=8 planes=2",
         8,
         SC__BROADCAST,
         4 << 10},
        {planes, 6, SC__BROADCAST, 16 << 10},
        {planes, 6, SC__REDUCE, 12 << 10},
        {"dgx-h100", 9, SC__ALLGATHER, 32 << 10},
        {"dgx-h100", 9, SC__ALLREDUCE, 256 << 10},
        {"dgx-h100", 10, SC__ALLGATHER, 32 << 10},
        {"dgx-h100", 15, SC__ALLGATHER, 512},
        {"dgx-a100", 20, SC__REDUCESCATTER, 64 << 10}};
    hold_against_model(cases, sizeof cases / sizeof *cases, 0.05);
}

/* Where many send to one, ports are paused, and nothing is lost: links of a cluster are
 * short, so that what comes in behind a pause is frames, not bytes in flight. */
static void pauses_come_in_time(void **unused) {
    (void)unused;
    static const struct packet_case cases[] = {{"dgx-h100", 64, SC__GATHER, 64 << 10},
                                               {"dgx-h100", 128, SC__GATHER, 64 << 10},
                                               {"dgx-a100", 64, SC__GATHER, 64 << 10},
                                               {"gb200-nvl72", 144, SC__GATHER, 64 << 10}};
    hold_against_model(cases, sizeof cases / sizeof *cases, 0.01);
}

/* Cables slower than a NIC carry a sprayed message together, so that its window is that of
 * all of them. */
static void slow_cables_carry_together(void **unused) {
    (void)unused;
    static const char cluster[] =
        "gpu=h100 node=1 nics=1 nic=400Gbps class=ib fabric=fat-tree leaf=1 spines=4 "
        "link=100Gbps";
    static const struct packet_case cases[] = {{cluster, 8, SC__ALLGATHER, 16 << 10},
                                               {cluster, 8, SC__BROADCAST, 16 << 10},
                                               {cluster, 8, SC__ALLTOALL, 16 << 10}};
    hold_against_model(cases, sizeof cases / sizeof *cases, 0.12);
}

/* The ACK of the last packet may come by a shorter way before others: these find no other
 * message in the place of the one that is over. */
static void acks_overtake_each_other(void **unused) {
    (void)unused;
    static const struct packet_case cases[] = {
        {"gpu=mi300x node=1 nics=1 nic=200Gbps class=slingshot fabric=rail leaf=2 spines=4 "
         "link=100Gbps",
         5,
         SC__REDUCESCATTER,
         1 << 10}};
    hold_against_model(cases, sizeof cases / sizeof *cases, 0.12);
}

/* Times of SimAI's ns-3 simulation, us: those of its first rank. All-to-alls are as its to
 * the ns, but for one that its workload takes. What rings of 32 GPUs and more leave out is
 * a switch of reductions that depends on the wall clock (docs/model/packet-cluster.md). */
static void simai_points(void **unused) {
    (void)unused;
    static const char spectrum[] =
        "gpu=a100 node=8 nvlink=2880Gbps nics=8 nic=400Gbps fabric=rail class=plain "
        "spines=64 link=400Gbps step=25ns switch-latency=500ns";
    static const struct option_value options[] = {{"send-latency", "3us"}, {0}};
    static const struct {
        int coll;
        uint32_t gpus;
        uint32_t mib;
        double us;
        double tolerance;
    } points[] = {{SC__ALLREDUCE, 8, 1, 47.50, .0001},
                  {SC__ALLREDUCE, 8, 16, 125.15, .0001},
                  {SC__ALLREDUCE, 8, 64, 369.39, .0001},
                  {SC__ALLREDUCE, 8, 256, 1348.69, .0001},
                  {SC__ALLREDUCE, 32, 1, 228.13, .0001},
                  {SC__ALLREDUCE, 32, 16, 266.92, .005},
                  {SC__ALLREDUCE, 32, 64, 480.64, .02},
                  {SC__ALLREDUCE, 128, 1, 918.52, .0001},
                  {SC__ALLTOALL, 16, 1, 18.94, .0005},
                  {SC__ALLTOALL, 16, 16, 177.99, .0001},
                  {SC__ALLTOALL, 16, 64, 686.98, .0001},
                  {SC__ALLTOALL, 64, 1, 32.02, .0005},
                  {SC__ALLTOALL, 64, 16, 310.62, .0001}};
    for (unsigned i = 0; i < sizeof points / sizeof *points; i++) {
        double us = step_us(spectrum,
                            true,
                            options,
                            points[i].gpus,
                            1,
                            points[i].coll,
                            (uint64_t)points[i].mib << 20,
                            1);
        if (fabs(us / points[i].us - 1) > points[i].tolerance)
            fail_msg("%s of %u MiB on %u GPUs: %.2f us, ns-3 %.2f us",
                     sc__coll_name((enum sc__coll)points[i].coll),
                     points[i].mib,
                     points[i].gpus,
                     us,
                     points[i].us);
    }
}

/* One server, no contention: a reduce-scatter has 30 ns more than an all-gather for every
 * send but the first. */
static void reduce_scatters_reduce(void **unused) {
    (void)unused;
    static const char server[] = "gpu=a100 node=8 nvlink=2880Gbps class=plain step=25ns";
    static const struct option_value options[] = {{"send-latency", "3us"}, {0}};
    for (uint32_t gpus = 3; gpus <= 8; gpus++) {
        double ag = step_us(server, true, options, gpus, 1, SC__ALLGATHER, 1 << 20, 1);
        double rs = step_us(server, true, options, gpus, 1, SC__REDUCESCATTER, 1 << 20, 1);
        assert_true(fabs(rs - ag - .03 * (gpus - 2)) < 1e-9);
    }
}

/* A ring of many phases: the first tell what the others do. */
static void skipped_phases(void **unused) {
    (void)unused;
    static const struct option_value exact[] = {{"exact", ""}, {0}};
    for (uint64_t mib = 1; mib <= 64; mib *= 8) {
        double all = step_us("dgx-h100", true, exact, 256, 8, SC__ALLREDUCE, mib << 20, 1);
        double some = step_us("dgx-h100", true, NULL, 256, 8, SC__ALLREDUCE, mib << 20, 1);
        if (fabs(some / all - 1) > 0.005)
            fail_msg("%u MiB: %.2f us, all phases %.2f us", (unsigned)mib, some, all);
    }
}

/* Of a ring with several members on a node every so many phases one goes between nodes:
 * phases beside each other are alike where turns of them are not. */
static void skipped_turns(void **unused) {
    (void)unused;
    static const struct option_value all_phases[] = {{"exact", ""},
                                                     {"route", "dmodk"},
                                                     {0}};
    static const struct option_value some_phases[] = {{"route", "dmodk"}, {0}};
    static const char rails[] =
        "gpu=a100 node=8 nvlink=2880Gbps nics=8 nic=400Gbps fabric=rail class=plain "
        "spines=64 link=400Gbps step=25ns switch-latency=500ns";
    for (uint32_t gpus = 64; gpus <= 128; gpus += 32) {
        double all = step_us(rails, true, all_phases, gpus, 1, SC__ALLREDUCE, 1 << 20, 1);
        double some = step_us(rails, true, some_phases, gpus, 1, SC__ALLREDUCE, 1 << 20, 1);
        if (fabs(some / all - 1) > 0.005)
            fail_msg("%u GPUs: %.2f us, all phases %.2f us", gpus, some, all);
    }
}

/* One after the other takes as long as each alone. */
static void one_after_the_other(void **unused) {
    (void)unused;
    double once = step_us("dgx-h100", true, NULL, 32, 8, SC__ALLGATHER, 1 << 24, 1);
    double four = step_us("dgx-h100", true, NULL, 32, 8, SC__ALLGATHER, 1 << 24, 4);
    assert_true(fabs(four / once - 4) < 1e-6);
}

/* Jobs on GPUs that share uplinks 4:1 take longer together; those with links of their own
 * do not. */
static double slowdown(const char *cluster, struct sc__place_at second) {
    struct sc_context *ctx = sc_open();
    struct sc__cluster *c = SC__NEW(&ctx->arena, struct sc__cluster);
    struct sc__settings settings = settings_of(ctx, NULL);
    const struct sc__workload *w[2];
    struct sc__sim sims[2];
    double us[2];
    if (sc__cluster_parse(ctx, cluster, 32, c))
        fail_msg("%s", sc_error_text(ctx));
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        struct sc__net net;
        assert_int_equal(sc__net_packet(ctx, c, NULL, &settings, &net), SC_OK);
        for (uint32_t i = 0; i < jobs; i++) {
            w[i] = collectives(&ctx->arena, 16, 1, SC__ALLGATHER, 1 << 26, 1);
            struct sc__place_at at = {0, 2};
            assert_int_equal(sc__net_packet_job(&net, w[i], i ? second : at), SC_OK);
        }
        if (sc__simulate_jobs(ctx, w, jobs, &net, NULL, sims))
            fail_msg("%s", sc_error_text(ctx));
        us[jobs - 1] = (double)sims[0].step;
        net.ops->destroy(net.self);
    }
    sc_close(ctx);
    return us[1] / us[0];
}

static void jobs_share_links(void **unused) {
    (void)unused;
    static const char tree[] = "gpu=h100 gpus=32 node=8 nvlink=450GB/s nics=8 nic=400Gbps "
                               "fabric=fat-tree leaf=2 oversubscription=4 class=ib";
    static const char one_leaf[] = "gpu=h100 gpus=32 node=8 nvlink=450GB/s nics=8 "
                                   "nic=400Gbps fabric=fat-tree leaf=4 class=ib";
    assert_true(slowdown(tree, (struct sc__place_at){1, 2}) > 1.2);
    assert_true(fabs(slowdown(one_leaf, (struct sc__place_at){1, 2}) - 1) < 1e-3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_the_model),
                                       cmocka_unit_test(chains_and_trees_are_pipelined),
                                       cmocka_unit_test(connections_keep_their_order),
                                       cmocka_unit_test(pauses_come_in_time),
                                       cmocka_unit_test(slow_cables_carry_together),
                                       cmocka_unit_test(acks_overtake_each_other),
                                       cmocka_unit_test(simai_points),
                                       cmocka_unit_test(reduce_scatters_reduce),
                                       cmocka_unit_test(skipped_phases),
                                       cmocka_unit_test(skipped_turns),
                                       cmocka_unit_test(one_after_the_other),
                                       cmocka_unit_test(jobs_share_links)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
