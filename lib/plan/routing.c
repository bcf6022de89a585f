/* routing: a layer waits for its fullest rank, so what counts is the expectation of the
 * largest of ep sums of experts that were dealt out at random. It has no closed form but
 * at the ends (one rank; a rank for every expert): it is the mean over shuffles from a
 * fixed seed, the same on every machine. */
#include "plan/routing.h"

#include "base/arena.h"
#include "base/random.h"

#include <math.h>

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

static double
fullest_of(const double *p, const uint32_t *order, uint32_t ep, uint32_t each) {
    double most = 0;
    for (uint32_t rank = 0; rank < ep; rank++) {
        double sum = 0;
        for (uint32_t i = 0; i < each; i++)
            sum += p[order[rank * each + i]];
        most = fmax(most, sum);
    }
    return most;
}

double sc__routing_fullest(struct sc__arena *arena,
                           uint32_t experts,
                           uint32_t topk,
                           uint32_t ep,
                           double exponent) {
    double *p = routing_probabilities(arena, experts, topk, exponent);
    double mean = (double)topk / ep;
    if (ep == experts)
        return p[0] / mean;
    if (ep == 1)
        return 1;
    uint32_t *order = SC__NEW_ARRAY(arena, uint32_t, experts);
    uint64_t state = 1;
    double sum = 0;
    for (uint32_t i = 0; i < experts; i++)
        order[i] = i;
    for (unsigned n = 0; n < ROUTING_SHUFFLES; n++) {
        routing_shuffle(order, experts, &state);
        sum += fullest_of(p, order, ep, experts / ep);
    }
    return fmax(sum / ROUTING_SHUFFLES / mean, 1);
}
