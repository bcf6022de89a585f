#include "base/options.h"

#include "base/text.h"
#include "base/units.h"

#include <math.h>
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

static sc_status usage(const struct sc__settings *s,
                       const char *name,
                       const char *hint,
                       const char *fmt,
                       ...) __attribute__((format(printf, 4, 5)));

/* An error about the value of an option: of the file it stands in, if it does. */
static sc_status usage(const struct sc__settings *s,
                       const char *name,
                       const char *hint,
                       const char *fmt,
                       ...) {
    struct sc__place at = {0};
    bool placed = name && s->where && s->where(s->self, name, &at);
    va_list ap;
    va_start(ap, fmt);
    sc_status status =
        sc__vfail(s->ctx, placed ? SC_INPUT : SC_USAGE, placed ? &at : NULL, hint, fmt, ap);
    va_end(ap);
    return status;
}

/* "128k" is 131072 tokens to some and 128000 to others: whoever writes it says which. */
static const char *whole_hint(struct sc_context *ctx, struct sc__str text) {
    uint32_t n;
    char letter = text.n ? (char)(text.p[text.n - 1] | 32) : '\0';
    unsigned bits = letter == 'k' ? 10 : 20;
    uint32_t decimal = letter == 'k' ? 1000 : 1000000;
    if (letter != 'k' && letter != 'm')
        return NULL;
    text.n--;
    if (!sc__parse_u32(text, &n) || n > UINT32_MAX >> bits)
        return NULL;
    return sc__format(&ctx->arena, "write %u or %u", n << bits, n * decimal);
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
                     name,
                     whole_hint(s->ctx, sc__str(text)),
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
        return usage(s, name, NULL, "--%s takes a number, not '%s'", name, text);
    return SC_OK;
}

sc_status sc__setting_bytes(const struct sc__settings *s, const char *name, uint64_t *out) {
    const char *text = sc__setting(s, name);
    if (text && !sc__parse_bytes(sc__str(text), out))
        return usage(s,
                     name,
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
                     name,
                     "write it like 5% or 0.05",
                     "--%s takes a share, not '%s'",
                     name,
                     text);
    return SC_OK;
}

sc_status
sc__setting_tolerance(const struct sc__settings *s, const char *name, double *out) {
    const char *text = sc__setting(s, name);
    SC__TRY(sc__setting_share(s, name, out));
    if (!text || *out <= 1 || sc__str_ends(sc__str(text), "%"))
        return SC_OK;
    return usage(
        s,
        name,
        sc__format(&s->ctx->arena, "write --%s %s%% or a share like 0.05", name, text),
        "--%s %s: a share above 1",
        name,
        text);
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
        if (sc__str_is_any_case(sc__str(text), words[i])) {
            *out = i;
            return SC_OK;
        }
    sc__buffer_init(&b, &s->ctx->arena);
    for (unsigned i = 0; words[i]; i++)
        sc__printf(&b, "%s%s", i ? ", " : "one of: ", words[i]);
    return usage(s, name, b.text, "--%s: unknown '%s'", name, text);
}

/* ---- fields ---- */

bool sc__options_say_the_same(const struct sc__option *a, const struct sc__option *b) {
    bool fields = a->in != SC__IN_NOTHING && !((a->flags | b->flags) & SC__OPT_WEAK);
    return a == b || (fields && a->in == b->in && a->offset == b->offset);
}

const struct sc__option *sc__option_find(const struct sc__option *table, const char *name) {
    for (; table->name; table++)
        if (!strcmp(table->name, name))
            return table;
    return NULL;
}

const char *sc__choices_hint(struct sc__arena *arena, const struct sc__choice *choices) {
    struct sc__buffer b;
    sc__buffer_init(&b, arena);
    for (const struct sc__choice *c = choices; c->name; c++)
        sc__printf(&b, "%s%s", c == choices ? "one of: " : ", ", c->name);
    return b.text;
}

static const struct sc__choice *find_choice(const struct sc__choice *c,
                                            struct sc__str word) {
    while (c->name && !sc__str_is_any_case(word, c->name))
        c++;
    return c->name ? c : NULL;
}

static sc_status unknown_word(const struct sc__settings *s,
                              const struct sc__option *o,
                              struct sc__str word) {
    const char *hint = o->hint ? o->hint : sc__choices_hint(&s->ctx->arena, o->choices);
    return usage(s, o->name, hint, "--%s: unknown '%.*s'", o->name, SC__SHOW(word));
}

static sc_status take_word(const struct sc__settings *s,
                           const struct sc__option *o,
                           const char *text,
                           void *at) {
    const struct sc__choice *c = find_choice(o->choices, sc__str(text));
    if (!c)
        return unknown_word(s, o, sc__str(text));
    memcpy(at, &c->value, sizeof c->value);
    return SC_OK;
}

static sc_status take_words(const struct sc__settings *s,
                            const struct sc__option *o,
                            const char *text,
                            void *at) {
    struct sc__str rest = sc__str(text);
    struct sc__str word;
    unsigned sum = 0;
    while (sc__split(&rest, strchr(text, ' ') ? ' ' : ',', &word)) {
        const struct sc__choice *c = find_choice(o->choices, word);
        if (!c)
            return unknown_word(s, o, word);
        sum |= (unsigned)c->value;
    }
    memcpy(at, &sum, sizeof sum);
    return SC_OK;
}

static const char *only_value(const void *self, const char *name, unsigned i) {
    (void)name;
    return i ? NULL : self;
}

/* at: the field itself. */
static sc_status
take_value(struct sc_context *ctx, const struct sc__option *o, const char *text, void *at) {
    struct sc__settings s = {.nth = only_value, .self = text, .ctx = ctx};
    switch (o->type) {
    case SC__TYPE_WHOLE:
        return sc__setting_u32(&s, o->name, (uint32_t)o->least, at);
    case SC__TYPE_NUMBER:
        return sc__setting_double(&s, o->name, at);
    case SC__TYPE_SHARE:
        return sc__setting_share(&s, o->name, at);
    case SC__TYPE_SIZE:
        return sc__setting_bytes(&s, o->name, at);
    case SC__TYPE_WORD:
        return take_word(&s, o, text, at);
    case SC__TYPE_WORDS:
        return take_words(&s, o, text, at);
    case SC__TYPE_FLAG:
        memcpy(at, &o->choices->value, sizeof(int));
        return SC_OK;
    case SC__TYPE_TEXT:
        memcpy(at, &text, sizeof text);
        return SC_OK;
    case SC__TYPE_LIST:
        break;
    }
    return usage(&s, o->name, NULL, "--%s cannot be set alone", o->name);
}

sc_status sc__option_take(struct sc_context *ctx,
                          const struct sc__option *o,
                          const char *text,
                          void *object) {
    return take_value(ctx, o, text, (char *)object + o->offset);
}

sc_status sc__option_check(struct sc_context *ctx,
                           const struct sc__option *o,
                           const char *text,
                           const struct sc__place *at) {
    union {
        sc_plan plan;
        sc_options options;
    } room = {0};
    bool told = o->arg && o->type != SC__TYPE_LIST && o->in != SC__IN_NOTHING;
    if (!told || sc__option_take(ctx, o, text, &room) == SC_OK)
        return SC_OK;
    const char *why = sc__strdup(&ctx->arena, sc_error_message(ctx));
    const char *hint = sc_error_hint(ctx);
    if (hint)
        hint = sc__strdup(&ctx->arena, hint);
    sc__clear_error(ctx);
    return sc__fail(ctx, at ? SC_INPUT : SC_USAGE, at, hint, "%s", why);
}

static void
take_list(const struct sc__settings *s, const struct sc__option *o, void *object) {
    unsigned n = 0;
    while (sc__setting_nth(s, o->name, n))
        n++;
    const char **list = SC__NEW_ARRAY(&s->ctx->arena, const char *, n + 1);
    for (unsigned i = 0; i < n; i++)
        list[i] = sc__setting_nth(s, o->name, i);
    if (n)
        memcpy((char *)object + o->offset, &list, sizeof list);
}

size_t sc__option_size(const struct sc__option *o) {
    switch (o->type) {
    case SC__TYPE_NUMBER:
    case SC__TYPE_SHARE:
        return sizeof(double);
    case SC__TYPE_SIZE:
        return sizeof(uint64_t);
    case SC__TYPE_TEXT:
    case SC__TYPE_LIST:
        return sizeof(char *);
    default:
        return sizeof(uint32_t);
    }
}

static sc_status contradiction(const struct sc__settings *s,
                               const struct sc__option *a,
                               const char *a_text,
                               const struct sc__option *b,
                               const char *b_text) {
    return usage(s,
                 NULL, /* they stand in two places */
                 "give one of them",
                 "--%s%s%s contradicts --%s%s%s",
                 a->name,
                 *a_text ? " " : "",
                 a_text,
                 b->name,
                 *b_text ? " " : "",
                 b_text);
}

/* Names of one field that were given with another value than o gives it. */
static sc_status check_others(const struct sc__settings *s,
                              const struct sc__option *const *tables,
                              const struct sc__option *o,
                              const char *text,
                              const void *object) {
    const char *field = (const char *)object + o->offset;
    for (; *tables; tables++)
        for (const struct sc__option *p = *tables; p->name && p != o; p++) {
            const char *other =
                p->in == o->in && p->offset == o->offset && !(p->flags & SC__OPT_WEAK)
                    ? sc__setting(s, p->name)
                    : NULL;
            uint64_t before = 0;
            if (!other)
                continue;
            SC__TRY(take_value(s->ctx, p, other, &before));
            if (memcmp(&before, field, sc__option_size(o)))
                return o->arg ? contradiction(s, p, other, o, text)
                              : contradiction(s, o, text, p, other);
        }
    return SC_OK;
}

static sc_status take_one(const struct sc__settings *s,
                          const struct sc__option *const *tables,
                          const struct sc__option *o,
                          void *object) {
    if (o->type == SC__TYPE_LIST) {
        take_list(s, o, object);
        return SC_OK;
    }
    const char *text = sc__setting(s, o->name);
    struct sc__place at = {0};
    if (!text)
        return SC_OK;
    if (s->where && s->where(s->self, o->name, &at))
        SC__TRY(sc__option_check(s->ctx, o, text, &at));
    SC__TRY(sc__option_take(s->ctx, o, text, object));
    return o->flags & SC__OPT_WEAK ? SC_OK : check_others(s, tables, o, text, object);
}

static sc_status take_names(const struct sc__settings *s,
                            const struct sc__option *const *tables,
                            enum sc__option_object in,
                            unsigned weak,
                            void *object) {
    for (const struct sc__option *const *t = tables; *t; t++)
        for (const struct sc__option *o = *t; o->name; o++)
            if (o->in == in && (o->flags & SC__OPT_WEAK) == weak)
                SC__TRY(take_one(s, tables, o, object));
    return SC_OK;
}

sc_status sc__options_take(const struct sc__settings *s,
                           const struct sc__option *const *tables,
                           enum sc__option_object in,
                           void *object) {
    SC__TRY(take_names(s, tables, in, SC__OPT_WEAK, object));
    return take_names(s, tables, in, 0, object);
}

bool sc__option_is_toggle(const struct sc__option *o) {
    const char *first = o->choices ? o->choices->name : "";
    return !strcmp(first, "on") || !strcmp(first, "off") ||
           (!strcmp(first, "no") && o->choices[1].value == SC_ON);
}

bool sc__option_is_first(const struct sc__option *table, const struct sc__option *o) {
    for (; table != o; table++)
        if (table->in == o->in && table->offset == o->offset)
            return false;
    return true;
}

/* 0, and -1 where 0 is a value, say "as usual". */
static bool is_value(const struct sc__option *o, int value) {
    if (sc__option_is_toggle(o))
        return value >= SC_AUTO && value <= SC_OFF;
    int usual = 0;
    for (const struct sc__choice *c = o->choices; c->name; c++) {
        if (c->value == value)
            return true;
        if (c->value == 0 && strcmp(c->name, "auto"))
            usual = -1;
    }
    return value == usual;
}

/* A sum has only parts that there are. */
static bool is_sum(const struct sc__option *o, unsigned sum) {
    for (const struct sc__choice *c = o->choices; c->name; c++)
        sum &= ~(unsigned)c->value;
    return !sum;
}

static bool is_number(const struct sc__option *o, const void *at) {
    double number = 0;
    if (o->type == SC__TYPE_NUMBER || o->type == SC__TYPE_SHARE)
        memcpy(&number, at, sizeof number);
    return isfinite(number);
}

sc_status sc__options_check(struct sc_context *ctx,
                            const struct sc__option *table,
                            enum sc__option_object in,
                            const char *object_name,
                            const void *object) {
    for (const struct sc__option *o = table; o->name; o++) {
        int value;
        bool sum = o->type == SC__TYPE_WORDS;
        if (o->in == in && !is_number(o, (const char *)object + o->offset))
            return sc__fail(ctx,
                            SC_USAGE,
                            NULL,
                            NULL,
                            "%s.%s is no finite number",
                            object_name,
                            o->field);
        bool has_choices = o->type == SC__TYPE_WORD || sum || sc__option_is_toggle(o);
        if (o->in != in || !has_choices)
            continue;
        memcpy(&value, (const char *)object + o->offset, sizeof value);
        bool known = sum ? is_sum(o, (unsigned)value) : is_value(o, value);
        if (!known && sc__option_is_first(table, o))
            return sc__fail(ctx,
                            SC_USAGE,
                            NULL,
                            sc__option_is_toggle(o)
                                ? "SC_AUTO, SC_ON or SC_OFF"
                                : sc__choices_hint(&ctx->arena, o->choices),
                            "%s.%s is %d, which is none of its values",
                            object_name,
                            o->field,
                            value);
    }
    return SC_OK;
}

static const char *nth_of_list(const void *self, const char *name, unsigned i) {
    const struct sc__setting_list *list = self;
    for (size_t k = 0; k < list->count; k++)
        if (!strcmp(list->items[k].name, name) && i-- == 0)
            return list->items[k].value ? list->items[k].value : "";
    return NULL;
}

struct sc__settings sc__settings_of(struct sc_context *ctx,
                                    const struct sc__setting_list *list) {
    return (struct sc__settings){.nth = nth_of_list, .self = list, .ctx = ctx};
}
