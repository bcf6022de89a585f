#include "network/packet/packet_words.h"

#define MOST_RATE 1e14 /* bits per second; keeps all products in 64 bits */

static bool packet_blank(char c) {
    return c == ' ' || c == '\t';
}

sc_status sc__packet_line(struct sc__packet_words *w, bool *more) {
    for (;;) {
        SC__TRY(sc__input_line(&w->in, &w->line, more));
        if (!*more)
            return SC_OK;
        w->rest = sc__trim(w->line);
        w->word = (struct sc__str){w->rest.p, 0};
        if (w->rest.n && *w->rest.p != '#')
            return SC_OK;
    }
}

bool sc__packet_word(struct sc__packet_words *w) {
    struct sc__str *rest = &w->rest;
    while (rest->n && packet_blank(*rest->p)) {
        rest->p++;
        rest->n--;
    }
    size_t n = 0;
    while (n < rest->n && !packet_blank(rest->p[n]))
        n++;
    w->word = (struct sc__str){rest->p, n};
    rest->p += n;
    rest->n -= n;
    return n > 0;
}

sc_status sc__packet_bad(struct sc__packet_words *w, const char *hint, const char *what) {
    if (w->option)
        return sc__fail(w->in.ctx,
                        SC_USAGE,
                        NULL,
                        hint,
                        "--%s: %s: '%.*s'",
                        w->option,
                        what,
                        SC__SHOW(w->word));
    struct sc__place place = sc__input_place(&w->in, w->line, w->word.p);
    return sc__fail(w->in.ctx,
                    SC_INPUT,
                    &place,
                    hint,
                    "%s: '%.*s'",
                    what,
                    SC__SHOW(w->word));
}

sc_status sc__packet_take_u32(struct sc__packet_words *w,
                              const char *hint,
                              const char *what,
                              uint32_t *out) {
    sc__packet_word(w);
    return sc__parse_u32(w->word, out) ? SC_OK : sc__packet_bad(w, hint, what);
}

sc_status sc__packet_take_double(struct sc__packet_words *w,
                                 const char *hint,
                                 const char *what,
                                 double *out) {
    sc__packet_word(w);
    if (!sc__parse_double(w->word, out) || *out < 0)
        return sc__packet_bad(w, hint, what);
    return SC_OK;
}

sc_status sc__packet_take_rate(struct sc__packet_words *w, uint64_t *out) {
    static const struct {
        const char *name;
        double bits;
    } units[] = {{"Tb/s", 1e12},
                 {"Tbps", 1e12},
                 {"Gb/s", 1e9},
                 {"Gbps", 1e9},
                 {"Mb/s", 1e6},
                 {"Mbps", 1e6},
                 {"kb/s", 1e3},
                 {"kbps", 1e3}};
    const char *hint = "a rate is a number and one of Tbps, Gbps, Mbps, kbps, Gb/s, Mb/s …";
    double value = 0;
    sc__packet_word(w);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!sc__str_ends(w->word, units[i].name))
            continue;
        struct sc__str number = {w->word.p, w->word.n - strlen(units[i].name)};
        if (!sc__parse_double(number, &value))
            break;
        value *= units[i].bits;
        if (value < 0 || value > MOST_RATE)
            return sc__packet_bad(w, NULL, "a rate of at most 100 Tb/s is expected");
        *out = (uint64_t)value;
        return SC_OK;
    }
    return sc__packet_bad(w, hint, "this is no rate");
}

sc_status sc__packet_line_end(struct sc__packet_words *w, const char *hint) {
    if (!sc__packet_word(w))
        return SC_OK;
    return sc__packet_bad(w, hint, "unexpected at the end of the line");
}
