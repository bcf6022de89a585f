/* simulate: runs a workload on a network engine and accounts for every
 * picosecond of every class. */
#ifndef SC_SIMULATE_SIMULATE_H
#define SC_SIMULATE_SIMULATE_H

#include "network/engine.h"
#include "workload/pace.h"
#include "workload/timeline.h"

/* Where a class's time went; the parts add up to the step exactly.
 * exposed is by group index of the workload, with one more at the end for
 * point-to-point messages. */
struct sc__account {
    int64_t compute;
    int64_t recompute;
    int64_t bubble;
    int64_t skew;
    int64_t other;
    int64_t *exposed;
};

/* What went through a group (or between stages), of one rank of the class. */
struct sc__traffic {
    uint64_t ops;
    uint64_t bytes;
    int64_t busy; /* transfer time, overlapped or not */
};

struct sc__class_result {
    int64_t end;  /* when its last operation ended */
    int64_t lead; /* how long it waited before its first message: it could have begun that
                     much later */
    struct sc__account account;
    struct sc__traffic *traffic; /* like exposed */
    int64_t work[SC__WORKS];     /* compute time by kind of work */
};

struct sc__sim {
    int64_t step;    /* the step's time, ps */
    bool cut;        /* it is longer than the limit; nothing else is known */
    int64_t overlap; /* how much longer one step alone takes, where steps overlap */
    struct sc__class_result *classes;
    struct sc__timeline *timeline; /* NULL unless asked for */
    uint64_t events;               /* that were processed */
    uint64_t skipped; /* that were in periods added whole (docs/model/executor.md) */
};

struct sc__sim_options {
    bool keep_timeline;
    bool no_skip; /* every period is simulated: the result is the same, and slower */
    double compute_scale; /* 0 = 1 */
    /* Compute is slower by this share while a transfer of its rank runs; 0: as the workload
     * has it, negative: not at all. */
    double comm_tax;
    /* With a pace: a run that is known to take longer than `limit`, ps, is not ended. */
    const struct sc__pace *pace;
    int64_t limit;
};

/* A deadlock is SC_INPUT, with who waits for whom. Every simulation, of several
 * jobs and of graphs too, ends with sc__sim_check. */
sc_status sc__simulate(struct sc_context *ctx,
                       const struct sc__workload *w,
                       const struct sc__net *net,
                       const struct sc__sim_options *options,
                       struct sc__sim *out);

/* Conservation: the parts of every class's account add up to the step, and none
 * is negative. SC_SYSTEM where they do not: a defect, of the executor or of a
 * network engine. */
sc_status sc__sim_check(struct sc_context *ctx,
                        const struct sc__workload *w,
                        const struct sc__sim *sim);

/* Several jobs at once on a network that knows them (sc__net_flow_job), in the
 * order they were made known to it; out has one for each. */
sc_status sc__simulate_jobs(struct sc_context *ctx,
                            const struct sc__workload *const *w,
                            uint32_t count,
                            const struct sc__net *net,
                            const struct sc__sim_options *options,
                            struct sc__sim *out);

/* The workload is one of graph blocks: one class a rank, one block a class. */
bool sc__workload_is_graph(const struct sc__workload *w);

#endif
