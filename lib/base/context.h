/* context: what every call carries: its memory, its error, its notes.
 *
 * Errors are values. A function that can fail returns sc_status and leaves the
 * text here through sc__fail, with the place in the input and a hint. Notes
 * are the assumptions made on the way; every report prints them. */
#ifndef SC_BASE_CONTEXT_H
#define SC_BASE_CONTEXT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "stepcast/stepcast.h"

#include <stdbool.h>

/* A place in an input. line 0: the file as a whole; binary: offset counts. */
struct sc__place {
    const char *file;
    uint64_t line;
    uint64_t column;
    uint64_t offset;
    bool binary;
};

struct sc__note {
    const char *code; /* short and stable, for programs: "pp-comm-derived" */
    const char *text; /* one sentence for people */
};

struct sc__error {
    struct sc__place place;
    const char *message;
    const char *hint;
    const char *text;
};

struct sc__output;

struct sc_context {
    struct sc__arena arena;
    struct sc__error error;
    struct sc__note *notes;
    uint32_t note_count;
    uint32_t note_capacity;
    struct sc__map note_at; /* hash of a note → where it last was */
    unsigned jobs;          /* threads that may be used */
    struct sc__spooled {    /* copies of pipes, see file.h */
        const char *path;
        const char *shown;
        int fd;
    } * spooled;
    uint32_t spooled_count;
    uint32_t spooled_capacity;
    struct sc__output *outputs; /* those open, see output.h */
    void (*progress)(void *user, const char *what, double share); /* or NULL */
    void *progress_user;
};

/* The name a path had before it was copied to memory (sc__spool), else itself. */
const char *sc__shown_name(const struct sc_context *ctx, const char *path);
/* Sets the error and returns status, so that `return sc__fail(…)` reads well.
 * at and hint may be NULL. */
sc_status sc__fail(struct sc_context *ctx,
                   sc_status status,
                   const struct sc__place *at,
                   const char *hint,
                   const char *fmt,
                   ...) __attribute__((format(printf, 5, 6)));
sc_status sc__vfail(struct sc_context *ctx,
                    sc_status status,
                    const struct sc__place *at,
                    const char *hint,
                    const char *fmt,
                    va_list ap) __attribute__((format(printf, 5, 0)));
void sc__clear_error(struct sc_context *ctx);
/* Calls work(self); SC_SYSTEM and "out of memory" where there was not enough. */
sc_status sc__guarded(struct sc_context *ctx, sc_status (*work)(void *self), void *self);

/* Adds a note; one with the same code and text is kept once. */
void sc__note(struct sc_context *ctx, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Tells whoever wants to know how far a long piece of work is: what, and its
 * share from 0 to 1. Cheap, but not for every event. */
void sc__progress(struct sc_context *ctx, const char *what, double share);

char *sc__format(struct sc__arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define SC__TRY(call)                                                                      \
    do {                                                                                   \
        sc_status sc__try_status = (call);                                                 \
        if (sc__try_status != SC_OK)                                                       \
            return sc__try_status;                                                         \
    } while (0)

#endif
