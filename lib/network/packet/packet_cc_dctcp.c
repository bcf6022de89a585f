/* packet_cc_dctcp: DCTCP (Alizadeh et al., SIGCOMM 2010), by rate instead of by
 * window: once per round the rate falls by half the share of marked packets, or
 * rises by a step. And no control at all, which has nothing to do. */
#include "network/packet/packet_sim.h"

/* Packets from a to b bytes, the last one begun counted whole. */
static int64_t dctcp_batch(const struct sc__packet_sim *s, int64_t bytes) {
    int64_t payload = s->config->payload;
    int64_t packets = bytes / payload;
    if (bytes % payload < 0)
        packets--;
    return packets + 1;
}

/* The round that ends with this ACK; false when none does. */
static bool dctcp_round(const struct sc__packet_sim *s,
                        struct sc__packet_pair *p,
                        int64_t acknowledged) {
    double gain = s->config->gain;
    if (acknowledged <= p->updated)
        return false;
    if (p->updated == 0) {
        p->updated = p->next;
        p->batch = dctcp_batch(s, p->next);
        return true;
    }
    double share = (double)p->marked_count / (double)p->batch;
    p->alpha = (1 - gain) * p->alpha + gain * (share < 1 ? share : 1);
    p->updated = p->next;
    p->marked_count = 0;
    p->batch = dctcp_batch(s, p->next - acknowledged);
    return true;
}

static void dctcp_acknowledged(struct sc__packet_sim *s,
                               struct sc__packet_pair *p,
                               const struct sc__packet_frame *ack) {
    int64_t acknowledged = (int64_t)ack->offset;
    p->marked_count += ack->marked;
    bool round = dctcp_round(s, p, acknowledged);
    if (p->reduced && acknowledged > p->reduced_until)
        p->reduced = false;
    if (ack->marked && !p->reduced) {
        uint64_t rate = (uint64_t)((double)p->rate * (1 - p->alpha / 2));
        sc__packet_set_rate(s, p, rate > s->config->min_rate ? rate : s->config->min_rate);
        p->reduced = true;
        p->reduced_until = p->next;
    }
    if (!p->reduced && round) {
        uint64_t rate = p->rate + s->config->dctcp_rate_ai;
        sc__packet_set_rate(s, p, rate < p->max_rate ? rate : p->max_rate);
    }
}

const struct sc__packet_control_ops sc__packet_dctcp = {
    .name = "DCTCP", .header = 52, .ack_size = 60, .acknowledged = dctcp_acknowledged};

const struct sc__packet_control_ops sc__packet_no_control = {
    .name = "none", .header = 52, .ack_size = 60};
