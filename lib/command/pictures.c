#include "command/pictures.h"

#include "command/changes.h"
#include "command/flows_packet.h"

#include "network/packet/packet_engine.h"
#include "report/write.h"

#include <math.h>
#include <string.h>

#define GROUP "Pictures and traces"

/* A page says of its own accord what other hardware or settings would bring, some
 * five more simulations; and what each kind of work costs where simulating the step
 * twenty times more takes no time to speak of. */
#define QUICK_EVENTS 100000
/* Shown packet by packet, at most. */
#define MOST_TRANSFERS 6u

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
     "one of each set of equal ranks",
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
     "step time if each kind of work took half the time, or none",
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

sc_status sc__pictures_prepare(struct sc_request *req, struct sc__job *job) {
    bool quick = sc__flag(req, "html") && job->ev->sim.events <= QUICK_EVENTS;
    if (sc__flag(req, "html") || sc__flag(req, "timeline"))
        sc__result_add_path(&job->ev->result);
    if (sc__flag(req, "what-if") || sc__flag(req, "html"))
        SC__TRY(sc__changes_add(req, job));
    if (!sc__flag(req, "what-if") && !quick)
        return SC_OK;
    return sc__evaluation_whatif(req->ctx, job->ev);
}

unsigned sc__pictures_sections(const struct sc_request *req) {
    unsigned sections = 0;
    if (sc__flag(req, "timeline"))
        sections |= SC__JSON_TIMELINE;
    if (sc__flag(req, "what-if"))
        sections |= SC__JSON_WHAT_IF;
    return sections;
}

/* Of a network of packets: the longest transfers, each by itself. */
static sc_status pictures_see_packets(struct sc_request *req,
                                      struct sc__net *net,
                                      struct sc__page_side *side) {
    struct sc__arena *arena = &req->ctx->arena;
    struct sc__packet_seen *seen =
        SC__NEW_ARRAY(arena, struct sc__packet_seen, MOST_TRANSFERS);
    struct sc__packet_run runs[MOST_TRANSFERS];
    double share = 1;
    uint32_t count;
    SC__TRY(
        sc__packet_see_longest(net, MOST_TRANSFERS, SC__PACKET_PAGE_SPANS, seen, &count));
    for (uint32_t i = 0; i < count; i++) {
        runs[i] = (struct sc__packet_run){.net = "packet",
                                          .control = seen[i].name,
                                          .flows = seen[i].messages,
                                          .counters = seen[i].counters,
                                          .watch = &seen[i].watch};
        sc__packet_run_sum_up(&runs[i], arena);
        share = fmin(share, seen[i].share);
    }
    if (share < 1)
        sc__note(req->ctx,
                 "page-share",
                 "the page shows %.2g %% of the bytes of the largest transfer, packet by "
                 "packet: all are too many for it",
                 100 * share);
    if (count)
        sc__packet_runs_put_page(req, runs, count, "step", "transfer", side);
    return SC_OK;
}

static sc_status pictures_write_page(struct sc_request *req, struct sc__job *job) {
    const struct sc__result *r = &job->ev->result;
    struct sc__page_side sides[2] = {
        {.name = r->file_count ? r->files[0] : "step", .result = r}};
    struct sc__buffer page;
    SC__TRY(sc__page_check(req->ctx));
    SC__TRY(pictures_see_packets(req, &job->ev->net, &sides[1]));
    sc__buffer_init(&page, &req->ctx->arena);
    sc__write_html(sides, sides[1].name ? 2 : 1, &page);
    return sc__job_output(req, "html", &page);
}

static sc_status pictures_write_trace(struct sc_request *req,
                                      const struct sc__result *r,
                                      const struct sc__trace_ranks *ranks) {
    struct sc__sink sink;
    SC__TRY(sc__sink_open(req, sc__option(req, "trace"), &sink));
    sc__write_trace(r, ranks, sink.to);
    return sc__sink_end(&sink, SC_OK);
}

#define HTA_NAME "%s/rank%u.pt.trace.json.gz"

/* A file of a rank that will be written over. */
static bool is_traced_rank(const void *self, const char *name) {
    const struct sc__trace_ranks *ranks = self;
    static const char end[] = ".pt.trace.json.gz";
    struct sc__str number = sc__str(name);
    uint32_t rank;
    if (!sc__str_starts(number, "rank") || !sc__str_ends(number, end))
        return false;
    number.p += strlen("rank");
    number.n -= strlen("rank") + strlen(end);
    if (!sc__parse_u32(number, &rank))
        return false;
    for (uint32_t i = 0; i < ranks->count; i++)
        if (ranks->ranks[i] == rank)
            return true;
    return false;
}

/* A file per rank; the directory is made where it does not exist. */
static sc_status pictures_write_hta(struct sc_request *req,
                                    const struct sc__result *r,
                                    const struct sc__trace_ranks *ranks) {
    struct sc_context *ctx = req->ctx;
    const char *folder = sc__option(req, "hta");
    SC__TRY(sc__output_folder(ctx, folder, "*.pt.trace.json*", is_traced_rank, ranks));
    for (uint32_t i = 0; i < ranks->count; i++) {
        struct sc__output *o;
        const char *path = sc__format(&ctx->arena, HTA_NAME, folder, ranks->ranks[i]);
        SC__TRY(sc__output_open(ctx, path, &o));
        sc__write_hta(r, ranks->ranks[i], &o->buffer);
        SC__TRY(sc__output_end(o, SC_OK));
    }
    return SC_OK;
}

sc_status sc__pictures_write(struct sc_request *req, struct sc__job *job) {
    const struct sc__result *r = &job->ev->result;
    struct sc__trace_ranks ranks;
    SC__TRY(sc__trace_ranks(req->ctx, r->workload, sc__option(req, "trace-ranks"), &ranks));
    if (sc__flag(req, "trace"))
        SC__TRY(pictures_write_trace(req, r, &ranks));
    if (sc__flag(req, "hta"))
        SC__TRY(pictures_write_hta(req, r, &ranks));
    return sc__flag(req, "html") ? pictures_write_page(req, job) : SC_OK;
}

void sc__pictures_text(struct sc_request *req, const struct sc__result *r) {
    if (sc__flag(req, "what-if"))
        sc__write_whatif(r, &req->out);
    if (!sc__flag(req, "gantt"))
        return;
    sc__putc(&req->out, '\n');
    sc__write_gantt(r, req->width, req->terminal, &req->out);
}
