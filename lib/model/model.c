#include "model/model.h"

bool sc__model_layer_letter(char letter, uint8_t *parts) {
    static const struct {
        char letter;
        uint8_t parts;
    } letters[] = {{'M', SC__MIXER_MAMBA | SC__WITHOUT_FEED_FORWARD},
                   {'*', SC__MIXER_ATTENTION | SC__WITHOUT_FEED_FORWARD},
                   {'G', SC__MIXER_DELTA | SC__WITHOUT_FEED_FORWARD},
                   {'-', SC__MIXER_NONE},
                   {'E', SC__MIXER_NONE | SC__WITH_EXPERTS}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == letter) {
            *parts = letters[i].parts;
            return true;
        }
    return false;
}

enum sc__mixer sc__model_mixer(const struct sc__model *m, uint32_t layer) {
    if (!m->pattern)
        return SC__MIXER_ATTENTION;
    return m->layer_parts[layer % m->pattern] & SC__PART_OF_MIXER;
}

bool sc__model_has_feed_forward(const struct sc__model *m, uint32_t layer) {
    return !m->pattern || !(m->layer_parts[layer % m->pattern] & SC__WITHOUT_FEED_FORWARD);
}

bool sc__model_has_experts(const struct sc__model *m, uint32_t layer) {
    if (m->pattern)
        return m->layer_parts[layer % m->pattern] & SC__WITH_EXPERTS;
    if (m->experts_listed)
        return m->layer_parts[layer % m->experts_listed] & SC__WITH_EXPERTS;
    return m->experts && layer >= m->first_dense &&
           (layer - m->first_dense + 1) % m->moe_every == 0;
}

uint32_t sc__model_moe_layers(const struct sc__model *m) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->layers; i++)
        n += sc__model_has_experts(m, i);
    return n;
}

bool sc__model_windowed(const struct sc__model *m, uint32_t layer, double seq) {
    if (!m->window || m->window >= seq)
        return false;
    if (m->windows_listed)
        return !(m->layer_parts[layer % m->windows_listed] & SC__SEES_ALL);
    return !m->window_every || (layer + 1) % m->window_every != 0;
}

bool sc__model_own_heads(const struct sc__model *m, uint32_t layer) {
    return m->full_head_dim && m->window_every && (layer + 1) % m->window_every == 0;
}

struct sc__attention_heads sc__model_heads_of_kind(const struct sc__model *m, bool own) {
    if (own)
        return (struct sc__attention_heads){.kv_heads = m->full_kv_heads,
                                            .qk_dim = m->full_head_dim,
                                            .v_dim = m->full_head_dim,
                                            .kv_projections = m->full_key_values ? 1 : 2};
    /* latent attention makes keys and values for every head, whatever a configuration calls
     * its number of key-value heads */
    return (struct sc__attention_heads){.kv_heads = m->kv_lora ? m->heads : m->kv_heads,
                                        .qk_dim = m->kv_lora ? m->nope_dim + m->rope_dim
                                                             : m->head_dim,
                                        .v_dim = m->kv_lora ? m->v_dim : m->head_dim,
                                        .kv_projections = 2};
}

struct sc__attention_heads sc__model_attention_heads(const struct sc__model *m,
                                                     uint32_t layer) {
    return sc__model_heads_of_kind(m, sc__model_own_heads(m, layer));
}

/* The indexer's queries come from the rank of queries, its one key and a weight for each
 * head from the hidden state (DeepSeek-V3.2-Exp, section 2). */
static double index_matrix(const struct sc__model *m) {
    double queries = (double)m->q_lora * m->index_heads * m->index_dim;
    return queries +
           (double)m->hidden * (m->index_heads ? m->index_dim + m->index_heads : 0);
}

/* Of latent attention, from the ranks to the heads. */
static double latent_up_matrix(const struct sc__model *m, double qk_dim) {
    double a = m->heads;
    double queries = (m->q_lora ? m->q_lora : m->hidden) * a * qk_dim;
    return queries + m->kv_lora * a * (m->nope_dim + m->v_dim);
}

/* Weights of the matrices of attention: what a token is multiplied with. */
static double attention_matrix(const struct sc__model *m, uint32_t layer) {
    struct sc__attention_heads x = sc__model_attention_heads(m, layer);
    double h = m->hidden;
    double a = m->heads;
    double gate = m->attention_gate ? a : 0;
    if (!m->kv_lora)
        return h * x.qk_dim * (2 * a + gate + (double)x.kv_projections * x.kv_heads);
    double qk = x.qk_dim;
    double down = h * (m->q_lora + m->kv_lora + m->rope_dim);
    return down + latent_up_matrix(m, qk) + a * m->v_dim * h + index_matrix(m);
}

double sc__model_latent_width(const struct sc__model *m) {
    return m->kv_lora ? (double)m->q_lora + m->kv_lora + m->rope_dim : 0;
}

/* Those with weights for each head have no bias (OLMo 2, Cohere, StableLM). */
static double qk_norm_params(const struct sc__model *m,
                             const struct sc__attention_heads *x) {
    if (!m->qk_norm)
        return 0;
    if (m->head_norms)
        return (double)(m->heads + x->kv_heads) * x->qk_dim;
    return (m->norm_bias ? 4.0 : 2.0) * x->qk_dim;
}

double sc__model_shared_head_norms(const struct sc__model *m, uint32_t layer) {
    struct sc__attention_heads x = sc__model_attention_heads(m, layer);
    return m->head_norms ? 0 : qk_norm_params(m, &x);
}

static double attention_params(const struct sc__model *m, uint32_t layer) {
    struct sc__attention_heads x = sc__model_attention_heads(m, layer);
    double n = attention_matrix(m, layer);
    double d = x.qk_dim;
    if (m->kv_lora)
        n += m->q_lora + m->kv_lora;
    if (m->index_heads)
        n += 2.0 * m->index_dim; /* a LayerNorm of the key */
    if (m->kv_lora) /* DeepSeek's: of what brings a token down alone; Megatron's: none */
        n += m->qkv_bias ? sc__model_latent_width(m) : 0;
    else if ((m->linear_bias && !m->no_qkv_bias) || m->qkv_bias)
        n += (m->heads + (double)x.kv_projections * x.kv_heads) * d;
    if (m->no_key_bias)
        n -= x.kv_heads * d;
    if (m->linear_bias || m->out_bias)
        n += m->hidden;
    if (m->sinks)
        n += m->heads;
    if (m->sub_norms)
        n += (double)m->heads * x.v_dim;
    return n + qk_norm_params(m, &x);
}

/* in: of the tokens that come in and go out. */
static double mlp_matrix(const struct sc__model *m, double in, double width) {
    return (m->gated ? 3 : 2) * in * width;
}

static double mlp_params(const struct sc__model *m, double in, double width, bool bias) {
    return mlp_matrix(m, in, width) + (bias ? (m->gated ? 2 : 1) * width + in : 0);
}

double sc__model_mlp_whole(const struct sc__model *m) {
    return (m->linear_bias || m->mlp_bias ? m->hidden : 0) +
           (m->learned_activation ? SC__ACTIVATION_WEIGHTS : 0);
}

uint32_t sc__model_routed_width(const struct sc__model *m) {
    return m->moe_latent ? m->moe_latent : m->hidden;
}

static double latent_matrix(const struct sc__model *m) {
    return 2.0 * m->hidden * m->moe_latent;
}

uint32_t sc__model_prediction(const struct sc__model *m,
                              uint32_t layers[SC__PREDICTION_LAYERS]) {
    uint32_t last = m->layers - 1;
    uint32_t attention = last;
    if (sc__model_mixer(m, last) != SC__MIXER_NONE) {
        layers[0] = last;
        return 1;
    }
    while (attention > 0 && sc__model_mixer(m, attention) != SC__MIXER_ATTENTION)
        attention--;
    layers[0] = attention;
    layers[1] = last;
    return 2;
}

/* ---- scans ---- */

double sc__model_scan_width(const struct sc__model *m) {
    return (double)m->scan_heads * m->scan_head_dim;
}

double sc__model_conv_width(const struct sc__model *m) {
    return sc__model_scan_width(m) + 2.0 * m->scan_groups * m->state_dim;
}

/* What goes through the convolution, a gate as wide as the heads, and for each head
 * its step (Mamba), or its decay and strength (delta net). */
double sc__model_scan_input(const struct sc__model *m, enum sc__mixer mixer) {
    double each = mixer == SC__MIXER_DELTA ? 2 : 1;
    return sc__model_conv_width(m) + sc__model_scan_width(m) + each * m->scan_heads;
}

static double scan_matrix(const struct sc__model *m, enum sc__mixer mixer) {
    return m->hidden * (sc__model_scan_input(m, mixer) + sc__model_scan_width(m));
}

/* Mamba-2: a bias of the convolution, three numbers a head, a norm of all heads. The
 * delta net: no bias, two numbers a head, one norm for every head. */
static double scan_params(const struct sc__model *m, enum sc__mixer mixer) {
    bool mamba = mixer == SC__MIXER_MAMBA;
    bool conv_bias = mamba && !m->bare_conv;
    double conv = sc__model_conv_width(m) * (m->conv_kernel + (conv_bias ? 1.0 : 0.0));
    double heads = (mamba ? 3.0 : 2.0) * m->scan_heads;
    double norm = mamba ? sc__model_scan_width(m) : m->scan_head_dim;
    double biases = mamba && m->scan_bias ? sc__model_scan_input(m, mixer) + m->hidden : 0;
    return scan_matrix(m, mixer) + conv + heads + norm + biases;
}

/* Forward FLOPs a token beside the matrices, as Megatron-LM counts them
 * (training.py): 7·d·N for Mamba-2, four products of a head's size squared a head for
 * the delta net. */
static double scan_flops(const struct sc__model *m, enum sc__mixer mixer) {
    double conv = 2.0 * m->conv_kernel * sc__model_conv_width(m);
    if (mixer == SC__MIXER_MAMBA)
        return conv + 7 * sc__model_scan_width(m) * m->state_dim;
    return conv + 8.0 * m->scan_heads * m->scan_head_dim * m->scan_head_dim;
}

double sc__model_mixer_params(const struct sc__model *m, uint32_t layer) {
    enum sc__mixer mixer = sc__model_mixer(m, layer);
    if (mixer == SC__MIXER_NONE)
        return 0;
    return mixer == SC__MIXER_ATTENTION ? attention_params(m, layer)
                                        : scan_params(m, mixer);
}

double sc__model_norm_params(const struct sc__model *m) {
    if (m->bare_norms)
        return 0;
    return m->hidden * (m->norm_bias ? 2.0 : 1.0);
}

double sc__model_layer_norms(const struct sc__model *m, uint32_t layer) {
    bool half = sc__model_mixer(m, layer) == SC__MIXER_NONE ||
                !sc__model_has_feed_forward(m, layer);
    bool experts = sc__model_has_experts(m, layer);
    double beside = experts ? (m->branch_norms ? 3 : 0) + (m->shared_norm ? 1 : 0) : 0;
    double around = m->post_norms ? 4 : m->one_norm || half ? 1 : 2;
    return (beside + around) * sc__model_norm_params(m);
}

void sc__model_count_parts(const struct sc__model *m, struct sc__model_params *p) {
    double h = m->hidden;
    double norm = sc__model_norm_params(m);
    *p = (struct sc__model_params){0};
    p->embedding = (double)m->vocab * h;
    if (m->positions != SC__POSITIONS_OF_SEQUENCE) /* which the model does not know */
        p->positions = (double)(m->positions + m->spare_positions) * h;
    p->head = (m->tied ? 0 : (double)m->vocab * h) + (m->head_bias ? m->vocab : 0);
    p->embedding_norm = m->embedding_norm ? norm : 0;
    p->final_norm = norm;
    p->dense_mlp = mlp_params(m, h, m->ffn, m->linear_bias || m->mlp_bias) +
                   (m->learned_activation ? SC__ACTIVATION_WEIGHTS : 0) +
                   (m->sub_norms ? m->ffn : 0);
    if (m->experts) {
        p->router = h * m->experts + (m->router_bias ? m->experts : 0);
        if (m->branch_norms) /* scales */
            p->router += h + m->experts;
        p->latent = latent_matrix(m);
        p->experts =
            m->experts *
            mlp_params(m, sc__model_routed_width(m), m->expert_ffn, m->expert_bias);
        p->shared = m->shared_ffn
                        ? mlp_params(m, h, m->shared_ffn, false) + (m->shared_gate ? h : 0)
                        : 0;
    }
}

void sc__model_count(const struct sc__model *m, struct sc__model_params *p) {
    uint32_t moe = sc__model_moe_layers(m);
    double common = 0;
    sc__model_count_parts(m, p);
    for (uint32_t i = 0; i < m->layers; i++) {
        common += sc__model_mixer_params(m, i) + sc__model_layer_norms(m, i);
        if (sc__model_has_experts(m, i))
            common += p->router + p->latent + p->shared;
        else if (sc__model_has_feed_forward(m, i))
            common += p->dense_mlp;
    }
    p->total = common + moe * p->experts + p->embedding + p->positions + p->embedding_norm +
               p->head + p->final_norm;
    p->active =
        p->total - (m->experts ? moe * p->experts * (1 - (double)m->topk / m->experts) : 0);
}

bool sc__model_layers_alike(const struct sc__model *m, uint32_t a, uint32_t b) {
    return sc__model_mixer(m, a) == sc__model_mixer(m, b) &&
           sc__model_has_experts(m, a) == sc__model_has_experts(m, b) &&
           sc__model_has_feed_forward(m, a) == sc__model_has_feed_forward(m, b) &&
           sc__model_own_heads(m, a) == sc__model_own_heads(m, b);
}

double sc__model_attention_core_flops(
    const struct sc__model *m, uint32_t layer, double sequences, double seq, bool causal) {
    struct sc__attention_heads x = sc__model_attention_heads(m, layer);
    double width = (double)m->heads * (x.qk_dim + x.v_dim);
    double w = m->window;
    enum sc__mixer mixer = sc__model_mixer(m, layer);
    if (mixer == SC__MIXER_NONE)
        return 0;
    if (mixer != SC__MIXER_ATTENTION)
        return 3 * sequences * seq * scan_flops(m, mixer);
    bool windowed = sc__model_windowed(m, layer, seq);
    double pairs = windowed ? 2 * seq * w - w * w : seq * seq;
    if (windowed && m->both_ways)
        pairs = seq * w;
    /* of the indexer, where there is something to pick */
    double scores = windowed ? seq * seq * m->index_heads * m->index_dim : 0;
    return 3 * 2 * sequences * (pairs * width + scores) * (causal ? 0.5 : 1);
}

/* What a token is multiplied with in the feed-forward. */
static double feed_forward_matrix(const struct sc__model *m, uint32_t layer) {
    if (sc__model_has_experts(m, layer))
        return m->topk * mlp_matrix(m, sc__model_routed_width(m), m->expert_ffn) +
               mlp_matrix(m, m->hidden, m->shared_ffn) + latent_matrix(m) +
               (double)m->hidden * m->experts;
    return sc__model_has_feed_forward(m, layer) ? mlp_matrix(m, m->hidden, m->ffn) : 0;
}

double sc__model_feed_forward_flops(const struct sc__model *m,
                                    uint32_t layer,
                                    double sequences,
                                    double seq) {
    return 6 * sequences * seq * feed_forward_matrix(m, layer);
}

double sc__model_shared_flops(const struct sc__model *m,
                              uint32_t layer,
                              double sequences,
                              double seq) {
    if (!sc__model_has_experts(m, layer))
        return 0;
    return 6 * sequences * seq * mlp_matrix(m, m->hidden, m->shared_ffn);
}

double sc__model_latent_up_flops(const struct sc__model *m,
                                 uint32_t layer,
                                 double sequences,
                                 double seq) {
    if (!m->kv_lora || sc__model_mixer(m, layer) != SC__MIXER_ATTENTION)
        return 0;
    struct sc__attention_heads x = sc__model_attention_heads(m, layer);
    return 6 * sequences * seq * latent_up_matrix(m, x.qk_dim);
}

double sc__model_layer_flops(
    const struct sc__model *m, uint32_t layer, double sequences, double seq, bool causal) {
    enum sc__mixer mixer = sc__model_mixer(m, layer);
    double weights = 0;
    if (mixer == SC__MIXER_ATTENTION)
        weights = attention_matrix(m, layer);
    else if (mixer != SC__MIXER_NONE)
        weights = scan_matrix(m, mixer);
    return 6 * sequences * seq * (weights + feed_forward_matrix(m, layer)) +
           sc__model_attention_core_flops(m, layer, sequences, seq, causal);
}

double sc__model_routed_flops(const struct sc__model *m,
                              uint32_t layer,
                              double sequences,
                              double seq) {
    if (!sc__model_has_experts(m, layer))
        return 0;
    return 6 * sequences * seq * m->topk *
           mlp_matrix(m, sc__model_routed_width(m), m->expert_ffn);
}

double
sc__model_flops(const struct sc__model *m, double sequences, double seq, bool causal) {
    double sum = 6 * sequences * seq * (double)m->vocab * m->hidden;
    for (uint32_t i = 0; i < m->layers; i++)
        sum += sc__model_layer_flops(m, i, sequences, seq, causal);
    return sum;
}
