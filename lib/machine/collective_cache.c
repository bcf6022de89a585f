/* collective_cache: prices that were asked for before. A step asks for the
 * same few hundred prices millions of times. Direct-mapped: a collision costs
 * one more computation, never a wrong price. */
#include "machine/cluster.h"

#include <string.h>

#define SLOTS 4096u

struct key {
    struct sc__shape shape;
    int coll;
    uint64_t bytes;
};

struct slot {
    struct key key;
    int64_t time;
    bool used;
};

struct sc__price_cache {
    struct slot slots[SLOTS];
};

void sc__cluster_remember(struct sc__cluster *c, struct sc__arena *arena) {
    c->cache = SC__NEW(arena, struct sc__price_cache);
}

static uint32_t slot_of(const struct key *k) {
    uint64_t h = k->bytes ^ (uint64_t)k->shape.ranks << 40 ^ (uint64_t)k->shape.nodes << 20;
    h ^= (uint64_t)(unsigned)k->coll << 60 ^ (uint64_t)k->shape.sharing_nic << 12 ^ (uint64_t)k->shape.per_node << 32;
    return (uint32_t)(sc__splitmix64(h) % SLOTS);
}

static bool same(const struct key *a, const struct key *b) {
    return a->bytes == b->bytes && a->coll == b->coll && !memcmp(&a->shape, &b->shape, sizeof a->shape);
}

int64_t sc__collective_time(const struct sc__cluster *c, int coll, const struct sc__shape *shape, uint64_t bytes) {
    if (!c->cache) return sc__collective_price(c, coll, shape, bytes).time;
    struct key key = {*shape, coll, bytes};
    struct slot *slot = &c->cache->slots[slot_of(&key)];
    if (slot->used && same(&slot->key, &key)) return slot->time;
    *slot = (struct slot){key, sc__collective_price(c, coll, shape, bytes).time, true};
    return slot->time;
}
