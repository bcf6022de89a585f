/* What a sender does with one ACK or one timer, by the papers of each control; and the
 * least time of a flow. */
#include "test.h"

#include "context.h"
#include "network/packet/packet_sim.h"

#define GBPS ((uint64_t)1000000000u)

/* A sender of 100 Gb/s; its packets have 1000 bytes and 60 of headers. */
struct bench {
    struct sc__packet_config config;
    struct sc__packet_sim sim;
    struct sc__packet_node host;
    struct sc__packet_pair pair;
    struct sc__packet_frame ack;
};

static struct bench *make_bench(void) {
    struct bench *b = SC__NEW(&ctx->arena, struct bench);
    b->config.payload = 1000;
    b->config.min_rate = GBPS;
    b->config.rate_ai = 5 * GBPS;
    b->config.rate_hai = 20 * GBPS;
    b->config.gain = 0.25;
    b->sim.config = &b->config;
    b->sim.arena = b->sim.queue.arena = &ctx->arena;
    b->sim.header = 60;
    b->sim.full_size = 1060;
    b->sim.queue.now = 1000000;
    b->pair.host = &b->host;
    b->pair.max_rate = 100 * GBPS;
    b->pair.rate = b->pair.current_rate = b->pair.target_rate = 40 * GBPS;
    return b;
}

/* ---- DCQCN (Zhu et al. 2015) ---- */

enum { ALPHA, DECREASE, RISE };

static void dcqcn_timer(struct bench *b, int which) {
    struct sc__packet_timer timer = {.pair = &b->pair};
    timer.event.kind = (uint8_t)(SC__PACKET_ALPHA + which);
    sc__packet_dcqcn_timer(&b->sim, &timer);
}

static void dcqcn(void **state) {
    (void)state;
    struct bench *b = make_bench();
    struct sc__packet_pair *p = &b->pair;
    b->config.fast_recovery = 2;
    b->config.clamp_target = 1;
    b->ack.marked = true;
    sc__packet_dcqcn.acknowledged(&b->sim, p, &b->ack);
    assert_true(p->alpha == 1 && p->target_rate == 40 * GBPS);
    /* α falls by g a round without a notification, and comes nearer 1 with one */
    dcqcn_timer(b, ALPHA);
    assert_true(p->alpha == 0.75);
    p->alpha_notified = true;
    dcqcn_timer(b, ALPHA);
    assert_true(p->alpha == 0.75 * 0.75 + 0.25);
    /* R_T = R_C, R_C = R_C (1 − α/2) */
    p->alpha = 0.5;
    dcqcn_timer(b, DECREASE);
    assert_true(p->rate == 30 * GBPS && p->target_rate == 40 * GBPS);
    dcqcn_timer(b, DECREASE); /* no notification since */
    assert_true(p->rate == 30 * GBPS);
    /* half way to the target, twice; then the target rises, and rises faster */
    dcqcn_timer(b, RISE);
    assert_true(p->rate == 35 * GBPS && p->target_rate == 40 * GBPS);
    p->rate = 38 * GBPS;
    dcqcn_timer(b, RISE);
    assert_true(p->rate == 39 * GBPS && p->target_rate == 40 * GBPS);
    dcqcn_timer(b, RISE);
    assert_true(p->rate == 42 * GBPS && p->target_rate == 45 * GBPS);
    dcqcn_timer(b, RISE);
    assert_true(p->target_rate == 65 * GBPS);
    p->target_rate = 95 * GBPS; /* never over the line */
    dcqcn_timer(b, RISE);
    assert_true(p->target_rate == 100 * GBPS);
}

/* ---- TIMELY (Mittal et al. 2015): β 0.8, weights 7/8, 50 and 500 us, 20 us ---- */

static uint64_t timely_rate(int64_t before, int64_t rtt, double change) {
    struct bench *b = make_bench();
    b->pair.updated = 1000;
    b->pair.next = 9000;
    b->pair.last_rtt = before;
    b->pair.rtt_change = change;
    b->ack.offset = 2000;
    b->ack.stamp = b->sim.queue.now - rtt;
    sc__packet_timely.acknowledged(&b->sim, &b->pair, &b->ack);
    return b->pair.rate;
}

static void timely(void **state) {
    (void)state;
    /* below 50 us, or falling: up */
    assert_int_equal(timely_rate(90000, 49999, 0), 45 * GBPS);
    assert_int_equal(timely_rate(90000, 80000, 0), 45 * GBPS);
    /* over 500 us: by β (1 − 500/rtt), whatever the gradient */
    assert_within(timely_rate(900000, 600000, 0), 40e9 * (1 - 0.8 / 6), 1e-9);
    /* between them by the gradient: 7/8 of 10 us and 1/8 of what it was, over 20 us */
    assert_within(timely_rate(90000, 100000, 0), 40e9 * (1 - 0.8 * 8.75 / 20), 1e-9);
    assert_within(timely_rate(90000, 100000, 4000), 40e9 * (1 - 0.8 * 9.25 / 20), 1e-9);
}

/* ---- DCTCP (Alizadeh et al. 2010) ---- */

static void dctcp(void **state) {
    (void)state;
    struct bench *b = make_bench();
    struct sc__packet_pair *p = &b->pair;
    b->config.dctcp_rate_ai = 3 * GBPS;
    p->alpha = 0.5;
    p->updated = 1000;
    p->next = 10000;
    p->batch = 10;
    p->marked_count = 3;
    b->ack.offset = 2000;
    /* α = (1 − g) α + g F, with F of three in ten; a round without a mark: up */
    sc__packet_dctcp.acknowledged(&b->sim, p, &b->ack);
    assert_within(p->alpha, 0.75 * 0.5 + 0.25 * 0.3, 1e-12);
    assert_int_equal(p->rate, 43 * GBPS);
    assert_int_equal(p->batch, 9); /* 8000 bytes are under way, and one packet begun */
    /* a mark: by α/2, once a round */
    b->ack.marked = true;
    b->ack.offset = 3000;
    sc__packet_dctcp.acknowledged(&b->sim, p, &b->ack);
    assert_within(p->rate, 43e9 * (1 - p->alpha / 2), 1e-9);
    uint64_t rate = p->rate;
    sc__packet_dctcp.acknowledged(&b->sim, p, &b->ack);
    assert_int_equal(p->rate, rate);
}

/* ---- HPCC (Li et al. 2019) ---- */

/* A link of 100 Gb/s on which `bytes` units of 128 bytes have passed in `ns`. */
static double hpcc_use(struct bench *b, uint32_t ns, uint32_t bytes, uint32_t queue) {
    struct sc__packet_port port = {.rate = 100 * GBPS};
    struct sc__packet_port *ports[] = {&port};
    b->config.int_multiple = 1;
    b->config.target_use = 0.95;
    b->config.most_additive = 0;
    b->sim.base_rtt = 4000;
    b->sim.window = 50000;
    b->pair.data = (struct sc__packet_path){ports, 1};
    b->pair.use = 1;
    b->pair.updated = 1000;
    b->pair.next = 9000;
    b->pair.records[0] = (struct sc__packet_record){.time = 100, .bytes = 7, .queue = 5};
    b->ack.offset = 2000;
    b->ack.records[0] =
        (struct sc__packet_record){.time = 100 + ns, .bytes = 7 + bytes, .queue = queue};
    sc__packet_hpcc.acknowledged(&b->sim, &b->pair, &b->ack);
    return b->pair.use;
}

static void hpcc(void **state) {
    (void)state;
    double passed = 60 * 128 * 8 / 100.0; /* ns of a microsecond */
    struct bench *b = make_bench();
    /* the shorter of both queues, in units of 80 bytes, over the window; a quarter of a
     * round trip changes a quarter */
    double now = passed / 1000 + 5 * 80 / 50000.0;
    double use = hpcc_use(b, 1000, 60, 9);
    assert_within(use, 0.75 + 0.25 * now, 1e-12);
    assert_within(b->pair.rate, 40e9 / (use / 0.95) + 5e9, 1e-9);
    now = passed / 1000 + 2 * 80 / 50000.0;
    assert_within(hpcc_use(make_bench(), 1000, 60, 2), 0.75 + 0.25 * now, 1e-12);
    /* longer than a round trip: all of it */
    assert_within(hpcc_use(make_bench(), 8000, 480, 0), passed / 1000, 1e-12);
}

/* ---- Swift (Kumar et al. 2020) ---- */

/* Three switches: a target of 5 + 3·1 us, and of at most 10 more for a small window. */
static double swift_window(double window, int64_t delay, int64_t since_fall) {
    struct bench *b = make_bench();
    struct sc__packet_config *c = &b->config;
    c->swift_base_us = 5;
    c->swift_hop_us = 1;
    c->swift_range_us = 10;
    c->swift_range_from = 0.25;
    c->swift_range_to = 100;
    c->swift_increase = 1;
    c->swift_decrease = 0.8;
    c->swift_most_decrease = 0.5;
    c->swift_least_window = 0.001;
    c->swift_most_window = 1000;
    b->pair.data.count = 3;
    b->pair.swift_window = window;
    b->pair.last_decrease = b->sim.queue.now - since_fall;
    b->pair.unacknowledged = 1000;
    b->ack.stamp = b->sim.queue.now - delay;
    sc__packet_swift.acknowledged(&b->sim, &b->pair, &b->ack);
    return b->pair.swift_window;
}

static void swift(void **state) {
    (void)state;
    const int64_t long_ago = 1000000;
    /* at a hundred packets the target has none of the range, at a sixteenth all of it */
    assert_within(swift_window(100, 7999, long_ago), 100 + 1 / 100.0, 1e-12);
    assert_within(swift_window(100, 10000, long_ago), 100 * (1 - 0.8 * 0.2), 1e-12);
    assert_within(swift_window(0.0625, 17999, long_ago), 1.0625, 1e-12);
    assert_within(swift_window(0.0625, 20000, long_ago), 0.0625 * (1 - 0.8 * 0.1), 1e-12);
    /* at most by half, and once a round trip */
    assert_within(swift_window(100, 80000, long_ago), 50, 1e-12);
    assert_within(swift_window(100, 10000, 10000), 100 * (1 - 0.8 * 0.2), 1e-12);
    assert_within(swift_window(100, 10000, 9999), 100, 1e-12);
}

/* ---- the least time ---- */

/* Two full packets and one of a byte over 100, 50 and 100 Gb/s, 1 us each: the second one
 * leaves the slow link when both have passed it, and the last follows it. */
static void least_time(void **state) {
    (void)state;
    struct bench *b = make_bench();
    struct sc__packet_port first = {.rate = 100 * GBPS, .delay = 1000};
    struct sc__packet_port slow = {.rate = 50 * GBPS, .delay = 1000};
    struct sc__packet_port last = first;
    struct sc__packet_port *ports[] = {&slow, &last};
    struct sc__packet_port *own[] = {&first};
    const int64_t full = 1060 * 8 / 100;
    const int64_t tiny = 61 * 8 / 100;
    b->sim.control = &sc__packet_no_control;
    b->host.ports = own;
    b->pair.data = (struct sc__packet_path){ports, 2};
    b->pair.bytes = 2001;
    assert_int_equal(sc__packet_ideal(&b->sim, &b->pair, false),
                     full + 1000 + 2 * (1060 * 8 / 50) + 1000 + full + tiny + 1000);
    b->pair.bytes = 1; /* alone */
    assert_int_equal(sc__packet_ideal(&b->sim, &b->pair, false),
                     tiny + 61 * 8 / 50 + tiny + 3000);
}

/* ---- the buffer of a switch ---- */

enum { PRIORITY = 3, FRAME = 3000, RESERVE = 4096 };

/* Frames come in by one port and leave by another, all of one priority. */
struct crossing {
    struct bench *b;
    struct sc__packet_counters counters;
    struct sc__packet_node node;
    struct sc__packet_port in;
    struct sc__packet_port out;
    struct sc__packet_port *ports[1];
    struct sc__packet_path path;
};

static struct crossing *make_crossing(void) {
    struct crossing *c = SC__NEW(&ctx->arena, struct crossing);
    c->b = make_bench();
    c->b->sim.counters = &c->counters;
    c->b->sim.control = &sc__packet_dcqcn;
    c->node.shared_size = 1 << 20;
    c->in = (struct sc__packet_port){.node = &c->node,
                                     .rate = 100 * GBPS,
                                     .headroom = 1 << 20,
                                     .number = UINT32_MAX};
    c->out = c->in;
    c->out.mark_from = c->out.mark_all = UINT32_MAX;
    c->ports[0] = &c->out;
    c->path = (struct sc__packet_path){.ports = c->ports, .count = 1};
    return c;
}

static struct sc__packet_frame *pass_frame(struct crossing *c) {
    struct sc__packet_frame *f = sc__packet_frame_new(&c->b->sim);
    *f = (struct sc__packet_frame){.type = SC__PACKET_DATA,
                                   .size = FRAME,
                                   .priority = PRIORITY,
                                   .path = &c->path};
    sc__packet_switch_receive(&c->b->sim, &c->in, f);
    return f;
}

/* What is above the reserve of the port is in the shared part, to the byte. */
static void shared_part(void **state) {
    (void)state;
    struct crossing *c = make_crossing();
    c->out.busy_until = INT64_MAX / 2; /* nothing leaves */
    for (int64_t frames = 1; frames <= 4; frames++) {
        int64_t above = frames * FRAME - RESERVE;
        pass_frame(c);
        assert_int_equal(c->node.shared, above > 0 ? above : 0);
    }
}

/* ECN: nothing is marked up to 400 bytes that wait, all above 1600, and half way between
 * half as many as there. */
static void marks_rise_with_the_queue(void **state) {
    static const struct {
        uint32_t queue;
        double share;
    } cases[] = {{400, 0}, {700, 0.2}, {1000, 0.4}, {1600, 0.8}, {1601, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crossing *c = make_crossing();
        const int frames = 4000;
        c->out.mark_from = 400;
        c->out.mark_all = 1600;
        c->out.mark_share = 0.8;
        c->out.egress[PRIORITY] = cases[i].queue;
        for (int k = 0; k < frames; k++) {
            c->out.busy_until = 0;
            pass_frame(c);
        }
        double marked = (double)c->counters.marks / frames;
        assert_number(marked, >=, cases[i].share - 0.04); /* five deviations */
        assert_number(marked, <=, cases[i].share + 0.04);
    }
}

/* A pause ends when the port holds some frames less than it may, not when it is empty. */
static void pauses_end_early(void **state) {
    (void)state;
    struct crossing *c = make_crossing();
    c->in.ingress[PRIORITY] = RESERVE + 10 * FRAME;
    c->node.shared = 10 * FRAME;
    c->in.pause_sent = 1u << PRIORITY;
    pass_frame(c);
    assert_int_equal(c->in.pause_sent, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dcqcn),
        cmocka_unit_test(timely),
        cmocka_unit_test(dctcp),
        cmocka_unit_test(hpcc),
        cmocka_unit_test(swift),
        cmocka_unit_test(least_time),
        cmocka_unit_test(shared_part),
        cmocka_unit_test(marks_rise_with_the_queue),
        cmocka_unit_test(pauses_end_early),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
