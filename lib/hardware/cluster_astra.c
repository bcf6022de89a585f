/* cluster_astra: ASTRA-sim's analytical network YAML (astra_network.c) as a
 * fabric of dimensions without software cost (class plain), so that its closed
 * forms hold: bandwidth in GiB/s, as it counts. And ASTRA-sim 1's JSON, which says the
 * same with a number of links for each dimension. */
#include "hardware/cluster_fields.h"
#include "network/astra/astra.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static struct sc__fabric_dim dimension(const struct sc__astra_network *n, uint32_t i) {
    static const enum sc__dim_kind kinds[] = {[SC__ASTRA_RING] = SC__DIM_RING,
                                              [SC__ASTRA_FULLY] = SC__DIM_FULL,
                                              [SC__ASTRA_SWITCH] = SC__DIM_SWITCH};
    return (struct sc__fabric_dim){.kind = kinds[n->topology[i]],
                                   .size = n->npus[i],
                                   .rate = n->bandwidth[i] * 0x1p30,
                                   .latency =
                                       (int64_t)llround(sc__astra_latency(n, i) * 1e3)};
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

/* ---- ASTRA-sim 1 ---- */

struct astra1_reading {
    struct sc_context *ctx;
    const char *file;
    const json_t *root;
};

static sc_status astra1_fail(const struct astra1_reading *r, const char *what) {
    struct sc__place at = {.file = r->file};
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    "dimensions-count, topologies-per-dim, units-count, links-count, "
                    "link-latency (ns) and link-bandwidth (GB/s), each a list",
                    "%s",
                    what);
}

static sc_status astra1_number(const struct astra1_reading *r,
                               const char *key,
                               uint32_t i,
                               double least,
                               double *out) {
    const json_t *value = json_array_get(json_object_get(r->root, key), i);
    *out = json_number_value(value);
    if (json_is_number(value) && *out >= least && *out <= 1e9)
        return SC_OK;
    return astra1_fail(r,
                       sc__format(&r->ctx->arena,
                                  "\"%s\": dimension %u has no number from %g on",
                                  key,
                                  i,
                                  least));
}

/* A ring's links go both ways round; those of a full mesh to all others. */
static sc_status
astra1_dimension(const struct astra1_reading *r, uint32_t i, struct sc__fabric_dim *out) {
    static const struct {
        const char *name;
        enum sc__dim_kind kind;
    } kinds[] = {{"Ring", SC__DIM_RING},
                 {"FullyConnected", SC__DIM_FULL},
                 {"Switch", SC__DIM_SWITCH}};
    const json_t *names = json_object_get(r->root, "topologies-per-dim");
    const char *name = json_string_value(json_array_get(names, i));
    double units;
    double links;
    double latency;
    double bandwidth;
    size_t k = 0;
    while (k < sizeof kinds / sizeof *kinds && (!name || strcmp(name, kinds[k].name)))
        k++;
    if (k == sizeof kinds / sizeof *kinds)
        return astra1_fail(r,
                           sc__format(&r->ctx->arena,
                                      "\"topologies-per-dim\": dimension %u is \"%.40s\", "
                                      "not Ring, FullyConnected or Switch",
                                      i,
                                      name ? name : ""));
    SC__TRY(astra1_number(r, "units-count", i, 1, &units));
    SC__TRY(astra1_number(r, "links-count", i, 1, &links));
    SC__TRY(astra1_number(r, "link-latency", i, 0, &latency));
    SC__TRY(astra1_number(r, "link-bandwidth", i, 1e-6, &bandwidth));
    if (units != floor(units) || units > 1 << 24)
        return astra1_fail(r, "\"units-count\" is not whole");
    double ways = kinds[k].kind == SC__DIM_RING                ? 2
                  : kinds[k].kind == SC__DIM_FULL && units > 1 ? units - 1
                                                               : 1;
    *out = (struct sc__fabric_dim){
        .kind = kinds[k].kind,
        .size = (uint32_t)units,
        .rate = bandwidth * links / ways * 0x1p30,
        /* to a switch and from it */
        .latency =
            (int64_t)llround((kinds[k].kind == SC__DIM_SWITCH ? 2 : 1) * latency * 1e3)};
    return SC_OK;
}

/* What its own machines add to a message, which the closed forms do not know. */
static void note_astra1_delays(const struct astra1_reading *r) {
    static const char *const keys[] = {"nic-latency", "router-latency", "hbm-latency"};
    for (unsigned k = 0; k < sizeof keys / sizeof *keys; k++) {
        const json_t *list = json_object_get(r->root, keys[k]);
        size_t i = 0;
        while (i < json_array_size(list) && json_number_value(json_array_get(list, i)) == 0)
            i++;
        if (i < json_array_size(list))
            sc__note(r->ctx,
                     "astra1-delays",
                     "%s: %s is not modelled: it counts for nothing",
                     r->file,
                     keys[k]);
    }
}

static sc_status astra1_read(struct astra1_reading *r, struct sc__cluster *out) {
    json_int_t dims = json_integer_value(json_object_get(r->root, "dimensions-count"));
    if (dims < 1 || dims > SC__FABRIC_DIMS_MAX)
        return astra1_fail(r,
                           sc__format(&r->ctx->arena,
                                      "\"dimensions-count\" must be from 1 to %u",
                                      SC__FABRIC_DIMS_MAX));
    out->name = r->file;
    out->source = "network file of ASTRA-sim 1";
    out->node_gpus = 1;
    out->fabric.kind = SC__FABRIC_DIMS;
    out->fabric.dims = (uint32_t)dims;
    out->fabric.class = "plain";
    for (uint32_t i = 0; i < out->fabric.dims; i++)
        SC__TRY(astra1_dimension(r, i, &out->fabric.dim[i]));
    note_astra1_delays(r);
    return SC_OK;
}

sc_status sc__cluster_astra1(struct sc_context *ctx,
                             const char *file,
                             struct sc__str text,
                             struct sc__cluster *out) {
    json_error_t error;
    json_t *root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &error);
    struct sc__place at = {.file = file,
                           .line = (uint64_t)error.line,
                           .column = (uint64_t)error.column};
    memset(out, 0, sizeof *out);
    if (!root)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "not JSON: %s", error.text);
    struct astra1_reading r = {.ctx = ctx, .file = file, .root = root};
    sc_status status = astra1_read(&r, out);
    json_decref(root);
    return status;
}
