/* amdahl: the parts of the slowest rank's step by name, so that a report can
 * say what making one of them faster would bring. Compute beside communication
 * on another stream may bring less: the shares are upper bounds. */
#include "result/result.h"

#include <string.h>

void sc__result_add_shares(struct sc__result *r, const struct sc__workload *w) {
    const struct sc__program *p = &w->programs[r->classes[r->slowest].class->program];
    double slow = r->classes[r->slowest].class->slow;
    struct sc__shares *s = SC__NEW(&r->arena, struct sc__shares);
    sc__shares_init(s, &r->arena, r->step);
    for (uint32_t c = 0; c < p->calls; c++) {
        const struct sc__block *b = &w->blocks[w->calls[p->first_call + c].block];
        for (uint32_t i = 0; i < b->ops; i++) {
            const struct sc__op *op = &w->ops[b->first_op + i];
            if (op->kind != SC__OP_COMPUTE)
                continue;
            const char *class = op->work == SC__WORK_OTHER
                                    ? "other"
                                    : sc__work_name((enum sc__work)op->work);
            sc__shares_add(s,
                           w->names.text[op->name],
                           class,
                           (int64_t)((double)op->cost * slow));
        }
    }
    const struct sc__breakdown *b = &r->classes[r->slowest].breakdown;
    for (uint32_t i = 0; i < r->labels; i++)
        if (b->comm[i].exposed)
            sc__shares_add(s,
                           sc__format(&r->arena, "exposed %s", b->comm[i].label),
                           "communication",
                           b->comm[i].exposed);
    sc__shares_sort(s);
    r->shares = s;
}
