/* profile → workload.
 *
 *   gather parameters │ forward: … gate ─ all-to-all ─ experts ─ all-to-all ─ combine …
 *                     │ backward: the same in reverse
 *                     │ reduce-scatter, all-reduces, scale, clip, optimizer, rest
 *
 * Device times are the table's and are conserved. Message sizes follow from
 * tokens, hidden size, top-k and capacity, which the table does not have: they
 * are asked for, or assumed with a note that names them. */
#include "frontend/torch_profiler/profiler_lower.h"

#include "frontend/kineto/kineto.h"

#include "lower/pipeline.h"

#include <math.h>
#include <string.h>

struct sizes {
    uint32_t world;
    uint32_t ep;
    uint32_t tokens;
    uint32_t hidden;
    uint32_t ffn;
    uint32_t vocabulary;
    uint32_t bytes;
    uint32_t top_k;
    uint32_t measured_top_k;
    double capacity;
    double measured_capacity;
    double imbalance; /* tokens of the fullest expert ÷ average */
    uint32_t chunks;  /* of an overlapped all-to-all; 1 = not overlapped */
};

struct profiler_lower_lowering {
    struct sc_context *ctx;
    struct sc__workload *w;
    const struct sc__profile *p;
    struct sc__profile_step step;
    struct sizes size;
    bool compute_only;
    bool a2a_forward;
    bool a2a_backward;
    uint64_t a2a_bytes;
    uint64_t parameter_bytes;
};

/* ---- sizes ---- */

struct assumed {
    const char *option;
    uint32_t *value;
    uint32_t dflt;
};

/* Names every size that was not given. */
static sc_status take_counts(struct profiler_lower_lowering *lo,
                             const struct sc__settings *settings) {
    struct sizes *z = &lo->size;
    const struct assumed list[] = {{"tokens", &z->tokens, 4096},
                                   {"hidden", &z->hidden, 1024},
                                   {"ffn", &z->ffn, 0},
                                   {"vocab", &z->vocabulary, 50257},
                                   {"bytes-per-element", &z->bytes, 2},
                                   {"measured-top-k", &z->measured_top_k, 2}};
    struct sc__buffer b;
    sc__buffer_init(&b, &lo->ctx->arena);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        *list[i].value = list[i].dflt ? list[i].dflt : 4 * z->hidden;
        SC__TRY(sc__setting_u32(settings, list[i].option, 1, list[i].value));
        if (!sc__setting(settings, list[i].option))
            sc__printf(&b, "%s--%s %u", b.size ? ", " : "", list[i].option, *list[i].value);
    }
    if (b.size && !lo->compute_only)
        sc__note(lo->ctx,
                 "sizes-assumed",
                 "the table has no message sizes; they follow from assumed values: %s",
                 b.text);
    return SC_OK;
}

static sc_status take_routing(struct profiler_lower_lowering *lo,
                              const struct sc__settings *settings) {
    struct sizes *z = &lo->size;
    z->top_k = z->measured_top_k;
    z->measured_capacity = 1;
    SC__TRY(sc__setting_u32(settings, "top-k", 1, &z->top_k));
    SC__TRY(sc__setting_double(settings, "measured-capacity", &z->measured_capacity));
    z->capacity = z->measured_capacity;
    SC__TRY(sc__setting_double(settings, "capacity", &z->capacity));
    if (!(z->capacity > 0 && z->capacity < 1e6) ||
        !(z->measured_capacity > 0 && z->measured_capacity < 1e6))
        return sc__fail(lo->ctx, SC_USAGE, NULL, NULL, "--capacity takes a number above 0");
    z->imbalance = 1;
    SC__TRY(sc__setting_double(settings, "imbalance", &z->imbalance));
    if (!(z->imbalance >= 1 && z->imbalance < 1e6))
        return sc__fail(lo->ctx,
                        SC_USAGE,
                        NULL,
                        "1.3: the fullest expert gets 30 % more tokens than the average",
                        "--imbalance must be at least 1");
    z->chunks = 1;
    if (!sc__setting_flag(settings, "overlap-a2a"))
        return SC_OK; /* --a2a-chunks is then named as unused */
    z->chunks = 4;
    SC__TRY(sc__setting_u32(settings, "a2a-chunks", 1, &z->chunks));
    if (z->chunks > 1024)
        return sc__fail(lo->ctx, SC_USAGE, NULL, NULL, "--a2a-chunks is at most 1024");
    return SC_OK;
}

/* One expert per rank, as fairseq has it: the expert group is the world. */
static sc_status take_world(struct profiler_lower_lowering *lo,
                            const struct sc__settings *settings,
                            uint32_t cluster_gpus) {
    struct sizes *z = &lo->size;
    z->world = cluster_gpus;
    SC__TRY(sc__setting_u32(settings, "dp", 1, &z->world));
    SC__TRY(sc__setting_u32(settings, "gpus", 1, &z->world));
    z->ep = z->world ? z->world : 8;
    SC__TRY(sc__setting_u32(settings, "ep", 1, &z->ep));
    if (!z->world)
        z->world = z->ep;
    if (!sc__setting(settings, "ep") && !lo->compute_only)
        sc__note(lo->ctx,
                 "ep-assumed",
                 "the table does not say over how many ranks experts and parameters are "
                 "sharded: assuming %u; set --ep N and --gpus N",
                 z->ep);
    lo->w->mesh = sc__mesh(1, 1, z->ep, z->world, 1, 1);
    return sc__mesh_check(lo->ctx, &lo->w->mesh);
}

/* All-to-all: every token to top_k experts. Parameters that all ranks share: the
 * embedding, 4 h² of attention (q, k, v, out) in every layer, 2 h·ffn in the
 * dense ones; an expert is on one rank and its gradient stays there. */
static void derive_bytes(struct profiler_lower_lowering *lo) {
    const struct sizes *z = &lo->size;
    double routed = z->top_k * z->capacity * z->tokens * z->imbalance;
    double hidden = z->hidden;
    double dense = lo->step.layers - lo->step.moe_layers;
    double parameters = z->vocabulary * hidden + lo->step.layers * 4.0 * hidden * hidden +
                        dense * 2.0 * hidden * z->ffn;
    double a2a = routed * hidden * z->bytes;
    lo->a2a_bytes = a2a < 0x1p60 ? (uint64_t)a2a : (uint64_t)1 << 60;
    lo->parameter_bytes = (uint64_t)(parameters < 0x1p56 ? parameters : 0x1p56) * z->bytes;
}

/* ---- operations ---- */

static struct sc__op *profiler_lower_add_compute(struct profiler_lower_lowering *lo,
                                                 const char *name,
                                                 enum sc__phase phase,
                                                 uint8_t work,
                                                 uint32_t layer,
                                                 int64_t cost) {
    struct sc__op *op =
        sc__block_add(lo->w, SC__OP_COMPUTE, phase, SC__STREAM_COMPUTE, name);
    op->cost = cost;
    op->work = work;
    op->layer = layer;
    return op;
}

static struct sc__op *profiler_lower_add_collective(struct profiler_lower_lowering *lo,
                                                    const char *name,
                                                    enum sc__phase phase,
                                                    enum sc__coll coll,
                                                    enum sc__group_kind group,
                                                    uint64_t bytes) {
    struct sc__op *op =
        sc__block_add(lo->w, SC__OP_COLLECTIVE, phase, SC__STREAM_COMPUTE, name);
    op->coll = (uint8_t)coll;
    op->group = sc__workload_group(lo->w, group);
    op->bytes = bytes;
    op->peer = 0;
    return op;
}

/* What another top-k or capacity does to work that goes by routed tokens. */
static int64_t routed(const struct profiler_lower_lowering *lo,
                      const struct sc__profile_piece *piece,
                      int64_t time) {
    const struct sizes *z = &lo->size;
    if (piece->role < SC__PIECE_DISPATCH)
        return time;
    double factor = z->top_k * z->capacity / (z->measured_top_k * z->measured_capacity);
    /* the fullest expert's rank routes no more tokens than others, it receives more */
    if (piece->role == SC__PIECE_EXPERT)
        factor *= z->imbalance;
    return factor == 1 ? time : (int64_t)llround((double)time * factor);
}

static int64_t profiler_lower_time_of(const struct profiler_lower_lowering *lo,
                                      const struct sc__profile_piece *piece,
                                      bool backward) {
    return routed(lo, piece, backward ? piece->backward : piece->forward);
}

static uint64_t part_of(uint64_t total, uint32_t i, uint32_t n) {
    unsigned __int128 t = total;
    return (uint64_t)(t * (i + 1) / n - t * i / n);
}

/* Chunks: while the experts compute one, the next one is sent.
 *
 *   ep        in0 in1 in2 in3     out0 out1 …
 *   compute       ex0 ex1 ex2 ex3
 */
static void add_overlapped(struct profiler_lower_lowering *lo,
                           const struct sc__profile_piece *piece,
                           enum sc__phase phase,
                           int64_t time) {
    struct sc__workload *w = lo->w;
    uint32_t n = lo->size.chunks;
    uint32_t base = w->op_count - w->blocks[w->block_count - 1].first_op;
    for (uint32_t i = 0; i < n; i++) {
        struct sc__op *op = profiler_lower_add_collective(lo,
                                                          "all_to_all dispatch",
                                                          phase,
                                                          SC__ALLTOALL,
                                                          SC__GROUP_EP,
                                                          part_of(lo->a2a_bytes, i, n));
        op->stream = SC__STREAM_EP;
        if (!i)
            op->after = 1u << SC__STREAM_COMPUTE;
        op->layer = piece->layer;
    }
    for (uint32_t i = 0; i < n; i++) {
        profiler_lower_add_compute(lo,
                                   piece->name,
                                   phase,
                                   piece->work,
                                   piece->layer,
                                   (int64_t)part_of((uint64_t)time, i, n));
        sc__block_depend(w, base + i);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct sc__op *op = profiler_lower_add_collective(lo,
                                                          "all_to_all combine",
                                                          phase,
                                                          SC__ALLTOALL,
                                                          SC__GROUP_EP,
                                                          part_of(lo->a2a_bytes, i, n));
        op->stream = SC__STREAM_EP;
        op->layer = piece->layer;
        sc__block_depend(w, base + n + i);
    }
    sc__block_add(w, SC__OP_WAIT, phase, SC__STREAM_COMPUTE, "wait for experts")->after =
        1u << SC__STREAM_EP;
}

static void profiler_lower_add_piece(struct profiler_lower_lowering *lo,
                                     const struct sc__profile_piece *piece,
                                     bool backward) {
    enum sc__phase phase = backward ? SC__BACKWARD : SC__FORWARD;
    int64_t time = profiler_lower_time_of(lo, piece, backward);
    bool exchange = piece->role == SC__PIECE_EXPERT && !lo->compute_only &&
                    (backward ? lo->a2a_backward : lo->a2a_forward);
    if (exchange && lo->size.chunks > 1) {
        add_overlapped(lo, piece, phase, time);
        return;
    }
    if (exchange)
        profiler_lower_add_collective(lo,
                                      "all_to_all dispatch",
                                      phase,
                                      SC__ALLTOALL,
                                      SC__GROUP_EP,
                                      lo->a2a_bytes)
            ->layer = piece->layer;
    if (time)
        profiler_lower_add_compute(lo, piece->name, phase, piece->work, piece->layer, time);
    if (exchange)
        profiler_lower_add_collective(lo,
                                      "all_to_all combine",
                                      phase,
                                      SC__ALLTOALL,
                                      SC__GROUP_EP,
                                      lo->a2a_bytes)
            ->layer = piece->layer;
}

static uint32_t step_block(struct profiler_lower_lowering *lo, bool backward) {
    sc__block_begin(lo->w);
    for (uint32_t i = 0; i < lo->step.count; i++)
        profiler_lower_add_piece(lo,
                                 &lo->step.pieces[backward ? lo->step.count - 1 - i : i],
                                 backward);
    return sc__block_end(lo->w);
}

static void add_calls(struct profiler_lower_lowering *lo,
                      uint64_t calls,
                      const char *name,
                      enum sc__coll coll,
                      uint64_t bytes) {
    for (uint64_t i = 0; i < calls && !lo->compute_only; i++)
        profiler_lower_add_collective(lo, name, SC__UPDATE, coll, SC__GROUP_DP, bytes);
}

static uint32_t before_block(struct profiler_lower_lowering *lo) {
    sc__block_begin(lo->w);
    add_calls(lo, lo->step.all_gather, "all_gather", SC__ALLGATHER, lo->parameter_bytes);
    return sc__block_end(lo->w);
}

/* Scalars where gradients go through a reduce-scatter, else the gradients. */
static uint64_t all_reduce_bytes(const struct profiler_lower_lowering *lo) {
    const struct sc__profile_step *s = &lo->step;
    return s->reduce_scatter || !s->all_reduce ? 4 : lo->parameter_bytes / s->all_reduce;
}

static uint32_t profiler_lower_after_block(struct profiler_lower_lowering *lo) {
    const struct sc__profile_step *s = &lo->step;
    bool sharded = s->reduce_scatter > 0;
    uint64_t all_reduce = all_reduce_bytes(lo);
    const struct {
        const char *name;
        int64_t time;
        uint8_t work;
    } update[] = {{"backward", s->call, SC__WORK_OTHER},
                  {"multiply-grads", s->scale, SC__WORK_ELEMENTWISE},
                  {"clip-grads", s->clip, SC__WORK_ELEMENTWISE},
                  {"optimizer", s->optimizer, SC__WORK_OPTIMIZER},
                  {"rest of the step", s->rest, SC__WORK_OTHER}};
    sc__block_begin(lo->w);
    add_calls(lo,
              s->reduce_scatter,
              "reduce_scatter",
              SC__REDUCESCATTER,
              lo->parameter_bytes);
    add_calls(lo, s->all_reduce, "all_reduce", SC__ALLREDUCE, all_reduce);
    for (size_t i = 0; i < sizeof update / sizeof *update; i++)
        if (update[i].time)
            profiler_lower_add_compute(lo,
                                       update[i].name,
                                       SC__UPDATE,
                                       update[i].work,
                                       SC__NONE,
                                       update[i].time);
    if (s->all_reduce && !lo->compute_only)
        sc__note(lo->ctx,
                 "all-reduce-size",
                 sharded
                     ? "the %llu all-reduces are taken as scalars (%llu bytes each): "
                       "gradients go through the reduce-scatter"
                     : "the %llu all-reduces are taken as the gradients, %llu bytes each",
                 (unsigned long long)s->all_reduce,
                 (unsigned long long)all_reduce);
    return sc__block_end(lo->w);
}

/* ---- what the table leaves open ---- */

/* A MoE layer has two all-to-alls in forward, dispatch and combine, and two in
 * backward, if the table was recorded with them. */
static sc_status place_all_to_all(struct profiler_lower_lowering *lo) {
    const struct sc__profile_step *s = &lo->step;
    uint64_t each = 2 * (uint64_t)s->moe_layers;
    lo->a2a_forward = each && s->all_to_all >= each;
    lo->a2a_backward = each && s->all_to_all >= 2 * each;
    uint64_t placed = each * (lo->a2a_forward + (uint64_t)lo->a2a_backward);
    if (placed != s->all_to_all && !lo->compute_only)
        sc__note(lo->ctx,
                 "all-to-all-unplaced",
                 "the table counts %llu all-to-alls; %llu fit its %u MoE layers",
                 (unsigned long long)s->all_to_all,
                 (unsigned long long)placed,
                 s->moe_layers);
    if (s->other_comm && !lo->compute_only)
        sc__note(
            lo->ctx,
            "comm-unplaced",
            "%llu other NCCL calls of the table have no place in the step and are left out",
            (unsigned long long)s->other_comm);
    if (s->all_gather + s->reduce_scatter + s->all_reduce > 1000000)
        return sc__fail(lo->ctx,
                        SC_INPUT,
                        &(struct sc__place){.file = lo->p->file},
                        NULL,
                        "more than a million NCCL calls");
    return SC_OK;
}

static void say_waits(struct profiler_lower_lowering *lo) {
    struct sc__wait_row *waits;
    struct sc__buffer b;
    uint32_t n = sc__profile_waits(&lo->ctx->arena, lo->p, &waits);
    if (!n)
        return;
    sc__buffer_init(&b, &lo->ctx->arena);
    for (uint32_t i = 0; i < n && i < 12; i++) {
        sc__printf(&b, "%s%s ", i ? ", " : "", waits[i].row->name);
        sc__put_time(&b, waits[i].host);
    }
    sc__note(lo->ctx,
             "host-wait",
             "host time that is waiting, not work, and is not in the step: %s%s",
             b.text,
             n > 12 ? ", …" : "");
}

static void say_routing(struct profiler_lower_lowering *lo) {
    const struct sizes *z = &lo->size;
    if (z->top_k != z->measured_top_k || z->capacity != z->measured_capacity)
        sc__note(lo->ctx,
                 "routing-scaled",
                 "dispatch, experts and combine scale with top-k x capacity: %u x %g, "
                 "measured %u x %g",
                 z->top_k,
                 z->capacity,
                 z->measured_top_k,
                 z->measured_capacity);
    if (z->imbalance != 1)
        sc__note(
            lo->ctx,
            "imbalance",
            "shown is the rank with the fullest expert, %g times the average: its experts "
            "and its all-to-alls take that much longer, and all other ranks wait for it",
            z->imbalance);
}

static void say_shares(struct profiler_lower_lowering *lo) {
    const struct sc__profile_step *s = &lo->step;
    sc__note(lo->ctx,
             "backward-split",
             "backward (%.3f ms) is known by operator, not by layer: embedding, "
             "normalisation and loss go to their parts, the rest in proportion to forward",
             sc__us(s->backward) / 1e3);
    if (s->rest > s->step / 20)
        sc__note(lo->ctx,
                 "unexplained",
                 "%.1f %% of the step's device time is not explained by any row",
                 100 * (double)s->rest / (double)s->step);
    if (s->unnamed > s->step / 20)
        sc__note(lo->ctx,
                 "unexplained-layers",
                 "%.1f %% of the step's device time is in layers, but in no row of their "
                 "parts: it counts as feed-forward and experts; is a row missing?",
                 100 * (double)s->unnamed / (double)s->step);
}

static void
run_blocks(struct profiler_lower_lowering *lo, const uint32_t *blocks, uint32_t n) {
    struct sc__workload *w = lo->w;
    uint32_t program = sc__program_begin(w);
    for (uint32_t i = 0; i < n; i++)
        if (w->blocks[blocks[i]].ops)
            sc__program_call(w, blocks[i], i == 1 || i == 2 ? 0 : SC__NONE, 0, 0);
    sc__class_add(w, program, 0, sc__mesh_ranks(&w->mesh), 0);
    w->classes[0].name = "all ranks";
    w->stream_names[SC__STREAM_COMPUTE] = "compute";
    w->stream_names[SC__STREAM_EP] = "expert parallel";
}

static sc_status take_sizes(struct profiler_lower_lowering *lo,
                            const struct sc__settings *settings,
                            uint32_t cluster_gpus) {
    SC__TRY(take_counts(lo, settings));
    SC__TRY(take_routing(lo, settings));
    SC__TRY(take_world(lo, settings, cluster_gpus));
    SC__TRY(place_all_to_all(lo));
    derive_bytes(lo);
    return SC_OK;
}

static sc_status lower_step(struct profiler_lower_lowering *lo,
                            const struct sc__settings *settings,
                            uint32_t cluster_gpus) {
    SC__TRY(take_sizes(lo, settings, cluster_gpus));
    const uint32_t blocks[] = {before_block(lo),
                               step_block(lo, false),
                               step_block(lo, true),
                               profiler_lower_after_block(lo)};
    run_blocks(lo, blocks, 4);
    say_shares(lo);
    say_routing(lo);
    return SC_OK;
}

/* ---- any other table ---- */

static enum sc__phase phase_of(const struct sc__profile_row *r) {
    if (r->class == SC__WORK_OPTIMIZER)
        return SC__UPDATE;
    return strstr(r->name, "ackward") || strstr(r->name, "bprop") ||
                   strstr(r->name, "dgrad")
               ? SC__BACKWARD
               : SC__FORWARD;
}

static void lower_rows(struct profiler_lower_lowering *lo) {
    struct sc__profile_sum sum;
    sc__profile_add_up(&lo->ctx->arena, lo->p, &sum);
    sc__note(lo->ctx,
             "no-step",
             "%s: the step is the table's %s one after another, communication as measured",
             lo->step.why_not,
             sum.basis);
    if (sum.beyond > sum.total / 100)
        sc__note(lo->ctx,
                 "more-than-the-total",
                 "the table's %s add up to %.3f ms, the total below it is %.3f ms: a row "
                 "stands twice, or one of the two is of another unit or table",
                 sum.basis,
                 sc__us(sum.total) / 1e3,
                 sc__us(sum.total - sum.beyond) / 1e3);
    if (!strcmp(sum.basis, "device totals"))
        sc__note(lo->ctx,
                 "nested-twice",
                 "the table has no device self times: nested operators are counted twice");
    sc__block_begin(lo->w);
    for (uint32_t i = 0; i < sum.count; i++) {
        const struct sc__profile_row *r = sum.parts[i].row;
        uint8_t class = sum.parts[i].class;
        uint8_t work = class == SC__CLASS_COMM ? (uint8_t)SC__WORK_OTHER : class;
        struct sc__op *op = profiler_lower_add_compute(lo,
                                                       r->name,
                                                       phase_of(r),
                                                       work,
                                                       SC__NONE,
                                                       sum.parts[i].time);
        if (class != SC__CLASS_COMM)
            continue;
        uint8_t coll = sc__kineto_collective_of_kernel(sc__str(r->name));
        op->kind = SC__OP_COLLECTIVE;
        op->coll = coll < SC__COLLS ? coll : SC__ALLREDUCE;
        op->flags = SC__OP_MEASURED;
        op->group = sc__workload_group(lo->w, SC__GROUP_WORLD);
        op->peer = 0;
    }
    if (sum.unlisted)
        profiler_lower_add_compute(lo,
                                   "not listed in the table",
                                   SC__FORWARD,
                                   SC__WORK_OTHER,
                                   SC__NONE,
                                   sum.unlisted);
    uint32_t block = sc__block_end(lo->w);
    run_blocks(lo, &block, 1);
}

sc_status sc__lower_profile(struct sc_context *ctx,
                            const struct sc__settings *settings,
                            const struct sc__profile *p,
                            uint32_t cluster_gpus,
                            struct sc__workload **out) {
    struct profiler_lower_lowering lo = {
        .ctx = ctx,
        .p = p,
        .w = sc__workload_new(&ctx->arena, "profiler-table")};
    lo.compute_only = sc__setting_flag(settings, "compute-only");
    SC__TRY(sc__profile_find_step(ctx, p, &lo.step));
    if (p->steps > 1)
        sc__note(ctx,
                 "steps",
                 "the table sums %u steps; times are averages per step",
                 p->steps);
    if (lo.step.found)
        SC__TRY(lower_step(&lo, settings, cluster_gpus));
    else
        lower_rows(&lo);
    say_waits(&lo);
    *out = lo.w;
    return SC_OK;
}

/* ---- rows ---- */

/* Rows hold whole nanoseconds; what a row is short of goes to the next, so
 * that the sums stay. */
struct profiler_lower_rows {
    struct profiler_lower_lowering *lo;
    struct sc__layers *l;
    int64_t carry[SC__PARTS];
};

static struct sc__row *profiler_lower_add_row(struct profiler_lower_rows *r,
                                              const char *name,
                                              const int64_t time[SC__PARTS]) {
    struct sc__arena *a = &r->lo->ctx->arena;
    struct sc__row *row = SC__PUSH(a, r->l->rows, r->l->count, r->l->capacity);
    char *text = sc__strdup(a, name);
    for (char *c = text; *c; c++)
        if (*c == ' ')
            *c = '_';
    row->name = text;
    row->recompute_from = SC__NONE;
    for (unsigned p = 0; p < SC__PARTS; p++) {
        int64_t exact = time[p] + r->carry[p];
        row->part[p].compute = exact / SC__PS_PER_NS * SC__PS_PER_NS;
        r->carry[p] = exact - row->part[p].compute;
    }
    return row;
}

static void add_step_rows(struct profiler_lower_rows *r,
                          const char *name,
                          uint64_t calls,
                          enum sc__row_coll coll,
                          uint64_t bytes) {
    for (uint64_t i = 0; i < calls && !r->lo->compute_only; i++) {
        struct sc__row *row =
            profiler_lower_add_row(r, name, (const int64_t[SC__PARTS]){0});
        row->part[SC__PART_WEIGHT].coll = (uint8_t)coll;
        row->part[SC__PART_WEIGHT].bytes = bytes;
    }
}

static void profiler_lower_exchange(const struct profiler_lower_lowering *lo,
                                    struct sc__row *row,
                                    unsigned part) {
    if (lo->compute_only ||
        !(part == SC__PART_FORWARD ? lo->a2a_forward : lo->a2a_backward))
        return;
    row->part[part].coll = SC__ROW_ALLTOALL;
    row->part[part].suffix = SC__SUFFIX_EP;
    row->part[part].bytes = lo->a2a_bytes;
}

/* A collective follows the compute of its row: tokens leave after the row
 * before the experts, and in backward after the row behind them. */
static void add_pieces(struct profiler_lower_rows *r) {
    const struct sc__profile_step *s = &r->lo->step;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__profile_piece *piece = &s->pieces[i];
        bool expert = piece->role == SC__PIECE_EXPERT;
        const int64_t time[SC__PARTS] = {profiler_lower_time_of(r->lo, piece, false),
                                         profiler_lower_time_of(r->lo, piece, true),
                                         0};
        struct sc__row *row = profiler_lower_add_row(r, piece->name, time);
        if (expert || (i + 1 < s->count && s->pieces[i + 1].role == SC__PIECE_EXPERT))
            profiler_lower_exchange(r->lo, row, SC__PART_FORWARD);
        if (expert || (i && s->pieces[i - 1].role == SC__PIECE_EXPERT))
            profiler_lower_exchange(r->lo, row, SC__PART_INPUT);
    }
}

static void add_rows(struct profiler_lower_rows *r) {
    const struct profiler_lower_lowering *lo = r->lo;
    const struct sc__profile_step *s = &lo->step;
    add_step_rows(r, "grad_gather", s->all_gather, SC__ROW_ALLGATHER, lo->parameter_bytes);
    add_step_rows(r,
                  "grad_param_comm",
                  s->reduce_scatter,
                  SC__ROW_REDUCESCATTER,
                  lo->parameter_bytes);
    add_step_rows(r, "grad_norm", s->all_reduce, SC__ROW_ALLREDUCE, all_reduce_bytes(lo));
    profiler_lower_add_row(r,
                           "grad_scale_and_clip",
                           (const int64_t[SC__PARTS]){0, s->call + s->scale + s->clip, 0});
    add_pieces(r);
    profiler_lower_add_row(r, "optimizer", (const int64_t[SC__PARTS]){0, s->optimizer, 0});
    profiler_lower_add_row(r, "optimizer_rest", (const int64_t[SC__PARTS]){0, s->rest, 0});
}

sc_status sc__profile_rows(struct sc_context *ctx,
                           const struct sc__settings *settings,
                           const struct sc__profile *p,
                           uint32_t cluster_gpus,
                           struct sc__layers **out) {
    struct profiler_lower_lowering lo = {
        .ctx = ctx,
        .p = p,
        .w = sc__workload_new(&ctx->arena, "profiler-table")};
    struct profiler_lower_rows r = {.lo = &lo,
                                    .l = SC__NEW(&ctx->arena, struct sc__layers)};
    struct sc__place at = {.file = p->file};
    lo.compute_only = sc__setting_flag(settings, "compute-only");
    SC__TRY(sc__profile_find_step(ctx, p, &lo.step));
    if (!lo.step.found)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "--to ir-json can hold it",
                        "no step to write as rows: %s",
                        lo.step.why_not);
    SC__TRY(take_sizes(&lo, settings, cluster_gpus));
    if (lo.size.chunks > 1)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "--to ir-json can hold it",
                        "rows cannot express an overlapped all-to-all");
    *r.l = (struct sc__layers){.file = p->file,
                               .format = "workload-text",
                               .policy = "HYBRID_TRANSFORMER",
                               .tp = 1,
                               .ep = lo.size.ep,
                               .pp = 1,
                               .ga = 1,
                               .gpus = lo.size.world};
    add_rows(&r);
    say_shares(&lo);
    say_routing(&lo);
    say_waits(&lo);
    *out = r.l;
    return SC_OK;
}

#define GROUP "Profiler tables"

const struct sc__option sc__profile_options[] = {
    {"compute-only",
     0,
     NULL,
     NULL,
     GROUP,
     "device time only: no assumptions beyond the table",
     0},
    {"tokens", 0, "N", "4096", GROUP, "tokens per rank and step", 0},
    {"hidden", 0, "N", "1024", GROUP, "hidden size", 0},
    {"ffn", 0, "N", "4 x hidden", GROUP, "FFN hidden size", 0},
    {"vocab", 0, "N", "50257", GROUP, "vocabulary", 0},
    {"top-k", 0, "N", "as measured", GROUP, "experts per token", 0},
    {"capacity", 0, "X", "as measured", GROUP, "capacity factor of the experts", 0},
    {"measured-top-k", 0, "N", "2", GROUP, "experts per token when the table was made", 0},
    {"measured-capacity", 0, "X", "1", GROUP, "capacity factor when the table was made", 0},
    {"imbalance", 0, "X", "1", GROUP, "tokens of the fullest expert over the average", 0},
    {"overlap-a2a",
     0,
     NULL,
     NULL,
     GROUP,
     "overlap all-to-all with experts: tokens go in chunks",
     0},
    {"a2a-chunks", 0, "N", "4", GROUP, "how many chunks", 0},
    {0}};
