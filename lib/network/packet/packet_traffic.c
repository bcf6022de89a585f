#include "network/packet/packet_simai.h"

#include "collective/library.h"
#include "hardware/dims_path.h"

#define MOST_MESSAGES 20000000u
#define MOST_SLICES 8u
#define SLICES_A_PHASE 64u   /* of a chain or a tree: filling it takes a few percent */
#define MOST_SLICED 2000000u /* messages of a chain or a tree, whose slices are many */
/* of a connection on the way, at least: as many of two steps as NCCL's buffer of eight
 * holds (NCCL_STEPS); smaller ones as many as it has room for */
#define SLICES_AT_ONCE 4u
#define MOST_RELAYED_SLICES 64u /* of a message: its legs come one after the other */
#define RING_WARM_UP 10u        /* phases after which a ring goes on as it does */

/* The connections of a transfer. */
struct traffic_lanes {
    const struct sc__packet_traffic_builder *b;
    struct sc__packet_traffic *traffic;
    struct sc__map numbers; /* by channel and ends */
    uint32_t channel;       /* at hand */
    uint32_t at_once;       /* messages of a connection on the way */
};

static bool inside_node(const struct sc__packet_traffic_builder *b,
                        const struct sc__packet_message *m) {
    uint32_t size = b->fabric->cluster->node_gpus;
    return m->from / size == m->to / size;
}

/* A collective of a group that is added. */
struct traffic_group {
    const struct sc__packet_traffic_builder *b;
    struct sc__packet_traffic *traffic;
    const uint32_t *gpu;
    struct sc__coll_schedule schedule;
    uint32_t phases;
    uint64_t bytes;  /* of the buffer */
    double crossing; /* two-level: share of the bytes that goes between nodes */
    bool barriers;   /* phases wait for each other: the switches of nodes reduce */
    uint32_t slices;
    struct traffic_lanes lanes;
    /* of the channel at hand: messages of a transfer, by phase and index */
    uint32_t *phase_first;
    uint32_t *entry; /* UINT32_MAX: there is none */
    uint8_t *legs;   /* messages one after the other, of a slice */
    uint32_t *last;  /* by rank: its last one */
};

static uint32_t push_message(const struct sc__packet_traffic_builder *b,
                             struct sc__packet_traffic *t,
                             const struct sc__packet_message *m) {
    *SC__PUSH(b->arena, t->messages, t->count, t->capacity) = *m;
    return t->count - 1;
}

static void push_edge(const struct sc__packet_traffic_builder *b,
                      struct sc__packet_traffic *t,
                      uint32_t before,
                      uint32_t after) {
    *SC__PUSH(b->arena, t->edges, t->edge_count, t->edge_capacity) =
        (struct sc__packet_edge){before, after};
    t->messages[after].waits++;
}

static void add_wire_latency(const struct sc__packet_traffic_builder *b,
                             struct sc__packet_traffic *t,
                             uint32_t count) {
    double latency = 0;
    for (uint32_t i = 0; i < count; i++)
        latency += (double)sc__packet_link_delay(b->fabric, b->fabric->links[i]);
    t->wire_latency += latency;
    t->longest_wire = fmax(t->longest_wire, latency);
}

/* Every step of a ring of SimAI's is a connection of its own to the network. */
static uint32_t connection_number(const struct sc__packet_traffic_builder *b,
                                  uint32_t from,
                                  uint32_t to,
                                  uint32_t phase) {
    const struct sc__graph *g = b->fabric->graph;
    bool one = b->steps->send <= 0 || g->paths(g, from, to) < 2 ||
               b->fabric->route->kind != SC__ROUTE_ECMP;
    return one ? 0 : phase;
}

static sc_status add_leg(const struct sc__packet_traffic_builder *b,
                         struct sc__packet_traffic *t,
                         uint32_t from,
                         uint32_t to,
                         uint32_t phase,
                         double bytes) {
    uint32_t count;
    struct sc__packet_message m = {.from = from,
                                   .to = to,
                                   .phase = phase,
                                   .number = connection_number(b, from, to, phase),
                                   .bytes = bytes < 1 ? 1 : (uint64_t)ceil(bytes - 1e-6)};
    SC__TRY(sc__packet_links(b->fabric, from, to, 0, m.number, &count));
    add_wire_latency(b, t, count);
    push_message(b, t, &m);
    return SC_OK;
}

/* The GPU of `at`'s node in the place that `like` has in its own: on its rail. */
static uint32_t
counterpart(const struct sc__packet_traffic_builder *b, uint32_t at, uint32_t like) {
    uint32_t size = b->fabric->cluster->node_gpus;
    return at / size * size + like % size;
}

/* One slice of a connection, by way of the GPU that relays it where there is one. */
static sc_status add_slice(const struct sc__packet_traffic_builder *b,
                           struct sc__packet_traffic *t,
                           const struct sc__packet_message *m,
                           enum sc__coll_relay relay,
                           double crossing,
                           double bytes) {
    uint32_t size = b->fabric->cluster->node_gpus;
    bool first = relay == SC__RELAY_AT_SOURCE;
    uint32_t via = first ? counterpart(b, m->from, m->to) : counterpart(b, m->to, m->from);
    bool relayed = relay != SC__RELAY_NONE && m->from / size != m->to / size &&
                   via != m->from && via != m->to;
    double between = relay == SC__RELAY_AT_DESTINATION ? crossing : 1;
    if (!relayed)
        return add_leg(b, t, m->from, m->to, m->phase, bytes);
    SC__TRY(add_leg(b, t, m->from, via, m->phase, first ? bytes : bytes * between));
    SC__TRY(add_leg(b, t, via, m->to, m->phase, bytes));
    push_edge(b, t, t->count - 2, t->count - 1);
    return SC_OK;
}

/* What the switch of a node, or the fabric, reduces or multicasts has no packets of its
 * own here: it takes the time of its bytes at the port. */
static int64_t switched_time(const struct traffic_group *g,
                             const struct sc__coll_transfer *t,
                             double bytes) {
    const struct sc__cluster *c = g->b->fabric->cluster;
    double rate = t->in_fabric ? c->nic : c->nvlink;
    return (int64_t)ceil(bytes / rate * 1e9);
}

static struct traffic_lanes lanes_new(const struct sc__packet_traffic_builder *b,
                                      struct sc__packet_traffic *t,
                                      double slice) {
    struct traffic_lanes lanes = {.b = b, .traffic = t};
    double buffer = 2 * sc__nccl_limits.ring_chunk;
    sc__map_init(&lanes.numbers, b->arena);
    lanes.at_once = (uint32_t)fmax(SLICES_AT_ONCE, ceil(buffer / fmax(1, slice)));
    return lanes;
}

static struct sc__packet_connection *connection_of(struct traffic_lanes *l,
                                                   struct sc__packet_message *m) {
    struct sc__packet_traffic *t = l->traffic;
    uint64_t key[2] = {l->channel, (uint64_t)m->from << 32 | m->to};
    bool fresh;
    uint64_t *slot = sc__map_at(&l->numbers, sc__hash(key, sizeof key, 13), &fresh);
    if (fresh) {
        (void)SC__PUSH(l->b->arena,
                       t->connections,
                       t->connection_count,
                       t->connection_capacity);
        *slot = t->connection_count;
    }
    m->connection = (uint32_t)*slot;
    return &t->connections[m->connection - 1];
}

/* The message leaves behind the last one of its connection, and when there is room. */
static void queue_message(struct traffic_lanes *l, uint32_t message, bool paced) {
    struct sc__packet_message *messages = l->traffic->messages;
    struct sc__packet_message *m = &messages[message];
    if (m->from == m->to)
        return;
    struct sc__packet_connection *c = connection_of(l, m);
    if (paced)
        c->bytes += (double)m->bytes;
    if (c->on_the_way) {
        messages[c->last].follower = message;
        m->waits++;
    } else {
        c->oldest = message;
    }
    c->last = message;
    if (c->on_the_way < l->at_once) {
        c->on_the_way++;
        return;
    }
    push_edge(l->b, l->traffic, c->oldest, message);
    c->oldest = messages[c->oldest].follower;
}

/* The messages of a slice, from `first` on. The way to the GPU that relays it is no step of
 * the model's: it goes as fast as the port does. */
static void queue_slice(struct traffic_lanes *l, uint32_t first) {
    uint32_t end = l->traffic->count;
    for (uint32_t i = first; i < end; i++) {
        bool relayed = end - first > 1 && inside_node(l->b, &l->traffic->messages[i]);
        queue_message(l, i, !relayed);
    }
}

static sc_status add_transfer(struct traffic_group *g,
                              const struct sc__coll_transfer *t,
                              uint32_t phase,
                              uint8_t *legs) {
    struct sc__packet_message m = {.from = g->gpu[t->source],
                                   .to = g->gpu[t->destination],
                                   .phase = phase};
    double bytes = (double)g->bytes * sc__coll_schedule_share(&g->schedule, t) / g->slices;
    uint32_t before = g->traffic->count;
    bool queued = g->b->steps->send <= 0 && g->schedule.family != SC__FAMILY_PAIRS &&
                  g->schedule.family != SC__FAMILY_ROOT;
    for (uint32_t i = 0; i < g->slices; i++) {
        uint32_t slice = g->traffic->count;
        if (t->sources > 1 || t->destinations > 1 || t->in_fabric) {
            m.to = m.from;
            m.time = switched_time(g, t, bytes);
            push_message(g->b, g->traffic, &m);
        } else {
            SC__TRY(add_slice(g->b, g->traffic, &m, t->relay, g->crossing, bytes));
        }
        if (queued)
            queue_slice(&g->lanes, slice);
    }
    *legs = (uint8_t)((g->traffic->count - before) / g->slices);
    for (uint32_t i = before; i < g->traffic->count && g->b->steps->send > 0; i++)
        g->traffic->messages[i].before = sc__simai_reduction(g->schedule.coll,
                                                             g->schedule.channels,
                                                             g->schedule.group.ranks,
                                                             phase);
    if (g->traffic->count <= MOST_MESSAGES)
        return SC_OK;
    return sc__fail(g->b->fabric->ctx,
                    SC_INPUT,
                    NULL,
                    "--net flow, or a smaller job",
                    "a collective of %u ranks has more than %u messages",
                    g->schedule.group.ranks,
                    MOST_MESSAGES);
}

static uint32_t transfer_slot(const struct traffic_group *g, uint32_t phase, uint32_t i) {
    return g->phase_first[phase] + i;
}

static void wait_for(struct traffic_group *g, uint32_t before, uint32_t after) {
    for (uint32_t i = 0; i < g->slices; i++) {
        uint32_t end = g->entry[before] + (i + 1) * g->legs[before] - 1;
        push_edge(g->b, g->traffic, end, g->entry[after] + i * g->legs[after]);
    }
}

/* What the transfer needs has arrived in earlier phases. */
static void
add_needs(struct traffic_group *g, const struct sc__coll_transfer_id *id, uint32_t slot) {
    struct sc__coll_needs needs = sc__coll_schedule_needs(&g->schedule, *id);
    struct sc__coll_transfer_id on;
    for (uint32_t phase = needs.first; phase < needs.end; phase++) {
        if (!sc__coll_schedule_needs_arrival(&g->schedule, *id, phase, &on))
            continue;
        uint32_t before = transfer_slot(g, on.phase, on.index);
        if (g->entry[before] != UINT32_MAX)
            wait_for(g, before, slot);
    }
}

/* All of a phase before all of the next, slice by slice. */
static void add_barrier(struct traffic_group *g, uint32_t phase) {
    for (uint32_t i = 0; i < g->slices; i++) {
        struct sc__packet_message m = {.phase = phase};
        uint32_t barrier = push_message(g->b, g->traffic, &m);
        for (uint32_t s = g->phase_first[phase - 1]; s < g->phase_first[phase]; s++)
            if (g->entry[s] != UINT32_MAX)
                push_edge(g->b,
                          g->traffic,
                          g->entry[s] + (i + 1) * g->legs[s] - 1,
                          barrier);
        for (uint32_t s = g->phase_first[phase]; s < g->phase_first[phase + 1]; s++)
            if (g->entry[s] != UINT32_MAX)
                push_edge(g->b, g->traffic, barrier, g->entry[s] + i * g->legs[s]);
    }
}

/* SimAI's all-to-all: every rank sends to all others in the order of their numbers. */
static sc_status add_pairs_in_order(struct traffic_group *g) {
    struct sc__coll_transfer t;
    uint32_t n = g->schedule.group.ranks;
    uint8_t legs;
    for (uint32_t from = 0; from < n; from++)
        for (uint32_t to = 0; to < n; to++) {
            struct sc__coll_transfer_id id = {(to + n - from - 1) % n, 0, from};
            if (to == from || !sc__coll_schedule_transfer(&g->schedule, id, &t))
                continue;
            SC__TRY(add_transfer(g, &t, 0, &legs));
        }
    return SC_OK;
}

/* SimAI's ranks ask for a message when they hand over the one that they send in the same
 * phase. What has come before waits for that. */
static void ask_in_turn(struct traffic_group *g, uint32_t source, uint32_t message) {
    struct sc__packet_message *m = g->traffic->messages;
    if (g->b->steps->send <= 0 || g->schedule.family != SC__FAMILY_RING)
        return;
    if (m[message].phase > 0) {
        m[g->last[source]].follower = message;
        m[message].waits++;
    }
    g->last[source] = message;
}

static sc_status add_channel(struct traffic_group *g, uint32_t channel) {
    struct sc__coll_transfer t;
    g->lanes.channel = channel;
    if (g->schedule.coll == SC__ALLTOALL && g->b->steps->send > 0)
        return add_pairs_in_order(g);
    for (uint32_t phase = 0; phase < g->phases; phase++)
        for (uint32_t i = 0; i < sc__coll_schedule_slots(&g->schedule, phase); i++) {
            struct sc__coll_transfer_id id = {phase, channel, i};
            uint32_t slot = transfer_slot(g, phase, i);
            g->entry[slot] = UINT32_MAX;
            if (!sc__coll_schedule_transfer(&g->schedule, id, &t))
                continue;
            g->entry[slot] = g->traffic->count;
            SC__TRY(add_transfer(g, &t, phase, &g->legs[slot]));
            ask_in_turn(g, t.source, g->entry[slot]);
            if (!g->barriers)
                add_needs(g, &id, slot);
        }
    for (uint32_t phase = 1; phase < g->phases && g->barriers; phase++)
        add_barrier(g, phase);
    return SC_OK;
}

static void choose_group_schedule(struct traffic_group *g,
                                  int coll,
                                  enum sc__algo algo,
                                  const struct sc__placed_group *group) {
    const struct sc__packet_traffic_builder *b = g->b;
    const struct sc__cluster *c = b->fabric->cluster;
    struct sc__coll_schedule *s = &g->schedule;
    bool stepped = b->steps->send > 0;
    uint32_t dim[SC__FABRIC_DIMS_MAX];
    sc__coll_schedule_choose(stepped ? SC__ALGO_RING : algo, coll, s);
    if (c->fabric.kind == SC__FABRIC_DIMS) {
        struct sc__shape shape = sc__cluster_shape(c, group->gpu, group->count);
        bool round = s->family == SC__FAMILY_RING || s->family == SC__FAMILY_CHAIN;
        sc__coll_box_of(c, &shape, &s->box, dim);
        if (round)
            g->gpu = sc__dims_snake(b->arena, c, group->gpu, group->count);
    }
    s->group = sc__coll_group_on(c, g->gpu, group->count, b->arena);
    s->root = sc__coll_member_of(g->gpu, group->count, group->root);
    s->switch_reduces = sc__coll_node_switch_reduces(c, s->group.per_node);
    if (stepped) {
        s->order = SC__ORDER_ROTATED;
        s->channels = sc__coll_node_size(&s->group, 0);
    }
    g->crossing = sc__two_level_share(c, group->count, s->group.nodes);
    sc__coll_schedule_init(s);
    g->barriers = s->family == SC__FAMILY_NVLS || s->family == SC__FAMILY_COLLNET;
}

/* Of a ring each step moves a part of its own, and a few slices let steps overlap. A chain
 * and a tree pass all of it on from member to member: with few slices most of them would
 * wait for the first, so theirs are many. */
static double most_slices(const struct traffic_group *g) {
    const struct sc__coll_schedule *s = &g->schedule;
    double transfers = 0;
    if (s->family != SC__FAMILY_CHAIN && s->family != SC__FAMILY_TREE)
        return MOST_SLICES;
    for (uint32_t phase = 0; phase < s->phases; phase++)
        transfers += (double)s->channels * sc__coll_schedule_slots(s, phase);
    return fmax(MOST_SLICES,
                fmin(SLICES_A_PHASE * s->phases, floor(MOST_SLICED / transfers)));
}

/* Bytes of a slice, at least: a ring's is NCCL's. What a chain or a tree waits for the
 * slice of a hop is in the model's latency of a step: packets are passed on as they come.
 */
static double least_slice(const struct traffic_group *g) {
    enum sc__coll_family family = g->schedule.family;
    bool passed_on = family == SC__FAMILY_CHAIN || family == SC__FAMILY_TREE;
    return passed_on ? g->b->fabric->config->payload : sc__nccl_limits.ring_slice;
}

/* The first transfer: a node of one member has none inside it, and leaves slots empty. */
static bool first_transfer(const struct sc__coll_schedule *s, struct sc__coll_transfer *t) {
    for (uint32_t phase = 0; phase < s->phases; phase++)
        for (uint32_t i = 0; i < sc__coll_schedule_slots(s, phase); i++)
            if (sc__coll_schedule_transfer(s,
                                           (struct sc__coll_transfer_id){phase, 0, i},
                                           t))
                return true;
    return false;
}

static void choose_slices(struct traffic_group *g) {
    struct sc__coll_transfer t;
    double bytes = (double)g->bytes;
    bool cut = g->b->sliced && g->b->steps->send <= 0 &&
               g->schedule.family != SC__FAMILY_PAIRS && first_transfer(&g->schedule, &t);
    g->slices = 1;
    if (cut) {
        bytes *= sc__coll_schedule_share(&g->schedule, &t);
        double slices = ceil(bytes / least_slice(g));
        g->slices = (uint32_t)fmax(1, fmin(slices, most_slices(g)));
    }
    g->lanes = lanes_new(g->b, g->traffic, bytes / g->slices);
}

/* A ring goes on as it does, once what is slow has made itself felt everywhere: that takes
 * as many phases as members lie on a node. As often something goes to the next node, so
 * that as many phases are alike, and whole turns of them are left out. Step by step
 * nothing is: paths change, and one rank's steps tell little of the others'. */
static uint32_t phases_taken(const struct traffic_group *g) {
    const struct sc__coll_schedule *s = &g->schedule;
    uint32_t turn = s->group.per_node;
    uint32_t enough = 2 * turn + RING_WARM_UP;
    bool ring = s->family == SC__FAMILY_RING && s->phases > enough + enough / 2 + turn;
    if (ring)
        enough += (s->phases - enough) % turn;
    return g->b->first_phases && ring && g->b->steps->send <= 0 ? enough : s->phases;
}

/* SimAI ends with its first rank, which has got all that is for it and sent all that it
 * has to; others may still be on their way. */
static void look_at_first_rank(struct sc__packet_traffic *t, uint32_t from, uint32_t rank) {
    for (uint32_t i = from; i < t->count; i++) {
        struct sc__packet_message *m = &t->messages[i];
        m->end = m->to == rank     ? SC__PACKET_END_ARRIVED
                 : m->from == rank ? SC__PACKET_END_LEFT
                                   : SC__PACKET_END_ASIDE;
    }
}

sc_status sc__packet_traffic_group(const struct sc__packet_traffic_builder *b,
                                   struct sc__packet_traffic *t,
                                   int coll,
                                   enum sc__algo algo,
                                   const struct sc__placed_group *group,
                                   uint64_t bytes) {
    struct traffic_group g = {.b = b, .traffic = t, .gpu = group->gpu};
    uint32_t before = t->count;
    if (group->count < 2)
        return SC_OK;
    g.bytes = bytes ? bytes : 1;
    choose_group_schedule(&g, coll, algo, group);
    choose_slices(&g);
    g.phases = phases_taken(&g);
    t->phases = g.phases;
    t->all_phases = g.schedule.phases;
    t->period = g.schedule.group.per_node;
    g.phase_first = SC__NEW_ARRAY(b->arena, uint32_t, g.phases + 1);
    for (uint32_t i = 0; i < g.phases; i++)
        g.phase_first[i + 1] = g.phase_first[i] + sc__coll_schedule_slots(&g.schedule, i);
    g.entry = SC__NEW_ARRAY(b->arena, uint32_t, g.phase_first[g.phases]);
    g.legs = SC__NEW_ARRAY(b->arena, uint8_t, g.phase_first[g.phases]);
    g.last = SC__NEW_ARRAY(b->arena, uint32_t, group->count);
    uint32_t connections = t->connection_count;
    for (uint32_t c = 0; c < g.schedule.channels; c++)
        SC__TRY(add_channel(&g, c));
    for (uint32_t i = connections; i < t->connection_count; i++)
        t->connections[i].bytes *= (double)g.schedule.phases / g.phases;
    if (b->steps->send > 0)
        look_at_first_rank(t, before, group->gpu[0]);
    return SC_OK;
}

sc_status sc__packet_traffic_message(const struct sc__packet_traffic_builder *b,
                                     struct sc__packet_traffic *t,
                                     uint32_t from,
                                     uint32_t to,
                                     uint64_t bytes) {
    const struct sc__cluster *c = b->fabric->cluster;
    bool pxn = b->steps->send <= 0 && sc__fabric_has_rails(c) && !c->tuning.no_pxn;
    struct sc__packet_message m = {.from = from, .to = to};
    double slices =
        b->steps->send > 0
            ? 1
            : fmax(1,
                   fmin(MOST_RELAYED_SLICES, (double)bytes / sc__nccl_limits.ring_slice));
    uint32_t count = pxn && b->sliced ? (uint32_t)slices : 1;
    t->phases = 1;
    t->all_phases = 1;
    if (from == to)
        return SC_OK;
    struct traffic_lanes lanes = lanes_new(b, t, (double)bytes / count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slice = t->count;
        SC__TRY(add_slice(b,
                          t,
                          &m,
                          pxn ? SC__RELAY_AT_SOURCE : SC__RELAY_NONE,
                          1,
                          (double)bytes / count));
        if (b->steps->send <= 0)
            queue_slice(&lanes, slice);
    }
    return SC_OK;
}

void sc__packet_traffic_close(const struct sc__packet_traffic_builder *b,
                              struct sc__packet_traffic *t) {
    if (b->steps->send > 0)
        sc__simai_order_starts(b, t);
    t->next_first = SC__NEW_ARRAY(b->arena, uint32_t, (uint64_t)t->count + 2);
    t->next = SC__NEW_ARRAY(b->arena, uint32_t, t->edge_count);
    for (uint32_t i = 0; i < t->edge_count; i++)
        t->next_first[t->edges[i].before + 2]++;
    for (uint32_t i = 2; i < t->count + 2; i++)
        t->next_first[i] += t->next_first[i - 1];
    for (uint32_t i = 0; i < t->edge_count; i++)
        t->next[t->next_first[t->edges[i].before + 1]++] = t->edges[i].after;
    t->edges = NULL;
    t->edge_count = 0;
    t->edge_capacity = 0;
}
