/* packet_uet: Ultra Ethernet's transport, as its open simulator (uet-htsim) has it:
 * packets take many paths and arrive in any order, switches that are full cut the
 * payload off and pass the header on, and the receiver asks for what it lost.
 *
 *     packet_uet_sender.c     what to send, ACKs, NACKs, credit, timeout
 *     packet_uet_receiver.c   acknowledgements; credit of all senders (RCCC)
 *     packet_uet_switch.c     trimming
 *     packet_uet_paths.c      which path the next packet takes
 *     packet_cc_nscc.c        the window of the sender (NSCC)
 *
 * Sequence numbers count packets. Sender and receiver of a flow keep what they need of the
 * packets between the first that is missing and the last that was sent in rings of equal
 * size. */
#ifndef SC_NETWORK_PACKET_UET_H
#define SC_NETWORK_PACKET_UET_H

#include "network/packet/packet_sim.h"

#define SC__UET_HEADER 64u
#define SC__UET_CONTROL_SIZE                                                               \
    64u /* ACK, NACK, credit, and what is left of a trimmed packet */
#define SC__UET_MOST_PACKETS ((uint64_t)1 << 31)
#define SC__UET_CREDIT_UNIT 256 /* bytes */

enum sc__uet_record_state {
    SC__UET_IDLE, /* not sent, or acknowledged */
    SC__UET_FLYING,
    SC__UET_LOST /* to be sent again */
};

/* A packet that was sent. */
struct sc__uet_record {
    int64_t sent; /* ns */
    uint16_t size;
    uint8_t state; /* enum sc__uet_record_state */
    uint8_t again; /* times it was sent again */
};

enum sc__uet_feedback { SC__UET_PATH_GOOD, SC__UET_PATH_MARKED, SC__UET_PATH_TRIMMED };

/* Paths of a flow, by number. */
struct sc__uet_paths {
    uint8_t *penalty; /* turns that a path is still left out */
    uint32_t next;
    uint32_t mixed; /* the order of a turn: next xor this */
    /* those that were good, to be used again */
    uint16_t *good;
    uint32_t good_first;
    uint32_t good_count;
};

/* NSCC; bytes and ns. */
struct sc__uet_window {
    int64_t size;
    int64_t most;
    int64_t base_rtt;
    double delay;    /* average over the base */
    double increase; /* to come, times the window */
    int64_t calm;    /* bytes acknowledged without delay */
    bool fast;       /* calm for a whole window: rises with every byte */
    int64_t last_decrease;
    int64_t last_adjust;
    int64_t since_adjust; /* bytes acknowledged */
    int64_t achieved;     /* bytes acknowledged since the last look */
    int64_t look_at;      /* when to look at `achieved`; 0: not yet */
    int64_t ignored;      /* bytes acknowledged since the window was set to them */
    int64_t to_ignore;
    bool had_loss;
};

struct sc__uet_flow {
    struct sc__packet_pair *pair;
    uint32_t uses; /* frames on their way, lists of receivers that it is in */
    bool removed;  /* from its host */
    const struct sc__packet_path *ack_paths; /* by number, as the pair's */
    struct sc__uet_paths paths;
    struct sc__uet_record *records; /* ring */
    /* the sender */
    uint32_t packets; /* of the flow */
    uint32_t next;    /* packet to send for the first time */
    uint32_t first;   /* not acknowledged, with all before it */
    uint32_t lost_count;
    uint32_t lost_from; /* none before it is lost */
    int64_t left_bytes; /* not sent once, with headers */
    int64_t lost_bytes;
    int64_t flying;   /* bytes sent and not acknowledged */
    uint64_t arrived; /* bytes that the receiver said it has */
    struct sc__uet_window window;
    struct sc__packet_timer *timer; /* of the oldest packet */
    /* the sender's side of RCCC; units of SC__UET_CREDIT_UNIT bytes */
    int64_t credit;       /* bytes */
    int64_t granted;      /* units, from the beginning on */
    bool speculating;     /* nothing was heard of the receiver yet */
    int64_t last_request; /* ns */
    /* the receiver */
    uint8_t *received; /* ring */
    uint32_t expected;
    uint32_t waiting; /* received after the first that is missing */
    uint64_t received_bytes;
    int64_t unacknowledged; /* bytes since the last ACK */
    bool ack_asked;         /* a packet that is in order again shall be acknowledged */
    /* the receiver's side of RCCC, units */
    int64_t pulled; /* credit given */
    int64_t wanted;
    bool in_pull;  /* in the list of those that want credit */
    bool in_spare; /* in the list of those that get what nobody wants */
    uint32_t pull_path;
    struct sc__uet_flow *next_pull;
    struct sc__uet_flow *next_spare; /* or of those that are free */
};

struct sc__uet_list {
    struct sc__uet_flow *first;
    struct sc__uet_flow *last;
};

/* Credit of a receiving host. */
struct sc__uet_pacer {
    struct sc__uet_list pull;
    struct sc__uet_list spare;
    bool active;
    double rate; /* share of the line rate that is given away */
    /* packets since the last look at an oversubscribed network */
    uint32_t arrived;
    uint32_t trimmed;
    uint32_t trimmed_on_the_way;
    uint32_t marked;
    double congestion; /* average share of packets marked */
    uint32_t calm_looks;
    bool watched;
};

/* What all flows have. */
struct sc__uet {
    bool nscc;
    bool rccc;
    double oversubscription; /* what the hosts of a switch can take, over what can come to
                                it */
    uint32_t ring;           /* a power of two */
    int64_t queue_limit;     /* bytes of a port */
    int64_t timeout;         /* ns */
    int64_t target;          /* queueing delay, ns */
    double scale; /* of this network's bandwidth-delay product, to 100 Gb/s × 12 us */
    int64_t credit_step; /* units */
};

/* packet_uet_sender.c: a flow for a pair, with paths by number there and back. */
struct sc__uet_flow *sc__uet_flow_new(struct sc__packet_sim *s,
                                      struct sc__packet_pair *p,
                                      const struct sc__packet_path *data,
                                      const struct sc__packet_path *ack);
/* Nothing refers to it from here any more. */
void sc__uet_let_go(struct sc__packet_sim *s, struct sc__uet_flow *u);
void sc__uet_send_control(struct sc__packet_sim *s,
                          struct sc__packet_node *host,
                          struct sc__packet_frame *f);
struct sc__packet_frame *sc__uet_control_new(struct sc__packet_sim *s,
                                             struct sc__uet_flow *u,
                                             enum sc__packet_frame_type type);

/* packet_uet_receiver.c */
void sc__uet_receive_data(struct sc__packet_sim *s, struct sc__packet_frame *f);
/* A sender wants credit; anyway: also where it said so before. */
void sc__uet_want_credit(struct sc__packet_sim *s,
                         struct sc__uet_flow *u,
                         int64_t wanted,
                         bool anyway);
/* Credit is given, or the rate of it looked at. */
void sc__uet_pull(struct sc__packet_sim *s, struct sc__packet_node *host);
void sc__uet_look(struct sc__packet_sim *s, struct sc__packet_node *host);

/* packet_uet_switch.c */
void sc__uet_switch_receive(struct sc__packet_sim *s,
                            struct sc__packet_port *in,
                            struct sc__packet_frame *f);

/* packet_uet_paths.c */
void sc__uet_paths_init(struct sc__packet_sim *s, struct sc__uet_paths *p);
uint32_t sc__uet_next_path(struct sc__packet_sim *s, struct sc__uet_paths *p);
void sc__uet_path_feedback(const struct sc__packet_sim *s,
                           struct sc__uet_paths *p,
                           uint32_t path,
                           enum sc__uet_feedback feedback);

/* packet_cc_nscc.c */
void sc__nscc_begin(const struct sc__packet_sim *s, struct sc__uet_window *w);
/* A round trip that may be shorter than any before. */
void sc__nscc_round_trip(const struct sc__packet_sim *s,
                         struct sc__uet_flow *u,
                         int64_t round_trip);
/* delay: of the packet, or -1 where it is not known. */
void sc__nscc_acknowledged(const struct sc__packet_sim *s,
                           struct sc__uet_flow *u,
                           int64_t delay,
                           bool marked,
                           int64_t bytes);
void sc__nscc_trimmed(const struct sc__packet_sim *s,
                      struct sc__uet_flow *u,
                      bool last_hop,
                      int64_t bytes);
void sc__nscc_timeout(const struct sc__packet_sim *s,
                      struct sc__uet_flow *u,
                      int64_t bytes);

#endif
