/* schedule: what a collective algorithm sends, to whom and after what. The one
 * description of every algorithm; costs, flows, messages and packets are made
 * from it.
 *
 * Members 0 … n-1 of a group lie on nodes in that order. The buffer is cut into
 * `channels` slices, which are independent of each other, and a slice into
 * `parts`. A schedule is a list of phases. In a phase a member sends at most one
 * transfer on a channel and receives at most one, so a transfer is named by
 * (phase, channel, index):
 *
 *     phase 0   0 ─part 0→ 1   1 ─part 1→ 2   2 ─part 2→ 0     ring all-gather
 *     phase 1   0 ─part 2→ 1   1 ─part 0→ 2   2 ─part 1→ 0     of three members
 *
 * A phase is no barrier: a transfer may start when the transfers it needs have
 * arrived (sc__coll_schedule_needs). Nothing is stored: every transfer is computed when
 * it is asked for, in O(log n), so that 65,536 ranks take as much memory as two.
 * Sums that have a closed form are in sc__coll_counts. */
#ifndef SC_COLLECTIVE_SCHEDULE_H
#define SC_COLLECTIVE_SCHEDULE_H

#include "base/base.h"

/* Families of algorithms, each in a file of its own. */
enum sc__coll_family {
    SC__FAMILY_RING,     /* all-reduce, all-gather, reduce-scatter: from neighbour to
                            neighbour, all round */
    SC__FAMILY_CHAIN,    /* broadcast, reduce: a ring cut open at the root */
    SC__FAMILY_TREE,     /* all-reduce: a chain in each node, two binary trees of nodes */
    SC__FAMILY_NVLS,     /* all-reduce: the switch of a node reduces and multicasts; trees
                            of nodes as above */
    SC__FAMILY_COLLNET,  /* all-reduce: the switches between the nodes reduce */
    SC__FAMILY_HALVING,  /* recursive halving and doubling: distances 1, 2, 4 … */
    SC__FAMILY_PAT,      /* the same, the farthest first */
    SC__FAMILY_PAIRS,    /* every member to every other: all-to-all, and the direct forms
                            of all-reduce, all-gather and reduce-scatter */
    SC__FAMILY_ROOT,     /* gather, scatter: the root and every other */
    SC__FAMILY_SHIFT,    /* every member to the next */
    SC__FAMILY_BINOMIAL, /* broadcast, reduce */
    SC__FAMILY_DISSEMINATION, /* barrier */
    SC__FAMILY_TORUS,         /* dimension by dimension */
    SC__FAMILIES
};

/* In what order a channel visits the members of a node. */
enum sc__coll_order {
    SC__ORDER_RAILS,  /* the channel comes in by one rail and goes on by the same rail of
                         the next node, as NCCL's rings do */
    SC__ORDER_ROTATED /* channel c begins at member c of every node */
};

/* A GPU that passes a transfer between nodes on, so that it stays on its rail. */
enum sc__coll_relay {
    SC__RELAY_NONE,
    SC__RELAY_AT_SOURCE,     /* PXN: the GPU beside the source that has the destination's
                                place in its node */
    SC__RELAY_AT_DESTINATION /* two-level: beside the destination, the source's place */
};

/* How a group lies on nodes. Node k has the members node_first[k] … node_first[k + 1]-1,
 * or, where node_first is NULL, per_node of them (the last one what is left). */
struct sc__coll_group {
    uint32_t ranks;
    uint32_t nodes;
    uint32_t per_node; /* members on the fullest node */
    uint32_t least;    /* … on the emptiest */
    const uint32_t *node_first;
    /* Where members share NICs, some more than others: places among the members of a node,
     * `doors` for each, on NICs of their own. The channels of rings, chains and trees come
     * and go by these. NULL: by all members. */
    const uint32_t *door;
    uint32_t doors;
};

#define SC__TORUS_DIMS 6u

/* TORUS: the group is a box; member m has coordinate m % size[0], m / size[0] % size[1] …
 */
struct sc__coll_box {
    uint32_t dims;
    uint32_t size[SC__TORUS_DIMS];        /* ≥ 2 */
    bool both_directions[SC__TORUS_DIMS]; /* half goes round backwards */
    bool all_to_all[SC__TORUS_DIMS];      /* a full mesh or a switch: direct, not round */
};

struct sc__coll_schedule {
    enum sc__coll_family family;
    int coll; /* enum sc__coll of workload/workload.h */
    struct sc__coll_group group;
    enum sc__coll_order order; /* RING, CHAIN */
    enum sc__coll_relay relay; /* PAIRS */
    uint32_t root;             /* member; CHAIN, ROOT, BINOMIAL */
    uint32_t channels;         /* 0: as many as the family has */
    bool switch_reduces;       /* COLLNET: the nodes' switches do, too */
    struct sc__coll_box box;   /* TORUS */
    /* set by sc__coll_schedule_init */
    uint32_t phases;
    uint32_t rounds; /* 2 where the second half of the phases goes over the same connections
                        as the first and moves as much over each */
    uint64_t parts;  /* of a channel's slice */
    uint32_t levels; /* of binary trees and halvings: ⌈log2⌉ */
    uint32_t siblings; /* channels side by side: of a head, one for each tree (TREE, NVLS);
                          of a slice, one for each direction (TORUS); else 1 */
};

#define SC__NO_MEMBER UINT32_MAX

struct sc__coll_transfer {
    uint32_t source;
    uint32_t sources; /* > 1: so many members from source on; the switch of their node
                         reduces what they send, so that the destination gets one copy */
    uint32_t destination;
    uint32_t destinations; /* > 1: the switch of the node multicasts it to so many */
    /* parts first, first + stride … (mod parts), `count` of them; … */
    uint64_t first;
    uint64_t stride;
    uint64_t count;
    /* … to the receiver's own copy it is added, or it takes its place. */
    bool reduces;
    bool in_fabric; /* the fabric's switches reduce all such transfers of the phase and
                       channel, and every destination gets the result */
    enum sc__coll_relay relay;
};

struct sc__coll_transfer_id {
    uint32_t phase;
    uint32_t channel;
    uint32_t index;
};

/* How a library of messages (MPI) runs a collective: rings, pairs, binomial trees, the
 * dissemination barrier. */
enum sc__coll_family sc__coll_message_family(int coll);

/* The fields above the line are given; sets those below it. */
void sc__coll_schedule_init(struct sc__coll_schedule *s);

/* Indices of a phase are 0 … so many - 1, on every channel. */
uint32_t sc__coll_schedule_slots(const struct sc__coll_schedule *s, uint32_t phase);
/* False where the slot is empty. */
bool sc__coll_schedule_transfer(const struct sc__coll_schedule *s,
                                struct sc__coll_transfer_id id,
                                struct sc__coll_transfer *out);
/* The index of what the member sends or receives in a phase on a channel;
 * SC__NO_MEMBER where it does not. A transfer of several sources has none for
 * any of them, one of several destinations none for any of those. */
uint32_t sc__coll_schedule_sent_by(const struct sc__coll_schedule *s,
                                   uint32_t phase,
                                   uint32_t channel,
                                   uint32_t member);
uint32_t sc__coll_schedule_received_by(const struct sc__coll_schedule *s,
                                       uint32_t phase,
                                       uint32_t channel,
                                       uint32_t member);
/* For how many phases from this one on the connections (not the parts) of a channel stay
 * the same, within a pass. */
uint32_t sc__coll_schedule_repeats(const struct sc__coll_schedule *s,
                                   uint32_t channel,
                                   uint32_t phase);

/* Phases in which what the transfer sends may have arrived at its source. */
struct sc__coll_needs {
    uint32_t first;
    uint32_t end;
};
struct sc__coll_needs sc__coll_schedule_needs(const struct sc__coll_schedule *s,
                                              struct sc__coll_transfer_id id);
/* Whether the transfer needs what its source received in `phase`, one of the
 * phases above; *on: that arrival. */
bool sc__coll_schedule_needs_arrival(const struct sc__coll_schedule *s,
                                     struct sc__coll_transfer_id id,
                                     uint32_t phase,
                                     struct sc__coll_transfer_id *on);

/* Whether an arrival brings parts that a transfer of the same member and channel sends on:
 * what the above asks of transfers that are at hand. */
bool sc__coll_transfer_brings(const struct sc__coll_schedule *s,
                              const struct sc__coll_transfer *arrival,
                              const struct sc__coll_transfer *sent);

/* Share of the buffer that a transfer carries. */
double sc__coll_schedule_share(const struct sc__coll_schedule *s,
                               const struct sc__coll_transfer *t);
/* Bytes of it, of a buffer of so many: the parts differ by one byte at most and
 * add up. One channel. */
uint64_t sc__coll_schedule_bytes(const struct sc__coll_schedule *s,
                                 const struct sc__coll_transfer *t,
                                 uint64_t bytes);

/* How n GPUs lie on nodes of node_gpus; members that follow each other on a node count
 * as one node's. first: room for n + 1. */
struct sc__coll_group
sc__coll_group_of(const uint32_t *gpu, uint32_t n, uint32_t node_gpus, uint32_t *first);
/* nic: of its node, by member. Sets the doors of the group where they are needed; room for
 * as many as there are members. */
void sc__coll_group_doors(struct sc__coll_group *g, const uint32_t *nic, uint32_t *door);
/* Channels that come and go by members, or NICs, of their own, on the node that has fewest;
 * and the place among the members of a node that channel c comes or goes by. */
uint32_t sc__coll_group_channels(const struct sc__coll_group *g);
uint32_t sc__coll_door(const struct sc__coll_group *g, uint32_t node, uint32_t c);
/* The member that runs on a GPU; the last where none does. */
uint32_t sc__coll_member_of(const uint32_t *gpu, uint32_t n, uint32_t wanted);
uint32_t sc__coll_node_of(const struct sc__coll_group *g, uint32_t member);
uint32_t sc__coll_node_first(const struct sc__coll_group *g, uint32_t node);
uint32_t sc__coll_node_size(const struct sc__coll_group *g, uint32_t node);

/* --- closed forms -------------------------------------------------------- */

/* What the schedule of a group of this shape adds up to, where every node has per_node
 * members; 0 where it has no closed form. Numbers are doubles because they go into
 * costs. */
struct sc__coll_counts {
    double passes; /* times the buffer goes round, or up and down */
    /* transfers one after the other on the longest path, and how many of them are inside a
     * node and between nodes (rings: those of the part that leaves nodes least) */
    double steps;
    double inside;
    double outside;
    double messages; /* transfers of the member that sends or receives most, a channel */
    double parts;    /* in these the rest is counted: the buffer has so many */
    double sent;     /* by the member that sends most, of all channels */
    double port;     /* by the member that sends most inside its node */
    double nic;      /* by the member that sends most to other nodes */
    double node;     /* by the node that sends most to others */
};

struct sc__coll_counts sc__coll_counts(enum sc__coll_family family,
                                       int coll,
                                       double ranks,
                                       double nodes,
                                       double per_node,
                                       double least);
/* Parts that the buffer is cut into, as above. */
double sc__coll_parts(enum sc__coll_family family, double ranks);
/* Parts that leave k neighbouring members on whole nodes; edges: of both trees between
 * them and the rest (double_tree.h). */
double sc__coll_parts_leaving(
    enum sc__coll_family family, int coll, double ranks, double k, double edges);

/* TORUS: bytes, of so many, that a member sends through the dimension that a slice goes
 * through after `order` others, in one pass. */
double sc__coll_torus_sent(const struct sc__coll_box *b,
                           uint32_t slice,
                           uint32_t order,
                           double bytes);

/* ⌈log2 n⌉. */
uint32_t sc__coll_levels(uint32_t n);

#endif
