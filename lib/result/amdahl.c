/* amdahl: the parts of the slowest rank's step by name, so that a report can
 * say what making one of them faster would bring. Compute beside communication
 * on another stream may bring less: the shares are upper bounds. */
#include "result/result.h"

#include <math.h>
#include <string.h>

/* The compute operations of a rank's program, one after the other. */
static void for_each_compute(const struct sc__workload *w,
                             const struct sc__program *p,
                             void (*take)(void *self, const struct sc__op *op),
                             void *self) {
    for (uint32_t c = 0; c < p->calls; c++) {
        const struct sc__block *b = &w->blocks[w->calls[p->first_call + c].block];
        for (uint32_t i = 0; i < b->ops; i++)
            if (w->ops[b->first_op + i].kind == SC__OP_COMPUTE)
                take(self, &w->ops[b->first_op + i]);
    }
}

struct amdahl_sums {
    const struct sc__workload *w;
    struct sc__shares *shares;
    double cost[SC__WORKS]; /* of all operations of a kind */
    double pace[SC__WORKS]; /* what they took over what they cost */
};

static void add_cost(void *self, const struct sc__op *op) {
    struct amdahl_sums *s = self;
    s->cost[op->work] += (double)op->cost;
}

static void add_share(void *self, const struct sc__op *op) {
    struct amdahl_sums *s = self;
    const char *class =
        op->work == SC__WORK_OTHER ? "other" : sc__work_name((enum sc__work)op->work);
    sc__shares_add(s->shares,
                   s->w->names.text[op->name],
                   class,
                   (int64_t)llround((double)op->cost * s->pace[op->work]));
}

/* Slow GPUs and transfers beside them make kernels take longer than they cost. How much
 * is known by kind of work; the names of a kind share it by their costs. */
static void find_paces(struct amdahl_sums *s, const struct sc__result *r) {
    for (unsigned k = 0; k < SC__WORKS; k++)
        s->pace[k] = s->cost[k] > 0 ? (double)r->work[k] / s->cost[k] : 1;
}

void sc__result_add_shares(struct sc__result *r, const struct sc__workload *w) {
    const struct sc__program *p = &w->programs[r->classes[r->slowest].class->program];
    struct sc__shares *s = SC__NEW(&r->arena, struct sc__shares);
    struct amdahl_sums sums = {.w = w, .shares = s};
    sc__shares_init(s, &r->arena, r->step);
    for_each_compute(w, p, add_cost, &sums);
    find_paces(&sums, r);
    for_each_compute(w, p, add_share, &sums);
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
