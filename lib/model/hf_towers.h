/* hf_towers: encoders for pictures and sound of a Hugging Face configuration
 * ("vision_config", "audio_config") and what connects them to the language model. */
#ifndef SC_MODEL_HF_TOWERS_H
#define SC_MODEL_HF_TOWERS_H

#include "model/tower.h"

#include <jansson.h>

/* Fills the model's towers; the language model has been read. A tower that is not
 * modelled says why, and is an error only for a step that needs it. */
void sc__hf_towers_read(struct sc_context *ctx, const json_t *whole, struct sc__model *m);

#endif
