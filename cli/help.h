/* help: what 'stepcast help' prints, broken into lines as wide as the terminal. */
#ifndef SC_CMD_HELP_H
#define SC_CMD_HELP_H

#include "stepcast/stepcast.h"

#include <stdio.h>

void help_overview(FILE *to);
/* Of a command or an option, to standard output; more: "all", or NULL. */
sc_status help_print(sc_context *ctx, const char *name, const char *more);
/* Columns of standard output, 0 where it is no terminal. */
unsigned help_columns(void);

#endif
