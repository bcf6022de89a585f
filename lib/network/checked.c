/* What cannot be: a transfer that takes less than no time or claims what there is no room
 * for, a clock that goes back or stands still, the end of what was never started. */
#include "network/checked.h"

#include "base/hash.h"

#include <math.h>

/* Answers of next in a row without a start or an end in between. An engine may want to be
 * called at moments when nothing ends, but time passes between them. */
#define MOST_IDLE_TURNS 100000

struct checked {
    struct sc__net inner;
    sc_engine_job *job;
    struct sc__map running; /* by what the simulation knows a transfer by: how many */
    int64_t now;
    uint32_t idle_turns;
};

static uint64_t transfer_key(const sc_transfer *t) {
    return t->user * 0x9e3779b97f4a7c15u + t->job;
}

static sc_status cannot_be(const struct checked *c, const char *hint, const char *what) {
    return sc_engine_fail(c->job,
                          SC_INPUT,
                          hint,
                          "engine '%s': %s",
                          c->inner.ops->name,
                          what);
}

static sc_status
checked_alone(void *net, const sc_transfer *t, int64_t *time, sc_claims *claims) {
    struct checked *c = net;
    SC__TRY(c->inner.ops->alone(c->inner.self, t, time, claims));
    if (*time < 0)
        return cannot_be(c, "times are picoseconds", "alone says less than no time");
    if (claims->count > SC_CLAIMS_MAX)
        return cannot_be(c,
                         "set claims->count; there is room for SC_CLAIMS_MAX",
                         "alone claims more than there is room for");
    for (uint32_t i = 0; i < claims->count; i++)
        if (!(claims->list[i].share >= 0 && claims->list[i].share <= 1))
            return cannot_be(c,
                             "the share of a resource that the transfer takes when alone",
                             "alone claims a share that is not from 0 to 1");
    return SC_OK;
}

static sc_status checked_start(void *net, const sc_transfer *t, int64_t now) {
    struct checked *c = net;
    ++*sc__map_at(&c->running, transfer_key(t), NULL);
    c->now = now;
    c->idle_turns = 0;
    return c->inner.ops->start(c->inner.self, t, now);
}

static sc_status checked_next(void *net, int64_t *when) {
    struct checked *c = net;
    SC__TRY(c->inner.ops->next(c->inner.self, when));
    if (*when < c->now)
        return cannot_be(c, "next is not before the last start or end", "time goes back");
    c->idle_turns = *when > c->now ? 0 : c->idle_turns + 1;
    if (c->idle_turns > MOST_IDLE_TURNS)
        return cannot_be(c,
                         "where nothing ends at the moment that next names, the next one "
                         "is later",
                         "time stands still: next names one moment again and again, and "
                         "finish finds nothing");
    return SC_OK;
}

static sc_status checked_finish(void *net, int64_t to, sc_transfer *done, bool *found) {
    struct checked *c = net;
    SC__TRY(c->inner.ops->finish(c->inner.self, to, done, found));
    c->now = to;
    if (!*found)
        return SC_OK;
    uint64_t *running = sc__map_find(&c->running, transfer_key(done));
    if (!running)
        return cannot_be(c,
                         "finish gives back a transfer as start had it",
                         "a transfer ends that was never started");
    if (!--*running)
        sc__map_remove(&c->running, transfer_key(done));
    c->idle_turns = 0;
    return SC_OK;
}

static sc_status checked_links(void *net,
                               int64_t step,
                               void (*add)(void *to, const sc_link_use *use),
                               void *to) {
    struct checked *c = net;
    return c->inner.ops->links(c->inner.self, step, add, to);
}

static sc_status checked_overhead(void *net, uint64_t bytes, sc_overhead *out) {
    struct checked *c = net;
    SC__TRY(c->inner.ops->overhead(c->inner.self, bytes, out));
    return out->send >= 0 && out->recv >= 0 && out->asking >= 0
               ? SC_OK
               : cannot_be(c, "times are picoseconds", "overhead is less than no time");
}

static sc_status checked_passed(void *net, const sc_transfer *t, uint64_t times) {
    struct checked *c = net;
    return c->inner.ops->passed(c->inner.self, t, times);
}

void sc__net_check_answers(sc_engine_job *job, struct sc__net *net) {
    struct sc__arena *arena = &job->ctx->arena;
    struct checked *c = SC__NEW(arena, struct checked);
    struct sc_engine *ops = SC__NEW(arena, struct sc_engine);
    const struct sc_engine *inner = net->ops;
    *c = (struct checked){.inner = *net, .job = job, .now = INT64_MIN};
    sc__map_init(&c->running, arena);
    /* calls that the engine lacks are lacking still: what asks for them looks */
    *ops = (struct sc_engine){.size = inner->size,
                              .name = inner->name,
                              .summary = inner->summary,
                              .alone = checked_alone,
                              .start = checked_start,
                              .next = checked_next,
                              .finish = checked_finish,
                              .links = inner->links ? checked_links : NULL,
                              .overhead = inner->overhead ? checked_overhead : NULL,
                              .passed = inner->passed ? checked_passed : NULL};
    net->ops = ops;
    net->self = c;
}
