#include "base/data.h"

#include "base/text.h"

#include <string.h>

const struct sc__data_file *sc__data_find(const char *path) {
    for (unsigned i = 0; i < sc__data_file_count; i++)
        if (!strcmp(sc__data_files[i].path, path))
            return &sc__data_files[i];
    return NULL;
}

#define MOST_NAMES 255

static unsigned names_in(struct sc_context *ctx, const char *folder, const char **names) {
    unsigned n = 0;
    size_t skip = strlen(folder);
    size_t ending = strlen(".json");
    for (unsigned i = 0; i < sc__data_file_count && n < MOST_NAMES; i++) {
        struct sc__str path = sc__str(sc__data_files[i].path);
        if (sc__str_starts(path, folder) && sc__str_ends(path, ".json"))
            names[n++] = sc__strndup(&ctx->arena, path.p + skip, path.n - skip - ending);
    }
    names[n] = NULL;
    return n;
}

const char *sc__data_hint(struct sc_context *ctx,
                          const char *folder,
                          const char *name,
                          const char *also) {
    const char *names[MOST_NAMES + 1];
    struct sc__buffer b;
    unsigned n = names_in(ctx, folder, names);
    const char *near = sc__nearest(name, names);
    if (near)
        return sc__format(&ctx->arena, "did you mean %s?", near);
    sc__buffer_init(&b, &ctx->arena);
    sc__puts(&b, "there are");
    for (unsigned i = 0; i < n; i++)
        sc__printf(&b, "%s %s", i ? "," : "", names[i]);
    if (also)
        sc__printf(&b, ", or %s", also);
    return b.text;
}
