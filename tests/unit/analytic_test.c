/* The analytic network: groups are timed where they lie, and transfers that
 * meet on a port share it. */
#include "engine_helpers.h"

#include "test.h"
#include <math.h>

#include "context.h"

struct job {
    struct sc__cluster cluster;
    struct sc__workload *w;
    struct sc__net net;
    uint16_t tp;
    uint16_t dp;
};

/* tp × dp ranks (× pp stages) on a cluster, in an order. */
static struct job
make_job(const char *cluster, uint32_t tp, uint32_t dp, uint32_t pp, const char *order) {
    struct job j;
    assert_int_equal(sc__cluster_parse(ctx, cluster, 0, &j.cluster), SC_OK);
    j.w = sc__workload_new(&ctx->arena, "test");
    j.w->mesh = sc__mesh(tp, 1, 1, dp, pp, 0);
    if (order)
        assert_int_equal(sc__mesh_order(ctx, &j.w->mesh, order), SC_OK);
    j.tp = sc__workload_group(j.w, SC__GROUP_TP);
    j.dp = sc__workload_group(j.w, SC__GROUP_DP);
    for (uint32_t stage = 0; stage < pp; stage++) {
        uint32_t p = sc__program_begin(j.w);
        sc__class_add(j.w,
                      p,
                      sc__mesh_move(&j.w->mesh, 0, SC__DIM_PP, stage),
                      tp * dp,
                      stage);
    }
    return j;
}

static void connect_net(struct job *j) {
    assert_int_equal(sc__net_analytic(ctx, &j->cluster, j->w, &j->net), SC_OK);
}

static struct sc_transfer all_reduce(uint16_t group, uint64_t bytes, uint64_t user) {
    return (struct sc_transfer){.coll = SC__ALLREDUCE,
                                .group = group,
                                .bytes = bytes,
                                .user = user};
}

static double alone_us(struct job *j, const struct sc_transfer *t) {
    struct sc_claims unused;
    return sc__us(engine_alone(&j->net, t, &unused));
}

/* When each of two transfers that start together ends. */
static void both(struct job *j,
                 const struct sc_transfer *a,
                 const struct sc_transfer *b,
                 double end[2]) {
    struct sc_transfer done;
    assert_int_equal(j->net.ops->start(j->net.self, a, 0), SC_OK);
    assert_int_equal(j->net.ops->start(j->net.self, b, 0), SC_OK);
    for (int n = 0; n < 2;) {
        int64_t now = engine_next(&j->net);
        assert_true(now < INT64_MAX);
        while (engine_finish(&j->net, now, &done)) {
            end[done.user] = sc__us(now);
            n++;
        }
    }
    assert_true(engine_next(&j->net) == INT64_MAX);
}

#define BYTES ((uint64_t)1 << 30)

static void groups_where_they_lie(void **state) {
    (void)state;
    struct job j = make_job("dgx-h100:64", 8, 8, 1, NULL);
    connect_net(&j);
    struct sc_transfer tp = all_reduce(j.tp, BYTES, 0);
    struct sc_transfer dp = all_reduce(j.dp, BYTES, 1);
    /* dp: one NIC of 50 GB/s each; tp: NVLink */
    assert_true(alone_us(&j, &dp) >= 2 * 7.0 / 8 * (double)BYTES / 50e3);
    assert_true(alone_us(&j, &tp) < alone_us(&j, &dp) / 5);
    struct job k = make_job("dgx-h100:64", 8, 8, 1, "dp-tp-pp"); /* dp inside the nodes */
    connect_net(&k);
    assert_true(fabs(alone_us(&k, &dp) - alone_us(&j, &tp)) < 1e-6);
    assert_true(fabs(alone_us(&k, &tp) - alone_us(&j, &dp)) < 1e-6);
}

static void tensor_parallel_over_two_nodes(void **state) {
    (void)state;
    struct job j = make_job("dgx-h100:64", 16, 4, 1, NULL);
    connect_net(&j);
    struct sc_transfer t = {.coll = SC__ALLGATHER, .group = j.tp, .bytes = BYTES};
    assert_true(alone_us(&j, &t) >= 15.0 / 16 * (double)BYTES / 400e3); /* eight NICs */
}

static void few_nics_are_shared(void **state) {
    (void)state;
    struct job eight =
        make_job("gpu=h100 gpus=64 node=8 nics=8 nic=400Gbps class=ib", 8, 8, 1, NULL);
    struct job four =
        make_job("gpu=h100 gpus=64 node=8 nics=4 nic=400Gbps class=ib", 8, 8, 1, NULL);
    connect_net(&eight);
    connect_net(&four);
    struct sc_transfer dp = all_reduce(eight.dp, BYTES, 0);
    assert_true(alone_us(&four, &dp) > 1.9 * alone_us(&eight, &dp));
}

/* Two GPUs share a NIC, and the groups of both have their half of it in their time alone:
 * also where one of them is a class of its own, they do not hinder each other again. */
static void halves_of_a_nic(void **state) {
    double end[2];
    (void)state;
    struct job j =
        make_job("gpu=h100 gpus=64 node=8 nics=4 nic=400Gbps class=ib", 8, 8, 1, NULL);
    struct sc__workload *w = j.w = sc__workload_new(&ctx->arena, "test");
    w->mesh = sc__mesh(8, 1, 1, 8, 1, 0);
    j.dp = sc__workload_group(w, SC__GROUP_DP);
    sc__block_begin(w);
    struct sc__op *op = sc__block_add(w, SC__OP_COLLECTIVE, SC__UPDATE, 0, "gradients");
    op->group = j.dp;
    op->bytes = BYTES;
    uint32_t block = sc__block_end(w);
    uint32_t program = sc__program_begin(w);
    sc__program_call(w, block, 0, 0, 0);
    sc__class_add(w, program, 0, 64, 0);
    assert_int_equal(sc__workload_slow_rank(ctx, w, 0, 1), SC_OK);
    assert_int_equal(w->class_count, 3); /* it, its group, all others */
    connect_net(&j);
    struct sc_transfer a = all_reduce(j.dp, BYTES, 0);
    struct sc_transfer b = all_reduce(j.dp, BYTES, 1);
    a.class = w->rank_class[0];
    b.class = w->rank_class[1];
    b.rank = 1;
    double alone = alone_us(&j, &a);
    assert_within(alone_us(&j, &b), alone, 1e-9);
    both(&j, &a, &b, end);
    assert_within(end[0], alone, 1e-6);
    assert_within(end[1], alone, 1e-6);
}

static void a_nic_carries_two(void **state) {
    double end[2];
    (void)state;
    struct job j = make_job("dgx-h100:64", 8, 8, 1, NULL);
    connect_net(&j);
    struct sc_transfer a = all_reduce(j.dp, BYTES, 0);
    struct sc_transfer b = all_reduce(j.dp, BYTES, 1);
    struct sc_transfer tp = all_reduce(j.tp, BYTES, 1);
    double alone = alone_us(&j, &a);
    both(&j, &a, &b, end);
    assert_true(fabs(end[0] - end[1]) < 1e-3 && end[0] > 1.8 * alone &&
                end[0] < 2.01 * alone);
    both(&j, &a, &tp, end); /* NIC and NVLink do not meet */
}

static void nvlink_and_nic_do_not_meet(void **state) {
    double end[2];
    (void)state;
    struct job j = make_job("dgx-h100:64", 8, 8, 1, NULL);
    connect_net(&j);
    struct sc_transfer dp = all_reduce(j.dp, BYTES, 0);
    struct sc_transfer tp = all_reduce(j.tp, BYTES, 1);
    both(&j, &dp, &tp, end);
    assert_true(fabs(end[0] - alone_us(&j, &dp)) < 1e-3 &&
                fabs(end[1] - alone_us(&j, &tp)) < 1e-3);
}

/* Small messages leave the wire mostly idle: two of them hardly slow down. */
static void latency_is_not_bandwidth(void **state) {
    double end[2];
    (void)state;
    struct job j = make_job("dgx-h100:64", 8, 8, 1, NULL);
    connect_net(&j);
    struct sc_transfer a = all_reduce(j.dp, 1024, 0);
    struct sc_transfer b = all_reduce(j.dp, 1024, 1);
    both(&j, &a, &b, end);
    assert_true(end[1] < 1.1 * alone_us(&j, &a));
}

/* A group across classes uses the ports of all of them, whoever came last. */
static void classes_of_a_group_meet(void **state) {
    double same[2];
    double end[2];
    (void)state;
    struct job j = make_job("dgx-h100:64", 8, 4, 2, NULL);
    uint16_t world = sc__workload_group(j.w, SC__GROUP_WORLD);
    connect_net(&j);
    struct sc_transfer a = all_reduce(world, BYTES, 0);
    struct sc_transfer b = all_reduce(world, BYTES, 1);
    both(&j, &a, &b, same);
    assert_true(same[1] > 1.2 * alone_us(&j, &b));
    b.class = 1;
    b.rank = 32;
    both(&j, &a, &b, end);
    for (int i = 0; i < 2; i++)
        assert_true(fabs(end[i] - same[i]) < 1e-3);
}

/* Random traffic against a fluid simulation of the same claims, from scratch
 * at every event: nothing an earlier transfer left behind may end a later one. */
enum { TRAFFIC = 400, STAGES = 4 };

struct fluid {
    struct sc_claims claims;
    double left;
    double end;
    double begin; /* of its claims: messages have their latency before it */
    bool begun;
    bool runs;
};

static double fluid_load(const struct fluid *f, uint64_t resource) {
    double load = 0;
    for (int i = 0; i < TRAFFIC; i++)
        for (uint32_t k = 0; f[i].runs && k < f[i].claims.count; k++)
            if (f[i].claims.list[k].resource == resource)
                load += f[i].claims.list[k].share;
    return load;
}

static double fluid_rate(const struct fluid *all, const struct fluid *f) {
    double worst = 1;
    for (uint32_t k = 0; k < f->claims.count; k++)
        worst = fmax(worst, fluid_load(all, f->claims.list[k].resource));
    return 1 / worst;
}

static int next_begin(const struct fluid *f) {
    int next = -1;
    for (int i = 0; i < TRAFFIC; i++)
        if (!f[i].begun && (next < 0 || f[i].begin < f[next].begin))
            next = i;
    return next;
}

static void run_fluid(struct fluid *f) {
    double now = 0;
    double rate[TRAFFIC];
    for (int running = 0, begins = 0; (begins = next_begin(f)) >= 0 || running;) {
        double next = begins >= 0 ? f[begins].begin : INFINITY;
        int ends = -1;
        for (int i = 0; i < TRAFFIC; i++) {
            if (!f[i].runs)
                continue;
            rate[i] = fluid_rate(f, &f[i]);
            if (now + f[i].left / rate[i] < next) {
                next = now + f[i].left / rate[i];
                ends = i;
            }
        }
        for (int i = 0; i < TRAFFIC; i++)
            if (f[i].runs)
                f[i].left -= (next - now) * rate[i];
        now = next;
        if (ends >= 0) {
            f[ends].runs = false;
            f[ends].end = now;
            running--;
        } else {
            f[begins].runs = true;
            f[begins].begun = true;
            running++;
        }
    }
}

static void finish_until(struct job *j, int64_t to, const struct fluid *f) {
    struct sc_transfer done;
    for (int64_t now = engine_next(&j->net); now <= to && now < INT64_MAX;
         now = engine_next(&j->net))
        while (engine_finish(&j->net, now, &done)) /* 1 ps of rounding per change of rate */
            assert_true(fabs((double)now - f[done.user].end) < 1e-6 * (double)now + 1000);
}

static uint64_t draw(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* To the rank in its place in another stage. */
static struct sc_transfer message(const struct job *j, uint32_t from, uint32_t to) {
    return (struct sc_transfer){.coll = SC__COLLS,
                                .class = from,
                                .peer_class = to,
                                .rank = j->w->classes[from].rank,
                                .peer = j->w->classes[to].rank};
}

/* Of a large message, whose time is latency and bytes / rate. */
static double latency_of(struct job *j, struct sc_transfer t) {
    struct sc_claims unused;
    t.bytes = 1000000000;
    double once = (double)engine_alone(&j->net, &t, &unused);
    t.bytes *= 2;
    return 2 * once - (double)engine_alone(&j->net, &t, &unused);
}

static void random_traffic(void **state) {
    static struct fluid f[TRAFFIC];
    struct sc_transfer t[TRAFFIC];
    int64_t start[TRAFFIC];
    uint64_t seed = 7;
    int64_t now = 0;
    (void)state;
    struct job j = make_job("dgx-h100:256", 8, 8, STAGES, NULL);
    connect_net(&j);
    for (int i = 0; i < TRAFFIC; i++) {
        uint32_t stage = (uint32_t)draw(&seed) % STAGES;
        bool is_message = draw(&seed) % 3 == 0;
        t[i] = is_message ? message(&j, stage, (stage + 1) % STAGES)
                          : all_reduce(draw(&seed) & 1 ? j.dp : j.tp, 0, 0);
        t[i].bytes = (is_message ? 1000000 : 1) + draw(&seed) % 100000000;
        t[i].user = (uint64_t)i;
        t[i].class = stage;
        t[i].rank = j.w->classes[stage].rank;
        now += (int64_t)(draw(&seed) % 1000000000);
        start[i] = now;
        double latency = is_message ? latency_of(&j, t[i]) : 0;
        f[i].begin = (double)now + latency;
        f[i].left = (double)engine_alone(&j.net, &t[i], &f[i].claims) - latency;
    }
    run_fluid(f);
    for (int i = 0; i < TRAFFIC; i++) {
        finish_until(&j, start[i], f);
        assert_int_equal(j.net.ops->start(j.net.self, &t[i], start[i]), SC_OK);
    }
    finish_until(&j, INT64_MAX - 1, f);
}

/* So many small messages at once take one latency and the time of their bytes. */
static void latency_is_not_shared(void **state) {
    enum { MESSAGES = 200000 };
    struct sc_transfer done;
    struct sc_claims unused;
    int64_t last = 0;
    uint32_t ended = 0;
    (void)state;
    struct job j = make_job("dgx-h100:32", 8, 1, STAGES, NULL);
    connect_net(&j);
    struct sc_transfer t = message(&j, 0, 1);
    t.bytes = 8;
    int64_t alone = engine_alone(&j.net, &t, &unused);
    for (t.user = 0; t.user < MESSAGES; t.user++)
        assert_int_equal(j.net.ops->start(j.net.self, &t, 0), SC_OK);
    for (int64_t now; (now = engine_next(&j.net)) < INT64_MAX; last = now)
        while (engine_finish(&j.net, now, &done))
            ended++;
    assert_int_equal(ended, MESSAGES);
    double bytes_us = MESSAGES * 8.0 / 50e3; /* a NIC of 50 GB/s */
    double late_us = sc__us(last - alone);
    assert_true(late_us > 0.99 * bytes_us && late_us < 1.1 * bytes_us);
}

/* Two stages of a node with one NIC between them meet on it. */
static void stages_meet_on_one_nic(void **state) {
    double end[2];
    (void)state;
    struct job j = make_job("gpu=h100 gpus=16 node=2 nics=1 nic=400Gbps class=ib",
                            1,
                            8,
                            2,
                            "pp-dp-tp");
    connect_net(&j);
    struct sc_transfer a = all_reduce(j.dp, BYTES, 0);
    struct sc_transfer b = all_reduce(j.dp, BYTES, 1);
    b.class = 1;
    b.rank = 1;
    double alone = alone_us(&j, &a);
    both(&j, &a, &b, end);
    assert_true(end[0] > 1.8 * alone);
}

/* Eight ranks on a leaf send to eight on another, one NIC of 50 GB/s each; the
 * leaf has two NICs' worth of uplinks. Two such classes at once take twice as
 * long, though their NICs differ. */
static void messages_share_thin_uplinks(void **state) {
    double end[2];
    (void)state;
    struct job wide = make_job(
        "gpus=16 node=1 nics=1 nic=50GB/s class=plain hop=0us fabric=fat-tree leaf=8",
        1,
        8,
        2,
        NULL);
    struct job thin = make_job(
        "gpus=16 node=1 nics=1 nic=50GB/s class=plain hop=0us fabric=fat-tree leaf=8 "
        "oversubscription=4",
        1,
        8,
        2,
        NULL);
    struct job four = make_job(
        "gpus=16 node=1 nics=1 nic=50GB/s class=plain hop=0us fabric=fat-tree leaf=8 "
        "oversubscription=4",
        1,
        4,
        4,
        NULL);
    struct sc_transfer t = {.coll = SC__COLLS,
                            .rank = 0,
                            .peer = 8,
                            .class = 0,
                            .peer_class = 1,
                            .bytes = 1000000000};
    connect_net(&wide);
    connect_net(&thin);
    connect_net(&four);
    assert_true(fabs(alone_us(&wide, &t) - 1e9 / 50e3) < 1e-3);
    assert_true(fabs(alone_us(&thin, &t) - 4e9 / 50e3) < 1e-3);
    struct sc_transfer a = t;
    struct sc_transfer b = t; /* stages 0 and 1 of four: ranks 0…3 and 4…7 of the leaf */
    a.peer_class = 2;
    b.rank = 4;
    b.peer = 12;
    b.class = 1;
    b.peer_class = 3;
    b.user = 1;
    assert_true(fabs(alone_us(&four, &a) - 2e9 / 50e3) < 1e-3);
    both(&four, &a, &b, end);
    assert_true(fabs(end[0] - 4e9 / 50e3) < 1e-3 && fabs(end[1] - 4e9 / 50e3) < 1e-3);
}

/* Eight on a switch, four such by a slower ring: 8 tensor-parallel ranks, four stages. */
static struct job job_on_dimensions(void) {
    struct job j = make_job("dims=8x4 link=400GB/s hop=1us class=plain", 8, 1, 4, NULL);
    j.cluster.fabric.dim[0].kind = SC__DIM_SWITCH;
    j.cluster.fabric.dim[1].rate = 25e9;
    j.cluster.fabric.dim[1].latency = 2000000;
    connect_net(&j);
    return j;
}

/* A GPU has links of its own: what one stage sends is nothing to another. */
static void stages_on_dimensions_do_not_meet(void **state) {
    double end[2];
    (void)state;
    struct job j = job_on_dimensions();
    struct sc_transfer a = {.coll = SC__ALLGATHER, .group = j.tp, .bytes = BYTES};
    struct sc_transfer b = a;
    b.rank = 8;
    b.class = 1;
    b.user = 1;
    both(&j, &a, &b, end);
    double alone = 1 + 7.0 / 8 * (double)BYTES / 400e3;
    assert_within(end[0], alone, 1e-9);
    assert_within(end[1], alone, 1e-9);
}

/* It passes the links between its ends, the shorter way round, and goes at the rate of the
 * slowest. */
static void messages_on_dimensions(void **state) {
    (void)state;
    struct job j = job_on_dimensions();
    struct sc_transfer t = {.coll = SC__COLLS, .peer = 3, .bytes = BYTES};
    assert_within(alone_us(&j, &t), 1 + (double)BYTES / 400e3, 1e-9);
    t.peer = 8;
    t.peer_class = 1;
    assert_within(alone_us(&j, &t), 2 + (double)BYTES / 25e3, 1e-9);
    t.peer = 16 + 5;
    t.peer_class = 2;
    assert_within(alone_us(&j, &t), 1 + 2 * 2 + (double)BYTES / 25e3, 1e-9);
    t.peer = 24;
    t.peer_class = 3;
    assert_within(alone_us(&j, &t), 2 + (double)BYTES / 25e3, 1e-9);
}

static void ranks_from_a_file(void **state) {
    uint32_t gpu[64];
    uint32_t rank[64];
    (void)state;
    struct job j = make_job("dgx-h100:64", 8, 8, 1, NULL);
    struct job k = make_job("dgx-h100:64", 8, 8, 1, NULL);
    for (uint32_t r = 0; r < 64; r++) {
        gpu[r] = r % 8 * 8 + r / 8; /* tensor-parallel ranks on different nodes */
        rank[gpu[r]] = r + 1;
    }
    k.cluster.gpu_of = gpu;
    k.cluster.rank_of = rank;
    k.cluster.placed = 64;
    connect_net(&j);
    connect_net(&k);
    struct sc_transfer tp = all_reduce(j.tp, BYTES, 0);
    struct sc_transfer dp = all_reduce(j.dp, BYTES, 0);
    assert_true(fabs(alone_us(&k, &tp) - alone_us(&j, &dp)) < 1e-6);
    assert_true(fabs(alone_us(&k, &dp) - alone_us(&j, &tp)) < 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_where_they_lie),
        cmocka_unit_test(tensor_parallel_over_two_nodes),
        cmocka_unit_test(few_nics_are_shared),
        cmocka_unit_test(halves_of_a_nic),
        cmocka_unit_test(a_nic_carries_two),
        cmocka_unit_test(nvlink_and_nic_do_not_meet),
        cmocka_unit_test(latency_is_not_bandwidth),
        cmocka_unit_test(classes_of_a_group_meet),
        cmocka_unit_test(random_traffic),
        cmocka_unit_test(latency_is_not_shared),
        cmocka_unit_test(stages_meet_on_one_nic),
        cmocka_unit_test(ranks_from_a_file),
        cmocka_unit_test(messages_share_thin_uplinks),
        cmocka_unit_test(stages_on_dimensions_do_not_meet),
        cmocka_unit_test(messages_on_dimensions),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
