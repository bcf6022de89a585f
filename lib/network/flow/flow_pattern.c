/* The algorithms, as connections. n ranks on N nodes, S bytes.
 *
 *   ring    channel c of C (ranks of a node): through each node from one of its
 *           GPUs to another, and over that one's NIC to the same NIC of the
 *           next node, so that traffic stays on its rail. Each connection
 *           carries 2(n-1)/n · S/C (all-reduce), (n-1)/n · S/C (gather, scatter).
 *   chain   a ring without its last connection, S/C each (broadcast, reduce).
 *   tree    NCCL's two binary trees over the nodes (node_tree.h), S/2C up and
 *           down each edge; inside a node a chain up and down (tree), or the
 *           switch (NVLS): S(1 + 1/p)/C.
 *   PAT     every rank to those 1, 2, 4 … further on; parts of S/n, the nearer
 *           the more.
 *   CollNet the switches reduce: as much as a ring of S through ports and leaves.
 *   pairs   every rank to every other, S/n each, directly; or (PXN) over NVLink
 *           to the GPU whose NIC is on the destination's rail, and from there;
 *           or (two-level) once to each node, and on over NVLink there.
 *   root    S/n between the root and each of the others (gather, scatter). */
#include "network/flow/flow_pattern.h"

#include "collective/double_tree.h"

#include <string.h>

#define PAIRS_APART 16u /* up to so many ranks all pairs are flows of their own */
#define SOURCES_APART                                                                      \
    64u /* up to so many all of one source are one flow; above, all of a group             \
         */
#define PAIRS_ROUTED 2048u /* up to so many each pair has its path */

void sc__pattern_builder_init(struct sc_context *ctx,
                              const struct sc__cluster *c,
                              struct sc__graph *g,
                              const struct sc__route_policy *route,
                              struct sc__pattern_builder *b) {
    *b = (struct sc__pattern_builder){.ctx = ctx,
                                      .cluster = c,
                                      .graph = g,
                                      .route = route,
                                      .arena = &ctx->arena};
    b->path = SC__NEW_ARRAY(b->arena, struct sc__share_hop, sc__graph_room(g, route));
    b->slot = SC__NEW_ARRAY(b->arena, uint32_t, g->links);
    b->stamp = SC__NEW_ARRAY(b->arena, uint32_t, g->links);
    b->busy = SC__NEW_ARRAY(b->arena, double, g->links);
}

/* ---- flows and their hops ---- */

static void
begin_flow(struct sc__pattern_builder *b, struct sc__pattern *p, double volume) {
    b->flow_stamp++;
    *SC__PUSH(b->arena, p->flows, p->flow_count, p->flow_capacity) =
        (struct sc__pattern_flow){.first = p->hop_count, .volume = volume};
}

static void load_link(struct sc__pattern_builder *b,
                      struct sc__pattern *p,
                      uint32_t link,
                      double load) {
    if (b->stamp[link] != b->flow_stamp) {
        b->stamp[link] = b->flow_stamp;
        b->slot[link] = p->hop_count;
        SC__PUSH(b->arena, p->hops, p->hop_count, p->hop_capacity)->link = link;
        p->flows[p->flow_count - 1].count++;
    }
    p->hops[b->slot[link]].load += load;
}

/* Bytes on a cable between nodes for a byte of payload. */
static double overhead(const struct sc__pattern_builder *b) {
    return b->cluster->constants.wire > 0 ? 1 / b->cluster->constants.wire : 1;
}

/* A connection of the open flow. */
static sc_status wire(struct sc__pattern_builder *b,
                      struct sc__pattern *p,
                      uint32_t from,
                      uint32_t to,
                      double load) {
    uint32_t count;
    bool network = from / b->cluster->node_gpus != to / b->cluster->node_gpus;
    SC__TRY(sc__graph_route(b->ctx, b->graph, b->route, from, to, b->path, &count));
    if (network)
        load *= overhead(b);
    for (uint32_t i = 0; i < count; i++)
        load_link(b, p, b->path[i].link, b->path[i].load * load);
    if (network)
        p->network = true;
    return SC_OK;
}

static bool has_nodes(const struct sc__pattern_builder *b) {
    return b->cluster->fabric.kind != SC__FABRIC_DIMS &&
           b->cluster->fabric.kind != SC__FABRIC_LINKS;
}

/* Both directions of a GPU's port inside its node. */
static void
load_port(struct sc__pattern_builder *b, struct sc__pattern *p, uint32_t gpu, double load) {
    uint32_t links[SC__NVLINKS_MAX];
    if (!b->graph->nvlink)
        return;
    uint32_t count = b->graph->nvlink(b->graph, gpu, links);
    for (uint32_t i = 0; i < count; i++)
        load_link(b, p, links[i], load / (count / 2));
}

/* ---- how the group lies on nodes ---- */

struct flow_pattern_nodes {
    const uint32_t *gpu;
    uint32_t *first; /* of each node's members; one more at the end */
    uint32_t count;
    uint32_t least;
};

static struct flow_pattern_nodes
split_nodes(struct sc__pattern_builder *b, const uint32_t *gpu, uint32_t n) {
    struct flow_pattern_nodes s = {.gpu = gpu,
                                   .first = SC__NEW_ARRAY(b->arena, uint32_t, n + 1),
                                   .least = n};
    for (uint32_t i = 0; i < n; i++)
        if (!i || gpu[i] / b->cluster->node_gpus != gpu[i - 1] / b->cluster->node_gpus)
            s.first[s.count++] = i;
    s.first[s.count] = n;
    for (uint32_t k = 0; k < s.count; k++)
        if (s.first[k + 1] - s.first[k] < s.least)
            s.least = s.first[k + 1] - s.first[k];
    return s;
}

static uint32_t member(const struct flow_pattern_nodes *s, uint32_t node, uint32_t i) {
    return s->gpu[s->first[node] + i % (s->first[node + 1] - s->first[node])];
}

static uint32_t size_of(const struct flow_pattern_nodes *s, uint32_t node) {
    return s->first[node + 1] - s->first[node];
}

/* ---- rings ---- */

/* Where channel c enters and leaves a node: turned round from node to node, so
 * that a node is entered by the NIC of the same rail. */
static uint32_t enters(uint32_t node, uint32_t c, uint32_t channels) {
    return node % 2 ? (c + channels - 1) % channels : c;
}

static uint32_t
leaves(const struct flow_pattern_nodes *s, uint32_t node, uint32_t c, uint32_t channels) {
    bool last_odd = node + 1 == s->count && s->count % 2;
    return node % 2 || last_odd ? c : (c + channels - 1) % channels;
}

/* From the member that enters through all others to the one that leaves. */
static sc_status ring_inside(struct sc__pattern_builder *b,
                             struct sc__pattern *p,
                             const struct flow_pattern_nodes *s,
                             uint32_t node,
                             uint32_t in,
                             uint32_t out) {
    uint32_t size = size_of(s, node);
    uint32_t at = in;
    for (uint32_t k = 1; k < size; k++) {
        uint32_t next = (in + k) % size;
        if (next == out)
            continue;
        SC__TRY(wire(b, p, member(s, node, at), member(s, node, next), 1));
        at = next;
    }
    return out == in ? SC_OK : wire(b, p, member(s, node, at), member(s, node, out), 1);
}

static sc_status ring_channel(struct sc__pattern_builder *b,
                              struct sc__pattern *p,
                              const struct flow_pattern_nodes *s,
                              uint32_t c,
                              uint32_t channels,
                              bool closed) {
    for (uint32_t k = 0; k < s->count; k++) {
        uint32_t in = enters(k, c, channels) % size_of(s, k);
        uint32_t out = leaves(s, k, c, channels) % size_of(s, k);
        uint32_t next = (k + 1) % s->count;
        if (s->count == 1)
            out = (in + size_of(s, k) - 1) % size_of(s, k);
        SC__TRY(ring_inside(b, p, s, k, in, out));
        if (k + 1 == s->count && !closed)
            break;
        uint32_t there = s->count == 1 ? in : enters(next, c, channels) % size_of(s, next);
        SC__TRY(wire(b, p, member(s, k, out), member(s, next, there), 1));
    }
    return SC_OK;
}

static sc_status add_ring(struct sc__pattern_builder *b,
                          struct sc__pattern *p,
                          const struct flow_pattern_nodes *s,
                          double volume,
                          bool closed) {
    uint32_t channels = s->count > 1 ? s->least : 1;
    for (uint32_t c = 0; c < channels; c++) {
        begin_flow(b, p, volume / channels);
        SC__TRY(ring_channel(b, p, s, c, channels, closed));
    }
    return SC_OK;
}

/* ---- trees ---- */

static sc_status tree_edges(struct sc__pattern_builder *b,
                            struct sc__pattern *p,
                            const struct flow_pattern_nodes *s,
                            uint32_t c,
                            unsigned tree) {
    for (uint32_t child = 0; child < s->count; child++) {
        uint32_t parent = sc__node_tree_parent(tree, child, s->count);
        if (parent == SC__NO_PARENT)
            continue;
        SC__TRY(wire(b, p, member(s, child, c), member(s, parent, c), 0.5));
        SC__TRY(wire(b, p, member(s, parent, c), member(s, child, c), 0.5));
    }
    return SC_OK;
}

static sc_status add_tree(struct sc__pattern_builder *b,
                          struct sc__pattern *p,
                          const struct flow_pattern_nodes *s,
                          bool nvls) {
    uint32_t channels = s->count > 1 ? s->least : 1;
    uint32_t n = s->first[s->count];
    for (uint32_t c = 0; c < channels; c++) {
        begin_flow(b, p, 1.0 / channels);
        for (uint32_t i = 0; i < n; i++) {
            double size = n / (double)s->count;
            load_port(b, p, s->gpu[i], nvls ? 1 + 1 / size : 2 * (size - 1) / size);
        }
        if (s->count < 2)
            continue;
        for (unsigned tree = 0; tree < SC__NODE_TREES; tree++)
            SC__TRY(tree_edges(b, p, s, c, tree));
    }
    return SC_OK;
}

/* ---- dimensions ---- */

static uint32_t
coordinate(const struct sc__fabric *f, uint32_t gpu, uint32_t dim, uint32_t *stride) {
    *stride = 1;
    for (uint32_t i = 0; i < dim; i++)
        *stride *= f->dim[i].size;
    return gpu / *stride % f->dim[dim].size;
}

static bool is_member(const uint32_t *gpu, uint32_t n, uint32_t wanted) {
    uint32_t low = 0;
    uint32_t high = n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (gpu[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && gpu[low] == wanted;
}

/* The next member along a dimension, `step` (1 or size - 1) at a time. */
static uint32_t neighbour(const struct sc__fabric *f,
                          const uint32_t *gpu,
                          uint32_t n,
                          uint32_t from,
                          uint32_t dim,
                          uint32_t step) {
    uint32_t stride;
    uint32_t at = coordinate(f, from, dim, &stride);
    uint32_t size = f->dim[dim].size;
    for (uint32_t k = 1; k < size; k++) {
        uint32_t to = from - at * stride + (at + k * step) % size * stride;
        if (is_member(gpu, n, to))
            return to;
    }
    return from;
}

/* What goes through each dimension, per byte and rank, when the buffer is cut
 * in as many parts as there are dimensions and part i begins with dimension i. */
static double dim_volume(const uint32_t *extent, uint32_t dims, uint32_t dim) {
    double volume = 0;
    for (uint32_t first = 0; first < dims; first++) {
        double left = 1.0 / dims;
        for (uint32_t i = first; i % dims != dim; i++)
            left /= extent[i % dims];
        volume += left * (extent[dim] - 1.0) / extent[dim];
    }
    return volume;
}

static uint32_t used_dims(struct sc__pattern_builder *b,
                          const uint32_t *gpu,
                          uint32_t n,
                          uint32_t *dim,
                          uint32_t *extent) {
    struct sc__shape shape = sc__cluster_shape(b->cluster, gpu, n);
    uint32_t dims = 0;
    for (uint32_t d = 0; d < b->cluster->fabric.dims; d++)
        if (shape.extent[d] > 1) {
            dim[dims] = d;
            extent[dims++] = shape.extent[d];
        }
    return dims;
}

/* Rings along every dimension at once, both ways round where there are two. */
static sc_status add_torus(struct sc__pattern_builder *b,
                           struct sc__pattern *p,
                           const uint32_t *gpu,
                           uint32_t n,
                           double passes) {
    const struct sc__fabric *f = &b->cluster->fabric;
    uint32_t dim[SC__FABRIC_DIMS_MAX];
    uint32_t extent[SC__FABRIC_DIMS_MAX];
    uint32_t dims = used_dims(b, gpu, n, dim, extent);
    begin_flow(b, p, passes);
    for (uint32_t d = 0; d < dims; d++) {
        uint32_t size = f->dim[dim[d]].size;
        bool both_directions =
            f->dim[dim[d]].kind == SC__DIM_RING && extent[d] == size && size > 2;
        double load = dim_volume(extent, dims, d) / (both_directions ? 2 : 1);
        for (uint32_t i = 0; i < n; i++) {
            SC__TRY(wire(b, p, gpu[i], neighbour(f, gpu, n, gpu[i], dim[d], 1), load));
            if (both_directions)
                SC__TRY(wire(b,
                             p,
                             gpu[i],
                             neighbour(f, gpu, n, gpu[i], dim[d], size - 1),
                             load));
        }
    }
    return SC_OK;
}

/* Members in an order in which neighbours are next to each other: every other
 * line is walked backwards. */
static const uint32_t *
snake(struct sc__pattern_builder *b, const uint32_t *gpu, uint32_t n) {
    const struct sc__fabric *f = &b->cluster->fabric;
    uint32_t *order = SC__NEW_ARRAY(b->arena, uint32_t, n);
    uint32_t count = 0;
    for (uint32_t place = 0; place < b->cluster->gpus && count < n; place++) {
        uint32_t stride = b->cluster->gpus;
        uint32_t at = 0;
        uint32_t rest = place;
        bool back = false;
        for (uint32_t d = f->dims; d-- > 0;) {
            stride /= f->dim[d].size;
            uint32_t digit = rest / stride;
            uint32_t here = back ? f->dim[d].size - 1 - digit : digit;
            rest %= stride;
            at += here * stride;
            back = here % 2;
        }
        if (is_member(gpu, n, at))
            order[count++] = at;
    }
    return order;
}

/* ---- all pairs ---- */

/* How messages of pairs go. */
struct pair_routing {
    enum sc__algo algo; /* direct, PXN or hierarchical */
    double share;       /* hierarchical: of the bytes that go between nodes */
};

/* The GPU of `at`'s node in the place that `like` has in its own: on its rail. */
static uint32_t
counterpart(const struct sc__pattern_builder *b, uint32_t at, uint32_t like) {
    uint32_t size = b->cluster->node_gpus;
    return at / size * size + like % size;
}

/* PXN changes GPUs before the network, two levels after it. */
static sc_status pair(struct sc__pattern_builder *b,
                      struct sc__pattern *p,
                      uint32_t from,
                      uint32_t to,
                      struct pair_routing how) {
    bool near = !has_nodes(b) || from / b->cluster->node_gpus == to / b->cluster->node_gpus;
    if (near || how.algo == SC__ALGO_DIRECT)
        return wire(b, p, from, to, 1);
    bool first = how.algo == SC__ALGO_PXN;
    uint32_t via = first ? counterpart(b, from, to) : counterpart(b, to, from);
    if (via != from)
        SC__TRY(wire(b, p, from, via, first ? 1 : how.share));
    return via == to ? SC_OK : wire(b, p, via, to, 1);
}

static uint32_t nic_count(const struct sc__pattern_builder *b) {
    uint32_t nodes = (b->cluster->gpus + b->cluster->node_gpus - 1) / b->cluster->node_gpus;
    return nodes * (b->cluster->node_nics ? b->cluster->node_nics : 1);
}

/* So many pairs that paths are not looked at: the ports alone, each as loaded
 * as all pairs make it. */
static void add_ports(struct sc__pattern_builder *b,
                      struct sc__pattern *p,
                      const uint32_t *gpu,
                      uint32_t n,
                      double volume) {
    uint32_t inside = n < b->cluster->node_gpus ? n : b->cluster->node_gpus;
    sc__note(b->ctx,
             "alltoall-ports",
             "all-to-all of %u ranks: only ports are shared, the fabric above them is not",
             n);
    begin_flow(b, p, volume);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t nic = b->graph->first_plane + sc__nic_of(b->cluster, gpu[i]);
        load_port(b, p, gpu[i], inside - 1);
        if (n == inside)
            continue;
        load_link(b, p, nic, (n - inside) * overhead(b));
        load_link(b, p, nic + nic_count(b), (n - inside) * overhead(b));
        p->network = true;
    }
}

static sc_status add_pairs(struct sc__pattern_builder *b,
                           struct sc__pattern *p,
                           const uint32_t *gpu,
                           uint32_t n,
                           struct pair_routing how,
                           double volume) {
    bool apart = n <= PAIRS_APART, by_source = n <= SOURCES_APART;
    if (n > PAIRS_ROUTED && has_nodes(b)) {
        add_ports(b, p, gpu, n, volume);
        return SC_OK;
    }
    if (!by_source)
        begin_flow(b, p, volume);
    for (uint32_t i = 0; i < n; i++) {
        if (by_source && !apart)
            begin_flow(b, p, volume);
        for (uint32_t k = 1; k < n; k++) {
            if (apart)
                begin_flow(b, p, volume);
            SC__TRY(pair(b, p, gpu[i], gpu[(i + k) % n], how));
        }
    }
    return SC_OK;
}

/* Gather and scatter: a message between the root and each of the others. */
static sc_status add_root(struct sc__pattern_builder *b,
                          struct sc__pattern *p,
                          const uint32_t *gpu,
                          uint32_t n,
                          uint32_t root,
                          bool gather) {
    for (uint32_t i = 0; i < n; i++) {
        if (gpu[i] == root)
            continue;
        begin_flow(b, p, 1.0 / n);
        SC__TRY(wire(b, p, gather ? gpu[i] : root, gather ? root : gpu[i], 1));
    }
    return SC_OK;
}

/* Bruck's steps, the farthest first: what a rank holds by then goes `far` ranks
 * on, but for what is there already. */
static sc_status add_pat(struct sc__pattern_builder *b,
                         struct sc__pattern *p,
                         const uint32_t *gpu,
                         uint32_t n) {
    begin_flow(b, p, 1);
    for (uint32_t far = 1; far < n; far *= 2) {
        double parts = (n - 1 - far) / (2 * far) + 1;
        for (uint32_t i = 0; i < n; i++)
            SC__TRY(wire(b, p, gpu[i], gpu[(i + far) % n], parts / n));
    }
    return SC_OK;
}

/* ---- the whole ---- */

sc_status sc__pattern_collective(struct sc__pattern_builder *b,
                                 struct sc__pattern *p,
                                 int coll,
                                 enum sc__algo algo,
                                 const uint32_t *gpu,
                                 uint32_t n,
                                 uint32_t root) {
    double part = (n - 1.0) / n;
    if (n < 2)
        return SC_OK;
    bool dims = b->cluster->fabric.kind == SC__FABRIC_DIMS;
    if (sc__coll_to_root((unsigned)coll))
        return add_root(b, p, gpu, n, root, coll == SC__GATHER);
    if (dims && algo == SC__ALGO_TORUS)
        return add_torus(b, p, gpu, n, coll == SC__ALLREDUCE ? 2 : 1);
    struct flow_pattern_nodes s =
        split_nodes(b, dims && coll != SC__ALLTOALL ? snake(b, gpu, n) : gpu, n);
    struct pair_routing how = {algo, sc__two_level_share(b->cluster, n, s.count)};
    if (coll == SC__ALLTOALL)
        return add_pairs(b, p, gpu, n, how, 1.0 / n);
    if (algo == SC__ALGO_DIRECT)
        return add_pairs(b, p, gpu, n, how, (coll == SC__ALLREDUCE ? 2.0 : 1.0) / n);
    bool reduce = coll == SC__ALLREDUCE || coll == SC__BARRIER;
    if (reduce && algo == SC__ALGO_TREE)
        return add_tree(b, p, &s, false);
    if (reduce && (algo == SC__ALGO_NVLS || algo == SC__ALGO_NVLS_TREE))
        return add_tree(b, p, &s, true);
    if (algo == SC__ALGO_COLLNET)
        return add_ring(b, p, &s, 1, true);
    if (algo == SC__ALGO_PAT)
        return add_pat(b, p, gpu, n);
    if (coll == SC__BROADCAST || coll == SC__REDUCE)
        return add_ring(b, p, &s, 1, false);
    return add_ring(b, p, &s, reduce ? 2 * part : part, true);
}

sc_status sc__pattern_message(struct sc__pattern_builder *b,
                              struct sc__pattern *p,
                              uint32_t from,
                              uint32_t to) {
    bool pxn = sc__fabric_has_rails(b->cluster) && !b->cluster->tuning.no_pxn;
    if (from == to)
        return SC_OK;
    begin_flow(b, p, 1);
    return pair(b,
                p,
                from,
                to,
                (struct pair_routing){pxn ? SC__ALGO_PXN : SC__ALGO_DIRECT, 1});
}

/* Ports: what a GPU or NIC has for itself, and no route can avoid. */
static bool is_port(const struct sc__pattern_builder *b, uint32_t link) {
    const struct sc__graph *g = b->graph;
    if (!has_nodes(b))
        return false;
    if (link < g->first_plane)
        return true;
    return (link - g->first_plane) % g->plane_links < 2 * nic_count(b);
}

/* NVLS and very large all-to-alls load ports without asking for a route, so the
 * state of every link is looked at here, where each pattern ends. */
static sc_status check_links(const struct sc__pattern_builder *b,
                             const struct sc__pattern *p) {
    for (uint32_t h = 0; h < p->hop_count; h++) {
        struct sc__buffer name;
        if (sc__link_works(b->graph, p->hops[h].link))
            continue;
        sc__buffer_init(&name, b->arena);
        b->graph->name(b->graph, p->hops[h].link, &name);
        return sc__fail(b->ctx,
                        SC_INPUT,
                        NULL,
                        "a GPU behind a failed link takes no part in collectives over it",
                        "the GPU behind %s cannot be reached: the link is out of service",
                        name.text);
    }
    return SC_OK;
}

sc_status sc__pattern_close(struct sc__pattern_builder *b, struct sc__pattern *p) {
    SC__TRY(check_links(b, p));
    for (uint32_t f = 0; f < p->flow_count; f++)
        for (uint32_t h = p->flows[f].first; h < p->flows[f].first + p->flows[f].count;
             h++) {
            uint32_t link = p->hops[h].link;
            if (!is_port(b, link))
                continue;
            b->busy[link] +=
                p->flows[f].volume * p->hops[h].load / b->graph->capacity[link];
            p->port_time = fmax(p->port_time, b->busy[link]);
        }
    for (uint32_t h = 0; h < p->hop_count; h++)
        b->busy[p->hops[h].link] = 0;
    return SC_OK;
}
