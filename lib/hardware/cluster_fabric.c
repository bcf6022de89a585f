/* cluster_fabric: what follows from the description of a fabric: how groups
 * lie on it, how much fits through its middle, and whether it can be wired. */
#include "base/hash.h"
#include "base/sort.h"
#include "collective/double_tree.h"
#include "hardware/cluster.h"
#include "hardware/dims_traffic.h"
#include "hardware/rail_traffic.h"
#include "hardware/shift_traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t node_count(const struct sc__cluster *c) {
    return (c->gpus + c->node_gpus - 1) / c->node_gpus;
}

/* Ranks fill a node from its first GPU on. Several NICs to a GPU: all of
 * theirs; several GPUs to a NIC: one more at each GPU that begins a new one. */
uint32_t sc__cluster_nics(const struct sc__cluster *c, uint32_t ranks) {
    if (!c->node_nics || ranks >= c->node_gpus)
        return c->node_nics ? c->node_nics : 1;
    if (c->node_nics >= c->node_gpus)
        return (uint32_t)((uint64_t)ranks * c->node_nics / c->node_gpus);
    return (uint32_t)((uint64_t)(ranks - 1) * c->node_nics / c->node_gpus) + 1;
}

/* A dragonfly's group is what a leaf is in a tree: behind it links are shared. */
double sc__fabric_leaf_nodes(const struct sc__cluster *c) {
    const struct sc__fabric *f = &c->fabric;
    double nodes = node_count(c);
    if (f->kind == SC__FABRIC_DRAGONFLY)
        return fmax(1,
                    (double)f->router_nics * f->group_routers /
                        (c->node_nics ? c->node_nics : 1));
    return f->leaf_nodes && f->leaf_nodes < nodes ? f->leaf_nodes : nodes;
}

/* Bandwidth down over bandwidth up: as stated, or worse where the number of
 * spines says so. With rails a leaf joins one NIC of each node. */
double sc__fabric_oversubscription(const struct sc__cluster *c) {
    const struct sc__fabric *f = &c->fabric;
    if (f->kind == SC__FABRIC_DRAGONFLY) {
        double up = f->global_links * (f->link > 0 ? f->link : c->nic);
        return up > 0 ? fmax(1, f->router_nics * c->nic / up) : 1;
    }
    bool rails = sc__fabric_has_rails(c);
    if (f->spines && (f->leaf_nodes || rails) && f->kind != SC__FABRIC_NONE) {
        double nodes = f->leaf_nodes ? f->leaf_nodes : node_count(c);
        double down = nodes * (rails ? 1 : c->node_nics) * c->nic;
        double up =
            (double)f->spines * f->planes * (f->link > 0 ? f->link : c->nic / f->planes);
        return fmax(f->oversubscription, down / up);
    }
    return f->oversubscription;
}

bool sc__fabric_has_rails(const struct sc__cluster *c) {
    return c->fabric.kind == SC__FABRIC_RAIL || c->fabric.kind == SC__FABRIC_HPN;
}

/* Nodes of a pod; all of them where the tree has two levels. Leaves of rails serve one NIC
 * of a node each. */
static double pod_nodes(const struct sc__cluster *c) {
    const struct sc__fabric *f = &c->fabric;
    double nodes = node_count(c);
    double leaves = f->pod_leaves;
    if (sc__fabric_has_rails(c))
        leaves /= fmax(1, (double)c->node_nics * f->planes);
    double pod = fmax(1, floor(leaves)) * sc__fabric_leaf_nodes(c);
    return f->pod_leaves && pod < nodes ? pod : nodes;
}

/* --- cables of trees ---------------------------------------------------- */

static uint32_t at_least_1(double x) {
    return x < 1 ? 1 : x > 1e9 ? 1000000000u : (uint32_t)ceil(x - 1e-9);
}

/* Of a dragonfly, and where they do not divide, a GPU uses one of its NICs. */
static uint32_t nics_of_a_gpu(const struct sc__cluster *c) {
    bool divide = c->node_nics > c->node_gpus && c->node_nics % c->node_gpus == 0;
    return divide && c->fabric.kind != SC__FABRIC_DRAGONFLY ? c->node_nics / c->node_gpus
                                                            : 1;
}

uint32_t sc__fabric_planes(const struct sc__cluster *c) {
    return (c->fabric.planes ? c->fabric.planes : 1) * nics_of_a_gpu(c);
}

uint32_t sc__fabric_plane_nics(const struct sc__cluster *c) {
    return c->node_nics ? c->node_nics / nics_of_a_gpu(c) : 1;
}

/* Between switches: as described, or as fast as a port of a NIC. */
static double cable_rate(const struct sc__cluster *c) {
    uint32_t planes = c->fabric.planes ? c->fabric.planes : 1;
    return c->fabric.link > 0 ? c->fabric.link : c->nic / planes;
}

/* Counted cables, which together may be stated to carry less than they could. */
static struct sc__cables
counted_cables(uint32_t count, double rate, double below, double oversubscription) {
    if (oversubscription > 1)
        rate = fmin(rate, below / oversubscription / count);
    return (struct sc__cables){count, rate};
}

/* Spines are those of a plane: of all NICs of a leaf without rails, which then share them
 * out. */
struct sc__cables sc__fabric_leaf_cables(const struct sc__cluster *c) {
    const struct sc__fabric *f = &c->fabric;
    bool rails = sc__fabric_has_rails(c);
    uint32_t shares = rails ? 1 : nics_of_a_gpu(c);
    uint32_t nodes = at_least_1(sc__fabric_leaf_nodes(c));
    double ports = fmax(nodes, f->leaf_nodes); /* a leaf may be half empty */
    if (!rails)
        ports *= sc__fabric_plane_nics(c);
    double below = ports * c->nic / (f->planes ? f->planes : 1);
    double rate = cable_rate(c);
    if (f->spines && f->spines % shares == 0)
        return counted_cables(f->spines / shares, rate, below, f->oversubscription);
    if (f->spines)
        return counted_cables(f->spines, rate / shares, below, f->oversubscription);
    double up = below / sc__fabric_oversubscription(c);
    uint32_t count = at_least_1(up / rate);
    return (struct sc__cables){count, up / count};
}

/* Of a plane; with rails those of whole segments, which have a leaf for each NIC of a node
 * in each plane. */
uint32_t sc__fabric_pod_leaves(const struct sc__cluster *c) {
    if (!sc__fabric_has_rails(c))
        return c->fabric.pod_leaves;
    uint32_t rails = sc__fabric_plane_nics(c);
    uint32_t segments = c->fabric.pod_leaves / (rails * sc__fabric_planes(c));
    return (segments ? segments : 1) * rails;
}

struct sc__cables sc__fabric_core_cables(const struct sc__cluster *c) {
    const struct sc__fabric *f = &c->fabric;
    uint32_t leaves = sc__fabric_pod_leaves(c);
    double below = leaves * sc__fabric_leaf_cables(c).rate;
    if (f->cores)
        return counted_cables(f->cores, cable_rate(c), below, f->pod_oversubscription);
    return (struct sc__cables){leaves, below / fmax(1, f->pod_oversubscription) / leaves};
}

double sc__fabric_pod_oversubscription(const struct sc__cluster *c) {
    struct sc__cables up = sc__fabric_core_cables(c);
    return sc__fabric_pod_leaves(c) * sc__fabric_leaf_cables(c).rate / (up.count * up.rate);
}

double sc__fabric_part_nodes(const struct sc__cluster *c, enum sc__level level) {
    return level == SC__LEAF ? sc__fabric_leaf_nodes(c) : pod_nodes(c);
}

/* A leaf that is half empty has all its uplinks. */
double sc__fabric_uplinks(const struct sc__cluster *c, enum sc__level level) {
    if (level == SC__LEAF)
        return fmax(sc__fabric_leaf_nodes(c), c->fabric.leaf_nodes) * c->node_nics /
               sc__fabric_oversubscription(c);
    struct sc__cables leaf = sc__fabric_leaf_cables(c);
    struct sc__cables core = sc__fabric_core_cables(c);
    double plane = (double)leaf.count * core.count * core.rate;
    return sc__fabric_planes(c) * plane / c->nic;
}

bool sc__fabric_is_thin(const struct sc__cluster *c, enum sc__level level) {
    if (level == SC__LEAF)
        return sc__fabric_oversubscription(c) > 1;
    return c->fabric.pod_leaves &&
           sc__fabric_uplinks(c, SC__POD) < (1 - 1e-9) * pod_nodes(c) * c->node_nics;
}

/* --- shapes ------------------------------------------------------------ */

static uint32_t coordinate(const struct sc__fabric *f, uint32_t gpu, uint32_t dim) {
    for (uint32_t i = 0; i < dim; i++)
        gpu /= f->dim[i].size;
    return gpu % f->dim[dim].size;
}

uint32_t
sc__fabric_dim_hops(const struct sc__cluster *c, uint32_t dim, uint32_t from, uint32_t to) {
    const struct sc__fabric_dim *d = &c->fabric.dim[dim];
    uint32_t a = coordinate(&c->fabric, from, dim);
    uint32_t b = coordinate(&c->fabric, to, dim);
    uint32_t apart = a < b ? b - a : a - b;
    if (d->kind != SC__DIM_RING)
        return apart > 0;
    return apart < d->size - apart ? apart : d->size - apart;
}

/* Distinct coordinates along one dimension. A torus has at most 2^20 places a
 * dimension; groups are looked at once. */
static uint32_t
extent(const struct sc__cluster *c, const uint32_t *gpu, uint32_t n, uint32_t dim) {
    uint64_t seen[64] = {0};
    uint32_t size = c->fabric.dim[dim].size;
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = coordinate(&c->fabric, gpu ? gpu[i] : i, dim);
        /* coarser than one place in a long dimension, which rounds the extent */
        if (size > 4096)
            at = at * 4096 / size;
        if (!(seen[at / 64] >> at % 64 & 1))
            count++;
        seen[at / 64] |= (uint64_t)1 << at % 64;
    }
    return count;
}

/* A node with so many ranks, of which the fullest NIC has so many. */
static void count_nic_pairs(const struct sc__cluster *c,
                            struct sc__shape *s,
                            uint32_t ranks,
                            uint32_t on_nic) {
    double several = fmax(1, (double)c->node_nics / c->node_gpus);
    s->nic_pairs = fmax(s->nic_pairs, on_nic * (double)(s->ranks - ranks) / several);
}

static void count_node(struct sc__shape *s, uint32_t ranks, uint32_t nics) {
    s->nodes++;
    if (ranks > s->per_node)
        s->per_node = ranks;
    if (!s->least || ranks < s->least)
        s->least = ranks;
    if (!s->nics || nics < s->nics)
        s->nics = nics;
}

/* A part of the fabric: how many of them the group touches; how many ranks are
 * on the one whose uplinks an all-to-all fills most (it moves
 * ranks · (all - ranks) parts out of one); and how many edges of trees leave
 * the one that most leave. */
struct parts {
    uint32_t count;
    uint32_t most;
    uint32_t edges;
};

/* One more part: so many ranks, on nodes first … end-1 of the group's. */
static void count_part(struct parts *p,
                       const struct sc__shape *s,
                       uint32_t ranks,
                       uint32_t first,
                       uint32_t end) {
    uint32_t all = s->ranks;
    uint64_t now = (uint64_t)ranks * (all - ranks);
    uint64_t best = (uint64_t)p->most * (all - p->most);
    p->count++;
    if (now > best || !p->most)
        p->most = ranks;
    if (ranks == all)
        return;
    uint32_t edges = sc__node_tree_cut(first, end, s->nodes);
    if (edges > p->edges)
        p->edges = edges;
}

/* GPUs 0 … ranks-1 on parts of `width` nodes. */
static struct parts
consecutive_parts(const struct sc__cluster *c, const struct sc__shape *s, uint32_t width) {
    struct parts p = {0};
    for (uint32_t first = 0; first < s->nodes; first += width) {
        uint32_t end = s->nodes - first > width ? first + width : s->nodes;
        uint32_t last = end == s->nodes ? s->ranks : end * c->node_gpus;
        count_part(&p, s, last - first * c->node_gpus, first, end);
    }
    return p;
}

static struct parts sorted_parts(const struct sc__cluster *c,
                                 const uint32_t *gpu,
                                 const struct sc__shape *s,
                                 uint32_t width) {
    struct parts p = {0};
    uint32_t gpus = c->node_gpus;
    uint32_t node = 0;
    for (uint32_t i = 0, j; i < s->ranks; i = j) {
        uint32_t first = node;
        for (j = i; j < s->ranks && gpu[j] / gpus / width == gpu[i] / gpus / width; j++)
            node += j == i || gpu[j] / gpus != gpu[j - 1] / gpus;
        count_part(&p, s, j - i, first, node);
    }
    return p;
}

static struct parts count_parts(const struct sc__cluster *c,
                                const uint32_t *sorted,
                                const struct sc__shape *s,
                                double width) {
    uint32_t nodes = (uint32_t)fmin(fmax(width, 1), UINT32_MAX);
    return sorted ? sorted_parts(c, sorted, s, nodes) : consecutive_parts(c, s, nodes);
}

static void
set_parts(const struct sc__cluster *c, const uint32_t *sorted, struct sc__shape *s) {
    struct parts leaves = count_parts(c, sorted, s, sc__fabric_leaf_nodes(c));
    struct parts pods = count_parts(c, sorted, s, pod_nodes(c));
    s->leaves = leaves.count;
    s->on_leaf = leaves.most;
    s->leaf_edges = leaves.edges;
    s->pods = pods.count;
    s->on_pod = pods.most;
    s->pod_edges = pods.edges;
}

/* Of the first ranks GPUs of a node. */
static uint32_t most_on_a_nic(const struct sc__cluster *c, uint32_t ranks) {
    uint32_t most = 0;
    uint32_t first = 0;
    for (uint32_t gpu = 0; gpu < ranks; gpu++) {
        if (sc__cluster_nic(c, gpu) != sc__cluster_nic(c, first))
            first = gpu;
        most = gpu + 1 - first > most ? gpu + 1 - first : most;
    }
    return most;
}

static struct sc__shape consecutive(const struct sc__cluster *c, uint32_t n) {
    uint32_t per_node = n < c->node_gpus ? n : c->node_gpus;
    struct sc__shape s = {.ranks = n,
                          .nodes = (n + c->node_gpus - 1) / c->node_gpus,
                          .per_node = per_node};
    s.least = n % c->node_gpus && n > c->node_gpus ? n % c->node_gpus : per_node;
    s.nics = sc__cluster_nics(c, s.least);
    count_nic_pairs(c, &s, s.per_node, most_on_a_nic(c, s.per_node));
    count_nic_pairs(c, &s, s.least, most_on_a_nic(c, s.least));
    set_parts(c, NULL, &s);
    return s;
}

/* gpu is sorted: runs of one node. */
static void count_nodes(const struct sc__cluster *c,
                        const uint32_t *gpu,
                        uint32_t n,
                        struct sc__shape *s) {
    for (uint32_t i = 0, j; i < n; i = j) {
        uint32_t node = gpu[i] / c->node_gpus;
        uint32_t nics = 0;
        uint32_t last_nic = UINT32_MAX;
        uint32_t on_nic = 0;
        uint32_t most = 0;
        for (j = i; j < n && gpu[j] / c->node_gpus == node; j++) {
            uint32_t nic = sc__cluster_nic(c, gpu[j]);
            nics += nic != last_nic;
            on_nic = nic != last_nic ? 1 : on_nic + 1;
            most = on_nic > most ? on_nic : most;
            last_nic = nic;
        }
        count_nic_pairs(c, s, j - i, most);
        if (c->node_nics > c->node_gpus)
            nics = (uint32_t)((uint64_t)nics * c->node_nics / c->node_gpus);
        count_node(s, j - i, nics ? nics : 1);
    }
}

static void count_sorted(const struct sc__cluster *c,
                         const uint32_t *gpu,
                         uint32_t n,
                         struct sc__shape *s) {
    *s = (struct sc__shape){.ranks = n};
    count_nodes(c, gpu, n, s);
    set_parts(c, gpu, s);
}

/* What meets where; gpu in the order of the members. */
static void count_traffic(const struct sc__cluster *c,
                          const uint32_t *gpu,
                          const uint32_t *sorted,
                          struct sc__shape *s) {
    uint32_t root = gpu ? gpu[0] : 0;
    for (uint32_t d = 0; d < c->fabric.dims; d++)
        s->extent[d] = extent(c, gpu, s->ranks, d);
    if (c->fabric.kind == SC__FABRIC_DIMS) {
        sc__dims_count(c, gpu, sorted, s);
        return;
    }
    sc__shift_count(c, gpu, s->ranks, s);
    sc__root_count(c, sorted, root, s);
    sc__rails_count(c, sorted, root, s);
}

struct sc__shape
sc__cluster_shape(const struct sc__cluster *c, const uint32_t *gpu, uint32_t n) {
    struct sc__shape s = consecutive(c, n);
    /* small groups need no allocation */
    uint32_t small[256];
    uint32_t *sorted = n <= 256 ? small : gpu ? malloc(n * sizeof *sorted) : NULL;
    if (!gpu || !sorted) {
        count_traffic(c, NULL, NULL, &s);
        return s;
    }
    memcpy(sorted, gpu, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, sc__compare_u32);
    count_sorted(c, sorted, n, &s);
    count_traffic(c, gpu, sorted, &s);
    if (sorted != small)
        free(sorted);
    return s;
}

uint64_t sc__cluster_shape_key(const struct sc__cluster *c) {
    const struct sc__fabric *f = &c->fabric;
    uint32_t said[] = {c->gpus,
                       c->node_gpus,
                       c->node_nics,
                       f->kind,
                       f->leaf_nodes,
                       f->pod_leaves,
                       f->planes,
                       f->router_nics,
                       f->group_routers,
                       f->dims,
                       sc__fabric_is_thin(c, SC__LEAF),
                       sc__fabric_is_thin(c, SC__POD),
                       c->tuning.no_pxn};
    uint64_t key = sc__hash(said, sizeof said, 0x736861706573u);
    for (uint32_t d = 0; d < f->dims; d++) {
        key = sc__hash(&f->dim[d].size, sizeof f->dim[d].size, key);
        key = sc__hash(&f->dim[d].rate, sizeof f->dim[d].rate, key);
        key = sc__hash(&f->dim[d].latency, sizeof f->dim[d].latency, key + f->dim[d].kind);
    }
    return key;
}

/* --- through the middle ----------------------------------------------- */

/* Links that a cut through the middle of one line of a dimension crosses. */
static double links_across_middle(const struct sc__fabric_dim *d) {
    double size = d->size;
    if (d->kind == SC__DIM_RING)
        return size > 2 ? 2 : 1; /* of two, both directions are one link */
    if (d->kind == SC__DIM_FULL)
        return size * size / 4;
    return size / 2; /* a switch: the ports of one half */
}

/* The dimension whose cut is the narrowest. */
static double dims_bisection(const struct sc__cluster *c) {
    double least = INFINITY;
    for (uint32_t i = 0; i < c->fabric.dims; i++) {
        const struct sc__fabric_dim *d = &c->fabric.dim[i];
        double size = d->size;
        double lines = c->gpus / size;
        if (size < 2)
            continue;
        least = fmin(least, lines * links_across_middle(d) * d->rate);
    }
    return least;
}

/* Of a group's global links only some lead to the other half: as many to each other
 * group. */
static double dragonfly_bisection(const struct sc__cluster *c, double half) {
    const struct sc__fabric *f = &c->fabric;
    double others = fmax(1, f->groups - 1.0);
    double pair = floor((double)f->group_routers * f->global_links / others);
    double pairs = floor(f->groups / 2.0) * ceil(f->groups / 2.0);
    return fmin(half, pairs * pair * (f->link > 0 ? f->link : c->nic));
}

/* Of the links of a full mesh only those to the other half cross the middle. */
static double node_bisection(const struct sc__cluster *c) {
    double half = floor(c->gpus / 2.0);
    if (c->inside == SC__INSIDE_FULL && c->node_gpus > 1)
        return half * (c->gpus - half) * c->nvlink / (c->node_gpus - 1.0);
    return half * c->nvlink;
}

double sc__cluster_bisection(const struct sc__cluster *c) {
    double nodes = node_count(c);
    if (c->ideal)
        return INFINITY;
    if (c->fabric.kind == SC__FABRIC_DIMS)
        return dims_bisection(c);
    if (nodes < 2)
        return node_bisection(c);
    /* What one half can send, over the oversubscription of each level it crosses. */
    double half = floor(nodes / 2) * c->node_nics * c->nic;
    double leaf = sc__fabric_leaf_nodes(c);
    if (c->fabric.kind == SC__FABRIC_DRAGONFLY && nodes > leaf)
        return dragonfly_bisection(c, half);
    double over = nodes > leaf ? sc__fabric_oversubscription(c) : 1;
    double pod = pod_nodes(c) * c->node_nics;
    if (nodes > pod_nodes(c))
        over = fmax(over, pod / sc__fabric_uplinks(c, SC__POD));
    return half / over;
}

/* --- can it be wired? --------------------------------------------------- */

static uint32_t root_of(uint32_t *parent, uint32_t i) {
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static sc_status check_links(struct sc_context *ctx,
                             const struct sc__cluster *c,
                             const struct sc__place *at) {
    const struct sc__fabric *f = &c->fabric;
    uint32_t devices = c->gpus + f->nvswitches + f->switches;
    uint32_t *parent = SC__NEW_ARRAY(&ctx->arena, uint32_t, devices);
    for (uint32_t i = 0; i < devices; i++)
        parent[i] = i;
    for (uint32_t i = 0; i < f->link_count; i++) {
        const struct sc__fabric_link *l = &f->links[i];
        if (l->a >= devices || l->b >= devices || l->a == l->b)
            return sc__fail(
                ctx,
                SC_INPUT,
                at,
                "devices are the GPUs, then the NVSwitches, then the switches, from 0",
                "link %u joins %u and %u; there are %u devices",
                i,
                l->a,
                l->b,
                devices);
        parent[root_of(parent, l->a)] = root_of(parent, l->b);
    }
    for (uint32_t i = 1; i < c->gpus; i++)
        if (root_of(parent, i) != root_of(parent, 0))
            return sc__fail(ctx,
                            SC_INPUT,
                            at,
                            "every GPU must be reachable from every other one",
                            "GPU %u cannot be reached from GPU 0",
                            i);
    return SC_OK;
}

static sc_status check_dragonfly(struct sc_context *ctx,
                                 const struct sc__cluster *c,
                                 const struct sc__place *at) {
    const struct sc__fabric *f = &c->fabric;
    uint64_t nics = (uint64_t)f->router_nics * f->group_routers * f->groups;
    uint64_t wanted = (uint64_t)node_count(c) * c->node_nics;
    if (!nics || !f->global_links)
        return sc__fail(ctx,
                        SC_INPUT,
                        at,
                        "give router-nics, group-routers, global-links and groups",
                        "a dragonfly needs the NICs per router, the routers per group, the "
                        "global links per router and the number of groups");
    if (nics < wanted)
        return sc__fail(ctx,
                        SC_INPUT,
                        at,
                        "use more groups, or more routers per group",
                        "a dragonfly of %u groups of %u routers with %u NICs each holds "
                        "%llu NICs; the nodes have %llu",
                        f->groups,
                        f->group_routers,
                        f->router_nics,
                        (unsigned long long)nics,
                        (unsigned long long)wanted);
    if ((uint64_t)f->global_links * f->group_routers < f->groups - 1u)
        return sc__fail(ctx,
                        SC_INPUT,
                        at,
                        "a group needs a link to each other group",
                        "%u routers with %u global links each do not reach %u other groups",
                        f->group_routers,
                        f->global_links,
                        f->groups - 1);
    uint32_t ports = f->router_nics + f->group_routers - 1 + f->global_links;
    if (f->switch_ports && ports > f->switch_ports)
        return sc__fail(ctx,
                        SC_INPUT,
                        at,
                        NULL,
                        "a router needs %u ports and has %u",
                        ports,
                        f->switch_ports);
    return SC_OK;
}

/* Ports of a leaf: its NICs' below, its uplinks above. */
static sc_status check_leaf(struct sc_context *ctx,
                            const struct sc__cluster *c,
                            const struct sc__place *at) {
    const struct sc__fabric *f = &c->fabric;
    if (!f->switch_ports || f->kind == SC__FABRIC_NONE || c->gpus <= c->node_gpus)
        return SC_OK;
    bool rails = sc__fabric_has_rails(c);
    double nodes = sc__fabric_leaf_nodes(c);
    double port = f->link > 0 ? f->link : c->nic / f->planes;
    double down = nodes * (rails ? 1 : c->node_nics) * (c->nic / f->planes / port);
    bool one_leaf = nodes >= node_count(c) && (rails ? c->node_nics == 1 : true);
    double up = one_leaf ? 0 : down / f->oversubscription;
    if (f->spines && !one_leaf)
        up = f->spines;
    if (down + up <= f->switch_ports + 0.5)
        return SC_OK;
    return sc__fail(
        ctx,
        SC_INPUT,
        at,
        "use fewer nodes per leaf, more oversubscription or larger switches",
        "a leaf needs %.0f ports down and %.0f up; a switch of cluster '%s' has %u",
        down,
        up,
        c->name,
        f->switch_ports);
}

sc_status sc__fabric_check(struct sc_context *ctx,
                           const struct sc__cluster *c,
                           const struct sc__place *at) {
    switch (c->fabric.kind) {
    case SC__FABRIC_LINKS:
        return check_links(ctx, c, at);
    case SC__FABRIC_DRAGONFLY:
        return check_dragonfly(ctx, c, at);
    case SC__FABRIC_DIMS:
        return SC_OK;
    default:
        return check_leaf(ctx, c, at);
    }
}
