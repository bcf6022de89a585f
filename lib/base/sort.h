/* sort: a stable sort with a hand-over for the comparison, so that the order of
 * equals is the same with every C library. */
#ifndef SC_BASE_SORT_H
#define SC_BASE_SORT_H

#include <stddef.h>

void sc__sort(void *items,
              size_t count,
              size_t size,
              int (*compare)(const void *a, const void *b, void *self),
              void *self);
/* From the least to the largest. */
void sc__sort_doubles(double *values, size_t count);
/* Of two uint32_t, for qsort and bsearch. */
int sc__compare_u32(const void *a, const void *b);

#endif
