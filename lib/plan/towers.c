#include "plan/towers.h"

#include "plan/memory.h"

#include <math.h>

/* More positions than any encoder has: a picture of 64 thousand pixels a side. */
#define MOST_POSITIONS (1u << 24)

/* ---- what is asked for ---- */

static const struct sc__tower *find_tower(const struct sc__model *m,
                                          enum sc__tower_kind kind) {
    for (uint32_t i = 0; i < m->tower_count; i++)
        if (m->towers[i].kind == kind)
            return &m->towers[i];
    return NULL;
}

static sc_status need_tower(struct sc_context *ctx,
                            const struct sc__model *m,
                            enum sc__tower_kind kind,
                            const struct sc__tower **out) {
    bool vision = kind == SC__TOWER_VISION;
    *out = find_tower(m, kind);
    if (!*out)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give the config.json of the whole model",
                        "%s: the model has no tower for %s (\"%s\")",
                        vision ? "--images" : "--audio-seconds",
                        vision ? "pictures" : "sound",
                        vision ? "vision_config" : "audio_config");
    if ((*out)->refused)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "without pictures and sound the language model is simulated alone",
                        "the tower for %s cannot be simulated: %s",
                        vision ? "pictures" : "sound",
                        (*out)->refused);
    return SC_OK;
}

/* Learned positions are those of one size. */
static bool takes_one_size(const struct sc__tower *t) {
    return t->image_size && t->body.no_rotary;
}

static sc_status resolve_image_size(struct sc_context *ctx,
                                    const struct sc__tower *t,
                                    uint32_t given,
                                    uint32_t *out) {
    *out = given ? given : t->image_size;
    if (!*out && !t->usual_patches)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "--image-size 448",
                        "the tower (%s) takes pictures of any size: give --image-size",
                        t->type);
    if (!*out)
        return SC_OK;
    if ((takes_one_size(t) || t->class_positions) && *out != t->image_size)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "a larger picture is several of that size: --images",
                        "the tower (%s) takes pictures of %u pixels a side, not of %u",
                        t->type,
                        t->image_size,
                        *out);
    uint32_t unit = t->patch_size * t->merge;
    if (*out / t->patch_size % t->merge || (given && *out % t->patch_size) || *out < unit)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        sc__format(&ctx->arena,
                                   "programs scale pictures to such a size: %u would do",
                                   (*out + unit / 2) / unit * unit > unit
                                       ? (*out + unit / 2) / unit * unit
                                       : unit),
                        "pictures of %u pixels a side are not cut into tokens of %u (%u "
                        "patches of %u pixels a side)",
                        *out,
                        unit,
                        t->merge,
                        t->patch_size);
    return SC_OK;
}

static double tokens_of_sequence(const struct sc__plan *p, const struct sc__tower *t) {
    if (t->kind == SC__TOWER_AUDIO)
        return ceil(p->audio_seconds / t->clip_seconds * t->clip_tokens);
    return (double)p->images * (double)sc__tower_tokens(t, p->image_size);
}

static sc_status
check_tokens(struct sc_context *ctx, const struct sc__plan *p, const struct sc__model *m) {
    double tokens = 0;
    for (uint32_t i = 0; i < m->tower_count; i++) {
        const struct sc__tower *t = &m->towers[i];
        if (!sc__tower_items(p, t))
            continue;
        tokens += tokens_of_sequence(p, t);
        double items = (double)p->global_batch * sc__tower_items(p, t);
        if (sc__tower_positions(t, p->image_size) > MOST_POSITIONS || items > UINT32_MAX)
            return sc__fail(
                ctx,
                SC_USAGE,
                NULL,
                NULL,
                "the tower (%s) would get more than %u positions or %u pictures",
                t->type,
                MOST_POSITIONS,
                UINT32_MAX);
    }
    if (tokens <= p->seq)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    "fewer or smaller pictures, or a longer --seq",
                    "pictures and sound are %.0f tokens, but a sequence has %u",
                    tokens,
                    p->seq);
}

static void
note_tower(struct sc_context *ctx, const struct sc__plan *p, const struct sc__tower *t) {
    struct sc__plan of_tower = sc__tower_plan(p, t);
    bool vision = t->kind == SC__TOWER_VISION;
    const char *what = sc__format(&ctx->arena,
                                  vision ? "%g pictures" : "%g seconds of sound",
                                  vision ? p->images : p->audio_seconds);
    sc__note(
        ctx,
        "tower",
        "a sequence has %s: %.0f of its %u tokens; the tower (%s, %.3f B parameters%s) "
        "runs on the first stage, %u positions each%s%s",
        what,
        tokens_of_sequence(p, t),
        p->seq,
        t->type,
        sc__tower_params(t) / 1e9,
        sc__connector_frozen(p) ? ", all frozen"
        : sc__tower_frozen(p)   ? ", frozen but for what connects it"
                                : "",
        of_tower.seq,
        of_tower.mesh.tp < p->mesh.tp ? "; tp does not divide it, every rank computes "
                                        "all of it"
                                      : "",
        p->mesh.cp > 1 ? "; ranks of context parallelism each compute all of it" : "");
}

sc_status sc__plan_resolve_towers(struct sc_context *ctx,
                                  const sc_plan *given,
                                  const struct sc__model *m,
                                  struct sc__plan *p) {
    static const double longest = 1e6; /* seconds: eleven days */
    const struct sc__tower *t;
    p->freeze_towers = given->freeze_towers == SC_ON;
    p->images = given->images;
    p->audio_seconds = given->audio_seconds;
    if (!(p->audio_seconds >= 0 && p->audio_seconds <= longest))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--audio-seconds %g is not between 0 and %g",
                        p->audio_seconds,
                        longest);
    if (p->images) {
        SC__TRY(need_tower(ctx, m, SC__TOWER_VISION, &t));
        SC__TRY(resolve_image_size(ctx, t, given->image_size, &p->image_size));
    }
    if (p->audio_seconds > 0)
        SC__TRY(need_tower(ctx, m, SC__TOWER_AUDIO, &t));
    SC__TRY(check_tokens(ctx, p, m));
    for (uint32_t i = 0; i < m->tower_count; i++)
        if (sc__tower_items(p, &m->towers[i]))
            note_tower(ctx, p, &m->towers[i]);
    return SC_OK;
}

/* ---- what a rank computes ---- */

uint32_t sc__tower_items(const struct sc__plan *p, const struct sc__tower *t) {
    if (t->refused)
        return 0;
    if (t->kind == SC__TOWER_AUDIO)
        return (uint32_t)ceil(p->audio_seconds / t->clip_seconds);
    return p->images;
}

bool sc__tower_frozen(const struct sc__plan *p) {
    return p->freeze_towers || p->lora;
}

bool sc__connector_frozen(const struct sc__plan *p) {
    return p->lora;
}

struct sc__plan sc__tower_plan(const struct sc__plan *p, const struct sc__tower *t) {
    struct sc__plan of_tower = *p;
    uint32_t items = sc__tower_items(p, t);
    const struct sc__model *body = &t->body;
    of_tower.micro_batch = p->micro_batch * items;
    of_tower.global_batch = p->global_batch * items;
    of_tower.seq = (uint32_t)sc__tower_positions(t, p->image_size);
    of_tower.mesh.cp = 1;
    if (body->heads % p->mesh.tp || body->kv_heads % p->mesh.tp || body->ffn % p->mesh.tp)
        of_tower.mesh.tp = 1;
    of_tower.sequence_parallel = false;
    of_tower.scatter_gather = false;
    if (of_tower.tp_overlap == SC__TP_CHUNKS)
        of_tower.tp_overlap = SC__TP_WGRAD;
    of_tower.dropout = false;
    of_tower.lora = 0;
    of_tower.qlora = false;
    of_tower.bf16_first = 0;
    of_tower.bf16_last = 0;
    if (p->recompute_block)
        of_tower.recompute = SC__RECOMPUTE_NONE;
    of_tower.recompute_block = false;
    of_tower.recompute_layers = 0;
    return of_tower;
}

struct sc__tower_shards sc__tower_shards(const struct sc__plan *p,
                                         const struct sc__tower *t) {
    struct sc__plan of_tower = sc__tower_plan(p, t);
    return (struct sc__tower_shards){.in = t->in_params,
                                     .layer =
                                         sc__plan_layer_shard(&of_tower, &t->body, 0).dense,
                                     .out = t->out_params};
}

double sc__plan_towers_shard(const struct sc__plan *p, const struct sc__model *m) {
    double sum = 0;
    for (uint32_t i = 0; i < m->tower_count; i++) {
        const struct sc__tower *t = &m->towers[i];
        if (!sc__tower_items(p, t))
            continue;
        struct sc__tower_shards s = sc__tower_shards(p, t);
        sum += s.in + t->body.layers * s.layer + s.out;
    }
    return sum;
}

double sc__plan_towers_trained(const struct sc__plan *p, const struct sc__model *m) {
    double sum = 0;
    if (sc__connector_frozen(p))
        return 0;
    if (!sc__tower_frozen(p))
        return sc__plan_towers_shard(p, m);
    for (uint32_t i = 0; i < m->tower_count; i++)
        if (sc__tower_items(p, &m->towers[i]))
            sum += m->towers[i].out_params;
    return sum;
}

double sc__plan_towers_largest(const struct sc__plan *p, const struct sc__model *m) {
    double most = 0;
    for (uint32_t i = 0; i < m->tower_count; i++) {
        if (!sc__tower_items(p, &m->towers[i]))
            continue;
        struct sc__tower_shards s = sc__tower_shards(p, &m->towers[i]);
        most = fmax(most, fmax(s.in, fmax(s.layer, s.out)));
    }
    return most;
}

double sc__plan_towers_params(const struct sc__plan *p, const struct sc__model *m) {
    double sum = 0;
    for (uint32_t i = 0; i < m->tower_count; i++)
        if (sc__tower_items(p, &m->towers[i]))
            sum += sc__tower_params(&m->towers[i]);
    return sum;
}

double sc__plan_towers_flops(const struct sc__plan *p, const struct sc__model *m) {
    double sum = 0;
    for (uint32_t i = 0; i < m->tower_count; i++) {
        const struct sc__tower *t = &m->towers[i];
        if (sc__tower_items(p, t))
            sum += sc__tower_flops(t,
                                   (double)p->global_batch * sc__tower_items(p, t),
                                   (double)sc__tower_positions(t, p->image_size),
                                   sc__tower_frozen(p),
                                   sc__connector_frozen(p));
    }
    return sum;
}

double sc__plan_towers_repeated(const struct sc__plan *p, const struct sc__model *m) {
    double sum = 0;
    if (sc__tower_frozen(p))
        return 0;
    for (uint32_t i = 0; i < m->tower_count; i++) {
        const struct sc__tower *t = &m->towers[i];
        struct sc__plan x = sc__tower_plan(p, t);
        bool core =
            x.recompute == SC__RECOMPUTE_SELECTIVE && x.recompute_modules & SC__MODULE_CORE;
        if (!sc__tower_items(p, t))
            continue;
        for (uint32_t k = 0; k < t->body.layers; k++) {
            if (x.recompute == SC__RECOMPUTE_FULL)
                sum += sc__model_layer_flops(&t->body, k, x.global_batch, x.seq, false);
            if (core)
                sum += sc__model_attention_core_flops(&t->body,
                                                      k,
                                                      x.global_batch,
                                                      x.seq,
                                                      false);
        }
    }
    return sum / 3;
}

/* ---- what it keeps ---- */

static void keep_layers(const struct sc__plan *of_tower,
                        const struct sc__tower *t,
                        struct sc__towers_keep *out) {
    struct sc__plan once = *of_tower;
    once.recompute = SC__RECOMPUTE_NONE;
    double kept = sc__layer_activations(&t->body, of_tower, 0);
    double whole = sc__layer_activations(&t->body, &once, 0);
    out->activations += t->body.layers * kept;
    out->again = fmax(out->again, whole - kept);
    out->workspace = fmax(out->workspace, sc__layer_workspace(&t->body, of_tower, 0));
}

/* The input of each product, and that of the activation between two. */
static double
products_keep(const struct sc__tower_product *list, uint32_t count, double bytes) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool followed = i + 1 < count && !list[i + 1].first;
        sum += bytes * list[i].rows * (list[i].in + (followed ? list[i].out : 0));
    }
    return sum;
}

struct sc__towers_keep sc__plan_towers_keep(const struct sc__plan *p,
                                            const struct sc__model *m) {
    struct sc__towers_keep out = {0};
    for (uint32_t i = 0; i < m->tower_count; i++) {
        const struct sc__tower *t = &m->towers[i];
        if (!sc__tower_items(p, t) || sc__connector_frozen(p))
            continue;
        struct sc__plan of_tower = sc__tower_plan(p, t);
        double bytes = sc__plan_tokens(&of_tower) * sc__plan_width(p);
        out.activations += products_keep(t->out, t->out_count, bytes);
        if (sc__tower_frozen(p))
            continue;
        out.activations += products_keep(t->in, t->in_count, bytes);
        keep_layers(&of_tower, t, &out);
    }
    return out;
}
