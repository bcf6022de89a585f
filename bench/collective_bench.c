/* Costs a second: computed, and remembered. */
#include "network/engine.h"

#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A step's worth of different collectives, over and over. */
static double costs_per_second(const struct sc__cluster *c, uint32_t costs) {
    struct sc__shape shape[4];
    int64_t sum = 0;
    for (uint32_t i = 0; i < 4; i++)
        shape[i] = sc__cluster_shape(c, NULL, 8u << i);
    double begin = now();
    for (uint32_t i = 0; i < costs; i++)
        sum += sc__collective_time(c,
                                   (int)(i % 4),
                                   &shape[i / 4 % 4],
                                   (uint64_t)(1 + i % 61) << 20);
    double seconds = now() - begin;
    return sum ? costs / seconds : 0;
}

/* The same through the network engine: tensor- and data-parallel collectives
 * of a job, as the executor asks for them. */
static double engine_costs_per_second(struct sc_context *ctx,
                                      const struct sc__cluster *c,
                                      uint32_t costs) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "bench");
    struct sc_claims claims;
    struct sc__net net;
    int64_t sum = 0;
    int64_t time;
    w->mesh = sc__mesh(8, 1, 1, 128, 1, 0);
    const uint16_t groups[2] = {sc__workload_group(w, SC__GROUP_TP),
                                sc__workload_group(w, SC__GROUP_DP)};
    sc__class_add(w, sc__program_begin(w), 0, 1024, 0);
    if (sc__net_analytic(ctx, c, w, &net) != SC_OK)
        return 0;
    double begin = now();
    for (uint32_t i = 0; i < costs; i++) {
        struct sc_transfer t = {.coll = (uint8_t)(i % 3),
                                .group = groups[i % 2],
                                .bytes = (uint64_t)(1 + i % 61) << 20};
        if (net.ops->alone(net.self, &t, &time, &claims) == SC_OK)
            sum += time;
    }
    double seconds = now() - begin;
    return sum ? costs / seconds : 0;
}

int main(void) {
    struct sc_context *ctx = sc_open();
    struct sc__cluster c;
    if (!ctx || sc__cluster_parse(ctx, "dgx-h100:1024", 0, &c) != SC_OK)
        return 1;
    double computed = costs_per_second(&c, 200000);
    double engine = engine_costs_per_second(ctx, &c, 5000000);
    printf("collective costs: %.2f M/s computed, %.1f M/s by the engine (%.1f times)\n",
           computed / 1e6,
           engine / 1e6,
           engine / computed);
    sc_close(ctx);
    return engine >= 5e6 ? 0 : 1;
}
