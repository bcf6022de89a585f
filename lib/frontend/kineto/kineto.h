/* kineto: one PyTorch profiler trace, as much of it as reports and replays
 * need. Times are integer nanoseconds, as in the file. */
#ifndef SC_FRONTEND_KINETO_H
#define SC_FRONTEND_KINETO_H

#include "frontend/reader.h"

enum sc__kineto_kind { SC__KINETO_COMPUTE, SC__KINETO_COMM, SC__KINETO_MEMORY };

struct sc__kineto_kernel {
    int64_t start;
    int64_t dur;
    uint32_t stream; /* index in trace.streams */
    uint32_t name;
    uint32_t correlation;
    uint32_t external;
    uint32_t comm; /* index in trace.comms, or SC__NONE */
    uint8_t kind;
    uint8_t phase;
};

/* A call on the host that put something on the device. */
struct sc__kineto_launch {
    int64_t start;
    int64_t dur;
    uint32_t correlation;
    uint32_t thread;
};

/* What record_param_comms says about a collective. */
struct sc__kineto_comm {
    uint8_t coll; /* enum sc__coll, SC__COLLS: a message, SC__COLLS + 1: not known */
    bool send;
    /* group: name */
    uint32_t group_size;
    uint32_t group;
    /* names; SC__NO_NAME: none */
    uint32_t description;
    uint32_t ranks;
    int64_t peer;
    int64_t seq;
    uint64_t in_bytes;
    uint64_t out_bytes;
    bool has_elements; /* the trace says how many: 0 is no gap in it */
    bool by_name;      /* only the name of the kernel says what it is; description, where
                          there is one, is then the label of its group */
    int64_t start;     /* of the record on the host */
};

/* An operator on the host. */
struct sc__kineto_call {
    int64_t start;
    int64_t end;
    uint32_t thread;
    uint32_t name;
    uint32_t parent; /* the call it was made in; SC__NONE */
    int64_t record;  /* its number among recorded functions; -1: not said */
};

/* An operator that updates parameters. */
struct sc__kineto_update {
    int64_t start;
    uint64_t elements;
};

struct sc__kineto_step {
    const char *name;
    int64_t start;
    int64_t end;
};

struct sc__kineto_range {
    int64_t start;
    int64_t end;
    uint32_t thread;
};

/* From the first event of a trace to the last, ns. */
struct sc__kineto_period {
    bool any;
    int64_t first;
    int64_t last;
};

/* Extends it by an event; false where it is longer than can be counted in ps (26 days), or
 * the event is of no time at all. */
bool sc__kineto_extend(struct sc__kineto_period *p, int64_t start, int64_t end);

struct sc__kineto_trace {
    const char *file;
    struct sc__kineto_period period;
    struct sc__arena *arena;
    uint32_t rank;
    uint32_t world;
    bool has_rank;
    uint64_t events;
    struct sc__names names;
    uint32_t *streams; /* as numbered in the file */
    uint32_t stream_count;
    uint32_t stream_capacity;
    struct sc__map stream_ids; /* number in the file → index */
    uint32_t last_stream;      /* index of the one seen last */
    uint64_t last_key;         /* its key */
    int64_t device;            /* of its first kernel that says one; -1: none does */
    bool devices;              /* there are kernels of others */
    struct sc__kineto_kernel *kernels; /* by start */
    uint32_t kernel_count;
    uint32_t kernel_capacity;
    /* by kernel: the latest end and launch up to it, to find a step's kernels by */
    int64_t *ended;
    int64_t *launched;
    struct sc__kineto_launch *launches; /* by correlation */
    uint32_t launch_count;
    uint32_t launch_capacity;
    struct sc__kineto_comm *comms;
    uint32_t comm_count;
    uint32_t comm_capacity;
    struct sc__kineto_comm *recorded; /* by record_param_comms on the host */
    uint32_t recorded_count;
    uint32_t recorded_capacity;
    struct sc__kineto_step *steps; /* by start */
    uint32_t step_count;
    uint32_t step_capacity;
    struct sc__kineto_range *optimizer; /* Optimizer.step annotations, by start */
    uint32_t optimizer_count;
    uint32_t optimizer_capacity;
    struct sc__kineto_range *backward_ranges; /* annotations, by start */
    uint32_t backward_count;
    uint32_t backward_capacity;
    struct sc__map backward;           /* threads of the autograd engine */
    struct sc__kineto_range *autograd; /* what the engine ran, by thread and start */
    uint32_t autograd_count;
    uint32_t autograd_capacity;
    uint32_t *operators; /* by External id: name of the operator on the host + 1 */
    uint32_t operator_count;
    uint32_t operator_capacity;
    struct sc__kineto_call *calls; /* by thread and start */
    uint32_t call_count;
    uint32_t call_capacity;
    struct sc__kineto_update *updates;
    uint32_t update_count;
    uint32_t update_capacity;
    /* operators of the host trace that was linked, and those found here; 0: there is none
     */
    uint32_t host_nodes;
    uint32_t host_linked;
    uint32_t host_comms; /* collectives that it says the size of */
};

sc_status sc__kineto_read_trace(struct sc_context *ctx,
                                const char *path,
                                struct sc__kineto_trace *out);

/* The same for a trace whose events come from elsewhere: begin, add kernels, launches,
 * calls, ranges in any order, finish. */
void sc__kineto_begin_trace(struct sc_context *ctx,
                            const char *file,
                            struct sc__kineto_trace *t);
sc_status sc__kineto_finish_trace(struct sc_context *ctx, struct sc__kineto_trace *t);
/* The index of the stream with this number on a device: 0 is the trace's own. */
uint32_t sc__kineto_stream(struct sc__kineto_trace *t, uint32_t device, uint32_t number);
bool sc__kineto_is_nccl(struct sc__str kernel);
/* By its name, of any library. */
bool sc__kineto_communicates(const char *kernel);
/* What the name of a kernel says where nothing else does; pairs of sends and
 * receives are most often those of an all-to-all. */
uint8_t sc__kineto_collective_of_kernel(struct sc__str name);
/* What the name of a call says: enum sc__coll, SC__COLLS: a message, SC__COLLS + 1: not
 * known. */
uint8_t sc__kineto_collective(struct sc__str name, bool *send);

/* kineto_host_trace.c: what PyTorch's host trace of the same run (ExecutionTraceObserver)
 * says of collectives that this trace has no record of. */
sc_status sc__kineto_link_host_trace(struct sc_context *ctx,
                                     const char *path,
                                     struct sc__kineto_trace *t);

/* What HTA prints, over [start, end) of one rank, ns. */
struct sc__kineto_breakdown {
    int64_t span;
    /* unions of the kernels of a kind */
    int64_t compute;
    int64_t comm;
    int64_t memory;
    int64_t busy;           /* any kernel */
    int64_t exposed_comm;   /* communication with no compute beside it */
    int64_t exposed_memory; /* memory with neither beside it */
    int64_t overlap;        /* communication with compute beside it */
    /* nothing runs: launched too late; short gaps; rest */
    int64_t host_idle;
    int64_t kernel_idle;
    int64_t other_idle;
};

/* The time on the device from the first kernel of a step to that of the next. */
void sc__kineto_step_window(const struct sc__kineto_trace *t,
                            uint32_t step,
                            int64_t *start,
                            int64_t *end);
/* Where a trace has the step that is asked for (SC__NONE: the first that has kernels).
 * Traces may begin with different steps, and two of them have little to do with each other:
 * what the first trace calls it counts, then its place. */
sc_status sc__kineto_choose_step(struct sc_context *ctx,
                                 const struct sc__kineto_trace *first,
                                 const struct sc__kineto_trace *t,
                                 uint32_t said,
                                 uint32_t *step);
/* The first kernel whose value in a rising list reaches this; kernel_count
 * when there is none. */
uint32_t
sc__kineto_first(const struct sc__kineto_trace *t, const int64_t *rising, int64_t value);
struct sc__kineto_breakdown
sc__kineto_break_down(const struct sc__kineto_trace *t, int64_t start, int64_t end);
/* The launch of a kernel, or NULL. */
const struct sc__kineto_launch *sc__kineto_launch_of(const struct sc__kineto_trace *t,
                                                     uint32_t correlation);

/* Sorts the operators of the host, and finds which was made in which. */
void sc__kineto_sort_calls(struct sc__kineto_trace *t);
/* The innermost operator that launched a kernel, in calls; SC__NONE. */
uint32_t sc__kineto_call_of(const struct sc__kineto_trace *t,
                            const struct sc__kineto_kernel *k);
/* The name of the innermost operator that launched a kernel; SC__NO_NAME. */
uint32_t sc__kineto_operator_of(const struct sc__kineto_trace *t,
                                const struct sc__kineto_kernel *k);

enum sc__work sc__kineto_work(const char *kernel_name);

/* Kernel time of [start, end) by class of work, and the operators that took
 * most of it. */
struct sc__kineto_operator {
    uint32_t name; /* SC__NO_NAME: kernels of no known operator */
    uint32_t kernels;
    int64_t time;
};
#define SC__KINETO_TOP 10
struct sc__kineto_totals {
    int64_t work[SC__WORKS];
    int64_t comm;
    struct sc__kineto_operator top[SC__KINETO_TOP];
    uint32_t top_count;
};

void sc__kineto_total(const struct sc__kineto_trace *t,
                      int64_t start,
                      int64_t end,
                      struct sc__kineto_totals *out);

/* Process groups of a trace, each once. */
struct sc__kineto_group {
    /* as in the trace */
    uint32_t text;
    uint32_t description;
    uint32_t *ranks;
    uint32_t size;
    const char *label;
    enum sc__group_kind said; /* what it seems to be */
    enum sc__group_kind kind; /* what it is in the mesh; so far what it seems to be */
    bool told;                /* its description says so */
    uint32_t made;            /* group of the workload + 1, once it is there */
};

struct sc__kineto_groups {
    struct sc__kineto_group *items;
    uint32_t count;
    uint32_t capacity;
    struct sc__map at; /* how the trace names it → index */
};

sc_status sc__kineto_find_groups(struct sc_context *ctx,
                                 const struct sc__kineto_trace *t,
                                 uint32_t world,
                                 struct sc__kineto_groups *out);
/* A trace alone that does not say its rank nor of how many it is (autograd's own profiler,
 * tools that write a trace anew): its process groups name ranks, and it is in all. */
void sc__kineto_place(struct sc_context *ctx, struct sc__kineto_trace *t);
/* What a process group is for, by its description: "tp", "pp" …; NULL: it does not tell. */
const char *sc__kineto_label(const char *description);
/* The group of a collective; SC__NONE when it was not found before. */
uint32_t sc__kineto_group_index(const struct sc__kineto_groups *groups,
                                const struct sc__kineto_comm *c);
/* Which of the traces (in order of rank) stands for each rank of the mesh: one
 * of its own stage, and then one with the same place in tp, cp and dp. A stage
 * without a trace is an error. */
sc_status sc__kineto_stand_in(struct sc_context *ctx,
                              const struct sc__mesh *mesh,
                              struct sc__kineto_trace *const *traces,
                              uint32_t count,
                              uint32_t *trace_of);
/* Which groups of the mesh these of a rank are; false where one is none of its. */
bool sc__kineto_groups_of_mesh(const struct sc__mesh *mesh,
                               struct sc__kineto_groups *groups,
                               uint32_t rank);
/* The mesh that gives this rank exactly these groups; false when there is none. */
bool sc__kineto_mesh(struct sc__kineto_groups *groups,
                     uint32_t rank,
                     uint32_t world,
                     struct sc__mesh *mesh);

struct sc__kineto_plan {
    /* asked for; 0: as in the trace */
    uint32_t dp;
    uint32_t ep;
    uint64_t grad_bytes; /* 0: from the trace */
    uint32_t step;       /* which ProfilerStep, SC__NONE: the first with kernels */
    bool measured_comm;  /* collectives keep their measured transfer times */
};

/* One class a trace (or one class for all ranks when there is one trace), and
 * what was measured of its operations. */
sc_status sc__kineto_replay(struct sc_context *ctx,
                            struct sc__kineto_trace *const *traces,
                            uint32_t count,
                            const struct sc__kineto_plan *plan,
                            const char *format,
                            struct sc__workload **out,
                            struct sc__timeline **measured);

/* The traces of a job: details of a document. */
struct sc__kineto_traces {
    struct sc__kineto_trace **items;
    uint32_t count;
    uint32_t capacity;
};

struct sc__kineto_paths {
    const char **items;
    uint32_t count;
    uint32_t capacity;
};

/* Files as given, and those of folders whose names end in one of the endings (ended
 * by NULL), by name. */
sc_status sc__kineto_find_files(struct sc_context *ctx,
                                const char *const *paths,
                                uint32_t count,
                                const char *const *endings,
                                struct sc__kineto_paths *out);
/* Orders the traces by rank, and makes the workload and the measurement of out. */
sc_status sc__kineto_make_document(struct sc_context *ctx,
                                   const struct sc__settings *settings,
                                   struct sc__kineto_traces *traces,
                                   const struct sc__kineto_paths *files,
                                   struct sc__document *out);
void sc__kineto_show(struct sc_context *ctx,
                     const struct sc__document *doc,
                     struct sc__buffer *text,
                     struct sc__json *json);

#endif
