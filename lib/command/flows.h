/* flows: the two engines of the command. */
#ifndef SC_COMMAND_FLOWS_H
#define SC_COMMAND_FLOWS_H

#include "command/command.h"

extern const struct sc__option sc__flows_packet_options[];
/* Which engines --net asks for; options of one that is not chosen are refused. */
struct sc__flows_engines {
    bool flow;
    bool packet;
};
sc_status sc__flows_choose(struct sc_request *req, struct sc__flows_engines *chosen);
/* HPCC's files. */
sc_status sc__flows_packet_execute(struct sc_request *req);
/* Flows on a fabric, as packets, and with `both` as shares beside them. */
struct sc__flow;
sc_status sc__flows_packet_on_fabric(struct sc_request *req,
                                     const char *fabric,
                                     struct sc__flow *flows,
                                     uint32_t count,
                                     uint32_t ports,
                                     bool both);

#endif
