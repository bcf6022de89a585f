/* gantt: the pipeline as a picture in text. */
#ifndef SC_WRITE_GANTT_H
#define SC_WRITE_GANTT_H

#include "result/result.h"

/* One line per class, `width` columns (0: 100). Each column shows what took
 * most of its time. */
void sc__write_gantt(struct sc_context *ctx,
                     const struct sc__timeline *t,
                     unsigned width,
                     bool colour,
                     struct sc__buffer *out);

#endif
