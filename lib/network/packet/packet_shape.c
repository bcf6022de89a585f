#include "network/packet/packet_sets.h"
#include "network/packet/packet_simai.h"

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
    struct sc__map numbers; /* of the links of the group at hand */
    struct sc__map load;    /* by link: its load + 1 */
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

sc_status sc__packet_shape_add(const struct sc__packet_traffic_builder *b,
                               const struct sc__packet_shape *s,
                               const struct sc__packet_component *c,
                               uint64_t bytes,
                               struct sc__packet_traffic *out) {
    for (uint32_t i = 0; i < c->count; i++)
        SC__TRY(add_traffic(b, s, c->groups[i], bytes, out));
    out->port_time = s->port_time * (double)bytes;
    return SC_OK;
}

sc_status sc__packet_shape_traffic(const struct sc__packet_traffic_builder *b,
                                   const struct sc__packet_shape *s,
                                   const struct sc__packet_component *c,
                                   uint64_t bytes,
                                   struct sc__packet_traffic *out) {
    SC__TRY(sc__packet_shape_add(b, s, c, bytes, out));
    sc__packet_traffic_close(b, out);
    return SC_OK;
}

/* ---- what a group puts where ---- */

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

/* One way of a message, with so many bytes; links are numbered in the order in which
 * messages come to them, so that groups of one form have one hash. */
static void count_path(struct shape_maker *m,
                       struct sc__packet_form *form,
                       uint32_t count,
                       double bytes) {
    const struct sc__packet_fabric *f = m->b.fabric;
    for (uint32_t i = 0; i < count; i++) {
        bool fresh;
        uint32_t link = f->links[i];
        uint64_t *number = sc__map_at(&m->numbers, link, &fresh);
        if (fresh) {
            *number = m->numbers.count;
            *SC__PUSH(m->arena, form->links, form->link_count, form->link_capacity) = link;
            form->hash = sc__packet_mix(form->hash, sc__packet_link_rate(f, link));
            form->hash =
                sc__packet_mix(form->hash, (uint64_t)sc__packet_link_delay(f, link));
        }
        form->hash = sc__packet_mix(form->hash, *number);
        count_load(m, link, bytes);
    }
}

static sc_status count_message(struct shape_maker *m,
                               struct sc__packet_form *form,
                               const struct sc__packet_message *message,
                               double times) {
    struct sc__packet_fabric *f = m->b.fabric;
    uint32_t size = f->cluster->node_gpus;
    uint32_t planes = sc__packet_planes(f, message->from, message->to);
    uint32_t ways = sc__packet_sprayed(f, message->from, message->to);
    double bytes = times * (double)message->bytes / planes / ways;
    form->hash = sc__packet_mix(form->hash, message->bytes);
    form->hash =
        sc__packet_mix(form->hash, (uint64_t)message->phase << 32 | message->waits);
    form->hash = sc__packet_mix(form->hash, (uint64_t)(message->time + message->before));
    if (message->from == message->to)
        return SC_OK;
    if (message->from / size != message->to / size)
        m->shape->network = true;
    for (uint32_t i = 0; i < planes * ways; i++) {
        uint32_t number = ways > 1 ? i % ways : message->number;
        uint32_t count;
        SC__TRY(sc__packet_links(f, message->from, message->to, i / ways, number, &count));
        count_path(m, form, count, bytes);
        if (!sc__packet_ways_by_simai(f))
            continue;
        sc__simai_links(f,
                        SC__SIMAI_ACKS,
                        message->from,
                        message->to,
                        i / ways,
                        number,
                        &count);
        count_path(m, form, count, 0);
    }
    return SC_OK;
}

static sc_status look_at_group(struct shape_maker *m, uint32_t group) {
    struct sc__packet_traffic nominal = {0};
    struct sc__packet_traffic *t = &nominal;
    struct sc__packet_form *form = &m->shape->forms[group];
    form->hash = (uint64_t)m->shape->coll << 16 | m->shape->algo;
    sc__map_init(&m->numbers, m->b.arena);
    SC__TRY(add_traffic(&m->b, m->shape, group, NOMINAL_BYTES, t));
    double times = t->phases ? (double)t->all_phases / t->phases : 1;
    for (uint32_t i = 0; i < t->count; i++)
        SC__TRY(count_message(m, form, &t->messages[i], times));
    enum sc__coll_family family = m->shape->coll == SC__COLLS
                                      ? SC__FAMILY_ROOT
                                      : sc__coll_family(m->shape->algo, m->shape->coll);
    bool at_once = family == SC__FAMILY_PAIRS || family == SC__FAMILY_ROOT ||
                   family == SC__FAMILY_SHIFT;
    if (t->all_phases > m->shape->critical_phases)
        m->shape->critical_phases = at_once ? 1 : t->all_phases;
    double wire = at_once || !t->count ? t->longest_wire : t->wire_latency / t->count;
    m->shape->wire_latency = fmax(m->shape->wire_latency, wire);
    return SC_OK;
}

static void collect_components(struct shape_maker *m) {
    struct sc__packet_shape *s = m->shape;
    const struct sc__packet_shape *list[1] = {s};
    struct sc__packet_sets sets;
    for (uint32_t i = 0; i < s->group_count; i++)
        *SC__PUSH(m->arena, s->all.groups, s->all.count, s->all.capacity) = i;
    s->all.copies = 1;
    sc__packet_sets_find(m->arena, m->b.fabric, list, 1, &sets);
    s->components = SC__NEW_ARRAY(m->arena, struct sc__packet_component, sets.count);
    for (uint32_t i = 0; i < sets.count; i++) {
        s->components[i] = sets.items[i].parts[0];
        s->components[i].copies = sets.items[i].copies;
        s->components[i].look = sets.items[i].look;
    }
    s->component_count = sets.count;
}

static int compare_cables(const void *a, const void *b, void *self) {
    (void)self;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void collect_cables(struct shape_maker *m) {
    struct sc__packet_shape *s = m->shape;
    const uint32_t *reverse = m->b.fabric->reverse;
    uint32_t kept = 0;
    s->cables = SC__NEW_ARRAY(m->arena, uint32_t, s->load_count);
    for (uint32_t i = 0; i < s->load_count; i++) {
        uint32_t link = s->loads[i].link;
        s->cables[i] = link < reverse[link] ? link : reverse[link];
    }
    sc__sort(s->cables, s->load_count, sizeof *s->cables, compare_cables, NULL);
    for (uint32_t i = 0; i < s->load_count; i++)
        if (!kept || s->cables[i] != s->cables[kept - 1])
            s->cables[kept++] = s->cables[i];
    s->cable_count = kept;
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
    s->forms = SC__NEW_ARRAY(m->arena, struct sc__packet_form, s->group_count);
    for (uint32_t i = 0; i < s->group_count; i++)
        SC__TRY(look_at_group(m, i));
    find_port_time(m);
    collect_cables(m);
    collect_components(m);
    return SC_OK;
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
    sc__map_init(&m.load, &work);
    sc_status status = make_shape(&m, jobs, t);
    *out = m.shape;
    sc__arena_free(&work);
    return status;
}
