/* The network engine for ASTRA-sim's descriptions: a collective takes what
 * network/astra/astra.h says; transfers do not disturb each other (ASTRA-sim runs
 * one at a time and rank; see --astra-slots). */
#include "network/astra/astra.h"
#include "network/engine.h"

#include <string.h>

struct astra_engine {
    struct sc__arena *arena;
    const struct sc__workload *w;
    struct sc__astra machine;
    struct sc_transfer *flights;
    uint32_t count;
    uint32_t capacity;
    uint32_t *unused;
    uint32_t unused_count;
    uint32_t unused_capacity;
    struct sc__heap heap;
    uint32_t (*spans)[SC__ASTRA_DIMS]; /* by group, once asked for; [0] = 0 before */
};

static uint32_t coordinate(const struct sc__astra *a, uint32_t rank, uint32_t dim) {
    for (uint32_t d = 0; d < dim; d++)
        rank /= a->net.npus[d];
    return rank % a->net.npus[dim];
}

/* How many places of each dimension the group spans. A group that is no
 * sub-grid counts as one line in the outermost dimension it touches. */
static void find_span(const struct astra_engine *e,
                      const struct sc_transfer *t,
                      uint32_t size[SC__ASTRA_DIMS]) {
    const struct sc__astra *a = &e->machine;
    uint32_t ranks = sc__group_size(e->w, t->group);
    uint32_t outermost = 0;
    uint64_t product = 1;
    for (uint32_t d = 0; d < a->net.dims; d++) {
        uint32_t places = 0;
        bool *seen = SC__NEW_ARRAY(e->arena, bool, a->net.npus[d]);
        for (uint32_t i = 0; i < ranks; i++) {
            uint32_t c = coordinate(a, sc__group_member(e->w, t->group, t->rank, i), d);
            places += !seen[c];
            seen[c] = true;
        }
        size[d] = places;
        product *= places;
        if (places > 1)
            outermost = d;
    }
    if (product == ranks)
        return;
    for (uint32_t d = 0; d < a->net.dims; d++)
        size[d] = d == outermost ? ranks : 1;
}

static const uint32_t *span(const struct astra_engine *e, const struct sc_transfer *t) {
    if (!e->spans[t->group][0])
        find_span(e, t, e->spans[t->group]);
    return e->spans[t->group];
}

static int64_t message_time(const struct astra_engine *e, const struct sc_transfer *t) {
    const struct sc__astra *a = &e->machine;
    uint32_t hops[SC__ASTRA_DIMS];
    for (uint32_t d = 0; d < a->net.dims; d++) {
        uint32_t x = coordinate(a, t->rank, d);
        uint32_t y = coordinate(a, t->peer, d);
        uint32_t distance = x < y ? y - x : x - y;
        if (a->net.topology[d] == SC__ASTRA_RING && distance > a->net.npus[d] - distance)
            distance = a->net.npus[d] - distance;
        hops[d] = a->net.topology[d] == SC__ASTRA_RING ? distance : distance > 0;
    }
    return sc__astra_message(a, hops, t->bytes);
}

static int64_t astra_engine_time_of(const struct astra_engine *e,
                                    const struct sc_transfer *t) {
    if (t->coll == SC__COLLS)
        return message_time(e, t);
    uint32_t ranks = sc__group_size(e->w, t->group);
    if (ranks < 2)
        return 0;
    const uint32_t *size = span(e, t);
    switch (t->coll) {
    case SC__ALLREDUCE:
        return sc__astra_collective(&e->machine, SC__ASTRA_ALLREDUCE, size, t->bytes);
    case SC__ALLGATHER:
        return sc__astra_collective(&e->machine,
                                    SC__ASTRA_ALLGATHER,
                                    size,
                                    t->bytes / ranks);
    case SC__REDUCESCATTER:
        return sc__astra_collective(&e->machine, SC__ASTRA_REDUCESCATTER, size, t->bytes);
    case SC__GATHER:
    case SC__SCATTER: /* the root's part of it */
    case SC__ALLTOALL:
        return sc__astra_collective(&e->machine, SC__ASTRA_ALLTOALL, size, t->bytes);
    case SC__SHIFT: /* a step of a gather */
        return sc__astra_collective(&e->machine, SC__ASTRA_ALLGATHER, size, t->bytes) /
               (ranks - 1);
    case SC__BARRIER:
        return sc__astra_collective(&e->machine, SC__ASTRA_ALLREDUCE, size, 0);
    default:
        return sc__astra_collective(&e->machine, SC__ASTRA_REDUCESCATTER, size, t->bytes);
    }
}

static sc_status astra_engine_alone(void *self,
                                    const struct sc_transfer *t,
                                    int64_t *time,
                                    struct sc_claims *claims) {
    claims->count = 0;
    claims->contended = false;
    *time = astra_engine_time_of(self, t);
    return SC_OK;
}

static sc_status astra_engine_start(void *self, const struct sc_transfer *t, int64_t now) {
    struct astra_engine *e = self;
    uint32_t id = e->unused_count ? e->unused[--e->unused_count] : e->count;
    if (id == e->count)
        (void)SC__PUSH(e->arena, e->flights, e->count, e->capacity);
    e->flights[id] = *t;
    sc__heap_push(&e->heap, now + astra_engine_time_of(e, t), id, 0);
    return SC_OK;
}

static sc_status astra_engine_next(void *self, int64_t *when) {
    *when = sc__heap_time(&((struct astra_engine *)self)->heap);
    return SC_OK;
}

static sc_status
astra_engine_finish(void *self, int64_t to, struct sc_transfer *done, bool *found) {
    struct astra_engine *e = self;
    *found = sc__heap_time(&e->heap) <= to;
    if (!*found)
        return SC_OK;
    uint32_t id = sc__heap_pop(&e->heap).a;
    *done = e->flights[id];
    *SC__PUSH(e->arena, e->unused, e->unused_count, e->unused_capacity) = id;
    return SC_OK;
}

sc_status sc__net_astra(struct sc_context *ctx,
                        const char *network,
                        const char *system,
                        bool compat,
                        const struct sc__workload *w,
                        struct sc__net *net) {
    struct astra_engine *e = SC__NEW(&ctx->arena, struct astra_engine);
    struct sc__place at = {.file = network};
    uint64_t npus = 1;
    e->arena = &ctx->arena;
    e->w = w;
    SC__TRY(sc__astra_read(ctx, network, system, compat, &e->machine));
    for (uint32_t d = 0; d < e->machine.net.dims; d++)
        npus *= e->machine.net.npus[d];
    if (npus != sc__mesh_ranks(&w->mesh))
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "npus_count multiplies to the number of ranks",
                        "%llu NPUs, but the job has %u ranks",
                        (unsigned long long)npus,
                        sc__mesh_ranks(&w->mesh));
    sc__heap_init(&e->heap, e->arena);
    e->spans = sc__alloc_array(e->arena, w->group_count, sizeof *e->spans);
    *net = (struct sc__net){.ops = &sc__astra_engine, .self = e};
    return SC_OK;
}

const struct sc__option sc__astra_options[] = {
    {"astra-network",
     0,
     "FILE",
     NULL,
     "Machine",
     "ASTRA-sim's network YAML instead of a cluster",
     0},
    {0},
};

static sc_status astra_create(struct sc_engine_job *job, void **self) {
    const struct sc__settings *s = job->settings;
    const char *compat = sc__setting(s, "compat");
    struct sc__net net;
    SC__TRY(sc__net_astra(job->ctx,
                          sc__setting(s, "astra-network"),
                          sc__setting(s, "astra-system"),
                          compat && !strcmp(compat, "astra"),
                          job->w,
                          &net));
    *self = net.self;
    return SC_OK;
}

const struct sc_engine sc__astra_engine = {
    .size = sizeof(struct sc_engine),
    .name = "astra",
    .summary = "ASTRA-sim's analytical network",
    .create = astra_create,
    .alone = astra_engine_alone,
    .start = astra_engine_start,
    .next = astra_engine_next,
    .finish = astra_engine_finish,
};
