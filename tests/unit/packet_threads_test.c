/* The packet engine with one thread and several: the same picosecond and the same packets,
 * for sets of groups that do not look alike and for the sizes of a large transfer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "network/packet/packet_engine.h"
#include "simulate/simulate.h"

#include <stdio.h>
#include <string.h>

/* Groups of four lie on two nodes, below one leaf or two. */
static const char tree[] =
    "gpu=h100 node=2 nvlink=450GB/s nics=2 nic=400Gbps fabric=fat-tree leaf=3 class=ib";

struct thread_case {
    const char *cluster;
    const char *cc;
    uint32_t gpus;
    uint32_t tp;
    int coll;
    uint64_t bytes;
};

static const char *nth(const void *self, const char *name, unsigned i) {
    const struct thread_case *c = self;
    if (i)
        return NULL;
    if (!strcmp(name, "cc"))
        return c->cc;
    return !strcmp(name, "route") ? "ecmp:3" : NULL;
}

static struct sc__workload *collective(struct sc__arena *arena,
                                       const struct thread_case *c) {
    struct sc__workload *w = sc__workload_new(arena, "test");
    w->mesh = sc__mesh(c->tp, 1, 1, c->gpus / c->tp, 1, 1);
    sc__block_begin(w);
    struct sc__op *op = sc__block_add(w, SC__OP_COLLECTIVE, SC__UPDATE, 0, "c");
    op->coll = (uint8_t)c->coll;
    op->bytes = c->bytes;
    op->group = sc__workload_group(w, c->tp > 1 ? SC__GROUP_TP : SC__GROUP_DP);
    uint32_t block = sc__block_end(w);
    uint32_t program = sc__program_begin(w);
    sc__program_call(w, block, SC__NONE, 0, 0);
    sc__class_add(w, program, 0, c->gpus, 0);
    return w;
}

static void ignore_use(void *to, const struct sc_link_use *use) {
    (void)to;
    (void)use;
}

/* The step in ps, and in `text` what the engine says of it. */
static int64_t run(const struct thread_case *c, unsigned jobs, char text[512]) {
    struct sc_context *ctx = sc_open();
    struct sc__cluster *cluster = SC__NEW(&ctx->arena, struct sc__cluster);
    struct sc__workload *w = collective(&ctx->arena, c);
    struct sc__settings settings = {.nth = nth, .self = c, .ctx = ctx};
    struct sc__net net;
    struct sc__sim sim = {0};
    ctx->jobs = jobs;
    assert_int_equal(sc__cluster_parse(ctx, c->cluster, c->gpus, cluster), SC_OK);
    assert_int_equal(sc__net_packet(ctx, cluster, w, &settings, &net), SC_OK);
    if (sc__simulate(ctx, w, &net, NULL, &sim))
        snprintf(text, 512, "%s", sc_error_text(ctx));
    else {
        assert_int_equal(net.ops->links(net.self, sim.step, ignore_use, NULL), SC_OK);
        snprintf(text, 512, "%s", ctx->notes[ctx->note_count - 1].text);
    }
    net.ops->destroy(net.self);
    sc_close(ctx);
    return sim.step;
}

static void same_for_any_threads(void **unused) {
    (void)unused;
    static const struct thread_case cases[] = {
        {tree, "dcqcn", 24, 4, SC__ALLTOALL, (uint64_t)4 << 20},
        {tree, "hpcc-pint", 24, 4, SC__ALLGATHER, (uint64_t)8 << 20},
        {tree, "nscc", 24, 4, SC__ALLTOALL, (uint64_t)1 << 20},
        /* so large that three smaller ones stand for it */
        {"dgx-h100", "swift", 16, 1, SC__ALLTOALL, (uint64_t)8 << 30},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char one[512];
        int64_t step = run(&cases[i], 1, one);
        assert_true(step > 0);
        assert_non_null(strstr(one, "packets were simulated"));
        for (unsigned jobs = 2; jobs <= 8; jobs *= 4) {
            char several[512];
            assert_int_equal(run(&cases[i], jobs, several), step);
            assert_string_equal(several, one);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_for_any_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
