/* A collective is its schedule (collective/schedule.h) without the order: what goes
 * over each connection, all phases together. Which channels are one flow:
 *
 *   ring, chain             every channel
 *   tree, NVLS, CollNet     the channels of one head in every node
 *   PAT, torus              all
 *   pairs                   up to 16 ranks every pair, up to 64 all of one source, else
 *                           all
 *   gather, scatter         every message */
#include "network/flow/flow_pattern.h"

#include "collective/library.h"
#include "hardware/dims_path.h"

#include <string.h>

#define PAIRS_APART 16u    /* up to so many ranks all pairs are flows of their own */
#define SOURCES_APART 64u  /* up to so many all of one source are one flow */
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

static bool has_nodes(const struct sc__pattern_builder *b) {
    return b->cluster->fabric.kind != SC__FABRIC_DIMS &&
           b->cluster->fabric.kind != SC__FABRIC_LINKS;
}

/* Bytes on a cable between nodes for a byte of payload. */
static double overhead(const struct sc__pattern_builder *b) {
    return b->cluster->constants.wire > 0 ? 1 / b->cluster->constants.wire : 1;
}

/* A connection of the open flow. */
static sc_status lay_route(struct sc__pattern_builder *b,
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

enum { PORT_OUT, PORT_IN };

/* One direction of a GPU's port inside its node; cables come in pairs, out and in. */
static void load_port(struct sc__pattern_builder *b,
                      struct sc__pattern *p,
                      uint32_t gpu,
                      unsigned direction,
                      double load) {
    uint32_t links[SC__NVLINKS_MAX];
    if (!b->graph->nvlink)
        return;
    uint32_t cables = b->graph->nvlink(b->graph, gpu, links) / 2;
    for (uint32_t i = 0; i < cables; i++)
        load_link(b, p, links[2 * i + direction], load / cables);
}

/* Up to the switch of a node from so many GPUs, and down from it to so many. */
static void through_switch(struct sc__pattern_builder *b,
                           struct sc__pattern *p,
                           const uint32_t *gpu,
                           const struct sc__coll_transfer *t,
                           double load) {
    for (uint32_t i = 0; i < t->sources; i++)
        load_port(b, p, gpu[t->source + i], PORT_OUT, load);
    for (uint32_t i = 0; i < t->destinations; i++)
        load_port(b, p, gpu[t->destination + i], PORT_IN, load);
}

/* The GPU of `at`'s node in the place that `like` has in its own: on its rail. */
static uint32_t
counterpart(const struct sc__pattern_builder *b, uint32_t at, uint32_t like) {
    uint32_t size = b->cluster->node_gpus;
    return at / size * size + like % size;
}

/* A connection, by path of the GPU that relays it where there is one. crossing: share of
 * it that goes between nodes when the relay is beside the destination. */
static sc_status lay_connection(struct sc__pattern_builder *b,
                                struct sc__pattern *p,
                                uint32_t from,
                                uint32_t to,
                                enum sc__coll_relay relay,
                                double crossing,
                                double load) {
    bool near = !has_nodes(b) || from / b->cluster->node_gpus == to / b->cluster->node_gpus;
    if (near || relay == SC__RELAY_NONE)
        return lay_route(b, p, from, to, load);
    bool first = relay == SC__RELAY_AT_SOURCE;
    uint32_t via = first ? counterpart(b, from, to) : counterpart(b, to, from);
    if (via != from)
        SC__TRY(lay_route(b, p, from, via, first ? load : load * crossing));
    return via == to ? SC_OK : lay_route(b, p, via, to, load);
}

/* ---- schedules as flows ---- */

/* A collective of the group whose member i is gpu[i]. */
struct flow_collective {
    struct sc__coll_schedule schedule;
    const uint32_t *gpu;
    double crossing; /* two-level: share of the bytes that goes between nodes */
    double unit;     /* parts of a slice that a load of one stands for */
};

static sc_status add_transfer(struct sc__pattern_builder *b,
                              struct sc__pattern *p,
                              const struct flow_collective *f,
                              struct sc__coll_transfer_id id,
                              double times) {
    struct sc__coll_transfer t;
    if (!sc__coll_schedule_transfer(&f->schedule, id, &t))
        return SC_OK;
    double load = times * (double)t.count / f->unit;
    if (t.sources > 1 || t.destinations > 1) {
        through_switch(b, p, f->gpu, &t, load);
        return SC_OK;
    }
    return lay_connection(b,
                          p,
                          f->gpu[t.source],
                          f->gpu[t.destination],
                          t.relay,
                          f->crossing,
                          load);
}

/* All connections of a channel, into the open flow. Rounds and repeated phases go over the
 * same ones. */
static sc_status add_channel(struct sc__pattern_builder *b,
                             struct sc__pattern *p,
                             const struct flow_collective *f,
                             uint32_t channel) {
    const struct sc__coll_schedule *s = &f->schedule;
    uint32_t end = s->phases / s->rounds;
    for (uint32_t phase = 0, repeats; phase < end; phase += repeats) {
        repeats = sc__coll_schedule_repeats(s, channel, phase);
        for (uint32_t i = 0; i < sc__coll_schedule_slots(s, phase); i++) {
            struct sc__coll_transfer_id id = {phase, channel, i};
            SC__TRY(add_transfer(b, p, f, id, (double)repeats * s->rounds));
        }
    }
    return SC_OK;
}

/* Transfers that wait for each other: `flows` flows of as many channels each, whose
 * connections carry `volume` of the buffer where their load is one. */
static sc_status add_channels(struct sc__pattern_builder *b,
                              struct sc__pattern *p,
                              const struct flow_collective *f,
                              uint32_t flows,
                              double volume) {
    uint32_t each = f->schedule.channels / flows;
    for (uint32_t c = 0; c < f->schedule.channels; c++) {
        if (c % each == 0)
            begin_flow(b, p, volume);
        SC__TRY(add_channel(b, p, f, c));
    }
    return SC_OK;
}

/* A flow for each channel, its connections alike. */
static sc_status
add_rings(struct sc__pattern_builder *b, struct sc__pattern *p, struct flow_collective *f) {
    const struct sc__coll_schedule *s = &f->schedule;
    double ranks = s->group.ranks;
    struct sc__coll_counts c = sc__coll_counts(s->family, s->coll, ranks, 1, ranks, ranks);
    f->unit = c.sent;
    return add_channels(b, p, f, s->channels, c.sent / c.parts / s->channels);
}

/* A flow for each head of a node, both trees; one for all inside a single node. */
static sc_status
add_trees(struct sc__pattern_builder *b, struct sc__pattern *p, struct flow_collective *f) {
    const struct sc__coll_schedule *s = &f->schedule;
    uint32_t flows = s->group.nodes > 1 ? s->channels / s->siblings : 1;
    f->unit = s->channels / flows;
    return add_channels(b, p, f, flows, 1.0 / flows);
}

/* One flow for all. */
static sc_status add_together(struct sc__pattern_builder *b,
                              struct sc__pattern *p,
                              struct flow_collective *f) {
    const struct sc__coll_schedule *s = &f->schedule;
    f->unit = (double)s->parts * s->channels * s->rounds;
    return add_channels(b, p, f, 1, s->rounds);
}

/* ---- all pairs ---- */

static uint32_t nic_count(const struct sc__pattern_builder *b) {
    uint32_t nodes = (b->cluster->gpus + b->cluster->node_gpus - 1) / b->cluster->node_gpus;
    return nodes * sc__fabric_plane_nics(b->cluster);
}

/* An equal part in every plane. */
static void
load_nic(struct sc__pattern_builder *b, struct sc__pattern *p, uint32_t gpu, double load) {
    const struct sc__graph *g = b->graph;
    for (uint32_t plane = 0; plane < g->planes; plane++) {
        uint32_t nic =
            g->first_plane + plane * g->plane_links + sc__nic_of(b->cluster, gpu);
        load_link(b, p, nic, load / g->planes);
        load_link(b, p, nic + nic_count(b), load / g->planes);
    }
}

/* So many pairs that paths are not looked at: the ports alone, each as loaded
 * as all pairs make it. */
static void add_ports(struct sc__pattern_builder *b,
                      struct sc__pattern *p,
                      const struct flow_collective *f,
                      double volume) {
    uint32_t n = f->schedule.group.ranks;
    uint32_t inside = n < b->cluster->node_gpus ? n : b->cluster->node_gpus;
    struct sc__coll_counts c =
        sc__coll_counts(SC__FAMILY_PAIRS, SC__ALLTOALL, n, 1, inside, inside);
    sc__note(b->ctx,
             "alltoall-ports",
             "all-to-all of %u ranks: only ports are shared, the fabric above them is not",
             n);
    begin_flow(b, p, volume);
    for (uint32_t i = 0; i < n; i++) {
        load_port(b, p, f->gpu[i], PORT_OUT, c.port);
        load_port(b, p, f->gpu[i], PORT_IN, c.port);
        if (n == inside)
            continue;
        load_nic(b, p, f->gpu[i], c.nic * overhead(b));
        p->network = true;
    }
}

/* Messages that do not wait for each other. Of few ranks each is a flow of its
 * own, of more those of one source, of many all. */
static sc_status
add_pairs(struct sc__pattern_builder *b, struct sc__pattern *p, struct flow_collective *f) {
    const struct sc__coll_schedule *s = &f->schedule;
    uint32_t n = s->group.ranks;
    double volume = (double)s->rounds / n;
    bool apart = n <= PAIRS_APART;
    bool by_source = n <= SOURCES_APART;
    f->unit = s->rounds;
    if (n > PAIRS_ROUTED && has_nodes(b)) {
        add_ports(b, p, f, volume);
        return SC_OK;
    }
    if (!by_source)
        begin_flow(b, p, volume);
    for (uint32_t i = 0; i < n; i++) {
        if (by_source && !apart)
            begin_flow(b, p, volume);
        for (uint32_t phase = 0; phase < n - 1; phase++) {
            struct sc__coll_transfer_id id = {phase, 0, i};
            if (apart)
                begin_flow(b, p, volume);
            SC__TRY(add_transfer(b, p, f, id, s->rounds));
        }
    }
    return SC_OK;
}

/* Gather and scatter: a message between the root and each of the others. */
static sc_status
add_root(struct sc__pattern_builder *b, struct sc__pattern *p, struct flow_collective *f) {
    uint32_t n = f->schedule.group.ranks;
    f->unit = 1;
    for (uint32_t phase = 0; phase < n - 1; phase++) {
        begin_flow(b, p, 1.0 / n);
        SC__TRY(add_transfer(b, p, f, (struct sc__coll_transfer_id){phase, 0, 0}, 1));
    }
    return SC_OK;
}

/* A message from every member to the next. */
static sc_status
add_shift(struct sc__pattern_builder *b, struct sc__pattern *p, struct flow_collective *f) {
    f->unit = 1;
    for (uint32_t i = 0; i < f->schedule.group.ranks; i++) {
        begin_flow(b, p, 1);
        SC__TRY(add_transfer(b, p, f, (struct sc__coll_transfer_id){0, 0, i}, 1));
    }
    return SC_OK;
}

/* ---- the whole ---- */

typedef sc_status
add_family(struct sc__pattern_builder *b, struct sc__pattern *p, struct flow_collective *f);

static add_family *const families[SC__FAMILIES] = {
    [SC__FAMILY_RING] = add_rings,
    [SC__FAMILY_CHAIN] = add_rings,
    [SC__FAMILY_TREE] = add_trees,
    [SC__FAMILY_NVLS] = add_trees,
    [SC__FAMILY_COLLNET] = add_trees,
    [SC__FAMILY_HALVING] = add_together,
    [SC__FAMILY_PAT] = add_together,
    [SC__FAMILY_PAIRS] = add_pairs,
    [SC__FAMILY_ROOT] = add_root,
    [SC__FAMILY_SHIFT] = add_shift,
    [SC__FAMILY_BINOMIAL] = add_together,
    [SC__FAMILY_DISSEMINATION] = add_together,
    [SC__FAMILY_TORUS] = add_together,
};

sc_status sc__pattern_collective(struct sc__pattern_builder *b,
                                 struct sc__pattern *p,
                                 int coll,
                                 enum sc__algo algo,
                                 const uint32_t *gpu,
                                 uint32_t n,
                                 uint32_t root) {
    struct flow_collective f = {.gpu = gpu};
    uint32_t dim[SC__FABRIC_DIMS_MAX];
    if (n < 2)
        return SC_OK;
    sc__coll_schedule_choose(algo, coll, &f.schedule);
    if (b->cluster->fabric.kind == SC__FABRIC_DIMS) {
        struct sc__shape shape = sc__cluster_shape(b->cluster, gpu, n);
        bool round =
            f.schedule.family == SC__FAMILY_RING || f.schedule.family == SC__FAMILY_CHAIN;
        sc__coll_box_of(b->cluster, &shape, &f.schedule.box, dim);
        if (round)
            f.gpu = sc__dims_snake(b->arena, b->cluster, gpu, n);
    }
    f.schedule.group = sc__coll_group_on(b->cluster, f.gpu, n, b->arena);
    f.schedule.root = sc__coll_member_of(f.gpu, n, root);
    f.schedule.switch_reduces =
        sc__coll_node_switch_reduces(b->cluster, f.schedule.group.per_node);
    f.crossing = sc__two_level_share(b->cluster, n, f.schedule.group.nodes);
    sc__coll_schedule_init(&f.schedule);
    return families[f.schedule.family](b, p, &f);
}

sc_status sc__pattern_message(struct sc__pattern_builder *b,
                              struct sc__pattern *p,
                              uint32_t from,
                              uint32_t to) {
    bool pxn = sc__fabric_has_rails(b->cluster) && !b->cluster->tuning.no_pxn;
    if (from == to)
        return SC_OK;
    begin_flow(b, p, 1);
    return lay_connection(b, p, from, to, pxn ? SC__RELAY_AT_SOURCE : SC__RELAY_NONE, 1, 1);
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
                p->flows[f].volume * p->hops[h].load / sc__link_undegraded(b->graph, link);
            p->port_time = fmax(p->port_time, b->busy[link]);
        }
    for (uint32_t h = 0; h < p->hop_count; h++)
        b->busy[p->hops[h].link] = 0;
    return SC_OK;
}
