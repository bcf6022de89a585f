/* kernel_loop: what a table says of a linear layer that was timed in a loop: several layers
 * with weights of their own are captured in a CUDA graph, the graph is replayed, and its
 * time is divided by the layers. */
#include "hardware/kernel_table.h"

#include <math.h>

/* Layers of a replay: as many as fill the cache with their weights, where the row says so.
 */
double sc__kernel_row_layers(const struct sc__gpu *gpu, const struct sc__kernel_row *row) {
    double weights = sc__dtype_bytes(row->key.dtype) * (double)row->key.size[1] *
                     (double)row->key.size[2];
    if (!row->layers || !row->filled || !(gpu->l2 > 0))
        return row->layers;
    return fmax(1, fmin(row->layers, ceil(SC__CACHE_MIB * gpu->l2 / weights)));
}

/* The mean of ceil(x) between a and b, a < b. */
static double mean_ceil(double a, double b) {
    /* of ceil(x) from 0 to an end */
    double from = floor(a) * (floor(a) + 1) / 2 + (a - floor(a)) * (floor(a) + 1);
    double to = floor(b) * (floor(b) + 1) / 2 + (b - floor(b)) * (floor(b) + 1);
    return (to - from) / (b - a);
}

/* us of a replay. Its end is seen on a grid, which tick it is as well as the kernels are
 * known. */
static double replay_us(const struct sc__gemm_constants *c, double kernels) {
    static const double known = 0.05; /* as errors of small products are */
    double us = kernels + c->replay;
    if (!(c->tick > 0))
        return us;
    double ticks = us / c->tick;
    return c->tick * mean_ceil((1 - known) * ticks, (1 + known) * ticks) + c->tick_start;
}

/* A graph of one kernel: the host launches replays one after the other, and a kernel that
 * ends before the next launch is not what the time tells. */
static double replayed_alone_us(const struct sc__gpu *gpu,
                                const struct sc__kernel_key *key) {
    return fmax(sc__sequence_cost(gpu, key),
                sc__sequence_constants(gpu, key)[SC__SEQUENCE_HOST]);
}

double sc__kernel_row_us(const struct sc__gpu *gpu, const struct sc__kernel_row *row) {
    if (row->layers && row->key.what == SC__KERNEL_OP_SEQUENCE)
        return replayed_alone_us(gpu, &row->key);
    if (!row->layers || !(gpu->gemm.replay > 0))
        return sc__kernel_cost(gpu, &row->key);
    double layers = sc__kernel_row_layers(gpu, row);
    double kernels = layers * sc__gemm_layers_cost(gpu, &row->key, layers);
    return replay_us(&gpu->gemm, kernels) / layers;
}
