/* kernel_layer_routes: what stands around the products of experts in the modules of
 * transformers 5, operator by operator (grouped_mm_experts_forward of its
 * integrations/moe.py). In brackets only where weights are fp32.
 *
 * forward: sort, pick rows, mask, products, weigh, mask, pick back, sum, [narrow]
 *
 * backward: [widen], spread, add rows, mask, weigh, products, mask, add rows
 *
 * Masks are for experts on other ranks, and are there without any. Weights in fp32 make
 * everything between the products and the sum fp32.
 *
 * Below: the same in TorchTitan. */
#include "hardware/kernel_layer_maker.h"

#include <math.h>

struct routes {
    const struct sc__operator_constants *operators;
    double tokens;
    double routed; /* tokens, each as often as it has experts */
    double width;
    double narrow; /* bytes of an element of the model, */
    double wide;   /* and of what the weights make of it */
};

static struct routes routes_of(const struct sc__layer_maker *m) {
    const struct sc__layer_shape *s = m->s;
    double narrow = sc__dtype_bytes(s->dtype);
    return (struct routes){.operators = sc__kernel_model_operators(m->kernel_model),
                           .tokens = (double)m->rows,
                           .routed = (double)m->rows * s->topk,
                           .width = (double)(s->moe_latent ? s->moe_latent : s->hidden),
                           .narrow = narrow,
                           .wide = s->wide_routes ? sc__dtype_bytes(SC__FP32) : narrow};
}

static void
moves(struct sc__layer_maker *m, const char *name, double elements, double bytes) {
    sc__layer_elementwise(m, name, elements * bytes, 1);
}

/* Operators on a few numbers a token: sort, counts, offsets, softmax, … */
static void
small(struct sc__layer_maker *m, const char *name, const struct routes *r, double often) {
    sc__layer_elementwise(m, name, 16 * r->routed, often);
}

/* Rows that an index takes: what is read again comes from the cache in part. */
static void
pick(struct sc__layer_maker *m, const struct routes *r, double rows, double bytes) {
    double read = fmax(fmin(rows, r->routed), r->operators->picked_again * r->routed);
    moves(m, "pick_rows", r->width, bytes * (read + r->routed));
}

/* An operand for each row stands for all of its elements: their places are looked up. */
static void by_rows(struct sc__layer_maker *m,
                    const char *name,
                    const struct routes *r,
                    double bytes,
                    bool converts) {
    double elements = r->routed * r->width;
    double ps = r->operators->by_row + (converts ? r->operators->converts : 0);
    sc__layer_push(m,
                   sc__by_element(m->kernel_model, name, bytes * elements, elements, ps));
}

/* Out of place: a copy, which is then masked. */
static void
mask_gradients(struct sc__layer_maker *m, const struct routes *r, double bytes) {
    moves(m, "copy", r->routed * r->width, 2 * bytes);
    by_rows(m, "mask_rows", r, 2 * bytes, false);
}

/* The gradient of picked rows: zeros, to which rows are added. */
static void
add_rows(struct sc__layer_maker *m, const struct routes *r, double to, double bytes) {
    moves(m, "zeros", to * r->width, bytes);
    sc__layer_push(
        m,
        sc__rows_added(m->kernel_model, "add_rows", r->routed, to, r->width, bytes));
}

void sc__layer_routes_to_experts(struct sc__layer_maker *m) {
    struct routes r = routes_of(m);
    if (m->backward) {
        mask_gradients(m, &r, r.narrow);
        add_rows(m, &r, r.tokens, r.narrow);
        small(m, "weights_b", &r, m->s->wide_router ? 20 : 14);
        return;
    }
    small(m, "sort_routes", &r, m->s->wide_router ? 31 : 18);
    pick(m, &r, r.tokens, r.narrow);
    by_rows(m, "mask_rows", &r, 2 * r.narrow, false);
}

static void weigh(struct sc__layer_maker *m, const struct routes *r) {
    bool converts = r->wide > r->narrow;
    double elements = r->routed * r->width;
    if (!m->backward) {
        by_rows(m, "weigh_rows", r, r->narrow + r->wide, converts);
        return;
    }
    by_rows(m, "weigh_rows", r, 2 * r->wide, false);
    if (converts)
        moves(m, "narrow", elements, r->narrow + r->wide);
    moves(m, "weights_b", elements, 2 * r->wide + r->narrow);
    moves(m, "sum_rows", elements, r->wide);
}

void sc__layer_routes_back(struct sc__layer_maker *m) {
    struct routes r = routes_of(m);
    double elements = r.routed * r.width;
    double all = r.tokens * r.width;
    if (m->backward) {
        if (r.wide > r.narrow)
            moves(m, "widen", all, r.narrow + r.wide);
        by_rows(m, "spread_rows", &r, r.wide * (1 + r.tokens / r.routed), false);
        add_rows(m, &r, r.routed, r.wide);
        mask_gradients(m, &r, r.wide);
        weigh(m, &r);
        return;
    }
    weigh(m, &r);
    by_rows(m, "mask_rows", &r, 2 * r.wide, false);
    small(m, "sort_routes", &r, 3);
    pick(m, &r, r.routed, r.wide);
    sc__layer_push(m,
                   sc__by_element(m->kernel_model,
                                  "sum_routes",
                                  r.wide * (elements + all),
                                  elements,
                                  r.operators->between));
    if (r.wide > r.narrow)
        moves(m, "narrow", all, r.narrow + r.wide);
}

/* ---- TorchTitan's MoE (torchtitan/models/moe.py), which no setting compiles ---- */

/* Rows added to those of tokens by scatter_add, atomically: 1574 us for 32768 rows of 7168
 * on an H200 (docs/model/experts.md). */
#define SCATTERED_PS 6.7
/* Rows of an expert begin at multiples of so many (TOKEN_GROUP_ALIGN_SIZE_M in bf16). */
#define EXPERT_ALIGNMENT 8

static void scatter_rows(struct sc__layer_maker *m, const struct routes *r) {
    double elements = r->routed * r->width;
    sc__layer_push(m,
                   sc__by_element(m->kernel_model,
                                  "scatter_rows",
                                  2 * r->narrow * elements,
                                  elements,
                                  SCATTERED_PS));
}

/* scores, histogram, sort of routes · gather; back: zeros, scatter_add */
void sc__layer_titan_to_experts(struct sc__layer_maker *m) {
    struct routes r = routes_of(m);
    if (m->backward) {
        moves(m, "zeros", r.tokens * r.width, r.narrow);
        scatter_rows(m, &r);
        small(m, "weights_b", &r, 8);
        return;
    }
    small(m, "sort_routes", &r, 14);
    pick(m, &r, r.tokens, r.narrow);
}

/* Rows are made wide, weighted and made narrow again, three operators, then added to what
 * the shared experts made, or to zeros. */
void sc__layer_titan_back(struct sc__layer_maker *m) {
    struct routes r = routes_of(m);
    double wide = sc__dtype_bytes(SC__FP32);
    double elements = r.routed * r.width;
    if (m->backward) {
        pick(m, &r, r.tokens, r.narrow);
        moves(m, "widen", elements, r.narrow + wide);
        by_rows(m, "weigh_rows", &r, 2 * wide, false);
        moves(m, "weights_b", elements, 3 * wide);
        moves(m, "sum_rows", elements, wide);
        moves(m, "narrow", elements, wide + r.narrow);
        return;
    }
    moves(m, "widen", elements, r.narrow + wide);
    by_rows(m, "weigh_rows", &r, 2 * wide, false);
    moves(m, "narrow", elements, wide + r.narrow);
    moves(m, "copy", r.tokens * r.width, 2 * r.narrow);
    scatter_rows(m, &r);
}

/* The gradient of rows brought in order: room of all experts is one row, to which what
 * stands in it is added one after the other. */
static void
unpick(struct sc__layer_maker *m, const struct routes *r, double rows, double room) {
    struct sc__kernel k =
        sc__rows_added(m->kernel_model, "add_rows", rows, rows, r->width, r->narrow);
    k.us += r->operators->rows_added[3] * room;
    moves(m, "zeros", rows * r->width, r->narrow);
    sc__layer_push(m, k);
}

/* What came by ranks is brought in the order of experts and back (_permute, _unpermute),
 * with room behind each expert's by a row that is joined to them. */
void sc__layer_titan_arrange(struct sc__layer_maker *m,
                             const struct sc__mlp *f,
                             bool behind) {
    struct routes r = routes_of(m);
    bool padded = m->s->padded_routes;
    double room = padded ? EXPERT_ALIGNMENT * (double)f->experts : 0;
    double rows = (double)(f->rows * f->experts);
    double elements = rows * r.width;
    if (!padded && m->s->ep <= 1)
        return;
    if (m->backward && behind && padded) {
        moves(m, "zeros", elements, r.narrow);
        moves(m, "copy", elements, 2 * r.narrow);
    }
    if (!m->backward && !behind && padded)
        moves(m, "copy", elements, 2 * r.narrow);
    if (m->backward && !behind)
        unpick(m, &r, rows, room);
    else
        moves(m, "pick_rows", elements, 2 * r.narrow);
}

/* ---- biases (GPT-OSS) ---- */

/* The row of its expert is picked for every token and added; back rows are added up
 * expert by expert, one after the other. */
static void
bias_rows(struct sc__layer_maker *m, double rows, double experts, double width) {
    double e = sc__dtype_bytes(m->s->dtype);
    double elements = rows * width;
    if (m->backward) {
        moves(m, "zeros", experts * width, e);
        sc__layer_push(
            m,
            sc__rows_added(m->kernel_model, "bias_grad", rows, experts, width, e));
        return;
    }
    double again = sc__kernel_model_operators(m->kernel_model)->picked_again;
    moves(m, "pick_rows", elements, e * (1 + again));
    moves(m, "add", elements, 3 * e);
}

/* Both halves lie side by side, element by element: they are clamped, one is multiplied by
 * its sigmoid and the other, to which 1 is added, by that (seven operators). Back each
 * half's gradient is put between zeros, and both are added. */
static void clamped_gate(struct sc__layer_maker *m, double elements) {
    double e = sc__dtype_bytes(m->s->dtype);
    double apart = 3 * e; /* a half is read with what lies between, and written */
    if (!m->backward) {
        sc__layer_elementwise(m, "clamp", apart * elements, 2);
        sc__layer_elementwise(m, "gate", 2 * e * elements, 3);
        sc__layer_elementwise(m, "gate", 3 * e * elements, 2);
        return;
    }
    sc__layer_elementwise(m, "gate_b", 3 * e * elements, 6);
    sc__layer_elementwise(m, "gate_b", 2 * e * elements, 1);
    sc__layer_elementwise(m, "clamp_b", (apart + e) * elements, 2);
    sc__layer_elementwise(m, "zeros", 2 * e * elements, 2);
    sc__layer_elementwise(m, "copy", apart * elements, 2);
    sc__layer_elementwise(m, "add", 6 * e * elements, 1);
}

void sc__layer_route_biases(struct sc__layer_maker *m, const struct sc__mlp *f) {
    double rows = (double)(f->rows * f->experts);
    double halves = m->s->gated ? 2 : 1;
    m->part = f->out;
    bias_rows(m, rows, (double)f->experts, (double)f->hidden);
    m->part = f->in;
    clamped_gate(m, rows * (double)f->ffn);
    bias_rows(m, rows, (double)f->experts, halves * (double)f->ffn);
}
