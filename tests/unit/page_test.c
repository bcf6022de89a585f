/* The page's data: whatever is put together, the sums stay. */
#include "test.h"

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

/* Sum of the lengths of one kind in a row. */
static int64_t sum(const json_t *t, size_t row, char kind) {
    json_t *lengths = json_object_get(t, "lengths_ps");
    json_t *segments =
        json_object_get(json_array_get(json_object_get(t, "rows"), row), "segments");
    const char *kinds = json_string_value(json_object_get(segments, "kind"));
    json_t *length = json_object_get(segments, "length");
    int64_t total = 0;
    assert_int_equal(strlen(kinds), json_array_size(length));
    for (size_t i = 0; kinds[i]; i++)
        if (kinds[i] == kind || kind == '*')
            total += json_integer_value(
                json_array_get(lengths,
                               (size_t)json_integer_value(json_array_get(length, i))));
    return total;
}

static void check_sums(struct step *s, const char *detail, size_t most) {
    size_t size;
    json_t *t = timeline_of(s, &size);
    assert_string_equal(json_string_value(json_object_get(t, "detail")), detail);
    assert_int_equal(json_array_size(json_object_get(t, "rows")), s->w->class_count);
    for (uint32_t c = 0; c < s->w->class_count; c++) {
        const struct sc__account *a = &s->sim.classes[c].account;
        int64_t exposed = 0;
        for (uint32_t g = 0; g <= s->w->group_count; g++)
            exposed += a->exposed[g];
        assert_int_equal(sum(t, c, 'b'), a->bubble);
        assert_int_equal(sum(t, c, 's'), a->skew);
        assert_int_equal(sum(t, c, 'C'), exposed);
        assert_int_equal(sum(t, c, 'F') + sum(t, c, 'B') + sum(t, c, 'U'), a->compute);
        assert_int_equal(sum(t, c, '*'), s->sim.step);
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

static void large_ones_are_put_together_by_block(void **state) {
    (void)state;
    struct step s = make(64, 128, 4);
    assert_true(s.sim.timeline->count > 100000);
    check_sums(&s, "blocks", 1200000);
    sc__result_free(&s.result);
    sc_close(s.ctx);
}

static void larger_ones_by_cells_of_time(void **state) {
    (void)state;
    struct step s = make(64, 512, 1);
    check_sums(&s, "cells", 1200000);
    sc__result_free(&s.result);
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
        cmocka_unit_test(large_ones_are_put_together_by_block),
        cmocka_unit_test(larger_ones_by_cells_of_time),
        cmocka_unit_test(a_million_spans),
        cmocka_unit_test(rank_lists),
        cmocka_unit_test(gantt_fits_the_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
