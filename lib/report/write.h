/* write: results out, one file per form. Everything goes into a buffer; the
 * command decides where the buffer goes. */
#ifndef SC_WRITE_WRITE_H
#define SC_WRITE_WRITE_H

#include "frontend/simai/simai_analytical.h"
#include "result/result.h"

/* The table a person reads. colour: ANSI; width 0 = 80. */
void sc__write_text(struct sc_context *ctx,
                    const struct sc__result *r,
                    bool colour,
                    unsigned width,
                    struct sc__buffer *out);
/* Schema stepcast/result/1. */
void sc__write_json(struct sc_context *ctx,
                    const struct sc__result *r,
                    struct sc__buffer *out);
/* One line per row of the input, of the slowest class. Needs the timeline. */
void sc__write_csv(struct sc_context *ctx,
                   const struct sc__result *r,
                   struct sc__buffer *out);
/* EndToEnd.csv as SimAI-Analytical writes it. */
void sc__write_simai_csv(const struct sc__simai *s,
                         const struct sc__layers *l,
                         const struct sc__compat *c,
                         const char *name,
                         struct sc__buffer *out);

#endif
