/* training: what a run of many steps takes where nothing fails, --train-tokens and
 * --price of `run`. */
#ifndef SC_COMMAND_TRAINING_H
#define SC_COMMAND_TRAINING_H

#include "command/job.h"

extern const struct sc__option sc__training_options[];

/* What an hour of a GPU costs: as its own file says, or as data/prices.json quotes it, with
 * a note; 0: nothing. gpu: NULL where it is not known. */
sc_status sc__training_quote(struct sc_request *req, const char *gpu, double *usd_per_hour);
/* The GPU that runs the job; NULL: not known. */
const char *sc__training_gpu(const struct sc__job *job);

/* Of a GPU-hour: more is a slip, and makes sums that no number holds. */
#define SC__MOST_PRICE 1e6

/* What --price says; left alone where it is not given. */
sc_status sc__training_price_said(struct sc_request *req, double *usd_per_hour);

/* Says so where the tokens of a run are less than those of one step. */
void sc__training_note_short(struct sc_context *ctx, double tokens, double step_tokens);

/* Into the result of the job, and the price of a step. */
sc_status sc__training_add(struct sc_request *req, struct sc__job *job);

#endif
