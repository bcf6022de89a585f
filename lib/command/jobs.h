/* jobs: several jobs on one cluster (run … --place). */
#ifndef SC_COMMAND_JOBS_H
#define SC_COMMAND_JOBS_H

#include "command/job.h"

extern const struct sc__option sc__jobs_options[];
sc_status sc__jobs_run(struct sc_request *req);

#endif
