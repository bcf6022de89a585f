/* kernel_moe: the two products are grouped: the tiles of all experts share the waves.
 *
 *     tiles  = sum over experts of ceil(load/bm), times ceil(n/bn)
 *     tile   = (ceil(k/64) (b (bm + bn) + 128 bm bn/r + step) + te bm bn)
 *              times the factors of its rows and of its columns
 *     waves  = W tile, W as of GEMMs
 *     memory = (2 n k (experts with a token) + 2 rows (n + k))/bw, less what the
 *              cache saves
 *     chip   = 2 rows n k/rp
 *     t      = fixed + expert experts + hidden (permute tokens + sort rows)
 *              + sum over both of max((waves^q + memory^q)^(1/q), chip)
 *
 * in the mean over several draws of the loads. The library chooses its kernel before it
 * knows them: the tile is the one with the least waves in the mean of the draws.
 * Calls that follow each other find in the cache what the call before left there, and
 * since all is read in the same order that is nothing once a call is larger than the
 * cache: the weights and activations of the whole call decide, and sharply.
 * An expert's width is rounded up to a multiple of `pad`: its weights are stored so. */
#include "hardware/kernel_moe.h"

#include "hardware/kernel_model.h"

#include <math.h>
#include <stdlib.h>

/* ---- loads ---- */

/* An expert while tokens are dealt. */
struct moe_expert {
    double load;
    uint64_t turn;  /* experts in turns: one of each GPU, then the next of each */
    uint64_t place; /* which it is */
};

/* A share of a power law between one token and 0.8 of them, or, where there are fewer
 * choices than experts, between 0.01 and 2. */
static double draw_share(const struct sc__moe *moe, uint64_t *seed) {
    bool few = (double)moe->tokens * (double)moe->topk <= (double)moe->experts;
    double least = few ? 0.01 : 1;
    double most = few ? 2 : 0.8 * (double)moe->tokens;
    double u = sc__random_unit(seed);
    double a = 1 - moe->exponent;
    if (most <= least)
        return 1;
    if (fabs(a) < 1e-9)
        return least * pow(most / least, u);
    return pow((pow(most, a) - pow(least, a)) * u + pow(least, a), 1 / a);
}

/* Shares that add up to all choices, in whole tokens; no expert gets a token twice. */
static void
draw_loads(const struct sc__moe *moe, uint64_t draw, struct moe_expert *experts) {
    uint64_t seed = sc__splitmix64(draw);
    uint64_t local = moe->experts / moe->ep;
    double total = (double)moe->tokens * (double)moe->topk;
    double sum = 0;
    for (uint64_t i = 0; i < moe->experts; i++) {
        experts[i].place = i;
        experts[i].turn = i % local * moe->ep + i / local;
        experts[i].load = moe->exponent > 0 ? draw_share(moe, &seed) : 1;
        sum += experts[i].load;
    }
    for (uint64_t i = 0; i < moe->experts; i++) {
        double share = experts[i].load / sum * total;
        double whole = moe->exponent > 0 ? nearbyint(share) : floor(share + 1e-9);
        experts[i].load = fmin(whole, (double)moe->tokens);
    }
}

static int by_load(const void *a, const void *b) {
    const struct moe_expert *x = a;
    const struct moe_expert *y = b;
    if (x->load != y->load)
        return (x->load > y->load) - (x->load < y->load);
    return (x->turn > y->turn) - (x->turn < y->turn);
}

/* What an expert can take (more) or give back. */
static double room_of(const struct sc__moe *moe, const struct moe_expert *e, bool more) {
    return more ? (double)moe->tokens - e->load : e->load;
}

/* One round: as many to each as there are for all that have room, one at least. Returns
 * how many were dealt. */
static double
deal_round(const struct sc__moe *moe, struct moe_expert *experts, double count, bool more) {
    uint64_t open = 0;
    double dealt = 0;
    for (uint64_t i = 0; i < moe->experts; i++)
        open += room_of(moe, &experts[i], more) >= 1;
    double each = open ? fmax(1, floor(count / (double)open)) : 0;
    for (uint64_t i = 0; i < moe->experts && dealt < count; i++) {
        struct moe_expert *e = &experts[more ? i : moe->experts - 1 - i];
        double tokens = fmin(each, room_of(moe, e, more));
        e->load += more ? tokens : -tokens;
        dealt += tokens;
    }
    return dealt;
}

/* What rounding left over goes to the experts with least, the same to each; what it made
 * too much is taken from those with most. */
static void deal_rest(const struct sc__moe *moe, struct moe_expert *experts) {
    double rest = (double)moe->tokens * (double)moe->topk;
    for (uint64_t i = 0; i < moe->experts; i++)
        rest -= experts[i].load;
    bool more = rest > 0;
    double count = fabs(rest);
    qsort(experts, (size_t)moe->experts, sizeof *experts, by_load);
    for (uint64_t i = 0; i < moe->experts && count >= 0.5; i++)
        count -= deal_round(moe, experts, count, more);
}

unsigned
sc__moe_loads(const struct sc__moe *moe, uint64_t draw, double loads[SC__MOE_EXPERTS]) {
    struct moe_expert experts[SC__MOE_EXPERTS];
    double sums[SC__MOE_EXPERTS] = {0};
    uint64_t local = moe->experts / moe->ep;
    uint64_t heaviest = 0;
    draw_loads(moe, draw, experts);
    deal_rest(moe, experts);
    for (uint64_t i = 0; i < local * moe->ep; i++)
        sums[experts[i].place / local] += experts[i].load;
    for (uint64_t r = 1; r < moe->ep; r++)
        if (sums[r] > sums[heaviest])
            heaviest = r;
    for (uint64_t i = 0; i < local * moe->ep; i++)
        if (experts[i].place / local == heaviest)
            loads[experts[i].place % local] = experts[i].load;
    return (unsigned)local;
}

/* ---- time ---- */

static const double tile_rows[SC__MOE_ROWS] = {8, 16, 32, 64, 128};
static const double tile_columns[SC__MOE_COLUMNS] = {64, 128, 256};

static struct sc__moe_draw count_tiles(const double *loads, unsigned count) {
    struct sc__moe_draw d = {0};
    for (unsigned i = 0; i < count; i++) {
        d.rows += loads[i];
        d.busy += loads[i] > 0;
        for (unsigned j = 0; j < SC__MOE_ROWS; j++)
            d.tiles[j] += ceil(loads[i] / tile_rows[j]);
    }
    return d;
}

static void draw_work(const struct sc__moe *moe, struct sc__moe_work *work) {
    double loads[SC__MOE_EXPERTS];
    work->moe = *moe;
    work->draws = moe->exponent > 0 ? SC__MOE_DRAWS : 1;
    for (unsigned i = 0; i < work->draws; i++)
        work->draw[i] = count_tiles(loads, sc__moe_loads(moe, i, loads));
}

/* One of the two products, and the bytes of the whole call for each expert and row. */
struct moe_product {
    double n;
    double k;
    double expert_bytes;
    double row_bytes;
};

static double or_one(double x) {
    return x > 0 ? x : 1;
}

static double tile_us(const struct sc__moe_constants *c, unsigned i, unsigned j, double k) {
    double area = tile_rows[i] * tile_columns[j];
    double multiply = c->r > 0 ? 2 * 64 * area / c->r : 0;
    double load = c->b * (tile_rows[i] + tile_columns[j]);
    return (ceil(k / 64) * (load + multiply + c->step) + c->te * area) *
           or_one(c->rows[i]) * or_one(c->columns[j]);
}

static double waves_of(const struct sc__gpu *gpu, double tiles) {
    double each = tiles / gpu->sms;
    return (1 - gpu->moe.wave) * ceil(each) + gpu->moe.wave * fmax(1, each);
}

/* Waves of each draw, of the tile that has least in the mean. */
static void choose_waves(const struct sc__gpu *gpu,
                         const struct sc__moe_work *work,
                         const struct moe_product *p,
                         double best[SC__MOE_DRAWS]) {
    double least = INFINITY;
    for (unsigned i = 0; i < SC__MOE_ROWS; i++)
        for (unsigned j = 0; j < SC__MOE_COLUMNS; j++) {
            double columns = ceil(p->n / tile_columns[j]);
            double tile = tile_us(&gpu->moe, i, j, p->k);
            double waves[SC__MOE_DRAWS];
            double sum = 0;
            for (unsigned d = 0; d < work->draws; d++) {
                waves[d] = tile * waves_of(gpu, work->draw[d].tiles[i] * columns);
                sum += waves[d];
            }
            if (sum >= least)
                continue;
            least = sum;
            for (unsigned d = 0; d < work->draws; d++)
                best[d] = waves[d];
        }
}

/* Share of the traffic that the cache saves. */
static double saved_part(const struct sc__moe_constants *c,
                         const struct moe_product *p,
                         double busy,
                         double rows) {
    static const double sharpness = 12;
    if (!(c->cache > 0))
        return 0;
    double full = (p->expert_bytes * busy + p->row_bytes * rows) / c->cache;
    return c->saved / (1 + pow(full, sharpness));
}

static double product_us(const struct sc__gpu *gpu,
                         const struct sc__moe_work *work,
                         const struct moe_product *p) {
    const struct sc__moe_constants *c = &gpu->moe;
    double waves[SC__MOE_DRAWS] = {0};
    double sum = 0;
    choose_waves(gpu, work, p, waves);
    for (unsigned i = 0; i < work->draws; i++) {
        const struct sc__moe_draw *d = &work->draw[i];
        double bytes = 2 * p->n * p->k * d->busy + 2 * d->rows * (p->n + p->k);
        double memory = bytes / c->bw * (1 - saved_part(c, p, d->busy, d->rows));
        double chip = 2 * d->rows * p->n * p->k / c->rp;
        sum += fmax(sc__smooth_max(waves[i], memory, c->q), chip);
    }
    return sum / work->draws;
}

double sc__moe_work_us(const struct sc__gpu *gpu, const struct sc__moe_work *work) {
    const struct sc__moe_constants *c = &gpu->moe;
    const struct sc__moe *moe = &work->moe;
    if (!(c->bw > 0 && c->rp > 0))
        return 0;
    double hidden = (double)moe->hidden;
    double inter = (double)moe->inter;
    if (c->pad > 0)
        inter = ceil(inter / c->pad) * c->pad;
    double widths =
        moe->plain ? 2 : 3; /* of inter: matrices of an expert, and activations */
    double rows = 0;
    for (unsigned i = 0; i < work->draws; i++)
        rows += work->draw[i].rows / work->draws;
    struct moe_product up = {.n = (widths - 1) * inter,
                             .k = hidden,
                             .expert_bytes = 2 * widths * inter * hidden,
                             .row_bytes = 2 * (2 * hidden + widths * inter)};
    struct moe_product down = up;
    down.n = hidden;
    down.k = inter;
    double moved = 1e-6 * hidden * (c->permute * (double)moe->tokens + c->sort * rows);
    return c->fixed + c->expert * (double)moe->experts + moved +
           product_us(gpu, work, &up) + product_us(gpu, work, &down);
}

double sc__moe_us(const struct sc__gpu *gpu, const struct sc__moe *moe) {
    struct sc__moe_work work;
    draw_work(moe, &work);
    return sc__moe_work_us(gpu, &work);
}

void sc__moe_prepare(const struct sc__kernel_key *key, struct sc__moe_work *work) {
    const struct sc__moe moe = {.tokens = key->size[0],
                                .hidden = key->size[1],
                                .inter = key->size[2],
                                .topk = key->size[3],
                                .experts = key->size[4],
                                .ep = key->size[5],
                                .exponent = 1e-3 * (double)key->size[6],
                                .plain = key->size[7]};
    draw_work(&moe, work);
}

double sc__moe_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    struct sc__moe_work work;
    sc__moe_prepare(key, &work);
    return sc__moe_work_us(gpu, &work);
}
