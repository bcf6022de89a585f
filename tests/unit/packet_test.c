/* The packet engine: its order of events against a sort, its generator against
 * published numbers, one flow against a closed form, and flows that never end. */
#include "context.h"
#include "network/packet/packet.h"
#include "network/packet/packet_events.h"
#include "network/packet/packet_rng.h"
#include "network/packet/packet_watch.h"
#include "test.h"

#include <math.h>

enum { EVENTS = 20000 };

static int compare_events(const void *a, const void *b) {
    const struct sc__packet_event *x = *(struct sc__packet_event *const *)a;
    const struct sc__packet_event *y = *(struct sc__packet_event *const *)b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->sequence < y->sequence ? -1 : 1;
}

/* Times over several turns of the wheel and far beyond, many of them equal, and
 * insertion numbers that come late. */
static void events_come_in_order(void **state) {
    (void)state;
    struct sc__packet_queue *q = SC__NEW(&ctx->arena, struct sc__packet_queue);
    struct sc__packet_event *events =
        SC__NEW_ARRAY(&ctx->arena, struct sc__packet_event, EVENTS);
    struct sc__packet_event *sorted[EVENTS];
    uint64_t random = 7;
    q->arena = &ctx->arena;
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint64_t span = sc__random(&random) % 3 ? SC__PACKET_SLOTS : 100000;
        events[i].time = (int64_t)(sc__random(&random) % span);
        events[i].sequence = i ^ 1u; /* pairs change places */
        events[i].kind = SC__PACKET_ARRIVAL;
        sorted[i] = &events[i];
        sc__packet_insert(q, &events[i]);
    }
    qsort(sorted, EVENTS, sizeof *sorted, compare_events);
    assert_int_equal(q->live, EVENTS);
    for (uint32_t i = 0; i < EVENTS; i++) {
        assert_null(sc__packet_pop(q, sorted[i]->time - 1));
        assert_ptr_equal(sc__packet_pop(q, i % 2 ? sorted[i]->time : INT64_MAX), sorted[i]);
    }
    assert_null(sc__packet_pop(q, INT64_MAX));
    assert_int_equal(q->live, 0);
}

/* An event that happens inserts others: the order holds while time goes on. */
static void events_inserted_while_time_goes_on(void **state) {
    (void)state;
    struct sc__packet_queue *q = SC__NEW(&ctx->arena, struct sc__packet_queue);
    struct sc__packet_event *events =
        SC__NEW_ARRAY(&ctx->arena, struct sc__packet_event, EVENTS);
    uint32_t inserted = 0;
    int64_t time = 0;
    uint64_t sequence = 0;
    uint64_t random = 11;
    q->arena = &ctx->arena;
    while (inserted < 50)
        sc__packet_schedule(q, &events[inserted++], SC__PACKET_DONE, 0);
    for (uint32_t happened = 0; happened < EVENTS; happened++) {
        const struct sc__packet_event *e = sc__packet_pop(q, INT64_MAX);
        assert_non_null(e);
        assert_true(e->time > time ||
                    (e->time == time && (!happened || e->sequence > sequence)));
        time = e->time;
        sequence = e->sequence;
        if (inserted < EVENTS)
            sc__packet_schedule(q,
                                &events[inserted++],
                                SC__PACKET_DONE,
                                time + (int64_t)(sc__random(&random) % 9000));
    }
    assert_null(sc__packet_pop(q, INT64_MAX));
}

/* The first numbers of MRG32k3a from six words of 12345, by its two recurrences:
 * 592852·12345 mod (2^32-209) - (-842977·12345) mod (2^32-22853) = 545508589, times
 * 1/(2^32-208). */
static void generator_has_the_published_numbers(void **state) {
    (void)state;
    struct sc__mrg g = {{12345, 12345, 12345}, {12345, 12345, 12345}};
    assert_true(fabs(sc__mrg_next(&g) - 545508589 / 4294967088.0) < 1e-15);
    assert_true(fabs(sc__mrg_next(&g) - 0.3185275653967945) < 1e-13);
}

static void streams_follow_each_other(void **state) {
    (void)state;
    struct sc__mrg_jump jump;
    struct sc__mrg walked;
    struct sc__mrg jumped;
    sc__mrg_next_stream(&jump);
    sc__mrg_stream(&walked, 1000);
    for (int i = 0; i < 37; i++)
        sc__mrg_apply(&walked, &jump);
    sc__mrg_stream(&jumped, 1037);
    assert_memory_equal(&walked, &jumped, sizeof walked);
}

static void set_map(struct sc__packet_rate_map *map, uint64_t rate, double value) {
    map->rate[0] = rate;
    map->value[0] = value;
    map->count = 1;
}

/* A host, a number of switches and a host in a row. */
struct row {
    struct sc__packet_config config;
    struct sc__packet_topology topology;
    struct sc__packet_flows flows;
    struct sc__packet_flow flow;
    struct sc__packet_counters counters;
};

static void row_init(struct row *r, uint32_t switches, uint64_t rate, int64_t delay) {
    memset(r, 0, sizeof *r);
    r->config.buffer_mib = 32;
    r->config.stop_s = 1;
    r->config.enable_pfc = 1;
    set_map(&r->config.mark_from, rate, 400);
    set_map(&r->config.mark_all, rate, 1600);
    set_map(&r->config.mark_share, rate, 0.2);
    r->topology.node_count = switches + 2;
    r->topology.switch_count = switches;
    r->topology.link_count = switches + 1;
    r->topology.is_switch = SC__NEW_ARRAY(&ctx->arena, bool, switches + 2);
    r->topology.links = SC__NEW_ARRAY(&ctx->arena, struct sc__packet_link, switches + 1);
    for (uint32_t i = 0; i <= switches; i++) {
        r->topology.is_switch[i] = i > 0;
        r->topology.links[i] =
            (struct sc__packet_link){.a = i, .b = i + 1, .rate = rate, .delay = delay};
    }
    r->flow = (struct sc__packet_flow){.to = switches + 1,
                                       .priority = 3,
                                       .source_port = 10000,
                                       .target_port = 100,
                                       .completion = -1,
                                       .received = -1};
    r->flows.items = &r->flow;
    r->flows.count = 1;
}

static void row_run(struct row *r) {
    struct sc__packet_random random = {.reference = true};
    assert_int_equal(sc__packet_simulate(ctx,
                                         &r->config,
                                         &r->topology,
                                         &r->flows,
                                         &random,
                                         NULL,
                                         &r->counters),
                     SC_OK);
}

/* n packets over k switches: the last byte arrives after (n-1+k)·P + p + (k+1)·d,
 * its ACK after (k+1)·(a+d) more; all times cut to whole ns. The last packet is
 * no smaller than an ACK, so that its ACK does not wait for the one before. */
static void one_flow_has_a_closed_form(void **state) {
    (void)state;
    static const uint64_t sizes[] = {2100, 65536, 1000000, 1048576};
    static const uint64_t rates[] = {25000000000u, 100000000000u, 400000000000u};
    static const uint32_t payloads[] = {1000, 4096};
    for (uint32_t switches = 1; switches < 5; switches++)
        for (size_t i = 0; i < 4 * 3 * 2; i++) {
            struct row r;
            uint64_t rate = rates[i / 4 % 3];
            uint32_t payload = payloads[i / 12];
            int64_t delay = 600;
            row_init(&r, switches, rate, delay);
            r.config.payload = payload;
            r.flow.bytes = sizes[i % 4];
            row_run(&r);
            uint64_t packets = (r.flow.bytes + payload - 1) / payload;
            uint64_t rest = r.flow.bytes - (packets - 1) * payload;
            int64_t full = (int64_t)((payload + 52) * 8000000000u / rate);
            int64_t last = (int64_t)((rest + 52) * 8000000000u / rate);
            int64_t ack = (int64_t)(60 * 8000000000u / rate);
            int64_t k = switches;
            int64_t received = ((int64_t)packets - 1 + k) * full + last + (k + 1) * delay;
            if (packets == 1)
                continue;
            assert_int_equal(r.flow.received, received);
            assert_int_equal(r.flow.completion, received + (k + 1) * (ack + delay));
            assert_int_equal(r.counters.data_packets, packets);
        }
}

/* All is lost: the one window is sent, and then nothing can ever happen. */
static void lost_tail_is_stuck_not_endless(void **state) {
    (void)state;
    struct row r;
    row_init(&r, 1, 100000000000u, 1000);
    r.config.payload = 1000;
    r.config.stop_s = 1e6;
    r.config.error_rate = 1;
    r.flow.bytes = 5000;
    row_run(&r);
    assert_int_equal(r.counters.stuck, 1);
    assert_int_equal(r.counters.link_losses, 5);
    assert_int_equal(r.flow.completion, -1);
    assert_int_equal(r.flow.received, -1);
}

static void stop_time_cuts_off(void **state) {
    (void)state;
    struct row r;
    row_init(&r, 1, 100000000000u, 1000);
    r.config.payload = 1000;
    r.config.stop_s = 10e-6;
    r.flow.bytes = 1000000;
    row_run(&r);
    assert_int_equal(r.counters.cut_off, 1);
    assert_int_equal(r.counters.stuck, 0);
    assert_int_equal(r.flow.completion, -1);
}

/* A link that is busy from 150 to 2450 ns and stands still from 1000 to 31000: what the
 * spans have adds up to that, and each has its own share, however often two of them
 * became one. */
static void spans_have_their_share(void **state) {
    (void)state;
    struct row r;
    struct sc__packet_watch w = {0};
    row_init(&r, 1, 100000000000u, 1000);
    sc__packet_watch_topology(&w, &ctx->arena, &r.topology, 8);
    sc__packet_watch_sent(&w, 1, 150, 2450, 28750);
    sc__packet_watch_queue(&w, 1, 300, 5000);
    sc__packet_watch_queue(&w, 1, 900, 7000);
    sc__packet_watch_paused(&w, 1, 1000, true);
    sc__packet_watch_queue(&w, 1, 9000, 1000);
    sc__packet_watch_marked(&w, 1, 9000);
    sc__packet_watch_paused(&w, 1, 31000, false);
    sc__packet_watch_queue(&w, 1, 40000, 0);
    sc__packet_watch_close(&w, 44000);
    /* 44000 ns in at most eight spans of 100·2^n ns */
    assert_int_equal(w.span, 6400);
    assert_int_equal(w.count, 7);
    const struct sc__packet_watched *p = &w.ports[1];
    assert_int_equal(p->total.busy, 2300);
    assert_int_equal(p->total.paused, 30000);
    assert_int_equal(p->total.peak_queue, 7000);
    assert_int_equal(p->spans[0].busy, 2300);
    assert_int_equal(p->spans[0].paused, 5400);
    assert_int_equal(p->spans[1].paused, 6400);
    assert_int_equal(p->spans[4].paused, 31000 - 4 * 6400);
    assert_int_equal(p->spans[5].paused, 0);
    assert_int_equal(p->spans[0].pauses, 1);
    assert_int_equal(p->spans[1].marks, 1);
    /* 7000 B stayed until 9000, 1000 B until 40000 */
    assert_int_equal(p->spans[0].peak_queue, 7000);
    assert_int_equal(p->spans[1].peak_queue, 7000);
    assert_int_equal(p->spans[2].peak_queue, 1000);
    assert_int_equal(p->spans[6].peak_queue, 1000);
    assert_int_equal(w.ports[0].total.busy, 0);
}

/* 66 packets of 84 ns (the last 47) over two links: bytes and busy time by hand. */
static void links_count_what_went_over_them(void **state) {
    (void)state;
    struct row r;
    struct sc__packet_watch w = {0};
    struct sc__packet_random random = {.reference = true};
    row_init(&r, 1, 100000000000u, 1000);
    r.config.payload = 1000;
    r.flow.bytes = 65536;
    sc__packet_watch_topology(&w, &ctx->arena, &r.topology, 16);
    assert_int_equal(sc__packet_simulate(ctx,
                                         &r.config,
                                         &r.topology,
                                         &r.flows,
                                         &random,
                                         &w,
                                         &r.counters),
                     SC_OK);
    assert_int_equal(w.end, 9599);
    assert_int_equal(r.flow.alone, 4160 + (65536 + 66 * 52) * 8 / 100);
    int64_t both = w.ports[0].total.busy + w.ports[1].total.busy;
    assert_int_equal(both, 65 * 84 + 47 + 66 * 4);
    assert_int_equal(w.ports[0].bytes + w.ports[1].bytes, 65536 + 66 * (52 + 60));
    int64_t busy = 0;
    for (uint32_t k = 0; k < w.count; k++)
        for (int i = 0; i < 2; i++)
            busy += w.ports[i].spans[k].busy;
    assert_int_equal(busy, both);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order),
        cmocka_unit_test(events_inserted_while_time_goes_on),
        cmocka_unit_test(generator_has_the_published_numbers),
        cmocka_unit_test(streams_follow_each_other),
        cmocka_unit_test(one_flow_has_a_closed_form),
        cmocka_unit_test(lost_tail_is_stuck_not_endless),
        cmocka_unit_test(stop_time_cuts_off),
        cmocka_unit_test(spans_have_their_share),
        cmocka_unit_test(links_count_what_went_over_them),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
