#include "model/hf_expert_layers.h"

#include "model/read.h"

#include <string.h>

struct expert_lists {
    struct sc_context *ctx;
    const char *file;
    const json_t *root;
    const struct sc__model *model;
    unsigned char *experts; /* one for each layer: it has experts */
};

/* An entry of a list with one for each layer: "sparse", true and 1 have experts. */
static bool entry_has_experts(const json_t *entry) {
    const char *word = json_string_value(entry);
    return json_is_true(entry) || json_integer_value(entry) > 0 ||
           (word && (!strcmp(word, "sparse") || !strcmp(word, "moe")));
}

/* Where the period is counted from the first layer, whatever dense ones come first. */
static bool by_period(const struct sc__model *m, uint32_t layer) {
    static const struct {
        const char *family;
        uint32_t offset;
    } counted[] = {{"deepseek", 0},    /* layer % moe_layer_freq == 0 */
                   {"deepseek_v2", 0}, /* as in their modeling files */
                   {"deepseek_v3", 0},
                   {"kimi_k2", 0},
                   {"ernie4_5_moe", 1}}; /* (layer + 1) % moe_layer_interval == 0 */
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (!strcmp(counted[i].family, m->family))
            return layer >= m->first_dense &&
                   (layer + counted[i].offset) % m->moe_every == 0;
    return sc__model_has_experts(m, layer);
}

static sc_status list_fail(const struct expert_lists *r, const char *what) {
    struct sc__place at = {.file = r->file};
    return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s", what);
}

/* An entry for each layer. */
static sc_status read_entries(const struct expert_lists *r) {
    static const char *const keys[] = {"mlp_layer_types",
                                       "is_moe_layer",
                                       "moe_layer_freq",
                                       NULL};
    for (const char *const *key = keys; *key; key++) {
        const json_t *list = json_object_get(r->root, *key);
        size_t entries = json_array_size(list);
        if (!entries)
            continue;
        if (entries != r->model->layers)
            return list_fail(r,
                             sc__format(&r->ctx->arena,
                                        "\"%s\" does not have an entry for each layer: "
                                        "%zu for %u",
                                        *key,
                                        entries,
                                        r->model->layers));
        for (size_t i = 0; i < entries; i++)
            r->experts[i] = entry_has_experts(json_array_get(list, i));
    }
    return SC_OK;
}

/* Numbers of layers, which get this value. */
static sc_status
read_numbers(const struct expert_lists *r, const char *key, unsigned char value) {
    const json_t *list = json_object_get(r->root, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        json_int_t layer = json_integer_value(entry);
        if (!json_is_integer(entry) || layer < 0 || layer >= (json_int_t)r->model->layers)
            return list_fail(r,
                             sc__format(&r->ctx->arena,
                                        "entry %zu of \"%s\" is no layer: they are "
                                        "numbers from 0 to %u",
                                        i,
                                        key,
                                        r->model->layers - 1));
        r->experts[layer] = value;
    }
    return SC_OK;
}

/* ERNIE's last layer with experts; -1: the last of all. */
static sc_status read_end(const struct expert_lists *r) {
    const json_t *end = json_object_get(r->root, "moe_layer_end_index");
    json_int_t last = json_integer_value(end);
    if (!end || json_is_null(end))
        return SC_OK;
    if (!json_is_integer(end) || last < -1)
        return list_fail(r, "\"moe_layer_end_index\" must be the number of a layer, or -1");
    for (uint32_t i = 0; last >= 0 && i < r->model->layers; i++)
        if ((json_int_t)i > last)
            r->experts[i] = 0;
    return SC_OK;
}

sc_status sc__hf_expert_layers_read(struct sc_context *ctx,
                                    const char *file,
                                    const json_t *root,
                                    struct sc__model *m) {
    struct expert_lists r = {.ctx = ctx, .file = file, .root = root, .model = m};
    r.experts = SC__NEW_ARRAY(&ctx->arena, unsigned char, m->layers);
    bool chosen = json_array_size(json_object_get(root, "moe_layers")) > 0;
    for (uint32_t i = 0; i < m->layers; i++)
        r.experts[i] = !chosen && by_period(m, i);
    SC__TRY(read_entries(&r));
    SC__TRY(read_numbers(&r, "moe_layers", 1));
    SC__TRY(read_numbers(&r, "mlp_only_layers", 0));
    SC__TRY(read_end(&r));
    sc__model_list_experts(m, r.experts);
    return SC_OK;
}
