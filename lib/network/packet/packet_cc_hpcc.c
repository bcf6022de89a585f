/* packet_cc_hpcc: HPCC (Li et al., SIGCOMM 2019). Every switch writes the time,
 * its sent bytes and its queue into the packet; the ACK brings them back, and
 * the sender sets its rate by the busiest link. */
#include "network/packet/packet_sim.h"

#include <math.h>
#include <string.h>

/* How busy the busiest link was since the last records; *interval: over how long. */
static double busiest_link(const struct sc__packet_sim *s,
                           const struct sc__packet_pair *p,
                           const struct sc__packet_frame *ack,
                           int64_t *interval) {
    uint64_t multiple = s->config->int_multiple;
    double most = 0;
    *interval = 0;
    for (uint32_t i = 0; i < p->data.count; i++) {
        const struct sc__packet_record *now = &ack->records[i];
        const struct sc__packet_record *before = &p->records[i];
        double rate = (double)p->data.ports[i]->rate;
        uint32_t tau = (now->time - before->time) & 0xffffffu;
        uint64_t bytes = ((now->bytes - before->bytes) & 0xfffffu) * (128 * multiple);
        uint64_t queue =
            (now->queue < before->queue ? now->queue : before->queue) * (80 * multiple);
        double duration = tau * 1e-9;
        double sent = tau ? (double)(bytes * 8) / duration : INFINITY;
        double use =
            sent / rate + (double)queue * (double)p->max_rate / rate / (double)s->window;
        if (use <= most)
            continue;
        most = use;
        *interval = tau;
    }
    return most;
}

static uint64_t
hpcc_clip(const struct sc__packet_sim *s, const struct sc__packet_pair *p, double rate) {
    if (!(rate < (double)p->max_rate))
        return p->max_rate;
    return rate < (double)s->config->min_rate ? s->config->min_rate : (uint64_t)rate;
}

/* The next packet is timed anew at the new rate. */
static void
hpcc_retime(struct sc__packet_sim *s, struct sc__packet_pair *p, uint64_t rate) {
    p->available +=
        sc__packet_time(p->last_size, rate) - sc__packet_time(p->last_size, p->rate);
    sc__packet_wake_sooner(s, p);
}

/* A reaction within a round trip is undone by the next one: it begins again
 * from the current rate, which only a full update changes. */
void sc__packet_hpcc_react(struct sc__packet_sim *s,
                           struct sc__packet_pair *p,
                           double use,
                           bool full) {
    uint32_t stage = 0;
    double rate;
    double excess = use / s->config->target_use;
    if (excess >= 1 || p->stage >= s->config->most_additive) {
        rate = floor((double)p->current_rate / excess) + (double)s->config->rate_ai;
    } else {
        rate = (double)p->current_rate + (double)s->config->rate_ai;
        stage = p->stage + 1;
    }
    uint64_t clipped = hpcc_clip(s, p, rate);
    hpcc_retime(s, p, clipped);
    sc__packet_set_rate(s, p, clipped);
    if (!full)
        return;
    p->current_rate = clipped;
    p->stage = stage;
    if (p->next > p->updated)
        p->updated = p->next;
}

static void hpcc_update(struct sc__packet_sim *s,
                        struct sc__packet_pair *p,
                        const struct sc__packet_frame *ack,
                        bool full) {
    int64_t interval;
    double most = busiest_link(s, p, ack, &interval);
    double round_trip = (double)s->base_rtt;
    memcpy(p->records, ack->records, sizeof p->records);
    if (interval > s->base_rtt)
        interval = s->base_rtt;
    p->use =
        (p->use * (double)(s->base_rtt - interval) + most * (double)interval) / round_trip;
    sc__packet_hpcc_react(s, p, p->use, full);
}

/* What a switch knows goes along. */
static void hpcc_leaves_switch(struct sc__packet_sim *s,
                               struct sc__packet_port *out,
                               struct sc__packet_frame *f) {
    if (f->type != SC__PACKET_DATA)
        return;
    struct sc__packet_record *r = &f->records[f->hop - 1];
    uint64_t multiple = s->config->int_multiple;
    r->time = (uint32_t)s->queue.now & 0xffffffu;
    r->bytes = (uint32_t)(out->sent_bytes / (128 * multiple)) & 0xfffffu;
    r->queue = (uint32_t)(out->queued_bytes / (80 * multiple)) & 0x1ffffu;
}

static void hpcc_acknowledged(struct sc__packet_sim *s,
                              struct sc__packet_pair *p,
                              const struct sc__packet_frame *ack) {
    bool full = (int64_t)ack->offset > p->updated;
    if (!full && !s->config->fast_react)
        return;
    if (p->updated == 0) {
        p->updated = p->next;
        memcpy(p->records, ack->records, sizeof p->records);
        return;
    }
    hpcc_update(s, p, ack, full);
}

const struct sc__packet_control_ops sc__packet_hpcc = {.name = "HPCC",
                                                       .header = 94,
                                                       .ack_size = 92,
                                                       .leaves_switch = hpcc_leaves_switch,
                                                       .acknowledged = hpcc_acknowledged};
