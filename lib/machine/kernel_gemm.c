/* kernel_gemm: matrix products. The output is cut into tiles, one per SM and
 * wave; a tile walks along k in steps of 64 (128 for one-byte types):
 *
 *     time = smooth maximum of (waves · time of a tile, memory, power-free
 *            chip rate) + fixed, least over tile shapes and splits of k
 *
 * For one split the time grows with the time of the waves alone, so the least
 * over tiles is found before any power is taken. */
#include "machine/kernel.h"
#include "machine/kernel_price.h"

#include <math.h>

static const struct tile {
    uint16_t m, n;
} tiles[] = {{256, 128}, {128, 256}, {192, 192}, {320, 128}, {128, 320}, {192, 128}, {128, 192},
             {160, 128}, {128, 160}, {128, 128}, {96, 128},  {128, 96},  {64, 128},  {128, 64},
             {64, 64},   {64, 256},  {256, 64},  {64, 192},  {192, 64}},
  grouped_tiles[] = {{128, 128}, {128, 256}, {256, 128}, {64, 128}, {128, 64}, {64, 256}};

enum { TILES = sizeof tiles / sizeof *tiles, GROUPED_TILES = sizeof grouped_tiles / sizeof *grouped_tiles };

static const uint64_t splits[] = {1, 2, 3, 4, 6, 8, 16};

static uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* The constants of one product. */
struct product {
    const struct sc__gpu *gpu;
    double r, b, rp;     /* FLOP/us of an SM; us per (bm + bn) and step; FLOP/us of the chip */
    double element, out; /* bytes of an operand's and of the output's element */
    uint64_t m, n, k, k_step, sms;
    double per_tile; /* us more for each tile */
};

/* A type without fitted factors is as fast as its peak says. */
static double factor_of(const struct sc__gpu *g, enum sc__dtype t, double fitted) {
    double base = g->peak[SC__BF16] > 0 ? g->peak[SC__BF16] : g->peak[SC__FP16];
    if (fitted > 0) return fitted;
    return g->peak[t] > 0 ? g->peak[t] / base : 1;
}

static struct product describe(const struct sc__gpu *g, enum sc__dtype t, uint64_t m, uint64_t n, uint64_t k) {
    const struct sc__gemm_dtype *f = &g->dtype[t];
    struct product p = {.gpu = g, .m = m, .n = n, .k = k, .k_step = 64, .sms = (uint64_t)g->sms};
    p.element = sc__dtype_bytes(t);
    p.out = fmax(2, p.element);
    if (p.element < 2) p.k_step = (uint64_t)(128 / p.element);
    p.r = g->gemm.r * factor_of(g, t, f->r);
    p.rp = g->gemm.rp * factor_of(g, t, f->rp);
    p.b = g->gemm.b * (f->b > 0 ? f->b : 1) * (p.element > 2 ? p.element / 2 : 1);
    return p;
}

static double step_us(const struct product *p, const struct tile *t) {
    return 2.0 * t->m * t->n * (double)p->k_step / p->r + p->b * (t->m + t->n);
}

/* Least time of the waves over the tiles, k split into s parts. */
static double waves_us(const struct product *p, uint64_t s) {
    uint64_t steps = ceil_div(ceil_div(p->k, p->k_step), s);
    double best = INFINITY;
    for (unsigned i = 0; i < TILES; i++) {
        const struct tile *t = &tiles[i];
        uint64_t count = ceil_div(p->m, t->m) * ceil_div(p->n, t->n);
        if (s > 1 && count >= p->sms) continue;
        double waves = (double)ceil_div(count * s, p->sms);
        double us = waves * ((double)steps * step_us(p, t) + p->gpu->gemm.te * t->m * t->n);
        best = fmin(best, us);
    }
    return best;
}

double sc__gemm_us(const struct sc__gpu *gpu, enum sc__dtype type, uint64_t m, uint64_t n, uint64_t k) {
    const struct sc__gemm_constants *c = &gpu->gemm;
    struct product p = describe(gpu, type, m, n, k);
    double dm = (double)m, dn = (double)n, dk = (double)k, best = INFINITY;
    double memory = (p.element * (dm * dk + dn * dk) + p.out * c->w * dm * dn) / c->bw, chip = 2 * dm * dn * dk / p.rp;
    double other = pow(memory, c->q) + pow(chip, c->q), floor = fmax(memory, chip);
    for (unsigned i = 0; i < sizeof splits / sizeof *splits; i++) {
        uint64_t s = splits[i];
        if (s > 1 && k < 256 * s) break;
        double fixed = c->t0 + (s > 1 ? c->ts + (4 * (double)s + 2) * dm * dn / c->bw : 0);
        if (floor + fixed >= best) continue;
        double waves = waves_us(&p, s);
        if (waves + fixed >= best) continue;
        best = fmin(best, pow(pow(waves, c->q) + other, 1 / c->q) + fixed);
    }
    return best;
}

double sc__gemm_grouped_us(const struct sc__gpu *gpu, enum sc__dtype type, uint64_t experts, uint64_t m, uint64_t n,
                           uint64_t k) {
    const struct sc__gemm_constants *c = &gpu->gemm;
    struct product p = describe(gpu, type, m, n, k);
    double e = (double)experts, dm = (double)m, dn = (double)n, dk = (double)k, waves = INFINITY;
    for (unsigned i = 0; i < GROUPED_TILES; i++) {
        const struct tile *t = &grouped_tiles[i];
        double count = (double)ceil_div(experts * ceil_div(m, t->m) * ceil_div(n, t->n), p.sms);
        double steps = (double)ceil_div(k, p.k_step);
        waves =
            fmin(waves, count * (steps * step_us(&p, t) * gpu->grouped.step + c->te * t->m * t->n + gpu->grouped.tile));
    }
    double memory = e * (p.element * (dm * dk + dn * dk) + p.out * c->w * dm * dn) / c->bw,
           chip = 2 * e * dm * dn * dk / p.rp;
    return pow(pow(waves, c->q) + pow(memory, c->q) + pow(chip, c->q), 1 / c->q) + gpu->grouped.t0;
}

static double price_gemm(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    double us = sc__gemm_us(gpu, key->dtype, key->size[0], key->size[1], key->size[2]);
    return key->size[4] ? us * gpu->bias : us;
}

static double price_grouped(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    return sc__gemm_grouped_us(gpu, key->dtype, key->size[3], key->size[0], key->size[1], key->size[2]);
}

/* Tiles of all the products share the waves; the memory of each is its own. */
static double price_batched(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    double grouped = sc__gemm_grouped_us(gpu, key->dtype, key->size[3], key->size[0], key->size[1], key->size[2]);
    return (grouped - gpu->grouped.t0) * gpu->batched + gpu->gemm.t0;
}

static struct sc__kernel product(struct sc__pricer *p, const char *name, const struct sc__kernel_key *key,
                                 double (*price)(const struct sc__gpu *gpu, const struct sc__kernel_key *key)) {
    enum sc__dtype t = key->dtype;
    double m = (double)key->size[0], n = (double)key->size[1], k = (double)key->size[2], batch = (double)key->size[3];
    double flop = 2 * batch * m * n * k, energy = p->gpu->dtype[t].energy;
    struct sc__kernel kernel = {.name = name ? name : "gemm", .kind = SC__KERNEL_GEMM, .work = SC__WORK_GEMM};
    if (!(flop > 0)) return kernel;
    kernel.us = sc__kernel_us(p, key, &kernel.measured, price);
    kernel.flop = flop;
    kernel.effort = flop * (energy > 0 ? energy : 1);
    kernel.bytes = batch * (sc__dtype_bytes(t) * (m * k + n * k) + fmax(2, sc__dtype_bytes(t)) * m * n);
    kernel.launches = p->gpu->launches[SC__KERNEL_GEMM];
    return kernel;
}

static struct sc__kernel_key gemm_key(enum sc__priced what, enum sc__dtype t, uint64_t batch, uint64_t m, uint64_t n,
                                      uint64_t k) {
    return (struct sc__kernel_key){.what = what, .dtype = t, .size = {m, n, k, batch}};
}

struct sc__kernel sc__gemm(struct sc__pricer *p, const char *name, enum sc__dtype t, uint64_t m, uint64_t n,
                           uint64_t k) {
    struct sc__kernel_key key = gemm_key(SC__PRICED_GEMM, t, 1, m, n, k);
    return product(p, name, &key, price_gemm);
}

struct sc__kernel sc__gemm_bias(struct sc__pricer *p, const char *name, enum sc__dtype t, uint64_t m, uint64_t n,
                                uint64_t k) {
    struct sc__kernel_key key = gemm_key(SC__PRICED_GEMM, t, 1, m, n, k);
    key.size[4] = 1;
    return product(p, name, &key, price_gemm);
}

struct sc__kernel sc__gemm_grouped(struct sc__pricer *p, const char *name, enum sc__dtype t, uint64_t experts,
                                   uint64_t m, uint64_t n, uint64_t k) {
    struct sc__kernel_key key = gemm_key(SC__PRICED_GROUPED, t, experts, m, n, k);
    return product(p, name, &key, price_grouped);
}

struct sc__kernel sc__gemm_batched(struct sc__pricer *p, const char *name, enum sc__dtype t, uint64_t batch, uint64_t m,
                                   uint64_t n, uint64_t k) {
    struct sc__kernel_key key = gemm_key(SC__PRICED_BATCHED, t, batch, m, n, k);
    return product(p, name, &key, price_batched);
}
