/* kernels: what one GPU does in one layer, kernel by kernel. */
#include "command/kernels.h"
#include "evaluate/evaluate.h"

#include "command/job.h"
#include "launch/read.h"
#include "lower/step.h"
#include "model/read.h"

#include <string.h>

static const struct sc__option options[] = {
    {"cold", 0, NULL, NULL, "Kernels", "leave the power limit out", 0},
    {"json",
     0,
     "FILE",
     NULL,
     "Output",
     "the result as JSON; - for standard output and nothing else there",
     0},
    {0}};

static const struct sc__option *const tables[] = {
    sc__model_options, options, sc__memory_options, NULL};

static const char *const part_names[] = {[SC__PART_ATTENTION_NORM] = "attention norm",
                                         [SC__PART_ATTENTION_IN] = "attention in",
                                         [SC__PART_ATTENTION_CORE] = "attention core",
                                         [SC__PART_ATTENTION_OUT] = "attention out",
                                         [SC__PART_ATTENTION_ADD] = "attention add",
                                         [SC__PART_MLP_NORM] = "mlp norm",
                                         [SC__PART_ROUTER] = "router",
                                         [SC__PART_MLP_IN] = "mlp in",
                                         [SC__PART_MLP_OUT] = "mlp out",
                                         [SC__PART_SHARED] = "shared experts",
                                         [SC__PART_UNROUTE] = "unroute",
                                         [SC__PART_MLP_ADD] = "mlp add"};

static const char *const kind_names[] = {"gemm", "attention", "memory"};

/* "mamba", "delta + moe", "dense, windowed". */
static const char *layer_name(struct sc__arena *arena, unsigned kind) {
    static const char *const mixers[] = {"", "mamba", "delta", ""};
    const char *mixer = mixers[sc__kind_mixer((int)kind)];
    bool alone = sc__kind_mixer((int)kind) == SC__MIXER_NONE;
    bool moe = sc__kind_has_experts((int)kind);
    const char *rest = moe ? "moe" : "dense";
    if (kind & SC__LAYER_MIXER_ONLY)
        return *mixer ? mixer : "attention";
    if (alone)
        return moe ? "moe alone" : "dense alone";
    if (*mixer)
        return sc__format(arena, "%s + %s", mixer, rest);
    return sc__format(arena, "%s%s", rest, kind & SC__LAYER_WINDOW ? ", windowed" : "");
}

static const char *const direction_names[] = {"forward", "backward"};

/* One kind of layer, alone in a loop of forward and backward. */
struct layer {
    const struct sc__layer_kernels *kernels[2]; /* forward, backward */
    struct sc__throttling throttling;
    /* kernels alone; sustained with gaps; host; the larger */
    double cold[2];
    double gpu[2];
    double host[2];
    double us[2];
    double flop[2];
};

/* By the layer where whole layers were measured, else by the kernel. */
static double host_us(const struct sc__lowering *l, unsigned direction, double launches) {
    const struct sc__model *m = l->model;
    if (!sc__fusion_eager(l->plan.fusion) || l->plan.host_launch >= 0)
        return 0;
    if (l->plan.fusion == SC__FUSION_HF)
        return l->constants.software.host_us * launches;
    enum sc__host_style style =
        m->gated || m->norm == SC__RMSNORM ? SC__HOST_LLAMA : SC__HOST_GPT;
    const struct sc__host_constants *h = &l->gpu->host[style];
    return direction ? h->backward_grad : h->forward;
}

static struct layer sum_layer(const struct sc__lowering *l, unsigned kind, bool cold) {
    struct layer r = {.kernels = {&l->kernels[kind][0], &l->kernels[kind][1]}};
    struct sc__load load = {0};
    for (unsigned d = 0; d < 2; d++)
        for (uint32_t i = 0; i < r.kernels[d]->count; i++)
            sc__load_add(&load, &r.kernels[d]->items[i].kernel, 1);
    struct sc__load idle = {0};
    r.throttling = sc__throttle(l->gpu, cold ? &idle : &load, 0);
    for (unsigned d = 0; d < 2; d++) {
        double launches = 0;
        for (uint32_t i = 0; i < r.kernels[d]->count; i++) {
            const struct sc__kernel *k = &r.kernels[d]->items[i].kernel;
            r.cold[d] += k->us;
            r.gpu[d] += k->us * r.throttling.factor[k->kind] + l->gpu->gap * k->launches;
            r.flop[d] += k->flop;
            launches += k->launches;
        }
        r.host[d] = host_us(l, d, launches);
        r.us[d] = r.host[d] > r.gpu[d] ? r.host[d] : r.gpu[d];
    }
    return r;
}

static void put_kernel_json(struct sc__json *j,
                            const struct sc__kernel *k,
                            const char *part,
                            unsigned direction,
                            double hot) {
    sc__json_row(j, NULL);
    sc__json_string(j, "name", k->name);
    sc__json_string(j, "direction", direction_names[direction]);
    sc__json_string(j, "phase", sc__phase_name(k->phase));
    sc__json_string(j, "part", part);
    sc__json_string(j, "kind", kind_names[k->kind]);
    sc__json_double(j, "us", k->us);
    sc__json_double(j, "sustained_us", k->us * hot);
    sc__json_double(j, "flop", k->flop);
    sc__json_double(j, "bytes", k->bytes);
    sc__json_bool(j, "measured", k->measured);
    sc__json_end_object(j);
}

static void put_layer_json(struct sc__json *j,
                           const char *key,
                           const char *kind,
                           const struct layer *r) {
    sc__json_object(j, key);
    if (kind)
        sc__json_string(j, "kind", kind);
    sc__json_double(j, "forward_us", r->us[0]);
    sc__json_double(j, "backward_us", r->us[1]);
    sc__json_double(j, "forward_gpu_us", r->gpu[0]);
    sc__json_double(j, "backward_gpu_us", r->gpu[1]);
    sc__json_double(j, "forward_cold_us", r->cold[0]);
    sc__json_double(j, "backward_cold_us", r->cold[1]);
    sc__json_double(j, "forward_host_us", r->host[0]);
    sc__json_double(j, "backward_host_us", r->host[1]);
    sc__json_double(j, "watts_cold", r->throttling.watts);
    sc__json_double(j, "clock_ratio", r->throttling.clock);
    sc__json_end_object(j);
}

static void put_ops_json(struct sc__json *j, const struct layer *r) {
    sc__json_array(j, "ops");
    for (unsigned d = 0; d < 2; d++)
        for (uint32_t i = 0; i < r->kernels[d]->count; i++) {
            const struct sc__layer_kernel *k = &r->kernels[d]->items[i];
            put_kernel_json(j,
                            &k->kernel,
                            part_names[k->part],
                            d,
                            r->throttling.factor[k->kernel.kind]);
        }
    sc__json_end_array(j);
}

static void
put_ends_json(struct sc__json *j, const char *key, const struct sc__kernels lists[2]) {
    sc__json_array(j, key);
    for (unsigned d = 0; d < 2; d++)
        for (uint32_t i = 0; i < lists[d].count; i++)
            put_kernel_json(j, &lists[d].items[i], key, d, 1);
    sc__json_end_array(j);
}

static void put_notes_json(struct sc_context *ctx, struct sc__json *j) {
    sc__json_notes(j, ctx);
}

static sc_status write_json(struct sc_request *req,
                            const struct sc__lowering *l,
                            const struct layer *main,
                            const struct layer kinds[SC__LAYER_KINDS]) {
    struct sc__buffer b;
    struct sc__json j;
    sc__buffer_init(&b, &req->ctx->arena);
    sc__json_init(&j, &b);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/kernels/1");
    sc__json_string(&j, "version", sc_version());
    sc__json_string(&j, "gpu", l->gpu->name);
    sc__json_string(&j, "model", l->model->name);
    put_layer_json(&j, "layer", NULL, main);
    sc__json_array(&j, "layers");
    for (unsigned k = 0; k < SC__LAYER_KINDS; k++)
        if (l->has_kind[k])
            put_layer_json(&j, NULL, layer_name(&req->ctx->arena, k), &kinds[k]);
    sc__json_end_array(&j);
    put_ops_json(&j, main);
    put_ends_json(&j, "embedding", l->embedding);
    put_ends_json(&j, "head", l->head);
    put_notes_json(req->ctx, &j);
    sc__json_end_object(&j);
    sc__putc(&b, '\n');
    return sc__job_output(req, "json", &b);
}

static void
put_row(struct sc__buffer *out, const struct sc__kernel *k, const char *part, double hot) {
    double us = k->us * hot;
    sc__printf(out, "  %-22s %-15s %9.2f us", k->name, part, us);
    if (k->flop > 0 && us > 0)
        sc__printf(out, " %8.1f TFLOP/s", k->flop / us * 1e-6);
    if (!(k->flop > 0) && us > 0)
        sc__printf(out, " %8.2f TB/s", k->bytes / us * 1e-6);
    sc__puts(out, k->measured ? "  measured\n" : "\n");
}

static void put_layer(struct sc__buffer *out, const char *kind, const struct layer *r) {
    for (unsigned d = 0; d < 2; d++) {
        sc__printf(out, "%s layer, %s\n", kind, direction_names[d]);
        for (uint32_t i = 0; i < r->kernels[d]->count; i++) {
            const struct sc__layer_kernel *k = &r->kernels[d]->items[i];
            put_row(out,
                    &k->kernel,
                    part_names[k->part],
                    r->throttling.factor[k->kernel.kind]);
        }
        sc__printf(out,
                   "  %-38s %9.2f us %8.1f TFLOP/s%s\n\n",
                   "with gaps",
                   r->us[d],
                   r->flop[d] / r->us[d] * 1e-6,
                   r->host[d] > r->gpu[d] ? "  bound by the host" : "");
    }
}

static void
put_ends(struct sc__buffer *out, const char *title, const struct sc__kernels lists[2]) {
    sc__printf(out, "%s, forward and backward\n", title);
    for (unsigned d = 0; d < 2; d++)
        for (uint32_t i = 0; i < lists[d].count; i++)
            put_row(out, &lists[d].items[i], direction_names[d], 1);
    sc__putc(out, '\n');
}

static void kernels_cmd_write_text(struct sc_request *req,
                                   const struct sc__lowering *l,
                                   const struct layer kinds[SC__LAYER_KINDS]) {
    struct sc__buffer *out = &req->out;
    out->for_people = true;
    const struct sc__throttling *h = &kinds[sc__layer_kind(l, 0)].throttling;
    sc__printf(out, "%s: %s\n", l->model->name ? l->model->name : "model", l->gpu->title);
    sc__printf(
        out,
        "sustained: clock 1/%.2f, products x%.2f, attention x%.2f, memory-bound x%.2f\n\n",
        h->clock,
        h->factor[SC__KERNEL_GEMM],
        h->factor[SC__KERNEL_ATTENTION],
        h->factor[SC__KERNEL_MEMORY]);
    for (unsigned k = 0; k < SC__LAYER_KINDS; k++)
        if (l->has_kind[k])
            put_layer(out, layer_name(&req->ctx->arena, k), &kinds[k]);
    put_ends(out, "embedding (cold)", l->embedding);
    put_ends(out, "head (cold)", l->head);
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(out, "note: %s\n", req->ctx->notes[i].text);
}

static sc_status show_layers(struct sc_request *req, struct sc__lowering *l) {
    struct layer kinds[SC__LAYER_KINDS];
    for (unsigned k = 0; k < SC__LAYER_KINDS; k++)
        if (l->has_kind[k])
            kinds[k] = sum_layer(l, k, sc__flag(req, "cold"));
    const char *json = sc__option(req, "json");
    sc__job_note_unused(req);
    if (json)
        SC__TRY(write_json(req, l, &kinds[sc__layer_kind(l, l->model->layers - 1)], kinds));
    if (!json || strcmp(json, "-"))
        kernels_cmd_write_text(req, l, kinds);
    return SC_OK;
}

static sc_status execute_model(struct sc_request *req,
                               struct sc__settings *settings,
                               const struct sc__gpu *gpu) {
    static const struct sc__cluster alone = {.name = "one GPU",
                                             .ideal = true,
                                             .node_gpus = 1};
    struct sc__model *model = SC__NEW(&req->ctx->arena, struct sc__model);
    struct sc__lowering *l = SC__NEW(&req->ctx->arena, struct sc__lowering);
    const char *script = sc__option(req, "megatron-args");
    struct sc__settings given = *settings;
    sc_plan plan;
    bool any;
    if (script)
        SC__TRY(sc__launch_read(req->ctx, script, sc__model_options, &given, settings));
    SC__TRY(sc__model_settings(req->ctx, settings, model, &any));
    if (!any)
        return sc__usage(
            req,
            "--model llama3-8b, or --hidden-size and so on, or a table of kernels",
            "nothing says which kernels");
    l->ctx = req->ctx, l->arena = &req->ctx->arena, l->model = model, l->cluster = &alone,
    l->gpu = gpu;
    SC__TRY(sc__plan_read(settings, &plan));
    SC__TRY(sc__plan_resolve(req->ctx, &plan, model, NULL, &l->plan));
    SC__TRY(sc__plan_check(req->ctx, model, &l->plan));
    sc__plan_note_idle(req->ctx, settings, &plan, model, &l->plan);
    SC__TRY(sc__step_constants(req->ctx,
                               l->plan.constants,
                               gpu,
                               &l->plan.software_constants,
                               &l->constants));
    l->kernel_model = sc__kernel_model_new(l->arena, gpu);
    if (l->plan.kernel_times)
        SC__TRY(
            sc__kernel_model_read_times(req->ctx, l->kernel_model, l->plan.kernel_times));
    sc__step_kernels(l);
    return show_layers(req, l);
}

static sc_status kernels_cmd_execute(struct sc_request *req) {
    struct sc__settings settings = sc__settings(req);
    const struct sc__gpu *gpu;
    const char *name = sc__option(req, "gpu");
    if (!name)
        sc__note(req->ctx, "gpu", "no --gpu: h100-sxm");
    SC__TRY(sc__gpu_find(req->ctx, name ? name : "h100-sxm", &gpu));
    if (req->input_count > 1)
        return sc__usage(req, NULL, "one table at a time");
    if (req->input_count == 1)
        return sc__kernels_table(req, gpu, req->inputs[0]);
    return execute_model(req, &settings, gpu);
}

const struct sc__command sc__command_kernels = {
    .name = "kernels",
    .args = "[TABLE.csv]",
    .summary = "times of the kernels of a layer on one GPU, forward and backward",
    .text =
        "With --model or Megatron's flags: every kernel of a layer as it runs in a loop of "
        "forward and backward, "
        "under\n"
        "the power limit unless --cold. With a table (docs/model/kernels.md): the model's "
        "time "
        "of every row, and its\n"
        "error where the table gives a measured one.",
    .options = tables,
    .execute = kernels_cmd_execute};
