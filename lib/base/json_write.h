/* json_write: JSON out, in the order it is written, two blanks a level. Reading is
 * jansson's, or json_scan.h's where a document may be large. */
#ifndef SC_BASE_JSON_WRITE_H
#define SC_BASE_JSON_WRITE_H

#include "base/buffer.h"

#include <stdbool.h>

struct sc__json {
    struct sc__buffer *out;
    unsigned depth;
    unsigned flat;    /* depth from which everything stays on one line; 0 = never */
    bool after_value; /* a comma is due */
};

void sc__json_init(struct sc__json *j, struct sc__buffer *out);
/* key is NULL inside arrays and at the top. */
void sc__json_object(struct sc__json *j, const char *key);
void sc__json_array(struct sc__json *j, const char *key);
/* The same, but the container and all inside stay on one line. */
void sc__json_row(struct sc__json *j, const char *key);
void sc__json_list(struct sc__json *j, const char *key);
void sc__json_end_object(struct sc__json *j);
void sc__json_end_array(struct sc__json *j);
void sc__json_string(struct sc__json *j,
                     const char *key,
                     const char *value); /* NULL → null */
void sc__json_u64(struct sc__json *j, const char *key, uint64_t value);
void sc__json_i64(struct sc__json *j, const char *key, int64_t value);
void sc__json_double(struct sc__json *j,
                     const char *key,
                     double value); /* not finite → null */
void sc__json_bool(struct sc__json *j, const char *key, bool value);
void sc__json_null(struct sc__json *j, const char *key);
/* A value that is JSON already. */
void sc__json_raw(struct sc__json *j, const char *key, const char *text, size_t n);
/* "notes": [{"code", "text"}…], of the context or of a list. */
struct sc_context;
struct sc__note;
void sc__json_notes(struct sc__json *j, const struct sc_context *ctx);
void sc__json_note_list(struct sc__json *j, const struct sc__note *notes, uint32_t count);
/* Picoseconds as exact microseconds. */
void sc__json_us(struct sc__json *j, const char *key, int64_t ps);

#endif
