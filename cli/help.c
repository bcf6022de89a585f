#include "help.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TEXT_COLUMN 33 /* where the help of an option begins */
#define NARROW 66      /* columns below which it would be a strip at the right */
#define NARROW_INDENT 8

void help_overview(FILE *to) {
    fputs("stepcast " SC_VERSION
          ": forecast one training step of a large model on a GPU cluster\n\n"
          "usage: stepcast COMMAND [options]\n\n",
          to);
    for (uint32_t i = 0; sc_command_name(i); i++)
        fprintf(to, "  %-10s %s\n", sc_command_name(i), sc_command_summary(i));
    fputs("\n'stepcast help COMMAND' lists the options of a command, 'stepcast help "
          "COMMAND all' rare ones too,\n'stepcast help --OPTION' says what an option "
          "does.\n",
          to);
}

unsigned help_columns(void) {
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static bool begins_character(char c) {
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* Bytes of the line's first columns, up to a blank where there is one behind the indent. */
static size_t fitting(const char *line, size_t n, unsigned columns, size_t indent) {
    size_t at = 0;
    size_t blank = 0;
    for (unsigned column = 0; at < n; at++) {
        column += begins_character(line[at]);
        if (column > columns)
            return blank ? blank : n;
        if (line[at] == ' ' && at > indent)
            blank = at;
    }
    return n;
}

/* What does not fit goes on below where the text began. */
static void put_line(const char *line, size_t n, unsigned columns) {
    size_t indent =
        n && line[0] == ' ' ? (columns < NARROW ? NARROW_INDENT : TEXT_COLUMN) : 0;
    size_t took = columns ? fitting(line, n, columns, indent) : n;
    fwrite(line, 1, took, stdout);
    while (took < n) {
        line += took + 1;
        n -= took + 1;
        took = fitting(line, n, columns - (unsigned)indent, 0);
        printf("\n%*s%.*s", (int)indent, "", (int)took, line);
    }
    putchar('\n');
}

static int put_text(void *nobody, const void *bytes, size_t n) {
    const char *text = bytes;
    unsigned columns = help_columns();
    (void)nobody;
    while (n) {
        const char *end = memchr(text, '\n', n);
        size_t line = end ? (size_t)(end - text) : n;
        put_line(text, line, columns);
        line += end != NULL;
        text += line;
        n -= line;
    }
    return 0;
}

sc_status help_print(sc_context *ctx, const char *name, const char *more) {
    char both[128];
    snprintf(both, sizeof both, "%s%s%s", name, more ? " " : "", more ? more : "");
    return sc_command_help(ctx, both, put_text, NULL);
}
