/* kernel: the kernel model of one GPU, what it remembers and what was measured. */
#include "hardware/kernel.h"

#include "hardware/kernel_model.h"

#include <string.h>

struct sc__kernel_model *sc__kernel_model_new(struct sc__arena *arena,
                                              const struct sc__gpu *gpu) {
    struct sc__kernel_model *p = SC__NEW(arena, struct sc__kernel_model);
    p->arena = arena;
    p->gpu = gpu;
    p->operators = sc__operator_constants();
    sc__map_init(&p->known, arena);
    sc__map_init(&p->measured, arena);
    sc__names_init(&p->pieces, arena);
    return p;
}

const struct sc__gpu *sc__kernel_model_gpu(const struct sc__kernel_model *p) {
    return p->gpu;
}

const struct sc__operator_constants *
sc__kernel_model_operators(const struct sc__kernel_model *p) {
    return &p->operators;
}

bool sc__kernel_model_piece(const struct sc__kernel_model *p,
                            const char *name,
                            double *us) {
    uint32_t id = sc__names_find(&p->pieces, name, strlen(name));
    if (id == SC__NO_NAME)
        return false;
    *us = p->piece_us[id];
    return true;
}

uint64_t sc__kernel_hash(const struct sc__kernel_key *key) {
    return sc__hash(key, sizeof *key, 0x6b65726e656c73u);
}

double sc__kernel_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    if (key->what <= SC__KERNEL_OP_BATCHED)
        return sc__gemm_cost(gpu, key);
    if (key->what <= SC__KERNEL_OP_ATTENTION_B)
        return sc__attention_cost(gpu, key);
    if (key->what == SC__KERNEL_OP_EXCHANGE)
        return sc__exchange_cost(gpu, key);
    if (key->what == SC__KERNEL_OP_MOE)
        return sc__moe_cost(gpu, key);
    if (key->what == SC__KERNEL_OP_SEQUENCE)
        return sc__sequence_cost(gpu, key);
    if (key->what == SC__KERNEL_OP_SCAN)
        return sc__scan_cost(gpu, key);
    if (key->what == SC__KERNEL_OP_SERVING)
        return sc__serving_cost(gpu, key);
    return sc__memory_cost(gpu, key);
}

/* A GEMM with something in its epilogue that the table has only without: the
 * measured time, and of the model the difference. */
static bool measured_us(const struct sc__kernel_model *p,
                        const struct sc__kernel_key *key,
                        double *us) {
    const uint64_t *slot = sc__map_find(&p->measured, sc__kernel_hash(key));
    struct sc__kernel_key plain = *key;
    if (slot) {
        memcpy(us, slot, sizeof *us);
        return true;
    }
    if (key->what != SC__KERNEL_OP_GEMM || !(key->size[4] || key->size[6]))
        return false;
    plain.size[4] = plain.size[6] = 0;
    if (!measured_us(p, &plain, us))
        return false;
    *us += sc__kernel_cost(p->gpu, key) - sc__kernel_cost(p->gpu, &plain);
    return true;
}

bool sc__kernel_model_times_unused(const struct sc__kernel_model *p) {
    return p->measured.count && !p->measured_used;
}

double sc__kernel_us(struct sc__kernel_model *p,
                     const struct sc__kernel_key *key,
                     bool *measured) {
    bool fresh;
    double us;
    *measured = p->measured.count && measured_us(p, key, &us);
    p->measured_used |= *measured;
    if (*measured)
        return us;
    uint64_t *slot = sc__map_at(&p->known, sc__kernel_hash(key), &fresh);
    if (fresh) {
        us = sc__kernel_cost(p->gpu, key);
        memcpy(slot, &us, sizeof us);
    }
    memcpy(&us, slot, sizeof us);
    return us;
}
