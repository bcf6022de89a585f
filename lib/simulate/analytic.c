/* analytic: the default engine. Each transfer has the time it takes alone
 * (machine/cluster.h) and claims shares of ports: the NVLink port and the NIC,
 * in and out, of the ranks it runs on. Where the claims on a port add up to
 * more than the port, all transfers on it slow down alike. */
#include "simulate/network.h"

#include <string.h>

struct active {
    struct sc__transfer transfer;
    double left, rate; /* ps alone; share of full speed */
    int64_t since;
    uint32_t version;
    int claims;
    struct sc__claim claim[SC__CLAIMS];
    uint32_t next_on[SC__CLAIMS]; /* list of the port */
    bool used;
};

struct port {
    double load;
    uint32_t first; /* active · SC__CLAIMS + which claim, or SC__NONE */
};

struct analytic {
    struct sc__arena *arena;
    const struct sc__cluster *cluster;
    const struct sc__workload *w;
    struct sc__map shapes, prices; /* memoised */
    struct sc__map port_ids;
    struct port *ports;
    uint32_t port_count, port_capacity;
    struct active *active;
    uint32_t count, capacity, free;
    struct sc__heap heap;
};

enum { PORT_NVLINK, PORT_NIC_OUT, PORT_NIC_IN, PORTS };

static uint64_t port_of(uint32_t class, int which) { return (uint64_t)class * PORTS + (unsigned)which; }

static uint32_t node_of(const struct analytic *n, uint32_t rank) { return rank / n->cluster->node_gpus; }

/* Members come in rank order, so nodes come in runs. */
static struct sc__shape group_shape(const struct analytic *n, uint16_t group, uint32_t rank) {
    uint32_t size = sc__group_size(n->w, group), run = 0, last = UINT32_MAX;
    struct sc__shape s = {.ranks = size, .least = UINT32_MAX};
    for (uint32_t i = 0; i < size; i++) {
        uint32_t node = node_of(n, sc__group_member(n->w, group, rank, i));
        if (node != last && run && run < s.least) s.least = run;
        if (node != last) s.nodes++, run = 0;
        last = node;
        if (++run > s.per_node) s.per_node = run;
    }
    if (run < s.least) s.least = run;
    return s;
}

static const struct sc__shape *shape_of(struct analytic *n, uint16_t group, uint32_t class, uint32_t rank) {
    bool fresh;
    uint64_t *slot = sc__map_at(&n->shapes, (uint64_t)group << 32 | class, &fresh);
    if (fresh) {
        struct sc__shape *s = SC__NEW(n->arena, struct sc__shape);
        *s = group_shape(n, group, rank);
        *slot = (uintptr_t)s;
    }
    return (const struct sc__shape *)(uintptr_t)*slot;
}

static int64_t collective_alone(struct analytic *n, const struct sc__transfer *t, struct sc__claim *claim, int *claims) {
    const struct sc__shape *s = shape_of(n, t->group, t->class, t->rank);
    *claims = 0;
    if (s->ranks < 2) return 0;
    claim[(*claims)++] = (struct sc__claim){port_of(t->class, PORT_NVLINK), 1};
    if (s->nodes > 1) {
        if (s->per_node < 2) *claims = 0;
        else claim[0].share = n->cluster->nic * s->per_node < n->cluster->nvlink ? n->cluster->nic * s->per_node / n->cluster->nvlink : 1;
        claim[(*claims)++] = (struct sc__claim){port_of(t->class, PORT_NIC_OUT), 1};
        claim[(*claims)++] = (struct sc__claim){port_of(t->class, PORT_NIC_IN), 1};
    }
    bool fresh;
    uint64_t key[3] = {t->bytes, (uint64_t)t->coll << 32 | s->ranks, (uint64_t)s->nodes << 32 | s->per_node << 16 | s->least};
    uint64_t *price = sc__map_at(&n->prices, sc__hash(key, sizeof key, 0), &fresh);
    if (fresh) *price = (uint64_t)sc__collective_time(n->cluster, t->coll, s, t->bytes);
    return (int64_t)*price;
}

static int64_t alone(void *self, const struct sc__transfer *t, struct sc__claim claim[SC__CLAIMS], int *claims) {
    struct analytic *n = self;
    *claims = 0;
    if (n->cluster->ideal) return 0;
    if (t->coll != SC__COLLS) return collective_alone(n, t, claim, claims);
    if (t->rank == t->peer) return 0;
    bool same = node_of(n, t->rank) == node_of(n, t->peer);
    claim[0] = (struct sc__claim){port_of(t->class, same ? PORT_NVLINK : PORT_NIC_OUT), 1};
    claim[1] = (struct sc__claim){port_of(t->peer_class, same ? PORT_NVLINK : PORT_NIC_IN), 1};
    *claims = 2;
    return sc__message_time(n->cluster, same, t->bytes);
}

static struct port *port_at(struct analytic *n, uint64_t resource) {
    bool fresh;
    uint64_t *slot = sc__map_at(&n->port_ids, resource, &fresh);
    if (fresh) {
        *slot = n->port_count;
        struct port *p = SC__PUSH(n->arena, n->ports, n->port_count, n->port_capacity);
        p->load = 0;
        p->first = SC__NONE;
    }
    return &n->ports[*slot];
}

static double rate_of(struct analytic *n, const struct active *a) {
    double rate = 1;
    for (int i = 0; i < a->claims; i++) {
        double load = port_at(n, a->claim[i].resource)->load;
        if (load > 1 && 1 / load < rate) rate = 1 / load;
    }
    return rate;
}

/* Brings the transfer's progress to now and gives it its new rate. */
static void pace(struct analytic *n, uint32_t id, int64_t now) {
    struct active *a = &n->active[id];
    double rate = rate_of(n, a);
    if (a->version && rate == a->rate) return;
    a->left -= (double)(now - a->since) * a->rate;
    if (a->left < 0) a->left = 0;
    a->since = now;
    a->rate = rate;
    a->version++;
    sc__heap_push(&n->heap, now + (int64_t)ceil(a->left / rate), id, a->version);
}

static void pace_ports(struct analytic *n, const struct active *a, int64_t now) {
    for (int i = 0; i < a->claims; i++)
        for (uint32_t at = port_at(n, a->claim[i].resource)->first; at != SC__NONE;) {
            uint32_t id = at / SC__CLAIMS;
            at = n->active[id].next_on[at % SC__CLAIMS];
            pace(n, id, now);
        }
}

static sc_status start(void *self, const struct sc__transfer *t, int64_t now) {
    struct analytic *n = self;
    uint32_t id = n->free;
    if (id != SC__NONE) n->free = n->active[id].version;
    else {
        (void)SC__PUSH(n->arena, n->active, n->count, n->capacity);
        id = n->count - 1;
    }
    struct active *a = &n->active[id];
    *a = (struct active){.transfer = *t, .rate = 1, .since = now, .used = true};
    a->left = (double)alone(n, t, a->claim, &a->claims);
    for (int i = 0; i < a->claims; i++) {
        struct port *p = port_at(n, a->claim[i].resource);
        p->load += a->claim[i].share;
        a->next_on[i] = p->first;
        p->first = id * SC__CLAIMS + (uint32_t)i;
    }
    pace(n, id, now);
    pace_ports(n, a, now);
    return SC_OK;
}

static bool stale(const struct analytic *n, const struct sc__event *e) {
    return !n->active[e->a].used || n->active[e->a].version != e->b;
}

static int64_t next(void *self) {
    struct analytic *n = self;
    while (n->heap.count && stale(n, &n->heap.items[0])) sc__heap_pop(&n->heap);
    return sc__heap_time(&n->heap);
}

static void leave_port(struct analytic *n, uint32_t id, int which) {
    struct active *a = &n->active[id];
    struct port *p = port_at(n, a->claim[which].resource);
    uint32_t me = id * SC__CLAIMS + (uint32_t)which, *link = &p->first;
    while (*link != me) link = &n->active[*link / SC__CLAIMS].next_on[*link % SC__CLAIMS];
    *link = a->next_on[which];
    p->load = p->first == SC__NONE ? 0 : p->load - a->claim[which].share;
}

static bool finish(void *self, int64_t to, struct sc__transfer *done) {
    struct analytic *n = self;
    if (next(n) > to) return false;
    uint32_t id = sc__heap_pop(&n->heap).a;
    struct active *a = &n->active[id], gone = *a;
    *done = a->transfer;
    for (int i = 0; i < a->claims; i++) leave_port(n, id, i);
    a->used = false;
    a->version = n->free;
    n->free = id;
    pace_ports(n, &gone, to);
    return true;
}

static const struct sc__net_ops analytic_ops = {"analytic", alone, start, next, finish, NULL};

sc_status sc__net_analytic(struct sc_context *ctx, const struct sc__cluster *cluster, const struct sc__workload *w,
                           struct sc__net *net) {
    struct analytic *n = SC__NEW(&ctx->arena, struct analytic);
    n->arena = &ctx->arena;
    n->cluster = cluster;
    n->w = w;
    n->free = SC__NONE;
    sc__map_init(&n->shapes, n->arena);
    sc__map_init(&n->prices, n->arena);
    sc__map_init(&n->port_ids, n->arena);
    sc__heap_init(&n->heap, n->arena);
    *net = (struct sc__net){.ops = &analytic_ops, .self = n, .free = cluster->ideal};
    return SC_OK;
}
