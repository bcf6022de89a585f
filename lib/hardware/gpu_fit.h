/* gpu_fit: constants of the kernel model fitted to a table of measured
 * kernels, and the file that holds them. */
#ifndef SC_HARDWARE_GPU_FIT_H
#define SC_HARDWARE_GPU_FIT_H

#include "hardware/kernel_table.h"

/* One group of kernels that share constants. Errors are means in %. */
struct sc__fit_group {
    const char *name;
    /* of the table; fitted */
    uint32_t rows;
    uint32_t constants;
    /* with the base's constants; with the fitted ones */
    double before;
    double after;
    double held_out; /* on the half of the shapes a fit did not see; < 0: too few to part */
};

struct sc__gpu_fit {
    struct sc__gpu *gpu; /* base with the fitted constants */
    struct sc__fit_group *groups;
    uint32_t count;
    uint32_t capacity;
    uint32_t unused; /* rows without a time */
    bool tiles;
    /* The GPU whose GEMM kernels forecast rows left out better than the base's, or
     * NULL; the mean error of the base's in %, as they are and on rows left out. */
    const char *kernels_of;
    double base_before;
    double base_held_out;
};

/* tiles: the factors of the library's kernels, too; for tables of hundreds of GEMMs. */
void sc__gpu_fit(struct sc_context *ctx,
                 const struct sc__gpu *base,
                 const struct sc__kernel_table *table,
                 bool tiles,
                 struct sc__gpu_fit *out);
/* The description as a JSON file: datasheet and every constant. */
void sc__gpu_write(const struct sc__gpu *gpu,
                   const char *source,
                   const char *quality,
                   struct sc__buffer *out);

#endif
