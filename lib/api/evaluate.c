/* workload, evaluation: the public calls. */
#include "api/object.h"
#include "base/argument.h"
#include "frontend/neusight/operator_lower.h"
#include "frontend/torch_profiler/profiler_lower.h"
#include "lower/layers.h"
#include "network/flow/flow_cluster.h"
#include "network/packet/packet.h"

#include <string.h>

/* ---- what the caller filled, in memory of the object ---- */

static const char *copy_text(struct sc_context *own, const char *text) {
    return text ? sc__strdup(&own->arena, text) : NULL;
}

static const char *const *copy_list(struct sc_context *own, const char *const *list) {
    size_t n = 0;
    while (list && list[n])
        n++;
    const char **copy = SC__NEW_ARRAY(&own->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = sc__strdup(&own->arena, list[i]);
    return n ? copy : NULL;
}

static struct sc__setting_list
copy_settings(struct sc_context *own, const sc_setting *from, size_t count) {
    sc_setting *copy = SC__NEW_ARRAY(&own->arena, sc_setting, count + 1);
    for (size_t i = 0; i < count; i++)
        copy[i] = (sc_setting){copy_text(own, from[i].name ? from[i].name : ""),
                               copy_text(own, from[i].value)};
    return (struct sc__setting_list){copy, count};
}

/* Settings of the caller, and which of them somebody has asked for. */
struct asked_settings {
    struct sc__setting_list list;
    bool *asked;
    const sc_cluster *cluster; /* says the GPU where they do not; or NULL */
};

static struct asked_settings
ask_settings(struct sc_context *own, const sc_setting *from, size_t count) {
    return (struct asked_settings){.list = copy_settings(own, from, count),
                                   .asked = SC__NEW_ARRAY(&own->arena, bool, count + 1)};
}

static const char *nth_asked(const void *self, const char *name, unsigned i) {
    const struct asked_settings *s = self;
    const char *nth = NULL;
    unsigned seen = 0;
    for (size_t k = 0; k < s->list.count; k++) {
        const char *value = s->list.items[k].value;
        if (strcmp(s->list.items[k].name, name) != 0)
            continue;
        s->asked[k] = true;
        if (seen++ == i)
            nth = value ? value : "";
    }
    bool usual = !nth && !i && s->cluster && !strcmp(name, "gpu");
    return usual ? s->cluster->description.cluster.gpu : nth;
}

/* An option that nobody has asked for by now says nothing about this job. */
static void note_unasked(struct sc_context *own, const struct asked_settings *s) {
    for (size_t i = 0; i < s->list.count; i++)
        if (!s->asked[i])
            sc__note(own,
                     "option-unused",
                     "'%s' has no effect on this input or engine",
                     s->list.items[i].name);
}

/* Options from a caller with an older header end early: what they lack is as usual. */
static sc_status
copy_options(struct sc_context *own, const sc_options *given, sc_options *out) {
    *out = (sc_options)SC_OPTIONS_INIT;
    if (!given)
        return SC_OK;
    if (given->size < offsetof(sc_options, net) || given->size > 16 * sizeof *out)
        return sc__fail(own,
                        SC_USAGE,
                        NULL,
                        "begin with sc_options options = SC_OPTIONS_INIT;",
                        "sc_options.size is %zu",
                        given->size);
    memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
    out->size = sizeof *out;
    out->net = copy_text(own, out->net);
    out->algo = copy_text(own, out->algo);
    out->proto = copy_text(own, out->proto);
    out->rank_file = copy_text(own, out->rank_file);
    out->rank_order = copy_text(own, out->rank_order);
    out->slow = copy_list(own, out->slow);
    out->scale = copy_list(own, out->scale);
    struct sc__setting_list net =
        copy_settings(own, out->net_settings, out->net_setting_count);
    out->net_settings = net.items;
    return SC_OK;
}

/* The same for the options of engines. */
static sc_status check_engine_names(struct sc_context *own, const sc_options *o) {
    for (size_t i = 0; i < o->net_setting_count; i++) {
        const char *name = o->net_settings[i].name;
        if (!sc__option_find(sc__flow_options, name) &&
            !sc__option_find(sc__packet_options, name) &&
            !sc__option_find(sc__astra_options, name) && strcmp(name, "loggops") &&
            strcmp(name, "compat"))
            return sc__fail(own,
                            SC_USAGE,
                            NULL,
                            NULL,
                            "sc_options.net_settings: no engine has an option '%s'",
                            name);
    }
    return SC_OK;
}

/* Enumerations and numbers, those that no option sets too. */
static sc_status check_fields(struct sc_context *own, const sc_options *o) {
    const struct {
        const char *name;
        sc_toggle value;
    } toggles[] = {{"timeline", o->timeline}, {"what_if", o->what_if}};
    for (const struct sc__option *const *t = sc__options_tables; *t; t++)
        SC__TRY(sc__options_check(own, *t, SC__IN_OPTIONS, "sc_options", o));
    for (size_t i = 0; i < sizeof toggles / sizeof *toggles; i++)
        if ((unsigned)toggles[i].value > SC_OFF)
            return sc__fail(own,
                            SC_USAGE,
                            NULL,
                            "SC_AUTO, SC_ON or SC_OFF",
                            "sc_options.%s is %d, which is none of its values",
                            toggles[i].name,
                            (int)toggles[i].value);
    return SC_OK;
}

static sc_status check_options(struct sc_context *own, const sc_options *o) {
    SC__TRY(check_fields(own, o));
    SC__TRY(check_engine_names(own, o));
    if (!(o->gpu_speedup >= 0))
        return sc__fail(own,
                        SC_USAGE,
                        NULL,
                        "2 is twice as fast",
                        "sc_options.gpu_speedup is %g",
                        o->gpu_speedup);
    if (o->copies != 0 && !(o->copies >= 1))
        return sc__fail(own, SC_USAGE, NULL, NULL, "sc_options.copies is %g", o->copies);
    if (o->comm_sm_tax != SC_NO_TAX && !(o->comm_sm_tax >= 0 && o->comm_sm_tax < 1))
        return sc__fail(own,
                        SC_USAGE,
                        NULL,
                        "a share from 0 to 1, or SC_NO_TAX",
                        "sc_options.comm_sm_tax is %g",
                        o->comm_sm_tax);
    return SC_OK;
}

/* An evaluation under way: what it is made from, in the memory of its context. */
struct making {
    sc_options options;
    struct asked_settings engine;
    struct sc__evaluation ev;
};

static sc_status
begin_making(struct sc_context *own, const sc_options *options, struct making **out) {
    struct making *m = *out = SC__NEW(&own->arena, struct making);
    SC__TRY(copy_options(own, options, &m->options));
    SC__TRY(check_options(own, &m->options));
    m->engine = ask_settings(own, m->options.net_settings, m->options.net_setting_count);
    return SC_OK;
}

static struct sc__evaluation_input
making_input(struct sc_context *own, const struct making *m, const sc_cluster *cluster) {
    return (struct sc__evaluation_input){
        .cluster = cluster ? &cluster->description : NULL,
        .options = &m->options,
        .engine = {.nth = nth_asked, .self = &m->engine, .ctx = own},
    };
}

/* The simulation, and what was asked for besides. */
static sc_status run_making(struct sc_context *own, struct making *m) {
    bool timeline = m->options.timeline == SC_ON;
    SC__TRY(sc__evaluation_run(own, &m->ev, timeline));
    note_unasked(own, &m->engine);
    sc__result_take_notes(own, &m->ev.result);
    if (timeline)
        sc__result_add_path(&m->ev.result);
    return m->options.what_if == SC_ON ? sc__evaluation_whatif(own, &m->ev) : SC_OK;
}

/* The result is made: it owns what it says, and the rest goes. */
static void end_making(struct sc_context *own, const struct making *m, sc_result *r) {
    struct sc__arena *arena = &r->result.arena;
    r->result = m->ev.result;
    sc_plan *s = &r->settings;
    s->gpu = s->gpu ? sc__strdup(arena, s->gpu) : NULL;
    s->kernel_times = s->kernel_times ? sc__strdup(arena, s->kernel_times) : NULL;
    s->step_constants = s->step_constants ? sc__strdup(arena, s->step_constants) : NULL;
    s->software = s->software ? sc__strdup(arena, s->software) : NULL;
    sc__context_end(own);
    sc__context_init(own, NULL);
}

/* ---- model, plan, cluster ---- */

struct evaluate_arguments {
    const sc_model *model;
    const sc_plan *plan;
    const sc_cluster *cluster;
    const sc_options *options;
};

static sc_status lower_plan(struct sc_context *own,
                            const struct evaluate_arguments *a,
                            struct making **out) {
    SC__TRY(sc__argument(own, a->model, "model"));
    SC__TRY(sc__argument(own, a->plan, "plan"));
    SC__TRY(begin_making(own, a->options, out));
    sc__notes_copy(own, &a->model->own);
    if (a->cluster)
        sc__notes_copy(own, &a->cluster->own);
    const struct sc__evaluation_input in = making_input(own, *out, a->cluster);
    return sc__evaluation_model(own, &in, &a->model->model, a->plan, &(*out)->ev);
}

static sc_status
build_evaluation(struct sc_context *own, void *object, const void *arguments) {
    struct making *m;
    sc_result *r = object;
    SC__TRY(lower_plan(own, arguments, &m));
    SC__TRY(run_making(own, m));
    r->from_model = true;
    r->settings = m->ev.settings;
    end_making(own, m, r);
    return SC_OK;
}

sc_status sc_evaluate(sc_context *ctx,
                      const sc_model *model,
                      const sc_plan *plan,
                      const sc_cluster *cluster,
                      const sc_options *options,
                      sc_result **out) {
    const struct evaluate_arguments a = {model, plan, cluster, options};
    return sc__object_build(ctx, sizeof **out, build_evaluation, &a, (void **)out);
}

void sc_result_free(sc_result *result) {
    if (result)
        sc__result_free(&result->result);
    sc__object_free(result);
}

/* ---- workloads ---- */

struct workload_arguments {
    const char *const *paths;
    size_t path_count;
    const char *name; /* of bytes, where there are no paths */
    const void *bytes;
    size_t size;
    struct sc__setting_list settings;
    const sc_cluster *cluster;
};

static sc_status check_workload_arguments(struct sc_context *own,
                                          const struct workload_arguments *a) {
    SC__TRY(sc__argument_array(own, a->settings.items, a->settings.count, "settings"));
    SC__TRY(sc__argument_array(own, a->paths, a->path_count, "paths"));
    for (size_t i = 0; i < a->path_count; i++)
        SC__TRY(sc__argument(own, a->paths[i], "paths"));
    if (a->path_count)
        return SC_OK;
    SC__TRY(sc__argument(own, a->name, "name"));
    return sc__argument_array(own, a->bytes, a->size, "bytes");
}

/* A name that no format knows would be ignored. */
static sc_status check_format_names(struct sc_context *own,
                                    const struct sc__setting_list *list) {
    static const struct sc__option *const tables[] = {sc__layers_options,
                                                      sc__operators_options,
                                                      sc__profile_options,
                                                      sc__chakra_options,
                                                      sc__kineto_options,
                                                      sc__capture_options,
                                                      sc__astra_options,
                                                      sc__job_options,
                                                      NULL};
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->items[i].name;
        bool known = !strcmp(name, "gpu");
        for (const struct sc__option *const *t = tables; *t && !known; t++)
            known = sc__option_find(*t, name) != NULL;
        for (const struct sc__reader *const *r = sc__readers; *r && !known; r++)
            known = (*r)->options && sc__option_find((*r)->options, name);
        if (!known)
            return sc__fail(own,
                            SC_USAGE,
                            NULL,
                            "the formats' options are those of 'stepcast help run'",
                            "no format has an option '%s'",
                            name);
    }
    return SC_OK;
}

static sc_status
build_workload(struct sc_context *own, void *object, const void *arguments) {
    sc_workload *w = object;
    const struct workload_arguments *a = arguments;
    const sc_cluster *cluster = a->cluster;
    uint32_t gpus = cluster ? sc_cluster_gpus(cluster) : 0;
    const char *path = NULL;
    struct asked_settings *asked = SC__NEW(&own->arena, struct asked_settings);
    SC__TRY(check_workload_arguments(own, a));
    *asked = ask_settings(own, a->settings.items, a->settings.count);
    SC__TRY(check_format_names(own, &asked->list));
    asked->cluster = cluster;
    struct sc__settings s = {.nth = nth_asked, .self = asked, .ctx = own};
    const char *const *paths = a->paths;
    size_t count = a->path_count;
    if (!paths) {
        SC__TRY(sc__spool_bytes(own, a->name, a->bytes, a->size, &path));
        paths = &path;
        count = 1;
    }
    const char **copy = SC__NEW_ARRAY(&own->arena, const char *, count);
    for (size_t i = 0; i < count; i++)
        copy[i] = sc__strdup(&own->arena, paths[i]);
    SC__TRY(sc__import(own, &s, sc__setting(&s, "format"), copy, (uint32_t)count, &w->doc));
    SC__TRY(sc__document_lower(own, &s, &w->doc, gpus, &w->workload));
    note_unasked(own, asked);
    return SC_OK;
}

sc_status sc_workload_load(sc_context *ctx,
                           const char *const *paths,
                           size_t path_count,
                           const sc_setting *settings,
                           size_t setting_count,
                           const sc_cluster *cluster,
                           sc_workload **out) {
    const struct workload_arguments a = {.paths = paths,
                                         .path_count = path_count,
                                         .settings = {settings, setting_count},
                                         .cluster = cluster};
    if (!path_count) {
        *out = NULL;
        return sc__fail(ctx, SC_USAGE, NULL, NULL, "no input given");
    }
    return sc__object_build(ctx, sizeof **out, build_workload, &a, (void **)out);
}

sc_status sc_workload_parse(sc_context *ctx,
                            const char *name,
                            const void *bytes,
                            size_t size,
                            const sc_setting *settings,
                            size_t setting_count,
                            const sc_cluster *cluster,
                            sc_workload **out) {
    const struct workload_arguments a = {.name = name,
                                         .bytes = bytes,
                                         .size = size,
                                         .settings = {settings, setting_count},
                                         .cluster = cluster};
    return sc__object_build(ctx, sizeof **out, build_workload, &a, (void **)out);
}

static sc_status
build_lowered(struct sc_context *own, void *object, const void *arguments) {
    sc_workload *w = object;
    struct making *m;
    SC__TRY(lower_plan(own, arguments, &m));
    w->workload = m->ev.workload;
    w->from_model = true;
    w->settings = m->ev.settings;
    w->settings.gpu = copy_text(own, w->settings.gpu);
    w->settings.kernel_times = copy_text(own, w->settings.kernel_times);
    w->settings.step_constants = copy_text(own, w->settings.step_constants);
    return SC_OK;
}

sc_status sc_workload_lower(sc_context *ctx,
                            const sc_model *model,
                            const sc_plan *plan,
                            const sc_cluster *cluster,
                            const sc_options *options,
                            sc_workload **out) {
    const struct evaluate_arguments a = {model, plan, cluster, options};
    return sc__object_build(ctx, sizeof **out, build_lowered, &a, (void **)out);
}

void sc_workload_free(sc_workload *workload) {
    sc__object_free(workload);
}
uint32_t sc_workload_ranks(const sc_workload *workload) {
    return sc__mesh_ranks(&workload->workload->mesh);
}
const char *sc_workload_format(const sc_workload *workload) {
    return workload->workload->format;
}

/* ---- simulation ---- */

struct simulate_arguments {
    const sc_workload *workload;
    const sc_cluster *cluster;
    const sc_options *options;
};

static void *
copy_array(struct sc_context *own, const void *from, size_t count, size_t size) {
    if (!from)
        return NULL;
    void *copy = sc__alloc_array(&own->arena, count, size);
    return count ? memcpy(copy, from, count * size) : copy;
}

/* A workload whose costs, order and classes may be changed; what is not changed
 * is shared. */
static struct sc__workload *changeable(struct sc_context *own,
                                       const struct sc__workload *from) {
    struct sc__workload *w = SC__NEW(&own->arena, struct sc__workload);
    *w = *from;
    w->arena = &own->arena;
    w->ops = copy_array(own, from->ops, from->op_count, sizeof *from->ops);
    w->op_capacity = w->op_count;
    w->classes = copy_array(own, from->classes, from->class_count, sizeof *from->classes);
    w->class_capacity = w->class_count;
    return w;
}

static bool changes(const sc_options *o) {
    return o->rank_order || o->slow || o->scale ||
           (o->gpu_speedup > 0 && o->gpu_speedup != 1);
}

static sc_status
build_simulation(struct sc_context *own, void *object, const void *arguments) {
    const struct simulate_arguments *a = arguments;
    const sc_workload *from = a->workload;
    struct making *m;
    sc_result *r = object;
    SC__TRY(sc__argument(own, from, "workload"));
    SC__TRY(begin_making(own, a->options, &m));
    sc__notes_copy(own, &from->own);
    if (a->cluster)
        sc__notes_copy(own, &a->cluster->own);
    const struct sc__evaluation_input in = making_input(own, m, a->cluster);
    struct sc__workload *w =
        changes(&m->options) ? changeable(own, from->workload) : from->workload;
    SC__TRY(sc__evaluation_workload(own, &in, w, &m->ev));
    SC__TRY(run_making(own, m));
    sc__result_set_files(&m->ev.result, from->doc.files, from->doc.file_count);
    r->from_model = from->from_model;
    r->settings = from->settings;
    end_making(own, m, r);
    return SC_OK;
}

sc_status sc_simulate(sc_context *ctx,
                      const sc_workload *workload,
                      const sc_cluster *cluster,
                      const sc_options *options,
                      sc_result **out) {
    const struct simulate_arguments a = {workload, cluster, options};
    return sc__object_build(ctx, sizeof **out, build_simulation, &a, (void **)out);
}
