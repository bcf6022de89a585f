/* Rings: as many channels as a server has members of the group; channel c goes
 * round the members of each server from the c-th on, servers in natural order.
 * A step's message carries S/n/channels bytes. Its receiver may send the next
 * one when it has arrived and the acknowledgement is back (a round trip over
 * the links), and `send` has passed.
 *
 * All-to-all: every rank to every other at once; gather and scatter: the root
 * and every other. NICs take packets of their
 * flows in turn, so a receiver waits half a round of packets before its share
 * of the links is what sharing says. */
#include "network/flow/flow_steps.h"

#define MOST_MESSAGES 20000000u

sc_status sc__steps_parse(const struct sc__settings *settings, struct sc__steps *out) {
    const char *send = sc__setting(settings, "send-latency");
    const char *packet = sc__setting(settings, "packet");
    *out = (struct sc__steps){.packet = 1e9};
    if (send && !sc__parse_time(sc__str(send), &out->send))
        return sc__fail(settings->ctx,
                        SC_USAGE,
                        NULL,
                        "write it like 3us",
                        "--send-latency takes a time, not '%s'",
                        send);
    if (out->send > SC__PS_PER_S)
        return sc__fail(settings->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--send-latency %s: at most 1s before a send",
                        send);
    if (packet && !send)
        return sc__fail(settings->ctx,
                        SC_USAGE,
                        NULL,
                        "add --send-latency 3us",
                        "--packet goes with --send-latency");
    if (!packet)
        return SC_OK;
    struct sc__str rest = sc__str(packet);
    struct sc__str part = {NULL, 0};
    sc__split(&rest, '+', &part);
    if (!sc__parse_double(part, &out->packet) || !sc__parse_double(rest, &out->header) ||
        !(out->packet > 0) || out->header < 0)
        return sc__fail(settings->ctx,
                        SC_USAGE,
                        NULL,
                        "write it like 9000+100: payload + header, bytes",
                        "--packet '%s'",
                        packet);
    return SC_OK;
}

struct flow_steps_wire { /* who sends to whom */
    uint32_t from;
    uint32_t to;
    int64_t round_trip;
};

struct stepping {
    struct sc__pattern_builder *b;
    const struct sc__steps *steps;
    struct sc__arena *arena;
    struct sc__flow_share *share;
    struct flow_steps_wire *wires;
    struct sc__heap heap; /* a: wire, b: step */
    uint32_t ranks;
    uint32_t channels;
    uint32_t last_step;
    double message;
    int64_t end;
};

static int64_t link_latency(const struct sc__pattern_builder *b, uint32_t link) {
    const struct sc__graph *g = b->graph;
    if (g->latency)
        return g->latency[link];
    return link < g->first_plane ? b->cluster->nvlink_latency : g->hop_latency;
}

/* The hops of a message. Each message is a connection of its own to the
 * network: with ECMP every step takes a path of its own. */
static sc_status
route(struct stepping *s, const struct flow_steps_wire *w, uint32_t step, uint32_t *count) {
    struct sc__pattern_builder *b = s->b;
    struct sc__route_policy policy = *b->route;
    bool network = w->from / b->cluster->node_gpus != w->to / b->cluster->node_gpus;
    if (step)
        policy.seed = sc__splitmix64(policy.seed + step);
    SC__TRY(sc__graph_route(b->ctx, b->graph, &policy, w->from, w->to, b->path, count));
    for (uint32_t i = 0; i < *count && network; i++)
        b->path[i].load *= 1 + s->steps->header / s->steps->packet;
    return SC_OK;
}

static sc_status
make_wire(struct stepping *s, uint32_t from, uint32_t to, struct flow_steps_wire *w) {
    struct sc__pattern_builder *b = s->b;
    uint32_t count;
    double trip = 0;
    *w = (struct flow_steps_wire){.from = from, .to = to};
    SC__TRY(sc__graph_route(b->ctx, b->graph, b->route, from, to, b->path, &count));
    for (uint32_t i = 0; i < count; i++)
        trip += 2 * b->path[i].load * (double)link_latency(b, b->path[i].link);
    w->round_trip = (int64_t)llround(trip);
    return SC_OK;
}

static uint32_t members_in_node(const struct sc__pattern_builder *b,
                                const uint32_t *gpu,
                                uint32_t n,
                                uint32_t at) {
    uint32_t count = 0;
    for (uint32_t i = at;
         i < n && gpu[i] / b->cluster->node_gpus == gpu[at] / b->cluster->node_gpus;
         i++)
        count++;
    return count;
}

static sc_status make_wires(struct stepping *s, const uint32_t *gpu) {
    uint32_t *order = SC__NEW_ARRAY(s->arena, uint32_t, s->ranks);
    s->wires =
        SC__NEW_ARRAY(s->arena, struct flow_steps_wire, (size_t)s->ranks * s->channels);
    for (uint32_t c = 0; c < s->channels; c++) {
        for (uint32_t i = 0, size; i < s->ranks; i += size) {
            size = members_in_node(s->b, gpu, s->ranks, i);
            for (uint32_t k = 0; k < size; k++)
                order[i + k] = gpu[i + (c + k) % size];
        }
        for (uint32_t i = 0; i < s->ranks; i++)
            SC__TRY(make_wire(s,
                              order[i],
                              order[(i + 1) % s->ranks],
                              &s->wires[c * s->ranks + i]));
    }
    return SC_OK;
}

static sc_status send(struct stepping *s, uint32_t wire, uint32_t step, int64_t now) {
    uint32_t count;
    SC__TRY(route(s, &s->wires[wire], step, &count));
    struct sc__share_flow flow = {.hops = s->b->path,
                                  .count = count,
                                  .weight = 1,
                                  .bytes = s->message,
                                  .user = (uint64_t)step << 32 | wire};
    sc__share_add(s->share, &flow, (double)now * 1e-12);
    return SC_OK;
}

/* The message has left; when its acknowledgement is back the next rank of the
 * channel may go on. */
static void receive(struct stepping *s, uint64_t user, int64_t now) {
    uint32_t wire = (uint32_t)user;
    uint32_t step = (uint32_t)(user >> 32);
    uint32_t channel = wire / s->ranks;
    int64_t arrived = now + s->wires[wire].round_trip;
    uint32_t next = channel * s->ranks + (wire + 1 - channel * s->ranks) % s->ranks;
    if (step == s->last_step)
        s->end = arrived > s->end ? arrived : s->end;
    else
        sc__heap_push(&s->heap, arrived + s->steps->send, next, step + 1);
}

static int64_t flow_steps_to_ps(double seconds) {
    return (int64_t)llround(seconds * 1e12);
}

static sc_status flow_steps_run(struct stepping *s) {
    uint64_t user;
    for (uint32_t w = 0; w < s->ranks * s->channels; w++)
        sc__heap_push(&s->heap, s->steps->send, w, 0);
    while (!sc__heap_empty(&s->heap) || sc__share_flows(s->share)) {
        double end = sc__share_next(s->share);
        int64_t event = sc__heap_time(&s->heap);
        int64_t flow = end < 9e6 ? flow_steps_to_ps(end) : INT64_MAX;
        if (flow <= event)
            while (sc__share_finish(s->share, end, &user))
                receive(s, user, flow);
        else
            while (sc__heap_time(&s->heap) == event) {
                struct sc__event e = sc__heap_pop(&s->heap);
                SC__TRY(send(s, e.a, e.b, event));
            }
    }
    return SC_OK;
}

static sc_status
flow_steps_ring(struct stepping *s, const uint32_t *gpu, uint32_t steps, double message) {
    s->last_step = steps - 1;
    s->message = message;
    if ((uint64_t)s->ranks * s->channels * steps > MOST_MESSAGES)
        return sc__fail(
            s->b->ctx,
            SC_USAGE,
            NULL,
            "leave --send-latency out: collectives are then not run step by step",
            "a ring of %u ranks in %u steps has more than %u messages",
            s->ranks,
            steps,
            MOST_MESSAGES);
    SC__TRY(make_wires(s, gpu));
    return flow_steps_run(s);
}

static sc_status
add_pair(struct stepping *s, uint32_t from, uint32_t to, uint32_t *count, int64_t *trip) {
    struct flow_steps_wire *w = &s->wires[*count];
    SC__TRY(make_wire(s, from, to, w));
    if (w->round_trip > *trip)
        *trip = w->round_trip;
    return send(s, (*count)++, 0, 0);
}

/* All pairs; or those of the root, where there is one. */
static sc_status
add_pairs(struct stepping *s, int coll, const uint32_t *gpu, uint32_t root, int64_t *trip) {
    uint32_t n = s->ranks;
    uint32_t count = 0;
    bool to_root = sc__coll_to_root((unsigned)coll);
    s->wires = SC__NEW_ARRAY(s->arena, struct flow_steps_wire, to_root ? n : (size_t)n * n);
    for (uint32_t i = 0; i < n; i++) {
        if (!to_root)
            for (uint32_t k = 1; k < n; k++)
                SC__TRY(add_pair(s, gpu[i], gpu[(i + k) % n], &count, trip));
        else if (gpu[i] != root)
            SC__TRY(add_pair(s,
                             coll == SC__GATHER ? gpu[i] : root,
                             coll == SC__GATHER ? root : gpu[i],
                             &count,
                             trip));
    }
    return SC_OK;
}

/* Longest round trip, and the most flows of a NIC. */
static sc_status
pairs(struct stepping *s, int coll, const uint32_t *gpu, uint32_t root, double message) {
    int64_t trip = 0;
    int64_t fluid = 0;
    uint64_t user;
    uint32_t outside = s->ranks - members_in_node(s->b, gpu, s->ranks, 0);
    s->message = message;
    SC__TRY(add_pairs(s, coll, gpu, root, &trip));
    for (double end; (end = sc__share_next(s->share)) < INFINITY;
         fluid = flow_steps_to_ps(end))
        while (sc__share_finish(s->share, end, &user)) {
        }
    double packet = message < s->steps->packet ? message : s->steps->packet;
    double nic = s->b->cluster->nic;
    double round =
        outside && s->steps->header > 0 ? outside * (packet + s->steps->header) / nic : 0;
    s->end = s->steps->send + trip + fluid + flow_steps_to_ps(round / 2);
    return SC_OK;
}

static sc_status run_collective(
    struct stepping *s, int coll, const uint32_t *gpu, uint32_t root, uint64_t bytes) {
    uint32_t n = s->ranks;
    double part = (double)bytes / n;
    if (coll == SC__ALLTOALL || sc__coll_to_root((unsigned)coll))
        return pairs(s, coll, gpu, root, part);
    if (coll == SC__ALLREDUCE || coll == SC__BARRIER)
        return flow_steps_ring(s, gpu, 2 * (n - 1), part / s->channels);
    return flow_steps_ring(
        s,
        gpu,
        n - 1,
        (coll == SC__BROADCAST || coll == SC__REDUCE ? (double)bytes : part) / s->channels);
}

sc_status sc__steps_collective(struct sc__pattern_builder *b,
                               const struct sc__steps *steps,
                               int coll,
                               const uint32_t *gpu,
                               uint32_t n,
                               uint32_t root,
                               uint64_t bytes,
                               int64_t *time) {
    struct sc__arena work;
    *time = 0;
    if (n < 2)
        return SC_OK;
    sc__arena_init(&work);
    struct stepping s = {.b = b, .steps = steps, .arena = &work, .ranks = n};
    s.share = sc__share_new(&work, b->graph->capacity, b->graph->links);
    sc__heap_init(&s.heap, &work);
    s.channels = members_in_node(b, gpu, n, 0);
    sc_status status = run_collective(&s, coll, gpu, root, bytes ? bytes : 1);
    *time = s.end;
    sc__arena_free(&work);
    return status;
}

sc_status sc__steps_message(struct sc__pattern_builder *b,
                            const struct sc__steps *steps,
                            uint32_t from,
                            uint32_t to,
                            uint64_t bytes,
                            int64_t *time) {
    double slowest = 0;
    uint32_t count;
    bool network = from / b->cluster->node_gpus != to / b->cluster->node_gpus;
    SC__TRY(sc__graph_route(b->ctx, b->graph, b->route, from, to, b->path, &count));
    *time = steps->send;
    for (uint32_t i = 0; i < count; i++) {
        double load = b->path[i].load * (network ? 1 + steps->header / steps->packet : 1);
        slowest = fmax(slowest, load / b->graph->capacity[b->path[i].link]);
        *time += (int64_t)llround(2 * b->path[i].load *
                                  (double)link_latency(b, b->path[i].link));
    }
    *time += flow_steps_to_ps(slowest * (double)bytes);
    return SC_OK;
}
