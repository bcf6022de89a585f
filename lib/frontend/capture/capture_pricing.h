/* capture pricing: what the files that price operations share. Private to them. */
#ifndef SC_FRONTEND_CAPTURE_PRICING_H
#define SC_FRONTEND_CAPTURE_PRICING_H

#include "frontend/capture/capture.h"

/* An operation while its price is found. */
const struct sc__operator *sc__operator_named(const struct sc__operators *operators,
                                              const char *name);

struct sc__pricing {
    const struct sc__capture *c;
    const struct sc__operators *operators;
    struct sc__kernel_model *model;
    const struct sc__capture_call *call;
    struct sc__capture_price price;
};

const struct sc__capture_tensor *sc__pricing_input(const struct sc__pricing *p, uint32_t i);
const struct sc__capture_tensor *sc__pricing_output(const struct sc__pricing *p,
                                                    uint32_t i);
double sc__pricing_bytes(const struct sc__pricing *p, struct sc__capture_list list);
uint64_t sc__pricing_size(const struct sc__capture_tensor *t, unsigned dim);
enum sc__dtype sc__pricing_type(const struct sc__capture_tensor *t);

/* One kernel; a further one behind it; one that moves bytes, in so many launches. */
void sc__pricing_kernel(struct sc__pricing *p, struct sc__kernel kernel);
void sc__pricing_and(struct sc__pricing *p, struct sc__kernel kernel);
void sc__pricing_move(struct sc__pricing *p,
                      enum sc__work work,
                      double bytes,
                      double kernels);

/* Microseconds by which work on elements takes longer than the bytes it moves: both
 * overlap in part. */
struct sc__kernel
sc__pricing_elements(const struct sc__pricing *p, double bytes, double elements, double ps);

/* Microseconds of products in batches in fp32, [m, k] by [k, n]. */
double sc__pricing_product_fp32(
    const struct sc__pricing *p, uint64_t count, uint64_t m, uint64_t n, uint64_t k);

/* capture_iterate.c: kernels that go through all elements of a tensor */
void sc__pricing_iterate(struct sc__pricing *p, const struct sc__operator *o);
void sc__pricing_reduce(struct sc__pricing *p, const struct sc__operator *o);
/* Bytes of its first input that an operator reads. */
double sc__operator_reads(const struct sc__capture *c,
                          const struct sc__operators *operators,
                          const struct sc__capture_call *call);
/* What an index names of a tensor is read, or written in place. */
void sc__pricing_pick(struct sc__pricing *p, const struct sc__operator *o);
void sc__pricing_pad(struct sc__pricing *p, const struct sc__operator *o);
struct sc__kernel sc__pricing_copy(const struct sc__pricing *p,
                                   const struct sc__capture_tensor *t);
struct sc__kernel sc__pricing_add_bias(const struct sc__pricing *p,
                                       const struct sc__capture_tensor *t);
struct sc__kernel sc__pricing_sum_channels(const struct sc__pricing *p,
                                           const struct sc__capture_tensor *t);

/* capture_attention.c */
void sc__pricing_attention(struct sc__pricing *p, bool backward);

/* capture_tables.c: false when the operation is of another kind */
bool sc__pricing_index_put(struct sc__pricing *p, const struct sc__operator *o);
bool sc__pricing_topk(struct sc__pricing *p, const struct sc__operator *o);

/* capture_norm.c, capture_convolution.c: false when the operation is of another kind */
bool sc__pricing_norm(struct sc__pricing *p);
bool sc__pricing_convolution(struct sc__pricing *p);

#endif
