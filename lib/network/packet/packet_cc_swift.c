/* packet_cc_swift: Swift (Kumar et al., SIGCOMM 2020). The window of a pair, in packets,
 * follows the round-trip time: below a target it rises by a step a round trip, over it
 * falls in proportion to what is too much, at most once a round trip. The target grows
 * with the switches on the way and, as flows are more and windows smaller, with
 * 1/sqrt(window):
 *
 *     target = base + hop·switches + min(range, max(0, a/sqrt(window) + b))
 *
 * which is all of the range at one window and nothing at a larger one. A window of less
 * than a packet is a packet every round trip / window. Hosts take no time here, so that
 * there is no window of the end points beside that of the network. */
#include "network/packet/packet_sim.h"

#include <math.h>

/* ns that the target has for many flows. */
static double flow_scaling(const struct sc__packet_config *c, double window) {
    double range = c->swift_range_us * 1e3;
    double to = 1 / sqrt(c->swift_range_to);
    double slope = range / (1 / sqrt(c->swift_range_from) - to);
    double more = slope / sqrt(window) - slope * to;
    return fmin(range, fmax(0, more));
}

static double swift_target(const struct sc__packet_sim *s,
                           const struct sc__packet_pair *p) {
    const struct sc__packet_config *c = s->config;
    return c->swift_base_us * 1e3 + c->swift_hop_us * 1e3 * p->data.count +
           flow_scaling(c, p->swift_window);
}

/* A packet is sent where all of it fits into the window; the first one always. */
static void swift_apply(const struct sc__packet_sim *s, struct sc__packet_pair *p) {
    double payload = s->config->payload;
    p->window = p->swift_window < 1 ? 1 : (int64_t)((p->swift_window - 1) * payload) + 1;
}

static double swift_clip(const struct sc__packet_config *c, double window) {
    return fmin(c->swift_most_window, fmax(c->swift_least_window, window));
}

/* At line rate, as with the other controls. */
static void swift_begin(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    double packets = (double)s->window / s->config->payload;
    p->swift_window = swift_clip(s->config, fmax(1, packets));
    p->last_decrease = INT64_MIN / 2;
    swift_apply(s, p);
}

static double swift_rise(const struct sc__packet_sim *s,
                         const struct sc__packet_pair *p,
                         double packets) {
    double step = s->config->swift_increase * packets;
    return p->swift_window + (p->swift_window < 1 ? step : step / p->swift_window);
}

static double swift_factor(const struct sc__packet_config *c, double delay, double target) {
    double excess = (delay - target) / delay;
    return fmax(1 - c->swift_decrease * excess, 1 - c->swift_most_decrease);
}

static void swift_acknowledged(struct sc__packet_sim *s,
                               struct sc__packet_pair *p,
                               const struct sc__packet_frame *ack) {
    const struct sc__packet_config *c = s->config;
    double before = p->swift_window;
    double delay = (double)(s->queue.now - ack->stamp);
    double target = swift_target(s, p);
    double packets = (double)(p->unacknowledged - p->counted) / c->payload;
    bool may_fall = s->queue.now - p->last_decrease >= s->queue.now - ack->stamp;
    double window = before;
    p->counted = p->unacknowledged;
    if (ack->nack)
        window *= may_fall ? 1 - c->swift_most_decrease : 1;
    else if (delay < target)
        window = swift_rise(s, p, packets);
    else if (may_fall)
        window *= swift_factor(c, delay, target);
    p->swift_window = swift_clip(c, window);
    if (p->swift_window < before)
        p->last_decrease = s->queue.now;
    swift_apply(s, p);
    if (p->swift_window < 1)
        p->available = ack->stamp + (int64_t)(delay / p->swift_window);
    else if (before < 1 && p->available > s->queue.now)
        p->available = s->queue.now;
    sc__packet_wake_sooner(s, p);
}

const struct sc__packet_control_ops sc__packet_swift = {.name = "Swift",
                                                        .header = 60,
                                                        .ack_size = 60,
                                                        .begin = swift_begin,
                                                        .acknowledged = swift_acknowledged};
