/* evaluate: model, plan and cluster → workload → simulated step → result. The one
 * way there is: run, plans, validate, gen, what-if and the public sc_evaluate all
 * go through here.
 *
 *   sc__evaluation_model      model + plan ─┐
 *   sc__evaluation_workload   an input ─────┴→ workload on its cluster, changed as
 *                                              the options say
 *   sc__evaluation_run        → network engine → simulation → result */
#ifndef SC_EVALUATE_EVALUATE_H
#define SC_EVALUATE_EVALUATE_H

#include "frontend/reader.h"
#include "lower/model.h"
#include "model/model.h"
#include "plan/plan.h"
#include "result/result.h"

/* What is evaluated, and how. All of it belongs to the caller and is only read. */
struct sc__evaluation_input {
    /* NULL: the usual one of the GPU (sc__cluster_usual), of the job's size. */
    const struct sc__cluster_description *cluster;
    const char *gpu; /* what the kernels are of, where the cluster is NULL and it is said */
    const sc_options *options;
    /* Options of the network engine: --fail, --route, --loggops … */
    struct sc__settings engine;
    /* Where the plan came from options: the options, to name those without effect. */
    const struct sc__settings *plan_options;
    /* An entry of the software's profile that is left out: its number + 1; 0: none. */
    uint32_t without;
};

/* Lives where it is made: the engine and the result point into it. */
struct sc__evaluation {
    struct sc__evaluation_input in;
    struct sc__cluster cluster; /* of the job's size, tuned as the options say */
    struct sc__plan plan;       /* of a model */
    sc_plan settings;           /* the same, as the public structure */
    sc_options options;         /* as given, and filled by the software's profile */
    const sc_options *given_options;
    struct sc__result_model model;
    bool has_experts;
    bool software_said; /* and not assumed */
    bool from_model;
    struct sc__workload *workload;
    struct sc__net net;
    struct sc__sim_options sim_options;
    struct sc__sim sim;
    struct sc__result result;
};

/* The options of every evaluation: --cluster, --net, --slow … */
extern const struct sc__option sc__job_options[];
/* Of every command that may take much: read before it begins (command.c). */
extern const struct sc__option sc__memory_options[];

/* The options that are fields of sc_options; NULL-terminated. */
extern const struct sc__option *const sc__options_tables[];
/* What the options say about how to simulate. Lists are in the context's memory,
 * text stays where the settings have it. */
sc_status sc__options_read(const struct sc__settings *s, sc_options *out);

/* What was read from files becomes a workload by the rules of its format. gpus:
 * of the cluster, 0 = unknown. */
sc_status sc__document_lower(struct sc_context *ctx,
                             const struct sc__settings *settings,
                             const struct sc__document *doc,
                             uint32_t gpus,
                             struct sc__workload **out);
/* hosts of a plan as its number of GPUs, where nothing else says that. cluster: NULL: the
 * usual one of its GPU. */
sc_status sc__evaluation_hosts(struct sc_context *ctx,
                               const struct sc__cluster_description *cluster,
                               sc_plan *plan);
/* What the options change in a workload, whatever it came from. */
sc_status sc__workload_change(struct sc_context *ctx,
                              const sc_options *options,
                              struct sc__workload *w);

sc_status sc__evaluation_model(struct sc_context *ctx,
                               const struct sc__evaluation_input *in,
                               const struct sc__model *model,
                               const sc_plan *plan,
                               struct sc__evaluation *out);
/* What is known, of a plan that fits, without simulating it: how far its step is above
 * `limit`, ps, does not matter. ev gets the plan and the cluster, and is of no other use.
 */
sc_status sc__evaluation_outlook(struct sc_context *ctx,
                                 const struct sc__evaluation_input *in,
                                 const struct sc__model *model,
                                 const sc_plan *plan,
                                 int64_t limit,
                                 struct sc__evaluation *ev,
                                 struct sc__plan_outlook *out);
/* What the parts of the model take at least; layers NULL: nothing is known. as_planned:
 * see sc__plan_units. ev as above. */
sc_status sc__evaluation_units(struct sc_context *ctx,
                               const struct sc__evaluation_input *in,
                               const struct sc__model *model,
                               const sc_plan *plan,
                               bool as_planned,
                               struct sc__evaluation *ev,
                               struct sc__step_units *out);
/* After sc__evaluation_model, with the same: the simulation may end as soon as the step is
 * known to be longer than `limit`, ps. Then sim.cut says so, and there is no result. */
sc_status sc__evaluation_limit(struct sc_context *ctx,
                               const struct sc__evaluation_input *in,
                               const struct sc__model *model,
                               const sc_plan *plan,
                               int64_t limit,
                               struct sc__evaluation *ev);
/* w is changed where the options say so. */
sc_status sc__evaluation_workload(struct sc_context *ctx,
                                  const struct sc__evaluation_input *in,
                                  struct sc__workload *w,
                                  struct sc__evaluation *out);
/* The cluster of an evaluation of this many ranks, tuned as the options say. */
sc_status sc__evaluation_cluster(struct sc_context *ctx,
                                 const struct sc__evaluation_input *in,
                                 uint32_t ranks,
                                 struct sc__cluster *out);
sc_status
sc__evaluation_run(struct sc_context *ctx, struct sc__evaluation *ev, bool keep_timeline);

/* Adds the what-if table to the result: the step with each part faster. */
sc_status sc__evaluation_whatif(struct sc_context *ctx, struct sc__evaluation *ev);

/* Adds the errors of published steps like this one to the result. */
sc_status sc__evaluation_band(struct sc_context *ctx, struct sc__evaluation *ev);

/* Adds what the software's profile set to the result, and the step without each of
 * it. After sc__evaluation_run, with what it was made from. */
sc_status sc__evaluation_explain(struct sc_context *ctx,
                                 struct sc__evaluation *ev,
                                 const struct sc__model *model,
                                 const sc_plan *plan);

/* A network engine of the kind asked for that has seen no traffic. */
sc_status sc__evaluation_network(struct sc_context *ctx,
                                 const struct sc__evaluation *ev,
                                 const struct sc__workload *w,
                                 struct sc__net *out);

#endif
