/* capture tables: rows that an index adds up, and the largest of rows. */
#include <math.h>
#include <string.h>

#include "frontend/capture/capture_pricing.h"
#include "hardware/kernel.h"

/* The gradient of rows that one index picked. */
static bool price_rows_added(struct sc__pricing *p, const struct sc__operator *o) {
    const struct sc__capture_tensor *table = sc__pricing_input(p, 0);
    const struct sc__capture_tensor *index = sc__pricing_input(p, 1);
    const struct sc__capture_tensor *values = sc__pricing_input(p, 2);
    bool rows = index->dims == 1 && table->dims && values->dims == table->dims;
    if (strcmp(p->call->op, "aten.index_put") != 0 || !rows || !table->size[0])
        return false;
    struct sc__kernel kernel = sc__rows_added(p->model,
                                              p->call->op,
                                              index->elements,
                                              (double)table->size[0],
                                              values->elements / fmax(1, index->elements),
                                              values->bytes / fmax(1, values->elements));
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    p->price.kernels = o->kernels;
    return true;
}

/* Values added at places that may repeat: each by itself where every dimension is
 * indexed, rows of them where the last is not. */
bool sc__pricing_index_put(struct sc__pricing *p, const struct sc__operator *o) {
    bool put = !strncmp(p->call->op, "aten.index_put", 14) ||
               !strcmp(p->call->op, "aten._index_put_impl_");
    if (!put || p->call->in.count < 3)
        return false;
    if (p->call->in.count == 3)
        return price_rows_added(p, o);
    const struct sc__capture_tensor *values = sc__pricing_input(p, p->call->in.count - 1);
    struct sc__kernel kernel =
        sc__pricing_elements(p, values->bytes, values->elements, p->operators->put_ps);
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    p->price.kernels = o->kernels;
    return true;
}

/* The largest of rows. Long rows are shared by blocks (should_use_multiblock of PyTorch's
 * TensorTopK.cu), which look at them digit by digit; else a block has a row. us: a row
 * and an element of it; all kernels, a row and an element of shared ones. */
bool sc__pricing_topk(struct sc__pricing *p, const struct sc__operator *o) {
    static const struct {
        double rows; /* at most */
        double columns;
    } shared[] =
        {{20, 20000}, {40, 10000}, {80, 8000}, {199, 5000}, {799, 3000}, {4000, 800}};
    const struct sc__capture_tensor *x = sc__pricing_input(p, 0);
    const double *us = p->operators->topk;
    double columns = x->dims ? (double)sc__pricing_size(x, x->dims - 1u) : 1;
    double rows = x->elements / fmax(1, columns);
    double least = 400;
    if (strcmp(p->call->op, "aten.topk") != 0)
        return false;
    for (size_t i = sizeof shared / sizeof *shared; i-- > 0;)
        if (rows <= shared[i].rows)
            least = shared[i].columns;
    bool one = columns < least;
    double ps = (one ? us[0] : us[3]) * rows + (one ? us[1] : us[4]) * x->elements;
    struct sc__kernel kernel = sc__pricing_elements(p, x->bytes, 1, ps);
    kernel.us += one ? 0 : us[2];
    kernel.work = o->work;
    sc__pricing_kernel(p, kernel);
    p->price.kernels = one ? 2 : o->kernels;
    return true;
}
