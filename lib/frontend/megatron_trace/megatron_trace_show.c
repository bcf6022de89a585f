/* megatron_trace_show: what is in a set of traces: the ranks, the operations,
 * and which of their time is work, which is waiting. */
#include "frontend/megatron_trace/megatron_trace.h"

struct tally {
    uint32_t count;
    int64_t time;        /* all of it; a fused exchange once */
    uint32_t nested;     /* collectives inside */
    int64_t nested_time; /* of those that block */
};

static void add_rank(const struct sc__trace_rank *r,
                     struct tally tally[SC__TRACE_KINDS],
                     uint32_t *fused) {
    for (uint32_t i = 0; i < r->record_count; i++) {
        const struct sc__trace_record *rec = &r->records[i];
        struct tally *t = &tally[rec->kind];
        t->count++;
        if (rec->fused)
            (*fused)++;
        else if (rec->duration > 0)
            t->time += rec->duration;
        for (uint32_t k = 0; k < rec->subs; k++) {
            const struct sc__trace_sub *sub = &r->subs[rec->first_sub + k];
            t->nested++;
            if (!sub->async && sub->duration > 0)
                t->nested_time += sub->duration;
        }
    }
}

/* What the recorded time of an operation is made of. */
static const char *kind_role(uint8_t kind) {
    if (sc__trace_is_message(kind))
        return "wait + transfer";
    if (sc__trace_is_reduction(kind))
        return "wait + reduction";
    return "compute";
}

static const char *set_kind(const struct sc__trace_set *s) {
    return s->plan ? "plan" : s->profile ? "profile" : "measured";
}

static void show_text(const struct sc__trace_set *s,
                      const struct tally *tally,
                      uint32_t fused,
                      struct sc__buffer *out) {
    const struct sc__trace_facts *f = &s->facts;
    sc__printf(out,
               "  traces      %s, %u rank%s of %u run%s\n",
               set_kind(s),
               s->rank_count,
               s->rank_count == 1 ? "" : "s",
               s->runs,
               s->runs == 1 ? "" : "s");
    if (f->world)
        sc__printf(out,
                   "  names say   world %u, tp %u, pp %u, dp %u, ep %u, %u layers\n",
                   f->world,
                   f->tp,
                   f->pp,
                   f->dp,
                   f->ep ? f->ep : 1,
                   f->layers);
    if (s->rank_count == 1) {
        sc__printf(out, "  rank        %u, stage %u", s->ranks->rank, s->ranks->stage);
        if (f->pp)
            sc__printf(out, " of %u", f->pp);
        sc__putc(out, '\n');
    }
    sc__printf(out,
               "  iterations  %u\n  fused       %u exchanges told twice, counted once\n\n",
               s->ranks->iterations,
               fused);
    sc__printf(out,
               "  %-18s %8s %14s %8s %14s  %s\n",
               "operation",
               "records",
               "time ms",
               "nested",
               "nested ms",
               "holds");
    for (unsigned k = 0; k < SC__TRACE_KINDS; k++)
        if (tally[k].count)
            sc__printf(out,
                       "  %-18s %8u %14.2f %8u %14.2f  %s\n",
                       sc__trace_names[k],
                       tally[k].count,
                       (double)tally[k].time / 1e9,
                       tally[k].nested,
                       (double)tally[k].nested_time / 1e9,
                       kind_role((uint8_t)k));
}

static void show_json(const struct sc__trace_set *s,
                      const struct tally *tally,
                      uint32_t fused,
                      struct sc__json *j) {
    sc__json_object(j, "traces");
    sc__json_string(j, "kind", set_kind(s));
    sc__json_u64(j, "ranks", s->rank_count);
    sc__json_u64(j, "runs", s->runs);
    sc__json_u64(j, "iterations", s->ranks->iterations);
    sc__json_u64(j, "fused_exchanges", fused);
    sc__json_array(j, "operations");
    for (unsigned k = 0; k < SC__TRACE_KINDS; k++) {
        if (!tally[k].count)
            continue;
        sc__json_row(j, NULL);
        sc__json_string(j, "name", sc__trace_names[k]);
        sc__json_u64(j, "records", tally[k].count);
        sc__json_us(j, "time_us", tally[k].time);
        sc__json_u64(j, "nested", tally[k].nested);
        sc__json_us(j, "nested_us", tally[k].nested_time);
        sc__json_string(j, "holds", kind_role((uint8_t)k));
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
    sc__json_end_object(j);
}

void sc__trace_show(struct sc_context *ctx,
                    const struct sc__document *doc,
                    struct sc__buffer *text,
                    struct sc__json *json) {
    struct tally tally[SC__TRACE_KINDS] = {0};
    uint32_t fused = 0;
    (void)ctx;
    for (uint32_t i = 0; i < doc->traces->rank_count; i++)
        add_rank(&doc->traces->ranks[i], tally, &fused);
    if (text)
        show_text(doc->traces, tally, fused, text);
    if (json)
        show_json(doc->traces, tally, fused, json);
}
