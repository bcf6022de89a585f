/* The trace event format as Perfetto's trace_processor wants it:
 *   - pid = rank + 1; tid unique over the whole file, from 1 on; names and the
 *     order of processes and threads as metadata without ts
 *   - complete events ("X") that nest on their lane. The time a transfer waits
 *     for its peers is an event inside it
 *   - a message is a flow from the send to the receive, with an id of its own;
 *     it is written only when both ends are in the file
 *   - counters: traffic of the rank, and its memory where the plan knows it
 * Spans that overlap on one stream (graphs and measurements may have them) go
 * to a further lane of that stream. */
#include "report/write.h"

#include <stdio.h>
#include <string.h>

struct lane {
    int64_t end; /* of the last span */
    uint32_t tid;
};

struct lanes { /* of a stream */
    struct lane *items;
    uint32_t count;
    uint32_t capacity;
};

struct rank_trace {
    /* order: place in the file */
    uint32_t rank;
    uint32_t class;
    uint32_t order;
    struct lanes lanes[SC__MAX_STREAMS];
};

struct perfetto {
    const struct sc__result *r;
    const struct sc__timeline *t;
    const struct sc__workload *w;
    const struct sc__trace_ranks *ranks;
    const struct sc__by_class *index;
    struct sc__buffer *out;
    struct sc__arena scratch; /* of one rank at a time */
    bool after_event;
    /* so far */
    uint32_t flows;
    uint32_t threads;
    uint32_t *lane_of; /* by span: the lane it got (the same for every rank of its class) */
};

static void perfetto_put_number(struct perfetto *c, const char *before, uint64_t value) {
    sc__puts(c->out, before);
    sc__put_u64(c->out, value);
}

static void begin_event(struct perfetto *c, const char *phase, uint32_t rank) {
    sc__puts(c->out, c->after_event ? ",\n" : "\n");
    sc__puts(c->out, "{\"ph\":\"");
    sc__puts(c->out, phase);
    perfetto_put_number(c, "\",\"pid\":", rank + 1);
    c->after_event = true;
}

static void
perfetto_put_key_string(struct perfetto *c, const char *key, const char *value) {
    struct sc__json j;
    sc__json_init(&j, c->out);
    sc__putc(c->out, '"');
    sc__puts(c->out, key);
    sc__puts(c->out, "\":");
    sc__json_string(&j, NULL, value);
}

static void perfetto_put_time(struct perfetto *c, const char *key, int64_t ps) {
    sc__puts(c->out, key);
    sc__put_us(c->out, ps);
}

static const char *stream_name(const struct perfetto *c, unsigned stream) {
    const char *name = c->w->stream_names[stream];
    return name ? name
           : stream == c->w->compute_stream
               ? "compute"
               : sc__format(c->out->arena, "stream %u", stream);
}

static void perfetto_put_meta(struct perfetto *c,
                              const char *what,
                              uint32_t rank,
                              uint32_t tid,
                              const char *text,
                              uint32_t index) {
    begin_event(c, "M", rank);
    sc__printf(c->out, ",\"tid\":%u,\"name\":\"%s_name\",\"args\":{", tid, what);
    perfetto_put_key_string(c, "name", text);
    sc__puts(c->out, "}}");
    begin_event(c, "M", rank);
    sc__printf(c->out,
               ",\"tid\":%u,\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%u}}",
               tid,
               what,
               index);
}

static void new_lane(struct perfetto *c, struct rank_trace *k, unsigned stream) {
    struct lanes *l = &k->lanes[stream];
    const char *name = stream_name(c, stream);
    if (l->count)
        name = sc__format(c->out->arena, "%s (%u)", name, l->count + 1);
    SC__PUSH(c->out->arena, l->items, l->count, l->capacity)->tid = ++c->threads;
    perfetto_put_meta(c,
                      "thread",
                      k->rank,
                      c->threads,
                      name,
                      stream * 256 + (l->count < 256 ? l->count : 255));
}

/* The first lane of the stream that is free at the start of the span. */
static uint32_t pick_lane(struct perfetto *c,
                          struct rank_trace *k,
                          unsigned stream,
                          const struct sc__span *s) {
    struct lanes *l = &k->lanes[stream];
    uint32_t i = 0;
    while (i < l->count && l->items[i].end > s->start)
        i++;
    if (i == l->count)
        new_lane(c, k, stream);
    l->items[i].end = s->end;
    return i;
}

static void
perfetto_put_args(struct perfetto *c, const struct sc__span *s, const struct sc__op *op) {
    sc__puts(c->out, ",\"args\":{\"phase\":\"");
    sc__puts(c->out, sc__phase_name(op->phase));
    sc__putc(c->out, '"');
    if (s->micro_batch != SC__NONE)
        perfetto_put_number(c, ",\"micro_batch\":", s->micro_batch);
    if (c->w->vpp > 1)
        perfetto_put_number(c, ",\"chunk\":", s->chunk);
    if (op->layer != SC__NONE)
        perfetto_put_number(c, ",\"layer\":", op->layer);
    if (op->bytes)
        perfetto_put_number(c, ",\"bytes\":", op->bytes);
    if (op->kind == SC__OP_COMPUTE)
        sc__printf(c->out, ",\"work\":\"%s\"", sc__work_name(op->work));
    else {
        sc__putc(c->out, ',');
        perfetto_put_key_string(c, "group", sc__span_label(c->w, op));
    }
    if (op->kind == SC__OP_COLLECTIVE)
        sc__printf(c->out,
                   ",\"collective\":\"%s\",\"ranks\":%u",
                   sc__coll_name(op->coll),
                   sc__group_size(c->w, op->group));
    sc__putc(c->out, '}');
}

static void perfetto_put_slice(struct perfetto *c,
                               const struct rank_trace *k,
                               uint32_t tid,
                               const char *name,
                               const char *cat,
                               int64_t start,
                               int64_t end) {
    begin_event(c, "X", k->rank);
    perfetto_put_number(c, ",\"tid\":", tid);
    perfetto_put_time(c, ",\"ts\":", start);
    perfetto_put_time(c, ",\"dur\":", end - start);
    sc__puts(c->out, ",\"cat\":\"");
    sc__puts(c->out, cat);
    sc__puts(c->out, "\",");
    perfetto_put_key_string(c, "name", name);
}

static void perfetto_put_span(struct perfetto *c, struct rank_trace *k, uint32_t span) {
    const struct sc__span *s = &c->t->spans[span];
    const struct sc__op *op = &c->w->ops[s->op];
    if (op->kind == SC__OP_WAIT || s->end <= s->start)
        return;
    uint32_t lane = pick_lane(c, k, op->stream, s);
    uint32_t tid = k->lanes[op->stream].items[lane].tid;
    bool compute = op->kind == SC__OP_COMPUTE;
    c->lane_of[span] = lane;
    perfetto_put_slice(c,
                       k,
                       tid,
                       sc__trace_name(c->w, op),
                       compute ? sc__phase_name(op->phase) : "comm",
                       s->start,
                       s->end);
    perfetto_put_args(c, s, op);
    sc__putc(c->out, '}');
    if (compute || s->ready <= s->start)
        return;
    perfetto_put_slice(c,
                       k,
                       tid,
                       op->kind == SC__OP_COLLECTIVE ? "waiting for the group"
                                                     : "waiting for the peer",
                       "wait",
                       s->start,
                       s->ready);
    sc__putc(c->out, '}');
}

static void perfetto_put_rank(struct perfetto *c, struct rank_trace *k) {
    const struct sc__class *class = &c->w->classes[k->class];
    uint32_t stage = c->w->rank_class ? class->stage : k->class;
    perfetto_put_meta(c,
                      "process",
                      k->rank,
                      c->threads + 1,
                      class->ranks > 1 && c->ranks->representatives
                          ? sc__format(c->out->arena,
                                       "rank %u, stage %u (%u equal ranks)",
                                       k->rank,
                                       stage,
                                       class->ranks)
                          : sc__format(c->out->arena, "rank %u, stage %u", k->rank, stage),
                      k->order);
    for (uint32_t i = c->index->first[k->class]; i < c->index->first[k->class + 1]; i++)
        perfetto_put_span(c, k, c->index->spans[i]);
}

/* Inside the slice, so that the flow binds to it. */
static int64_t moment_inside(const struct sc__span *s) {
    return s->ready >= s->start && s->ready < s->end ? s->ready : s->start;
}

static void perfetto_put_flow_end(struct perfetto *c,
                                  const char *phase,
                                  const struct rank_trace *k,
                                  uint32_t span) {
    const struct sc__span *s = &c->t->spans[span];
    begin_event(c, phase, k->rank);
    sc__printf(c->out,
               ",\"tid\":%u",
               k->lanes[c->w->ops[s->op].stream].items[c->lane_of[span]].tid);
    perfetto_put_time(c, ",\"ts\":", moment_inside(s));
    sc__printf(c->out,
               ",\"cat\":\"message\",\"name\":\"message\",\"id\":%u%s}",
               c->flows,
               *phase == 'f' ? ",\"bp\":\"e\"" : "");
}

/* The trace of the rank that receives what k sends with this span. */
static const struct rank_trace *receiver(const struct perfetto *c,
                                         const struct rank_trace *all,
                                         const struct rank_trace *k,
                                         const struct sc__span *s) {
    uint32_t class = c->t->spans[s->peer_span].class;
    uint32_t peer = sc__op_peer(c->w, &c->w->ops[s->op], k->rank);
    for (uint32_t i = 0; i < c->ranks->count; i++)
        if (c->ranks->representatives ? all[i].class == class
                                      : all[i].rank == peer && all[i].class == class)
            return &all[i];
    return NULL;
}

static void perfetto_put_flows(struct perfetto *c,
                               const struct rank_trace *all,
                               const struct rank_trace *k) {
    for (uint32_t i = c->index->first[k->class]; i < c->index->first[k->class + 1]; i++) {
        uint32_t span = c->index->spans[i];
        const struct sc__span *s = &c->t->spans[span];
        const struct sc__span *to;
        if (c->w->ops[s->op].kind != SC__OP_SEND || s->peer_span == SC__NONE ||
            s->end <= s->start)
            continue;
        to = &c->t->spans[s->peer_span];
        const struct rank_trace *other =
            to->end > to->start ? receiver(c, all, k, s) : NULL;
        if (!other)
            continue;
        c->flows++;
        perfetto_put_flow_end(c, "s", k, span);
        perfetto_put_flow_end(c, "f", other, s->peer_span);
    }
}

static void perfetto_put_counter(struct perfetto *c,
                                 const struct rank_trace *k,
                                 const char *name,
                                 const char *unit,
                                 int64_t at,
                                 double value) {
    begin_event(c, "C", k->rank);
    perfetto_put_time(c, ",\"ts\":", at);
    sc__printf(c->out, ",\"name\":\"%s\",\"args\":{\"%s\":%.6g}}", name, unit, value);
}

/* A quantity over time: each event of the heap adds by[a], or takes it away. */
static void perfetto_put_changes(struct perfetto *c,
                                 const struct rank_trace *k,
                                 struct sc__heap *h,
                                 const double *by,
                                 const char *name,
                                 const char *unit,
                                 double value) {
    perfetto_put_counter(c, k, name, unit, 0, value);
    while (!sc__heap_empty(h)) {
        int64_t at = sc__heap_time(h);
        while (sc__heap_time(h) == at && !sc__heap_empty(h)) {
            struct sc__event e = sc__heap_pop(h);
            value += e.b ? -by[e.a] : by[e.a];
        }
        perfetto_put_counter(c, k, name, unit, at, value < 1e-9 ? 0 : value);
    }
}

/* Traffic of the rank: bytes over the time they moved, added up. */
static void perfetto_put_traffic(struct perfetto *c, const struct rank_trace *k) {
    uint32_t first = c->index->first[k->class];
    uint32_t count = c->index->first[k->class + 1] - first;
    double *rate = SC__NEW_ARRAY(&c->scratch, double, count + 1);
    struct sc__heap h;
    sc__heap_init(&h, &c->scratch);
    for (uint32_t i = 0; i < count; i++) {
        const struct sc__span *s = &c->t->spans[c->index->spans[first + i]];
        const struct sc__op *op = &c->w->ops[s->op];
        int64_t from = s->ready > s->start ? s->ready : s->start;
        if (op->kind == SC__OP_COMPUTE || op->kind == SC__OP_WAIT || !op->bytes ||
            s->end <= from)
            continue;
        rate[i] = (double)op->bytes / sc__us(s->end - from) / 1e3;
        sc__heap_push(&h, from, i, 0);
        sc__heap_push(&h, s->end, i, 1);
    }
    if (h.count)
        perfetto_put_changes(c, k, &h, rate, "traffic", "GB/s", 0);
}

struct live { /* activations held: from the end of a forward to the end of its backward */
    int64_t from;
    int64_t to;
};

/* Pieces of work of a micro-batch: when its forward ended and its backward. */
static uint32_t find_live(struct perfetto *c,
                          const struct rank_trace *k,
                          struct live *live,
                          uint32_t most) {
    uint32_t chunks = c->w->vpp ? c->w->vpp : 1;
    uint32_t used = 0;
    for (uint32_t i = c->index->first[k->class]; i < c->index->first[k->class + 1]; i++) {
        const struct sc__span *s = &c->t->spans[c->index->spans[i]];
        const struct sc__op *op = &c->w->ops[s->op];
        if (s->micro_batch == SC__NONE || op->kind != SC__OP_COMPUTE || s->chunk >= chunks)
            continue;
        uint64_t slot = (uint64_t)s->micro_batch * chunks + s->chunk;
        if (slot >= most)
            continue;
        int64_t *end = op->phase == SC__FORWARD ? &live[slot].from : &live[slot].to;
        if (s->end > *end)
            *end = s->end;
        if (slot + 1 > used)
            used = (uint32_t)slot + 1;
    }
    return used;
}

static double most_alive(const struct live *live, uint32_t n, struct sc__arena *a) {
    struct sc__heap h;
    int64_t now = 0;
    int64_t most = 0;
    sc__heap_init(&h, a);
    for (uint32_t i = 0; i < n; i++)
        if (live[i].from < live[i].to) {
            sc__heap_push(&h, live[i].from, 0, 0);
            sc__heap_push(&h, live[i].to, 0, 1);
        }
    while (!sc__heap_empty(&h)) {
        now += sc__heap_pop(&h).b ? -1 : 1;
        if (now > most)
            most = now;
    }
    return most > 1 ? (double)most : 1;
}

/* The plan's peak of activations, shared out over the micro-batches alive. */
static void perfetto_put_memory(struct perfetto *c, const struct rank_trace *k) {
    const struct sc__memory *m = c->w->memory ? &c->w->memory[k->class] : NULL;
    uint64_t slots = (uint64_t)c->w->micro_batches * (c->w->vpp ? c->w->vpp : 1);
    if (!m || !m->weights || !slots || slots > UINT32_MAX)
        return;
    struct live *live = SC__NEW_ARRAY(&c->scratch, struct live, slots);
    double *by = SC__NEW_ARRAY(&c->scratch, double, slots);
    uint32_t n = find_live(c, k, live, (uint32_t)slots);
    double most = most_alive(live, n, &c->scratch);
    struct sc__heap h;
    sc__heap_init(&h, &c->scratch);
    for (uint32_t i = 0; i < n; i++) {
        if (live[i].from >= live[i].to)
            continue;
        by[i] = (double)m->activations / most / 1e9;
        sc__heap_push(&h, live[i].from, i, 0);
        sc__heap_push(&h, live[i].to, i, 1);
    }
    double base = (double)(sc__memory_total(m) - m->activations) / 1e9;
    perfetto_put_changes(c, k, &h, by, "memory", "GB", base);
}

static void perfetto_put_counters(struct perfetto *c, const struct rank_trace *k) {
    sc__arena_init(&c->scratch);
    perfetto_put_traffic(c, k);
    perfetto_put_memory(c, k);
    sc__arena_free(&c->scratch);
}

static void perfetto_put_all(struct perfetto *c) {
    struct rank_trace *all =
        SC__NEW_ARRAY(c->out->arena, struct rank_trace, c->ranks->count);
    for (uint32_t i = 0; i < c->ranks->count; i++) {
        all[i].rank = c->ranks->ranks[i];
        all[i].class = sc__workload_class_of(c->w, all[i].rank);
        all[i].order = i;
        perfetto_put_rank(c, &all[i]);
        perfetto_put_counters(c, &all[i]);
    }
    for (uint32_t i = 0; i < c->ranks->count; i++)
        perfetto_put_flows(c, all, &all[i]);
}

void sc__write_trace(const struct sc__result *r,
                     const struct sc__trace_ranks *ranks,
                     struct sc__buffer *out) {
    struct perfetto c = {.r = r,
                         .t = r->timeline,
                         .w = r->workload,
                         .index = &r->by_class,
                         .ranks = ranks,
                         .out = out};
    c.lane_of = SC__NEW_ARRAY(out->arena, uint32_t, c.t->count + 1);
    sc__puts(out,
             "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"tool\":\"stepcast " SC_VERSION
             "\",\"step_us\":");
    sc__put_us(out, r->step);
    sc__puts(out, "},\"traceEvents\":[");
    perfetto_put_all(&c);
    sc__puts(out, "\n]}\n");
}
