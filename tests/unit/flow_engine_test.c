/* The flow engine: what it tells of links and of waiting, collectives step by step, and
 * what its patterns put on links; all by hand. */
#include "flow_fixture.h"

#include "hardware/cluster.h"
#include "hardware/dims_path.h"
#include "network/flow/flow_pattern.h"

#include "context.h"

#define GB 1000000000u
#define PORT_S 0.02 /* of a GB at 50 GB/s */

struct ran {
    struct sc__cluster cluster;
    struct sc__net net;
    struct sc__sim sim;
};

static struct ran run(const char *text,
                      enum sc__algo algo,
                      const struct option_value *options,
                      const struct sc__workload *w) {
    struct ran r;
    sc_status status = sc__cluster_parse(ctx, text, sc__mesh_ranks(&w->mesh), &r.cluster);
    struct sc__cluster *c = SC__NEW(&ctx->arena, struct sc__cluster);
    *c = r.cluster;
    c->tuning.algo = (uint8_t)algo;
    if (status || network(ctx, true, options, c, w, &r.net) ||
        sc__simulate(ctx, w, &r.net, NULL, &r.sim))
        fail_msg("%s: %s", text, sc_error_text(ctx));
    return r;
}

static double seconds(const struct ran *r) {
    return (double)r->sim.step * 1e-12;
}

/* ---- links ---- */

struct wanted_link {
    const char *begin; /* of its name */
    struct sc_link_use use;
    bool found;
};

static void look_at(void *to, const struct sc_link_use *use) {
    struct wanted_link *w = to;
    if (strncmp(use->name, w->begin, strlen(w->begin)) != 0)
        return;
    w->use = *use;
    w->found = true;
}

static struct sc_link_use link_of(const struct ran *r, const char *begin) {
    struct wanted_link w = {.begin = begin};
    assert_int_equal(r->net.ops->links(r->net.self, r->sim.step, look_at, &w), SC_OK);
    if (!w.found)
        fail_msg("no link is called %s", begin);
    return w.use;
}

static const struct option_value dmodk[] = {{"route", "dmodk"}, {0}};

/* Three messages of 1 GB from each of eight ports, one after the other; each goes over
 * four cables of its own, all alike. */
static void links_carry_what_was_sent(void **state) {
    (void)state;
    struct ran r =
        run(PLAIN " leaf=8", SC__ALGO_AUTO, dmodk, eight_messages(&ctx->arena, GB, 3));
    struct sc_link_use port = link_of(&r, "port0.up");
    assert_string_equal(port.name, "port0.up and 31 alike");
    assert_within(port.bytes, 3e9, 1e-12);
    assert_within(port.capacity, 50e9, 1e-12);
    assert_within(port.busy_share, 1, 1e-9);
    assert_within(seconds(&r), 3 * PORT_S, 1e-9);
}

/* What was left out of a simulation because it repeats is on the links all the same. */
static void what_passed_counts(void **state) {
    (void)state;
    struct ran r =
        run(PLAIN " leaf=8", SC__ALGO_AUTO, dmodk, eight_messages(&ctx->arena, GB, 1));
    struct sc_transfer t = {.coll = SC__COLLS, .peer = 8, .peer_class = 1, .bytes = GB};
    assert_int_equal(r.net.ops->passed(r.net.self, &t, 5), SC_OK);
    assert_within(link_of(&r, "port0.up").bytes, 6e9, 1e-12);
}

/* Payload is only a part of what cables carry. */
static void headers_are_carried_too(void **state) {
    (void)state;
    struct ran r = run("gpu=h100 gpus=16 node=1 nics=1 nic=50GB/s fabric=fat-tree class=ib",
                       SC__ALGO_AUTO,
                       dmodk,
                       eight_messages(&ctx->arena, GB, 1));
    double wire = r.cluster.constants.wire;
    assert_true(wire > 0.8 && wire < 1);
    assert_within(link_of(&r, "port0.up").bytes, 1e9 / wire, 1e-9);
}

/* ---- waiting ---- */

/* Two uplinks for eight ports: 60 ms longer than where each has its own, twice, however
 * long a message is on its way. */
static void waiting_is_told(void **state) {
    (void)state;
    sc_context *own = sc_open();
    sc_context *outer = ctx;
    const char *said = NULL;
    ctx = own;
    struct ran r =
        run("gpus=16 node=1 nics=1 nic=50GB/s fabric=fat-tree class=plain hop=1ms "
            "switch-latency=0us leaf=8 oversubscription=4",
            SC__ALGO_AUTO,
            dmodk,
            eight_messages(&ctx->arena, GB, 2));
    (void)link_of(&r, "port0.up");
    for (uint32_t i = 0; i < own->note_count; i++)
        if (!strcmp(own->notes[i].code, "contention"))
            said = own->notes[i].text;
    assert_non_null(said);
    if (!strstr(said, ": pp 120.0 ms in 2"))
        fail_msg("%s", said);
    ctx = outer;
    sc_close(own);
}

/* A port with a fourth of its rate: a GB takes four times as long, though the model of the
 * collective does not know of it. */
static void a_slow_port_costs_4(void **state) {
    (void)state;
    const struct option_value slow[] = {{"route", "dmodk"},
                                        {"degrade", "port0.up=0.25"},
                                        {0}};
    struct ran r =
        run(PLAIN " leaf=8", SC__ALGO_AUTO, slow, eight_messages(&ctx->arena, GB, 1));
    assert_within(seconds(&r), 4 * PORT_S, 1e-9);
}

/* ---- step by step ---- */

/* Two servers of one GPU; 1 us a cable, and there are two between them: a round trip of
 * 4 us. 3 us before each send, 100 bytes with 9000. */
#define TWO "gpus=2 node=1 nics=1 nic=50GB/s fabric=fat-tree class=plain switch-latency=1us"
#define TRIP_S 4e-6
#define SEND_S 3e-6
#define MORE (1 + 100.0 / 9000)

static double step_by_step(int coll, uint64_t bytes) {
    const struct option_value options[] = {{"send-latency", "3us"},
                                           {"packet", "9000+100"},
                                           {0}};
    struct ran r =
        run(TWO, SC__ALGO_AUTO, options, one_collective(&ctx->arena, 2, coll, bytes));
    return seconds(&r);
}

/* A ring of two: each half goes there and back. */
static void rings_wait_for_each_step(void **state) {
    (void)state;
    double half = 500e3 * MORE / 50e9;
    assert_within(step_by_step(SC__ALLREDUCE, 1000000), 2 * (SEND_S + half + TRIP_S), 1e-6);
    assert_within(step_by_step(SC__ALLGATHER, 1000000), SEND_S + half + TRIP_S, 1e-6);
}

/* One send, the bytes, a round trip, and half a round of packets of the one that is
 * outside. */
static void pairs_go_at_once(void **state) {
    (void)state;
    double half = 500e3 * MORE / 50e9;
    double packet = 9100 / 50e9;
    assert_within(step_by_step(SC__ALLTOALL, 1000000),
                  SEND_S + half + TRIP_S + packet / 2,
                  1e-6);
}

/* Partners of eight_messages() lie eight apart, here on another leaf: four cables, so a
 * round trip of 8 us; the slowest of them decides, not their sum. */
static void messages_wait_once(void **state) {
    (void)state;
    const struct option_value options[] = {{"send-latency", "3us"},
                                           {"packet", "9000+100"},
                                           {"route", "dmodk"},
                                           {0}};
    struct ran r =
        run("gpus=16 node=1 nics=1 nic=50GB/s fabric=fat-tree class=plain leaf=8 "
            "switch-latency=1us",
            SC__ALGO_AUTO,
            options,
            eight_messages(&ctx->arena, GB, 1));
    assert_within(seconds(&r), SEND_S + 8e-6 + 1e9 * MORE / 50e9, 1e-6);
}

/* ---- patterns ---- */

/* All-to-all of so many ranks that only ports are looked at: each NIC sends to all but
 * those of its node, and as much comes in. */
static void ports_of_large_exchanges(void **state) {
    (void)state;
    uint64_t each = 1 << 20;
    struct ran r = run("gpu=h100 gpus=4096 node=8 nvlink=450GB/s nics=8 nic=50GB/s "
                       "fabric=fat-tree class=ib",
                       SC__ALGO_DIRECT,
                       dmodk,
                       one_collective(&ctx->arena, 4096, SC__ALLTOALL, 4096 * each));
    double out = (4096 - 8) * (double)each / r.cluster.constants.wire;
    struct sc_link_use port = link_of(&r, "port0.up");
    assert_string_equal(port.name, "port0.up and 8191 alike");
    assert_within(port.bytes, out, 1e-9);
    assert_within(link_of(&r, "gpu0.nvlink.out").bytes, 7 * (double)each, 1e-9);
    struct ran planes = run("gpu=h100 gpus=4096 node=8 nvlink=450GB/s nics=8 nic=50GB/s "
                            "fabric=hpn planes=2 class=ib",
                            SC__ALGO_DIRECT,
                            dmodk,
                            one_collective(&ctx->arena, 4096, SC__ALLTOALL, 4096 * each));
    port = link_of(&planes, "plane0.port0.up");
    assert_string_equal(port.name, "plane0.port0.up and 16383 alike");
    assert_within(port.bytes, out / 2, 1e-9);
}

/* A gather to GPU 0: its port takes in what seven others send, a part of the whole each. */
static void roots_take_all_parts(void **state) {
    (void)state;
    struct ran r = run("gpus=8 " ONE_CARD,
                       SC__ALGO_AUTO,
                       dmodk,
                       one_collective(&ctx->arena, 8, SC__GATHER, 8 * (uint64_t)GB));
    assert_within(link_of(&r, "port0.down").bytes, 7e9, 1e-9);
    assert_within(link_of(&r, "port1.up").bytes, 1e9, 1e-9);
    /* also where one of them is not like the others */
    const struct option_value slow[] = {{"route", "dmodk"},
                                        {"degrade", "port1.up=0.5"},
                                        {0}};
    r = run("gpus=8 " ONE_CARD,
            SC__ALGO_AUTO,
            slow,
            one_collective(&ctx->arena, 8, SC__GATHER, 8 * (uint64_t)GB));
    assert_within(link_of(&r, "port0.down").bytes, 7e9, 1e-9);
}

/* A ring sends 2·(n - 1)/n of the buffer out of each port, and as much comes in. */
static void rings_load_ports_alike(void **state) {
    (void)state;
    struct ran r = run("gpus=8 " ONE_CARD,
                       SC__ALGO_RING,
                       dmodk,
                       one_collective(&ctx->arena, 8, SC__ALLREDUCE, 8 * (uint64_t)GB));
    struct sc_link_use port = link_of(&r, "port0.up");
    assert_string_equal(port.name, "port0.up and 15 alike");
    assert_within(port.bytes, 2 * 7e9, 1e-9);
}

#define RAILS                                                                              \
    "gpu=h100 gpus=16 node=8 nvlink=450GB/s nics=8 nic=50GB/s fabric=rail class=ib"

/* Two nodes: each of two trees has half of the buffer, its root in one of them. What one
 * reduces into a node the other sends out of it: the buffer goes once each way, over all
 * eight NICs alike. */
static void trees_cross_once(void **state) {
    (void)state;
    struct ran r = run(RAILS,
                       SC__ALGO_TREE,
                       dmodk,
                       one_collective(&ctx->arena, 16, SC__ALLREDUCE, 8 * (uint64_t)GB));
    double carried = link_of(&r, "port8.up").bytes * r.cluster.constants.wire;
    bool flags = carried > 1.03e9; /* LL128: 120 of 128 bytes are payload */
    assert_within(carried, flags ? 1e9 * 128 / 120 : 1e9, 1e-9);
}

/* Two-level: a token crosses to a node once, however many of its ranks want it. Of 16
 * copies at random over two nodes 2·(1 - 1/2^16) are to distinct ones, and half of these
 * leave. */
static void tokens_cross_once(void **state) {
    (void)state;
    struct ran r = run(RAILS,
                       SC__ALGO_HIERARCHICAL,
                       dmodk,
                       one_collective(&ctx->arena, 16, SC__ALLTOALL, 16 * (uint64_t)GB));
    double share = 2 * (1 - 1 / 65536.0) / 16;
    assert_within(link_of(&r, "port0.up").bytes,
                  16e9 * share / 2 / r.cluster.constants.wire,
                  1e-9);
}

/* The next of a ring is a neighbour on the torus, also from line to line. */
static void rings_wind_through_a_torus(void **state) {
    (void)state;
    struct sc__cluster c = {.gpus = 16, .node_gpus = 1};
    uint32_t gpu[16];
    c.fabric.kind = SC__FABRIC_DIMS;
    c.fabric.dims = 2;
    c.fabric.dim[0] = c.fabric.dim[1] = (struct sc__fabric_dim){SC__DIM_RING, 4, 50e9, 0};
    for (uint32_t i = 0; i < 16; i++)
        gpu[i] = i;
    const uint32_t *order = sc__dims_snake(&ctx->arena, &c, gpu, 16);
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t a = order[i];
        uint32_t b = order[(i + 1) % 16];
        uint32_t across = (b % 4 + 4 - a % 4) % 4;
        uint32_t along = (b / 4 + 4 - a / 4) % 4;
        bool beside = (across == 0) + (along == 0) == 1 && across != 2 && along != 2;
        if (!beside)
            fail_msg("GPUs %u and %u follow each other", a, b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(links_carry_what_was_sent),
                                       cmocka_unit_test(what_passed_counts),
                                       cmocka_unit_test(headers_are_carried_too),
                                       cmocka_unit_test(waiting_is_told),
                                       cmocka_unit_test(a_slow_port_costs_4),
                                       cmocka_unit_test(rings_wait_for_each_step),
                                       cmocka_unit_test(pairs_go_at_once),
                                       cmocka_unit_test(messages_wait_once),
                                       cmocka_unit_test(ports_of_large_exchanges),
                                       cmocka_unit_test(roots_take_all_parts),
                                       cmocka_unit_test(rings_load_ports_alike),
                                       cmocka_unit_test(trees_cross_once),
                                       cmocka_unit_test(tokens_cross_once),
                                       cmocka_unit_test(rings_wind_through_a_torus)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
