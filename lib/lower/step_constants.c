/* step_constants: data/step.json. An architecture's object replaces what
 * "default" says, a GPU's what its architecture says. A file of the user's may
 * also replace constants of the software. */
#include "lower/step.h"

#include <jansson.h>
#include <string.h>

struct step_constants_field {
    const char *key;
    size_t offset;
};

#define FIELD(key, member)                                                                 \
    { key, offsetof(struct sc__step_constants, member) }

static const struct step_constants_field fields[] = {
    FIELD("gemm", gemm),
    FIELD("fp8", fp8),
    FIELD("fp4", fp4),
    FIELD("attention_forward", attention[0]),
    FIELD("attention_backward", attention[1]),
    FIELD("attention_fp8", attention_fp8),
    FIELD("batched", batched),
    FIELD("memory", memory),
    FIELD("scan", scan),
    FIELD("jitter", jitter),
    {NULL, 0},
};

static const struct step_constants_field *find_field(const char *key) {
    for (const struct step_constants_field *f = fields; f->key; f++)
        if (!strcmp(f->key, key))
            return f;
    return NULL;
}

static sc_status step_constants_apply(struct sc_context *ctx,
                                      const char *file,
                                      const json_t *object,
                                      struct sc__step_constants *out) {
    const char *key;
    json_t *value;
    struct sc__place at = {.file = file};
    if (!object)
        return SC_OK;
    json_object_foreach((json_t *)object, key, value) {
        const struct step_constants_field *f = find_field(key);
        double *target = f ? (double *)((char *)out + f->offset)
                           : sc__software_constant(&out->software, key);
        if (key[0] == '_')
            continue;
        if (!target)
            return sc__fail(ctx, SC_INPUT, &at, NULL, "unknown constant \"%.60s\"", key);
        if (!json_is_number(value))
            return sc__fail(ctx, SC_INPUT, &at, NULL, "\"%s\" must be a number", key);
        *target = json_number_value(value);
    }
    return SC_OK;
}

static void free_document(void *root) {
    json_decref(root);
}

/* The file as a document, which goes with the context; "": the one built in. */
static sc_status
read_document(struct sc_context *ctx, const char *path, const void *unused, void **root) {
    struct sc__str text;
    json_error_t error;
    const struct sc__data_file *built_in = sc__data_find("step.json");
    (void)unused;
    if (*path)
        SC__TRY(sc__read_all(ctx, path, (size_t)1 << 20, &text));
    else if (built_in)
        text = (struct sc__str){(const char *)built_in->bytes, built_in->size};
    else
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "data/step.json was not built in");
    *root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &error);
    if (!*root) {
        struct sc__place at = {.file = *path ? path : "data/step.json",
                               .line = (uint64_t)error.line,
                               .column = (uint64_t)error.column};
        return sc__fail(ctx, SC_INPUT, &at, NULL, "not JSON: %s", error.text);
    }
    sc__arena_at_free(&ctx->arena, free_document, *root);
    return SC_OK;
}

sc_status sc__step_constants(struct sc_context *ctx,
                             const char *path,
                             const struct sc__gpu *gpu,
                             const struct sc__software_constants *software,
                             struct sc__step_constants *out) {
    void *root;
    SC__TRY(
        sc__memo_ask(ctx, "step constants", path ? path : "", read_document, NULL, &root));
    if (!path)
        path = "data/step.json";
    *out = (struct sc__step_constants){.software = *software};
    SC__TRY(step_constants_apply(ctx, path, json_object_get(root, "default"), out));
    if (gpu->architecture)
        SC__TRY(
            step_constants_apply(ctx, path, json_object_get(root, gpu->architecture), out));
    return step_constants_apply(ctx, path, json_object_get(root, gpu->name), out);
}
