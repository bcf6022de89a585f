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
 */
#include "base/sort.h"
#include "network/flow/flow_heap.h"
#include "network/flow/flow_state.h"

#include <string.h>

#define AFRESH 1024u /* solves between two summations of the slacks */
#define LOOSE 0.1    /* a link with this share of its capacity free is unlikely to bind */
#define MANY 8u      /* more rising flows than one in so many: take them all */
#define PERSIST 16u  /* … and for so many solves */

/* ---- what to solve again ---- */

/* Whether the link is likely to bind: it is nearly full, and its flows at
 * their caps would not fit. Where this guess is wrong, filling finds the link
 * over its capacity and is repeated with it (`repair`). */
static bool likely(const struct sc__flow_share *s, uint32_t link) {
    return s->room[link][0] < LOOSE * s->capacity[link] &&
           s->links[link].demand > s->capacity[link] * (1 + 1e-12);
}

static void visit_link(struct sc__flow_share *s, uint32_t link) {
    struct sc__flow_link *l = &s->links[link];
    if (l->seen == s->solve)
        return;
    l->seen = s->solve;
    *SC__PUSH(s->arena, s->queue, s->queue_count, s->queue_room) = link;
}

/* The flow gives back what it used and rises. */
static void let_rise(struct sc__flow_share *s, uint32_t id) {
    double level = s->level[id];
    s->rises[id] = 1;
    sc__flow_spread(s, id, (sc__flow_pair){level == INFINITY ? 0 : level, 1});
}

/* Links are looked at before the flow gives back its use. */
static void rise_and_visit(struct sc__flow_share *s, uint32_t id) {
    const struct sc__flow_path *p = &s->path[id];
    for (uint32_t h = p->first, end = h + p->hops; h < end; h++)
        if (likely(s, s->hop_link[h]))
            visit_link(s, s->hop_link[h]);
    let_rise(s, id);
}

static void follow_link(struct sc__flow_share *s, uint32_t link) {
    const struct sc__flow_link *l = &s->links[link];
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
        s->room[i] = (sc__flow_pair){s->capacity[i], s->links[i].load};
    for (uint32_t i = 0; i < n; i++)
        sc__flow_spread(s, staying[i], (sc__flow_pair){-level[staying[i]], -1});
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
        sc__flow_spread(s,
                        s->rising[i],
                        (sc__flow_pair){level == INFINITY ? 0 : -level, -1});
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

/* What the flow gets at least: the fair share of its narrowest link. */
static double least_share(const struct sc__flow_share *s, const struct sc__flow_path *p) {
    double least = s->flows[p - s->path].cap;
    for (uint32_t h = p->first; h < p->first + p->hops; h++) {
        double share = s->capacity[s->hop_link[h]] / s->links[s->hop_link[h]].load;
        if (share < least)
            least = share;
    }
    return least;
}

/* Everything the changes can reach. New flows are already in `rising`. */
static void gather(struct sc__flow_share *s) {
    s->queue_count = 0;
    for (uint32_t i = 0; i < s->rising_count; i++) {
        double least = least_share(s, &s->path[s->rising[i]]);
        if (least < s->least)
            s->least = least;
    }
    s->least *= 1 - SC__FLOW_SLACK;
    for (uint32_t i = 0; i < s->rising_count; i++)
        rise_and_visit(s, s->rising[i]);
    for (uint32_t i = 0; i < s->changed_count; i++)
        visit_link(s, s->changed[i]);
    follow_links(s, 0);
}

/* ---- filling ---- */

static void build_heap(struct sc__flow_share *s) {
    s->heap_count = 0;
    if (s->heap_room < s->queue_count)
        s->heap =
            sc__grow(s->arena, s->heap, &s->heap_room, s->queue_count, sizeof *s->heap);
    for (uint32_t i = 0; i < s->queue_count; i++) {
        sc__flow_pair room = s->room[s->queue[i]];
        if (room[1] * 2 > s->least_load)
            s->heap[s->heap_count++] =
                (struct sc__flow_top){sc__flow_key(room[0] / room[1]), s->queue[i]};
    }
    for (uint32_t i = (s->heap_count + 2) / 4; i-- > 0;)
        sc__flow_sift_down(s->heap, s->heap_count, i);
}

/* What is left of a flow is (its end − now) · its level; the new level moves
 * the end. */
static inline void
freeze(struct sc__flow_share *s, uint32_t id, double level, double inverse, uint32_t link) {
    double old = s->level[id];
    double *end = &s->ends.level[0][id];
    double left = (*end - s->now) * old;
    s->rises[id] = 0;
    sc__flow_spread_past(s, id, (sc__flow_pair){-level, -1}, link);
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
    const struct sc__flow_link *l = &s->links[link];
    double inverse = 1 / level;
    uint32_t n = 0;
    uint32_t count = l->count;
    if (s->picked_room < count)
        s->picked =
            sc__grow(s->arena, s->picked, &s->picked_room, count, sizeof *s->picked);
    uint32_t *picked = s->picked;
    const struct sc__flow_entry *list = l->list;
    const uint8_t *rises = s->rises;
    for (uint32_t i = 0; i < count; i++) {
        picked[n] = list[i].flow;
        n += rises[list[i].flow];
    }
    for (uint32_t i = 0; i < n; i++)
        freeze(s, picked[i], level, inverse, link);
    s->room[link] = (sc__flow_pair){s->room[link][0] - level * s->room[link][1], 0};
    s->left -= n;
}

static void freeze_at_cap(struct sc__flow_share *s, uint32_t id) {
    freeze(s, id, s->flows[id].cap, 1 / s->flows[id].cap, SC__FLOW_NO_LINK);
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
    struct sc__flow_top *top = &s->heap[0];
    uint32_t link = top->link;
    sc__flow_pair room = s->room[link];
    bool rising = room[1] * 2 > s->least_load;
    double share = rising ? room[0] / room[1] : 0;
    if (sc__flow_key(share) > top->key) {
        top->key = sc__flow_key(share);
    } else {
        *top = s->heap[--s->heap_count];
        if (rising)
            freeze_link(s, link, share > s->least ? share : s->least);
    }
    if (s->heap_count)
        sc__flow_sift_down(s->heap, s->heap_count, 0);
}

static void fill(struct sc__flow_share *s) {
    const uint32_t *capped = order_by_cap(s);
    const uint32_t *end = capped + s->rising_count;
    build_heap(s);
    s->left = s->rising_count;
    while (s->heap_count && s->left) {
        while (capped < end && !s->rises[*capped])
            capped++;
        double share = sc__flow_share_of_key(s->heap[0].key);
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
            if (s->room[i][0] < -SC__FLOW_SLACK * s->capacity[i])
                visit_link(s, i);
    } else {
        for (uint32_t i = 0; i < s->rising_count; i++) {
            const struct sc__flow_path *p = &s->path[s->rising[i]];
            for (uint32_t h = p->first; h < p->first + p->hops; h++)
                if (s->room[s->hop_link[h]][0] <
                    -SC__FLOW_SLACK * s->capacity[s->hop_link[h]])
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
        s->room[i] = (sc__flow_pair){s->capacity[i] - sc__share_use(s, i), 0};
}

static void solve_all(struct sc__flow_share *s) {
    gather(s);
    fill(s);
    repair(s);
    if (s->many)
        sc__tree_refresh(&s->ends);
    if (s->many && !--s->many && are_many(s))
        s->many = 1;
    s->levels += s->rising_count;
}

void sc__flow_solve(struct sc__flow_share *s) {
    if (!sc__flow_solve_locally(s))
        solve_all(s);
    s->solves++;
    s->solve++;
    s->rising_count = s->changed_count = 0;
    s->least = INFINITY;
    s->dirty = false;
    if (s->solves % AFRESH == 0)
        add_up_slacks(s);
#ifdef SC_CHECK
    if (!sc__share_certified(s))
        s->violations++;
#endif
}
