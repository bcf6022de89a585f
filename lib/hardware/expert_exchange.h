/* expert_exchange: dispatch and combine of mixtures of experts as DeepEP's kernels
 * do them inside one node: rows of hidden elements (bf16) written straight into the
 * memory of the GPUs that hold their experts.
 *
 *     copies of a token   normal: GPUs it goes to, R (1 - (1 - 1/R)^topk)
 *                         low latency: topk
 *     w    = rows (row + 2 hidden/sm_bw)/sms^sm_power + 2 rows hidden/link_bw
 *     time = expert experts + (fixed^q + w^q)^(1/q)
 *
 * Between nodes nothing was measured: not answered here. */
#ifndef SC_HARDWARE_EXPERT_EXCHANGE_H
#define SC_HARDWARE_EXPERT_EXCHANGE_H

#include "hardware/gpu.h"

struct sc__exchange_load {
    double tokens; /* of one GPU */
    double hidden;
    double topk;
    double experts; /* of all GPUs */
    double sms;     /* that the normal kernels run on, 4 to 24; low latency has its own */
    double ranks;   /* GPUs that exchange; 0: the node that was measured */
};

/* us; 0 where the GPU's file has no constants or there is nothing to send. */
double sc__exchange_us(const struct sc__gpu *gpu,
                       enum sc__exchange kind,
                       const struct sc__exchange_load *load);

#endif
