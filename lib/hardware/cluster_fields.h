/* cluster_fields: one table of everything a cluster description may say. The
 * JSON form uses (section, key), the one-line form the short word; both end in
 * the same setter, so that they cannot drift apart. */
#ifndef SC_HARDWARE_CLUSTER_FIELDS_H
#define SC_HARDWARE_CLUSTER_FIELDS_H

#include "hardware/cluster.h"

enum sc__field_type {
    SC__FIELD_TEXT,
    SC__FIELD_COUNT, /* ≥ 1 */
    SC__FIELD_WHOLE, /* ≥ 0 */
    SC__FIELD_RATE,
    SC__FIELD_SIZE, /* bytes */
    SC__FIELD_TIME,
    SC__FIELD_RATIO, /* ≥ 1 */
    SC__FIELD_FLAG,
    SC__FIELD_INSIDE,
    SC__FIELD_KIND
};

struct sc__field {
    const char *section; /* NULL: top level */
    const char *key;
    const char *word; /* of the one-line form, NULL: none */
    enum sc__field_type type;
    size_t offset; /* in struct sc__cluster */
};

extern const struct sc__field sc__cluster_fields[]; /* ended by a NULL key */

const struct sc__field *sc__field_by_key(const char *section, const char *key);
const struct sc__field *sc__field_by_word(struct sc__str word);
/* Whether the one-line form, or a change to a preset, has this word. */
bool sc__field_said(const struct sc__cluster *c, const char *word);
/* NULL when done, else what the value should have been. */
const char *sc__field_set(struct sc_context *ctx,
                          struct sc__cluster *c,
                          const struct sc__field *f,
                          struct sc__str value);
/* "8x8x4": rings, with the cluster's NIC rate and latency filled in later. */
bool sc__dims_parse(struct sc__str text, struct sc__fabric *fabric);

const char *sc__fabric_kind_name(enum sc__fabric_kind kind);
const char *sc__inside_name(enum sc__inside inside);

/* The other readers; text is the whole file. */
sc_status sc__cluster_json(struct sc_context *ctx,
                           const char *file,
                           struct sc__str text,
                           struct sc__cluster *out);
sc_status sc__cluster_simai(struct sc_context *ctx,
                            const char *file,
                            struct sc__str text,
                            struct sc__cluster *out);
sc_status sc__cluster_astra(struct sc_context *ctx,
                            const char *file,
                            struct sc__str text,
                            struct sc__cluster *out);
sc_status sc__cluster_astra1(struct sc_context *ctx,
                             const char *file,
                             struct sc__str text,
                             struct sc__cluster *out);
sc_status sc__cluster_htsim(struct sc_context *ctx,
                            const char *file,
                            struct sc__str text,
                            struct sc__cluster *out);
sc_status sc__cluster_nccl(struct sc_context *ctx,
                           const char *file,
                           struct sc__str text,
                           struct sc__cluster *out);
/* NVLinks that a kind of GPU is sold with; 0: not known. */
uint32_t sc__nvlinks_sold(const char *gpu);
sc_status sc__cluster_nvidia_smi(struct sc_context *ctx,
                                 const char *file,
                                 struct sc__str text,
                                 struct sc__cluster *out);
sc_status sc__cluster_ibnetdiscover(struct sc_context *ctx,
                                    const char *file,
                                    struct sc__str text,
                                    struct sc__cluster *out);
/* Of a cluster of links: NVLink, NICs, leaves and what is above them, as the links have
 * them. */
void sc__cluster_sum_links(struct sc_context *ctx, struct sc__cluster *c);
#define SC__PCIE_RATE 25e9 /* bytes/s of 32 GB/s of a PCIe 4.0 slot */
#define SC__PCIE_SHARE (25 / 31.5)
/* Of GPUs that data/collectives.json does not have. */
#define SC__UNKNOWN_GENERATION "unknown"
/* Refuses a job of more GPUs than there are. */
sc_status sc__cluster_holds(struct sc_context *ctx,
                            const struct sc__cluster *c,
                            const struct sc__place *at,
                            uint32_t gpus);
/* Fills in what follows from the rest (generation, constants, counts) and
 * refuses what cannot be built. at: where the description stands, or NULL. */
sc_status sc__cluster_finish(struct sc_context *ctx,
                             struct sc__cluster *c,
                             const struct sc__place *at,
                             uint32_t gpus);

/* Writes the JSON form, with the constants that it replaces; source replaces
 * the cluster's own where given. */
void sc__cluster_write(const struct sc__cluster *c,
                       const char *source,
                       struct sc__buffer *out);

#endif
