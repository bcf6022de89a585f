/* job: from the arguments of a command to a simulated step. Shared by every
 * command that runs or shows an input. */
#ifndef SC_COMMAND_JOB_H
#define SC_COMMAND_JOB_H

#include "command/command.h"
#include "import/reader.h"
#include "stats/result.h"

struct sc__job {
    struct sc__settings settings;
    struct sc__document doc;
    struct sc__workload *workload;
    struct sc__cluster cluster;
    struct sc__net net;
    struct sc__sim sim;
    struct sc__result result;
};

/* The options every job takes: --cluster, --net, --format … */
extern const struct sc__option sc__job_options[];

/* Reads the inputs. */
sc_status sc__job_read(struct sc_request *req, struct sc__job *job);
/* … and makes them a workload, with what-if options applied. */
sc_status sc__job_lower(struct sc_request *req, struct sc__job *job);
/* … on a cluster. Reads and lowers. */
sc_status sc__job_load(struct sc_request *req, struct sc__job *job);
/* … and simulates it. */
sc_status sc__job_run(struct sc_request *req, struct sc__job *job, bool keep_timeline);

/* Writes bytes to the file an option names; "-" is standard output. */
sc_status sc__job_output(struct sc_request *req, const char *option, const struct sc__buffer *b);

#endif
