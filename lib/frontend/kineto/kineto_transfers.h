/* kineto_transfers: what collectives took without their waiting. A kernel of NCCL lasts
 * from its launch to the end of the transfer; the rank that came last did not wait, so the
 * least duration on any rank is the transfer's. */
#ifndef SC_IMPORT_KINETO_TRANSFERS_H
#define SC_IMPORT_KINETO_TRANSFERS_H

#include "base/hash.h"
#include "workload/timeline.h"
#include "workload/workload.h"

struct sc__kineto_transfer {
    uint64_t members;       /* of the workload's group; the same on all its ranks */
    uint64_t collective;    /* with its number: the same on all its ranks, but for what two
                               process groups of the same ranks both have */
    uint64_t process_group; /* by its name; 0: it has none */
    int64_t seq;            /* its number in that, or -1 */
    int64_t duration;       /* ns */
    uint32_t rank;          /* in the order they are looked at */
    uint32_t op;
    uint32_t span; /* of the measured timeline */
};

struct sc__kineto_transfers {
    struct sc__arena *arena;
    struct sc__map met; /* group → its collectives on the rank that is looked at */
    uint32_t rank;
    uint32_t shifted; /* groups that begin with another number on a later rank */
    struct sc__kineto_transfer *items;
    uint32_t count;
    uint32_t capacity;
};

void sc__kineto_transfers_init(struct sc__kineto_transfers *x, struct sc__arena *arena);
/* The collectives that follow are those of another rank. */
void sc__kineto_transfers_next_rank(struct sc__kineto_transfers *x);
/* The operation added last, a collective of the group that begins with this rank, took so
 * long; process_group: its name, or NULL; seq: its number in the group, or -1 where its
 * place in the step tells it. */
void sc__kineto_transfer_add(struct sc__kineto_transfers *x,
                             const struct sc__workload *w,
                             uint32_t first_rank,
                             const char *process_group,
                             int64_t seq,
                             int64_t duration,
                             uint32_t span);
/* Once all ranks are there: operations that keep their measured times take the transfer's,
 * and what a kernel lasted before it was waiting. */
void sc__kineto_transfers_settle(struct sc__kineto_transfers *x,
                                 struct sc__workload *w,
                                 struct sc__timeline *measured);

#endif
