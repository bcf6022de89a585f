#include "plan/slowest_rank.h"

#include <math.h>

/* The probability that all of n are below x. */
static double all_below(double x, double n) {
    double above = 0.5 * erfc(x * sqrt(0.5));
    return exp(n * log1p(-above));
}

/* ∫ of 1 − Φⁿ above 0, less ∫ of Φⁿ below it, by Simpson's rule: what is beyond ten
 * standard deviations is less than 2^24 · 10⁻²³. */
double sc__expected_largest(double n) {
    enum { STEPS = 2000 };
    static const double far = 10;
    double width = far / STEPS;
    double sum = 0;
    if (!(n > 1))
        return 0;
    for (int i = 0; i <= STEPS; i++) {
        double x = i * width;
        double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += weight * (1 - all_below(x, n) - all_below(-x, n));
    }
    return sum * width / 3;
}
