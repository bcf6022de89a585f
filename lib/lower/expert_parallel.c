/* expert_parallel: what experts on other ranks cost a layer: the all-to-alls that
 * send tokens to their experts (dispatch) and back (combine), the gather and
 * scatter inside an expert that is cut itself, and the host's part. */
#include "lower/step_scripts.h"

#include <math.h>

static bool by_hybrid_ep(const struct sc__lowering *l) {
    return l->plan.dedup && l->constants.software.hybrid_ep > 0;
}

/* Ranks of an expert-parallel group in one NVLink domain. */
static uint32_t domain_ranks(const struct sc__lowering *l) {
    uint32_t ep = l->plan.mesh.ep;
    uint32_t node = l->cluster->node_gpus;
    return node && node < ep ? node : ep;
}

/* HybridEP: a probability of each expert of the domain goes with every copy, in fp32
 * (DeepEP's docs/Hybrid-EP_Implementation.md, prob_buffer). */
static double probability_bytes(const struct sc__lowering *l) {
    double experts = (double)l->model->experts / l->plan.mesh.ep;
    return by_hybrid_ep(l) ? 4 * experts * domain_ranks(l) : 0;
}

/* Bytes that the experts of a rank get, and give back. */
static double exchange_bytes(const struct sc__lowering *l, bool probabilities) {
    const struct sc__plan *p = &l->plan;
    double each = sc__model_routed_width(l->model) * sc__plan_width(p) +
                  (probabilities ? probability_bytes(l) : 0);
    return sc__plan_tokens(p) / p->mesh.tp * sc__plan_copies(p, l->model) * each *
           p->imbalance;
}

/* HybridEP between nodes: every rank first gathers which tokens of all ranks go where, a
 * byte for each token and expert. */
void sc__expert_gather_map(struct sc__script_maker *k) {
    const struct sc__plan *p = &k->l->plan;
    double each = sc__plan_tokens(p) / p->mesh.tp * (double)k->l->model->experts;
    if (by_hybrid_ep(k->l) && domain_ranks(k->l) < p->mesh.ep)
        sc__script_collective(k,
                              SC__ALLGATHER,
                              SC__GROUP_EP,
                              SC__STREAM_EP,
                              each * p->mesh.ep,
                              p->overlap_moe,
                              "expert routes");
}

/* Ranks whose experts get nothing take part as well. probabilities: with those of the
 * tokens, or with their gradients. */
void sc__expert_all_to_all(struct sc__script_maker *k, bool probabilities) {
    sc__script_collective(k,
                          SC__ALLTOALL,
                          SC__GROUP_EP,
                          SC__STREAM_EP,
                          fmax(1, exchange_bytes(k->l, probabilities)),
                          k->l->plan.overlap_moe,
                          "expert exchange");
}

void sc__expert_tensor_parallel(struct sc__script_maker *k, enum sc__coll coll) {
    double bytes = sc__plan_tokens(&k->l->plan) / k->l->plan.mesh.tp * k->l->model->topk *
                   sc__model_routed_width(k->l->model) * sc__plan_width(&k->l->plan) *
                   k->l->plan.imbalance;
    sc__script_collective(k,
                          coll,
                          SC__GROUP_ETP,
                          SC__STREAM_COMM,
                          fmax(1, bytes * k->l->plan.mesh.etp),
                          false,
                          "expert tensor parallel");
}

/* Without a capacity the shapes behind the router are not known before it has run: the
 * host reads the counts of tokens, and the queue of kernels is empty meanwhile. Fused
 * kernels read them on the GPU. */
bool sc__expert_host_waits(const struct sc__script_maker *k) {
    const struct sc__plan *p = &k->l->plan;
    return p->moe_kernels != SC_MOE_KERNELS_FUSED && !sc__routes_by_modules(p) &&
           !(p->capacity > 0) && !(p->graphs & SC__GRAPH_FULL);
}

/* What stands around the experts is counted kernel by kernel. */
static bool routes_are_kernels(const struct sc__script_maker *k) {
    return sc__routes_by_modules(&k->l->plan) ||
           (k->l->constants.software.titan_routes > 0 && !k->l->plan.dedup);
}

/* Host time beside the launches of kernels: operators of router, permutation and exchange,
 * half of them up to the router's end, which graphs can hold; and the products of experts
 * that run one after another. */
double sc__expert_host_us(const struct sc__script_maker *k, bool routing, bool experts) {
    const struct sc__plan *p = &k->l->plan;
    const struct sc__software_constants *c = &k->l->constants.software;
    bool backward = k->phase == SC__BACKWARD;
    double half = 0.5 * (backward ? c->host_route_back_us : c->host_route_us);
    double local = fmax(1, (double)k->l->model->experts / p->mesh.ep);
    double products = backward ? 4 : 2;
    double us = 0;
    if (!k->moe || routes_are_kernels(k))
        return 0;
    if (routing && !(p->graphs & SC__GRAPH_ROUTER))
        us += half;
    if (experts)
        us += half;
    if (experts && p->moe_kernels == SC_MOE_KERNELS_UNFUSED)
        us += c->host_product_us * products * local;
    return us;
}
