/* result: everything a report says about one simulated (or measured) step. */
#ifndef SC_STATS_RESULT_H
#define SC_STATS_RESULT_H

#include "simulate/simulate.h"
#include "workload/layers.h"
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

struct sc__result {
    const struct sc__workload *workload;
    const struct sc__cluster *cluster;
    const char *net; /* engine */
    bool measured;   /* not simulated */
    const char *const *files;
    uint32_t file_count;
    const char *const *argv; /* the command, as given */
    int argc;

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
    const struct sc__timeline *timeline;
    struct sc__net_link_use *links;
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
    const struct sc__layers *layers; /* the rows, where the input had rows */
    const struct sc__shares
        *shares; /* what speeding up each part would bring, where asked for */
    uint64_t events;
};

/* Adds up a simulation. Conservation is checked here, for every class. */
sc_status sc__result_make(struct sc_context *ctx,
                          const struct sc__workload *w,
                          const struct sc__cluster *c,
                          const struct sc__net *net,
                          const struct sc__sim *sim,
                          struct sc__result *out);
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
int64_t sc__breakdown_sum(const struct sc__breakdown *b, uint32_t labels);

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
uint32_t sc__rows_sum(struct sc_context *ctx,
                      const struct sc__result *r,
                      uint32_t class,
                      struct sc__row_sums **out);

#endif
