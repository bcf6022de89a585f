/* convert: the intermediate representation in the formats that can hold it.
 * What a format cannot express is an error that names it; with `lossy` it is
 * left out, or written in the nearest form, and each loss is a note. */
#ifndef SC_FRONTEND_CONVERT_H
#define SC_FRONTEND_CONVERT_H

#include "workload/layers.h"
#include "workload/timeline.h"

/* Our own form, docs/formats/ir-json.md. Each of the three may be NULL. */
sc_status sc__write_ir_json(struct sc_context *ctx,
                            const struct sc__layers *layers,
                            const struct sc__workload *w,
                            const struct sc__timeline *measured,
                            struct sc__buffer *out);

sc_status sc__write_workload_text(struct sc_context *ctx,
                                  const struct sc__layers *layers,
                                  bool lossy,
                                  struct sc__buffer *out);

/* element: bytes of one element of the sizes. */
sc_status sc__write_operator_table(struct sc_context *ctx,
                                   const struct sc__layers *layers,
                                   uint32_t element,
                                   bool lossy,
                                   struct sc__buffer *out);

/* What a writer could not express, gathered to be said at once. */
struct sc__losses {
    struct sc_context *ctx;
    const char *format;
    bool lossy;
    struct sc__buffer text;
    uint32_t count;
};

void sc__losses_init(struct sc__losses *l,
                     struct sc_context *ctx,
                     const char *format,
                     bool lossy);
void sc__lose(struct sc__losses *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* An error that lists the first of them, or with lossy a note. */
sc_status sc__losses_end(struct sc__losses *l);

#endif
