/* gpu_fit_constants: which rows of a table of kernels share constants, and which of these a
 * fit may move. */
#ifndef SC_HARDWARE_GPU_FIT_CONSTANTS_H
#define SC_HARDWARE_GPU_FIT_CONSTANTS_H

#include "hardware/gpu_fit.h"

#include "hardware/kernel_moe.h"

enum { SC__FIT_MOST = 32 + 2 * SC__GEMM_TILES }; /* constants of a group */

struct sc__fit_parameter {
    double *value;
    bool rate;   /* larger is faster */
    bool ratio;  /* of others: stays when all are scaled */
    double most; /* what physics allows; 0: anything */
};

/* Rows of a table that share constants. */
struct sc__fit_rows {
    const char *name;
    struct sc__gpu *gpu;
    const struct sc__kernel_row **rows;
    uint32_t count;
    /* Of experts: what each row of the table has to do, drawn once. */
    const struct sc__kernel_table *table;
    struct sc__moe_work *moe;
    struct sc__fit_parameter parameters[SC__FIT_MOST];
    unsigned parameter_count;
    bool tiles;  /* the factors of the tiles are fitted, too */
    bool linear; /* rows with the cast of the input are among them */
};

/* Rows with the same answer belong together; small numbers are fitted first, because the
 * later ones build on them. Group 0 are the main GEMMs. */
uint32_t sc__fit_group_of(const struct sc__gpu *g, const struct sc__kernel_key *k);
/* Of a batched product by kernels of before Hopper, else NULL. */
const double *sc__fit_fallback_constants(const struct sc__gpu *g,
                                         const struct sc__kernel_key *k);
/* Adds the constants that a row depends on, of gpu u, in the order of their weight. */
void sc__fit_offer_constants(struct sc__fit_rows *g,
                             struct sc__gpu *u,
                             const struct sc__kernel_key *k);

#endif
