/* The timeline of a page: columns per row, small numbers. Lengths are indices
 * into one table, for the micro-batches of a stage repeat the same few.
 *
 * A page that holds a million spans helps nobody, so above SC__PAGE_ITEMS they
 * are put together, first by block (the operations of one micro-batch in one
 * direction), then, where that is still too many, by cells of time:
 *
 *     all      F~F~F~FF··B~B~BB          every segment
 *     blocks   FFFFF~~~··BBBB~~          per block, each kind side by side
 *     cells    the same for all that begins in one cell and is shorter than it
 *
 * Of more than MOST_ROWS classes every second, third … has a row.
 * Kinds are never mixed: the lengths of a kind add up to the same sum at every
 * level, so the bubbles of the picture are the bubble of the breakdown. */
#include "report/json_details.h"

#include <string.h>

#define MOST_BLOCKS 60000 /* they repeat each other, so they are short */
#define MOST_BYTES 1100000
#define MOST_ROWS 512

enum level { ALL, BLOCKS, CELLS };
static const char *const level_names[] = {"all", "blocks", "cells"};

/* A segment, or a span on another stream, or several put together. */
struct item {
    int64_t start;
    int64_t end;
    int64_t busy;
    int64_t wait;
    /* span: the longest of them */
    uint32_t span;
    uint32_t count;
    uint8_t kind; /* segments */
};

struct items {
    struct item *list;
    uint32_t count;
    uint32_t capacity;
};

struct timeline_row {
    struct items segments;               /* as they are */
    struct items lanes[SC__MAX_STREAMS]; /* … by stream */
};

struct detail {
    enum level level;
    int64_t cell;
};

struct timeline_writer {
    struct sc__arena *arena;
    const struct sc__timeline *t;
    const struct sc__workload *w;
    const struct sc__by_class *index;
    struct timeline_row *rows;
    uint32_t step;           /* every so many classes have a row */
    struct detail detail[2]; /* of segments, of lanes */
    struct items scratch;
    struct sc__map lengths;
    struct sc__map whats;
    struct sc__buffer length_table;
    struct sc__buffer what_table;
    struct sc__buffer body;
    uint32_t length_count;
    uint32_t what_count;
};

/* ---- gather ---- */

static struct item *timeline_add(struct timeline_writer *p, struct items *to) {
    return SC__PUSH(p->arena, to->list, to->count, to->capacity);
}

static void gather_segments(struct timeline_writer *p, uint32_t class) {
    struct sc__segments s;
    struct items *to = &p->rows[class].segments;
    sc__segments(p->arena, p->t, p->index, class, &s);
    to->list = SC__NEW_ARRAY(p->arena, struct item, s.count + 1);
    to->capacity = s.count + 1;
    for (uint32_t i = 0; i < s.count; i++) {
        const struct sc__segment *g = &s.items[i];
        *timeline_add(p, to) =
            (struct item){g->start, g->end, g->end - g->start, 0, g->span, 1, g->kind};
    }
}

static void gather_lanes(struct timeline_writer *p, uint32_t class) {
    for (uint32_t i = p->index->first[class]; i < p->index->first[class + 1]; i++) {
        uint32_t span = p->index->spans[i];
        const struct sc__span *s = &p->t->spans[span];
        const struct sc__op *op = &p->w->ops[s->op];
        bool shown = op->kind == SC__OP_COMPUTE ? op->stream != p->w->compute_stream
                                                : op->kind != SC__OP_WAIT;
        if (!shown || s->end <= s->start)
            continue;
        int64_t wait =
            op->kind != SC__OP_COMPUTE && s->ready > s->start ? s->ready - s->start : 0;
        *timeline_add(p, &p->rows[class].lanes[op->stream]) =
            (struct item){s->start, s->end, s->end - s->start, wait, span, 1, 0};
    }
}

/* ---- put together ---- */

static bool is_idle(const struct item *i) {
    return i->kind == SC__SEGMENT_BUBBLE || i->kind == SC__SEGMENT_SKEW ||
           i->kind == SC__SEGMENT_OTHER || i->span == SC__NONE;
}

static bool same_block(const struct timeline_writer *p,
                       const struct item *x,
                       const struct item *y,
                       bool lane) {
    if (!lane && (is_idle(x) || is_idle(y)))
        return false;
    const struct sc__span *a = &p->t->spans[x->span];
    const struct sc__span *b = &p->t->spans[y->span];
    const struct sc__op *m = &p->w->ops[a->op];
    const struct sc__op *n = &p->w->ops[b->op];
    bool direction = (m->phase == SC__FORWARD) == (n->phase == SC__FORWARD) &&
                     (m->phase == SC__UPDATE) == (n->phase == SC__UPDATE);
    return a->micro_batch == b->micro_batch && a->chunk == b->chunk && direction &&
           (!lane || (m->kind == n->kind && m->group == n->group));
}

static bool together(const struct timeline_writer *p,
                     const struct item *x,
                     const struct item *y,
                     bool lane) {
    const struct detail *d = &p->detail[lane];
    if (d->level == ALL)
        return false;
    if (d->level == BLOCKS)
        return same_block(p, x, y, lane);
    return x->end - x->start < d->cell && y->end - y->start < d->cell &&
           x->start / d->cell == y->start / d->cell;
}

static void absorb(struct item *into, const struct item *i) {
    into->busy += i->busy;
    into->wait += i->wait;
    into->count += i->count;
}

/* Segments from..to of one run: each kind once, side by side. */
static void join_segments(struct timeline_writer *p, const struct item *run, uint32_t n) {
    struct item sum[SC__SEGMENT_KINDS];
    int64_t longest[SC__SEGMENT_KINDS] = {0};
    int64_t at = run[0].start;
    memset(sum, 0, sizeof sum);
    for (uint32_t i = 0; i < n; i++) {
        struct item *s = &sum[run[i].kind];
        absorb(s, &run[i]);
        if (run[i].busy > longest[run[i].kind]) {
            longest[run[i].kind] = run[i].busy;
            s->span = run[i].span;
        }
    }
    for (unsigned k = 0; k < SC__SEGMENT_KINDS; k++) {
        if (!sum[k].count)
            continue;
        sum[k].kind = (uint8_t)k;
        sum[k].start = at;
        at = sum[k].end = at + sum[k].busy;
        *timeline_add(p, &p->scratch) = sum[k];
    }
}

static void join_spans(struct timeline_writer *p, const struct item *run, uint32_t n) {
    struct item sum = run[0];
    for (uint32_t i = 1; i < n; i++) {
        if (run[i].busy > run[0].busy)
            sum.span = run[i].span;
        if (run[i].end > sum.end)
            sum.end = run[i].end;
        absorb(&sum, &run[i]);
    }
    *timeline_add(p, &p->scratch) = sum;
}

/* Leaves the items put together in scratch. */
static void join(struct timeline_writer *p, const struct items *from, bool lane) {
    p->scratch.count = 0;
    for (uint32_t i = 0, k; i < from->count; i = k) {
        for (k = i + 1;
             k < from->count && together(p, &from->list[k - 1], &from->list[k], lane);)
            k++;
        if (lane)
            join_spans(p, from->list + i, k - i);
        else
            join_segments(p, from->list + i, k - i);
    }
}

static uint32_t count_items(struct timeline_writer *p, bool lanes) {
    uint32_t n = 0;
    for (uint32_t c = 0; c < p->index->classes; c += p->step)
        for (unsigned s = 0; s < (lanes ? SC__MAX_STREAMS : 1); s++) {
            join(p, lanes ? &p->rows[c].lanes[s] : &p->rows[c].segments, lanes);
            n += p->scratch.count;
        }
    return n;
}

/* The next level down. False: there is none. */
static bool coarsen(const struct timeline_writer *p, struct detail *d) {
    if (d->level != CELLS) {
        d->level++;
        d->cell = d->level == CELLS ? p->t->end / 65536 + 1 : 0;
        return true;
    }
    d->cell *= 2;
    return d->cell < p->t->end;
}

static void
fit(struct timeline_writer *p, bool lanes, uint32_t most_blocks, uint32_t most_cells) {
    struct detail *d = &p->detail[lanes];
    while (d->level == ALL ||
           count_items(p, lanes) > (d->level == BLOCKS ? most_blocks : most_cells))
        if (!coarsen(p, d))
            return;
}

/* Segments are the picture and get most of the room. */
static void choose_detail(struct timeline_writer *p) {
    if (count_items(p, false) + count_items(p, true) <= SC__PAGE_ITEMS)
        return;
    fit(p, false, MOST_BLOCKS, SC__PAGE_ITEMS);
    fit(p, true, SC__PAGE_ITEMS, SC__PAGE_ITEMS / 2);
}

/* ---- write ---- */

static uint32_t length_id(struct timeline_writer *p, int64_t ps) {
    bool fresh;
    uint64_t *id = sc__map_at(&p->lengths, (uint64_t)ps, &fresh);
    if (fresh) {
        *id = p->length_count++;
        sc__printf(&p->length_table, "%s%lld", *id ? "," : "", (long long)ps);
    }
    return (uint32_t)*id;
}

static const char *what_kind(const struct sc__op *op) {
    if (op->kind == SC__OP_COMPUTE)
        return sc__work_name(op->work);
    if (op->kind == SC__OP_COLLECTIVE)
        return sc__coll_name(op->coll);
    return op->kind == SC__OP_SEND ? "send" : "receive";
}

static void timeline_put_what(struct timeline_writer *p, const struct sc__op *op) {
    struct sc__buffer *b = &p->what_table;
    struct sc__json j;
    sc__puts(b, p->what_count ? ",\n[" : "\n[");
    sc__json_init(&j, b);
    sc__json_string(&j, NULL, p->w->names.text[op->name]);
    sc__printf(b, ",\"%s\",\"%s\",", what_kind(op), sc__phase_name(op->phase));
    j.after_value = false;
    sc__json_string(&j, NULL, op->kind == SC__OP_COMPUTE ? "" : sc__span_label(p->w, op));
    sc__printf(b,
               ",%llu,%lld]",
               (unsigned long long)op->bytes,
               op->layer == SC__NONE ? -1LL : (long long)op->layer);
}

/* Operations that would read the same in a tip share an entry. */
static long long what_id(struct timeline_writer *p, uint32_t span) {
    if (span == SC__NONE)
        return -1;
    const struct sc__op *op = &p->w->ops[p->t->spans[span].op];
    uint64_t key[4] = {(uint64_t)op->name << 32 | op->layer,
                       op->bytes,
                       (uint64_t)op->kind << 24 | (uint64_t)op->phase << 16 |
                           (uint64_t)op->coll << 8 | op->work,
                       op->group};
    bool fresh;
    uint64_t *id = sc__map_at(&p->whats, sc__hash(key, sizeof key, 1), &fresh);
    if (fresh) {
        timeline_put_what(p, op);
        *id = p->what_count++;
    }
    return (long long)*id;
}

enum column { LENGTH, GAP, WAIT, BUSY, WHAT, MICRO_BATCH, CHUNK, COUNT };
static const char *const column_names[] = {
    "length", "gap", "wait", "busy", "what", "micro_batch", "chunk", "count"};
/* What a column says where all its values are this is left out. */
static const long long usual[] = {-2, -2, 0, -3, -2, -1, 0, 1};

static long long
value_of(struct timeline_writer *p, enum column c, const struct item *i, int64_t before) {
    const struct sc__span *s = i->span == SC__NONE ? NULL : &p->t->spans[i->span];
    switch (c) {
    case LENGTH:
        return length_id(p, i->end - i->start);
    case GAP:
        return length_id(p, i->start - before);
    case WAIT:
        return length_id(p, i->wait);
    case BUSY:
        return length_id(p, i->busy);
    case WHAT:
        return what_id(p, i->span);
    case MICRO_BATCH:
        return !s || s->micro_batch == SC__NONE ? -1 : (long long)s->micro_batch;
    case CHUNK:
        return s ? (long long)s->chunk : 0;
    case COUNT:
        return i->count;
    }
    return 0;
}

static bool is_usual(struct timeline_writer *p, enum column c) {
    for (uint32_t i = 0; i < p->scratch.count; i++) {
        const struct item *k = &p->scratch.list[i];
        if (c == BUSY ? k->busy != k->end - k->start
                      : value_of(p, c, k, k->start) != usual[c])
            return false;
    }
    return true;
}

static void timeline_put_signed(struct sc__buffer *b, bool comma, long long v) {
    if (comma)
        sc__putc(b, ',');
    if (v < 0)
        sc__putc(b, '-');
    sc__put_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static void timeline_put_column(struct timeline_writer *p, enum column c) {
    int64_t before = 0;
    if (c != LENGTH && c != GAP && c != WHAT && is_usual(p, c))
        return;
    sc__printf(&p->body, ",\"%s\":[", column_names[c]);
    for (uint32_t i = 0; i < p->scratch.count; i++) {
        const struct item *k = &p->scratch.list[i];
        timeline_put_signed(&p->body, i > 0, value_of(p, c, k, before));
        before = k->end;
    }
    sc__putc(&p->body, ']');
}

static void timeline_put_segments(struct timeline_writer *p, const struct timeline_row *r) {
    join(p, &r->segments, false);
    sc__puts(&p->body, ",\"segments\":{\"kind\":\"");
    for (uint32_t i = 0; i < p->scratch.count; i++)
        sc__putc(&p->body, "FBWRUCbso"[p->scratch.list[i].kind]);
    sc__putc(&p->body, '"');
    timeline_put_column(p, LENGTH);
    timeline_put_column(p, WHAT);
    timeline_put_column(p, MICRO_BATCH);
    timeline_put_column(p, CHUNK);
    timeline_put_column(p, COUNT);
    sc__putc(&p->body, '}');
}

static void timeline_put_lane(struct timeline_writer *p,
                              const struct items *from,
                              unsigned stream,
                              bool first) {
    const char *name = p->w->stream_names[stream];
    struct sc__json j;
    join(p, from, true);
    sc__json_init(&j, &p->body);
    sc__printf(&p->body, "%s\n {\"stream\":%u,\"name\":", first ? "" : ",", stream);
    sc__json_string(&j, NULL, name ? name : "");
    for (enum column c = LENGTH; c <= COUNT; c++)
        timeline_put_column(p, c);
    sc__putc(&p->body, '}');
}

static void timeline_put_row(struct timeline_writer *p, uint32_t class) {
    const struct sc__class *c = &p->w->classes[class];
    bool first = true;
    struct sc__json j;
    sc__json_init(&j, &p->body);
    sc__printf(&p->body,
               "%s\n{\"class\":%u,\"rank\":%u,\"ranks\":%u,\"stage\":%u,\"name\":",
               class ? "," : "",
               class,
               c->rank,
               c->ranks,
               c->stage);
    sc__json_string(&j, NULL, c->name ? c->name : "");
    timeline_put_segments(p, &p->rows[class]);
    sc__puts(&p->body, ",\"lanes\":[");
    for (unsigned s = 0; s < SC__MAX_STREAMS; s++) {
        if (!p->rows[class].lanes[s].count)
            continue;
        timeline_put_lane(p, &p->rows[class].lanes[s], s, first);
        first = false;
    }
    sc__puts(&p->body, "]}");
}

static void timeline_put_rows(struct timeline_writer *p) {
    struct sc__arena *a = p->arena;
    sc__map_init(&p->lengths, a);
    sc__map_init(&p->whats, a);
    sc__buffer_init(&p->length_table, a);
    sc__buffer_init(&p->what_table, a);
    sc__buffer_init(&p->body, a);
    p->length_count = p->what_count = 0;
    length_id(p, 0); /* "wait" may be left out because 0 is entry 0 */
    for (uint32_t c = 0; c < p->index->classes; c += p->step)
        timeline_put_row(p, c);
}

void sc__json_timeline(const struct sc__result *r, struct sc__buffer *out) {
    const struct sc__timeline *t = r->timeline;
    const struct sc__by_class *index = &r->by_class;
    struct timeline_writer p = {.arena = out->arena,
                                .t = t,
                                .w = r->workload,
                                .index = index};
    p.rows = SC__NEW_ARRAY(p.arena, struct timeline_row, index->classes + 1);
    p.step = index->classes ? (index->classes + MOST_ROWS - 1) / MOST_ROWS : 1;
    for (uint32_t c = 0; c < index->classes; c += p.step) {
        gather_segments(&p, c);
        gather_lanes(&p, c);
    }
    choose_detail(&p);
    do
        timeline_put_rows(&p);
    while (p.length_table.size + p.what_table.size + p.body.size > MOST_BYTES &&
           coarsen(&p, &p.detail[0]));
    sc__printf(
        out,
        "{\"end_ps\":%lld,\"spans\":%u,\"detail\":\"%s\",\"cell_ps\":%lld,\"lengths_ps\":[%"
        "s],\"what\":[%s],\n",
        (long long)t->end,
        t->count,
        level_names[p.detail[0].level],
        (long long)p.detail[0].cell,
        p.length_table.text,
        p.what_table.text ? p.what_table.text : "");
    sc__printf(out, "\"rows\":[%s]}", p.body.text ? p.body.text : "");
}
