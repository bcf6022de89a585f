/* engine: network engines as the executor sees them. The contract is the public
 * one, stepcast/engine.h; here is what engines of the library have beyond it.
 * registry.h lists them and chooses one. */
#ifndef SC_NETWORK_ENGINE_H
#define SC_NETWORK_ENGINE_H

#include "hardware/cluster.h"
#include "stepcast/engine.h"
#include "workload/workload.h"

#include <string.h>

/* What an engine is made for; engines from outside ask with sc_engine_job_…. */
struct sc_engine_job {
    struct sc_context *ctx;
    const struct sc__cluster *cluster;
    const struct sc__workload *w;
    const struct sc__settings *settings; /* while it is created */
    const char *argument;
};

/* Where an engine writes down all that decides its future (sc__net_periods). */
struct sc__net_state {
    struct sc__arena *arena;
    uint64_t *words;
    uint32_t count;
    uint32_t capacity;
    uint64_t *counters; /* what only adds up: bytes of a link, transfers so far */
    uint32_t counter_count;
    uint32_t counter_capacity;
    /* A number for sc_transfer.user that does not depend on what is past. */
    uint64_t (*user_number)(const struct sc__net_state *s, uint64_t user);
    const void *owner;
};

static inline void sc__net_state_put(struct sc__net_state *s, uint64_t word) {
    *SC__PUSH(s->arena, s->words, s->count, s->capacity) = word;
}
static inline void sc__net_state_put_double(struct sc__net_state *s, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    sc__net_state_put(s, bits);
}
static inline void sc__net_state_count(struct sc__net_state *s, uint64_t counter) {
    *SC__PUSH(s->arena, s->counters, s->counter_count, s->counter_capacity) = counter;
}

/* For engines whose periods may be skipped once they repeat.
 * state() writes its state at now: the transfers in flight (users through
 * user_number) and whatever else decides when they and later ones end, in
 * whole numbers or the bits of doubles, times relative to now. Two equal
 * states must have equal futures if the same transfers are started at the
 * same distances. What adds up without deciding anything goes to
 * `counters`, as many of them at every call.
 * shift() makes `by` ps pass in which the counters grow by `more` and
 * everything else stays as it is, relative to now. */
struct sc__net_periods {
    sc_status (*state)(void *net, int64_t now, struct sc__net_state *out);
    sc_status (*shift)(void *net, int64_t by, const uint64_t *more);
};

struct sc__net {
    const struct sc_engine *ops;
    const struct sc__net_periods *periods; /* NULL: runs are simulated whole */
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
extern const struct sc__net_periods sc__analytic_periods;
extern const struct sc_engine sc__flow_engine;
extern const struct sc_engine sc__packet_engine;
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
