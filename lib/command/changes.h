/* changes: the step with twice the NICs, NVLink, GPU or micro-batches, or without
 * recomputation: what people ask before they buy or set anything. */
#ifndef SC_COMMAND_CHANGES_H
#define SC_COMMAND_CHANGES_H

#include "command/job.h"

/* Adds the table to the result, each row evaluated again. What cannot be changed,
 * or cannot be run so, has no row. */
sc_status sc__changes_add(struct sc_request *req, struct sc__job *job);
/* A note with what --fail and --degrade cost: the step once more without them. The table
 * has it too, and runs it no more. */
void sc__changes_note_links(struct sc_request *req, struct sc__job *job);

#endif
