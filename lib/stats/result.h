/* result: everything a report says about one simulated (or measured) step. */
#ifndef SC_STATS_RESULT_H
#define SC_STATS_RESULT_H

#include "simulate/simulate.h"

#define SC__LABELS 32

/* Exposed time and traffic by label ("tp", "dp", "pp" …), groups of one label
 * added up. */
struct sc__by_label {
    const char *label;
    uint64_t ops, bytes;
    int64_t busy, exposed;
};

struct sc__breakdown {
    int64_t compute, recompute, bubble, skew, other;
    struct sc__by_label comm[SC__LABELS]; /* the same labels in every breakdown of a result */
};

struct sc__compat { /* SimAI-Analytical's answer, ps; see docs/model/simai.md */
    bool present;
    bool no_bubble; /* it would divide by zero */
    double total, compute, dp, tp, ep, dp_ep, bubble, vpp; /* us */
};

struct sc__class_breakdown {
    const struct sc__class *class;
    int64_t end;
    struct sc__breakdown breakdown;
};

struct sc__result {
    const struct sc__workload *workload;
    const struct sc__cluster *cluster;
    const char *net; /* engine */
    const char **files;
    uint32_t file_count;
    int argc; /* the command, as given */
    const char *const *argv;

    int64_t step;
    uint32_t slowest; /* class */
    uint32_t labels;
    struct sc__class_breakdown *classes;
    uint32_t class_count;
    int64_t work[SC__WORKS]; /* of the slowest class */
    const struct sc__timeline *timeline;
    struct sc__net_link_use *links;
    uint32_t link_count;
    struct sc__compat compat;
    double mfu, hfu, tokens_per_s, tflops_per_gpu; /* 0 = unknown */
    uint64_t memory_capacity;
    const struct sc__layers *layers; /* the rows, where the input had rows */
};

/* Adds up a simulation. Conservation is checked here, for every class. */
sc_status sc__result_make(struct sc_context *ctx, const struct sc__workload *w, const struct sc__cluster *c,
                          const struct sc__net *net, const struct sc__sim *sim, struct sc__result *out);

#endif
