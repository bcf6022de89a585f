/* Rows are compared by their hashes. Where to copy from is looked for in two
 * places: the last time the next LEAST rows were seen together, and as far back
 * as the last copy reached, which is right again after a row that differs. The
 * longer of the two is taken. */
#include "report/columns.h"

#include <string.h>

#define LEAST 3 /* a copy takes three numbers: a shorter one does not pay */

struct columns_repeat {
    uint32_t fresh;
    uint32_t back;
    uint32_t copied;
};

struct columns_search {
    const uint64_t *hashes;
    uint32_t count;
    struct sc__map seen; /* hash of LEAST rows → where they were last */
    uint32_t last_back;
};

struct columns_plan {
    struct columns_repeat *items;
    uint32_t count;
    uint32_t capacity;
};

void sc__columns_init(struct sc__columns *c,
                      struct sc__arena *arena,
                      const struct sc__column *columns,
                      unsigned width) {
    *c = (struct sc__columns){.arena = arena, .columns = columns, .width = width};
}

void sc__columns_add(struct sc__columns *c, const int64_t *values) {
    if (c->count == c->capacity)
        c->values = sc__grow(c->arena,
                             c->values,
                             &c->capacity,
                             c->count + 1,
                             c->width * sizeof *values);
    memcpy(&c->values[(size_t)c->count * c->width], values, c->width * sizeof *values);
    c->count++;
}

/* ---- what repeats ---- */

static void columns_remember(struct columns_search *s, uint32_t from, uint32_t to) {
    bool fresh;
    for (uint32_t i = from; i < to && i + LEAST <= s->count; i++)
        *sc__map_at(&s->seen,
                    sc__hash(&s->hashes[i], LEAST * sizeof *s->hashes, 2),
                    &fresh) = i;
}

static uint32_t
columns_equal_rows(const struct columns_search *s, uint32_t at, uint32_t back) {
    uint32_t n = 0;
    if (!back || back > at)
        return 0;
    while (at + n < s->count && s->hashes[at + n] == s->hashes[at + n - back])
        n++;
    return n;
}

static struct columns_repeat columns_best_copy(const struct columns_search *s,
                                               uint32_t at) {
    struct columns_repeat best = {.back = s->last_back};
    best.copied = columns_equal_rows(s, at, best.back);
    if (at + LEAST > s->count)
        return best;
    const uint64_t *where =
        sc__map_find(&s->seen, sc__hash(&s->hashes[at], LEAST * sizeof *s->hashes, 2));
    uint32_t back = where ? at - (uint32_t)*where : 0;
    uint32_t copied = columns_equal_rows(s, at, back);
    if (copied > best.copied)
        best = (struct columns_repeat){.back = back, .copied = copied};
    return best;
}

static struct columns_plan columns_find_repeats(const struct sc__columns *c,
                                                const uint64_t *hashes) {
    struct columns_search s = {.hashes = hashes, .count = c->count};
    struct columns_plan plan = {0};
    uint32_t fresh = 0;
    sc__map_init(&s.seen, c->arena);
    for (uint32_t at = 0; at < c->count;) {
        struct columns_repeat copy = columns_best_copy(&s, at);
        uint32_t taken = copy.copied >= LEAST ? copy.copied : 1;
        columns_remember(&s, at, at + taken);
        at += taken;
        if (taken == 1 && copy.copied < LEAST) {
            fresh++;
            continue;
        }
        copy.fresh = fresh;
        fresh = 0;
        s.last_back = copy.back;
        *SC__PUSH(c->arena, plan.items, plan.count, plan.capacity) = copy;
    }
    if (fresh)
        *SC__PUSH(c->arena, plan.items, plan.count, plan.capacity) =
            (struct columns_repeat){.fresh = fresh};
    return plan;
}

/* ---- write ---- */

static void columns_put_number(struct sc__buffer *out, int64_t v) {
    if (v == SC__COLUMN_NONE) {
        sc__puts(out, "null");
        return;
    }
    if (v < 0)
        sc__putc(out, '-');
    sc__put_u64(out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static bool columns_is_usual(const struct sc__columns *c, unsigned column) {
    if (c->columns[column].letters)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->values[(size_t)i * c->width + column] != c->columns[column].usual)
            return false;
    return true;
}

static void columns_put_one(const struct sc__columns *c,
                            const struct columns_plan *plan,
                            unsigned column,
                            struct sc__buffer *out) {
    const char *letters = c->columns[column].letters;
    size_t at = 0;
    bool first = true;
    sc__printf(out, "\"%s\":%c", c->columns[column].name, letters ? '"' : '[');
    for (uint32_t i = 0; i < plan->count; i++) {
        for (uint32_t k = 0; k < plan->items[i].fresh; k++, at++) {
            int64_t v = c->values[at * c->width + column];
            if (!first && !letters)
                sc__putc(out, ',');
            first = false;
            if (letters)
                sc__putc(out, letters[v]);
            else
                columns_put_number(out, v);
        }
        at += plan->items[i].copied;
    }
    sc__puts(out, letters ? "\"," : "],\n");
}

void sc__columns_put(const struct sc__columns *c, struct sc__buffer *out) {
    uint64_t *hashes = SC__NEW_ARRAY(c->arena, uint64_t, c->count + 1);
    for (uint32_t i = 0; i < c->count; i++)
        hashes[i] =
            sc__hash(&c->values[(size_t)i * c->width], c->width * sizeof *c->values, 1);
    struct columns_plan plan = columns_find_repeats(c, hashes);
    sc__putc(out, '{');
    for (unsigned column = 0; column < c->width; column++)
        if (!columns_is_usual(c, column))
            columns_put_one(c, &plan, column, out);
    sc__puts(out, "\"repeats\":[");
    for (uint32_t i = 0; i < plan.count; i++)
        sc__printf(out,
                   "%s%u,%u,%u",
                   i ? "," : "",
                   plan.items[i].fresh,
                   plan.items[i].back,
                   plan.items[i].copied);
    sc__puts(out, "]}");
}
