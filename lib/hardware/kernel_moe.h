/* kernel_moe: the experts of one GPU as serving stacks run them, in one call: sorting
 * of the tokens, the two products of all experts, the activation between, the
 * weighted sum. Experts may be loaded unequally. */
#ifndef SC_HARDWARE_KERNEL_MOE_H
#define SC_HARDWARE_KERNEL_MOE_H

#include "hardware/gpu.h"

struct sc__kernel_key;

/* Unequal loads are drawn so many times, and the time is the mean. */
enum { SC__MOE_EXPERTS = 1024, SC__MOE_DRAWS = 12 };

struct sc__moe {
    uint64_t tokens; /* that the experts of all GPUs share */
    uint64_t hidden;
    uint64_t inter; /* of one expert on this GPU */
    uint64_t topk;
    uint64_t experts; /* of all GPUs; at most SC__MOE_EXPERTS */
    uint64_t ep;      /* GPUs they are spread over */
    /* Exponent of the power law that the experts' shares follow; 0: all alike. */
    double exponent;
    bool plain; /* no gate: one matrix less */
};

/* What one draw gives the most loaded GPU to do. */
struct sc__moe_draw {
    double rows;                /* of all its experts */
    double busy;                /* experts with a token */
    double tiles[SC__MOE_ROWS]; /* down, by the rows of a tile */
};

/* All that does not depend on the GPU's constants. */
struct sc__moe_work {
    struct sc__moe moe;
    unsigned draws;
    struct sc__moe_draw draw[SC__MOE_DRAWS];
};

/* Whole tokens of each expert of the most loaded GPU in one draw; returns how many
 * experts that has. */
unsigned
sc__moe_loads(const struct sc__moe *moe, uint64_t draw, double loads[SC__MOE_EXPERTS]);
void sc__moe_prepare(const struct sc__kernel_key *key, struct sc__moe_work *work);
double sc__moe_work_us(const struct sc__gpu *gpu, const struct sc__moe_work *work);
/* us in bf16, cold; 0 where the GPU's file has no constants. */
double sc__moe_us(const struct sc__gpu *gpu, const struct sc__moe *moe);

#endif
