/* Captures of PyTorch steps: prices against the kernel model by hand, the peak of
 * memory by hand, a host that is the limit, a pipeline of two stages; broken documents
 * are refused with their place. */
#include "table_helpers.h"

#include "frontend/capture/capture.h"

#include <math.h>

extern const struct sc__reader sc__reader_capture;

/* A document from its parts; the rest is that of one rank. */
struct parts {
    const char *world;
    const char *mesh;
    const char *groups;
    const char *tensors;
    const char *calls;
    const char *classes;
    const char *programs;
};

static const char *document(struct parts p) {
    return sc__format(&ctx->arena,
                      "{\"schema\": \"stepcast/capture/1\", \"made_by\": \"a test\", "
                      "\"world\": %s, \"mesh\": %s, \"groups\": %s, \"modules\": [\"\", "
                      "\"encoder.0.fc\"], \"tensors\": %s, \"calls\": %s, \"classes\": %s, "
                      "\"programs\": %s, \"notes\": []}",
                      p.world ? p.world : "1",
                      p.mesh ? p.mesh : "[]",
                      p.groups ? p.groups : "[]",
                      p.tensors ? p.tensors : "[]",
                      p.calls,
                      p.classes ? p.classes
                                : "[{\"rank\": 0, \"ranks\": 1, \"program\": 0}]",
                      p.programs);
}

static struct sc__workload *read_document(const char *text, const char *host_scale) {
    struct sc__document doc;
    const char *scale = sc__format(&ctx->arena, "host-scale=%s", host_scale);
    must(read_text(&sc__reader_capture,
                   SETTINGS("gpu=h200", scale),
                   text,
                   strlen(text),
                   &doc));
    return doc.workload;
}

/* One operation on its tensors, without a host: its time in us. */
static double us_of(const char *tensors, const char *call) {
    struct parts p = {.tensors = tensors,
                      .calls = sc__format(&ctx->arena, "[%s]", call),
                      .programs = "[{\"storages\": [], \"alive\": [], \"ops\": "
                                  "[[0, 1, \"f\", 0, 0, 0, [], [], []]]}]"};
    const struct sc__workload *w = read_document(document(p), "0");
    assert_int_equal(w->op_count, 2);
    const char *name = w->names.text[w->ops[1].name];
    assert_int_equal(strncmp(name, "encoder.0.fc.", 13), 0);
    return (double)w->ops[1].cost * 1e-6;
}

static struct sc__kernel_model *h200(const struct sc__gpu **gpu) {
    must(sc__gpu_find(ctx, "h200", gpu));
    return sc__kernel_model_new(&ctx->arena, *gpu);
}

static void test_products(void **state) {
    const struct sc__gpu *gpu;
    struct sc__kernel_model *model = h200(&gpu);
    (void)state;
    /* [m, k] by [k, n]; the clock of one small product is the full one */
    double mm = us_of("[[\"bf16\", [512, 1024]], [\"bf16\", [1024, 256]], "
                      "[\"bf16\", [512, 256]]]",
                      "{\"op\": \"aten.mm\", \"in\": [0, 1], \"out\": [2]}");
    assert_within(mm, sc__gemm(model, NULL, SC__BF16, 512, 256, 1024).us + gpu->gap, 1e-6);
    double bmm = us_of("[[\"bf16\", [8, 256, 128]], [\"bf16\", [8, 128, 64]], "
                       "[\"bf16\", [8, 256, 64]]]",
                       "{\"op\": \"aten.bmm\", \"in\": [0, 1], \"out\": [2]}");
    assert_within(bmm,
                  sc__gemm_batched(model, NULL, SC__BF16, 8, 256, 64, 128).us + gpu->gap,
                  1e-6);
}

/* One tap, channels side by side: a convolution is the product of windows and channels.
 * More taps: no slower than the product, which reads the image once for each tap, and no
 * faster than the share of the peak that full tiles reach. */
static void test_convolution(void **state) {
    const struct sc__gpu *gpu;
    struct sc__kernel_model *model = h200(&gpu);
    const char *call = "{\"op\": \"aten.convolution\", \"in\": [0, 1], \"out\": [2], "
                       "\"with\": {\"stride\": [1, 1], \"groups\": 1}}";
    (void)state;
    double one = us_of("[[\"bf16\", [4, 64, 16, 16], [16384, 1, 1024, 64]], "
                       "[\"bf16\", [128, 64, 1, 1]], "
                       "[\"bf16\", [4, 128, 16, 16], [32768, 1, 2048, 128]]]",
                       call);
    assert_within(one,
                  sc__gemm(model, NULL, SC__BF16, 4 * 256, 128, 64).us + gpu->gap,
                  1e-6);
    double nine = us_of("[[\"bf16\", [64, 128, 80, 80], [819200, 1, 10240, 128]], "
                        "[\"bf16\", [128, 128, 3, 3]], "
                        "[\"bf16\", [64, 128, 80, 80], [819200, 1, 10240, 128]]]",
                        call);
    double product = sc__gemm(model, NULL, SC__BF16, 64 * 6400, 128, 128 * 9).us;
    double peak = 2.0 * 64 * 6400 * 128 * 128 * 9 / (gpu->peak[SC__BF16] * 1e6);
    assert_true(nine < product + gpu->gap);
    assert_true(nine > peak / 0.75);
}

/* Of a large table the rows that an index names are read or written, not the table; single
 * elements cost a sector of 21 bytes more each, and no more is read than there is. Traffic
 * of 1.55 and 1.5 (data/operators.json); whole rows once, where 128 blocks are no limit. */
static void test_picked(void **state) {
    const struct sc__gpu *gpu;
    struct sc__kernel_model *model = h200(&gpu);
    static const char table[] = "[[\"bf16\", [100000, 1024]], [\"int64\", [128]], "
                                "[\"bf16\", [128, 1024]]]";
    static const char one[] = "[[\"bf16\", [4096, 4096]], [\"int64\", [4096, 1]], "
                              "[\"bf16\", [4096, 1]]]";
    static const char all[] = "[[\"bf16\", [4096, 4096]], [\"int64\", [4096, 4096]], "
                              "[\"bf16\", [4096, 4096]]]";
    static const char select[] =
        "{\"op\": \"aten.index_select\", \"in\": [0, 1], \"out\": [2]}";
    static const char copy[] =
        "{\"op\": \"aten.index_copy_\", \"in\": [0, 1, 2], \"out\": [0]}";
    static const char add[] =
        "{\"op\": \"aten.index_add_\", \"in\": [0, 1, 2], \"out\": [0]}";
    static const char gather[] = "{\"op\": \"aten.gather\", \"in\": [0, 1], \"out\": [2]}";
    const double rows = 2.0 * 128 * 1024;
    const double index = 8.0 * 128;
    const struct {
        const char *tensors;
        const char *call;
        double bytes;
    } cases[] = {{table, select, 2 * rows + index},
                 {table, copy, 1.5 * (3 * rows + index)},
                 {one, gather, 1.55 * 4096 * (2 + 21 + 8 + 2)},
                 {all, gather, 1.55 * 4096 * 4096 * (2 + 8 + 2)}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_within(us_of(cases[i].tensors, cases[i].call),
                      sc__elementwise(model, NULL, cases[i].bytes).us + gpu->gap,
                      1e-6);
    /* rows that are added take 8 ps an element, whatever the size of the table */
    double moved = sc__elementwise(model, NULL, rows).us - gpu->elementwise_t0;
    assert_within(us_of(table, add),
                  gpu->elementwise_t0 + hypot(moved, 128 * 1024 * 8e-6) + gpu->gap,
                  1e-4);
}

/* Two layers both ways over 100 steps of 80 numbers, 256 hidden: both ways of the first
 * layer take the 80, those of the second the 512 of both. 2 us a step, 1.23 forward
 * (data/operators.json). */
static void test_recurrent(void **state) {
    const struct sc__gpu *gpu;
    struct sc__kernel_model *model = h200(&gpu);
    (void)state;
    double us =
        us_of("[[\"bf16\", [8, 100, 80]], [\"bf16\", [8, 100, 512]]]",
              "{\"op\": \"stepcast.recurrent\", \"in\": [0], \"out\": [1], \"with\": "
              "{\"hidden\": 256, \"layers\": 2, \"gates\": 4, "
              "\"bidirectional\": true}}");
    double first = sc__gemm(model, NULL, SC__BF16, 800, 1024, 80).us;
    double second = sc__gemm(model, NULL, SC__BF16, 800, 1024, 512).us;
    double step = sc__gemm(model, NULL, SC__BF16, 8, 1024, 256).us + 2;
    assert_within(us, 1.23 * (2 * first + 2 * second + 400 * step) + gpu->gap, 1e-6);
}

/* Each channel by itself, from pictures of 40 by 40 to 80 by 80: both are moved, and a
 * stride of two spares nothing: four times the FLOPs, at 0.026 of the fp32 peak
 * (data/operators.json). With a stride of one they count once. */
static void test_depthwise(void **state) {
    const struct sc__gpu *gpu;
    struct sc__kernel_model *model = h200(&gpu);
    static const double wide[] = {40, 80};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        double small = 8 * 64 * 1600.0;
        double large = 8 * 64 * wide[i] * wide[i];
        const char *tensors = sc__format(&ctx->arena,
                                         "[[\"bf16\", [8, 64, 40, 40]], "
                                         "[\"bf16\", [64, 1, 2, 2]], "
                                         "[\"bf16\", [8, 64, %g, %g]]]",
                                         wide[i],
                                         wide[i]);
        const char *call = sc__format(&ctx->arena,
                                      "{\"op\": \"aten.convolution\", \"in\": [0, 1], "
                                      "\"out\": [2], \"with\": {\"stride\": [%u, %u], "
                                      "\"groups\": 64, \"transposed\": true}}",
                                      i + 1,
                                      i + 1);
        double moved = sc__elementwise(model, NULL, 2 * (small + large)).us;
        double flop = 2 * small * 4 * large / small;
        assert_within(us_of(tensors, call),
                      moved + flop / (0.026 * gpu->peak[SC__FP32] * 1e6) + gpu->gap,
                      1e-6);
    }
}

/* Tensors that lie alike go by their bytes; a row that is added to each line has its
 * place computed for every element, which takes longer; where neighbours of the output
 * lie far apart in an input, longer still. */
static void test_elementwise(void **state) {
    const struct sc__gpu *gpu;
    const char *add = "{\"op\": \"aten.add\", \"in\": [0, 1], \"out\": [2]}";
    (void)state;
    h200(&gpu);
    double alike = us_of("[[\"fp32\", [1024, 4096]], [\"fp32\", [1024, 4096]], "
                         "[\"fp32\", [1024, 4096]]]",
                         add);
    double bytes = 4 * 3.0 * 1024 * 4096;
    assert_within(alike,
                  gpu->elementwise_t0 + bytes / gpu->elementwise_bw + gpu->gap,
                  1e-6);
    /* the same order, not that of the sizes: still alike */
    double turned = us_of("[[\"fp32\", [1024, 4096], [1, 1024]], [\"fp32\", [1024, 4096], "
                          "[1, 1024]], [\"fp32\", [1024, 4096], [1, 1024]]]",
                          add);
    assert_within(turned, alike, 1e-9);
    double row = us_of("[[\"fp32\", [1024, 4096]], [\"fp32\", [4096]], "
                       "[\"fp32\", [1024, 4096]]]",
                       add);
    double expanded = us_of("[[\"fp32\", [1024, 4096]], [\"fp32\", [1024, 4096], [0, 1]], "
                            "[\"fp32\", [1024, 4096]]]",
                            add);
    assert_within(row, expanded, 1e-9);
    double row_bytes = 4 * (2.0 * 1024 * 4096 + 4096);
    assert_true(row > gpu->elementwise_t0 + row_bytes / gpu->elementwise_bw + gpu->gap);
    double crossed =
        us_of("[[\"fp32\", [1024, 4096]], [\"fp32\", [1024, 4096], [1, 1024]], "
              "[\"fp32\", [1024, 4096]]]",
              add);
    assert_true(crossed > 1.5 * alike);
}

/* Measured on an H200, by tools/measure_operators.py, in us: kinds of kernels that PyTorch
 * takes by how tensors lie. Within a fifth. */
static void test_measured_operators(void **state) {
    static const struct {
        const char *op;
        const char *tensors;
        const char *in;
        const char *out;
        double us;
    } rows[] = {
        {"aten.clone",
         "[[\"bf16\", [32, 784, 640], [501760, 1, 784]], [\"bf16\", [32, 784, 640]]]",
         "0",
         "1",
         106.5},
        {"aten.mul",
         "[[\"bf16\", [48, 320, 1024]], [\"bf16\", [48, 1, 1024]], [\"bf16\", [48, 320, "
         "1024]]]",
         "0, 1",
         "2",
         46.3},
        {"aten.sum", "[[\"bf16\", [16384, 1280]], [\"bf16\", [1280]]]", "0", "1", 36.3},
        {"aten.sum", "[[\"bf16\", [16384, 1280]], [\"bf16\", [16384]]]", "0", "1", 19.6},
        {"aten.native_batch_norm",
         "[[\"bf16\", [64, 48, 112, 112]], [\"bf16\", [48]]]",
         "0, 1",
         "0, 1, 1",
         747.2},
        {"aten.native_layer_norm_backward",
         "[[\"bf16\", [200704, 96]], [\"fp32\", [200704, 1]], [\"bf16\", [96]]]",
         "0, 0, 1, 1, 2, 2",
         "0, 2, 2",
         212.8},
        {"aten.cat", "[[\"bf16\", [0]], [\"bf16\", [8, 1024, 24, 64]]]", "0, 1", "1", 81.9},
        {"aten.bmm",
         "[[\"bf16\", [6144, 64, 64]], [\"bf16\", [6144, 64, 64]]]",
         "0, 1",
         "0",
         40.8},
        {"aten.bmm",
         "[[\"bf16\", [8192, 49, 49]], [\"bf16\", [8192, 49, 32]]]",
         "0, 1",
         "1",
         76.6},
        {"aten.bmm",
         "[[\"fp32\", [2048, 64, 64]], [\"fp32\", [2048, 64, 32]]]",
         "0, 1",
         "1",
         34.9},
        {"aten.bmm",
         "[[\"fp32\", [384, 512, 64]], [\"fp32\", [384, 64, 512]], [\"fp32\", [384, 512, "
         "512]]]",
         "0, 1",
         "2",
         405.1},
        {"aten._ctc_loss",
         "[[\"fp32\", [400, 16, 80]], [\"int64\", [16, 60]], [\"fp32\", [16]], [\"fp32\", "
         "[16, 400, 121]]]",
         "0, 1",
         "2, 3",
         343.8},
        /* nothing to add; and a frame, filled and copied into */
        {"aten.constant_pad_nd", "[[\"fp32\", [64, 48, 48, 96]]]", "0", "0", 29.8},
        {"aten.constant_pad_nd",
         "[[\"fp32\", [64, 48, 48, 96]], [\"fp32\", [64, 52, 52, 96]]]",
         "0",
         "1",
         62.9},
        {"aten.constant_pad_nd",
         "[[\"bf16\", [64, 36, 36, 160]], [\"bf16\", [64, 32, 32, 160]]]",
         "0",
         "1",
         25.6},
        {"aten.sum", "[[\"bf16\", [16384, 32000]], [\"bf16\", [32000]]]", "0", "1", 261.9},
        {"aten.sum", "[[\"bf16\", [48, 320, 1024]], [\"bf16\", [1024]]]", "0", "1", 33.3},
        {"aten.mean",
         "[[\"bf16\", [128, 1392, 7, 7]], [\"bf16\", [128, 1392, 1, 1]]]",
         "0",
         "1",
         43.8},
        {"aten.native_layer_norm_backward",
         "[[\"fp32\", [200000, 160]], [\"fp32\", [200000, 1]], [\"fp32\", [160]]]",
         "0, 0, 1, 1, 2, 2",
         "0, 2, 2",
         286.1},
        {"aten.native_batch_norm",
         "[[\"bf16\", [128, 240, 28, 28]], [\"bf16\", [240]]]",
         "0, 1",
         "0, 1, 1",
         182.5},
        {"aten.upsample_bilinear2d",
         "[[\"bf16\", [16, 256, 32, 32]], [\"bf16\", [16, 256, 128, 128]]]",
         "0",
         "1",
         1567.8},
        {"aten.upsample_bilinear2d",
         "[[\"bf16\", [24, 256, 96, 96], [2359296, 1, 24576, 256]], [\"bf16\", [24, 256, "
         "192, 192], [9437184, 1, 49152, 256]]]",
         "0",
         "1",
         1986.2},
        {"aten.convolution",
         "[[\"bf16\", [96, 336, 30, 30]], [\"bf16\", [336, 24, 3, 3]]]",
         "0, 1",
         "0",
         312.7}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double us =
            us_of(rows[i].tensors,
                  sc__format(&ctx->arena,
                             "{\"op\": \"%s\", \"in\": [%s], \"out\": [%s]%s}",
                             rows[i].op,
                             rows[i].in,
                             rows[i].out,
                             strcmp(rows[i].op, "aten.convolution")
                                 ? ""
                                 : ", \"with\": {\"stride\": [1, 1], \"groups\": 14}"));
        if (fabs(us / rows[i].us - 1) > 0.2)
            fail_msg("%s: %.1f us, measured %.1f", rows[i].op, us, rows[i].us);
    }
}

static void test_unknown_operator(void **state) {
    (void)state;
    us_of("[[\"fp32\", [1024]]]", "{\"op\": \"mine.special\", \"in\": [0], \"out\": [0]}");
    assert_true(noted("capture-operators"));
}

/* By hand, in whole blocks of 512 bytes: 1 KiB of weights alive, then 2 KiB more, then
 * half a KiB of gradients, then 4 KiB for the 2 that are freed: the peak is 5.5 KiB. */
static void test_memory(void **state) {
    struct parts p = {.tensors = "[[\"fp32\", [16]]]",
                      .calls = "[{\"op\": \"aten.relu\", \"in\": [0], \"out\": [0]}]",
                      .programs =
                          "[{\"storages\": [[1024, \"weights\"], [2000, \"other\"], [4096, "
                          "\"other\"], [1, \"gradients\"]], \"alive\": [0], \"ops\": ["
                          "[0, 0, \"f\", 0, 0, 0, [1], [], []],"
                          "[0, 0, \"b\", 0, 0, 0, [3], [], []],"
                          "[0, 0, \"b\", 0, 0, 0, [2], [1], []],"
                          "[0, 0, \"u\", 0, 0, 0, [], [2, 3], []]]}]"};
    (void)state;
    const struct sc__workload *w = read_document(document(p), "1");
    assert_int_equal(w->memory[0].weights, 1024);
    assert_int_equal(w->memory[0].activations, 4096);
    assert_int_equal(w->memory[0].gradients, 512);
    assert_int_equal(w->memory[0].optimizer, 0);
}

/* What a call needs beside its tensors counts while it runs: the first moment has 1.5 KiB
 * and 4 KiB of that, the second 5 KiB alone. */
static void test_scratch(void **state) {
    struct sc__capture_storage storages[] = {{1024, SC__STORAGE_WEIGHTS},
                                             {300, SC__STORAGE_OTHER},
                                             {3584, SC__STORAGE_GRADIENTS}};
    uint32_t places[] = {0, 1, 2, 1};
    struct sc__capture_op ops[] = {{.call = 0, .born = {1, 1}},
                                   {.call = 1, .born = {2, 1}},
                                   {.call = 1, .freed = {3, 1}}};
    struct sc__capture c = {.places = places};
    struct sc__capture_program program = {.storages = storages,
                                          .storage_count = 3,
                                          .alive = {0, 1},
                                          .ops = ops,
                                          .op_count = 3};
    (void)state;
    struct sc__memory m = sc__capture_peak(&c, &program, (const double[]){4096, 0}, 77);
    assert_int_equal(m.weights, 1024);
    assert_int_equal(m.activations, 512 + 4096);
    assert_int_equal(m.gradients, 0);
    assert_int_equal(m.workspace, 77);
    m = sc__capture_peak(&c, &program, (const double[]){3000, 0}, 77);
    assert_int_equal(m.activations, 512);
    assert_int_equal(m.gradients, 3584);
}

/* The host starts kernels one after another: their start waits for it. */
static void test_host_is_the_limit(void **state) {
    struct parts p = {.tensors = "[[\"fp32\", [16]]]",
                      .calls = "[{\"op\": \"aten.relu\", \"in\": [0], \"out\": [0]}]",
                      .programs = "[{\"storages\": [], \"alive\": [], \"ops\": ["
                                  "[0, 0, \"f\", 0, 0, 0, [], [], []],"
                                  "[0, 0, \"f\", 0, 0, 0, [], [], []]]}]"};
    (void)state;
    const struct sc__workload *slow = read_document(document(p), "10");
    const struct sc__workload *fast = read_document(document(p), "1");
    assert_int_equal(slow->ops[0].work, SC__WORK_HOST);
    assert_within(slow->ops[2].cost, 10.0 * (double)fast->ops[2].cost, 1e-9);
    assert_int_equal(slow->ops[1].after, 1u << slow->ops[0].stream);
}

/* Twenty kernels of two milliseconds and a host that takes less: from step to step it is a
 * whole step ahead, and the GPU waits for nothing. A host that waits for the GPU in each
 * step is not ahead. */
static void test_steps_in_a_row(void **state) {
    static const char *const ends[] = {"", ", [1, 0, \"f\", 0, 0, 0, [], [], []]"};
    double host[2] = {0, 0};
    (void)state;
    for (unsigned waits = 0; waits < 2; waits++) {
        struct sc__buffer ops;
        sc__buffer_init(&ops, &ctx->arena);
        for (unsigned i = 0; i < 20; i++)
            sc__printf(&ops, "%s[0, 0, \"f\", 0, 0, 0, [], [], []]", i ? ", " : "");
        struct parts p = {.tensors = "[[\"fp32\", [1073741824]]]",
                          .calls = "[{\"op\": \"aten.relu\", \"in\": [0], \"out\": [0]}, "
                                   "{\"op\": \"host.wait\", \"in\": [], \"out\": []}]",
                          .programs = sc__format(&ctx->arena,
                                                 "[{\"storages\": [], \"alive\": [], "
                                                 "\"ops\": [%s%s]}]",
                                                 ops.text,
                                                 ends[waits])};
        const struct sc__workload *w = read_document(document(p), "1");
        for (uint32_t i = 0; i < w->op_count; i++)
            if (w->ops[i].work == SC__WORK_HOST)
                host[waits] += (double)w->ops[i].cost * 1e-6;
    }
    assert_within(host[0], 0, 1e-9);
    /* 20 plain operations and what a step costs */
    assert_true(host[1] > 20 * 15);
}

static const char *two_stages(const char *peer) {
    struct parts p = {
        .world = "4",
        .mesh = "[[\"pp\", 2], [\"tp\", 2]]",
        .groups = "[{\"dims\": [\"tp\"]}, {\"dims\": [\"pp\"]}]",
        .tensors = "[[\"fp32\", [1048576]]]",
        .calls =
            sc__format(&ctx->arena,
                       "[{\"op\": \"aten.relu\", \"in\": [0], \"out\": [0]}, "
                       "{\"op\": \"c10d.send\", \"in\": [], \"out\": [], \"with\": "
                       "{\"group\": 1, \"bytes\": 4096, \"peer\": %s}}, "
                       "{\"op\": \"c10d.recv\", \"in\": [], \"out\": [], \"with\": "
                       "{\"group\": 1, \"bytes\": 4096, \"peer\": %s}}, "
                       "{\"op\": \"c10d.all_reduce\", \"in\": [], \"out\": [], \"with\": "
                       "{\"group\": 0, \"bytes\": 1024}}]",
                       peer,
                       peer),
        .classes = "[{\"rank\": 0, \"ranks\": 2, \"program\": 0}, "
                   "{\"rank\": 2, \"ranks\": 2, \"program\": 1}]",
        .programs = "[{\"storages\": [], \"alive\": [], \"ops\": ["
                    "[0, 0, \"f\", 0, 0, 0, [], [], []],"
                    "[3, 0, \"f\", -1, 0, 0, [], [], [0]],"
                    "[1, 0, \"f\", -2, 0, 0, [], [], [1]]]},"
                    "{\"storages\": [], \"alive\": [], \"ops\": ["
                    "[2, 0, \"f\", -2, 0, 0, [], [], []],"
                    "[0, 0, \"f\", 0, 0, 0, [], [], [0]],"
                    "[3, 0, \"f\", -1, 0, 0, [], [], [1]]]}]"};
    return document(p);
}

static void test_two_stages(void **state) {
    (void)state;
    const struct sc__workload *w =
        read_document(two_stages("{\"dim\": \"pp\", \"by\": 1}"), "0");
    assert_int_equal(w->mesh.pp, 2);
    assert_int_equal(w->mesh.tp, 2);
    assert_int_equal(w->class_count, 2);
    const struct sc__op *send = NULL;
    const struct sc__op *reduce = NULL;
    for (uint32_t i = 0; i < w->op_count; i++) {
        if (w->ops[i].kind == SC__OP_SEND)
            send = &w->ops[i];
        if (w->ops[i].kind == SC__OP_COLLECTIVE && !reduce)
            reduce = &w->ops[i];
    }
    assert_non_null(send);
    assert_true(send->flags & SC__OP_PEER_NEXT);
    assert_int_equal(send->bytes, 4096);
    assert_int_equal(send->deps, 1);
    assert_int_equal(w->groups[reduce->group].kind, SC__GROUP_TP);
    assert_int_equal(sc__op_peer(w, send, 0), 2);
}

static void refused(const char *text, const char *why) {
    struct sc__document doc;
    sc_status status =
        read_text(&sc__reader_capture, SETTINGS("gpu=h200"), text, strlen(text), &doc);
    if (status != SC_INPUT || !strstr(sc_error_text(ctx), why))
        fail_msg("wanted '%s', got %d: %s", why, status, sc_error_text(ctx));
}

static void test_refused(void **state) {
    static const char op[] = "[{\"op\": \"aten.relu\", \"in\": [0], \"out\": [0]}]";
    static const char run[] = "[{\"storages\": [], \"alive\": [], \"ops\": "
                              "[[0, 0, \"f\", 0, 0, 0, [], [], []]]}]";
    static const char one[] = "[[\"fp32\", [16]]]";
    (void)state;
    refused("{\"schema\": \"stepcast/capture/9\"}", "another schema");
    refused("{\"schema\": \"stepcast/capture/1\", \"wrold\": 1}", "wrold");
    refused(
        document((struct parts){.tensors = one,
                                .calls = op,
                                .programs = "[{\"storages\": [], \"alive\": [], \"ops\": "
                                            "[[1, 0, \"f\", 0, 0, 0, [], [], []]]}]"}),
        "programs[0].ops[0][0]");
    refused(
        document((struct parts){.tensors = one,
                                .calls = op,
                                .programs = "[{\"storages\": [], \"alive\": [], \"ops\": "
                                            "[[0, 0, \"f\", 0, 0, 0, [], [], [0]]]}]"}),
        "nothing of that kind");
    refused(
        document(
            (struct parts){.tensors = "[[\"fp33\", [16]]]", .calls = op, .programs = run}),
        "fp33");
    refused(
        document(
            (struct parts){.tensors = "[[\"fp32\", [-1]]]", .calls = op, .programs = run}),
        "tensors[0][1][0]");
    refused(document((struct parts){.tensors = "[[\"fp32\", [1000000, 1000000, 1000000]]]",
                                    .calls = op,
                                    .programs = run}),
            "2^45");
    refused(document(
                (struct parts){.world = "8", .tensors = one, .calls = op, .programs = run}),
            "the classes have 1 ranks, the world 8");
    refused(document((struct parts){.world = "8",
                                    .mesh = "[[\"dp\", 4]]",
                                    .tensors = one,
                                    .calls = op,
                                    .programs = run}),
            "has 4 ranks, the world 8");
    refused(document((struct parts){.world = "8",
                                    .mesh = "[[\"spice\", 8]]",
                                    .tensors = one,
                                    .calls = op,
                                    .programs = run,
                                    .classes = "[{\"rank\": 0, \"ranks\": 8, \"program\": "
                                               "0}]"}),
            "'spice'");
    refused(two_stages("{\"dim\": \"tp\", \"by\": 1}"), "not to the next stage");
    refused(two_stages("{\"dim\": \"pp\", \"by\": 7}"), "by");
}

/* What would have a price, but a wrong one. */
static void test_meaningless(void **state) {
    static const char run[] = "[{\"storages\": [], \"alive\": [], \"ops\": "
                              "[[0, 0, \"f\", 0, 0, 0, [], [], []]]}]";
    static const char tensors[] = "[[\"fp32\", [16]], [\"bf16\", [128, 64]], "
                                  "[\"bf16\", [2, 8, 64, 32]], [\"bf16\", [2, 3, 64, 32]], "
                                  "[\"bf16\", [64, 128]], [\"bf16\", [3, 8, 64, 32]], "
                                  "[\"bf16\", [8, 8, 3, 3]], [\"bf16\", [8, 4, 3, 3]]]";
    static const struct {
        const char *call;
        const char *says;
    } rows[] = {
        {"\"op\": \"c10d.all_reduce\", \"in\": [], \"out\": [], \"with\": {\"group\": 0}",
         "\"bytes\" is missing"},
        {"\"op\": \"c10d.all_reduce\", \"in\": [], \"out\": [], \"with\": {\"bytes\": 8}",
         "\"group\" is missing"},
        {"\"op\": \"c10d.send\", \"in\": [], \"out\": [], \"with\": {\"bytes\": 8}",
         "\"peer\" is missing"},
        {"\"op\": \"c10d.send\", \"in\": [], \"out\": [], \"with\": {\"bytes\": 8, "
         "\"peer\": {\"rank\": 0}}",
         "rank 0 sends a message of 8 bytes that rank 0 does not receive"},
        {"\"op\": \"c10d.recv\", \"in\": [], \"out\": [], \"with\": {\"bytes\": 8, "
         "\"peer\": {\"rank\": 0}}",
         "rank 0 receives a message of 8 bytes that rank 0 does not send"},
        {"\"op\": \"c10d.all_sorts\", \"in\": [], \"out\": []", "unknown collective"},
        {"\"op\": \"host.party\", \"in\": [], \"out\": []", "unknown operation"},
        {"\"op\": \"stepcast.magic\", \"in\": [], \"out\": []", "unknown operation"},
        {"\"op\": \"aten.mm\", \"in\": [1], \"out\": [1]", "do not fit 'aten.mm'"},
        {"\"op\": \"aten.mm\", \"in\": [1, 1], \"out\": [1]", "do not fit 'aten.mm'"},
        {"\"op\": \"aten.addmm\", \"in\": [0, 1, 1], \"out\": [1]", "do not fit"},
        {"\"op\": \"aten.bmm\", \"in\": [2, 2], \"out\": [2]", "do not fit"},
        {"\"op\": \"aten.mm\", \"in\": [1, 4], \"out\": [1]", "do not fit 'aten.mm'"},
        {"\"op\": \"aten.convolution\", \"in\": [1, 1], \"out\": [1]", "do not fit"},
        {"\"op\": \"aten.convolution\", \"in\": [2, 6], \"out\": []", "do not fit"},
        {"\"op\": \"aten.convolution\", \"in\": [2, 6], \"out\": [3]", "do not fit"},
        {"\"op\": \"aten.convolution\", \"in\": [2, 7], \"out\": [2]", "do not fit"},
        {"\"op\": \"aten.convolution\", \"in\": [2, 6], \"out\": [5]", "do not fit"},
        {"\"op\": \"aten.convolution\", \"in\": [2, 6], \"out\": [2], \"with\": "
         "{\"groups\": 3}",
         "do not fit"},
        {"\"op\": \"aten.convolution_backward\", \"in\": [3, 2, 6], \"out\": [2, 6]",
         "do not fit"},
        {"\"op\": \"stepcast.attention\", \"in\": [5, 2, 2], \"out\": [5]", "do not fit"},
        {"\"op\": \"stepcast.attention\", \"in\": [2, 2], \"out\": [2]", "do not fit"},
        {"\"op\": \"stepcast.attention\", \"in\": [2, 3, 3], \"out\": [2]", "do not fit"},
        {"\"op\": \"stepcast.attention\", \"in\": [2, 2, 2], \"out\": [2], \"with\": "
         "{\"dropout\": 5}",
         "dropout is 5"},
        {"\"op\": \"stepcast.recurrent\", \"in\": [2], \"out\": [2], \"with\": "
         "{\"layers\": 1}",
         "\"hidden\" is missing"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char calls[512];
        snprintf(calls, sizeof calls, "[{%s}]", rows[i].call);
        refused(document((struct parts){.groups = "[{\"dims\": []}]",
                                        .tensors = tensors,
                                        .calls = calls,
                                        .programs = run}),
                rows[i].says);
    }
}

/* Two stages: what the first sends the second takes, with its size. */
static void test_messages_match(void **state) {
    static const char calls[] =
        "[{\"op\": \"c10d.send\", \"in\": [], \"out\": [], \"with\": {\"bytes\": 4096, "
        "\"peer\": {\"dim\": \"pp\", \"by\": 1}}}, "
        "{\"op\": \"c10d.recv\", \"in\": [], \"out\": [], \"with\": {\"bytes\": %d, "
        "\"peer\": {\"dim\": \"pp\", \"by\": 1}}}, "
        "{\"op\": \"aten.relu\", \"in\": [0], \"out\": [0]}]";
    static const char programs[] = "[{\"storages\": [], \"alive\": [], \"ops\": [[0, 0, "
                                   "\"f\", 0, 0, 0, [], [], []]]}, "
                                   "{\"storages\": [], \"alive\": [], \"ops\": [[%d, 0, "
                                   "\"f\", 0, 0, 0, [], [], []]]}]";
    static const struct {
        int bytes;
        int call; /* of the second stage */
        const char *classes;
        const char *says;
    } rows[] = {
        {4096,
         2,
         "[{\"rank\": 0, \"program\": 0}, {\"rank\": 1, \"program\": 1}]",
         "does not receive"},
        {4095,
         1,
         "[{\"rank\": 0, \"program\": 0}, {\"rank\": 1, \"program\": 1}]",
         "does not send"},
        {4096,
         0,
         "[{\"rank\": 0, \"program\": 0}, {\"rank\": 1, \"program\": 1}]",
         "does not receive"},
        {4096,
         1,
         "[{\"rank\": 0, \"program\": 0}, {\"rank\": 1}]",
         "\"program\" is missing"},
        {4096,
         1,
         "[{\"rank\": 0, \"program\": 0}, {\"rank\": 0, \"program\": 1}]",
         "captured twice"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char all_calls[1024];
        char all_programs[512];
        snprintf(all_calls, sizeof all_calls, calls, rows[i].bytes);
        snprintf(all_programs, sizeof all_programs, programs, rows[i].call);
        refused(document((struct parts){.world = "2",
                                        .mesh = "[[\"pp\", 2]]",
                                        .tensors = "[[\"fp32\", [16]]]",
                                        .calls = all_calls,
                                        .programs = all_programs,
                                        .classes = rows[i].classes}),
                rows[i].says);
    }
}

/* Storages begin once and end once after that: memory would be wrong otherwise. */
static void test_storages_live_once(void **state) {
    static const struct {
        const char *alive;
        const char *first; /* born and freed of the two operations */
        const char *second;
        const char *says;
    } rows[] = {
        {"[0, 0]", "[], []", "[], []", "storage 0 begins, and is there already"},
        {"[0]", "[0], []", "[], []", "storage 0 begins, and is there already"},
        {"[]", "[0], []", "[0], []", "storage 0 begins, and is there already"},
        {"[]", "[], [0]", "[0], []", "storage 0 ends, and is not there"},
        {"[0]", "[], [0]", "[], [0]", "storage 0 ends, and is not there"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char programs[512];
        snprintf(programs,
                 sizeof programs,
                 "[{\"storages\": [[4096, \"other\"]], \"alive\": %s, \"ops\": "
                 "[[0, 0, \"f\", 0, 0, 0, %s, []], [0, 0, \"f\", 0, 0, 0, %s, []]]}]",
                 rows[i].alive,
                 rows[i].first,
                 rows[i].second);
        refused(document((struct parts){
                    .tensors = "[[\"fp32\", [16]]]",
                    .calls = "[{\"op\": \"aten.relu\", \"in\": [0], \"out\": [0]}]",
                    .programs = programs}),
                rows[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_products, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_convolution, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_elementwise, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_measured_operators,
                                        open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(test_unknown_operator, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_depthwise, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_picked, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_recurrent, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_memory, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_scratch, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_host_is_the_limit,
                                        open_context,
                                        close_context),
        cmocka_unit_test_setup_teardown(test_steps_in_a_row, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_two_stages, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_refused, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_meaningless, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_messages_match, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_storages_live_once,
                                        open_context,
                                        close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
