/* Collectives on ASTRA-sim's networks, by hand. */
#include "network/astra/astra.h"

#include "test.h"

/* A ring of 4 at 100 GB/s and 500 ns, and 2 of these behind a switch at 25 GB/s and 1000 ns
 * a link, two of which a message crosses (Switch::compute_hops_count of its network). */
static struct sc__astra machine(void) {
    return (struct sc__astra){.net = {.dims = 2,
                                      .topology = {SC__ASTRA_RING, SC__ASTRA_SWITCH},
                                      .npus = {4, 2},
                                      .bandwidth = {100, 25},
                                      .latency = {500, 1000}},
                              .splits = 1};
}

static double ns(const struct sc__astra *a,
                 enum sc__astra_collective kind,
                 uint32_t out,
                 uint64_t bytes) {
    const uint32_t size[SC__ASTRA_DIMS] = {4, out};
    return (double)sc__astra_collective(a, kind, size, bytes) / 1000;
}

/* 8 MB: three steps of 2 MB in the ring, one of 1 MB outside, and the same back. */
static void dimension_by_dimension(void **state) {
    (void)state;
    struct sc__astra a = machine();
    double ring = 3 * (500 + 2e6 / 100);
    double outside = 2 * 1000 + 1e6 / 25;
    assert_within(ns(&a, SC__ASTRA_REDUCESCATTER, 2, 8000000), ring + outside, 1e-9);
    assert_within(ns(&a, SC__ASTRA_ALLREDUCE, 2, 8000000), 2 * (ring + outside), 1e-9);
}

/* Four pieces one after the other: the latency of every step counts four times. */
static void pieces_follow_each_other(void **state) {
    (void)state;
    struct sc__astra a = machine();
    a.splits = 4;
    assert_within(ns(&a, SC__ASTRA_ALLREDUCE, 1, 8000000),
                  4 * 6 * (500 + 0.5e6 / 100),
                  1e-9);
}

/* As its binary counts: GiB, whole ns, three passes through memory for each of the steps
 * that reduce, and a delay for every message and one more. */
static void as_the_binary_counts(void **state) {
    (void)state;
    struct sc__astra a = machine();
    a.compat = true;
    a.local_mem_bw = 50;
    a.endpoint_delay = 10;
    double step = 19126; /* 500 + 2 MB at 107.374 B/ns */
    assert_within(ns(&a, SC__ASTRA_ALLREDUCE, 1, 8000000),
                  6 * step + 3 * 3 * 40000 + 7 * 10,
                  1e-9);
}

/* Two links of the ring: the slower dimension has no part in it. */
static void messages_take_the_slowest_of_theirs(void **state) {
    (void)state;
    struct sc__astra a = machine();
    const uint32_t inside[SC__ASTRA_DIMS] = {2, 0};
    const uint32_t across[SC__ASTRA_DIMS] = {1, 1};
    assert_within(sc__astra_message(&a, inside, 1000000),
                  1e3 * (2 * 500 + 1e6 / 100),
                  1e-9);
    assert_within(sc__astra_message(&a, across, 1000000),
                  1e3 * (500 + 2 * 1000 + 1e6 / 25),
                  1e-9);
}

/* 1 MiB from one NPU to another at 50 GB/s and 500 ns a link, as the tests of ASTRA-sim's
 * network have it (test_congestion_unaware.cpp): three links of a ring, one of a full mesh,
 * two through a switch. */
static void messages_as_its_own_tests_have_them(void **state) {
    (void)state;
    static const struct {
        uint8_t topology;
        uint32_t hops;
        double ns;
    } cases[] = {{SC__ASTRA_RING, 3, 21031},
                 {SC__ASTRA_FULLY, 1, 20031},
                 {SC__ASTRA_SWITCH, 1, 20531}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__astra a = {.net = {.dims = 1,
                                      .topology = {cases[i].topology},
                                      .npus = {8},
                                      .bandwidth = {50},
                                      .latency = {500}},
                              .compat = true};
        const uint32_t hops[SC__ASTRA_DIMS] = {cases[i].hops};
        assert_within(sc__astra_message(&a, hops, 1 << 20), 1e3 * cases[i].ns, 1e-9);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dimension_by_dimension),
        cmocka_unit_test(pieces_follow_each_other),
        cmocka_unit_test(as_the_binary_counts),
        cmocka_unit_test(messages_take_the_slowest_of_theirs),
        cmocka_unit_test(messages_as_its_own_tests_have_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
