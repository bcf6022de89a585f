/* power_throttling: the loop's average power decides the clock; see
 * docs/model/kernels.md, "Power", for the measurements behind the constants. */
#include "hardware/power_throttling.h"

#include <math.h>

void sc__load_add(struct sc__load *l, const struct sc__kernel *k, double times) {
    l->us += k->us * times;
    l->effort += k->effort * times;
    l->bytes += k->bytes * times;
    l->kernels += times;
}

struct sc__throttling
sc__throttle(const struct sc__gpu *gpu, const struct sc__load *l, double idle_us) {
    const struct sc__power_constants *c = &gpu->power;
    struct sc__throttling h = {.watts = c->idle, .clock = 1};
    double us = l->us + gpu->gap * l->kernels;
    /* FLOP/us · 1e-6 = TFLOP/s, B/us · 1e-6 = TB/s: the draw is linear in both. */
    double work = (c->per_tflops * l->effort + c->per_tbs * l->bytes) * 1e-6;
    h.busy = c->idle + (us > 0 ? work / us : 0);
    if (us + idle_us > 0)
        h.watts += work / (us + idle_us);
    /* The clock falls linearly with the watts a GPU would draw above its limit.
     * How much of that a kernel feels depends on what bounds it: attention
     * follows the clock, memory-bound kernels hardly do (beta). */
    h.clock = 1 + c->slope * fmax(0, h.watts - c->limit);
    for (unsigned i = 0; i < SC__KERNEL_KINDS; i++)
        h.factor[i] = pow(h.clock, c->beta[i]);
    return h;
}

struct sc__draw sc__throttling_draw(const struct sc__gpu *gpu,
                                    const struct sc__throttling *h) {
    return (struct sc__draw){.busy = h->busy, .idle = gpu->power.idle, .limit = gpu->tdp};
}
