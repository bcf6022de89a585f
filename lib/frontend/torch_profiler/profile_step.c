/* profile step: annotations → pieces of a step.
 *
 *   train_step = forward + backward() + scale + clip + optimizer + rest
 *   forward    = embedding + LAYER_0 + … + norm + (head and loss, derived)
 *   LAYER_i    = common parts (averaged over the layers) + FFN or MoE
 *   MoE        = gate + dispatch + encode + experts + combine + rest
 *   backward   = the autograd nodes: they run on a thread of their own, so
 *                they are not inside train_step
 */
#include "frontend/torch_profiler/profile_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LAYERS 4096

struct finding {
    struct sc_context *ctx;
    const struct sc__profile *p;
    struct sc__profile_step *out;
    const struct sc__profile_row *layer[MOST_LAYERS];
    bool moe[MOST_LAYERS];
    const struct sc__profile_row *moe_layer;
    const struct sc__profile_row *ffn;
    const struct sc__profile_row *common[16];
    uint32_t commons;
};

/* Rounds the running sum, not each share: the shares add up to the total. */
static void apportion(int64_t total, const int64_t *weights, uint32_t n, int64_t *out) {
    int64_t all = 0;
    int64_t so_far = 0;
    int64_t given = 0;
    for (uint32_t i = 0; i < n; i++)
        all += weights[i];
    if (!all && n)
        out[0] += total;
    for (uint32_t i = 0; all && i < n; i++) {
        so_far += weights[i];
        int64_t upto = (int64_t)((__int128)total * so_far / all);
        out[i] += upto - given;
        given = upto;
    }
}

static int64_t device_time(const struct sc__profile_row *r) {
    return r && r->dev_total > 0 ? r->dev_total : 0;
}

/* whole − parts; print precision may make it a little less than nothing. */
static sc_status remainder_of(struct finding *f,
                              const struct sc__profile_row *whole,
                              int64_t total,
                              int64_t parts,
                              int64_t slack,
                              int64_t *rest) {
    *rest = total - parts;
    if (*rest >= 0)
        return SC_OK;
    if (*rest < -slack) {
        struct sc__place at = {.file = f->p->file, .line = whole->line};
        return sc__fail(f->ctx,
                        SC_INPUT,
                        &at,
                        "the rows inside it were measured over more than this step, or "
                        "belong to something else",
                        "the parts of %s add up to %.3f us, but it took %.3f us itself",
                        whole->name,
                        sc__us(parts),
                        sc__us(total));
    }
    *rest = 0;
    return SC_OK;
}

/* All rows of the name, numbered or not, as one. */
static bool
find_step_row(struct finding *f, const char *prefix, struct sc__profile_row *out) {
    bool found = false;
    for (uint32_t i = 0; i < f->p->count; i++) {
        const struct sc__profile_row *r = &f->p->rows[i];
        if (r->kind != SC__PROFILE_ANNOTATION || strncmp(r->name, prefix, strlen(prefix)))
            continue;
        if (!found)
            *out = (struct sc__profile_row){.name = r->name, .line = r->line};
        out->dev_total += r->dev_total;
        out->cpu_total += r->cpu_total;
        out->slack += r->slack;
        found = true;
    }
    return found;
}

static const struct sc__profile_row *find(const struct finding *f, const char *name) {
    return sc__profile_find(f->p, name);
}

/* LAYER_0, LAYER_1 … without a gap. */
static void find_layers(struct finding *f) {
    for (; f->out->layers < MOST_LAYERS; f->out->layers++) {
        char name[24];
        snprintf(name, sizeof name, "LAYER_%u", f->out->layers);
        if (!(f->layer[f->out->layers] = find(f, name)))
            break;
    }
}

/* Which layers are MoE: as many as MOELayer was called, the longest ones. */
static void find_moe_layers(struct finding *f) {
    uint32_t n = f->out->layers;
    uint32_t want = 0;
    f->moe_layer = find(f, "MOELayer");
    f->ffn = find(f, "FFNLayer");
    if (f->moe_layer) {
        uint64_t calls = f->moe_layer->calls / f->p->steps;
        want = calls < n ? (uint32_t)calls : n;
    }
    for (; f->out->moe_layers < want; f->out->moe_layers++) {
        uint32_t best = SC__NONE;
        for (uint32_t i = 0; i < n; i++)
            if (!f->moe[i] && (best == SC__NONE ||
                               device_time(f->layer[i]) > device_time(f->layer[best])))
                best = i;
        f->moe[best] = true;
    }
}

static void find_common(struct finding *f) {
    static const char *const names[] = {"SelfAttnLayerNorm",
                                        "SelfAttn",
                                        "SelfAttnDropOut",
                                        "SelfAttnRes",
                                        "FinalLayerNorm",
                                        "SelfAttnRes_2",
                                        NULL};
    for (const char *const *n = names; *n; n++) {
        const struct sc__profile_row *r = find(f, *n);
        if (r && device_time(r))
            f->common[f->commons++] = r;
    }
}

static void profile_step_add_piece(struct finding *f,
                                   const char *name,
                                   uint32_t layer,
                                   enum sc__piece_role role,
                                   uint8_t work,
                                   int64_t forward) {
    struct sc__profile_step *s = f->out;
    *SC__PUSH(&f->ctx->arena, s->pieces, s->count, s->capacity) =
        (struct sc__profile_piece){.name = name,
                                   .layer = layer,
                                   .role = (uint8_t)role,
                                   .work = work,
                                   .forward = forward};
}

static uint8_t profile_step_work_of(const struct sc__profile_row *r) {
    return r->class == SC__CLASS_COMM ? (uint8_t)SC__WORK_OTHER : r->class;
}

/* The layer's share of a row that all layers have in common: equal ones, rounded
 * so that they add up. */
static int64_t profile_step_share_of(const struct finding *f,
                                     const struct sc__profile_row *r,
                                     uint32_t layer) {
    __int128 t = device_time(r);
    __int128 n = f->out->layers;
    return (int64_t)(t * (layer + 1) / n - t * layer / n);
}

static bool is_after_ffn(const struct finding *f, const struct sc__profile_row *r) {
    const struct sc__profile_row *ffn = f->moe_layer ? f->moe_layer : f->ffn;
    return ffn && !strcmp(r->name, "SelfAttnRes_2");
}

static void add_common(struct finding *f, uint32_t layer, bool after) {
    for (uint32_t i = 0; i < f->commons; i++)
        if (is_after_ffn(f, f->common[i]) == after)
            profile_step_add_piece(f,
                                   f->common[i]->name,
                                   layer,
                                   SC__PIECE_PLAIN,
                                   profile_step_work_of(f->common[i]),
                                   profile_step_share_of(f, f->common[i], layer));
}

/* The parts of an MoE layer, in the order they run. */
static sc_status add_moe(struct finding *f, uint32_t layer, int64_t time) {
    static const struct {
        const char *name;
        uint8_t role;
        uint8_t work;
    } parts[] = {{"MOEGate", SC__PIECE_GATE, SC__WORK_ROUTER},
                 {"MOELayer (rest)", SC__PIECE_GATE, SC__WORK_ROUTER},
                 {"DispatchMask", SC__PIECE_DISPATCH, SC__WORK_ROUTER},
                 {"MOEmm", SC__PIECE_DISPATCH, SC__WORK_ROUTER},
                 {"MOEExpert", SC__PIECE_EXPERT, SC__WORK_GEMM},
                 {"MOECombineExpert", SC__PIECE_COMBINE, SC__WORK_ROUTER}};
    enum { PARTS = sizeof parts / sizeof *parts, REST = 1 };
    int64_t weights[PARTS] = {0};
    int64_t times[PARTS] = {0};
    int64_t sum = 0;
    int64_t slack = f->moe_layer->slack;
    for (unsigned i = 0; i < PARTS; i++) {
        const struct sc__profile_row *r = i == REST ? NULL : find(f, parts[i].name);
        weights[i] = device_time(r);
        sum += weights[i];
        if (r)
            slack += r->slack;
    }
    SC__TRY(remainder_of(f,
                         f->moe_layer,
                         device_time(f->moe_layer),
                         sum,
                         slack,
                         &weights[REST]));
    apportion(time, weights, PARTS, times);
    for (unsigned i = 0; i < PARTS; i++)
        if (times[i] || parts[i].role == SC__PIECE_EXPERT)
            profile_step_add_piece(f,
                                   parts[i].name,
                                   layer,
                                   (enum sc__piece_role)parts[i].role,
                                   parts[i].work,
                                   times[i]);
    return SC_OK;
}

static sc_status add_layer(struct finding *f, uint32_t layer) {
    const struct sc__profile_row *r = f->layer[layer];
    int64_t common = 0;
    int64_t slack = r->slack;
    int64_t rest;
    for (uint32_t i = 0; i < f->commons; i++) {
        common += profile_step_share_of(f, f->common[i], layer);
        slack += f->common[i]->slack;
    }
    /* Without rows for attention and norms the MoE part is known only as an
     * average over layers, which may differ: a quarter of the layer is allowed. */
    if (f->moe[layer] && !f->commons) {
        int64_t moe = device_time(f->moe_layer) / (int64_t)f->moe_layer->calls;
        SC__TRY(remainder_of(f, r, device_time(r), moe, slack + device_time(r) / 4, &rest));
        profile_step_add_piece(f, "LAYER", layer, SC__PIECE_PLAIN, SC__WORK_OTHER, rest);
        return add_moe(f, layer, device_time(r) - rest);
    }
    SC__TRY(remainder_of(f, r, device_time(r), common, slack, &rest));
    add_common(f, layer, false);
    if (f->moe[layer])
        SC__TRY(add_moe(f, layer, rest));
    else if (f->ffn)
        profile_step_add_piece(f,
                               f->ffn->name,
                               layer,
                               SC__PIECE_PLAIN,
                               SC__WORK_GEMM,
                               rest);
    else
        profile_step_add_piece(f, "LAYER", layer, SC__PIECE_PLAIN, SC__WORK_OTHER, rest);
    add_common(f, layer, true);
    return SC_OK;
}

/* What layers took and no row of their parts did: it is dealt to the feed-forward
 * part and the experts, which is wrong where a row is missing. */
static int64_t unnamed_in_layers(const struct finding *f) {
    int64_t layers = 0;
    int64_t named = device_time(f->moe_layer) + device_time(f->ffn);
    for (uint32_t i = 0; i < f->out->layers; i++)
        layers += device_time(f->layer[i]);
    for (uint32_t i = 0; i < f->commons; i++)
        named += device_time(f->common[i]);
    return named && layers > named ? layers - named : 0;
}

/* A time below nothing would count as nothing, and be dealt to other rows. */
static sc_status refuse_negative_times(const struct finding *f) {
    for (uint32_t i = 0; i < f->p->count; i++) {
        const struct sc__profile_row *r = &f->p->rows[i];
        struct sc__place at = {.file = f->p->file, .line = r->line};
        if (r->kind == SC__PROFILE_ANNOTATION && r->dev_total < 0)
            return sc__fail(f->ctx,
                            SC_INPUT,
                            &at,
                            "the table is damaged; leave the row out",
                            "%s took %.3f us of device time",
                            r->name,
                            sc__us(r->dev_total));
    }
    return SC_OK;
}

static sc_status add_forward(struct finding *f) {
    const struct sc__profile_row *forward = find(f, "forward");
    const struct sc__profile_row *embedding = find(f, "FORWARD_EMBEDDING");
    const struct sc__profile_row *norm = find(f, "LAYER_NORM");
    int64_t parts = device_time(embedding) + device_time(norm);
    int64_t slack = forward->slack;
    int64_t head;
    if (embedding) {
        profile_step_add_piece(f,
                               embedding->name,
                               SC__NONE,
                               SC__PIECE_PLAIN,
                               SC__WORK_EMBEDDING,
                               device_time(embedding));
        slack += embedding->slack;
    }
    for (uint32_t i = 0; i < f->out->layers; i++) {
        SC__TRY(add_layer(f, i));
        parts += device_time(f->layer[i]);
        slack += f->layer[i]->slack;
    }
    if (norm) {
        profile_step_add_piece(f,
                               norm->name,
                               SC__NONE,
                               SC__PIECE_PLAIN,
                               SC__WORK_NORM,
                               device_time(norm));
        slack += norm->slack;
    }
    SC__TRY(remainder_of(f, forward, device_time(forward), parts, slack, &head));
    if (head)
        profile_step_add_piece(f,
                               "head and loss",
                               SC__NONE,
                               SC__PIECE_PLAIN,
                               SC__WORK_LOSS,
                               head);
    f->out->forward = parts + head;
    return SC_OK;
}

/* ---- backward ---- */

static bool any_engine_row(const struct sc__profile *p) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->rows[i].kind == SC__PROFILE_ENGINE)
            return true;
    return false;
}

static bool is_for(const struct sc__profile_piece *piece, unsigned class) {
    if (class == SC__WORK_EMBEDDING || class == SC__WORK_NORM || class == SC__WORK_LOSS)
        return piece->work == class;
    return piece->work != SC__WORK_EMBEDDING && piece->work != SC__WORK_NORM;
}

/* Nodes of embedding, normalisation and loss go to the pieces of that kind;
 * the others to all remaining pieces; both in proportion to forward. */
static void apportion_backward(struct finding *f, unsigned class, int64_t time) {
    struct sc__profile_step *s = f->out;
    int64_t *weights = SC__NEW_ARRAY(&f->ctx->arena, int64_t, s->count);
    int64_t *times = SC__NEW_ARRAY(&f->ctx->arena, int64_t, s->count);
    int64_t all = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (is_for(&s->pieces[i], class))
            weights[i] = s->pieces[i].forward;
        all += weights[i];
    }
    /* no piece of that kind: over all of them */
    for (uint32_t i = 0; !all && i < s->count; i++)
        weights[i] = s->pieces[i].forward;
    apportion(time, weights, s->count, times);
    for (uint32_t i = 0; i < s->count; i++)
        s->pieces[i].backward += times[i];
}

/* A row of the autograd engine holds the node inside it: where there are such
 * rows, the nodes would count twice. */
static void add_backward(struct finding *f) {
    const struct sc__profile *p = f->p;
    uint8_t kind = any_engine_row(p) ? SC__PROFILE_ENGINE : SC__PROFILE_NODE;
    int64_t by_class[SC__CLASSES] = {0};
    for (uint32_t i = 0; i < p->count; i++) {
        const struct sc__profile_row *r = &p->rows[i];
        if (r->kind != kind)
            continue;
        f->out->nodes++;
        f->out->node_calls += r->calls;
        f->out->backward += device_time(r);
        by_class[r->class] += device_time(r);
    }
    for (unsigned c = 0; c < SC__CLASSES; c++)
        if (by_class[c])
            apportion_backward(f, c, by_class[c]);
}

/* ---- the rest of the step ---- */

static sc_status add_update(struct finding *f, const struct sc__profile_row *step) {
    static const char *const names[] = {"backward",
                                        "multiply-grads",
                                        "clip-grads",
                                        "optimizer"};
    struct sc__profile_step *s = f->out;
    int64_t *times[] = {&s->call, &s->scale, &s->clip, &s->optimizer};
    int64_t parts = s->forward;
    int64_t slack = step->slack;
    for (unsigned i = 0; i < 4; i++) {
        const struct sc__profile_row *r = find(f, names[i]);
        *times[i] = device_time(r);
        parts += *times[i];
        if (r)
            slack += r->slack;
    }
    slack += find(f, "forward")->slack;
    SC__TRY(remainder_of(f, step, device_time(step), parts, slack, &s->rest));
    s->step = parts + s->rest;
    s->host = step->cpu_total;
    return SC_OK;
}

static void count_calls(struct finding *f) {
    struct sc__profile_step *s = f->out;
    for (uint32_t i = 0; i < f->p->count; i++) {
        const struct sc__profile_row *r = &f->p->rows[i];
        if (r->kind != SC__PROFILE_COMM || strncmp(r->name, "nccl:", 5))
            continue;
        if (strstr(r->name, "all_gather"))
            s->all_gather += r->calls;
        else if (strstr(r->name, "reduce_scatter"))
            s->reduce_scatter += r->calls;
        else if (strstr(r->name, "all_to_all"))
            s->all_to_all += r->calls;
        else if (strstr(r->name, "all_reduce"))
            s->all_reduce += r->calls;
        else
            s->other_comm += r->calls;
    }
}

/* Kernels that the profiler put under two annotations make the sum too large:
 * then the annotations cannot be trusted, the kernels' own rows can. */
static bool exceeds_total(const struct finding *f) {
    return f->p->dev_total > 0 && f->out->total > f->p->dev_total + f->p->dev_total / 20;
}

/* Times and calls of several steps → of one. */
static void one_step(struct sc__profile_step *s, uint32_t steps) {
    int64_t *times[] =
        {&s->call, &s->scale, &s->clip, &s->optimizer, &s->rest, &s->unnamed, &s->host};
    uint64_t *calls[] = {&s->node_calls,
                         &s->all_gather,
                         &s->reduce_scatter,
                         &s->all_reduce,
                         &s->all_to_all,
                         &s->other_comm};
    for (unsigned i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] /= steps;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        *calls[i] /= steps;
    s->forward = s->backward = 0;
    /* Sums are taken of the rounded pieces, so that they stay sums. */
    for (uint32_t i = 0; i < s->count; i++) {
        s->pieces[i].forward /= steps;
        s->pieces[i].backward /= steps;
        s->forward += s->pieces[i].forward;
        s->backward += s->pieces[i].backward;
    }
    s->step = s->forward + s->call + s->scale + s->clip + s->optimizer + s->rest;
    s->total = s->step + s->backward;
}

sc_status sc__profile_find_step(struct sc_context *ctx,
                                const struct sc__profile *p,
                                struct sc__profile_step *out) {
    struct finding *f = SC__NEW(&ctx->arena, struct finding);
    memset(out, 0, sizeof *out);
    f->ctx = ctx;
    f->p = p;
    f->out = out;
    const struct sc__profile_row *forward = find(f, "forward");
    struct sc__profile_row step;
    bool annotated =
        find_step_row(f, "train_step", &step) || find_step_row(f, "ProfilerStep", &step);
    find_layers(f);
    count_calls(f);
    if (!annotated || !forward || !device_time(forward) || !out->layers) {
        out->why_not = "no annotations that name the step, its forward and its layers";
        return SC_OK;
    }
    find_moe_layers(f);
    find_common(f);
    SC__TRY(refuse_negative_times(f));
    SC__TRY(add_forward(f));
    out->unnamed = unnamed_in_layers(f);
    SC__TRY(add_update(f, &step));
    add_backward(f);
    out->total = out->step + out->backward;
    out->found = !exceeds_total(f);
    if (p->steps > 1)
        one_step(out, p->steps);
    if (!out->found)
        out->why_not = sc__format(&ctx->arena,
                                  "the annotations add up to %.3f ms of device time, the "
                                  "table's total is %.3f ms",
                                  sc__us(out->total) / 1e3,
                                  sc__us(p->dev_total) / 1e3);
    return SC_OK;
}

/* ---- waits ---- */

/* Long in all and long for each call: launching work is not waiting. Nodes of
 * backward hold their children, so only very long calls tell. */
static int64_t wait_of(const struct sc__profile_row *r) {
    int64_t host = r->async ? r->cpu_total : r->self_cpu;
    int64_t each = SC__PS_PER_MS / 10;
    if (r->kind == SC__PROFILE_KERNEL || r->kind == SC__PROFILE_MARK)
        return 0;
    if (r->kind == SC__PROFILE_NODE) {
        host = r->cpu_total - device_time(r);
        each = 5 * SC__PS_PER_MS;
    }
    bool wait = host >= 5 * SC__PS_PER_MS && (uint64_t)(host / each) >= r->calls;
    return wait ? host : 0;
}

static int longest_wait_first(const void *a, const void *b) {
    const struct sc__wait_row *x = a;
    const struct sc__wait_row *y = b;
    if (x->host != y->host)
        return x->host < y->host ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

uint32_t sc__profile_waits(struct sc__arena *a,
                           const struct sc__profile *p,
                           struct sc__wait_row **out) {
    uint32_t count = 0;
    uint32_t capacity = 0;
    *out = NULL;
    if (sc__profile_on_host(p)) /* nothing to wait for: its host times are the work */
        return 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (wait_of(&p->rows[i]))
            *SC__PUSH(a, *out, count, capacity) =
                (struct sc__wait_row){&p->rows[i], wait_of(&p->rows[i])};
    if (count)
        qsort(*out, count, sizeof **out, longest_wait_first);
    return count;
}
