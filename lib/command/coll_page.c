/* coll --net packet --html: the page of flows (flows_packet_page.c), of the messages of the
 * largest size; several controls beside each other. */
#include "command/coll.h"
#include "command/flows_packet.h"

#include "base/units.h"
#include "network/packet/packet_engine.h"

bool sc__coll_has_packets(const struct sc__coll_query *q) {
    return q->net && q->net_cost == sc__packet_cost;
}

static uint64_t largest_size(const struct sc__coll_query *q) {
    uint64_t largest = q->begin;
    for (uint64_t bytes = q->begin; bytes <= q->end; bytes = sc__coll_next_size(q, bytes))
        largest = bytes;
    return largest;
}

static const char *what_is_shown(struct sc_request *req, const struct sc__coll_query *q) {
    struct sc__buffer b;
    sc__buffer_init(&b, &req->ctx->arena);
    sc__printf(&b, "%s of ", q->op->name);
    sc__put_bytes(&b, largest_size(q));
    sc__printf(&b, " on %u GPUs of %s", q->shape.ranks, q->cluster.name);
    return b.text;
}

static sc_status look_at(struct sc_request *req,
                         const struct sc__coll_shown *shown,
                         struct sc__packet_run *r,
                         double *share) {
    struct sc__arena *arena = &req->ctx->arena;
    struct sc__packet_seen *seen = SC__NEW(arena, struct sc__packet_seen);
    SC__TRY(sc__packet_see(shown->query->net,
                           shown->query->op->coll,
                           largest_size(shown->query),
                           SC__PACKET_PAGE_SPANS,
                           seen));
    *r = (struct sc__packet_run){.net = "packet",
                                 .control = shown->control,
                                 .flows = seen->messages,
                                 .counters = seen->counters,
                                 .watch = &seen->watch};
    sc__packet_run_sum_up(r, arena);
    *share = fmin(*share, seen->share);
    if (seen->software > 0)
        sc__note(req->ctx,
                 "page-software",
                 "times on the page begin with the first packet: %.4g us of software pass "
                 "before it",
                 sc__us(seen->software));
    return SC_OK;
}

sc_status sc__coll_write_page(struct sc_request *req,
                              const struct sc__coll_shown *shown,
                              uint32_t count) {
    struct sc__packet_run *runs =
        SC__NEW_ARRAY(&req->ctx->arena, struct sc__packet_run, count);
    double share = 1;
    if (!count)
        return sc__usage(req,
                         "add --net packet",
                         "--html shows packets: it works with --net packet alone");
    for (uint32_t i = 0; i < count; i++)
        SC__TRY(look_at(req, &shown[i], &runs[i], &share));
    if (share < 1)
        sc__note(req->ctx,
                 "page-share",
                 "the page shows %.2g %% of the bytes: all have too many packets for it",
                 100 * share);
    return sc__packet_runs_write_page(req, runs, count, what_is_shown(req, shown[0].query));
}
