/* packet_watch: what happens at the ports of a simulation over time. Time is cut into
 * spans of equal length; when more of them are needed than there is room for, two
 * become one, so that a long run is seen as sharply as a short one. */
#ifndef SC_NETWORK_PACKET_WATCH_H
#define SC_NETWORK_PACKET_WATCH_H

#include "network/packet/packet.h"

struct sc__packet_port;

/* One span of a port. */
struct sc__packet_span {
    int64_t busy;        /* ns of sending */
    int64_t paused;      /* ns */
    uint64_t peak_queue; /* bytes that waited, at most */
    uint32_t pauses;     /* that began */
    uint32_t marks;
    uint32_t trims;
    uint32_t losses; /* of frames that came in: in the buffer, or on the link */
};

/* A port from the first to the last event. */
struct sc__packet_watched {
    const char *name; /* of the link, or NULL */
    uint32_t from;    /* nodes */
    uint32_t to;
    uint64_t rate;
    uint64_t bytes; /* sent, with headers, ACKs and PFC */
    struct sc__packet_span total;
    struct sc__packet_span *spans; /* NULL: nothing happened */
    int64_t paused_since;          /* -1: it is not */
    int64_t queue_since;           /* when the queue had its last change */
    uint64_t queue;
};

struct sc__packet_watch {
    struct sc__arena *arena;
    struct sc__packet_watched *ports; /* as in the topology: both ways of each link */
    uint32_t port_count;
    uint32_t capacity; /* spans of a port; 0: totals only */
    uint32_t count;    /* spans in use */
    int64_t span;      /* ns */
    int64_t end;       /* ns: the last event */
};

/* capacity: spans wanted at most; an even number, or 0. */
void sc__packet_watch_init(struct sc__packet_watch *w,
                           struct sc__arena *arena,
                           uint32_t ports,
                           uint32_t capacity);
void sc__packet_watch_topology(struct sc__packet_watch *w,
                               struct sc__arena *arena,
                               const struct sc__packet_topology *t,
                               uint32_t capacity);
void sc__packet_watch_sent(
    struct sc__packet_watch *w, uint32_t port, int64_t from, int64_t to, uint32_t bytes);
/* The queue of a port has another length. */
void sc__packet_watch_queue(struct sc__packet_watch *w,
                            uint32_t port,
                            int64_t now,
                            uint64_t bytes);
void sc__packet_watch_paused(struct sc__packet_watch *w,
                             uint32_t port,
                             int64_t now,
                             bool paused);
void sc__packet_watch_marked(struct sc__packet_watch *w, uint32_t port, int64_t now);
void sc__packet_watch_trimmed(struct sc__packet_watch *w, uint32_t port, int64_t now);
void sc__packet_watch_lost(struct sc__packet_watch *w, uint32_t port, int64_t now);
/* After the last event: what still is paused or waits counts up to here. */
void sc__packet_watch_close(struct sc__packet_watch *w, int64_t now);

#endif
