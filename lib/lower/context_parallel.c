/* context_parallel: the core of attention where a sequence is cut over ranks.
 *
 *   p2p          keys and values go round a ring beside the core, and their gradients
 *                (Megatron's, Transformer Engine's)
 *   all_gather   keys and values of the whole sequence are gathered before it, and their
 *                gradients scattered after it
 *   a2a          heads are exchanged for tokens and back (Ulysses)
 *
 * PyTorch's (context_parallel, with --use-torch-fsdp2) computes cp pieces one after
 * another and merges them in fp32. Gradients of keys and values always go round, one round
 * more than there are others. Operator by operator, the gather runs beside the first piece,
 * which needs none of it, and a round beside the next piece. Compiled, each is waited for
 * where it is issued, since tracing puts the wait there; merging is then fused. */
#include "lower/step_scripts.h"

struct context {
    struct sc__script_maker *k;
    const struct sc__layer_kernels *list;
    unsigned phases;
    bool backward;
    bool compiled;
    double kv; /* bytes of keys and values of the whole sequence */
    double queries_per_kv;
};

static void gather_keys(const struct context *c, bool async) {
    sc__script_collective(c->k,
                          SC__ALLGATHER,
                          SC__GROUP_CP,
                          SC__STREAM_CP,
                          c->kv,
                          async,
                          "cp keys and values");
}

static void core_kernels(const struct context *c, double piece) {
    c->k->piece = piece;
    sc__script_part(c->k, c->list, SC__PART_ATTENTION_CORE, c->phases);
    c->k->piece = 0;
}

static void scatter_gradients(const struct context *c, bool beside) {
    if (c->backward)
        sc__script_collective(c->k,
                              SC__REDUCESCATTER,
                              SC__GROUP_CP,
                              SC__STREAM_CP,
                              c->kv,
                              beside,
                              "cp gradients");
}

static void by_ring(const struct context *c) {
    gather_keys(c, true);
    scatter_gradients(c, true);
    core_kernels(c, 0);
    sc__script_join(c->k, SC__STREAM_CP);
}

static void by_gather(const struct context *c) {
    gather_keys(c, false);
    core_kernels(c, 0);
    scatter_gradients(c, false);
}

static void exchange_heads(const struct context *c, double bytes) {
    sc__script_collective(c->k,
                          SC__ALLTOALL,
                          SC__GROUP_CP,
                          SC__STREAM_CP,
                          bytes / c->k->l->plan.mesh.cp,
                          false,
                          "cp exchange");
}

static void by_exchange(const struct context *c) {
    exchange_heads(c, c->kv / 2 * (2 + c->queries_per_kv));
    core_kernels(c, 0);
    exchange_heads(c, c->kv / 2 * c->queries_per_kv);
}

/* ---- PyTorch's ---- */

/* Bytes that merging pieces moves, for each element of a rank's output, in terms of its
 * width w and fp32 sums. Keys and values have been repeated for every head, so all three
 * are of one size. */
static double fused_merge_bytes(double w, double cp, bool backward) {
    double flat = 4 * w;    /* keys and values side by side, for the gather */
    double add = 4 + w + 4; /* a piece to its sum */
    if (!backward)
        return flat + w + 4 + add * (cp - 1);
    return flat + 3 * add * cp; /* of queries, keys and values */
}

/* The same kernel by kernel. Half of the later pieces have half of the queries, the others
 * half of the keys; the halves are put back by copying the whole. */
static double merge_bytes(double w, double cp, bool backward) {
    double later = cp - 1;
    double flat = 4 * w * later;
    double widen = w + 4;
    if (!backward) {
        double whole = 12 + 8 + 12; /* out - block, times a factor, out - that */
        return flat + cp * widen + later * (0.5 * whole + 0.5 * (whole / 2 + 8)) + widen;
    }
    double add = 4 + w + 4;
    double part = add / 2 + 8;
    double keys = 2 * add + 2 * later * (0.5 * add + 0.5 * part);
    double queries = cp * (0.5 * add + 0.5 * part);
    double flat_sums = 4 * 4 * cp; /* both sums side by side, for the next round */
    return flat + keys + queries + flat_sums + 3 * 4 + 3 * widen;
}

static void merge(const struct context *c) {
    const struct sc__lowering *l = c->k->l;
    double cp = l->plan.mesh.cp;
    double w = sc__plan_width(&l->plan);
    double elements = c->kv / 2 / w / cp;
    double each = c->compiled ? fused_merge_bytes(w, cp, c->backward)
                              : merge_bytes(w, cp, c->backward);
    double kernels = (c->compiled ? 1 : c->backward ? 8 : 6) * cp;
    struct sc__kernel x =
        sc__elementwise(l->kernel_model, "merge", elements * each / kernels);
    c->k->launches += kernels;
    sc__script_compute(c->k,
                       SC__WORK_ELEMENTWISE,
                       kernels * sc__step_kernel_us(l, &x),
                       "elementwise");
}

/* So many rounds of a rank's gradients of keys and values in fp32: each sends them to the
 * next (all_to_all_single to one peer, whatever brings keys and values). */
static void send_rounds(const struct context *c, uint32_t rounds, bool async) {
    const struct sc__plan *p = &c->k->l->plan;
    double sums = c->kv / p->mesh.cp * 4 / sc__plan_width(p);
    for (uint32_t i = 0; i < rounds; i++)
        sc__script_collective(c->k,
                              SC__SHIFT,
                              SC__GROUP_CP,
                              SC__STREAM_CP,
                              sums,
                              async,
                              "cp gradients");
}

static void by_compiled_pieces(const struct context *c) {
    gather_keys(c, false);
    core_kernels(c, 0);
    merge(c);
    if (c->backward)
        send_rounds(c, c->k->l->plan.mesh.cp, false);
}

static void by_pieces(const struct context *c, bool ring) {
    uint32_t cp = c->k->l->plan.mesh.cp;
    gather_keys(c, true);
    if (!ring) {
        core_kernels(c, 1.0 / cp);
        sc__script_join(c->k, SC__STREAM_CP);
    }
    if (c->backward)
        send_rounds(c, cp - 1, true);
    core_kernels(c, ring ? 0 : 1 - 1.0 / cp);
    merge(c);
    sc__script_join(c->k, SC__STREAM_CP);
    if (c->backward)
        send_rounds(c, 1, false);
}

/* Megatron cuts the product of queries, keys and values by its rows even where there are
 * more ranks than key-value heads: each rank gathers all of what they made and takes the
 * heads it needs, and gradients go back the same way (get_query_key_value_tensors of
 * megatron/core/transformer/attention.py). */
static void share_heads(struct sc__script_maker *k,
                        const struct sc__attention_heads *heads,
                        enum sc__coll coll) {
    const struct sc__plan *p = &k->l->plan;
    const struct sc__model *m = k->l->model;
    double queries = (m->attention_gate ? 2.0 : 1.0) * m->heads;
    double all = queries + (double)heads->kv_projections * heads->kv_heads;
    if (heads->kv_heads >= p->mesh.tp)
        return;
    sc__script_collective(k,
                          coll,
                          SC__GROUP_TP,
                          SC__STREAM_COMM,
                          sc__plan_tokens(p) * all * heads->qk_dim * sc__plan_width(p),
                          false,
                          "tp heads");
}

static void core(struct sc__script_maker *k,
                 const struct sc__layer_kernels *list,
                 const struct sc__attention_heads *heads,
                 bool backward) {
    const struct sc__plan *p = &k->l->plan;
    const struct context c = {.k = k,
                              .list = list,
                              .phases = backward ? 1u << SC__BACKWARD | 1u << SC__WGRAD
                                                 : 1u << SC__FORWARD,
                              .backward = backward,
                              .compiled = !sc__fusion_eager(p->fusion),
                              .kv = sc__plan_kv_bytes(p, k->l->model, heads),
                              .queries_per_kv = 1.0 * k->l->model->heads / heads->kv_heads};
    if (p->mesh.cp == 1)
        core_kernels(&c, 0);
    else if (p->cp_kind == SC__CP_ALLTOALL)
        by_exchange(&c);
    else if (p->torch_copies && c.compiled)
        by_compiled_pieces(&c);
    else if (p->torch_copies)
        by_pieces(&c, p->cp_kind == SC__CP_RING);
    else if (p->cp_kind == SC__CP_RING)
        by_ring(&c);
    else
        by_gather(&c);
}

void sc__context_core(struct sc__script_maker *k,
                      const struct sc__layer_kernels *list,
                      int layer_kind,
                      bool backward) {
    struct sc__attention_heads heads = sc__kind_heads(k->l, layer_kind);
    if (!backward)
        share_heads(k, &heads, SC__ALLGATHER);
    core(k, list, &heads, backward);
    if (backward)
        share_heads(k, &heads, SC__REDUCESCATTER);
}

void sc__context_core_again(struct sc__script_maker *k,
                            const struct sc__layer_kernels *list,
                            int layer_kind) {
    struct sc__attention_heads heads = sc__kind_heads(k->l, layer_kind);
    core(k, list, &heads, false);
}
