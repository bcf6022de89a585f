/* gpu_read: the pieces of reading a GPU's file, shared with fit-gpu, which
 * writes one. */
#ifndef SC_HARDWARE_GPU_READ_H
#define SC_HARDWARE_GPU_READ_H

#include "hardware/gpu.h"

/* A number of a group of constants: its key and where it lives in the struct. */
struct sc__gpu_field {
    const char *key;
    size_t offset;
    double most; /* more cannot be; 0: SC__GPU_MOST */
};

/* No constant of a kernel or a machine is near this (the largest, FLOPs a microsecond, are
 * some billions): a larger one is a slip of unit or digit. */
#define SC__GPU_MOST 1e14
#define SC__GPU_MOST_TFLOPS 1e9

/* Tables ended by an empty key; offsets are into struct sc__gpu, but for
 * sc__gpu_dtype_fields (struct sc__gemm_dtype) and sc__gpu_host_fields
 * (struct sc__host_constants). */
extern const struct sc__gpu_field sc__gpu_sheet_fields[], sc__gpu_gemm_fields[],
    sc__gpu_grouped_fields[], sc__gpu_batched_fields[], sc__gpu_unaligned_fields[],
    sc__gpu_power_fields[], sc__gpu_dtype_fields[], sc__gpu_host_fields[],
    sc__gpu_other_fields[], sc__gpu_moe_fields[];

extern const char *const sc__gpu_exchange_names[];
extern const char *const sc__gpu_batched_names[];
extern const char *const sc__gpu_serving_names[], *const sc__gpu_sequence_names[],
                                                      *const sc__gpu_phase_names[],
                                                          *const sc__gpu_serving_types[];
/* Constants of one token a sequence, as a file has them. */
enum { SC__GENERATION_PARTS = 3 };
struct sc__generation_part {
    const char *name;
    unsigned first;
    unsigned count;
};
extern const struct sc__generation_part sc__generation_parts[SC__GENERATION_PARTS];
extern const char *const sc__gpu_software_names[], *const sc__gpu_host_names[];

/* The GPU of a file of data/gpus, read once. */
sc_status sc__gpu_built_in(struct sc_context *ctx,
                           const struct sc__data_file *file,
                           const struct sc__gpu **out);

/* Carries the constants of base over to g, whose datasheet is set. */
void sc__gpu_carry_over(struct sc__gpu *g, const struct sc__gpu *base);

#endif
