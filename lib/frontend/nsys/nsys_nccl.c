/* nsys_nccl: which collective a kernel of NCCL is, of which ranks and how many bytes.
 *
 * A kernel is launched inside the call that asked for it, or, where calls are grouped,
 * in ncclGroupEnd behind them: then it does the work of all calls of its kind since the
 * kernel before it. A communicator has the same number on all its ranks, so that its
 * members are the ranks that use it. */
#include "base/sort.h"
#include "frontend/nsys/nsys.h"

#include <stdlib.h>
#include <string.h>

struct communicator {
    uint64_t id;
    uint32_t *ranks; /* rising */
    uint32_t count;
    uint32_t capacity;
    uint32_t size;     /* as it was made; 0: not in the profile */
    uint32_t *kernels; /* by place in ranks */
};

struct naming {
    struct sc_context *ctx;
    struct sc__map at; /* id → index */
    struct communicator *items;
    uint32_t count;
    uint32_t capacity;
    uint64_t unseen; /* collectives of communicators with ranks that are not here */
};

/* ---- ranks ---- */

static const struct sc__nsys_member *
member_of(const struct sc__nsys *n, int64_t process, uint32_t size) {
    for (uint32_t i = 0; i < n->member_count; i++)
        if (n->members[i].process == process && n->members[i].size == size)
            return &n->members[i];
    return NULL;
}

static bool alone_in_process(const struct sc__nsys *n, const struct sc__nsys_device *d) {
    for (uint32_t i = 0; i < n->device_count; i++)
        if (&n->devices[i] != d && n->devices[i].process == d->process)
            return false;
    return true;
}

/* True where every rank was told its own by the communicator of all. */
static bool ranks_by_nccl(struct sc__nsys *exports, uint32_t count, uint32_t world) {
    bool *seen = SC__NEW_ARRAY(&exports->ctx->arena, bool, world);
    for (uint32_t e = 0; e < count; e++)
        for (uint32_t i = 0; i < exports[e].device_count; i++) {
            struct sc__nsys_device *d = &exports[e].devices[i];
            const struct sc__nsys_member *m = member_of(&exports[e], d->process, world);
            if (!m || !alone_in_process(&exports[e], d) || seen[m->rank])
                return false;
            seen[m->rank] = true;
            d->trace->rank = m->rank;
        }
    return true;
}

void sc__nsys_order_ranks(struct sc__nsys *exports,
                          uint32_t count,
                          struct sc__kineto_traces *out) {
    uint32_t world = 0;
    for (uint32_t e = 0; e < count; e++)
        world += exports[e].device_count;
    bool known = ranks_by_nccl(exports, count, world);
    uint32_t next = 0;
    for (uint32_t e = 0; e < count; e++)
        for (uint32_t i = 0; i < exports[e].device_count; i++, next++) {
            struct sc__kineto_trace *t = exports[e].devices[i].trace;
            t->has_rank = true;
            t->world = world;
            t->rank = known ? t->rank : next;
            *SC__PUSH(&exports->ctx->arena, out->items, out->count, out->capacity) = t;
        }
}

/* ---- kernels and calls ---- */

static int by_thread(const void *a, const void *b) {
    const struct sc__nsys_call *x = a;
    const struct sc__nsys_call *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* The last call of the launching thread that had begun; NULL: none. */
static struct sc__nsys_call *
call_before(struct sc__nsys *n, int64_t process, const struct sc__kineto_launch *l) {
    struct sc__nsys_call key = {.process = process, .thread = l->thread, .start = l->start};
    uint32_t low = 0;
    uint32_t high = n->call_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (by_thread(&n->calls[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct sc__nsys_call *c = low ? &n->calls[low - 1] : NULL;
    return c && c->process == process && c->thread == l->thread ? c : NULL;
}

/* The call a kernel was launched for, with the bytes of all that it does. */
static bool find_call(struct sc__nsys *n,
                      int64_t process,
                      const struct sc__kineto_launch *l,
                      uint8_t coll,
                      struct sc__nsys_call *out) {
    struct sc__nsys_call *c = l ? call_before(n, process, l) : NULL;
    if (!c || c->taken || c->coll != coll)
        return false;
    *out = *c;
    c->taken = true;
    if (l->start <= c->end)
        return true;
    for (struct sc__nsys_call *p = c; p-- > n->calls;) {
        if (p->taken || p->process != process || p->thread != l->thread ||
            p->coll != coll || p->communicator != c->communicator)
            break;
        out->bytes += p->bytes;
        p->taken = true;
    }
    return true;
}

static struct communicator *communicator_of(struct naming *n, uint64_t id) {
    bool fresh;
    uint64_t *at = sc__map_at(&n->at, id, &fresh);
    if (fresh) {
        *at = n->count;
        SC__PUSH(&n->ctx->arena, n->items, n->count, n->capacity)->id = id;
    }
    return &n->items[*at];
}

static uint32_t name_text(struct sc__kineto_trace *t, const char *text) {
    return sc__names_add(&t->names, text, strlen(text));
}

/* Every kernel of NCCL gets its record; `of` is by record: the communicator + 1. */
static void record_kernels(struct sc__nsys *n,
                           const struct sc__nsys_device *d,
                           struct naming *naming,
                           uint32_t **of) {
    struct sc__kineto_trace *t = d->trace;
    bool alone = alone_in_process(n, d);
    uint32_t of_count = 0;
    uint32_t of_capacity = 0;
    for (uint32_t i = 0; i < t->kernel_count; i++) {
        struct sc__kineto_kernel *k = &t->kernels[i];
        struct sc__nsys_call call;
        if (k->kind != SC__KINETO_COMM)
            continue;
        uint8_t coll = sc__kineto_collective_of_kernel(sc__str(t->names.text[k->name]));
        k->comm = t->comm_count;
        struct sc__kineto_comm *c =
            SC__PUSH(t->arena, t->comms, t->comm_count, t->comm_capacity);
        c->coll = coll;
        c->by_name = true;
        c->seq = -1;
        c->group = SC__NO_NAME;
        c->ranks = SC__NO_NAME;
        c->description =
            name_text(t, sc__format(t->arena, "NCCL stream %u", t->streams[k->stream]));
        uint32_t *which = SC__PUSH(t->arena, *of, of_count, of_capacity);
        const struct sc__kineto_launch *l = sc__kineto_launch_of(t, k->correlation);
        if (!alone || !find_call(n, d->process, l, coll, &call))
            continue;
        struct communicator *m = communicator_of(naming, call.communicator);
        *which = 1 + (uint32_t)(m - naming->items);
        c->in_bytes = call.bytes;
        if (!m->count || m->ranks[m->count - 1] != t->rank)
            *SC__PUSH(&naming->ctx->arena, m->ranks, m->count, m->capacity) = t->rank;
    }
}

/* ---- groups ---- */

static const char *rank_list(struct naming *n, const struct communicator *m) {
    struct sc__buffer b;
    sc__buffer_init(&b, &n->ctx->arena);
    for (uint32_t i = 0; i < m->count; i++)
        sc__printf(&b, "%s%u", i ? ", " : "[", m->ranks[i]);
    sc__putc(&b, ']');
    return b.text;
}

static uint32_t place_in(const struct communicator *m, uint32_t rank) {
    const uint32_t *found =
        bsearch(&rank, m->ranks, m->count, sizeof rank, sc__compare_u32);
    return found ? (uint32_t)(found - m->ranks) : 0;
}

/* All its ranks are here: two at least, and as many as it was made for. */
static bool is_whole(const struct communicator *m) {
    return m->size ? m->size == m->count : m->count > 1;
}

/* NCCL tells the bytes of one rank's part: what is sent to each in an all-to-all, what
 * a rank gives to an all-gather, and what it gets of a reduce-scatter. */
static void set_bytes(struct sc__kineto_comm *c, uint32_t ranks) {
    bool of_one =
        c->coll == SC__ALLGATHER || c->coll == SC__REDUCESCATTER || c->coll == SC__ALLTOALL;
    bool fits = c->in_bytes <= INT64_MAX / ranks;
    if (of_one && fits)
        c->in_bytes *= ranks;
    c->out_bytes = c->in_bytes;
    c->has_elements = true;
}

static void name_kernels(struct naming *n, struct sc__kineto_trace *t, const uint32_t *of) {
    for (uint32_t i = 0; i < t->comm_count; i++) {
        struct sc__kineto_comm *c = &t->comms[i];
        struct communicator *m = of[i] ? &n->items[of[i] - 1] : NULL;
        if (!m)
            continue;
        uint32_t place = place_in(m, t->rank);
        if (!is_whole(m)) {
            n->unseen++;
            c->in_bytes = 0;
            if (m->size)
                c->description =
                    name_text(t, sc__format(t->arena, "NCCL group of %u", m->size));
            continue;
        }
        c->by_name = false;
        c->description = SC__NO_NAME;
        c->group_size = m->count;
        c->ranks = name_text(t, rank_list(n, m));
        c->group =
            name_text(t,
                      sc__format(t->arena, "communicator %llx", (unsigned long long)m->id));
        c->seq = m->kernels[place]++;
        set_bytes(c, m->count);
    }
}

/* Where the profile has not the same number of a communicator's collectives on all its
 * ranks, it is not known which belong together. */
static void
forget_uneven(struct naming *n, struct sc__kineto_trace *t, const uint32_t *of) {
    for (uint32_t i = 0; i < t->comm_count; i++) {
        const struct communicator *m = of[i] ? &n->items[of[i] - 1] : NULL;
        bool even = true;
        for (uint32_t k = 1; m && k < m->count; k++)
            even = even && m->kernels[k] == m->kernels[0];
        if (!even)
            t->comms[i].seq = -1;
    }
}

static void
order_members(struct naming *n, const struct sc__nsys *exports, uint32_t count) {
    for (uint32_t e = 0; e < count; e++)
        for (uint32_t i = 0; i < exports[e].member_count; i++) {
            const struct sc__nsys_member *m = &exports[e].members[i];
            const uint64_t *at = sc__map_find(&n->at, m->communicator);
            if (at)
                n->items[*at].size = m->size;
        }
    for (uint32_t i = 0; i < n->count; i++) {
        struct communicator *m = &n->items[i];
        qsort(m->ranks, m->count, sizeof *m->ranks, sc__compare_u32);
        m->kernels = SC__NEW_ARRAY(&n->ctx->arena, uint32_t, m->count);
    }
}

void sc__nsys_name_collectives(struct sc__nsys *exports, uint32_t count) {
    struct naming n = {.ctx = exports->ctx};
    uint32_t ***of = SC__NEW_ARRAY(&n.ctx->arena, uint32_t **, count);
    sc__map_init(&n.at, &n.ctx->arena);
    for (uint32_t e = 0; e < count; e++) {
        struct sc__nsys *x = &exports[e];
        of[e] = SC__NEW_ARRAY(&n.ctx->arena, uint32_t *, x->device_count);
        if (x->call_count)
            qsort(x->calls, x->call_count, sizeof *x->calls, by_thread);
        for (uint32_t i = 0; i < x->device_count; i++)
            record_kernels(x, &x->devices[i], &n, &of[e][i]);
    }
    order_members(&n, exports, count);
    for (uint32_t e = 0; e < count; e++)
        for (uint32_t i = 0; i < exports[e].device_count; i++)
            name_kernels(&n, exports[e].devices[i].trace, of[e][i]);
    for (uint32_t e = 0; e < count; e++)
        for (uint32_t i = 0; i < exports[e].device_count; i++)
            forget_uneven(&n, exports[e].devices[i].trace, of[e][i]);
    if (n.unseen)
        sc__note(n.ctx,
                 "nsys-unseen-ranks",
                 "%llu collectives are of communicators whose other ranks are in other "
                 "exports: they keep their measured times (give the exports of all ranks)",
                 (unsigned long long)n.unseen);
}
