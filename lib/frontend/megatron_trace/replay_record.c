/* replay_record: one record → operations.
 *
 * The device was synchronised after every operation, so the operations of a
 * rank stand one after another on its compute stream. A record with nested
 * collectives becomes compute, collective, compute …; each collective is a
 * barrier of its group. A collective of a group of one is local work and costs
 * what was measured.
 *
 * A reduction of gradients first scales them: 2 · bytes / memory bandwidth.
 * Profiles did not measure that, and a measured reduction has it inside.
 *
 * A communication call costs the host a gap; a nested one half of it, because
 * about half of them are issued while the device is still busy. */
#include "frontend/megatron_trace/replay_parts.h"

#include "lower/pipeline.h"

enum sc__phase sc__replay_phase(uint8_t kind) {
    switch (kind) {
    case SC__TRACE_BACKWARD:
    case SC__TRACE_RECV_BACKWARD:
    case SC__TRACE_SEND_BACKWARD:
        return SC__BACKWARD;
    case SC__TRACE_DP_ALLREDUCE:
    case SC__TRACE_EMBEDDING_ALLREDUCE:
    case SC__TRACE_EXPERT_ALLREDUCE:
    case SC__TRACE_POSITION_ALLREDUCE:
    case SC__TRACE_OPTIMIZER:
        return SC__UPDATE;
    default:
        return SC__FORWARD;
    }
}

enum sc__group_kind sc__replay_group(uint8_t kind) {
    if (kind == SC__TRACE_DP_ALLREDUCE)
        return SC__GROUP_DP;
    return kind == SC__TRACE_EXPERT_ALLREDUCE ? SC__GROUP_DP_EP : SC__GROUP_EMBEDDING;
}

static enum sc__work replay_record_work_of(uint8_t kind) {
    switch (kind) {
    case SC__TRACE_GET_BATCH:
        return SC__WORK_COPY;
    case SC__TRACE_LOSS:
        return SC__WORK_LOSS;
    case SC__TRACE_OPTIMIZER:
        return SC__WORK_OPTIMIZER;
    default:
        return SC__WORK_OTHER;
    }
}

static int64_t at_least_0(int64_t v) {
    return v > 0 ? v : 0;
}

/* Without timestamps the compute of a record is cut into equal parts. */
static int64_t even_part(const struct sc__trace_rank *rank,
                         const struct sc__trace_record *rec) {
    int64_t left = rec->duration;
    uint32_t parts = 1;
    for (uint32_t k = 0; k < rec->subs; k++) {
        const struct sc__trace_sub *sub = &rank->subs[rec->first_sub + k];
        if (sub->async)
            continue;
        left -= sub->duration;
        parts++;
    }
    return at_least_0(left) / parts;
}

static bool is_timed(const struct sc__trace_rank *rank,
                     const struct sc__trace_record *rec) {
    bool timed = rec->end_ns != 0;
    for (uint32_t k = 0; k < rec->subs; k++) {
        const struct sc__trace_sub *sub = &rank->subs[rec->first_sub + k];
        timed = timed && (sub->async || sub->end_ns);
    }
    return timed;
}

bool sc__replay_segment(const struct sc__trace_rank *rank,
                        const struct sc__trace_record *rec,
                        uint32_t i,
                        struct sc__replay_segment *out) {
    if (i && !out->after)
        return false;
    uint32_t k = i ? (uint32_t)(out->after - rank->subs) - rec->first_sub + 1 : 0;
    out->before = i ? out->after : NULL;
    while (k < rec->subs && rank->subs[rec->first_sub + k].async)
        k++;
    out->after = k < rec->subs ? &rank->subs[rec->first_sub + k] : NULL;
    if (!is_timed(rank, rec)) {
        out->compute = even_part(rank, rec);
        out->from_ns = out->to_ns = 0;
        return true;
    }
    out->from_ns =
        out->before ? out->before->end_ns : sc__trace_start_ns(rec->end_ns, rec->duration);
    out->to_ns = out->after ? sc__trace_start_ns(out->after->end_ns, out->after->duration)
                            : rec->end_ns;
    out->compute = at_least_0(out->to_ns - out->from_ns) * SC__PS_PER_NS;
    return true;
}

static void replay_record_add_compute(struct sc__replay *r,
                                      enum sc__phase phase,
                                      enum sc__work work,
                                      const char *name,
                                      int64_t cost,
                                      uint64_t bytes) {
    if (cost <= 0)
        return;
    struct sc__op *op =
        sc__block_add(r->w, SC__OP_COMPUTE, phase, SC__STREAM_COMPUTE, name);
    op->work = (uint8_t)work;
    op->cost = cost;
    op->bytes = bytes;
    sc__replay_span(r);
}

void sc__replay_host(struct sc__replay *r, enum sc__phase phase, int64_t cost) {
    replay_record_add_compute(r, phase, SC__WORK_HOST, "host", cost, 0);
}

struct call {
    uint8_t coll;
    uint8_t group;
    uint64_t bytes;
    const char *name;
    int64_t host;
};

static void replay_record_add_collective(struct sc__replay *r,
                                         uint32_t rank,
                                         enum sc__phase phase,
                                         const struct call *c,
                                         uint32_t ordinal) {
    if (!r->measured_comm)
        sc__replay_host(r, phase, c->host);
    uint16_t group = sc__workload_group(r->w, c->group);
    struct sc__op *op =
        sc__block_add(r->w, SC__OP_COLLECTIVE, phase, SC__STREAM_COMPUTE, c->name);
    op->coll = c->coll;
    op->group = group;
    op->bytes =
        c->coll == SC__ALLGATHER ? c->bytes * sc__group_size(r->w, group) : c->bytes;
    if (!r->measured_comm)
        return;
    const struct sc__replay_rendezvous *rendezvous =
        sc__replay_find_rendezvous(r,
                                   sc__replay_collective_key(r, rank, c->group, ordinal));
    op->flags |= SC__OP_MEASURED;
    op->cost = rendezvous->least;
    r->when.ready_ns = rendezvous->last_start;
    sc__replay_span(r);
}

static void set_when(struct sc__replay *r, int64_t end_ns, int64_t duration) {
    r->when.from_ns = sc__trace_start_ns(end_ns, duration);
    r->when.to_ns = end_ns;
    r->when.ready_ns = INT64_MIN;
}

static void add_sub(struct sc__replay *r,
                    uint32_t rank,
                    const struct sc__trace_record *rec,
                    const struct sc__trace_sub *sub,
                    uint32_t *ordinals) {
    enum sc__phase phase = sc__replay_phase(rec->kind);
    const char *name = r->set->names.text[sub->name];
    uint32_t ordinal = ordinals[sub->group]++;
    set_when(r, sub->end_ns, sub->duration);
    if (sc__mesh_group_size(&r->w->mesh, sub->group) < 2) {
        replay_record_add_compute(r,
                                  phase,
                                  replay_record_work_of(rec->kind),
                                  name,
                                  sub->duration,
                                  0);
        return;
    }
    int64_t host = (int64_t)llround((double)r->host_gap * r->nested_share);
    struct call c = {sub->coll, sub->group, sub->bytes, name, host};
    replay_record_add_collective(r, rank, phase, &c, ordinal);
}

static void add_reduction(struct sc__replay *r,
                          uint32_t rank,
                          const struct sc__trace_record *rec,
                          uint32_t *ordinals) {
    enum sc__group_kind group = sc__replay_group(rec->kind);
    const char *name = sc__trace_names[rec->kind];
    uint32_t ordinal = ordinals[group]++;
    set_when(r, rec->end_ns, rec->duration);
    bool alone = sc__mesh_group_size(&r->w->mesh, group) < 2;
    if (alone && !r->set->profile) {
        replay_record_add_compute(r,
                                  SC__UPDATE,
                                  SC__WORK_ELEMENTWISE,
                                  name,
                                  rec->duration,
                                  rec->bytes);
        return;
    }
    if (!r->measured_comm && group != SC__GROUP_EMBEDDING) {
        int64_t scaling = sc__from_us(2.0 * (double)rec->bytes / r->hbm * 1e6);
        replay_record_add_compute(r,
                                  SC__UPDATE,
                                  SC__WORK_ELEMENTWISE,
                                  name,
                                  scaling,
                                  2 * rec->bytes);
    }
    struct call c = {SC__ALLREDUCE, (uint8_t)group, rec->bytes, name, r->host_gap};
    if (!alone)
        replay_record_add_collective(r, rank, SC__UPDATE, &c, ordinal);
}

void sc__replay_record(struct sc__replay *r,
                       uint32_t rank,
                       const struct sc__trace_record *rec,
                       uint32_t *ordinals) {
    const struct sc__iteration *it = &r->ranks[rank];
    struct sc__replay_segment s;
    r->when = (struct sc__when){.rank = rank, .batch = rec->batch};
    if (sc__trace_is_reduction(rec->kind)) {
        add_reduction(r, rank, rec, ordinals);
        return;
    }
    for (uint32_t i = 0; sc__replay_segment(it->rank, rec, i, &s); i++) {
        r->when.from_ns = s.from_ns;
        r->when.to_ns = s.to_ns;
        r->when.ready_ns = INT64_MIN;
        int64_t cost = r->estimates ? sc__replay_estimated(r, it, rec, &s) : s.compute;
        replay_record_add_compute(r,
                                  sc__replay_phase(rec->kind),
                                  replay_record_work_of(rec->kind),
                                  sc__trace_names[rec->kind],
                                  cost,
                                  0);
        if (s.after)
            add_sub(r, rank, rec, s.after, ordinals);
    }
}
