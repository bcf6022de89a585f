/* The page's data: nothing is lost by not writing repeats again, and whatever is put
 * together, the sums stay. */
#include "test.h"

#include "report/columns.h"
#include "report/json_details.h"
#include "report/write.h"
#include "step_fixture.h"

#include <jansson.h>
#include <time.h>

#define US SC__PS_PER_US

struct step {
    sc_context *ctx;
    struct sc__workload *w;
    struct sc__sim sim;
    struct sc__result result;
};

static struct step make(uint32_t pp, uint32_t micro_batches, uint32_t layers) {
    struct step_plan p = {.pp = pp,
                          .tp = 2,
                          .dp = 2,
                          .micro_batches = micro_batches,
                          .layers = layers,
                          .forward = 100 * US,
                          .backward = 200 * US,
                          .update = 50 * US};
    struct step s = {.ctx = sc_open()};
    struct sc__sim_options options = {.keep_timeline = true};
    s.w = step_workload(s.ctx, &p);
    struct sc__net net = fixed_net(s.ctx, 30 * US, 7 * US);
    assert_int_equal(sc__simulate(s.ctx, s.w, &net, &options, &s.sim), SC_OK);
    assert_int_equal(sc__result_make(s.ctx, s.w, NULL, &net, &s.sim, &s.result), SC_OK);
    return s;
}

static json_t *timeline_of(struct step *s, size_t *size) {
    struct sc__buffer b;
    json_error_t e;
    sc__buffer_init(&b, &s->ctx->arena);
    sc__json_timeline(&s->result, &b);
    json_t *t = json_loadb(b.text, b.size, 0, &e);
    if (!t)
        fail_msg("%s", e.text);
    *size = b.size;
    return t;
}

/* A table in which repeats are not written again, one column of it unfolded.
 * Letters come as their codes. */
struct column {
    int64_t *values;
    size_t count;
};

static int64_t fresh_value(const json_t *fresh, size_t i) {
    if (json_is_string(fresh))
        return json_string_value(fresh)[i];
    const json_t *v = json_array_get(fresh, i);
    return json_is_null(v) ? SC__COLUMN_NONE : json_integer_value(v);
}

static struct column unfold(struct step *s, const json_t *table, const char *name) {
    const json_t *fresh = json_object_get(table, name);
    const json_t *repeats = json_object_get(table, "repeats");
    struct column out = {0};
    for (size_t i = 0; i < json_array_size(repeats); i++)
        if (i % 3 != 1)
            out.count += (size_t)json_integer_value(json_array_get(repeats, i));
    out.values = SC__NEW_ARRAY(&s->ctx->arena, int64_t, out.count + 1);
    for (size_t i = 0, at = 0, next = 0; i < json_array_size(repeats); i += 3) {
        size_t new = (size_t)json_integer_value(json_array_get(repeats, i));
        size_t back = (size_t)json_integer_value(json_array_get(repeats, i + 1));
        size_t copied = (size_t)json_integer_value(json_array_get(repeats, i + 2));
        for (size_t k = 0; k < new; k++)
            out.values[at++] = fresh_value(fresh, next++);
        for (size_t k = 0; k < copied; k++, at++)
            out.values[at] = out.values[at - back];
    }
    return out;
}

struct unfolded {
    struct column size;
    struct column kind;
    struct column length;
    struct column inside;
    size_t *first; /* segment of each inside */
};

static struct unfolded unfold_timeline(struct step *s, const json_t *t) {
    const json_t *insides = json_object_get(t, "insides");
    struct unfolded u = {
        .size = unfold(s, json_object_get(insides, "sizes"), "size"),
        .kind = unfold(s, json_object_get(insides, "segments"), "kind"),
        .length = unfold(s, json_object_get(insides, "lengths_ps"), "length"),
        .inside = unfold(s, json_object_get(t, "blocks"), "inside"),
    };
    int64_t new = 0;
    assert_int_equal(u.kind.count, u.length.count);
    u.first = SC__NEW_ARRAY(&s->ctx->arena, size_t, u.size.count + 1);
    for (size_t i = 0; i < u.size.count; i++)
        u.first[i + 1] = u.first[i] + (size_t)u.size.values[i];
    for (size_t i = 0; i < u.inside.count; i++)
        if (u.inside.values[i] < 0)
            u.inside.values[i] = new ++;
    assert_int_equal(new, u.size.count);
    return u;
}

/* Sum of the lengths of one kind in a row. */
static int64_t sum(const struct unfolded *u, const json_t *t, size_t row, char kind) {
    const json_t *rows = json_object_get(t, "rows");
    size_t block = 0;
    int64_t total = 0;
    for (size_t i = 0; i < row; i++)
        block +=
            (size_t)json_integer_value(json_object_get(json_array_get(rows, i), "blocks"));
    size_t end = block + (size_t)json_integer_value(
                             json_object_get(json_array_get(rows, row), "blocks"));
    for (; block < end; block++) {
        size_t inside = (size_t)u->inside.values[block];
        for (size_t k = u->first[inside]; k < u->first[inside + 1]; k++)
            if (u->kind.values[k] == kind || kind == '*')
                total += u->length.values[k];
    }
    return total;
}

static void check_sums(struct step *s, const char *detail, size_t most) {
    size_t size;
    json_t *t = timeline_of(s, &size);
    assert_string_equal(json_string_value(json_object_get(t, "detail")), detail);
    assert_int_equal(json_array_size(json_object_get(t, "rows")), s->w->class_count);
    struct unfolded u = unfold_timeline(s, t);
    for (uint32_t c = 0; c < s->w->class_count; c++) {
        const struct sc__account *a = &s->sim.classes[c].account;
        int64_t exposed = 0;
        for (uint32_t g = 0; g <= s->w->group_count; g++)
            exposed += a->exposed[g];
        assert_int_equal(sum(&u, t, c, 'b'), a->bubble);
        assert_int_equal(sum(&u, t, c, 's'), a->skew);
        assert_int_equal(sum(&u, t, c, 'C'), exposed);
        assert_int_equal(sum(&u, t, c, 'F') + sum(&u, t, c, 'B') + sum(&u, t, c, 'U'),
                         a->compute);
        assert_int_equal(sum(&u, t, c, '*'), s->sim.step);
    }
    assert_true(size < most);
    json_decref(t);
}

static void small_timelines_are_kept_whole(void **state) {
    (void)state;
    struct step s = make(4, 8, 2);
    check_sums(&s, "all", 100000);
    sc__result_free(&s.result);
    sc_close(s.ctx);
}

/* However large: what repeats itself is in the page to the picosecond. */
static void large_ones_too_where_they_repeat_themselves(void **state) {
    (void)state;
    struct step s = make(64, 128, 4);
    assert_true(s.sim.timeline->count > 100000);
    check_sums(&s, "all", 200000);
    sc__result_free(&s.result);
    sc_close(s.ctx);
    s = make(64, 512, 1);
    check_sums(&s, "all", 200000);
    sc__result_free(&s.result);
    sc_close(s.ctx);
}

/* Every span begins an odd bit later: nothing repeats any more. */
static void stretch(struct step *s) {
    struct sc__timeline *t = (struct sc__timeline *)(uintptr_t)s->result.timeline;
    for (uint32_t i = 0; i < t->count; i++) {
        int64_t at = t->spans[i].start;
        t->spans[i].start = at + at / 1000 * (i % 977) / 100000;
        if (t->spans[i].start > t->spans[i].end)
            t->spans[i].start = t->spans[i].end;
        if (t->spans[i].ready < t->spans[i].start)
            t->spans[i].ready = t->spans[i].start;
    }
}

static void what_does_not_repeat_itself_is_put_together(void **state) {
    (void)state;
    struct step s = make(64, 256, 8);
    size_t size;
    stretch(&s);
    json_t *t = timeline_of(&s, &size);
    assert_string_equal(json_string_value(json_object_get(t, "detail")), "cells");
    assert_true(size < 1500000);
    struct unfolded u = unfold_timeline(&s, t);
    for (uint32_t c = 0; c < s.w->class_count; c++)
        assert_int_equal(sum(&u, t, c, '*'), s.sim.step);
    json_decref(t);
    sc__result_free(&s.result);
    sc_close(s.ctx);
}

/* Random rows of few values, some of them copies of what was: unfolded they are
 * what went in. */
static void columns_unfold_to_what_they_were(void **state) {
    (void)state;
    static const struct sc__column names[] = {{.name = "a", .usual = 7},
                                              {.name = "b", .letters = "xyz"}};
    struct step s = {.ctx = sc_open()};
    uint64_t seed = 3;
    for (unsigned round = 0; round < 200; round++) {
        struct sc__columns c;
        struct sc__buffer b;
        int64_t rows[600][2];
        size_t n = 0;
        sc__columns_init(&c, &s.ctx->arena, names, 2);
        while (n < 3 * round) {
            seed = sc__hash(&seed, sizeof seed, 5);
            size_t back = n ? seed % n + 1 : 0;
            size_t copies = seed >> 20 & 15;
            for (size_t k = 0; k < copies && back && n < 600; k++, n++)
                memcpy(rows[n], rows[n - back], sizeof *rows);
            if (n == 600)
                break;
            rows[n][0] = seed & 1 ? SC__COLUMN_NONE : (int64_t)(seed >> 8 & 3) - 1;
            rows[n++][1] = (int64_t)(seed >> 40) % 3;
        }
        for (size_t i = 0; i < n; i++)
            sc__columns_add(&c, rows[i]);
        sc__buffer_init(&b, &s.ctx->arena);
        sc__columns_put(&c, &b);
        json_t *table = json_loadb(b.text, b.size, 0, NULL);
        struct column first = unfold(&s, table, "a");
        struct column second = unfold(&s, table, "b");
        assert_int_equal(first.count, n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(first.values[i], rows[i][0]);
            assert_int_equal(second.values[i], "xyz"[rows[i][1]]);
        }
        json_decref(table);
    }
    sc_close(s.ctx);
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The acceptance figure: a million spans, under 3 MB and 2 s (a sanitizer's
 * build is slower and may take ten times as long). */
static void a_million_spans(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    const double most = 20;
#else
    const double most = 2;
#endif
    struct step s = make(64, 128, 32);
    size_t size;
    assert_true(s.sim.timeline->count > 1000000);
    double from = cpu_seconds();
    json_t *t = timeline_of(&s, &size);
    assert_true(cpu_seconds() - from < most);
    assert_true(size < 3000000);
    json_decref(t);
    sc__result_free(&s.result);
    sc_close(s.ctx);
}

static void rank_lists(void **state) {
    (void)state;
    struct step s = make(4, 2, 1);
    static const struct {
        const char *text;
        /* count 0: refused */
        uint32_t count;
        uint32_t first;
        uint32_t last;
    } cases[] = {{NULL, 4, 0, 12},
                 {"all", 16, 0, 15},
                 {"3", 1, 3, 3},
                 {"0,8-10", 4, 0, 10},
                 {"5,1,5,1-2", 3, 1, 5},
                 {"16", 0, 0, 0},
                 {"2-1", 0, 0, 0},
                 {"x", 0, 0, 0},
                 {"1-", 0, 0, 0},
                 {"-1", 0, 0, 0},
                 {"", 0, 0, 0},
                 {"1,,2", 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__trace_ranks r;
        sc_status status = sc__trace_ranks(s.ctx, s.w, cases[i].text, &r);
        assert_int_equal(status, cases[i].count ? SC_OK : SC_USAGE);
        if (!cases[i].count)
            continue;
        assert_int_equal(r.count, cases[i].count);
        assert_int_equal(r.ranks[0], cases[i].first);
        assert_int_equal(r.ranks[r.count - 1], cases[i].last);
    }
    sc__result_free(&s.result);
    sc_close(s.ctx);
}

static size_t columns(const char *line, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)line[i] & 0xc0) != 0x80;
    return count;
}

/* A line per stage, none wider than asked for, and stage 0 begins forward. */
static void gantt_fits_the_width(void **state) {
    (void)state;
    struct step s = make(4, 8, 2);
    for (unsigned width = 40; width <= 200; width += 40) {
        struct sc__buffer b;
        sc__buffer_init(&b, &s.ctx->arena);
        sc__write_gantt(&s.result, width, false, &b);
        assert_ptr_equal(strstr(b.text, "stage 0 |F"), b.text);
        unsigned lines = 0;
        for (const char *p = b.text, *end; (end = strchr(p, '\n')); p = end + 1, lines++)
            if (lines < 5)
                assert_true(columns(p, (size_t)(end - p)) <= width);
        assert_int_equal(lines, 6);
    }
    sc__result_free(&s.result);
    sc_close(s.ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_timelines_are_kept_whole),
        cmocka_unit_test(large_ones_too_where_they_repeat_themselves),
        cmocka_unit_test(what_does_not_repeat_itself_is_put_together),
        cmocka_unit_test(columns_unfold_to_what_they_were),
        cmocka_unit_test(a_million_spans),
        cmocka_unit_test(rank_lists),
        cmocka_unit_test(gantt_fits_the_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
