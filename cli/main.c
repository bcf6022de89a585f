/* stepcast, the program: arguments in, a request to the library, its answer
 * out. The only place that prints or exits. */
#include "help.h"
#include "progress.h"
#include "stepcast/stepcast.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* main_finish() looks whether it went well. */
static int print(void *nobody, const void *bytes, size_t n) {
    (void)nobody;
    progress_hide();
    fwrite(bytes, 1, n, stdout);
    return 0;
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
static int complain(sc_context *ctx, const sc_request *req, sc_status status) {
    fputs(sc_error_text(ctx), stderr);
    bool no = status == SC_NO || status == SC_NO_FIT;
    for (uint32_t i = 0; no && req && sc_request_note(req, i); i++)
        fprintf(stderr, "  note: %s\n", sc_request_note(req, i));
    return main_finish(sc_exit_code(status));
}

static int help(sc_context *ctx, const char *name, const char *more) {
    if (!name) {
        help_overview(stdout);
        return main_finish(SC_OK);
    }
    sc_status status = help_print(ctx, name, more);
    return status == SC_OK ? main_finish(SC_OK) : complain(ctx, NULL, status);
}

enum { MOST_NAME = 128 }; /* no option has a longer one */

/* -x or --name: no value of an option before it, whose own was forgotten. Numbers may be
 * negative, - is a stream, and --json=--name names a file that is called so. */
static bool looks_like_option(const char *word) {
    if (word[0] != '-')
        return false;
    return word[1] == '-' ? word[2] != '\0' : isalpha((unsigned char)word[1]) && !word[2];
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
    char key[MOST_NAME];
    snprintf(key, sizeof key, "%.*s", (int)(n < sizeof key ? n : sizeof key - 1), name);
    if (!value && sc_request_takes_value(req, key) && *i + 1 < argc &&
        !looks_like_option(argv[*i + 1]))
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

static bool wants_colours(const sc_request *req) {
    const char *plain = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    const char *when = sc_request_terminal_option(req, "color");
    if (when && strcmp(when, "auto"))
        return !strcmp(when, "always");
    return isatty(STDOUT_FILENO) && (!plain || !*plain) && (!term || strcmp(term, "dumb"));
}

static void look_at_terminal(sc_request *req) {
    unsigned columns = help_columns();
    bool colours = wants_colours(req);
    if (colours || columns)
        sc_request_set_terminal(req, colours, columns);
}

/* Where files went, for whoever looks on. */
static void tell_files(const sc_request *req, bool quiet) {
    const uint32_t most = 8;
    uint32_t count = 0;
    while (sc_request_file(req, count))
        count++;
    if (!count || quiet || !isatty(STDERR_FILENO))
        return;
    fflush(stdout);
    for (uint32_t i = 0; i < count && i < most; i++)
        fprintf(stderr, "wrote %s\n", sc_request_file(req, i));
    if (count > most)
        fprintf(stderr, "wrote %u more\n", count - most);
}

/* Beside a workload or a table on standard output, which have no room for notes. */
static void tell_notes(const sc_request *req, bool quiet) {
    if (quiet || sc_request_says_notes(req))
        return;
    for (uint32_t i = 0; sc_request_note(req, i); i++)
        fprintf(stderr, "note: %s\n", sc_request_note(req, i));
}

/* A sweep that is ended (mpirun does so with all ranks where one is lost) says how it
 * goes on. */
static void say_resume(int signal_number) {
    static const char text[] = "\nended: the points in the database stay; the same command "
                               "computes the rest\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Of several ranks only the first, which has the database. */
static void watch_for_end(const char *command) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (strcmp(command, "sweep") != 0 || (rank && strcmp(rank, "0") != 0))
        return;
    signal(SIGTERM, say_resume);
    signal(SIGINT, say_resume);
}

/* Arenas come and go with every plan that is tried: what they give back is kept for the
 * next one, so that the system does not clear the same pages again and again. */
static void keep_memory(void) {
#ifdef __GLIBC__
    enum { KEPT = 64 << 20 };
    mallopt(M_TRIM_THRESHOLD, KEPT);
    mallopt(M_MMAP_THRESHOLD, KEPT / 2);
#endif
}

/* Where a standard stream is closed, the next file that is opened would take its number,
 * and what is printed would go there. The null device, opened for the other direction,
 * takes it instead: writing to it fails, and is seen. */
static void hold_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    static sc_context *ctx; /* not closed: the system takes memory back faster; static, so
                               that it is no leak */
    hold_standard_streams();
    keep_memory();
    ctx = sc_open();
    if (!ctx)
        return SC_SYSTEM;
    if (argc < 2) {
        help_overview(stderr);
        return SC_USAGE;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        puts("stepcast " SC_VERSION);
        return main_finish(SC_OK);
    }
    if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return help(ctx, argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
    sc_request *req = sc_request_new(ctx, argv[1]);
    if (!req)
        return complain(ctx, NULL, SC_USAGE);
    if (wants_help(argc - 2, argv + 2))
        return help(ctx, argv[1], NULL);
    sc_request_set_command_line(req, argc, (const char *const *)argv);
    sc_status status = take_arguments(req, argc - 2, argv + 2);
    bool quiet = sc_request_terminal_option(req, "quiet") != NULL;
    look_at_terminal(req);
    sc_request_set_sink(req, print, NULL);
    if (!quiet)
        progress_begin(ctx);
    watch_for_end(argv[1]);
    if (status == SC_OK)
        status = sc_execute(req);
    progress_hide();
    tell_files(req, quiet);
    if (status != SC_OK)
        return complain(ctx, req, status);
    int answer = main_finish(SC_OK);
    if (answer == SC_OK)
        tell_notes(req, quiet);
    return answer;
}
