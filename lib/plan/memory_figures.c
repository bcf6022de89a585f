/* memory_figures: data/memory.json: memory that no tensor of the model takes. */
#include "plan/plan.h"

#include <jansson.h>

static sc_status
read_figures(struct sc_context *ctx, const char *name, const void *unused, void **found) {
    struct sc__memory_figures *out = SC__NEW(&ctx->arena, struct sc__memory_figures);
    const struct {
        const char *key;
        double *value;
    } fields[] = {
        {"context_bytes", &out->context},
        {"workspace_bytes", &out->workspace},
        {"fragmentation", &out->fragmentation},
        {"nccl_channels", &out->channels},
        {"nccl_channel_bytes", &out->channel_bytes},
    };
    const json_t *root = sc__data_json(name);
    (void)unused;
    *found = out;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        json_t *value = json_object_get(root, fields[i].key);
        if (!json_is_number(value))
            return sc__fail(ctx,
                            SC_SYSTEM,
                            NULL,
                            NULL,
                            "data/memory.json was not built in, or has no \"%s\"",
                            fields[i].key);
        *fields[i].value = json_number_value(value);
    }
    return SC_OK;
}

sc_status sc__memory_figures(struct sc_context *ctx, struct sc__memory_figures *out) {
    void *found;
    SC__TRY(sc__memo_ask(ctx, "memory figures", "memory.json", read_figures, NULL, &found));
    *out = *(const struct sc__memory_figures *)found;
    return SC_OK;
}
