/* executor: the parts of the event engine. Read in this order:
 *
 *   prepare.c   blocks → items: what can be priced once is summed into runs
 *   executor.c  streams that start items and end them, and the clock
 *   meet.c      where classes meet: collectives and messages
 *   account.c   which class's time counts as what
 */
#ifndef SC_SIMULATE_EXECUTOR_H
#define SC_SIMULATE_EXECUTOR_H

#include "simulate/simulate.h"

/* Sums of a run of operations whose times are known beforehand. */
struct sc__sums {
    int64_t compute;
    int64_t recompute;
    int64_t other;
    int64_t *exposed;            /* by lane: groups, then point-to-point; NULL: none */
    struct sc__traffic *traffic; /* the same */
    int64_t work[SC__WORKS];
};

/* What a stream does in one go: a run, or one operation that needs others. */
struct sc__exec_item {
    /* in prepared.order */
    uint32_t first;
    uint32_t ops;
    int64_t duration;      /* of a run */
    struct sc__sums *sums; /* of a run, else NULL */
    uint32_t *need; /* by stream: items in this block before it, where `after` says so; else
                       NULL */
    uint16_t after;
};

/* A block as one class runs it. */
struct sc__prepared {
    uint32_t *order; /* operations by stream, in issue order */
    struct sc__exec_item *items;
    /* items of a stream */
    uint32_t first[SC__MAX_STREAMS];
    uint32_t count[SC__MAX_STREAMS];
    bool deps; /* has explicit dependencies */
    /* Collectives that meet other classes: their groups, how many of each, and
     * by operation the number among those of its group. */
    uint32_t *met_groups;
    uint32_t *met_counts;
    uint32_t met_count;
    uint32_t met_capacity;
    uint32_t *ordinal;
};

enum sc__stream_state {
    SC__STREAM_NEXT,     /* may look at its next item */
    SC__STREAM_BLOCKED,  /* its next item waits for other streams */
    SC__STREAM_RUNNING,  /* a run */
    SC__STREAM_MEETING,  /* waits for the peers of a transfer */
    SC__STREAM_TRANSFER, /* the bytes move */
    SC__STREAM_DONE
};

struct sc__stream {
    uint8_t state;
    /* where it is in the program */
    uint32_t call;
    uint32_t item;
    uint32_t version;                  /* of its end event */
    const struct sc__exec_item *doing; /* the item there; its first operation */
    const struct sc__op *op;
    uint64_t ended; /* items */
    int64_t start;
    int64_t ready;
    int64_t left; /* of a running item under comm_tax: work still to do at `since` */
    int64_t since;
    uint32_t wait; /* the meeting or message it is in */
    uint32_t span; /* of its last transfer, where a timeline is kept */
    uint64_t
        before[SC__MAX_STREAMS]; /* items of each stream in the calls before this one */
};

struct sc__runner { /* a class */
    const struct sc__class *class;
    struct sc__prepared **blocks; /* by call */
    uint8_t **done; /* by call: operations that ended, where the block has dependencies */
    struct sc__stream *streams;
    uint32_t calls;
    uint16_t blocked;   /* set of streams */
    uint16_t computing; /* streams that compute now */
    uint16_t moving;    /* streams in a transfer now */
    int32_t category;
    int64_t mark; /* accounted up to here */
    bool touched;
    bool met;          /* a message of it has begun */
    uint32_t *meeting; /* by group: index in executor.meetings, SC__NONE inside one class */
    uint32_t **numbers; /* by call: collectives of each met group in the calls before */
};

/* Classes that meet in a group. */
struct sc__meeting {
    uint32_t *classes;
    uint32_t count;
    uint32_t group;
    uint32_t lead;  /* the class with most ranks: it stands for all where one is asked,
                       whoever comes  last */
    uint32_t first; /* open gatherings */
};

/* One collective, or one message, that some have come to and others not yet. */
struct sc__gathering {
    uint32_t next; /* list of the meeting, of the message queue, or of free ones */
    uint32_t meeting;
    uint32_t number;
    uint32_t here; /* members that came */
    uint32_t *classes;
    uint32_t *streams;
    uint32_t room;
    uint32_t op; /* of the first that came */
    uint64_t bytes;
    int64_t cost;
    uint64_t key; /* messages */
    bool started;
    bool sent;
    bool received;
    bool over;
    bool linked;   /* one end of a message has a span: */
    uint32_t span; /* this one */
};

struct sc__executor {
    struct sc_context *ctx;
    struct sc__arena arena; /* of the run */
    const struct sc__workload *w;
    const struct sc__net *net;
    uint32_t job; /* of several that share the network */
    struct sc__sim_options options;
    struct sc__sim *out;
    uint32_t streams;    /* per class */
    uint32_t lanes;      /* groups + 1: the last is point-to-point */
    bool *across_stages; /* by group */
    struct sc__runner *runners;
    struct sc__meeting *meetings;
    uint32_t meeting_count;
    uint32_t meeting_capacity;
    struct sc__gathering *gatherings;
    uint32_t gathering_count;
    uint32_t gathering_capacity;
    uint32_t free_gathering;
    struct sc__map messages; /* (from, to, tag) → first open gathering + 1 */
    struct sc__heap heap;
    int64_t now;
    uint64_t *work; /* streams that may be able to start something: class · 16 + stream */
    uint32_t work_count;
    uint32_t work_capacity;
    uint32_t *touched;
    uint32_t touched_count;
    uint32_t touched_capacity;
    /* for progress */
    uint64_t items;
    uint64_t items_ended;
    uint64_t next_report;
    sc_status status;
};

/* prepare.c */
sc_status sc__prepare(struct sc__executor *x);
const struct sc__block *
sc__call_block(const struct sc__executor *x, const struct sc__runner *r, uint32_t call);
int64_t sc__compute_cost(const struct sc__executor *x,
                         const struct sc__class *c,
                         const struct sc__op *op);

/* executor.c */
const struct sc__exec_item *sc__stream_item(const struct sc__runner *r, uint32_t stream);
const struct sc__op *
sc__stream_op(const struct sc__executor *x, const struct sc__runner *r, uint32_t stream);
void sc__touch(struct sc__executor *x, uint32_t class);
/* The peers are all there: from now on it is communication. */
void sc__stream_ready(struct sc__executor *x, uint32_t class, uint32_t stream);
void sc__stream_end(struct sc__executor *x, uint32_t class, uint32_t stream);

/* A clock past this is refused; times of up to twice as much can still be
 * added to it. */
#define SC__LONGEST (INT64_MAX / 4)
sc_status sc__too_long(struct sc_context *ctx);

/* meet.c */
sc_status sc__meet_prepare(struct sc__executor *x);
/* Once blocks are prepared: the number of every collective in its group. */
void sc__meet_number(struct sc__executor *x, uint32_t class);
/* The group of op lies inside the class. */
bool sc__meet_inside(const struct sc__runner *r, const struct sc__op *op);
struct sc_transfer
sc__transfer_of(const struct sc__executor *x, uint32_t class, const struct sc__op *op);
sc_status sc__meet_collective(struct sc__executor *x,
                              uint32_t class,
                              uint32_t stream,
                              const struct sc__op *op);
sc_status sc__meet_message(struct sc__executor *x,
                           uint32_t class,
                           uint32_t stream,
                           const struct sc__op *op);
/* The transfer of a gathering has ended (or its local update, where `local`). */
void sc__meet_over(struct sc__executor *x, uint32_t gathering, bool local);
sc_status sc__meet_deadlock(struct sc__executor *x);

/* account.c */
enum {
    SC__CAT_COMPUTE,
    SC__CAT_RECOMPUTE,
    SC__CAT_OTHER,
    SC__CAT_BUBBLE,
    SC__CAT_SKEW,
    SC__CAT_RUN,
    SC__CAT_LANE
};
void sc__account_settle(struct sc__executor *x, uint32_t class);
void sc__account_classify(struct sc__executor *x, uint32_t class);
void sc__account_item(struct sc__executor *x, uint32_t class, uint32_t stream);
void sc__account_finish(struct sc__executor *x);

#define SC__EVENT_GATHERING                                                                \
    UINT32_C(0x80000000) /* in an event: the id of a gathering, not of a stream */

static inline uint32_t sc__lane(const struct sc__executor *x, const struct sc__op *op) {
    return op->kind == SC__OP_COLLECTIVE ? op->group : x->lanes - 1;
}

#endif
