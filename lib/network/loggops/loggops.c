/* LogGOPS: messages between processors, after the model of that name.
 *
 *   processor   |o+(s−1)O|                                  |o+(s−1)O|
 *   wire                 |── L ──|── (s−1)G ──|
 *   NIC                  |g+(s−1)G| then free  |
 *
 * A message of s bytes costs the sender's processor o + (s−1)O, leaves when
 * the sender's NIC is free (it is taken for g + (s−1)G), flies for L, comes in
 * when the receiver's NIC is free, takes (s−1)G to come in, and costs the
 * receiver's processor o + (s−1)O. Larger than S it waits for its receive and
 * pays a round trip for asking. Alone: L + 2o + (s−1)(G + 2O).
 *
 * Collectives, where the input has them, take the messages of one member
 * (collective/schedule.h), one after the other; in a gather or scatter the root
 * takes or gives its messages as fast as its processor and NIC go. */
#include "collective/schedule.h"
#include "network/engine.h"
#include "simulate/queue.h"

#include <string.h>

struct flight {
    struct sc_transfer transfer;
    bool departed;
};

struct loggops {
    struct sc__arena *arena;
    const struct sc__workload *w;
    int64_t L;
    int64_t o;
    int64_t g;
    /* ps a byte */
    double G;
    double O;
    uint64_t S;
    /* by rank · nics + nic */
    int64_t *out_free;
    int64_t *in_free;
    uint32_t nics;
    struct flight *flights;
    uint32_t flight_count;
    uint32_t flight_capacity;
    uint32_t *unused;
    uint32_t unused_count;
    uint32_t unused_capacity;
    struct sc__queue queue;
};

/* Past the longest step the executor takes; sums of a few still fit. */
#define FOREVER ((int64_t)1 << 62)

static int64_t at_most_forever(int64_t time) {
    return time < FOREVER ? time : FOREVER;
}

static int64_t stretch(double per_byte, uint64_t bytes) {
    return bytes > 1 ? llround(fmin((double)(bytes - 1) * per_byte, (double)(FOREVER / 4)))
                     : 0;
}

static size_t nic_of(const struct loggops *n, uint32_t rank, const struct sc_transfer *t) {
    return (size_t)rank * n->nics + t->group;
}

/* At the departure the receiver's NIC is taken too: L is the same for all, so
 * messages come in in the order they depart. One that asks first departs when
 * it has its answer, and those that leave meanwhile are there before it. */
static void depart(struct loggops *n, uint32_t id, int64_t now) {
    const struct sc_transfer *t = &n->flights[id].transfer;
    int64_t wire = stretch(n->G, t->bytes);
    int64_t *in = &n->in_free[nic_of(n, t->peer, t)];
    int64_t there = now + n->L;
    int64_t begin = there > *in ? there : *in;
    *in = at_most_forever(begin + n->g + wire);
    n->flights[id].departed = true;
    sc__queue_push(&n->queue, begin + wire, id, 0);
}

/* The root's messages follow each other as fast as its processor and NIC go. */
static int64_t root_time(const struct loggops *n, double messages, uint64_t share) {
    double processor = (double)(n->o + stretch(n->O, share));
    double wire = (double)(n->g + stretch(n->G, share));
    double first = (double)(n->L + 2 * n->o + stretch(n->G + 2 * n->O, share));
    double time = first + (messages - 1) * fmax(processor, wire);
    return llround(fmin(time, (double)(FOREVER / 2)));
}

/* A member's messages, each a step of its own. */
static int64_t collective_time(const struct loggops *n, const struct sc_transfer *t) {
    uint32_t ranks = sc__group_size(n->w, t->group);
    enum sc__coll_family family = sc__coll_message_family(t->coll);
    struct sc__coll_counts c = sc__coll_counts(family, t->coll, ranks, ranks, 1, 1);
    uint64_t parts = (uint64_t)c.parts;
    uint64_t share = (t->bytes + parts - 1) / parts;
    if (ranks < 2)
        return 0;
    if (family == SC__FAMILY_ROOT)
        return root_time(n, c.messages, share);
    if (family == SC__FAMILY_DISSEMINATION)
        share = 1;
    double step = (double)(n->L + 2 * n->o + stretch(n->G + 2 * n->O, share));
    return llround(fmin(c.messages * step, (double)(FOREVER / 2)));
}

static sc_status loggops_alone(void *self,
                               const struct sc_transfer *t,
                               int64_t *time,
                               struct sc_claims *claims) {
    const struct loggops *n = self;
    claims->count = 0;
    claims->contended = true;
    *time = t->coll != SC__COLLS ? collective_time(n, t)
                                 : n->L + 2 * n->o + stretch(n->G + 2 * n->O, t->bytes);
    return SC_OK;
}

static uint32_t new_flight(struct loggops *n, const struct sc_transfer *t) {
    if (n->unused_count) {
        uint32_t id = n->unused[--n->unused_count];
        n->flights[id] = (struct flight){.transfer = *t};
        return id;
    }
    *SC__PUSH(n->arena, n->flights, n->flight_count, n->flight_capacity) =
        (struct flight){.transfer = *t};
    return n->flight_count - 1;
}

static sc_status loggops_start(void *self, const struct sc_transfer *t, int64_t now) {
    struct loggops *n = self;
    uint32_t id = new_flight(n, t);
    if (t->coll != SC__COLLS) {
        n->flights[id].departed = true;
        sc__queue_push(&n->queue, now + collective_time(n, t), id, 0);
        return SC_OK;
    }
    int64_t *out = &n->out_free[nic_of(n, t->rank, t)];
    int64_t leave = now > *out ? now : *out;
    *out = at_most_forever(leave + n->g + stretch(n->G, t->bytes));
    if (t->bytes > n->S)
        leave += 2 * n->L;
    if (leave == now)
        depart(n, id, now);
    else
        sc__queue_push(&n->queue, leave, id, 0);
    return SC_OK;
}

static sc_status loggops_next(void *self, int64_t *when) {
    *when = sc__queue_time(&((struct loggops *)self)->queue);
    return SC_OK;
}

static sc_status
loggops_finish(void *self, int64_t to, struct sc_transfer *done, bool *found) {
    struct loggops *n = self;
    *found = false;
    while (sc__queue_time(&n->queue) <= to) {
        int64_t time = sc__queue_time(&n->queue);
        struct sc__queued e = sc__queue_pop(&n->queue);
        if (!n->flights[e.a].departed) {
            depart(n, e.a, time);
            continue;
        }
        *done = n->flights[e.a].transfer;
        *SC__PUSH(n->arena, n->unused, n->unused_count, n->unused_capacity) = e.a;
        *found = true;
        break;
    }
    return SC_OK;
}

static sc_status loggops_overhead(void *self, uint64_t bytes, struct sc_overhead *out) {
    const struct loggops *n = self;
    int64_t time = n->o + stretch(n->O, bytes);
    *out = (struct sc_overhead){.send = time, .recv = time};
    out->rendezvous = bytes > n->S;
    out->asking = out->rendezvous ? 2 * n->L : 0;
    return SC_OK;
}

/* A time, in nanoseconds where it has no unit. Not sc__parse_time: a byte may
 * take less than a picosecond. */
static bool parse_time(struct sc__str s, double *ps) {
    static const struct {
        const char *unit;
        double ps;
    } units[] = {{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}, {"", 1e3}};
    unsigned i = 0;
    while (!sc__str_ends(s, units[i].unit))
        i++;
    s.n -= strlen(units[i].unit);
    if (!sc__parse_double(s, ps))
        return false;
    *ps *= units[i].ps;
    return *ps >= 0 && *ps < 1e17;
}

static bool parse_field(struct loggops *n, unsigned i, struct sc__str s) {
    double ps = 0;
    if (i == 5)
        return sc__str_is(s, "inf") ? (n->S = UINT64_MAX, true) : sc__parse_bytes(s, &n->S);
    if (!parse_time(s, &ps))
        return false;
    switch (i) {
    case 0:
        n->L = llround(ps);
        break;
    case 1:
        n->o = llround(ps);
        break;
    case 2:
        n->g = llround(ps);
        break;
    case 3:
        n->G = ps;
        break;
    default:
        n->O = ps;
    }
    return true;
}

static sc_status parse(struct sc_context *ctx, const char *text, struct loggops *n) {
    struct sc__str rest = sc__str(text);
    struct sc__str part;
    unsigned i = 0;
    for (; sc__split(&rest, ',', &part); i++)
        if (i > 5 || !parse_field(n, i, sc__trim(part)))
            break;
    if (i < 4 || i > 6 || rest.n)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "L,o,g,G[,O[,S]]: times in ns or with a unit (G and O a byte), S "
                        "in bytes or inf",
                        "--loggops %s: not a LogGOPS description",
                        text);
    return SC_OK;
}

#define DEFAULTS "3700,200,0,0.02,0,inf"

static uint32_t count_nics(const struct sc__workload *w) {
    uint32_t nics = 1;
    for (uint32_t i = 0; i < w->op_count; i++)
        if ((w->ops[i].kind == SC__OP_SEND || w->ops[i].kind == SC__OP_RECV) &&
            w->ops[i].group >= nics)
            nics = w->ops[i].group + 1u;
    return nics;
}

sc_status sc__net_loggops(struct sc_context *ctx,
                          const char *text,
                          const struct sc__workload *w,
                          struct sc__net *net) {
    struct loggops *n = SC__NEW(&ctx->arena, struct loggops);
    n->arena = &ctx->arena;
    n->w = w;
    n->S = UINT64_MAX;
    if (!text)
        sc__note(ctx,
                 "loggops-default",
                 "no --loggops given: " DEFAULTS " (L,o,g,G,O in ns, S)");
    SC__TRY(parse(ctx, text ? text : DEFAULTS, n));
    n->nics = count_nics(w);
    size_t ports = (size_t)sc__mesh_ranks(&w->mesh) * n->nics;
    n->out_free = SC__NEW_ARRAY(n->arena, int64_t, ports);
    n->in_free = SC__NEW_ARRAY(n->arena, int64_t, ports);
    sc__queue_init(&n->queue, n->arena);
    *net = (struct sc__net){.ops = &sc__loggops_engine, .self = n};
    return SC_OK;
}

static sc_status loggops_create(struct sc_engine_job *job, void **self) {
    struct sc__net net;
    SC__TRY(sc__net_loggops(job->ctx, sc__setting(job->settings, "loggops"), job->w, &net));
    *self = net.self;
    return SC_OK;
}

const struct sc_engine sc__loggops_engine = {
    .size = sizeof(struct sc_engine),
    .name = "loggops",
    .summary = "the LogGOPS model of messages",
    .create = loggops_create,
    .alone = loggops_alone,
    .start = loggops_start,
    .next = loggops_next,
    .finish = loggops_finish,
    .overhead = loggops_overhead,
};
