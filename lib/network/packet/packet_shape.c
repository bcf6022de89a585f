#include "network/packet/packet_shape.h"

#include "collective/library.h"

#define NOMINAL_BYTES ((uint64_t)1 << 30)

static struct sc__placed_group *add_group(struct sc__arena *arena,
                                          struct sc__packet_shape *s) {
    return SC__PUSH(arena, s->groups, s->group_count, s->group_capacity);
}

struct shape_maker {
    struct sc__packet_traffic_builder b; /* in memory of its own */
    struct sc__arena *arena;             /* of the shape */
    struct sc__packet_shape *shape;
    struct sc__packet_traffic *traffic; /* by group */
    uint32_t *set;        /* by group: another of its set, itself at the end */
    struct sc__map owner; /* by link: group + 1 */
    struct sc__map load;  /* by link: its load + 1 */
};

static sc_status take_group(void *self, const struct sc__placed_group *group) {
    struct shape_maker *m = self;
    *add_group(m->arena, m->shape) = *group;
    return SC_OK;
}

static sc_status take_message(void *self, uint32_t from, uint32_t to) {
    struct shape_maker *m = self;
    struct sc__placed_group *g = add_group(m->arena, m->shape);
    g->gpu = SC__NEW_ARRAY(m->arena, uint32_t, 2);
    g->gpu[0] = from;
    g->gpu[1] = to;
    g->count = 2;
    return SC_OK;
}

static sc_status add_traffic(const struct sc__packet_traffic_builder *b,
                             const struct sc__packet_shape *s,
                             uint32_t group,
                             uint64_t bytes,
                             struct sc__packet_traffic *out) {
    const struct sc__placed_group *g = &s->groups[group];
    if (s->coll == SC__COLLS)
        return sc__packet_traffic_message(b, out, g->gpu[0], g->gpu[1], bytes);
    return sc__packet_traffic_group(b, out, s->coll, s->algo, g, bytes);
}

sc_status sc__packet_shape_traffic(const struct sc__packet_traffic_builder *b,
                                   const struct sc__packet_shape *s,
                                   const struct sc__packet_component *c,
                                   uint64_t bytes,
                                   struct sc__packet_traffic *out) {
    for (uint32_t i = 0; i < c->count; i++)
        SC__TRY(add_traffic(b, s, c->groups[i], bytes, out));
    sc__packet_traffic_close(b, out);
    return SC_OK;
}

/* ---- sets that share no link ---- */

static uint32_t set_of(struct shape_maker *m, uint32_t group) {
    while (m->set[group] != group) {
        m->set[group] = m->set[m->set[group]];
        group = m->set[group];
    }
    return group;
}

static void join_sets(struct shape_maker *m, uint32_t a, uint32_t b) {
    a = set_of(m, a);
    b = set_of(m, b);
    /* the first group of a set stands for it */
    if (a < b)
        m->set[b] = a;
    else
        m->set[a] = b;
}

static void count_load(struct shape_maker *m, uint32_t link, double bytes) {
    struct sc__packet_shape *s = m->shape;
    bool fresh;
    uint64_t *slot = sc__map_at(&m->load, link, &fresh);
    if (fresh) {
        *slot = s->load_count;
        SC__PUSH(m->arena, s->loads, s->load_count, s->load_capacity)->link = link;
    }
    s->loads[*slot].per_byte += bytes / (double)NOMINAL_BYTES;
}

/* One way of a message, with so many bytes. */
static void
count_path(struct shape_maker *m, uint32_t group, uint32_t count, double bytes) {
    const struct sc__packet_fabric *f = m->b.fabric;
    for (uint32_t i = 0; i < count; i++) {
        bool fresh;
        /* the cable, whichever way: pauses and ACKs go the other */
        uint32_t link = f->links[i];
        uint32_t cable = link < f->reverse[link] ? link : f->reverse[link];
        uint64_t *owner = sc__map_at(&m->owner, cable, &fresh);
        if (!fresh)
            join_sets(m, (uint32_t)*owner, group);
        *owner = group;
        count_load(m, link, bytes);
    }
    /* the way that is least loaded is not known before */
    if (f->route->kind == SC__ROUTE_ADAPTIVE)
        join_sets(m, 0, group);
}

static sc_status count_message(struct shape_maker *m,
                               uint32_t group,
                               const struct sc__packet_message *message,
                               double times) {
    struct sc__packet_fabric *f = m->b.fabric;
    uint32_t size = f->cluster->node_gpus;
    uint32_t planes = sc__packet_planes(f, message->from, message->to);
    uint32_t ways = sc__packet_sprayed(f, message->from, message->to);
    double bytes = times * (double)message->bytes / planes / ways;
    if (message->from == message->to)
        return SC_OK;
    if (message->from / size != message->to / size)
        m->shape->network = true;
    for (uint32_t i = 0; i < planes * ways; i++) {
        uint32_t number = ways > 1 ? i % ways : message->number;
        uint32_t count;
        SC__TRY(sc__packet_links(f, message->from, message->to, i / ways, number, &count));
        count_path(m, group, count, bytes);
    }
    return SC_OK;
}

static sc_status look_at_group(struct shape_maker *m, uint32_t group) {
    struct sc__packet_traffic *t = &m->traffic[group];
    SC__TRY(add_traffic(&m->b, m->shape, group, NOMINAL_BYTES, t));
    double times = t->phases ? (double)t->all_phases / t->phases : 1;
    for (uint32_t i = 0; i < t->count; i++)
        SC__TRY(count_message(m, group, &t->messages[i], times));
    if (t->count)
        m->shape->wire_latency = fmax(m->shape->wire_latency, t->wire_latency / t->count);
    enum sc__coll_family family = m->shape->coll == SC__COLLS
                                      ? SC__FAMILY_ROOT
                                      : sc__coll_family(m->shape->algo, m->shape->coll);
    bool at_once = family == SC__FAMILY_PAIRS || family == SC__FAMILY_ROOT;
    if (t->all_phases > m->shape->critical_phases)
        m->shape->critical_phases = at_once ? 1 : t->all_phases;
    return SC_OK;
}

/* ---- sets that look alike ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    return sc__splitmix64(hash ^ word) + hash * 31;
}

/* Links numbered in the order in which messages come to them: what is left is the form. */
static sc_status look_of_group(struct shape_maker *m,
                               const struct sc__packet_traffic *t,
                               struct sc__map *numbers,
                               uint64_t *hash) {
    struct sc__packet_fabric *f = m->b.fabric;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__packet_message *message = &t->messages[i];
        uint32_t count = 0;
        *hash = mix(*hash, message->bytes);
        *hash = mix(*hash, (uint64_t)message->phase << 32 | message->waits);
        *hash = mix(*hash, (uint64_t)message->time);
        if (message->from != message->to)
            SC__TRY(sc__packet_links(f,
                                     message->from,
                                     message->to,
                                     0,
                                     message->number,
                                     &count));
        for (uint32_t k = 0; k < count; k++) {
            bool fresh;
            uint32_t link = f->links[k];
            uint64_t *number = sc__map_at(numbers, link, &fresh);
            if (fresh)
                *number = numbers->count;
            *hash = mix(*hash, *number);
            *hash = mix(*hash, sc__packet_link_rate(f, link));
            *hash = mix(*hash, (uint64_t)sc__packet_link_delay(f, link));
        }
    }
    return SC_OK;
}

static sc_status
look_of_set(struct shape_maker *m, const struct sc__packet_component *c, uint64_t *hash) {
    struct sc__map numbers;
    sc__map_init(&numbers, m->b.arena);
    *hash = mix(c->count, (uint64_t)m->shape->coll << 16 | m->shape->algo);
    for (uint32_t i = 0; i < c->count; i++)
        SC__TRY(look_of_group(m, &m->traffic[c->groups[i]], &numbers, hash));
    return SC_OK;
}

static void
push_group(struct sc__arena *arena, struct sc__packet_component *c, uint32_t g) {
    *SC__PUSH(arena, c->groups, c->count, c->capacity) = g;
}

static sc_status collect_components(struct shape_maker *m) {
    struct sc__packet_shape *s = m->shape;
    uint32_t groups = s->group_count;
    struct sc__packet_component *sets =
        SC__NEW_ARRAY(m->b.arena, struct sc__packet_component, groups);
    struct sc__map looks;
    sc__map_init(&looks, m->b.arena);
    for (uint32_t i = 0; i < groups; i++) {
        push_group(m->arena, &sets[set_of(m, i)], i);
        push_group(m->arena, &s->all, i);
    }
    s->all.copies = 1;
    s->components = SC__NEW_ARRAY(m->arena, struct sc__packet_component, groups);
    for (uint32_t i = 0; i < groups; i++) {
        uint64_t hash;
        bool fresh;
        if (!sets[i].count)
            continue;
        SC__TRY(look_of_set(m, &sets[i], &hash));
        uint64_t *slot = sc__map_at(&looks, hash, &fresh);
        if (fresh) {
            *slot = s->component_count;
            sets[i].look = hash;
            s->components[s->component_count++] = sets[i];
        }
        s->components[*slot].copies++;
    }
    return SC_OK;
}

static void find_port_time(struct shape_maker *m) {
    const struct sc__packet_fabric *f = m->b.fabric;
    struct sc__packet_shape *s = m->shape;
    for (uint32_t i = 0; i < s->load_count; i++) {
        const uint32_t *ends = f->ends[s->loads[i].link];
        double time = s->loads[i].per_byte / f->graph->capacity[s->loads[i].link];
        if (ends[0] < f->graph->hosts || ends[1] < f->graph->hosts)
            s->port_time = fmax(s->port_time, time);
        if (ends[0] < f->graph->hosts)
            s->sent_per_byte += s->loads[i].per_byte;
    }
}

static sc_status make_shape(struct shape_maker *m,
                            struct sc__placed_jobs *jobs,
                            const struct sc_transfer *t) {
    struct sc__packet_shape *s = m->shape;
    if (t->coll == SC__COLLS)
        SC__TRY(sc__placed_messages(jobs, t, take_message, m));
    else
        SC__TRY(sc__placed_groups(jobs, t, take_group, m));
    m->traffic = SC__NEW_ARRAY(m->b.arena, struct sc__packet_traffic, s->group_count);
    m->set = SC__NEW_ARRAY(m->b.arena, uint32_t, s->group_count);
    for (uint32_t i = 0; i < s->group_count; i++)
        m->set[i] = i;
    for (uint32_t i = 0; i < s->group_count; i++)
        SC__TRY(look_at_group(m, i));
    find_port_time(m);
    return collect_components(m);
}

sc_status sc__packet_shape_make(struct sc__packet_traffic_builder b,
                                struct sc__placed_jobs *jobs,
                                const struct sc_transfer *t,
                                enum sc__algo algo,
                                struct sc__packet_shape **out) {
    struct sc__arena work;
    struct shape_maker m = {.b = b, .arena = b.arena};
    sc__arena_init(&work);
    m.b.arena = &work;
    m.b.sliced = false;
    m.b.first_phases = true;
    m.shape = SC__NEW(b.arena, struct sc__packet_shape);
    m.shape->coll = t->coll;
    m.shape->algo = algo;
    sc__map_init(&m.owner, &work);
    sc__map_init(&m.load, &work);
    sc_status status = make_shape(&m, jobs, t);
    *out = m.shape;
    sc__arena_free(&work);
    return status;
}
