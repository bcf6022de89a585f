/* routing: a layer waits for its fullest rank, the others wait in its exchange. How full
 * the ranks are is the expectation of the largest of ep sums of experts that were dealt
 * out at random, of the second largest, and so on. It has no closed form but at the ends
 * (one rank; a rank for every expert): it is the mean over shuffles from a fixed seed, the
 * same on every machine. */
#include "plan/routing.h"

#include "base/arena.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

enum { ROUTING_SHUFFLES = 1000 };

/* Probability that a token takes expert i, the most wanted first: in proportion to how
 * much it is wanted, but at most 1, since a token takes an expert once. */
static double *routing_probabilities(struct sc__arena *arena,
                                     uint32_t experts,
                                     uint32_t topk,
                                     double exponent) {
    double *p = SC__NEW_ARRAY(arena, double, experts);
    double wanted = 0;
    double takes = topk;
    uint32_t always = 0;
    for (uint32_t i = 0; i < experts; i++) {
        p[i] = pow(i + 1, -exponent);
        wanted += p[i];
    }
    for (; always < topk && takes * p[always] >= wanted; always++) {
        wanted -= p[always];
        takes -= 1;
        p[always] = 1;
    }
    for (uint32_t i = always; i < experts; i++)
        p[i] *= takes / wanted;
    return p;
}

static void routing_shuffle(uint32_t *order, uint32_t count, uint64_t *state) {
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t k = (uint32_t)(sc__random(state) % (i + 1));
        uint32_t kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

static int by_fullness(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Sums of neighbours, the largest first. */
static void
ranks_of(const double *p, const uint32_t *order, uint32_t ep, uint32_t each, double *sums) {
    for (uint32_t rank = 0; rank < ep; rank++) {
        sums[rank] = 0;
        for (uint32_t i = 0; i < each; i++)
            sums[rank] += p[order[rank * each + i]];
    }
    qsort(sums, ep, sizeof *sums, by_fullness);
}

double *sc__routing_loads(struct sc__arena *arena,
                          uint32_t experts,
                          uint32_t topk,
                          uint32_t ep,
                          double exponent) {
    double *p = routing_probabilities(arena, experts, topk, exponent);
    double *loads = SC__NEW_ARRAY(arena, double, ep);
    double *sums = SC__NEW_ARRAY(arena, double, ep);
    uint32_t *order = SC__NEW_ARRAY(arena, uint32_t, experts);
    double mean = (double)topk / ep;
    uint64_t state = 1;
    for (uint32_t i = 0; i < experts; i++)
        order[i] = i;
    if (ep == experts || ep == 1) { /* no order is another */
        for (uint32_t r = 0; r < ep; r++)
            loads[r] = ep == 1 ? 1 : p[r] / mean;
        return loads;
    }
    for (unsigned n = 0; n < ROUTING_SHUFFLES; n++) {
        routing_shuffle(order, experts, &state);
        ranks_of(p, order, ep, experts / ep, sums);
        for (uint32_t r = 0; r < ep; r++)
            loads[r] += sums[r];
    }
    for (uint32_t r = 0; r < ep; r++)
        loads[r] = loads[r] / ROUTING_SHUFFLES / mean;
    loads[0] = fmax(loads[0], 1);
    return loads;
}

/* A rank without a token still takes part, as one that is not there would not (a load of 0
 * means 1 to the kernels). */
static double least_load(double load) {
    return fmax(load, 1e-9);
}

/* The fullest alone, the others in bins of equal count, each with its mean: what they get
 * together stays the same. */
void sc__routing_levels(const double *loads, uint32_t ep, struct sc__routing *out) {
    uint32_t others = ep - 1;
    uint32_t bins = others < SC__ROUTING_LEVELS - 1 ? others : SC__ROUTING_LEVELS - 1;
    uint32_t at = 1;
    *out = (struct sc__routing){.levels = 1, .load[0] = loads[0], .ranks[0] = 1};
    for (uint32_t b = 0; b < bins; b++) {
        uint32_t count = others / bins + (b < others % bins);
        double sum = 0;
        for (uint32_t i = 0; i < count; i++)
            sum += loads[at++];
        out->load[out->levels] = least_load(sum / count);
        out->ranks[out->levels++] = count;
    }
}

/* ---- of a plan ---- */

/* An exponent above this is one expert that every token wants: no more changes. */
#define STEEPEST_SKEW 20

static sc_status check_skew(struct sc_context *ctx, const sc_plan *g) {
    if (!(g->moe_skew >= 0 && g->moe_skew <= STEEPEST_SKEW))
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            "0: all experts alike; 1: the second is half as wanted as the first",
            "--moe-skew %g is not between 0 and %d",
            g->moe_skew,
            STEEPEST_SKEW);
    if (g->moe_skew > 0 && g->moe_imbalance != 0)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--moe-skew says how full the fullest rank is, and so does "
                        "--moe-imbalance");
    return SC_OK;
}

/* What others leave to a rank that gets `fullest` times the mean. */
static void one_full_rank(double fullest, uint32_t ep, struct sc__routing *out) {
    *out = (struct sc__routing){.levels = 2,
                                .load = {fullest, least_load((ep - fullest) / (ep - 1))},
                                .ranks = {1, ep - 1}};
}

sc_status sc__plan_resolve_routing(struct sc_context *ctx,
                                   const sc_plan *g,
                                   const struct sc__model *m,
                                   struct sc__plan *p) {
    uint32_t ep = p->mesh.ep;
    p->imbalance = g->moe_imbalance != 0 ? g->moe_imbalance : 1;
    SC__TRY(check_skew(ctx, g));
    bool placed = m->experts && ep && m->experts % ep == 0 && m->topk <= m->experts;
    if (placed && ep > 1 && p->imbalance > 1)
        one_full_rank(p->imbalance, ep, &p->routing);
    if (!(g->moe_skew > 0) || !placed)
        return SC_OK;
    double *loads = sc__routing_loads(&ctx->arena, m->experts, m->topk, ep, g->moe_skew);
    p->imbalance = loads[0];
    if (ep > 1 && loads[0] > 1)
        sc__routing_levels(loads, ep, &p->routing);
    if (ep == 1)
        return SC_OK; /* one rank has all experts */
    sc__note(ctx,
             "routing",
             "experts wanted by a power law of exponent %g, dealt out at random: the "
             "fullest of %u ranks gets %.3g times the mean, the emptiest %.3g, and every "
             "layer waits for the fullest",
             g->moe_skew,
             ep,
             p->imbalance,
             loads[ep - 1]);
    return SC_OK;
}

void sc__plan_cap_routing(struct sc__plan *p) {
    if (!(p->capacity > 0))
        return;
    p->imbalance = fmin(p->imbalance, p->capacity);
    for (uint32_t v = 0; v < p->routing.levels; v++)
        p->routing.load[v] = fmin(p->routing.load[v], p->capacity);
}
