/* reader: bytes → intermediate representation. One file per format; detect.c
 * looks at the first bytes and picks one. A reader never times anything. */
#ifndef SC_FRONTEND_READER_H
#define SC_FRONTEND_READER_H

#include "frontend/megatron_trace/trace.h"
#include "workload/layers.h"
#include "workload/timeline.h"

/* What a reader makes. Either a workload ready to run, or rows that
 * lower/layers.c turns into one, or traces for frontend/megatron_trace/replay.c. */
struct sc__document {
    const struct sc__reader *reader;
    const char **files;
    uint32_t file_count;
    struct sc__workload *workload;
    struct sc__layers *layers;
    struct sc__trace_set
        *traces; /* records of ranks, which frontend/megatron_trace/replay.c turns
                    into a workload and `measured` */
    struct sc__timeline *measured; /* where the input is a measurement */
    void *details;                 /* the reader's, for its show and for conversions */
};

struct sc__reader {
    const char *name;  /* "workload-text": the value of "format" in results */
    const char *title; /* one line for people */
    /* How sure the reader is that it can read this: 0 (no) to 100. head is the
     * beginning of the (unpacked) file; for a directory n is 0. */
    int (*detect)(const unsigned char *head, size_t n, const char *path, bool directory);
    /* paths: one file, or all files and directories given where `many`. */
    sc_status (*read)(struct sc_context *ctx,
                      const struct sc__settings *settings,
                      const char *const *paths,
                      uint32_t count,
                      struct sc__document *out);
    /* What `show` says beyond the common part; may be NULL. json may be NULL. */
    void (*show)(struct sc_context *ctx,
                 const struct sc__document *doc,
                 struct sc__buffer *text,
                 struct sc__json *json);
    const struct sc__option *options; /* ended by an empty name, or NULL */
    bool many;                        /* takes several files or directories as one job */
};

extern const struct sc__reader *const sc__readers[]; /* NULL-terminated */
/* Their option tables, for the commands that read. */
extern const struct sc__option sc__chakra_options[];
extern const struct sc__option sc__kineto_options[];
extern const struct sc__option sc__capture_options[];

/* Some reader takes this folder as one job. */
bool sc__folder_is_input(const char *path);

struct sc__input;
/* Copies a stream of a known format to memory, to be read from *path (sc__spool);
 * one of no known format is refused. */
sc_status sc__import_keep(struct sc__input *in, const char **path);
/* Detects and reads. All paths must be of one format. `format` forces it. */
sc_status sc__import(struct sc_context *ctx,
                     const struct sc__settings *settings,
                     const char *format,
                     const char *const *paths,
                     uint32_t count,
                     struct sc__document *out);

#endif
