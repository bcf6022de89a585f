/* workload: what must run. One form for every input.
 *
 *   job ── mesh, groups
 *    └─ classes   ranks with equal programs; executed once, whatever their number
 *        └─ program   a list of calls
 *            └─ call   a block, for one micro-batch
 *                └─ block   operations in the order they are issued
 *
 * An operation runs on a stream of its rank. It starts when
 *   - the operation before it on that stream has ended,
 *   - for each stream in `after`: all that was issued there before it has ended
 *     (what an event recorded now and waited for would do),
 *   - each explicit dependency (an index in the same block) has ended.
 * Blocks are shared: the 128 micro-batches of a stage are 128 calls of one
 * block. An input that is one long list (a trace, a graph) is one block called
 * once. Everything is arrays and 32-bit indices, so a workload can be copied,
 * hashed and written out as it is.
 *
 * In a `graph` block order on a stream does not count: an operation is ready
 * when its dependencies have ended, and a stream runs ready operations one at
 * a time, lowest (ready time, index) first. */
#ifndef SC_WORKLOAD_H
#define SC_WORKLOAD_H

#include "workload/mesh.h"

enum sc__op_kind {
    SC__OP_COMPUTE,
    SC__OP_COLLECTIVE,
    SC__OP_SEND,
    SC__OP_RECV,
    SC__OP_WAIT /* takes no time: a place to wait for other streams */
};

enum sc__phase {
    SC__FORWARD,
    SC__BACKWARD, /* input gradient, or all of backward */
    SC__WGRAD,    /* weight gradient where it stands alone */
    SC__RECOMPUTE,
    SC__UPDATE, /* once a step: reductions, optimizer, gathers */
    SC__PHASES
};

enum sc__coll {
    SC__ALLREDUCE,
    SC__ALLGATHER,     /* bytes: the full gathered tensor */
    SC__REDUCESCATTER, /* bytes: the full tensor before the scatter */
    SC__ALLTOALL,      /* bytes: all that one rank holds, its own part included */
    SC__BROADCAST,
    SC__REDUCE,
    SC__BARRIER,
    SC__GATHER,  /* bytes: the full tensor, as the root has it then */
    SC__SCATTER, /* bytes: the full tensor, as the root had it */
    SC__SHIFT,   /* bytes: what every rank sends to the next one of the group */
    SC__COLLS
};

/* What the time of a compute operation counts as. */
enum sc__work {
    SC__WORK_OTHER, /* compute of unknown kind */
    SC__WORK_GEMM,
    SC__WORK_ATTENTION,
    SC__WORK_NORM,
    SC__WORK_ELEMENTWISE,
    SC__WORK_EMBEDDING,
    SC__WORK_LOSS,
    SC__WORK_OPTIMIZER,
    SC__WORK_ROUTER, /* gate, permutation, capacity bookkeeping */
    SC__WORK_COPY,
    SC__WORK_HOST, /* the GPU waits for the host: reported as "other" */
    SC__WORKS
};

enum {
    SC__OP_EAGER = 1, /* send: the bytes leave although no receive is posted */
    SC__OP_MEASURED =
        2, /* a transfer whose pure cost is given in `cost`, not asked of the network */
    SC__OP_PEER_NEXT = 4, /* peer = the same rank on the next stage (wraps round) */
    SC__OP_PEER_PREV = 8, /* … on the previous stage */
    SC__OP_ANY_PEER = 16, /* receive: from whoever sends this tag */
    SC__OP_ANY_TAG = 32   /* receive: whatever the tag */
};

#define SC__NONE UINT32_MAX
/* Set on a dependency of a graph block: wait until it has started, not ended. */
#define SC__DEP_START 0x80000000u
#define SC__MAX_STREAMS 16 /* so that a set of streams is a 16-bit mask */

struct sc__op {
    uint8_t kind;
    uint8_t phase;
    uint8_t coll;
    uint8_t work;
    uint8_t stream;
    uint8_t flags;
    uint16_t after;     /* set of streams */
    uint16_t group;     /* collectives: index in groups; send, recv: NIC */
    uint16_t deps;      /* how many explicit dependencies … */
    uint32_t first_dep; /* … from here in workload.deps */
    uint32_t name;      /* in workload.names */
    uint32_t row;       /* row of the input it comes from, or SC__NONE */
    uint32_t layer;     /* layer of the model, or SC__NONE */
    uint32_t peer;      /* send, recv: rank (see flags); rooted collectives: root */
    uint32_t tag;       /* send, recv; the call's tag is added */
    /* compute: ps. Transfers: ps added after them (local update), or see MEASURED */
    int64_t cost;
    uint64_t bytes; /* transfers: bytes. Compute: bytes moved where known */
};

struct sc__block {
    /* in workload.ops */
    uint32_t first_op;
    uint32_t ops;
    bool graph;
    bool
        slots; /* graph: transfers but receives hold their stream too, lowest index first */
};

struct sc__call {
    uint32_t block;
    uint32_t micro_batch; /* SC__NONE: of the step */
    uint32_t chunk;       /* virtual pipeline chunk */
    uint32_t tag;         /* added to the tags of its sends and receives */
};

struct sc__program {
    /* in workload.calls */
    uint32_t first_call;
    uint32_t calls;
};

struct sc__class {
    uint32_t program;
    uint32_t rank;  /* one of its ranks, which stands for all */
    uint32_t ranks; /* how many there are */
    uint32_t stage;
    double slow; /* compute times are multiplied by this; 1 = as given */
    const char *name;
};

struct sc__group {
    enum sc__group_kind kind;
    const char *label; /* key in reports */
    uint32_t *ranks;   /* SC__GROUP_LIST only */
    uint32_t count;
};

/* W: while kernels run, at rest, and at most; 0 = unknown. */
struct sc__draw {
    double busy;
    double idle;
    double limit;
};

/* Memory of one stage's ranks, bytes; all zero where the input does not tell. */
struct sc__memory {
    uint64_t weights;
    uint64_t gradients;
    uint64_t optimizer;
    uint64_t activations;
    uint64_t logits;
    uint64_t workspace;
    uint64_t communication;
    uint64_t context;
    uint64_t fragmentation;
    uint64_t host; /* in the memory of the host: no part of the total */
};

static inline uint64_t sc__memory_total(const struct sc__memory *m) {
    return m->weights + m->gradients + m->optimizer + m->activations + m->logits +
           m->workspace + m->communication + m->context + m->fragmentation;
}

/* Ranks of an expert-parallel group that differ in load: the first `ranks[0]` of each
 * group are of level 0, and so on. A class for each level and stage, stage fastest. */
struct sc__load_levels {
    uint32_t count;
    const uint32_t *ranks;
    const struct sc__class *classes;
    const struct sc__memory *memory;
};

struct sc__workload {
    struct sc__arena *arena;
    const char *format; /* "workload-text", "megatron-trace", … */
    struct sc__mesh mesh;
    uint32_t vpp;
    uint32_t micro_batches;
    const char
        *schedule; /* "1f1b", "interleaved", "gpipe", "zb-h1", "zb-2p", "zb-v", or NULL */
    /* pp > 1: a class begins the next step when it has ended this one, not when all have */
    bool steps_overlap;
    double tokens;          /* per step over all ranks; 0 = unknown */
    double model_flops;     /* per step over all ranks; 0 = unknown */
    double hardware_flops;  /* the same with recomputation */
    uint8_t compute_stream; /* the stream whose idling counts; 0 by default */
    /* compute is slower by this share while transfers of its rank run; 0 = not at all */
    double comm_tax;
    uint16_t untaxed; /* streams whose transfers take no SMs (copy engines) */

    struct sc__op *ops;
    uint32_t op_count;
    uint32_t op_capacity;
    uint32_t *deps;
    uint32_t dep_count;
    uint32_t dep_capacity;
    struct sc__block *blocks;
    uint32_t block_count;
    uint32_t block_capacity;
    struct sc__call *calls;
    uint32_t call_count;
    uint32_t call_capacity;
    struct sc__program *programs;
    uint32_t program_count;
    uint32_t program_capacity;
    struct sc__class *classes;
    uint32_t class_count;
    uint32_t class_capacity;
    struct sc__group *groups;
    uint32_t group_count;
    uint32_t group_capacity;
    uint32_t *match;          /* by operation, or NULL; see workload/match.h */
    uint32_t *rank_class;     /* by rank; NULL: class index = pipeline stage */
    uint64_t memory_capacity; /* of one GPU, bytes; 0 = unknown */
    uint64_t host_capacity;   /* of the host's memory for one GPU; 0 = unknown */
    double peak_flops;        /* of one GPU in the type of the GEMMs, FLOP/s; 0 = unknown */
    struct sc__draw draw;     /* of one GPU */
    double gpu_usd_per_hour;  /* 0 = unknown */
    struct sc__memory *memory;            /* by class, or NULL */
    const struct sc__load_levels *levels; /* or NULL */
    struct sc__names names;
    const char *stream_names[SC__MAX_STREAMS]; /* NULL: unnamed */
};

struct sc__workload *sc__workload_new(struct sc__arena *arena, const char *format);
/* The group of this kind, made once. */
uint16_t sc__workload_group(struct sc__workload *w, enum sc__group_kind kind);
/* The n-th group of this kind: the same ranks once more, for collectives that
 * run beside those of the first and keep an order of their own. */
uint16_t
sc__workload_communicator(struct sc__workload *w, enum sc__group_kind kind, unsigned n);
/* Every rank by itself: transfers of which the time is known, and not the other end. The
 * label must live as long as the workload. */
uint16_t sc__workload_group_alone(struct sc__workload *w, const char *label);
/* A group given by its ranks (any order; kept as given). */
uint16_t sc__workload_group_list(struct sc__workload *w,
                                 const char *label,
                                 const uint32_t *ranks,
                                 uint32_t count);
uint32_t sc__workload_name(struct sc__workload *w, const char *name);

/* Builders. A block is open from begin to end; add gives a zeroed operation
 * (row, layer and peer are SC__NONE) whose address holds until the next add. */
void sc__block_begin(struct sc__workload *w);
struct sc__op *sc__block_add(struct sc__workload *w,
                             enum sc__op_kind kind,
                             enum sc__phase phase,
                             uint8_t stream,
                             const char *name);
/* The same with a name of workload.names. */
struct sc__op *sc__block_add_id(struct sc__workload *w,
                                enum sc__op_kind kind,
                                enum sc__phase phase,
                                uint8_t stream,
                                uint32_t name);
/* The operation added last depends on operation `index` of the open block. */
void sc__block_depend(struct sc__workload *w, uint32_t index);
uint32_t sc__block_end(struct sc__workload *w); /* the block's index */
uint32_t sc__program_begin(struct sc__workload *w);
void sc__program_call(struct sc__workload *w,
                      uint32_t block,
                      uint32_t micro_batch,
                      uint32_t chunk,
                      uint32_t tag);
/* Closes the program and makes a class that runs it. */
uint32_t sc__class_add(struct sc__workload *w,
                       uint32_t program,
                       uint32_t rank,
                       uint32_t ranks,
                       uint32_t stage);

/* Numbers the ranks in another order ("pp-dp-tp"): classes that are pipeline
 * stages follow it; ranks that the input numbers itself cannot. */
sc_status
sc__workload_order(struct sc_context *ctx, struct sc__workload *w, const char *order);
/* Which class runs rank. */
uint32_t sc__workload_class_of(const struct sc__workload *w, uint32_t rank);
/* The rank a send or receive of this rank talks to. */
uint32_t sc__op_peer(const struct sc__workload *w, const struct sc__op *op, uint32_t rank);
/* Members of a group as seen from rank. */
uint32_t sc__group_size(const struct sc__workload *w, uint16_t group);
uint32_t
sc__group_member(const struct sc__workload *w, uint16_t group, uint32_t rank, uint32_t i);
/* The group has members on several pipeline stages: who waits in it waits for
 * the pipeline, not for a slower peer. */
bool sc__group_across_stages(const struct sc__workload *w, uint16_t group);

/* Splits classes so that `rank` stands alone and computes `slow` times as
 * long, and every other rank that this distinguishes gets the class it then
 * needs (colour refinement over groups and peers). */
sc_status sc__workload_slow_rank(struct sc_context *ctx,
                                 struct sc__workload *w,
                                 uint32_t rank,
                                 double slow);
/* Puts ranks of several classes into one where they run the same program and
 * wait for the same classes: the fewest classes the simulator may run. How their
 * groups lie on nodes is taken from one of them. */
void sc__workload_merge(struct sc__workload *w);
/* Splits classes whose ranks have groups or pipeline neighbours that lie differently in
 * nodes: what they send takes different times. node: by rank. Leaves alone what
 * lists its groups or is a graph. */
void sc__workload_split_places(struct sc__workload *w, const uint32_t *node);
/* sc__workload_slow_rank for each of "rank:N=F", NULL-terminated; slow may be NULL. */
sc_status
sc__workload_slow(struct sc_context *ctx, const char *const *slow, struct sc__workload *w);

/* Puts every rank into the class of its level and stage, and splits and merges as is
 * needed, by the mesh as it is now. */
void sc__workload_place_levels(struct sc__workload *w);

/* What messages between two ranks are called: "pp" where there is a pipeline. */
const char *sc__message_label(const struct sc__workload *w);
const char *sc__coll_name(enum sc__coll coll); /* "ALLREDUCE" */
/* One rank of the group is its root: broadcast, reduce, gather, scatter. */
bool sc__coll_rooted(unsigned coll);
/* The root exchanges a part with every other rank: gather, scatter. */
static inline bool sc__coll_to_root(unsigned coll) {
    return coll == SC__GATHER || coll == SC__SCATTER;
}
/* Its messages are the sender's own, and go to who wants them: no rank passes any on. */
static inline bool sc__coll_direct(unsigned coll) {
    return coll == SC__ALLTOALL || coll == SC__SHIFT || coll == SC__COLLS ||
           sc__coll_to_root(coll);
}
const char *sc__phase_name(enum sc__phase phase);
const char *sc__work_name(enum sc__work work);

#endif
