/* JSON kept as text against jansson: the same documents are accepted, and the
 * same values are found in them. */
#include "test.h"

#include "base/json_text.h"

#include <jansson.h>

#include "context.h"

static uint64_t seed = 7;
static uint64_t below(uint64_t n) {
    return sc__random(&seed) % n;
}

static void put_blanks(struct sc__buffer *b) {
    static const char *const some[] = {"", "", "", " ", "\n", "\t \r\n"};
    sc__puts(b, some[below(6)]);
}

static void put_string(struct sc__buffer *b) {
    static const char *const parts[] = {"a",
                                        "name",
                                        "\xc3\xa9",
                                        "\xf0\x9f\x98\x80",
                                        "\\n",
                                        "\\\"",
                                        "\\\\",
                                        "\\u00e9",
                                        "\\/",
                                        "\\ud83d\\ude00",
                                        "}",
                                        "[",
                                        ":,",
                                        "\\u20AC"};
    sc__putc(b, '"');
    for (uint64_t n = below(5); n--;)
        sc__puts(b, parts[below(sizeof parts / sizeof *parts)]);
    sc__putc(b, '"');
}

static void put_scalar(struct sc__buffer *b) {
    static const char *const some[] = {"0",
                                       "-1",
                                       "17",
                                       "1.5",
                                       "2e3",
                                       "-0.25E-2",
                                       "true",
                                       "false",
                                       "null",
                                       "123456789012"};
    if (below(3))
        sc__puts(b, some[below(10)]);
    else
        put_string(b);
}

static void put_value(struct sc__buffer *b, unsigned depth) {
    bool object = below(2);
    put_blanks(b);
    if (depth == 0 || !below(4)) {
        put_scalar(b);
        return;
    }
    sc__putc(b, object ? '{' : '[');
    uint64_t n = below(50) ? below(5) : 700; /* some are large enough to be remembered */
    for (uint64_t i = 0; i < n; i++) {
        if (i)
            sc__putc(b, ',');
        put_blanks(b);
        if (object) {
            sc__printf(b, "\"k%llu\"", (unsigned long long)i);
            put_blanks(b);
            sc__putc(b, ':');
        }
        put_value(b, n > 5 ? 0 : depth - 1);
        put_blanks(b);
    }
    if (!n)
        put_blanks(b);
    sc__putc(b, object ? '}' : ']');
}

/* One byte changed, taken out or put in; or the end cut off. */
static void damage(struct sc__buffer *b) {
    static const char bytes[] = "{}[]\",:\\0-+.eutx \n\x01\xff\xc3";
    size_t at = below(b->size);
    char c = bytes[below(sizeof bytes - 1)];
    switch (below(4)) {
    case 0:
        b->text[at] = c;
        break;
    case 1:
        memmove(b->text + at, b->text + at + 1, --b->size - at);
        break;
    case 2:
        sc__putc(b, c);
        memmove(b->text + at + 1, b->text + at, b->size - 1 - at);
        b->text[at] = c;
        break;
    default:
        b->size = at;
    }
}

static void same_value(struct sc__json_text *t, const char *p, json_t *want);

static void same_members(struct sc__json_text *t, const char *p, json_t *want) {
    const char *at = sc__json_first(p);
    const char *value;
    struct sc__str key;
    size_t n = 0;
    for (; at; at = sc__json_next(sc__json_skip(t, value)), n++) {
        value = sc__json_key(at, &key);
        key = sc__json_decode(&t->memory, key);
        json_t *member = json_object_get(want, sc__strndup(&t->memory, key.p, key.n));
        assert_non_null(member);
        same_value(t, value, member);
    }
    assert_int_equal(n, json_object_size(want));
}

static void same_value(struct sc__json_text *t, const char *p, json_t *want) {
    if (json_is_object(want)) {
        assert_int_equal(sc__json_count(t, p), json_object_size(want));
        same_members(t, p, want);
    } else if (json_is_array(want)) {
        size_t n = 0;
        assert_int_equal(sc__json_count(t, p), json_array_size(want));
        for (const char *at = sc__json_first(p); at;
             at = sc__json_next(sc__json_skip(t, at)))
            same_value(t, at, json_array_get(want, n++));
        assert_int_equal(n, json_array_size(want));
    } else if (json_is_string(want)) {
        struct sc__str s = sc__json_decode(&t->memory, sc__json_raw_text(p));
        assert_int_equal(s.n, json_string_length(want));
        assert_memory_equal(s.p, json_string_value(want), s.n);
    } else if (json_is_number(want)) {
        assert_true(strtod(p, NULL) == json_number_value(want));
    } else
        assert_int_equal(*p, json_is_true(want) ? 't' : json_is_false(want) ? 'f' : 'n');
}

/* True when both took it. */
static bool both_read(const char *text, size_t n) {
    json_error_t error;
    struct sc__json_text t;
    const char *path = temporary_file(text, n);
    json_t *want = json_loadb(text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    /* what is found when a value is taken, not when the text is read */
    if (!want && (strstr(error.text, "duplicate") || strstr(error.text, "overflow") ||
                  strstr(error.text, "too big"))) {
        unlink(path);
        return false;
    }
    sc_status status = sc__json_text_open(ctx, path, 1 << 24, &t);
    if ((status == SC_OK) != (want != NULL))
        fail_msg("jansson: %s; we: %s\n%.*s",
                 want ? "fine" : error.text,
                 sc_error_text(ctx),
                 (int)n,
                 text);
    if (want)
        same_value(&t, t.root, want);
    sc__json_text_close(&t);
    unlink(path);
    json_decref(want);
    return status == SC_OK;
}

static void reads_what_jansson_reads(void **state) {
    (void)state;
    unsigned fine = 0;
    unsigned refused = 0;
    for (unsigned i = 0; i < 6000; i++) {
        struct sc__buffer b;
        sc__buffer_init(&b, &ctx->arena);
        put_value(&b, 5);
        if (i % 3)
            damage(&b);
        if (both_read(b.text, b.size))
            fine++;
        else
            refused++;
    }
    assert_true(fine > 1500 && refused > 500);
}

static void strictness(void **state) {
    (void)state;
    static const char *const texts[] = {"01",
                                        "-",
                                        "1.",
                                        ".5",
                                        "1e",
                                        "+1",
                                        "nul",
                                        "\"\\ud800\"",
                                        "\"\\udc00\"",
                                        "\"\\u0000\"",
                                        "\"\\x\"",
                                        "[1,]",
                                        "{\"a\":1,}",
                                        "{\"a\"}",
                                        "[1 2]",
                                        "\"\xed\xa0\x80\"",
                                        "[]]",
                                        "\"\xc0\x80\"",
                                        "{1:2}",
                                        "\"\t\"",
                                        "",
                                        " ",
                                        "[\"a]"};
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(both_read(texts[i], strlen(texts[i])));
    assert_false(both_read("[1]\0", 4));
}

static void deep_nesting_has_an_end(void **state) {
    (void)state;
    struct sc__json_text t;
    char *text = malloc(1 << 20);
    memset(text, '[', 1 << 20);
    text[9] = '\n';
    const char *path = temporary_file(text, 1 << 20);
    assert_int_equal(sc__json_text_open(ctx, path, 1 << 21, &t), SC_INPUT);
    assert_non_null(strstr(sc_error_text(ctx), "nested too deeply"));
    assert_int_equal(sc_error_line(ctx), 2);
    assert_int_equal(sc_error_column(ctx), SC__JSON_DEPTH - 9 + 1);
    sc__json_text_close(&t);
    unlink(path);
    free(text);
}

static void errors_know_their_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *what;
        unsigned line;
        unsigned column;
    } bad[] = {{"{\"a\": 1,\n \"b\" 2}", "a colon is missing", 2, 6},
               {"[1,\n2,\n  x]", "not a JSON value", 3, 3},
               {"[1,\n2\n3]", "a comma", 3, 1},
               {"{\"a\": [1, 2", "ends too early", 1, 12},
               {"[1]\n\n x", "text after the end", 3, 2},
               {"[\"abc\ndef\"]", "control character", 1, 6}};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__json_text t;
        const char *path = temporary_file(bad[i].text, strlen(bad[i].text));
        assert_int_equal(sc__json_text_open(ctx, path, 1 << 20, &t), SC_INPUT);
        assert_non_null(strstr(sc_error_text(ctx), bad[i].what));
        assert_int_equal(sc_error_line(ctx), bad[i].line);
        assert_int_equal(sc_error_column(ctx), bad[i].column);
        sc__json_text_close(&t);
        unlink(path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_what_jansson_reads),
                                       cmocka_unit_test(strictness),
                                       cmocka_unit_test(deep_nesting_has_an_end),
                                       cmocka_unit_test(errors_know_their_place)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
