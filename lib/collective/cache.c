/* collective_cache: prices that were asked for before. A step asks for the
 * same few hundred prices millions of times. A price may be in any of a few
 * slots after its own; when all are taken by others it replaces the first. */
#include "hardware/cluster.h"

#include <string.h>

#define SLOTS 4096u
#define PROBES 8u

struct slot {
    uint64_t bytes;
    int64_t time;
    struct sc__shape shape; /* ranks is 0 in an empty slot */
    int coll;
};

struct sc__price_cache {
    struct slot slots[SLOTS + PROBES];
};

void sc__cluster_remember(struct sc__cluster *c, struct sc__arena *arena) {
    c->cache = SC__NEW(arena, struct sc__price_cache);
}

/* What differs from call to call within one job is enough to spread slots. */
static uint32_t slot_of(int coll, const struct sc__shape *s, uint64_t bytes) {
    uint64_t h =
        bytes ^ ((uint64_t)s->ranks << 40 ^ (uint64_t)s->per_node << 20 ^ s->nodes);
    h = (h ^ (uint64_t)(unsigned)coll << 58) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 52) % SLOTS;
}

static bool coll_cache_holds(const struct slot *slot,
                             int coll,
                             const struct sc__shape *s,
                             uint64_t bytes) {
    return slot->bytes == bytes && slot->coll == coll &&
           !memcmp(&slot->shape, s, sizeof *s);
}

int64_t sc__collective_time(const struct sc__cluster *c,
                            int coll,
                            const struct sc__shape *shape,
                            uint64_t bytes) {
    if (!c->cache || !shape->ranks)
        return sc__collective_price(c, coll, shape, bytes).time;
    struct slot *slot = &c->cache->slots[slot_of(coll, shape, bytes)];
    struct slot *end = slot + PROBES;
    struct slot *take = slot;
    for (; slot < end; slot++) {
        if (coll_cache_holds(slot, coll, shape, bytes))
            return slot->time;
        if (slot->shape.ranks)
            continue;
        take = slot;
        break;
    }
    *take = (struct slot){bytes,
                          sc__collective_price(c, coll, shape, bytes).time,
                          *shape,
                          coll};
    return take->time;
}
