/* hf_expert_layers: which layers of a configuration have experts. */
#ifndef SC_MODEL_HF_EXPERT_LAYERS_H
#define SC_MODEL_HF_EXPERT_LAYERS_H

#include "model/model.h"

#include <jansson.h>

/* By the rule of the family, or a list; layers, dense ones before those with experts and
 * their period have been read. */
sc_status sc__hf_expert_layers_read(struct sc_context *ctx,
                                    const char *file,
                                    const json_t *root,
                                    struct sc__model *m);

#endif
