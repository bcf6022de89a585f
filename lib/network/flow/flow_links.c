/* Graphs that are no trees: dimensions (rings, full meshes, switches), groups
 * of routers (dragonfly), and links given one by one. */
#include "network/flow/flow_cluster.h"

#include "hardware/dims_path.h"

#include <string.h>

/* ---- dimensions (hardware/dims_path.h) ---- */

static uint32_t dims_paths(const struct sc__graph *g, uint32_t from, uint32_t to) {
    return sc__dims_paths(g->self, from, to);
}

static uint32_t dims_path(
    const struct sc__graph *g, uint32_t from, uint32_t to, uint32_t w, uint32_t *links) {
    return sc__dims_path(g->self, from, to, w, links);
}

static void dims_name(const struct sc__graph *g, uint32_t link, struct sc__buffer *out) {
    const struct sc__dims *t = g->self;
    uint32_t d = t->fabric->dims - 1;
    while (d && link < t->first[d])
        d--;
    uint32_t each = sc__dims_links(&t->fabric->dim[d]);
    uint32_t i = link - t->first[d];
    sc__printf(out, "gpu%u.dim%u.%u", i / each, d, i % each);
}

/* Devices: GPUs, then the switches of dimension d, one for each GPU that is first in it. */
static void dims_ends(const struct sc__graph *g, uint32_t link, uint32_t device[2]) {
    const struct sc__dims *t = g->self;
    uint32_t d = t->fabric->dims - 1;
    while (d && link < t->first[d])
        d--;
    const struct sc__fabric_dim *dim = &t->fabric->dim[d];
    uint32_t each = sc__dims_links(dim);
    uint32_t gpu = (link - t->first[d]) / each;
    uint32_t which = (link - t->first[d]) % each;
    uint32_t here = sc__dims_at(t, gpu, d);
    device[0] = gpu;
    if (dim->kind == SC__DIM_SWITCH) {
        uint32_t first = sc__dims_move(t, gpu, d, 0);
        device[which] = gpu;
        device[1 - which] = g->ports * (1 + d) + first;
    } else if (dim->kind == SC__DIM_FULL) {
        device[1] = sc__dims_move(t, gpu, d, (here + 1 + which) % dim->size);
    } else {
        device[1] =
            sc__dims_move(t, gpu, d, (here + (which ? dim->size - 1 : 1)) % dim->size);
    }
}

/* A hop through the switch of a dimension is two links. Where no dimension has a latency,
 * none is set: packets have a usual one. */
static void set_dim_links(const struct sc__dims *t, struct sc__graph *g) {
    const struct sc__fabric *f = t->fabric;
    int64_t longest = 0;
    g->capacity = SC__NEW_ARRAY(g->arena, double, g->links);
    int64_t *latency = SC__NEW_ARRAY(g->arena, int64_t, g->links);
    for (uint32_t d = 0; d < f->dims; d++) {
        const struct sc__fabric_dim *dim = &f->dim[d];
        int64_t link = dim->kind == SC__DIM_SWITCH ? dim->latency / 2 : dim->latency;
        longest = link > longest ? link : longest;
        for (uint32_t i = 0; i < g->ports * sc__dims_links(dim); i++) {
            g->capacity[t->first[d] + i] = dim->rate;
            latency[t->first[d] + i] = link;
        }
    }
    g->latency = longest ? latency : NULL;
}

sc_status
sc__graph_dims(struct sc_context *ctx, const struct sc__cluster *c, struct sc__graph *g) {
    struct sc__dims *t = SC__NEW(&ctx->arena, struct sc__dims);
    for (uint32_t d = 0; d < c->fabric.dims; d++)
        if (!c->fabric.dim[d].size || !(c->fabric.dim[d].rate > 0))
            return sc__fail(ctx,
                            SC_INPUT,
                            NULL,
                            NULL,
                            "dimension %u has no size or no capacity",
                            d);
    if (!sc__dims_init(c, t))
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "the dimensions do not hold %u GPUs, or hold too many links",
                        c->gpus);
    *g = (struct sc__graph){.arena = &ctx->arena,
                            .ports = c->gpus,
                            .links = t->links,
                            .planes = 1,
                            .most_hops = t->hops,
                            .most_paths = c->fabric.dims,
                            .paths = dims_paths,
                            .path = dims_path,
                            .name = dims_name,
                            .ends = dims_ends,
                            .devices = c->gpus * (1 + c->fabric.dims),
                            .hosts = c->gpus,
                            .hosts_forward = true,
                            .self = t};
    set_dim_links(t, g);
    return SC_OK;
}

/* ---- dragonfly: up to one hop inside the group, one between groups, one inside ----
 *
 * Links: NIC up, NIC down; router a → b inside a group; then the global
 * links of a router. Global port p of group i leads to group (i + 1 + p % (groups-1)). */

struct fly {
    uint32_t router_nics;
    uint32_t routers;
    uint32_t global;
    uint32_t groups;
    uint32_t nics;
};

static uint32_t fly_local(const struct fly *f, uint32_t group, uint32_t a, uint32_t b) {
    return 2 * f->nics + (group * f->routers + a) * f->routers + b;
}

static uint32_t fly_global(const struct fly *f, uint32_t group, uint32_t port) {
    return 2 * f->nics + f->groups * f->routers * f->routers +
           group * f->routers * f->global + port;
}

static uint32_t fly_paths(const struct sc__graph *g, uint32_t from, uint32_t to) {
    const struct fly *f = g->self;
    uint32_t in_group = f->router_nics * f->routers;
    return from / in_group == to / in_group ? 1 : f->routers * f->global / (f->groups - 1);
}

static uint32_t fly_path(
    const struct sc__graph *g, uint32_t from, uint32_t to, uint32_t w, uint32_t *links) {
    const struct fly *f = g->self;
    uint32_t n = 0;
    uint32_t a = from / f->router_nics;
    uint32_t b = to / f->router_nics;
    uint32_t i = a / f->routers;
    uint32_t k = b / f->routers;
    a %= f->routers, b %= f->routers;
    links[n++] = from;
    if (i != k) {
        uint32_t port = (k + f->groups - i - 1) % f->groups + w * (f->groups - 1);
        uint32_t back = (i + f->groups - k - 1) % f->groups + w * (f->groups - 1);
        if (port / f->global != a)
            links[n++] = fly_local(f, i, a, port / f->global);
        links[n++] = fly_global(f, i, port);
        a = back / f->global;
    }
    if (a != b)
        links[n++] = fly_local(f, k, a, b);
    links[n++] = f->nics + to;
    return n;
}

static void fly_name(const struct sc__graph *g, uint32_t link, struct sc__buffer *out) {
    const struct fly *f = g->self;
    uint32_t locals = f->groups * f->routers * f->routers;
    if (link < 2 * f->nics) {
        sc__printf(out, "port%u.%s", link % f->nics, link < f->nics ? "up" : "down");
    } else if (link < 2 * f->nics + locals) {
        uint32_t i = link - 2 * f->nics;
        sc__printf(out,
                   "group%u.router%u-router%u",
                   i / f->routers / f->routers,
                   i / f->routers % f->routers,
                   i % f->routers);
    } else {
        uint32_t i = link - 2 * f->nics - locals;
        uint32_t each = f->routers * f->global;
        sc__printf(out, "group%u.global%u", i / each, i % each);
    }
}

/* Devices: NICs, then routers by group. */
static void fly_ends(const struct sc__graph *g, uint32_t link, uint32_t device[2]) {
    const struct fly *f = g->self;
    uint32_t locals = f->groups * f->routers * f->routers;
    if (link < 2 * f->nics) {
        uint32_t nic = link % f->nics;
        bool down = link >= f->nics;
        device[down] = nic;
        device[!down] = f->nics + nic / f->router_nics;
        return;
    }
    link -= 2 * f->nics;
    if (link < locals) {
        uint32_t group = link / f->routers / f->routers;
        device[0] = f->nics + group * f->routers + link / f->routers % f->routers;
        device[1] = f->nics + group * f->routers + link % f->routers;
        return;
    }
    uint32_t ports = f->routers * f->global;
    uint32_t group = (link - locals) / ports;
    uint32_t port = (link - locals) % ports;
    uint32_t to = (group + 1 + port % (f->groups - 1)) % f->groups;
    uint32_t back = (group + f->groups - to - 1) % f->groups;
    back += port / (f->groups - 1) * (f->groups - 1);
    device[0] = f->nics + group * f->routers + port / f->global;
    device[1] = f->nics + to * f->routers + back / f->global;
}

sc_status sc__graph_dragonfly(struct sc_context *ctx,
                              const struct sc__cluster *c,
                              uint32_t nics,
                              struct sc__graph *g) {
    const struct sc__fabric *d = &c->fabric;
    struct fly *f = SC__NEW(&ctx->arena, struct fly);
    *f = (struct fly){d->router_nics, d->group_routers, d->global_links, d->groups, nics};
    uint64_t links =
        2ull * nics + (uint64_t)f->groups * f->routers * (f->routers + f->global);
    if (links > 1u << 28 || f->groups < 2)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "a dragonfly has at least two groups, and at most 268435456 links");
    *g = (struct sc__graph){.arena = &ctx->arena,
                            .ports = nics,
                            .links = (uint32_t)links,
                            .planes = 1,
                            .most_hops = 5,
                            .most_paths = f->routers * f->global / (f->groups - 1),
                            .paths = fly_paths,
                            .path = fly_path,
                            .name = fly_name,
                            .ends = fly_ends,
                            .devices = nics + f->groups * f->routers,
                            .hosts = nics,
                            .self = f};
    g->capacity = SC__NEW_ARRAY(&ctx->arena, double, g->links);
    for (uint32_t i = 0; i < g->links; i++)
        g->capacity[i] = i < 2 * nics || !(d->link > 0) ? c->nic : d->link;
    return SC_OK;
}

/* ---- links one by one: shortest paths, found per destination and kept ----
 *
 * Cable i is the links 2i (a → b) and 2i + 1 (b → a). GPUs do not forward. GPUs
 * of a node that NVLink joins use it, even where a leaf switch that joins them
 * as well is as near. */

/* Paths told apart between two GPUs; more only where one device has more links to choose
 * from: none of them may stay empty. */
#define LISTED_PATHS 64u

struct listed {
    struct sc__arena *arena;
    const struct sc__fabric *fabric;
    uint32_t gpus;
    uint32_t node_gpus;
    uint32_t devices;
    /* links that leave a device */
    uint32_t *first;
    uint32_t *out;
    uint8_t **distance; /* by destination GPU, then device; 255: out of reach */
    uint32_t *queue;    /* of the search */
    uint32_t *nearer;   /* of find_nearer: links to choose from, room for any device's */
    /* Distances over NVLink alone to the GPU that was asked for last. */
    uint8_t *inside;
    uint32_t inside_to;    /* or UINT32_MAX */
    uint32_t inside_count; /* devices it has in the queue: those in reach */
    uint32_t *inside_queue;
};

#define OUT_OF_REACH 255u

static uint32_t link_end(const struct listed *t, uint32_t link) {
    const struct sc__fabric_link *l = &t->fabric->links[link / 2];
    return link % 2 ? l->a : l->b;
}

static uint32_t link_begin(const struct listed *t, uint32_t link) {
    return link_end(t, link ^ 1);
}

static bool is_nvlink(const struct listed *t, uint32_t link) {
    uint32_t end = t->gpus + t->fabric->nvswitches;
    return link_begin(t, link) < end && link_end(t, link) < end;
}

/* Breadth first from `to` against the links, over NVLink or over all; gives how
 * many devices are in the queue. */
static uint32_t search_distances(
    const struct sc__graph *g, uint32_t to, bool nvlink, uint8_t *far, uint32_t *queue) {
    const struct listed *t = g->self;
    uint32_t count = 0;
    far[to] = 0;
    queue[count++] = to;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = queue[i];
        if ((at < t->gpus && at != to) || far[at] == OUT_OF_REACH - 1)
            continue;
        for (uint32_t k = t->first[at]; k < t->first[at + 1]; k++) {
            uint32_t next = link_end(t, t->out[k]);
            uint32_t towards = t->out[k] ^ 1; /* the cable's other direction */
            if (far[next] != OUT_OF_REACH)
                continue;
            if (nvlink && (!is_nvlink(t, towards) || !sc__link_works(g, towards)))
                continue;
            far[next] = (uint8_t)(far[at] + 1);
            queue[count++] = next;
        }
    }
    return count;
}

static const uint8_t *distances(const struct sc__graph *g, uint32_t to) {
    const struct listed *t = g->self;
    if (t->distance[to])
        return t->distance[to];
    t->distance[to] = sc__alloc(t->arena, t->devices);
    memset(t->distance[to], OUT_OF_REACH, t->devices);
    search_distances(g, to, false, t->distance[to], t->queue);
    return t->distance[to];
}

/* Distances over links of NVLink that work. */
static const uint8_t *distances_inside(const struct sc__graph *g, uint32_t to) {
    struct listed *t = (struct listed *)g->self;
    if (t->inside_to == to)
        return t->inside;
    for (uint32_t i = 0; i < t->inside_count; i++)
        t->inside[t->inside_queue[i]] = OUT_OF_REACH;
    t->inside_count = search_distances(g, to, true, t->inside, t->inside_queue);
    t->inside_to = to;
    return t->inside;
}

/* The links of a device that lead nearer to the GPU `to`, into t->nearer. */
static uint32_t find_nearer(
    const struct sc__graph *g, const uint8_t *far, bool nvlink, uint32_t at, uint32_t to) {
    const struct listed *t = g->self;
    uint32_t count = 0;
    for (uint32_t k = t->first[at]; k < t->first[at + 1]; k++) {
        uint32_t next = link_end(t, t->out[k]);
        if (far[next] + 1 != far[at] || (next < t->gpus && next != to))
            continue;
        if (nvlink && (!is_nvlink(t, t->out[k]) || !sc__link_works(g, t->out[k])))
            continue;
        t->nearer[count++] = t->out[k];
    }
    return count;
}

/* Where a message between two GPUs goes: over NVLink alone, or over all links. */
static const uint8_t *
distances_between(const struct sc__graph *g, uint32_t from, uint32_t to, bool *nvlink) {
    const struct listed *t = g->self;
    *nvlink = false;
    if (from / t->node_gpus == to / t->node_gpus) {
        const uint8_t *inside = distances_inside(g, to);
        *nvlink = inside[from] != OUT_OF_REACH;
        if (*nvlink)
            return inside;
    }
    return distances(g, to);
}

/* About LISTED_PATHS, and as many for each link that can be chosen: a multiple of the
 * number of shortest paths (counted along one of them) where they are few, of the links at
 * the first choice where they are many. */
static uint32_t listed_paths(const struct sc__graph *g, uint32_t from, uint32_t to) {
    const struct listed *t = g->self;
    bool nvlink;
    const uint8_t *far = distances_between(g, from, to, &nvlink);
    uint32_t first = 1;
    uint64_t all = 1;
    for (uint32_t at = from; at != to && far[at] != OUT_OF_REACH;) {
        uint32_t count = find_nearer(g, far, nvlink, at, to);
        first = first > 1 ? first : count;
        all = all <= LISTED_PATHS ? all * count : all;
        at = link_end(t, t->nearer[0]);
    }
    uint32_t unit = all <= LISTED_PATHS ? (uint32_t)all : first;
    if (unit > LISTED_PATHS)
        return unit < g->most_paths ? unit : g->most_paths;
    return LISTED_PATHS / unit * unit;
}

/* At each device the path number chooses among the links that lead nearer. */
static uint32_t listed_path(
    const struct sc__graph *g, uint32_t from, uint32_t to, uint32_t w, uint32_t *links) {
    const struct listed *t = g->self;
    bool nvlink;
    const uint8_t *far = distances_between(g, from, to, &nvlink);
    uint32_t n = 0;
    uint64_t choice = w;
    for (uint32_t at = from; at != to && far[at] != OUT_OF_REACH;) {
        uint32_t count = find_nearer(g, far, nvlink, at, to);
        links[n] = t->nearer[choice % count];
        choice = choice / count + sc__splitmix64(choice) % 7 * (count > 1);
        at = link_end(t, links[n++]);
    }
    return n;
}

/* The cables of a GPU to its NVSwitches (or to GPUs), both directions of each. */
static uint32_t listed_nvlink(const struct sc__graph *g, uint32_t gpu, uint32_t *links) {
    const struct listed *t = g->self;
    uint32_t n = 0;
    for (uint32_t k = t->first[gpu]; k < t->first[gpu + 1] && n < SC__NVLINKS_MAX; k++)
        if (is_nvlink(t, t->out[k])) {
            links[n++] = t->out[k];
            links[n++] = t->out[k] ^ 1;
        }
    return n;
}

static void listed_name(const struct sc__graph *g, uint32_t link, struct sc__buffer *out) {
    const struct listed *t = g->self;
    sc__printf(out, "%u-%u", link_begin(t, link), link_end(t, link));
}

static void listed_ends(const struct sc__graph *g, uint32_t link, uint32_t device[2]) {
    const struct listed *t = g->self;
    device[0] = link_begin(t, link);
    device[1] = link_end(t, link);
}

static void index_links(struct listed *t, uint32_t links) {
    t->first = SC__NEW_ARRAY(t->arena, uint32_t, t->devices + 2);
    t->out = SC__NEW_ARRAY(t->arena, uint32_t, links);
    for (uint32_t i = 0; i < links; i++)
        t->first[link_begin(t, i) + 2]++;
    for (uint32_t i = 2; i < t->devices + 2; i++)
        t->first[i] += t->first[i - 1];
    for (uint32_t i = 0; i < links; i++)
        t->out[t->first[link_begin(t, i) + 1]++] = i;
}

/* The most links that one device has to others; to_switches: to switches alone. */
static uint32_t most_links(const struct listed *t, bool to_switches) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < t->devices; i++) {
        uint32_t here = 0;
        for (uint32_t k = t->first[i]; k < t->first[i + 1]; k++)
            here += !to_switches || link_end(t, t->out[k]) >= t->gpus;
        most = here > most ? here : most;
    }
    return most;
}

sc_status
sc__graph_links(struct sc_context *ctx, const struct sc__cluster *c, struct sc__graph *g) {
    const struct sc__fabric *f = &c->fabric;
    struct listed *t = SC__NEW(&ctx->arena, struct listed);
    *t = (struct listed){.arena = &ctx->arena,
                         .fabric = f,
                         .gpus = c->gpus,
                         .node_gpus = c->node_gpus,
                         .devices = c->gpus + f->nvswitches + f->switches,
                         .inside_to = UINT32_MAX};
    for (uint32_t i = 0; i < f->link_count; i++) {
        const struct sc__fabric_link *l = &f->links[i];
        if (l->a >= t->devices || l->b >= t->devices || !(l->rate > 0))
            return sc__fail(
                ctx,
                SC_INPUT,
                NULL,
                NULL,
                "link %u joins %u and %u at %g bytes/s: no such device, or no capacity",
                i,
                l->a,
                l->b,
                l->rate);
    }
    t->distance = SC__NEW_ARRAY(&ctx->arena, uint8_t *, c->gpus);
    t->queue = SC__NEW_ARRAY(&ctx->arena, uint32_t, t->devices);
    t->inside = sc__alloc(&ctx->arena, t->devices);
    memset(t->inside, OUT_OF_REACH, t->devices);
    t->inside_queue = SC__NEW_ARRAY(&ctx->arena, uint32_t, t->devices);
    index_links(t, 2 * f->link_count);
    t->nearer = SC__NEW_ARRAY(&ctx->arena, uint32_t, most_links(t, false) + 1);
    uint32_t most_paths = most_links(t, true);
    *g = (struct sc__graph){.arena = &ctx->arena,
                            .ports = c->gpus,
                            .links = 2 * f->link_count,
                            .planes = 1,
                            .most_hops = 254,
                            .most_paths =
                                most_paths > LISTED_PATHS ? most_paths : LISTED_PATHS,
                            .paths = listed_paths,
                            .path = listed_path,
                            .nvlink = listed_nvlink,
                            .name = listed_name,
                            .ends = listed_ends,
                            .devices = t->devices,
                            .hosts = c->gpus,
                            .self = t,
                            .hop_latency = f->hop_latency};
    g->capacity = SC__NEW_ARRAY(&ctx->arena, double, g->links);
    g->latency = SC__NEW_ARRAY(&ctx->arena, int64_t, g->links);
    for (uint32_t i = 0; i < g->links; i++) {
        g->capacity[i] = f->links[i / 2].rate;
        g->latency[i] = f->links[i / 2].latency;
    }
    return SC_OK;
}
