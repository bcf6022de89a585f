/* packet_uet_receiver: acknowledges 16 KB at a time, or at once what is marked or asked
 * for, with a bitmap of 64 packets; answers what was trimmed with a NACK. With RCCC the
 * receiver shares its line rate between all that send to it: each has credit in turn. */
#include "network/packet/packet_uet.h"

#include <math.h>

#define BITMAP 64u
#define IDLE_UNITS 4         /* time between two credits where one of them was empty */
#define LOOK_ROUND_TRIPS 1.5 /* between two looks, more or less a quarter */
#define RATE_INCREASE 0.01
#define RATE_DECREASE 0.5
#define LEAST_RATE 0.01
#define MOST_DOUBLINGS 20u
#define FAIR_SHARE 0.9 /* of what an oversubscribed network can carry: no less is given */
#define CONGESTION_GAIN 0.5
#define CONGESTION_TARGET 0.3 /* share of packets marked */

static uint8_t *
received_at(const struct sc__packet_sim *s, const struct sc__uet_flow *u, uint32_t packet) {
    return &u->received[packet & (s->uet->ring - 1)];
}

static bool
is_received(const struct sc__packet_sim *s, const struct sc__uet_flow *u, uint32_t packet) {
    if (packet < u->expected)
        return true;
    return packet - u->expected < s->uet->ring && *received_at(s, u, packet);
}

/* ---- credit ---- */

static struct sc__packet_node *receiver_of(const struct sc__uet_flow *u) {
    const struct sc__packet_pair *p = u->pair;
    if (!p->data.count)
        return p->host->ports[0]->peer->node;
    return p->data.ports[p->data.count - 1]->peer->node;
}

static void schedule_credit(struct sc__packet_sim *s,
                            struct sc__packet_node *host,
                            enum sc__packet_event_kind kind,
                            int64_t at) {
    struct sc__packet_timer *t = sc__packet_timer_set(s, kind, at);
    t->host = host;
}

static void schedule_look(struct sc__packet_sim *s, struct sc__packet_node *host) {
    double span = (0.75 + sc__packet_draw(s) / 2) * LOOK_ROUND_TRIPS;
    int64_t at = s->queue.now + (int64_t)(span * (double)s->base_rtt);
    schedule_credit(s, host, SC__PACKET_LOOK, at);
}

static struct sc__uet_pacer *pacer_of(struct sc__packet_sim *s,
                                      struct sc__packet_node *host) {
    if (!host->pacer) {
        host->pacer = SC__NEW(s->arena, struct sc__uet_pacer);
        host->pacer->rate = 1;
    }
    return host->pacer;
}

static void ask_for_pull(struct sc__packet_sim *s, struct sc__uet_flow *u) {
    struct sc__packet_node *host = receiver_of(u);
    struct sc__uet_pacer *pacer = pacer_of(s, host);
    u->in_pull = true;
    u->uses++;
    u->next_pull = NULL;
    if (pacer->pull.first)
        pacer->pull.last->next_pull = u;
    else
        pacer->pull.first = u;
    pacer->pull.last = u;
    if (pacer->active)
        return;
    pacer->active = true;
    schedule_credit(s, host, SC__PACKET_PULL, s->queue.now);
    if (s->uet->oversubscription > 1 && !s->uet->nscc && !pacer->watched) {
        pacer->watched = true;
        schedule_look(s, host);
    }
}

static void add_spare(struct sc__uet_pacer *pacer, struct sc__uet_flow *u) {
    if (u->in_spare)
        return;
    u->in_spare = true;
    u->uses++;
    u->next_spare = NULL;
    if (pacer->spare.first)
        pacer->spare.last->next_spare = u;
    else
        pacer->spare.first = u;
    pacer->spare.last = u;
}

void sc__uet_want_credit(struct sc__packet_sim *s,
                         struct sc__uet_flow *u,
                         int64_t wanted,
                         bool anyway) {
    if (!s->uet->rccc || u->pair->complete)
        return;
    bool more = wanted > u->wanted;
    if (more)
        u->wanted = wanted;
    if (!u->in_pull && (more || anyway))
        ask_for_pull(s, u);
}

static void send_credit(struct sc__packet_sim *s,
                        struct sc__packet_node *host,
                        struct sc__uet_flow *u) {
    struct sc__packet_frame *f = sc__uet_control_new(s, u, SC__PACKET_CREDIT);
    f->uet.pull = u->pulled;
    u->pull_path = (u->pull_path + 1) & (s->config->uet_paths - 1);
    f->path = &u->ack_paths[u->pull_path];
    sc__uet_send_control(s, host, f);
}

/* As much as the sender wants, at most a step. */
static int64_t pull_one(struct sc__packet_sim *s,
                        struct sc__packet_node *host,
                        struct sc__uet_pacer *pacer) {
    struct sc__uet_flow *u = pacer->pull.first;
    pacer->pull.first = u->next_pull;
    int64_t units = s->uet->credit_step;
    if (units > u->wanted - u->pulled)
        units = u->wanted > u->pulled ? u->wanted - u->pulled : 0;
    u->in_pull = false;
    if (u->pair->complete) {
        sc__uet_let_go(s, u);
        return 0;
    }
    u->pulled += units;
    send_credit(s, host, u);
    if (u->wanted > u->pulled)
        ask_for_pull(s, u);
    else
        add_spare(pacer, u);
    sc__uet_let_go(s, u);
    return units;
}

/* Nobody wants anything: those that did get some in advance, up to a window. */
static int64_t pull_spare(struct sc__packet_sim *s,
                          struct sc__packet_node *host,
                          struct sc__uet_pacer *pacer) {
    struct sc__uet_flow *u = pacer->spare.first;
    int64_t most = (int64_t)(s->config->uet_window_bdp * (double)s->window);
    pacer->spare.first = u->next_spare;
    u->in_spare = false;
    if (u->pair->complete) {
        sc__uet_let_go(s, u);
        return 0;
    }
    u->pulled += s->uet->credit_step;
    send_credit(s, host, u);
    if (u->wanted <= u->pulled && (u->pulled - u->wanted) * SC__UET_CREDIT_UNIT < most)
        add_spare(pacer, u);
    sc__uet_let_go(s, u);
    return s->uet->credit_step;
}

void sc__uet_pull(struct sc__packet_sim *s, struct sc__packet_node *host) {
    struct sc__uet_pacer *pacer = host->pacer;
    int64_t units;
    if (pacer->pull.first)
        units = pull_one(s, host, pacer);
    else if (pacer->spare.first)
        units = pull_spare(s, host, pacer);
    else {
        pacer->active = false;
        return;
    }
    if (!units)
        units = IDLE_UNITS;
    double ns_per_unit = SC__UET_CREDIT_UNIT * 8e9 / (double)host->ports[0]->rate /
                         s->config->uet_pull_rate / pacer->rate;
    schedule_credit(s,
                    host,
                    SC__PACKET_PULL,
                    s->queue.now + (int64_t)ceil(ns_per_unit * (double)units));
}

/* Where the network cannot carry all that its hosts can take, marks and what was trimmed
 * before the last hop say so: credit is given more slowly, and faster again from look to
 * look. */
void sc__uet_look(struct sc__packet_sim *s, struct sc__packet_node *host) {
    struct sc__uet_pacer *p = host->pacer;
    uint32_t whole = p->arrived - p->trimmed;
    double share = whole ? (double)p->marked / whole : 0;
    double least = fmax(LEAST_RATE, FAIR_SHARE / s->uet->oversubscription);
    bool decrease = p->trimmed_on_the_way > 0;
    if (decrease)
        p->rate -= (double)p->trimmed_on_the_way / p->arrived;
    p->congestion += CONGESTION_GAIN * (share - p->congestion);
    if (p->congestion > CONGESTION_TARGET) {
        p->rate *= 1 - (p->congestion - CONGESTION_TARGET) * RATE_DECREASE;
        decrease = true;
    }
    if (decrease)
        p->calm_looks = 0;
    else
        p->rate += p->marked ? RATE_INCREASE : ldexp(RATE_INCREASE, (int)p->calm_looks);
    p->calm_looks += !decrease && p->calm_looks < MOST_DOUBLINGS;
    p->rate = fmin(1, fmax(least, p->rate));
    p->arrived = 0;
    p->trimmed = 0;
    p->trimmed_on_the_way = 0;
    p->marked = 0;
    schedule_look(s, host);
}

/* ---- answers ---- */

static uint64_t
bitmap_from(const struct sc__packet_sim *s, const struct sc__uet_flow *u, uint32_t base) {
    uint64_t bitmap = 0;
    for (uint32_t i = 0; i < BITMAP; i++)
        if (base + i >= u->expected && is_received(s, u, base + i))
            bitmap |= (uint64_t)1 << i;
    return bitmap;
}

/* exact: the bitmap begins with this packet, else it ends with it. */
static void answer_ack(struct sc__packet_sim *s,
                       struct sc__packet_node *host,
                       const struct sc__packet_frame *data,
                       bool marked,
                       bool exact) {
    struct sc__uet_flow *u = data->pair->uet;
    struct sc__packet_frame *f = sc__uet_control_new(s, u, SC__PACKET_ACK);
    uint32_t packet = (uint32_t)data->offset;
    uint32_t base = packet;
    if (!exact) {
        base = packet >= BITMAP - 1 ? packet - (BITMAP - 1) : 0;
        base = base > u->expected + 1 ? base : u->expected + 1;
    }
    f->offset = u->expected;
    f->marked = marked;
    f->uet.packet = packet;
    f->uet.path = data->uet.path;
    f->uet.again = data->uet.again;
    f->uet.arrived = u->received_bytes;
    f->uet.base = base;
    f->uet.bitmap = bitmap_from(s, u, base);
    f->path = &u->ack_paths[data->uet.path];
    u->unacknowledged = 0;
    s->counters->acks++;
    sc__uet_send_control(s, host, f);
}

static void answer_nack(struct sc__packet_sim *s,
                        struct sc__packet_node *host,
                        const struct sc__packet_frame *data) {
    struct sc__uet_flow *u = data->pair->uet;
    struct sc__packet_frame *f = sc__uet_control_new(s, u, SC__PACKET_ACK);
    f->nack = true;
    f->marked = data->marked;
    f->uet.packet = (uint32_t)data->offset;
    f->uet.path = data->uet.path;
    f->uet.last_hop = data->uet.last_hop;
    f->path = &u->ack_paths[data->uet.path];
    s->counters->nacks++;
    sc__uet_send_control(s, host, f);
}

/* ---- data ---- */

static void receive_trimmed(struct sc__packet_sim *s,
                            struct sc__packet_node *host,
                            const struct sc__packet_frame *f) {
    struct sc__uet_flow *u = f->pair->uet;
    if (host->pacer) {
        host->pacer->trimmed++;
        host->pacer->trimmed_on_the_way += !f->uet.last_hop;
    }
    if (is_received(s, u, (uint32_t)f->offset)) {
        answer_ack(s, host, f, false, false);
        return;
    }
    sc__uet_want_credit(s, u, f->uet.pull, true);
    answer_nack(s, host, f);
}

/* True where the packet closed a gap and one asked for an ACK then. */
static bool
put_in_place(struct sc__packet_sim *s, struct sc__uet_flow *u, uint32_t packet) {
    if (packet != u->expected) {
        *received_at(s, u, packet) = 1;
        u->waiting++;
        return false;
    }
    u->expected++;
    while (*received_at(s, u, u->expected)) {
        *received_at(s, u, u->expected) = 0;
        u->waiting--;
        u->expected++;
    }
    bool asked = !u->waiting && u->ack_asked;
    if (asked)
        u->ack_asked = false;
    return asked;
}

static void take_data(struct sc__packet_sim *s,
                      struct sc__packet_node *host,
                      struct sc__packet_frame *f) {
    struct sc__packet_pair *p = f->pair;
    struct sc__uet_flow *u = p->uet;
    bool first = !u->received_bytes;
    u->received_bytes += f->size;
    if (p->progress)
        *p->progress += f->payload;
    p->expected += f->payload;
    if (f->uet.ack_now)
        u->ack_asked = true;
    bool now = put_in_place(s, u, (uint32_t)f->offset) || first || f->uet.ack_now;
    if (p->expected >= p->bytes && p->flow->received < 0)
        sc__packet_all_received(s, p);
    if (now || f->marked || u->unacknowledged >= s->config->uet_ack_bytes)
        answer_ack(s, host, f, f->marked, f->marked || f->uet.ack_now);
}

void sc__uet_receive_data(struct sc__packet_sim *s, struct sc__packet_frame *f) {
    struct sc__uet_flow *u = f->pair->uet;
    struct sc__packet_node *host = receiver_of(u);
    if (host->pacer)
        host->pacer->arrived++;
    if (f->uet.trimmed) {
        receive_trimmed(s, host, f);
        sc__packet_frame_free(s, f);
        return;
    }
    if (host->pacer)
        host->pacer->marked += f->marked;
    u->unacknowledged += f->size;
    sc__uet_want_credit(s, u, f->uet.pull, false);
    if (is_received(s, u, (uint32_t)f->offset))
        answer_ack(s, host, f, f->marked, f->marked);
    else
        take_data(s, host, f);
    sc__packet_frame_free(s, f);
}
