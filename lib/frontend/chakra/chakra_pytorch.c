/* chakra_pytorch: what traces that chakra_converter makes of PyTorch's leave open:
 * parents that it left out, and collectives of which only name and time are known. */
#include "frontend/chakra/chakra.h"

bool sc__chakra_is_pytorch(const struct sc__chakra_node *nodes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (sc__str_starts(nodes[i].name, "aten::"))
            return true;
    return false;
}

void sc__chakra_measured(struct sc__workload *w,
                         const struct sc__chakra_node *n,
                         uint8_t stream,
                         struct sc__op *op) {
    static const struct {
        const char *word;
        uint8_t coll;
    } names[] = {{"AllGather", SC__ALLGATHER},
                 {"all_gather", SC__ALLGATHER},
                 {"ReduceScatter", SC__REDUCESCATTER},
                 {"reduce_scatter", SC__REDUCESCATTER},
                 {"all_to_all", SC__ALLTOALL},
                 {"roadcast", SC__BROADCAST},
                 {"barrier", SC__BARRIER}};
    op->coll = SC__ALLREDUCE;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (sc__find_word(n->name.p, n->name.n, names[i].word))
            op->coll = names[i].coll;
    op->group = sc__workload_group(w, SC__GROUP_WORLD);
    op->stream = stream;
    op->flags |= SC__OP_MEASURED;
    op->cost =
        n->duration_us < (uint64_t)1e12 ? (int64_t)n->duration_us * SC__PS_PER_US : 0;
    if (sc__coll_rooted(op->coll))
        op->peer = 0;
}

bool sc__chakra_is_message(const struct sc__chakra_node *n) {
    return sc__find_word(n->name.p, n->name.n, "SendRecv") != NULL;
}

void sc__chakra_note_pytorch(struct sc_context *ctx, uint64_t parents, uint64_t measured) {
    if (parents)
        sc__note(ctx,
                 "chakra-parents",
                 "a trace of PyTorch: %llu dependencies on nodes that it leaves out "
                 "(threads and annotations) or on later ones count as met",
                 (unsigned long long)parents);
    if (measured)
        sc__note(ctx,
                 "chakra-measured",
                 "a trace of PyTorch: %llu collectives without comm_type keep their "
                 "measured times, in the group of all ranks, and sends and receives of "
                 "their rank alone",
                 (unsigned long long)measured);
}
