/* shell_builtin: commands of the shell itself, and programs whose answer follows
 * from their arguments (dirname, seq …). Nothing is run, written or read. */
#include "shell/shell_parts.h"

#include <string.h>

struct shell_call {
    struct shell *sh;
    const struct shell_node *node;
    const char **words; /* words[0]: its name */
    uint32_t count;
};

static sc_status print_text(const struct shell_call *c, const char *text, bool line_end) {
    struct shell *sh = c->sh;
    if (c->node->to_file)
        return shell_write_output(sh,
                                  c->node,
                                  line_end ? sc__format(&sh->ctx->arena, "%s\n", text)
                                           : text);
    if (!sh->captured) {
        sh->result->last_words = text;
        return SC_OK;
    }
    sc__puts(sh->captured, text);
    if (line_end)
        sc__putc(sh->captured, '\n');
    return SC_OK;
}

static sc_status call_nothing(struct shell_call *c) {
    shell_answer(c->sh, 0);
    return SC_OK;
}

static sc_status call_change_files(struct shell_call *c) {
    shell_change_files(c->sh, c->words, c->count);
    shell_answer(c->sh, 0);
    return SC_OK;
}

static sc_status call_false(struct shell_call *c) {
    shell_answer(c->sh, 1);
    return SC_OK;
}

static void put_escaped(struct sc__buffer *b, const char *text) {
    static const char names[] = "ntr\\";
    static const char values[] = "\n\t\r\\";
    for (; *text; text++) {
        const char *name = *text == '\\' && text[1] ? strchr(names, text[1]) : NULL;
        sc__putc(b, name ? values[name - names] : *text);
        text += name != NULL;
    }
}

static sc_status call_echo(struct shell_call *c) {
    struct sc__buffer b;
    bool line_end = true;
    bool escapes = false;
    uint32_t i = 1;
    sc__buffer_init(&b, &c->sh->ctx->arena);
    for (; i < c->count && c->words[i][0] == '-' && c->words[i][1] &&
           !c->words[i][1 + strspn(c->words[i] + 1, "neE")];
         i++) {
        line_end &= !strchr(c->words[i], 'n');
        escapes |= strchr(c->words[i], 'e') != NULL;
    }
    for (uint32_t first = i; i < c->count; i++) {
        if (i > first)
            sc__putc(&b, ' ');
        if (escapes)
            put_escaped(&b, c->words[i]);
        else
            sc__puts(&b, c->words[i]);
    }
    SC__TRY(print_text(c, b.text ? b.text : "", line_end));
    shell_answer(c->sh, 0);
    return SC_OK;
}

/* One pass through the format; *at: the next argument. */
static sc_status
put_format(struct shell_call *c, const char *format, uint32_t *at, struct sc__buffer *b) {
    for (const char *p = format; *p; p++) {
        if (*p == '\\' && p[1]) {
            put_escaped(b, (char[]){p[0], p[1], 0});
            p++;
            continue;
        }
        if (*p != '%') {
            sc__putc(b, *p);
            continue;
        }
        size_t width = strspn(p + 1, "-+ 0123456789.");
        char kind = p[1 + width];
        const char *argument = kind != '%' && *at < c->count ? c->words[(*at)++] : "";
        if (kind == '%') {
            sc__putc(b, '%');
        } else if ((kind == 's' || kind == 'd' || kind == 'i') && !width) {
            sc__puts(b, *argument || kind == 's' ? argument : "0");
        } else if (kind == 'd' && !sc__shell_mark(argument) && width < 8) {
            int64_t value = 0;
            uint32_t columns = 0;
            const char *digits = p + 1 + strspn(p + 1, "-+ 0");
            sc__parse_i64(sc__str(argument), &value);
            sc__parse_u32((struct sc__str){digits, (size_t)(p + 1 + width - digits)},
                          &columns);
            sc__printf(b,
                       p[1] == '0'   ? "%0*lld"
                       : p[1] == '-' ? "%-*lld"
                                     : "%*lld",
                       (int)(columns < 100 ? columns : 100),
                       (long long)value);
        } else {
            sc__puts(b,
                     shell_unknown(c->sh, c->sh->line, "a format of printf with a width"));
        }
        p += 1 + width;
        if (!kind)
            return SC_OK;
    }
    return SC_OK;
}

static sc_status call_printf(struct shell_call *c) {
    struct sc__buffer b;
    uint32_t at = 1;
    const char *variable = NULL;
    sc__buffer_init(&b, &c->sh->ctx->arena);
    if (c->count > 3 && !strcmp(c->words[1], "-v")) {
        variable = c->words[2];
        at = 3;
    }
    if (at < c->count && !strcmp(c->words[at], "--"))
        at++;
    if (at < c->count) {
        const char *format = c->words[at++];
        uint32_t before;
        do {
            before = at;
            SC__TRY(put_format(c, format, &at, &b));
        } while (at < c->count && at > before && b.size < 1 << 20);
    }
    if (variable)
        shell_set(c->sh, sc__str(variable), b.text ? b.text : "");
    else
        SC__TRY(print_text(c, b.text ? b.text : "", false));
    shell_answer(c->sh, 0);
    return SC_OK;
}

static sc_status call_test(struct shell_call *c) {
    uint32_t count = c->count - 1;
    if (c->words[0][0] == '[') {
        if (!count || strcmp(c->words[count], "]"))
            return shell_fail(c->sh, c->node->line, NULL, "'[' without its ']'");
        count--;
    }
    return shell_test_words(c->sh, c->words + 1, count);
}

/* declare -a X, local X, export X: what they assign is assigned. */
static sc_status call_declare(struct shell_call *c) {
    bool keyed = false;
    for (uint32_t i = 1; i < c->count; i++) {
        const char *word = c->words[i];
        if (word[0] == '-') {
            keyed |= strchr(word, 'A') != NULL;
            continue;
        }
        if (shell_is_assignment(sc__str(word))) { /* export "$X=$Y" */
            bool was_one;
            SC__TRY(shell_assign(c->sh, sc__str(word), c->sh->line, &was_one));
            continue;
        }
        struct sc__str name = sc__str(word);
        bool here = shell_name_length(name) == name.n && c->words[0][0] != 'e' &&
                    !shell_is_pinned(c->sh, name);
        if (here && (keyed || !shell_find(c->sh, name))) {
            struct sc__shell_variable *v = shell_make(c->sh, name);
            v->array = keyed;
            v->count = 0;
            v->keys = keyed ? SC__NEW_ARRAY(&c->sh->ctx->arena, const char *, 1) : NULL;
        }
    }
    shell_answer(c->sh, 0);
    return SC_OK;
}

static sc_status call_unset(struct shell_call *c) {
    for (uint32_t i = 1; i < c->count; i++) {
        struct sc__shell_variable *v = shell_find(c->sh, sc__str(c->words[i]));
        if (v && !shell_is_pinned(c->sh, sc__str(c->words[i]))) {
            v->set = false;
            v->count = 0;
            v->array = false;
            v->keys = NULL;
        }
    }
    shell_answer(c->sh, 0);
    return SC_OK;
}

static sc_status call_set(struct shell_call *c) {
    for (uint32_t i = 1; i < c->count; i++)
        if (!strcmp(c->words[i], "--")) {
            c->sh->arguments = c->words + i + 1;
            c->sh->argument_count = c->count - i - 1;
            break;
        }
    shell_answer(c->sh, 0);
    return SC_OK;
}

static sc_status call_shift(struct shell_call *c) {
    uint32_t by = 1;
    if (c->count > 1 && !sc__parse_u32(sc__str(c->words[1]), &by))
        return shell_fail(c->sh, c->node->line, NULL, "'shift' takes a number");
    bool can = by <= c->sh->argument_count;
    if (can) {
        c->sh->arguments += by;
        c->sh->argument_count -= by;
    }
    shell_answer(c->sh, can ? 0 : 1);
    return SC_OK;
}

static void take_status(struct shell_call *c) {
    uint32_t status;
    if (c->count > 1 && sc__parse_u32(sc__str(c->words[1]), &status))
        shell_answer(c->sh, (int)(status & 255));
}

static sc_status call_exit(struct shell_call *c) {
    take_status(c);
    c->sh->flow = SHELL_EXIT;
    c->sh->exit_line = c->node->line;
    return SC_OK;
}

static sc_status call_return(struct shell_call *c) {
    take_status(c);
    c->sh->flow = SHELL_RETURN;
    return SC_OK;
}

static sc_status call_break(struct shell_call *c) {
    uint32_t levels = 1;
    if (c->count > 1)
        sc__parse_u32(sc__str(c->words[1]), &levels);
    c->sh->flow = c->words[0][0] == 'b' ? SHELL_BREAK : SHELL_CONTINUE;
    c->sh->flow_levels = levels ? levels : 1;
    shell_answer(c->sh, 0);
    return SC_OK;
}

static const char *join_words(struct shell_call *c, uint32_t from) {
    struct sc__buffer b;
    sc__buffer_init(&b, &c->sh->ctx->arena);
    for (uint32_t i = from; i < c->count; i++)
        sc__printf(&b, "%s%s", i > from ? " " : "", c->words[i]);
    return b.text ? b.text : "";
}

static sc_status call_eval(struct shell_call *c) {
    shell_answer(c->sh, 0);
    return shell_run_text(c->sh, sc__str(join_words(c, 1)), c->node->line);
}

/* A file it takes in is not read: what it may set is named where it is missed. */
static sc_status call_source(struct shell_call *c) {
    struct sc__shell_result *r = c->sh->result;
    const char *file = c->count > 1 ? c->words[1] : "";
    *SC__PUSH(&c->sh->ctx->arena, r->sourced, r->sourced_count, r->sourced_capacity) =
        (struct sc__shell_unset){file, c->node->line};
    shell_answer(c->sh, 0);
    return SC_OK;
}

static sc_status call_let(struct shell_call *c) {
    int64_t value = 0;
    uint32_t unknown = 0;
    for (uint32_t i = 1; i < c->count && !unknown; i++)
        SC__TRY(
            shell_arithmetic(c->sh, sc__str(c->words[i]), c->node->line, &value, &unknown));
    if (unknown)
        shell_answer_unknown(c->sh, unknown);
    else
        shell_answer(c->sh, value ? 0 : 1);
    return SC_OK;
}

/* ---- read ---- */

/* The text that a here-document or here-string gives it. */
static sc_status input_text(struct shell_call *c, const char **out) {
    const struct shell_node *n = c->node;
    *out = NULL;
    if (!n->has_input)
        return SC_OK;
    if (n->here_string)
        return shell_expand_text(c->sh, n->input, n->line, out);
    if (n->input_literal) {
        *out = sc__strndup(&c->sh->ctx->arena, n->input.p, n->input.n);
        return SC_OK;
    }
    return shell_expand_quoted(c->sh, n->input, n->line, out);
}

static void split_fields(struct shell_call *c, const char *line, struct shell_fields *out) {
    struct shell_expansion x = {.sh = c->sh, .mode = SHELL_SPLIT, .fields = out};
    sc__buffer_init(&x.current, &c->sh->ctx->arena);
    shell_put_value(&x, line, false);
    if (x.open)
        *SC__PUSH(&c->sh->ctx->arena, out->items, out->count, out->capacity) =
            x.current.text ? x.current.text : "";
}

/* One field for each name, and the rest of the line for the last. */
static void read_names(struct shell_call *c, uint32_t from, const char *text) {
    const char *given = shell_get(c->sh, SC__STR("IFS"));
    const char *separators = given ? given : " \t\n";
    for (uint32_t i = from; i < c->count; i++) {
        while (*text && strchr(" \t\n", *text) && strchr(separators, *text))
            text++;
        size_t n = i + 1 < c->count ? strcspn(text, separators) : strlen(text);
        shell_set(c->sh, sc__str(c->words[i]), sc__strndup(&c->sh->ctx->arena, text, n));
        text += n;
        text += *text != 0;
    }
}

static sc_status call_read(struct shell_call *c) {
    struct shell_fields fields = {0};
    const char *text;
    bool array = false;
    uint32_t i = 1;
    for (; i < c->count && c->words[i][0] == '-'; i++) {
        array |= strchr(c->words[i], 'a') != NULL;
        if (strpbrk(c->words[i], "dnptu") && !strchr(c->words[i], 'a'))
            i++;
    }
    SC__TRY(input_text(c, &text));
    if (!text) {
        const char *mark = shell_unknown(c->sh, c->node->line, "what 'read' is given");
        for (; i < c->count; i++)
            shell_set(c->sh, sc__str(c->words[i]), mark);
        shell_answer_unknown(c->sh, sc__shell_mark(mark));
        return SC_OK;
    }
    const char *end = strchr(text, '\n');
    if (end)
        text = sc__strndup(&c->sh->ctx->arena, text, (size_t)(end - text));
    shell_answer(c->sh, 0);
    if (!array) {
        read_names(c, i, text);
        return SC_OK;
    }
    split_fields(c, text, &fields);
    if (i < c->count && !shell_is_pinned(c->sh, sc__str(c->words[i]))) {
        struct sc__shell_variable *v = shell_make(c->sh, sc__str(c->words[i]));
        v->items = fields.items;
        v->count = fields.count;
        v->array = true;
        v->keys = NULL;
    }
    return SC_OK;
}

static sc_status call_mapfile(struct shell_call *c) {
    const char *mark = shell_unknown(c->sh, c->node->line, "what 'mapfile' is given");
    shell_set(c->sh, sc__str(c->words[c->count - 1]), mark);
    shell_answer(c->sh, 0);
    return SC_OK;
}

/* ---- programs whose answer is known ---- */

static sc_status call_cat(struct shell_call *c) {
    const char *text;
    SC__TRY(input_text(c, &text));
    if (c->count == 2 && c->words[1][0] != '-')
        text = sc__shell_written(c->sh->files, c->words[1]);
    else if (c->count > 1)
        text = NULL;
    else if (!text)
        text = c->sh->piped;
    if (text)
        SC__TRY(print_text(c, text, false));
    else
        SC__TRY(print_text(c,
                           shell_unknown(c->sh, c->node->line, "a file of the machine"),
                           true));
    shell_answer(c->sh, 0);
    return SC_OK;
}

static sc_status call_tee(struct shell_call *c) {
    const char *text;
    bool appends = false;
    SC__TRY(input_text(c, &text));
    if (!text)
        text = c->sh->piped;
    if (!text)
        text = shell_unknown(c->sh, c->node->line, "what 'tee' is given");
    for (uint32_t i = 1; i < c->count; i++) {
        appends |= !strcmp(c->words[i], "-a");
        if (c->words[i][0] != '-')
            shell_write(c->sh, c->words[i], text, appends);
    }
    shell_answer(c->sh, 0);
    return SC_OK;
}

static sc_status call_pwd(struct shell_call *c) {
    const char *given = shell_get(c->sh, SC__STR("PWD"));
    SC__TRY(print_text(c,
                       given ? given
                             : shell_unknown(c->sh, c->node->line, "the folder it runs in"),
                       true));
    shell_answer(c->sh, 0);
    return SC_OK;
}

/* dirname and basename */
static sc_status call_path_part(struct shell_call *c) {
    uint32_t i = c->count > 1 && !strcmp(c->words[1], "--") ? 2 : 1;
    const char *path = i < c->count ? c->words[i] : "";
    bool folder = c->words[0][0] == 'd';
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t slash = n;
    while (slash && path[slash - 1] != '/')
        slash--;
    const char *part = sc__strndup(&c->sh->ctx->arena, path + slash, n - slash);
    if (folder) {
        while (slash > 1 && path[slash - 1] == '/')
            slash--;
        part = slash ? sc__strndup(&c->sh->ctx->arena, path, slash) : ".";
    } else if (i + 1 < c->count) {
        struct sc__str whole = sc__str(part);
        const char *suffix = c->words[i + 1];
        if (sc__str_ends(whole, suffix) && whole.n > strlen(suffix))
            part = sc__strndup(&c->sh->ctx->arena, part, whole.n - strlen(suffix));
    }
    SC__TRY(print_text(c, part, true));
    shell_answer(c->sh, 0);
    return SC_OK;
}

static sc_status call_seq(struct shell_call *c) {
    int64_t numbers[3] = {1, 1, 0}; /* first, step, last */
    static const unsigned where[3][3] = {{2}, {0, 2}, {0, 1, 2}};
    struct sc__buffer b;
    sc__buffer_init(&b, &c->sh->ctx->arena);
    bool known = c->count >= 2 && c->count <= 4;
    for (uint32_t i = 1; known && i < c->count; i++)
        known = sc__parse_i64(sc__str(c->words[i]), &numbers[where[c->count - 2][i - 1]]);
    if (!known || !numbers[1]) {
        sc__puts(&b, shell_unknown(c->sh, c->node->line, "the output of 'seq'"));
    } else {
        int64_t n = 0;
        for (int64_t i = numbers[0]; numbers[1] > 0 ? i <= numbers[2] : i >= numbers[2];
             i += numbers[1]) {
            if (++n > 100000)
                return shell_fail(c->sh, c->node->line, NULL, "'seq' has no end");
            sc__printf(&b, "%s%lld", b.size ? "\n" : "", (long long)i);
        }
    }
    SC__TRY(print_text(c, b.text ? b.text : "", true));
    shell_answer(c->sh, 0);
    return SC_OK;
}

/* expr 2 \* 3: the arithmetic that the shell has. */
static sc_status call_expr(struct shell_call *c) {
    int64_t value;
    uint32_t unknown;
    SC__TRY(shell_arithmetic(c->sh,
                             sc__str(join_words(c, 1)),
                             c->node->line,
                             &value,
                             &unknown));
    SC__TRY(print_text(c,
                       unknown ? shell_mark_text(c->sh, unknown)
                               : sc__format(&c->sh->ctx->arena, "%lld", (long long)value),
                       true));
    shell_answer(c->sh, 0);
    return SC_OK;
}

/* ---- a shell in the shell ---- */

static const char *program_name(const char *word) {
    const char *slash = strrchr(word, '/');
    return slash ? slash + 1 : word;
}

static bool is_shell(const char *word) {
    const char *name = program_name(word);
    return !strcmp(name, "bash") || !strcmp(name, "sh");
}

/* Where the text of a -c stands behind a shell's name; 0: nowhere. */
static uint32_t find_script(const char **words, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!is_shell(words[i]))
            continue;
        for (uint32_t k = i + 1; k + 1 < count && words[k][0] == '-'; k++)
            if (words[k][1] != '-' && strchr(words[k], 'c'))
                return k + 1;
    }
    return 0;
}

/* What another shell is given runs like the rest, in a state of its own; what it
 * cannot be read as (another language, another machine's) is left alone. */
static sc_status run_inner(struct shell_call *c, const char *text) {
    const char *inner = sc__format(&c->sh->ctx->arena, "(%s\n)", text);
    struct shell_node *node;
    if (shell_parse(c->sh->ctx, c->sh->file, sc__str(inner), c->node->line, &node) !=
        SC_OK) {
        sc__clear_error(c->sh->ctx);
        return SC_OK;
    }
    return shell_run(c->sh, node);
}

sc_status shell_run_script(struct shell *sh,
                           const struct shell_node *node,
                           const char **words,
                           uint32_t count) {
    struct shell_call c = {.sh = sh, .node = node, .words = words, .count = count};
    const char *text;
    uint32_t script = find_script(words, count);
    if (script)
        return run_inner(&c, words[script]);
    bool takes_script =
        is_shell(words[count - 1]) || !strcmp(program_name(words[0]), "sbatch");
    if (!takes_script || !node->has_input)
        return SC_OK;
    SC__TRY(input_text(&c, &text));
    return run_inner(&c, text);
}

static const struct {
    const char *name;
    sc_status (*call)(struct shell_call *c);
} shell_builtins[] = {
    {":", call_nothing},
    {"true", call_nothing},
    {"cd", call_nothing},
    {"pushd", call_nothing},
    {"popd", call_nothing},
    {"mkdir", call_nothing},
    {"rm", call_change_files},
    {"touch", call_nothing},
    {"cp", call_change_files},
    {"mv", call_change_files},
    {"ln", call_nothing},
    {"chmod", call_nothing},
    {"sleep", call_nothing},
    {"wait", call_nothing},
    {"trap", call_nothing},
    {"ulimit", call_nothing},
    {"umask", call_nothing},
    {"module", call_nothing},
    {"conda", call_nothing},
    {"shopt", call_nothing},
    {"alias", call_nothing},
    {"clear", call_nothing},
    {"hash", call_nothing},
    {"tee", call_tee},
    {"false", call_false},
    {"echo", call_echo},
    {"printf", call_printf},
    {"[", call_test},
    {"test", call_test},
    {"export", call_declare},
    {"declare", call_declare},
    {"local", call_declare},
    {"readonly", call_declare},
    {"typeset", call_declare},
    {"unset", call_unset},
    {"set", call_set},
    {"shift", call_shift},
    {"exit", call_exit},
    {"return", call_return},
    {"break", call_break},
    {"continue", call_break},
    {"eval", call_eval},
    {"source", call_source},
    {".", call_source},
    {"let", call_let},
    {"read", call_read},
    {"mapfile", call_mapfile},
    {"readarray", call_mapfile},
    {"getopts", call_false},
    {"cat", call_cat},
    {"pwd", call_pwd},
    {"dirname", call_path_part},
    {"basename", call_path_part},
    {"seq", call_seq},
    {"expr", call_expr},
};

sc_status shell_builtin(struct shell *sh,
                        const struct shell_node *node,
                        const char **words,
                        uint32_t count,
                        bool *done) {
    struct shell_call c = {.sh = sh, .node = node, .words = words, .count = count};
    *done = true;
    for (size_t i = 0; i < sizeof shell_builtins / sizeof *shell_builtins; i++)
        if (!strcmp(words[0], shell_builtins[i].name))
            return shell_builtins[i].call(&c);
    if (count > 1 && (!strcmp(words[0], "exec") || !strcmp(words[0], "builtin")))
        return shell_builtin(sh, node, words + 1, count - 1, done);
    *done = false;
    return SC_OK;
}
