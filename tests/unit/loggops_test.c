/* LogGOPS messages against their definition (docs/formats/goal.md): every NIC
 * is a line, out in the order of asking, in in the order of coming. */
#include "test.h"

#include "engine_helpers.h"

enum { MESSAGES = 300, RANKS = 4, NICS = 2 };

struct message {
    uint32_t from;
    uint32_t to;
    uint32_t nic;
    uint64_t bytes;
    int64_t asked;
    int64_t left;
    int64_t came;
    int64_t end;
};

struct figures {
    int64_t L;
    int64_t g;
    double G;
    uint64_t S;
};

static uint32_t below(uint64_t *seed, uint32_t n) {
    return (uint32_t)(sc__random(seed) % n);
}

static int64_t wire(const struct figures *f, const struct message *m) {
    return llround((double)(m->bytes - 1) * f->G);
}

static int sooner(const void *a, const void *b) {
    const struct message *x = *(struct message *const *)a;
    const struct message *y = *(struct message *const *)b;
    if (x->came != y->came)
        return x->came < y->came ? -1 : 1;
    return x->left != y->left ? (x->left < y->left ? -1 : 1) : (x > y) - (x < y);
}

static void by_definition(const struct figures *f, struct message *m) {
    int64_t out[RANKS][NICS] = {{0}};
    int64_t in[RANKS][NICS] = {{0}};
    struct message *order[MESSAGES];
    for (uint32_t i = 0; i < MESSAGES; i++) { /* asked in this order */
        int64_t *free = &out[m[i].from][m[i].nic];
        m[i].left = m[i].asked > *free ? m[i].asked : *free;
        *free = m[i].left + f->g + wire(f, &m[i]);
        m[i].came = m[i].left + f->L + (m[i].bytes > f->S ? 2 * f->L : 0);
        order[i] = &m[i];
    }
    qsort(order, MESSAGES, sizeof *order, sooner);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        int64_t *free = &in[order[i]->to][order[i]->nic];
        int64_t begin = order[i]->came > *free ? order[i]->came : *free;
        *free = begin + f->g + wire(f, order[i]);
        order[i]->end = begin + wire(f, order[i]);
    }
}

static struct sc__workload *two_nics(struct sc_context *ctx) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "test");
    w->mesh = sc__mesh(1, 1, 1, RANKS, 1, 0);
    sc__block_begin(w);
    sc__block_add(w, SC__OP_SEND, SC__FORWARD, 0, "send")->group = NICS - 1;
    sc__block_end(w);
    return w;
}

static void finish_until(const struct sc__net *net,
                         const struct message *m,
                         int64_t to,
                         uint64_t number) {
    struct sc_transfer done;
    for (int64_t now; (now = engine_next(net)) <= to && now < INT64_MAX;)
        while (engine_finish(net, now, &done))
            if (now != m[done.user].end)
                fail_msg(
                    "case %llu, message %llu of %llu bytes: %lld ps, by definition %lld",
                    (unsigned long long)number,
                    (unsigned long long)done.user,
                    (unsigned long long)done.bytes,
                    (long long)now,
                    (long long)m[done.user].end);
}

static void try_case(uint64_t number) {
    uint64_t seed = number;
    struct sc_context *ctx = sc_open();
    static struct message m[MESSAGES];
    struct figures f = {.L = 1000 * (int64_t)below(&seed, 5),
                        .g = 1000 * (int64_t)below(&seed, 3)};
    struct sc__net net;
    f.G = 0.5 * (1 + below(&seed, 8));
    f.S = below(&seed, 3) ? 1 + below(&seed, 2000) : UINT64_MAX;
    const char *text = sc__format(
        &ctx->arena,
        "%lldps,0,%lldps,%gps,0,%s",
        (long long)f.L,
        (long long)f.g,
        f.G,
        f.S == UINT64_MAX ? "inf"
                          : sc__format(&ctx->arena, "%llu", (unsigned long long)f.S));
    assert_int_equal(sc__net_loggops(ctx, text, two_nics(ctx), &net), SC_OK);
    int64_t now = 0;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        uint32_t from = below(&seed, RANKS);
        uint32_t to = (from + 1 + below(&seed, RANKS - 1)) % RANKS;
        now += below(&seed, 4) ? below(&seed, 1500) : 0;
        m[i] = (struct message){from,
                                to,
                                below(&seed, NICS),
                                1 + below(&seed, 3000),
                                now,
                                0,
                                0,
                                0};
    }
    by_definition(&f, m);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct sc_transfer t = {.coll = SC__COLLS,
                                .group = (uint16_t)m[i].nic,
                                .rank = m[i].from,
                                .peer = m[i].to,
                                .bytes = m[i].bytes,
                                .user = i};
        finish_until(&net, m, m[i].asked, number);
        assert_int_equal(net.ops->start(net.self, &t, m[i].asked), SC_OK);
    }
    finish_until(&net, m, INT64_MAX, number);
    sc_close(ctx);
}

static void messages_in_line(void **state) {
    (void)state;
    for (uint64_t k = 0; k < 400; k++)
        try_case(k);
}

/* Eight ranks, L 1000, o 100, g 50 ps, 2 ps a byte. The seven messages of a root follow
 * each other as its NIC goes, or its processor where that takes longer; a barrier is
 * three rounds of a byte. */
static void collectives_of_messages(void **state) {
    static const struct {
        const char *figures;
        int64_t gather; /* of 8 times 1001 bytes */
        int64_t barrier;
    } cases[] = {
        {"1000ps,100ps,50ps,2ps", 1000 + 200 + 2000 + 6 * (50 + 2000), 3 * (1000 + 200)},
        {"1000ps,3000ps,50ps,2ps", 1000 + 6000 + 2000 + 6 * 3000, 3 * (1000 + 6000)},
    };
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct sc_context *ctx = sc_open();
        struct sc__workload *w = sc__workload_new(&ctx->arena, "test");
        struct sc__net net;
        struct sc_claims claims;
        int64_t time;
        w->mesh = sc__mesh(8, 1, 1, 1, 1, 0);
        uint16_t group = sc__workload_group(w, SC__GROUP_TP);
        assert_int_equal(sc__net_loggops(ctx, cases[i].figures, w, &net), SC_OK);
        struct sc_transfer t = {.coll = SC__GATHER, .group = group, .bytes = 8 * 1001};
        assert_int_equal(net.ops->alone(net.self, &t, &time, &claims), SC_OK);
        assert_int_equal(time, cases[i].gather);
        t.coll = SC__BARRIER;
        assert_int_equal(net.ops->alone(net.self, &t, &time, &claims), SC_OK);
        assert_int_equal(time, cases[i].barrier);
        sc_close(ctx);
    }
}

/* o + (s - 1)O on both sides; from S on a message waits for its receive. */
static void overheads(void **state) {
    struct sc_context *ctx = sc_open();
    struct sc__net net;
    struct sc_overhead x;
    (void)state;
    assert_int_equal(sc__net_loggops(ctx, "1000ps,100ps,0,2ps,3ps,64", two_nics(ctx), &net),
                     SC_OK);
    assert_int_equal(net.ops->overhead(net.self, 64, &x), SC_OK);
    assert_true(x.send == 100 + 63 * 3 && x.recv == x.send && !x.rendezvous);
    assert_int_equal(net.ops->overhead(net.self, 65, &x), SC_OK);
    assert_true(x.send == 100 + 64 * 3 && x.rendezvous);
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_in_line),
                                       cmocka_unit_test(collectives_of_messages),
                                       cmocka_unit_test(overheads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
