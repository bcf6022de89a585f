/* min_tree: the least of many numbers that change often. A tree of wide
 * nodes over the numbers themselves: setting one that is not the least of its
 * node is a store, and a whole array of changes costs one pass. */
#ifndef SC_NETWORK_FLOW_MIN_TREE_H
#define SC_NETWORK_FLOW_MIN_TREE_H

#include "base/base.h"

#define SC__TREE_WIDTH 32u
#define SC__TREE_DEPTH 7u

struct sc__tree {
    struct sc__arena *arena;
    double *level[SC__TREE_DEPTH]; /* 0: the numbers; then minima of 32 below */
    uint32_t room[SC__TREE_DEPTH];
    uint32_t depth; /* levels in use; the last holds one number */
};

void sc__tree_init(struct sc__tree *t, struct sc__arena *arena);
/* Room for at least count numbers; new ones are INFINITY. */
void sc__tree_reserve(struct sc__tree *t, uint32_t count);
void sc__tree_set(struct sc__tree *t, uint32_t i, double value);
/* After numbers were written to level[0] directly. */
void sc__tree_refresh(struct sc__tree *t);
uint32_t sc__tree_least(const struct sc__tree *t);
static inline double sc__tree_min(const struct sc__tree *t) {
    return t->depth ? t->level[t->depth - 1][0] : INFINITY;
}

#endif
