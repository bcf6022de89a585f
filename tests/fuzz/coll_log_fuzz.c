/* Any bytes as an nccl-tests log, and as a rank file. */
#include "collective/operations.h"
#include "hardware/placement.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sc_context *ctx = sc_open();
    int fd = memfd_create("fuzz", 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (ctx && fd >= 0 && write(fd, data, size) == (ssize_t)size && !setjmp(ctx->recover)) {
        struct sc__coll_log log;
        struct sc__cluster c;
        (void)sc__coll_log_read(ctx, path, &log);
        if (sc__cluster_parse(ctx, "dgx-h100:16", 0, &c) == SC_OK)
            (void)sc__placement_read(ctx, path, 4, &c);
    }
    if (fd >= 0)
        close(fd);
    if (ctx)
        sc_close(ctx);
    return 0;
}
