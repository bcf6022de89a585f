#include "command/pictures.h"

#include "report/gantt.h"
#include "report/page.h"
#include "report/trace.h"
#include "report/write.h"

#include <string.h>

#define GROUP "Pictures and traces"

/* A page has a what-if table of its own accord where simulating the step some
 * twenty times more takes no time to speak of. */
#define QUICK_EVENTS 100000

const struct sc__option sc__picture_options[] = {
    {"html", 0, "FILE", NULL, GROUP, "a report page: one file, opens in any browser", 0},
    {"trace",
     0,
     "FILE",
     NULL,
     GROUP,
     "timeline for Perfetto and chrome://tracing (.json or .json.gz)",
     0},
    {"trace-ranks",
     0,
     "LIST",
     "one of each class",
     GROUP,
     "ranks in traces: all, or numbers and ranges (0,8,16-31)",
     0},
    {"hta",
     0,
     "DIR",
     NULL,
     GROUP,
     "a trace per rank in torch.profiler's form, for HolisticTraceAnalysis",
     0},
    {"gantt",
     0,
     NULL,
     NULL,
     GROUP,
     "the pipeline as a picture in text, a line per stage",
     0},
    {"what-if",
     0,
     NULL,
     NULL,
     GROUP,
     "step time with each class of work at half and at no cost",
     0},
    {"timeline",
     0,
     NULL,
     NULL,
     GROUP,
     "with --json: the timeline too, for 'report' and 'compare'",
     0},
    {0}};

bool sc__pictures_wanted(const struct sc_request *req) {
    static const char *const names[] = {"html", "trace", "hta", "gantt", "timeline"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (sc__flag(req, names[i]))
            return true;
    return false;
}

static sc_status fresh_network(void *self,
                               struct sc_context *ctx,
                               const struct sc__workload *w,
                               struct sc__net *out) {
    return sc__evaluation_network(ctx, self, w, out);
}

static sc_status
what_if(struct sc_request *req, struct sc__job *job, struct sc__whatif *out) {
    struct sc__net_maker maker = {.make = fresh_network, .self = job->ev};
    return sc__whatif(req->ctx,
                      job->workload,
                      &maker,
                      &job->ev->sim_options,
                      job->ev->result.step,
                      out);
}

sc_status sc__pictures_extend(struct sc_request *req,
                              struct sc__job *job,
                              struct sc__buffer *document) {
    struct sc__whatif table = {0};
    struct sc__result shown = job->ev->result;
    if (!sc__flag(req, "timeline"))
        shown.timeline = NULL;
    if (sc__flag(req, "what-if"))
        SC__TRY(what_if(req, job, &table));
    sc__page_extend(req->ctx, &shown, &table, document);
    return SC_OK;
}

static sc_status write_page(struct sc_request *req, struct sc__job *job) {
    struct sc__buffer document;
    struct sc__buffer page;
    struct sc__whatif table = {0};
    const char *name = job->doc.file_count ? job->doc.files[0] : "step";
    sc__buffer_init(&document, &req->ctx->arena);
    sc__buffer_init(&page, &req->ctx->arena);
    if (sc__flag(req, "what-if") || job->ev->sim.events <= QUICK_EVENTS)
        SC__TRY(what_if(req, job, &table));
    sc__write_json(req->ctx, &job->ev->result, &document);
    sc__page_extend(req->ctx, &job->ev->result, &table, &document);
    SC__TRY(sc__page_html(req->ctx,
                          &(struct sc__str){document.text, document.size},
                          &name,
                          1,
                          &page));
    return sc__job_output(req, "html", &page);
}

sc_status sc__pictures_write(struct sc_request *req, struct sc__job *job) {
    const char *trace = sc__option(req, "trace");
    const char *hta = sc__option(req, "hta");
    struct sc__trace_ranks ranks;
    SC__TRY(
        sc__trace_ranks(req->ctx, job->workload, sc__option(req, "trace-ranks"), &ranks));
    if (trace) {
        struct sc__sink sink;
        SC__TRY(sc__sink_open(req, trace, &sink));
        sc__write_trace(req->ctx, &job->ev->result, &ranks, sink.to);
        SC__TRY(sc__sink_end(&sink, SC_OK));
    }
    if (hta)
        SC__TRY(sc__write_hta(req->ctx, &job->ev->result, &ranks, hta));
    return sc__flag(req, "html") ? write_page(req, job) : SC_OK;
}

static void put_whatif(struct sc__buffer *out, const struct sc__whatif *t) {
    sc__puts(out,
             "\nwhat if                        at half    saved       at zero    saved\n");
    for (uint32_t i = 0; i < t->count; i++) {
        struct sc__buffer half;
        struct sc__buffer zero;
        const struct sc__whatif_row *row = &t->rows[i];
        sc__buffer_init(&half, out->arena);
        sc__buffer_init(&zero, out->arena);
        sc__put_time(&half, row->at_half);
        sc__put_time(&zero, row->at_zero);
        double step = t->step ? (double)t->step : 1;
        sc__printf(out,
                   "  %-24s %11s %6.1f %%  %11s %6.1f %%\n",
                   row->title,
                   half.text,
                   100 * (1 - (double)row->at_half / step),
                   zero.text,
                   100 * (1 - (double)row->at_zero / step));
    }
}

sc_status sc__pictures_text(struct sc_request *req, struct sc__job *job) {
    struct sc__whatif table;
    if (sc__flag(req, "what-if")) {
        SC__TRY(what_if(req, job, &table));
        put_whatif(&req->out, &table);
    }
    if (!sc__flag(req, "gantt"))
        return SC_OK;
    sc__putc(&req->out, '\n');
    sc__write_gantt(req->ctx,
                    job->ev->result.timeline,
                    req->width,
                    req->terminal,
                    &req->out);
    return SC_OK;
}
