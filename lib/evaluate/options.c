/* options: how a step is simulated, as options, and the fields of sc_options
 * they set. Those of the cluster and of changes to the workload are in
 * hardware/cluster_options.c and workload/scale.c. */
#include "evaluate/evaluate.h"
#include "hardware/cluster_options.h"
#include "workload/scale.h"

static const struct sc__choice engines[] = {
    {"analytic", 0}, {"flow", 0}, {"packet", 0}, {"loggops", 0}, {"astra", 0}, {0}};

const struct sc__option sc__job_options[] = {
    {"cluster",
     'c',
     "C",
     "the machine of --gpu, or dgx-h100, of the job's size",
     "Machine",
     "a preset with a GPU count, a one-line description or a file",
     0,
     .folder = "clusters/"},
    {"nodes",
     0,
     "N",
     NULL,
     "Machine",
     "nodes of the job: gives --gpus, N times the GPUs of a node of the cluster",
     0},
    {"net",
     0,
     "ENGINE",
     "analytic",
     "Machine",
     "network engine: analytic, flow (shares links), packet (every packet), loggops or "
     "astra",
     0,
     .choices = engines,
     SC__OPTIONS_FIELD(net)},
    {"loggops",
     0,
     "L,o,g,G,O,S",
     NULL,
     "Machine",
     "the network as LogGOPS parameters, ns (G, O: per byte; S: bytes)",
     0},
    {"order",
     0,
     "ORDER",
     "tp-cp-ep-dp-pp",
     "Machine",
     "how ranks are numbered; what changes from rank to rank comes first",
     0,
     SC__OPTIONS_FIELD(rank_order)},
    {"slow",
     0,
     "rank:N=F",
     NULL,
     "Machine",
     "rank N computes F times as long",
     SC__OPT_REPEAT,
     .type = SC__TYPE_LIST,
     SC__OPTIONS_FIELD(slow)},
    {"comm-sm-tax",
     0,
     "SHARE",
     "the software's",
     "Machine",
     "compute is slower by this share while transfers of its GPU run",
     0,
     .type = SC__TYPE_SHARE,
     SC__OPTIONS_FIELD(comm_sm_tax)},
    {"format", 0, "NAME", "by content", "Input", "read the input as this format", 0},
    {"jobs",
     'j',
     "N",
     "1; plans, sweep: all cores",
     "Other",
     "threads that may be used",
     0},
    {0}};

const struct sc__option sc__memory_options[] = {
    {"max-memory",
     0,
     "SIZE",
     "what there is",
     "Other",
     "give up, with exit status 4, rather than take more memory than this",
     0},
    {0}};

const struct sc__option *const sc__options_tables[] = {
    sc__job_options, sc__cluster_options, sc__whatif_options, NULL};

sc_status sc__options_read(const struct sc__settings *s, sc_options *out) {
    *out = (sc_options)SC_OPTIONS_INIT;
    SC__TRY(sc__options_take(s, sc__options_tables, SC__IN_OPTIONS, out));
    /* what would say "as usual" in the structure, and is no value */
    if (sc__setting(s, "gpu-speedup") && !(out->gpu_speedup > 0))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "2 is twice as fast",
                        "--gpu-speedup takes a number above 0");
    if (!(out->comm_sm_tax < 1))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "0.2: compute takes a fifth longer then",
                        "--comm-sm-tax takes a share from 0 to 1");
    if (sc__setting(s, "comm-sm-tax") && !(out->comm_sm_tax > 0))
        out->comm_sm_tax = SC_NO_TAX;
    if (sc__setting(s, "copies") && out->copies < 1)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--copies must be at least 1, not %g",
                        out->copies);
    return SC_OK;
}
