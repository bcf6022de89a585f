/* model → rows of a layer workload, for `gen --to workload-text`. */
#ifndef SC_LOWER_MODEL_ROWS_H
#define SC_LOWER_MODEL_ROWS_H

#include "plan/plan.h"
#include "workload/layers.h"

/* What rows leave open, chosen by the caller so that the step is as long as the
 * plan's. */
struct sc__row_fit {
    /* how much of the embedding and the head every stage gets, where the plan has  several
     */
    double ends;
    /* factor on compute beside which gradients or weights travel: the last backward, the
     * first forward */
    double edges;
};

/* What the format cannot hold (context parallel, sharded weights …) is SC_USAGE. */
sc_status sc__model_rows(struct sc_context *ctx,
                         const struct sc__model *m,
                         const struct sc__plan *plan,
                         const struct sc__cluster *cluster,
                         const struct sc__row_fit *fit,
                         struct sc__layers **out);

#endif
