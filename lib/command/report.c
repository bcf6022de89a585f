/* report: the page of a saved result. */
#include "command/job.h"
#include "report/write.h"
#include "result/compare.h"

#include <string.h>

#define MOST_BYTES ((size_t)256 << 20)

static const struct sc__option options[] = {
    {"output", 'o', "FILE", NULL, "Output", "the page; - for standard output", 0}, {0}};

static const struct sc__option *const tables[] = {options, NULL};

static sc_status report_execute(struct sc_request *req) {
    struct sc__page_side side = {0};
    struct sc__compared readable;
    struct sc__buffer page;
    if (req->input_count != 1)
        return sc__usage(req,
                         "stepcast report RESULT.json -o report.html",
                         "report takes one result");
    if (!sc__flag(req, "output"))
        return sc__usage(req,
                         "stepcast report RESULT.json -o report.html",
                         "no --output given");
    SC__TRY(sc__read_all(req->ctx, req->inputs[0], MOST_BYTES, &side.saved));
    side.name = req->inputs[0];
    SC__TRY(sc__compared_saved(req->ctx, side.name, side.saved, &readable));
    SC__TRY(sc__page_check(req->ctx));
    sc__buffer_init(&page, &req->ctx->arena);
    sc__write_html(&side, 1, &page);
    return sc__job_output(req, "output", &page);
}

const struct sc__command sc__command_report = {
    .name = "report",
    .args = "RESULT.json -o FILE",
    .summary = "make the report page of a saved result",
    .text = "RESULT.json comes from 'run --json'. Saved with --timeline it gives the whole "
            "page; "
            "without, the page has "
            "no timeline, no critical path and no table of operations.",
    .options = tables,
    .execute = report_execute};
