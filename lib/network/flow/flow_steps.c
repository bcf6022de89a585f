/* Collectives go by their schedules (collective/schedule.h): rings of as many channels as
 * a server has members of the group, servers in natural order; chains for broadcast
 * and reduce. A member sends the next message of a channel when the one before has
 * arrived, the acknowledgement is back (a round trip over the links), and `send`
 * has passed.
 *
 * All-to-all: every rank to every other at once; gather and scatter: the root
 * and every other. NICs take packets of their flows in turn, so a receiver waits half
 * a round of packets before its share of the links is what sharing says. */
#include "network/flow/flow_steps.h"

#include "collective/library.h"

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

/* Who sends to whom: on a channel a member always to the same one. */
struct flow_steps_wire {
    uint32_t from;
    uint32_t to;
    uint32_t receiver; /* member */
    int64_t round_trip;
};

struct stepping {
    struct sc__pattern_builder *b;
    const struct sc__steps *steps;
    struct sc__arena *arena;
    struct sc__flow_share *share;
    const uint32_t *gpu;
    struct sc__coll_schedule schedule;
    struct flow_steps_wire *wires; /* by channel · ranks + sender */
    struct sc__heap heap;          /* a: wire, b: phase */
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
static sc_status route_message(struct stepping *s,
                               const struct flow_steps_wire *w,
                               uint32_t step,
                               uint32_t *count) {
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

static sc_status make_wire(struct stepping *s,
                           const struct sc__coll_transfer *t,
                           struct flow_steps_wire *w) {
    struct sc__pattern_builder *b = s->b;
    uint32_t count;
    double trip = 0;
    *w = (struct flow_steps_wire){.from = s->gpu[t->source],
                                  .to = s->gpu[t->destination],
                                  .receiver = t->destination};
    SC__TRY(sc__graph_route(b->ctx, b->graph, b->route, w->from, w->to, b->path, &count));
    for (uint32_t i = 0; i < count; i++)
        trip += 2 * b->path[i].load * (double)link_latency(b, b->path[i].link);
    w->round_trip = (int64_t)llround(trip);
    return SC_OK;
}

static sc_status
send_message(struct stepping *s, uint32_t wire, uint32_t step, int64_t now) {
    uint32_t count;
    SC__TRY(route_message(s, &s->wires[wire], step, &count));
    struct sc__share_flow flow = {.hops = s->b->path,
                                  .count = count,
                                  .weight = 1,
                                  .bytes = s->message,
                                  .user = (uint64_t)step << 32 | wire};
    sc__share_add(s->share, &flow, (double)now * 1e-12);
    return SC_OK;
}

/* The message has left; when its acknowledgement is back the receiver may go
 * on: a ring or chain passes on what came in the phase before. */
static void receive_message(struct stepping *s, uint64_t user, int64_t now) {
    uint32_t wire = (uint32_t)user;
    uint32_t next = (uint32_t)(user >> 32) + 1;
    uint32_t channel = wire / s->schedule.group.ranks;
    uint32_t member = s->wires[wire].receiver;
    int64_t arrived = now + s->wires[wire].round_trip;
    bool last =
        next == s->schedule.phases ||
        sc__coll_schedule_sent_by(&s->schedule, next, channel, member) == SC__NO_MEMBER;
    if (last)
        s->end = arrived > s->end ? arrived : s->end;
    else
        sc__heap_push(&s->heap,
                      arrived + s->steps->send,
                      channel * s->schedule.group.ranks + member,
                      next);
}

static int64_t flow_steps_to_ps(double seconds) {
    return (int64_t)llround(seconds * 1e12);
}

static sc_status flow_steps_run(struct stepping *s) {
    uint64_t user;
    while (!sc__heap_empty(&s->heap) || sc__share_flows(s->share)) {
        double end = sc__share_next(s->share);
        int64_t event = sc__heap_time(&s->heap);
        int64_t flow = end < 9e6 ? flow_steps_to_ps(end) : INT64_MAX;
        if (flow <= event)
            while (sc__share_finish(s->share, end, &user))
                receive_message(s, user, flow);
        else
            while (sc__heap_time(&s->heap) == event) {
                struct sc__event e = sc__heap_pop(&s->heap);
                SC__TRY(send_message(s, e.a, e.b, event));
            }
    }
    return SC_OK;
}

/* Wires of all phases that differ; what needs nothing starts. */
static sc_status make_wires(struct stepping *s, uint32_t channel) {
    const struct sc__coll_schedule *c = &s->schedule;
    struct sc__coll_transfer t;
    for (uint32_t phase = 0; phase < c->phases / c->rounds;
         phase += sc__coll_schedule_repeats(c, channel, phase))
        for (uint32_t i = 0; i < sc__coll_schedule_slots(c, phase); i++) {
            struct sc__coll_transfer_id id = {phase, channel, i};
            if (!sc__coll_schedule_transfer(c, id, &t))
                continue;
            uint32_t wire = channel * c->group.ranks + t.source;
            SC__TRY(make_wire(s, &t, &s->wires[wire]));
            if (!phase)
                sc__heap_push(&s->heap, s->steps->send, wire, 0);
        }
    return SC_OK;
}

/* Rings and chains. */
static sc_status run_rounds(struct stepping *s) {
    const struct sc__coll_schedule *c = &s->schedule;
    uint32_t ranks = c->group.ranks;
    uint64_t messages = (uint64_t)sc__coll_schedule_slots(c, 0) * c->channels * c->phases;
    if (messages > MOST_MESSAGES)
        return sc__fail(
            s->b->ctx,
            SC_USAGE,
            NULL,
            "leave --send-latency out: collectives are then not run step by step",
            "a ring of %u ranks in %u steps has more than %u messages",
            ranks,
            c->phases,
            MOST_MESSAGES);
    s->wires = SC__NEW_ARRAY(s->arena, struct flow_steps_wire, (size_t)ranks * c->channels);
    for (uint32_t channel = 0; channel < c->channels; channel++)
        SC__TRY(make_wires(s, channel));
    return flow_steps_run(s);
}

/* All messages at once, those of a sender one after the other; the longest round trip. */
static sc_status start_pairs(struct stepping *s, int64_t *trip) {
    const struct sc__coll_schedule *c = &s->schedule;
    uint32_t slots = sc__coll_schedule_slots(c, 0);
    struct sc__coll_transfer t;
    uint32_t count = 0;
    s->wires = SC__NEW_ARRAY(s->arena, struct flow_steps_wire, (size_t)slots * c->phases);
    for (uint32_t i = 0; i < slots; i++)
        for (uint32_t phase = 0; phase < c->phases; phase++) {
            struct flow_steps_wire *w = &s->wires[count];
            if (!sc__coll_schedule_transfer(c,
                                            (struct sc__coll_transfer_id){phase, 0, i},
                                            &t))
                continue;
            SC__TRY(make_wire(s, &t, w));
            if (w->round_trip > *trip)
                *trip = w->round_trip;
            SC__TRY(send_message(s, count++, 0, 0));
        }
    return SC_OK;
}

/* The longest round trip, the sharing of the links, and half a round of the packets of
 * a NIC's flows. */
static sc_status run_pairs(struct stepping *s) {
    int64_t trip = 0;
    int64_t fluid = 0;
    uint64_t user;
    const struct sc__coll_group *group = &s->schedule.group;
    uint32_t outside = group->ranks - sc__coll_node_size(group, 0);
    SC__TRY(start_pairs(s, &trip));
    for (double end; (end = sc__share_next(s->share)) < INFINITY;
         fluid = flow_steps_to_ps(end))
        while (sc__share_finish(s->share, end, &user)) {
        }
    double packet = s->message < s->steps->packet ? s->message : s->steps->packet;
    double nic = s->b->cluster->nic;
    double round =
        outside && s->steps->header > 0 ? outside * (packet + s->steps->header) / nic : 0;
    s->end = s->steps->send + trip + fluid + flow_steps_to_ps(round / 2);
    return SC_OK;
}

/* SimAI's rings: as many channels as the first server has members, each beginning
 * at a member of its own. */
static void choose_schedule(struct stepping *s, int coll, uint32_t n, uint32_t root) {
    struct sc__coll_schedule *c = &s->schedule;
    sc__coll_schedule_choose(SC__ALGO_RING, coll, c);
    c->group = sc__coll_group_of(s->gpu,
                                 n,
                                 s->b->cluster->node_gpus,
                                 SC__NEW_ARRAY(s->arena, uint32_t, n + 1));
    c->order = SC__ORDER_ROTATED;
    c->channels = sc__coll_node_size(&c->group, 0);
    c->root = sc__coll_member_of(s->gpu, n, root);
    sc__coll_schedule_init(c);
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
    struct sc__coll_transfer first; /* all carry as much */
    sc_status status;
    *time = 0;
    if (n < 2)
        return SC_OK;
    sc__arena_init(&work);
    struct stepping s = {.b = b, .steps = steps, .arena = &work, .gpu = gpu};
    s.share = sc__share_new(&work, b->graph->capacity, b->graph->links);
    sc__heap_init(&s.heap, &work);
    choose_schedule(&s, coll, n, root);
    sc__coll_schedule_transfer(&s.schedule, (struct sc__coll_transfer_id){0, 0, 0}, &first);
    s.message = (double)(bytes ? bytes : 1) * sc__coll_schedule_share(&s.schedule, &first);
    bool rounds =
        s.schedule.family == SC__FAMILY_RING || s.schedule.family == SC__FAMILY_CHAIN;
    status = rounds ? run_rounds(&s) : run_pairs(&s);
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
