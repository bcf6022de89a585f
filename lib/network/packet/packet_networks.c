/* packet_networks: the settings under data/networks/ as "KEY value" texts: those
 * of all controls, then those of the one chosen. */
#include "network/packet/packet.h"

#include <jansson.h>
#include <string.h>

static json_t *network_document(struct sc_context *ctx, const char *name) {
    return sc__data_json(sc__format(&ctx->arena, "networks/%s.json", name));
}

bool sc__packet_network_exists(struct sc_context *ctx, const char *name) {
    return network_document(ctx, name) != NULL;
}

void sc__packet_network_describe(struct sc_context *ctx,
                                 const char *name,
                                 struct sc__packet_network *out) {
    const json_t *root = network_document(ctx, name);
    json_t *settings = json_object_get(root, "settings");
    const char *usual = json_string_value(json_object_get(root, "usual"));
    const char *payload =
        json_string_value(json_object_get(settings, "PACKET_PAYLOAD_SIZE"));
    struct sc__buffer controls;
    const char *control;
    json_t *value;
    sc__buffer_init(&controls, &ctx->arena);
    json_object_foreach(json_object_get(root, "controls"), control, value) {
        sc__printf(&controls, "%s%s", controls.size ? ", " : "", control);
    }
    *out = (struct sc__packet_network){.controls = controls.text};
    if (usual)
        out->usual = sc__strdup(&ctx->arena, usual);
    out->source =
        sc__strdup(&ctx->arena, json_string_value(json_object_get(root, "source")));
    (void)sc__parse_u32(sc__str(payload), &out->payload);
}

static void
add_values(struct sc_context *ctx, json_t *values, struct sc__packet_settings *out) {
    const char *key;
    json_t *value;
    json_object_foreach(values, key, value) {
        struct sc__packet_setting *s =
            SC__PUSH(&ctx->arena, out->items, out->count, out->capacity);
        s->option = "conf";
        s->text = sc__format(&ctx->arena, "%s %s", key, json_string_value(value));
    }
}

sc_status sc__packet_network_settings(struct sc_context *ctx,
                                      const char *name,
                                      const char *control,
                                      struct sc__packet_settings *out) {
    const json_t *root = network_document(ctx, name);
    json_t *chosen = json_object_get(json_object_get(root, "controls"), control);
    add_values(ctx, json_object_get(root, "settings"), out);
    add_values(ctx, chosen, out);
    sc_status status = SC_OK;
    struct sc__packet_network network;
    sc__packet_network_describe(ctx, name, &network);
    if (!chosen)
        status = sc__fail(ctx,
                          SC_USAGE,
                          NULL,
                          sc__format(&ctx->arena, "it has: %s", network.controls),
                          "--conf %s has no --cc %s",
                          name,
                          control);
    return status;
}
