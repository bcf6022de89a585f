#include "base/data.h"

#include "base/text.h"

#include <string.h>

const struct sc__data_file *sc__data_find(const char *path) {
    for (unsigned i = 0; i < sc__data_file_count; i++)
        if (!strcmp(sc__data_files[i].path, path))
            return &sc__data_files[i];
    return NULL;
}

const char **sc__data_names(struct sc__arena *arena, const char *folder) {
    const char **names = NULL;
    uint32_t n = 0;
    uint32_t capacity = 0;
    size_t skip = strlen(folder);
    size_t ending = strlen(".json");
    for (unsigned i = 0; i < sc__data_file_count; i++) {
        struct sc__str path = sc__str(sc__data_files[i].path);
        if (sc__str_starts(path, folder) && sc__str_ends(path, ".json"))
            *SC__PUSH(arena, names, n, capacity) =
                sc__strndup(arena, path.p + skip, path.n - skip - ending);
    }
    *SC__PUSH(arena, names, n, capacity) = NULL;
    return names;
}

const char *sc__data_hint(struct sc_context *ctx,
                          const char *folder,
                          const char *name,
                          const char *also) {
    const char **names = sc__data_names(&ctx->arena, folder);
    struct sc__buffer b;
    const char *near = sc__nearest(name, names);
    if (near)
        return sc__format(&ctx->arena, "did you mean %s?", near);
    sc__buffer_init(&b, &ctx->arena);
    sc__puts(&b, "there are");
    for (unsigned i = 0; names[i]; i++)
        sc__printf(&b, "%s %s", i ? "," : "", names[i]);
    if (also)
        sc__printf(&b, ", or %s", also);
    return b.text;
}
