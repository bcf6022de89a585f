/* kernel_table: kernels with their times as a CSV table. The same table is
 * what tools/measure_kernels.py writes, what --kernel-times replaces the model
 * by, and what fit-gpu fits (docs/model/kernels.md has the columns). */
#ifndef SC_HARDWARE_KERNEL_TABLE_H
#define SC_HARDWARE_KERNEL_TABLE_H

#include "hardware/kernel_model.h"

struct sc__kernel_row {
    struct sc__kernel_key key;
    const char *op; /* as in the table */
    double us;      /* 0: not given */
    uint32_t line;
    /* Timed as one of so many linear layers in turn, replayed as a CUDA graph; 0: alone.
     * filled: of these, as many as fill the cache with weights. */
    uint16_t layers;
    bool filled;
};

struct sc__kernel_table {
    struct sc__kernel_row *rows;
    uint32_t count;
    uint32_t capacity;
};

sc_status sc__kernel_table_read(struct sc_context *ctx,
                                const char *path,
                                struct sc__kernel_table *out);
/* Reads from an open input whose name is shown in errors. */
sc_status sc__kernel_table_parse(struct sc_context *ctx,
                                 struct sc__input *in,
                                 struct sc__kernel_table *out);
/* Refuses a table with kernels that a GPU's file has no constants for; path names it. */
sc_status sc__kernel_table_priced(struct sc_context *ctx,
                                  const char *path,
                                  const struct sc__kernel_table *table,
                                  const struct sc__gpu *gpu);
/* Refuses times that no GPU near this one takes: a slip of the unit. */
sc_status sc__kernel_table_plausible(struct sc_context *ctx,
                                     const char *path,
                                     const struct sc__kernel_table *table,
                                     const struct sc__gpu *gpu);
/* "8192×4096×1024 bf16", for people. */
const char *sc__kernel_key_text(struct sc_context *ctx, const struct sc__kernel_key *key);
/* What the model expects a table to say of a row: the time of the kernel, or where it was
 * timed in a loop what the loop makes of it. */
double sc__kernel_row_us(const struct sc__gpu *gpu, const struct sc__kernel_row *row);
/* Layers of the graph it was timed in; 0: none. */
double sc__kernel_row_layers(const struct sc__gpu *gpu, const struct sc__kernel_row *row);
/* us: the ends of replays on Blackwell are so far apart. */
#define SC__REPLAY_TICK 2.048
/* The MB of a datasheet's cache are MiB. */
#define SC__CACHE_MIB 1.048576
/* Names of all operations of a table, NULL-terminated. */
const char *const *sc__kernel_table_ops(void);

#endif
