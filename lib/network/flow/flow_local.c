/* Levels where little changes.
 *
 * A flow that leaves lets those rise whose bottleneck it crossed; they take from
 * others on their next links, and so on, but mostly the wave dies out soon. So
 * the few flows that must change are solved, with all others as they are, and
 * the links they cross are searched for flows that have lost their certificate
 * (flow_share.h):
 *
 *   - one that is above a flow whose bottleneck the link is now,
 *   - one whose bottleneck the link was, where it is not full any more or has a
 *     higher flow on it now.
 *
 * These are solved too, until nobody has lost it. The certificate determines the
 * levels, so the result is that of solving all. Nothing is written before that:
 * where the wave does not die out, flow_fill.c begins with the levels as they
 * were. */
#include "base/sort.h"
#include "network/flow/flow_heap.h"
#include "network/flow/flow_state.h"

#define MOST_ROUNDS 48u
#define MOST_FLOWS 1024u /* that are solved here, beside twice those that are new */
#define MOST_WAIT 64u    /* solves without a try, after tries that failed */

#define AT_CAP UINT32_MAX

struct local_flow {
    uint32_t id;
    uint32_t bottleneck; /* local link, or AT_CAP */
    double cap;
    double level;
    bool frozen;
};

struct local_link {
    uint32_t link;
    bool was_full;
    double was_top; /* highest level before */
    double room;    /* that the other flows leave; when all are frozen, the slack */
    double load;    /* of its flows that rise still */
    double top;     /* highest level now, of all flows; < 0: not known */
    double frozen;  /* level of the flows whose bottleneck it is; INFINITY: none */
};

struct sc__flow_local {
    struct local_flow *flows;
    uint32_t flow_count;
    uint32_t flow_room;
    struct local_link *links;
    uint32_t link_count;
    uint32_t link_room;
    /* those that the last filling knew */
    uint32_t filled_flows;
    uint32_t filled_links;
    uint32_t *by_cap;
    uint32_t by_cap_room;
    struct sc__flow_top *heap;
    uint32_t heap_count;
    uint32_t heap_room;
    /* by flow and by link: its place here + 1 */
    uint32_t *flow_at;
    uint32_t flow_at_room;
    uint32_t *link_at;
    uint32_t wait; /* solves before the next try */
    uint32_t next_wait;
};

static struct sc__flow_local *local_of(struct sc__flow_share *s) {
    if (!s->local) {
        s->local = SC__NEW(s->arena, struct sc__flow_local);
        s->local->link_at = SC__NEW_ARRAY(s->arena, uint32_t, s->link_count);
    }
    struct sc__flow_local *l = s->local;
    if (l->flow_at_room < s->flow_count)
        l->flow_at = sc__grow(s->arena,
                              l->flow_at,
                              &l->flow_at_room,
                              s->flow_count,
                              sizeof *l->flow_at);
    return l;
}

static void forget_all(struct sc__flow_local *l) {
    for (uint32_t i = 0; i < l->flow_count; i++)
        l->flow_at[l->flows[i].id] = 0;
    for (uint32_t i = 0; i < l->link_count; i++)
        l->link_at[l->links[i].link] = 0;
    l->flow_count = l->link_count = 0;
}

static bool is_full(const struct sc__flow_share *s, uint32_t link, double slack) {
    return slack <= SC__FLOW_SLACK * s->capacity[link];
}

static bool is_above(double level, double other) {
    return level > other * (1 + SC__FLOW_SLACK);
}

/* ---- what is solved ---- */

static double top_before(const struct sc__flow_share *s, uint32_t link) {
    const struct sc__flow_link *l = &s->links[link];
    double top = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        double level = s->level[l->list[i].flow];
        if (level > top && level < INFINITY)
            top = level;
    }
    return top;
}

/* Whether it was the bottleneck of anybody before flows left it. */
static bool was_full(const struct sc__flow_share *s, uint32_t link) {
    return s->links[link].left_full == s->solve || is_full(s, link, s->room[link][0]);
}

static void add_link(struct sc__flow_share *s, uint32_t link) {
    struct sc__flow_local *l = s->local;
    if (l->link_at[link])
        return;
    struct local_link *k = SC__PUSH(s->arena, l->links, l->link_count, l->link_room);
    *k = (struct local_link){.link = link, .was_full = was_full(s, link)};
    if (k->was_full)
        k->was_top = top_before(s, link);
    l->link_at[link] = l->link_count;
}

static void add_flow(struct sc__flow_share *s, uint32_t id) {
    struct sc__flow_local *l = s->local;
    const struct sc__flow_path *p = &s->path[id];
    if (l->flow_at[id])
        return;
    *SC__PUSH(s->arena, l->flows, l->flow_count, l->flow_room) =
        (struct local_flow){.id = id, .cap = s->flows[id].cap};
    l->flow_at[id] = l->flow_count;
    for (uint32_t h = p->first; h < p->first + p->hops; h++)
        add_link(s, s->hop_link[h]);
}

/* ---- filling ---- */

static int compare_local_caps(const void *a, const void *b, void *local) {
    const struct sc__flow_local *l = local;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    double cap_x = l->flows[x].cap;
    double cap_y = l->flows[y].cap;
    return cap_x != cap_y ? (cap_x < cap_y ? -1 : 1) : (x > y) - (x < y);
}

/* What the flows that are not solved leave of the links. */
static void make_local_room(struct sc__flow_share *s) {
    struct sc__flow_local *l = s->local;
    for (uint32_t i = 0; i < l->link_count; i++) {
        struct local_link *k = &l->links[i];
        k->room = s->room[k->link][0];
        k->load = 0;
        k->frozen = INFINITY;
        k->top = -1;
    }
    l->filled_flows = l->flow_count;
    l->filled_links = l->link_count;
    for (uint32_t i = 0; i < l->flow_count; i++) {
        struct local_flow *f = &l->flows[i];
        const struct sc__flow_path *p = &s->path[f->id];
        double level = s->level[f->id] < INFINITY ? s->level[f->id] : 0;
        f->frozen = false;
        for (uint32_t h = p->first; h < p->first + p->hops; h++) {
            struct local_link *k = &l->links[l->link_at[s->hop_link[h]] - 1];
            k->room += s->hop_load[h] * level;
            k->load += s->hop_load[h];
        }
    }
}

static void
freeze_local(struct sc__flow_share *s, uint32_t flow, double level, uint32_t bottleneck) {
    struct sc__flow_local *l = s->local;
    struct local_flow *f = &l->flows[flow];
    const struct sc__flow_path *p = &s->path[f->id];
    f->frozen = true;
    f->level = level;
    f->bottleneck = bottleneck;
    for (uint32_t h = p->first; h < p->first + p->hops; h++) {
        struct local_link *k = &l->links[l->link_at[s->hop_link[h]] - 1];
        k->room -= s->hop_load[h] * level;
        k->load -= s->hop_load[h];
    }
}

static bool link_rises(const struct sc__flow_share *s, const struct local_link *k) {
    return k->load * 2 > s->least_load;
}

static double link_share(const struct local_link *k) {
    return k->room > 0 ? k->room / k->load : 0;
}

static void freeze_local_link(struct sc__flow_share *s, uint32_t link, double level) {
    struct sc__flow_local *l = s->local;
    const struct sc__flow_link *k = &s->links[l->links[link].link];
    l->links[link].frozen = level;
    for (uint32_t i = 0; i < k->count; i++) {
        uint32_t at = l->flow_at[k->list[i].flow];
        if (at && !l->flows[at - 1].frozen)
            freeze_local(s, at - 1, level, link);
    }
}

static void build_local_heap(struct sc__flow_share *s) {
    struct sc__flow_local *l = s->local;
    l->heap_count = 0;
    if (l->heap_room < l->link_count)
        l->heap =
            sc__grow(s->arena, l->heap, &l->heap_room, l->link_count, sizeof *l->heap);
    for (uint32_t i = 0; i < l->link_count; i++)
        if (link_rises(s, &l->links[i]))
            l->heap[l->heap_count++] =
                (struct sc__flow_top){sc__flow_key(link_share(&l->links[i])), i};
    for (uint32_t i = (l->heap_count + 2) / 4; i-- > 0;)
        sc__flow_sift_down(l->heap, l->heap_count, i);
}

/* The link at the top of the heap: its key is corrected, or it freezes. */
static void fill_local_top(struct sc__flow_share *s) {
    struct sc__flow_local *l = s->local;
    struct sc__flow_top *top = &l->heap[0];
    struct local_link *k = &l->links[top->link];
    bool rises = link_rises(s, k);
    uint64_t key = rises ? sc__flow_key(link_share(k)) : 0;
    if (key > top->key) {
        top->key = key;
    } else {
        uint32_t link = top->link;
        *top = l->heap[--l->heap_count];
        if (rises)
            freeze_local_link(s, link, link_share(k));
    }
    if (l->heap_count)
        sc__flow_sift_down(l->heap, l->heap_count, 0);
}

static const uint32_t *order_local_caps(struct sc__flow_share *s) {
    struct sc__flow_local *l = s->local;
    if (l->by_cap_room < l->flow_count)
        l->by_cap = sc__grow(s->arena,
                             l->by_cap,
                             &l->by_cap_room,
                             l->flow_count,
                             sizeof *l->by_cap);
    bool sorted = true;
    for (uint32_t i = 0; i < l->flow_count; i++) {
        l->by_cap[i] = i;
        sorted = sorted && (!i || l->flows[i - 1].cap <= l->flows[i].cap);
    }
    if (!sorted)
        sc__sort(l->by_cap, l->flow_count, sizeof *l->by_cap, compare_local_caps, l);
    return l->by_cap;
}

static void fill_local(struct sc__flow_share *s) {
    struct sc__flow_local *l = s->local;
    make_local_room(s);
    const uint32_t *capped = order_local_caps(s);
    const uint32_t *end = capped + l->flow_count;
    build_local_heap(s);
    for (;;) {
        while (capped < end && l->flows[*capped].frozen)
            capped++;
        if (capped == end)
            return;
        double cap = l->flows[*capped].cap;
        if (!l->heap_count || cap <= sc__flow_share_of_key(l->heap[0].key))
            freeze_local(s, *capped, cap, AT_CAP);
        else
            fill_local_top(s);
    }
}

/* ---- who has lost the certificate ---- */

static double level_now(const struct sc__flow_share *s, uint32_t id) {
    uint32_t at = s->local->flow_at[id];
    return at && at <= s->local->filled_flows ? s->local->flows[at - 1].level
                                              : s->level[id];
}

static double top_now(const struct sc__flow_share *s, uint32_t link) {
    const struct sc__flow_link *l = &s->links[link];
    double top = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        double level = level_now(s, l->list[i].flow);
        if (level > top)
            top = level;
    }
    return top;
}

/* Whether the link is full and has no level above the flow's. */
static bool is_bottleneck(struct sc__flow_share *s, uint32_t link, double level) {
    uint32_t at = s->local->link_at[link];
    if (!at || at > s->local->filled_links)
        return is_full(s, link, s->room[link][0]) && !is_above(top_now(s, link), level);
    struct local_link *k = &s->local->links[at - 1];
    if (!is_full(s, link, k->room))
        return false;
    if (k->top < 0)
        k->top = top_now(s, link);
    return !is_above(k->top, level);
}

static bool is_certified(struct sc__flow_share *s, uint32_t id) {
    const struct sc__flow_path *p = &s->path[id];
    double level = s->level[id];
    if (level >= s->flows[id].cap * (1 - SC__FLOW_SLACK))
        return true;
    for (uint32_t h = p->first; h < p->first + p->hops; h++)
        if (is_bottleneck(s, s->hop_link[h], level))
            return true;
    return false;
}

/* Flows of the link that are not solved yet, and must be. */
static void take_losers(struct sc__flow_share *s, uint32_t link) {
    struct sc__flow_local *l = s->local;
    const struct local_link k = l->links[link];
    const struct sc__flow_link *list = &s->links[k.link];
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t id = list->list[i].flow;
        if (l->flow_at[id])
            continue;
        bool lost = is_above(s->level[id], k.frozen);
        if (!lost && k.was_full && !is_above(k.was_top, s->level[id]))
            lost = !is_certified(s, id);
        if (lost)
            add_flow(s, id);
    }
}

/* False: nobody has lost it. */
static bool find_losers(struct sc__flow_share *s) {
    struct sc__flow_local *l = s->local;
    uint32_t before = l->flow_count;
    for (uint32_t i = 0; i < l->filled_links; i++)
        if (l->links[i].was_full || l->links[i].frozen < INFINITY)
            take_losers(s, i);
    return l->flow_count > before;
}

/* ---- the solution ---- */

static void commit(struct sc__flow_share *s) {
    const struct sc__flow_local *l = s->local;
    for (uint32_t i = 0; i < l->flow_count; i++) {
        const struct local_flow *f = &l->flows[i];
        double old = s->level[f->id];
        if (f->level == old)
            continue;
        double left = (s->ends.level[0][f->id] - s->now) * old;
        if (old == INFINITY)
            left = s->flows[f->id].work;
        if (left < 0)
            left = 0;
        double more = f->level - (old < INFINITY ? old : 0);
        sc__flow_spread(s, f->id, (sc__flow_pair){-more, 0});
        s->level[f->id] = f->level;
        sc__tree_set(&s->ends, f->id, s->now + left / f->level);
    }
    s->levels += l->flow_count;
}

static bool try_locally(struct sc__flow_share *s) {
    struct sc__flow_local *l = s->local;
    uint32_t most = MOST_FLOWS + 2 * s->rising_count;
    for (uint32_t i = 0; i < s->changed_count; i++)
        if (was_full(s, s->changed[i]))
            add_link(s, s->changed[i]);
    for (uint32_t i = 0; i < s->rising_count; i++)
        add_flow(s, s->rising[i]);
    for (unsigned round = 0; round < MOST_ROUNDS && l->flow_count <= most; round++) {
        fill_local(s);
        if (!find_losers(s)) {
            commit(s);
            return true;
        }
    }
    return false;
}

bool sc__flow_solve_locally(struct sc__flow_share *s) {
    struct sc__flow_local *l = local_of(s);
    if (l->wait) {
        l->wait--;
        return false;
    }
    bool done = try_locally(s);
    forget_all(l);
    l->next_wait = done ? 0 : l->next_wait < MOST_WAIT ? 2 * l->next_wait + 1 : MOST_WAIT;
    l->wait = l->next_wait;
    return done;
}
