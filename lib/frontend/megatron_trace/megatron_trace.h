/* megatron_trace: the parts of the reader of per-rank Megatron traces.
 *
 *   file_names.c            what file and directory names tell
 *   megatron_trace_scan.c   one file → records
 *   megatron_trace_read.c   files and directories → one run of one job
 *   megatron_trace_show.c   what `show` says
 */
#ifndef SC_FRONTEND_MEGATRON_TRACE_H
#define SC_FRONTEND_MEGATRON_TRACE_H

#include "frontend/megatron_trace/trace.h"
#include "frontend/reader.h"

/* Reads what the last two parts of a path tell; the file name wins over the
 * directory. A name of another kind tells nothing. */
void sc__trace_name_facts(const char *path, struct sc__trace_facts *out);

/* Reads files one after another; what it grows is used again for the next. */
struct sc__trace_scanner {
    struct sc_context *ctx;
    struct sc__names *names; /* of the set */
    struct sc__trace_record *records;
    uint32_t record_count;
    uint32_t record_capacity;
    struct sc__trace_sub *subs;
    uint32_t sub_count;
    uint32_t sub_capacity;
};

/* One open file's text → one rank. */
sc_status sc__trace_scan(struct sc__trace_scanner *scanner,
                         struct sc__input *in,
                         struct sc__trace_rank *out);

void sc__trace_show(struct sc_context *ctx,
                    const struct sc__document *doc,
                    struct sc__buffer *text,
                    struct sc__json *json);

#endif
