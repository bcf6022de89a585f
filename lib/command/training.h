/* training: what a run of many steps takes where nothing fails, --train-tokens and
 * --price of `run`. */
#ifndef SC_COMMAND_TRAINING_H
#define SC_COMMAND_TRAINING_H

#include "command/job.h"

extern const struct sc__option sc__training_options[];

/* What data/prices.json quotes for an hour of the GPU, with a note; 0: nothing. */
sc_status sc__training_quote(struct sc_request *req, const char *gpu, double *usd_per_hour);

/* Into the result of the job, and the price of a step. */
sc_status sc__training_add(struct sc_request *req, struct sc__job *job);

#endif
