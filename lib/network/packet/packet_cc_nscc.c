/* packet_cc_nscc: the sender's window of Ultra Ethernet (NSCC). Marks and delay decide,
 * packet by packet:
 *
 *                 delay under target              over target
 *     no mark     rise in proportion to           rise by a fair share
 *                 what is left of the target
 *     mark        another path, no more           fall, once a round trip
 *
 * Constants are those of uet-htsim (uec.cpp), which names the Ultra Ethernet
 * specification: scaled from a network of 100 Gb/s and 12 us. */
#include "network/packet/packet_uet.h"

#define FAIR_INCREASE 5.0    /* payloads a window, times the scale */
#define PROPORTIONAL 4.0     /* payloads at no delay at all, likewise */
#define STEADY_INCREASE 0.15 /* payloads a round trip, likewise */
#define FAST_INCREASE 0.25   /* bytes a byte, likewise */
#define FAST_DELAY 1000      /* ns: less is no delay */
#define DECREASE 0.8
#define LEAST_FACTOR 0.5
#define DELAY_GAIN 0.0125
#define CALM_SHARE                                                                         \
    0.25 /* of a round trip: an unmarked packet that was late counts as this */
#define ADJUST_PACKETS 8
#define REFERENCE_RTT 12000.0 /* ns */
#define ACHIEVED_SHIFT 3      /* less than an eighth of the largest window is too little */
#define DELAY_FACTOR 4        /* times the target: much too late */

void sc__nscc_begin(const struct sc__packet_sim *s, struct sc__uet_window *w) {
    *w = (struct sc__uet_window){.base_rtt = s->base_rtt};
    w->most = (int64_t)(s->config->uet_window_bdp * (double)s->window);
    w->size = w->most;
}

void sc__nscc_round_trip(const struct sc__packet_sim *s,
                         struct sc__uet_flow *u,
                         int64_t round_trip) {
    struct sc__uet_window *w = &u->window;
    if (round_trip >= w->base_rtt)
        return;
    w->base_rtt = round_trip;
    double bytes = (double)round_trip * (double)u->pair->max_rate / 8e9;
    w->most = (int64_t)(s->config->uet_window_bdp * bytes);
}

static void keep_in_bounds(const struct sc__packet_sim *s, struct sc__uet_window *w) {
    if (w->size > w->most)
        w->size = w->most;
    if (w->size < s->full_size)
        w->size = s->full_size;
}

/* A packet that was late but not marked says little of the queues: it counts as a quarter
 * of a round trip. */
static void average_delay(const struct sc__packet_sim *s,
                          struct sc__uet_window *w,
                          int64_t delay,
                          bool marked) {
    double sample = (double)delay;
    if (!marked && delay > s->uet->target)
        sample = CALM_SHARE * (double)w->base_rtt;
    w->delay = DELAY_GAIN * sample + (1 - DELAY_GAIN) * w->delay;
}

/* Where much is lost or late and little arrives, the window becomes what arrived in the
 * last round trip. True where it did, or where packets sent before that come back. */
static bool adapt_quickly(const struct sc__packet_sim *s,
                          struct sc__uet_flow *u,
                          bool loss,
                          bool marked,
                          int64_t delay) {
    struct sc__uet_window *w = &u->window;
    bool done = false;
    if (w->ignored < w->to_ignore && marked) {
        done = true;
    } else if (s->queue.now > w->look_at) {
        bool bad = w->had_loss || loss || delay > DELAY_FACTOR * s->uet->target;
        if (w->look_at && bad && w->achieved < w->most >> ACHIEVED_SHIFT) {
            w->size = w->achieved > s->full_size ? w->achieved : s->full_size;
            w->to_ignore = u->flying;
            w->ignored = 0;
            w->had_loss = false;
            done = true;
        }
        w->achieved = 0;
        w->look_at = s->queue.now + w->base_rtt + s->uet->target;
    }
    if (done) {
        w->increase = 0;
        w->since_adjust = 0;
    }
    return done;
}

/* While nothing is late for a whole window, it rises with every byte. */
static void rise_fast(const struct sc__packet_sim *s,
                      struct sc__uet_window *w,
                      int64_t delay,
                      int64_t bytes) {
    if (delay >= FAST_DELAY) {
        w->calm = 0;
        w->fast = false;
        return;
    }
    w->calm += bytes;
    w->fast = w->fast || w->calm > w->size;
    if (w->fast)
        w->size += (int64_t)((double)bytes * FAST_INCREASE * s->uet->scale);
}

static void rise_in_proportion(const struct sc__packet_sim *s,
                               struct sc__uet_window *w,
                               int64_t delay,
                               int64_t bytes) {
    rise_fast(s, w, delay, bytes);
    if (w->fast)
        return;
    double target = (double)s->uet->target;
    double per_byte = PROPORTIONAL * s->config->payload * s->uet->scale *
                      (target / REFERENCE_RTT) * (target - (double)delay) / target;
    w->increase += per_byte * (double)bytes;
}

static void fall(const struct sc__packet_sim *s, struct sc__uet_window *w) {
    double target = (double)s->uet->target;
    w->fast = false;
    w->calm = 0;
    if (w->delay <= target || s->queue.now - w->last_decrease <= w->base_rtt)
        return;
    double factor = 1 - DECREASE * (w->delay - target) / w->delay;
    w->size = (int64_t)((double)w->size * (factor > LEAST_FACTOR ? factor : LEAST_FACTOR));
    w->last_decrease = s->queue.now;
}

/* What was gathered is added after some packets or a round trip. */
static void adjust(const struct sc__packet_sim *s, struct sc__uet_window *w) {
    int64_t since = s->queue.now - w->last_adjust;
    if (w->since_adjust <= ADJUST_PACKETS * s->full_size && since <= s->base_rtt)
        return;
    w->size += (int64_t)(w->increase / (double)w->size);
    if (since >= s->base_rtt) {
        w->size += (int64_t)(STEADY_INCREASE * s->config->payload * s->uet->scale);
        w->last_adjust = s->queue.now;
    }
    w->increase = 0;
    w->since_adjust = 0;
}

void sc__nscc_acknowledged(const struct sc__packet_sim *s,
                           struct sc__uet_flow *u,
                           int64_t delay,
                           bool marked,
                           int64_t bytes) {
    struct sc__uet_window *w = &u->window;
    w->achieved += bytes;
    w->since_adjust += bytes;
    w->ignored += bytes;
    if (delay >= 0)
        average_delay(s, w, delay, marked);
    else
        delay = (int64_t)w->delay;
    if (adapt_quickly(s, u, false, marked, delay))
        return;
    if (!marked && delay >= s->uet->target)
        w->increase += FAIR_INCREASE * s->config->payload * s->uet->scale * (double)bytes;
    else if (!marked)
        rise_in_proportion(s, w, delay, bytes);
    else if (delay >= s->uet->target)
        fall(s, w);
    keep_in_bounds(s, w);
    adjust(s, w);
    keep_in_bounds(s, w);
}

/* A trimmed packet met a full queue, which is a round trip long. */
void sc__nscc_trimmed(const struct sc__packet_sim *s,
                      struct sc__uet_flow *u,
                      bool last_hop,
                      int64_t bytes) {
    struct sc__uet_window *w = &u->window;
    w->ignored += bytes;
    average_delay(s, w, s->base_rtt, true);
    w->had_loss = true;
    if (adapt_quickly(s, u, true, true, 0))
        return;
    if (s->uet->rccc && last_hop)
        return;
    w->size -= bytes;
    keep_in_bounds(s, w);
}

void sc__nscc_timeout(const struct sc__packet_sim *s,
                      struct sc__uet_flow *u,
                      int64_t bytes) {
    u->window.size -= bytes;
    keep_in_bounds(s, &u->window);
}
