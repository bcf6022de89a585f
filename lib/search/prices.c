/* prices: data/prices.json, what a GPU-hour costs. */
#include "search/search.h"

#include "base/data.h"

#include <jansson.h>

sc_status sc__search_price(struct sc_context *ctx, const char *gpu, double *usd_per_hour) {
    const json_t *root = sc__data_json("prices.json");
    *usd_per_hour = 0;
    if (!root)
        return sc__fail(ctx,
                        SC_SYSTEM,
                        NULL,
                        NULL,
                        "data/prices.json was not built in, or is damaged");
    const json_t *price = json_object_get(json_object_get(root, gpu), "usd_per_hour");
    *usd_per_hour = json_number_value(price);
    return SC_OK;
}
