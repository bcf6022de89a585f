/* Links of a tree, in this order:
 *
 *     up(port)                    port → leaf
 *     down(port)                  leaf → port
 *     leaf_up(leaf, s)            leaf → spine or aggregation switch s
 *     leaf_down(leaf, s)
 *     core_up(pod, a, c)          aggregation a of the pod → core c of index a
 *     core_down(pod, a, c)
 *
 * A path is numbered by the switches it passes: w = spine, or w = a + A·c. */
#include "network/flow/flow_graph.h"

#include <string.h>

#define MOST_PORTS (1u << 24)
#define MOST_LINKS (1u << 28)

static uint32_t leaf_of(const struct sc__graph *g, uint32_t port) {
    const struct sc__tree_shape *t = &g->shape;
    if (t->rails <= 1)
        return port / t->leaf_ports;
    return port / t->rails / t->leaf_ports * t->rails + port % t->rails;
}

static uint32_t leaf_up(const struct sc__graph *g, uint32_t leaf, uint32_t s) {
    return 2 * g->ports + leaf * g->shape.spines + s;
}

static uint32_t leaf_down(const struct sc__graph *g, uint32_t leaf, uint32_t s) {
    return leaf_up(g, leaf, s) + g->leaves * g->shape.spines;
}

static uint32_t core_up(const struct sc__graph *g, uint32_t pod, uint32_t a, uint32_t c) {
    return 2 * (g->ports + g->leaves * g->shape.spines) +
           (pod * g->shape.spines + a) * g->shape.cores + c;
}

static uint32_t core_down(const struct sc__graph *g, uint32_t pod, uint32_t a, uint32_t c) {
    return core_up(g, pod, a, c) + g->pods * g->shape.spines * g->shape.cores;
}

static bool one_pod(const struct sc__graph *g, uint32_t from_leaf, uint32_t to_leaf) {
    return g->shape.tiers < 3 ||
           from_leaf / g->shape.pod_leaves == to_leaf / g->shape.pod_leaves;
}

static uint32_t tree_paths(const struct sc__graph *g, uint32_t from, uint32_t to) {
    uint32_t a = leaf_of(g, from);
    uint32_t b = leaf_of(g, to);
    if (a == b)
        return 1;
    return one_pod(g, a, b) ? g->shape.spines : g->shape.spines * g->shape.cores;
}

static uint32_t tree_path(
    const struct sc__graph *g, uint32_t from, uint32_t to, uint32_t w, uint32_t *links) {
    uint32_t a = leaf_of(g, from);
    uint32_t b = leaf_of(g, to);
    uint32_t n = 0;
    uint32_t spine = w % (g->shape.spines ? g->shape.spines : 1);
    links[n++] = from;
    if (a != b) {
        links[n++] = leaf_up(g, a, spine);
        if (!one_pod(g, a, b)) {
            uint32_t core = w / g->shape.spines % g->shape.cores;
            links[n++] = core_up(g, a / g->shape.pod_leaves, spine, core);
            links[n++] = core_down(g, b / g->shape.pod_leaves, spine, core);
        }
        links[n++] = leaf_down(g, b, spine);
    }
    links[n++] = g->ports + to;
    return n;
}

static void tree_name(const struct sc__graph *g, uint32_t link, struct sc__buffer *out) {
    uint32_t leaf_links = g->leaves * g->shape.spines;
    uint32_t core_links = g->pods * g->shape.spines * g->shape.cores;
    const char *middle = g->shape.tiers == 3 ? "agg" : "spine";
    if (link < 2 * g->ports) {
        sc__printf(out, "port%u.%s", link % g->ports, link < g->ports ? "up" : "down");
        return;
    }
    link -= 2 * g->ports;
    if (link < 2 * leaf_links) {
        uint32_t i = link % leaf_links;
        uint32_t leaf = i / g->shape.spines;
        uint32_t s = i % g->shape.spines;
        if (link < leaf_links)
            sc__printf(out, "leaf%u-%s%u", leaf, middle, s);
        else
            sc__printf(out, "%s%u-leaf%u", middle, s, leaf);
        return;
    }
    link -= 2 * leaf_links;
    uint32_t i = link % core_links;
    uint32_t c = i % g->shape.cores;
    uint32_t a = i / g->shape.cores;
    uint32_t pod = a / g->shape.spines;
    a %= g->shape.spines;
    if (link < core_links)
        sc__printf(out, "pod%u.agg%u-core%u.%u", pod, a, a, c);
    else
        sc__printf(out, "core%u.%u-pod%u.agg%u", a, c, pod, a);
}

/* Devices: ports, leaves, spines or aggregation switches by pod, cores by index. */
static void tree_ends(const struct sc__graph *g, uint32_t link, uint32_t device[2]) {
    uint32_t leaf_links = g->leaves * g->shape.spines;
    uint32_t core_links = g->pods * g->shape.spines * g->shape.cores;
    uint32_t first_middle = g->ports + g->leaves;
    uint32_t middles = g->pods ? g->pods * g->shape.spines : g->shape.spines;
    uint32_t low;
    uint32_t high;
    bool down;
    if (link < 2 * g->ports) {
        down = link >= g->ports;
        low = link % g->ports;
        high = g->ports + leaf_of(g, low);
    } else if (link < 2 * (g->ports + leaf_links)) {
        uint32_t i = link - 2 * g->ports;
        uint32_t leaf = i % leaf_links / g->shape.spines;
        uint32_t pod = g->pods ? leaf / g->shape.pod_leaves : 0;
        down = i >= leaf_links;
        low = g->ports + leaf;
        high = first_middle + pod * g->shape.spines + i % g->shape.spines;
    } else {
        uint32_t i = link - 2 * (g->ports + leaf_links);
        uint32_t middle = i % core_links / g->shape.cores;
        uint32_t a = middle % g->shape.spines;
        down = i >= core_links;
        low = first_middle + middle;
        high = first_middle + middles + a * g->shape.cores + i % g->shape.cores;
    }
    device[down] = low;
    device[!down] = high;
}

static uint32_t up_to(uint32_t n, uint32_t by) {
    return n / by + (n % by != 0);
}

static sc_status check_shape(struct sc_context *ctx, const struct sc__tree_shape *t) {
    uint64_t leaves = t->leaf_ports ? t->ports / t->leaf_ports + 1 + t->rails : 0;
    if (!t->ports || t->ports > MOST_PORTS || !t->leaf_ports ||
        (t->tiers > 1 && !t->spines) || (t->tiers == 3 && (!t->pod_leaves || !t->cores)))
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "every size is a whole number from 1 on; at most 16777216 ports",
                        "a fabric of %u ports, %u on a leaf, %u spines cannot be built",
                        t->ports,
                        t->leaf_ports,
                        t->spines);
    if (t->tiers > 1 &&
        (t->spines > MOST_LINKS / 4 / leaves ||
         (t->tiers == 3 && (uint64_t)t->spines * t->cores > MOST_LINKS / 4 / leaves)))
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "the fabric has more than %u links",
                        MOST_LINKS);
    if (!(t->port_rate > 0) || (t->tiers > 1 && !(t->leaf_rate > 0)) ||
        (t->tiers == 3 && !(t->core_rate > 0)))
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "take the link out with --fail instead",
                        "a link has no capacity");
    return SC_OK;
}

static void set_rates(struct sc__graph *g) {
    uint32_t ports = 2 * g->ports;
    uint32_t leaf_links = ports + 2 * g->leaves * g->shape.spines;
    for (uint32_t i = 0; i < g->links; i++)
        g->capacity[i] = i < ports        ? g->shape.port_rate
                         : i < leaf_links ? g->shape.leaf_rate
                                          : g->shape.core_rate;
}

sc_status sc__graph_tree(struct sc_context *ctx,
                         const struct sc__tree_shape *shape,
                         struct sc__graph *g) {
    SC__TRY(check_shape(ctx, shape));
    *g = (struct sc__graph){.arena = &ctx->arena,
                            .ports = shape->ports,
                            .shape = *shape,
                            .paths = tree_paths,
                            .path = tree_path,
                            .name = tree_name,
                            .ends = tree_ends,
                            .hosts = shape->ports,
                            .planes = 1};
    uint32_t rails = shape->rails > 1 ? shape->rails : 1;
    g->leaves = up_to(up_to(shape->ports, rails), shape->leaf_ports) * rails;
    if (shape->tiers < 2)
        g->shape.spines = 0;
    if (shape->tiers < 3)
        g->shape.cores = 0;
    if (shape->tiers == 1 && g->leaves > 1)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "give the fabric spines",
                        "%u leaves are not connected with each other",
                        g->leaves);
    g->pods = shape->tiers == 3 ? up_to(g->leaves, shape->pod_leaves) : 0;
    g->devices = g->ports + g->leaves + g->shape.spines * (g->pods ? g->pods : 1) +
                 g->shape.spines * g->shape.cores;
    g->links = 2 * (g->ports + g->leaves * g->shape.spines +
                    g->pods * g->shape.spines * g->shape.cores);
    g->most_hops = shape->tiers == 3 ? 6 : 4;
    g->most_paths = shape->tiers == 1   ? 1
                    : shape->tiers == 2 ? shape->spines
                                        : shape->spines * shape->cores;
    g->capacity = SC__NEW_ARRAY(&ctx->arena, double, g->links);
    set_rates(g);
    return SC_OK;
}

bool sc__graph_describes(const char *text) {
    return !strncmp(text, "ls:", 3) || !strncmp(text, "ft3:", 4);
}

sc_status sc__graph_parse(struct sc_context *ctx,
                          const char *text,
                          uint32_t ports,
                          struct sc__graph *out) {
    bool three = text[0] == 'f';
    struct sc__str rest = sc__str(strchr(text, ':') + 1);
    struct sc__str part;
    uint32_t value[5] = {0};
    uint32_t n = 0;
    uint32_t wanted = three ? 4 : 2;
    while (sc__split(&rest, ':', &part)) {
        if (n > wanted || !sc__parse_u32(part, &value[n]) || !value[n] ||
            value[n] > MOST_PORTS)
            return sc__fail(ctx,
                            SC_USAGE,
                            NULL,
                            three ? "ft3:HOSTS:LEAVES:AGGREGATION:CORES[:ALL]"
                                  : "ls:HOSTS:SPINES[:ALL]",
                            "fabric '%s': '%.*s' is not expected",
                            text,
                            SC__SHOW(part));
        n++;
    }
    if (n < wanted)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        three ? "ft3:HOSTS:LEAVES:AGGREGATION:CORES[:ALL]"
                              : "ls:HOSTS:SPINES[:ALL]",
                        "fabric '%s': a size is missing",
                        text);
    struct sc__tree_shape shape = {.ports = n > wanted ? value[wanted] : ports,
                                   .tiers = three ? 3 : 2,
                                   .leaf_ports = value[0],
                                   .spines = three ? value[2] : value[1],
                                   .pod_leaves = value[1],
                                   .cores = three ? value[3] : 0,
                                   .port_rate = 50e9,
                                   .leaf_rate = 50e9,
                                   .core_rate = 50e9};
    return sc__graph_tree(ctx, &shape, out);
}
