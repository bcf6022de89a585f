#include "base/units.h"

#include <math.h>
#include <string.h>

struct units_unit {
    const char *name;
    double factor;
};

static const struct units_unit byte_units[] = {{"", 1},
                                               {"B", 1},
                                               {"K", 0x1p10},
                                               {"M", 0x1p20},
                                               {"G", 0x1p30},
                                               {"T", 0x1p40},
                                               {"KB", 1e3},
                                               {"kB", 1e3},
                                               {"MB", 1e6},
                                               {"GB", 1e9},
                                               {"TB", 1e12},
                                               {"KiB", 0x1p10},
                                               {"MiB", 0x1p20},
                                               {"GiB", 0x1p30},
                                               {"TiB", 0x1p40},
                                               {NULL, 0}};

/* No bare numbers: 400 of a NIC would be bytes where Gbit/s are meant. GBps are ns-3's. */
static const struct units_unit rate_units[] = {
    {"B/s", 1},        {"KB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},
    {"TB/s", 1e12},    {"KiB/s", 0x1p10}, {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30},
    {"TiB/s", 0x1p40}, {"KBps", 1e3},     {"MBps", 1e6},     {"GBps", 1e9},
    {"TBps", 1e12},    {"bps", 0.125},    {"Kbps", 125},     {"Mbps", 125e3},
    {"Gbps", 125e6},   {"Tbps", 125e9},   {"Mb/s", 125e3},   {"Gb/s", 125e6},
    {"Tb/s", 125e9},   {NULL, 0}};

static const struct units_unit time_units[] = {{"ps", 1},
                                               {"ns", 1e3},
                                               {"us", 1e6},
                                               {"µs", 1e6},
                                               {"ms", 1e9},
                                               {"s", 1e12},
                                               {"min", 6e13},
                                               {"h", 3.6e15},
                                               {NULL, 0}};

/* The number at the head of s; the rest is its unit. */
static bool split_unit(struct sc__str s, double *value, struct sc__str *unit) {
    size_t n = 0;
    if (!s.n)
        return false;
    while (n < s.n && strchr("+-.0123456789", s.p[n]))
        n++;
    if (n && n + 1 < s.n &&
        (s.p[n] == 'e' || s.p[n] == 'E')) { /* 1.5e9, but not the E of a unit */
        size_t e = n + 1 + (s.p[n + 1] == '-' || s.p[n + 1] == '+');
        if (e < s.n && s.p[e] >= '0' && s.p[e] <= '9') {
            for (n = e; n < s.n && s.p[n] >= '0' && s.p[n] <= '9';)
                n++;
        }
    }
    *unit = sc__trim((struct sc__str){s.p + n, s.n - n});
    return sc__parse_double((struct sc__str){s.p, n}, value);
}

static bool parse(struct sc__str s, const struct units_unit *units, double *out) {
    struct sc__str unit;
    double value;
    if (!split_unit(sc__trim(s), &value, &unit))
        return false;
    for (; units->name; units++)
        if (sc__str_is(unit, units->name)) {
            *out = value * units->factor;
            return *out >= 0 && isfinite(*out);
        }
    return false;
}

bool sc__parse_bytes(struct sc__str s, uint64_t *bytes) {
    double v;
    if (sc__parse_u64(s, bytes))
        return true;
    if (!parse(s, byte_units, &v) || v >= 0x1p64)
        return false;
    *bytes = (uint64_t)v;
    return true;
}

bool sc__parse_rate(struct sc__str s, double *rate) {
    return parse(s, rate_units, rate);
}

bool sc__parse_time(struct sc__str s, int64_t *ps) {
    double v;
    if (sc__str_is(s, "0")) {
        *ps = 0;
        return true;
    }
    if (!parse(s, time_units, &v) || v >= 0x1p63)
        return false;
    *ps = (int64_t)llround(v);
    return true;
}

bool sc__parse_share(struct sc__str s, double *share) {
    bool percent = sc__str_ends(s, "%");
    if (percent)
        s.n--;
    if (!sc__parse_double(sc__trim(s), share))
        return false;
    if (percent)
        *share /= 100;
    return *share >= 0;
}

void sc__put_us(struct sc__buffer *b, int64_t ps) {
    uint64_t v = ps < 0 ? (uint64_t)0 - (uint64_t)ps : (uint64_t)ps;
    uint64_t whole = v / (uint64_t)SC__PS_PER_US;
    uint64_t rest = v % (uint64_t)SC__PS_PER_US;
    if (ps < 0)
        sc__putc(b, '-');
    sc__put_u64(b, whole);
    if (!rest)
        return;
    char digits[8] = ".";
    int n = 6;
    for (int i = 5; i >= 0; i--, rest /= 10)
        digits[i + 1] = (char)('0' + rest % 10);
    while (n && digits[n] == '0')
        n--;
    sc__put(b, digits, (size_t)n + 1);
}

/* Three or four figures, whatever the size. */
static void put_figures(struct sc__buffer *b, double v, const char *unit) {
    int decimals = fabs(v) >= 100 ? 1 : fabs(v) >= 10 ? 2 : 3;
    sc__printf(b, "%.*f %s", decimals, v, unit);
}

void sc__put_time(struct sc__buffer *b, int64_t ps) {
    double us = sc__us(ps);
    double a = fabs(us);
    if (a >= 1e6)
        put_figures(b, us / 1e6, "s");
    else if (a >= 1e3)
        put_figures(b, us / 1e3, "ms");
    else
        put_figures(b, us, "us");
}

void sc__put_bytes(struct sc__buffer *b, uint64_t bytes) {
    double v = (double)bytes;
    if (v >= 1e12)
        put_figures(b, v / 1e12, "TB");
    else if (v >= 1e9)
        put_figures(b, v / 1e9, "GB");
    else if (v >= 1e6)
        put_figures(b, v / 1e6, "MB");
    else if (v >= 1e3)
        put_figures(b, v / 1e3, "kB");
    else
        sc__printf(b, "%llu B", (unsigned long long)bytes);
}

/* The largest first; what is written has the first of two that are equal. */
static const struct count_unit {
    const char *suffix;
    double factor;
} count_units[] = {{"T", 1e12}, {"B", 1e9}, {"G", 1e9}, {"M", 1e6}, {"K", 1e3}, {0}};

struct sc__span_unit sc__span_unit(double seconds) {
    static const struct sc__span_unit units[] = {{"days", 86400},
                                                 {"hours", 3600},
                                                 {"minutes", 60},
                                                 {"seconds", 1}};
    const struct sc__span_unit *u = units;
    while (u->seconds > 1 && seconds < u->seconds)
        u++;
    return *u;
}

void sc__put_count(struct sc__buffer *b, double v) {
    const struct count_unit *u = count_units;
    while (u->suffix && v < u->factor)
        u++;
    if (u->suffix)
        sc__printf(b, "%.4g %s", v / u->factor, u->suffix);
    else
        sc__printf(b, "%.4g", v);
}

bool sc__parse_count(struct sc__str s, double *out) {
    double factor = 1;
    for (const struct count_unit *u = count_units; u->suffix; u++)
        if (factor == 1 && sc__str_ends(s, u->suffix)) {
            factor = u->factor;
            s.n--;
        }
    if (!sc__parse_double(s, out))
        return false;
    *out *= factor;
    return *out > 0;
}
