/* tower: an encoder for pictures or sound before a language model. Its layers are those
 * of a small model of its own (`body`), with what cuts a picture into positions before
 * them and a connector behind them that makes tokens of the language model.
 *
 *   pixels → in (patches, positions) → body → out (norm, merging, projections) → tokens
 */
#ifndef SC_MODEL_TOWER_H
#define SC_MODEL_TOWER_H

#include "model/model.h"

enum sc__tower_kind { SC__TOWER_VISION, SC__TOWER_AUDIO };

/* A product before or behind the layers. */
struct sc__tower_product {
    uint32_t in;
    uint32_t out;
    double rows; /* for each position of the tower */
    bool first;  /* of the connector: its input is what the layers gave */
};

#define SC__TOWER_PRODUCTS 12

struct sc__tower {
    enum sc__tower_kind kind;
    const char *type;    /* model_type of its configuration */
    const char *refused; /* why it cannot be simulated, or NULL; then nothing else counts */
    struct sc__model body;
    struct sc__tower_product in[2];
    uint32_t in_count;
    struct sc__tower_product out[SC__TOWER_PRODUCTS];
    uint32_t out_count;
    double in_params; /* with positions and norms */
    double out_params;
    /* pictures */
    uint32_t image_size; /* pixels of a side as the configuration has it; 0: any */
    uint32_t patch_size;
    uint32_t class_positions; /* that are no patch */
    uint32_t usual_patches;   /* where the configuration has no size; 0: it does not say */
    uint32_t merge;           /* side of the square of patches that becomes a token */
    /* sound */
    uint32_t clip_positions;
    double clip_seconds;
    double clip_tokens;
};

/* Positions that one picture, or one clip of sound, takes in the tower, and the tokens
 * they become. side: pixels, a multiple of patch and merging. */
uint64_t sc__tower_positions(const struct sc__tower *t, uint32_t side);
uint64_t sc__tower_tokens(const struct sc__tower *t, uint32_t side);
double sc__tower_params(const struct sc__tower *t);
/* FLOPs of a step of so many pictures or clips. frozen: the layers run forward alone;
 * all_frozen: the connector as well. */
double sc__tower_flops(const struct sc__tower *t,
                       double items,
                       double positions,
                       bool frozen,
                       bool all_frozen);

#endif
