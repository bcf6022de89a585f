/* Flow-level engine against SimGrid, on the traffic of the oracle: a ring in
 * ten steps, permutations and all-to-alls of equal and unequal sizes. With
 * SIMGRID naming the SimGrid program (bench/simgrid_flows.cc) it runs the same
 * flows there, compares the finish times and prints the ratio of CPU times.
 * Cases that take SimGrid minutes are compared only with BENCH_FULL set.
 *
 *     flow_bench                 all cases
 *     flow_bench dump CASE N     the flows of a case, as `stepcast flows` reads them
 */
#include "network/flow/flow_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct job {
    struct sc_context *ctx;
    struct sc__flow *flows;
    uint32_t count;
    uint32_t capacity;
};

static void add(struct job *j, uint32_t from, uint32_t to, double bytes, double start) {
    *SC__PUSH(&j->ctx->arena, j->flows, j->count, j->capacity) =
        (struct sc__flow){.from = from,
                          .to = to,
                          .bytes = bytes,
                          .start = start,
                          .weight = 1};
}

static void make_ring(struct job *j, uint32_t n) {
    double step = 67108864 / 50e9;
    for (uint32_t s = 0; s < 10; s++)
        for (uint32_t i = 0; i < n; i++)
            add(j, i, (i + 1) % n, 67108864, s * step);
}

static void make_permutation(struct job *j, uint32_t n, bool unequal) {
    uint32_t *to = SC__NEW_ARRAY(&j->ctx->arena, uint32_t, n);
    uint64_t state = 12345;
    for (uint32_t i = 0; i < n; i++)
        to[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        state = sc__splitmix64(state);
        uint32_t k = (uint32_t)(state % (i + 1));
        uint32_t t = to[i];
        to[i] = to[k];
        to[k] = t;
    }
    for (uint32_t i = 0; i < n; i++)
        if (to[i] != i)
            add(j,
                i,
                to[i],
                unequal ? (double)(1 + sc__splitmix64(777 + i) % 67108864) : 67108864,
                0);
}

static void make_all_to_all(struct job *j, uint32_t n, bool unequal) {
    for (uint32_t d = 1; d < n; d++)
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = (i + d) % n;
            add(j,
                i,
                to,
                unequal ? (double)(1 + sc__splitmix64((uint64_t)i * n + to) % 1048576)
                        : 1048576,
                0);
        }
}

struct kind {
    const char *name;
    uint32_t n;
    const char *fabric;
    const char *route;
    double wanted; /* times faster than SimGrid */
    bool long_there;
};

static const struct kind kinds[] = {
    {"ring", 4096, "ft3:16:16:16:16", "ecmp", 50, false},
    {"perm", 4096, "ft3:16:16:16:16", "ecmp", 20, false},
    {"permvar", 4096, "ft3:16:16:16:16", "ecmp", 10, false},
    {"a2a", 128, "ls:16:16", "ecmp", 300, false},
    {"a2avar", 64, "ls:8:8", "ecmp", 10, false},
    {"a2avar", 128, "ls:16:16", "ecmp", 50, true},
    {"a2a", 256, "ls:16:16", "dmodk", 0, true},
};

static void make(struct job *j, const char *name, uint32_t n) {
    if (!strcmp(name, "ring"))
        make_ring(j, n);
    else if (!strncmp(name, "perm", 4))
        make_permutation(j, n, name[4]);
    else
        make_all_to_all(j, n, name[3]);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Best of several runs, each with its own graph and solver. */
static double measure(const struct kind *k, struct job *j, struct sc__flow_effort *effort) {
    double best = INFINITY;
    double spent = 0;
    struct sc__route_policy route;
    for (unsigned i = 0; i < 20 && spent < 1.0; i++) {
        struct sc_context *ctx = sc_open();
        struct sc__graph g;
        double start = seconds();
        if (sc__route_parse(ctx, k->route, &route) ||
            sc__graph_parse(ctx, k->fabric, k->n, &g) ||
            sc__flow_batch(ctx, &g, &route, j->flows, j->count, effort)) {
            fprintf(stderr, "%s", sc_error_text(ctx));
            exit(1);
        }
        double time = seconds() - start;
        sc_close(ctx);
        spent += time;
        if (time < best)
            best = time;
    }
    return best;
}

static void dump(FILE *to, const struct job *j) {
    for (uint32_t i = 0; i < j->count; i++)
        fprintf(to,
                "%u %u %.0f %.17g\n",
                j->flows[i].from,
                j->flows[i].to,
                j->flows[i].bytes,
                j->flows[i].start);
}

static double makespan(const struct job *j) {
    double last = 0;
    for (uint32_t i = 0; i < j->count; i++)
        if (j->flows[i].finish > last)
            last = j->flows[i].finish;
    return last;
}

/* SimGrid's CPU seconds for the same flows; *off is the largest difference. */
static double simgrid(const struct kind *k, const struct job *j, double *off) {
    const char *program = getenv("SIMGRID");
    char flows[] = "/tmp/stepcast-flows-XXXXXX";
    char line[256];
    char command[1024];
    int fd = mkstemp(flows);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!program || !f)
        return 0;
    dump(f, j);
    fclose(f);
    snprintf(command,
             sizeof command,
             "%s %s %s %s 2>/dev/null",
             program,
             k->fabric,
             k->route,
             flows);
    FILE *in = popen(command, "r");
    double cpu = 0;
    double finish;
    for (uint32_t i = 0; in && fgets(line, sizeof line, in);) {
        if (sscanf(line, "cpu %lf", &cpu) == 1)
            continue;
        if (i >= j->count || sscanf(line, "%lf", &finish) != 1)
            break;
        double error = fabs(finish - j->flows[i].finish) / finish;
        if (error > *off)
            *off = error;
        i++;
    }
    if (in)
        pclose(in);
    remove(flows);
    return cpu;
}

static int run(const struct kind *k) {
    struct job j = {.ctx = sc_open()};
    struct sc__flow_effort effort;
    make(&j, k->name, k->n);
    bool skip = k->long_there && !getenv("BENCH_FULL");
    double ours = measure(k, &j, &effort);
    double off = 0;
    double theirs = skip ? 0 : simgrid(k, &j, &off);
    printf("%-8s %5u %-5s %8u flows  makespan %.11g s  %10.3f ms  %llu solves %llu levels",
           k->name,
           k->n,
           k->route,
           j.count,
           makespan(&j),
           ours * 1e3,
           (unsigned long long)effort.solves,
           (unsigned long long)effort.levels);
    if (theirs > 0)
        printf("  SimGrid %.3f s: %.0f× (wanted %.0f×), differs by %.1e",
               theirs,
               theirs / ours,
               k->wanted,
               off);
    if (skip && getenv("SIMGRID"))
        printf("  SimGrid: BENCH_FULL=1");
    putchar('\n');
    fflush(stdout);
    sc_close(j.ctx);
    return theirs > 0 && theirs / ours < k->wanted;
}

int main(int argc, char **argv) {
    int slow = 0;
    if (argc == 4 && !strcmp(argv[1], "dump")) {
        struct job j = {.ctx = sc_open()};
        make(&j, argv[2], (uint32_t)atoi(argv[3]));
        dump(stdout, &j);
        sc_close(j.ctx);
        return 0;
    }
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc < 3 ||
            (!strcmp(kinds[i].name, argv[1]) && kinds[i].n == (uint32_t)atoi(argv[2])))
            slow += run(&kinds[i]);
    return slow;
}
