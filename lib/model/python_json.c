#include "model/python_json.h"

#include <string.h>

/* The end of the string that begins at `at`, or of the text. */
static size_t python_json_skip_string(struct sc__str text, size_t at) {
    for (at++; at < text.n; at++) {
        if (text.p[at] == '\\')
            at++;
        else if (text.p[at] == '"')
            return at + 1;
    }
    return text.n;
}

static bool python_json_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The length of the word at `at` that only Python knows, 0 where there is none.
 * A word before a colon would be a key, which Python refuses as well. */
static size_t python_json_word(struct sc__str text, size_t at) {
    static const char *const words[] = {"NaN", "Infinity", "-Infinity", NULL};
    for (const char *const *word = words; *word; word++) {
        size_t length = strlen(*word);
        if (text.n - at < length || memcmp(text.p + at, *word, length))
            continue;
        size_t after = at + length;
        while (after < text.n && python_json_is_space(text.p[after]))
            after++;
        return after < text.n && text.p[after] == ':' ? 0 : length;
    }
    return 0;
}

struct sc__str sc__python_json(struct sc__arena *arena, struct sc__str text) {
    char *copy = NULL;
    for (size_t at = 0; at < text.n;) {
        if (text.p[at] == '"') {
            at = python_json_skip_string(text, at);
            continue;
        }
        size_t length = python_json_word(text, at);
        if (!length) {
            at++;
            continue;
        }
        if (!copy) {
            copy = sc__alloc(arena, text.n);
            memcpy(copy, text.p, text.n);
        }
        copy[at] = '"';
        copy[at + length - 1] = '"';
        at += length;
    }
    return copy ? (struct sc__str){copy, text.n} : text;
}
