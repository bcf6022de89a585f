#include "test.h"

#include "base/base.h"
#include "base/parallel.h"

#include <glob.h>
#include <stdatomic.h>
#include <zlib.h>

#include "context.h"

static void arena_grows_and_keeps(void **state) {
    (void)state;
    uint64_t *items = NULL;
    uint32_t count = 0;
    uint32_t capacity = 0;
    for (uint64_t i = 0; i < 200000; i++)
        *SC__PUSH(&ctx->arena, items, count, capacity) = i * i;
    for (uint64_t i = 0; i < 200000; i++)
        assert_true(items[i] == i * i);
    assert_true(ctx->arena.total < 200000 * sizeof *items * 3);
}

static void arena_gives_zeroed_aligned_memory(void **state) {
    (void)state;
    for (size_t n = 1; n < 70000; n = n * 3 + 1) {
        unsigned char *p = sc__alloc(&ctx->arena, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
}

static sc_status take_all_memory(void *self) {
    for (;;)
        sc__alloc(self, 1000);
    return SC_OK;
}

static sc_status take_nothing(void *self) {
    (void)self;
    return SC_NO;
}

static void arena_limit_ends_the_work(void **state) {
    (void)state;
    ctx->arena.limit = 1 << 20;
    assert_int_equal(sc__guarded(ctx, take_all_memory, &ctx->arena), SC_SYSTEM);
    assert_string_equal(sc_error_text(ctx), "error: out of memory\n");
    assert_int_equal(sc__guarded(ctx, take_nothing, NULL), SC_NO);
    ctx->arena.limit = 0;
}

/* The inner guard takes it; the outer work goes on. */
static sc_status fail_inside(void *self) {
    bool *went_on = self;
    sc_status inside = sc__guarded(ctx, take_all_memory, &ctx->arena);
    *went_on = true;
    return inside == SC_SYSTEM ? SC_NO : SC_OK;
}

static void guards_nest(void **state) {
    (void)state;
    bool went_on = false;
    ctx->arena.limit = 1 << 20;
    assert_int_equal(sc__guarded(ctx, fail_inside, &went_on), SC_NO);
    assert_true(went_on);
    ctx->arena.limit = 0;
}

/* Memory of one arena that runs short on many threads ends the work of each of
 * them, and nobody else's. */
struct shortage {
    struct sc__arena *arena;
    sc_status status[8];
};

static void run_short(void *self, uint32_t i) {
    struct shortage *s = self;
    sc_context *own = sc_open();
    s->status[i] = sc__guarded(own, take_all_memory, s->arena);
    sc_close(own);
}

static void each_thread_has_its_guard(void **state) {
    (void)state;
    struct shortage s = {.arena = &ctx->arena};
    ctx->arena.next = ctx->arena.end;
    ctx->arena.limit = 1; /* no thread gets any, so none changes what others read */
    ctx->jobs = 8;
    assert_int_equal(sc__parallel(ctx, "running short", 8, run_short, &s), SC_OK);
    ctx->jobs = 1;
    ctx->arena.limit = 0;
    for (int i = 0; i < 8; i++)
        assert_int_equal(s.status[i], SC_SYSTEM);
}

static void count_piece(void *self, uint32_t i) {
    (void)i;
    atomic_fetch_add((atomic_uint *)self, 1);
}

static int cancel_halfway(void *user, const char *what, double share) {
    (void)user;
    (void)what;
    return share >= 0.5;
}

static void parallel_work_can_be_cancelled(void **state) {
    (void)state;
    atomic_uint done = 0;
    sc_set_progress(ctx, cancel_halfway, NULL);
    assert_int_equal(sc__parallel(ctx, "counting", 100, count_piece, &done), SC_CANCELLED);
    assert_int_equal(atomic_load(&done), 50);
    sc_set_progress(ctx, NULL, NULL);
    ctx->jobs = 4;
    assert_int_equal(sc__parallel(ctx, "counting", 100, count_piece, &done), SC_OK);
    ctx->jobs = 1;
    assert_int_equal(atomic_load(&done), 150);
}

/* Keys with many equals, so that an unstable sort shows. */
struct sort_item {
    uint32_t key;
    uint32_t place;
    char rest[13];
};

static int by_key(const void *a, const void *b, void *self) {
    const struct sort_item *x = a;
    const struct sort_item *y = b;
    ++*(uint32_t *)self;
    return x->key < y->key ? -1 : x->key > y->key;
}

static void sort_is_stable(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (uint32_t n = 0; n < 300; n = n * 5 / 4 + 1) {
        struct sort_item items[300];
        uint32_t compared = 0;
        for (uint32_t i = 0; i < n; i++)
            items[i] =
                (struct sort_item){.key = (uint32_t)sc__random(&seed) % 17, .place = i};
        sc__sort(items, n, sizeof *items, by_key, &compared);
        for (uint32_t i = 1; i < n; i++)
            assert_true(
                items[i - 1].key < items[i].key ||
                (items[i - 1].key == items[i].key && items[i - 1].place < items[i].place));
        assert_true(n < 2 || compared < n * 10); /* n log2 n, and n checks of halves */
    }
}

static void words_are_found(void **state) {
    (void)state;
    static const char text[] = "aab\0aabaaac";
    size_t n = sizeof text - 1;
    assert_ptr_equal(sc__find_word(text, n, "aab"), text);
    assert_ptr_equal(sc__find_word(text, n, "aac"), text + 8);
    assert_ptr_equal(sc__find_word(text, n, "ba"), text + 6);
    assert_ptr_equal(sc__find_word(text, n, ""), text);
    assert_null(sc__find_word(text, n - 1, "aac"));
    assert_null(sc__find_word(text, 2, "aab"));
    assert_null(sc__find_word(NULL, 0, "a"));
    assert_true(sc__str_is_any_case(SC__STR("BFloat16"), "bfLOAT16"));
    assert_false(sc__str_is_any_case(SC__STR("BFloat16"), "bfloat"));
    assert_true(sc__str_starts_any_case(SC__STR("BFloat16"), "bfloat"));
    assert_false(sc__str_starts_any_case(SC__STR("BF"), "bfloat"));
    assert_false(sc__str_is_any_case(SC__STR("[ab"), "{AB")); /* 0x20 apart, no letters */
}

static void heap_orders_by_time_then_sequence(void **state) {
    (void)state;
    struct sc__heap h;
    uint64_t seed = 1;
    sc__heap_init(&h, &ctx->arena);
    for (uint32_t i = 0; i < 5000; i++)
        sc__heap_push(&h, (int64_t)(sc__random(&seed) % 50), i, 0);
    int64_t last = -1;
    uint32_t last_a = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        struct sc__event e = sc__heap_pop(&h);
        assert_true(e.time > last || (e.time == last && e.a > last_a));
        last = e.time;
        last_a = e.a;
    }
    assert_true(sc__heap_empty(&h));
}

static void names_are_dense_and_found(void **state) {
    (void)state;
    struct sc__names t;
    char name[32];
    sc__names_init(&t, &ctx->arena);
    for (uint32_t i = 0; i < 3000; i++) {
        int n = snprintf(name, sizeof name, "name%u", i);
        assert_int_equal(sc__names_add(&t, name, (size_t)n), i);
    }
    for (uint32_t i = 0; i < 3000; i++) {
        int n = snprintf(name, sizeof name, "name%u", i);
        assert_int_equal(sc__names_find(&t, name, (size_t)n), i);
        assert_int_equal(sc__names_add(&t, name, (size_t)n), i);
    }
    assert_int_equal(sc__names_find(&t, "name", 4), SC__NO_NAME);
    assert_int_equal(sc__names_add(&t, NULL, 0),
                     3000); /* the empty name, wherever it comes from */
    assert_int_equal(sc__names_add(&t, "", 0), 3000);
}

static void map_keeps_all_keys(void **state) {
    (void)state;
    struct sc__map m;
    bool fresh;
    sc__map_init(&m, &ctx->arena);
    for (uint64_t i = 0; i < 5000; i++) {
        *sc__map_at(&m, i << 40, &fresh) = i;
        assert_true(fresh);
    }
    for (uint64_t i = 0; i < 5000; i++)
        assert_true(*sc__map_find(&m, i << 40) == i);
    assert_null(sc__map_find(&m, 1));
    for (uint64_t i = 0; i < 5000; i += 3)
        sc__map_remove(&m, i << 40);
    for (uint64_t i = 0; i < 5000; i++) {
        if (i % 3)
            assert_true(*sc__map_find(&m, i << 40) == i);
        else
            assert_null(sc__map_find(&m, i << 40));
    }
}

static void numbers_are_strict(void **state) {
    (void)state;
    uint64_t u;
    int64_t i;
    double d;
    assert_true(sc__parse_u64(sc__str("18446744073709551615"), &u) && u == UINT64_MAX);
    assert_false(sc__parse_u64(sc__str("18446744073709551616"), &u));
    assert_false(sc__parse_u64(sc__str(""), &u));
    assert_false(sc__parse_u64(sc__str("12a"), &u));
    assert_false(sc__parse_u64(sc__str(" 12"), &u));
    assert_true(sc__parse_i64(sc__str("-9223372036854775807"), &i) && i == -INT64_MAX);
    assert_false(sc__parse_i64(sc__str("9223372036854775808"), &i));
    assert_true(sc__parse_double(sc__str("4.79e-09"), &d) && d == 4.79e-09);
    static const char *const bad[] =
        {"nan", "inf", "0x10", "1e", "1.2.3", "--1", "", "e5", "1e999", NULL};
    for (int k = 0; bad[k]; k++)
        assert_false(sc__parse_double(sc__str(bad[k]), &d));
    assert_true(sc__parse_decimal(sc__str("1234.5678"), 3, &i) && i == 1234568);
    assert_true(sc__parse_decimal(sc__str("-0.0004"), 3, &i) && i == 0);
    assert_false(sc__parse_decimal(sc__str("16109898840.42"), 9, &i)); /* would not fit */
    assert_true(sc__parse_decimal(sc__str("16109898840.42"), 6, &i) &&
                i == 16109898840420000);
    assert_false(sc__parse_decimal(sc__str("99999999999999999999"), 3, &i));
    assert_false(sc__parse_decimal(sc__str("."), 3, &i));
}

/* Bytes a second of one of each unit: decimal ones, powers of 1024, bits by 8. */
static void rates_by_unit(void) {
    static const struct {
        const char *text;
        double rate;
    } rates[] = {{"1B/s", 1},
                 {"1KB/s", 1000},
                 {"1MB/s", 1000000},
                 {"1GB/s", 1000000000},
                 {"1TB/s", 1000000000000},
                 {"1KiB/s", 1024},
                 {"1MiB/s", 1048576},
                 {"1GiB/s", 1073741824},
                 {"1TiB/s", 1099511627776},
                 {"8bps", 1},
                 {"8Kbps", 1000},
                 {"8Mbps", 1000000},
                 {"8Gbps", 1000000000},
                 {"8Tbps", 1000000000000},
                 {"8Mb/s", 1000000},
                 {"8Gb/s", 1000000000},
                 {"8Tb/s", 1000000000000}};
    double rate;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        assert_true(sc__parse_rate(sc__str(rates[i].text), &rate));
        if (rate != rates[i].rate)
            fail_msg("%s is %.17g B/s", rates[i].text, rate);
    }
    assert_false(sc__parse_rate(sc__str("400"), &rate));
}

/* SI prefixes are powers of 1000, binary ones of 1024; a single letter is what
 * NCCL's tests mean by it, a binary one. */
static void bytes_by_unit(void) {
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"3", 3},
                 {"3B", 3},
                 {"3K", 3072},
                 {"3M", 3145728},
                 {"3G", 3221225472},
                 {"3T", 3298534883328},
                 {"3KB", 3000},
                 {"3kB", 3000},
                 {"3MB", 3000000},
                 {"3GB", 3000000000},
                 {"3TB", 3000000000000},
                 {"3KiB", 3072},
                 {"3MiB", 3145728},
                 {"3GiB", 3221225472},
                 {"3TiB", 3298534883328}};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_true(sc__parse_bytes(sc__str(sizes[i].text), &bytes));
        assert_number(bytes, ==, sizes[i].bytes);
    }
}

static void times_by_unit(void) {
    static const struct {
        const char *text;
        int64_t ps;
    } times[] = {{"7ps", 7},
                 {"7ns", 7000},
                 {"7us", 7000000},
                 {"7µs", 7000000},
                 {"7ms", 7000000000},
                 {"7s", 7000000000000},
                 {"7min", 420000000000000}};
    int64_t ps;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_true(sc__parse_time(sc__str(times[i].text), &ps));
        assert_number(ps, ==, times[i].ps);
    }
}

static void units_are_read(void **state) {
    (void)state;
    bytes_by_unit();
    times_by_unit();
    uint64_t b;
    double r;
    int64_t t;
    assert_true(sc__parse_bytes(sc__str("80GiB"), &b) && b == 80ull << 30);
    assert_true(sc__parse_bytes(sc__str("25MB"), &b) && b == 25000000);
    assert_true(sc__parse_bytes(sc__str("1.5e9"), &b) && b == 1500000000);
    assert_true(sc__parse_bytes(sc__str("8G"), &b) && b == 8ull << 30);
    assert_false(sc__parse_bytes(sc__str("80GiBB"), &b));
    rates_by_unit();
    assert_false(sc__parse_bytes(sc__str("-1"), &b));
    assert_true(sc__parse_rate(sc__str("400Gbps"), &r) && r == 50e9);
    assert_true(sc__parse_rate(sc__str("300GiB/s"), &r) && r == 300.0 * (1 << 30));
    assert_true(sc__parse_time(sc__str("3us"), &t) && t == 3000000);
    assert_true(sc__parse_time(sc__str("1.5ms"), &t) && t == 1500000000);
    assert_true(sc__parse_time(sc__str("0"), &t) && t == 0);
    assert_false(sc__parse_time(sc__str("3"), &t));
    assert_true(sc__parse_share(sc__str("5%"), &r) && r == 0.05);
}

static void times_are_written_exactly(void **state) {
    (void)state;
    static const struct {
        int64_t ps;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "0.000001"},
                 {13973040880000, "13973040.88"},
                 {-1500000, "-1.5"},
                 {1000000, "1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sc__buffer b;
        sc__buffer_init(&b, &ctx->arena);
        sc__put_us(&b, cases[i].ps);
        assert_string_equal(b.text, cases[i].text);
    }
}

static void json_escapes_and_nests(void **state) {
    (void)state;
    struct sc__buffer b;
    struct sc__json j;
    sc__buffer_init(&b, &ctx->arena);
    sc__json_init(&j, &b);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "a\"b", "x\ny\x01");
    sc__json_list(&j, "list");
    sc__json_u64(&j, NULL, 1);
    sc__json_double(&j, NULL, 0.1);
    sc__json_double(&j, NULL, 1.0 / 0.0);
    sc__json_end_array(&j);
    sc__json_object(&j, "empty");
    sc__json_end_object(&j);
    sc__json_end_object(&j);
    assert_string_equal(b.text,
                        "{\n  \"a\\\"b\": \"x\\ny\\u0001\",\n  \"list\": [1, 0.1, null],\n "
                        " \"empty\": {}\n}\n");
}

static void errors_have_place_and_hint(void **state) {
    (void)state;
    struct sc__place at = {.file = "f.txt", .line = 3, .column = 7};
    assert_int_equal(sc__fail(ctx, SC_INPUT, &at, "try this", "bad %s", "thing"), SC_INPUT);
    assert_string_equal(sc_error_text(ctx),
                        "f.txt:3:7: error: bad thing\n  hint: try this\n");
    struct sc__place byte = {.file = "f.bin", .offset = 99, .binary = true};
    sc__fail(ctx, SC_INPUT, &byte, NULL, "cut");
    assert_string_equal(sc_error_text(ctx), "f.bin:byte 99: error: cut\n");
}

static void nearest_word(void **state) {
    (void)state;
    static const char *const words[] = {"cluster", "schedule", "micro-batches", NULL};
    assert_string_equal(sc__nearest("clsuter", words), "cluster");
    assert_string_equal(sc__nearest("micro-batch", words), "micro-batches");
    assert_null(sc__nearest("zzzzzz", words));
    static const char *const short_words[] = {"mtu", "net", "pp", NULL};
    assert_null(sc__nearest("moe", short_words)); /* two of three letters are others */
    assert_string_equal(sc__nearest("nte", short_words), "net");
    static const char *const parts[] = {"offload-params", "offload", "off-load", NULL};
    const char *found[2] = {0};
    assert_int_equal(sc__begin_with("offload", parts, found, 2), 1);
    assert_string_equal(found[0], "offload-params");
    assert_int_equal(sc__begin_with("o", parts, found, 2), 0);
}

static void lines_of_plain_and_packed_files(void **state) {
    (void)state;
    static const char text[] = "\xef\xbb\xbf"
                               "one\r\n\ntwo";
    const char *plain = temporary_file(text, sizeof text - 1);
    const char *packed = temporary_file("", 0);
    gzFile gz = gzopen(packed, "wb");
    gzwrite(gz, text, sizeof text - 1);
    gzclose(gz);
    for (int k = 0; k < 2; k++) {
        static const char *const want[] = {"one", "", "two"};
        struct sc__input in;
        struct sc__str line;
        bool more;
        assert_int_equal(sc__input_open(ctx, k ? packed : plain, &in), SC_OK);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(sc__input_line(&in, &line, &more), SC_OK);
            assert_true(more);
            assert_true(sc__str_is(line, want[i]));
        }
        assert_int_equal(sc__input_line(&in, &line, &more), SC_OK);
        assert_false(more);
        sc__input_close(&in);
    }
    unlink(plain);
    unlink(packed);
}

static void files_appear_whole(void **state) {
    (void)state;
    const char *path = temporary_file("old", 3);
    struct sc__str got;
    assert_int_equal(sc__write_file(ctx, path, "new text", 8), SC_OK);
    assert_int_equal(sc__read_all(ctx, path, 100, &got), SC_OK);
    assert_true(sc__str_is(got, "new text"));
    assert_int_equal(sc__read_all(ctx, path, 4, &got), SC_INPUT);
    unlink(path);
    assert_int_equal(sc__write_file(ctx, "/nonexistent/x", "a", 1), SC_SYSTEM);
}

static unsigned files_beside(const char *path) {
    glob_t found;
    char pattern[300];
    snprintf(pattern, sizeof pattern, "%s.*", path);
    unsigned n = glob(pattern, 0, NULL, &found) == 0 ? (unsigned)found.gl_pathc : 0;
    if (n)
        globfree(&found);
    return n;
}

/* 3 MB of numbered lines: more than a piece, and every byte has its place. */
static void put_lines(struct sc__buffer *b) {
    for (unsigned i = 0; i < 300000; i++)
        sc__printf(b, "%09u\n", i);
}

static void large_files_are_written_in_pieces(void **state) {
    (void)state;
    const char *path = temporary_file("old", 3);
    const char *packed = sc__format(&ctx->arena, "%s.gz", path);
    struct sc__output *o;
    struct sc__str got;
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(sc__output_open(ctx, k ? packed : path, &o), SC_OK);
        put_lines(&o->buffer);
        assert_in_range(o->buffer.capacity, 1, 1 << 20);
        assert_int_equal(sc__output_end(o, SC_OK), SC_OK);
        assert_int_equal(sc__read_all(ctx, k ? packed : path, 4 << 20, &got), SC_OK);
        assert_int_equal(got.n, 3000000);
        for (unsigned i = 0; i < 300000; i += 9973)
            assert_int_equal(strtoul(got.p + 10 * (size_t)i, NULL, 10), i);
    }
    unlink(packed);
    unlink(path);
}

static void outputs_that_fail_leave_nothing(void **state) {
    (void)state;
    const char *path = temporary_file("old", 3);
    struct sc__output *o;
    struct sc__str got;
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(sc__output_open(ctx, path, &o), SC_OK);
        put_lines(&o->buffer);
        assert_in_range(files_beside(path),
                        0,
                        1); /* one where the system has no files without a name */
        if (k)
            sc__outputs_abandon(ctx);
        else
            assert_int_equal(sc__output_end(o, SC_INPUT), SC_INPUT);
        assert_int_equal(files_beside(path), 0);
    }
    assert_int_equal(sc__read_all(ctx, path, 100, &got), SC_OK);
    assert_true(sc__str_is(got, "old"));
    unlink(path);
    if (access("/dev/full", W_OK) < 0)
        return;
    assert_int_equal(sc__output_open(ctx, "/dev/full", &o), SC_OK);
    put_lines(&o->buffer);
    assert_int_equal(sc__output_end(o, SC_OK), SC_SYSTEM);
    assert_non_null(
        strstr(sc_error_text(ctx), "/dev/full: error: cannot write: No space left"));
}

static void notes_are_kept_once(void **state) {
    (void)state;
    for (unsigned round = 0; round < 2; round++) { /* commands begin with no notes */
        ctx->note_count = 0;
        for (unsigned i = 0; i < 1000; i++)
            sc__note(ctx, "code", "number %u", i % 10);
        sc__note(ctx, "other", "number 3");
        assert_int_equal(ctx->note_count, 11);
        for (unsigned i = 0; i < 10; i++)
            assert_string_equal(ctx->notes[i].text,
                                sc__format(&ctx->arena, "number %u", i));
    }
}

static void splitmix_matches_its_reference(void **state) {
    (void)state;
    uint64_t s = 1234567; /* Steele, Lea, Flood; values of the published C code */
    assert_true(sc__random(&s) == 6457827717110365317u);
    assert_true(sc__random(&s) == 3203168211198807973u);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(arena_grows_and_keeps),
                                       cmocka_unit_test(arena_gives_zeroed_aligned_memory),
                                       cmocka_unit_test(arena_limit_ends_the_work),
                                       cmocka_unit_test(guards_nest),
                                       cmocka_unit_test(sort_is_stable),
                                       cmocka_unit_test(words_are_found),
                                       cmocka_unit_test(each_thread_has_its_guard),
                                       cmocka_unit_test(parallel_work_can_be_cancelled),
                                       cmocka_unit_test(heap_orders_by_time_then_sequence),
                                       cmocka_unit_test(names_are_dense_and_found),
                                       cmocka_unit_test(map_keeps_all_keys),
                                       cmocka_unit_test(numbers_are_strict),
                                       cmocka_unit_test(units_are_read),
                                       cmocka_unit_test(times_are_written_exactly),
                                       cmocka_unit_test(json_escapes_and_nests),
                                       cmocka_unit_test(errors_have_place_and_hint),
                                       cmocka_unit_test(nearest_word),
                                       cmocka_unit_test(lines_of_plain_and_packed_files),
                                       cmocka_unit_test(files_appear_whole),
                                       cmocka_unit_test(large_files_are_written_in_pieces),
                                       cmocka_unit_test(outputs_that_fail_leave_nothing),
                                       cmocka_unit_test(notes_are_kept_once),
                                       cmocka_unit_test(splitmix_matches_its_reference)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
