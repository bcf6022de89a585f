/* ranks: the processes that mpirun or srun started together, and messages between them.
 * Open MPI is found when stepcast is built and loaded when a rank asks for it, so that
 * who runs one process alone needs none of it. */
#ifndef SC_BASE_RANKS_H
#define SC_BASE_RANKS_H

#include "base/context.h"
#include "base/text.h"

struct sc__ranks {
    uint32_t here; /* this process; 0 leads */
    uint32_t count;
    struct sc__ranks_library *library; /* NULL: one process alone */
};

/* count is 1 for a process alone. SC_USAGE where several were started and stepcast
 * cannot speak with them: each would do the work of all. */
sc_status sc__ranks_open(struct sc_context *ctx, struct sc__ranks *out);
/* Every rank must come to it. */
void sc__ranks_close(struct sc__ranks *r);

sc_status sc__ranks_send(struct sc_context *ctx,
                         const struct sc__ranks *r,
                         uint32_t to,
                         const void *bytes,
                         size_t count);
/* Waits for the next message, of any rank; its bytes are in the memory of ctx. */
sc_status sc__ranks_receive(struct sc_context *ctx,
                            const struct sc__ranks *r,
                            uint32_t *from,
                            struct sc__str *bytes);
/* One is there. */
bool sc__ranks_waiting(const struct sc__ranks *r);

#endif
