/* write: results out, one file per form. A writer reads the result and puts
 * text into the buffer; memory that it needs on the way is the buffer's. The
 * command decides where the buffer goes. */
#ifndef SC_REPORT_WRITE_H
#define SC_REPORT_WRITE_H

#include "frontend/simai/simai_analytical.h"
#include "report/trace.h"
#include "result/result.h"

/* The table a person reads. colour: ANSI; width 0 = 100. */
void sc__write_text(const struct sc__result *r,
                    bool colour,
                    unsigned width,
                    struct sc__buffer *out);
/* The what-if table as text. Needs the what-if table. */
void sc__write_whatif(const struct sc__result *r, struct sc__buffer *out);
/* What the software's profile set and what each of it costs. Needs that table. */
void sc__write_software(const struct sc__result *r, struct sc__buffer *out);
/* The pipeline as a picture in text: a line per class, `width` columns (0: 100).
 * Each column shows what took most of its time. Needs the timeline. */
void sc__write_gantt(const struct sc__result *r,
                     unsigned width,
                     bool colour,
                     struct sc__buffer *out);

/* Schema stepcast/result/1. Sections are added, each where the result has it:
 * the timeline (after sc__result_add_path), and the what-if table. */
enum { SC__JSON_TIMELINE = 1, SC__JSON_WHAT_IF = 2, SC__JSON_ALL = 3 };
void sc__write_json(const struct sc__result *r, unsigned sections, struct sc__buffer *out);

/* One line per row of the input, of the slowest class. Needs the timeline. */
void sc__write_csv(const struct sc__result *r, struct sc__buffer *out);
/* A name of an input as a cell: quoted where it must be, never a formula. */
void sc__put_csv_cell(struct sc__buffer *out, const char *s);
/* EndToEnd.csv as SimAI-Analytical writes it. */
void sc__write_simai_csv(const struct sc__simai *s,
                         const struct sc__layers *l,
                         const struct sc__compat *c,
                         const char *name,
                         struct sc__buffer *out);

/* Timelines as other tools read them: one file for Perfetto and
 * chrome://tracing; one file per rank in the form of torch.profiler for
 * HolisticTraceAnalysis. Both need the timeline. */
void sc__write_trace(const struct sc__result *r,
                     const struct sc__trace_ranks *ranks,
                     struct sc__buffer *out);
void sc__write_hta(const struct sc__result *r, uint32_t rank, struct sc__buffer *out);

/* One side of a page: a result (after sc__result_add_path), written with all its
 * sections, or the text of one saved as JSON. */
struct sc__page_side {
    const char *name;
    const struct sc__result *result; /* or NULL: */
    struct sc__str saved;            /* valid JSON */
};
/* A page of one result, or of two side by side. sc__page_check first. */
void sc__write_html(const struct sc__page_side *sides,
                    unsigned count,
                    struct sc__buffer *out);
/* The data of a page about something else than a step: how it was made, and a
 * document. The caller adds what it has besides, and ends the object. */
void sc__page_begin(struct sc__json *j,
                    struct sc__buffer *out,
                    const char *schema,
                    const char *const *argv,
                    int argc);
/* SC_SYSTEM when the library was built without the page. */
sc_status sc__page_check(struct sc_context *ctx);

#endif
