/* kernel_moe: the two products are grouped: the tiles of all experts share the waves.
 *
 *     tiles  = sum over experts of ceil(load/bm), or for less than a token the
 *              chance that one comes;  times ceil(n/bn)
 *     waves  = least over tiles of
 *              W (ceil(k/64) (b (bm + bn) + 128 bm bn/r) + te bm bn)
 *     memory = (2 n k (experts with a token) + 2 rows (n + k))/bw, less what the
 *              cache saves as in GEMMs
 *     chip   = 2 rows n k/rp
 *     t      = fixed + expert experts + hidden (permute tokens + sort rows)
 *              + sum over both of max((waves^q + memory^q)^(1/q), chip)
 *
 * An expert's width is rounded up to a multiple of `pad`: its weights are stored so. */
#include "hardware/kernel_moe.h"

#include "hardware/kernel_model.h"

#include <math.h>
#include <stdlib.h>

/* ---- loads ---- */

/* The shares of a power law between one token and 0.8 of them: its quantiles, the
 * same every time. */
static void draw_loads(const struct sc__moe *moe, double *all) {
    double total = (double)moe->tokens * (double)moe->topk;
    double most = 0.8 * (double)moe->tokens;
    double a = moe->exponent;
    double sum = 0;
    for (uint64_t i = 0; i < moe->experts; i++) {
        double u = ((double)i + 0.5) / (double)moe->experts;
        bool flat = !(a > 0) || most <= 1;
        if (flat)
            all[i] = 1;
        else if (fabs(a - 1) < 1e-9)
            all[i] = pow(most, u);
        else
            all[i] = pow((pow(most, 1 - a) - 1) * u + 1, 1 / (1 - a));
        sum += all[i];
    }
    /* no expert gets a token twice */
    for (uint64_t i = 0; i < moe->experts; i++)
        all[i] = fmin(all[i] / sum * total, (double)moe->tokens);
}

/* Which expert is where: a fixed shuffle. */
static void shuffle(double *all, uint64_t count) {
    uint64_t seed = 1;
    for (uint64_t i = count; i > 1; i--) {
        uint64_t j = sc__random(&seed) % i;
        double kept = all[i - 1];
        all[i - 1] = all[j];
        all[j] = kept;
    }
}

unsigned sc__moe_loads(const struct sc__moe *moe, double loads[SC__MOE_EXPERTS]) {
    double all[SC__MOE_EXPERTS];
    uint64_t local = moe->experts / moe->ep;
    uint64_t first = 0;
    double heaviest = -1;
    draw_loads(moe, all);
    shuffle(all, moe->experts);
    for (uint64_t r = 0; r < moe->ep; r++) {
        double sum = 0;
        for (uint64_t i = 0; i < local; i++)
            sum += all[r * local + i];
        if (sum > heaviest) {
            heaviest = sum;
            first = r * local;
        }
    }
    for (uint64_t i = 0; i < local; i++)
        loads[i] = all[first + i];
    return (unsigned)local;
}

/* ---- time ---- */

static const double tile_rows[] = {16, 32, 64, 128};
static const double tile_columns[] = {64, 128, 256};

enum {
    ROWS = sizeof tile_rows / sizeof *tile_rows,
    COLUMNS = sizeof tile_columns / sizeof *tile_columns
};

struct grouped {
    double rows;        /* of all experts */
    double busy;        /* experts with a token */
    double tiles[ROWS]; /* down, by the rows of a tile */
};

static struct grouped count_tiles(const double *loads, unsigned count) {
    struct grouped g = {0};
    for (unsigned i = 0; i < count; i++) {
        double any = fmin(1, loads[i]);
        g.rows += loads[i];
        g.busy += any;
        for (unsigned j = 0; j < ROWS; j++)
            g.tiles[j] += loads[i] < 1 ? any : ceil(loads[i] / tile_rows[j]);
    }
    return g;
}

static double
product_us(const struct sc__gpu *gpu, const struct grouped *g, double n, double k) {
    const struct sc__moe_constants *c = &gpu->moe;
    double steps = ceil(k / 64);
    double waves = INFINITY;
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned j = 0; j < COLUMNS; j++) {
            double each = g->tiles[i] * ceil(n / tile_columns[j]) / gpu->sms;
            double count = (1 - c->wave) * ceil(each) + c->wave * fmax(1, each);
            double area = tile_rows[i] * tile_columns[j];
            double load = c->b * (tile_rows[i] + tile_columns[j]);
            double multiply = c->r > 0 ? 2 * 64 * area / c->r : 0;
            double tile = steps * (load + multiply) + c->te * area;
            waves = fmin(waves, count * tile);
        }
    double bytes = 2 * n * k * g->busy + 2 * g->rows * (n + k);
    double full = c->cache > 0 ? bytes / c->cache : INFINITY;
    double memory = bytes / c->bw * (1 - c->saved / (1 + full * full * full));
    double chip = 2 * g->rows * n * k / c->rp;
    return fmax(sc__smooth_max(waves, memory, c->q), chip);
}

double sc__moe_us(const struct sc__gpu *gpu, const struct sc__moe *moe) {
    const struct sc__moe_constants *c = &gpu->moe;
    double loads[SC__MOE_EXPERTS];
    if (!(c->bw > 0 && c->rp > 0))
        return 0;
    struct grouped g = count_tiles(loads, sc__moe_loads(moe, loads));
    double hidden = (double)moe->hidden;
    double inter = (double)moe->inter;
    if (c->pad > 0)
        inter = ceil(inter / c->pad) * c->pad;
    double moved = 1e-6 * hidden * (c->permute * (double)moe->tokens + c->sort * g.rows);
    return c->fixed + c->expert * (double)moe->experts + moved +
           product_us(gpu, &g, moe->plain ? inter : 2 * inter, hidden) +
           product_us(gpu, &g, hidden, inter);
}

double sc__moe_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const struct sc__moe moe = {.tokens = key->size[0],
                                .hidden = key->size[1],
                                .inter = key->size[2],
                                .topk = key->size[3],
                                .experts = key->size[4],
                                .ep = key->size[5],
                                .exponent = 1e-3 * (double)key->size[6],
                                .plain = key->size[7]};
    return sc__moe_us(gpu, &moe);
}
