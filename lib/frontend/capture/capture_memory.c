/* capture memory: the peak of what is allocated, from storages born and freed. */
#include "frontend/capture/capture.h"

/* The caching allocator gives blocks of whole 512 bytes. */
#define BLOCK 512u

struct held {
    double now[SC__STORAGE_KINDS];
    double sum;
    double peak;
    double at_peak[SC__STORAGE_KINDS];
    double scratch_at_peak;
};

static double block_bytes(const struct sc__capture_storage *s) {
    return (double)((s->bytes + BLOCK - 1) / BLOCK * BLOCK);
}

static void hold(struct held *h, const struct sc__capture_storage *s, double sign) {
    h->now[s->kind] += sign * block_bytes(s);
    h->sum += sign * block_bytes(s);
}

static void look(struct held *h, double scratch) {
    if (h->sum + scratch <= h->peak)
        return;
    h->peak = h->sum + scratch;
    h->scratch_at_peak = scratch;
    for (unsigned k = 0; k < SC__STORAGE_KINDS; k++)
        h->at_peak[k] = h->now[k];
}

struct sc__memory sc__capture_peak(const struct sc__capture *c,
                                   const struct sc__capture_program *program,
                                   const double *scratch_of_call,
                                   double workspace) {
    struct held h = {0};
    const uint32_t *first = &c->places[program->alive.first];
    for (uint32_t i = 0; i < program->alive.count; i++)
        hold(&h, &program->storages[first[i]], 1);
    for (uint32_t i = 0; i < program->op_count; i++) {
        const struct sc__capture_op *op = &program->ops[i];
        const uint32_t *born = &c->places[op->born.first];
        const uint32_t *freed = &c->places[op->freed.first];
        /* what died since the operation before was free before this one asked */
        for (uint32_t f = 0; f < op->freed.count; f++)
            hold(&h, &program->storages[freed[f]], -1);
        for (uint32_t b = 0; b < op->born.count; b++)
            hold(&h, &program->storages[born[b]], 1);
        look(&h, scratch_of_call[op->call]);
    }
    return (struct sc__memory){
        .weights = (uint64_t)h.at_peak[SC__STORAGE_WEIGHTS],
        .gradients = (uint64_t)h.at_peak[SC__STORAGE_GRADIENTS],
        .optimizer = (uint64_t)h.at_peak[SC__STORAGE_OPTIMIZER],
        .activations = (uint64_t)(h.at_peak[SC__STORAGE_OTHER] + h.scratch_at_peak),
        .workspace = (uint64_t)workspace};
}
