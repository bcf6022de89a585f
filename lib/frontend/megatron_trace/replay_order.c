/* replay_order: the order of the blocks of every rank, and its class.
 *
 * As traced: the records as they stand, with the gaps between them that the
 * host made. Scheduled (profiles, another number of micro-batches, one file for
 * all stages): 1F1B as Megatron runs it, micro-batch i doing what the traced
 * one of number i mod M did:
 *
 *   warm-up    pp − stage − 1 times   receive, forward, send
 *   steady     forward, [send forward + receive backward], backward,
 *              [send backward + receive forward]
 *   cool-down  receive, backward, send
 *
 * The exchanges in brackets are fused: both messages are sent at the same time, the
 * receive on a stream of its own, and the rank goes on when both are over. */
#include "frontend/megatron_trace/replay_parts.h"

#include "lower/pipeline.h"

/* From here on, ranks assumed equal to others share their class where they
 * can: what differs is only how their groups lie on nodes. */
#define MERGE_FROM 1024

struct message {
    uint8_t kind;
    uint32_t batch;
    uint64_t bytes;
    const struct sc__replay_rendezvous *rendezvous; /* where communication is as measured */
};

static void add_message(struct sc__replay *r, const struct message *m, bool fused) {
    bool receive = m->kind == SC__TRACE_RECV_FORWARD || m->kind == SC__TRACE_RECV_BACKWARD;
    bool forward = m->kind == SC__TRACE_SEND_FORWARD || m->kind == SC__TRACE_RECV_FORWARD;
    uint8_t stream = receive && fused ? SC__STREAM_P2P : SC__STREAM_COMPUTE;
    struct sc__op *op = sc__block_add(r->w,
                                      receive ? SC__OP_RECV : SC__OP_SEND,
                                      sc__replay_phase(m->kind),
                                      stream,
                                      sc__trace_names[m->kind]);
    /* activations come from the stage before and go to the next, gradients the
     * other direction */
    op->flags = receive == forward ? SC__OP_PEER_PREV : SC__OP_PEER_NEXT;
    op->tag = 2 * m->batch + forward;
    op->bytes = m->bytes;
    if (stream == SC__STREAM_P2P)
        op->after = 1u << SC__STREAM_COMPUTE;
    if (!r->measured_comm)
        return;
    op->flags |= SC__OP_MEASURED;
    op->cost = m->rendezvous->least;
    r->when.ready_ns = m->rendezvous->last_start;
    sc__replay_span(r);
}

/* One message, or a fused exchange of two. */
static void add_exchange(struct sc__replay *r, const struct message *m, unsigned count) {
    /* Measured messages have their host time in their timestamps. */
    if (!r->measured_comm)
        sc__replay_host(r, sc__replay_phase(m->kind), count * r->host_gap);
    bool first_receives =
        m->kind == SC__TRACE_RECV_FORWARD || m->kind == SC__TRACE_RECV_BACKWARD;
    if (count == 1) {
        add_message(r, m, false);
        return;
    }
    /* The receive first: it waits for what the compute stream issued before it,
     * and must not wait for the send. */
    add_message(r, &m[!first_receives], true);
    add_message(r, &m[first_receives], true);
    sc__block_add(r->w,
                  SC__OP_WAIT,
                  sc__replay_phase(m->kind),
                  SC__STREAM_COMPUTE,
                  "exchange")
        ->after = 1u << SC__STREAM_P2P;
}

/* Ends the open block and calls it, if it has anything to do. */
static void call_block(struct sc__replay *r, uint32_t micro_batch) {
    uint32_t block = sc__block_end(r->w);
    if (r->w->blocks[block].ops)
        sc__program_call(r->w, block, micro_batch, 0, 0);
}

/* What the host took between two operations. */
static int64_t gap_before(const struct sc__replay *r,
                          const struct sc__trace_record *rec,
                          const struct sc__trace_record *before) {
    if (!before)
        return 0;
    if (!rec->end_ns || !before->end_ns)
        return r->host_gap;
    int64_t gap = sc__trace_start_ns(rec->end_ns, rec->duration) - before->end_ns;
    /* ends and durations are rounded and may overlap a little */
    return gap > 0 ? gap * SC__PS_PER_NS : 0;
}

static struct message traced_message(const struct sc__replay *r,
                                     uint32_t rank,
                                     const struct sc__trace_record *rec) {
    struct message m = {.kind = rec->kind, .batch = rec->batch, .bytes = rec->bytes};
    if (r->measured_comm)
        m.rendezvous = sc__replay_find_rendezvous(r, sc__replay_message_key(r, rank, rec));
    return m;
}

static uint32_t traced_program(struct sc__replay *r, uint32_t rank) {
    const struct sc__iteration *it = &r->ranks[rank];
    uint32_t program = sc__program_begin(r->w);
    uint32_t ordinals[SC__REPLAY_GROUPS] = {0};
    const struct sc__trace_record *before = NULL;
    for (uint32_t i = 0; i < it->count; i++) {
        const struct sc__trace_record *rec = &it->records[i];
        enum sc__phase phase = sc__replay_phase(rec->kind);
        int64_t start_ns = sc__trace_start_ns(rec->end_ns, rec->duration);
        sc__block_begin(r->w);
        r->when = (struct sc__when){rank,
                                    rec->batch,
                                    before ? before->end_ns : 0,
                                    rec->end_ns ? start_ns : 0,
                                    INT64_MIN};
        sc__replay_host(r, phase, gap_before(r, rec, before));
        if (sc__trace_is_message(rec->kind)) {
            r->when = (struct sc__when){rank, rec->batch, start_ns, rec->end_ns, INT64_MIN};
            struct message m[2] = {traced_message(r, rank, rec)};
            bool fused = i + 1 < it->count && rec[1].fused;
            if (fused)
                m[1] = traced_message(r, rank, &rec[1]);
            add_exchange(r, m, fused ? 2 : 1);
            i += fused;
        } else
            sc__replay_record(r, rank, rec, ordinals);
        call_block(r, phase == SC__UPDATE ? SC__NONE : rec->batch);
        before = rec;
    }
    return program;
}

/* The n-th record of a kind, or NULL. */
static const struct sc__trace_record *
replay_order_nth(const struct sc__iteration *it, uint8_t kind, uint32_t n) {
    for (uint32_t i = 0; i < it->count; i++)
        if (it->records[i].kind == kind && !n--)
            return &it->records[i];
    return NULL;
}

struct rank_order {
    struct sc__replay *r;
    uint32_t rank;
    uint32_t stage;
    uint32_t traced; /* micro-batches its trace has */
    /* blocks by traced micro-batch */
    uint32_t *forward;
    uint32_t *backward;
    uint32_t ordinals[SC__REPLAY_GROUPS];
};

static void add_timed(struct rank_order *o, const struct sc__trace_record *rec) {
    if (!rec)
        return;
    sc__replay_host(o->r, sc__replay_phase(rec->kind), o->r->host_gap);
    sc__replay_record(o->r, o->rank, rec, o->ordinals);
}

static uint32_t replay_order_forward_block(struct rank_order *o, uint32_t n) {
    const struct sc__iteration *it = &o->r->ranks[o->rank];
    bool first = o->stage == 0;
    bool last = o->stage == o->r->traced.pp - 1;
    sc__block_begin(o->r->w);
    if (first || last)
        add_timed(o, replay_order_nth(it, SC__TRACE_GET_BATCH, n));
    add_timed(o, replay_order_nth(it, SC__TRACE_FORWARD, n));
    if (last)
        add_timed(o, replay_order_nth(it, SC__TRACE_LOSS, n));
    return sc__block_end(o->r->w);
}

static uint32_t replay_order_backward_block(struct rank_order *o, uint32_t n) {
    sc__block_begin(o->r->w);
    add_timed(o, replay_order_nth(&o->r->ranks[o->rank], SC__TRACE_BACKWARD, n));
    return sc__block_end(o->r->w);
}

static void run_forward(struct rank_order *o, uint32_t i) {
    sc__program_call(o->r->w, o->forward[i % o->traced], i, 0, 0);
}

static void run_backward(struct rank_order *o, uint32_t i) {
    sc__program_call(o->r->w, o->backward[i % o->traced], i, 0, 0);
}

static bool has_peer(const struct rank_order *o, uint8_t kind) {
    bool next = kind == SC__TRACE_SEND_FORWARD || kind == SC__TRACE_RECV_BACKWARD;
    return next ? o->stage + 1 < o->r->traced.pp : o->stage > 0;
}

static void exchange(struct rank_order *o,
                     uint8_t kind,
                     uint32_t batch,
                     uint8_t other,
                     uint32_t other_batch) {
    struct message m[2];
    unsigned n = 0;
    if (has_peer(o, kind))
        m[n++] = (struct message){.kind = kind, .batch = batch, .bytes = o->r->message};
    if (other != kind && has_peer(o, other))
        m[n++] =
            (struct message){.kind = other, .batch = other_batch, .bytes = o->r->message};
    if (!n)
        return;
    sc__block_begin(o->r->w);
    sc__replay_host(o->r, sc__replay_phase(m->kind), o->r->host_gap);
    add_exchange(o->r, m, n);
    call_block(o->r, m->batch);
}

static void single_message(struct rank_order *o, uint8_t kind, uint32_t batch) {
    exchange(o, kind, batch, kind, batch);
}

/* One forward, one backward: forward runs warm_up micro-batches ahead. */
static void steady(struct rank_order *o, uint32_t warm_up) {
    uint32_t left = o->r->micro_batches - warm_up;
    for (uint32_t i = 0; i < left; i++) {
        run_forward(o, warm_up + i);
        exchange(o, SC__TRACE_SEND_FORWARD, warm_up + i, SC__TRACE_RECV_BACKWARD, i);
        run_backward(o, i);
        if (i + 1 == left)
            single_message(o, SC__TRACE_SEND_BACKWARD, i);
        else
            exchange(o,
                     SC__TRACE_SEND_BACKWARD,
                     i,
                     SC__TRACE_RECV_FORWARD,
                     warm_up + i + 1);
    }
}

/* Reductions and the optimizer, in the order of the trace. */
static void finalize(struct rank_order *o) {
    const struct sc__iteration *it = &o->r->ranks[o->rank];
    bool tied = o->stage == 0 || o->stage == o->r->traced.pp - 1;
    sc__block_begin(o->r->w);
    for (uint32_t i = 0; i < it->count; i++) {
        uint8_t kind = it->records[i].kind;
        if (sc__replay_phase(kind) == SC__UPDATE &&
            (tied || kind != SC__TRACE_EMBEDDING_ALLREDUCE))
            add_timed(o, &it->records[i]);
    }
    call_block(o->r, SC__NONE);
}

static uint32_t scheduled_program(struct sc__replay *r, uint32_t rank) {
    struct rank_order o = {.r = r, .rank = rank, .stage = sc__replay_stage(r, rank)};
    while (replay_order_nth(&r->ranks[rank], SC__TRACE_FORWARD, o.traced))
        o.traced++;
    o.forward = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, o.traced);
    o.backward = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, o.traced);
    for (uint32_t i = 0; i < o.traced; i++) {
        o.forward[i] = replay_order_forward_block(&o, i);
        o.backward[i] = replay_order_backward_block(&o, i);
    }
    uint32_t program = sc__program_begin(r->w);
    /* so many forwards pass until the first backward comes back to this stage */
    uint32_t warm_up = r->traced.pp - o.stage - 1;
    if (warm_up > r->micro_batches)
        warm_up = r->micro_batches;
    for (uint32_t i = 0; i < warm_up; i++) {
        single_message(&o, SC__TRACE_RECV_FORWARD, i);
        run_forward(&o, i);
        single_message(&o, SC__TRACE_SEND_FORWARD, i);
    }
    /* the steady state receives at the end of each round, so its first here */
    if (warm_up < r->micro_batches)
        single_message(&o, SC__TRACE_RECV_FORWARD, warm_up);
    steady(&o, warm_up);
    for (uint32_t i = r->micro_batches - warm_up; i < r->micro_batches; i++) {
        single_message(&o, SC__TRACE_RECV_BACKWARD, i);
        run_backward(&o, i);
        single_message(&o, SC__TRACE_SEND_BACKWARD, i);
    }
    finalize(&o);
    return program;
}

/* Ranks of the asked-for job that do what this traced one did. */
static void replay_order_add_class(struct sc__replay *r, uint32_t rank, uint32_t program) {
    const struct sc__mesh *m = &r->w->mesh;
    uint32_t t = sc__mesh_coordinate(&r->traced, rank, SC__DIM_TP);
    uint32_t d = sc__mesh_coordinate(&r->traced, rank, SC__DIM_DP);
    uint32_t stage = sc__replay_stage(r, rank);
    uint32_t copies = 0;
    uint32_t first = SC__NONE;
    /* Replica i of the job asked for does what replica i mod dp of the traced
     * one did. Traced ranks are numbered tp first, then dp, then pp. */
    for (uint32_t i = d; i < m->dp; i += r->traced.dp, copies++) {
        uint32_t copy = t + m->tp * (i + m->dp * stage);
        if (!copies)
            first = copy;
        r->w->rank_class[copy] = r->w->class_count;
    }
    if (!copies)
        return;
    uint32_t class = sc__class_add(r->w, program, first, copies, stage);
    r->w->classes[class].name = sc__format(&r->ctx->arena, "rank %u", first);
}

/* Room for all operations at once: growing would clear and copy gigabytes. */
static void replay_order_reserve(struct sc__replay *r) {
    uint64_t ops = 0;
    uint64_t blocks = 0;
    for (uint32_t rank = 0; rank < sc__mesh_ranks(&r->traced); rank++) {
        const struct sc__iteration *it = &r->ranks[rank];
        if (!it->given)
            continue;
        blocks += it->count;
        /* at most: a gap, two messages and a wait; per nested call host time, the
         * call and the compute behind it */
        for (uint32_t i = 0; i < it->count; i++)
            ops += 4 + 3 * (uint64_t)it->records[i].subs;
    }
    if (ops > UINT32_MAX || r->scheduled)
        return;
    r->w->op_capacity = (uint32_t)ops;
    r->w->ops = SC__NEW_ARRAY(&r->ctx->arena, struct sc__op, ops);
    r->w->block_capacity = r->w->call_capacity = (uint32_t)blocks;
    r->w->blocks = SC__NEW_ARRAY(&r->ctx->arena, struct sc__block, blocks);
    r->w->calls = SC__NEW_ARRAY(&r->ctx->arena, struct sc__call, blocks);
}

static void prepare(struct sc__replay *r) {
    replay_order_reserve(r);
    r->w->rank_class = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, sc__mesh_ranks(&r->w->mesh));
    r->w->stream_names[SC__STREAM_COMPUTE] = "compute";
    r->w->stream_names[SC__STREAM_P2P] = "p2p";
    r->w->tokens = (double)r->set->facts.sequence * r->set->facts.micro_batch *
                   r->w->mesh.dp * r->micro_batches;
}

static void merge_alike(struct sc__replay *r) {
    uint32_t world = sc__mesh_ranks(&r->traced);
    if (r->set->rank_count < world && world > MERGE_FROM)
        sc__workload_merge(r->w);
}

void sc__replay_traced(struct sc__replay *r) {
    uint32_t world = sc__mesh_ranks(&r->traced);
    uint32_t *programs = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, world);
    prepare(r);
    for (uint32_t rank = 0; rank < world; rank++)
        if (r->ranks[rank].given)
            programs[rank] = traced_program(r, rank);
    for (uint32_t rank = 0; rank < world; rank++)
        replay_order_add_class(r, rank, programs[r->ranks[rank].rank->rank]);
    merge_alike(r);
}

/* The program of a rank without a file: that of the rank it is like; a stage
 * without files has one for all its ranks. */
static uint32_t assumed_program(struct sc__replay *r,
                                uint32_t rank,
                                const uint32_t *programs,
                                uint32_t *by_stage) {
    uint32_t like = r->ranks[rank].rank->rank;
    uint32_t stage = sc__replay_stage(r, rank);
    if (sc__replay_stage(r, like) == stage)
        return programs[like];
    if (by_stage[stage] == SC__NONE)
        by_stage[stage] = scheduled_program(r, rank);
    return by_stage[stage];
}

void sc__replay_scheduled(struct sc__replay *r) {
    uint32_t world = sc__mesh_ranks(&r->traced);
    uint32_t *programs = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, world);
    uint32_t *by_stage = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, r->traced.pp);
    prepare(r);
    for (uint32_t stage = 0; stage < r->traced.pp; stage++)
        by_stage[stage] = SC__NONE;
    for (uint32_t rank = 0; rank < world; rank++)
        if (r->ranks[rank].given)
            programs[rank] = scheduled_program(r, rank);
    for (uint32_t rank = 0; rank < world; rank++)
        replay_order_add_class(r,
                               rank,
                               r->ranks[rank].given
                                   ? programs[rank]
                                   : assumed_program(r, rank, programs, by_stage));
    merge_alike(r);
}

void sc__replay_given(struct sc__replay *r) {
    uint32_t world = sc__mesh_ranks(&r->traced);
    prepare(r);
    for (uint32_t rank = 0; rank < world; rank++)
        if (r->ranks[rank].given)
            replay_order_add_class(r, rank, traced_program(r, rank));
    for (uint32_t rank = 0; rank < world; rank++)
        r->w->rank_class[rank] = r->w->rank_class[r->ranks[rank].rank->rank];
}
