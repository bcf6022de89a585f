/* A sweep over the moments at which something of the class starts, becomes
 * ready or ends. A stream computes one thing at a time, so the state between two
 * moments is one compute span (or none) per stream, and the transfer that came
 * last: those of graphs hold no stream and may overlap.
 *
 * Why a class is idle the simulator has noted; for a measurement it is told
 * from what its streams do: a transfer under way is communication, one that
 * waits in a collective is skew, anything else is bubble. */
#include "result/segments.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[SC__SEGMENT_KINDS] = {"forward",
                                                     "backward",
                                                     "wgrad",
                                                     "recompute",
                                                     "update",
                                                     "comm",
                                                     "bubble",
                                                     "skew",
                                                     "other"};

const char *sc__segment_name(enum sc__segment_kind kind) {
    return names[kind];
}

const char *sc__span_label(const struct sc__workload *w, const struct sc__op *op) {
    return op->kind == SC__OP_COLLECTIVE ? w->groups[op->group].label
                                         : sc__message_label(w);
}

static int segments_by_start(const void *x, const void *y, void *self) {
    const struct sc__span *spans = self;
    uint32_t i = *(const uint32_t *)x;
    uint32_t k = *(const uint32_t *)y;
    if (spans[i].start != spans[k].start)
        return spans[i].start < spans[k].start ? -1 : 1;
    return i < k ? -1 : i > k;
}

/* Sorts 0 … count by class, keeping their order: the class of i is at
 * classes + i · stride. */
static uint32_t *sort_by_class(struct sc__arena *a,
                               const void *class,
                               size_t stride,
                               uint32_t count,
                               uint32_t classes,
                               uint32_t **first) {
    const char *at = class;
    uint32_t *order = SC__NEW_ARRAY(a, uint32_t, count + 1);
    uint32_t *from = SC__NEW_ARRAY(a, uint32_t, classes + 2);
    for (uint32_t i = 0; i < count; i++)
        from[*(const uint32_t *)(const void *)(at + i * stride) + 2]++;
    for (uint32_t c = 2; c < classes + 2; c++)
        from[c] += from[c - 1];
    for (uint32_t i = 0; i < count; i++)
        order[from[*(const uint32_t *)(const void *)(at + i * stride) + 1]++] = i;
    *first = from;
    return order;
}

void sc__by_class(struct sc__arena *a,
                  const struct sc__timeline *t,
                  struct sc__by_class *out) {
    uint32_t classes = t->workload->class_count;
    out->classes = classes;
    out->spans = sort_by_class(a,
                               t->count ? &t->spans->class : NULL,
                               sizeof *t->spans,
                               t->count,
                               classes,
                               &out->first);
    out->idles = sort_by_class(a,
                               t->idle_count ? &t->idles->class : NULL,
                               sizeof *t->idles,
                               t->idle_count,
                               classes,
                               &out->first_idle);
    for (uint32_t c = 0; c < classes; c++)
        sc__sort(out->spans + out->first[c],
                 out->first[c + 1] - out->first[c],
                 sizeof *out->spans,
                 segments_by_start,
                 t->spans);
}

struct moment {
    int64_t time;
    uint32_t span; /* or idle */
    uint8_t what;  /* in this order at equal times */
};
enum { ENDS, STARTS, IS_READY, IDLE_ENDS, IDLE_STARTS };

static int by_time(const void *x, const void *y) {
    const struct moment *a = x;
    const struct moment *b = y;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->what != b->what)
        return a->what < b->what ? -1 : 1;
    return a->span < b->span ? -1 : a->span > b->span;
}

struct sweep {
    const struct sc__timeline *t;
    struct sc__arena *arena;
    struct sc__segments *out;
    /* active: transfers */
    uint32_t computing[SC__MAX_STREAMS];
    uint32_t active[SC__MAX_STREAMS];
    bool moving[SC__MAX_STREAMS]; /* past ready */
    uint32_t idle;                /* in timeline.idles */
};

static const struct sc__op *op_of(const struct sweep *s, uint32_t span) {
    return &s->t->workload->ops[s->t->spans[span].op];
}

static uint8_t compute_kind(const struct sc__op *op) {
    static const uint8_t by_phase[SC__PHASES] = {SC__SEGMENT_FORWARD,
                                                 SC__SEGMENT_BACKWARD,
                                                 SC__SEGMENT_WGRAD,
                                                 SC__SEGMENT_RECOMPUTE,
                                                 SC__SEGMENT_UPDATE};
    return op->work == SC__WORK_HOST ? SC__SEGMENT_OTHER : by_phase[op->phase];
}

/* How telling a transfer is for an idle moment; 0: it says nothing. */
static int weight(const struct sweep *s, unsigned stream) {
    if (s->active[stream] == SC__NONE)
        return 0;
    if (s->moving[stream])
        return stream == s->t->workload->compute_stream ? 4 : 3;
    const struct sc__op *op = op_of(s, s->active[stream]);
    return op->kind == SC__OP_COLLECTIVE &&
                   !sc__group_across_stages(s->t->workload, op->group)
               ? 2
               : 1;
}

static struct sc__segment guess(const struct sweep *s) {
    static const uint8_t kinds[] = {SC__SEGMENT_BUBBLE,
                                    SC__SEGMENT_BUBBLE,
                                    SC__SEGMENT_SKEW,
                                    SC__SEGMENT_COMM,
                                    SC__SEGMENT_COMM};
    struct sc__segment best = {.span = SC__NONE, .kind = SC__SEGMENT_BUBBLE};
    int heaviest = 0;
    for (unsigned i = 0; i < SC__MAX_STREAMS; i++) {
        int w = weight(s, i);
        if (w <= heaviest)
            continue;
        heaviest = w;
        best = (struct sc__segment){.span = s->active[i], .kind = kinds[w]};
    }
    return best;
}

static bool fits(const struct sweep *s, unsigned stream, uint32_t why) {
    if (s->active[stream] == SC__NONE)
        return false;
    const struct sc__op *op = op_of(s, s->active[stream]);
    bool collective = op->kind == SC__OP_COLLECTIVE;
    if (why == SC__IDLE_BUBBLE)
        return !s->moving[stream] &&
               !(collective && !sc__group_across_stages(s->t->workload, op->group));
    if (why == SC__IDLE_SKEW)
        return collective && !s->moving[stream];
    return why >= SC__IDLE_COMM && s->moving[stream] &&
           why - SC__IDLE_COMM == (collective ? op->group : s->t->workload->group_count);
}

/* What the simulator noted, and the transfer it must have been. */
static struct sc__segment noted(const struct sweep *s, uint32_t why) {
    static const uint8_t kinds[] = {SC__SEGMENT_BUBBLE,
                                    SC__SEGMENT_SKEW,
                                    SC__SEGMENT_OTHER,
                                    SC__SEGMENT_COMM};
    struct sc__segment g = {.span = SC__NONE,
                            .kind = kinds[why < SC__IDLE_COMM ? why : SC__IDLE_COMM]};
    for (unsigned i = 0; i < SC__MAX_STREAMS && g.span == SC__NONE; i++)
        if (fits(s, i, why))
            g.span = s->active[i];
    return g;
}

/* What the class is doing now. */
static struct sc__segment state(const struct sweep *s) {
    for (unsigned i = 0; i < SC__MAX_STREAMS; i++)
        if (s->computing[i] != SC__NONE)
            return (struct sc__segment){.span = s->computing[i],
                                        .kind = compute_kind(op_of(s, s->computing[i]))};
    return s->idle == SC__NONE ? guess(s) : noted(s, s->t->idles[s->idle].why);
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

static void segments_apply(struct sweep *s, const struct moment *m) {
    if (m->what >= IDLE_ENDS) {
        s->idle = m->what == IDLE_STARTS ? m->span : SC__NONE;
        return;
    }
    const struct sc__op *op = op_of(s, m->span);
    uint32_t *slot = &(op->kind == SC__OP_COMPUTE ? s->computing : s->active)[op->stream];
    if (m->what == STARTS)
        *slot = m->span;
    if (*slot != m->span)
        return;
    if (m->what == ENDS)
        *slot = SC__NONE;
    if (op->kind != SC__OP_COMPUTE)
        s->moving[op->stream] = m->what == IS_READY;
}

static uint32_t collect(const struct sc__timeline *t,
                        const uint32_t *spans,
                        uint32_t count,
                        struct moment *m) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sc__span *s = &t->spans[spans[i]];
        if (s->end <= s->start)
            continue; /* takes no time */
        m[n++] = (struct moment){s->start, spans[i], STARTS};
        m[n++] =
            (struct moment){s->ready > s->start ? s->ready : s->start, spans[i], IS_READY};
        m[n++] = (struct moment){s->end, spans[i], ENDS};
    }
    return n;
}

static uint32_t collect_idles(const struct sc__timeline *t,
                              const uint32_t *idles,
                              uint32_t count,
                              struct moment *m) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        m[n++] = (struct moment){t->idles[idles[i]].start, idles[i], IDLE_STARTS};
        m[n++] = (struct moment){t->idles[idles[i]].end, idles[i], IDLE_ENDS};
    }
    return n;
}

void sc__segments(struct sc__arena *a,
                  const struct sc__timeline *t,
                  const struct sc__by_class *index,
                  uint32_t class,
                  struct sc__segments *out) {
    uint32_t first = index->first[class];
    uint32_t count = index->first[class + 1] - first;
    uint32_t idle = index->first_idle[class];
    uint32_t idles = index->first_idle[class + 1] - idle;
    struct moment *m =
        SC__NEW_ARRAY(a, struct moment, (size_t)count * 3 + (size_t)idles * 2 + 1);
    uint32_t n = collect(t, index->spans + first, count, m);
    n += collect_idles(t, index->idles + idle, idles, m + n);
    struct sweep s = {.t = t, .arena = a, .out = out, .idle = SC__NONE};
    int64_t now = 0;
    memset(out, 0, sizeof *out);
    memset(s.active, 0xff, sizeof s.active);
    memset(s.computing, 0xff, sizeof s.computing);
    qsort(m, n, sizeof *m, by_time);
    for (uint32_t i = 0; i < n; i++) {
        if (m[i].time > now)
            emit(&s, now, m[i].time);
        if (m[i].time > now)
            now = m[i].time;
        segments_apply(&s, &m[i]);
    }
    if (t->end > now)
        emit(&s, now, t->end);
}
