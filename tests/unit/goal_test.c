#include "graph_helpers.h"

#include "frontend/formats.h"
#include "frontend/goal/messages.h"
#include "frontend/reader.h"
#include "simulate/simulate.h"

extern const struct sc__reader sc__reader_goal;

#include "context.h"

static sc_status read_bytes(const void *bytes, size_t n, struct sc__workload **out) {
    struct sc__document doc = {0};
    const char *path = temporary_file(bytes, n);
    sc_status s = sc__reader_goal.read(ctx, NULL, &path, 1, &doc);
    *out = doc.workload;
    unlink(path);
    return s;
}

static struct sc__workload *read_text(const char *text) {
    struct sc__workload *w;
    OK(ctx, read_bytes(text, strlen(text), &w));
    return w;
}

static int64_t run(const struct sc__workload *w, const char *loggops) {
    struct sc__net net;
    struct sc__sim sim;
    OK(ctx, sc__net_loggops(ctx, loggops, w, &net));
    OK(ctx, sc__simulate(ctx, w, &net, NULL, &sim));
    for (uint32_t c = 0; c < w->class_count; c++) {
        const struct sc__account *a = &sim.classes[c].account;
        assert_int_equal(a->compute + a->recompute + a->bubble + a->skew + a->other +
                             a->exposed[w->group_count],
                         sim.step);
    }
    return sim.step;
}

/* Ring all-reduce of 1 GiB, tag = step; T = 2(N−1)(L + 2o + (s−1)G). */
static char *ring(uint32_t ranks) {
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    sc__printf(&b, "num_ranks %u\n", ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        sc__printf(&b, "rank %u {\n", r);
        for (uint32_t k = 0; k < 2 * (ranks - 1); k++) {
            sc__printf(&b,
                       "s%u: send %ub to %u tag %u\n",
                       k,
                       (1u << 30) / ranks,
                       (r + 1) % ranks,
                       k);
            sc__printf(&b,
                       "r%u: recv %ub from %u tag %u\n",
                       k,
                       (1u << 30) / ranks,
                       (r + ranks - 1) % ranks,
                       k);
            if (k)
                sc__printf(&b, "s%u requires r%u\n", k, k - 1);
        }
        sc__puts(&b, "}\n");
    }
    return b.text;
}

static void the_ring_takes_what_the_closed_form_says(void **state) {
    (void)state;
    assert_int_equal(run(read_text(ring(8)), "3.7us,0.2us,0,0.02ns"), 37638363560);
    assert_int_equal(run(read_text(ring(64)), "3700,200,0,0.02,0,inf"), 42795181800);
}

static void messages_cost_what_the_model_says(void **state) {
    (void)state;
    struct sc__workload *w = read_text("num_ranks 2\nrank 0 {\nsend 11b to 1 tag "
                                       "1\n}\nrank 1 {\nrecv 11b from 0 tag 1\n}\n");
    assert_int_equal(run(w, "1000,200,0,3"), 1000000 + 2 * 200000 + 10 * 3000);
    assert_int_equal(run(w, "1000,200,0,3,5"),
                     1000000 + 2 * (200000 + 10 * 5000) + 10 * 3000);
    assert_int_equal(run(w, "1000,200,0,3,0,10"),
                     3 * 1000000 + 2 * 200000 + 10 * 3000); /* asks first */
}

/* Three messages from one NIC: the gap g parts them. */
static void the_nic_is_a_line(void **state) {
    (void)state;
    struct sc__workload *w = read_text(
        "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 1\nsend 1b to 1 tag 2\nsend 1b to 1 tag "
        "3\n}\n"
        "rank 1 {\nrecv 1b from 0 tag 1\nrecv 1b from 0 tag 2\nrecv 1b from 0 tag 3\n}\n");
    assert_int_equal(run(w, "1000,10,500,0"), 10000 + 2 * 500000 + 1000000 + 10000);
}

static void irequires_waits_for_the_start(void **state) {
    (void)state;
    const char *text =
        "num_ranks 1\nrank 0 {\na: calc 1000 cpu 0\nb: calc 500 cpu 1\nb %s a\n}\n";
    assert_int_equal(run(read_text(sc__format(&ctx->arena, text, "requires")), NULL),
                     1500000);
    assert_int_equal(run(read_text(sc__format(&ctx->arena, text, "irequires")), NULL),
                     1000000);
}

static void one_cpu_runs_one_at_a_time(void **state) {
    (void)state;
    assert_int_equal(
        run(read_text("num_ranks 1\nrank 0 {\ncalc 10\ncalc 20\ncalc 30 cpu 3\n}\n"), NULL),
        30000);
}

static void anyone_may_be_received_from(void **state) {
    (void)state;
    struct sc__workload *w = read_text(
        "num_ranks 3 // comment\nrank 0 {\nr: recv 8b from -1 tag 5\nq: recv 8b from -1 "
        "tag -1\n"
        "q requires r\n}\nrank 1 { /* two\nlines */\nsend 8b to 0 tag 5\n}\nrank 2 {\n"
        "c: calc 5000\ns: send 8b to 0 tag 9\ns requires c\n}\n");
    assert_int_equal(run(w, "1000,0,0,0"), 6000000);
}

/* Up to 16 calculations on a stream each: the longest path. */
static void random_graphs_take_their_longest_path(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 200; seed++) {
        uint64_t r = seed;
        uint32_t n = 2 + pick(&r, 15);
        int64_t end[16];
        int64_t longest = 0;
        int64_t cost;
        struct sc__buffer b;
        sc__buffer_init(&b, &ctx->arena);
        sc__puts(&b, "num_ranks 1\nrank 0 {\n");
        for (uint32_t i = 0; i < n; i++) {
            cost = pick(&r, 1000);
            sc__printf(&b, "l%u: calc %u cpu %u\n", i, (unsigned)cost, i);
            end[i] = 0;
            for (uint32_t d = 0; d < i; d++)
                if (!pick(&r, 3)) {
                    sc__printf(&b, "l%u requires l%u\n", i, d);
                    if (end[d] > end[i])
                        end[i] = end[d];
                }
            end[i] += cost;
            if (end[i] > longest)
                longest = end[i];
        }
        sc__puts(&b, "}\n");
        assert_int_equal(run(read_text(b.text), NULL), longest * 1000);
    }
}

static void deadlocks_name_who_waits(void **state) {
    (void)state;
    struct sc__net net;
    struct sc__sim sim;
    struct sc__workload *w = read_text(
        "num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 1\nb: send 8b to 1 tag 2\nb requires "
        "a\n}\n"
        "rank 1 {\na: recv 8b from 0 tag 2\nb: send 8b to 0 tag 1\nb requires a\n}\n");
    OK(ctx, sc__net_loggops(ctx, NULL, w, &net));
    assert_int_equal(sc__simulate(ctx, w, &net, NULL, &sim), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "4 of 4 operations were not executed"));
    assert_non_null(
        strstr(sc_error_text(ctx), "rank 0, operation 0 (recv) waits for rank 1, tag 1"));
}

static void round_trip(const struct sc__workload *w, const char *suffix) {
    const struct sc__workload *expanded;
    const struct sc__workload *messages;
    struct sc__document doc = {0};
    const char *path = sc__format(&ctx->arena, "%s%s", temporary_file("", 0), suffix);
    OK(ctx, sc__workload_expand(ctx, w, &expanded));
    OK(ctx, sc__workload_messages(ctx, expanded, &messages));
    for (uint32_t i = 0; i < messages->op_count; i++) /* GOAL has whole nanoseconds */
        messages->ops[i].cost = (messages->ops[i].cost + 500) / 1000 * 1000;
    OK(ctx, sc__write_goal(ctx, w, path));
    OK(ctx, sc__reader_goal.read(ctx, NULL, &path, 1, &doc));
    same_workload(messages, doc.workload);
    unlink(path);
    unlink(sc__strndup(&ctx->arena, path, strlen(path) - strlen(suffix)));
}

static void workloads_come_back(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct sc__workload *w = random_workload(ctx, seed);
        round_trip(w, ".goal");
        round_trip(w, ".bin");
    }
}

static void seeds_come_back(void **state) {
    (void)state;
    for (unsigned i = 0; i < SEED_JOBS; i++)
        round_trip(seed_workload(ctx, i), i % 2 ? ".goal" : ".bin");
}

static const struct sc__workload *
one_collective(uint32_t ranks, enum sc__coll coll, uint64_t bytes, uint32_t root) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "test");
    const struct sc__workload *expanded;
    w->mesh = sc__mesh(1, 1, 1, ranks, 1, 0);
    sc__block_begin(w);
    struct sc__op *op = sc__block_add(w, SC__OP_COLLECTIVE, SC__FORWARD, 0, "c");
    op->coll = (uint8_t)coll;
    op->group = sc__workload_group(w, SC__GROUP_WORLD);
    op->bytes = bytes;
    op->peer = root;
    uint32_t block = sc__block_end(w);
    uint32_t program = sc__program_begin(w);
    sc__program_call(w, block, SC__NONE, 0, 0);
    sc__class_add(w, program, 0, ranks, 0);
    OK(ctx, sc__workload_expand(ctx, w, &expanded));
    return expanded;
}

static const struct sc__workload *messages_of(const struct sc__workload *expanded) {
    const struct sc__workload *messages;
    OK(ctx, sc__workload_messages(ctx, expanded, &messages));
    return messages;
}

static int64_t loggops_time(const struct sc__workload *w, const char *figures) {
    struct sc__net net;
    struct sc__sim sim;
    OK(ctx, sc__net_loggops(ctx, figures, w, &net));
    OK(ctx, sc__simulate(ctx, w, &net, NULL, &sim));
    return sim.step;
}

/* Every byte of a collective's ring must arrive: an all-reduce sends
 * 2(N−1)/N of the buffer from each rank, whatever the remainder. */
static void collectives_become_their_messages(void **state) {
    (void)state;
    const struct sc__workload *messages =
        messages_of(one_collective(5, SC__ALLREDUCE, 1003, SC__NONE));
    uint64_t sent = 0;
    for (uint32_t i = 0; i < messages->op_count; i++)
        if (messages->ops[i].kind == SC__OP_SEND)
            sent += messages->ops[i].bytes;
    assert_int_equal(sent, 2 * 4 * 1003); /* each of the 5 parts makes 2·4 hops */
}

/* The root's own part stays where it is; every other part moves once. */
static void gathers_become_their_messages(void **state) {
    (void)state;
    for (unsigned coll = SC__GATHER; coll <= SC__SCATTER; coll++) {
        const struct sc__workload *messages =
            messages_of(one_collective(5, (enum sc__coll)coll, 1003, 3));
        uint64_t sent = 0;
        uint64_t of_root = 0;
        for (uint32_t i = 0; i < messages->op_count; i++) {
            const struct sc__op *op = &messages->ops[i];
            if (op->kind != SC__OP_SEND)
                continue;
            sent += op->bytes;
            of_root += op->peer == 3;
        }
        assert_int_equal(sent, 1003 - 200); /* place 3 of 201, 201, 201, 200, 200 */
        assert_int_equal(of_root, coll == SC__GATHER ? 4 : 0);
    }
}

/* Every rank sends all its bytes, once, to the next; alone that takes one message. */
static void shifts_become_their_messages(void **state) {
    (void)state;
    const struct sc__workload *w = one_collective(5, SC__SHIFT, 1003, 0);
    const struct sc__workload *messages = messages_of(w);
    uint32_t sends = 0;
    for (uint32_t i = 0; i < messages->op_count; i++) {
        if (messages->ops[i].kind != SC__OP_SEND)
            continue;
        sends++;
        assert_int_equal(messages->ops[i].bytes, 1003);
    }
    assert_int_equal(sends, 5);
    assert_int_equal(loggops_time(w, "3700,200,0,0.02,0,inf"),
                     loggops_time(messages, "3700,200,0,0.02,0,inf"));
}

/* LogGOPS: alike as one operation and as messages, where its processor or its
 * NIC is what the root waits for. */
static void gathers_cost_what_their_messages_cost(void **state) {
    (void)state;
    static const char *const figures[] = {"3700,200,0,0.02,0,inf",
                                          "1000,50,10,0.5,0,inf",
                                          "500,3000,0,0.01,0.001,inf"};
    for (unsigned f = 0; f < sizeof figures / sizeof *figures; f++)
        for (uint32_t n = 2; n <= 9; n++) {
            const struct sc__workload *w =
                one_collective(n, SC__GATHER, (uint64_t)n * 100000, 1);
            assert_int_equal(loggops_time(w, figures[f]),
                             loggops_time(messages_of(w), figures[f]));
        }
}

static void bad_text_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *expect;
    } table[] = {
        {"", "number of ranks is missing"},
        {"num_ranks 0\n", "not a number of ranks"},
        {"num_ranks x\n", ":1:11: "},
        {"num_ranks 2\nrank 0 {\n}\n", "after 1 of 2 ranks"},
        {"num_ranks 1\nrank 1 {\n}\n", "unexpected rank"},
        {"num_ranks 1\nrank 0 {\n", "inside rank 0"},
        {"num_ranks 1\nrank 0 {\n}\n}\n", ":4:1: "},
        {"num_ranks 1\nrank 0 {\ncalc\n}\n", "without a time"},
        {"num_ranks 1\nrank 0 {\ncalc -5\n}\n", "without a time"},
        {"num_ranks 1\nrank 0 {\ncalc 18446744073709551615\n}\n", "106 days"},
        {"num_ranks 1\nrank 0 {\ncalc 5 tag 3\n}\n", "unexpected 'tag'"},
        {"num_ranks 1\nrank 0 {\ncalc 5 cpu 99\n}\n", "16 cpus"},
        {"num_ranks 1\nrank 0 {\njump 5\n}\n", "unknown operation 'jump'"},
        {"num_ranks 2\nrank 0 {\nsend 8 to 1\n}\nrank 1 {\n}\n", "not a size"},
        {"num_ranks 2\nrank 0 {\nsend 8b from 1\n}\nrank 1 {\n}\n", "unexpected 'from'"},
        {"num_ranks 2\nrank 0 {\nsend 8b to 2\n}\nrank 1 {\n}\n", "not one of the ranks"},
        {"num_ranks 2\nrank 0 {\nsend 8b to 0\n}\nrank 1 {\n}\n", "itself"},
        {"num_ranks 2\nrank 0 {\nsend 8b to -1\n}\nrank 1 {\n}\n", "not a valid number"},
        {"num_ranks 2\nrank 0 {\nsend 8b to 1 tag 3\n}\nrank 1 {\nrecv 8b from 0 tag "
         "4\n}\n",
         "rank 0, node 0 (line 3): no receive matches"},
        {"num_ranks 2\nrank 0 {\n}\nrank 1 {\nrecv 8b from 0 tag 4\n}\n",
         "rank 1, node 0 (line 5): no send matches"},
        {"num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 4b from 0\n}\n",
         "room for only 4"},
        {"num_ranks 1\nrank 0 {\na: calc 1\na: calc 2\n}\n", "a second label 'a'"},
        {"num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}\n", "unknown label 'b'"},
        {"num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n", "depends on itself"},
        {"num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n",
         "a cycle"},
        {"num_ranks 1\nrank 0 {\na:\n}\n", "without an operation"},
        {"num_ranks 1\n/* rank 0 {\n}\n", "inside a comment"},
    };
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
        struct sc__workload *w;
        sc_status s = read_bytes(table[i].text, strlen(table[i].text), &w);
        if (s != SC_INPUT || !strstr(sc_error_text(ctx), table[i].expect))
            fail_msg("case %u: status %d, \"%s\" lacks \"%s\"",
                     i,
                     s,
                     sc_error_text(ctx),
                     table[i].expect);
    }
}

/* Cut at any byte, a schedule is an error. */
static void cut_files_are_refused(void **state) {
    (void)state;
    const char *path = sc__format(&ctx->arena, "%s.bin", temporary_file("", 0));
    struct sc__str bytes;
    struct sc__workload *w;
    OK(ctx, sc__write_goal(ctx, read_text(ring(3)), path));
    OK(ctx, sc__read_all(ctx, path, 1 << 20, &bytes));
    OK(ctx, read_bytes(bytes.p, bytes.n, &w));
    for (size_t n = 8; n < bytes.n; n++)
        assert_int_equal(read_bytes(bytes.p, n, &w), SC_INPUT);
    char *longer = sc__format(&ctx->arena, "%*s", (int)bytes.n + 1, "");
    memcpy(longer, bytes.p, bytes.n);
    assert_int_equal(read_bytes(longer, bytes.n + 1, &w), SC_INPUT);
    unlink(path);
}

/* Any damaged byte either reads or is an error; nothing else. */
static void damaged_bytes_do_no_harm(void **state) {
    (void)state;
    const char *path = sc__format(&ctx->arena, "%s.bin", temporary_file("", 0));
    struct sc__str bytes;
    struct sc__workload *w;
    OK(ctx, sc__write_goal(ctx, read_text(ring(3)), path));
    OK(ctx, sc__read_all(ctx, path, 1 << 20, &bytes));
    char *copy = sc__strndup(&ctx->arena, bytes.p, bytes.n);
    for (size_t i = 8; i < bytes.n; i += 3) {
        copy[i] = (char)~copy[i];
        sc_status s = read_bytes(copy, bytes.n, &w);
        assert_true(s == SC_OK || s == SC_INPUT);
        copy[i] = bytes.p[i];
    }
    unlink(path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_context, close_context)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(the_ring_takes_what_the_closed_form_says),
                                       TEST(messages_cost_what_the_model_says),
                                       TEST(the_nic_is_a_line),
                                       TEST(irequires_waits_for_the_start),
                                       TEST(one_cpu_runs_one_at_a_time),
                                       TEST(anyone_may_be_received_from),
                                       TEST(random_graphs_take_their_longest_path),
                                       TEST(deadlocks_name_who_waits),
                                       TEST(workloads_come_back),
                                       TEST(seeds_come_back),
                                       TEST(collectives_become_their_messages),
                                       TEST(gathers_become_their_messages),
                                       TEST(shifts_become_their_messages),
                                       TEST(gathers_cost_what_their_messages_cost),
                                       TEST(bad_text_is_refused),
                                       TEST(cut_files_are_refused),
                                       TEST(damaged_bytes_do_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
