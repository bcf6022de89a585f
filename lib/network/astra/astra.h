/* astra: ASTRA-sim's description of a machine, network YAML and system JSON,
 * and what its collectives take: physically, or as its own binary counts. */
#ifndef SC_MACHINE_ASTRA_H
#define SC_MACHINE_ASTRA_H

#include "base/base.h"

#define SC__ASTRA_DIMS 8

enum sc__astra_topology { SC__ASTRA_RING, SC__ASTRA_FULLY, SC__ASTRA_SWITCH };
enum sc__astra_algorithm {
    SC__ASTRA_ALG_RING,
    SC__ASTRA_ALG_DIRECT,
    SC__ASTRA_ALG_HALVING,
    SC__ASTRA_ALG_TREE
};
enum sc__astra_collective {
    SC__ASTRA_ALLREDUCE,
    SC__ASTRA_ALLGATHER,
    SC__ASTRA_REDUCESCATTER,
    SC__ASTRA_ALLTOALL,
    SC__ASTRA_COLLS
};

/* The network YAML as it stands. */
struct sc__astra_network {
    uint32_t dims; /* innermost first */
    uint8_t topology[SC__ASTRA_DIMS];
    uint32_t npus[SC__ASTRA_DIMS];
    double bandwidth[SC__ASTRA_DIMS]; /* as given: ASTRA-sim takes GiB/s, physically GB/s */
    double latency[SC__ASTRA_DIMS];   /* ns, of a link */
};

/* ns of a message to the next place of dimension d: to a switch and from it are two links.
 */
double sc__astra_latency(const struct sc__astra_network *n, uint32_t d);

struct sc__astra {
    struct sc__astra_network net;
    uint8_t algorithm[SC__ASTRA_COLLS][SC__ASTRA_DIMS];
    double endpoint_delay; /* ns a message */
    double local_mem_bw;   /* GB/s; 0 = not given */
    bool local_bw_aware;   /* all-reduce as reduce-scatter up and all-gather down the
                              dimensions */
    bool compat;           /* count as its binary does */
    uint32_t splits; /* pieces of a collective that go one after the other; 1: whole */
};

/* most: how many dimensions there may be, up to SC__ASTRA_DIMS. */
sc_status sc__astra_network_read(struct sc_context *ctx,
                                 const char *file,
                                 struct sc__str text,
                                 uint32_t most,
                                 struct sc__astra_network *out);
/* system may be NULL. Every key that does not count is named in a note. */
sc_status sc__astra_read(struct sc_context *ctx,
                         const char *network,
                         const char *system,
                         bool compat,
                         struct sc__astra *out);

/* One collective of a group that spans size[d] places of dimension d, ps.
 * bytes: all-gather: the shard of one rank; otherwise the rank's buffer. */
int64_t sc__astra_collective(const struct sc__astra *a,
                             enum sc__astra_collective kind,
                             const uint32_t *size,
                             uint64_t bytes);
/* One message by hops[d] places of dimension d, ps. */
int64_t sc__astra_message(const struct sc__astra *a, const uint32_t *hops, uint64_t bytes);

#endif
