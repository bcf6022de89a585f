/* cluster_options: what a command line may say about how collectives run and
 * where ranks sit; one table for every command that has a cluster. */
#include "hardware/cluster_options.h"

#include "hardware/placement.h"

#include <string.h>

const struct sc__option sc__cluster_options[] = {
    {"algo",
     0,
     "A",
     "auto",
     "Collectives",
     "ring, tree, nvls, nvlstree, collnet, pat, direct, pxn, hierarchical, torus or chain",
     0},
    {"proto", 0, "P", "auto", "Collectives", "ll, ll128 or simple", 0},
    {"by-tuner",
     0,
     NULL,
     NULL,
     "Collectives",
     "choose the algorithm by NCCL's own cost table, not by least time",
     0},
    {"no-pxn",
     0,
     NULL,
     NULL,
     "Collectives",
     "all-to-all without PXN: do not change rails inside the node",
     0},
    {"two-level",
     0,
     NULL,
     NULL,
     "Collectives",
     "two-level all-to-all like DeepEP: once to each node, then over NVLink",
     0},
    {"copies",
     0,
     "K",
     NULL,
     "Collectives",
     "ranks each token is sent to, in a two-level all-to-all",
     0},
    {"gpus-per-process", 'g', "N", "1", "Collectives", "GPUs one process drives", 0},
    {"rank-file", 0, "FILE", NULL, "Machine", "the GPU of each rank, a line each", 0},
    {0}};

static sc_status take_words(const struct sc__settings *s, struct sc__tuning *t) {
    const char *algo = sc__setting(s, "algo");
    const char *proto = sc__setting(s, "proto");
    if (algo) {
        t->algo = (uint8_t)sc__algo_find(algo);
        if (t->algo == SC__ALGOS)
            return sc__fail(s->ctx,
                            SC_USAGE,
                            NULL,
                            "ring, tree, nvls, nvlstree, collnet, pat, direct, pxn, "
                            "hierarchical, torus, chain or auto",
                            "there is no algorithm '%s'",
                            algo);
    }
    if (proto) {
        t->proto = (uint8_t)sc__proto_find(proto);
        if (t->proto == SC__PROTOS)
            return sc__fail(s->ctx,
                            SC_USAGE,
                            NULL,
                            "ll, ll128, simple or auto",
                            "there is no protocol '%s'",
                            proto);
    }
    return SC_OK;
}

static sc_status take_copies(const struct sc__settings *s, struct sc__tuning *t) {
    bool given = sc__setting(s, "copies") != NULL;
    SC__TRY(sc__setting_double(s, "copies", &t->copies));
    if (given && t->copies < 1)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--copies must be at least 1, not %g",
                        t->copies);
    if (given && !t->two_level && t->algo != SC__ALGO_HIERARCHICAL)
        sc__note(s->ctx, "option-unused", "--copies has no effect without --two-level");
    return SC_OK;
}

static sc_status take_process(const struct sc__settings *s, struct sc__cluster *c) {
    SC__TRY(sc__setting_u32(s, "gpus-per-process", 1, &c->tuning.gpus_per_process));
    if (c->node_gpus && c->tuning.gpus_per_process > c->node_gpus)
        return sc__fail(s->ctx,
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
    if (sc__fabric_has_rails(c) && sc__fabric_oversubscription(c) > 1)
        return;
    sc__note(ctx,
             "no-pxn",
             "--no-pxn has no effect here: the cost model uses PXN only to bypass "
             "oversubscribed rails, and does not model that it aggregates small messages");
}

sc_status
sc__cluster_apply(const struct sc__settings *s, uint32_t ranks, struct sc__cluster *c) {
    const char *file = sc__setting(s, "rank-file");
    SC__TRY(take_words(s, &c->tuning));
    c->tuning.by_tuner |= sc__setting_flag(s, "by-tuner");
    c->tuning.no_pxn |= sc__setting_flag(s, "no-pxn");
    c->tuning.two_level |= sc__setting_flag(s, "two-level");
    if (c->tuning.no_pxn)
        note_pxn(s->ctx, c);
    SC__TRY(take_copies(s, &c->tuning));
    SC__TRY(take_process(s, c));
    return file ? sc__placement_read(s->ctx, file, ranks, c) : SC_OK;
}
