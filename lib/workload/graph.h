/* graph: building graph blocks from edges that come in any order, and finding
 * cycles in them. */
#ifndef SC_WORKLOAD_GRAPH_H
#define SC_WORKLOAD_GRAPH_H

#include "workload/workload.h"

/* Operation `op` of the block waits for `dep` (SC__DEP_START may be set). */
struct sc__edge {
    uint32_t op;
    uint32_t dep;
};

/* Makes the edges the dependencies of the block's operations. SC__NONE, or an
 * operation that has more than 65535. */
uint32_t sc__block_set_edges(struct sc__workload *w,
                             uint32_t block,
                             const struct sc__edge *edges,
                             uint32_t count);

/* An operation of the block (index in the block) that waits for itself, round
 * about; SC__NONE when there is none. */
uint32_t sc__block_cycle(const struct sc__workload *w, uint32_t block);

/* One class a rank, named after it, each running one block. */
void sc__workload_rank_classes(struct sc__workload *w,
                               uint32_t ranks,
                               const uint32_t *block_of_rank);

/* The names of another workload, under the same ids. */
void sc__workload_copy_names(struct sc__workload *w, const struct sc__workload *from);

#endif
