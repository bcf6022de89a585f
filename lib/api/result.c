/* result: the public accessors and writers. */
#include "api/object.h"
#include "base/argument.h"
#include "report/write.h"

#include <string.h>

static double us(int64_t ps) {
    return (double)ps / 1e6; /* correctly rounded: what the JSON says, read back */
}

double sc_result_step_us(const sc_result *r) {
    return us(r->result.step);
}
double sc_result_mfu(const sc_result *r) {
    return r->result.mfu;
}
double sc_result_hfu(const sc_result *r) {
    return r->result.hfu;
}
double sc_result_tokens_per_s(const sc_result *r) {
    return r->result.tokens_per_s;
}
double sc_result_tflops_per_gpu(const sc_result *r) {
    return r->result.tflops_per_gpu;
}
double sc_result_energy_j(const sc_result *r) {
    return r->result.energy_j;
}
double sc_result_cost_usd(const sc_result *r) {
    return r->result.cost_usd;
}
uint64_t sc_result_events(const sc_result *r) {
    return r->result.events;
}
uint32_t sc_result_ranks(const sc_result *r) {
    return sc__mesh_ranks(&r->result.workload->mesh);
}
uint32_t sc_result_stages(const sc_result *r) {
    return r->result.class_count;
}
uint32_t sc_result_slowest_stage(const sc_result *r) {
    return r->result.slowest;
}
uint32_t sc_result_groups(const sc_result *r) {
    return r->result.labels;
}

sc_status sc_result_breakdown(const sc_result *r, uint32_t stage, sc_breakdown *out) {
    if (!r || stage >= r->result.class_count)
        return SC_USAGE;
    const struct sc__result *from = &r->result;
    const struct sc__class_breakdown *c = &from->classes[stage];
    const struct sc__breakdown *b = &c->breakdown;
    int64_t exposed = 0;
    for (uint32_t i = 0; i < from->labels; i++)
        exposed += b->comm[i].exposed;
    *out = (sc_breakdown){.stage = c->class->name,
                          .ranks = c->class->ranks,
                          .end_us = us(c->end),
                          .compute_us = us(b->compute),
                          .recompute_us = us(b->recompute),
                          .bubble_us = us(b->bubble),
                          .exposed_us = us(exposed),
                          .skew_us = us(b->skew),
                          .other_us = us(b->other)};
    return SC_OK;
}

sc_status sc_result_communication(const sc_result *r,
                                  uint32_t stage,
                                  uint32_t group,
                                  sc_communication *out) {
    if (!r || stage >= r->result.class_count || group >= r->result.labels)
        return SC_USAGE;
    const struct sc__by_label *l = &r->result.classes[stage].breakdown.comm[group];
    *out = (sc_communication){.group = l->label,
                              .operations = l->ops,
                              .bytes = l->bytes,
                              .busy_us = us(l->busy),
                              .exposed_us = us(l->exposed)};
    return SC_OK;
}

sc_status sc_result_memory(const sc_result *r, uint32_t stage, sc_memory *out) {
    if (!r || stage >= r->result.workload->class_count)
        return SC_USAGE;
    const struct sc__workload *w = r->result.workload;
    *out = (sc_memory){.capacity = w->memory_capacity};
    if (!w->memory)
        return SC_OK;
    const struct sc__memory *m = &w->memory[stage];
    out->weights = m->weights;
    out->gradients = m->gradients;
    out->optimizer = m->optimizer;
    out->activations = m->activations;
    out->logits = m->logits;
    out->workspace = m->workspace;
    out->communication = m->communication;
    out->context = m->context;
    out->fragmentation = m->fragmentation;
    out->total = sc__memory_total(m);
    return SC_OK;
}

uint64_t sc_result_host_bytes(const sc_result *r, uint32_t stage) {
    const struct sc__workload *w = r->result.workload;
    return w->memory && stage < w->class_count ? w->memory[stage].host : 0;
}

sc_status sc_result_what_if(const sc_result *r, uint32_t i, sc_what_if *out) {
    const struct sc__whatif *t = r ? r->result.whatif : NULL;
    if (!t || i >= t->count)
        return SC_USAGE;
    *out = (sc_what_if){.key = t->rows[i].key,
                        .title = t->rows[i].title,
                        .half_us = us(t->rows[i].at_half),
                        .zero_us = us(t->rows[i].at_zero)};
    return SC_OK;
}

sc_status sc_result_critical_path(const sc_result *r, uint32_t i, sc_critical *out) {
    if (!r || i >= r->result.critical_path.count)
        return SC_USAGE;
    const struct sc__workload *w = r->result.workload;
    const struct sc__critical_piece *p = &r->result.critical_path.pieces[i];
    bool works = p->span != SC__NONE;
    uint32_t op = works ? r->result.timeline->spans[p->span].op : 0;
    *out = (sc_critical){.stage = p->class,
                         .operation = works ? w->names.text[w->ops[op].name] : NULL,
                         .start_us = us(p->start),
                         .end_us = us(p->end)};
    return SC_OK;
}

const sc_plan *sc_result_plan(const sc_result *r) {
    return r->from_model ? &r->settings : NULL;
}

uint32_t sc_result_notes(const sc_result *r) {
    return r->result.note_count;
}
const char *sc_result_note_code(const sc_result *r, uint32_t i) {
    return i < r->result.note_count ? r->result.notes[i].code : NULL;
}
const char *sc_result_note_text(const sc_result *r, uint32_t i) {
    return i < r->result.note_count ? r->result.notes[i].text : NULL;
}

/* ---- writing ---- */

struct writing {
    struct sc_context *scratch;
    const sc_result *result;
    const char *format;
    sc_sink *sink;
    void *user;
    bool failed;
};

static void hand_on(void *self, const char *bytes, size_t n) {
    struct writing *w = self;
    if (!w->failed && w->sink(w->user, bytes, n))
        w->failed = true;
}

static sc_status
write_html(struct sc_context *ctx, const struct sc__result *r, struct sc__buffer *out) {
    const char *name = r->file_count ? r->files[0] : "step";
    struct sc__page_side side = {.name = name, .result = r};
    SC__TRY(sc__page_check(ctx));
    sc__write_html(&side, 1, out);
    return SC_OK;
}

/* One rank of each stage: the others do the same at the same time. */
static sc_status
write_trace(struct sc_context *ctx, const struct sc__result *r, struct sc__buffer *out) {
    struct sc__trace_ranks ranks;
    SC__TRY(sc__trace_ranks(ctx, r->workload, NULL, &ranks));
    sc__write_trace(r, &ranks, out);
    return SC_OK;
}

static sc_status
write_as(struct sc_context *ctx, const struct writing *w, struct sc__buffer *out) {
    static const char *const formats[] = {"json", "text", "csv", "html", "trace", NULL};
    const struct sc__result *r = &w->result->result;
    unsigned format = 0;
    while (formats[format] && strcmp(formats[format], w->format))
        format++;
    if (format >= 2 && formats[format] && !r->timeline)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "set sc_options.timeline to SC_ON; in Python timeline=True",
                        "%s needs the timeline, which was not kept",
                        w->format);
    switch (format) {
    case 0:
        sc__write_json(r, r->whatif ? SC__JSON_WHAT_IF : 0, out);
        return SC_OK;
    case 1:
        sc__write_text(r, false, 0, out);
        return SC_OK;
    case 2:
        sc__write_csv(r, out);
        return SC_OK;
    case 3:
        return write_html(ctx, r, out);
    case 4:
        return write_trace(ctx, r, out);
    default:
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "json, text, csv, html or trace",
                        "a result cannot be written as '%s'",
                        w->format);
    }
}

static sc_status write_result(void *self) {
    struct writing *w = self;
    struct sc_context *scratch = w->scratch;
    struct sc__buffer out;
    SC__TRY(sc__argument(scratch, w->result, "r"));
    SC__TRY(sc__argument(scratch, w->format, "format"));
    if (!w->sink)
        return sc__argument(scratch, NULL, "sink");
    sc__buffer_init(&out, &scratch->arena);
    sc__buffer_stream(&out, hand_on, w);
    SC__TRY(write_as(scratch, w, &out));
    sc__buffer_flush(&out);
    return w->failed ? sc__fail(scratch, SC_SYSTEM, NULL, NULL, "cannot write the output")
                     : SC_OK;
}

/* What writing needs is made in a context of its own: the result stays as it is. */
sc_status sc_result_write(
    sc_context *ctx, const sc_result *r, const char *format, sc_sink *sink, void *user) {
    struct writing w = {.result = r, .format = format, .sink = sink, .user = user};
    struct sc_context scratch;
    sc__context_init(&scratch, NULL);
    w.scratch = &scratch;
    sc_status status = sc__guarded(&scratch, write_result, &w);
    sc__error_move(ctx, &scratch);
    sc__context_end(&scratch);
    return status;
}
