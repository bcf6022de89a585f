/* expert_parallel: what experts on other ranks cost a layer: the all-to-alls that
 * send tokens to their experts (dispatch) and back (combine), the gather and
 * scatter inside an expert that is cut itself, and the host's part. */
#include "lower/step_scripts.h"

#include <math.h>

/* Bytes that the experts of a rank get, and give back. */
static double dispatch_bytes(const struct sc__lowering *l) {
    const struct sc__plan *p = &l->plan;
    return sc__plan_tokens(p) / p->mesh.tp * sc__plan_copies(p, l->model) *
           sc__model_routed_width(l->model) * sc__plan_width(p) * p->imbalance;
}

/* A share of it. Ranks whose experts get nothing take part as well. */
static void exchange(struct sc__script_maker *k, double share, bool async) {
    double bytes = share > 0 ? fmax(1, dispatch_bytes(k->l) * share) : 0;
    sc__script_collective(k,
                          SC__ALLTOALL,
                          SC__GROUP_EP,
                          SC__STREAM_EP,
                          bytes,
                          async,
                          "expert exchange");
}

/* DeepEP and HybridEP send in chunks and permute what has arrived meanwhile: a share
 * of the exchange runs beside that and the first products. */
void sc__expert_all_to_all(struct sc__script_maker *k) {
    const struct sc__plan *p = &k->l->plan;
    double exposed = p->dedup ? k->l->constants.software.flex_exposed : 1;
    if (p->overlap_moe || exposed >= 1) {
        exchange(k, 1, p->overlap_moe);
        return;
    }
    exchange(k, exposed, false);
    exchange(k, 1 - exposed, true);
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

/* More host time of a layer with experts before routing was fused: half of it
 * prepares the exchange, half feeds the experts one by one. */
double sc__expert_host_us(const struct sc__script_maker *k) {
    const struct sc__plan *p = &k->l->plan;
    /* with a capacity every shape is known beforehand: nobody waits for counts */
    bool waits = p->moe_unfused && !(p->capacity > 0);
    return k->moe && waits ? k->l->constants.software.host_moe_us *
                                 (p->graphs & SC__GRAPH_ROUTER ? 0.5 : 1)
                           : 0;
}
