/* Any bytes as a cluster: JSON, SimAI topology, ASTRA-sim YAML, one line, as the first
 * byte says; where that is a letter, the whole as a file of any form. */
#include "hardware/cluster_fields.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_cluster {
    sc_context *ctx;
    const uint8_t *data;
    size_t size;
};

static sc_status use_cluster(sc_context *ctx, const struct sc__cluster *c) {
    struct sc__buffer b;
    if (c->gpus >= 1u << 20)
        return SC_OK;
    struct sc__shape s = sc__cluster_shape(c, NULL, c->gpus);
    (void)sc__collective_time(c, 0, &s, 1 << 20);
    sc__buffer_init(&b, &ctx->arena);
    sc__cluster_show(c, &b);
    sc__cluster_write(c, NULL, &b);
    return SC_OK;
}

static sc_status read_file_of_any_form(sc_context *ctx, struct sc__str all) {
    struct sc__cluster_description d;
    struct sc__cluster c;
    SC__TRY(sc__cluster_describe_bytes(ctx, "fuzz", all, &d));
    SC__TRY(sc__cluster_sized(ctx, &d, 0, &c));
    return use_cluster(ctx, &c);
}

static sc_status read_cluster(void *self) {
    const struct fuzzed_cluster *f = self;
    sc_context *ctx = f->ctx;
    const uint8_t *data = f->data;
    size_t size = f->size;
    if (data[0] >= ' ' || data[0] == '\t')
        return read_file_of_any_form(ctx, (struct sc__str){(const char *)data, size});
    char *text = sc__strndup(&ctx->arena, (const char *)data + 1, size - 1);
    struct sc__str all = {text, size - 1};
    struct sc__cluster c;
    sc_status status;
    switch (data[0] % 4) {
    case 0:
        status = sc__cluster_json(ctx, "fuzz", all, &c);
        break;
    case 1:
        status = sc__cluster_simai(ctx, "fuzz", all, &c);
        break;
    case 2:
        status = sc__cluster_astra(ctx, "fuzz", all, &c);
        break;
    default:
        status = strchr(text, '=') ? sc__cluster_parse(ctx, text, 0, &c) : SC_INPUT;
        break;
    }
    if (status == SC_OK && data[0] % 4 != 3)
        status = sc__cluster_finish(ctx, &c, NULL, 0);
    return status == SC_OK ? use_cluster(ctx, &c) : SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sc_context *ctx = sc_open();
    if (!ctx || !size) {
        if (ctx)
            sc_close(ctx);
        return 0;
    }
    ctx->arena.limit = (size_t)256 << 20;
    sc__guarded(ctx, read_cluster, &(struct fuzzed_cluster){ctx, data, size});
    sc_close(ctx);
    return 0;
}
