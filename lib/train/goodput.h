/* goodput: how much of a run's time counts. Failures arrive at a constant rate
 * (exponential times), also while the job recovers; a failure then begins the
 * recovery anew.
 *
 *    work Δ   w  work Δ   w  work   × failure
 *   ├────────┼──┼────────┼──┼──────×┼ detect ┼ locate ┼ restart ┼ restore ┼────────┼ …
 *                           └ lost ┘
 *
 *   goodput_closed.c   the expectation, where every failure stops the job: exact
 *   goodput_sim.c      event by event, for all policies
 *
 * ETTR (effective training time ratio) is productive time over wall time. Times
 * are seconds. */
#ifndef SC_TRAIN_GOODPUT_H
#define SC_TRAIN_GOODPUT_H

#include "train/failures.h"

enum sc__recovery {
    SC__RECOVERY_REQUEUE, /* every failure: the whole job through the queue */
    SC__RECOVERY_HOT,     /* software restarts in place; lost machines: requeue */
    SC__RECOVERY_SPARES,  /* standby machines: restart in place while there are some */
    SC__RECOVERY_DROP,    /* lost machines: their replica is left out until others come */
    SC__RECOVERY_SHRINK   /* the same by a restart of the smaller job, and one to grow */
};

/* Replicas, or parts of several, that may be missing at once; with more the job waits. */
#define SC__MOST_LOST 4

/* A run as it goes: at each failure, and at its end, how much is done. */
struct sc__goodput_point {
    double at_s;
    double done_s;  /* productive time that counts */
    uint32_t class; /* of the failure; class_count at the end */
};

struct sc__goodput_track {
    struct sc__goodput_point *points;
    uint32_t count;
    uint32_t capacity;
};

struct sc__goodput_input {
    const struct sc__failure_set *set;
    double gpus;
    double work_s; /* the run without any loss */

    double interval_s; /* productive time between checkpoints */
    double blocking_s; /* the job stands still for each */
    double write_s;    /* behind its back, until a checkpoint counts; at most
                          interval + blocking */
    double restore_s;

    unsigned recovery; /* enum sc__recovery */
    uint32_t spares;   /* machines */
    /* Of the throughput of the whole job: with 1 … parts of it lost, each of one
     * replica or of several that go together; 0 beyond what can be run. */
    double lost_replicas[SC__MOST_LOST];
    double part_gpus;         /* of such a part; 0: a failure takes one, however large */
    const double *slow_share; /* by class, of those that are slow: their pace */
    struct sc__goodput_track *track; /* or NULL: the run is not kept */
};

/* Where wall time goes; the sum is the wall time. */
enum sc__goodput_cause {
    SC__TIME_PRODUCTIVE,
    SC__TIME_CHECKPOINT, /* blocked by checkpoints */
    SC__TIME_REWORK,     /* done since the last checkpoint that counts, lost */
    SC__TIME_DETECT,
    SC__TIME_LOCATE,
    SC__TIME_WAIT, /* for machines to be repaired */
    SC__TIME_RESTART,
    SC__TIME_RESTORE,
    SC__TIME_DEGRADED, /* what slow GPUs and missing replicas cost */
    SC__TIME_CAUSES
};
extern const char *const sc__goodput_causes[];

/* A run of which less counts does not get on. */
#define SC__LEAST_ETTR 0.01

struct sc__goodput {
    double ettr;
    double wall_s;
    double time_s[SC__TIME_CAUSES];
    uint64_t failures;
    bool unfinished; /* given up: the run makes no progress */
};

/* Failures per second, of all classes. */
double sc__goodput_rate(const struct sc__goodput_input *in);
/* … of those that lose what was done since the last checkpoint: not slow GPUs, nor
 * what leaves the other replicas alone. */
double sc__goodput_losing_rate(const struct sc__goodput_input *in);
/* Seconds from a failure of the class until the job runs, spares permitting. */
double sc__goodput_recovery(const struct sc__goodput_input *in,
                            const struct sc__failure_class *c);
double sc__goodput_restart(const struct sc__goodput_input *in,
                           const struct sc__failure_class *c);

/* The closed form holds: no slow class, no spares that may run out, no replica
 * left out. */
bool sc__goodput_is_closed(const struct sc__goodput_input *in);
/* Expected ETTR of a long run, where nothing fails that of the run; only where it holds. */
double sc__goodput_closed(const struct sc__goodput_input *in);
/* The interval with the highest ETTR, by the closed form: it does not depend on how
 * long recoveries take. rate: of failures that lose work; 0 where there are none and
 * no checkpoint is best. */
double sc__best_interval(double rate, double blocking_s, double write_s);
/* Machines that are under repair at once, at most, in 99 % of the time. */
uint32_t sc__spares_p99(const struct sc__goodput_input *in);

/* One run. */
void sc__goodput_simulate(const struct sc__goodput_input *in,
                          uint64_t seed,
                          struct sc__arena *arena,
                          struct sc__goodput *out);
/* Runs of seeds 1 … count on the context's threads, in the order of the seeds. */
sc_status sc__goodput_seeds(struct sc_context *ctx,
                            const struct sc__goodput_input *in,
                            uint32_t count,
                            struct sc__goodput *out);

#endif
