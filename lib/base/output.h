/* output: a file that appears whole or not at all. Writers fill its buffer,
 * which is written in pieces to a new file (sc__new_file in platform.h); the end
 * lets it appear. A path ending in .gz is packed. */
#ifndef SC_BASE_OUTPUT_H
#define SC_BASE_OUTPUT_H

#include "base/context.h"
#include "base/platform.h"

struct sc__output {
    struct sc_context *ctx;
    struct sc__output
        *older;       /* of those open, so that none is left behind when memory is short */
    const char *name; /* as given */
    struct sc__new_file file;
    void *gz;   /* or NULL */
    int reason; /* of the first failure, or 0 */
    struct sc__arena memory;
    struct sc__buffer buffer;
};

sc_status
sc__output_open(struct sc_context *ctx, const char *path, struct sc__output **out);
/* Ends the output: status SC_OK makes it appear, any other leaves nothing and
 * is returned as it is. */
sc_status sc__output_end(struct sc__output *o, sc_status status);
/* Ends all that are open, leaving nothing. */
void sc__outputs_abandon(struct sc_context *ctx);

/* Makes the folder of a set of files, unless it is there. One with a file that the
 * pattern matches and the set (mine) does not write is refused: what is left of
 * another set would be read as part of this one. */
sc_status sc__output_folder(struct sc_context *ctx,
                            const char *path,
                            const char *pattern,
                            bool (*mine)(const void *self, const char *name),
                            const void *self);

/* All of it at once. */
sc_status
sc__write_file(struct sc_context *ctx, const char *path, const char *bytes, size_t size);

#endif
