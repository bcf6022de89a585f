/* step_bound: a time that no step of a plan can be shorter than, from the blocks
 * that the step is made of and without simulating it.
 *
 * A block is replayed alone: every operation takes its time without other traffic,
 * compute is taxed only by transfers that are issued and waited for beside it, and the
 * streams are idle when it begins (but for the exchange of experts, which the replay of
 * the schedule carries from block to block). What really happens can only be later. A stage
 * s runs its blocks one after another on its compute stream:
 *
 *     fill(s)    the first micro-batch through the stages before it, with messages
 *     busy(s)    all forwards, backwards and weight gradients of its chunks
 *     drain(s)   the last backward on its way back through the stages before it
 *     after(s)   last reductions, update, weights
 *
 *     step ≥ max over s of  fill(s) + busy(s) + after(s)
 *                           fill(s) + busy(s) + drain(s) + after(0)
 *                           fill(s) + what any other stream of s has to carry
 *                           fill(s) + all compute of s with the tax of such a stream
 *
 * Why fill: the first that a stage runs is a forward of its chunk 0, since all other
 * chunks come later in the order of the data. Why drain: the last backward that it
 * runs is of chunk 0, since one of a later chunk would be followed by that; and
 * stage 0 ends its step after it. Where weight gradients are parted the last may be
 * one of those, so there is no drain; where steps overlap the step is the distance of
 * two, and only busy(s) + after(s) counts.
 * Equal stages of 1F1B and interleaved pipelines reach the bound but for contention,
 * taxes and what is waited for across blocks. */
#include "lower/step_blocks.h"
#include "lower/step_pace.h"
#include "lower/step_places.h"

#include <string.h>

enum { BOUND_KINDS = SC__BLOCK_WGRAD_LAST + 1 };

/* What the blocks of a chunk take, by kind: on the compute stream, and the
 * transfers of each other stream. */
struct chunk_bound {
    uint64_t key;
    uint32_t place; /* which of the places of stages */
    struct sc__block_cost cost[BOUND_KINDS];
    int64_t busy[BOUND_KINDS][SC__MAX_STREAMS]; /* collectives; see replay_block */
    int64_t compute[BOUND_KINDS];               /* without taxes and waits */
    int64_t rounded[BOUND_KINDS];               /* what its paces may be off */
    uint32_t blocks[SC__BLOCK_KINDS];
};

struct price {
    uint32_t place;
    uint8_t coll;
    uint8_t group;
    uint64_t bytes;
    int64_t time;
};

struct bounding {
    struct sc__lowering *l;
    struct sc__mesh mesh; /* as ranks are placed */
    double taxed;         /* what a transfer beside compute adds to it, of its own length */
    int64_t longest;      /* no block counts as longer */
    const struct sc__stage_places *places; /* NULL: transfers are not counted */
    struct price *prices;
    uint32_t price_count;
    uint32_t price_capacity;
    struct chunk_bound *chunks;
    uint32_t chunk_count;
    uint32_t chunk_capacity;
    /* for the replay of the schedule: by stage and chunk, by stage */
    struct sc__chunk_costs *costs;
    int64_t *message;
    int64_t *after;
};

/* ---- what a transfer takes alone ---- */

static uint32_t place_of(const struct bounding *b, uint32_t stage) {
    return b->places ? b->places->of_stage[stage] : 0;
}

static int64_t
collective_alone(struct bounding *b, uint32_t place, const struct sc__op *op) {
    enum sc__group_kind kind = b->l->workload->groups[op->group].kind;
    if (!b->places || b->l->cluster->ideal || (int)kind >= SC__PLACED_GROUPS)
        return 0; /* who waits for other stages is not counted */
    for (uint32_t i = 0; i < b->price_count; i++) {
        const struct price *p = &b->prices[i];
        if (p->place == place && p->coll == op->coll && p->group == kind &&
            p->bytes == op->bytes)
            return p->time;
    }
    struct price p = {.place = place,
                      .coll = op->coll,
                      .group = (uint8_t)kind,
                      .bytes = op->bytes};
    const struct sc__shape *shape = &b->places->items[place].shape[kind];
    if (shape->ranks > 1)
        p.time = sc__collective_time(b->l->cluster, op->coll, shape, op->bytes);
    *SC__PUSH(b->l->arena, b->prices, b->price_count, b->price_capacity) = p;
    return p.time;
}

/* From a stage to the next, and from the last to the first. */
static int64_t message_alone(const struct bounding *b, uint32_t from) {
    const struct sc__lowering *l = b->l;
    if (!b->places || l->cluster->ideal)
        return 0;
    uint32_t here = sc__mesh_move(&b->mesh, 0, SC__DIM_PP, from);
    uint32_t next = sc__mesh_move(&b->mesh, 0, SC__DIM_PP, (from + 1) % l->plan.mesh.pp);
    int64_t time = sc__message_time_between(l->cluster,
                                            sc__cluster_gpu(l->cluster, here),
                                            sc__cluster_gpu(l->cluster, next),
                                            (uint64_t)sc__plan_message(&l->plan, l->model));
    return time < b->longest ? time : b->longest;
}

static int64_t shortest_message(const struct bounding *b) {
    int64_t least = INT64_MAX;
    for (uint32_t s = 0; s + 1 < b->l->plan.mesh.pp; s++) {
        int64_t x = message_alone(b, s);
        least = x < least ? x : least;
    }
    return least < INT64_MAX ? least : 0;
}

/* ---- blocks ---- */

/* The compute since the first transfer of a stream that was not waited for yet. All of
 * these run in it, whole, where the stream is waited for at its end: beside compute, which
 * they slow down, or while it does nothing. With a tax x, compute C, collectives P that
 * hold the compute stream and transfers of length d, it takes no less than
 *
 *     C + P + max(0, d − P) · x/(1 + x)
 *
 * since what else it waits makes it longer by more than the tax that is saved. */
struct window {
    bool open;
    int64_t from;
    int64_t compute;
    int64_t held;
    int64_t beside;
    int64_t kernels; /* paces are rounded to a picosecond */
};

static void widen_windows(struct window windows[SC__MAX_STREAMS],
                          const struct sc__op *op,
                          int64_t cost) {
    for (uint32_t s = 0; s < SC__MAX_STREAMS; s++) {
        if (!windows[s].open)
            continue;
        *(op->kind == SC__OP_COLLECTIVE ? &windows[s].held : &windows[s].compute) += cost;
        windows[s].kernels++;
    }
}

static void open_window(struct window *x, int64_t now, int64_t cost) {
    if (!x->open)
        *x = (struct window){.open = true, .from = now};
    x->beside += cost;
}

/* When compute that waits for these streams goes on, at the earliest. */
static int64_t close_windows(const struct bounding *b,
                             struct window windows[SC__MAX_STREAMS],
                             uint16_t streams) {
    int64_t latest = INT64_MIN;
    for (uint32_t s = 0; s < SC__MAX_STREAMS; s++) {
        struct window *x = &windows[s];
        if (!(streams >> s & 1) || !x->open)
            continue;
        x->open = false;
        if (b->l->workload->untaxed >> s & 1)
            continue;
        double more = (double)(x->beside - x->held) * b->taxed - (double)(4 + x->kernels);
        int64_t end = x->from + x->compute + x->held + (more > 0 ? (int64_t)more : 0);
        latest = end > latest ? end : latest;
    }
    return latest;
}

/* Compute stands still. */
static void note_pause(struct sc__block_cost *c, struct sc__block_pause pause) {
    if (c->alone < INT64_MAX || !pause.length)
        return;
    if (c->pauses < SC__BLOCK_PAUSES)
        c->pause[c->pauses++] = pause;
    else
        c->alone = pause.at;
}

/* A collective of a block begins: one that holds the compute stream is a pause, any other
 * may run beside compute. */
static void note_collective(const struct bounding *b,
                            struct sc__block_cost *c,
                            const struct sc__op *op,
                            int64_t start,
                            int64_t cost) {
    if (op->stream == SC__STREAM_COMPUTE)
        note_pause(c, (struct sc__block_pause){start, cost, false});
    else if (c->alone == INT64_MAX && !(b->l->workload->untaxed >> op->stream & 1))
        c->alone = start;
}

/* Of a block of so many operations, so that it is not longer than the longest. */
static int64_t
cost_alone(struct bounding *b, uint32_t place, const struct sc__op *op, uint32_t ops) {
    int64_t most = b->longest / ops;
    int64_t cost = 0;
    if (op->kind == SC__OP_COMPUTE)
        cost = op->cost;
    if (op->kind == SC__OP_COLLECTIVE)
        cost = collective_alone(b, place, op);
    return cost < most ? cost : most;
}

/* Runs a block from the given clocks of the streams on; busy may be NULL. */
static struct sc__block_cost replay_block(struct bounding *b,
                                          uint32_t block,
                                          uint32_t place,
                                          int64_t clock[SC__MAX_STREAMS],
                                          int64_t *busy) {
    const struct sc__workload *w = b->l->workload;
    const struct sc__block *x = &w->blocks[block];
    int64_t *end = SC__NEW_ARRAY(b->l->arena, int64_t, x->ops);
    struct window windows[SC__MAX_STREAMS] = {0};
    struct sc__block_cost out = {.alone = INT64_MAX};
    for (uint32_t i = 0; i < x->ops; i++) {
        const struct sc__op *op = &w->ops[x->first_op + i];
        bool on_compute = op->stream == SC__STREAM_COMPUTE;
        bool collective = op->kind == SC__OP_COLLECTIVE;
        int64_t start = clock[op->stream];
        int64_t cost = cost_alone(b, place, op, x->ops);
        if (collective && busy)
            busy[op->stream] += cost;
        if (!on_compute && !(op->after & 1u << SC__STREAM_COMPUTE))
            cost = 0; /* waits for no compute: it may be over when the block begins */
        for (uint32_t s = 0; s < SC__MAX_STREAMS; s++)
            if (op->after >> s & 1 && clock[s] > start)
                start = clock[s];
        for (uint32_t d = 0; d < op->deps; d++)
            if (end[w->deps[op->first_dep + d]] > start)
                start = end[w->deps[op->first_dep + d]];
        if (on_compute && op->after) {
            int64_t taxed = close_windows(b, windows, op->after);
            start = taxed > start ? taxed : start;
        }
        if (on_compute && start > clock[SC__STREAM_COMPUTE])
            note_pause(&out,
                       (struct sc__block_pause){clock[SC__STREAM_COMPUTE],
                                                start - clock[SC__STREAM_COMPUTE],
                                                true});
        if (on_compute)
            widen_windows(windows, op, cost);
        else if (op->after & 1u << SC__STREAM_COMPUTE)
            open_window(&windows[op->stream], clock[SC__STREAM_COMPUTE], cost);
        if (collective)
            note_collective(b, &out, op, start, cost);
        out.exchanges |= op->stream == SC__STREAM_EP || op->after >> SC__STREAM_EP & 1;
        end[i] = start + cost;
        clock[op->stream] = end[i];
    }
    out.least = clock[SC__STREAM_COMPUTE];
    return out;
}

/* A block that begins while the exchange of experts of blocks before it runs: what waits
 * for that, counted from its end. */
static struct sc__block_cost
cost_block(struct bounding *b, uint32_t block, uint32_t place, int64_t *busy) {
    int64_t clock[SC__MAX_STREAMS] = {0};
    struct sc__block_cost out = replay_block(b, block, place, clock, busy);
    if (!out.exchanges)
        return out;
    out.exchange_end = clock[SC__STREAM_EP] > 0 ? clock[SC__STREAM_EP] : SC__BLOCK_NEVER;
    for (uint32_t s = 0; s < SC__MAX_STREAMS; s++)
        clock[s] = s == SC__STREAM_EP ? 0 : 2 * SC__BLOCK_NEVER;
    (void)replay_block(b, block, place, clock, NULL);
    out.exchange_through = clock[SC__STREAM_EP];
    out.exchange_to_end = clock[SC__STREAM_COMPUTE];
    if (out.exchange_to_end < SC__BLOCK_NEVER)
        out.exchange_to_end = SC__BLOCK_NEVER;
    return out;
}

static bool block_kind_used(const struct sc__plan *p, int kind) {
    return kind < SC__BLOCK_WGRAD || sc__schedule_splits(p->schedule);
}

static int64_t compute_alone(struct bounding *b, const struct sc__block *x) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < x->ops; i++) {
        const struct sc__op *op = &b->l->workload->ops[x->first_op + i];
        if (op->kind == SC__OP_COMPUTE && op->stream == SC__STREAM_COMPUTE)
            sum += cost_alone(b, 0, op, x->ops);
    }
    return sum;
}

static const struct chunk_bound *
bound_chunk(struct bounding *b, uint32_t stage, uint32_t chunk) {
    uint64_t key = sc__step_chunk_key(b->l, stage, chunk);
    uint32_t place = place_of(b, stage);
    for (uint32_t i = 0; i < b->chunk_count; i++)
        if (b->chunks[i].key == key && b->chunks[i].place == place) {
            sc__step_share_blocks(b->l, stage, chunk, b->chunks[i].blocks);
            return &b->chunks[i];
        }
    struct chunk_bound *c =
        SC__PUSH(b->l->arena, b->chunks, b->chunk_count, b->chunk_capacity);
    c->key = key;
    c->place = place;
    sc__step_make_blocks(b->l, stage, chunk);
    for (int k = 0; k < SC__BLOCK_KINDS; k++)
        c->blocks[k] = sc__step_block(b->l, stage, chunk, k);
    for (int k = 0; k < BOUND_KINDS; k++) {
        if (!block_kind_used(&b->l->plan, k))
            continue;
        const struct sc__block *block = &b->l->workload->blocks[c->blocks[k]];
        c->cost[k] = cost_block(b, c->blocks[k], place, c->busy[k]);
        c->compute[k] = compute_alone(b, block);
        c->rounded[k] = 4 * (int64_t)block->ops;
    }
    return c;
}

/* ---- stages ---- */

struct stage_bound {
    int64_t first; /* forward of the first micro-batch through chunk 0 */
    int64_t last;  /* backward of the last one */
    int64_t busy;  /* all of it */
    int64_t after; /* what the end of the step adds to it */
    int64_t other; /* what the fullest other stream carries */
    /* All compute without taxes and waits, collectives that hold its stream, and the most
     * that a stream carries which slows it down. */
    int64_t compute;
    int64_t held;
    int64_t beside;
    int64_t rounded;
};

/* How often a kind of block runs in a chunk. */
static int64_t times_run(const struct sc__plan *p, int kind) {
    bool once = kind == SC__BLOCK_FORWARD_FIRST || kind == SC__BLOCK_BACKWARD_LAST ||
                kind == SC__BLOCK_WGRAD_LAST;
    return once ? 1 : (int64_t)sc__plan_passes(p) - 1;
}

/* The last reductions run beside the last backward, which is of chunk 0; which
 * weight gradients come last where they are parted is not asked. */
static int64_t
bound_after(struct bounding *b, uint32_t stage, const struct chunk_bound *first_chunk) {
    int64_t clock[SC__MAX_STREAMS] = {0};
    uint32_t place = place_of(b, stage);
    if (!sc__schedule_splits(b->l->plan.schedule))
        (void)replay_block(b,
                           first_chunk->blocks[SC__BLOCK_BACKWARD_LAST],
                           place,
                           clock,
                           NULL);
    int64_t before = clock[SC__STREAM_COMPUTE];
    (void)replay_block(b, sc__step_after_block(b->l, stage), place, clock, NULL);
    return clock[SC__STREAM_COMPUTE] - before;
}

static void take_larger(int64_t *most, int64_t x) {
    if (x > *most)
        *most = x;
}

static struct stage_bound bound_stage(struct bounding *b, uint32_t stage) {
    const struct sc__plan *p = &b->l->plan;
    struct stage_bound out = {0};
    int64_t other[SC__MAX_STREAMS] = {0};
    for (uint32_t c = 0; c < p->vpp; c++) {
        const struct chunk_bound *x = bound_chunk(b, stage, c);
        for (int k = 0; k < BOUND_KINDS; k++) {
            if (!block_kind_used(p, k))
                continue;
            out.busy += times_run(p, k) * x->cost[k].least;
            out.compute += times_run(p, k) * x->compute[k];
            out.rounded += times_run(p, k) * x->rounded[k];
            for (uint32_t s = 0; s < SC__MAX_STREAMS; s++)
                other[s] += times_run(p, k) * x->busy[k][s];
        }
        b->costs[stage * p->vpp + c] =
            (struct sc__chunk_costs){.forward = x->cost[SC__BLOCK_FORWARD],
                                     .forward_first = x->cost[SC__BLOCK_FORWARD_FIRST],
                                     .backward = x->cost[SC__BLOCK_BACKWARD],
                                     .backward_last = x->cost[SC__BLOCK_BACKWARD_LAST],
                                     .wgrad = x->cost[SC__BLOCK_WGRAD],
                                     .wgrad_last = x->cost[SC__BLOCK_WGRAD_LAST]};
        if (c > 0)
            continue;
        out.first = x->cost[SC__BLOCK_FORWARD_FIRST].least;
        out.last = x->cost[SC__BLOCK_BACKWARD_LAST].least;
        out.after = bound_after(b, stage, x);
    }
    out.held = other[SC__STREAM_COMPUTE];
    for (uint32_t s = 0; s < SC__MAX_STREAMS; s++) {
        if (s == SC__STREAM_COMPUTE)
            continue;
        take_larger(&out.other, other[s]);
        if (!(b->l->workload->untaxed >> s & 1))
            take_larger(&out.beside, other[s]);
    }
    return out;
}

/* As of a window (above), of all that a stage does: it computes nothing while the pipeline
 * fills, and transfers may run meanwhile. */
static int64_t
taxed_stage(const struct bounding *b, const struct stage_bound *x, int64_t fill) {
    double more = (double)(x->beside - x->held - fill) * b->taxed - (double)x->rounded;
    return fill + x->compute + x->held + (more > 0 ? (int64_t)more : 0);
}

static int64_t replay_schedule(const struct bounding *b, struct sc__step_replay *kept) {
    const struct sc__plan *p = &b->l->plan;
    struct sc__slot **slots = NULL;
    if (p->schedule == SC__SCHEDULE_DUALPIPE ||
        !sc__pipeline_replays(p->mesh.pp, p->vpp, p->micro_batches))
        return 0;
    if (sc__schedule_overlaps_steps(p->schedule)) {
        struct sc__pipeline pipeline = sc__step_pipeline(b->l);
        slots = sc__pipeline_order(b->l->workload, &pipeline);
    }
    const struct sc__pipeline_costs costs = {
        .schedule = p->schedule,
        .pp = p->mesh.pp,
        .vpp = p->vpp,
        .micro_batches = p->micro_batches,
        .run = p->pipeline_batch,
        .turns = sc__plan_turns(p),
        .overlap = p->overlap_p2p,
        .tax = b->l->workload->comm_tax,
        .exchange_taxes = !(b->l->workload->untaxed >> SC__STREAM_EP & 1),
        .chunks = b->costs,
        .message = b->message,
        .after = b->after,
        .slots = slots};
    int64_t total = sc__pipeline_replay(b->l->arena, &costs, &kept->ends);
    kept->total = total;
    kept->pp = p->mesh.pp;
    kept->overlap = p->overlap_p2p;
    kept->first_only = sc__schedule_overlaps_steps(p->schedule);
    kept->after = b->after;
    for (uint32_t s = 0; s < p->mesh.pp; s++)
        take_larger(&kept->message, b->message[s]);
    return total;
}

int64_t sc__step_bound(struct sc__lowering *l,
                       const struct sc__mesh *placed,
                       int64_t limit,
                       struct sc__step_replay *replay) {
    double tax = l->workload->comm_tax;
    const struct sc__plan *p = &l->plan;
    struct bounding b = {.l = l,
                         .mesh = placed ? *placed : p->mesh,
                         .taxed = tax / (1 + tax),
                         .longest =
                             sc__pipeline_longest(p->mesh.pp, p->vpp, sc__plan_passes(p))};
    /* from both ends: what a stage waits for first is not asked */
    bool overlap = (sc__schedule_overlaps_steps(p->schedule) && p->mesh.pp > 1) ||
                   p->schedule == SC__SCHEDULE_DUALPIPE;
    bool split = sc__schedule_splits(p->schedule);
    int64_t fill = 0;
    int64_t drain = 0;
    int64_t after_first = 0;
    int64_t most = 0;
    b.costs = SC__NEW_ARRAY(l->arena, struct sc__chunk_costs, p->mesh.pp * p->vpp);
    b.message = SC__NEW_ARRAY(l->arena, int64_t, p->mesh.pp);
    b.after = SC__NEW_ARRAY(l->arena, int64_t, p->mesh.pp);
    sc__step_blocks_begin(l);
    if (placed)
        b.places = sc__step_places(l->ctx, l->cluster, placed, false);
    for (uint32_t s = 0; s < p->mesh.pp; s++) {
        struct stage_bound x = bound_stage(&b, s);
        if (s == 0)
            after_first = x.after;
        b.after[s] = x.after;
        b.message[s] = p->mesh.pp > 1 ? message_alone(&b, s) : 0;
        take_larger(&most, fill + x.busy + x.after);
        take_larger(&most, fill + x.other);
        if (!overlap)
            take_larger(&most, taxed_stage(&b, &x, fill));
        if (!split)
            take_larger(&most, fill + x.busy + drain + after_first);
        if (overlap || s + 1 == p->mesh.pp)
            continue;
        fill += x.first + b.message[s];
        drain += x.last + b.message[s];
    }
    if (most <= limit)
        take_larger(&most, replay_schedule(&b, replay));
    return most;
}

/* ---- parts of the model ---- */

static struct sc__unit_times
time_unit(struct bounding *b, int kind, uint32_t layer, bool again) {
    struct sc__unit_times least = {INT64_MAX, INT64_MAX, INT64_MAX};
    uint32_t blocks[2];
    sc__step_make_unit(b->l, kind, layer, again, &blocks[0], &blocks[1]);
    for (uint32_t place = 0; place == 0 || (b->places && place < b->places->count);
         place++) {
        int64_t forward[SC__MAX_STREAMS] = {0};
        int64_t backward[SC__MAX_STREAMS] = {0};
        int64_t busy[SC__MAX_STREAMS] = {0};
        (void)replay_block(b, blocks[0], place, forward, busy);
        (void)replay_block(b, blocks[1], place, backward, busy);
        if (forward[SC__STREAM_COMPUTE] < least.forward)
            least.forward = forward[SC__STREAM_COMPUTE];
        if (backward[SC__STREAM_COMPUTE] < least.backward)
            least.backward = backward[SC__STREAM_COMPUTE];
        if (busy[SC__STREAM_EP] < least.exchange)
            least.exchange = busy[SC__STREAM_EP];
    }
    return least;
}

void sc__step_units(struct sc__lowering *l,
                    const struct sc__mesh *placed,
                    struct sc__step_units *out) {
    const struct sc__plan *p = &l->plan;
    const struct sc__model *m = l->model;
    /* layers, embedding and head, and both for each prediction layer make one pass */
    int64_t units = (int64_t)m->layers + 2 + 2 * (int64_t)sc__plan_predictions(p, m);
    struct bounding b = {.l = l,
                         .mesh = placed ? *placed : p->mesh,
                         .longest =
                             sc__pipeline_longest(p->mesh.pp, 1, p->micro_batches) / units};
    struct sc__unit_times of_kind[2][SC__LAYER_KINDS];
    bool known[SC__LAYER_KINDS] = {false};
    sc__step_blocks_begin(l);
    if (placed)
        b.places = sc__step_places(l->ctx, l->cluster, placed, true);
    out->layers = SC__NEW_ARRAY(l->arena, struct sc__unit_times, m->layers);
    out->others = out->layers;
    if (l->plan.recompute_block)
        out->others = SC__NEW_ARRAY(l->arena, struct sc__unit_times, m->layers);
    for (uint32_t i = 0; i < m->layers; i++) {
        int kind = sc__layer_kind(l, i);
        if (!known[kind]) {
            of_kind[0][kind] = time_unit(&b, SC__UNIT_LAYER, i, true);
            if (l->plan.recompute_block)
                of_kind[1][kind] = time_unit(&b, SC__UNIT_LAYER, i, false);
        }
        known[kind] = true;
        out->layers[i] = of_kind[0][kind];
        out->others[i] = of_kind[l->plan.recompute_block][kind];
    }
    out->embedding = time_unit(&b, SC__UNIT_EMBEDDING, 0, false);
    out->head = time_unit(&b, SC__UNIT_HEAD, 0, false);
    out->message = shortest_message(&b);
}
