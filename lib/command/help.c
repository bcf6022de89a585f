/* help: what `stepcast help` prints, of a command, of one option or of all, from the tables
 * of options. */
#include "command/command.h"

#include "base/argument.h"

#include <stdio.h>
#include <string.h>

static void put_option(struct sc__buffer *out, const struct sc__option *o) {
    char head[80];
    int n = snprintf(head,
                     sizeof head,
                     "%c%c%s --%s%s%s",
                     o->letter ? '-' : ' ',
                     o->letter ? o->letter : ' ',
                     o->letter ? "," : " ",
                     o->name,
                     o->arg ? " " : "",
                     o->arg ? o->arg : "");
    sc__printf(out, "  %-30s", head);
    if (n > 29)
        sc__puts(out, "\n                                ");
    sc__printf(out, " %s", o->help);
    if (o->dflt)
        sc__printf(out, " [%s]", o->dflt);
    sc__putc(out, '\n');
}

/* Groups in the order people need them. Where a command has many, the others are
 * only named. */
static const char *const needed_groups[] = {"Run",
                                            "Search",
                                            "Sweep",
                                            "Kernels",
                                            "Comparison",
                                            "Model",
                                            "Plan",
                                            "Training",
                                            "Machine",
                                            "Input",
                                            "What if",
                                            "Whole run",
                                            "Output",
                                            "Pictures and traces",
                                            "Other",
                                            NULL};
#define MANY_OPTIONS 60

static bool is_needed_group(const char *group) {
    for (const char *const *g = needed_groups; *g; g++)
        if (!strcmp(*g, group))
            return true;
    return false;
}

static void
put_group(struct sc__buffer *out, const struct sc__option **options, const char *group) {
    bool first = true;
    for (const struct sc__option **o = options; *o; o++) {
        if (strcmp((*o)->group, group))
            continue;
        if (first)
            sc__printf(out, "\n%s:\n", group);
        first = false;
        put_option(out, *o);
    }
}

/* The first option of its group? */
static bool begins_group(const struct sc__option **options, const struct sc__option **o) {
    for (; options < o; options++)
        if (!strcmp((*options)->group, (*o)->group))
            return false;
    return true;
}

static void name_other_groups(struct sc__buffer *out,
                              const struct sc__command *c,
                              const struct sc__option **options) {
    const char *between = " ";
    sc__printf(out, "\n'stepcast help %s all' has these too:", c->name);
    for (const struct sc__option **o = options; *o; o++) {
        if (is_needed_group((*o)->group) || !begins_group(options, o))
            continue;
        sc__printf(out, "%s%s", between, (*o)->group);
        between = ", ";
    }
    sc__putc(out, '\n');
}

static void
put_options_help(struct sc__buffer *out, const struct sc__command *c, bool all) {
    const struct sc__option **options = sc__command_options(out->arena, c);
    size_t count = 0;
    while (options[count])
        count++;
    sc__printf(out,
               "stepcast %s: %s\n\nusage: stepcast %s %s [options]\n",
               c->name,
               c->summary,
               c->name,
               c->args);
    if (c->text)
        sc__printf(out, "\n%s\n", c->text);
    if (count <= MANY_OPTIONS) {
        for (const struct sc__option **o = options; *o; o++)
            if (begins_group(options, o))
                put_group(out, options, (*o)->group);
        return;
    }
    for (const char *const *g = needed_groups; *g; g++)
        put_group(out, options, *g);
    if (!all) {
        name_other_groups(out, c, options);
        return;
    }
    for (const struct sc__option **o = options; *o; o++)
        if (!is_needed_group((*o)->group) && begins_group(options, o))
            put_group(out, options, (*o)->group);
}

const char *sc_command_name(uint32_t i) {
    uint32_t n = 0;
    while (sc__commands[n] && n < i)
        n++;
    return sc__commands[n] ? sc__commands[n]->name : NULL;
}

const char *sc_command_summary(uint32_t i) {
    uint32_t n = 0;
    while (sc__commands[n] && n < i)
        n++;
    return sc__commands[n] ? sc__commands[n]->summary : NULL;
}

struct help_writing {
    struct sc_context *scratch;
    const char *name;
    sc_sink *sink;
    void *user;
};

/* Said by a command before it in the list, in the same words? */
static bool said_before(const struct sc__command *const *c, const struct sc__option *o) {
    for (const struct sc__command *const *other = sc__commands; other < c; other++) {
        const struct sc__option *same = sc__command_option(*other, o->name);
        if (same && !strcmp(same->help, o->help))
            return true;
    }
    return false;
}

static void put_commands_of(struct sc__buffer *out, const struct sc__option *o) {
    const char *between = "of: ";
    for (const struct sc__command *const *c = sc__commands; *c; c++) {
        const struct sc__option *same = sc__command_option(*c, o->name);
        if (!same || strcmp(same->help, o->help))
            continue;
        sc__printf(out, "%s%s", between, (*c)->name);
        between = ", ";
    }
    sc__putc(out, '\n');
}

static bool is_option(const char *name) {
    for (const struct sc__command *const *c = sc__commands; *c; c++)
        if (sc__command_option(*c, name))
            return true;
    return false;
}

static sc_status
put_option_help(struct sc_context *ctx, struct sc__buffer *out, const char *name) {
    const char *near = NULL;
    for (const struct sc__command *const *c = sc__commands; *c; c++) {
        const struct sc__option *o = sc__command_option(*c, name);
        if (!near)
            near = sc__command_nearest(ctx, *c, name);
        if (!o || said_before(c, o))
            continue;
        put_option(out, o);
        put_commands_of(out, o);
    }
    if (out->size)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    near ? sc__format(&ctx->arena, "did you mean --%s?", near) : NULL,
                    "no command has an option --%s",
                    name);
}

static sc_status
put_command_help(struct sc_context *ctx, struct sc__buffer *out, struct sc__str name) {
    static const char every[] = " all";
    bool all = sc__str_ends(name, every);
    if (all)
        name.n -= strlen(every);
    const struct sc__command *c =
        sc__command_find(ctx, sc__strndup(&ctx->arena, name.p, name.n));
    if (!c)
        return SC_USAGE;
    put_options_help(out, c, all);
    return SC_OK;
}

static sc_status write_help(void *self) {
    const struct help_writing *h = self;
    struct sc__buffer out;
    SC__TRY(sc__argument(h->scratch, h->name, "command"));
    if (!h->sink)
        return sc__argument(h->scratch, NULL, "sink");
    sc__buffer_init(&out, &h->scratch->arena);
    sc_status status =
        h->name[0] == '-' ? SC_USAGE : put_command_help(h->scratch, &out, sc__str(h->name));
    const char *option = h->name + strspn(h->name, "-");
    if (status != SC_OK && (option > h->name || is_option(option)))
        status = put_option_help(h->scratch, &out, option);
    if (status != SC_OK)
        return status;
    if (h->sink(h->user, out.text, out.size))
        return sc__fail(h->scratch, SC_SYSTEM, NULL, NULL, "cannot write the help");
    return SC_OK;
}

sc_status sc_command_help(sc_context *ctx, const char *name, sc_sink *sink, void *user) {
    struct sc_context scratch;
    sc__context_init(&scratch, NULL);
    struct help_writing h = {&scratch, name, sink, user};
    sc_status status = sc__guarded(&scratch, write_help, &h);
    sc__error_move(ctx, &scratch);
    sc__context_end(&scratch);
    return status;
}
