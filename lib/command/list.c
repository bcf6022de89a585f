/* list: the names there are, as tables: models, GPUs, clusters, software, network
 * engines, settings of networks of packets. */
#include "command/job.h"
#include "hardware/cluster_fields.h"
#include "hardware/gpu.h"
#include "model/read.h"
#include "network/registry.h"
#include "plan/software.h"

#include <string.h>

/* Both forms of a list, written row by row. */
struct listing {
    struct sc_context *ctx;
    struct sc__buffer text;
    struct sc__buffer json_text;
    struct sc__json json;
};

/* What a list shows of one name. */
typedef sc_status list_row(struct listing *l, const char *name);

/* ---- models ---- */

/* 70.6 B, 124.4 M: four digits say more than published counts do. */
static const char *short_count(struct listing *l, double count) {
    return count >= 1e9 ? sc__format(&l->ctx->arena, "%.1f B", count / 1e9)
                        : sc__format(&l->ctx->arena, "%.1f M", count / 1e6);
}

static const char *known_number(struct listing *l, double value, const char *unit) {
    return value > 0 ? sc__format(&l->ctx->arena, "%.4g%s", value, unit) : "-";
}

static void json_known_number(struct sc__json *j, const char *key, double value) {
    if (value > 0)
        sc__json_double(j, key, value);
    else
        sc__json_null(j, key);
}

static sc_status list_model(struct listing *l, const char *name) {
    struct sc__model model;
    struct sc__model_params params;
    SC__TRY(sc__model_find(l->ctx, name, &model));
    sc__model_count(&model, &params);
    const char *context =
        model.context ? sc__format(&l->ctx->arena, "%u", model.context) : "-";
    sc__printf(&l->text,
               "%-20s %6u %12s %12s %9s\n",
               name,
               model.layers,
               short_count(l, params.total),
               short_count(l, params.active),
               context);
    sc__json_row(&l->json, NULL);
    sc__json_string(&l->json, "name", name);
    sc__json_string(&l->json, "family", model.family);
    sc__json_u64(&l->json, "layers", model.layers);
    sc__json_u64(&l->json, "parameters", (uint64_t)params.total);
    sc__json_u64(&l->json, "active_parameters", (uint64_t)params.active);
    json_known_number(&l->json, "context", model.context);
    sc__json_string(&l->json, "source", model.source);
    sc__json_end_object(&l->json);
    return SC_OK;
}

/* ---- GPUs ---- */

static sc_status list_gpu(struct listing *l, const char *name) {
    const struct sc__gpu *gpu;
    SC__TRY(sc__gpu_find(l->ctx, name, &gpu));
    double gib = gpu->memory / (double)(1u << 30);
    sc__printf(&l->text,
               "%-19s %-12s %14s %13s %10s %10s  %s\n",
               name,
               gpu->architecture,
               known_number(l, sc__gpu_sheet_peak(gpu), ""),
               known_number(l, gpu->peak[SC__FP8], ""),
               known_number(l, gib, " GiB"),
               known_number(l, gpu->dram, " TB/s"),
               gpu->title);
    sc__json_row(&l->json, NULL);
    sc__json_string(&l->json, "name", name);
    sc__json_string(&l->json, "title", gpu->title);
    sc__json_string(&l->json, "architecture", gpu->architecture);
    json_known_number(&l->json, "fp16_tflops", gpu->peak[SC__FP16]);
    json_known_number(&l->json, "bf16_tflops", gpu->peak[SC__BF16]);
    json_known_number(&l->json, "fp8_tflops", gpu->peak[SC__FP8]);
    json_known_number(&l->json, "memory_gib", gib);
    json_known_number(&l->json, "memory_tbs", gpu->dram);
    sc__json_string(&l->json, "source", gpu->source);
    sc__json_end_object(&l->json);
    return SC_OK;
}

/* ---- clusters ---- */

static const char *inside_node(struct listing *l, const struct sc__cluster *c) {
    return c->node_gpus > 1 ? sc__format(&l->ctx->arena,
                                         "%s %.4g GB/s",
                                         sc__inside_name(c->inside),
                                         c->nvlink / 1e9)
                            : "-";
}

static const char *node_nics(struct listing *l, const struct sc__cluster *c) {
    return c->nic > 0 && !c->fabric.dims ? sc__format(&l->ctx->arena,
                                                      "%u x %.4g Gb/s",
                                                      c->node_nics,
                                                      c->nic * 8 / 1e9)
                                         : "-";
}

static void list_cluster_json(struct sc__json *j, const struct sc__cluster *c) {
    bool has_nics = c->nic > 0 && !c->fabric.dims;
    sc__json_row(j, NULL);
    sc__json_string(j, "name", c->name);
    sc__json_string(j, "gpu", c->gpu);
    sc__json_u64(j, "node_gpus", c->node_gpus);
    sc__json_string(j, "inside", c->node_gpus > 1 ? sc__inside_name(c->inside) : NULL);
    json_known_number(j, "nvlink_gbs", c->node_gpus > 1 ? c->nvlink / 1e9 : 0);
    json_known_number(j, "node_nics", has_nics ? c->node_nics : 0);
    json_known_number(j, "nic_gbps", has_nics ? c->nic * 8 / 1e9 : 0);
    sc__json_string(j, "fabric", sc__fabric_kind_name(c->fabric.kind));
    sc__json_string(j, "fabric_class", c->fabric.class);
    sc__json_string(j, "source", c->source);
    sc__json_end_object(j);
}

static sc_status list_cluster(struct listing *l, const char *name) {
    struct sc__cluster cluster;
    SC__TRY(sc__cluster_parse(l->ctx, name, 0, &cluster));
    sc__printf(&l->text,
               "%-17s %-13s %9u  %-18s %-14s %-9s %-9s %s\n",
               name,
               cluster.gpu ? cluster.gpu : "-",
               cluster.node_gpus,
               inside_node(l, &cluster),
               node_nics(l, &cluster),
               sc__fabric_kind_name(cluster.fabric.kind),
               cluster.fabric.class,
               cluster.source);
    list_cluster_json(&l->json, &cluster);
    return SC_OK;
}

/* ---- software ---- */

static sc_status list_software(struct listing *l, const char *name) {
    const struct sc__software *s;
    SC__TRY(sc__software_read(l->ctx, name, &s));
    sc__printf(&l->text, "%-32s %s  %s  %s\n", name, s->from, s->to, s->title);
    sc__json_row(&l->json, NULL);
    sc__json_string(&l->json, "name", name);
    sc__json_string(&l->json, "title", s->title);
    sc__json_string(&l->json, "stack", s->stack);
    sc__json_string(&l->json, "from", s->from);
    sc__json_string(&l->json, "to", s->to);
    sc__json_string(&l->json, "source", s->source);
    sc__json_end_object(&l->json);
    return SC_OK;
}

/* ---- engines ---- */

static sc_status list_engines(struct listing *l) {
    const struct sc_engine *engine;
    for (uint32_t i = 0; (engine = sc__engine_nth(l->ctx, i)); i++) {
        const char *summary = engine->summary ? engine->summary : "";
        sc__printf(&l->text, "%-12s %s\n", engine->name, summary);
        sc__json_row(&l->json, NULL);
        sc__json_string(&l->json, "name", engine->name);
        sc__json_string(&l->json, "summary", summary);
        sc__json_end_object(&l->json);
    }
    return SC_OK;
}

/* ---- networks ---- */

static sc_status list_network(struct listing *l, const char *name) {
    struct sc__packet_network n;
    sc__packet_network_describe(l->ctx, name, &n);
    sc__printf(&l->text, "%-13s %7u  %-33s %s\n", name, n.payload, n.controls, n.source);
    sc__json_row(&l->json, NULL);
    sc__json_string(&l->json, "name", name);
    sc__json_u64(&l->json, "payload", n.payload);
    sc__json_string(&l->json, "controls", n.controls);
    sc__json_string(&l->json, "source", n.source);
    sc__json_end_object(&l->json);
    return SC_OK;
}

/* ---- the command ---- */

struct list_kind {
    const char *name;
    const char *folder; /* of data/, or NULL: the engines */
    list_row *row;
    const char *heading;
};

static const struct list_kind list_kinds[] = {
    {"models",
     "models/",
     list_model,
     "model                layers   parameters       active   context\n"},
    {"gpus",
     "gpus/",
     list_gpu,
     "GPU                 architecture 16-bit TFLOP/s   fp8 TFLOP/s     memory  "
     "bandwidth\n"},
    {"clusters",
     "clusters/",
     list_cluster,
     "cluster           GPU           GPUs/node  in a node          NICs           fabric  "
     "  "
     "class     source\n"},
    {"software",
     "software/",
     list_software,
     "software                         from     to       what\n"},
    {"networks",
     "networks/",
     list_network,
     "network       payload  congestion controls               source\n"},
    {"engines", NULL, NULL, "engine       how it sees the network\n"},
    {0}};

static sc_status find_kind(struct sc_request *req, const struct list_kind **out) {
    const char *names[sizeof list_kinds / sizeof *list_kinds] = {0};
    const char *asked = req->input_count == 1 ? req->inputs[0] : "";
    for (unsigned i = 0; list_kinds[i].name; i++) {
        names[i] = list_kinds[i].name;
        *out = &list_kinds[i];
        if (!strcmp(asked, names[i]))
            return SC_OK;
    }
    const char *near = *asked ? sc__nearest(asked, names) : NULL;
    const char *hint = near ? sc__format(&req->ctx->arena, "did you mean %s?", near)
                            : "stepcast list models";
    return sc__usage(
        req,
        hint,
        "list takes one of models, gpus, clusters, software, networks and engines");
}

static sc_status list_all(struct listing *l, const struct list_kind *kind) {
    if (!kind->folder)
        return list_engines(l);
    const char **names = sc__data_names(&l->ctx->arena, kind->folder);
    for (uint32_t i = 0; names[i]; i++)
        SC__TRY(kind->row(l, names[i]));
    return SC_OK;
}

static sc_status list_execute(struct sc_request *req) {
    const struct list_kind *kind;
    struct listing l = {.ctx = req->ctx};
    SC__TRY(find_kind(req, &kind));
    sc__buffer_init(&l.text, &req->ctx->arena);
    sc__buffer_init(&l.json_text, &req->ctx->arena);
    sc__json_init(&l.json, &l.json_text);
    sc__puts(&l.text, kind->heading);
    sc__json_object(&l.json, NULL);
    sc__json_string(&l.json, "schema", "stepcast/list/1");
    sc__json_array(&l.json, kind->name);
    SC__TRY(list_all(&l, kind));
    sc__json_end_array(&l.json);
    sc__json_end_object(&l.json);
    if (sc__flag(req, "json"))
        SC__TRY(sc__job_output(req, "json", &l.json_text));
    if (!sc__stdout_taken(req))
        sc__put(&req->out, l.text.text, l.text.size);
    return SC_OK;
}

static const struct sc__option list_options[] = {
    {"json", 0, "FILE", NULL, "Output", "the same as JSON; - for standard output", 0}, {0}};

static const struct sc__option *const list_tables[] = {list_options, NULL};

const struct sc__command sc__command_list = {
    .name = "list",
    .args = "models|gpus|clusters|software|networks|engines",
    .summary = "the models, GPUs, clusters, software profiles, networks of packets and "
               "engines there "
               "are",
    .text = "The names that --model, --gpu, --cluster, --software and --net take, with the "
            "figures that\n"
            "belong to them. Peak rates are dense; parameters are counted from the shapes.",
    .options = list_tables,
    .execute = list_execute};
