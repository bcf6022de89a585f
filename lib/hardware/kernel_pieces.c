/* kernel_pieces: times of the pieces of a layer that AIOB measured, in place of the
 * kernels they stand for. */
#include "hardware/kernel_layer.h"

#include <string.h>

/* The kernels a piece stands for, by the beginning of their names: forward
 * takes the piece's time, and so does each of the two gradients, as in AICB. */
static const struct kernel_layer_piece {
    const char *name;
    uint8_t part;
    const char *kernel;
} pieces[] = {{"layernorm", SC__PART_ATTENTION_NORM, "layernorm"},
              {"layernorm", SC__PART_ATTENTION_NORM, "rmsnorm"},
              {"atten_qkv", SC__PART_ATTENTION_IN, "qkv"},
              {"atten_flash", SC__PART_ATTENTION_CORE, "attention"},
              {"atten_linear", SC__PART_ATTENTION_OUT, "proj"},
              {"layernorm2", SC__PART_MLP_NORM, "layernorm"},
              {"layernorm2", SC__PART_MLP_NORM, "rmsnorm"},
              {"mlp_linear_1", SC__PART_MLP_IN, "fc1"},
              {"mlp_gelu", SC__PART_MLP_IN, "gelu"},
              {"mlp_gelu", SC__PART_MLP_IN, "bias_gelu"},
              {"mlp_gelu", SC__PART_MLP_IN, "fused_swiglu"},
              {"mlp_gelu", SC__PART_MLP_IN, "swiglu"},
              {"mlp_linear_2", SC__PART_MLP_OUT, "fc2"}};

static void apply_piece(const struct sc__kernel_model *p, struct sc__layer_kernel *k) {
    double us;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const struct kernel_layer_piece *x = &pieces[i];
        if (k->part != x->part || strncmp(k->kernel.name, x->kernel, strlen(x->kernel)))
            continue;
        if (!sc__kernel_model_piece(p, x->name, &us))
            continue;
        /* a kernel that is no GEMM has both gradients in one */
        bool whole = k->kernel.phase == SC__BACKWARD && k->kernel.kind != SC__KERNEL_GEMM;
        k->kernel.us = whole ? 2 * us : us;
        k->kernel.measured = true;
    }
}

void sc__layer_apply_pieces(const struct sc__kernel_model *p,
                            struct sc__layer_kernels *list) {
    for (uint32_t i = 0; i < list->count; i++)
        apply_piece(p, &list->items[i]);
}
