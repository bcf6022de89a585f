/* Any bytes as an nccl-tests log, and as a rank file. */
#include "collective/operations.h"
#include "hardware/placement.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_log {
    struct sc_context *ctx;
    char path[64];
};

static sc_status read_log(void *self) {
    const struct fuzzed_log *f = self;
    struct sc__coll_log log;
    struct sc__cluster c;
    (void)sc__coll_log_read(f->ctx, f->path, &log);
    if (sc__cluster_parse(f->ctx, "dgx-h100:16", 0, &c) == SC_OK)
        (void)sc__placement_read(f->ctx, f->path, 4, &c);
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sc_context *ctx = sc_open();
    int fd = memfd_create("fuzz", 0);
    struct fuzzed_log f = {.ctx = ctx};
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", fd);
    if (ctx && fd >= 0 && write(fd, data, size) == (ssize_t)size)
        sc__guarded(ctx, read_log, &f);
    if (fd >= 0)
        close(fd);
    if (ctx)
        sc_close(ctx);
    return 0;
}
