/* kernel_sequence: kernels that walk along a sequence in chunks: the convolution over a
 * few tokens before a Mamba-2 layer or a gated delta net, and the delta rule itself.
 * Of B blocks (heads, or groups of channels, of all sequences) and s tokens in chunks
 * of L, on S SMs:
 *
 *     C     = part ceil(s/L) + (1 - part) s/L        chunks of a sequence
 *     walk  = walk C (ceil(n) + max(1, n))/2         a state is handed from chunk to
 *             n = B/(resident S)                     chunk, blocks beside each other
 *     work  = work B C/S (1 - saved found)           what chunks do independently
 *             found = 1/(1 + (B C/cache)^3)          of it the cache holds
 *     t     = fixed + row min(s, L)/L + (walk^q + work^q)^(1/q) + state B/S
 *
 * work and state are larger by `odd` where s is no multiple of 8, since loads are then
 * single elements.
 *
 * Mamba-2's scan (chunks of Q tokens, H heads of d, a state of N by d, keys of G groups)
 * is a dozen kernels, each by what it does; their sum is linear in it:
 *
 *     t = fixed + state (T/Q) H N d + value T H d + score T H Q + key T G (Q + 2 N)
 *         + walk s/Q                                 T: tokens of all sequences */
#include "hardware/kernel_model.h"

#include <math.h>

struct sc__kernel_key sc__sequence_key(enum sc__sequence_op op,
                                       enum sc__serving_software software,
                                       uint64_t batch,
                                       uint64_t tokens,
                                       uint64_t heads) {
    return (struct sc__kernel_key){.what = SC__KERNEL_OP_SEQUENCE,
                                   .dtype = SC__BF16,
                                   .size = {batch, tokens, heads, op, software}};
}

const double *sc__sequence_constants(const struct sc__gpu *gpu,
                                     const struct sc__kernel_key *key) {
    return gpu->sequence[key->size[4]][key->size[3]];
}

static double chunks_of(const double *c, double tokens) {
    double chunks = tokens / c[SC__SEQUENCE_CHUNK];
    return chunks + c[SC__SEQUENCE_PART] * (ceil(chunks) - chunks);
}

double sc__sequence_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const double *c = sc__sequence_constants(gpu, key);
    if (!(c[SC__SEQUENCE_CHUNK] > 0))
        return 0;
    double tokens = (double)key->size[1];
    double chunks = chunks_of(c, tokens);
    double blocks =
        (double)key->size[0] * ceil((double)key->size[2] / c[SC__SEQUENCE_WIDTH]);
    double each = blocks / gpu->sms;
    double rounds = each / c[SC__SEQUENCE_RESIDENT];
    double more = key->size[1] % 8 ? 1 + c[SC__SEQUENCE_ODD] : 1;
    double walk = c[SC__SEQUENCE_WALK] * chunks * (ceil(rounds) + fmax(1, rounds)) / 2;
    double full = blocks * chunks / c[SC__SEQUENCE_CACHE];
    double found = c[SC__SEQUENCE_SAVED] / (1 + full * full * full);
    double work = more * c[SC__SEQUENCE_WORK] * each * chunks * (1 - found);
    double row = c[SC__SEQUENCE_ROW] * fmin(1, tokens / c[SC__SEQUENCE_CHUNK]);
    return c[SC__SEQUENCE_FIXED] + row + sc__smooth_max(walk, work, c[SC__SEQUENCE_Q]) +
           more * c[SC__SEQUENCE_STATE] * each;
}

double sc__scan_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const double *c = gpu->scan[key->size[7] ? 1 : 0];
    double chunk = (double)key->size[6];
    double chunks = ceil((double)key->size[1] / chunk);
    double tokens = (double)key->size[0] * chunks * chunk;
    double heads = (double)key->size[2];
    double values = heads * (double)key->size[3];
    double state = (double)key->size[5];
    double keys = (double)key->size[4] * (chunk + 2 * state);
    return c[SC__SCAN_FIXED] + c[SC__SCAN_WALK] * chunks +
           1e-6 * tokens *
               (c[SC__SCAN_STATE] * values * state / chunk + c[SC__SCAN_VALUE] * values +
                c[SC__SCAN_SCORE] * heads * chunk + c[SC__SCAN_KEY] * keys);
}
