/* Algorithms with constants that can be worked out on paper: four nodes of eight GPUs. */
#include "test.h"

#include "cluster_text.h"
#include "collective/cost_model.h"
#include "workload/workload.h"

enum { NODES = 4, PER_NODE = 8, RANKS = NODES * PER_NODE, BYTES = 32000000 };
static const double part = (double)BYTES / RANKS;

/* Nothing takes time but what a test sets: rates are GB/s. */
static const struct sc__constants free_of_cost = {.proxy = 0,
                                                  .net_share = {1, 1, 1},
                                                  .ring_outside = 1,
                                                  .p2p_share = 1,
                                                  .p2p_copy = 1e12,
                                                  .net_channel = 1e12,
                                                  .net_channels = 1};

static struct sc__coll_model
make_model(const struct sc__cluster *c, const struct sc__constants *k, int coll) {
    struct sc__shape s = sc__cluster_shape(c, NULL, RANKS);
    struct sc__coll_model m = sc__coll_model_make(c, coll, &s, BYTES);
    m.k = k;
    m.nvlink = m.port = m.nic = m.nic_alone = m.wire = 1e12;
    m.hop = 0;
    return m;
}

static struct sc__cluster nodes(void) {
    return cluster("gpu=h100 gpus=32 node=8 nics=8 nic=400Gbps class=ib");
}

/* A chain through all ranks: 28 steps inside nodes, 3 between them, and the buffer once
 * over the slower of both. */
static void chain(void **state) {
    (void)state;
    struct sc__cluster c = nodes();
    struct sc__constants k = free_of_cost;
    struct sc__coll_model m = make_model(&c, &k, SC__BROADCAST);
    k.net_base[0] = 5;
    k.proxy_ll = 1;
    k.net_ring[0] = 10;
    m.hop = 2;
    m.nvlink = 100;
    m.wire = 50;
    struct sc__coll_terms t = sc__coll_model_terms(&m, SC__ALGO_CHAIN, 0);
    assert_within(t.latency, 5 + 28 * 1 + 3 * (10 + 2), 1e-12);
    assert_within(t.bandwidth, BYTES / 50e3, 1e-12);
}

/* The root takes 24 parts over its NIC, which it has alone, and 7 over its port; of an
 * all-to-all every rank has its own share of the NICs. */
static void root_has_its_nic_alone(void **state) {
    (void)state;
    struct sc__cluster c = nodes();
    struct sc__constants k = free_of_cost;
    k.p2p_base = 3;
    k.p2p_simple = 4;
    k.p2p_net = 5;
    k.p2p_peer[0] = 0.5;
    k.p2p_peer[1] = 0.25;
    static const int colls[] = {SC__GATHER, SC__SCATTER, SC__ALLTOALL};
    for (unsigned i = 0; i < 3; i++) {
        struct sc__coll_model m = make_model(&c, &k, colls[i]);
        m.nic = 10;
        m.nic_alone = 40;
        m.hop = 6;
        struct sc__coll_terms t = sc__coll_model_terms(&m, SC__ALGO_DIRECT, 2);
        assert_within(t.latency, 3 + 4 + 5 + 6 + 7 * 0.5 + 24 * 0.25, 1e-12);
        assert_within(t.bandwidth, part * 24 / (i < 2 ? 40e3 : 10e3), 1e-9);
    }
}

/* What goes to other nodes passes the port once more, on its way to the right NIC. */
static void messages_that_change_rails(void **state) {
    (void)state;
    struct sc__cluster c = nodes();
    struct sc__constants k = free_of_cost;
    k.pxn = 8;
    struct sc__coll_model m = make_model(&c, &k, SC__ALLTOALL);
    m.port = 20;
    assert_within(sc__coll_model_terms(&m, SC__ALGO_DIRECT, 2).bandwidth,
                  part * 7 / 20e3,
                  1e-9);
    struct sc__coll_terms t = sc__coll_model_terms(&m, SC__ALGO_PXN, 2);
    assert_within(t.latency, 8, 1e-12);
    assert_within(t.bandwidth, part * (7 + 24) / 20e3, 1e-9);
}

/* DeepEP inside one NVLink domain: what copies reach of the port falls with each doubling
 * beyond eight GPUs, to half of it at the least, and the start takes longer. */
static void dispatch_in_large_domains(void **state) {
    (void)state;
    static const double falls[] = {0.05, 0.3};
    static const double shares[] = {0.8 - 2 * 0.05, 0.4};
    struct sc__cluster c = nodes();
    for (unsigned i = 0; i < 2; i++) {
        struct sc__constants k = free_of_cost;
        const double two_level[] = {1, 0.8, 7, falls[i], 3, 4};
        memcpy(k.two_level, two_level, sizeof two_level);
        struct sc__coll_model m = make_model(&c, &k, SC__ALLTOALL);
        m.nodes = 1;
        m.per_node = RANKS; /* four times eight */
        m.port = 20;
        struct sc__coll_terms t = sc__coll_model_terms(&m, SC__ALGO_HIERARCHICAL, 2);
        assert_within(t.latency, 7 + 2 * 3, 1e-12);
        assert_within(t.bandwidth, part * (RANKS - 1) / (shares[i] * 20e3), 1e-9);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain),
        cmocka_unit_test(root_has_its_nic_alone),
        cmocka_unit_test(messages_that_change_rails),
        cmocka_unit_test(dispatch_in_large_domains),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
