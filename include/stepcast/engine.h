/* stepcast/engine.h: network engines from outside.
 *
 * An engine says how long transfers take. The simulation owns the clock: it
 * starts transfers, asks when the next one ends, and takes those that have. An
 * engine of one's own is a table of calls, registered with a context and chosen
 * by its name:
 *
 *     static const sc_engine bus = {.size = sizeof bus, .name = "bus", .create = …};
 *     sc_engine_register(ctx, &bus);
 *     sc_request_set(req, "net", "bus:25GB/s");
 *
 * The engines of the library are written against this header too.
 * examples/shared_bus.c is a small one; docs/engines.md explains.
 *
 * Ranks that do the same at the same time form a class, and a transfer of a
 * class stands for that transfer of all its ranks at once: a collective for the
 * same collective in every group its ranks are in, a message for the same
 * message of each of its ranks. An engine that looks at single links must load
 * the links of all of them.
 *
 * Times are picoseconds. Every call may fail: it leaves an error text with
 * sc_engine_fail and returns what that returns, and the run ends with it. Calls
 * for one engine object come one at a time; several objects of an engine may be
 * at work in several threads. */
#ifndef STEPCAST_ENGINE_H
#define STEPCAST_ENGINE_H

#include "stepcast/stepcast.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* sc_transfer.coll. Bytes are counted as NCCL's users do. */
enum {
    SC_ALL_REDUCE,
    SC_ALL_GATHER,     /* bytes: the full gathered tensor */
    SC_REDUCE_SCATTER, /* bytes: the full tensor before the scatter */
    SC_ALL_TO_ALL,     /* bytes: all that one rank holds, its own part included */
    SC_BROADCAST,
    SC_REDUCE,
    SC_BARRIER,
    SC_GATHER,  /* bytes: the full tensor, as the root has it then */
    SC_SCATTER, /* bytes: the full tensor, as the root had it */
    SC_SHIFT,   /* bytes: what every rank sends to the next one of the group */
    SC_MESSAGE  /* from one rank to another */
};

typedef struct sc_transfer {
    uint8_t coll;   /* SC_ALL_REDUCE … SC_MESSAGE */
    uint16_t group; /* collectives: see sc_engine_job_group_…; messages: NIC */
    uint32_t rank;  /* a rank of the group, or the source */
    uint32_t peer;  /* the destination, or the root */
    /* class of rank and of peer */
#ifdef __cplusplus
    uint32_t rank_class;
#else
    uint32_t class;
#endif
    uint32_t peer_class;
    uint32_t job; /* of several jobs on one cluster */
    uint64_t bytes;
    uint64_t user; /* the simulation's; comes back with the completion */
} sc_transfer;

/* What a transfer uses while it runs. A transfer that is not contended and whose
 * resources no other stream claims is asked for once, with alone(), and never
 * started: its time is known. */
typedef struct sc_claim {
    uint64_t resource; /* any number that names it */
    double share;      /* of the resource when alone, 0…1 */
} sc_claim;

#define SC_CLAIMS_MAX 6

typedef struct sc_claims {
    sc_claim list[SC_CLAIMS_MAX];
    uint32_t count;
    bool contended; /* others may slow it down whatever they claim: always start() it */
} sc_claims;

/* For the report. */
typedef struct sc_link_use {
    const char *name;
    double bytes;
    double capacity;   /* bytes per second */
    double busy_share; /* of the step */
} sc_link_use;

/* What a message costs the processors at its ends. */
typedef struct sc_overhead {
    /* ps on the stream of the operation */
    int64_t send;
    int64_t recv;
    bool rendezvous; /* it leaves only when its receive is posted */
    int64_t asking;  /* then: ps until the sender knows, when its send ends */
} sc_overhead;

/* The job that an engine serves; valid until destroy. */
typedef struct sc_engine_job sc_engine_job;

typedef struct sc_engine {
    size_t size;         /* sizeof(sc_engine): what the caller's header has */
    const char *name;    /* letters, digits and '-' */
    const char *summary; /* one line for lists, or NULL */
    /* An engine object for a job, in *self. */
    sc_status (*create)(sc_engine_job *job, void **self);
    /* Frees it; called once for every create that succeeded, at the latest when
     * the context is closed. May be NULL. */
    void (*destroy)(void *self);
    /* The time of t if nothing else runs, and what it claims. */
    sc_status (*alone)(void *self, const sc_transfer *t, int64_t *time, sc_claims *claims);
    /* Begins t at now. */
    sc_status (*start)(void *self, const sc_transfer *t, int64_t now);
    /* When something happens next: a transfer ends, or the engine wants to be
     * called (finish may then find nothing). INT64_MAX when nothing runs. Starts
     * and ends may move it. On entry *when is a time before which nothing is
     * started, unless a transfer ends first: an engine need not look beyond it, and
     * may answer INT64_MAX where nothing happens up to there. */
    sc_status (*next)(void *self, int64_t *when);
    /* Advances to `to` (not beyond next) and gives one completed transfer; *found
     * is false when none is left that completes by `to`. */
    sc_status (*finish)(void *self, int64_t to, sc_transfer *done, bool *found);
    /* Hands the use of links over a step of so many ps to add, the busiest first;
     * names are copied. NULL when the engine knows of none. */
    sc_status (*links)(void *self,
                       int64_t step,
                       void (*add)(void *to, const sc_link_use *use),
                       void *to);
    /* For engines that load the processors too. NULL: messages cost them nothing. */
    sc_status (*overhead)(void *self, uint64_t bytes, sc_overhead *out);
    /* t ran so many times without being started, because nothing could slow it
     * down; told at the end, for the use of links. NULL: the engine has no use. */
    sc_status (*passed)(void *self, const sc_transfer *t, uint64_t times);
} sc_engine;

/* Makes the engine known to the context under its name; the table is copied, its
 * texts too. SC_USAGE when a call is missing or the name is taken. */
SC_API sc_status sc_engine_register(sc_context *ctx, const sc_engine *engine);

/* ---- what an engine may ask about its job ---- */

/* What follows ':' in the name that chose the engine ("bus:25GB/s"), else NULL. */
SC_API const char *sc_engine_job_argument(const sc_engine_job *job);
SC_API uint32_t sc_engine_job_ranks(const sc_engine_job *job);
SC_API uint32_t sc_engine_job_classes(const sc_engine_job *job);
SC_API uint32_t sc_engine_job_class_of(const sc_engine_job *job, uint32_t rank);
SC_API uint32_t sc_engine_job_class_ranks(const sc_engine_job *job, uint32_t class_number);
/* Ranks of a group, and its i-th member in the group of its kind that rank is in. */
SC_API uint32_t sc_engine_job_group_size(const sc_engine_job *job, uint16_t group);
SC_API uint32_t sc_engine_job_group_member(const sc_engine_job *job,
                                           uint16_t group,
                                           uint32_t rank,
                                           uint32_t i);
/* The node (NVLink domain) a rank runs on, and its GPU in the cluster. */
SC_API uint32_t sc_engine_job_node(const sc_engine_job *job, uint32_t rank);
SC_API uint32_t sc_engine_job_gpu(const sc_engine_job *job, uint32_t rank);

typedef struct sc_link_rates {
    size_t size; /* set it to sizeof(sc_link_rates) before the call */
    uint32_t node_gpus;
    uint32_t node_nics;
    /* bytes per second of one GPU's NVLink port and one NIC, one direction */
    double nvlink;
    double nic;
    /* ps of an empty message inside a node, between nodes */
    int64_t nvlink_latency;
    int64_t nic_latency;
} sc_link_rates;
SC_API void sc_engine_job_rates(const sc_engine_job *job, sc_link_rates *out);

/* Leaves an error text and a hint (or NULL); returns status, so that
 * `return sc_engine_fail(…)` reads well. SC_USAGE: the argument is wrong;
 * SC_INPUT: the job cannot be run so; SC_SYSTEM: memory, files. */
SC_API sc_status sc_engine_fail(
    sc_engine_job *job, sc_status status, const char *hint, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;

#ifdef __cplusplus
}
#endif
#endif
