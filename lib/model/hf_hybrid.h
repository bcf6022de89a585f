/* hf_hybrid: configurations whose layers are of several kinds. */
#ifndef SC_MODEL_HF_HYBRID_H
#define SC_MODEL_HF_HYBRID_H

#include "model/hf_family.h"
#include "model/model.h"

#include <jansson.h>

/* A list of words for the layers of Nemotron-H is turned into letters, and counted where
 * their number is left out, before the model is read. */
void sc__hf_hybrid_prepare(struct sc_context *ctx,
                           const struct sc__hf_family *family,
                           json_t *root);
/* Fills the pattern of layers and the sizes of their mixers; the rest of the model has
 * been read. Nothing for families of attention alone. */
sc_status sc__hf_hybrid_read(struct sc_context *ctx,
                             const char *file,
                             json_t *root,
                             const struct sc__hf_family *family,
                             struct sc__model *m);
/* It is read here, or decides nothing about a step of such a model. */
bool sc__hf_hybrid_key(const struct sc__hf_family *family, const char *key);

#endif
