#include "base/data.h"

#include "base/text.h"

#include <ctype.h>
#include <stdatomic.h>
#include <string.h>

const struct sc__data_file *sc__data_find(const char *path) {
    for (unsigned i = 0; i < sc__data_file_count; i++)
        if (!strcmp(sc__data_files[i].path, path))
            return &sc__data_files[i];
    return NULL;
}

/* Keeps what was parsed, or what another thread parsed in the meantime. */
static json_t *keep_document(_Atomic(json_t *) *place, json_t *root) {
    json_t *before = NULL;
    if (atomic_compare_exchange_strong(place, &before, root))
        return root;
    json_decref(root);
    return before;
}

json_t *sc__data_json(const char *path) {
    enum { MOST_FILES = 512 };
    static _Atomic(json_t *) kept[MOST_FILES];
    const struct sc__data_file *file = sc__data_find(path);
    size_t index = file ? (size_t)(file - sc__data_files) : MOST_FILES;
    if (index >= MOST_FILES)
        return NULL;
    json_t *root = atomic_load(&kept[index]);
    if (root)
        return root;
    root = json_loadb((const char *)file->bytes, file->size, JSON_REJECT_DUPLICATES, NULL);
    return root ? keep_document(&kept[index], root) : NULL;
}

static bool is_separator(char c) {
    return c == '-' || c == '_' || c == ' ';
}

/* Small letters, and '-' only where it stands between two digits. */
static const char *plain_name(struct sc__arena *arena, const char *name) {
    struct sc__buffer b;
    bool separated = false;
    sc__buffer_init(&b, arena);
    for (; *name; name++) {
        if (is_separator(*name)) {
            separated = true;
            continue;
        }
        bool after_digit = b.size && isdigit((unsigned char)b.text[b.size - 1]);
        if (separated && after_digit && isdigit((unsigned char)*name))
            sc__putc(&b, '-');
        sc__putc(&b, (char)tolower((unsigned char)*name));
        separated = false;
    }
    return b.size ? b.text : "";
}

bool sc__data_same_name(struct sc__arena *arena, const char *a, const char *b) {
    return !strcmp(plain_name(arena, a), plain_name(arena, b));
}

const char *sc__data_name(struct sc__arena *arena, const struct sc__data_file *file) {
    const char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    return sc__strndup(arena, name, strlen(name) - strlen(".json"));
}

const struct sc__data_file *
sc__data_find_loosely(struct sc__arena *arena, const char *folder, const char *name) {
    const char *wanted = plain_name(arena, name);
    for (unsigned i = 0; i < sc__data_file_count; i++) {
        const struct sc__data_file *file = &sc__data_files[i];
        struct sc__str path = sc__str(file->path);
        if (sc__str_starts(path, folder) && sc__str_ends(path, ".json") &&
            !strcmp(plain_name(arena, sc__data_name(arena, file)), wanted))
            return file;
    }
    return NULL;
}

const char **sc__data_names(struct sc__arena *arena, const char *folder) {
    const char **names = NULL;
    uint32_t n = 0;
    uint32_t capacity = 0;
    for (unsigned i = 0; i < sc__data_file_count; i++) {
        struct sc__str path = sc__str(sc__data_files[i].path);
        if (sc__str_starts(path, folder) && sc__str_ends(path, ".json"))
            *SC__PUSH(arena, names, n, capacity) = sc__data_name(arena, &sc__data_files[i]);
    }
    *SC__PUSH(arena, names, n, capacity) = NULL;
    return names;
}

/* The family a name begins with: its letters ("llama"), and the number behind them
 * ("h", "100"). */
struct family_of_name {
    const char *letters;
    const char *number;
};

static struct family_of_name family_of(struct sc__arena *arena, const char *name) {
    const char *plain = plain_name(arena, name);
    size_t letters = 0;
    while (isalpha((unsigned char)plain[letters]))
        letters++;
    size_t digits = strspn(plain + letters, "0123456789");
    return (struct family_of_name){sc__strndup(arena, plain, letters),
                                   sc__strndup(arena, plain + letters, digits)};
}

/* Families with names of three letters and more may be misspelt by one or two (from five
 * on: two letters of "olmo" make it "glm"). With
 * fewer the letters are all there is (H100, A100, B200), and of the number one digit
 * may be wrong. */
static bool same_family(struct family_of_name a, struct family_of_name b) {
    size_t letters =
        strlen(a.letters) < strlen(b.letters) ? strlen(a.letters) : strlen(b.letters);
    if (letters >= 3)
        return sc__edit_distance(a.letters, b.letters) <= (letters > 4 ? 2 : 1);
    return !strcmp(a.letters, b.letters) && sc__edit_distance(a.number, b.number) <= 1;
}

static bool is_of_family(struct sc__arena *arena, const char *wanted, const char *name) {
    return same_family(family_of(arena, wanted), family_of(arena, name));
}

/* Of the number too: what is misspelt in llama3-7b is not the 3. */
static bool is_of_number(struct sc__arena *arena, const char *wanted, const char *name) {
    struct family_of_name a = family_of(arena, wanted);
    struct family_of_name b = family_of(arena, name);
    return same_family(a, b) && !strcmp(a.number, b.number);
}

/* llama3 begins llama3-8b and llama3.1-8b, but not llama-33b. */
static bool begins_so(struct sc__arena *arena, const char *wanted, const char *name) {
    const char *start = plain_name(arena, wanted);
    const char *whole = plain_name(arena, name);
    size_t n = strlen(start);
    return n && !strncmp(start, whole, n) &&
           !(isdigit((unsigned char)start[n - 1]) && isdigit((unsigned char)whole[n]));
}

static const char **
names_that(bool (*fits)(struct sc__arena *arena, const char *wanted, const char *name),
           struct sc__arena *arena,
           const char *const *names,
           const char *wanted) {
    const char **out = NULL;
    uint32_t n = 0;
    uint32_t capacity = 0;
    for (; *names; names++)
        if (fits(arena, wanted, *names))
            *SC__PUSH(arena, out, n, capacity) = *names;
    *SC__PUSH(arena, out, n, capacity) = NULL;
    return out;
}

static const char *small_letters(struct sc__arena *arena, const char *name) {
    char *out = sc__strdup(arena, name);
    for (char *c = out; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return out;
}

#define MOST_NAMES 40

const char *sc__data_hint(struct sc_context *ctx,
                          const char *folder,
                          const char *name,
                          const char *also) {
    struct sc__arena *arena = &ctx->arena;
    const char **names = sc__data_names(arena, folder);
    const char **begun = names_that(begins_so, arena, names, name);
    const char **family = names_that(is_of_family, arena, names, name);
    const char *small = small_letters(arena, name);
    struct sc__buffer b;
    const char *near = sc__nearest(small, names_that(is_of_number, arena, names, name));
    if (!near)
        near = sc__nearest(small, family);
    if (*begun)
        near = begun[1] ? NULL : *begun;
    if (near)
        return sc__format(arena, "did you mean %s?", near);
    if (*begun || *family)
        names = *begun ? begun : family;
    sc__buffer_init(&b, &ctx->arena);
    unsigned count = 0;
    while (names[count])
        count++;
    if (count > MOST_NAMES) /* to be read in an error */
        return sc__format(&ctx->arena,
                          "see 'stepcast list %.*s'%s%s",
                          (int)strcspn(folder, "/"),
                          folder,
                          also ? ", or take " : "",
                          also ? also : "");
    sc__puts(&b, "there are");
    for (unsigned i = 0; names[i]; i++)
        sc__printf(&b, "%s %s", i ? "," : "", names[i]);
    if (also)
        sc__printf(&b, ", or %s", also);
    return b.text;
}
