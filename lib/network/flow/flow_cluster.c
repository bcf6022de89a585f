/* Link numbers of a cluster of nodes: the NVLink ports, out and in, of every
 * GPU; then the links of the network between the NICs. */
#include "network/flow/flow_cluster.h"

#include <string.h>

struct flow_cluster_nodes {
    const struct sc__cluster *cluster;
    struct sc__graph net; /* between NICs */
};

static bool same_node(const struct flow_cluster_nodes *n, uint32_t a, uint32_t b) {
    return a / n->cluster->node_gpus == b / n->cluster->node_gpus;
}

static uint32_t nodes_paths(const struct sc__graph *g, uint32_t from, uint32_t to) {
    const struct flow_cluster_nodes *n = g->self;
    uint32_t a = sc__nic_of(n->cluster, from);
    uint32_t b = sc__nic_of(n->cluster, to);
    return same_node(n, from, to) || a == b ? 1 : n->net.paths(&n->net, a, b);
}

static uint32_t nodes_path(
    const struct sc__graph *g, uint32_t from, uint32_t to, uint32_t w, uint32_t *links) {
    const struct flow_cluster_nodes *n = g->self;
    if (same_node(n, from, to)) {
        links[0] = sc__nvlink_up(from);
        links[1] = sc__nvlink_down(to);
        return 2;
    }
    uint32_t count = n->net.path(&n->net,
                                 sc__nic_of(n->cluster, from),
                                 sc__nic_of(n->cluster, to),
                                 w,
                                 links);
    for (uint32_t i = 0; i < count; i++)
        links[i] += g->first_plane;
    return count;
}

static uint32_t nodes_nvlink(const struct sc__graph *g, uint32_t gpu, uint32_t *links) {
    (void)g;
    links[0] = sc__nvlink_up(gpu);
    links[1] = sc__nvlink_down(gpu);
    return 2;
}

static void nodes_name(const struct sc__graph *g, uint32_t link, struct sc__buffer *out) {
    const struct flow_cluster_nodes *n = g->self;
    if (link < g->first_plane) {
        sc__printf(out, "gpu%u.nvlink.%s", link / 2, link % 2 ? "in" : "out");
        return;
    }
    link -= g->first_plane;
    if (g->planes > 1)
        sc__printf(out, "plane%u.", link / g->plane_links);
    n->net.name(&n->net, link % g->plane_links, out);
}

/* Devices: GPUs, NICs by plane, the switches of nodes, those of the network by plane. */
static void nodes_ends(const struct sc__graph *g, uint32_t link, uint32_t device[2]) {
    const struct flow_cluster_nodes *n = g->self;
    uint32_t nodes = (n->cluster->gpus + n->cluster->node_gpus - 1) / n->cluster->node_gpus;
    if (link < g->first_plane) {
        uint32_t gpu = link / 2;
        device[link % 2] = gpu;
        device[1 - link % 2] = g->hosts + gpu / n->cluster->node_gpus;
        return;
    }
    uint32_t plane = (link - g->first_plane) / g->plane_links;
    uint32_t switches = n->net.devices - n->net.hosts;
    n->net.ends(&n->net, (link - g->first_plane) % g->plane_links, device);
    for (int i = 0; i < 2; i++)
        if (device[i] < n->net.hosts)
            device[i] += g->ports + plane * n->net.hosts;
        else
            device[i] += g->hosts + nodes + plane * switches - n->net.hosts;
}

/* Leaves, spines and cores of one plane. */
static struct sc__tree_shape tree_shape(const struct sc__cluster *c, uint32_t nics) {
    const struct sc__fabric *f = &c->fabric;
    bool rails = sc__fabric_has_rails(c);
    uint32_t node_nics = sc__fabric_plane_nics(c);
    uint32_t planes = f->planes ? f->planes : 1;
    struct sc__tree_shape t = {.ports = nics,
                               .tiers = 1,
                               .leaf_ports = nics,
                               .rails = 1,
                               .port_rate = c->nic / planes};
    if (f->kind == SC__FABRIC_NONE)
        return t;
    uint32_t leaf_nodes = (uint32_t)fmax(1, ceil(sc__fabric_leaf_nodes(c)));
    t.rails = rails ? node_nics : 1;
    t.leaf_ports = rails ? leaf_nodes : leaf_nodes * node_nics;
    if ((!rails || node_nics == 1) && t.leaf_ports >= nics)
        return t;
    struct sc__cables up = sc__fabric_leaf_cables(c);
    t.tiers = 2;
    t.spines = up.count;
    t.leaf_rate = up.rate;
    if (!f->pod_leaves)
        return t;
    up = sc__fabric_core_cables(c);
    t.tiers = 3;
    t.pod_leaves = sc__fabric_pod_leaves(c);
    t.cores = up.count;
    t.core_rate = up.rate;
    return t;
}

static sc_status
make_net(struct sc_context *ctx, const struct sc__cluster *c, struct sc__graph *net) {
    uint32_t nodes = (c->gpus + c->node_gpus - 1) / c->node_gpus;
    uint64_t nics = (uint64_t)nodes * sc__fabric_plane_nics(c);
    if (nics > 1u << 24)
        return sc__fail(ctx, SC_INPUT, NULL, NULL, "more than 16777216 NICs");
    if (c->fabric.kind == SC__FABRIC_DRAGONFLY)
        return sc__graph_dragonfly(ctx, c, (uint32_t)nics, net);
    struct sc__tree_shape shape = tree_shape(c, (uint32_t)nics);
    if (nodes < 2 && !(shape.port_rate > 0))
        shape.port_rate = 1; /* never used: there is one node */
    return sc__graph_tree(ctx, &shape, net);
}

/* Of a dragonfly, or where they do not divide. */
static void note_idle_nics(struct sc_context *ctx, const struct sc__cluster *c) {
    if (c->node_nics <= c->node_gpus || sc__fabric_plane_nics(c) <= c->node_gpus)
        return;
    sc__note(ctx,
             "idle-nics",
             "%u NICs for %u GPUs: each GPU sends through one of them on the links of "
             "the fabric, and the others are idle; --net analytic uses all of them",
             c->node_nics,
             c->node_gpus);
}

sc_status sc__cluster_graph(struct sc_context *ctx,
                            const struct sc__cluster *c,
                            struct sc__graph *g) {
    if (!c->gpus || !c->node_gpus)
        return sc__fail(ctx, SC_INPUT, NULL, NULL, "the cluster has no GPUs");
    if (c->fabric.kind == SC__FABRIC_DIMS)
        return sc__graph_dims(ctx, c, g);
    if (c->fabric.kind == SC__FABRIC_LINKS)
        return sc__graph_links(ctx, c, g);
    struct flow_cluster_nodes *n = SC__NEW(&ctx->arena, struct flow_cluster_nodes);
    n->cluster = c;
    SC__TRY(make_net(ctx, c, &n->net));
    if (c->node_gpus > 1 && !(c->nvlink > 0))
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "give node.nvlink",
                        "GPUs of a node are joined by links without capacity");
    *g = (struct sc__graph){.arena = &ctx->arena,
                            .ports = c->gpus,
                            .most_hops = n->net.most_hops,
                            .most_paths = n->net.most_paths,
                            .paths = nodes_paths,
                            .path = nodes_path,
                            .nvlink = nodes_nvlink,
                            .name = nodes_name,
                            .ends = nodes_ends,
                            .self = n,
                            .hop_latency = c->fabric.hop_latency};
    g->planes = sc__fabric_planes(c);
    note_idle_nics(ctx, c);
    g->hosts = c->gpus + g->planes * n->net.hosts;
    g->devices = g->hosts + (c->gpus + c->node_gpus - 1) / c->node_gpus +
                 g->planes * (n->net.devices - n->net.hosts);
    if (n->net.shape.rails > 1)
        g->leaf_stride = c->node_gpus;
    g->first_plane = 2 * c->gpus;
    g->plane_links = n->net.links;
    uint64_t links = g->first_plane + (uint64_t)g->planes * g->plane_links;
    if (links > 1u << 28)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "the fabric has more than 268435456 links");
    g->links = (uint32_t)links;
    g->capacity = SC__NEW_ARRAY(&ctx->arena, double, g->links);
    for (uint32_t i = 0; i < g->links; i++)
        g->capacity[i] = i < g->first_plane
                             ? (c->nvlink > 0 ? c->nvlink : 1)
                             : n->net.capacity[(i - g->first_plane) % g->plane_links];
    return SC_OK;
}

/* ---- options ---- */

const struct sc__option sc__flow_options[] = {
    {"route",
     0,
     "WAY",
     "ecmp",
     "Network",
     "dmodk, ecmp[:SEED], adaptive, spray, or flowlet:GAP (--net packet): how flows choose "
     "among equal paths",
     0},
    {"send-latency",
     0,
     "TIME",
     NULL,
     "Network",
     "collectives step by step, with this time before each send (SimAI)",
     0},
    {"packet",
     0,
     "PAYLOAD+HEADER",
     NULL,
     "Network",
     "with --send-latency: bytes of a packet on the network",
     0},
    {"degrade",
     0,
     "LINK=FACTOR",
     NULL,
     "Network",
     "a link has only this part of its capacity",
     SC__OPT_REPEAT},
    {"fail",
     0,
     "LINK",
     NULL,
     "Network",
     "a link is out of service (leaf0-spine0); run notes what it costs",
     SC__OPT_REPEAT},
    {0}};

static sc_status degrade(struct sc_context *ctx, struct sc__graph *g, const char *text) {
    const char *equals = strrchr(text, '=');
    double factor;
    if (!equals || !sc__parse_double(sc__str(equals + 1), &factor))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "write it like leaf0-spine1=0.5",
                        "--degrade '%s'",
                        text);
    return sc__graph_degrade(ctx,
                             g,
                             sc__strndup(&ctx->arena, text, (size_t)(equals - text)),
                             factor);
}

/* Factors of one link that are given several times multiply: a class of failures may
 * degrade what is degraded anyway. Who says it twice is told. */
static void note_degraded_again(struct sc_context *ctx,
                                const struct sc__settings *settings,
                                unsigned which) {
    const char *text = sc__setting_nth(settings, "degrade", which);
    size_t name = (size_t)(strrchr(text, '=') - text) + 1;
    for (unsigned i = 0; i < which; i++) {
        const char *before = sc__setting_nth(settings, "degrade", i);
        if (strncmp(before, text, name))
            continue;
        sc__note(ctx,
                 "degraded-again",
                 "--degrade has %.*s several times: its factors are multiplied",
                 (int)name - 1,
                 text);
        return;
    }
}

sc_status sc__flow_settings(struct sc_context *ctx,
                            const struct sc__settings *settings,
                            struct sc__graph *g,
                            struct sc__route_policy *route) {
    const char *text = sc__setting(settings, "route");
    SC__TRY(sc__route_parse(ctx, text ? text : "ecmp", route));
    for (unsigned i = 0; (text = sc__setting_nth(settings, "degrade", i)); i++) {
        SC__TRY(degrade(ctx, g, text));
        note_degraded_again(ctx, settings, i);
    }
    for (unsigned i = 0; (text = sc__setting_nth(settings, "fail", i)); i++)
        SC__TRY(sc__graph_fail(ctx, g, text));
    return SC_OK;
}

sc_status sc__flow_graph(struct sc_context *ctx,
                         const char *fabric,
                         uint32_t ports,
                         const struct sc__settings *settings,
                         const struct sc__cluster **cluster,
                         struct sc__graph *g,
                         struct sc__route_policy *route) {
    struct sc__cluster *c = SC__NEW(&ctx->arena, struct sc__cluster);
    *cluster = c;
    if (sc__graph_describes(fabric)) {
        SC__TRY(sc__graph_parse(ctx, fabric, ports, g));
        c->gpus = g->ports;
        c->node_gpus = 1;
    } else {
        SC__TRY(sc__cluster_parse(ctx, fabric, ports, c));
        SC__TRY(sc__cluster_graph(ctx, c, g));
    }
    return sc__flow_settings(ctx, settings, g, route);
}
