/* kernel_scan: what is done beside attention, or in its place: the indexer that picks
 * keys, and the core of a Mamba-2 layer and of a gated delta net, which take a
 * sequence in chunks of Q tokens (Dao and Gu 2024, arXiv 2405.21060; Yang et al. 2024,
 * arXiv 2412.06464). Of each chunk and head, with heads of d and a state of N by d:
 *
 *     scores    Q·Q·N    queries by keys (of a group)
 *     inside    Q·Q·d    scores by values
 *     state     N·d·Q    keys by values
 *     across    Q·N·d    queries by the state before the chunk
 *
 * The delta net has one more of the first (keys by keys) and two of the second (its
 * triangular inverse by values and by keys). They are priced as batched products and
 * the rest by its bytes: an estimate, no such kernel was measured. */
#include "hardware/kernel_layer.h"

#include <math.h>

struct scan {
    struct sc__kernel_model *model;
    const struct sc__layer_shape *s;
    struct sc__arena *arena;
    struct sc__kernels *out;
    bool backward;
    uint64_t chunks;
    uint64_t heads;
    uint64_t groups;
    uint64_t tokens;
};

static void scan_push(struct scan *c, struct sc__kernel k) {
    k.work = SC__WORK_ATTENTION;
    if (c->s->scan_factor > 0)
        k.us *= c->s->scan_factor;
    *SC__PUSH(c->arena, c->out->items, c->out->count, c->out->capacity) = k;
}

/* Backward has a gradient of each of the two that are multiplied. */
static void scan_product(
    struct scan *c, const char *name, uint64_t batch, uint64_t m, uint64_t n, uint64_t k) {
    uint64_t times = c->backward ? 2 : 1;
    struct sc__kernel x =
        sc__gemm_batched(c->model, name, c->s->dtype, batch * times * c->chunks, m, n, k);
    scan_push(c, x);
}

static void scan_bytes(struct scan *c, const char *name, double bytes) {
    scan_push(c, sc__elementwise(c->model, name, bytes * (c->backward ? 2 : 1)));
}

void sc__scan_kernels(struct sc__arena *arena,
                      struct sc__kernel_model *p,
                      const struct sc__layer_shape *s,
                      uint64_t tokens,
                      bool backward,
                      struct sc__kernels *out) {
    uint64_t q = s->scan_chunk;
    struct scan c = {.model = p,
                     .s = s,
                     .arena = arena,
                     .out = out,
                     .backward = backward,
                     .chunks = (tokens + q - 1) / q,
                     .heads = s->scan_heads / s->tp ? s->scan_heads / s->tp : 1,
                     .groups = s->scan_groups / s->tp ? s->scan_groups / s->tp : 1,
                     .tokens = tokens};
    double e = sc__dtype_bytes(s->dtype);
    double width = (double)c.heads * (double)s->scan_head_dim;
    double keys = (double)c.groups * (double)s->state_dim;
    double rows = (double)tokens;
    double states = (double)c.chunks * width * (double)s->state_dim;
    /* read and written: convolution; state of each chunk in fp32, handed on; gate and norm
     */
    scan_bytes(&c, "conv", 2 * e * rows * (width + 2 * keys));
    scan_product(&c, "scan_scores", c.groups, q, q, s->state_dim);
    scan_product(&c, "scan_inside", c.heads, q, s->scan_head_dim, q);
    scan_product(&c, "scan_state", c.heads, s->state_dim, s->scan_head_dim, q);
    scan_product(&c, "scan_across", c.heads, q, s->scan_head_dim, s->state_dim);
    if (s->delta_rule) {
        scan_product(&c, "scan_keys", c.heads, q, q, s->state_dim);
        scan_product(&c, "scan_inverse", c.heads, q, s->scan_head_dim + s->state_dim, q);
    }
    scan_bytes(&c, "scan_pass", 2 * 2 * 4 * states);
    scan_bytes(&c, "scan_gate", 3 * e * rows * width);
}

/* Scores of every query with every key before it, for each head of the indexer, their
 * weighted sum in fp32, and the choice of the largest. The indexer is trained as well. */
void sc__index_kernels(struct sc__arena *arena,
                       struct sc__kernel_model *p,
                       const struct sc__layer_shape *s,
                       bool backward,
                       struct sc__kernels *out) {
    uint64_t sq = s->seq / s->cp;
    uint64_t heads = s->index_heads / s->tp ? s->index_heads / s->tp : 1;
    struct scan c = {.model = p,
                     .s = s,
                     .arena = arena,
                     .out = out,
                     .backward = backward,
                     .chunks = s->batch};
    double pairs = (double)s->batch * (double)sq * (double)s->seq / 2;
    scan_product(&c, "index_scores", heads, sq, (s->seq + 1) / 2, s->index_dim);
    scan_bytes(&c, "index_pick", 2 * 4 * pairs);
}
