/* gpu_fit: for each group of kernels the constants they depend on are moved,
 * as factors, until the mean error is least: first all by one factor that
 * makes the median right, then one after the other, up and down, by steps that
 * grow where they help and shrink where they do not.
 * A group with few rows moves fewer constants: one for two rows. */
#include "hardware/gpu_fit.h"

#include "hardware/kernel_moe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 + 2 * SC__GEMM_TILES }; /* constants of a group */

struct parameter {
    double *value;
    bool rate;   /* larger is faster */
    bool ratio;  /* of others: stays when all are scaled */
    double most; /* what physics allows; 0: anything */
};

struct group {
    const char *name;
    struct sc__gpu *gpu;
    const struct sc__kernel_row **rows;
    uint32_t count;
    /* Of experts: what each row of the table has to do, drawn once. */
    const struct sc__kernel_table *table;
    struct sc__moe_work *moe;
    struct parameter parameters[MOST];
    unsigned parameter_count;
    bool tiles;  /* the factors of the tiles are fitted, too */
    bool linear; /* rows with the cast of the input are among them */
};

static void offer(struct group *g, double *value, bool rate) {
    if (*value > 0 && g->parameter_count < MOST)
        g->parameters[g->parameter_count++] = (struct parameter){value, rate, false, 0};
}

/* At most so much; what is beyond is brought there. */
static void offer_up_to(struct group *g, double *value, double most) {
    if (*value > most)
        *value = most;
    offer(g, value, true);
    g->parameters[g->parameter_count - 1].most = most;
}

static void offer_ratio(struct group *g, double *value) {
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
enum { FIRST_FALLBACK = 4 };

/* Of a batched product by kernels of before Hopper, else NULL. */
static const double *fallback_constants(const struct sc__gpu *g,
                                        const struct sc__kernel_key *k) {
    if (k->what != SC__KERNEL_OP_BATCHED)
        return NULL;
    return sc__fallback_batched_constants(g,
                                          k->dtype,
                                          k->size[0] | k->size[1] | k->size[2]);
}

/* Rows with the same answer belong together; small numbers are fitted first,
 * because the later ones build on them. */
static uint32_t gpu_fit_group_of(const struct sc__gpu *g, const struct sc__kernel_key *k) {
    if (k->what == SC__KERNEL_OP_GEMM && main_type(k))
        return sc__gemm_unaligned(k) ? 1 : k->size[6] ? 2 : 0;
    if (sc__gemm_unaligned(k))
        return 3;
    const double *fallback = fallback_constants(g, k);
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

/* What the library's kernels differ by, which takes hundreds of rows to tell. */
static void offer_tiles(struct group *g, struct sc__gemm_constants *c) {
    offer(g, &c->ts, false);
    offer_ratio(g, &c->q);
    offer_ratio(g, &c->split);
    offer_ratio(g, &c->wave);
    offer_ratio(g, &c->split_odd);
    offer_ratio(g, &c->odd);
    offer_ratio(g, &c->hot);
    offer_ratio(g, &c->hot_us);
    offer_ratio(g, &c->limit);
    offer_ratio(g, &c->limit_us);
    offer_ratio(g, &c->cache_out);
    offer_ratio(g, &c->write_long);
    offer_ratio(g, &c->ramp);
    for (unsigned i = 0; i < c->tile_count; i++) {
        offer_ratio(g, &c->tiles[i].step);
        offer_ratio(g, &c->tiles[i].epilogue);
    }
}

/* A linear layer in a narrow type: the product and the cast of its input. */
static void
offer_linear(struct group *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
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
    offer(g, &f->t0, false);
    offer(g, &f->bw, true);
    offer(g, &m->part[0].row, false);
    offer(g, &m->part[0].col, false);
}

/* The smooth maximum lies above its largest term: this constant may exceed the peak a
 * little, what is forecast with it may not. Few rows may be of another GPU than the base,
 * whose peak says nothing of them. */
static void cap_chip_rate(struct group *g, struct sc__gpu *u) {
    static const double most_over_peak = 1.25;
    double most = most_over_peak * 1e6 * sc__gpu_main_peak(u);
    u->gemm.rp = fmin(u->gemm.rp, most);
    for (unsigned i = 0; i < g->parameter_count; i++)
        if (g->parameters[i].value == &u->gemm.rp)
            g->parameters[i].most = most;
}

static void offer_fallback(struct group *g, double *c) {
    offer(g, &c[SC__FALLBACK_BW], true);
    offer(g, &c[SC__FALLBACK_B], false);
    offer(g, &c[SC__FALLBACK_T0], false);
    offer(g, &c[SC__FALLBACK_R], true);
    offer(g, &c[SC__FALLBACK_TE], false);
    offer_ratio(g, &c[SC__FALLBACK_Q]);
}

static void offer_gemm(struct group *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
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
    } else if (fallback_constants(u, k)) {
        offer_fallback(g, u->batched_fallback[gpu_fit_group_of(u, k) - FIRST_FALLBACK]);
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
        offer(g, &c->rp, true);
        offer(g, &c->bw, true);
        offer(g, &c->t0, false);
        offer(g, &c->b, false);
        offer(g, &c->te, false);
        offer(g, &c->write, true);
        offer_ratio(g, &c->w);
        offer(g, &c->cache_bw, true);
        offer_ratio(g, &c->cache_b);
        offer_ratio(g, &c->cache);
        if (g->tiles) {
            cap_chip_rate(g, u);
            offer_tiles(g, c);
        }
    }
}

static void
offer_attention(struct group *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
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
offer_memory(struct group *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
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
static void offer_part(struct group *g, double *value) {
    offer_ratio(g, value);
    if (g->parameter_count && g->parameters[g->parameter_count - 1].value == value)
        g->parameters[g->parameter_count - 1].most = 1;
}

static void offer_moe(struct group *g, struct sc__gpu *u) {
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

/* An update walks nowhere: after its bytes the cache that may hold them decides. */
static void offer_sequence(struct group *g, double *c, bool update) {
    offer(g, &c[SC__SEQUENCE_WORK], false);
    offer(g, &c[SC__SEQUENCE_FIXED], false);
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

static void offer_context(struct group *g, double *c) {
    offer(g, &c[SC__CONTEXT_FIXED], false);
    for (unsigned i = 0; i < SC__SERVING_SIZES; i++)
        offer(g, &c[SC__CONTEXT_STEP + i], false);
    offer(g, &c[SC__CONTEXT_BW], true);
    offer(g, &c[SC__CONTEXT_TILE], false);
    offer(g, &c[SC__CONTEXT_SEQUENCE], false);
    offer_ratio(g, &c[SC__CONTEXT_WALK]);
    offer_ratio(g, &c[SC__CONTEXT_WINDOW]);
    offer_ratio(g, &c[SC__CONTEXT_CACHE]);
    offer_part(g, &c[SC__CONTEXT_SAVED]);
}

static void offer_generation(struct group *g, double *c) {
    offer(g, &c[SC__GENERATION_FIXED], false);
    offer(g, &c[SC__GENERATION_BW], true);
    offer(g, &c[SC__GENERATION_STEP], false);
    offer(g, &c[SC__GENERATION_UNIT], false);
    offer(g, &c[SC__GENERATION_HEAD], false);
    offer(g, &c[SC__GENERATION_SLOW], false);
    offer(g, &c[SC__GENERATION_SPLIT], false);
    offer_ratio(g, &c[SC__GENERATION_RESIDENT]);
    offer_ratio(g, &c[SC__GENERATION_CACHE]);
    offer_part(g, &c[SC__GENERATION_SAVED]);
}

static void
offer_serving(struct group *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
    uint64_t phase = k->size[6] / SC__SERVING_TYPES;
    double *c = u->serving[k->size[7]][phase][k->size[6] % SC__SERVING_TYPES];
    if (phase == SC__SERVING_CONTEXT || phase == SC__SERVING_MLA_CONTEXT)
        offer_context(g, c);
    else
        offer_generation(g, c);
}

static void offer_scan(struct group *g, double *c) {
    offer(g, &c[SC__SCAN_STATE], false);
    offer(g, &c[SC__SCAN_SCORE], false);
    offer(g, &c[SC__SCAN_KEY], false);
    offer(g, &c[SC__SCAN_FIXED], false);
    offer(g, &c[SC__SCAN_VALUE], false);
    offer(g, &c[SC__SCAN_WALK], false);
}

static void offer_exchange(struct group *g, struct sc__exchange_constants *c) {
    offer(g, &c->sm_bw, true);
    offer(g, &c->fixed, false);
    offer(g, &c->link_bw, true);
    offer(g, &c->row, false);
    offer(g, &c->expert, false);
    offer_ratio(g, &c->sm_power);
    offer_ratio(g, &c->sharpness);
}

static void
offer_constants(struct group *g, struct sc__gpu *u, const struct sc__kernel_key *k) {
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

/* ---- the least error ---- */

static double cost_of(const struct group *g, const struct sc__kernel_row *row) {
    if (g->moe)
        return sc__moe_work_us(g->gpu, &g->moe[row - g->table->rows]);
    return sc__kernel_cost(g->gpu, &row->key);
}

/* Below this the rows are few. */
enum { FEW_ROWS = 400 };

/* What an error e = |ln(model/measured)| counts: half too fast and twice too slow alike.
 * s ln(1 + (e/s)²): small errors by their squares, those far above s, where the library
 * took another kernel or the measurement failed, hardly more than one another. Few
 * products cannot tell such rows, and count nearly as they are. Before Hopper a narrow s
 * suits the GPU and not its relatives: the RTX PRO 6000 from 40 rows and the L40S's
 * constants 8.8 instead of 7.3 %. */
static double error_counts(const struct group *g, double e) {
    bool product = g->rows[0]->key.what <= SC__KERNEL_OP_BATCHED;
    if (product && g->count < FEW_ROWS)
        return e / (1 + e);
    double scale = g->tiles && !(g->gpu->gemm.resident > 0) ? 0.05 : 0.15;
    return scale * log1p(e * e / (scale * scale));
}

static double gpu_fit_error_of(const struct group *g) {
    double sum = 0;
    for (uint32_t i = 0; i < g->count; i++)
        sum += error_counts(g, fabs(log(cost_of(g, g->rows[i]) / g->rows[i]->us)));
    return g->count ? sum / g->count : 0;
}

static double mean_percent(const struct group *g) {
    double sum = 0;
    for (uint32_t i = 0; i < g->count; i++)
        sum += fabs(cost_of(g, g->rows[i]) / g->rows[i]->us - 1);
    return g->count ? 100 * sum / g->count : 0;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Starts from the right size: all constants times the median ratio, rates over
 * it; kept only where that helps. */
static void scale_to_median(struct sc__arena *arena, struct group *g) {
    double *ratio = SC__NEW_ARRAY(arena, double, g->count);
    for (uint32_t i = 0; i < g->count; i++)
        ratio[i] = g->rows[i]->us / cost_of(g, g->rows[i]);
    qsort(ratio, g->count, sizeof *ratio, ascending);
    double median = ratio[g->count / 2];
    double before = gpu_fit_error_of(g);
    double kept[MOST];
    for (unsigned i = 0; i < g->parameter_count; i++) {
        kept[i] = *g->parameters[i].value;
        if (g->parameters[i].ratio)
            continue;
        *g->parameters[i].value *= g->parameters[i].rate ? 1 / median : median;
        if (g->parameters[i].most > 0)
            *g->parameters[i].value = fmin(*g->parameters[i].value, g->parameters[i].most);
    }
    if (gpu_fit_error_of(g) <= before)
        return;
    for (unsigned i = 0; i < g->parameter_count; i++)
        *g->parameters[i].value = kept[i];
}

/* A search along one constant after the other: no derivatives, because waves make
 * the error a staircase. */
struct descent {
    struct group *g;
    unsigned n;
    double step[MOST];  /* logarithm of the factor tried next */
    double moved[MOST]; /* logarithm of the factor so far */
    double error;
};

enum { ROUNDS = 60 };

/* A few rows must not bend what they say little about: with fewer than 400 a constant
 * that moves by a factor e has to make up for 0.3 of a row's error, with more for 0.06,
 * and with fewer none moves by more than e². */
static const double PRICE_BY_FEW_ROWS = 0.3;
static const double PRICE_BY_MANY_ROWS = 0.06;
static const double FARTHEST = 2;

static const double FIRST_STEP = 0.1;
static const double LAST_STEP = 0.002;

static double price(double moved, const struct group *g) {
    double each = g->count < FEW_ROWS ? PRICE_BY_FEW_ROWS : PRICE_BY_MANY_ROWS;
    return each * moved * moved / g->count;
}

/* Keeps a change of one constant if the error, and what the change costs, falls. */
static bool try_step(struct descent *d, unsigned i, double step) {
    double *value = d->g->parameters[i].value;
    double kept = *value;
    double moved = d->moved[i] + step;
    double most = d->g->parameters[i].most;
    bool far = d->g->count < FEW_ROWS && fabs(moved) > FARTHEST;
    if (far || (most > 0 && kept * exp(step) > most))
        return false;
    *value *= exp(step);
    double error = gpu_fit_error_of(d->g);
    if (error + price(moved, d->g) < d->error + price(d->moved[i], d->g) - 1e-7) {
        d->error = error;
        d->moved[i] = moved;
        return true;
    }
    *value = kept;
    return false;
}

/* Returns whether any step is still worth trying. */
static bool descend_once(struct descent *d) {
    bool more = false;
    for (unsigned i = 0; i < d->n; i++) {
        if (d->step[i] < LAST_STEP)
            continue;
        bool better = try_step(d, i, d->step[i]) || try_step(d, i, -d->step[i]);
        d->step[i] *= better ? 1.3 : 0.6;
        more = true;
    }
    return more;
}

/* Three times from the first step: what moved later may free what moved before. */
static void descend(struct group *g, unsigned n) {
    struct descent d = {.g = g, .n = n, .error = gpu_fit_error_of(g)};
    for (unsigned again = 0; again < 3; again++) {
        for (unsigned i = 0; i < n; i++)
            d.step[i] = FIRST_STEP;
        for (unsigned round = 0; round < ROUNDS && descend_once(&d); round++)
            ;
    }
}

/* One constant for two rows at most, one at least; they are offered in the order
 * of their weight. */
static unsigned fitted_constants(const struct group *g) {
    unsigned most = g->count / 2 ? g->count / 2 : 1;
    return g->parameter_count < most ? g->parameter_count : most;
}

static void fit_group(struct sc__arena *arena, struct group *g) {
    unsigned most = fitted_constants(g);
    scale_to_median(arena, g);
    descend(g, most);
}

/* ---- halves ---- */

/* The same for all layouts of a GEMM. */
static uint64_t shape_hash(const struct sc__kernel_key *k) {
    bool gemm = k->what <= SC__KERNEL_OP_BATCHED;
    uint64_t hash = gemm ? 0 : k->what;
    for (uint64_t i = 0; i < 8; i++)
        hash += sc__splitmix64(k->size[i] + (gemm ? 0 : i << 52));
    /* attention with and without a mask apart, so that both halves have both */
    bool masked = k->what <= SC__KERNEL_OP_ATTENTION_B && k->size[7];
    return (masked ? (uint64_t)1 << 63 : 0) | sc__splitmix64(hash) >> 1;
}

static int by_hash(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The shapes of a group in the order of their hashes; returns how many. */
static uint32_t list_shapes(const struct group *g, uint64_t *shapes) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->count; i++)
        shapes[i] = shape_hash(&g->rows[i]->key);
    qsort(shapes, g->count, sizeof *shapes, by_hash);
    for (uint32_t i = 0; i < g->count; i++)
        if (!i || shapes[i] != shapes[i - 1])
            shapes[count++] = shapes[i];
    return count;
}

/* Every other shape. */
static unsigned
half_of(const uint64_t *shapes, uint32_t count, const struct sc__kernel_key *k) {
    uint64_t hash = shape_hash(k);
    const uint64_t *found = bsearch(&hash, shapes, count, sizeof *shapes, by_hash);
    return (unsigned)(found - shapes) & 1;
}

/* Fitted to one half of the shapes, the error on the other: what the constants
 * are worth on shapes nobody measured. The fit is undone afterwards. */
static double
half_error(struct sc__arena *arena, const struct group *whole, unsigned half) {
    double kept[MOST];
    double error;
    struct group in = *whole;
    struct group out = *whole;
    in.rows = SC__NEW_ARRAY(arena, const struct sc__kernel_row *, whole->count);
    out.rows = SC__NEW_ARRAY(arena, const struct sc__kernel_row *, whole->count);
    uint64_t *shapes = SC__NEW_ARRAY(arena, uint64_t, whole->count + 1);
    uint32_t count = list_shapes(whole, shapes);
    in.count = out.count = 0;
    for (uint32_t i = 0; i < whole->count; i++) {
        struct group *to =
            half_of(shapes, count, &whole->rows[i]->key) == half ? &in : &out;
        to->rows[to->count++] = whole->rows[i];
    }
    if (in.count < 4 || out.count < 4)
        return -1;
    for (unsigned i = 0; i < whole->parameter_count; i++)
        kept[i] = *whole->parameters[i].value;
    fit_group(arena, &in);
    error = mean_percent(&out);
    for (unsigned i = 0; i < whole->parameter_count; i++)
        *whole->parameters[i].value = kept[i];
    return error;
}

static double held_out_error(struct sc__arena *arena, const struct group *g) {
    double a = half_error(arena, g, 0);
    double b = half_error(arena, g, 1);
    return a < 0 || b < 0 ? -1 : 0.5 * (a + b);
}

/* ---- all groups ---- */

static void draw_experts(struct sc_context *ctx, struct group *g) {
    g->moe = SC__NEW_ARRAY(&ctx->arena, struct sc__moe_work, g->table->count);
    for (uint32_t i = 0; i < g->count; i++)
        sc__moe_prepare(&g->rows[i]->key, &g->moe[g->rows[i] - g->table->rows]);
}

static struct group collect(struct sc_context *ctx,
                            struct sc__gpu_fit *fit,
                            const struct sc__kernel_table *table,
                            uint32_t number) {
    struct group g = {
        .gpu = fit->gpu,
        .table = table,
        .tiles = fit->tiles,
        .rows = SC__NEW_ARRAY(&ctx->arena, const struct sc__kernel_row *, table->count)};
    for (uint32_t i = 0; i < table->count; i++) {
        const struct sc__kernel_row *r = &table->rows[i];
        if (!(r->us > 0) || gpu_fit_group_of(fit->gpu, &r->key) != number)
            continue;
        /* Products alone say nothing of the cast, layers with it of both. */
        bool linear = r->key.what == SC__KERNEL_OP_GEMM && r->key.size[7];
        if (!g.count || (linear && !g.linear)) {
            g.linear = linear;
            g.parameter_count = 0;
            offer_constants(&g, fit->gpu, &r->key);
            g.name = r->op;
        }
        g.rows[g.count++] = r;
    }
    if (g.count && g.rows[0]->key.what == SC__KERNEL_OP_MOE)
        draw_experts(ctx, &g);
    return g;
}

static const char *group_name(struct sc_context *ctx, const struct group *g) {
    const struct sc__kernel_key *k = &g->rows[0]->key;
    if (sc__gemm_unaligned(k))
        return k->dtype == SC__TF32 ? "gemm tf32, unaligned" : "gemm, unaligned";
    const double *fallback = fallback_constants(g->gpu, k);
    if (fallback == g->gpu->batched_fallback[SC__BATCHED_TF32_UNALIGNED])
        return "gemm_batched tf32, unaligned";
    if (fallback == g->gpu->batched_fallback[SC__BATCHED_UNALIGNED])
        return "gemm_batched, unaligned";
    if (fallback == g->gpu->batched_fallback[SC__BATCHED_ODD])
        return "gemm_batched, odd";
    if (k->what <= SC__KERNEL_OP_BATCHED || k->what == SC__KERNEL_OP_ADAMW)
        return sc__format(&ctx->arena, "%s %s", g->name, sc__dtype_name(k->dtype));
    if (k->what <= SC__KERNEL_OP_ATTENTION_B)
        return sc__format(&ctx->arena,
                          "%s, heads of %.0f",
                          g->name,
                          sc__attention_class(g->gpu, k)->head_dim);
    return g->name;
}

static void fit_one(struct sc_context *ctx, struct sc__gpu_fit *fit, struct group *g) {
    struct sc__fit_group *out =
        SC__PUSH(&ctx->arena, fit->groups, fit->count, fit->capacity);
    *out = (struct sc__fit_group){.name = group_name(ctx, g),
                                  .rows = g->count,
                                  .before = mean_percent(g)};
    if (fit->kernels_of && gpu_fit_group_of(fit->gpu, &g->rows[0]->key) == 0)
        out->before = fit->base_before;
    out->held_out = held_out_error(&ctx->arena, g);
    fit_group(&ctx->arena, g);
    out->after = mean_percent(g);
    out->constants = fitted_constants(g);
}

/* ---- whose kernels ---- */

/* Libraries have other tiles for other architectures. With few rows that cannot
 * tell one tile from another, the kernels of the measured GPUs are tried as they
 * are, and those that forecast rows left out of their fit best are taken. */
static const char *const relatives[] = {"a100-80", "h200", "b200", "l40s"};

enum { ENOUGH_ROWS = 16 };

/* The error on rows left out, with the GEMM constants of one of them. */
static double relative_error(struct sc_context *ctx,
                             struct sc__gpu_fit *fit,
                             const struct sc__kernel_table *table,
                             const struct sc__gemm_constants *gemm) {
    struct sc__gemm_constants own = fit->gpu->gemm;
    fit->gpu->gemm = *gemm;
    struct group g = collect(ctx, fit, table, 0);
    scale_to_median(&ctx->arena, &g);
    double error = held_out_error(&ctx->arena, &g);
    fit->gpu->gemm = own;
    return error;
}

static void choose_kernels(struct sc_context *ctx,
                           struct sc__gpu_fit *fit,
                           const struct sc__kernel_table *table) {
    struct group g = collect(ctx, fit, table, 0);
    if (fit->tiles || g.count < ENOUGH_ROWS || g.count > FEW_ROWS)
        return;
    double best = relative_error(ctx, fit, table, &fit->gpu->gemm);
    fit->base_held_out = best;
    fit->base_before = mean_percent(&g);
    const struct sc__gemm_constants *found = NULL;
    for (unsigned i = 0; i < sizeof relatives / sizeof *relatives; i++) {
        const struct sc__gpu *r;
        if (sc__gpu_find(ctx, relatives[i], &r) != SC_OK)
            continue;
        double error = relative_error(ctx, fit, table, &r->gemm);
        /* by a tenth at least: less is noise */
        if (error >= 0 && error < 0.9 * best) {
            best = error;
            found = &r->gemm;
            fit->kernels_of = relatives[i];
        }
    }
    if (found)
        fit->gpu->gemm = *found;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void sc__gpu_fit(struct sc_context *ctx,
                 const struct sc__gpu *base,
                 const struct sc__kernel_table *table,
                 bool tiles,
                 struct sc__gpu_fit *fit) {
    uint32_t *numbers = SC__NEW_ARRAY(&ctx->arena, uint32_t, table->count + 1);
    uint32_t count = 0;
    *fit =
        (struct sc__gpu_fit){.gpu = SC__NEW(&ctx->arena, struct sc__gpu), .tiles = tiles};
    *fit->gpu = *base;
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->rows[i].us > 0)
            numbers[count++] = gpu_fit_group_of(base, &table->rows[i].key);
        else
            fit->unused++;
    }
    qsort(numbers, count, sizeof *numbers, by_number);
    choose_kernels(ctx, fit, table);
    for (uint32_t i = 0; i < count; i++) {
        if (i && numbers[i] == numbers[i - 1])
            continue;
        struct group g = collect(ctx, fit, table, numbers[i]);
        fit_one(ctx, fit, &g);
    }
}
