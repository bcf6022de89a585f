/* parallel: many independent pieces of work on a few threads. */
#ifndef SC_COMMAND_PARALLEL_H
#define SC_COMMAND_PARALLEL_H

#include "base/context.h"

/* one(self, i) for every i below count, on up to ctx->jobs threads. Each call
 * opens a context of its own, so that its memory goes with it; what it leaves in
 * self must be its own or locked. The listener of ctx is told of `what`, from this
 * thread alone. SC_CANCELLED when it says so: what was not begun by then is left out. */
sc_status sc__parallel(struct sc_context *ctx,
                       const char *what,
                       uint32_t count,
                       void (*one)(void *self, uint32_t i),
                       void *self);

/* The same as a part of longer work: the listener is told of shares between from and
 * to. */
sc_status sc__parallel_part(struct sc_context *ctx,
                            const char *what,
                            double from,
                            double to,
                            uint32_t count,
                            void (*one)(void *self, uint32_t i),
                            void *self);

#endif
