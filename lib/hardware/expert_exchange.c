#include "hardware/expert_exchange.h"

#include "hardware/kernel_model.h"

#include <math.h>

static bool low_latency(enum sc__exchange kind) {
    return kind == SC__EXCHANGE_DISPATCH_LL || kind == SC__EXCHANGE_COMBINE_LL;
}

/* Rows that leave a GPU: experts are drawn alike, and the normal kernels send a token
 * once to each GPU that has one of its experts. */
static double rows_sent(const struct sc__gpu *gpu,
                        enum sc__exchange kind,
                        const struct sc__exchange_load *load) {
    double ranks = load->ranks > 0 ? load->ranks : gpu->exchange_ranks;
    if (low_latency(kind))
        return load->tokens * load->topk;
    return load->tokens * ranks * (1 - pow(1 - 1 / ranks, load->topk));
}

double sc__exchange_us(const struct sc__gpu *gpu,
                       enum sc__exchange kind,
                       const struct sc__exchange_load *load) {
    const struct sc__exchange_constants *c = &gpu->exchange[kind];
    if (!(c->link_bw > 0) || !(load->tokens > 0))
        return 0;
    double rows = rows_sent(gpu, kind, load);
    double bytes = 2 * rows * load->hidden;
    double work = rows * c->row;
    if (c->sm_bw > 0)
        work += bytes / c->sm_bw;
    if (!low_latency(kind))
        work /= pow(load->sms > 1 ? load->sms : 1, c->sm_power);
    work += bytes / c->link_bw;
    double q = c->sharpness;
    return c->expert * load->experts + pow(pow(c->fixed, q) + pow(work, q), 1 / q);
}

double sc__exchange_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const struct sc__exchange_load load = {.tokens = (double)key->size[0],
                                           .hidden = (double)key->size[1],
                                           .topk = (double)key->size[2],
                                           .experts = (double)key->size[3],
                                           .sms = (double)key->size[4]};
    return sc__exchange_us(gpu, (enum sc__exchange)key->size[5], &load);
}
