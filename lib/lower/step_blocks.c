/* step_blocks: scripts → blocks of a stage and chunk → pipeline.
 *
 * A chunk is a row of units: the embedding, layers, the head. Its blocks are
 * shared by all micro-batches, except the first (which may gather updated
 * weights) and the last (which reduces the gradients):
 *
 *   ZeRO 0, 1   in the last backward, buckets of gradients are reduced as they
 *               fill, beside the rest; with overlapped parameter gathering the
 *               first forward gathers bucket by bucket, ahead of its use
 *   ZeRO 2, 3   every micro-batch gathers the weights of the next unit beside
 *               the compute of this one, in backward too (3), and scatters the
 *               gradients of the last one; with a pipeline once per step, and
 *               PyTorch's begins with it when the last backward has ended */
#include "lower/step_blocks.h"

#include "plan/towers.h"

struct chunk {
    struct sc__step_unit *items;
    uint32_t count;
    uint32_t capacity;
    /* in the order of the data */
    bool first;
    bool last;
};

static void push_unit(struct sc__lowering *l, struct chunk *c, struct sc__step_unit u) {
    *SC__PUSH(l->arena, c->items, c->count, c->capacity) = u;
}

static struct sc__step_unit
layer_unit(const struct sc__lowering *l, uint32_t layer, uint32_t at) {
    const struct sc__plan *p = &l->plan;
    struct sc__step_unit u = {.kind = SC__UNIT_LAYER,
                              .layer = layer,
                              .params = sc__plan_layer_shard(p, l->model, layer),
                              .trained = sc__plan_layer_trained(p, l->model, layer)};
    u.layer_kind = (uint8_t)sc__layer_kind(l, layer);
    u.repeat = !p->recompute_block || at < p->recompute_layers;
    u.offload = at < p->offload_activations;
    return u;
}

/* Each tower with what is before and behind its layers. */
static void push_towers(struct sc__lowering *l, struct chunk *c) {
    uint8_t at = 0;
    for (uint32_t i = 0; i < l->model->tower_count; i++) {
        const struct sc__tower *t = &l->model->towers[i];
        if (!sc__tower_items(&l->plan, t))
            continue;
        const struct sc__lowering *own = &l->towers[at++];
        struct sc__tower_shards n = sc__tower_shards(&l->plan, t);
        struct sc__step_unit u = {.kind = SC__UNIT_EMBEDDING,
                                  .layer = SC__NONE,
                                  .tower = at,
                                  .repeat = true,
                                  .frozen = sc__tower_frozen(&l->plan),
                                  .params.dense = n.in};
        u.trained.dense = u.frozen ? 0 : n.in;
        push_unit(l, c, u);
        u.kind = SC__UNIT_LAYER;
        u.params.dense = n.layer;
        u.trained.dense = u.frozen ? 0 : n.layer;
        for (uint32_t k = 0; k < t->body.layers; k++) {
            u.layer_kind = (uint8_t)sc__layer_kind(own, k);
            push_unit(l, c, u);
        }
        u.kind = SC__UNIT_HEAD;
        u.frozen = sc__connector_frozen(&l->plan);
        u.params.dense = n.out;
        u.trained.dense = u.frozen ? 0 : n.out;
        push_unit(l, c, u);
    }
}

/* A layer of multi-token prediction: the next token's embedding joins the hidden state, and
 * it has a loss of its own; embedding and head are the model's. */
static void push_prediction(struct sc__lowering *l, struct chunk *c, uint32_t at) {
    uint32_t layers[SC__PREDICTION_LAYERS];
    uint32_t count = sc__model_prediction(l->model, layers);
    struct sc__step_unit shared = {.kind = SC__UNIT_EMBEDDING, .layer = SC__NONE};
    struct sc__step_unit inputs = {.kind = SC__UNIT_PREDICTION, .layer = SC__NONE};
    inputs.params.dense = sc__plan_prediction_inputs(&l->plan, l->model);
    if (!l->plan.lora)
        inputs.trained = inputs.params;
    push_unit(l, c, shared);
    push_unit(l, c, inputs);
    for (uint32_t k = 0; k < count; k++)
        push_unit(l, c, layer_unit(l, layers[k], at));
    shared.kind = SC__UNIT_HEAD;
    push_unit(l, c, shared);
}

/* Its units that have a backward. */
static struct chunk with_backward(struct sc__lowering *l, const struct chunk *c) {
    struct chunk out = {.first = c->first, .last = c->last};
    if (!l->tower_count)
        return *c;
    for (uint32_t i = 0; i < c->count; i++)
        if (!c->items[i].frozen)
            push_unit(l, &out, c->items[i]);
    return out;
}

/* FSDP's root has embedding and head: gathered together before the first of them, held
 * until backward has passed both, and reduced then. As units of their own the head alone is
 * held, whose backward follows its forward (memory_state.c has the sources). */
static void join_ends(const struct sc__lowering *l, struct chunk *c) {
    struct sc__step_unit *ends[2] = {NULL, NULL};
    for (uint32_t i = 0; i < c->count; i++) {
        struct sc__step_unit *u = &c->items[i];
        if (!u->tower && u->params.dense > 0 && u->kind == SC__UNIT_EMBEDDING)
            ends[0] = u;
        if (!u->tower && u->params.dense > 0 && u->kind == SC__UNIT_HEAD)
            ends[1] = u;
    }
    if (!ends[0] || !ends[1] || !sc__plan_is_fsdp(&l->plan))
        return;
    ends[1]->held = true;
    if (l->constants.software.own_ends > 0 && !l->model->tied)
        return;
    ends[0]->held = true;
    ends[0]->params.dense += ends[1]->params.dense;
    ends[0]->trained.dense += ends[1]->trained.dense;
    ends[1]->params.dense = 0;
    ends[1]->trained.dense = 0;
}

static struct chunk make_chunk(struct sc__lowering *l, uint32_t stage, uint32_t index) {
    const struct sc__plan *p = &l->plan;
    uint32_t part = sc__schedule_part(p->schedule, p->mesh.pp, stage, index);
    struct chunk c = {.first = part == 0, .last = part == sc__plan_parts(p) - 1};
    uint32_t first;
    uint32_t n = sc__plan_layers(p, l->model, stage, index, &first);
    uint32_t before = 0;
    for (uint32_t i = 0; i < index; i++) {
        uint32_t unused;
        before += sc__plan_layers(p, l->model, stage, i, &unused);
    }
    struct sc__shard none = {0};
    struct sc__shard ends = {.dense = sc__plan_embedding_shard(p, l->model)};
    if (c.first)
        push_towers(l, &c);
    if (c.first)
        push_unit(l,
                  &c,
                  (struct sc__step_unit){.kind = SC__UNIT_EMBEDDING,
                                         .layer = SC__NONE,
                                         .params = ends,
                                         .trained = p->lora ? none : ends});
    for (uint32_t i = 0; i < n; i++)
        push_unit(l, &c, layer_unit(l, first + i, before + i));
    ends.dense = sc__plan_head_shard(p, l->model, stage);
    if (c.last)
        push_unit(l,
                  &c,
                  (struct sc__step_unit){.kind = SC__UNIT_HEAD,
                                         .layer = SC__NONE,
                                         .params = ends,
                                         .trained = p->lora ? none : ends});
    for (uint32_t i = 0; c.last && i < sc__plan_predictions(p, l->model); i++)
        push_prediction(l, &c, before + n);
    join_ends(l, &c);
    return c;
}

void sc__step_block_begin(struct sc__step_emitter *e, struct sc__lowering *l) {
    *e = (struct sc__step_emitter){.l = l,
                                   .w = l->workload,
                                   .first_op = l->workload->op_count};
    sc__block_begin(l->workload);
}

/* The compute stream waits now, not with its next operation: else it would
 * wait for what is issued in between as well. */
void sc__step_wait_pending(struct sc__step_emitter *e) {
    if (!e->pending)
        return;
    sc__block_add(e->w, SC__OP_WAIT, SC__FORWARD, SC__STREAM_COMPUTE, "wait")->after =
        e->pending;
    e->pending = 0;
}

uint32_t sc__step_block_end(struct sc__step_emitter *e) {
    sc__step_wait_pending(e);
    return sc__block_end(e->w);
}

static void take_deps(struct sc__step_emitter *e) {
    for (uint32_t i = 0; i < e->deps; i++)
        sc__block_depend(e->w, e->dep[i]);
    e->deps = 0;
}

void sc__step_emit_compute(struct sc__step_emitter *e,
                           const struct sc__step_item *x,
                           uint32_t layer) {
    struct sc__op *op =
        sc__block_add(e->w, SC__OP_COMPUTE, x->phase, SC__STREAM_COMPUTE, x->name);
    op->work = x->work;
    op->layer = layer;
    op->cost = sc__from_us(x->us);
    op->after = e->pending;
    e->pending = 0;
    take_deps(e);
}

uint32_t sc__step_emit_collective(struct sc__step_emitter *e,
                                  enum sc__phase phase,
                                  enum sc__coll coll,
                                  enum sc__group_kind group,
                                  uint8_t stream,
                                  double bytes,
                                  const char *name,
                                  uint32_t layer) {
    uint16_t g = sc__workload_communicator(e->w, group, stream == SC__STREAM_REDUCE);
    struct sc__op *op = sc__block_add(e->w, SC__OP_COLLECTIVE, phase, stream, name);
    op->coll = (uint8_t)coll;
    op->group = g;
    op->layer = layer;
    op->bytes = (uint64_t)bytes;
    op->after = (uint16_t)(1u << SC__STREAM_COMPUTE | e->pending);
    return e->w->op_count - 1 - e->first_op;
}

/* One that is waited for at once holds the compute stream itself. */
void sc__step_block_on(struct sc__step_emitter *e,
                       enum sc__phase phase,
                       enum sc__coll coll,
                       enum sc__group_kind group,
                       double bytes,
                       const char *name,
                       uint32_t layer) {
    sc__step_emit_collective(e, phase, coll, group, SC__STREAM_COMPUTE, bytes, name, layer);
    e->w->ops[e->w->op_count - 1].after = e->pending;
    e->pending = 0;
}

static void
step_blocks_run(struct sc__step_emitter *e, const struct sc__script *s, uint32_t layer) {
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__step_item *x = &s->items[i];
        if (x->kind == SC__ITEM_COMPUTE)
            sc__step_emit_compute(e, x, layer);
        else if (x->kind == SC__ITEM_JOIN)
            e->pending |= (uint16_t)(1u << x->stream);
        else if (x->async) {
            sc__step_wait_pending(e);
            sc__step_emit_collective(e,
                                     x->phase,
                                     x->coll,
                                     x->group,
                                     x->stream,
                                     x->bytes,
                                     x->name,
                                     layer);
        } else
            sc__step_block_on(e, x->phase, x->coll, x->group, x->bytes, x->name, layer);
    }
}

/* Sends of a stage carry 1/tp of the tensor each; the receiver gathers it. */
static bool scattered(const struct sc__plan *p) {
    return p->scatter_gather && !p->sequence_parallel && p->mesh.tp > 1 && p->mesh.pp > 1;
}

/* What a received message costs: the host synchronises with the device, and
 * pieces are put together. */
static void take_message(struct sc__step_emitter *e, enum sc__phase phase) {
    const struct sc__lowering *l = e->l;
    bool host = !l->plan.overlap_p2p && l->plan.host_launch != 0;
    struct sc__step_item x = {.phase = (uint8_t)phase,
                              .work = SC__WORK_HOST,
                              .us = l->constants.software.host_message_us,
                              .name = "host"};
    if (host && x.us > 0)
        sc__step_emit_compute(e, &x, SC__NONE);
    if (!scattered(&e->l->plan))
        return;
    sc__step_block_on(e,
                      phase,
                      SC__ALLGATHER,
                      SC__GROUP_TP,
                      sc__plan_message(&e->l->plan, e->l->model) * e->l->plan.mesh.tp,
                      "tp gather of message",
                      SC__NONE);
}

/* In a pipeline weights stay gathered from the first micro-batch to the last,
 * unless they are given back after each use. */
static bool sharded_weights(const struct sc__plan *p, bool edge) {
    return p->zero >= 2 && (p->mesh.pp == 1 || p->reshard || edge);
}

/* Whose scripts the unit runs. */
static const struct sc__lowering *unit_scripts(const struct sc__lowering *l,
                                               const struct sc__step_unit *u) {
    return u->tower ? &l->towers[u->tower - 1] : l;
}

static void forward_unit(struct sc__step_emitter *e, const struct sc__step_unit *u) {
    const struct sc__lowering *l = unit_scripts(e->l, u);
    if (u->kind == SC__UNIT_EMBEDDING)
        step_blocks_run(e, &l->embedding_forward, SC__NONE);
    else if (u->kind == SC__UNIT_HEAD)
        step_blocks_run(e, &l->head_forward, SC__NONE);
    else if (u->kind == SC__UNIT_PREDICTION)
        step_blocks_run(e, &l->prediction_forward, SC__NONE);
    else
        step_blocks_run(e, &l->forward[u->layer_kind], u->layer);
}

static void backward_unit(struct sc__step_emitter *e, const struct sc__step_unit *u) {
    const struct sc__lowering *l = unit_scripts(e->l, u);
    if (u->kind == SC__UNIT_EMBEDDING)
        step_blocks_run(e, &l->embedding_backward, SC__NONE);
    else if (u->kind == SC__UNIT_HEAD)
        step_blocks_run(e, &l->head_backward, SC__NONE);
    else if (u->kind == SC__UNIT_PREDICTION)
        step_blocks_run(e, &l->prediction_backward, SC__NONE);
    else {
        if (u->repeat)
            step_blocks_run(e, &l->recompute[u->layer_kind], u->layer);
        step_blocks_run(e, &l->backward[u->layer_kind], u->layer);
    }
}

bool sc__step_gathers_late(const struct sc__lowering *l) {
    bool whole = l->plan.zero == 2 && sc__step_keeps_weights(l);
    return whole && l->constants.software.whole_reductions > 0;
}

static bool gathers_weights(const struct sc__lowering *l, bool first) {
    bool now = first && !sc__step_gathers_late(l);
    return sharded_weights(&l->plan, first) && (now || !sc__step_keeps_weights(l));
}

/* Every unit with the weights it needs: those of the next are fetched when
 * this one begins (sharded), or all at once from the beginning (updated). */
static uint32_t
step_blocks_forward_block(struct sc__lowering *l, const struct chunk *c, bool first) {
    const struct sc__plan *p = &l->plan;
    struct sc__step_emitter e;
    bool sharded = gathers_weights(l, first);
    bool updated = first && p->zero == 1 && p->overlap_param && !sc__step_owns_tensors(l);
    uint32_t next[2] = {0};
    uint32_t nexts = 0;
    struct sc__offload_windows windows = sc__offload_windows(c->items, c->count);
    sc__step_block_begin(&e, l);
    if (!c->first)
        take_message(&e, SC__FORWARD);
    bool ahead = sharded && !p->shard_blocking;
    if (ahead && c->count)
        sc__step_gather_weights(&e, &c->items[0], true);
    for (uint32_t i = 0; i < c->count; i++) {
        if (sharded && !ahead)
            sc__step_gather_weights(&e, &c->items[i], true);
        uint32_t mine = e.deps;
        uint32_t keep[2] = {e.dep[0], e.dep[1]};
        if (updated) {
            sc__step_gather_weights(&e, &c->items[i], false);
            mine = e.deps;
            keep[0] = e.dep[0];
            keep[1] = e.dep[1];
        }
        e.deps = 0;
        if (ahead && i + 1 < c->count)
            sc__step_gather_weights(&e, &c->items[i + 1], true);
        nexts = e.deps;
        next[0] = e.dep[0];
        next[1] = e.dep[1];
        e.deps = mine;
        e.dep[0] = keep[0];
        e.dep[1] = keep[1];
        forward_unit(&e, &c->items[i]);
        sc__offload_store(&e, &windows, &c->items[i]);
        e.deps = ahead ? nexts : 0;
        e.dep[0] = next[0];
        e.dep[1] = next[1];
    }
    return sc__step_block_end(&e);
}

/* PyTorch's pipelines turn FSDP's synchronisation off in every backward, and run what
 * reduces gradients themselves after the last one (PipelineStage). */
static bool reduces_after_backward(const struct sc__plan *p) {
    return p->torch_copies && p->mesh.pp > 1;
}

/* Where the ranks that share have one communicator, gradients wait for the weights that
 * were asked for before them, and those for gradients. */
static uint8_t reduce_stream(const struct sc__lowering *l) {
    return l->constants.software.one_communicator > 0 ? SC__STREAM_DP : SC__STREAM_REDUCE;
}

static void reduce_all_units(struct sc__step_emitter *e, const struct chunk *c) {
    for (uint32_t i = c->count; i-- > 0;)
        sc__step_reduce_gradients(e,
                                  &c->items[i].trained,
                                  reduce_stream(e->l),
                                  c->items[i].layer);
}

/* For backward. */
static void gather_again(struct sc__step_emitter *e, const struct sc__step_unit *u) {
    if (!u->held)
        sc__step_gather_weights(e, u, true);
}

static uint32_t
step_blocks_backward_block(struct sc__lowering *l, const struct chunk *c, bool last) {
    const struct sc__plan *p = &l->plan;
    struct sc__step_emitter e;
    bool sharded = sharded_weights(p, last);
    bool regather = sharded && p->reshard;
    bool later = reduces_after_backward(p);
    bool filled = sharded && sc__plan_fills_buckets(p); /* of every micro-batch */
    bool buckets = filled || (last && p->zero < 2 && p->overlap_grad &&
                              !sc__schedule_splits(p->schedule));
    struct sc__shard sum = {0};
    struct sc__offload_windows windows = sc__offload_windows(c->items, c->count);
    sc__step_block_begin(&e, l);
    if (!c->last)
        take_message(&e, SC__BACKWARD);
    bool ahead = regather && !p->shard_blocking;
    if (ahead && c->count)
        gather_again(&e, &c->items[c->count - 1]);
    for (uint32_t i = c->count; i-- > 0;) {
        const struct sc__step_unit *u = &c->items[i];
        sc__offload_fetch(&e, &windows, u);
        if (regather && !ahead)
            gather_again(&e, u);
        uint32_t mine = e.deps;
        uint32_t keep[2] = {e.dep[0], e.dep[1]};
        uint32_t nexts;
        uint32_t next[2];
        e.deps = 0;
        if (ahead && i)
            gather_again(&e, &c->items[i - 1]);
        nexts = e.deps;
        next[0] = e.dep[0];
        next[1] = e.dep[1];
        e.deps = mine;
        e.dep[0] = keep[0];
        e.dep[1] = keep[1];
        backward_unit(&e, u);
        e.deps = nexts;
        e.dep[0] = next[0];
        e.dep[1] = next[1];
        if (sharded && !later && !filled)
            sc__step_reduce_gradients(&e, &u->trained, reduce_stream(l), u->layer);
        sum.dense += u->trained.dense;
        sum.experts += u->trained.experts;
        if (buckets)
            sc__step_flush_bucket(&e, &sum, (double)p->bucket);
        if (filled && !p->overlap_grad) /* on the stream of backward */
            e.pending |= 1u << SC__STREAM_DP;
    }
    if (buckets)
        sc__step_flush_bucket(&e, &sum, 0);
    if (later && last && p->zero >= 2 && !sc__schedule_splits(p->schedule))
        reduce_all_units(&e, c);
    return sc__step_block_end(&e);
}

/* head: with the head's, which otherwise stand apart (head_block). */
static uint32_t
wgrad_block(struct sc__lowering *l, const struct chunk *c, bool head, bool last) {
    struct sc__step_emitter e;
    struct sc__shard sum = {0};
    bool buckets = last && l->plan.zero < 2 && l->plan.overlap_grad;
    sc__step_block_begin(&e, l);
    for (uint32_t i = c->count; i-- > 0;) {
        const struct sc__step_unit *u = &c->items[i];
        const struct sc__lowering *own = unit_scripts(l, u);
        if (u->kind == SC__UNIT_HEAD && (head || u->tower))
            step_blocks_run(&e, &own->head_wgrad, SC__NONE);
        if (u->kind == SC__UNIT_LAYER)
            step_blocks_run(&e, &own->wgrad[u->layer_kind], u->layer);
        if (u->kind == SC__UNIT_PREDICTION)
            step_blocks_run(&e, &own->prediction_wgrad, SC__NONE);
        sum.dense += u->trained.dense;
        sum.experts += u->trained.experts;
        if (buckets)
            sc__step_flush_bucket(&e, &sum, (double)l->plan.bucket);
    }
    if (buckets)
        sc__step_flush_bucket(&e, &sum, 0);
    if (last && l->plan.zero >= 2 && reduces_after_backward(&l->plan))
        reduce_all_units(&e, c);
    return sc__step_block_end(&e);
}

static uint32_t head_block(struct sc__lowering *l, const struct chunk *c) {
    struct sc__step_emitter e;
    sc__step_block_begin(&e, l);
    for (uint32_t i = c->count; i-- > 0;)
        if (c->items[i].kind == SC__UNIT_HEAD && !c->items[i].tower)
            step_blocks_run(&e, &l->head_wgrad, SC__NONE);
    return sc__step_block_end(&e);
}

/* First and last stage hold a copy each of tied embeddings; the V has one, and where the
 * model is there twice both are exchanged with all of it. */
bool sc__step_shares_embedding(const struct sc__lowering *l, uint32_t stage) {
    uint32_t last = sc__plan_last_stage(&l->plan);
    return l->model->tied && l->plan.schedule != SC__SCHEDULE_DUALPIPE && last > 0 &&
           !l->plan.lora && (stage == 0 || stage == last);
}

double sc__step_tied_bytes(const struct sc__lowering *l) {
    return (double)l->plan.grad_bytes * l->plan.vocab / l->plan.mesh.tp * l->model->hidden;
}

/* Where steps overlap, the copies' gradients are added up beside the weight
 * gradients of the layers. */
static uint32_t tied_block(struct sc__lowering *l, uint32_t stage) {
    struct sc__step_emitter e;
    if (!sc__schedule_overlaps_steps(l->plan.schedule) ||
        !sc__step_shares_embedding(l, stage))
        return SC__NONE;
    sc__step_block_begin(&e, l);
    sc__step_emit_collective(&e,
                             SC__UPDATE,
                             SC__ALLREDUCE,
                             SC__GROUP_EMBEDDING,
                             SC__STREAM_TIED,
                             sc__step_tied_bytes(l),
                             "tied embedding",
                             SC__NONE);
    return sc__step_block_end(&e);
}

static uint32_t *
block_at(const struct sc__lowering *l, uint32_t stage, uint32_t chunk, int kind) {
    return &l->blocks[(stage * l->plan.vpp + chunk) * SC__BLOCK_KINDS + (uint32_t)kind];
}

static uint32_t forward(void *self, uint32_t stage, uint32_t chunk, uint32_t micro_batch) {
    return *block_at(self,
                     stage,
                     chunk,
                     micro_batch ? SC__BLOCK_FORWARD : SC__BLOCK_FORWARD_FIRST);
}

static uint32_t backward(void *self, uint32_t stage, uint32_t chunk, uint32_t micro_batch) {
    struct sc__lowering *l = self;
    return *block_at(l,
                     stage,
                     chunk,
                     micro_batch + 1 == sc__plan_passes(&l->plan) ? SC__BLOCK_BACKWARD_LAST
                                                                  : SC__BLOCK_BACKWARD);
}

static uint32_t wgrad(void *self, uint32_t stage, uint32_t chunk, uint32_t micro_batch) {
    struct sc__lowering *l = self;
    return *block_at(l,
                     stage,
                     chunk,
                     micro_batch + 1 == sc__plan_passes(&l->plan) ? SC__BLOCK_WGRAD_LAST
                                                                  : SC__BLOCK_WGRAD);
}

static uint32_t
tail(void *self, uint32_t stage, const struct sc__slot *s, enum sc__tail part) {
    struct sc__lowering *l = self;
    if (part == SC__TAIL_JOIN)
        return l->tied[stage];
    if (part == SC__TAIL_EARLY)
        return *block_at(l, stage, s->chunk, SC__BLOCK_HEAD);
    return *block_at(l,
                     stage,
                     s->chunk,
                     s->micro_batch + 1 == sc__plan_passes(&l->plan) ? SC__BLOCK_LAYERS_LAST
                                                                     : SC__BLOCK_LAYERS);
}

static int64_t step_blocks_collective_cost(void *self, const struct sc__op *op) {
    struct sc__lowering *l = self;
    enum sc__group_kind kind = l->workload->groups[op->group].kind;
    return sc__from_us(sc__step_collective_us(l, op->coll, kind, (double)op->bytes));
}

static int64_t message_time(void *self, uint32_t stage) {
    const struct sc__lowering *l = self;
    uint32_t here = sc__mesh_move(&l->plan.mesh, 0, SC__DIM_PP, stage);
    uint32_t next = sc__mesh_move(&l->plan.mesh, 0, SC__DIM_PP, stage + 1);
    return sc__message_time_between(l->cluster,
                                    sc__cluster_gpu(l->cluster, here),
                                    sc__cluster_gpu(l->cluster, next),
                                    (uint64_t)sc__plan_message(&l->plan, l->model));
}

static uint32_t after(void *self, uint32_t stage) {
    return ((struct sc__lowering *)self)->after[stage];
}

void sc__step_make_blocks(struct sc__lowering *l, uint32_t stage, uint32_t index) {
    struct chunk all = make_chunk(l, stage, index);
    struct chunk c = with_backward(l, &all);
    *block_at(l, stage, index, SC__BLOCK_FORWARD) =
        step_blocks_forward_block(l, &all, false);
    *block_at(l, stage, index, SC__BLOCK_FORWARD_FIRST) =
        step_blocks_forward_block(l, &all, true);
    *block_at(l, stage, index, SC__BLOCK_BACKWARD) =
        step_blocks_backward_block(l, &c, false);
    *block_at(l, stage, index, SC__BLOCK_BACKWARD_LAST) =
        step_blocks_backward_block(l, &c, true);
    if (!sc__schedule_splits(l->plan.schedule))
        return;
    *block_at(l, stage, index, SC__BLOCK_WGRAD) = wgrad_block(l, &c, true, false);
    *block_at(l, stage, index, SC__BLOCK_WGRAD_LAST) = wgrad_block(l, &c, true, true);
    if (l->tied[stage] == SC__NONE)
        return;
    *block_at(l, stage, index, SC__BLOCK_HEAD) = c.last ? head_block(l, &c) : SC__NONE;
    *block_at(l, stage, index, SC__BLOCK_LAYERS) = wgrad_block(l, &c, false, false);
    *block_at(l, stage, index, SC__BLOCK_LAYERS_LAST) = wgrad_block(l, &c, false, true);
}

void sc__step_make_unit(struct sc__lowering *l,
                        int kind,
                        uint32_t layer,
                        bool again,
                        uint32_t *forward_of_it,
                        uint32_t *backward_of_it) {
    struct chunk c = {.first = true, .last = true};
    struct sc__step_unit u = {.kind = (uint8_t)kind, .layer = SC__NONE};
    if (kind == SC__UNIT_LAYER)
        u = layer_unit(l, layer, again ? 0 : SC__NONE);
    push_unit(l, &c, u);
    *forward_of_it = step_blocks_forward_block(l, &c, false);
    *backward_of_it = step_blocks_backward_block(l, &c, false);
}

uint32_t
sc__step_block(const struct sc__lowering *l, uint32_t stage, uint32_t chunk, int kind) {
    return *block_at(l, stage, chunk, kind);
}

void sc__step_share_blocks(struct sc__lowering *l,
                           uint32_t stage,
                           uint32_t chunk,
                           const uint32_t blocks[SC__BLOCK_KINDS]) {
    for (int k = 0; k < SC__BLOCK_KINDS; k++)
        *block_at(l, stage, chunk, k) = blocks[k];
}

uint64_t sc__step_chunk_key(struct sc__lowering *l, uint32_t stage, uint32_t index) {
    struct chunk c = make_chunk(l, stage, index);
    uint64_t key = (uint64_t)c.first << 1 | c.last;
    for (uint32_t i = 0; i < c.count; i++) {
        const struct sc__step_unit *u = &c.items[i];
        const uint8_t says[] = {u->kind, u->layer_kind, u->repeat, u->offload, u->tower};
        key = sc__hash(says, sizeof says, key);
    }
    return key;
}

void sc__step_blocks_begin(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    l->blocks =
        SC__NEW_ARRAY(l->arena, uint32_t, (size_t)p->mesh.pp * p->vpp * SC__BLOCK_KINDS);
    l->after = SC__NEW_ARRAY(l->arena, uint32_t, p->mesh.pp);
    l->tied = SC__NEW_ARRAY(l->arena, uint32_t, p->mesh.pp);
    for (uint32_t s = 0; s < p->mesh.pp; s++)
        l->tied[s] = tied_block(l, s);
}

struct sc__pipeline sc__step_pipeline(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    return (struct sc__pipeline){.schedule = p->schedule,
                                 .pp = p->mesh.pp,
                                 .vpp = p->vpp,
                                 .micro_batches = p->micro_batches,
                                 .run = p->pipeline_batch,
                                 .turns = sc__plan_turns(p),
                                 .message = (uint64_t)sc__plan_message(p, l->model),
                                 .overlap = p->overlap_p2p,
                                 .forward = forward,
                                 .backward = backward,
                                 .wgrad = sc__schedule_splits(p->schedule) ? wgrad : NULL,
                                 .after = after,
                                 .collective_cost = step_blocks_collective_cost,
                                 .message_time = message_time,
                                 .kept = sc__plan_kept(l->model, p),
                                 .tail = tail,
                                 .self = l};
}

sc_status sc__step_blocks(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    sc__step_blocks_begin(l);
    for (uint32_t s = 0; s < p->mesh.pp; s++) {
        for (uint32_t c = 0; c < p->vpp; c++)
            sc__step_make_blocks(l, s, c);
        l->after[s] = sc__step_after_block(l, s);
    }
    struct sc__pipeline pipeline = sc__step_pipeline(l);
    l->workload->stream_names[SC__STREAM_REDUCE] = "gradients";
    if (l->tied[0] != SC__NONE)
        l->workload->stream_names[SC__STREAM_TIED] = "tied embeddings";
    return sc__pipeline_lower(l->ctx, l->workload, &pipeline);
}
