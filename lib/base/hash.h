/* hash: bytes to 64 bits, and two tables: names to ids, and keys to values. */
#ifndef SC_BASE_HASH_H
#define SC_BASE_HASH_H

#include "base/arena.h"

#include <stdbool.h>

uint64_t sc__hash(const void *bytes, size_t n, uint64_t seed);

/* Strings to dense ids 0, 1, 2 … in order of first sight. */
struct sc__names {
    struct sc__arena *arena;
    const char **text; /* by id */
    uint32_t count;
    uint32_t capacity;
    uint32_t *slots; /* id + 1, or 0 */
    uint32_t slot_count;
};

#define SC__NO_NAME UINT32_MAX

void sc__names_init(struct sc__names *t, struct sc__arena *arena);
uint32_t sc__names_add(struct sc__names *t, const char *s, size_t n);
/* SC__NO_NAME when absent. */
uint32_t sc__names_find(const struct sc__names *t, const char *s, size_t n);

/* 64-bit keys to 64-bit values. */
struct sc__map {
    struct sc__arena *arena;
    struct sc__map_slot {
        uint64_t key;
        uint64_t value;
        bool used;
    } * slots;
    uint32_t count;
    uint32_t slot_count;
};

void sc__map_init(struct sc__map *m, struct sc__arena *arena);
/* The value of key, made (as 0) when absent; *fresh says which. The address
 * holds until the next insertion. */
uint64_t *sc__map_at(struct sc__map *m, uint64_t key, bool *fresh);
void sc__map_remove(struct sc__map *m, uint64_t key);
/* NULL when absent. */
uint64_t *sc__map_find(const struct sc__map *m, uint64_t key);

#endif
