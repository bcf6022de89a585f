/* network: which engine, from the options. */
#include "evaluate/evaluate.h"
#include "network/flow/flow.h"

#include <string.h>

/* One network: what names another beside it would be ignored. */
static sc_status check_one_network(const struct sc__settings *s,
                                   const char *net,
                                   const char *astra,
                                   const char *loggops) {
    const char *other = astra ? "astra-network" : "loggops";
    bool clash =
        net && ((astra && strcmp(net, "analytic")) || (loggops && strcmp(net, "loggops")));
    if (clash || (astra && loggops))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--%s and --%s%s%s are two networks",
                        other,
                        clash ? "net" : "loggops",
                        clash ? " " : "",
                        clash ? net : "");
    if (astra && sc__setting(s, "cluster"))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "give one of them",
                        "--astra-network and --cluster are two networks");
    return SC_OK;
}

enum { ENGINE_ANALYTIC, ENGINE_LOGGOPS, ENGINE_FLOW, ENGINE_ASTRA };

static sc_status find_engine(struct sc_context *ctx, const char *net, unsigned *engine) {
    static const char *const names[] = {"analytic", "loggops", "flow", NULL};
    *engine = ENGINE_ANALYTIC;
    for (unsigned i = 0; net && names[i]; i++)
        if (!strcmp(names[i], net)) {
            *engine = i;
            return SC_OK;
        }
    if (!net)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    "one of: analytic, loggops, flow",
                    "--net: unknown '%s'",
                    net);
}

/* Links that fail or are slower are links of the flow engine; nobody else knows
 * any. */
static sc_status
need_links(const struct sc__settings *s, const char *net, unsigned *engine) {
    const char *option = sc__setting(s, "fail")      ? "fail"
                         : sc__setting(s, "degrade") ? "degrade"
                                                     : NULL;
    if (!option || *engine == ENGINE_FLOW)
        return SC_OK;
    if (net || *engine != ENGINE_ANALYTIC)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "use --net flow",
                        "--%s is about a link, and only the flow engine knows links",
                        option);
    sc__note(s->ctx,
             "net-flow",
             "--%s is about a link: the flow engine simulates the network",
             option);
    *engine = ENGINE_FLOW;
    return SC_OK;
}

sc_status sc__evaluation_network(struct sc_context *ctx,
                                 const struct sc__evaluation *ev,
                                 const struct sc__workload *w,
                                 struct sc__net *out) {
    struct sc__settings engine_settings = ev->in.engine;
    const struct sc__settings *s = &engine_settings;
    const char *net = ev->in.options->net;
    const char *loggops = sc__setting(s, "loggops");
    const char *astra = sc__setting(s, "astra-network");
    const char *compat = sc__setting(s, "compat");
    bool count_as_astra = compat && !strcmp(compat, "astra");
    unsigned engine;
    engine_settings.ctx = ctx;
    SC__TRY(find_engine(ctx, net, &engine));
    SC__TRY(check_one_network(s, net, astra, loggops));
    if (!astra && count_as_astra)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "--astra-network FILE",
                        "--compat astra needs ASTRA-sim's network description");
    if (loggops)
        engine = ENGINE_LOGGOPS;
    if (astra)
        engine = ENGINE_ASTRA;
    SC__TRY(need_links(s, net, &engine));
    switch (engine) {
    case ENGINE_LOGGOPS:
        return sc__net_loggops(ctx, loggops, w, out);
    case ENGINE_FLOW:
        return sc__net_flow(ctx, &ev->cluster, w, s, out);
    case ENGINE_ASTRA:
        return sc__net_astra(ctx,
                             astra,
                             sc__setting(s, "astra-system"),
                             count_as_astra,
                             w,
                             out);
    default:
        return sc__net_analytic(ctx, &ev->cluster, w, out);
    }
}
