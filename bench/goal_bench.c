/* goal_bench: a ring all-reduce of 1 GiB as a GOAL schedule, read and run
 * under LogGOPS, against the closed form
 *     T = 2(N − 1)(L + 2o + (s − 1)G).
 *
 *     goal_bench [ranks [file]]     file: write the binary schedule only */
#include "frontend/reader.h"
#include "simulate/simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

extern const struct sc__reader sc__reader_goal;

static void u32(FILE *f, uint32_t v) {
    fwrite(&v, 4, 1, f);
}
static void u64(FILE *f, uint64_t v) {
    fwrite(&v, 8, 1, f);
}

/* Node 2k sends in step k, node 2k+1 receives; a send waits for the receive
 * of the step before. */
static void
node(FILE *f, uint32_t i, uint32_t rank, uint32_t ranks, uint32_t steps, uint64_t chunk) {
    uint32_t step = i / 2;
    uint32_t recv = i % 2;
    uint32_t has_succ = recv && step + 1 < steps;
    u32(f, !recv && step > 0);
    fputc(recv ? 2 : 1, f);
    u32(f, recv ? (rank + ranks - 1) % ranks : (rank + 1) % ranks);
    u64(f, chunk);
    u32(f, step);
    fputc(0, f);
    fputc(0, f);
    u32(f, has_succ);
    u32(f, has_succ ? step : 0);
    u32(f, 0);
    u32(f, 0);
}

static void ring(FILE *f, uint32_t ranks) {
    uint32_t steps = 2 * (ranks - 1);
    uint32_t nodes = 2 * steps;
    uint32_t roots = steps + 1;
    uint64_t chunk = ((uint64_t)1 << 30) / ranks;
    uint64_t size =
        8 + 4 * (uint64_t)roots + 39 * (uint64_t)nodes + 4 * (uint64_t)(steps - 1);
    uint64_t at = 6 + 16 * (uint64_t)ranks;
    u64(f, 4223);
    u32(f, ranks);
    fputc(1, f);
    fputc(1, f);
    for (uint32_t r = 0; r < ranks; r++, at += size) {
        u64(f, at);
        u64(f, at + size);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        u32(f, nodes);
        u32(f, roots);
        u32(f, 0);
        for (uint32_t k = 0; k < steps; k++)
            u32(f, 2 * k + 1);
        for (uint32_t i = 0; i < nodes; i++)
            node(f, i, r, ranks, steps, chunk);
        for (uint32_t k = 1; k < steps; k++)
            u32(f, 2 * k);
    }
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int measure(const char *path, uint32_t ranks) {
    sc_context *ctx = sc_open();
    struct sc__document doc = {0};
    struct sc__net net;
    struct sc__sim sim;
    double t0 = seconds();
    sc_status s = sc__reader_goal.read(ctx, NULL, &path, 1, &doc);
    double t1 = seconds();
    if (s == SC_OK)
        s = sc__net_loggops(ctx, "3.7us,0.2us,0,0.02ns", doc.workload, &net);
    if (s == SC_OK)
        s = sc__simulate(ctx, doc.workload, &net, NULL, &sim);
    double t2 = seconds();
    if (s != SC_OK) {
        fputs(sc_error_text(ctx), stderr);
        return 1;
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    int64_t expect =
        2 * (int64_t)(ranks - 1) * (4100000 + ((int64_t)((1u << 30) / ranks) - 1) * 20);
    printf("goal ranks=%u operations=%u time_ms=%.9g expected_ms=%.9g read_s=%.2f "
           "simulate_s=%.2f "
           "rss_mb=%ld\n",
           ranks,
           doc.workload->op_count,
           (double)sim.step / 1e9,
           (double)expect / 1e9,
           t1 - t0,
           t2 - t1,
           use.ru_maxrss / 1024);
    sc_close(ctx);
    return sim.step == expect ? 0 : 1;
}

int main(int argc, char **argv) {
    uint32_t ranks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1024;
    char temporary[] = "/tmp/goal_bench.XXXXXX";
    FILE *f = argc > 2 ? fopen(argv[2], "wb") : fdopen(mkstemp(temporary), "wb");
    if (!f || ranks < 2)
        return 2;
    ring(f, ranks);
    if (fclose(f))
        return 2;
    if (argc > 2)
        return 0;
    int rc = measure(temporary, ranks);
    unlink(temporary);
    return rc;
}
