/* Flows that come and go, each started by the end of another or at a time of
 * its own, over long stretches: against a simulator that fills all links anew
 * after every event. Sizes, rates and delays are small whole numbers, so that
 * many flows end and begin at the very same time. */
#include "test.h"

#include "network/flow/flow_batch.h"

enum { LINKS = 24, LINES = 24, HOPS = 5 };

struct kind { /* of traffic */
    uint32_t links;
    uint32_t lines;
    uint32_t each;
    bool weights;
    bool caps;
    bool odd;
    bool equal;
    bool pauses;
};

struct line { /* flows that follow each other */
    struct sc__share_flow flow;
    struct sc__share_hop hop[HOPS];
    uint32_t next; /* number of the one that runs or comes */
    bool runs;
    double start;
    double left;
    double level;
};

struct traffic {
    struct kind kind;
    uint64_t seed;
    double capacity[LINKS];
    struct line line[LINES];
};

static uint32_t below(uint64_t *state, uint32_t n) {
    return (uint32_t)(sc__random(state) % n);
}

/* The next flow of a line depends on its number alone. */
static void draw_flow(struct traffic *t, uint32_t i, double now) {
    struct line *l = &t->line[i];
    const struct kind *k = &t->kind;
    uint64_t state = t->seed * 1000003 + (uint64_t)i * 1000000 + l->next;
    double weight = k->weights ? 0.5 * (1 + below(&state, 4)) : 1;
    l->flow = (struct sc__share_flow){.hops = l->hop, .weight = weight, .user = i};
    for (uint32_t h = 1 + below(&state, HOPS); h--;) {
        uint32_t link = below(&state, k->links);
        uint32_t seen = 0;
        for (uint32_t j = 0; j < l->flow.count; j++)
            seen |= l->hop[j].link == link;
        if (!seen)
            l->hop[l->flow.count++] = (struct sc__share_hop){link, weight};
    }
    double size = k->odd     ? 1 + 7 * sc__random_unit(&state)
                  : k->equal ? 4
                             : (double)(1u << below(&state, 4));
    l->flow.bytes = size * weight;
    if (k->caps && !below(&state, 3))
        l->flow.cap = 0.25 * (1 + below(&state, 8));
    l->start = now + (k->pauses ? below(&state, 3) : 0);
    l->left = size;
}

static void draw_traffic(struct traffic *t, const struct kind *kind, uint64_t seed) {
    *t = (struct traffic){.kind = *kind, .seed = seed};
    for (uint32_t i = 0; i < kind->links; i++)
        t->capacity[i] = 1u << below(&seed, 4);
    for (uint32_t i = 0; i < kind->lines; i++)
        draw_flow(t, i, 0);
}

/* ---- from scratch ---- */

static void fill_all(struct traffic *t) {
    bool frozen[LINES] = {0};
    for (;;) {
        double room[LINKS];
        double load[LINKS] = {0};
        double least = INFINITY;
        memcpy(room, t->capacity, sizeof room);
        for (uint32_t i = 0; i < t->kind.lines; i++)
            for (uint32_t h = 0; t->line[i].runs && h < t->line[i].flow.count; h++)
                if (frozen[i])
                    room[t->line[i].hop[h].link] -=
                        t->line[i].hop[h].load * t->line[i].level;
                else
                    load[t->line[i].hop[h].link] += t->line[i].hop[h].load;
        for (uint32_t j = 0; j < t->kind.links; j++)
            if (load[j] > 0)
                least = fmin(least, room[j] / load[j]);
        for (uint32_t i = 0; i < t->kind.lines; i++)
            if (t->line[i].runs && !frozen[i] && t->line[i].flow.cap > 0)
                least = fmin(least, t->line[i].flow.cap);
        if (least == INFINITY)
            return;
        for (uint32_t i = 0; i < t->kind.lines; i++) {
            bool full = t->line[i].flow.cap > 0 && t->line[i].flow.cap <= least;
            for (uint32_t h = 0; h < t->line[i].flow.count; h++) {
                uint32_t j = t->line[i].hop[h].link;
                full |= load[j] > 0 && room[j] / load[j] <= least * (1 + 1e-12);
            }
            if (!t->line[i].runs || frozen[i] || !full)
                continue;
            frozen[i] = true;
            t->line[i].level = least;
        }
    }
}

static void run_plain(struct traffic *t, double *begin, double *end) {
    for (double now = 0;;) {
        double next = INFINITY;
        fill_all(t);
        for (uint32_t i = 0; i < t->kind.lines; i++) {
            struct line *l = &t->line[i];
            if (l->next < t->kind.each)
                next = fmin(next, l->runs ? now + l->left / l->level : l->start);
        }
        if (next == INFINITY)
            return;
        for (uint32_t i = 0; i < t->kind.lines; i++) {
            struct line *l = &t->line[i];
            if (l->next == t->kind.each)
                continue;
            bool ends = l->runs && now + l->left / l->level <= next * (1 + 1e-13);
            if (l->runs)
                l->left -= (next - now) * l->level;
            if (ends) {
                end[i * t->kind.each + l->next++] = next;
                l->runs = false;
                if (l->next < t->kind.each)
                    draw_flow(t, i, next);
            }
            if (l->runs || l->next == t->kind.each || l->start > next * (1 + 1e-13))
                continue;
            l->runs = true;
            begin[i * t->kind.each + l->next] = next;
        }
        now = next;
    }
}

/* ---- the same through flow_share ---- */

static void begin_due(struct traffic *t, struct sc__flow_share *s, double now) {
    for (uint32_t i = 0; i < t->kind.lines; i++) {
        struct line *l = &t->line[i];
        if (l->runs || l->next == t->kind.each || l->start > now * (1 + 1e-13))
            continue;
        l->runs = true;
        sc__share_add(s, &l->flow, now);
    }
}

static double next_start(const struct traffic *t) {
    double next = INFINITY;
    for (uint32_t i = 0; i < t->kind.lines; i++)
        if (!t->line[i].runs && t->line[i].next < t->kind.each)
            next = fmin(next, t->line[i].start);
    return next;
}

/* begins: when flows begin, so that rounding does not grow from one to the
 * next; NULL: as the ones before them end. */
static void run_share(struct traffic *t, const double *begins, double *end) {
    struct sc__arena arena;
    sc__arena_init(&arena);
    struct sc__flow_share *s = sc__share_new(&arena, t->capacity, t->kind.links);
    for (double now = 0;;) {
        uint64_t user;
        begin_due(t, s, now);
        double next = sc__share_next(s);
        double start = next_start(t);
        now = next <= start * (1 + 1e-13) ? next : start;
        if (now == INFINITY)
            break;
        while (now == next && sc__share_finish(s, now, &user)) {
            struct line *l = &t->line[user];
            end[user * t->kind.each + l->next++] = now;
            l->runs = false;
            if (l->next == t->kind.each)
                continue;
            draw_flow(t, (uint32_t)user, now);
            if (begins)
                l->start = begins[user * t->kind.each + l->next];
        }
    }
    assert_int_equal(sc__share_flows(s), 0);
    sc__arena_free(&arena);
}

static void compare(const struct kind *kind, uint64_t seed, bool given) {
    static struct traffic t;
    uint32_t flows = kind->lines * kind->each;
    double *want = calloc(flows, sizeof *want);
    double *got = calloc(flows, sizeof *got);
    double *begins = calloc(flows, sizeof *begins);
    draw_traffic(&t, kind, seed);
    run_plain(&t, begins, want);
    draw_traffic(&t, kind, seed);
    run_share(&t, given ? begins : NULL, got);
    for (uint32_t i = 0; i < flows; i++)
        if (fabs(got[i] - want[i]) > 1e-9 * want[i])
            fail_msg("seed %llu, flow %u of line %u: %.15g, from scratch %.15g",
                     (unsigned long long)seed,
                     i % kind->each,
                     i / kind->each,
                     got[i],
                     want[i]);
    free(want);
    free(got);
    free(begins);
}

static struct kind random_kind(uint64_t *state, uint32_t each) {
    return (struct kind){.links = 1 + below(state, LINKS),
                         .lines = 1 + below(state, LINES),
                         .each = each,
                         .weights = below(state, 2),
                         .caps = below(state, 2),
                         .odd = below(state, 4) == 0,
                         .equal = below(state, 2),
                         .pauses = below(state, 2)};
}

static void short_traffic(void **unused) {
    (void)unused;
    uint64_t state = 4711;
    for (uint64_t k = 0; k < 1500; k++) {
        struct kind kind = random_kind(&state, 12);
        compare(&kind, k, k % 2);
    }
}

static void long_traffic(void **unused) {
    (void)unused;
    uint64_t state = 815;
    for (uint64_t k = 0; k < 4; k++) {
        struct kind kind = random_kind(&state, 1000);
        kind.lines = 10 + (uint32_t)k;
        compare(&kind, 9000 + k, true);
    }
}

/* A flow that begins as another of the same size ends is not of that one's
 * age: 0 → 1 and 2 → 1 share port 1, a third joins at 1 s, and has the port to
 * itself from 2.5 s on. */
static void a_flow_that_follows_another(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__graph g;
    struct sc__route_policy policy;
    struct sc__flow flow[] = {{0, 1, 50e9, 0, 1, 0},
                              {2, 1, 50e9, 0, 1, 0},
                              {3, 4, 50e9, 0, 1, 0},
                              {5, 1, 50e9, 1, 1, 0}};
    double want[] = {2.5, 2.5, 1, 3};
    assert_int_equal(sc__route_parse(ctx, "dmodk", &policy), SC_OK);
    assert_int_equal(sc__graph_parse(ctx, "ls:8:8", 8, &g), SC_OK);
    assert_int_equal(sc__flow_batch(ctx, &g, &policy, flow, 4, NULL), SC_OK);
    for (int i = 0; i < 4; i++)
        if (fabs(flow[i].finish - want[i]) > 1e-9)
            fail_msg("flow %d: %.12g, not %g", i, flow[i].finish, want[i]);
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_flow_that_follows_another),
                                       cmocka_unit_test(short_traffic),
                                       cmocka_unit_test(long_traffic)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
