/* options: the one table that parser, --help, man pages and completions come
 * from, and the view of the given values that readers get. */
#ifndef SC_BASE_OPTIONS_H
#define SC_BASE_OPTIONS_H

#include "base/context.h"

enum { SC__OPT_REPEAT = 1 }; /* may be given several times */

struct sc__option {
    const char *name;  /* long name, without dashes */
    char letter;       /* or 0 */
    const char *arg;   /* what it takes ("FILE", "N"), NULL for a flag */
    const char *dflt;  /* shown in --help, or NULL */
    const char *group; /* heading in --help */
    const char *help;  /* one line */
    unsigned flags;
};

/* The values given with a request. i counts the values of a repeated option;
 * NULL past the last. Flags have the value "". */
struct sc__settings {
    const char *(*nth)(const void *self, const char *name, unsigned i);
    const void *self;
    struct sc_context *ctx;
};

/* The last value given, NULL when the option was not given. */
const char *sc__setting(const struct sc__settings *s, const char *name);
const char *sc__setting_nth(const struct sc__settings *s, const char *name, unsigned i);
bool sc__setting_flag(const struct sc__settings *s, const char *name);
/* Typed access: *out is left alone when the option is absent; a bad value is
 * SC_USAGE and names the option. */
sc_status sc__setting_u32(const struct sc__settings *s,
                          const char *name,
                          uint32_t least,
                          uint32_t *out);
sc_status sc__setting_double(const struct sc__settings *s, const char *name, double *out);
sc_status sc__setting_bytes(const struct sc__settings *s, const char *name, uint64_t *out);
sc_status sc__setting_share(const struct sc__settings *s, const char *name, double *out);
/* One of words (NULL-terminated); *out is its index. */
sc_status sc__setting_word(const struct sc__settings *s,
                           const char *name,
                           const char *const *words,
                           unsigned *out);

#endif
