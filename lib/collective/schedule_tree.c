/* schedule_tree: all-reduce up to the top of a tree and down again, in three forms.
 *
 *     tree      in a node a chain up to its head, from heads along NCCL's two
 *               binary trees of nodes (double_tree.h), and back the same way
 *     NVLS      in a node the switch reduces for the head and multicasts from it
 *     CollNet   in a node everyone sends to the head (or the switch reduces); the
 *               fabric's switches reduce what the heads send
 *
 * A channel has a head in every node: channel c (of those of one tree) member c. With as
 * many channels as a node has members each is head of one, so all ports and NICs carry
 * alike. Two channels share a head where there are two trees.
 *
 * Phases:  inside up · between nodes · inside down. A node's two children send in
 * phases of their own, so that nobody receives twice in one. */
#include "collective/schedule_family.h"

#include "collective/double_tree.h"

/* Where the switch of a node reduces, every member is a head. */
static bool by_doors(const struct sc__coll_schedule *s) {
    return s->family == SC__FAMILY_TREE;
}

static uint32_t
head_of(const struct sc__coll_schedule *s, uint32_t channel, uint32_t node) {
    uint32_t size = sc__coll_node_size(&s->group, node);
    uint32_t c = channel / s->siblings;
    uint32_t place = by_doors(s) ? sc__coll_door(&s->group, node, c) : c % size;
    return sc__coll_node_first(&s->group, node) + place;
}

/* The member `far` places after the head of its node, and back. */
static uint32_t after_head(const struct sc__coll_schedule *s,
                           uint32_t channel,
                           uint32_t node,
                           uint32_t far) {
    uint32_t size = sc__coll_node_size(&s->group, node);
    uint32_t first = sc__coll_node_first(&s->group, node);
    return first + (head_of(s, channel, node) - first + far) % size;
}

static uint32_t
places_after_head(const struct sc__coll_schedule *s, uint32_t channel, uint32_t member) {
    uint32_t node = sc__coll_node_of(&s->group, member);
    uint32_t size = sc__coll_node_size(&s->group, node);
    return (member + size - head_of(s, channel, node)) % size;
}

/* --- phases --------------------------------------------------------------- */

enum tree_stage { INSIDE_UP, TREE_UP, FABRIC, TREE_DOWN, INSIDE_DOWN };

struct tree_place { /* of a phase */
    enum tree_stage stage;
    uint32_t step; /* within the stage */
};

static bool in_switch(const struct sc__coll_schedule *s) {
    return s->family == SC__FAMILY_NVLS ||
           (s->family == SC__FAMILY_COLLNET && s->switch_reduces);
}

static uint32_t steps_inside(const struct sc__coll_schedule *s) {
    uint32_t others = s->group.per_node - 1;
    return in_switch(s) ? others > 0 : others;
}

/* Of the stages between nodes, one after the other. */
static uint32_t steps_between(const struct sc__coll_schedule *s) {
    if (s->group.nodes < 2)
        return 0;
    return s->family == SC__FAMILY_COLLNET ? 1 : 4 * s->levels;
}

static struct tree_place place_of(const struct sc__coll_schedule *s, uint32_t phase) {
    uint32_t inside = steps_inside(s);
    uint32_t between = steps_between(s);
    if (phase < inside)
        return (struct tree_place){INSIDE_UP, phase};
    phase -= inside;
    if (phase >= between)
        return (struct tree_place){INSIDE_DOWN, phase - between};
    if (s->family == SC__FAMILY_COLLNET)
        return (struct tree_place){FABRIC, phase};
    if (phase < between / 2)
        return (struct tree_place){TREE_UP, phase};
    return (struct tree_place){TREE_DOWN, phase - between / 2};
}

static void tree_init(struct sc__coll_schedule *s) {
    bool across = s->group.nodes > 1;
    bool collnet = s->family == SC__FAMILY_COLLNET;
    s->siblings = across && !collnet ? SC__NODE_TREES : 1;
    s->levels = sc__coll_levels(s->group.nodes);
    if (!s->channels)
        s->channels = s->siblings *
                      (by_doors(s) ? sc__coll_group_channels(&s->group) : s->group.least);
    s->phases = 2 * steps_inside(s) + steps_between(s);
}

/* --- between nodes -------------------------------------------------------- */

/* Step 2b + side of the way up: those whose place in the tree is an odd multiple
 * of 2^b send to their parents, first 2^b · (1, 5, 9 …), then 2^b · (3, 7, 11 …). */
static uint32_t level_of(const struct sc__coll_schedule *s, struct tree_place p) {
    return p.stage == TREE_UP ? p.step : 2 * s->levels - 1 - p.step;
}

static uint32_t tree_slots(const struct sc__coll_schedule *s, uint32_t step) {
    uint64_t first = (uint64_t)(step % 2 ? 3 : 1) << step / 2;
    uint64_t stride = (uint64_t)4 << step / 2;
    uint64_t nodes = s->group.nodes;
    return first < nodes ? (uint32_t)((nodes - 1 - first) / stride + 1) : 0;
}

/* The node that sends up in a slot. */
static uint32_t tree_child(const struct sc__coll_schedule *s,
                           uint32_t tree,
                           uint32_t step,
                           uint32_t index) {
    uint32_t place = (4 * index + (step % 2 ? 3 : 1)) << step / 2;
    return sc__node_tree_node(tree, place, s->group.nodes);
}

/* The slot in which a node sends up; SC__NO_MEMBER in other steps. */
static uint32_t tree_child_slot(const struct sc__coll_schedule *s,
                                uint32_t tree,
                                uint32_t step,
                                uint32_t node) {
    uint32_t place = sc__node_tree_place(tree, node, s->group.nodes);
    uint32_t odd = place >> step / 2;
    bool aligned = odd << step / 2 == place;
    return aligned && odd % 4 == (step % 2 ? 3u : 1u) ? odd / 4 : SC__NO_MEMBER;
}

/* The slot in which one of a node's children sends up to it. */
static uint32_t tree_parent_slot(const struct sc__coll_schedule *s,
                                 uint32_t tree,
                                 uint32_t step,
                                 uint32_t node) {
    uint32_t child[2];
    uint32_t children = sc__node_tree_children(tree, node, s->group.nodes, child);
    for (uint32_t i = 0; i < children; i++) {
        uint32_t slot = tree_child_slot(s, tree, step, child[i]);
        if (slot != SC__NO_MEMBER)
            return slot;
    }
    return SC__NO_MEMBER;
}

static bool between_transfer(const struct sc__coll_schedule *s,
                             struct sc__coll_transfer_id id,
                             struct tree_place p,
                             struct sc__coll_transfer *out) {
    uint32_t tree = id.channel % s->siblings;
    uint32_t child = tree_child(s, tree, level_of(s, p), id.index);
    uint32_t parent = sc__node_tree_parent(tree, child, s->group.nodes);
    bool up = p.stage == TREE_UP;
    *out = sc__coll_one_to_one(head_of(s, id.channel, up ? child : parent),
                               head_of(s, id.channel, up ? parent : child),
                               0,
                               1);
    out->reduces = up;
    return true;
}

static bool fabric_transfer(const struct sc__coll_schedule *s,
                            struct sc__coll_transfer_id id,
                            struct sc__coll_transfer *out) {
    uint32_t next = sc__coll_plus(id.index, 1, s->group.nodes);
    *out = sc__coll_one_to_one(head_of(s, id.channel, id.index),
                               head_of(s, id.channel, next),
                               0,
                               1);
    out->in_fabric = true;
    return true;
}

/* --- inside nodes --------------------------------------------------------- */

/* Slot k is node k's. All members of a node take part at once. */
static bool switch_transfer(const struct sc__coll_schedule *s,
                            struct sc__coll_transfer_id id,
                            bool up,
                            struct sc__coll_transfer *out) {
    uint32_t first = sc__coll_node_first(&s->group, id.index);
    uint32_t size = sc__coll_node_size(&s->group, id.index);
    uint32_t head = head_of(s, id.channel, id.index);
    if (size < 2)
        return false;
    *out = sc__coll_one_to_one(up ? first : head, up ? head : first, 0, 1);
    out->sources = up ? size : 1;
    out->destinations = up ? 1 : size;
    return true;
}

/* How far behind the head the member is that sends up in a step: a chain is
 * longest first, so that what it has gathered goes along. */
static uint32_t far_in_step(const struct sc__coll_schedule *s, struct tree_place p) {
    uint32_t longest = s->group.per_node - 1;
    return p.stage == INSIDE_UP ? longest - p.step : p.step + 1;
}

/* Whom the member `far` behind the head sends up to. */
static uint32_t above(const struct sc__coll_schedule *s, uint32_t far) {
    return s->family == SC__FAMILY_TREE ? far - 1 : 0;
}

static bool inside_transfer(const struct sc__coll_schedule *s,
                            struct sc__coll_transfer_id id,
                            struct tree_place p,
                            struct sc__coll_transfer *out) {
    uint32_t far = far_in_step(s, p);
    bool up = p.stage == INSIDE_UP;
    if (in_switch(s))
        return switch_transfer(s, id, up, out);
    if (far >= sc__coll_node_size(&s->group, id.index))
        return false;
    uint32_t low = after_head(s, id.channel, id.index, far);
    uint32_t high = after_head(s, id.channel, id.index, above(s, far));
    *out = sc__coll_one_to_one(up ? low : high, up ? high : low, 0, 1);
    out->reduces = up;
    return true;
}

/* The slot of a member in a stage inside nodes, as the one behind or above. */
static uint32_t inside_slot(const struct sc__coll_schedule *s,
                            struct tree_place p,
                            uint32_t channel,
                            uint32_t member,
                            bool lower) {
    uint32_t node = sc__coll_node_of(&s->group, member);
    uint32_t at = places_after_head(s, channel, member);
    uint32_t far = far_in_step(s, p);
    if (far >= sc__coll_node_size(&s->group, node))
        return SC__NO_MEMBER;
    return at == (lower ? far : above(s, far)) ? node : SC__NO_MEMBER;
}

static uint32_t
head_slot(const struct sc__coll_schedule *s, uint32_t channel, uint32_t member) {
    uint32_t node = sc__coll_node_of(&s->group, member);
    return head_of(s, channel, node) == member ? node : SC__NO_MEMBER;
}

/* In a stage of the switch the head alone sends or receives for itself. */
static uint32_t
switch_slot(const struct sc__coll_schedule *s, uint32_t channel, uint32_t member) {
    uint32_t node = sc__coll_node_of(&s->group, member);
    bool alone = sc__coll_node_size(&s->group, node) < 2;
    return alone ? SC__NO_MEMBER : head_slot(s, channel, member);
}

/* --- the family ----------------------------------------------------------- */

static uint32_t phase_slots(const struct sc__coll_schedule *s, uint32_t phase) {
    struct tree_place p = place_of(s, phase);
    if (p.stage == TREE_UP || p.stage == TREE_DOWN)
        return tree_slots(s, level_of(s, p));
    return s->group.nodes;
}

static bool phase_transfer(const struct sc__coll_schedule *s,
                           struct sc__coll_transfer_id id,
                           struct sc__coll_transfer *out) {
    struct tree_place p = place_of(s, id.phase);
    switch (p.stage) {
    case TREE_UP:
    case TREE_DOWN:
        return between_transfer(s, id, p, out);
    case FABRIC:
        return fabric_transfer(s, id, out);
    default:
        return inside_transfer(s, id, p, out);
    }
}

static uint32_t between_slot(const struct sc__coll_schedule *s,
                             struct tree_place p,
                             uint32_t channel,
                             uint32_t member,
                             bool as_child) {
    uint32_t node = sc__coll_node_of(&s->group, member);
    uint32_t tree = channel % s->siblings;
    uint32_t step = level_of(s, p);
    if (head_of(s, channel, node) != member)
        return SC__NO_MEMBER;
    return as_child ? tree_child_slot(s, tree, step, node)
                    : tree_parent_slot(s, tree, step, node);
}

static uint32_t phase_sent_by(const struct sc__coll_schedule *s,
                              uint32_t phase,
                              uint32_t channel,
                              uint32_t member) {
    struct tree_place p = place_of(s, phase);
    if (p.stage == TREE_UP || p.stage == TREE_DOWN)
        return between_slot(s, p, channel, member, p.stage == TREE_UP);
    if (p.stage == FABRIC)
        return head_slot(s, channel, member);
    if (!in_switch(s))
        return inside_slot(s, p, channel, member, p.stage == INSIDE_UP);
    return p.stage == INSIDE_UP ? SC__NO_MEMBER : switch_slot(s, channel, member);
}

static uint32_t phase_received_by(const struct sc__coll_schedule *s,
                                  uint32_t phase,
                                  uint32_t channel,
                                  uint32_t member) {
    struct tree_place p = place_of(s, phase);
    uint32_t node = sc__coll_node_of(&s->group, member);
    if (p.stage == TREE_UP || p.stage == TREE_DOWN)
        return between_slot(s, p, channel, member, p.stage == TREE_DOWN);
    if (p.stage == FABRIC) {
        bool head = head_slot(s, channel, member) != SC__NO_MEMBER;
        return head ? sc__coll_minus(node, 1, s->group.nodes) : SC__NO_MEMBER;
    }
    if (!in_switch(s))
        return inside_slot(s, p, channel, member, p.stage == INSIDE_DOWN);
    return p.stage == INSIDE_DOWN ? SC__NO_MEMBER : switch_slot(s, channel, member);
}

/* All that came before on the channel; what several members send at once they
 * have from the beginning. */
static struct sc__coll_needs phase_needs(const struct sc__coll_schedule *s,
                                         struct sc__coll_transfer_id id) {
    bool from_many = in_switch(s) && !id.phase;
    return (struct sc__coll_needs){0, from_many ? 0 : id.phase};
}

const struct sc__coll_family_ops sc__coll_tree_ops = {.init = tree_init,
                                                      .slots = phase_slots,
                                                      .transfer = phase_transfer,
                                                      .sent_by = phase_sent_by,
                                                      .received_by = phase_received_by,
                                                      .needs = phase_needs};
