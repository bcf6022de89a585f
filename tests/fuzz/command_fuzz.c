/* Any command with any options, the way the program runs it. The bytes are
 *
 *     coll all_reduce            a command and its inputs
 *     cluster dgx-h100:8         options, a line each
 *     %table.csv                 a file of this name, until the end of the line before the
 * next …
 *
 * It runs in an empty folder that holds these files alone. What must hold: it comes back,
 * or can be cancelled; an error says something and leaves nothing written; an answer has
 * no number that is none, its documents are JSON, and asking again gives the same bytes. */
#include "option_mutator.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 8, MOST_NAME = 32 };

/* What takes longer, under sanitizers, is cancelled: it may be large by right. */
#define MOST_SECONDS 2.0
/* What took less is asked again. */
#define BRIEF_SECONDS 0.05

/* Who reads and writes while the command runs, where the fuzzer is root: an output may
 * have any name. */
#define NOBODY 65534

static char folder[64];

static void must(bool holds, const char *what, const char *text) {
    if (holds)
        return;
    fprintf(stderr, "command_fuzz: %s: %.400s\n", what, text);
    abort();
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the folder ---- */

static void leave_folder(void) {
    (void)!chdir("/");
    rmdir(folder);
}

static void open_folder(void) {
    const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/command-fuzz-XXXXXX", memory);
    must(mkdtemp(folder) != NULL, "no folder", folder);
    atexit(leave_folder);
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *at) {
    (void)s;
    (void)kind;
    return at->level ? remove(path) : 0;
}

static void empty_folder(void) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static uint32_t count_entries(void) {
    uint32_t n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d)
        closedir(d);
    return n;
}

/* ---- what is asked ---- */

struct asked {
    char *words; /* the lines before the files, NUL-terminated */
    uint32_t files;
    bool may_have_no_number; /* its bytes say nan or inf somewhere */
};

static bool is_plain_name(const char *name, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
            return false;
    return n > 0 && n < MOST_NAME && name[0] != '.' && name[0] != '-';
}

static void write_file(struct asked *a, const char *line, const char *end) {
    const char *name = line + 1;
    const char *bytes = memchr(name, '\n', (size_t)(end - name));
    char path[MOST_NAME];
    if (!bytes || !is_plain_name(name, (size_t)(bytes - name)) || a->files == FILES)
        return;
    snprintf(path, sizeof path, "%.*s", (int)(bytes - name), name);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (fd < 0)
        return;
    bytes++;
    must(write(fd, bytes, (size_t)(end - bytes)) == end - bytes, "cannot write", path);
    close(fd);
    a->files++;
}

/* The first line that begins a file; from begins a line. */
static const char *next_file(const char *from, const char *end) {
    while (from < end && *from != '%') {
        const char *line_end = memchr(from, '\n', (size_t)(end - from));
        from = line_end ? line_end + 1 : end;
    }
    return from;
}

static bool has_word(const char *bytes, size_t size, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= size; i++)
        if (!strncasecmp(bytes + i, word, n))
            return true;
    return false;
}

static void take_apart(const char *bytes, size_t size, struct asked *a) {
    const char *end = bytes + size;
    const char *line = next_file(bytes, end);
    a->words = strndup(bytes, (size_t)(line - bytes));
    while (line < end) {
        const char *body = memchr(line, '\n', (size_t)(end - line));
        const char *next = body ? next_file(body + 1, end) : end;
        write_file(a, line, next < end ? next - 1 : end);
        line = next;
    }
    /* S of LogGOPS is usually inf */
    static const char *const words[] = {"nan", "inf", "loggops"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        a->may_have_no_number |= has_word(bytes, size, words[i]);
}

/* Only what is in the folder: no path leads out of it, and nothing waits for a terminal. */
static bool leads_out(const char *word) {
    return word[0] == '/' || strstr(word, "..") || strstr(word, "=/") || strstr(word, ",/");
}

/* What is refused is left out. */
static void take_option(sc_request *req, char *line) {
    char *value = strchr(line, ' ');
    if (value)
        *value++ = '\0';
    if (!value || !leads_out(value))
        (void)sc_request_set(req, line, value);
}

/* The request of the words, NULL where there is none. */
static sc_request *make_request(sc_context *ctx, const char *words) {
    char *text = strdup(words);
    char *rest = text;
    char *first = strsep(&rest, "\n");
    const char *command = strsep(&first, " ");
    sc_request *req = sc_request_new(ctx, command);
    bool good = req != NULL;
    for (char *input; good && (input = strsep(&first, " "));)
        if (*input && strcmp(input, "-"))
            good = !leads_out(input) && sc_request_input(req, input) == SC_OK;
    for (char *line; good && (line = strsep(&rest, "\n"));)
        if (*line)
            take_option(req, line);
    if (good && sc_request_takes_value(req, "max-memory"))
        sc_request_set(req, "max-memory", "1GB");
    free(text);
    return good ? req : NULL;
}

/* ---- what must hold ---- */

static int cancel_what_is_long(void *user, const char *what, double share) {
    (void)what;
    (void)share;
    return cpu_seconds() > *(double *)user;
}

/* Words that printf makes of what is no number. A page is mostly a program, which has them
 * by right. */
static void check_numbers(const char *text) {
    static const char *const wrong[] = {"nan", "inf"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (const char *p = text; (p = strstr(p, wrong[i])); p += 3)
            must((p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_')) ||
                     isalnum((unsigned char)p[3]),
                 "a number that is none",
                 p);
}

static void check_document(const char *words, const char *text, size_t size) {
    const char *last = NULL; /* the last one counts */
    for (const char *p = words; (p = strstr(p, "\njson ")); p++)
        last = p;
    if (!last || strncmp(last, "\njson -\n", 9) != 0)
        return;
    json_t *document =
        json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    must(document, "a document is no JSON", text);
    json_decref(document);
}

static sc_status execute(sc_context *ctx, sc_request *req) {
    double end = cpu_seconds() + MOST_SECONDS;
    sc_set_progress(ctx, cancel_what_is_long, &end);
    setfsuid(NOBODY);
    sc_status status = sc_execute(req);
    setfsuid(geteuid());
    return status;
}

static bool is_answer(sc_status status) {
    return status == SC_OK || status == SC_NO || status == SC_NO_FIT;
}

static void check_again(sc_context *ctx, sc_request *req, sc_status status) {
    char *before = strdup(sc_request_output(req));
    must(execute(ctx, req) == status, "another status when asked again", before);
    must(!strcmp(before, sc_request_output(req)), "another answer", before);
    free(before);
}

static void check_request(sc_context *ctx, sc_request *req, const struct asked *a) {
    double begin = cpu_seconds();
    sc_status status = execute(ctx, req);
    uint32_t entries = count_entries();
    /* points that were simulated stay in the database of a sweep */
    bool keeps = !strncmp(a->words, "sweep", 5);
    if (!is_answer(status)) {
        must(status == SC_CANCELLED || *sc_error_text(ctx), "no reason", a->words);
        must(keeps || entries == a->files, "something is half-written", a->words);
        return;
    }
    const char *text = sc_request_output(req);
    if (!a->may_have_no_number && text[0] != '<')
        check_numbers(text);
    if (status == SC_OK)
        check_document(a->words, text, sc_request_output_size(req));
    for (uint32_t i = 0; sc_request_file(req, i); i++)
        must(access(sc_request_file(req, i), F_OK) == 0, "not written", a->words);
    if (entries == a->files && cpu_seconds() - begin < BRIEF_SECONDS)
        check_again(ctx, req, status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct asked a = {0};
    if (!*folder)
        open_folder();
    int before = open(".", O_PATH | O_DIRECTORY);
    must(chdir(folder) == 0, "no folder", folder);
    take_apart((const char *)data, size, &a);
    must(chown(folder, geteuid() ? geteuid() : NOBODY, (gid_t)-1) == 0, "no owner", folder);
    sc_context *ctx = sc_open();
    sc_request *req = make_request(ctx, a.words);
    if (req)
        check_request(ctx, req, &a);
    sc_close(ctx);
    empty_folder();
    must(fchdir(before) == 0, "cannot go back", folder);
    close(before);
    free(a.words);
    return 0;
}
