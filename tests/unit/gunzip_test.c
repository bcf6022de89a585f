/* Packed files as RFC 1952 has them: members one after another, and what may follow. */
#include "test.h"

#include "base/gunzip.h"

#include <fcntl.h>
#include <zlib.h>

struct bytes {
    unsigned char at[4096];
    size_t count;
};

static void put(struct bytes *b, const void *from, size_t n) {
    assert_true(b->count + n <= sizeof b->at);
    memcpy(b->at + b->count, from, n);
    b->count += n;
}

static void put_member(struct bytes *b, const char *text) {
    z_stream z = {0};
    unsigned char packed[1024];
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
    z.next_in = (unsigned char *)text;
    z.avail_in = (unsigned)strlen(text);
    z.next_out = packed;
    z.avail_out = sizeof packed;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    put(b, packed, sizeof packed - z.avail_out);
    deflateEnd(&z);
}

/* What is read of them, in pieces of three bytes; false: an error. */
static bool unpack(const struct bytes *b, char *text) {
    const char *path = temporary_file(b->at, b->count);
    struct sc__gunzip *g = sc__gunzip_open(open(path, O_RDONLY));
    size_t n = 0;
    int got;
    assert_non_null(g);
    while ((got = sc__gunzip_read(g, text + n, 3)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    sc__gunzip_close(g);
    unlink(path);
    return got == 0;
}

static void members_are_one_stream(void **state) {
    struct bytes b = {.count = 0};
    char text[256];
    (void)state;
    put_member(&b, "one after ");
    put_member(&b, "");
    put_member(&b, "another");
    assert_true(unpack(&b, text));
    assert_string_equal(text, "one after another");
}

static void zeroes_may_follow(void **state) {
    static const char zeroes[512];
    struct bytes b = {.count = 0};
    char text[256];
    (void)state;
    put_member(&b, "on a tape");
    put(&b, zeroes, sizeof zeroes);
    assert_true(unpack(&b, text));
    assert_string_equal(text, "on a tape");
    /* a member behind them is one that tapes do not make */
    put_member(&b, " more");
    assert_false(unpack(&b, text));
}

static void what_else_follows_is_an_error(void **state) {
    struct bytes b = {.count = 0};
    char text[256];
    (void)state;
    put_member(&b, "text");
    put(&b, "garbage", 7);
    assert_false(unpack(&b, text));
    b.count -= 7 + 4; /* nor may the length at its end be missing */
    assert_false(unpack(&b, text));
}

static void plain_text_stays(void **state) {
    struct bytes b = {.count = 0};
    char text[256];
    (void)state;
    put(&b, "not packed", 10);
    assert_true(unpack(&b, text));
    assert_string_equal(text, "not packed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_one_stream),
        cmocka_unit_test(zeroes_may_follow),
        cmocka_unit_test(what_else_follows_is_an_error),
        cmocka_unit_test(plain_text_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
