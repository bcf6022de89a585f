#include "collective/double_tree.h"

/* Nodes in the order of the tree, and back: both trees have one form. */
uint32_t sc__node_tree_place(unsigned tree, uint32_t node, uint32_t n) {
    if (!tree)
        return node;
    return n % 2 ? (node + n - 1) % n : n - 1 - node;
}

uint32_t sc__node_tree_node(unsigned tree, uint32_t place, uint32_t n) {
    if (!tree)
        return place;
    return n % 2 ? (place + 1) % n : n - 1 - place;
}

static uint32_t lowest_bit(uint32_t x) {
    return x & (~x + 1);
}

uint32_t sc__node_tree_parent(unsigned tree, uint32_t node, uint32_t n) {
    uint32_t place = sc__node_tree_place(tree, node, n);
    uint32_t bit = lowest_bit(place);
    if (!place)
        return SC__NO_PARENT;
    uint64_t up = (uint64_t)(place ^ bit) | (uint64_t)bit << 1;
    return sc__node_tree_node(tree, up < n ? (uint32_t)up : place ^ bit, n);
}

/* The largest power of two that takes a place to its child after it: the
 * subtree is cut off at n, so that its top may lie lower than half a bit away. */
static uint32_t child_after(uint32_t place, uint32_t n) {
    uint32_t half = place ? lowest_bit(place) / 2 : UINT32_C(1) << 31;
    while (half && (uint64_t)place + half >= n)
        half /= 2;
    return half;
}

uint32_t
sc__node_tree_children(unsigned tree, uint32_t node, uint32_t n, uint32_t child[2]) {
    uint32_t place = sc__node_tree_place(tree, node, n);
    uint32_t half = lowest_bit(place) / 2;
    uint32_t after = child_after(place, n);
    uint32_t count = 0;
    if (place && half)
        child[count++] = sc__node_tree_node(tree, place - half, n);
    if (after)
        child[count++] = sc__node_tree_node(tree, place + after, n);
    return count;
}

uint32_t sc__node_tree_cut(uint32_t first, uint32_t end, uint32_t n) {
    uint32_t edges = 0;
    uint32_t inside = 0;
    uint32_t child[2];
    for (unsigned tree = 0; tree < SC__NODE_TREES; tree++)
        for (uint32_t node = first; node < end; node++) {
            uint32_t up = sc__node_tree_parent(tree, node, n);
            edges += sc__node_tree_children(tree, node, n, child) + (up != SC__NO_PARENT);
            inside += up >= first && up < end;
        }
    return edges - 2 * inside;
}
