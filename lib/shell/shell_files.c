/* shell_files: files that a script writes (cat > ds.json <<EOF, echo … >> hosts), of which
 * others are told. They are variables, called as none of the script's can be: so a
 * condition that is not decided marks them as it marks the others. */
#include "shell/shell_parts.h"

#include <string.h>

#define LARGEST_FILE ((size_t)1 << 20)

static const char *file_variable(struct sc__arena *arena, const char *path) {
    while (!strncmp(path, "./", 2))
        path += 2;
    return sc__format(arena, ">%s", path);
}

const char *shell_written(struct shell *sh, const char *path) {
    return shell_get(sh, sc__str(file_variable(&sh->ctx->arena, path)));
}

void shell_write(struct shell *sh, const char *path, const char *text, bool appends) {
    struct sc__arena *arena = &sh->ctx->arena;
    const char *before = appends ? shell_written(sh, path) : NULL;
    if (before && strlen(before) + strlen(text) < LARGEST_FILE)
        text = sc__format(arena, "%s%s", before, text);
    else if (before)
        text = shell_unknown(sh, sh->line, "a long file that the script writes");
    shell_set(sh, sc__str(file_variable(arena, path)), text);
}

sc_status
shell_write_output(struct shell *sh, const struct shell_node *node, const char *text) {
    const char *path;
    if (!node->target.raw.n)
        return SC_OK;
    SC__TRY(shell_expand_text(sh, node->target.raw, node->target.line, &path));
    shell_write(sh, path, text, node->appends);
    return SC_OK;
}

const char *sc__shell_written(struct sc__arena *arena,
                              const struct sc__shell_result *result,
                              const char *path) {
    const char *name = file_variable(arena, path);
    for (uint32_t i = 0; i < result->variable_count; i++) {
        const struct sc__shell_variable *v = &result->variables[i];
        if (v->set && v->count && !strcmp(v->name, name))
            return v->items[0];
    }
    return NULL;
}
