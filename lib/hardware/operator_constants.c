#include "hardware/operator_constants.h"

#include "base/data.h"

#include <jansson.h>
#include <math.h>

/* A number, or a list of so many; what is not there is no number, nor is any time that
 * rests on it. */
static void read_numbers(const json_t *root, const char *key, double *out, unsigned count) {
    const json_t *v = json_object_get(root, key);
    for (unsigned i = 0; i < count; i++) {
        const json_t *item = json_is_array(v) ? json_array_get(v, i) : v;
        out[i] = json_is_number(item) ? json_number_value(item) : NAN;
    }
}

struct sc__operator_constants sc__operator_constants(void) {
    const json_t *root = sc__data_json("operators.json");
    struct sc__operator_constants c;
    double index[3];
    read_numbers(root, "index_ps", index, 3);
    c.by_row = index[0] + 2 * index[1] + index[2]; /* of two dimensions and two inputs */
    read_numbers(root, "convert_ps", &c.converts, 1);
    read_numbers(root, "between_ps", &c.between, 1);
    read_numbers(root, "picked_again", &c.picked_again, 1);
    read_numbers(root, "rows_added", c.rows_added, 4);
    read_numbers(root, "mask_traffic", &c.mask_traffic, 1);
    read_numbers(root, "masked_longer", c.masked_longer, 2);
    read_numbers(root, "masked_more_ps", c.masked_more, 2);
    read_numbers(root, "masked_widest_ps", c.masked_widest, 2);
    read_numbers(root, "reference_fp32", &c.fp32, 1);
    return c;
}

double sc__operators_slower(const struct sc__operator_constants *c,
                            const struct sc__gpu *gpu) {
    return gpu->peak[SC__FP32] > 0 ? c->fp32 / gpu->peak[SC__FP32] : 1;
}
