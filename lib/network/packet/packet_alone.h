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
    double packets_sent;  /* of all transfers, simulated or not */
    double largest_bound; /* share of its time by which a transfer may be wrong */
};

struct sc__packet_alone {
    struct sc__map results; /* of components, by look and size */
    struct sc__packet_traffic_builder builder;
    const struct sc__packet_engine_settings *settings;
    struct sc__packet_effort *effort;
};

/* use: see struct sc__packet_run. *time: ns. */
sc_status sc__packet_time_alone(struct sc__packet_alone *a,
                                const struct sc__packet_shape *s,
                                uint64_t bytes,
                                double use,
                                int64_t *time);
void sc__packet_effort_add(struct sc__packet_effort *e,
                           const struct sc__packet_counters *c);

#endif
