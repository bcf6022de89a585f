/* json text: a JSON document kept as its text. It is checked once, from end to
 * end, and from then on walked in place: a value is a pointer to its first
 * character. So a document costs its bytes and no more, and a value knows its
 * line and column.
 *
 * To step over a value one has to read it; the check therefore remembers where
 * the large ones end. */
#ifndef SC_IMPORT_JSON_TEXT_H
#define SC_IMPORT_JSON_TEXT_H

#include "base/base.h"

#define SC__JSON_DEPTH 64 /* deeper documents are refused */

struct sc__json_large { /* an object or array of more than some kilobytes */
    const char *end;
    size_t count; /* members or elements */
};

struct sc__json_text {
    struct sc_context *ctx;
    const char *name;
    struct sc__arena memory;
    struct sc__str text;
    const char *root;
    struct sc__map large_at; /* offset → index in large, + 1 */
    struct sc__json_large *large;
    uint32_t large_count;
    uint32_t large_capacity;
};

/* Reads and checks; the caller ends with sc__json_text_close, whatever
 * happened. Strict: UTF-8, no NUL, nothing after the document. */
sc_status sc__json_text_open(struct sc_context *ctx,
                             const char *path,
                             size_t limit,
                             struct sc__json_text *t);
void sc__json_text_close(struct sc__json_text *t);

/* Behind the value. */
const char *sc__json_skip(const struct sc__json_text *t, const char *value);
/* The first element of an array, or key of an object; NULL where it is empty. */
const char *sc__json_first(const char *container);
/* The one after a value (or, in objects, the next key); NULL at the end. */
const char *sc__json_next(const char *after);
/* The value of a key, and the key's raw text. */
const char *sc__json_key(const char *at, struct sc__str *key);
/* Members or elements of a container. */
size_t sc__json_count(const struct sc__json_text *t, const char *container);
/* The text of a string value: a slice of the document where nothing in it is
 * escaped, else decoded into the arena. */
struct sc__str sc__json_decode(struct sc__arena *arena, struct sc__str raw);
/* The raw text of a string, without quotes, or of a number. */
struct sc__str sc__json_raw_text(const char *value);
struct sc__place sc__json_place(const struct sc__json_text *t, const char *at);

#endif
