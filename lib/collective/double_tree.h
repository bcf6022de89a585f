/* double_tree: the two binary trees NCCL lays over the nodes of a group, each
 * for half of the buffer. Nodes are numbered 0 … n-1 in the group's order; a
 * tree is in that order too (0 at the top, 8 over 4 and 12, 4 over 2 and 6 …),
 * so that most of its edges join near nodes. The second tree is the mirror
 * image of the first, or shifted by one where n is odd: who has children in
 * one has few or none in the other. */
#ifndef SC_COLLECTIVE_DOUBLE_TREE_H
#define SC_COLLECTIVE_DOUBLE_TREE_H

#include "base/base.h"

#define SC__NODE_TREES 2u

/* The parent of a node in tree 0 or 1; SC__NO_PARENT for the top one. */
#define SC__NO_PARENT UINT32_MAX
uint32_t sc__node_tree_parent(unsigned tree, uint32_t node, uint32_t n);
/* The children of a node; how many. */
uint32_t
sc__node_tree_children(unsigned tree, uint32_t node, uint32_t n, uint32_t child[2]);
/* A node's place in its tree, of which the rule above speaks, and the node of a place. */
uint32_t sc__node_tree_place(unsigned tree, uint32_t node, uint32_t n);
uint32_t sc__node_tree_node(unsigned tree, uint32_t place, uint32_t n);
/* Edges of both trees between nodes first … end-1 and the others. */
uint32_t sc__node_tree_cut(uint32_t first, uint32_t end, uint32_t n);

#endif
