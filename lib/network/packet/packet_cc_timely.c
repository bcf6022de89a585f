/* packet_cc_timely: TIMELY (Mittal et al., SIGCOMM 2015), once per window: the
 * rate follows the round-trip time and its gradient. */
#include "network/packet/packet_sim.h"

#include <math.h>

/* The simulator's own; no keys of the config. */
#define LOW_RTT 50000 /* ns */
#define HIGH_RTT 500000
#define LEAST_RTT 20000.0
#define CHANGE_WEIGHT 0.875
#define DECREASE_WEIGHT 0.8
#define FEW_INCREASES 5u

static void timely_increase(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    uint64_t step = p->stage < FEW_INCREASES ? s->config->rate_ai : s->config->rate_hai;
    uint64_t rate = p->current_rate + step;
    sc__packet_set_rate(s, p, rate < p->max_rate ? rate : p->max_rate);
    p->stage++;
}

static void
timely_decrease(struct sc__packet_sim *s, struct sc__packet_pair *p, double factor) {
    uint64_t rate = (uint64_t)((double)p->current_rate * factor);
    sc__packet_set_rate(s, p, rate > s->config->min_rate ? rate : s->config->min_rate);
    p->stage = 0;
}

static void
timely_update(struct sc__packet_sim *s, struct sc__packet_pair *p, int64_t rtt) {
    double change =
        (1 - CHANGE_WEIGHT) * p->rtt_change + CHANGE_WEIGHT * (double)(rtt - p->last_rtt);
    double gradient = change / LEAST_RTT;
    if (rtt < LOW_RTT || (rtt <= HIGH_RTT && gradient <= 0))
        timely_increase(s, p);
    else if (rtt > HIGH_RTT)
        timely_decrease(s, p, 1 - DECREASE_WEIGHT * (1 - (double)HIGH_RTT / (double)rtt));
    else
        timely_decrease(s, p, fmax(0, 1 - DECREASE_WEIGHT * gradient));
    p->current_rate = p->rate;
    p->rtt_change = change;
}

static void timely_acknowledged(struct sc__packet_sim *s,
                                struct sc__packet_pair *p,
                                const struct sc__packet_frame *ack) {
    int64_t rtt = s->queue.now - ack->stamp;
    if ((int64_t)ack->offset <= p->updated)
        return;
    if (p->updated != 0)
        timely_update(s, p, rtt);
    if (p->next > p->updated) {
        p->updated = p->next;
        p->last_rtt = rtt;
    }
}

const struct sc__packet_control_ops sc__packet_timely = {
    .name = "TIMELY", .header = 60, .ack_size = 60, .acknowledged = timely_acknowledged};
