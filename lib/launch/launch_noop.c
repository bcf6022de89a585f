/* launch_noop: layers of a launch that do nothing (--noop-layers of MindSpeed). */
#include "launch/launch.h"

#include <string.h>

/* Whether a number stands in the list before this place: MindSpeed's is a set. */
static bool stands_before(const char *list, const char *place, uint32_t layer) {
    struct sc__str rest = {list, (size_t)(place - list)};
    struct sc__str part;
    uint32_t other;
    while (sc__split(&rest, ',', &part))
        if (sc__parse_u32(part, &other) && other == layer)
            return true;
    return false;
}

/* --noop-layers 0,61,62 (MindSpeed): layers that are counted and do nothing. So many are
 * missing on the first and the last stage; of a schedule of two chunks a stage, in the
 * first and the last chunk. */
sc_status sc__launch_noop_layers(struct sc__launch *l) {
    const char *list = sc__launch_nth(l, "noop-layers", 0);
    uint32_t layers = 0;
    uint32_t idle[2] = {0};
    struct sc__str rest = sc__str(list ? list : "");
    struct sc__str part;
    struct sc__settings s = {.nth = sc__launch_nth, .self = l, .ctx = l->ctx};
    if (!list)
        return SC_OK;
    SC__TRY(sc__setting_u32(&s, "num-layers", 1, &layers));
    uint64_t pp = sc__launch_number(l, "pipeline-model-parallel-size", "pp");
    const char *schedule = sc__setting(&s, "schedule");
    if (schedule && !strcmp(schedule, "dualpipev"))
        pp *= 2;
    uint32_t each = (uint32_t)(layers / pp);
    while (sc__split(&rest, ',', &part)) {
        uint32_t layer;
        bool known = sc__parse_u32(part, &layer) && layer < layers && layers % pp == 0;
        if (!known || (layer >= each && layer < layers - each))
            return sc__launch_fail(l,
                                   l->line,
                                   "give the stages' layers with --num-layers and "
                                   "--decoder-first-pipeline-num-layers",
                                   known ? "--noop-layers %s: layer %.*s is on neither the "
                                           "first nor the last stage"
                                         : "--noop-layers %s: '%.*s' is none of the layers",
                                   list,
                                   SC__SHOW(part));
        if (!stands_before(list, part.p, layer))
            idle[layer >= layers - each]++;
    }
    if (idle[0] >= each || idle[1] >= each)
        return sc__launch_fail(l, l->line, NULL, "--noop-layers %s: a whole stage", list);
    sc__launch_add(l,
                   "num-layers",
                   sc__format(&l->ctx->arena, "%u", layers - idle[0] - idle[1]));
    if (pp > 1 && idle[0])
        sc__launch_add(l,
                       "decoder-first-pipeline-num-layers",
                       sc__format(&l->ctx->arena, "%u", each - idle[0]));
    if (pp > 1 && idle[1])
        sc__launch_add(l,
                       "decoder-last-pipeline-num-layers",
                       sc__format(&l->ctx->arena, "%u", each - idle[1]));
    return SC_OK;
}
