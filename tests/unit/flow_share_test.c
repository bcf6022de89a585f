/* Max-min sharing against a simulator that knows nothing but the definition:
 * progressive filling from zero after every event, in the plainest way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "network/flow/flow_batch.h"

#include <stdlib.h>
#include <string.h>

#define MOST_FLOWS 100
#define MOST_HOPS 6

struct plain_flow {
    struct sc__share_hop hop[MOST_HOPS];
    uint32_t hops;
    double weight;
    double bytes;
    double start;
    double cap;
    double finish;
    double left;
    double level;
    bool running;
    bool frozen;
};

struct plain {
    double capacity[128];
    uint32_t links;
    uint32_t flows;
    struct plain_flow flow[MOST_FLOWS];
};

static double rising_load(const struct plain *p, uint32_t link, double *residual) {
    double load = 0;
    *residual = p->capacity[link];
    for (uint32_t i = 0; i < p->flows; i++)
        for (uint32_t h = 0; p->flow[i].running && h < p->flow[i].hops; h++) {
            if (p->flow[i].hop[h].link != link)
                continue;
            if (p->flow[i].frozen)
                *residual -= p->flow[i].level * p->flow[i].hop[h].load;
            else
                load += p->flow[i].hop[h].load;
        }
    return load;
}

static bool crosses(const struct plain_flow *f, uint32_t link) {
    for (uint32_t h = 0; h < f->hops; h++)
        if (f->hop[h].link == link)
            return true;
    return false;
}

/* The lowest share of any link or cap freezes; false when all are frozen. */
static bool freeze_lowest(struct plain *p) {
    double least = INFINITY;
    double residual;
    uint32_t link = UINT32_MAX;
    uint32_t capped = UINT32_MAX;
    for (uint32_t l = 0; l < p->links; l++) {
        double load = rising_load(p, l, &residual);
        if (load > 1e-12 && residual / load < least) {
            least = residual / load;
            link = l;
        }
    }
    for (uint32_t i = 0; i < p->flows; i++)
        if (p->flow[i].running && !p->flow[i].frozen && p->flow[i].cap > 0 &&
            p->flow[i].cap < least) {
            least = p->flow[i].cap;
            link = UINT32_MAX;
            capped = i;
        }
    if (least == INFINITY)
        return false;
    for (uint32_t i = 0; i < p->flows; i++) {
        struct plain_flow *f = &p->flow[i];
        if (!f->running || f->frozen ||
            (link == UINT32_MAX ? i != capped : !crosses(f, link)))
            continue;
        f->frozen = true;
        f->level = least;
    }
    return true;
}

static void plain_solve(struct plain *p) {
    for (uint32_t i = 0; i < p->flows; i++)
        p->flow[i].frozen = false;
    while (freeze_lowest(p)) {
    }
}

static double plain_next(const struct plain *p, double now) {
    double next = INFINITY;
    for (uint32_t i = 0; i < p->flows; i++) {
        const struct plain_flow *f = &p->flow[i];
        if (f->running)
            next = fmin(next, now + f->left / (f->level * f->weight));
        else if (f->finish < 0)
            next = fmin(next, f->start);
    }
    return next;
}

static void plain_run(struct plain *p) {
    double now = 0;
    for (uint32_t i = 0; i < p->flows; i++)
        p->flow[i].finish = -1;
    for (;;) {
        for (uint32_t i = 0; i < p->flows; i++) {
            struct plain_flow *f = &p->flow[i];
            if (f->finish < 0 && !f->running && f->start <= now) {
                f->running = true;
                f->left = f->bytes;
            }
        }
        plain_solve(p);
        double next = plain_next(p, now);
        if (next == INFINITY)
            return;
        for (uint32_t i = 0; i < p->flows; i++) {
            struct plain_flow *f = &p->flow[i];
            if (!f->running)
                continue;
            f->left -= f->level * f->weight * (next - now);
            if (f->left > 1e-12 * f->bytes)
                continue;
            f->running = false;
            f->finish = next;
        }
        now = next;
    }
}

static void share_run(struct plain *p, double *finish) {
    struct sc__arena arena;
    sc__arena_init(&arena);
    struct sc__flow_share *s = sc__share_new(&arena, p->capacity, p->links);
    bool begun[MOST_FLOWS] = {0};
    for (double now = 0;;) {
        double start = INFINITY;
        double next;
        uint64_t user;
        for (uint32_t i = 0; i < p->flows; i++) {
            const struct plain_flow *f = &p->flow[i];
            if (begun[i] || f->start > now)
                continue;
            begun[i] = true;
            sc__share_add(
                s,
                &(struct sc__share_flow){f->hop, f->hops, f->weight, f->bytes, f->cap, i},
                now);
        }
        next = sc__share_next(s);
        assert_true(sc__share_certified(s));
        for (uint32_t i = 0; i < p->flows; i++)
            if (!begun[i])
                start = fmin(start, p->flow[i].start);
        if (next == INFINITY && start == INFINITY)
            break;
        now = fmin(next, start);
        while (now == next && sc__share_finish(s, now, &user))
            finish[user] = now;
    }
    sc__arena_free(&arena);
}

static uint32_t below(uint64_t *state, uint32_t n) {
    return (uint32_t)(sc__random(state) % n);
}

/* Hosts on a leaf–spine fabric of any oversubscription, or paths through
 * random links; sizes, starts, weights and caps at random. */
static void random_case(struct plain *p, uint64_t *state) {
    memset(p, 0, sizeof *p);
    bool tree = below(state, 2), weighted = below(state, 2), staggered = below(state, 2),
         equal = below(state, 3) == 0;
    uint32_t hosts = 2 + below(state, 31);
    uint32_t leaf = 1 + below(state, 8);
    uint32_t spines = 1 + below(state, 4);
    uint32_t leaves = (hosts + leaf - 1) / leaf;
    p->links = tree ? 2 * hosts + 2 * leaves * spines : 2 + below(state, 20);
    if (p->links > 128) {
        p->links = 128;
        tree = false;
    }
    for (uint32_t l = 0; l < p->links; l++)
        p->capacity[l] = below(state, 2) ? 50e9 : 1e9 * (1 + below(state, 100));
    p->flows = 1 + below(state, MOST_FLOWS);
    for (uint32_t i = 0; i < p->flows; i++) {
        struct plain_flow *f = &p->flow[i];
        f->weight = weighted ? 0.25 * (1 + below(state, 16)) : 1;
        f->bytes = equal ? 1e6 : 1 + below(state, 1 << 20);
        f->start = staggered ? 1e-6 * below(state, 40) : 0;
        f->cap = below(state, 8) ? 0 : 1e9 * (1 + below(state, 60));
        uint32_t from = below(state, hosts);
        uint32_t to = below(state, hosts);
        uint32_t s = below(state, spines);
        uint32_t path[4] = {from,
                            2 * hosts + from / leaf * spines + s,
                            2 * hosts + (leaves + to / leaf) * spines + s,
                            hosts + to};
        for (uint32_t h = 0; h < 4; h++) {
            uint32_t link = tree ? path[h] : below(state, p->links);
            if (crosses(f, link) ||
                (tree && from / leaf == to / leaf && (h == 1 || h == 2)))
                continue;
            double load = !tree && below(state, 4) == 0 ? 0.5 * (1 + below(state, 6)) : 1;
            f->hop[f->hops++] = (struct sc__share_hop){link, load * f->weight};
        }
    }
}

static void random_cases_equal_brute_force(void **unused) {
    (void)unused;
    uint64_t state = 20260;
    static struct plain p;
    for (int k = 0; k < 1200; k++) {
        double finish[MOST_FLOWS] = {0};
        random_case(&p, &state);
        plain_run(&p);
        share_run(&p, finish);
        for (uint32_t i = 0; i < p.flows; i++) {
            double off = fabs(finish[i] - p.flow[i].finish) / p.flow[i].finish;
            if (off > 1e-9)
                fail_msg("case %d flow %u of %u: %.15g, brute force %.15g",
                         k,
                         i,
                         p.flows,
                         finish[i],
                         p.flow[i].finish);
        }
    }
}

/* ---- fabrics ---- */

static double batch(struct sc_context *ctx,
                    const char *fabric,
                    const char *route,
                    struct sc__flow *flows,
                    uint32_t n) {
    struct sc__graph g;
    struct sc__route_policy policy;
    double last = 0;
    assert_int_equal(sc__route_parse(ctx, route, &policy), SC_OK);
    assert_int_equal(sc__graph_parse(ctx, fabric, 64, &g), SC_OK);
    assert_int_equal(sc__flow_batch(ctx, &g, &policy, flows, n, NULL), SC_OK);
    for (uint32_t i = 0; i < n; i++)
        last = fmax(last, flows[i].finish);
    return last;
}

static void assert_near(double x, double y) {
    if (fabs(x - y) > 1e-12 * fabs(y))
        fail_msg("%.17g is not %.17g", x, y);
}

/* A ring on aligned hosts is limited by the ports alone: bytes / capacity. */
static void ring_takes_port_time(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__flow flows[64];
    for (uint32_t i = 0; i < 64; i++)
        flows[i] = (struct sc__flow){i, (i + 1) % 64, 67108864, 0, 1, 0};
    assert_near(batch(ctx, "ls:8:8", "ecmp", flows, 64), 67108864 / 50e9);
    sc_close(ctx);
}

/* All-to-all with D-mod-k: every port carries n-1 flows at once. */
static void all_to_all_takes_n_minus_1_ports(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__flow *flows = SC__NEW_ARRAY(&ctx->arena, struct sc__flow, 64 * 63);
    uint32_t n = 0;
    for (uint32_t i = 0; i < 64; i++)
        for (uint32_t j = 0; j < 64; j++)
            if (i != j)
                flows[n++] = (struct sc__flow){i, j, 1048576, 0, 1, 0};
    assert_near(batch(ctx, "ls:8:8", "dmodk", flows, n), 63 * 1048576 / 50e9);
    sc_close(ctx);
}

/* Two flows of one leaf to hosts 8 and 16: D-mod-k sends both through spine 0,
 * where they halve. To 8 and 9 they go through different spines. Sprayed, each
 * uses an eighth of every uplink. */
static void collision_halves_the_rate(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__flow clash[2] = {{0, 8, 1e9, 0, 1, 0}, {1, 16, 1e9, 0, 1, 0}};
    struct sc__flow apart[2] = {{0, 8, 1e9, 0, 1, 0}, {1, 9, 1e9, 0, 1, 0}};
    assert_near(batch(ctx, "ls:8:8", "dmodk", clash, 2), 2e9 / 50e9);
    assert_near(batch(ctx, "ls:8:8", "dmodk", apart, 2), 1e9 / 50e9);
    assert_near(batch(ctx, "ls:8:8", "spray", clash, 2), 1e9 / 50e9);
    assert_near(batch(ctx, "ls:8:8", "adaptive", clash, 2), 1e9 / 50e9);
    sc_close(ctx);
}

/* Eight hosts of a leaf send to eight of another through two spines: 4 : 1. */
static void oversubscription_divides_by_4(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__flow flows[8];
    for (uint32_t i = 0; i < 8; i++)
        flows[i] = (struct sc__flow){i, 8 + i, 1e9, 0, 1, 0};
    assert_near(batch(ctx, "ls:8:2", "dmodk", flows, 8), 4e9 / 50e9);
    sc_close(ctx);
}

static void weights_divide_a_link(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    /* 3 : 1 on one port of 50 GB/s; when the first ends the other has all */
    struct sc__flow flows[2] = {{0, 1, 37.5e9, 0, 3, 0}, {0, 2, 50e9, 0, 1, 0}};
    assert_near(batch(ctx, "ls:8:8", "dmodk", flows, 2), 1.75);
    assert_near(flows[0].finish, 1);
    sc_close(ctx);
}

static void failed_and_degraded_links(void **unused) {
    (void)unused;
    struct sc_context *ctx = sc_open();
    struct sc__graph g;
    struct sc__route_policy policy;
    struct sc__flow flow = {0, 8, 1e9, 0, 1, 0};
    assert_int_equal(sc__route_parse(ctx, "dmodk", &policy), SC_OK);
    assert_int_equal(sc__graph_parse(ctx, "ls:8:2", 16, &g), SC_OK);
    assert_int_equal(sc__graph_degrade(ctx, &g, "leaf0-spine0", 0.5), SC_OK);
    assert_int_equal(sc__flow_batch(ctx, &g, &policy, &flow, 1, NULL), SC_OK);
    assert_near(flow.finish, 2e9 / 50e9);
    assert_int_equal(sc__graph_fail(ctx, &g, "leaf0-spine0"), SC_OK);
    assert_int_equal(sc__flow_batch(ctx, &g, &policy, &flow, 1, NULL), SC_OK);
    assert_near(flow.finish, 1e9 / 50e9);
    assert_int_equal(sc__graph_fail(ctx, &g, "leaf0-spine1"), SC_OK);
    assert_int_equal(sc__flow_batch(ctx, &g, &policy, &flow, 1, NULL), SC_INPUT);
    assert_int_equal(sc__graph_fail(ctx, &g, "leaf9-spine1"), SC_USAGE);
    assert_int_equal(sc__graph_degrade(ctx, &g, "leaf1-spine1", 0), SC_USAGE);
    sc_close(ctx);
}

static void bad_fabrics_are_refused(void **unused) {
    (void)unused;
    static const char *const bad[] = {"ls:8",
                                      "ls:0:8",
                                      "ls:8:8:8:8",
                                      "ls:x:8",
                                      "ft3:1:1:1",
                                      "ls:8:-1",
                                      "ls:8:8 ",
                                      "ls:16777217:1",
                                      "ls:99999999999:1",
                                      "ls:1:16777216",
                                      "ls:"};
    struct sc_context *ctx = sc_open();
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__graph g;
        if (sc__graph_parse(ctx, bad[i], 64, &g) == SC_OK)
            fail_msg("'%s' was accepted", bad[i]);
    }
    static const char *const routes[] = {"", "ecmp:", "ecmp:x", "dmodk:1", "shortest"};
    for (unsigned i = 0; i < sizeof routes / sizeof *routes; i++) {
        struct sc__route_policy p;
        if (sc__route_parse(ctx, routes[i], &p) == SC_OK)
            fail_msg("route '%s' was accepted", routes[i]);
    }
    sc_close(ctx);
}

/* Thousands of flows that are all connected, and end one by one: each end changes
 * a few levels, whatever else runs, and the result is max-min fair every time. */
static void changes_stay_local(void **state) {
    enum { LINKS = 4000, FLOWS = 3000 };
    static double capacity[LINKS];
    static struct sc__share_hop hops[FLOWS][3];
    sc_context *ctx = sc_open();
    uint64_t solves;
    uint64_t levels;
    uint64_t user;
    (void)state;
    srand(5);
    for (uint32_t i = 0; i < LINKS; i++)
        capacity[i] = 1;
    struct sc__flow_share *s = sc__share_new(&ctx->arena, capacity, LINKS);
    for (uint32_t f = 0; f < FLOWS; f++) {
        for (uint32_t h = 0; h < 3; h++) /* of three thirds: no link twice */
            hops[f][h] =
                (struct sc__share_hop){(uint32_t)rand() % (LINKS / 3) + h * (LINKS / 3), 1};
        sc__share_add(s,
                      &(struct sc__share_flow){.hops = hops[f],
                                               .count = 3,
                                               .weight = 1,
                                               .bytes = 1 + rand() % 100000 * 1e-3,
                                               .user = f},
                      0);
    }
    uint32_t ended = 0;
    for (double now; (now = sc__share_next(s)) < INFINITY;) {
        if (ended % 100 == 0)
            assert_true(sc__share_certified(s));
        while (sc__share_finish(s, now, &user))
            ended++;
    }
    assert_int_equal(ended, FLOWS);
    sc__share_effort(s, &solves, &levels);
    assert_true(solves > FLOWS / 2 && levels < 100 * solves);
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_stay_local),
        cmocka_unit_test(random_cases_equal_brute_force),
        cmocka_unit_test(ring_takes_port_time),
        cmocka_unit_test(all_to_all_takes_n_minus_1_ports),
        cmocka_unit_test(collision_halves_the_rate),
        cmocka_unit_test(oversubscription_divides_by_4),
        cmocka_unit_test(weights_divide_a_link),
        cmocka_unit_test(failed_and_degraded_links),
        cmocka_unit_test(bad_fabrics_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
