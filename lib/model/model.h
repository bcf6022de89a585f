/* model: a transformer language model, as far as it decides a training step:
 * shapes, what is shared, which layers have experts. Read from a Hugging Face
 * config.json, a preset (the same format, data/models) or Megatron's flags.
 *
 * Counts here are those of the whole model; lower/ cuts them by the plan. */
#ifndef SC_IR_MODEL_H
#define SC_IR_MODEL_H

#include "base/base.h"

#define SC__MOST_LAYERS 4096 /* a model with more is refused */

/* A learned position for each token of the plan's sequences, where the model does
 * not say how many. */
#define SC__POSITIONS_OF_SEQUENCE UINT32_MAX

enum sc__norm { SC__LAYERNORM, SC__RMSNORM };

/* What mixes the tokens of a layer. */
enum sc__mixer {
    SC__MIXER_ATTENTION,
    SC__MIXER_MAMBA, /* Mamba-2: a selective state space, in chunks */
    SC__MIXER_DELTA, /* gated delta net: linear attention by the delta rule */
    SC__MIXER_NONE   /* a layer that is a feed-forward alone */
};

enum { /* a layer of a pattern: its mixer, and */
       SC__PART_OF_MIXER = 3,
       SC__WITHOUT_FEED_FORWARD = 4,
       SC__WITH_EXPERTS = 8,
       SC__SEES_ALL = 16 /* its attention has no window; counts where windows are listed */
};

#define SC__ACTIVATION_WEIGHTS 2 /* alpha_p and alpha_n of xIELU (arXiv 2411.13010) */

struct sc__tower;

struct sc__model {
    const char *name;
    const char
        *family; /* "gpt2", "llama", "deepseek_v3" …: model_type of the configuration */
    const char *source; /* where the figures come from, or NULL */
    double published;   /* parameters as published, 0 = unknown */
    uint32_t layers;
    uint32_t hidden;
    uint32_t heads;
    uint32_t kv_heads;
    uint32_t head_dim;
    uint32_t ffn;             /* of a dense layer */
    uint32_t vocab;           /* 0 = unknown */
    uint32_t positions;       /* rows of a learned position embedding, 0 = rotary or ALiBi,
                                 or SC__POSITIONS_OF_SEQUENCE */
    uint32_t spare_positions; /* rows beside those, which no token has (OPT) */
    bool no_rotary;           /* ALiBi, or no positions at all */
    uint32_t context;         /* the longest sequence it was made for, 0 = unknown */
    uint32_t norm;            /* enum sc__norm */
    bool gated;               /* SwiGLU/GeGLU: two matrices up, one down */
    bool linear_bias;         /* every linear has a bias */
    /* these alone have one */
    bool qkv_bias;
    bool out_bias;
    bool mlp_bias;
    /* of linear_bias: keys have none, queries, keys and values have none */
    bool no_key_bias;
    bool no_qkv_bias;
    bool head_bias;  /* the output embedding has one */
    bool qk_norm;    /* queries and keys are normalised per head */
    bool head_norms; /* with weights for each head, which are the same for all otherwise */
    bool sinks;      /* a learned score for each head beside those of its keys */
    bool new_gelu;   /* "gelu_new": GELU by tanh, which transformers writes out */
    bool function_gelu; /* the same in a function of autograd */
    bool relu;          /* its derivative is in its result */
    bool norm_bias;     /* a LayerNorm with its bias */
    bool bare_norms;    /* norms without weights */
    bool wide_norms;    /* RMS norms of transformers scale fp32 values, then narrow them */
    bool packed_qkv; /* values are a part of what one linear layer of transformers made */
    bool capped;     /* logits go through a tanh */
    bool post_norms; /* norms after attention and feed-forward as well as before */
    bool sub_norms; /* norms of what goes into the last linear layer of attention and of the
                       dense feed-forward (BitNet) */
    bool learned_activation; /* with SC__ACTIVATION_WEIGHTS numbers a layer (xIELU) */
    bool one_norm;           /* attention and feed-forward side by side behind one norm */
    bool tied;               /* input and output embedding are one matrix */

    uint32_t experts; /* 0 = no expert layers */
    uint32_t topk;
    uint32_t expert_ffn;
    uint32_t shared_ffn;     /* width of all shared experts together, 0 = none */
    uint32_t moe_latent;     /* tokens go to routed experts this wide (latent MoE), and are
                                projected down and up; 0 = as they are */
    uint32_t first_dense;    /* the first layers that are dense */
    uint32_t moe_every;      /* of the others, each n-th has experts; 1 = all */
    uint32_t experts_listed; /* of so many layers layer_parts says which have experts, and
                                the two above do not count; 0 = no list */
    bool router_bias;
    bool wide_routes;  /* in transformers: tokens are weighted in fp32, */
    bool wide_router;  /* and the gate is a product of fp32 */
    bool every_expert; /* in transformers: multiplies all tokens */
    bool expert_bias;
    bool shared_gate;    /* the shared expert has a gate of its own */
    bool shared_norm;    /* and a norm (Arctic's dense part) */
    bool embedding_norm; /* a norm behind the embedding (BLOOM) */

    /* multi-head latent attention: ranks; kv_lora 0 = none */
    uint32_t q_lora;
    uint32_t kv_lora;
    uint32_t nope_dim;
    uint32_t rope_dim;
    uint32_t v_dim;
    uint32_t window; /* keys a query of a windowed layer sees, itself among them; 0 = all */
    uint32_t window_every; /* each n-th layer sees all keys; 0 = every layer is windowed */
    uint32_t windows_listed; /* of so many layers layer_parts says which see all keys, and
                                window_every does not count; 0 = no list */
    /* Attention of those n-th layers may have heads of its own (Gemma 4): their size and
     * key-value heads; 0 = as in the others. */
    uint32_t full_head_dim;
    uint32_t full_kv_heads;
    bool full_key_values; /* and values that are made of the keys, without a projection */
    bool v_norm;          /* values are normalised per head, without weights */
    /* the dense feed-forward and the experts of a layer are side by side, each behind and
     * before a norm of its own; the router has a norm without weights, a scale for each
     * channel and one for each expert */
    bool branch_norms;
    /* Layers of several kinds: that of layer i is layer_parts[i % pattern]; 0: all are
     * attention and a feed-forward. */
    uint32_t pattern;
    uint8_t layer_parts[SC__MOST_LAYERS];
    /* Mamba-2 and gated delta net: heads and their size; groups (keys of the delta net)
     * share queries and keys of state_dim each */
    uint32_t scan_heads;
    uint32_t scan_head_dim;
    uint32_t scan_groups;
    uint32_t state_dim;
    uint32_t conv_kernel;
    uint32_t scan_chunk; /* tokens that are multiplied as one block */
    /* of Mamba-2: its projections have biases, its convolution has none */
    bool scan_bias;
    bool bare_conv;
    /* An indexer picks the keys of a query (DeepSeek sparse attention): its heads and
     * their size, and how many are picked, which is the window; 0 = none */
    uint32_t index_heads;
    uint32_t index_dim;
    bool attention_gate; /* the output of attention is gated: queries are twice as wide */
    bool mtp_said;       /* by an option, not by the file of the model */
    uint32_t mtp_layers; /* multi-token prediction layers after the last; not in the count
                            of   parameters */
    bool both_ways;      /* every token sees all others; a window is a part of them */
    /* Encoders for pictures and sound (model/tower.h); not in the count of parameters. */
    struct sc__tower *towers;
    uint32_t tower_count;
};

/* Parameters of the parts; a layer's are one layer's. */
struct sc__model_params {
    double embedding; /* input embedding */
    double positions;
    double head; /* 0 when tied */
    double embedding_norm;
    double final_norm;
    double dense_mlp; /* of a layer */
    /* of a layer with experts */
    double router;
    double latent; /* projections to the width of routed tokens and back */
    double experts;
    double shared;
    double total;  /* of the model */
    double active; /* what one token passes through */
};

/* Heads of attention of a layer, beside those of the queries. */
struct sc__attention_heads {
    uint32_t kv_heads;
    /* head dimensions of queries/keys and of values */
    uint32_t qk_dim;
    uint32_t v_dim;
    uint32_t kv_projections; /* 2, or 1 where values are made of the keys */
};

/* Of latent attention: what a token is brought down to, before the heads; 0: ordinary. */
double sc__model_latent_width(const struct sc__model *m);
/* Weights of the norms of queries and keys that all heads of a layer share. */
double sc__model_shared_head_norms(const struct sc__model *m, uint32_t layer);

/* What a letter of a pattern of layers says: M Mamba-2, * attention, - a feed-forward, E
 * experts, G a gated delta net. False: nothing. */
bool sc__model_layer_letter(char letter, uint8_t *parts);
enum sc__mixer sc__model_mixer(const struct sc__model *m, uint32_t layer);
bool sc__model_has_feed_forward(const struct sc__model *m, uint32_t layer);
/* Channels of the scan's heads, of its convolution, and of the projection before it. */
double sc__model_scan_width(const struct sc__model *m);
double sc__model_conv_width(const struct sc__model *m);
double sc__model_scan_input(const struct sc__model *m, enum sc__mixer mixer);
/* Parameters of a norm of the hidden state. */
double sc__model_norm_params(const struct sc__model *m);
/* Of a dense feed-forward: what every tensor-parallel rank has all of. */
double sc__model_mlp_whole(const struct sc__model *m);
/* Parameters of a layer's mixer, and of its norms. */
double sc__model_mixer_params(const struct sc__model *m, uint32_t layer);
double sc__model_layer_norms(const struct sc__model *m, uint32_t layer);
bool sc__model_has_experts(const struct sc__model *m, uint32_t layer);
uint32_t sc__model_moe_layers(const struct sc__model *m);
/* The width of a token on its way to its experts and in them. */
uint32_t sc__model_routed_width(const struct sc__model *m);
#define SC__PREDICTION_LAYERS 2
/* The layers of the model that a multi-token prediction layer is made of: the last one;
 * where layers are a mixer or a feed-forward alone, the last attention and the last
 * feed-forward. Returns how many. */
uint32_t sc__model_prediction(const struct sc__model *m,
                              uint32_t layers[SC__PREDICTION_LAYERS]);
/* Attention of this layer is cut to a window shorter than the sequence. */
bool sc__model_windowed(const struct sc__model *m, uint32_t layer, double seq);
void sc__model_count(const struct sc__model *m, struct sc__model_params *out);
/* The same without the sums over all layers: total and active are 0. */
void sc__model_count_parts(const struct sc__model *m, struct sc__model_params *out);
/* Two layers have the same parts: the same weights, and keep the same activations. */
bool sc__model_layers_alike(const struct sc__model *m, uint32_t a, uint32_t b);
/* The layer is one of those whose attention has heads of its own. */
bool sc__model_own_heads(const struct sc__model *m, uint32_t layer);
struct sc__attention_heads sc__model_attention_heads(const struct sc__model *m,
                                                     uint32_t layer);
/* The same for a kind of layers: those with heads of their own, or the others. */
struct sc__attention_heads sc__model_heads_of_kind(const struct sc__model *m, bool own);

/* Model FLOPs of one step over all ranks: 6 per parameter of a matrix and
 * token, attention 12·b·s²·(heads·d), halved where causal counts. For GPT this
 * is 72·B·s·l·h²(1 + s/6h + V/12lh). forward_only: a third of it. */
double
sc__model_flops(const struct sc__model *m, double sequences, double seq, bool causal);
double sc__model_layer_flops(
    const struct sc__model *m, uint32_t layer, double sequences, double seq, bool causal);
/* Of experts that tokens are sent to, with all of their tokens; part of the layer's. */
double sc__model_routed_flops(const struct sc__model *m,
                              uint32_t layer,
                              double sequences,
                              double seq);
/* Other parts of it: the feed-forward with router and shared experts, these alone, and
 * latent attention's products from the ranks to the heads. */
double sc__model_feed_forward_flops(const struct sc__model *m,
                                    uint32_t layer,
                                    double sequences,
                                    double seq);
double sc__model_shared_flops(const struct sc__model *m,
                              uint32_t layer,
                              double sequences,
                              double seq);
double sc__model_latent_up_flops(const struct sc__model *m,
                                 uint32_t layer,
                                 double sequences,
                                 double seq);
double sc__model_attention_core_flops(
    const struct sc__model *m, uint32_t layer, double sequences, double seq, bool causal);

#endif
