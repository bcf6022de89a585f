/* validate_report: the rows of `validate` with their errors, and summaries, as
 * text, JSON, Markdown and a plot. */
#include "command/validate.h"

#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

static double validate_report_error_of(const struct sc__truth_row *r) {
    return 100 * (r->predicted / r->measured - 1);
}

static bool counts(const struct sc__truth_row *r) {
    return !r->skipped && r->measured > 0 && r->predicted > 0;
}

struct sc__truth_summary sc__truth_sum(struct sc_context *ctx,
                                       const struct sc__truth *t,
                                       const char *label,
                                       bool (*in)(const struct sc__truth_row *row,
                                                  const char *label)) {
    struct sc__truth_summary s = {.key = label};
    double *errors = SC__NEW_ARRAY(&ctx->arena, double, t->count + 1);
    double sum = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__truth_row *r = &t->rows[i];
        if (!in(r, label))
            continue;
        s.rows++;
        if (!counts(r))
            continue;
        s.bias += validate_report_error_of(r);
        errors[s.simulated] = fabs(validate_report_error_of(r));
        sum += errors[s.simulated++];
    }
    if (!s.simulated)
        return s;
    sc__sort_doubles(errors, s.simulated);
    s.mean = sum / s.simulated;
    s.bias /= s.simulated;
    s.median = s.simulated % 2
                   ? errors[s.simulated / 2]
                   : (errors[s.simulated / 2 - 1] + errors[s.simulated / 2]) / 2;
    s.p90 = errors[(uint32_t)(0.9 * (s.simulated - 1) + 0.5)];
    s.worst = errors[s.simulated - 1];
    return s;
}

static bool in_all(const struct sc__truth_row *r, const char *label) {
    return (void)r, (void)label, true;
}
static bool in_source(const struct sc__truth_row *r, const char *label) {
    return !strcmp(r->cell[SC__TRUTH_SOURCE], label);
}
static bool in_gpu(const struct sc__truth_row *r, const char *label) {
    return !strcmp(r->cell[SC__TRUTH_GPU], label);
}

static const char *const sizes[] = {"1 node", "2 to 16 nodes", "more than 16 nodes", NULL};

static bool in_size(const struct sc__truth_row *r, const char *label) {
    int gpus = atoi(r->cell[SC__TRUTH_GPUS]);
    int node = atoi(r->cell[SC__TRUTH_NODE]);
    int nodes = node > 0 ? (gpus + node - 1) / node : 1;
    int k = nodes <= 1 ? 0 : nodes <= 16 ? 1 : 2;
    return !strcmp(sizes[k], label);
}

struct grouping {
    const char *title;
    const char *key;
    bool (*in)(const struct sc__truth_row *row, const char *label);
    int column; /* labels are its distinct cells; -1: the sizes; -2: one label */
};

static const struct grouping groupings[] = {
    {"All", "all", in_all, -2},
    {"By source", "by_source", in_source, SC__TRUTH_SOURCE},
    {"By GPU", "by_gpu", in_gpu, SC__TRUTH_GPU},
    {"By size", "by_size", in_size, -1},
    {NULL, NULL, NULL, 0},
};

/* Distinct labels of a grouping in order of first sight. */
static uint32_t labels_of(struct sc_context *ctx,
                          const struct sc__truth *t,
                          const struct grouping *g,
                          const char ***out) {
    struct sc__names seen;
    sc__names_init(&seen, &ctx->arena);
    if (g->column == -2)
        sc__names_add(&seen, "all", 3);
    for (unsigned i = 0; g->column == -1 && sizes[i]; i++)
        sc__names_add(&seen, sizes[i], strlen(sizes[i]));
    for (uint32_t i = 0; g->column >= 0 && i < t->count; i++) {
        const char *text = t->rows[i].cell[g->column];
        sc__names_add(&seen, text, strlen(text));
    }
    *out = seen.text;
    return seen.count;
}

typedef void put_summary(void *self, const struct sc__truth_summary *s);

static void each(struct sc_context *ctx,
                 const struct sc__truth *t,
                 const struct grouping *g,
                 put_summary *put,
                 void *self) {
    const char **labels;
    uint32_t n = labels_of(ctx, t, g, &labels);
    for (uint32_t i = 0; i < n; i++) {
        struct sc__truth_summary s = sc__truth_sum(ctx, t, labels[i], g->in);
        put(self, &s);
    }
}

static void text_summary(void *self, const struct sc__truth_summary *s) {
    struct sc__buffer *out = self;
    size_t n = strlen(s->key);
    const char *tail = n > 58 ? s->key + n - 58 : s->key;
    if (!s->simulated) {
        sc__printf(out,
                   "%-58s %5u %5u %7s %7s %7s %7s %7s\n",
                   tail,
                   s->rows,
                   0u,
                   "-",
                   "-",
                   "-",
                   "-",
                   "-");
        return;
    }
    sc__printf(out,
               "%-58s %5u %5u %7.1f %7.1f %7.1f %7.1f %+7.1f\n",
               tail,
               s->rows,
               s->simulated,
               s->mean,
               s->median,
               s->p90,
               s->worst,
               s->bias);
}

void sc__truth_text(struct sc_context *ctx,
                    const struct sc__truth *t,
                    struct sc__buffer *out) {
    sc__printf(out, "%-44s %11s %11s %9s\n", "row", "measured s", "predicted s", "error %");
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__truth_row *r = &t->rows[i];
        if (r->skipped)
            sc__printf(out, "%-44s skipped: %s\n", r->cell[SC__TRUTH_ID], r->skipped);
        else
            sc__printf(out,
                       "%-44s %11.4f %11.4f %+9.1f\n",
                       r->cell[SC__TRUTH_ID],
                       r->measured,
                       r->predicted,
                       validate_report_error_of(r));
    }
    for (const struct grouping *g = groupings; g->title; g++) {
        sc__printf(out,
                   "\n%-58s %5s %5s %7s %7s %7s %7s %7s\n",
                   g->title,
                   "rows",
                   "run",
                   "mean %",
                   "median",
                   "90 %",
                   "worst",
                   "bias");
        each(ctx, t, g, text_summary, out);
    }
}

/* Where nothing ran there is no error, which is not an error of 0. */
static void json_summary(void *self, const struct sc__truth_summary *s) {
    struct sc__json *j = self;
    const struct {
        const char *key;
        double value;
    } errors[] = {{"mean_pct", s->mean},
                  {"median_pct", s->median},
                  {"p90_pct", s->p90},
                  {"worst_pct", s->worst},
                  {"bias_pct", s->bias}};
    sc__json_row(j, NULL);
    sc__json_string(j, "key", s->key);
    sc__json_u64(j, "rows", s->rows);
    sc__json_u64(j, "count", s->simulated);
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
        if (s->simulated)
            sc__json_double(j, errors[i].key, errors[i].value);
        else
            sc__json_null(j, errors[i].key);
    sc__json_end_object(j);
}

static void json_row(struct sc__json *j, const struct sc__truth_row *r) {
    sc__json_row(j, NULL);
    sc__json_string(j, "id", r->cell[SC__TRUTH_ID]);
    if (r->measured > 0)
        sc__json_double(j, "measured_s", r->measured);
    else
        sc__json_null(j, "measured_s");
    if (counts(r))
        sc__json_double(j, "predicted_s", r->predicted);
    else
        sc__json_null(j, "predicted_s");
    if (counts(r))
        sc__json_double(j, "error_pct", validate_report_error_of(r));
    else
        sc__json_null(j, "error_pct");
    if (r->measured_is_derived)
        sc__json_bool(j, "measured_is_derived", true);
    sc__json_string(j, "skipped", r->skipped);
    sc__json_string(j, "source", r->cell[SC__TRUTH_SOURCE]);
    sc__json_string(j, "gpu", r->cell[SC__TRUTH_GPU]);
    sc__json_double(j, "compute_share", r->shares.compute);
    sc__json_double(j, "bubble_share", r->shares.bubble);
    sc__json_double(j, "exposed_share", r->shares.exposed);
    sc__json_string(j, "command", r->options);
    sc__json_end_object(j);
}

void sc__truth_json(struct sc_context *ctx,
                    const struct sc__truth *t,
                    struct sc__buffer *out) {
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/validation/1");
    sc__json_array(&j, "rows");
    for (uint32_t i = 0; i < t->count; i++)
        json_row(&j, &t->rows[i]);
    sc__json_end_array(&j);
    sc__json_object(&j, "summary");
    for (const struct grouping *g = groupings; g->title; g++) {
        sc__json_array(&j, g->key);
        each(ctx, t, g, json_summary, &j);
        sc__json_end_array(&j);
    }
    sc__json_end_object(&j);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}

static void markdown_summary(void *self, const struct sc__truth_summary *s) {
    if (!s->simulated) {
        sc__printf(self, "| %s | %u | 0 | | | | | |\n", s->key, s->rows);
        return;
    }
    sc__printf(self,
               "| %s | %u | %u | %.1f | %.1f | %.1f | %.1f | %+.1f |\n",
               s->key,
               s->rows,
               s->simulated,
               s->mean,
               s->median,
               s->p90,
               s->worst,
               s->bias);
}

static void
markdown_skips(struct sc_context *ctx, const struct sc__truth *t, struct sc__buffer *out) {
    struct sc__names reasons;
    sc__names_init(&reasons, &ctx->arena);
    uint32_t *count = SC__NEW_ARRAY(&ctx->arena, uint32_t, t->count + 1);
    for (uint32_t i = 0; i < t->count; i++)
        if (t->rows[i].skipped)
            count[sc__names_add(&reasons,
                                t->rows[i].skipped,
                                strlen(t->rows[i].skipped))]++;
    sc__puts(out, "\n### Rows that were not simulated\n\n| reason | rows |\n|---|---|\n");
    for (uint32_t i = 0; i < reasons.count; i++)
        sc__printf(out, "| %s | %u |\n", reasons.text[i], count[i]);
}

void sc__truth_markdown(struct sc_context *ctx,
                        const struct sc__truth *t,
                        struct sc__buffer *out) {
    for (const struct grouping *g = groupings; g->title; g++) {
        sc__printf(out,
                   "### %s\n\n| | rows | simulated | mean %% | median %% | 90 %% | worst "
                   "%% | bias %% |\n"
                   "|---|---|---|---|---|---|---|---|\n",
                   g->title);
        each(ctx, t, g, markdown_summary, out);
        sc__putc(out, '\n');
    }
    markdown_skips(ctx, t, out);
    sc__puts(out,
             "\n### All rows\n\n| row | measured s | predicted s | error % "
             "|\n|---|---|---|---|\n");
    for (uint32_t i = 0; i < t->count; i++)
        if (counts(&t->rows[i]))
            sc__printf(out,
                       "| %s | %.4f | %.4f | %+.1f |\n",
                       t->rows[i].cell[SC__TRUTH_ID],
                       t->rows[i].measured,
                       t->rows[i].predicted,
                       validate_report_error_of(&t->rows[i]));
}

#define SIDE 560.0
#define LOW -1.5 /* decades of seconds */
#define HIGH 2.5

static double at(double seconds) {
    return 40 + (log10(seconds) - LOW) / (HIGH - LOW) * (SIDE - 60);
}

static void grid(struct sc__buffer *out) {
    for (int d = -1; d <= 2; d++) {
        double x = at(pow(10, d));
        double y = SIDE - x;
        sc__printf(out,
                   "<path d=\"M%.1f 20V%.1fM40 %.1fH%.1f\" stroke=\"#ddd\"/>\n",
                   x,
                   SIDE - 40,
                   y,
                   SIDE - 20);
        sc__printf(out,
                   "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g s</text>\n",
                   x,
                   SIDE - 24,
                   pow(10, d));
        sc__printf(out,
                   "<text x=\"36\" y=\"%.1f\" text-anchor=\"end\">%g s</text>\n",
                   y + 4,
                   pow(10, d));
    }
    for (int k = -1; k <= 1; k++) {
        double low = pow(10, LOW);
        double high = pow(10, HIGH);
        double f = 1 + 0.1 * k;
        sc__printf(out,
                   "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\"/>\n",
                   at(low),
                   SIDE - at(low * f),
                   at(high / 1.1),
                   SIDE - at(high / 1.1 * f),
                   k ? "#bbb" : "#555");
    }
}

void sc__truth_plot(struct sc_context *ctx,
                    const struct sc__truth *t,
                    struct sc__buffer *out) {
    static const char *const colours[] = {"#4269d0",
                                          "#efb118",
                                          "#ff725c",
                                          "#6cc5b0",
                                          "#3ca951",
                                          "#ff8ab7",
                                          "#a463f2",
                                          "#97bbf5",
                                          "#9c6b4e",
                                          "#9498a0"};
    const char **labels;
    uint32_t n = labels_of(ctx, t, &groupings[2], &labels);
    sc__printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
               "font-family=\"sans-serif\" "
               "font-size=\"11\" fill=\"#333\">\n<rect width=\"100%%\" height=\"100%%\" "
               "fill=\"#fff\"/>\n",
               SIDE,
               SIDE);
    grid(out);
    for (uint32_t g = 0; g < n; g++) {
        const char *colour = colours[g % 10];
        for (uint32_t i = 0; i < t->count; i++)
            if (counts(&t->rows[i]) && in_gpu(&t->rows[i], labels[g]))
                sc__printf(out,
                           "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\" "
                           "fill-opacity=\"0.7\"/>\n",
                           at(t->rows[i].measured),
                           SIDE - at(t->rows[i].predicted),
                           colour);
        sc__printf(out,
                   "<circle cx=\"60\" cy=\"%u\" r=\"4\" fill=\"%s\"/><text x=\"70\" "
                   "y=\"%u\">%s</text>\n",
                   36 + 15 * g,
                   colour,
                   40 + 15 * g,
                   labels[g]);
    }
    sc__printf(
        out,
        "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">measured (lines: equal, 10 %% "
        "off)</text>\n",
        SIDE / 2,
        SIDE - 8);
    sc__printf(out,
               "<text x=\"12\" y=\"%g\" transform=\"rotate(-90 12 %g)\" "
               "text-anchor=\"middle\">predicted</text>\n</svg>\n",
               SIDE / 2,
               SIDE / 2);
}
