/* packet_sets: the groups of one transfer, or of several that run at once, fall into sets
 * that share no cable. Sets that look alike (the same messages over links of the same
 * rates and delays) have the same future, as long as all groups of a transfer begin
 * together and switches have room: one of them stands for all. */
#ifndef SC_NETWORK_PACKET_SETS_H
#define SC_NETWORK_PACKET_SETS_H

#include "network/packet/packet_shape.h"

struct sc__packet_set {
    struct sc__packet_component *parts; /* by transfer */
    uint32_t copies;                    /* of this look */
    uint64_t look;
};

struct sc__packet_sets {
    struct sc__packet_set *items; /* one of each look */
    uint32_t count;
};

void sc__packet_sets_find(struct sc__arena *arena,
                          const struct sc__packet_fabric *f,
                          const struct sc__packet_shape *const *shapes,
                          uint32_t count,
                          struct sc__packet_sets *out);

#endif
