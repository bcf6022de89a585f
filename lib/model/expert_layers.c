/* expert_layers: which layers have experts, as Megatron's flags say it. */
#include "model/read.h"

#include <string.h>

/* A list of 0 and 1 as Python writes it. */
struct pattern_text {
    const char *at;
    unsigned depth;
};

struct layer_pattern {
    unsigned char items[SC__MOST_LAYERS];
    uint32_t count;
};

static void pattern_blanks(struct pattern_text *t) {
    while (*t->at && strchr(" \t'\"", *t->at))
        t->at++;
}

static bool pattern_number(struct pattern_text *t, uint32_t *out) {
    size_t n = 0;
    pattern_blanks(t);
    while (t->at[n] >= '0' && t->at[n] <= '9')
        n++;
    bool whole = sc__parse_u32((struct sc__str){t->at, n}, out);
    t->at += n;
    pattern_blanks(t);
    return whole;
}

static bool pattern_sum(struct pattern_text *t, struct layer_pattern *out);

static bool pattern_items(struct pattern_text *t, struct layer_pattern *out) {
    while (*t->at != ']') {
        uint32_t item;
        if (!pattern_number(t, &item) || item > 1 || out->count == SC__MOST_LAYERS)
            return false;
        out->items[out->count++] = (unsigned char)item;
        if (*t->at == ',')
            t->at++;
        pattern_blanks(t);
    }
    t->at++;
    return true;
}

/* [0,1]*3 */
static bool pattern_term(struct pattern_text *t, struct layer_pattern *out) {
    uint32_t begin = out->count;
    uint32_t times;
    pattern_blanks(t);
    char open = *t->at;
    if (open != '[' && open != '(')
        return false;
    t->at++;
    pattern_blanks(t);
    if (open == '[' ? !pattern_items(t, out) : !pattern_sum(t, out))
        return false;
    if (open == '(') {
        if (*t->at != ')')
            return false;
        t->at++;
    }
    pattern_blanks(t);
    uint32_t length = out->count - begin;
    if (*t->at != '*')
        return true;
    t->at++;
    if (!pattern_number(t, &times) || (uint64_t)length * times > SC__MOST_LAYERS - begin)
        return false;
    for (uint32_t i = length; i < length * times; i++)
        out->items[begin + i] = out->items[begin + i - length];
    out->count = begin + length * times;
    return true;
}

static bool pattern_sum(struct pattern_text *t, struct layer_pattern *out) {
    if (++t->depth > 20)
        return false;
    do {
        if (!pattern_term(t, out))
            return false;
        pattern_blanks(t);
    } while (*t->at == '+' && *t->at++);
    t->depth--;
    return true;
}

bool sc__read_layer_list(const char *text, unsigned char *items, uint32_t *count) {
    struct layer_pattern p = {.count = 0};
    struct pattern_text t = {.at = text};
    if (!pattern_sum(&t, &p) || *t.at)
        return false;
    memcpy(items, p.items, p.count);
    *count = p.count;
    return true;
}

static bool list_fits(const struct sc__model *m, const unsigned char *experts) {
    for (uint32_t i = 0; i < m->layers; i++)
        if (sc__model_has_experts(m, i) != (experts[i] != 0))
            return false;
    return true;
}

/* The first dense layers and the period that give this list. */
static bool fit_list(struct sc__model *m, const unsigned char *experts) {
    uint32_t first = 0;
    uint32_t second;
    while (first < m->layers && !experts[first])
        first++;
    for (second = first + 1; second < m->layers && !experts[second];)
        second++;
    uint32_t every = second < m->layers ? second - first : 1;
    if (first + 1 < every)
        return false;
    m->moe_every = every;
    m->first_dense = first + 1 - every;
    return list_fits(m, experts);
}

void sc__model_list_experts(struct sc__model *m, const unsigned char *experts) {
    uint32_t pattern = m->pattern;
    m->experts_listed = 0;
    m->pattern = 0; /* which would say it instead */
    if (!fit_list(m, experts)) {
        m->moe_every = 1;
        m->first_dense = 0;
        m->experts_listed = m->layers;
    }
    m->pattern = pattern;
    for (uint32_t i = 0; m->experts_listed && i < m->layers; i++) {
        unsigned other = m->layer_parts[i] & ~(unsigned)SC__WITH_EXPERTS;
        m->layer_parts[i] = (uint8_t)(other | (experts[i] ? SC__WITH_EXPERTS : 0));
    }
}

static sc_status
read_pattern(const struct sc__settings *s, const char *text, struct sc__model *m) {
    struct layer_pattern *p = SC__NEW(&s->ctx->arena, struct layer_pattern);
    if (!sc__read_layer_list(text, p->items, &p->count))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "a number, or a list such as ([0]*3+[1]*58)",
                        "--moe-layer-freq: '%.80s' is not understood",
                        text);
    if (p->count != m->layers)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--moe-layer-freq says something of %u layers, but there are %u",
                        p->count,
                        m->layers);
    sc__model_list_experts(m, p->items);
    return SC_OK;
}

/* N: layers 0, N, 2N … have experts. Ours are the last of each N: as many, where N
 * divides the layers. */
static sc_status
read_frequency(const struct sc__settings *s, uint32_t every, struct sc__model *m) {
    if (every > 1 && m->layers % every)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--moe-layer-freq %u does not divide the %u layers",
                        every,
                        m->layers);
    m->moe_every = every;
    m->experts_listed = 0;
    if (every > 1)
        sc__note(s->ctx,
                 "expert-layers",
                 "experts are taken to be in the last of each %u layers",
                 every);
    return SC_OK;
}

/* Layers of several kinds that all have a feed-forward: which of them have experts is as
 * was said just now. Where some have none, letters say what each is. */
static void renew_parts(const struct sc__settings *s, struct sc__model *m) {
    static const char *const names[] = {"moe-layer-freq", "first-k-dense-replace", NULL};
    uint32_t pattern = m->pattern;
    bool letters = false;
    for (uint32_t i = 0; i < pattern; i++)
        letters |= m->layer_parts[i] & SC__WITHOUT_FEED_FORWARD;
    for (const char *const *name = names; letters && *name; name++)
        if (sc__setting(s, *name))
            sc__note(
                s->ctx,
                "option-unused",
                "--%s has no effect: the pattern of the layers says which have experts",
                *name);
    if (letters || !pattern)
        return;
    m->pattern = 0;
    for (uint32_t i = 0; i < m->layers; i++) {
        unsigned parts = m->layer_parts[i % pattern] & ~(unsigned)SC__WITH_EXPERTS;
        m->layer_parts[i] =
            (uint8_t)(parts | (sc__model_has_experts(m, i) ? SC__WITH_EXPERTS : 0));
    }
    m->pattern = m->layers;
}

sc_status sc__read_expert_layers(const struct sc__settings *s, struct sc__model *m) {
    const char *text = sc__setting(s, "moe-layer-freq");
    bool said = text || sc__setting(s, "first-k-dense-replace");
    uint32_t every;
    if (text && sc__parse_u32(sc__str(text), &every) && every)
        SC__TRY(read_frequency(s, every, m));
    else if (text)
        SC__TRY(read_pattern(s, text, m));
    else if (said)
        m->experts_listed = 0;
    SC__TRY(sc__setting_u32(s, "first-k-dense-replace", 0, &m->first_dense));
    if (said && m->first_dense < m->layers)
        renew_parts(s, m);
    if (m->first_dense < m->layers)
        return SC_OK;
    return sc__fail(s->ctx,
                    SC_USAGE,
                    NULL,
                    NULL,
                    "no layer has experts: the first %u of %u are dense",
                    m->first_dense,
                    m->layers);
}
