/* layers: a table of layers or operators, each with three parts: forward,
 * input gradient and weight gradient, and in each part a compute time and a
 * collective. Layer workloads, operator tables and profiler tables all read
 * into this; lower/layers.c turns it into a workload. */
#ifndef SC_WORKLOAD_LAYERS_H
#define SC_WORKLOAD_LAYERS_H

#include "workload/workload.h"

enum sc__suffix { SC__SUFFIX_NONE, SC__SUFFIX_EP, SC__SUFFIX_DP_EP };

enum sc__row_coll {
    SC__ROW_NONE,
    SC__ROW_ALLREDUCE,
    SC__ROW_ALLGATHER,
    SC__ROW_REDUCESCATTER,
    SC__ROW_ALLTOALL,
    SC__ROW_ALLREDUCEALLTOALL,
    SC__ROW_BROADCAST,
    SC__ROW_ALLREDUCE_ASYNC, /* operator tables: data-parallel gradient all-reduce */
    SC__ROW_SENDRECV         /* operator tables: pipeline boundary */
};

struct sc__row_part {
    int64_t compute; /* ps */
    uint8_t coll;    /* enum sc__row_coll */
    uint8_t suffix;  /* enum sc__suffix */
    uint64_t bytes;
};

enum { SC__PART_FORWARD, SC__PART_INPUT, SC__PART_WEIGHT, SC__PARTS };

struct sc__row {
    const char *name;
    struct sc__row_part part[SC__PARTS];
    int64_t process; /* ps after every finished collective of the row */
    uint32_t line;   /* in the file */
    uint8_t work;    /* enum sc__work, where known */
    /* backward of this row first runs the forward of all rows from here to it again, or
     * SC__NONE */
    uint32_t recompute_from;
};

struct sc__layers {
    const char *file;
    const char *format;
    const char *policy; /* NULL for operator and profiler tables */
    struct sc__row *rows;
    uint32_t count;
    uint32_t capacity;
    /* From the header, 0 = absent. */
    uint32_t tp;
    uint32_t ep;
    uint32_t pp;
    uint32_t vpp;
    uint32_t ga;
    uint32_t gpus;
    double pp_comm;
    bool has_pp_comm;
    bool has_vpp;
    bool inference; /* forward alone */
};

/* Rows of one layer, by position in the table. */
struct sc__layer_span {
    uint32_t first;
    uint32_t count;
};

/* The layers of the table, from names like transformer_h_0_ln_1. The last one
 * ends before the next module that stands outside the layers. */
uint32_t sc__find_layers(struct sc__arena *a,
                         const struct sc__layers *rows,
                         struct sc__layer_span **spans);

/* "ALLREDUCE", "ALLREDUCE_ASYNC" … as the files spell them; "NONE". */
const char *sc__row_coll_name(enum sc__row_coll coll);
/* "", "_EP", "_DP_EP". */
const char *sc__suffix_name(enum sc__suffix suffix);
/* A collective with its suffix ("ALLTOALL_EP"). None is written NONE, None or
 * none; false for other words. */
bool sc__row_coll_parse(struct sc__str word, uint8_t *coll, uint8_t *suffix);
/* The collective names without suffix, NULL-terminated, to suggest from. */
const char *const *sc__row_coll_names(void);

#endif
