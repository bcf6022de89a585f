/* What a plan sends, counted in the operations it was lowered to. */
#ifndef SC_TESTS_TRAFFIC_H
#define SC_TESTS_TRAFFIC_H

#include "test.h"

#include "lower/model.h"
#include "plan_text.h"

struct traffic {
    double host; /* computations of the host */
    double bytes[SC__GROUP_LIST][SC__COLLS];
    double messages;
    double message_bytes;
    double flops;
};

/* Of one rank of the class. */
static struct traffic traffic_of(const struct sc__workload *w, uint32_t class) {
    struct traffic t = {0};
    const struct sc__program *p = &w->programs[w->classes[class].program];
    for (uint32_t c = 0; c < p->calls; c++) {
        const struct sc__block *b = &w->blocks[w->calls[p->first_call + c].block];
        for (uint32_t i = 0; i < b->ops; i++) {
            const struct sc__op *op = &w->ops[b->first_op + i];
            if (op->kind == SC__OP_COLLECTIVE)
                t.bytes[w->groups[op->group].kind][op->coll] += (double)op->bytes;
            t.host += op->kind == SC__OP_COMPUTE && op->work == SC__WORK_HOST;
            if (op->kind == SC__OP_SEND) {
                t.messages++;
                t.message_bytes += (double)op->bytes;
            }
        }
    }
    return t;
}

static struct sc__workload *
lowered(struct sc_context *ctx, const char *text, struct sc__model *m, struct sc__plan *p) {
    struct sc__workload *w;
    struct sc__cluster c;
    if (plan_of(ctx, text, m, p) != SC_OK)
        fail_msg("%s: %s", text, sc_error_text(ctx));
    p->ignore_memory = true;
    assert_int_equal(sc__cluster_parse(ctx, "dgx-h100", p->gpus, &c), SC_OK);
    if (sc__lower_plan(ctx, m, p, &c, &w) != SC_OK)
        fail_msg("%s: %s", text, sc_error_text(ctx));
    return w;
}

/* Of one rank of each class together. */
static struct traffic
lower(struct sc_context *ctx, const char *text, struct sc__model *m, struct sc__plan *p) {
    const struct sc__workload *w = lowered(ctx, text, m, p);
    struct traffic sum = {0};
    for (uint32_t i = 0; i < w->class_count; i++) {
        struct traffic t = traffic_of(w, i);
        for (unsigned g = 0; g < SC__GROUP_LIST; g++)
            for (unsigned k = 0; k < SC__COLLS; k++)
                sum.bytes[g][k] += t.bytes[g][k];
        sum.host += t.host;
        sum.messages += t.messages;
        sum.message_bytes += t.message_bytes;
    }
    sum.flops = w->model_flops;
    return sum;
}

#endif
