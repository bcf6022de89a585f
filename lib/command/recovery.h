/* recovery: what a job does about a failure, of the commands that forecast runs. */
#ifndef SC_COMMAND_RECOVERY_H
#define SC_COMMAND_RECOVERY_H

#include "command/command.h"
#include "train/goodput.h"

/* Of checkpoints in memory: the upper end of what was measured, 0.2 to 1.8 s
 * (docs/goodput.md). */
#define SC__IN_MEMORY_BLOCKING_S 1.8

/* --recovery, into in->recovery and in->spares; in->set and in->gpus are known. */
sc_status sc__recovery_read(struct sc_request *req, struct sc__goodput_input *in);
/* The policy that implies checkpoints in memory. */
bool sc__recovery_from_memory(const struct sc_request *req);
/* Replicas matter: those that are lost are left out for a while. */
bool sc__recovery_drops(const struct sc__goodput_input *in);
/* What it takes for granted. */
void sc__recovery_note(struct sc_request *req, const struct sc__goodput_input *in);

#endif
