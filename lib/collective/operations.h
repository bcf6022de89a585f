/* operations: operations as nccl-tests names and counts them, and measured
 * rows of them. */
#ifndef SC_COLLECTIVE_OPERATIONS_H
#define SC_COLLECTIVE_OPERATIONS_H

#include "hardware/cluster.h"
#include "workload/workload.h"

struct sc__coll_op {
    const char *name; /* "all_reduce" */
    int coll;         /* enum sc__coll; SC__COLLS: send/receive to the next rank */
    const char *redop;
};

/* "all_reduce", "allreduce" or "all_reduce_perf"; NULL when there is no such. */
const struct sc__coll_op *sc__coll_op_find(const char *name);
/* busbw / algbw on n ranks. */
double sc__coll_bus_factor(const struct sc__coll_op *op, uint32_t n);
struct sc__coll_cost sc__coll_op_cost(const struct sc__cluster *c,
                                      const struct sc__coll_op *op,
                                      const struct sc__shape *shape,
                                      uint64_t bytes);

/* A measured row. */
struct sc__sample {
    const struct sc__coll_op *op;
    struct sc__cluster *cluster; /* as run */
    struct sc__shape shape;
    uint64_t bytes;
    double us;       /* measured */
    double model_us; /* predicted */
    uint32_t source; /* which log or publication */
};

struct sc__samples {
    struct sc__sample *items;
    uint32_t count;
    uint32_t capacity;
};

/* A table of an nccl-tests log: its rows, and what was told before it (0 and NULL where
 * nothing was). */
struct sc__coll_log_row {
    uint64_t bytes;
    double us; /* out of place */
    double algbw;
    double busbw;
    uint32_t line;
    bool unreduced; /* its redop is "none" */
    bool wrong;     /* the test counted elements that were not what they should be */
};

struct sc__coll_log_table {
    const struct sc__coll_op *op;
    const char *unknown; /* name of a test whose operation is none of ours */
    uint32_t ranks;
    uint32_t nodes;
    uint32_t gpus_per_process;
    uint32_t line; /* of its first row */
    struct sc__coll_log_row *rows;
    uint32_t count;
    uint32_t capacity;
};

struct sc__coll_log {
    struct sc__coll_log_table *tables;
    uint32_t count;
    uint32_t capacity;
};

sc_status
sc__coll_log_read(struct sc_context *ctx, const char *path, struct sc__coll_log *out);
/* The GPUs of a table by what its bandwidths say, now that its operation is known. */
void sc__coll_log_ranks(struct sc_context *ctx,
                        const char *path,
                        struct sc__coll_log_table *t);

/* --- calibration --------------------------------------------------------- */

/* A constant that may move, or several together: every place that holds one, in all
 * clusters that share it. */
struct sc__fit_place {
    double *at;
    double start;
};

struct sc__fit_param {
    const char *name;
    unsigned index;
    struct sc__fit_place *places;
    uint32_t count;
    uint32_t capacity;
    bool added; /* the value is added to its starts, not a factor on them */
    double low; /* of the value */
    double high;
    double value;
    double step;
};

struct sc__coll_fit {
    struct sc__fit_param *params;
    uint32_t count;
    uint32_t capacity;
    double
        prior; /* weight of (ln value/start)², so that what the data do not decide stays */
    uint32_t sweeps; /* at most; 0 = many */
};

/* A parameter without places; low and high bound the factor, or what is added. */
struct sc__fit_param *sc__fit_param_new(struct sc__arena *arena,
                                        struct sc__coll_fit *fit,
                                        const char *name,
                                        bool added,
                                        double low,
                                        double high);
void sc__fit_place_add(struct sc__arena *arena, struct sc__fit_param *p, double *at);
/* Adds the place to the parameter (scope, constant, index), made when new. */
void sc__fit_add(struct sc__arena *arena,
                 struct sc__coll_fit *fit,
                 const char *scope,
                 const struct sc__constant *k,
                 unsigned index,
                 struct sc__constants *constants);
/* Every constant as it was before. */
void sc__fit_restore(struct sc__coll_fit *fit);
/* Moves the parameters to least squares of ln(predicted/measured) over the
 * samples whose source is not `without`. Deterministic. */
void sc__fit_run(struct sc__coll_fit *fit, struct sc__samples *samples, uint32_t without);
void sc__samples_predict(struct sc__samples *samples);
/* Root mean square of ln(predicted/measured). */
double sc__samples_residual(const struct sc__samples *samples);

/* --- truth --------------------------------------------------------------- */

/* The rows of a table like data/truth/collectives.csv that have GPUs, size and
 * time; each with the cluster it was measured on. *sources: their names, one for all
 * tables of one system. */
sc_status sc__truth_read(struct sc_context *ctx,
                         const char *path,
                         struct sc__samples *out,
                         struct sc__names *sources,
                         uint32_t *skipped);

#endif
