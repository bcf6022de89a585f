/* formats: workloads out, in the formats of other tools. Each takes any
 * workload and expands it to single ranks first. */
#ifndef SC_FRONTEND_FORMATS_H
#define SC_FRONTEND_FORMATS_H

#include "workload/workload.h"

/* One <rank>.et a rank in dir (made where it is missing), named
 * workload.<rank>.et, and workload.json with the process groups. */
sc_status
sc__write_chakra(struct sc_context *ctx, const struct sc__workload *w, const char *dir);

/* Text, or the binary form where path ends in .bin. Collectives become
 * messages (frontend/goal/messages.h). */
sc_status
sc__write_goal(struct sc_context *ctx, const struct sc__workload *w, const char *path);

#endif
