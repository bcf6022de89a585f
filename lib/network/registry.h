/* registry: the network engines there are, those of the library and those that
 * were registered with the context, and which of them a request asks for. */
#ifndef SC_NETWORK_REGISTRY_H
#define SC_NETWORK_REGISTRY_H

#include "network/engine.h"

struct sc__engine_entry {
    const struct sc_engine *engine;
    const struct sc__option *options; /* that are about it alone, or NULL */
    /* Options that choose it where --net names none, NULL at the end; and the one
     * it cannot do without, or NULL. */
    const char *chosen_by[3];
    const char *needs;
    bool of_cluster; /* it describes the cluster: an ideal one makes it free */
    const struct sc__net_periods *periods; /* or NULL */
};

/* The i-th engine, those of the library before those from outside; NULL past the last. */
const struct sc_engine *sc__engine_nth(const struct sc_context *ctx, uint32_t i);

struct sc__engine_choice {
    const struct sc_engine *engine;
    const struct sc__engine_entry *entry; /* NULL: from outside */
    const char *argument;                 /* of --net NAME:ARGUMENT, or NULL */
};

/* Which engine is asked for: by its name (`net`, or NULL), or by the options that
 * say it. A wrong name, or two different engines, are usage errors. */
sc_status sc__engine_choose(const struct sc__settings *s,
                            const char *net,
                            struct sc__engine_choice *out);

/* The engine that is asked for, for a workload on a cluster. */
sc_status sc__network_make(struct sc_context *ctx,
                           const struct sc__settings *s,
                           const char *net,
                           const struct sc__cluster *cluster,
                           const struct sc__workload *w,
                           struct sc__net *out);

#endif
