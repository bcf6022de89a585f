/* packet_ideal: the least time in which a flow can be over, on an empty network.
 *
 * Packets follow each other through the ports of a path. All but the last are full: number
 * k of them has left port i after one of each port up to i, and k - 1 more of the slowest
 * of those. The last one waits for the one before it, or for itself. Then its ACK comes
 * back. What else happens (windows, credit, losses, others) only takes longer. */
#include "network/packet/packet_uet.h"

#define MOST_TIME 4e15 /* ns: 46 days; the longest ways of such can be added up */

/* A way of a packet: the port of its host, then those of switches. */
struct ideal_way {
    const struct sc__packet_port *first;
    const struct sc__packet_path *path;
};

static const struct sc__packet_port *way_port(const struct ideal_way *w, uint32_t i) {
    return i ? w->path->ports[i - 1] : w->first;
}

/* Packets one after the other. Where a port keeps what whole ns would cut off, it is not
 * cut off each of them. */
static int64_t packets_time(const struct sc__packet_sim *s,
                            const struct sc__packet_port *port,
                            uint64_t size,
                            uint64_t count) {
    int64_t one = sc__packet_time(size, port->rate);
    double all = (double)count * (double)one;
    if (s->fine)
        all = (double)count * (double)size * 8e9 / (double)port->rate * (1 - 1e-12);
    if (all >= MOST_TIME)
        return (int64_t)MOST_TIME;
    return s->fine ? (int64_t)all : (int64_t)count * one;
}

/* The last byte at the receiver; in_order: all packets go this way, and so wait for each
 * other at every port. */
static int64_t arrival(const struct sc__packet_sim *s,
                       const struct ideal_way *w,
                       uint64_t bytes,
                       bool in_order) {
    uint64_t full = (bytes - 1) / s->config->payload;
    uint64_t last_size = bytes - full * s->config->payload + s->header;
    int64_t first = 0; /* the first full packet at the end of a port */
    int64_t slowest = 0;
    int64_t last = 0;
    for (uint32_t i = 0; i <= w->path->count; i++) {
        const struct sc__packet_port *port = way_port(w, i);
        int64_t more = full ? packets_time(s, port, s->full_size, full - 1) : 0;
        first += full ? packets_time(s, port, s->full_size, 1) : 0;
        slowest = more > slowest ? more : slowest;
        if ((i == 0 || in_order) && first + slowest > last)
            last = first + slowest;
        last += packets_time(s, port, last_size, 1) + port->delay;
        first += port->delay;
    }
    return last;
}

static int64_t ack_return(const struct sc__packet_sim *s, const struct ideal_way *w) {
    int64_t time = 0;
    for (uint32_t i = 0; i <= w->path->count; i++) {
        const struct sc__packet_port *port = way_port(w, i);
        time += packets_time(s, port, s->control->ack_size, 1) + port->delay;
    }
    return time;
}

static int64_t there_and_back(const struct sc__packet_sim *s,
                              const struct sc__packet_pair *p,
                              const struct sc__packet_path *data,
                              const struct sc__packet_path *ack,
                              bool in_order) {
    struct ideal_way there = {p->host->ports[0], data};
    struct ideal_way back = {way_port(&there, data->count)->peer, ack};
    int64_t time = arrival(s, &there, p->bytes, in_order);
    return ack ? time + ack_return(s, &back) : time;
}

int64_t sc__packet_ideal(const struct sc__packet_sim *s,
                         const struct sc__packet_pair *p,
                         bool acknowledged) {
    const struct sc__packet_path *back = p->uet ? p->uet->ack_paths : p->ack_spray;
    int64_t least = INT64_MAX;
    if (p->spray_count < 2)
        return there_and_back(s, p, &p->data, acknowledged ? &p->ack : NULL, true);
    for (uint32_t i = 0; i < p->spray_count; i++) {
        int64_t time =
            there_and_back(s, p, &p->spray[i], acknowledged ? &back[i] : NULL, false);
        least = time < least ? time : least;
    }
    return least;
}
