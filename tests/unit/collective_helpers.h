/* Clusters by their text, and the time of a collective on one. */
#ifndef SC_TESTS_COLLECTIVE_HELPERS_H
#define SC_TESTS_COLLECTIVE_HELPERS_H

#include "hardware/cluster.h"

#include "test.h"
#include <math.h>

#include "context.h"

static struct sc__cluster cluster(const char *text) {
    struct sc__cluster c;
    sc_status status = sc__cluster_parse(ctx, text, 0, &c);
    if (status != SC_OK)
        fail_msg("%s: %s", text, sc_error_text(ctx));
    return c;
}

static double us_of(const struct sc__cluster *c, int coll, uint32_t ranks, uint64_t bytes) {
    struct sc__shape s = sc__cluster_shape(c, NULL, ranks);
    return sc__us(sc__collective_time(c, coll, &s, bytes));
}

static void assert_near(double got, double wanted, double share, const char *what) {
    if (fabs(got - wanted) > share * wanted)
        fail_msg("%s: %.4f, not %.4f", what, got, wanted);
}

#endif
