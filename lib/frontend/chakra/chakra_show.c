/* chakra_show: how many nodes of which kind a trace has. */
#include "frontend/chakra/chakra.h"

void sc__chakra_show(struct sc_context *ctx,
                     const struct sc__document *doc,
                     struct sc__buffer *text,
                     struct sc__json *json) {
    const struct sc__workload *w = doc->workload;
    static const char *const kinds[] = {"compute",
                                        "collectives",
                                        "sends",
                                        "receives",
                                        "metadata"};
    uint64_t counts[5] = {0};
    (void)ctx;
    for (uint32_t i = 0; i < w->op_count; i++)
        counts[w->ops[i].kind]++;
    sc__printf(
        text,
        "  ranks         %u\n  nodes         %u\n  dependencies  %u\n  groups        %u\n",
        w->class_count,
        w->op_count,
        w->dep_count,
        w->group_count);
    for (unsigned k = 0; k < 5; k++)
        sc__printf(text, "    %-12s%llu\n", kinds[k], (unsigned long long)counts[k]);
    if (!json)
        return;
    sc__json_object(json, "chakra");
    sc__json_u64(json, "ranks", w->class_count);
    sc__json_u64(json, "nodes", w->op_count);
    sc__json_u64(json, "dependencies", w->dep_count);
    sc__json_u64(json, "groups", w->group_count);
    for (unsigned k = 0; k < 5; k++)
        sc__json_u64(json, kinds[k], counts[k]);
    sc__json_end_object(json);
}
