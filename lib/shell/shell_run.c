/* shell_run: the tree, command by command. A condition without a known answer has
 * both its ways run, each from the same state, and their ends joined. */
#include "shell/shell_parts.h"

#include <string.h>

#define SHELL_STEPS 1000000 /* commands; a loop that never ends is refused */
#define SHELL_RESTARTS 100
#define SHELL_WAITS 10000
#define SHELL_CALLS 100
#define SHELL_MEMORY ((size_t)256 << 20)

sc_status
shell_fail(struct shell *sh, uint32_t line, const char *hint, const char *fmt, ...) {
    struct sc__place at = {.file = sh->file, .line = line};
    va_list ap;
    va_start(ap, fmt);
    sc_status status = sc__vfail(sh->ctx, SC_INPUT, &at, hint, fmt, ap);
    va_end(ap);
    return status;
}

/* ---- answers ---- */

void shell_answer(struct shell *sh, int status) {
    sh->status = status;
    sh->status_unknown = 0;
}

void shell_answer_unknown(struct shell *sh, uint32_t unknown) {
    sh->status = 0;
    sh->status_unknown = unknown;
}

/* ---- two ways ---- */

/* Commands of one of two ways run if the condition says so. */
static void mark_commands(struct shell *sh, uint32_t from, uint32_t condition) {
    for (uint32_t i = from; i < sh->result->command_count; i++)
        sh->result->commands[i].undecided = condition;
}

/* A way that left the function early, to be joined at its end. */
struct shell_returned {
    struct shell_state state;
    uint32_t condition;
    struct shell_returned *older;
};

static void
add_returned(struct shell *sh, const struct shell_state *state, uint32_t condition) {
    struct shell_returned *r = SC__NEW(&sh->ctx->arena, struct shell_returned);
    r->state = *state;
    r->condition = condition;
    r->older = sh->returned;
    sh->returned = r;
}

static size_t printed_so_far(const struct shell *sh) {
    return sh->captured ? sh->captured->size : 0;
}

/* What $(…) or a file has got since then, which is taken from it again. */
static const char *take_printed(struct shell *sh, size_t since) {
    struct sc__buffer *b = sh->captured;
    if (!b || b->size <= since)
        return "";
    const char *text = sc__strndup(&sh->ctx->arena, b->text + since, b->size - since);
    b->text[since] = 0;
    b->size = since;
    return text;
}

/* Two ways printed this and that: a mark stands for it where they differ. */
static void
print_either(struct shell *sh, const char *one, const char *other, uint32_t condition) {
    if (sh->captured)
        sc__puts(sh->captured, strcmp(one, other) ? shell_mark_text(sh, condition) : one);
}

/* Runs either way (NULL: nothing) from here, and joins them. */
static sc_status run_both(struct shell *sh,
                          const struct shell_node *first,
                          const struct shell_node *second,
                          uint32_t condition) {
    struct shell_state before = shell_save_state(sh);
    uint32_t commands = sh->result->command_count;
    size_t printed = printed_so_far(sh);
    shell_answer(sh, 0);
    if (first)
        SC__TRY(shell_run(sh, first));
    const char *first_printed = take_printed(sh, printed);
    struct shell_state after_first = shell_save_state(sh);
    uint32_t first_end = sh->result->command_count;
    shell_restore_state(sh, &before);
    shell_answer(sh, 0);
    if (second)
        SC__TRY(shell_run(sh, second));
    bool first_exits = after_first.flow == SHELL_EXIT;
    bool second_exits = sh->flow == SHELL_EXIT;
    if (first_exits && !second_exits) {
        /* the way that goes on is the one meant; what the other ran does not count */
        uint32_t kept = sh->result->command_count - first_end;
        if (kept)
            memmove(sh->result->commands + commands,
                    sh->result->commands + first_end,
                    kept * sizeof *sh->result->commands);
        sh->result->command_count = commands + kept;
        return SC_OK;
    }
    if (second_exits && !first_exits) {
        sh->result->command_count = first_end;
        shell_restore_state(sh, &after_first);
        take_printed(sh, printed);
        print_either(sh, first_printed, first_printed, condition);
        return SC_OK;
    }
    print_either(sh, first_printed, take_printed(sh, printed), condition);
    bool first_returns = after_first.flow == SHELL_RETURN && sh->in_function;
    bool second_returns = sh->flow == SHELL_RETURN && sh->in_function;
    if (first_returns != second_returns) {
        /* the other way comes in again where the function ends */
        mark_commands(sh, commands, condition);
        struct shell_state returned = first_returns ? after_first : shell_save_state(sh);
        if (second_returns)
            shell_restore_state(sh, &after_first);
        add_returned(sh, &returned, condition);
        return SC_OK;
    }
    mark_commands(sh, commands, condition);
    shell_join_states(sh, &after_first, condition);
    if (sh->flow != after_first.flow)
        sh->flow = SHELL_GO_ON;
    shell_answer_unknown(sh, condition);
    return SC_OK;
}

/* ---- nodes ---- */

static sc_status run_if(struct shell *sh, const struct shell_node *n, uint32_t from) {
    if (from >= n->child_count) {
        shell_answer(sh, 0);
        return SC_OK;
    }
    if (from + 1 == n->child_count)
        return shell_run(sh, n->children[from]);
    SC__TRY(shell_run(sh, n->children[from]));
    if (sh->flow)
        return SC_OK;
    if (sh->status_unknown) {
        struct shell_node rest = *n;
        rest.children = n->children + from + 2;
        rest.child_count = n->child_count - from - 2;
        return run_both(sh,
                        n->children[from + 1],
                        rest.child_count ? &rest : NULL,
                        sh->status_unknown);
    }
    return sh->status ? run_if(sh, n, from + 2) : shell_run(sh, n->children[from + 1]);
}

static sc_status clause_matches(struct shell *sh,
                                const struct shell_node *clause,
                                const char *subject,
                                bool *out) {
    *out = false;
    for (uint32_t i = 0; i < clause->word_count && !*out; i++) {
        const char *pattern;
        SC__TRY(shell_expand_pattern(sh,
                                     clause->words[i].raw,
                                     clause->words[i].line,
                                     &pattern));
        *out = shell_matches(pattern, subject);
    }
    return SC_OK;
}

/* A subject that is not known: one clause after the other may be meant. */
static sc_status run_case_unknown(struct shell *sh,
                                  const struct shell_node *n,
                                  uint32_t from,
                                  uint32_t condition) {
    if (from >= n->child_count)
        return SC_OK;
    const struct shell_node *clause = n->children[from];
    if (clause->word_count == 1 && sc__str_is(clause->words[0].raw, "*"))
        return shell_run(sh, clause->children[0]);
    struct shell_node rest = *n;
    rest.children = n->children + from + 1;
    rest.child_count = n->child_count - from - 1;
    return run_both(sh, clause->children[0], rest.child_count ? &rest : NULL, condition);
}

static sc_status run_case(struct shell *sh, const struct shell_node *n) {
    const char *subject;
    bool through = false;
    SC__TRY(shell_expand_text(sh, n->words[0].raw, n->words[0].line, &subject));
    if (sc__shell_mark(subject))
        return run_case_unknown(sh, n, 0, sc__shell_mark(subject));
    shell_answer(sh, 0);
    for (uint32_t i = 0; i < n->child_count && !sh->flow; i++) {
        const struct shell_node *clause = n->children[i];
        bool matches = through;
        if (!matches)
            SC__TRY(clause_matches(sh, clause, subject, &matches));
        if (!matches)
            continue;
        SC__TRY(shell_run(sh, clause->children[0]));
        if (!clause->all_words)
            return SC_OK;
        through = true;
    }
    return SC_OK;
}

/* Whether the loop goes on after its body; break and continue end here. */
static bool loop_goes_on(struct shell *sh) {
    if (sh->flow != SHELL_BREAK && sh->flow != SHELL_CONTINUE)
        return sh->flow == SHELL_GO_ON;
    bool again = sh->flow == SHELL_CONTINUE && sh->flow_levels <= 1;
    if (sh->flow_levels > 1)
        sh->flow_levels--;
    else
        sh->flow = SHELL_GO_ON;
    return again;
}

static sc_status run_for(struct shell *sh, const struct shell_node *n) {
    struct shell_fields fields = {0};
    for (uint32_t i = 0; i < n->word_count; i++)
        SC__TRY(shell_expand_word(sh, &n->words[i], &fields));
    if (n->all_words) {
        fields.items = sh->arguments;
        fields.count = sh->argument_count;
    }
    shell_answer(sh, 0);
    for (uint32_t i = 0; i < fields.count; i++) {
        uint32_t mark = sc__shell_mark(fields.items[i]);
        shell_set(sh, n->text, fields.items[i]);
        if (mark) /* how many words it stands for is not known either */
            SC__TRY(run_both(sh, n->children[0], NULL, mark));
        else
            SC__TRY(shell_run(sh, n->children[0]));
        if (!loop_goes_on(sh))
            break;
    }
    return SC_OK;
}

static sc_status run_for_arithmetic(struct shell *sh, const struct shell_node *n) {
    int64_t value;
    uint32_t unknown;
    SC__TRY(shell_arithmetic(sh, n->words[0].raw, n->line, &value, &unknown));
    for (;;) {
        if (sc__trim(n->words[1].raw).n) {
            SC__TRY(shell_arithmetic(sh, n->words[1].raw, n->line, &value, &unknown));
            if (unknown)
                return run_both(sh, n->children[0], NULL, unknown);
            if (!value)
                break;
        }
        SC__TRY(shell_run(sh, n->children[0]));
        if (!loop_goes_on(sh))
            break;
        SC__TRY(shell_arithmetic(sh, n->words[2].raw, n->line, &value, &unknown));
    }
    return SC_OK;
}

/* `while true` around a command starts it again whenever it ends, behind one it keeps a
 * container alive: it is left after many rounds. Where nothing was started before, it is
 * refused (SHELL_STEPS). */
static bool restarts(const struct shell *sh,
                     const struct shell_node *n,
                     uint32_t round,
                     uint32_t commands_before) {
    const struct shell_node *condition = n->children[0];
    uint32_t commands = sh->result->command_count;
    while (condition->kind == SHELL_LIST && condition->child_count == 1)
        condition = condition->children[0];
    return commands &&
           round >= (commands > commands_before ? SHELL_RESTARTS : SHELL_WAITS) &&
           condition->kind == SHELL_SIMPLE && condition->word_count == 1 &&
           (sc__str_is(condition->words[0].raw, "true") ||
            sc__str_is(condition->words[0].raw, ":"));
}

static sc_status run_while(struct shell *sh, const struct shell_node *n) {
    uint32_t commands = sh->result->command_count;
    for (uint32_t round = 0; !restarts(sh, n, round, commands); round++) {
        SC__TRY(shell_run(sh, n->children[0]));
        if (sh->flow)
            return SC_OK;
        if (sh->status_unknown)
            return run_both(sh, n->children[1], NULL, sh->status_unknown);
        if ((sh->status == 0) != (n->kind == SHELL_WHILE))
            break;
        SC__TRY(shell_run(sh, n->children[1]));
        if (!loop_goes_on(sh))
            break;
    }
    shell_answer(sh, 0);
    return SC_OK;
}

static sc_status run_and_or(struct shell *sh, const struct shell_node *n) {
    SC__TRY(shell_run(sh, n->children[0]));
    if (sh->flow)
        return SC_OK;
    bool is_and = n->kind == SHELL_AND;
    if (sh->status_unknown)
        return run_both(sh,
                        is_and ? n->children[1] : NULL,
                        is_and ? NULL : n->children[1],
                        sh->status_unknown);
    return (sh->status == 0) == is_and ? shell_run(sh, n->children[1]) : SC_OK;
}

/* Behind ( … ), a part of a pipe and $(…): what they set is lost, what they wrote stays. */
static void leave_subshell(struct shell *sh, const struct shell_state *before) {
    int status = sh->status;
    uint32_t unknown = sh->status_unknown;
    const struct sc__shell_file *files = sh->files;
    shell_restore_state(sh, before);
    sh->status = status;
    sh->status_unknown = unknown;
    sh->files = files;
}

static sc_status run_subshell(struct shell *sh, const struct shell_node *n) {
    struct shell_state before = shell_save_state(sh);
    SC__TRY(shell_run(sh, n));
    leave_subshell(sh, &before);
    return SC_OK;
}

/* a | b | c. What b reads counts where b writes it down: else the output is that of
 * the last one, which is a program's, or what it would have printed anyway. */
static sc_status run_pipe(struct shell *sh, const struct shell_node *n) {
    struct sc__buffer *captured = sh->captured;
    const char *outer = sh->piped;
    struct sc__buffer printed;
    for (uint32_t i = 0; i < n->child_count; i++) {
        bool last = i + 1 == n->child_count;
        sc__buffer_init(&printed, &sh->ctx->arena);
        sh->captured = last ? captured : &printed;
        SC__TRY(run_subshell(sh, n->children[i]));
        sh->piped = printed.text;
    }
    sh->captured = captured;
    sh->piped = outer;
    return SC_OK;
}

static const struct shell_node *find_function(const struct shell *sh, const char *name) {
    for (uint32_t i = sh->function_count; i-- > 0;)
        if (!strcmp(sh->functions[i].name, name))
            return sh->functions[i].body;
    return NULL;
}

/* A function's own variable begins; what it hides comes back at its end. */
static void save_local(struct shell *sh, struct sc__str name) {
    struct sc__shell_variable *v = shell_find(sh, name);
    struct shell_saved *s =
        SC__PUSH(&sh->ctx->arena, sh->saved, sh->saved_count, sh->saved_capacity);
    s->name = sc__strndup(&sh->ctx->arena, name.p, name.n);
    s->was = v ? *v : (struct sc__shell_variable){0};
}

static void restore_local(struct shell *sh) {
    const struct shell_saved *s = &sh->saved[--sh->saved_count];
    struct sc__shell_variable *v = shell_find(sh, sc__str(s->name));
    const char *name = v ? v->name : NULL;
    if (!v)
        return;
    *v = s->was;
    v->name = name;
}

static sc_status call_function(struct shell *sh,
                               const struct shell_node *body,
                               const char **words,
                               uint32_t count) {
    const char **arguments = sh->arguments;
    uint32_t argument_count = sh->argument_count;
    bool inside = sh->in_function;
    if (++sh->depth > SHELL_CALLS)
        return shell_fail(sh, sh->line, NULL, "functions call each other without end");
    uint32_t saved = sh->saved_count;
    struct shell_returned *outer = sh->returned;
    sh->arguments = words + 1;
    sh->argument_count = count - 1;
    sh->in_function = true;
    sh->returned = NULL;
    SC__TRY(shell_run(sh, body));
    for (; sh->returned; sh->returned = sh->returned->older) {
        shell_join_states(sh, &sh->returned->state, sh->returned->condition);
        shell_answer_unknown(sh, sh->returned->condition);
    }
    sh->returned = outer;
    while (sh->saved_count > saved)
        restore_local(sh);
    if (sh->flow == SHELL_RETURN)
        sh->flow = SHELL_GO_ON;
    sh->arguments = arguments;
    sh->argument_count = argument_count;
    sh->in_function = inside;
    sh->depth--;
    return SC_OK;
}

static const char *const watched_names[SC__SHELL_WATCHED] = {
    [SC__SHELL_NPROC_PER_NODE] = "NPROC_PER_NODE",
    [SC__SHELL_NNODES] = "NNODES",
    [SC__SHELL_CUDA_VISIBLE_DEVICES] = "CUDA_VISIBLE_DEVICES",
    [SC__SHELL_NGPU] = "NGPU",
    [SC__SHELL_CONFIG_FILE] = "CONFIG_FILE",
    [SC__SHELL_CONFIG] = "CONFIG"};

static sc_status
record_command(struct shell *sh, const struct shell_node *n, const struct shell_fields *f) {
    struct sc__shell_result *r = sh->result;
    const char *what = sc__format(&sh->ctx->arena, "what '%s' answers", f->items[0]);
    struct sc__shell_command *c =
        SC__PUSH(&sh->ctx->arena, r->commands, r->command_count, r->command_capacity);
    *c = (struct sc__shell_command){.words = f->items,
                                    .count = f->count,
                                    .line = n->line,
                                    .files = sh->files};
    for (unsigned i = 0; i < SC__SHELL_WATCHED; i++)
        c->watched[i] = shell_get(sh, sc__str(watched_names[i]));
    const char *mark = shell_unknown(sh, n->line, what);
    shell_answer_unknown(sh, sc__shell_mark(mark));
    shell_change_files(sh, f->items, f->count);
    if (!sh->captured && !n->to_file)
        return SC_OK;
    sh->result->unknowns[sh->result->unknown_count - 1].what =
        sc__format(&sh->ctx->arena, "the output of '%s'", f->items[0]);
    if (n->to_file)
        return shell_write_output(sh, n, mark);
    sc__puts(sh->captured, mark);
    return SC_OK;
}

static sc_status
run_words(struct shell *sh, const struct shell_node *n, const struct shell_fields *f) {
    const struct shell_node *body = find_function(sh, f->items[0]);
    bool done;
    if (body)
        return call_function(sh, body, f->items, f->count);
    SC__TRY(shell_builtin(sh, n, f->items, f->count, &done));
    if (done)
        return SC_OK;
    SC__TRY(record_command(sh, n, f));
    return shell_run_script(sh, n, f->items, f->count);
}

static bool declares_variables(struct sc__str command) {
    static const char *const names[] =
        {"declare", "export", "local", "readonly", "typeset", NULL};
    for (const char *const *n = names; *n; n++)
        if (sc__str_is(command, *n))
            return true;
    return false;
}

/* The words of a command; what declare and its kin assign is assigned. */
static sc_status expand_words(struct shell *sh,
                              const struct shell_node *n,
                              uint32_t first,
                              struct shell_fields *out) {
    struct sc__str command = n->words[first].raw;
    bool declares = declares_variables(command);
    bool local = sh->in_function && declares && !sc__str_is(command, "export") &&
                 !sc__str_is(command, "readonly");
    for (uint32_t i = first; i < n->word_count; i++) {
        size_t name = shell_name_length(n->words[i].raw);
        bool was_one = false;
        if (local && name && i > first)
            save_local(sh, (struct sc__str){n->words[i].raw.p, name});
        if (declares)
            SC__TRY(shell_assign(sh, n->words[i].raw, n->words[i].line, &was_one));
        if (!was_one)
            SC__TRY(shell_expand_word(sh, &n->words[i], out));
    }
    return SC_OK;
}

static sc_status
assign_words(struct shell *sh, const struct shell_node *n, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        bool was_one;
        SC__TRY(shell_assign(sh, n->words[i].raw, n->words[i].line, &was_one));
    }
    return SC_OK;
}

static sc_status run_simple(struct shell *sh, const struct shell_node *n) {
    struct shell_fields fields = {0};
    uint32_t first = 0;
    while (first < n->word_count && shell_is_assignment(n->words[first].raw))
        first++;
    if (first == n->word_count) {
        shell_answer(sh, 0);
        return assign_words(sh, n, first);
    }
    SC__TRY(expand_words(sh, n, first, &fields));
    if (!first)
        return fields.count ? run_words(sh, n, &fields) : SC_OK;
    /* X=1 command: for the command alone, but what `read` reads stays */
    const char *ifs = shell_get(sh, SC__STR("IFS"));
    bool reads = fields.count && !strcmp(fields.items[0], "read");
    struct shell_state before = shell_save_state(sh);
    SC__TRY(assign_words(sh, n, first));
    if (fields.count)
        SC__TRY(run_words(sh, n, &fields));
    if (reads) {
        shell_set(sh, SC__STR("IFS"), ifs ? ifs : " \t\n");
        return SC_OK;
    }
    shell_restore_state(sh,
                        &(struct shell_state){.variables = before.variables,
                                              .variable_count = before.variable_count,
                                              .files = sh->files,
                                              .arguments = before.arguments,
                                              .argument_count = before.argument_count,
                                              .function_count = before.function_count,
                                              .flow = sh->flow,
                                              .flow_levels = sh->flow_levels,
                                              .status = sh->status,
                                              .status_unknown = sh->status_unknown});
    return SC_OK;
}

static sc_status run_list(struct shell *sh, const struct shell_node *n) {
    for (uint32_t i = 0; i < n->child_count && !sh->flow; i++)
        SC__TRY(shell_run(sh, n->children[i]));
    return SC_OK;
}

static sc_status define_function(struct shell *sh, const struct shell_node *n) {
    *SC__PUSH(&sh->ctx->arena, sh->functions, sh->function_count, sh->function_capacity) =
        (struct shell_function){sc__strndup(&sh->ctx->arena, n->text.p, n->text.n),
                                n->children[0]};
    shell_answer(sh, 0);
    return SC_OK;
}

static sc_status run_arithmetic(struct shell *sh, const struct shell_node *n) {
    int64_t value;
    uint32_t unknown;
    SC__TRY(shell_arithmetic(sh, n->text, n->line, &value, &unknown));
    if (unknown)
        shell_answer_unknown(sh, unknown);
    else
        shell_answer(sh, value ? 0 : 1);
    return SC_OK;
}

static sc_status run_node(struct shell *sh, const struct shell_node *n) {
    switch (n->kind) {
    case SHELL_SIMPLE:
        return run_simple(sh, n);
    case SHELL_LIST:
        return run_list(sh, n);
    case SHELL_AND:
    case SHELL_OR:
        return run_and_or(sh, n);
    case SHELL_NOT:
        SC__TRY(shell_run(sh, n->children[0]));
        sh->status = !sh->status;
        return SC_OK;
    case SHELL_PIPE:
        return run_pipe(sh, n);
    case SHELL_IF:
        return run_if(sh, n, 0);
    case SHELL_CASE:
        return run_case(sh, n);
    case SHELL_FOR:
        return run_for(sh, n);
    case SHELL_FOR_ARITHMETIC:
        return run_for_arithmetic(sh, n);
    case SHELL_WHILE:
    case SHELL_UNTIL:
        return run_while(sh, n);
    case SHELL_SUBSHELL:
        return run_subshell(sh, n->children[0]);
    case SHELL_FUNCTION:
        return define_function(sh, n);
    case SHELL_TEST:
        return shell_test_expression(sh, n->text, n->line);
    case SHELL_ARITHMETIC:
        return run_arithmetic(sh, n);
    default:
        return shell_run(sh, n->children[0]);
    }
}

/* { …; } > file, and loops and conditions: what all in it prints. A command does so itself,
 * and that of a function is not asked for where it is made. */
static sc_status run_into_file(struct shell *sh, const struct shell_node *n) {
    struct sc__buffer *outer = sh->captured;
    struct sc__buffer printed;
    sc__buffer_init(&printed, &sh->ctx->arena);
    sh->captured = &printed;
    SC__TRY(run_node(sh, n));
    sh->captured = outer;
    return shell_write_output(sh, n, printed.text ? printed.text : "");
}

sc_status shell_run(struct shell *sh, const struct shell_node *n) {
    bool prints_inside = n->kind != SHELL_SIMPLE && n->kind != SHELL_FUNCTION;
    if (++sh->steps > SHELL_STEPS || sh->ctx->arena.total > SHELL_MEMORY)
        return shell_fail(sh,
                          n->line,
                          "is there a loop that waits for something?",
                          "the script does not come to an end");
    if (++sh->depth > 1000)
        return shell_fail(sh, n->line, NULL, "commands are nested too deep");
    sh->line = n->line;
    if (prints_inside && n->target.raw.n)
        SC__TRY(run_into_file(sh, n));
    else
        SC__TRY(run_node(sh, n));
    sh->depth--;
    return SC_OK;
}

sc_status shell_run_text(struct shell *sh, struct sc__str text, uint32_t line) {
    struct shell_node *node;
    if (++sh->depth > SHELL_CALLS)
        return shell_fail(sh, line, NULL, "the script evaluates itself without end");
    SC__TRY(shell_parse(sh->ctx, sh->file, text, line, &node));
    SC__TRY(shell_run(sh, node));
    sh->depth--;
    return SC_OK;
}

sc_status
shell_capture(struct shell *sh, struct sc__str text, uint32_t line, const char **out) {
    struct sc__buffer b;
    struct sc__buffer *outer = sh->captured;
    struct shell_state before = shell_save_state(sh);
    uint32_t commands = sh->result->command_count;
    sc__buffer_init(&b, &sh->ctx->arena);
    sh->captured = &b;
    SC__TRY(shell_run_text(sh, text, line));
    leave_subshell(sh, &before);
    sh->captured = outer;
    sh->result->command_count = commands; /* none of them trains */
    while (b.size && b.text[b.size - 1] == '\n')
        b.text[--b.size] = 0;
    *out = b.text ? b.text : "";
    return SC_OK;
}

/* ---- all of it ---- */

static void take_pinned(struct shell *sh) {
    uint32_t most = 0;
    uint32_t index;
    for (size_t i = 0; i < sh->pinned->count; i++)
        if (sc__parse_u32(sc__str(sh->pinned->items[i].name), &index) && index > most &&
            index < 1000)
            most = index;
    sh->arguments = SC__NEW_ARRAY(&sh->ctx->arena, const char *, most);
    for (uint32_t i = 0; i < most; i++)
        sh->arguments[i] = "";
    sh->argument_count = most;
    for (size_t i = 0; i < sh->pinned->count; i++) {
        const sc_setting *s = &sh->pinned->items[i];
        if (sc__parse_u32(sc__str(s->name), &index)) {
            if (index && index <= most)
                sh->arguments[index - 1] = s->value;
            continue;
        }
        struct sc__shell_variable *v = shell_make(sh, sc__str(s->name));
        v->items = SC__NEW_ARRAY(&sh->ctx->arena, const char *, 1);
        v->items[0] = s->value;
        v->count = 1;
    }
}

sc_status sc__shell_evaluate(struct sc_context *ctx,
                             const char *file,
                             struct sc__str text,
                             const struct sc__setting_list *environment,
                             const struct sc__setting_list *pinned,
                             struct sc__shell_result *out) {
    struct shell sh = {.ctx = ctx, .file = file, .pinned = pinned, .result = out};
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == SHELL_MARK_BEGIN || text.p[i] == SHELL_MARK_END)
            return shell_fail(&sh, 1, NULL, "the file is binary, not a script");
    take_pinned(&sh);
    for (size_t i = 0; i < environment->count; i++)
        shell_set(&sh, sc__str(environment->items[i].name), environment->items[i].value);
    SC__TRY(shell_run_text(&sh, text, 1));
    if (sh.flow == SHELL_EXIT)
        out->exit_line = sh.exit_line;
    out->variables = sh.variables;
    out->variable_count = sh.variable_count;
    out->files = sh.files;
    return SC_OK;
}
