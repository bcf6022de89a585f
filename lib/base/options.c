#include "base/options.h"

#include "base/text.h"
#include "base/units.h"

#include <string.h>

const char *sc__setting_nth(const struct sc__settings *s, const char *name, unsigned i) {
    return s->nth(s->self, name, i);
}

const char *sc__setting(const struct sc__settings *s, const char *name) {
    const char *value;
    const char *last = NULL;
    for (unsigned i = 0; (value = s->nth(s->self, name, i)); i++)
        last = value;
    return last;
}

bool sc__setting_flag(const struct sc__settings *s, const char *name) {
    return s->nth(s->self, name, 0) != NULL;
}

static sc_status usage(const struct sc__settings *s, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static sc_status
usage(const struct sc__settings *s, const char *hint, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sc_status status = sc__vfail(s->ctx, SC_USAGE, NULL, hint, fmt, ap);
    va_end(ap);
    return status;
}

sc_status sc__setting_u32(const struct sc__settings *s,
                          const char *name,
                          uint32_t least,
                          uint32_t *out) {
    const char *text = sc__setting(s, name);
    uint32_t v;
    if (!text)
        return SC_OK;
    if (!sc__parse_u32(sc__str(text), &v) || v < least)
        return usage(s,
                     NULL,
                     "--%s takes a whole number from %u on, not '%s'",
                     name,
                     least,
                     text);
    *out = v;
    return SC_OK;
}

sc_status sc__setting_double(const struct sc__settings *s, const char *name, double *out) {
    const char *text = sc__setting(s, name);
    if (text && !sc__parse_double(sc__str(text), out))
        return usage(s, NULL, "--%s takes a number, not '%s'", name, text);
    return SC_OK;
}

sc_status sc__setting_bytes(const struct sc__settings *s, const char *name, uint64_t *out) {
    const char *text = sc__setting(s, name);
    if (text && !sc__parse_bytes(sc__str(text), out))
        return usage(s,
                     "write it like 25MiB, 4096 or 1.5GB",
                     "--%s takes a size, not '%s'",
                     name,
                     text);
    return SC_OK;
}

sc_status sc__setting_share(const struct sc__settings *s, const char *name, double *out) {
    const char *text = sc__setting(s, name);
    if (text && !sc__parse_share(sc__str(text), out))
        return usage(s,
                     "write it like 5% or 0.05",
                     "--%s takes a share, not '%s'",
                     name,
                     text);
    return SC_OK;
}

sc_status sc__setting_word(const struct sc__settings *s,
                           const char *name,
                           const char *const *words,
                           unsigned *out) {
    const char *text = sc__setting(s, name);
    struct sc__buffer b;
    if (!text)
        return SC_OK;
    for (unsigned i = 0; words[i]; i++)
        if (!strcmp(words[i], text)) {
            *out = i;
            return SC_OK;
        }
    sc__buffer_init(&b, &s->ctx->arena);
    for (unsigned i = 0; words[i]; i++)
        sc__printf(&b, "%s%s", i ? ", " : "one of: ", words[i]);
    return usage(s, b.text, "--%s: unknown '%s'", name, text);
}
