#include "model/model.h"

bool sc__model_has_experts(const struct sc__model *m, uint32_t layer) {
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
    return m->window && m->window < seq &&
           (!m->window_every || (layer + 1) % m->window_every != 0);
}

uint32_t sc__model_qk_dim(const struct sc__model *m) {
    return m->kv_lora ? m->nope_dim + m->rope_dim : m->head_dim;
}
uint32_t sc__model_v_dim(const struct sc__model *m) {
    return m->kv_lora ? m->v_dim : m->head_dim;
}

/* Weights of the matrices of attention: what a token is multiplied with. */
static double attention_matrix(const struct sc__model *m) {
    double h = m->hidden;
    double a = m->heads;
    if (!m->kv_lora)
        return h * m->head_dim * (2 * a + 2.0 * m->kv_heads);
    double qk = sc__model_qk_dim(m);
    double q = m->q_lora ? h * m->q_lora + m->q_lora * a * qk : h * a * qk;
    double kv = h * (m->kv_lora + m->rope_dim) + m->kv_lora * a * (m->nope_dim + m->v_dim);
    return q + kv + a * m->v_dim * h;
}

static double attention_params(const struct sc__model *m) {
    double n = attention_matrix(m);
    double d = m->head_dim;
    if (m->kv_lora)
        n += m->q_lora + m->kv_lora;
    if (m->linear_bias || m->qkv_bias)
        n += (m->heads + 2.0 * m->kv_heads) * d;
    if (m->linear_bias || m->out_bias)
        n += m->hidden;
    if (m->qk_norm)
        n += 2 * d;
    return n;
}

static double mlp_matrix(const struct sc__model *m, double width) {
    return (m->gated ? 3 : 2) * (double)m->hidden * width;
}

static double mlp_params(const struct sc__model *m, double width, bool bias) {
    return mlp_matrix(m, width) + (bias ? (m->gated ? 2 : 1) * width + m->hidden : 0);
}

void sc__model_count(const struct sc__model *m, struct sc__model_params *p) {
    double h = m->hidden;
    double norm = h * (m->norm_bias ? 2 : 1);
    uint32_t moe = sc__model_moe_layers(m);
    *p = (struct sc__model_params){0};
    p->embedding = (double)m->vocab * h;
    if (m->positions != SC__POSITIONS_OF_SEQUENCE) /* which the model does not know */
        p->positions = (double)m->positions * h;
    p->head = m->tied ? 0 : (double)m->vocab * h;
    p->final_norm = norm;
    p->attention = attention_params(m);
    p->norms = (m->post_norms ? 4 : m->one_norm ? 1 : 2) * norm;
    p->dense_mlp = mlp_params(m, m->ffn, m->linear_bias);
    if (m->experts) {
        p->router = h * m->experts + (m->router_bias ? m->experts : 0);
        p->experts = m->experts * mlp_params(m, m->expert_ffn, m->expert_bias);
        p->shared = m->shared_ffn
                        ? mlp_params(m, m->shared_ffn, false) + (m->shared_gate ? h : 0)
                        : 0;
    }
    double common = m->layers * (p->attention + p->norms) +
                    (m->layers - moe) * p->dense_mlp + moe * (p->router + p->shared);
    p->total =
        common + moe * p->experts + p->embedding + p->positions + p->head + p->final_norm;
    p->active =
        p->total - (m->experts ? moe * p->experts * (1 - (double)m->topk / m->experts) : 0);
}

double sc__model_attention_core_flops(
    const struct sc__model *m, uint32_t layer, double sequences, double seq, bool causal) {
    double width = (double)m->heads * (sc__model_qk_dim(m) + sc__model_v_dim(m));
    double w = m->window;
    double pairs = sc__model_windowed(m, layer, seq) ? 2 * seq * w - w * w : seq * seq;
    return 3 * 2 * sequences * pairs * width * (causal ? 0.5 : 1);
}

double sc__model_layer_flops(
    const struct sc__model *m, uint32_t layer, double sequences, double seq, bool causal) {
    double weights = attention_matrix(m);
    if (sc__model_has_experts(m, layer))
        weights += m->topk * mlp_matrix(m, m->expert_ffn) + mlp_matrix(m, m->shared_ffn) +
                   (double)m->hidden * m->experts;
    else
        weights += mlp_matrix(m, m->ffn);
    return 6 * sequences * seq * weights +
           sc__model_attention_core_flops(m, layer, sequences, seq, causal);
}

double
sc__model_flops(const struct sc__model *m, double sequences, double seq, bool causal) {
    double sum = 6 * sequences * seq * (double)m->vocab * m->hidden;
    for (uint32_t i = 0; i < m->layers; i++)
        sum += sc__model_layer_flops(m, i, sequences, seq, causal);
    return sum;
}
