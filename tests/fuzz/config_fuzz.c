/* Configurations of training programs from arbitrary bytes, as YAML and as TOML. */
#include "launch/config.h"
#include "plan/plan.h"

static const char *no_value(const void *self, const char *name, unsigned i) {
    (void)self;
    (void)name;
    (void)i;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_config {
    sc_context *ctx;
    const char *name;
    struct sc__str text;
};

static sc_status read_configuration(void *self) {
    const struct fuzzed_config *f = self;
    struct sc__settings none = {.nth = no_value, .ctx = f->ctx};
    struct sc__settings settings;
    struct sc__model model;
    sc_plan plan;
    bool given;
    SC__TRY(
        sc__launch_parse(f->ctx, f->name, f->text, sc__model_options, &none, &settings));
    SC__TRY(sc__model_settings(f->ctx, &settings, &model, &given));
    return given ? sc__plan_read(&settings, &plan) : SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"config.yaml", "config.toml"};
    for (unsigned i = 0; i < 2; i++) {
        sc_context *ctx = sc_open();
        struct fuzzed_config f = {ctx, names[i], {(const char *)data, size}};
        ctx->arena.limit = (size_t)256 << 20;
        sc__guarded(ctx, read_configuration, &f);
        sc_close(ctx);
    }
    return 0;
}
