/* kernel_scan: what is done beside attention, or in its place: the indexer that picks
 * keys, and the core of a Mamba-2 layer and of a gated delta net, which take a
 * sequence in chunks of Q tokens (Dao and Gu 2024, arXiv 2405.21060; Yang et al. 2024,
 * arXiv 2412.06464).
 *
 * The convolution, the gated delta rule and Mamba-2's scan have measured constants
 * (kernel_sequence.c); a gradient of the first two runs the forward again and has two
 * products for each of its own. The products of the scan, of each chunk and head with
 * heads of d and a state of N by d, count for power:
 *
 *     scores    Q·Q·N    queries by keys (of a group)
 *     inside    Q·Q·d    scores by values
 *     state     N·d·Q    keys by values
 *     across    Q·N·d    queries by the state before the chunk */
#include "hardware/kernel_layer.h"
#include "hardware/kernel_model.h"

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

/* Times of a gradient over those of the kernel itself, by what they do: the
 * convolution reads its input and the gradient and writes a gradient; the delta rule
 * is run again and has two products for each. */
static const double CONV_GRADIENT = 1.5;
static const double DELTA_GRADIENT = 3;

/* The kernels that training runs are those that TRT-LLM runs: the convolution of
 * causal-conv1d and the Triton kernels of flash-linear-attention. */
static void scan_sequence(struct scan *c,
                          const char *name,
                          enum sc__sequence_op op,
                          uint64_t heads,
                          double gradient,
                          double bytes) {
    uint64_t sequences = c->s->batch ? c->s->batch : 1;
    uint64_t tokens = c->tokens / sequences ? c->tokens / sequences : 1;
    struct sc__kernel_key key =
        sc__sequence_key(op, SC__SERVING_TRTLLM, sequences, tokens, heads);
    struct sc__kernel k = {.name = name,
                           .kind = SC__KERNEL_MEMORY,
                           .phase = c->backward ? SC__BACKWARD : SC__FORWARD};
    k.us = sc__kernel_us(c->model, &key, &k.measured) * (c->backward ? gradient : 1);
    if (sc__dtype_bytes(c->s->dtype) > 2) /* measured with two bytes */
        k.us *= sc__dtype_bytes(c->s->dtype) / 2;
    k.bytes = bytes * (c->backward ? 2 : 1);
    k.launches = c->model->gpu->launches[SC__KERNEL_MEMORY];
    scan_push(c, k);
}

/* FLOPs of a gated delta rule: 4 products of Q by Q and 2 with the state, of a chunk
 * and head. */
static double delta_flop(const struct scan *c) {
    double q = (double)c->s->scan_chunk;
    double wide = (double)(c->s->scan_head_dim + c->s->state_dim);
    double both = (double)c->s->scan_head_dim * (double)c->s->state_dim;
    double chunks = (double)c->chunks * (double)c->heads;
    return 2 * chunks * (2 * q * q * wide + 2 * q * both) * (c->backward ? 3 : 1);
}

/* Measured with keys and values of 128; others by their sizes. */
static void scan_delta(struct scan *c) {
    uint64_t wide = c->s->scan_head_dim + c->s->state_dim;
    uint64_t heads = c->heads * wide / 256 ? c->heads * wide / 256 : 1;
    double e = sc__dtype_bytes(c->s->dtype);
    double tokens = (double)c->tokens * (double)c->heads * (double)wide;
    double states = (double)c->chunks * (double)c->heads * (double)c->s->scan_head_dim *
                    (double)c->s->state_dim;
    scan_sequence(c,
                  "gated_delta",
                  SC__SEQUENCE_DELTA,
                  heads,
                  DELTA_GRADIENT,
                  4 * e * tokens + 2 * e * states);
    struct sc__kernel *k = &c->out->items[c->out->count - 1];
    k->flop = k->effort = delta_flop(c);
}

/* FLOPs of Mamba-2's scan; backward runs the forward again but for the last product,
 * and has two for each. */
static double mamba_flop(const struct scan *c) {
    double q = (double)c->s->scan_chunk;
    double state = (double)c->s->state_dim;
    double wide = (double)c->s->scan_head_dim;
    double scores = (double)c->groups * q * q * state;
    double heads = (double)c->heads * (q * q * wide + 2 * q * wide * state);
    return 2 * (double)c->chunks * (scores + heads) * (c->backward ? 3 : 1);
}

/* Kernels of the scan forward: decay, states, their pass along the sequence, scores,
 * outputs; backward these but the last again, seven of its own, and sums. */
enum { FORWARD_KERNELS = 5, BACKWARD_KERNELS = 16 };

static void scan_mamba(struct scan *c, double states, double width, double keys) {
    uint64_t sequences = c->s->batch ? c->s->batch : 1;
    uint64_t tokens = c->tokens / sequences ? c->tokens / sequences : 1;
    struct sc__kernel_key key = {.what = SC__KERNEL_OP_SCAN,
                                 .dtype = SC__BF16,
                                 .size = {sequences,
                                          tokens,
                                          c->heads,
                                          c->s->scan_head_dim,
                                          c->groups,
                                          c->s->state_dim,
                                          c->s->scan_chunk,
                                          c->backward}};
    struct sc__kernel k = {.name = "scan",
                           .kind = SC__KERNEL_MEMORY,
                           .phase = c->backward ? SC__BACKWARD : SC__FORWARD};
    double e = sc__dtype_bytes(c->s->dtype);
    k.us = sc__kernel_us(c->model, &key, &k.measured);
    if (e > 2) /* measured with two bytes */
        k.us *= e / 2;
    if (c->s->scan_factor > 0 && !k.measured)
        k.us *= c->s->scan_factor;
    k.flop = k.effort = mamba_flop(c);
    /* states are written in four bytes, handed on and read; values come and go */
    k.bytes =
        (10 * states + 2 * e * (double)c->tokens * (width + keys)) * (c->backward ? 2 : 1);
    k.launches = c->model->gpu->launches[SC__KERNEL_MEMORY] *
                 (c->backward ? BACKWARD_KERNELS : FORWARD_KERNELS);
    scan_push(c, k);
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
    scan_sequence(&c,
                  "conv",
                  SC__SEQUENCE_CONV,
                  (uint64_t)(width + 2 * keys),
                  CONV_GRADIENT,
                  2 * e * rows * (width + 2 * keys));
    if (s->delta_rule) {
        scan_delta(&c);
        scan_bytes(&c, "scan_gate", 3 * e * rows * width);
        return;
    }
    scan_mamba(&c, states, width, keys);
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
