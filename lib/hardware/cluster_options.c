/* cluster_options: what a command line may say about how collectives run and
 * where ranks sit; one table for every command that has a cluster. */
#include "hardware/cluster_options.h"

#include "hardware/placement.h"

#include <string.h>

static const struct sc__choice on[] = {{"on", SC_ON}, {0}};
static const struct sc__choice algorithms[] = {{"auto", SC__ALGO_AUTO},
                                               {"ring", SC__ALGO_RING},
                                               {"tree", SC__ALGO_TREE},
                                               {"nvls", SC__ALGO_NVLS},
                                               {"nvlstree", SC__ALGO_NVLS_TREE},
                                               {"collnet", SC__ALGO_COLLNET},
                                               {"pat", SC__ALGO_PAT},
                                               {"direct", SC__ALGO_DIRECT},
                                               {"pxn", SC__ALGO_PXN},
                                               {"hierarchical", SC__ALGO_HIERARCHICAL},
                                               {"torus", SC__ALGO_TORUS},
                                               {"chain", SC__ALGO_CHAIN},
                                               {"custom", SC__ALGO_CUSTOM},
                                               {0}};

const struct sc__option sc__cluster_options[] = {
    {"algo",
     0,
     "A",
     "auto",
     "Collectives",
     "ring, tree, nvls, nvlstree, collnet, pat, direct, pxn, hierarchical, torus, chain or "
     "custom (one- and two-shot, of serving stacks)",
     0,
     .choices = algorithms,
     SC__OPTIONS_FIELD(algo)},
    {"proto",
     0,
     "P",
     "auto",
     "Collectives",
     "those that may be used, as in NCCL_PROTO: ll, ll128, simple, several with commas, or "
     "all but some: ^ll128",
     0,
     SC__OPTIONS_FIELD(proto)},
    {"by-tuner",
     0,
     NULL,
     NULL,
     "Collectives",
     "choose the algorithm between nodes by NCCL's own cost table, not by least time",
     0,
     .type = SC__TYPE_FLAG,
     .choices = on,
     SC__OPTIONS_FIELD(by_tuner)},
    {"no-pxn",
     0,
     NULL,
     NULL,
     "Collectives",
     "all-to-all without PXN: do not change rails inside the node",
     0,
     .type = SC__TYPE_FLAG,
     .choices = on,
     SC__OPTIONS_FIELD(no_pxn)},
    {"two-level",
     0,
     NULL,
     NULL,
     "Collectives",
     "two-level all-to-all like DeepEP: once to each node, then over NVLink",
     0,
     .type = SC__TYPE_FLAG,
     .choices = on,
     SC__OPTIONS_FIELD(two_level)},
    {"copies",
     0,
     "K",
     NULL,
     "Collectives",
     "ranks each token is sent to, in a two-level all-to-all",
     0,
     .type = SC__TYPE_NUMBER,
     SC__OPTIONS_FIELD(copies)},
    {"gpus-per-process",
     'g',
     "N",
     "1",
     "Collectives",
     "GPUs one process drives",
     0,
     .type = SC__TYPE_WHOLE,
     .least = 1,
     SC__OPTIONS_FIELD(gpus_per_process)},
    {"net-channels",
     0,
     "N",
     "2",
     "Collectives",
     "channels to a peer on another node (NCCL_NCHANNELS_PER_NET_PEER)",
     0,
     .type = SC__TYPE_WHOLE,
     .least = 1,
     SC__OPTIONS_FIELD(net_channels)},
    {"rank-file",
     0,
     "FILE",
     NULL,
     "Machine",
     "the GPU of each rank, a line each",
     0,
     SC__OPTIONS_FIELD(rank_file)},
    {0}};

static bool add_protocol(struct sc__str name, uint8_t *protocols) {
    for (int proto = SC__PROTO_LL; proto < SC__PROTOS; proto++)
        if (sc__str_is_any_case(name, sc__proto_name((enum sc__proto)proto))) {
            *protocols |= SC__PROTO_BIT(proto);
            return true;
        }
    return false;
}

/* As NCCL_PROTO: names with commas, or behind ^ the names of those that may not be used. */
static sc_status
tune_protocols(struct sc_context *ctx, const char *text, struct sc__tuning *t) {
    bool others = text[0] == '^';
    uint8_t named = 0;
    bool known = true;
    if (sc__str_is_any_case(sc__str(text), "auto")) {
        t->protocols = 0;
        return SC_OK;
    }
    for (const char *at = text + others; known; at++) {
        size_t length = strcspn(at, ",");
        known = add_protocol((struct sc__str){at, length}, &named);
        at += length;
        if (!*at)
            break;
    }
    t->protocols = others ? SC__PROTO_ANY & ~named : named;
    if (known && t->protocols)
        return SC_OK;
    return sc__fail(
        ctx,
        SC_USAGE,
        NULL,
        "ll, ll128, simple, several with commas, all but some (^ll128), or auto",
        known ? "--proto %s leaves no protocol" : "there is no protocol '%s'",
        text);
}

static sc_status
tune_words(struct sc_context *ctx, const sc_options *o, struct sc__tuning *t) {
    const char *algo = o->algo;
    if (algo) {
        t->algo = (uint8_t)sc__algo_find(algo);
        if (t->algo == SC__ALGOS)
            return sc__fail(
                ctx,
                SC_USAGE,
                NULL,
                "ring, tree, nvls, nvlstree, collnet, pat, direct, pxn, hierarchical, "
                "torus, chain, custom or auto",
                "there is no algorithm '%s'",
                algo);
    }
    return o->proto ? tune_protocols(ctx, o->proto, t) : SC_OK;
}

static void tune_copies(struct sc_context *ctx, const sc_options *o, struct sc__tuning *t) {
    if (!(o->copies > 0))
        return;
    t->copies = o->copies;
    if (!t->two_level && t->algo != SC__ALGO_HIERARCHICAL)
        sc__note(ctx, "option-unused", "--copies has no effect without --two-level");
}

static sc_status
tune_process(struct sc_context *ctx, const sc_options *o, struct sc__cluster *c) {
    if (o->gpus_per_process)
        c->tuning.gpus_per_process = o->gpus_per_process;
    if (c->node_gpus && c->tuning.gpus_per_process > c->node_gpus)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--gpus-per-process %u, but a node has only %u GPUs",
                        c->tuning.gpus_per_process,
                        c->node_gpus);
    return SC_OK;
}

/* Who forbids PXN should know where that cannot change anything. */
static void note_pxn(struct sc_context *ctx, const struct sc__cluster *c) {
    if (sc__fabric_has_rails(c) && sc__fabric_oversubscription(c) > 1 &&
        c->inside != SC__INSIDE_PCIE)
        return;
    sc__note(ctx,
             "no-pxn",
             "--no-pxn has no effect here: the cost model uses PXN only to bypass "
             "oversubscribed rails, over NVLink, and does not model that it aggregates "
             "small messages");
}

sc_status sc__cluster_apply(struct sc_context *ctx,
                            const sc_options *o,
                            uint32_t ranks,
                            struct sc__cluster *c) {
    SC__TRY(tune_words(ctx, o, &c->tuning));
    c->tuning.by_tuner |= o->by_tuner == SC_ON;
    c->tuning.no_pxn |= o->no_pxn == SC_ON;
    c->tuning.two_level |= o->two_level == SC_ON;
    if (o->no_pxn == SC_ON)
        note_pxn(ctx, c);
    tune_copies(ctx, o, &c->tuning);
    if (o->net_channels)
        c->constants.net_channels = o->net_channels;
    SC__TRY(tune_process(ctx, o, c));
    return o->rank_file ? sc__placement_read(ctx, o->rank_file, ranks, c) : SC_OK;
}
