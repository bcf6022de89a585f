/* How the levels are found: progressive filling. All levels rise together; the
 * link that fills first (least residual capacity per load that still rises)
 * freezes the flows on it, and so on. Four things keep it short:
 *
 *   A flow's cap is the least capacity/load on its path. A link whose flows
 *   could all run at their caps never binds and is left out altogether.
 *
 *   When flows with levels ≥ r0 leave (or arrive: r0 is then a lower bound of
 *   what they get), flows with levels below r0 keep theirs. Only flows from r0
 *   up that are connected with a changed link are solved again. Where these
 *   turn out to be many, all flows from r0 up are taken instead: one pass over
 *   an array is cheaper than following lists, and solving more is never wrong.
 *
 *   A link keeps its slack. A rising flow gives back what it used and takes
 *   its new use when it freezes, so flows that stay cost nothing. Slacks are
 *   added up afresh now and then, so that rounding does not pile up.
 *
 *   The share of a link never falls while filling, so a heap with stale keys
 *   is enough: a key is corrected when it comes to the top.
 *
 * Flows that started together with equal bytes per weight end in falling order
 * of level; by the second point nothing changes when one ends, and nothing is
 * solved (`together`). */
#include "simulate/flow_share.h"

#include "simulate/flow_tree.h"

#include <stdlib.h>
#include <string.h>

#define SLACK 1e-9       /* r0 is lowered by this share: solving too much is never wrong */
#define TIES 1e-13       /* completions this close are one event */
#define AFRESH 1024u     /* solves between two summations of the slacks */
#define MANY 8u          /* more rising flows than one in so many: take them all */

typedef double pair __attribute__((vector_size(16)));

struct entry { /* a flow in the list of a link */
    uint32_t flow, hop;
};

struct link {
    struct entry *list;
    uint32_t count, room;
    uint32_t seen;    /* solve in which it was met */
    uint32_t changed; /* solve for which it is already noted as changed */
    double demand;    /* load · cap, summed over its flows */
    double load;      /* summed over its flows */
};

struct flow {
    uint32_t first, hops; /* in the hop arrays */
    double weight, cap;
    double work, since; /* bytes/weight that were left to move, and when */
    uint64_t user;
};

struct top { /* in the heap of links */
    double share;
    uint32_t link;
};

#define BINS 32

struct sc__share {
    struct sc__arena *arena;
    const double *capacity;
    struct link *links;
    pair *room; /* by link: capacity left, and load that rises */
    uint32_t link_count;

    struct flow *flows;
    double *level;  /* by flow; 0: no such flow, INFINITY: new */
    uint8_t *rises; /* by flow */
    uint32_t flow_count, flow_room;
    uint32_t *free_flows, free_count, free_room;
    uint32_t running;
    double least_load; /* of any hop so far */
    struct sc__tree ends;

    uint32_t *hop_link, *hop_place;
    double *hop_load;
    uint32_t hop_count, hop_room;
    uint32_t *free_hops[BINS], free_hop_count[BINS], free_hop_room[BINS];

    uint32_t *changed, changed_count, changed_room;
    double now, least; /* r0 */
    bool dirty, together;
    double together_size;

    uint32_t solve;
    uint32_t *queue, queue_count, queue_room;    /* links met */
    uint32_t *rising, rising_count, rising_room; /* flows */
    uint32_t *by_cap, by_cap_room;
    bool many;
    struct top *heap;
    uint32_t heap_count, heap_room;
    uint64_t solves, levels;
    uint32_t violations;
};

struct sc__share *sc__share_new(struct sc__arena *arena, const double *capacity, uint32_t links) {
    struct sc__share *s = SC__NEW(arena, struct sc__share);
    s->arena = arena;
    s->capacity = capacity;
    s->link_count = links;
    s->links = SC__NEW_ARRAY(arena, struct link, links);
    s->room = SC__NEW_ARRAY(arena, pair, links);
    for (uint32_t i = 0; i < links; i++) s->room[i] = (pair){capacity[i], 0};
    s->least = s->least_load = INFINITY;
    s->solve = 1;
    sc__tree_init(&s->ends, arena);
    return s;
}

uint32_t sc__share_flows(const struct sc__share *s) { return s->running; }
uint32_t sc__share_violations(const struct sc__share *s) { return s->violations; }

void sc__share_effort(const struct sc__share *s, uint64_t *solves, uint64_t *levels) {
    *solves = s->solves;
    *levels = s->levels;
}

double sc__share_rate(const struct sc__share *s, uint32_t flow) { return s->level[flow] * s->flows[flow].weight; }

double sc__share_use(const struct sc__share *s, uint32_t link) {
    const struct link *l = &s->links[link];
    double use = 0;
    for (uint32_t i = 0; i < l->count; i++) use += s->hop_load[l->list[i].hop] * s->level[l->list[i].flow];
    return use;
}

/* ---- flows and their places in the lists of links ---- */

static unsigned bin_of(uint32_t hops) {
    unsigned b = 0;
    while ((1u << b) < hops) b++;
    return b;
}

static void reserve_hops(struct sc__share *s, uint32_t need) {
    uint32_t room = s->hop_room, old = room;
    if (need <= room) return;
    s->hop_link = sc__grow(s->arena, s->hop_link, &room, need, sizeof *s->hop_link);
    s->hop_place = sc__realloc(s->arena, s->hop_place, old * sizeof *s->hop_place, room * sizeof *s->hop_place);
    s->hop_load = sc__realloc(s->arena, s->hop_load, old * sizeof *s->hop_load, room * sizeof *s->hop_load);
    s->hop_room = room;
}

static uint32_t take_hops(struct sc__share *s, uint32_t hops) {
    unsigned b = bin_of(hops);
    if (s->free_hop_count[b]) return s->free_hops[b][--s->free_hop_count[b]];
    uint32_t first = s->hop_count;
    reserve_hops(s, first + (1u << b));
    s->hop_count += 1u << b;
    return first;
}

static void reserve_flows(struct sc__share *s) {
    uint32_t room = s->flow_room, old = room;
    s->flows = sc__grow(s->arena, s->flows, &room, s->flow_count + 1, sizeof *s->flows);
    s->level = sc__realloc(s->arena, s->level, old * sizeof *s->level, room * sizeof *s->level);
    s->rises = sc__realloc(s->arena, s->rises, old, room);
    s->flow_room = room;
    sc__tree_reserve(&s->ends, room);
}

static uint32_t take_flow(struct sc__share *s) {
    if (s->free_count) return s->free_flows[--s->free_count];
    if (s->flow_count == s->flow_room) reserve_flows(s);
    return s->flow_count++;
}

static void note_change(struct sc__share *s, uint32_t link) {
    struct link *l = &s->links[link];
    if (l->changed == s->solve) return;
    l->changed = s->solve;
    *SC__PUSH(s->arena, s->changed, s->changed_count, s->changed_room) = link;
}

static void enlist(struct sc__share *s, uint32_t flow, uint32_t hop) {
    struct link *l = &s->links[s->hop_link[hop]];
    s->hop_place[hop] = l->count;
    *SC__PUSH(s->arena, l->list, l->count, l->room) = (struct entry){.flow = flow, .hop = hop};
    l->demand += s->hop_load[hop] * s->flows[flow].cap;
    l->load += s->hop_load[hop];
}

static void delist(struct sc__share *s, uint32_t flow, uint32_t hop) {
    struct link *l = &s->links[s->hop_link[hop]];
    struct entry last = l->list[--l->count];
    l->list[s->hop_place[hop]] = last;
    s->hop_place[last.hop] = s->hop_place[hop];
    l->demand = l->count ? l->demand - s->hop_load[hop] * s->flows[flow].cap : 0;
    l->load = l->count ? l->load - s->hop_load[hop] : 0;
}

static void join_cohort(struct sc__share *s, double size, double now) {
    if (!s->running) {
        s->together = true;
        s->together_size = size;
    } else if (size != s->together_size || now != s->now) s->together = false;
}

/* What the flow gets at least: the fair share of its narrowest link. */
static double least_share(const struct sc__share *s, const struct flow *f) {
    double least = INFINITY;
    for (uint32_t h = f->first; h < f->first + f->hops; h++) {
        double share = s->capacity[s->hop_link[h]] / s->links[s->hop_link[h]].load;
        if (share < least) least = share;
    }
    return least;
}

static void lay(struct sc__share *s, uint32_t id, const struct sc__share_hop *hops) {
    struct flow *f = &s->flows[id];
    for (uint32_t i = 0; i < f->hops; i++) {
        s->hop_link[f->first + i] = hops[i].link;
        s->hop_load[f->first + i] = hops[i].load;
        double cap = s->capacity[hops[i].link] / hops[i].load;
        if (cap < f->cap) f->cap = cap;
        if (hops[i].load < s->least_load) s->least_load = hops[i].load;
    }
    for (uint32_t i = 0; i < f->hops; i++) {
        enlist(s, id, f->first + i);
        note_change(s, hops[i].link);
    }
}

uint32_t sc__share_add(struct sc__share *s, const struct sc__share_hop *hops, uint32_t count, double weight,
                       double bytes, double now, uint64_t user) {
    uint32_t id = take_flow(s), first = take_hops(s, count ? count : 1);
    join_cohort(s, bytes / weight, now);
    s->flows[id] = (struct flow){.first = first, .hops = count, .weight = weight, .cap = INFINITY,
                                 .work = bytes / weight, .since = now, .user = user};
    lay(s, id, hops);
    s->level[id] = INFINITY;
    sc__tree_set(&s->ends, id, count ? INFINITY : now);
    s->running++;
    s->now = now;
    if (!count) return id;
    s->dirty = true;
    *SC__PUSH(s->arena, s->rising, s->rising_count, s->rising_room) = id;
    return id;
}

/* Gives back what the flow uses. */
static void give_back(struct sc__share *s, const struct flow *f, double level) {
    for (uint32_t h = f->first, end = h + f->hops; h < end; h++)
        s->room[s->hop_link[h]][0] += level * s->hop_load[h];
}

static void take_out(struct sc__share *s, uint32_t id) {
    struct flow *f = &s->flows[id];
    if (f->hops) give_back(s, f, s->level[id]);
    for (uint32_t h = f->first; h < f->first + f->hops; h++) {
        delist(s, id, h);
        if (!s->together) note_change(s, s->hop_link[h]);
    }
    if (!s->together) {
        if (s->level[id] < s->least) s->least = s->level[id];
        s->dirty = true;
    }
    unsigned b = bin_of(f->hops ? f->hops : 1);
    *SC__PUSH(s->arena, s->free_hops[b], s->free_hop_count[b], s->free_hop_room[b]) = f->first;
    *SC__PUSH(s->arena, s->free_flows, s->free_count, s->free_room) = id;
    sc__tree_set(&s->ends, id, INFINITY);
    s->level[id] = 0;
    s->running--;
}

bool sc__share_finish(struct sc__share *s, double to, uint64_t *user) {
    double end = sc__tree_min(&s->ends);
    if (end > to + TIES * fabs(to)) return false;
    uint32_t id = sc__tree_least(&s->ends);
    *user = s->flows[id].user;
    s->now = to;
    take_out(s, id);
    return true;
}

/* ---- what to solve again ---- */

/* Can the link bind at all? If all its flows at their caps fit, never. */
static bool binds(const struct sc__share *s, uint32_t link) {
    return s->links[link].demand > s->capacity[link] * (1 + 1e-12);
}

static void meet_link(struct sc__share *s, uint32_t link) {
    struct link *l = &s->links[link];
    if (l->seen == s->solve) return;
    l->seen = s->solve;
    if (l->count && binds(s, link)) *SC__PUSH(s->arena, s->queue, s->queue_count, s->queue_room) = link;
}

/* The flow gives back what it used and rises. */
static void let_rise(struct sc__share *s, uint32_t id) {
    const struct flow *f = &s->flows[id];
    double level = s->level[id];
    pair back = {level == INFINITY ? 0 : level, 1};
    s->rises[id] = 1;
    for (uint32_t h = f->first, end = h + f->hops; h < end; h++)
        s->room[s->hop_link[h]] += back * s->hop_load[h];
}

static void rise_and_meet(struct sc__share *s, uint32_t id) {
    const struct flow *f = &s->flows[id];
    let_rise(s, id);
    for (uint32_t h = f->first, end = h + f->hops; h < end; h++) meet_link(s, s->hop_link[h]);
}

static void follow_link(struct sc__share *s, uint32_t link) {
    const struct link *l = &s->links[link];
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t id = l->list[i].flow;
        if (s->level[id] < s->least || s->rises[id]) continue;
        *SC__PUSH(s->arena, s->rising, s->rising_count, s->rising_room) = id;
        rise_and_meet(s, id);
    }
}

/* Every flow from r0 up, and every link that may bind. */
static void take_all(struct sc__share *s) {
    uint32_t n = s->rising_count;
    if (s->rising_room < s->flow_count + 1)
        s->rising = sc__grow(s->arena, s->rising, &s->rising_room, s->flow_count + 1, sizeof *s->rising);
    for (uint32_t i = 0; i < s->flow_count; i++) {
        s->rising[n] = i;
        n += s->level[i] >= s->least && !s->rises[i];
    }
    for (uint32_t i = s->rising_count; i < n; i++) let_rise(s, s->rising[i]);
    s->rising_count = n;
    s->queue_count = 0;
    for (uint32_t i = 0; i < s->link_count; i++)
        if (s->room[i][1] > 0 && binds(s, i))
            *SC__PUSH(s->arena, s->queue, s->queue_count, s->queue_room) = i;
}

/* Everything the changes can reach. New flows are already in `rising`. */
static void gather(struct sc__share *s) {
    s->queue_count = 0;
    for (uint32_t i = 0; i < s->rising_count; i++) {
        double least = least_share(s, &s->flows[s->rising[i]]);
        if (least < s->least) s->least = least;
    }
    s->least *= 1 - SLACK;
    for (uint32_t i = 0; i < s->rising_count; i++) rise_and_meet(s, s->rising[i]);
    for (uint32_t i = 0; i < s->changed_count; i++) meet_link(s, s->changed[i]);
    for (uint32_t i = 0; i < s->queue_count; i++) {
        if (s->rising_count >= s->running) break;
        s->many = s->rising_count > 64 && s->rising_count > s->flow_count / MANY;
        if (s->many) {
            take_all(s);
            break;
        }
        follow_link(s, s->queue[i]);
    }
    s->many = s->rising_count > 64 && s->rising_count > s->flow_count / MANY;
}

/* ---- filling ---- */

static void sift_down(struct top *heap, uint32_t count, uint32_t i) {
    struct top moving = heap[i];
    for (uint32_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count) child += heap[child + 1].share < heap[child].share;
        if (moving.share <= heap[child].share) break;
        heap[i] = heap[child];
    }
    heap[i] = moving;
}

static void build_heap(struct sc__share *s) {
    s->heap_count = 0;
    if (s->heap_room < s->queue_count)
        s->heap = sc__grow(s->arena, s->heap, &s->heap_room, s->queue_count, sizeof *s->heap);
    for (uint32_t i = 0; i < s->queue_count; i++) {
        pair room = s->room[s->queue[i]];
        if (room[1] * 2 > s->least_load) s->heap[s->heap_count++] = (struct top){room[0] / room[1], s->queue[i]};
    }
    for (uint32_t i = s->heap_count / 2; i-- > 0;) sift_down(s->heap, s->heap_count, i);
}

/* A flow whose level changed has moved its bytes at the old one until now. */
static void settle(struct sc__share *s, uint32_t id, double level, double inverse) {
    struct flow *f = &s->flows[id];
    double old = s->level[id];
    if (old != INFINITY) f->work -= old * (s->now - f->since);
    if (f->work < 0) f->work = 0;
    f->since = s->now;
    s->level[id] = level;
    double end = s->now + f->work * inverse;
    if (s->many) s->ends.level[0][id] = end;
    else sc__tree_set(&s->ends, id, end);
}

static void freeze(struct sc__share *s, uint32_t id, double level, double inverse) {
    const struct flow *f = &s->flows[id];
    pair use = {level, 1};
    s->rises[id] = 0;
    for (uint32_t h = f->first, end = h + f->hops; h < end; h++)
        s->room[s->hop_link[h]] -= use * s->hop_load[h];
    if (level != s->level[id]) settle(s, id, level, inverse);
}

static void freeze_link(struct sc__share *s, uint32_t link, double level) {
    const struct link *l = &s->links[link];
    double inverse = 1 / level;
    for (uint32_t i = 0; i < l->count; i++)
        if (s->rises[l->list[i].flow]) freeze(s, l->list[i].flow, level, inverse);
}

static void freeze_at_cap(struct sc__share *s, uint32_t id) {
    freeze(s, id, s->flows[id].cap, 1 / s->flows[id].cap);
}

static int compare_caps(const void *a, const void *b, void *share) {
    const struct sc__share *s = share;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    double cap_x = s->flows[x].cap, cap_y = s->flows[y].cap;
    return cap_x != cap_y ? (cap_x < cap_y ? -1 : 1) : (x > y) - (x < y);
}

/* The rising flows in order of their caps. */
static const uint32_t *order_by_cap(struct sc__share *s) {
    bool sorted = true;
    for (uint32_t i = 1; i < s->rising_count && sorted; i++)
        sorted = s->flows[s->rising[i - 1]].cap <= s->flows[s->rising[i]].cap;
    if (sorted) return s->rising;
    if (s->by_cap_room < s->rising_count)
        s->by_cap = sc__grow(s->arena, s->by_cap, &s->by_cap_room, s->rising_count, sizeof *s->by_cap);
    memcpy(s->by_cap, s->rising, s->rising_count * sizeof *s->by_cap);
    qsort_r(s->by_cap, s->rising_count, sizeof *s->by_cap, compare_caps, s);
    return s->by_cap;
}

/* The link at the top of the heap: its key is corrected, or it freezes. */
static void fill_top(struct sc__share *s) {
    struct top *top = &s->heap[0];
    uint32_t link = top->link;
    pair room = s->room[link];
    bool rising = room[1] * 2 > s->least_load;
    double share = rising ? room[0] / room[1] : 0;
    if (share > top->share) {
        top->share = share;
    } else {
        *top = s->heap[--s->heap_count];
        if (rising) freeze_link(s, link, share > s->least ? share : s->least);
    }
    if (s->heap_count) sift_down(s->heap, s->heap_count, 0);
}

static void fill(struct sc__share *s) {
    const uint32_t *capped = order_by_cap(s), *end = capped + s->rising_count;
    build_heap(s);
    while (s->heap_count) {
        while (capped < end && !s->rises[*capped]) capped++;
        if (capped < end && s->flows[*capped].cap <= s->heap[0].share) freeze_at_cap(s, *capped);
        else fill_top(s);
    }
    for (; capped < end; capped++)
        if (s->rises[*capped]) freeze_at_cap(s, *capped);
}

static void add_up_slacks(struct sc__share *s) {
    for (uint32_t i = 0; i < s->link_count; i++) s->room[i] = (pair){s->capacity[i] - sc__share_use(s, i), 0};
}

static void solve(struct sc__share *s) {
    gather(s);
    fill(s);
    if (s->many) sc__tree_refresh(&s->ends);
    s->solves++;
    s->levels += s->rising_count;
    s->solve++;
    s->rising_count = s->changed_count = 0;
    s->least = INFINITY;
    s->dirty = false;
    if (s->solves % AFRESH == 0) add_up_slacks(s);
#ifdef SC_CHECK
    if (!sc__share_certified(s)) s->violations++;
#endif
}

double sc__share_next(struct sc__share *s) {
    if (s->dirty) solve(s);
    return sc__tree_min(&s->ends);
}

/* ---- the certificate ---- */

static double top_level(const struct sc__share *s, const struct link *l) {
    double top = 0;
    for (uint32_t i = 0; i < l->count; i++)
        if (s->level[l->list[i].flow] > top) top = s->level[l->list[i].flow];
    return top;
}

bool sc__share_certified(const struct sc__share *s) {
    bool *has_bottleneck = calloc(s->flow_count + 1, 1), good = has_bottleneck != NULL;
    uint32_t certified = 0, routed = 0;
    for (uint32_t i = 0; i < s->link_count && good; i++) {
        const struct link *l = &s->links[i];
        double use = sc__share_use(s, i), top = top_level(s, l);
        good = use <= s->capacity[i] * (1 + 1e-9);
        bool full = use >= s->capacity[i] * (1 - 1e-9);
        for (uint32_t k = 0; k < l->count; k++) {
            uint32_t id = l->list[k].flow;
            routed += l->list[k].hop == s->flows[id].first;
            if (!full || s->level[id] < top * (1 - 1e-9) || has_bottleneck[id]) continue;
            has_bottleneck[id] = true;
            certified++;
        }
    }
    free(has_bottleneck);
    return good && certified == routed;
}
