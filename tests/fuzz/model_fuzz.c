/* Model configurations and launch scripts from arbitrary bytes. */
#include "launch/read.h"
#include "model/read.h"
#include "plan/towers.h"

static const char *no_value(const void *self, const char *name, unsigned i) {
    (void)self;
    (void)name;
    (void)i;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A step with pictures and sound of whatever towers were read. */
static void use_towers(sc_context *ctx, const struct sc__model *m) {
    struct sc__plan plan;
    sc_plan given = SC_PLAN_INIT;
    for (uint32_t i = 0; i < m->tower_count; i++) {
        bool vision = m->towers[i].kind == SC__TOWER_VISION;
        given.images = vision ? 1 : given.images;
        given.audio_seconds = vision ? given.audio_seconds : 1;
    }
    given.seq = 1u << 20;
    given.global_batch = 1;
    struct sc__plan_surroundings around = {.gpus = 1, .gpu = "h100-sxm"};
    if (sc__plan_resolve(ctx, &given, m, &around, &plan) != SC_OK)
        return;
    (void)sc__plan_towers_flops(&plan, m);
    (void)sc__plan_towers_keep(&plan, m);
    (void)sc__plan_towers_shard(&plan, m);
}

struct fuzzed_model {
    sc_context *ctx;
    struct sc__str text;
};

static sc_status read_models(void *self) {
    const struct fuzzed_model *f = self;
    sc_context *ctx = f->ctx;
    struct sc__str text = f->text;
    struct sc__settings none = {.nth = no_value, .ctx = ctx};
    struct sc__settings settings;
    struct sc__model model;
    struct sc__model_params params;
    sc_plan training;
    struct sc__plan plan;
    bool given;
    if (sc__model_parse(ctx, "config.json", text, &model) == SC_OK) {
        sc__model_count(&model, &params);
        use_towers(ctx, &model);
    }
    if (sc__launch_parse(ctx, "launch.sh", text, sc__model_options, &none, &settings) ==
            SC_OK &&
        sc__model_settings(ctx, &settings, &model, &given) == SC_OK && given &&
        sc__plan_read(&settings, &training) == SC_OK &&
        sc__plan_resolve(ctx, &training, &model, NULL, &plan) == SC_OK)
        sc__plan_check(ctx, &model, &plan);
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    struct fuzzed_model f = {ctx, {(const char *)data, size}};
    ctx->arena.limit = (size_t)256 << 20;
    sc__guarded(ctx, read_models, &f);
    sc_close(ctx);
    return 0;
}
