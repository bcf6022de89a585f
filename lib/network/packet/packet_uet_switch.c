/* packet_uet_switch: a port has a queue for data, of one bandwidth-delay product, and one
 * for control, which goes first. A data packet that does not fit loses its payload, or by
 * the toss of a coin the last one that waits does, and its header goes with the control. */
#include "network/packet/packet_uet.h"

#include <math.h>

#define CONTROL_QUEUE 0u
#define CONTROL_FACTOR 2 /* times the queue for data */

static struct sc__packet_frame *take_last(struct sc__packet_fifo *q) {
    struct sc__packet_frame *before = NULL;
    struct sc__packet_frame *f = q->first;
    while (f != q->last) {
        before = f;
        f = (struct sc__packet_frame *)(void *)f->event.next;
    }
    if (before)
        before->event.next = NULL;
    else
        q->first = NULL;
    q->last = before;
    return f;
}

static void trim(struct sc__packet_sim *s,
                 const struct sc__packet_port *out,
                 struct sc__packet_frame *f) {
    f->size = SC__UET_CONTROL_SIZE;
    f->payload = 0;
    f->uet.trimmed = true;
    f->uet.last_hop = !out->peer->node->is_switch;
    s->counters->trims++;
    sc__packet_watch_trim(s, out);
}

static void queue_control(struct sc__packet_sim *s,
                          struct sc__packet_port *out,
                          struct sc__packet_frame *f) {
    int64_t waiting = (int64_t)(out->queued_bytes - out->egress[f->priority]);
    if (waiting + f->size > CONTROL_FACTOR * s->uet->queue_limit) {
        s->counters->buffer_losses++;
        sc__packet_watch_loss(s, f->port);
        sc__packet_frame_free(s, f);
        return;
    }
    sc__packet_queue_frame(s, out, f, CONTROL_QUEUE);
}

static void
trim_last(struct sc__packet_sim *s, struct sc__packet_port *out, unsigned priority) {
    struct sc__packet_frame *last = take_last(&out->queues[priority]);
    out->egress[priority] -= last->size;
    out->queued_bytes -= last->size;
    if (!out->queues[priority].first)
        out->waiting &= (uint8_t) ~(1u << priority);
    trim(s, out, last);
    queue_control(s, out, last);
}

static void queue_data(struct sc__packet_sim *s,
                       struct sc__packet_port *out,
                       struct sc__packet_frame *f) {
    unsigned priority = f->priority;
    int64_t bytes = (int64_t)out->egress[priority] + f->size;
    if (sc__packet_busy(s, out))
        bytes += out->serving;
    bool full = bytes > s->uet->queue_limit && out->queues[priority].first;
    if (full && sc__packet_draw(s) >= 0.5) {
        trim(s, out, f);
        queue_control(s, out, f);
        return;
    }
    if (full)
        trim_last(s, out, priority);
    out->egress[priority] += f->size;
    sc__packet_queue_frame(s, out, f, priority);
}

void sc__uet_switch_receive(struct sc__packet_sim *s,
                            struct sc__packet_port *in,
                            struct sc__packet_frame *f) {
    struct sc__packet_port *out = f->path->ports[f->hop++];
    f->port = in;
    if (f->type == SC__PACKET_DATA && !f->uet.trimmed)
        queue_data(s, out, f);
    else
        queue_control(s, out, f);
    sc__packet_switch_send(s, out);
}

/* Where the receiver controls what is sent, marks on the way to it would say nothing. */
void sc__uet_mark_port(const struct sc__packet_sim *s, struct sc__packet_port *port) {
    double packets = ceil((double)s->window / s->full_size);
    bool to_host = !port->peer->node->is_switch;
    port->mark_share = 1;
    port->mark_from = UINT32_MAX;
    port->mark_all = UINT32_MAX;
    if (to_host && s->uet->rccc)
        return;
    double from = ceil(packets * s->config->uet_mark_from_bdp) * s->full_size;
    double all = ceil(packets * s->config->uet_mark_all_bdp) * s->full_size;
    port->mark_from = (uint32_t)fmin(from, 4e9);
    port->mark_all = (uint32_t)fmin(all, 4e9);
}
