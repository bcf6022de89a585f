/* Any bytes as PyTorch's host trace of a small Kineto trace. */
#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char kineto_trace[] =
    "{\"distributedInfo\": {\"rank\": 0, \"world_size\": 2}, \"traceEvents\": ["
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"tid\": 1,"
    " \"ts\": 10, \"dur\": 20, \"args\": {\"Record function id\": 7}},"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"tid\": 1,"
    " \"ts\": 15, \"dur\": 5, \"args\": {\"correlation\": 3}},"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32\","
    " \"tid\": 20, \"ts\": 40, \"dur\": 100,"
    " \"args\": {\"stream\": 20, \"correlation\": 3}}]}";

static int file_of(const void *bytes, size_t size, char *path, size_t room) {
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        return -1;
    snprintf(path, room, "/proc/self/fd/%d", fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char trace[64];
    char host[64];
    int trace_fd = file_of(kineto_trace, strlen(kineto_trace), trace, sizeof trace);
    int host_fd = file_of(data, size, host, sizeof host);
    if (trace_fd < 0 || host_fd < 0)
        return 0;
    sc_context *ctx = sc_open();
    ctx->arena.limit = (size_t)1 << 30;
    sc_request *req = sc_request_new(ctx, "run");
    sc_request_input(req, trace);
    sc_request_set(req, "format", "kineto");
    sc_request_set(req, "cluster", "dgx-h100");
    sc_request_set(req, "host-trace", host);
    sc_execute(req);
    sc_close(ctx);
    close(trace_fd);
    close(host_fd);
    return 0;
}
