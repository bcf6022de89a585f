/* power_throttling: how far a GPU lowers its clock at its power limit, and what
 * that does to kernels.
 *
 *     struct sc__load load = {0};                  one step, or one layer
 *     sc__load_add(&load, &kernel, times)          for all that runs
 *     struct sc__throttling throttling = sc__throttle(gpu, &load, idle_us);
 *     us = kernel.us * throttling.factor[kernel.kind] + gpu->gap * kernel.launches
 */
#ifndef SC_HARDWARE_POWER_THROTTLING_H
#define SC_HARDWARE_POWER_THROTTLING_H

#include "hardware/kernel.h"

/* What runs in a loop (a step): sums at cold times. */
struct sc__load {
    double us;
    double effort;
    double bytes;
    double kernels;
};
void sc__load_add(struct sc__load *l, const struct sc__kernel *k, double times);

struct sc__throttling {
    double watts; /* average draw at cold times */
    double busy;  /* the same without idle_us */
    double clock; /* full clock over the clock at the limit, at least 1 */
    double factor[SC__KERNEL_KINDS]; /* on kernel times */
};
/* idle_us: time in the loop without kernels (exposed communication, bubble,
 * host), beside the gaps between kernels, which are added. */
struct sc__throttling
sc__throttle(const struct sc__gpu *gpu, const struct sc__load *l, double idle_us);

struct sc__draw sc__throttling_draw(const struct sc__gpu *gpu,
                                    const struct sc__throttling *h);

#endif
