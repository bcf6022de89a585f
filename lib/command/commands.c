/* commands: the list. A new command is a file beside this one and a line here. */
#include "command/command.h"

const struct sc__command *const sc__commands[] = {
    NULL,
};
