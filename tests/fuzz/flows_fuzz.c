/* Any bytes as a list of flows; the first byte chooses the fabric. */
#include "stepcast/stepcast.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const char *path, uint8_t choice) {
    static const char *const fabrics[] = {"ls:8:8",
                                          "ls:2:1:16",
                                          "ft3:2:2:2:2",
                                          "dgx-h100:64"};
    static const char *const routes[] = {"ecmp", "dmodk", "adaptive", "spray"};
    sc_context *ctx = sc_open();
    sc_request *req = ctx ? sc_request_new(ctx, "flows") : NULL;
    if (req) {
        sc_request_input(req, path);
        sc_request_set(req, "fabric", fabrics[choice % 4]);
        sc_request_set(req, "route", routes[choice / 4 % 4]);
        sc_execute(req);
    }
    if (ctx)
        sc_close(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[] = "/tmp/flows-fuzz-XXXXXX";
    int fd = size ? mkstemp(path) : -1;
    if (fd < 0)
        return 0;
    if (write(fd, data + 1, size - 1) == (ssize_t)(size - 1))
        run(path, data[0]);
    close(fd);
    unlink(path);
    return 0;
}
