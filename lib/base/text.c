#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sc__str sc__str(const char *s) {
    return (struct sc__str){s, strlen(s)};
}

bool sc__str_starts(struct sc__str s, const char *prefix) {
    size_t n = strlen(prefix);
    return s.n >= n && !memcmp(s.p, prefix, n);
}

bool sc__str_ends(struct sc__str s, const char *suffix) {
    size_t n = strlen(suffix);
    return s.n >= n && !memcmp(s.p + s.n - n, suffix, n);
}

static int lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool sc__str_starts_any_case(struct sc__str s, const char *prefix) {
    size_t n = strlen(prefix);
    if (s.n < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (lower_case(s.p[i]) != lower_case(prefix[i]))
            return false;
    return true;
}

bool sc__str_is_any_case(struct sc__str s, const char *word) {
    return s.n == strlen(word) && sc__str_starts_any_case(s, word);
}

const char *sc__str_find_any_case(struct sc__str s, const char *part) {
    for (;; s.p++, s.n--) {
        if (sc__str_starts_any_case(s, part))
            return s.p;
        if (!s.n)
            return NULL;
    }
}

const char *sc__find_word(const void *bytes, size_t n, const char *word) {
    size_t length = strlen(word);
    const char *p = bytes;
    if (!length)
        return p;
    while (n >= length) {
        const char *first = memchr(p, *word, n - length + 1);
        if (!first)
            return NULL;
        if (!memcmp(first, word, length))
            return first;
        n -= (size_t)(first + 1 - p);
        p = first + 1;
    }
    return NULL;
}

static bool text_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct sc__str sc__trim(struct sc__str s) {
    while (s.n && text_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && text_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool sc__split(struct sc__str *rest, char sep, struct sc__str *part) {
    if (!rest->p)
        return false;
    const char *at = memchr(rest->p, sep, rest->n);
    size_t n = at ? (size_t)(at - rest->p) : rest->n;
    *part = (struct sc__str){rest->p, n};
    *rest = at ? (struct sc__str){at + 1, rest->n - n - 1} : (struct sc__str){NULL, 0};
    return true;
}

bool sc__next_word(struct sc__str *rest, struct sc__str *word) {
    *rest = sc__trim(*rest);
    size_t n = 0;
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
        n++;
    *word = (struct sc__str){rest->p, n};
    *rest = (struct sc__str){rest->p + n, rest->n - n};
    return n > 0;
}

bool sc__parse_u64(struct sc__str s, uint64_t *out) {
    uint64_t v = 0;
    if (!s.n)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned d = (unsigned)(unsigned char)s.p[i] - '0';
        if (d > 9 || v > (UINT64_MAX - d) / 10)
            return false;
        v = v * 10 + d;
    }
    *out = v;
    return true;
}

bool sc__parse_u32(struct sc__str s, uint32_t *out) {
    uint64_t v;
    if (!sc__parse_u64(s, &v) || v > UINT32_MAX)
        return false;
    *out = (uint32_t)v;
    return true;
}

bool sc__parse_i64(struct sc__str s, int64_t *out) {
    bool minus = s.n && s.p[0] == '-';
    uint64_t v;
    if (minus) {
        s.p++;
        s.n--;
    }
    if (!sc__parse_u64(s, &v) || v > (uint64_t)INT64_MAX)
        return false;
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

bool sc__parse_double(struct sc__str s, double *out) {
    char copy[64];
    char *end;
    if (!s.n || s.n >= sizeof copy || strspn(s.p, "+-.0123456789eE") < s.n)
        return false;
    memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    if (copy[strspn(copy, "+-.")] < '0' || copy[strspn(copy, "+-.")] > '9')
        return false;
    *out = strtod(copy, &end);
    return end == copy + s.n && isfinite(*out);
}

bool sc__parse_decimal(struct sc__str s, unsigned digits, int64_t *out) {
    bool minus = s.n && s.p[0] == '-', round = false, dot = false, any = false;
    uint64_t v = 0;
    unsigned decimals = 0;
    for (size_t i = minus; i < s.n; i++) {
        if (s.p[i] == '.' && !dot) {
            dot = true;
            continue;
        }
        unsigned d = (unsigned)(unsigned char)s.p[i] - '0';
        if (d > 9)
            return false;
        any = true;
        if (dot && decimals == digits) {
            round = d >= 5;
            while (++i < s.n)
                if (s.p[i] < '0' || s.p[i] > '9')
                    return false;
            break;
        }
        if (v > (uint64_t)(INT64_MAX - 9) / 10)
            return false;
        v = v * 10 + d;
        decimals += dot;
    }
    for (; decimals < digits; decimals++) {
        if (v > (uint64_t)(INT64_MAX - 9) / 10)
            return false;
        v *= 10;
    }
    v += round;
    *out = minus ? -(int64_t)v : (int64_t)v;
    return any;
}

int sc__compare_names(struct sc__str a, struct sc__str b) {
    size_t i = 0;
    size_t j = 0;
    while (i < a.n && j < b.n) {
        size_t digits_a = 0;
        size_t digits_b = 0;
        while (i + digits_a < a.n && isdigit((unsigned char)a.p[i + digits_a]))
            digits_a++;
        while (j + digits_b < b.n && isdigit((unsigned char)b.p[j + digits_b]))
            digits_b++;
        if (digits_a && digits_b && digits_a != digits_b)
            return digits_a < digits_b ? -1 : 1;
        if (a.p[i] != b.p[j])
            return (unsigned char)a.p[i] < (unsigned char)b.p[j] ? -1 : 1;
        i++;
        j++;
    }
    return (i < a.n) - (j < b.n);
}

size_t sc__utf8_length(const char *s, size_t n) {
    const unsigned char *p = (const unsigned char *)s;
    size_t length = *p < 0x80   ? 1
                    : *p < 0xc2 ? 0
                    : *p < 0xe0 ? 2
                    : *p < 0xf0 ? 3
                    : *p < 0xf5 ? 4
                                : 0;
    if (length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool longer = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90);
    bool beyond = (*p == 0xed && p[1] > 0x9f) ||
                  (*p == 0xf4 && p[1] > 0x8f); /* half of a pair; past the last */
    return longer || beyond ? 0 : length;
}

unsigned sc__edit_distance(const char *a, const char *b) {
    enum { MOST = 40 };
    size_t n = strlen(a);
    size_t m = strlen(b);
    unsigned d[MOST + 1][MOST + 1];
    if (n > MOST || m > MOST)
        return MOST;
    for (size_t i = 0; i <= n; i++)
        d[i][0] = (unsigned)i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

unsigned
sc__begin_with(const char *s, const char *const *words, const char **out, unsigned most) {
    size_t length = strlen(s);
    unsigned n = 0;
    for (; length >= 2 && *words && n < most; words++)
        if (!strncmp(*words, s, length) && (*words)[length] == '-')
            out[n++] = *words;
    return n;
}

const char *sc__nearest(const char *s, const char *const *words) {
    const char *best = NULL;
    size_t n = strlen(s);
    unsigned least =
        n < 5 ? 2 : (unsigned)n / 3 + 2; /* two letters of "moe" make it "mtu" */
    for (; *words; words++) {
        size_t m = strlen(*words);
        if ((m > n ? m - n : n - m) >= least)
            continue; /* as many letters must go or come */
        unsigned d = sc__edit_distance(s, *words);
        if (d < least) {
            least = d;
            best = *words;
        }
    }
    return best;
}
