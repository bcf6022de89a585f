/* job: from the arguments of a command to a simulated step. Shared by every
 * command that runs or shows an input. */
#ifndef SC_COMMAND_JOB_H
#define SC_COMMAND_JOB_H

#include "command/command.h"
#include "evaluate/evaluate.h"
#include "frontend/neusight/operator_lower.h"
#include "frontend/reader.h"
#include "frontend/torch_profiler/profiler_lower.h"
#include "hardware/cluster_options.h"
#include "lower/layers.h"
#include "network/flow/flow_cluster.h"
#include "network/packet/packet.h"
#include "workload/scale.h"

struct sc__job {
    struct sc__settings settings; /* the request's, with those of a launch script */
    struct sc__document doc;
    const struct sc__model *model; /* or NULL: an input */
    sc_plan plan;                  /* of the model, as the options say it */
    sc_options options;
    struct sc__cluster_description cluster_given; /* by --cluster */
    struct sc__evaluation *ev;
    struct sc__workload *workload; /* ev's; before there is one, the input's */
    struct sc__change_row *mended; /* all links in order, once it was run; or NULL */
};

/* The tables of every command that loads a job, before those of its own. A
 * part with options of its own adds a line. */
#define SC__JOB_TABLES                                                                     \
    sc__job_options,                             /* cluster, network, format */            \
        sc__memory_options, sc__cluster_options, /* collectives, placement */              \
        sc__flow_options,                        /* --net flow */                          \
        sc__packet_options,                      /* --net packet */                        \
        sc__layers_options,                      /* plan */                                \
        sc__model_options,                       /* models */                              \
        sc__operators_options,                   /* operator tables */                     \
        sc__profile_options,                     /* profiler tables */                     \
        sc__chakra_options,                      /* Chakra traces */                       \
        sc__kineto_options,                      /* Kineto traces */                       \
        sc__astra_options,                       /* ASTRA-sim's ways */                    \
        sc__whatif_options                       /* changes to a finished workload */

/* The input says how a model is launched: a script or a configuration. */
bool sc__job_launches(struct sc_request *req);
/* Reads the inputs. */
sc_status sc__job_read(struct sc_request *req, struct sc__job *job);
/* … and makes them a workload, without a cluster and as they are. */
sc_status sc__job_lower(struct sc_request *req, struct sc__job *job);
/* All of it: inputs or a model to a workload on a cluster, with what-if
 * options applied. */
sc_status sc__job_load(struct sc_request *req, struct sc__job *job);
/* --model, Megatron's flags and launch scripts: job->model and job->plan. *given
 * is false when there are none. job->settings is set, and job->cluster_given with
 * --cluster. */
sc_status sc__job_model(struct sc_request *req, struct sc__job *job, bool *given);
/* --plan auto: the best plan in place of what job->plan leaves open. */
sc_status sc__job_auto_plan(struct sc_request *req, struct sc__job *job);
/* What does not fit gets a hint to the command that finds what does. */
sc_status sc__job_suggest_plans(struct sc_request *req, sc_status status);
/* The timeline of an input that is a measurement, in doc.measured; NULL there
 * where it is none. After sc__job_read. */
sc_status sc__job_measured(struct sc_request *req, struct sc__job *job);
/* … and simulates it. With SC_OK the result is the caller's to free. */
sc_status sc__job_run(struct sc_request *req, struct sc__job *job, bool keep_timeline);

/* *result: the input is a saved result and not something to simulate. A stream
 * can then be read from *path. */
sc_status sc__job_is_result(struct sc_request *req, const char **path, bool *result);

/* The size of the cluster where the description names one; else 0. */
sc_status sc__job_named_size(struct sc_request *req, uint32_t *gpus);

/* A note for each option of jobs that was given and that nobody has asked for:
 * before the notes are written, after everything else was read. */
void sc__job_note_unused(struct sc_request *req);
/* The same where there is no step, or none that is simulated. */
void sc__job_note_in_vain(struct sc_request *req, const char *because);

/* An option that was asked for, and says nothing about what was run. */
struct sc__idle_option {
    const char *name;
    bool idle;
    const char *because;
};

/* Notes those that were given. */
void sc__note_idle_options(struct sc_request *req,
                           const struct sc__idle_option *list,
                           size_t count);
/* The name of the first such option, or NULL. */
const char *sc__job_first_unused(const struct sc_request *req);

/* For commands that end before the simulation: what is said about it was read, but
 * has no effect. Before sc__job_note_unused. */
void sc__job_not_simulated(struct sc_request *req);

/* Where an output goes piece by piece: a file, or standard output for "-". */
struct sc__sink {
    struct sc__output *file; /* or NULL */
    struct sc__buffer *to;
};
sc_status sc__sink_open(struct sc_request *req, const char *path, struct sc__sink *sink);
/* A file appears with SC_OK only; returns status, or why it could not. */
sc_status sc__sink_end(struct sc__sink *sink, sc_status status);

/* Writes bytes to the file an option names; "-" is standard output. */
sc_status
sc__job_output(struct sc_request *req, const char *option, const struct sc__buffer *b);

/* What was given in the wrong place is named (misnamed.c). Each takes the status of the
 * reading and gives it back, with an error that says more where more is known: of a
 * cluster's or a model's file that is something else, and of an input that is no file but
 * the name of a model, a cluster or a GPU. */
sc_status
sc__job_name_cluster(struct sc_request *req, const char *cluster, sc_status status);
sc_status sc__job_name_model(struct sc_request *req, sc_status status);
sc_status sc__job_name_inputs(struct sc_request *req, sc_status status);

#endif
