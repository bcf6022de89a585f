/* Walks backwards from the end of the step. Times are integers and whatever
 * waits starts in the very picosecond in which its cause ends, so the cause is
 * found by its end time. A transfer that waited for a peer was caused by the
 * last one to arrive: the path goes over to that class.
 *
 *     stage 0   ▓▓▓▓F▓▓▓▓ send ·············· recv ▓▓▓B▓▓▓
 *                          ↘                  ↗
 *     stage 1              recv ▓▓F▓▓ ▓▓▓B▓▓▓ send
 */
#include "result/critical_path.h"

#include <stdlib.h>
#include <string.h>

struct critical_walk {
    struct sc__arena *arena;
    const struct sc__timeline *t;
    const struct sc__by_class *index;
    uint32_t *by_end;  /* like index->spans, in the order of end */
    uint32_t *partner; /* receive → its send */
    struct sc__map
        last_arrival; /* (ready, end, group) of a collective → span that came last */
    struct sc__critical *out;
};

static int by_end(const void *x, const void *y, void *self) {
    const struct sc__span *spans = self;
    const struct sc__span *a = &spans[*(const uint32_t *)x];
    const struct sc__span *b = &spans[*(const uint32_t *)y];
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a < b ? -1 : a > b;
}

static uint64_t rendezvous(const struct critical_walk *k, const struct sc__span *s) {
    int64_t key[3] = {s->ready, s->end, k->t->workload->ops[s->op].group};
    return sc__hash(key, sizeof key, 0);
}

static void critical_index_spans(struct critical_walk *k) {
    const struct sc__timeline *t = k->t;
    k->by_end = SC__NEW_ARRAY(k->arena, uint32_t, t->count ? t->count : 1);
    k->partner = SC__NEW_ARRAY(k->arena, uint32_t, t->count ? t->count : 1);
    memset(k->partner, 0xff, t->count * sizeof *k->partner);
    memcpy(k->by_end, k->index->spans, t->count * sizeof *k->by_end);
    for (uint32_t c = 0; c < k->index->classes; c++)
        sc__sort(k->by_end + k->index->first[c],
                 k->index->first[c + 1] - k->index->first[c],
                 sizeof *k->by_end,
                 by_end,
                 t->spans);
    sc__map_init(&k->last_arrival, k->arena);
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__span *s = &t->spans[i];
        uint8_t kind = t->workload->ops[s->op].kind;
        if (kind == SC__OP_SEND && s->peer_span != SC__NONE)
            k->partner[s->peer_span] = i;
        if (kind == SC__OP_COLLECTIVE && s->start == s->ready)
            *sc__map_at(&k->last_arrival, rendezvous(k, s), NULL) = i;
    }
}

/* The span of the class with the latest end ≤ time that took time: of those
 * that end together, the one that started first. SC__NONE: there is none. */
static uint32_t
critical_latest_before(const struct critical_walk *k, uint32_t class, int64_t time) {
    const struct sc__span *spans = k->t->spans;
    uint32_t low = k->index->first[class];
    uint32_t begin = low;
    uint32_t high = k->index->first[class + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (spans[k->by_end[middle]].end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t best = SC__NONE;
    for (uint32_t i = low; i > begin; i--) {
        const struct sc__span *s = &spans[k->by_end[i - 1]];
        if (best != SC__NONE && s->end < spans[best].end)
            break;
        if (s->start < s->end)
            best = k->by_end[i - 1];
    }
    return best;
}

static void critical_push(
    struct critical_walk *k, uint32_t class, uint32_t span, int64_t start, int64_t end) {
    if (start < end)
        *SC__PUSH(k->arena, k->out->pieces, k->out->count, k->out->capacity) =
            (struct sc__critical_piece){class, span, start, end};
}

/* Who kept the transfer waiting until it was ready; SC__NONE: nobody known. */
static uint32_t critical_kept_waiting_by(const struct critical_walk *k, uint32_t span) {
    const struct sc__span *s = &k->t->spans[span];
    uint8_t kind = k->t->workload->ops[s->op].kind;
    if (s->ready <= s->start)
        return SC__NONE;
    if (kind == SC__OP_RECV)
        return k->partner[span];
    if (kind == SC__OP_SEND)
        return s->peer_span;
    if (kind != SC__OP_COLLECTIVE)
        return SC__NONE;
    uint64_t *found = sc__map_find(&k->last_arrival, rendezvous(k, s));
    return found ? (uint32_t)*found : SC__NONE;
}

/* Takes the span onto the path up to `time` and gives what the path goes on
 * with: a class and a time. */
static int64_t
critical_path_take(struct critical_walk *k, uint32_t span, int64_t time, uint32_t *class) {
    const struct sc__span *s = &k->t->spans[span];
    uint32_t other = critical_kept_waiting_by(k, span);
    int64_t from = other == SC__NONE ? s->start : s->ready;
    /* what arrived in the moment in which it was taken, as at a rank that takes any, was on
     * its way before; else nothing would be gone back */
    bool flew = other != SC__NONE && k->t->spans[other].start < from;
    if (from > time || (from == time && !flew))
        from = s->start;
    critical_push(k, s->class, span, from, time);
    if (other != SC__NONE && from == s->ready) {
        const struct sc__span *o = &k->t->spans[other];
        *class = o->class;
        if (o->start < from) { /* it came early, and what it sent took until now */
            critical_push(k, o->class, other, o->start, from);
            return o->start;
        }
    }
    return from;
}

static void critical_reverse(struct sc__critical *c) {
    for (uint32_t i = 0, n = c->count; i < n / 2; i++) {
        struct sc__critical_piece p = c->pieces[i];
        c->pieces[i] = c->pieces[n - 1 - i];
        c->pieces[n - 1 - i] = p;
    }
}

/* Class whose last span ends last. */
static uint32_t critical_last_class(const struct critical_walk *k) {
    uint32_t best = 0;
    int64_t latest = -1;
    for (uint32_t c = 0; c < k->index->classes; c++) {
        uint32_t span = critical_latest_before(k, c, INT64_MAX);
        if (span != SC__NONE && k->t->spans[span].end > latest) {
            latest = k->t->spans[span].end;
            best = c;
        }
    }
    return best;
}

void sc__critical_path(struct sc__arena *a,
                       const struct sc__timeline *t,
                       const struct sc__by_class *index,
                       struct sc__critical *out) {
    struct critical_walk k = {.arena = a, .t = t, .index = index, .out = out};
    int64_t time = t->end;
    memset(out, 0, sizeof *out);
    critical_index_spans(&k);
    uint32_t class = critical_last_class(&k);
    while (time > 0) {
        uint32_t span = critical_latest_before(&k, class, time);
        int64_t until = span == SC__NONE ? 0 : t->spans[span].end;
        critical_push(&k, class, SC__NONE, until, time);
        time = until;
        if (span != SC__NONE)
            time = critical_path_take(&k, span, time, &class);
    }
    critical_reverse(out);
}
