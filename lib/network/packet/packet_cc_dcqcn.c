/* packet_cc_dcqcn: DCQCN (Zhu et al., SIGCOMM 2015) as the simulator has it: a
 * notification is a flag in the ACK, and there is no byte counter. Three timers
 * per flow run from its first notification to its end. */
#include "network/packet/packet_sim.h"

enum { TIMER_ALPHA, TIMER_DECREASE, TIMER_RISE };

static void dcqcn_set_timer(struct sc__packet_sim *s,
                            struct sc__packet_pair *p,
                            int which,
                            int64_t after) {
    enum sc__packet_event_kind kind =
        (enum sc__packet_event_kind)(SC__PACKET_ALPHA + which);
    p->timers[which] = sc__packet_timer_set(s, kind, s->queue.now + after);
    p->timers[which]->pair = p;
}

static void dcqcn_acknowledged(struct sc__packet_sim *s,
                               struct sc__packet_pair *p,
                               const struct sc__packet_frame *ack) {
    if (!ack->marked || p->complete)
        return;
    p->alpha_notified = true;
    p->decrease_notified = true;
    if (p->had_notification)
        return;
    p->had_notification = true;
    p->alpha = 1;
    p->alpha_notified = false;
    dcqcn_set_timer(s, p, TIMER_ALPHA, s->alpha_interval);
    dcqcn_set_timer(s, p, TIMER_DECREASE, s->decrease_interval + 1);
    p->target_rate = p->rate;
}

static void dcqcn_alpha(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    double gain = s->config->gain;
    p->alpha = (1 - gain) * p->alpha + (p->alpha_notified ? gain : 0);
    p->alpha_notified = false;
    dcqcn_set_timer(s, p, TIMER_ALPHA, s->alpha_interval);
}

static void dcqcn_decrease(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    dcqcn_set_timer(s, p, TIMER_DECREASE, s->decrease_interval);
    if (!p->decrease_notified)
        return;
    if (p->stage != 0 || s->config->clamp_target)
        p->target_rate = p->rate;
    uint64_t rate = (uint64_t)((double)p->rate * (1 - p->alpha / 2));
    sc__packet_set_rate(s, p, rate > s->config->min_rate ? rate : s->config->min_rate);
    p->stage = 0;
    p->decrease_notified = false;
    if (p->timers[TIMER_RISE])
        p->timers[TIMER_RISE]->event.cancelled = true;
    dcqcn_set_timer(s, p, TIMER_RISE, s->rise_interval);
}

static void dcqcn_rise(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    dcqcn_set_timer(s, p, TIMER_RISE, s->rise_interval);
    if (p->stage >= s->config->fast_recovery) {
        p->target_rate +=
            p->stage == s->config->fast_recovery ? s->config->rate_ai : s->config->rate_hai;
        if (p->target_rate > p->max_rate)
            p->target_rate = p->max_rate;
    }
    sc__packet_set_rate(s, p, p->rate / 2 + p->target_rate / 2);
    p->stage++;
}

void sc__packet_dcqcn_timer(struct sc__packet_sim *s, struct sc__packet_timer *timer) {
    struct sc__packet_pair *p = timer->pair;
    int which = timer->event.kind - SC__PACKET_ALPHA;
    p->timers[which] = NULL;
    if (which == TIMER_ALPHA)
        dcqcn_alpha(s, p);
    else if (which == TIMER_DECREASE)
        dcqcn_decrease(s, p);
    else
        dcqcn_rise(s, p);
}

const struct sc__packet_control_ops sc__packet_dcqcn = {
    .name = "DCQCN", .header = 52, .ack_size = 60, .acknowledged = dcqcn_acknowledged};
