/* megatron_hybrid: layers of several kinds, as Megatron's flags say them: a letter a layer
 * (--hybrid-override-pattern), parts of all layers (--hybrid-attention-ratio), or linear
 * attention in all but each n-th layer (--linear-attention-freq, gated delta nets). */
#include "model/read.h"

#include <math.h>

#include <string.h>

/* ---- letters ---- */

/* '|' parts pipeline stages, what stands behind '/' are layers that predict further tokens.
 */
static sc_status
read_layer_letters(const struct sc__settings *s, const char *text, struct sc__model *m) {
    uint32_t layers = 0;
    const char *letter = text;
    for (; *letter && *letter != '/'; letter++) {
        if (*letter == '|' || *letter == ' ')
            continue;
        if (layers == SC__MOST_LAYERS ||
            !sc__model_layer_letter(*letter, &m->layer_parts[layers]))
            return sc__fail(s->ctx,
                            SC_USAGE,
                            NULL,
                            "M is Mamba-2, * attention, - a feed-forward, E experts, G a "
                            "gated delta net",
                            "--hybrid-override-pattern: layer %u is '%c'",
                            layers,
                            *letter);
        if ((m->layer_parts[layers] & SC__WITH_EXPERTS) && !m->experts)
            return sc__fail(s->ctx,
                            SC_USAGE,
                            NULL,
                            NULL,
                            "--hybrid-override-pattern has experts (E), and --num-experts "
                            "is missing");
        layers++;
    }
    for (; *letter && !sc__setting(s, "mtp-num-layers"); letter++)
        m->mtp_layers += *letter == '/';
    if (layers != m->layers)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--hybrid-override-pattern has %u layers, --num-layers is %u",
                        layers,
                        m->layers);
    m->pattern = layers;
    return SC_OK;
}

/* With Megatron's defaults: heads of 64, states of 128, 8 groups, a convolution of 4 and
 * chunks of 128 tokens; twice the hidden size. */
static sc_status read_mamba_sizes(const struct sc__settings *s, struct sc__model *m) {
    m->scan_head_dim = 64;
    m->state_dim = 128;
    m->scan_groups = 8;
    m->conv_kernel = 4;
    m->scan_chunk = 128;
    SC__TRY(sc__setting_u32(s, "mamba-head-dim", 1, &m->scan_head_dim));
    SC__TRY(sc__setting_u32(s, "mamba-state-dim", 1, &m->state_dim));
    SC__TRY(sc__setting_u32(s, "mamba-num-groups", 1, &m->scan_groups));
    m->scan_heads = 2 * m->hidden / m->scan_head_dim;
    SC__TRY(sc__setting_u32(s, "mamba-num-heads", 1, &m->scan_heads));
    if (m->scan_heads && m->scan_heads % m->scan_groups == 0)
        return SC_OK;
    return sc__fail(s->ctx,
                    SC_USAGE,
                    NULL,
                    "--mamba-num-heads and --mamba-num-groups say how many there are",
                    "%u heads of Mamba cannot share %u groups",
                    m->scan_heads,
                    m->scan_groups);
}

/* ---- ratios ---- */

static sc_status read_ratio(const struct sc__settings *s, const char *name, double *out) {
    *out = 0;
    SC__TRY(sc__setting_double(s, name, out));
    if (*out >= 0 && *out <= 1)
        return SC_OK;
    return sc__fail(s->ctx, SC_USAGE, NULL, NULL, "--%s takes a part, 0 to 1", name);
}

/* As Megatron shares them out: attention evenly spaced with Mamba at both ends, then
 * feed-forwards evenly among what is left, the last ones first. Halves go to the even
 * number. */
static sc_status share_out_layers(const struct sc__settings *s,
                                  struct sc__model *m,
                                  double attention,
                                  double forward) {
    double attentions = rint(m->layers * attention);
    double forwards = rint(m->layers * forward);
    double mamba = m->layers - attentions;
    if (attentions + forwards > m->layers)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--hybrid-attention-ratio and --hybrid-mlp-ratio are more than 1");
    double section = mamba / (attentions + 1);
    double left = section;
    for (uint32_t i = 0; i < m->layers; i++) {
        bool here = attentions > 0 && left < 0.5;
        sc__model_layer_letter(here ? '*' : 'M', &m->layer_parts[i]);
        left += here ? section : -1;
    }
    double each = forwards > 0 ? (mamba - forwards) / forwards : 0;
    left = each;
    for (uint32_t i = 0; i < m->layers && forwards > 0; i++) {
        if ((m->layer_parts[i] & SC__PART_OF_MIXER) != SC__MIXER_MAMBA)
            continue;
        bool here = left < 0.5;
        if (here)
            sc__model_layer_letter('-', &m->layer_parts[i]);
        left += here ? each : -1;
    }
    m->pattern = m->layers;
    return SC_OK;
}

/* Megatron has 0 of both by default, in programs that make no layer of Mamba too, and
 * dumps of its arguments list them. */
static sc_status
read_layer_ratios(const struct sc__settings *s, struct sc__model *m, bool *said) {
    double attention;
    double forward;
    SC__TRY(read_ratio(s, "hybrid-attention-ratio", &attention));
    SC__TRY(read_ratio(s, "hybrid-mlp-ratio", &forward));
    *said = attention > 0 || forward > 0;
    if (*said) {
        SC__TRY(share_out_layers(s, m, attention, forward));
        return read_mamba_sizes(s, m);
    }
    sc__note(s->ctx,
             "hybrid-ratio",
             "a --hybrid-attention-ratio of 0 is Megatron's default, which models without "
             "Mamba have too: the layers stay as they are (layers of Mamba alone: "
             "--hybrid-override-pattern M…)");
    return SC_OK;
}

/* ---- linear attention ---- */

static sc_status read_delta_layers(const struct sc__settings *s, struct sc__model *m) {
    const char *text = sc__setting(s, "linear-attention-freq");
    unsigned char linear[SC__MOST_LAYERS];
    uint32_t every = 0;
    uint32_t count = 0;
    bool number = sc__parse_u32(sc__str(text), &every) && every;
    if (!number && !sc__read_layer_list(text, linear, &count))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "a number, or a list such as ([1]*3+[0]*1)*12",
                        "--linear-attention-freq: '%.80s' is not understood",
                        text);
    if (!number && count != m->layers)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--linear-attention-freq says something of %u layers, but there "
                        "are %u",
                        count,
                        m->layers);
    for (uint32_t i = 0; i < m->layers; i++) {
        bool full = number ? (i + 1) % every == 0 : !linear[i];
        uint8_t experts = sc__model_has_experts(m, i) ? SC__WITH_EXPERTS : 0;
        m->layer_parts[i] =
            (uint8_t)((full ? SC__MIXER_ATTENTION : SC__MIXER_DELTA) | experts);
    }
    m->pattern = m->layers;
    return SC_OK;
}

/* With the sizes of Qwen3-Next, which are Megatron's defaults. */
static sc_status read_delta_sizes(const struct sc__settings *s, struct sc__model *m) {
    m->scan_heads = 32;
    m->scan_head_dim = 128;
    m->scan_groups = 16;
    m->state_dim = 128;
    m->conv_kernel = 4;
    m->scan_chunk = 64; /* of flash-linear-attention's kernels */
    SC__TRY(sc__setting_u32(s, "linear-num-value-heads", 1, &m->scan_heads));
    SC__TRY(sc__setting_u32(s, "linear-value-head-dim", 1, &m->scan_head_dim));
    SC__TRY(sc__setting_u32(s, "linear-num-key-heads", 1, &m->scan_groups));
    SC__TRY(sc__setting_u32(s, "linear-key-head-dim", 1, &m->state_dim));
    SC__TRY(sc__setting_u32(s, "linear-conv-kernel-dim", 1, &m->conv_kernel));
    if (m->scan_heads % m->scan_groups == 0)
        return SC_OK;
    return sc__fail(s->ctx,
                    SC_USAGE,
                    NULL,
                    NULL,
                    "%u heads of values cannot share %u heads of keys "
                    "(--linear-num-value-heads, --linear-num-key-heads)",
                    m->scan_heads,
                    m->scan_groups);
}

static sc_status refuse_both(const struct sc__settings *s, const char *hybrid) {
    return sc__fail(s->ctx,
                    SC_USAGE,
                    NULL,
                    NULL,
                    "%s and --linear-attention-freq both say what the layers are",
                    hybrid);
}

sc_status sc__read_hybrid_layers(const struct sc__settings *s, struct sc__model *m) {
    const char *letters = sc__setting(s, "hybrid-override-pattern");
    bool delta = sc__setting(s, "linear-attention-freq") != NULL;
    if (sc__setting_flag(s, "attention-output-gate"))
        m->attention_gate = true;
    if (letters && delta)
        return refuse_both(s, "--hybrid-override-pattern");
    if (letters) {
        SC__TRY(read_layer_letters(s, letters, m));
        bool nets = strchr(letters, 'G') != NULL;
        if (nets && strchr(letters, 'M'))
            return sc__fail(s->ctx,
                            SC_USAGE,
                            NULL,
                            NULL,
                            "layers of Mamba and gated delta nets in one model are not "
                            "modelled");
        return nets ? read_delta_sizes(s, m) : read_mamba_sizes(s, m);
    }
    bool ratios = false;
    if (sc__setting(s, "hybrid-attention-ratio") || sc__setting(s, "hybrid-mlp-ratio"))
        SC__TRY(read_layer_ratios(s, m, &ratios));
    if (ratios && delta)
        return refuse_both(s, "--hybrid-attention-ratio");
    if (!delta)
        return SC_OK;
    SC__TRY(read_delta_layers(s, m));
    return read_delta_sizes(s, m);
}
