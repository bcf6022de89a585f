/* prices: data/prices.json, what a GPU-hour costs. */
#include "search/search.h"

#include "base/data.h"

#include <jansson.h>

static void free_prices(void *root) {
    json_decref(root);
}

sc_status sc__search_price(struct sc_context *ctx, const char *gpu, double *usd_per_hour) {
    const struct sc__data_file *f = sc__data_find("prices.json");
    json_error_t error;
    *usd_per_hour = 0;
    if (!f)
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "data/prices.json was not built in");
    json_t *root =
        json_loadb((const char *)f->bytes, f->size, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "data/prices.json: %s", error.text);
    sc__arena_at_free(&ctx->arena, free_prices, root);
    const json_t *price = json_object_get(json_object_get(root, gpu), "usd_per_hour");
    *usd_per_hour = json_number_value(price);
    return SC_OK;
}
