/* The JSON form and conversions: what goes in comes back, byte for byte and
 * field by field; what a format cannot hold is named; broken documents are
 * refused with their place. */
#include "table_helpers.h"

#include "frontend/convert.h"
#include "frontend/neusight/operator_lower.h"

extern const struct sc__reader sc__reader_ir_json, sc__reader_operator_table,
    sc__reader_workload_text;

static struct sc__buffer json_of(const struct sc__layers *l,
                                 const struct sc__workload *w,
                                 const struct sc__timeline *t) {
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    must(sc__write_ir_json(ctx, l, w, t, &b));
    return b;
}

static struct sc__document parse(const struct sc__reader *reader,
                                 const struct sc__buffer *b) {
    struct sc__document doc;
    must(read_text(reader, SETTINGS(), b->text, b->size, &doc));
    return doc;
}

static void same_text(const struct sc__buffer *a, const struct sc__buffer *b) {
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->text, b->text, a->size);
}

/* ---- random rows ---- */

static uint64_t below(uint64_t *seed, uint64_t n) {
    return sc__random(seed) % n;
}

static struct sc__layers *random_layers(uint64_t *seed, bool operators) {
    struct sc__layers *l = SC__NEW(&ctx->arena, struct sc__layers);
    uint32_t rows = 1 + (uint32_t)below(seed, 20);
    int64_t unit = operators || below(seed, 8) ? (operators ? 1 : 1000) : 1;
    l->format = operators ? "operator-table" : "workload-text";
    l->file = "random";
    if (!operators) {
        l->policy = "HYBRID_TRANSFORMER";
        l->tp = 1 + (uint32_t)below(seed, 8);
        l->ep = (uint32_t)below(seed, 3);
        l->pp = (uint32_t)below(seed, 3);
        l->ga = (uint32_t)below(seed, 3);
        l->gpus = 64;
        l->has_vpp = below(seed, 2);
        l->vpp = l->has_vpp ? 1 + (uint32_t)below(seed, 3) : 0;
        l->has_pp_comm = below(seed, 2);
        l->pp_comm = l->has_pp_comm ? (double)below(seed, 1 << 30) : 0;
    }
    for (uint32_t i = 0; i < rows; i++) {
        struct sc__row *r = SC__PUSH(&ctx->arena, l->rows, l->count, l->capacity);
        r->name = sc__format(&ctx->arena, below(seed, 20) ? "row_%u" : "row %u", i);
        r->recompute_from =
            !operators && below(seed, 6) == 0 ? (uint32_t)below(seed, i + 1) : SC__NONE;
        r->process = (int64_t)below(seed, 1000) * unit;
        for (unsigned p = 0; p < SC__PARTS; p++) {
            struct sc__row_part *part = &r->part[p];
            part->compute = (int64_t)below(seed, 1u << 30) * unit;
            if (below(seed, 2))
                continue;
            part->coll = (uint8_t)below(seed, SC__ROW_SENDRECV + 1);
            if (!part->coll)
                continue;
            part->bytes = below(seed, 1u << 30) * (below(seed, 10) ? 4 : 1);
            if (part->coll < SC__ROW_ALLREDUCE_ASYNC)
                part->suffix = (uint8_t)below(seed, 3);
        }
    }
    return l;
}

static void rows_come_back(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (unsigned i = 0; i < 300; i++) {
        struct sc__buffer a = json_of(random_layers(&seed, i % 2), NULL, NULL);
        struct sc__document doc = parse(&sc__reader_ir_json, &a);
        struct sc__buffer b = json_of(doc.layers, NULL, NULL);
        same_text(&a, &b);
    }
}

/* ir-json → format → ir-json: the same, or an error that names what is lost. */
static void formats_lose_nothing(void **state) {
    (void)state;
    uint64_t seed = 5;
    unsigned kept[2] = {0};
    unsigned refused[2] = {0};
    for (unsigned i = 0; i < 1500; i++) {
        bool operators = i % 2;
        struct sc__layers *l = random_layers(&seed, operators);
        struct sc__buffer a = json_of(l, NULL, NULL);
        struct sc__buffer text;
        sc__buffer_init(&text, &ctx->arena);
        sc__clear_error(ctx);
        sc_status status = operators ? sc__write_operator_table(ctx, l, 4, false, &text)
                                     : sc__write_workload_text(ctx, l, false, &text);
        if (status != SC_OK) {
            assert_int_equal(status, SC_INPUT);
            assert_non_null(strstr(sc_error_text(ctx), "cannot express"));
            refused[operators]++;
            continue;
        }
        struct sc__document doc =
            parse(operators ? &sc__reader_operator_table : &sc__reader_workload_text,
                  &text);
        struct sc__buffer b = json_of(doc.layers, NULL, NULL);
        same_text(&a, &b);
        kept[operators]++;
    }
    for (unsigned k = 0; k < 2; k++) {
        assert_true(kept[k] > 5);
        assert_true(refused[k] > 5);
    }
}

static void losses_are_named(void **state) {
    (void)state;
    struct sc__row row = {.name = "a b", .recompute_from = SC__NONE};
    struct sc__layers l = {.format = "workload-text",
                           .policy = "HYBRID_TRANSFORMER",
                           .tp = 8,
                           .rows = &row,
                           .count = 1};
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    row.part[0] =
        (struct sc__row_part){.compute = 1500, .coll = SC__ROW_SENDRECV, .bytes = 7};
    assert_int_equal(sc__write_workload_text(ctx, &l, false, &b), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "'a b'"));
    assert_non_null(strstr(sc_error_text(ctx), "SENDRECV"));
    assert_non_null(strstr(sc_error_text(ctx), "nanosecond"));
    assert_int_equal(sc__write_operator_table(ctx, &l, 4, false, &b), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "HYBRID_TRANSFORMER"));
    assert_non_null(strstr(sc_error_text(ctx), "tp 8"));
    assert_non_null(strstr(sc_error_text(ctx), "7 bytes"));
    sc__clear_error(ctx);
    must(sc__write_operator_table(ctx, &l, 4, true, &b));
    assert_true(noted("lost"));
}

/* A data-parallel step means the same in both formats. */
static void gradients_keep_their_meaning(void **state) {
    (void)state;
    struct sc__row rows[2] = {{.name = "a_grad", .recompute_from = SC__NONE},
                              {.name = "a", .recompute_from = SC__NONE}};
    struct sc__layers l = {.format = "operator-table", .rows = rows, .count = 2};
    struct sc__buffer text;
    sc__buffer_init(&text, &ctx->arena);
    rows[0].part[SC__PART_INPUT] =
        (struct sc__row_part){.coll = SC__ROW_ALLREDUCE_ASYNC, .bytes = 4000};
    rows[1].part[SC__PART_FORWARD].compute = rows[1].part[SC__PART_INPUT].compute = 1000000;
    must(sc__write_workload_text(ctx, &l, false, &text));
    struct sc__document doc = parse(&sc__reader_workload_text, &text);
    assert_int_equal(doc.layers->rows[0].part[SC__PART_WEIGHT].coll, SC__ROW_ALLREDUCE);
    assert_int_equal(doc.layers->rows[0].part[SC__PART_WEIGHT].bytes, 4000);
    assert_int_equal(doc.layers->rows[0].part[SC__PART_INPUT].coll, SC__ROW_NONE);
}

/* ---- random workloads ---- */

static void random_op(uint64_t *seed, struct sc__workload *w, uint32_t index, bool graph) {
    uint8_t stream = (uint8_t)below(seed, 4);
    enum sc__op_kind kind = graph ? SC__OP_COMPUTE : (enum sc__op_kind)below(seed, 5);
    struct sc__op *op = sc__block_add(
        w,
        kind,
        (enum sc__phase)below(seed, SC__PHASES),
        stream,
        sc__format(&ctx->arena, "op \"%u\"\t\xc3\xa9", (unsigned)below(seed, 9)));
    op->work = (uint8_t)below(seed, SC__WORKS);
    op->cost = (int64_t)below(seed, 1u << 30);
    op->bytes = below(seed, 2) ? below(seed, 1ull << 40) : 0;
    op->after = (uint16_t)below(seed, 16);
    if (below(seed, 2))
        op->row = (uint32_t)below(seed, 100);
    if (below(seed, 2))
        op->layer = (uint32_t)below(seed, 100);
    if (kind == SC__OP_COLLECTIVE) {
        op->coll = (uint8_t)below(seed, SC__COLLS);
        op->group = (uint16_t)below(seed, w->group_count);
        op->peer = 0;
    }
    if (kind == SC__OP_SEND || kind == SC__OP_RECV) {
        op->flags = below(seed, 2) ? SC__OP_PEER_NEXT : 0;
        op->flags |= below(seed, 2) ? SC__OP_EAGER : 0;
        if (!(op->flags & SC__OP_PEER_NEXT))
            op->peer = (uint32_t)below(seed, 8);
        op->tag = (uint32_t)below(seed, 5);
        op->group = (uint16_t)below(seed, 3);
    }
    if (index && below(seed, 3) == 0)
        sc__block_depend(w, (uint32_t)below(seed, index));
    if (index && graph && below(seed, 3) == 0)
        sc__block_depend(w, (uint32_t)below(seed, index) | SC__DEP_START);
}

static struct sc__workload *random_workload(uint64_t *seed) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "random");
    const uint32_t ranks[] = {0, 5, 3};
    w->mesh = sc__mesh(2, 1, 2, 2, 2, 0);
    sc__workload_group(w, SC__GROUP_TP);
    sc__workload_group(w, SC__GROUP_DP_EP);
    sc__workload_group_list(w, "odd ones", ranks, 3);
    w->schedule = below(seed, 2) ? "1f1b" : NULL;
    w->tokens = (double)below(seed, 1000) / 3;
    w->stream_names[2] = "third";
    w->comm_tax = below(seed, 2) ? 0.1 : 0;
    w->untaxed = (uint16_t)below(seed, 4);
    uint32_t blocks = 1 + (uint32_t)below(seed, 3);
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t ops = (uint32_t)below(seed, 8);
        sc__block_begin(w);
        for (uint32_t i = 0; i < ops; i++)
            random_op(seed, w, i, false);
        sc__block_end(w);
    }
    for (uint32_t c = 0; c < 2; c++) {
        uint32_t program = sc__program_begin(w);
        uint32_t calls = (uint32_t)below(seed, 6);
        for (uint32_t i = 0; i < calls; i++)
            sc__program_call(w,
                             (uint32_t)below(seed, blocks),
                             below(seed, 2) ? i : SC__NONE,
                             (uint32_t)below(seed, 2),
                             i);
        sc__class_add(w, program, c * 4, 4, c);
    }
    w->classes[1].slow = 1.25;
    if (below(seed, 2)) {
        w->memory = SC__NEW_ARRAY(&ctx->arena, struct sc__memory, 2);
        w->memory[1].weights = below(seed, 1ull << 40);
    }
    if (below(seed, 2)) {
        w->rank_class = SC__NEW_ARRAY(&ctx->arena, uint32_t, 8);
        for (uint32_t r = 0; r < 8; r++)
            w->rank_class[r] = r / 4;
    }
    return w;
}

static void same_ops(const struct sc__workload *a, const struct sc__workload *b) {
    assert_int_equal(a->op_count, b->op_count);
    assert_int_equal(a->dep_count, b->dep_count);
    if (a->dep_count)
        assert_memory_equal(a->deps, b->deps, a->dep_count * sizeof *a->deps);
    for (uint32_t i = 0; i < a->op_count; i++) {
        struct sc__op x = a->ops[i];
        struct sc__op y = b->ops[i];
        assert_string_equal(a->names.text[x.name], b->names.text[y.name]);
        x.name = y.name = 0;
        assert_memory_equal(&x, &y, sizeof x);
    }
}

static void workloads_come_back(void **state) {
    (void)state;
    uint64_t seed = 9;
    for (unsigned i = 0; i < 300; i++) {
        struct sc__workload *w = random_workload(&seed);
        struct sc__buffer a = json_of(NULL, w, NULL);
        struct sc__document doc = parse(&sc__reader_ir_json, &a);
        struct sc__buffer b = json_of(NULL, doc.workload, NULL);
        same_text(&a, &b);
        same_ops(w, doc.workload);
        assert_int_equal(w->call_count, doc.workload->call_count);
        if (w->call_count)
            assert_memory_equal(w->calls,
                                doc.workload->calls,
                                w->call_count * sizeof *w->calls);
        assert_memory_equal(&w->mesh, &doc.workload->mesh, sizeof w->mesh);
        assert_true(w->classes[1].slow == doc.workload->classes[1].slow);
    }
}

static void timelines_come_back(void **state) {
    (void)state;
    uint64_t seed = 12;
    struct sc__workload *w = random_workload(&seed);
    while (!w->op_count)
        w = random_workload(&seed);
    struct sc__span spans[] = {{0, 0, SC__NONE, 0, 1, 2, 3, SC__NONE},
                               {1, 0, 4, 1, 5, 5, 900, 0}};
    struct sc__idle idles[] = {{1, SC__IDLE_COMM + 1, 3, 5}};
    struct sc__timeline t = {.workload = w,
                             .spans = spans,
                             .count = 2,
                             .idles = idles,
                             .idle_count = 1,
                             .end = 900};
    struct sc__buffer a = json_of(NULL, w, &t);
    struct sc__document doc = parse(&sc__reader_ir_json, &a);
    assert_ptr_equal(doc.measured->workload, doc.workload);
    assert_int_equal(doc.measured->spans[1].end, 900);
    assert_int_equal(doc.measured->spans[0].peer_span, SC__NONE);
    struct sc__buffer b = json_of(NULL, doc.workload, doc.measured);
    same_text(&a, &b);
}

static void names_must_be_utf8(void **state) {
    (void)state;
    struct sc__row row = {.name = "caf\xe9", .recompute_from = SC__NONE};
    struct sc__layers l = {.format = "operator-table", .rows = &row, .count = 1};
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    assert_int_equal(sc__write_ir_json(ctx, &l, NULL, NULL, &b), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "UTF-8"));
}

/* ---- hostile documents ---- */

#define DOC(rest) "{\"schema\": \"stepcast/ir/1\",\n" rest "}"
#define ROW(rest)                                                                          \
    DOC("\"layers\": {\"format\": \"operator-table\", \"rows\": [\n" rest "]}")
#define WORK(rest) DOC("\"workload\": {\"mesh\": {\"dp\": 2},\n" rest "}")
#define CLASS "\"classes\": [{\"program\": 0, \"rank\": 0, \"ranks\": 2}]"
#define OPS(ops)                                                                           \
    WORK("\"groups\": [{\"kind\": \"dp\"}], \"blocks\": [{\"ops\": [\n" ops                \
         "]}], \"programs\": [[{\"block\": 0}]],\n" CLASS)

static void hostile_documents_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t line;
        uint64_t column;
    } bad[] = {
        {"", 1, 0},
        {"{", 1, 0},
        {"[]", 1, 1},
        {"{\"schema\": \"stepcast/ir/9\"}", 1, 1},
        {"{\"schema\": \"stepcast/ir/1\"}", 1, 1},
        {DOC("\"layer\": 1"), 2, 10},
        {DOC("\"layers\": 1"), 2, 11},
        {DOC("\"layers\": {\"format\": \"text\"}"), 2, 22},
        {DOC("\"layers\": {\"format\": \"workload-text\", \"rows\": []}"), 2, 11},
        {ROW(""), 2, 48},
        {ROW("{}"), 3, 1},
        {ROW("{\"name\": 5}"), 3, 10},
        {ROW("{\"name\": \"a\", \"forward\": {\"compute_ps\": -1}}"), 3, 41},
        {ROW("{\"name\": \"a\", \"forward\": {\"compute_ps\": 1.5}}"), 3, 41},
        {ROW("{\"name\": \"a\", \"forward\": {\"coll\": \"ALLREDUC\"}}"), 3, 35},
        {ROW("{\"name\": \"a\", \"forward\": {\"bytes\": 99999999999999999999}}"), 3, 0},
        {ROW("{\"name\": \"a\", \"recompute_from\": 3}"), 3, 33},
        {ROW("{\"name\": \"a\", \"name\": \"b\"}"), 3, 0},
        {ROW("{\"name\": \"a\"}, {\"name\": \"b\", \"fwd\": 1}"), 3, 37},
        {DOC("\"workload\": {}"), 2, 13},
        {DOC("\"workload\": {\"mesh\": {\"dp\": 0}}"), 2, 29},
        {WORK("\"blocks\": [], \"programs\": [[{\"block\": 0}]], " CLASS), 3, 39},
        {OPS("{\"kind\": \"compute\"}"), 4, 1},
        {OPS("{\"kind\": \"comput\", \"name\": \"x\"}"), 4, 10},
        {OPS("{\"kind\": \"compute\", \"name\": \"x\", \"stream\": 16}"), 4, 44},
        {OPS("{\"kind\": \"compute\", \"name\": \"x\", \"group\": 0}"), 4, 1},
        {OPS("{\"kind\": \"collective\", \"name\": \"x\", \"coll\": \"ALLREDUCE\", "
             "\"group\": 1}"),
         4,
         67},
        {OPS("{\"kind\": \"send\", \"name\": \"x\"}"), 4, 1},
        {OPS("{\"kind\": \"send\", \"name\": \"x\", \"peer\": 2}"), 4, 39},
        {OPS("{\"kind\": \"compute\", \"name\": \"x\", \"deps\": [0]}"), 4, 43},
        {OPS("{\"kind\": \"compute\", \"name\": \"x\", \"deps\": [{\"start\": 0}]}"),
         4,
         43},
        {OPS("{\"kind\": \"compute\", \"name\": \"x\", \"flags\": [\"fast\"]}"), 4, 44},
        {OPS("{\"kind\": \"compute\", \"name\": \"x\", \"cost_ps\": 4000000000000000000}"),
         4,
         45},
        {WORK("\"blocks\": [{\"ops\": []}], \"programs\": [[{\"block\": 0}]],\n"
              "\"classes\": [{\"program\": 0, \"rank\": 0, \"ranks\": 1}]"),
         4,
         13},
        {WORK("\"blocks\": [{\"ops\": []}], \"programs\": [[]],\n"
              "\"classes\": [{\"program\": 0, \"rank\": 0, \"ranks\": 2}], \"rank_class\": "
              "[0]"),
         4,
         67},
        {WORK("\"blocks\": [{\"ops\": []}], \"programs\": [[]],\n\"classes\": []"), 4, 12},
        {OPS("{\"kind\": \"compute\", \"name\": \"x\"}") " x", 0, 0},
    };
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__document doc;
        sc_status status = read_text(&sc__reader_ir_json,
                                     SETTINGS(),
                                     bad[i].text,
                                     strlen(bad[i].text),
                                     &doc);
        if (status != SC_INPUT)
            fail_msg("accepted: %s", bad[i].text);
        bool line = !bad[i].line || sc_error_line(ctx) == bad[i].line;
        bool column = !bad[i].column || sc_error_column(ctx) == bad[i].column;
        if (!line || !column)
            (wrong++, print_message("%s at: %s\n", sc_error_text(ctx), bad[i].text));
    }
    assert_int_equal(wrong, 0);
}

static void a_sound_document_runs(void **state) {
    (void)state;
    static const char text[] =
        OPS("{\"kind\": \"compute\", \"name\": \"x\", \"cost_ps\": 1000},\n"
            "{\"kind\": \"collective\", \"name\": \"y\", \"coll\": "
            "\"ALLREDUCE\", \"group\": 0, \"bytes\": 7}");
    struct sc__document doc;
    struct sc__sim sim;
    must(read_text(&sc__reader_ir_json, SETTINGS(), text, sizeof text - 1, &doc));
    assert_int_equal(step_of(doc.workload, 100, 10, &sim), 1000 + 100 + 70);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_context, close_context)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(rows_come_back),
        TEST(formats_lose_nothing),
        TEST(losses_are_named),
        TEST(gradients_keep_their_meaning),
        TEST(workloads_come_back),
        TEST(timelines_come_back),
        TEST(names_must_be_utf8),
        TEST(hostile_documents_are_refused),
        TEST(a_sound_document_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
