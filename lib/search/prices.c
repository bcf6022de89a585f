/* prices: what a GPU-hour costs, of the GPU's own description or of data/prices.json. */
#include "search/search.h"

#include "base/data.h"
#include "hardware/gpu.h"

#include <jansson.h>

/* Whoever names a GPU means the one that the data have by its own name. */
static const char *own_name(struct sc_context *ctx, const char *gpu, double *usd_per_hour) {
    const struct sc__gpu *found;
    if (sc__gpu_find(ctx, gpu, &found) == SC_OK) {
        *usd_per_hour = found->usd_per_hour;
        return found->name;
    }
    sc__clear_error(ctx); /* a cluster may name any */
    return gpu;
}

sc_status
sc__search_price(struct sc_context *ctx, const char *gpu, struct sc__search_price *out) {
    const json_t *root = sc__data_json("prices.json");
    *out = (struct sc__search_price){0};
    if (!root)
        return sc__fail(ctx,
                        SC_SYSTEM,
                        NULL,
                        NULL,
                        "data/prices.json was not built in, or is damaged");
    out->gpu = own_name(ctx, gpu, &out->usd_per_hour);
    out->quoted = !(out->usd_per_hour > 0);
    if (out->quoted) {
        const json_t *price =
            json_object_get(json_object_get(root, out->gpu), "usd_per_hour");
        out->usd_per_hour = json_number_value(price);
    }
    return SC_OK;
}
