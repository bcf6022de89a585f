/* Operator tables: the GPT-2 table's published sums, the data-parallel step
 * against an independent scan of random tables, pipelines against closed
 * forms, and inputs that must be refused. */
#include "table_helpers.h"

#include "frontend/neusight/operator_lower.h"

#include <math.h>

extern const struct sc__reader sc__reader_operator_table;

#define HEADER                                                                             \
    "name\tforward_compute_time\tforward_comm_type\tforward_comm_size\tbackward_compute_"  \
    "time\tbackward_comm_type\t"                                                           \
    "backward_comm_size\tweight_grad_compute_time\tweight_grad_comm_type\tweight_grad_"    \
    "comm_"                                                                                \
    "size\tprocess_time\n"
#define GPT2 "tests/data/seed_000.txt"

static struct sc__layers *read_gpt2(void) {
    struct sc__document doc = {0};
    const char *path = GPT2;
    must(sc__reader_operator_table.read(ctx, SETTINGS(), &path, 1, &doc));
    return doc.layers;
}

static void gpt2_literal_sums(void **state) {
    (void)state;
    const struct sc__layers *l = read_gpt2();
    int64_t forward = 0;
    uint64_t bytes = 0;
    assert_int_equal(l->count, 51);
    for (uint32_t i = 0; i < l->count; i++) {
        forward += l->rows[i].part[SC__PART_FORWARD].compute;
        for (unsigned p = 0; p < SC__PARTS; p++)
            bytes += l->rows[i].part[p].bytes;
        if (l->rows[i].part[SC__PART_INPUT].coll)
            assert_int_equal(l->rows[i].part[SC__PART_INPUT].coll, SC__ROW_ALLREDUCE_ASYNC);
    }
    assert_true(fabs((double)forward - 187.53952786717204e9) <= 0.5 * 51);
    assert_int_equal(bytes, 341479748);
    assert_int_equal(l->rows[3].line, 5);
    assert_true(noted("bytes-per-element"));
}

static void element_size_is_an_option(void **state) {
    (void)state;
    struct sc__document doc = {0};
    const char *path = GPT2;
    must(sc__reader_operator_table
             .read(ctx, SETTINGS("bytes-per-element=2"), &path, 1, &doc));
    assert_int_equal(doc.layers->rows[3].part[SC__PART_INPUT].bytes, 2 * 1310720);
    assert_false(noted("bytes-per-element"));
}

static void gpt2_layer_block(void **state) {
    (void)state;
    struct sc__layer_span *spans;
    const struct sc__layers *l = read_gpt2();
    assert_int_equal(sc__find_layers(&ctx->arena, l, &spans), 1);
    assert_string_equal(l->rows[spans[0].first].name, "transformer_h_0_ln_1_grad");
    assert_string_equal(l->rows[spans[0].first + spans[0].count - 1].name, "add_15");
}

static uint64_t bytes_of(const struct sc__workload *w, int coll) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].kind == SC__OP_COLLECTIVE && w->ops[i].coll == coll)
            bytes += w->ops[i].bytes;
    return bytes;
}

static void gpt2_repeated_layers(void **state) {
    (void)state;
    struct sc__workload *w;
    struct sc__sim sim;
    must(sc__lower_operators(ctx, SETTINGS("layers=36", "dp=32"), read_gpt2(), 0, &w));
    assert_true(fabs((double)step_of(w, 0, 0, &sim) - 2279.3238160501564e9) <= 0.5 * 1500);
    assert_int_equal(bytes_of(w, SC__ALLREDUCE), 4u * 774080337u);
    assert_int_equal(sc__mesh_ranks(&w->mesh), 32);
    assert_true(noted("backward-missing"));
}

static void free_network_is_the_forward_sum(void **state) {
    (void)state;
    struct sc__workload *w;
    struct sc__sim sim;
    must(sc__lower_operators(ctx, SETTINGS("dp=32"), read_gpt2(), 0, &w));
    assert_true(fabs((double)step_of(w, 0, 0, &sim) - 187.53952786717204e9) <= 0.5 * 51);
    assert_int_equal(sim.classes[0].account.compute, sim.step);
}

static void named_block(void **state) {
    (void)state;
    struct sc__operators o;
    const struct sc__layers *l = read_gpt2();
    must(sc__expand_operators(ctx, SETTINGS("layers=3", "block=mul:add_13"), l, &o));
    assert_int_equal(o.count, 51 + 2 * 7);
    assert_int_equal(
        sc__expand_operators(ctx, SETTINGS("layers=3", "block=add_13:mul"), l, &o),
        SC_USAGE);
    assert_int_equal(
        sc__expand_operators(ctx, SETTINGS("layers=3", "block=mull:add_13"), l, &o),
        SC_USAGE);
}

/* ---- random tables ---- */

struct random_row {
    /* ps, whole microseconds */
    int64_t forward;
    int64_t backward;
    int64_t weight;
    uint64_t gradient; /* elements, 0: none */
    bool in_weight;
};

static uint32_t
random_table(uint64_t *seed, struct random_row *rows, struct sc__buffer *text) {
    uint32_t n = 1 + (uint32_t)(sc__random(seed) % 30);
    sc__puts(text, HEADER);
    for (uint32_t i = 0; i < n; i++) {
        struct random_row *r = &rows[i];
        r->forward = (int64_t)(sc__random(seed) % 500) * SC__PS_PER_US;
        r->backward =
            sc__random(seed) % 3 ? (int64_t)(sc__random(seed) % 900) * SC__PS_PER_US : 0;
        r->weight =
            sc__random(seed) % 2 ? (int64_t)(sc__random(seed) % 400) * SC__PS_PER_US : 0;
        r->gradient = sc__random(seed) % 2 ? 1 + sc__random(seed) % 300000 : 0;
        r->in_weight = sc__random(seed) % 2;
        bool first = r->gradient && !r->in_weight, second = r->gradient && r->in_weight;
        sc__printf(text,
                   "op_%u\t%.3f\tNone\t0\t%.3f\t%s\t%llu\t%.3f\t%s\t%llu\t0\n",
                   i,
                   (double)r->forward / 1e9,
                   (double)r->backward / 1e9,
                   first ? "ALLREDUCE_ASYNC" : "NONE",
                   first ? (unsigned long long)r->gradient : 0ull,
                   (double)r->weight / 1e9,
                   second ? "ALLREDUCE_ASYNC" : "None",
                   second ? (unsigned long long)r->gradient : 0ull);
    }
    return n;
}

/* forward + max(backward, end of the communication stream), the stream scanned
 * in reverse row order: start = max(end of the previous, backward so far). */
static int64_t reference_step(const struct random_row *rows,
                              uint32_t n,
                              int64_t latency,
                              int64_t per_byte) {
    int64_t forward = 0;
    int64_t backward = 0;
    int64_t stream = 0;
    for (uint32_t i = 0; i < n; i++)
        forward += rows[i].forward;
    for (uint32_t i = n; i-- > 0;) {
        backward += rows[i].backward;
        if (rows[i].in_weight)
            backward += rows[i].weight;
        if (rows[i].gradient) {
            if (stream < backward)
                stream = backward;
            stream += latency + (int64_t)rows[i].gradient * 4 * per_byte;
        }
        if (!rows[i].in_weight)
            backward += rows[i].weight;
    }
    return forward + (backward > stream ? backward : stream);
}

static void random_tables_follow_the_reference(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (unsigned round = 0; round < 200; round++) {
        struct random_row rows[32];
        struct sc__buffer text;
        struct sc__document doc;
        struct sc__workload *w;
        struct sc__sim sim;
        sc__buffer_init(&text, &ctx->arena);
        uint32_t n = random_table(&seed, rows, &text);
        must(read_text(&sc__reader_operator_table, SETTINGS(), text.text, text.size, &doc));
        must(sc__lower_operators(ctx, SETTINGS("dp=4"), doc.layers, 0, &w));
        int64_t latency = (int64_t)(sc__random(&seed) % 50) * SC__PS_PER_US;
        int64_t per_byte = (int64_t)(sc__random(&seed) % 900);
        assert_int_equal(step_of(w, latency, per_byte, &sim),
                         reference_step(rows, n, latency, per_byte));
    }
}

/* Buckets as DDP rebuilds them: in order of arrival, 1 MiB first, then the
 * cap; a bucket closes with the gradient that fills it. */
static void buckets_follow_arrival(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (unsigned round = 0; round < 50; round++) {
        struct random_row rows[32];
        struct sc__buffer text;
        struct sc__document doc;
        struct sc__workload *w;
        sc__buffer_init(&text, &ctx->arena);
        uint32_t n = random_table(&seed, rows, &text);
        uint32_t at = 0;
        must(read_text(&sc__reader_operator_table, SETTINGS(), text.text, text.size, &doc));
        must(sc__lower_operators(ctx, SETTINGS("dp=4", "bucket=2MiB"), doc.layers, 0, &w));
        uint64_t want[32];
        uint64_t filled = 0;
        uint64_t limit = 1 << 20;
        uint32_t buckets = 0;
        for (uint32_t i = n; i-- > 0;) {
            filled += rows[i].gradient * 4;
            if (filled < limit)
                continue;
            want[buckets++] = filled;
            filled = 0;
            limit = 2 << 20;
        }
        if (filled)
            want[buckets++] = filled;
        for (uint32_t i = 0; i < w->op_count; i++)
            if (w->ops[i].kind == SC__OP_COLLECTIVE) {
                assert_true(at < buckets);
                assert_int_equal(w->ops[i].bytes, want[at++]);
            }
        assert_int_equal(at, buckets);
    }
}

static void a_full_bucket_closes(void **state) {
    (void)state;
    /* in order of arrival: 1 MiB exactly, then 2 MiB exactly, then the rest */
    static const char text[] =
        HEADER "c\t1\tNone\t0\t1\tALLREDUCE_ASYNC\t5\t0\tNone\t0\t0\n"
               "b\t1\tNone\t0\t1\tALLREDUCE_ASYNC\t524288\t0\tNone\t0\t0\n"
               "a\t1\tNone\t0\t1\tALLREDUCE_ASYNC\t262144\t0\tNone\t0\t0\n";
    struct sc__document doc;
    struct sc__workload *w;
    uint64_t want[] = {1 << 20, 2 << 20, 20};
    unsigned at = 0;
    must(read_text(&sc__reader_operator_table, SETTINGS(), text, sizeof text - 1, &doc));
    must(sc__lower_operators(ctx, SETTINGS("dp=4", "bucket=2MiB"), doc.layers, 0, &w));
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].kind == SC__OP_COLLECTIVE)
            assert_int_equal(w->ops[i].bytes, want[at++]);
    assert_int_equal(at, 3);
}

static void gradients_are_reduced_once(void **state) {
    (void)state;
    /* three micro-batches of 2 ms; the all-reduce follows the last backward */
    static const char text[] =
        HEADER "a\t1\tNone\t0\t1\tALLREDUCE_ASYNC\t5\t0\tNone\t0\t0\n";
    struct sc__document doc;
    struct sc__workload *w;
    struct sc__sim sim;
    must(read_text(&sc__reader_operator_table, SETTINGS(), text, sizeof text - 1, &doc));
    must(sc__lower_operators(ctx, SETTINGS("dp=4", "micro-batches=3"), doc.layers, 0, &w));
    assert_int_equal(step_of(w, SC__PS_PER_MS, 0, &sim), 7 * SC__PS_PER_MS);
}

static void synthesised_backward(void **state) {
    (void)state;
    struct sc__operators o;
    const struct sc__layers *l = read_gpt2();
    must(sc__expand_operators(ctx, SETTINGS("backward=synth"), l, &o));
    for (uint32_t i = 0; i < o.count; i++) {
        const struct sc__row *r = &o.items[i].row;
        int64_t back = r->part[SC__PART_INPUT].compute + r->part[SC__PART_WEIGHT].compute;
        if (!strncmp(r->name, "addmm", 5) || !strncmp(r->name, "matmul", 6) ||
            !strcmp(r->name, "lm_head"))
            assert_int_equal(back, 2 * r->part[SC__PART_FORWARD].compute);
        assert_true(back > 0 || !r->part[SC__PART_FORWARD].compute);
    }
    assert_true(noted("backward-synthesised"));
    assert_false(noted("backward-missing"));
}

/* A row of 2 ms forward with these times of backward. */
#define ROW(name, input, weight)                                                           \
    name "\t2\tNone\t0\t" input "\tNone\t0\t" weight "\tNone\t0\t0\n"

/* By the bytes that forward and backward read and write; what the table says of a backward
 * stays. */
static void backward_by_bytes(void **state) {
    static const char text[] =
        HEADER ROW("add_1", "0", "0") ROW("gelu_1", "0", "0") ROW("ln_1", "0", "0")
            ROW("wte", "0", "0") ROW("mul_2", "0", "0") ROW("softmax_1", "0", "0")
                ROW("fc_1", "0", "0") ROW("fc_2", "0", "5") ROW("fc_3", "7", "0");
    static const double ms[][2] =
        {{2, 0}, {3, 0}, {3, 2}, {0, 3}, {4, 0}, {3, 0}, {2, 2}, {0, 5}, {7, 0}};
    struct sc__document doc;
    struct sc__operators o;
    (void)state;
    must(read_text(&sc__reader_operator_table, SETTINGS(), text, sizeof text - 1, &doc));
    must(sc__expand_operators(ctx, SETTINGS("backward=synth"), doc.layers, &o));
    assert_int_equal(o.count, 9);
    for (uint32_t i = 0; i < 9; i++) {
        const struct sc__row_part *part = o.items[i].row.part;
        assert_number(part[SC__PART_INPUT].compute, ==, ms[i][0] * SC__PS_PER_MS);
        assert_number(part[SC__PART_WEIGHT].compute, ==, ms[i][1] * SC__PS_PER_MS);
    }
}

/* Functions belong to the layer before them; modules between two layers run once, however
 * many layers there are. */
static void rows_of_layers(void **state) {
    static const char text[] = HEADER ROW("embed", "0", "0") ROW("h_0_ln", "0", "0")
        ROW("add_1", "0", "0") ROW("norm_a", "0", "0") ROW("h_1_ln", "0", "0")
            ROW("norm_b", "0", "0") ROW("h_2_ln", "0", "0") ROW("head", "0", "0");
    static const struct {
        const char *layers;
        const char *names;
    } cases[] = {
        {"layers=1", "embed h_0_ln add_1 norm_a norm_b head"},
        {"layers=2", "embed h_0_ln add_1 norm_a h_1_ln norm_b head"},
        {"layers=4", "embed h_0_ln add_1 norm_a h_1_ln norm_b h_2_ln h_2_ln head"}};
    struct sc__document doc;
    (void)state;
    must(read_text(&sc__reader_operator_table, SETTINGS(), text, sizeof text - 1, &doc));
    for (unsigned i = 0; i < 3; i++) {
        struct sc__operators o;
        char names[256] = "";
        must(sc__expand_operators(ctx, SETTINGS(cases[i].layers), doc.layers, &o));
        for (uint32_t k = 0; k < o.count; k++) {
            strcat(names, k ? " " : "");
            strcat(names, o.items[k].row.name);
        }
        assert_string_equal(names, cases[i].names);
    }
}

/* ---- pipelines ---- */

static void sendrecv_cuts_stages(void **state) {
    (void)state;
    /* forward 2 ms and 3 ms, backward 4 ms and 6 ms; messages of 1000 and 500 elements */
    static const char text[] =
        HEADER "a\t2\tNone\t0\t4\tNone\t0\t0\tNone\t0\t0\n"
               "cut\t0\tSENDRECV\t1000\t0\tSENDRECV\t500\t0\tNone\t0\t0\n"
               "b\t3\tNone\t0\t6\tNone\t0\t0\tNone\t0\t0\n";
    struct sc__document doc;
    struct sc__workload *w;
    struct sc__sim sim;
    must(read_text(&sc__reader_operator_table, SETTINGS(), text, sizeof text - 1, &doc));
    must(sc__lower_operators(ctx, SETTINGS("micro-batches=1"), doc.layers, 0, &w));
    assert_int_equal(w->mesh.pp, 2);
    /* one micro-batch: everything in a row, with both messages between */
    assert_int_equal(step_of(w, SC__PS_PER_US, 1000, &sim),
                     15 * SC__PS_PER_MS + 2 * SC__PS_PER_US + (4000 + 2000) * 1000);
    /* free messages: 1F1B over M micro-batches ends the slower stage after the
     * first forward, and the first stage's last backward after that */
    must(sc__lower_operators(ctx, SETTINGS("micro-batches=8", "pp=2"), doc.layers, 0, &w));
    assert_int_equal(step_of(w, 0, 0, &sim), (2 + 8 * 9 + 4) * SC__PS_PER_MS);
    assert_int_equal(sc__lower_operators(ctx, SETTINGS("pp=3"), doc.layers, 0, &w),
                     SC_USAGE);
}

static void messages_differ_by_boundary(void **state) {
    (void)state;
    static const char text[] =
        HEADER "a\t1\tSENDRECV\t100\t1\tSENDRECV\t10\t0\tNone\t0\t0\n"
               "b\t1\tSENDRECV\t300\t1\tSENDRECV\t30\t0\tNone\t0\t0\n"
               "c\t1\tNone\t0\t1\tNone\t0\t0\tNone\t0\t0\n";
    struct sc__document doc;
    struct sc__workload *w;
    struct sc__sim sim;
    must(read_text(&sc__reader_operator_table,
                   SETTINGS("bytes-per-element=1"),
                   text,
                   sizeof text - 1,
                   &doc));
    must(sc__lower_operators(ctx, SETTINGS("micro-batches=1"), doc.layers, 0, &w));
    assert_int_equal(step_of(w, 0, SC__PS_PER_US, &sim),
                     6 * SC__PS_PER_MS + 440 * SC__PS_PER_US);
}

static void layers_distributed_over_stages(void **state) {
    (void)state;
    struct sc__workload *w;
    const struct sc__layers *l = read_gpt2();
    must(sc__lower_operators(
        ctx,
        SETTINGS("layers=36", "pp=4", "pp-comm=1MiB", "micro-batches=4", "gpus=8"),
        l,
        0,
        &w));
    assert_int_equal(w->class_count, 4);
    assert_int_equal(w->mesh.dp, 2);
    assert_int_equal(sc__lower_operators(ctx, SETTINGS("layers=36", "pp=4"), l, 0, &w),
                     SC_USAGE);
    assert_int_equal(sc__lower_operators(ctx, SETTINGS("pp=4", "pp-comm=1MiB"), l, 0, &w),
                     SC_USAGE);
    assert_int_equal(sc__lower_operators(ctx, SETTINGS("gpus=7", "tp=2"), l, 0, &w),
                     SC_USAGE);
}

static void tensor_parallel_blocks(void **state) {
    (void)state;
    static const char text[] =
        HEADER "a\t1\tALLREDUCE\t1000\t2\tALLREDUCE\t1000\t1\tNone\t0\t0.5\n";
    struct sc__document doc;
    struct sc__workload *w;
    struct sc__sim sim;
    must(read_text(&sc__reader_operator_table, SETTINGS(), text, sizeof text - 1, &doc));
    must(sc__lower_operators(ctx, SETTINGS("tp=2"), doc.layers, 0, &w));
    /* process time follows every finished collective */
    assert_int_equal(step_of(w, 0, 1000, &sim),
                     4 * SC__PS_PER_MS + 2 * (4000 * 1000 + SC__PS_PER_MS / 2));
}

/* ---- hostile tables ---- */

static void hostile_tables_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t line;
    } bad[] = {
        {"", 1},
        {HEADER, 0},
        {"name\tforward_compute_time\n", 1},
        {"name\tname\tforward_comm_type\tforward_comm_size\n", 1},
        {"nam\tforward_compute_time\tforward_comm_type\n", 1},
        {HEADER "a\t1\tNone\t0\t0\tNone\t0\t0\tNone\t0\n", 2},
        {HEADER "a\t1\tNone\t0\t0\tNone\t0\t0\tNone\t0\t0\t0\n", 2},
        {HEADER "a 1 None 0 0 None 0 0 None 0 0\n", 2},
        {HEADER "\t1\tNone\t0\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t-1\tNone\t0\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t-1e-30\tNone\t0\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\tnan\tNone\t0\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t1e300\tNone\t0\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t99999999999\tNone\t0\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t1\tALLREDUC\t4\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t1\tNone\t4\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t1\tALLREDUCE\t-4\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t1\tALLREDUCE\t1.5\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t1\tALLREDUCE\t99999999999999999999\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t1\tALLREDUCE_ASYNC\t4\t0\tNone\t0\t0\tNone\t0\t0\n", 2},
        {HEADER "a\t1\tNone\t0\t0\tNone\t0\t0\tSENDRECV\t4\t0\n", 2},
        {HEADER "a\t1\tNone\t0\t0\tNone\t0\t0\tNone\t0\t0\nb\t1\tNone", 3},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__document doc;
        sc_status status = read_text(&sc__reader_operator_table,
                                     SETTINGS(),
                                     bad[i].text,
                                     strlen(bad[i].text),
                                     &doc);
        if (status != SC_INPUT)
            fail_msg("accepted: %s", bad[i].text);
        assert_non_null(sc_error_file(ctx));
        assert_int_equal(sc_error_line(ctx), bad[i].line);
    }
}

static void odd_but_sound_tables_load(void **state) {
    (void)state;
    /* columns in another order, \r\n, blank lines, 0.0 and 1e2 as sizes */
    static const char text[] =
        "process_time\tname\tforward_compute_time\tforward_comm_type\tforward_comm_"
        "size\tbackward_"
        "compute_time\t"
        "backward_comm_type\tbackward_comm_size\tweight_grad_compute_time\tweight_grad_"
        "comm_"
        "type\tweight_grad_comm_"
        "size\r\n"
        "0\ta\t4.79e-09\tnone\t0.0\t0\tALLREDUCE_ASYNC\t1e2\t0\tNONE\t0\r\n\r\n";
    struct sc__document doc;
    must(read_text(&sc__reader_operator_table, SETTINGS(), text, sizeof text - 1, &doc));
    assert_int_equal(doc.layers->count, 1);
    assert_int_equal(doc.layers->rows[0].part[SC__PART_FORWARD].compute, 5);
    assert_int_equal(doc.layers->rows[0].part[SC__PART_INPUT].bytes, 400);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_context, close_context)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(gpt2_literal_sums),
        TEST(element_size_is_an_option),
        TEST(gpt2_layer_block),
        TEST(gpt2_repeated_layers),
        TEST(free_network_is_the_forward_sum),
        TEST(named_block),
        TEST(random_tables_follow_the_reference),
        TEST(buckets_follow_arrival),
        TEST(a_full_bucket_closes),
        TEST(gradients_are_reduced_once),
        TEST(synthesised_backward),
        TEST(backward_by_bytes),
        TEST(rows_of_layers),
        TEST(sendrecv_cuts_stages),
        TEST(messages_differ_by_boundary),
        TEST(layers_distributed_over_stages),
        TEST(tensor_parallel_blocks),
        TEST(hostile_tables_are_refused),
        TEST(odd_but_sound_tables_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
