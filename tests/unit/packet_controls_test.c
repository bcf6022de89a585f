/* Swift and HPCC-PINT against closed forms: windows that are fixed, windows below a packet,
 * the use that is aimed at, and fair shares. (Against an independent simulator:
 * tests/tools/packet_controls.py.) */
#include "context.h"
#include "network/packet/packet.h"
#include "test.h"

#include <math.h>

#define RATE ((uint64_t)100000000000u)
#define DELAY 1000
#define MOST_SENDERS 8u

/* Senders around one switch, and a receiver. */
struct star {
    struct sc__packet_config config;
    struct sc__packet_topology topology;
    struct sc__packet_flows flows;
    struct sc__packet_flow flow[MOST_SENDERS];
    struct sc__packet_counters counters;
};

static void set_map(struct sc__packet_rate_map *map, double value) {
    map->rate[0] = RATE;
    map->value[0] = value;
    map->count = 1;
}

static void star_init(struct star *s, uint32_t control, uint32_t senders, uint64_t bytes) {
    uint32_t hub = senders + 1;
    memset(s, 0, sizeof *s);
    s->config.control = control;
    s->config.payload = 1000;
    s->config.buffer_mib = 32;
    s->config.stop_s = 10;
    s->config.enable_pfc = 1;
    set_map(&s->config.mark_from, 400);
    set_map(&s->config.mark_all, 1600);
    set_map(&s->config.mark_share, 0.2);
    s->topology.node_count = senders + 2;
    s->topology.switch_count = 1;
    s->topology.link_count = senders + 1;
    s->topology.is_switch = SC__NEW_ARRAY(&ctx->arena, bool, senders + 2);
    s->topology.is_switch[hub] = true;
    s->topology.links = SC__NEW_ARRAY(&ctx->arena, struct sc__packet_link, senders + 1);
    for (uint32_t i = 0; i <= senders; i++)
        s->topology.links[i] =
            (struct sc__packet_link){.a = i, .b = hub, .rate = RATE, .delay = DELAY};
    for (uint32_t i = 0; i < senders; i++)
        s->flow[i] = (struct sc__packet_flow){.from = i,
                                              .to = senders,
                                              .priority = 3,
                                              .source_port = 10000,
                                              .target_port = 100,
                                              .bytes = bytes,
                                              .completion = -1,
                                              .received = -1};
    s->flows.items = s->flow;
    s->flows.count = senders;
}

static void star_run(struct star *s) {
    struct sc__packet_random random = {.reference = true};
    assert_int_equal(sc__packet_simulate(ctx,
                                         &s->config,
                                         &s->topology,
                                         &s->flows,
                                         &random,
                                         NULL,
                                         &s->counters),
                     SC_OK);
}

static void use_swift(struct sc__packet_config *c, double target_us) {
    c->swift_base_us = target_us;
    c->swift_range_from = 0.1;
    c->swift_range_to = 100;
    c->swift_increase = 1;
    c->swift_decrease = 1;
    c->swift_most_decrease = 0.5;
    c->swift_least_window = 0.01;
    c->swift_most_window = 1000;
}

/* One packet there and its ACK back, over one switch: frames of 1060 and 60 bytes. */
static int64_t swift_round_trip(void) {
    return 2 * (84 + DELAY) + 2 * (4 + DELAY);
}

/* Never over the target: w packets leave every round trip. */
static void fixed_window_has_a_closed_form(void **state) {
    (void)state;
    for (int window = 1; window < 40; window += 6)
        for (int packets = 1; packets < 200; packets += 33) {
            struct star s;
            star_init(&s, SC__PACKET_SWIFT, 1, (uint64_t)packets * 1000);
            use_swift(&s.config, 1000);
            s.config.swift_most_window = window;
            star_run(&s);
            int64_t last =
                (packets - 1) / window * swift_round_trip() + (packets - 1) % window * 84;
            assert_int_equal(s.flow[0].completion, last + swift_round_trip());
        }
}

/* Always over the target: the window of one packet halves down to a quarter. Packets leave
 * at 0, 2, 6, 10, … round trips. */
static void window_below_a_packet_has_a_closed_form(void **state) {
    (void)state;
    for (int packets = 1; packets < 12; packets++) {
        struct star s;
        star_init(&s, SC__PACKET_SWIFT, 1, (uint64_t)packets * 1000);
        use_swift(&s.config, 0.001);
        s.config.swift_most_window = 1;
        s.config.swift_least_window = 0.25;
        star_run(&s);
        int64_t sent = packets == 1 ? 0 : 2 + 4 * (packets - 2);
        assert_int_equal(s.flow[0].completion, (sent + 1) * swift_round_trip());
    }
}

/* The receiver's link is never idle, and nobody has much more of it than another. */
static void
check_shares(const struct star *s, double frame_ns, double unfair, double slow) {
    double packets = (double)s->flow[0].bytes / 1000;
    double alone = packets * frame_ns * s->flows.count;
    int64_t first = INT64_MAX;
    int64_t last = 0;
    for (uint32_t i = 0; i < s->flows.count; i++) {
        int64_t end = s->flow[i].completion;
        assert_true(end > 0);
        first = end < first ? end : first;
        last = end > last ? end : last;
    }
    assert_true((double)last >= alone);
    assert_true((double)last < alone * slow);
    assert_true((double)first > (double)last * unfair);
}

static void swift_shares_fairly(void **state) {
    (void)state;
    for (uint32_t senders = 2; senders <= MOST_SENDERS; senders *= 2) {
        struct star s;
        star_init(&s, SC__PACKET_SWIFT, senders, 8000000);
        use_swift(&s.config, 20);
        s.config.swift_decrease = 0.8;
        s.config.swift_range_us = 50;
        star_run(&s);
        check_shares(&s, 84, 0.9, 1.02);
    }
}

static void use_pint(struct sc__packet_config *c, double base, double share) {
    c->has_window = 1;
    c->variable_window = 1;
    c->min_rate = 1000000000u;
    c->rate_ai = 40000000u;
    c->target_use = 0.95;
    c->pint_base = base;
    c->pint_share = share;
}

/* A flow alone comes to 95 % of the link: 1054 B with two bytes of telemetry (base 1.01),
 * 1053 with one (1.05), which makes no difference to whole ns. */
static void pint_aims_at_a_use(void **state) {
    (void)state;
    static const double bases[] = {1.01, 1.05};
    static const double shares[] = {1, 1.0 / 16};
    for (int i = 0; i < 4; i++) {
        struct star s;
        star_init(&s, SC__PACKET_HPCC_PINT, 1, 16000000);
        use_pint(&s.config, bases[i / 2], shares[i % 2]);
        star_run(&s);
        double line = 16000 * 84;
        assert_true(fabs((double)s.flow[0].completion / line * 0.95 - 1) < 0.02);
    }
}

static void pint_shares_fairly(void **state) {
    (void)state;
    for (uint32_t senders = 2; senders <= MOST_SENDERS; senders *= 2) {
        struct star s;
        star_init(&s, SC__PACKET_HPCC_PINT, senders, 8000000);
        use_pint(&s.config, 1.01, 1);
        star_run(&s);
        check_shares(&s, 84, 0.9, 1.1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_window_has_a_closed_form),
        cmocka_unit_test(window_below_a_packet_has_a_closed_form),
        cmocka_unit_test(swift_shares_fairly),
        cmocka_unit_test(pint_aims_at_a_use),
        cmocka_unit_test(pint_shares_fairly),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
