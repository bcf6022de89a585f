/* kernel_gemm: matrix multiplication. The output is cut into tiles, one per SM and
 * wave; a tile walks along k in steps of 64 (128 for one-byte types):
 *
 *     time = smooth maximum of (waves · time of a tile, memory, power-free
 *            chip rate) + fixed, least over tile shapes and splits of k
 *
 * For one split the time grows with the time of the waves alone, so the least
 * over tiles is found before any power is taken. */
#include "hardware/kernel.h"
#include "hardware/kernel_model.h"

#include <math.h>

/* The shapes of a GPU whose file lists none. */
static const struct sc__gemm_tile usual_tiles[] = {{256, 128, 1, 1},
                                                   {128, 256, 1, 1},
                                                   {192, 192, 1, 1},
                                                   {320, 128, 1, 1},
                                                   {128, 320, 1, 1},
                                                   {192, 128, 1, 1},
                                                   {128, 192, 1, 1},
                                                   {160, 128, 1, 1},
                                                   {128, 160, 1, 1},
                                                   {128, 128, 1, 1},
                                                   {96, 128, 1, 1},
                                                   {128, 96, 1, 1},
                                                   {64, 128, 1, 1},
                                                   {128, 64, 1, 1},
                                                   {64, 64, 1, 1},
                                                   {64, 256, 1, 1},
                                                   {256, 64, 1, 1},
                                                   {64, 192, 1, 1},
                                                   {192, 64, 1, 1}};

static const struct tile {
    uint16_t m;
    uint16_t n;
} grouped_tiles[] = {{128, 128}, {128, 256}, {256, 128}, {64, 128}, {128, 64}, {64, 256}};

enum {
    USUAL_TILES = sizeof usual_tiles / sizeof *usual_tiles,
    GROUPED_TILES = sizeof grouped_tiles / sizeof *grouped_tiles
};

static const uint64_t splits[] = {1, 2, 3, 4, 6, 8, 16};

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

/* Of a signed number it is one instruction. */
static inline double to_double(uint64_t count) {
    return (double)(int64_t)count;
}

/* One GEMM with the constants of its type. */
struct gemm {
    const struct sc__gpu *gpu;
    double r;            /* FLOP/us of one SM */
    double element_step; /* us of a step for each element of a tile */
    double b;            /* us per (bm + bn) and step: loading the operands of a tile */
    double rp;           /* FLOP/us of the whole chip */
    double element;      /* bytes of an operand's element */
    double out;          /* bytes of an output's element */
    double te;           /* us per output element and SM: epilogue */
    double t0;           /* us, whatever the sizes */
    /* us that memory and the chip's rate take */
    double memory;
    double chip;
    double floor; /* us in which all bytes can pass the memory, all FLOPs the units */
    uint64_t m;
    uint64_t n;
    uint64_t k;
    uint64_t k_step;
    uint64_t sms;
    struct tile only; /* m 0: any tile */
    uint64_t rows;    /* only tiles of so many rows, k never split; 0: all */
};

/* Share of the fp32 peak that large products of an H200 reach (52.8 of 67 TFLOP/s). */
#define FP32_SUSTAINED 0.79
/* The same of tf32 (428 of 494.7). */
#define TF32_SUSTAINED 0.87

double sc__sustained_share(const struct sc__gpu *g, enum sc__dtype t, double usual) {
    return g->dtype[t].sustained > 0 ? g->dtype[t].sustained : usual;
}

/* A type without fitted factors is as fast as its peak says. */
static double rate_factor(const struct sc__gpu *g, enum sc__dtype t, double fitted) {
    if (fitted > 0)
        return fitted;
    return g->peak[t] > 0 ? g->peak[t] / sc__gpu_main_peak(g) : 1;
}

/* FLOP/us that no product of a type is faster than. Factors of narrow types carried over
 * may be above what other chips have: where the file does not say, their datasheet's peak.
 * Of the main type it may be another's while its constants are fitted. */
static double most_of(const struct sc__gpu *g, enum sc__dtype t) {
    double share = g->gemm.most / sc__gpu_main_peak(g);
    if (!(share > 0))
        share = sc__dtype_bytes(t) < 2 ? 1e6 : INFINITY;
    return share * g->peak[t];
}

static double or_one(double x) {
    return x > 0 ? x : 1;
}

/* What a type is computed in where the GPU does not have it. */
static enum sc__dtype available(const struct sc__gpu *g, enum sc__dtype t) {
    if (t == SC__TF32 && !(g->peak[t] > 0))
        t = SC__FP32;
    if (g->peak[t] > 0)
        return t;
    return g->peak[SC__BF16] > 0 ? SC__BF16 : SC__FP16;
}

/* Bytes of operands and output, and how many layers in turn read the input (0: weights
 * are read once). */
struct traffic {
    double input;
    double weights;
    double output;
    double layers;
};

/* What is found of an operand, of whose cache `full` is what passes before it is used
 * again. */
static double found_share(double full) {
    return 1 / (1 + full * full * full);
}

/* The same of what is read in turn: the cache keeps what was read last, so that all of it
 * is found or nothing. */
static double found_in_turn(const struct sc__gemm_constants *c, double full) {
    if (c->edge > 0)
        return 1 / (1 + pow(full, c->edge));
    full *= full * full;
    full *= full;
    return 1 / (1 + full * full);
}

/* us that the cache saves: of A, which the kernel before wrote, and of B, which an
 * earlier call read, it finds as much as fits beside the rest. */
static double cached_us(const struct sc__gemm_constants *c, const struct traffic *t) {
    double all = t->input + t->weights + t->output;
    double found = 0;
    if (!(c->cache_bw > c->bw))
        return 0;
    if (c->cache > 0)
        found += t->input * found_share(all / c->cache);
    if (c->cache > 0 && t->layers > 0)
        found +=
            t->weights * found_in_turn(c, (all + (t->layers - 1) * t->weights) / c->cache);
    else if (c->cache_b > 0)
        found += t->weights * found_share(all / c->cache_b);
    return found * (1 / c->bw - 1 / c->cache_bw);
}

/* us that the output takes: at the rate of the cache where it fits, else of the memory. */
static double output_us(const struct sc__gemm_constants *c, double bytes, double us) {
    if (!(c->cache_out > 0))
        return us * bytes;
    double x = bytes / c->cache_out;
    double taken = 1 / (1 + x * x * x);
    return bytes * (taken * us + (1 - taken) * c->write_long / c->bw);
}

/* Few bytes are through before the memory is at its full rate. */
static double ramp_factor(const struct sc__gemm_constants *c, double bytes) {
    return c->ramp > 0 ? 1 + c->ramp / (c->ramp + bytes) : 1;
}

static struct gemm describe(const struct sc__gpu *g,
                            enum sc__dtype t,
                            uint64_t batch,
                            uint64_t m,
                            uint64_t n,
                            uint64_t k,
                            double layers) {
    t = available(g, t);
    const struct sc__gemm_constants *c = &g->gemm;
    const struct sc__gemm_dtype *f = &g->dtype[t];
    double dm = to_double(m);
    double dn = to_double(n);
    double dk = to_double(k);
    double e = sc__dtype_bytes(t);
    struct gemm p = {.gpu = g,
                     .m = m,
                     .n = n,
                     .k = k,
                     .k_step = 64,
                     .sms = (uint64_t)g->sms,
                     .element = e};
    p.out = fmax(2, e); /* fp8 and fp4 GEMMs write bf16 */
    /* A step loads 128 bytes of each row: 64 elements of bf16, 128 of fp8. */
    if (e < 2)
        p.k_step = (uint64_t)(128 / e);
    p.r = c->r * rate_factor(g, t, f->r);
    p.element_step = 2 * (double)p.k_step / p.r;
    p.rp = c->rp * rate_factor(g, t, f->rp);
    if (t == SC__FP32 || t == SC__TF32)
        p.rp = fmin(
            p.rp,
            sc__sustained_share(g, t, t == SC__FP32 ? FP32_SUSTAINED : TF32_SUSTAINED) *
                g->peak[t] * 1e6);
    /* Wider elements than bf16 load in proportion; narrower ones have a fitted
     * factor, since a step of theirs is as many bytes. */
    p.b = c->b * or_one(f->b) * (e > 2 ? e / 2 : 1);
    p.te = c->te * or_one(f->te);
    p.t0 = f->t0 > 0 ? f->t0 : c->t0;
    p.only = (struct tile){(uint16_t)f->tile, (uint16_t)f->tile};
    p.rows = (uint64_t)f->rows;
    double count = to_double(batch);
    double operands = count * e * (dm * dk + dn * dk);
    double output = count * p.out * dm * dn;
    double input = count * e * dm * dk;
    const struct traffic traffic = {input, operands - input, output, layers};
    double saved = cached_us(c, &traffic);
    double slower = ramp_factor(c, operands + output) / or_one(f->bw);
    double read = operands / c->bw - saved;
    p.memory = (read + output_us(c, output, c->w / c->bw)) * slower;
    p.chip = 2 * count * dm * dn * dk / p.rp;
    if (c->write > 0)
        p.floor = (read + output_us(c, output, 1 / c->write)) * slower;
    if (g->peak[t] > 0)
        p.floor = fmax(p.floor, 2 * count * dm * dn * dk / most_of(g, t));
    return p;
}

/* us of one step along k of a tile. */
static double step_us(const struct gemm *p, double rows, double columns) {
    return rows * columns * p->element_step + p->b * (rows + columns);
}

static double fmax_one(double x) {
    return x > 1 ? x : 1;
}

/* One shape of tile for one GEMM. */
struct tiling {
    uint64_t count;
    double area;     /* elements of a tile */
    double each;     /* tiles of an SM, in the mean */
    double step;     /* us of one step along k */
    double epilogue; /* us */
};

/* Tiles that an SM works on at a time. */
static uint64_t resident_tiles(double resident, double area) {
    double tiles = resident / area;
    return tiles < 2 ? 1 : tiles < 4 ? (uint64_t)tiles : 4;
}

/* Tiles of the busiest SM: whole waves, and to some part as many as there are tiles.
 * Where an SM works on several tiles at a time, the last of them run beside each
 * other, too. */
static double
count_waves(const struct gemm *p, const struct tiling *t, uint64_t s, double each) {
    double part = p->gpu->gemm.wave;
    double resident = p->gpu->gemm.resident;
    uint64_t whole = ceil_div(t->count * s, p->sms);
    uint64_t beside = resident > 0 ? resident_tiles(resident, t->area) : 1;
    if (beside > 1 && whole > beside)
        whole = ceil_div(whole, beside) * beside;
    double waves = to_double(whole);
    return part > 0 ? waves + part * (fmax_one(each) - waves) : waves;
}

/* Steps along k of a tile, k split into s parts. Kernels before Hopper's walk in halves
 * of a step. */
static double count_steps(const struct gemm *p, uint64_t s) {
    uint64_t parts = p->gpu->gemm.resident > 0 ? 2 : 1;
    return to_double(ceil_div(ceil_div(parts * p->k, p->k_step), s)) / to_double(parts);
}

/* A bound is only trusted where it is clear of rounding. */
static const double BOUND = 1 - 1e-9;

/* Shapes of which the fastest is looked for. */
struct search {
    double best;  /* us of the waves, without a split */
    double steps; /* along k, without a split */
    double share; /* of the output, in elements, that one SM has at least */
    /* Those that leave SMs idle, so that k may be split. */
    struct tiling idle[SC__GEMM_TILES + 1];
    unsigned idle_count;
};

static inline void
try_tile(const struct gemm *p, const struct sc__gemm_tile *t, struct search *f) {
    struct tiling *out = &f->idle[f->idle_count];
    double area = t->m * t->n;
    double step = t->step * step_us(p, t->m, t->n);
    double epilogue = t->epilogue * p->te * t->m * t->n;
    double tile = f->steps * step + epilogue;
    /* No SM has fewer tiles than its share of the output: most shapes end here. */
    if (f->share >= area && f->share * tile >= f->best * area)
        return;
    out->count =
        ceil_div(p->m, (uint64_t)(int64_t)t->m) * ceil_div(p->n, (uint64_t)(int64_t)t->n);
    out->area = area;
    out->each = to_double(out->count) / to_double(p->sms);
    out->step = step;
    out->epilogue = epilogue;
    if (fmax_one(out->each) * tile < f->best) {
        double us = count_waves(p, out, 1, out->each) * tile;
        if (us < f->best)
            f->best = us;
    }
    if (out->count < p->sms)
        f->idle_count++;
}

/* All shapes the GEMM may be cut in, and one more where none of them has the rows. */
static void search_tiles(const struct gemm *p, struct search *f) {
    const struct sc__gemm_constants *c = &p->gpu->gemm;
    const struct sc__gemm_tile only = {p->only.m, p->only.n, 1, 1};
    const struct sc__gemm_tile *tiles = c->tile_count ? c->tiles : usual_tiles;
    unsigned count = c->tile_count ? c->tile_count : USUAL_TILES;
    f->best = INFINITY;
    f->idle_count = 0;
    f->steps = count_steps(p, 1);
    f->share = BOUND * to_double(p->m) * to_double(p->n) / to_double(p->sms);
    if (p->only.m) {
        tiles = &only;
        count = 1;
    }
    for (unsigned i = 0; i < count; i++)
        if (!p->rows || (uint64_t)tiles[i].m == p->rows)
            try_tile(p, &tiles[i], f);
    if (isinf(f->best)) /* a list without tiles of so many rows */
        try_tile(p, &(struct sc__gemm_tile){128, 128, 1, 1}, f);
}

/* Least time of the waves over the tiles that leave SMs idle, k split into s parts, if
 * it is below a limit. */
static double
split_waves_us(const struct gemm *p, const struct search *f, uint64_t s, double limit) {
    double steps = count_steps(p, s);
    double best = limit;
    bool found = false;
    for (const struct tiling *t = f->idle; t < f->idle + f->idle_count; t++) {
        double tile = steps * t->step + t->epilogue;
        double each = t->each * to_double(s);
        /* No fewer waves than this: most tiles are passed over here. */
        if (fmax_one(each) * tile >= best)
            continue;
        double us = count_waves(p, t, s, each) * tile;
        found |= us < best;
        best = us < best ? us : best;
    }
    return found ? best : INFINITY;
}

static double sixth_power(double x) {
    double cube = x * x * x;
    return cube * cube;
}

/* The smooth maximum over what limits a GEMM: the q-norm, because the limits
 * overlap only in part (q → infinity would be perfect overlap, q = 1 none).
 * Where k is short, tiles are written while others are computed, and no faster
 * than the memory takes them: a floor, not one more term.
 * Where the chip's rate is what the power allows, SMs that wait in the last wave leave it
 * to the others: waves and chip overlap nearly in full (the 6-norm). */
static double limited_by(const struct gemm *p, double waves, double others) {
    double q = p->gpu->gemm.q;
    double busy = p->gpu->gemm.hot_us > 0
                      ? pow(sixth_power(waves) + sixth_power(p->chip), q / 6)
                      : pow(waves, q);
    return fmax(pow(busy + others, 1 / q), p->floor);
}

/* What the memory and the chip add to that, whatever the tiles. */
static double other_limits(const struct gemm *p, double memory) {
    double q = p->gpu->gemm.q;
    return pow(memory, q) + (p->gpu->gemm.hot_us > 0 ? 0 : pow(p->chip, q));
}

/* What a split of k into s parts costs more: a second kernel that reads s
 * partial sums in fp32 (4 s bytes an element) and writes the result in bf16. */
static double split_us(const struct sc__gpu *gpu, uint64_t s, double area) {
    const struct sc__gemm_constants *c = &gpu->gemm;
    if (s == 1)
        return 0;
    return c->ts + or_one(c->split) * (4 * to_double(s) + 2) * area / c->bw;
}

/* Whether k is long enough for s parts. */
static bool can_split(const struct sc__gpu *gpu, uint64_t k, uint64_t s) {
    double least = gpu->gemm.split_k > 0 ? gpu->gemm.split_k : 256;
    return s == 1 || to_double(k) >= least * to_double(s);
}

/* What a lower clock under load makes of a time: within tens of us the clock falls by a
 * step, as the first load is felt, within milliseconds to what the power limit allows. */
static double clock_factor(const struct sc__gpu *gpu, enum sc__dtype type, double us) {
    const struct sc__gemm_constants *c = &gpu->gemm;
    const struct sc__gemm_dtype *f = &gpu->dtype[available(gpu, type)];
    if (!(c->hot_us > 0))
        return 1;
    double hot = f->felt > 0 ? fmax(0, f->felt - 1) : c->hot;
    double limit = f->felt > 0 ? fmax(0, f->limited - f->felt) : c->limit;
    double loaded = c->hot_us / us;
    double limited = c->limit_us / us;
    loaded *= loaded;
    return 1 + hot / (1 + loaded * loaded) + limit / (1 + limited * limited);
}

/* The load lasts as long as the layers that are timed in turn: so many where the constants
 * of the clock are as they are. */
#define USUAL_LAYERS 5

/* What a GEMM takes whatever its tiles. */
struct limits {
    double others; /* of the smooth maximum, to the power q */
    double least;  /* us */
    double clock;  /* factors on the waves */
    double odd;
};

/* With k split into parts, where that beats the best without. */
static double split_gemm_us(const struct gemm *p,
                            const struct search *f,
                            const struct limits *l,
                            double best) {
    const struct sc__gpu *gpu = p->gpu;
    double area = to_double(p->m) * to_double(p->n);
    double odd_us = p->m & 1 ? gpu->gemm.split_odd : 0;
    for (unsigned i = 1; i < sizeof splits / sizeof *splits; i++) {
        uint64_t s = splits[i];
        if (!can_split(gpu, p->k, s))
            break;
        double fixed = p->t0 + split_us(gpu, s, area) + odd_us;
        /* The smooth maximum is never below its largest term, so neither this
         * test nor the ones below can drop the best: they only save time. */
        if (l->least + fixed >= best)
            continue;
        double limit = (best - fixed) / (BOUND * l->clock * l->odd);
        double waves = l->clock * split_waves_us(p, f, s, limit) * l->odd;
        if (waves + fixed < best)
            best = fmin(best, limited_by(p, waves, l->others) + fixed);
    }
    return best;
}

static double gemm_us(const struct sc__gpu *gpu,
                      enum sc__dtype type,
                      uint64_t m,
                      uint64_t n,
                      uint64_t k,
                      double layers) {
    struct gemm p = describe(gpu, type, 1, m, n, k, layers);
    struct search f;
    double load = layers > 0 ? layers / USUAL_LAYERS : 1;
    struct limits l = {.clock = clock_factor(gpu, type, load * p.chip),
                       .odd = m & 1 ? 1 + gpu->gemm.odd : 1};
    search_tiles(&p, &f);
    p.chip *= l.clock;
    l.others = other_limits(&p, p.memory);
    l.least = fmax(fmax(p.memory, p.chip), p.floor);
    double us = limited_by(&p, l.clock * f.best * l.odd, l.others) + p.t0;
    if (p.only.m || p.rows || !f.idle_count)
        return us;
    return split_gemm_us(&p, &f, &l, us);
}

double sc__gemm_us(
    const struct sc__gpu *gpu, enum sc__dtype type, uint64_t m, uint64_t n, uint64_t k) {
    return gemm_us(gpu, type, m, n, k, 0);
}

static double grouped_waves(
    const struct gemm *p, uint64_t batch, double step, double epilogue, double tile) {
    double best = INFINITY;
    double steps = (double)ceil_div(p->k, p->k_step);
    for (unsigned i = 0; i < GROUPED_TILES; i++) {
        const struct tile *t = &grouped_tiles[i];
        double waves =
            (double)ceil_div(batch * ceil_div(p->m, t->m) * ceil_div(p->n, t->n), p->sms);
        best = fmin(best,
                    waves * (steps * step_us(p, t->m, t->n) * step +
                             epilogue * t->m * t->n + tile));
    }
    return best;
}

static double grouped_us(const struct sc__gpu *gpu,
                         enum sc__dtype type,
                         uint64_t experts,
                         uint64_t m,
                         uint64_t n,
                         uint64_t k) {
    const struct sc__grouped_constants *c = &gpu->grouped;
    struct gemm p = describe(gpu, type, experts, m, n, k, 0);
    return limited_by(&p,
                      grouped_waves(&p, experts, c->step, p.te, c->tile),
                      other_limits(&p, p.memory * or_one(c->memory))) +
           c->t0;
}

/* Four-byte types have no other kernels, two-byte ones whose rows begin where no load of 16
 * bytes can neither. */
const double *sc__fallback_batched_constants(const struct sc__gpu *gpu,
                                             enum sc__dtype type,
                                             uint64_t sizes) {
    enum sc__dtype t = available(gpu, type);
    enum sc__fallback_batched which;
    if (t == SC__FP32)
        which = SC__BATCHED_FP32;
    else if (t == SC__TF32)
        which = sizes & 3 ? SC__BATCHED_TF32_UNALIGNED : SC__BATCHED_TF32;
    else if (sc__dtype_bytes(t) == 2 && sizes & 7)
        which = sizes & 1 ? SC__BATCHED_ODD : SC__BATCHED_UNALIGNED;
    else
        return NULL;
    const double *c = gpu->batched_fallback[which];
    return c[SC__FALLBACK_T0] > 0 ? c : NULL;
}

static double fallback_batched_us(const double *c, const struct gemm *p, uint64_t batch) {
    double m = to_double(p->m);
    double n = to_double(p->n);
    double k = to_double(p->k);
    double count = to_double(batch);
    double bytes = p->element * count * (m * k + n * k + m * n);
    double waves = sc__fallback_waves(p->gpu, c, count, (double[]){m, n, k}, 1);
    double us = sc__smooth_max(waves, bytes / c[SC__FALLBACK_BW], c[SC__FALLBACK_Q]);
    /* GPUs with the same clock and fewer units are bound by these. */
    return c[SC__FALLBACK_T0] + fmax(us, fmax(p->chip, p->floor));
}

double sc__gemm_batched_us(const struct sc__gpu *gpu,
                           enum sc__dtype type,
                           uint64_t batch,
                           uint64_t m,
                           uint64_t n,
                           uint64_t k) {
    const struct sc__batched_constants *c = &gpu->batched;
    struct gemm p = describe(gpu, type, batch, m, n, k, 0);
    const double *fallback = sc__fallback_batched_constants(gpu, type, m | n | k);
    if (fallback)
        return fallback_batched_us(fallback, &p, batch);
    return limited_by(&p,
                      grouped_waves(&p, batch, c->step, 0, 0),
                      other_limits(&p, p.memory * c->memory)) +
           c->t0;
}

/* ---- sizes that are no multiple of 8, or of 4 in tf32 ---- */

/* Leading dimensions: of the operands k and k (forward), k and n (input
 * gradient), m and n (weight gradient); of the output n. They are or-ed: only
 * the low bits, which say what divides all of them, are looked at. */
static uint64_t leading(const struct sc__kernel_key *key) {
    return key->size[1] | (key->size[5] == SC__LAYOUT_WGRAD ? key->size[0] : key->size[2]);
}

/* Loads of 16 bytes: 8 elements of bf16, 4 of tf32. */
bool sc__gemm_unaligned(const struct sc__kernel_key *key) {
    if (key->what != SC__KERNEL_OP_GEMM)
        return false;
    if (key->dtype == SC__TF32)
        return leading(key) & 3;
    return sc__dtype_bytes(key->dtype) == 2 && leading(key) & 7;
}

uint64_t sc__gemm_layout(const struct sc__kernel_key *key, enum sc__gemm_layout layout) {
    if (key->dtype == SC__TF32)
        return layout;
    return (key->size[0] | key->size[1] | key->size[2]) & 7 ? layout : SC__LAYOUT_FORWARD;
}

/* An odd one leaves kernels that load single elements; they differ by layout. */
static double unaligned_rate(const struct sc__unaligned_constants *c,
                             const struct sc__kernel_key *key) {
    if (key->dtype == SC__TF32)
        return key->size[5] == SC__LAYOUT_WGRAD ? c->tf32_wgrad : c->tf32;
    if (!(leading(key) & 1))
        return c->even;
    if (key->size[5] == SC__LAYOUT_DGRAD)
        return c->odd_dgrad;
    if (key->size[5] == SC__LAYOUT_WGRAD)
        return c->odd_wgrad;
    return key->size[2] & 7 ? c->odd : c->odd_n;
}

/* Tiles of 128x256, for odd ones and tf32 of 128x128 too, in steps of 32; k is split up
 * to four waves. */
static double unaligned_us(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    static const struct tile shapes[] = {{128, 256}, {256, 128}, {128, 128}};
    uint64_t m = key->size[0];
    uint64_t n = key->size[1];
    uint64_t k = key->size[2];
    uint64_t sms = (uint64_t)gpu->sms;
    bool odd = key->dtype == SC__TF32 || leading(key) & 1;
    double rate = unaligned_rate(&gpu->unaligned, key) / gpu->sms;
    double te = odd ? 0 : gpu->unaligned.te;
    double best = INFINITY;
    double area = (double)m * (double)n;
    if (!(rate > 0))
        return 0;
    for (unsigned i = 0; i < (odd ? 3 : 2); i++) {
        uint64_t count = ceil_div(m, shapes[i].m) * ceil_div(n, shapes[i].n);
        double tile = (double)shapes[i].m * shapes[i].n;
        for (unsigned j = 0; j < sizeof splits / sizeof *splits; j++) {
            uint64_t s = splits[j];
            uint64_t steps = ceil_div(ceil_div(k, 32), s);
            if (s > 1 && (k < 256 * s || count >= 4 * sms))
                break;
            /* a step is 32 deep: 2 · 32 FLOP for each element of the tile */
            double waves =
                (double)ceil_div(count * s, sms) * tile * ((double)steps * 64 / rate + te);
            best = fmin(best, waves + split_us(gpu, s, area));
        }
    }
    return best + gpu->gemm.t0;
}

enum sc__memory_op sc__quantize_op(enum sc__dtype t) {
    if (t == SC__FP8_BLOCK)
        return SC__MEM_QUANTIZE_FP8_BLOCK;
    return t == SC__FP4 ? SC__MEM_QUANTIZE_FP4 : SC__MEM_QUANTIZE_FP8;
}

/* Hopper's tf32 has no instructions for transposed operands: gradients take longer. */
static double transposed(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const struct sc__gemm_dtype *f = &gpu->dtype[key->dtype];
    if (key->dtype != SC__TF32 || !(gpu->peak[SC__TF32] > 0))
        return 1;
    if (key->size[5] == SC__LAYOUT_DGRAD)
        return or_one(f->dgrad);
    return key->size[5] == SC__LAYOUT_WGRAD ? or_one(f->wgrad) : 1;
}

/* Adding to an fp32 buffer: us per 1e6 elements of the output, and more the shorter k is,
 * but no longer than a kernel that does nothing else. */
static double accumulate_us(const struct sc__gpu *gpu, uint64_t m, uint64_t n, uint64_t k) {
    double fused = (gpu->accumulate.element + gpu->accumulate.over_k / to_double(k)) *
                   to_double(m) * to_double(n) * 1e-6;
    return fmin(fused, sc__memory_op_us(gpu, SC__MEM_ACCUMULATE_FP32, SC__BF16, m, n));
}

double sc__gemm_layers_cost(const struct sc__gpu *gpu,
                            const struct sc__kernel_key *key,
                            double layers) {
    uint64_t m = key->size[0];
    uint64_t n = key->size[1];
    uint64_t k = key->size[2];
    uint64_t batch = key->size[3];
    if (key->what == SC__KERNEL_OP_GROUPED)
        return grouped_us(gpu, key->dtype, batch, m, n, k);
    if (key->what == SC__KERNEL_OP_BATCHED)
        return sc__gemm_batched_us(gpu, key->dtype, batch, m, n, k);
    enum sc__dtype type = available(gpu, key->dtype);
    const double *product = sc__product_constants(gpu, type, key->size[5]);
    double us = product ? sc__product_us(gpu, product, m, n, k)
                        : gemm_us(gpu, key->dtype, m, n, k, layers) * transposed(gpu, key);
    us *= (key->size[4] ? gpu->bias : 1);
    if (key->size[7] && sc__dtype_bytes(type) < 2)
        us += sc__memory_op_us(gpu, sc__quantize_op(type), SC__BF16, m, k);
    if (key->size[6])
        us += accumulate_us(gpu, m, n, k);
    return sc__gemm_unaligned(key) ? fmax(us, unaligned_us(gpu, key)) : us;
}

double sc__gemm_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    return sc__gemm_layers_cost(gpu, key, 0);
}

/* Energy of a FLOP over one of bf16. Twice the peak within the same power
 * means half the energy, so the ratio of the peaks stands in for it. */
double sc__flop_energy(const struct sc__gpu *g, enum sc__dtype t) {
    t = available(g, t);
    if (g->dtype[t].energy > 0)
        return g->dtype[t].energy;
    return g->peak[t] > 0 ? sc__gpu_main_peak(g) / g->peak[t] : 1;
}

static struct sc__kernel
gemm(struct sc__kernel_model *p, const char *name, const struct sc__kernel_key *key) {
    enum sc__dtype t = key->dtype;
    double m = (double)key->size[0];
    double n = (double)key->size[1];
    double k = (double)key->size[2];
    double batch = (double)key->size[3];
    double flop = 2 * batch * m * n * k;
    struct sc__kernel kernel = {.name = name ? name : "gemm",
                                .kind = SC__KERNEL_GEMM,
                                .work = SC__WORK_GEMM};
    if (!(flop > 0))
        return kernel;
    kernel.us = sc__kernel_us(p, key, &kernel.measured);
    kernel.flop = flop;
    kernel.effort = flop * sc__flop_energy(p->gpu, t);
    kernel.bytes = batch * (sc__dtype_bytes(t) * (m * k + n * k) +
                            fmax(2, sc__dtype_bytes(t)) * m * n);
    kernel.launches = p->gpu->launches[SC__KERNEL_GEMM];
    return kernel;
}

static struct sc__kernel_key gemm_key(enum sc__kernel_op what,
                                      enum sc__dtype t,
                                      uint64_t batch,
                                      uint64_t m,
                                      uint64_t n,
                                      uint64_t k) {
    return (struct sc__kernel_key){.what = what, .dtype = t, .size = {m, n, k, batch}};
}

struct sc__kernel sc__gemm(struct sc__kernel_model *p,
                           const char *name,
                           enum sc__dtype t,
                           uint64_t m,
                           uint64_t n,
                           uint64_t k) {
    struct sc__kernel_key key = gemm_key(SC__KERNEL_OP_GEMM, t, 1, m, n, k);
    return gemm(p, name, &key);
}

struct sc__kernel sc__gemm_bias(struct sc__kernel_model *p,
                                const char *name,
                                enum sc__dtype t,
                                uint64_t m,
                                uint64_t n,
                                uint64_t k) {
    struct sc__kernel_key key = gemm_key(SC__KERNEL_OP_GEMM, t, 1, m, n, k);
    key.size[4] = 1;
    return gemm(p, name, &key);
}

struct sc__kernel sc__gemm_dgrad(struct sc__kernel_model *p,
                                 const char *name,
                                 enum sc__dtype t,
                                 uint64_t m,
                                 uint64_t n,
                                 uint64_t k) {
    struct sc__kernel_key key = gemm_key(SC__KERNEL_OP_GEMM, t, 1, m, n, k);
    key.size[5] = sc__gemm_layout(&key, SC__LAYOUT_DGRAD);
    return gemm(p, name, &key);
}

struct sc__kernel sc__gemm_wgrad(struct sc__kernel_model *p,
                                 const char *name,
                                 enum sc__dtype t,
                                 uint64_t m,
                                 uint64_t n,
                                 uint64_t k,
                                 bool accumulate) {
    struct sc__kernel_key key = gemm_key(SC__KERNEL_OP_GEMM, t, 1, m, n, k);
    key.size[5] = sc__gemm_layout(&key, SC__LAYOUT_WGRAD);
    key.size[6] = accumulate;
    struct sc__kernel kernel = gemm(p, name, &key);
    /* reads and writes fp32 (8 bytes) where bf16 was written (2) */
    if (accumulate)
        kernel.bytes += 6 * (double)m * (double)n;
    kernel.phase = SC__WGRAD;
    return kernel;
}

struct sc__kernel sc__gemm_grouped(struct sc__kernel_model *p,
                                   const char *name,
                                   enum sc__dtype t,
                                   uint64_t experts,
                                   uint64_t m,
                                   uint64_t n,
                                   uint64_t k) {
    struct sc__kernel_key key = gemm_key(SC__KERNEL_OP_GROUPED, t, experts, m, n, k);
    return gemm(p, name, &key);
}

struct sc__kernel sc__gemm_batched(struct sc__kernel_model *p,
                                   const char *name,
                                   enum sc__dtype t,
                                   uint64_t batch,
                                   uint64_t m,
                                   uint64_t n,
                                   uint64_t k) {
    struct sc__kernel_key key = gemm_key(SC__KERNEL_OP_BATCHED, t, batch, m, n, k);
    return gemm(p, name, &key);
}
