/* job_file: a request as a file: what was asked for, to be asked again.
 *
 *     stepcast: job/1
 *     inputs: [trace.json]
 *     options:
 *       model: llama3-8b
 *       tp: 8
 *       fp8: true
 *
 *     axes:                of a sweep: each a list, or a range
 *       micro-batch: [1, 2, 4]
 *
 * Sections (model, plan, cluster, outputs) may hold options as well; their names are
 * for people. */
#ifndef SC_COMMAND_JOB_FILE_H
#define SC_COMMAND_JOB_FILE_H

#include "command/command.h"

/* Where the only input is a job file, its options become the request's, behind those
 * given, and its inputs too. One among several inputs is refused, except of a command that
 * takes each alone. */
sc_status sc__job_file_take(struct sc_request *req);
void sc__job_file_write(const struct sc_request *req, struct sc__buffer *out);

#endif
