/* kernel_product: products by kernels that are none of the library's main ones: those of
 * four bytes, and batched ones whose sizes keep them from these. */
#include "hardware/kernel_model.h"

#include <math.h>

/* Share of the peak that the largest products of an H200 reach in tf32 (428 of 494.7
 * TFLOP/s; in fp32 53 of 67). */
#define SUSTAINED 0.87

static bool is_fp32(const struct sc__gpu *gpu, const double *c) {
    return c == gpu->batched_fallback[SC__BATCHED_FP32] ||
           c == gpu->batched_fallback[SC__PRODUCT_FP32];
}

/* In tiles of any sides from 32 to 256. fp32 walks in steps of 8, the others of 32. k is
 * only split where there are fewer tiles than two for each SM. */
double sc__fallback_waves(const struct sc__gpu *gpu,
                          const double *c,
                          double batch,
                          const double size[3],
                          double parts) {
    static const double sides[][2] = {{256, 128},
                                      {256, 64},
                                      {128, 128},
                                      {128, 64},
                                      {128, 32},
                                      {64, 64},
                                      {64, 32},
                                      {32, 32}};
    double best = INFINITY;
    double k_step = is_fp32(gpu, c) ? 8 : 32;
    double deep = k_step * ceil(ceil(size[2] / k_step) / parts);
    for (unsigned i = 0; i < 2 * sizeof sides / sizeof *sides; i++) {
        double rows = sides[i / 2][i % 2];
        double columns = sides[i / 2][1 - i % 2];
        double tiles = batch * ceil(size[0] / rows) * ceil(size[1] / columns);
        if (parts > 1 && tiles >= 2 * gpu->sms)
            continue;
        double each = parts * tiles / gpu->sms;
        double waves =
            (1 - c[SC__FALLBACK_WAVE]) * ceil(each) + c[SC__FALLBACK_WAVE] * fmax(1, each);
        double multiply =
            c[SC__FALLBACK_R] > 0 ? 2 * rows * columns / c[SC__FALLBACK_R] : 0;
        double load = c[SC__FALLBACK_B] * (rows + columns) / 64;
        best =
            fmin(best,
                 waves * (deep * (multiply + load) + c[SC__FALLBACK_TE] * rows * columns));
    }
    return best;
}

const double *
sc__product_constants(const struct sc__gpu *gpu, enum sc__dtype type, uint64_t layout) {
    enum sc__fallback_batched which;
    if (type == SC__FP32)
        which = SC__PRODUCT_FP32;
    else if (type != SC__TF32)
        return NULL;
    else if (layout == SC__LAYOUT_DGRAD)
        which = SC__PRODUCT_TF32_DGRAD;
    else
        which = layout == SC__LAYOUT_WGRAD ? SC__PRODUCT_TF32_WGRAD : SC__PRODUCT_TF32;
    const double *c = gpu->batched_fallback[which];
    return c[SC__FALLBACK_T0] > 0 ? c : NULL;
}

/* The least over the parts of k: partial sums of four bytes are written, read and added. */
double sc__product_us(
    const struct sc__gpu *gpu, const double *c, uint64_t m, uint64_t n, uint64_t k) {
    static const double parts[] = {1, 2, 3, 4, 6, 8, 16};
    static const double least_k = 256;
    const double size[3] = {(double)m, (double)n, (double)k};
    double area = size[0] * size[1];
    double memory = 4 * (size[0] * size[2] + size[1] * size[2] + area) / c[SC__FALLBACK_BW];
    double best = INFINITY;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        double s = parts[i];
        if (s > 1 && size[2] < least_k * s)
            break;
        double waves = sc__fallback_waves(gpu, c, 1, size, s);
        double sums =
            s > 1 ? c[SC__FALLBACK_TS] + 4 * (s + 1) * area / c[SC__FALLBACK_BW] : 0;
        if (fmax(waves, memory) + sums < best)
            best = fmin(best, sc__smooth_max(waves, memory, c[SC__FALLBACK_Q]) + sums);
    }
    /* GPUs with the same clock and fewer units (H20) are bound by these. */
    enum sc__dtype type = is_fp32(gpu, c) ? SC__FP32 : SC__TF32;
    double rate = sc__sustained_share(gpu, type, SUSTAINED) * 1e6 * gpu->peak[type];
    if (rate > 0)
        best = fmax(best, 2 * area * size[2] / rate);
    return best + c[SC__FALLBACK_T0];
}
