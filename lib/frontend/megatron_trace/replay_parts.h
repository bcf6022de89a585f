/* replay_parts: what the files of the replay share. Read in this order:
 *
 *   replay.c           options, the job's cut
 *   replay_infer.c     the cut by the records, where nothing else says it
 *   replay_ranks.c     a file for every rank
 *   replay_check.c     do the ranks fit together
 *   replay_record.c    one record → operations
 *   replay_order.c     the order of the blocks: as traced, or 1F1B
 *   replay_estimate.c  medians for profiles
 *   replay_rendezvous.c  the same collective or message on several ranks
 *   replay_measured.c  records → timeline
 */
#ifndef SC_FRONTEND_MEGATRON_TRACE_REPLAY_PARTS_H
#define SC_FRONTEND_MEGATRON_TRACE_REPLAY_PARTS_H

#include "frontend/megatron_trace/replay.h"

/* Records of one iteration. */
struct sc__iteration {
    const struct sc__trace_rank *rank;
    const struct sc__trace_record *records;
    uint32_t count;
    bool given; /* a file tells it; else it is assumed equal to rank's */
};

/* Medians by place in the layer. */
struct sc__estimates {
    struct sc__map index; /* place → index + 1 */
    int64_t *median;
};

/* A collective or message as its ranks measured it: their rendezvous. */
struct sc__replay_rendezvous {
    int64_t least;      /* duration, ps: the pure cost */
    int64_t last_start; /* ns since the step began */
};

/* When an operation ran, on the clock of its node. */
struct sc__when {
    uint32_t rank;
    uint32_t batch;
    /* to_ns 0: never timed */
    int64_t from_ns;
    int64_t to_ns;
    int64_t ready_ns; /* since the step's start: the last of its peers came; or INT64_MIN */
};

struct sc__replay {
    struct sc_context *ctx;
    const struct sc__trace_set *set;
    struct sc__workload *w;
    struct sc__mesh traced; /* the job as it ran; w->mesh is the job as it is asked for */
    struct sc__iteration *ranks; /* by rank of the traced mesh */
    uint32_t iteration;          /* from 0 */
    bool measured_comm;
    bool scheduled; /* the order comes from 1F1B, not from the records */
    uint32_t micro_batches;
    int64_t host_gap;    /* ps */
    double nested_share; /* of the host gap, before nested calls */
    double stream_share; /* of the memory bandwidth that streaming kernels reach */
    double hbm;          /* bytes per second */
    uint64_t message;    /* bytes between stages */
    struct sc__estimates *estimates; /* profiles */
    struct sc__map rendezvous_index; /* key of a rendezvous → index + 1 */
    struct sc__replay_rendezvous *rendezvous;
    uint32_t rendezvous_count;
    uint32_t rendezvous_capacity;
    struct sc__timeline *timeline; /* the measured one, while it is being made; else NULL */
    struct sc__when when;          /* of the operation that is added next */
};

/* A stretch of a record between nested collectives that block. */
struct sc__replay_segment {
    /* NULL: the record's start, its end */
    const struct sc__trace_sub *before;
    const struct sc__trace_sub *after;
    /* to_ns 0: never timed */
    int64_t from_ns;
    int64_t to_ns;
    int64_t compute; /* ps */
};

/* replay.c */
sc_status sc__replay_open(struct sc__replay *r,
                          struct sc_context *ctx,
                          const struct sc__settings *settings,
                          const struct sc__trace_set *set);
struct sc__iteration sc__replay_iteration(const struct sc__trace_rank *rank,
                                          uint32_t iteration);
static inline uint32_t sc__replay_stage(const struct sc__replay *r, uint32_t rank) {
    return sc__mesh_coordinate(&r->traced, rank, SC__DIM_PP);
}

/* replay_infer.c: what the records say of the cut; false: they contradict each other. */
struct sc__inferred_cut {
    uint32_t pp;
    uint32_t stage_ranks; /* tp · dp */
    bool tensor;          /* tensor-parallel collectives take time: tp is more than 1 */
    bool stages_known;    /* pp follows from the records, and is no assumption */
    bool ranks_known;     /* so does stage_ranks */
};
bool sc__replay_infer(const struct sc__trace_set *set, struct sc__inferred_cut *cut);

/* replay_ranks.c */
sc_status sc__replay_ranks(struct sc__replay *r);

/* replay_check.c */
sc_status sc__replay_check(struct sc__replay *r);

/* replay_record.c */
/* The i-th segment; false past the last. Call with i = 0, 1, 2 … and the same out. */
bool sc__replay_segment(const struct sc__trace_rank *rank,
                        const struct sc__trace_record *rec,
                        uint32_t i,
                        struct sc__replay_segment *out);
/* Adds a record's operations to the open block; message records are replay_order.c's. */
void sc__replay_record(struct sc__replay *r,
                       uint32_t rank,
                       const struct sc__trace_record *rec,
                       uint32_t *ordinals);
void sc__replay_host(struct sc__replay *r, enum sc__phase phase, int64_t cost);
enum sc__phase sc__replay_phase(uint8_t kind);
enum sc__group_kind sc__replay_group(uint8_t kind);

/* replay_order.c */
void sc__replay_traced(struct sc__replay *r);
void sc__replay_scheduled(struct sc__replay *r);
/* As traced, but classes only for the ranks that have a file. */
void sc__replay_given(struct sc__replay *r);

/* replay_measured.c: the operation added last ran at r->when. */
void sc__replay_span(struct sc__replay *r);

/* replay_estimate.c */
void sc__replay_estimate(struct sc__replay *r);
int64_t sc__replay_estimated(const struct sc__replay *r,
                             const struct sc__iteration *it,
                             const struct sc__trace_record *rec,
                             const struct sc__replay_segment *s);

/* replay_rendezvous.c: ordinals counts the collectives of one rank by group kind. */
#define SC__REPLAY_GROUPS (SC__GROUP_LIST + 1)
void sc__replay_collect_rendezvous(struct sc__replay *r);
const struct sc__replay_rendezvous *sc__replay_find_rendezvous(const struct sc__replay *r,
                                                               uint64_t key);
uint64_t sc__replay_collective_key(const struct sc__replay *r,
                                   uint32_t rank,
                                   uint8_t group,
                                   uint32_t ordinal);
uint64_t sc__replay_message_key(const struct sc__replay *r,
                                uint32_t rank,
                                const struct sc__trace_record *rec);
/* ns of the rank's clock at which its step began. */
int64_t sc__replay_origin(const struct sc__replay *r, uint32_t rank);
/* The rank at the other end of a message record. */
uint32_t sc__replay_peer(const struct sc__replay *r, uint32_t rank, uint8_t kind);

#endif
