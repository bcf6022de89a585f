/* context: what every call carries: its memory, its error, its notes.
 *
 * A public object (a model, a result, a request being executed) is built in a
 * context of its own, which lives inside the object: its memory and its notes
 * go with the object, and nothing is left in the caller's context but the text
 * of an error (sc__context_init … sc__context_end, lib/api).
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
    uint32_t times;   /* that it was said */
};

/* All texts are in one block from malloc, replaced by the next error, so that
 * errors take no memory of the arena. */
struct sc__error {
    struct sc__place place;
    const char *message;
    const char *hint;
    const char *text;
    char *block;
};

struct sc__output;
struct sc__engine_list;

/* What many evaluations on one thread look up again and again (data files read):
 * found once, in a context that outlives theirs. */
struct sc__memo;

struct sc_context {
    struct sc__arena arena;
    struct sc__error error;
    struct sc__note *notes;
    uint32_t note_count;
    uint32_t note_capacity;
    bool quiet;             /* nobody will read its notes */
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
    const char **written;       /* names of files, and of folders of files */
    uint32_t written_count;
    uint32_t written_capacity;
    /* network engines from outside; contexts made like this one borrow the list */
    struct sc__engine_list *engines;
    struct sc__memo *memo; /* or NULL: everything is looked up */
    sc_progress *progress; /* or NULL */
    void *progress_user;
    bool cancelled;              /* progress said so */
    struct sc_request *requests; /* made with this context and not yet freed */
};

/* A context inside another object. like: whose progress, threads and network
 * engines it takes over; may be NULL. */
void sc__context_init(struct sc_context *ctx, const struct sc_context *like);
void sc__context_end(struct sc_context *ctx);
/* The error of `from`, a context that is about to go. */
void sc__error_move(struct sc_context *to, struct sc_context *from);
/* The notes of `from`, behind those of `to`. */
void sc__notes_copy(struct sc_context *to, const struct sc_context *from);
/* Calls work(self); where there is not enough memory sc__out_of_memory. */
sc_status sc__guarded(struct sc_context *ctx, sc_status (*work)(void *self), void *self);
/* What a call that ran out of memory answers. */
sc_status sc__out_of_memory(struct sc_context *ctx);

/* A memo for the contexts of one thread; like: as for sc__context_init. */
struct sc__memo *sc__memo_new(const struct sc_context *like);
void sc__memo_free(struct sc__memo *memo);
/* What find(ctx, name, …) makes, from the memo of ctx where it has one. kind keeps
 * names of different things apart. What is found is never changed. */
typedef sc_status
sc__memo_find(struct sc_context *ctx, const char *name, const void *with, void **out);
sc_status sc__memo_ask(struct sc_context *ctx,
                       const char *kind,
                       const char *name,
                       sc__memo_find *find,
                       const void *with,
                       void **out);

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

/* Adds a note; one with the same code and text is kept once. */
void sc__note(struct sc_context *ctx, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Forgets the notes of this code. */
void sc__note_drop(struct sc_context *ctx, const char *code);

/* Tells whoever wants to know how far a long piece of work is: what, and its
 * share from 0 to 1. Cheap, but not for every event. SC_CANCELLED when it is
 * not wanted any more: the caller returns that. */
sc_status sc__progress(struct sc_context *ctx, const char *what, double share);

char *sc__format(struct sc__arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define SC__TRY(call)                                                                      \
    do {                                                                                   \
        sc_status sc__try_status = (call);                                                 \
        if (sc__try_status != SC_OK)                                                       \
            return sc__try_status;                                                         \
    } while (0)

#endif
