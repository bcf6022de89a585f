/*      stage  0 |FFFFF·········BBBBBBB~·UU|
 *      stage  1 |~FFFFF··BBBBBBB~········UU|
 * Letters without colour; with colour blocks, in the hues of the report page. */
#include "report/write.h"

#include <stdio.h>
#include <string.h>

#define MOST_LINES 256

struct look {
    const char *letter; /* one column wide */
    const char *colour; /* 256-colour palette */
    const char *name;
};

static const struct look looks[SC__SEGMENT_KINDS] = {
    [SC__SEGMENT_FORWARD] = {"F", "32", "forward"},
    [SC__SEGMENT_BACKWARD] = {"B", "208", "backward"},
    [SC__SEGMENT_WGRAD] = {"W", "220", "weight grad"},
    [SC__SEGMENT_RECOMPUTE] = {"R", "117", "recompute"},
    [SC__SEGMENT_UPDATE] = {"U", "36", "update"},
    [SC__SEGMENT_COMM] = {"~", "169", "communication"},
    [SC__SEGMENT_BUBBLE] = {"·", "245", "bubble"},
    [SC__SEGMENT_SKEW] = {"!", "160", "skew"},
    [SC__SEGMENT_OTHER] = {" ", "250", "host, other"},
};

static void gantt_put_cell(struct sc__buffer *out, unsigned kind, bool colour) {
    const struct look *l = &looks[kind];
    if (!colour || kind == SC__SEGMENT_OTHER)
        sc__puts(out, l->letter);
    else {
        bool bubble = kind == SC__SEGMENT_BUBBLE;
        char code[32];
        snprintf(code, sizeof code, "%s;5;%s", bubble ? "38" : "48", l->colour);
        sc__put_colour(out, code);
        if (!bubble)
            sc__put_colour(out, "38;5;16");
        sc__puts(out, bubble ? "·" : l->letter);
        sc__put_colour(out, "0");
    }
}

/* The kind that fills most of [from, to); *i: a segment not after it. */
static unsigned
dominant(const struct sc__segments *s, uint32_t *i, int64_t from, int64_t to) {
    int64_t share[SC__SEGMENT_KINDS] = {0};
    unsigned best = SC__SEGMENT_BUBBLE;
    while (*i < s->count && s->items[*i].end <= from)
        ++*i;
    for (uint32_t k = *i; k < s->count && s->items[k].start < to; k++) {
        const struct sc__segment *g = &s->items[k];
        int64_t begin = g->start > from ? g->start : from;
        int64_t end = g->end < to ? g->end : to;
        share[g->kind] += end - begin;
    }
    for (unsigned k = 0; k < SC__SEGMENT_KINDS; k++)
        if (share[k] > share[best])
            best = k;
    return best;
}

/* Only schedules that part weight gradients from the rest show them. */
static void join_wgrad(const struct sc__workload *w, struct sc__segments *s) {
    if (w->schedule && strstr(w->schedule, "zb"))
        return;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->items[i].kind == SC__SEGMENT_WGRAD)
            s->items[i].kind = SC__SEGMENT_BACKWARD;
}

static unsigned gantt_put_line(struct sc__buffer *out,
                               const struct sc__segments *s,
                               int64_t end,
                               unsigned columns,
                               bool colour) {
    unsigned seen = 0;
    uint32_t segment = 0;
    for (unsigned i = 0; i < columns; i++) {
        int64_t from = (int64_t)((double)end * i / columns);
        int64_t to = (int64_t)((double)end * (i + 1) / columns);
        unsigned kind = dominant(s, &segment, from, to);
        seen |= 1u << kind;
        gantt_put_cell(out, kind, colour);
    }
    return seen;
}

static void
gantt_put_axis(struct sc__buffer *out, int64_t end, unsigned margin, unsigned columns) {
    struct sc__buffer text;
    sc__buffer_init(&text, out->arena);
    sc__put_time(&text, end);
    sc__repeat(out, " ", margin);
    sc__putc(out, '0');
    if (columns > text.size + 1)
        sc__repeat(out, " ", columns - 1 - (unsigned)text.size);
    sc__printf(out, "%s\n", text.text);
}

static void
gantt_put_legend(struct sc__buffer *out, unsigned seen, unsigned margin, bool colour) {
    sc__repeat(out, " ", margin);
    for (unsigned k = 0; k < SC__SEGMENT_KINDS; k++) {
        if (!(seen & 1u << k) || k == SC__SEGMENT_OTHER)
            continue;
        gantt_put_cell(out, k, colour);
        sc__printf(out, " %s  ", looks[k].name);
    }
    sc__putc(out, '\n');
}

static const char *
line_name(struct sc__arena *a, const struct sc__workload *w, uint32_t class) {
    const struct sc__class *c = &w->classes[class];
    bool by_stage = w->class_count == w->mesh.pp;
    return sc__format(a, by_stage ? "stage %u" : "rank %u", by_stage ? c->stage : c->rank);
}

void sc__write_gantt(const struct sc__result *r,
                     unsigned width,
                     bool colour,
                     struct sc__buffer *out) {
    struct sc__arena *a = out->arena;
    const struct sc__timeline *t = r->timeline;
    const struct sc__workload *w = r->workload;
    uint32_t lines = w->class_count < MOST_LINES ? w->class_count : MOST_LINES;
    unsigned seen = 0;
    unsigned margin = 0;
    for (uint32_t c = 0; c < lines; c++) {
        unsigned n = (unsigned)strlen(line_name(a, w, c));
        if (n > margin)
            margin = n;
    }
    unsigned columns =
        (width ? width : 100) > margin + 12 ? (width ? width : 100) - margin - 3 : 10;
    for (uint32_t c = 0; c < lines; c++) {
        struct sc__segments s;
        sc__segments(a, t, &r->by_class, c, &s);
        join_wgrad(w, &s);
        sc__printf(out, "%*s |", (int)margin, line_name(a, w, c));
        seen |= gantt_put_line(out, &s, t->end, columns, colour);
        sc__puts(out, "|\n");
    }
    if (lines < w->class_count)
        sc__printf(out, "%*s  … and %u more\n", (int)margin, "", w->class_count - lines);
    gantt_put_axis(out, t->end, margin + 2, columns);
    gantt_put_legend(out, seen, margin + 2, colour);
}
