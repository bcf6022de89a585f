/* steady_state: the state of a run written down, so that two moments can be
 * compared. Everything that decides what happens next is in it; times are
 * relative to now, and what moves on with the calls (places in programs,
 * numbers of collectives, tags) stands apart, for steady.c to compare. */
#include "simulate/steady.h"

#include "base/sort.h"

static uint64_t user_number(const struct sc__net_state *s, uint64_t user) {
    const struct sc__executor *x = s->owner;
    return x->steady->order[user];
}

static void put(struct sc__snapshot *s, uint64_t word) {
    sc__net_state_put(&s->state, word);
}

static void put_ago(struct sc__snapshot *s, int64_t time) {
    put(s, (uint64_t)(s->now - time));
}

/* ---- rendezvous ---- */

static int by_serial(const void *x, const void *y, void *self) {
    const struct sc__rendezvous *all = self;
    uint64_t a = all[*(const uint32_t *)x].serial;
    uint64_t b = all[*(const uint32_t *)y].serial;
    return a < b ? -1 : a > b;
}

static void write_rendezvous(struct sc__executor *x,
                             const struct sc__rendezvous *g,
                             struct sc__snapshot *s) {
    bool message = g->sent || g->received;
    uint64_t flags = (uint64_t)g->started | (uint64_t)g->sent << 1 |
                     (uint64_t)g->received << 2 | (uint64_t)g->over << 3 |
                     (uint64_t)g->linked << 4;
    put(s, (uint64_t)g->here << 32 | g->peers);
    put(s, (uint64_t)g->op << 32 | flags);
    put(s, g->bytes);
    put(s, (uint64_t)g->cost);
    for (uint32_t i = 0; i < g->here; i++)
        put(s, (uint64_t)g->classes[i] << 32 | g->members[i]);
    if (message)
        put(s, (uint64_t)g->from << 32 | g->to);
    if (g->linked)
        put(s, x->out->timeline->count - g->span);
    *SC__PUSH(&x->arena, s->open, s->open_count, s->open_capacity) =
        message ? g->tag : g->number;
}

/* In the order they were opened, which is also that of equal messages. */
static void write_all_rendezvous(struct sc__executor *x, struct sc__snapshot *s) {
    struct sc__steady *y = x->steady;
    uint32_t count = 0;
    if (y->order_capacity < x->rendezvous_count)
        y->order = sc__grow(&x->arena,
                            y->order,
                            &y->order_capacity,
                            x->rendezvous_count,
                            sizeof *y->order);
    if (y->open_capacity < x->rendezvous_count)
        y->open = sc__grow(&x->arena,
                           y->open,
                           &y->open_capacity,
                           x->rendezvous_count,
                           sizeof *y->open);
    uint32_t *open = y->open;
    for (uint32_t i = 0; i < x->rendezvous_count; i++)
        if (x->rendezvous[i].serial)
            open[count++] = i;
    if (count > 1)
        sc__sort(open, count, sizeof *open, by_serial, x->rendezvous);
    s->open_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        y->order[open[i]] = i;
        write_rendezvous(x, &x->rendezvous[open[i]], s);
    }
}

/* ---- classes ---- */

static void write_stream(const struct sc__executor *x,
                         const struct sc__runner *r,
                         uint32_t stream,
                         struct sc__snapshot *s) {
    const struct sc__stream *t = &r->streams[stream];
    uint32_t first = x->w->programs[r->class->program].first_call;
    if (t->state == SC__STREAM_DONE) {
        put(s, SC__STREAM_DONE);
        return;
    }
    put(s, (uint64_t)x->w->calls[first + t->call].block << 32 | t->state);
    put(s, t->item);
    if (t->state == SC__STREAM_RUNNING) {
        put(s, (uint64_t)t->at << 1 | t->slow);
        put(s, (uint64_t)t->left);
        put_ago(s, t->since);
        put_ago(s, t->op_start);
    }
    if (t->state == SC__STREAM_WAITING || t->state == SC__STREAM_TRANSFER)
        put(s, x->steady->order[t->wait]);
    if (t->state == SC__STREAM_TRANSFER)
        put_ago(s, t->ready);
    if (t->state == SC__STREAM_RUNNING ||
        (t->state != SC__STREAM_BLOCKED && x->out->timeline))
        put_ago(s, t->start);
}

/* What has ended in calls that not all streams have left. */
static void write_done(const struct sc__executor *x,
                       const struct sc__runner *r,
                       struct sc__snapshot *s) {
    uint32_t first = r->calls;
    for (uint32_t t = 0; t < x->streams; t++)
        if (r->streams[t].call < first)
            first = r->streams[t].call;
    for (uint32_t c = first; r->done && c < r->calls && c <= r->done_high; c++) {
        const struct sc__block *b = sc__call_block(x, r, c);
        for (uint32_t i = 0; r->done[c] && i < b->ops; i++)
            if (r->done[c][i])
                put(s, (uint64_t)(c - first) << 32 | i);
    }
    put(s, UINT64_MAX);
}

static void
write_class(const struct sc__executor *x, uint32_t class, struct sc__snapshot *s) {
    const struct sc__runner *r = &x->runners[class];
    put(s, (uint64_t)r->blocked << 32 | (uint64_t)r->computing << 16 | r->moving);
    put(s, r->met);
    for (uint32_t t = 0; t < x->streams; t++) {
        write_stream(x, r, t, s);
        s->calls[class * x->streams + t] = r->streams[t].call;
    }
    write_done(x, r, s);
    s->marks[class] = r->mark;
    s->ends[class] = x->out->classes[class].end;
}

/* ---- events ---- */

static void list_events(struct sc__executor *x) {
    struct sc__steady *y = x->steady;
    y->event_count = 0;
    while (!sc__queue_empty(&x->queue)) {
        int64_t time = sc__queue_time(&x->queue);
        struct sc__queued e = sc__queue_pop(&x->queue);
        if (!x->policy->stale(x, e))
            *SC__PUSH(&x->arena, y->events, y->event_count, y->event_capacity) =
                (struct sc__pending_event){time, e.a, e.b};
    }
}

void sc__steady_shift_events(struct sc__executor *x, int64_t by) {
    struct sc__steady *y = x->steady;
    list_events(x);
    for (uint32_t i = 0; i < y->event_count; i++)
        sc__queue_push(&x->queue, y->events[i].time + by, y->events[i].a, y->events[i].b);
}

/* In their order, in which they are put back; ends that were moved are dropped. */
static void write_events(struct sc__executor *x, struct sc__snapshot *s) {
    const struct sc__steady *y = x->steady;
    sc__steady_shift_events(x, 0);
    put(s, y->event_count);
    for (uint32_t i = 0; i < y->event_count; i++) {
        uint32_t a = y->events[i].a;
        bool rendezvous = a & SC__EVENT_RENDEZVOUS;
        put(s, (uint64_t)(y->events[i].time - s->now));
        put(s, rendezvous ? SC__EVENT_RENDEZVOUS | y->order[a & ~SC__EVENT_RENDEZVOUS] : a);
    }
}

sc_status sc__steady_write(struct sc__executor *x, struct sc__snapshot *s) {
    const struct sc__steady *y = x->steady;
    const struct sc__timeline *t = x->out->timeline;
    s->now = x->now;
    s->state.arena = &x->arena;
    s->state.count = 0;
    s->state.counter_count = 0;
    s->state.user_number = user_number;
    s->state.owner = x;
    write_all_rendezvous(x, s);
    for (uint32_t c = 0; c < x->w->class_count; c++)
        write_class(x, c, s);
    write_events(x, s);
    SC__TRY(x->net->periods->state(x->net->self, x->now, &s->state));
    for (uint32_t i = 0; i < y->cell_count; i++)
        s->counters[i] = *y->cells[i];
    s->spans = t ? t->count : 0;
    s->idles = t ? t->idle_count : 0;
    s->links = y->link_count;
    s->hash = sc__hash(s->state.words, s->state.count * sizeof *s->state.words, 0);
    return SC_OK;
}
