/* commands: the list. A new command is a file beside this one and a line here. */
#include "command/command.h"

extern const struct sc__command sc__command_run, sc__command_show, sc__command_convert;

const struct sc__command *const sc__commands[] = {
    &sc__command_run,
    &sc__command_show,
    &sc__command_convert,
    NULL,
};
