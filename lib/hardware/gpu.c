/* gpu: the rules that carry the constants of one GPU over to another. */
#include "hardware/gpu.h"

#include "hardware/gpu_read.h"
#include "hardware/kernel_model.h"

#include <math.h>
#include <string.h>

static const struct dtype_name {
    const char *name;
    enum sc__dtype type;
} dtype_names[] = {
    {"fp32", SC__FP32},
    {"tf32", SC__TF32},
    {"fp16", SC__FP16},
    {"bf16", SC__BF16},
    {"fp8", SC__FP8},
    {"fp4", SC__FP4},
    {"fp8-rowwise", SC__FP8_ROW},
    {"fp8-block", SC__FP8_BLOCK},
    {"float32", SC__FP32},
    {"float16", SC__FP16},
    {"half", SC__FP16},
    {"bfloat16", SC__BF16},
    {"float8_e4m3fn", SC__FP8},
    {"float8_e5m2", SC__FP8},
    {"mxfp8", SC__FP8},
    {"fp8_block", SC__FP8_BLOCK},
    {"nvfp4", SC__FP4},
    {"mxfp4", SC__FP4},
};

const char *sc__dtype_name(enum sc__dtype t) {
    return dtype_names[t].name;
}

bool sc__dtype_parse(struct sc__str s, enum sc__dtype *out) {
    for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++)
        if (sc__str_is(s, dtype_names[i].name)) {
            *out = dtype_names[i].type;
            return true;
        }
    return false;
}

double sc__dtype_bytes(enum sc__dtype t) {
    static const double bytes[SC__DTYPES] = {4, 4, 2, 2, 1, 0.5, 1, 1};
    return bytes[t];
}

/* ---- scaling rules: from a fitted GPU to one known by its datasheet ----
 *
 * What a constant is limited by says what it scales with:
 *     FLOP rate of an SM        peak / SMs
 *     loads into an SM          clock
 *     DRAM                      DRAM bandwidth
 *     instruction issue         SMs · clock
 *     power                     TDP
 * Fixed times (launch, first load) stay as they are. */

/* Of the type that constants are fitted in: bf16, or fp16 before Ampere. */
double sc__gpu_sheet_peak(const struct sc__gpu *g) {
    return g->peak[SC__BF16] > 0 ? g->peak[SC__BF16] : g->peak[SC__FP16];
}

double sc__gpu_main_peak(const struct sc__gpu *g) {
    return g->gemm.peak > 0 ? g->gemm.peak : sc__gpu_sheet_peak(g);
}

/* The clock under full load falls until the power limit holds it: a FLOP takes energy with
 * the square of the voltage, about with the clock at that moment, so that it falls with the
 * root of what the rated clock would take of the limit, over what it takes of the base's.
 * peaks: of the type that multiplies, over the base's.
 */
static double carry_load(const struct sc__gpu *g,
                         const struct sc__gpu *base,
                         double peaks,
                         double clock) {
    return sqrt(peaks * clock * base->tdp / g->tdp);
}

/* Below 1, as on a card of half the rate at the same power, it does not fall. */
static void carry_clock(struct sc__gemm_constants *c, double load) {
    if (!(c->hot_us > 0))
        return;
    double all = fmax(1, (1 + c->hot + c->limit) * load);
    c->hot = fmin(c->hot, fmax(1, (1 + c->hot) * load) - 1);
    c->limit = all - 1 - c->hot;
}

/* What keeps a chip from its peak is not what multiplies: it goes with SMs and clock, so
 * that tensor cores of half the rate (GeForce cards where they add in fp32) reach theirs,
 * the most there is. Where it is the power, and less than the limit is taken, it falls
 * away. Of other chips no more than the peak is believed, but for what the base was
 * believed where they have more. */
static void carry_chip_rate(
    struct sc__gemm_constants *c, double peak, double peaks, double issue, double load) {
    double believed = peaks > 1 ? fmax(peak, c->rp) : peak;
    bool spare = c->most > 0 && c->rp > c->most; /* rp is what units of the base can do */
    c->rp *= spare ? issue : fmax(peaks, issue);
    if (spare)
        c->rp = fmax(c->rp, peak);
    if (c->hot_us > 0)
        c->rp /= fmin(1, (1 + c->hot + c->limit) * load);
    bool bounded = c->hot_us > 0 || c->most > 0;
    if (!bounded && (peaks < 1 || peaks > 1))
        c->rp = fmin(c->rp, believed);
    c->most = bounded ? peak : 0;
}

/* Data sheets round: shares of peaks that differ by less are one. */
static const double ROUNDED = 0.02;

/* A type whose peak is another share of the main type's than that of the base goes by its
 * own: what more units for one type do to the clock and the rate of the chip is that
 * type's. Four-byte types are held by their sustained share of the peak. */
static void carry_dtype(struct sc__gpu *g,
                        const struct sc__gpu *base,
                        enum sc__dtype t,
                        double clock,
                        double issue) {
    struct sc__gemm_dtype *f = &g->dtype[t];
    double peaks = g->peak[t] / base->peak[t];
    double share = peaks / (sc__gpu_main_peak(g) / sc__gpu_main_peak(base));
    f->r *= share;
    f->rp *= share;
    /* the power of a FLOP/s of the main type is the base's, and so is this type's */
    f->energy = sc__flop_energy(base, t);
    if (fabs(share - 1) < ROUNDED)
        return;
    double of_main = base->peak[t] / sc__gpu_main_peak(base);
    struct sc__gemm_constants c = base->gemm;
    c.rp *= base->dtype[t].rp > 0 ? base->dtype[t].rp : of_main;
    c.most *= of_main;
    if (f->felt > 0) {
        c.hot = fmax(0, f->felt - 1);
        c.limit = fmax(0, f->limited - f->felt);
    }
    double load = carry_load(g, base, peaks, clock);
    carry_chip_rate(&c, 1e6 * g->peak[t], peaks, issue, load);
    if (sc__dtype_bytes(t) < 4)
        f->rp = c.rp / g->gemm.rp;
    if (!(c.hot_us > 0))
        return;
    carry_clock(&c, load);
    f->felt = 1 + c.hot;
    f->limited = 1 + c.hot + c.limit;
}

static void
carry_dtypes(struct sc__gpu *g, const struct sc__gpu *base, double clock, double issue) {
    for (unsigned t = 0; t < SC__DTYPES; t++)
        if (g->peak[t] > 0 && base->peak[t] > 0)
            carry_dtype(g, base, (enum sc__dtype)t, clock, issue);
}

static void carry_gemm(struct sc__gpu *g,
                       const struct sc__gpu *base,
                       double sm_rate,
                       double dram,
                       double clock) {
    double issue = clock * g->sms / base->sms;
    double peaks = sc__gpu_main_peak(g) / sc__gpu_main_peak(base);
    double load = carry_load(g, base, peaks, clock);
    g->gemm.r *= sm_rate;
    carry_chip_rate(&g->gemm, 1e6 * sc__gpu_main_peak(g), peaks, issue, load);
    carry_clock(&g->gemm, load);
    carry_dtypes(g, base, clock, issue);
    g->gemm.b /= clock;
    g->gemm.bw *= dram;
    g->gemm.write *= dram;
    g->gemm.cache_bw *= issue;
    if (base->l2 > 0 && g->l2 > 0) {
        g->gemm.cache *= g->l2 / base->l2;
        g->gemm.cache_b *= g->l2 / base->l2;
        g->gemm.cache_out *= g->l2 / base->l2;
    }
    /* an SM's share of the DRAM bandwidth is what its epilogue has */
    g->gemm.te *= g->sms / base->sms / dram;
}

/* These kernels are of older architectures and do not use new tensor
 * instructions: they follow instruction issue, not the peak. */
static void carry_unaligned(struct sc__unaligned_constants *u, double issue, double clock) {
    u->even *= issue;
    u->odd *= issue;
    u->odd_n *= issue;
    u->odd_dgrad *= issue;
    u->odd_wgrad *= issue;
    u->tf32 *= issue;
    u->tf32_wgrad *= issue;
    u->te /= clock;
}

bool sc__gpu_is_of(const struct sc__gpu *g, const char *architecture) {
    return g->architecture && !strcmp(g->architecture, architecture);
}

static bool same_architecture(const struct sc__gpu *a, const struct sc__gpu *b) {
    return b->architecture && sc__gpu_is_of(a, b->architecture);
}

/* The tensor cores of GeForce and RTX PRO cards of Blackwell are programmed as Ada's. */
static bool runs_same_kernels(const struct sc__gpu *g, const struct sc__gpu *base) {
    return same_architecture(g, base) ||
           (sc__gpu_is_of(g, "blackwell-rtx") && sc__gpu_is_of(base, "ada"));
}

struct attention_ratios {
    double base_rate; /* of an SM at the peak, FLOP/us */
    double rate;
    double clock;
    double dram;
    bool same_kernels;
};

/* us of a step: what multiplies goes with the rate of an SM, the rest, which waits for
 * exponentials and instructions, with the clock. Kernels of another architecture are
 * others, of which nothing is known but the peak. */
static double carry_step(const struct attention_ratios *r, double us, double flop) {
    double multiplies = r->same_kernels ? fmin(us, flop / r->base_rate) : us;
    return multiplies * r->base_rate / r->rate + (us - multiplies) / r->clock;
}

/* [0] is fixed; [1] is a step, forward two products and backward five; [2] and [3] are what
 * a tile and a walk begin and end with; the rest streams. */
static void carry_attention(struct sc__attention_constants *a,
                            const struct attention_ratios *r) {
    double width = a->head_dim + (a->v_dim > 0 ? a->v_dim : a->head_dim);
    double tile = 128 * a->bq;
    a->forward[1] = carry_step(r, a->forward[1], 2 * width * tile);
    a->backward[1] =
        carry_step(r, a->backward[1], 5 * width * (a->bk > 0 ? a->bk * a->bk : tile));
    for (unsigned i = 2; i < 4; i++) {
        a->forward[i] = carry_step(r, a->forward[i], 0);
        a->backward[i] = carry_step(r, a->backward[i], 0);
    }
    a->backward[4] /= r->dram;
    a->backward[5] /= r->dram;
}

static void carry_memory(struct sc__memory_constants *m, double dram, double issue) {
    for (unsigned i = 0; i < 2; i++) {
        m->part[i].element /= dram;
        m->part[i].row /= issue;
    }
}

/* The same clock ratio at the same share of the TDP. */
static void carry_power(struct sc__power_constants *p, double tdp) {
    p->limit *= tdp;
    p->idle *= tdp;
    p->slope /= tdp;
}

/* A GPU without such links has no such kernels. */
static void carry_exchange(struct sc__exchange_constants *c, double links) {
    c->link_bw *= links;
    c->sm_bw *= links;
}

/* What streams goes with the memory, what waits with the clock. */
static void carry_sequence(double *c, double dram, double clock, double sms, double l2) {
    c[SC__SEQUENCE_ROW] /= clock;
    c[SC__SEQUENCE_WALK] /= clock;
    c[SC__SEQUENCE_WORK] *= sms / dram;
    c[SC__SEQUENCE_STATE] *= sms / dram;
    c[SC__SEQUENCE_CACHE] *= l2;
}

/* States, values and keys stream; scores are exponentials and products of older tensor
 * instructions, which follow instruction issue. */
static void carry_scan(double *c, double dram, double clock, double issue) {
    c[SC__SCAN_STATE] /= dram;
    c[SC__SCAN_VALUE] /= dram;
    c[SC__SCAN_KEY] /= dram;
    c[SC__SCAN_SCORE] /= issue;
    c[SC__SCAN_WALK] /= clock;
}

/* rate: of the units that multiply, written: of what an output element waits for, both on
 * one SM. */
static void
carry_fallback(double *c, double rate, double written, double dram, double clock) {
    c[SC__FALLBACK_R] *= rate;
    c[SC__FALLBACK_B] /= clock;
    c[SC__FALLBACK_TE] /= written;
    c[SC__FALLBACK_BW] *= dram;
}

/* Other architectures have other kernels for tf32, whose instructions take transposed
 * operands too; those of fp32 are old ones on all. */
static void forget_products_tf32(struct sc__gpu *g) {
    g->dtype[SC__TF32].dgrad = 0;
    g->dtype[SC__TF32].wgrad = 0;
    for (unsigned i = SC__PRODUCT_TF32; i <= SC__PRODUCT_TF32_WGRAD; i++)
        g->batched_fallback[i][SC__FALLBACK_T0] = 0;
}

static void carry_context(double *c, double dram, double sm_rate, double l2) {
    c[SC__CONTEXT_TILE] /= sm_rate;
    c[SC__CONTEXT_BW] *= dram;
    c[SC__CONTEXT_CACHE] *= l2;
    for (unsigned i = 0; i < SC__SERVING_SIZES; i++)
        c[SC__CONTEXT_STEP + i] /= sm_rate;
}

static void
carry_generation(double *c, double dram, double clock, double sm_rate, double l2) {
    static const unsigned kernels[] = {SC__GENERATION_SHARED, SC__GENERATION_ALONE};
    c[SC__GENERATION_BW] *= dram;
    c[SC__GENERATION_CACHE] *= l2;
    for (unsigned i = 0; i < 2; i++) {
        c[kernels[i] + SC__BLOCK_START] /= clock;
        c[kernels[i] + SC__BLOCK_STEP] /= sm_rate;
    }
}

static void carry_serving(
    struct sc__gpu *g, const struct sc__gpu *base, double dram, double clock, double rate) {
    double sms = g->sms / base->sms;
    double l2 = g->l2 > 0 && base->l2 > 0 ? g->l2 / base->l2 : 1;
    for (unsigned i = 0; i < SC__SERVING_SOFTWARES; i++) {
        for (unsigned k = 0; k < SC__SEQUENCE_OPS; k++)
            carry_sequence(g->sequence[i][k], dram, clock, sms, l2);
        for (unsigned t = 0; t < SC__SERVING_TYPES; t++) {
            carry_context(g->serving[i][SC__SERVING_CONTEXT][t], dram, rate, l2);
            carry_context(g->serving[i][SC__SERVING_MLA_CONTEXT][t], dram, rate, l2);
            carry_generation(g->serving[i][SC__SERVING_GENERATION][t],
                             dram,
                             clock,
                             rate,
                             l2);
            carry_generation(g->serving[i][SC__SERVING_MLA_GENERATION][t],
                             dram,
                             clock,
                             rate,
                             l2);
        }
    }
}

bool sc__gpu_is_guessed(const struct sc__gpu *g) {
    return g->grade && !strcmp(g->grade, "guessed");
}

/* Of an SM in fp32; where a sheet does not say it, as many units as the base's. */
static double
carried_fp32(const struct sc__gpu *g, const struct sc__gpu *base, double clock) {
    bool said = g->peak[SC__FP32] > 0 && base->peak[SC__FP32] > 0;
    return said ? g->peak[SC__FP32] / g->sms / (base->peak[SC__FP32] / base->sms) : clock;
}

void sc__gpu_carry_over(struct sc__gpu *g, const struct sc__gpu *base) {
    struct sc__gpu sheet = *g;
    *g = *base;
    g->name = sheet.name;
    g->title = sheet.title;
    g->source = sheet.source;
    g->fitted = sheet.fitted;
    g->grade = sheet.grade;
    g->architecture = sheet.architecture;
    g->base = base->name;
    memcpy(g->peak, sheet.peak, sizeof g->peak);
    g->memory = sheet.memory;
    g->dram = sheet.dram;
    g->l2 = sheet.l2;
    g->sms = sheet.sms;
    g->boost_mhz = sheet.boost_mhz;
    g->nvlink = sheet.nvlink;
    g->nvlink_gpus = sheet.nvlink_gpus;
    g->tdp = sheet.tdp;
    g->usd_per_hour = sheet.usd_per_hour;
    g->gemm.peak = sheet.gemm.peak;
    double dram = g->dram / base->dram;
    double clock = g->boost_mhz / base->boost_mhz;
    double sm_rate = sc__gpu_main_peak(g) / g->sms / (sc__gpu_main_peak(base) / base->sms);
    double issue = g->sms / base->sms * clock;
    carry_gemm(g, base, sm_rate, dram, clock);
    carry_unaligned(&g->unaligned, issue, clock);
    double fp32_rate = carried_fp32(g, base, clock);
    double rate = 1e6 * sc__gpu_main_peak(base) / base->sms;
    struct attention_ratios attention = {rate,
                                         rate * sm_rate,
                                         clock,
                                         dram,
                                         runs_same_kernels(g, base)};
    struct attention_ratios wide = {rate, rate * fp32_rate, clock, dram, false};
    for (unsigned i = 0; i < SC__HEAD_CLASSES; i++) {
        carry_attention(&g->attention[i], &attention);
        carry_attention(&g->attention_fp32[i], &wide);
    }
    for (unsigned i = 0; i < SC__MEM_OPS; i++)
        carry_memory(&g->memory_op[i], dram, issue);
    g->elementwise_bw *= dram;
    g->accumulate.element /= dram;
    g->accumulate.over_k /= dram;
    for (unsigned i = 1; i < 6; i++)
        if (i != 2) /* [0] and [2] are the fixed times of forward and backward */
            g->embedding[i] /= dram;
    g->adamw[1] /= dram;
    g->adamw[2] /= dram;
    g->moe.b /= clock;
    g->moe.step /= clock;
    g->moe.te *= g->sms / base->sms / dram;
    g->moe.bw *= dram;
    g->moe.rp *= sc__gpu_main_peak(g) / sc__gpu_main_peak(base);
    g->moe.r *= sm_rate;
    g->moe.permute /= dram;
    g->moe.sort /= dram;
    if (g->l2 > 0 && base->l2 > 0)
        g->moe.cache *= g->l2 / base->l2;
    carry_serving(g, base, dram, clock, sm_rate);
    for (unsigned i = 0; i < 2; i++)
        carry_scan(g->scan[i], dram, clock, issue);
    for (unsigned i = 0; i < SC__BATCHED_FALLBACKS; i++) {
        /* Two bytes at odd places are written one by one: instructions decide. */
        bool short_elements = i == SC__BATCHED_UNALIGNED || i == SC__BATCHED_ODD;
        bool fp32 = i == SC__BATCHED_FP32 || i == SC__PRODUCT_FP32;
        carry_fallback(g->batched_fallback[i],
                       fp32 ? fp32_rate : clock,
                       short_elements ? clock : dram * base->sms / g->sms,
                       dram,
                       clock);
    }
    if (!same_architecture(g, base))
        forget_products_tf32(g);
    for (unsigned i = 0; i < SC__EXCHANGES; i++)
        carry_exchange(&g->exchange[i], base->nvlink > 0 ? g->nvlink / base->nvlink : 0);
    carry_power(&g->power, g->tdp / base->tdp);
}
