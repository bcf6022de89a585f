#include "result/measured.h"

#include "result/segments.h"

#include <string.h>

static void add_segments(struct sc_context *ctx,
                         struct sc__result *r,
                         const struct sc__by_class *index,
                         uint32_t c) {
    const struct sc__timeline *t = r->timeline;
    struct sc__breakdown *b = &r->classes[c].breakdown;
    struct sc__segments s;
    sc__segments(&ctx->arena, t, index, c, &s);
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

static void add_spans(struct sc__result *r, const struct sc__by_class *index, uint32_t c) {
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

sc_status sc__result_of_measured(struct sc_context *ctx,
                                 const struct sc__timeline *t,
                                 struct sc__result *out) {
    const struct sc__workload *w = t->workload;
    struct sc__cluster *unknown = SC__NEW(&ctx->arena, struct sc__cluster);
    struct sc__by_class index;
    if (!w->class_count)
        return sc__fail(ctx, SC_INPUT, NULL, NULL, "the measurement holds no rank");
    unknown->name = "as measured";
    unknown->gpus = sc__mesh_ranks(&w->mesh);
    *out = (struct sc__result){.workload = w,
                               .cluster = unknown,
                               .net = "measured",
                               .measured = true,
                               .timeline = t};
    out->step = t->end;
    out->class_count = w->class_count;
    out->classes = SC__NEW_ARRAY(&ctx->arena, struct sc__class_breakdown, w->class_count);
    sc__by_class(&ctx->arena, t, &index);
    for (uint32_t c = 0; c < w->class_count; c++) {
        out->classes[c].class = &w->classes[c];
        add_segments(ctx, out, &index, c);
        add_spans(out, &index, c);
        if (out->classes[c].end > out->classes[out->slowest].end)
            out->slowest = c;
    }
    return SC_OK;
}
