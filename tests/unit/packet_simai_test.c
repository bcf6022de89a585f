/* SimAI's paths, its processes, and the order in which its messages begin, against the
 * reference simulator's hash (reference/packet_mini.py) and GNU's std::sort. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "network/packet/packet_rounds.h"
#include "network/packet/packet_simai.h"

#include "hardware/cluster.h"

/* Written down by a C++ program that sorts as many equal keys with std::sort and
 * std::greater, and takes them from the end. */
static void starts_as_sorted(void **unused) {
    (void)unused;
    static const uint32_t five[] = {4, 3, 2, 1, 0};
    static const uint32_t seventeen[] =
        {1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15, 16, 8};
    static const uint32_t forty[] = {19, 18, 17, 16, 15, 14, 13, 12, 11, 0,  9,  8,  7,  6,
                                     5,  4,  3,  2,  1,  10, 39, 38, 37, 36, 35, 34, 33, 32,
                                     31, 20, 29, 28, 27, 26, 25, 24, 23, 22, 21, 30};
    static const struct {
        const uint32_t *order;
        uint32_t count;
    } cases[] = {{five, 5}, {seventeen, 17}, {forty, 40}};
    for (unsigned k = 0; k < 3; k++) {
        uint32_t messages[40];
        for (uint32_t i = 0; i < cases[k].count; i++)
            messages[i] = i;
        sc__simai_shuffle(messages, cases[k].count);
        for (uint32_t i = 0; i < cases[k].count; i++)
            assert_int_equal(messages[i], cases[k].order[i]);
    }
}

static const char spectrum[] =
    "gpu=a100 node=8 nvlink=2880Gbps nics=8 nic=400Gbps fabric=rail class=plain "
    "spines=64 link=400Gbps step=25ns switch-latency=500ns";

static void fabric_of(struct sc_context *ctx,
                      const char *text,
                      uint32_t gpus,
                      struct sc__packet_fabric *f) {
    struct sc__cluster *c = SC__NEW(&ctx->arena, struct sc__cluster);
    struct sc__graph *g = SC__NEW(&ctx->arena, struct sc__graph);
    struct sc__packet_config *config = SC__NEW(&ctx->arena, struct sc__packet_config);
    struct sc__route_policy *route = SC__NEW(&ctx->arena, struct sc__route_policy);
    config->payload = 9000;
    if (sc__cluster_parse(ctx, text, gpus, c) || sc__cluster_graph(ctx, c, g) ||
        sc__route_parse(ctx, "ecmp", route) ||
        sc__packet_fabric_init(ctx, c, config, g, route, true, f))
        fail_msg("%s", sc_error_text(ctx));
}

/* The number, among the 64 spines, of the one that a message or its ACKs go by; -1: a way
 * within one switch. */
static int spine_of(struct sc__packet_fabric *f,
                    enum sc__simai_way way,
                    uint32_t from,
                    uint32_t to,
                    uint32_t number) {
    uint32_t first = f->graph->devices - 64;
    uint32_t count;
    sc__simai_links(f, way, from, to, 0, number, &count);
    if (count < 4)
        return -1;
    assert_int_equal(count, 4);
    assert_int_equal(f->ends[f->links[0]][0] % 32, way == SC__SIMAI_DATA ? from : to);
    assert_int_equal(f->ends[f->links[3]][1] % 32, way == SC__SIMAI_DATA ? to : from);
    assert_int_equal(f->ends[f->links[1]][1], f->ends[f->links[2]][0]);
    return (int)(f->ends[f->links[1]][1] - first);
}

/* The spine is 63 less what the reference simulator's hash gives: its tables are in the
 * order of numbers, SimAI's in that of addresses, from high ones down. */
static void paths_by_hash(void **unused) {
    (void)unused;
    static const struct {
        uint32_t from, to, number;
        int data, acks;
    } ways[] = {{0, 9, 0, 11, 16},
                {0, 31, 0, 37, 15},
                {7, 8, 0, 35, 48},
                {7, 8, 5, 6, 5},
                {15, 16, 61, 21, 20},
                {31, 0, 1, 29, 49},
                {3, 11, 7, -1, -1},
                {3, 4, 0, -1, -1}};
    struct sc_context *ctx = sc_open();
    struct sc__packet_fabric f;
    fabric_of(ctx, spectrum, 32, &f);
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(
            spine_of(&f, SC__SIMAI_DATA, ways[i].from, ways[i].to, ways[i].number),
            ways[i].data);
        assert_int_equal(
            spine_of(&f, SC__SIMAI_ACKS, ways[i].from, ways[i].to, ways[i].number),
            ways[i].acks);
    }
    sc_close(ctx);
}

/* Three tiers: every switch on the way chooses, and what is broken is not chosen. */
static void paths_of_three_tiers(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__packet_fabric f;
    bool used[64] = {false};
    uint32_t cores = 0;
    fabric_of(ctx,
              "gpu=h100 node=8 nvlink=450GB/s nics=8 nic=400Gbps fabric=fat-tree leaf=1 "
              "pod-leaves=2 class=ib",
              64,
              &f);
    for (uint32_t number = 0; number < 400; number++) {
        uint32_t count;
        sc__simai_links(&f, SC__SIMAI_DATA, 0, 63, 0, number, &count);
        assert_int_equal(count, 6);
        for (uint32_t i = 1; i < count; i++)
            assert_int_equal(f.ends[f.links[i - 1]][1], f.ends[f.links[i]][0]);
        used[f.ends[f.links[2]][1] % 64] = true;
    }
    for (unsigned i = 0; i < 64; i++)
        cores += used[i];
    assert_true(cores > 4);
    uint32_t count;
    sc__simai_links(&f, SC__SIMAI_DATA, 0, 63, 0, 1, &count);
    uint32_t broken = f.links[2];
    f.graph->capacity[broken] = 0;
    for (uint32_t number = 0; number < 400; number++) {
        sc__simai_links(&f, SC__SIMAI_DATA, 0, 63, 0, number, &count);
        assert_int_equal(count, 6);
        assert_int_not_equal(f.links[2], broken);
    }
    sc_close(ctx);
}

/* Servers are processes with their NVSwitch, whose links are the shorter ones, and so is
 * every other switch. */
static void processes(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__packet_fabric f;
    fabric_of(ctx, spectrum, 32, &f);
    assert_int_equal(f.ahead, 500);
    for (uint32_t gpu = 0; gpu < 32; gpu++)
        assert_int_equal(f.process[gpu], gpu / 8);
    uint32_t switches = f.graph->devices - 64 - 8;
    for (uint32_t node = 0; node < 4; node++)
        assert_int_equal(f.process[switches - 4 + node], node);
    for (uint32_t i = 0; i < 72; i++)
        assert_int_equal(f.process[switches + i], 4 + i);
    sc_close(ctx);
}

/* Events that are inserted by hand, taken out up to the last. */
struct order {
    struct sc__packet_sim *sim;
    struct sc__packet_event events[8];
    unsigned taken[8];
};

static void take_all(struct order *o) {
    for (unsigned i = 0;; i++) {
        sc__packet_rounds_go_on(o->sim, INT64_MAX);
        const struct sc__packet_event *e = sc__packet_pop(&o->sim->queue, INT64_MAX);
        if (!e)
            return;
        assert_true(i < 8);
        o->taken[i] = (unsigned)(e - o->events);
    }
}

/* At one time: what a process inserted itself comes first, then mail by process, whenever
 * it was sent; of the next round after all of that. A flow that was prepared from
 * elsewhere begins behind those of its own process. */
static void mail_in_order(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct order o = {.sim = SC__NEW(&ctx->arena, struct sc__packet_sim)};
    struct sc__packet_sim *s = o.sim;
    static const unsigned expected[] = {0, 3, 2, 1, 4, 5, 7, 6};
    s->arena = &ctx->arena;
    s->queue.arena = &ctx->arena;
    s->start_delay = 3000;
    s->rounds = sc__packet_rounds_new(&ctx->arena, 500);
    sc__packet_schedule(&s->queue, &o.events[0], SC__PACKET_DONE, 100);
    sc__packet_rounds_go_on(s, INT64_MAX);
    assert_int_equal(s->rounds->end, 600);
    sc__packet_post(s, 7, &o.events[1], SC__PACKET_ARRIVAL, 900);
    sc__packet_post(s, 2, &o.events[2], SC__PACKET_ARRIVAL, 900);
    sc__packet_schedule(&s->queue, &o.events[3], SC__PACKET_DONE, 900);
    sc__packet_post(s, 1, &o.events[6], SC__PACKET_PREPARE, 300);
    sc__packet_post(s, 9, &o.events[5], SC__PACKET_PREPARE, 200);
    sc__packet_schedule(&s->queue, &o.events[7], SC__PACKET_BEGIN, 3300);
    sc__packet_post(s, 8, &o.events[4], SC__PACKET_ARRIVAL, 901);
    take_all(&o);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(o.taken[i], expected[i]);
    sc_close(ctx);
}

/* The first flow to be prepared begins the next round; an arrival within a round does not
 * wait for its end; and there is no round where nothing is left. */
static void rounds(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct order o = {.sim = SC__NEW(&ctx->arena, struct sc__packet_sim)};
    struct sc__packet_sim *s = o.sim;
    s->arena = &ctx->arena;
    s->queue.arena = &ctx->arena;
    s->rounds = sc__packet_rounds_new(&ctx->arena, 500);
    sc__packet_rounds_go_on(s, INT64_MAX);
    assert_int_equal(s->rounds->end, -1);
    sc__packet_schedule(&s->queue, &o.events[0], SC__PACKET_DONE, 100);
    sc__packet_rounds_go_on(s, 99);
    assert_int_equal(s->rounds->end, -1);
    sc__packet_rounds_go_on(s, 100);
    assert_ptr_equal(sc__packet_pop(&s->queue, 100), &o.events[0]);
    sc__packet_post(s, 1, &o.events[1], SC__PACKET_ARRIVAL, 600);
    assert_int_equal(s->rounds->count, 0);
    assert_ptr_equal(sc__packet_pop(&s->queue, 600), &o.events[1]);
    sc__packet_post(s, 1, &o.events[2], SC__PACKET_ARRIVAL, 1200);
    sc__packet_post(s, 1, &o.events[3], SC__PACKET_PREPARE, 550);
    sc__packet_rounds_go_on(s, INT64_MAX);
    assert_int_equal(s->rounds->count, 0);
    assert_int_equal(s->rounds->end, 1050);
    sc_close(ctx);
}

/* An all-reduce over an odd number of channels reduces in its first half, a reduce-scatter
 * always, but for the first send. */
static void reductions(void **unused) {
    (void)unused;
    assert_int_equal(sc__simai_reduction(SC__REDUCESCATTER, 8, 8, 0), 0);
    assert_int_equal(sc__simai_reduction(SC__REDUCESCATTER, 8, 8, 6), 30);
    assert_int_equal(sc__simai_reduction(SC__ALLGATHER, 1, 8, 3), 0);
    assert_int_equal(sc__simai_reduction(SC__ALLREDUCE, 8, 8, 3), 0);
    assert_int_equal(sc__simai_reduction(SC__ALLREDUCE, 1, 8, 3), 30);
    assert_int_equal(sc__simai_reduction(SC__ALLREDUCE, 1, 8, 8), 0);
    assert_int_equal(sc__simai_reduction(SC__ALLREDUCE, 1, 8, 9), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(starts_as_sorted),
                                       cmocka_unit_test(paths_by_hash),
                                       cmocka_unit_test(paths_of_three_tiers),
                                       cmocka_unit_test(processes),
                                       cmocka_unit_test(mail_in_order),
                                       cmocka_unit_test(rounds),
                                       cmocka_unit_test(reductions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
