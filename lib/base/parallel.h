/* parallel: many independent pieces of work on a few threads. */
#ifndef SC_COMMAND_PARALLEL_H
#define SC_COMMAND_PARALLEL_H

#include <stdint.h>

/* one(self, i) for every i below count, on up to `threads` threads. Each call
 * opens a context of its own, so that its memory goes with it; what it leaves in
 * self must be its own or locked. */
void sc__parallel(unsigned threads,
                  uint32_t count,
                  void (*one)(void *self, uint32_t i),
                  void *self);

#endif
