/* train: the parts of the command that forecasts a whole run. */
#ifndef SC_COMMAND_TRAIN_H
#define SC_COMMAND_TRAIN_H

#include "command/job.h"
#include "command/recovery.h"
#include "train/goodput.h"

/* The step, simulated now or saved before. 0 where unknown. */
struct sc__train_step {
    double step_s;
    double tokens_per_s;
    double gpus;
    uint32_t dp;
    uint32_t replica_stride; /* GPUs from one replica to the next */
    uint32_t shard_replicas; /* replicas that hold one copy of the state together; 0: all */
    unsigned zero;
    double node_gpus;
    double watts;            /* of all GPUs */
    double usd_per_hour;     /* of one GPU */
    const char *gpu;         /* of a saved result; NULL: not known */
    double checkpoint_bytes; /* of a model */
    struct sc__job job;      /* of a model: for steps that differ from this one */
};

/* The run with one thing changed. */
struct sc__train_whatif {
    const char *key;
    const char *title;
    double ettr;
};

struct sc__train {
    struct sc__train_step step;
    struct sc__goodput_input in;
    const char *recovery; /* as given */
    const char *kind;     /* of checkpoints */
    double state_bytes;   /* 0: not needed */
    double transfer_s;    /* of it to or from the storage, 0: not needed */
    bool best_is_used;
    double best_interval_s;
    double price;  /* USD per GPU-hour, 0 = unknown */
    double carbon; /* g of CO2 per kWh, 0 = not asked for */
    double tokens; /* of the run, 0 = unknown */

    uint32_t seeds;
    struct sc__goodput *runs; /* the shortest first */
    double ettr;
    double closed; /* ETTR by the closed form, 0 where it does not hold */
    double failures;
    double time_share[SC__TIME_CAUSES];
    uint32_t spares_p99;
    struct sc__train_whatif *whatif; /* where asked for */
    uint32_t whatif_count;
};

/* The step of the inputs, the model or the saved result. */
sc_status sc__train_step_read(struct sc_request *req, struct sc__train_step *out);
/* How fast the job is with 1 … lost replicas, and with a slow GPU of each slow class:
 * steps of their own where there is a model, else by proportion and with a note. */
sc_status sc__train_paces(struct sc_request *req, struct sc__train *t);

/* The best interval of a run like this one; the whole run where no failure loses
 * work. */
double sc__train_best_interval(const struct sc__train *t,
                               const struct sc__goodput_input *in);
/* What single changes would bring, in t->whatif. After the runs. */
sc_status sc__train_whatif(struct sc_request *req, struct sc__train *t);

void sc__train_write_text(const struct sc__train *t,
                          const struct sc_context *ctx,
                          struct sc__buffer *out);
void sc__train_write_json(const struct sc__train *t,
                          const struct sc_context *ctx,
                          struct sc__buffer *out);
/* The page: the forecast, one run as it goes, and ETTR against the interval. */
sc_status sc__train_write_page(struct sc_request *req, const struct sc__train *t);
/* Wall time that this share of the runs does not exceed. */
double sc__train_wall(const struct sc__train *t, double share);
/* GPUs that are paid for: those of the job and the spares. */
double sc__train_paid_gpus(const struct sc__train *t);

#endif
