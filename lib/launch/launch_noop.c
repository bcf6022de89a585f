/* launch_noop: layers of a launch that do nothing (--noop-layers of MindSpeed). */
#include "launch/launch.h"

#include <string.h>

/* --noop-layers 0,61,62 (MindSpeed): layers that are counted and do nothing. So many are
 * missing on the first and the last stage; of a schedule of two chunks a stage, in the
 * first and the last chunk. */
sc_status sc__launch_noop_layers(struct sc__launch *l) {
    const char *list = sc__launch_nth(l, "noop-layers", 0);
    uint32_t layers = 0;
    uint32_t pp = 1;
    uint32_t idle[2] = {0};
    struct sc__str rest = sc__str(list ? list : "");
    struct sc__str part;
    struct sc__settings s = {.nth = sc__launch_nth, .self = l, .ctx = l->ctx};
    if (!list)
        return SC_OK;
    SC__TRY(sc__setting_u32(&s, "num-layers", 1, &layers));
    SC__TRY(sc__setting_u32(&s, "pipeline-model-parallel-size", 1, &pp));
    const char *schedule = sc__setting(&s, "schedule");
    if (schedule && !strcmp(schedule, "dualpipev"))
        pp *= 2;
    uint32_t each = pp ? layers / pp : 0;
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
