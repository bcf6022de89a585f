/* layers → workload. Forward runs the rows in file order, each followed by its
 * collective; backward in reverse: recomputation, input gradient and its
 * collective, weight gradient and its collective, which overlaps what follows.
 * Rows of the step run once, in the order a distributed optimizer has:
 * gradient reductions, update, parameter gathers. */
#include "lower/layers.h"

#include <string.h>

struct layers_lowering {
    struct sc_context *ctx;
    const struct sc__layers *in;
    struct sc__workload *w;
    struct sc__row_blocks blocks;
    struct sc__pipeline p;
    uint32_t tail;             /* first row after the micro-batches */
    uint32_t chunk_start[257]; /* in rows of a micro-batch */
    uint32_t *kind_of;         /* by micro-batch: which distinct one it is */
    uint32_t kinds;
    /* blocks by (kind · vpp + chunk) */
    uint32_t *forward;
    uint32_t *backward;
    uint32_t *wgrad;
    uint32_t before;
    uint32_t after;
    bool inference;
};

/* ---- operations of a row ---- */

static void layers_add_compute(struct layers_lowering *l,
                               uint32_t row,
                               int64_t ps,
                               enum sc__phase phase) {
    if (!ps)
        return;
    struct sc__op *op = sc__block_add(l->w,
                                      SC__OP_COMPUTE,
                                      phase,
                                      SC__STREAM_COMPUTE,
                                      l->in->rows[row].name);
    op->cost = ps;
    op->row = row;
    op->work = l->in->rows[row].work;
}

static enum sc__group_kind
layers_group_of(struct layers_lowering *l, const struct sc__row *row, unsigned part) {
    const struct sc__row_part *p = &row->part[part];
    if (p->suffix == SC__SUFFIX_EP)
        return SC__GROUP_EP;
    if (p->suffix == SC__SUFFIX_DP_EP)
        return SC__GROUP_DP_EP;
    if (part == SC__PART_WEIGHT)
        return SC__GROUP_DP;
    if (l->w->mesh.tp > 1 || l->w->mesh.dp == 1)
        return SC__GROUP_TP;
    sc__note(l->ctx,
             "tp1-to-dp",
             "tp is 1: the collectives of forward and input gradient run in the "
             "data-parallel group, as in ZeRO-3");
    return SC__GROUP_DP;
}

static void add_one(struct layers_lowering *l,
                    uint32_t row,
                    unsigned part,
                    enum sc__coll coll,
                    enum sc__phase phase,
                    bool async) {
    const struct sc__row *r = &l->in->rows[row];
    uint16_t group = sc__workload_group(l->w, layers_group_of(l, r, part));
    struct sc__op *op = sc__block_add(l->w,
                                      SC__OP_COLLECTIVE,
                                      phase,
                                      async ? SC__STREAM_DP : SC__STREAM_COMPUTE,
                                      r->name);
    if (async)
        op->after = 1u << SC__STREAM_COMPUTE;
    op->coll = (uint8_t)coll;
    op->group = group;
    op->bytes = r->part[part].bytes;
    op->cost = r->process;
    op->row = row;
    op->peer = 0;
}

static void add_collective(struct layers_lowering *l,
                           uint32_t row,
                           unsigned part,
                           enum sc__phase phase,
                           bool async) {
    static const enum sc__coll kind[] = {SC__COLLS,
                                         SC__ALLREDUCE,
                                         SC__ALLGATHER,
                                         SC__REDUCESCATTER,
                                         SC__ALLTOALL,
                                         SC__ALLTOALL,
                                         SC__BROADCAST};
    const struct sc__row_part *p = &l->in->rows[row].part[part];
    if (p->coll == SC__ROW_NONE || !p->bytes)
        return; /* 0 bytes: a placeholder */
    if (p->coll == SC__ROW_ALLREDUCEALLTOALL)
        add_one(l, row, part, SC__ALLREDUCE, phase, async);
    add_one(l, row, part, kind[p->coll], phase, async);
}

static void add_forward(struct layers_lowering *l, uint32_t row, enum sc__phase phase) {
    layers_add_compute(l, row, l->in->rows[row].part[SC__PART_FORWARD].compute, phase);
    add_collective(l, row, SC__PART_FORWARD, phase, false);
}

static void add_input_gradient(struct layers_lowering *l, uint32_t row) {
    layers_add_compute(l, row, l->in->rows[row].part[SC__PART_INPUT].compute, SC__BACKWARD);
    add_collective(l, row, SC__PART_INPUT, SC__BACKWARD, false);
}

static void add_weight_gradient(struct layers_lowering *l, uint32_t row, bool async) {
    layers_add_compute(l, row, l->in->rows[row].part[SC__PART_WEIGHT].compute, SC__WGRAD);
    add_collective(l, row, SC__PART_WEIGHT, SC__WGRAD, async);
}

/* ---- blocks of a micro-batch ---- */

static uint32_t layers_forward_block(struct layers_lowering *l,
                                     uint32_t first,
                                     uint32_t from,
                                     uint32_t to) {
    sc__block_begin(l->w);
    for (uint32_t i = from; i < to; i++)
        add_forward(l, first + i, SC__FORWARD);
    return sc__block_end(l->w);
}

static uint32_t backward_block(struct layers_lowering *l,
                               uint32_t first,
                               uint32_t from,
                               uint32_t to,
                               bool with_weights) {
    sc__block_begin(l->w);
    for (uint32_t i = to; i-- > from;) {
        const struct sc__row *row = &l->in->rows[first + i];
        if (row->recompute_from != SC__NONE)
            for (uint32_t k = row->recompute_from; k <= first + i; k++)
                add_forward(l, k, SC__RECOMPUTE);
        add_input_gradient(l, first + i);
        if (with_weights)
            add_weight_gradient(l, first + i, true);
    }
    return sc__block_end(l->w);
}

static uint32_t
weight_block(struct layers_lowering *l, uint32_t first, uint32_t from, uint32_t to) {
    sc__block_begin(l->w);
    for (uint32_t i = to; i-- > from;)
        add_weight_gradient(l, first + i, true);
    return sc__block_end(l->w);
}

static bool same_parts(const struct sc__row *x, const struct sc__row *y) {
    for (unsigned i = 0; i < SC__PARTS; i++) {
        const struct sc__row_part *a = &x->part[i];
        const struct sc__row_part *b = &y->part[i];
        if (a->compute != b->compute || a->coll != b->coll || a->suffix != b->suffix ||
            a->bytes != b->bytes)
            return false;
    }
    return true;
}

/* Names are interned: equal pointers, equal names. */
static bool same_rows(const struct sc__layers *l, uint32_t a, uint32_t b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const struct sc__row *x = &l->rows[a + i];
        const struct sc__row *y = &l->rows[b + i];
        if (x->name != y->name || x->process != y->process || !same_parts(x, y))
            return false;
        if ((x->recompute_from == SC__NONE) != (y->recompute_from == SC__NONE))
            return false;
        if (x->recompute_from != SC__NONE && x->recompute_from - a != y->recompute_from - b)
            return false;
    }
    return true;
}

static uint64_t hash_rows(const struct sc__layers *l, uint32_t first, uint32_t n) {
    uint64_t h = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct sc__row *r = &l->rows[first + i];
        int64_t v[4] = {(int64_t)(uintptr_t)r->name,
                        r->part[0].compute,
                        r->part[1].compute,
                        r->part[2].compute};
        h = sc__hash(v, sizeof v, h);
    }
    return h;
}

/* Micro-batches with equal rows share their blocks. */
static void find_kinds(struct layers_lowering *l, uint32_t *first_of_kind) {
    struct sc__map known;
    sc__map_init(&known, l->w->arena);
    for (uint32_t m = 0; m < l->blocks.count; m++) {
        uint32_t first = l->blocks.head + m * l->blocks.length;
        bool fresh;
        uint64_t *slot =
            sc__map_at(&known, hash_rows(l->in, first, l->blocks.length), &fresh);
        /* of two kinds with one hash the later is found again: only costs blocks */
        if (!fresh && same_rows(l->in, first_of_kind[*slot], first, l->blocks.length)) {
            l->kind_of[m] = (uint32_t)*slot;
            continue;
        }
        *slot = l->kinds;
        first_of_kind[l->kinds] = first;
        l->kind_of[m] = l->kinds++;
    }
}

static void layers_make_blocks(struct layers_lowering *l) {
    uint32_t v = l->p.vpp;
    uint32_t *first = SC__NEW_ARRAY(l->w->arena, uint32_t, l->blocks.count + 1);
    l->kind_of = SC__NEW_ARRAY(l->w->arena, uint32_t, l->blocks.count + 1);
    find_kinds(l, first);
    l->forward = SC__NEW_ARRAY(l->w->arena, uint32_t, (size_t)l->kinds * v);
    l->backward = SC__NEW_ARRAY(l->w->arena, uint32_t, (size_t)l->kinds * v);
    l->wgrad = SC__NEW_ARRAY(l->w->arena, uint32_t, (size_t)l->kinds * v);
    bool split = sc__schedule_splits(l->p.schedule);
    for (uint32_t k = 0; k < l->kinds; k++)
        for (uint32_t c = 0; c < v; c++) {
            uint32_t from = l->chunk_start[c];
            uint32_t to = l->chunk_start[c + 1];
            l->forward[k * v + c] = layers_forward_block(l, first[k], from, to);
            l->backward[k * v + c] =
                l->inference ? SC__NONE : backward_block(l, first[k], from, to, !split);
            l->wgrad[k * v + c] = split ? weight_block(l, first[k], from, to) : SC__NONE;
        }
}

/* ---- rows of the step ---- */

/* Rows of the step stand in the file by layer, not in the order they run. */
enum step_order {
    STEP_LOSS,
    STEP_REDUCE,
    STEP_UPDATE,
    STEP_OPTIMIZER,
    STEP_GATHER,
    STEP_ORDERS
};

static enum step_order order_of(const struct sc__row *row) {
    const struct sc__row_part *wg = &row->part[SC__PART_WEIGHT];
    const struct sc__row_part *ig = &row->part[SC__PART_INPUT];
    if (!strncmp(row->name, "cross_entropy", 13))
        return STEP_LOSS;
    if (!strncmp(row->name, "optimizer", 9))
        return STEP_OPTIMIZER;
    if (wg->coll == SC__ROW_ALLGATHER)
        return STEP_GATHER;
    return wg->coll != SC__ROW_NONE || ig->coll != SC__ROW_NONE ? STEP_REDUCE : STEP_UPDATE;
}

static bool of_step(const struct layers_lowering *l, uint32_t row) {
    return row < l->blocks.head || row >= l->tail;
}

static uint32_t before_block(struct layers_lowering *l) {
    sc__block_begin(l->w);
    for (uint32_t i = 0; i < l->blocks.head; i++)
        add_forward(l, i, SC__FORWARD);
    return sc__block_end(l->w);
}

static uint32_t layers_after_block(struct layers_lowering *l) {
    sc__block_begin(l->w);
    sc__block_add(l->w, SC__OP_WAIT, SC__UPDATE, SC__STREAM_COMPUTE, "wait_gradients")
        ->after = 1u << SC__STREAM_DP;
    for (unsigned order = 0; order < STEP_ORDERS; order++) {
        bool reverse = order == STEP_REDUCE; /* gradients become ready in reverse */
        for (uint32_t k = 0; k < l->in->count; k++) {
            uint32_t i = reverse ? l->in->count - 1 - k : k;
            if (!of_step(l, i) || order_of(&l->in->rows[i]) != order)
                continue;
            if (i >= l->tail)
                add_forward(l, i, SC__FORWARD);
            if (l->inference)
                continue;
            add_input_gradient(l, i);
            add_weight_gradient(l, i, false);
        }
    }
    return sc__block_end(l->w);
}

/* ---- MICRO: collectives to time, one after another ---- */

static void lower_micro(struct layers_lowering *l) {
    sc__block_begin(l->w);
    for (uint32_t i = 0; i < l->in->count; i++) {
        add_forward(l, i, SC__FORWARD);
        add_input_gradient(l, i);
        add_weight_gradient(l, i, false);
    }
    uint32_t block = sc__block_end(l->w);
    uint32_t program = sc__program_begin(l->w);
    sc__program_call(l->w, block, SC__NONE, 0, 0);
    sc__class_add(l->w, program, 0, sc__mesh_ranks(&l->w->mesh), 0);
}

/* ---- virtual stages ---- */

/* Layers begin where the row after the embedding comes again. */
static uint32_t find_layers(const struct layers_lowering *l, uint32_t *start) {
    const struct sc__row *rows = &l->in->rows[l->blocks.head];
    uint32_t n = 0;
    uint32_t first = !strcmp(rows[0].name, "embedding_layer") ? 1 : 0;
    for (uint32_t i = first; i < l->blocks.length; i++)
        if (rows[i].name == rows[first].name)
            start[n++] = i;
    return n;
}

/* A pipeline of stages without layers: rows in another order, or a part of a file. */
static sc_status no_layers(const struct layers_lowering *l) {
    struct sc__place at = {.file = l->in->file, .line = 3};
    return sc__fail(
        l->ctx,
        SC_INPUT,
        &at,
        "rows stand in the order of forward, from the embedding to the last layer",
        "pp %u, but a micro-batch has no layers: %u rows come before its first "
        "row '%s'",
        l->p.pp,
        l->blocks.head,
        l->in->rows[l->blocks.head].name);
}

static sc_status cut_chunks(struct layers_lowering *l) {
    uint32_t *start = SC__NEW_ARRAY(l->w->arena, uint32_t, l->blocks.length + 1);
    uint32_t layers = find_layers(l, start);
    uint32_t v = l->p.vpp;
    uint32_t at = 0;
    if (!layers && l->p.pp > 1)
        return no_layers(l);
    if (v > 1 && v > layers) {
        sc__note(l->ctx,
                 "vpp-reduced",
                 "vpp %u is more than the %u layers of a stage: using vpp %u",
                 v,
                 layers,
                 layers ? layers : 1);
        v = l->p.vpp = layers ? layers : 1;
    }
    if (v > 1 && layers % v)
        sc__note(
            l->ctx,
            "vpp-uneven",
            "vpp %u does not divide the %u layers of a stage: chunks of %u and %u layers",
            v,
            layers,
            layers / v + 1,
            layers / v);
    for (uint32_t c = 0; c < v; c++) {
        l->chunk_start[c] = c ? start[at] : 0;
        at += layers / v + (c < layers % v);
    }
    l->chunk_start[v] = l->blocks.length;
    return SC_OK;
}

/* ---- the plan ---- */

static sc_status override(struct layers_lowering *l,
                          const struct sc__settings *s,
                          const char *name,
                          uint32_t from_file,
                          uint32_t *value) {
    *value = from_file ? from_file : 1;
    SC__TRY(sc__setting_u32(s, name, 1, value));
    if (from_file && *value != from_file)
        sc__note(l->ctx,
                 "override",
                 "%s %u from the command line overrides %u from the file; the rows are not "
                 "rescaled",
                 name,
                 *value,
                 from_file);
    return SC_OK;
}

/* A file that tells how stages are cut and talk, but not how many there are, has
 * probably lost a key. */
static void note_lost_stages(const struct layers_lowering *l) {
    bool stages =
        (l->in->has_vpp && l->in->vpp > 1) || (l->in->has_pp_comm && l->in->pp_comm > 0);
    if (!l->in->pp && stages)
        sc__note(l->ctx,
                 "pp-missing",
                 "the file has vpp or pp_comm but no pp: one pipeline stage is assumed, "
                 "where they have no effect; set --pp N");
}

static sc_status
bad_size(struct layers_lowering *l, uint32_t gpus, uint32_t tp, uint32_t pp) {
    struct sc__place at = {.file = l->in->file, .line = 1};
    uint64_t unit = (uint64_t)tp * pp;
    uint64_t down = gpus / unit * unit;
    const char *hint = down ? sc__format(&l->ctx->arena,
                                         "%llu or %llu GPUs would do",
                                         (unsigned long long)down,
                                         (unsigned long long)(down + unit))
                            : sc__format(&l->ctx->arena,
                                         "at least %llu GPUs are needed",
                                         (unsigned long long)unit);
    return sc__fail(l->ctx,
                    SC_INPUT,
                    &at,
                    hint,
                    "%u GPUs are not a multiple of tp %u × pp %u",
                    gpus,
                    tp,
                    pp);
}

static sc_status
make_mesh(struct layers_lowering *l, const struct sc__settings *s, uint32_t cluster_gpus) {
    struct sc__place at = {.file = l->in->file, .line = 1};
    uint32_t tp;
    uint32_t pp;
    uint32_t ep;
    uint32_t dp = 0;
    uint32_t gpus = cluster_gpus ? cluster_gpus : l->in->gpus;
    SC__TRY(override(l, s, "pp", l->in->pp, &pp));
    if (!sc__setting(s, "pp"))
        note_lost_stages(l);
    SC__TRY(override(l, s, "ep", l->in->ep, &ep));
    SC__TRY(sc__setting_u32(s, "gpus", 1, &gpus));
    SC__TRY(sc__setting_u32(s, "dp", 1, &dp));
    bool all_model =
        !l->in->tp && !strcmp(l->in->policy, "MODEL") && gpus && gpus % pp == 0;
    SC__TRY(override(l, s, "tp", all_model ? gpus / pp : l->in->tp, &tp));
    if ((uint64_t)tp * pp > UINT32_MAX / 2 ||
        (uint64_t)tp * pp * (dp ? dp : 1) > UINT32_MAX / 2)
        return sc__fail(l->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "tp %u × pp %u × dp %u is too many ranks",
                        tp,
                        pp,
                        dp);
    if (dp)
        gpus = tp * pp * dp;
    if (!gpus)
        return sc__fail(l->ctx,
                        SC_INPUT,
                        &at,
                        "add --gpus N, or all_gpus: N to the header",
                        "the number of GPUs is not known");
    if (gpus % (tp * pp))
        return bad_size(l, gpus, tp, pp);
    if (l->in->gpus && gpus != l->in->gpus)
        sc__note(l->ctx,
                 "gpus",
                 "%u GPUs instead of the file's %u: dp %u instead of %u",
                 gpus,
                 l->in->gpus,
                 gpus / (tp * pp),
                 l->in->gpus / (tp * pp));
    l->w->mesh = sc__mesh(tp, 1, ep, gpus / (tp * pp), pp, 0);
    return sc__mesh_check(l->ctx, &l->w->mesh);
}

/* Without pp_comm a message between stages is what the tensor-parallel
 * collectives carry: the activations, a tp-th of them with sequence parallel. */
static void derive_message(struct layers_lowering *l) {
    const struct sc__layers *in = l->in;
    for (uint32_t i = l->blocks.head; i < l->tail; i++) {
        const struct sc__row_part *f = &in->rows[i].part[SC__PART_FORWARD];
        bool gather = f->coll == SC__ROW_ALLGATHER || f->coll == SC__ROW_REDUCESCATTER;
        if (f->suffix || f->bytes < 2 || !(gather || f->coll == SC__ROW_ALLREDUCE))
            continue;
        if (!strcmp(in->rows[i].name, "embedding_layer"))
            continue;
        l->p.message = gather ? f->bytes / l->w->mesh.tp : f->bytes;
        sc__note(l->ctx,
                 "pp-comm-derived",
                 "pp_comm is not in the file: messages between stages are %llu bytes, "
                 "derived from the tensor-parallel %s of '%s'%s",
                 (unsigned long long)l->p.message,
                 gather ? "gather" : "all-reduce",
                 in->rows[i].name,
                 gather ? " divided by tp (sequence parallel)" : "");
        return;
    }
    sc__note(l->ctx,
             "pp-comm-zero",
             "pp_comm is not in the file and cannot be derived: messages between stages "
             "are empty");
}

static sc_status choose_message(struct layers_lowering *l, const struct sc__settings *s) {
    bool given = sc__setting(s, "pp-comm") != NULL;
    l->p.message = (uint64_t)l->in->pp_comm;
    SC__TRY(sc__setting_bytes(s, "pp-comm", &l->p.message));
    if (!given && !l->in->has_pp_comm && l->p.pp > 1)
        derive_message(l);
    return SC_OK;
}

/* Schedules that part weight from input gradients need both. */
static sc_status check_splits_backward(struct layers_lowering *l) {
    const char *name = sc__schedule_name(l->p.schedule);
    if (l->inference)
        return sc__fail(l->ctx,
                        SC_USAGE,
                        NULL,
                        "use --schedule 1f1b",
                        "schedule %s reorders weight gradients, and inference has none",
                        name);
    for (uint32_t i = l->blocks.head; i < l->tail; i++)
        if (l->in->rows[i].part[SC__PART_WEIGHT].compute)
            return SC_OK;
    return sc__fail(l->ctx,
                    SC_USAGE,
                    NULL,
                    "use --schedule 1f1b: a backward given as one time cannot be split",
                    "schedule %s needs weight gradients apart from input gradients, and no "
                    "row has compute in its weight gradient",
                    name);
}

/* Two chunks on each stage, whatever the file says. */
static sc_status choose_v(struct layers_lowering *l) {
    if (l->p.vpp != 2)
        sc__note(l->ctx,
                 "vpp-ignored",
                 "schedule %s has two chunks on each stage: vpp %u is ignored",
                 sc__schedule_name(l->p.schedule),
                 l->p.vpp);
    l->p.vpp = 2;
    return SC_OK;
}

static sc_status choose_schedule(struct layers_lowering *l, const struct sc__settings *s) {
    unsigned word = 0;
    bool given = sc__setting(s, "schedule") != NULL;
    bool vpp_given = sc__setting(s, "vpp") != NULL;
    SC__TRY(sc__setting_word(s, "schedule", sc__schedule_words, &word));
    l->p.pp = l->w->mesh.pp;
    l->p.vpp = l->in->vpp ? l->in->vpp : 1;
    SC__TRY(sc__setting_u32(s, "vpp", 1, &l->p.vpp));
    if (l->p.vpp > 256)
        return sc__fail(l->ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "vpp %u: at most 256 virtual stages",
                        l->p.vpp);
    if (!l->in->has_vpp && !vpp_given && l->p.pp > 1)
        sc__note(l->ctx,
                 "vpp-absent",
                 "vpp is not in the file: assuming 1, no virtual stages");
    if (l->p.pp == 1)
        l->p.vpp = 1;
    if (!given) {
        l->p.schedule = l->p.vpp > 1 ? SC__SCHEDULE_INTERLEAVED : SC__SCHEDULE_1F1B;
        sc__note(l->ctx,
                 "schedule",
                 "schedule %s, as Megatron runs pp %u and vpp %u",
                 sc__schedule_name(l->p.schedule),
                 l->p.pp,
                 l->p.vpp);
        return SC_OK;
    }
    l->p.schedule = (enum sc__schedule)(word + 1);
    if (l->p.schedule == SC__SCHEDULE_DUALPIPE)
        return sc__fail(l->ctx,
                        SC_USAGE,
                        NULL,
                        "--schedule dualpipev, or --model",
                        "--schedule dualpipe has two copies of the model, and rows are of "
                        "one");
    if (sc__schedule_splits(l->p.schedule))
        SC__TRY(check_splits_backward(l));
    if (sc__schedule_is_v(l->p.schedule))
        return choose_v(l);
    if (l->p.schedule == SC__SCHEDULE_INTERLEAVED && l->p.vpp == 1 && l->p.pp > 1)
        return sc__fail(l->ctx,
                        SC_USAGE,
                        NULL,
                        "add --vpp N",
                        "--schedule interleaved needs virtual stages");
    if (l->p.schedule != SC__SCHEDULE_INTERLEAVED && l->p.vpp > 1) {
        sc__note(l->ctx,
                 "vpp-ignored",
                 "schedule %s has no virtual stages: vpp %u is ignored",
                 sc__schedule_name(l->p.schedule),
                 l->p.vpp);
        l->p.vpp = 1;
    }
    return SC_OK;
}

static sc_status choose_micro_batches(struct layers_lowering *l,
                                      const struct sc__settings *s) {
    l->p.micro_batches = l->blocks.count;
    if (l->in->ga && l->in->ga != l->blocks.count)
        sc__note(l->ctx,
                 "ga-mismatch",
                 "the header says ga %u, the rows hold %u micro-batches: using the rows",
                 l->in->ga,
                 l->blocks.count);
    if (!l->in->ga && l->p.pp > 1 && !sc__setting(s, "micro-batches"))
        sc__note(l->ctx,
                 "ga-missing",
                 "the file has no ga: as many micro-batches as the rows hold, %u; set "
                 "--micro-batches N",
                 l->blocks.count);
    return sc__setting_u32(s, "micro-batches", 1, &l->p.micro_batches);
}

/* ---- what pipeline.c asks ---- */

static uint32_t pick(const struct layers_lowering *l,
                     const uint32_t *blocks,
                     uint32_t chunk,
                     uint32_t micro_batch) {
    return blocks[l->kind_of[micro_batch % l->blocks.count] * l->p.vpp + chunk];
}

static uint32_t
give_forward(void *self, uint32_t stage, uint32_t chunk, uint32_t micro_batch) {
    (void)stage;
    return pick(self, ((struct layers_lowering *)self)->forward, chunk, micro_batch);
}

static uint32_t
give_backward(void *self, uint32_t stage, uint32_t chunk, uint32_t micro_batch) {
    (void)stage;
    return pick(self, ((struct layers_lowering *)self)->backward, chunk, micro_batch);
}

static uint32_t
give_wgrad(void *self, uint32_t stage, uint32_t chunk, uint32_t micro_batch) {
    (void)stage;
    return pick(self, ((struct layers_lowering *)self)->wgrad, chunk, micro_batch);
}

static uint32_t give_before(void *self, uint32_t stage) {
    (void)stage;
    return ((struct layers_lowering *)self)->before;
}

static uint32_t give_after(void *self, uint32_t stage) {
    (void)stage;
    return ((struct layers_lowering *)self)->after;
}

static sc_status check_blocks(struct layers_lowering *l) {
    struct sc__place at = {.file = l->in->file};
    const struct sc__row_blocks *b = &l->blocks;
    if (!b->count)
        return sc__fail(l->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "there is no micro-batch: all rows belong to the step");
    for (uint32_t m = 1; m < b->count; m++) {
        uint32_t row = b->head + m * b->length;
        if (row < l->in->count && !strcmp(l->in->rows[row].name, l->in->rows[b->head].name))
            continue;
        at.line =
            row < l->in->count ? l->in->rows[row].line : l->in->rows[l->in->count - 1].line;
        return sc__fail(l->ctx,
                        SC_INPUT,
                        &at,
                        "each micro-batch begins with embedding_layer and has as many rows "
                        "as the first",
                        "micro-batch %u does not begin here: the first has %u rows",
                        m,
                        b->length);
    }
    l->tail = b->head + b->count * b->length;
    at.line = l->in->rows[l->in->count - 1].line;
    if (l->tail > l->in->count)
        return sc__fail(l->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "the last micro-batch has %u rows, the first has %u",
                        l->in->count - (b->head + (b->count - 1) * b->length),
                        b->length);
    return SC_OK;
}

sc_status sc__lower_layers(struct sc_context *ctx,
                           const struct sc__settings *settings,
                           const struct sc__layers *rows,
                           uint32_t cluster_gpus,
                           struct sc__workload **out) {
    struct layers_lowering *l = SC__NEW(&ctx->arena, struct layers_lowering);
    l->ctx = ctx;
    l->in = rows;
    l->w = *out = sc__workload_new(&ctx->arena, rows->format);
    l->inference = rows->inference || !strcmp(rows->policy, "DISTRIBUTED_INFERENCE");
    SC__TRY(make_mesh(l, settings, cluster_gpus));
    if (rows->inference && l->w->mesh.pp > 1)
        sc__note(
            ctx,
            "inference-stages",
            "each of the %u stages runs all rows: where they are those of a whole model "
            "(mode: 1 with pp above 1), leave the others out",
            l->w->mesh.pp);
    if (!strcmp(rows->policy, "MICRO")) {
        lower_micro(l);
        return SC_OK;
    }
    if (!strcmp(rows->format, "workload-text") &&
        strncmp(rows->policy, "HYBRID_TRANSFORMER", 18) && !l->inference)
        sc__note(ctx,
                 "policy",
                 "policy %s: collectives are those the rows name, whatever the policy",
                 rows->policy);
    l->blocks = sc__find_micro_batches(rows);
    SC__TRY(check_blocks(l));
    SC__TRY(choose_schedule(l, settings));
    SC__TRY(choose_micro_batches(l, settings));
    SC__TRY(choose_message(l, settings));
    l->p.overlap = l->p.schedule == SC__SCHEDULE_INTERLEAVED;
    SC__TRY(cut_chunks(l));
    layers_make_blocks(l);
    l->before = before_block(l);
    l->after = layers_after_block(l);
    l->p.forward = give_forward;
    l->p.backward = give_backward;
    l->p.wgrad = sc__schedule_splits(l->p.schedule) ? give_wgrad : NULL;
    l->p.kept = 1;
    l->p.before = give_before;
    l->p.after = give_after;
    l->p.self = l;
    return sc__pipeline_lower(ctx, l->w, &l->p);
}

const struct sc__option sc__layers_options[] = {
    {"gpus", 0, "N", NULL, "Plan", "number of GPUs; dp = GPUs / (tp × cp × pp)", 0},
    {"tp", 0, "N", NULL, "Plan", "tensor-parallel size", 0},
    {"pp", 0, "N", NULL, "Plan", "pipeline stages", 0},
    {"dp", 0, "N", NULL, "Plan", "data-parallel size", 0},
    {"ep", 0, "N", NULL, "Plan", "expert-parallel size", 0},
    {"vpp", 0, "N", NULL, "Plan", "virtual stages per pipeline stage (interleaved)", 0},
    {"micro-batches", 0, "N", NULL, "Plan", "micro-batches per step", 0},
    {"schedule",
     0,
     "S",
     "as Megatron",
     "Plan",
     "1f1b, gpipe, interleaved, zb-h1, zb-2p, zb-v, dualpipev; with --model dualpipe too",
     0},
    {"pp-comm", 0, "SIZE", NULL, "Plan", "bytes of one message between stages", 0},
    {0}};
