/* launch_pins: values that --set gives to variables of a launch script; and what no script
 * has. */
#include "launch/launch.h"

#include <ctype.h>
#include <string.h>

static bool is_name_character(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* A variable, or a number: an argument of the script. */
static bool is_variable_name(struct sc__str name) {
    size_t digits = 0;
    for (size_t i = 0; i < name.n; i++) {
        bool digit = name.p[i] >= '0' && name.p[i] <= '9';
        if (!digit && !is_name_character(name.p[i]))
            return false;
        digits += digit;
    }
    return name.n && (digits == name.n || name.p[0] < '0' || name.p[0] > '9');
}

/* --set NAME=value, as often as it is given; the last value of a name counts. */
sc_status sc__launch_read_pins(const struct sc__settings *s, struct sc__setting_list *out) {
    uint32_t n = 0;
    while (s->nth(s->self, "set", n))
        n++;
    sc_setting *items = SC__NEW_ARRAY(&s->ctx->arena, sc_setting, n);
    for (uint32_t i = 0; i < n; i++) {
        const char *text = s->nth(s->self, "set", i);
        const char *equals = strchr(text, '=');
        size_t length = equals ? (size_t)(equals - text) : 0;
        if (!is_variable_name((struct sc__str){text, length}))
            return sc__fail(s->ctx,
                            SC_USAGE,
                            NULL,
                            "write it like --set NNODES=4; --set 1=… is the first argument",
                            "--set takes NAME=value, not '%s'",
                            text);
        items[i] = (sc_setting){.name = sc__strndup(&s->ctx->arena, text, length),
                                .value = equals + 1};
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(items[k].name, items[i].name) &&
                strcmp(items[k].value, items[i].value) != 0)
                sc__note(s->ctx,
                         "option-repeated",
                         "--set %s is given more than once: %s counts",
                         items[i].name,
                         items[i].value);
    }
    *out = (struct sc__setting_list){items, n};
    return SC_OK;
}

/* An argument is named behind a dollar, or taken with all others. */
static bool takes_argument(struct sc__str text, const char *number) {
    static const char *const all[] = {"$@", "$*", "$#", "${@", "shift", NULL};
    size_t length = strlen(number);
    for (const char *const *a = all; *a; a++)
        if (sc__find_word(text.p, text.n, *a))
            return true;
    for (size_t i = 1; i + length <= text.n; i++)
        if (strchr("${", text.p[i - 1]) && !memcmp(text.p + i, number, length))
            return true;
    return false;
}

static bool names_variable(struct sc__str text, const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i + length <= text.n; i++) {
        bool begins = !i || !is_name_character(text.p[i - 1]);
        bool ends = i + length == text.n || !is_name_character(text.p[i + length]);
        if (begins && ends && !memcmp(text.p + i, name, length))
            return true;
    }
    return false;
}

/* Most likely a slip of the pen. */
void sc__launch_note_pins(const struct sc__launch *l) {
    for (uint32_t i = 0; i < l->pinned.count; i++) {
        const char *name = l->pinned.items[i].name;
        bool used = isdigit((unsigned char)*name) ? takes_argument(l->text, name)
                                                  : names_variable(l->text, name);
        if (!used)
            sc__note(l->ctx,
                     "option-unused",
                     "--set %s has no effect: %s does not use it",
                     name,
                     l->file);
    }
}

sc_status
sc__launch_refuse_nul(struct sc_context *ctx, const char *file, struct sc__str text) {
    const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
    struct sc__place at = {.file = file, .line = 1, .column = 1};
    if (!nul)
        return SC_OK;
    for (const char *p = text.p; p < nul; p++) {
        at.column++;
        if (*p == '\n') {
            at.line++;
            at.column = 1;
        }
    }
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    "the file is binary or damaged",
                    "NUL byte in a text file");
}
