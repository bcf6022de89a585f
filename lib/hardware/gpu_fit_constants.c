/* gpu_fit_constants: what each kind of kernel depends on, in the order of its weight: a
 * group with few rows moves the first of them. */
#include "hardware/gpu_fit_constants.h"

#include "hardware/kernel_model.h"

#include <math.h>

static void offer(struct sc__fit_rows *g, double *value, bool rate) {
    if (*value > 0 && g->parameter_count < SC__FIT_MOST)
        g->parameters[g->parameter_count++] =
            (struct sc__fit_parameter){value, rate, false, 0};
}

/* At most so much; what is beyond is brought there. */
static void offer_up_to(struct sc__fit_rows *g, double *value, double most) {
    if (*value > most)
        *value = most;
    offer(g, value, true);
    g->parameters[g->parameter_count - 1].most = most;
}

static void offer_ratio(struct sc__fit_rows *g, double *value) {
    offer(g, value, false);
    if (g->parameter_count && g->parameters[g->parameter_count - 1].value == value)
        g->parameters[g->parameter_count - 1].ratio = true;
}

/* ---- which kernels share which constants ---- */

static bool main_type(const struct sc__kernel_key *k) {
    return k->dtype == SC__BF16 || k->dtype == SC__FP16;
}

/* The class of heads whose constants time an attention key; those of fp32 come after the
 * others. */
static uint32_t attention_class(const struct sc__gpu *g, const struct sc__kernel_key *k) {
    const struct sc__attention_constants *a = sc__attention_class(g, k);
    for (uint32_t i = 0; i < SC__HEAD_CLASSES; i++)
        if (a == &g->attention_fp32[i])
            return SC__HEAD_CLASSES + i;
    return (uint32_t)(a - g->attention);
}

/* Numbers of groups: of batched products by kernels of before Hopper. */
enum { FIRST_FALLBACK = 60 };

const double *sc__fit_fallback_constants(const struct sc__gpu *g,
                                         const struct sc__kernel_key *k) {
    if (k->what == SC__KERNEL_OP_GEMM) {
        enum sc__dtype t =
            k->dtype == SC__TF32 && !(g->peak[SC__TF32] > 0) ? SC__FP32 : k->dtype;
        return sc__product_constants(g, t, k->size[5]);
    }
    if (k->what != SC__KERNEL_OP_BATCHED)
        return NULL;
    return sc__fallback_batched_constants(g,
                                          k->dtype,
                                          k->size[0] | k->size[1] | k->size[2]);
}

uint32_t sc__fit_group_of(const struct sc__gpu *g, const struct sc__kernel_key *k) {
    if (k->what == SC__KERNEL_OP_GEMM && main_type(k))
        return sc__gemm_unaligned(k) ? 1 : k->size[6] ? 2 : 0;
    if (sc__gemm_unaligned(k))
        return 3;
    const double *fallback = sc__fit_fallback_constants(g, k);
    if (fallback)
        return FIRST_FALLBACK +
               (uint32_t)((fallback - g->batched_fallback[0]) / SC__FALLBACK_CONSTANTS);
    if (k->what <= SC__KERNEL_OP_BATCHED)
        return main_type(k) ? 10 + k->what : 20 + 10 * k->what + k->dtype;
    if (k->what <= SC__KERNEL_OP_ATTENTION_B)
        return 100 + 20 * k->what + attention_class(g, k);
    if (k->what == SC__KERNEL_OP_ADAMW)
        return 200 + k->dtype;
    if (k->what == SC__KERNEL_OP_EXCHANGE)
        return 250 + (uint32_t)k->size[5];
    if (k->what == SC__KERNEL_OP_SEQUENCE)
        return 400 + (uint32_t)(k->size[4] * SC__SEQUENCE_OPS + k->size[3]);
    if (k->what == SC__KERNEL_OP_SCAN)
        return 440 + (uint32_t)k->size[7];
    if (k->what == SC__KERNEL_OP_SERVING)
        return 450 +
               (uint32_t)(k->size[7] * SC__SERVING_PHASES * SC__SERVING_TYPES + k->size[6]);
    return 300 + k->what;
}

/* What else a library's kernels have in common. */
static void offer_gemm_habits(struct sc__fit_rows *g, struct sc__gemm_constants *c) {
    offer(g, &c->ts, false);
    offer(g, &c->replay, false);
    offer_ratio(g, &c->q);
    offer_ratio(g, &c->split);
    offer_ratio(g, &c->wave);
    offer_ratio(g, &c->hot);
    offer_ratio(g, &c->limit);
    offer_ratio(g, &c->cache_out);
    offer_ratio(g, &c->write_long);
}

/* What they differ by, which takes hundreds of rows to tell. */
static void offer_tiles(struct sc__fit_rows *g, struct sc__gemm_constants *c) {
    offer_ratio(g, &c->split_odd);
    offer_ratio(g, &c->odd);
    offer_ratio(g, &c->tick_start);
    offer_ratio(g, &c->hot_us);
    offer_ratio(g, &c->limit_us);
    offer_ratio(g, &c->ramp);
    for (unsigned i = 0; i < c->tile_count; i++) {
        offer_ratio(g, &c->tiles[i].step);
        offer_ratio(g, &c->tiles[i].epilogue);
    }
}

/* A linear layer in a narrow type: the product and the cast of its input. Rows hold the sum
 * of both, which tells their starts together and not which has how much: the product keeps
 * the one it has. */
static void
offer_linear(struct sc__fit_rows *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
    struct sc__gemm_dtype *f = &u->dtype[k->dtype];
    struct sc__memory_constants *m = &u->memory_op[sc__quantize_op(k->dtype)];
    /* A chip does not exceed its peak; an SM alone, at a higher clock, may. */
    double peak = 1e6 * u->peak[k->dtype];
    offer_up_to(g, &f->rp, peak / u->gemm.rp);
    offer(g, &m->part[0].a, false);
    offer_up_to(g, &f->r, 1.5 * peak / u->sms / u->gemm.r);
    offer(g, &m->part[0].element, false);
    offer(g, &f->b, false);
    offer(g, &f->te, false);
    offer(g, &f->bw, true);
    offer(g, &m->part[0].row, false);
    offer(g, &m->part[0].col, false);
}

/* The smooth maximum lies above its largest term: this constant may exceed the peak a
 * little, what is forecast with it may not. Few rows may be of another GPU than the base,
 * whose peak says nothing of them. */
static void cap_chip_rate(struct sc__fit_rows *g, struct sc__gpu *u) {
    static const double most_over_peak = 1.25;
    double most = most_over_peak * 1e6 * sc__gpu_main_peak(u);
    u->gemm.rp = fmin(u->gemm.rp, most);
    for (unsigned i = 0; i < g->parameter_count; i++)
        if (g->parameters[i].value == &u->gemm.rp)
            g->parameters[i].most = most;
}

static void offer_fallback(struct sc__fit_rows *g, double *c) {
    offer(g, &c[SC__FALLBACK_BW], true);
    offer(g, &c[SC__FALLBACK_B], false);
    offer(g, &c[SC__FALLBACK_T0], false);
    offer(g, &c[SC__FALLBACK_R], true);
    offer(g, &c[SC__FALLBACK_TE], false);
    offer_ratio(g, &c[SC__FALLBACK_Q]);
    offer(g, &c[SC__FALLBACK_TS], false);
}

static void
offer_gemm(struct sc__fit_rows *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
    struct sc__gemm_constants *c = &u->gemm;
    struct sc__gemm_dtype *f = &u->dtype[k->dtype];
    if (sc__gemm_unaligned(k) && k->dtype == SC__TF32) {
        offer(g, &u->unaligned.tf32, true);
        offer(g, &u->unaligned.tf32_wgrad, true);
    } else if (sc__gemm_unaligned(k)) {
        struct sc__unaligned_constants *n = &u->unaligned;
        offer(g, &n->odd, true);
        offer(g, &n->even, true);
        offer(g, &n->odd_n, true);
        offer(g, &n->odd_dgrad, true);
        offer(g, &n->odd_wgrad, true);
        offer(g, &n->te, false);
    } else if (k->what == SC__KERNEL_OP_GEMM && k->size[6]) {
        offer(g, &u->accumulate.over_k, false);
        offer(g, &u->accumulate.element, false);
    } else if (k->what == SC__KERNEL_OP_GROUPED) {
        offer(g, &u->grouped.step, false);
        offer(g, &u->grouped.t0, false);
        offer(g, &u->grouped.tile, false);
        offer(g, &u->grouped.memory, false);
    } else if (sc__fit_fallback_constants(u, k)) {
        offer_fallback(g, u->batched_fallback[sc__fit_group_of(u, k) - FIRST_FALLBACK]);
    } else if (k->what == SC__KERNEL_OP_BATCHED) {
        offer(g, &u->batched.memory, false);
        offer(g, &u->batched.t0, false);
        offer(g, &u->batched.step, false);
    } else if (k->size[7]) {
        offer_linear(g, u, k);
    } else if (!main_type(k)) {
        offer(g, &f->r, true);
        offer(g, &f->rp, true);
        offer(g, &f->b, false);
        if (k->dtype == SC__TF32) {
            offer_ratio(g, &f->dgrad);
            offer_ratio(g, &f->wgrad);
        }
    } else {
        offer(g, &c->r, true);
        offer(g, c->most > 0 ? &c->most : &c->rp, true);
        offer(g, &c->bw, true);
        offer(g, &c->t0, false);
        offer(g, &c->b, false);
        offer(g, &c->te, false);
        offer(g, &c->write, true);
        offer_ratio(g, &c->w);
        offer(g, &c->cache_bw, true);
        offer_ratio(g, &c->cache_b);
        offer_ratio(g, &c->cache);
        if (g->tiles)
            cap_chip_rate(g, u);
        offer_gemm_habits(g, c);
        if (g->tiles)
            offer_tiles(g, c);
    }
}

static void
offer_attention(struct sc__fit_rows *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
    uint32_t class = attention_class(u, k);
    struct sc__attention_constants *a = class < SC__HEAD_CLASSES
                                            ? &u->attention[class]
                                            : &u->attention_fp32[class - SC__HEAD_CLASSES];
    static const unsigned order[] = {1, 3, 0, 2, 4, 5};
    bool forward = k->what == SC__KERNEL_OP_ATTENTION_F;
    for (unsigned i = 0; i < 6; i++)
        if (!forward || order[i] < 4)
            offer(g, forward ? &a->forward[order[i]] : &a->backward[order[i]], false);
    if (!forward)
        offer_ratio(g, &a->whole);
}

static void
offer_memory(struct sc__fit_rows *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
    struct sc__memory_constants *m = &u->memory_op[k->what - SC__KERNEL_OP_MEMORY];
    bool parts = m->limit > 0 || m->rows_limit > 0;
    for (unsigned i = 0; i < (parts ? 2 : 1); i++) {
        offer(g, &m->part[i].element, false);
        offer(g, &m->part[i].a, false);
        offer(g, &m->part[i].row, false);
        offer(g, &m->part[i].col, false);
    }
}

/* At most 1, and stays when all are scaled. */
static void offer_part(struct sc__fit_rows *g, double *value) {
    offer_ratio(g, value);
    if (g->parameter_count && g->parameters[g->parameter_count - 1].value == value)
        g->parameters[g->parameter_count - 1].most = 1;
}

/* Beyond this a smooth maximum is the maximum. */
static void offer_sharpness(struct sc__fit_rows *g, double *q) {
    static const double sharpest = 20;
    offer_ratio(g, q);
    g->parameters[g->parameter_count - 1].most = sharpest;
}

static void offer_moe(struct sc__fit_rows *g, struct sc__gpu *u) {
    struct sc__moe_constants *c = &u->moe;
    double peak = 1e6 * sc__gpu_main_peak(u);
    offer(g, &c->bw, true);
    offer(g, &c->b, false);
    offer(g, &c->fixed, false);
    offer_up_to(g, &c->rp, peak);
    offer(g, &c->te, false);
    offer(g, &c->permute, false);
    offer(g, &c->sort, false);
    offer(g, &c->expert, false);
    offer_up_to(g, &c->r, 1.5 * peak / u->sms);
    offer_ratio(g, &c->cache);
    offer_part(g, &c->saved);
    offer_part(g, &c->wave);
    offer_ratio(g, &c->q);
    offer(g, &c->step, false);
    for (unsigned i = 0; i < SC__MOE_ROWS; i++)
        offer_ratio(g, &c->rows[i]);
    for (unsigned i = 0; i < SC__MOE_COLUMNS; i++)
        offer_ratio(g, &c->columns[i]);
}

/* An update walks nowhere: after its bytes, and what the host took that timed it, the cache
 * that may hold them decides. */
static void offer_sequence(struct sc__fit_rows *g, double *c, bool update) {
    offer(g, &c[SC__SEQUENCE_WORK], false);
    offer(g, &c[SC__SEQUENCE_FIXED], false);
    offer(g, &c[SC__SEQUENCE_HOST], false);
    if (update) {
        offer_part(g, &c[SC__SEQUENCE_SAVED]);
        offer_ratio(g, &c[SC__SEQUENCE_CACHE]);
    }
    offer(g, &c[SC__SEQUENCE_WALK], false);
    offer(g, &c[SC__SEQUENCE_STATE], false);
    offer(g, &c[SC__SEQUENCE_ROW], false);
    if (!update) {
        offer_ratio(g, &c[SC__SEQUENCE_CACHE]);
        offer_part(g, &c[SC__SEQUENCE_SAVED]);
    }
    offer_part(g, &c[SC__SEQUENCE_PART]);
    offer_ratio(g, &c[SC__SEQUENCE_RESIDENT]);
    offer_ratio(g, &c[SC__SEQUENCE_ODD]);
    offer_ratio(g, &c[SC__SEQUENCE_Q]);
}

static void offer_context(struct sc__fit_rows *g, double *c) {
    offer(g, &c[SC__CONTEXT_FIXED], false);
    for (unsigned i = 0; i < SC__SERVING_SIZES; i++)
        offer(g, &c[SC__CONTEXT_STEP + i], false);
    offer(g, &c[SC__CONTEXT_BW], true);
    offer(g, &c[SC__CONTEXT_TILE], false);
    offer(g, &c[SC__CONTEXT_SEQUENCE], false);
    offer_ratio(g, &c[SC__CONTEXT_WALK]);
    offer_ratio(g, &c[SC__CONTEXT_KEYS]);
    offer_ratio(g, &c[SC__CONTEXT_MASK]);
    offer_ratio(g, &c[SC__CONTEXT_WIDTH]);
    offer_ratio(g, &c[SC__CONTEXT_CACHE]);
    offer_part(g, &c[SC__CONTEXT_SAVED]);
    offer_sharpness(g, &c[SC__CONTEXT_Q]);
}

static void offer_generation_block(struct sc__fit_rows *g, double *block) {
    offer(g, &block[SC__BLOCK_START], false);
    offer(g, &block[SC__BLOCK_STEP], false);
    offer_ratio(g, &block[SC__BLOCK_RESIDENT]);
    offer_ratio(g, &block[SC__BLOCK_TARGET]);
    offer_ratio(g, &block[SC__BLOCK_TOKENS]);
    offer_ratio(g, &block[SC__BLOCK_WALK]);
}

static void offer_generation(struct sc__fit_rows *g, double *c) {
    offer(g, &c[SC__GENERATION_FIXED], false);
    offer_generation_block(g, &c[SC__GENERATION_SHARED]);
    offer(g, &c[SC__GENERATION_BW], true);
    offer_generation_block(g, &c[SC__GENERATION_ALONE]);
    offer(g, &c[SC__GENERATION_HEAD], false);
    offer(g, &c[SC__GENERATION_COMBINE], false);
    offer(g, &c[SC__GENERATION_COMBINE_HEAD], false);
    offer(g, &c[SC__GENERATION_COPY], false);
    offer(g, &c[SC__GENERATION_COPY_HEAD], false);
    offer(g, &c[SC__GENERATION_SEQUENCE], false);
    offer_ratio(g, &c[SC__GENERATION_START_WIDTH]);
    offer_ratio(g, &c[SC__GENERATION_CACHE]);
    offer_part(g, &c[SC__GENERATION_SAVED]);
    offer_part(g, &c[SC__GENERATION_WAVE]);
    offer_part(g, &c[SC__GENERATION_IDLE]);
    offer_part(g, &c[SC__GENERATION_REREAD]);
    offer_sharpness(g, &c[SC__GENERATION_Q]);
}

static void
offer_serving(struct sc__fit_rows *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
    uint64_t phase = k->size[6] / SC__SERVING_TYPES;
    double *c = u->serving[k->size[7]][phase][k->size[6] % SC__SERVING_TYPES];
    if (phase == SC__SERVING_CONTEXT || phase == SC__SERVING_MLA_CONTEXT)
        offer_context(g, c);
    else
        offer_generation(g, c);
}

static void offer_scan(struct sc__fit_rows *g, double *c) {
    offer(g, &c[SC__SCAN_STATE], false);
    offer(g, &c[SC__SCAN_SCORE], false);
    offer(g, &c[SC__SCAN_KEY], false);
    offer(g, &c[SC__SCAN_FIXED], false);
    offer(g, &c[SC__SCAN_VALUE], false);
    offer(g, &c[SC__SCAN_WALK], false);
}

static void offer_exchange(struct sc__fit_rows *g, struct sc__exchange_constants *c) {
    offer(g, &c->sm_bw, true);
    offer(g, &c->fixed, false);
    offer(g, &c->link_bw, true);
    offer(g, &c->row, false);
    offer(g, &c->expert, false);
    offer_ratio(g, &c->sm_power);
    offer_ratio(g, &c->sharpness);
}

void sc__fit_offer_constants(struct sc__fit_rows *g,
                             struct sc__gpu *u,
                             const struct sc__kernel_key *k) {
    double *e = u->embedding;
    switch (k->what) {
    case SC__KERNEL_OP_GEMM:
    case SC__KERNEL_OP_GROUPED:
    case SC__KERNEL_OP_BATCHED:
        offer_gemm(g, u, k);
        break;
    case SC__KERNEL_OP_ATTENTION_F:
    case SC__KERNEL_OP_ATTENTION_B:
        offer_attention(g, u, k);
        break;
    case SC__KERNEL_OP_EMBEDDING_F:
        offer(g, &e[1], false);
        offer(g, &e[0], false);
        break;
    case SC__KERNEL_OP_EMBEDDING_B:
        offer(g, &e[4], false);
        offer(g, &e[3], false);
        offer(g, &e[2], false);
        offer(g, &e[5], false);
        break;
    case SC__KERNEL_OP_ADAMW:
        offer(g, &u->adamw[k->dtype == SC__FP32 || k->size[1] ? 2 : 1], false);
        break;
    case SC__KERNEL_OP_EXCHANGE:
        offer_exchange(g, &u->exchange[k->size[5]]);
        break;
    case SC__KERNEL_OP_MOE:
        offer_moe(g, u);
        break;
    case SC__KERNEL_OP_SEQUENCE:
        offer_sequence(g,
                       u->sequence[k->size[4]][k->size[3]],
                       k->size[3] == SC__SEQUENCE_CONV_UPDATE ||
                           k->size[3] == SC__SEQUENCE_DELTA_UPDATE);
        break;
    case SC__KERNEL_OP_SCAN:
        offer_scan(g, u->scan[k->size[7]]);
        break;
    case SC__KERNEL_OP_SERVING:
        offer_serving(g, u, k);
        break;
    case SC__KERNEL_OP_ELEMENTWISE:
        offer(g, &u->elementwise_bw, true);
        offer(g, &u->elementwise_t0, false);
        break;
    default:
        offer_memory(g, u, k);
    }
}
