#include "hardware/host_link.h"

#include "base/data.h"
#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* data/hosts.json as it is read: a host by the names of its GPUs. */
struct host_entry {
    const char *gpus; /* with commas */
    double link;
    double nics;   /* by which NICs are reached, where that is another link */
    double memory; /* of the whole host */
    double size;
    double shared_by; /* GPUs */
    double cores;
};

struct host_table {
    double link_share;
    double update_share;
    struct host_entry *items;
    uint32_t count;
};

static bool host_number(const json_t *in, const char *key, double *out) {
    const json_t *value = json_object_get(in, key);
    *out = json_number_value(value);
    return json_is_number(value) && *out > 0;
}

static bool read_entry(struct sc__arena *arena, const json_t *in, struct host_entry *out) {
    const char *gpus = json_string_value(json_object_get(in, "gpus"));
    bool whole = gpus && host_number(in, "link_gbs", &out->link) &&
                 host_number(in, "memory_gbs", &out->memory) &&
                 host_number(in, "memory_gib", &out->size) &&
                 host_number(in, "shared_by", &out->shared_by) &&
                 host_number(in, "cores", &out->cores);
    if (!host_number(in, "nic_gbs", &out->nics))
        out->nics = out->link;
    out->gpus = whole ? sc__strdup(arena, gpus) : "";
    out->link *= 1e9;
    out->nics *= 1e9;
    out->memory *= 1e9;
    out->size *= 1u << 30;
    return whole;
}

static bool read_table(struct sc__arena *arena, const json_t *root, struct host_table *t) {
    const json_t *hosts = json_object_get(root, "hosts");
    bool whole = host_number(root, "link_share", &t->link_share) &&
                 host_number(root, "update_share", &t->update_share) && hosts;
    t->count = (uint32_t)json_array_size(hosts);
    t->items = SC__NEW_ARRAY(arena, struct host_entry, t->count + 1);
    for (uint32_t i = 0; i < t->count; i++)
        whole = read_entry(arena, json_array_get(hosts, i), &t->items[i]) && whole;
    return whole;
}

static sc_status
read_hosts(struct sc_context *ctx, const char *name, const void *unused, void **found) {
    struct host_table *table = SC__NEW(&ctx->arena, struct host_table);
    (void)unused;
    *found = table;
    if (read_table(&ctx->arena, sc__data_json(name), table))
        return SC_OK;
    return sc__fail(ctx,
                    SC_SYSTEM,
                    NULL,
                    NULL,
                    "data/hosts.json was not built in, or lacks a number");
}

static const struct host_entry *find_host(const struct host_table *t, const char *gpu) {
    for (uint32_t i = 0; i < t->count; i++) {
        struct sc__str rest = sc__str(t->items[i].gpus);
        struct sc__str name;
        while (sc__split(&rest, ',', &name))
            if (sc__str_is(name, gpu))
                return &t->items[i];
    }
    return NULL;
}

static const struct host_entry *usual_host(struct sc_context *ctx, const char *gpu) {
    void *found;
    if (sc__memo_ask(ctx, "hosts", "hosts.json", read_hosts, NULL, &found) != SC_OK)
        return NULL;
    return find_host(found, gpu);
}

double sc__host_link_rate(struct sc_context *ctx, const char *gpu) {
    const struct host_entry *host = usual_host(ctx, gpu);
    return host ? host->link : 0;
}

double sc__host_nics_rate(struct sc_context *ctx, const char *gpu) {
    const struct host_entry *host = usual_host(ctx, gpu);
    return host ? host->nics : 0;
}

sc_status sc__host_link(struct sc_context *ctx,
                        const char *gpu,
                        const struct sc__cluster *cluster,
                        uint32_t ranks,
                        uint32_t threads,
                        struct sc__host_link *out) {
    void *found;
    SC__TRY(sc__memo_ask(ctx, "hosts", "hosts.json", read_hosts, NULL, &found));
    const struct host_table *table = found;
    const struct host_entry *usual = find_host(table, gpu);
    struct host_entry own = usual ? *usual : (struct host_entry){0};
    if (cluster->host_link > 0)
        own.link = cluster->host_link;
    if (cluster->host_memory > 0)
        own.memory = cluster->host_memory;
    if (cluster->host_size > 0)
        own.size = (double)cluster->host_size;
    if (cluster->host_cores)
        own.cores = cluster->host_cores;
    if (cluster->host_gpus)
        own.shared_by = cluster->host_gpus;
    if (!(own.shared_by > 0))
        own.shared_by = cluster->tray ? cluster->tray : cluster->node_gpus;
    double sharing = fmin(own.shared_by, ranks); /* a job may use a part of it alone */
    double cores = fmax(1, own.cores / sharing);
    if (!(own.link > 0 && own.memory > 0 && own.cores > 0))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "describe it: --cluster \"… host-link=63GB/s host-memory=614GB/s "
                        "host-cores=112\"",
                        "what host a %s has is not known",
                        gpu);
    *out = (struct sc__host_link){.link = own.link * table->link_share,
                                  .stream = own.memory * table->update_share / sharing,
                                  .threads = threads ? fmin(threads, cores) : cores,
                                  .size = own.size / sharing};
    return SC_OK;
}
