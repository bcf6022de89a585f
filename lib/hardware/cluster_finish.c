/* cluster_finish: what follows from what a description says, what is usual where it says
 * nothing, and what cannot be. */
#include "hardware/cluster.h"

#include "hardware/cluster_fields.h"
#include "hardware/gpu.h"
#include "hardware/host_link.h"

#include <math.h>
#include <string.h>

#define DEFAULT_CLASS "roce"

/* Of a slot as specified, what the GPUs of a node reach between them. */
static double slot_rate(struct sc_context *ctx, const struct sc__gpu *gpu) {
    double link = gpu ? sc__host_link_rate(ctx, gpu->name) : 0;
    return link > 0 ? SC__PCIE_SHARE * link : SC__PCIE_RATE;
}

/* Why the GPUs of a node have nothing but their slots; NULL: they have NVLink. */
static const char *
why_slots(struct sc_context *ctx, const struct sc__cluster *c, const struct sc__gpu *gpu) {
    if (c->inside == SC__INSIDE_PCIE)
        return "inside=pcie: ";
    if (gpu && !(gpu->nvlink > 0))
        return sc__format(&ctx->arena, "GPU %s has no NVLink: ", c->gpu);
    if (gpu && gpu->nvlink_gpus > 0 && c->node_gpus > gpu->nvlink_gpus)
        return sc__format(&ctx->arena,
                          "NVLink of %s is a bridge that joins %.0f cards, not the %u of a "
                          "node: ",
                          c->gpu,
                          gpu->nvlink_gpus,
                          c->node_gpus);
    return NULL;
}

/* Where the description has no rate: that of the GPU's generation, of its file in
 * data/gpus, or of a PCIe slot. A preset whose nodes are said to have PCIe loses its own.
 */
static void resolve_nvlink(struct sc_context *ctx,
                           struct sc__cluster *c,
                           const struct sc__gpu *gpu,
                           double usual) {
    if (c->inside == SC__INSIDE_PCIE && sc__field_said(c, "inside") &&
        !sc__field_said(c, "nvlink"))
        c->nvlink = 0;
    if (c->nvlink > 0)
        return;
    const char *slots = why_slots(ctx, c, gpu);
    bool own = gpu && (gpu->nvlink_gpus > 0 || !(usual > 0));
    c->nvlink = own ? gpu->nvlink * 1e9 : usual;
    uint32_t sold = gpu ? sc__nvlinks_sold(gpu->name) : 0;
    if (c->nvlinks && c->nvlinks < sold)
        c->nvlink *= (double)c->nvlinks / sold;
    if (!slots)
        return;
    c->inside = SC__INSIDE_PCIE;
    c->nvlink = slot_rate(ctx, gpu);
    if (c->node_gpus > 1)
        sc__note(ctx,
                 "pcie",
                 "%sthe GPUs of a node communicate over PCIe at %.4g GB/s; nvlink= gives "
                 "another rate",
                 slots,
                 c->nvlink / 1e9);
}

/* Links of a preset that another GPU does not have. */
void sc__cluster_note_links(struct sc_context *ctx,
                            const struct sc__cluster *c,
                            const struct sc__gpu *gpu) {
    bool bridged = gpu->nvlink_gpus > 0 && c->node_gpus > gpu->nvlink_gpus;
    double own = bridged ? 0 : gpu->nvlink * 1e9;
    bool slots = c->inside == SC__INSIDE_PCIE && !(own > 0);
    if (c->ideal || c->node_gpus == 1 || !c->gpu || slots ||
        c->fabric.kind == SC__FABRIC_DIMS || fabs(own - c->nvlink) < 0.2 * c->nvlink)
        return;
    if (sc__field_said(c, "nvlink") && fabs(2 * own - c->nvlink) < 0.05 * c->nvlink) {
        sc__note(ctx,
                 "both-directions",
                 "nvlink=%.0fGB/s is both directions of %s's NVLink together, and is taken "
                 "for each of them: specifications add them up, nvlink=%.0fGB/s is one way",
                 c->nvlink / 1e9,
                 gpu->name,
                 own / 1e9);
        return;
    }
    sc__note(ctx,
             "links-of-another",
             "links stay those of '%s', %.0f GB/s inside a node, though %s has %s: "
             "--cluster \"gpu=%s gpus=… nics=… nic=…\" describes a machine of its own",
             c->name,
             c->nvlink / 1e9,
             gpu->name,
             own > 0   ? sc__format(&ctx->arena, "%.0f", own / 1e9)
             : bridged ? sc__format(&ctx->arena,
                                    "none that joins more than %.0f cards",
                                    gpu->nvlink_gpus)
                       : "no NVLink",
             gpu->name);
}

static sc_status resolve_gpu(struct sc_context *ctx, struct sc__cluster *c) {
    const struct sc__gpu *gpu = sc__gpu_known(ctx, c->gpu);
    double rate = 0;
    if (c->gpu && !gpu && sc__gpu_is_file(c->gpu))
        return sc__gpu_find(ctx, c->gpu, &gpu);
    const char *generation = c->gpu ? sc__constants_generation(ctx, c->gpu, &rate) : NULL;
    if (!c->generation)
        c->generation = generation;
    if (generation && c->inside == SC__INSIDE_SWITCH &&
        sc__constants_full_mesh(generation, c->gpu, c->node_gpus))
        c->inside = SC__INSIDE_FULL;
    resolve_nvlink(ctx, c, gpu, rate);
    if (c->generation)
        return SC_OK;
    c->generation = SC__UNKNOWN_GENERATION;
    if (strcmp(c->fabric.class, "plain") != 0)
        sc__note(ctx,
                 "gpu-generation",
                 "the collective cost model has no constants for GPU %s; using those of %s",
                 c->gpu ? c->gpu : "(none given)",
                 SC__UNKNOWN_GENERATION);
    return SC_OK;
}

/* The links of dimensions have no software on them, in any engine. */
static sc_status class_of_dimensions(struct sc_context *ctx, struct sc__cluster *c) {
    const char *said = c->fabric.class;
    if (said)
        SC__TRY(sc__constants_load(ctx, SC__UNKNOWN_GENERATION, said, &c->constants));
    if (said && strcmp(said, "plain") != 0)
        sc__note(ctx,
                 "word-unused",
                 "class has no effect: links of dimensions have latency and bandwidth "
                 "alone, as class 'plain'");
    c->fabric.class = "plain";
    return SC_OK;
}

static sc_status resolve_class(struct sc_context *ctx, struct sc__cluster *c) {
    if (c->fabric.kind == SC__FABRIC_DIMS)
        return class_of_dimensions(ctx, c);
    if (c->fabric.class)
        return SC_OK;
    c->fabric.class = DEFAULT_CLASS;
    if (c->node_nics && c->gpus != c->node_gpus)
        sc__note(ctx,
                 "fabric-class",
                 "the cluster does not name its fabric class; using the latency and "
                 "efficiency of '%s'",
                 DEFAULT_CLASS);
    return SC_OK;
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

static bool on_one_leaf(const struct sc__cluster *c) {
    return sc__fabric_leaf_nodes(c) >= (double)c->gpus / c->node_gpus;
}

/* The rails of a segment have a leaf each: what goes from one to another crosses uplinks.
 */
static bool rails_meet(const struct sc__cluster *c) {
    return sc__fabric_has_rails(c) && c->node_nics > 1 && c->gpus > c->node_gpus;
}

/* Uplinks matter where there are leaves and more than one. */
static void note_idle_uplinks(struct sc_context *ctx, const struct sc__cluster *c) {
    if (c->fabric.oversubscription <= 1 || !on_one_leaf(c))
        return;
    if (rails_meet(c)) {
        sc__note(ctx,
                 "one-segment",
                 "oversubscription counts between rails alone: all nodes of '%s' are in "
                 "one segment%s",
                 c->name,
                 c->fabric.leaf_nodes ? "" : "; leaf=N sets the nodes of one");
        return;
    }
    sc__note(ctx,
             "one-leaf",
             "oversubscription has no effect: all nodes of '%s' share one leaf switch%s",
             c->name,
             c->fabric.leaf_nodes ? "" : "; leaf=N sets the nodes per leaf");
}

static void resolve_planes(struct sc_context *ctx, struct sc__cluster *c) {
    bool planes = c->fabric.kind == SC__FABRIC_HPN || c->fabric.kind == SC__FABRIC_DCN;
    if (c->fabric.planes > 1 && !planes)
        sc__note(ctx,
                 "planes-unused",
                 "planes has no effect: only the fabrics hpn and dcn have them");
    if (!c->fabric.planes || !planes)
        c->fabric.planes = 1;
}

static void note_said(struct sc_context *ctx,
                      const struct sc__cluster *c,
                      const char *const *words,
                      const char *because) {
    for (; *words; words++)
        if (sc__field_said(c, *words))
            sc__note(ctx, "word-unused", "%s has no effect: %s", *words, because);
}

/* Words of a fabric that is not the one described. */
static void note_other_fabrics(struct sc_context *ctx, const struct sc__cluster *c) {
    static const char *const of_routers[] = {"router-nics",
                                             "group-routers",
                                             "global-links",
                                             "groups",
                                             NULL};
    static const char *const of_leaves[] = {"leaf",
                                            "spines",
                                            "oversubscription",
                                            "pod-leaves",
                                            "cores",
                                            "pod-oversubscription",
                                            NULL};
    static const char *const of_nodes[] =
        {"inside", "nvlink", "nics", "step", "switch-latency", NULL};
    static const char *const of_uplinks[] = {"spines", "link", "pod-leaves", NULL};
    static const char *const of_switches[] = {"switch-latency", NULL};
    static const char *const of_pods[] = {"cores", "pod-oversubscription", NULL};
    const struct sc__fabric *f = &c->fabric;
    bool one_leaf = on_one_leaf(c);
    if (f->kind != SC__FABRIC_DRAGONFLY)
        note_said(ctx, c, of_routers, "only the fabric dragonfly has routers");
    if (f->kind == SC__FABRIC_DRAGONFLY)
        note_said(ctx, c, of_leaves, "a dragonfly has groups of routers");
    else if (f->kind == SC__FABRIC_DIMS)
        note_said(ctx, c, of_leaves, "the fabric has dimensions, and no leaf switches");
    else if (one_leaf && !rails_meet(c))
        note_said(ctx,
                  c,
                  of_uplinks,
                  "all nodes share one leaf switch; leaf=N sets the nodes per leaf");
    if (one_leaf && f->kind != SC__FABRIC_DIMS && f->kind != SC__FABRIC_LINKS)
        note_said(
            ctx,
            c,
            of_switches,
            "all nodes share one leaf switch, which is in the latency of a hop (hop=); "
            "only --net packet has it apart");
    if (f->kind == SC__FABRIC_DIMS)
        note_said(ctx, c, of_nodes, "GPUs are attached to the dimensions (link=, hop=)");
    else if (!f->pod_leaves || one_leaf)
        note_said(ctx, c, of_pods, "there are no pods (pod-leaves=, leaf=)");
}

/* The largest NVLink domain that was announced: Vera Rubin Ultra NVL576 (GTC 2025). */
enum { LARGEST_NODE = 576 };

/* The fastest NIC that was announced: ConnectX-9, 1.6 Tb/s (GTC 2025). */
#define FASTEST_NIC 200e9

static void note_fast_nic(struct sc_context *ctx, const struct sc__cluster *c) {
    if (!(c->nic > FASTEST_NIC) || c->gpus <= c->node_gpus)
        return;
    sc__note(ctx,
             "nic-rate",
             "a NIC of %.0f GB/s is faster than any that was announced (%.0f GB/s, 1600 "
             "Gb/s): in 400Gbps the b stands for bits",
             c->nic / 1e9,
             FASTEST_NIC / 1e9);
}

/* NICs that are faster than the link by which their GPU reaches them: what if, but not on
 * such GPUs. Cards without NVLink send no more than the slot carries anyway. */
static void note_slow_slot(struct sc_context *ctx, const struct sc__cluster *c) {
    double slot = c->gpu ? sc__host_nics_rate(ctx, c->gpu) : 0;
    double nics = c->nic * c->node_nics / c->node_gpus;
    bool of_nodes = c->gpus > c->node_gpus && c->node_nics > 0;
    if (!of_nodes || !(slot > 0) || !(nics > slot) || c->inside == SC__INSIDE_PCIE)
        return;
    sc__note(ctx,
             "nic-slot",
             "NICs of %.4g GB/s a GPU: the PCIe slot of a %s carries %.4g GB/s one way; it "
             "is taken as if it were fast enough",
             nics / 1e9,
             c->gpu,
             slot / 1e9);
}

/* Without software only what the description says takes time. */
static void note_no_latency(struct sc_context *ctx, const struct sc__cluster *c) {
    bool between = c->gpus > c->node_gpus && !c->nic_latency && !c->fabric.hop_latency;
    bool inside = c->node_gpus > 1 && !c->nvlink_latency;
    bool plain = !c->fabric.class || !strcmp(c->fabric.class, "plain");
    bool nodes = c->fabric.kind != SC__FABRIC_DIMS && c->fabric.kind != SC__FABRIC_LINKS;
    if (!plain || !nodes || !(between || inside))
        return;
    sc__note(ctx,
             "no-latency",
             "class plain has no software, and no latency is given%s%s%s: there small "
             "messages take next to no time",
             inside ? " inside a node (step=)" : "",
             inside && between ? " and" : "",
             between ? " between nodes (hop=)" : "");
}

/* A pod of rails has all leaves of its segments. */
static void note_pod_leaves(struct sc_context *ctx, const struct sc__cluster *c) {
    uint32_t leaves = sc__fabric_pod_leaves(c) * sc__fabric_planes(c);
    if (!c->fabric.pod_leaves || !sc__fabric_has_rails(c) || leaves == c->fabric.pod_leaves)
        return;
    sc__note(ctx,
             "pod-leaves",
             "a segment of rails has %u leaves, one for each NIC of a node and plane: a "
             "pod of %u leaves is taken as one of %u",
             sc__fabric_plane_nics(c) * sc__fabric_planes(c),
             c->fabric.pod_leaves,
             leaves);
}

static void note_idle_words(struct sc_context *ctx, const struct sc__cluster *c) {
    enum sc__fabric_kind kind = c->fabric.kind;
    bool plain = !c->fabric.class || !strcmp(c->fabric.class, "plain");
    static const char *const reduce[] = {"sharp", NULL};
    static const char *const stream[] = {"hbm", NULL};
    if (c->fabric.sharp)
        note_said(ctx, c, reduce, "switches reduce with --algo collnet alone");
    note_said(ctx,
              c,
              stream,
              "only replays of Megatron traces read it; kernels are those of the GPU");
    note_other_fabrics(ctx, c);
    if (sc__field_said(c, "step") && !plain && kind != SC__FABRIC_DIMS)
        sc__note(ctx,
                 "step-unused",
                 "step has no effect: what a step inside a node takes is measured for "
                 "class '%s'; class=plain takes it from the cluster",
                 c->fabric.class);
    if (sc__field_said(c, "ports") &&
        (kind == SC__FABRIC_NONE || kind == SC__FABRIC_DIMS ||
         kind == SC__FABRIC_DRAGONFLY || c->gpus <= c->node_gpus))
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
    /* directly attached GPUs, and groups of routers, which are what leaves are in trees */
    if (c->fabric.kind == SC__FABRIC_DIMS)
        c->node_nics = 0;
    if (c->fabric.kind == SC__FABRIC_DRAGONFLY)
        c->fabric.leaf_nodes = 0;
    if (!c->name)
        c->name = "unnamed";
    /* PXN goes by a GPU that NVLink joins (NCCL, src/graph/paths.cc) */
    c->tuning.no_pxn |= c->inside == SC__INSIDE_PCIE;
    resolve_dims(c);
}

/* Links to NVSwitches of a file that has the network alone. */
static void resolve_nvswitch_links(struct sc__cluster *c) {
    for (uint32_t i = 0; i < c->fabric.link_count; i++)
        if (!(c->fabric.links[i].rate > 0))
            c->fabric.links[i].rate = c->nvlink;
}

#define MOST_OF_A_SLOT 256e9 /* bytes/s of 16 lanes of PCIe 7.0, one way */

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
    if (c->node_gpus > 1 && c->inside == SC__INSIDE_PCIE && c->nvlink > MOST_OF_A_SLOT)
        return sc__fail(
            ctx,
            SC_INPUT,
            at,
            "leave the rate out, or inside=pcie",
            "cluster '%s': %.0f GB/s between GPUs of a node is more than a PCIe "
            "slot has",
            c->name,
            c->nvlink / 1e9);
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
        c->node_gpus = SC__USUAL_NODE_GPUS;
        sc__note(ctx,
                 "node-gpus",
                 "the cluster does not say how many GPUs a node has: assuming %u",
                 c->node_gpus);
    }
    SC__TRY(resolve_count(ctx, c, at, gpus));
    SC__TRY(resolve_class(ctx, c));
    SC__TRY(resolve_gpu(ctx, c));
    resolve_defaults(ctx, c);
    resolve_planes(ctx, c);
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
    note_idle_words(ctx, c);
    note_fast_nic(ctx, c);
    note_slow_slot(ctx, c);
    note_no_latency(ctx, c);
    note_pod_leaves(ctx, c);
    note_dragonfly(ctx, c);
    return sc__fabric_check(ctx, c, at);
}
