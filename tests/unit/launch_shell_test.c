/* Launch scripts: what the evaluator would run, against bash itself, which runs the
 * same scripts with stubs for torchrun, python and their kin. LAUNCH_SCRIPTS: a folder of
 * other ones (tests/tools/random_scripts.py). */
#include "test.h"

#include "opened.h"
#include "shell/shell.h"

#include <dirent.h>

#define FOLDER "tests/data/launch"

static char *read_text(FILE *f) {
    size_t size = 0;
    size_t capacity = 1 << 16;
    char *text = malloc(capacity);
    size_t n;
    while ((n = fread(text + size, 1, capacity - size - 1, f))) {
        size += n;
        if (size + 1 == capacity)
            text = realloc(text, capacity *= 2);
    }
    text[size] = 0;
    return text;
}

/* The rest of the line that begins with this comment; "" where there is none. */
static char *comment_line(const char *script, const char *comment) {
    const char *at = strstr(script, comment);
    if (!at)
        return strdup("");
    at += strlen(comment);
    return strndup(at, strcspn(at, "\n"));
}

/* A word of ours with a mark in it stands for any text there. */
static bool word_is(const char *ours, const char *theirs, size_t n) {
    while (*ours) {
        if (*ours == '\1') {
            ours = strchr(ours, '\2') + 1;
            for (size_t skip = 0; skip <= n; skip++)
                if (word_is(ours, theirs + skip, n - skip))
                    return true;
            return false;
        }
        if (!n || *ours != *theirs)
            return false;
        ours++;
        theirs++;
        n--;
    }
    return n == 0;
}

static bool is_launcher(const char *word) {
    static const char *const names[] = {"torchrun",
                                        "python",
                                        "python3",
                                        "deepspeed",
                                        "srun"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(word, names[i]))
            return true;
    return false;
}

static const char *take_line(const char **text, size_t *n) {
    const char *line = *text;
    *n = strcspn(line, "\n");
    *text = line + *n + (line[*n] == '\n');
    return line;
}

/* Both say the same words. A word of bash's that holds a line end is cut there, and
 * so is ours. */
static bool same_launches(const struct sc__shell_result *r, const char *bash) {
    size_t n;
    for (uint32_t i = 0; i < r->command_count; i++) {
        const struct sc__shell_command *c = &r->commands[i];
        if (!is_launcher(c->words[0]))
            continue;
        const char *line = take_line(&bash, &n);
        if (n != 3 || strncmp(line, ">>>", 3))
            return false;
        for (uint32_t k = 0; k < c->count; k++) {
            const char *word = c->words[k];
            do {
                char part[8192];
                size_t length = strcspn(word, "\n");
                snprintf(part, sizeof part, "%.*s", (int)length, word);
                line = take_line(&bash, &n);
                if (!word_is(part, line, n)) {
                    print_error("ours '%s', bash '%.*s'\n", part, (int)n, line);
                    return false;
                }
                word += length;
            } while (*word++ == '\n');
        }
    }
    return !*bash;
}

/* "A=1 B=2" as settings. */
static struct sc__setting_list words_of(struct sc_context *ctx, const char *line) {
    sc_setting *items = SC__NEW_ARRAY(&ctx->arena, sc_setting, 16);
    struct sc__setting_list list = {items, 0};
    struct sc__str rest = sc__str(line);
    struct sc__str part;
    while (sc__split(&rest, ' ', &part)) {
        const char *equals = part.n ? memchr(part.p, '=', part.n) : NULL;
        if (!equals)
            continue;
        size_t name = (size_t)(equals - part.p);
        items[list.count].name = sc__strndup(&ctx->arena, part.p, name);
        items[list.count].value = sc__strndup(&ctx->arena, equals + 1, part.n - name - 1);
        list.count++;
    }
    return list;
}

/* Arguments as "1=…", quotes taken off. */
static struct sc__setting_list arguments_of(struct sc_context *ctx, const char *line) {
    sc_setting *items = SC__NEW_ARRAY(&ctx->arena, sc_setting, 16);
    struct sc__setting_list list = {items, 0};
    while (*line) {
        while (*line == ' ')
            line++;
        bool quoted = *line == '"';
        line += quoted;
        size_t n = strcspn(line, quoted ? "\"" : " ");
        if (!n && !quoted)
            break;
        items[list.count].name = sc__format(&ctx->arena, "%zu", list.count + 1);
        items[list.count].value = sc__strndup(&ctx->arena, line, n);
        list.count++;
        line += n + quoted;
    }
    return list;
}

/* stops: both may refuse the script. */
static bool as_bash_does(const char *path, bool stops) {
    sc_context *ctx = sc_open();
    FILE *f = fopen(path, "r");
    char *script = read_text(f);
    fclose(f);
    char *arguments = comment_line(script, "# args: ");
    char *environment = comment_line(script, "# env: ");
    char command[4096];
    snprintf(command,
             sizeof command,
             "env -i PATH=\"$PATH\" HOME=/home/user BASH_ENV=%s/stubs.bash %s bash %s %s "
             "9>&1 >/dev/null 2>/dev/null </dev/null",
             FOLDER,
             environment,
             path,
             arguments);
    FILE *p = popen(command, "r");
    char *bash = read_text(p);
    pclose(p);
    struct sc__setting_list given = words_of(ctx, environment);
    struct sc__setting_list pinned = arguments_of(ctx, arguments);
    struct sc__shell_result r;
    bool same =
        sc__shell_evaluate(ctx, path, sc__str(script), &given, &pinned, &r) == SC_OK;
    if (!same && stops && !*bash)
        same = true;
    else if (!same)
        print_error("%s\n", sc_error_text(ctx));
    else if (!*bash || !same_launches(&r, bash)) {
        print_error("%s: bash launches\n%s", path, bash);
        same = false;
    }
    free(arguments);
    free(environment);
    free(script);
    free(bash);
    sc_close(ctx);
    return same;
}

static void test_scripts_as_bash_runs_them(void **state) {
    (void)state;
    const char *given = getenv("LAUNCH_SCRIPTS");
    const char *scripts = given ? given : FOLDER;
    DIR *folder = opendir(scripts);
    unsigned tried = 0;
    unsigned wrong = 0;
    assert_non_null(folder);
    if (system("bash -c true 2>/dev/null"))
        skip_needs("command:bash");
    for (struct dirent *e; (e = readdir(folder));) {
        char path[1024];
        size_t n = strlen(e->d_name);
        if (n < 4 || strcmp(e->d_name + n - 3, ".sh"))
            continue;
        snprintf(path, sizeof path, "%s/%s", scripts, e->d_name);
        wrong += !as_bash_does(path, given != NULL);
        tried++;
    }
    closedir(folder);
    assert_int_equal(wrong, 0);
    assert_true(tried >= 100);
}

/* ---- what is not known ---- */

static sc_status evaluate(sc_context *ctx, const char *script, struct sc__shell_result *r) {
    static const struct sc__setting_list none;
    return sc__shell_evaluate(ctx, "run.sh", sc__str(script), &none, &none, r);
}

static const struct sc__shell_variable *variable(const struct sc__shell_result *r,
                                                 const char *name) {
    for (uint32_t i = 0; i < r->variable_count; i++)
        if (!strcmp(r->variables[i].name, name))
            return &r->variables[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static void test_output_of_programs_is_marked(void **state) {
    struct sc__shell_result r;
    assert_int_equal(
        evaluate(*state, "N=$(nvidia-smi -L | wc -l)\nM=$((N * 2))\nA=(x $M)\nK=4\n", &r),
        SC_OK);
    assert_true(sc__shell_mark(variable(&r, "N")->items[0]));
    assert_true(sc__shell_mark(variable(&r, "M")->items[0]));
    assert_string_equal(variable(&r, "A")->items[0], "x");
    assert_true(sc__shell_mark(variable(&r, "A")->items[1]));
    assert_int_equal(sc__shell_mark(variable(&r, "K")->items[0]), 0);
    const struct sc__shell_unknown *u =
        &r.unknowns[sc__shell_mark(variable(&r, "M")->items[0]) - 1];
    assert_int_equal(u->line, 1);
    assert_non_null(strstr(u->what, "wc"));
}

/* S is the text "N + 1": the sum is read where S is, and N is not known. */
static void test_sums_of_what_is_marked_are(void **state) {
    struct sc__shell_result r;
    assert_int_equal(
        evaluate(*state,
                 "N=$(nproc)\nS='N + 1'\nM=$((S * 2))\nT='3 + 1'\nK=$((T * 2))\n",
                 &r),
        SC_OK);
    assert_true(sc__shell_mark(variable(&r, "M")->items[0]));
    assert_string_equal(variable(&r, "K")->items[0], "8");
}

static void test_undecided_conditions_mark_what_differs(void **state) {
    struct sc__shell_result r;
    assert_int_equal(
        evaluate(*state, "S=1\nT=1\nif [ -d /data ]; then S=2; T=3; else T=3; fi\n", &r),
        SC_OK);
    assert_true(sc__shell_mark(variable(&r, "S")->items[0]));
    assert_string_equal(variable(&r, "T")->items[0], "3");
    const struct sc__shell_unknown *u =
        &r.unknowns[sc__shell_mark(variable(&r, "S")->items[0]) - 1];
    assert_int_equal(u->way_count, 2); /* what it may be, either way */
    assert_int_equal(atoi(u->ways[0]) + atoi(u->ways[1]), 1 + 2);
}

static void test_a_way_that_exits_is_not_taken(void **state) {
    struct sc__shell_result r;
    assert_int_equal(evaluate(*state,
                              "X=1\nif [ ! -f pretrain.py ]; then X=2; exit 1; fi\n"
                              "mkdir out || exit 1\n"
                              "command -v torchrun >/dev/null || { echo no; exit 2; }\n"
                              "torchrun a.py\n",
                              &r),
                     SC_OK);
    assert_string_equal(variable(&r, "X")->items[0], "1");
    assert_int_equal(r.exit_line, 0);
    assert_string_equal(r.commands[r.command_count - 1].words[0], "torchrun");
}

static void test_a_way_that_returns_counts(void **state) {
    struct sc__shell_result r;
    assert_int_equal(evaluate(*state,
                              "f() {\n  if [ -f x ]; then X=1; return; fi\n  X=2; Y=2\n}\n"
                              "Y=2\nf\n",
                              &r),
                     SC_OK);
    assert_true(sc__shell_mark(variable(&r, "X")->items[0]));
    assert_string_equal(variable(&r, "Y")->items[0], "2");
}

static void test_exit_is_told(void **state) {
    struct sc__shell_result r;
    assert_int_equal(
        evaluate(*state,
                 "if [ -z \"$N\" ]; then\n  echo give N\n  exit 1\nfi\ntorchrun\n",
                 &r),
        SC_OK);
    assert_int_equal(r.exit_line, 3);
    assert_string_equal(r.last_words, "give N");
    assert_int_equal(r.command_count, 0);
    assert_string_equal(r.unset[0].name, "N");
}

static void test_pinned_variables_stay(void **state) {
    static const sc_setting items[] = {{"TP", "4"}, {"2", "second"}};
    static const struct sc__setting_list pinned = {items, 2};
    static const struct sc__setting_list none;
    struct sc__shell_result r;
    assert_int_equal(sc__shell_evaluate(*state,
                                        "run.sh",
                                        sc__str("TP=8\nA=$2\nB=$((TP * 2))\n"),
                                        &none,
                                        &pinned,
                                        &r),
                     SC_OK);
    assert_string_equal(variable(&r, "TP")->items[0], "4");
    assert_string_equal(variable(&r, "A")->items[0], "second");
    assert_string_equal(variable(&r, "B")->items[0], "8");
}

static void test_hostile_scripts(void **state) {
    static const char *const bad[] = {
        "if true; then",
        "case x in",
        "for i in 1 2; do",
        "echo ${",
        "echo ${A",
        "while true; do :; done",
        "f() { f; }\nf",
        "X=$((1/0))",
        "X=$((1 +))",
        "((((",
        "fi",
        "a=(1 2",
        "[ 1 -eq 1",
        "eval 'eval \"$X\"' ; X='eval \"$X\"'; eval \"$X\"",
        "x=1; while [ $x ]; do x=$x$x; done",
        "for ((;;)); do :; done",
        "echo ${A!}",
        "select x in a; do :; done",
        "X=$((a)); a=a; Y=$((a))",
        "A[x$(date)]=1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc__shell_result r;
        sc_context *ctx = sc_open();
        sc_status status = evaluate(ctx, bad[i], &r);
        if (status != SC_INPUT)
            print_error("'%s' is taken\n", bad[i]);
        assert_int_equal(status, SC_INPUT);
        assert_non_null(strstr(sc_error_text(ctx), "run.sh:"));
        sc_close(ctx);
    }
    (void)state;
}

/* A loop without end around a command starts it anew; behind one it keeps a container
 * alive. Both are left, and what stands behind them runs. */
static void test_loops_that_restart_are_left(void **state) {
    static const char *const loops[] = {
        "while true; do torchrun train.py; sleep 1; done; A=1",
        "while :; do\n if [ -f done ]; then break; fi\n torchrun train.py\ndone; A=1",
        "torchrun train.py; while true; do sleep 60; done; A=1",
    };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        struct sc__shell_result r;
        sc_context *ctx = sc_open();
        assert_int_equal(evaluate(ctx, loops[i], &r), SC_OK);
        assert_string_equal(r.commands[0].words[1], "train.py");
        assert_string_equal(variable(&r, "A")->items[0], "1");
        sc_close(ctx);
    }
    (void)state;
}

/* What the machine would have set may go through another variable before it is counted. */
static void test_sums_of_what_is_empty_are_open(void **state) {
    struct sc__shell_result r;
    sc_context *ctx = sc_open();
    assert_int_equal(
        evaluate(ctx, "NODES=$NHOSTS; ALL=$((8 * ${NODES})); TP=$((2 * 4))", &r),
        SC_OK);
    assert_true(sc__shell_mark(variable(&r, "ALL")->items[0]) != 0);
    assert_string_equal(variable(&r, "TP")->items[0], "8");
    sc_close(ctx);
    (void)state;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts_as_bash_runs_them),
        cmocka_unit_test_setup_teardown(test_output_of_programs_is_marked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sums_of_what_is_marked_are, setup, teardown),
        cmocka_unit_test_setup_teardown(test_undecided_conditions_mark_what_differs,
                                        setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_way_that_exits_is_not_taken,
                                        setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_way_that_returns_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_exit_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pinned_variables_stay, setup, teardown),
        cmocka_unit_test(test_loops_that_restart_are_left),
        cmocka_unit_test(test_sums_of_what_is_empty_are_open),
        cmocka_unit_test(test_hostile_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
