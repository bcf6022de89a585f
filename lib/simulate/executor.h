/* executor: the parts of the event engine (docs/model/executor.md). Read in
 * this order:
 *
 *   prepare.c         blocks → items: operations of known cost become runs
 *   prepare_claims.c  which transfers can never share a resource with another
 *   executor.c        the clock
 *   program.c         streams that start items in the order they are issued
 *   graph.c           or operations that run when what they depend on has ended
 *   run.c             how far a run is, and at which pace
 *   rendezvous.c      where classes wait for each other: collectives, messages
 *   program_rendezvous.c   how operations of programs find each other
 *   deadlock.c        who waits for whom when nothing can go on
 *   account.c         which class's time counts as what
 *   steady.c          periods that repeat are added, not simulated
 */
#ifndef SC_SIMULATE_EXECUTOR_H
#define SC_SIMULATE_EXECUTOR_H

#include "simulate/queue.h"
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
    /* Of a run, by operation: its end, counted from the start of the run, at
     * full pace and while transfers of the rank run beside it (comm_tax). */
    int64_t *ends;
    int64_t *slow_ends;
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
    bool deps;     /* has explicit dependencies */
    bool messages; /* has sends or receives: the tag of its call counts */
    /* Collectives that span classes: their groups, how many of each, and
     * by operation the number among those of its group. */
    uint32_t *shared_groups;
    uint32_t *shared_counts;
    uint32_t shared_count;
    uint32_t shared_capacity;
    uint32_t *ordinal;
};

enum sc__stream_state {
    SC__STREAM_NEXT,     /* may look at its next item */
    SC__STREAM_BLOCKED,  /* its next item waits for other streams */
    SC__STREAM_RUNNING,  /* a run */
    SC__STREAM_WAITING,  /* for the peers of a transfer */
    SC__STREAM_TRANSFER, /* the bytes move */
    SC__STREAM_DONE
};

struct sc__stream {
    uint8_t state;
    /* where it is in the program: all before it has ended */
    uint32_t call;
    uint32_t item;
    uint32_t version;                  /* of its end event */
    const struct sc__exec_item *doing; /* the item there; its first operation */
    const struct sc__op *op;
    uint8_t blocked_by; /* where it is blocked: the stream, or SC__MAX_STREAMS: any */
    int64_t start;
    int64_t ready;
    /* Of a run: its operation `at` began at op_start and had `left` to do at
     * `since`, ps at full pace; `slow` is the pace from then on. */
    uint32_t at;
    int64_t op_start;
    int64_t left;
    int64_t since;
    bool slow;
    uint32_t wait; /* the rendezvous it is in */
    uint32_t span; /* of its last transfer, where a timeline is kept */
};

/* Transfers of one group, or messages, that run now. */
struct sc__lane_use {
    uint32_t lane;
    uint32_t count;
    int64_t since;
};

/* What a class has begun and not ended, where operations hold no stream. */
struct sc__under_way {
    struct sc__lane_use *lanes; /* in the order they began */
    uint32_t lane_count;
    uint32_t lane_capacity;
    /* Transfers that wait for their peers, by what that counts as. */
    uint32_t skew;
    uint32_t bubble;
    uint64_t left; /* operations that have not ended */
};

struct sc__runner { /* a class */
    const struct sc__class *class;
    struct sc__prepared **blocks; /* by call */
    uint8_t **done; /* by call: operations that ended, where the block has dependencies */
    struct sc__stream *streams;
    uint32_t calls;
    uint16_t blocked;   /* set of streams */
    uint16_t computing; /* streams that compute, or are in a run of several operations */
    uint16_t moving;    /* streams in a transfer now */
    int64_t mark;       /* accounted up to here */
    bool met;           /* a message of it has begun */
    struct sc__under_way under_way;
    uint32_t *peers;    /* by group: index in executor.peers, SC__NONE inside one class */
    uint32_t **numbers; /* by call: collectives of each shared group in the calls before */
    uint32_t done_high; /* the last call that has an entry in `done` */
};

/* Blocks, each once. */
struct sc__block_list {
    uint32_t *ids;
    uint32_t count;
    uint32_t capacity;
};

/* Classes whose ranks are in one group. */
struct sc__peers {
    uint32_t *classes;
    uint32_t count;
    uint32_t group;
    uint32_t lead;  /* the class with most ranks: it stands for all where one is asked,
                       whoever comes  last */
    uint32_t first; /* open rendezvous, a list */
};

/* One collective, or one message, that some have come to and others not yet. */
struct sc__rendezvous {
    uint32_t next;   /* list of the peers, of equal messages, or of free ones */
    uint64_t serial; /* in the order they were opened; 0: a free one */
    uint32_t peers;  /* SC__NONE: a message, or a collective inside a class */
    uint32_t number; /* of the collective in its group */
    uint32_t here;   /* members that came */
    uint32_t *classes;
    uint32_t *members;
    uint32_t room;
    uint32_t op; /* of the first that came */
    uint64_t bytes;
    int64_t cost;
    /* messages */
    uint32_t from;
    uint32_t to;
    uint64_t tag;
    bool started;
    bool sent;
    bool received;
    bool over;
    bool linked;   /* one end of a message has a span: */
    uint32_t span; /* this one */
};

/* What comes to a message. */
struct sc__message_end {
    uint32_t class;
    uint32_t member;
    bool sending;
    bool eager;
    bool measured; /* the cost of the rendezvous is its time */
};

struct sc__executor {
    struct sc_context *ctx;
    struct sc__arena arena; /* of the run */
    const struct sc__workload *w;
    const struct sc__net *net;
    uint32_t job; /* of several that share the network */
    struct sc__sim_options options;
    struct sc__sim *out;
    uint32_t streams;              /* per class */
    uint32_t lanes;                /* groups + 1: the last is point-to-point */
    bool *across_stages;           /* by group */
    double slow_speed;             /* of compute beside transfers: 1/(1 + comm_tax) */
    struct sc__block_list *called; /* by program */
    struct sc__runner *runners;
    struct sc__peers *peers;
    uint32_t peers_count;
    uint32_t peers_capacity;
    struct sc__rendezvous *rendezvous;
    uint32_t rendezvous_count;
    uint32_t rendezvous_capacity;
    uint32_t free_rendezvous;
    uint64_t opened;         /* rendezvous so far */
    struct sc__map messages; /* hash of (from, to, tag) → first open rendezvous + 1 */
    struct sc__queue queue;  /* of events: what they mean is the policy's */
    int64_t now;
    bool more_now;  /* more can start at this time, after what ends at it */
    uint64_t *work; /* streams that may be able to start something: class · 16 + stream */
    uint32_t work_count;
    uint32_t work_capacity;
    /* for progress */
    uint64_t items;
    uint64_t items_ended;
    uint64_t next_report;
    struct sc__steady *steady; /* NULL: nothing is skipped */
    const struct sc__policy *policy;
    struct sc__graph *graph; /* of that policy, else NULL */
    sc_status status;
};

/* How the operations of a job come to run. */
struct sc__policy {
    /* Before the clock starts. */
    sc_status (*prepare)(struct sc__executor *x);
    /* Starts what can start now, until nothing more can. */
    sc_status (*start)(struct sc__executor *x);
    sc_status (*event)(struct sc__executor *x, struct sc__queued e);
    /* An event that no longer counts; NULL: there are none. */
    bool (*stale)(const struct sc__executor *x, struct sc__queued e);
    /* A member of a rendezvous waits for the others; they are all there and the
     * bytes move; the transfer is over. */
    void (*waits)(struct sc__executor *x, uint32_t class, uint32_t member, uint32_t id);
    void (*ready)(struct sc__executor *x, uint32_t class, uint32_t member);
    void (*leaves)(struct sc__executor *x, uint32_t id, uint32_t class, uint32_t member);
    /* Nobody will come to this rendezvous any more. */
    sc_status (*closes)(struct sc__executor *x, uint32_t id);
    /* Of a transfer that is not of a rendezvous (its user is past 32 bits). */
    sc_status (*message_over)(struct sc__executor *x, const struct sc_transfer *t);
    /* Everything has run, or who waits for whom. */
    sc_status (*check_end)(struct sc__executor *x);
    /* What the time of a class counts as while it computes nothing. */
    int32_t (*idle_category)(struct sc__executor *x, uint32_t class);
    /* Transfers and events that end at one time all do before anything starts. */
    bool all_ends_first;
    /* Of those who leave a rendezvous together the last that came is first. */
    bool newest_leaves_first;
};
extern const struct sc__policy sc__policy_program;
extern const struct sc__policy sc__policy_graph;

/* prepare.c */
sc_status sc__prepare(struct sc__executor *x);
bool sc__op_is_transfer(const struct sc__op *op);
const struct sc__block *
sc__call_block(const struct sc__executor *x, const struct sc__runner *r, uint32_t call);
int64_t sc__compute_cost(const struct sc__executor *x,
                         const struct sc__class *c,
                         const struct sc__op *op);

/* prepare_claims.c: who uses which resource of the network. */
struct sc__claim_table {
    struct sc__executor *x;
    struct sc__map users;
};
/* All classes tell what their transfers claim. */
sc_status sc__claims_collect(struct sc__claim_table *t);
/* Whether no other transfer can run on these resources while one of the class does. */
bool sc__claims_alone(const struct sc__claim_table *t,
                      uint32_t class,
                      const struct sc_claims *made);

/* program.c */
const struct sc__exec_item *sc__stream_item(const struct sc__runner *r, uint32_t stream);
const struct sc__op *
sc__stream_op(const struct sc__executor *x, const struct sc__runner *r, uint32_t stream);
void sc__stream_end(struct sc__executor *x, uint32_t class, uint32_t stream);

/* run.c */
/* What `cost` of work takes beside transfers. */
int64_t sc__run_slow_cost(const struct sc__executor *x, int64_t cost);
void sc__run_begin(struct sc__executor *x, uint32_t class, uint32_t stream);
/* When it ends if the pace stays. */
int64_t
sc__run_end_time(const struct sc__executor *x, const struct sc__runner *r, uint32_t stream);
/* Goes on to now at the pace it had, then changes it. */
void sc__run_pace(struct sc__executor *x, uint32_t class, uint32_t stream, bool slow);
/* It ends now: what it did goes into the account. */
void sc__run_close(struct sc__executor *x, uint32_t class, uint32_t stream);
/* Transfers inside runs were never started: an engine that counts the use of its
 * links hears of them at the end. */
sc_status sc__run_tell_passed(struct sc__executor *x);

/* A clock past this is refused; times of up to twice as much can still be
 * added to it. */
#define SC__LONGEST (INT64_MAX / 4)
sc_status sc__too_long(struct sc_context *ctx);

/* rendezvous.c */
uint32_t sc__rendezvous_open(struct sc__executor *x, uint32_t room);
void sc__rendezvous_join(struct sc__executor *x,
                         uint32_t id,
                         uint32_t class,
                         uint32_t member);
/* All are there: t starts, or the event that ends it is set. */
sc_status sc__rendezvous_begin(struct sc__executor *x,
                               uint32_t id,
                               struct sc_transfer *t,
                               bool measured);
/* One end of a message comes; t is what starts when that makes it begin. */
sc_status sc__rendezvous_message(struct sc__executor *x,
                                 uint32_t id,
                                 const struct sc__message_end *end,
                                 struct sc_transfer *t);
/* The transfer has ended (or its local update, where `local`). */
sc_status sc__rendezvous_over(struct sc__executor *x, uint32_t id, bool local);

/* program_rendezvous.c */
sc_status sc__rendezvous_prepare(struct sc__executor *x);
/* Once blocks are prepared: the number of every collective in its group. */
void sc__rendezvous_number(struct sc__executor *x, uint32_t class);
/* The group of op lies inside the class. */
bool sc__inside_class(const struct sc__runner *r, const struct sc__op *op);
struct sc_transfer
sc__transfer_of(const struct sc__executor *x, uint32_t class, const struct sc__op *op);
sc_status sc__program_collective(struct sc__executor *x,
                                 uint32_t class,
                                 uint32_t stream,
                                 const struct sc__op *op);
sc_status sc__program_message(struct sc__executor *x,
                              uint32_t class,
                              uint32_t stream,
                              const struct sc__op *op);
void sc__program_leaves(struct sc__executor *x,
                        uint32_t id,
                        uint32_t class,
                        uint32_t stream);
sc_status sc__program_closes(struct sc__executor *x, uint32_t id);
/* Numbers and tags of what is open grow: by peers, and of all messages. */
void sc__rendezvous_shift(struct sc__executor *x, const uint32_t *numbers, uint64_t tags);
sc_status sc__deadlock(struct sc__executor *x);

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
/* Something of the class is about to change: up to now it was in the state it
 * is in, and that time is accounted for. Nothing of a class may change at a
 * time without this before it. */
void sc__account_settle(struct sc__executor *x, uint32_t class);
static inline void sc__touch(struct sc__executor *x, uint32_t class) {
    if (x->runners[class].mark != x->now)
        sc__account_settle(x, class);
}
/* While a class computes nothing: what holds up its compute stream … */
int32_t sc__account_program_idle(struct sc__executor *x, uint32_t class);
/* … or, where operations hold no stream, whatever it has under way. */
int32_t sc__account_graph_idle(struct sc__executor *x, uint32_t class);
void sc__account_item(struct sc__executor *x, uint32_t class, uint32_t stream);
void sc__account_finish(struct sc__executor *x);
/* Time of a class, and one of its operations, that the account has not seen yet. */
void sc__account_time(
    struct sc__executor *x, uint32_t class, int32_t category, int64_t from, int64_t to);
/* Operations that hold no stream: one of a lane begins or ends to move bytes,
 * begins or ends to wait for its peers. */
void sc__account_move(struct sc__executor *x, uint32_t class, uint32_t lane);
void sc__account_arrive(struct sc__executor *x, uint32_t class, uint32_t lane);
void sc__account_wait(struct sc__executor *x,
                      uint32_t class,
                      const struct sc__op *op,
                      int by);
void sc__account_traffic(struct sc__executor *x,
                         uint32_t class,
                         uint32_t lane,
                         uint64_t bytes);
int32_t sc__account_category(const struct sc__executor *x, const struct sc__op *op);
void sc__account_span(struct sc__executor *x,
                      uint32_t class,
                      uint32_t op,
                      uint32_t call,
                      int64_t start,
                      int64_t ready,
                      int64_t end);

/* steady.c */
void sc__steady_prepare(struct sc__executor *x);
/* A stream starts an item: is it time to look? */
void sc__steady_watch(struct sc__executor *x, uint32_t class, uint32_t stream);
bool sc__steady_due(const struct sc__executor *x);
/* Nothing more can start now: skips whole periods if the state has been here before. */
sc_status sc__steady_look(struct sc__executor *x);
/* The spans of the two ends of a message have found each other. */
void sc__steady_link(struct sc__executor *x, uint32_t send_span, uint32_t recv_span);

#define SC__EVENT_RENDEZVOUS                                                               \
    UINT32_C(0x80000000) /* in an event: the id of a rendezvous, not of a stream */

static inline uint32_t sc__lane(const struct sc__executor *x, const struct sc__op *op) {
    return op->kind == SC__OP_COLLECTIVE ? op->group : x->lanes - 1;
}

#endif
