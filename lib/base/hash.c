#include "base/hash.h"

#include "base/random.h"

#include <string.h>

uint64_t sc__hash(const void *bytes, size_t n, uint64_t seed) {
    const unsigned char *p = bytes;
    uint64_t h = sc__splitmix64(seed ^ n);
    uint64_t word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        h = sc__splitmix64(h ^ word);
    }
    if (n) {
        word = 0;
        memcpy(&word, p, n);
        h = sc__splitmix64(h ^ word);
    }
    return h;
}

void sc__names_init(struct sc__names *t, struct sc__arena *arena) {
    memset(t, 0, sizeof *t);
    t->arena = arena;
}

/* The slot where s is, or where it would go. */
static uint32_t find_slot(const struct sc__names *t, const char *s, size_t n) {
    uint32_t mask = t->slot_count - 1;
    uint32_t i = (uint32_t)sc__hash(s, n, 0) & mask;
    while (t->slots[i]) {
        const char *have = t->text[t->slots[i] - 1];
        if ((!n || !strncmp(have, s, n)) && have[n] == '\0')
            break; /* s may be NULL where n is 0 */
        i = (i + 1) & mask;
    }
    return i;
}

static void rehash_names(struct sc__names *t) {
    t->slot_count = t->slot_count ? t->slot_count * 2 : 64;
    t->slots = SC__NEW_ARRAY(t->arena, uint32_t, t->slot_count);
    for (uint32_t id = 0; id < t->count; id++)
        t->slots[find_slot(t, t->text[id], strlen(t->text[id]))] = id + 1;
}

uint32_t sc__names_find(const struct sc__names *t, const char *s, size_t n) {
    if (!t->slot_count)
        return SC__NO_NAME;
    uint32_t id = t->slots[find_slot(t, s, n)];
    return id ? id - 1 : SC__NO_NAME;
}

uint32_t sc__names_add(struct sc__names *t, const char *s, size_t n) {
    if (2 * (uint64_t)t->count >= t->slot_count)
        rehash_names(t);
    uint32_t i = find_slot(t, s, n);
    if (t->slots[i])
        return t->slots[i] - 1;
    *SC__PUSH(t->arena, t->text, t->count, t->capacity) = sc__strndup(t->arena, s, n);
    t->slots[i] = t->count;
    return t->count - 1;
}

void sc__map_init(struct sc__map *m, struct sc__arena *arena) {
    memset(m, 0, sizeof *m);
    m->arena = arena;
}

static uint32_t map_slot(const struct sc__map *m, uint64_t key) {
    uint32_t mask = m->slot_count - 1;
    uint32_t i = (uint32_t)sc__splitmix64(key) & mask;
    while (m->slots[i].used && m->slots[i].key != key)
        i = (i + 1) & mask;
    return i;
}

static void rehash_map(struct sc__map *m) {
    struct sc__map_slot *old = m->slots;
    uint32_t n = m->slot_count;
    m->slot_count = n ? n * 2 : 64;
    m->slots = SC__NEW_ARRAY(m->arena, struct sc__map_slot, m->slot_count);
    for (uint32_t i = 0; i < n; i++)
        if (old[i].used)
            m->slots[map_slot(m, old[i].key)] = old[i];
}

uint64_t *sc__map_at(struct sc__map *m, uint64_t key, bool *fresh) {
    if (2 * (uint64_t)m->count >= m->slot_count)
        rehash_map(m);
    struct sc__map_slot *s = &m->slots[map_slot(m, key)];
    if (fresh)
        *fresh = !s->used;
    if (!s->used) {
        *s = (struct sc__map_slot){.key = key, .used = true};
        m->count++;
    }
    return &s->value;
}

uint64_t *sc__map_find(const struct sc__map *m, uint64_t key) {
    if (!m->slot_count)
        return NULL;
    struct sc__map_slot *s = &m->slots[map_slot(m, key)];
    return s->used ? &s->value : NULL;
}

/* Moves later keys of the same run up, so that no gap cuts them off. */
void sc__map_remove(struct sc__map *m, uint64_t key) {
    if (!m->slot_count)
        return;
    uint32_t mask = m->slot_count - 1;
    uint32_t gap = map_slot(m, key);
    if (!m->slots[gap].used)
        return;
    for (uint32_t i = (gap + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
        uint32_t home = (uint32_t)sc__splitmix64(m->slots[i].key) & mask;
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        m->slots[gap] = m->slots[i];
        gap = i;
    }
    m->slots[gap].used = false;
    m->slots[gap].value = 0;
    m->count--;
}
