/* Ultra Ethernet's window and paths, step by step against numbers worked out by hand. */
#include "context.h"
#include "network/packet/packet_uet.h"
#include "test.h"

struct sender {
    struct sc__packet_config config;
    struct sc__packet_sim sim;
    struct sc__uet uet;
    struct sc__packet_pair pair;
    struct sc__uet_flow flow;
};

/* 100 Gb/s and 12 us, the network that all constants are scaled from: 150 KB. */
static struct sender *sender_new(void) {
    struct sender *s = SC__NEW(&ctx->arena, struct sender);
    s->config.payload = 4000;
    s->config.uet_window_bdp = 1.5;
    s->config.uet_paths = 8;
    s->config.uet_load_balancing = SC__UET_MIXED;
    s->sim.config = &s->config;
    s->sim.arena = &ctx->arena;
    s->sim.uet = &s->uet;
    s->sim.full_size = 4064;
    s->sim.base_rtt = 12000;
    s->sim.window = 150000;
    s->uet.nscc = true;
    s->uet.target = 9000;
    s->uet.scale = 1;
    s->pair.max_rate = 100000000000u;
    s->flow.pair = &s->pair;
    sc__nscc_begin(&s->sim, &s->flow.window);
    return s;
}

static void window_begins_with_one_and_a_half_products(void **state) {
    (void)state;
    struct sender *s = sender_new();
    assert_int_equal(s->flow.window.size, 225000);
    /* a shorter round trip has a smaller product: 10 us are 125 KB */
    sc__nscc_round_trip(&s->sim, &s->flow, 10000);
    assert_int_equal(s->flow.window.most, 187500);
    sc__nscc_round_trip(&s->sim, &s->flow, 11000);
    assert_int_equal(s->flow.window.most, 187500);
}

/* No mark, 3 us of 9 us: 4·4000·(9 − 3)/12 = 8000 a window; 40,000 B of 100,000 B bring
 * 3200, and the first adjustment comes with the steady 0.15·4000 of a round trip. */
static void window_rises_in_proportion(void **state) {
    (void)state;
    struct sender *s = sender_new();
    s->flow.window.size = 100000;
    s->sim.queue.now = 20000;
    sc__nscc_acknowledged(&s->sim, &s->flow, 3000, false, 40000);
    assert_int_equal(s->flow.window.size, 100000 + 3200 + 600);
    /* late but not marked: 5·4000 a window; no round trip has passed */
    s->sim.queue.now = 21000;
    s->flow.window.size = 100000;
    sc__nscc_acknowledged(&s->sim, &s->flow, 10000, false, 40000);
    assert_int_equal(s->flow.window.size, 100000 + 8000);
}

/* Less than 1 us for a whole window, then a quarter of each byte. */
static void window_rises_fast_when_calm(void **state) {
    (void)state;
    struct sender *s = sender_new();
    s->flow.window.size = 30000;
    s->sim.queue.now = 1000;
    sc__nscc_acknowledged(&s->sim, &s->flow, 0, false, 20000);
    assert_false(s->flow.window.fast);
    int64_t before = s->flow.window.size;
    s->flow.window.increase = 0;
    sc__nscc_acknowledged(&s->sim, &s->flow, 0, false, 20000);
    assert_true(s->flow.window.fast);
    assert_int_equal(s->flow.window.size, before + 5000);
}

/* A mark and an average of 18 us: 1 − 0.8·(18 − 9)/18 = 0.6, once a round trip; at 90 us no
 * less than a half; under the target nothing. */
static void window_falls_once_a_round_trip(void **state) {
    (void)state;
    struct sender *s = sender_new();
    struct sc__uet_window *w = &s->flow.window;
    w->size = 100000;
    w->delay = 18000;
    w->last_adjust = 50000;
    w->look_at = 100000;
    s->sim.queue.now = 50000;
    sc__nscc_acknowledged(&s->sim, &s->flow, 18000, true, 4064);
    assert_int_equal(w->size, 60000);
    s->sim.queue.now = 61000;
    sc__nscc_acknowledged(&s->sim, &s->flow, 18000, true, 4064);
    assert_int_equal(w->size, 60000);
    s->sim.queue.now = 62001;
    w->last_adjust = 62001;
    w->delay = 90000;
    sc__nscc_acknowledged(&s->sim, &s->flow, 90000, true, 4064);
    assert_int_equal(w->size, 30000);
    s->sim.queue.now = 80000;
    w->last_adjust = 80000;
    sc__nscc_acknowledged(&s->sim, &s->flow, 5000, true, 4064);
    assert_int_equal(w->size, 30000);
}

/* After a loss, with less than an eighth of 225,000 through: the window is what came. */
static void window_becomes_what_came_through(void **state) {
    (void)state;
    struct sender *s = sender_new();
    struct sc__uet_window *w = &s->flow.window;
    w->look_at = 1000;
    w->achieved = 20000;
    s->sim.queue.now = 2000;
    sc__nscc_trimmed(&s->sim, &s->flow, false, 4064);
    assert_int_equal(w->size, 20000);
    /* all that was acknowledged since the last look */
    struct sender *other = sender_new();
    other->flow.window.look_at = 5000;
    for (int64_t now = 2000; now < 4000; now += 1000) {
        other->sim.queue.now = now;
        sc__nscc_acknowledged(&other->sim, &other->flow, 3000, false, 8000);
    }
    other->sim.queue.now = 6000;
    sc__nscc_trimmed(&other->sim, &other->flow, false, 4064);
    assert_int_equal(other->flow.window.size, 16000);
    /* a NACK takes its bytes off, not at the last hop where the receiver gives credit */
    w->look_at = 10000;
    sc__nscc_trimmed(&s->sim, &s->flow, false, 4064);
    assert_int_equal(w->size, 20000 - 4064);
    s->uet.rccc = true;
    sc__nscc_trimmed(&s->sim, &s->flow, true, 4064);
    assert_int_equal(w->size, 20000 - 4064);
    /* and never less than a packet */
    sc__nscc_timeout(&s->sim, &s->flow, 1000000);
    assert_int_equal(w->size, 4064);
}

/* A turn has every path once; a trimmed one is left out for four; a good one comes again.
 */
static void paths_come_in_turn(void **state) {
    (void)state;
    struct sender *s = sender_new();
    struct sc__uet_paths p = {0};
    unsigned seen = 0;
    sc__uet_paths_init(&s->sim, &p);
    for (int i = 0; i < 8; i++)
        seen |= 1u << sc__uet_next_path(&s->sim, &p);
    assert_int_equal(seen, 0xff);
    sc__uet_path_feedback(&s->sim, &p, 5, SC__UET_PATH_TRIMMED);
    int turns[8] = {0};
    for (int i = 0; i < 4 * 7; i++)
        turns[sc__uet_next_path(&s->sim, &p)]++;
    assert_int_equal(turns[5], 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(turns[i], i == 5 ? 0 : 4);
    sc__uet_path_feedback(&s->sim, &p, 3, SC__UET_PATH_GOOD);
    sc__uet_path_feedback(&s->sim, &p, 6, SC__UET_PATH_GOOD);
    assert_int_equal(sc__uet_next_path(&s->sim, &p), 3);
    assert_int_equal(sc__uet_next_path(&s->sim, &p), 6);
}

/* A port that is busy with 4000 bytes, and what comes in for it. */
struct crossing {
    struct sender *s;
    struct sc__packet_counters counters;
    struct sc__packet_node node;
    struct sc__packet_port in;
    struct sc__packet_port out;
    struct sc__packet_port *ports[1];
    struct sc__packet_path path;
};

static struct crossing *crossing_new(int64_t queue_limit) {
    struct crossing *c = SC__NEW(&ctx->arena, struct crossing);
    c->s = sender_new();
    c->s->uet.queue_limit = queue_limit;
    c->s->sim.counters = &c->counters;
    c->s->sim.queue.arena = &ctx->arena;
    c->in = (struct sc__packet_port){.node = &c->node, .number = UINT32_MAX};
    c->out = c->in;
    c->out.peer = &c->in;
    c->out.busy_until = INT64_MAX / 2;
    c->out.serving = 4000;
    c->ports[0] = &c->out;
    c->path = (struct sc__packet_path){.ports = c->ports, .count = 1};
    return c;
}

static void cross(struct crossing *c, uint8_t type, uint32_t size) {
    struct sc__packet_frame *f = sc__packet_frame_new(&c->s->sim);
    *f = (struct sc__packet_frame){.type = type,
                                   .size = size,
                                   .priority = 3,
                                   .path = &c->path};
    sc__uet_switch_receive(&c->s->sim, &c->in, f);
}

/* Two packets of 3000 bytes with the 4000 that are being sent: 10,000 fit to the byte. */
static void queues_count_what_is_sent(void **state) {
    (void)state;
    for (int64_t limit = 9999; limit <= 10000; limit++) {
        struct crossing *c = crossing_new(limit);
        cross(c, SC__PACKET_DATA, 3000);
        cross(c, SC__PACKET_DATA, 3000);
        assert_int_equal(c->counters.trims, limit < 10000);
    }
}

/* Control may wait in twice the room of data. */
static void control_has_twice_the_room(void **state) {
    (void)state;
    struct crossing *c = crossing_new(10000);
    for (uint32_t bytes = 0; bytes + SC__UET_CONTROL_SIZE <= 20000;
         bytes += SC__UET_CONTROL_SIZE)
        cross(c, SC__PACKET_ACK, SC__UET_CONTROL_SIZE);
    assert_int_equal(c->counters.buffer_losses, 0);
    cross(c, SC__PACKET_ACK, SC__UET_CONTROL_SIZE);
    assert_int_equal(c->counters.buffer_losses, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_begins_with_one_and_a_half_products),
        cmocka_unit_test(window_rises_in_proportion),
        cmocka_unit_test(window_rises_fast_when_calm),
        cmocka_unit_test(window_falls_once_a_round_trip),
        cmocka_unit_test(window_becomes_what_came_through),
        cmocka_unit_test(paths_come_in_turn),
        cmocka_unit_test(queues_count_what_is_sent),
        cmocka_unit_test(control_has_twice_the_room),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
