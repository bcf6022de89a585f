/* packet_alone: how long a transfer takes by itself. Sets of groups that share no link
 * are simulated apart, those that look alike once; of a ring as many phases as tell how
 * it goes on. */
#ifndef SC_NETWORK_PACKET_ALONE_H
#define SC_NETWORK_PACKET_ALONE_H

#include "network/packet/packet_live.h"
#include "network/packet/packet_shape.h"

struct sc__packet_engine_settings {
    struct sc__packet_config config;
    struct sc__packet_random random;
    struct sc__steps steps;
    bool exact; /* nothing is skipped */
};

/* What was simulated, and what was not because it is known to be the same. */
struct sc__packet_effort {
    struct sc__packet_counters counters;
    double largest_bound; /* share of its time by which a transfer may be wrong */
    double doubt;         /* ns by which all of them may be wrong, one after the other */
    double swing;         /* ns, likewise, by which what met others may be for it */
    bool doubted;         /* some may be that are counted at the end */
};

struct sc__packet_alone {
    struct sc__map results; /* of components, by look and size */
    struct sc__packet_traffic_builder builder;
    const struct sc__packet_engine_settings *settings;
    struct sc__packet_effort *effort;
};

/* use: see struct sc__packet_run. *time: ns, and *doubt of them by which it may be wrong.
 */
sc_status sc__packet_time_alone(struct sc__packet_alone *a,
                                const struct sc__packet_shape *s,
                                uint64_t bytes,
                                double use,
                                int64_t *time,
                                int64_t *doubt);
void sc__packet_effort_add(struct sc__packet_effort *e,
                           const struct sc__packet_counters *c);

#endif
