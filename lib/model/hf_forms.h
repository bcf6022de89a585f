/* hf_forms: configurations that say the same things in another form: keys of their own
 * names, in objects of their own, or sizes counted otherwise. */
#ifndef SC_MODEL_HF_FORMS_H
#define SC_MODEL_HF_FORMS_H

#include "base/base.h"

#include <jansson.h>

/* Gives root (of this model_type) the common keys that its own ones stand for, and takes
 * its own away. They go before a common key that is there as well (embedding_size). */
sc_status sc__hf_forms_apply(struct sc_context *ctx,
                             const char *file,
                             const char *type,
                             json_t *root);

#endif
