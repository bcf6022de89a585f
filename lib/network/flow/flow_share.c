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
#include "network/flow/flow_share.h"

#include "network/flow/min_tree.h"

#include <stdlib.h>
#include <string.h>

#define SLACK 1e-9   /* r0 is lowered by this share: solving too much is never wrong */
#define TIES 1e-13   /* completions this close are one event */
#define AFRESH 1024u /* solves between two summations of the slacks */
#define LOOSE 0.1    /* a link with this share of its capacity free is unlikely to bind */
#define MANY 8u      /* more rising flows than one in so many: take them all */
#define PERSIST 16u  /* … and for so many solves */

typedef double pair __attribute__((vector_size(16)));

struct entry { /* a flow in the list of a link */
    uint32_t flow;
    uint32_t hop;
};

struct flow_share_link {
    struct entry *list;
    uint32_t count;
    uint32_t room;
    uint32_t seen;    /* solve in which it was visited */
    uint32_t changed; /* solve for which it is already noted as changed */
    double demand;    /* load · cap, summed over its flows */
    double load;      /* summed over its flows */
};

#define NEAR 4u

struct path {
    /* in the hop arrays */
    uint32_t first;
    uint32_t hops;
    double load;         /* of every hop; 0: they differ, see hop_load */
    uint32_t near[NEAR]; /* the links again where they are no more: one place to look */
};

struct flow { /* what solving need not look at */
    /* work: bytes/weight */
    double weight;
    double cap;
    double work;
    uint64_t user;
};

struct top { /* in the heap of links */
    uint64_t
        key; /* the bits of its share: they compare as the share does, without branches */
    uint32_t link;
};

struct sc__flow_share {
    struct sc__arena *arena;
    const double *capacity;
    struct flow_share_link *links;
    pair *room; /* by link: capacity left, and load that rises */
    uint32_t link_count;

    struct flow *flows;
    struct path *path; /* by flow */
    double *level;     /* by flow; 0: no such flow, INFINITY: new */
    uint8_t *rises;    /* by flow */
    uint32_t flow_count;
    uint32_t flow_room;
    uint32_t running;
    double least_load; /* of any hop so far */
    /* of any flow so far */
    double least_cap;
    double most_cap;
    struct sc__tree ends;

    uint32_t *hop_link;
    uint32_t *hop_place;
    double *hop_load;
    uint32_t hop_count;
    uint32_t hop_room;

    uint32_t *changed;
    uint32_t changed_count;
    uint32_t changed_room;
    /* r0 */
    double now;
    double least;
    bool dirty;
    bool together;
    double together_size;
    double together_since;

    uint32_t solve;
    /* links visited */
    uint32_t *queue;
    uint32_t queue_count;
    uint32_t queue_room;
    /* flows */
    uint32_t *rising;
    uint32_t rising_count;
    uint32_t rising_room;
    uint32_t *staying;
    uint32_t staying_room;
    uint32_t *by_cap;
    uint32_t by_cap_room;
    /* rising flows of the link that freezes */
    uint32_t *picked;
    uint32_t picked_room;
    uint32_t left; /* flows that rise still */
    unsigned many; /* solves for which all flows from r0 up are taken */
    struct top *heap;
    uint32_t heap_count;
    uint32_t heap_room;
    uint64_t solves;
    uint64_t levels;
    uint32_t violations;
};

struct sc__flow_share *
sc__share_new(struct sc__arena *arena, const double *capacity, uint32_t links) {
    struct sc__flow_share *s = SC__NEW(arena, struct sc__flow_share);
    s->arena = arena;
    s->capacity = capacity;
    s->link_count = links;
    s->links = SC__NEW_ARRAY(arena, struct flow_share_link, links);
    s->room = SC__NEW_ARRAY(arena, pair, links);
    for (uint32_t i = 0; i < links; i++)
        s->room[i] = (pair){capacity[i], 0};
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
        const struct flow *f = &s->flows[i];
        if (s->level[i] > 0)
            left[f->user] = (s->ends.level[0][i] - now) * s->level[i] * f->weight;
    }
}

double sc__share_use(const struct sc__flow_share *s, uint32_t link) {
    const struct flow_share_link *l = &s->links[link];
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
    struct flow_share_link *l = &s->links[link];
    if (l->changed == s->solve)
        return;
    l->changed = s->solve;
    *SC__PUSH(s->arena, s->changed, s->changed_count, s->changed_room) = link;
}

static void enlist(struct sc__flow_share *s, uint32_t flow, uint32_t hop) {
    struct flow_share_link *l = &s->links[s->hop_link[hop]];
    s->hop_place[hop] = l->count;
    *SC__PUSH(s->arena, l->list, l->count, l->room) =
        (struct entry){.flow = flow, .hop = hop};
    l->demand += s->hop_load[hop] * s->flows[flow].cap;
    l->load += s->hop_load[hop];
}

static void delist(struct sc__flow_share *s, uint32_t flow, uint32_t hop) {
    struct flow_share_link *l = &s->links[s->hop_link[hop]];
    struct entry last = l->list[--l->count];
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

/* What the flow gets at least: the fair share of its narrowest link. */
static double least_share(const struct sc__flow_share *s, const struct path *p) {
    double least = s->flows[p - s->path].cap;
    for (uint32_t h = p->first; h < p->first + p->hops; h++) {
        double share = s->capacity[s->hop_link[h]] / s->links[s->hop_link[h]].load;
        if (share < least)
            least = share;
    }
    return least;
}

static void
lay(struct sc__flow_share *s, uint32_t id, const struct sc__share_hop *hops, double cap) {
    struct path *p = &s->path[id];
    p->load = p->hops ? hops[0].load : 0;
    for (uint32_t i = 0; i < p->hops; i++) {
        s->hop_link[p->first + i] = hops[i].link;
        s->hop_load[p->first + i] = hops[i].load;
        if (i < NEAR)
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
    s->flows[id] =
        (struct flow){.weight = f->weight, .work = f->bytes / f->weight, .user = f->user};
    s->path[id] = (struct path){.first = first, .hops = f->count};
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

#define NO_LINK UINT32_MAX

/* Adds change · load to the room of every link of the flow but one. */
static inline void
spread_past(struct sc__flow_share *s, uint32_t id, pair change, uint32_t past) {
    const struct path *p = &s->path[id];
    const uint32_t *link = p->hops <= NEAR ? p->near : s->hop_link + p->first;
    const uint32_t *end = link + p->hops;
    pair *room = s->room;
    if (p->load > 0) {
        change *= p->load;
        for (; link < end; link++)
            if (*link != past)
                room[*link] += change;
    } else {
        for (const double *load = s->hop_load + p->first; link < end; link++, load++)
            if (*link != past)
                room[*link] += change * *load;
    }
}

static inline void spread(struct sc__flow_share *s, uint32_t id, pair change) {
    spread_past(s, id, change, NO_LINK);
}

static void take_out(struct sc__flow_share *s, uint32_t id) {
    const struct path *f = &s->path[id];
    spread(s, id, (pair){s->level[id], 0});
    for (uint32_t h = f->first; h < f->first + f->hops; h++) {
        delist(s, id, h);
        if (!s->together)
            note_change(s, s->hop_link[h]);
    }
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
        (struct entry){.flow = flow, .hop = to};
}

static void move_flow(struct sc__flow_share *s, uint32_t from, uint32_t to) {
    const struct path old = s->path[from];
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

/* ---- what to solve again ---- */

/* Whether the link is likely to bind: it is nearly full, and its flows at
 * their caps would not fit. Where this guess is wrong, filling finds the link
 * over its capacity and is repeated with it (`repair`). */
static bool likely(const struct sc__flow_share *s, uint32_t link) {
    return s->room[link][0] < LOOSE * s->capacity[link] &&
           s->links[link].demand > s->capacity[link] * (1 + 1e-12);
}

static void visit_link(struct sc__flow_share *s, uint32_t link) {
    struct flow_share_link *l = &s->links[link];
    if (l->seen == s->solve)
        return;
    l->seen = s->solve;
    *SC__PUSH(s->arena, s->queue, s->queue_count, s->queue_room) = link;
}

/* The flow gives back what it used and rises. */
static void let_rise(struct sc__flow_share *s, uint32_t id) {
    double level = s->level[id];
    s->rises[id] = 1;
    spread(s, id, (pair){level == INFINITY ? 0 : level, 1});
}

/* Links are looked at before the flow gives back its use. */
static void rise_and_visit(struct sc__flow_share *s, uint32_t id) {
    const struct path *p = &s->path[id];
    for (uint32_t h = p->first, end = h + p->hops; h < end; h++)
        if (likely(s, s->hop_link[h]))
            visit_link(s, s->hop_link[h]);
    let_rise(s, id);
}

static void follow_link(struct sc__flow_share *s, uint32_t link) {
    const struct flow_share_link *l = &s->links[link];
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t id = l->list[i].flow;
        if (s->level[id] < s->least || s->rises[id])
            continue;
        *SC__PUSH(s->arena, s->rising, s->rising_count, s->rising_room) = id;
        rise_and_visit(s, id);
    }
}

/* Sorts the flows into those at r0 or above and those below, without branches. */
static void split(struct sc__flow_share *s) {
    const double *level = s->level;
    const double least = s->least;
    uint32_t n = 0;
    uint32_t flows = s->flow_count;
    uint32_t *rising = s->rising;
    uint8_t *rises = s->rises;
    for (uint32_t i = 0; i < flows; i++) {
        bool up = level[i] >= least;
        rises[i] = up;
        rising[n] = i;
        n += up;
    }
    s->rising_count = n;
}

/* What each flow from r0 up gives back, or what the others leave of the links:
 * the shorter sum. */
static void make_room(struct sc__flow_share *s) {
    if (s->rising_count < s->running / 2) {
        for (uint32_t i = 0; i < s->rising_count; i++)
            let_rise(s, s->rising[i]);
        return;
    }
    const double *level = s->level;
    const double least = s->least;
    uint32_t n = 0;
    uint32_t *staying = s->staying;
    for (uint32_t i = 0; i < s->flow_count; i++) {
        staying[n] = i;
        n += (level[i] < least) & (level[i] > 0);
    }
    for (uint32_t i = 0; i < s->link_count; i++)
        s->room[i] = (pair){s->capacity[i], s->links[i].load};
    for (uint32_t i = 0; i < n; i++)
        spread(s, staying[i], (pair){-level[staying[i]], -1});
}

static void reserve_all(struct sc__flow_share *s) {
    uint32_t need = s->flow_count + 1;
    if (s->rising_room < need)
        s->rising = sc__grow(s->arena, s->rising, &s->rising_room, need, sizeof *s->rising);
    if (s->staying_room < need)
        s->staying =
            sc__grow(s->arena, s->staying, &s->staying_room, need, sizeof *s->staying);
}

/* Every flow from r0 up, and every link that is likely to bind. */
static void take_all(struct sc__flow_share *s) {
    reserve_all(s);
    for (uint32_t i = 0; i < s->rising_count; i++) {
        double level = s->level[s->rising[i]];
        spread(s, s->rising[i], (pair){level == INFINITY ? 0 : -level, -1});
    }
    for (uint32_t i = 0; i < s->link_count; i++)
        if (s->links[i].count && likely(s, i))
            visit_link(s, i);
    split(s);
    make_room(s);
}

static bool are_many(const struct sc__flow_share *s) {
    return s->rising_count > 64 && s->rising_count > s->running / MANY;
}

static void follow_links(struct sc__flow_share *s, uint32_t from) {
    for (uint32_t i = from; i < s->queue_count && !s->many; i++) {
        follow_link(s, s->queue[i]);
        if (are_many(s))
            s->many = PERSIST;
    }
    if (s->many)
        take_all(s);
}

/* Everything the changes can reach. New flows are already in `rising`. */
static void gather(struct sc__flow_share *s) {
    s->queue_count = 0;
    for (uint32_t i = 0; i < s->rising_count; i++) {
        double least = least_share(s, &s->path[s->rising[i]]);
        if (least < s->least)
            s->least = least;
    }
    s->least *= 1 - SLACK;
    for (uint32_t i = 0; i < s->rising_count; i++)
        rise_and_visit(s, s->rising[i]);
    for (uint32_t i = 0; i < s->changed_count; i++)
        visit_link(s, s->changed[i]);
    follow_links(s, 0);
}

/* ---- filling ---- */

static inline uint64_t flow_share_key_of(double share) {
    uint64_t key;
    share = share > 0 ? share : 0;
    memcpy(&key, &share, sizeof key);
    return key;
}

static inline double flow_share_share_of(uint64_t key) {
    double share;
    memcpy(&share, &key, sizeof share);
    return share;
}

/* Of four children, or of those there are. */
static inline uint32_t least_child(const struct top *heap, uint32_t first, uint32_t count) {
    uint32_t least = first;
    if (first + 4 <= count) {
        uint32_t a = heap[first + 1].key < heap[first].key;
        uint32_t b = 2 + (heap[first + 3].key < heap[first + 2].key);
        return first + (heap[first + b].key < heap[first + a].key ? b : a);
    }
    for (uint32_t i = first + 1; i < count; i++)
        least = heap[i].key < heap[least].key ? i : least;
    return least;
}

/* Four children a node: half the levels of two. */
static void sift_down(struct top *heap, uint32_t count, uint32_t i) {
    struct top moving = heap[i];
    while (4 * i + 1 < count) {
        uint32_t child = least_child(heap, 4 * i + 1, count);
        if (moving.key <= heap[child].key)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

static void build_heap(struct sc__flow_share *s) {
    s->heap_count = 0;
    if (s->heap_room < s->queue_count)
        s->heap =
            sc__grow(s->arena, s->heap, &s->heap_room, s->queue_count, sizeof *s->heap);
    for (uint32_t i = 0; i < s->queue_count; i++) {
        pair room = s->room[s->queue[i]];
        if (room[1] * 2 > s->least_load)
            s->heap[s->heap_count++] =
                (struct top){flow_share_key_of(room[0] / room[1]), s->queue[i]};
    }
    for (uint32_t i = (s->heap_count + 2) / 4; i-- > 0;)
        sift_down(s->heap, s->heap_count, i);
}

/* What is left of a flow is (its end − now) · its level; the new level moves
 * the end. */
static inline void
freeze(struct sc__flow_share *s, uint32_t id, double level, double inverse, uint32_t link) {
    double old = s->level[id];
    double *end = &s->ends.level[0][id];
    double left = (*end - s->now) * old;
    s->rises[id] = 0;
    spread_past(s, id, (pair){-level, -1}, link);
    if (level == old)
        return;
    if (old == INFINITY)
        left = s->flows[id].work;
    if (left < 0)
        left = 0;
    s->level[id] = level;
    if (s->many)
        *end = s->now + left * inverse;
    else
        sc__tree_set(&s->ends, id, s->now + left * inverse);
}

/* Which flows of the link rise is found without branches, then they freeze.
 * The link itself is settled at once: a sum into one place would wait for
 * itself at every step. */
static void freeze_link(struct sc__flow_share *s, uint32_t link, double level) {
    const struct flow_share_link *l = &s->links[link];
    double inverse = 1 / level;
    uint32_t n = 0;
    uint32_t count = l->count;
    if (s->picked_room < count)
        s->picked =
            sc__grow(s->arena, s->picked, &s->picked_room, count, sizeof *s->picked);
    uint32_t *picked = s->picked;
    const struct entry *list = l->list;
    const uint8_t *rises = s->rises;
    for (uint32_t i = 0; i < count; i++) {
        picked[n] = list[i].flow;
        n += rises[list[i].flow];
    }
    for (uint32_t i = 0; i < n; i++)
        freeze(s, picked[i], level, inverse, link);
    s->room[link] = (pair){s->room[link][0] - level * s->room[link][1], 0};
    s->left -= n;
}

static void freeze_at_cap(struct sc__flow_share *s, uint32_t id) {
    freeze(s, id, s->flows[id].cap, 1 / s->flows[id].cap, NO_LINK);
    s->left--;
}

static int compare_caps(const void *a, const void *b, void *share) {
    const struct sc__flow_share *s = share;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    double cap_x = s->flows[x].cap;
    double cap_y = s->flows[y].cap;
    return cap_x != cap_y ? (cap_x < cap_y ? -1 : 1) : (x > y) - (x < y);
}

/* The rising flows in order of their caps. */
static const uint32_t *order_by_cap(struct sc__flow_share *s) {
    bool sorted = true;
    if (s->least_cap == s->most_cap)
        return s->rising;
    for (uint32_t i = 1; i < s->rising_count && sorted; i++)
        sorted = s->flows[s->rising[i - 1]].cap <= s->flows[s->rising[i]].cap;
    if (sorted)
        return s->rising;
    if (s->by_cap_room < s->rising_count)
        s->by_cap = sc__grow(s->arena,
                             s->by_cap,
                             &s->by_cap_room,
                             s->rising_count,
                             sizeof *s->by_cap);
    memcpy(s->by_cap, s->rising, s->rising_count * sizeof *s->by_cap);
    sc__sort(s->by_cap, s->rising_count, sizeof *s->by_cap, compare_caps, s);
    return s->by_cap;
}

/* The link at the top of the heap: its key is corrected, or it freezes. */
static void fill_top(struct sc__flow_share *s) {
    struct top *top = &s->heap[0];
    uint32_t link = top->link;
    pair room = s->room[link];
    bool rising = room[1] * 2 > s->least_load;
    double share = rising ? room[0] / room[1] : 0;
    if (flow_share_key_of(share) > top->key) {
        top->key = flow_share_key_of(share);
    } else {
        *top = s->heap[--s->heap_count];
        if (rising)
            freeze_link(s, link, share > s->least ? share : s->least);
    }
    if (s->heap_count)
        sift_down(s->heap, s->heap_count, 0);
}

static void fill(struct sc__flow_share *s) {
    const uint32_t *capped = order_by_cap(s);
    const uint32_t *end = capped + s->rising_count;
    build_heap(s);
    s->left = s->rising_count;
    while (s->heap_count && s->left) {
        while (capped < end && !s->rises[*capped])
            capped++;
        double share = flow_share_share_of(s->heap[0].key);
        if (capped < end && s->least_cap <= share && s->flows[*capped].cap <= share)
            freeze_at_cap(s, *capped);
        else
            fill_top(s);
    }
    for (; capped < end && s->left; capped++)
        if (s->rises[*capped])
            freeze_at_cap(s, *capped);
}

/* Links over their capacity that were left out; false when there is none. */
static bool visit_overfull(struct sc__flow_share *s) {
    uint32_t before = s->queue_count;
    if (s->many) {
        for (uint32_t i = 0; i < s->link_count; i++)
            if (s->room[i][0] < -SLACK * s->capacity[i])
                visit_link(s, i);
    } else {
        for (uint32_t i = 0; i < s->rising_count; i++) {
            const struct path *p = &s->path[s->rising[i]];
            for (uint32_t h = p->first; h < p->first + p->hops; h++)
                if (s->room[s->hop_link[h]][0] < -SLACK * s->capacity[s->hop_link[h]])
                    visit_link(s, s->hop_link[h]);
        }
    }
    return s->queue_count > before;
}

/* Fills again, with what turned out to bind, until no link is overfull. */
static void repair(struct sc__flow_share *s) {
    for (uint32_t visited = s->queue_count; visit_overfull(s); visited = s->queue_count) {
        for (uint32_t i = 0; i < s->rising_count; i++)
            let_rise(s, s->rising[i]);
        if (!s->many)
            follow_links(s, visited);
        fill(s);
    }
}

static void add_up_slacks(struct sc__flow_share *s) {
    for (uint32_t i = 0; i < s->link_count; i++)
        s->room[i] = (pair){s->capacity[i] - sc__share_use(s, i), 0};
}

static void solve(struct sc__flow_share *s) {
    gather(s);
    fill(s);
    repair(s);
    if (s->many)
        sc__tree_refresh(&s->ends);
    if (s->many && !--s->many && are_many(s))
        s->many = 1;
    s->solves++;
    s->levels += s->rising_count;
    s->solve++;
    s->rising_count = s->changed_count = 0;
    s->least = INFINITY;
    s->dirty = false;
    if (s->solves % AFRESH == 0)
        add_up_slacks(s);
    if (s->flow_count > 256 && s->running < s->flow_count / 2)
        close_up(s);
#ifdef SC_CHECK
    if (!sc__share_certified(s))
        s->violations++;
#endif
}

double sc__share_next(struct sc__flow_share *s) {
    if (s->dirty)
        solve(s);
    return sc__tree_min(&s->ends);
}

/* ---- the certificate ---- */

static double top_level(const struct sc__flow_share *s, const struct flow_share_link *l) {
    double top = 0;
    for (uint32_t i = 0; i < l->count; i++)
        if (s->level[l->list[i].flow] > top)
            top = s->level[l->list[i].flow];
    return top;
}

bool sc__share_certified(const struct sc__flow_share *s) {
    bool *has_bottleneck = calloc(s->flow_count + 1, 1), good = has_bottleneck != NULL;
    uint32_t certified = 0;
    for (uint32_t i = 0; i < s->flow_count && good; i++) {
        has_bottleneck[i] = s->level[i] == 0 || s->level[i] >= s->flows[i].cap * (1 - 1e-9);
        certified += has_bottleneck[i];
    }
    for (uint32_t i = 0; i < s->link_count && good; i++) {
        const struct flow_share_link *l = &s->links[i];
        double use = sc__share_use(s, i);
        double top = top_level(s, l);
        good = use <= s->capacity[i] * (1 + 1e-9);
        bool full = use >= s->capacity[i] * (1 - 1e-9);
        for (uint32_t k = 0; k < l->count; k++) {
            uint32_t id = l->list[k].flow;
            if (!full || s->level[id] < top * (1 - 1e-9) || has_bottleneck[id])
                continue;
            has_bottleneck[id] = true;
            certified++;
        }
    }
    free(has_bottleneck);
    return good && certified == s->flow_count;
}
