/* packet_bench: what packets cost. A permutation and an incast over four hops
 * (host, leaf, spine, leaf, host) with every ACK, for each congestion control:
 * CPU seconds per GB of payload, events per second, and the ratio to ns-3. The
 * last line is the mean.
 *
 *     packet_bench [MB per flow] */
#include "network/packet/packet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* CPU s per GB of the repaired ns-3 of the HPCC family, as published with the
 * recorded runs of the packet engine's tests. */
#define NS3_SECONDS_PER_GB 1.05

enum { LEAVES = 4, HOSTS_PER_LEAF = 8, SPINES = 8, HOSTS = LEAVES * HOSTS_PER_LEAF };

static const uint64_t rate = 400000000000u;

static void set_map(struct sc__packet_rate_map *map, double value) {
    map->rate[0] = rate;
    map->value[0] = value;
    map->count = 1;
}

/* SimAI.conf. */
static struct sc__packet_config config_of(uint32_t control) {
    struct sc__packet_config c = {.control = control,
                                  .payload = 9000,
                                  .buffer_mib = 32,
                                  .has_window = 1,
                                  .variable_window = 1,
                                  .enable_pfc = 1,
                                  .stop_s = 10,
                                  .min_rate = 100000000,
                                  .rate_ai = 50000000,
                                  .rate_hai = 100000000,
                                  .dctcp_rate_ai = 1000000000,
                                  .gain = 0.00390625,
                                  .alpha_interval_us = 1,
                                  .decrease_interval_us = 4,
                                  .rise_interval_us = 900,
                                  .fast_recovery = 1,
                                  .target_use = 0.95,
                                  .int_multiple = 1,
                                  .fast_react = 1};
    set_map(&c.mark_from, 800);
    set_map(&c.mark_all, 3200);
    set_map(&c.mark_share, 0.2);
    return c;
}

static void add_link(struct sc__packet_topology *t, uint32_t a, uint32_t b) {
    t->links[t->link_count++] =
        (struct sc__packet_link){.a = a, .b = b, .rate = rate, .delay = 600};
}

static void leaf_spine(struct sc_context *ctx, struct sc__packet_topology *t) {
    memset(t, 0, sizeof *t);
    t->switch_count = LEAVES + SPINES;
    t->node_count = HOSTS + t->switch_count;
    t->is_switch = SC__NEW_ARRAY(&ctx->arena, bool, t->node_count);
    t->links = SC__NEW_ARRAY(&ctx->arena, struct sc__packet_link, HOSTS + LEAVES * SPINES);
    for (uint32_t i = HOSTS; i < t->node_count; i++)
        t->is_switch[i] = true;
    for (uint32_t i = 0; i < HOSTS; i++)
        add_link(t, i, HOSTS + i / HOSTS_PER_LEAF);
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
        for (uint32_t spine = 0; spine < SPINES; spine++)
            add_link(t, HOSTS + leaf, HOSTS + LEAVES + spine);
}

/* Every host sends to the one two leaves on, or the hosts of three leaves to host 0. */
static void traffic(struct sc_context *ctx,
                    bool incast,
                    uint64_t bytes,
                    struct sc__packet_flows *flows) {
    memset(flows, 0, sizeof *flows);
    for (uint32_t i = incast ? HOSTS_PER_LEAF : 0; i < HOSTS; i++) {
        struct sc__packet_flow *f =
            SC__PUSH(&ctx->arena, flows->items, flows->count, flows->capacity);
        f->from = i;
        f->to = incast ? 0 : (i + 2 * HOSTS_PER_LEAF) % HOSTS;
        f->priority = 3;
        f->source_port = 10000;
        f->target_port = 100;
        f->bytes = bytes;
        f->completion = -1;
        f->received = -1;
    }
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int
measure(const char *name, bool incast, uint32_t control, uint64_t bytes, double *cost) {
    sc_context *ctx = sc_open();
    struct sc__packet_config config = config_of(control);
    struct sc__packet_topology topology;
    struct sc__packet_flows flows;
    struct sc__packet_counters counters;
    struct sc__packet_random random = {.reference = true};
    leaf_spine(ctx, &topology);
    traffic(ctx, incast, bytes, &flows);
    double begin = cpu_seconds();
    sc_status status =
        sc__packet_simulate(ctx, &config, &topology, &flows, &random, NULL, &counters);
    double seconds = cpu_seconds() - begin;
    double gigabytes = (double)bytes * flows.count / 1e9;
    if (status != SC_OK)
        fputs(sc_error_text(ctx), stderr);
    *cost = seconds / gigabytes;
    printf("packet %-11s %-6s GB=%.2f events=%.2fM cpu_s_per_gb=%.4f events_per_s=%.1fM "
           "ns3_ratio=%.1f\n",
           incast ? "incast" : "permutation",
           name,
           gigabytes,
           (double)counters.events / 1e6,
           *cost,
           (double)counters.events / seconds / 1e6,
           NS3_SECONDS_PER_GB / *cost);
    sc_close(ctx);
    return status != SC_OK || counters.stuck || counters.cut_off;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        uint32_t control;
    } controls[] = {{"none", SC__PACKET_NO_CONTROL},
                    {"DCQCN", SC__PACKET_DCQCN},
                    {"HPCC", SC__PACKET_HPCC},
                    {"TIMELY", SC__PACKET_TIMELY},
                    {"DCTCP", SC__PACKET_DCTCP}};
    uint64_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 16) * 1000000u;
    double total = 0;
    int failed = 0;
    for (int i = 0; i < 10; i++) {
        double cost;
        failed |=
            measure(controls[i / 2].name, i % 2, controls[i / 2].control, bytes, &cost);
        total += cost / 10;
    }
    printf("packet mean cpu_s_per_gb=%.4f ns3_ratio=%.1f\n",
           total,
           NS3_SECONDS_PER_GB / total);
    return failed;
}
