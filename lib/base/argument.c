#include "base/argument.h"

sc_status sc__argument(struct sc_context *ctx, const void *given, const char *name) {
    if (given)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    "a call that fails leaves NULL for what it should have made",
                    "the argument '%s' is NULL",
                    name);
}

sc_status sc__argument_array(struct sc_context *ctx,
                             const void *given,
                             size_t count,
                             const char *name) {
    return count ? sc__argument(ctx, given, name) : SC_OK;
}
