/* A small training step for tests of reports: a 1F1B pipeline written out by
 * hand, with a network whose times can be worked out on paper. */
#ifndef STEP_FIXTURE_H
#define STEP_FIXTURE_H

#include "result/result.h"
#include "simulate/simulate.h"

/* ---- a network without contention: a fixed time per message and per collective ---- */

struct fixed_net {
    struct sc__heap heap;
    struct sc_transfer *items;
    uint32_t count;
    uint32_t capacity;
    /* ps */
    int64_t message;
    int64_t collective;
    struct sc__arena *arena;
};

static sc_status fixed_alone(void *self,
                             const struct sc_transfer *t,
                             int64_t *time,
                             struct sc_claims *claims) {
    const struct fixed_net *n = self;
    claims->count = 0;
    claims->contended = false;
    *time = t->coll == SC__COLLS ? n->message : n->collective;
    return SC_OK;
}

static sc_status fixed_start(void *self, const struct sc_transfer *t, int64_t now) {
    struct fixed_net *n = self;
    struct sc_claims unused;
    int64_t time;
    *SC__PUSH(n->arena, n->items, n->count, n->capacity) = *t;
    SC__TRY(fixed_alone(n, t, &time, &unused));
    sc__heap_push(&n->heap, now + time, n->count - 1, 0);
    return SC_OK;
}

static sc_status fixed_next(void *self, int64_t *when) {
    *when = sc__heap_time(&((struct fixed_net *)self)->heap);
    return SC_OK;
}

static sc_status
fixed_finish(void *self, int64_t to, struct sc_transfer *done, bool *found) {
    struct fixed_net *n = self;
    *found = sc__heap_time(&n->heap) <= to && !sc__heap_empty(&n->heap);
    if (*found)
        *done = n->items[sc__heap_pop(&n->heap).a];
    return SC_OK;
}

static const struct sc_engine fixed_ops = {.name = "fixed",
                                           .alone = fixed_alone,
                                           .start = fixed_start,
                                           .next = fixed_next,
                                           .finish = fixed_finish};

static struct sc__net
fixed_net(struct sc_context *ctx, int64_t message, int64_t collective) {
    struct fixed_net *n = SC__NEW(&ctx->arena, struct fixed_net);
    *n = (struct fixed_net){.message = message,
                            .collective = collective,
                            .arena = &ctx->arena};
    sc__heap_init(&n->heap, &ctx->arena);
    return (struct sc__net){.ops = &fixed_ops, .self = n};
}

/* ---- the workload ---- */

struct step_plan {
    /* layers of a stage */
    uint32_t pp;
    uint32_t tp;
    uint32_t dp;
    uint32_t micro_batches;
    uint32_t layers;
    /* ps of a layer, and once */
    int64_t forward;
    int64_t backward;
    int64_t update;
    bool recompute;
};

/* One stream for each direction and side of messages, or blocking sends could
 * wait for each other. */
enum { COMPUTE, GRADIENTS, RECV_FORWARD, SEND_FORWARD, RECV_BACKWARD, SEND_BACKWARD };

static void layer(struct sc__workload *w,
                  const struct step_plan *p,
                  enum sc__phase phase,
                  uint32_t index) {
    struct sc__op *op = sc__block_add(w,
                                      SC__OP_COMPUTE,
                                      phase,
                                      COMPUTE,
                                      phase == SC__FORWARD ? "mlp" : "mlp_grad");
    op->cost = phase == SC__BACKWARD ? p->backward : p->forward;
    op->work = index % 2 ? SC__WORK_ATTENTION : SC__WORK_GEMM;
    op->layer = index;
    if (p->tp < 2)
        return;
    op = sc__block_add(w, SC__OP_COLLECTIVE, phase, COMPUTE, "tp_allreduce");
    op->coll = SC__ALLREDUCE;
    op->group = sc__workload_group(w, SC__GROUP_TP);
    op->bytes = 1 << 24;
    op->layer = index;
}

static void message(struct sc__workload *w,
                    enum sc__op_kind kind,
                    enum sc__phase phase,
                    uint8_t to,
                    uint32_t tag,
                    bool before) {
    uint8_t stream =
        (uint8_t)(RECV_FORWARD + (kind == SC__OP_SEND) + 2 * (phase == SC__BACKWARD));
    struct sc__op *op =
        sc__block_add(w, kind, phase, stream, kind == SC__OP_SEND ? "send" : "recv");
    op->flags = to;
    op->tag = tag;
    op->bytes = 1 << 22;
    if (!before)
        op->after = 1 << COMPUTE;
    if (before)
        sc__block_add(w, SC__OP_WAIT, phase, COMPUTE, "wait")->after =
            (uint16_t)(1u << stream);
}

static uint32_t half_step(struct sc__workload *w,
                          const struct step_plan *p,
                          uint32_t stage,
                          bool backward) {
    enum sc__phase phase = backward ? SC__BACKWARD : SC__FORWARD;
    bool first = backward ? stage + 1 == p->pp : stage == 0,
         last = backward ? stage == 0 : stage + 1 == p->pp;
    uint8_t from = backward ? SC__OP_PEER_NEXT : SC__OP_PEER_PREV,
            to = backward ? SC__OP_PEER_PREV : SC__OP_PEER_NEXT;
    sc__block_begin(w);
    if (!first)
        message(w, SC__OP_RECV, phase, from, backward, true);
    for (uint32_t i = 0; i < p->layers; i++) {
        if (backward && p->recompute)
            layer(w, p, SC__RECOMPUTE, i);
        layer(w, p, phase, i);
    }
    if (!last)
        message(w, SC__OP_SEND, phase, to, backward, false);
    return sc__block_end(w);
}

static uint32_t last_part(struct sc__workload *w, const struct step_plan *p) {
    struct sc__op *op;
    sc__block_begin(w);
    if (p->dp > 1) {
        op = sc__block_add(w, SC__OP_COLLECTIVE, SC__UPDATE, GRADIENTS, "grad_reduce");
        op->after = 1 << COMPUTE;
        op->coll = SC__REDUCESCATTER;
        op->group = sc__workload_group(w, SC__GROUP_DP);
        op->bytes = (uint64_t)1 << 30;
        sc__block_add(w, SC__OP_WAIT, SC__UPDATE, COMPUTE, "wait")->after = 1 << GRADIENTS;
    }
    op = sc__block_add(w, SC__OP_COMPUTE, SC__UPDATE, COMPUTE, "adam");
    op->cost = p->update;
    op->work = SC__WORK_OPTIMIZER;
    return sc__block_end(w);
}

static void step_stage(struct sc__workload *w, const struct step_plan *p, uint32_t stage) {
    uint32_t f = half_step(w, p, stage, false), b = half_step(w, p, stage, true),
             u = last_part(w, p);
    uint32_t warm =
        p->pp - stage - 1 < p->micro_batches ? p->pp - stage - 1 : p->micro_batches;
    uint32_t program = sc__program_begin(w), next = 0;
    for (; next < warm; next++)
        sc__program_call(w, f, next, 0, next * 2);
    for (uint32_t m = 0; m < p->micro_batches; m++) {
        if (next < p->micro_batches) {
            sc__program_call(w, f, next, 0, next * 2);
            next++;
        }
        sc__program_call(w, b, m, 0, m * 2);
    }
    sc__program_call(w, u, SC__NONE, 0, 0);
    sc__class_add(w, program, stage * p->tp * p->dp, p->tp * p->dp, stage);
}

static struct sc__workload *step_workload(struct sc_context *ctx,
                                          const struct step_plan *p) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "test");
    w->mesh = sc__mesh(p->tp, 1, 1, p->dp, p->pp, 0);
    w->micro_batches = p->micro_batches;
    w->vpp = 1;
    w->stream_names[COMPUTE] = "compute";
    w->stream_names[GRADIENTS] = "dp";
    for (uint32_t s = 0; s < p->pp; s++)
        step_stage(w, p, s);
    return w;
}

#endif
