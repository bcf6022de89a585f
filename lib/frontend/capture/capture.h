/* capture: one training step of a PyTorch program as stepcast.capture wrote it down
 * (docs/formats/capture.md). Read in this order:
 *
 *   capture_read.c    the file → struct sc__capture, every index checked
 *   capture_price.c   an operation on tensors → a kernel of the GPU
 *   capture_lower.c   programs of operations → a workload
 *   capture_memory.c  storages born and freed → the peak
 */
#ifndef SC_FRONTEND_CAPTURE_H
#define SC_FRONTEND_CAPTURE_H

#include "frontend/reader.h"
#include "hardware/kernel.h"

enum { SC__CAPTURE_MOST_DIMS = 8 };

/* Element types by the words of the file. */
extern const char *const sc__capture_types[];
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
    struct sc__capture_list born;
    struct sc__capture_list freed;
    struct sc__capture_list after; /* operations of other streams it waits for */
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

static inline const struct sc__capture_tensor *
sc__capture_tensor(const struct sc__capture *c, struct sc__capture_list list, uint32_t i) {
    return &c->tensors[c->places[list.first + i]];
}

/* How one operator is priced: data/operators.json. */
struct sc__operator {
    const char *name;
    uint8_t work;   /* enum sc__work */
    double traffic; /* times its bytes go over memory, at the speed of plain kernels */
    double kernels;
};

struct sc__operators {
    struct sc__operator *items;
    uint32_t count;
    uint32_t capacity;
    /* convolutions: factors on the product of the same size */
    double convolution_fp32;
    double convolution_unaligned; /* one tap, rows of pixels no multiple of 8 */
    double convolution_copy;      /* passes over in- and output for another layout */
    /* shares of the peak: of bf16 where there are few channels, of fp32 where each is
     * by itself */
    double few_channels[3];
    double depthwise[2][3];      /* and with channels side by side */
    double attention_dropout[2]; /* factor of dropout inside attention */
    double strided;              /* factor on copies that change the order of elements */
    double recurrent[2];         /* forward, backward: factor on the products */
    double recurrent_step;       /* us of a step beside its product */
    /* host: us of an operation, of each kernel of it, of a tensor in a list */
    double host_operation;
    double host_kernel;
    double host_tensor;
    double workspace; /* bytes of the libraries */
};
sc_status sc__operators_load(struct sc_context *ctx, struct sc__operators *out);

struct sc__capture_price {
    struct sc__kernel kernel;
    double kernels; /* launches */
    double scratch; /* bytes of memory it needs for itself */
    bool known;     /* false: by its bytes alone */
    uint32_t lists; /* tensors in lists, for the host */
};
struct sc__capture_price sc__capture_price(const struct sc__capture *c,
                                           const struct sc__operators *operators,
                                           struct sc__kernel_model *model,
                                           const struct sc__capture_call *call);

/* The peak of a program, as the caching allocator counts what is allocated. */
struct sc__memory sc__capture_peak(struct sc_context *ctx,
                                   const struct sc__capture *c,
                                   const struct sc__capture_program *program,
                                   const double *scratch_of_call,
                                   double workspace);

struct sc__capture_lowered {
    struct sc__workload *workload;
    struct sc__capture_price *prices; /* by call */
};
sc_status sc__capture_lower(struct sc_context *ctx,
                            const struct sc__settings *settings,
                            const struct sc__capture *c,
                            struct sc__capture_lowered *out);

#endif
