/* shell_files: files that a script writes (cat > ds.json <<EOF, echo … >> hosts), of which
 * others are told. A list that only grows says what was written, the last first: a command
 * keeps the place where it stood in it, and two ways from one place share what is before.
 */
#include "base/hash.h"
#include "shell/shell_parts.h"

#include <string.h>

#define LARGEST_FILE ((size_t)1 << 20)

static const char *plain_path(const char *path) {
    while (!strncmp(path, "./", 2))
        path += 2;
    return path;
}

const char *sc__shell_written(const struct sc__shell_file *files, const char *path) {
    for (path = plain_path(path); files; files = files->before)
        if (!strcmp(files->path, path))
            return files->text;
    return NULL;
}

static void add_text(struct shell *sh, const char *path, const char *text) {
    struct sc__shell_file *f = SC__NEW(&sh->ctx->arena, struct sc__shell_file);
    *f = (struct sc__shell_file){.path = sc__strdup(&sh->ctx->arena, plain_path(path)),
                                 .text = text,
                                 .before = sh->files,
                                 .number = sh->files ? sh->files->number + 1 : 1};
    sh->files = f;
}

void shell_write(struct shell *sh, const char *path, const char *text, bool appends) {
    const char *before = appends ? sc__shell_written(sh->files, path) : NULL;
    if (before && strlen(before) + strlen(text) < LARGEST_FILE)
        text = sc__format(&sh->ctx->arena, "%s%s", before, text);
    else if (before)
        text = shell_unknown(sh, sh->line, "a long file that the script writes");
    add_text(sh, path, text);
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

/* ---- commands that change files ---- */

static bool edits_in_place(const char **words, uint32_t count) {
    bool sed = !strcmp(words[0], "sed") || !strcmp(words[0], "yq");
    bool perl = !strcmp(words[0], "perl");
    for (uint32_t i = 1; i < count; i++)
        if ((sed && (sc__str_starts(sc__str(words[i]), "-i") ||
                     sc__str_starts(sc__str(words[i]), "--in-place"))) ||
            (perl && words[i][0] == '-' && words[i][1] != '-' && strchr(words[i], 'i')))
            return true;
    return false;
}

/* What was written before and is now another program's. */
static void lose_text(struct shell *sh, const char *path, const char *program) {
    if (sc__shell_written(sh->files, path))
        add_text(sh,
                 path,
                 shell_unknown(sh,
                               sh->line,
                               sc__format(&sh->ctx->arena, "what '%s' wrote", program)));
}

/* cp and mv of one file. */
static void copy_text(struct shell *sh, const char *from, const char *to, bool moves) {
    const char *text = sc__shell_written(sh->files, from);
    const char *slash = strrchr(from, '/');
    if (sc__str_ends(sc__str(to), "/"))
        to = sc__format(&sh->ctx->arena, "%s%s", to, slash ? slash + 1 : from);
    if (text)
        add_text(sh, to, text);
    else
        lose_text(sh, to, moves ? "mv" : "cp");
    if (text && moves)
        add_text(sh, from, NULL);
}

void shell_change_files(struct shell *sh, const char **words, uint32_t count) {
    bool moves = !strcmp(words[0], "mv");
    bool copies = moves || !strcmp(words[0], "cp");
    bool removes = !strcmp(words[0], "rm");
    bool edits = edits_in_place(words, count);
    const char *named[2] = {NULL, NULL};
    uint32_t operands = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (words[i][0] == '-')
            continue;
        if (edits)
            lose_text(sh, words[i], words[0]);
        if (removes && sc__shell_written(sh->files, words[i]))
            add_text(sh, words[i], NULL);
        if (operands < 2)
            named[operands] = words[i];
        operands++;
    }
    if (copies && operands == 2)
        copy_text(sh, named[0], named[1], moves);
}

/* ---- two ways ---- */

static uint32_t number_of(const struct sc__shell_file *f) {
    return f ? f->number : 0;
}

static const struct sc__shell_file *common_part(const struct sc__shell_file *a,
                                                const struct sc__shell_file *b) {
    while (a != b) {
        const struct sc__shell_file *later = number_of(a) > number_of(b) ? a : b;
        if (later == a)
            a = a->before;
        else
            b = b->before;
    }
    return a;
}

/* What two ways leave in a file. */
struct both_ways {
    const char *text[2];
    bool known[2];
};

/* The last text of each file of the table that is written from `files` down to `end`; all:
 * files that the table has not are added. */
static void look_up(struct sc__arena *arena,
                    struct sc__names *names,
                    struct both_ways **found,
                    unsigned way,
                    const struct sc__shell_file *files,
                    const struct sc__shell_file *end,
                    bool all) {
    for (; files != end; files = files->before) {
        size_t n = strlen(files->path);
        uint32_t before = names->count;
        uint32_t id = all ? sc__names_add(names, files->path, n)
                          : sc__names_find(names, files->path, n);
        if (id == SC__NO_NAME)
            continue;
        if (id == before && (id & (id - 1)) == 0) { /* 0, 1, 2, 4, 8 … */
            struct both_ways *larger = SC__NEW_ARRAY(arena, struct both_ways, 2 * id + 1);
            if (id)
                memcpy(larger, *found, id * sizeof *larger);
            *found = larger;
        }
        struct both_ways *f = &(*found)[id];
        if (!f->known[way])
            f->text[way] = files->text;
        f->known[way] = true;
    }
}

void shell_join_files(struct shell *sh,
                      const struct sc__shell_file *other,
                      uint32_t condition) {
    const struct sc__shell_unknown why = sh->result->unknowns[condition - 1];
    const struct sc__shell_file *own = sh->files;
    const struct sc__shell_file *common = common_part(own, other);
    struct sc__arena *arena = &sh->ctx->arena;
    struct both_ways *found = NULL;
    struct sc__names names;
    if (own == common && other == common)
        return;
    sc__names_init(&names, arena);
    look_up(arena, &names, &found, 0, own, common, true);
    look_up(arena, &names, &found, 1, other, common, true);
    look_up(arena, &names, &found, 0, common, NULL, false);
    look_up(arena, &names, &found, 1, common, NULL, false);
    for (uint32_t id = 0; id < names.count; id++) {
        const char *one = found[id].text[0];
        const char *two = found[id].text[1];
        if (one == two || (one && two && !strcmp(one, two)))
            continue;
        const char *what =
            sc__format(arena, "%s, which decides %s", why.what, names.text[id]);
        add_text(sh, names.text[id], shell_unknown(sh, why.line, what));
    }
}
