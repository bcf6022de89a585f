/* data: the files under data/ as they were when the library was built. They
 * are compiled in, so that an installed stepcast needs no folder of its own. */
#ifndef SC_BASE_DATA_H
#define SC_BASE_DATA_H

#include "base/context.h"

struct sc__data_file {
    const char *path; /* "gpus/h100.json", relative to data/ */
    const unsigned char *bytes;
    size_t size;
};

extern const struct sc__data_file sc__data_files[];
extern const unsigned sc__data_file_count;

/* NULL when there is no such file. */
const struct sc__data_file *sc__data_find(const char *path);

/* The names of a folder's files ("models/") without their ending, NULL-terminated. */
const char **sc__data_names(struct sc__arena *arena, const char *folder);

/* A hint for a name that is none of folder ("gpus/"): the nearest one, or
 * what there is. also: what the name may be besides, or NULL. */
const char *sc__data_hint(struct sc_context *ctx,
                          const char *folder,
                          const char *name,
                          const char *also);

#endif
