/* show: the parts of `stepcast show` that have files of their own. */
#ifndef SC_COMMAND_SHOW_H
#define SC_COMMAND_SHOW_H

#include "command/job.h"

/* Without an input or a model: the profile that --software names. */
sc_status sc__show_software(struct sc_request *req);
/* Without an input or a model: the GPU that --gpu names, and how well it is known. */
sc_status sc__show_gpu(struct sc_request *req);

/* What a model is, and the memory of its plan. */
void sc__show_model(const struct sc__job *job, struct sc__buffer *out);

#endif
