/* arena: memory by lifetime. Small pieces are cut from chunks; large ones are
 * blocks of their own, so that growing an array does not leave its old copies
 * behind. Everything goes with sc__arena_free. Where there is no memory the work
 * that asked for it ends (sc__memory_guard in platform.h). */
#ifndef SC_BASE_ARENA_H
#define SC_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct sc__arena_block;
struct sc__arena_call;

struct sc__arena {
    struct sc__arena_block *blocks; /* all memory, newest first */
    /* the free part of the current chunk */
    char *next;
    char *end;
    size_t total;                   /* bytes taken from the system */
    size_t limit;                   /* refuse to go past this; 0 = no limit */
    struct sc__arena_call *at_free; /* newest first */
};

/* What all arenas of this thread may take from now on, beside what they have; 0: as
 * much as there is. */
void sc__arena_budget(size_t bytes);
size_t sc__arena_budget_set(void);

void sc__arena_init(struct sc__arena *a);
void sc__arena_free(struct sc__arena *a);
/* Calls end(what) first thing when the arena is freed. */
void sc__arena_at_free(struct sc__arena *a, void (*end)(void *what), void *what);

/* Zeroed memory, aligned for any type. Never NULL. */
void *sc__alloc(struct sc__arena *a, size_t bytes);
/* count·size with the overflow checked, that of a 32-bit size_t too. */
void *sc__alloc_array(struct sc__arena *a, uint64_t count, size_t size);
/* Makes p (of old_bytes) at least new_bytes large; the tail is zero. */
void *sc__realloc(struct sc__arena *a, void *p, size_t old_bytes, size_t new_bytes);
char *sc__strdup(struct sc__arena *a, const char *s);
char *sc__strndup(struct sc__arena *a, const char *s, size_t n);

#define SC__NEW(arena, type) ((type *)sc__alloc((arena), sizeof(type)))
#define SC__NEW_ARRAY(arena, type, count)                                                  \
    ((type *)sc__alloc_array((arena), (count), sizeof(type)))

void *
sc__grow(struct sc__arena *a, void *p, uint32_t *capacity, uint32_t need, size_t size);

/* Appends one zeroed element to the array (items, count, capacity, all 32-bit)
 * and gives its address. */
#define SC__PUSH(arena, items, count, capacity)                                            \
    ((void)((count) == (capacity) ? (void)((items) = sc__grow((arena),                     \
                                                              (items),                     \
                                                              &(capacity),                 \
                                                              (count) + 1,                 \
                                                              sizeof *(items)))            \
                                  : (void)0),                                              \
     &(items)[(count)++])

#endif
