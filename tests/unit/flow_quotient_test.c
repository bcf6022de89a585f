/* Sharing among kinds of flows on kinds of links is sharing among all flows
 * on all links: random collectives on groups that lie unevenly on random
 * fabrics, hashed onto paths that collide, begun at random times. */
#include "test.h"

#include "network/flow/flow_live.h"

enum { PATTERNS = 6, RUNS = 24 };

static struct sc_context *ctx;

struct run { /* one transfer */
    uint32_t pattern;
    /* limit: seconds it takes at least */
    double bytes;
    double limit;
    double start;
    double end;
};

struct lot {
    struct sc__cluster cluster;
    struct sc__graph graph;
    struct sc__route_policy route;
    struct sc__pattern_builder builder;
    struct sc__pattern pattern[PATTERNS];
    struct run run[RUNS];
};

static uint32_t below(uint64_t *state, uint32_t n) {
    return (uint32_t)(sc__random(state) % n);
}

static const char *random_cluster(uint64_t *state) {
    uint32_t node = 1u << below(state, 3);
    uint32_t nodes = 4 + below(state, 8);
    uint32_t leaf = 2 + below(state, 3);
    const char *fabric = below(state, 2) ? "rail" : "fat-tree";
    return sc__format(&ctx->arena,
                      "gpus=%u node=%u nvlink=200GB/s nics=%u nic=50GB/s fabric=%s leaf=%u "
                      "oversubscription=%u",
                      node * nodes,
                      node,
                      node,
                      fabric,
                      leaf,
                      1 + below(state, 2));
}

/* Any GPUs, in order; or all. */
static uint32_t random_group(uint64_t *state, uint32_t gpus, uint32_t *gpu) {
    uint32_t n = 0;
    for (uint32_t percent = below(state, 2) ? 100 : 15 + below(state, 85), i = 0; i < gpus;
         i++)
        if (below(state, 100) < percent || i + 2 > gpus + n)
            gpu[n++] = i;
    return n;
}

static void random_pattern(struct lot *l, uint64_t *state, struct sc__pattern *p) {
    static const struct {
        int coll;
        enum sc__algo algo;
    } kinds[] = {{SC__ALLREDUCE, SC__ALGO_RING},
                 {SC__ALLREDUCE, SC__ALGO_TREE},
                 {SC__ALLGATHER, SC__ALGO_RING},
                 {SC__ALLTOALL, SC__ALGO_DIRECT},
                 {SC__ALLTOALL, SC__ALGO_PXN},
                 {SC__BROADCAST, SC__ALGO_RING},
                 {SC__REDUCESCATTER, SC__ALGO_RING}};
    uint32_t gpu[64];
    uint32_t kind = below(state, 8);
    uint32_t gpus = l->cluster.gpus;
    for (uint32_t groups = 1 + below(state, 2); groups--;) {
        if (kind == 7) {
            uint32_t from = below(state, gpus);
            uint32_t to = (from + 1 + below(state, gpus - 1)) % gpus;
            assert_int_equal(sc__pattern_message(&l->builder, p, from, to), SC_OK);
            continue;
        }
        uint32_t n = random_group(state, gpus, gpu);
        assert_int_equal(sc__pattern_collective(&l->builder,
                                                p,
                                                kinds[kind].coll,
                                                kinds[kind].algo,
                                                gpu,
                                                n,
                                                gpu[0]),
                         SC_OK);
    }
    assert_int_equal(sc__pattern_close(&l->builder, p), SC_OK);
}

static void random_lot(struct lot *l, uint64_t *state) {
    static const enum sc__route_kind ways[] = {SC__ROUTE_ECMP,
                                               SC__ROUTE_DMODK,
                                               SC__ROUTE_SPRAY};
    memset(l, 0, sizeof *l);
    const char *text = random_cluster(state);
    if (sc__cluster_parse(ctx, text, 0, &l->cluster) ||
        sc__cluster_graph(ctx, &l->cluster, &l->graph))
        fail_msg("%s: %s", text, sc_error_text(ctx));
    l->route = (struct sc__route_policy){ways[below(state, 3)], sc__random(state)};
    sc__pattern_builder_init(ctx, &l->cluster, &l->graph, &l->route, &l->builder);
    for (uint32_t i = 0; i < PATTERNS; i++)
        random_pattern(l, state, &l->pattern[i]);
    for (uint32_t i = 0; i < RUNS; i++) {
        double bytes = 1e6 * (1 + below(state, 64));
        l->run[i] = (struct run){below(state, PATTERNS),
                                 bytes,
                                 bytes / (below(state, 2) ? 40e9 : 1e12),
                                 2e-5 * below(state, 200),
                                 0};
    }
}

/* ---- both ways ---- */

static void
add_whole(struct sc__flow_share *s, const struct lot *l, uint32_t run, double now) {
    const struct run *r = &l->run[run];
    const struct sc__pattern *p = &l->pattern[r->pattern];
    for (uint32_t f = 0; f < p->flow_count; f++) {
        double volume = p->flows[f].volume * r->bytes;
        struct sc__share_flow flow = {p->hops + p->flows[f].first,
                                      p->flows[f].count,
                                      1,
                                      volume,
                                      volume / r->limit,
                                      run};
        sc__share_add(s, &flow, now);
    }
}

static void add_kinds(struct sc__flow_share *s,
                      const struct sc__quotient *q,
                      const struct lot *l,
                      uint32_t run,
                      double now) {
    const struct run *r = &l->run[run];
    for (uint32_t f = q->pattern[r->pattern]; f < q->pattern[r->pattern + 1]; f++) {
        double volume = q->flows[f].volume * r->bytes;
        struct sc__share_flow flow = {q->hops + q->flows[f].first,
                                      q->flows[f].count,
                                      1,
                                      volume,
                                      volume / r->limit,
                                      run};
        sc__share_add(s, &flow, now);
    }
}

static void share(struct lot *l, const struct sc__quotient *q, double *end) {
    struct sc__flow_share *s =
        q ? sc__share_new(&ctx->arena, q->capacity, q->links)
          : sc__share_new(&ctx->arena, l->graph.capacity, l->graph.links);
    bool begun[RUNS] = {0};
    for (;;) {
        double next = sc__share_next(s);
        double start = INFINITY;
        uint64_t user;
        for (uint32_t i = 0; i < RUNS; i++)
            if (!begun[i])
                start = fmin(start, l->run[i].start);
        if (next == INFINITY && start == INFINITY)
            return;
        while (next <= start && sc__share_finish(s, next, &user))
            end[user] = next;
        for (uint32_t i = 0; next > start && i < RUNS; i++) {
            if (begun[i] || l->run[i].start > start)
                continue;
            begun[i] = true;
            if (q)
                add_kinds(s, q, l, i, start);
            else
                add_whole(s, l, i, start);
        }
    }
}

/* Through the list of those that move: alone ones are not shared out at all,
 * and numbers are used again. */
static void live(struct lot *l, const struct sc__quotient *q, double *end) {
    struct sc__live *live = sc__live_new(&ctx->arena, q);
    uint32_t run_of[RUNS];
    uint32_t id;
    uint32_t begun = 0;
    bool used[RUNS] = {0}, seen[RUNS] = {0};
    for (;;) {
        int64_t next = sc__live_next(live);
        int64_t start = INT64_MAX;
        for (uint32_t i = 0; i < RUNS; i++)
            if (!seen[i] && llround(l->run[i].start * 1e12) < start)
                start = llround(l->run[i].start * 1e12);
        if (next == INT64_MAX && start == INT64_MAX)
            break;
        while (next <= start && sc__live_end(live, next, &id)) {
            end[run_of[id]] = (double)next * 1e-12;
            used[id] = false;
        }
        for (uint32_t i = 0; next > start && i < RUNS; i++) {
            const struct run *r = &l->run[i];
            if (seen[i] || llround(r->start * 1e12) != start)
                continue;
            struct sc__burden b = {r->pattern, r->bytes, r->limit};
            for (id = 0; used[id];)
                id++;
            used[id] = seen[i] = true;
            run_of[id] = i;
            begun++;
            sc__live_begin(live,
                           id,
                           &b,
                           (int64_t)ceil(sc__live_alone(q, &b) * 1e12 - 1e-3),
                           start);
        }
    }
    assert_int_equal(begun, RUNS);
}

static void same_ends(int number, const char *how, const double *got, const double *want) {
    for (uint32_t i = 0; i < RUNS; i++)
        if (want[i] > 0 && fabs(got[i] - want[i]) > 1e-9 * want[i] + 3e-12)
            fail_msg("case %d, transfer %u %s: %.12g s, with every flow %.12g s",
                     number,
                     i,
                     how,
                     got[i],
                     want[i]);
}

static void kinds_share_as_all_do(void **unused) {
    (void)unused;
    uint64_t state = 31;
    uint64_t fewer = 0;
    static struct lot l;
    for (int k = 0; k < 120; k++) {
        double want[RUNS] = {0};
        double kinds[RUNS] = {0};
        double moving[RUNS] = {0};
        const struct sc__pattern *list[PATTERNS];
        uint32_t flows = 0;
        ctx = sc_open();
        random_lot(&l, &state);
        for (uint32_t i = 0; i < PATTERNS; i++) {
            list[i] = &l.pattern[i];
            flows += l.pattern[i].flow_count;
        }
        struct sc__quotient *q = sc__quotient_make(&l.builder, list, PATTERNS);
        fewer += q->pattern[PATTERNS] < flows;
        share(&l, NULL, want);
        share(&l, q, kinds);
        live(&l, q, moving);
        same_ends(k, "by kinds", kinds, want);
        same_ends(k, "among those that move", moving, want);
        sc_close(ctx);
    }
    assert_true(fewer > 50); /* there was something to reduce */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_share_as_all_do)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
