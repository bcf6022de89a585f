#include "machine/cluster_fields.h"

sc_status sc__cluster_astra(struct sc_context *ctx, const char *file, struct sc__str text, struct sc__cluster *out) {
    struct sc__place at = {.file = file};
    (void)text, (void)out;
    return sc__fail(ctx, SC_INPUT, &at, NULL, "not a cluster description");
}
