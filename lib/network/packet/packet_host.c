/* packet_host: one NIC. It sends ACKs first, then packets of its queue pairs in
 * turn, each no sooner than its rate allows and no further than its window. The
 * receiver takes packets in order only: a gap is answered with a NACK, after
 * which the sender goes back (go-back-N). There is no retransmission timer. */
#include "network/packet/packet_sim.h"

#define NACK_INTERVAL ((int64_t)500000) /* ns */

void sc__packet_set_rate(const struct sc__packet_sim *s,
                         struct sc__packet_pair *p,
                         uint64_t rate) {
    if (rate == p->rate)
        return;
    p->rate = rate;
    p->full_gap = sc__packet_time(s->full_size, rate);
    if (s->config->has_window && s->config->variable_window) {
        p->window = (int64_t)(s->window * rate / p->max_rate);
        if (p->window < 1)
            p->window = 1;
    }
}

void sc__packet_host_begin(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    struct sc__packet_node *host = p->host;
    p->max_rate = host->ports[0]->rate;
    p->current_rate = p->max_rate;
    p->target_rate = p->max_rate;
    p->window = s->config->has_window ? (int64_t)s->window : 0;
    p->available = s->queue.now;
    p->alpha = 1;
    p->use = 1;
    sc__packet_set_rate(s, p, p->max_rate);
    if (s->control->begin)
        s->control->begin(s, p);
    *SC__PUSH(s->arena, host->pairs, host->pair_count, host->pair_capacity) = p;
    if (s->transport)
        s->transport->begin(s, p);
    sc__packet_host_send(s, host);
}

static bool host_paused(const struct sc__packet_node *host, unsigned priority) {
    return host->ports[0]->paused >> priority & 1;
}

static bool window_full(const struct sc__packet_pair *p) {
    return p->window && p->next - p->unacknowledged >= p->window;
}

static bool all_acknowledged(const struct sc__packet_pair *p) {
    return p->unacknowledged >= (int64_t)p->bytes;
}

/* ACKs that went several ways come in any order, and the last may be the first: who owns
 * the pair has it back when all have come. */
static void forget_complete(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    p->removed = true;
    if (s->forgotten && (p->spray_count < 2 || !p->out))
        s->forgotten(s, p);
}

/* Removes the complete pairs from index `from` on; *chosen, an index, moves along. */
static void remove_complete(struct sc__packet_sim *s,
                            struct sc__packet_node *host,
                            uint32_t from,
                            uint32_t *chosen) {
    uint32_t kept = from;
    uint32_t moved = *chosen;
    for (uint32_t i = from; i < host->pair_count; i++) {
        if (i == *chosen)
            moved = kept;
        if (i == from || all_acknowledged(host->pairs[i])) {
            if (s->transport)
                s->transport->removed(s, host->pairs[i]);
            else
                forget_complete(s, host->pairs[i]);
            continue;
        }
        host->pairs[kept++] = host->pairs[i];
    }
    *chosen = moved;
    host->pair_count = kept;
}

/* When the rate of the pair, and what limits its transfer, let it send. */
static int64_t may_send_at(const struct sc__packet_pair *p) {
    if (!p->limiter || p->limiter->free_ns < p->available)
        return p->available;
    return p->limiter->free_ns;
}

static bool has_packet_to_send(const struct sc__packet_sim *s,
                               const struct sc__packet_node *host,
                               const struct sc__packet_pair *p) {
    if (s->transport)
        return s->transport->ready(s, p);
    return !host_paused(host, p->priority) && p->next < (int64_t)p->bytes &&
           !window_full(p);
}

/* The pair to send next, beginning with the one after the last; NULL: none, and *soonest
 * is when the first of those with packets may send. Those complete that are met on the way
 * leave the list, and all behind the first of them with it: complete ones before it stay
 * until a later scan meets them. */
static struct sc__packet_pair *
choose_pair(struct sc__packet_sim *s, struct sc__packet_node *host, int64_t *soonest) {
    struct sc__packet_pair *found = NULL;
    uint32_t count = host->pair_count;
    uint32_t complete = UINT32_MAX;
    uint32_t i = count ? host->last_pair % count : 0;
    *soonest = INT64_MAX;
    for (uint32_t k = 0; k < count; k++) {
        i = i + 1 == count ? 0 : i + 1;
        struct sc__packet_pair *p = host->pairs[i];
        if (has_packet_to_send(s, host, p)) {
            int64_t at = may_send_at(p);
            if (at > s->queue.now) {
                *soonest = at < *soonest ? at : *soonest;
                continue;
            }
            found = p;
            break;
        }
        if (all_acknowledged(p) && i < complete)
            complete = i;
    }
    if (complete != UINT32_MAX)
        remove_complete(s, host, complete, &i);
    if (found)
        host->last_pair = i;
    return found;
}

/* Nobody may send: wake up when the first one may again. In the reference pairs that
 * wait for something else count too, and where one of them could have sent already
 * there is no timer: then only an ACK or a resume goes on. */
static void
set_pacing(struct sc__packet_sim *s, struct sc__packet_node *host, int64_t soonest) {
    int64_t first = soonest;
    if (host->pacing)
        return;
    for (uint32_t i = 0; i < host->pair_count && !s->wakes_all; i++) {
        int64_t at = may_send_at(host->pairs[i]);
        first = at < first ? at : first;
    }
    if (first <= s->queue.now || first == INT64_MAX)
        return;
    host->pacing = sc__packet_timer_set(s, SC__PACKET_PACE, first);
    host->pacing->host = host;
}

void sc__packet_wake_sooner(struct sc__packet_sim *s, const struct sc__packet_pair *p) {
    struct sc__packet_node *host = p->host;
    if (!host->pacing || p->available >= host->pacing->event.time)
        return;
    host->pacing->event.cancelled = true;
    int64_t when = p->available > s->queue.now ? p->available : s->queue.now;
    host->pacing = sc__packet_timer_set(s, SC__PACKET_PACE, when);
    host->pacing->host = host;
}

/* Software goes on at its pace from when it has something on, and fills a buffer while the
 * port is taken by others: the NIC makes up for that. */
static void take_from_limiter(struct sc__packet_limiter *l,
                              const struct sc__packet_pair *p,
                              int64_t now,
                              uint32_t payload) {
    double begun = fmax(l->free_at, (double)p->ready);
    l->free_at = fmax(begun, (double)now - l->behind) + payload * l->ns_per_byte;
    l->free_ns = (int64_t)l->free_at;
}

static const struct sc__packet_path *next_path(struct sc__packet_sim *s,
                                               struct sc__packet_pair *p) {
    if (p->spray_count < 2)
        return &p->data;
    if (s->choice != SC__PACKET_FLOWLETS)
        p->spray_next = p->spray_next + 1 < p->spray_count ? p->spray_next + 1 : 0;
    else if (s->queue.now >= p->flowlet_end)
        p->spray_next = (uint32_t)(sc__packet_side_draw(s) * p->spray_count);
    p->flowlet_end = s->queue.now + s->flowlet_gap;
    return &p->spray[p->spray_next];
}

static void fill_packet(struct sc__packet_sim *s,
                        struct sc__packet_pair *p,
                        struct sc__packet_frame *f) {
    uint64_t left = p->bytes - (uint64_t)p->next;
    f->path = next_path(s, p);
    f->payload = left < s->config->payload ? (uint32_t)left : s->config->payload;
    f->size = f->payload + s->header;
    f->power = 0;
    f->offset = (uint64_t)p->next;
    p->next += f->payload;
    p->out++;
    if (left == f->payload)
        p->left_at = s->queue.now + sc__packet_time(f->size, p->host->ports[0]->rate);
    p->last_size = f->size;
    p->available =
        s->queue.now +
        (f->size == s->full_size ? p->full_gap : sc__packet_time(f->size, p->rate));
}

static void send_data(struct sc__packet_sim *s,
                      struct sc__packet_node *host,
                      struct sc__packet_pair *p) {
    struct sc__packet_frame *f = sc__packet_frame_new(s);
    f->type = SC__PACKET_DATA;
    f->pair = p;
    f->priority = p->priority;
    f->stamp = s->queue.now;
    f->hop = 0;
    f->marked = false;
    if (s->transport)
        s->transport->fill(s, p, f);
    else
        fill_packet(s, p, f);
    if (p->limiter)
        take_from_limiter(p->limiter, p, s->queue.now, f->payload);
    s->counters->data_packets++;
    if (s->sent && !p->sent && p->next >= (int64_t)p->bytes) {
        p->sent = true;
        s->sent(s, p);
    }
    sc__packet_transmit(s, host->ports[0], f, true);
}

void sc__packet_host_send(struct sc__packet_sim *s, struct sc__packet_node *host) {
    struct sc__packet_port *port = host->ports[0];
    if (!host->acks.first && !host->pair_count)
        return;
    if (sc__packet_busy(s, port)) {
        sc__packet_need_done(s, port);
        return;
    }
    if (host->acks.first && !host_paused(host, s->ack_priority)) {
        struct sc__packet_frame *ack = sc__packet_take(&host->acks);
        sc__packet_transmit(s, port, ack, host->acks.first || host->pair_count);
        return;
    }
    int64_t soonest;
    struct sc__packet_pair *p = choose_pair(s, host, &soonest);
    if (p)
        send_data(s, host, p);
    else
        set_pacing(s, host, soonest);
}

/* What is to be done with a packet that arrives. */
enum packet_answer { ANSWER_NOTHING, ANSWER_ACK, ANSWER_NACK };

void sc__packet_all_received(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    p->flow->received = s->queue.now - p->flow->start;
    if (s->config->wait_for_arrival)
        sc__packet_release(s, p);
}

static enum packet_answer take_packet(struct sc__packet_sim *s,
                                      struct sc__packet_pair *p,
                                      const struct sc__packet_frame *f) {
    bool in_order = p->spray_count < 2;
    if (in_order && f->offset < p->expected)
        return ANSWER_NOTHING;
    if (in_order && f->offset > p->expected) {
        if (s->queue.now < p->nack_after && p->last_nack == p->expected)
            return ANSWER_NOTHING;
        p->nack_after = s->queue.now + NACK_INTERVAL;
        p->last_nack = p->expected;
        return ANSWER_NACK;
    }
    p->expected += f->payload;
    if (p->progress)
        *p->progress += f->payload;
    if (p->expected >= p->bytes && p->flow->received < 0)
        sc__packet_all_received(s, p);
    return ANSWER_ACK;
}

static const struct sc__packet_path *way_back(const struct sc__packet_pair *p,
                                              const struct sc__packet_path *taken) {
    return p->spray_count < 2 ? &p->ack : &p->ack_spray[taken - p->spray];
}

/* The data packet itself becomes the answer: its stamp, mark and records go back. */
static void receive_data(struct sc__packet_sim *s,
                         struct sc__packet_node *host,
                         struct sc__packet_frame *f) {
    enum packet_answer answer = take_packet(s, f->pair, f);
    if (answer == ANSWER_NOTHING) {
        sc__packet_frame_free(s, f);
        return;
    }
    f->type = SC__PACKET_ACK;
    f->nack = answer == ANSWER_NACK;
    f->size = s->control->ack_size;
    f->offset = f->pair->expected;
    f->path = way_back(f->pair, f->path);
    f->hop = 0;
    if (f->nack)
        s->counters->nacks++;
    else
        s->counters->acks++;
    sc__packet_put(&host->acks, f);
    sc__packet_host_send(s, host);
}

void sc__packet_complete_pair(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    p->complete = true;
    p->flow->completion = s->queue.now - p->flow->start;
    s->left--;
    if (!s->config->wait_for_arrival)
        sc__packet_release(s, p);
    for (int i = 0; i < 3; i++)
        if (p->timers[i])
            p->timers[i]->event.cancelled = true;
}

/* Where GPUs forward, it may come to another host of the GPU than its pair is on. */
static void receive_ack(struct sc__packet_sim *s, const struct sc__packet_frame *f) {
    struct sc__packet_pair *p = f->pair;
    p->out--;
    if (p->complete && p->removed && p->spray_count > 1)
        forget_complete(s, p);
    if (p->complete)
        return;
    if ((int64_t)f->offset > p->unacknowledged)
        p->unacknowledged = (int64_t)f->offset;
    if (all_acknowledged(p))
        sc__packet_complete_pair(s, p);
    if (f->nack)
        p->next = p->unacknowledged;
    /* a flow that is over keeps the timers that its last ACK sets, as there */
    if (s->control->acknowledged && !(p->complete && s->forgotten))
        s->control->acknowledged(s, p, f);
    sc__packet_host_send(s, p->host);
}

void sc__packet_host_receive(struct sc__packet_sim *s,
                             struct sc__packet_port *port,
                             struct sc__packet_frame *f) {
    if (s->transport) {
        s->transport->receive(s, port->node, f);
        return;
    }
    if (f->type == SC__PACKET_DATA) {
        receive_data(s, port->node, f);
        return;
    }
    receive_ack(s, f);
    sc__packet_frame_free(s, f);
}
