/* capture: one training step of a PyTorch program as stepcast.capture wrote it down
 * (docs/formats/capture.md). Read in this order:
 *
 *   capture_read.c    the file → struct sc__capture, every index checked
 *   capture_check.c   shapes that fit, messages that somebody takes
 *   capture_price.c   an operation on tensors → a kernel of the GPU; with
 *     capture_iterate.c     elementwise operators, copies, reductions
 *     capture_norm.c        norms
 *     capture_convolution.c
 *   capture_fusion.c  operations that torch.compile makes one kernel
 *   capture_lower.c   programs of operations → a workload
 *   capture_memory.c  storages born and freed → the peak
 */
#ifndef SC_FRONTEND_CAPTURE_H
#define SC_FRONTEND_CAPTURE_H

#include "frontend/reader.h"
#include "hardware/kernel.h"

enum { SC__CAPTURE_MOST_DIMS = 8 };

/* Element types by the words of the file. */
enum sc__capture_type {
    SC__CAPTURE_BF16,
    SC__CAPTURE_FP16,
    SC__CAPTURE_FP32,
    SC__CAPTURE_FP64,
    SC__CAPTURE_FP8,
    SC__CAPTURE_INT64,
    SC__CAPTURE_INT32,
    SC__CAPTURE_INT16,
    SC__CAPTURE_INT8,
    SC__CAPTURE_UINT8,
    SC__CAPTURE_BOOL,
    SC__CAPTURE_COMPLEX64,
    SC__CAPTURE_COMPLEX128,
    SC__CAPTURE_OTHER
};

struct sc__capture_tensor {
    uint8_t type; /* enum sc__capture_type */
    uint8_t dims;
    bool dense;         /* its elements lie in order, without gaps */
    bool channels_last; /* [batch, channel, …] with channels side by side */
    uint32_t count;     /* tensors: more than one for a list, whose elements are one sum */
    uint64_t size[SC__CAPTURE_MOST_DIMS];
    uint64_t stride[SC__CAPTURE_MOST_DIMS]; /* in elements */
    double elements; /* distinct ones: repeated (expanded) dimensions count once */
    double bytes;    /* of them */
};

/* A list of places, in the capture's `places`. */
struct sc__capture_list {
    uint32_t first;
    uint32_t count;
};

/* Attributes of an operation, as far as some price needs them. */
struct sc__capture_with {
    uint32_t group; /* collectives: in groups */
    uint64_t bytes;
    uint32_t peer_rank; /* SC__NONE: along a dimension of the mesh */
    uint32_t peer_dim;
    uint32_t peer_by;
    uint32_t stride;
    uint32_t groups;
    bool transposed;
    bool causal;
    bool input_gradient; /* of a convolution: which gradients are asked for */
    bool weight_gradient;
    bool bias_gradient;
    double dropout;
    uint32_t shifts; /* of a roll: dimensions */
    uint32_t hidden;
    uint32_t layers;
    uint32_t gates;
    bool bidirectional;
};

struct sc__capture_call {
    const char *op; /* "aten.mm" */
    struct sc__capture_list in;
    struct sc__capture_list out;
    struct sc__capture_with with;
};

struct sc__capture_op {
    uint32_t call;
    uint32_t module;
    uint8_t phase;  /* enum sc__phase */
    int32_t stream; /* below 0: communication of group -1-stream */
    uint32_t quiet; /* operations without a kernel since the one before */
    struct sc__capture_list born;
    struct sc__capture_list freed;
    struct sc__capture_list after; /* operations of other streams it waits for */
    struct sc__capture_list used;  /* storages of its inputs, then of its outputs */
    uint32_t unit;                 /* what would be compiled together; 0: outside */
};

enum sc__capture_storage_kind {
    SC__STORAGE_OTHER,
    SC__STORAGE_WEIGHTS,
    SC__STORAGE_GRADIENTS,
    SC__STORAGE_OPTIMIZER,
    SC__STORAGE_KINDS
};

struct sc__capture_storage {
    uint64_t bytes;
    uint8_t kind;
};

struct sc__capture_program {
    struct sc__capture_storage *storages;
    uint32_t storage_count;
    struct sc__capture_list alive; /* when the step begins */
    struct sc__capture_op *ops;
    uint32_t op_count;
    struct sc__capture_price *prices; /* by operation, once they are known */
    uint32_t last_phase_begins;       /* the operation where the optimizer's does */
    double lead;                      /* us that the host is ahead when a step begins */
};

struct sc__capture_dim {
    const char *name;
    uint32_t size;
};

/* A process group: dimensions of the mesh (a set of bits), or a list of ranks. */
struct sc__capture_group {
    uint32_t dims;
    bool world;
    uint32_t *ranks;
    uint32_t count;
};

struct sc__capture_class {
    uint32_t rank;
    uint32_t ranks;
    uint32_t program;
};

struct sc__capture {
    struct sc__arena *arena;
    const char *file;
    const char *made_by;
    bool compiled; /* the program asks for torch.compile */
    uint32_t world;
    struct sc__capture_dim mesh[SC__CAPTURE_MOST_DIMS]; /* slowest first */
    uint32_t dims;
    struct sc__capture_group *groups;
    uint32_t group_count;
    const char **modules;
    uint32_t module_count;
    struct sc__capture_tensor *tensors;
    uint32_t tensor_count;
    struct sc__capture_call *calls;
    uint32_t call_count;
    struct sc__capture_class *classes;
    uint32_t class_count;
    struct sc__capture_program *programs;
    uint32_t program_count;
    uint32_t *places; /* all lists */
    uint32_t place_count;
    uint32_t place_capacity;
};

sc_status sc__capture_read(struct sc_context *ctx, const char *path, struct sc__capture *c);

struct sc__node;
/* Of a call, where it stands in the file; of the whole. */
sc_status sc__capture_check_call(const struct sc__node *n,
                                 const struct sc__capture *c,
                                 const struct sc__capture_call *call);
/* Of storages that begin (there), or end, at a place of the file; alive: by storage. */
sc_status sc__capture_check_change(const struct sc__node *n,
                                   const struct sc__capture *c,
                                   struct sc__capture_list list,
                                   bool there,
                                   bool *alive);
sc_status sc__capture_check(struct sc_context *ctx, struct sc__capture *c);

static inline const struct sc__capture_tensor *
sc__capture_tensor(const struct sc__capture *c, struct sc__capture_list list, uint32_t i) {
    return &c->tensors[c->places[list.first + i]];
}

/* How one operator is priced: data/operators.json. */
enum sc__operator_way {
    SC__WAY_BYTES,   /* by its in- and outputs */
    SC__WAY_ITERATE, /* the same, and by how they lie: capture_iterate.c */
    SC__WAY_REDUCE,
    SC__WAY_WRITTEN,  /* by its outputs alone */
    SC__WAY_ELEMENTS, /* ps an element of the larger of in- and output, for traffic */
    SC__WAY_PAD,      /* filled and copied into */
    SC__WAY_PICK,     /* by its output, and as much of its first input as an index names */
    SC__WAY_PUT       /* the same in place: of its first input what is put into it */
};

/* What torch.compile can make of an operator: capture_fusion.c. */
enum sc__fuses {
    SC__FUSES_NOT,
    SC__FUSES_POINTWISE,
    SC__FUSES_REDUCTION, /* of rows or of columns: its tensors tell */
    SC__FUSES_ROWS,
    SC__FUSES_ROWS_AND_COLUMNS, /* norms' backward: rows, and gradients of the weights */
    SC__FUSES_CHANNELS,         /* batch norms: sums of channels, and each element */
    SC__FUSES_COLUMNS
};

struct sc__operator {
    const char *name;
    uint8_t work;   /* enum sc__work */
    uint8_t way;    /* enum sc__operator_way */
    double traffic; /* times its bytes go over memory, at the speed of plain kernels */
    double kernels;
};

struct sc__fusable {
    const char *name;
    enum sc__fuses kind;
};

/* Constants of data/operators.json: docs/model/operators.md says what each stands for.
 * Pairs are forward and backward; triples of convolutions forward, input gradient and
 * weight gradient. */
/* What the host takes for an operation depends on what is looked up and checked. */
enum sc__host_kind {
    SC__HOST_PLAIN,
    SC__HOST_PRODUCT,
    SC__HOST_CONVOLUTION,
    SC__HOST_ATTENTION,
    SC__HOST_LAYER_NORM,
    SC__HOST_BATCH_NORM,
    SC__HOST_GROUP_NORM,
    SC__HOST_KINDS
};

struct sc__operators {
    struct sc__operator *items;
    uint32_t count;
    uint32_t capacity;
    struct sc__fusable *fusable; /* beside those whose way tells */
    uint32_t fusable_count;
    uint32_t fusable_capacity;
    /* elements whose places are computed: ps each, more for a dimension, for an input */
    double index_ps[3];
    double convert_ps;   /* and for turning types into each other */
    double sector_bytes; /* read for an element whose neighbours lie elsewhere */
    double cached_block; /* bytes of a block from which nothing is read twice */
    double rows_ps;      /* reductions of rows, beside their bytes */
    double row_ps;
    double rows_traffic;
    double columns_us[3]; /* of columns: in all, a round, over blocks */
    double columns_traffic;
    double between_ps; /* of what is between */
    double norm_row_ps;
    double norm_traffic[2]; /* 16 bits, fp32 */
    double norm_wide;       /* fp32 against the kernel model */
    double norm_parts_ps;   /* an element whose weights' gradients are summed by parts */
    double norm_parts_us;
    double batch_norm[2]; /* cuDNN's, ps an element: of all, of a channel */
    double batch_norm_channel[2];
    double batch_norm_last[2][2]; /* cuDNN's, PyTorch's own */
    double own_norm[2][3];        /* ps of all: large pictures, over places, at most that */
    double own_norm_channel[2][2];
    double group_norm[2];
    double group_norm_alone;
    double join_ps[2];        /* an element of tensors joined: not in order, one empty */
    double put_ps;            /* a value added at a place */
    double bilinear_plane_us; /* a channel of a picture */
    double bilinear_ps[3];    /* an element: forward; channels side by side, backward */
    double bilinear_add_ps;   /* backward, times the scale */
    double product_small[4];  /* in batches: us, us a MB, a GFLOP, a thousand tiles */
    double product_odd[4];
    double product_fp32[4];
    double convolution_tf32;
    double convolution_share;     /* of the peak, at most */
    double convolution_unaligned; /* one tap, rows of pixels no multiple of 8 */
    double convolution_copy[2];   /* passes over in- and output for another layout */
    double convolution_patches[3];
    double convolution_groups[3];
    double grouped_us; /* groups over pictures: in all, and ps a place: even forward and
                        * back, odd forward and back, odd with channels side by side */
    double grouped_ps[5];
    double convolution_long_ns; /* a weight of a window of many taps, in odd groups */
    double few_channels[2][3];  /* ps an output, us a GFLOP, ps an input */
    double depthwise[2][3]; /* shares of the fp32 peak; and with channels side by side */
    double adamw_narrow;    /* fused AdamW whose states have 16 bits */
    double attention_dropout[2]; /* factor of dropout inside attention */
    double picked_row_ps;        /* a row that an index picks */
    double picked_again;  /* part of what is read again that does not come from a cache */
    double added_rows[2]; /* ps an element of rows added in place: index_add, scatter_add */
    double topk[5];       /* ps a row and an element; us, ps a row, ps an element */
    double bicubic_plane_us[3];       /* forward; backward in 16 bits, in fp32 */
    double learned_attention[2][2];   /* a learned mask: ns a tile, 16 bits and fp32 */
    double learned_attention_deep[2]; /* more than 64 numbers a head */
    double recurrent[2];              /* forward, backward: factor on the products */
    double recurrent_step;            /* us of a step beside its product */
    double ctc_step[2];               /* us of a step of a CTC loss */
    /* host, us: an operation by its kind (forward, backward), a further kernel of it; what
     * Python and autograd take beside, for each operation and each view; a tensor in a
     * list; a step */
    double host_kind[SC__HOST_KINDS][2];
    double host_recurrent[2]; /* a step of a recurrent layer */
    double host_kernel;
    double host_operation;
    double host_view;
    double host_tensor;
    double host_step;
    /* compiled: bytes of fused kernels, of sums over columns; host: us of a kernel, of a
     * call of a unit, of a call as a CUDA graph */
    double fused_traffic;
    double fused_columns;
    double host_compiled_kernel;
    double host_compiled_unit;
    double host_graph;
    double reference_bandwidth; /* of the GPU that was measured, MB/s */
    double workspace;           /* bytes of the libraries */
};
sc_status sc__operators_load(struct sc_context *ctx, struct sc__operators *out);

struct sc__capture_price {
    struct sc__kernel kernel;
    double kernels;   /* launches */
    uint8_t host;     /* enum sc__host_kind */
    double launching; /* us of the host beside: kernels of a library one by one */
    double scratch;   /* bytes of memory it needs for itself */
    bool known;       /* false: by its bytes alone */
    bool compiled;    /* launched by compiled code, in so many calls */
    double calls;
    bool ends;      /* the last of a unit's forward or backward */
    uint32_t lists; /* tensors in lists, for the host */
};

enum sc__fuses sc__operator_fuses(const struct sc__operators *operators, const char *name);

/* Prices of a program's operations as torch.compile would run its units: those that are
 * fused cost nothing but the last of each kernel. */
void sc__capture_fuse(struct sc_context *ctx,
                      const struct sc__capture *c,
                      const struct sc__operators *operators,
                      struct sc__kernel_model *model,
                      struct sc__capture_program *p);
struct sc__capture_price sc__capture_price(const struct sc__capture *c,
                                           const struct sc__operators *operators,
                                           struct sc__kernel_model *model,
                                           const struct sc__capture_call *call);

/* The peak of a program, as the caching allocator counts what is allocated. */
struct sc__memory sc__capture_peak(const struct sc__capture *c,
                                   const struct sc__capture_program *program,
                                   const double *scratch_of_call,
                                   double workspace);

/* Prices the programs of a capture and makes a workload of them. */
sc_status sc__capture_lower(struct sc_context *ctx,
                            const struct sc__settings *settings,
                            struct sc__capture *c,
                            struct sc__workload **out);

#endif
