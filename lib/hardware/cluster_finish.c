/* cluster_finish: what follows from what a description says, what is usual where it says
 * nothing, and what cannot be. */
#include "hardware/cluster.h"

#include "hardware/cluster_fields.h"
#include "hardware/gpu.h"

#include <string.h>

#define DEFAULT_CLASS "roce"

/* What data/gpus tells of a GPU's NVLink; one without gets a PCIe slot. */
static void resolve_nvlink(struct sc_context *ctx, struct sc__cluster *c) {
    const struct sc__gpu *gpu;
    if (c->nvlink > 0 || !c->gpu)
        return;
    if (sc__gpu_find(ctx, c->gpu, &gpu) != SC_OK) {
        sc__clear_error(ctx);
        return;
    }
    c->nvlink = gpu->nvlink * 1e9;
    if (c->nvlink > 0)
        return;
    c->inside = SC__INSIDE_PCIE;
    c->nvlink = SC__PCIE_RATE;
    sc__note(ctx,
             "pcie",
             "GPU %s has no NVLink: the GPUs of a node communicate over PCIe at %.0f GB/s",
             c->gpu,
             SC__PCIE_RATE / 1e9);
}

static void resolve_gpu(struct sc_context *ctx, struct sc__cluster *c) {
    double rate = 0;
    const char *generation = c->gpu ? sc__constants_generation(ctx, c->gpu, &rate) : NULL;
    if (!c->generation)
        c->generation = generation;
    if (!(c->nvlink > 0))
        c->nvlink = rate;
    if (generation && c->inside == SC__INSIDE_SWITCH &&
        sc__constants_full_mesh(generation, c->gpu, c->node_gpus))
        c->inside = SC__INSIDE_FULL;
    resolve_nvlink(ctx, c);
    if (c->generation)
        return;
    c->generation = SC__UNKNOWN_GENERATION;
    if (strcmp(c->fabric.class, "plain") != 0)
        sc__note(ctx,
                 "gpu-generation",
                 "the collective cost model has no constants for GPU %s; using those of %s",
                 c->gpu ? c->gpu : "(none given)",
                 SC__UNKNOWN_GENERATION);
}

static void resolve_class(struct sc_context *ctx, struct sc__cluster *c) {
    if (c->fabric.class)
        return;
    c->fabric.class = DEFAULT_CLASS;
    if (c->node_nics && c->gpus != c->node_gpus)
        sc__note(ctx,
                 "fabric-class",
                 "the cluster does not name its fabric class; using the latency and "
                 "efficiency of '%s'",
                 DEFAULT_CLASS);
}

static uint32_t whole_nodes(const struct sc__cluster *c, uint32_t gpus) {
    return gpus <= c->node_gpus ? c->node_gpus
                                : (gpus + c->node_gpus - 1) / c->node_gpus * c->node_gpus;
}

/* Racks of which a job uses part: the most GPUs a node, in whole hosts, that divide the
 * job. The NICs of idle hosts are idle. */
static void resolve_racks(struct sc_context *ctx, struct sc__cluster *c, uint32_t gpus) {
    if (!c->tray || gpus <= c->node_gpus || gpus % c->node_gpus == 0)
        return;
    uint32_t used = c->node_gpus / c->tray * c->tray;
    while (used > c->tray && gpus % used)
        used -= c->tray;
    if (gpus % used)
        return;
    sc__note(ctx,
             "part-of-racks",
             "%u GPUs as %u nodes of %u of their %u GPUs",
             gpus,
             gpus / used,
             used,
             c->node_gpus);
    c->node_nics = (uint32_t)((uint64_t)c->node_nics * used / c->node_gpus);
    c->node_gpus = used;
}

sc_status sc__cluster_holds(struct sc_context *ctx,
                            const struct sc__cluster *c,
                            const struct sc__place *at,
                            uint32_t gpus) {
    if (gpus > c->gpus)
        return sc__fail(ctx,
                        SC_INPUT,
                        at,
                        "give the cluster as many GPUs as the job has ranks",
                        "the job has %u ranks, but cluster '%s' has only %u GPUs",
                        gpus,
                        c->name,
                        c->gpus);
    return SC_OK;
}

static sc_status resolve_count(struct sc_context *ctx,
                               struct sc__cluster *c,
                               const struct sc__place *at,
                               uint32_t gpus) {
    uint32_t product = 1;
    for (uint32_t i = 0; i < c->fabric.dims; i++) {
        if (product > UINT32_MAX / 64 / c->fabric.dim[i].size)
            return sc__fail(ctx,
                            SC_INPUT,
                            at,
                            NULL,
                            "the dimensions multiply to too many GPUs");
        product *= c->fabric.dim[i].size;
    }
    if (c->fabric.dims) {
        if (c->gpus && c->gpus != product)
            return sc__fail(
                ctx,
                SC_INPUT,
                at,
                "the sizes of the dimensions must multiply to the number of GPUs",
                "%u GPUs, but the dimensions hold %u",
                c->gpus,
                product);
        c->gpus = product;
    }
    if (!c->node_gpus)
        c->node_gpus = c->fabric.dims ? 1 : 8;
    c->sized = c->gpus != 0;
    resolve_racks(ctx, c, c->gpus ? c->gpus : gpus);
    if (!c->gpus)
        c->gpus = whole_nodes(c, gpus ? gpus : c->node_gpus);
    if (c->gpus > c->node_gpus && c->gpus % c->node_gpus)
        return sc__fail(
            ctx,
            SC_INPUT,
            at,
            sc__format(&ctx->arena,
                       "use up to %u GPUs, or whole nodes: %u or %u",
                       c->node_gpus,
                       c->gpus / c->node_gpus * c->node_gpus,
                       whole_nodes(c, c->gpus)),
            "cluster '%s' has %u GPUs per node; %u GPUs is not a whole number of nodes",
            c->name,
            c->node_gpus,
            c->gpus);
    return sc__cluster_holds(ctx, c, at, gpus);
}

static void resolve_dims(struct sc__cluster *c) {
    for (uint32_t i = 0; i < c->fabric.dims; i++) {
        struct sc__fabric_dim *d = &c->fabric.dim[i];
        if (!(d->rate > 0))
            d->rate = c->fabric.link > 0 ? c->fabric.link : c->nic;
        if (!d->latency)
            d->latency = c->nic_latency;
    }
}

/* Uplinks matter where there are leaves and more than one. */
static void note_idle_uplinks(struct sc_context *ctx, const struct sc__cluster *c) {
    if (c->fabric.oversubscription <= 1 ||
        sc__fabric_leaf_nodes(c) < (double)c->gpus / c->node_gpus)
        return;
    sc__note(ctx,
             "one-leaf",
             "oversubscription has no effect: all nodes of '%s' share one leaf switch%s",
             c->name,
             c->fabric.leaf_nodes ? "" : "; leaf=N sets the nodes per leaf");
}

static void note_idle_planes(struct sc_context *ctx, const struct sc__cluster *c) {
    bool planes = c->fabric.kind == SC__FABRIC_HPN || c->fabric.kind == SC__FABRIC_DCN;
    if (c->fabric.planes > 1 && !planes)
        sc__note(ctx,
                 "planes-unused",
                 "planes has no effect: only the fabrics hpn and dcn have them");
}

/* The largest NVLink domain that was announced: Vera Rubin Ultra NVL576 (GTC 2025). */
enum { LARGEST_NODE = 576 };

static void note_idle_words(struct sc_context *ctx, const struct sc__cluster *c) {
    enum sc__fabric_kind kind = c->fabric.kind;
    bool plain = !c->fabric.class || !strcmp(c->fabric.class, "plain");
    if (c->step_said && !plain)
        sc__note(ctx,
                 "step-unused",
                 "step has no effect: what a step inside a node takes is measured for "
                 "class '%s'; class=plain takes it from the cluster",
                 c->fabric.class);
    if (c->ports_said && (kind == SC__FABRIC_NONE || c->gpus <= c->node_gpus))
        sc__note(ctx,
                 "ports-unused",
                 "ports has no effect: '%s' has no leaf switches whose ports could be "
                 "counted; leaf=N gives it some",
                 c->name);
    if (c->node_gpus > LARGEST_NODE)
        sc__note(ctx,
                 "node-size",
                 "a node of %u GPUs is larger than any NVLink domain that was announced "
                 "(%d): all %u are taken as on one NVSwitch",
                 c->node_gpus,
                 LARGEST_NODE,
                 c->gpus < c->node_gpus ? c->gpus : c->node_gpus);
}

/* Engines route through a dragonfly differently. */
static void note_dragonfly(struct sc_context *ctx, const struct sc__cluster *c) {
    if (c->fabric.kind != SC__FABRIC_DRAGONFLY)
        return;
    sc__note(ctx,
             "dragonfly-ways",
             "the collective cost model spreads the traffic that leaves a dragonfly group "
             "over all its global links, as adaptive routing does, and ignores the links "
             "inside the group; --net flow routes on minimal paths only");
}

static void resolve_defaults(struct sc_context *ctx, struct sc__cluster *c) {
    if (!c->fabric.planes)
        c->fabric.planes = 1;
    if (c->fabric.oversubscription < 1)
        c->fabric.oversubscription = 1;
    if (c->fabric.pod_oversubscription < 1)
        c->fabric.pod_oversubscription = 1;
    if (c->nic > 0 && !c->node_nics && c->fabric.kind != SC__FABRIC_DIMS) {
        c->node_nics = c->node_gpus;
        sc__note(
            ctx,
            "nics-default",
            "the cluster does not say how many NICs a node has: assuming %u, one per GPU",
            c->node_gpus);
    }
    if (c->fabric.kind == SC__FABRIC_NONE && c->fabric.leaf_nodes) {
        c->fabric.kind = SC__FABRIC_FAT_TREE;
        sc__note(ctx,
                 "fabric-default",
                 "the cluster has leaf switches but names no fabric: assuming a fat tree");
    }
    if (!c->name)
        c->name = "unnamed";
    resolve_dims(c);
}

/* Links to NVSwitches of a file that has the network alone. */
static void resolve_nvswitch_links(struct sc__cluster *c) {
    for (uint32_t i = 0; i < c->fabric.link_count; i++)
        if (!(c->fabric.links[i].rate > 0))
            c->fabric.links[i].rate = c->nvlink;
}

static sc_status check_rates(struct sc_context *ctx,
                             const struct sc__cluster *c,
                             const struct sc__place *at) {
    if (c->fabric.kind == SC__FABRIC_DIMS) {
        for (uint32_t i = 0; i < c->fabric.dims; i++)
            if (c->fabric.dim[i].size > 1 && !(c->fabric.dim[i].rate > 0))
                return sc__fail(ctx,
                                SC_INPUT,
                                at,
                                "give link=50GB/s, or a rate for each dimension",
                                "dimension %u of cluster '%s' has no bandwidth",
                                i,
                                c->name);
        return SC_OK;
    }
    if (c->node_gpus > 1 && !(c->nvlink > 0))
        return sc__fail(
            ctx,
            SC_INPUT,
            at,
            "give nvlink=450GB/s, or a GPU whose NVLink is known",
            "cluster '%s': the bandwidth between the GPUs of a node is not known",
            c->name);
    if (c->gpus > c->node_gpus && (!c->node_nics || !(c->nic > 0)))
        return sc__fail(ctx,
                        SC_INPUT,
                        at,
                        "give nics=8 nic=400Gbps",
                        "cluster '%s' has %u nodes but no NICs",
                        c->name,
                        c->gpus / c->node_gpus);
    return SC_OK;
}

/* What was measured inside nodes went over NVSwitch or xGMI, on V100 over a cube mesh, and
 * never over PCIe. */
static const char *grade_inside(const struct sc__cluster *c) {
    const char *grade = sc__constants_grade("generations", c->generation, c->gpu);
    bool mesh = !strcmp(c->generation, "volta");
    if (c->inside == SC__INSIDE_PCIE)
        return "guessed";
    if (mesh != (c->inside == SC__INSIDE_MESH) && !strcmp(grade, "measured"))
        return "scaled";
    return grade;
}

static const char *grade_between(const struct sc__cluster *c) {
    const char *grade = sc__constants_grade("classes", c->fabric.class, c->generation);
    bool pcie = c->inside == SC__INSIDE_PCIE && c->node_gpus > 1;
    return pcie && !strcmp(grade, "measured") ? "scaled" : grade;
}

sc_status sc__cluster_finish(struct sc_context *ctx,
                             struct sc__cluster *c,
                             const struct sc__place *at,
                             uint32_t gpus) {
    if (!c->node_gpus && c->fabric.kind != SC__FABRIC_DIMS) {
        c->node_gpus = 8;
        sc__note(ctx,
                 "node-gpus",
                 "the cluster does not say how many GPUs a node has: assuming 8");
    }
    SC__TRY(resolve_count(ctx, c, at, gpus));
    resolve_class(ctx, c);
    resolve_gpu(ctx, c);
    resolve_defaults(ctx, c);
    SC__TRY(sc__constants_load(ctx, c->generation, c->fabric.class, &c->constants));
    c->grade_inside = grade_inside(c);
    c->grade_between = grade_between(c);
    for (uint32_t i = 0; i < c->override_count; i++) {
        const struct sc__constant *k = c->overrides[i].constant;
        memcpy(sc__constant_at(&c->constants, k),
               c->overrides[i].value,
               k->count * sizeof(double));
    }
    if (c->ideal)
        return SC_OK;
    SC__TRY(check_rates(ctx, c, at));
    resolve_nvswitch_links(c);
    if (c->fabric.kind != SC__FABRIC_DIMS)
        note_idle_uplinks(ctx, c);
    note_idle_planes(ctx, c);
    note_idle_words(ctx, c);
    note_dragonfly(ctx, c);
    return sc__fabric_check(ctx, c, at);
}
