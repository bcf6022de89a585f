#include "network/flow/flow_batch.h"

#include <stdlib.h>

#define TIES 1e-13        /* times this close are one event */
#define TURNS_TO_TELL 256 /* between two words about the progress */

struct flow_batch_order {
    double start;
    uint32_t flow;
};

static int compare_starts(const void *a, const void *b) {
    const struct flow_batch_order *x = a;
    const struct flow_batch_order *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1)
                                : (x->flow > y->flow) - (x->flow < y->flow);
}

/* All start at once: by source, so that flows that share a link lie side by
 * side in memory. */
static void by_source(struct sc__arena *arena,
                      const struct sc__flow *flows,
                      uint32_t count,
                      uint32_t ports,
                      struct flow_batch_order *order) {
    uint32_t *place = SC__NEW_ARRAY(arena, uint32_t, (size_t)ports + 2);
    for (uint32_t i = 0; i < count; i++)
        place[(flows[i].from < ports ? flows[i].from : ports) + 1]++;
    for (uint32_t i = 1; i < ports + 2; i++)
        place[i] += place[i - 1];
    for (uint32_t i = 0; i < count; i++)
        order[place[flows[i].from < ports ? flows[i].from : ports]++] =
            (struct flow_batch_order){flows[i].start, i};
}

static struct flow_batch_order *in_order(struct sc__arena *arena,
                                         const struct sc__flow *flows,
                                         uint32_t count,
                                         uint32_t ports) {
    struct flow_batch_order *order = SC__NEW_ARRAY(arena, struct flow_batch_order, count);
    bool sorted = true, equal = true;
    for (uint32_t i = 0; i < count; i++) {
        order[i] = (struct flow_batch_order){flows[i].start, i};
        if (i && flows[i].start < flows[i - 1].start)
            sorted = false;
        if (flows[i].start != flows[0].start)
            equal = false;
    }
    if (equal)
        by_source(arena, flows, count, ports, order);
    else if (!sorted)
        qsort(order, count, sizeof *order, compare_starts);
    return order;
}

struct batch {
    struct sc_context *ctx;
    struct sc__graph *graph;
    const struct sc__route_policy *route;
    struct sc__flow *flows;
    struct sc__flow_share *share;
    struct sc__share_hop *hops;
    uint32_t ended;
};

static sc_status flow_batch_begin(struct batch *b, uint32_t i, double now) {
    struct sc__flow *f = &b->flows[i];
    uint32_t count;
    SC__TRY(sc__graph_route(b->ctx, b->graph, b->route, f->from, f->to, b->hops, &count));
    if (f->weight != 1)
        for (uint32_t h = 0; h < count; h++)
            b->hops[h].load *= f->weight;
    struct sc__share_flow flow = {.hops = b->hops,
                                  .count = count,
                                  .weight = f->weight,
                                  .bytes = f->bytes,
                                  .user = i};
    if (f->bytes > 0 && count)
        sc__share_add(b->share, &flow, now);
    else {
        f->finish = f->start;
        b->ended++;
    }
    return SC_OK;
}

static void end_at(struct batch *b, double time) {
    uint64_t user;
    while (sc__share_finish(b->share, time, &user)) {
        b->flows[user].finish = time;
        b->ended++;
    }
}

sc_status sc__flow_batch(struct sc_context *ctx,
                         struct sc__graph *g,
                         const struct sc__route_policy *route,
                         struct sc__flow *flows,
                         uint32_t count,
                         struct sc__flow_effort *effort) {
    struct batch b = {.ctx = ctx, .graph = g, .route = route, .flows = flows};
    const struct flow_batch_order *order = in_order(&ctx->arena, flows, count, g->ports);
    b.share = sc__share_new(&ctx->arena, g->capacity, g->links);
    b.hops = SC__NEW_ARRAY(&ctx->arena, struct sc__share_hop, sc__graph_room(g, route));
    for (uint32_t i = 0, turn = 0; i < count || sc__share_flows(b.share); turn++) {
        if (turn % TURNS_TO_TELL == 0)
            SC__TRY(sc__progress(ctx, "sharing links", (double)b.ended / count));
        double next = sc__share_next(b.share);
        double start = i < count ? order[i].start : INFINITY;
        double now = next <= start + TIES * start ? next : start;
        if (now == next)
            end_at(&b, next);
        for (; i < count && order[i].start <= now + TIES * now; i++)
            SC__TRY(flow_batch_begin(&b, order[i].flow, now));
    }
    if (effort)
        sc__share_effort(b.share, &effort->solves, &effort->levels);
    if (sc__share_violations(b.share))
        return sc__fail(ctx,
                        SC_SYSTEM,
                        NULL,
                        NULL,
                        "%u solves are not max-min fair",
                        sc__share_violations(b.share));
    return SC_OK;
}
