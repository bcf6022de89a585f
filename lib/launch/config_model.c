/* config_model: which model the value of a key names: an id, a preset, a folder. */
#include "launch/config.h"

#include <string.h>

/* The model of a folder that huggingface_hub keeps downloads in, as its repo_folder_name
 * calls it: …/models--Qwen--Qwen3-8B/snapshots/1f3c… is Qwen/Qwen3-8B; NULL: none. */
static const char *preset_of_cache(struct sc__arena *arena, const char *path) {
    static const char mark[] = "models--";
    struct sc__str rest = sc__str(path);
    struct sc__str folder;
    while (sc__split(&rest, '/', &folder)) {
        if (!sc__str_starts(folder, mark))
            continue;
        const char *id =
            sc__strndup(arena, folder.p + sizeof mark - 1, folder.n - (sizeof mark - 1));
        const char *apart = strstr(id, "--");
        const char *name =
            apart ? sc__format(arena, "%.*s/%s", (int)(apart - id), id, apart + 2) : id;
        return sc__model_preset(arena, name) ? name : NULL;
    }
    return NULL;
}

/* A folder with the name of a model: ~/models/Llama-2-13b-hf; NULL: none. */
static const char *preset_of_folder(struct sc__arena *arena, const char *path) {
    const char *cached = preset_of_cache(arena, path);
    if (cached)
        return cached;
    struct sc__str name = sc__str(path);
    while (name.n > 1 && name.p[name.n - 1] == '/')
        name.n--;
    const char *whole = sc__strndup(arena, name.p, name.n);
    const char *slash = strrchr(whole, '/');
    bool folders = slash && (strchr("/~.$", *whole) || strchr(whole, '/') != slash);
    return folders && sc__model_preset(arena, slash + 1) ? slash + 1 : NULL;
}

sc_status sc__config_model_id(struct sc__launch *l,
                              const struct sc__config_item *item,
                              struct sc__flag_list *out) {
    const char *value = item->value;
    bool known = sc__model_preset(&l->ctx->arena, value) ||
                 sc__path_look(value).kind != SC__PATH_NONE;
    if (sc__launch_overridden(l, "model"))
        return SC_OK;
    const char *folder = known ? NULL : preset_of_folder(&l->ctx->arena, value);
    if (folder) {
        sc__config_add(l, out, "model", folder);
        return SC_OK;
    }
    if (!known)
        return sc__launch_fail(l,
                               item->line,
                               "give the config.json of its repository, or a preset of "
                               "the same shape, with --model (stepcast list models)",
                               "%s: the model %.80s is not known",
                               item->key,
                               item->value);
    sc__config_add(l, out, "model", item->value);
    return SC_OK;
}

/* The preset that a name in a configuration means, without the ending of a file. */
sc_status
sc__config_preset(struct sc__launch *l, const char *name, struct sc__flag_list *out) {
    struct sc__str plain = sc__str(name);
    if (sc__str_ends(plain, ".yaml"))
        plain.n -= strlen(".yaml");
    const char *model = sc__strndup(&l->ctx->arena, plain.p, plain.n);
    if (sc__launch_overridden(l, "model"))
        return SC_OK;
    if (!sc__model_preset(&l->ctx->arena, model))
        return sc__launch_fail(l,
                               0,
                               "name the model with --model (stepcast list models)",
                               "the model %.60s is not known",
                               name);
    sc__config_add(l, out, "model", model);
    return SC_OK;
}
