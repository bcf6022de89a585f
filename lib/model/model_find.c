/* model_find: a model by the name of a preset, or by the path of its config.json. */
#include "model/read.h"

#include <string.h>

static sc_status parse_preset_model(struct sc_context *ctx,
                                    const struct sc__data_file *preset,
                                    struct sc__model *out) {
    struct sc__str text = {(const char *)preset->bytes, preset->size};
    SC__TRY(sc__model_parse(ctx, preset->path, text, out));
    out->name = sc__data_name(&ctx->arena, preset);
    return SC_OK;
}

static sc_status
find_preset_loosely(struct sc_context *ctx, const char *name, struct sc__model *out) {
    const struct sc__data_file *preset = sc__model_preset(&ctx->arena, name);
    const char *slash = strrchr(name, '/');
    if (!preset)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        sc__data_hint(ctx,
                                      "models/",
                                      slash ? slash + 1 : name,
                                      "the config.json of its page on Hugging Face"),
                        "there is no model '%s'",
                        name);
    SC__TRY(parse_preset_model(ctx, preset, out));
    if (!sc__data_find_loosely(&ctx->arena, "models/", name))
        sc__note(ctx, "model-preset", "%s is read as the preset %s", name, out->name);
    return SC_OK;
}

sc_status sc__model_find(struct sc_context *ctx, const char *name, struct sc__model *out) {
    char *path = sc__format(&ctx->arena, "models/%s.json", name);
    const struct sc__data_file *preset = sc__data_find(path);
    struct sc__str text;
    if (preset)
        return parse_preset_model(ctx, preset, out);
    bool file = sc__str_ends(sc__str(name), ".json"); /* no name of a preset */
    if (strcmp(name, "-") && !file && sc__path_look(name).kind == SC__PATH_NONE)
        return find_preset_loosely(ctx, name, out);
    if (strcmp(name, "-") && sc__path_is_folder(name))
        name = sc__format(&ctx->arena, "%s/config.json", name);
    SC__TRY(sc__read_all(ctx, name, (size_t)16 << 20, &text));
    return sc__model_parse(ctx, name, text, out);
}
