/* nsys: an SQLite export of Nsight Systems (`nsys export --type sqlite`). A device of
 * a process is a rank, and becomes a trace like one of Kineto. */
#ifndef SC_FRONTEND_NSYS_H
#define SC_FRONTEND_NSYS_H

#include "frontend/kineto/kineto.h"

#include <sqlite3.h>

/* One device as one process used it. */
struct sc__nsys_device {
    int64_t process; /* globalPid without the bits of a thread */
    int64_t device;
    int64_t busy; /* ns of kernels */
    struct sc__kineto_trace *trace;
    uint32_t next; /* the next device of the process, or SC__NONE */
};

/* A call of NCCL with what its NVTX payload tells. */
struct sc__nsys_call {
    int64_t start;
    int64_t end;
    int64_t process;
    uint64_t communicator;
    uint64_t bytes;
    uint32_t thread;
    uint8_t coll; /* enum sc__coll */
    bool taken;   /* a kernel was launched for it */
};

/* A rank of a communicator, as NCCL was told when it was made. */
struct sc__nsys_member {
    int64_t process;
    uint64_t communicator;
    uint32_t size;
    uint32_t rank;
};

/* A field of an NVTX payload, as its schema lays it out. */
struct sc__nsys_field {
    int64_t domain;
    int64_t schema;
    uint64_t offset;
    uint32_t bytes;
    uint8_t what; /* enum sc__nsys_what */
};

struct sc__nsys {
    struct sc_context *ctx;
    const char *file;
    sqlite3 *db;
    const char *step_range; /* or NULL: the usual names */
    /* rows read, and how many the file can hold at most */
    uint64_t rows;
    uint64_t most_rows;
    uint64_t expected_rows; /* for the progress */
    struct sc__map strings; /* StringIds: id → text in the arena */
    struct sc__nsys_device *devices;
    uint32_t device_count;
    uint32_t device_capacity;
    struct sc__map device_at;  /* process and device → index */
    struct sc__map process_at; /* process → first device */
    bool no_processes;         /* kernels do not say of which process they are */
    struct sc__nsys_call *calls;
    uint32_t call_count;
    uint32_t call_capacity;
    struct sc__nsys_field *fields;
    uint32_t field_count;
    uint32_t field_capacity;
    struct sc__nsys_member *members; /* of communicators, from their creation */
    uint32_t member_count;
    uint32_t member_capacity;
    uint64_t graphs; /* CUDA graphs that are traced as a whole */
    struct sc__kineto_period period;
};

/* ---- tables (nsys_table.c) ---- */

struct sc__nsys_column {
    const char *name;
    bool needed;
};

/* A row of the table, with the columns asked for. */
typedef sc_status sc__nsys_take(struct sc__nsys *n, sqlite3_stmt *row, const char *table);

/* Opens the file as a database; what is packed or comes from a pipe is copied to
 * memory first. */
sc_status sc__nsys_open(struct sc__nsys *n);
/* Every row of a table through take; *there (may be NULL) is false, and nothing
 * happens, where the export has no such table. */
sc_status sc__nsys_read_table(struct sc__nsys *n,
                              const char *table,
                              const struct sc__nsys_column *columns,
                              uint32_t count,
                              sc__nsys_take *take,
                              bool *there);
bool sc__nsys_has_column(struct sc__nsys *n, const char *table, const char *column);
/* A whole number; `none` where the value is missing. */
sc_status sc__nsys_number(struct sc__nsys *n,
                          sqlite3_stmt *row,
                          const char *table,
                          int column,
                          int64_t none,
                          int64_t *out);
/* Start and end in ns. */
sc_status sc__nsys_times(
    struct sc__nsys *n, sqlite3_stmt *row, const char *table, int64_t *start, int64_t *end);
/* A text, or the number of one of StringIds; NULL where there is none. */
const char *sc__nsys_text(struct sc__nsys *n, sqlite3_stmt *row, int column);

/* ---- NCCL's calls (nsys_nccl.c) ---- */

/* How payloads are laid out. */
sc_status sc__nsys_read_schemas(struct sc__nsys *n);
/* An NVTX range that is a call of NCCL, whose payload is in `json` (a text) or in
 * `bytes`; columns of the row. */
void sc__nsys_nccl_range(struct sc__nsys *n,
                         const struct sc__nsys_call *range,
                         const char *name,
                         int64_t domain,
                         const char *json,
                         const void *bytes,
                         size_t size);
/* The traces of all exports in order of rank: NCCL's ranks where the communicator of
 * all of them was made in the profile, else by export, device and process. */
void sc__nsys_order_ranks(struct sc__nsys *exports,
                          uint32_t count,
                          struct sc__kineto_traces *out);
/* What NCCL's calls tell about its kernels. After sc__nsys_order_ranks. */
void sc__nsys_name_collectives(struct sc__nsys *exports, uint32_t count);

/* Fills the export of n->ctx, n->file and n->step_range. */
sc_status sc__nsys_read_export(struct sc__nsys *n);

#endif
