/* output: a file that appears whole or not at all. Writers fill its buffer,
 * which is written in pieces to a file without a name where the system has
 * such, so that nothing is left behind when the program is killed, else to a
 * temporary one beside the path; the end gives it its name. A path ending in
 * .gz is packed. What is no regular file (a pipe, /dev/null) is written in
 * place. */
#ifndef SC_BASE_OUTPUT_H
#define SC_BASE_OUTPUT_H

#include "base/context.h"

struct sc__output {
    struct sc_context *ctx;
    struct sc__output
        *older; /* of those open, so that none is left behind when memory is short */
    /* as given; what it is a link to, or the same */
    const char *name;
    const char *path;
    int mode;        /* of the file it replaces; -1: none */
    char *temporary; /* NULL: written in place */
    void *gz;        /* or NULL */
    int fd;
    bool nameless; /* the temporary name is not taken yet */
    int reason;    /* errno of the first failure, or 0 */
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

/* All of it at once. */
sc_status
sc__write_file(struct sc_context *ctx, const char *path, const char *bytes, size_t size);

#endif
