/* Ports shared by claims: random traffic against a simulation that looks at every
 * transfer anew at every moment, and the work that very many transfers are. */
#include "network/analytic/port_sharing.h"

#include "test.h"
#include <math.h>

#include "context.h"

enum { PORTS = 7, BUNDLES = 24, TRANSFERS = 600, MOST_CLAIMS = 4 };

struct slow_transfer {
    const struct sc__port_claim *claims;
    uint32_t count;
    double left;
    double end;
    int64_t start;
    bool runs;
};

static uint64_t draw(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static double slow_rate(const struct slow_transfer *all, const struct slow_transfer *t) {
    double load[PORTS] = {0};
    double worst = 1;
    for (uint32_t i = 0; i < TRANSFERS; i++)
        for (uint32_t k = 0; all[i].runs && k < all[i].count; k++)
            load[all[i].claims[k].port] += all[i].claims[k].share;
    for (uint32_t k = 0; k < t->count; k++)
        worst = fmax(worst, load[t->claims[k].port]);
    return 1 / worst;
}

/* Ends are rounded up to whole picoseconds, and loads change then. */
static void simulate_slowly(struct slow_transfer *t) {
    double now = 0;
    double rate[TRANSFERS];
    uint32_t begun = 0;
    uint32_t running = 0;
    while (begun < TRANSFERS || running) {
        double next = begun < TRANSFERS ? (double)t[begun].start : INFINITY;
        uint32_t ends = UINT32_MAX;
        for (uint32_t i = 0; i < begun; i++) {
            if (!t[i].runs)
                continue;
            rate[i] = slow_rate(t, &t[i]);
            double end = now + t[i].left / rate[i];
            if (end < next) {
                next = end;
                ends = i;
            }
        }
        for (uint32_t i = 0; i < begun; i++)
            if (t[i].runs)
                t[i].left -= (next - now) * rate[i];
        now = next;
        if (ends == UINT32_MAX) {
            t[begun++].runs = true;
            running++;
        } else {
            t[ends].runs = false;
            t[ends].end = now;
            running--;
        }
    }
}

static uint32_t draw_claims(uint64_t *seed, struct sc__port_claim *claims) {
    uint32_t count = 0;
    for (uint64_t port = 0; port < PORTS && count < MOST_CLAIMS; port++)
        if (draw(seed) % 3 == 0)
            claims[count++] =
                (struct sc__port_claim){port, (double)(1 + draw(seed) % 8) / 8};
    return count;
}

static uint32_t
finish_until(struct sc__port_sharing *s, int64_t to, const struct slow_transfer *t) {
    uint32_t ended = 0;
    uint32_t user;
    for (int64_t now = sc__port_next(s); now <= to && now < INT64_MAX;
         now = sc__port_next(s))
        while (sc__port_end(s, now, &user)) {
            /* a picosecond of rounding for each change of rate */
            if (fabs((double)now - t[user].end) > TRANSFERS)
                fail_msg("transfer %u ends at %lld, not %.1f",
                         user,
                         (long long)now,
                         t[user].end);
            ended++;
        }
    return ended;
}

static void random_claims_against_brute_force(void **state) {
    static struct slow_transfer t[TRANSFERS];
    struct sc__port_claim claims[BUNDLES][MOST_CLAIMS];
    uint32_t count[BUNDLES];
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed;
        uint32_t which[TRANSFERS];
        int64_t work[TRANSFERS];
        int64_t now = 0;
        uint32_t ended = 0;
        memset(t, 0, sizeof t);
        for (uint32_t b = 0; b < BUNDLES; b++)
            count[b] = draw_claims(&random, claims[b]);
        for (uint32_t i = 0; i < TRANSFERS; i++) {
            which[i] = (uint32_t)(draw(&random) % BUNDLES);
            work[i] = (int64_t)(draw(&random) % 1000000000);
            now += draw(&random) % 4 ? (int64_t)(draw(&random) % 300000000) : 0;
            t[i] = (struct slow_transfer){.claims = claims[which[i]],
                                          .count = count[which[i]],
                                          .left = (double)work[i],
                                          .start = now};
        }
        simulate_slowly(t);
        struct sc__port_sharing *s = sc__port_sharing_new(&ctx->arena);
        for (uint32_t i = 0; i < TRANSFERS; i++) {
            ended += finish_until(s, t[i].start, t);
            uint32_t bundle = sc__port_bundle(s, claims[which[i]], count[which[i]]);
            sc__port_begin(s, bundle, work[i], i, t[i].start);
        }
        ended += finish_until(s, INT64_MAX - 1, t);
        assert_int_equal(ended, TRANSFERS);
        assert_true(sc__port_next(s) == INT64_MAX);
    }
}

enum { MANY = 200000 };

static int64_t end_all(struct sc__port_sharing *s) {
    uint32_t ended = 0;
    uint32_t user;
    int64_t last = 0;
    for (int64_t now; (now = sc__port_next(s)) < INT64_MAX; last = now)
        while (sc__port_end(s, now, &user))
            ended++;
    assert_int_equal(ended, MANY);
    return last;
}

/* Equal messages from one rank to another end when their bytes are through. */
static void many_on_one_port(void **state) {
    struct sc__port_claim claims[2] = {{1, 1}, {2, 1}};
    (void)state;
    struct sc__port_sharing *s = sc__port_sharing_new(&ctx->arena);
    uint32_t bundle = sc__port_bundle(s, claims, 2);
    for (uint32_t i = 0; i < MANY; i++)
        sc__port_begin(s, bundle, 1000 + i, i, 0);
    /* 1000 … 1000 + MANY - 1 ps of work, one port */
    double all = MANY * 1000.0 + 0.5 * MANY * (MANY - 1.0);
    assert_true(fabs((double)end_all(s) - all) < MANY);
    assert_true(sc__port_effort(s) < 6ull * MANY);
}

/* Very many senders to one receiver, each with a port of its own. */
static void incast(void **state) {
    (void)state;
    struct sc__port_sharing *s = sc__port_sharing_new(&ctx->arena);
    for (uint32_t i = 0; i < MANY; i++) {
        struct sc__port_claim claims[2] = {{10 + i, 1}, {1, 1}};
        sc__port_begin(s, sc__port_bundle(s, claims, 2), 1000 + i, i, 0);
    }
    double all = MANY * 1000.0 + 0.5 * MANY * (MANY - 1.0);
    assert_true(fabs((double)end_all(s) - all) < MANY);
    assert_true(sc__port_effort(s) < 6ull * MANY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_claims_against_brute_force),
        cmocka_unit_test(many_on_one_port),
        cmocka_unit_test(incast),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
