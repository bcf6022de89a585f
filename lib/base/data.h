/* data: the files under data/ as they were when the library was built. They
 * are compiled in, so that an installed stepcast needs no folder of its own. */
#ifndef SC_BASE_DATA_H
#define SC_BASE_DATA_H

#include "base/context.h"

#include <jansson.h>

struct sc__data_file {
    const char *path; /* "gpus/h100.json", relative to data/ */
    const unsigned char *bytes;
    size_t size;
};

extern const struct sc__data_file sc__data_files[];
extern const unsigned sc__data_file_count;

/* Of all C sources of the library, as cksum has it: "CRC-bytes". */
extern const char sc__sources_checksum[];

/* NULL when there is no such file. */
const struct sc__data_file *sc__data_find(const char *path);

/* A file as a document, parsed once for all contexts and threads of the process; neither
 * changed nor given back by who asks. NULL when there is no such file, or it is damaged. */
json_t *sc__data_json(const char *path);

/* Two names that people mean the same by: any case, and '-', '_' and blanks alike or left
 * out, but for those between two digits ("llama-33b" is not "llama3-3b"). */
bool sc__data_same_name(struct sc__arena *arena, const char *a, const char *b);
/* The file of folder ("models/") with a name that is the same in this sense. NULL when
 * there is none. */
const struct sc__data_file *
sc__data_find_loosely(struct sc__arena *arena, const char *folder, const char *name);
/* Its name, without folder and ending. */
const char *sc__data_name(struct sc__arena *arena, const struct sc__data_file *file);

/* The names of a folder's files ("models/") without their ending, NULL-terminated. */
const char **sc__data_names(struct sc__arena *arena, const char *folder);

/* A hint for a name that is none of folder ("gpus/"): the nearest one of its
 * family, or what there is; never one of another family, as h100-sxm is for MI300X. also:
 * what the name may be besides, or NULL. */
const char *sc__data_hint(struct sc_context *ctx,
                          const char *folder,
                          const char *name,
                          const char *also);

#endif
