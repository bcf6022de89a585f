/* shares: the named parts of a total, and what making each of them faster
 * would bring to the whole (Amdahl). */
#ifndef SC_WORKLOAD_SHARES_H
#define SC_WORKLOAD_SHARES_H

#include "base/base.h"

struct sc__share {
    const char *name;
    const char *class; /* "gemm" …, or NULL */
    int64_t time;      /* ps */
};

struct sc__shares {
    struct sc__arena *arena;
    struct sc__names names;
    struct sc__map seen; /* hash of name and class → index in items */
    struct sc__share *items;
    uint32_t count;
    uint32_t capacity;
    int64_t total; /* of the whole, which may be more than the parts */
};

void sc__shares_init(struct sc__shares *s, struct sc__arena *arena, int64_t total);
/* Parts of one name and class are one part. */
void sc__shares_add(struct sc__shares *s,
                    const char *name,
                    const char *class,
                    int64_t time);
void sc__shares_sort(struct sc__shares *s); /* longest first */

/* The longest parts by class, then by name, with what half the time and no
 * time at all would bring. */
void sc__shares_text(const struct sc__shares *s, uint32_t most, struct sc__buffer *out);
void sc__shares_json(const struct sc__shares *s, uint32_t most, struct sc__json *json);

#endif
