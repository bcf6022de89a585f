/* kernel_serving: attention as serving stacks run it, on a paged cache and with the new
 * keys written to it; latent attention (MLA) is the same with heads of 192 and 128 for
 * prompts, and of 576 that all queries share for single tokens. w: sizes of a query's
 * and a value's head together, over 256; S: SMs.
 *
 * Prompts of s tokens (context), tiles of 128 queries and steps of 128 keys:
 *
 *     work   = batch heads (steps step(head size) + tiles tile w)/S
 *     walk   = walk (steps of the longest tile) step(head size)
 *     memory = 2 batch s (heads + 2 heads of keys) 256 w/bw (1 - saved found)
 *     t      = fixed + (work^q + walk^q + memory^q)^(1/q)
 *              + sequence batch (heads of keys)/S
 *
 * One token each (generation) over L keys, u = batch heads of keys:
 *
 *     memory = bytes/bw (1 - saved found),  bytes = 256 w u L (bytes of an element)
 *     work   = step w max(1, u ceil(L/64) ceil(group/64)/S)/min(max(1, u/S), 1 + resident)
 *              or, where more queries share a head of keys than `limit`, without tensor
 *              cores: slow w batch heads ceil(L/64)/S
 *     t      = fixed + (memory^q + work^q)^(1/q) + (unit u + head batch heads)/S
 *              + split log2 ceil(L/64)
 *
 * found = 1/(1 + (bytes/cache)^3) as in GEMMs. */
#include "hardware/kernel_model.h"

#include <math.h>

const double *sc__serving_constants(const struct sc__gpu *gpu,
                                    const struct sc__kernel_key *key) {
    uint64_t phase = key->size[6] / SC__SERVING_TYPES;
    uint64_t type = key->size[6] % SC__SERVING_TYPES;
    return gpu->serving[key->size[7]][phase][type];
}

static double part_not_found(double bytes, double cache, double saved) {
    double full = bytes / cache;
    return 1 - saved / (1 + full * full * full);
}

/* Heads of MLA are as DeepSeek's. */
struct serving_heads {
    double heads;
    double keys;
    double size;  /* of a query's head */
    double width; /* of a query's and a value's, over 256 */
};

static struct serving_heads heads_of(const struct sc__kernel_key *key) {
    struct serving_heads h = {.heads = (double)key->size[1],
                              .keys = (double)key->size[2],
                              .size = (double)key->size[4]};
    h.width = h.size / 128;
    switch (key->size[6] / SC__SERVING_TYPES) {
    case SC__SERVING_MLA_CONTEXT:
        h.keys = h.heads;
        h.size = 192;
        h.width = (192 + 128) / 256.0;
        break;
    case SC__SERVING_MLA_GENERATION:
        h.keys = 1;
        h.size = 576;
        h.width = 576 / 256.0;
        break;
    default:
        break;
    }
    return h;
}

/* The kernel of the smallest size that is large enough; beyond the last by width. */
static double context_step_us(const double *c, double size) {
    static const double sizes[SC__SERVING_SIZES] = {64, 128, 192, 256, 512};
    for (unsigned i = 0; i < SC__SERVING_SIZES; i++)
        if (size <= sizes[i])
            return c[SC__CONTEXT_STEP + i];
    return c[SC__CONTEXT_STEP + SC__SERVING_SIZES - 1] * size /
           sizes[SC__SERVING_SIZES - 1];
}

static double
context_us(const struct sc__gpu *gpu, const struct sc__kernel_key *key, const double *c) {
    struct serving_heads h = heads_of(key);
    double batch = (double)key->size[0];
    double tokens = (double)key->size[3];
    double window = (double)key->size[5];
    bool pack = c[SC__CONTEXT_PACK] > 0;
    double tiles = ceil((pack ? tokens * h.heads / h.keys : tokens) / 128);
    double blocks = ceil(tokens / 128);
    double steps = blocks * (blocks + 1) / 2;
    double longest = blocks;
    double step = context_step_us(c, h.size);
    if (window > 0) {
        double seen = ceil((window - 1) / 128) + 1;
        if (seen < blocks)
            steps = seen * blocks - seen * (seen - 1) / 2;
        longest = fmin(seen, blocks);
        step *= c[SC__CONTEXT_WINDOW];
    }
    double work = batch * (pack ? h.keys : h.heads) * tiles *
                  (steps / blocks * step + c[SC__CONTEXT_TILE] * h.width) / gpu->sms;
    double walk = c[SC__CONTEXT_WALK] * longest * step;
    double bytes = 2 * batch * tokens * (h.heads + 2 * h.keys) * 256 * h.width;
    double memory = bytes / c[SC__CONTEXT_BW] *
                    part_not_found(bytes, c[SC__CONTEXT_CACHE], c[SC__CONTEXT_SAVED]);
    double q = c[SC__CONTEXT_Q];
    return c[SC__CONTEXT_FIXED] + sc__smooth_max(sc__smooth_max(work, walk, q), memory, q) +
           c[SC__CONTEXT_SEQUENCE] * batch * h.keys / gpu->sms;
}

static double generation_us(const struct sc__gpu *gpu,
                            const struct sc__kernel_key *key,
                            const double *c) {
    struct serving_heads h = heads_of(key);
    double batch = (double)key->size[0];
    double keys = (double)key->size[3];
    double group = h.heads / h.keys;
    double units = batch * h.keys;
    double element = key->size[6] % SC__SERVING_TYPES == SC__SERVING_BF16 ? 2 : 1;
    if (key->size[5])
        keys = fmin(keys, (double)key->size[5]);
    double steps = ceil(keys / 64);
    double bytes = units * keys * 256 * h.width * element;
    double memory = bytes / c[SC__GENERATION_BW] *
                    part_not_found(bytes, c[SC__GENERATION_CACHE], c[SC__GENERATION_SAVED]);
    double beside = fmin(fmax(units / gpu->sms, 1), 1 + c[SC__GENERATION_RESIDENT]);
    double work = c[SC__GENERATION_STEP] * h.width *
                  fmax(units * steps * ceil(group / 64) / gpu->sms, 1) / beside;
    if (group > c[SC__GENERATION_LIMIT])
        work = c[SC__GENERATION_SLOW] * h.width * batch * h.heads * steps / gpu->sms;
    double q = c[SC__GENERATION_Q];
    return c[SC__GENERATION_FIXED] + sc__smooth_max(memory, work, q) +
           (c[SC__GENERATION_UNIT] * units + c[SC__GENERATION_HEAD] * batch * h.heads) /
               gpu->sms +
           c[SC__GENERATION_SPLIT] * log2(steps);
}

double sc__serving_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const double *c = sc__serving_constants(gpu, key);
    uint64_t phase = key->size[6] / SC__SERVING_TYPES;
    if (!(c[0] > 0))
        return 0;
    return phase == SC__SERVING_CONTEXT || phase == SC__SERVING_MLA_CONTEXT
               ? context_us(gpu, key, c)
               : generation_us(gpu, key, c);
}
