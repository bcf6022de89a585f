/* Transfers that begin alone and are joined later: by hand, and against one
 * sharing that holds every flow from its beginning. */
#include "network/flow/flow_live.h"

#include "test.h"

#include "context.h"

#define MOST 24u  /* transfers */
#define LINKS 12u /* of a random network */
#define FLOWS 4u  /* of a transfer, at most */
#define HOPS 3u

/* Patterns as a quotient has them; nothing is alike here. */
static struct sc__quotient network(uint32_t links, uint32_t patterns) {
    struct sc__quotient q = {.links = links};
    uint32_t flows = patterns * FLOWS;
    uint32_t hops = flows * HOPS;
    q.capacity = SC__NEW_ARRAY(&ctx->arena, double, links);
    q.pattern = SC__NEW_ARRAY(&ctx->arena, uint32_t, patterns + 1);
    q.reach_first = SC__NEW_ARRAY(&ctx->arena, uint32_t, patterns + 1);
    q.flows = SC__NEW_ARRAY(&ctx->arena, struct sc__quotient_flow, flows);
    q.hops = SC__NEW_ARRAY(&ctx->arena, struct sc__share_hop, hops);
    q.reach = SC__NEW_ARRAY(&ctx->arena, struct sc__reach, hops);
    return q;
}

/* A flow of the last pattern over `hops` links from `first` on, load 1. */
static void add_flow(struct sc__quotient *q,
                     uint32_t pattern,
                     uint32_t first,
                     uint32_t hops,
                     double volume) {
    uint32_t id = q->pattern[pattern + 1]++;
    uint32_t at = id ? q->flows[id - 1].first + q->flows[id - 1].count : 0;
    q->flows[id] = (struct sc__quotient_flow){at, hops, volume};
    for (uint32_t h = 0; h < hops; h++) {
        uint32_t link = (first + h) % q->links;
        uint32_t r = q->reach_first[pattern];
        q->hops[at + h] = (struct sc__share_hop){link, 1};
        while (r < q->reach_first[pattern + 1] && q->reach[r].link != link)
            r++;
        if (r == q->reach_first[pattern + 1])
            q->reach[q->reach_first[pattern + 1]++].link = link;
        q->reach[r].volume += volume;
    }
}

struct planned {
    struct sc__burden burden;
    int64_t begin;
    int64_t end;
    int64_t alone;
};

/* Begins and ends in the order of time. */
static void run_live(const struct sc__quotient *q, struct planned *t, uint32_t count) {
    struct sc__live *l = sc__live_new(&ctx->arena, q);
    for (uint32_t begun = 0, ended = 0, id; ended < count;) {
        int64_t next = sc__live_next(l);
        int64_t begin = begun < count ? t[begun].begin : INT64_MAX;
        int64_t now = next < begin ? next : begin;
        assert_true(now < INT64_MAX);
        for (; sc__live_end(l, now, &id); ended++)
            t[id].end = now;
        for (; begun < count && t[begun].begin == now; begun++)
            sc__live_begin(l, begun, &t[begun].burden, t[begun].alone, now);
    }
    assert_true(sc__live_next(l) == INT64_MAX);
}

/* A 1 GB from 0 s, B 1 GB from 0.01 s over one link of 50 GB/s. A has half of
 * its bytes left when B comes; both get 25 GB/s until A ends at 0.03 s; B's
 * second half takes 0.01 s. C on another link runs for itself. */
static void joined_by_hand(void **state) {
    (void)state;
    struct sc__quotient q = network(2, 3);
    q.capacity[0] = q.capacity[1] = 50e9;
    for (uint32_t p = 0; p < 3; p++) {
        q.pattern[p + 1] = q.pattern[p];
        q.reach_first[p + 1] = q.reach_first[p];
        add_flow(&q, p, p == 2, 1, 1);
    }
    int64_t ms = SC__PS_PER_S / 1000;
    struct planned t[3] = {{{0, 1e9, 0.02}, 0, 0, 20 * ms},
                           {{2, 1e9, 0.02}, 5 * ms, 0, 20 * ms},
                           {{1, 1e9, 0.02}, 10 * ms, 0, 20 * ms}};
    run_live(&q, t, 3);
    assert_true(t[0].end == 30 * ms && t[1].end == 25 * ms && t[2].end == 40 * ms);
}

/* One sharing with every flow in it from the beginning. */
static void run_shared(const struct sc__quotient *q, struct planned *t, uint32_t count) {
    struct sc__flow_share *s = sc__share_new(&ctx->arena, q->capacity, q->links);
    for (uint32_t begun = 0; begun < count || sc__share_flows(s);) {
        double next = sc__share_next(s);
        double begin = begun < count ? (double)t[begun].begin * 1e-12 : INFINITY;
        uint64_t user;
        if (next <= begin)
            while (sc__share_finish(s, next, &user))
                t[user].end = (int64_t)ceil(next * 1e12 - 1e-3);
        for (; next > begin && begun < count && (double)t[begun].begin * 1e-12 == begin;
             begun++)
            for (uint32_t f = q->pattern[begun]; f < q->pattern[begun + 1]; f++) {
                double volume = q->flows[f].volume * t[begun].burden.bytes;
                sc__share_add(
                    s,
                    &(struct sc__share_flow){.hops = q->hops + q->flows[f].first,
                                             .count = q->flows[f].count,
                                             .weight = 1,
                                             .bytes = volume,
                                             .cap = volume / t[begun].burden.seconds,
                                             .user = begun},
                    begin);
            }
    }
}

static void random_network(uint64_t *seed, struct sc__quotient *q, struct planned *t) {
    int64_t now = 0;
    for (uint32_t i = 0; i < LINKS; i++)
        q->capacity[i] = (double)(1 + sc__random(seed) % 4) * 25e9;
    for (uint32_t p = 0; p < MOST; p++) {
        q->pattern[p + 1] = q->pattern[p];
        q->reach_first[p + 1] = q->reach_first[p];
        for (uint64_t f = 0, flows = 1 + sc__random(seed) % FLOWS; f < flows; f++)
            add_flow(q,
                     p,
                     (uint32_t)(sc__random(seed) % LINKS),
                     (uint32_t)(1 + sc__random(seed) % HOPS),
                     (double)(1 + sc__random(seed) % 3));
        now += (int64_t)(sc__random(seed) % 30) * SC__PS_PER_US;
        t[p] =
            (struct planned){.burden = {p, (double)(1 + sc__random(seed) % 1000) * 1e3, 0},
                             .begin = now};
        t[p].burden.seconds =
            t[p].burden.bytes / ((double)(5 + sc__random(seed) % 40) * 1e9);
        t[p].alone = (int64_t)ceil(sc__live_alone(q, &t[p].burden) * 1e12 - 1e-3);
    }
}

static void joined_as_if_shared(void **state) {
    uint64_t seed = 41;
    uint64_t met = 0;
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct sc__quotient q = network(LINKS, MOST);
        struct planned live[MOST];
        struct planned shared[MOST];
        random_network(&seed, &q, live);
        memcpy(shared, live, sizeof live);
        run_live(&q, live, MOST);
        run_shared(&q, shared, MOST);
        for (uint32_t i = 0; i < MOST; i++) {
            met += live[i].end > live[i].begin + live[i].alone;
            if (llabs(live[i].end - shared[i].end) > 10)
                fail_msg("round %d, transfer %u: ends at %.6f us, shared from the "
                         "beginning %.6f us",
                         round,
                         i,
                         sc__us(live[i].end),
                         sc__us(shared[i].end));
        }
    }
    assert_true(met > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(joined_by_hand),
                                       cmocka_unit_test(joined_as_if_shared)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
