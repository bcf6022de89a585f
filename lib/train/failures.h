/* failures: what breaks, how often, how long it takes to notice and to repair.
 * A set is a file of data/failures/ or the user's, docs/formats/failures.md. */
#ifndef SC_TRAIN_FAILURES_H
#define SC_TRAIN_FAILURES_H

#include "base/base.h"

#define SC__DAY_S 86400.0
#define SC__HOUR_S 3600.0

/* What stops at once; also the unit that a rate is of. */
enum sc__failure_scope {
    SC__SCOPE_GPU,
    SC__SCOPE_NODE,
    SC__SCOPE_RACK,
    SC__SCOPE_SWITCH, /* the GPUs under one switch */
    SC__SCOPE_JOB     /* software: no machine is lost */
};

enum sc__failure_symptom {
    SC__SYMPTOM_CRASH,
    SC__SYMPTOM_HANG,  /* noticed by a timeout */
    SC__SYMPTOM_SLOW,  /* the job goes on at the pace of the slow one */
    SC__SYMPTOM_SILENT /* what is computed until it is noticed is lost */
};

struct sc__failure_class {
    const char *name;
    unsigned scope;   /* enum sc__failure_scope */
    unsigned symptom; /* enum sc__failure_symptom */
    double per_day;   /* of one unit of the scope */
    double detect_s;
    double locate_s; /* from "something is wrong" to the machine */
    double repair_s; /* until the unit is back */
    double slowdown; /* of a slow GPU: its kernels take this much longer; else 1 */
    /* of links that have lost capacity: "LINK=FACTOR" …, NULL-terminated; else NULL */
    const char *const *degrade;
};

/* Seconds by the number of GPUs of the job, growing. */
struct sc__restart_ladder {
    double *gpus;
    double *seconds;
    uint32_t count;
};

struct sc__failure_set {
    const char *name;
    const char *title;
    const char *source;
    double unit_gpus[SC__SCOPE_JOB]; /* GPUs of a GPU, node, rack, switch; 0 = unknown */
    struct sc__restart_ladder requeue;
    struct sc__restart_ladder hot;
    struct sc__failure_class *classes;
    uint32_t class_count;
};

/* A name of data/failures/, or a file. */
sc_status sc__failures_load(struct sc_context *ctx,
                            const char *name,
                            const struct sc__failure_set **out);
sc_status sc__failures_read(struct sc_context *ctx,
                            const char *path,
                            const struct sc__failure_set **out);

/* Failures of a class per second in a job of this many GPUs. */
double sc__failure_rate(const struct sc__failure_set *set,
                        const struct sc__failure_class *c,
                        double gpus);
/* Machines that a failure of the class takes away: 0 for software. */
uint32_t sc__failure_machines(const struct sc__failure_set *set,
                              const struct sc__failure_class *c);
/* Seconds of a ladder: linear in the logarithm of the GPUs between two rungs and
 * beyond the last one; the first rung below it. */
double sc__restart_seconds(const struct sc__restart_ladder *l, double gpus);

#endif
