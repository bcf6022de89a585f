/* packet_switch: store and forward, a FIFO per port and priority. The buffer is
 * counted by where frames came in (ingress), which decides pauses and losses,
 * and by where they go (egress), which decides marks. A frame is in one of
 *
 *     reserve (4096 B per port and priority) | shared | headroom
 *
 * and headroom is for what is on its way when a pause is sent. */
#include "network/packet/packet_sim.h"

#define RESERVE 4096u
#define RESUME_OFFSET 3072u
#define PFC_SIZE 43u
#define PFC_QUEUE 0u

static uint32_t shared_use(const struct sc__packet_port *in, unsigned priority) {
    return in->ingress[priority] > RESERVE ? in->ingress[priority] - RESERVE : 0;
}

/* What a port may have of the shared part, which shrinks as it fills. */
static int64_t share_limit(const struct sc__packet_port *in) {
    return (in->node->shared_size - in->node->shared) >> in->shift;
}

static void watch_queue(const struct sc__packet_sim *s,
                        const struct sc__packet_port *port) {
    if (sc__packet_watched(s, port))
        sc__packet_watch_queue(s->watch, port->number, s->queue.now, port->queued_bytes);
}

void sc__packet_queue_frame(struct sc__packet_sim *s,
                            struct sc__packet_port *port,
                            struct sc__packet_frame *f,
                            unsigned priority) {
    sc__packet_put(&port->queues[priority], f);
    port->waiting |= (uint8_t)(1u << priority);
    port->queued_bytes += f->size;
    if (port->queued_bytes > s->peak_queue)
        s->peak_queue = port->queued_bytes;
    watch_queue(s, port);
}

static struct sc__packet_frame *unqueue_frame(const struct sc__packet_sim *s,
                                              struct sc__packet_port *port,
                                              unsigned priority) {
    struct sc__packet_frame *f = sc__packet_take(&port->queues[priority]);
    if (!port->queues[priority].first)
        port->waiting &= (uint8_t) ~(1u << priority);
    port->queued_bytes -= f->size;
    watch_queue(s, port);
    return f;
}

static void send_pfc(struct sc__packet_sim *s,
                     struct sc__packet_port *port,
                     unsigned priority,
                     bool pause) {
    struct sc__packet_frame *f = sc__packet_frame_new(s);
    sc__packet_skip_draw(s);
    f->type = SC__PACKET_PFC;
    f->size = PFC_SIZE;
    f->priority = (uint8_t)priority;
    f->pause = pause;
    sc__packet_queue_frame(s, port, f, PFC_QUEUE);
    sc__packet_switch_send(s, port);
    if (pause)
        port->pause_sent |= (uint8_t)(1u << priority);
    else
        port->pause_sent &= (uint8_t) ~(1u << priority);
}

static void admit(struct sc__packet_sim *s,
                  struct sc__packet_port *in,
                  const struct sc__packet_frame *f) {
    unsigned priority = f->priority;
    uint32_t bytes = in->ingress[priority] + f->size;
    if (bytes <= RESERVE) {
        in->ingress[priority] = bytes;
    } else if (bytes - RESERVE > share_limit(in)) {
        in->in_headroom[priority] += f->size;
    } else {
        in->ingress[priority] = bytes;
        in->node->shared += f->size < bytes - RESERVE ? f->size : bytes - RESERVE;
        if (in->node->shared > s->peak_shared)
            s->peak_shared = in->node->shared;
    }
}

/* ns until a port has sent what it has. */
static int64_t port_wait(const struct sc__packet_sim *s,
                         const struct sc__packet_port *port) {
    int64_t busy = port->busy_until > s->queue.now ? port->busy_until - s->queue.now : 0;
    return busy + sc__packet_time(port->queued_bytes, port->rate);
}

/* Adaptive routing: of the paths of the pair that come by this switch the one whose next
 * port is free first; among equals the first from that of the packet on. */
static const struct sc__packet_path *least_wait(const struct sc__packet_sim *s,
                                                const struct sc__packet_node *here,
                                                const struct sc__packet_frame *f) {
    const struct sc__packet_pair *p = f->pair;
    const struct sc__packet_path *best = f->path;
    int64_t least = INT64_MAX;
    if (p->spray_count < 2)
        return best;
    uint32_t first = (uint32_t)(f->path - p->spray);
    for (uint32_t i = 0; i < p->spray_count && least; i++) {
        const struct sc__packet_path *path = &p->spray[(first + i) % p->spray_count];
        if (path->count <= f->hop || path->ports[f->hop]->node != here)
            continue;
        int64_t wait = port_wait(s, path->ports[f->hop]);
        if (wait >= least)
            continue;
        least = wait;
        best = path;
    }
    return best;
}

void sc__packet_switch_receive(struct sc__packet_sim *s,
                               struct sc__packet_port *in,
                               struct sc__packet_frame *f) {
    if (s->transport) {
        s->transport->switch_receive(s, in, f);
        return;
    }
    if (s->choice == SC__PACKET_SHORTEST_QUEUE && f->type == SC__PACKET_DATA)
        f->path = least_wait(s, in->node, f);
    struct sc__packet_port *out = f->path->ports[f->hop++];
    unsigned priority = f->priority;
    if (f->size + in->in_headroom[priority] > in->headroom &&
        f->size + shared_use(in, priority) > share_limit(in)) {
        s->counters->buffer_losses++;
        sc__packet_watch_loss(s, in);
        sc__packet_frame_free(s, f);
        return;
    }
    admit(s, in, f);
    out->egress[priority] += f->size;
    if (!(in->pause_sent >> priority & 1) &&
        (in->in_headroom[priority] || shared_use(in, priority) >= share_limit(in)))
        send_pfc(s, in, priority, true);
    f->port = in;
    sc__packet_queue_frame(s, out, f, priority);
    sc__packet_switch_send(s, out);
}

/* Gives back what admit() took. */
static void leave_buffer(struct sc__packet_port *in, const struct sc__packet_frame *f) {
    unsigned priority = f->priority;
    uint32_t from_headroom = in->in_headroom[priority];
    if (from_headroom > f->size)
        from_headroom = f->size;
    uint32_t from_ingress = f->size - from_headroom;
    uint32_t from_shared = shared_use(in, priority);
    if (from_shared > from_ingress)
        from_shared = from_ingress;
    in->in_headroom[priority] -= from_headroom;
    in->ingress[priority] -= from_ingress;
    in->node->shared -= from_shared;
}

/* ECN, by what is left in the queue. ACKs are drawn for too. */
static void mark(struct sc__packet_sim *s,
                 const struct sc__packet_port *out,
                 struct sc__packet_frame *f) {
    uint32_t queue = out->egress[f->priority];
    if (queue <= out->mark_from && queue <= out->mark_all)
        return;
    if (queue <= out->mark_all) {
        double share = out->mark_share * (double)(queue - out->mark_from) /
                       (double)(out->mark_all - out->mark_from);
        if (sc__packet_draw(s) >= share)
            return;
    }
    if (f->type != SC__PACKET_DATA)
        return;
    f->marked = true;
    s->counters->marks++;
    if (sc__packet_watched(s, out))
        sc__packet_watch_marked(s->watch, out->number, s->queue.now);
}

static void
resume_if_low(struct sc__packet_sim *s, struct sc__packet_port *in, unsigned priority) {
    if (!(in->pause_sent >> priority & 1) || in->in_headroom[priority])
        return;
    uint32_t use = shared_use(in, priority);
    if (use == 0 || use + RESUME_OFFSET <= share_limit(in))
        send_pfc(s, in, priority, false);
}

/* The queue to serve: PFC first, the others round robin from the one after the
 * last. False where all are empty or paused. */
static bool choose_queue(const struct sc__packet_port *port, unsigned *priority) {
    unsigned ready = port->waiting & ~(unsigned)port->paused;
    if (port->waiting & 1u << PFC_QUEUE) {
        *priority = PFC_QUEUE;
        return true;
    }
    if (!ready)
        return false;
    unsigned after = ready >> (port->last_served + 1u) << (port->last_served + 1u);
    *priority = (unsigned)__builtin_ctz(after ? after : ready);
    return true;
}

void sc__packet_switch_send(struct sc__packet_sim *s, struct sc__packet_port *port) {
    unsigned priority;
    if (!port->waiting)
        return;
    if (sc__packet_busy(s, port)) {
        sc__packet_need_done(s, port);
        return;
    }
    if (!choose_queue(port, &priority))
        return;
    struct sc__packet_frame *f = unqueue_frame(s, port, priority);
    if (priority != PFC_QUEUE) {
        struct sc__packet_port *in = f->port;
        port->last_served = (uint8_t)priority;
        if (!s->transport)
            leave_buffer(in, f);
        port->egress[priority] -= f->size;
        mark(s, port, f);
        resume_if_low(s, in, priority);
    }
    if (s->control->leaves_switch)
        s->control->leaves_switch(s, port, f);
    port->serving = priority == PFC_QUEUE ? 0 : f->size;
    port->sent_bytes += f->size;
    sc__packet_transmit(s, port, f, port->waiting != 0);
}
