#include "network/packet/packet_watch.h"

#define FIRST_SPAN ((int64_t)100) /* ns: about the time of one packet */

void sc__packet_watch_init(struct sc__packet_watch *w,
                           struct sc__arena *arena,
                           uint32_t ports,
                           uint32_t capacity) {
    w->arena = arena;
    w->port_count = ports;
    w->ports = SC__NEW_ARRAY(arena, struct sc__packet_watched, ports);
    w->capacity = capacity;
    w->span = FIRST_SPAN;
    for (uint32_t i = 0; i < ports; i++)
        w->ports[i].paused_since = -1;
}

void sc__packet_watch_topology(struct sc__packet_watch *w,
                               struct sc__arena *arena,
                               const struct sc__packet_topology *t,
                               uint32_t capacity) {
    sc__packet_watch_init(w, arena, 2 * t->link_count, capacity);
    for (uint32_t i = 0; i < w->port_count; i++) {
        const struct sc__packet_link *l = &t->links[i / 2];
        struct sc__packet_watched *p = &w->ports[i];
        p->from = i % 2 ? l->b : l->a;
        p->to = i % 2 ? l->a : l->b;
        p->rate = l->rate;
    }
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static void join_spans(struct sc__packet_span *into, const struct sc__packet_span *other) {
    into->busy += other->busy;
    into->paused += other->paused;
    into->peak_queue = larger(into->peak_queue, other->peak_queue);
    into->pauses += other->pauses;
    into->marks += other->marks;
    into->trims += other->trims;
    into->losses += other->losses;
}

static void halve_spans(struct sc__packet_watch *w) {
    for (uint32_t i = 0; i < w->port_count; i++) {
        struct sc__packet_span *spans = w->ports[i].spans;
        if (!spans)
            continue;
        for (uint32_t k = 0; k < w->capacity / 2; k++) {
            struct sc__packet_span both = spans[2 * k];
            join_spans(&both, &spans[2 * k + 1]);
            spans[k] = both;
        }
        for (uint32_t k = w->capacity / 2; k < w->capacity; k++)
            spans[k] = (struct sc__packet_span){0};
    }
    w->span *= 2;
    w->count = (w->count + 1) / 2;
}

/* The span of a time; NULL where there are none. */
static struct sc__packet_span *
span_at(struct sc__packet_watch *w, uint32_t port, int64_t time) {
    if (!w->capacity)
        return NULL;
    while (time / w->span >= w->capacity)
        halve_spans(w);
    uint32_t k = (uint32_t)(time / w->span);
    if (k >= w->count)
        w->count = k + 1;
    struct sc__packet_watched *p = &w->ports[port];
    if (!p->spans)
        p->spans = SC__NEW_ARRAY(w->arena, struct sc__packet_span, w->capacity);
    return &p->spans[k];
}

/* Adds the ns from one time to another where they belong. */
static void
add_time(struct sc__packet_watch *w, uint32_t port, int64_t from, int64_t to, bool paused) {
    struct sc__packet_span *total = &w->ports[port].total;
    *(paused ? &total->paused : &total->busy) += to - from;
    if (!w->capacity || from >= to)
        return;
    (void)span_at(w, port, to - 1); /* all that follows has room */
    while (from < to) {
        struct sc__packet_span *s = span_at(w, port, from);
        int64_t end = (from / w->span + 1) * w->span;
        if (end > to)
            end = to;
        *(paused ? &s->paused : &s->busy) += end - from;
        from = end;
    }
}

void sc__packet_watch_sent(
    struct sc__packet_watch *w, uint32_t port, int64_t from, int64_t to, uint32_t bytes) {
    w->ports[port].bytes += bytes;
    (void)span_at(w, port, from); /* also where it takes less than a ns */
    add_time(w, port, from, to, false);
}

/* What waited since the last change was there in every span up to now. */
static void spread_queue(struct sc__packet_watch *w, uint32_t port, int64_t now) {
    struct sc__packet_watched *p = &w->ports[port];
    if (!p->queue || !w->capacity)
        return;
    (void)span_at(w, port, now);
    for (int64_t k = p->queue_since / w->span; k <= now / w->span; k++)
        p->spans[k].peak_queue = larger(p->spans[k].peak_queue, p->queue);
}

void sc__packet_watch_queue(struct sc__packet_watch *w,
                            uint32_t port,
                            int64_t now,
                            uint64_t bytes) {
    struct sc__packet_watched *p = &w->ports[port];
    spread_queue(w, port, now);
    p->queue = bytes;
    p->queue_since = now;
    p->total.peak_queue = larger(p->total.peak_queue, bytes);
    struct sc__packet_span *s = span_at(w, port, now);
    if (s)
        s->peak_queue = larger(s->peak_queue, bytes);
}

void sc__packet_watch_paused(struct sc__packet_watch *w,
                             uint32_t port,
                             int64_t now,
                             bool paused) {
    struct sc__packet_watched *p = &w->ports[port];
    if (paused == (p->paused_since >= 0))
        return;
    if (!paused) {
        add_time(w, port, p->paused_since, now, true);
        p->paused_since = -1;
        return;
    }
    p->paused_since = now;
    p->total.pauses++;
    struct sc__packet_span *s = span_at(w, port, now);
    if (s)
        s->pauses++;
}

void sc__packet_watch_marked(struct sc__packet_watch *w, uint32_t port, int64_t now) {
    struct sc__packet_span *s = span_at(w, port, now);
    w->ports[port].total.marks++;
    if (s)
        s->marks++;
}

void sc__packet_watch_trimmed(struct sc__packet_watch *w, uint32_t port, int64_t now) {
    struct sc__packet_span *s = span_at(w, port, now);
    w->ports[port].total.trims++;
    if (s)
        s->trims++;
}

void sc__packet_watch_lost(struct sc__packet_watch *w, uint32_t port, int64_t now) {
    struct sc__packet_span *s = span_at(w, port, now);
    w->ports[port].total.losses++;
    if (s)
        s->losses++;
}

void sc__packet_watch_close(struct sc__packet_watch *w, int64_t now) {
    w->end = now;
    for (uint32_t i = 0; i < w->port_count; i++) {
        sc__packet_watch_paused(w, i, now, false);
        spread_queue(w, i, now);
    }
}
