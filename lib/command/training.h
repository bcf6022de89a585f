/* training: what a run of many steps takes where nothing fails, --train-tokens and
 * --price of `run`. */
#ifndef SC_COMMAND_TRAINING_H
#define SC_COMMAND_TRAINING_H

#include "command/job.h"

extern const struct sc__option sc__training_options[];

/* Into the result of the job, and the price of a step. */
sc_status sc__training_add(struct sc_request *req, struct sc__job *job);

#endif
