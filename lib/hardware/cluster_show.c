/* cluster_show: a cluster as a text tree: levels, counts, bandwidths, and what
 * fits through the middle. */
#include "hardware/cluster_fields.h"

#include <math.h>
#include <string.h>

static void put_rate(struct sc__buffer *out, double rate) {
    if (rate >= 1e12)
        sc__printf(out, "%.4g TB/s", rate / 1e12);
    else
        sc__printf(out, "%.4g GB/s", rate / 1e9);
}

static void put_wire(struct sc__buffer *out, double rate) {
    put_rate(out, rate);
    sc__printf(out, " (%.4g Gb/s)", rate * 8 / 1e9);
}

static uint32_t up(double x) {
    return (uint32_t)ceil(x - 1e-9);
}

static void put_tree(const struct sc__cluster *c, struct sc__buffer *out, uint32_t nodes) {
    const struct sc__fabric *f = &c->fabric;
    bool rails = f->kind == SC__FABRIC_RAIL || f->kind == SC__FABRIC_HPN;
    uint32_t below = (uint32_t)sc__fabric_leaf_nodes(c);
    uint32_t segments = up((double)nodes / below);
    uint32_t leaves = f->kind == SC__FABRIC_DCN ? f->planes
                      : rails                   ? c->node_nics * f->planes
                                                : 1;
    double port = f->link > 0 ? f->link : c->nic / f->planes;
    double over = sc__fabric_oversubscription(c);
    double leaf_down = (double)below * (rails ? 1 : c->node_nics) * c->nic / f->planes;
    if (segments > 1 || (rails && c->node_nics > 1)) {
        uint32_t spines = f->spines ? f->spines : up(leaf_down / over / port);
        sc__printf(out,
                   "│  ├─ spines: %u%s, links ",
                   spines,
                   f->planes > 1 ? " a plane" : "");
        put_wire(out, port);
        sc__putc(out, '\n');
    }
    if (f->pod_leaves)
        sc__printf(out,
                   "│  ├─ pods of %u leaves, %.4g:1 to the core\n",
                   f->pod_leaves,
                   sc__fabric_pod_oversubscription(c));
    sc__printf(out,
               "│  └─ %u %s%s × %u lea%s, %u node%s below each, ",
               segments,
               rails ? "segment" : "block",
               segments == 1 ? "" : "s",
               leaves,
               leaves == 1 ? "f" : "ves",
               below,
               below == 1 ? "" : "s");
    sc__printf(out, "%.4g:1\n", over);
}

static void put_dims(const struct sc__fabric *f, struct sc__buffer *out) {
    static const char *const names[] = {"ring", "full mesh", "switch"};
    for (uint32_t i = 0; i < f->dims; i++) {
        sc__printf(out,
                   "│  %s dimension %u: %s of %u, ",
                   i + 1 < f->dims ? "├─" : "└─",
                   i,
                   names[f->dim[i].kind],
                   f->dim[i].size);
        put_rate(out, f->dim[i].rate);
        sc__puts(out, " a link, ");
        sc__put_time(out, f->dim[i].latency);
        sc__puts(out, " a hop\n");
    }
}

static void
put_fabric(const struct sc__cluster *c, struct sc__buffer *out, uint32_t nodes) {
    const struct sc__fabric *f = &c->fabric;
    sc__printf(out,
               "├─ fabric %s, class %s%s\n",
               sc__fabric_kind_name(f->kind),
               f->class,
               f->sharp ? ", switches reduce (SHARP)" : "");
    switch (f->kind) {
    case SC__FABRIC_DIMS:
        put_dims(f, out);
        break;
    case SC__FABRIC_DRAGONFLY:
        sc__printf(out,
                   "│  └─ %u groups × %u routers × %u NICs, %u global links a router\n",
                   f->groups,
                   f->group_routers,
                   f->router_nics,
                   f->global_links);
        break;
    case SC__FABRIC_LINKS:
        sc__printf(out,
                   "│  └─ %u links, %u NVSwitches, %u switches, leaves %.4g:1\n",
                   f->link_count,
                   f->nvswitches,
                   f->switches,
                   sc__fabric_oversubscription(c));
        break;
    case SC__FABRIC_NONE:
        break;
    default:
        put_tree(c, out, nodes);
    }
    double middle = sc__cluster_bisection(c);
    /* of an odd number of nodes the smaller half */
    double ends = nodes > 1 ? floor(nodes / 2.0) * c->node_nics * c->nic
                            : (double)c->gpus / 2 * c->nvlink;
    sc__puts(out, "├─ bisection ");
    put_rate(out, middle);
    if (f->kind != SC__FABRIC_DIMS && ends > 0)
        sc__printf(out, ", %.3g %% of what the GPUs can send", 100 * middle / ends);
    sc__putc(out, '\n');
}

static void put_node(const struct sc__cluster *c, struct sc__buffer *out, uint32_t nodes) {
    static const char *const inside[] = {"NVSwitch", "NVLink mesh", "PCIe", "full mesh"};
    sc__printf(out, "└─ %u node%s\n", nodes, nodes == 1 ? "" : "s");
    sc__printf(out,
               "   ├─ %u × %s",
               c->gpus < c->node_gpus ? c->gpus : c->node_gpus,
               c->gpu ? c->gpu : "GPU");
    if (c->node_gpus > 1) {
        sc__printf(out, ", %s ", inside[c->inside]);
        put_rate(out, c->nvlink);
        sc__puts(out, " a GPU, one way");
    }
    sc__puts(out, "\n   └─ ");
    if (!c->node_nics)
        sc__puts(out, "no NIC\n");
    else if (!(c->nic > 0))
        sc__printf(out,
                   "%u NIC%s, rate not known\n",
                   c->node_nics,
                   c->node_nics == 1 ? "" : "s");
    else {
        sc__printf(out, "%u NIC%s, ", c->node_nics, c->node_nics == 1 ? "" : "s");
        put_wire(out, c->nic);
        sc__printf(out, " each%s\n", c->fabric.planes > 1 ? ", in two or more planes" : "");
    }
}

/* How far to trust collectives on it. */
static void put_grade(const struct sc__cluster *c, struct sc__buffer *out, uint32_t nodes) {
    if (c->override_count)
        sc__printf(out, "collectives: %u constants of its own\n", c->override_count);
    if (!strcmp(c->fabric.class, "plain")) {
        sc__puts(out, "collectives: guessed (plain: closed forms, no software)\n");
        return;
    }
    sc__printf(out, "collectives inside a node: %s (%s)", c->grade_inside, c->generation);
    if (nodes > 1)
        sc__printf(out, ", between nodes: %s (%s)", c->grade_between, c->fabric.class);
    sc__putc(out, '\n');
}

void sc__cluster_show(const struct sc__cluster *c, struct sc__buffer *out) {
    uint32_t nodes = up((double)c->gpus / c->node_gpus);
    sc__printf(out,
               "%s: %u GPU%s%s%s\n",
               c->name,
               c->gpus,
               c->gpus == 1 ? "" : "s",
               c->gpu ? ", " : "",
               c->gpu ? c->gpu : "");
    if (c->ideal) {
        sc__puts(out, "└─ communication is free\n");
        return;
    }
    put_fabric(c, out, nodes);
    put_node(c, out, nodes);
    put_grade(c, out, nodes);
    if (c->source)
        sc__printf(out, "source: %s\n", c->source);
}
