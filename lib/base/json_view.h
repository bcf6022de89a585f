/* json view: strict reading of a JSON document. A node is a value and its path
 * from the root, so that an error names the path
 * ("workload.blocks[2].ops[0].cost_ps") and the line and column where it
 * stands.
 *
 * Documents are read depth first: for each level the members of the object
 * looked at last, and the place in the array, are remembered. */
#ifndef SC_IMPORT_JSON_VIEW_H
#define SC_IMPORT_JSON_VIEW_H

#include "base/json_text.h"

struct sc__json_level;

struct sc__json_file {
    struct sc__json_text text;
    struct sc__json_level *levels; /* by depth */
};

struct sc__node {
    const struct sc__json_file *file;
    const struct sc__node *parent; /* NULL at the root */
    const char *key;               /* in an object, else NULL */
    size_t index;                  /* in an array */
    unsigned depth;
    const char *value; /* its text; NULL when absent */
};

/* Parses; text after the document is an error. The caller ends with
 * sc__json_close, whatever happened between. */
sc_status sc__json_open(struct sc_context *ctx,
                        const char *path,
                        size_t limit,
                        struct sc__json_file *file);
void sc__json_close(struct sc__json_file *file);
struct sc__node sc__json_root(const struct sc__json_file *file);
struct sc_context *sc__node_context(const struct sc__node *n);

sc_status sc__node_fail(const struct sc__node *n, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* n must be an object with no other keys than these (NULL-terminated), each
 * once. */
sc_status sc__node_keys(const struct sc__node *n, const char *const *keys);
sc_status sc__node_is_array(const struct sc__node *n);
/* The value begins with this: '{', '[', '"', 'n' for null. */
bool sc__node_is(const struct sc__node *n, char first);
/* Member of an object; its value is NULL when absent or null. */
struct sc__node sc__node_at(const struct sc__node *n, const char *key);
/* The same, and absence is an error. */
sc_status sc__node_need(const struct sc__node *n, const char *key, struct sc__node *out);
/* Elements of an array, best taken in their order. */
size_t sc__node_count(const struct sc__node *n);
struct sc__node sc__node_item(const struct sc__node *n, size_t i);

/* Typed values of members; *out is left alone when the member is absent. */
sc_status sc__node_i64(
    const struct sc__node *n, const char *key, int64_t least, int64_t most, int64_t *out);
sc_status sc__node_u32(const struct sc__node *n,
                       const char *key,
                       uint32_t least,
                       uint32_t most,
                       uint32_t *out);
sc_status sc__node_u64(const struct sc__node *n, const char *key, uint64_t *out);
sc_status
sc__node_double(const struct sc__node *n, const char *key, double *out); /* from 0 on */
sc_status sc__node_bool(const struct sc__node *n, const char *key, bool *out);
sc_status
sc__node_string(const struct sc__node *n, const char *key, const char **out); /* copied */
/* Not copied: it goes with the document. */
sc_status sc__node_slice(const struct sc__node *n, const char *key, struct sc__str *out);
/* One of words (NULL-terminated): *out is its index. */
sc_status sc__node_word(const struct sc__node *n,
                        const char *key,
                        const char *const *words,
                        unsigned *out);
/* A file of ours: of this schema, with no keys but these, and with all that are needed. */
sc_status sc__node_document(const struct sc__node *root,
                            const char *schema,
                            const char *const *keys,
                            const char *const *needed);
/* The value of the node itself: a whole number; one of words; text. */
sc_status
sc__node_number(const struct sc__node *n, int64_t least, int64_t most, int64_t *out);
sc_status
sc__node_choice(const struct sc__node *n, const char *const *words, unsigned *out);
sc_status sc__node_text(const struct sc__node *n, const char **out); /* copied */

#endif
