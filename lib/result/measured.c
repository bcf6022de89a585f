/* measured: a measured timeline as a result. */
#include "result/result.h"

#include <string.h>

static void
measured_add_segments(struct sc__result *r, struct sc__arena *scratch, uint32_t c) {
    const struct sc__timeline *t = r->timeline;
    struct sc__breakdown *b = &r->classes[c].breakdown;
    struct sc__segments s;
    sc__segments(scratch, t, &r->by_class, c, &s);
    b->compute = s.total[SC__SEGMENT_FORWARD] + s.total[SC__SEGMENT_BACKWARD] +
                 s.total[SC__SEGMENT_WGRAD] + s.total[SC__SEGMENT_UPDATE];
    b->recompute = s.total[SC__SEGMENT_RECOMPUTE];
    b->bubble = s.total[SC__SEGMENT_BUBBLE];
    b->skew = s.total[SC__SEGMENT_SKEW];
    b->other = s.total[SC__SEGMENT_OTHER];
    for (uint32_t i = 0; i < s.count; i++) {
        if (s.items[i].kind != SC__SEGMENT_COMM)
            continue;
        const struct sc__op *op = &t->workload->ops[t->spans[s.items[i].span].op];
        b->comm[sc__result_label(r, sc__span_label(t->workload, op))].exposed +=
            s.items[i].end - s.items[i].start;
    }
}

static void measured_add_spans(struct sc__result *r, uint32_t c) {
    const struct sc__by_class *index = &r->by_class;
    const struct sc__timeline *t = r->timeline;
    for (uint32_t i = index->first[c]; i < index->first[c + 1]; i++) {
        const struct sc__span *s = &t->spans[index->spans[i]];
        const struct sc__op *op = &t->workload->ops[s->op];
        if (s->end > r->classes[c].end)
            r->classes[c].end = s->end;
        if (op->kind == SC__OP_COMPUTE || op->kind == SC__OP_WAIT)
            continue;
        struct sc__by_label *l =
            &r->classes[c]
                 .breakdown.comm[sc__result_label(r, sc__span_label(t->workload, op))];
        l->busy += s->end - (s->ready > s->start ? s->ready : s->start);
        if (op->kind == SC__OP_RECV)
            continue; /* a message counts where it is sent */
        l->ops++;
        l->bytes += op->bytes;
    }
}

/* Kinds of work of the slowest rank. */
static void measured_add_work(struct sc__result *r) {
    const struct sc__by_class *index = &r->by_class;
    const struct sc__timeline *t = r->timeline;
    for (uint32_t i = index->first[r->slowest]; i < index->first[r->slowest + 1]; i++) {
        const struct sc__span *s = &t->spans[index->spans[i]];
        const struct sc__op *op = &t->workload->ops[s->op];
        if (op->kind == SC__OP_COMPUTE)
            r->work[op->work] += s->end - s->start;
    }
}

sc_status sc__result_of_measured(struct sc_context *ctx,
                                 const struct sc__timeline *t,
                                 struct sc__result *out) {
    struct sc__arena scratch;
    if (!t->workload->class_count)
        return sc__fail(ctx, SC_INPUT, NULL, NULL, "the measurement holds no rank");
    sc__result_begin(out);
    sc__result_keep_workload(out, t->workload, true);
    sc__result_keep_timeline(out, t);
    out->cluster = (struct sc__result_cluster){.name = "as measured",
                                               .fabric = "switch",
                                               .gpus = sc__mesh_ranks(&t->workload->mesh)};
    out->net = "measured";
    out->measured = true;
    out->step = t->end;
    sc__arena_init(&scratch);
    for (uint32_t c = 0; c < out->class_count; c++) {
        measured_add_segments(out, &scratch, c);
        measured_add_spans(out, c);
        if (sc__result_is_slower(&out->classes[c], &out->classes[out->slowest]))
            out->slowest = c;
    }
    sc__arena_free(&scratch);
    measured_add_work(out);
    sc__result_take_notes(ctx, out);
    return SC_OK;
}
