/* placement: which GPU a rank runs on. Without a file rank r runs on GPU r.
 *
 * A rank file has one line a rank, in order of ranks: the GPU's number, or
 * node:slot. Blank lines and what follows # do not count. Open MPI's form
 * "rank 3=node07 slot=1" is read too; hosts are nodes in order of appearance. */
#ifndef SC_HARDWARE_PLACEMENT_H
#define SC_HARDWARE_PLACEMENT_H

#include "hardware/cluster.h"

/* Reads a rank file into cluster->gpu_of for `ranks` ranks. Every rank once,
 * no GPU twice, none outside the cluster. */
sc_status sc__placement_read(struct sc_context *ctx,
                             const char *path,
                             uint32_t ranks,
                             struct sc__cluster *cluster);

#endif
