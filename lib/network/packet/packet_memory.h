/* packet_memory: transfers that run, in periods. A period begins with a transfer that meets
 * no other on a cable, takes in those that meet one of its own, and is over when none is
 * left.
 *
 * Its future depends on nothing but who began when. What was seen of it is kept by that
 * history, and a period that goes as one before is not simulated again; one that takes
 * another turn is simulated from its beginning up to there, and on from there. A transfer
 * by itself is looked up (packet_alone.h) and not simulated at all. */
#ifndef SC_NETWORK_PACKET_MEMORY_H
#define SC_NETWORK_PACKET_MEMORY_H

#include "network/packet/packet_alone.h"

/* A transfer of a kind and size. */
struct sc__packet_kind {
    const struct sc__packet_shape *shape;
    uint64_t bytes;   /* on the wire */
    double use;       /* see struct sc__packet_run */
    int64_t alone;    /* ns of its packets */
    int64_t doubt;    /* ns by which that may be wrong */
    int64_t software; /* ps that pass before them */
    uint32_t id;
    /* as the step has it, and how often */
    struct sc_transfer transfer;
    double times;
};

struct sc__packet_memory;

struct sc__packet_memory *sc__packet_memory_new(struct sc__packet_alone *a);
/* Call for every kind before it begins. */
void sc__packet_memory_know(struct sc__packet_memory *m, struct sc__packet_kind *k);
/* Begins at now, ps, no earlier than any before; user comes back at its end. */
void sc__packet_memory_begin(struct sc__packet_memory *m,
                             struct sc__packet_kind *k,
                             uint32_t user,
                             int64_t now);
/* When the next one ends, if that is by `limit`, up to which none begins unless one ends;
 * else INT64_MAX. */
sc_status sc__packet_memory_next(struct sc__packet_memory *m, int64_t limit, int64_t *when);
/* One that has ended by `to`; *found is false when there is none. */
sc_status
sc__packet_memory_end(struct sc__packet_memory *m, int64_t to, uint32_t *user, bool *found);
/* Gives its simulation back. */
void sc__packet_memory_free(struct sc__packet_memory *m);

#endif
