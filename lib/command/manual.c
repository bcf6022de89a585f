/* manual: man pages, made from the same tables as the parser and --help, so that
 * they cannot disagree. */
#include "command/command.h"

#include <ctype.h>
#include <string.h>

static const struct sc__option *const no_options[] = {NULL};

/* The code point at the head of UTF-8 text, which is moved past it. */
static unsigned code_point(const char **text) {
    const unsigned char *p = (const unsigned char *)*text;
    unsigned more = *p < 0xc0 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
    unsigned code = more ? *p & (0x3fu >> more) : *p;
    for (p++; more && (*p & 0xc0) == 0x80; more--)
        code = code << 6 | (*p++ & 0x3fu);
    *text = (const char *)p;
    return code;
}

/* Text for troff: backslashes, hyphens that must stay hyphens, what is not
 * ASCII, and dots and quotes at the head of a line. */
static void put_troff(struct sc__buffer *out, const char *text) {
    for (bool head = true; *text;) {
        unsigned code = code_point(&text);
        if (head && (code == '.' || code == '\''))
            sc__puts(out, "\\&");
        if (code == '\\')
            sc__puts(out, "\\e");
        else if (code == '-')
            sc__puts(out, "\\-");
        else if (code >= 0x80)
            sc__printf(out, "\\[u%04X]", code);
        else
            sc__putc(out, (char)code);
        head = code == '\n';
    }
}

static void put_upper(struct sc__buffer *out, const char *text) {
    for (; *text; text++)
        sc__putc(out, (char)toupper((unsigned char)*text));
}

static void put_man_option(struct sc__buffer *out, const struct sc__option *o) {
    sc__puts(out, ".TP\n");
    if (o->letter)
        sc__printf(out, "\\fB\\-%c\\fR, ", o->letter);
    sc__puts(out, "\\fB\\-\\-");
    put_troff(out, o->name);
    sc__puts(out, "\\fR");
    if (o->arg)
        sc__puts(out, " \\fI");
    if (o->arg)
        put_troff(out, o->arg);
    sc__puts(out, o->arg ? "\\fR\n" : "\n");
    put_troff(out, o->help);
    if (o->flags & SC__OPT_REPEAT)
        sc__puts(out, "; may be given several times");
    if (o->dflt)
        sc__puts(out, ". Default: ");
    if (o->dflt)
        put_troff(out, o->dflt);
    sc__puts(out, ".\n");
}

static void put_man_options(struct sc__buffer *out, const struct sc__command *c) {
    const struct sc__option **options = sc__command_options(out->arena, c);
    const char *group = NULL;
    if (*options)
        sc__puts(out, ".SH OPTIONS\n");
    for (; *options; options++) {
        const struct sc__option *o = *options;
        if (!group || strcmp(group, o->group)) {
            sc__puts(out, ".SS ");
            put_troff(out, group = o->group);
            sc__putc(out, '\n');
        }
        put_man_option(out, o);
    }
}

static void put_exit_codes(struct sc__buffer *out) {
    sc__puts(out,
             ".SH EXIT STATUS\n.TP\n0\nDone.\n.TP\n1\nDone, and the answer is no: over "
             "tolerance, "
             "does not fit in "
             "memory.\n.TP\n2\nThe command line is wrong.\n.TP\n3\nAn input is wrong; the "
             "message "
             "says where.\n"
             ".TP\n4\nThe system failed: memory, disk, files.\n");
}

static void put_command_page(struct sc__buffer *out, const struct sc__command *c) {
    sc__puts(out, ".TH STEPCAST\\-");
    put_upper(out, c->name);
    sc__printf(out,
               " 1 \"\" \"stepcast %s\" \"stepcast manual\"\n.SH NAME\nstepcast\\-%s \\- ",
               SC_VERSION,
               c->name);
    put_troff(out, c->summary);
    sc__printf(out, "\n.SH SYNOPSIS\n\\fBstepcast %s\\fR ", c->name);
    put_troff(out, c->args);
    sc__puts(out, " [\\fIoptions\\fR]\n");
    if (c->text)
        sc__puts(out, ".SH DESCRIPTION\n");
    if (c->text)
        put_troff(out, c->text);
    if (c->text)
        sc__putc(out, '\n');
    put_man_options(out, c);
    put_exit_codes(out);
    sc__puts(out, ".SH SEE ALSO\n.BR stepcast (1)\n");
}

static void put_overview_page(struct sc__buffer *out) {
    sc__printf(
        out,
        ".TH STEPCAST 1 \"\" \"stepcast %s\" \"stepcast manual\"\n.SH NAME\nstepcast \\- "
        "forecast one training step "
        "of a large model on a GPU cluster\n.SH SYNOPSIS\n\\fBstepcast\\fR \\fIcommand\\fR "
        "[\\fIoptions\\fR]\n"
        ".SH COMMANDS\n",
        SC_VERSION);
    for (const struct sc__command *const *c = sc__commands; *c; c++) {
        sc__printf(out, ".TP\n.BR stepcast\\-%s (1)\n", (*c)->name);
        put_troff(out, (*c)->summary);
        sc__puts(out, ".\n");
    }
    put_exit_codes(out);
    sc__puts(out,
             ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nwhen set, output on a terminal has no "
             "colours.\n");
}

static sc_status execute_manual(struct sc_request *req) {
    if (req->input_count > 1)
        return sc__usage(req, NULL, "manual takes one command");
    if (!req->input_count) {
        put_overview_page(&req->out);
        return SC_OK;
    }
    const struct sc__command *c = sc__command_find(req->ctx, req->inputs[0]);
    if (!c)
        return SC_USAGE;
    put_command_page(&req->out, c);
    return SC_OK;
}

const struct sc__command sc__command_manual = {
    .name = "manual",
    .args = "[COMMAND]",
    .summary = "write a manual page",
    .text = "In troff, for man: stepcast manual run | man -l -",
    .options = no_options,
    .execute = execute_manual};
