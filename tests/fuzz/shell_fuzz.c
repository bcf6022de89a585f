/* Launch scripts from arbitrary bytes, through the evaluator alone. */
#include "shell/shell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_script {
    sc_context *ctx;
    struct sc__str text;
};

static sc_status evaluate_script(void *self) {
    static const struct sc__setting_list none;
    const struct fuzzed_script *f = self;
    struct sc__shell_result result;
    return sc__shell_evaluate(f->ctx, "launch.sh", f->text, &none, &none, &result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    /* a script is text: what reads it refuses NUL before */
    if (!memchr(data, 0, size)) {
        struct fuzzed_script f = {ctx, {(const char *)data, size}};
        ctx->arena.limit = (size_t)256 << 20;
        sc__guarded(ctx, evaluate_script, &f);
    }
    sc_close(ctx);
    return 0;
}
