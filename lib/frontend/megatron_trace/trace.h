/* trace: what the ranks of one measured job did, record by record, as their
 * files tell it. frontend/megatron_trace/megatron_trace_read.c reads it,
 * frontend/megatron_trace/replay.c turns it into a workload (what would run) and a timeline
 * (what ran).
 *
 *   set ── facts (how the job was cut)
 *    └─ ranks     one file each
 *        └─ records   operations of the rank, one after another
 *            └─ subs     collectives inside a record
 */
#ifndef SC_FRONTEND_MEGATRON_TRACE_TRACE_H
#define SC_FRONTEND_MEGATRON_TRACE_TRACE_H

#include "workload/workload.h"

enum sc__trace_kind {
    SC__TRACE_GET_BATCH,
    SC__TRACE_FORWARD,
    SC__TRACE_LOSS,
    SC__TRACE_BACKWARD,
    SC__TRACE_RECV_FORWARD,
    SC__TRACE_SEND_FORWARD,
    SC__TRACE_RECV_BACKWARD,
    SC__TRACE_SEND_BACKWARD,
    SC__TRACE_DP_ALLREDUCE,
    SC__TRACE_EMBEDDING_ALLREDUCE,
    SC__TRACE_EXPERT_ALLREDUCE,
    SC__TRACE_POSITION_ALLREDUCE,
    SC__TRACE_OPTIMIZER,
    SC__TRACE_KINDS
};

enum sc__trace_state {
    SC__STATE_NONE,
    SC__STATE_WARMUP,
    SC__STATE_HELP,
    SC__STATE_STEADY,
    SC__STATE_COOLDOWN,
    SC__STATE_FINALIZE,
    SC__STATES
};

/* A collective inside a record. */
struct sc__trace_sub {
    uint8_t coll;     /* enum sc__coll */
    uint8_t group;    /* enum sc__group_kind */
    bool async;       /* overlaps the compute around it: its duration is not its own */
    uint32_t name;    /* in set.names */
    int64_t duration; /* ps; -1: not measured */
    int64_t end_ns;   /* clock of its node; 0: never timed */
    uint64_t bytes;
};

struct sc__trace_record {
    uint8_t kind;  /* enum sc__trace_kind */
    uint8_t state; /* enum sc__trace_state */
    bool fused;    /* one exchange with the record before it: the same time, told twice */
    uint32_t batch;
    uint32_t line;
    /* in rank.subs */
    uint32_t first_sub;
    uint32_t subs;
    int64_t duration; /* ps; -1: none (plans) */
    int64_t end_ns;   /* clock of its node; 0: never timed */
    uint64_t bytes;
};

/* What a file name or a directory name tells; 0: nothing. */
struct sc__trace_facts {
    uint32_t world;
    uint32_t tp;
    uint32_t pp;
    uint32_t dp;
    uint32_t ep;
    uint32_t experts;
    uint32_t layers;
    uint32_t micro_batch;
    uint32_t hidden;
    uint32_t sequence;
    uint32_t rank;  /* with has_rank */
    uint64_t stamp; /* YYYYmmddHHMMSS as a number */
    bool has_rank;
};

struct sc__trace_rank {
    const char *file;
    uint32_t rank;
    uint32_t stage;
    struct sc__trace_facts facts;
    struct sc__trace_record *records;
    uint32_t record_count;
    struct sc__trace_sub *subs;
    uint32_t iterations; /* an iteration ends with optimizer_step */
    bool profile;        /* one micro-batch of one rank alone, no messages */
    bool plan;           /* no times at all */
};

struct sc__trace_set {
    struct sc__trace_rank *ranks; /* of the chosen run, ordered by rank */
    uint32_t rank_count;
    struct sc__trace_rank
        *samples; /* profiles: further runs of the same job, for the estimator */
    uint32_t sample_count;
    uint32_t runs; /* found in the input */
    struct sc__trace_facts facts;
    bool single; /* the input was one file */
    bool profile;
    bool plan;
    struct sc__names names;
};

/* "forward_step" …: by kind, then exp_dp_allreduce and ddp_grad_comm, which
 * newer and other traces say for kinds that have a name already; NULL. */
extern const char *const sc__trace_names[];
static inline bool sc__trace_is_message(uint8_t kind) {
    return kind >= SC__TRACE_RECV_FORWARD && kind <= SC__TRACE_SEND_BACKWARD;
}
static inline bool sc__trace_is_reduction(uint8_t kind) {
    return kind >= SC__TRACE_DP_ALLREDUCE && kind <= SC__TRACE_EXPERT_ALLREDUCE;
}
/* When a record began, ns of its node's clock; meaningless where it was never timed. */
static inline int64_t sc__trace_start_ns(int64_t end_ns, int64_t duration) {
    return end_ns - duration / 1000;
}

#endif
