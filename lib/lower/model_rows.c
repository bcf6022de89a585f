/* model_rows: a model and a plan as rows of a layer workload, the form AICB
 * generates and SimAI reads.
 *
 * A layer's forward and backward scripts are cut at their collectives; row i
 * holds the i-th piece of forward and the i-th piece of backward from the end:
 *
 *     forward    F0 C0 | F1 C1 | F2          rows 0, 1, 2
 *     backward   B0 D0 | B1 D1 | B2          rows 2, 1, 0
 *
 * The format waits for every collective of forward and input gradient. Where
 * the plan hides one behind compute, the hidden compute is left out: what
 * remains is max(compute, collective), as in the plan. That holds for a
 * collective alone. At the edges of the step it is not so: in the last backward
 * the gradients of the layers above are on the same links, and in the first
 * forward updated weights may still come in, which rows gather at the end; the
 * factor `edges` on their compute makes up for it. All stages run the same
 * rows; what only the first and the last have is scaled by `ends`. */
#include "lower/model_rows.h"

#include "lower/step.h"

#include <string.h>

struct model_rows_piece {
    double us;
    uint8_t coll; /* enum sc__row_coll */
    uint8_t suffix;
    double bytes;
};

struct pieces {
    struct model_rows_piece *items;
    uint32_t count;
    uint32_t capacity;
    double hidden; /* us of a collective that compute may still hide */
};

struct model_rows_rows {
    struct sc__lowering *l;
    struct sc__layers *out;
    struct sc__row_fit fit;
    /* factors on the compute of this micro-batch */
    double forward;
    double backward;
};

static uint8_t row_coll(uint8_t coll) {
    static const uint8_t names[] = {[SC__ALLREDUCE] = SC__ROW_ALLREDUCE,
                                    [SC__ALLGATHER] = SC__ROW_ALLGATHER,
                                    [SC__REDUCESCATTER] = SC__ROW_REDUCESCATTER,
                                    [SC__ALLTOALL] = SC__ROW_ALLTOALL};
    return names[coll];
}

static void model_rows_add_piece(const struct sc__lowering *l, struct pieces *p) {
    SC__PUSH(l->arena, p->items, p->count, p->capacity);
}

/* Cuts a script at its collectives. `hidden` is what compute may run beside: it
 * grows with an asynchronous collective, shrinks with the compute that follows,
 * and is lost at a join. scale: of compute and bytes, for the ends. */
static void cut(const struct sc__lowering *l,
                const struct sc__script *s,
                double scale,
                struct pieces *p) {
    if (!p->count)
        model_rows_add_piece(l, p);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__step_item *x = &s->items[i];
        struct model_rows_piece *last = &p->items[p->count - 1];
        if (x->kind == SC__ITEM_JOIN)
            p->hidden = 0;
        else if (x->kind == SC__ITEM_COMPUTE) {
            double us = x->us * scale;
            double hide = us < p->hidden ? us : p->hidden;
            p->hidden -= hide;
            last->us += us - hide;
        } else {
            last->coll = row_coll(x->coll);
            last->suffix = x->group == SC__GROUP_EP ? SC__SUFFIX_EP : SC__SUFFIX_NONE;
            last->bytes = x->bytes * scale;
            if (x->async)
                p->hidden += sc__step_collective_us(l, x->coll, x->group, x->bytes) * scale;
            model_rows_add_piece(l, p);
        }
    }
    p->hidden = 0;
    const struct model_rows_piece *last = &p->items[p->count - 1];
    if (p->count > 1 && last->us <= 0 && !last->coll)
        p->count--;
}

static int64_t whole_ns(double us) {
    return sc__from_us(round(us * 1e3) / 1e3);
}

static void model_rows_put(struct sc__row *row,
                           unsigned part,
                           const struct model_rows_piece *x,
                           double scale) {
    row->part[part] = (struct sc__row_part){.compute = whole_ns(x->us * scale),
                                            .coll = x->coll,
                                            .suffix = x->suffix,
                                            .bytes = (uint64_t)x->bytes};
}

static struct sc__row *model_rows_add_row(struct model_rows_rows *r, const char *name) {
    struct sc__row *row =
        SC__PUSH(r->l->arena, r->out->rows, r->out->count, r->out->capacity);
    row->name = name;
    row->recompute_from = SC__NONE;
    return row;
}

static void add_rows(struct model_rows_rows *r,
                     const char *const *names,
                     const struct pieces *f,
                     const struct pieces *b) {
    uint32_t n = f->count > b->count ? f->count : b->count;
    uint32_t known = 0;
    while (names[known])
        known++;
    for (uint32_t i = 0; i < n; i++) {
        struct sc__row *row = model_rows_add_row(r, names[i < known ? i : known - 1]);
        if (i < f->count)
            model_rows_put(row, SC__PART_FORWARD, &f->items[i], r->forward);
        if (n - 1 - i < b->count)
            model_rows_put(row, SC__PART_INPUT, &b->items[n - 1 - i], r->backward);
    }
}

static void layer_rows(struct model_rows_rows *r, uint32_t layer) {
    static const char *const dense[] =
        {"attention_column", "attention_row", "mlp_column", "mlp_row", "mlp_add", NULL};
    static const char *const moe[] = {"attention_column",
                                      "attention_row",
                                      "moelayer_gate",
                                      "moelayer_dispatch",
                                      "moelayer_experts",
                                      "moelayer_combine",
                                      "moelayer_add",
                                      NULL};
    struct sc__lowering *l = r->l;
    int kind = sc__layer_kind(l, layer);
    struct pieces f = {0};
    struct pieces b = {0};
    cut(l, &l->forward[kind], 1, &f);
    if (!l->plan.recompute_block || layer < l->plan.recompute_layers)
        cut(l, &l->recompute[kind], 1, &b);
    cut(l, &l->backward[kind], 1, &b);
    add_rows(r, sc__kind_has_experts(kind) ? moe : dense, &f, &b);
}

/* The reduction of a bucket of gradients beside the rest of backward; that of
 * the experts stands in the next row. */
static void
reduce(struct model_rows_rows *r, uint32_t row, struct sc__shard *sum, double least) {
    const struct sc__plan *p = &r->l->plan;
    double n = sum->dense + sum->experts;
    if (n * p->grad_bytes < least || n < 1 || p->mesh.dp == 1)
        return;
    struct sc__row_part *w = &r->out->rows[row].part[SC__PART_WEIGHT];
    struct sc__row_part *e = &r->out->rows[row + 1].part[SC__PART_WEIGHT];
    uint8_t coll = p->zero ? SC__ROW_REDUCESCATTER : SC__ROW_ALLREDUCE;
    if (sum->dense >= 1) {
        w->coll = coll;
        w->bytes = (uint64_t)(p->grad_bytes * sum->dense);
    }
    if (sum->experts >= 1) {
        e->coll = coll;
        e->suffix = SC__SUFFIX_DP_EP;
        e->bytes = (uint64_t)(p->grad_bytes * sum->experts);
    }
    *sum = (struct sc__shard){0};
}

/* One row for pieces of which at most one has a collective. */
static void merge(struct pieces *p) {
    for (uint32_t i = 1; i < p->count; i++) {
        if (p->items[0].coll && p->items[i].coll)
            return;
        p->items[0].us += p->items[i].us;
        if (!p->items[i].coll)
            continue;
        p->items[0].coll = p->items[i].coll;
        p->items[0].suffix = p->items[i].suffix;
        p->items[0].bytes = p->items[i].bytes;
    }
    p->count = 1;
}

static void end_rows(struct model_rows_rows *r,
                     const char *name,
                     const char *more,
                     const struct sc__script *f,
                     const struct sc__script *b) {
    const char *const names[] = {name, more, NULL};
    struct pieces forward = {0};
    struct pieces backward = {0};
    cut(r->l, f, r->fit.ends, &forward);
    cut(r->l, b, r->fit.ends, &backward);
    /* readers take the second row as the beginning of the layers */
    if (f == &r->l->embedding_forward) {
        merge(&forward);
        merge(&backward);
    }
    add_rows(r, names, &forward, &backward);
}

/* Messages between stages arrive in tp pieces that are put together. */
static void message_row(struct model_rows_rows *r) {
    const struct sc__plan *p = &r->l->plan;
    struct model_rows_piece x = {0};
    if (p->mesh.pp == 1)
        return;
    if (!p->overlap_p2p && p->host_launch != 0)
        x.us = r->l->constants.software.host_message_us;
    if (p->scatter_gather && !p->sequence_parallel && p->mesh.tp > 1) {
        x.coll = SC__ROW_ALLGATHER;
        x.bytes = sc__plan_message(p, r->l->model) * p->mesh.tp;
    }
    struct sc__row *row = &r->out->rows[r->out->count - 1];
    row->part[SC__PART_INPUT].compute += whole_ns(x.us);
    row->part[SC__PART_FORWARD].compute += whole_ns(x.us);
    if (x.bytes < 1)
        return;
    row = model_rows_add_row(r, "message");
    model_rows_put(row,
                   SC__PART_FORWARD,
                   &(struct model_rows_piece){.coll = x.coll, .bytes = x.bytes},
                   1);
    model_rows_put(row,
                   SC__PART_INPUT,
                   &(struct model_rows_piece){.coll = x.coll, .bytes = x.bytes},
                   1);
}

static uint32_t fullest_stage(const struct sc__lowering *l) {
    uint32_t best = 0;
    uint32_t most = 0;
    for (uint32_t s = 0; s < l->plan.mesh.pp; s++) {
        uint32_t sum = 0;
        uint32_t first;
        for (uint32_t c = 0; c < l->plan.vpp; c++)
            sum += sc__plan_layers(&l->plan, l->model, s, c, &first);
        if (sum > most) {
            most = sum;
            best = s;
        }
    }
    return best;
}

/* Rows where each layer begins, for the buckets of the last micro-batch. */
static void micro_batch(struct model_rows_rows *r, uint32_t stage, bool first, bool last) {
    struct sc__lowering *l = r->l;
    const struct sc__plan *p = &l->plan;
    uint32_t start[SC__MOST_LAYERS + 2];
    uint32_t layer[SC__MOST_LAYERS + 2];
    uint32_t n = 0;
    start[n] = r->out->count;
    r->forward = first && p->overlap_param ? r->fit.edges : 1;
    r->backward = last ? r->fit.edges : 1;
    end_rows(r,
             "embedding_layer",
             "embedding_more",
             &l->embedding_forward,
             &l->embedding_backward);
    for (uint32_t c = 0; c < p->vpp; c++) {
        uint32_t from;
        uint32_t count = sc__plan_layers(p, l->model, stage, c, &from);
        for (uint32_t i = from; i < from + count; i++) {
            start[++n] = r->out->count;
            layer[n] = i;
            layer_rows(r, i);
        }
    }
    uint32_t head = r->out->count;
    end_rows(r, "final_column", "final_more", &l->head_forward, &l->head_backward);
    message_row(r);
    if (!last || !p->overlap_grad)
        return;
    struct sc__shard sum = {.dense =
                                p->mesh.pp == 1 ? sc__plan_head_shard(p, l->model, 0) : 0};
    reduce(r, head, &sum, (double)p->bucket);
    for (; n > 0; n--) {
        struct sc__shard s = sc__plan_layer_shard(p, l->model, layer[n]);
        sum.dense += s.dense;
        sum.experts += s.experts;
        reduce(r, start[n], &sum, (double)p->bucket);
    }
    /* The last bucket: its experts' part goes to a layer's row, which has a next
     * one for it; the rest with the embedding. */
    struct sc__shard experts = {.experts = sum.experts};
    if (experts.experts >= 1)
        reduce(r, start[1], &experts, 0);
    sum.experts = 0;
    if (p->mesh.pp == 1)
        sum.dense += sc__plan_embedding_shard(p, l->model);
    reduce(r, start[0], &sum, 0);
}

static void weight_row(struct model_rows_rows *r,
                       const char *name,
                       uint8_t coll,
                       uint8_t suffix,
                       double bytes) {
    model_rows_put(model_rows_add_row(r, name),
                   SC__PART_WEIGHT,
                   &(struct model_rows_piece){.coll = bytes >= 1 ? coll : SC__ROW_NONE,
                                              .suffix = suffix,
                                              .bytes = bytes},
                   1);
}

/* Rows of the step, as AICB names them. */
static void step_rows(struct model_rows_rows *r, uint32_t stage) {
    struct sc__lowering *l = r->l;
    const struct sc__plan *p = &l->plan;
    struct sc__shard s = sc__plan_stage_shard(p, l->model, stage);
    bool alone = p->mesh.dp == 1;
    double after = p->overlap_grad || alone ? 0 : p->grad_bytes;
    double gather = p->zero && !alone ? 2 : 0;
    uint8_t coll = p->zero ? SC__ROW_REDUCESCATTER : SC__ROW_ALLREDUCE;
    weight_row(r, "grad_gather", SC__ROW_ALLGATHER, SC__SUFFIX_NONE, gather * s.dense);
    weight_row(r, "grad_param_comm", coll, SC__SUFFIX_NONE, after * s.dense);
    double us = p->optimizer ? sc__step_update_us(l, stage) : 0;
    model_rows_put(model_rows_add_row(r, "grad_param_compute"),
                   SC__PART_INPUT,
                   &(struct model_rows_piece){.us = us},
                   1);
    weight_row(r,
               "moe_grad_norm1",
               SC__ROW_ALLGATHER,
               SC__SUFFIX_DP_EP,
               gather * s.experts);
    weight_row(r, "moe_grad_norm2", coll, SC__SUFFIX_DP_EP, after * s.experts);
}

static const char *not_in_rows(const struct sc__model *m, const struct sc__plan *p) {
    if (m->pattern)
        return "layers of several kinds";
    if (p->images || p->audio_seconds > 0)
        return "towers for pictures and sound";
    if (p->mesh.cp > 1)
        return "context parallelism";
    if (sc__plan_offloads(p))
        return "copies to and from the host (offloading)";
    if (p->zero >= 2)
        return "sharded weights (ZeRO 2, 3)";
    if (sc__schedule_splits(p->schedule))
        return "split weight gradients (zero bubble)";
    if (p->mesh.etp > 1 && p->mesh.etp != p->mesh.tp)
        return "another tensor-parallel size of experts";
    return NULL;
}

static sc_status model_rows_check(struct sc_context *ctx,
                                  const struct sc__model *m,
                                  const struct sc__plan *p) {
    const char *what = not_in_rows(m, p);
    if (!what)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    "--to ir-json holds everything",
                    "workload text cannot hold %s",
                    what);
}

sc_status sc__model_rows(struct sc_context *ctx,
                         const struct sc__model *m,
                         const struct sc__plan *plan,
                         const struct sc__cluster *cluster,
                         const struct sc__row_fit *fit,
                         struct sc__layers **out) {
    struct sc__lowering l;
    SC__TRY(model_rows_check(ctx, m, plan));
    SC__TRY(sc__step_prepare(ctx, m, plan, cluster, &l));
    struct sc__layers *rows = SC__NEW(&ctx->arena, struct sc__layers);
    struct model_rows_rows r = {.l = &l, .out = rows, .fit = *fit};
    uint32_t stage = fullest_stage(&l);
    *rows = (struct sc__layers){.file = "generated",
                                .format = "workload-text",
                                .policy = "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                                .tp = plan->mesh.tp,
                                .ep = plan->mesh.ep,
                                .pp = plan->mesh.pp,
                                .vpp = plan->vpp,
                                .ga = plan->micro_batches,
                                .gpus = plan->gpus,
                                .has_vpp = true,
                                .pp_comm = sc__plan_message(plan, m),
                                .has_pp_comm = plan->mesh.pp > 1};
    step_rows(&r, stage);
    for (uint32_t i = 0; i < plan->micro_batches; i++)
        micro_batch(&r, stage, i == 0, i + 1 == plan->micro_batches);
    model_rows_put(model_rows_add_row(&r, "optimizer1"),
                   SC__PART_FORWARD,
                   &(struct model_rows_piece){.coll = SC__ROW_ALLREDUCE, .bytes = 4},
                   1);
    *out = rows;
    return SC_OK;
}
