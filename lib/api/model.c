/* model, cluster, plan: the public calls. */
#include "api/object.h"
#include "base/argument.h"
#include "launch/read.h"
#include "model/read.h"

#include <stdio.h>
#include <string.h>

/* ---- model ---- */

struct named_bytes {
    const char *name;
    const void *bytes;
    size_t size;
};

static sc_status
build_model_by_name(struct sc_context *own, void *object, const void *name) {
    sc_model *m = object;
    SC__TRY(sc__argument(own, name, "name"));
    return sc__model_find(own, sc__strdup(&own->arena, name), &m->model);
}

sc_status sc_model_load(sc_context *ctx, const char *name, sc_model **out) {
    return sc__object_build(ctx, sizeof **out, build_model_by_name, name, (void **)out);
}

static sc_status check_bytes(struct sc_context *own, const struct named_bytes *from) {
    SC__TRY(sc__argument(own, from->name, "name"));
    return sc__argument_array(own, from->bytes, from->size, "bytes");
}

static sc_status
build_model_from_bytes(struct sc_context *own, void *object, const void *arguments) {
    sc_model *m = object;
    const struct named_bytes *from = arguments;
    SC__TRY(check_bytes(own, from));
    struct sc__str text = {sc__strndup(&own->arena, from->bytes, from->size), from->size};
    return sc__model_parse(own, sc__strdup(&own->arena, from->name), text, &m->model);
}

sc_status sc_model_parse(
    sc_context *ctx, const char *name, const void *bytes, size_t size, sc_model **out) {
    struct named_bytes from = {name, bytes, size};
    return sc__object_build(ctx, sizeof **out, build_model_from_bytes, &from, (void **)out);
}

/* Names that are no option of models would be ignored. */
static sc_status check_names(struct sc_context *ctx, const struct sc__setting_list *list) {
    SC__TRY(sc__argument_array(ctx, list->items, list->count, "settings"));
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->items[i].name ? list->items[i].name : "";
        if (!sc__option_find(sc__model_options, name))
            return sc__fail(ctx, SC_USAGE, NULL, NULL, "a model has no option '%s'", name);
    }
    return SC_OK;
}

static sc_status
build_model_from_flags(struct sc_context *own, void *object, const void *list) {
    sc_model *m = object;
    struct sc__settings s = sc__settings_of(own, list);
    bool given;
    SC__TRY(check_names(own, list));
    SC__TRY(sc__model_settings(own, &s, &m->model, &given));
    if (given) {
        m->model.name = sc__strdup(&own->arena, m->model.name);
        return SC_OK;
    }
    return sc__fail(own,
                    SC_USAGE,
                    NULL,
                    "num-layers, hidden-size and num-attention-heads, or model",
                    "the settings do not say what model it is");
}

sc_status
sc_model_build(sc_context *ctx, const sc_setting *settings, size_t count, sc_model **out) {
    struct sc__setting_list list = {settings, count};
    return sc__object_build(ctx, sizeof **out, build_model_from_flags, &list, (void **)out);
}

struct script_arguments {
    const char *path;
    sc_plan *plan;
};

static const char *script_name(const void *self, const char *name, unsigned i) {
    return i || strcmp(name, "megatron-args") ? NULL : self;
}

static sc_status
build_model_from_script(struct sc_context *own, void *object, const void *arguments) {
    const struct script_arguments *a = arguments;
    sc_model *m = object;
    struct sc__settings script;
    bool given;
    SC__TRY(sc__argument(own, a->path, "path"));
    const char *path = sc__strdup(&own->arena, a->path);
    const struct sc__settings named = {.nth = script_name, .self = path, .ctx = own};
    SC__TRY(sc__launch_read(own, path, sc__model_options, &named, &script));
    SC__TRY(sc__model_settings(own, &script, &m->model, &given));
    if (!given)
        return sc__fail(own,
                        SC_INPUT,
                        &(struct sc__place){.file = path},
                        "--num-layers, --hidden-size and --num-attention-heads",
                        "the script does not say what model it trains");
    return a->plan ? sc__plan_read(&script, a->plan) : SC_OK;
}

sc_status
sc_model_load_script(sc_context *ctx, const char *path, sc_model **out, sc_plan *plan) {
    const struct script_arguments a = {path, plan};
    return sc__object_build(ctx, sizeof **out, build_model_from_script, &a, (void **)out);
}

void sc_model_free(sc_model *model) {
    sc__object_free(model);
}
const char *sc_model_name(const sc_model *model) {
    return model->model.name;
}
uint32_t sc_model_layers(const sc_model *model) {
    return model->model.layers;
}
double sc_model_parameters(const sc_model *model) {
    struct sc__model_params n;
    sc__model_count(&model->model, &n);
    return n.total;
}
double sc_model_active_parameters(const sc_model *model) {
    struct sc__model_params n;
    sc__model_count(&model->model, &n);
    return n.active;
}

/* ---- cluster ---- */

static sc_status
build_cluster_by_text(struct sc_context *own, void *object, const void *text) {
    sc_cluster *c = object;
    SC__TRY(sc__argument(own, text, "text"));
    return sc__cluster_describe(own, text, &c->description);
}

sc_status sc_cluster_load(sc_context *ctx, const char *text, sc_cluster **out) {
    return sc__object_build(ctx, sizeof **out, build_cluster_by_text, text, (void **)out);
}

static sc_status
build_cluster_from_bytes(struct sc_context *own, void *object, const void *arguments) {
    sc_cluster *c = object;
    const struct named_bytes *from = arguments;
    SC__TRY(check_bytes(own, from));
    struct sc__str text = {from->bytes, from->size};
    return sc__cluster_describe_bytes(own, from->name, text, &c->description);
}

sc_status sc_cluster_parse(
    sc_context *ctx, const char *name, const void *bytes, size_t size, sc_cluster **out) {
    struct named_bytes from = {name, bytes, size};
    return sc__object_build(ctx,
                            sizeof **out,
                            build_cluster_from_bytes,
                            &from,
                            (void **)out);
}

void sc_cluster_free(sc_cluster *cluster) {
    sc__object_free(cluster);
}
const char *sc_cluster_name(const sc_cluster *cluster) {
    return cluster->description.cluster.name;
}
uint32_t sc_cluster_gpus(const sc_cluster *cluster) {
    return cluster->description.sized ? cluster->description.cluster.gpus : 0;
}

/* ---- plan ---- */

static sc_status unknown_option(struct sc_context *ctx, const char *name) {
    const char *names[256];
    unsigned n = 0;
    for (const struct sc__option *o = sc__model_options; o->name && n < 255; o++)
        if (o->in == SC__IN_PLAN)
            names[n++] = o->name;
    names[n] = NULL;
    const char *near = sc__nearest(name, names);
    char hint[128] = "";
    if (near)
        snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    return sc__fail(ctx, SC_USAGE, NULL, hint, "a plan has no option '%s'", name);
}

/* Hints are made in a context that goes at the end of the call. */
struct option_setting {
    struct sc_context *scratch;
    const struct sc__option *option;
    const char *value;
    sc_plan *plan;
};

static sc_status set_option(void *self) {
    const struct option_setting *s = self;
    return sc__option_take(s->scratch, s->option, s->value, s->plan);
}

sc_status sc_plan_set(sc_context *ctx, sc_plan *plan, const char *name, const char *value) {
    struct sc_context scratch;
    sc__clear_error(ctx);
    SC__TRY(sc__argument(ctx, plan, "plan"));
    SC__TRY(sc__argument(ctx, name, "name"));
    const struct sc__option *o = sc__option_find(sc__model_options, name);
    if (!o || o->in != SC__IN_PLAN)
        return unknown_option(ctx, name);
    if (plan->size < o->offset + sc__option_size(o))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "begin with sc_plan plan = SC_PLAN_INIT;",
                        "sc_plan.size is %zu: there is no field '%s'",
                        plan->size,
                        o->field);
    if (o->arg && (!value || !*value))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--%s needs a value (%s)",
                        o->name,
                        o->arg);
    sc__context_init(&scratch, NULL);
    sc_status status = sc__guarded(&scratch,
                                   set_option,
                                   &(struct option_setting){&scratch, o, value, plan});
    sc__error_move(ctx, &scratch);
    sc__context_end(&scratch);
    return status;
}
