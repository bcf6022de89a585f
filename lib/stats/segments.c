/* A sweep over the moments at which something of the class starts, becomes
 * ready or ends. Each stream runs one operation at a time, so the state between
 * two moments is one span (or none) per stream. */
#include "stats/segments.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[SC__SEGMENT_KINDS] = {"forward", "backward", "wgrad", "recompute", "update",
                                                     "comm",    "bubble",   "skew",  "other"};

const char *sc__segment_name(enum sc__segment_kind kind) { return names[kind]; }

const char *sc__span_label(const struct sc__workload *w, const struct sc__op *op) {
    return op->kind == SC__OP_COLLECTIVE ? w->groups[op->group].label : "pp";
}

static int by_start(const void *x, const void *y, void *self) {
    const struct sc__span *spans = self;
    uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
    if (spans[i].start != spans[k].start) return spans[i].start < spans[k].start ? -1 : 1;
    return i < k ? -1 : i > k;
}

void sc__by_class(struct sc__arena *a, const struct sc__timeline *t, struct sc__by_class *out) {
    uint32_t classes = t->workload->class_count;
    out->classes = classes;
    out->first = SC__NEW_ARRAY(a, uint32_t, classes + 2);
    out->spans = SC__NEW_ARRAY(a, uint32_t, t->count ? t->count : 1);
    for (uint32_t i = 0; i < t->count; i++) out->first[t->spans[i].class + 2]++;
    for (uint32_t c = 2; c < classes + 2; c++) out->first[c] += out->first[c - 1];
    for (uint32_t i = 0; i < t->count; i++) out->spans[out->first[t->spans[i].class + 1]++] = i;
    for (uint32_t c = 0; c < classes; c++)
        qsort_r(out->spans + out->first[c], out->first[c + 1] - out->first[c], sizeof *out->spans, by_start, t->spans);
}

struct moment {
    int64_t time;
    uint32_t span;
    uint8_t what; /* in this order at equal times */
};
enum { ENDS, STARTS, IS_READY };

static int by_time(const void *x, const void *y) {
    const struct moment *a = x, *b = y;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    if (a->what != b->what) return a->what < b->what ? -1 : 1;
    return a->span < b->span ? -1 : a->span > b->span;
}

struct sweep {
    const struct sc__timeline *t;
    struct sc__arena *arena;
    struct sc__segments *out;
    uint32_t active[SC__MAX_STREAMS];
    bool moving[SC__MAX_STREAMS]; /* past ready */
};

static const struct sc__op *op_of(const struct sweep *s, uint32_t span) {
    return &s->t->workload->ops[s->t->spans[span].op];
}

static uint8_t compute_kind(const struct sc__op *op) {
    static const uint8_t by_phase[SC__PHASES] = {SC__SEGMENT_FORWARD, SC__SEGMENT_BACKWARD, SC__SEGMENT_WGRAD,
                                                 SC__SEGMENT_RECOMPUTE, SC__SEGMENT_UPDATE};
    return op->work == SC__WORK_HOST ? SC__SEGMENT_OTHER : by_phase[op->phase];
}

/* How telling a transfer is for an idle moment; 0: it says nothing. */
static int weight(const struct sweep *s, unsigned stream) {
    if (s->active[stream] == SC__NONE) return 0;
    const struct sc__op *op = op_of(s, s->active[stream]);
    if (op->kind == SC__OP_COMPUTE || op->kind == SC__OP_WAIT) return 0;
    if (s->moving[stream]) return 3;
    return op->kind == SC__OP_COLLECTIVE ? 2 : 1;
}

/* What the class is doing now. */
static struct sc__segment state(const struct sweep *s) {
    static const uint8_t kinds[] = {SC__SEGMENT_BUBBLE, SC__SEGMENT_BUBBLE, SC__SEGMENT_SKEW, SC__SEGMENT_COMM};
    uint32_t running = s->active[s->t->workload->compute_stream];
    if (running != SC__NONE && op_of(s, running)->kind == SC__OP_COMPUTE)
        return (struct sc__segment){.span = running, .kind = compute_kind(op_of(s, running))};
    struct sc__segment best = {.span = SC__NONE, .kind = SC__SEGMENT_BUBBLE};
    int heaviest = 0;
    for (unsigned i = 0; i < SC__MAX_STREAMS; i++) {
        int w = weight(s, i);
        if (w <= heaviest) continue;
        heaviest = w;
        best = (struct sc__segment){.span = s->active[i], .kind = kinds[w]};
    }
    return best;
}

static void emit(struct sweep *s, int64_t from, int64_t to) {
    struct sc__segment now = state(s);
    struct sc__segments *out = s->out;
    struct sc__segment *last = out->count ? &out->items[out->count - 1] : NULL;
    out->total[now.kind] += to - from;
    if (last && last->kind == now.kind && last->span == now.span) {
        last->end = to;
        return;
    }
    now.start = from;
    now.end = to;
    *SC__PUSH(s->arena, out->items, out->count, out->capacity) = now;
}

static void apply(struct sweep *s, const struct moment *m) {
    unsigned stream = op_of(s, m->span)->stream;
    if (m->what == STARTS) {
        s->active[stream] = m->span;
        s->moving[stream] = false;
    } else if (s->active[stream] == m->span) {
        if (m->what == IS_READY)
            s->moving[stream] = true;
        else
            s->active[stream] = SC__NONE;
    }
}

static uint32_t collect(const struct sc__timeline *t, const uint32_t *spans, uint32_t count, struct moment *m) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sc__span *s = &t->spans[spans[i]];
        if (s->end <= s->start) continue; /* takes no time */
        m[n++] = (struct moment){s->start, spans[i], STARTS};
        m[n++] = (struct moment){s->ready > s->start ? s->ready : s->start, spans[i], IS_READY};
        m[n++] = (struct moment){s->end, spans[i], ENDS};
    }
    return n;
}

void sc__segments(struct sc__arena *a, const struct sc__timeline *t, const struct sc__by_class *index, uint32_t class,
                  struct sc__segments *out) {
    uint32_t first = index->first[class], count = index->first[class + 1] - first;
    struct moment *m = SC__NEW_ARRAY(a, struct moment, (size_t)count * 3 + 1);
    uint32_t n = collect(t, index->spans + first, count, m);
    struct sweep s = {.t = t, .arena = a, .out = out};
    int64_t now = 0;
    memset(out, 0, sizeof *out);
    memset(s.active, 0xff, sizeof s.active);
    qsort(m, n, sizeof *m, by_time);
    for (uint32_t i = 0; i < n; i++) {
        if (m[i].time > now) emit(&s, now, m[i].time);
        if (m[i].time > now) now = m[i].time;
        apply(&s, &m[i]);
    }
    if (t->end > now) emit(&s, now, t->end);
}
