/* hf_family: what a model_type of a Hugging Face config.json says that its keys
 * leave open: which norm, whether the feed-forward is gated, which linears have
 * a bias. */
#ifndef SC_MODEL_HF_FAMILY_H
#define SC_MODEL_HF_FAMILY_H

#include "base/base.h"
#include "model/model.h"

enum sc__hf_trait {
    SC__HF_GATED = 1 << 0,
    SC__HF_RMS = 1 << 1,
    SC__HF_BIAS = 1 << 2,
    SC__HF_QKV_BIAS = 1 << 3,
    SC__HF_OUT_BIAS = 1 << 4,
    SC__HF_QK_NORM = 1 << 5,
    SC__HF_TIED = 1 << 6,
    SC__HF_LEARNED = 1 << 7,
    SC__HF_NO_NORM_BIAS = 1 << 8,
    SC__HF_ROUTER_BIAS = 1 << 9,
    SC__HF_EXPERT_BIAS = 1 << 10,
    SC__HF_SHARED_GATE = 1 << 11,
    SC__HF_POST_NORMS = 1 << 12,  /* norms after attention and feed-forward as well */
    SC__HF_ALIBI = 1 << 13,       /* no position enters the weights or the heads */
    SC__HF_WINDOW_HALF = 1 << 14, /* each second layer sees all keys, the others a window */
    SC__HF_WINDOW_SIXTH = 1 << 15, /* each sixth */
    SC__HF_NEW_GELU = 1 << 16,
    SC__HF_ONE_NORM = 1 << 17,    /* attention and feed-forward side by side */
    SC__HF_FOUR_TIMES = 1 << 18,  /* without a size the feed-forward is 4 times hidden */
    SC__HF_MULTI_QUERY = 1 << 19, /* one key-value head unless "multi_query" is false */
    SC__HF_LLAMA4 = 1 << 20,      /* one shared expert as wide as a routed one; dense layers
                                     have a size of their own */
    SC__HF_PARALLEL = 1 << 21,    /* "use_parallel_residual" drops the second norm */
    SC__HF_LETTERS = 1 << 22,     /* a letter for each layer says what it is (Nemotron-H) */
    SC__HF_DELTA = 1 << 23,       /* gated delta nets between layers of gated attention */
    SC__HF_WINDOW_FOURTH = 1 << 24, /* each fourth layer sees all keys */
    SC__HF_DENSE_BESIDE = 1 << 25, /* a feed-forward as wide as hidden beside the experts */
    SC__HF_MAMBA_KEYS = 1 << 26,   /* layers of Mamba-2 or attention (mamba_n_heads, …) */
    SC__HF_EMBEDDING_NORM = 1 << 27,
    SC__HF_GEMMA4 = 1 << 28,     /* heads of their own in layers that see all keys */
    SC__HF_WIDE_NORMS = 1 << 29, /* RMS norms scale their values before they narrow them */
    SC__HF_PACKED_QKV = 1 << 30 /* one linear layer for q, k and v, which are parts of it */
};

/* What single types have beside their traits. */
enum sc__hf_detail {
    SC__HF_HEAD_NORMS = 1 << 0, /* norms of queries and keys have weights for each head */
    SC__HF_HEAD_BIAS = 1 << 1,  /* the output embedding has a bias */
    SC__HF_MLP_BIAS = 1 << 2,
    SC__HF_NO_QKV_BIAS = 1 << 3,
    SC__HF_BARE_NORMS = 1 << 4,
    SC__HF_SINKS = 1 << 5,
    SC__HF_FUNCTION_GELU = 1 << 6,
    SC__HF_INPUT_BIASES = 1 << 7, /* "attention_bias" is that of queries, keys and values */
    SC__HF_BIAS_OF_ATTENTION = 1 << 8, /* "bias" is that of attention's four layers */
    SC__HF_SPARE_POSITIONS = 1 << 9,   /* two more than tokens may have */
    SC__HF_ATTENTION_GATE = 1 << 10,   /* the output of attention is gated */
    SC__HF_MAMBA_ALONE = 1 << 11,      /* every layer is Mamba-2, without a feed-forward */
    SC__HF_LEARNED_ACTIVATION = 1 << 12,
    SC__HF_SUB_NORMS = 1 << 13,       /* norms before the last layers of both halves */
    SC__HF_WINDOW_IF_ASKED = 1 << 14, /* no windows unless "use_sliding_window" is true */
    SC__HF_SIDE_BY_SIDE = 1 << 15,    /* one norm unless "parallel_attn" is false */
    SC__HF_WIDE_ROUTES = 1 << 16,     /* routed tokens are weighted in fp32 */
    SC__HF_WIDE_ROUTER = 1 << 17,     /* the gate is a product of fp32 */
    SC__HF_FIXED_BIASES = 1 << 19,    /* those of attention, whatever a key says */
    SC__HF_NO_WINDOWS = 1 << 20,      /* its class has none, whatever a key says */
    SC__HF_EVERY_EXPERT = 1 << 18     /* multiplies all tokens, of which most weigh 0 */
};

struct sc__hf_family {
    const char *type;
    unsigned traits;
    const char *experts_key; /* the key that has to give experts; NULL: may be dense */
};

/* What a key is where a configuration of this type leaves it out. */
struct sc__hf_default {
    const char *type;
    const char *key;
    uint32_t value;
    bool in_part; /* only where the model is a part of another (text_config), which is
                     saved without what is as in the class */
};

extern const struct sc__hf_default sc__hf_defaults[]; /* ends with type NULL */

/* NULL where the type is not known. */
const struct sc__hf_family *sc__hf_family_find(const char *type);
/* That of a class such as LlamaForCausalLM; NULL where none is known by that name. */
const struct sc__hf_family *sc__hf_family_of_class(const char *class);
/* Whether code that "auto_map" names is that of a type we know. */
bool sc__hf_family_has_code(const char *module);
/* A class of transformers that ends without an output embedding: one that scores a text
 * (…ForSequenceClassification) or the layers alone (Qwen3Model). */
bool sc__hf_class_without_head(const char *class);
/* What an unknown type is read as, where its keys allow it. */
const struct sc__hf_family *sc__hf_family_like_llama(void);
/* The types that are known, for a hint. */
const char *sc__hf_family_list(struct sc_context *ctx);
/* What of a known type is not modelled, or NULL. */
const char *sc__hf_family_refused(const char *type);
/* Bits of enum sc__hf_detail. */
unsigned sc__hf_family_details(const char *type);
/* Puts what traits and details say into the model. */
void sc__hf_apply_traits(const struct sc__hf_family *family, struct sc__model *m);

#endif
