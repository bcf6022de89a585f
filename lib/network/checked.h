/* checked: an engine from outside, its answers looked at. */
#ifndef SC_NETWORK_CHECKED_H
#define SC_NETWORK_CHECKED_H

#include "network/engine.h"

/* Puts an engine before that of *net (of `job`), which is asked through it. Those of the
 * library are held by their tests; one that is being written may answer what cannot be,
 * and the run would go on with it, or for ever. */
void sc__net_check_answers(struct sc_engine_job *job, struct sc__net *net);

#endif
