#include "lower/pipeline.h"

/* The four messages a stage takes part in, each a block of its own that every
 * micro-batch calls with its tag. A send leaves on a stream of its own once
 * the compute before it is done. A receive holds the compute stream; or, with
 * overlap, it is posted ahead and the compute stream waits for it. */
struct messages {
    uint32_t recv_forward, send_forward, recv_backward, send_backward;
};

static uint32_t send_block(struct sc__workload *w, uint64_t bytes, bool forward) {
    sc__block_begin(w);
    struct sc__op *op =
        sc__block_add(w, SC__OP_SEND, forward ? SC__FORWARD : SC__BACKWARD,
                      forward ? SC__STREAM_P2P : SC__STREAM_P2P_BACK, forward ? "send_forward" : "send_backward");
    op->bytes = bytes;
    op->after = 1u << SC__STREAM_COMPUTE;
    op->flags = forward ? SC__OP_PEER_NEXT : SC__OP_PEER_PREV;
    return sc__block_end(w);
}

static uint32_t recv_block(struct sc__workload *w, uint64_t bytes, bool forward, bool overlap) {
    uint8_t ahead = forward ? SC__STREAM_RECV : SC__STREAM_RECV_BACK;
    enum sc__phase phase = forward ? SC__FORWARD : SC__BACKWARD;
    sc__block_begin(w);
    struct sc__op *op = sc__block_add(w, SC__OP_RECV, phase, overlap ? ahead : SC__STREAM_COMPUTE,
                                      forward ? "recv_forward" : "recv_backward");
    op->bytes = bytes;
    op->flags = forward ? SC__OP_PEER_PREV : SC__OP_PEER_NEXT;
    if (overlap) sc__block_add(w, SC__OP_WAIT, phase, SC__STREAM_COMPUTE, "wait_recv")->after = (uint16_t)(1u << ahead);
    return sc__block_end(w);
}

static uint32_t tag_of(const struct sc__pipeline *p, uint32_t micro_batch, uint32_t chunk, bool forward) {
    return (micro_batch * p->vpp + chunk) * 2 + forward;
}

static void call(struct sc__workload *w, uint32_t block, const struct sc__slot *s, uint32_t tag) {
    if (block != SC__NONE) sc__program_call(w, block, s->micro_batch, s->chunk, tag);
}

static void lower_forward(struct sc__workload *w, const struct sc__pipeline *p, const struct messages *m,
                          uint32_t stage, const struct sc__slot *s) {
    bool first = stage == 0, last = stage == p->pp - 1;
    if (!(first && s->chunk == 0)) call(w, m->recv_forward, s, tag_of(p, s->micro_batch, s->chunk, true));
    call(w, p->forward(p->self, stage, s->chunk, s->micro_batch), s, 0);
    if (!(last && s->chunk == p->vpp - 1))
        call(w, m->send_forward, s, tag_of(p, s->micro_batch, s->chunk + last, true));
}

static void lower_backward(struct sc__workload *w, const struct sc__pipeline *p, const struct messages *m,
                           uint32_t stage, const struct sc__slot *s) {
    bool first = stage == 0, last = stage == p->pp - 1;
    if (!(last && s->chunk == p->vpp - 1)) call(w, m->recv_backward, s, tag_of(p, s->micro_batch, s->chunk, false));
    call(w, p->backward(p->self, stage, s->chunk, s->micro_batch), s, 0);
    if (!(first && s->chunk == 0)) call(w, m->send_backward, s, tag_of(p, s->micro_batch, s->chunk - first, false));
}

static void lower_stage(struct sc__workload *w, const struct sc__pipeline *p, const struct messages *m,
                        uint32_t stage) {
    uint32_t count, block;
    struct sc__slot *slots = sc__schedule_order(w->arena, p->schedule, p->pp, p->vpp, stage, p->micro_batches, &count);
    uint32_t program = sc__program_begin(w);
    if (p->before && (block = p->before(p->self, stage)) != SC__NONE) sc__program_call(w, block, SC__NONE, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (slots[i].kind == 'F')
            lower_forward(w, p, m, stage, &slots[i]);
        else if (slots[i].kind == 'B')
            lower_backward(w, p, m, stage, &slots[i]);
        else
            call(w, p->wgrad(p->self, stage, slots[i].chunk, slots[i].micro_batch), &slots[i], 0);
    }
    if (p->after && (block = p->after(p->self, stage)) != SC__NONE) sc__program_call(w, block, SC__NONE, 0, 0);
    uint32_t rank = sc__mesh_move(&w->mesh, 0, SC__DIM_PP, stage);
    sc__class_add(w, program, rank, sc__mesh_ranks(&w->mesh) / w->mesh.pp, stage);
}

/* A pass costs some 200 bytes: memory stays below 2 GB. */
#define MOST_PASSES (1u << 23)

static sc_status check(struct sc_context *ctx, const struct sc__pipeline *p) {
    if (p->schedule == SC__SCHEDULE_ZBH1 && !p->wgrad)
        return sc__fail(ctx, SC_INPUT, NULL, "use --schedule 1f1b",
                        "this input does not part weight from input gradients, "
                        "which the zb-h1 schedule needs");
    if (p->vpp > 1 && p->schedule != SC__SCHEDULE_INTERLEAVED)
        return sc__fail(ctx, SC_INPUT, NULL, "use --schedule interleaved", "schedule %s has no virtual stages (vpp %u)",
                        sc__schedule_name(p->schedule), p->vpp);
    if ((uint64_t)p->micro_batches * p->vpp > MOST_PASSES / p->pp)
        return sc__fail(
            ctx, SC_INPUT, NULL, "fewer tell as much: each further one adds the same time",
            "%u micro-batches through %u stages of %u chunks are more passes than the %u that are simulated",
            p->micro_batches, p->pp, p->vpp, MOST_PASSES);
    return SC_OK;
}

sc_status sc__pipeline_lower(struct sc_context *ctx, struct sc__workload *w, const struct sc__pipeline *p) {
    struct messages m;
    SC__TRY(check(ctx, p));
    m.recv_forward = recv_block(w, p->message, true, p->overlap);
    m.send_forward = send_block(w, p->message, true);
    m.recv_backward = recv_block(w, p->message, false, p->overlap);
    m.send_backward = send_block(w, p->message, false);
    w->vpp = p->vpp;
    w->micro_batches = p->micro_batches;
    w->schedule = sc__schedule_name(p->schedule);
    w->stream_names[SC__STREAM_COMPUTE] = "compute";
    w->stream_names[SC__STREAM_P2P] = "send forward";
    w->stream_names[SC__STREAM_P2P_BACK] = "send backward";
    w->stream_names[SC__STREAM_DP] = "data parallel";
    w->stream_names[SC__STREAM_COMM] = "communication";
    w->stream_names[SC__STREAM_EP] = "expert parallel";
    w->stream_names[SC__STREAM_CP] = "context parallel";
    w->stream_names[SC__STREAM_RECV] = "receive forward";
    w->stream_names[SC__STREAM_RECV_BACK] = "receive backward";
    for (uint32_t s = 0; s < p->pp; s++) lower_stage(w, p, &m, s);
    return SC_OK;
}
