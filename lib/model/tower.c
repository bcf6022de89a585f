#include "model/tower.h"

#include <math.h>

uint64_t sc__tower_positions(const struct sc__tower *t, uint32_t side) {
    if (t->kind == SC__TOWER_AUDIO)
        return t->clip_positions;
    if (!side)
        return t->usual_patches;
    uint64_t across = side / t->patch_size;
    return across * across + t->class_positions;
}

uint64_t sc__tower_tokens(const struct sc__tower *t, uint32_t side) {
    if (t->kind == SC__TOWER_AUDIO)
        return (uint64_t)ceil(t->clip_tokens);
    uint64_t patches = sc__tower_positions(t, side) - (side ? t->class_positions : 0);
    return patches / ((uint64_t)t->merge * t->merge);
}

static double tower_layer_params(const struct sc__tower *t) {
    struct sc__model_params n;
    sc__model_count_parts(&t->body, &n);
    return sc__model_mixer_params(&t->body, 0) + sc__model_layer_norms(&t->body, 0) +
           n.dense_mlp;
}

double sc__tower_params(const struct sc__tower *t) {
    return t->in_params + t->body.layers * tower_layer_params(t) + t->out_params;
}

/* 2 a row and weight each forward, for the input's gradient and for the weight's. */
static double product_flops(const struct sc__tower_product *x, double rows, double passes) {
    return 2 * passes * rows * x->rows * x->in * x->out;
}

double sc__tower_flops(const struct sc__tower *t,
                       double items,
                       double positions,
                       bool frozen,
                       bool all_frozen) {
    double rows = items * positions;
    double sum = 0;
    for (uint32_t i = 0; i < t->body.layers; i++)
        sum += sc__model_layer_flops(&t->body, i, items, positions, false);
    if (frozen)
        sum /= 3;
    for (uint32_t i = 0; i < t->in_count; i++) /* pixels need no gradient */
        sum += product_flops(&t->in[i], rows, frozen ? 1 : i ? 3 : 2);
    for (uint32_t i = 0; i < t->out_count; i++) {
        const struct sc__tower_product *x = &t->out[i];
        sum += product_flops(x, rows, all_frozen ? 1 : frozen && x->first ? 2 : 3);
    }
    return sum;
}
