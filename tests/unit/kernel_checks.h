/* What tests of kernel costs share: a GPU by its name, and figures that must agree but
 * for rounding. */
#ifndef SC_TESTS_KERNEL_CHECKS_H
#define SC_TESTS_KERNEL_CHECKS_H

#include "context.h"
#include "hardware/gpu.h"

#include <math.h>

static const struct sc__gpu *gpu(const char *name) {
    const struct sc__gpu *g;
    if (sc__gpu_find(ctx, name, &g) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    return g;
}

static void near(double a, double b) {
    if (!(fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

#endif
