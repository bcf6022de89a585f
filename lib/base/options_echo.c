/* options_echo: fields back to text, for the report of what was run. */
#include "base/options.h"

#include <string.h>

/* A field may have several names with other choices: all are looked through. */
static const char *
choice_name(const struct sc__option *table, const struct sc__option *field, int value) {
    for (const struct sc__option *o = table; o->name; o++)
        for (const struct sc__choice *c = o->choices;
             o->in == field->in && o->offset == field->offset && c && c->name;
             c++)
            if (c->value == value)
                return c->name;
    return NULL;
}

/* A word of several parts stands before those that are parts of it, and for all of them. */
static const char *
words_text(struct sc__arena *arena, const struct sc__choice *c, unsigned sum) {
    struct sc__buffer b;
    sc__buffer_init(&b, arena);
    for (; c->name; c++) {
        unsigned bits = (unsigned)c->value;
        if (!bits || (sum & bits) != bits)
            continue;
        sc__printf(&b, "%s%s", b.size ? "," : "", c->name);
        sum &= ~bits;
    }
    return b.text;
}

static const char *list_text(struct sc__arena *arena, const char *const *list) {
    struct sc__buffer b;
    sc__buffer_init(&b, arena);
    for (; list && *list; list++)
        sc__printf(&b, "%s%s", b.size ? "," : "", *list);
    return b.text;
}

static const char *int_text(struct sc__arena *arena,
                            const struct sc__option *table,
                            const struct sc__option *o,
                            const void *at) {
    unsigned sum;
    int value;
    memcpy(&value, at, sizeof value);
    memcpy(&sum, at, sizeof sum);
    if (o->type == SC__TYPE_WHOLE)
        return sum ? sc__format(arena, "%u", sum) : NULL;
    if (o->type == SC__TYPE_WORDS)
        return words_text(arena, o->choices, sum);
    if (sc__option_is_toggle(o) && value) {
        int yes = o->type == SC__TYPE_FLAG ? o->choices->value : SC_ON;
        return value == yes ? "yes" : "no";
    }
    return choice_name(table, o, value);
}

/* NULL where the field says nothing. */
static const char *field_text(struct sc__arena *arena,
                              const struct sc__option *table,
                              const struct sc__option *o,
                              const void *at) {
    const char *const *list;
    const char *text;
    uint64_t size;
    double number;
    switch (o->type) {
    case SC__TYPE_SHARE:
        memcpy(&number, at, sizeof number);
        if (number < 0)
            return "0"; /* none, where 0 is "as usual" */
        return number > 0 ? sc__format(arena, "%.9g", number) : NULL;
    case SC__TYPE_NUMBER:
        memcpy(&number, at, sizeof number);
        return number > 0 ? sc__format(arena, "%.9g", number) : NULL;
    case SC__TYPE_SIZE:
        memcpy(&size, at, sizeof size);
        return size ? sc__format(arena, "%llu", (unsigned long long)size) : NULL;
    case SC__TYPE_TEXT:
        memcpy(&text, at, sizeof text);
        return text;
    case SC__TYPE_LIST:
        memcpy(&list, at, sizeof list);
        return list_text(arena, list);
    default:
        return int_text(arena, table, o, at);
    }
}

void sc__options_echo(struct sc__arena *arena,
                      const struct sc__option *table,
                      enum sc__option_object in,
                      const void *object,
                      void (*put)(void *self, const char *name, const char *value),
                      void *self) {
    for (const struct sc__option *o = table; o->name; o++) {
        if (o->in != in || !sc__option_is_first(table, o))
            continue;
        const char *text = field_text(arena, table, o, (const char *)object + o->offset);
        if (text)
            put(self, o->name, text);
    }
}
