#include "frontend/kineto/kineto_lanes.h"

static uint32_t main_stream(struct sc__arena *arena, const struct sc__kineto_trace *t) {
    int64_t *time = SC__NEW_ARRAY(arena, int64_t, t->stream_count);
    uint32_t most = 0;
    for (uint32_t i = 0; i < t->kernel_count; i++)
        if (t->kernels[i].kind == SC__KINETO_COMPUTE)
            time[t->kernels[i].stream] += t->kernels[i].dur;
    for (uint32_t s = 1; s < t->stream_count; s++)
        if (time[s] > time[most])
            most = s;
    return most;
}

void sc__kineto_lanes_choose(struct sc__kineto_lanes *lanes,
                             struct sc__arena *arena,
                             const struct sc__kineto_trace *t,
                             int64_t start) {
    *lanes = (struct sc__kineto_lanes){.main = main_stream(arena, t),
                                       .shared = t->stream_count > SC__KINETO_LANES};
    lanes->of = SC__NEW_ARRAY(arena, uint32_t, t->stream_count);
    for (uint32_t s = 0, next = 1; s < t->stream_count; s++)
        lanes->of[s] = s == lanes->main ? 0 : next < SC__KINETO_LANES ? next++ : SC__NONE;
    for (unsigned l = 0; l < SC__KINETO_LANES; l++) {
        lanes->stream[l] = SC__NONE;
        lanes->end[l] = start;
    }
}

/* Its stream's lane, as long as no other stream has come onto it. */
static bool keeps_lane(const struct sc__kineto_lanes *lanes, uint32_t stream) {
    uint32_t lane = lanes->of[stream];
    return !lanes->shared || stream == lanes->main ||
           (lane != SC__NONE && lanes->stream[lane] == stream);
}

uint8_t sc__kineto_lane(struct sc__kineto_lanes *lanes, const struct sc__kineto_kernel *k) {
    uint32_t lane = lanes->of[k->stream];
    if (!keeps_lane(lanes, k->stream)) {
        lane = 1;
        for (uint32_t l = 2; l < SC__KINETO_LANES; l++)
            if (lanes->end[l] < lanes->end[lane])
                lane = l;
        if (lanes->end[lane] > k->start)
            lanes->behind += lanes->end[lane] - k->start;
    }
    lanes->of[k->stream] = lane;
    lanes->stream[lane] = k->stream;
    return (uint8_t)lane;
}
