/* operator_table: what the readers of operator tables (tab separated, and NeuSight's own
 * CSV) share. */
#ifndef SC_FRONTEND_NEUSIGHT_OPERATOR_TABLE_H
#define SC_FRONTEND_NEUSIGHT_OPERATOR_TABLE_H

#include "frontend/reader.h"

/* Its rows, layers and sums, for `show`. */
void sc__show_operator_table(struct sc_context *ctx,
                             const struct sc__document *doc,
                             struct sc__buffer *text,
                             struct sc__json *json);

/* Refuses what no operator can mean in a part of a row: a size without a collective,
 * gradients in forward. */
sc_status sc__check_operator_part(struct sc_context *ctx,
                                  const struct sc__input *in,
                                  const struct sc__row_part *part,
                                  unsigned index);

#endif
