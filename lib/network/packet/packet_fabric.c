#include "network/packet/packet_simai.h"
#include "network/packet/packet_uet.h"

#include <string.h>

#define RESERVE ((int64_t)4096)
#define NS ((int64_t)1000) /* ps */
/* A description may have switches larger than any: those have the buffer of as many of
 * this size as they are worth. */
#define SWITCH_PORTS 64u
/* Of SimAI's topologies: a cable to an NVSwitch, and one of the network where the
 * cluster gives no latency. */
#define NVLINK_DELAY ((int64_t)25)
#define NETWORK_DELAY ((int64_t)500)
#define SPRAYED_PATHS 64u
/* Of a frame: the longest header there is (HPCC's), and a pause. */
#define MOST_HEADER 94u
#define PAUSE_FRAME 43u

/* A path has the number that is asked for. */
static const struct sc__route_policy by_number = {.kind = SC__ROUTE_SPRAY};

/* ---- links and devices ---- */

uint64_t sc__packet_link_rate(const struct sc__packet_fabric *f, uint32_t link) {
    double bits = f->graph->capacity[link] * 8;
    return bits < 1 ? 1 : (uint64_t)llround(bits);
}

int64_t sc__packet_link_delay(const struct sc__packet_fabric *f, uint32_t link) {
    const struct sc__graph *g = f->graph;
    if (g->latency)
        return g->latency[link] / NS;
    return link < g->first_plane ? f->nvlink_delay : f->network_delay;
}

static void set_delays(struct sc__packet_fabric *f) {
    const struct sc__cluster *c = f->cluster;
    bool plain = !c->fabric.class || !strcmp(c->fabric.class, "plain");
    f->nvlink_delay =
        plain && c->nvlink_latency > 0 ? c->nvlink_latency / NS : NVLINK_DELAY;
    f->network_delay = f->graph->hop_latency / NS;
    if (f->network_delay > 0 || f->graph->latency)
        return;
    f->network_delay = NETWORK_DELAY;
    sc__note(f->ctx,
             "link-delay",
             "the cluster gives no switch_latency: %lld ns a link",
             (long long)NETWORK_DELAY);
}

static int compare_cables(const void *a, const void *b, void *self) {
    const struct sc__packet_fabric *f = self;
    const uint32_t *x = f->ends[*(const uint32_t *)a];
    const uint32_t *y = f->ends[*(const uint32_t *)b];
    uint32_t low[2] = {x[0] < x[1] ? x[0] : x[1], y[0] < y[1] ? y[0] : y[1]};
    uint32_t high[2] = {x[0] + x[1] - low[0], y[0] + y[1] - low[1]};
    if (low[0] != low[1])
        return low[0] < low[1] ? -1 : 1;
    if (high[0] != high[1])
        return high[0] < high[1] ? -1 : 1;
    if (x[0] != y[0])
        return x[0] < y[0] ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* Links between two devices lie together then: those one way, and as many the other. */
static void pair_links(struct sc__packet_fabric *f) {
    uint32_t count = f->graph->links;
    uint32_t *order = SC__NEW_ARRAY(&f->ctx->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        f->graph->ends(f->graph, i, f->ends[i]);
    }
    sc__sort(order, count, sizeof *order, compare_cables, f);
    for (uint32_t first = 0, end; first < count; first = end) {
        const uint32_t *a = f->ends[order[first]];
        end = first + 1;
        while (end < count &&
               f->ends[order[end]][0] + f->ends[order[end]][1] == a[0] + a[1] &&
               (f->ends[order[end]][0] == a[0] || f->ends[order[end]][0] == a[1]))
            end++;
        uint32_t half = (end - first) / 2;
        for (uint32_t i = 0; i < half; i++) {
            f->reverse[order[first + i]] = order[first + half + i];
            f->reverse[order[first + half + i]] = order[first + i];
        }
    }
}

/* What ns-3 leaves for the bytes that come in behind a pause is three times those in flight
 * one way. Links of less than a frame or two, as those of a cluster are, lose packets then:
 * a frame comes in that is over the share, the pause waits for one that its port has begun
 * and flies, the sender ends one, and that flies. Only SimAI's runs have it as ns-3 has. */
static uint32_t headroom(const struct sc__packet_fabric *f, uint64_t rate, int64_t delay) {
    uint32_t reference = sc__packet_headroom(rate, delay);
    double frames = 3.0 * (f->config->payload + MOST_HEADER) + PAUSE_FRAME;
    double behind = 2 * (double)rate * (double)delay / 8e9 + frames;
    return f->as_simai ? reference : (uint32_t)ceil(fmax(reference, behind));
}

static void count_ports(struct sc__packet_fabric *f) {
    f->host_rate = UINT64_MAX;
    for (uint32_t i = 0; i < f->graph->links; i++) {
        uint32_t device = f->ends[i][0];
        uint64_t rate = sc__packet_link_rate(f, i);
        f->headroom[device] += headroom(f, rate, sc__packet_link_delay(f, i));
        if (f->graph->hosts_forward && device < f->graph->hosts)
            f->headroom[device] += headroom(f, rate, 0);
        f->ports[device]++;
        if (device < f->graph->hosts && rate < f->host_rate && f->graph->capacity[i] > 0)
            f->host_rate = rate;
    }
}

/* ---- paths ---- */

uint32_t sc__packet_planes(const struct sc__packet_fabric *f, uint32_t from, uint32_t to) {
    bool inside = from / f->cluster->node_gpus == to / f->cluster->node_gpus;
    return f->graph->planes > 1 && !inside ? f->graph->planes : 1;
}

sc_status sc__packet_links(struct sc__packet_fabric *f,
                           uint32_t from,
                           uint32_t to,
                           uint32_t plane,
                           uint32_t number,
                           uint32_t *count) {
    struct sc__graph *g = f->graph;
    const struct sc__route_policy *route =
        sc__packet_many_ways(f->route) ? &by_number : f->route;
    *count = 0;
    if (from >= g->ports || to >= g->ports || from == to)
        *count = 0;
    else if (sc__packet_ways_by_simai(f))
        sc__simai_links(f, SC__SIMAI_DATA, from, to, plane, number, count);
    else
        sc__graph_path(g, route, from, to, plane, number, f->links, count);
    if (*count)
        return SC_OK;
    return sc__fail(f->ctx,
                    SC_INPUT,
                    NULL,
                    NULL,
                    "GPU %u cannot be reached from GPU %u",
                    to,
                    from);
}

bool sc__packet_ways_by_simai(const struct sc__packet_fabric *f) {
    return f->as_simai && f->route->kind == SC__ROUTE_ECMP;
}

bool sc__packet_many_ways(const struct sc__route_policy *route) {
    return route->kind == SC__ROUTE_SPRAY || route->kind == SC__ROUTE_ADAPTIVE ||
           route->kind == SC__ROUTE_FLOWLET;
}

uint32_t sc__packet_sprayed(const struct sc__packet_fabric *f, uint32_t from, uint32_t to) {
    uint32_t paths = f->graph->paths(f->graph, from, to);
    if (!sc__packet_many_ways(f->route))
        return 1;
    return paths < SPRAYED_PATHS ? paths : SPRAYED_PATHS;
}

/* As in packet_network.c. */
static int64_t round_trip_send_time(const struct sc__packet_fabric *f, uint64_t rate) {
    uint32_t payload = f->config->payload;
    if (f->config->control < SC__PACKET_NSCC)
        return sc__packet_time(payload, rate);
    return sc__packet_time(payload + SC__UET_HEADER, rate) +
           sc__packet_time(SC__UET_CONTROL_SIZE, rate);
}

/* Ways whose cables are slower than a NIC carry a message together; Ultra Ethernet sprays
 * but where routes leave one way. */
static uint64_t
rate_of_pair(const struct sc__packet_fabric *f, uint32_t to, uint32_t count) {
    bool sprayed =
        f->config->control >= SC__PACKET_NSCC && f->route->kind != SC__ROUTE_DMODK;
    uint32_t ways =
        sprayed ? f->graph->paths(f->graph, 0, to) : sc__packet_sprayed(f, 0, to);
    uint64_t ends = UINT64_MAX;
    uint64_t between = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t here = sc__packet_link_rate(f, f->links[i]);
        if (i == 0 || i + 1 == count)
            ends = here < ends ? here : ends;
        else
            between = here < between ? here : between;
    }
    return ends / ways < between ? ends : between * ways;
}

/* The longest round trip and the largest bandwidth-delay product, over the paths of the
 * first GPU to all others. */
static sc_status find_window(struct sc__packet_fabric *f) {
    for (uint32_t to = 1; to < f->cluster->gpus; to++) {
        uint32_t count;
        int64_t rtt = 0;
        SC__TRY(sc__packet_links(f, 0, to, 0, 0, &count));
        for (uint32_t i = 0; i < count; i++) {
            uint64_t here = sc__packet_link_rate(f, f->links[i]);
            rtt +=
                2 * sc__packet_link_delay(f, f->links[i]) + round_trip_send_time(f, here);
        }
        uint64_t rate = rate_of_pair(f, to, count);
        uint64_t window = (uint64_t)((double)rtt * (double)rate / 8e9);
        f->base_rtt = rtt > f->base_rtt ? rtt : f->base_rtt;
        f->window = window > f->window ? window : f->window;
    }
    if (f->config->has_window && f->cluster->gpus > 1 && f->window < f->config->payload)
        return sc__fail(f->ctx,
                        SC_INPUT,
                        NULL,
                        "a smaller --mtu",
                        "the window, %llu bytes, is less than one packet",
                        (unsigned long long)f->window);
    return SC_OK;
}

void sc__packet_fabric_rooms(struct sc__packet_fabric *f, struct sc__arena *arena) {
    f->links = SC__NEW_ARRAY(arena, uint32_t, f->graph->most_hops + 1);
    f->next_devices = SC__NEW_ARRAY(arena, uint32_t, f->graph->most_paths + 1);
    f->passed_over = SC__NEW_ARRAY(arena, bool, f->graph->most_paths + 1);
}

sc_status sc__packet_fabric_init(struct sc_context *ctx,
                                 const struct sc__cluster *cluster,
                                 const struct sc__packet_config *config,
                                 struct sc__graph *graph,
                                 const struct sc__route_policy *route,
                                 bool as_simai,
                                 struct sc__packet_fabric *f) {
    struct sc__arena *a = &ctx->arena;
    *f = (struct sc__packet_fabric){.ctx = ctx,
                                    .cluster = cluster,
                                    .config = config,
                                    .graph = graph,
                                    .route = route};
    f->ends = sc__alloc_array(a, graph->links, sizeof *f->ends);
    f->reverse = SC__NEW_ARRAY(a, uint32_t, graph->links);
    f->headroom = SC__NEW_ARRAY(a, int64_t, graph->devices);
    f->ports = SC__NEW_ARRAY(a, uint32_t, graph->devices);
    sc__packet_fabric_rooms(f, a);
    set_delays(f);
    pair_links(f);
    SC__TRY(find_window(f));
    if (as_simai)
        sc__simai_divide(f);
    count_ports(f);
    return SC_OK;
}

/* What hosts of a switch can take, over what can come to it from other switches, at most.
 */
static double oversubscription(const struct sc__packet_fabric *f) {
    double *down = SC__NEW_ARRAY(&f->ctx->arena, double, f->graph->devices);
    double *up = SC__NEW_ARRAY(&f->ctx->arena, double, f->graph->devices);
    double most = 1;
    for (uint32_t i = 0; i < f->graph->links; i++) {
        bool to_host = f->ends[i][1] < f->graph->hosts;
        (to_host ? down : up)[f->ends[i][0]] += f->graph->capacity[i];
    }
    for (uint32_t i = f->graph->hosts; i < f->graph->devices; i++)
        if (up[i] > 0)
            most = fmax(most, down[i] / up[i]);
    return most;
}

/* ---- the ports of a simulation ---- */

void sc__packet_ports_init(struct sc__packet_fabric *f,
                           struct sc__packet_sim *s,
                           struct sc__packet_ports *p) {
    *p = (struct sc__packet_ports){.fabric = f, .sim = s, .least_shared = INT64_MAX};
    p->of_link = SC__NEW_ARRAY(s->arena, struct sc__packet_port *, f->graph->links);
    p->of_device = SC__NEW_ARRAY(s->arena, struct sc__packet_node *, f->graph->devices);
    if (f->graph->hosts_forward)
        p->of_host = SC__NEW_ARRAY(s->arena, struct sc__packet_port *, f->graph->links);
    sc__map_init(&p->paths, s->arena);
    sc__map_init(&p->many, s->arena);
    p->losses = sc__packet_common_losses(s);
    sc__packet_first_draw(s, f->graph->devices, 0);
    s->window = f->window;
    s->base_rtt = f->base_rtt;
    s->flowlet_gap = f->route->gap / NS;
    if (f->route->kind == SC__ROUTE_FLOWLET)
        s->choice = SC__PACKET_FLOWLETS;
    if (f->route->kind == SC__ROUTE_ADAPTIVE)
        s->choice = SC__PACKET_SHORTEST_QUEUE;
    if (!s->transport)
        return;
    s->uet = SC__NEW(s->arena, struct sc__uet);
    s->uet->oversubscription = oversubscription(f);
    sc__uet_setup(s);
}

static struct sc__packet_node *node_new(struct sc__packet_ports *p, bool is_switch) {
    struct sc__packet_node *n = SC__NEW(p->sim->arena, struct sc__packet_node);
    n->id = p->node_count++;
    n->is_switch = is_switch;
    return n;
}

static sc_status
switch_of(struct sc__packet_ports *p, uint32_t device, struct sc__packet_node **out) {
    const struct sc__packet_fabric *f = p->fabric;
    struct sc__packet_node *n = p->of_device[device];
    *out = n;
    if (n)
        return SC_OK;
    n = node_new(p, true);
    uint32_t ports = f->ports[device] * (device < f->graph->hosts ? 2 : 1);
    int64_t buffer = (int64_t)f->config->buffer_mib << 20;
    if (ports > SWITCH_PORTS)
        buffer = buffer / SWITCH_PORTS * ports;
    n->shared_size = buffer - f->headroom[device] - RESERVE * ports;
    if (n->shared_size <= 0 && !p->sim->transport)
        return sc__fail(f->ctx,
                        SC_INPUT,
                        NULL,
                        "a larger --buffer",
                        "a buffer of %u MiB is too small for the headroom of %u ports",
                        f->config->buffer_mib,
                        ports);
    if (n->shared_size < p->least_shared)
        p->least_shared = n->shared_size;
    p->of_device[device] = n;
    *out = n;
    return SC_OK;
}

static void host_of(struct sc__packet_ports *p,
                    struct sc__packet_port *port,
                    struct sc__packet_node **out) {
    struct sc__packet_node *n = node_new(p, false);
    n->ports = SC__NEW_ARRAY(p->sim->arena, struct sc__packet_port *, 1);
    n->ports[0] = port;
    n->port_count = 1;
    *out = n;
}

/* A map has values for some rates; others have them in proportion to the nearest. */
static double by_rate(const struct sc__packet_rate_map *map, uint64_t rate, bool scaled) {
    double best = 0;
    double least = INFINITY;
    for (uint32_t i = 0; i < map->count; i++) {
        double ratio = (double)rate / (double)map->rate[i];
        double far = fabs(log(ratio));
        if (far >= least)
            continue;
        least = far;
        best = scaled ? map->value[i] * ratio : map->value[i];
    }
    return best;
}

static void set_switch_port(const struct sc__packet_fabric *f,
                            struct sc__packet_port *port) {
    const struct sc__packet_config *c = f->config;
    port->headroom = headroom(f, port->peer->rate, port->delay);
    port->shift = sc__packet_buffer_shift(port->rate, f->host_rate);
    port->mark_from = (uint32_t)fmin(4e9, by_rate(&c->mark_from, port->rate, true) * 1000);
    port->mark_all = (uint32_t)fmin(4e9, by_rate(&c->mark_all, port->rate, true) * 1000);
    port->mark_share = by_rate(&c->mark_share, port->rate, false);
}

/* Both ends of a cable, each with the rate at which it sends. */
static sc_status make_cable(struct sc__packet_ports *p,
                            struct sc__packet_node *node[2],
                            const uint64_t rate[2],
                            int64_t delay,
                            struct sc__packet_port *port[2]) {
    for (int i = 0; i < 2; i++)
        port[i] = SC__NEW(p->sim->arena, struct sc__packet_port);
    for (int i = 0; i < 2; i++) {
        if (!node[i])
            host_of(p, port[i], &node[i]);
        sc__packet_port_init(p->sim, port[i], node[i], port[1 - i], rate[i], delay);
        port[i]->losses = p->losses;
        port[i]->number = UINT32_MAX;
    }
    for (int i = 0; i < 2; i++)
        if (p->sim->transport)
            sc__uet_mark_port(p->sim, port[i]);
        else if (node[i]->is_switch)
            set_switch_port(p->fabric, port[i]);
    return SC_OK;
}

/* The port that sends over a link. */
static sc_status
port_of(struct sc__packet_ports *p, uint32_t link, struct sc__packet_port **out) {
    const struct sc__packet_fabric *f = p->fabric;
    struct sc__packet_node *node[2] = {NULL, NULL};
    struct sc__packet_port *port[2];
    if (!p->of_link[link]) {
        uint32_t back = f->reverse[link];
        for (int i = 0; i < 2; i++)
            if (f->ends[link][i] >= f->graph->hosts || f->graph->hosts_forward)
                SC__TRY(switch_of(p, f->ends[link][i], &node[i]));
        /* the two directions of a degraded cable differ */
        uint64_t ahead = sc__packet_link_rate(f, link);
        bool works = f->graph->capacity[back] > 0;
        uint64_t rate[2] = {ahead, works ? sc__packet_link_rate(f, back) : ahead};
        SC__TRY(make_cable(p, node, rate, sc__packet_link_delay(f, link), port));
        p->of_link[link] = port[0];
        p->of_link[back] = port[1];
        for (int i = 0; i < 2 && f->process; i++)
            node[i]->process = f->process[f->ends[link][i]];
        port[0]->number = link;
        port[1]->number = back;
    }
    *out = p->of_link[link];
    return SC_OK;
}

/* Where GPUs forward: the host behind a link that leaves a GPU. Its port to the switch of
 * the GPU. */
static sc_status
forwarding_host(struct sc__packet_ports *p, uint32_t link, struct sc__packet_port **out) {
    struct sc__packet_node *node[2] = {NULL, NULL};
    struct sc__packet_port *port[2];
    if (!p->of_host[link]) {
        SC__TRY(switch_of(p, p->fabric->ends[link][0], &node[1]));
        uint64_t rate = sc__packet_link_rate(p->fabric, link);
        SC__TRY(make_cable(p, node, (const uint64_t[2]){rate, rate}, 0, port));
        node[0]->process = node[1]->process;
        p->of_host[link] = port[0];
    }
    *out = p->of_host[link];
    return SC_OK;
}

/* The ports by which switches on the way send; *first: the port of the sending host. */
static sc_status lay_path(struct sc__packet_ports *p,
                          const uint32_t *links,
                          uint32_t count,
                          struct sc__packet_path *path,
                          struct sc__packet_port **first) {
    bool forwards = p->fabric->graph->hosts_forward;
    struct sc__packet_port *port;
    path->ports = SC__NEW_ARRAY(p->sim->arena, struct sc__packet_port *, count + 1);
    path->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        SC__TRY(port_of(p, links[i], &port));
        if (i || forwards)
            path->ports[path->count++] = port;
        else
            *first = port;
    }
    if (!forwards)
        return SC_OK;
    SC__TRY(forwarding_host(p, links[0], first));
    SC__TRY(forwarding_host(p, p->fabric->reverse[links[count - 1]], &port));
    path->ports[path->count++] = port->peer;
    return SC_OK;
}

static void turn_links(const struct sc__packet_fabric *f, uint32_t count) {
    for (uint32_t i = 0; i < count - 1 - i; i++) {
        uint32_t link = f->links[i];
        f->links[i] = f->links[count - 1 - i];
        f->links[count - 1 - i] = link;
    }
    for (uint32_t i = 0; i < count; i++)
        f->links[i] = f->reverse[f->links[i]];
}

/* ACKs go back the same way. */
static sc_status lay_both(struct sc__packet_ports *p,
                          uint32_t count,
                          struct sc__packet_path *data,
                          struct sc__packet_path *ack,
                          struct sc__packet_node **from) {
    struct sc__packet_fabric *f = p->fabric;
    struct sc__packet_port *first;
    struct sc__packet_port *back;
    SC__TRY(lay_path(p, f->links, count, data, &first));
    *from = first->node;
    turn_links(f, count);
    SC__TRY(lay_path(p, f->links, count, ack, &back));
    if (f->config->control != SC__PACKET_HPCC || data->count <= SC__PACKET_HOPS)
        return SC_OK;
    return sc__fail(f->ctx,
                    SC_INPUT,
                    NULL,
                    "another --cc",
                    "HPCC has room for five switches on a path; there are %u",
                    data->count);
}

/* SimAI's ACKs have ways of their own, where there are several. */
static sc_status lay_acks(struct sc__packet_ports *p,
                          uint32_t from,
                          uint32_t to,
                          uint32_t plane,
                          uint32_t number,
                          struct sc__packet_path *ack) {
    struct sc__packet_fabric *f = p->fabric;
    struct sc__packet_port *first;
    uint32_t count;
    sc__simai_links(f, SC__SIMAI_ACKS, from, to, plane, number, &count);
    return count ? lay_path(p, f->links, count, ack, &first) : SC_OK;
}

static sc_status lay_sprayed(struct sc__packet_ports *p,
                             uint32_t from,
                             uint32_t to,
                             uint32_t plane,
                             struct sc__packet_wire *w) {
    struct sc__packet_fabric *f = p->fabric;
    uint32_t paths = sc__packet_sprayed(f, from, to);
    uint32_t count;
    if (paths > 1 && f->config->control == SC__PACKET_HPCC)
        return sc__fail(f->ctx,
                        SC_USAGE,
                        NULL,
                        "--cc hpcc-pint, or --route ecmp",
                        "HPCC compares what the links of one path do: packets of a flow "
                        "cannot take several");
    struct sc__packet_path *list =
        SC__NEW_ARRAY(p->sim->arena, struct sc__packet_path, paths);
    struct sc__packet_path *back =
        SC__NEW_ARRAY(p->sim->arena, struct sc__packet_path, paths);
    for (uint32_t i = 0; i < paths && paths > 1; i++) {
        struct sc__packet_node *same;
        SC__TRY(sc__packet_links(f, from, to, plane, i, &count));
        SC__TRY(lay_both(p, count, &list[i], &back[i], &same));
    }
    w->spray = list;
    w->ack_spray = back;
    w->spray_count = paths;
    return SC_OK;
}

sc_status sc__packet_wire(struct sc__packet_ports *p,
                          uint32_t from,
                          uint32_t to,
                          uint32_t plane,
                          uint32_t number,
                          const struct sc__packet_wire **out) {
    struct sc__packet_fabric *f = p->fabric;
    bool fresh;
    uint32_t count;
    uint64_t key[2] = {(uint64_t)from << 32 | to, (uint64_t)plane << 32 | number};
    uint64_t *slot = sc__map_at(&p->paths, sc__hash(key, sizeof key, 5), &fresh);
    *out = (const struct sc__packet_wire *)(uintptr_t)*slot;
    if (!fresh)
        return SC_OK;
    struct sc__packet_wire *w = SC__NEW(p->sim->arena, struct sc__packet_wire);
    *slot = (uintptr_t)w;
    *out = w;
    SC__TRY(sc__packet_links(f, from, to, plane, number, &count));
    SC__TRY(lay_both(p, count, &w->data, &w->ack, &w->from));
    if (sc__packet_ways_by_simai(f))
        SC__TRY(lay_acks(p, from, to, plane, number, &w->ack));
    if (sc__packet_many_ways(f->route))
        SC__TRY(lay_sprayed(p, from, to, plane, w));
    return SC_OK;
}

void sc__packet_take_wire(struct sc__packet_pair *pair,
                          const struct sc__packet_wire *w,
                          uint64_t number) {
    pair->host = w->from;
    pair->data = w->data;
    pair->ack = w->ack;
    pair->spray = w->spray;
    pair->ack_spray = w->ack_spray;
    pair->spray_count = w->spray_count;
    if (w->spray_count)
        pair->spray_next = (uint32_t)(sc__splitmix64(number) % w->spray_count);
}

/* One of the paths between two ports, whatever the others do. */
static sc_status lay_numbered(struct sc__packet_ports *p,
                              const uint32_t pair[2],
                              uint32_t plane,
                              uint32_t number,
                              struct sc__packet_many *m,
                              uint32_t i) {
    struct sc__packet_fabric *f = p->fabric;
    uint32_t count = 0;
    sc__graph_path(f->graph, &by_number, pair[0], pair[1], plane, number, f->links, &count);
    if (!count) /* that one is broken: any other */
        SC__TRY(sc__packet_links(f, pair[0], pair[1], plane, number, &count));
    return lay_both(p, count, &m->data[i], &m->ack[i], &m->from);
}

sc_status sc__packet_many(struct sc__packet_ports *p,
                          uint32_t from,
                          uint32_t to,
                          uint32_t plane,
                          uint32_t number,
                          const struct sc__packet_many **out) {
    const struct sc__packet_fabric *f = p->fabric;
    uint32_t pair[2] = {from, to};
    uint64_t key[2] = {(uint64_t)from << 32 | to, (uint64_t)plane << 32 | number};
    uint32_t count = f->config->uet_paths;
    bool several = f->route->kind != SC__ROUTE_DMODK;
    bool fresh;
    uint64_t *slot = sc__map_at(&p->many, sc__hash(key, sizeof key, 7), &fresh);
    *out = (const struct sc__packet_many *)(uintptr_t)*slot;
    if (!fresh)
        return SC_OK;
    struct sc__packet_many *m = SC__NEW(p->sim->arena, struct sc__packet_many);
    *slot = (uintptr_t)m;
    *out = m;
    m->data = SC__NEW_ARRAY(p->sim->arena, struct sc__packet_path, count);
    m->ack = SC__NEW_ARRAY(p->sim->arena, struct sc__packet_path, count);
    uint32_t paths = several ? f->graph->paths(f->graph, from, to) : 1;
    uint32_t first[SPRAYED_PATHS]; /* by path: the number that it was laid for */
    for (uint32_t i = 0; i < SPRAYED_PATHS; i++)
        first[i] = UINT32_MAX;
    paths = paths < SPRAYED_PATHS ? paths : SPRAYED_PATHS;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t hash = sc__splitmix64(f->route->seed ^ key[0] ^ key[1] << 16 ^ i);
        uint32_t path = (uint32_t)(hash % paths);
        if (first[path] == UINT32_MAX) {
            first[path] = i;
            SC__TRY(lay_numbered(p, pair, plane, path, m, i));
        }
        m->data[i] = m->data[first[path]];
        m->ack[i] = m->ack[first[path]];
    }
    return SC_OK;
}
