/* The time of a collective on a cluster, and how near it is. */
#ifndef SC_TESTS_COLLECTIVE_HELPERS_H
#define SC_TESTS_COLLECTIVE_HELPERS_H

#include "cluster_text.h"
#include <math.h>

static double us_of(const struct sc__cluster *c, int coll, uint32_t ranks, uint64_t bytes) {
    struct sc__shape s = sc__cluster_shape(c, NULL, ranks);
    return sc__us(sc__collective_time(c, coll, &s, bytes));
}

static void assert_near(double got, double wanted, double share, const char *what) {
    if (fabs(got - wanted) > share * wanted)
        fail_msg("%s: %.4f, not %.4f", what, got, wanted);
}

#endif
