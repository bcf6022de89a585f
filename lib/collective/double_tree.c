#include "collective/double_tree.h"

/* Nodes in the order of the tree, and back: both trees have one form. */
static uint32_t place_in(unsigned tree, uint32_t node, uint32_t n) {
    if (!tree)
        return node;
    return n % 2 ? (node + n - 1) % n : n - 1 - node;
}

static uint32_t node_at(unsigned tree, uint32_t place, uint32_t n) {
    if (!tree)
        return place;
    return n % 2 ? (place + 1) % n : n - 1 - place;
}

static uint32_t lowest_bit(uint32_t x) {
    return x & (~x + 1);
}

uint32_t sc__node_tree_parent(unsigned tree, uint32_t node, uint32_t n) {
    uint32_t place = place_in(tree, node, n);
    uint32_t bit = lowest_bit(place);
    if (!place)
        return SC__NO_PARENT;
    uint64_t up = (uint64_t)(place ^ bit) | (uint64_t)bit << 1;
    return node_at(tree, up < n ? (uint32_t)up : place ^ bit, n);
}

/* A place has one child before it where its lowest bit leaves room, and one
 * after it where there are any. */
static uint32_t children(uint32_t place, uint32_t n) {
    if (!place)
        return n > 1;
    return lowest_bit(place) < 2 ? 0 : 1 + (place + 1 < n);
}

uint32_t sc__node_tree_cut(uint32_t first, uint32_t end, uint32_t n) {
    uint32_t edges = 0;
    uint32_t inside = 0;
    for (unsigned tree = 0; tree < SC__NODE_TREES; tree++)
        for (uint32_t node = first; node < end; node++) {
            uint32_t up = sc__node_tree_parent(tree, node, n);
            edges += children(place_in(tree, node, n), n) + (up != SC__NO_PARENT);
            inside += up >= first && up < end;
        }
    return edges - 2 * inside;
}
