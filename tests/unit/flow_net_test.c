/* The flow engine under the executor: one collective alone agrees with the
 * analytic engine on every preset; contention costs what a hand computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simulate/flow.h"
#include "simulate/flow_batch.h"
#include "simulate/simulate.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct option_value {
    const char *name, *value;
};

static const char *nth(const void *self, const char *name, unsigned i) {
    for (const struct option_value *v = self; v && v->name; v++)
        if (!strcmp(v->name, name) && i-- == 0) return v->value;
    return NULL;
}

static sc_status network(struct sc_context *ctx, bool flow, const struct option_value *options,
                         const struct sc__cluster *c, const struct sc__workload *w, struct sc__net *net) {
    struct sc__settings settings = {.nth = nth, .self = options, .ctx = ctx};
    return flow ? sc__net_flow(ctx, c, w, &settings, net) : sc__net_analytic(ctx, c, w, net);
}

/* One collective of all GPUs, as a workload. */
static struct sc__workload *one_collective(struct sc__arena *arena, uint32_t gpus, int coll, uint64_t bytes) {
    struct sc__workload *w = sc__workload_new(arena, "test");
    w->mesh = sc__mesh(1, 1, 1, gpus, 1, 1);
    sc__block_begin(w);
    struct sc__op *op = sc__block_add(w, SC__OP_COLLECTIVE, SC__UPDATE, 0, "c");
    op->coll = (uint8_t)coll;
    op->bytes = bytes;
    op->peer = 0;
    op->group = sc__workload_group(w, SC__GROUP_DP);
    uint32_t block = sc__block_end(w), program = sc__program_begin(w);
    sc__program_call(w, block, SC__NONE, 0, 0);
    sc__class_add(w, program, 0, gpus, 0);
    return w;
}

static int64_t step(struct sc_context *ctx, const char *cluster, bool flow, const struct option_value *options,
                    const struct sc__workload *w) {
    struct sc__cluster *c = SC__NEW(&ctx->arena, struct sc__cluster);
    struct sc__net net;
    struct sc__sim sim;
    if (sc__cluster_parse(ctx, cluster, sc__mesh_ranks(&w->mesh), c) || network(ctx, flow, options, c, w, &net) ||
        sc__simulate(ctx, w, &net, NULL, &sim))
        fail_msg("%s: %s", cluster, sc_error_text(ctx));
    return sim.step;
}

static void alone_agrees_with_analytic(void **unused) {
    (void)unused;
    static const char *const clusters[] = {
        "dgx-a100:%u",  "dgx-h100:%u", "dgx-b200:%u",
        "hgx-h200:%u",  "hgx-h800:%u", "gb200-nvl72:%u",
        "a100-pcie:%u", "hpn:%u",      "gpu=h100 gpus=%u node=8 nvlink=450GB/s nics=8 nic=400Gbps hop=2us"};
    static const uint32_t sizes[] = {8, 16, 64, 256};
    for (unsigned k = 0; k < sizeof clusters / sizeof *clusters; k++)
        for (unsigned s = 0; s < 4; s++)
            for (int coll = SC__ALLREDUCE; coll <= SC__REDUCE; coll++) {
                struct sc_context *ctx = sc_open();
                char name[128];
                uint32_t gpus = strstr(clusters[k], "nvl72") && s ? 36u << s : sizes[s]; /* whole nodes */
                snprintf(name, sizeof name, clusters[k], gpus);
                const struct option_value spray[] = {{"route", "spray"}, {0}};
                struct sc__workload *w = one_collective(&ctx->arena, gpus, coll, (uint64_t)1 << 30);
                double flow = (double)step(ctx, name, true, spray, w), plain = (double)step(ctx, name, false, NULL, w);
                if (fabs(flow / plain - 1) > 0.02)
                    fail_msg("%s of 1 GiB on %s: %.1f us, analytic %.1f us", sc__coll_name((enum sc__coll)coll), name,
                             flow / 1e6, plain / 1e6);
                sc_close(ctx);
            }
}

/* ---- contention, by hand ----
 *
 * Sixteen GPUs of one card each (50 GB/s, no latency); stage 0 is GPUs 0–7,
 * stage 1 GPUs 8–15. Every GPU of stage 0 sends 1 GB to its partner. */

#define PLAIN "gpus=16 node=1 nics=1 nic=50GB/s fabric=fat-tree class=plain hop=0us switch-latency=0us"

static struct sc__workload *eight_messages(struct sc__arena *arena, uint64_t bytes) {
    struct sc__workload *w = sc__workload_new(arena, "test");
    w->mesh = sc__mesh(1, 1, 1, 8, 2, 1);
    for (uint32_t stage = 0; stage < 2; stage++) {
        sc__block_begin(w);
        struct sc__op *op = sc__block_add(w, stage ? SC__OP_RECV : SC__OP_SEND, SC__FORWARD, 0, "m");
        op->bytes = bytes;
        op->flags = stage ? SC__OP_PEER_PREV : SC__OP_PEER_NEXT;
        uint32_t block = sc__block_end(w), program = sc__program_begin(w);
        sc__program_call(w, block, 0, 0, 0);
        sc__class_add(w, program, 8 * stage, 8, stage);
    }
    return w;
}

static double message_seconds(const char *cluster, const struct option_value *options) {
    struct sc_context *ctx = sc_open();
    double time = (double)step(ctx, cluster, true, options, eight_messages(&ctx->arena, 1000000000)) * 1e-12;
    sc_close(ctx);
    return time;
}

static void assert_seconds(double time, double expected) {
    if (fabs(time - expected) > 1e-9 * expected) fail_msg("%.12g s, by hand %.12g s", time, expected);
}

static const struct option_value dmodk[] = {{"route", "dmodk"}, {0}};

/* Leaf 0 is stage 0, leaf 1 stage 1, eight uplinks: each message has its own. */
static void non_blocking_takes_port_time(void **unused) {
    (void)unused;
    assert_seconds(message_seconds(PLAIN " leaf=8", dmodk), 1e9 / 50e9);
}

/* Two uplinks of 50 GB/s for eight cards. */
static void oversubscription_costs_4(void **unused) {
    (void)unused;
    assert_seconds(message_seconds(PLAIN " leaf=8 oversubscription=4", dmodk), 4e9 / 50e9);
}

/* A rank file that puts partners on one leaf: no uplink is asked. */
static void ranks_lie_where_the_file_says(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__cluster c;
    struct sc__net net;
    struct sc__sim sim;
    uint32_t gpu[16], rank[16];
    struct sc__workload *w = eight_messages(&ctx->arena, 1000000000);
    for (uint32_t r = 0; r < 16; r++) gpu[r] = r % 8 * 2 + r / 8, rank[gpu[r]] = r + 1;
    assert_int_equal(sc__cluster_parse(ctx, PLAIN " leaf=8 oversubscription=4", 16, &c), SC_OK);
    c.gpu_of = gpu, c.rank_of = rank, c.placed = 16;
    assert_int_equal(network(ctx, true, dmodk, &c, w, &net), SC_OK);
    assert_int_equal(sc__simulate(ctx, w, &net, NULL, &sim), SC_OK);
    assert_seconds((double)sim.step * 1e-12, 1e9 / 50e9);
    sc_close(ctx);
}

/* The uplink that the message to GPU 11 takes has half its capacity. */
static void halved_uplink_costs_2(void **unused) {
    (void)unused;
    const struct option_value half[] = {{"route", "dmodk"}, {"degrade", "leaf0-spine3=0.5"}, {0}};
    const struct option_value unused_link[] = {{"route", "dmodk"}, {"degrade", "leaf1-spine3=0.5"}, {0}};
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
        unsigned on[8] = {0}, most = 0;
        for (uint64_t i = 0; i < 8; i++) {
            unsigned spine = (unsigned)(sc__splitmix64(seed ^ (i << 32 | (i + 8))) % 8);
            if (++on[spine] > most) most = on[spine];
        }
        char route[32];
        snprintf(route, sizeof route, "ecmp:%u", (unsigned)seed);
        const struct option_value ecmp[] = {{"route", route}, {0}};
        assert_true(most > 1);
        assert_seconds(message_seconds(PLAIN " leaf=8", ecmp), most * 1e9 / 50e9);
    }
}

/* ---- SimAI's ns-3 simulation: 8 GPUs a server, NVSwitch 2880 Gb/s and 25 ns a
 * GPU, rails of 400 Gb/s and 500 ns, 64 spines, 3 us before each send ---- */

struct point {
    int coll;
    uint32_t gpus, mib;
    double us, tolerance;
};

static void simai_points(void **unused) {
    (void)unused;
    static const struct point points[] = {{SC__ALLREDUCE, 8, 1, 47.50, .12},     {SC__ALLREDUCE, 8, 16, 125.15, .04},
                                          {SC__ALLREDUCE, 8, 64, 369.39, .04},   {SC__ALLREDUCE, 8, 256, 1348.69, .04},
                                          {SC__ALLREDUCE, 32, 1, 228.13, .12},   {SC__ALLREDUCE, 32, 16, 266.92, .04},
                                          {SC__ALLREDUCE, 32, 64, 480.64, .04},  {SC__ALLREDUCE, 128, 1, 918.52, .12},
                                          {SC__ALLREDUCE, 128, 16, 962.42, .04}, {SC__ALLTOALL, 16, 1, 18.94, .07},
                                          {SC__ALLTOALL, 16, 16, 177.99, .07},   {SC__ALLTOALL, 16, 64, 686.98, .07},
                                          {SC__ALLTOALL, 16, 256, 2722.58, .07}, {SC__ALLTOALL, 64, 1, 32.02, .07},
                                          {SC__ALLTOALL, 64, 16, 310.62, .07}};
    const struct option_value options[] = {{"send-latency", "3us"}, {"packet", "9000+100"}, {0}};
    for (unsigned i = 0; i < sizeof points / sizeof *points; i++) {
        const struct point *p = &points[i];
        struct sc_context *ctx = sc_open();
        struct sc__workload *w = one_collective(&ctx->arena, p->gpus, p->coll, (uint64_t)p->mib << 20);
        double us = (double)step(ctx,
                                 "gpu=a100 node=8 nvlink=2880Gbps nics=8 nic=400Gbps fabric=rail class=plain spines=64 "
                                 "link=400Gbps step=25ns switch-latency=500ns",
                                 true, options, w) /
                    1e6;
        if (fabs(us / p->us - 1) > p->tolerance)
            fail_msg("%s of %u MiB on %u GPUs: %.2f us, ns-3 %.2f us", sc__coll_name((enum sc__coll)p->coll), p->mib,
                     p->gpus, us, p->us);
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
            fail_msg("%s on a torus: %.1f us, analytic %.1f us", sc__coll_name((enum sc__coll)coll), flow / 1e6,
                     plain / 1e6);
        sc_close(ctx);
    }
}

/* Four GPUs on two switches joined by one cable of 10 GB/s; a device number is
 * a GPU, then switches 4 and 5. Two messages across share the cable. */
static void listed_links_share_a_cable(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__fabric_link links[] = {
        {0, 4, 50e9, 0}, {1, 4, 50e9, 0}, {2, 5, 50e9, 0}, {3, 5, 50e9, 0}, {4, 5, 10e9, 0}};
    struct sc__cluster c = {
        .gpus = 4,
        .node_gpus = 1,
        .fabric = {.kind = SC__FABRIC_LINKS, .links = links, .link_count = 5, .switches = 2, .planes = 1}};
    struct sc__graph g;
    struct sc__route_policy policy = {.kind = SC__ROUTE_DMODK};
    struct sc__flow flows[3] = {{0, 2, 1e9, 0, 1, 0}, {1, 3, 1e9, 0, 1, 0}, {0, 1, 1e9, 0, 1, 0}};
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
    struct sc__workload *w = one_collective(&ctx->arena, 65536, SC__ALLREDUCE, (uint64_t)1 << 30);
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
        cmocka_unit_test(non_blocking_takes_port_time),
        cmocka_unit_test(oversubscription_costs_4),
        cmocka_unit_test(ranks_lie_where_the_file_says),
        cmocka_unit_test(halved_uplink_costs_2),
        cmocka_unit_test(failed_uplink_costs_2),
        cmocka_unit_test(collision_costs_what_the_hash_says),
        cmocka_unit_test(simai_points),
        cmocka_unit_test(torus_agrees_with_analytic),
        cmocka_unit_test(listed_links_share_a_cable),
        cmocka_unit_test(ring_of_65536),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
