#include "network/flow/min_tree.h"

void sc__tree_init(struct sc__tree *t, struct sc__arena *arena) {
    *t = (struct sc__tree){.arena = arena};
}

static inline double lesser(double a, double b) {
    return a < b ? a : b;
}

/* Four chains at once. */
static double node_min(const double *v) {
    double a = v[0];
    double b = v[1];
    double c = v[2];
    double d = v[3];
    for (unsigned i = 4; i < SC__TREE_WIDTH; i += 4) {
        a = lesser(v[i], a);
        b = lesser(v[i + 1], b);
        c = lesser(v[i + 2], c);
        d = lesser(v[i + 3], d);
    }
    return lesser(lesser(a, b), lesser(c, d));
}

static void grow_level(struct sc__tree *t, uint32_t d, uint32_t need) {
    uint32_t room = t->room[d] ? t->room[d] : SC__TREE_WIDTH;
    while (room < need)
        room *= 2;
    if (room == t->room[d])
        return;
    t->level[d] = sc__realloc(t->arena,
                              t->level[d],
                              t->room[d] * sizeof(double),
                              room * sizeof(double));
    for (uint32_t i = t->room[d]; i < room; i++)
        t->level[d][i] = INFINITY;
    t->room[d] = room;
}

void sc__tree_reserve(struct sc__tree *t, uint32_t count) {
    if (t->depth && count <= t->room[0])
        return;
    uint32_t need = count;
    uint32_t d = 0;
    do {
        grow_level(t, d, need);
        need = t->room[d] / SC__TREE_WIDTH;
        d++;
    } while (need > 1);
    grow_level(t, d, 1);
    t->depth = d + 1;
    sc__tree_refresh(t);
}

void sc__tree_refresh(struct sc__tree *t) {
    for (uint32_t d = 1; d < t->depth; d++)
        for (uint32_t i = 0; i < t->room[d - 1] / SC__TREE_WIDTH; i++)
            t->level[d][i] = node_min(t->level[d - 1] + (size_t)i * SC__TREE_WIDTH);
}

void sc__tree_set(struct sc__tree *t, uint32_t i, double value) {
    double old = t->level[0][i];
    t->level[0][i] = value;
    for (uint32_t d = 1; d < t->depth; d++) {
        i /= SC__TREE_WIDTH;
        double *node = &t->level[d][i];
        double above = *node;
        if (value <= above)
            *node = value;
        else if (old == above)
            *node = value = node_min(t->level[d - 1] + (size_t)i * SC__TREE_WIDTH);
        if (*node == above)
            return;
        old = above;
    }
}

uint32_t sc__tree_least(const struct sc__tree *t) {
    uint32_t i = 0;
    for (uint32_t d = t->depth; d-- > 1;) {
        const double *below = t->level[d - 1] + (size_t)i * SC__TREE_WIDTH;
        const double least = t->level[d][i];
        uint32_t k = 0;
        while (below[k] != least)
            k++;
        i = i * SC__TREE_WIDTH + k;
    }
    return i;
}
