/* Descriptions of clusters: every form, what follows from them, and what is
 * refused with a place and a hint. */
#include "hardware/cluster_fields.h"
#include "hardware/placement.h"
#include "workload/workload.h"

#include "cluster_text.h"
#include <math.h>

/* The description is refused, and the message or hint has both words. */
static void refused(const char *text, const char *word, const char *other) {
    struct sc__cluster c;
    if (sc__cluster_parse(ctx, text, 0, &c) == SC_OK)
        fail_msg("'%s' was accepted", text);
    if (!strstr(sc_error_text(ctx), word) || !strstr(sc_error_text(ctx), other))
        fail_msg("'%s': %s", text, sc_error_text(ctx));
}

static void presets(void **state) {
    static const struct {
        const char *text;
        uint32_t gpus;
        uint32_t node;
        double nvlink;
        double nic;
        enum sc__fabric_kind kind;
    } wanted[] = {
        {"dgx-a100:512", 512, 8, 300e9, 25e9, SC__FABRIC_RAIL},
        {"dgx-h100:1024", 1024, 8, 450e9, 50e9, SC__FABRIC_RAIL},
        {"hgx-h200:8", 8, 8, 450e9, 50e9, SC__FABRIC_RAIL},
        {"hgx-h800:16", 16, 8, 200e9, 25e9, SC__FABRIC_RAIL},
        {"dgx-b200:64", 64, 8, 900e9, 50e9, SC__FABRIC_RAIL},
        {"gb200-nvl72:576", 576, 72, 900e9, 50e9, SC__FABRIC_RAIL},
        {"hpn:1024", 1024, 8, 200e9, 50e9, SC__FABRIC_HPN},
        {"a100-pcie:8", 8, 8, 25e9, 25e9, SC__FABRIC_FAT_TREE},
        {"tpu-torus", 64, 1, 0, 0, SC__FABRIC_DIMS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct sc__cluster c = cluster(wanted[i].text);
        assert_int_equal(c.gpus, wanted[i].gpus);
        assert_int_equal(c.node_gpus, wanted[i].node);
        assert_true(c.nvlink == wanted[i].nvlink && c.nic == wanted[i].nic);
        assert_int_equal(c.fabric.kind, wanted[i].kind);
        assert_non_null(c.source);
    }
    assert_true(cluster("ideal:64").ideal);
    assert_int_equal(cluster("dgx-h100").gpus, 8);
}

static void size_of_the_job(void **state) {
    struct sc__cluster c;
    (void)state;
    assert_int_equal(sc__cluster_parse(ctx, "dgx-h100", 1024, &c), SC_OK);
    assert_int_equal(c.gpus, 1024);
    assert_int_equal(sc__cluster_parse(ctx, "dgx-h100", 12, &c), SC_OK); /* whole nodes */
    assert_int_equal(c.gpus, 16);
    assert_int_equal(sc__cluster_parse(ctx, "dgx-h100:8", 16, &c), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "16 ranks"));
}

static void torus_of_blocks(void **state) {
    (void)state;
    struct sc__cluster c = cluster("tpu-torus:4096");
    assert_true(c.fabric.dim[0].size == 16 && c.fabric.dim[1].size == 16 &&
                c.fabric.dim[2].size == 16);
    c = cluster("tpu-torus:128");
    assert_int_equal(c.fabric.dim[0].size * c.fabric.dim[1].size * c.fabric.dim[2].size,
                     128);
    refused("tpu-torus:100", "64, 128", "blocks");
}

static void gpus_by_name(void **state) {
    (void)state;
    assert_true(cluster("gpu=H800-SXM").nvlink == 200e9);
    assert_true(cluster("gpu=H20").nvlink == 450e9);
    assert_string_equal(cluster("gpu=H200").generation, "hopper");
    struct sc__cluster c = cluster("gpu=l40s");
    assert_int_equal(c.inside, SC__INSIDE_PCIE);
    assert_true(c.nvlink == 25e9);
}

static void one_line(void **state) {
    (void)state;
    struct sc__cluster c = cluster("gpu=h100 gpus=64 node=4 nvlink=450GB/s nics=2 "
                                   "nic=400Gbps hop=2us fabric=fat-tree leaf=8 "
                                   "oversubscription=3 class=roce");
    assert_int_equal(c.node_gpus, 4);
    assert_int_equal(c.node_nics, 2);
    assert_true(c.nic == 50e9 && c.nic_latency == 2 * SC__PS_PER_US);
    assert_true(c.fabric.oversubscription == 3 && c.fabric.leaf_nodes == 8);
    c = cluster("dgx-h100:64 nic=200Gbps");
    assert_true(c.nic == 25e9 && c.nvlink == 450e9 && c.gpus == 64);
    c = cluster("dims=4x4x2 link=100GB/s hop=1us class=plain");
    assert_int_equal(c.gpus, 32);
    assert_true(c.fabric.dim[2].size == 2 && c.fabric.dim[2].rate == 100e9);
}

static void what_cannot_be(void **state) {
    (void)state;
    refused("dgx-h1000:8", "dgx-h100", "preset");
    refused("gpu=a1000 gpus=8 node=8", "a GPU whose NVLink is known", "is not known");
    refused("dgx-h100:12", "8 or 16", "whole number of nodes");
    refused("dgx-h100:x", "number of GPUs", "dgx-h100:1024");
    refused("dgx-h100:0", "number of GPUs", "");
    refused("gpu=h100 gpus=64 node=8 nvlnk=450GB/s", "nvlnk", "did you mean nvlink");
    refused("gpu=h100 nvlink=fast", "rate", "fast");
    refused("gpu=h100 gpus=16 node=8 nic=0Gbps", "above 0", "nic");
    refused("gpu=h100 gpus=16 node=8", "no NIC", "nics=8");
    refused("gpus=8 node=8", "bandwidth between the GPUs", "nvlink");
    refused("dgx-h100:64 class=token-ring", "token-ring", "roce");
    refused("dgx-h100:4096 leaf=64 ports=64", "ports", "64");
    refused("gpu=h100 nics=8 nic=50GB/s gpus=1024 fabric=dragonfly router-nics=4 "
            "group-routers=4 "
            "global-links=1 "
            "groups=4 node=8",
            "holds 64 NICs",
            "groups");
    refused("gpu=h100 nics=8 nic=50GB/s gpus=64 fabric=dragonfly node=8",
            "dragonfly",
            "groups");
    refused("dims=4x0", "sizes", "4x0");
    refused("dims=4x4 gpus=8 link=1GB/s", "dimensions hold 16", "8 GPUs");
    refused("dims=4x4", "no bandwidth", "dimension");
    refused("oversubscription=0.5 gpu=h100", "1 or more", "0.5");
    refused("", "preset", "");
}

/* --- files ---------------------------------------------------------------- */

static sc_status read_json(const char *text, struct sc__cluster *c) {
    sc_status status = sc__cluster_json(ctx, "c.json", sc__str(text), c);
    return status == SC_OK ? sc__cluster_finish(ctx, c, NULL, 0) : status;
}

static void json_errors(void **state) {
    static const struct {
        const char *text;
        const char *word;
        const char *other;
    } bad[] = {
        {"{", "c.json:1", "error"},
        {"[]", "object", ""},
        {"{\"gpu\": \"h100\",\n \"nodes\": {}}", "c.json:2:2", "unknown key \"nodes\""},
        {"{\"gpu\": \"h100\",\n \"node\": {\"gpuss\": 8}}",
         "c.json:2:11",
         "did you mean \"gpus\""},
        {"{\"node\": {\"gpus\": 0}}", "whole number", "c.json:1"},
        {"{\"node\": {\"gpus\": 8.5}}", "whole number", ""},
        {"{\"node\": {\"nvlink\": true}}", "rate", ""},
        {"{\"node\": 8}", "object", "node"},
        {"{\"schema\": \"other\"}", "stepcast/cluster/1", ""},
        {"{\"gpus\": 8, \"gpus\": 16}", "duplicate", ""},
        {"{\"gpu\": \"h100\", \"fabric\": {\"links\": [[0, 1, \"0Gbps\", \"1us\"]]}}",
         "entry 0",
         ""},
        {"{\"gpu\": \"h100\", \"fabric\": {\"links\": []}}", "list", ""},
        {"{\"gpu\": \"h100\", \"fabric\": {\"dims\": [{\"size\": 4, \"speed\": 1}]}}",
         "dims",
         "rate"},
        {"{\"gpu\": \"h100\", \"collectives\": {\"base\": [1, 2]}}", "3 numbers", "base"},
        {"{\"gpu\": \"h100\", \"collectives\": {\"hop\": -1}}", "number", "hop"},
        {"{\"gpu\": \"h100\", \"collectives\": {\"warp\": 1}}", "unknown key", "warp"},
        {"{\"gpu\": \"h100\"} x", "c.json:1", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__cluster c;
        if (read_json(bad[i].text, &c) != SC_INPUT)
            fail_msg("'%s' was accepted", bad[i].text);
        if (!strstr(sc_error_text(ctx), bad[i].word) ||
            !strstr(sc_error_text(ctx), bad[i].other))
            fail_msg("'%s': %s", bad[i].text, sc_error_text(ctx));
    }
}

static void disconnected_links(void **state) {
    struct sc__cluster c;
    (void)state;
    const char *text =
        "{\"gpu\": \"h100\", \"gpus\": 4, \"node\": {\"gpus\": 2, \"nic\": "
        "\"50GB/s\"}, \"fabric\": {\"switches\": 1, "
        "\"links\": [[0, 4, \"50GB/s\", \"1us\"], [1, 4, \"50GB/s\", \"1us\"], [2, "
        "4, \"50GB/s\", \"1us\"]]}}";
    assert_int_equal(read_json(text, &c), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "GPU 3"));
}

/* Written and read again, a cluster gives the same costs as before. */
static void written_and_read(void **state) {
    static const char *const texts[] = {"dgx-h100:64",
                                        "hpn:128",
                                        "tpu-torus",
                                        "gb200-nvl72:144",
                                        "tests/data/clusters/spectrum-16.topo",
                                        "tests/data/clusters/astra-2d.yml"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sc__cluster a = cluster(texts[i]);
        struct sc__cluster b;
        struct sc__buffer text;
        sc__buffer_init(&text, &ctx->arena);
        sc__cluster_write(&a, NULL, &text);
        if (read_json(text.text, &b) != SC_OK)
            fail_msg("%s: %s\n%s", texts[i], sc_error_text(ctx), text.text);
        for (int coll = 0; coll < SC__COLLS; coll++)
            for (uint64_t bytes = 8; bytes < (uint64_t)1 << 32; bytes *= 16) {
                struct sc__shape s = sc__cluster_shape(&a, NULL, a.gpus);
                struct sc__shape t = sc__cluster_shape(&b, NULL, b.gpus);
                assert_true(sc__collective_time(&a, coll, &s, bytes) ==
                            sc__collective_time(&b, coll, &t, bytes));
            }
    }
}

static void simai_topology(void **state) {
    (void)state;
    struct sc__cluster c = cluster("tests/data/clusters/spectrum-16.topo");
    assert_int_equal(c.gpus, 16);
    assert_int_equal(c.node_gpus, 8);
    assert_string_equal(c.gpu, "h100");
    assert_true(c.nvlink == 360e9 && c.nic == 50e9);
    assert_int_equal(c.fabric.link_count, 56);
    assert_int_equal(c.fabric.nvswitches, 2);
    assert_int_equal(c.fabric.switches, 12);
    assert_true(c.fabric.links[0].latency == 25 * SC__PS_PER_NS);
}

static void simai_errors(void **state) {
    static const struct {
        const char *text;
        const char *word;
    } bad[] = {
        {"", "empty"},
        {"hello", "topology"},
        {"3 2 1 0 2 A100\n2\n0 2 1Gbps 0ms 0\n", "links"},
        {"3 2 1 0 1 A100\n2\n0 2 1Gbps 0ms 0\n1 2 1Gbps 0ms 0\n", "links"},
        {"3 2 1 0 2 A100\n2\n0 2 1Gbps 0ms 0\n1 3 1Gbps 0ms 0\n", "devices"},
        {"3 2 1 0 2 A100\n2\n0 2 0Gbps 0ms 0\n1 2 1Gbps 0ms 0\n", "rate"},
        {"3 2 1 0 2 A100\n2\n0 2 1Gbps 5 0\n1 2 1Gbps 0ms 0\n", "delay"},
        {"3 2 1 0 2 A100\n2\n0 2 1Gbps 0ms\n1 2 1Gbps 0ms 0\n", "fields"},
        {"3 2 1 0 2 A100\n2 2\n", "twice"},
        {"3 2 1 0 2 A100\n1\n", "switch"},
        {"3 2 3 0 2 A100\n1\n", "no GPUs"},
        {"3 2 1 0 2 A100 x\n2\n", "'x' a node"},
        {"3 2 1 0 2 A100 4\n2\n", "'4' a node"},
        {"3 2 1 0 2 A100 2 2\n2\n", "seven"},
        {"999999999999 2 1 0 2 A100\n2\n", "count"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__cluster c;
        if (sc__cluster_simai(ctx, "t", sc__str(bad[i].text), &c) != SC_INPUT)
            fail_msg("'%s' was accepted", bad[i].text);
        if (!strstr(sc_error_text(ctx), bad[i].word))
            fail_msg("'%s': %s", bad[i].text, sc_error_text(ctx));
    }
}

static void astra_network(void **state) {
    (void)state;
    struct sc__cluster c = cluster("tests/data/clusters/astra-2d.yml");
    assert_int_equal(c.gpus, 32);
    assert_int_equal(c.fabric.dims, 2);
    assert_int_equal(c.fabric.dim[1].kind, SC__DIM_SWITCH);
    assert_true(c.fabric.dim[0].rate == 100 * 0x1p30 &&
                c.fabric.dim[1].latency == 2 * SC__PS_PER_US); /* to the switch, from it */
    /* the closed form of a ring on the innermost dimension alone */
    struct sc__shape s = sc__cluster_shape(&c, NULL, 8);
    c.tuning.algo = SC__ALGO_RING;
    double ring = 14 * (0.5 + 0x1p26 / 8 / (100 * 0x1p30) * 1e6);
    assert_true(fabs(sc__us(sc__collective_time(&c, SC__ALLREDUCE, &s, 1 << 26)) - ring) <
                1e-5);
}

static void astra_errors(void **state) {
    static const struct {
        const char *text;
        const char *word;
    } bad[] = {
        {"topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\n", "latency"},
        {"topology: [ Ring, Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n",
         "npus_count"},
        {"topology: [ Mesh ]\n", "FullyConnected"},
        {"topology: [ Ring ]\nnpus_counts: [ 8 ]\n", "did you mean npus_count"},
        {"topology: [ Ring ]\nnpus_count: [ 0 ]\n", "NPUs"},
        {"topology: [ Ring ]\nbandwidth: [ -1 ]\n", "GiB/s"},
        {"topology: [ Ring\n", "2:"},
        {"topology: {a: b}\n", "list"},
        {"- topology\n", "mapping"},
        {"topology: [ Ring ]\ntopology: [ Ring ]\n", "twice"},
        {"topology: [Ring,Ring,Ring,Ring,Ring,Ring,Ring]\n", "dimensions"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__cluster c;
        if (sc__cluster_astra(ctx, "n.yml", sc__str(bad[i].text), &c) != SC_INPUT)
            fail_msg("'%s' was accepted", bad[i].text);
        if (!strstr(sc_error_text(ctx), bad[i].word))
            fail_msg("'%s': %s", bad[i].text, sc_error_text(ctx));
    }
}

/* --- groups ------------------------------------------------------------------ */

static void shape_is(const struct sc__cluster *c,
                     const uint32_t *gpu,
                     uint32_t n,
                     uint32_t nodes,
                     uint32_t most,
                     uint32_t least,
                     uint32_t nics) {
    struct sc__shape s = sc__cluster_shape(c, gpu, n);
    assert_int_equal(s.ranks, n);
    assert_int_equal(s.nodes, nodes);
    assert_int_equal(s.per_node, most);
    assert_int_equal(s.least, least);
    assert_int_equal(s.nics, nics);
}

static void groups_on_nodes(void **state) {
    (void)state;
    struct sc__cluster eight = cluster("dgx-h100:64");
    struct sc__cluster four =
        cluster("gpu=h100 gpus=64 node=8 nics=4 nic=400Gbps class=ib");
    shape_is(&eight, NULL, 16, 2, 8, 8, 8);                      /* tp 16 over two nodes */
    shape_is(&eight, (uint32_t[]){0, 8, 16, 24}, 4, 4, 1, 1, 1); /* dp on a rail */
    shape_is(&eight, (uint32_t[]){4, 5, 6, 7, 8, 9, 10, 11}, 8, 2, 4, 4, 4); /* straddles */
    shape_is(&eight, (uint32_t[]){0, 1, 2, 8}, 4, 2, 3, 1, 1);               /* uneven */
    shape_is(&eight, (uint32_t[]){8, 0, 9, 1}, 4, 2, 2, 2, 2);               /* any order */
    shape_is(&eight, NULL, 12, 2, 8, 4, 4);                   /* not whole nodes */
    shape_is(&four, NULL, 8, 1, 8, 8, 4);                     /* two GPUs a NIC */
    shape_is(&four, (uint32_t[]){0, 1, 8, 9}, 4, 2, 2, 2, 1); /* both on NIC 0 */
    shape_is(&four, (uint32_t[]){0, 2, 8, 10}, 4, 2, 2, 2, 2);
}

static void groups_on_leaves(void **state) {
    (void)state;
    struct sc__cluster c = cluster("dgx-h100:1024"); /* segments of 32 nodes = 256 GPUs */
    assert_int_equal(sc__cluster_shape(&c, NULL, 256).leaves, 1);
    assert_int_equal(sc__cluster_shape(&c, NULL, 264).leaves, 2);
    assert_int_equal(sc__cluster_shape(&c, (uint32_t[]){0, 255, 256, 1023}, 4).leaves, 3);
}

static void middle(void **state) {
    (void)state;
    struct sc__cluster c = cluster("dgx-h100:1024");
    assert_true(sc__cluster_bisection(&c) == 64 * 8 * 50e9);
    c = cluster("dgx-h100:1024 oversubscription=4");
    assert_true(sc__cluster_bisection(&c) == 16 * 8 * 50e9);
    c = cluster("dims=4x4x4 link=50GB/s");
    assert_true(sc__cluster_bisection(&c) == 16 * 2 * 50e9);
    /* four groups of 6 global links, 2 to each other group: 4 pairs across the middle */
    c = cluster("gpu=h100 gpus=64 node=8 nvlink=450GB/s nics=4 nic=400Gbps class=ib "
                "fabric=dragonfly router-nics=4 group-routers=2 global-links=3 groups=4");
    assert_number(sc__cluster_bisection(&c), ==, 4 * 2 * 50e9);
}

static void drawing(void **state) {
    struct sc__buffer b;
    (void)state;
    struct sc__cluster c = cluster("dgx-h100:1024");
    sc__buffer_init(&b, &ctx->arena);
    sc__cluster_show(&c, &b);
    assert_non_null(strstr(b.text, "1024 GPUs"));
    assert_non_null(strstr(b.text, "128 nodes"));
    assert_non_null(strstr(b.text, "4 segment"));
    assert_non_null(strstr(b.text, "450 GB/s"));
    assert_non_null(strstr(b.text, "25.6 TB/s"));
}

/* --- rank files --------------------------------------------------------------- */

static const char *write_temporary(const char *text) {
    static char path[] = "/tmp/stepcast-ranks-XXXXXX";
    static char name[sizeof path];
    memcpy(name, path, sizeof path);
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return name;
}

static sc_status read_ranks(const char *text, uint32_t ranks, struct sc__cluster *c) {
    *c = cluster("dgx-h100:16");
    const char *path = write_temporary(text);
    sc_status status = sc__placement_read(ctx, path, ranks, c);
    unlink(path);
    return status;
}

static void rank_files(void **state) {
    struct sc__cluster c;
    (void)state;
    assert_int_equal(read_ranks("8\n0\n\n# comment\n1:1\n0:7 # last\n", 4, &c), SC_OK);
    assert_int_equal(sc__cluster_gpu(&c, 0), 8);
    assert_int_equal(sc__cluster_gpu(&c, 1), 0);
    assert_int_equal(sc__cluster_gpu(&c, 2), 9);
    assert_int_equal(sc__cluster_gpu(&c, 3), 7);
    assert_int_equal(sc__cluster_node(&c, 2), 1);
    assert_int_equal(read_ranks("rank 1=a slot=0\nrank 0=b slot=3\n", 2, &c), SC_OK);
    assert_int_equal(sc__cluster_gpu(&c, 0), 11);
    assert_int_equal(sc__cluster_gpu(&c, 1), 0);
}

static void rank_file_errors(void **state) {
    static const char *const bad[][2] = {{"0\n0\n", "already"},
                                         {"0\n", "ranks placed: 1"},
                                         {"0\n16\n", "16 GPUs"},
                                         {"0\nx\n", "place"},
                                         {"0\n0:9\n", "place"},
                                         {"0\n1\n2\n", "the job has only 2 ranks"},
                                         {"rank 0=a slot=0\nrank 0=a slot=1\n", "twice"},
                                         {"rank a\n0\n", "place"},
                                         {"", "ranks placed: 0"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__cluster c;
        assert_int_equal(read_ranks(bad[i][0], 2, &c), SC_INPUT);
        if (!strstr(sc_error_text(ctx), bad[i][1]))
            fail_msg("'%s': %s", bad[i][0], sc_error_text(ctx));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets),          cmocka_unit_test(size_of_the_job),
        cmocka_unit_test(one_line),         cmocka_unit_test(gpus_by_name),
        cmocka_unit_test(torus_of_blocks),  cmocka_unit_test(what_cannot_be),
        cmocka_unit_test(json_errors),      cmocka_unit_test(disconnected_links),
        cmocka_unit_test(written_and_read), cmocka_unit_test(simai_topology),
        cmocka_unit_test(simai_errors),     cmocka_unit_test(astra_network),
        cmocka_unit_test(astra_errors),     cmocka_unit_test(groups_on_nodes),
        cmocka_unit_test(groups_on_leaves), cmocka_unit_test(middle),
        cmocka_unit_test(drawing),          cmocka_unit_test(rank_files),
        cmocka_unit_test(rank_file_errors),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
