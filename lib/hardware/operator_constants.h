/* operator_constants: what operators of PyTorch take beside kernels that were written for
 * a purpose, as measured on an H200 (data/operators.json). */
#ifndef SC_HARDWARE_OPERATOR_CONSTANTS_H
#define SC_HARDWARE_OPERATOR_CONSTANTS_H

#include "hardware/gpu.h"

struct sc__operator_constants {
    double by_row;        /* ps an element of an operator one operand of which stands for a
                             row: their places are looked up */
    double converts;      /* ps an element more where types are turned into each other */
    double between;       /* ps an element of a sum over a dimension in the middle */
    double picked_again;  /* of rows that are picked again, what is read again */
    double rows_added[4]; /* rows added where an index says: us, us a row, ps an element, us
                             a row of those that come to one place */
    double mask_traffic;  /* how often the bytes of a mask go over memory */
    /* attention that reads what is added to its scores, heads to 64 numbers and beyond:
     * forward takes so many times as long, backward so many ps a score more; above 128
     * all of it takes so many ps a score, forward and backward */
    double masked_longer[2];
    double masked_more[2];
    double masked_widest[2];
    double fp32; /* TFLOP/s of the GPU that was measured */
};

struct sc__operator_constants sc__operator_constants(void);

/* How many times as long as there plain instructions take. */
double sc__operators_slower(const struct sc__operator_constants *c,
                            const struct sc__gpu *gpu);

#endif
