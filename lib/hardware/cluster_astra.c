/* cluster_astra: ASTRA-sim's analytical network YAML (astra_network.c) as a
 * fabric of dimensions without software cost (class plain), so that its closed
 * forms hold: bandwidth in GiB/s, as it counts. */
#include "hardware/cluster_fields.h"
#include "network/astra/astra.h"

#include <math.h>
#include <string.h>

static struct sc__fabric_dim dimension(const struct sc__astra_network *n, uint32_t i) {
    static const enum sc__dim_kind kinds[] = {[SC__ASTRA_RING] = SC__DIM_RING,
                                              [SC__ASTRA_FULLY] = SC__DIM_FULL,
                                              [SC__ASTRA_SWITCH] = SC__DIM_SWITCH};
    return (struct sc__fabric_dim){.kind = kinds[n->topology[i]],
                                   .size = n->npus[i],
                                   .rate = n->bandwidth[i] * 0x1p30,
                                   .latency = (int64_t)llround(n->latency[i] * 1e3)};
}

sc_status sc__cluster_astra(struct sc_context *ctx,
                            const char *file,
                            struct sc__str text,
                            struct sc__cluster *out) {
    struct sc__astra_network n;
    memset(out, 0, sizeof *out);
    SC__TRY(sc__astra_network_read(ctx, file, text, SC__FABRIC_DIMS_MAX, &n));
    out->name = file;
    out->source = "ASTRA-sim network file";
    out->node_gpus = 1;
    out->fabric.kind = SC__FABRIC_DIMS;
    out->fabric.dims = n.dims;
    out->fabric.class = "plain";
    for (uint32_t i = 0; i < n.dims; i++)
        out->fabric.dim[i] = dimension(&n, i);
    return SC_OK;
}
