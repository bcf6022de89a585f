/* read: model descriptions → struct sc__model. Two spellings: a Hugging Face config.json
 * (presets are such files, data/models) and Megatron's flags, which may come from a launch
 * script or a trainer's configuration (lib/launch). */
#ifndef SC_MODEL_READ_H
#define SC_MODEL_READ_H

#include "model/model.h"

/* A configuration's text; file names it in errors. */
sc_status sc__model_parse(struct sc_context *ctx,
                          const char *file,
                          struct sc__str text,
                          struct sc__model *out);
/* The preset that people mean by a name: any case and separators, or an id of Hugging
 * Face ("meta-llama/Llama-3.1-70B-Instruct"). NULL when there is none. */
const struct sc__data_file *sc__model_preset(struct sc__arena *arena, const char *name);
/* A preset's name, or the path of a config.json (or of a folder with one). */
sc_status sc__model_find(struct sc_context *ctx, const char *name, struct sc__model *out);
/* What --model and Megatron's flags say together; a flag replaces what the
 * model says. *given is false when neither is there. */
sc_status sc__model_settings(struct sc_context *ctx,
                             const struct sc__settings *settings,
                             struct sc__model *out,
                             bool *given);

/* Which layers have experts: --moe-layer-freq (a number, or a list as Python writes
 * it: ([0]*3+[1]*58)) and --first-k-dense-replace. */
sc_status sc__read_expert_layers(const struct sc__settings *s, struct sc__model *m);
/* A list of 0 and 1 as Python writes it, of at most SC__MOST_LAYERS; false: it is none. */
bool sc__read_layer_list(const char *text, unsigned char *items, uint32_t *count);
/* Which layers have experts, a number for each, 0 for none; in any order. */
void sc__model_list_experts(struct sc__model *m, const unsigned char *experts);
/* Layers of several kinds: --hybrid-override-pattern, --linear-attention-freq. */
sc_status sc__read_hybrid_layers(const struct sc__settings *s, struct sc__model *m);

#endif
