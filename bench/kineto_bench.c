/* kineto_bench: a synthetic torch.profiler trace, read at so many MB/s.
 *
 *     kineto_bench [megabytes [file]]     file: write the trace only */
#include "frontend/kineto/kineto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void operator(FILE *f, long i, const char *name, double ts) {
    fprintf(f,
            "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 403, "
            "\"tid\": "
            "403,\n    \"ts\": "
            "%.3f, \"dur\": "
            "%ld.%03ld,\n    \"args\": {\n      \"External id\": %ld,\"Record function "
            "id\": %ld, "
            "\"Concrete Inputs\": "
            "[\"\", \"\", "
            "\"1\"], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"], "
            "\"Input "
            "Strides\": [[4096, "
            "1], [4096, 1], "
            "[]], \"Input Dims\": [[4096, 4096], [4096, 4096], []], \"Ev Idx\": %ld\n    "
            "}\n  },\n",
            name,
            ts,
            12 + i % 7,
            i % 1000,
            i,
            i,
            i);
}

static void launch(FILE *f, long i, double ts) {
    fprintf(f,
            "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
            "\"cudaLaunchKernel\", "
            "\"pid\": 403, \"tid\": "
            "403,\n    "
            "\"ts\": %.3f, \"dur\": 4.125,\n    \"args\": {\n      \"External id\": %ld, "
            "\"cbid\": "
            "211, "
            "\"correlation\": %ld\n    }\n  "
            "},\n  {\n    \"ph\": \"s\", \"id\": %ld, \"pid\": 403, \"tid\": 403, \"ts\": "
            "%.3f,\n  "
            "  \"cat\": "
            "\"ac2g\", \"name\": "
            "\"ac2g\"\n  },\n",
            ts,
            i,
            i,
            i,
            ts);
}

static void kernel(FILE *f, long i, double ts) {
    fprintf(
        f,
        "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void "
        "at::native::vectorized_elementwise_kernel<4, "
        "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
        "at::native::CUDAFunctor_add<float>, "
        "std::array<char*, 3ul>)\", \"pid\": 0, \"tid\": 7,\n    \"ts\": %.3f, \"dur\": "
        "%ld.%03ld,\n    \"args\": {\n  "
        "    "
        "\"External id\": %ld,\n      \"queued\": 0, \"device\": 0, \"context\": 1,\n      "
        "\"stream\": 7, "
        "\"correlation\": "
        "%ld,\n      \"registers per thread\": 32,\n      \"shared memory\": 0,\n      "
        "\"blocks per SM\": 31.030304,\n "
        "     "
        "\"warps per SM\": 124.121216,\n      \"grid\": [4096, 1, 1],\n      \"block\": "
        "[128, "
        "1, 1],\n      \"est. "
        "achieved "
        "occupancy %%\": 100\n    }\n  }",
        ts,
        9 + i % 5,
        i % 1000,
        i,
        i);
}

static void generate(FILE *f, long bytes) {
    static const char *const names[] = {
        "aten::linear",
        "aten::matmul",
        "aten::mm",
        "aten::add_",
        "autograd::engine::evaluate_function: AddmmBackward0"};
    double ts = 3870181614815.524;
    fputs("{\n  \"schemaVersion\": 1,\n  \"distributedInfo\": {\"backend\": \"nccl\", "
          "\"rank\": 0, "
          "\"world_size\": "
          "1},\n  "
          "\"traceEvents\": [\n",
          f);
    for (long i = 1; i == 1 || ftell(f) < bytes; i++, ts += 16) {
        if (i > 1)
            fputs(",\n", f);
        operator(f, i, names[i % 5], ts);
        if (i % 2)
            operator(f, i, names[(i + 1) % 5], ts + 1);
        launch(f, i, ts + 2);
        kernel(f, i, ts + 6);
    }
    fputs("\n  ],\n  \"traceName\": \"generated\"\n}\n", f);
}

static int measure(const char *path, const char *what, double megabytes) {
    sc_context *ctx = sc_open();
    struct sc__kineto_trace t;
    double t0 = seconds();
    sc_status s = sc__kineto_read_trace(ctx, path, &t);
    double took = seconds() - t0;
    if (s != SC_OK)
        fputs(sc_error_text(ctx), stderr);
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    if (s == SC_OK)
        printf("kineto %s mb=%.0f events=%llu kernels=%u read_s=%.2f mb_per_s=%.0f "
               "rss_mb=%ld\n",
               what,
               megabytes,
               (unsigned long long)t.events,
               t.kernel_count,
               took,
               megabytes / took,
               use.ru_maxrss / 1024);
    sc_close(ctx);
    return s != SC_OK;
}

static void inflate_only(const char *path, double megabytes) {
    static char buffer[1 << 18];
    gzFile gz = gzopen(path, "rb");
    double t0 = seconds();
    while (gz && gzread(gz, buffer, sizeof buffer) > 0)
        continue;
    double took = seconds() - t0;
    if (gz)
        gzclose_r(gz);
    printf("kineto inflate-alone mb=%.0f read_s=%.2f mb_per_s=%.0f\n",
           megabytes,
           took,
           megabytes / took);
}

static void pack(const char *path, const char *packed) {
    static char buffer[1 << 18];
    FILE *f = fopen(path, "rb");
    gzFile gz = gzopen(packed, "wb6");
    for (size_t n; f && gz && (n = fread(buffer, 1, sizeof buffer, f));)
        gzwrite(gz, buffer, (unsigned)n);
    if (gz)
        gzclose_w(gz);
    if (f)
        fclose(f);
}

int main(int argc, char **argv) {
    long megabytes = argc > 1 ? strtol(argv[1], NULL, 10) : 500;
    char path[] = "/tmp/kineto_bench.XXXXXX";
    char packed[64];
    FILE *f = argc > 2 ? fopen(argv[2], "wb") : fdopen(mkstemp(path), "wb");
    if (!f)
        return 2;
    generate(f, megabytes * 1000000);
    if (fclose(f))
        return 2;
    if (argc > 2)
        return 0;
    struct stat st;
    stat(path, &st);
    double mb = (double)st.st_size / 1e6;
    int rc = measure(path, "plain", mb);
    snprintf(packed, sizeof packed, "%s.gz", path);
    pack(path, packed);
    unlink(path);
    inflate_only(packed, mb);
    rc |= measure(packed, "gz", mb);
    unlink(packed);
    return rc;
}
