/* The certificate of max-min sharing (flow_share.h), from scratch. */
#include "network/flow/flow_state.h"

#include <stdlib.h>

static double top_level(const struct sc__flow_share *s, const struct sc__flow_link *l) {
    double top = 0;
    for (uint32_t i = 0; i < l->count; i++)
        if (s->level[l->list[i].flow] > top)
            top = s->level[l->list[i].flow];
    return top;
}

bool sc__share_certified(const struct sc__flow_share *s) {
    bool *has_bottleneck = calloc(s->flow_count + 1, 1), good = has_bottleneck != NULL;
    uint32_t certified = 0;
    for (uint32_t i = 0; i < s->flow_count && good; i++) {
        has_bottleneck[i] = s->level[i] == 0 || s->level[i] >= s->flows[i].cap * (1 - 1e-9);
        certified += has_bottleneck[i];
    }
    for (uint32_t i = 0; i < s->link_count && good; i++) {
        const struct sc__flow_link *l = &s->links[i];
        double use = sc__share_use(s, i);
        double top = top_level(s, l);
        good = use <= s->capacity[i] * (1 + 1e-9);
        bool full = use >= s->capacity[i] * (1 - 1e-9);
        for (uint32_t k = 0; k < l->count; k++) {
            uint32_t id = l->list[k].flow;
            if (!full || s->level[id] < top * (1 - 1e-9) || has_bottleneck[id])
                continue;
            has_bottleneck[id] = true;
            certified++;
        }
    }
    free(has_bottleneck);
    return good && certified == s->flow_count;
}
