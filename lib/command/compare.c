/* compare: two steps side by side. What is given may be a saved result, a
 * measured trace, or any input that can be simulated; each becomes a result
 * document, and those are compared. */
#include "result/compare.h"
#include "command/job.h"
#include "command/pictures.h"
#include "lower/layers.h"
#include "report/page.h"
#include "report/write.h"
#include "result/measured.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES ((size_t)256 << 20)
#define MOST_LINES 15

static const struct sc__option options[] = {
    {"tolerance",
     't',
     "SHARE",
     NULL,
     "Comparison",
     "exit 1 when the step, or a part of it as a share of A's step, differs by more",
     0},
    {"json",
     0,
     "FILE",
     NULL,
     "Output",
     "the comparison as JSON; - for standard output and nothing else there",
     0},
    {"html", 0, "FILE", NULL, "Output", "a page with both timelines on one axis", 0},
    {"all", 0, NULL, NULL, "Output", "every operation, not only those that differ most", 0},
    {0}};

static const struct sc__option *const tables[] = {options, SC__JOB_TABLES, NULL};

static bool is_result(struct sc__str head) {
    return head.n && memchr("{", head.p[0], 1) &&
           sc__find_word(head.p, head.n, "\"stepcast/result/");
}

static sc_status compare_cmd_look(struct sc_request *req, const char *path, bool *result) {
    struct sc__input in;
    SC__TRY(sc__input_open(req->ctx, path, &in));
    sc_status status = sc__input_fill_text(&in, 4096);
    if (status == SC_OK)
        *result = is_result(
            (struct sc__str){(const char *)in.bytes + in.begin, in.end - in.begin});
    sc__input_close(&in);
    return status;
}

static sc_status
document_of(struct sc_request *req, const struct sc__result *r, struct sc__str *out) {
    struct sc__buffer b;
    sc__buffer_init(&b, &req->ctx->arena);
    sc__write_json(req->ctx, r, &b);
    sc__page_extend(req->ctx, r, NULL, &b);
    *out = (struct sc__str){b.text, b.size};
    return SC_OK;
}

/* The measurement of the input where it holds one and it is wanted, else a
 * simulation of it. */
static sc_status
load_input(struct sc_request *req, const char *path, bool simulate, struct sc__str *out) {
    struct sc_request one = *req;
    struct sc__job job;
    one.inputs = &path;
    one.input_count = one.input_capacity = 1;
    if (!simulate) {
        SC__TRY(sc__job_read(&one, &job));
        SC__TRY(sc__job_measured(&one, &job));
        if (job.doc.measured) {
            SC__TRY(sc__result_of_measured(req->ctx, job.doc.measured, &job.result));
            job.result.files = job.doc.files;
            job.result.file_count = job.doc.file_count;
            return document_of(req, &job.result, out);
        }
    }
    SC__TRY(sc__job_run(&one, &job, true));
    return document_of(req, &job.result, out);
}

static sc_status
compare_cmd_load(struct sc_request *req, const char *path, struct sc__str *out) {
    bool simulate = !strncmp(path, "sim:", 4), result = !strcmp(path, "-");
    if (simulate)
        return load_input(req, path + 4, true, out);
    if (!result && !sc__path_is_folder(path))
        SC__TRY(compare_cmd_look(req, path, &result));
    return result ? sc__read_all(req->ctx, path, MOST_BYTES, out)
                  : load_input(req, path, false, out);
}

/* What was assumed on each side; loading the other one begins anew. */
struct notes {
    struct sc__note *items;
    uint32_t count;
};

static struct notes take_notes(struct sc_context *ctx) {
    struct notes n = {.items =
                          SC__NEW_ARRAY(&ctx->arena, struct sc__note, ctx->note_count + 1),
                      .count = ctx->note_count};
    if (n.count)
        memcpy(n.items, ctx->notes, n.count * sizeof *n.items);
    ctx->note_count = 0;
    return n;
}

/* ---- text ---- */

static void compare_cmd_put_notes(struct sc__buffer *out, const struct notes notes[2]) {
    if (notes[0].count + notes[1].count)
        sc__puts(out, "\nnotes\n");
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < notes[side].count; i++)
            sc__printf(out, "  %c  %s\n", 'A' + side, notes[side].items[i].text);
}

static void put_figure(struct sc__buffer *out, double us) {
    struct sc__buffer b;
    sc__buffer_init(&b, out->arena);
    sc__put_time(&b, sc__from_us(us));
    sc__printf(out, " %12s", b.text);
}

static void put_pair(struct sc__buffer *out, const struct sc__pair *p) {
    double r = sc__relative(p);
    sc__printf(out, "  %-28.28s", p->key);
    put_figure(out, p->a);
    put_figure(out, p->b);
    put_figure(out, p->b - p->a);
    if (isfinite(r))
        sc__printf(out, " %+8.2f %%\n", 100 * r);
    else
        sc__puts(out, "      new\n");
}

static void put_pairs(struct sc__buffer *out,
                      const char *title,
                      const struct sc__pairs *p,
                      uint32_t most) {
    if (!p->count)
        return;
    sc__printf(out, "\n%-30s %12s %12s %12s\n", title, "A", "B", "B - A");
    for (uint32_t i = 0; i < p->count && i < most; i++)
        put_pair(out, &p->items[i]);
    if (p->count > most)
        sc__printf(out, "  … and %u more that differ less (--all)\n", p->count - most);
}

static void
compare_cmd_put_text(struct sc__buffer *out, const struct sc__comparison *c, bool all) {
    for (int side = 0; side < 2; side++)
        sc__printf(out,
                   "%c  %s (%s)\n",
                   'A' + side,
                   c->name[side],
                   c->measured[side] ? "measured" : "simulated");
    sc__printf(out, "\n%-30s %12s %12s %12s\n", "", "A", "B", "B - A");
    put_pair(out, &c->step);
    put_pairs(out, "by class, mean of ranks", &c->classes, UINT32_MAX);
    put_pairs(out, "communication, busy", &c->groups, UINT32_MAX);
    put_pairs(out, "by operation", &c->operations, all ? UINT32_MAX : MOST_LINES);
}

/* ---- JSON ---- */

static void put_json_pair(struct sc__json *j, const char *key, const struct sc__pair *p) {
    sc__json_row(j, key);
    if (!key)
        sc__json_string(j, "key", p->key);
    sc__json_double(j, "a_us", p->a);
    sc__json_double(j, "b_us", p->b);
    sc__json_double(j, "relative", sc__relative(p));
    sc__json_end_object(j);
}

static void put_json_pairs(struct sc__json *j, const char *key, const struct sc__pairs *p) {
    sc__json_array(j, key);
    for (uint32_t i = 0; i < p->count; i++)
        put_json_pair(j, NULL, &p->items[i]);
    sc__json_end_array(j);
}

static void put_json(struct sc__buffer *out,
                     const struct sc__comparison *c,
                     double tolerance,
                     bool over) {
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/comparison/1");
    sc__json_string(&j, "version", SC_VERSION);
    for (int side = 0; side < 2; side++) {
        sc__json_row(&j, side ? "b" : "a");
        sc__json_string(&j, "name", c->name[side]);
        sc__json_bool(&j, "measured", c->measured[side]);
        sc__json_end_object(&j);
    }
    put_json_pair(&j, "step", &c->step);
    put_json_pairs(&j, "classes", &c->classes);
    put_json_pairs(&j, "groups", &c->groups);
    put_json_pairs(&j, "operations", &c->operations);
    sc__json_row(&j, "worst");
    sc__json_string(&j, "key", c->worst_key);
    sc__json_double(&j, "share_of_step", c->worst);
    sc__json_end_object(&j);
    if (tolerance >= 0)
        sc__json_double(&j, "tolerance", tolerance);
    if (tolerance >= 0)
        sc__json_bool(&j, "over", over);
    sc__json_end_object(&j);
}

/* ---- the command ---- */

static sc_status write_page(struct sc_request *req, const struct sc__str document[2]) {
    struct sc__buffer page;
    if (!sc__flag(req, "html"))
        return SC_OK;
    sc__buffer_init(&page, &req->ctx->arena);
    SC__TRY(sc__page_html(req->ctx, document, req->inputs, 2, &page));
    return sc__job_output(req, "html", &page);
}

static sc_status write_comparison(struct sc_request *req,
                                  const struct sc__comparison *c,
                                  const struct notes notes[2],
                                  double tolerance,
                                  bool over) {
    const char *path = sc__option(req, "json");
    struct sc__buffer b;
    sc__buffer_init(&b, &req->ctx->arena);
    put_json(&b, c, tolerance, over);
    if (path)
        SC__TRY(sc__job_output(req, "json", &b));
    if (sc__stdout_taken(req))
        return SC_OK;
    compare_cmd_put_text(&req->out, c, sc__flag(req, "all"));
    compare_cmd_put_notes(&req->out, notes);
    if (tolerance < 0)
        return SC_OK;
    sc__printf(&req->out,
               "\n%s: '%s' differs by %.2f %% of A's step; tolerance %.2f %%\n",
               over ? "over" : "within",
               c->worst_key,
               100 * c->worst,
               100 * tolerance);
    return SC_OK;
}

static sc_status compare_cmd_execute(struct sc_request *req) {
    struct sc__settings settings = sc__settings(req);
    struct sc__comparison c;
    struct sc__str document[2];
    struct notes notes[2];
    double tolerance = -1;
    if (req->input_count != 2)
        return sc__usage(req,
                         "stepcast compare A B: results, traces or workloads",
                         "compare takes two inputs, not %u",
                         req->input_count);
    SC__TRY(sc__setting_share(&settings, "tolerance", &tolerance));
    for (int side = 0; side < 2; side++) {
        SC__TRY(compare_cmd_load(req, req->inputs[side], &document[side]));
        notes[side] = take_notes(req->ctx);
    }
    SC__TRY(sc__compare(req->ctx, (const char *const *)req->inputs, document, &c));
    bool over = tolerance >= 0 && c.worst > tolerance;
    SC__TRY(write_page(req, document));
    SC__TRY(write_comparison(req, &c, notes, tolerance, over));
    return over ? SC_NO : SC_OK;
}

const struct sc__command sc__command_compare = {
    .name = "compare",
    .args = "A B",
    .summary = "compare two steps, simulated or measured",
    .text =
        "A and B are results saved with 'run --json FILE --timeline', measured traces, or "
        "inputs that are simulated "
        "first (with the options given here). An input that holds a measurement is taken "
        "as "
        "measured; sim:PATH "
        "simulates it instead, so 'compare trace sim:trace' holds a forecast against the "
        "truth "
        "it came from.",
    .options = tables,
    .inputs = true,
    .execute = compare_cmd_execute};
