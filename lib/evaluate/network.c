/* network: the engine of an evaluation, from its options. */
#include "evaluate/evaluate.h"
#include "network/registry.h"

sc_status sc__evaluation_network(struct sc_context *ctx,
                                 const struct sc__evaluation *ev,
                                 const struct sc__workload *w,
                                 struct sc__net *out) {
    struct sc__settings engine_settings = ev->in.engine;
    engine_settings.ctx = ctx;
    return sc__network_make(ctx,
                            &engine_settings,
                            ev->in.options->net,
                            &ev->cluster,
                            w,
                            out);
}
