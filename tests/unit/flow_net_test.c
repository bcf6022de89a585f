/* The flow engine under the executor: one collective alone agrees with the
 * analytic engine on every preset; contention costs what a hand computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simulate/flow.h"
#include "simulate/simulate.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct option_value {
    const char *name, *value;
};

static const char *nth(const void *self, const char *name, unsigned i) {
    for (const struct option_value *v = self; v && v->name; v++)
        if (!strcmp(v->name, name) && i-- == 0) return v->value;
    return NULL;
}

static sc_status network(struct sc_context *ctx, bool flow, const struct option_value *options,
                         const struct sc__cluster *c, const struct sc__workload *w, struct sc__net *net) {
    struct sc__settings settings = {.nth = nth, .self = options, .ctx = ctx};
    return flow ? sc__net_flow(ctx, c, w, &settings, net) : sc__net_analytic(ctx, c, w, net);
}

/* One collective of all GPUs, as a workload. */
static struct sc__workload *one_collective(struct sc__arena *arena, uint32_t gpus, int coll, uint64_t bytes) {
    struct sc__workload *w = sc__workload_new(arena, "test");
    w->mesh = sc__mesh(1, 1, 1, gpus, 1, 1);
    sc__block_begin(w);
    struct sc__op *op = sc__block_add(w, SC__OP_COLLECTIVE, SC__UPDATE, 0, "c");
    op->coll = (uint8_t)coll;
    op->bytes = bytes;
    op->peer = 0;
    op->group = sc__workload_group(w, SC__GROUP_DP);
    uint32_t block = sc__block_end(w), program = sc__program_begin(w);
    sc__program_call(w, block, SC__NONE, 0, 0);
    sc__class_add(w, program, 0, gpus, 0);
    return w;
}

static int64_t step(struct sc_context *ctx, const char *cluster, bool flow, const struct option_value *options,
                    const struct sc__workload *w) {
    struct sc__cluster *c = SC__NEW(&ctx->arena, struct sc__cluster);
    struct sc__net net;
    struct sc__sim sim;
    if (sc__cluster_parse(ctx, cluster, sc__mesh_ranks(&w->mesh), c) || network(ctx, flow, options, c, w, &net) ||
        sc__simulate(ctx, w, &net, NULL, &sim))
        fail_msg("%s: %s", cluster, sc_error_text(ctx));
    return sim.step;
}

static void alone_agrees_with_analytic(void **unused) {
    (void)unused;
    static const char *const clusters[] = {"dgx-a100:%u", "dgx-h100:%u",    "dgx-b200:%u",   "hgx-h200:%u",
                                           "hgx-h800:%u", "gb200-nvl72:%u", "a100-pcie:%u",  "hpn:%u",
                                           "gpu=h100 gpus=%u node=8 nvlink=450GB/s nics=8 nic=400Gbps hop=2us"};
    static const uint32_t sizes[] = {8, 16, 64, 256};
    for (unsigned k = 0; k < sizeof clusters / sizeof *clusters; k++)
        for (unsigned s = 0; s < 4; s++)
            for (int coll = SC__ALLREDUCE; coll <= SC__REDUCE; coll++) {
                struct sc_context *ctx = sc_open();
                char name[128];
                uint32_t gpus = strstr(clusters[k], "nvl72") && s ? 36u << s : sizes[s]; /* whole nodes */
                snprintf(name, sizeof name, clusters[k], gpus);
                const struct option_value spray[] = {{"route", "spray"}, {0}};
                struct sc__workload *w = one_collective(&ctx->arena, gpus, coll, (uint64_t)1 << 30);
                double flow = (double)step(ctx, name, true, spray, w), plain = (double)step(ctx, name, false, NULL, w);
                if (fabs(flow / plain - 1) > 0.02)
                    fail_msg("%s of 1 GiB on %s: %.1f us, analytic %.1f us", sc__coll_name((enum sc__coll)coll), name,
                             flow / 1e6, plain / 1e6);
                sc_close(ctx);
            }
}

static void ring_of_65536(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__workload *w = one_collective(&ctx->arena, 65536, SC__ALLREDUCE, (uint64_t)1 << 30);
    clock_t begin = clock();
    int64_t time = step(ctx, "dgx-h100:65536", true, NULL, w);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("65536 GPUs: %.1f us, %.2f s, %zu MB\n", (double)time / 1e6, seconds, ctx->arena.total >> 20);
    assert_true(seconds < 2);
    assert_true(ctx->arena.total < (size_t)1 << 30);
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_agrees_with_analytic),
        cmocka_unit_test(ring_of_65536),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
