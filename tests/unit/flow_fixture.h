/* What tests of engines run: options, collectives, eight messages. */
#ifndef SC_TESTS_FLOW_FIXTURE_H
#define SC_TESTS_FLOW_FIXTURE_H

#include "network/flow/flow.h"
#include "simulate/simulate.h"

#include "test.h"

struct option_value {
    const char *name;
    const char *value;
};

static inline const char *nth(const void *self, const char *name, unsigned i) {
    for (const struct option_value *v = self; v && v->name; v++)
        if (!strcmp(v->name, name) && i-- == 0)
            return v->value;
    return NULL;
}

static inline sc_status network(struct sc_context *ctx,
                                bool flow,
                                const struct option_value *options,
                                const struct sc__cluster *c,
                                const struct sc__workload *w,
                                struct sc__net *net) {
    struct sc__settings settings = {.nth = nth, .self = options, .ctx = ctx};
    return flow ? sc__net_flow(ctx, c, w, &settings, net)
                : sc__net_analytic(ctx, c, w, net);
}

/* A collective of every tp-th GPU, in tp groups at once, so many times. */
static inline struct sc__workload *collectives(struct sc__arena *arena,
                                               uint32_t gpus,
                                               uint32_t tp,
                                               int coll,
                                               uint64_t bytes,
                                               unsigned times) {
    struct sc__workload *w = sc__workload_new(arena, "test");
    w->mesh = sc__mesh(tp, 1, 1, gpus / tp, 1, 1);
    sc__block_begin(w);
    struct sc__op *op = sc__block_add(w, SC__OP_COLLECTIVE, SC__UPDATE, 0, "c");
    op->coll = (uint8_t)coll;
    op->bytes = bytes;
    op->peer = 0;
    op->group = sc__workload_group(w, SC__GROUP_DP);
    uint32_t block = sc__block_end(w);
    uint32_t program = sc__program_begin(w);
    for (unsigned i = 0; i < times; i++)
        sc__program_call(w, block, SC__NONE, 0, 0);
    sc__class_add(w, program, 0, gpus, 0);
    return w;
}

/* One collective of all GPUs. */
static inline struct sc__workload *
one_collective(struct sc__arena *arena, uint32_t gpus, int coll, uint64_t bytes) {
    return collectives(arena, gpus, 1, coll, bytes, 1);
}

/* Sixteen GPUs of one NIC each (50 GB/s, no latency); stage 0 is GPUs 0–7,
 * stage 1 GPUs 8–15. Every GPU of stage 0 sends to its partner, so many times. */
#define ONE_CARD                                                                           \
    "node=1 nics=1 nic=50GB/s fabric=fat-tree class=plain hop=0us switch-latency=0us"
#define PLAIN "gpus=16 " ONE_CARD

static inline struct sc__workload *
eight_messages(struct sc__arena *arena, uint64_t bytes, uint32_t times) {
    struct sc__workload *w = sc__workload_new(arena, "test");
    w->mesh = sc__mesh(1, 1, 1, 8, 2, 1);
    for (uint32_t stage = 0; stage < 2; stage++) {
        sc__block_begin(w);
        struct sc__op *op =
            sc__block_add(w, stage ? SC__OP_RECV : SC__OP_SEND, SC__FORWARD, 0, "m");
        op->bytes = bytes;
        op->flags = stage ? SC__OP_PEER_PREV : SC__OP_PEER_NEXT;
        uint32_t block = sc__block_end(w);
        uint32_t program = sc__program_begin(w);
        for (uint32_t i = 0; i < times; i++)
            sc__program_call(w, block, i, 0, 0);
        sc__class_add(w, program, 8 * stage, 8, stage);
    }
    return w;
}

#endif
