/* A host whose locale has a decimal comma: what the library reads and writes is
 * the same, and the host keeps its locale. */
#include "context.h"
#include "test.h"

#include <locale.h>

/* A locale with a decimal comma: one that the system has, or one made here. */
static bool set_decimal_comma(void) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", NULL};
    for (const char *const *name = names; *name; name++)
        if (setlocale(LC_ALL, *name))
            return true;
    char folder[] = "/tmp/stepcast_locale_XXXXXX";
    char command[512];
    assert_non_null(mkdtemp(folder));
    /* localedef warns of the categories that are not described and exits 1 */
    snprintf(command,
             sizeof command,
             "printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \"\"\\n"
             "grouping -1\\nEND LC_NUMERIC\\n' >%s/comma.src && "
             "localedef -c -i %s/comma.src %s/xx_XX >/dev/null 2>&1",
             folder,
             folder,
             folder);
    int ignored = system(command);
    (void)ignored;
    setenv("LOCPATH", folder, 1);
    bool made = setlocale(LC_NUMERIC, "xx_XX") != NULL;
    snprintf(command, sizeof command, "rm -r %s", folder);
    ignored = system(command);
    return made;
}

/* What the command writes: a copy for the caller to free. */
static char *output_of(const char *command,
                       const char *input,
                       const char *const (*options)[2],
                       size_t count) {
    sc_request *request = sc_request_new(ctx, command);
    assert_non_null(request);
    if (input)
        assert_int_equal(sc_request_input(request, input), SC_OK);
    for (size_t i = 0; i < count; i++)
        if (sc_request_set(request, options[i][0], options[i][1]) != SC_OK)
            fail_msg("%s", sc_error_text(ctx));
    if (sc_execute(request) != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
    char *text = strdup(sc_request_output(request));
    sc_request_free(request);
    return text;
}

static const char *const model_options[][2] = {
    {"model", "gpt2"}, {"gpus", "8"}, {"gpu-speedup", "1.25"}, {"json", "-"}};
static const char *const sweep_options[][2] = {
    {"cluster", "gpu=h100 gpus=16 node=8 nvlink=450GB/s nics=8 nic=100.5Gbps class=ib"},
};
static const char *const table_options[][2] = {{"json", "-"}};

struct locale_case {
    const char *command;
    const char *input;
    const char *const (*options)[2];
    size_t count;
    char *plain; /* what it writes in the locale of C */
};

static struct locale_case cases[] = {
    {"run", NULL, model_options, 4},
    {"coll", "all_reduce", sweep_options, 1},
    {"run", "tests/data/seed_000.txt", table_options, 1},
    {"run", "tests/data/seed_001.txt", table_options, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

static void same_bytes_under_a_decimal_comma(void **state) {
    (void)state;
    char text[32];
    for (size_t i = 0; i < CASES; i++) {
        struct locale_case *c = &cases[i];
        c->plain = output_of(c->command, c->input, c->options, c->count);
        assert_non_null(strchr(c->plain, '.'));
    }
    if (!set_decimal_comma())
        skip_needs("command:localedef");
    snprintf(text, sizeof text, "%g", 1.5);
    assert_string_equal(text, "1,5");
    for (size_t i = 0; i < CASES; i++) {
        struct locale_case *c = &cases[i];
        char *now = output_of(c->command, c->input, c->options, c->count);
        assert_string_equal(now, c->plain);
        free(now);
        free(c->plain);
    }
    snprintf(text, sizeof text, "%g", 1.5);
    assert_string_equal(text, "1,5");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes_under_a_decimal_comma),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
