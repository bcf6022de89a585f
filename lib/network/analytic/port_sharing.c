#include "network/analytic/port_sharing.h"

#include <stdlib.h>

/* ---- a heap of numbers; equal ones in order of coming ---- */

struct keyed {
    double key;
    uint64_t sequence;
    uint32_t id;
    uint32_t version;
};

struct keyed_heap {
    struct keyed *items;
    uint32_t count;
    uint32_t capacity;
};

static bool keyed_before(const struct keyed *a, const struct keyed *b) {
    return a->key != b->key ? a->key < b->key : a->sequence < b->sequence;
}

static void keyed_push(struct sc__arena *arena, struct keyed_heap *h, struct keyed item) {
    (void)SC__PUSH(arena, h->items, h->count, h->capacity);
    uint32_t at = h->count - 1;
    while (at && keyed_before(&item, &h->items[(at - 1) / 2])) {
        h->items[at] = h->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->items[at] = item;
}

static void keyed_pop(struct keyed_heap *h) {
    struct keyed last = h->items[--h->count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < h->count; child = 2 * at + 1) {
        if (child + 1 < h->count && keyed_before(&h->items[child + 1], &h->items[child]))
            child++;
        if (!keyed_before(&h->items[child], &last))
            break;
        h->items[at] = h->items[child];
        at = child;
    }
    if (h->count)
        h->items[at] = last;
}

/* ---- ports and bundles ---- */

struct bundle_hop {
    uint32_t port;
    double share;
    uint32_t place; /* among the others of the port, where it is no bottleneck */
};

struct bundle {
    struct bundle_hop *hops;
    uint32_t hop_count;
    uint32_t bottleneck;    /* which hop, while transfers run */
    double ahead;           /* its clock less that of its bottleneck */
    struct keyed_heap ends; /* of its transfers, by its clock; id: user */
    uint32_t version;       /* of what it has in the heaps of its bottleneck */
};

struct bundle_at {
    uint32_t bundle;
    uint32_t hop;
};

struct shared_port {
    double load;
    double clock; /* ps of work that each of its bundles has done, at `since` */
    int64_t since;
    uint32_t bound; /* bundles whose bottleneck it is */
    /* ends of those bundles by its clock; their next largest load, negated, so
     * that the largest comes first: too large where loads have fallen since */
    struct keyed_heap ends;
    struct keyed_heap rivals;
    /* bundles that have another bottleneck */
    struct bundle_at *others;
    uint32_t other_count;
    uint32_t other_capacity;
    uint32_t version; /* of its event */
};

struct sc__port_sharing {
    struct sc__arena *arena;
    struct sc__map port_ids;
    struct sc__map bundle_ids;
    struct shared_port *ports;
    uint32_t port_count;
    uint32_t port_capacity;
    struct bundle *bundles;
    uint32_t bundle_count;
    uint32_t bundle_capacity;
    struct sc__heap events; /* a: port, b: version */
    uint64_t sequence;
    uint64_t effort;
};

struct sc__port_sharing *sc__port_sharing_new(struct sc__arena *arena) {
    struct sc__port_sharing *s = SC__NEW(arena, struct sc__port_sharing);
    s->arena = arena;
    sc__map_init(&s->port_ids, arena);
    sc__map_init(&s->bundle_ids, arena);
    sc__heap_init(&s->events, arena);
    /* Port 0 is that of transfers that claim nothing. */
    (void)SC__PUSH(arena, s->ports, s->port_count, s->port_capacity);
    return s;
}

static uint32_t port_number(struct sc__port_sharing *s, uint64_t name) {
    bool fresh;
    uint64_t *slot = sc__map_at(&s->port_ids, name, &fresh);
    if (fresh) {
        *slot = s->port_count;
        (void)SC__PUSH(s->arena, s->ports, s->port_count, s->port_capacity);
    }
    return (uint32_t)*slot;
}

uint32_t sc__port_bundle(struct sc__port_sharing *s,
                         const struct sc__port_claim *claims,
                         uint32_t count) {
    bool fresh;
    uint64_t *slot =
        sc__map_at(&s->bundle_ids, sc__hash(claims, count * sizeof *claims, count), &fresh);
    if (!fresh)
        return (uint32_t)*slot;
    *slot = s->bundle_count;
    struct bundle *b = SC__PUSH(s->arena, s->bundles, s->bundle_count, s->bundle_capacity);
    b->hop_count = count ? count : 1;
    b->hops = SC__NEW_ARRAY(s->arena, struct bundle_hop, b->hop_count);
    for (uint32_t i = 0; i < count; i++)
        b->hops[i] = (struct bundle_hop){.port = port_number(s, claims[i].port),
                                         .share = claims[i].share};
    return s->bundle_count - 1;
}

uint64_t sc__port_effort(const struct sc__port_sharing *s) {
    return s->effort;
}

static double port_rate(const struct shared_port *p) {
    return p->load > 1 ? 1 / p->load : 1;
}

static void advance_clock(struct shared_port *p, int64_t now) {
    p->clock = p->bound ? p->clock + (double)(now - p->since) * port_rate(p) : 0;
    p->since = now;
}

static double bundle_clock(const struct sc__port_sharing *s, const struct bundle *b) {
    return s->ports[b->hops[b->bottleneck].port].clock + b->ahead;
}

/* ---- which port is the bottleneck ---- */

/* The largest load of the hops but one (hop_count: of all); which says whose. */
static double largest_load(const struct sc__port_sharing *s,
                           const struct bundle *b,
                           uint32_t but,
                           uint32_t *which) {
    double most = -1;
    for (uint32_t i = 0; i < b->hop_count; i++)
        if (i != but && s->ports[b->hops[i].port].load > most) {
            most = s->ports[b->hops[i].port].load;
            *which = i;
        }
    return most;
}

static void add_other(struct sc__port_sharing *s, uint32_t id, uint32_t hop) {
    struct bundle_hop *h = &s->bundles[id].hops[hop];
    struct shared_port *p = &s->ports[h->port];
    h->place = p->other_count;
    *SC__PUSH(s->arena, p->others, p->other_count, p->other_capacity) =
        (struct bundle_at){id, hop};
}

static void remove_other(struct sc__port_sharing *s, uint32_t id, uint32_t hop) {
    struct bundle_hop *h = &s->bundles[id].hops[hop];
    struct shared_port *p = &s->ports[h->port];
    struct bundle_at last = p->others[--p->other_count];
    p->others[h->place] = last;
    s->bundles[last.bundle].hops[last.hop].place = h->place;
}

/* What stands of the bundle in the heaps of its bottleneck is replaced. */
static void enter_heaps(struct sc__port_sharing *s, uint32_t id) {
    struct bundle *b = &s->bundles[id];
    struct shared_port *p = &s->ports[b->hops[b->bottleneck].port];
    uint32_t unused;
    double rival = largest_load(s, b, b->bottleneck, &unused);
    struct keyed end = {.key = b->ends.items[0].key - b->ahead,
                        .sequence = b->ends.items[0].sequence,
                        .id = id,
                        .version = ++b->version};
    struct keyed beside = {.key = -rival,
                           .sequence = ++s->sequence,
                           .id = id,
                           .version = b->version};
    keyed_push(s->arena, &p->ends, end);
    if (b->hop_count > 1)
        keyed_push(s->arena, &p->rivals, beside);
}

static void
bind_bundle(struct sc__port_sharing *s, uint32_t id, uint32_t hop, double clock) {
    struct bundle *b = &s->bundles[id];
    struct shared_port *p = &s->ports[b->hops[hop].port];
    b->bottleneck = hop;
    b->ahead = clock - p->clock;
    p->bound++;
    enter_heaps(s, id);
}

static void
rebind_bundle(struct sc__port_sharing *s, uint32_t id, uint32_t to, int64_t now) {
    struct bundle *b = &s->bundles[id];
    uint32_t from = b->bottleneck;
    double clock = bundle_clock(s, b);
    s->effort++;
    advance_clock(&s->ports[b->hops[to].port], now);
    s->ports[b->hops[from].port].bound--;
    add_other(s, id, from);
    remove_other(s, id, to);
    bind_bundle(s, id, to, clock);
}

static bool keyed_stale(const struct sc__port_sharing *s, const struct keyed *k) {
    return s->bundles[k->id].version != k->version;
}

static void drop_stale(const struct sc__port_sharing *s, struct keyed_heap *h) {
    while (h->count && keyed_stale(s, &h->items[0]))
        keyed_pop(h);
}

/* The port's next event, by its clock and load as they are now. */
static void set_event(struct sc__port_sharing *s, uint32_t port) {
    struct shared_port *p = &s->ports[port];
    p->version++;
    drop_stale(s, &p->ends);
    if (!p->ends.count)
        return;
    double left = fmax(0, p->ends.items[0].key - p->clock);
    sc__heap_push(&s->events,
                  p->since + (int64_t)ceil(fmin(left / port_rate(p), 0x1p62)),
                  port,
                  p->version);
}

/* A larger load makes the port the bottleneck of others on it. */
static void attract_others(struct sc__port_sharing *s, uint32_t port, int64_t now) {
    for (uint32_t i = s->ports[port].other_count; i-- > 0;) {
        struct bundle_at at = s->ports[port].others[i];
        const struct bundle *b = &s->bundles[at.bundle];
        uint32_t bottleneck = b->hops[b->bottleneck].port;
        s->effort++;
        if (s->ports[port].load > s->ports[bottleneck].load) {
            advance_clock(&s->ports[bottleneck], now);
            rebind_bundle(s, at.bundle, at.hop, now);
            set_event(s, bottleneck);
        } else { /* its rival has grown */
            double rival = s->ports[port].load;
            struct keyed beside = {.key = -rival,
                                   .sequence = ++s->sequence,
                                   .id = at.bundle,
                                   .version = b->version};
            keyed_push(s->arena, &s->ports[bottleneck].rivals, beside);
        }
    }
}

/* A smaller load may leave bundles with a rival that is larger now. */
static void release_bound(struct sc__port_sharing *s, uint32_t port, int64_t now) {
    for (;;) {
        struct keyed_heap *rivals = &s->ports[port].rivals;
        drop_stale(s, rivals);
        if (!rivals->count || -rivals->items[0].key <= s->ports[port].load)
            return;
        uint32_t id = rivals->items[0].id;
        uint32_t to = 0;
        keyed_pop(rivals);
        s->effort++;
        double rival = largest_load(s, &s->bundles[id], s->bundles[id].bottleneck, &to);
        if (rival > s->ports[port].load) {
            rebind_bundle(s, id, to, now);
            set_event(s, s->bundles[id].hops[to].port);
        } else {
            struct keyed beside = {.key = -rival,
                                   .sequence = ++s->sequence,
                                   .id = id,
                                   .version = s->bundles[id].version};
            keyed_push(s->arena, &s->ports[port].rivals, beside);
        }
    }
}

/* ---- transfers ---- */

/* A bundle that had no transfer comes to its ports. */
static void enter_ports(struct sc__port_sharing *s, uint32_t id, int64_t now) {
    struct bundle *b = &s->bundles[id];
    uint32_t most = 0;
    largest_load(s, b, b->hop_count, &most);
    for (uint32_t i = 0; i < b->hop_count; i++)
        if (i != most)
            add_other(s, id, i);
    advance_clock(&s->ports[b->hops[most].port], now);
    bind_bundle(s, id, most, 0);
}

static void leave_ports(struct sc__port_sharing *s, uint32_t id) {
    struct bundle *b = &s->bundles[id];
    b->version++;
    for (uint32_t i = 0; i < b->hop_count; i++)
        if (i != b->bottleneck)
            remove_other(s, id, i);
    s->ports[b->hops[b->bottleneck].port].bound--;
}

/* All loads change before anybody looks for a bottleneck. */
static void
change_loads(struct sc__port_sharing *s, uint32_t id, double sign, int64_t now) {
    uint32_t hops = s->bundles[id].hop_count;
    for (uint32_t i = 0; i < hops; i++) {
        const struct bundle_hop *h = &s->bundles[id].hops[i];
        struct shared_port *p = &s->ports[h->port];
        advance_clock(p, now);
        p->load += sign * h->share;
        if (!p->bound && !p->other_count)
            p->load = 0; /* no rounding is left behind */
    }
    for (uint32_t i = 0; i < hops; i++) {
        uint32_t port = s->bundles[id].hops[i].port;
        if (sign > 0)
            attract_others(s, port, now);
        else
            release_bound(s, port, now);
        set_event(s, port);
    }
}

void sc__port_begin(
    struct sc__port_sharing *s, uint32_t id, int64_t work, uint32_t user, int64_t now) {
    struct bundle *b = &s->bundles[id];
    bool first = !b->ends.count;
    double clock = 0;
    if (!first) {
        advance_clock(&s->ports[b->hops[b->bottleneck].port], now);
        clock = bundle_clock(s, b);
    }
    struct keyed end = {.key = clock + (double)work, .sequence = ++s->sequence, .id = user};
    keyed_push(s->arena, &b->ends, end);
    if (first)
        enter_ports(s, id, now);
    else if (b->ends.items[0].sequence == end.sequence)
        enter_heaps(s, id); /* it ends before all others of the bundle */
    change_loads(s, id, 1, now);
}

static bool event_stale(const struct sc__port_sharing *s, const struct sc__event *e) {
    return s->ports[e->a].version != e->b;
}

int64_t sc__port_next(struct sc__port_sharing *s) {
    while (s->events.count && event_stale(s, &s->events.items[0]))
        sc__heap_pop(&s->events);
    return sc__heap_time(&s->events);
}

bool sc__port_end(struct sc__port_sharing *s, int64_t to, uint32_t *user) {
    if (sc__port_next(s) > to)
        return false;
    uint32_t port = sc__heap_pop(&s->events).a;
    drop_stale(s, &s->ports[port].ends);
    uint32_t id = s->ports[port].ends.items[0].id;
    struct bundle *b = &s->bundles[id];
    *user = b->ends.items[0].id;
    keyed_pop(&b->ends);
    advance_clock(&s->ports[port], to);
    if (b->ends.count)
        enter_heaps(s, id);
    else
        leave_ports(s, id);
    change_loads(s, id, -1, to);
    return true;
}

/* ---- state ---- */

static int compare_keyed(const void *x, const void *y) {
    const struct keyed *a = x;
    const struct keyed *b = y;
    return keyed_before(a, b) ? -1 : keyed_before(b, a);
}

/* In order, which is a heap still. */
static void sort_keyed(struct keyed_heap *h) {
    if (h->count > 1)
        qsort(h->items, h->count, sizeof *h->items, compare_keyed);
}

static void drop_all_stale(const struct sc__port_sharing *s, struct keyed_heap *h) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < h->count; i++)
        if (!keyed_stale(s, &h->items[i]))
            h->items[kept++] = h->items[i];
    h->count = kept;
    sort_keyed(h);
}

/* A port without transfers begins at 0 whatever its clock was. The order of its
 * bundles decides that of equal ends; `rivals` and `others` decide nothing but
 * who is looked at. */
static void put_port(struct sc__port_sharing *s,
                     uint32_t port,
                     int64_t now,
                     struct sc__net_state *out) {
    struct shared_port *p = &s->ports[port];
    if (!p->bound && !p->other_count)
        return;
    drop_all_stale(s, &p->ends);
    sc__net_state_put(out, port);
    sc__net_state_put_double(out, p->load);
    sc__net_state_put(out, p->ends.count);
    if (!p->bound)
        return;
    sc__net_state_put_double(out, p->clock);
    sc__net_state_put(out, (uint64_t)(now - p->since));
    for (uint32_t i = 0; i < p->ends.count; i++)
        sc__net_state_put(out, p->ends.items[i].id);
}

static void put_bundle(struct sc__port_sharing *s,
                       uint32_t id,
                       struct sc__net_state *out,
                       sc__port_number *number,
                       const void *owner) {
    struct bundle *b = &s->bundles[id];
    if (!b->ends.count)
        return;
    sort_keyed(&b->ends);
    sc__net_state_put(out, id);
    sc__net_state_put(out, b->bottleneck);
    sc__net_state_put_double(out, b->ahead);
    sc__net_state_put(out, b->ends.count);
    for (uint32_t i = 0; i < b->ends.count; i++) {
        sc__net_state_put_double(out, b->ends.items[i].key);
        sc__net_state_put(out, number(out, owner, b->ends.items[i].id));
    }
}

static void put_events(struct sc__port_sharing *s, int64_t now, struct sc__net_state *out) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->events.count; i++)
        if (!event_stale(s, &s->events.items[i]))
            s->events.items[kept++] = s->events.items[i];
    s->events.count = kept;
    sc__heap_sort(&s->events);
    sc__net_state_put(out, kept);
    for (uint32_t i = 0; i < kept; i++) {
        sc__net_state_put(out, (uint64_t)(s->events.items[i].time - now));
        sc__net_state_put(out, s->events.items[i].a);
    }
}

void sc__port_state(struct sc__port_sharing *s,
                    int64_t now,
                    struct sc__net_state *out,
                    sc__port_number *number,
                    const void *owner) {
    put_events(s, now, out);
    for (uint32_t p = 0; s->events.count && p < s->port_count; p++)
        put_port(s, p, now, out);
    for (uint32_t b = 0; s->events.count && b < s->bundle_count; b++)
        put_bundle(s, b, out, number, owner);
}

void sc__port_shift(struct sc__port_sharing *s, int64_t by) {
    for (uint32_t p = 0; p < s->port_count; p++)
        s->ports[p].since += by;
    for (uint32_t i = 0; i < s->events.count; i++)
        s->events.items[i].time += by;
}
