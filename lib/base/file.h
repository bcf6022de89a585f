/* file: bytes in. Input may be plain or gzip, a file, a pipe or "-" for
 * standard input. The way out is output.h. */
#ifndef SC_BASE_FILE_H
#define SC_BASE_FILE_H

#include "base/context.h"
#include "base/gunzip_ahead.h"
#include "base/text.h"

/* A stream of bytes with a look at its head, unpacked if it was gzip. */
struct sc__input {
    struct sc_context *ctx;
    const char *name; /* as shown in errors */
    struct sc__gunzip *gz;
    unsigned char *bytes; /* the window */
    size_t begin;
    size_t end;
    size_t capacity;
    uint64_t offset; /* of bytes[begin] in the unpacked stream */
    uint64_t line;   /* of the next line, counted by sc__input_line */
    bool at_end;
    struct sc__ahead *ahead;
    uint64_t size; /* of the file; 0: a stream */
    uint64_t told; /* bytes of it that were read when progress was last told */
};

/* What can be read once only: standard input ("-"), pipes, devices. */
bool sc__path_is_stream(const char *path);
#define SC__STREAM_MAX ((uint64_t)4 << 30) /* a longer one is refused */

/* Copies what is left of a stream to memory: *path is one that can be opened
 * again. Errors go on to show the name it had. Look at the first bytes before:
 * what is of no known kind needs no copy. */
sc_status sc__spool(struct sc__input *in, const char **path);

/* Bytes as a path that can be opened; errors call it name. */
sc_status sc__spool_bytes(struct sc_context *ctx,
                          const char *name,
                          const void *bytes,
                          size_t size,
                          const char **path);

sc_status sc__input_open(struct sc_context *ctx, const char *path, struct sc__input *in);
void sc__input_close(struct sc__input *in);
/* At least n bytes in the window where the stream has them; the window is
 * bytes[begin..end). */
sc_status sc__input_fill(struct sc__input *in, size_t n);
/* The same at the beginning of text: a byte-order mark of UTF-8 is passed over. */
sc_status sc__input_fill_text(struct sc__input *in, size_t n);
/* From now on a thread unpacks ahead; nothing happens where the stream is not
 * packed. After the first fill. */
void sc__input_read_ahead(struct sc__input *in);

#define SC__LINE_MAX ((size_t)16 << 20) /* a longer line is refused */

/* The next line without its end ("\n", "\r\n"); valid until the next call.
 * *more is false at the end of the stream. NUL bytes are refused; a last line
 * without an end is a note, since cut files have one. */
sc_status sc__input_line(struct sc__input *in, struct sc__str *line, bool *more);
/* The place of a pointer into the current line. */
struct sc__place
sc__input_place(const struct sc__input *in, struct sc__str line, const char *at);

/* The whole stream, at most limit bytes, NUL-terminated; in the context's
 * memory, or in an arena of the caller's. */
sc_status
sc__read_all(struct sc_context *ctx, const char *path, size_t limit, struct sc__str *out);
sc_status sc__read_into(struct sc_context *ctx,
                        struct sc__arena *arena,
                        const char *path,
                        size_t limit,
                        struct sc__str *out);

#endif
