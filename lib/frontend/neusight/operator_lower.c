/* operators → workload.
 *
 *   compute   F F F F │ B  B  B  B
 *   dp                     └─ all-reduce ─┘└─ all-reduce ─┘
 *
 * Every stage has one block for the forward of a micro-batch, one for its
 * backward, and one for the backward of the last micro-batch, which alone
 * reduces gradients (as DDP does when it accumulates them). */
#include "frontend/neusight/operator_lower.h"

#include "lower/pipeline.h"

#include <string.h>

#define FIRST_BUCKET ((uint64_t)1 << 20) /* DDP closes its first bucket early */

struct stage {
    /* in operators.items */
    uint32_t first;
    uint32_t count;
    /* blocks */
    uint32_t forward;
    uint32_t backward;
    uint32_t last;
    /* bytes of a message */
    uint64_t to_next;
    uint64_t to_previous;
};

struct operator_lower_lowering {
    struct sc_context *ctx;
    struct sc__workload *w;
    struct sc__operators rows;
    struct stage *stages;
    uint32_t pp;
    uint32_t tp;
    uint32_t dp;
    uint32_t ep;
    uint32_t micro_batches;
    uint64_t bucket; /* bytes; 0 = one collective per row */
};

/* Gradients that wait for their bucket to fill. */
struct operator_lower_bucket {
    uint64_t bytes;
    uint64_t limit;
    int64_t process;
    uint32_t gradients;
    uint32_t number;
};

static void operator_lower_add_compute(struct operator_lower_lowering *lo,
                                       const struct sc__operator *o,
                                       enum sc__phase phase,
                                       unsigned part) {
    int64_t cost = o->row.part[part].compute;
    if (!cost)
        return;
    struct sc__op *op =
        sc__block_add(lo->w, SC__OP_COMPUTE, phase, SC__STREAM_COMPUTE, o->row.name);
    op->cost = cost;
    op->work = o->row.work;
    op->row = o->source;
    op->layer = o->layer;
}

static enum sc__coll collective_of(uint8_t coll) {
    switch (coll) {
    case SC__ROW_ALLGATHER:
        return SC__ALLGATHER;
    case SC__ROW_REDUCESCATTER:
        return SC__REDUCESCATTER;
    case SC__ROW_ALLTOALL:
        return SC__ALLTOALL;
    case SC__ROW_BROADCAST:
        return SC__BROADCAST;
    default:
        return SC__ALLREDUCE;
    }
}

/* A gradient's collective: marked as such, or any in the weight columns. Nothing
 * waits for it but the optimizer, so it runs beside backward. */
static bool is_async(const struct sc__row_part *part, unsigned index) {
    return part->coll == SC__ROW_ALLREDUCE_ASYNC ||
           (part->coll && index == SC__PART_WEIGHT);
}

static enum sc__group_kind operator_lower_group_of(const struct sc__row_part *part,
                                                   unsigned index) {
    if (part->suffix == SC__SUFFIX_EP)
        return SC__GROUP_EP;
    if (part->suffix == SC__SUFFIX_DP_EP)
        return SC__GROUP_DP_EP;
    return is_async(part, index) ? SC__GROUP_DP : SC__GROUP_TP;
}

static struct sc__op *operator_lower_add_collective(struct operator_lower_lowering *lo,
                                                    const struct sc__operator *o,
                                                    enum sc__phase phase,
                                                    unsigned index,
                                                    const char *name) {
    const struct sc__row_part *part = &o->row.part[index];
    bool async = is_async(part, index);
    struct sc__op *op = sc__block_add(lo->w,
                                      SC__OP_COLLECTIVE,
                                      phase,
                                      async ? SC__STREAM_DP : SC__STREAM_COMPUTE,
                                      name);
    if (async)
        op->after = 1u << SC__STREAM_COMPUTE;
    op->coll = (uint8_t)collective_of(part->coll);
    op->group = sc__workload_group(lo->w, operator_lower_group_of(part, index));
    op->bytes = part->bytes;
    op->cost = o->row.process;
    op->row = o->source;
    op->layer = o->layer;
    op->peer = 0;
    return op;
}

static void flush(struct operator_lower_lowering *lo,
                  struct operator_lower_bucket *b,
                  const struct sc__operator *o,
                  unsigned index) {
    if (!b->gradients)
        return;
    const char *name =
        sc__format(&lo->ctx->arena, "bucket %u (%u gradients)", b->number, b->gradients);
    struct sc__op *op = operator_lower_add_collective(lo, o, SC__BACKWARD, index, name);
    op->bytes = b->bytes;
    op->cost = b->process;
    *b = (struct operator_lower_bucket){.limit = lo->bucket, .number = b->number + 1};
}

/* A gradient is ready. Without buckets its all-reduce starts; with them, when
 * the bucket has reached its size. */
static void reduce_gradient(struct operator_lower_lowering *lo,
                            struct operator_lower_bucket *b,
                            const struct sc__operator *o,
                            unsigned index) {
    const struct sc__row_part *part = &o->row.part[index];
    bool bucketed = lo->bucket && collective_of(part->coll) == SC__ALLREDUCE &&
                    part->suffix == SC__SUFFIX_NONE;
    if (!bucketed) {
        operator_lower_add_collective(lo, o, SC__BACKWARD, index, o->row.name);
        return;
    }
    b->bytes += part->bytes;
    b->process += o->row.process;
    b->gradients++;
    if (b->bytes >= b->limit)
        flush(lo, b, o, index);
}

static uint32_t operator_lower_forward_block(struct operator_lower_lowering *lo,
                                             const struct stage *s) {
    sc__block_begin(lo->w);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__operator *o = &lo->rows.items[s->first + i];
        uint8_t coll = o->row.part[SC__PART_FORWARD].coll;
        operator_lower_add_compute(lo, o, SC__FORWARD, SC__PART_FORWARD);
        if (coll && coll != SC__ROW_SENDRECV && o->row.part[SC__PART_FORWARD].bytes)
            operator_lower_add_collective(lo,
                                          o,
                                          SC__FORWARD,
                                          SC__PART_FORWARD,
                                          o->row.name);
    }
    return sc__block_end(lo->w);
}

static uint32_t operator_lower_backward_block(struct operator_lower_lowering *lo,
                                              const struct stage *s,
                                              bool last) {
    uint64_t first_limit = lo->bucket < FIRST_BUCKET ? lo->bucket : FIRST_BUCKET;
    struct operator_lower_bucket b = {.limit = first_limit};
    const struct sc__operator *reduced = NULL;
    unsigned reduced_part = SC__PART_INPUT;
    sc__block_begin(lo->w);
    for (uint32_t i = s->count; i-- > 0;) {
        const struct sc__operator *o = &lo->rows.items[s->first + i];
        for (unsigned p = SC__PART_INPUT; p < SC__PARTS; p++) {
            const struct sc__row_part *part = &o->row.part[p];
            operator_lower_add_compute(lo,
                                       o,
                                       p == SC__PART_INPUT ? SC__BACKWARD : SC__WGRAD,
                                       p);
            if (!part->coll || !part->bytes || part->coll == SC__ROW_SENDRECV)
                continue; /* 0 bytes: a placeholder */
            if (!is_async(part, p))
                operator_lower_add_collective(lo, o, SC__BACKWARD, p, o->row.name);
            else if (last) {
                reduce_gradient(lo, &b, o, p);
                reduced = o;
                reduced_part = p;
            }
        }
    }
    flush(lo, &b, reduced, reduced_part);
    return sc__block_end(lo->w);
}

static sc_status refuse_row(struct operator_lower_lowering *lo,
                            const struct sc__layers *l,
                            uint32_t source,
                            const char *hint,
                            const char *what) {
    struct sc__place at = {.file = l->file, .line = l->rows[source].line};
    return sc__fail(lo->ctx, SC_INPUT, &at, hint, "%s: %s", l->rows[source].name, what);
}

/* The gradient's message of the boundary after item i stands in the backward
 * columns of that row, or of the row after it. */
static uint64_t
take_backward_message(struct operator_lower_lowering *lo, uint32_t i, bool *taken) {
    const struct sc__operators *r = &lo->rows;
    for (uint32_t k = i; k <= i + 1 && k < r->count; k++)
        if (r->items[k].row.part[SC__PART_INPUT].coll == SC__ROW_SENDRECV && !taken[k]) {
            taken[k] = true;
            return r->items[k].row.part[SC__PART_INPUT].bytes;
        }
    sc__note(lo->ctx,
             "sendrecv-backward",
             "%s has no SENDRECV in backward: assuming the gradient's message is as large "
             "as the activation's",
             r->items[i].row.name);
    return r->items[i].row.part[SC__PART_FORWARD].bytes;
}

static struct stage *add_stage(struct operator_lower_lowering *lo,
                               uint32_t *count,
                               uint32_t *capacity,
                               uint32_t first) {
    struct stage *s = SC__PUSH(&lo->ctx->arena, lo->stages, *count, *capacity);
    s->first = first;
    s->count = lo->rows.count - first;
    return s;
}

/* Stages as the SENDRECV rows cut them. */
static sc_status cut_at_boundaries(struct operator_lower_lowering *lo,
                                   const struct sc__layers *l,
                                   uint32_t *found) {
    const struct sc__operators *r = &lo->rows;
    uint32_t capacity = 0;
    bool *taken = SC__NEW_ARRAY(&lo->ctx->arena, bool, r->count + 1);
    *found = 0;
    add_stage(lo, found, &capacity, 0);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct sc__row_part *part = &r->items[i].row.part[SC__PART_FORWARD];
        if (part->coll != SC__ROW_SENDRECV)
            continue;
        if (i + 1 == r->count)
            return refuse_row(lo,
                              l,
                              r->items[i].source,
                              "a boundary lies between two stages",
                              "SENDRECV after the last operator");
        uint64_t back = take_backward_message(lo, i, taken);
        lo->stages[*found - 1].count = i + 1 - lo->stages[*found - 1].first;
        lo->stages[*found - 1].to_next = part->bytes;
        add_stage(lo, found, &capacity, i + 1)->to_previous = back;
    }
    for (uint32_t i = 0; i < r->count; i++)
        if (r->items[i].row.part[SC__PART_INPUT].coll == SC__ROW_SENDRECV && !taken[i])
            return refuse_row(lo,
                              l,
                              r->items[i].source,
                              "put SENDRECV into the forward columns of the row before it",
                              "SENDRECV in backward without one in forward");
    return SC_OK;
}

/* No boundaries in the table: the layers are distributed evenly. */
static sc_status cut_layers(struct operator_lower_lowering *lo,
                            const struct sc__settings *settings) {
    const struct sc__operators *r = &lo->rows;
    uint64_t message = 0;
    uint32_t count = 0;
    uint32_t capacity = 0;
    if (!sc__setting(settings, "pp-comm"))
        return sc__fail(lo->ctx,
                        SC_USAGE,
                        NULL,
                        "give the bytes of one activation message with --pp-comm",
                        "--pp %u: the table has no SENDRECV rows, so the message between "
                        "stages is not known",
                        lo->pp);
    SC__TRY(sc__setting_bytes(settings, "pp-comm", &message));
    if (r->layers < lo->pp)
        return sc__fail(lo->ctx,
                        SC_USAGE,
                        NULL,
                        "repeat the layer with --layers N",
                        "--pp %u: only %u layers to distribute",
                        lo->pp,
                        r->layers);
    lo->stages = NULL;
    add_stage(lo, &count, &capacity, 0);
    for (uint32_t i = 1; i < r->count && count < lo->pp; i++) {
        uint32_t layer = r->items[i].layer;
        /* rounds down, so that the later stages have the extra layers */
        uint32_t start = (uint32_t)((uint64_t)r->layers * count / lo->pp);
        if (layer != start || r->items[i - 1].layer == layer)
            continue;
        lo->stages[count - 1].count = i - lo->stages[count - 1].first;
        lo->stages[count - 1].to_next = message;
        add_stage(lo, &count, &capacity, i)->to_previous = message;
    }
    sc__note(lo->ctx,
             "stages-dealt",
             "%u layers are distributed evenly over %u stages",
             r->layers,
             lo->pp);
    return SC_OK;
}

static sc_status cut_stages(struct operator_lower_lowering *lo,
                            const struct sc__settings *settings,
                            const struct sc__layers *l) {
    uint32_t found;
    SC__TRY(cut_at_boundaries(lo, l, &found));
    bool given = sc__setting(settings, "pp") != NULL;
    if (!given) {
        lo->pp = found;
        if (found > 1)
            sc__note(lo->ctx,
                     "stages-found",
                     "the SENDRECV rows split the table into %u pipeline stages",
                     found);
    }
    if (found == lo->pp)
        return SC_OK;
    if (found > 1)
        return sc__fail(lo->ctx,
                        SC_USAGE,
                        NULL,
                        "leave --pp out",
                        "--pp %u, but the SENDRECV rows make %u stages",
                        lo->pp,
                        found);
    return cut_layers(lo, settings);
}

static bool reduces_gradients(const struct sc__layers *l) {
    for (uint32_t i = 0; i < l->count; i++)
        for (unsigned p = SC__PART_INPUT; p < SC__PARTS; p++)
            if (is_async(&l->rows[i].part[p], p))
                return true;
    return false;
}

static sc_status take_sizes(struct operator_lower_lowering *lo,
                            const struct sc__settings *settings,
                            const struct sc__layers *l,
                            uint32_t cluster_gpus) {
    uint32_t gpus = 0;
    bool dp_given = sc__setting(settings, "dp") != NULL;
    lo->tp = lo->pp = lo->dp = lo->ep = lo->micro_batches = 1;
    SC__TRY(sc__setting_u32(settings, "tp", 1, &lo->tp));
    SC__TRY(sc__setting_u32(settings, "pp", 1, &lo->pp));
    SC__TRY(sc__setting_u32(settings, "dp", 1, &lo->dp));
    SC__TRY(sc__setting_u32(settings, "ep", 1, &lo->ep));
    SC__TRY(sc__setting_u32(settings, "gpus", 1, &gpus));
    if (!gpus && !dp_given)
        gpus = cluster_gpus;
    SC__TRY(sc__setting_u32(settings, "micro-batches", 1, &lo->micro_batches));
    SC__TRY(sc__setting_bytes(settings, "bucket", &lo->bucket));
    SC__TRY(cut_stages(lo, settings, l));
    uint64_t model = (uint64_t)lo->tp * lo->pp;
    if (gpus && dp_given && gpus != model * lo->dp)
        return sc__fail(lo->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "%u GPUs are not tp %u x dp %u x pp %u",
                        gpus,
                        lo->tp,
                        lo->dp,
                        lo->pp);
    if (gpus && gpus % model)
        return sc__fail(lo->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "%u GPUs are not a multiple of tp %u x pp %u",
                        gpus,
                        lo->tp,
                        lo->pp);
    if (gpus)
        lo->dp = (uint32_t)(gpus / model);
    else if (!dp_given && reduces_gradients(l))
        sc__note(lo->ctx,
                 "dp-unknown",
                 "the table does not give dp: assuming 1, so its gradient all-reduces cost "
                 "nothing; set --dp N or --gpus N");
    return SC_OK;
}

/* ALLREDUCE waits and is of the tensor-parallel group; a table that means gradients
 * by it would get them for nothing. */
static void note_free_collectives(struct operator_lower_lowering *lo,
                                  const struct sc__layers *l) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < l->count; i++)
        for (unsigned p = 0; p < SC__PARTS; p++) {
            const struct sc__row_part *part = &l->rows[i].part[p];
            bool collective = part->coll && part->coll != SC__ROW_SENDRECV;
            if (collective && operator_lower_group_of(part, p) == SC__GROUP_TP)
                bytes += part->bytes;
        }
    if (lo->tp == 1 && bytes)
        sc__note(
            lo->ctx,
            "tp-collectives-free",
            "%llu bytes of collectives are of the tensor-parallel group, which has one "
            "GPU: they cost nothing; set --tp N, or write ALLREDUCE_ASYNC if they are "
            "gradients",
            (unsigned long long)bytes);
}

static uint32_t
forward_of(void *self, uint32_t stage, uint32_t chunk, uint32_t micro_batch) {
    (void)chunk;
    (void)micro_batch;
    return ((struct operator_lower_lowering *)self)->stages[stage].forward;
}

static uint32_t
backward_of(void *self, uint32_t stage, uint32_t chunk, uint32_t micro_batch) {
    const struct operator_lower_lowering *lo = self;
    (void)chunk;
    return micro_batch + 1 == lo->micro_batches ? lo->stages[stage].last
                                                : lo->stages[stage].backward;
}

static void operator_lower_make_blocks(struct operator_lower_lowering *lo) {
    for (uint32_t i = 0; i < lo->pp; i++) {
        struct stage *s = &lo->stages[i];
        s->forward = operator_lower_forward_block(lo, s);
        s->last = operator_lower_backward_block(lo, s, true);
        s->backward =
            lo->micro_batches > 1 ? operator_lower_backward_block(lo, s, false) : s->last;
    }
}

/* The message that a send or receive of this stage carries. */
static uint64_t message_bytes(const struct operator_lower_lowering *lo,
                              uint32_t stage,
                              const struct sc__op *op) {
    bool forward = op->phase == SC__FORWARD;
    bool towards_next = op->flags & SC__OP_PEER_NEXT;
    uint32_t boundary = towards_next ? stage : stage - 1;
    return forward ? lo->stages[boundary].to_next : lo->stages[boundary + 1].to_previous;
}

/* A block like `block`, with its message of another size. */
static uint32_t
copy_message(struct operator_lower_lowering *lo, uint32_t block, uint64_t bytes) {
    struct sc__workload *w = lo->w;
    struct sc__op message = w->ops[w->blocks[block].first_op];
    sc__block_begin(w);
    *SC__PUSH(w->arena, w->ops, w->op_count, w->op_capacity) = message;
    w->ops[w->op_count - 1].bytes = bytes;
    return sc__block_end(w);
}

/* All stages share the blocks of their messages; where sizes differ from the
 * first boundary's, a stage gets its own. */
static void size_messages(struct operator_lower_lowering *lo, uint32_t stage) {
    struct sc__workload *w = lo->w;
    const struct sc__program *program = &w->programs[w->classes[stage].program];
    /* forward and backward, send and receive: four blocks of messages at most */
    uint32_t from[4];
    uint32_t to[4];
    uint32_t known = 0;
    for (uint32_t i = 0; i < program->calls; i++) {
        struct sc__call *c = &w->calls[program->first_call + i];
        const struct sc__op *op = &w->ops[w->blocks[c->block].first_op];
        if (!w->blocks[c->block].ops ||
            (op->kind != SC__OP_SEND && op->kind != SC__OP_RECV))
            continue;
        uint64_t bytes = message_bytes(lo, stage, op);
        if (bytes == op->bytes)
            continue;
        uint32_t k = 0;
        while (k < known && from[k] != c->block)
            k++;
        if (k == known) {
            from[known] = c->block;
            to[known++] = copy_message(lo, c->block, bytes);
        }
        c->block = to[k];
    }
}

sc_status sc__lower_operators(struct sc_context *ctx,
                              const struct sc__settings *settings,
                              const struct sc__layers *layers,
                              uint32_t cluster_gpus,
                              struct sc__workload **out) {
    struct operator_lower_lowering lo = {.ctx = ctx,
                                         .w =
                                             sc__workload_new(&ctx->arena, layers->format)};
    static const char *const schedules[] = {"1f1b", "gpipe", NULL};
    unsigned schedule = 0;
    SC__TRY(sc__setting_word(settings, "schedule", schedules, &schedule));
    SC__TRY(sc__expand_operators(ctx, settings, layers, &lo.rows));
    SC__TRY(take_sizes(&lo, settings, layers, cluster_gpus));
    note_free_collectives(&lo, layers);
    lo.w->mesh = sc__mesh(lo.tp, 1, lo.ep, lo.dp, lo.pp, 0);
    SC__TRY(sc__mesh_check(ctx, &lo.w->mesh));
    lo.w->micro_batches = lo.micro_batches;
    operator_lower_make_blocks(&lo);
    struct sc__pipeline p = {.schedule = schedule ? SC__SCHEDULE_GPIPE : SC__SCHEDULE_1F1B,
                             .pp = lo.pp,
                             .vpp = 1,
                             .micro_batches = lo.micro_batches,
                             .message = lo.stages[0].to_next,
                             .forward = forward_of,
                             .backward = backward_of,
                             .self = &lo};
    SC__TRY(sc__pipeline_lower(ctx, lo.w, &p));
    for (uint32_t i = 0; i < lo.pp; i++)
        size_messages(&lo, i);
    *out = lo.w;
    return SC_OK;
}

const struct sc__option sc__operators_options[] = {
    {.name = "layers",
     .arg = "N",
     .group = "Operator tables",
     .help = "repeat the layer of the table N times"},
    {.name = "block",
     .arg = "FIRST:LAST",
     .group = "Operator tables",
     .help = "the rows of a layer, if their names do not tell"},
    {.name = "backward",
     .arg = "HOW",
     .dflt = "literal",
     .group = "Operator tables",
     .help = "literal: as in the table; synth: fill in missing backward times"},
    {.name = "bucket",
     .arg = "SIZE",
     .group = "Operator tables",
     .help = "gradient bucket size as in DDP (25MiB); default: one all-reduce per row"},
    {0}};
