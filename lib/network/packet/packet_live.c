#include "network/packet/packet_live.h"
#include "network/packet/packet_rounds.h"
#include "network/packet/packet_simai.h"
#include "network/packet/packet_uet.h"

#include <string.h>

#define PRIORITY 3u   /* of all data, as in the reference */
#define CALM_QUEUE 4u /* of them are a window */
#define NO_PROCESS UINT32_MAX
#define BUFFER (4.0 * 1024 * 1024) /* bytes of a connection: NCCL_BUFFSIZE's default */
#define EVENTS_PER_REPORT ((uint64_t)1 << 20)

struct live_pair {
    struct sc__packet_pair pair;
    struct sc__packet_flow flow;
    struct sc__packet_run *run;
    uint32_t message;
};

static struct live_pair *pair_new(struct sc__packet_live *l) {
    struct live_pair *p = (struct live_pair *)(void *)l->free_pairs;
    if (!p)
        return SC__NEW(&l->arena, struct live_pair);
    l->free_pairs = (struct sc__packet_pair *)(void *)p->pair.start.next;
    memset(p, 0, sizeof *p);
    return p;
}

/* Where nothing was lost no packet of a complete flow is left anywhere. */
static void forget_pair(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    struct sc__packet_live *l = s->owner;
    bool lost =
        s->counters->nacks || s->counters->link_losses || s->counters->buffer_losses;
    if (lost && !s->transport)
        return;
    p->start.next = (struct sc__packet_event *)(void *)l->free_pairs;
    l->free_pairs = p;
}

/* Bytes of a connection that has a pace of its own; else 0. */
static double paced_bytes(const struct sc__packet_run *run, uint32_t connection) {
    return connection ? run->traffic->connections[connection - 1].bytes : 0;
}

/* A connection has for its bytes as long as the busiest port has for its own, on each plane
 * for its part; what is on none shares its port. */
static struct sc__packet_limiter *limiter_of(struct sc__packet_live *l,
                                             struct sc__packet_run *run,
                                             uint32_t connection,
                                             uint32_t plane,
                                             uint32_t planes,
                                             const struct sc__packet_node *host) {
    bool fresh;
    if (!(run->use < 1))
        return NULL;
    double bytes = paced_bytes(run, connection);
    bool own = bytes > 0;
    uint64_t key = own ? (uint64_t)connection << 32 | plane : host->id;
    uint64_t *slot = sc__map_at(&run->limiters, key, &fresh);
    if (fresh) {
        struct sc__packet_limiter *limiter = SC__NEW(&l->arena, struct sc__packet_limiter);
        double port = 8e9 / (double)host->ports[0]->rate;
        limiter->ns_per_byte =
            (own ? 1e9 * run->traffic->port_time / bytes * planes : port) / run->use;
        limiter->behind = (own ? BUFFER / planes : BUFFER) * limiter->ns_per_byte;
        *slot = (uintptr_t)limiter;
    }
    return (struct sc__packet_limiter *)(uintptr_t)*slot;
}

static sc_status lay_wire(struct sc__packet_live *l,
                          const struct sc__packet_message *m,
                          uint32_t message,
                          uint32_t plane,
                          struct sc__packet_pair *p) {
    const struct sc__packet_wire *w;
    SC__TRY(sc__packet_wire(&l->ports, m->from, m->to, plane, m->number, &w));
    sc__packet_take_wire(p, w, message);
    return SC_OK;
}

/* Ultra Ethernet: all connections of a pair have the same paths to choose from. */
static sc_status lay_many_paths(struct sc__packet_live *l,
                                const struct sc__packet_message *m,
                                uint32_t plane,
                                struct sc__packet_pair *p) {
    const struct sc__packet_many *many;
    SC__TRY(sc__packet_many(&l->ports, m->from, m->to, plane, 0, &many));
    p->host = many->from;
    (void)sc__uet_flow_new(l->sim, p, many->data, many->ack);
    return SC_OK;
}

/* A message of several parts takes at least as long as the longest of them. */
static void note_sent(struct sc__packet_live *l,
                      struct sc__packet_run *run,
                      const struct live_pair *p,
                      int64_t at) {
    if (!run->flows)
        return;
    struct sc__packet_flow *f = &run->flows[p->message];
    int64_t ideal = sc__packet_ideal(l->sim, &p->pair, !l->sim->config->wait_for_arrival);
    f->start = at;
    f->ideal = ideal > f->ideal ? ideal : f->ideal;
}

static void note_delivered(const struct sc__packet_run *run,
                           const struct sc__packet_pair *pair,
                           uint32_t message,
                           int64_t now) {
    bool left = run->traffic->messages[message].end == SC__PACKET_END_LEFT;
    if (run->delivered)
        run->delivered[message] = left ? pair->left_at : now;
    if (!run->flows)
        return;
    run->flows[message].completion = now - run->flows[message].start;
    run->flows[message].received = run->flows[message].completion;
}

static sc_status send_part(struct sc__packet_live *l,
                           struct sc__packet_run *run,
                           uint32_t message,
                           uint32_t plane,
                           uint32_t planes,
                           uint64_t bytes,
                           int64_t at) {
    const struct sc__packet_message *m = &run->traffic->messages[message];
    struct live_pair *p = pair_new(l);
    p->run = run;
    p->message = message;
    p->flow = (struct sc__packet_flow){.bytes = bytes, .completion = -1, .received = -1};
    p->pair.flow = &p->flow;
    if (l->sim->uet)
        SC__TRY(lay_many_paths(l, m, plane, &p->pair));
    else
        SC__TRY(lay_wire(l, m, message, plane, &p->pair));
    p->pair.limiter = limiter_of(l, run, m->connection, plane, planes, p->pair.host);
    p->pair.ready = run->ready[message];
    p->pair.progress = &run->received;
    p->pair.priority = PRIORITY;
    p->pair.bytes = bytes;
    p->pair.launched_by = l->process == NO_PROCESS ? p->pair.host->process : l->process;
    note_sent(l, run, p, at + l->sim->start_delay);
    sc__packet_schedule(&l->sim->queue, &p->pair.start, SC__PACKET_LAUNCH, at);
    return SC_OK;
}

/* A message of several planes is divided over them. */
static sc_status send_message(struct sc__packet_live *l,
                              struct sc__packet_run *run,
                              uint32_t message,
                              int64_t now) {
    const struct sc__packet_message *m = &run->traffic->messages[message];
    if (m->from == m->to) {
        struct live_pair *p = pair_new(l);
        p->run = run;
        p->message = message;
        run->waits[message] = 1;
        sc__packet_schedule(&l->sim->queue, &p->pair.start, SC__PACKET_OVER, now + m->time);
        return SC_OK;
    }
    uint32_t planes = sc__packet_planes(l->fabric, m->from, m->to);
    if (planes > m->bytes)
        planes = 1;
    run->waits[message] = planes;
    run->unsent[message] = planes;
    for (uint32_t i = 0; i < planes; i++)
        SC__TRY(send_part(l,
                          run,
                          message,
                          i,
                          planes,
                          m->bytes / planes + (i < m->bytes % planes),
                          now + l->before_send + m->before));
    return SC_OK;
}

static void
stop_waiting(struct sc__packet_live *l, struct sc__packet_run *run, uint32_t message) {
    if (--run->waits[message] == 0 && l->status == SC_OK)
        l->status = send_message(l, run, message, l->sim->queue.now);
}

/* All parts of the message are handed to the network, on none of its planes does another
 * one come between its packets: so may be the one behind it on its connection
 * (step by step: its rank is ready for the one that the next of its ring waits for). */
static void hand_over(struct sc__packet_sim *s, struct sc__packet_pair *pair) {
    struct sc__packet_live *l = s->owner;
    struct live_pair *p = (struct live_pair *)(void *)pair;
    uint32_t follower = p->run->traffic->messages[p->message].follower;
    if (--p->run->unsent[p->message] || !follower)
        return;
    l->process = pair->launched_by;
    stop_waiting(l, p->run, follower);
    l->process = NO_PROCESS;
}

static void deliver(struct sc__packet_sim *s, struct sc__packet_pair *pair) {
    struct sc__packet_live *l = s->owner;
    struct live_pair *p = (struct live_pair *)(void *)pair;
    struct sc__packet_run *run = p->run;
    const struct sc__packet_traffic *t = run->traffic;
    if (--run->waits[p->message])
        return;
    note_delivered(run, pair, p->message, s->queue.now);
    if (pair->host)
        l->process = pair->host->process;
    for (uint32_t i = t->next_first[p->message]; i < t->next_first[p->message + 1]; i++) {
        run->ready[t->next[i]] = s->queue.now;
        stop_waiting(l, run, t->next[i]);
    }
    l->process = NO_PROCESS;
    if (--run->left == 0) {
        l->over = run;
        l->running--;
    }
}

struct sc__packet_live *sc__packet_live_new(struct sc__packet_fabric *f,
                                            const struct sc__steps *steps,
                                            const struct sc__packet_random *random) {
    struct sc__arena own;
    sc__arena_init(&own);
    struct sc__packet_live *l = SC__NEW(&own, struct sc__packet_live);
    l->arena = own;
    l->ctx = f->ctx;
    l->fabric = f;
    l->process = NO_PROCESS;
    l->sim = SC__NEW(&l->arena, struct sc__packet_sim);
    sc__packet_sim_init(l->sim, f->ctx, &l->arena, f->config, random, &l->counters);
    l->sim->delivered = deliver;
    l->sim->forgotten = forget_pair;
    l->sim->owner = l;
    l->sim->wakes_all |= steps->send <= 0;
    l->sim->fine = steps->send <= 0;
    l->sim->queue.now_sequence = UINT64_MAX;
    sc__packet_ports_init(f, l->sim, &l->ports);
    if (steps->send <= 0) {
        l->sim->sent = hand_over;
        return l;
    }
    l->sim->launched = hand_over;
    l->before_send = SC__SIMAI_BUS;
    l->sim->start_delay = steps->send / 1000;
    if (f->ahead > 0 && !l->sim->transport)
        l->sim->rounds = sc__packet_rounds_new(&l->arena, f->ahead);
    return l;
}

void sc__packet_live_free(struct sc__packet_live *l) {
    struct sc__arena own = l->arena;
    sc__arena_free(&own);
}

struct sc__packet_run *sc__packet_live_add(struct sc__packet_live *l,
                                           const struct sc__packet_traffic *t,
                                           double use,
                                           enum sc__packet_keep keep,
                                           uint32_t user,
                                           int64_t at) {
    struct sc__packet_run *run = SC__NEW(&l->arena, struct sc__packet_run);
    *run = (struct sc__packet_run){.traffic = t,
                                   .left = t->count,
                                   .use = use,
                                   .user = user,
                                   .before = l->added};
    l->added = run;
    run->waits = SC__NEW_ARRAY(&l->arena, uint32_t, t->count);
    run->unsent = SC__NEW_ARRAY(&l->arena, uint32_t, t->count);
    run->ready = SC__NEW_ARRAY(&l->arena, int64_t, t->count);
    if (keep != SC__PACKET_KEEP_NOTHING)
        run->delivered = SC__NEW_ARRAY(&l->arena, int64_t, t->count);
    if (keep == SC__PACKET_KEEP_FLOWS)
        run->flows = SC__NEW_ARRAY(&l->arena, struct sc__packet_flow, t->count);
    sc__map_init(&run->limiters, &l->arena);
    l->running++;
    for (uint32_t i = 0; i < t->count; i++) {
        run->waits[i] = t->messages[i].waits;
        run->ready[i] = at;
    }
    for (uint32_t i = 0; i < t->count; i++)
        run->bytes += t->messages[i].from == t->messages[i].to ? 0 : t->messages[i].bytes;
    for (uint32_t i = 0; i < t->start_count && l->status == SC_OK; i++)
        l->status = send_message(l, run, t->starts[i], at);
    for (uint32_t i = 0; i < t->count && !t->starts; i++)
        if (!t->messages[i].waits && l->status == SC_OK)
            l->status = send_message(l, run, i, at);
    return run;
}

static sc_status stuck(const struct sc__packet_live *l) {
    unsigned long long lost = l->counters.buffer_losses + l->counters.link_losses;
    if (!lost)
        return sc__fail(l->ctx,
                        SC_INPUT,
                        NULL,
                        "a larger --buffer, or --cc nscc: Ultra Ethernet has no pauses",
                        "messages are stuck: pauses wait for each other in a circle");
    return sc__fail(l->ctx,
                    SC_INPUT,
                    NULL,
                    "larger buffers, or pauses (ENABLE_PFC 1)",
                    "messages are stuck: %llu packets were lost and nothing is left that "
                    "would send them again (there is no retransmission timer)",
                    lost);
}

/* How much of what is here has arrived. */
static double share_received(const struct sc__packet_live *l) {
    double received = 0;
    double bytes = 0;
    for (const struct sc__packet_run *run = l->added; run; run = run->before) {
        received += (double)run->received;
        bytes += (double)run->bytes;
    }
    return bytes > 0 ? received / bytes : 0;
}

sc_status sc__packet_live_run(struct sc__packet_live *l,
                              int64_t until,
                              struct sc__packet_run **over) {
    l->over = NULL;
    *over = NULL;
    while (l->status == SC_OK && !l->over && sc__packet_step(l->sim, until)) {
        if (l->counters.events % EVENTS_PER_REPORT == 0)
            l->status = sc__progress(l->ctx, "packets", share_received(l));
    }
    SC__TRY(l->status);
    *over = l->over;
    if (!l->over && l->running && !l->sim->queue.live)
        return stuck(l);
    return SC_OK;
}

bool sc__packet_buffers_untouched(const struct sc__packet_live *l, uint32_t copies) {
    double peak = (double)l->sim->peak_shared;
    if (copies < 2)
        return true;
    return !l->counters.pauses && !l->counters.buffer_losses &&
           peak * (8 + (double)copies) < (double)l->ports.least_shared;
}

uint64_t sc__packet_live_signals(const struct sc__packet_live *l) {
    const struct sc__packet_counters *c = &l->counters;
    return c->marks + c->pauses + c->trims + c->buffer_losses + c->link_losses;
}

bool sc__packet_live_calm(const struct sc__packet_live *l, uint64_t signals) {
    uint32_t control = l->sim->config->control;
    bool by_marks = control == SC__PACKET_NO_CONTROL || control == SC__PACKET_DCQCN ||
                    control == SC__PACKET_DCTCP;
    return sc__packet_live_signals(l) == signals &&
           (by_marks || l->sim->peak_queue * CALM_QUEUE <= l->sim->window);
}
