/* megatron_flags: flags of Megatron that say what the model is (--num-layers,
 * --hidden-size …), alone or on top of --model. */
#include "model/read.h"

#include <string.h>

static const char *const shape_flags[] = {
    "num-layers", "hidden-size", "num-attention-heads", NULL};

static bool any_shape(const struct sc__settings *s) {
    for (const char *const *f = shape_flags; *f; f++)
        if (sc__setting(s, *f))
            return true;
    return false;
}

static sc_status need_shape(struct sc_context *ctx, const struct sc__model *m) {
    const uint32_t value[] = {m->layers, m->hidden, m->heads};
    for (unsigned i = 0; shape_flags[i]; i++)
        if (!value[i])
            return sc__fail(ctx,
                            SC_USAGE,
                            NULL,
                            "or name a model with --model",
                            "--%s is missing",
                            shape_flags[i]);
    return SC_OK;
}

/* What Megatron does when nothing is said: a GPT with biases, LayerNorm, GELU,
 * learned positions and tied embeddings. */
static struct sc__model megatron_default(void) {
    return (struct sc__model){.name = "megatron",
                              .family = "megatron",
                              .norm = SC__LAYERNORM,
                              .norm_bias = true,
                              .linear_bias = true,
                              .tied = true,
                              .moe_every = 1};
}

/* A preset with another hidden size or number of heads: what follows from
 * them is set anew, in Megatron's proportions, and named. */
static sc_status follow_shapes(const struct sc__settings *s,
                               struct sc__model *m,
                               const struct sc__model *was) {
    bool wider = m->hidden != was->hidden, heads = m->heads != was->heads;
    if (!wider && !heads)
        return SC_OK;
    if (m->hidden % m->heads && !sc__setting(s, "kv-channels") && !m->kv_lora)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give the size of a head with --kv-channels",
                        "the hidden size %u does not divide into %u heads",
                        m->hidden,
                        m->heads);
    m->head_dim = m->hidden / m->heads;
    if (was->kv_heads == was->heads || m->heads % was->kv_heads || !was->kv_heads)
        m->kv_heads = m->heads;
    if (wider)
        m->ffn = m->gated ? m->hidden * 8 / 3 / 64 * 64 : 4 * m->hidden;
    if (was->hidden)
        sc__note(s->ctx,
                 "shapes-follow",
                 "%s with hidden size %u and %u heads: heads of %u, %u key-value heads, "
                 "feed-forward %u unless given",
                 m->name,
                 m->hidden,
                 m->heads,
                 m->head_dim,
                 m->kv_heads,
                 m->ffn);
    return SC_OK;
}

static sc_status model_megatron_flags_read_groups(const struct sc__settings *s,
                                                  struct sc__model *m) {
    if (sc__setting_flag(s, "group-query-attention") && !sc__setting(s, "num-query-groups"))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--group-query-attention needs --num-query-groups");
    return sc__setting_u32(s, "num-query-groups", 1, &m->kv_heads);
}

/* Those of --hybrid-override-pattern, which newer scripts give instead of a number. */
static uint32_t lettered_layers(const struct sc__settings *s) {
    const char *letters = sc__setting(s, "hybrid-override-pattern");
    uint32_t layers = 0;
    for (; letters && *letters && *letters != '/'; letters++)
        layers += *letters != '|' && *letters != ' ';
    return layers;
}

/* Before any list with a place for each layer is filled. */
static sc_status check_size(struct sc_context *ctx, const struct sc__model *m) {
    if (m->layers <= SC__MOST_LAYERS && m->heads <= m->hidden)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    NULL,
                    "%u layers and %u heads of %u are no model we can build",
                    m->layers,
                    m->heads,
                    m->hidden);
}

static sc_status read_shapes(const struct sc__settings *s, struct sc__model *m) {
    const struct sc__model was = *m;
    SC__TRY(sc__setting_u32(s, "num-layers", 1, &m->layers));
    if (!m->layers)
        m->layers = lettered_layers(s);
    SC__TRY(sc__setting_u32(s, "hidden-size", 1, &m->hidden));
    SC__TRY(sc__setting_u32(s, "num-attention-heads", 1, &m->heads));
    SC__TRY(need_shape(s->ctx, m));
    SC__TRY(check_size(s->ctx, m));
    if (sc__setting_flag(s, "swiglu"))
        m->gated = true;
    SC__TRY(follow_shapes(s, m, &was));
    SC__TRY(sc__setting_u32(s, "kv-channels", 1, &m->head_dim));
    SC__TRY(model_megatron_flags_read_groups(s, m));
    SC__TRY(sc__setting_u32(s, "ffn-hidden-size", 1, &m->ffn));
    SC__TRY(sc__setting_u32(s, "vocab-size", 1, &m->vocab));
    return sc__setting_u32(s, "padded-vocab-size", 1, &m->vocab);
}

/* A query sees no key after it whatever is said here; -1 is all of them. */
static bool keys_after(struct sc__str text) {
    uint32_t keys;
    return sc__str_is(text, "-1") || sc__parse_u32(text, &keys);
}

/* --window-size 127,0: so many keys before a query, and itself;
 * --window-attn-skip-freq N: each N-th layer sees all. */
static sc_status read_window(const struct sc__settings *s, struct sc__model *m) {
    const char *window = sc__setting(s, "window-size");
    uint32_t before;
    if (window) {
        struct sc__str rest = sc__str(window);
        struct sc__str part;
        while (rest.n && strchr("([ ", rest.p[0])) {
            rest.p++;
            rest.n--;
        }
        while (rest.n && strchr(")] ", rest.p[rest.n - 1]))
            rest.n--;
        sc__split(&rest, ',', &part);
        bool pair = sc__parse_u32(sc__trim(part), &before);
        if (sc__split(&rest, ',', &part))
            pair = pair && keys_after(sc__trim(part)) && !sc__split(&rest, ',', &part);
        if (!pair || before == UINT32_MAX)
            return sc__fail(s->ctx,
                            SC_USAGE,
                            NULL,
                            "write it like 127,0",
                            "--window-size takes keys before and after, not '%s'",
                            window);
        m->window = before + 1;
    }
    return sc__setting_u32(s, "window-attn-skip-freq", 1, &m->window_every);
}

static sc_status read_norm(const struct sc__settings *s, struct sc__model *m) {
    static const char *const norms[] = {"LayerNorm",
                                        "RMSNorm",
                                        "layernorm",
                                        "rmsnorm",
                                        NULL};
    unsigned norm = m->norm;
    SC__TRY(sc__setting_word(s, "normalization", norms, &norm));
    norm %= 2;
    if (norm != m->norm)
        m->norm_bias = norm == SC__LAYERNORM;
    m->norm = norm;
    return SC_OK;
}

static void read_switches(const struct sc__settings *s, struct sc__model *m) {
    if (sc__setting_flag(s, "untie-embeddings-and-output-weights"))
        m->tied = false;
    if (sc__setting_flag(s, "disable-bias-linear"))
        m->linear_bias = m->qkv_bias = m->out_bias = false;
    if (sc__setting_flag(s, "add-qkv-bias"))
        m->qkv_bias = true;
    if (sc__setting_flag(s, "qk-layernorm"))
        m->qk_norm = true;
}

/* Learned positions, one for each of the longest sequence; a preset keeps its
 * own kind unless told otherwise. */
static sc_status
read_positions(const struct sc__settings *s, struct sc__model *m, bool preset) {
    static const char *const kinds[] =
        {"learned_absolute", "rope", "none", "yarn", "mrope", "alibi", "rotary", NULL};
    unsigned kind = preset && !m->positions ? (m->no_rotary ? 2 : 1) : 0;
    bool same = preset && !sc__setting(s, "position-embedding-type");
    SC__TRY(sc__setting_word(s, "position-embedding-type", kinds, &kind));
    if (kind == 5)
        kind = 2; /* ALiBi adds to the scores what attention computes anyway */
    if (kind > 2)
        kind = 1; /* ways of rotating that cost the same */
    m->no_rotary = same ? m->no_rotary : kind == 2;
    if (kind)
        m->positions = 0;
    if (kind)
        return SC_OK;
    if (!m->positions) {
        m->positions = m->context ? m->context : SC__POSITIONS_OF_SEQUENCE;
        SC__TRY(sc__setting_u32(s, "seq-length", 1, &m->positions));
        SC__TRY(sc__setting_u32(s, "seq", 1, &m->positions));
    }
    return sc__setting_u32(s, "max-position-embeddings", 1, &m->positions);
}

static sc_status model_megatron_flags_read_experts(const struct sc__settings *s,
                                                   struct sc__model *m) {
    SC__TRY(sc__setting_u32(s, "num-experts", 1, &m->experts));
    if (!m->experts)
        return SC_OK;
    if (!m->topk)
        m->topk = 2;
    if (!m->expert_ffn)
        m->expert_ffn = m->ffn;
    SC__TRY(sc__setting_u32(s, "moe-router-topk", 1, &m->topk));
    SC__TRY(sc__setting_u32(s, "moe-ffn-hidden-size", 1, &m->expert_ffn));
    SC__TRY(sc__setting_u32(s, "moe-shared-expert-intermediate-size", 1, &m->shared_ffn));
    SC__TRY(sc__setting_u32(s, "moe-latent-size", 1, &m->moe_latent));
    if (sc__setting_flag(s, "moe-shared-expert-gate"))
        m->shared_gate = true;
    uint32_t shared_experts = 0;
    SC__TRY(sc__setting_u32(s, "n-shared-experts", 1, &shared_experts));
    if (shared_experts && !sc__setting(s, "moe-shared-expert-intermediate-size"))
        m->shared_ffn = shared_experts * m->expert_ffn;
    SC__TRY(sc__read_expert_layers(s, m));
    if (m->topk > m->experts)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "%u experts per token, but there are only %u",
                        m->topk,
                        m->experts);
    return SC_OK;
}

/* --multi-latent-attention with Megatron's defaults for its ranks, or those of
 * a model that has it. */
static sc_status read_latent(const struct sc__settings *s, struct sc__model *m) {
    if (sc__setting_flag(s, "no-multi-latent-attention")) {
        if (m->kv_lora && !sc__setting(s, "kv-channels"))
            m->head_dim = m->hidden / m->heads;
        m->kv_lora = m->q_lora = 0;
        return SC_OK;
    }
    if (!sc__setting_flag(s, "multi-latent-attention") && !m->kv_lora)
        return SC_OK;
    if (!m->kv_lora) {
        m->kv_lora = 512;
        m->nope_dim = 128;
        m->rope_dim = 64;
        m->v_dim = 128;
    }
    SC__TRY(sc__setting_u32(s, "q-lora-rank", 1, &m->q_lora));
    SC__TRY(sc__setting_u32(s, "kv-lora-rank", 1, &m->kv_lora));
    SC__TRY(sc__setting_u32(s, "qk-head-dim", 1, &m->nope_dim));
    SC__TRY(sc__setting_u32(s, "qk-pos-emb-head-dim", 1, &m->rope_dim));
    SC__TRY(sc__setting_u32(s, "v-head-dim", 1, &m->v_dim));
    m->head_dim = m->nope_dim + m->rope_dim;
    m->qk_norm = false; /* its norms are those of the ranks, which count anyway */
    return SC_OK;
}

/* Shapes that this model has no use for. */
static void note_idle(const struct sc__settings *s, const struct sc__model *m) {
    static const char *const of_heads[] = {"kv-channels", "num-query-groups", NULL};
    for (const char *const *f = of_heads; m->kv_lora && *f; f++)
        if (sc__setting(s, *f))
            sc__note(s->ctx,
                     "option-unused",
                     "--%s has no effect: multi-head latent attention has sizes of its own",
                     *f);
    if (m->experts && sc__setting(s, "ffn-hidden-size") &&
        sc__model_moe_layers(m) == m->layers && m->expert_ffn != m->ffn)
        sc__note(s->ctx,
                 "option-unused",
                 "--ffn-hidden-size has no effect: every layer has experts, of %u each",
                 m->expert_ffn);
}

sc_status sc__model_settings(struct sc_context *ctx,
                             const struct sc__settings *s,
                             struct sc__model *m,
                             bool *given) {
    const char *name = sc__setting(s, "model");
    *given = name || any_shape(s);
    if (!*given)
        return SC_OK;
    if (name)
        SC__TRY(sc__model_find(ctx, name, m));
    else
        *m = megatron_default();
    SC__TRY(read_shapes(s, m));
    SC__TRY(read_positions(s, m, name));
    SC__TRY(read_window(s, m));
    SC__TRY(read_norm(s, m));
    read_switches(s, m);
    SC__TRY(sc__setting_u32(s, "mtp-num-layers", 0, &m->mtp_layers));
    m->mtp_said = sc__setting(s, "mtp-num-layers") != NULL;
    SC__TRY(model_megatron_flags_read_experts(s, m));
    SC__TRY(read_latent(s, m));
    SC__TRY(sc__read_hybrid_layers(s, m));
    note_idle(s, m);
    if (m->kv_heads > m->heads || m->heads % m->kv_heads)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "%u attention heads cannot share %u key-value heads",
                        m->heads,
                        m->kv_heads);
    if (!name && !m->vocab) {
        m->vocab = 50257;
        sc__note(ctx,
                 "vocab-assumed",
                 "no --vocab-size is given: 50257, GPT-2's, is assumed");
    }
    return SC_OK;
}
