/* A sweep over the moments at which something of the class starts, becomes
 * ready or ends. The state between two moments is what each stream has under way:
 * one thing in a program, but transfers of graphs hold no stream and may overlap,
 * and so may kernels that were measured.
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
    uint32_t span; /* its place in the class's, or the idle */
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

/* What a span under way says of its class. */
enum under_way {
    COMPUTES,
    MOVES,         /* a transfer past ready */
    WAITS_IN_SKEW, /* for peers of its own stage */
    WAITS,
    UNDER_WAY
};

/* In a list of those that say the same on the same stream, the last that came first. */
struct link {
    uint32_t next;
    uint32_t before;
    uint8_t list; /* enum under_way; UNDER_WAY: it has ended */
};

struct sweep {
    const struct sc__timeline *t;
    struct sc__arena *arena;
    struct sc__segments *out;
    const uint32_t *spans; /* of the class; the numbers below count in it */
    struct link *link;
    uint32_t first[UNDER_WAY][SC__MAX_STREAMS];
    uint32_t idle; /* in timeline.idles */
};

static const struct sc__op *op_of(const struct sweep *s, uint32_t at) {
    return &s->t->workload->ops[s->t->spans[s->spans[at]].op];
}

static void enter(struct sweep *s, uint32_t at, enum under_way list) {
    uint32_t *first = &s->first[list][op_of(s, at)->stream];
    s->link[at] = (struct link){.next = *first, .before = SC__NONE, .list = (uint8_t)list};
    if (*first != SC__NONE)
        s->link[*first].before = at;
    *first = at;
}

static void leave(struct sweep *s, uint32_t at) {
    struct link *l = &s->link[at];
    if (l->before == SC__NONE)
        s->first[l->list][op_of(s, at)->stream] = l->next;
    else
        s->link[l->before].next = l->next;
    if (l->next != SC__NONE)
        s->link[l->next].before = l->before;
    l->list = UNDER_WAY;
}

static uint8_t compute_kind(const struct sc__op *op) {
    static const uint8_t by_phase[SC__PHASES] = {SC__SEGMENT_FORWARD,
                                                 SC__SEGMENT_BACKWARD,
                                                 SC__SEGMENT_WGRAD,
                                                 SC__SEGMENT_RECOMPUTE,
                                                 SC__SEGMENT_UPDATE};
    return op->work == SC__WORK_HOST ? SC__SEGMENT_OTHER : by_phase[op->phase];
}

static struct sc__segment
segment_of(const struct sweep *s, uint32_t at, enum sc__segment_kind kind) {
    return (struct sc__segment){.span = s->spans[at], .kind = (uint8_t)kind};
}

/* What tells most of an idle moment, a transfer on the compute stream before others. */
static struct sc__segment guess(const struct sweep *s) {
    static const struct {
        uint8_t list;
        uint8_t kind;
    } telling[] = {{MOVES, SC__SEGMENT_COMM},
                   {WAITS_IN_SKEW, SC__SEGMENT_SKEW},
                   {WAITS, SC__SEGMENT_BUBBLE}};
    uint32_t compute = s->first[MOVES][s->t->workload->compute_stream];
    if (compute != SC__NONE)
        return segment_of(s, compute, SC__SEGMENT_COMM);
    for (unsigned k = 0; k < sizeof telling / sizeof *telling; k++)
        for (unsigned i = 0; i < SC__MAX_STREAMS; i++)
            if (s->first[telling[k].list][i] != SC__NONE)
                return segment_of(s, s->first[telling[k].list][i], telling[k].kind);
    return (struct sc__segment){.span = SC__NONE, .kind = SC__SEGMENT_BUBBLE};
}

/* Whether it is of the group (all groups' messages: behind the last) that was waited for.
 */
static bool is_of(const struct sweep *s, uint32_t at, uint32_t group) {
    const struct sc__op *op = op_of(s, at);
    return group ==
           (op->kind == SC__OP_COLLECTIVE ? op->group : s->t->workload->group_count);
}

/* The transfer of a stream that a class was idle for; SC__NONE: none. */
static uint32_t waited_for(const struct sweep *s, unsigned stream, uint32_t why) {
    if (why == SC__IDLE_BUBBLE)
        return s->first[WAITS][stream];
    if (why == SC__IDLE_SKEW)
        return s->first[WAITS_IN_SKEW][stream];
    uint32_t at = why < SC__IDLE_COMM ? SC__NONE : s->first[MOVES][stream];
    while (at != SC__NONE && !is_of(s, at, why - SC__IDLE_COMM))
        at = s->link[at].next;
    return at;
}

/* What the simulator noted, and the transfer it must have been. */
static struct sc__segment noted(const struct sweep *s, uint32_t why) {
    static const uint8_t kinds[] = {SC__SEGMENT_BUBBLE,
                                    SC__SEGMENT_SKEW,
                                    SC__SEGMENT_OTHER,
                                    SC__SEGMENT_COMM};
    uint8_t kind = kinds[why < SC__IDLE_COMM ? why : SC__IDLE_COMM];
    for (unsigned i = 0; i < SC__MAX_STREAMS; i++) {
        uint32_t at = waited_for(s, i, why);
        if (at != SC__NONE)
            return segment_of(s, at, kind);
    }
    return (struct sc__segment){.span = SC__NONE, .kind = kind};
}

/* What computes; else, where some stream's host is late, that; else SC__NONE. */
static uint32_t computing(const struct sweep *s) {
    uint32_t host = SC__NONE;
    for (unsigned i = 0; i < SC__MAX_STREAMS; i++) {
        uint32_t at = s->first[COMPUTES][i];
        while (at != SC__NONE && op_of(s, at)->work == SC__WORK_HOST) {
            if (host == SC__NONE)
                host = at;
            at = s->link[at].next;
        }
        if (at != SC__NONE)
            return at;
    }
    return host;
}

/* What the class is doing now. */
static struct sc__segment state(const struct sweep *s) {
    uint32_t at = computing(s);
    if (at != SC__NONE)
        return segment_of(s, at, compute_kind(op_of(s, at)));
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
    if (m->what == IS_READY && s->link[m->span].list == UNDER_WAY)
        return; /* it ended in the moment in which its last peer came */
    if (m->what != STARTS)
        leave(s, m->span);
    if (m->what == ENDS)
        return;
    bool inside = op->kind == SC__OP_COLLECTIVE &&
                  !sc__group_across_stages(s->t->workload, op->group);
    enter(s,
          m->span,
          op->kind == SC__OP_COMPUTE ? COMPUTES
          : m->what == IS_READY      ? MOVES
          : inside                   ? WAITS_IN_SKEW
                                     : WAITS);
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
        m[n++] = (struct moment){s->start, i, STARTS};
        m[n++] = (struct moment){s->ready > s->start ? s->ready : s->start, i, IS_READY};
        m[n++] = (struct moment){s->end, i, ENDS};
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
    struct sweep s = {.t = t,
                      .arena = a,
                      .out = out,
                      .spans = index->spans + first,
                      .link = SC__NEW_ARRAY(a, struct link, count + 1),
                      .idle = SC__NONE};
    int64_t now = 0;
    memset(out, 0, sizeof *out);
    memset(s.first, 0xff, sizeof s.first);
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
