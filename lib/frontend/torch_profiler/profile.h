/* profile: a profiler's table of averages, as it was printed: one row per
 * name, times on the host and on the device. Rows overlap (an annotation holds
 * its operators, an operator its kernels), so what may be added up is decided
 * here, by kind of row. */
#ifndef SC_FRONTEND_TORCH_PROFILER_PROFILE_H
#define SC_FRONTEND_TORCH_PROFILER_PROFILE_H

#include "workload/workload.h"

enum sc__profile_kind {
    SC__PROFILE_ANNOTATION, /* a range the user named */
    SC__PROFILE_OPERATOR,   /* aten::… and the like */
    SC__PROFILE_NODE,       /* a node of backward */
    SC__PROFILE_ENGINE,     /* the engine around a node: holds it */
    SC__PROFILE_RUNTIME,    /* cudaLaunchKernel, … */
    SC__PROFILE_COMM,       /* the host's side of communication */
    SC__PROFILE_KERNEL,     /* ran on the device */
    SC__PROFILE_MARK        /* an annotation a second time, as the device saw it */
};

/* What time is spent on: enum sc__work, and one more. */
enum { SC__CLASS_COMM = SC__WORKS, SC__CLASSES };

struct sc__profile_row {
    /* NULL: no such column, or empty */
    const char *name;
    const char *overload;
    const char *shapes;
    const char *source;
    uint32_t line;
    uint64_t calls;
    /* ps */
    int64_t self_cpu;
    int64_t cpu_total;
    int64_t cpu_avg;
    int64_t self_dev;
    int64_t dev_total;
    int64_t dev_avg;
    /* bytes */
    int64_t cpu_mem;
    int64_t self_cpu_mem;
    int64_t dev_mem;
    int64_t self_dev_mem;
    int64_t slack; /* half the last printed digit of dev_total, ps */
    double flops;  /* of all calls; 0 = not told */
    /* of the totals, as printed, %; 0 = not told */
    double self_cpu_share;
    double self_dev_share;
    bool async; /* its host time is not part of the total */
    uint8_t kind;
    uint8_t class;
};

struct sc__profile {
    /* "CUDA", NULL: host columns only */
    const char *file;
    const char *device;
    struct sc__profile_row *rows;
    uint32_t count;
    uint32_t capacity;
    /* which of how many in the file */
    uint32_t table;
    uint32_t tables;
    bool has_self_dev;
    uint32_t steps; /* that its times are added up over; what is made of it is one step */
    /* printed below the table (the device's less annotations that it counts too), or by
     * the rows' shares; -1 = not there */
    int64_t cpu_total;
    int64_t dev_total;
};

/* Where totals are not printed and the rows are fewer than their shares say: those. */
void sc__profile_guess_totals(struct sc_context *ctx, struct sc__profile *p);
/* Makes annotations of rows that only their place in a table that was cut tells from
 * kernels. */
void sc__profile_find_regions(struct sc_context *ctx, struct sc__profile *p);
/* Where the device total counts annotations beside the kernels they hold: without them. */
void sc__profile_take_marks_off(struct sc_context *ctx, struct sc__profile *p);
/* Sets kind and class of every row, and the number of steps. */
void sc__profile_classify(struct sc__arena *a, struct sc__profile *p);
/* What a kernel or operator of this name does: enum sc__work, or SC__CLASS_COMM. */
uint8_t sc__profile_class(const char *name);
/* A kernel that Inductor made of several operators, by its name. */
bool sc__profile_of_inductor(const char *name);
/* A kernel that exchanges data with other ranks, of another library than NCCL. */
bool sc__profile_exchanges(const char *name);
/* "gemm", "communication" … */
const char *sc__class_name(unsigned class);
/* The row of this name (the host's, where there are two), or NULL. */
const struct sc__profile_row *sc__profile_find(const struct sc__profile *p,
                                               const char *name);

/* Rows that do not overlap, and what they add up to. */
struct sc__profile_part {
    const struct sc__profile_row *row;
    int64_t time;
    uint8_t class;
};

struct sc__profile_sum {
    const char *basis; /* "kernels", "operators", "device totals" or "host times" */
    struct sc__profile_part *parts; /* longest first */
    uint32_t count;
    uint32_t capacity;
    int64_t total;    /* of the parts and of what is not listed */
    int64_t unlisted; /* in the printed total, but in no row */
    int64_t beyond;   /* in rows, but not in the printed total */
    int64_t by_class[SC__CLASSES];
};

/* Whether there are times of the host alone. */
bool sc__profile_on_host(const struct sc__profile *p);
void sc__profile_add_up(struct sc__arena *a,
                        const struct sc__profile *p,
                        struct sc__profile_sum *sum);

#endif
