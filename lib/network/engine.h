/* engine: network engines as the executor sees them. The contract is the public
 * one, stepcast/engine.h; here is what engines of the library have beyond it.
 * registry.h lists them and chooses one. */
#ifndef SC_NETWORK_ENGINE_H
#define SC_NETWORK_ENGINE_H

#include "hardware/cluster.h"
#include "stepcast/engine.h"
#include "workload/workload.h"

/* What an engine is made for; engines from outside ask with sc_engine_job_…. */
struct sc_engine_job {
    struct sc_context *ctx;
    const struct sc__cluster *cluster;
    const struct sc__workload *w;
    const struct sc__settings *settings; /* while it is created */
    const char *argument;
};

struct sc__net {
    const struct sc_engine *ops;
    void *self;
    bool free; /* communication costs nothing, local updates after it included */
};

/* The links of the engine as a list; empty where it knows of none. */
sc_status sc__net_links(const struct sc__net *net,
                        struct sc__arena *arena,
                        int64_t step,
                        struct sc_link_use **out,
                        uint32_t *count);

/* The engines, for those who know which one they want. */
extern const struct sc_engine sc__analytic_engine;
extern const struct sc_engine sc__flow_engine;
extern const struct sc_engine sc__loggops_engine;
extern const struct sc_engine sc__astra_engine;

sc_status sc__net_analytic(struct sc_context *ctx,
                           const struct sc__cluster *cluster,
                           const struct sc__workload *w,
                           struct sc__net *net);
/* LogGOPS: text is "L,o,g,G,O,S" (docs/formats/goal.md), NULL for the defaults. */
sc_status sc__net_loggops(struct sc_context *ctx,
                          const char *text,
                          const struct sc__workload *w,
                          struct sc__net *net);
/* ASTRA-sim's network YAML and system JSON (may be NULL); compat: counted as
 * its binary counts. */
sc_status sc__net_astra(struct sc_context *ctx,
                        const char *network,
                        const char *system,
                        bool compat,
                        const struct sc__workload *w,
                        struct sc__net *net);
extern const struct sc__option sc__astra_options[];

#endif
