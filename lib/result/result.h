/* result: everything a report says about one simulated (or measured) step.
 *
 * A result is self-contained: it owns one arena that holds copies of all it
 * refers to. It outlives the workload, the cluster, the engine and the context
 * it came from, and the next evaluation; sc__result_free gives all of it back.
 * Writers (report/write.h) read it and nothing else, and never change it, so
 * several may do so at once. */
#ifndef SC_RESULT_RESULT_H
#define SC_RESULT_RESULT_H

#include "result/critical_path.h"
#include "result/operations.h"
#include "result/segments.h"
#include "result/whatif.h"
#include "simulate/simulate.h"
#include "workload/shares.h"

#define SC__LABELS 32

/* Exposed time and traffic by label ("tp", "dp", "pp" …), groups of one label
 * added up. */
struct sc__by_label {
    const char *label;
    uint64_t ops;
    uint64_t bytes;
    int64_t busy;
    int64_t exposed;
};

struct sc__breakdown {
    int64_t compute;
    int64_t recompute;
    int64_t bubble;
    int64_t skew;
    int64_t other;
    struct sc__by_label
        comm[SC__LABELS]; /* the same labels in every breakdown of a result */
};

/* What a rank sends, as the input says it: by phase, collective and group. */
struct sc__volume {
    enum sc__phase phase;
    uint8_t coll; /* enum sc__coll; SC__COLLS: messages */
    const char *label;
    uint64_t ops;
    uint64_t bytes;
};

/* SimAI-Analytical's answer to the same file, us; see docs/model/simai.md. */
struct sc__compat {
    /* no_bubble: it would divide by zero */
    bool present;
    bool no_bubble;
    double total;
    double compute;
    double dp;
    double tp;
    double ep;
    double dp_ep;
    double bubble;
    uint32_t vpp;
};

struct sc__class_breakdown {
    const struct sc__class *class;
    int64_t end; /* of its last operation; where steps overlap, from its first one on */
    struct sc__breakdown breakdown;
};

/* What reports say of the cluster. */
struct sc__result_cluster {
    const char *name;
    const char *gpu; /* or NULL: unknown */
    const char *fabric;
    uint32_t gpus;
    uint32_t node_gpus;
    uint32_t node_nics;
    double nvlink; /* bytes/s, one GPU, one direction */
    double nic;    /* bytes/s, one NIC, one direction */
    bool ideal;    /* communication is free */
};

/* A setting as it was resolved, or a data file and where its figures come from. */
struct sc__result_setting {
    const char *name;
    const char *value;
};

struct sc__result_settings {
    struct sc__result_setting *items;
    uint32_t count;
    uint32_t capacity;
};

/* The model that was trained; no name where the input is something else. */
struct sc__result_model {
    const char *name;
    double parameters;
    double active; /* that a token uses */
};

/* How far published steps like this one were from their forecasts. */
struct sc__band {
    uint32_t count; /* of published steps; 0: there is no band */
    double mean;    /* of the absolute errors, % */
    double bias;    /* mean error, %: below 0 the forecast is too short */
    const char *grade;
    const char *like; /* what they share with this step */
};

/* What the software's profile set, and the step with each of it as it would be
 * without. */
struct sc__software_cost {
    const char *name;    /* of an option or a constant */
    const char *value;   /* "" for a flag */
    const char *profile; /* that says so */
    const char *why;
    int64_t without; /* the step; -1: it cannot be run so */
    bool is_constant;
};

struct sc__software_costs {
    const char *name;
    const char *title;
    const char *source;
    const char *usual;  /* the profile that all others fall back on */
    int64_t usual_step; /* the step with that; −1: it cannot run so */
    struct sc__software_cost *rows;
    uint32_t count;
    uint32_t capacity;
};

/* The step with one thing changed that people can buy or set. */
struct sc__change_row {
    const char *key;   /* "nic*2", "micro-batches*2" */
    const char *title; /* for people */
    int64_t step;
    double work; /* tokens of that step, against this one */
    bool fits;   /* into memory, where that is known */
};

struct sc__changes {
    struct sc__change_row *rows;
    uint32_t count;
    uint32_t capacity;
};

/* A run of many such steps, in which nothing fails. */
struct sc__training {
    double tokens; /* 0: not asked for */
    double days;
    double gpu_hours;
    double usd_per_hour; /* of a GPU; 0: unknown */
    double usd;
};

struct sc__result {
    struct sc__arena arena; /* of all that follows */

    /* What was run. The workload is a copy to look names up in: mesh, classes,
     * groups and memory; with a timeline also the operations. It has no
     * programs and cannot be simulated. */
    const struct sc__workload *workload;
    struct sc__result_cluster cluster;
    const char *net; /* engine */
    bool measured;   /* not simulated */
    const char **files;
    uint32_t file_count;
    const char **argv; /* the command, as given */
    int argc;
    struct sc__note *notes;
    uint32_t note_count;
    struct sc__result_model model;
    struct sc__result_settings settings;

    int64_t step;
    int64_t overlap;  /* how much longer one step alone takes, where steps overlap */
    uint32_t slowest; /* class */
    uint32_t labels;
    struct sc__class_breakdown *classes;
    uint32_t class_count;
    struct sc__volume *volumes; /* of the slowest class */
    uint32_t volume_count;
    uint32_t volume_capacity;
    int64_t work[SC__WORKS]; /* of the slowest class */
    struct sc_link_use *links;
    uint32_t link_count;
    struct sc__compat compat;
    /* 0 = unknown */
    double mfu;
    double hfu;
    double tokens_per_s;
    double tflops_per_gpu;
    /* of the GPUs over the step; 0 = unknown */
    double energy_j;
    double cost_usd;
    uint64_t memory_capacity;
    uint64_t events;

    /* Where the simulation kept a timeline, else NULL and empty. */
    const struct sc__timeline *timeline;
    struct sc__by_class by_class;

    /* Where asked for. */
    struct sc__critical critical_path;
    struct sc__operations operations;
    const struct sc__shares *shares; /* what speeding up each part would bring */
    const struct sc__whatif *whatif; /* the same, each simulated again */
    struct sc__changes changes;
    const struct sc__software_costs *software;
    struct sc__band band;
    struct sc__training training;
};

/* Adds up a simulation. The notes are those the context has now; c may be NULL:
 * an unknown cluster. Free the result with sc__result_free. */
sc_status sc__result_make(struct sc_context *ctx,
                          const struct sc__workload *w,
                          const struct sc__cluster *c,
                          const struct sc__net *net,
                          const struct sc__sim *sim,
                          struct sc__result *out);
/* A measured timeline as a result, so that every report of a simulated step
 * works on it. SC_INPUT where it holds no rank; then there is nothing to free. */
sc_status sc__result_of_measured(struct sc_context *ctx,
                                 const struct sc__timeline *t,
                                 struct sc__result *out);
/* Fine on a result of zeros, and twice. */
void sc__result_free(struct sc__result *r);

/* The notes that the context has now, instead of those taken before. */
void sc__result_take_notes(struct sc_context *ctx, struct sc__result *r);
/* Of ranks that end together, which those of a collective do, the others waited for the
 * one that computed most. */
bool sc__result_is_slower(const struct sc__class_breakdown *x,
                          const struct sc__class_breakdown *y);
void sc__result_set_files(struct sc__result *r, const char *const *files, uint32_t count);
void sc__result_set_command(struct sc__result *r, const char *const *argv, int argc);
/* A setting as it was resolved: each name once. */
void sc__result_add_setting(struct sc__result *r, const char *name, const char *value);
/* The critical path and the operations of the timeline, where there is one: what
 * documents with a timeline, pages and comparisons need. */
void sc__result_add_path(struct sc__result *r);
/* w: the workload that was simulated. */
void sc__result_add_shares(struct sc__result *r, const struct sc__workload *w);
sc_status sc__result_add_whatif(struct sc_context *ctx,
                                struct sc__result *r,
                                const struct sc__workload *w,
                                const struct sc__net_maker *net,
                                const struct sc__sim_options *options);

/* Shares of the step of the class that ends last: enough for a table of many steps. */
struct sc__step_shares {
    double compute;
    double exposed;
    double bubble;
};
struct sc__step_shares sc__result_step_shares(const struct sc__result *r);
/* The line of a label in every breakdown, a new one if need be; where there are
 * too many, "other groups". */
uint32_t sc__result_label(struct sc__result *r, const char *label);

/* One line per row of the input (or per operation name): for each phase the
 * compute time, the communication time and the part of it that nothing hides.
 * Needs the timeline. */
struct sc__row_sums {
    const char *name;
    uint32_t row; /* or SC__NONE */
    uint64_t calls;
    uint64_t bytes;
    int64_t compute[SC__PHASES];
    int64_t comm[SC__PHASES];
    int64_t exposed[SC__PHASES];
};
uint32_t sc__rows_sum(struct sc__arena *a,
                      const struct sc__result *r,
                      uint32_t class,
                      struct sc__row_sums **out);

/* For who makes results: begins one, with nothing but its arena; copies of the
 * workload and of a timeline into it. */
void sc__result_begin(struct sc__result *out);
void sc__result_keep_workload(struct sc__result *r,
                              const struct sc__workload *w,
                              bool operations);
void sc__result_keep_timeline(struct sc__result *r, const struct sc__timeline *t);

/* r->training, of so many tokens and at this price; the result knows its tokens. */
void sc__result_add_training(struct sc__result *r, double tokens, double usd_per_hour);

#endif
