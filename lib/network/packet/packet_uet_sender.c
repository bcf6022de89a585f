/* packet_uet_sender: packets lost go first, new ones after them, as far as window (NSCC)
 * and credit (RCCC) allow. There is no pacing: what may be sent goes at line rate. */
#include "network/packet/packet_uet.h"

#include <math.h>

#define TIMEOUT_BASE 15000  /* ns */
#define TIMEOUT_QUEUES 6    /* full queues on the way there and back */
#define CREDIT_PACKETS 4    /* a step of credit */
#define REFERENCE_BDP 150e3 /* bytes: 100 Gb/s and 12 us */
#define LEAST_RING 256u
#define MOST_QUEUE 2e9 /* bytes: ports count in 32 bits */

struct sc__packet_frame *sc__uet_control_new(struct sc__packet_sim *s,
                                             struct sc__uet_flow *u,
                                             enum sc__packet_frame_type type) {
    struct sc__packet_frame *f = sc__packet_frame_new(s);
    u->uses++;
    f->type = (uint8_t)type;
    f->pair = u->pair;
    f->size = SC__UET_CONTROL_SIZE;
    f->payload = 0;
    f->priority = u->pair->priority;
    f->hop = 0;
    f->marked = false;
    f->nack = false;
    f->uet = (struct sc__packet_uet_part){0};
    return f;
}

void sc__uet_send_control(struct sc__packet_sim *s,
                          struct sc__packet_node *host,
                          struct sc__packet_frame *f) {
    sc__packet_put(&host->acks, f);
    sc__packet_host_send(s, host);
}

static struct sc__uet_record *
record_of(const struct sc__packet_sim *s, const struct sc__uet_flow *u, uint32_t packet) {
    return &u->records[packet & (s->uet->ring - 1)];
}

/* ---- beginning ---- */

static uint32_t ring_size(const struct sc__packet_sim *s) {
    double most = 8 * s->config->uet_window_bdp * (double)s->window / s->full_size;
    uint32_t ring = LEAST_RING;
    while (ring < most && ring < 1u << 20)
        ring *= 2;
    return ring;
}

void sc__uet_setup(struct sc__packet_sim *s) {
    const struct sc__packet_config *c = s->config;
    struct sc__uet *uet = s->uet;
    double packets = ceil((double)s->window / s->full_size);
    uet->nscc = c->control != SC__PACKET_RCCC;
    uet->rccc = c->control != SC__PACKET_NSCC;
    uet->ring = ring_size(s);
    uet->queue_limit = (int64_t)fmin(MOST_QUEUE, packets * c->uet_queue_bdp * s->full_size);
    /* the window is what the line rate brings in a round trip */
    double ns_per_byte = (double)s->base_rtt / (double)s->window;
    uet->timeout =
        (int64_t)(TIMEOUT_BASE + TIMEOUT_QUEUES * (double)uet->queue_limit * ns_per_byte);
    uet->target = (int64_t)(c->uet_target * (double)s->base_rtt);
    uet->scale = (double)s->window / REFERENCE_BDP;
    uet->credit_step = CREDIT_PACKETS * (int64_t)c->payload / SC__UET_CREDIT_UNIT;
    if (!uet->credit_step) /* packets of less than 64 B: else nothing would be given */
        uet->credit_step = 1;
}

/* Rings of a flow that is over are empty, and serve the next one. */
struct sc__uet_flow *sc__uet_flow_new(struct sc__packet_sim *s,
                                      struct sc__packet_pair *p,
                                      const struct sc__packet_path *data,
                                      const struct sc__packet_path *ack) {
    struct sc__uet_flow *u = s->free_uet_flows;
    if (u) {
        s->free_uet_flows = u->next_spare;
        *u = (struct sc__uet_flow){.records = u->records,
                                   .received = u->received,
                                   .paths = u->paths};
    } else {
        u = SC__NEW(s->arena, struct sc__uet_flow);
        u->records = SC__NEW_ARRAY(s->arena, struct sc__uet_record, s->uet->ring);
        u->received = SC__NEW_ARRAY(s->arena, uint8_t, s->uet->ring);
    }
    u->pair = p;
    u->ack_paths = ack;
    p->uet = u;
    p->spray = data;
    p->spray_count = s->config->uet_paths;
    p->data = data[0];
    p->ack = ack[0];
    return u;
}

static void forget_flow(struct sc__packet_sim *s, struct sc__uet_flow *u) {
    if (u->uses || !u->removed || !s->forgotten)
        return;
    u->next_spare = s->free_uet_flows;
    s->free_uet_flows = u;
    s->forgotten(s, u->pair);
}

void sc__uet_let_go(struct sc__packet_sim *s, struct sc__uet_flow *u) {
    u->uses--;
    forget_flow(s, u);
}

static void uet_frame_over(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    sc__uet_let_go(s, p->uet);
}

static void uet_removed(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    p->uet->removed = true;
    forget_flow(s, p->uet);
}

static void uet_begin(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    struct sc__uet_flow *u = p->uet;
    uint64_t payload = s->config->payload;
    uint64_t packets = (p->bytes + payload - 1) / payload;
    sc__uet_paths_init(s, &u->paths);
    sc__nscc_begin(s, &u->window);
    u->packets = (uint32_t)packets;
    u->left_bytes = (int64_t)(p->bytes + packets * SC__UET_HEADER);
    u->credit = u->window.most;
    u->speculating = true;
    u->last_request = -1;
}

/* ---- sending ---- */

static int64_t next_size(const struct sc__packet_sim *s, const struct sc__uet_flow *u) {
    if (u->lost_count) {
        uint32_t packet = u->lost_from;
        while (record_of(s, u, packet)->state != SC__UET_LOST)
            packet++;
        return record_of(s, u, packet)->size;
    }
    return u->left_bytes < s->full_size ? u->left_bytes : s->full_size;
}

static bool uet_ready(const struct sc__packet_sim *s, const struct sc__packet_pair *p) {
    const struct sc__uet_flow *u = p->uet;
    bool fresh = u->left_bytes > 0 && u->next - u->first < s->uet->ring;
    if (p->complete || (!u->lost_count && !fresh))
        return false;
    if (s->uet->rccc && u->credit <= 0)
        return false;
    return !s->uet->nscc || u->window.size >= u->flying + next_size(s, u);
}

/* Pairs that would send now if the NIC were idle. */
static int64_t active_pairs(const struct sc__packet_sim *s,
                            const struct sc__packet_node *host) {
    int64_t count = 0;
    for (uint32_t i = 0; i < host->pair_count; i++)
        count += uet_ready(s, host->pairs[i]);
    return count > 1 ? count : 1;
}

/* Up to where the receiver shall give credit. */
static int64_t pull_target(const struct sc__packet_sim *s, const struct sc__uet_flow *u) {
    int64_t most = (int64_t)(s->config->uet_window_bdp * (double)s->window);
    int64_t bytes = u->left_bytes + u->lost_bytes;
    if (!s->uet->rccc)
        return 0;
    if (s->uet->nscc && bytes > u->window.size + s->full_size)
        bytes = u->window.size + s->full_size;
    if (bytes > most)
        bytes = most;
    bytes -= u->credit;
    if (u->speculating && bytes < s->full_size && u->left_bytes > 0)
        bytes = s->full_size;
    if (u->pair->host->pair_count > 1)
        bytes /= active_pairs(s, u->pair->host);
    bytes += u->granted * SC__UET_CREDIT_UNIT;
    return (bytes + SC__UET_CREDIT_UNIT - 1) / SC__UET_CREDIT_UNIT;
}

static uint32_t take_lost(struct sc__packet_sim *s, struct sc__uet_flow *u, int64_t *size) {
    while (record_of(s, u, u->lost_from)->state != SC__UET_LOST)
        u->lost_from++;
    uint32_t packet = u->lost_from++;
    *size = record_of(s, u, packet)->size;
    u->lost_count--;
    u->lost_bytes -= *size;
    if (record_of(s, u, packet)->again < UINT8_MAX)
        record_of(s, u, packet)->again++;
    return packet;
}

static uint32_t
take_fresh(struct sc__packet_sim *s, struct sc__uet_flow *u, int64_t *size) {
    uint32_t packet = u->next++;
    *size = u->left_bytes < s->full_size ? u->left_bytes : s->full_size;
    u->left_bytes -= *size;
    record_of(s, u, packet)->size = (uint16_t)*size;
    record_of(s, u, packet)->again = 0;
    return packet;
}

static void start_timer(struct sc__packet_sim *s, struct sc__uet_flow *u, int64_t sent) {
    if (u->timer)
        return;
    int64_t at = sent + s->uet->timeout;
    if (at <= s->queue.now)
        at = s->queue.now + 1;
    u->timer = sc__packet_timer_set(s, SC__PACKET_RESEND, at);
    u->timer->pair = u->pair;
}

static void
uet_fill(struct sc__packet_sim *s, struct sc__packet_pair *p, struct sc__packet_frame *f) {
    struct sc__uet_flow *u = p->uet;
    int64_t size;
    bool again = u->lost_count > 0;
    u->uses++;
    uint32_t packet = again ? take_lost(s, u, &size) : take_fresh(s, u, &size);
    struct sc__uet_record *r = record_of(s, u, packet);
    if (s->uet->rccc)
        u->credit -= size;
    u->flying += size;
    r->sent = s->queue.now;
    r->state = SC__UET_FLYING;
    f->size = (uint32_t)size;
    f->payload = f->size - SC__UET_HEADER;
    f->offset = packet;
    f->uet = (struct sc__packet_uet_part){.again = again};
    f->uet.pull = pull_target(s, u);
    f->uet.path = (uint16_t)sc__uet_next_path(s, &u->paths);
    f->path = &p->spray[f->uet.path];
    f->uet.ack_now = again || !u->left_bytes || (s->uet->rccc && u->credit <= 0) ||
                     (s->uet->nscc && u->flying + size >= u->window.size);
    p->next += f->payload;
    start_timer(s, u, s->queue.now);
}

/* ---- hearing ---- */

/* What was given on speculation ends with the first word of the receiver. */
static void stop_speculating(struct sc__uet_flow *u) {
    if (!u->speculating)
        return;
    u->speculating = false;
    if (u->credit > 0)
        u->credit = 0;
}

static void acknowledge(struct sc__packet_sim *s, struct sc__uet_flow *u, uint32_t packet) {
    struct sc__uet_record *r = record_of(s, u, packet);
    if (packet < u->first || packet >= u->next || r->state == SC__UET_IDLE)
        return;
    if (r->state == SC__UET_LOST) {
        u->lost_count--;
        u->lost_bytes -= r->size;
        /* what arrived is taken off when the receiver counts it */
        u->flying += r->size;
    }
    r->state = SC__UET_IDLE;
}

/* The queueing delay of the packet that is answered; -1: not known, for instance because
 * it may have been sent more often. */
static int64_t measure_delay(struct sc__packet_sim *s,
                             struct sc__uet_flow *u,
                             const struct sc__packet_frame *f) {
    uint32_t packet = f->uet.packet;
    const struct sc__uet_record *r = record_of(s, u, packet);
    bool known = packet >= u->first && packet < u->next && r->state == SC__UET_FLYING;
    if (!known || r->again != (f->uet.again ? 1 : 0))
        return -1;
    int64_t round_trip = s->queue.now - r->sent;
    sc__nscc_round_trip(s, u, round_trip);
    return round_trip - u->window.base_rtt;
}

static void complete_flow(struct sc__packet_sim *s, struct sc__uet_flow *u) {
    if (u->timer)
        u->timer->event.cancelled = true;
    u->timer = NULL;
    sc__packet_complete_pair(s, u->pair);
    u->pair->unacknowledged = (int64_t)u->pair->bytes;
}

static void receive_uet_ack(struct sc__packet_sim *s,
                            struct sc__uet_flow *u,
                            const struct sc__packet_frame *f) {
    int64_t fresh = 0;
    if (f->uet.arrived > u->arrived) {
        fresh = (int64_t)(f->uet.arrived - u->arrived);
        u->arrived = f->uet.arrived;
    }
    u->flying -= fresh;
    int64_t delay = measure_delay(s, u, f);
    uint32_t expected = (uint32_t)f->offset;
    for (uint32_t i = u->first; i < expected && i < u->next; i++)
        acknowledge(s, u, i);
    if (expected > u->first)
        u->first = expected;
    for (uint32_t i = 0; i < 64; i++)
        if (f->uet.bitmap >> i & 1)
            acknowledge(s, u, f->uet.base + i);
    sc__uet_path_feedback(s,
                          &u->paths,
                          f->uet.path,
                          f->marked ? SC__UET_PATH_MARKED : SC__UET_PATH_GOOD);
    if (s->uet->nscc)
        sc__nscc_acknowledged(s, u, delay, f->marked, fresh);
    stop_speculating(u);
    if (u->first >= u->packets)
        complete_flow(s, u);
}

static void lose(struct sc__uet_flow *u, uint32_t packet, struct sc__uet_record *r) {
    r->state = SC__UET_LOST;
    u->flying -= r->size;
    u->lost_bytes += r->size;
    if (!u->lost_count++ || packet < u->lost_from)
        u->lost_from = packet;
}

static void receive_uet_nack(struct sc__packet_sim *s,
                             struct sc__uet_flow *u,
                             const struct sc__packet_frame *f) {
    uint32_t packet = f->uet.packet;
    struct sc__uet_record *r = record_of(s, u, packet);
    if (packet < u->first || packet >= u->next || r->state != SC__UET_FLYING)
        return;
    sc__nscc_round_trip(s, u, s->queue.now - r->sent);
    if (s->uet->nscc)
        sc__nscc_trimmed(s, u, f->uet.last_hop, r->size);
    lose(u, packet, r);
    stop_speculating(u);
    enum sc__uet_feedback feedback = f->marked ? SC__UET_PATH_MARKED : SC__UET_PATH_GOOD;
    sc__uet_path_feedback(s,
                          &u->paths,
                          f->uet.path,
                          f->uet.last_hop ? feedback : SC__UET_PATH_TRIMMED);
}

static void receive_credit(struct sc__packet_sim *s,
                           struct sc__uet_flow *u,
                           const struct sc__packet_frame *f) {
    int64_t most = (int64_t)(s->config->uet_window_bdp * (double)s->window);
    stop_speculating(u);
    if (f->uet.pull <= u->granted)
        return;
    u->credit += (f->uet.pull - u->granted) * SC__UET_CREDIT_UNIT;
    if (u->credit > most)
        u->credit = most;
    u->granted = f->uet.pull;
}

static void uet_receive(struct sc__packet_sim *s,
                        struct sc__packet_node *here,
                        struct sc__packet_frame *f) {
    (void)here;
    struct sc__uet_flow *u = f->pair->uet;
    if (f->type == SC__PACKET_DATA) {
        sc__uet_receive_data(s, f);
        return;
    }
    if (f->type == SC__PACKET_REQUEST) {
        sc__uet_want_credit(s, u, f->uet.pull, true);
    } else if (!f->pair->complete) {
        if (f->type == SC__PACKET_CREDIT)
            receive_credit(s, u, f);
        else if (f->nack)
            receive_uet_nack(s, u, f);
        else
            receive_uet_ack(s, u, f);
        /* the sender may be another host of the GPU, where GPUs forward */
        sc__packet_host_send(s, f->pair->host);
    }
    sc__packet_frame_free(s, f);
}

/* ---- timeout ---- */

/* The oldest packet on its way; UINT32_MAX: none is. */
static uint32_t oldest_flying(const struct sc__packet_sim *s,
                              const struct sc__uet_flow *u) {
    uint32_t oldest = UINT32_MAX;
    int64_t sent = INT64_MAX;
    for (uint32_t i = u->first; i < u->next; i++) {
        const struct sc__uet_record *r = record_of(s, u, i);
        if (r->state != SC__UET_FLYING || r->sent >= sent)
            continue;
        sent = r->sent;
        oldest = i;
    }
    return oldest;
}

/* A sender without credit says again what it wants, once a round trip. */
static void request_credit(struct sc__packet_sim *s, struct sc__uet_flow *u) {
    if (u->last_request >= 0 && s->queue.now - u->last_request < s->base_rtt)
        return;
    u->last_request = s->queue.now;
    struct sc__packet_frame *f = sc__uet_control_new(s, u, SC__PACKET_REQUEST);
    f->uet.pull = pull_target(s, u);
    f->path = &u->pair->spray[sc__uet_next_path(s, &u->paths)];
    sc__uet_send_control(s, u->pair->host, f);
}

static void uet_timeout(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    struct sc__uet_flow *u = p->uet;
    u->timer = NULL;
    uint32_t oldest = oldest_flying(s, u);
    if (oldest == UINT32_MAX) {
        /* what is left waits for credit, which may have been lost */
        if (s->uet->rccc && (u->lost_count || u->left_bytes > 0)) {
            request_credit(s, u);
            start_timer(s, u, s->queue.now);
        }
        return;
    }
    struct sc__uet_record *r = record_of(s, u, oldest);
    if (r->sent + s->uet->timeout <= s->queue.now) {
        s->counters->timeouts++;
        if (s->uet->nscc)
            sc__nscc_timeout(s, u, r->size);
        lose(u, oldest, r);
        if (s->uet->rccc && u->credit <= 0)
            request_credit(s, u);
        oldest = oldest_flying(s, u);
    }
    start_timer(s, u, oldest == UINT32_MAX ? s->queue.now : record_of(s, u, oldest)->sent);
    sc__packet_host_send(s, p->host);
}

static const struct sc__packet_transport_ops sc__packet_uet = {.begin = uet_begin,
                                                               .ready = uet_ready,
                                                               .fill = uet_fill,
                                                               .receive = uet_receive,
                                                               .switch_receive =
                                                                   sc__uet_switch_receive,
                                                               .timeout = uet_timeout,
                                                               .frame_over = uet_frame_over,
                                                               .removed = uet_removed,
                                                               .pull = sc__uet_pull,
                                                               .look = sc__uet_look};

const struct sc__packet_control_ops sc__packet_nscc = {.name = "NSCC",
                                                       .header = SC__UET_HEADER,
                                                       .ack_size = SC__UET_CONTROL_SIZE,
                                                       .transport = &sc__packet_uet};
const struct sc__packet_control_ops sc__packet_rccc = {.name = "RCCC",
                                                       .header = SC__UET_HEADER,
                                                       .ack_size = SC__UET_CONTROL_SIZE,
                                                       .transport = &sc__packet_uet};
const struct sc__packet_control_ops sc__packet_nscc_rccc = {.name = "NSCC and RCCC",
                                                            .header = SC__UET_HEADER,
                                                            .ack_size =
                                                                SC__UET_CONTROL_SIZE,
                                                            .transport = &sc__packet_uet};
