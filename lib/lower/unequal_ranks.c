/* unequal_ranks: ranks of an expert-parallel group whose experts get unequal numbers of
 * tokens. The step of the fullest rank is there; for each other level of load its blocks
 * are made again with the kernels, bytes and memory of that load, and its programs are
 * those of the fullest with these blocks in their places: every rank runs the same
 * operations in the same order, and who has less to do waits in the next exchange. */
#include "lower/step_blocks.h"

#include <string.h>

struct load_level {
    struct sc__lowering *l;      /* of the fullest rank */
    struct sc__lowering as;      /* of this level */
    struct sc__map replacements; /* block of the fullest → block of this level + 1 */
};

/* Layers alone go by the load. */
static void make_level(struct load_level *x, double load) {
    struct sc__lowering *as = &x->as;
    const struct sc__plan *p = &x->l->plan;
    size_t blocks = (size_t)p->mesh.pp * p->vpp * SC__BLOCK_KINDS;
    *as = *x->l;
    as->plan.imbalance = load;
    memset(as->kernels, 0, sizeof as->kernels);
    memset(as->forward, 0, sizeof as->forward);
    memset(as->recompute, 0, sizeof as->recompute);
    memset(as->backward, 0, sizeof as->backward);
    memset(as->wgrad, 0, sizeof as->wgrad);
    sc__step_layer_kernels(as);
    sc__step_layer_scripts(as);
    as->blocks = SC__NEW_ARRAY(as->arena, uint32_t, blocks);
    sc__map_init(&x->replacements, as->arena);
    for (uint32_t s = 0; s < p->mesh.pp; s++)
        for (uint32_t c = 0; c < p->vpp; c++) {
            sc__step_make_blocks(as, s, c);
            for (int k = 0; k < SC__BLOCK_KINDS; k++) {
                uint32_t old = sc__step_block(x->l, s, c, k);
                uint32_t other = sc__step_block(as, s, c, k);
                if (old != other && old != SC__NONE && other != SC__NONE)
                    *sc__map_at(&x->replacements, old, NULL) = (uint64_t)other + 1;
            }
        }
}

/* The program of a stage with the blocks of this level. */
static uint32_t copy_program(struct load_level *x, uint32_t program) {
    struct sc__workload *w = x->l->workload;
    const struct sc__program from = w->programs[program];
    uint32_t copy = sc__program_begin(w);
    for (uint32_t i = 0; i < from.calls; i++) {
        const struct sc__call call = w->calls[from.first_call + i];
        const uint64_t *other = sc__map_find(&x->replacements, call.block);
        sc__program_call(w,
                         other ? (uint32_t)(*other - 1) : call.block,
                         call.micro_batch,
                         call.chunk,
                         call.tag);
    }
    return copy;
}

void sc__step_unequal_ranks(struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    struct sc__workload *w = l->workload;
    uint32_t pp = p->mesh.pp;
    if (p->routing.levels < 2)
        return;
    struct sc__memory *memory =
        SC__NEW_ARRAY(l->arena, struct sc__memory, (size_t)pp * p->routing.levels);
    memcpy(memory, w->memory, pp * sizeof *memory);
    struct load_level *x = SC__NEW(l->arena, struct load_level);
    for (uint32_t v = 1; v < p->routing.levels; v++) {
        x->l = l;
        make_level(x, p->routing.load[v]);
        for (uint32_t s = 0; s < pp; s++) {
            uint32_t program = copy_program(x, w->classes[s].program);
            uint32_t class = sc__class_add(w, program, 0, 1, s);
            w->classes[class].name = sc__format(w->arena,
                                                "%s, load %.3g",
                                                w->classes[s].name,
                                                p->routing.load[v]);
            memory[v * pp + s] = sc__step_memory(&x->as, s);
        }
    }
    struct sc__load_levels *levels = SC__NEW(w->arena, struct sc__load_levels);
    uint32_t *ranks = SC__NEW_ARRAY(w->arena, uint32_t, SC__ROUTING_LEVELS);
    memcpy(ranks, p->routing.ranks, sizeof p->routing.ranks);
    *levels = (struct sc__load_levels){.count = p->routing.levels,
                                       .ranks = ranks,
                                       .classes = w->classes,
                                       .memory = memory};
    w->levels = levels;
    sc__workload_place_levels(w);
}
