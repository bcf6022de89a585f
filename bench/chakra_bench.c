/* chakra_bench: a synthetic Chakra trace of 64 ranks (compute, collectives of
 * groups of 8 by 1 and 8 by 8, messages round a ring), read and simulated.
 *
 *     chakra_bench [nodes [directory]]     directory: write the trace only */
#include "frontend/reader.h"
#include "simulate/simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern const struct sc__reader sc__reader_chakra;
enum { RANKS = 64, COMP = 4, SEND, RECV, COLL };

struct bytes {
    unsigned char data[1024];
    size_t n;
};

static void varint(struct bytes *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        b->data[b->n++] = (unsigned char)(v | 0x80);
    b->data[b->n++] = (unsigned char)v;
}

static void string(struct bytes *b, unsigned field, const void *s, size_t n) {
    varint(b, field << 3 | 2);
    varint(b, n);
    memcpy(b->data + b->n, s, n);
    b->n += n;
}

static void number(struct bytes *node, const char *name, uint64_t v) {
    struct bytes a = {.n = 0};
    string(&a, 1, name, strlen(name));
    varint(&a, 9 << 3);
    varint(&a, v);
    string(node, 10, a.data, a.n);
}

static void words(struct bytes *node, const char *name, const char *v) {
    struct bytes a = {.n = 0};
    string(&a, 1, name, strlen(name));
    string(&a, 29, v, strlen(v));
    string(node, 10, a.data, a.n);
}

static void attributes(struct bytes *b, unsigned type, unsigned rank, unsigned i) {
    char group[16];
    number(b, "is_cpu_op", 0);
    words(b, "inputs", "mb0.transformer.1.input_norm.y@0MicroBatch/dp,Seq/(cp*tp),Dmodel");
    if (type == COMP) {
        number(b, "num_ops", 103079215104);
        number(b, "tensor_size", 12582912);
    } else if (type == COLL) {
        snprintf(group, sizeof group, "%u", i % 8 == 4 ? 1 + rank / 8 : 9 + rank % 8);
        number(b, "comm_type", i % 8 == 4 ? 7 : 0);
        number(b, "comm_size", 8388608);
        words(b, "pg_name", group);
    } else {
        number(b, "comm_size", 4194304);
        number(b, "comm_tag", i / 8);
        number(b,
               type == SEND ? "comm_dst" : "comm_src",
               type == SEND ? (rank + 1) % RANKS : (rank + RANKS - 1) % RANKS);
    }
}

/* Eight nodes a round: compute, collective, compute …, a message in and out. */
static void node(FILE *f, unsigned rank, unsigned i) {
    static const unsigned char types[8] = {COMP, COMP, SEND, COMP, COLL, RECV, COLL, COMP};
    struct bytes b = {.n = 0};
    struct bytes deps = {.n = 0};
    struct bytes head = {.n = 0};
    char name[64];
    unsigned type = types[i % 8];
    int n = snprintf(name,
                     sizeof name,
                     "mb%u.transformer.%u.op_%u",
                     i / 512,
                     i / 8 % 64,
                     i % 8);
    varint(&b, 1 << 3);
    varint(&b, i);
    string(&b, 2, name, (size_t)n);
    varint(&b, 3 << 3);
    varint(&b, type);
    if (i && type != RECV)
        varint(&deps, i - 1);
    if (i > 2 && type == COMP)
        varint(&deps, i - 2);
    if (deps.n)
        string(&b, 5, deps.data, deps.n);
    attributes(&b, type, rank, i);
    varint(&head, b.n);
    fwrite(head.data, 1, head.n, f);
    fwrite(b.data, 1, b.n, f);
}

static int generate(const char *dir, unsigned nodes) {
    char path[256];
    for (unsigned rank = 0; rank < RANKS; rank++) {
        snprintf(path, sizeof path, "%s/w.%u.et", dir, rank);
        FILE *f = fopen(path, "wb");
        if (!f)
            return 2;
        fwrite("\7\12\0050.0.4", 1, 8, f);
        for (unsigned i = 0; i < nodes / RANKS / 8 * 8; i++)
            node(f, rank, i);
        fclose(f);
    }
    snprintf(path, sizeof path, "%s/w.json", dir);
    FILE *f = fopen(path, "w");
    if (!f)
        return 2;
    for (unsigned g = 0; g < 16; g++) {
        fprintf(f, "%s\"%u\": [", g ? ", " : "{", g + 1);
        for (unsigned i = 0; i < 8; i++)
            fprintf(f, "%s%u", i ? ", " : "", g < 8 ? g * 8 + i : i * 8 + g - 8);
        fputs("]", f);
    }
    fputs("}\n", f);
    return fclose(f) ? 2 : 0;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int measure(const char *dir) {
    sc_context *ctx = sc_open();
    struct sc__document doc = {0};
    struct sc__cluster cluster;
    struct sc__net net;
    struct sc__sim sim;
    double t0 = seconds();
    sc_status s = sc__reader_chakra.read(ctx, NULL, &dir, 1, &doc);
    double t1 = seconds();
    if (s == SC_OK)
        s = sc__cluster_parse(ctx, "dgx-h100", RANKS, &cluster);
    if (s == SC_OK)
        s = sc__net_analytic(ctx, &cluster, doc.workload, &net);
    if (s == SC_OK)
        s = sc__simulate(ctx, doc.workload, &net, NULL, &sim);
    double t2 = seconds();
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    if (s != SC_OK)
        fputs(sc_error_text(ctx), stderr);
    else
        printf("chakra ranks=%d nodes=%u step_ms=%.3f read_s=%.2f simulate_s=%.2f "
               "rss_mb=%ld\n",
               RANKS,
               doc.workload->op_count,
               (double)sim.step / 1e9,
               t1 - t0,
               t2 - t1,
               use.ru_maxrss / 1024);
    sc_close(ctx);
    return s != SC_OK;
}

int main(int argc, char **argv) {
    unsigned nodes = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 800000;
    char temporary[] = "/tmp/chakra_bench.XXXXXX";
    char path[256];
    const char *dir = argc > 2 ? argv[2] : mkdtemp(temporary);
    if (!dir || generate(dir, nodes))
        return 2;
    if (argc > 2)
        return 0;
    int rc = measure(dir);
    for (unsigned i = 0; i < RANKS; i++) {
        snprintf(path, sizeof path, "%s/w.%u.et", dir, i);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/w.json", dir);
    unlink(path);
    rmdir(dir);
    return rc;
}
