/* ASTRA-sim's network and system, which are cut at a line "%": read, and every collective
 * and a message over what they describe, physically and as its binary counts. */
#include "base/file.h"
#include "network/astra/astra.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_machine {
    sc_context *ctx;
    const uint8_t *network;
    size_t network_size;
    const uint8_t *system;
    size_t system_size;
};

static void must_take_time(int64_t time) {
    if (time < 0)
        __builtin_trap();
}

static void use_machine(const struct sc__astra *a) {
    static const uint64_t sizes[] = {0, 1, 1 << 20, (uint64_t)1 << 40};
    uint32_t hops[SC__ASTRA_DIMS];
    for (uint32_t d = 0; d < SC__ASTRA_DIMS; d++)
        hops[d] = d < a->net.dims;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (enum sc__astra_collective kind = 0; kind < SC__ASTRA_COLLS; kind++)
            must_take_time(sc__astra_collective(a, kind, a->net.npus, sizes[i]));
        must_take_time(sc__astra_message(a, hops, sizes[i]));
    }
}

static sc_status read_machine(void *self) {
    const struct fuzzed_machine *f = self;
    const char *network;
    const char *system = NULL;
    SC__TRY(sc__spool_bytes(f->ctx, "net.yml", f->network, f->network_size, &network));
    if (f->system)
        SC__TRY(sc__spool_bytes(f->ctx, "sys.json", f->system, f->system_size, &system));
    for (int compat = 0; compat < 2; compat++) {
        struct sc__astra a;
        if (sc__astra_read(f->ctx, network, system, compat, &a) == SC_OK)
            use_machine(&a);
    }
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    struct fuzzed_machine f = {ctx, data, size, NULL, 0};
    for (size_t i = 0; i + 2 < size && !f.system; i++)
        if (!memcmp(data + i, "\n%\n", 3)) {
            f.network_size = i + 1;
            f.system = data + i + 3;
            f.system_size = size - i - 3;
        }
    ctx->arena.limit = (size_t)256 << 20;
    sc__guarded(ctx, read_machine, &f);
    sc_close(ctx);
    return 0;
}
