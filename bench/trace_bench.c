/* trace_bench: a directory of 8192 rank files of about 40 kB each, every rank
 * with times of its own: how fast it is read, and how long the replay takes.
 *
 *     trace_bench [RANKS] [DIRECTORY]
 *
 * The job is tp 1, ep 8, pp 8 with 8 micro-batches of 4 layers a stage. */
#include "base/random.h"
#include "frontend/megatron_trace/replay.h"
#include "frontend/reader.h"
#include "simulate/simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STAGES = 8, BATCHES = 8, LAYERS = 4, EXPERTS = 8 };

/* Of this process on its core; other work on the machine does not count. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct rank {
    FILE *out;
    unsigned rank;
    unsigned stage;
    double clock; /* ms */
    uint64_t random;
};

static double jitter(struct rank *r, double ms) {
    return ms * (0.9 + 0.2 * sc__random_unit(&r->random));
}

static void record(struct rank *r,
                   const char *op,
                   unsigned batch,
                   const char *state,
                   double ms,
                   const char *group,
                   const char *shape,
                   const char *type) {
    r->clock += ms + 0.1;
    fprintf(r->out,
            "rank:%u:%s(stage_id=%u,batch_id=%u,mg_state=%s,duration=%.2f,description=None,"
            "group_"
            "kind=%s,input__shape=%s,"
            "input__dtype=%s,timestamp=%.2f,sub_operations=[",
            r->rank,
            op,
            r->stage,
            batch,
            state,
            ms,
            group,
            shape,
            type,
            r->clock);
}

static void plain(struct rank *r,
                  const char *op,
                  unsigned batch,
                  const char *state,
                  double ms,
                  const char *group,
                  const char *shape,
                  const char *type) {
    record(r, op, batch, state, ms, group, shape, type);
    fprintf(r->out, "])\n");
}

static void sub(struct rank *r,
                double at,
                const char *source,
                const char *coll,
                const char *shape,
                const char *type,
                bool first) {
    fprintf(
        r->out,
        "%s'trace_src_func=%s,duration=%.2f,timestamp=%.2f,input__shape=%s,input__dtype=%s,"
        "func_name=%s,group=exp,"
        "comm_func=%s'",
        first ? "" : ", ",
        source,
        jitter(r, 0.15),
        at,
        shape,
        type,
        source,
        coll);
}

static void step(struct rank *r, const char *op, unsigned batch, double ms, bool gather) {
    record(r, op, batch, "steady", ms, "None", "None", "None");
    double start = r->clock - ms;
    double layer = ms / LAYERS;
    for (unsigned l = 0; l < LAYERS; l++) {
        double at = start + l * layer;
        if (gather)
            sub(r,
                at + 0.4 * layer,
                "_gather_along_first_dim_expert_parallel",
                "allgather",
                "[8]",
                "torch.int64",
                l == 0);
        sub(r,
            at + 0.5 * layer,
            "_profiled_all_to_all_single",
            "all_to_all",
            "[2048, 4096]",
            "torch.bfloat16",
            !gather && l == 0);
        sub(r,
            at + 0.9 * layer,
            "_profiled_all_to_all_single",
            "all_to_all",
            "[2924, 4096]",
            "torch.bfloat16",
            false);
    }
    fprintf(r->out, "])\n");
}

static void message(struct rank *r, const char *op, unsigned batch) {
    plain(r, op, batch, "steady", 0.4, "pp", "[1024, 1, 4096]", "torch.bfloat16");
}

static void forward(struct rank *r, unsigned i) {
    if (r->stage == 0 || r->stage == STAGES - 1)
        plain(r, "get_batch", i, "steady", 0.3, "None", "None", "None");
    step(r, "forward_step", i, jitter(r, 22), true);
}

/* Fused exchanges: two records with the same end. */
static void exchange(struct rank *r,
                     const char *a,
                     unsigned i,
                     bool has_a,
                     const char *b,
                     unsigned j,
                     bool has_b) {
    if (has_a)
        message(r, a, i);
    if (has_a && has_b)
        r->clock -= 0.5;
    if (has_b)
        message(r, b, j);
}

static void write_rank(struct rank *r) {
    bool first = r->stage == 0, last = r->stage == STAGES - 1;
    unsigned warm = STAGES - r->stage - 1 < BATCHES ? STAGES - r->stage - 1 : BATCHES;
    unsigned left = BATCHES - warm;
    for (unsigned i = 0; i < warm; i++) {
        if (!first)
            message(r, "recv_forward", i);
        forward(r, i);
        message(r, "send_forward", i);
    }
    if (!first && left)
        message(r, "recv_forward", warm);
    for (unsigned i = 0; i < left; i++) {
        forward(r, warm + i);
        exchange(r, "send_forward", warm + i, !last, "recv_backward", i, !last);
        step(r, "backward_step", i, jitter(r, 35), false);
        exchange(r,
                 "send_backward",
                 i,
                 !first,
                 "recv_forward",
                 warm + i + 1,
                 !first && i + 1 < left);
    }
    for (unsigned i = left; i < BATCHES; i++) {
        message(r, "recv_backward", i);
        step(r, "backward_step", i, jitter(r, 35), false);
        if (!first)
            message(r, "send_backward", i);
    }
    plain(r, "dp_allreduce", 0, "finalize", 15, "dp", "[373981184]", "torch.float32");
    plain(r,
          "ep_dp_allreduce",
          0,
          "finalize",
          40,
          "ep_dp",
          "[1409286144]",
          "torch.float32");
    plain(r, "optimizer_step", 0, "finalize", jitter(r, 40), "None", "None", "None");
}

static double write_all(const char *directory, unsigned ranks) {
    double bytes = 0;
    for (unsigned i = 0; i < ranks; i++) {
        char path[512];
        snprintf(path,
                 sizeof path,
                 "%s/wd%u_tp1_pp%u_exp%u_expNum8_l%u_bs1_rank%u_20250818085316.txt",
                 directory,
                 ranks,
                 STAGES,
                 EXPERTS,
                 LAYERS * STAGES,
                 i);
        struct rank r = {fopen(path, "w"), i, i / (ranks / STAGES), 3370621243.54 + i, i};
        if (!r.out) {
            perror(path);
            exit(4);
        }
        write_rank(&r);
        bytes += (double)ftell(r.out);
        fclose(r.out);
    }
    return bytes;
}

static void remove_all(const char *directory, const struct sc__document *doc) {
    for (uint32_t i = 0; i < doc->file_count; i++)
        unlink(doc->files[i]);
    rmdir(directory);
}

static const char *no_setting(const void *self, const char *name, unsigned i) {
    (void)self;
    (void)name;
    (void)i;
    return NULL;
}

static int failed(const struct sc_context *ctx) {
    fprintf(stderr, "%s\n", sc_error_text(ctx));
    return 3;
}

int main(int argc, char **argv) {
    unsigned ranks = argc > 1 ? (unsigned)atoi(argv[1]) : 8192;
    char directory[256];
    snprintf(directory,
             sizeof directory,
             "%s/stepcast_traces_XXXXXX",
             argc > 2 ? argv[2] : "/tmp");
    if (ranks % (STAGES * EXPERTS) || !mkdtemp(directory))
        return 2;
    struct sc_context *ctx = sc_open();
    struct sc__settings settings = {no_setting, NULL, ctx};
    const char *path = directory;
    double bytes = write_all(directory, ranks);
    double t0 = seconds();
    struct sc__document doc;
    struct sc__workload *w;
    struct sc__cluster cluster;
    struct sc__net net;
    struct sc__sim sim;
    if (sc__import(ctx, &settings, NULL, &path, 1, &doc) != SC_OK)
        return failed(ctx);
    double t1 = seconds();
    if (sc__lower_replay(ctx, &settings, doc.traces, &w) != SC_OK)
        return failed(ctx);
    double t2 = seconds();
    if (sc__cluster_parse(ctx, "hgx-h800", ranks, &cluster) != SC_OK ||
        sc__net_analytic(ctx, &cluster, w, &net) != SC_OK ||
        sc__simulate(ctx, w, &net, NULL, &sim) != SC_OK)
        return failed(ctx);
    double t3 = seconds();
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("trace-parse   %u files, %.0f MB, %.2f s, %.0f MB/s (at least 200)\n",
           ranks,
           bytes / 1e6,
           t1 - t0,
           bytes / 1e6 / (t1 - t0));
    printf("trace-replay  %u ranks, %u operations, %.2f s to lower + %.2f s to simulate = "
           "%.2f s "
           "(less than 5), %ld MB\n",
           ranks,
           w->op_count,
           t2 - t1,
           t3 - t2,
           t3 - t1,
           use.ru_maxrss / 1024);
    remove_all(directory, &doc);
    bool ok = bytes / 1e6 / (t1 - t0) >= 200 && t3 - t1 < 5;
    sc_close(ctx);
    return ok ? 0 : 1;
}
