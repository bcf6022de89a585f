/* Kernel times, a table or AIOB's text: read, and timed. */
#include "hardware/kernel_table.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_table {
    sc_context *ctx;
    const char *path;
};

static sc_status read_both(void *self) {
    const struct fuzzed_table *f = self;
    sc_context *ctx = f->ctx;
    const char *path = f->path;
    const struct sc__gpu *gpu;
    struct sc__kernel_table table = {0};
    SC__TRY(sc__gpu_find(ctx, "h200", &gpu));
    SC__TRY(sc__kernel_model_read_times(ctx, sc__kernel_model_new(&ctx->arena, gpu), path));
    SC__TRY(sc__kernel_table_read(ctx, path, &table));
    for (uint32_t i = 0; i < table.count && i < 100; i++)
        sc__kernel_cost(gpu, &table.rows[i].key);
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    sc_context *ctx = sc_open();
    ctx->arena.limit = (size_t)1 << 30;
    sc__guarded(ctx, read_both, &(struct fuzzed_table){ctx, path});
    sc_close(ctx);
    close(fd);
    return 0;
}
