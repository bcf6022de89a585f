/* hf_keys: the keys of a Hugging Face config.json beside those that are read as
 * sizes: which say nothing about a step, and which change a model in a way that
 * is not modelled. */
#ifndef SC_MODEL_HF_KEYS_H
#define SC_MODEL_HF_KEYS_H

#include "base/base.h"

#include <jansson.h>

/* Read elsewhere, or without weight for the time of a training step. */
bool sc__hf_key_is_quiet(const char *key);
/* A size that no layer of this model_type has. */
bool sc__hf_key_is_unused(const char *type, const char *key);
/* A key that is not known, but by its name and value says what shape the model
 * has: passing over it would give the count of another model. */
bool sc__hf_key_shapes_model(const char *key, const json_t *value);

#endif
