/* cluster: the machine, as far as it decides times. Read from a preset, a
 * one-line description or a file; immutable after that.
 *
 *     dgx-h100:1024                a preset and the number of GPUs
 *     ideal:64                     communication is free
 *     gpu=h100 gpus=64 node=8 nvlink=450GB/s nics=8 nic=400Gbps hop=2us
 *     cluster.json                 docs/formats.md
 */
#ifndef SC_MACHINE_CLUSTER_H
#define SC_MACHINE_CLUSTER_H

#include "base/base.h"

struct sc__cluster {
    const char *name;
    const char *source; /* where its figures come from */
    const char *gpu;    /* a file of data/gpus, or NULL */
    bool ideal;         /* communication is free */
    uint32_t gpus;      /* in all; 0 = as many as the job has */
    uint32_t node_gpus; /* in a node (NVLink domain) */
    uint32_t node_nics;
    double nvlink;         /* bytes/s, one GPU, one direction */
    double nic;            /* bytes/s, one NIC, one direction */
    int64_t nvlink_latency; /* ps per step inside a node */
    int64_t nic_latency;    /* ps per step between nodes */
};

/* gpus: the job's size, used where the description gives none. */
sc_status sc__cluster_parse(struct sc_context *ctx, const char *text, uint32_t gpus, struct sc__cluster *out);

/* How a group lies on the nodes. */
struct sc__shape {
    uint32_t ranks;    /* in the group */
    uint32_t nodes;    /* it touches */
    uint32_t per_node; /* ranks on the fullest node */
    uint32_t least;    /* ranks on the emptiest node it touches */
};

/* Time of one collective alone, ps. coll is enum sc__coll of ir/workload.h. */
int64_t sc__collective_time(const struct sc__cluster *c, int coll, const struct sc__shape *shape, uint64_t bytes);
/* Time of one message alone, ps. */
int64_t sc__message_time(const struct sc__cluster *c, bool same_node, uint64_t bytes);

#endif
