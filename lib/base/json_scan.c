#include "base/json_scan.h"

#include <string.h>

#define MAX_DEPTH 100

bool sc__scan_fail(struct sc__scan *s, const char *what) {
    if (!s->wrong) {
        s->wrong = what;
        s->cut = s->p >= s->end;
    }
    return false;
}

bool sc__scan_open(struct sc__scan *s, char c) {
    sc__scan_blanks(s);
    if (*s->p != c)
        return sc__scan_fail(s,
                             c == '{' ? "an object is expected here"
                                      : "a list is expected here");
    s->p++;
    return true;
}

static bool step(struct sc__scan *s, bool *first, char close) {
    sc__scan_blanks(s);
    if (*s->p == close) {
        s->p++;
        return false;
    }
    if (!*first) {
        if (*s->p != ',')
            return sc__scan_fail(s, "a comma is missing");
        s->p++;
        sc__scan_blanks(s);
        if (*s->p == close)
            return sc__scan_fail(s, "a comma with nothing behind it");
    }
    *first = false;
    return true;
}

bool sc__scan_member(struct sc__scan *s, bool *first, struct sc__str *key) {
    if (!step(s, first, '}') || !sc__scan_string(s, key))
        return false;
    sc__scan_blanks(s);
    if (*s->p != ':')
        return sc__scan_fail(s, "a colon is missing");
    s->p++;
    sc__scan_blanks(s);
    return true;
}

bool sc__scan_element(struct sc__scan *s, bool *first) {
    return step(s, first, ']');
}

/* Bytes that end a plain run of a string: quote, backslash, the NUL behind the text.
 * PyTorch writes names of code as they are, with their line ends and controls. */
static const unsigned char special[256] = {1, ['"'] = 1, ['\\'] = 1};

bool sc__scan_string(struct sc__scan *s, struct sc__str *out) {
    if (*s->p != '"')
        return sc__scan_fail(s, "a string is expected here");
    const unsigned char *p = (const unsigned char *)s->p + 1;
    for (;;) {
        while (!special[*p])
            p++;
        if (*p != '\\')
            break;
        if ((const char *)p + 1 >= s->end) {
            s->p = s->end;
            return sc__scan_fail(s, "a string is cut");
        }
        p += 2;
    }
    if (*p != '"') {
        s->p = (const char *)p;
        return sc__scan_fail(s, "a string is cut");
    }
    *out = (struct sc__str){s->p + 1, (size_t)((const char *)p - s->p - 1)};
    s->p = (const char *)p + 1;
    return true;
}

static bool digits(struct sc__scan *s) {
    const char *from = s->p;
    while (*s->p >= '0' && *s->p <= '9')
        s->p++;
    return s->p > from || sc__scan_fail(s, "not a number");
}

static bool plain_number(struct sc__scan *s, struct sc__str *out) {
    const char *from = s->p;
    if (*s->p == '-')
        s->p++;
    if (s->p[0] == '0' && s->p[1] >= '0' && s->p[1] <= '9')
        return sc__scan_fail(s, "a number that begins with 0");
    if (!digits(s))
        return false;
    if (*s->p == '.') {
        s->p++;
        if (!digits(s))
            return false;
    }
    if (*s->p == 'e' || *s->p == 'E') {
        s->p++;
        if (*s->p == '+' || *s->p == '-')
            s->p++;
        if (!digits(s))
            return false;
    }
    if (s->p >= s->end)
        return sc__scan_fail(s, "a number is cut");
    *out = (struct sc__str){from, (size_t)(s->p - from)};
    return true;
}

bool sc__scan_number(struct sc__scan *s, struct sc__str *out) {
    return *s->p == '"' ? sc__scan_string(s, out) : plain_number(s, out);
}

static bool word(struct sc__scan *s, const char *text) {
    for (; *text; text++, s->p++)
        if (*s->p != *text)
            return sc__scan_fail(s, "not a JSON value");
    return true;
}

static bool value(struct sc__scan *s, unsigned depth);

static bool object(struct sc__scan *s, unsigned depth) {
    struct sc__str key;
    bool first = true;
    while (sc__scan_member(s, &first, &key))
        if (!value(s, depth + 1))
            return false;
    return !s->wrong;
}

static bool array(struct sc__scan *s, unsigned depth) {
    bool first = true;
    while (sc__scan_element(s, &first))
        if (!value(s, depth + 1))
            return false;
    return !s->wrong;
}

/* C and C++ print "inf" and "-nan", Python "NaN" and "-Infinity". */
static bool number_or_none(struct sc__scan *s, struct sc__str *out) {
    const char *magnitude = s->p + (*s->p == '-');
    static const char *const words[] = {"inf", "nan", "Infinity", "NaN"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (*magnitude == *words[i]) {
            s->p = magnitude;
            return word(s, words[i]);
        }
    return plain_number(s, out);
}

static bool value(struct sc__scan *s, unsigned depth) {
    struct sc__str out;
    if (depth > MAX_DEPTH)
        return sc__scan_fail(s, "nested too deeply");
    switch (*s->p) {
    case '"':
        return sc__scan_string(s, &out);
    case '{':
        s->p++;
        return object(s, depth);
    case '[':
        s->p++;
        return array(s, depth);
    case 't':
        return word(s, "true");
    case 'f':
        return word(s, "false");
    case 'n':
        return s->p[1] == 'a' ? word(s, "nan") : word(s, "null");
    default:
        return number_or_none(s, &out);
    }
}

bool sc__scan_value(struct sc__scan *s, struct sc__str *out) {
    const char *from = s->p;
    if (!value(s, 0))
        return false;
    *out = (struct sc__str){from, (size_t)(s->p - from)};
    return true;
}
