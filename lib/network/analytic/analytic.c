/* analytic: the default engine. Each transfer has the time it takes alone
 * (hardware/cluster.h) and claims shares of ports: the NVLink port and the NIC,
 * in and out, of the ranks it runs on, and the uplinks of their leaf. Where
 * the claims on a port add up to more than the port, all transfers on it slow
 * down alike (port_sharing.h). A collective claims what it uses on average while
 * it runs; a message nothing for its latency, and then its ports for its bytes.
 *
 * A class stands for all its ranks: its collective runs in every group of
 * them at once. Groups that share one NIC (four NICs for eight GPUs) have
 * their part of it already in the time alone; claims are about different
 * operations and different classes. A collective that spans classes claims the
 * ports of all of them. */
#include "base/random.h"
#include "network/analytic/port_sharing.h"
#include "network/engine.h"

#include <string.h>

/* What a transfer costs, and whom it shares ports with. */
struct analytic_cost {
    int64_t latency; /* ps in which it claims nothing */
    int64_t work;    /* ps with its claims */
    uint32_t bundle; /* of the port sharing */
};

struct analytic_active {
    struct sc_transfer transfer;
    const struct analytic_cost *cost;
    uint32_t next_free;
};

/* The other classes of a group, and a rank of each. Past the first of very
 * many the rest fares alike. */
#define MOST_MEMBERS 64

struct members {
    uint32_t count;
    uint32_t class[MOST_MEMBERS];
    uint32_t rank[MOST_MEMBERS];
};

/* Of the calls made on something at once, how many are those of the class. */
struct analytic_part {
    uint32_t own;
    uint32_t all;
};

/* How a group lies on the cluster, and what its class has of the NIC and the
 * uplinks that others use at the same time. */
struct analytic_place {
    struct sc__shape shape;
    struct analytic_part nic;
    struct analytic_part up[SC__LEVELS];
};

struct analytic {
    struct sc__arena *arena;
    struct sc__cluster cluster;
    const struct sc__workload *w;
    bool thin[SC__LEVELS]; /* uplinks are fewer than the NICs below */
    /* memoised */
    struct sc__map places;
    struct sc__map costs;
    struct sc__map sharers;
    struct sc__map joined;
    struct sc__map members;
    struct sc__map loads; /* struct analytic_cost */
    struct sc__port_sharing *sharing;
    struct sc__port_claim *claims; /* room for those of one transfer */
    uint32_t claim_count;
    uint32_t claim_capacity;
    struct analytic_active *active;
    uint32_t count;
    uint32_t capacity;
    uint32_t free;
    struct sc__heap waiting; /* transfers in their latency; a: active */
};

enum { PORT_NVLINK_OUT, PORT_NVLINK_IN, PORT_NIC_OUT, PORT_NIC_IN, PORT_UPLINK, PORTS };
enum { SPACE_CLASS, SPACE_NIC, SPACE_LEAF, SPACE_POD }; /* what a port number counts */

static uint64_t port_id(unsigned space, uint64_t number, unsigned which) {
    return (uint64_t)space << 60 | (number * PORTS + which);
}

static uint32_t node_of(const struct analytic *n, uint32_t rank) {
    return sc__cluster_node(&n->cluster, rank);
}

/* Whether each GPU has NICs of its own, or links of its own to the dimensions. */
static bool owns_nics(const struct sc__cluster *c) {
    return c->node_nics >= c->node_gpus || c->fabric.kind == SC__FABRIC_DIMS;
}

/* The NIC of a rank. Where GPUs share NICs, two classes may share one. */
static uint64_t
nic_port(const struct analytic *n, uint32_t class, uint32_t rank, unsigned which) {
    const struct sc__cluster *c = &n->cluster;
    uint32_t gpu = sc__cluster_gpu(c, rank);
    if (owns_nics(c))
        return port_id(SPACE_CLASS, class, which);
    return port_id(SPACE_NIC,
                   (uint64_t)(gpu / c->node_gpus) * c->node_nics + sc__cluster_nic(c, gpu),
                   which);
}

static uint32_t part_of(const struct analytic *n, enum sc__level level, uint32_t rank) {
    return (uint32_t)(node_of(n, rank) / sc__fabric_part_nodes(&n->cluster, level));
}

static uint64_t uplink_port(const struct analytic *n, enum sc__level level, uint32_t rank) {
    return port_id(level == SC__LEAF ? SPACE_LEAF : SPACE_POD,
                   part_of(n, level, rank),
                   PORT_UPLINK);
}

/* The rank on a GPU, or SC__NONE. */
static uint32_t rank_on(const struct analytic *n, uint64_t gpu) {
    if (gpu >= n->cluster.gpus)
        return SC__NONE;
    uint32_t rank = n->cluster.rank_of ? n->cluster.rank_of[gpu] - 1 : (uint32_t)gpu;
    return rank < sc__mesh_ranks(&n->w->mesh) ? rank : SC__NONE;
}

/* Whether a rank of class `class` is in the group of rank: so for all ranks of
 * its class, or for none. */
static bool joins(struct analytic *n, uint32_t group, uint32_t class, uint32_t rank) {
    uint32_t own = sc__workload_class_of(n->w, rank);
    bool fresh, found = false;
    if (own == class || group == SC__NONE)
        return own == class;
    uint64_t key[2] = {group, (uint64_t)own << 32 | class};
    uint64_t *slot = sc__map_at(&n->joined, sc__hash(key, sizeof key, 0), &fresh);
    if (!fresh)
        return *slot;
    for (uint32_t i = 0; !found && i < sc__group_size(n->w, (uint16_t)group); i++)
        found =
            sc__workload_class_of(n->w, sc__group_member(n->w, (uint16_t)group, rank, i)) ==
            class;
    *slot = found;
    return found;
}

/* The rank on a GPU where it does what the class does, at the same time: it
 * runs the same program. */
static uint32_t class_rank_on(const struct analytic *n, uint64_t gpu, uint32_t class) {
    uint32_t rank = rank_on(n, gpu);
    if (rank == SC__NONE)
        return SC__NONE;
    const struct sc__class *c = &n->w->classes[sc__workload_class_of(n->w, rank)];
    return c->program == n->w->classes[class].program ? rank : SC__NONE;
}

/* Calls made at once on the NIC of rank: different groups (for messages, group
 * SC__NONE, ranks). */
static struct analytic_part
nic_part(struct analytic *n, uint32_t group, uint32_t class, uint32_t rank) {
    const struct sc__cluster *c = &n->cluster;
    uint32_t gpu = sc__cluster_gpu(c, rank);
    uint32_t nic = sc__cluster_nic(c, gpu);
    uint32_t first = gpu - gpu % c->node_gpus;
    uint32_t seen[1024];
    struct analytic_part p = {0, 0};
    if (owns_nics(c))
        return (struct analytic_part){1, 1};
    for (uint32_t g = first; g < first + c->node_gpus && p.all < 1024; g++) {
        uint32_t r = class_rank_on(n, g, class);
        uint32_t i = 0;
        if (r == SC__NONE || sc__cluster_nic(c, g) != nic)
            continue;
        uint32_t id = group == SC__NONE ? r : sc__group_member(n->w, (uint16_t)group, r, 0);
        while (i < p.all && seen[i] != id)
            i++;
        if (i < p.all)
            continue;
        seen[p.all++] = id;
        p.own += joins(n, group, class, r);
    }
    return p.all ? p : (struct analytic_part){1, 1};
}

/* The same for the leaf or pod of rank: they use its uplinks at once. */
static struct analytic_part count_sharing(struct analytic *n,
                                          enum sc__level level,
                                          uint32_t group,
                                          uint32_t class,
                                          uint32_t rank) {
    const struct sc__cluster *c = &n->cluster;
    uint64_t width = (uint64_t)sc__fabric_part_nodes(c, level) * c->node_gpus;
    uint64_t first = part_of(n, level, rank) * width;
    struct analytic_part p = {0, 0};
    struct sc__map seen;
    sc__map_init(&seen, n->arena);
    for (uint64_t g = first; g < first + width && g < c->gpus; g++) {
        uint32_t r = class_rank_on(n, g, class);
        bool fresh = true;
        if (r == SC__NONE)
            continue;
        if (group != SC__NONE)
            sc__map_at(&seen, sc__group_member(n->w, (uint16_t)group, r, 0), &fresh);
        p.all += fresh;
        p.own += fresh && joins(n, group, class, r);
    }
    return p.all ? p : (struct analytic_part){1, 1};
}

static struct analytic_part sharing(struct analytic *n,
                                    enum sc__level level,
                                    uint32_t group,
                                    uint32_t class,
                                    uint32_t rank) {
    bool fresh;
    uint64_t key[2] = {(uint64_t)group << 32 | class,
                       (uint64_t)level << 32 | part_of(n, level, rank)};
    uint64_t *slot = sc__map_at(&n->sharers, sc__hash(key, sizeof key, 4), &fresh);
    if (fresh) {
        struct analytic_part p = count_sharing(n, level, group, class, rank);
        *slot = (uint64_t)p.own << 32 | p.all;
    }
    return (struct analytic_part){(uint32_t)(*slot >> 32), (uint32_t)*slot};
}

static double analytic_share_of(struct analytic_part p, double whole) {
    return whole * p.own / p.all;
}

static struct analytic_place
group_place(struct analytic *n, uint16_t group, uint32_t class, uint32_t rank) {
    uint32_t size = sc__group_size(n->w, group);
    uint32_t *gpu = SC__NEW_ARRAY(n->arena, uint32_t, size);
    for (uint32_t i = 0; i < size; i++)
        gpu[i] = sc__cluster_gpu(&n->cluster, sc__group_member(n->w, group, rank, i));
    struct analytic_place p = {.shape = sc__cluster_shape(&n->cluster, gpu, size)};
    if (p.shape.nodes < 2)
        return p;
    p.nic = nic_part(n, group, class, rank);
    p.shape.sharing_nic = p.nic.all;
    for (int i = 0; i < SC__LEVELS; i++) {
        if (!n->thin[i])
            continue;
        p.up[i] = sharing(n, (enum sc__level)i, group, class, rank);
        p.shape.sharing_up[i] = p.up[i].all;
    }
    return p;
}

static const struct analytic_place *
analytic_place_of(struct analytic *n, uint16_t group, uint32_t class, uint32_t rank) {
    bool fresh;
    uint64_t *slot = sc__map_at(&n->places, (uint64_t)group << 32 | class, &fresh);
    if (fresh) {
        struct analytic_place *p = SC__NEW(n->arena, struct analytic_place);
        *p = group_place(n, group, class, rank);
        *slot = (uintptr_t)p;
    }
    return (const struct analytic_place *)(uintptr_t)*slot;
}

/* The cost of a collective, remembered by what decides it (the executor asks for the same
 * ones again and again, so the key is mixed once). */
static const struct sc__coll_cost *
cost_of(struct analytic *n, const struct sc_transfer *t, const struct sc__shape *s) {
    bool fresh;
    uint64_t call = (uint64_t)t->coll << 48 | (uint64_t)t->group << 32 | t->class;
    uint64_t *slot = sc__map_at(&n->costs, sc__splitmix64(call) ^ t->bytes, &fresh);
    if (fresh) {
        struct sc__coll_cost *p = SC__NEW(n->arena, struct sc__coll_cost);
        *p = sc__collective_cost(&n->cluster, t->coll, s, t->bytes);
        *slot = (uintptr_t)p;
    }
    return (const struct sc__coll_cost *)(uintptr_t)*slot;
}

static void add_claim(struct sc_claims *claims, uint64_t resource, double share) {
    if (share > 0)
        claims->list[claims->count++] = (struct sc_claim){resource, share};
}

static int64_t collective_alone(struct analytic *n,
                                const struct sc_transfer *t,
                                struct sc_claims *claims) {
    const struct analytic_place *at = analytic_place_of(n, t->group, t->class, t->rank);
    const struct sc__shape *s = &at->shape;
    if (s->ranks < 2)
        return 0;
    const struct sc__coll_cost *p = cost_of(n, t, s);
    if (s->per_node > 1 || s->nodes < 2) {
        add_claim(claims, port_id(SPACE_CLASS, t->class, PORT_NVLINK_OUT), p->port);
        add_claim(claims, port_id(SPACE_CLASS, t->class, PORT_NVLINK_IN), p->port);
    }
    if (s->nodes > 1) {
        add_claim(claims,
                  nic_port(n, t->class, t->rank, PORT_NIC_OUT),
                  analytic_share_of(at->nic, p->wire));
        add_claim(claims,
                  nic_port(n, t->class, t->rank, PORT_NIC_IN),
                  analytic_share_of(at->nic, p->wire));
        for (int i = 0; i < SC__LEVELS; i++) {
            if (!n->thin[i])
                continue;
            add_claim(claims,
                      uplink_port(n, (enum sc__level)i, t->rank),
                      analytic_share_of(at->up[i], p->uplink[i]));
        }
    }
    return p->time;
}

/* A message goes over uplinks to another part, and to another rail unless it
 * may change rails inside its node. */
static bool
takes_uplinks(const struct analytic *n, enum sc__level level, const struct sc_transfer *t) {
    const struct sc__cluster *c = &n->cluster;
    if (part_of(n, level, t->rank) != part_of(n, level, t->peer))
        return true;
    uint32_t from = sc__cluster_nic(c, sc__cluster_gpu(c, t->rank));
    uint32_t to = sc__cluster_nic(c, sc__cluster_gpu(c, t->peer));
    return level == SC__LEAF && sc__fabric_has_rails(c) && c->tuning.no_pxn && from != to;
}

/* Messages at once per NIC's worth of uplinks, where this one takes them, and
 * how many of them are those of its class. */
static double uplink_sharing(struct analytic *n,
                             enum sc__level level,
                             const struct sc_transfer *t,
                             struct analytic_part *part) {
    const struct sc__cluster *c = &n->cluster;
    *part = (struct analytic_part){1, 1};
    if (!n->thin[level] || !takes_uplinks(n, level, t))
        return 0;
    double nics = fmax(1, (double)c->node_nics / c->node_gpus);
    *part = sharing(n, level, SC__NONE, t->class, t->rank);
    return part->all * nics / sc__fabric_uplinks(c, level);
}

/* On dimensions: the links of its ends are its own while its bytes move. */
static int64_t dims_message_alone(struct analytic *n,
                                  const struct sc_transfer *t,
                                  struct sc_claims *claims,
                                  int64_t *bytes_time) {
    const struct sc__cluster *c = &n->cluster;
    uint32_t from = sc__cluster_gpu(c, t->rank);
    uint32_t to = sc__cluster_gpu(c, t->peer);
    int64_t time = sc__message_time_between(c, from, to, t->bytes);
    add_claim(claims, nic_port(n, t->class, t->rank, PORT_NIC_OUT), 1);
    add_claim(claims, nic_port(n, t->peer_class, t->peer, PORT_NIC_IN), 1);
    *bytes_time = time - sc__message_time_between(c, from, to, 0);
    return time;
}

/* *bytes_time: the part of the time in which the bytes move. */
static int64_t message_alone(struct analytic *n,
                             const struct sc_transfer *t,
                             struct sc_claims *claims,
                             int64_t *bytes_time) {
    *bytes_time = 0;
    if (t->rank == t->peer)
        return 0;
    if (n->cluster.fabric.kind == SC__FABRIC_DIMS)
        return dims_message_alone(n, t, claims, bytes_time);
    bool same = node_of(n, t->rank) == node_of(n, t->peer);
    if (same) {
        *bytes_time = sc__message_bytes_time(&n->cluster, true, 1, t->bytes);
        double share = sc__message_share(&n->cluster, true, t->bytes);
        add_claim(claims, port_id(SPACE_CLASS, t->class, PORT_NVLINK_OUT), share);
        add_claim(claims, port_id(SPACE_CLASS, t->peer_class, PORT_NVLINK_IN), share);
        return sc__message_time(&n->cluster, true, t->bytes);
    }
    struct analytic_part nic = nic_part(n, SC__NONE, t->class, t->rank);
    struct analytic_part up[SC__LEVELS];
    double leaf = uplink_sharing(n, SC__LEAF, t, &up[SC__LEAF]);
    double pod = uplink_sharing(n, SC__POD, t, &up[SC__POD]);
    double all = fmax(fmax(leaf, pod), nic.all);
    double fill = fmin(1, all * sc__message_share(&n->cluster, false, t->bytes));
    add_claim(claims,
              nic_port(n, t->class, t->rank, PORT_NIC_OUT),
              analytic_share_of(nic, fill));
    add_claim(claims,
              nic_port(n, t->peer_class, t->peer, PORT_NIC_IN),
              analytic_share_of(nic, fill));
    add_claim(claims,
              uplink_port(n, SC__LEAF, t->rank),
              analytic_share_of(up[SC__LEAF], leaf / all));
    add_claim(claims,
              uplink_port(n, SC__POD, t->rank),
              analytic_share_of(up[SC__POD], pod / all));
    *bytes_time = sc__message_bytes_time(&n->cluster, false, all, t->bytes);
    uint32_t from = sc__cluster_gpu(&n->cluster, t->rank);
    uint32_t to = sc__cluster_gpu(&n->cluster, t->peer);
    return sc__message_switches(&n->cluster, from, to) +
           sc__message_time_shared(&n->cluster, false, all, t->bytes);
}

/* The time alone; *latency is the part of it before the claims begin. */
static int64_t time_alone(struct analytic *n,
                          const struct sc_transfer *t,
                          struct sc_claims *claims,
                          int64_t *latency) {
    int64_t bytes_time;
    claims->count = 0;
    claims->contended = false;
    *latency = 0;
    if (n->cluster.ideal)
        return 0;
    if (t->coll != SC__COLLS)
        return collective_alone(n, t, claims);
    int64_t time = message_alone(n, t, claims, &bytes_time);
    *latency = bytes_time < time ? time - bytes_time : 0;
    return time;
}

static sc_status analytic_alone(void *self,
                                const struct sc_transfer *t,
                                int64_t *time,
                                struct sc_claims *claims) {
    int64_t unused;
    *time = time_alone(self, t, claims, &unused);
    return SC_OK;
}

/* ---- running transfers ---- */

/* A port that several classes share is claimed once. */
static void add_port_claim(struct analytic *n, uint64_t resource, double share) {
    for (uint32_t i = 0; i < n->claim_count; i++)
        if (n->claims[i].port == resource)
            return;
    *SC__PUSH(n->arena, n->claims, n->claim_count, n->claim_capacity) =
        (struct sc__port_claim){.port = resource, .share = share};
}

static const struct members *members_of(struct analytic *n, const struct sc_transfer *t) {
    bool fresh;
    uint64_t *slot = sc__map_at(&n->members, (uint64_t)t->group << 32 | t->class, &fresh);
    if (!fresh)
        return (const struct members *)(uintptr_t)*slot;
    struct members *m = SC__NEW(n->arena, struct members);
    uint32_t size = sc__group_size(n->w, t->group);
    for (uint32_t i = 0; i < size && m->count < MOST_MEMBERS; i++) {
        uint32_t rank = sc__group_member(n->w, t->group, t->rank, i);
        uint32_t class = sc__workload_class_of(n->w, rank);
        uint32_t k = 0;
        while (k < m->count && m->class[k] != class)
            k++;
        if (class == t->class || k < m->count)
            continue;
        m->class[m->count] = class;
        m->rank[m->count++] = rank;
    }
    *slot = (uintptr_t)m;
    return m;
}

/* The port that is to this class what the given one is to another. */
static uint64_t
same_port(const struct analytic *n, uint64_t resource, uint32_t class, uint32_t rank) {
    unsigned which = (unsigned)((resource & (((uint64_t)1 << 60) - 1)) % PORTS);
    if (which == PORT_UPLINK)
        return uplink_port(n, resource >> 60 == SPACE_LEAF ? SC__LEAF : SC__POD, rank);
    if (which == PORT_NIC_OUT || which == PORT_NIC_IN)
        return nic_port(n, class, rank, which);
    return port_id(SPACE_CLASS, class, which);
}

/* What the transfer claims of its own class it claims of every other in its
 * group; of a port that they share, once. */
static uint32_t
find_bundle(struct analytic *n, const struct sc_transfer *t, const struct sc_claims *own) {
    n->claim_count = 0;
    for (uint32_t i = 0; i < own->count; i++)
        add_port_claim(n, own->list[i].resource, own->list[i].share);
    const struct members *m = NULL;
    if (t->coll != SC__COLLS && own->count)
        m = members_of(n, t);
    for (uint32_t k = 0; m && k < m->count; k++)
        for (uint32_t i = 0; i < own->count; i++)
            add_port_claim(n,
                           same_port(n, own->list[i].resource, m->class[k], m -> rank[k]),
                           own->list[i].share);
    return sc__port_bundle(n->sharing, n->claims, n->claim_count);
}

/* Costs are kept by what decides them. */
static const struct analytic_cost *find_cost(struct analytic *n,
                                             const struct sc_transfer *t) {
    bool message = t->coll == SC__COLLS;
    uint64_t key[4] = {t->bytes,
                       (uint64_t)t->coll << 32 | (message ? 0 : t->group),
                       (uint64_t)t->class << 32 | (message ? t->peer_class : 0),
                       (uint64_t)t->rank << 32 | (message ? t->peer : 0)};
    bool fresh;
    uint64_t *slot = sc__map_at(&n->loads, sc__hash(key, sizeof key, 5), &fresh);
    if (fresh) {
        struct sc_claims own;
        struct analytic_cost *cost = SC__NEW(n->arena, struct analytic_cost);
        *slot = (uintptr_t)cost;
        int64_t time = time_alone(n, t, &own, &cost->latency);
        cost->work = time - cost->latency;
        cost->bundle = find_bundle(n, t, &own);
        return cost;
    }
    return (const struct analytic_cost *)(uintptr_t)*slot;
}

static uint32_t take_active(struct analytic *n) {
    uint32_t id = n->free;
    if (id == SC__NONE) {
        (void)SC__PUSH(n->arena, n->active, n->count, n->capacity);
        return n->count - 1;
    }
    n->free = n->active[id].next_free;
    return id;
}

static void begin_bytes(struct analytic *n, uint32_t id, int64_t now) {
    const struct analytic_cost *cost = n->active[id].cost;
    sc__port_begin(n->sharing, cost->bundle, cost->work, id, now);
}

static sc_status analytic_start(void *self, const struct sc_transfer *t, int64_t now) {
    struct analytic *n = self;
    uint32_t id = take_active(n);
    n->active[id] = (struct analytic_active){.transfer = *t, .cost = find_cost(n, t)};
    if (n->active[id].cost->latency)
        sc__heap_push(&n->waiting, now + n->active[id].cost->latency, id, 0);
    else
        begin_bytes(n, id, now);
    return SC_OK;
}

static sc_status analytic_next(void *self, int64_t *when) {
    struct analytic *n = self;
    int64_t begin = sc__heap_time(&n->waiting);
    int64_t end = sc__port_next(n->sharing);
    *when = begin < end ? begin : end;
    return SC_OK;
}

static sc_status
analytic_finish(void *self, int64_t to, struct sc_transfer *done, bool *found) {
    struct analytic *n = self;
    uint32_t id;
    while (sc__heap_time(&n->waiting) <= to) {
        struct sc__event e = sc__heap_pop(&n->waiting);
        begin_bytes(n, e.a, e.time);
    }
    *found = sc__port_end(n->sharing, to, &id);
    if (!*found)
        return SC_OK;
    *done = n->active[id].transfer;
    n->active[id].next_free = n->free;
    n->free = id;
    return SC_OK;
}

/* ---- state, for periods that repeat ---- */

static uint64_t
number_of_user(const struct sc__net_state *out, const void *engine, uint32_t id) {
    const struct analytic *n = engine;
    return out->user_number(out, n->active[id].transfer.user);
}

static sc_status analytic_state(void *self, int64_t now, struct sc__net_state *out) {
    struct analytic *n = self;
    sc__heap_sort(&n->waiting);
    sc__net_state_put(out, n->waiting.count);
    for (uint32_t i = 0; i < n->waiting.count; i++) {
        const struct sc__event *e = &n->waiting.items[i];
        sc__net_state_put(out, (uint64_t)(e->time - now));
        sc__net_state_put(out, number_of_user(out, n, e->a));
        sc__net_state_put(out, (uint64_t)n->active[e->a].cost->work);
        sc__net_state_put(out, n->active[e->a].cost->bundle);
    }
    sc__port_state(n->sharing, now, out, number_of_user, n);
    return SC_OK;
}

static sc_status analytic_shift(void *self, int64_t by, const uint64_t *more) {
    struct analytic *n = self;
    (void)more;
    for (uint32_t i = 0; i < n->waiting.count; i++)
        n->waiting.items[i].time += by;
    sc__port_shift(n->sharing, by);
    return SC_OK;
}

const struct sc__net_periods sc__analytic_periods = {.state = analytic_state,
                                                     .shift = analytic_shift};

sc_status sc__net_analytic(struct sc_context *ctx,
                           const struct sc__cluster *cluster,
                           const struct sc__workload *w,
                           struct sc__net *net) {
    struct analytic *n = SC__NEW(&ctx->arena, struct analytic);
    n->arena = &ctx->arena;
    n->cluster = *cluster;
    n->w = w;
    n->free = SC__NONE;
    sc__map_init(&n->places, n->arena);
    sc__map_init(&n->costs, n->arena);
    sc__map_init(&n->members, n->arena);
    sc__map_init(&n->sharers, n->arena);
    sc__map_init(&n->joined, n->arena);
    for (int i = 0; i < SC__LEVELS; i++)
        n->thin[i] = sc__fabric_is_thin(cluster, (enum sc__level)i);
    sc__map_init(&n->loads, n->arena);
    n->sharing = sc__port_sharing_new(n->arena);
    sc__heap_init(&n->waiting, n->arena);
    *net = (struct sc__net){.ops = &sc__analytic_engine,
                            .periods = &sc__analytic_periods,
                            .self = n,
                            .free = cluster->ideal};
    return SC_OK;
}

static sc_status analytic_create(struct sc_engine_job *job, void **self) {
    struct sc__net net;
    SC__TRY(sc__net_analytic(job->ctx, job->cluster, job->w, &net));
    *self = net.self;
    return SC_OK;
}

const struct sc_engine sc__analytic_engine = {
    .size = sizeof(struct sc_engine),
    .name = "analytic",
    .summary = "each transfer has its time alone; ports are shared",
    .create = analytic_create,
    .alone = analytic_alone,
    .start = analytic_start,
    .next = analytic_next,
    .finish = analytic_finish,
};
