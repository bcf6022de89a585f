/* Files of sweeps: options and axes become points, and the last of them its settings. No
 * point is run. */
#include "base/file.h"
#include "command/job_file.h"
#include "command/sweep.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_sweep {
    sc_context *ctx;
    const uint8_t *data;
    size_t size;
};

static void must_be_settings(const char *text) {
    json_t *settings = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!json_is_object(settings))
        __builtin_trap();
    json_decref(settings);
}

static sc_status read_sweep(void *self) {
    const struct fuzzed_sweep *f = self;
    sc_request *req = sc_request_new(f->ctx, "sweep");
    uint32_t points;
    const char *last;
    const char *path;
    SC__TRY(sc__spool_bytes(f->ctx, "fuzz.yaml", f->data, f->size, &path));
    SC__TRY(sc_request_input(req, path));
    SC__TRY(sc__job_file_take(req));
    SC__TRY(sc__sweep_read(req, &points, &last));
    if (!points)
        __builtin_trap();
    must_be_settings(last);
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    struct fuzzed_sweep f = {ctx, data, size};
    ctx->arena.limit = (size_t)64 << 20;
    sc__guarded(ctx, read_sweep, &f);
    sc_close(ctx);
    return 0;
}
