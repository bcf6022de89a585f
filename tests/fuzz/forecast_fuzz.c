/* The whole way from options to outputs, through the public header: lines "option
 * value" are a plan, its forecast is simulated twice and written in every form, and
 * what must hold of every forecast is looked at (see tests/relations). The first
 * two bytes choose the model and the cluster. */
#include "stepcast/stepcast.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const models[] = {
    "gpt2", "llama3-8b", "mixtral-8x7b", "deepseek-v2-lite", "gemma2-2b", "bloom-7b1"};
static const char *const clusters[] = {
    "dgx-h100", "dgx-a100:16", "hgx-h200", "gb200-nvl72", "a100-pcie", "ideal:8"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void must(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "forecast_fuzz: %s\n", what);
    abort();
}

/* Lines until one has no blank; what is refused is left out. */
static void read_plan(sc_context *ctx, char *text, sc_plan *plan) {
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *value = strchr(line, ' ');
        if (value)
            *value++ = '\0';
        if (!strcmp(line, "kernel-times") || !strcmp(line, "step-constants") ||
            !strcmp(line, "gpu"))
            continue; /* files: they have targets of their own */
        (void)sc_plan_set(ctx, plan, line, value);
    }
    plan->ignore_memory = SC_ON;
}

/* A forecast of these takes long by right. */
static bool too_much(const sc_plan *p) {
    return p->gpus > 4096 || p->dp > 4096 || p->pp > 64 || p->vpp > 16 ||
           p->global_batch > 20000 || p->micro_batches > 1000;
}

struct text {
    char *bytes;
    size_t size;
    size_t capacity;
};

static int append(void *user, const void *bytes, size_t size) {
    struct text *t = user;
    if (t->size + size >= t->capacity) {
        /* twice as much: a sanitizer copies at every realloc, and a trace is long */
        t->capacity = 2 * (t->size + size) + 1;
        t->bytes = realloc(t->bytes, t->capacity);
    }
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
    t->bytes[t->size] = '\0';
    return 0;
}

/* The page is mostly the same megabyte: not every time. */
static void check_outputs(sc_context *ctx, const sc_result *r, bool timeline, bool page) {
    static const char *const formats[] = {"json", "text", "csv", "trace", "html"};
    size_t count = !timeline ? 2 : page ? 5 : 4;
    for (size_t i = 0; i < count; i++) {
        struct text t = {0};
        sc_status status = sc_result_write(ctx, r, formats[i], append, &t);
        must(status == SC_OK || !strcmp(formats[i], "html"), sc_error_text(ctx));
        must(status != SC_OK || t.size > 0, "an output is empty");
        if (!strcmp(formats[i], "json") || (page && !strcmp(formats[i], "trace"))) {
            json_t *document = json_loadb(t.bytes, t.size, JSON_REJECT_DUPLICATES, NULL);
            must(document, "a document is no JSON");
            json_decref(document);
        }
        free(t.bytes);
    }
}

static void check_sums(const sc_result *r) {
    double step = sc_result_step_us(r);
    must(isfinite(step) && step > 0, "the step takes no time");
    for (uint32_t s = 0; s < sc_result_stages(r); s++) {
        sc_breakdown b;
        must(sc_result_breakdown(r, s, &b) == SC_OK, "a stage has no breakdown");
        double sum = b.compute_us + b.recompute_us + b.bubble_us + b.exposed_us +
                     b.skew_us + b.other_us;
        must(fabs(sum - step) <= 1e-9 * step + 1e-6, "the parts are not the step");
        must(b.end_us <= step, "a stage ends after the step");
    }
    must(sc_result_mfu(r) <= sc_result_hfu(r) * 1.000001, "MFU is above HFU");
    must(sc_result_energy_j(r) >= 0 && isfinite(sc_result_energy_j(r)), "energy");
    bool noted = false;
    for (uint32_t i = 0; i < sc_result_notes(r); i++)
        noted = noted || !strcmp(sc_result_note_code(r, i), "mfu-above-peak");
    must(sc_result_mfu(r) <= 1 || noted, "MFU is above 1");
}

static void check_forecast(sc_context *ctx,
                           const sc_model *model,
                           const sc_plan *plan,
                           const sc_cluster *cluster) {
    sc_options options = SC_OPTIONS_INIT;
    sc_result *first;
    sc_result *again;
    sc_result *faster;
    /* the timeline of thousands of micro-batches would be all that is fuzzed */
    bool timeline = plan->global_batch <= 256 && plan->micro_batches <= 64;
    options.timeline = timeline ? SC_ON : SC_AUTO;
    if (sc_evaluate(ctx, model, plan, cluster, &options, &first) != SC_OK)
        return;
    check_sums(first);
    check_outputs(ctx, first, timeline, plan->seq % 8 == 1);
    must(sc_evaluate(ctx, model, plan, cluster, NULL, &again) == SC_OK, "not again");
    must(sc_result_step_us(first) == sc_result_step_us(again), "another step");
    options.timeline = SC_AUTO;
    options.gpu_speedup = 2;
    must(sc_evaluate(ctx, model, plan, cluster, &options, &faster) == SC_OK, "not faster");
    must(sc_result_step_us(faster) <= 1.01 * sc_result_step_us(first),
         "a faster GPU is slower");
    sc_result_free(first);
    sc_result_free(again);
    sc_result_free(faster);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 4096)
        return 0;
    sc_context *ctx = sc_open();
    sc_model *model;
    sc_cluster *cluster;
    sc_plan plan = SC_PLAN_INIT;
    char *text = calloc(1, size);
    memcpy(text, data + 2, size - 2);
    must(sc_model_load(ctx, models[data[0] % COUNT(models)], &model) == SC_OK, "model");
    must(sc_cluster_load(ctx, clusters[data[1] % COUNT(clusters)], &cluster) == SC_OK,
         "cluster");
    read_plan(ctx, text, &plan);
    if (!too_much(&plan))
        check_forecast(ctx, model, &plan, cluster);
    sc_model_free(model);
    sc_cluster_free(cluster);
    sc_close(ctx);
    free(text);
    return 0;
}
