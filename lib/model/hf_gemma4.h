/* hf_gemma4: configurations of Gemma 4. */
#ifndef SC_MODEL_HF_GEMMA4_H
#define SC_MODEL_HF_GEMMA4_H

#include "model/hf_family.h"
#include "model/model.h"

#include <jansson.h>

/* Before the model is read: refuses what is not modelled, and takes out what a switch
 * turns off. Nothing for other families. */
sc_status sc__hf_gemma4_prepare(struct sc_context *ctx,
                                const char *file,
                                const struct sc__hf_family *family,
                                json_t *root);
/* Heads of the layers that see all keys, and the parts beside the experts; the rest of
 * the model has been read. */
sc_status sc__hf_gemma4_read(struct sc_context *ctx,
                             const char *file,
                             const struct sc__hf_family *family,
                             const json_t *root,
                             struct sc__model *m);
/* It is read here, or decides nothing about a step of such a model. */
bool sc__hf_gemma4_key(const struct sc__hf_family *family, const char *key);

#endif
