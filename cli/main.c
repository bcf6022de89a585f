/* stepcast, the program: arguments in, a request to the library, its answer
 * out. The only place that prints or exits. */
#include "progress.h"

#include "command/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void put_overview(FILE *to) {
    fputs("stepcast " SC_VERSION
          ": forecast one training step of a large model on a GPU cluster\n\n"
          "usage: stepcast COMMAND [options]\n\n",
          to);
    for (const struct sc__command *const *c = sc__commands; *c; c++)
        fprintf(to, "  %-10s %s\n", (*c)->name, (*c)->summary);
    fputs("\n'stepcast help COMMAND' lists the options of a command.\n", to);
}

/* Nothing is a success until standard output has taken it. */
static int main_finish(int status) {
    bool failed =
        ferror(stdout) != 0; /* what did not fit the buffer was written, or not, before */
    if (fclose(stdout) != 0 || failed) {
        fputs("error: cannot write to standard output\n", stderr);
        return SC_SYSTEM;
    }
    return status;
}

/* A "no" rests on what was assumed, so that is said too. */
static int complain(sc_context *ctx, int status) {
    fputs(sc_error_text(ctx), stderr);
    for (uint32_t i = 0; status == SC_NO && i < ctx->note_count; i++)
        fprintf(stderr, "  note: %s\n", ctx->notes[i].text);
    return main_finish(status);
}

static int help(sc_context *ctx, const char *name) {
    if (!name) {
        put_overview(stdout);
        return main_finish(SC_OK);
    }
    const struct sc__command *c = sc__command_find(ctx, name);
    struct sc__buffer out;
    if (!c)
        return complain(ctx, SC_USAGE);
    sc__buffer_init(&out, &ctx->arena);
    sc__command_help(&out, c);
    fputs(out.text, stdout);
    return main_finish(SC_OK);
}

static bool takes_value(const sc_request *req, const char *name) {
    const struct sc__option *o = sc__command_option(req->command, name);
    return o && o->arg;
}

/* --name value, --name=value, -x value, -xvalue. */
static sc_status take_option(sc_request *req, int argc, char **argv, int *i) {
    const char *word = argv[*i];
    bool is_long = word[1] == '-';
    const char *name = word + 1 + is_long;
    const char *value = NULL;
    size_t n = is_long ? strcspn(name, "=") : 1;
    if (is_long && name[n] == '=')
        value = name + n + 1;
    else if (!is_long && name[1])
        value = name + 1;
    char *key = sc__strndup(&req->ctx->arena, name, n);
    if (!value && takes_value(req, key) && *i + 1 < argc)
        value = argv[++*i];
    return sc_request_set(req, key, value);
}

static sc_status take_arguments(sc_request *req, int argc, char **argv) {
    bool only_inputs = false;
    for (int i = 0; i < argc; i++) {
        sc_status status;
        if (!only_inputs && !strcmp(argv[i], "--")) {
            only_inputs = true;
            continue;
        }
        if (!only_inputs && argv[i][0] == '-' && argv[i][1])
            status = take_option(req, argc, argv, &i);
        else
            status = sc_request_input(req, argv[i]);
        if (status != SC_OK)
            return status;
    }
    return SC_OK;
}

static bool wants_help(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
    return false;
}

static void print(void *nobody, const char *bytes, size_t n) {
    (void)nobody;
    fwrite(bytes, 1, n, stdout); /* main_finish() looks whether it went well */
}

static void look_at_terminal(sc_request *req) {
    struct winsize size;
    const char *plain = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (!isatty(STDOUT_FILENO))
        return;
    req->terminal = (!plain || !*plain) && (!term || strcmp(term, "dumb"));
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        req->width = size.ws_col;
}

int main(int argc, char **argv) {
    static sc_context *ctx; /* not closed: the system takes memory back faster; static, so
                               that it is no leak */
    ctx = sc_open();
    if (!ctx)
        return SC_SYSTEM;
    if (argc < 2) {
        put_overview(stderr);
        return SC_USAGE;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        puts("stepcast " SC_VERSION);
        return main_finish(SC_OK);
    }
    if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return help(ctx, argc > 2 ? argv[2] : NULL);
    sc_request *req = sc_request_new(ctx, argv[1]);
    if (!req)
        return complain(ctx, SC_USAGE);
    if (wants_help(argc - 2, argv + 2))
        return help(ctx, argv[1]);
    req->argc = argc;
    req->argv = (const char *const *)argv;
    look_at_terminal(req);
    sc__buffer_stream(&req->out, print, NULL);
    progress_begin(ctx);
    sc_status status = take_arguments(req, argc - 2, argv + 2);
    if (status == SC_OK)
        status = sc_execute(req);
    progress_end();
    sc__buffer_flush(&req->out);
    if (*sc_error_text(ctx))
        return complain(ctx, (int)status);
    return main_finish((int)status);
}
