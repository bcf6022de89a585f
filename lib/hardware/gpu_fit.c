/* gpu_fit: for each group of kernels the constants they depend on are moved,
 * as factors, until the mean error is least: first all by one factor that
 * makes the median right, then one after the other, up and down, by steps that
 * grow where they help and shrink where they do not.
 * A group with few rows moves fewer constants: one for two rows. */
#include "base/sort.h"
#include "hardware/gpu_fit_constants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the least error ---- */

static double cost_of(const struct sc__fit_rows *g, const struct sc__kernel_row *row) {
    if (g->moe)
        return sc__moe_work_us(g->gpu, &g->moe[row - g->table->rows]);
    return sc__kernel_row_us(g->gpu, row);
}

/* Below this the rows are few. */
enum { FEW_ROWS = 400 };

/* What an error e = |ln(model/measured)| counts: half too fast and twice too slow alike.
 * s ln(1 + (e/s)²): small errors by their squares, those far above s, where the library
 * took another kernel or the measurement failed, hardly more than one another. Few
 * products cannot tell such rows, and count nearly as they are. Before Hopper a narrow s
 * suits the GPU and not its relatives: the RTX PRO 6000 from 40 rows and the L40S's
 * constants 8.8 instead of 7.3 %. */
static double error_counts(const struct sc__fit_rows *g, double e) {
    bool product = g->rows[0]->key.what <= SC__KERNEL_OP_BATCHED;
    if (product && g->count < FEW_ROWS)
        return e / (1 + e);
    double scale = g->tiles && !(g->gpu->gemm.resident > 0) ? 0.05 : 0.15;
    return scale * log1p(e * e / (scale * scale));
}

static double gpu_fit_error_of(const struct sc__fit_rows *g) {
    double sum = 0;
    for (uint32_t i = 0; i < g->count; i++)
        sum += error_counts(g, fabs(log(cost_of(g, g->rows[i]) / g->rows[i]->us)));
    return g->count ? sum / g->count : 0;
}

static double mean_percent(const struct sc__fit_rows *g) {
    double sum = 0;
    for (uint32_t i = 0; i < g->count; i++)
        sum += fabs(cost_of(g, g->rows[i]) / g->rows[i]->us - 1);
    return g->count ? 100 * sum / g->count : 0;
}

/* Starts from the right size: all constants times the median ratio, rates over
 * it; kept only where that helps. */
static void scale_to_median(struct sc__arena *arena, struct sc__fit_rows *g) {
    double *ratio = SC__NEW_ARRAY(arena, double, g->count);
    for (uint32_t i = 0; i < g->count; i++)
        ratio[i] = g->rows[i]->us / cost_of(g, g->rows[i]);
    sc__sort_doubles(ratio, g->count);
    double median = ratio[g->count / 2];
    double before = gpu_fit_error_of(g);
    double kept[SC__FIT_MOST];
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
    struct sc__fit_rows *g;
    unsigned n;
    double step[SC__FIT_MOST];  /* logarithm of the factor tried next */
    double moved[SC__FIT_MOST]; /* logarithm of the factor so far */
    double error;
};

enum { ROUNDS = 60 };

/* A few rows must not bend what they say little about: with fewer than 400 a constant
 * that moves by a factor e has to make up for 0.1 of a row's error, with more for 0.06,
 * and with fewer none moves by more than e². */
static const double PRICE_BY_FEW_ROWS = 0.1;
static const double PRICE_BY_MANY_ROWS = 0.06;
static const double FARTHEST = 2;

static const double FIRST_STEP = 0.1;
static const double LAST_STEP = 0.002;

static double price(double moved, const struct sc__fit_rows *g) {
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
static void descend(struct sc__fit_rows *g, unsigned n) {
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
static unsigned fitted_constants(const struct sc__fit_rows *g) {
    unsigned most = g->count / 2 ? g->count / 2 : 1;
    return g->parameter_count < most ? g->parameter_count : most;
}

static void fit_group(struct sc__arena *arena, struct sc__fit_rows *g) {
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
static uint32_t list_shapes(const struct sc__fit_rows *g, uint64_t *shapes) {
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
half_error(struct sc__arena *arena, const struct sc__fit_rows *whole, unsigned half) {
    double kept[SC__FIT_MOST];
    double error;
    struct sc__fit_rows in = *whole;
    struct sc__fit_rows out = *whole;
    in.rows = SC__NEW_ARRAY(arena, const struct sc__kernel_row *, whole->count);
    out.rows = SC__NEW_ARRAY(arena, const struct sc__kernel_row *, whole->count);
    uint64_t *shapes = SC__NEW_ARRAY(arena, uint64_t, whole->count + 1);
    uint32_t count = list_shapes(whole, shapes);
    in.count = out.count = 0;
    for (uint32_t i = 0; i < whole->count; i++) {
        struct sc__fit_rows *to =
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

static double held_out_error(struct sc__arena *arena, const struct sc__fit_rows *g) {
    double a = half_error(arena, g, 0);
    double b = half_error(arena, g, 1);
    return a < 0 || b < 0 ? -1 : 0.5 * (a + b);
}

/* ---- all groups ---- */

static void draw_experts(struct sc_context *ctx, struct sc__fit_rows *g) {
    g->moe = SC__NEW_ARRAY(&ctx->arena, struct sc__moe_work, g->table->count);
    for (uint32_t i = 0; i < g->count; i++)
        sc__moe_prepare(&g->rows[i]->key, &g->moe[g->rows[i] - g->table->rows]);
}

static struct sc__fit_rows collect(struct sc_context *ctx,
                                   struct sc__gpu_fit *fit,
                                   const struct sc__kernel_table *table,
                                   uint32_t number) {
    struct sc__fit_rows g = {
        .gpu = fit->gpu,
        .table = table,
        .tiles = fit->tiles,
        .rows = SC__NEW_ARRAY(&ctx->arena, const struct sc__kernel_row *, table->count)};
    for (uint32_t i = 0; i < table->count; i++) {
        const struct sc__kernel_row *r = &table->rows[i];
        if (!(r->us > 0) || sc__fit_group_of(fit->gpu, &r->key) != number)
            continue;
        /* Products alone say nothing of the cast, layers with it of both. */
        bool linear = r->key.what == SC__KERNEL_OP_GEMM && r->key.size[7];
        if (!g.count || (linear && !g.linear)) {
            g.linear = linear;
            g.parameter_count = 0;
            sc__fit_offer_constants(&g, fit->gpu, &r->key);
            g.name = r->op;
        }
        g.rows[g.count++] = r;
    }
    if (g.count && g.rows[0]->key.what == SC__KERNEL_OP_MOE)
        draw_experts(ctx, &g);
    return g;
}

static const char *group_name(struct sc_context *ctx, const struct sc__fit_rows *g) {
    const struct sc__kernel_key *k = &g->rows[0]->key;
    if (sc__gemm_unaligned(k))
        return k->dtype == SC__TF32 ? "gemm tf32, unaligned" : "gemm, unaligned";
    const double *fallback = sc__fit_fallback_constants(g->gpu, k);
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

static void
fit_one(struct sc_context *ctx, struct sc__gpu_fit *fit, struct sc__fit_rows *g) {
    struct sc__fit_group *out =
        SC__PUSH(&ctx->arena, fit->groups, fit->count, fit->capacity);
    *out = (struct sc__fit_group){.name = group_name(ctx, g),
                                  .rows = g->count,
                                  .before = mean_percent(g)};
    if (fit->base_before > 0 && sc__fit_group_of(fit->gpu, &g->rows[0]->key) == 0)
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

#define TWO_PI 6.283185307179586

/* Whether replays of few us end on a grid: their times, as angles of it, point one way. */
static bool has_ticks(const struct sc__gpu *g, const struct sc__kernel_table *table) {
    static const double short_us = 50;
    static const double least_length = 0.6; /* of 12 angles at random: one time in 75 */
    static const uint32_t least_rows = 12;
    double x = 0;
    double y = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct sc__kernel_row *r = &table->rows[i];
        double us = r->us * sc__kernel_row_layers(g, r);
        if (r->key.what != SC__KERNEL_OP_GEMM || !(us > 0 && us < short_us))
            continue;
        x += cos(TWO_PI * us / SC__REPLAY_TICK);
        y += sin(TWO_PI * us / SC__REPLAY_TICK);
        count++;
    }
    return count >= least_rows && hypot(x, y) > least_length * count;
}

/* How rows were timed is no matter of the kernels. */
static void
begin_with_own_loop(struct sc__gpu *g, const struct sc__kernel_table *table, bool loop) {
    static const double usual_replay = 2;
    static const double usual_start = 0.7;
    bool ticks = loop && has_ticks(g, table);
    g->gemm.replay = loop ? usual_replay : 0;
    g->gemm.tick = ticks ? SC__REPLAY_TICK : 0;
    g->gemm.tick_start = ticks ? usual_start : 0;
}

/* How much of its cache a chip finds again says nothing of another's (an A100 a quarter
 * of 40 MB of outputs, an L40S all of 96): the search begins with the datasheet's. Weights
 * are kept by a tenth to a quarter of it. */
static void
begin_with_own_cache(struct sc__gpu *g, const struct sc__kernel_table *table, bool loop) {
    static const double weights = 0.2;
    static const double sharp = 30; /* of layers in turn all or none are found */
    struct sc__gemm_constants *c = &g->gemm;
    begin_with_own_loop(g, table, loop);
    if (!(g->l2 > 0))
        return;
    c->cache = SC__CACHE_MIB * g->l2;
    c->edge = loop ? sharp : 0;
    c->cache_out = g->l2;
    c->cache_b = weights * g->l2;
    if (!(c->write_long > 0))
        c->write_long = 1;
}

/* The error on rows left out, with the GEMM constants of one of them. */
static double relative_error(struct sc_context *ctx,
                             struct sc__gpu_fit *fit,
                             const struct sc__kernel_table *table,
                             const struct sc__gemm_constants *gemm,
                             bool loop) {
    struct sc__gemm_constants own = fit->gpu->gemm;
    fit->gpu->gemm = *gemm;
    begin_with_own_cache(fit->gpu, table, loop);
    struct sc__fit_rows g = collect(ctx, fit, table, 0);
    scale_to_median(&ctx->arena, &g);
    double error = held_out_error(&ctx->arena, &g);
    fit->gpu->gemm = own;
    return error;
}

/* Kernels, and whether rows are taken as timed in loops where their table says so. */
struct choice {
    const struct sc__gemm_constants *gemm;
    const char *of; /* NULL: the base */
    bool loop;
    double error;
    double base_error;
};

static struct choice best_kernels(struct sc_context *ctx,
                                  struct sc__gpu_fit *fit,
                                  const struct sc__kernel_table *table,
                                  bool loop) {
    struct choice best = {.gemm = &fit->gpu->gemm, .loop = loop};
    best.error = relative_error(ctx, fit, table, best.gemm, loop);
    best.base_error = best.error;
    for (unsigned i = 0; i < sizeof relatives / sizeof *relatives; i++) {
        const struct sc__gpu *r;
        if (sc__gpu_find(ctx, relatives[i], &r) != SC_OK)
            continue;
        double error = relative_error(ctx, fit, table, &r->gemm, loop);
        if (error >= 0 && error < best.error) {
            best.gemm = &r->gemm;
            best.of = relatives[i];
            best.error = error;
        }
    }
    return best;
}

static void choose_kernels(struct sc_context *ctx,
                           struct sc__gpu_fit *fit,
                           const struct sc__kernel_table *table) {
    struct sc__fit_rows g = collect(ctx, fit, table, 0);
    if (fit->tiles || g.count < ENOUGH_ROWS || g.count > FEW_ROWS)
        return;
    fit->base_before = mean_percent(&g);
    struct choice best = best_kernels(ctx, fit, table, true);
    struct choice alone = best_kernels(ctx, fit, table, false);
    /* The loops are known, a cache that is not the base's, or a GPU that replays no
     * graphs, is not: loops are let go where that helps by a tenth. */
    if (alone.error >= 0 && alone.error < 0.9 * best.error)
        best = alone;
    fit->base_held_out = best.base_error;
    fit->kernels_of = best.of;
    fit->gpu->gemm = *best.gemm;
    begin_with_own_cache(fit->gpu, table, best.loop);
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
    fit->gpu->gemm.peak = sc__gpu_sheet_peak(base); /* what is fitted is of this GPU */
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->rows[i].us > 0)
            numbers[count++] = sc__fit_group_of(base, &table->rows[i].key);
        else
            fit->unused++;
    }
    qsort(numbers, count, sizeof *numbers, sc__compare_u32);
    choose_kernels(ctx, fit, table);
    for (uint32_t i = 0; i < count; i++) {
        if (i && numbers[i] == numbers[i - 1])
            continue;
        struct sc__fit_rows g = collect(ctx, fit, table, numbers[i]);
        fit_one(ctx, fit, &g);
    }
}
