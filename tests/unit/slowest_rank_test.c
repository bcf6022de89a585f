/* The expected largest of n normal values: closed forms for few, published values and a
 * bound for many, and a simulation. */
#include "plan/slowest_rank.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>

static void near(double is, double wanted, double tolerance) {
    if (!(fabs(is - wanted) <= tolerance))
        fail_msg("%.9g is not %.9g", is, wanted);
}

static void closed_forms(void **state) {
    const double pi = acos(-1);
    (void)state;
    near(sc__expected_largest(1), 0, 0);
    near(sc__expected_largest(0), 0, 0);
    near(sc__expected_largest(2), 1 / sqrt(pi), 1e-9);
    near(sc__expected_largest(3), 1.5 / sqrt(pi), 1e-9);
    /* order statistics of four and five: 6/π^1.5·asin(1/3)-like forms, Jones 1948 */
    near(sc__expected_largest(4), 3 / sqrt(pi) * (0.5 + asin(1.0 / 3) / pi), 1e-9);
    near(sc__expected_largest(5), 2.5 / sqrt(pi) * (0.5 + 3 * asin(1.0 / 3) / pi), 1e-9);
}

/* Tippett 1925: 1.53875 of 10, 2.50759 of 100, 3.24144 of 1000. */
static void published(void **state) {
    (void)state;
    near(sc__expected_largest(10), 1.53875, 1e-5);
    near(sc__expected_largest(100), 2.50759, 1e-5);
    near(sc__expected_largest(1000), 3.24144, 1e-5);
}

/* It grows, stays below √(2 ln n), and comes near the Gumbel form. */
static void grows_as_maxima_do(void **state) {
    double before = 0;
    (void)state;
    for (double n = 2; n <= 1 << 24; n *= 2) {
        double b = sqrt(2 * log(n));
        double is = sc__expected_largest(n);
        assert_true(is > before && is < b);
        before = is;
        if (n < 1024)
            continue;
        double place = b - (log(log(n)) + log(4 * acos(-1))) / (2 * b);
        near(is, place + 0.5772 / b, 0.05);
    }
}

static double uniform(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
}

static void simulated(void **state) {
    uint64_t seed = 1;
    double sum = 0;
    enum { TRIES = 20000, RANKS = 64 };
    (void)state;
    for (int t = 0; t < TRIES; t++) {
        double most = -10;
        for (int i = 0; i < RANKS; i++) {
            double u = uniform(&seed);
            double x = sqrt(-2 * log(u)) * cos(2 * acos(-1) * uniform(&seed));
            most = fmax(most, x);
        }
        sum += most;
    }
    near(sum / TRIES, sc__expected_largest(RANKS), 0.015); /* five standard errors */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(published),
        cmocka_unit_test(grows_as_maxima_do),
        cmocka_unit_test(simulated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
