/* packet_cc_pint: HPCC with probabilistic telemetry (Ben Basat et al., PINT, SIGCOMM 2020)
 * as the simulator of HPCC has it (CC_MODE 10). A switch keeps an average of how busy each
 * of its ports is; a packet carries the largest one on its way alone, as the exponent of a
 * logarithm, rounded up or down by chance so that its mean is right:
 *
 *     use <- use·(1 - d/T) + (d/T)·queue/BDP + last frame/BDP     d: since the last frame
 *
 * The logarithms of that simulator have 16 bits; here they are exact (within 10^-4). */
#include "network/packet/packet_sim.h"

#include <math.h>

#define MOST_FLOWS 512.0     /* of a port at the same time: 1/512 is the least use */
#define QUEUE_UNIT 256u      /* bytes in which a queue is counted */
#define USE_UNITS 8192.0     /* of a use of 1 */
#define CHANCE_UNITS 65536.0 /* random numbers are so many */

uint32_t sc__packet_pint_bytes(const struct sc__packet_config *c) {
    if (c->control != SC__PACKET_HPCC_PINT)
        return 0;
    double most = log(MOST_FLOWS * MOST_FLOWS) / log(c->pint_base);
    return ((uint32_t)ceil(log2(most)) + 7) / 8;
}

static uint16_t pint_encode(struct sc__packet_sim *s, double use) {
    double base = s->config->pint_base;
    double units = fmax(1, ceil(use * MOST_FLOWS));
    double power = fmin(65534, log(units) / log(base));
    double lower = pow(base, floor(power));
    double upper = pow(base, ceil(power));
    double chance = floor(sc__packet_side_draw(s) * CHANCE_UNITS);
    if (upper <= lower)
        return (uint16_t)power;
    bool up = chance < (units - lower) / (upper - lower) * CHANCE_UNITS;
    return (uint16_t)(up ? ceil(power) : floor(power));
}

static double pint_decode(const struct sc__packet_sim *s, uint16_t power) {
    return pow(s->config->pint_base, power) / MOST_FLOWS;
}

static double port_use(const struct sc__packet_sim *s, const struct sc__packet_port *out) {
    double round_trip = (double)s->base_rtt;
    double bytes = (double)(out->rate / 8) * round_trip / 1e9;
    double queue = (double)(out->queued_bytes / QUEUE_UNIT * QUEUE_UNIT);
    double since = fmin((double)(s->queue.now - out->last_time), round_trip);
    double before = floor(out->use * USE_UNITS + 0.5) / USE_UNITS;
    return since * queue / (bytes * round_trip) + out->last_size / bytes +
           (round_trip - since) * before / round_trip;
}

static void pint_leaves_switch(struct sc__packet_sim *s,
                               struct sc__packet_port *out,
                               struct sc__packet_frame *f) {
    if (f->type == SC__PACKET_DATA) {
        out->use = port_use(s, out);
        uint16_t power = pint_encode(s, out->use);
        if (power > f->power)
            f->power = power;
    }
    out->last_time = s->queue.now;
    out->last_size = f->size;
}

static void pint_acknowledged(struct sc__packet_sim *s,
                              struct sc__packet_pair *p,
                              const struct sc__packet_frame *ack) {
    double chance = floor(sc__packet_side_draw(s) * CHANCE_UNITS);
    if (chance >= floor(s->config->pint_share * CHANCE_UNITS))
        return;
    if (p->updated == 0) {
        p->updated = p->next;
        return;
    }
    bool full = (int64_t)ack->offset > p->updated;
    sc__packet_hpcc_react(s, p, pint_decode(s, ack->power), full);
}

const struct sc__packet_control_ops sc__packet_hpcc_pint = {
    .name = "HPCC-PINT",
    .header = 52,
    .ack_size = 60,
    .leaves_switch = pint_leaves_switch,
    .acknowledged = pint_acknowledged};
