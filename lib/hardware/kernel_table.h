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
/* "8192×4096×1024 bf16", for people. */
const char *sc__kernel_key_text(struct sc_context *ctx, const struct sc__kernel_key *key);
/* Names of all operations of a table, NULL-terminated. */
const char *const *sc__kernel_table_ops(void);

#endif
