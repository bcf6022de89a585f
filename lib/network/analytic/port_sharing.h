/* port_sharing: transfers that claim shares of ports. Where the claims on a port
 * add up to more than the port, all transfers on it slow down alike: a transfer
 * runs at 1 / L of its speed alone, where L is the largest load of its ports (or
 * 1). Exact, and the cost of a start or an end does not grow with the number of
 * transfers but for a logarithm.
 *
 * Transfers with the same claims form a bundle: they run at one speed, so one
 * clock of work done serves all of them and they end in the order of the work
 * they brought. The busiest port of a bundle is its bottleneck. All bundles of a
 * bottleneck run at one speed too, so the port has the clock, and a bundle's
 * clock is that of its bottleneck and a constant. */
#ifndef SC_ANALYTIC_PORT_SHARING_H
#define SC_ANALYTIC_PORT_SHARING_H

#include "base/base.h"
#include "network/engine.h"

struct sc__port_sharing;

struct sc__port_claim {
    uint64_t port; /* any number that names it */
    double share;  /* of the port, when alone; above 0 */
};

struct sc__port_sharing *sc__port_sharing_new(struct sc__arena *arena);
/* The bundle of these claims, no port twice. */
uint32_t sc__port_bundle(struct sc__port_sharing *s,
                         const struct sc__port_claim *claims,
                         uint32_t count);
/* A transfer begins at now that would take `work` ps alone. */
void sc__port_begin(
    struct sc__port_sharing *s, uint32_t bundle, int64_t work, uint32_t user, int64_t now);
/* When the next transfer ends; INT64_MAX when none runs. */
int64_t sc__port_next(struct sc__port_sharing *s);
/* Takes out one transfer that has ended by `to` (≤ next, or what next answered);
 * false when there is none. */
bool sc__port_end(struct sc__port_sharing *s, int64_t to, uint32_t *user);
/* All that decides its future, relative to now. Ports that nobody uses have
 * nothing to say. number: what stands for a user there. */
typedef uint64_t
sc__port_number(const struct sc__net_state *out, const void *owner, uint32_t user);
void sc__port_state(struct sc__port_sharing *s,
                    int64_t now,
                    struct sc__net_state *out,
                    sc__port_number *number,
                    const void *owner);
/* by ps pass, and nothing else happens. */
void sc__port_shift(struct sc__port_sharing *s, int64_t by);
/* Bundles looked at so far: what starts and ends cost beside their heaps. */
uint64_t sc__port_effort(const struct sc__port_sharing *s);

#endif
