/* The timeline of a page.
 *
 * What a class did is a row of blocks: the segments of one micro-batch in one
 * direction, or one idle time. What is inside a block stands once in a table, for
 * the micro-batches of a stage, and mostly the stages too, do the same:
 *
 *     blocks    0  0  0  1  2  0  2 …     which inside
 *     insides   0: F~F~FF   1: ····   2: B~B~BB
 *
 * Blocks, insides and the transfers of the streams are columns in which repeats
 * are not written again (report/columns.h), so that a step of any length that
 * repeats itself is in the page to the picosecond.
 *
 * One that does not repeat itself, and is too long for a page, is put together:
 * first within the blocks, each kind in one piece, so that every block stays where
 * it is; where that is still too much, by cells of time, all that begins in one
 * cell and is shorter than it. Of more than MOST_ROWS classes every second, third … has a
 * row. Kinds are never mixed: the lengths of a kind add up to the same sum either way, so
 * the bubbles of the picture are the bubble of the breakdown. */
#include "report/json_details.h"

#include "report/columns.h"

#include <string.h>

#define MOST_BYTES 1100000 /* as it is written, of which at most for the streams: */
#define MOST_LANE_BYTES 300000
#define MOST_BLOCKS 3000000 /* that a browser can unfold */
#define MOST_INSIDE 2000000
#define MOST_LANE_ITEMS 600000
#define CELL_ITEMS 20000
#define CELL_LANE_ITEMS 10000
#define MOST_ROWS 512

static const char kind_letters[] = "FBWRUCbso";

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

    /* As written. */
    uint32_t blocks;
    uint32_t lane_items[SC__MAX_STREAMS];
};

enum level { ALL, BLOCKS, CELLS };
static const char *const level_names[] = {"all", "blocks", "cells"};

struct detail {
    enum level level;
    int64_t cell;
};

/* Lengths are a table of their own: where they differ from block to block, the rest
 * still repeats. */
enum { INSIDE_KIND, INSIDE_WHAT, INSIDE_LAYER, INSIDE_COUNT, INSIDE_WIDTH };
static const struct sc__column inside_columns[] = {
    {.name = "kind", .letters = kind_letters},
    {.name = "what", .usual = -1},
    {.name = "layer", .usual = 0},
    {.name = "count", .usual = 1},
};
static const struct sc__column size_columns[] = {{.name = "size", .usual = -1}};
static const struct sc__column length_columns[] = {{.name = "length", .usual = -1}};

struct inside_row {
    int64_t values[INSIDE_WIDTH];
    int64_t length;
};

enum { BLOCK_INSIDE, BLOCK_MICRO_BATCH, BLOCK_CHUNK, BLOCK_LAYER, BLOCK_WIDTH };
static const struct sc__column block_columns[] = {
    {.name = "inside", .usual = -2},
    {.name = "micro_batch", .usual = SC__COLUMN_NONE},
    {.name = "chunk", .usual = 0},
    {.name = "layer", .usual = 0},
};

enum {
    LANE_GAP,
    LANE_LENGTH,
    LANE_WAIT,
    LANE_BUSY,
    LANE_WHAT,
    LANE_MICRO_BATCH,
    LANE_CHUNK,
    LANE_COUNT,
    LANE_WIDTH
};
static const struct sc__column lane_columns[] = {
    {.name = "gap", .usual = -1},
    {.name = "length", .usual = -1},
    {.name = "wait", .usual = 0},
    {.name = "busy", .usual = SC__COLUMN_NONE},
    {.name = "what", .usual = -2},
    {.name = "micro_batch", .usual = SC__COLUMN_NONE},
    {.name = "chunk", .usual = 0},
    {.name = "count", .usual = 1},
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

    struct sc__columns inside_sizes;
    struct sc__columns insides;
    struct sc__columns inside_lengths;
    struct sc__columns blocks;
    struct sc__columns lane_items;
    struct inside_row *inside_rows; /* of one block */
    uint32_t inside_capacity;
    struct sc__map inside_ids;
    uint32_t inside_count;
    struct sc__map whats;
    uint32_t what_count;
    struct sc__buffer what_table;

    /* Written. */
    struct sc__buffer segment_text;
    struct sc__buffer lane_text;
    struct sc__buffer row_text;
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

/* Segments of one block or cell: each kind in one piece, in the order of their first. */
static void join_segments(struct timeline_writer *p, const struct item *run, uint32_t n) {
    struct item sum[SC__SEGMENT_KINDS];
    uint8_t order[SC__SEGMENT_KINDS];
    int64_t longest[SC__SEGMENT_KINDS] = {0};
    unsigned kinds = 0;
    int64_t at = run[0].start;
    memset(sum, 0, sizeof sum);
    for (uint32_t i = 0; i < n; i++) {
        struct item *s = &sum[run[i].kind];
        if (!s->count) {
            s->kind = run[i].kind;
            order[kinds++] = run[i].kind;
        }
        absorb(s, &run[i]);
        if (run[i].busy > longest[run[i].kind]) {
            longest[run[i].kind] = run[i].busy;
            s->span = run[i].span;
        }
    }
    for (unsigned k = 0; k < kinds; k++) {
        struct item *s = &sum[order[k]];
        s->start = at;
        at = s->end = at + s->busy;
        *timeline_add(p, &p->scratch) = *s;
    }
}

static void join_spans(struct timeline_writer *p, const struct item *run, uint32_t n) {
    struct item sum = run[0];
    int64_t longest = run[0].busy;
    for (uint32_t i = 1; i < n; i++) {
        if (run[i].busy > longest) {
            longest = run[i].busy;
            sum.span = run[i].span;
        }
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

static uint64_t count_items(struct timeline_writer *p, bool lanes) {
    uint64_t n = 0;
    for (uint32_t c = 0; c < p->index->classes; c += p->step)
        for (unsigned s = 0; s < (lanes ? SC__MAX_STREAMS : 1); s++) {
            join(p, lanes ? &p->rows[c].lanes[s] : &p->rows[c].segments, lanes);
            n += p->scratch.count;
        }
    return n;
}

/* Cells, doubled until they are few. */
static void choose_cells(struct timeline_writer *p, bool lanes, uint64_t most) {
    struct detail *d = &p->detail[lanes];
    *d = (struct detail){CELLS, p->t->end / 65536 + 1};
    while (d->cell < p->t->end && count_items(p, lanes) > most)
        d->cell *= 2;
}

/* ---- operations ---- */

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
               ",%llu,%s]",
               (unsigned long long)op->bytes,
               op->layer == SC__NONE ? "false" : "true");
}

/* Operations that would read the same, but for their layer, share an entry. */
static int64_t what_id(struct timeline_writer *p, uint32_t span) {
    if (span == SC__NONE)
        return -1;
    const struct sc__op *op = &p->w->ops[p->t->spans[span].op];
    uint64_t key[4] = {(uint64_t)op->name << 1 | (op->layer == SC__NONE),
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
    return (int64_t)*id;
}

/* ---- blocks and what is inside ---- */

/* The layer of an item, or `otherwise`. */
static int64_t
layer_of(const struct timeline_writer *p, const struct item *i, int64_t otherwise) {
    if (i->span == SC__NONE)
        return otherwise;
    const struct sc__op *op = &p->w->ops[p->t->spans[i->span].op];
    return op->layer == SC__NONE ? otherwise : (int64_t)op->layer;
}

static int64_t first_layer(const struct timeline_writer *p,
                           const struct item *block,
                           uint32_t n,
                           int64_t otherwise) {
    for (uint32_t i = 0; i < n; i++) {
        int64_t layer = layer_of(p, &block[i], -1);
        if (layer >= 0)
            return layer;
    }
    return otherwise;
}

/* What is inside a block, as rows of the table in inside_rows; layers count from
 * the segment before, the first from the block's. */
static void list_inside(struct timeline_writer *p, const struct item *block, uint32_t n) {
    int64_t before = first_layer(p, block, n, 0);
    if (n > p->inside_capacity)
        p->inside_rows = sc__grow(p->arena,
                                  p->inside_rows,
                                  &p->inside_capacity,
                                  n,
                                  sizeof *p->inside_rows);
    for (uint32_t i = 0; i < n; i++) {
        int64_t *row = p->inside_rows[i].values;
        int64_t layer = layer_of(p, &block[i], before);
        row[INSIDE_KIND] = block[i].kind;
        row[INSIDE_WHAT] = what_id(p, block[i].span);
        row[INSIDE_LAYER] = layer - before;
        row[INSIDE_COUNT] = block[i].count;
        p->inside_rows[i].length = block[i].end - block[i].start;
        before = layer;
    }
}

/* Which inside; one that was not there before, the next of the table, is -1: so
 * blocks that are all new are equal rows. */
static int64_t inside_id(struct timeline_writer *p, const struct item *block, uint32_t n) {
    bool fresh;
    list_inside(p, block, n);
    uint64_t hash = sc__hash(p->inside_rows, n * sizeof *p->inside_rows, 1);
    uint64_t *id = sc__map_at(&p->inside_ids, hash, &fresh);
    if (!fresh)
        return (int64_t)*id;
    *id = p->inside_count++;
    sc__columns_add(&p->inside_sizes, &(int64_t){n});
    for (uint32_t i = 0; i < n; i++) {
        sc__columns_add(&p->insides, p->inside_rows[i].values);
        sc__columns_add(&p->inside_lengths, &p->inside_rows[i].length);
    }
    return -1;
}

static const struct sc__span *span_of(const struct timeline_writer *p,
                                      const struct item *i) {
    return i->span == SC__NONE ? NULL : &p->t->spans[i->span];
}

/* The micro-batch counted from the one before, which becomes this one. */
static int64_t micro_batch_step(const struct sc__span *s, int64_t *before) {
    if (!s || s->micro_batch == SC__NONE)
        return SC__COLUMN_NONE;
    int64_t step = (int64_t)s->micro_batch - *before;
    *before = s->micro_batch;
    return step;
}

/* The segments in scratch, as blocks. */
static uint32_t add_blocks(struct timeline_writer *p) {
    const struct item *list = p->scratch.list;
    uint32_t n = p->scratch.count;
    uint32_t blocks = 0;
    int64_t micro_batch = 0;
    int64_t layer = 0;
    for (uint32_t i = 0, k; i < n; i = k, blocks++) {
        int64_t row[BLOCK_WIDTH];
        for (k = i + 1; k < n && same_block(p, &list[k - 1], &list[k], false);)
            k++;
        int64_t first = first_layer(p, &list[i], k - i, layer);
        const struct sc__span *s = span_of(p, &list[i]);
        row[BLOCK_INSIDE] = inside_id(p, &list[i], k - i);
        row[BLOCK_MICRO_BATCH] = micro_batch_step(s, &micro_batch);
        row[BLOCK_CHUNK] = s ? s->chunk : 0;
        row[BLOCK_LAYER] = first - layer;
        layer = first;
        sc__columns_add(&p->blocks, row);
    }
    return blocks;
}

/* Blocks of all rows, and what is inside them. False: too much for a page. */
static bool write_blocks(struct timeline_writer *p) {
    struct sc__arena *a = p->arena;
    struct sc__buffer *out = &p->segment_text;
    sc__columns_init(&p->inside_sizes, a, size_columns, 1);
    sc__columns_init(&p->insides, a, inside_columns, INSIDE_WIDTH);
    sc__columns_init(&p->inside_lengths, a, length_columns, 1);
    sc__columns_init(&p->blocks, a, block_columns, BLOCK_WIDTH);
    sc__map_init(&p->inside_ids, a);
    sc__buffer_init(out, a);
    p->inside_count = 0;
    for (uint32_t c = 0; c < p->index->classes; c += p->step) {
        join(p, &p->rows[c].segments, false);
        p->rows[c].blocks = add_blocks(p);
        if (p->blocks.count > MOST_BLOCKS || p->insides.count > MOST_INSIDE)
            return false;
    }
    sc__puts(out, "\"insides\":{\"sizes\":");
    sc__columns_put(&p->inside_sizes, out);
    sc__puts(out, ",\n\"segments\":");
    sc__columns_put(&p->insides, out);
    sc__puts(out, ",\n\"lengths_ps\":");
    sc__columns_put(&p->inside_lengths, out);
    sc__puts(out, "},\n\"blocks\":");
    sc__columns_put(&p->blocks, out);
    return out->size <= MOST_BYTES;
}

static void put_blocks(struct timeline_writer *p) {
    for (p->detail[0].level = ALL; p->detail[0].level < CELLS; p->detail[0].level++)
        if (write_blocks(p))
            return;
    choose_cells(p, false, CELL_ITEMS);
    write_blocks(p);
}

/* ---- transfers of the streams ---- */

static void add_lane_items(struct timeline_writer *p) {
    int64_t before = 0;
    int64_t micro_batch = 0;
    for (uint32_t i = 0; i < p->scratch.count; i++) {
        const struct item *k = &p->scratch.list[i];
        const struct sc__span *s = span_of(p, k);
        int64_t row[LANE_WIDTH];
        row[LANE_GAP] = k->start - before;
        row[LANE_LENGTH] = k->end - k->start;
        row[LANE_WAIT] = k->wait;
        row[LANE_BUSY] = k->busy == k->end - k->start ? SC__COLUMN_NONE : k->busy;
        row[LANE_WHAT] = what_id(p, k->span);
        row[LANE_MICRO_BATCH] = micro_batch_step(s, &micro_batch);
        row[LANE_CHUNK] = s ? s->chunk : 0;
        row[LANE_COUNT] = k->count;
        before = k->end;
        sc__columns_add(&p->lane_items, row);
    }
}

static bool write_lanes(struct timeline_writer *p) {
    size_t left = MOST_BYTES > p->segment_text.size ? MOST_BYTES - p->segment_text.size : 0;
    sc__buffer_init(&p->lane_text, p->arena);
    sc__columns_init(&p->lane_items, p->arena, lane_columns, LANE_WIDTH);
    if (count_items(p, true) > MOST_LANE_ITEMS)
        return false;
    for (uint32_t c = 0; c < p->index->classes; c += p->step)
        for (unsigned s = 0; s < SC__MAX_STREAMS; s++) {
            join(p, &p->rows[c].lanes[s], true);
            p->rows[c].lane_items[s] = p->scratch.count;
            add_lane_items(p);
        }
    sc__puts(&p->lane_text, "\"lane_items\":");
    sc__columns_put(&p->lane_items, &p->lane_text);
    return p->lane_text.size <= (left < MOST_LANE_BYTES ? left : MOST_LANE_BYTES);
}

static void put_lanes(struct timeline_writer *p) {
    for (p->detail[1].level = ALL; p->detail[1].level < CELLS; p->detail[1].level++)
        if (write_lanes(p))
            return;
    for (uint64_t most = CELL_LANE_ITEMS; most > 100; most /= 2) {
        choose_cells(p, true, most);
        if (write_lanes(p))
            return;
    }
}

/* ---- rows ---- */

static void timeline_put_lane_heads(struct timeline_writer *p, uint32_t class) {
    bool first = true;
    for (unsigned s = 0; s < SC__MAX_STREAMS; s++) {
        const char *name = p->w->stream_names[s];
        struct sc__json j;
        if (!p->rows[class].lane_items[s])
            continue;
        sc__printf(&p->row_text, "%s{\"stream\":%u,\"name\":", first ? "" : ",", s);
        sc__json_init(&j, &p->row_text);
        sc__json_string(&j, NULL, name ? name : "");
        sc__printf(&p->row_text, ",\"items\":%u}", p->rows[class].lane_items[s]);
        first = false;
    }
}

static void timeline_put_row(struct timeline_writer *p, uint32_t class) {
    const struct sc__class *c = &p->w->classes[class];
    struct sc__json j;
    sc__json_init(&j, &p->row_text);
    sc__printf(&p->row_text,
               "%s\n{\"class\":%u,\"rank\":%u,\"ranks\":%u,\"stage\":%u,\"name\":",
               class ? "," : "",
               class,
               c->rank,
               c->ranks,
               c->stage);
    sc__json_string(&j, NULL, c->name ? c->name : "");
    sc__printf(&p->row_text, ",\"blocks\":%u,\"lanes\":[", p->rows[class].blocks);
    timeline_put_lane_heads(p, class);
    sc__puts(&p->row_text, "]}");
}

static void timeline_gather(struct timeline_writer *p) {
    struct sc__arena *a = p->arena;
    p->rows = SC__NEW_ARRAY(a, struct timeline_row, p->index->classes + 1);
    p->step = p->index->classes ? (p->index->classes + MOST_ROWS - 1) / MOST_ROWS : 1;
    sc__map_init(&p->whats, a);
    sc__buffer_init(&p->what_table, a);
    sc__buffer_init(&p->row_text, a);
    for (uint32_t c = 0; c < p->index->classes; c += p->step) {
        gather_segments(p, c);
        gather_lanes(p, c);
    }
}

void sc__json_timeline(const struct sc__result *r, struct sc__buffer *out) {
    struct timeline_writer p = {.arena = out->arena,
                                .t = r->timeline,
                                .w = r->workload,
                                .index = &r->by_class};
    timeline_gather(&p);
    put_blocks(&p);
    put_lanes(&p);
    for (uint32_t c = 0; c < p.index->classes; c += p.step)
        timeline_put_row(&p, c);
    sc__printf(
        out,
        "{\"end_ps\":%lld,\"spans\":%u,\"detail\":\"%s\",\"cell_ps\":%lld,\"what\":[",
        (long long)p.t->end,
        p.t->count,
        level_names[p.detail[0].level],
        (long long)p.detail[0].cell);
    sc__put(out, p.what_table.text ? p.what_table.text : "", p.what_table.size);
    sc__puts(out, "],\n");
    sc__put(out, p.segment_text.text, p.segment_text.size);
    sc__puts(out, ",\n");
    sc__put(out, p.lane_text.text, p.lane_text.size);
    sc__puts(out, ",\n\"rows\":[");
    sc__put(out, p.row_text.text ? p.row_text.text : "", p.row_text.size);
    sc__puts(out, "]}");
}
