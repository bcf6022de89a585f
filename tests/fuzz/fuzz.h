/* What the fuzz targets of readers share: run the bytes as a file of a given
 * format; the only thing expected is that it comes back. */
#ifndef SC_TESTS_FUZZ_H
#define SC_TESTS_FUZZ_H

#include "command/command.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* options: "name", "value", …, NULL */
static inline void
fuzz_run(const uint8_t *data, size_t size, const char *format, const char *const *options) {
    char path[64];
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    sc_context *ctx = sc_open();
    ctx->arena.limit = (size_t)2 << 30;
    sc_request *req = sc_request_new(ctx, "run");
    sc_request_input(req, path);
    sc_request_set(req, "format", format);
    for (; *options; options += 2)
        sc_request_set(req, options[0], options[1]);
    sc_execute(req);
    sc_close(ctx);
    close(fd);
}

#endif
