/* kineto_dependencies: a measured step as a workload. Kernels keep their
 * streams, order and times; collectives are simulated again.
 *
 * What waited for what is not in the trace and is taken from the times: a
 * collective waits for the last compute kernel that had ended when it started;
 * a kernel that starts within 20 us of the end of one on another stream, later
 * than its own stream was free, waited for that one. What remains of a gap is
 * the host's, and is kept as an operation of its own (launch gaps). */
#include "frontend/kineto/kineto.h"
#include "frontend/kineto/kineto_lanes.h"
#include "frontend/kineto/kineto_transfers.h"

#include <string.h>

#define WAIT_WINDOW 20000 /* ns */

struct last {
    int64_t end;
    uint32_t op;   /* index in the block + 1; 0: none yet */
    bool nameless; /* a collective of which only the name is known */
};

struct replay {
    struct sc_context *ctx;
    struct sc__workload *w;
    const struct sc__kineto_trace *t;
    const struct sc__kineto_trace *first; /* of all, whose steps are chosen from */
    const struct sc__kineto_plan *plan;
    uint32_t ranks;
    /* of the step */
    uint32_t step;
    int64_t start;
    int64_t end;
    int64_t longest; /* of all traces, ns */
    struct sc__kineto_lanes lanes;
    uint8_t lane;    /* of the kernel looked at */
    struct last own; /* the last of its stream, where that is on another lane */
    /* by stream of the trace */
    struct last *last;
    struct last *ended; /* the last that had ended at the time looked at */
    uint32_t *work;     /* by name: class of work + 1 */
    uint32_t block_first;
    /* operations + 1 */
    uint32_t first_update;
    uint32_t last_backward;
    uint64_t messages;
    uint64_t unknown;
    uint64_t sizeless; /* collectives whose bytes the trace does not tell */
    uint64_t comms;
    struct sc__kineto_groups groups;
    bool meshed;           /* groups are those of the workload's mesh */
    struct sc__map *lists; /* hash of ranks → group of the workload */
    struct sc__kineto_transfers *transfers;
    struct sc__timeline *measured;
    uint32_t class;
};

/* Each kernel looks at the last one of every stream. */
enum { MOST_STREAMS = 1024 };

static sc_status begin_streams(struct replay *r) {
    const struct sc__kineto_trace *t = r->t;
    struct sc__place at = {.file = t->file};
    if (t->stream_count > MOST_STREAMS)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "%u streams; at most %d can be replayed",
                        t->stream_count,
                        MOST_STREAMS);
    sc__kineto_lanes_choose(&r->lanes, &r->ctx->arena, t, r->start);
    r->last = SC__NEW_ARRAY(&r->ctx->arena, struct last, t->stream_count);
    r->ended = SC__NEW_ARRAY(&r->ctx->arena, struct last, t->stream_count);
    for (uint32_t s = 0; s < t->stream_count; s++)
        if (!r->lanes.shared || s == r->lanes.main)
            r->w->stream_names[r->lanes.of[s]] =
                sc__format(r->w->arena, "stream %u", t->streams[s]);
    if (r->lanes.shared)
        for (unsigned l = 1; l < SC__KINETO_LANES; l++)
            r->w->stream_names[l] = sc__format(r->w->arena, "streams, %u", l);
    return SC_OK;
}

/* More streams than a replay has. */
static sc_status check_lanes(const struct replay *r) {
    struct sc__place at = {.file = r->t->file};
    if (r->lanes.behind > (r->end - r->start) / 100)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "%u streams, with more kernels at once than the %u that can be "
                        "replayed",
                        r->t->stream_count,
                        SC__KINETO_LANES);
    if (r->lanes.shared)
        sc__note(r->ctx,
                 "kineto-streams",
                 "%s: %u streams share the %u of a replay, each kernel on one that was "
                 "free when it began",
                 r->t->file,
                 r->t->stream_count,
                 SC__KINETO_LANES);
    return SC_OK;
}

/* ---- groups ---- */

static bool same_ranks(const struct sc__group *known, const struct sc__kineto_group *g) {
    return known->count == g->size &&
           !memcmp(known->ranks, g->ranks, g->size * sizeof *g->ranks);
}

/* Process groups of the same ranks and other descriptions (data parallelism with and
 * without cp) are communicators of their own: their collectives do not wait for each other.
 */
static uint64_t description_hash(const struct replay *r, const struct sc__kineto_group *g) {
    const char *text =
        g->description == SC__NO_NAME ? "" : r->t->names.text[g->description];
    return sc__hash(text, strlen(text), g->size);
}

/* The communicator of a group of the mesh. */
static uint32_t group_of_mesh(struct replay *r, const struct sc__kineto_group *g) {
    bool fresh;
    unsigned others = 0;
    uint64_t *at = sc__map_at(r->lists, description_hash(r, g) ^ (g->kind + 1u), &fresh);
    if (!fresh)
        return (uint32_t)*at;
    if (r->w->group_count == UINT16_MAX)
        return SC__NONE;
    for (uint32_t i = 0; i < r->w->group_count; i++)
        others += r->w->groups[i].kind == g->kind;
    *at = sc__workload_communicator(r->w, g->kind, others);
    return (uint32_t)*at;
}

/* A group of the workload with these ranks, which an earlier trace may have
 * made; SC__NONE when 16 bits do not number it. */
static uint32_t group_list(struct replay *r, const struct sc__kineto_group *g) {
    bool fresh;
    uint64_t seed = sc__hash(g->label, strlen(g->label), description_hash(r, g));
    uint64_t *at =
        sc__map_at(r->lists, sc__hash(g->ranks, g->size * sizeof *g->ranks, seed), &fresh);
    if (!fresh && same_ranks(&r->w->groups[*at], g))
        return (uint32_t)*at;
    if (r->w->group_count == UINT16_MAX)
        return SC__NONE;
    *at = sc__workload_group_list(r->w, g->label, g->ranks, g->size);
    return (uint32_t)*at;
}

static sc_status kineto_dependencies_group_of(struct replay *r,
                                              const struct sc__kineto_comm *c,
                                              uint16_t *out) {
    struct sc__kineto_group *g = &r->groups.items[sc__kineto_group_index(&r->groups, c)];
    struct sc__place at = {.file = r->t->file};
    uint32_t group;
    if (r->meshed)
        group = g->made ? g->made - 1 : group_of_mesh(r, g);
    else
        group = g->made ? g->made - 1 : group_list(r, g);
    if (group == SC__NONE)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "more than 65535 process groups in all");
    g->made = group + 1;
    *out = (uint16_t)group;
    return SC_OK;
}

/* A collective that only its kernel's name tells of. It keeps the time it took, so nobody
 * needs to be waited for. */
static uint16_t group_of_nameless(struct replay *r, const struct sc__kineto_comm *c) {
    bool described = c->description != SC__NO_NAME;
    return sc__workload_group_alone(r->w,
                                    described ? r->t->names.text[c->description] : "world");
}

/* ---- operations ---- */

static uint32_t index_of_last(const struct replay *r) {
    return r->w->op_count - 1 - r->block_first;
}

static enum sc__work kineto_dependencies_work_of(struct replay *r,
                                                 const struct sc__kineto_kernel *k) {
    uint32_t *known = &r->work[k->name];
    if (!*known)
        *known = 1u + sc__kineto_work(r->t->names.text[k->name]);
    return *known - 1;
}

/* A gather's output is on the root only, a scatter's input too; of an all-to-all with
 * uneven parts (experts) a rank may receive more than it sends, and waits for that. */
static uint64_t bytes_of(const struct sc__kineto_comm *c, uint32_t ranks) {
    if (c->coll == SC__ALLTOALL)
        return c->in_bytes > c->out_bytes ? c->in_bytes : c->out_bytes;
    if (c->coll == SC__GATHER)
        return c->in_bytes * ranks;
    if (c->coll == SC__SCATTER)
        return c->out_bytes * ranks;
    return c->coll == SC__ALLGATHER ? c->out_bytes : c->in_bytes;
}

static sc_status kineto_dependencies_add_collective(struct replay *r,
                                                    const struct sc__kineto_kernel *k,
                                                    const struct sc__kineto_comm *c) {
    uint16_t group = 0;
    if (c->by_name)
        group = group_of_nameless(r, c);
    else
        SC__TRY(kineto_dependencies_group_of(r, c, &group));
    struct sc__op *op = sc__block_add(r->w,
                                      SC__OP_COLLECTIVE,
                                      k->phase,
                                      r->lane,
                                      r->t->names.text[k->name]);
    op->coll = c->coll;
    op->group = group;
    op->bytes = bytes_of(c, sc__group_size(r->w, group));
    if (sc__coll_rooted(c->coll))
        op->peer = sc__group_member(r->w, group, r->t->rank, 0);
    bool sizeless = !op->bytes && c->coll != SC__BARRIER && !c->has_elements;
    if (c->by_name)
        r->unknown++;
    else if (sizeless)
        r->sizeless++;
    if (r->plan->measured_comm || sizeless) {
        op->flags |= SC__OP_MEASURED;
        op->cost = k->dur * SC__PS_PER_NS;
    }
    if (!sizeless)
        r->comms++;
    return SC_OK;
}

/* A message, or a collective of an unknown kind: it keeps the time it took, waiting for its
 * peer among it, and is communication of the rank alone. */
static void add_message(struct replay *r,
                        const struct sc__kineto_kernel *k,
                        const struct sc__kineto_comm *c) {
    const char *description =
        c->description == SC__NO_NAME ? NULL : r->t->names.text[c->description];
    const char *label = sc__kineto_label(description);
    struct sc__op *op = sc__block_add(r->w,
                                      SC__OP_COLLECTIVE,
                                      k->phase,
                                      r->lane,
                                      r->t->names.text[k->name]);
    op->coll = SC__SHIFT;
    op->group = sc__workload_group_alone(r->w, label ? label : "p2p");
    op->bytes = c->in_bytes > c->out_bytes ? c->in_bytes : c->out_bytes;
    op->flags = SC__OP_MEASURED;
    op->cost = k->dur * SC__PS_PER_NS;
    if (c->coll == SC__COLLS)
        r->messages++;
    else
        r->unknown++;
}

static void add_kernel(struct replay *r, const struct sc__kineto_kernel *k) {
    enum sc__work work =
        k->kind == SC__KINETO_COMPUTE ? kineto_dependencies_work_of(r, k) : SC__WORK_COPY;
    struct sc__op *op =
        sc__block_add(r->w, SC__OP_COMPUTE, k->phase, r->lane, r->t->names.text[k->name]);
    op->work = (uint8_t)work;
    op->cost = k->dur * SC__PS_PER_NS;
}

/* What the kernel waited for: op index + 1 and its end. */
static struct last waited_for(const struct replay *r, const struct sc__kineto_kernel *k) {
    struct last best = {0};
    for (uint32_t s = 0; s < r->t->stream_count; s++) {
        const struct last *l = &r->ended[s];
        /* A collective needs what the compute stream made, however long ago; of
         * any other pair only a start right behind an end is evidence. */
        bool of_comm = k->kind == SC__KINETO_COMM && s == r->lanes.main;
        /* What ended before its own stream came free cannot have held it up, and
         * of several the last did. */
        if (s == k->stream || !l->op || l->end <= r->last[k->stream].end ||
            (best.op && l->end <= best.end))
            continue;
        /* of a collective without a record it is not known who waited for it: whoever
         * comes next, or its time would count as the host's */
        if (of_comm || l->nameless || k->start - l->end <= WAIT_WINDOW)
            best = *l;
    }
    return best;
}

/* What was measured of the operation added last. */
static void kineto_dependencies_keep_span(struct replay *r, int64_t from, int64_t to) {
    struct sc__timeline *m = r->measured;
    int64_t start = (from - r->start) * SC__PS_PER_NS;
    int64_t end = (to - r->start) * SC__PS_PER_NS;
    *SC__PUSH(r->w->arena, m->spans, m->count, m->capacity) =
        (struct sc__span){.class = r->class,
                          .op = r->w->op_count - 1,
                          .micro_batch = SC__NONE,
                          .start = start,
                          .ready = start,
                          .end = end,
                          .peer_span = SC__NONE};
    if (end > m->end)
        m->end = end;
}

/* Of the collective that was added last; of one of which only the name is known it is not
 * known which of the other ranks are in it. */
static void keep_transfer(struct replay *r,
                          const struct sc__kineto_kernel *k,
                          const struct sc__kineto_comm *c) {
    uint16_t group = r->w->ops[r->w->op_count - 1].group;
    sc__kineto_transfer_add(r->transfers,
                            r->w,
                            sc__group_member(r->w, group, r->t->rank, 0),
                            c->group == SC__NO_NAME ? NULL : r->t->names.text[c->group],
                            c->seq,
                            k->dur,
                            r->measured->count - 1);
}

/* Of the operation that was added last. */
static void depend(const struct replay *r, struct last dep) {
    if (dep.op)
        sc__block_depend(r->w, dep.op - 1);
    if (r->own.op && r->own.op != dep.op)
        sc__block_depend(r->w, r->own.op - 1);
}

/* The time between when a kernel could have started and when it did is the
 * host's: it launched late. The gap takes the dependency; the kernel then waits
 * for the gap by stream order. */
static void add_gap(struct replay *r, const struct sc__kineto_kernel *k, struct last dep) {
    int64_t free = r->lanes.end[r->lane];
    if (dep.op && dep.end > free)
        free = dep.end;
    if (r->own.op && r->own.end > free)
        free = r->own.end;
    if (k->start <= free)
        return;
    struct sc__op *op =
        sc__block_add(r->w, SC__OP_COMPUTE, k->phase, r->lane, "launch gap");
    op->work = SC__WORK_HOST;
    op->cost = (k->start - free) * SC__PS_PER_NS;
    kineto_dependencies_keep_span(r, free, k->start);
    depend(r, dep);
}

/* From the last kernel of a step to the first of the next one, which ends it. */
static void add_last_gap(struct replay *r) {
    struct last latest = {.end = r->start};
    for (uint32_t s = 0; s < r->t->stream_count; s++)
        if (r->last[s].op && r->last[s].end > latest.end)
            latest = r->last[s];
    if (r->end <= latest.end)
        return;
    struct sc__op *op = sc__block_add(r->w, SC__OP_COMPUTE, SC__FORWARD, 0, "launch gap");
    op->work = SC__WORK_HOST;
    op->cost = (r->end - latest.end) * SC__PS_PER_NS;
    kineto_dependencies_keep_span(r, latest.end, r->end);
    if (latest.op)
        sc__block_depend(r->w, latest.op - 1);
}

/* Streams whose last operation has ended by now move on. */
static void advance(struct replay *r, int64_t now) {
    for (uint32_t s = 0; s < r->t->stream_count; s++)
        if (r->last[s].op && r->last[s].end <= now)
            r->ended[s] = r->last[s];
}

static void choose_lane(struct replay *r, const struct sc__kineto_kernel *k) {
    uint32_t before = r->lanes.of[k->stream];
    r->lane = sc__kineto_lane(&r->lanes, k);
    r->own = (struct last){0};
    if (before != r->lane)
        r->own = r->last[k->stream];
}

static sc_status replay_kernel(struct replay *r, const struct sc__kineto_kernel *k) {
    const struct sc__kineto_comm *c = k->comm == SC__NONE ? NULL : &r->t->comms[k->comm];
    advance(r, k->start);
    struct last dep = waited_for(r, k);
    uint32_t before = r->w->op_count;
    add_gap(r, k, dep);
    bool gap = r->w->op_count > before;
    if (c && c->coll < SC__COLLS)
        SC__TRY(kineto_dependencies_add_collective(r, k, c));
    else if (c)
        add_message(r, k, c);
    else
        add_kernel(r, k);
    if (!gap)
        depend(r, dep);
    kineto_dependencies_keep_span(r, k->start, k->start + k->dur);
    if (c && c->coll < SC__COLLS && !c->by_name)
        keep_transfer(r, k, c);
    /* kernels of a graph lie beside each other on one stream: it is free when all have
     * ended */
    int64_t free = k->start + k->dur;
    struct last *last = &r->last[k->stream];
    if (last->op && last->end > free)
        free = last->end;
    *last = (struct last){free, index_of_last(r) + 1, c && c->by_name};
    if (free > r->lanes.end[r->lane])
        r->lanes.end[r->lane] = free;
    if (k->phase == SC__BACKWARD)
        r->last_backward = index_of_last(r) + 1;
    if (k->phase == SC__UPDATE && !r->first_update)
        r->first_update = index_of_last(r) + 1;
    return SC_OK;
}

/* ---- gradients of a step that was measured on one GPU ---- */

/* Of the step that is replayed; all where the trace has none. */
static bool in_step(const struct replay *r, int64_t at) {
    if (!r->t->step_count)
        return true;
    return at >= r->t->steps[r->step].start && at < r->t->steps[r->step].end;
}

static sc_status gradient_bytes(struct replay *r, uint64_t *bytes) {
    const struct sc__kineto_trace *t = r->t;
    struct sc__place at = {.file = t->file};
    *bytes = r->plan->grad_bytes;
    if (*bytes)
        return SC_OK;
    for (uint32_t i = 0; i < t->recorded_count; i++)
        if (t->recorded[i].coll == SC__ALLREDUCE && in_step(r, t->recorded[i].start))
            *bytes += t->recorded[i].in_bytes;
    if (*bytes) {
        sc__note(
            r->ctx,
            "kineto-gradients",
            "--dp %u: %llu bytes of gradients, from the all-reduces recorded on the host",
            r->plan->dp,
            (unsigned long long)*bytes);
        return SC_OK;
    }
    for (uint32_t i = 0; i < t->update_count; i++)
        if (in_step(r, t->updates[i].start))
            *bytes += t->updates[i].elements * 4; /* fp32 */
    if (!*bytes)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        "--grad-bytes SIZE",
                        "--dp: the size of the gradients is not in the trace");
    sc__note(r->ctx,
             "kineto-gradients",
             "--dp %u: %llu bytes of gradients, 4 for each parameter the optimizer updates",
             r->plan->dp,
             (unsigned long long)*bytes);
    return SC_OK;
}

/* Behind the last kernel of backward; the first of the optimizer waits. */
static void add_gradients(struct replay *r, uint64_t bytes) {
    uint16_t group = sc__workload_group(r->w, SC__GROUP_WORLD);
    r->w->groups[group].label = "dp";
    struct sc__op *op = sc__block_add(r->w,
                                      SC__OP_COLLECTIVE,
                                      SC__UPDATE,
                                      SC__MAX_STREAMS - 1,
                                      "gradient all-reduce");
    op->coll = SC__ALLREDUCE;
    op->group = group;
    op->bytes = bytes;
    if (r->last_backward)
        sc__block_depend(r->w, r->last_backward - 1);
    else if (r->last[r->lanes.main].op)
        sc__block_depend(r->w, r->last[r->lanes.main].op - 1);
    r->w->stream_names[SC__MAX_STREAMS - 1] = "gradients";
}

/* ---- the step ---- */

static sc_status make_block(struct replay *r, uint32_t *block) {
    uint64_t bytes = 0;
    SC__TRY(sc__kineto_choose_step(r->ctx, r->first, r->t, r->plan->step, &r->step));
    sc__kineto_step_window(r->t, r->step, &r->start, &r->end);
    if (r->end - r->start > r->longest)
        r->longest = r->end - r->start;
    SC__TRY(begin_streams(r));
    r->work = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, r->t->names.count);
    bool gradients = r->plan->dp > 1 && !r->t->comm_count;
    if (gradients)
        SC__TRY(gradient_bytes(r, &bytes));
    r->block_first = r->w->op_count;
    sc__kineto_transfers_next_rank(r->transfers);
    sc__block_begin(r->w);
    /* The all-reduce of the gradients is issued before the first kernel of the
     * optimizer, which waits for it; without an optimizer it ends the step. */
    bool due = gradients;
    for (uint32_t i = 0; i < r->t->kernel_count; i++) {
        const struct sc__kineto_kernel *k = &r->t->kernels[i];
        if (k->start < r->start || k->start >= r->end)
            continue;
        choose_lane(r, k);
        if (due && k->phase == SC__UPDATE) {
            add_gradients(r, bytes);
            sc__block_add(r->w, SC__OP_WAIT, SC__UPDATE, r->lane, "wait")->after =
                1u << (SC__MAX_STREAMS - 1);
            due = false;
        }
        SC__TRY(replay_kernel(r, k));
    }
    if (due)
        add_gradients(r, bytes);
    add_last_gap(r);
    SC__TRY(check_lanes(r));
    *block = sc__block_end(r->w);
    return SC_OK;
}

/* whose: the file, or how many there are. */
static void notes(const struct replay *r, const char *whose) {
    if (r->messages)
        sc__note(r->ctx,
                 "kineto-messages",
                 "%s: %llu send and receive kernels keep their measured times, with what "
                 "they waited",
                 whose,
                 (unsigned long long)r->messages);
    if (r->unknown)
        sc__note(r->ctx,
                 "kineto-unknown",
                 "%s: %llu collectives of which only the kernel's name is known keep their "
                 "measured times",
                 whose,
                 (unsigned long long)r->unknown);
    if (r->sizeless)
        sc__note(r->ctx,
                 "kineto-sizeless",
                 "%s: %llu collectives without \"In msg nelems\" (and \"Out msg nelems\") "
                 "keep their measured times",
                 whose,
                 (unsigned long long)r->sizeless);
    if (r->comms)
        sc__note(
            r->ctx,
            "kineto-replay",
            "%s: %llu collective%s %s; kernels and launch gaps keep their measured times",
            whose,
            (unsigned long long)r->comms,
            r->comms == 1 ? "" : "s",
            r->plan->measured_comm
                ? (r->comms == 1 ? "takes the least time measured on any rank"
                                 : "take the least time measured on any rank")
            : r->comms == 1 ? "is simulated again"
                            : "are simulated again");
    /* the rest of a measured collective is waiting for ranks of which nothing is known */
    if (r->comms && !r->plan->measured_comm)
        sc__note(r->ctx,
                 "kineto-measured",
                 "the traced step took %.2f ms, with all that its collectives waited",
                 (double)r->longest / 1e6);
}

static sc_status
replay_trace(struct replay *r, uint32_t rank, uint32_t ranks, const char *name) {
    uint32_t block = 0;
    SC__TRY(make_block(r, &block));
    uint32_t program = sc__program_begin(r->w);
    sc__program_call(r->w, block, SC__NONE, 0, 0);
    uint32_t class = sc__class_add(r->w, program, rank, ranks, 0);
    r->w->classes[class].name = name;
    return SC_OK;
}

/* The i-th of several traces, which is class i. */
static sc_status replay_class(struct replay *r,
                              const struct sc__kineto_trace *t,
                              uint32_t i,
                              uint32_t ranks,
                              uint32_t world) {
    struct replay one = *r;
    one.t = t;
    one.class = i;
    one.ranks = world;
    one.messages = one.unknown = one.sizeless = one.comms = 0;
    SC__TRY(sc__kineto_find_groups(r->ctx, t, world, &one.groups));
    if (r->meshed)
        sc__kineto_groups_of_mesh(&r->w->mesh, &one.groups, t->rank);
    SC__TRY(
        replay_trace(&one, t->rank, ranks, sc__format(&r->ctx->arena, "rank %u", t->rank)));
    r->messages += one.messages;
    r->unknown += one.unknown;
    r->sizeless += one.sizeless;
    r->comms += one.comms;
    r->longest = one.longest;
    return SC_OK;
}

/* Other sizes by replication: the trace's rank stands for all of a larger or
 * smaller mesh. */
static sc_status resize(struct replay *r) {
    struct sc__place at = {.file = r->t->file};
    struct sc__mesh *m = &r->w->mesh;
    uint32_t dp = r->plan->dp;
    uint32_t ep = r->plan->ep;
    bool gradients = !r->t->comm_count; /* a single-GPU step */
    if ((!dp || dp == m->dp) && (!ep || ep == m->ep))
        return SC_OK;
    if (!r->meshed && !gradients)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        "its process groups do not follow from tp, cp, dp, ep and pp",
                        "--dp and --ep cannot change this trace");
    if (ep && gradients)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "--ep: the trace has no expert groups to change");
    if (!gradients)
        sc__note(r->ctx,
                 "kineto-resized",
                 "%s: dp %u instead of %u, ep %u instead of %u; kernel times are unchanged",
                 r->t->file,
                 dp ? dp : m->dp,
                 m->dp,
                 ep ? ep : m->ep,
                 m->ep);
    if (dp)
        m->dp = dp;
    if (ep)
        m->ep = ep;
    return sc__mesh_check(r->ctx, m);
}

static sc_status replay_one(struct replay *r) {
    struct sc__mesh mesh;
    uint32_t world = r->t->world ? r->t->world : 1;
    SC__TRY(sc__kineto_find_groups(r->ctx, r->t, world, &r->groups));
    r->w->mesh = sc__mesh(1, 1, 1, world, 1, 1);
    r->meshed = sc__kineto_mesh(&r->groups, r->t->rank, world, &mesh);
    if (r->meshed)
        r->w->mesh = mesh;
    SC__TRY(resize(r));
    r->ranks = sc__mesh_ranks(&r->w->mesh);
    r->w->rank_class = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, r->ranks);
    if (r->ranks > 1)
        sc__note(r->ctx,
                 "kineto-replicated",
                 "one trace stands for all %u ranks",
                 r->ranks);
    SC__TRY(replay_trace(r, r->t->rank < r->ranks ? r->t->rank : 0, r->ranks, "all ranks"));
    notes(r, r->t->file);
    return SC_OK;
}

static void note_shifted(const struct replay *r) {
    uint32_t shifted = r->transfers->shifted;
    if (shifted)
        sc__note(
            r->ctx,
            "kineto-shifted",
            "%u time%s a group begins with another collective (Seq) on one rank than on "
            "another: the traces are not of the same step, and are matched in order",
            shifted,
            shifted == 1 ? "" : "s");
}

/* The mesh the groups of all traces are cut from. */
static sc_status common_mesh(struct replay *r,
                             struct sc__kineto_trace *const *traces,
                             uint32_t count,
                             uint32_t world) {
    struct sc__mesh mesh;
    for (uint32_t i = 0; i < count; i++) {
        struct sc__kineto_groups groups;
        struct sc__place at = {.file = traces[i]->file};
        SC__TRY(sc__kineto_find_groups(r->ctx, traces[i], world, &groups));
        bool meshed = sc__kineto_mesh(&groups, traces[i]->rank, world, &mesh);
        if (!meshed || (i && memcmp(&mesh, &r->w->mesh, sizeof mesh) != 0))
            return sc__fail(r->ctx,
                            SC_INPUT,
                            &at,
                            "give one trace, or those of all ranks",
                            "%u traces of a job of %u ranks: its process groups do not "
                            "tell what the other ranks do",
                            count,
                            world);
        r->w->mesh = mesh;
    }
    return SC_OK;
}

/* Some of the ranks: each trace is a class, of the ranks it stands for. */
static sc_status replay_some(struct replay *r,
                             struct sc__kineto_trace *const *traces,
                             uint32_t count,
                             uint32_t world) {
    SC__TRY(common_mesh(r, traces, count, world));
    uint32_t *ranks = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, count);
    r->w->rank_class = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, world);
    SC__TRY(sc__kineto_stand_in(r->ctx, &r->w->mesh, traces, count, r->w->rank_class));
    for (uint32_t i = 0; i < world; i++)
        ranks[r->w->rank_class[i]]++;
    r->meshed = true;
    for (uint32_t i = 0; i < count; i++) {
        SC__TRY(replay_class(r, traces[i], i, ranks[i], world));
        r->w->classes[i].stage =
            sc__mesh_coordinate(&r->w->mesh, traces[i]->rank, SC__DIM_PP);
    }
    sc__note(r->ctx,
             "kineto-replicated",
             "%u traces stand for all %u ranks, each for those like it in its stage",
             count,
             world);
    return SC_OK;
}

static sc_status
replay_all(struct replay *r, struct sc__kineto_trace *const *traces, uint32_t count) {
    uint32_t world = traces[0]->world;
    if (r->plan->dp || r->plan->ep)
        return sc__fail(r->ctx,
                        SC_USAGE,
                        NULL,
                        "give the trace of one rank, which then stands for all",
                        "--dp and --ep change a job of one trace, not of %u",
                        count);
    if (world > count)
        return replay_some(r, traces, count, world);
    r->w->mesh = sc__mesh(1, 1, 1, count, 1, 1);
    r->w->rank_class = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        SC__TRY(replay_class(r, traces[i], i, 1, count));
        r->w->rank_class[i] = i;
    }
    return SC_OK;
}

sc_status sc__kineto_replay(struct sc_context *ctx,
                            struct sc__kineto_trace *const *traces,
                            uint32_t count,
                            const struct sc__kineto_plan *plan,
                            const char *format,
                            struct sc__workload **out,
                            struct sc__timeline **measured) {
    struct sc__kineto_transfers transfers;
    struct sc__map lists;
    struct replay r = {.ctx = ctx,
                       .w = sc__workload_new(&ctx->arena, format),
                       .t = traces[0],
                       .first = traces[0],
                       .plan = plan,
                       .lists = &lists,
                       .transfers = &transfers};
    *out = r.w;
    *measured = r.measured = SC__NEW(&ctx->arena, struct sc__timeline);
    r.measured->workload = r.w;
    sc__kineto_transfers_init(&transfers, &ctx->arena);
    sc__map_init(&lists, &ctx->arena);
    SC__TRY(count == 1 ? replay_one(&r) : replay_all(&r, traces, count));
    sc__kineto_transfers_settle(&transfers, r.w, r.measured);
    note_shifted(&r);
    if (count > 1)
        notes(&r, sc__format(&ctx->arena, "%u traces", count));
    return SC_OK;
}
