/* validate_model: the model of a row of published steps: a preset by its name, or the
 * row's dimensions with what its family is known for. */
#include "command/validate.h"

#include "model/read.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *cell(const struct sc__truth_row *row, enum sc__truth_column c) {
    return row->cell[c];
}

static const char *const dimension_flags[][2] = {{"num-layers", "layers"},
                                                 {"hidden-size", "hidden"},
                                                 {"num-attention-heads", "heads"},
                                                 {NULL, NULL}};

/* The name without what is in brackets behind it: "Qwen3_30B_a3B (tokendrop)". */
static const char *plain_model(struct sc_context *ctx, const struct sc__truth_row *row) {
    struct sc__str name = sc__str(cell(row, SC__TRUTH_MODEL));
    const char *bracket = strchr(name.p, '(');
    if (bracket && bracket != name.p)
        name.n = (size_t)(bracket - name.p);
    name = sc__trim(name);
    return sc__strndup(&ctx->arena, name.p, name.n);
}

static bool is_separator(char c) {
    return c == '-' || c == '_' || c == ' ';
}

/* Parameters of "671B", "1T", what is left of a name behind the preset's; 0: it is none. */
static double named_size(const char *text) {
    while (is_separator(*text))
        text++;
    size_t digits = strspn(text, "0123456789.");
    char unit = (char)tolower((unsigned char)text[digits]);
    double count = 0;
    bool is_size = (unit == 'b' || unit == 't') && !text[digits + 1] &&
                   sc__parse_double((struct sc__str){text, digits}, &count);
    return is_size ? count * (unit == 'b' ? 1e9 : 1e12) : 0;
}

/* Names are rounded, and count the layers that predict further tokens or do not. */
#define SIZE_TOLERANCE 0.15

/* "DeepSeek-V3-16B" is not DeepSeek-V3. */
static bool has_size(struct sc_context *ctx, const char *preset, double size) {
    struct sc__model model = {0};
    struct sc__model_params count;
    if (sc__model_find(ctx, preset, &model) != SC_OK)
        return false;
    sc__model_count(&model, &count);
    return fabs(size / count.total - 1) <= SIZE_TOLERANCE;
}

/* The same name in any case and with any separators, the preset's size behind it or not. */
static bool is_same_name(struct sc_context *ctx,
                         const char *text,
                         const char *name,
                         const char *preset) {
    for (;; text++, name++) {
        while (is_separator(*text))
            text++;
        while (is_separator(*name))
            name++;
        if (!*name)
            return !*text ||
                   (named_size(text) > 0 && has_size(ctx, preset, named_size(text)));
        if (tolower((unsigned char)*text) != tolower((unsigned char)*name))
            return false;
    }
}

static bool is_exact_name(struct sc_context *ctx,
                          const char *text,
                          const char *name,
                          const char *preset) {
    (void)ctx;
    (void)preset;
    return sc__str_is_any_case(sc__str(text), name);
}

static const char *preset_in(struct sc_context *ctx,
                             const json_t *table,
                             const char *name,
                             bool (*is)(struct sc_context *ctx,
                                        const char *text,
                                        const char *name,
                                        const char *preset)) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)table, key, value) {
        if (is(ctx, name, key, json_string_value(value)))
            return sc__strdup(&ctx->arena, json_string_value(value));
    }
    return NULL;
}

/* Experts and layers of several kinds are more than a row's dimensions say. */
static bool is_beyond_dimensions(struct sc_context *ctx, const char *preset) {
    struct sc__model model = {0};
    return preset && sc__model_find(ctx, preset, &model) == SC_OK &&
           (model.experts || model.pattern);
}

/* A preset by the table; by a name like one of the table, or the name it goes by, where
 * the row has no dimensions or they are not all of it. */
static const char *
find_preset(struct sc_context *ctx, const struct sc__truth_row *row, const json_t *root) {
    const json_t *table = json_object_get(root, "models");
    const char *name = plain_model(ctx, row);
    const char *preset = preset_in(ctx, table, name, is_exact_name);
    const struct sc__data_file *file;
    if (preset)
        return preset;
    file = sc__model_preset(&ctx->arena, name);
    preset =
        file ? sc__data_name(&ctx->arena, file) : preset_in(ctx, table, name, is_same_name);
    if (*cell(row, SC__TRUTH_HIDDEN))
        return is_beyond_dimensions(ctx, preset) ? preset : NULL;
    return preset ? preset
                  : preset_in(ctx, json_object_get(root, "names"), name, is_same_name);
}

/* Where a name of a family is in that of a model as words of its own: "30B Llama",
 * "mistralai/Mistral-7B". */
static bool names_family(const char *name, const char *family) {
    for (const char *at = name; *at; at++) {
        bool begins = at == name || !isalnum((unsigned char)at[-1]);
        if (begins && sc__str_starts_any_case(sc__str(at), family))
            return true;
    }
    return false;
}

/* The family that the name begins with, or else holds, the longest of them. */
static const json_t *find_family(const json_t *families, const char *name) {
    const json_t *best = NULL;
    size_t most = 0;
    size_t i;
    json_t *entry;
    json_array_foreach((json_t *)families, i, entry) {
        const char *text = json_string_value(json_object_get(entry, "model"));
        size_t first = sc__str_starts_any_case(sc__str(name), text) ? strlen(name) : 0;
        size_t weight = strlen(text) + first;
        if (weight <= most || !names_family(name, text))
            continue;
        most = weight;
        best = entry;
    }
    return best;
}

static void set_dimensions(struct sc_context *ctx,
                           const struct sc__truth_row *row,
                           struct sc__truth_plan *p) {
    static const enum sc__truth_column from[] = {SC__TRUTH_LAYERS,
                                                 SC__TRUTH_HIDDEN,
                                                 SC__TRUTH_HEADS};
    for (unsigned i = 0; dimension_flags[i][0]; i++) {
        if (!*cell(row, from[i]))
            p->skip = sc__format(&ctx->arena,
                                 "the model \"%s\" is not known, and its %s are not given",
                                 cell(row, SC__TRUTH_MODEL),
                                 dimension_flags[i][1]);
        sc__truth_number(ctx, row, from[i], dimension_flags[i][0], p);
    }
    sc__truth_number(ctx, row, SC__TRUTH_KV_HEADS, "num-query-groups", p);
    sc__truth_number(ctx, row, SC__TRUTH_FFN, "ffn-hidden-size", p);
    sc__truth_number(ctx, row, SC__TRUTH_VOCAB, "vocab-size", p);
}

/* A preset with the layers that the row counts: tables cut models to fit fewer GPUs.
 * Other widths are another model. */
static void set_preset(struct sc_context *ctx,
                       const struct sc__truth_row *row,
                       const char *preset,
                       struct sc__truth_plan *p) {
    struct sc__model model = {0};
    uint64_t layers = 0;
    uint64_t hidden = 0;
    sc__truth_set(ctx, p, "model", preset);
    if (sc__model_find(ctx, preset, &model) != SC_OK)
        return;
    sc__parse_u64(sc__str(cell(row, SC__TRUTH_LAYERS)), &layers);
    sc__parse_u64(sc__str(cell(row, SC__TRUTH_HIDDEN)), &hidden);
    if (layers && layers < model.layers)
        sc__truth_number(ctx, row, SC__TRUTH_LAYERS, "num-layers", p);
    if (hidden && hidden != model.hidden)
        p->skip = sc__format(&ctx->arena,
                             "the model \"%s\" is %u wide, the row says %s",
                             preset,
                             (unsigned)model.hidden,
                             cell(row, SC__TRUTH_HIDDEN));
}

void sc__truth_model(struct sc_context *ctx,
                     const struct sc__truth_row *row,
                     const json_t *root,
                     struct sc__truth_plan *p) {
    const char *name = cell(row, SC__TRUTH_MODEL);
    const char *preset = find_preset(ctx, row, root);
    const json_t *family = find_family(json_object_get(root, "families"), name);
    if (preset && strstr(name, "w/o MTP"))
        sc__truth_set(ctx, p, "mtp-num-layers", "0");
    if (preset) {
        set_preset(ctx, row, preset, p);
        return;
    }
    set_dimensions(ctx, row, p);
    if (family)
        sc__truth_words(ctx, p, json_string_value(json_object_get(family, "options")));
    else if (!p->skip)
        p->skip =
            sc__format(&ctx->arena, "the family of the model \"%s\" is not known", name);
}
