/* config_interpolate: "${.hidden_size}", "${model.seq_length}", "${multiply:4, ${.x}}",
 * "${NAME:default}" in the values of a configuration, as OmegaConf and Primus have them.
 * What cannot be looked up stays as it is: a flag that takes it refuses it. */
#include "launch/config.h"

#include <string.h>

#define INTERPOLATION_DEPTH 8

struct interpolation {
    struct sc_context *ctx;
    const struct sc__config *c;
    const char *key; /* of the item it stands in */
};

static const char *
value_of(const struct interpolation *p, struct sc__str text, unsigned depth);

static const char *item_value(const struct sc__config *c, const char *key) {
    for (uint32_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].key, key))
            return c->items[i].value;
    return NULL;
}

/* ".name" is beside the key, "..name" beside the object it is in, "a.b" from the top. */
static const char *looked_up(const struct interpolation *p, struct sc__str name) {
    struct sc__arena *arena = &p->ctx->arena;
    if (!name.n || name.p[0] != '.')
        return item_value(p->c, sc__strndup(arena, name.p, name.n));
    struct sc__str around = sc__str(p->key);
    while (name.n && name.p[0] == '.') {
        while (around.n && around.p[around.n - 1] != '.')
            around.n--;
        around.n -= around.n > 0; /* the dot */
        name.p++;
        name.n--;
    }
    const char *key =
        around.n
            ? sc__format(arena, "%.*s.%.*s", (int)around.n, around.p, (int)name.n, name.p)
            : sc__strndup(arena, name.p, name.n);
    return item_value(p->c, key);
}

/* The comma between two arguments that is not in braces. */
static const char *comma_outside_braces(struct sc__str text) {
    int braces = 0;
    for (size_t i = 0; i < text.n; i++) {
        braces += (text.p[i] == '{') - (text.p[i] == '}');
        if (text.p[i] == ',' && !braces)
            return text.p + i;
    }
    return NULL;
}

static bool number_argument(const struct interpolation *p,
                            struct sc__str text,
                            unsigned depth,
                            double *out) {
    const char *value = value_of(p, sc__trim(text), depth);
    return value && sc__parse_double(sc__str(value), out);
}

/* Two numbers and what NeMo does with them; NULL: not one of these. */
static const char *computed(const struct interpolation *p,
                            struct sc__str name,
                            struct sc__str arguments,
                            unsigned depth) {
    const char *comma = comma_outside_braces(arguments);
    double a;
    double b;
    if (!comma)
        return NULL;
    struct sc__str first = {arguments.p, (size_t)(comma - arguments.p)};
    struct sc__str second = {comma + 1, arguments.n - first.n - 1};
    if (!number_argument(p, first, depth, &a) || !number_argument(p, second, depth, &b))
        return NULL;
    double result;
    if (sc__str_is(name, "multiply"))
        result = a * b;
    else if (sc__str_is(name, "add") || sc__str_is(name, "sum"))
        result = a + b;
    else if ((sc__str_is(name, "divide") || sc__str_is(name, "int_div")) && b != 0)
        result = a / b;
    else
        return NULL;
    return sc__format(&p->ctx->arena, "%.15g", result);
}

/* What stands between "${" and "}". */
static const char *
inside_value(const struct interpolation *p, struct sc__str inside, unsigned depth) {
    const char *colon = inside.n ? memchr(inside.p, ':', inside.n) : NULL;
    if (!colon) {
        const char *found = looked_up(p, sc__trim(inside));
        return found ? value_of(p, sc__str(found), depth) : NULL;
    }
    struct sc__str name = {inside.p, (size_t)(colon - inside.p)};
    struct sc__str rest = {colon + 1, inside.n - name.n - 1};
    const char *result = computed(p, name, rest, depth);
    if (result || strchr("abcdefghijklmnopqrstuvwxyz", name.n ? name.p[0] : 'a'))
        return result;
    return sc__strndup(&p->ctx->arena, rest.p, rest.n); /* ${PRIMUS_NAME:default} */
}

/* text: with "${…}" as a whole, or none. */
static const char *
value_of(const struct interpolation *p, struct sc__str text, unsigned depth) {
    if (text.n < 3 || text.p[0] != '$' || text.p[1] != '{')
        return sc__strndup(&p->ctx->arena, text.p, text.n);
    if (text.p[text.n - 1] != '}' || depth >= INTERPOLATION_DEPTH)
        return NULL;
    struct sc__str inside = {text.p + 2, text.n - 3};
    return inside_value(p, inside, depth + 1);
}

/* Where the brace that opens at text.p[1] closes. */
static size_t closing_brace(struct sc__str text) {
    int braces = 0;
    for (size_t i = 1; i < text.n; i++) {
        braces += (text.p[i] == '{') - (text.p[i] == '}');
        if (!braces)
            return i;
    }
    return 0;
}

/* Every "${…}" of a text; those that cannot be looked up stay. */
static const char *expanded(const struct interpolation *p, struct sc__str text) {
    struct sc__buffer b;
    sc__buffer_init(&b, &p->ctx->arena);
    while (text.n) {
        bool opens = text.n > 2 && text.p[0] == '$' && text.p[1] == '{';
        size_t end = opens ? closing_brace(text) : 0;
        struct sc__str part = {text.p, end + 1};
        const char *value = end ? value_of(p, part, 0) : NULL;
        if (value)
            sc__puts(&b, value);
        else
            sc__printf(&b, "%.*s", (int)part.n, part.p);
        text = (struct sc__str){text.p + part.n, text.n - part.n};
    }
    return b.text ? b.text : "";
}

void sc__config_interpolate(struct sc_context *ctx, struct sc__config *c) {
    for (uint32_t i = 0; i < c->count; i++) {
        struct interpolation p = {.ctx = ctx, .c = c, .key = c->items[i].key};
        if (strstr(c->items[i].value, "${"))
            c->items[i].value = expanded(&p, sc__str(c->items[i].value));
    }
}
