#include "workload/workload.h"

#include "workload/words.h"

#include <string.h>

struct sc__workload *sc__workload_new(struct sc__arena *arena, const char *format) {
    struct sc__workload *w = SC__NEW(arena, struct sc__workload);
    w->arena = arena;
    w->format = format;
    w->mesh = sc__mesh(1, 1, 1, 1, 1, 1);
    w->vpp = w->micro_batches = 1;
    sc__names_init(&w->names, arena);
    return w;
}

uint16_t sc__workload_group(struct sc__workload *w, enum sc__group_kind kind) {
    return sc__workload_communicator(w, kind, 0);
}

uint16_t
sc__workload_communicator(struct sc__workload *w, enum sc__group_kind kind, unsigned n) {
    uint32_t i = 0;
    for (;; i++) {
        if (i == w->group_count)
            *SC__PUSH(w->arena, w->groups, w->group_count, w->group_capacity) =
                (struct sc__group){.kind = kind, .label = sc__group_label(kind)};
        if (w->groups[i].kind == kind && n-- == 0)
            return (uint16_t)i;
    }
}

uint16_t sc__workload_group_alone(struct sc__workload *w, const char *label) {
    for (uint32_t i = 0; i < w->group_count; i++)
        if (w->groups[i].kind == SC__GROUP_HOST && !strcmp(w->groups[i].label, label))
            return (uint16_t)i;
    *SC__PUSH(w->arena, w->groups, w->group_count, w->group_capacity) =
        (struct sc__group){.kind = SC__GROUP_HOST, .label = label};
    return (uint16_t)(w->group_count - 1);
}

uint16_t sc__workload_group_list(struct sc__workload *w,
                                 const char *label,
                                 const uint32_t *ranks,
                                 uint32_t count) {
    struct sc__group *g = SC__PUSH(w->arena, w->groups, w->group_count, w->group_capacity);
    g->kind = SC__GROUP_LIST;
    g->label = sc__strdup(w->arena, label);
    g->ranks = SC__NEW_ARRAY(w->arena, uint32_t, count);
    if (count)
        memcpy(g->ranks, ranks, count * sizeof *ranks);
    g->count = count;
    return (uint16_t)(w->group_count - 1);
}

uint32_t sc__workload_name(struct sc__workload *w, const char *name) {
    return sc__names_add(&w->names, name, strlen(name));
}

void sc__block_begin(struct sc__workload *w) {
    struct sc__block *b = SC__PUSH(w->arena, w->blocks, w->block_count, w->block_capacity);
    b->first_op = w->op_count;
}

struct sc__op *sc__block_add(struct sc__workload *w,
                             enum sc__op_kind kind,
                             enum sc__phase phase,
                             uint8_t stream,
                             const char *name) {
    return sc__block_add_id(w, kind, phase, stream, sc__workload_name(w, name));
}

struct sc__op *sc__block_add_id(struct sc__workload *w,
                                enum sc__op_kind kind,
                                enum sc__phase phase,
                                uint8_t stream,
                                uint32_t name) {
    struct sc__op *op = SC__PUSH(w->arena, w->ops, w->op_count, w->op_capacity);
    op->kind = (uint8_t)kind;
    op->phase = (uint8_t)phase;
    op->stream = stream;
    op->name = name;
    op->row = op->layer = op->peer = SC__NONE;
    op->first_dep = w->dep_count;
    return op;
}

void sc__block_depend(struct sc__workload *w, uint32_t index) {
    *SC__PUSH(w->arena, w->deps, w->dep_count, w->dep_capacity) = index;
    w->ops[w->op_count - 1].deps++;
}

uint32_t sc__block_end(struct sc__workload *w) {
    struct sc__block *b = &w->blocks[w->block_count - 1];
    b->ops = w->op_count - b->first_op;
    return w->block_count - 1;
}

uint32_t sc__program_begin(struct sc__workload *w) {
    struct sc__program *p =
        SC__PUSH(w->arena, w->programs, w->program_count, w->program_capacity);
    p->first_call = w->call_count;
    return w->program_count - 1;
}

void sc__program_call(struct sc__workload *w,
                      uint32_t block,
                      uint32_t micro_batch,
                      uint32_t chunk,
                      uint32_t tag) {
    *SC__PUSH(w->arena, w->calls, w->call_count, w->call_capacity) =
        (struct sc__call){.block = block,
                          .micro_batch = micro_batch,
                          .chunk = chunk,
                          .tag = tag};
    w->programs[w->program_count - 1].calls++;
}

uint32_t sc__class_add(struct sc__workload *w,
                       uint32_t program,
                       uint32_t rank,
                       uint32_t ranks,
                       uint32_t stage) {
    *SC__PUSH(w->arena, w->classes, w->class_count, w->class_capacity) =
        (struct sc__class){.program = program,
                           .rank = rank,
                           .ranks = ranks,
                           .stage = stage,
                           .slow = 1,
                           .name = sc__format(w->arena, "stage %u", stage)};
    return w->class_count - 1;
}

sc_status
sc__workload_order(struct sc_context *ctx, struct sc__workload *w, const char *order) {
    if (w->rank_class && !w->levels)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "leave out --order",
                        "--order does not apply: this input numbers its ranks itself");
    SC__TRY(sc__mesh_order(ctx, &w->mesh, order));
    if (w->levels) {
        sc__workload_place_levels(w);
        return SC_OK;
    }
    for (uint32_t c = 0; c < w->class_count; c++)
        w->classes[c].rank = sc__mesh_move(&w->mesh, 0, SC__DIM_PP, w->classes[c].stage);
    return SC_OK;
}

uint32_t sc__workload_class_of(const struct sc__workload *w, uint32_t rank) {
    return w->rank_class ? w->rank_class[rank]
                         : sc__mesh_coordinate(&w->mesh, rank, SC__DIM_PP);
}

uint32_t sc__op_peer(const struct sc__workload *w, const struct sc__op *op, uint32_t rank) {
    if (!(op->flags & (SC__OP_PEER_NEXT | SC__OP_PEER_PREV)))
        return op->peer;
    uint32_t pp = w->mesh.pp;
    uint32_t stage = sc__mesh_coordinate(&w->mesh, rank, SC__DIM_PP);
    uint32_t to = op->flags & SC__OP_PEER_NEXT ? (stage + 1) % pp : (stage + pp - 1) % pp;
    return sc__mesh_move(&w->mesh, rank, SC__DIM_PP, to);
}

uint32_t sc__group_size(const struct sc__workload *w, uint16_t group) {
    const struct sc__group *g = &w->groups[group];
    return g->kind == SC__GROUP_LIST ? g->count : sc__mesh_group_size(&w->mesh, g->kind);
}

uint32_t
sc__group_member(const struct sc__workload *w, uint16_t group, uint32_t rank, uint32_t i) {
    const struct sc__group *g = &w->groups[group];
    return g->kind == SC__GROUP_LIST ? g->ranks[i]
                                     : sc__mesh_group_member(&w->mesh, g->kind, rank, i);
}

bool sc__group_across_stages(const struct sc__workload *w, uint16_t group) {
    const struct sc__group *g = &w->groups[group];
    if (w->mesh.pp == 1)
        return false;
    if (g->kind != SC__GROUP_LIST)
        return g->kind == SC__GROUP_PP || g->kind == SC__GROUP_EMBEDDING ||
               g->kind == SC__GROUP_MIRROR || g->kind == SC__GROUP_MODEL ||
               g->kind == SC__GROUP_WORLD;
    for (uint32_t i = 1; i < g->count; i++)
        if (sc__mesh_coordinate(&w->mesh, g->ranks[i], SC__DIM_PP) !=
            sc__mesh_coordinate(&w->mesh, g->ranks[0], SC__DIM_PP))
            return true;
    return false;
}

const char *sc__message_label(const struct sc__workload *w) {
    return w->mesh.pp > 1 ? "pp" : "p2p";
}

const char *sc__coll_name(enum sc__coll coll) {
    return coll == SC__COLLS ? "SENDRECV" : sc__coll_words[coll];
}

bool sc__coll_rooted(unsigned coll) {
    return coll == SC__BROADCAST || coll == SC__REDUCE || sc__coll_to_root(coll);
}

const char *sc__phase_name(enum sc__phase phase) {
    return sc__phase_words[phase];
}

const char *sc__work_name(enum sc__work work) {
    return sc__work_words[work];
}
