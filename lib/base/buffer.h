/* buffer: text that grows. Writers build their output in one; whether it is
 * kept whole or handed on in pieces (sc__buffer_stream) is not their business. */
#ifndef SC_BASE_BUFFER_H
#define SC_BASE_BUFFER_H

#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>

struct sc__buffer {
    struct sc__arena *arena;
    char *text; /* always ends in NUL, NULL only before the first write */
    size_t size;
    size_t capacity;
    void (*take)(void *user, const char *bytes, size_t n); /* or NULL: all is kept */
    void *user;
    /* A report for people: names from inputs stand in it and it goes to a terminal,
     * so that control characters are written as question marks. Colours of ours
     * come by sc__put_colour. */
    bool for_people;
};

void sc__buffer_init(struct sc__buffer *b, struct sc__arena *arena);
/* From now on what is written goes to take, some 256 KiB at a time; size and
 * text are those of the piece not yet handed on. */
void sc__buffer_stream(struct sc__buffer *b,
                       void (*take)(void *user, const char *bytes, size_t n),
                       void *user);
/* A buffer that keeps nothing: to see whether writing goes well. */
void sc__buffer_nowhere(struct sc__buffer *b, struct sc__arena *arena);
/* Hands on what is left. */
void sc__buffer_flush(struct sc__buffer *b);
void sc__put(struct sc__buffer *b, const char *s, size_t n);
void sc__puts(struct sc__buffer *b, const char *s);
void sc__putc(struct sc__buffer *b, char c);
void sc__printf(struct sc__buffer *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void sc__vprintf(struct sc__buffer *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Sequences that drive a terminal: "1", "38;5;16"; none of an input's. */
void sc__put_colour(struct sc__buffer *b, const char *code);
/* What would move a terminal's cursor, or set its title, becomes a question mark. */
void sc__show_controls(char *text, size_t n);
/* A number without printf: traces and pages hold millions. */
void sc__put_u64(struct sc__buffer *b, uint64_t v);
/* n copies of s. */
void sc__repeat(struct sc__buffer *b, const char *s, unsigned n);

#endif
