/* plans: what the parts of the command share. */
#ifndef SC_COMMAND_PLANS_H
#define SC_COMMAND_PLANS_H

#include "command/job.h"
#include "search/search.h"

struct sc__plans {
    struct sc_request *req;
    struct sc__setting_list given; /* the request's options, for all threads */
    struct sc__job job;            /* model, plan and options as given */
    double tokens;                 /* of a run; 0: not asked for */
    double days;                   /* it may take; 0: any */
    double checkpoint_bytes;       /* with goodput: of the last machine */
    bool batch_assumed;            /* nobody gave one: commands name it */
    struct sc__search search;
    /* Of several machines those that the best families leave out: each with its best
     * plan. */
    struct sc__search *others;
    uint32_t other_count;
};

/* --cluster, --sizes, --price, --failures: the machines of the search. */
sc_status sc__plans_machines(struct sc__plans *x);
/* The next of several clusters, or NULL. */
const char *sc__plans_next_cluster(struct sc__arena *arena, struct sc__str *rest);
/* Days of the run with a plan, failures included where they were asked for. */
double sc__plans_days(const struct sc__plans *x, const struct sc__search_plan *p);

/* The columns of costs are of interest. */
bool sc__plans_has_costs(const struct sc__plans *x);
/* An option as one types it, behind a blank; self: a buffer. */
void sc__plans_put_option(void *self, const char *name, const char *text);
/* --write-launch: the best plan as a script of Megatron-LM. */
sc_status sc__plans_write_launch(const struct sc__plans *x);
/* NULL, or how what a launch file says differs from the plan it was written of. */
const char *sc__plans_read_back(const struct sc__plans *x,
                                const struct sc__plan *written,
                                const char *path,
                                struct sc__str text);
void sc__plans_put_text(const struct sc__plans *x, struct sc__buffer *out);
void sc__plans_put_json(const struct sc__plans *x, struct sc__buffer *out);
/* --html: the plans by time and memory. */
sc_status sc__plans_write_page(const struct sc__plans *x);

/* plans_trainers.c: NULL, or what the configuration cannot say. */
const char *sc__plans_put_torchtitan(const struct sc__plans *x,
                                     const struct sc__plan *p,
                                     const char *order,
                                     struct sc__buffer *out);
const char *sc__plans_put_deepspeed(const struct sc__plans *x,
                                    const struct sc__plan *p,
                                    const char *order,
                                    struct sc__buffer *out);

#endif
