/* flows: the two engines of the command. */
#ifndef SC_COMMAND_FLOWS_H
#define SC_COMMAND_FLOWS_H

#include "command/command.h"

extern const struct sc__option sc__flows_packet_options[];
/* Whether --net asks for packets; options of an engine that is not chosen are refused. */
sc_status sc__flows_packet_chosen(struct sc_request *req, bool *chosen);
sc_status sc__flows_packet_execute(struct sc_request *req);

#endif
