/* prepare_claims: which transfers can never share a resource of the network
 * with another. Their time is known before the run.
 *
 * A resource that two classes claim is shared. One that a single class claims
 * is shared unless its transfers on it follow one another: those of one stream
 * do, and those of two streams do where each waits for the other stream
 * (`after`) before it begins. That is found by walking the blocks in issue
 * order with, for each pair of streams (s, t), the resources that t may still
 * be using as far as s knows. Calls may come in any order, so a block begins
 * with all that any block may leave behind. */
#include "simulate/executor.h"

#include <string.h>

#define SHARED UINT64_MAX
#define MOST_RESOURCES                                                                     \
    64 /* of a class, so that a set of them is one word; more are shared */

typedef uint64_t resource_set;

/* in_use[s][t]: what t may still be using as far as s knows. */
struct stream_knowledge {
    resource_set in_use[SC__MAX_STREAMS][SC__MAX_STREAMS];
};

struct class_claims {
    struct sc__claim_table *table;
    uint32_t class;
    const struct sc__block_list *blocks;
    resource_set *uses; /* by operation of those blocks, one block after the other */
    uint32_t use_count;
    uint32_t use_capacity;
    uint64_t resources[MOST_RESOURCES];
    uint32_t resource_count;
    resource_set shared;
};

static uint32_t local_resource(struct class_claims *c, uint64_t resource) {
    uint32_t i = 0;
    while (i < c->resource_count && c->resources[i] != resource)
        i++;
    if (i == c->resource_count && i < MOST_RESOURCES)
        c->resources[c->resource_count++] = resource;
    return i;
}

static sc_status
op_uses(struct class_claims *c, const struct sc__op *op, resource_set *out) {
    const struct sc__executor *x = c->table->x;
    struct sc_claims made;
    int64_t unused;
    *out = 0;
    if (!sc__op_is_transfer(op) || op->flags & SC__OP_MEASURED)
        return SC_OK;
    struct sc_transfer t = sc__transfer_of(x, c->class, op);
    SC__TRY(x->net->ops->alone(x->net->self, &t, &unused, &made));
    for (uint32_t i = 0; i < made.count; i++) {
        uint32_t k = local_resource(c, made.list[i].resource);
        if (k < MOST_RESOURCES)
            *out |= (resource_set)1 << k;
        else
            *sc__map_at(&c->table->users, made.list[i].resource, NULL) = SHARED;
    }
    return SC_OK;
}

static sc_status collect_uses(struct class_claims *c) {
    const struct sc__executor *x = c->table->x;
    for (uint32_t b = 0; b < c->blocks->count; b++) {
        const struct sc__block *block = &x->w->blocks[c->blocks->ids[b]];
        for (uint32_t i = 0; i < block->ops; i++) {
            resource_set uses;
            SC__TRY(op_uses(c, &x->w->ops[block->first_op + i], &uses));
            *SC__PUSH(&c->table->x->arena, c->uses, c->use_count, c->use_capacity) = uses;
        }
    }
    return SC_OK;
}

/* The streams of `after` have ended all that was issued on them, and so has
 * whatever they waited for. */
static void learn(struct stream_knowledge *k, uint32_t stream, uint16_t after) {
    for (uint32_t t = 0; after >> t; t++) {
        if (!(after >> t & 1) || t == stream)
            continue;
        for (uint32_t u = 0; u < SC__MAX_STREAMS; u++)
            if (u != stream)
                k->in_use[stream][u] &= k->in_use[t][u];
        k->in_use[stream][t] = 0;
    }
}

static void walk_op(struct class_claims *c,
                    struct stream_knowledge *k,
                    const struct sc__op *op,
                    resource_set uses) {
    uint32_t streams = c->table->x->streams;
    learn(k, op->stream, op->after & (uint16_t)((1u << streams) - 1));
    if (!uses)
        return;
    for (uint32_t t = 0; t < streams; t++) {
        if (t == op->stream)
            continue;
        c->shared |= k->in_use[op->stream][t] & uses;
        k->in_use[t][op->stream] |= uses;
    }
}

/* Every block from `entry` on; what they leave behind is added to it. */
static bool walk_blocks(struct class_claims *c, struct stream_knowledge *entry) {
    const struct sc__workload *w = c->table->x->w;
    struct stream_knowledge before = *entry;
    uint32_t at = 0;
    for (uint32_t b = 0; b < c->blocks->count; b++) {
        const struct sc__block *block = &w->blocks[c->blocks->ids[b]];
        struct stream_knowledge k = before;
        for (uint32_t i = 0; i < block->ops; i++)
            walk_op(c, &k, &w->ops[block->first_op + i], c->uses[at++]);
        for (uint32_t s = 0; s < SC__MAX_STREAMS; s++)
            for (uint32_t t = 0; t < SC__MAX_STREAMS; t++)
                entry->in_use[s][t] |= k.in_use[s][t];
    }
    return memcmp(&before, entry, sizeof before) != 0;
}

static bool on_several_streams(const struct class_claims *c) {
    const struct sc__workload *w = c->table->x->w;
    uint16_t streams[MOST_RESOURCES] = {0};
    uint32_t at = 0;
    bool several = false;
    for (uint32_t b = 0; b < c->blocks->count; b++) {
        const struct sc__block *block = &w->blocks[c->blocks->ids[b]];
        for (uint32_t i = 0; i < block->ops; i++, at++)
            for (resource_set left = c->uses[at]; left; left &= left - 1) {
                uint16_t *of = &streams[__builtin_ctzll(left)];
                *of |= (uint16_t)(1u << w->ops[block->first_op + i].stream);
                several |= (*of & (*of - 1)) != 0;
            }
    }
    return several;
}

static sc_status claim_class(struct sc__claim_table *t, uint32_t class) {
    const struct sc__executor *x = t->x;
    struct class_claims c = {.table = t,
                             .class = class,
                             .blocks = &x->called[x->w->classes[class].program]};
    struct stream_knowledge entry = {0};
    SC__TRY(collect_uses(&c));
    if (on_several_streams(&c))
        while (walk_blocks(&c, &entry))
            ;
    for (uint32_t i = 0; i < c.resource_count; i++) {
        bool fresh;
        uint64_t *user = sc__map_at(&t->users, c.resources[i], &fresh);
        *user = fresh && !(c.shared >> i & 1) ? class + 1 : SHARED;
    }
    return SC_OK;
}

sc_status sc__claims_collect(struct sc__claim_table *t) {
    sc__map_init(&t->users, &t->x->arena);
    for (uint32_t c = 0; c < t->x->w->class_count; c++)
        SC__TRY(claim_class(t, c));
    return SC_OK;
}

bool sc__claims_alone(const struct sc__claim_table *t,
                      uint32_t class,
                      const struct sc_claims *made) {
    for (uint32_t i = 0; i < made->count; i++)
        if (*sc__map_find(&t->users, made->list[i].resource) != class + 1)
            return false;
    return true;
}
