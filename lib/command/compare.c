/* compare: two steps side by side. What is given may be a saved result, a
 * measured trace, or any input that can be simulated. */
#include "result/compare.h"
#include "command/job.h"
#include "command/job_file.h"
#include "report/write.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES ((size_t)256 << 20)
#define MOST_LINES 15
#define MOST_CAUSES 8
#define MOST_SHARE 5 /* a cause, against the difference it explains */

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

/* What was given for A or B. */
struct compare_side {
    struct sc__compared view;
    struct sc__result result; /* simulated or measured; zeros for a saved one */
    struct sc__str saved;     /* the document, or empty */
    bool simulated;           /* now */
};

/* Loading one side begins with no notes, so that each has its own. */
static void
compare_see_result(struct sc_request *req, const char *path, struct compare_side *side) {
    sc__result_add_path(&side->result);
    sc__compared_result(&req->ctx->arena, path, &side->result, &side->view);
    req->ctx->note_count = 0;
}

static sc_status compare_load_measured(struct sc_request *req,
                                       const char *path,
                                       struct sc__job *job,
                                       struct compare_side *side) {
    sc__note_drop(req->ctx, "kineto-replay"); /* nothing is simulated here */
    SC__TRY(sc__result_of_measured(req->ctx, job->doc.measured, &side->result));
    sc__result_set_files(&side->result, job->doc.files, job->doc.file_count);
    compare_see_result(req, path, side);
    return SC_OK;
}

/* The run of one side: what its job file says is not said of the other. */
static struct sc_request compare_run_of(const struct sc_request *req, const char *path) {
    struct sc_request run = *req;
    run.command = sc__command_find(req->ctx, "run");
    run.memory = &req->ctx->arena;
    run.inputs = NULL;
    run.input_count = run.input_capacity = 0;
    *SC__PUSH(run.memory, run.inputs, run.input_count, run.input_capacity) = path;
    run.values = SC__NEW_ARRAY(run.memory, struct sc__value, req->value_count + 1);
    run.value_capacity = req->value_count + 1;
    for (uint32_t i = 0; i < req->value_count; i++)
        run.values[i] = req->values[i];
    return run;
}

/* The measurement of the input where it holds one and it is wanted, else a
 * simulation of it. shown: as given, with "sim:". */
static sc_status compare_load_input(struct sc_request *req,
                                    const char *shown,
                                    bool simulate,
                                    struct compare_side *side) {
    struct sc_request one = compare_run_of(req, simulate ? shown + strlen("sim:") : shown);
    struct sc__job job;
    SC__TRY(sc__job_file_take(&one));
    if (!simulate && one.input_count && !sc__job_launches(&one)) {
        SC__TRY(sc__job_read(&one, &job));
        SC__TRY(sc__job_measured(&one, &job));
        for (uint32_t i = 0; i < req->value_count; i++)
            req->values[i].used |= one.values[i].used;
        if (job.doc.measured)
            return compare_load_measured(req, sc__shown_name(req->ctx, shown), &job, side);
    }
    SC__TRY(sc__job_run(&one, &job, true));
    side->simulated = true;
    side->result = job.ev->result;
    compare_see_result(req, sc__shown_name(req->ctx, shown), side);
    return SC_OK;
}

static sc_status
compare_load(struct sc_request *req, const char *path, struct compare_side *side) {
    bool simulate = !strncmp(path, "sim:", 4);
    bool saved = false;
    if (simulate)
        return compare_load_input(req, path, true, side);
    if (!sc__path_is_folder(path))
        SC__TRY(sc__job_is_result(req, &path, &saved));
    if (!saved)
        return compare_load_input(req, path, false, side);
    SC__TRY(sc__read_all(req->ctx, path, MOST_BYTES, &side->saved));
    path = sc__shown_name(req->ctx, path);
    return sc__compared_saved(req->ctx, path, side->saved, &side->view);
}

/* ---- text ---- */

static void compare_put_notes(struct sc__buffer *out,
                              const struct compare_side sides[2],
                              const struct sc_context *both) {
    if (sides[0].result.note_count + sides[1].result.note_count + both->note_count)
        sc__puts(out, "\nnotes\n");
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < sides[side].result.note_count; i++)
            sc__printf(out, "  %c  %s\n", 'A' + side, sides[side].result.notes[i].text);
    for (uint32_t i = 0; i < both->note_count; i++)
        sc__printf(out, "     %s\n", both->notes[i].text);
}

static void compare_put_figure(struct sc__buffer *out, double us) {
    struct sc__buffer b;
    sc__buffer_init(&b, out->arena);
    sc__put_time(&b, sc__from_us(us));
    sc__printf(out, " %12s", b.text);
}

static void compare_put_pair(struct sc__buffer *out, const struct sc__pair *p) {
    double r = sc__relative(p);
    sc__printf(out, "  %-28.28s", p->key);
    compare_put_figure(out, p->a);
    compare_put_figure(out, p->b);
    compare_put_figure(out, p->b - p->a);
    if (isfinite(r))
        sc__printf(out, " %+8.2f %%\n", 100 * r);
    else
        sc__puts(out, "      new\n");
}

/* The longer step may be the faster one. */
static void compare_put_rates(struct sc__buffer *out, const struct sc__comparison *c) {
    if (!sc__compare_is_uneven(c))
        return;
    double a = c->tokens[0] / c->step.a * 1e6;
    double b = c->tokens[1] / c->step.b * 1e6;
    sc__printf(out,
               "  %-28s %12.0f %12.0f %12.0f %+8.2f %%\n"
               "  a step of A has %.0f tokens, one of B %.0f: tokens/s compare them\n",
               "tokens/s",
               a,
               b,
               b - a,
               100 * (b / a - 1),
               c->tokens[0],
               c->tokens[1]);
}

static void compare_put_pairs(struct sc__buffer *out,
                              const char *title,
                              const struct sc__pairs *p,
                              uint32_t most) {
    if (!p->count)
        return;
    sc__printf(out, "\n%-30s %12s %12s %12s\n", title, "A", "B", "B - A");
    for (uint32_t i = 0; i < p->count && i < most; i++)
        compare_put_pair(out, &p->items[i]);
    if (p->count > most)
        sc__printf(out, "  … and %u more that differ less (--all)\n", p->count - most);
}

/* Most of a difference has few causes. Where they make up for each other, and the steps
 * are alike, shares of the difference would say nothing: they are those of A's step. */
static void compare_put_causes(struct sc__buffer *out, const struct sc__comparison *c) {
    double difference = c->step.b - c->step.a;
    if (!c->causes.count)
        return;
    const struct sc__pair *largest = &c->causes.items[0];
    bool alike = fabs(largest->b - largest->a) > MOST_SHARE * fabs(difference);
    double whole = alike ? c->step.a : difference;
    sc__puts(out,
             alike ? "\nwhat differs and adds up to little, largest first\n"
                   : "\nwhat explains the difference, largest first\n");
    for (uint32_t i = 0; i < c->causes.count && i < MOST_CAUSES; i++) {
        const struct sc__pair *p = &c->causes.items[i];
        sc__printf(out, "  %u. %-25s", i + 1, p->key);
        compare_put_figure(out, p->b - p->a);
        if (whole > 0 || whole < 0)
            sc__printf(out,
                       alike ? "  %+5.1f %% of A's step" : "  %5.0f %% of it",
                       100 * (p->b - p->a) / whole);
        sc__putc(out, '\n');
    }
}

static void
compare_put_text(struct sc__buffer *out, const struct sc__comparison *c, bool all) {
    for (int side = 0; side < 2; side++)
        sc__printf(out,
                   "%c  %s (%s)\n",
                   'A' + side,
                   c->name[side],
                   c->measured[side] ? "measured" : "simulated");
    sc__printf(out, "\n%-30s %12s %12s %12s\n", "", "A", "B", "B - A");
    compare_put_pair(out, &c->step);
    compare_put_rates(out, c);
    compare_put_pairs(out, "by part, mean over ranks", &c->parts, UINT32_MAX);
    compare_put_pairs(out, "compute of the slowest rank", &c->work, UINT32_MAX);
    compare_put_causes(out, c);
    compare_put_pairs(out, "communication, on the wire", &c->groups, UINT32_MAX);
    compare_put_pairs(out, "by operation", &c->operations, all ? UINT32_MAX : MOST_LINES);
    for (int side = 0; side < 2 && c->operations.count; side++)
        if (c->left_out[side])
            sc__printf(
                out,
                "  %c was saved with its longest operations only: what shows no time "
                "there may be among %llu others\n",
                'A' + side,
                (unsigned long long)c->left_out[side]);
}

/* ---- JSON ---- */

static void
compare_put_json_pair(struct sc__json *j, const char *key, const struct sc__pair *p) {
    sc__json_row(j, key);
    if (!key)
        sc__json_string(j, "key", p->key);
    sc__json_double(j, "a_us", p->a);
    sc__json_double(j, "b_us", p->b);
    sc__json_double(j, "relative", sc__relative(p));
    sc__json_end_object(j);
}

static void
compare_put_json_pairs(struct sc__json *j, const char *key, const struct sc__pairs *p) {
    sc__json_array(j, key);
    for (uint32_t i = 0; i < p->count; i++)
        compare_put_json_pair(j, NULL, &p->items[i]);
    sc__json_end_array(j);
}

static void compare_put_json(struct sc__buffer *out,
                             const struct sc__comparison *c,
                             const struct compare_side sides[2],
                             const struct sc_context *both,
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
        if (c->tokens[side] > 0)
            sc__json_double(&j, "tokens", c->tokens[side]);
        if (c->left_out[side])
            sc__json_u64(&j, "operations_left_out", c->left_out[side]);
        if (!sides[side].saved.n) /* a saved result has its own */
            sc__json_note_list(&j, sides[side].result.notes, sides[side].result.note_count);
        sc__json_end_object(&j);
    }
    sc__json_notes(&j, both);
    compare_put_json_pair(&j, "step", &c->step);
    compare_put_json_pairs(&j, "classes", &c->parts);
    compare_put_json_pairs(&j, "work", &c->work);
    compare_put_json_pairs(&j, "causes", &c->causes);
    compare_put_json_pairs(&j, "groups", &c->groups);
    compare_put_json_pairs(&j, "operations", &c->operations);
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

static struct sc__page_side compare_page_side(const struct compare_side *side) {
    return (struct sc__page_side){.name = side->view.name,
                                  .result = side->saved.p ? NULL : &side->result,
                                  .saved = side->saved};
}

static sc_status compare_write_page(struct sc_request *req,
                                    const struct compare_side sides[2]) {
    struct sc__page_side shown[2] = {compare_page_side(&sides[0]),
                                     compare_page_side(&sides[1])};
    struct sc__buffer page;
    if (!sc__flag(req, "html"))
        return SC_OK;
    SC__TRY(sc__page_check(req->ctx));
    sc__buffer_init(&page, &req->ctx->arena);
    sc__write_html(shown, 2, &page);
    return sc__job_output(req, "html", &page);
}

static sc_status compare_write_comparison(struct sc_request *req,
                                          const struct sc__comparison *c,
                                          const struct compare_side sides[2],
                                          double tolerance,
                                          bool over) {
    const char *path = sc__option(req, "json");
    struct sc__buffer b;
    sc__buffer_init(&b, &req->ctx->arena);
    compare_put_json(&b, c, sides, req->ctx, tolerance, over);
    if (path)
        SC__TRY(sc__job_output(req, "json", &b));
    if (sc__stdout_taken(req))
        return SC_OK;
    req->out.for_people = true;
    compare_put_text(&req->out, c, sc__flag(req, "all"));
    compare_put_notes(&req->out, sides, req->ctx);
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

/* Options say how a side is simulated: of two saved ones none is. */
static sc_status refuse_unused(struct sc_request *req, const struct compare_side sides[2]) {
    const char *name = sc__job_first_unused(req);
    if (!name || !sides[0].saved.n || !sides[1].saved.n)
        return SC_OK;
    return sc__usage(req,
                     "run it again with the option, and compare that",
                     "--%s has no effect: both are results that were saved",
                     name);
}

static sc_status compare_sides(struct sc_request *req, struct compare_side sides[2]) {
    struct sc__settings settings = sc__settings(req);
    struct sc__comparison c;
    double tolerance = -1;
    SC__TRY(sc__setting_tolerance(&settings, "tolerance", &tolerance));
    for (int side = 0; side < 2; side++)
        SC__TRY(compare_load(req, req->inputs[side], &sides[side]));
    SC__TRY(refuse_unused(req, sides));
    if (!sides[0].simulated && !sides[1].simulated)
        sc__job_note_in_vain(req, "neither side is simulated (sim:PATH)");
    sc__compare(&req->ctx->arena,
                (const struct sc__compared[2]){sides[0].view, sides[1].view},
                &c);
    bool over = tolerance >= 0 && c.worst > tolerance;
    SC__TRY(compare_write_page(req, sides));
    SC__TRY(compare_write_comparison(req, &c, sides, tolerance, over));
    return over ? SC_NO : SC_OK;
}

static sc_status compare_execute(struct sc_request *req) {
    struct compare_side sides[2] = {0};
    if (req->input_count != 2)
        return sc__usage(req,
                         "stepcast compare A B: results, traces or workloads",
                         "compare takes two inputs, not %u",
                         req->input_count);
    sc_status status = compare_sides(req, sides);
    sc__result_free(&sides[0].result);
    sc__result_free(&sides[1].result);
    return status;
}

const struct sc__command sc__command_compare = {
    .name = "compare",
    .args = "A B",
    .summary = "compare two steps, simulated or measured",
    .text =
        "A and B are results saved with 'run --json FILE --timeline', measured traces, "
        "job files, or inputs that are simulated "
        "first (with the options given here). An input that holds a measurement is taken "
        "as "
        "measured; sim:PATH "
        "simulates it instead, so 'compare trace sim:trace' holds a forecast against the "
        "truth "
        "it came from.",
    .options = tables,
    .inputs = true,
    .takes_jobs = true,
    .execute = compare_execute};
