/* The flow engine under the executor: one collective alone agrees with the
 * analytic engine on every preset; contention costs what a hand computes. */
#include "flow_fixture.h"

#include "network/flow/flow_batch.h"

#include <time.h>

static int64_t step_as(struct sc_context *ctx,
                       const char *cluster,
                       enum sc__algo algo,
                       bool flow,
                       const struct option_value *options,
                       const struct sc__workload *w) {
    struct sc__cluster *c = SC__NEW(&ctx->arena, struct sc__cluster);
    struct sc__net net;
    struct sc__sim sim;
    sc_status status = sc__cluster_parse(ctx, cluster, sc__mesh_ranks(&w->mesh), c);
    c->tuning.algo = (uint8_t)algo;
    if (status || network(ctx, flow, options, c, w, &net) ||
        sc__simulate(ctx, w, &net, NULL, &sim))
        fail_msg("%s: %s", cluster, sc_error_text(ctx));
    return sim.step;
}

static int64_t step(struct sc_context *ctx,
                    const char *cluster,
                    bool flow,
                    const struct option_value *options,
                    const struct sc__workload *w) {
    return step_as(ctx, cluster, SC__ALGO_AUTO, flow, options, w);
}

static void alone_agrees_with_analytic(void **unused) {
    (void)unused;
    static const char *const clusters[] = {
        "dgx-a100:%u",
        "dgx-h100:%u",
        "dgx-b200:%u",
        "hgx-h200:%u",
        "hgx-h800:%u",
        "gb200-nvl72:%u",
        "a100-pcie:%u",
        "hpn:%u",
        "gpu=h100 gpus=%u node=8 nvlink=450GB/s nics=8 nic=400Gbps hop=2us"};
    static const uint32_t sizes[] = {8, 16, 64, 256};
    for (unsigned k = 0; k < sizeof clusters / sizeof *clusters; k++)
        for (unsigned s = 0; s < 4; s++)
            for (int coll = SC__ALLREDUCE; coll < SC__COLLS; coll++) {
                if (coll == SC__BARRIER)
                    continue;
                struct sc_context *ctx = sc_open();
                char name[128];
                uint32_t gpus = strstr(clusters[k], "nvl72") && s
                                    ? 36u << s
                                    : sizes[s]; /* whole nodes */
                snprintf(name, sizeof name, clusters[k], gpus);
                const struct option_value spray[] = {{"route", "spray"}, {0}};
                struct sc__workload *w =
                    one_collective(&ctx->arena, gpus, coll, (uint64_t)1 << 30);
                double flow = (double)step(ctx, name, true, spray, w);
                double plain = (double)step(ctx, name, false, NULL, w);
                if (fabs(flow / plain - 1) > 0.02)
                    fail_msg("%s of 1 GiB on %s: %.1f us, analytic %.1f us",
                             sc__coll_name((enum sc__coll)coll),
                             name,
                             flow / 1e6,
                             plain / 1e6);
                sc_close(ctx);
            }
}

/* Thin uplinks: what the analytic engine counts through them is what the links
 * carry. Ways are sprayed: the analytic engine knows no collisions. */
static void thin_uplinks_agree(const char *cluster,
                               uint32_t gpus,
                               uint32_t tp,
                               enum sc__algo algo,
                               int coll,
                               uint64_t bytes) {
    const struct option_value spray[] = {{"route", "spray"}, {0}};
    struct sc_context *ctx = sc_open();
    struct sc__workload *w = collectives(&ctx->arena, gpus, tp, coll, bytes, 1);
    double flow = (double)step_as(ctx, cluster, algo, true, spray, w);
    double plain = (double)step_as(ctx, cluster, algo, false, NULL, w);
    if (fabs(plain / flow - 1) > 0.01)
        fail_msg("%s as %s of %llu bytes every %u on %s: %.1f us, analytic %.1f us",
                 sc__coll_name((enum sc__coll)coll),
                 sc__algo_name(algo),
                 (unsigned long long)bytes,
                 tp,
                 cluster,
                 flow / 1e6,
                 plain / 1e6);
    sc_close(ctx);
}

/* Every collective as chosen, and every algorithm that has a pattern. */
static void all_agree(const char *cluster, uint32_t gpus) {
    static const struct {
        int coll;
        enum sc__algo algo;
        uint32_t tp;
    } forced[] = {{SC__ALLREDUCE, SC__ALGO_RING, 1},
                  {SC__ALLREDUCE, SC__ALGO_TREE, 1},
                  {SC__ALLREDUCE, SC__ALGO_COLLNET, 1},
                  {SC__ALLREDUCE, SC__ALGO_NVLS_TREE, 1},
                  {SC__ALLTOALL, SC__ALGO_DIRECT, 1},
                  {SC__ALLTOALL, SC__ALGO_PXN, 1},
                  {SC__ALLGATHER, SC__ALGO_DIRECT, 1},
                  {SC__ALLGATHER, SC__ALGO_PAT, 8},
                  {SC__ALLREDUCE, SC__ALGO_TREE, 8},
                  {SC__ALLTOALL, SC__ALGO_HIERARCHICAL, 1}};
    for (uint64_t bytes = (uint64_t)16 << 20; bytes <= (uint64_t)1 << 30; bytes <<= 6) {
        for (int coll = SC__ALLREDUCE; coll <= SC__REDUCE; coll++) {
            thin_uplinks_agree(cluster, gpus, 1, SC__ALGO_AUTO, coll, bytes);
            for (uint32_t tp = 2; tp <= 16 && gpus % tp == 0 && coll < SC__BROADCAST;
                 tp *= 2)
                thin_uplinks_agree(cluster, gpus, tp, SC__ALGO_AUTO, coll, bytes);
        }
        for (unsigned i = 0; i < sizeof forced / sizeof *forced; i++)
            thin_uplinks_agree(cluster,
                               gpus,
                               forced[i].tp,
                               forced[i].algo,
                               forced[i].coll,
                               bytes);
    }
}

static void oversubscribed_agrees_with_analytic(void **unused) {
    static const char *const fabrics[] = {
        "fat-tree leaf=4 oversubscription=%u",
        "rail leaf=4 oversubscription=%u",
        "fat-tree leaf=2 pod-leaves=2 pod-oversubscription=%u"};
    static const uint32_t nodes[] = {3, 16};
    (void)unused;
    for (unsigned f = 0; f < 3; f++)
        for (uint32_t over = 1; over <= 8; over *= 2)
            for (unsigned k = 0; k < 2; k++) {
                char fabric[128];
                char cluster[256];
                snprintf(fabric, sizeof fabric, fabrics[f], over);
                snprintf(cluster,
                         sizeof cluster,
                         "gpu=h100 gpus=%u node=8 nics=8 nic=400Gbps class=ib sharp=yes "
                         "fabric=%s",
                         8 * nodes[k],
                         fabric);
                all_agree(cluster, 8 * nodes[k]);
            }
}

/* Where two GPUs share a NIC and the last node has an odd number of them, channels are as
 * many on each NIC, as the analytic engine has it. */
static void shared_nics_agree_with_analytic(void **unused) {
    static const char *const clusters[] = {"aws-p4d:64", "dgx-v100:64", "frontier:64"};
    static const uint32_t gpus[] = {11, 13, 15, 23};
    (void)unused;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 4; k++)
            for (int coll = SC__ALLREDUCE; coll <= SC__REDUCE; coll++)
                thin_uplinks_agree(clusters[i],
                                   gpus[k],
                                   1,
                                   SC__ALGO_AUTO,
                                   coll,
                                   (uint64_t)256 << 20);
}

/* ---- contention, by hand: each of eight messages is 1 GB ---- */

static double message_seconds(const char *cluster, const struct option_value *options) {
    struct sc_context *ctx = sc_open();
    double time =
        (double)
            step(ctx, cluster, true, options, eight_messages(&ctx->arena, 1000000000, 1)) *
        1e-12;
    sc_close(ctx);
    return time;
}

static void assert_seconds(double time, double expected) {
    if (fabs(time - expected) > 1e-9 * expected)
        fail_msg("%.12g s, by hand %.12g s", time, expected);
}

static const struct option_value dmodk[] = {{"route", "dmodk"}, {0}};

/* Leaf 0 is stage 0, leaf 1 stage 1, eight uplinks: each message has its own. */
static void non_blocking_takes_port_time(void **unused) {
    (void)unused;
    assert_seconds(message_seconds(PLAIN " leaf=8", dmodk), 1e9 / 50e9);
}

/* Partners on one leaf, though their ranks are eight apart: no uplink is used. */
static void placement_moves_ranks(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__workload *w = eight_messages(&ctx->arena, 1000000000, 1);
    uint32_t gpu[16];
    struct sc__cluster c;
    struct sc__net net;
    struct sc__sim sim;
    for (uint32_t r = 0; r < 16; r++)
        gpu[r] = r < 8 ? 2 * r : 2 * (r - 8) + 1;
    assert_int_equal(sc__cluster_parse(ctx, PLAIN " leaf=8 oversubscription=4", 16, &c),
                     SC_OK);
    c.gpu_of = gpu;
    c.placed = 16;
    assert_int_equal(network(ctx, true, dmodk, &c, w, &net), SC_OK);
    assert_int_equal(sc__simulate(ctx, w, &net, NULL, &sim), SC_OK);
    assert_seconds((double)sim.step * 1e-12, 1e9 / 50e9);
    sc_close(ctx);
}

/* Two uplinks of 50 GB/s for eight NICs. */
static void oversubscription_costs_4(void **unused) {
    (void)unused;
    assert_seconds(message_seconds(PLAIN " leaf=8 oversubscription=4", dmodk), 4e9 / 50e9);
}

/* The uplink that the message to GPU 11 takes has half its capacity. */
static void halved_uplink_costs_2(void **unused) {
    (void)unused;
    const struct option_value half[] = {{"route", "dmodk"},
                                        {"degrade", "leaf0-spine3=0.5"},
                                        {0}};
    const struct option_value unused_link[] = {{"route", "dmodk"},
                                               {"degrade", "leaf1-spine3=0.5"},
                                               {0}};
    assert_seconds(message_seconds(PLAIN " leaf=8", half), 2e9 / 50e9);
    assert_seconds(message_seconds(PLAIN " leaf=8", unused_link), 1e9 / 50e9);
}

/* A failed uplink: D-mod-k takes the next spine, where two messages meet. */
static void failed_uplink_costs_2(void **unused) {
    (void)unused;
    const struct option_value fail[] = {{"route", "dmodk"}, {"fail", "leaf0-spine3"}, {0}};
    assert_seconds(message_seconds(PLAIN " leaf=8", fail), 2e9 / 50e9);
}

/* ECMP: the slowest message shares its uplink with as many as the hash puts
 * there. */
static void collision_costs_what_the_hash_says(void **unused) {
    (void)unused;
    for (uint64_t seed = 1; seed < 6; seed++) {
        unsigned on[8] = {0};
        unsigned most = 0;
        for (uint64_t i = 0; i < 8; i++) {
            unsigned spine = (unsigned)(sc__splitmix64(seed ^ (i << 32 | (i + 8))) % 8);
            if (++on[spine] > most)
                most = on[spine];
        }
        char route[32];
        snprintf(route, sizeof route, "ecmp:%u", (unsigned)seed);
        const struct option_value ecmp[] = {{"route", route}, {0}};
        assert_true(most > 1);
        assert_seconds(message_seconds(PLAIN " leaf=8", ecmp), most * 1e9 / 50e9);
    }
}

/* All-to-alls above 16 ranks are fewer flows than pairs. Alone they end when the
 * slowest of all pairs does: equal flows that start together rise together,
 * and the first link to fill decides whoever they are counted with. */
static double
slowest_pair(struct sc_context *ctx, const char *cluster, uint32_t n, uint64_t seed) {
    struct sc__cluster c;
    struct sc__graph g;
    struct sc__route_policy policy = {.kind = SC__ROUTE_ECMP, .seed = seed};
    struct sc__flow *flows = SC__NEW_ARRAY(&ctx->arena, struct sc__flow, (size_t)n * n);
    uint32_t count = 0;
    double last = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            if (i != k)
                flows[count++] =
                    (struct sc__flow){.from = i, .to = k, .bytes = 1e6, .weight = 1};
    assert_int_equal(sc__cluster_parse(ctx, cluster, n, &c), SC_OK);
    assert_int_equal(sc__cluster_graph(ctx, &c, &g), SC_OK);
    assert_int_equal(sc__flow_batch(ctx, &g, &policy, flows, count, NULL), SC_OK);
    for (uint32_t i = 0; i < count; i++)
        last = fmax(last, flows[i].finish);
    return last;
}

static void alltoall_alone_is_exact(void **unused) {
    (void)unused;
    for (uint32_t n = 32; n <= 96; n += 32)
        for (uint64_t seed = 1; seed < 4; seed++) {
            struct sc_context *ctx = sc_open();
            char cluster[160];
            char route[32];
            snprintf(route, sizeof route, "ecmp:%u", (unsigned)seed);
            snprintf(cluster,
                     sizeof cluster,
                     "gpus=%u " ONE_CARD " leaf=8 oversubscription=2",
                     n);
            const struct option_value ecmp[] = {{"route", route}, {0}};
            struct sc__workload *w =
                one_collective(&ctx->arena, n, SC__ALLTOALL, n * (uint64_t)1000000);
            assert_seconds((double)step(ctx, cluster, true, ecmp, w) * 1e-12,
                           slowest_pair(ctx, cluster, n, seed));
            sc_close(ctx);
        }
}

/* ---- SimAI's ns-3 simulation: 8 GPUs a server, NVSwitch 2880 Gb/s and 25 ns a
 * GPU, rails of 400 Gb/s and 500 ns, 64 spines, 3 us before each send ---- */

struct point {
    int coll;
    uint32_t gpus;
    uint32_t mib;
    double us;
    double tolerance;
};

static void simai_points(void **unused) {
    (void)unused;
    static const struct point points[] = {{SC__ALLREDUCE, 8, 1, 47.50, .12},
                                          {SC__ALLREDUCE, 8, 16, 125.15, .04},
                                          {SC__ALLREDUCE, 8, 64, 369.39, .04},
                                          {SC__ALLREDUCE, 8, 256, 1348.69, .04},
                                          {SC__ALLREDUCE, 32, 1, 228.13, .12},
                                          {SC__ALLREDUCE, 32, 16, 266.92, .04},
                                          {SC__ALLREDUCE, 32, 64, 480.64, .04},
                                          {SC__ALLREDUCE, 128, 1, 918.52, .12},
                                          {SC__ALLREDUCE, 128, 16, 962.42, .04},
                                          {SC__ALLTOALL, 16, 1, 18.94, .07},
                                          {SC__ALLTOALL, 16, 16, 177.99, .07},
                                          {SC__ALLTOALL, 16, 64, 686.98, .07},
                                          {SC__ALLTOALL, 16, 256, 2722.58, .07},
                                          {SC__ALLTOALL, 64, 1, 32.02, .07},
                                          {SC__ALLTOALL, 64, 16, 310.62, .07}};
    const struct option_value options[] = {{"send-latency", "3us"},
                                           {"packet", "9000+100"},
                                           {0}};
    for (unsigned i = 0; i < sizeof points / sizeof *points; i++) {
        const struct point *p = &points[i];
        struct sc_context *ctx = sc_open();
        struct sc__workload *w =
            one_collective(&ctx->arena, p->gpus, p->coll, (uint64_t)p->mib << 20);
        double us =
            (double)step(ctx,
                         "gpu=a100 node=8 nvlink=2880Gbps nics=8 nic=400Gbps fabric=rail "
                         "class=plain spines=64 "
                         "link=400Gbps step=25ns switch-latency=500ns",
                         true,
                         options,
                         w) /
            1e6;
        if (fabs(us / p->us - 1) > p->tolerance)
            fail_msg("%s of %u MiB on %u GPUs: %.2f us, ns-3 %.2f us",
                     sc__coll_name((enum sc__coll)p->coll),
                     p->mib,
                     p->gpus,
                     us,
                     p->us);
        sc_close(ctx);
    }
}

/* A torus has no nodes, and only the sizes it has. */
static void torus_agrees_with_analytic(void **unused) {
    (void)unused;
    const struct option_value spray[] = {{"route", "spray"}, {0}};
    for (int coll = SC__ALLREDUCE; coll <= SC__REDUCE; coll++) {
        struct sc_context *ctx = sc_open();
        struct sc__workload *w = one_collective(&ctx->arena, 64, coll, (uint64_t)1 << 30);
        double flow = (double)step(ctx, "tpu-torus:64", true, spray, w);
        double plain = (double)step(ctx, "tpu-torus:64", false, NULL, w);
        if (fabs(flow / plain - 1) > 0.02)
            fail_msg("%s on a torus: %.1f us, analytic %.1f us",
                     sc__coll_name((enum sc__coll)coll),
                     flow / 1e6,
                     plain / 1e6);
        sc_close(ctx);
    }
}

/* Four GPUs on two switches joined by one cable of 10 GB/s; a device number is
 * a GPU, then switches 4 and 5. Two messages across share the cable. */
static void listed_links_share_a_cable(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__fabric_link links[] = {{0, 4, 50e9, 0},
                                      {1, 4, 50e9, 0},
                                      {2, 5, 50e9, 0},
                                      {3, 5, 50e9, 0},
                                      {4, 5, 10e9, 0}};
    struct sc__cluster c = {.gpus = 4,
                            .node_gpus = 1,
                            .fabric = {.kind = SC__FABRIC_LINKS,
                                       .links = links,
                                       .link_count = 5,
                                       .switches = 2,
                                       .planes = 1}};
    struct sc__graph g;
    struct sc__route_policy policy = {.kind = SC__ROUTE_DMODK};
    struct sc__flow flows[3] = {{0, 2, 1e9, 0, 1, 0},
                                {1, 3, 1e9, 0, 1, 0},
                                {0, 1, 1e9, 0, 1, 0}};
    assert_int_equal(sc__cluster_graph(ctx, &c, &g), SC_OK);
    assert_int_equal(sc__flow_batch(ctx, &g, &policy, flows, 3, NULL), SC_OK);
    assert_seconds(flows[0].finish, 2e9 / 10e9);
    assert_seconds(flows[1].finish, 2e9 / 10e9);
    assert_seconds(flows[2].finish, 1e9 / 45e9); /* the port of GPU 0 has 45 GB/s left */
    c.fabric.link_count = 4;                     /* cut in two */
    assert_int_equal(sc__cluster_graph(ctx, &c, &g), SC_OK);
    assert_int_equal(sc__flow_batch(ctx, &g, &policy, flows, 1, NULL), SC_INPUT);
    sc_close(ctx);
}

static void ring_of_65536(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__workload *w =
        one_collective(&ctx->arena, 65536, SC__ALLREDUCE, (uint64_t)1 << 30);
    clock_t begin = clock();
    int64_t time = step(ctx, "dgx-h100:65536", true, NULL, w);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    assert_true(time > 0);
    assert_true(seconds < 2);
    assert_true(ctx->arena.total < (size_t)1 << 30);
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_agrees_with_analytic),
        cmocka_unit_test(oversubscribed_agrees_with_analytic),
        cmocka_unit_test(shared_nics_agree_with_analytic),
        cmocka_unit_test(non_blocking_takes_port_time),
        cmocka_unit_test(placement_moves_ranks),
        cmocka_unit_test(oversubscription_costs_4),
        cmocka_unit_test(halved_uplink_costs_2),
        cmocka_unit_test(failed_uplink_costs_2),
        cmocka_unit_test(collision_costs_what_the_hash_says),
        cmocka_unit_test(alltoall_alone_is_exact),
        cmocka_unit_test(simai_points),
        cmocka_unit_test(torus_agrees_with_analytic),
        cmocka_unit_test(listed_links_share_a_cable),
        cmocka_unit_test(ring_of_65536),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
