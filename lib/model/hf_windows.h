/* hf_windows: which layers of a configuration see a window of keys, and which all. */
#ifndef SC_MODEL_HF_WINDOWS_H
#define SC_MODEL_HF_WINDOWS_H

#include "model/hf_family.h"
#include "model/model.h"

#include <jansson.h>

/* A number, or a letter for each layer of a period: L a window, G all keys (EXAONE). */
#define SC__HF_WINDOW_PATTERN "sliding_window_pattern"

/* By the family, or a list with a word for each layer, or how many come first, or letters;
 * layers and the window have been read. */
sc_status sc__hf_windows_read(struct sc_context *ctx,
                              const char *file,
                              const json_t *root,
                              unsigned traits,
                              struct sc__model *m);

#endif
