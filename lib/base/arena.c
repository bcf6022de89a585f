#include "base/arena.h"

#include "base/platform.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)64 << 10)
#define LARGE ((size_t)16 << 10) /* from here on a piece is a block of its own */
/* From here on a block is mapped: it grows without being copied, and the part
 * not yet used takes no memory. Not under a sanitizer, which watches malloc. */
#if defined(__SANITIZE_ADDRESS__)
#define WATCHED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED
#endif
#endif
#ifdef WATCHED
#define MAPPED SIZE_MAX
#else
#define MAPPED ((size_t)1 << 20)
#endif

struct sc__arena_block {
    struct sc__arena_block *older;
    struct sc__arena_block *newer;
    size_t bytes;
};

#define HEADER                                                                             \
    ((sizeof(struct sc__arena_block) + alignof(max_align_t) - 1) / alignof(max_align_t) *  \
     alignof(max_align_t))

static char *payload(struct sc__arena_block *b) {
    return (char *)b + HEADER;
}

static size_t round_up(size_t n) {
    return (n + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

static void link_block(struct sc__arena *a, struct sc__arena_block *b) {
    b->newer = NULL;
    b->older = a->blocks;
    if (b->older)
        b->older->newer = b;
    a->blocks = b;
}

static void unlink_block(struct sc__arena *a, struct sc__arena_block *b) {
    if (b->older)
        b->older->newer = b->newer;
    if (b->newer)
        b->newer->older = b->older;
    else
        a->blocks = b->older;
}

static _Thread_local size_t budget;
static _Thread_local size_t taken; /* since it was set */

void sc__arena_budget(size_t bytes) {
    budget = bytes;
    taken = 0;
}

size_t sc__arena_budget_set(void) {
    return budget;
}

static void spend(size_t bytes) {
    if (budget && bytes > budget - (taken < budget ? taken : budget))
        sc__memory_exhausted();
    taken += bytes;
}

/* What was taken before the budget was set may be given back too. */
static void earn(size_t bytes) {
    taken -= bytes < taken ? bytes : taken;
}

/* Zeroed; NULL when there is none. */
static struct sc__arena_block *take_memory(size_t bytes) {
    spend(bytes);
    if (bytes < MAPPED)
        return calloc(1, HEADER + bytes);
    return sc__pages_take(HEADER + bytes);
}

static void give_memory(struct sc__arena_block *b) {
    earn(b->bytes);
    if (b->bytes < MAPPED)
        free(b);
    else
        sc__pages_give(b, HEADER + b->bytes);
}

static struct sc__arena_block *new_block(struct sc__arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 4 || (a->limit && a->total + bytes > a->limit))
        sc__memory_exhausted();
    struct sc__arena_block *b = take_memory(bytes);
    if (!b)
        sc__memory_exhausted();
    b->bytes = bytes;
    a->total += bytes;
    link_block(a, b);
    return b;
}

void sc__arena_init(struct sc__arena *a) {
    memset(a, 0, sizeof *a);
}

struct sc__arena_call {
    struct sc__arena_call *older;
    void (*end)(void *what);
    void *what;
};

void sc__arena_at_free(struct sc__arena *a, void (*end)(void *what), void *what) {
    struct sc__arena_call *call = SC__NEW(a, struct sc__arena_call);
    *call = (struct sc__arena_call){.older = a->at_free, .end = end, .what = what};
    a->at_free = call;
}

void sc__arena_free(struct sc__arena *a) {
    for (const struct sc__arena_call *c = a->at_free; c; c = c->older)
        c->end(c->what);
    for (struct sc__arena_block *b = a->blocks, *older; b; b = older) {
        older = b->older;
        give_memory(b);
    }
    sc__arena_init(a);
}

void *sc__alloc(struct sc__arena *a, size_t bytes) {
    if (bytes >= LARGE)
        return payload(new_block(a, bytes));
    size_t need = round_up(bytes ? bytes : 1);
    if ((size_t)(a->end - a->next) < need) {
        struct sc__arena_block *b = new_block(a, CHUNK);
        a->next = payload(b);
        a->end = a->next + CHUNK;
    }
    void *p = a->next;
    a->next += need;
    return p;
}

void *sc__alloc_array(struct sc__arena *a, uint64_t count, size_t size) {
    if (size && count > SIZE_MAX / 4 / size)
        sc__memory_exhausted();
    return sc__alloc(a, (size_t)count * size);
}

static void *remap_block(struct sc__arena *a, struct sc__arena_block *b, size_t new_bytes) {
    spend(new_bytes - b->bytes);
    unlink_block(a, b);
    struct sc__arena_block *moved =
        sc__pages_grow(b, HEADER + b->bytes, HEADER + new_bytes);
    link_block(a, moved ? moved : b);
    if (!moved)
        sc__memory_exhausted();
    a->total += new_bytes - moved->bytes;
    moved->bytes = new_bytes;
    return payload(moved);
}

static void *
realloc_block(struct sc__arena *a, void *p, size_t old_bytes, size_t new_bytes) {
    struct sc__arena_block *b = (struct sc__arena_block *)(void *)((char *)p - HEADER);
    if (new_bytes > SIZE_MAX / 4 ||
        (a->limit && a->total - b->bytes + new_bytes > a->limit))
        sc__memory_exhausted();
    if (b->bytes >= MAPPED)
        return remap_block(a, b, new_bytes);
    struct sc__arena_block *fresh = new_block(a, new_bytes);
    memcpy(payload(fresh), p, old_bytes);
    unlink_block(a, b);
    a->total -= b->bytes;
    give_memory(b);
    return payload(fresh);
}

void *sc__realloc(struct sc__arena *a, void *p, size_t old_bytes, size_t new_bytes) {
    if (new_bytes <= old_bytes)
        return p;
    if (p && old_bytes >= LARGE)
        return realloc_block(a, p, old_bytes, new_bytes);
    void *fresh = sc__alloc(a, new_bytes);
    if (old_bytes)
        memcpy(fresh, p, old_bytes);
    return fresh;
}

void *
sc__grow(struct sc__arena *a, void *p, uint32_t *capacity, uint32_t need, size_t size) {
    size_t old = *capacity;
    size_t fresh = old ? old + old / 2 : 8;
    if (fresh < need)
        fresh = need;
    if (need == 0 || fresh > UINT32_MAX)
        sc__memory_exhausted(); /* 32-bit ids are used up */
    p = sc__realloc(a, p, old * size, fresh * size);
    *capacity = (uint32_t)fresh;
    return p;
}

char *sc__strndup(struct sc__arena *a, const char *s, size_t n) {
    char *copy = sc__alloc(a, n + 1);
    if (n)
        memcpy(copy, s, n);
    return copy;
}

char *sc__strdup(struct sc__arena *a, const char *s) {
    return sc__strndup(a, s, strlen(s));
}
