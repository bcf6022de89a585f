#include "hardware/cluster_fields.h"

#include <string.h>

#define TOP(key, word, type, field)                                                        \
    { NULL, key, word, SC__FIELD_##type, offsetof(struct sc__cluster, field) }
#define IN(section, key, word, type, field)                                                \
    { section, key, word, SC__FIELD_##type, offsetof(struct sc__cluster, field) }

const struct sc__field sc__cluster_fields[] = {
    TOP("name", "name", TEXT, name),
    TOP("source", NULL, TEXT, source),
    TOP("gpu", "gpu", TEXT, gpu),
    TOP("generation", "generation", TEXT, generation),
    TOP("gpus", "gpus", COUNT, gpus),
    TOP("hbm", "hbm", RATE, hbm),
    IN("node", "gpus", "node", COUNT, node_gpus),
    IN("node", "inside", "inside", INSIDE, inside),
    IN("node", "nvlink", "nvlink", RATE, nvlink),
    IN("node", "latency", "step", TIME, nvlink_latency),
    IN("node", "nics", "nics", COUNT, node_nics),
    IN("node", "tray", "tray", COUNT, tray),
    IN("node", "nic", "nic", RATE, nic),
    IN("node", "host_link", "host-link", RATE, host_link),
    IN("node", "host_memory", "host-memory", RATE, host_memory),
    IN("node", "host_size", "host-size", SIZE, host_size),
    IN("node", "host_gpus", "host-gpus", COUNT, host_gpus),
    IN("node", "host_cores", "host-cores", COUNT, host_cores),
    IN("fabric", "kind", "fabric", KIND, fabric.kind),
    IN("fabric", "class", "class", TEXT, fabric.class),
    IN("fabric", "latency", "hop", TIME, nic_latency),
    IN("fabric", "switch_latency", "switch-latency", TIME, fabric.hop_latency),
    IN("fabric", "leaf_nodes", "leaf", COUNT, fabric.leaf_nodes),
    IN("fabric", "spines", "spines", COUNT, fabric.spines),
    IN("fabric", "pod_leaves", "pod-leaves", COUNT, fabric.pod_leaves),
    IN("fabric", "cores", "cores", COUNT, fabric.cores),
    IN("fabric", "planes", "planes", COUNT, fabric.planes),
    IN("fabric", "switch_ports", "ports", COUNT, fabric.switch_ports),
    IN("fabric", "oversubscription", "oversubscription", RATIO, fabric.oversubscription),
    IN("fabric",
       "pod_oversubscription",
       "pod-oversubscription",
       RATIO,
       fabric.pod_oversubscription),
    IN("fabric", "link", "link", RATE, fabric.link),
    IN("fabric", "sharp", "sharp", FLAG, fabric.sharp),
    IN("fabric", "router_nics", "router-nics", COUNT, fabric.router_nics),
    IN("fabric", "group_routers", "group-routers", COUNT, fabric.group_routers),
    IN("fabric", "global_links", "global-links", COUNT, fabric.global_links),
    IN("fabric", "groups", "groups", COUNT, fabric.groups),
    IN("fabric", "nvswitches", NULL, WHOLE, fabric.nvswitches),
    IN("fabric", "switches", NULL, WHOLE, fabric.switches),
    IN("collectives",
       "gpus_per_process",
       "gpus-per-process",
       COUNT,
       tuning.gpus_per_process),
    {NULL, NULL, NULL, SC__FIELD_TEXT, 0},
};

static const char *const inside_names[] = {"nvswitch", "mesh", "pcie", "full", NULL};
static const char *const kind_names[] = {
    "none", "rail", "fat-tree", "hpn", "dcn", "dims", "dragonfly", "links", NULL};

const char *sc__fabric_kind_name(enum sc__fabric_kind kind) {
    return kind_names[kind];
}
const char *sc__inside_name(enum sc__inside inside) {
    return inside_names[inside];
}

const struct sc__field *sc__field_by_key(const char *section, const char *key) {
    for (const struct sc__field *f = sc__cluster_fields; f->key; f++)
        if (!strcmp(f->key, key) &&
            (section ? f->section && !strcmp(section, f->section) : !f->section))
            return f;
    return NULL;
}

const struct sc__field *sc__field_by_word(struct sc__str word) {
    for (const struct sc__field *f = sc__cluster_fields; f->key; f++)
        if (f->word && sc__str_is(word, f->word))
            return f;
    return NULL;
}

_Static_assert(sizeof sc__cluster_fields / sizeof *sc__cluster_fields <= 64,
               "a bit of sc__cluster.said for each");

bool sc__field_said(const struct sc__cluster *c, const char *word) {
    const struct sc__field *f = sc__field_by_word(sc__str(word));
    return f && c->said >> (f - sc__cluster_fields) & 1;
}

static bool parse_word(struct sc__str s, const char *const *words, unsigned *out) {
    for (unsigned i = 0; words[i]; i++)
        if (sc__str_is(s, words[i])) {
            *out = i;
            return true;
        }
    return false;
}

static const char *set_word(void *at, enum sc__field_type type, struct sc__str value) {
    unsigned i = 0;
    if (type == SC__FIELD_INSIDE) {
        if (!parse_word(value, inside_names, &i))
            return "nvswitch, mesh, pcie or full";
        *(enum sc__inside *)at = (enum sc__inside)i;
        return NULL;
    }
    if (sc__str_is(value, "torus"))
        i = SC__FABRIC_DIMS;
    else if (!parse_word(value, kind_names, &i))
        return "none, rail, fat-tree, hpn, dcn, dims, dragonfly or links";
    *(enum sc__fabric_kind *)at = (enum sc__fabric_kind)i;
    return NULL;
}

static const char *set_flag(bool *at, struct sc__str value) {
    *at = sc__str_is(value, "true") || sc__str_is(value, "yes") || sc__str_is(value, "1");
    return *at || sc__str_is(value, "false") || sc__str_is(value, "no") ||
                   sc__str_is(value, "0")
               ? NULL
               : "true or false";
}

static const char *set_whole(uint32_t *at, uint32_t least, struct sc__str value) {
    if (!sc__parse_u32(value, at) || *at < least || *at > UINT32_MAX / 64)
        return least ? "a whole number, 1 or more" : "a whole number";
    return NULL;
}

const char *sc__field_set(struct sc_context *ctx,
                          struct sc__cluster *c,
                          const struct sc__field *f,
                          struct sc__str value) {
    void *at = (char *)c + f->offset;
    switch (f->type) {
    case SC__FIELD_TEXT:
        if (!value.n)
            return "a name";
        *(const char **)at = sc__strndup(&ctx->arena, value.p, value.n);
        return NULL;
    case SC__FIELD_COUNT:
        return set_whole(at, 1, value);
    case SC__FIELD_WHOLE:
        return set_whole(at, 0, value);
    case SC__FIELD_RATE:
        return sc__parse_rate(value, at) && *(double *)at > 0
                   ? NULL
                   : "a rate above 0 with its unit, like 400Gbps or 450GB/s";
    case SC__FIELD_SIZE:
        return sc__parse_bytes(value, at) && *(uint64_t *)at > 0 ? NULL
                                                                 : "a size, like 256GiB";
    case SC__FIELD_TIME:
        return sc__parse_time(value, at) && *(int64_t *)at >= 0 ? NULL
                                                                : "a time, like 500ns";
    case SC__FIELD_RATIO:
        return sc__parse_double(value, at) && *(double *)at >= 1 ? NULL
                                                                 : "a number, 1 or more";
    case SC__FIELD_FLAG:
        return set_flag(at, value);
    case SC__FIELD_INSIDE:
    case SC__FIELD_KIND:
        return set_word(at, f->type, value);
    }
    return "something else";
}

bool sc__dims_parse(struct sc__str text, struct sc__fabric *fabric) {
    struct sc__str part;
    fabric->dims = 0;
    while (sc__split(&text, 'x', &part)) {
        uint32_t size;
        if (fabric->dims == SC__FABRIC_DIMS_MAX || !sc__parse_u32(part, &size) ||
            size < 1 || size > 1u << 20)
            return false;
        fabric->dim[fabric->dims++] = (struct sc__fabric_dim){SC__DIM_RING, size, 0, 0};
    }
    fabric->kind = SC__FABRIC_DIMS;
    return fabric->dims > 0;
}
