#include "graph_helpers.h"

#include "command/job.h"
#include "frontend/formats.h"
#include "frontend/reader.h"
#include "network/astra/astra.h"
#include "simulate/simulate.h"

#include <sys/stat.h>

extern const struct sc__reader sc__reader_chakra;

static struct sc_context *ctx;
static char *dir;

static int setup(void **state) {
    (void)state;
    ctx = sc_open();
    dir = temporary_directory();
    return ctx ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    remove_directory(dir);
    sc_close(ctx);
    return 0;
}

/* ---- bytes of a trace, made here ---- */

struct bytes {
    unsigned char data[4096];
    size_t n;
};

static void varint(struct bytes *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        b->data[b->n++] = (unsigned char)(v | 0x80);
    b->data[b->n++] = (unsigned char)v;
}

static void blob(struct bytes *b, unsigned field, const void *s, size_t n) {
    varint(b, field << 3 | 2);
    varint(b, n);
    memcpy(b->data + b->n, s, n);
    b->n += n;
}

static void frame(struct bytes *file, const struct bytes *message) {
    varint(file, message->n);
    memcpy(file->data + file->n, message->data, message->n);
    file->n += message->n;
}

static void metadata(struct bytes *file) {
    struct bytes m = {.n = 0};
    blob(&m, 1, "0.0.4", 5);
    frame(file, &m);
}

enum { COMP = 4, SEND, RECV, COLL };

struct node {
    uint64_t id;
    unsigned type;
    int dep; /* −1: none */
    uint64_t size;
    unsigned peer;
    unsigned tag;
    unsigned coll;
    uint64_t duration;
    const char *group;
    const char *dims; /* of the network that take part: "\1\0" */
};

static void number(struct bytes *node, const char *name, unsigned field, uint64_t v) {
    struct bytes a = {.n = 0};
    blob(&a, 1, name, strlen(name));
    varint(&a, field << 3);
    varint(&a, v);
    blob(node, 10, a.data, a.n);
}

static void add(struct bytes *file, struct node n) {
    struct bytes b = {.n = 0};
    struct bytes deps = {.n = 0};
    struct bytes group = {.n = 0};
    varint(&b, 1 << 3);
    varint(&b, n.id);
    blob(&b, 2, "op", 2);
    varint(&b, 3 << 3);
    varint(&b, n.type);
    if (n.dep >= 0) {
        varint(&deps, (uint64_t)n.dep);
        blob(&b, 5, deps.data, deps.n);
    }
    if (n.duration) {
        varint(&b, 7 << 3);
        varint(&b, n.duration);
    }
    if (n.type >= SEND)
        number(&b, "comm_size", 9, n.size);
    if (n.type == SEND) {
        number(&b, "comm_dst", 7, n.peer);
        number(&b, "comm_tag", 7, n.tag);
    }
    if (n.type == RECV) {
        number(&b, "comm_src", 11, n.peer);
        number(&b, "comm_tag", 13, n.tag);
    }
    if (n.type == COLL)
        number(&b, "comm_type", 9, n.coll);
    if (n.group) {
        blob(&group, 1, "pg_name", 7);
        blob(&group, 29, n.group, strlen(n.group));
        blob(&b, 10, group.data, group.n);
    }
    if (n.dims) {
        struct bytes list = {.n = 0};
        struct bytes attribute = {.n = 0};
        blob(&list, 1, n.dims, 2);
        blob(&attribute, 1, "involved_dim", 12);
        blob(&attribute, 28, list.data, list.n);
        blob(&b, 10, attribute.data, attribute.n);
    }
    frame(file, &b);
}

static void save(const char *name, const void *bytes, size_t n) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static sc_status read_dir(struct sc__workload **w) {
    struct sc__document doc = {0};
    const char *path = dir;
    sc_status s = sc__reader_chakra.read(ctx, NULL, &path, 1, &doc);
    *w = doc.workload;
    return s;
}

static int64_t run(const struct sc__workload *w, const struct sc__net *net) {
    struct sc__sim sim;
    OK(ctx, sc__simulate(ctx, w, net, NULL, &sim));
    for (uint32_t c = 0; c < w->class_count; c++) {
        const struct sc__account *a = &sim.classes[c].account;
        int64_t sum = a->compute + a->recompute + a->bubble + a->skew + a->other;
        for (uint32_t g = 0; g <= w->group_count; g++)
            sum += a->exposed[g];
        assert_int_equal(sum, sim.step);
    }
    return sim.step;
}

/* ---- what must be refused ---- */

static struct node coll(uint64_t id, uint64_t size) {
    return (struct node){.id = id, .type = COLL, .dep = -1, .size = size};
}

/* Two ranks from two lists of nodes; what the error says. */
static void refuse(const struct node *a,
                   unsigned na,
                   const struct node *b,
                   unsigned nb,
                   const char *expect) {
    struct bytes f0 = {.n = 0};
    struct bytes f1 = {.n = 0};
    struct sc__workload *w;
    metadata(&f0);
    metadata(&f1);
    for (unsigned i = 0; i < na; i++)
        add(&f0, a[i]);
    for (unsigned i = 0; i < nb; i++)
        add(&f1, b[i]);
    save("x.0.et", f0.data, f0.n);
    save("x.1.et", f1.data, f1.n);
    sc_status s = read_dir(&w);
    if (s != SC_INPUT || !strstr(sc_error_text(ctx), expect))
        fail_msg("status %d, \"%s\" lacks \"%s\"", s, sc_error_text(ctx), expect);
}

static void bad_graphs_are_refused(void **state) {
    (void)state;
    struct node comp = {.id = 1, .type = COMP, .dep = -1, .duration = 5};
    struct node other = comp;
    struct node third = comp;
    struct node send = {.id = 3, .type = SEND, .dep = -1, .size = 100, .peer = 1, .tag = 9};
    struct node recv = {.id = 4, .type = RECV, .dep = -1, .size = 100, .peer = 0, .tag = 9};
    other.dep = 77;
    refuse(&other, 1, &comp, 1, "node 1 'op': depends on node 77, which does not exist");
    other.dep = 1;
    refuse(&other, 1, &comp, 1, "depends on itself");
    other = (struct node){.id = 2, .type = COMP, .dep = 3};
    third = (struct node){.id = 3, .type = COMP, .dep = 2};
    refuse((struct node[]){other, third}, 2, &comp, 1, "a cycle");
    refuse((struct node[]){comp, comp}, 2, &comp, 1, "node 1 'op': the id is used twice");
    refuse(&send, 1, &comp, 1, "x.0.et:byte 9: error: node 3 'op': no receive on rank 1");
    refuse(&comp, 1, &recv, 1, "no send on rank 0");
    recv.size = 50;
    refuse(&send,
           1,
           &recv,
           1,
           "this send of 100 bytes is matched with node 4 'op' of rank 1");
    recv.size = 100;
    recv.tag = 8;
    refuse(&send, 1, &recv, 1, "no receive on rank 1");
    send.peer = 2;
    refuse(&send, 1, &comp, 1, "rank 2 is not another one of the 2 ranks");
    refuse(
        (struct node[]){coll(1, 64), coll(2, 64)},
        2,
        (struct node[]){coll(1, 64)},
        1,
        "node 2 'op': ALLREDUCE of 64 bytes, number 2 of its group, is missing on rank 1");
    refuse((struct node[]){coll(1, 64)},
           1,
           (struct node[]){coll(1, 65)},
           1,
           "is matched with node 1 'op' of rank 1");
    struct node gather = coll(1, 64);
    gather.coll = 10;
    refuse(&gather, 1, &gather, 1, "comm_type 10 is not known");
    gather.coll = 0;
    gather.group = "5";
    refuse(&gather, 1, &gather, 1, "process group '5' is not defined");
    struct node part = coll(1, 64);
    part.dims = "\1\0";
    refuse(&part, 1, &part, 1, "runs over some dimensions of a network alone");
    comp.type = 9;
    refuse(&comp, 1, &comp, 1, "unknown type");
    save("x.json", "{\"5\": [0, 7]}", 13);
    comp.type = COMP;
    refuse(&comp, 1, &comp, 1, "process group '5': member 1");
    save("x.json", "{\"5\": [0]}", 10);
    gather.coll = 0;
    refuse(&gather, 1, &gather, 1, "rank 1 is not in its process group");
}

/* All dimensions are the world, and a process group says more than dimensions. */
static void dimensions_beside_groups(void **state) {
    (void)state;
    struct node all = coll(1, 64);
    struct node part = coll(2, 64);
    struct bytes f = {.n = 0};
    struct sc__workload *w;
    all.dims = "\1\1";
    part.dims = "\1\0";
    part.group = "5";
    metadata(&f);
    add(&f, all);
    add(&f, part);
    save("x.json", "{\"5\": [0, 1]}", 13);
    save("x.0.et", f.data, f.n);
    save("x.1.et", f.data, f.n);
    save("x.2.et", f.data, f.n);
    assert_int_equal(read_dir(&w), SC_INPUT); /* rank 2 is not in group 5 */
    save("x.json", "{\"5\": [0, 1, 2]}", 16);
    OK(ctx, read_dir(&w));
    const struct sc__op *ops = w->ops + sc__rank_block(w, 1)->first_op;
    assert_int_equal(sc__group_size(w, ops[0].group), 3);
    assert_int_equal(sc__group_size(w, ops[1].group), 3);
}

/* Every collective of the schema; a gather names the shard, a scatter the whole. */
static void all_collectives_are_read(void **state) {
    (void)state;
    static const struct {
        uint8_t coll;
        uint64_t bytes;
    } want[] = {{SC__ALLREDUCE, 64},
                {SC__REDUCE, 64},
                {SC__ALLGATHER, 128},
                {SC__GATHER, 128},
                {SC__SCATTER, 64},
                {SC__BROADCAST, 64},
                {SC__ALLTOALL, 64},
                {SC__REDUCESCATTER, 64},
                {SC__REDUCESCATTER, 64},
                {SC__BARRIER, 64}};
    for (unsigned i = 0; i < sizeof want / sizeof *want; i++) {
        struct bytes f = {.n = 0};
        struct sc__workload *w;
        struct node n = coll(1, 64);
        n.coll = (uint8_t)i;
        metadata(&f);
        add(&f, n);
        save("x.0.et", f.data, f.n);
        save("x.1.et", f.data, f.n);
        OK(ctx, read_dir(&w));
        assert_int_equal(w->ops[0].coll, want[i].coll);
        assert_int_equal(w->ops[0].bytes, want[i].bytes);
        if (sc__coll_rooted(want[i].coll))
            assert_int_equal(w->ops[0].peer, 0);
    }
}

static void missing_ranks_are_named(void **state) {
    (void)state;
    struct bytes f = {.n = 0};
    struct sc__workload *w;
    metadata(&f);
    add(&f, coll(1, 64));
    save("x.0.et", f.data, f.n);
    save("x.2.et", f.data, f.n);
    assert_int_equal(read_dir(&w), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "the file of rank 1 is missing"));
}

/* A duration in ten bytes whose last has bits beyond the 64th, or in eleven; an int32 of
 * more than 32 bits: what is left of them would be another number. */
static void too_wide_numbers_are_refused(void **state) {
    static const char *const says[] = {"a number of more than 64 bits",
                                       "a number of more than 64 bits",
                                       "an attribute that must be a number"};
    static const unsigned char last[] = {2, 0, 1};
    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        struct bytes f = {.n = 0};
        struct bytes node = {.n = 0};
        struct sc__workload *w;
        metadata(&f);
        varint(&node, 1 << 3);
        varint(&node, 1);
        varint(&node, 3 << 3);
        varint(&node, COMP);
        if (k == 2)
            number(&node, "num_ops", 7, 5 + ((uint64_t)1 << 40));
        varint(&node, 7 << 3);
        for (unsigned i = 0; i < 9 + (k == 1); i++)
            node.data[node.n++] = 0x80;
        node.data[node.n++] = last[k];
        frame(&f, &node);
        save("x.0.et", f.data, f.n);
        save("x.1.et", f.data, f.n);
        assert_int_equal(read_dir(&w), SC_INPUT);
        assert_non_null(strstr(sc_error_text(ctx), says[k]));
    }
}

/* A file cut at any byte is an error, or ends between two messages and then
 * lacks what the other rank waits for. */
static void cut_files_are_refused(void **state) {
    (void)state;
    struct bytes f0 = {.n = 0};
    struct bytes f1 = {.n = 0};
    struct sc__workload *w;
    metadata(&f0);
    metadata(&f1);
    for (unsigned i = 0; i < 4; i++) {
        add(&f0, coll(i, 64));
        add(&f1, coll(i, 64));
    }
    save("x.1.et", f1.data, f1.n);
    for (size_t n = 0; n < f0.n; n++) {
        save("x.0.et", f0.data, n);
        assert_int_equal(read_dir(&w), SC_INPUT);
    }
    save("x.0.et", f0.data, f0.n);
    OK(ctx, read_dir(&w));
}

static void damaged_bytes_do_no_harm(void **state) {
    (void)state;
    struct bytes f0 = {.n = 0};
    struct bytes f1 = {.n = 0};
    struct sc__workload *w;
    metadata(&f0);
    metadata(&f1);
    for (unsigned i = 0; i < 3; i++) {
        add(&f0, coll(i, 64));
        add(&f1, coll(i, 64));
    }
    save("x.1.et", f1.data, f1.n);
    for (size_t i = 0; i < f0.n; i++)
        for (unsigned flip = 1; flip < 256; flip *= 2) {
            f0.data[i] ^= (unsigned char)flip;
            save("x.0.et", f0.data, f0.n);
            sc_status s = read_dir(&w);
            assert_true(s == SC_OK || s == SC_INPUT);
            f0.data[i] ^= (unsigned char)flip;
        }
}

/* ---- what must come back ---- */

static void workloads_come_back(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct sc__workload *w = random_workload(ctx, seed);
        struct sc__workload *back;
        const struct sc__workload *expanded;
        for (uint32_t i = 0; i < w->op_count; i++)
            w->ops[i].cost += w->ops[i].kind == SC__OP_COMPUTE ? 7 : 0; /* ps */
        OK(ctx, sc__workload_expand(ctx, w, &expanded));
        OK(ctx, sc__write_chakra(ctx, w, dir));
        OK(ctx, read_dir(&back));
        same_workload(expanded, back);
        for (uint32_t i = 0; i < back->op_count; i++) {
            const struct sc__op *a = &expanded->ops[i];
            const struct sc__op *b = &back->ops[i];
            assert_string_equal(expanded->names.text[a->name], back->names.text[b->name]);
            assert_int_equal(a->phase, b->phase);
            assert_int_equal(a->work, b->work);
            assert_int_equal(a->layer, b->layer);
            assert_int_equal(a->flags, b->flags);
        }
        remove_directory(dir);
        assert_int_equal(mkdir(dir, 0700), 0);
    }
}

static void seeds_come_back(void **state) {
    (void)state;
    for (unsigned i = 0; i < SEED_JOBS; i++) {
        const struct sc__workload *w = seed_workload(ctx, i);
        const struct sc__workload *expanded;
        struct sc__workload *back;
        OK(ctx, sc__workload_expand(ctx, w, &expanded));
        OK(ctx, sc__write_chakra(ctx, w, dir));
        OK(ctx, read_dir(&back));
        same_workload(expanded, back);
        remove_directory(dir);
        assert_int_equal(mkdir(dir, 0700), 0);
    }
}

/* A job of blocks and classes takes as long as the graph made of it. */
static void a_graph_takes_as_long_as_its_workload(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct sc__workload *w = random_workload(ctx, seed);
        const struct sc__workload *expanded;
        struct sc__cluster cluster;
        struct sc__net net;
        struct sc__net graph_net;
        struct sc__sim sim;
        OK(ctx, sc__cluster_parse(ctx, "ideal", sc__mesh_ranks(&w->mesh), &cluster));
        OK(ctx, sc__net_analytic(ctx, &cluster, w, &net));
        OK(ctx, sc__simulate(ctx, w, &net, NULL, &sim));
        OK(ctx, sc__workload_expand(ctx, w, &expanded));
        OK(ctx, sc__net_analytic(ctx, &cluster, expanded, &graph_net));
        assert_int_equal(run(expanded, &graph_net), sim.step);
    }
}

/* A METADATA node that lists the process groups, and compute that is timed by
 * the roofline of the GPU: 989.4 TFLOP/s and 3.35 TB/s of an H100 where nothing says,
 * 312 TFLOP/s and 2.039 TB/s of the A100 of a cluster. */
static void groups_and_times_from_the_nodes(void **state) {
    (void)state;
    struct bytes f = {.n = 0};
    struct bytes m = {.n = 0};
    struct bytes in = {.n = 0};
    struct bytes c = {.n = 0};
    static const char groups[] = "['[{\"pg_name\": \"4\", \"ranks\": [1, 0]}]']";
    struct sc__workload *w;
    struct node a = coll(2, 64);
    metadata(&f);
    varint(&m, 1 << 3);
    varint(&m, 1);
    varint(&m, 3 << 3);
    varint(&m, 1);
    blob(&in, 1, groups, sizeof groups - 1);
    blob(&m, 8, in.data, in.n);
    frame(&f, &m);
    a.group = "4";
    add(&f, a);
    varint(&c, 1 << 3);
    varint(&c, 3);
    varint(&c, 3 << 3);
    varint(&c, COMP);
    number(&c, "num_ops", 9, 989400000000);
    number(&c, "tensor_size", 13, 1000);
    frame(&f, &c);
    c.n = 0;
    varint(&c, 1 << 3);
    varint(&c, 4);
    varint(&c, 3 << 3);
    varint(&c, 2);
    number(&c, "tensor_size", 13, 3350000000);
    frame(&f, &c);
    save("x.0.et", f.data, f.n);
    save("x.1.et", f.data, f.n);
    OK(ctx, read_dir(&w));
    const struct sc__op *ops = w->ops + sc__rank_block(w, 1)->first_op;
    assert_int_equal(sc__group_size(w, ops[1].group), 2);
    assert_int_equal(sc__group_member(w, ops[1].group, 0, 0), 1);
    assert_int_equal(ops[2].cost, 1000000000); /* 1 ms */
    assert_int_equal(ops[3].cost, 1000000000); /* a load of 3.35 GB */
    const sc_setting cluster = {"cluster", "dgx-a100:8"};
    struct sc__setting_list list = {&cluster, 1};
    struct sc__settings settings = sc__settings_of(ctx, &list);
    const char *path = dir;
    struct sc__document doc = {0};
    OK(ctx, sc__reader_chakra.read(ctx, &settings, &path, 1, &doc));
    ops = doc.workload->ops + sc__rank_block(doc.workload, 1)->first_op;
    assert_int_equal(ops[2].cost, llround(989.4e9 / 312e12 * 1e12));
    assert_int_equal(ops[3].cost, llround(3.35e9 / 2.039e12 * 1e12));
}

/* ---- ASTRA-sim ---- */

static void astra_files(uint32_t npus, const char *system) {
    char text[512];
    int n = snprintf(
        text,
        sizeof text,
        "topology: [ Ring ]\nnpus_count: [ %u ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
        npus);
    save("net.yml", text, (size_t)n);
    save("sys.json", system, strlen(system));
}

static const char system_text[] = "{\"endpoint-delay\": 10, \"local-mem-bw\": 50, "
                                  "\"all-reduce-implementation\": [\"ring\"]}";

static struct sc__workload *
one_collective(uint32_t ranks, enum sc__coll kind, uint64_t bytes) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "test");
    w->mesh = sc__mesh(1, 1, 1, ranks, 1, 0);
    sc__block_begin(w);
    struct sc__op *op = sc__block_add(w, SC__OP_COLLECTIVE, SC__FORWARD, 1, "coll");
    op->coll = (uint8_t)kind;
    op->bytes = bytes;
    op->group = sc__workload_group(w, SC__GROUP_WORLD);
    uint32_t block = sc__block_end(w);
    uint32_t program = sc__program_begin(w);
    sc__program_call(w, block, SC__NONE, 0, 0);
    sc__class_add(w, program, 0, ranks, 0);
    const struct sc__workload *expanded;
    OK(ctx, sc__workload_expand(ctx, w, &expanded));
    return (struct sc__workload *)(uintptr_t)expanded;
}

static int64_t astra_time(const struct sc__workload *w, bool compat) {
    struct sc__net net;
    OK(ctx,
       sc__net_astra(ctx,
                     sc__format(&ctx->arena, "%s/net.yml", dir),
                     sc__format(&ctx->arena, "%s/sys.json", dir),
                     compat,
                     w,
                     &net));
    return run(w, &net);
}

static void astra_closed_forms_to_the_nanosecond(void **state) {
    (void)state;
    const int64_t sizes[] = {8, 16, 64, 256, 1024};
    const double b = 50.0 * 1073741824.0 / 1e9;
    const double s = 1048576;
    for (unsigned i = 0; i < 5; i++) {
        int64_t n = sizes[i];
        int64_t e = 10;
        double dn = (double)n;
        int64_t wire = (int64_t)(500 + s / (dn * b));
        int64_t memory = (int64_t)(s / (dn * 50));
        int64_t shard = (int64_t)(500 + s / b);
        astra_files((uint32_t)n, system_text);
        assert_int_equal(
            astra_time(one_collective((uint32_t)n, SC__ALLREDUCE, 1 << 20), true),
            1000 * (2 * (n - 1) * wire + 3 * (n - 1) * memory + (2 * n - 1) * e));
        assert_int_equal(
            astra_time(one_collective((uint32_t)n, SC__REDUCESCATTER, 1 << 20), true),
            1000 * ((n - 1) * wire + 3 * (n - 1) * memory + n * e));
        assert_int_equal(
            astra_time(one_collective((uint32_t)n, SC__ALLGATHER, (uint64_t)n << 20), true),
            1000 * ((n - 1) * shard + n * e));
    }
}

/* What its binary answers for 8 NPUs, 1 MB (specification of the format). */
static void astra_answers_for_eight(void **state) {
    (void)state;
    astra_files(8, system_text);
    assert_int_equal(astra_time(one_collective(8, SC__ALLREDUCE, 1 << 20), true), 96365000);
    assert_int_equal(astra_time(one_collective(8, SC__REDUCESCATTER, 1 << 20), true),
                     75708000);
    assert_int_equal(astra_time(one_collective(8, SC__ALLGATHER, 8 << 20), true),
                     140297000);
    /* physically: 14 steps of 500 ns and 128 KiB at 50 GB/s */
    assert_int_equal(astra_time(one_collective(8, SC__ALLREDUCE, 1 << 20), false),
                     14 * (500000 + 2621440));
}

/* Two dimensions: reduce-scatter inwards, all-gather back, each dimension with
 * what the one before left: 2 · (3(100 + S/4/100) + (2 · 1000 + S/4/2/50)) ns, for a
 * message crosses two links behind a switch. */
static void astra_dimensions_follow_each_other(void **state) {
    (void)state;
    static const char network[] =
        "topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ "
        "100, 50 ]\nlatency: [ 100, 1000 ]\n";
    astra_files(8, "{}");
    save("net.yml", network, strlen(network));
    assert_int_equal(astra_time(one_collective(8, SC__ALLREDUCE, 1 << 20), false),
                     25571520);
}

static bool noted(const char *text) {
    for (uint32_t i = 0; i < ctx->note_count; i++)
        if (strstr(ctx->notes[i].text, text))
            return true;
    return false;
}

static void astra_keys_that_do_not_count_are_named(void **state) {
    (void)state;
    astra_files(8, "{\"boost-mode\": 1, \"endpoint-dely\": 3, \"endpoint-delay\": 10}");
    astra_time(one_collective(8, SC__ALLREDUCE, 1 << 20), false);
    assert_true(noted("'boost-mode' does not count"));
    assert_true(noted("'endpoint-dely' does not count (did you mean 'endpoint-delay'?)"));
    assert_true(noted("2^30"));
    assert_true(noted("endpoint-delay (10 ns)"));
}

static void astra_files_are_checked(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"topology: [ Ring ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n",
         "'npus_count' has 2"},
        {"topology: [ Torus ]\n", "unknown topology 'Torus'"},
        {"topology: [ Ring ]\nnpus_count: [ x ]\n", ":2:15: "},
        {"- 1\n", "not a network description"},
        {"topology: [", "not YAML"},
        {"topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\nlatency: [ 5 ]\n",
         "4 NPUs, but the job has 8"}};
    struct sc__net net;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        save("net.yml", bad[i][0], strlen(bad[i][0]));
        sc_status s = sc__net_astra(ctx,
                                    sc__format(&ctx->arena, "%s/net.yml", dir),
                                    NULL,
                                    true,
                                    one_collective(8, SC__ALLREDUCE, 8),
                                    &net);
        if (s != SC_INPUT || !strstr(sc_error_text(ctx), bad[i][1]))
            fail_msg("\"%s\" lacks \"%s\"", sc_error_text(ctx), bad[i][1]);
    }
}

/* Two collectives of different groups side by side, or one after the other. */
static void slots_run_one_at_a_time(void **state) {
    (void)state;
    struct bytes f = {.n = 0};
    metadata(&f);
    struct node a = coll(1, 1 << 20);
    struct node b = coll(2, 1 << 20);
    a.group = "1";
    b.group = "2";
    add(&f, a);
    add(&f, b);
    save("x.0.et", f.data, f.n);
    save("x.1.et", f.data, f.n);
    save("x.json", "{\"1\": [0, 1], \"2\": [0, 1]}", 26);
    astra_files(2, "{\"endpoint-delay\": 0}");
    const char *network = sc__format(&ctx->arena, "%s/net.yml", dir);
    int64_t took[2];
    for (unsigned slots = 0; slots < 2; slots++) {
        sc_request *req = sc_request_new(ctx, "run");
        struct sc__job job;
        sc_request_input(req, dir);
        sc_request_set(req, "astra-network", network);
        if (slots)
            sc_request_set(req, "astra-slots", NULL);
        OK(ctx, sc__job_run(req, &job, false));
        took[slots] = job.ev->sim.step;
        sc__result_free(&job.ev->result);
    }
    assert_int_equal(took[0], 2 * (500000 + 10485760)); /* 2 steps of 512 KiB at 50 GB/s */
    assert_int_equal(took[1], 2 * took[0]);
}

/* ---- the samples ---- */

static void samples_run(void **state) {
    (void)state;
    const char *path = shared_path("traces/chakra/all_reduce_8");
    struct sc__document doc = {0};
    OK(ctx, sc__reader_chakra.read(ctx, NULL, &path, 1, &doc));
    assert_int_equal(doc.workload->op_count, 8);
    astra_files(8, system_text);
    assert_int_equal(astra_time(doc.workload, true), 96365000);
    path = shared_path("traces/chakra/llm_dp2_tp2_pp2");
    OK(ctx, sc__reader_chakra.read(ctx, NULL, &path, 1, &doc));
    assert_int_equal(doc.workload->class_count, 8);
    assert_int_equal(sc__rank_block(doc.workload, 5)->ops,
                     194); /* 140 compute, 46 collectives, 4 sends, 4 receives */
    uint64_t kinds[5] = {0};
    for (uint32_t i = 0; i < 194; i++)
        kinds[doc.workload->ops[sc__rank_block(doc.workload, 5)->first_op + i].kind]++;
    assert_int_equal(kinds[SC__OP_COMPUTE], 140);
    assert_int_equal(kinds[SC__OP_COLLECTIVE], 46);
    assert_int_equal(kinds[SC__OP_SEND], 4);
    assert_int_equal(kinds[SC__OP_RECV], 4);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(bad_graphs_are_refused),
                                       TEST(dimensions_beside_groups),
                                       TEST(all_collectives_are_read),
                                       TEST(missing_ranks_are_named),
                                       TEST(cut_files_are_refused),
                                       TEST(too_wide_numbers_are_refused),
                                       TEST(damaged_bytes_do_no_harm),
                                       TEST(workloads_come_back),
                                       TEST(seeds_come_back),
                                       TEST(a_graph_takes_as_long_as_its_workload),
                                       TEST(groups_and_times_from_the_nodes),
                                       TEST(astra_closed_forms_to_the_nanosecond),
                                       TEST(astra_answers_for_eight),
                                       TEST(astra_dimensions_follow_each_other),
                                       TEST(astra_keys_that_do_not_count_are_named),
                                       TEST(astra_files_are_checked),
                                       TEST(slots_run_one_at_a_time),
                                       TEST(samples_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
