/* Any bytes as the three files of the packet engine, which are cut at lines that
 * are "%". Stop time and sizes are the bytes' own, so that a run may be long: the
 * stop time is lowered to 0.1 ms, and large lists are not simulated. */
#include "network/packet/packet.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 3, MOST_FLOWS = 100, MOST_NODES = 1000 };

struct packet_files {
    char path[FILES][64];
    int fd[FILES];
};

static bool open_files(struct packet_files *f) {
    for (int i = 0; i < FILES; i++) {
        f->fd[i] = memfd_create("fuzz", 0);
        snprintf(f->path[i], sizeof f->path[i], "/proc/self/fd/%d", f->fd[i]);
        if (f->fd[i] < 0)
            return false;
    }
    return true;
}

static void write_files(const struct packet_files *f, const uint8_t *data, size_t size) {
    int file = 0;
    size_t begin = 0;
    for (size_t i = 0; i + 2 < size && file < FILES - 1; i++) {
        if (memcmp(data + i, "\n%\n", 3))
            continue;
        if (write(f->fd[file++], data + begin, i + 1 - begin) < 0)
            return;
        begin = i + 3;
    }
    if (begin < size && write(f->fd[file], data + begin, size - begin) < 0)
        return;
}

static sc_status simulate_files(struct sc_context *ctx, const struct packet_files *f) {
    struct sc__packet_config config;
    struct sc__packet_topology topology;
    struct sc__packet_flows flows;
    struct sc__packet_counters counters;
    struct sc__packet_settings none = {0};
    struct sc__packet_random random = {.reference = true};
    SC__TRY(sc__packet_config_read(ctx, f->path[0], &none, &config));
    SC__TRY(sc__packet_topology_read(ctx, f->path[1], &topology));
    SC__TRY(sc__packet_flows_read(ctx, f->path[2], &topology, &flows));
    if (flows.count > MOST_FLOWS || topology.node_count > MOST_NODES)
        return SC_OK;
    if (config.stop_s > 1e-4)
        config.stop_s = 1e-4;
    return sc__packet_simulate(ctx, &config, &topology, &flows, &random, NULL, &counters);
}

struct packet_job {
    struct sc_context *ctx;
    const struct packet_files *files;
};

static sc_status simulate_job(void *self) {
    struct packet_job *job = self;
    return simulate_files(job->ctx, job->files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct packet_files files;
    if (!open_files(&files))
        return 0;
    write_files(&files, data, size);
    sc_context *ctx = sc_open();
    struct packet_job job = {ctx, &files};
    ctx->arena.limit = (size_t)1 << 30;
    sc__guarded(ctx, simulate_job, &job);
    sc_close(ctx);
    for (int i = 0; i < FILES; i++)
        close(files.fd[i]);
    return 0;
}
