/* engine: what the executor asks of a network engine. The executor owns the
 * clock; an engine says when its next transfer completes, and that may move
 * when traffic changes. Every call may fail: it then returns a status other
 * than SC_OK with the error in the context, and the run ends with it.
 *
 * Transfers are between classes. A collective of a class stands for that
 * collective in every group of its ranks at once; an engine that looks at
 * single links must load the links of all of them. */
#ifndef SC_SIMULATE_NETWORK_H
#define SC_SIMULATE_NETWORK_H

#include "hardware/cluster.h"
#include "workload/workload.h"

#include <string.h>

struct sc__transfer {
    uint8_t coll;   /* enum sc__coll, or SC__COLLS for point-to-point */
    uint16_t group; /* collectives; messages: NIC */
    uint32_t rank;  /* a rank of the group, or the source */
    uint32_t peer;  /* the destination, or the root */
    uint32_t class; /* class of rank */
    uint32_t peer_class;
    uint32_t job; /* of several jobs on one cluster */
    uint64_t bytes;
    uint64_t user; /* the executor's; comes back with the completion */
};

/* What a transfer uses while it runs, so that the executor can see which
 * transfers can never meet another one: those it need not ask for twice. */
struct sc__claim {
    uint64_t resource;
    double share; /* of the resource when alone, 0…1 */
};
#define SC__CLAIMS 6

struct sc__claims {
    struct sc__claim list[SC__CLAIMS];
    uint32_t count;
    bool contended; /* it may meet others whatever they claim: always start() it */
};

struct sc__net_link_use {
    const char *name;
    /* capacity in bytes per second */
    double bytes;
    double capacity;
    double busy_share; /* of the step */
};

/* What a message costs the processors at its ends (LogGOPS). */
struct sc__overhead {
    /* ps on the stream of the operation */
    int64_t send;
    int64_t recv;
    bool rendezvous; /* it leaves only when its receive is posted */
};

/* Where an engine writes down all that decides its future (sc__net_ops.state). */
struct sc__net_state {
    struct sc__arena *arena;
    uint64_t *words;
    uint32_t count;
    uint32_t capacity;
    uint64_t *counters; /* what only adds up: bytes of a link, transfers so far */
    uint32_t counter_count;
    uint32_t counter_capacity;
    /* A number for sc__transfer.user that does not depend on what is past. */
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

struct sc__net_ops {
    const char *name;
    /* The time of t if nothing else runs, ps, and what it claims. A transfer
     * that is not contended and whose claims no other stream makes is costed
     * with this once and for all. */
    sc_status (*alone)(void *net,
                       const struct sc__transfer *t,
                       int64_t *time,
                       struct sc__claims *claims);
    /* Begins t at now. */
    sc_status (*start)(void *net, const struct sc__transfer *t, int64_t now);
    /* When the next transfer completes; INT64_MAX when none runs. */
    sc_status (*next)(void *net, int64_t *when);
    /* Advances to `to` (≤ next) and gives one completed transfer; *found is
     * false when none is left that completes at `to`. */
    sc_status (*finish)(void *net, int64_t to, struct sc__transfer *done, bool *found);
    /* Link statistics for the report; NULL when the engine has none. */
    sc_status (*links)(void *net,
                       struct sc__arena *arena,
                       int64_t step,
                       struct sc__net_link_use **out,
                       uint32_t *count);
    /* For engines that load the processors too; NULL: messages cost them nothing. */
    sc_status (*overhead)(void *net, uint64_t bytes, struct sc__overhead *out);
    /* Both or none: NULL for an engine whose runs are always simulated whole.
     * state() writes its state at now: the transfers in flight (users through
     * user_number) and whatever else decides when they and later ones end, in
     * whole numbers or the bits of doubles, times relative to now. Two equal
     * states must have equal futures if the same transfers are started at the
     * same distances. What adds up without deciding anything goes to
     * `counters`, as many of them at every call.
     * shift() makes `by` ps pass in which the counters grow by `more` and
     * everything else stays as it is, relative to now. */
    sc_status (*state)(void *net, int64_t now, struct sc__net_state *out);
    sc_status (*shift)(void *net, int64_t by, const uint64_t *more);
};

struct sc__net {
    const struct sc__net_ops *ops;
    void *self;
    bool free; /* communication costs nothing, local updates after it included */
};

/* The engines. */
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
sc_status sc__net_analytic(struct sc_context *ctx,
                           const struct sc__cluster *cluster,
                           const struct sc__workload *w,
                           struct sc__net *net);

#endif
