/* packet_network: nodes and ports of a topology, the buffers of its switches,
 * the base RTT and window that all flows have, and the path of every flow. Paths
 * do not change, so that the hash of a packet is looked at once per flow. */
#include "network/packet/packet_uet.h"

#include <math.h>
#include <string.h>

#define RESERVE ((int64_t)4096)
#define HEADROOM_FACTOR 3u /* one-way bytes in flight */
#define FASTEST_SHIFT 3u
#define PLAIN_HEADER 52
#define ENTROPY_STEP 61u /* so that flows of one pair do not have each other's paths */
#define MOST_UET_WINDOW ((uint64_t)1 << 32)
#define FIRST_ADDRESS 0x0b000001u

static sc_status build_error(struct sc__packet_sim *s,
                             const char *file,
                             const char *hint,
                             const char *message) {
    struct sc__place place = {.file = file};
    return sc__fail(s->ctx, SC_INPUT, &place, hint, "%s", message);
}

void sc__packet_port_init(const struct sc__packet_sim *s,
                          struct sc__packet_port *port,
                          struct sc__packet_node *node,
                          struct sc__packet_port *peer,
                          uint64_t rate,
                          int64_t delay) {
    port->node = node;
    port->peer = peer;
    port->rate = rate;
    port->delay = delay;
    port->busy_until = -1;
    port->full_time = sc__packet_time(s->full_size, rate);
    port->ack_time = sc__packet_time(s->control->ack_size, rate);
}

static void add_port(struct sc__packet_sim *s,
                     struct sc__packet_port *port,
                     struct sc__packet_node *node,
                     struct sc__packet_port *peer,
                     const struct sc__packet_link *link) {
    sc__packet_port_init(s, port, node, peer, link->rate, link->delay);
    node->ports[node->port_count++] = port;
}

/* Next hops are looked for in the order of node ids. */
static int compare_neighbours(const void *a, const void *b, void *self) {
    (void)self;
    uint32_t x = (*(struct sc__packet_port *const *)a)->peer->node->id;
    uint32_t y = (*(struct sc__packet_port *const *)b)->peer->node->id;
    return (x > y) - (x < y);
}

static void build_ports(struct sc__packet_sim *s, const struct sc__packet_topology *t) {
    uint32_t *degree = SC__NEW_ARRAY(s->arena, uint32_t, t->node_count);
    s->nodes = SC__NEW_ARRAY(s->arena, struct sc__packet_node, t->node_count);
    s->ports = SC__NEW_ARRAY(s->arena, struct sc__packet_port, 2 * (uint64_t)t->link_count);
    for (uint32_t i = 0; i < t->link_count; i++) {
        degree[t->links[i].a]++;
        degree[t->links[i].b]++;
    }
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct sc__packet_node *n = &s->nodes[i];
        n->id = i;
        n->is_switch = t->is_switch[i];
        n->ports = SC__NEW_ARRAY(s->arena, struct sc__packet_port *, degree[i]);
    }
    for (uint32_t i = 0; i < t->link_count; i++) {
        const struct sc__packet_link *l = &t->links[i];
        struct sc__packet_port *a = &s->ports[2 * i];
        struct sc__packet_port *b = &s->ports[2 * i + 1];
        add_port(s, a, &s->nodes[l->a], b, l);
        add_port(s, b, &s->nodes[l->b], a, l);
        a->number = 2 * i;
        b->number = 2 * i + 1;
    }
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct sc__packet_node *n = &s->nodes[i];
        sc__sort(n->ports, n->port_count, sizeof *n->ports, compare_neighbours, NULL);
    }
}

static sc_status check_hosts(struct sc__packet_sim *s,
                             const struct sc__packet_topology *t) {
    struct sc__place place = {.file = t->file};
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct sc__packet_node *n = &s->nodes[i];
        if (n->is_switch || n->port_count == 1)
            continue;
        return sc__fail(s->ctx,
                        SC_INPUT,
                        &place,
                        "hosts have one link each; switches are named in the second line",
                        "host %u has %u links",
                        i,
                        n->port_count);
    }
    return SC_OK;
}

static bool map_value(const struct sc__packet_rate_map *map, uint64_t rate, double *value) {
    for (uint32_t i = 0; i < map->count; i++)
        if (map->rate[i] == rate) {
            *value = map->value[i];
            return true;
        }
    return false;
}

static sc_status set_marking(struct sc__packet_sim *s, struct sc__packet_port *port) {
    const struct sc__packet_config *c = s->config;
    struct sc__place place = {.file = c->file};
    double from = 0;
    double all = 0;
    if (!map_value(&c->mark_from, port->rate, &from) ||
        !map_value(&c->mark_all, port->rate, &all) ||
        !map_value(&c->mark_share, port->rate, &port->mark_share))
        return sc__fail(s->ctx,
                        SC_INPUT,
                        &place,
                        "KMIN_MAP, KMAX_MAP and PMAX_MAP have a value for every link rate",
                        "no marking thresholds for ports of %llu bit/s",
                        (unsigned long long)port->rate);
    port->mark_from = (uint32_t)from * 1000;
    port->mark_all = (uint32_t)all * 1000;
    if (port->mark_from <= port->mark_all)
        return SC_OK;
    return build_error(s,
                       c->file,
                       NULL,
                       "a threshold of KMIN_MAP is over that of KMAX_MAP");
}

/* A faster port may have more of the buffer: one shift less for each halving
 * that brings it down to the rate of the hosts. */
uint32_t sc__packet_buffer_shift(uint64_t rate, uint64_t host_rate) {
    uint32_t shift = FASTEST_SHIFT;
    for (; rate > host_rate && shift > 0; rate /= 2)
        shift--;
    return shift;
}

/* Both quotients are cut, as there. */
uint32_t sc__packet_headroom(uint64_t rate, int64_t delay) {
    return (uint32_t)(rate * (uint64_t)delay / 8 / 1000000000u * HEADROOM_FACTOR);
}

/* What every port has for itself is taken off the buffer; the rest is shared. */
static sc_status build_switch(struct sc__packet_sim *s,
                              const struct sc__packet_topology *t,
                              struct sc__packet_node *n,
                              uint64_t host_rate) {
    struct sc__place place = {.file = t->file};
    n->shared_size = (int64_t)s->config->buffer_mib << 20;
    for (uint32_t i = 0; i < n->port_count && n->shared_size > 0; i++) {
        struct sc__packet_port *port = n->ports[i];
        SC__TRY(set_marking(s, port));
        double bits_in_flight = (double)port->rate * (double)port->delay / 1e9;
        if (bits_in_flight / 8 * HEADROOM_FACTOR > (double)n->shared_size) {
            n->shared_size = 0;
            break;
        }
        port->headroom = sc__packet_headroom(port->rate, port->delay);
        port->shift = sc__packet_buffer_shift(port->rate, host_rate);
        n->shared_size -= port->headroom + RESERVE;
    }
    if (n->shared_size > 0)
        return SC_OK;
    return sc__fail(s->ctx,
                    SC_INPUT,
                    &place,
                    "raise BUFFER_SIZE, or lower link rates or delays",
                    "the buffer of switch %u is too small for the headroom of its %u ports",
                    n->id,
                    n->port_count);
}

static uint64_t first_host_rate(const struct sc__packet_sim *s) {
    const struct sc__packet_node *n = s->nodes;
    while (n->is_switch)
        n++;
    return n->ports[0]->rate;
}

static sc_status build_switches(struct sc__packet_sim *s,
                                const struct sc__packet_topology *t) {
    uint64_t host_rate = first_host_rate(s);
    for (uint32_t i = 0; i < t->node_count; i++)
        if (s->nodes[i].is_switch)
            SC__TRY(build_switch(s, t, &s->nodes[i], host_rate));
    return SC_OK;
}

/* What a search from one host finds, by node. */
struct packet_search {
    uint32_t *distance; /* UINT32_MAX: not reached */
    int64_t *delay;
    int64_t *send_time;
    uint64_t *rate; /* of the slowest link */
    uint32_t *queue;
    struct packet_next_hops {
        struct sc__packet_port **ports;
        uint32_t count;
        uint32_t capacity;
    } * hops;
};

static void search_init(struct sc__packet_sim *s, struct packet_search *b, uint32_t nodes) {
    b->distance = SC__NEW_ARRAY(s->arena, uint32_t, nodes);
    b->delay = SC__NEW_ARRAY(s->arena, int64_t, nodes);
    b->send_time = SC__NEW_ARRAY(s->arena, int64_t, nodes);
    b->rate = SC__NEW_ARRAY(s->arena, uint64_t, nodes);
    b->queue = SC__NEW_ARRAY(s->arena, uint32_t, nodes);
    b->hops = SC__NEW_ARRAY(s->arena, struct packet_next_hops, nodes);
}

/* What sending adds to a round trip on a link: a full packet, of which ns-3 counts the
 * payload; Ultra Ethernet's simulator all of it and the ACK. */
static int64_t round_trip_send_time(const struct sc__packet_sim *s,
                                    const struct sc__packet_port *port) {
    if (s->transport)
        return port->full_time + port->ack_time;
    return sc__packet_time(s->config->payload, port->rate);
}

/* Breadth first over switches: a host is never on the way. */
static void search_from(struct sc__packet_sim *s,
                        struct packet_search *b,
                        uint32_t host,
                        uint32_t nodes) {
    uint32_t head = 0;
    uint32_t tail = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        b->distance[i] = UINT32_MAX;
        b->hops[i].count = 0;
    }
    b->distance[host] = 0;
    b->delay[host] = 0;
    b->send_time[host] = 0;
    b->rate[host] = UINT64_MAX;
    b->queue[tail++] = host;
    while (head < tail) {
        uint32_t here = b->queue[head++];
        for (uint32_t i = 0; i < s->nodes[here].port_count; i++) {
            struct sc__packet_port *port = s->nodes[here].ports[i];
            uint32_t there = port->peer->node->id;
            if (b->distance[there] == UINT32_MAX) {
                b->distance[there] = b->distance[here] + 1;
                b->delay[there] = b->delay[here] + port->delay;
                b->send_time[there] = b->send_time[here] + round_trip_send_time(s, port);
                b->rate[there] = b->rate[here] < port->rate ? b->rate[here] : port->rate;
                if (s->nodes[there].is_switch)
                    b->queue[tail++] = there;
            }
            struct packet_next_hops *hops = &b->hops[there];
            if (b->distance[there] == b->distance[here] + 1)
                *SC__PUSH(s->arena, hops->ports, hops->count, hops->capacity) = port->peer;
        }
    }
}

uint32_t sc__packet_address(uint32_t node) {
    return FIRST_ADDRESS + ((node / 256) << 16) + ((node % 256) << 8);
}

static uint32_t rotate_left(uint32_t x, unsigned by) {
    return x << by | x >> (32 - by);
}

uint32_t sc__packet_ecmp_hash(const uint32_t key[3], uint32_t seed) {
    uint32_t x = seed;
    for (int i = 0; i < 3; i++) {
        uint32_t k = rotate_left(key[i] * 0xcc9e2d51u, 15) * 0x1b873593u;
        x = rotate_left(x ^ k, 13) * 5 + 0xe6546b64u;
    }
    x ^= 12;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* The path to the host that the search began at. */
static sc_status find_path(struct sc__packet_sim *s,
                           const struct packet_search *b,
                           const struct sc__packet_topology *t,
                           uint32_t from,
                           uint32_t to,
                           const uint32_t key[3],
                           struct sc__packet_path *path) {
    if (b->distance[from] == UINT32_MAX) {
        struct sc__place place = {.file = t->file};
        return sc__fail(s->ctx,
                        SC_INPUT,
                        &place,
                        NULL,
                        "host %u cannot be reached from host %u",
                        to,
                        from);
    }
    path->count = b->distance[from] - 1;
    path->ports = SC__NEW_ARRAY(s->arena, struct sc__packet_port *, path->count);
    const struct sc__packet_node *node = s->nodes[from].ports[0]->peer->node;
    for (uint32_t i = 0; i < path->count; i++) {
        const struct packet_next_hops *hops = &b->hops[node->id];
        path->ports[i] = hops->ports[sc__packet_ecmp_hash(key, node->id) % hops->count];
        node = path->ports[i]->peer->node;
    }
    return SC_OK;
}

/* As the reference has it: a round trip of full packets, and all bytes with a plain header
 * (also where a control's header is larger) over the slowest link. */
static void set_alone(const struct sc__packet_sim *s,
                      const struct packet_search *b,
                      struct sc__packet_flow *f) {
    uint64_t packets = (f->bytes + s->config->payload - 1) / s->config->payload;
    double bits = ((double)f->bytes + (double)packets * PLAIN_HEADER) * 8;
    f->alone = 2 * b->delay[f->from] + b->send_time[f->from] +
               (int64_t)(bits * 1e9 / (double)b->rate[f->from]);
}

/* Ultra Ethernet: a path for each number, which is part of the source port. */
static sc_status find_many_paths(struct sc__packet_sim *s,
                                 const struct packet_search *b,
                                 const struct sc__packet_topology *t,
                                 struct sc__packet_pair *p,
                                 bool data) {
    const struct sc__packet_flow *f = p->flow;
    uint32_t from = data ? f->from : f->to;
    uint32_t to = data ? f->to : f->from;
    uint32_t count = s->config->uet_paths;
    struct sc__packet_path *paths = SC__NEW_ARRAY(s->arena, struct sc__packet_path, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t port = (f->source_port + i * ENTROPY_STEP) & 0xffffu;
        uint32_t key[3] = {sc__packet_address(from),
                           sc__packet_address(to),
                           port | f->target_port << 16};
        SC__TRY(find_path(s, b, t, from, to, key, &paths[i]));
    }
    if (data)
        p->spray = paths;
    else
        p->ack_spray = paths;
    return SC_OK;
}

/* Data goes to the host, ACKs of what it sends come to it. */
static sc_status find_paths(struct sc__packet_sim *s,
                            const struct packet_search *b,
                            const struct sc__packet_topology *t,
                            struct sc__packet_pair *p,
                            uint32_t host) {
    const struct sc__packet_flow *f = p->flow;
    if (f->to == host)
        set_alone(s, b, p->flow);
    if (s->uet)
        return find_many_paths(s, b, t, p, f->to == host);
    if (f->to == host) {
        uint32_t key[3] = {sc__packet_address(f->from),
                           sc__packet_address(f->to),
                           f->source_port | f->target_port << 16};
        return find_path(s, b, t, f->from, f->to, key, &p->data);
    }
    uint32_t key[3] = {sc__packet_address(f->to),
                       sc__packet_address(f->from),
                       f->target_port | f->source_port << 16};
    return find_path(s, b, t, f->to, f->from, key, &p->ack);
}

static sc_status raise_base_rtt(struct sc__packet_sim *s,
                                const struct packet_search *b,
                                const struct sc__packet_topology *t,
                                uint32_t host) {
    for (uint32_t i = 0; i < t->node_count; i++) {
        if (i == host || t->is_switch[i] || b->distance[i] == UINT32_MAX)
            continue;
        int64_t rtt = 2 * b->delay[i] + b->send_time[i];
        if ((double)rtt * (double)b->rate[i] > 9e18)
            return build_error(s, t->file, NULL, "round trips of this length do not fit");
        uint64_t window = (uint64_t)rtt * b->rate[i] / 1000000000u / 8;
        if (rtt > s->base_rtt)
            s->base_rtt = rtt;
        if (window > s->window)
            s->window = window;
    }
    return SC_OK;
}

/* The flows of each host: those that end there, and those that begin there. */
struct packet_flow_lists {
    uint32_t *first; /* by host; the last one is the total */
    uint32_t *flows;
};

static void
list_flows(struct sc__packet_sim *s, uint32_t nodes, struct packet_flow_lists *lists) {
    uint32_t count = s->flows->count;
    lists->first = SC__NEW_ARRAY(s->arena, uint32_t, (uint64_t)nodes + 2);
    lists->flows = SC__NEW_ARRAY(s->arena, uint32_t, 2 * (uint64_t)count);
    for (uint32_t i = 0; i < count; i++) {
        lists->first[s->flows->items[i].from + 2]++;
        lists->first[s->flows->items[i].to + 2]++;
    }
    for (uint32_t i = 2; i < nodes + 2; i++)
        lists->first[i] += lists->first[i - 1];
    for (uint32_t i = 0; i < count; i++) {
        lists->flows[lists->first[s->flows->items[i].from + 1]++] = i;
        lists->flows[lists->first[s->flows->items[i].to + 1]++] = i;
    }
}

static sc_status build_paths(struct sc__packet_sim *s,
                             const struct sc__packet_topology *t) {
    struct packet_search b;
    struct packet_flow_lists lists;
    search_init(s, &b, t->node_count);
    list_flows(s, t->node_count, &lists);
    for (uint32_t host = 0; host < t->node_count; host++) {
        if (t->is_switch[host])
            continue;
        search_from(s, &b, host, t->node_count);
        SC__TRY(raise_base_rtt(s, &b, t, host));
        for (uint32_t i = lists.first[host]; i < lists.first[host + 1]; i++)
            SC__TRY(find_paths(s, &b, t, &s->pairs[lists.flows[i]], host));
    }
    return SC_OK;
}

static void build_pairs(struct sc__packet_sim *s) {
    s->pairs = SC__NEW_ARRAY(s->arena, struct sc__packet_pair, s->flows->count);
    for (uint32_t i = 0; i < s->flows->count; i++) {
        struct sc__packet_pair *p = &s->pairs[i];
        p->flow = &s->flows->items[i];
        p->host = &s->nodes[p->flow->from];
        p->priority = (uint8_t)p->flow->priority;
        p->bytes = p->flow->bytes;
    }
}

static sc_status check_window(struct sc__packet_sim *s,
                              const struct sc__packet_topology *t) {
    if (!s->config->has_window)
        return SC_OK;
    if (s->window < s->config->payload)
        return build_error(s,
                           t->file,
                           "the window is the largest bandwidth-delay product: "
                           "raise link delays, or lower PACKET_PAYLOAD_SIZE",
                           "the window is less than one packet");
    for (uint32_t i = 0; i < 2 * t->link_count; i++)
        if ((double)s->window * (double)s->ports[i].rate > 1.8e19)
            return build_error(s, t->file, NULL, "a window of this length does not fit");
    return SC_OK;
}

/* HPCC has room for five records, and codes for five rates. */
static sc_status check_records(struct sc__packet_sim *s,
                               const struct sc__packet_topology *t) {
    static const uint64_t rates[] = {25, 50, 100, 200, 400};
    if (s->config->control != SC__PACKET_HPCC)
        return SC_OK;
    for (uint32_t i = 0; i < s->flows->count; i++)
        if (s->pairs[i].data.count > SC__PACKET_HOPS)
            return build_error(s,
                               t->file,
                               NULL,
                               "HPCC has room for five switches on a path");
    for (uint32_t i = 0; i < t->link_count; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof rates / sizeof *rates; k++)
            known = known || t->links[i].rate == rates[k] * 1000000000u;
        if (!known)
            return build_error(s,
                               t->file,
                               "25, 50, 100, 200 or 400 Gbps",
                               "HPCC has no code for a link of this rate");
    }
    return SC_OK;
}

/* What the hosts of a switch can take, over what can come to it from others. */
static double oversubscription(const struct sc__packet_node *n) {
    uint64_t down = 0;
    uint64_t up = 0;
    for (uint32_t i = 0; i < n->port_count; i++) {
        if (n->ports[i]->peer->node->is_switch)
            up += n->ports[i]->rate;
        else
            down += n->ports[i]->rate;
    }
    return up ? (double)down / (double)up : 1;
}

static sc_status build_uet(struct sc__packet_sim *s, const struct sc__packet_topology *t) {
    for (uint32_t i = 0; i < s->flows->count; i++)
        if (s->flows->items[i].bytes / s->config->payload >= SC__UET_MOST_PACKETS)
            return build_error(s, s->flows->file, NULL, "a flow of too many packets");
    if (!s->window || s->window > MOST_UET_WINDOW)
        return build_error(s,
                           t->file,
                           "it is the rate of a link times the longest round trip",
                           "the bandwidth-delay product makes no sense");
    sc__uet_setup(s);
    for (uint32_t i = 0; i < s->flows->count; i++) {
        struct sc__packet_pair *p = &s->pairs[i];
        (void)sc__uet_flow_new(s, p, p->spray, p->ack_spray);
    }
    for (uint32_t i = 0; i < t->node_count; i++)
        if (s->nodes[i].is_switch)
            s->uet->oversubscription =
                fmax(s->uet->oversubscription, oversubscription(&s->nodes[i]));
    for (uint32_t i = 0; i < 2 * t->link_count; i++)
        sc__uet_mark_port(s, &s->ports[i]);
    return SC_OK;
}

sc_status sc__packet_build(struct sc__packet_sim *s, const struct sc__packet_topology *t) {
    build_ports(s, t);
    SC__TRY(check_hosts(s, t));
    if (s->transport)
        s->uet = SC__NEW(s->arena, struct sc__uet);
    else
        SC__TRY(build_switches(s, t));
    build_pairs(s);
    SC__TRY(build_paths(s, t));
    if (s->uet)
        return build_uet(s, t);
    SC__TRY(check_window(s, t));
    return check_records(s, t);
}
