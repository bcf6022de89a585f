/* pipeline_replay: how long a pipeline takes at least, by the least times of its
 * blocks. */
#ifndef SC_LOWER_PIPELINE_REPLAY_H
#define SC_LOWER_PIPELINE_REPLAY_H

#include "lower/pipeline.h"

/* Nothing computes beside what else runs: a collective holds the compute stream, or it
 * waits for one on another stream, which is over no later where compute was slower. */
struct sc__block_pause {
    int64_t at; /* from the start of the block */
    int64_t length;
    bool waits;
};
enum { SC__BLOCK_PAUSES = 16 };

struct sc__block_cost {
    int64_t least; /* ps on the compute stream */
    int64_t alone; /* before this, counted from its start, no transfer of its own slows
                      compute down */
    uint32_t pauses;
    struct sc__block_pause pause[SC__BLOCK_PAUSES];
    /* The exchange of experts that is waited for in a block behind: whether the block has
     * any or waits for it; until when its own run, from its start; and from the end of
     * what ran when it began to its own end, and to that of its exchange.
     * SC__BLOCK_NEVER: it does not depend on that. */
    bool exchanges;
    int64_t exchange_end;
    int64_t exchange_to_end;
    int64_t exchange_through;
};
#define SC__BLOCK_NEVER (INT64_MIN / 4)

/* Blocks of a chunk of a stage; the first and the last micro-batch may do more. */
struct sc__chunk_costs {
    struct sc__block_cost forward;
    struct sc__block_cost forward_first;
    struct sc__block_cost backward;
    struct sc__block_cost backward_last;
    struct sc__block_cost wgrad;
    struct sc__block_cost wgrad_last;
};

struct sc__pipeline_costs {
    enum sc__schedule schedule;
    uint32_t pp;
    uint32_t vpp;
    uint32_t micro_batches;
    uint32_t run; /* as of the pipeline */
    struct sc__turns turns;
    bool overlap; /* receives are posted ahead */
    double tax;   /* compute is slower by this share while a transfer of its rank runs */
    bool exchange_taxes;                  /* the exchange of experts is such a transfer */
    const struct sc__chunk_costs *chunks; /* by stage · vpp + chunk */
    const int64_t *message; /* by stage: to the next; of the last: to the first */
    const int64_t *after;   /* by stage: what its step ends with */
    /* by stage: the order, where it depends on times (sc__pipeline_order); else NULL */
    struct sc__slot **slots;
};

/* How a replay went, by stage: its slots, and when each ended, with its exchange. */
struct sc__replay_ends {
    struct sc__slot **slots;
    uint32_t *count;
    int64_t **ends;
};

/* It is worth it: not very many passes. */
bool sc__pipeline_replays(uint32_t pp, uint32_t vpp, uint32_t micro_batches);
/* ps. 0 where nothing is known: very many micro-batches. ends: NULL if they are not
 * wanted. */
int64_t sc__pipeline_replay(struct sc__arena *arena,
                            const struct sc__pipeline_costs *p,
                            struct sc__replay_ends *ends);

#endif
