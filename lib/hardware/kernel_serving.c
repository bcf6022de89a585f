/* kernel_serving: attention as serving stacks run it, on a paged cache and with the new
 * keys written to it; latent attention (MLA) is the same with heads of 192 and 128 for
 * prompts, and of 576 that all queries share for single tokens. w: sizes of a query's
 * and a value's head together, over 256; S: SMs.
 *
 * Prompts of s tokens (context), tiles of 128 queries and steps of 128 keys:
 *
 *     work   = batch heads (steps step(head size) + tiles tile w^p)/S
 *     walk   = walk (steps of the longest tile) step(head size)
 *     memory = 2 batch s (heads + keys (heads of keys)) 256 w/bw (1 - saved found)
 *     t      = fixed + (work^q + walk^q + memory^q)^(1/q)
 *              + sequence batch (heads of keys)/S
 *
 * Steps that the mask or the window cuts, one or two of a tile, count 1 + mask.
 *
 * One token each (generation) over L keys, of which K are inside the window. A kernel's
 * n blocks take a head of keys with some of its queries each ("shared") or a query each
 * ("alone"), and part the keys where blocks are few:
 *
 *     s      = max(1, min(floor(target S/n), floor(L/tokens)))              parts
 *     block  = start w^p + step w k,  k = steps of 64 keys of min(K, L/s), and one more
 *              where a window begins inside the part
 *     x      = n (parts inside the window + idle (the others))/(S resident)
 *     work   = ((1 - wave) ceil x + wave max(1, x)) block
 *     walk   = start w^p + walk step w k
 *     memory = bytes/bw (1 - saved found),  bytes = 256 w (heads of keys) K (bytes of an
 *              element), of blocks alone times 1 + reread (queries of a head of keys - 1)
 *     t      = fixed + (work^q + walk^q + memory^q)^(1/q) + head queries/S
 *              + sequence batch  [ + combine + combine_head queries min(s, inside + 1)/S
 *              if s > 1 ]
 *              [ + copy + copy_head queries/S  where shared, of several sequences and
 *              heads of keys: queries that share keys are brought together ]
 *
 * Which kernel: blocks are alone beyond `limit` queries of a head of keys, where there is
 * one query alone (`single`) or a window (`windowed`), and where least (heads of keys)
 * max(1, floor(L/128)) < S.
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
    double cut = blocks;
    double step = context_step_us(c, h.size);
    if (window > 0) {
        double seen = ceil((window - 1) / 128) + 1;
        if (seen < blocks)
            steps = seen * blocks - seen * (seen - 1) / 2;
        if (seen > 1 && window < tokens)
            cut += blocks - seen + 1;
        longest = fmin(seen, blocks);
    }
    steps += c[SC__CONTEXT_MASK] * cut;
    double end = c[SC__CONTEXT_TILE] * pow(h.width, c[SC__CONTEXT_WIDTH]);
    double work = batch * (pack ? h.keys : h.heads) * tiles *
                  (steps / blocks * step + end) / gpu->sms;
    double walk = c[SC__CONTEXT_WALK] * longest * step;
    double traffic = h.heads + c[SC__CONTEXT_KEYS] * h.keys;
    double bytes = 2 * batch * tokens * traffic * 256 * h.width;
    double memory = bytes / c[SC__CONTEXT_BW] *
                    part_not_found(bytes, c[SC__CONTEXT_CACHE], c[SC__CONTEXT_SAVED]);
    double q = c[SC__CONTEXT_Q];
    return c[SC__CONTEXT_FIXED] + sc__smooth_max(sc__smooth_max(work, walk, q), memory, q) +
           c[SC__CONTEXT_SEQUENCE] * batch * h.keys / gpu->sms;
}

/* One token of each sequence. */
struct generation {
    double batch;
    double units;   /* heads of keys of all sequences */
    double queries; /* of all sequences */
    double group;   /* queries of a head of keys */
    double length;  /* keys of a sequence */
    double window;  /* of them, at most; 0: all */
    double inside;  /* the window */
    double width;
    bool copied; /* queries that share keys lie apart */
};

static struct generation generation_of(const struct sc__kernel_key *key) {
    struct serving_heads h = heads_of(key);
    struct generation g = {.batch = (double)key->size[0],
                           .group = h.heads / h.keys,
                           .length = (double)key->size[3],
                           .window = (double)key->size[5],
                           .width = h.width};
    g.units = g.batch * h.keys;
    g.queries = g.batch * h.heads;
    g.inside = g.window > 0 ? fmin(g.length, g.window) : g.length;
    g.copied = g.batch > 1 && h.keys > 1;
    return g;
}

/* TensorRT-LLM parts keys by so many when it looks whether blocks are enough. */
static const double PART_OF_KEYS = 128;

static bool
queries_are_alone(const struct sc__gpu *gpu, const struct generation *g, const double *c) {
    if (!(c[SC__GENERATION_ALONE + SC__BLOCK_RESIDENT] > 0))
        return false;
    double blocks = g->units * fmax(1, floor(g->length / PART_OF_KEYS));
    return g->group > c[SC__GENERATION_LIMIT] ||
           (g->group <= 1 && c[SC__GENERATION_SINGLE] > 0) ||
           (g->window > 0 && c[SC__GENERATION_WINDOWED] > 0) ||
           c[SC__GENERATION_LEAST] * blocks < gpu->sms;
}

/* How the keys of a sequence are parted. */
struct parted_keys {
    double parts;
    double inside; /* parts that the window reaches */
    double keys;   /* of such a part */
    bool cut;      /* the window begins inside a part */
};

static struct parted_keys part_keys(const struct sc__gpu *gpu,
                                    const struct generation *g,
                                    const double *block,
                                    double blocks) {
    double parts = fmin(floor(block[SC__BLOCK_TARGET] * gpu->sms / blocks),
                        floor(g->length / block[SC__BLOCK_TOKENS]));
    struct parted_keys p = {.parts = fmax(parts, 1)};
    double length = g->length / p.parts;
    p.inside = fmin(p.parts, ceil(g->inside / length));
    p.keys = fmin(g->inside, length);
    p.cut = g->window > 0 && length > g->window;
    return p;
}

/* FlashAttention-3 plans the work of up to so many sequences on the GPU. */
static const double MOST_PLANNED = 992;

static double generation_us(const struct sc__gpu *gpu,
                            const struct sc__kernel_key *key,
                            const double *c) {
    struct generation g = generation_of(key);
    bool alone = queries_are_alone(gpu, &g, c);
    const double *block = &c[alone ? SC__GENERATION_ALONE : SC__GENERATION_SHARED];
    double blocks = alone ? g.queries : g.units * ceil(g.group / c[SC__GENERATION_QUERIES]);
    struct parted_keys p = part_keys(gpu, &g, block, blocks);
    double steps = (alone ? p.keys / 64 : ceil(p.keys / 64)) + p.cut;
    double start = block[SC__BLOCK_START] * pow(g.width, c[SC__GENERATION_START_WIDTH]);
    double step = block[SC__BLOCK_STEP] * g.width * steps;
    double idle = c[SC__GENERATION_IDLE] * (p.parts - p.inside);
    double load = blocks * (p.inside + idle) / (gpu->sms * block[SC__BLOCK_RESIDENT]);
    double wave = c[SC__GENERATION_WAVE];
    double work = ((1 - wave) * ceil(load) + wave * fmax(1, load)) * (start + step);
    double walk = start + block[SC__BLOCK_WALK] * step;
    double element = key->size[6] % SC__SERVING_TYPES == SC__SERVING_BF16 ? 2 : 1;
    double bytes = g.units * g.inside * 256 * g.width * element;
    if (alone)
        bytes *= 1 + c[SC__GENERATION_REREAD] * (g.group - 1);
    double memory = bytes / c[SC__GENERATION_BW] *
                    part_not_found(bytes, c[SC__GENERATION_CACHE], c[SC__GENERATION_SAVED]);
    double q = c[SC__GENERATION_Q];
    double per_sm = g.queries / gpu->sms;
    double us = c[SC__GENERATION_FIXED] +
                sc__smooth_max(sc__smooth_max(work, walk, q), memory, q) +
                c[SC__GENERATION_HEAD] * per_sm;
    if (p.parts > 1)
        us += c[SC__GENERATION_COMBINE] +
              c[SC__GENERATION_COMBINE_HEAD] * per_sm * fmin(p.parts, p.inside + 1);
    if (g.copied && !alone)
        us += c[SC__GENERATION_COPY] + c[SC__GENERATION_COPY_HEAD] * per_sm;
    if (g.batch <= MOST_PLANNED)
        us += c[SC__GENERATION_SEQUENCE] * g.batch;
    return us;
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
