/* memory_figures: data/memory.json: memory that no tensor of the model takes. */
#include "plan/plan.h"

#include <jansson.h>

sc_status sc__memory_figures(struct sc_context *ctx, struct sc__memory_figures *out) {
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
    const struct sc__data_file *file = sc__data_find("memory.json");
    json_t *root = file ? json_loadb((const char *)file->bytes, file->size, 0, NULL) : NULL;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        json_t *value = json_object_get(root, fields[i].key);
        if (!json_is_number(value)) {
            json_decref(root);
            return sc__fail(ctx,
                            SC_SYSTEM,
                            NULL,
                            NULL,
                            "data/memory.json was not built in, or has no \"%s\"",
                            fields[i].key);
        }
        *fields[i].value = json_number_value(value);
    }
    json_decref(root);
    return SC_OK;
}
