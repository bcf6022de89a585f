/* packet_sim: the state of a packet simulation, for the files of this folder. */
#ifndef SC_NETWORK_PACKET_SIM_H
#define SC_NETWORK_PACKET_SIM_H

#include "network/packet/packet.h"
#include "network/packet/packet_events.h"
#include "network/packet/packet_rng.h"
#include "network/packet/packet_watch.h"

#define SC__PACKET_PRIORITIES 8
#define SC__PACKET_HOPS 5 /* records of HPCC in a packet */

enum sc__packet_frame_type {
    SC__PACKET_DATA,
    SC__PACKET_ACK,
    SC__PACKET_PFC,
    /* Ultra Ethernet: from the receiver, and what a sender asks it for */
    SC__PACKET_CREDIT,
    SC__PACKET_REQUEST
};

/* What Ultra Ethernet has in a frame (packet_uet.h). */
struct sc__packet_uet_part {
    uint64_t arrived; /* ACK: bytes that the receiver has */
    uint64_t bitmap;  /* ACK: packets from `base` on that it has */
    uint32_t base;
    uint32_t packet; /* ACK, NACK: which it answers */
    int64_t pull;    /* data: credit wanted; credit: given */
    uint16_t path;
    bool ack_now;
    bool again; /* it was sent before */
    bool trimmed;
    bool last_hop; /* trimmed there */
};

/* What a switch writes down for HPCC. */
struct sc__packet_record {
    uint32_t time;  /* ns, 24 bits */
    uint32_t bytes; /* sent by the port, 20 bits */
    uint32_t queue; /* at the port, 17 bits */
};

struct sc__packet_frame {
    struct sc__packet_event event; /* its arrival */
    struct sc__packet_port *port;  /* where it arrives; in a queue: where it came in */
    struct sc__packet_pair *pair;
    const struct sc__packet_path *path;
    uint64_t offset; /* of its first byte; ACK: the next byte expected */
    int64_t stamp;   /* when it was built */
    uint32_t size;
    uint32_t payload;
    uint8_t type; /* enum sc__packet_frame_type */
    uint8_t priority;
    uint8_t hop; /* switches passed */
    bool marked; /* ACK: its data packet was */
    bool nack;
    bool pause; /* PFC: or resume */
    union {
        struct sc__packet_record records[SC__PACKET_HOPS];
        uint16_t power; /* HPCC-PINT: of the busiest link, as an exponent */
        struct sc__packet_uet_part uet;
    };
};

struct sc__packet_fifo {
    struct sc__packet_frame *first;
    struct sc__packet_frame *last;
};

/* A generator of losses. */
struct sc__packet_losses {
    double rate;
    struct sc__mrg reference;
    uint64_t seed;
};

struct sc__packet_port {
    struct sc__packet_event done;
    int64_t busy_until;
    uint64_t done_sequence; /* the insertion number of its end of transmission */
    struct sc__packet_node *node;
    struct sc__packet_port *peer;
    struct sc__packet_losses *losses; /* or NULL */
    uint64_t rate;
    int64_t delay;
    uint32_t cut_ps; /* of the times of its frames, where they are fine */
    uint32_t number; /* of what is watched (packet_watch.h); UINT32_MAX: it is not */
    /* ns for the two most common sizes */
    int64_t full_time;
    int64_t ack_time;
    /* bits by priority */
    uint8_t waiting;
    uint8_t paused;
    uint8_t pause_sent;
    uint8_t last_served;
    /* switches only */
    uint32_t shift;
    uint64_t sent_bytes;
    uint64_t queued_bytes;
    /* HPCC-PINT: how busy it is, and its last frame */
    double use;
    int64_t last_time;
    uint32_t last_size;
    uint32_t serving; /* data bytes that it sends, while it is busy (Ultra Ethernet) */
    uint32_t headroom;
    uint32_t mark_from;
    uint32_t mark_all;
    double mark_share;
    uint32_t ingress[SC__PACKET_PRIORITIES];
    uint32_t in_headroom[SC__PACKET_PRIORITIES];
    uint32_t egress[SC__PACKET_PRIORITIES];
    struct sc__packet_fifo queues[SC__PACKET_PRIORITIES];
};

struct sc__packet_timer {
    struct sc__packet_event event;
    struct sc__packet_node *host; /* pacing, credit */
    struct sc__packet_pair *pair; /* DCQCN, timeout */
};

struct sc__packet_node {
    uint32_t id;
    uint32_t process; /* packet_rounds.h */
    bool is_switch;
    struct sc__packet_port **ports; /* by the id of the neighbour */
    uint32_t port_count;
    /* switches: bytes that are not reserved, and how many of them are taken */
    int64_t shared_size;
    int64_t shared;
    /* hosts */
    struct sc__packet_fifo acks;
    struct sc__packet_pair **pairs;
    uint32_t pair_count;
    uint32_t pair_capacity;
    uint32_t last_pair;              /* index of the one served last */
    struct sc__packet_timer *pacing; /* pending, or NULL */
    struct sc__uet_pacer *pacer;     /* of credit, or NULL */
};

struct sc__packet_path {
    struct sc__packet_port **ports; /* by which each switch on the way sends */
    uint32_t count;
};

/* Software that hands a NIC less than it can send: the pairs of a transfer share it. */
struct sc__packet_limiter {
    double free_at;     /* ns */
    int64_t free_ns;    /* whole ones of them */
    double ns_per_byte; /* of payload */
    double behind;      /* ns that it may catch up with: what its buffer holds */
};

/* A queue pair: a flow at its sender and at its receiver. */
struct sc__packet_pair {
    struct sc__packet_event start;
    struct sc__packet_flow *flow;
    struct sc__packet_node *host;
    struct sc__packet_path data;
    struct sc__packet_path ack;
    /* More than one where packets do not all take the same (enum sc__packet_choice): the
     * receiver takes them in any order, and ACKs go back the way of their packet. */
    const struct sc__packet_path *spray;
    const struct sc__packet_path *ack_spray;
    uint32_t spray_count;
    uint32_t spray_next;
    int64_t flowlet_end;                /* the path may change then */
    struct sc__uet_flow *uet;           /* or NULL */
    struct sc__packet_limiter *limiter; /* or NULL */
    int64_t ready;                      /* when software had what it sends */
    uint64_t *progress;                 /* bytes of its transfer received; or NULL */
    uint8_t priority;
    bool complete;
    bool sent;    /* all of it was handed to the NIC */
    bool removed; /* of the list of its host */
    uint32_t out; /* packets whose ACK has not come */
    /* the sender */
    uint64_t bytes;
    int64_t next;           /* byte to send */
    int64_t left_at;        /* when the last one had left */
    int64_t unacknowledged; /* the first one that is */
    uint64_t rate;
    uint64_t max_rate;
    int64_t window; /* at this rate; 0: none */
    int64_t available;
    int64_t full_gap; /* ns from one full packet to the next at this rate */
    uint32_t last_size;
    /* the receiver */
    uint64_t expected;
    int64_t nack_after;
    uint64_t last_nack;
    /* those that wait for it */
    struct sc__packet_pair **waiting;
    uint32_t waiting_count;
    uint32_t waiting_capacity;
    uint32_t waits_left;
    uint32_t launched_by; /* process; packet_rounds.h */
    /* congestion control */
    uint64_t current_rate; /* of HPCC and TIMELY: before what is only a reaction */
    uint64_t target_rate;
    double alpha;
    double use;      /* HPCC: of the busiest link */
    int64_t updated; /* the byte whose ACK ends the round */
    uint32_t stage;
    bool had_notification;
    bool alpha_notified;
    bool decrease_notified;
    struct sc__packet_timer *timers[3];
    struct sc__packet_record records[SC__PACKET_HOPS];
    double rtt_change;
    int64_t last_rtt;
    uint64_t marked_count;
    int64_t batch;
    bool reduced;
    int64_t reduced_until;
    double swift_window; /* packets */
    int64_t last_decrease;
    int64_t counted; /* bytes whose ACKs have raised the window */
};

struct sc__packet_sim;

/* How packets of a pair with several paths take one. */
enum sc__packet_choice {
    SC__PACKET_IN_TURN,
    SC__PACKET_SHORTEST_QUEUE, /* at every switch */
    SC__PACKET_FLOWLETS        /* another one, by chance, after a gap */
};

/* A transport beside RoCE's. */
struct sc__packet_transport_ops {
    /* A pair comes to its host. */
    void (*begin)(struct sc__packet_sim *s, struct sc__packet_pair *p);
    /* It may send a packet now. */
    bool (*ready)(const struct sc__packet_sim *s, const struct sc__packet_pair *p);
    /* Size, path and all that is the transport's of the packet that it sends. */
    void (*fill)(struct sc__packet_sim *s,
                 struct sc__packet_pair *p,
                 struct sc__packet_frame *f);
    void (*receive)(struct sc__packet_sim *s,
                    struct sc__packet_node *host,
                    struct sc__packet_frame *f);
    void (*switch_receive)(struct sc__packet_sim *s,
                           struct sc__packet_port *in,
                           struct sc__packet_frame *f);
    void (*timeout)(struct sc__packet_sim *s, struct sc__packet_pair *p);
    /* A frame of the pair is no more; the pair has left its host. */
    void (*frame_over)(struct sc__packet_sim *s, struct sc__packet_pair *p);
    void (*removed)(struct sc__packet_sim *s, struct sc__packet_pair *p);
    /* Credit of a host is due; its rate is looked at. */
    void (*pull)(struct sc__packet_sim *s, struct sc__packet_node *host);
    void (*look)(struct sc__packet_sim *s, struct sc__packet_node *host);
};

struct sc__packet_control_ops {
    const char *name;
    uint32_t header;   /* bytes of a data packet beside its payload */
    uint32_t ack_size; /* bytes */
    const struct sc__packet_transport_ops *transport; /* NULL: RoCE */
    /* All of these may be NULL. A pair comes to its host. */
    void (*begin)(struct sc__packet_sim *s, struct sc__packet_pair *p);
    /* A frame of any type leaves the queue of a switch. */
    void (*leaves_switch)(struct sc__packet_sim *s,
                          struct sc__packet_port *out,
                          struct sc__packet_frame *f);
    void (*acknowledged)(struct sc__packet_sim *s,
                         struct sc__packet_pair *p,
                         const struct sc__packet_frame *ack);
};

struct sc__packet_sim {
    struct sc_context *ctx;
    struct sc__arena *arena;
    const struct sc__packet_config *config;
    const struct sc__packet_control_ops *control;
    const struct sc__packet_transport_ops *transport; /* NULL: RoCE */
    struct sc__uet *uet;                              /* or NULL */
    struct sc__uet_flow *free_uet_flows;
    struct sc__packet_flows *flows;
    struct sc__packet_counters *counters;
    struct sc__packet_watch *watch; /* or NULL */
    struct sc__packet_queue queue;
    struct sc__packet_rounds *rounds; /* of processes, or NULL (packet_rounds.h) */
    int64_t start_delay;              /* ns from preparing a flow to its begin */
    struct sc__packet_node *nodes;
    struct sc__packet_port *ports;
    struct sc__packet_pair *pairs;
    uint32_t header;    /* of a data packet */
    uint32_t full_size; /* likewise, with its payload */
    uint32_t left;      /* flows */
    int64_t stop;
    uint64_t window;
    int64_t base_rtt;
    int64_t alpha_interval;
    int64_t decrease_interval;
    int64_t rise_interval;
    uint8_t ack_priority; /* whose pauses hold ACKs at a host */
    /* flows with a start of their own, in its order */
    struct sc__packet_pair **order;
    uint32_t order_count;
    uint32_t order_next;
    struct sc__packet_event feeder;
    /* random numbers */
    bool reference;
    uint64_t seed;
    uint64_t side_seed; /* of what the reference draws from the C library, or not at all */
    struct sc__mrg stream; /* the beginning of the next one */
    struct sc__mrg_jump next_stream;
    struct sc__packet_frame *free_frames;
    struct sc__packet_timer *free_timers;
    /* Flows that come and go (packet_traffic.c); NULL where all are known. The first is
     * called instead of starting those that wait, the second when nothing refers to a
     * complete pair any more. */
    void (*delivered)(struct sc__packet_sim *s, struct sc__packet_pair *p);
    void (*launched)(struct sc__packet_sim *s, struct sc__packet_pair *p); /* or NULL */
    /* all of the pair was handed to the NIC; or NULL */
    void (*sent)(struct sc__packet_sim *s, struct sc__packet_pair *p);
    void (*forgotten)(struct sc__packet_sim *s, struct sc__packet_pair *p);
    void *owner;
    enum sc__packet_choice choice;
    int64_t flowlet_gap; /* ns */
    bool fine;           /* transmissions do not lose what is less than a ns */
    bool wakes_all;      /* a NIC never oversleeps a pair that may send (packet_host.c) */
    int64_t peak_shared; /* bytes that a switch had of its shared part, at most */
    uint64_t peak_queue; /* bytes that waited for one of its ports, at most */
};

extern const struct sc__packet_control_ops sc__packet_no_control;
extern const struct sc__packet_control_ops sc__packet_dcqcn;
extern const struct sc__packet_control_ops sc__packet_hpcc;
extern const struct sc__packet_control_ops sc__packet_hpcc_pint;
extern const struct sc__packet_control_ops sc__packet_timely;
extern const struct sc__packet_control_ops sc__packet_dctcp;
extern const struct sc__packet_control_ops sc__packet_swift;
extern const struct sc__packet_control_ops sc__packet_nscc;
extern const struct sc__packet_control_ops sc__packet_rccc;
extern const struct sc__packet_control_ops sc__packet_nscc_rccc;

/* packet_network.c: one way of a port, and what a switch has for it. */
void sc__packet_port_init(const struct sc__packet_sim *s,
                          struct sc__packet_port *port,
                          struct sc__packet_node *node,
                          struct sc__packet_port *peer,
                          uint64_t rate,
                          int64_t delay);
uint32_t sc__packet_headroom(uint64_t rate, int64_t delay);
uint32_t sc__packet_address(uint32_t node);
/* Of source, destination and ports, by which switches choose a path: Murmur3. */
uint32_t sc__packet_ecmp_hash(const uint32_t key[3], uint32_t seed);
uint32_t sc__packet_buffer_shift(uint64_t rate, uint64_t host_rate);

/* packet_network.c: nodes, ports, buffers; base RTT, window and the paths of all pairs. */
sc_status sc__packet_build(struct sc__packet_sim *s, const struct sc__packet_topology *t);

/* packet_sim.c */
void sc__packet_sim_init(struct sc__packet_sim *s,
                         struct sc_context *ctx,
                         struct sc__arena *arena,
                         const struct sc__packet_config *config,
                         const struct sc__packet_random *random,
                         struct sc__packet_counters *counters);
/* Where the reference's random numbers begin, and the losses of links without a rate of
 * their own (or NULL). */
void sc__packet_first_draw(struct sc__packet_sim *s, uint64_t nodes, uint64_t lossy_links);
struct sc__packet_losses *sc__packet_common_losses(struct sc__packet_sim *s);
/* Pairs, flows and paths are there: all events up to the end. */
sc_status sc__packet_simulate_pairs(struct sc__packet_sim *s);
/* The next event happens, if it is not after `until`; false when there is none that can
 * send something. */
bool sc__packet_step(struct sc__packet_sim *s, int64_t until);
/* A frame that came in here was lost: the link that brought it counts it. */
void sc__packet_watch_loss(const struct sc__packet_sim *s,
                           const struct sc__packet_port *in);
/* A switch cut off the payload of a frame that was to leave here. */
void sc__packet_watch_trim(const struct sc__packet_sim *s,
                           const struct sc__packet_port *out);
double sc__packet_draw(struct sc__packet_sim *s);
/* Of a generator of ours, whatever --rng is. */
double sc__packet_side_draw(struct sc__packet_sim *s);
/* The reference makes a generator for every PFC frame and does not use it. */
void sc__packet_skip_draw(struct sc__packet_sim *s);
struct sc__packet_frame *sc__packet_frame_new(struct sc__packet_sim *s);
/* Sends f by an idle port. more: something is left that may be sent after it. */
void sc__packet_transmit(struct sc__packet_sim *s,
                         struct sc__packet_port *port,
                         struct sc__packet_frame *f,
                         bool more);
struct sc__packet_timer *sc__packet_timer_set(struct sc__packet_sim *s,
                                              enum sc__packet_event_kind kind,
                                              int64_t time);
/* Flows that waited for p start. */
void sc__packet_release(struct sc__packet_sim *s, struct sc__packet_pair *p);

/* packet_host.c */
void sc__packet_host_begin(struct sc__packet_sim *s, struct sc__packet_pair *p);
void sc__packet_host_send(struct sc__packet_sim *s, struct sc__packet_node *host);
void sc__packet_host_receive(struct sc__packet_sim *s,
                             struct sc__packet_port *port,
                             struct sc__packet_frame *f);
/* The sender knows that all is there; the receiver has all. */
void sc__packet_complete_pair(struct sc__packet_sim *s, struct sc__packet_pair *p);
void sc__packet_all_received(struct sc__packet_sim *s, struct sc__packet_pair *p);
/* The pair may send sooner than it might: the host wakes up then. */
void sc__packet_wake_sooner(struct sc__packet_sim *s, const struct sc__packet_pair *p);
/* A new rate; with a variable window also a new window. */
void sc__packet_set_rate(const struct sc__packet_sim *s,
                         struct sc__packet_pair *p,
                         uint64_t rate);

/* packet_switch.c */
void sc__packet_switch_send(struct sc__packet_sim *s, struct sc__packet_port *port);
void sc__packet_queue_frame(struct sc__packet_sim *s,
                            struct sc__packet_port *port,
                            struct sc__packet_frame *f,
                            unsigned priority);
void sc__packet_switch_receive(struct sc__packet_sim *s,
                               struct sc__packet_port *port,
                               struct sc__packet_frame *f);

/* packet_uet_switch.c: the thresholds of a port. */
void sc__uet_mark_port(const struct sc__packet_sim *s, struct sc__packet_port *port);
/* packet_uet_sender.c: when base RTT and window are known. */
void sc__uet_setup(struct sc__packet_sim *s);

/* packet_ideal.c: ns that the flow of a pair takes at least, to the last byte at the
 * receiver or to its ACK. */
int64_t sc__packet_ideal(const struct sc__packet_sim *s,
                         const struct sc__packet_pair *p,
                         bool acknowledged);

/* packet_cc_hpcc.c: the busiest link of the path is in use so much: a new rate. full: a
 * round trip is over. */
void sc__packet_hpcc_react(struct sc__packet_sim *s,
                           struct sc__packet_pair *p,
                           double use,
                           bool full);

/* packet_cc_pint.c: bytes that HPCC-PINT has in a packet; 0 for others. */
uint32_t sc__packet_pint_bytes(const struct sc__packet_config *c);

/* packet_cc_dcqcn.c: one of its timers. */
void sc__packet_dcqcn_timer(struct sc__packet_sim *s, struct sc__packet_timer *timer);

static inline void sc__packet_frame_free(struct sc__packet_sim *s,
                                         struct sc__packet_frame *f) {
    f->event.next = (struct sc__packet_event *)s->free_frames;
    s->free_frames = f;
    if (s->transport)
        s->transport->frame_over(s, f->pair);
}

/* ns to send a number of bytes at a rate, cut to a whole number. */
static inline int64_t sc__packet_time(uint64_t bytes, uint64_t rate) {
    return (int64_t)(bytes * 8 * 1000000000u / rate);
}

static inline void sc__packet_put(struct sc__packet_fifo *q, struct sc__packet_frame *f) {
    f->event.next = NULL;
    if (q->first)
        q->last->event.next = &f->event;
    else
        q->first = f;
    q->last = f;
}

static inline struct sc__packet_frame *sc__packet_take(struct sc__packet_fifo *q) {
    struct sc__packet_frame *f = q->first;
    q->first = (struct sc__packet_frame *)(void *)f->event.next;
    return f;
}

static inline bool sc__packet_watched(const struct sc__packet_sim *s,
                                      const struct sc__packet_port *port) {
    return s->watch && port->number != UINT32_MAX;
}

/* A port is busy up to the place (busy_until, done_sequence) in the order of
 * events, whether an event stands there or not. */
static inline bool sc__packet_busy(const struct sc__packet_sim *s,
                                   const struct sc__packet_port *port) {
    if (port->busy_until != s->queue.now)
        return port->busy_until > s->queue.now;
    return port->done_sequence > s->queue.now_sequence;
}

/* Something waits for a busy port: its end of transmission has to happen. */
static inline void sc__packet_need_done(struct sc__packet_sim *s,
                                        struct sc__packet_port *port) {
    if (port->done.queued)
        return;
    port->done.time = port->busy_until;
    port->done.sequence = port->done_sequence;
    port->done.kind = SC__PACKET_DONE;
    sc__packet_insert(&s->queue, &port->done);
}

#endif
