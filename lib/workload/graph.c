#include "workload/graph.h"

#include <string.h>

uint32_t sc__block_set_edges(struct sc__workload *w,
                             uint32_t block,
                             const struct sc__edge *edges,
                             uint32_t count) {
    uint32_t n = w->blocks[block].ops;
    /* a workload without operations has no array to count in */
    struct sc__op *ops = n ? w->ops + w->blocks[block].first_op : NULL;
    uint32_t base = w->dep_count;
    if ((uint64_t)base + count >= w->dep_capacity && count)
        w->deps =
            sc__grow(w->arena, w->deps, &w->dep_capacity, base + count, sizeof *w->deps);
    for (uint32_t i = 0; i < count; i++)
        if (++ops[edges[i].op].deps == 0)
            return edges[i].op;
    uint32_t at = base;
    for (uint32_t i = 0; i < n; i++) {
        ops[i].first_dep = at;
        at += ops[i].deps;
        ops[i].deps = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct sc__op *op = &ops[edges[i].op];
        w->deps[op->first_dep + op->deps++] = edges[i].dep;
    }
    w->dep_count = at;
    return SC__NONE;
}

static bool only_backward(const struct sc__workload *w, const struct sc__block *b) {
    for (uint32_t i = 0; i < b->ops; i++) {
        const struct sc__op *op = &w->ops[b->first_op + i];
        for (uint32_t d = 0; d < op->deps; d++)
            if ((w->deps[op->first_dep + d] & ~SC__DEP_START) >= i)
                return false;
    }
    return true;
}

/* Depth first along the dependencies, with a stack of our own: state 1 is on
 * the path, 2 is done. */
static uint32_t search(const struct sc__workload *w,
                       const struct sc__block *b,
                       uint32_t root,
                       uint8_t *state,
                       uint32_t *stack,
                       uint32_t *at) {
    uint32_t depth = 0;
    stack[depth] = root;
    state[root] = 1;
    for (;;) {
        uint32_t i = stack[depth];
        const struct sc__op *op = &w->ops[b->first_op + i];
        if (at[i] == op->deps) {
            state[i] = 2;
            if (depth-- == 0)
                return SC__NONE;
            continue;
        }
        uint32_t dep = w->deps[op->first_dep + at[i]++] & ~SC__DEP_START;
        if (state[dep] == 1)
            return dep;
        if (state[dep] == 2)
            continue;
        state[dep] = 1;
        stack[++depth] = dep;
    }
}

uint32_t sc__block_cycle(const struct sc__workload *w, uint32_t block) {
    const struct sc__block *b = &w->blocks[block];
    if (only_backward(w, b))
        return SC__NONE;
    struct sc__arena a;
    sc__arena_init(&a);
    uint8_t *state = SC__NEW_ARRAY(&a, uint8_t, b->ops);
    uint32_t *stack = SC__NEW_ARRAY(&a, uint32_t, b->ops);
    uint32_t *at = SC__NEW_ARRAY(&a, uint32_t, b->ops);
    uint32_t found = SC__NONE;
    for (uint32_t i = 0; i < b->ops && found == SC__NONE; i++)
        if (!state[i])
            found = search(w, b, i, state, stack, at);
    sc__arena_free(&a);
    return found;
}

void sc__workload_rank_classes(struct sc__workload *w,
                               uint32_t ranks,
                               const uint32_t *block_of_rank) {
    w->mesh = sc__mesh(1, 1, 1, ranks, 1, 1);
    w->rank_class = SC__NEW_ARRAY(w->arena, uint32_t, ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t program = sc__program_begin(w);
        sc__program_call(w, block_of_rank[r], SC__NONE, 0, 0);
        w->rank_class[r] = sc__class_add(w, program, r, 1, 0);
        w->classes[w->rank_class[r]].name = sc__format(w->arena, "rank %u", r);
    }
}

void sc__workload_copy_names(struct sc__workload *w, const struct sc__workload *from) {
    for (uint32_t i = 0; i < from->names.count; i++)
        sc__workload_name(w, from->names.text[i]);
}
