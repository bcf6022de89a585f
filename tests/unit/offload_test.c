/* What waits on the host: bytes, times and memory against closed forms, and ZeRO-Offload's
 * published sizes. */
#include "stepcast/stepcast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* GPT of 8 layers: 12·h² + 13·h a layer, embedding, positions and the last norm. */
enum { LAYERS = 8, HIDDEN = 1024, VOCAB = 51200, SEQ = 1024 };
static const double parameters = LAYERS * (12.0 * HIDDEN * HIDDEN + 13.0 * HIDDEN) +
                                 (VOCAB + SEQ) * (double)HIDDEN + 2.0 * HIDDEN;

/* A link of 40 GB/s of which 0.88 are reached; 1000 GB/s of memory, 0.8 reached; 4 cores of
 * 690 million parameters/s: 2.76 billion are fewer than 800e9/30 bytes, so the cores bind.
 */
static const char host[] =
    "dgx-h100:8 host-link=40GB/s host-memory=1000GB/s host-cores=4 host-gpus=1";
static const double link_rate = 0.88 * 40e9;
static const double core_rate = 690e6;

struct run {
    sc_status status;
    double parameters;
    double step;
    double other;
    sc_communication copies; /* group "host" */
    sc_memory memory;
    double on_host;
};

static void read_result(const sc_result *result, struct run *out) {
    sc_breakdown parts;
    out->step = sc_result_step_us(result);
    assert_int_equal(sc_result_breakdown(result, 0, &parts), SC_OK);
    out->other = parts.other_us;
    for (uint32_t g = 0; g < sc_result_groups(result); g++) {
        sc_communication c;
        assert_int_equal(sc_result_communication(result, 0, g, &c), SC_OK);
        if (!strcmp(c.group, "host"))
            out->copies = c;
    }
    out->copies.group = NULL; /* the result's */
    assert_int_equal(sc_result_memory(result, 0, &out->memory), SC_OK);
    out->on_host = (double)sc_result_host_bytes(result, 0);
}

static struct run
evaluate_shape(const sc_setting given[5], const char *cluster_text, const sc_plan *plan) {
    struct run out = {0};
    sc_context *ctx = sc_open();
    sc_model *model;
    sc_cluster *cluster;
    sc_result *result = NULL;
    assert_int_equal(sc_model_build(ctx, given, 5, &model), SC_OK);
    assert_int_equal(sc_cluster_load(ctx, cluster_text, &cluster), SC_OK);
    out.parameters = sc_model_parameters(model);
    out.status = sc_evaluate(ctx, model, plan, cluster, NULL, &result);
    if (out.status == SC_OK) {
        read_result(result, &out);
        sc_result_free(result);
    } else if (out.status != SC_NO_FIT) {
        fail_msg("%s", sc_error_text(ctx));
    }
    sc_cluster_free(cluster);
    sc_model_free(model);
    sc_close(ctx);
    return out;
}

static const sc_setting shape[] = {{"num-layers", "8"},
                                   {"hidden-size", "1024"},
                                   {"num-attention-heads", "16"},
                                   {"vocab-size", "51200"},
                                   {"max-position-embeddings", "1024"}};

static struct run evaluate(const char *cluster_text, const sc_plan *plan) {
    struct run out = evaluate_shape(shape, cluster_text, plan);
    assert_int_equal(out.status, SC_OK);
    return out;
}

static sc_plan usual(void) {
    sc_plan plan = SC_PLAN_INIT;
    plan.gpus = 1;
    plan.seq = SEQ;
    plan.global_batch = 4;
    plan.micro_batch = 1;
    plan.host_launch_us = 0;
    return plan;
}

static void near(double is, double wanted, double tolerance) {
    if (!(fabs(is / wanted - 1) <= tolerance))
        fail_msg("%.9g is not %.9g", is, wanted);
}

/* One after another: 4 bytes out, the update, 2 bytes in; 12 bytes of state and 4 of the
 * gradient on the host, as ZeRO-Offload counts them. */
static void optimizer_by_turns(void **state) {
    sc_plan plan = usual();
    (void)state;
    struct run all_here = evaluate(host, &plan);
    plan.offload_optimizer = 1;
    struct run moved = evaluate(host, &plan);
    near((double)moved.copies.bytes, 6 * parameters, 1e-6);
    near(moved.copies.exposed_us, 1e6 * 6 * parameters / link_rate, 1e-6);
    near(moved.other, 1e6 * parameters / (4 * core_rate), 1e-6);
    near(moved.on_host, 16 * parameters, 1e-6);
    near((double)all_here.memory.optimizer, 12 * parameters, 1e-6);
    assert_int_equal(moved.memory.optimizer, 0);
    assert_true(all_here.on_host == 0 && all_here.copies.bytes == 0);
    /* half of it: half of all that, and the GPU's own half beside it */
    plan.offload_optimizer = 0.5;
    struct run half = evaluate(host, &plan);
    near((double)half.copies.bytes, 3 * parameters, 1e-6);
    near((double)half.memory.optimizer, 6 * parameters, 1e-6);
    near(half.on_host, 8 * parameters, 1e-6);
    assert_true(half.step < moved.step && half.step > all_here.step);
}

/* Few threads bind, many leave the memory: 30 bytes a parameter of gradients in fp32. */
static void threads_or_memory(void **state) {
    sc_plan plan = usual();
    (void)state;
    plan.offload_optimizer = 1;
    plan.host_threads = 1;
    near(evaluate(host, &plan).other, 1e6 * parameters / core_rate, 1e-6);
    plan.host_threads = 0;
    struct run many = evaluate(
        "dgx-h100:8 host-link=40GB/s host-memory=100GB/s host-cores=400 host-gpus=1",
        &plan);
    near(many.other, 1e6 * 30 * parameters / (0.8 * 100e9), 1e-6);
    /* a thread more than there are cores is none */
    plan.host_threads = 1000;
    near(evaluate(host, &plan).other, 1e6 * parameters / (4 * core_rate), 1e-6);
}

/* Gradients leave beside backward and weights come in beside the update: what shows is at
 * most what went before, and the bytes are the same. */
static void optimizer_beside(void **state) {
    sc_plan plan = usual();
    (void)state;
    plan.offload_optimizer = 1;
    struct run turns = evaluate(host, &plan);
    plan.overlap_offload = SC_ON;
    struct run beside = evaluate(host, &plan);
    assert_int_equal(beside.copies.bytes, turns.copies.bytes);
    near(beside.other, turns.other, 1e-9);
    /* weights, 2 bytes, are quicker than the update: they hide whole */
    assert_true(beside.copies.exposed_us < turns.copies.exposed_us * 4 / 6);
    assert_true(beside.step < turns.step);
}

/* A host of eight GPUs with so many bytes. */
static sc_status on_host_of(double bytes, const sc_plan *plan) {
    char text[128];
    snprintf(text,
             sizeof text,
             "dgx-h100:8 host-link=40GB/s host-memory=1000GB/s host-cores=32 host-gpus=8 "
             "host-size=%.0fKB",
             bytes / 1e3);
    return evaluate_shape(shape, text, plan).status;
}

/* Eight ranks share the host: an eighth of the parameters, of cores and of memory each. */
static void shared_host(void **state) {
    sc_plan plan = usual();
    (void)state;
    plan.gpus = 8;
    plan.zero = 1;
    plan.global_batch = 8;
    plan.offload_optimizer = 1;
    struct run r = evaluate(
        "dgx-h100:8 host-link=40GB/s host-memory=1000GB/s host-cores=32 host-gpus=8",
        &plan);
    near((double)r.copies.bytes, 6 * parameters / 8, 1e-6);
    near(r.other, 1e6 * parameters / 8 / (4 * core_rate), 1e-6);
    near(r.on_host, 16 * parameters / 8, 1e-6);
    /* where memory binds: an eighth of 100 GB/s, 0.8 reached, 30 bytes a parameter */
    static const char slow[] =
        "dgx-h100:8 host-link=40GB/s host-memory=100GB/s host-cores=4000 host-gpus=8";
    near(evaluate(slow, &plan).other, 1e6 * 30 * parameters / 8 / (0.8 * 100e9 / 8), 1e-6);
    /* 16 bytes a parameter together: a thousandth less than that is too little */
    assert_int_equal(on_host_of(0.999 * 16 * parameters, &plan), SC_NO_FIT);
    assert_int_equal(on_host_of(1.001 * 16 * parameters, &plan), SC_OK);
}

/* ZeRO 3: a rank's shard comes in twice for each micro-batch, and stays there. */
static void weights_of_shards(void **state) {
    sc_plan plan = usual();
    (void)state;
    plan.gpus = 8;
    plan.zero = 3;
    plan.global_batch = 16;
    plan.offload_params = SC_ON;
    struct run r = evaluate(host, &plan);
    near((double)r.copies.bytes, 2 * 2 * 2 * parameters / 8, 1e-6);
    near(r.on_host, 2 * parameters / 8, 1e-6);
    /* with the optimizer there, gradients go out (4 bytes) and new weights stay */
    plan.offload_optimizer = 1;
    near((double)evaluate(host, &plan).copies.bytes,
         (2 * 2 * 2 + 4) * parameters / 8,
         1e-6);
    plan.offload_optimizer = 0;
    plan.offload_params = SC_OFF;
    near((double)evaluate(host, &plan).memory.weights - (double)r.memory.weights,
         2 * parameters / 8,
         1e-6);
}

/* Korthikanti's layer without dropout keeps 32·s·b·h (flash attention: no scores, and 4
 * bytes a head and token), out and in once a micro-batch; one of those that leave is on the
 * GPU beside those that stay, two where none stays. */
static void activations_of_layers(void **state) {
    sc_plan plan = usual();
    (void)state;
    plan.host_launch_us = 0;
    struct run here = evaluate(host, &plan);
    plan.offload_activations = 6;
    struct run away = evaluate(host, &plan);
    double layer = away.on_host / 6;
    double tokens = SEQ;
    assert_true(layer > 30 * tokens * HIDDEN && layer < 35 * tokens * HIDDEN);
    near((double)away.copies.bytes, 4 * 2 * 6 * layer, 1e-6);
    near((double)here.memory.activations - (double)away.memory.activations,
         (6 - 1) * layer,
         1e-6);
    plan.offload_activations = LAYERS;
    near((double)here.memory.activations - (double)evaluate(host, &plan).memory.activations,
         (LAYERS - 2) * layer,
         1e-6);
    near((double)evaluate(host, &plan).copies.bytes, 4 * 2 * LAYERS * layer, 1e-6);
    plan.offload_activations = 6;
    /* a link of 1 GB/s: there and back, one after the other, in each micro-batch */
    assert_true(
        evaluate("dgx-h100:8 host-link=1GB/s host-memory=1000GB/s host-cores=4 host-gpus=1",
                 &plan)
            .step >= 4 * 2 * 6 * layer / 1e3);
    /* of the first three layers, which are computed again, only the input is kept */
    plan.recompute = SC_RECOMPUTE_FULL;
    plan.recompute_method = SC_RECOMPUTE_BLOCK;
    plan.recompute_layers = 3;
    near((double)evaluate(host, &plan).copies.bytes,
         4 * 2 * 3 * (2 * tokens * HIDDEN + layer),
         1e-6);
    plan.recompute = SC_RECOMPUTE_NONE;
    plan.recompute_method = SC_RECOMPUTE_METHOD_AUTO;
    plan.recompute_layers = 0;
    /* a link that is never late hides all of it but the first layer's way back */
    struct run fast = evaluate(
        "dgx-h100:8 host-link=4000GB/s host-memory=1000GB/s host-cores=4 host-gpus=1",
        &plan);
    assert_true(fast.step < 1.002 * here.step);
    assert_true(away.step > fast.step);
}

/* Forward and backward of a layer, by what eight more of them cost in four more
 * micro-batches: neither the update nor embedding and head are in it. */
static double time_of_a_layer(void) {
    sc_setting sixteen[5];
    double step[2][2];
    memcpy(sixteen, shape, sizeof sixteen);
    sixteen[0].value = "16";
    for (unsigned i = 0; i < 2; i++) {
        sc_plan plan = usual();
        plan.global_batch = i ? 8 : 4;
        step[0][i] = evaluate(host, &plan).step;
        step[1][i] = evaluate_shape(sixteen, host, &plan).step;
    }
    return ((step[1][1] - step[1][0]) - (step[0][1] - step[0][0])) / 8 / 4;
}

static const char *link_of(double bytes, double us) {
    static char text[160];
    snprintf(text,
             sizeof text,
             "dgx-h100:8 host-link=%.3fGB/s host-memory=1000GB/s host-cores=4 host-gpus=1",
             bytes / us / 1e3);
    return text;
}

/* Copies of a layer take a third of its forward and backward, more than its forward and
 * less than two of them; backward waits for nothing. Four layers of eight have two each to
 * leave in, but the first, whose copy begins behind itself: it waits. Of six, the first two
 * have two layers, the others one: five wait, each for as long as that one. */
static void windows_of_copies(void **state) {
    sc_plan plan = usual();
    (void)state;
    double here = evaluate(host, &plan).step;
    plan.offload_activations = 4;
    double layer = evaluate(host, &plan).on_host / 4;
    const char *slow = link_of(layer, time_of_a_layer() / 3);
    double four = evaluate(slow, &plan).step;
    plan.offload_activations = 6;
    double six = evaluate(slow, &plan).step;
    assert_true(four > 1.002 * here);
    near(six - here, 5 * (four - here), 0.02);
    plan.offload_activations = 5; /* 1, 2, 2, 1 and 1 layers: three wait */
    near(evaluate(slow, &plan).step - here, 3 * (four - here), 0.03);
}

/* The first of eight layers alone has seven forwards to leave in, and seven backwards to
 * come back in: where both copies are longer, compute waits for two copies less seven
 * layers, in each of four micro-batches. With copies twice as long: for four less seven. */
static void copies_of_the_first_layer(void **state) {
    sc_plan plan = usual();
    (void)state;
    double layer = time_of_a_layer();
    double here = evaluate(host, &plan).step;
    plan.offload_activations = 1;
    double bytes = evaluate(host, &plan).on_host;
    double slow = evaluate(link_of(bytes, 6 * layer), &plan).step - here;
    double slower = evaluate(link_of(bytes, 12 * layer), &plan).step - here;
    near(slower - 2 * slow, 4 * 7 * layer, 0.02);
}

/* Ren et al. 2021: one V100 of 32 GB trains 10 and 13 billion parameters with ZeRO-Offload,
 * and 1.4 billion without; the update of 10 billion takes 2.57 s on a DGX-2. */
static void zero_offload_of_2021(void **state) {
    static const char *const layers[] = {"50", "65"};
    sc_plan plan = usual();
    (void)state;
    plan.dtype = SC_DTYPE_FP16;
    plan.grad_dtype = SC_DTYPE_FP16;
    plan.recompute = SC_RECOMPUTE_FULL;
    plan.zero = 2;
    plan.global_batch = 1;
    plan.overlap_offload = SC_ON;
    plan.software = "deepspeed";
    plan.fusion = SC_FUSION_MEGATRON;
    for (unsigned i = 0; i < 2; i++) {
        const sc_setting gpt[] = {{"num-layers", layers[i]},
                                  {"hidden-size", "4096"},
                                  {"num-attention-heads", "32"},
                                  {"vocab-size", "50257"},
                                  {"max-position-embeddings", "1024"}};
        plan.offload_optimizer = 0;
        assert_int_equal(evaluate_shape(gpt, "dgx-2:1", &plan).status, SC_NO_FIT);
        plan.offload_optimizer = 1;
        struct run moved = evaluate_shape(gpt, "dgx-2:1", &plan);
        assert_int_equal(moved.status, SC_OK);
        if (i == 0)
            near(moved.other / moved.parameters * 10e9, 2.57e6, 0.05);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizer_by_turns),
        cmocka_unit_test(threads_or_memory),
        cmocka_unit_test(optimizer_beside),
        cmocka_unit_test(shared_host),
        cmocka_unit_test(weights_of_shards),
        cmocka_unit_test(activations_of_layers),
        cmocka_unit_test(windows_of_copies),
        cmocka_unit_test(copies_of_the_first_layer),
        cmocka_unit_test(zero_offload_of_2021),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
