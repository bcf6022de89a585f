/* Flows come and go; levels are found in flow_fill.c.
 *
 * Flows that started together with equal bytes per weight end in falling order
 * of level; when one ends nothing changes, since levels below that of a flow
 * that leaves stay (flow_fill.c), and nothing is solved (`together`). */
#include "network/flow/flow_state.h"

#include <string.h>

#define TIES 1e-13 /* completions this close are one event */

struct sc__flow_share *
sc__share_new(struct sc__arena *arena, const double *capacity, uint32_t links) {
    struct sc__flow_share *s = SC__NEW(arena, struct sc__flow_share);
    s->arena = arena;
    s->capacity = capacity;
    s->link_count = links;
    s->links = SC__NEW_ARRAY(arena, struct sc__flow_link, links);
    s->room = SC__NEW_ARRAY(arena, sc__flow_pair, links);
    for (uint32_t i = 0; i < links; i++)
        s->room[i] = (sc__flow_pair){capacity[i], 0};
    s->least = s->least_load = s->least_cap = INFINITY;
    s->solve = 1;
    sc__tree_init(&s->ends, arena);
    return s;
}

uint32_t sc__share_flows(const struct sc__flow_share *s) {
    return s->running;
}
uint32_t sc__share_violations(const struct sc__flow_share *s) {
    return s->violations;
}

void sc__share_effort(const struct sc__flow_share *s, uint64_t *solves, uint64_t *levels) {
    *solves = s->solves;
    *levels = s->levels;
}

void sc__share_left(const struct sc__flow_share *s, double now, double *left) {
    for (uint32_t i = 0; i < s->flow_count; i++) {
        const struct sc__flow_body *f = &s->flows[i];
        if (s->level[i] > 0)
            left[f->user] = (s->ends.level[0][i] - now) * s->level[i] * f->weight;
    }
}

double sc__share_use(const struct sc__flow_share *s, uint32_t link) {
    const struct sc__flow_link *l = &s->links[link];
    double use = 0;
    for (uint32_t i = 0; i < l->count; i++)
        use += s->hop_load[l->list[i].hop] * s->level[l->list[i].flow];
    return use;
}

/* ---- flows and their places in the lists of links ---- */

static void reserve_hops(struct sc__flow_share *s, uint32_t need) {
    uint32_t room = s->hop_room;
    uint32_t old = room;
    if (need <= room)
        return;
    s->hop_link = sc__grow(s->arena, s->hop_link, &room, need, sizeof *s->hop_link);
    s->hop_place = sc__realloc(s->arena,
                               s->hop_place,
                               old * sizeof *s->hop_place,
                               room * sizeof *s->hop_place);
    s->hop_load = sc__realloc(s->arena,
                              s->hop_load,
                              old * sizeof *s->hop_load,
                              room * sizeof *s->hop_load);
    s->hop_room = room;
}

static uint32_t take_hops(struct sc__flow_share *s, uint32_t hops) {
    reserve_hops(s, s->hop_count + hops);
    s->hop_count += hops;
    return s->hop_count - hops;
}

static void reserve_flows(struct sc__flow_share *s) {
    uint32_t room = s->flow_room;
    uint32_t old = room;
    s->flows = sc__grow(s->arena, s->flows, &room, s->flow_count + 1, sizeof *s->flows);
    s->level =
        sc__realloc(s->arena, s->level, old * sizeof *s->level, room * sizeof *s->level);
    s->path = sc__realloc(s->arena, s->path, old * sizeof *s->path, room * sizeof *s->path);
    s->rises = sc__realloc(s->arena, s->rises, old, room);
    s->flow_room = room;
    sc__tree_reserve(&s->ends, room);
}

static uint32_t take_flow(struct sc__flow_share *s) {
    if (s->flow_count == s->flow_room)
        reserve_flows(s);
    return s->flow_count++;
}

static void note_change(struct sc__flow_share *s, uint32_t link) {
    struct sc__flow_link *l = &s->links[link];
    if (l->changed == s->solve)
        return;
    l->changed = s->solve;
    *SC__PUSH(s->arena, s->changed, s->changed_count, s->changed_room) = link;
}

static void enlist(struct sc__flow_share *s, uint32_t flow, uint32_t hop) {
    struct sc__flow_link *l = &s->links[s->hop_link[hop]];
    s->hop_place[hop] = l->count;
    *SC__PUSH(s->arena, l->list, l->count, l->room) =
        (struct sc__flow_entry){.flow = flow, .hop = hop};
    l->demand += s->hop_load[hop] * s->flows[flow].cap;
    l->load += s->hop_load[hop];
}

static void delist(struct sc__flow_share *s, uint32_t flow, uint32_t hop) {
    struct sc__flow_link *l = &s->links[s->hop_link[hop]];
    struct sc__flow_entry last = l->list[--l->count];
    l->list[s->hop_place[hop]] = last;
    s->hop_place[last.hop] = s->hop_place[hop];
    l->demand = l->count ? l->demand - s->hop_load[hop] * s->flows[flow].cap : 0;
    l->load = l->count ? l->load - s->hop_load[hop] : 0;
}

static void join_cohort(struct sc__flow_share *s, double size, double now) {
    if (!s->running) {
        s->together = true;
        s->together_size = size;
        s->together_since = now;
    } else if (size != s->together_size || now != s->together_since)
        s->together = false;
}

static void
lay(struct sc__flow_share *s, uint32_t id, const struct sc__share_hop *hops, double cap) {
    struct sc__flow_path *p = &s->path[id];
    p->load = p->hops ? hops[0].load : 0;
    for (uint32_t i = 0; i < p->hops; i++) {
        s->hop_link[p->first + i] = hops[i].link;
        s->hop_load[p->first + i] = hops[i].load;
        if (i < SC__FLOW_NEAR)
            p->near[i] = hops[i].link;
        if (hops[i].load != hops[0].load)
            p->load = 0;
        cap = fmin(cap, s->capacity[hops[i].link] / hops[i].load);
        s->least_load = fmin(s->least_load, hops[i].load);
    }
    s->flows[id].cap = cap;
    s->least_cap = fmin(s->least_cap, cap);
    s->most_cap = fmax(s->most_cap, cap);
    for (uint32_t i = 0; i < p->hops; i++)
        enlist(s, id, p->first + i);
}

void sc__share_add(struct sc__flow_share *s, const struct sc__share_flow *f, double now) {
    uint32_t id = take_flow(s);
    uint32_t first = take_hops(s, f->count);
    join_cohort(s, f->bytes / f->weight, now);
    s->flows[id] = (struct sc__flow_body){.weight = f->weight,
                                          .work = f->bytes / f->weight,
                                          .user = f->user};
    s->path[id] = (struct sc__flow_path){.first = first, .hops = f->count};
    lay(s, id, f->hops, f->cap > 0 ? f->cap : INFINITY);
    s->level[id] = INFINITY;
    bool limited = s->flows[id].cap < INFINITY;
    sc__tree_set(&s->ends, id, limited ? INFINITY : now);
    s->running++;
    s->now = now;
    if (!limited)
        return;
    s->dirty = true;
    *SC__PUSH(s->arena, s->rising, s->rising_count, s->rising_room) = id;
}

/* A link that is full is the bottleneck of others, who may rise now. */
static void note_full(struct sc__flow_share *s, uint32_t link) {
    if (s->room[link][0] <= SC__FLOW_SLACK * s->capacity[link])
        s->links[link].left_full = s->solve;
}

static void take_out(struct sc__flow_share *s, uint32_t id) {
    const struct sc__flow_path *f = &s->path[id];
    for (uint32_t h = f->first; !s->together && h < f->first + f->hops; h++) {
        note_full(s, s->hop_link[h]);
        note_change(s, s->hop_link[h]);
    }
    sc__flow_spread(s, id, (sc__flow_pair){s->level[id], 0});
    for (uint32_t h = f->first; h < f->first + f->hops; h++)
        delist(s, id, h);
    if (!s->together) {
        if (s->level[id] < s->least)
            s->least = s->level[id];
        s->dirty = true;
    }
    sc__tree_set(&s->ends, id, INFINITY);
    s->level[id] = 0;
    s->running--;
}

bool sc__share_finish(struct sc__flow_share *s, double to, uint64_t *user) {
    double end = sc__tree_min(&s->ends);
    if (end > to + TIES * fabs(to))
        return false;
    uint32_t id = sc__tree_least(&s->ends);
    *user = s->flows[id].user;
    s->now = to;
    take_out(s, id);
    return true;
}

static void move_hop(struct sc__flow_share *s, uint32_t from, uint32_t to, uint32_t flow) {
    s->hop_link[to] = s->hop_link[from];
    s->hop_load[to] = s->hop_load[from];
    s->hop_place[to] = s->hop_place[from];
    s->links[s->hop_link[to]].list[s->hop_place[to]] =
        (struct sc__flow_entry){.flow = flow, .hop = to};
}

static void move_flow(struct sc__flow_share *s, uint32_t from, uint32_t to) {
    const struct sc__flow_path old = s->path[from];
    for (uint32_t h = 0; h < old.hops; h++)
        move_hop(s, old.first + h, s->hop_count + h, to);
    s->flows[to] = s->flows[from];
    s->path[to] = old;
    s->path[to].first = s->hop_count;
    s->level[to] = s->level[from];
    s->ends.level[0][to] = s->ends.level[0][from];
    s->hop_count += old.hops;
}

/* Flows keep their order and close the gaps that finished ones left. */
static void close_up(struct sc__flow_share *s) {
    uint32_t n = 0;
    s->hop_count = 0;
    for (uint32_t i = 0; i < s->flow_count; i++)
        if (s->level[i] > 0)
            move_flow(s, i, n++);
    for (uint32_t i = n; i < s->flow_count; i++) {
        s->level[i] = 0;
        s->ends.level[0][i] = INFINITY;
    }
    s->flow_count = n;
    sc__tree_refresh(&s->ends);
}

double sc__share_next(struct sc__flow_share *s) {
    if (s->dirty) {
        sc__flow_solve(s);
        if (s->flow_count > 256 && s->running < s->flow_count / 2)
            close_up(s);
    }
    return sc__tree_min(&s->ends);
}
