/* hf_checks: keys of a Hugging Face config.json that are true or false: which have another
 * value, and which ask for a model that is not modelled. */
#ifndef SC_MODEL_HF_CHECKS_H
#define SC_MODEL_HF_CHECKS_H

#include "model/hf_family.h"

#include <jansson.h>

/* Another value than true or false would count as if the key were not there. */
sc_status sc__hf_check_truths(struct sc_context *ctx, const char *file, const json_t *root);
/* Masks other than the causal one and norms that stand elsewhere are refused, how weights
 * are stored is noted. */
sc_status sc__hf_check_switches(struct sc_context *ctx,
                                const char *file,
                                const json_t *root,
                                const struct sc__hf_family *family);

#endif
