/* flow_share: flows that share links, max-min fair, exactly.
 *
 * A flow crosses links. At level x it moves weight·x bytes a second and uses
 * load·x of each link it crosses. The levels are max-min fair: no flow can
 * rise without another that is not above it falling. Completions and arrivals
 * change the levels of those flows only that a change can reach. */
#ifndef SC_SIMULATE_FLOW_SHARE_H
#define SC_SIMULATE_FLOW_SHARE_H

#include "base/base.h"

struct sc__flow_share;

struct sc__share_hop {
    uint32_t link;
    double load; /* of the link, at level 1; for a plain flow its weight */
};

/* capacity: of each link, bytes per second, positive; kept by reference. */
struct sc__flow_share *
sc__share_new(struct sc__arena *arena, const double *capacity, uint32_t links);

struct sc__share_flow {
    const struct sc__share_hop *hops; /* no link occurs twice */
    uint32_t count;
    double weight; /* bytes per second at level 1 */
    double bytes;
    double cap; /* the level it cannot exceed; 0: none but its links' */
    uint64_t user;
};

/* A new flow at time now, seconds. All calls between two calls of next carry
 * the same time. */
void sc__share_add(struct sc__flow_share *s, const struct sc__share_flow *f, double now);
/* When the next flow ends; INFINITY when none runs. */
double sc__share_next(struct sc__flow_share *s);
/* Takes out one flow that ends at `to` (what next answered). False: no more. */
bool sc__share_finish(struct sc__flow_share *s, double to, uint64_t *user);

uint32_t sc__share_flows(const struct sc__flow_share *s);
/* Bytes left of each running flow, at its user number, after next; those that
 * have ended keep what stands there. */
void sc__share_left(const struct sc__flow_share *s, double now, double *left);
/* Use of a link at this moment, bytes a second. */
double sc__share_use(const struct sc__flow_share *s, uint32_t link);
/* The certificate of max-min sharing: no link above its capacity, and every
 * flow is at its cap or crosses a full link on which no level is above its own. */
bool sc__share_certified(const struct sc__flow_share *s);
/* Solves whose certificate failed; counted in builds with SC_CHECK (make SAN=…). */
uint32_t sc__share_violations(const struct sc__flow_share *s);
/* Solves, and levels computed in them. */
void sc__share_effort(const struct sc__flow_share *s, uint64_t *solves, uint64_t *levels);

#endif
