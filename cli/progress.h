/* progress: a line on standard error for requests that take their time, where
 * that is a terminal. */
#ifndef SC_CMD_PROGRESS_H
#define SC_CMD_PROGRESS_H

#include "stepcast/stepcast.h"

void progress_begin(sc_context *ctx);
/* Takes the line away, so that something else can be written. */
void progress_hide(void);

#endif
