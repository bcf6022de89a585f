/* trace_files: directories of traces written for a test, and what a command
 * says about them. */
#ifndef SC_TESTS_TRACE_FILES_H
#define SC_TESTS_TRACE_FILES_H

#include "test.h"

#include <dirent.h>
#include <jansson.h>
#include <sys/stat.h>

#include "stepcast/stepcast.h"

struct answer {
    sc_status status;
    char error[4096];
    json_t *json;
};

/* Runs a command on inputs with options "name", "value", …; both lists end in NULL. */
static inline struct answer
ask(const char *command, const char *const *inputs, const char *const *options) {
    struct answer a = {0};
    sc_context *ctx = sc_open();
    sc_request *req = sc_request_new(ctx, command);
    assert_non_null(req);
    for (; *inputs; inputs++)
        sc_request_input(req, *inputs);
    a.status = sc_request_set(req, "json", "-");
    for (; a.status == SC_OK && *options; options += 2)
        a.status = sc_request_set(req, options[0], options[1]);
    if (a.status == SC_OK)
        a.status = sc_execute(req);
    snprintf(a.error, sizeof a.error, "%s", sc_error_text(ctx));
    if (a.status == SC_OK) {
        json_error_t e;
        a.json = json_loads(sc_request_output(req), 0, &e);
        assert_non_null(a.json);
    }
    sc_close(ctx);
    return a;
}

static inline struct answer run_path(const char *path, const char *const *options) {
    const char *inputs[] = {path, NULL};
    return ask("run", inputs, options);
}

static inline double step_ms(struct answer *a) {
    if (a->status != SC_OK)
        fail_msg("%s", a->error);
    double us = json_number_value(json_object_get(a->json, "step_time_us"));
    json_decref(a->json);
    a->json = NULL;
    return us / 1000;
}

/* How many notes have this code and contain this text. */
static inline unsigned notes(const struct answer *a, const char *code, const char *text) {
    const json_t *list = json_object_get(json_object_get(a->json, "input"), "notes");
    unsigned n = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *note = json_array_get(list, i);
        n += !strcmp(json_string_value(json_object_get(note, "code")), code) &&
             strstr(json_string_value(json_object_get(note, "text")), text) != NULL;
    }
    return n;
}

/* A directory that goes with remove_directory. */
static inline const char *new_directory(void) {
    static char path[8][64];
    static int next;
    char *p = path[next++ & 7];
    snprintf(p, sizeof path[0], "/tmp/stepcast_traces_XXXXXX");
    assert_non_null(mkdtemp(p));
    return p;
}

static inline void remove_directory(const char *directory) {
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        if (e->d_name[0] != '.')
            unlink(path);
    }
    closedir(dir);
    rmdir(directory);
}

static inline void write_file(const char *directory, const char *name, const char *text) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline char *read_whole(const char *path) {
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

#endif
