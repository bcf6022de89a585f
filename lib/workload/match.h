/* match: who communicates with whom in a workload of graph blocks with one class
 * a rank.
 *
 * The k-th send from a to b with a tag is matched with the k-th receive of b
 * from a with that tag; the k-th collective of a group on one rank with the k-th
 * on every other member. Order is that of the program, so the answer does not depend on
 * timing, and a mistake is found before anything runs.
 *
 * workload.match holds, by operation: for a send or receive its partner, for a
 * collective the number of its rendezvous (equal on all members). SC__NONE: no
 * transfer, or a message to a rank that receives from anyone, which only the
 * run can match. */
#ifndef SC_WORKLOAD_MATCH_H
#define SC_WORKLOAD_MATCH_H

#include "workload/workload.h"

enum sc__mismatch_kind {
    SC__MATCH_FINE,
    SC__MATCH_NO_RECV,    /* a send nobody receives */
    SC__MATCH_NO_SEND,    /* a receive nobody sends to */
    SC__MATCH_SIZE,       /* the receive has another size (exact) or is too small */
    SC__MATCH_NOT_MEMBER, /* a rank calls a collective of a group it is not in */
    SC__MATCH_MISSING,    /* a member does not call this collective */
    SC__MATCH_OTHER       /* a member calls another kind or size in its place */
};

struct sc__mismatch {
    enum sc__mismatch_kind kind;
    uint32_t op; /* the operation without a match */
    uint32_t rank;
    uint32_t peer_op; /* what it found instead, or SC__NONE */
    uint32_t peer_rank;
    uint32_t nth; /* collectives: the how-many-eth of the group */
};

/* Fills w->match and *rendezvous; false with the first mistake in *bad. exact:
 * a receive must have the size of its send, not only room for it. */
bool sc__workload_match(struct sc__workload *w,
                        bool exact,
                        uint32_t *rendezvous,
                        struct sc__mismatch *bad);

/* The one block of a rank's program. */
const struct sc__block *sc__rank_block(const struct sc__workload *w, uint32_t rank);

#endif
