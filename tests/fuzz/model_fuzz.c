/* Model configurations, launch scripts and tables of steps from arbitrary bytes. */
#include "command/validate.h"
#include "model/read.h"
#include "plan/plan.h"

static const char *no_value(const void *self, const char *name, unsigned i) {
    return (void)self, (void)name, (void)i, NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    struct sc__str text = {(const char *)data, size};
    struct sc__settings none = {.nth = no_value, .ctx = ctx};
    struct sc__settings settings;
    struct sc__model model;
    struct sc__model_params params;
    struct sc__truth truth;
    sc_plan training;
    struct sc__plan plan;
    bool given;
    ctx->arena.limit = (size_t)256 << 20;
    if (setjmp(ctx->recover)) {
        sc_close(ctx);
        return 0;
    }
    if (sc__model_parse(ctx, "config.json", text, &model) == SC_OK)
        sc__model_count(&model, &params);
    if (sc__megatron_parse(ctx, "launch.sh", text, sc__model_options, &none, &settings) ==
            SC_OK &&
        sc__model_settings(ctx, &settings, &model, &given) == SC_OK && given &&
        sc__plan_read(&settings, &training) == SC_OK &&
        sc__plan_resolve(ctx, &training, &model, 0, &plan) == SC_OK)
        sc__plan_check(ctx, &model, &plan);
    sc__truth_parse(ctx, "steps.csv", text, &truth);
    sc_close(ctx);
    return 0;
}
