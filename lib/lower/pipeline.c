#include "lower/schedule_zb.h"

/* The four messages a stage takes part in, each a block of its own that every
 * micro-batch calls with its tag; eight in the V, whose chunk 1 goes the other
 * way. A send leaves on a stream of its own once the compute before it is
 * done. A receive holds the compute stream; or, with overlap, it is posted
 * ahead and the compute stream waits for it. */
struct messages {
    uint32_t recv_forward;
    uint32_t send_forward;
    uint32_t recv_backward;
    uint32_t send_backward;
};

struct pipeline_lowering {
    struct sc__workload *w;
    const struct sc__pipeline *p;
    struct messages messages[2]; /* by direction: down the stages, up again */
};

static uint32_t send_block(const struct pipeline_lowering *l, bool forward, bool up) {
    static const uint8_t streams[2][2] = {{SC__STREAM_P2P_BACK, SC__STREAM_V_BACK},
                                          {SC__STREAM_P2P, SC__STREAM_V}};
    sc__block_begin(l->w);
    struct sc__op *op = sc__block_add(l->w,
                                      SC__OP_SEND,
                                      forward ? SC__FORWARD : SC__BACKWARD,
                                      streams[forward][up],
                                      forward ? "send_forward" : "send_backward");
    op->bytes = l->p->message;
    op->after = 1u << SC__STREAM_COMPUTE;
    op->flags = forward != up ? SC__OP_PEER_NEXT : SC__OP_PEER_PREV;
    return sc__block_end(l->w);
}

static uint32_t recv_block(const struct pipeline_lowering *l, bool forward, bool up) {
    uint8_t ahead = forward ? SC__STREAM_RECV : SC__STREAM_RECV_BACK;
    enum sc__phase phase = forward ? SC__FORWARD : SC__BACKWARD;
    sc__block_begin(l->w);
    struct sc__op *op = sc__block_add(l->w,
                                      SC__OP_RECV,
                                      phase,
                                      l->p->overlap ? ahead : SC__STREAM_COMPUTE,
                                      forward ? "recv_forward" : "recv_backward");
    op->bytes = l->p->message;
    op->flags = forward != up ? SC__OP_PEER_PREV : SC__OP_PEER_NEXT;
    if (l->p->overlap)
        sc__block_add(l->w, SC__OP_WAIT, phase, SC__STREAM_COMPUTE, "wait_recv")->after =
            (uint16_t)(1u << ahead);
    return sc__block_end(l->w);
}

static void make_messages(struct pipeline_lowering *l, bool up) {
    l->messages[up] = (struct messages){.recv_forward = recv_block(l, true, up),
                                        .send_forward = send_block(l, true, up),
                                        .recv_backward = recv_block(l, false, up),
                                        .send_backward = send_block(l, false, up)};
}

static uint32_t
tag_of(const struct sc__pipeline *p, uint32_t micro_batch, uint32_t chunk, bool forward) {
    return (micro_batch * p->vpp + chunk) * 2 + forward;
}

static void
call(struct sc__workload *w, uint32_t block, const struct sc__slot *s, uint32_t tag) {
    if (block != SC__NONE)
        sc__program_call(w, block, s->micro_batch, s->chunk, tag);
}

/* What is before and after a chunk of a stage in the order of the data. */
struct pipeline_place {
    const struct messages *messages;
    /* of the stages, in its direction */
    bool first;
    bool last;
    /* a message comes, and goes, in forward */
    bool input;
    bool output;
};

static struct pipeline_place
pipeline_place_of(const struct pipeline_lowering *l, uint32_t stage, uint32_t chunk) {
    const struct sc__pipeline *p = l->p;
    bool v = sc__schedule_two_ways(p->schedule);
    bool up = v && chunk;
    struct pipeline_place at = {.messages = &l->messages[up],
                                .first = stage == (up ? p->pp - 1 : 0),
                                .last = stage == (up ? 0 : p->pp - 1)};
    at.input = !at.first || (!v && chunk > 0);
    at.output = !at.last || (!v && chunk < p->vpp - 1);
    return at;
}

static void
lower_forward(const struct pipeline_lowering *l, uint32_t stage, const struct sc__slot *s) {
    const struct sc__pipeline *p = l->p;
    struct pipeline_place at = pipeline_place_of(l, stage, s->chunk);
    if (at.input)
        call(l->w, at.messages->recv_forward, s, tag_of(p, s->micro_batch, s->chunk, true));
    call(l->w, p->forward(p->self, stage, s->chunk, s->micro_batch), s, 0);
    if (at.output)
        call(l->w,
             at.messages->send_forward,
             s,
             tag_of(p, s->micro_batch, s->chunk + at.last, true));
}

static void lower_backward(const struct pipeline_lowering *l,
                           uint32_t stage,
                           const struct sc__slot *s) {
    const struct sc__pipeline *p = l->p;
    struct pipeline_place at = pipeline_place_of(l, stage, s->chunk);
    if (at.output)
        call(l->w,
             at.messages->recv_backward,
             s,
             tag_of(p, s->micro_batch, s->chunk, false));
    call(l->w, p->backward(p->self, stage, s->chunk, s->micro_batch), s, 0);
    if (at.input)
        call(l->w,
             at.messages->send_backward,
             s,
             tag_of(p, s->micro_batch, s->chunk - at.first, false));
}

/* Where the weight gradients begin that a stage ends with, if they run in two
 * parts. */
static uint32_t tail_start(const struct pipeline_lowering *l,
                           uint32_t stage,
                           const struct sc__slot *slots,
                           uint32_t count) {
    const struct sc__pipeline *p = l->p;
    uint32_t start = count;
    if (!p->tail || !count || p->tail(p->self, stage, slots, SC__TAIL_JOIN) == SC__NONE)
        return count;
    while (start && slots[start - 1].kind == 'W')
        start--;
    return start;
}

static void lower_tail(const struct pipeline_lowering *l,
                       uint32_t stage,
                       const struct sc__slot *slots,
                       uint32_t count) {
    const struct sc__pipeline *p = l->p;
    for (uint32_t i = 0; i < count; i++)
        call(l->w, p->tail(p->self, stage, &slots[i], SC__TAIL_EARLY), &slots[i], 0);
    if (count)
        call(l->w, p->tail(p->self, stage, slots, SC__TAIL_JOIN), slots, 0);
    for (uint32_t i = 0; i < count; i++)
        call(l->w, p->tail(p->self, stage, &slots[i], SC__TAIL_LATE), &slots[i], 0);
}

static void lower_stage(const struct pipeline_lowering *l,
                        uint32_t stage,
                        const struct sc__slot *slots,
                        uint32_t count) {
    const struct sc__pipeline *p = l->p;
    uint32_t program = sc__program_begin(l->w);
    uint32_t tail = tail_start(l, stage, slots, count);
    uint32_t block;
    if (p->before && (block = p->before(p->self, stage)) != SC__NONE)
        sc__program_call(l->w, block, SC__NONE, 0, 0);
    for (uint32_t i = 0; i < tail; i++) {
        if (slots[i].kind == 'F')
            lower_forward(l, stage, &slots[i]);
        else if (slots[i].kind == 'B')
            lower_backward(l, stage, &slots[i]);
        else
            call(l->w,
                 p->wgrad(p->self, stage, slots[i].chunk, slots[i].micro_batch),
                 &slots[i],
                 0);
    }
    lower_tail(l, stage, slots + tail, count - tail);
    if (p->after && (block = p->after(p->self, stage)) != SC__NONE)
        sc__program_call(l->w, block, SC__NONE, 0, 0);
    uint32_t rank = sc__mesh_move(&l->w->mesh, 0, SC__DIM_PP, stage);
    sc__class_add(l->w, program, rank, sc__mesh_ranks(&l->w->mesh) / l->w->mesh.pp, stage);
}

/* ---- orders that depend on times ---- */

int64_t sc__pipeline_longest(uint32_t pp, uint32_t vpp, uint32_t micro_batches) {
    return INT64_MAX / 4 / (3 * (int64_t)vpp * micro_batches + 2 * (int64_t)pp);
}

static int64_t longest_counted(const struct sc__pipeline *p) {
    return sc__pipeline_longest(p->pp, p->vpp, p->micro_batches);
}

static int64_t op_time(const struct pipeline_lowering *l, const struct sc__op *op) {
    if (op->kind == SC__OP_COMPUTE)
        return op->cost;
    if (op->kind == SC__OP_COLLECTIVE && l->p->collective_cost)
        return l->p->collective_cost(l->p->self, op);
    return 0;
}

/* How long a block holds the compute stream: its own operations, and what it waits for
 * of those that run beside it. */
struct block_times {
    int64_t compute;
    int64_t beside; /* of reductions of gradients, which run beside what follows */
    int64_t last;   /* from the end of the compute to the end of the last of them */
};

static struct block_times block_times(const struct pipeline_lowering *l, uint32_t block) {
    struct block_times t = {0};
    int64_t end[SC__MAX_STREAMS] = {0};
    int64_t most = longest_counted(l->p);
    if (block == SC__NONE)
        return t;
    const struct sc__block *b = &l->w->blocks[block];
    int64_t *ends = SC__NEW_ARRAY(l->w->arena, int64_t, b->ops);
    for (uint32_t i = 0; i < b->ops; i++) {
        const struct sc__op *op = &l->w->ops[b->first_op + i];
        int64_t start = end[op->stream];
        for (uint32_t s = 0; s < SC__MAX_STREAMS; s++)
            if (op->after >> s & 1 && end[s] > start)
                start = end[s];
        for (uint32_t d = 0; d < op->deps; d++) {
            int64_t done = ends[l->w->deps[op->first_dep + d]];
            start = done > start ? done : start;
        }
        int64_t time = op_time(l, op);
        ends[i] = end[op->stream] = start + (time < most - start ? time : most - start);
        if (op->stream == SC__STREAM_DP)
            t.beside = t.beside < most - time ? t.beside + time : most;
    }
    t.compute = end[SC__STREAM_COMPUTE];
    t.last = end[SC__STREAM_DP] > t.compute ? end[SC__STREAM_DP] - t.compute : 0;
    return t;
}

static int64_t compute_time(const struct pipeline_lowering *l, uint32_t block) {
    return block_times(l, block).compute;
}

/* Of a micro-batch in the middle: the first and the last may do more. */
static struct sc__zb_times *chunk_times(const struct pipeline_lowering *l) {
    const struct sc__pipeline *p = l->p;
    struct sc__zb_times *t =
        SC__NEW_ARRAY(l->w->arena, struct sc__zb_times, (size_t)p->pp * p->vpp);
    uint32_t m = p->micro_batches / 2;
    for (uint32_t s = 0; s < p->pp; s++)
        for (uint32_t c = 0; c < p->vpp; c++) {
            struct block_times last =
                block_times(l, p->wgrad(p->self, s, c, p->micro_batches - 1));
            t[s * p->vpp + c] =
                (struct sc__zb_times){.f = compute_time(l, p->forward(p->self, s, c, m)),
                                      .b = compute_time(l, p->backward(p->self, s, c, m)),
                                      .w = compute_time(l, p->wgrad(p->self, s, c, m)),
                                      .reduce = last.beside,
                                      .reduce_late = last.last};
        }
    return t;
}

static int64_t *message_times(const struct pipeline_lowering *l) {
    const struct sc__pipeline *p = l->p;
    int64_t *t = SC__NEW_ARRAY(l->w->arena, int64_t, p->pp);
    for (uint32_t s = 0; s + 1 < p->pp && p->message_time; s++)
        t[s] = p->message_time(p->self, s);
    for (uint32_t s = 0; s < p->pp; s++)
        if (t[s] > longest_counted(p))
            t[s] = longest_counted(p);
    return t;
}

struct sc__slot **sc__pipeline_order(struct sc__workload *w, const struct sc__pipeline *p) {
    struct pipeline_lowering l = {.w = w, .p = p};
    struct sc__zb z = {.pp = p->pp,
                       .chunks = p->vpp,
                       .micro_batches = p->micro_batches,
                       .limit = 2 * p->pp,
                       .kept = p->kept,
                       .message = message_times(&l),
                       .times = chunk_times(&l)};
    struct sc__zb_order order;
    sc__schedule_zb(w->arena, &z, &order);
    return order.slots;
}

static void lower_found(const struct pipeline_lowering *l) {
    const struct sc__pipeline *p = l->p;
    struct sc__slot **slots = sc__pipeline_order(l->w, p);
    for (uint32_t s = 0; s < p->pp; s++)
        lower_stage(l, s, slots[s], 3 * p->vpp * p->micro_batches);
}

static void lower_given(const struct pipeline_lowering *l) {
    const struct sc__pipeline *p = l->p;
    for (uint32_t s = 0; s < p->pp; s++) {
        uint32_t count;
        struct sc__slot *slots = sc__schedule_runs(l->w->arena,
                                                   p->schedule,
                                                   p->pp,
                                                   p->vpp,
                                                   p->turns,
                                                   s,
                                                   p->micro_batches,
                                                   p->run,
                                                   &count);
        lower_stage(l, s, slots, count);
    }
}

/* A pass costs some 200 bytes: memory stays below 2 GB. */
#define MOST_PASSES (1u << 23)

static sc_status pipeline_check(struct sc_context *ctx, const struct sc__pipeline *p) {
    if (sc__schedule_splits(p->schedule) && !p->wgrad)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "use --schedule 1f1b",
                        "this input does not part weight from input gradients, which the "
                        "%s schedule needs",
                        sc__schedule_name(p->schedule));
    if (sc__schedule_two_ways(p->schedule) && (p->vpp != 2 || p->pp < 2))
        return sc__fail(
            ctx,
            SC_INPUT,
            NULL,
            "use --schedule zb-2p",
            "schedule %s has two chunks on each of several stages, not %u on %u",
            sc__schedule_name(p->schedule),
            p->vpp,
            p->pp);
    if (p->schedule == SC__SCHEDULE_DUALPIPE &&
        (p->pp % 2 || p->micro_batches % 2 || p->micro_batches < 2 * p->pp))
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "schedule dualpipe has an even number of stages and of "
                        "micro-batches, two a stage at least, not %u and %u",
                        p->pp,
                        p->micro_batches);
    if (p->schedule == SC__SCHEDULE_DUALPIPEV && p->micro_batches < 2 * p->pp)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "give more micro-batches, or use --schedule zb-v",
                        "schedule dualpipev needs twice as many micro-batches as stages, "
                        "%u, and has %u",
                        2 * p->pp,
                        p->micro_batches);
    if (p->vpp > 1 && p->schedule != SC__SCHEDULE_INTERLEAVED &&
        !sc__schedule_two_ways(p->schedule))
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "use --schedule interleaved",
                        "schedule %s has no virtual stages (vpp %u)",
                        sc__schedule_name(p->schedule),
                        p->vpp);
    if ((uint64_t)p->micro_batches * p->vpp > MOST_PASSES / p->pp)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "fewer tell as much: each further one adds the same time",
                        "%u micro-batches through %u stages of %u chunks are more passes "
                        "than the %u that are simulated",
                        p->micro_batches,
                        p->pp,
                        p->vpp,
                        MOST_PASSES);
    return SC_OK;
}

static void name_streams(struct sc__workload *w, bool v) {
    w->stream_names[SC__STREAM_COMPUTE] = "compute";
    w->stream_names[SC__STREAM_P2P] = "send forward";
    w->stream_names[SC__STREAM_P2P_BACK] = "send backward";
    w->stream_names[SC__STREAM_DP] = "data parallel";
    w->stream_names[SC__STREAM_COMM] = "communication";
    w->stream_names[SC__STREAM_EP] = "expert parallel";
    w->stream_names[SC__STREAM_CP] = "context parallel";
    w->stream_names[SC__STREAM_RECV] = "receive forward";
    w->stream_names[SC__STREAM_RECV_BACK] = "receive backward";
    if (!v)
        return;
    w->stream_names[SC__STREAM_V] = "send forward up";
    w->stream_names[SC__STREAM_V_BACK] = "send backward down";
}

sc_status sc__pipeline_lower(struct sc_context *ctx,
                             struct sc__workload *w,
                             const struct sc__pipeline *p) {
    struct pipeline_lowering l = {.w = w, .p = p};
    bool v = sc__schedule_two_ways(p->schedule);
    SC__TRY(pipeline_check(ctx, p));
    make_messages(&l, false);
    if (v)
        make_messages(&l, true);
    w->vpp = p->vpp;
    w->micro_batches = p->micro_batches;
    w->schedule = sc__schedule_name(p->schedule);
    w->steps_overlap = sc__schedule_overlaps_steps(p->schedule) && p->pp > 1;
    if (w->steps_overlap)
        sc__note(ctx,
                 "steps-overlap",
                 "schedule %s: stages are not synchronised at the end of the step (the "
                 "gradient norm is checked afterwards), each begins the next step when it "
                 "has ended this one; the step time is the distance of two steps, and one "
                 "step alone takes longer",
                 w->schedule);
    name_streams(w, v);
    if (sc__schedule_overlaps_steps(p->schedule))
        lower_found(&l);
    else
        lower_given(&l);
    return SC_OK;
}
