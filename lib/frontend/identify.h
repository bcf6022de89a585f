/* identify: what a file is that no reader takes: files for another option, and
 * formats of the field that we know and do not read. */
#ifndef SC_FRONTEND_IDENTIFY_H
#define SC_FRONTEND_IDENTIFY_H

#include "base/base.h"

/* The option that reads a file. */
enum sc__read_as { SC__READ_OTHERWISE, SC__READ_AS_CLUSTER, SC__READ_AS_MODEL };

struct sc__identity {
    const char *what;   /* "NCCL's description of a node (XML)" */
    const char *advice; /* what to do with it */
    enum sc__read_as read_as;
};

/* An archive, a file packed otherwise than by gzip, a picture: by bytes that no text has,
 * whatever text lies in it. NULL: none of them. */
const struct sc__identity *sc__identify_bytes(const char *head, size_t n);
/* By the first (unpacked) bytes; NULL: not known. */
const struct sc__identity *sc__identify(const char *head, size_t n);
/* By the name, where the bytes do not tell; NULL: not known. */
const struct sc__identity *sc__identify_name(const char *path);
/* All of it of a file; NULL where it cannot be read, too. The reader that takes it
 * is in *title, if one does. */
const struct sc__identity *
sc__identify_file(struct sc_context *ctx, const char *path, const char **title);

#endif
