/* kernel_layer_scores: attention whose scores are written: products of queries and keys,
 * what is done to the scores, products with the values.
 *
 * Who trains without a fused kernel scales, masks, widens, normalises and narrows the
 * scores one operator after the other, and each reads and writes all of them. Which
 * operators there are is the software's: a list for each way, from its sources. None of
 * their costs is of its own: each is the kernel of that kind as it was measured alone. */
#include "hardware/kernel_layer_maker.h"
#include "hardware/kernel_model.h"

/* One operator over all scores. */
struct pass {
    enum sc__memory_op op;
    enum element {
        AS_MODEL,
        WIDE, /* fp32, whatever the model's type is */
        CAST  /* between the two: nothing where the model's type is fp32 */
    } element;
};

enum { MOST_PASSES = 6 };

struct passes {
    uint32_t forward_count;
    uint32_t backward_count;
    struct pass forward[MOST_PASSES];
    struct pass backward[MOST_PASSES];
    /* products of fp32: of queries and keys, and of the values too */
    bool wide_scores;
    bool wide_values;
};

#define WIDEN_OR_NARROW                                                                    \
    { SC__MEM_CAST_FP32, CAST }
#define SOFTMAX_IN_FP32(direction)                                                         \
    WIDEN_OR_NARROW, {SC__MEM_SOFTMAX_##direction, WIDE}, WIDEN_OR_NARROW

static const struct passes ways[SC__SCORES_WAYS] = {
    /* scale, mask and softmax in one kernel */
    [SC__SCORES_FUSED] = {.forward_count = 1,
                          .backward_count = 1,
                          .forward = {{SC__MEM_SOFTMAX_F, AS_MODEL}},
                          .backward = {{SC__MEM_SOFTMAX_B, AS_MODEL}}},
    /* times the scale, filled where the mask is; softmax */
    [SC__SCORES_PLAIN] = {.forward_count = 2,
                          .backward_count = 2,
                          .forward = {{SC__MEM_MASK_F, AS_MODEL},
                                      {SC__MEM_SOFTMAX_F, AS_MODEL}},
                          .backward = {{SC__MEM_SOFTMAX_B, AS_MODEL},
                                       {SC__MEM_MASK_B, AS_MODEL}}},
    /* times the scale, plus the mask; softmax in fp32 */
    [SC__SCORES_OPERATORS] = {.forward_count = 5,
                              .backward_count = 4,
                              .forward = {{SC__MEM_COPY, AS_MODEL},
                                          {SC__MEM_ADD_BROADCAST, AS_MODEL},
                                          SOFTMAX_IN_FP32(F)},
                              .backward = {SOFTMAX_IN_FP32(B), {SC__MEM_COPY, AS_MODEL}}},
    /* the biases are copied to where the product adds to them; plus the mask; softmax in
     * fp32. The scale is the product's. */
    [SC__SCORES_ALIBI] = {.forward_count = 5,
                          .backward_count = 3,
                          .forward = {{SC__MEM_COPY, AS_MODEL},
                                      {SC__MEM_ADD_BROADCAST, AS_MODEL},
                                      SOFTMAX_IN_FP32(F)},
                          .backward = {SOFTMAX_IN_FP32(B)}},
    /* times the scale, plus biases that are fp32 and make the scores so, filled where the
     * mask is; the kernel of scale and mask was measured as one */
    [SC__SCORES_ALIBI_FP32] = {.forward_count = 4,
                               .backward_count = 4,
                               .forward = {{SC__MEM_MASK_F, WIDE},
                                           {SC__MEM_ADD_BROADCAST, WIDE},
                                           {SC__MEM_SOFTMAX_F, WIDE},
                                           WIDEN_OR_NARROW},
                               .backward = {WIDEN_OR_NARROW,
                                            {SC__MEM_SOFTMAX_B, WIDE},
                                            {SC__MEM_MASK_B, WIDE},
                                            WIDEN_OR_NARROW}},
    /* times the scale, plus the mask; a column for the sinks joined to them, less the
     * largest of a row; softmax in the model's type. Backward: the column put back, and
     * what the largest have had of the rest. */
    [SC__SCORES_SINKS] = {.forward_count = 6,
                          .backward_count = 6,
                          .forward = {{SC__MEM_COPY, AS_MODEL},
                                      {SC__MEM_ADD_BROADCAST, AS_MODEL},
                                      {SC__MEM_CAT_STRIDED, AS_MODEL},
                                      {SC__MEM_COPY, AS_MODEL},
                                      {SC__MEM_ADD_BROADCAST, AS_MODEL},
                                      {SC__MEM_SOFTMAX_F, AS_MODEL}},
                          .backward = {{SC__MEM_COPY_STRIDED, AS_MODEL},
                                       {SC__MEM_SOFTMAX_B, AS_MODEL},
                                       {SC__MEM_COPY, AS_MODEL},
                                       {SC__MEM_FILL, AS_MODEL},
                                       {SC__MEM_ADD, AS_MODEL},
                                       {SC__MEM_COPY, AS_MODEL}}},
    /* plus the mask; softmax, in which rows without a key are looked for and set to zero;
     * and once more in the model's type, for nobody */
    [SC__SCORES_MATH] = {.forward_count = 5,
                         .backward_count = 1,
                         .forward = {{SC__MEM_ADD_BROADCAST, WIDE},
                                     {SC__MEM_SOFTMAX_F, WIDE},
                                     {SC__MEM_COPY,
                                      AS_MODEL}, /* which are −∞: 4 + 1 bytes */
                                     {SC__MEM_ADD_BROADCAST, WIDE},
                                     WIDEN_OR_NARROW},
                         .backward = {{SC__MEM_SOFTMAX_B, WIDE}},
                         .wide_scores = true,
                         .wide_values = true},
    /* queries and keys in fp32; times the scale (GPT-Neo: where a mask is), plus the mask;
     * softmax; values in the model's type */
    [SC__SCORES_WIDE] = {.forward_count = 4,
                         .backward_count = 3,
                         .forward = {{SC__MEM_COPY, WIDE},
                                     {SC__MEM_ADD_BROADCAST, WIDE},
                                     {SC__MEM_SOFTMAX_F, WIDE},
                                     WIDEN_OR_NARROW},
                         .backward = {WIDEN_OR_NARROW,
                                      {SC__MEM_SOFTMAX_B, WIDE},
                                      {SC__MEM_COPY, WIDE}},
                         .wide_scores = true},
};

static void product(struct sc__layer_maker *m,
                    const char *name,
                    bool wide,
                    const struct sc__written_scores *w,
                    uint64_t rows,
                    uint64_t columns,
                    uint64_t depth) {
    struct sc__kernel gemm = sc__gemm_batched(m->kernel_model,
                                              name,
                                              wide ? SC__FP32 : m->s->dtype,
                                              w->sequences * w->heads,
                                              rows,
                                              columns,
                                              depth);
    gemm.work = SC__WORK_ATTENTION;
    sc__layer_push(m, gemm);
}

static void pass_over(struct sc__layer_maker *m,
                      const struct sc__written_scores *w,
                      const struct pass *pass) {
    bool wide_model = sc__dtype_bytes(m->s->dtype) > 2;
    enum sc__dtype type = pass->element == WIDE ? SC__FP32 : m->s->dtype;
    if (pass->element == CAST && wide_model)
        return;
    struct sc__kernel k = sc__memory_op(m->kernel_model,
                                        pass->op,
                                        type,
                                        w->sequences * w->heads * w->queries,
                                        w->keys);
    k.work = SC__WORK_ATTENTION;
    sc__layer_push(m, k);
}

static void pass_all(struct sc__layer_maker *m,
                     const struct sc__written_scores *w,
                     const struct pass *passes,
                     uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        pass_over(m, w, &passes[i]);
}

/* Width of the rows that softmax leaves for the products with the values: with a column
 * for the sinks it is no multiple of 8, which takes kernels for operands that are not
 * aligned. */
static uint64_t row_width(const struct sc__layer_maker *m,
                          const struct sc__written_scores *w) {
    return w->keys + (m->s->scores == SC__SCORES_SINKS);
}

static void forward(struct sc__layer_maker *m, const struct sc__written_scores *w) {
    const struct passes *way = &ways[m->s->scores];
    product(m, "scores", way->wide_scores, w, w->queries, w->keys, w->qk_dim);
    pass_all(m, w, way->forward, way->forward_count);
    if (m->s->dropout)
        sc__layer_memory(m,
                         SC__MEM_DROPOUT_F,
                         w->sequences * w->heads * w->queries,
                         w->keys);
    product(m, "context", way->wide_values, w, w->queries, w->v_dim, row_width(m, w));
    sc__layer_memory(m, SC__MEM_COPY, m->tokens, w->heads * w->v_dim);
}

static void backward(struct sc__layer_maker *m, const struct sc__written_scores *w) {
    const struct passes *way = &ways[m->s->scores];
    sc__layer_memory(m, SC__MEM_COPY, m->tokens, w->heads * w->v_dim);
    product(m, "context_dgrad", way->wide_values, w, w->queries, w->keys, w->v_dim);
    product(m, "context_vgrad", way->wide_values, w, row_width(m, w), w->v_dim, w->queries);
    if (m->s->dropout)
        sc__layer_memory(m,
                         SC__MEM_DROPOUT_B,
                         w->sequences * w->heads * w->queries,
                         w->keys);
    pass_all(m, w, way->backward, way->backward_count);
    product(m, "scores_qgrad", way->wide_scores, w, w->queries, w->qk_dim, w->keys);
    product(m, "scores_kgrad", way->wide_scores, w, w->keys, w->qk_dim, w->queries);
}

void sc__layer_scores(struct sc__layer_maker *m, const struct sc__written_scores *w) {
    if (m->backward)
        backward(m, w);
    else
        forward(m, w);
}
