#include "base/json_text.h"

#include <string.h>

#define LARGE 4096 /* bytes of a container that is worth remembering */

/* ---- the check ---- */

struct check {
    struct sc__json_text *t;
    const char *p;
    const char *wrong;
    struct {
        const char *start;
        size_t count;
    } open[SC__JSON_DEPTH];
    unsigned depth;
};

static bool json_text_fail(struct check *c, const char *what) {
    if (!c->wrong)
        c->wrong = what;
    return false;
}

static const char *blanks(const char *p) {
    while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

static int hex4(const char *p) {
    int v = 0;
    for (unsigned i = 0; i < 4; i++) {
        char c = p[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

static bool is_high(int v) {
    return v >= 0xd800 && v < 0xdc00;
}
static bool is_low(int v) {
    return v >= 0xdc00 && v < 0xe000;
}

/* At the backslash. */
static bool check_escape(struct check *c) {
    const char *p = c->p + 1;
    if (*p && strchr("\"\\/bfnrt", *p)) {
        c->p += 2;
        return true;
    }
    int v = *p == 'u' ? hex4(p + 1) : -1;
    if (v <= 0)
        return json_text_fail(c,
                              v ? "not an escape sequence" : "a NUL character in a string");
    if (is_low(v) || (is_high(v) && (p[5] != '\\' || p[6] != 'u' || !is_low(hex4(p + 7)))))
        return json_text_fail(c, "half of a surrogate pair");
    c->p += is_high(v) ? 12 : 6;
    return true;
}

/* What ends a plain run of a string: quote, backslash, control, not ASCII. */
static bool json_text_is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static bool check_string(struct check *c) {
    if (*c->p != '"')
        return json_text_fail(c, "a string is expected here");
    for (c->p++;;) {
        while (json_text_is_plain((unsigned char)*c->p))
            c->p++;
        if (*c->p == '"')
            break;
        if (*c->p == '\\') {
            if (!check_escape(c))
                return false;
            continue;
        }
        size_t left = (size_t)(c->t->text.p + c->t->text.n - c->p);
        size_t n = (unsigned char)*c->p < 0x80 ? 0 : sc__utf8_length(c->p, left);
        if (!n)
            return json_text_fail(c,
                                  (unsigned char)*c->p < 0x80
                                      ? "a control character in a string"
                                      : "not UTF-8");
        c->p += n;
    }
    c->p++;
    return true;
}

static bool check_digits(struct check *c) {
    const char *from = c->p;
    while (*c->p >= '0' && *c->p <= '9')
        c->p++;
    return c->p > from || json_text_fail(c, "not a JSON value");
}

static bool check_number(struct check *c) {
    if (*c->p == '-')
        c->p++;
    if (*c->p == '0' && c->p[1] >= '0' && c->p[1] <= '9')
        return json_text_fail(c, "a number that begins with 0");
    if (!check_digits(c))
        return false;
    if (*c->p == '.' && (c->p++, !check_digits(c)))
        return false;
    if (*c->p != 'e' && *c->p != 'E')
        return true;
    c->p++;
    if (*c->p == '+' || *c->p == '-')
        c->p++;
    return check_digits(c);
}

static bool check_word(struct check *c, const char *word) {
    for (; *word; word++, c->p++)
        if (*c->p != *word)
            return json_text_fail(c, "not a JSON value");
    return true;
}

static bool check_scalar(struct check *c) {
    switch (*c->p) {
    case '"':
        return check_string(c);
    case 't':
        return check_word(c, "true");
    case 'f':
        return check_word(c, "false");
    case 'n':
        return check_word(c, "null");
    default:
        return check_number(c);
    }
}

static bool check_key(struct check *c) {
    c->p = blanks(c->p);
    if (!check_string(c))
        return false;
    c->p = blanks(c->p);
    if (*c->p != ':')
        return json_text_fail(c, "a colon is missing");
    c->p++;
    return true;
}

static char closing(const struct check *c) {
    return *c->open[c->depth - 1].start == '{' ? '}' : ']';
}

static void close_container(struct check *c) {
    const char *start = c->open[--c->depth].start;
    c->p++;
    if (c->p - start <= LARGE)
        return;
    struct sc__json_text *t = c->t;
    *SC__PUSH(&t->memory, t->large, t->large_count, t->large_capacity) =
        (struct sc__json_large){c->p, c->open[c->depth].count};
    *sc__map_at(&t->large_at, (uint64_t)(start - t->text.p), NULL) = t->large_count;
}

/* At '{' or '['; *whole: it is empty and closed again. */
static bool open_container(struct check *c, bool *whole) {
    if (c->depth == SC__JSON_DEPTH)
        return json_text_fail(c, "nested too deeply");
    c->open[c->depth].start = c->p;
    c->open[c->depth++].count = 0;
    c->p = blanks(c->p + 1);
    *whole = *c->p == closing(c);
    if (*whole)
        close_container(c);
    return *whole || closing(c) == ']' || check_key(c);
}

/* After a value: closes what ends here and goes on to the next value. *more is
 * false at the end of the document. */
static bool go_on(struct check *c, bool *more) {
    for (; c->depth; close_container(c)) {
        c->p = blanks(c->p);
        c->open[c->depth - 1].count++;
        if (*c->p == ',') {
            c->p++;
            return closing(c) == ']' || check_key(c);
        }
        if (*c->p != closing(c))
            return json_text_fail(c, "a comma or the end of the list is missing");
    }
    *more = false;
    return true;
}

static bool check_document(struct check *c) {
    for (bool more = true; more;) {
        bool whole = true;
        c->p = blanks(c->p);
        if (*c->p == '{' || *c->p == '[') {
            if (!open_container(c, &whole))
                return false;
        } else if (!check_scalar(c))
            return false;
        if (whole && !go_on(c, &more))
            return false;
    }
    c->p = blanks(c->p);
    return c->p == c->t->text.p + c->t->text.n ||
           json_text_fail(c, "text after the end of the document");
}

sc_status sc__json_text_open(struct sc_context *ctx,
                             const char *path,
                             size_t limit,
                             struct sc__json_text *t) {
    memset(t, 0, sizeof *t);
    t->ctx = ctx;
    t->name = !strcmp(path, "-") ? "<stdin>" : path;
    sc__arena_init(&t->memory);
    sc__map_init(&t->large_at, &t->memory);
    SC__TRY(sc__read_into(ctx, &t->memory, path, limit, &t->text));
    struct check c = {.t = t, .p = t->text.p};
    if (sc__str_starts(t->text, "\xef\xbb\xbf"))
        c.p += 3;
    t->root = c.p = blanks(c.p);
    if (check_document(&c))
        return SC_OK;
    bool cut = c.p >= t->text.p + t->text.n;
    struct sc__place at = sc__json_place(t, c.p);
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    cut ? "is the file cut?" : NULL,
                    "not JSON: %s",
                    cut ? "the document ends too early" : c.wrong);
}

void sc__json_text_close(struct sc__json_text *t) {
    sc__arena_free(&t->memory);
}

/* ---- walking; the text is known to be well formed ---- */

static const char *skip_string(const char *p) {
    for (p++; *p != '"'; p++)
        if (*p == '\\')
            p++;
    return p + 1;
}

/* A container; NULL when it does not end within `most` bytes. */
static const char *skip_small(const char *p, size_t most) {
    const char *limit = p + most;
    unsigned depth = 0;
    while (p < limit) {
        switch (*p) {
        case '"':
            p = skip_string(p);
            continue;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            if (--depth == 0)
                return p + 1;
        }
        p++;
    }
    return NULL;
}

static const struct sc__json_large *find_large(const struct sc__json_text *t,
                                               const char *container) {
    const uint64_t *i = sc__map_find(&t->large_at, (uint64_t)(container - t->text.p));
    return i ? &t->large[*i - 1] : NULL;
}

const char *sc__json_skip(const struct sc__json_text *t, const char *value) {
    if (*value == '"')
        return skip_string(value);
    if (*value != '{' && *value != '[')
        return value + strcspn(value, ",]} \t\r\n");
    const char *end = skip_small(value, LARGE);
    return end ? end : find_large(t, value)->end;
}

const char *sc__json_first(const char *container) {
    const char *p = blanks(container + 1);
    return *p == ']' || *p == '}' ? NULL : p;
}

const char *sc__json_next(const char *after) {
    after = blanks(after);
    return *after == ',' ? blanks(after + 1) : NULL;
}

const char *sc__json_key(const char *at, struct sc__str *key) {
    *key = sc__json_raw_text(at);
    return blanks(blanks(key->p + key->n + 1) + 1);
}

size_t sc__json_count(const struct sc__json_text *t, const char *container) {
    const struct sc__json_large *large =
        skip_small(container, LARGE) ? NULL : find_large(t, container);
    struct sc__str key;
    size_t n = 0;
    if (large)
        return large->count;
    for (const char *p = sc__json_first(container); p; n++)
        p = sc__json_next(sc__json_skip(t, *container == '{' ? sc__json_key(p, &key) : p));
    return n;
}

struct sc__str sc__json_raw_text(const char *value) {
    if (*value != '"')
        return (struct sc__str){value, strcspn(value, ",]} \t\r\n")};
    return (struct sc__str){value + 1, (size_t)(skip_string(value) - value) - 2};
}

static char *put_utf8(char *to, unsigned v) {
    if (v < 0x80) {
        *to++ = (char)v;
        return to;
    }
    unsigned more = v < 0x800 ? 1 : v < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(lead[more] | v >> (6 * more));
    while (more--)
        *to++ = (char)(0x80 | (v >> (6 * more) & 0x3f));
    return to;
}

/* The escape at *p, which is moved behind it. */
static char *put_escape(char *to, const char **p) {
    static const char from[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    const char *known = strchr(from, (*p)[1]);
    if (known) {
        *p += 2;
        *to++ = meant[known - from];
        return to;
    }
    unsigned v = (unsigned)hex4(*p + 2);
    if (is_high((int)v)) {
        v = 0x10000 + ((v - 0xd800) << 10) + ((unsigned)hex4(*p + 8) - 0xdc00);
        *p += 6;
    }
    *p += 6;
    return put_utf8(to, v);
}

struct sc__str sc__json_decode(struct sc__arena *arena, struct sc__str raw) {
    if (!raw.n || !memchr(raw.p, '\\', raw.n))
        return raw;
    char *text = sc__alloc(arena, raw.n + 1);
    char *to = text; /* no escape is shorter than what it stands for */
    for (const char *p = raw.p; p < raw.p + raw.n;) {
        if (*p == '\\')
            to = put_escape(to, &p);
        else
            *to++ = *p++;
    }
    return (struct sc__str){text, (size_t)(to - text)};
}

struct sc__place sc__json_place(const struct sc__json_text *t, const char *at) {
    struct sc__place place = {.file = t->name, .line = 1};
    const char *line = t->text.p;
    const char *next;
    while ((next = memchr(line, '\n', (size_t)(at - line)))) {
        place.line++;
        line = next + 1;
    }
    place.column = (uint64_t)(at - line) + 1;
    return place;
}
