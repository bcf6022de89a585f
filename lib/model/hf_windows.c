#include "model/hf_windows.h"

#include <string.h>

/* GPT-Neo says "global". */
static bool is_full(const json_t *types, size_t layer) {
    const char *word = json_string_value(json_array_get(types, layer));
    return word && (!strcmp(word, "full_attention") || !strcmp(word, "global"));
}

/* The n of "each n-th layer sees all keys"; 0: none does. */
static uint32_t full_every(const json_t *types) {
    for (size_t i = 0; i < json_array_size(types); i++)
        if (is_full(types, i))
            return (uint32_t)i + 1;
    return 0;
}

static void mark_window(struct sc__model *m, uint32_t layer, bool sees_all) {
    unsigned other = m->layer_parts[layer] & ~(unsigned)SC__SEES_ALL;
    m->layer_parts[layer] = (uint8_t)(other | (sees_all ? SC__SEES_ALL : 0));
}

/* Each n-th layer, or where they lie otherwise, layer by layer. */
static void list_windows(const json_t *types, struct sc__model *m) {
    bool regular = true;
    m->window_every = full_every(types);
    for (uint32_t i = 0; i < m->layers; i++) {
        bool all = is_full(types, i);
        bool nth = m->window_every && (i + 1) % m->window_every == 0;
        regular = regular && all == nth;
        mark_window(m, i, all);
    }
    if (!regular)
        m->windows_listed = m->layers;
}

static bool is_known(const char *word, unsigned traits) {
    static const char *const known[] = {"full_attention",
                                        "sliding_attention",
                                        "chunked_attention",
                                        "global",
                                        "local",
                                        NULL};
    for (const char *const *k = known; *k; k++)
        if (!strcmp(word, *k))
            return true;
    return traits & SC__HF_DELTA && !strcmp(word, "linear_attention");
}

static sc_status check_layer_types(struct sc_context *ctx,
                                   const char *file,
                                   unsigned traits,
                                   uint32_t layers,
                                   const json_t *types) {
    struct sc__place at = {.file = file};
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *word = json_string_value(json_array_get(types, i));
        if (!word || !is_known(word, traits))
            return sc__fail(
                ctx,
                SC_INPUT,
                &at,
                NULL,
                "layer %zu of \"layer_types\" is \"%.60s\", which is not modelled",
                i,
                word ? word : "");
    }
    if (json_array_size(types) == layers)
        return SC_OK;
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    NULL,
                    "\"layer_types\" does not have a word for each layer: %zu for %u",
                    json_array_size(types),
                    layers);
}

static void note_no_window(struct sc_context *ctx,
                           const char *file,
                           const json_t *types,
                           const struct sc__model *m) {
    for (size_t i = 0; !m->window && i < json_array_size(types); i++) {
        const char *word = json_string_value(json_array_get(types, i));
        if (strcmp(word, "sliding_attention") != 0)
            continue;
        sc__note(ctx,
                 "window-missing",
                 "%s: layers of \"layer_types\" have a window, but \"sliding_window\" does "
                 "not say of how many keys: they see all",
                 file);
        return;
    }
}

/* Qwen: the first layers see all keys. */
static void read_full_layers(const json_t *root, struct sc__model *m) {
    json_int_t full = json_integer_value(json_object_get(root, "max_window_layers"));
    if (full >= (json_int_t)m->layers)
        m->window = 0;
    if (!m->window || full <= 0)
        return;
    for (uint32_t i = 0; i < m->layers; i++)
        mark_window(m, i, (json_int_t)i < full);
    m->windows_listed = m->layers;
}

static sc_status read_letters(struct sc_context *ctx,
                              const char *file,
                              const char *letters,
                              struct sc__model *m) {
    struct sc__place at = {.file = file};
    size_t windows = strspn(letters, "L");
    if (strcmp(letters + windows, "G") != 0)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "\"%s\" is \"%.60s\": letters L for windows and one G at the end "
                        "are modelled",
                        SC__HF_WINDOW_PATTERN,
                        letters);
    m->window_every = (uint32_t)windows + 1;
    return SC_OK;
}

sc_status sc__hf_windows_read(struct sc_context *ctx,
                              const char *file,
                              const json_t *root,
                              unsigned traits,
                              struct sc__model *m) {
    const json_t *types = json_object_get(root, "layer_types");
    if (!json_is_array(types))
        types = json_object_get(root, "attention_layers"); /* GPT-Neo */
    const char *letters = json_string_value(json_object_get(root, SC__HF_WINDOW_PATTERN));
    bool own_words = traits & SC__HF_MAMBA_KEYS; /* mamba and attention */
    m->window_every = traits & SC__HF_WINDOW_HALF     ? 2
                      : traits & SC__HF_WINDOW_FOURTH ? 4
                      : traits & SC__HF_WINDOW_SIXTH  ? 6
                                                      : 0;
    if (json_is_array(types) && !own_words) {
        SC__TRY(check_layer_types(ctx, file, traits, m->layers, types));
        list_windows(types, m);
        note_no_window(ctx, file, types, m);
    } else
        read_full_layers(root, m);
    return letters ? read_letters(ctx, file, letters, m) : SC_OK;
}
