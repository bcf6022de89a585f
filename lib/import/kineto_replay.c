/* A measured step as a workload: kernels keep their streams, order and times;
 * collectives are asked of the network again.
 *
 * What waited for what is not in the trace and is taken from the times: a
 * collective waits for the last compute kernel that had ended when it started;
 * a kernel that starts within 20 us of the end of one on another stream, later
 * than its own stream was free, waited for that one. What remains of a gap is
 * the host's, and is kept as an operation of its own (launch gaps). */
#include "import/kineto.h"

#include <string.h>

#define WAIT_WINDOW 20000 /* ns */

struct last {
    int64_t end;
    uint32_t op; /* index in the block + 1; 0: none yet */
};

struct replay {
    struct sc_context *ctx;
    struct sc__workload *w;
    const struct sc__kineto_trace *t;
    const struct sc__kineto_plan *plan;
    uint32_t ranks;
    int64_t start, end; /* of the step */
    uint8_t lane[256];  /* by stream of the trace */
    struct last last[SC__MAX_STREAMS];
    struct last ended[SC__MAX_STREAMS]; /* the last that had ended at the time looked at */
    uint32_t *work;                     /* by name: class of work + 1 */
    uint32_t block_first;
    uint32_t first_update, last_backward; /* operations + 1 */
    uint64_t messages, unknown, comms;
};

/* The compute stream is the one with the most compute time. */
static sc_status choose_lanes(struct replay *r) {
    const struct sc__kineto_trace *t = r->t;
    int64_t time[256] = {0};
    struct sc__place at = {.file = t->file};
    if (t->stream_count > SC__MAX_STREAMS - 1)
        return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%u streams; at most %u can be replayed", t->stream_count,
                        SC__MAX_STREAMS - 1);
    for (uint32_t i = 0; i < t->kernel_count; i++)
        if (t->kernels[i].kind == SC__KINETO_COMPUTE) time[t->kernels[i].stream] += t->kernels[i].dur;
    uint32_t main_stream = 0;
    for (uint32_t s = 1; s < t->stream_count; s++)
        if (time[s] > time[main_stream]) main_stream = s;
    for (uint32_t s = 0, next = 1; s < t->stream_count; s++) {
        r->lane[s] = (uint8_t)(s == main_stream ? 0 : next++);
        r->w->stream_names[r->lane[s]] = sc__format(r->w->arena, "stream %u", t->streams[s]);
    }
    return SC_OK;
}

/* ---- groups ---- */

static const char *group_label(struct sc__arena *a, const char *description, uint32_t size, uint32_t world) {
    static const struct {
        const char *part, *label;
    } words[] = {{"EXPERT_DATA", "dp_ep"}, {"EXPERT", "ep"},  {"DATA", "dp"},    {"TENSOR", "tp"},
                 {"PIPELINE", "pp"},       {"CONTEXT", "cp"}, {"mesh_tp", "tp"}, {"mesh_dp", "dp"},
                 {"mesh_pp", "pp"},        {"mesh_cp", "cp"}, {"mesh_ep", "ep"}, {"MODEL_PARALLEL", "tp"}};
    for (unsigned i = 0; description && i < sizeof words / sizeof *words; i++)
        if (strstr(description, words[i].part)) return words[i].label;
    return size == world ? "world" : sc__format(a, "group of %u", size);
}

/* "[0, 1, 2]", cut after 30 entries: the rest goes on as the first two do. */
static uint32_t *member_list(struct replay *r, const char *text, uint32_t size) {
    uint32_t *ranks = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, size), n = 0;
    for (const char *p = text; p && *p && n < size;) {
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        uint64_t v = 0;
        for (; *p >= '0' && *p <= '9'; p++) v = v < UINT32_MAX ? 10 * v + (uint64_t)(*p - '0') : v;
        ranks[n++] = v < UINT32_MAX ? (uint32_t)v : 0;
    }
    if (n < size)
        sc__note(r->ctx, "kineto-ranks",
                 "%s: a process group of %u ranks names %u of them; the rest was taken as equally spaced", r->t->file,
                 size, n);
    uint32_t first = n ? ranks[0] : 0, stride = n > 1 && ranks[1] > first ? ranks[1] - first : 1;
    for (; n < size; n++) ranks[n] = first + n * stride;
    return ranks;
}

static sc_status find_group(struct replay *r, const struct sc__kineto_comm *c, uint16_t *out) {
    const struct sc__names *names = &r->t->names;
    struct sc__place at = {.file = r->t->file};
    const char *description = c->description == SC__NO_NAME ? NULL : names->text[c->description];
    uint32_t size = c->group_size ? c->group_size : r->ranks;
    if (size > r->ranks)
        return sc__fail(r->ctx, SC_INPUT, &at, NULL, "a process group of %u ranks in a job of %u", size, r->ranks);
    uint32_t *ranks = member_list(r, c->ranks == SC__NO_NAME ? NULL : names->text[c->ranks], size);
    bool inside = false;
    for (uint32_t i = 0; i < size; i++) {
        if (ranks[i] >= r->ranks)
            return sc__fail(r->ctx, SC_INPUT, &at, NULL, "a process group holds rank %u of a job of %u", ranks[i],
                            r->ranks);
        inside = inside || ranks[i] == r->t->rank;
    }
    if (!inside)
        return sc__fail(r->ctx, SC_INPUT, &at, NULL, "rank %u calls a collective of a group it is not in", r->t->rank);
    for (uint32_t g = 0; g < r->w->group_count; g++)
        if (r->w->groups[g].kind == SC__GROUP_LIST && r->w->groups[g].count == size &&
            !memcmp(r->w->groups[g].ranks, ranks, size * sizeof *ranks)) {
            *out = (uint16_t)g;
            return SC_OK;
        }
    *out = sc__workload_group_list(r->w, group_label(r->w->arena, description, size, r->ranks), ranks, size);
    return SC_OK;
}

/* ---- operations ---- */

static uint32_t index_of_last(const struct replay *r) { return r->w->op_count - 1 - r->block_first; }

static enum sc__work work_of(struct replay *r, const struct sc__kineto_kernel *k) {
    uint32_t *known = &r->work[k->name];
    if (!*known) *known = 1u + sc__kineto_work(r->t->names.text[k->name]);
    return *known - 1;
}

static sc_status add_collective(struct replay *r, const struct sc__kineto_kernel *k, const struct sc__kineto_comm *c) {
    uint16_t group = 0;
    SC__TRY(find_group(r, c, &group));
    struct sc__op *op = sc__block_add(r->w, SC__OP_COLLECTIVE, k->phase, r->lane[k->stream], r->t->names.text[k->name]);
    op->coll = c->coll;
    op->group = group;
    op->bytes = c->coll == SC__ALLGATHER ? c->out_bytes : c->in_bytes;
    if (c->coll == SC__BROADCAST || c->coll == SC__REDUCE) op->peer = r->w->groups[group].ranks[0];
    r->comms++;
    return SC_OK;
}

static void add_kernel(struct replay *r, const struct sc__kineto_kernel *k) {
    enum sc__work work = k->kind == SC__KINETO_COMPUTE ? work_of(r, k) : SC__WORK_COPY;
    double scale = r->plan->scale[work] / r->plan->speedup;
    struct sc__op *op = sc__block_add(r->w, SC__OP_COMPUTE, k->phase, r->lane[k->stream], r->t->names.text[k->name]);
    op->work = (uint8_t)work;
    op->cost =
        scale == 1 || k->kind == SC__KINETO_COMM ? k->dur * SC__PS_PER_NS : llround((double)k->dur * 1000 * scale);
}

/* What the kernel waited for: op index + 1 and its end. */
static struct last waited_for(const struct replay *r, const struct sc__kineto_kernel *k) {
    uint8_t lane = r->lane[k->stream];
    struct last best = {0};
    for (unsigned s = 0; s < SC__MAX_STREAMS; s++) {
        const struct last *l = &r->ended[s];
        bool of_comm = k->kind == SC__KINETO_COMM && s == 0;
        if (s == lane || !l->op || l->end <= r->last[lane].end || (best.op && l->end <= best.end)) continue;
        if (of_comm || k->start - l->end <= WAIT_WINDOW) best = *l;
    }
    return best;
}

static void add_gap(struct replay *r, const struct sc__kineto_kernel *k, struct last dep) {
    uint8_t lane = r->lane[k->stream];
    int64_t free = r->last[lane].op ? r->last[lane].end : r->start;
    if (dep.op && dep.end > free) free = dep.end;
    if (k->start <= free) return;
    struct sc__op *op = sc__block_add(r->w, SC__OP_COMPUTE, k->phase, lane, "launch gap");
    op->work = SC__WORK_HOST;
    op->cost = (k->start - free) * SC__PS_PER_NS;
    if (dep.op) sc__block_depend(r->w, dep.op - 1);
}

/* Streams whose last operation has ended by now move on. */
static void advance(struct replay *r, int64_t now) {
    for (unsigned s = 0; s < SC__MAX_STREAMS; s++)
        if (r->last[s].op && r->last[s].end <= now) r->ended[s] = r->last[s];
}

static sc_status replay_kernel(struct replay *r, const struct sc__kineto_kernel *k) {
    uint8_t lane = r->lane[k->stream];
    const struct sc__kineto_comm *c = k->comm == SC__NONE ? NULL : &r->t->comms[k->comm];
    advance(r, k->start);
    struct last dep = waited_for(r, k);
    uint32_t before = r->w->op_count;
    add_gap(r, k, dep);
    bool gap = r->w->op_count > before;
    if (c && c->coll < SC__COLLS)
        SC__TRY(add_collective(r, k, c));
    else {
        if (c) *(c->coll == SC__COLLS ? &r->messages : &r->unknown) += 1;
        add_kernel(r, k);
    }
    if (dep.op && !gap) sc__block_depend(r->w, dep.op - 1);
    r->last[lane] = (struct last){k->start + k->dur, index_of_last(r) + 1};
    if (k->phase == SC__BACKWARD) r->last_backward = index_of_last(r) + 1;
    if (k->phase == SC__UPDATE && !r->first_update) r->first_update = index_of_last(r) + 1;
    return SC_OK;
}

/* ---- gradients of a step that was measured on one GPU ---- */

static sc_status gradient_bytes(struct replay *r, uint64_t *bytes) {
    const struct sc__kineto_trace *t = r->t;
    struct sc__place at = {.file = t->file};
    *bytes = r->plan->grad_bytes;
    if (*bytes) return SC_OK;
    for (uint32_t i = 0; i < t->recorded_count; i++)
        if (t->recorded[i].coll == SC__ALLREDUCE) *bytes += t->recorded[i].in_bytes;
    if (*bytes) {
        sc__note(r->ctx, "kineto-gradients",
                 "--dp %u: gradients of %llu bytes, as the all-reduces recorded on the host say", r->plan->dp,
                 (unsigned long long)*bytes);
        return SC_OK;
    }
    *bytes = t->optimizer_elements * 4;
    if (!*bytes)
        return sc__fail(r->ctx, SC_INPUT, &at, "--grad-bytes SIZE",
                        "--dp: the trace does not tell how large the gradients are");
    sc__note(r->ctx, "kineto-gradients", "--dp %u: gradients of %llu bytes, 4 for each parameter the optimizer touches",
             r->plan->dp, (unsigned long long)*bytes);
    return SC_OK;
}

/* Behind the last kernel of backward; the first of the optimizer waits. */
static void add_gradients(struct replay *r, uint64_t bytes) {
    uint16_t group = sc__workload_group(r->w, SC__GROUP_WORLD);
    r->w->groups[group].label = "dp";
    struct sc__op *op = sc__block_add(r->w, SC__OP_COLLECTIVE, SC__UPDATE, SC__MAX_STREAMS - 1, "gradient all-reduce");
    op->coll = SC__ALLREDUCE;
    op->group = group;
    op->bytes = bytes;
    if (r->last_backward)
        sc__block_depend(r->w, r->last_backward - 1);
    else if (r->last[0].op)
        sc__block_depend(r->w, r->last[0].op - 1);
    r->w->stream_names[SC__MAX_STREAMS - 1] = "gradients";
}

/* ---- the step ---- */

/* A step begins with the first kernel launched in it and ends with the first
 * of the next one. */
static int64_t first_kernel(const struct sc__kineto_trace *t, int64_t from) {
    int64_t best = INT64_MAX;
    for (uint32_t i = 0; i < t->kernel_count && best == INT64_MAX; i++) {
        const struct sc__kineto_launch *l = sc__kineto_launch_of(t, t->kernels[i].correlation);
        if ((l ? l->start : t->kernels[i].start) >= from) best = t->kernels[i].start;
    }
    return best;
}

void sc__kineto_step_window(const struct sc__kineto_trace *t, uint32_t step, int64_t *start, int64_t *end) {
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < t->kernel_count; i++)
        if (t->kernels[i].start + t->kernels[i].dur > last) last = t->kernels[i].start + t->kernels[i].dur;
    *start = t->kernels[0].start;
    *end = last;
    if (!t->step_count) return;
    *start = first_kernel(t, t->steps[step].start);
    if (*start == INT64_MAX) *start = last;
    if (step + 1 < t->step_count) *end = first_kernel(t, t->steps[step + 1].start);
    if (*end > last) *end = last;
}

static sc_status make_block(struct replay *r, uint32_t *block) {
    uint32_t step = r->plan->step == SC__NONE ? 0 : r->plan->step;
    struct sc__place at = {.file = r->t->file};
    uint64_t bytes = 0;
    if (r->t->step_count && step >= r->t->step_count)
        return sc__fail(r->ctx, SC_INPUT, &at, NULL, "there are %u steps, not %u", r->t->step_count, step + 1);
    sc__kineto_step_window(r->t, step, &r->start, &r->end);
    SC__TRY(choose_lanes(r));
    r->work = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, r->t->names.count);
    bool gradients = r->plan->dp > 1 && !r->t->comm_count;
    if (gradients) SC__TRY(gradient_bytes(r, &bytes));
    r->block_first = r->w->op_count;
    sc__block_begin(r->w);
    bool due = gradients;
    for (uint32_t i = 0; i < r->t->kernel_count; i++) {
        const struct sc__kineto_kernel *k = &r->t->kernels[i];
        if (k->start < r->start || k->start >= r->end) continue;
        if (due && k->phase == SC__UPDATE) {
            add_gradients(r, bytes);
            sc__block_add(r->w, SC__OP_WAIT, SC__UPDATE, r->lane[k->stream], "wait")->after = 1u
                                                                                              << (SC__MAX_STREAMS - 1);
            due = false;
        }
        SC__TRY(replay_kernel(r, k));
    }
    if (due) add_gradients(r, bytes);
    *block = sc__block_end(r->w);
    return SC_OK;
}

static void notes(const struct replay *r) {
    if (r->messages)
        sc__note(r->ctx, "kineto-messages", "%s: %llu send and receive kernels keep their measured times", r->t->file,
                 (unsigned long long)r->messages);
    if (r->unknown)
        sc__note(r->ctx, "kineto-unknown",
                 "%s: %llu NCCL kernels without a known collective name keep their measured times", r->t->file,
                 (unsigned long long)r->unknown);
    if (r->comms)
        sc__note(r->ctx, "kineto-replay",
                 "%s: %llu collectives are simulated again, kernels and launch gaps keep their times", r->t->file,
                 (unsigned long long)r->comms);
}

sc_status sc__kineto_replay(struct sc_context *ctx, struct sc__kineto_trace *const *traces, uint32_t count,
                            const struct sc__kineto_plan *plan, struct sc__workload **out) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "kineto");
    uint32_t ranks = count > 1 ? count : traces[0]->world ? traces[0]->world : 1;
    if (count == 1 && plan->dp > 1 && !traces[0]->comm_count) ranks = plan->dp;
    w->mesh = sc__mesh(1, 1, 1, ranks, 1, 1);
    w->rank_class = SC__NEW_ARRAY(&ctx->arena, uint32_t, ranks);
    for (uint32_t i = 0; i < count; i++) {
        struct replay r = {.ctx = ctx, .w = w, .t = traces[i], .plan = plan, .ranks = ranks};
        uint32_t block = 0;
        SC__TRY(make_block(&r, &block));
        uint32_t program = sc__program_begin(w);
        sc__program_call(w, block, SC__NONE, 0, 0);
        uint32_t class = sc__class_add(w, program,
                                       count > 1                 ? i
                                       : traces[0]->rank < ranks ? traces[0]->rank
                                                                 : 0,
                                       count > 1 ? 1 : ranks, 0);
        w->classes[class].name = count > 1 ? sc__format(&ctx->arena, "rank %u", i) : "all ranks";
        if (count > 1) w->rank_class[i] = class;
        notes(&r);
    }
    if (count == 1 && ranks > 1) sc__note(ctx, "kineto-replicated", "one trace stands for all %u ranks", ranks);
    *out = w;
    return SC_OK;
}
