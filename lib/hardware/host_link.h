/* host_link: what a GPU finds beyond its own memory: the link to its host, and its
 * share of the memory there (data/hosts.json, docs/model/offload.md). */
#ifndef SC_HARDWARE_HOST_LINK_H
#define SC_HARDWARE_HOST_LINK_H

#include "hardware/cluster.h"

struct sc__host_link {
    double link;    /* bytes/s that a copy reaches, one way */
    double stream;  /* bytes/s of the CPU's memory for one rank */
    double threads; /* of a rank */
    double size;    /* bytes of the host's memory for one rank */
};

/* Of the GPU's usual machine, or as the cluster describes it, for a job of so many ranks
 * with so many threads each (0: the cores they have). SC_USAGE where neither says. */
sc_status sc__host_link(struct sc_context *ctx,
                        const char *gpu,
                        const struct sc__cluster *cluster,
                        uint32_t ranks,
                        uint32_t threads,
                        struct sc__host_link *out);

/* bytes/s of the link of the GPU's usual machine, as specified; 0 where it is not known. */
double sc__host_link_rate(struct sc_context *ctx, const char *gpu);
/* The same of the link by which the GPU reaches NICs. */
double sc__host_nics_rate(struct sc_context *ctx, const char *gpu);

#endif
