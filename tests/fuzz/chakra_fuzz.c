/* A Chakra trace is known by its name, so the bytes become the file of rank 0
 * in a directory of their own; those that begin as JSON does, one of JSON. */
#include "fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char directory[] = "/tmp/chakra_fuzz_XXXXXX";
    static bool made;
    char path[64];
    made = made || mkdtemp(directory);
    if (!made)
        return 0;
    bool json = size && (data[0] == '{' || data[0] == '[');
    snprintf(path, sizeof path, "%s/x.0.%s", directory, json ? "json" : "et");
    FILE *f = fopen(path, "wb");
    if (!f)
        return 0;
    fwrite(data, 1, size, f);
    fclose(f);
    sc_context *ctx = sc_open();
    ctx->arena.limit = (size_t)2 << 30;
    sc_request *req = sc_request_new(ctx, "run");
    sc_request_input(req, path);
    sc_request_set(req, "cluster", "dgx-h100");
    sc_execute(req);
    sc_close(ctx);
    unlink(path);
    return 0;
}
