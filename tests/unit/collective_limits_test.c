/* Limits of the collective model that hold whatever the constants are. */
#include "workload/workload.h"

#include "collective_helpers.h"

static const char *const random_fabrics[] = {"none", "rail", "fat-tree", "hpn"};

/* A random cluster in the one-line form, its figures in *f. */
struct figures {
    /* pod: leaves */
    double node;
    double nics;
    double nodes;
    double nvlink;
    double nic;
    double leaf;
    double over;
    double pod;
    double pod_over;
};

static struct sc__cluster random_cluster(uint64_t *seed, struct figures *f) {
    static const char *const gpus[] = {"a100", "h100", "h800", "b200"};
    static const char *const classes[] = {"ib", "roce", "efa", "plain"};
    char text[320];
    f->node = (double)(1 + sc__random(seed) % 8);
    f->nodes = (double)(1 + sc__random(seed) % 12);
    f->nics = fmax(1, f->node / (double)(1 + sc__random(seed) % 4));
    f->nics = floor(f->nics);
    f->nvlink = 50 + (double)(sc__random(seed) % 900);
    f->nic = 5 + (double)(sc__random(seed) % 95);
    f->leaf = (double)(1 + sc__random(seed) % 12);
    f->over = (double)(1 + sc__random(seed) % 8);
    f->pod = (double)(1 + sc__random(seed) % 4);
    f->pod_over = (double)(1 + sc__random(seed) % 8);
    snprintf(text,
             sizeof text,
             "gpu=%s gpus=%.0f node=%.0f nics=%.0f nvlink=%.0fGB/s nic=%.0fGB/s leaf=%.0f "
             "oversubscription=%.0f "
             "pod-leaves=%.0f pod-oversubscription=%.0f fabric=%s class=%s",
             gpus[sc__random(seed) % 4],
             f->node * f->nodes,
             f->node,
             f->nics,
             f->nvlink,
             f->nic,
             f->leaf,
             f->over,
             f->pod,
             f->pod_over,
             random_fabrics[sc__random(seed) % 4],
             classes[sc__random(seed) % 4]);
    return cluster(text);
}

/* Some of the cluster's GPUs, at least two. */
static uint32_t random_group(uint64_t *seed, uint32_t gpus, uint32_t *out) {
    uint32_t n = 0;
    for (uint32_t share = 1 + (uint32_t)(sc__random(seed) % 4); n < 2; share = 1) {
        n = 0;
        for (uint32_t g = 0; g < gpus; g++)
            if (sc__random(seed) % share == 0)
                out[n++] = g;
    }
    return n;
}

/* Bytes that must leave a part that holds `a` of `n` ranks. */
static double must_leave(int coll, double bytes, double a, double n) {
    double b = n - a;
    if (a < 1 || b < 1)
        return 0;
    switch (coll) {
    case SC__ALLREDUCE:
        return bytes;
    case SC__ALLGATHER:
        return bytes * a / n;
    case SC__REDUCESCATTER:
        return bytes * b / n;
    case SC__ALLTOALL:
        return bytes * a * b / n;
    default:
        return 0;
    }
}

/* The largest of the bounds of all cuts around runs of `width` GPUs. */
static double cut_bound(
    int coll, double bytes, const uint32_t *gpu, uint32_t n, double width, double rate) {
    double bound = 0;
    for (uint32_t i = 0, j; i < n; i = j) {
        uint32_t part = (uint32_t)(gpu[i] / width);
        for (j = i; j < n && (uint32_t)(gpu[j] / width) == part; j++) {
        }
        bound = fmax(bound, must_leave(coll, bytes, j - i, n) / (rate * 1e3));
    }
    return bound;
}

static void no_cut_is_beaten(void **state) {
    uint64_t seed = 20240611;
    uint32_t gpu[128];
    (void)state;
    for (int round = 0; round < 4000; round++) {
        struct figures f;
        struct sc__cluster c = random_cluster(&seed, &f);
        if (c.gpus < 2)
            continue;
        uint32_t n = random_group(&seed, c.gpus, gpu);
        int coll = (int)(sc__random(&seed) % 4);
        double bytes = floor(exp2((double)(sc__random(&seed) % 35))) + 1;
        double bound;
        struct sc__shape s = sc__cluster_shape(&c, gpu, n);
        struct sc__coll_cost p = sc__collective_cost(&c, coll, &s, (uint64_t)bytes);
        double nics_a_gpu = fmax(1, f.nics / f.node);
        bound = cut_bound(coll,
                          bytes,
                          gpu,
                          n,
                          1,
                          f.nvlink * (f.node > 1) + (f.nodes > 1) * f.nic * nics_a_gpu);
        bound = fmax(bound, cut_bound(coll, bytes, gpu, n, f.node, f.nics * f.nic));
        if (c.fabric.kind != SC__FABRIC_NONE && f.leaf < f.nodes)
            bound = fmax(bound,
                         cut_bound(coll,
                                   bytes,
                                   gpu,
                                   n,
                                   f.node * f.leaf,
                                   f.leaf * f.nics * f.nic / f.over));
        double pod = f.leaf * f.pod; /* nodes */
        if (c.fabric.kind == SC__FABRIC_FAT_TREE && pod < f.nodes)
            bound = fmax(bound,
                         cut_bound(coll,
                                   bytes,
                                   gpu,
                                   n,
                                   f.node * pod,
                                   pod * f.nics * f.nic / f.over / f.pod_over));
        if (sc__us(p.time) < bound * (1 - 1e-9))
            fail_msg(
                "round %d: %s, coll %d of %.0f bytes on %u ranks (%s %s): %.3f us, the cut "
                "needs %.3f",
                round,
                c.name,
                coll,
                bytes,
                n,
                sc__algo_name(p.algo),
                sc__proto_name(p.proto),
                sc__us(p.time),
                bound);
    }
}

/* A torus: nothing leaves a GPU faster than its links, nor a half of the
 * machine faster than the links between the halves; and time grows. */
static void no_cut_of_a_torus_is_beaten(void **state) {
    uint64_t seed = 5;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        uint32_t size[3];
        char text[128];
        double links = 0;
        double rate = 10 + (double)(sc__random(&seed) % 90);
        double least = INFINITY;
        for (int d = 0; d < 3; d++)
            size[d] = 1 + (uint32_t)(sc__random(&seed) % 6);
        if (size[0] * size[1] * size[2] < 2)
            continue;
        snprintf(text,
                 sizeof text,
                 "class=plain dims=%ux%ux%u link=%.0fGB/s hop=1us",
                 size[0],
                 size[1],
                 size[2],
                 rate);
        struct sc__cluster c = cluster(text);
        double n = c.gpus;
        double bytes = floor(exp2((double)(sc__random(&seed) % 35))) + 1;
        for (int d = 0; d < 3; d++) {
            double through =
                size[d] > 2 ? 2 : size[d] > 1; /* links of a ring through its middle */
            links += through;
            if (size[d] % 2 == 0)
                least = fmin(least, through * n / size[d]);
        }
        int coll = (int)(sc__random(&seed) % 4);
        double bound = must_leave(coll, bytes, 1, n) / (links * rate * 1e3);
        if (least < INFINITY)
            bound = fmax(bound, must_leave(coll, bytes, n / 2, n) / (least * rate * 1e3));
        double us = us_of(&c, coll, c.gpus, (uint64_t)bytes);
        if (us < bound * (1 - 1e-9))
            fail_msg("%s coll %d, %.0f bytes: %.3f us, the cut needs %.3f",
                     text,
                     coll,
                     bytes,
                     us,
                     bound);
        assert_true(us_of(&c, coll, c.gpus, 2 * (uint64_t)bytes) >= us);
    }
}

static void longer_with_size(void **state) {
    uint64_t seed = 7;
    uint32_t gpu[128];
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct figures f;
        struct sc__cluster c = random_cluster(&seed, &f);
        if (c.gpus < 2)
            continue;
        uint32_t n = random_group(&seed, c.gpus, gpu);
        struct sc__shape s = sc__cluster_shape(&c, gpu, n);
        for (int coll = 0; coll < SC__COLLS; coll++) {
            int64_t last = 0;
            for (double bytes = 8; bytes < 0x1p34; bytes *= 1.07) {
                int64_t now = sc__collective_time(&c, coll, &s, (uint64_t)bytes);
                if (now < last)
                    fail_msg("%s: coll %d gets faster at %.0f bytes: %.3f after %.3f us",
                             c.name,
                             coll,
                             bytes,
                             sc__us(now),
                             sc__us(last));
                last = now;
            }
        }
    }
}

static void slower_links_never_help(void **state) {
    uint64_t seed = 99;
    uint32_t gpu[128];
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct figures f;
        struct sc__cluster c = random_cluster(&seed, &f);
        struct sc__cluster slow;
        if (c.gpus < 2)
            continue;
        uint32_t n = random_group(&seed, c.gpus, gpu);
        struct sc__shape s = sc__cluster_shape(&c, gpu, n);
        int coll = (int)(sc__random(&seed) % SC__COLLS);
        uint64_t bytes = (uint64_t)exp2((double)(sc__random(&seed) % 35));
        int64_t before = sc__collective_time(&c, coll, &s, bytes);
        slow = c;
        slow.nvlink /= 2;
        assert_true(sc__collective_time(&slow, coll, &s, bytes) >= before);
        slow = c;
        slow.nic /= 2;
        assert_true(sc__collective_time(&slow, coll, &s, bytes) >= before);
    }
}

/* A network hop of the LL protocol takes NCCL 2.7 us; no algorithm has fewer
 * than log2 of the nodes one after the other. */
static void not_below_latency(void **state) {
    (void)state;
    for (uint32_t gpus = 16; gpus <= 65536; gpus *= 2) {
        char text[64];
        snprintf(text, sizeof text, "dgx-h100:%u", gpus);
        struct sc__cluster c = cluster(text);
        for (int coll = 0; coll < SC__COLLS; coll++)
            assert_true(us_of(&c, coll, gpus, 8) >=
                        2.7 * (coll == SC__SHIFT ? 1 : log2(gpus / 8.0)));
    }
}

/* A shift over nodes holds the messages of a node, too: where the links inside are slower
 * than a NIC, as one link of Frontier's mesh is, these decide, whatever leaves. */
static void a_shift_waits_inside(void **state) {
    (void)state;
    struct sc__cluster node = cluster("frontier:8");
    struct sc__cluster nodes = cluster("frontier:64");
    uint64_t bytes = (uint64_t)1 << 30;
    double inside = us_of(&node, SC__SHIFT, 8, bytes);
    assert_number(inside, >, (double)bytes / (1e3 * 200.0 / 7));
    assert_number(us_of(&nodes, SC__SHIFT, 16, bytes), >=, inside);
    assert_number(us_of(&nodes, SC__SHIFT, 64, bytes), >=, inside);
}

static void all_reduce_is_two_halves(void **state) {
    static const char *const texts[] = {"dgx-a100:8",
                                        "dgx-h100:8",
                                        "dgx-h100:128",
                                        "dgx-a100:64",
                                        "gb200-nvl72:144"};
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct sc__cluster c = cluster(texts[i]);
        c.tuning.algo = SC__ALGO_RING;
        c.tuning.protocols = SC__PROTO_BIT(SC__PROTO_SIMPLE);
        double whole = us_of(&c, SC__ALLREDUCE, c.gpus, (uint64_t)1 << 33);
        double halves = us_of(&c, SC__ALLGATHER, c.gpus, (uint64_t)1 << 33) +
                        us_of(&c, SC__REDUCESCATTER, c.gpus, (uint64_t)1 << 33);
        /* each half handles a part of its own, which the whole does once: measured 4–14 %
         */
        assert_near(halves, whole, 0.1, texts[i]);
    }
}

/* Nobody's messages take less time for being larger, nor a step more of it than of bytes:
 * where one algorithm, protocol or chunk takes over from another their times meet. */
static void steady_with_size(void **state) {
    static const char *const texts[] = {"dgx-h100:64",
                                        "dgx-a100:64",
                                        "dgx-b200:64",
                                        "aws-p5:64",
                                        "aws-p4d:64",
                                        "gcp-a3-mega:64",
                                        "amd-mi300x:64",
                                        "amd-mi355x:64",
                                        "gb200-nvl72:144"};
    static const uint32_t groups[] = {2, 3, 4, 6, 8, 12, 16, 40, 64};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sc__cluster c = cluster(texts[i]);
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
            for (int coll = 0; coll < 4; coll++) {
                double last = us_of(&c, coll, groups[g], 1024);
                for (double bytes = 1024 * 1.05; bytes < 16e9; bytes *= 1.05) {
                    double us = us_of(&c, coll, groups[g], (uint64_t)bytes);
                    assert_true(us > 0.9999 * last);
                    assert_true(us < 1.06 * last);
                    last = us;
                }
            }
    }
}

/* us of an all-to-all where all send at once and nothing but NICs is in the way: messages
 * that each NIC sends, counted pair by pair. */
static double fullest_nic_us(
    const struct sc__cluster *c, const uint32_t *gpu, uint32_t n, double part, double nic) {
    double most = 0;
    for (uint32_t i = 0; i < n; i++) {
        double sent = 0;
        for (uint32_t j = 0; j < n; j++)
            for (uint32_t k = 0; k < n; k++)
                sent += gpu[j] / c->node_gpus == gpu[i] / c->node_gpus &&
                        sc__cluster_nic(c, gpu[j]) == sc__cluster_nic(c, gpu[i]) &&
                        gpu[k] / c->node_gpus != gpu[j] / c->node_gpus;
        most = fmax(most, sent);
    }
    return most * part / nic / fmax(1, (double)c->node_nics / c->node_gpus);
}

/* Groups of any size, also those that end or begin in the middle of a node. */
static void the_fullest_nic_decides(void **state) {
    static const uint32_t nics[] = {1, 2, 3, 4, 6, 8, 16};
    (void)state;
    for (unsigned i = 0; i < sizeof nics / sizeof *nics; i++) {
        char text[200];
        snprintf(text,
                 sizeof text,
                 "gpus=32 node=8 nvlink=9000GB/s nics=%u nic=1GB/s class=plain",
                 nics[i]);
        struct sc__cluster c = cluster(text);
        for (uint32_t n = 9; n <= 20; n++)
            for (uint32_t first = 0; first < 8; first++)
                for (uint32_t stride = 1; first + (n - 1) * stride < 32; stride++) {
                    uint32_t gpu[32];
                    for (uint32_t k = 0; k < n; k++)
                        gpu[k] = first + k * stride;
                    struct sc__shape s = sc__cluster_shape(&c, gpu, n);
                    double us = sc__us(sc__collective_time(&c, SC__ALLTOALL, &s, n * 1000));
                    assert_within(us, fullest_nic_us(&c, gpu, n, 1000, 1e3), 1e-6);
                    if (first == 0 && stride == 1)
                        assert_within(us, us_of(&c, SC__ALLTOALL, n, n * 1000), 1e-6);
                }
    }
}

/* Uplinks that messages meet on, by leaf, by leaf and rail or by pod. */
struct uplinks {
    const struct sc__cluster *c;
    uint32_t group; /* nodes of the part in question: of the leaf, or of a pod */
    bool by_rail;
    double out[512];
    double in[512];
};

static void lay_message(struct uplinks *u, uint32_t from, uint32_t to, bool pxn) {
    uint32_t a = from / u->c->node_gpus;
    uint32_t b = to / u->c->node_gpus;
    uint32_t to_rail = u->by_rail ? sc__cluster_nic(u->c, to) : 0;
    uint32_t from_rail = u->by_rail && !pxn ? sc__cluster_nic(u->c, from) : to_rail;
    uint32_t rails = u->by_rail ? u->c->node_nics : 1;
    if (a == b || (a / u->group == b / u->group && from_rail == to_rail))
        return;
    u->out[a / u->group * rails + from_rail]++;
    u->in[b / u->group * rails + to_rail]++;
}

/* Messages on the fullest: all pairs, all to the first, or each to the next. */
static double
most_messages(struct uplinks *u, int coll, const uint32_t *gpu, uint32_t n, bool pxn) {
    double most = 0;
    memset(u->out, 0, sizeof u->out);
    memset(u->in, 0, sizeof u->in);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; coll == SC__ALLTOALL && j < n; j++)
            lay_message(u, gpu[i], gpu[j], pxn);
        if (coll == SC__GATHER)
            lay_message(u, gpu[i], gpu[0], false);
        if (coll == SC__SHIFT)
            lay_message(u, gpu[i], gpu[(i + 1) % n], pxn);
    }
    for (int i = 0; i < 512; i++)
        most = fmax(most, fmax(u->out[i], u->in[i]));
    return most;
}

/* Uplinks a hundredth as fast as what is below decide alone: of a leaf, of its rail, of a
 * pod, which joins all rails. Ranks anywhere, in any order. */
static void the_fullest_uplinks_decide(void **state) {
    static const struct {
        const char *words;
        uint32_t group;
        bool by_rail;
        double rate; /* GB/s */
    } fabrics[] = {
        {"fabric=fat-tree oversubscription=100", 2, false, 2 * 4 * 1 / 100.0},
        {"fabric=rail oversubscription=100", 2, true, 2 * 1 / 100.0},
        {"fabric=rail pod-leaves=8 pod-oversubscription=100", 4, false, 4 * 4 * 1 / 100.0},
    };
    static const int colls[] = {SC__ALLTOALL, SC__GATHER, SC__SHIFT};
    uint64_t seed = 11;
    (void)state;
    for (int round = 0; round < 900; round++) {
        char text[200];
        uint32_t gpu[96];
        int f = round % 3;
        int coll = colls[round / 3 % 3];
        snprintf(text,
                 sizeof text,
                 "gpus=96 node=8 nvlink=9000GB/s nics=4 nic=1GB/s class=plain leaf=2 %s",
                 fabrics[f].words);
        struct sc__cluster c = cluster(text);
        uint32_t n = random_group(&seed, c.gpus, gpu);
        for (uint32_t i = n - 1; round % 2 && i > 0; i--) {
            uint32_t other = (uint32_t)(sc__random(&seed) % (i + 1));
            uint32_t here = gpu[i];
            gpu[i] = gpu[other];
            gpu[other] = here;
        }
        struct sc__shape s = sc__cluster_shape(&c, gpu, n);
        struct uplinks u = {.c = &c,
                            .group = fabrics[f].group,
                            .by_rail = fabrics[f].by_rail};
        bool rails = c.fabric.kind == SC__FABRIC_RAIL;
        double most = most_messages(&u, coll, gpu, n, rails && coll == SC__SHIFT);
        double part = coll == SC__SHIFT ? n * 1e6 : 1e6;
        double us = sc__us(sc__collective_time(&c, coll, &s, (uint64_t)n * 1000000));
        if (coll == SC__ALLTOALL && u.by_rail && s.nodes > 1)
            assert_number(s.rail_relayed, ==, most_messages(&u, coll, gpu, n, true));
        if (most > 0)
            assert_within(us, most * part / fabrics[f].rate / 1e3, 1e-6);
    }
}

/* One rank a node on two rails of a segment: their ring changes rails at each step, so that
 * both halves of a gather pass the uplinks of a rail, at 2 of 100 GB/s; on one rail they
 * stay below the leaf. */
static void a_ring_off_its_rails(void **state) {
    (void)state;
    struct sc__cluster c = cluster("gpus=32 node=8 nvlink=9000GB/s nics=8 nic=1GB/s "
                                   "class=plain leaf=2 fabric=rail oversubscription=100");
    struct sc__shape off = sc__cluster_shape(&c, (uint32_t[]){0, 9}, 2);
    struct sc__shape on = sc__cluster_shape(&c, (uint32_t[]){1, 9}, 2);
    struct sc__shape four = sc__cluster_shape(&c, (uint32_t[]){0, 9, 17, 24}, 4);
    double mb = 1e6 / 1e3;
    /* from the last GPU of a node to the first of the next by PXN */
    assert_within(us_of(&c, SC__SHIFT, 16, 1000000), mb, 1e-6);
    assert_within(sc__us(sc__collective_time(&c, SC__ALLGATHER, &off, 2000000)),
                  mb / 0.02,
                  1e-6);
    assert_within(sc__us(sc__collective_time(&c, SC__ALLREDUCE, &off, 2000000)),
                  2 * mb / 0.02,
                  1e-6);
    assert_within(sc__us(sc__collective_time(&c, SC__ALLGATHER, &on, 2000000)), mb, 1e-6);
    /* 0 to rail 1, 17 to rail 0: no uplinks have two */
    assert_within(sc__us(sc__collective_time(&c, SC__ALLGATHER, &four, 4000000)),
                  3 * mb / 0.02,
                  1e-6);
    assert_within(sc__us(sc__collective_time(&c, SC__BROADCAST, &off, 2000000)),
                  2 * mb / 0.02,
                  1e-6);
}

/* Each third of a ring of eight to the next: ways of three links, and three messages on
 * each link; in the order of the ring one. Four of a torus that are no box: from the third
 * a way of two links to the fourth, and back to the first; three steps of 2 us and of a
 * part. Its chain from the first leaves the way back out. */
static void ways_over_dimensions(void **state) {
    (void)state;
    struct sc__cluster ring = cluster("fabric=torus dims=8 link=50GB/s hop=1us");
    struct sc__cluster torus = cluster("fabric=torus dims=4x4 link=50GB/s hop=1us");
    struct sc__shape thirds =
        sc__cluster_shape(&ring, (uint32_t[]){0, 3, 6, 1, 4, 7, 2, 5}, 8);
    struct sc__shape four = sc__cluster_shape(&torus, (uint32_t[]){0, 1, 2, 5}, 4);
    assert_within(us_of(&ring, SC__SHIFT, 8, 1000000), 1 + 20, 1e-6);
    assert_within(sc__us(sc__collective_time(&ring, SC__SHIFT, &thirds, 1000000)),
                  3 + 3 * 20,
                  1e-6);
    assert_within(sc__us(sc__collective_time(&torus, SC__ALLGATHER, &four, 4000000)),
                  3 * (2 + 20),
                  1e-6);
    assert_within(sc__us(sc__collective_time(&torus, SC__BROADCAST, &four, 1000000)),
                  3 * 2 + 20,
                  1e-6);
    /* the first five, placed by nobody: from the fourth to the fifth, a row further on */
    assert_within(us_of(&torus, SC__ALLGATHER, 5, 5000000), 4 * (2 + 20), 1e-6);
    assert_within(us_of(&torus, SC__BROADCAST, 5, 1000000), 4 * 2 + 20, 1e-6);
}

/* A card whose slot is all it has sends n - 1 parts through it, wherever they go. */
static void slots_carry_each_part_once(void **state) {
    (void)state;
    struct sc__cluster c = cluster("gpu=l40s gpus=16 node=8 inside=pcie nvlink=25GB/s "
                                   "nics=8 nic=400Gbps class=ib");
    double us = us_of(&c, SC__ALLTOALL, 9, (uint64_t)9 << 27);
    assert_number(us, >, 8 * (1 << 27) / 25e3);
    assert_number(us, <, 1.2 * 8 * (1 << 27) / 25e3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_with_size),
        cmocka_unit_test(no_cut_is_beaten),
        cmocka_unit_test(longer_with_size),
        cmocka_unit_test(no_cut_of_a_torus_is_beaten),
        cmocka_unit_test(slower_links_never_help),
        cmocka_unit_test(not_below_latency),
        cmocka_unit_test(a_shift_waits_inside),
        cmocka_unit_test(all_reduce_is_two_halves),
        cmocka_unit_test(the_fullest_nic_decides),
        cmocka_unit_test(the_fullest_uplinks_decide),
        cmocka_unit_test(a_ring_off_its_rails),
        cmocka_unit_test(ways_over_dimensions),
        cmocka_unit_test(slots_carry_each_part_once),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
