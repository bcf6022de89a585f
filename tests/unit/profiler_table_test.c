/* Profiler tables: the relations that hold in the measured MoE table, tables
 * as each version prints them (generated here by the rules of the format), the
 * mapping to a step, what-if questions, and inputs that must be refused. */
#include "evaluate/evaluate.h"
#include "table_helpers.h"

#include "frontend/torch_profiler/profile_step.h"
#include "frontend/torch_profiler/profiler_lower.h"
#include "workload/scale.h"

#include <math.h>

extern const struct sc__reader sc__reader_profiler_table;

#define MOE "tests/data/seed_001.txt"
#define US SC__PS_PER_US

static const struct sc__profile *read_moe(void) {
    struct sc__document doc = {0};
    const char *path = MOE;
    must(sc__reader_profiler_table.read(ctx, SETTINGS(), &path, 1, &doc));
    return doc.details;
}

static int64_t device_us(const struct sc__profile *p, const char *name) {
    const struct sc__profile_row *r = sc__profile_find(p, name);
    if (!r)
        fail_msg("no row %s", name);
    assert_int_equal(r->dev_total % US, 0);
    return r->dev_total / US;
}

/* ---- the measured table ---- */

static void moe_rows(void **state) {
    (void)state;
    const struct sc__profile *p = read_moe();
    assert_int_equal(p->count, 84);
    assert_string_equal(p->device, "CUDA");
    assert_int_equal(p->dev_total, -1);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct sc__profile_row *r = &p->rows[i];
        double avg = (double)r->dev_avg * (double)r->calls;
        double total = (double)r->dev_total;
        double unit =
            r->dev_total >= 1000 * US ? 500.0 * 1e3 : 500.0; /* half the last digit, ps */
        double avg_unit = r->dev_avg >= 1000 * US ? 500.0 * 1e3 : 500.0;
        assert_true(fabs(avg - total) <= unit + avg_unit * (double)r->calls + 1);
        assert_int_equal(r->self_dev, 0);
    }
}

static int64_t sum_layers(const struct sc__profile *p) {
    int64_t sum = 0;
    static const char *const layers[] = {"LAYER_0", "LAYER_1", "LAYER_2", "LAYER_3"};
    for (unsigned i = 0; i < 4; i++)
        sum += device_us(p, layers[i]);
    return sum;
}

static void moe_relations(void **state) {
    (void)state;
    const struct sc__profile *p = read_moe();
    int64_t common = device_us(p, "SelfAttnLayerNorm") + device_us(p, "SelfAttn") +
                     device_us(p, "SelfAttnDropOut") + device_us(p, "SelfAttnRes") +
                     device_us(p, "FinalLayerNorm") + device_us(p, "SelfAttnRes_2");
    assert_int_equal(sum_layers(p), 33565);
    assert_int_equal(common + device_us(p, "FFNLayer") + device_us(p, "MOELayer"), 33565);
    assert_int_equal(common * 10 / 4, 30155);
    assert_int_equal(device_us(p, "FFNLayer"), 2 * 1548 + 1);
    assert_int_equal(device_us(p, "MOELayer"), 2 * 9203);
    assert_int_equal(device_us(p, "MOEGate") + device_us(p, "DispatchMask") +
                         device_us(p, "MOEmm") + device_us(p, "MOEExpert") +
                         device_us(p, "MOECombineExpert") + 157,
                     18406);
    assert_int_equal(device_us(p, "FORWARD_EMBEDDING") + sum_layers(p) +
                         device_us(p, "LAYER_NORM") + 8059,
                     41988);
    assert_int_equal(device_us(p, "forward") + device_us(p, "backward") +
                         device_us(p, "multiply-grads") + device_us(p, "clip-grads") +
                         device_us(p, "optimizer") + 488,
                     46271);
    assert_int_equal(device_us(p, "train_step-0"), 46271);
}

static void moe_step(void **state) {
    (void)state;
    struct sc__profile_step s;
    int64_t forward = 0;
    int64_t backward = 0;
    must(sc__profile_find_step(ctx, read_moe(), &s));
    assert_true(s.found);
    assert_int_equal(s.layers, 4);
    assert_int_equal(s.moe_layers, 2);
    assert_int_equal(s.nodes, 30);
    assert_int_equal(s.node_calls, 398);
    assert_int_equal(s.forward, 41988 * US);
    assert_int_equal(s.backward, 51302 * US);
    assert_int_equal(s.rest, 488 * US);
    assert_int_equal(s.total, 97573 * US);
    for (uint32_t i = 0; i < s.count; i++) {
        forward += s.pieces[i].forward;
        backward += s.pieces[i].backward;
        if (s.pieces[i].role != SC__PIECE_PLAIN)
            assert_true(s.pieces[i].layer == 1 || s.pieces[i].layer == 3);
        if (s.pieces[i].role == SC__PIECE_EXPERT)
            assert_true(llabs(s.pieces[i].forward - 2960 * US) < 30 * US);
        if (!strcmp(s.pieces[i].name, "head and loss"))
            assert_int_equal(s.pieces[i].forward, 8059 * US);
    }
    assert_int_equal(forward, 41988 * US);
    assert_int_equal(backward, 51302 * US);
}

static void count_collectives(const struct sc__workload *w, unsigned counts[SC__COLLS]) {
    memset(counts, 0, SC__COLLS * sizeof *counts);
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].kind == SC__OP_COLLECTIVE)
            counts[w->ops[i].coll]++;
}

static void moe_workload(void **state) {
    (void)state;
    struct sc__workload *w;
    struct sc__sim sim;
    unsigned counts[SC__COLLS];
    must(sc__lower_profile(ctx, SETTINGS(), read_moe(), 0, &w));
    count_collectives(w, counts);
    assert_int_equal(counts[SC__ALLTOALL], 8);
    assert_int_equal(counts[SC__ALLGATHER], 2);
    assert_int_equal(counts[SC__REDUCESCATTER], 1);
    assert_int_equal(counts[SC__ALLREDUCE], 4);
    assert_true(noted("sizes-assumed"));
    assert_true(noted("host-wait"));
    /* blocking collectives of 1 us each on top of the compute */
    assert_int_equal(step_of(w, US, 0, &sim), (97573 + 15) * US);
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].kind == SC__OP_COLLECTIVE && w->ops[i].coll == SC__ALLTOALL)
            assert_int_equal(w->ops[i].bytes, 2 * 4096 * 1024 * 2);
}

static void moe_compute_only(void **state) {
    (void)state;
    struct sc__workload *w;
    struct sc__sim sim;
    unsigned counts[SC__COLLS];
    must(sc__lower_profile(ctx, SETTINGS("compute-only="), read_moe(), 0, &w));
    count_collectives(w, counts);
    for (unsigned i = 0; i < SC__COLLS; i++)
        assert_int_equal(counts[i], 0);
    assert_int_equal(step_of(w, US, 1, &sim), 97573 * US);
    assert_int_equal(sim.classes[0].account.compute, 97573 * US);
    assert_false(noted("sizes-assumed"));
}

static void waits_are_not_work(void **state) {
    (void)state;
    struct sc__wait_row *waits;
    uint32_t n = sc__profile_waits(&ctx->arena, read_moe(), &waits);
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        found += !strcmp(waits[i].row->name, "nccl:_all_gather_base") &&
                 waits[i].host == 3758000 * US;
        found += !strcmp(waits[i].row->name, "cudaLaunchKernel") &&
                 waits[i].host == 3771000 * US;
        found += !strcmp(waits[i].row->name, "forward") && waits[i].host == 3761000 * US;
        found += !strcmp(waits[i].row->name, "EmbeddingBackward");
        found += !strcmp(waits[i].row->name, "cudaMalloc");
    }
    assert_int_equal(found, 5);
}

/* ---- what if ---- */

static sc_status change(const struct sc__settings *settings, struct sc__workload *w) {
    sc_options options;
    sc_status status = sc__options_read(settings, &options);
    return status == SC_OK ? sc__whatif_apply(ctx, &options, w) : status;
}

static int64_t
step_with(const struct sc__settings *settings, int64_t latency, int64_t per_byte) {
    struct sc__workload *w;
    struct sc__sim sim;
    must(sc__lower_profile(ctx, settings, read_moe(), 0, &w));
    must(change(settings, w));
    return step_of(w, latency, per_byte, &sim);
}

static void what_if(void **state) {
    (void)state;
    int64_t plain = 97573 * US;
    struct sc__profile_step s;
    must(sc__profile_find_step(ctx, read_moe(), &s));
    int64_t gate = 0;
    int64_t routed = 0;
    int64_t experts = 0;
    for (uint32_t i = 0; i < s.count; i++) {
        int64_t t = s.pieces[i].forward + s.pieces[i].backward;
        if (!strcmp(s.pieces[i].name, "MOEGate"))
            gate += t;
        if (s.pieces[i].role >= SC__PIECE_DISPATCH)
            routed += t;
        if (s.pieces[i].role == SC__PIECE_EXPERT)
            experts += t;
    }
    assert_int_equal(step_with(SETTINGS("gpu-speedup=2"), 0, 0) * 2 / US, plain / US);
    assert_true(llabs(step_with(SETTINGS("scale=MOEGate=0.5"), 0, 0) - (plain - gate / 2)) <
                100);
    assert_int_equal(step_with(SETTINGS("scale=optimizer=0"), 0, 0), plain - 3362 * US);
    assert_true(llabs(step_with(SETTINGS("top-k=1"), 0, 0) - (plain - routed / 2)) < 100);
    assert_true(llabs(step_with(SETTINGS("imbalance=1.5"), 0, 0) - (plain + experts / 2)) <
                100);
    /* all-to-all bytes: 8 of 16 MiB at 1 ps a byte; half with top-1, double with capacity 2
     */
    int64_t others = step_with(SETTINGS("ep=8"), 0, 1) - plain - 8 * (2 * 4096 * 1024 * 2);
    assert_int_equal(step_with(SETTINGS("top-k=1"), 0, 1) -
                         step_with(SETTINGS("top-k=1"), 0, 0),
                     4 * 16777216 + others);
    assert_int_equal(step_with(SETTINGS("capacity=2"), 0, 1) -
                         step_with(SETTINGS("capacity=2"), 0, 0),
                     16 * 16777216 + others);
    assert_int_equal(step_with(SETTINGS("imbalance=1.5"), 0, 1) -
                         step_with(SETTINGS("imbalance=1.5"), 0, 0),
                     12 * 16777216 + others);
}

static void unknown_names_are_refused(void **state) {
    (void)state;
    struct sc__workload *w;
    must(sc__lower_profile(ctx, SETTINGS(), read_moe(), 0, &w));
    assert_int_equal(change(SETTINGS("scale=MOEGat=0.5"), w), SC_USAGE);
    assert_non_null(strstr(sc_error_hint(ctx), "MOEGate"));
    assert_int_equal(change(SETTINGS("scale=MOEGate"), w), SC_USAGE);
    assert_int_equal(change(SETTINGS("scale=MOEGate=-1"), w), SC_USAGE);
    assert_int_equal(change(SETTINGS("gpu-speedup=0"), w), SC_USAGE);
}

/* A faster GPU does not wait less for the host, nor move bytes faster. */
static void speedup_is_of_compute(void **state) {
    (void)state;
    struct sc__workload *w = sc__workload_new(&ctx->arena, "test");
    sc__block_begin(w);
    sc__block_add(w, SC__OP_COMPUTE, SC__FORWARD, 0, "work")->cost = 100;
    struct sc__op *op = sc__block_add(w, SC__OP_COMPUTE, SC__FORWARD, 0, "wait");
    op->cost = 100;
    op->work = SC__WORK_HOST;
    op = sc__block_add(w, SC__OP_COLLECTIVE, SC__FORWARD, 0, "measured");
    op->cost = 100;
    op->flags = SC__OP_MEASURED;
    sc__block_add(w, SC__OP_COLLECTIVE, SC__FORWARD, 0, "update after it")->cost = 100;
    sc__block_end(w);
    must(change(SETTINGS("gpu-speedup=4"), w));
    assert_int_equal(w->ops[0].cost, 25);
    assert_int_equal(w->ops[1].cost, 100);
    assert_int_equal(w->ops[2].cost, 100);
    assert_int_equal(w->ops[3].cost, 25);
    must(change(SETTINGS("scale=w*=2", "scale=host=2"), w));
    assert_int_equal(w->ops[0].cost, 50);
    assert_int_equal(w->ops[1].cost, 400);
}

/* Four chunks: the first chunk of tokens and the last one of results are
 * exposed, the others travel behind the experts. */
static void overlapped_all_to_all(void **state) {
    (void)state;
    int64_t per_byte = 10;
    int64_t chunk = 16777216 / 4 * per_byte;
    int64_t alone = step_with(SETTINGS("compute-only="), 0, 0);
    int64_t blocking = step_with(SETTINGS("ep=8"), 0, per_byte);
    int64_t overlapped = step_with(SETTINGS("ep=8", "overlap-a2a="), 0, per_byte);
    int64_t dp = blocking - alone - 32 * chunk;
    assert_int_equal(overlapped, alone + dp + 4 * 2 * chunk);
}

/* ---- tables as the versions print them ---- */

struct layout {
    const char *device; /* NULL: host only */
    bool old;           /* up to 1.5: left aligned, other names */
    bool overload;
    bool memory;
    bool shapes;
    bool node;
    bool stack;
    bool flops;
    const char *title;
};

struct cells {
    struct sc__buffer *out;
    const struct layout *l;
    unsigned column;
    char line[1024];
};

static void put_cell(struct cells *c, const char *text, int width) {
    sc__printf(c->out, c->l->old ? "%-*s  " : "%*s  ", width, text);
}

static void put_separator(struct sc__buffer *out, unsigned columns) {
    for (unsigned i = 0; i < columns; i++)
        sc__puts(out, i ? "------------  " : "------------------------  ");
    sc__putc(out, '\n');
}

static unsigned put_header(struct sc__buffer *out, const struct layout *l) {
    struct cells c = {.out = out, .l = l};
    const char *d = l->device;
    char name[64];
    unsigned n = 0;
    struct sc__buffer header;
    sc__buffer_init(&header, &ctx->arena);
    c.out = &header;
#define COLUMN(...)                                                                        \
    (snprintf(name, sizeof name, __VA_ARGS__), put_cell(&c, name, n++ ? 12 : 24))
    COLUMN("Name");
    if (l->overload)
        COLUMN("Overload Name");
    COLUMN(l->old ? "Self CPU total %%" : "Self CPU %%");
    COLUMN(l->old ? "Self CPU total" : "Self CPU");
    COLUMN("CPU total %%");
    COLUMN("CPU total");
    COLUMN("CPU time avg");
    if (d && !l->old) {
        COLUMN("Self %s", d);
        COLUMN("Self %s %%", d);
    }
    if (d && l->old)
        COLUMN("%s total %%", d);
    if (d) {
        COLUMN("%s total", d);
        COLUMN("%s time avg", d);
    }
    if (l->memory) {
        COLUMN("CPU Mem");
        COLUMN("Self CPU Mem");
    }
    if (l->memory && d) {
        COLUMN("%s Mem", d);
        COLUMN("Self %s Mem", d);
    }
    COLUMN(l->old ? "Number of Calls" : "# of Calls");
    if (l->node)
        COLUMN("Node ID");
    if (l->shapes)
        COLUMN("Input Shapes");
    if (l->stack)
        COLUMN("Source Location");
    if (l->flops)
        COLUMN("Total MFLOPs");
#undef COLUMN
    if (l->title)
        sc__printf(out, "=======\n%s\n", l->title);
    put_separator(out, n);
    sc__put(out, header.text, header.size);
    sc__putc(out, '\n');
    put_separator(out, n);
    return n;
}

struct sample {
    const char *name;
    const char *overload;
    const char *shapes;
    const char *source;
    const char *flops;
    /* below 1000, printed in us */
    double self_us;
    double total_us;
    double dev_us;
    unsigned calls;
};

static const struct sample samples[] = {
    {"aten::mm",
     "",
     "[[4096, 1024], [1024, 4096]]",
     "train.py(12): forward",
     "274.878",
     10.5,
     20.25,
     300.125,
     3},
    {"aten::add", "Tensor", "[]", "", "--", -3.5, 4, 0, 1},
    {"void  spaced  kernel<1, 2>(...)", "", "[[], []]", "", "--", 0, 0, 250, 7},
    {"LAYER_0", "out", "[[1]]", "a.py(3): <module>", "1.5", 100, 900.5, 400, 2},
};

static void put_row(struct sc__buffer *out,
                    const struct layout *l,
                    const struct sample *s,
                    bool spaced_ok) {
    struct cells c = {.out = out, .l = l};
    char text[64];
    int n = 0;
#define CELL(...)                                                                          \
    (snprintf(text, sizeof text, __VA_ARGS__), put_cell(&c, text, n++ ? 12 : 24))
    CELL("%s", spaced_ok ? s->name : strchr(s->name, ' ') ? "kernel" : s->name);
    if (l->overload)
        CELL("%s", s->overload);
    CELL("%.2f%%", 1.5);
    CELL("%.3fus", s->self_us);
    CELL("%s", s->total_us == 4 ? "0" : "NaN");
    CELL("%.3fus", s->total_us);
    CELL("%.3fms", s->total_us / s->calls / 1000);
    if (l->device && !l->old) {
        CELL("%.3fus", s->dev_us);
        CELL("%.2f%%", 0.0);
    }
    if (l->device && l->old)
        CELL("%.2f%%", 3.0);
    if (l->device) {
        CELL("%.3fus", s->dev_us);
        CELL("%.3fus", s->dev_us / s->calls);
    }
    if (l->memory) {
        CELL("512 b");
        CELL("-1.50 Kb");
    }
    if (l->memory && l->device) {
        CELL("2.00 MB");
        CELL("0 B");
    }
    CELL("%u", s->calls);
    if (l->node)
        CELL("-1");
    if (l->shapes)
        CELL("%s", s->shapes);
    if (l->stack && l->flops) {
        CELL("%s", s->flops);
        CELL("%s", s->source);
    } /* not as the header has them */
    else if (l->stack)
        CELL("%s", s->source);
    else if (l->flops)
        CELL("%s", s->flops);
#undef CELL
    sc__putc(out, '\n');
    if (l->stack && s->source[0])
        sc__printf(out, "%*s  \n%*s\n", 180, "other.py(9): inner", 180, "");
}

static void check_layout(const struct layout *l) {
    struct sc__buffer b;
    struct sc__document doc;
    bool spaced_ok = !l->overload;
    sc__buffer_init(&b, &ctx->arena);
    sc__puts(&b, "some log line before\n");
    unsigned columns = put_header(&b, l);
    for (unsigned i = 0; i < 4; i++)
        put_row(&b, l, &samples[i], spaced_ok);
    put_separator(&b, columns);
    sc__puts(&b, "Self CPU time total: 1.500ms\n");
    if (l->device)
        sc__printf(&b,
                   l->old ? "%s time total: 950.125us\n"
                          : "Self %s time total: 950.125us\n",
                   l->device);
    if (read_text(&sc__reader_profiler_table, SETTINGS(), b.text, b.size, &doc) != SC_OK)
        fail_msg("%s\n%s", sc_error_text(ctx), b.text);
    const struct sc__profile *p = doc.details;
    assert_int_equal(p->count, 4);
    assert_int_equal(p->cpu_total, 1500 * US);
    assert_int_equal(p->dev_total, l->device ? 950125 * US / 1000 : -1);
    if (l->device)
        assert_string_equal(p->device, l->device);
    for (unsigned i = 0; i < 4; i++) {
        const struct sc__profile_row *r = &p->rows[i];
        const struct sample *s = &samples[i];
        if (spaced_ok)
            assert_string_equal(r->name, s->name);
        assert_int_equal(r->self_cpu, llround(s->self_us * 1000) * 1000);
        assert_int_equal(r->cpu_total, llround(s->total_us * 1000) * 1000);
        assert_int_equal(r->dev_total, l->device ? llround(s->dev_us * 1000) * 1000 : 0);
        assert_int_equal(r->calls, s->calls);
        assert_int_equal(r->async, i == 1);
        if (l->memory)
            assert_int_equal(r->self_cpu_mem, -1536);
        if (l->memory && l->device)
            assert_int_equal(r->dev_mem, 2 << 20);
        if (l->shapes)
            assert_string_equal(r->shapes, s->shapes);
        if (l->stack && s->source[0])
            assert_string_equal(r->source, s->source);
        if (l->stack && !s->source[0])
            assert_null(r->source);
        if (l->flops)
            assert_true(fabs(r->flops - (s->flops[0] == '-' ? 0 : atof(s->flops) * 1e6)) <
                        1e-3);
        if (l->overload && s->overload[0])
            assert_string_equal(r->overload, s->overload);
        if (l->overload && !s->overload[0])
            assert_null(r->overload);
    }
}

static void every_layout_loads(void **state) {
    (void)state;
    static const char *const devices[] =
        {NULL, "CUDA", "XPU", "MTIA", "HPU", "NPU", "MUSA", "PRIVATEUSEONE"};
    for (unsigned d = 0; d < sizeof devices / sizeof *devices; d++) {
        for (unsigned bits = 0; bits < 64; bits++) {
            struct layout l = {.device = devices[d],
                               .overload = bits & 1,
                               .memory = bits & 2,
                               .shapes = bits & 4,
                               .node = bits & 8,
                               .stack = bits & 16,
                               .flops = bits & 32,
                               .title = bits % 3 ? NULL : "a title"};
            check_layout(&l);
        }
        check_layout(&(struct layout){.device = devices[d], .old = true});
        check_layout(&(struct layout){.device = devices[d],
                                      .old = true,
                                      .shapes = true,
                                      .memory = true});
    }
}

/* ---- real tables of a newer version ---- */

static const struct sc__profile *real_table(const char *number) {
    struct sc__document doc = {0};
    const char *path = shared_path("traces/torch/moe_tables.txt");
    must(sc__reader_profiler_table.read(
        ctx,
        SETTINGS(sc__format(&ctx->arena, "table=%s", number)),
        &path,
        1,
        &doc));
    return doc.details;
}

static void real_tables(void **state) {
    (void)state;
    static const unsigned rows[] = {250, 20, 60, 250};
    static const char *const numbers[] = {"1", "2", "3", "4"};
    for (unsigned i = 0; i < 4; i++) {
        const struct sc__profile *p = real_table(numbers[i]);
        struct sc__profile_sum sum;
        assert_int_equal(p->count, rows[i]);
        assert_int_equal(p->dev_total, 11743 * US);
        assert_int_equal(p->cpu_total, 147783 * US);
        assert_int_equal(p->tables, 4);
        sc__profile_add_up(&ctx->arena, p, &sum);
        assert_true(llabs(sum.total - 11743 * US) < US);
        /* whole tables: the kernels alone make up the printed total, so no
         * annotation was counted twice */
        if (rows[i] == 250)
            assert_true(sum.unlisted < US);
    }
}

static void real_table_runs(void **state) {
    (void)state;
    const struct sc__profile *p = real_table("1");
    struct sc__workload *w;
    struct sc__sim sim;
    must(sc__lower_profile(ctx, SETTINGS(), p, 0, &w));
    assert_true(llabs(step_of(w, 0, 0, &sim) - 11743 * US) < US);
    assert_true(noted("no-step"));
    /* GEMM kernels, added up from the file with grep: nvjet and splitK rows */
    assert_true(llabs(sim.classes[0].work[SC__WORK_GEMM] - (int64_t)(3778.3 * 1e6)) <
                2 * US);
}

/* Versions without self times of the device: their totals, as they print them. */
static void old_tables_add_up_totals(void **state) {
    (void)state;
    struct layout l = {.device = "CUDA", .old = true};
    struct sc__buffer b;
    struct sc__document doc;
    struct sc__profile_sum sum;
    sc__buffer_init(&b, &ctx->arena);
    unsigned columns = put_header(&b, &l);
    for (unsigned i = 0; i < 4; i++)
        put_row(&b, &l, &samples[i], true);
    put_separator(&b, columns);
    sc__puts(&b, "Self CPU time total: 2.000ms\nCUDA time total: 950.125us\n");
    ctx->note_count = 0;
    must(read_text(&sc__reader_profiler_table, SETTINGS(), b.text, b.size, &doc));
    assert_false(noted("marks-in-total"));
    sc__profile_add_up(&ctx->arena, doc.details, &sum);
    assert_string_equal(sum.basis, "device totals");
    assert_int_equal(sum.total, 950125 * (US / 1000));
}

/* ---- hostile tables ---- */

#define SEP                                                                                \
    "-----------------  ------------  ------------  ------------  ------------  "          \
    "------------  "                                                                       \
    "------------\n"
#define HEAD                                                                               \
    SEP "Name  Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg  # of "          \
        "Calls\n" SEP

static void hostile_tables_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t line;
    } bad[] = {
        {"", 0},
        {"nothing of the kind\n", 0},
        {HEAD, 3},
        {HEAD SEP, 2},
        {HEAD "a  1%  1us  1%  1us  1us  1\n", 4},
        {HEAD "a  1%  1us  1%  1us  1\n" SEP, 4},
        {HEAD "a\n" SEP, 4},
        {HEAD "a  1%  1us  1%  1us  1us  -1\n" SEP, 4},
        {HEAD "a  1%  1us  1%  1us  1us  1.5\n" SEP, 4},
        {HEAD "a  1%  1xs  1%  1us  1us  1\n" SEP, 4},
        {HEAD "a  1%  1us  1%  99999999999999s  1us  1\n" SEP, 4},
        {HEAD "a  1%  1us  1%  3000000s  1us  1\na  1%  1us  1%  3000000s  1us  1\n" SEP,
         5},
        {HEAD "a  1  1us  1%  1us  1us  1\n" SEP, 4},
        {HEAD "a  1%  nanus  1%  1us  1us  1\n" SEP, 4},
        {SEP
         "Name  Self CPU %  Self CPU  CPU total %  CPU total  Shoe size  # of Calls\n" SEP
         "a\n" SEP,
         2},
        {SEP "Name  Self CPU  Self CPU  CPU total\n" SEP "a\n" SEP, 2},
        {SEP "Name  Self CPU  CPU total\n" SEP "a  1us  1us\n" SEP, 2},
        {HEAD "a  1%  1us  1%  1us  1us  1\n" SEP "Self CPU time total: soon\n", 6},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__document doc;
        sc_status status = read_text(&sc__reader_profiler_table,
                                     SETTINGS(),
                                     bad[i].text,
                                     strlen(bad[i].text),
                                     &doc);
        if (status != SC_INPUT)
            fail_msg("accepted: %s", bad[i].text);
        assert_non_null(sc_error_file(ctx));
        if (sc_error_line(ctx) != bad[i].line)
            fail_msg("%s at: %s", sc_error_text(ctx), bad[i].text);
    }
    struct sc__document doc;
    assert_int_equal(read_text(&sc__reader_profiler_table,
                               SETTINGS("table=2"),
                               HEAD "a  1%  1us  1%  1us  1us  1\n" SEP,
                               strlen(HEAD "a  1%  1us  1%  1us  1us  1\n" SEP),
                               &doc),
                     SC_USAGE);
    assert_int_equal(read_text(&sc__reader_profiler_table, SETTINGS(), "a\0b", 3, &doc),
                     SC_INPUT);
}

/* A table cut in the middle, then a whole one: the whole one is taken. */
static void first_complete_table(void **state) {
    (void)state;
    static const char text[] =
        HEAD "cut  1%  1us  1%\n" HEAD "whole  1%  1us  1%  1us  1us  1\n" SEP;
    struct sc__document doc;
    must(read_text(&sc__reader_profiler_table, SETTINGS(), text, sizeof text - 1, &doc));
    const struct sc__profile *p = doc.details;
    assert_string_equal(p->rows[0].name, "whole");
    assert_int_equal(p->table, 2);
    assert_int_equal(read_text(&sc__reader_profiler_table,
                               SETTINGS("table=1"),
                               text,
                               sizeof text - 1,
                               &doc),
                     SC_INPUT);
}

/* Newer versions also list the engine around each node, with the same time. */
static void engine_rows_hold_their_nodes(void **state) {
    (void)state;
    const struct sc__profile *p = read_moe();
    struct sc__profile both = *p;
    struct sc__profile_step s;
    both.rows = SC__NEW_ARRAY(&ctx->arena, struct sc__profile_row, 2 * p->count);
    both.count = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        both.rows[both.count++] = p->rows[i];
        if (p->rows[i].kind != SC__PROFILE_NODE)
            continue;
        both.rows[both.count] = p->rows[i];
        both.rows[both.count].dev_total += US; /* the engine adds up gradients */
        both.rows[both.count++].name = sc__format(&ctx->arena,
                                                  "autograd::engine::evaluate_function: %s",
                                                  p->rows[i].name);
    }
    sc__profile_classify(&ctx->arena, &both);
    must(sc__profile_find_step(ctx, &both, &s));
    assert_int_equal(both.count, 84 + 30);
    assert_int_equal(s.nodes, 30);
    assert_int_equal(s.total, (97573 + 30) * US);
}

/* The same table, as if five equal steps had been added up. */
static void several_steps_are_one(void **state) {
    (void)state;
    const struct sc__profile *one = read_moe();
    struct sc__profile five = *one;
    struct sc__workload *w;
    struct sc__sim sim;
    five.rows = SC__NEW_ARRAY(&ctx->arena, struct sc__profile_row, one->count);
    five.steps = 5;
    for (uint32_t i = 0; i < one->count; i++) {
        five.rows[i] = one->rows[i];
        five.rows[i].dev_total *= 5;
        five.rows[i].calls *= 5;
    }
    must(sc__lower_profile(ctx, SETTINGS(), &five, 0, &w));
    assert_true(llabs(step_of(w, US, 0, &sim) - (97573 + 15) * US) < 1000);
    assert_true(noted("steps"));
    five.rows[0].name = "no step";
    five.rows[0].calls = 1;
    sc__profile_classify(&ctx->arena, &five);
    assert_int_equal(five.steps, 1);
}

/* Parts larger than their whole cannot be a step. */
static void contradictions_are_refused(void **state) {
    (void)state;
    struct sc__str text;
    struct sc__document doc;
    struct sc__workload *w;
    must(sc__read_all(ctx, MOE, 1 << 20, &text));
    char *copy = sc__strndup(&ctx->arena, text.p, text.n);
    char *at = strstr(copy, "41.988ms");
    memcpy(at, "11.988ms", 8);
    must(read_text(&sc__reader_profiler_table, SETTINGS(), copy, text.n, &doc));
    assert_int_equal(sc__lower_profile(ctx, SETTINGS(), doc.details, 0, &w), SC_INPUT);
    assert_int_equal(sc_error_line(ctx), 11);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_context, close_context)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(moe_rows),
        TEST(moe_relations),
        TEST(moe_step),
        TEST(moe_workload),
        TEST(moe_compute_only),
        TEST(waits_are_not_work),
        TEST(what_if),
        TEST(unknown_names_are_refused),
        TEST(speedup_is_of_compute),
        TEST(overlapped_all_to_all),
        TEST(every_layout_loads),
        TEST(old_tables_add_up_totals),
        TEST(real_tables),
        TEST(real_table_runs),
        TEST(hostile_tables_are_refused),
        TEST(first_complete_table),
        TEST(contradictions_are_refused),
        TEST(several_steps_are_one),
        TEST(engine_rows_hold_their_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
