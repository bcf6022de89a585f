/* Prices a second: computed, and remembered. */
#include "ir/workload.h"
#include "machine/cluster.h"

#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A step's worth of different collectives, over and over. */
static double prices_per_second(const struct sc__cluster *c, uint32_t prices) {
    struct sc__shape shape[4];
    int64_t sum = 0;
    for (uint32_t i = 0; i < 4; i++) shape[i] = sc__cluster_shape(c, NULL, 8u << i);
    double begin = now();
    for (uint32_t i = 0; i < prices; i++)
        sum += sc__collective_time(c, (int)(i % 4), &shape[i / 4 % 4], (uint64_t)(1 + i % 61) << 20);
    double seconds = now() - begin;
    return sum ? prices / seconds : 0;
}

int main(void) {
    struct sc_context *ctx = sc_open();
    struct sc__cluster c;
    if (!ctx || sc__cluster_parse(ctx, "dgx-h100:1024", 0, &c) != SC_OK) return 1;
    double computed = prices_per_second(&c, 200000);
    sc__cluster_remember(&c, &ctx->arena);
    double remembered = prices_per_second(&c, 10000000);
    printf("collective prices: %.2f M/s computed, %.1f M/s remembered (%.0f times)\n", computed / 1e6, remembered / 1e6,
           remembered / computed);
    sc_close(ctx);
    return remembered >= 5e6 ? 0 : 1;
}
