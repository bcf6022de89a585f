/* run: simulate a step. */
#include "command/changes.h"
#include "command/job.h"
#include "command/job_file.h"
#include "command/jobs.h"
#include "command/pictures.h"
#include "command/training.h"
#include "report/write.h"

#include <string.h>

static const struct sc__choice tools[] = {{"simai", 0}, {"astra", 0}, {0}};

static const struct sc__choice plan_words[] = {{"auto", 0}, {0}};

static const struct sc__option options[] = {
    {"plan",
     0,
     "auto",
     NULL,
     "Plan",
     "auto: the fastest plan of those that the other options leave open (stepcast plans)",
     0,
     .choices = plan_words},
    {"json",
     0,
     "FILE",
     NULL,
     "Output",
     "the result as JSON; - for standard output and nothing else there",
     0},
    {"job",
     0,
     "FILE",
     NULL,
     "Output",
     "the job file that repeats this run: stepcast run FILE",
     0},
    {"csv",
     0,
     "FILE",
     NULL,
     "Output",
     "one line per row: compute, communication and exposed, by phase",
     0},
    {"csv-simai",
     0,
     "FILE",
     NULL,
     "Output",
     "EndToEnd.csv as SimAI-Analytical writes it",
     0},
    {"amdahl",
     0,
     NULL,
     NULL,
     "Output",
     "what speeding up each part would bring (always for profiles)",
     0},
    {"explain",
     0,
     NULL,
     NULL,
     "Output",
     "what the software's profile set, and what each of it costs",
     0},
    {"compat",
     0,
     "TOOL",
     NULL,
     "Compatibility",
     "simai: also say what SimAI-Analytical would answer; astra: count as ASTRA-sim",
     0,
     .choices = tools},
    {"simai", 0, "LIST", "nv=360,nic=48.5,nics=8,gps=8", "Compatibility", "its inputs", 0},
    {0}};

static const struct sc__option *const tables[] = {SC__JOB_TABLES,
                                                  options,
                                                  sc__training_options,
                                                  sc__jobs_options,
                                                  sc__picture_options,
                                                  NULL};

static sc_status
fill_simai(struct sc_request *req, const struct sc__job *job, struct sc__simai *s) {
    const struct sc__mesh *m = &job->workload->mesh;
    const struct sc__layers *l = job->doc.layers;
    if (!l || !l->policy)
        return sc__usage(req,
                         "--csv has the like of any step",
                         "--%s: SimAI reads layer workloads; this input is %s",
                         sc__flag(req, "compat") ? "compat simai" : "csv-simai",
                         job->doc.reader ? job->doc.reader->title : "a model");
    SC__TRY(sc__simai_parse(req->ctx, sc__option(req, "simai"), s));
    s->gpus = sc__mesh_ranks(m);
    s->tp = m->tp;
    s->ep = m->ep;
    s->pp = m->pp;
    s->ga = l->ga ? l->ga : 1;
    s->vpp = l->vpp;
    return sc__setting_u32(&job->settings, "vpp", 1, &s->vpp);
}

static sc_status write_compat(struct sc_request *req, struct sc__job *job) {
    static const char *const words[] = {"simai", "astra", NULL};
    unsigned word = 0;
    struct sc__simai s;
    struct sc__buffer b;
    bool csv = sc__flag(req, "csv-simai");
    if (!csv && !sc__flag(req, "compat"))
        return SC_OK;
    SC__TRY(sc__setting_word(&job->settings, "compat", words, &word));
    if (word == 1 && !csv)
        return SC_OK; /* the network engine's matter */
    SC__TRY(fill_simai(req, job, &s));
    sc__simai_total(&s, job->doc.layers, &job->ev->result.compat);
    if (!csv)
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    sc__write_simai_csv(&s,
                        job->doc.layers,
                        &job->ev->result.compat,
                        job->doc.files[0],
                        &b);
    return sc__job_output(req, "csv-simai", &b);
}

static sc_status write_outputs(struct sc_request *req, struct sc__job *job) {
    struct sc__buffer b;
    if (sc__flag(req, "json")) {
        sc__buffer_init(&b, &req->ctx->arena);
        sc__write_json(&job->ev->result, sc__pictures_sections(req), &b);
        SC__TRY(sc__job_output(req, "json", &b));
    }
    if (sc__flag(req, "job")) {
        sc__buffer_init(&b, &req->ctx->arena);
        sc__job_file_write(req, &b);
        SC__TRY(sc__job_output(req, "job", &b));
    }
    if (sc__flag(req, "csv")) {
        sc__buffer_init(&b, &req->ctx->arena);
        sc__write_csv(&job->ev->result, &b);
        SC__TRY(sc__job_output(req, "csv", &b));
    }
    return SC_OK;
}

/* Options that say how another one is meant, and what only standard output can
 * show: alone they would be ignored. */
static sc_status check_pairs(struct sc_request *req) {
    if (sc__flag(req, "simai") && !sc__flag(req, "compat") && !sc__flag(req, "csv-simai"))
        return sc__usage(req,
                         "give --compat simai or --csv-simai FILE too",
                         "--simai says what SimAI is given");
    if (sc__flag(req, "timeline") && !sc__flag(req, "json"))
        return sc__usage(req,
                         "give --json FILE too",
                         "--timeline says what goes into the JSON");
    if (sc__flag(req, "trace-ranks") && !sc__flag(req, "trace") && !sc__flag(req, "hta"))
        return sc__usage(req,
                         "give --trace FILE or --hta DIR too",
                         "--trace-ranks says what goes into traces");
    if (sc__flag(req, "gantt") && sc__stdout_taken(req))
        return sc__usage(
            req,
            "write the other output to a file",
            "--gantt draws on standard output, which another output has for itself");
    return SC_OK;
}

static sc_status write_result(struct sc_request *req, struct sc__job *job) {
    SC__TRY(write_compat(req, job));
    bool profile = !strcmp(job->workload->format, "profiler-table");
    if (profile || sc__flag(req, "amdahl"))
        sc__result_add_shares(&job->ev->result, job->workload);
    SC__TRY(sc__pictures_prepare(req, job));
    if (sc__flag(req, "explain"))
        SC__TRY(sc__evaluation_explain(req->ctx, job->ev, job->model, &job->plan));
    SC__TRY(write_outputs(req, job));
    SC__TRY(sc__pictures_write(req, job));
    if (sc__stdout_taken(req))
        return SC_OK;
    req->out.for_people = true;
    sc__write_text(&job->ev->result, req->terminal, req->width, &req->out);
    if (job->ev->result.software)
        sc__write_software(&job->ev->result, &req->out);
    sc__pictures_text(req, &job->ev->result);
    return SC_OK;
}

/* A trace or a table already ran; nothing is left that software could decide. */
static sc_status check_explain(struct sc_request *req, const struct sc__job *job) {
    if (!sc__flag(req, "explain") || job->model)
        return SC_OK;
    return sc__usage(req,
                     "give --model, or Megatron's flags",
                     "--explain says what the software's profile set for a model");
}

static sc_status run_execute(struct sc_request *req) {
    struct sc__job job;
    SC__TRY(check_pairs(req));
    if (sc__flag(req, "place"))
        return sc__jobs_run(req);
    bool timeline = sc__flag(req, "csv") || sc__pictures_wanted(req);
    SC__TRY(sc__job_suggest_plans(req, sc__job_run(req, &job, timeline)));
    sc__changes_note_links(req, &job);
    sc__result_take_notes(req->ctx, &job.ev->result);
    sc_status status = check_explain(req, &job);
    if (status == SC_OK)
        status = sc__training_add(req, &job);
    if (status == SC_OK)
        status = write_result(req, &job);
    sc__result_free(&job.ev->result);
    return status;
}

const struct sc__command sc__command_run = {
    .name = "run",
    .args = "INPUT…",
    .summary = "simulate a training step and say where the time goes",
    .text =
        "INPUT is a workload, trace or table of any known format, plain or .gz, or - for "
        "standard input. Without an\n"
        "input, --model or Megatron's flags say what is trained.",
    .options = tables,
    .inputs = true,
    .execute = run_execute};
