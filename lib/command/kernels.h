/* kernels: the two halves of the command: the kernels of a layer, and a table
 * of kernels timed row by row. */
#ifndef SC_COMMAND_KERNELS_H
#define SC_COMMAND_KERNELS_H

#include "command/command.h"
#include "hardware/kernel_table.h"

/* Mean, median and worst of errors, in %. */
struct sc__error_summary {
    double mean;
    double median;
    double p90;
    double worst;
    double bias;
    uint32_t count;
};

/* Times every row of the table and compares where it gives a time. */
sc_status
sc__kernels_table(struct sc_request *req, const struct sc__gpu *gpu, const char *path);

#endif
