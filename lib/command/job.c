#include "command/job.h"

#include "base/file.h"
#include "frontend/megatron_trace/replay.h"
#include "launch/read.h"
#include "model/read.h"

#include <string.h>

static void job_begin(struct sc_request *req, struct sc__job *job) {
    memset(job, 0, sizeof *job);
    job->settings = sc__settings(req);
}

static sc_status read_options(struct sc_request *req, struct sc__job *job) {
    const char *cluster = sc__option(req, "cluster");
    SC__TRY(sc__options_read(&job->settings, &job->options));
    if (!cluster)
        return SC_OK;
    sc_status status = sc__cluster_describe(req->ctx, cluster, &job->cluster_given);
    return sc__job_name_cluster(req, cluster, status);
}

/* The size of the cluster where the description names one. */
static uint32_t job_gpus(const struct sc__job *job) {
    return job->cluster_given.sized ? job->cluster_given.cluster.gpus : 0;
}

static struct sc__evaluation_input job_input(struct sc_request *req, struct sc__job *job) {
    return (struct sc__evaluation_input){
        .cluster = sc__option(req, "cluster") ? &job->cluster_given : NULL,
        .options = &job->options,
        .engine = sc__settings(req),
        .plan_options = &job->settings,
    };
}

static sc_status read_inputs(struct sc_request *req, struct sc__job *job) {
    if (!req->input_count)
        return sc__usage(
            req,
            sc__format(
                &req->ctx->arena,
                "a file, or --model NAME (stepcast list models); see 'stepcast help %s'",
                req->command->name),
            "no input given, and no model");
    return sc__job_name_inputs(req,
                               sc__import(req->ctx,
                                          &job->settings,
                                          sc__option(req, "format"),
                                          req->inputs,
                                          req->input_count,
                                          &job->doc));
}

sc_status sc__job_read(struct sc_request *req, struct sc__job *job) {
    job_begin(req, job);
    return read_inputs(req, job);
}

static sc_status lower_inputs(struct sc_request *req, struct sc__job *job) {
    return sc__document_lower(req->ctx,
                              &job->settings,
                              &job->doc,
                              job_gpus(job),
                              &job->workload);
}

sc_status sc__job_lower(struct sc_request *req, struct sc__job *job) {
    SC__TRY(read_options(req, job));
    SC__TRY(lower_inputs(req, job));
    return sc__workload_change(req->ctx, &job->options, job->workload);
}

/* ---- launch scripts and configurations ---- */

/* Whether a file is one, by its name or its first bytes. */
static bool is_launch(struct sc_request *req, const char *path) {
    struct sc__input in;
    bool launch = sc__launch_named(path);
    if (launch || sc__path_is_stream(path) || sc__path_is_folder(path))
        return launch;
    if (sc__input_open(req->ctx, path, &in) != SC_OK) {
        sc__clear_error(req->ctx); /* whoever reads it says so */
        return false;
    }
    if (sc__input_fill_text(&in, 65536) == SC_OK)
        launch = sc__launch_begins((const char *)in.bytes + in.begin, in.end - in.begin);
    sc__clear_error(req->ctx);
    sc__input_close(&in);
    return launch;
}

/* --megatron-args, or an input that is no workload but says how one is launched. */
static const char *job_script(struct sc_request *req) {
    const char *given = sc__option(req, "megatron-args");
    if (given || req->input_count != 1 || sc__option(req, "format"))
        return given;
    return is_launch(req, req->inputs[0]) ? req->inputs[0] : NULL;
}

bool sc__job_launches(struct sc_request *req) {
    return req->input_count && job_script(req) == req->inputs[0];
}

/* ---- a model: --model, Megatron's flags, or a launch script that holds them ---- */

/* GPUs of a node; of the cluster that is taken where none is given, too. */
static sc_status
job_node_gpus(struct sc_request *req, const struct sc__job *job, uint32_t *out) {
    struct sc__cluster_description usual;
    const struct sc__cluster *cluster = &job->cluster_given.cluster;
    if (!sc__option(req, "cluster")) {
        const char *name = sc__cluster_usual(req->ctx, job->plan.gpu);
        SC__TRY(sc__cluster_describe(req->ctx, name, &usual));
        cluster = &usual.cluster;
    }
    *out = cluster->node_gpus;
    if (!*out || cluster->ideal)
        return sc__usage(req,
                         "give --gpus",
                         "--nodes: the cluster does not say how many GPUs a node has");
    return SC_OK;
}

/* --nodes, as the number of GPUs. */
static sc_status read_nodes(struct sc_request *req, struct sc__job *job) {
    struct sc__settings own = sc__settings(req);
    uint32_t nodes = 0;
    uint32_t node_gpus;
    SC__TRY(sc__setting_u32(&own, "nodes", 1, &nodes));
    if (!nodes)
        return SC_OK;
    SC__TRY(job_node_gpus(req, job, &node_gpus));
    uint64_t gpus = (uint64_t)nodes * node_gpus;
    if (gpus > UINT32_MAX)
        return sc__usage(req, NULL, "--nodes %u is too large", nodes);
    if (job->plan.gpus && job->plan.gpus != gpus)
        return sc__usage(req,
                         "give one of them",
                         "--nodes %u of %u GPUs contradicts --gpus %u",
                         nodes,
                         node_gpus,
                         job->plan.gpus);
    job->plan.gpus = (uint32_t)gpus;
    return SC_OK;
}

/* --hosts on the command line counts where nothing else says how many GPUs there are. */
static void note_idle_hosts(struct sc_request *req, const struct sc__job *job) {
    const struct sc__cluster_description *c = &job->cluster_given;
    const char *says = sc__option(req, "gpus")    ? "--gpus says"
                       : sc__option(req, "nodes") ? "--nodes says"
                       : job->plan.dp             ? "--dp says"
                       : job_gpus(job)            ? "the cluster says"
                                                  : NULL;
    if (!sc__option(req, "hosts"))
        return;
    if (says)
        sc__note(req->ctx,
                 "option-unused",
                 "--hosts has no effect: %s how many GPUs there are",
                 says);
    else if (sc__option(req, "cluster") && c->cluster.ideal)
        sc__note(req->ctx, "option-unused", "--hosts has no effect: the cluster has none");
}

/* --software auto: a launch script may name its container or its version. */
static sc_status job_software(struct sc_request *req, struct sc__job *job) {
    const char *script = job_script(req);
    const struct sc__software *found;
    struct sc__str text = {"", 0};
    if (!job->plan.software || strcmp(job->plan.software, "auto"))
        return SC_OK;
    if (script)
        SC__TRY(sc__read_all(req->ctx, script, (size_t)1 << 20, &text));
    SC__TRY(sc__software_find(req->ctx, "auto", text, &found));
    job->plan.software = found ? found->name : NULL;
    if (found)
        sc__note(req->ctx,
                 "software-found",
                 "%s names its software: %s (%s)",
                 script,
                 found->name,
                 found->title);
    return SC_OK;
}

sc_status sc__job_model(struct sc_request *req, struct sc__job *job, bool *given) {
    struct sc__model *model = SC__NEW(&req->ctx->arena, struct sc__model);
    const char *script = job_script(req);
    struct sc__settings own = job->settings;
    if (script)
        SC__TRY(sc__launch_read(req->ctx, script, sc__model_options, &own, &job->settings));
    SC__TRY(sc__job_name_model(req,
                               sc__model_settings(req->ctx, &job->settings, model, given)));
    if (!*given && script)
        return sc__usage(req,
                         "name it with --model (stepcast list models)",
                         "%s says how, and not what model is trained",
                         script);
    if (!*given)
        return SC_OK;
    job->model = model;
    SC__TRY(sc__plan_read(&job->settings, &job->plan));
    if (req->command->ignores_memory)
        job->plan.ignore_memory = SC_ON;
    /* a cluster of a given size is filled, whatever the script launches */
    if (script && job_gpus(job) && !sc__option(req, "gpus"))
        job->plan.gpus = 0;
    SC__TRY(job_software(req, job));
    SC__TRY(read_nodes(req, job));
    note_idle_hosts(req, job);
    SC__TRY(sc__evaluation_hosts(req->ctx,
                                 sc__option(req, "cluster") ? &job->cluster_given : NULL,
                                 &job->plan));
    if (!script || job->plan.gpus || job->plan.dp || job_gpus(job))
        return SC_OK;
    return sc__setting_u32(&job->settings, "fewest-gpus", 1, &job->plan.gpus);
}

/* ---- all of it ---- */

sc_status sc__job_load(struct sc_request *req, struct sc__job *job) {
    bool model = false;
    const char *name = sc__option(req, "model");
    bool launch = sc__job_launches(req);
    if (name && req->input_count && !launch)
        return sc__usage(req,
                         "give one of them",
                         "both an input (%s) and --model %s say what is trained",
                         req->inputs[0],
                         name);
    job_begin(req, job);
    SC__TRY(read_options(req, job));
    job->ev = SC__NEW(&req->ctx->arena, struct sc__evaluation);
    struct sc__evaluation_input in = job_input(req, job);
    if (!req->input_count || launch)
        SC__TRY(sc__job_model(req, job, &model));
    if (model) {
        SC__TRY(sc__job_auto_plan(req, job));
        SC__TRY(sc__evaluation_model(req->ctx, &in, job->model, &job->plan, job->ev));
        job->workload = job->ev->workload;
        return SC_OK;
    }
    if (sc__option(req, "plan"))
        sc__note(req->ctx, "option-unused", "--plan has no effect: the input says its own");
    SC__TRY(read_inputs(req, job));
    SC__TRY(lower_inputs(req, job));
    return sc__evaluation_workload(req->ctx, &in, job->workload, job->ev);
}

sc_status sc__job_measured(struct sc_request *req, struct sc__job *job) {
    if (job->doc.measured || !job->doc.traces)
        return SC_OK;
    return sc__replay_measured(req->ctx,
                               &job->settings,
                               job->doc.traces,
                               &job->doc.measured);
}

static bool in_table(const struct sc__option *table, const struct sc__option *o) {
    for (; table && table->name; table++)
        if (table == o)
            return true;
    return false;
}

/* Options of jobs, not those that a command has beside them. */
static bool is_job_option(const struct sc__option *o) {
    static const struct sc__option *const tables[] = {SC__JOB_TABLES, NULL};
    for (const struct sc__option *const *t = tables; *t; t++)
        if (in_table(*t, o))
            return true;
    for (const struct sc__reader *const *r = sc__readers; *r; r++)
        if (in_table((*r)->options, o))
            return true;
    return false;
}

/* What is sent in a step. */
struct traffic {
    bool collectives;
    bool exchanges; /* all-to-alls */
    bool messages;  /* to one peer, those of collectives too */
};

static void add_traffic(const struct sc__workload *w, uint32_t block, struct traffic *t) {
    const struct sc__op *ops = &w->ops[w->blocks[block].first_op];
    for (uint32_t i = 0; i < w->blocks[block].ops; i++) {
        bool collective = ops[i].kind == SC__OP_COLLECTIVE;
        t->collectives |= collective;
        t->exchanges |= collective && ops[i].coll == SC__ALLTOALL;
        t->messages |=
            ops[i].kind == SC__OP_SEND || (collective && sc__coll_direct(ops[i].coll));
    }
}

/* Of blocks that are called: a plan may have others. */
static struct traffic find_traffic(struct sc__arena *arena, const struct sc__workload *w) {
    struct traffic t = {0};
    bool *seen = SC__NEW_ARRAY(arena, bool, w->block_count + 1);
    for (uint32_t i = 0; i < w->call_count; i++) {
        if (!seen[w->calls[i].block])
            add_traffic(w, w->calls[i].block, &t);
        seen[w->calls[i].block] = true;
    }
    return t;
}

void sc__note_idle_options(struct sc_request *req,
                           const struct sc__idle_option *list,
                           size_t count) {
    for (size_t i = 0; i < count; i++)
        if (list[i].idle && sc__option(req, list[i].name))
            sc__note(req->ctx,
                     "option-unused",
                     "--%s has no effect: %s",
                     list[i].name,
                     list[i].because);
}

/* Options about what is sent, where nothing of the kind is. */
static void note_traffic(struct sc_request *req, const struct sc__workload *w) {
    struct traffic t = find_traffic(&req->ctx->arena, w);
    bool silent = !t.collectives && !t.messages;
    bool asked = t.collectives && sc__option(req, "algo"); /* maybe one of messages */
    const struct sc__idle_option list[] = {
        {"two-level", !t.exchanges, "there is no all-to-all"},
        {"no-pxn", !t.exchanges, "there is no all-to-all"},
        {"net-channels", !t.messages && !asked, "there is no all-to-all, and no message"},
        {"proto", !t.collectives, "there is no collective"},
        {"by-tuner", !t.collectives, "there is no collective"},
        {"gpus-per-process", !t.collectives, "there is no collective"},
        {"comm-sm-tax", silent, "nothing is sent"},
        {"order", silent, "nothing is sent"},
    };
    sc__note_idle_options(req, list, sizeof list / sizeof *list);
}

const char *sc__job_first_unused(const struct sc_request *req) {
    for (uint32_t k = 0; k < req->value_count; k++)
        if (!req->values[k].used && is_job_option(req->values[k].option))
            return req->values[k].option->name;
    return NULL;
}

static void note_unused(struct sc_request *req, const char *because) {
    for (uint32_t k = 0; k < req->value_count; k++) {
        const struct sc__option *o = req->values[k].option;
        if (req->values[k].used || !is_job_option(o))
            continue;
        const char *why = because                           ? because
                          : in_table(sc__flow_options, o)   ? " without --net flow"
                          : in_table(sc__packet_options, o) ? " without --net packet"
                                                            : " on this input";
        sc__note(req->ctx, "option-unused", "--%s has no effect%s", o->name, why);
    }
}

/* An option that nobody has asked for by now says nothing about this input. */
void sc__job_note_unused(struct sc_request *req) {
    note_unused(req, NULL);
}

void sc__job_note_in_vain(struct sc_request *req, const char *because) {
    note_unused(req, sc__format(&req->ctx->arena, ": %s", because));
}

void sc__job_not_simulated(struct sc_request *req) {
    for (uint32_t k = 0; k < req->value_count; k++) {
        const char *name = req->values[k].option->name;
        if (!strcmp(name, "net") || !strcmp(name, "comm-sm-tax"))
            req->values[k].used = false;
    }
}

sc_status sc__job_run(struct sc_request *req, struct sc__job *job, bool keep_timeline) {
    SC__TRY(sc__job_load(req, job));
    SC__TRY(sc__evaluation_run(req->ctx, job->ev, keep_timeline));
    sc__job_note_unused(req);
    note_traffic(req, job->workload);
    sc__result_take_notes(req->ctx, &job->ev->result);
    sc__result_set_files(&job->ev->result, job->doc.files, job->doc.file_count);
    sc__result_set_command(&job->ev->result, req->argv, req->argc);
    return SC_OK;
}

sc_status sc__job_is_result(struct sc_request *req, const char **path, bool *result) {
    struct sc__input in;
    bool stream = sc__path_is_stream(*path);
    SC__TRY(sc__input_open(req->ctx, *path, &in));
    sc_status status = sc__input_fill_text(&in, 4096);
    struct sc__str head = {(const char *)in.bytes + in.begin, in.end - in.begin};
    *result = status == SC_OK && head.n && *head.p == '{' &&
              sc__find_word(head.p, head.n, "\"stepcast/result/");
    if (status == SC_OK && stream)
        status = *result ? sc__spool(&in, path) : sc__import_keep(&in, path);
    sc__input_close(&in);
    return status;
}

sc_status sc__job_named_size(struct sc_request *req, uint32_t *gpus) {
    struct sc__cluster_description d;
    const char *text = sc__option(req, "cluster");
    *gpus = 0;
    if (!text)
        return SC_OK;
    SC__TRY(sc__cluster_describe(req->ctx, text, &d));
    *gpus = d.sized ? d.cluster.gpus : 0;
    return SC_OK;
}

sc_status sc__sink_open(struct sc_request *req, const char *path, struct sc__sink *sink) {
    *sink = (struct sc__sink){.to = &req->out};
    if (!strcmp(path, "-"))
        return SC_OK;
    SC__TRY(sc__output_open(req->ctx, path, &sink->file));
    sink->to = &sink->file->buffer;
    return SC_OK;
}

sc_status sc__sink_end(struct sc__sink *sink, sc_status status) {
    return sink->file ? sc__output_end(sink->file, status) : status;
}

sc_status
sc__job_output(struct sc_request *req, const char *option, const struct sc__buffer *b) {
    const char *path = sc__option(req, option);
    if (strcmp(path, "-"))
        return sc__write_file(req->ctx, path, b->text ? b->text : "", b->size);
    sc__put(&req->out, b->text ? b->text : "", b->size);
    return SC_OK;
}
