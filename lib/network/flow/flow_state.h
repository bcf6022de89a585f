/* flow_state: what sharing keeps of flows and links, for its three parts:
 * flow_share.c (flows come and go), flow_fill.c (levels by progressive filling)
 * and flow_local.c (levels where little changes). */
#ifndef SC_FLOW_STATE_H
#define SC_FLOW_STATE_H

#include "network/flow/flow_share.h"
#include "network/flow/min_tree.h"

#define SC__FLOW_SLACK 1e-9 /* shares of a capacity, or level, that count as none */

typedef double sc__flow_pair __attribute__((vector_size(16)));

struct sc__flow_entry { /* a flow in the list of a link */
    uint32_t flow;
    uint32_t hop;
};

struct sc__flow_link {
    struct sc__flow_entry *list;
    uint32_t count;
    uint32_t room;
    uint32_t seen;      /* solve in which it was visited */
    uint32_t changed;   /* solve for which it is already noted as changed */
    uint32_t left_full; /* solve before which a flow has left it while it was full */
    double demand;      /* load · cap, summed over its flows */
    double load;        /* summed over its flows */
};

#define SC__FLOW_NEAR 4u

struct sc__flow_path {
    /* in the hop arrays */
    uint32_t first;
    uint32_t hops;
    double load; /* of every hop; 0: they differ, see hop_load */
    uint32_t
        near[SC__FLOW_NEAR]; /* the links again where they are no more: one place to look */
};

struct sc__flow_body { /* what solving need not look at */
    /* work: bytes/weight */
    double weight;
    double cap;
    double work;
    uint64_t user;
};

struct sc__flow_top;
struct sc__flow_local;

struct sc__flow_share {
    struct sc__arena *arena;
    const double *capacity;
    struct sc__flow_link *links;
    sc__flow_pair *room; /* by link: capacity left, and load that rises */
    uint32_t link_count;

    struct sc__flow_body *flows;
    struct sc__flow_path *path; /* by flow */
    double *level;              /* by flow; 0: no such flow, INFINITY: new */
    uint8_t *rises;             /* by flow */
    uint32_t flow_count;
    uint32_t flow_room;
    uint32_t running;
    double least_load; /* of any hop so far */
    /* of any flow so far */
    double least_cap;
    double most_cap;
    struct sc__tree ends;

    uint32_t *hop_link;
    uint32_t *hop_place;
    double *hop_load;
    uint32_t hop_count;
    uint32_t hop_room;

    uint32_t *changed;
    uint32_t changed_count;
    uint32_t changed_room;
    /* r0 */
    double now;
    double least;
    bool dirty;
    bool together;
    double together_size;
    double together_since;

    uint32_t solve;
    /* links visited */
    uint32_t *queue;
    uint32_t queue_count;
    uint32_t queue_room;
    /* flows */
    uint32_t *rising;
    uint32_t rising_count;
    uint32_t rising_room;
    uint32_t *staying;
    uint32_t staying_room;
    uint32_t *by_cap;
    uint32_t by_cap_room;
    /* rising flows of the link that freezes */
    uint32_t *picked;
    uint32_t picked_room;
    uint32_t left; /* flows that rise still */
    unsigned many; /* solves for which all flows from r0 up are taken */
    struct sc__flow_top *heap;
    uint32_t heap_count;
    uint32_t heap_room;
    struct sc__flow_local *local; /* of flow_local.c */
    uint64_t solves;
    uint64_t levels;
    uint32_t violations;
};

#define SC__FLOW_NO_LINK UINT32_MAX

/* Adds change · load to the room of every link of the flow but one. */
static inline void sc__flow_spread_past(struct sc__flow_share *s,
                                        uint32_t id,
                                        sc__flow_pair change,
                                        uint32_t past) {
    const struct sc__flow_path *p = &s->path[id];
    const uint32_t *link = p->hops <= SC__FLOW_NEAR ? p->near : s->hop_link + p->first;
    const uint32_t *end = link + p->hops;
    sc__flow_pair *room = s->room;
    if (p->load > 0) {
        change *= p->load;
        for (; link < end; link++)
            if (*link != past)
                room[*link] += change;
    } else {
        for (const double *load = s->hop_load + p->first; link < end; link++, load++)
            if (*link != past)
                room[*link] += change * *load;
    }
}

static inline void
sc__flow_spread(struct sc__flow_share *s, uint32_t id, sc__flow_pair change) {
    sc__flow_spread_past(s, id, change, SC__FLOW_NO_LINK);
}

/* New levels after flows have come (`rising`) or gone (`changed` links). */
void sc__flow_solve(struct sc__flow_share *s);
/* The same where the change reaches few flows; false, and nothing is touched,
 * where it reaches many. */
bool sc__flow_solve_locally(struct sc__flow_share *s);

#endif
