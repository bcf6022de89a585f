/* Paths through every kind of fabric, and what flows take on them, by hand. */
#include "network/flow/flow_batch.h"
#include "network/flow/flow_cluster.h"

#include "test.h"

#include "cluster_text.h"

#define ONE_NIC "node=1 nics=1 nic=50GB/s class=plain hop=0us switch-latency=0us "
#define GB 1e9
#define PORT_S 0.02 /* of a GB at 50 GB/s */

static const struct sc__route_policy dmodk = {.kind = SC__ROUTE_DMODK, .seed = 1};

static struct sc__graph graph_of(const struct sc__cluster *c) {
    struct sc__graph g;
    if (sc__cluster_graph(ctx, c, &g) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    return g;
}

static struct sc__graph graph(const char *text) {
    struct sc__cluster *c = SC__NEW(&ctx->arena, struct sc__cluster);
    *c = cluster(text);
    return graph_of(c);
}

/* A torus, by its sizes, links of 50 GB/s. */
static struct sc__graph
dimensions(enum sc__dim_kind kind, uint32_t dims, const uint32_t *size) {
    struct sc__cluster *c = SC__NEW(&ctx->arena, struct sc__cluster);
    *c = (struct sc__cluster){.gpus = 1, .node_gpus = 1};
    c->fabric.kind = SC__FABRIC_DIMS;
    c->fabric.dims = dims;
    for (uint32_t d = 0; d < dims; d++) {
        c->fabric.dim[d] = (struct sc__fabric_dim){kind, size[d], 50e9, 0};
        c->gpus *= size[d];
    }
    return graph_of(c);
}

static void
run(struct sc__graph *g, const struct sc__route_policy *p, struct sc__flow *f, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        f[i].weight = f[i].weight > 0 ? f[i].weight : 1;
    if (sc__flow_batch(ctx, g, p, f, n, NULL) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
}

static void takes(const struct sc__flow *f, double seconds) {
    assert_within(f->finish, seconds, 1e-9);
}

/* ---- paths are chains of links ---- */

/* Of NICs the device is not that of the GPU, so the first device is taken as it is. */
static void check_chain(struct sc__graph *g, uint32_t from, uint32_t to, uint32_t w) {
    uint32_t links[256];
    uint32_t count = g->path(g, from, to, w, links);
    uint32_t before[2];
    uint32_t reversed[256];
    uint32_t back[2];
    assert_true(count > 0);
    g->ends(g, links[0], before);
    uint32_t first = before[0];
    for (uint32_t i = 1; i < count; i++) {
        uint32_t ends[2];
        g->ends(g, links[i], ends);
        if (ends[0] != before[1])
            fail_msg(
                "path %u from %u to %u: link %u ends at device %u, the next begins at %u",
                w,
                from,
                to,
                i - 1,
                before[1],
                ends[0]);
        memcpy(before, ends, sizeof before);
    }
    uint32_t n = g->path(g, to, from, w, reversed); /* it ends where the way back begins */
    g->ends(g, reversed[0], back);
    assert_int_equal(before[1], back[0]);
    g->ends(g, reversed[n - 1], back);
    assert_int_equal(back[1], first);
}

static void check_paths(struct sc__graph g) {
    for (uint32_t from = 0; from < g.ports; from++)
        for (uint32_t to = 0; to < g.ports; to++)
            for (uint32_t w = 0; from != to && w < g.paths(&g, from, to); w++)
                check_chain(&g, from, to, w);
}

static void paths_are_chains(void **state) {
    (void)state;
    const uint32_t torus[] = {4, 3};
    check_paths(graph("gpus=16 " ONE_NIC "fabric=fat-tree leaf=4"));
    check_paths(graph("gpus=16 " ONE_NIC "fabric=fat-tree leaf=2 pod-leaves=2 cores=3"));
    check_paths(
        graph("gpu=h100 gpus=16 node=4 nvlink=200GB/s nics=4 nic=50GB/s fabric=rail "
              "leaf=2 class=ib"));
    check_paths(graph("gpus=24 " ONE_NIC "fabric=dragonfly router-nics=2 group-routers=3 "
                      "global-links=2 groups=4"));
    check_paths(dimensions(SC__DIM_RING, 2, torus));
    check_paths(dimensions(SC__DIM_FULL, 2, torus));
    check_paths(dimensions(SC__DIM_SWITCH, 2, torus));
}

/* ---- trees ---- */

/* Two planes of 25 GB/s, half of the flow on each. */
static void planes_divide_a_nic(void **state) {
    (void)state;
    struct sc__graph g = graph("gpus=2 " ONE_NIC "fabric=fat-tree planes=2");
    struct sc__flow f[] = {{.from = 0, .to = 1, .bytes = GB}};
    run(&g, &dmodk, f, 1);
    takes(&f[0], PORT_S);
}

/* Eight NICs over 3: uplinks of 133 GB/s, which is no whole number of cables of 50 GB/s. */
static void uplinks_have_what_is_stated(void **state) {
    (void)state;
    const struct sc__route_policy spray = {.kind = SC__ROUTE_SPRAY};
    struct sc__graph g =
        graph("gpus=16 " ONE_NIC "fabric=fat-tree leaf=8 oversubscription=3");
    struct sc__flow f[8];
    for (uint32_t i = 0; i < 8; i++)
        f[i] = (struct sc__flow){.from = i, .to = 8 + i, .bytes = GB};
    run(&g, &spray, f, 8);
    for (uint32_t i = 0; i < 8; i++)
        takes(&f[i], 3 * PORT_S);
}

/* Path w is by way of aggregation switch w % 2 and its core w / 2: to host 6 by switch 0
 * and core 1, whose cable has a tenth. Four flows share two uplinks of the leaf: 25 GB/s
 * each, or 5 GB/s; then the one beside it has 45 GB/s. */
static void cores_are_apart(void **state) {
    (void)state;
    struct sc__graph g;
    struct sc__flow f[4];
    assert_int_equal(sc__graph_parse(ctx, "ft3:4:1:2:2:8", 8, &g), SC_OK);
    assert_int_equal(sc__graph_degrade(ctx, &g, "pod0.agg0-core0.1", 0.1), SC_OK);
    for (uint32_t i = 0; i < 4; i++)
        f[i] = (struct sc__flow){.from = i, .to = 4 + i, .bytes = GB};
    run(&g, &dmodk, f, 4);
    takes(&f[2], GB / 5e9);
    takes(&f[0], GB / 45e9);
    takes(&f[1], GB / 25e9);
    takes(&f[3], GB / 25e9);
}

/* Rails: GPU 0 of nodes 0 … 3 to GPU 0 of nodes 4 … 7. On its leaf a GPU has the place of
 * its node, so that each flow has a spine of its own. */
static void rails_spread_by_nodes(void **state) {
    (void)state;
    struct sc__graph g = graph("gpu=h100 gpus=64 node=8 nvlink=200GB/s nics=8 nic=50GB/s "
                               "fabric=rail leaf=4 spines=4 link=50GB/s class=ib");
    struct sc__flow f[4];
    for (uint32_t i = 0; i < 4; i++)
        f[i] = (struct sc__flow){.from = 8 * i, .to = 32 + 8 * i, .bytes = GB};
    run(&g, &dmodk, f, 4);
    for (uint32_t i = 0; i < 4; i++)
        takes(&f[i], PORT_S);
    uint32_t links[8];
    assert_int_equal(g.path(&g, 0, 24, 0, links),
                     2); /* under one leaf, as their nodes are */
    assert_int_equal(g.path(&g, 0, 1, 0, links), 2); /* NVLink */
    assert_int_equal(sc__graph_degrade(ctx, &g, "leaf0-spine0", 0.5), SC_OK);
    run(&g, &dmodk, f, 4);
    takes(&f[0], 2 * PORT_S);
    takes(&f[1], PORT_S);
}

/* Two nodes under leaves for four: 100 GB/s of uplinks over 2, though half would do. Each
 * flow goes to the other rail. */
static void half_empty_leaves_have_all_uplinks(void **state) {
    (void)state;
    const struct sc__route_policy spray = {.kind = SC__ROUTE_SPRAY};
    struct sc__graph g = graph("gpu=h100 gpus=4 node=2 nvlink=200GB/s nics=2 nic=50GB/s "
                               "fabric=rail leaf=4 oversubscription=2 class=ib");
    struct sc__flow f[] = {{.from = 0, .to = 3, .bytes = GB},
                           {.from = 2, .to = 1, .bytes = GB}};
    run(&g, &spray, f, 2);
    takes(&f[0], PORT_S);
    takes(&f[1], PORT_S);
}

/* Pods of four NICs, a fourth of whose rate goes up to the cores. */
static void pods_are_oversubscribed(void **state) {
    (void)state;
    const struct sc__route_policy spray = {.kind = SC__ROUTE_SPRAY};
    struct sc__graph g = graph("gpus=8 " ONE_NIC "fabric=fat-tree leaf=2 pod-leaves=2 "
                               "pod-oversubscription=4");
    struct sc__flow f[4];
    for (uint32_t i = 0; i < 4; i++)
        f[i] = (struct sc__flow){.from = i, .to = 4 + i, .bytes = GB};
    run(&g, &spray, f, 4);
    for (uint32_t i = 0; i < 4; i++)
        takes(&f[i], 4 * PORT_S);
}

/* What crosses the middle of two pods of two leaves with two NICs each. */
static double pods_take(const char *cables) {
    char text[256];
    const struct sc__route_policy spray = {.kind = SC__ROUTE_SPRAY};
    struct sc__flow f[4];
    snprintf(text,
             sizeof text,
             "gpus=8 " ONE_NIC "fabric=fat-tree leaf=2 pod-leaves=2 %s",
             cables);
    struct sc__graph g = graph(text);
    for (uint32_t i = 0; i < 4; i++)
        f[i] = (struct sc__flow){.from = i, .to = 4 + i, .bytes = GB};
    run(&g, &spray, f, 4);
    for (uint32_t i = 1; i < 4; i++)
        takes(&f[i], f[0].finish);
    return f[0].finish;
}

/* Each of two aggregation switches has a cable from each of two leaves and one to each of
 * its cores; of counts and what is stated, the thinner decides. */
static void cables_are_counted(void **state) {
    (void)state;
    assert_within(pods_take("cores=2"), PORT_S, 1e-9);
    assert_within(pods_take("cores=1"), 2 * PORT_S, 1e-9);
    assert_within(pods_take("spines=2 cores=1 link=100GB/s"), PORT_S, 1e-9);
    assert_within(pods_take("cores=1 pod-oversubscription=4"), 4 * PORT_S, 1e-9);
    assert_within(pods_take("spines=1 cores=4"), 2 * PORT_S, 1e-9);
    assert_within(pods_take("spines=2 link=50GB/s oversubscription=4"), 4 * PORT_S, 1e-9);
    assert_within(pods_take("spines=8 cores=1"), PORT_S, 1e-9);
}

/* Two GPUs a node with `nics`, to those of the other leaf. */
static double nics_take(uint32_t nics, const char *fabric) {
    char text[256];
    struct sc__flow f[2];
    snprintf(text,
             sizeof text,
             "gpu=h100 gpus=4 node=2 nvlink=200GB/s nics=%u nic=25GB/s class=ib leaf=1 "
             "fabric=%s",
             nics,
             fabric);
    struct sc__graph g = graph(text);
    for (uint32_t i = 0; i < 2; i++)
        f[i] = (struct sc__flow){.from = i, .to = 2 + i, .bytes = GB};
    run(&g, &dmodk, f, 2);
    takes(&f[1], f[0].finish);
    return f[0].finish;
}

/* A GPU sends through all its NICs: two of 25 GB/s are one of 50. */
static void gpus_use_all_their_nics(void **state) {
    (void)state;
    assert_within(nics_take(2, "rail"), 2 * PORT_S, 1e-9);
    assert_within(nics_take(4, "rail"), PORT_S, 1e-9);
    assert_within(nics_take(4, "fat-tree"), PORT_S, 1e-9);
    assert_within(nics_take(4, "fat-tree spines=4 link=25GB/s"), PORT_S, 1e-9);
    assert_within(nics_take(4, "fat-tree spines=2 link=25GB/s"), 2 * PORT_S, 1e-9);
    assert_within(nics_take(4, "fat-tree spines=1 link=100GB/s"), PORT_S, 1e-9);
    assert_within(nics_take(8, "hpn planes=2"), PORT_S / 2, 1e-9);
}

/* ---- dimensions, groups, cables ---- */

/* A ring of four, both ways from GPU 0, and half way round by turns: 0 → 2 by 1, 1 → 3 by
 * 0. Nobody shares a link. */
static void rings_go_the_shorter_way(void **state) {
    (void)state;
    const uint32_t four[] = {4};
    struct sc__graph g = dimensions(SC__DIM_RING, 1, four);
    struct sc__flow near[] = {{.from = 0, .to = 1, .bytes = GB},
                              {.from = 0, .to = 3, .bytes = GB}};
    struct sc__flow far[] = {{.from = 0, .to = 2, .bytes = GB},
                             {.from = 1, .to = 3, .bytes = GB}};
    run(&g, &dmodk, near, 2);
    run(&g, &dmodk, far, 2);
    for (int i = 0; i < 2; i++) {
        takes(&near[i], PORT_S);
        takes(&far[i], PORT_S);
    }
}

/* 4 × 4: path 1, which 0 → 5 takes, begins with the second dimension: by GPU 4. The cable
 * to GPU 1 is that of the other flow alone. */
static void paths_begin_with_any_dimension(void **state) {
    (void)state;
    const uint32_t size[] = {4, 4};
    struct sc__graph g = dimensions(SC__DIM_RING, 2, size);
    struct sc__flow f[] = {{.from = 0, .to = 5, .bytes = GB},
                           {.from = 0, .to = 1, .bytes = GB}};
    run(&g, &dmodk, f, 2);
    takes(&f[0], PORT_S);
    takes(&f[1], PORT_S);
}

/* Cables between routers of 10 GB/s under NICs of 50 GB/s. */
static void routers_have_their_own_cables(void **state) {
    (void)state;
    struct sc__graph g = graph("gpus=8 " ONE_NIC "fabric=dragonfly router-nics=2 "
                               "group-routers=2 global-links=1 groups=2 link=10GB/s");
    struct sc__flow f[] = {{.from = 0, .to = 1, .bytes = GB},
                           {.from = 2, .to = 7, .bytes = GB}};
    run(&g, &dmodk, f, 2);
    takes(&f[0], PORT_S);    /* on one router */
    takes(&f[1], GB / 10e9); /* to the other group */
}

/* GPUs 0 - 1 - 2 in a line, and 0 and 2 on switches 3 and 4: the way of three cables by the
 * switches, since a GPU passes nothing on. */
static void gpus_do_not_forward(void **state) {
    (void)state;
    static struct sc__fabric_link links[] = {{0, 1, 50e9, 0},
                                             {1, 2, 50e9, 0},
                                             {0, 3, 10e9, 0},
                                             {3, 4, 10e9, 0},
                                             {4, 2, 10e9, 0}};
    const struct sc__cluster c = {.gpus = 3,
                                  .node_gpus = 1,
                                  .fabric = {.kind = SC__FABRIC_LINKS,
                                             .links = links,
                                             .link_count = 5,
                                             .switches = 2,
                                             .planes = 1}};
    struct sc__graph g = graph_of(&c);
    struct sc__flow f[] = {{.from = 0, .to = 2, .bytes = GB},
                           {.from = 0, .to = 1, .bytes = GB}};
    run(&g, &dmodk, f, 2);
    takes(&f[0], GB / 10e9);
    takes(&f[1], PORT_S);
}

/* Two leaves with a cable to each of `spines` switches, one GPU behind each leaf whose
 * cable is as fast as all of those: sprayed over all of them, equally, it is filled. */
static void check_spines_listed(uint32_t spines) {
    const struct sc__route_policy spray = {.kind = SC__ROUTE_SPRAY};
    uint32_t count = 0;
    struct sc__fabric_link *links =
        SC__NEW_ARRAY(&ctx->arena, struct sc__fabric_link, 2 + 2 * spines);
    for (uint32_t side = 0; side < 2; side++) {
        links[count++] = (struct sc__fabric_link){side, 2 + side, 50e9, 0};
        for (uint32_t i = 0; i < spines; i++)
            links[count++] = (struct sc__fabric_link){2 + side, 4 + i, 50e9 / spines, 0};
    }
    const struct sc__cluster c = {.gpus = 2,
                                  .node_gpus = 1,
                                  .fabric = {.kind = SC__FABRIC_LINKS,
                                             .links = links,
                                             .link_count = count,
                                             .switches = 2 + spines,
                                             .planes = 1}};
    struct sc__graph g = graph_of(&c);
    struct sc__flow f[] = {{.from = 0, .to = 1, .bytes = GB}};
    run(&g, &spray, f, 1);
    takes(&f[0], PORT_S);
}

static void listed_uplinks_are_used_alike(void **state) {
    (void)state;
    check_spines_listed(8);
    check_spines_listed(12);
    check_spines_listed(64);
    check_spines_listed(100);
}

/* ---- routes ---- */

/* Eight messages sprayed over the seven uplinks that are left. */
static void spray_goes_round_a_failure(void **state) {
    (void)state;
    const struct sc__route_policy spray = {.kind = SC__ROUTE_SPRAY};
    struct sc__graph g = graph("gpus=16 " ONE_NIC "fabric=fat-tree leaf=8");
    struct sc__flow f[8];
    assert_int_equal(sc__graph_fail(ctx, &g, "leaf0-spine3"), SC_OK);
    for (uint32_t i = 0; i < 8; i++)
        f[i] = (struct sc__flow){.from = i, .to = 8 + i, .bytes = GB};
    run(&g, &spray, f, 8);
    for (uint32_t i = 0; i < 8; i++)
        takes(&f[i], PORT_S * 8 / 7);
}

static uint32_t second_link(struct sc__graph *g,
                            const struct sc__route_policy *p,
                            uint32_t from,
                            uint32_t to) {
    uint32_t links[8];
    uint32_t count;
    sc__graph_path(g, p, from, to, 0, 0, links, &count);
    assert_int_equal(count, 4);
    return links[1];
}

/* All routes of GPU 0 begin with its port: what lies on that says nothing of the uplinks.
 */
static void adaptive_routes_look_at_uplinks(void **state) {
    (void)state;
    const struct sc__route_policy adaptive = {.kind = SC__ROUTE_ADAPTIVE};
    struct sc__graph g = graph("gpus=32 " ONE_NIC "fabric=fat-tree leaf=8");
    uint32_t one = second_link(&g, &adaptive, 0, 8);
    uint32_t other = second_link(&g, &adaptive, 0, 16);
    assert_int_not_equal(one, other);
}

/* The planes of a NIC are hashed apart: of 64 pairs about an eighth have the same spine in
 * both. */
static void planes_are_hashed_apart(void **state) {
    (void)state;
    const struct sc__route_policy ecmp = {.kind = SC__ROUTE_ECMP, .seed = 1};
    struct sc__graph g =
        graph("gpus=16 " ONE_NIC "fabric=fat-tree leaf=8 planes=2 spines=8");
    unsigned same = 0;
    for (uint32_t from = 0; from < 8; from++)
        for (uint32_t to = 8; to < 16; to++) {
            uint32_t links[2][8];
            uint32_t count;
            for (uint32_t plane = 0; plane < 2; plane++)
                sc__graph_path(&g, &ecmp, from, to, plane, 0, links[plane], &count);
            same += links[0][1] + g.plane_links == links[1][1];
        }
    assert_number(same, <, 32);
    assert_number(same, >, 0);
}

/* ---- when flows begin and end ---- */

/* B begins long after A has ended: it has the port of GPU 2 for itself. C and D share that
 * of GPU 5 from 0.01 s on: C has half left, which takes it twice as long, and D goes on
 * alone with what is left of it. */
static void flows_come_and_go(void **state) {
    (void)state;
    struct sc__graph g = graph("gpus=8 " ONE_NIC "fabric=fat-tree");
    struct sc__flow f[] = {{.from = 0, .to = 2, .bytes = GB},
                           {.from = 1, .to = 2, .bytes = GB, .start = 1},
                           {.from = 3, .to = 5, .bytes = GB},
                           {.from = 4, .to = 5, .bytes = GB, .start = 0.01}};
    run(&g, &dmodk, f, 4);
    takes(&f[0], PORT_S);
    takes(&f[1], 1 + PORT_S);
    takes(&f[2], 0.03);
    takes(&f[3], 0.04);
}

/* Of one port a flow of weight 3 has three parts, the plain one a fourth; when that of
 * weight ends the other has all. */
static void weights_are_shares(void **state) {
    (void)state;
    struct sc__graph g = graph("gpus=4 " ONE_NIC "fabric=fat-tree");
    struct sc__flow f[] = {{.from = 0, .to = 2, .bytes = GB, .weight = 3},
                           {.from = 1, .to = 2, .bytes = GB}};
    run(&g, &dmodk, f, 2);
    takes(&f[0], PORT_S * 4 / 3);
    takes(&f[1], 2 * PORT_S);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths_are_chains),
                                       cmocka_unit_test(planes_divide_a_nic),
                                       cmocka_unit_test(uplinks_have_what_is_stated),
                                       cmocka_unit_test(cores_are_apart),
                                       cmocka_unit_test(rails_spread_by_nodes),
                                       cmocka_unit_test(half_empty_leaves_have_all_uplinks),
                                       cmocka_unit_test(pods_are_oversubscribed),
                                       cmocka_unit_test(cables_are_counted),
                                       cmocka_unit_test(gpus_use_all_their_nics),
                                       cmocka_unit_test(rings_go_the_shorter_way),
                                       cmocka_unit_test(paths_begin_with_any_dimension),
                                       cmocka_unit_test(routers_have_their_own_cables),
                                       cmocka_unit_test(gpus_do_not_forward),
                                       cmocka_unit_test(listed_uplinks_are_used_alike),
                                       cmocka_unit_test(spray_goes_round_a_failure),
                                       cmocka_unit_test(adaptive_routes_look_at_uplinks),
                                       cmocka_unit_test(planes_are_hashed_apart),
                                       cmocka_unit_test(flows_come_and_go),
                                       cmocka_unit_test(weights_are_shares)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
